"""Cosines of questions with texts, from vectors that are made once and remembered."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from packline.embedding import Embedder, Vectors, embedding, unit_rows
from packline.errors import ConfigError
from packline.relevance.pool import Pool, carried_vector

__all__ = ["Cosines", "standing_out"]

_BLOCK = 2_048  # texts that are embedded, or rows that are multiplied, at a time

Halves = NDArray[np.float16]


class Cosines:
    """An embedding model, and the vectors of `remembered` texts, or of the last pool, in half precision.

    Args:
        embed: Whatever `packline.embedding.embedding` takes.
        remembered: Texts whose vectors are kept.
        carried: Take the vectors that packets carry instead of making new ones.
    """

    def __init__(self, embed: object = None, *, remembered: int = 50_000, carried: bool = False) -> None:
        if not isinstance(remembered, int) or isinstance(remembered, bool) or remembered < 0:
            raise ConfigError("remembered", remembered, "a whole number from 0")
        if not isinstance(carried, bool):
            raise ConfigError("carried", carried, "True or False")
        self._embedder = embedding(embed)
        self._remembered = remembered
        self._carried = carried
        self._rows: dict[bytes, int] = {}  # by digests, which take less room than texts
        self._vectors: Halves = np.zeros((0, 0), np.float16)
        self._places: WeakKeyDictionary[Pool, NDArray[np.int32]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, question: str, pool: Pool) -> NDArray[np.float64]:
        """One cosine in [-1, 1] for each packet, 0 for a text that means nothing to the model."""
        if not len(pool):
            return np.zeros(0)
        asked = self._embedder.query(question)
        with self._lock:
            places, vectors = self._places_of(pool), self._vectors
        self._check_widths(vectors, asked[None])
        blocks = [places[start : start + _BLOCK] for start in range(0, len(places), _BLOCK)]
        cosines = np.concatenate([vectors[block].astype(np.float32) @ asked for block in blocks])
        clipped: NDArray[np.float64] = np.clip(cosines, -1, 1).astype(np.float64)
        return clipped

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self._embedder, self._remembered, self._carried)  # the rest can be made anew

    def _places_of(self, pool: Pool) -> NDArray[np.int32]:
        """Where the vectors of a pool stand; those that are missing are added first."""
        if pool not in self._places:
            texts = pool.texts
            given = [carried_vector(packet) if self._carried else None for packet in pool.packets]
            keys = list(map(_digest, texts, given))
            new = {key: place for place, key in enumerate(keys) if key not in self._rows}
            if new:
                places = list(new.values())
                vectors = self._made([texts[place] for place in places], [given[place] for place in places])
                self._remember(list(new), vectors, keep=keys)
            self._places[pool] = np.array([self._rows[key] for key in keys], np.int32)
        return self._places[pool]

    def _made(self, texts: Sequence[str], given: Sequence[object]) -> Halves:
        """One row a text: what is given for it, or the model's where that is None."""
        missing = np.array([vector is None for vector in given])
        asked = [text for text, vector in zip(texts, given, strict=True) if vector is None]
        blocks = [asked[start : start + _BLOCK] for start in range(0, len(asked), _BLOCK)]
        made = [self._embedder.documents(block).astype(np.float16) for block in blocks]
        if missing.all():
            return np.concatenate(made)
        ready = unit_rows([v for v in given if v is not None], len(texts) - len(asked), of="the packets")
        self._check_widths(ready, *made)
        vectors = np.empty((len(texts), ready.shape[1]), np.float16)
        vectors[~missing] = ready
        if made:
            vectors[missing] = np.concatenate(made)
        return vectors

    def _remember(self, new: list[bytes], vectors: Halves, *, keep: Sequence[bytes]) -> None:
        """Add vectors; where that makes too many, forget all but those to `keep`."""
        known = list(self._rows)
        if len(known) + len(new) > self._remembered:
            known = [key for key in dict.fromkeys(keep) if key in self._rows]
            self._places.clear()
        if known:
            self._check_widths(vectors, self._vectors)
            vectors = np.concatenate([self._vectors[[self._rows[key] for key in known]], vectors])
        self._rows = {key: row for row, key in enumerate((*known, *new))}
        self._vectors = vectors

    def _check_widths(self, *vectors: Vectors | Halves) -> None:
        widths = sorted({rows.shape[1] for rows in vectors})
        if len(widths) > 1:
            numbers = " and ".join(map(str, widths))
            raise ConfigError(f"vectors of {self._embedder.name}", f"{numbers} numbers", "of one length")


def _digest(text: str, vector: object) -> bytes:
    """A text, and the vector that is given for it, in 16 bytes."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    if vector is not None:
        try:
            digest.update(np.asarray(vector, np.float32).tobytes())
        except (TypeError, ValueError):
            digest.update(repr(vector).encode())  # it is refused where it is read
    return digest.digest()


def _again(embedder: Embedder, remembered: int, carried: bool) -> Cosines:
    return Cosines(embedder, remembered=remembered, carried=carried)


def standing_out(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each cosine lies above half of the pool's mean, 0 where it lies below."""
    return np.maximum(cosines - 0.5 * max(0.0, float(cosines.mean())), 0.0) if len(cosines) else cosines
