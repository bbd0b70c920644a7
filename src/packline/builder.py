"""ContextBuilder: the four stages, one after the other."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from packline.attempt import threaded
from packline.compression import Summarizer, acompress, compress
from packline.config import ContextConfig
from packline.context import Context
from packline.errors import ConfigError
from packline.gathering import Gathered, agather, gather
from packline.packet import ContextPacket
from packline.relevance import resolve_relevance
from packline.request import Request
from packline.selection import select
from packline.sources import as_source
from packline.structuring import Draft, structure
from packline.tokens import token_counter as counter_of

__all__ = ["ContextBuilder"]

T = TypeVar("T")


class ContextBuilder:
    """Packs the right context into a prompt: gather, select, structure, compress.

    A builder may be used from many threads and tasks at once.

    Args:
        config: All settings; None: the defaults.
        sources: What is asked for candidates on every build: anything that `packline.as_source` takes.
        relevance: "lexical" (the default), "semantic", "hybrid", "jaccard"; an object with
            `scores(query, packets)` that gives an array in [0, 1]; a function of the same; or a cross-encoder
            (see `packline.relevance.Reranked`).
        token_counter: Anything that `packline.token_counter` takes; None: o200k_base.
        summarizer: Text to shorter text, plain or asynchronous, used where something must be shortened.
            None: shortening is extractive.

    Raises:
        ConfigError: An argument cannot be used; it is named.

    >>> builder = ContextBuilder(config=ContextConfig(max_tokens=200), token_counter=len)
    """

    def __init__(
        self,
        *,
        config: ContextConfig | None = None,
        sources: Iterable[object] = (),
        relevance: object = "lexical",
        token_counter: object = None,
        summarizer: Summarizer | None = None,
    ) -> None:
        if config is not None and not isinstance(config, ContextConfig):
            raise ConfigError("config", config, "a ContextConfig, or None")
        if summarizer is not None and not callable(summarizer):
            raise ConfigError("summarizer", summarizer, "a callable of the text, or None")
        self.config = ContextConfig() if config is None else config
        if isinstance(sources, (str, bytes)) or not isinstance(sources, Iterable):
            raise ConfigError("sources", sources, "a list of sources")
        self.sources = tuple(as_source(thing, name=f"sources[{n}]") for n, thing in enumerate(sources))
        self.relevance = resolve_relevance(relevance)
        self.counter = counter_of(token_counter)
        self.summarizer = summarizer

    def build(
        self,
        user_query: str,
        *,
        conversation_history: Iterable[object] | None = None,
        system_instructions: str | None = None,
        custom_packets: Iterable[ContextPacket] | None = None,
        state: object = None,
        now: datetime | None = None,
    ) -> Context:
        """The context for one question.

        Args:
            user_query: The question; it stands whole in the prompt.
            conversation_history: The conversation so far, oldest first, without the question: dicts with role
                and content, `(role, text)` pairs, or message objects of any framework.
            system_instructions: The application's instructions; they stand whole in the prompt.
            custom_packets: Candidates of your own. Those of kind instruction and state are taken as such.
            state: Where the task stands: a text, a mapping, or a list of texts.
            now: The moment from which ages are measured; None: the present. A naive time is local.

        Raises:
            ConfigError: An argument is of a wrong type, or the question is empty.
            BudgetError: Question, instructions and skeleton alone need more than `max_tokens`.
            ExceptionGroup: Sources failed, and `config.strict` is set.
        """
        request = Request.of(
            user_query,
            conversation_history=conversation_history,
            system_instructions=system_instructions,
            custom_packets=custom_packets,
            state=state,
            now=now,
        )
        config, clock = self.config, _Clock()
        gathered = gather(request, sources=self.sources, timeout=config.source_timeout, strict=config.strict)
        draft = self._draft(gathered, clock)
        context = compress(draft, counter=self.counter, config=config, summarizer=self.summarizer)
        return clock.on(context)

    async def abuild(
        self,
        user_query: str,
        *,
        conversation_history: Iterable[object] | None = None,
        system_instructions: str | None = None,
        custom_packets: Iterable[ContextPacket] | None = None,
        state: object = None,
        now: datetime | None = None,
    ) -> Context:
        """The same as `build`, awaited. Nothing long is done on the loop.

        Sources and summarizers that are asynchronous run on it; reading the conversation, selecting,
        structuring and compressing are done in a thread, which sees the caller's context variables. A build
        that is cancelled ends at once for its caller; what the thread was doing is finished and thrown away.
        """
        request = await threaded(
            Request.of,
            user_query,
            conversation_history=_taken(conversation_history),
            system_instructions=system_instructions,
            custom_packets=_taken(custom_packets),
            state=state,
            now=now,
        )
        config, clock = self.config, _Clock()
        gathered = await agather(
            request, sources=self.sources, timeout=config.source_timeout, strict=config.strict
        )
        draft = await threaded(self._draft, gathered, clock)
        context = await acompress(draft, counter=self.counter, config=config, summarizer=self.summarizer)
        return clock.on(context)

    def _draft(self, gathered: Gathered, clock: _Clock) -> Draft:
        clock.lap("gather")
        selection = select(gathered, relevance=self.relevance, counter=self.counter, config=self.config)
        clock.lap("select")
        draft = structure(selection, template=self.config.template)
        clock.lap("structure")
        return draft


def _taken(given: Iterable[T] | None) -> Iterable[T] | None:
    """What `given` holds now: a list may grow meanwhile, and a generator may belong to this thread."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        return given  # None, or what is refused where it is read
    return tuple(given)


class _Clock:
    """Seconds of each stage."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self._seconds[stage], self._last = now - self._last, now

    def on(self, context: Context) -> Context:
        self.lap("compress")
        return dataclasses.replace(context, stage_seconds=self._seconds)
