"""MemoryStore: what an assistant remembers of a user, found by words and by meaning.

Each user's memories are a collection of their own. No search filters by user, so none can leave it out.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from packline.chroma.checks import (
    check_metadata,
    check_name,
    check_share,
    check_text,
    check_timestamp,
    check_whole,
    read_metadata,
)
from packline.chroma.collection import Collection
from packline.chroma.connection import connect
from packline.chroma.rows import Row
from packline.errors import ConfigError
from packline.packet import ContextPacket, Kind

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

__all__ = ["MemoryStore", "MemoryType"]

MemoryType = Literal["episodic", "semantic", "working"]
_TYPES: tuple[MemoryType, ...] = get_args(MemoryType)


class MemoryStore:
    """The memories of one user on Chroma; as a source it gives memories.

    Args:
        path: The folder that holds the store, made if need be; many users may share it. None: in memory, gone
            with this object.
        user_id: Whose memories these are. Stores with other ids never see, count or forget them.
        client: A Chroma client to use in place of a path, such as `chromadb.HttpClient()`; it stays yours to
            close.
        embed: The embedding model: see `packline.embedding.embedding`. None: the one in `packline[semantic]`.
            A store remembers which model filled it.
        name: How the collections of all users are called in Chroma, before the part that tells them apart. As
            a source this is always called "memory".
        gather_limit: How many memories it gives as a source.
        gather_min_importance: The least importance, in [0, 1], of what it gives as a source.

    Raises:
        ConfigError: An argument is not what is said above, or the store was filled by another model.

    >>> def embed(texts):
    ...     return [[text.count(letter) + 1 for letter in "etaoin"] for text in texts]
    >>> with MemoryStore(user_id="ada", embed=embed) as memory:
    ...     _ = memory.add("Ada works with Pandas.", memory_type="semantic", importance=0.9)
    ...     _ = memory.add("Ada had tea.", importance=0.1)
    ...     [found] = memory.search("Which tools does Ada use?")
    >>> found.content, found.kind, found.metadata["memory_type"]
    ('Ada works with Pandas.', <Kind.MEMORY: 'memory'>, 'semantic')
    """

    name = "memory"
    kind = Kind.MEMORY

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        user_id: str = "default",
        *,
        client: ClientAPI | None = None,
        embed: object = None,
        name: str = "packline-memory",
        gather_limit: int = 50,
        gather_min_importance: float = 0.3,
    ) -> None:
        check_whole("gather_limit", gather_limit)
        check_share("gather_min_importance", gather_min_importance)
        self.user_id = check_name("user_id", user_id)
        self.gather_limit, self.gather_min_importance = gather_limit, gather_min_importance
        scope = hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()
        self._collection = Collection(
            connect(path, client), f"{check_name('name', name)}-{scope}", embed, _packet
        )

    def add(
        self,
        content: str,
        memory_type: MemoryType = "episodic",
        importance: float = 0.5,
        timestamp: datetime | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> str:
        """Remember something. The same content again is another memory.

        Args:
            memory_type: "episodic" for what happened, "semantic" for what is so, "working" for what is being
                done.
            importance: In [0, 1].
            timestamp: When it was; a naive time is local time. None: now.
            metadata: Whatever JSON can hold; `memory_type`, `importance` and `score` are the store's own in
                what is found.

        Returns:
            The id of the memory, which sorts by the time of adding.

        Raises:
            ConfigError: The content is empty, or an argument is not what is said above.
        """
        moment = check_timestamp(datetime.now(UTC) if timestamp is None else timestamp)
        fields = {
            "memory_type": _check_type(memory_type),
            "importance": check_share("importance", importance),
            "timestamp": moment,
            "metadata": check_metadata(metadata),
        }
        identifier = f"memory-{time.time_ns():016x}{secrets.token_hex(4)}"
        self._collection.add([Row(identifier, check_name("content", content), fields)])
        return identifier

    def search(
        self,
        query: str,
        limit: int = 10,
        min_importance: float = 0.3,
        memory_types: Iterable[MemoryType] | None = None,
        *,
        min_score: float = 0.0,
    ) -> list[ContextPacket]:
        """The memories that have most to do with `query`, best first; of equal ones the earlier added first.

        Their `metadata` has `memory_type`, `importance`, `score` in [0, 1], and what was given with them.
        Their `relevance_score` is None, so that a builder scores them on one scale with all other packets.

        Args:
            limit: At most so many.
            min_importance: Nothing less important.
            memory_types: Only these; None: all.
            min_score: Nothing below this. The default leaves it to `limit`, since memories are short and few.

        Raises:
            ConfigError: `limit` is below 1, a number is outside [0, 1], or a type is unknown.
        """
        check_text("query", query)
        check_whole("limit", limit)
        check_share("min_importance", min_importance)
        check_share("min_score", min_score)
        only = _Only(min_importance, _check_types(memory_types))
        hits = self._collection.search(query, limit=limit, only=only)
        return [hit.scored() for hit in hits if hit.score >= min_score][:limit]

    def recent(self, n: int = 10) -> list[ContextPacket]:
        """The `n` newest memories by their timestamps, newest first; of equal ones the later added first."""
        check_whole("n", n)
        rows = sorted(self._collection.rows(), key=lambda row: (_moment(row), row.id), reverse=True)
        return [_packet(row) for row in rows[:n]]

    def forget(
        self,
        *,
        id: str | None = None,  # noqa: A002
        older_than: datetime | timedelta | None = None,
        below_importance: float | None = None,
        memory_types: Iterable[MemoryType] | None = None,
        all: bool = False,  # noqa: A002
        now: datetime | None = None,
    ) -> int:
        """Forget the memories for which everything holds that is given, and say how many they were.

        Working memories that have had their time go by `forget(memory_types=["working"],
        older_than=timedelta(1))`.

        Args:
            id: The one with this id.
            older_than: Those dated before this moment, or longer than this before `now`.
            below_importance: Those less important.
            memory_types: Those of these types.
            all: Every one; nothing else may then be given.
            now: None: now.

        Raises:
            ConfigError: Nothing is given, or `all` with something else.
        """
        before = _check_before(older_than, now)
        below = None if below_importance is None else check_share("below_importance", below_importance)
        types = _check_types(memory_types)
        given = [condition for condition in (id, before, below, memory_types) if condition is not None]
        if bool(all) == bool(given):
            expected = "either all=True, or some of id, older_than, below_importance, memory_types"
            raise ConfigError("what to forget", {"all": all, "others": len(given)}, expected)
        gone = [
            row.id
            for row in self._collection.rows()
            if (id is None or row.id == id)
            and (before is None or _moment(row) < before)
            and (below is None or _importance(row) < below)
            and row.fields["memory_type"] in types
        ]
        self._collection.delete(gone)
        return len(gone)

    def gather(self, query: str) -> list[ContextPacket]:
        """The candidates that it gives as a source: `gather_limit` of them, from `gather_min_importance`."""
        return self.search(query, self.gather_limit, self.gather_min_importance)

    async def agather(self, query: str) -> list[ContextPacket]:
        """The same as `gather`, in a thread."""
        return await asyncio.to_thread(self.gather, query)

    def __len__(self) -> int:
        """How many memories this user has."""
        return len(self._collection)

    def __bool__(self) -> bool:
        """True: an empty store is still one."""
        return True

    def close(self) -> None:
        """Let go of the store's files; one in memory is then gone. A client that was given stays open."""
        self._collection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MemoryStore({self.user_id!r}, {self._collection})"


