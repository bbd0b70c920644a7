"""Titles: passages that the question names, and the second step to those that the best passages name.

The second passage of a two-step question ("Which office did the actress of Corliss hold?") resembles the
first one, not the question; but the first one mentions it by its title.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from packline.relevance.bm25 import rarity
from packline.relevance.pool import Pool
from packline.relevance.words import words

__all__ = ["to_titles"]

LEADERS = 3
"""Passages that a second step starts from."""

IN_QUESTION, IN_PASSAGE = 0.9, 0.5
"""Shares of a title's words, weighed by rarity, from which on it is named."""


def to_titles(
    question: str, scores: NDArray[np.float64], pool: Pool, *, named: float, linked: float
) -> NDArray[np.float64]:
    """The scores, and what titled passages gain from the question and from the `LEADERS` best ones.

    Args:
        named: Share of the best score for a passage whose title the question has.
        linked: Share of a leader's score for a passage whose title the leader has.
    """
    titled = pool.titles.packets
    if not len(titled) or not (named or linked):
        return scores
    index, mentions = pool.words, _Mentions(pool)
    asked = [number for word in words(question) if (number := index.number(word)) is not None]
    spread = scores.copy()
    spread[titled] += named * scores.max() * mentions.of(np.array(asked, np.int32), IN_QUESTION)
    gained = np.zeros(len(titled))
    for leader in np.argsort(-spread, kind="stable")[:LEADERS]:
        share = mentions.of(index.numbers[index.starts[leader] : index.starts[leader + 1]], IN_PASSAGE)
        share[titled == leader] = 0.0
        gained = np.maximum(gained, spread[leader] * share)
    spread[titled] += linked * gained
    return spread


class _Mentions:
    """Which titles a text mentions."""

    def __init__(self, pool: Pool) -> None:
        _, self._starts, self._numbers = pool.titles
        occurrences = np.minimum(pool.words.occurrences, len(pool))
        self._vocabulary = len(occurrences)
        self._weights = rarity(occurrences[self._numbers], len(pool)) ** 2
        self._whole = np.maximum(np.add.reduceat(self._weights, self._starts), 1e-12)

    def of(self, numbers: NDArray[np.int32], least: float) -> NDArray[np.float64]:
        """The share of each title that is among these words, 0 where it is below `least`."""
        there = np.zeros(self._vocabulary, bool)
        there[numbers] = True
        share: NDArray[np.float64] = np.add.reduceat(self._weights * there[self._numbers], self._starts)
        share /= self._whole
        return np.where(share < least, 0.0, share)
