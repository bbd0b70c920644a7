"""Duplicates: which kept text already says all that another one says.

The answer has a direction: what is wholly part of a longer text may go without loss, the longer text may not.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from packline.difference import is_equal, says
from packline.wording import Wording, normal, read

__all__ = ["Duplicates"]

K = TypeVar("K", bound=Hashable)


class Duplicates(Generic[K]):
    """The kept texts, to be asked whether they already say what a new text says.

    Equal texts are found whatever their length; upper and lower case, compatibility forms (NFKC) and the
    amount of white space make no difference, except that an acronym in capitals (US) is another word than
    the same letters in small ones (us). Longer ones (from 24 words, or characters in scripts without
    spaces) are also found where at least 85 % of their runs of five words stand in one kept text, each of
    their facts stands there beside the same neighbour, and, word by word, the two differ in their form only:
    in punctuation, in markup, in a sentence before or after the text, in a cut-off end. Other words in the
    place of words are another statement, whatever they are; in a text of more than 250 runs only where they
    negate. A text that is longer by more than a third must have the other one in one piece: what it has
    within that may turn it, as an instruction hidden in a copy does.

    Reading a text takes time in proportion to its length; only kept texts that share its rarest fact, or its
    rarest wording, are compared.

    >>> kept = Duplicates[str]()
    >>> kept.add("a", "The meeting starts at 9:30.")
    >>> kept.find("the meeting  starts at 9:30."), kept.find("The meeting starts at 9:45.")
    ('a', None)
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[K, Wording]] = {}
        self._numbers: dict[K, int] = {}
        self._equal: dict[str, list[int]] = {}
        self._holding = _Index()
        self._needing = _Index()
        self._next = 0
        self._read: tuple[str, Wording] | None = None

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
            self._needing.add(kept.needed(self._holding.count), number)
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
        equal = self._equals(new)
        if equal:
            return self._kept[equal[0]][0]
        if not new.is_long or self._holding.lacking(new.runs) > new.spare:
            return None
        for number in self._holding.any(new.needed(self._holding.count)):
            key, kept = self._kept[number]
            if says(kept, new):
                return key
        return None

    def covered(self, text: str) -> tuple[K, ...]:
        """The keys of the kept texts of which `text` says everything, in the order they were kept.

        Each of them can go without loss once `text` is kept; `text` itself may say more.
        """
        new = self._wording(text)
        equal = self._equals(new)
        near = self._needing.any(new.items()) if new.is_long else []
        said = [n for n in near if n not in equal and says(new, self._kept[n][1])]
        return tuple(self._kept[number][0] for number in sorted([*equal, *said]))

    def _wording(self, text: str) -> Wording:
        """`text` read; the last one is remembered, since most are asked for and then added."""
        if self._read is None or self._read[0] != text:
            self._read = text, read(text, " ".join(normal(text).casefold().split()))
        return self._read[1]

    def _equals(self, new: Wording) -> list[int]:
        """The kept texts that are equal to `new`."""
        return [n for n in self._equal.get(new.plain, ()) if is_equal(self._kept[n][1], new)]


class _Index:
    """Which kept texts have an item: one number, or a list where there are several, to stay small."""

    def __init__(self) -> None:
        self._numbers: dict[int, int | list[int]] = {}

    def __getitem__(self, item: int) -> Sequence[int]:
        found = self._numbers.get(item)
        if found is None:
            return ()
        return (found,) if isinstance(found, int) else found

    def lacking(self, items: Collection[int]) -> int:
        """How many of `items` no text has."""
        return len(items) - sum(map(self._numbers.__contains__, items))

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
