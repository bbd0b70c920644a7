"""Sources: whatever LangChain and LangGraph find or keep texts in, as sources of packline."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable, RunnableBinding
from langchain_core.vectorstores import VectorStore

from langchain_packline.asking import asking, traced
from langchain_packline.conversations import from_checkpointer, from_conversation
from langchain_packline.memory import holds_messages
from langchain_packline.vector_stores import from_vector_store
from packline import ConfigError, Kind, Source
from packline import as_source as core_source

__all__ = ["as_source", "sources_of"]

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
        source = dataclasses.replace(source, kind=kind)  # type: ignore[arg-type]  # a name is read there
    return source if timeout is None else dataclasses.replace(source, timeout=timeout)


def _source(thing: object, name: str | None, place: str) -> Source:
    if isinstance(thing, VectorStore):
        return from_vector_store(thing, name=name)
    if isinstance(thing, (BaseLanguageModel, type)):
        raise ConfigError(place, thing, _EXPECTED)
    if isinstance(thing, Runnable):
        return asking(thing, name or _name(thing))
    if hasattr(thing, "get_tuple") and hasattr(thing, "aget_tuple"):
        return from_checkpointer(thing, name=name or "checkpointer")
    if hasattr(thing, "asearch") and hasattr(thing, "abatch"):
        raise ConfigError(place, thing, "from_store(store, namespace), which says what to search of it")
    if holds_messages(thing) and not hasattr(thing, "gather"):
        return from_conversation(thing, name or type(thing).__name__)
    try:
        source = core_source(thing, name=place)
    except ConfigError:
        raise ConfigError(place, thing, _EXPECTED) from None
    return traced(source if name is None else dataclasses.replace(source, name=name))


def _name(runnable: Runnable[Any, Any]) -> str:
    given = runnable.config.get("run_name") if isinstance(runnable, RunnableBinding) else None
    return given or runnable.get_name()
