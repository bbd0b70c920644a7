"""LangGraph stores, as sources of memories, each user's apart."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.config import ensure_config

from langchain_packline.asking import asking, check_limit
from packline import ConfigError, ContextPacket, Kind, Source, SourceError
from packline.timestamps import read_timestamp

__all__ = ["from_store"]

_TEXTS = ("content", "text", "data", "memory", "page_content")


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

    Raises:
        ConfigError: An argument cannot be used; it is named.
    """
    if not callable(getattr(store, "search", None)) or not callable(getattr(store, "asearch", None)):
        raise ConfigError("store", store, "a LangGraph store, which has search and asearch")
    named = isinstance(namespace, (tuple, list)) and all(isinstance(part, str) for part in namespace)
    if not named:
        raise ConfigError("namespace", namespace, "a tuple of texts, such as ('memories', '{user_id}')")
    check_limit("limit", limit)

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
            kind=source.kind,
            id="/".join([*item.namespace, item.key]),
            origin=item,
        )

    runnable: Runnable[str, Any] = RunnableLambda(search, asearch, name=name)
    source = dataclasses.replace(asking(runnable, name), kind=kind, timeout=timeout)  # type: ignore[arg-type]
    return source


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
