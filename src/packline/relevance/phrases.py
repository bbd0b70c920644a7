"""Phrases: which texts of an index hold a word, or two words side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packline.relevance.words import WordIndex

__all__ = ["texts_with"]

Places = NDArray[np.intp]


def texts_with(phrases: Sequence[tuple[int, ...]], index: WordIndex) -> tuple[Places, Places]:
    """Which texts hold which phrases, each of one word or of two, by their numbers in the index.

    Returns:
        Places of texts and places in `phrases`, as many of each; no two of them twice.

    >>> index = WordIndex(["red fish", "fish, red", "blue fish"])
    >>> red, fish, blue = map(index.number, ["red", "fish", "blue"])
    >>> texts, places = texts_with([(red, fish), (blue,)], index)
    >>> texts.tolist(), places.tolist()
    ([0, 2], [0, 1])
    """
    texts, which = index.texts_of([_beginnings(phrase, index) for phrase in phrases])
    again = np.zeros(len(texts), bool)
    again[1:] = (texts[1:] == texts[:-1]) & (which[1:] == which[:-1])
    return texts[~again], which[~again]


def _beginnings(phrase: tuple[int, ...], index: WordIndex) -> NDArray[np.int32]:
    """Where a phrase begins in the words of the index, first to last."""
    if len(phrase) == 1:
        return index.places(phrase[0])
    rarer = min((0, 1), key=lambda place: index.occurrences[phrase[place]])
    begin: NDArray[np.int32] = index.places(phrase[rarer]) - np.int32(rarer)
    begin = begin[(begin >= 0) & (begin < len(index.numbers) - 1)]
    begin = begin[index.numbers[begin + (1 - rarer)] == phrase[1 - rarer]]
    within: NDArray[np.bool_] = index.texts_at(begin) == index.texts_at(begin + 1)
    found: NDArray[np.int32] = begin[within]  # it begins and ends in one text
    return found
