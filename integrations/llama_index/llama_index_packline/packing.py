"""Packing: nodes, conversation, memory and further sources of one engine as one packed prompt."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.schema import MetadataMode, NodeWithScore

from llama_index_packline.counting import counter_of
from llama_index_packline.events import ContextEvent, dispatcher
from llama_index_packline.memory import aread_memory, block_sources, checked, conversation
from llama_index_packline.nodes import Dates, check_dates, check_nodes, packets_of_nodes
from packline import Context, ContextBuilder, ContextConfig, Failure, Relevance, Request, Source
from packline.attempt import Call, Outcome, asettle, settle, threaded
from packline.compression import Summarizer
from packline.scores import ScorePolicy, check_policy

__all__ = ["Packing"]


@dataclass(frozen=True, kw_only=True)
class Packing:
    """What a prompt is packed from, and how; see `ContextSynthesizer`, whose arguments these are."""

    config: ContextConfig
    sources: Sequence[Source]
    memory: object
    state: object
    scores: ScorePolicy
    relevance: Relevance
    metadata_mode: MetadataMode
    dates: Dates
    token_counter: object
    summarizer: Summarizer | None
    now: datetime | None

    def check(self) -> None:
        """Refuse now what would fail each build.

        Raises:
            ConfigError: An argument cannot be used; it is named.
        """
        check_policy("scores", self.scores)
        check_dates(self.dates)
        if self.memory is not None:
            known = checked(self.memory)
            conversation(() if isinstance(known, BaseMemory) else known)
        self.builder(())
        Request.of("?", state=self.state, now=self.now)

    def build(self, question: str, nodes: Sequence[NodeWithScore], instructions: str | None) -> Context:
        """The context for a question; all that builds it sees, an event tells."""
        recalled = settle([self._recall(question)])[0]
        request = self._request(recalled, question)
        context = self.builder(nodes).build(question, system_instructions=instructions, **request)
        return self._built(context, recalled)

    async def abuild(
        self, question: str, nodes: Sequence[NodeWithScore], instructions: str | None
    ) -> Context:
        """The same, awaited."""
        recalled = (await asettle([self._recall(question)]))[0]
        request = await threaded(self._request, recalled, question)
        builder = await threaded(self.builder, nodes)
        context = await builder.abuild(question, system_instructions=instructions, **request)
        return self._built(context, recalled)

    def builder(self, nodes: Sequence[NodeWithScore]) -> ContextBuilder:
        """The core's builder, with `nodes` as one more source."""
        check_nodes(nodes)
        packets = packets_of_nodes(
            nodes,
            metadata_mode=self.metadata_mode,
            scores=self.scores,
            dates=self.dates,
            with_metadata=True,
        )
        return ContextBuilder(
            config=self.config,
            sources=[Source("nodes", lambda _: packets), *block_sources(self.memory), *self.sources],
            relevance=self.relevance,
            token_counter=counter_of(self.token_counter),
            summarizer=self.summarizer,
        )

    def _recall(self, question: str) -> Call[list[ChatMessage]]:
        async def read() -> list[ChatMessage]:
            return await aread_memory(() if self.memory is None else self.memory, question=question)

        return Call("memory", self.config.source_timeout, arun=read)

    def _request(self, recalled: Outcome[list[ChatMessage]], question: str) -> dict[str, Any]:
        spoken = conversation(recalled.value or [])
        if spoken and spoken[-1].metadata.get("role") == "user" and spoken[-1].content.strip() == question:
            spoken = spoken[:-1]
        return {"conversation_history": spoken, "state": self.state, "now": self.now}

    def _built(self, context: Context, recalled: Outcome[list[ChatMessage]]) -> Context:
        if recalled.error is not None:
            if self.config.strict:
                raise recalled.error
            failure = Failure("memory", recalled.error, recalled.seconds)
            context = dataclasses.replace(context, failures=(*context.failures, failure))
        dispatcher.event(ContextEvent(context=context))
        return context
