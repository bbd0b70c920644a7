"""Sources: whatever can be asked for candidates, and whatever it may answer.

A source is anything with `gather(query)` or `agather(query)`, a plain callable (either way), a tool with the
book's `run({"action": "search", ...})`, or a retriever of LangChain or LlamaIndex, known by its methods. What
comes back is read as it is: packets, texts, dicts, documents, nodes.
It never speaks for the application: instructions and state are the caller's to give.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from numbers import Real
from typing import Literal, Protocol, cast, get_args

from packline.attempt import is_async
from packline.errors import ConfigError, SourceError
from packline.messages import reader
from packline.packet import ContextPacket, Kind
from packline.timestamps import read_timestamp

__all__ = ["Source", "as_source", "packets_of"]

Ask = Callable[[str], object]
AskAsync = Callable[[str], Awaitable[object]]
Scores = Literal["ignore", "relevance"]

_EXPECTED = (
    "an object with gather(query) or agather(query), a tool with run({...}), a retriever of LangChain or "
    "LlamaIndex, or a callable of the query"
)
_ADAPTERS = {  # by what the module of a class is called
    "llama_index": "llama_index_packline.retriever_source (or memory_sources)",
    "langchain": "langchain_packline.as_source (or from_store)",
    "langgraph": "langchain_packline.as_source (or from_store)",
}
_WAY_OUT = "return a list of packets, texts or documents"
_CONTENT = ("content", "page_content", "text", "memory")
_LISTS = ("results", "documents", "memories", "items")
_DATES = ("timestamp", "date", "last_modified_date", "updated_at", "creation_date", "created_at")


class SyncSource(Protocol):
    """A source with a name."""

    name: str

    def gather(self, query: str) -> object:
        """Candidates for `query`: packets, texts, dicts or documents, one or many, or None."""
        ...


@dataclass(frozen=True)
class Source:
    """A named source, with all that can be said of it. Most objects need no wrapping: see `as_source`.

    Args:
        name: Shown in the report.
        ask: From query to candidates; None where there is only the asynchronous way.
        aask: The same, awaited; None: `ask` runs in a thread.
        kind: Of candidates that do not say themselves what they are.
        scores: "relevance" if the candidates' `score` or `relevance_score` is their relevance in [0, 1], to
            be used as it is; "ignore": all candidates are scored anew, on one scale with those of others.
        timeout: Seconds; None: the config's.
    """

    name: str
    ask: Ask | None = None
    aask: AskAsync | None = None
    kind: Kind = Kind.EVIDENCE
    scores: Scores = "ignore"
    timeout: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError("name", self.name, "a text that is not empty")
        if not callable(self.ask) and not callable(self.aask):
            raise ConfigError("ask", self.ask, "a callable of the query, or aask an asynchronous one")
        if self.scores not in get_args(Scores):
            raise ConfigError("scores", self.scores, f"one of {', '.join(map(repr, get_args(Scores)))}")
        seconds = self.timeout
        if seconds is not None and (not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf):
            raise ConfigError("timeout", seconds, "seconds above 0, or None")
        try:
            object.__setattr__(self, "kind", Kind(self.kind))
        except ValueError:
            raise ConfigError("kind", self.kind, f"one of {', '.join(Kind)}") from None
        if self.kind in (Kind.INSTRUCTION, Kind.STATE):
            raise ConfigError("kind", self.kind, "a kind that sources may give: not instruction, not state")


def as_source(thing: object, *, name: str = "source", limit: int = 10) -> Source:
    """The source that `thing` is.

    Its attributes `name`, `kind`, `scores` and `timeout` are used where it has them. A tool whose name is
    "memory" gives memories.

    Args:
        name: What to call it in an error, and in the report where it has no name.
        limit: How many results are asked of a tool.

    Raises:
        ConfigError: It cannot be asked.
    """
    if isinstance(thing, Source):
        return thing
    if isinstance(thing, type) or thing is None:
        raise ConfigError(name, thing, _EXPECTED)
    ask, aask = _ways(thing, limit)
    if ask is None and aask is None:
        raise ConfigError(name, thing, _way_out(thing))
    called = getattr(thing, "name", None) or getattr(thing, "__name__", None)
    called = called if isinstance(called, str) else type(thing).__name__
    default = Kind.MEMORY if called.lower() == "memory" else Kind.EVIDENCE
    return Source(
        name if called == "<lambda>" else called,
        ask,
        aask,
        kind=getattr(thing, "kind", default),
        scores=getattr(thing, "scores", "ignore"),
        timeout=getattr(thing, "timeout", None),
    )


def _ways(thing: object, limit: int) -> tuple[Ask | None, AskAsync | None]:
    """The synchronous and the asynchronous way to ask."""
    gather, agather = getattr(thing, "gather", None), getattr(thing, "agather", None)
    if callable(gather) or callable(agather):
        if is_async(gather):
            return None, gather
        return (gather if callable(gather) else None), (
            cast("AskAsync", agather) if callable(agather) else None
        )
    run = getattr(thing, "run", None)
    if callable(run):
        return (lambda query: run({"action": "search", "query": query, "limit": limit})), None
    if not callable(thing):
        return _retrieving(thing)
    return (None, thing) if is_async(thing) else (thing, None)


def _retrieving(thing: object) -> tuple[Ask | None, AskAsync | None]:
    """The ways to ask a retriever of a framework.

    LlamaIndex's is asked in a thread: many of its retrievers block the loop where they are awaited.
    """
    if callable(getattr(thing, "_get_relevant_documents", None)):  # what makes a Runnable a retriever
        return cast("Ask", getattr(thing, "invoke", None)), cast("AskAsync", getattr(thing, "ainvoke", None))
    retrieve = getattr(thing, "retrieve", None)
    return (retrieve if callable(retrieve) else None), None


def _way_out(thing: object) -> str:
    """What is expected instead; of an object of a framework, who makes a source of it."""
    modules = " ".join(kind.__module__ for kind in type(thing).__mro__)
    way = next((way for framework, way in _ADAPTERS.items() if framework in modules), None)
    return _EXPECTED if way is None else f"a source made by {way}"


def packets_of(answer: object, source: Source) -> tuple[ContextPacket, ...]:
    """What a source answered, as packets.

    None and empty answers are no packets; texts, packets, dicts and documents (anything with `content`,
    `page_content` or `text`) are taken alone or in any iterable, each also as `(document, score)`.

    Raises:
        SourceError: Something in the answer is none of these.
    """
    if answer is None or (isinstance(answer, str) and not answer.strip()):
        return ()
    if isinstance(answer, Mapping) and not any(isinstance(answer.get(name), str) for name in _CONTENT):
        inner = next((answer[name] for name in _LISTS if name in answer), None)
        if inner is None:
            known = ", ".join(_CONTENT + _LISTS)
            raise SourceError(source.name, f"returned a dict with none of {known}: {_WAY_OUT}")
        return packets_of(inner, source)
    if isinstance(answer, (str, Mapping, ContextPacket)) or not isinstance(answer, Iterable):
        return (_packet(answer, source),)
    if _has_content(answer):
        return (_packet(answer, source),)
    if _is_table(answer):  # which would give the names of its columns
        raise SourceError(
            source.name, f"returned {type(answer).__name__}, a table: {_WAY_OUT}, one for each row"
        )
    return tuple(_packet(item, source) for item in answer)


def _packet(item: object, source: Source) -> ContextPacket:
    if isinstance(item, ContextPacket):
        if item.kind in (Kind.INSTRUCTION, Kind.STATE):
            raise SourceError(
                source.name, f"returned a packet of kind {item.kind}, which only the caller gives"
            )
        told = item.kind is not Kind.OTHER or source.kind is Kind.OTHER
        return item if told else dataclasses.replace(item, kind=source.kind)
    if isinstance(item, str):
        return ContextPacket(item, kind=source.kind)
    if isinstance(item, tuple) and len(item) == 2:
        packet = _packet(item[0], source)
        score = _relevance([item[1]], source)
        return packet if score is None else dataclasses.replace(packet, relevance_score=score)
    get = reader(item)
    content = _content(item, get)
    if content is None:
        raise SourceError(source.name, f"returned {type(item).__name__}, which has no text: {_WAY_OUT}")
    given = get("metadata")
    metadata = given if isinstance(given, Mapping) else {}
    identifier = get("id") or get("id_")
    return ContextPacket(
        content,
        timestamp=_timestamp(get, metadata),
        relevance_score=_relevance([get("relevance_score"), get("score")], source),
        metadata=metadata,
        kind=_kind(metadata, source),
        id=identifier if isinstance(identifier, str) else "",
        origin=item,
    )


def _content(item: object, get: Callable[[str], object]) -> str | None:
    """The text of a dict, of a document, or of a node, whose own way is to be asked for it."""
    ask = getattr(item, "get_content", None)
    texts = [ask()] if callable(ask) else map(get, _CONTENT)
    return next((text for text in texts if isinstance(text, str)), None)


def _kind(metadata: Mapping[str, object], source: Source) -> Kind:
    told = ContextPacket("", metadata=metadata).kind
    return told if told in (Kind.EVIDENCE, Kind.MEMORY, Kind.HISTORY) else source.kind


def _has_content(thing: object) -> bool:
    return callable(getattr(thing, "get_content", None)) or any(
        isinstance(getattr(thing, name, None), str) for name in _CONTENT
    )


def _is_table(thing: object) -> bool:
    """Whether it is a data frame, of whatever library."""
    columns = getattr(thing, "columns", None)
    return columns is not None and not callable(columns)


def _timestamp(get: Callable[[str], object], metadata: Mapping[str, object]) -> datetime | None:
    found = map(read_timestamp, [*map(get, _DATES), *map(metadata.get, _DATES)])
    return next((moment for moment in found if moment), None)


def _relevance(scores: list[object], source: Source) -> float | None:
    given = [
        float(score) for score in scores if isinstance(score, (float, Real)) and not isinstance(score, bool)
    ]
    if source.scores == "ignore" or not given:
        return None
    if not 0 <= given[0] <= 1 + 1e-9:  # cosines of float32 come out a little above 1
        raise SourceError(source.name, f"says that its scores are relevance in [0, 1], but gave {given[0]}")
    return min(given[0], 1.0)
