"""Spread: relevance reaches from a passage to what belongs to it.

A turn is understood from the turns around it, a question about a person is answered by that person, a
question about 3 June by what was said on 3 June, and the second passage of a two-step question is named by
the first.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from packline.errors import ConfigError
from packline.relevance.dates import dates_in, nearness
from packline.relevance.hops import to_linked, to_titled
from packline.relevance.pool import Pool
from packline.relevance.words import words

__all__ = ["Spread"]

REACH = 8
"""Turns on each side that the wide average takes in."""

USUALLY_VARIED = 0.65
"""How much the lengths of turns vary in most conversations: the standard deviation of their logarithms."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How far relevance spreads; each 0 switches one way off.

    Args:
        near: Share of their score that the two turns next to a turn give it; a half and a quarter of that
            come from the second and the third on each side. Chunks of one document give each other nothing,
            which measures better.
        wide: Weight of the average over eight on each side. What a packet gets from `near` and `wide` is
            divided by (its length / mean length) ** 0.15: a long turn is no more about its surroundings than
            a short one.
        dense: Where the lengths of turns vary more than in most conversations, a turn longer than the mean
            must be worth its room: its score is divided by (length / mean) ** (dense * (v - 0.65)), v being
            the standard deviation of the lengths' logarithms. In talks of even turns, and for documents,
            length says nothing of the kind.
        speaker: Turns of a speaker whom the question names count so much more.
        dated: What is dated when the question says ("on 3 June", "in May 2023") counts so much more; less in
            proportion to the share of the dated packets that are: a year that fits them all tells nothing.
        titled: Share of the best score that passages get whose title the question names: `metadata["title"]`
            or a short first line, below lines of metadata.
        linked: Share of its score that each of the eight best packets gives to passages whose title it
            mentions, less the further it is from the best.
        shared: Share of its score that each of them gives to packets that share a name with it, as rare as
            that name is: half for a name of one word.
        onward: Share of what one more hop gives, from where those two led.

    Raises:
        ConfigError: A number is negative.
    """

    near: float = 0.5
    wide: float = 2.0
    dense: float = 1.0
    speaker: float = 0.5
    dated: float = 1.0
    titled: float = 0.2
    linked: float = 0.5
    shared: float = 0.4
    onward: float = 0.25

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < np.inf:
                raise ConfigError(field.name, value, "a number from 0")

    @classmethod
    def checked(cls, spread: Spread | None) -> Spread:
        """`spread`, the defaults for None, or a `ConfigError`."""
        if spread is None:
            return cls()
        if not isinstance(spread, cls):
            raise ConfigError("spread", spread, "a Spread, such as Spread(speaker=0), or None")
        return spread

    def scores(
        self, question: str, own: NDArray[np.float64], pool: Pool, *, best: float
    ) -> NDArray[np.float64]:
        """`best * sqrt(score / highest score)` of what packets score on their own and by what spreads.

        The root keeps the second half of an answer, which shares few words with the question, above a
        threshold that drops what has nothing to do with it.
        """
        spread = self(question, own, pool)
        highest = spread.max(initial=0.0)
        if highest <= 0:
            return np.zeros(len(pool))
        scores: NDArray[np.float64] = min(best, 1.0) * np.sqrt(spread / highest)
        return scores

    def __call__(self, question: str, scores: NDArray[np.float64], pool: Pool) -> NDArray[np.float64]:
        """The scores with what spreads to each packet; a pool is in the order of its conversation."""
        scores = self._to_neighbours(scores, pool)
        scores = self._to_dense(scores, pool)
        scores = self._to_speakers(question, scores, pool)
        scores = self._to_dated(question, scores, pool)
        scores = to_titled(question, scores, pool, titled=self.titled)
        return to_linked(question, scores, pool, linked=self.linked, shared=self.shared, onward=self.onward)

    def _to_neighbours(self, scores: NDArray[np.float64], pool: Pool) -> NDArray[np.float64]:
        order, first, end = pool.stretches
        if not len(order) or not (self.near or self.wide):
            return scores
        own = scores[order]
        gained = self.near * _near(own, first, end) + self.wide * _average(own, first, end)
        lengths = np.maximum(pool.words.lengths, 1)
        spread = scores.copy()
        spread[order] += gained * (lengths.mean() / lengths[order]) ** 0.15
        return spread

    def _to_dense(self, scores: NDArray[np.float64], pool: Pool) -> NDArray[np.float64]:
        turns = pool.stretches.order
        if not len(turns) or not self.dense:
            return scores
        lengths = np.maximum(pool.words.lengths[turns], 1)
        varied = max(0.0, float(np.log(lengths).std()) - USUALLY_VARIED)
        dense = scores.copy()
        dense[turns] /= np.maximum(lengths / lengths.mean(), 1.0) ** (self.dense * varied)
        return dense

    def _to_speakers(self, question: str, scores: NDArray[np.float64], pool: Pool) -> NDArray[np.float64]:
        asked = set(words(question))
        spread = scores.copy()
        for names, turns in pool.speakers.values():
            if any(name and name <= asked for name in names):
                spread[turns] *= 1 + self.speaker
        return spread

    def _to_dated(self, question: str, scores: NDArray[np.float64], pool: Pool) -> NDArray[np.float64]:
        dates = dates_in(question) if self.dated else []
        if not dates or np.isnan(pool.days).all():
            return scores
        near = nearness(dates, pool.days)
        told = 1 - near[~np.isnan(pool.days)].mean()
        dated: NDArray[np.float64] = scores * (1 + self.dated * told * near)
        return dated


def _near(scores: NDArray[np.float64], first: NDArray[np.intp], end: NDArray[np.intp]) -> NDArray[np.float64]:
    """1, 1/2 and 1/4 of the first, second and third neighbour on each side; missing ones as the mean."""
    places = np.arange(len(scores))
    gained, weights = np.zeros(len(scores)), np.zeros(len(scores))
    for distance, weight in ((1, 1.0), (2, 0.5), (3, 0.25)):
        for neighbour in (places - distance, places + distance):
            there = (neighbour >= first) & (neighbour < end)
            gained += weight * np.where(there, scores[np.clip(neighbour, 0, len(scores) - 1)], 0.0)
            weights += weight * there
    return gained * 3.5 / np.maximum(weights, 1.0)


def _average(
    scores: NDArray[np.float64], first: NDArray[np.intp], end: NDArray[np.intp]
) -> NDArray[np.float64]:
    places = np.arange(len(scores))
    low, high = np.maximum(places - REACH, first), np.minimum(places + REACH + 1, end)
    sums = np.concatenate([[0.0], np.cumsum(scores)])
    average: NDArray[np.float64] = (sums[high] - sums[low]) / (high - low)
    return average
