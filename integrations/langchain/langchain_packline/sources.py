"""Sources: retrievers, vector stores, Runnables, LangGraph stores and conversations, as sources of packline.

Each is asked within a run of its own, named like the source; the run's parent is found where LangChain keeps
it, in the context variables, which gathering takes along into its threads.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable, RunnableBinding, RunnableLambda
from langchain_core.runnables.config import ensure_config
from langchain_core.vectorstores import VectorStore

from langchain_packline.memory import amessages_of, holds_messages, messages_of
from packline import ConfigError, ContextPacket, Kind, Source, SourceError
from packline import as_source as core_source
from packline.conversation import turns
from packline.scores import ScorePolicy, check_policy, relevance_of
from packline.timestamps import read_timestamp

__all__ = ["as_source", "from_checkpointer", "from_store", "from_vector_store", "sources_of"]

Scored = tuple[Document, float | None]
_TEXTS = ("content", "text", "data", "memory", "page_content")
_EXPECTED = (
    "a retriever, a vector store, a Runnable from the question to documents, a conversation, a checkpointer, "
    "a callable, or anything that packline.as_source takes"
)


def sources_of(things: object) -> tuple[Source, ...]:
    """The sources in a list, or in a mapping from their names.

    Raises:
        ConfigError: One of them cannot be asked; it is named.
    """
    if isinstance(things, Mapping):
        return tuple(as_source(thing, name=str(name)) for name, thing in things.items())
    if isinstance(things, (str, bytes, Runnable)) or not isinstance(things, Iterable):
        raise ConfigError("sources", things, "a list of sources, or a mapping from names to sources")
    return tuple(_source(thing, None, f"sources[{place}]") for place, thing in enumerate(things))


def as_source(
    thing: object, *, name: str | None = None, kind: Kind | str | None = None, timeout: float | None = None
) -> Source:
    """The source that `thing` is.

    Args:
        thing: A retriever, a vector store (see `from_vector_store`), any Runnable from the question to
            documents, anything with `messages` or `aget_messages`, a checkpointer (see `from_checkpointer`),
            a callable or coroutine function, or anything that `packline.as_source` takes.
        name: Shown in the report and in traces; None: its own.
        kind: What its texts are where they do not say; None: evidence, or history for a conversation.
        timeout: Seconds; None: the config's.

    Raises:
        ConfigError: It cannot be asked.
    """
    source = _source(thing, name, name or "source")
    if kind is not None:
        source = dataclasses.replace(source, kind=Kind(kind))
    return source if timeout is None else dataclasses.replace(source, timeout=timeout)


def _source(thing: object, name: str | None, place: str) -> Source:
    if isinstance(thing, VectorStore):
        return from_vector_store(thing, name=name)
    if isinstance(thing, (BaseLanguageModel, type)):
        raise ConfigError(place, thing, _EXPECTED)
    if isinstance(thing, Runnable):
        return _asking(thing, name or _name(thing))
    if hasattr(thing, "get_tuple") and hasattr(thing, "aget_tuple"):
        return from_checkpointer(thing, name=name or "checkpointer")
    if hasattr(thing, "asearch") and hasattr(thing, "abatch"):
        raise ConfigError(place, thing, "from_store(store, namespace), which says what to search of it")
    if holds_messages(thing) and not hasattr(thing, "gather"):
        return _conversation(thing, name or type(thing).__name__)
    try:
        source = core_source(thing, name=place)
    except ConfigError:
        raise ConfigError(place, thing, _EXPECTED) from None
    return _traced(source if name is None else dataclasses.replace(source, name=name))


def _name(runnable: Runnable[Any, Any]) -> str:
    given = runnable.config.get("run_name") if isinstance(runnable, RunnableBinding) else None
    return given or runnable.get_name()


def from_vector_store(
    store: VectorStore,
    *,
    k: int = 10,
    scores: ScorePolicy = "scaled",
    name: str | None = None,
    timeout: float | None = None,
    **search: Any,
) -> Source:
    """A vector store as a source.

    Args:
        k: How many documents are asked for.
        scores: What its scores say, as in `packline.scores.relevance_of`; each policy keeps their order, and
            documents whose score is None are scored by packline. With "distance" the store is asked for its
            distances, with "ignore" for no scores, else for its relevance scores. A store that has none is
            searched without.
        search: Passed to the store with each search, such as `filter`.

    Raises:
        ConfigError: `scores` is no policy.
    """
    check_policy("scores", scores)

    def find(query: str) -> list[Scored]:
        if scores != "ignore":
            try:
                if scores == "distance":
                    return _relevant(store.similarity_search_with_score(query, k=k, **search), scores)
                found = store.similarity_search_with_relevance_scores(query, k=k, **search)
                return _relevant(found, scores)
            except NotImplementedError:
                pass
        return [(document, None) for document in store.similarity_search(query, k=k, **search)]

    async def afind(query: str) -> list[Scored]:
        if scores != "ignore":
            try:
                if scores == "distance":
                    return _relevant(await store.asimilarity_search_with_score(query, k=k, **search), scores)
                found = await store.asimilarity_search_with_relevance_scores(query, k=k, **search)
                return _relevant(found, scores)
            except NotImplementedError:
                pass
        return [(document, None) for document in await store.asimilarity_search(query, k=k, **search)]

    name = name or type(store).__name__
    runnable: Runnable[str, Any] = RunnableLambda(find, afind, name=name)
    return dataclasses.replace(_asking(runnable, name), scores="relevance", timeout=timeout)


def _relevant(found: Sequence[tuple[Document, float | None]], policy: ScorePolicy) -> list[Scored]:
    relevance = relevance_of([score for _, score in found], policy)
    return [(document, score) for (document, _), score in zip(found, relevance, strict=True)]


def from_store(
    store: Any,
    namespace: Sequence[str],
    *,
    name: str = "store",
    limit: int = 100,
    kind: Kind | str = Kind.MEMORY,
    text: Callable[[Any], str] | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002  # as BaseStore.search calls it
    timeout: float | None = None,
) -> Source:
    """A LangGraph `BaseStore` as a source of memories; each is dated by its `updated_at`.

    Args:
        namespace: What to search. A part that is a name in braces, such as `"{user_id}"`, is read from
            `config["configurable"]` on each call, so that nobody's memories are found by another.
        limit: How many items are asked for. A store without an index gives any of them, so the selection
            is left to packline, and this may be large.
        text: From an item's value to its text; None: its `content`, `text`, `data`, `memory` or
            `page_content`, or else the whole value as JSON.
        filter: Passed to the store.
    """

    def search(query: str) -> list[ContextPacket]:
        found = store.search(_filled(namespace, name), query=query, limit=limit, filter=_dict(filter))
        return list(map(packet, found))

    async def asearch(query: str) -> list[ContextPacket]:
        found = await store.asearch(_filled(namespace, name), query=query, limit=limit, filter=_dict(filter))
        return list(map(packet, found))

    def packet(item: Any) -> ContextPacket:
        value = item.value
        return ContextPacket(
            _text(value) if text is None else text(value),
            timestamp=read_timestamp(item.updated_at),
            metadata=value if isinstance(value, Mapping) else {},
            kind=Kind(kind),
            id="/".join([*item.namespace, item.key]),
            origin=item,
        )

    if isinstance(namespace, str) or not isinstance(namespace, Sequence):
        raise ConfigError("namespace", namespace, "a tuple of texts, such as ('memories', '{user_id}')")
    runnable: Runnable[str, Any] = RunnableLambda(search, asearch, name=name)
    return dataclasses.replace(_asking(runnable, name), kind=Kind(kind), timeout=timeout)


def _dict(filter: Mapping[str, Any] | None) -> dict[str, Any] | None:  # noqa: A002
    return None if filter is None else dict(filter)


def _filled(namespace: Sequence[str], name: str) -> tuple[str, ...]:
    configurable = ensure_config().get("configurable", {})
    parts = []
    for part in namespace:
        field = re.fullmatch(r"\{(\w+)\}", part)
        if field and configurable.get(field[1]) is None:
            raise SourceError(name, f"needs config['configurable'][{field[1]!r}] for its namespace")
        parts.append(str(configurable[field[1]]) if field else part)
    return tuple(parts)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        found = next((value[name] for name in _TEXTS if isinstance(value.get(name), str)), None)
        if found is not None:
            return str(found)
    return json.dumps(value, ensure_ascii=False, default=str)


def from_checkpointer(
    saver: Any, *, thread_id: str | None = None, name: str = "checkpointer", timeout: float | None = None
) -> Source:
    """The conversation of a thread that a LangGraph checkpointer holds, as a source of history.

    Args:
        thread_id: Which thread; None: the one in `config["configurable"]` on each call.
    """

    def where() -> dict[str, Any]:
        thread = thread_id or ensure_config().get("configurable", {}).get("thread_id")
        if thread is None:
            raise SourceError(name, "needs config['configurable']['thread_id']")
        return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}

    def read(_: str) -> Sequence[ContextPacket]:
        return turns(messages_of(saver.get_tuple(where()), name))

    async def aread(_: str) -> Sequence[ContextPacket]:
        return turns(await amessages_of(await saver.aget_tuple(where()), name))

    runnable: Runnable[str, Any] = RunnableLambda(read, aread, name=name)
    return dataclasses.replace(_asking(runnable, name), kind=Kind.HISTORY, timeout=timeout)


def _conversation(thing: object, name: str) -> Source:
    def read(_: str) -> Sequence[ContextPacket]:
        return turns(messages_of(thing, name))

    async def aread(_: str) -> Sequence[ContextPacket]:
        return turns(await amessages_of(thing, name))

    runnable: Runnable[str, Any] = RunnableLambda(read, aread, name=name)
    return dataclasses.replace(_asking(runnable, name), kind=Kind.HISTORY)


def _traced(source: Source) -> Source:
    """The same source, asked within a run of its own."""
    ask, aask = source.ask, source.aask
    if isinstance(ask, _Ask) or isinstance(aask, _AskAsync):
        return source

    def run(query: str) -> object:
        assert ask is not None
        answer = ask(query)
        return list(answer) if isinstance(answer, Iterator) else answer

    async def arun(query: str) -> object:
        assert aask is not None
        answer = aask(query)
        return await answer if inspect.isawaitable(answer) else answer

    sync: Runnable[str, object] | None = RunnableLambda(run, name=source.name) if ask else None
    awaited: Runnable[str, object] | None = RunnableLambda(arun, name=source.name) if aask else None
    return dataclasses.replace(
        source,
        ask=None if sync is None else _Ask(sync, source.name),
        aask=None if awaited is None else _AskAsync(awaited, source.name),
    )


def _asking(runnable: Runnable[Any, Any], name: str) -> Source:
    return Source(name, ask=_Ask(runnable, name), aask=_AskAsync(runnable, name))


@dataclass(frozen=True)
class _Ask:
    """From the question to what a Runnable answers."""

    runnable: Runnable[Any, Any]
    name: str

    def __call__(self, query: str) -> object:
        try:
            return self.runnable.invoke(query, {"run_name": self.name})
        except NotImplementedError as error:
            raise SourceError(self.name, "can only be awaited: use ainvoke, abatch or astream") from error


@dataclass(frozen=True)
class _AskAsync:
    """The same, awaited."""

    runnable: Runnable[Any, Any]
    name: str

    async def __call__(self, query: str) -> object:
        return await self.runnable.ainvoke(query, {"run_name": self.name})
