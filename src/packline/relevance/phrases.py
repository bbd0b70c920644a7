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

    Two passes over the words of all texts, however many phrases there are.

    Returns:
        Places of texts and places in `phrases`, as many of each; no two of them twice.

    >>> index = WordIndex(["red fish", "fish, red", "blue fish"])
    >>> red, fish, blue = map(index.number, ["red", "fish", "blue"])
    >>> texts, places = texts_with([(red, fish), (blue,)], index)
    >>> texts.tolist(), places.tolist()
    ([0, 2], [0, 1])
    """
    words = {phrase[0]: place for place, phrase in enumerate(phrases) if len(phrase) == 1}
    pairs: dict[tuple[int, ...], int] = {
        phrase: place for place, phrase in enumerate(phrases) if len(phrase) == 2
    }
    at, held = map(np.concatenate, zip(_words(words, index), _pairs(pairs, index), strict=True))
    texts = np.searchsorted(index.starts, at, "right") - 1
    once = np.unique(texts * max(len(phrases), 1) + held)
    return np.divmod(once, max(len(phrases), 1))


def _words(sought: Mapping[int, int], index: WordIndex) -> tuple[Places, Places]:
    """Where words stand, by their number, and which."""
    place_of = np.full(index.vocabulary, -1, np.int32)
    place_of[list(sought)] = list(sought.values())
    held = place_of[index.numbers]
    at = np.flatnonzero(held >= 0)
    return at, held[at].astype(np.intp)


def _pairs(sought: Mapping[tuple[int, ...], int], index: WordIndex) -> tuple[Places, Places]:
    """Where two words stand side by side in one text, by their numbers, and which."""
    numbers = index.numbers
    first, second = np.zeros((2, index.vocabulary), bool)
    for one, other in sought:
        first[one] = second[other] = True
    at = np.flatnonzero(first[numbers[:-1]] & second[numbers[1:]])
    at = at[~np.isin(at + 1, index.starts)]
    held = [sought.get(pair, -1) for pair in zip(numbers[at].tolist(), numbers[at + 1].tolist(), strict=True)]
    places = np.array(held, np.intp)
    return at[places >= 0], places[places >= 0]
