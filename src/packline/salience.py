"""Salience: which sentences of a text matter for a question, together.

Sentences are few and short, so that rarity is counted within the text, and a sentence that only repeats what
a better one has said is worth less than one that matches another part of the question. The order is made as
far as it is asked for: of a long text little is.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from heapq import heappop, heapreplace

import numpy as np
from numpy.typing import NDArray

from packline.relevance.words import WordIndex, is_gram, words

__all__ = ["Ranking"]

# What a sentence is worth for its place, as shares of what the best match is worth.
_OPENING, _OPENERS = 0.125, 2
_SHORT = 20  # sentences of a text whose opening is still worth all that; in longer ones it is worth less
_TITLE_LENGTH = 80  # characters of a first line that is a title, which gives all the rest its meaning
_BESIDE, _FARTHER = 0.05, 0.5  # beside the best match, and by how much that falls with each sentence between
_REPEATS = 4  # from here on a word counts no less
_STEM = 5
_K1, _B = 1.2, 0.3


class Ranking:
    """The places of `sentences`, best first; of those that do not match, the nearest to the best match first.

    The best is always the one that adds the most to those before it: a word of the question counts half as
    much each time that it has been there (the lazy greedy method: what a sentence adds can only fall).

    Its place adds to a sentence's worth, in shares of the best match: 1/20 beside that match, half as much
    with each step farther away; and 1/8 for each of the first two of a text, in one of more than 20 sentences
    less, by the square of their number, except for a title (a first line of at most 80 characters).

    >>> list(Ranking(["My pets", "It rains.", "Birds sing.", "Cats sleep all day."], "What do cats do?"))
    [3, 1, 0, 2]
    """

    def __init__(self, sentences: Sequence[str], query: str) -> None:
        self._known: list[int] = []
        self._others = _best_first(sentences, query)

    def __iter__(self) -> Iterator[int]:
        yield from self._known
        for at in self._others:
            self._known.append(at)
            yield at


def _best_first(sentences: Sequence[str], query: str) -> Iterator[int]:
    matches = _Matches(sentences, query)
    worth = matches.worth()
    opening = worth.max(initial=0.0) * _opening(sentences)
    best = int(np.argmax(worth + opening)) if len(worth) else 0
    away = np.abs(np.arange(len(worth)) - best)
    beside = worth.max(initial=0.0) * _BESIDE * _FARTHER ** (away - 1.0)
    order: dict[int, None] = {}
    for at in _greedy(matches, best, opening + beside, away):
        order[at] = None
        yield at
    yield from (at for at in _around(best, len(sentences)) if at not in order)


def _opening(sentences: Sequence[str]) -> NDArray[np.float64]:
    """What each sentence is worth for standing at the beginning, as a share of the best match."""
    worth = np.zeros(len(sentences))
    worth[:_OPENERS] = _OPENING * min(1.0, _SHORT / max(len(sentences), 1)) ** 2
    if len(sentences) > 1 and len(sentences[0]) <= _TITLE_LENGTH and sentences[0].endswith("\n"):
        worth[0] = _OPENING
    return worth


def _greedy(
    matches: _Matches, best: int, placed: NDArray[np.float64], away: NDArray[np.intp]
) -> Iterator[int]:
    """The best and the others that are worth something, each time the one that adds the most.

    Args:
        placed: What each sentence is worth for its place alone.
        away: How far each is from the best; among equals the nearest comes first.
    """
    seen: Tally[int] = Tally()

    def added(at: int) -> float:
        again = (value * 0.5 ** min(seen[term], _REPEATS) for term, value in matches.of(at))
        return float(placed[at]) + sum(again)

    first = matches.worth() + placed
    first[best : best + 1] = np.inf  # where there is any
    some = np.flatnonzero(first > 0)
    some = some[np.lexsort((some, away[some], -first[some]))]
    queue = list(zip((-first[some]).tolist(), away[some].tolist(), some.tolist(), strict=True))
    while queue:  # sorted, so a heap
        value, distance, at = queue[0]
        now = -added(at) if at != best else value
        if now > value:
            heapreplace(queue, (now, distance, at))
            continue
        heappop(queue)
        seen.update(term for term, _ in matches.of(at))
        yield at


def _around(best: int, count: int) -> Iterator[int]:
    """The places from the nearest to `best` to the farthest."""
    for distance in range(count):
        for at in dict.fromkeys((best - distance, best + distance)):
            if 0 <= at < count:
                yield at


class _Matches:
    """What each of the question's terms is worth in each of the sentences that have one.

    A term is a word by its first five characters, which stand for all of one stem; a longer one counts also
    whole. Its worth is that of BM25 with k1 = 1.2 and b = 0.3 (a sentence is hardly worse for being long).
    Rarity is counted over the sentences of the text; it is squared, except in scripts without spaces, so that
    "what" and "did" weigh little.
    """

    def __init__(self, sentences: Sequence[str], query: str) -> None:
        index = WordIndex(sentences)
        terms = list(dict.fromkeys(term for word in words(query) for term in (word[:_STEM], word)))
        self._count = len(index)
        self._places, self._terms, times = _occurrences(index, terms)
        holding = np.bincount(self._terms, minlength=len(terms)).tolist()
        weights = [_weight(term, held, len(index)) for term, held in zip(terms, holding, strict=True)]
        mean = len(index.numbers) / max(len(index), 1) or 1.0
        lengths = 1 - _B + _B * index.lengths[self._places] / mean
        self._worth = np.array(weights)[self._terms] * times / (times + _K1 * lengths)
        self._starts = np.searchsorted(self._places, np.arange(len(index) + 1))

    def worth(self) -> NDArray[np.float64]:
        """What each sentence is worth alone."""
        return np.bincount(self._places, self._worth, minlength=self._count).astype(np.float64)

    def of(self, at: int) -> list[tuple[int, float]]:
        """The terms of a sentence and what each is worth in it."""
        part = slice(self._starts[at], self._starts[at + 1])
        return list(zip(self._terms[part].tolist(), self._worth[part].tolist(), strict=True))


def _weight(term: str, held: int, count: int) -> float:
    rarity = math.log1p((count - held + 0.5) / (held + 0.5)) / math.log(2 * count + 2)
    return rarity if is_gram(term) else rarity**2


def _occurrences(
    index: WordIndex, terms: Sequence[str]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Sentence, term and how often it occurs there, in the order of the sentences."""
    keys = []
    for stems in (True, False):  # a word is found by its stem and, once more, whole
        column = np.full(len(index.occurrences), -1)
        for at, term in enumerate(terms):
            if stems is (len(term) <= _STEM):
                found = index.starting_with(term) if len(term) == _STEM else [term]
                column[[number for word in found if (number := index.number(word)) is not None]] = at
        columns = column[index.numbers]
        held = np.flatnonzero(columns >= 0)
        places = np.searchsorted(index.starts, held, "right") - 1
        keys.append(places * len(terms) + columns[held])
    occurring, times = np.unique(np.concatenate(keys), return_counts=True)
    return occurring // max(len(terms), 1), occurring % max(len(terms), 1), times
