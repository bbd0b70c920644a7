"""Searching a collection: candidates by meaning and by words, then one score for each."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from packline.chroma.fusion import fused
from packline.chroma.rows import Row, Snapshot, read_vectors
from packline.embedding import Vectors
from packline.packet import ContextPacket
from packline.relevance.bm25 import bm25

if TYPE_CHECKING:
    import chromadb
    from numpy.typing import NDArray

__all__ = ["Filter", "Hit", "search"]


class Hit(NamedTuple):
    """A row that was found, as a packet, and its score in [0, 1]."""

    row: Row
    packet: ContextPacket
    score: float

    def scored(self) -> ContextPacket:
        """The packet with the score in its metadata."""
        return dataclasses.replace(self.packet, metadata={**self.packet.metadata, "score": self.score})


class Filter(Protocol):
    """Which rows are searched, said twice: to Chroma, and of a row."""

    @property
    def where(self) -> dict[str, Any]: ...

    def __call__(self, row: Row) -> bool: ...


def search(
    query: str,
    vector: Vectors,
    handle: chromadb.Collection,
    seen: Snapshot,
    *,
    only: Filter | None = None,
    least: int = 100,
) -> list[Hit]:
    """The `least` rows that have most to do with `query`, or some more; best first, equal ones by id."""
    allowed = np.array([only(row) for row in seen.rows]) if only else np.ones(len(seen.rows), bool)
    matches = bm25(query, seen.pool)
    if seen.vectors is not None:
        cosines = dict(enumerate((seen.vectors @ vector).tolist()))
    else:
        cosines = _nearest(vector, handle, seen, only, least)
        matching = np.flatnonzero(allowed & (matches.scores > 0))
        best = matching[np.argsort(-matches.scores[matching], kind="stable")][:least]
        if len(cosines) < min(least, int(allowed.sum())):  # the index has lost some
            best = np.flatnonzero(allowed)
        missing = [seen.rows[place].id for place in best.tolist() if place not in cosines]
        others = read_vectors(handle, missing, least)
        cosines.update((seen.ids[i], float(vector @ other)) for i, other in others.items())
    places = np.array([place for place in sorted(cosines) if allowed[place]], np.intp)
    words = matches.share * matches.scores[places] / max(matches.scores.max(initial=0.0), 1e-12)
    background = 0.0 if seen.centre is None else float(vector @ seen.centre)
    scores = fused(query, words, _rounded(cosines, places), background=background)
    hits = [
        Hit(seen.rows[place], seen.pool.packets[place], float(score))
        for place, score in zip(places, scores, strict=True)
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.row.id))


def _nearest(
    vector: Vectors, handle: chromadb.Collection, seen: Snapshot, only: Filter | None, least: int
) -> dict[int, float]:
    """The cosines of the rows that Chroma finds nearest, by place."""
    found = handle.query(
        query_embeddings=vector[None],
        n_results=min(least, len(seen.rows)),
        where=only.where if only else None,
        include=["distances"],
    )
    distances = found["distances"] or [[]]
    pairs = zip(found["ids"][0], distances[0], strict=True)
    return {seen.ids[i]: 1 - distance for i, distance in pairs if i in seen.ids}


def _rounded(cosines: dict[int, float], places: NDArray[np.intp]) -> NDArray[np.float64]:
    """To three decimals: what is below is noise, so equal texts stay equal."""
    measured = np.array([cosines[place] for place in places.tolist()], np.float64)
    return np.asarray(np.round(measured, 3), np.float64)
