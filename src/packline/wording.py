"""Wording: what a text says, as far as comparing it with another one needs it.

Wording alone does not tell whether two texts say the same: two reports from one template share most of their
words and state different facts. So a text counts as said only where the other one has nearly all of its
wording *and* each of its facts (numbers, dates, ids, names, operators) beside the same neighbour.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import regex

__all__ = ["Wording", "read"]

_RUN = 5  # words, or characters in scripts without spaces
_LEAST = 20  # runs; a text with fewer is a duplicate of equal texts only
_NEW_WORDING = 0.15  # the share of a text's runs that the other text may lack

_SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
_NUMERAL = "〇零一二两兩三四五六七八九十百千万萬亿億"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{_SPACELESS}]]"
_TOKEN = regex.compile(
    rf"[A-Za-z]++(?!['’{_LETTER}])|[.!?\n。！？…]"  # the common cases first, for speed
    rf"|[+\-−]?\p{{Sc}}?\d{_LETTER}*+(?:[.,:/\-]\d{_LETTER}*+)*+%?"  # a number, date, time, version
    rf"|[{_NUMERAL}]++|[{_SPACELESS}]\p{{M}}*+|{_LETTER}++(?:['’]{_LETTER}++)*+|[\p{{Sm}}\p{{Sc}}]++",
    regex.VERSION1,
)
_ENDS = frozenset(".!?\n。！？…")
_EXACT = regex.compile(r"[\p{N}\p{Sm}\p{Sc}_]")
# Words that turn a statement into another one though all else stays: negations, written-out numbers.
_PIVOTAL = """
    no not never none neither nor without cannot nicht kein keine nie ne pas jamais sans non nunca sin jamás
    não нет не ни без 不 没 沒 未 无 無 非 नहीं لا ليس لم لن
    one two three four five six seven eight nine ten eleven twelve hundred thousand million billion
"""
_PIVOTS = frozenset(_PIVOTAL.split())


@dataclass(frozen=True, slots=True)
class _Place:
    """A word: its links to both neighbours, the runs that end and start with it, and what stands around it.

    `lead` and `tail` are the runs before and after it, near the ends of the text links, at its ends None.
    """

    before: int
    after: int
    ending: int
    starting: int
    lead: int | None
    tail: int | None

    def is_missing_in(self, other: Wording) -> bool:
        return self.before not in other.links and self.after not in other.links

    def is_changed_in(self, other: Wording) -> bool:
        """Whether the other text has the words around this one, with another word or none between them."""
        if self.ending in other.runs or self.starting in other.runs:
            return False
        return all(
            item is None or item in other.runs or item in other.links for item in (self.lead, self.tail)
        )

    def opens_otherwise_in(self, other: Wording) -> bool:
        """Whether the other text has the words that follow here, but after another word."""
        return self.tail in other.runs and self.after not in other.links


@dataclass(frozen=True, slots=True)
class Wording:
    """What a text says, as far as comparing needs it: runs of words, pairs of words, places of facts."""

    plain: str
    runs: frozenset[int]
    links: frozenset[int]
    facts: tuple[_Place, ...]
    openers: tuple[_Place, ...]
    pivots: tuple[_Place, ...]

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
        choices = [rarest, *([fact.before, fact.after] for fact in self.facts)]
        return min(choices, key=lambda items: sum(map(count, items)))

    def is_said_by(self, other: Wording) -> bool:
        return not (
            any(fact.is_missing_in(other) or fact.is_changed_in(other) for fact in self.facts)
            or len(self.runs - other.runs) > self.spare
            or any(place.opens_otherwise_in(other) for place in self.openers)
            or any(place.is_changed_in(other) for place in self.pivots)
            or any(place.is_changed_in(self) for place in other.pivots)
        )


def read(text: str, plain: str) -> Wording:
    words, facts, openers, pivots = _words(unicodedata.normalize("NFKC", text))
    runs = [hash(run) for run in zip(*(words[start:] for start in range(_RUN)), strict=False)]
    links = [hash(pair) for pair in zip(["", *words], [*words, ""], strict=True)]

    def place(at: int) -> _Place:
        leads, tails = range(at), range(at + 1, len(words))
        return _Place(
            before=links[at],
            after=links[at + 1],
            ending=runs[max(at - _RUN + 1, 0)],
            starting=runs[min(at, len(runs) - 1)],
            lead=runs[at - _RUN] if len(leads) >= _RUN else links[at - 1] if leads else None,
            tail=runs[at + 1] if len(tails) >= _RUN else links[at + 2] if tails else None,
        )

    if not runs:
        facts = openers = pivots = []
    return Wording(
        plain,
        runs=frozenset(runs),
        links=frozenset(links),
        facts=tuple(map(place, facts)),
        openers=tuple(map(place, openers)),
        pivots=tuple(map(place, pivots)),
    )


def _words(text: str) -> tuple[list[str], list[int], list[int], list[int]]:
    """The folded words of `text`, and the positions of facts, of names that open a sentence, of pivots."""
    words: list[str] = []
    facts: list[int] = []
    openers: list[int] = []
    pivots: list[int] = []
    opening = True
    for token in _TOKEN.findall(text):
        if token in _ENDS:
            if openers and openers[-1] == len(words) - 1:
                openers.pop()  # a heading of one word
            opening = True
            continue
        word = token.casefold()
        if word in _PIVOTS or word[0] in _NUMERAL:
            pivots.append(len(words))
        elif word != token or not word.isalpha():
            if word.endswith(("n't", "n’t")):
                pivots.append(len(words))
            elif _is_exact(token) or (token[0] != word[0] and not opening):
                facts.append(len(words))
            elif token[0] != word[0]:
                openers.append(len(words))
        words.append(word)
        opening = False
    return words, facts, openers, pivots


def _is_exact(token: str) -> bool:
    """Whether a word is a number, an operator, an identifier or an acronym."""
    return _EXACT.search(token) is not None or token[1:] != token[1:].lower()
