"""Phrases: which texts of an index hold a word, or two words side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from packline.relevance.words import WordIndex

__all__ = ["texts_with"]

Places = NDArray[np.intp]


def texts_with(phrases: Sequence[tuple[int, ...]], index: WordIndex) -> tuple[Places, Places]:
    """Which texts hold which phrases, each of one word or of two, by their numbers in the index.

    One pass over the words of all texts, however many phrases there are: it looks for single words, and for
    the rarer word of each pair.

    Returns:
        Places of texts and places in `phrases`, as many of each; no two of them twice.

    >>> index = WordIndex(["red fish", "fish, red", "blue fish"])
    >>> red, fish, blue = map(index.number, ["red", "fish", "blue"])
    >>> texts, places = texts_with([(red, fish), (blue,)], index)
    >>> texts.tolist(), places.tolist()
    ([0, 2], [0, 1])
    """
    numbers, size, ends = index.numbers, index.vocabulary, index.starts[1:]
    singles = {phrase[0]: place for place, phrase in enumerate(phrases) if len(phrase) == 1}
    pairs = {p[0] * size + p[1]: place for place, p in enumerate(phrases) if len(p) == 2}
    sought = np.zeros(size, bool)
    sought[[min(phrase, key=index.occurrences.__getitem__) for phrase in phrases]] = True
    at = np.flatnonzero(sought.take(numbers, mode="clip"))  # few: all that follows is about these
    alone, which = _among(numbers[at].astype(np.int64), singles)
    heads = np.concatenate([at[at > 0] - 1, at[at < len(numbers) - 1]])
    both, pair = _among(numbers[heads].astype(np.int64) * size + numbers[heads + 1], pairs)
    begin, end = np.concatenate([at[alone], heads[both]]), np.concatenate([at[alone], heads[both] + 1])
    texts = np.searchsorted(ends, begin, "right")
    cells = texts * max(len(phrases), 1) + np.concatenate([which, pair])
    cells = np.unique(cells[end < ends[texts]])  # a pair begins and ends in one text
    return np.divmod(cells, max(len(phrases), 1))


def _among(codes: NDArray[np.int64], places: Mapping[int, int]) -> tuple[Places, Places]:
    """Which of the codes have a place, and their places."""
    known = np.array(sorted(places), np.int64)
    if not len(known):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    nearest = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    hits = np.flatnonzero(known[nearest] == codes)
    place_of = np.array([places[code] for code in known.tolist()], np.intp)
    return hits, place_of[nearest[hits]]
