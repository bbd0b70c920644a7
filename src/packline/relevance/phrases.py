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

    One pass over the words of all texts, however many phrases there are.

    Returns:
        Places of texts and places in `phrases`, as many of each; no two of them twice.

    >>> index = WordIndex(["red fish", "fish, red", "blue fish"])
    >>> red, fish, blue = map(index.number, ["red", "fish", "blue"])
    >>> texts, places = texts_with([(red, fish), (blue,)], index)
    >>> texts.tolist(), places.tolist()
    ([0, 2], [0, 1])
    """
    index_of = {phrase: place for place, phrase in enumerate(phrases)}
    sought = np.zeros(index.vocabulary, bool)
    sought[[number for phrase in phrases for number in phrase]] = True
    at = np.flatnonzero(sought[index.numbers])  # few, and all that follows is about these
    texts, numbers = np.searchsorted(index.starts, at, "right") - 1, index.numbers[at]
    place_of = np.full(index.vocabulary, -1)
    for phrase, place in index_of.items():
        if len(phrase) == 1:
            place_of[phrase] = place
    beside = np.flatnonzero((np.diff(at) == 1) & (np.diff(texts) == 0))
    couples = zip(numbers[beside].tolist(), numbers[beside + 1].tolist(), strict=True)
    held = np.concatenate(
        [place_of[numbers], np.array([index_of.get(pair, -1) for pair in couples], np.intp)]
    )
    cells = np.concatenate([texts, texts[beside]]) * len(phrases) + held
    return np.divmod(np.unique(cells[held >= 0]), max(len(phrases), 1))