@dataclass(frozen=True, slots=True)
class _Only:
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


def _check_type(value: object) -> MemoryType:
    for known in _TYPES:
        if value == known:
            return known
    raise ConfigError("memory_type", value, f"one of {', '.join(_TYPES)}")


def _check_types(values: Iterable[object] | None) -> tuple[MemoryType, ...]:
    if values is None:
        return _TYPES
    types = tuple(map(_check_type, [values] if isinstance(values, str) else values))
    if not types:
        raise ConfigError("memory_types", types, f"some of {', '.join(_TYPES)}, or None for all")
    return types


def _check_before(older_than: object, now: datetime | None) -> datetime | None:
    if older_than is None:
        return None
    if isinstance(older_than, timedelta):
        return (datetime.now(UTC) if now is None else now.astimezone()) - older_than
    if isinstance(older_than, datetime):
        return older_than.astimezone() if older_than.tzinfo is None else older_than
    raise ConfigError("older_than", older_than, "a datetime or a timedelta")


def _importance(row: Row) -> float:
    return float(row.fields["importance"])


def _moment(row: Row) -> datetime:
    return datetime.fromisoformat(str(row.fields["timestamp"]))


def _packet(row: Row) -> ContextPacket:
    known = {name: row.fields[name] for name in ("memory_type", "importance")}
    return ContextPacket(
        row.text,
        timestamp=_moment(row),
        metadata={**read_metadata(row.fields["metadata"]), **known},
        kind=Kind.MEMORY,
        id=row.id,
    )
