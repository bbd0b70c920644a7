"""A Chroma collection that can be searched by words as well as by meaning.

Chroma holds the texts and the vectors; the words are indexed in memory, once, and again when the collection
has changed, whoever changed it. Whether it has is seen from its size and a mark that every writer leaves.
"""

from __future__ import annotations

import dataclasses
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from packline.chroma.connection import Connection
from packline.chroma.fusion import fused
from packline.embedding import Embedder, Vectors, embedding
from packline.errors import ConfigError
from packline.packet import ContextPacket
from packline.relevance.bm25 import bm25
from packline.relevance.pool import Pool

if TYPE_CHECKING:
    import chromadb

__all__ = ["Collection", "Fields", "Filter", "Hit", "Row"]

T = TypeVar("T")
Fields: TypeAlias = Mapping[str, str | int | float | bool]

_MODEL, _LENGTH, _MARK = "packline:embedding", "packline:dimensions", "packline:changed"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,400}[A-Za-z0-9]")
_CANDIDATES = 100
_LEAST_SAMPLE, _SAMPLE = 20, 200


class Row(NamedTuple):
    """What is stored: an id, a text and what is known of it. Equal ids mean equal rows."""

    id: str
    text: str
    fields: Fields


class Hit(NamedTuple):
    """A row that was found, as a packet, and its score in [0, 1]."""

    row: Row
    packet: ContextPacket
    score: float

    def scored(self) -> ContextPacket:
        """The packet with the score in its metadata."""
        return dataclasses.replace(self.packet, metadata={**self.packet.metadata, "score": self.score})


