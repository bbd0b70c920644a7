"""Titles: which titled packets of a pool a text names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packline.relevance.rarity import rarity
from packline.relevance.words import WordIndex

__all__ = ["Titles"]

_ALL = 0.999  # but for rounding


class Titles:
    """The titles of a pool, as words of its index.

    Args:
        packets: Places of the packets that have a title, of shape (t,).
        titles: Numbers of the words of each.
        index: The words of the pool.

    Attributes:
        packets: As given.
    """

    def __init__(self, packets: Sequence[int], titles: Sequence[Sequence[int]], index: WordIndex) -> None:
        self.packets = np.array(packets, np.intp)
        self._of = np.repeat(np.arange(len(titles), dtype=np.int32), [len(title) for title in titles])
        self._numbers = np.array([number for title in titles for number in title], np.int32)
        self._vocabulary = index.vocabulary
        occurrences = np.minimum(index.occurrences[self._numbers], len(index))
        self._weights = rarity(occurrences, len(index)) ** 2
        self._whole = np.maximum(self._sums(np.arange(len(self._numbers))), 1e-12)

    def named(self, numbers: Sequence[int] | NDArray[np.int32], *, least: float) -> NDArray[np.float64]:
        """The share of each title's words, weighed by squared rarity, that is among these words.

        Args:
            numbers: Of words in the index.
            least: A smaller share is none.

        Returns:
            One share in [0, 1] for each title.
        """
        there = np.zeros(self._vocabulary, bool)
        there[numbers] = True
        share = self._sums(np.flatnonzero(there[self._numbers])) / self._whole
        return np.where(share < least, 0.0, share)

    def within(self, packet: int) -> NDArray[np.bool_]:
        """Which titles are only a part of the title of a packet: "Night" of "Night Train"."""
        place = int(np.searchsorted(self.packets, packet))
        if place == len(self.packets) or self.packets[place] != packet:
            return np.zeros(len(self.packets), bool)
        shares = self.named(self._numbers[self._of == place], least=_ALL)
        part: NDArray[np.bool_] = (shares > 0) & (self._whole < _ALL * self._whole[place])
        return part

    def _sums(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        sums = np.bincount(self._of[places], self._weights[places], minlength=len(self.packets))
        return sums.astype(np.float64)
