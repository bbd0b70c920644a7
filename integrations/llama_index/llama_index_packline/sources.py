"""Sources: LlamaIndex's retrievers, indices and memories, as packline asks for candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.base import BaseIndex
from llama_index.core.memory import BaseMemory
from llama_index.core.schema import MetadataMode, NodeWithScore

from llama_index_packline.memory import memory_sources
from llama_index_packline.nodes import DATE_KEYS, Dates, check_dates, checked_mode, packets_of_nodes
from packline import ConfigError, ContextPacket, Kind, Source, as_source
from packline.scores import ScorePolicy, check_policy

__all__ = ["retriever_source", "sources_of"]


def retriever_source(
    retriever: object,
    *,
    name: str | None = None,
    kind: Kind = Kind.EVIDENCE,
    scores: ScorePolicy = "ignore",
    metadata_mode: MetadataMode = MetadataMode.LLM,
    dates: Dates = DATE_KEYS,
    timeout: float | None = None,
) -> Source:
    """A retriever, or an index, as a source.

    A retriever that is only synchronous is asked in a thread where the build is asynchronous, so that it does
    not block the event loop.

    Args:
        retriever: Any `BaseRetriever`, or an index, whose default retriever is asked.
        name: In the report; None: its class.
        kind: What the nodes are to the prompt.
        scores: What their scores say of their relevance: see `packline.scores.relevance_of`. "ignore" scores
            all candidates anew, on one scale with those of other sources.
        metadata_mode: Which metadata stand in the prompt, before the text.
        dates: Metadata keys, of which the first that holds a date counts; or a callable from a node to its
            date.
        timeout: Seconds; None: the config's.

    Raises:
        ConfigError: It is neither a retriever nor an index, or an option is bad.
    """
    asked = retriever.as_retriever() if isinstance(retriever, BaseIndex) else retriever
    if not isinstance(asked, BaseRetriever):
        raise ConfigError("retriever", retriever, "a LlamaIndex retriever or index")
    check_policy("scores", scores)
    check_dates(dates)
    mode = checked_mode(metadata_mode)
    kept: BaseRetriever = asked

    def packets(nodes: list[NodeWithScore]) -> tuple[ContextPacket, ...]:
        return packets_of_nodes(
            nodes, metadata_mode=mode, scores=scores, dates=dates, kind=kind, with_metadata=True
        )

    def ask(question: str) -> tuple[ContextPacket, ...]:
        return packets(kept.retrieve(question))

    async def aask(question: str) -> tuple[ContextPacket, ...]:
        return packets(await kept.aretrieve(question))

    native = type(kept)._aretrieve is not BaseRetriever._aretrieve
    called = name or type(retriever).__name__
    return Source(called, ask, aask if native else None, kind=kind, timeout=timeout)


def sources_of(things: Iterable[object]) -> list[Source]:
    """Retrievers, indices and memories as sources, and whatever `packline.as_source` takes.

    Raises:
        ConfigError: One of them cannot be asked; it is named.
    """
    if isinstance(things, (str, bytes, Mapping, BaseMemory)) or not isinstance(things, Iterable):
        raise ConfigError("sources", things, "a list of sources")
    sources: list[Source] = []
    for place, thing in enumerate(things):
        if isinstance(thing, (BaseRetriever, BaseIndex)):
            sources.append(retriever_source(thing))
        elif isinstance(thing, BaseMemory):
            sources += memory_sources(thing)
        else:
            sources.append(_other(thing, f"sources[{place}]"))
    return sources


def _other(thing: object, place: str) -> Source:
    try:
        return as_source(thing, name=place)
    except ConfigError as error:
        raise ConfigError(place, thing, f"a retriever, an index, a memory, {error.expected}") from None