class Filter(Protocol):
    """Which rows are searched, said twice: to Chroma, and to the word index."""

    @property
    def where(self) -> dict[str, Any]: ...

    def __call__(self, row: Row) -> bool: ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the collection held when it was last looked at: its rows, the place of each id, the words."""

    stamp: tuple[object, int]
    rows: tuple[Row, ...]
    ids: Mapping[str, int]
    pool: Pool
    centre: Vectors | None


class Collection:
    """One collection, safe to use from many threads.

    Args:
        connection: Where it is.
        name: What it is called there; in memory it is made unique, so that no two stores meet.
        embed: The model that fills it: see `packline.embedding.embedding`.
        packet: Makes the packet of a row.

    Raises:
        ConfigError: The collection was filled by another model, or by something other than packline.
    """

    def __init__(
        self, connection: Connection, name: str, embed: object, packet: Callable[[Row], ContextPacket]
    ) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigError("name", name, "3 to 400 letters, digits, dots, hyphens or underscores")
        self.embedder: Embedder = embedding(embed)
        self._connection = connection
        self._packet = packet
        self._name = f"{name}-{uuid.uuid4().hex}" if connection.temporary else name
        self._lock = threading.RLock()
        self._snapshot: Snapshot | None = None
        self._batch = connection.client.get_max_batch_size()
        self._open()
        connection.made(self._name)

    def _open(self) -> None:
        from chromadb.errors import NotFoundError

        try:
            handle = self._handle()
        except NotFoundError:
            handle = self._connection.client.get_or_create_collection(
                self._name,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine", "ef_search": 2 * _CANDIDATES}},
                metadata={_MODEL: self.embedder.name, _MARK: uuid.uuid4().hex},
            )
        filled_by = (handle.metadata or {}).get(_MODEL)
        if filled_by is None:
            raise ConfigError(
                "name",
                self._name,
                f"another: {self._connection.where} holds a collection of this "
                "name that was not made by packline",
            )
        if filled_by != self.embedder.name:
            raise ConfigError(
                "embed",
                self.embedder.name,
                f"{filled_by!r}, the model that filled the collection {self._name!r} in "
                f"{self._connection.where} (or choose another path or name, and add everything anew)",
            )

    def _handle(self) -> chromadb.Collection:
        return self._connection.client.get_collection(self._name, embedding_function=None)

    def __len__(self) -> int:
        return self._handle().count()

    def ids(self) -> list[str]:
        """The ids of all rows."""
        handle = self._handle()
        return list(handle.get(include=[])["ids"])

    def rows(self) -> tuple[Row, ...]:
        """All rows, in the order of their ids."""
        return self._looked().rows

    def some(self, ids: Sequence[str]) -> list[Row]:
        """The rows of these ids, without looking at any other."""
        return list(_read(self._handle(), ids, self._batch))

    def add(self, rows: Sequence[Row], texts: Sequence[str] | None = None) -> None:
        """Write rows, all of a batch or none; rows that are there are written again.

        Args:
            texts: What is embedded; None: the rows' own texts.

        Raises:
            ConfigError: The model's vectors have another length than those that are there.
        """
        if not rows:
            return
        vectors = self.embedder.documents(texts or [row.text for row in rows])
        with self._lock:
            handle = self._handle()
            self._refuse_length(handle, vectors.shape[1])
            self._leave_mark(handle, {_LENGTH: vectors.shape[1]})
            for start in range(0, len(rows), self._batch):
                part = rows[start : start + self._batch]
                handle.upsert(
                    ids=[row.id for row in part],
                    embeddings=vectors[start : start + self._batch],
                    documents=[row.text for row in part],
                    metadatas=[dict(row.fields) for row in part],
                )
            self._leave_mark(handle)

    def delete(self, ids: Sequence[str]) -> None:
        """Remove rows; ids that are not there are no error."""
        if not ids:
            return
        with self._lock:
            handle = self._handle()
            for part in _parts(ids, self._batch):
                handle.delete(ids=list(part))
            self._leave_mark(handle)

    def _refuse_length(self, handle: chromadb.Collection, length: int) -> None:
        known = handle.metadata.get(_LENGTH, length)
        if known != length:
            field, of = f"vectors of {self.embedder.name}", f"those that fill the collection {self._name!r}"
            raise ConfigError(field, length, f"of {known} numbers, as {of}")

    def _leave_mark(self, handle: chromadb.Collection, more: Fields | None = None) -> None:
        handle.modify(metadata={**handle.metadata, **(more or {}), _MARK: uuid.uuid4().hex})

    def search(self, query: str, *, only: Filter | None = None) -> list[Hit]:
        """The hundred rows or more that have most to do with `query`, best first, equal ones by id."""
        seen = self._looked()
        if not seen.ids or not query.strip():
            return []
        allowed = np.array([only is None or only(row) for row in seen.rows])
        handle, vector = self._handle(), self.embedder.query(query)
        self._refuse_length(handle, len(vector))
        cosines = self._nearest(handle, vector, only, seen)
        matches = bm25(query, seen.pool)
        matching = np.flatnonzero(allowed & (matches.scores > 0))
        best = matching[np.argsort(-matches.scores[matching], kind="stable")][:_CANDIDATES]
        cosines.update(
            self._measured(handle, vector, [place for place in best if place not in cosines], seen)
        )
        places = np.array([place for place in sorted(cosines) if allowed[place]], np.intp)
        if not len(places):
            return []
        words = matches.share * matches.scores / max(matches.scores.max(), 1e-12)
        background = 0.0 if seen.centre is None else float(vector @ seen.centre)
        measured = np.array([cosines[place] for place in places])
        scores = fused(query, words[places], measured, background=background)
        hits = [
            Hit(seen.rows[place], seen.pool.packets[place], float(score))
            for place, score in zip(places, scores, strict=True)
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.row.id))

    def _nearest(
        self, handle: chromadb.Collection, vector: Vectors, only: Filter | None, seen: Snapshot
    ) -> dict[int, float]:
        """The cosines of the rows that Chroma finds nearest, by place."""
        found = handle.query(
            query_embeddings=vector[None],
            n_results=min(_CANDIDATES, len(seen.ids)),
            where=only.where if only else None,
            include=["distances"],
        )
        distances = found["distances"] or [[]]
        pairs = zip(found["ids"][0], distances[0], strict=True)
        return {seen.ids[i]: 1 - distance for i, distance in pairs if i in seen.ids}

    def _measured(
        self, handle: chromadb.Collection, vector: Vectors, places: list[int], seen: Snapshot
    ) -> dict[int, float]:
        """The cosines of these rows; a row that is gone has none."""
        if not places:
            return {}
        got = handle.get(ids=[seen.rows[place].id for place in places], include=["embeddings"])
        pairs = zip(got["ids"], got["embeddings"] if got["embeddings"] is not None else [], strict=True)
        return {seen.ids[i]: float(vector @ np.asarray(other, np.float32)) for i, other in pairs}

    def _looked(self) -> Snapshot:
        """What the collection holds now; read anew only where it has changed."""
        with self._lock:
            handle = self._handle()
            stamp = (handle.metadata.get(_MARK), handle.count())
            old = self._snapshot
            if old is not None and old.stamp == stamp:
                return old
            known = {} if old is None else {row.id: row for row in old.rows}
            ids = sorted(handle.get(include=[])["ids"])
            # Chroma's vector index does not see what other processes wrote before it is written to itself.
            handle.delete(ids=["packline:none"])
            new = [i for i in ids if i not in known]
            known.update((row.id, row) for row in _read(handle, new, self._batch))
            rows = tuple(known[i] for i in ids if i in known)
            pool = Pool([self._packet(row) for row in rows])
            places = {row.id: place for place, row in enumerate(rows)}
            self._snapshot = Snapshot(stamp, rows, places, pool, _centre(handle, list(places)))
            return self._snapshot

    def __repr__(self) -> str:
        return f"{self._name} in {self._connection.where}, by {self.embedder.name}"

    def close(self) -> None:
        """Let go of the client, unless it is the caller's; a store in memory is then gone."""
        self._connection.close()


def _centre(handle: chromadb.Collection, ids: Sequence[str]) -> Vectors | None:
    """The mean of some vectors from all over the collection; None where there are too few to say anything."""
    if len(ids) < _LEAST_SAMPLE:
        return None
    sample = ids[:: max(1, len(ids) // _SAMPLE)]
    vectors = handle.get(ids=list(sample), include=["embeddings"])["embeddings"]
    return np.asarray(np.mean(np.asarray(vectors, np.float32), axis=0), np.float32)


def _read(handle: chromadb.Collection, ids: Sequence[str], batch: int) -> Iterator[Row]:
    for part in _parts(ids, batch):
        got = handle.get(ids=list(part), include=["documents", "metadatas"])
        for i, text, fields in zip(got["ids"], got["documents"] or [], got["metadatas"] or [], strict=True):
            yield Row(i, text or "", cast("Fields", fields or {}))


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
