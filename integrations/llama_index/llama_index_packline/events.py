"""Events: what packline tells LlamaIndex's instrumentation, and a way to look at it.

Beside the events that any reranker or synthesizer sends, each build sends one that carries its whole account.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llama_index.core.bridge.pydantic import ConfigDict, PrivateAttr, field_serializer
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.schema import NodeWithScore
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base import BaseEvent

from packline import Context

__all__ = ["ContextEvent", "collect_contexts", "dispatcher", "reranked", "reranking"]

dispatcher = get_dispatcher("llama_index_packline")


class ContextEvent(BaseEvent):
    """A context was built.

    Args:
        context: The context, with what was kept, shortened and dropped, and why. Written out as data
            (`Context.to_dict`) only when the event is.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    context: Context

    @classmethod
    def class_name(cls) -> str:
        """The name of the event."""
        return "ContextEvent"

    @field_serializer("context")
    def _account(self, context: Context) -> dict[str, object]:
        return context.to_dict()


def reranking(query: str, nodes: Sequence[NodeWithScore], name: str) -> None:
    """Say that nodes are about to be selected."""
    dispatcher.event(ReRankStartEvent(query=query, nodes=list(nodes), top_n=len(nodes), model_name=name))


def reranked(nodes: Sequence[NodeWithScore], context: Context | None) -> None:
    """Say which nodes were selected, and why."""
    if context is not None:
        dispatcher.event(ContextEvent(context=context))
    dispatcher.event(ReRankEndEvent(nodes=list(nodes)))


class _Collector(BaseEventHandler):
    _contexts: list[Context] = PrivateAttr(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "packline_collector"

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        if isinstance(event, ContextEvent):
            self._contexts.append(event.context)


@contextmanager
def collect_contexts() -> Iterator[list[Context]]:
    """All contexts that are built by packline's postprocessors and synthesizers while the block runs.

    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> from llama_index_packline import ContextPostprocessor
    >>> nodes = [NodeWithScore(node=TextNode(text="Fish swim."), score=0.5)]
    >>> with collect_contexts() as contexts:
    ...     _ = ContextPostprocessor().postprocess_nodes(nodes, query_str="What do fish do?")
    >>> contexts[0].tokens
    3
    """
    collector = _Collector()
    dispatcher.add_event_handler(collector)
    try:
        yield collector._contexts
    finally:
        # By identity: handlers are models, and two that have collected the same are equal.
        dispatcher.event_handlers = [h for h in dispatcher.event_handlers if h is not collector]
