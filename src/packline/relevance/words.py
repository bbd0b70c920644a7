"""Words of a text in any script, and a pool of texts as one array of word numbers.

Where a script parts its words by spaces a word is a run of letters, digits and combining marks (`\\w` would
cut Hindi words at their vowel signs). Where it does not (Chinese, Japanese, Thai, ...), and in Korean, where
particles are written to the noun, a run is read as its characters and its overlapping pairs. An emoji is a
word.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

__all__ = ["Counts", "WordIndex", "is_gram", "words"]

_UNSPACED = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}"
    r"\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Hangul}ー々"
)
_PICTURE = r"\p{Extended_Pictographic}"  # emoji
_RUNS = regex.compile(
    rf"([{_UNSPACED}][{_UNSPACED}\p{{M}}]*)|((?:(?![{_UNSPACED}])[\p{{L}}\p{{N}}\p{{M}}])+|{_PICTURE})"
)
_GRAM = regex.compile(rf"[{_UNSPACED}]")
_NOWHERE = np.zeros(0, np.int32)
_WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+")
_MORE_THAN_WORDS = regex.compile(rf"[{_UNSPACED}{_PICTURE}]")
# What makes most English texts more than ASCII; it parts words like any other punctuation.
_PUNCTUATION = dict.fromkeys(map(ord, "‘’‚“”„–—…•·«»‹›\u00a0\u202f"), " ")

# ASCII letters and digits in lower case, any other ASCII byte as a space, the bytes of UTF-8 as they are.
_LOWERED = bytes(b if b >= 0x80 else (ord(chr(b).lower()) if chr(b).isalnum() else 0x20) for b in range(256))
_END_OF_TEXT = b"\xff"  # a byte that UTF-8 never uses
_BLOCK = 256


def words(text: str) -> list[str]:
    """The words of a text, case folded and in Unicode's compatible form.

    >>> words("Who's Łukasz?")
    ['who', 's', 'łukasz']
    >>> words("हिन्दी में ２")
    ['हिन्दी', 'में', '2']
    >>> words("东京 tower")
    ['东京', '东', '京', 'tower']
    >>> words("🚚: on its way")
    ['🚚', 'on', 'its', 'way']
    """
    return [word.decode("utf-8") for word in _spaced(text).translate(_LOWERED).split()]


def is_gram(word: str) -> bool:
    """Whether a word is a character or a pair of a script without spaces, so only a part of a real word."""
    return _GRAM.match(word) is not None


def _spaced(text: str) -> bytes:
    if text.isascii():
        return text.encode("ascii")
    plain = text.translate(_PUNCTUATION)
    if plain.isascii():
        return plain.encode("ascii")
    folded = unicodedata.normalize("NFKC", plain).casefold()
    parts = _parts(folded) if _MORE_THAN_WORDS.search(folded) else _WORD.findall(folded)
    return " ".join(parts).encode("utf-8", "replace")


def _parts(folded: str) -> Iterator[str]:
    for match in _RUNS.finditer(folded):
        unspaced, word = match.groups()
        if word is not None:
            yield word
        else:
            yield from map("".join, pairwise(unspaced))
            yield from unspaced


class Counts(NamedTuple):
    """How often words occur: one entry for each text and each group of words that it has any of.

    Attributes:
        texts: Places of the texts.
        groups: Places of the groups.
        counts: From 1.
    """

    texts: NDArray[np.intp]
    groups: NDArray[np.intp]
    counts: NDArray[np.intp]


class WordIndex:
    """The words of many texts, by text and by word: 8 bytes for each word, one dictionary for all.

    >>> index = WordIndex(["red fish", "blue fish, fish"])
    >>> found = index.counts([["fish"], ["blue", "red"]])
    >>> list(zip(*(row.tolist() for row in found)))
    [(0, 0, 1), (1, 0, 2), (0, 1, 1), (1, 1, 1)]
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._numbers = _Numbers({_END_OF_TEXT: 0})
        parts: list[NDArray[np.int32]] = []
        for start in range(0, len(texts), _BLOCK):
            joined = (b" " + _END_OF_TEXT + b" ").join(
                [_spaced(text) for text in texts[start : start + _BLOCK]]
            )
            found = (joined + b" " + _END_OF_TEXT).translate(_LOWERED).split()
            parts.append(np.fromiter(map(self._numbers.__getitem__, found), np.int32, len(found)))
        with_ends = np.concatenate(parts) if parts else np.zeros(0, np.int32)
        ends = np.flatnonzero(with_ends == 0)
        self.starts = np.concatenate([[0], ends - np.arange(len(ends))])
        self.numbers: NDArray[np.int32] = with_ends[with_ends != 0]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def vocabulary(self) -> int:
        """Words that there are numbers for."""
        return len(self._numbers)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Words of each text."""
        return np.diff(self.starts)

    @cached_property
    def occurrences(self) -> NDArray[np.int64]:
        """How often each word of the vocabulary occurs in all texts together."""
        return np.bincount(self.numbers, minlength=self.vocabulary)

    @cached_property
    def _places(self) -> NDArray[np.int32]:
        """Where each word stands in `numbers`, word by word: one stable sort for each 16 bits, by radix."""
        places = np.argsort(self.numbers.astype(np.uint16), kind="stable")
        if self.vocabulary > 1 << 16:
            places = places[np.argsort((self.numbers >> 16).astype(np.uint16)[places], kind="stable")]
        return places.astype(np.int32)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.occurrences)

    @cached_property
    def _sorted(self) -> list[bytes]:
        return sorted(self._numbers)

    def number(self, word: str) -> int | None:
        """The word's place in the vocabulary, or None where no text has it."""
        return self._numbers.get(word.encode("utf-8"))

    def known(self, words: Iterable[str]) -> list[int]:
        """The numbers of those words that any text has, in their order."""
        return [number for word in words if (number := self.number(word)) is not None]

    def starting_with(self, prefix: str) -> list[str]:
        """The words of the vocabulary that start so."""
        first = prefix.encode("utf-8")
        low = bisect_left(self._sorted, first)
        high = bisect_left(self._sorted, first + b"\xff", low)
        return [word.decode("utf-8") for word in self._sorted[low:high]]

    def places(self, number: int) -> NDArray[np.int32]:
        """Where a word stands in `numbers`, first to last."""
        end = self._ends[number]
        return self._places[end - self.occurrences[number] : end]

    def texts_at(self, places: NDArray[np.int32]) -> NDArray[np.intp]:
        """The texts that places in `numbers` are in."""
        return np.searchsorted(self.starts, places, "right") - 1

    def texts_of(self, lists: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The texts that all places of some lists are in, and for each which list it is of."""
        which = np.repeat(np.arange(len(lists)), list(map(len, lists)))
        return self.texts_at(np.concatenate([_NOWHERE, *lists])), which

    def counts(self, groups: Sequence[Sequence[str]]) -> Counts:
        """How often any word of each group occurs in each text."""
        found = [[self.places(number) for number in self.known(group)] for group in groups]
        texts, which = self.texts_of([np.concatenate([_NOWHERE, *places]) for places in found])
        cells, counts = np.unique(which * len(self) + texts, return_counts=True)
        of_group, in_text = np.divmod(cells, max(len(self), 1))
        return Counts(in_text, of_group, counts)


class _Numbers(dict[bytes, int]):
    """Numbers words in the order in which they are first seen."""

    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self)
        return number
