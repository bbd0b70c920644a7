"""Cosines of questions with texts, from vectors that are made once and remembered."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packline.embedding import Embedder, embedding
from packline.errors import ConfigError

__all__ = ["Cosines", "standing_out"]

_BLOCK = 2_048  # texts that are embedded, or rows that are multiplied, at a time

Halves = NDArray[np.float16]


class Cosines:
    """An embedding model, and the vectors of `remembered` texts, or of the last pool, in half precision."""

    def __init__(self, embed: object = None, *, remembered: int = 50_000) -> None:
        if not isinstance(remembered, int) or isinstance(remembered, bool) or remembered < 0:
            raise ConfigError("remembered", remembered, "a whole number from 0")
        self._embedder = embedding(embed)
        self._remembered = remembered
        self._rows: dict[str, int] = {}
        self._vectors: Halves = np.zeros((0, 0), np.float16)
        self._lock = threading.Lock()

    def of(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """One cosine in [-1, 1] for each text, 0 for a text that means nothing to the model."""
        if not texts:
            return np.zeros(0)
        asked = self._embedder.query(question)
        with self._lock:
            vectors = self._of(texts)
        if vectors.shape[1] != len(asked):
            raise ConfigError(
                f"vectors of {self._embedder.name}",
                f"{len(asked)} numbers for the question and {vectors.shape[1]} for the texts",
                "of one length",
            )
        blocks = [vectors[start : start + _BLOCK] for start in range(0, len(texts), _BLOCK)]
        cosines = np.concatenate([block.astype(np.float32) @ asked for block in blocks])
        clipped: NDArray[np.float64] = np.clip(cosines, -1, 1).astype(np.float64)
        return clipped

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self._embedder, self._remembered)  # what it remembers can be made anew

    def _of(self, texts: Sequence[str]) -> Halves:
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            self._learn(new, texts)
        return self._vectors[[self._rows[text] for text in texts]]

    def _learn(self, new: list[str], pool: Sequence[str]) -> None:
        """Embed new texts; where that makes too many, forget all that are not of this pool."""
        blocks = [new[start : start + _BLOCK] for start in range(0, len(new), _BLOCK)]
        learnt = np.concatenate([self._embedder.documents(block).astype(np.float16) for block in blocks])
        known = list(self._rows)
        if len(known) + len(new) > self._remembered:
            known = [text for text in dict.fromkeys(pool) if text in self._rows]
        if known and self._vectors.shape[1] == learnt.shape[1]:
            learnt = np.concatenate([self._vectors[[self._rows[text] for text in known]], learnt])
        else:
            known = []
        self._rows = {text: row for row, text in enumerate((*known, *new))}
        self._vectors = learnt


def _again(embedder: Embedder, remembered: int) -> Cosines:
    return Cosines(embedder, remembered=remembered)


def standing_out(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each cosine lies above half of the pool's mean, 0 where it lies below."""
    return np.maximum(cosines - 0.5 * max(0.0, float(cosines.mean())), 0.0) if len(cosines) else cosines
