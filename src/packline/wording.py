"""Wording: what a text says, as far as comparing it with another one needs it.

Wording alone does not tell whether two texts say the same: two reports from one template share most of their
words and state different facts. So a text counts as said only where the other one has nearly all of its
wording *and* each of its facts (numbers, dates, ids, names, operators) beside the same neighbour.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from sys import intern

import regex

__all__ = ["Wording", "is_han", "is_numeral", "is_spaceless", "normal", "read"]

_RUN = 5  # words, or characters in scripts without spaces
_LEAST = 20  # runs; a text with fewer is a duplicate of equal texts only
_NEW_WORDING = 0.15  # the share of a text's runs that the other text may lack

_SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_NUMERAL = "〇零一二两兩三四五六七八九十百千万萬亿億"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{_SPACELESS}]]"
_TOKEN = regex.compile(
    rf"[A-Za-z]++(?!['’{_LETTER}])|[.!?\n。！？…()]"  # the common cases first, for speed
    rf"|[+\-−]?\p{{Sc}}?\d{_LETTER}*+(?:[.,:/\-]\d{_LETTER}*+)*+%?"  # a number, date, time, version
    rf"|[{_NUMERAL}]++|[{_SPACELESS}]\p{{M}}*+|{_LETTER}++(?:['’]{_LETTER}++)*+|[\p{{Sm}}\p{{Sc}}]++",
    regex.VERSION1,
)
_SPACELESS_START = regex.compile(rf"[{_SPACELESS}]", regex.VERSION1)
_HAN = regex.compile(r"\p{Han}")
_ENDS = frozenset(".!?\n。！？…")
_EDGES = _ENDS | frozenset("()")
_EXACT = regex.compile(r"[\p{N}\p{Sm}\p{Sc}_]")
_MARKUP = regex.compile(
    r"(?<!\w)_(?!_)([^_\n]+)(?<!_)_(?!\w)|</?(?:[abipu]|br|code|div|em|h[1-6]|li|ol|span|strong|ul)(?:\s[^<>]*)?>"
)
_RAISED = regex.compile(r"(?<=\d)(?=\p{No})")  # 10² is not 102
_ACRONYM = 5  # letters; a longer word in capitals is just loud


@dataclass(frozen=True, slots=True)
class Wording:
    """What a text says, as far as comparing needs it: its words, runs and pairs of them, the pairs of facts.

    Words are in lower case except for acronyms. `ends` are the places in `words` before which a sentence or a
    line starts, and the end of the text; `loud` those of words in lines of capitals.
    """

    plain: str
    words: tuple[str, ...]
    ends: frozenset[int]
    loud: frozenset[int]
    runs: frozenset[int]
    links: frozenset[int]
    facts: tuple[tuple[int, int], ...]

    @property
    def is_long(self) -> bool:
        return len(self.runs) >= _LEAST

    @property
    def spare(self) -> int:
        return int(len(self.runs) * _NEW_WORDING)

    def items(self) -> frozenset[int]:
        return self.runs | self.links

    def needed(self, count: Callable[[int], int]) -> Sequence[int]:
        """Items of which any text that says all of this one has at least one; as rare as possible."""
        rarest = sorted(self.runs, key=count)[: self.spare + 1]
        return min([rarest, *self.facts], key=lambda items: sum(map(count, items)))

    def has_whole(self, start: int, end: int) -> bool:
        """Whether the words from `start` to `end`, or the same a little further on, are whole sentences."""
        size, words = end - start, self.words
        while start not in self.ends or start + size not in self.ends:
            if not start or words[start - 1] != words[start + size - 1]:
                break
            start -= 1
        else:
            return True
        start = end - size
        while start not in self.ends or start + size not in self.ends:
            if start + size == len(words) or words[start] != words[start + size]:
                return False
            start += 1
        return True


def normal(text: str) -> str:
    """`text` in its compatibility form (NFKC), but with raised digits apart from those they stand beside."""
    return unicodedata.normalize("NFKC", text if text.isascii() else _RAISED.sub("^", text))


def read(text: str, plain: str) -> Wording:
    own = _MARKUP.sub(r" \1 ", normal(text))
    words, ends, facts, loud = _words(own)
    folded = [word.casefold() for word in words]
    runs = [hash(run) for run in zip(*(folded[start:] for start in range(_RUN)), strict=False)]
    links = [hash(pair) for pair in zip(["", *folded], [*folded, ""], strict=True)]
    return Wording(
        plain,
        words=tuple(words),
        ends=frozenset([0, *ends, len(words)]),
        loud=frozenset(loud),
        runs=frozenset(runs),
        links=frozenset(links),
        facts=tuple((links[at], links[at + 1]) for at in facts),
    )


def _words(text: str) -> tuple[list[str], list[int], list[int], list[int]]:
    """The words of `text`, and the positions of sentences, of facts, and of words in lines of capitals."""
    words: list[str] = []
    ends: list[int] = []
    facts: list[int] = []
    loud: list[int] = []
    opening, start, capitals, quiet = True, 0, 0, False
    for token in [*_TOKEN.findall(text), "\n"]:
        if token in _EDGES:
            ends.append(len(words))
            if token in _ENDS:
                if capitals and not quiet and (len(words) - start > 2 or capitals > _ACRONYM):
                    loud.extend(range(start, len(words)))
                    words[start:] = [word.lower() for word in words[start:]]
                opening, start, capitals, quiet = True, len(words), 0, False
            continue
        word = intern(token.lower())
        quiet = quiet or token.upper() != token
        if word != token or not word.isalpha():
            if (_is_exact(token) or (token[0] != word[0] and not opening)) and word[0] not in _NUMERAL:
                facts.append(len(words))
            if token.isupper():
                capitals = max(capitals, len(token))
                word = intern(token) if 2 <= len(token) <= _ACRONYM and token.isalpha() else word
        words.append(word)
        opening = False
    return words, ends, facts, loud


def is_spaceless(word: str) -> bool:
    """Whether a word is a character of a script without spaces."""
    return _SPACELESS_START.match(word) is not None


def is_han(word: str) -> bool:
    return _HAN.match(word) is not None


def is_numeral(word: str) -> bool:
    """Whether a word is a number written in Chinese."""
    return word[0] in _NUMERAL


def _is_exact(token: str) -> bool:
    """Whether a word is a number, an operator, an identifier or an acronym."""
    return _EXACT.search(token) is not None or token[1:] != token[1:].lower()
