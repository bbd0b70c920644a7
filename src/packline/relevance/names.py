"""Names: what a text mentions that another one may tell more about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import regex

from packline.relevance.words import words

__all__ = ["names_in"]

_CAPITAL = r"[\p{Lu}\p{Lt}][\w'’-]*"
_RUN = regex.compile(rf"{_CAPITAL}(?:\.? {_CAPITAL})+")
_ONE = regex.compile(rf"(?<=[\w,;)\"] ){_CAPITAL}")
_WITHOUT_CAPITALS = regex.compile(r"[\p{Lo}\p{M}]+")

LONGEST = 20_000
"""Characters of a text that are searched for names."""

ONE_WORD, WITHOUT_CAPITALS = 0.5, 0.15
"""What a name of one word is worth beside one of two, and a word of a script that does not mark its names."""


def names_in(text: str) -> dict[tuple[str, ...], float]:
    """The words, and the pairs of words, that may name something, and how much each is worth.

    Neighbouring words with capitals, a capital within a sentence, and where a script has no capitals every
    word, or every pair of characters.

    >>> names_in("It was made by Raoul Walsh in Rome.")
    {('raoul', 'walsh'): 1.0, ('raoul',): 0.5, ('walsh',): 0.5, ('rome',): 0.5}
    """
    text = text[:LONGEST]
    names: dict[tuple[str, ...], float] = {}
    for run in _RUN.findall(text):
        names |= dict.fromkeys(pairwise(words(run)), 1.0)
    names |= dict.fromkeys(_single(_ONE.findall(text), 3), ONE_WORD)
    return names | dict.fromkeys(_single(_WITHOUT_CAPITALS.findall(text), 2), WITHOUT_CAPITALS)


def _single(found: Sequence[str], shortest: int) -> Iterator[tuple[str]]:
    return ((word,) for word in words(" ".join(found)) if len(word) >= shortest)
