"""Cosines of questions with texts, from vectors that are made once and remembered."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packline.embedding import Vectors, embedding
from packline.errors import ConfigError

__all__ = ["Cosines", "standing_out"]


class Cosines:
    """An embedding model, and the vectors of the `remembered` texts that came last, in half precision."""

    def __init__(self, embed: object = None, *, remembered: int = 50_000) -> None:
        if not isinstance(remembered, int) or isinstance(remembered, bool) or remembered < 0:
            raise ConfigError("remembered", remembered, "a whole number from 0")
        self._embedder = embedding(embed)
        self._remembered = remembered
        self._vectors: dict[str, NDArray[np.float16]] = {}
        self._last: tuple[list[str], Vectors] = [], np.zeros((0, 0), np.float32)
        self._lock = threading.Lock()

    def of(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """One cosine in [-1, 1] for each text, 0 for a text that means nothing to the model."""
        if not texts:
            return np.zeros(0)
        asked = self._embedder.query(question)
        with self._lock:
            vectors = self._of(list(texts))
        if vectors.shape[1] != len(asked):
            raise ConfigError(
                f"vectors of {self._embedder.name}",
                f"{len(asked)} numbers for the question and {vectors.shape[1]} for the texts",
                "of one length",
            )
        cosines: NDArray[np.float64] = np.clip(vectors @ asked, -1, 1).astype(np.float64)
        return cosines

    def _of(self, texts: list[str]) -> Vectors:
        """The vectors of a pool; the pool that was asked about last is kept as one matrix."""
        if texts != self._last[0]:
            new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
            known = dict(zip(new, self._embedder.documents(new).astype(np.float16), strict=True))
            rows = np.stack([known[text] if text in known else self._vectors[text] for text in texts])
            self._remember(known)
            self._last = texts, rows.astype(np.float32)
        return self._last[1]

    def _remember(self, vectors: dict[str, NDArray[np.float16]]) -> None:
        self._vectors.update(vectors)
        for text in list(self._vectors)[: max(0, len(self._vectors) - self._remembered)]:
            del self._vectors[text]


def standing_out(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each cosine lies above half of the pool's mean, 0 where it lies below."""
    return np.maximum(cosines - 0.5 * max(0.0, float(cosines.mean())), 0.0) if len(cosines) else cosines
