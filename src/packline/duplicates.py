"""Duplicates: which kept text already says all that another one says.

Wording alone cannot tell: two reports from one template share most of their words and state different
facts. So a text counts as said only where the kept one has nearly all of its wording *and* each of its
facts (numbers, dates, ids, names, operators) beside the same neighbour. The test has a direction: what is
wholly part of a longer text may go, the longer text may not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import regex

__all__ = ["Duplicates"]

K = TypeVar("K", bound=Hashable)

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


class Duplicates(Generic[K]):
    """The kept texts, to be asked whether they already say what a new text says.

    Equal texts are found whatever their length; upper and lower case, compatibility forms (NFKC) and the
    amount of white space make no difference. Longer ones (from 24 words, or characters in scripts
    without spaces) are also found where at least 85 % of their runs of five words stand in one kept
    text, each of their facts stands there beside the same neighbour, and neither text negates, counts or
    names otherwise what the other states in the same words. Reading a text takes time in proportion to its
    length; only
    kept texts that share its rarest fact, or its rarest wording, are compared.

    >>> kept = Duplicates[str]()
    >>> kept.add("a", "The meeting starts at 9:30.")
    >>> kept.find("the meeting  starts at 9:30."), kept.find("The meeting starts at 9:45.")
    ('a', None)
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[K, _Wording]] = {}
        self._numbers: dict[K, int] = {}
        self._equal: dict[str, list[int]] = {}
        self._holding = _Index()
        self._needing = _Index()
        self._next = 0
        self._read: _Wording | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, key: K, text: str) -> None:
        """Keep `text` under `key`.

        Raises:
            ValueError: `key` is already in use.
        """
        if key in self._numbers:
            raise ValueError(f"{key!r} is already kept: give each text its own key, or discard the first")
        kept, number = self._wording(text), self._next
        self._next += 1
        self._numbers[key] = number
        self._kept[number] = (key, kept)
        self._equal.setdefault(kept.plain, []).append(number)
        if kept.is_long:
            self._needing.add(kept.needed(self._holding), number)
            self._holding.add(kept.items(), number)

    def discard(self, key: K) -> None:
        """Forget the text kept under `key`, if there is one."""
        number = self._numbers.pop(key, None)
        if number is None:
            return
        _, gone = self._kept.pop(number)
        self._equal[gone.plain].remove(number)
        self._needing.discard(gone.items(), number)
        self._holding.discard(gone.items(), number)

    def find(self, text: str) -> K | None:
        """The key of a kept text that says all that `text` says, or None: then `text` has something new.

        An equal text comes first, then the one that was kept first.
        """
        new = self._wording(text)
        equal = self._equal.get(new.plain)
        if equal:
            return self._kept[equal[0]][0]
        if not new.is_long:
            return None
        for number in self._holding.any(new.needed(self._holding)):
            key, kept = self._kept[number]
            if new.is_said_by(kept):
                return key
        return None

    def covered(self, text: str) -> tuple[K, ...]:
        """The keys of the kept texts of which `text` says everything, in the order they were kept.

        Each of them can go without loss once `text` is kept; `text` itself may say more.
        """
        new = self._wording(text)
        equal = self._equal.get(new.plain, [])
        near = self._needing.any(new.items()) if new.is_long else []
        said = [n for n in near if n not in equal and self._kept[n][1].is_said_by(new)]
        return tuple(self._kept[number][0] for number in sorted([*equal, *said]))

    def _wording(self, text: str) -> _Wording:
        """`text` read; the last one is remembered, since most are asked for and then added."""
        plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
        if self._read is None or self._read.plain != plain:
            self._read = _read(text, plain)
        return self._read


class _Index:
    """Which kept texts have an item: one number, or a list where there are several, to stay small."""

    def __init__(self) -> None:
        self._numbers: dict[int, int | list[int]] = {}

    def __getitem__(self, item: int) -> Sequence[int]:
        found = self._numbers.get(item)
        if found is None:
            return ()
        return (found,) if isinstance(found, int) else found

    def count(self, item: int) -> int:
        return len(self[item])

    def any(self, items: Iterable[int]) -> list[int]:
        """The texts that have any of `items`, first kept first."""
        return sorted({number for item in items for number in self[item]})

    def add(self, items: Iterable[int], number: int) -> None:
        for item in items:
            found = self._numbers.setdefault(item, number)
            if isinstance(found, list):
                found.append(number)
            elif found != number:
                self._numbers[item] = [found, number]

    def discard(self, items: Iterable[int], number: int) -> None:
        for item in items:
            left = [other for other in self[item] if other != number]
            if left:
                self._numbers[item] = left
            else:
                self._numbers.pop(item, None)


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

    def is_missing_in(self, other: _Wording) -> bool:
        return self.before not in other.links and self.after not in other.links

    def is_changed_in(self, other: _Wording) -> bool:
        """Whether the other text has the words around this one, with another word or none between them."""
        if self.ending in other.runs or self.starting in other.runs:
            return False
        return all(
            item is None or item in other.runs or item in other.links for item in (self.lead, self.tail)
        )

    def opens_otherwise_in(self, other: _Wording) -> bool:
        """Whether the other text has the words that follow here, but after another word."""
        return self.tail in other.runs and self.after not in other.links


@dataclass(frozen=True, slots=True)
class _Wording:
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
    def _spare(self) -> int:
        return int(len(self.runs) * _NEW_WORDING)

    def items(self) -> frozenset[int]:
        return self.runs | self.links

    def needed(self, index: _Index) -> Sequence[int]:
        """Items of which any text that says all of this one has at least one; as rare as possible."""
        rarest = sorted(self.runs, key=index.count)[: self._spare + 1]
        choices = [rarest, *([fact.before, fact.after] for fact in self.facts)]
        return min(choices, key=lambda items: sum(map(index.count, items)))

    def is_said_by(self, other: _Wording) -> bool:
        return not (
            any(fact.is_missing_in(other) or fact.is_changed_in(other) for fact in self.facts)
            or len(self.runs - other.runs) > self._spare
            or any(place.opens_otherwise_in(other) for place in self.openers)
            or any(place.is_changed_in(other) for place in self.pivots)
            or any(place.is_changed_in(self) for place in other.pivots)
        )


def _read(text: str, plain: str) -> _Wording:
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
    return _Wording(
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
        if word in _PIVOTS or word[0] in _NUMERAL or word.endswith(("n't", "n’t")):
            pivots.append(len(words))
        elif word != token or not word.isalpha():
            if (
                _EXACT.search(token)
                or token[1:] != token[1:].lower()
                or (token[0] != word[0] and not opening)
            ):
                facts.append(len(words))
            elif token[0] != word[0]:
                openers.append(len(words))
        words.append(word)
        opening = False
    return words, facts, openers, pivots
