"""A Chroma collection that can be searched by words as well as by meaning.

Chroma holds the texts and the vectors; the words are indexed in memory, once, and again when the collection
has changed, whoever changed it. Whether it has is seen from its size and a mark that every writer leaves.
"""

from __future__ import annotations

import re
import threading
import uuid
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from packline.chroma.connection import Connection
from packline.chroma.rows import Fields, Row, Snapshot, look, parts, read_rows
from packline.chroma.searching import Filter, Hit, search
from packline.embedding import Embedder, Vectors, embedding
from packline.errors import ConfigError, PacklineError
from packline.packet import ContextPacket

if TYPE_CHECKING:
    import chromadb

__all__ = ["Collection"]

_MODEL, _LENGTH, _MARK = "packline:embedding", "packline:dimensions", "packline:changed"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,400}[A-Za-z0-9]")
_CANDIDATES = 100
_NOISE = np.float32(5e-4)


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
                configuration={"hnsw": {"space": "cosine", "ef_search": 10 * _CANDIDATES}},
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

    def check_open(self, owner: str) -> None:
        """Refuse what is asked of an `owner` that is closed: see `Connection.check_open`."""
        self._connection.check_open(owner)

    def _handle(self) -> chromadb.Collection:
        try:
            return self._connection.client.get_collection(self._name, embedding_function=None)
        except AttributeError as error:  # so Chroma's clients end that work in this process
            raise PacklineError(
                f"the Chroma client of {self._name!r} is closed: open another, and the store anew with it"
            ) from error

    def __len__(self) -> int:
        return self._handle().count()

    def ids(self) -> list[str]:
        """The ids of all rows."""
        handle = self._handle()
        return list(handle.get(include=[])["ids"])

    def rows(self) -> tuple[Row, ...]:
        """All rows, in the order of their ids."""
        return self._look(self._handle()).rows

    def some(self, ids: Sequence[str]) -> list[Row]:
        """The rows of these ids, without looking at any other."""
        return list(read_rows(self._handle(), ids, self._batch))

    def add(self, rows: Sequence[Row]) -> None:
        """Write rows; those that are there already are written again.

        Raises:
            ConfigError: The model's vectors have another length than those that are there.
        """
        if not rows:
            return
        rows = [row.storable() for row in rows]
        vectors = _apart(self.embedder.documents([row.text for row in rows]), rows)
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
            for part in parts(ids, self._batch):
                handle.delete(ids=list(part))
            self._leave_mark(handle)

    def _refuse_length(self, handle: chromadb.Collection, length: int) -> None:
        known = handle.metadata.get(_LENGTH, length)
        if known != length:
            field, of = f"vectors of {self.embedder.name}", f"those that fill the collection {self._name!r}"
            raise ConfigError(field, length, f"of {known} numbers, as {of}")

    def _leave_mark(self, handle: chromadb.Collection, more: Fields | None = None) -> None:
        handle.modify(metadata={**handle.metadata, **(more or {}), _MARK: uuid.uuid4().hex})

    def search(self, query: str, *, limit: int = 1, only: Filter | None = None) -> list[Hit]:
        """The rows that have most to do with `query`, best first: `limit` of them, if there are, or more."""
        handle = self._handle()
        seen = self._look(handle)
        if not seen.rows or not query.strip():
            return []
        vector = self.embedder.query(query)
        self._refuse_length(handle, len(vector))
        return search(query, vector, handle, seen, only=only, least=max(limit, _CANDIDATES))

    def _look(self, handle: chromadb.Collection) -> Snapshot:
        with self._lock:
            stamp = (handle.metadata.get(_MARK), handle.count())
            if self._snapshot is None or self._snapshot.stamp != stamp:
                self._snapshot = look(handle, stamp, self._snapshot, self._packet, self._batch)
            return self._snapshot

    def __repr__(self) -> str:
        return f"{self._name} in {self._connection.where}, by {self.embedder.name}"

    def close(self) -> None:
        """Let go of the client, unless it is the caller's; a store in memory is then gone."""
        self._connection.close()


def _apart(vectors: Vectors, rows: Sequence[Row]) -> Vectors:
    """The vectors, each moved by less than a thousandth, always in the same direction for a row.

    In Chroma's index a thousand equal vectors, such as those of one licence in many files, hide all others.
    """
    noise = np.zeros_like(vectors)
    for place, row in enumerate(rows):
        noise[place] = np.random.default_rng(zlib.crc32(row.id.encode())).standard_normal(vectors.shape[1])
    return vectors + _NOISE * noise / np.float32(vectors.shape[1] ** 0.5)
