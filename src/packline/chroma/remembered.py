"""What a memory is as a row: how it is written, which a search may find, and which are to be forgotten."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from packline.chroma.checks import (
    check_metadata,
    check_name,
    check_share,
    check_timestamp,
    read_metadata,
)
from packline.chroma.rows import Row
from packline.errors import ConfigError
from packline.packet import ContextPacket, Kind

__all__ = [
    "Findable",
    "Forgettable",
    "MemoryType",
    "check_before",
    "check_types",
    "moment_of",
    "packet_of",
    "remembered",
]

MemoryType = Literal["episodic", "semantic", "working"]
_TYPES: tuple[MemoryType, ...] = get_args(MemoryType)


def remembered(
    content: str,
    memory_type: MemoryType,
    importance: float,
    timestamp: datetime | None,
    metadata: Mapping[str, object] | None,
) -> Row:
    """A new memory, whose id sorts by the time of adding.

    Raises:
        ConfigError: An argument is not what `MemoryStore.add` says.
    """
    moment = check_timestamp(datetime.now(UTC) if timestamp is None else timestamp)
    fields = {
        "memory_type": _check_type(memory_type),
        "importance": check_share("importance", importance),
        "timestamp": moment,
        "metadata": check_metadata(metadata),
    }
    identifier = f"memory-{time.time_ns():016x}{secrets.token_hex(4)}"
    return Row(identifier, check_name("content", content), fields)


def packet_of(row: Row) -> ContextPacket:
    """The memory as a packet."""
    known = {name: row.fields[name] for name in ("memory_type", "importance")}
    return ContextPacket(
        row.text,
        timestamp=moment_of(row),
        metadata={**read_metadata(row.fields["metadata"]), **known},
        kind=Kind.MEMORY,
        id=row.id,
    )


def moment_of(row: Row) -> datetime:
    """When it was."""
    return datetime.fromisoformat(str(row.fields["timestamp"]))


def _importance(row: Row) -> float:
    return float(row.fields["importance"])


@dataclass(frozen=True, slots=True)
class Findable:
    """The memories that a search may find."""

    min_importance: float
    types: tuple[MemoryType, ...]

    @property
    def where(self) -> dict[str, Any]:
        return {
            "$and": [
                {"importance": {"$gte": self.min_importance}},
                {"memory_type": {"$in": list(self.types)}},
            ]
        }

    def __call__(self, row: Row) -> bool:
        return _importance(row) >= self.min_importance and row.fields["memory_type"] in self.types


@dataclass(frozen=True, slots=True)
class Forgettable:
    """The memories for which all holds that is not None."""

    id: str | None
    before: datetime | None
    below: float | None
    types: tuple[MemoryType, ...]

    def __call__(self, row: Row) -> bool:
        return (
            (self.id is None or row.id == self.id)
            and (self.before is None or moment_of(row) < self.before)
            and (self.below is None or _importance(row) < self.below)
            and row.fields["memory_type"] in self.types
        )


def _check_type(value: object) -> MemoryType:
    for known in _TYPES:
        if value == known:
            return known
    raise ConfigError("memory_type", value, f"one of {', '.join(_TYPES)}")


def check_types(values: Iterable[object] | None) -> tuple[MemoryType, ...]:
    """The types of memories; None: all.

    Raises:
        ConfigError: There are none, or one is unknown.
    """
    if values is None:
        return _TYPES
    types = tuple(map(_check_type, [values] if isinstance(values, str) else values))
    if not types:
        raise ConfigError("memory_types", types, f"some of {', '.join(_TYPES)}, or None for all")
    return types


def check_before(older_than: object, now: datetime | None) -> datetime | None:
    """The moment before which memories are older than that, counted from `now` (None: now) if it is a span.

    Raises:
        ConfigError: It is neither a moment nor a span.
    """
    if older_than is None:
        return None
    if isinstance(older_than, timedelta):
        return (datetime.now(UTC) if now is None else now.astimezone()) - older_than
    if isinstance(older_than, datetime):
        return older_than.astimezone() if older_than.tzinfo is None else older_than
    raise ConfigError("older_than", older_than, "a datetime or a timedelta")
