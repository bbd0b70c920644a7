"""MemoryStore: what an assistant remembers of a user, found by words and by meaning.

Each user's memories are a collection of their own. No search filters by user, so none can leave it out.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from packline.chroma.checks import check_name, check_share, check_text, check_whole
from packline.chroma.collection import Collection
from packline.chroma.connection import connect
from packline.chroma.remembered import (
    Findable,
    Forgettable,
    MemoryType,
    check_before,
    check_types,
    moment_of,
    packet_of,
    remembered,
)
from packline.chroma.store import Store
from packline.errors import ConfigError
from packline.packet import ContextPacket, Kind

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

__all__ = ["MemoryStore", "MemoryType"]


class MemoryStore(Store):
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
        called = f"{check_name('name', name)}-{scope}"
        super().__init__(Collection(connect(path, client), called, embed, packet_of))

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
        row = remembered(content, memory_type, importance, timestamp, metadata)
        self._collection.add([row])
        return row.id

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
        only = Findable(min_importance, check_types(memory_types))
        hits = self._collection.search(query, limit=limit, only=only)
        return [hit.scored() for hit in hits if hit.score >= min_score][:limit]

    def recent(self, n: int = 10) -> list[ContextPacket]:
        """The `n` newest memories by their timestamps, newest first; of equal ones the later added first."""
        check_whole("n", n)
        rows = sorted(self._collection.rows(), key=lambda row: (moment_of(row), row.id), reverse=True)
        return [packet_of(row) for row in rows[:n]]

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
        before = check_before(older_than, now)
        below = None if below_importance is None else check_share("below_importance", below_importance)
        types = check_types(memory_types)
        given = [condition for condition in (id, before, below, memory_types) if condition is not None]
        if bool(all) == bool(given):
            expected = "either all=True, or some of id, older_than, below_importance, memory_types"
            raise ConfigError("what to forget", {"all": all, "others": len(given)}, expected)
        forgettable = Forgettable(id, before, below, types)
        gone = [row.id for row in self._collection.rows() if forgettable(row)]
        self._collection.delete(gone)
        return len(gone)

    def gather(self, query: str) -> list[ContextPacket]:
        """The candidates that it gives as a source: `gather_limit` of them, from `gather_min_importance`."""
        return self.search(query, self.gather_limit, self.gather_min_importance)

    def __repr__(self) -> str:
        return f"MemoryStore({self.user_id!r}, {self._kept})"
