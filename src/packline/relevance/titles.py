"""Titles: which titled passages a text names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packline.relevance.bm25 import rarity
from packline.relevance.pool import Pool

__all__ = ["Mentions"]


class Mentions:
    """Which titles of a pool a text mentions.

    Attributes:
        titled: Places of the packets that have a title, of shape (t,).
    """

    def __init__(self, pool: Pool) -> None:
        self.titled, self._starts, self._numbers = pool.titles
        occurrences = np.minimum(pool.words.occurrences, len(pool))
        self._vocabulary = len(occurrences)
        self._weights = rarity(occurrences[self._numbers], len(pool)) ** 2
        whole = np.add.reduceat(self._weights, self._starts) if len(self.titled) else self._weights
        self._whole = np.maximum(whole, 1e-12)

    def of(self, numbers: NDArray[np.int32], *, least: float) -> NDArray[np.float64]:
        """The share of each title's words, weighed by squared rarity, that is among these words.

        Args:
            numbers: Of words in the pool's vocabulary.
            least: A smaller share is none.

        Returns:
            One share in [0, 1] for each of `titled`.
        """
        if not len(self.titled):
            return np.zeros(0)
        there = np.zeros(self._vocabulary, bool)
        there[numbers] = True
        share: NDArray[np.float64] = np.add.reduceat(self._weights * there[self._numbers], self._starts)
        share /= self._whole
        return np.where(share < least, 0.0, share)
