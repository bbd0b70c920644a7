"""Rows as Chroma holds them, and a look at all of them that is taken only when something has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from packline.embedding import Vectors
from packline.packet import ContextPacket
from packline.relevance.pool import Pool

if TYPE_CHECKING:
    import chromadb

__all__ = ["Fields", "Row", "Snapshot", "look", "parts", "read_rows", "read_vectors", "storable"]

T = TypeVar("T")
Fields: TypeAlias = Mapping[str, str | int | float | bool]

_FEW = 2_000
_LEAST_SAMPLE, _SAMPLE = 20, 200


class Row(NamedTuple):
    """What is stored: an id, a text and what is known of it. Equal ids mean equal rows."""

    id: str
    text: str
    fields: Fields

    def storable(self) -> Row:
        """As UTF-8 can hold it, for which half a surrogate pair is no character: that is a ? in the text."""
        fields = {
            key: storable(value) if isinstance(value, str) else value for key, value in self.fields.items()
        }
        return Row(self.id, self.text.encode("utf-8", "replace").decode(), fields)


def storable(name: str) -> str:
    """A name, such as that of a file, as UTF-8 can hold it; names that differ still do.

    >>> storable("caf\\udce9.txt")
    'caf\\\\udce9.txt'
    """
    return name.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a collection held when it was last looked at.

    Args:
        stamp: What it was recognised by.
        rows: All, in the order of their ids.
        ids: The place of each id in `rows`.
        pool: Their packets, with the index of their words.
        vectors: Of each row, where there are at most 2,000: few are compared one by one, which misses none.
        centre: The mean vector; None where there are too few rows for it to say anything.
    """

    stamp: object
    rows: tuple[Row, ...]
    ids: Mapping[str, int]
    pool: Pool
    vectors: Vectors | None
    centre: Vectors | None


def look(
    handle: chromadb.Collection,
    stamp: object,
    old: Snapshot | None,
    packet: Callable[[Row], ContextPacket],
    batch: int,
) -> Snapshot:
    """A new snapshot; of `old` all is used again that is still there."""
    known = {} if old is None else {row.id: row for row in old.rows}
    ids = sorted(handle.get(include=[])["ids"])
    # Chroma's vector index does not see what other processes wrote before it is written to itself.
    handle.delete(ids=["packline:none"])
    known.update((row.id, row) for row in read_rows(handle, [i for i in ids if i not in known], batch))
    rows = tuple(known[i] for i in ids if i in known)
    ids = [row.id for row in rows]
    vectors = _vectors(handle, ids, old, batch) if len(ids) <= _FEW else None
    centre = None
    if len(ids) >= _LEAST_SAMPLE:
        sample = ids[:: max(1, len(ids) // _SAMPLE)]
        found = vectors if vectors is not None else list(read_vectors(handle, sample, batch).values())
        centre = np.asarray(np.mean(found, axis=0), np.float32)
    places = {i: place for place, i in enumerate(ids)}
    return Snapshot(stamp, rows, places, Pool([packet(row) for row in rows]), vectors, centre)


def _vectors(
    handle: chromadb.Collection, ids: Sequence[str], old: Snapshot | None, batch: int
) -> Vectors | None:
    known: dict[str, Vectors] = {}
    if old is not None and old.vectors is not None:
        known.update(zip(old.ids, old.vectors, strict=True))
    known.update(read_vectors(handle, [i for i in ids if i not in known], batch))
    if not ids or any(i not in known for i in ids):  # one has just been removed: the index will do
        return None
    return np.array([known[i] for i in ids], np.float32)


def read_rows(handle: chromadb.Collection, ids: Sequence[str], batch: int) -> Iterator[Row]:
    """The rows of these ids; those that are gone are left out."""
    for part in parts(ids, batch):
        got = handle.get(ids=list(part), include=["documents", "metadatas"])
        for i, text, fields in zip(got["ids"], got["documents"] or [], got["metadatas"] or [], strict=True):
            yield Row(i, text or "", cast("Fields", fields or {}))


def read_vectors(handle: chromadb.Collection, ids: Sequence[str], batch: int) -> dict[str, Vectors]:
    """The vectors of these ids; those that are gone are left out."""
    found: dict[str, Vectors] = {}
    for part in parts(ids, batch):
        got = handle.get(ids=list(part), include=["embeddings"])
        found.update(zip(got["ids"], np.asarray(got["embeddings"], np.float32), strict=True))
    return found


def parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items, `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))
