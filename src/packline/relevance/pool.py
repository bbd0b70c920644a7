"""What is known of a pool of packets before any question: its words, its neighbours, its titles, its
speakers.

All of it is made once for a pool and used for every question; the few last pools are kept.
"""

from __future__ import annotations

import operator
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Sequence
from datetime import timedelta
from functools import cached_property, partial
from itertools import takewhile
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from packline.packet import ContextPacket, Kind
from packline.relevance.names import names_in
from packline.relevance.titles import Titles
from packline.relevance.words import WordIndex, words

__all__ = ["Pool", "Pools", "Stretches", "carried_vector"]

PAUSE = timedelta(hours=6)
"""A longer pause parts a conversation into two."""

TITLE_LENGTH = 80
"""A first line with more characters is no title."""

_CHAT_ROLES = frozenset({"user", "assistant", "system", "tool", "human", "ai", "function", "developer"})

_NAME_LENGTH = 3  # characters, from which on a word of a role names it alone

_REMEMBERED = 256  # packets whose names are kept: the best ones are often the same

_HEADS = 8  # lines that may be metadata
_FIELD = regex.compile(r"([\p{L}_][\p{L}\p{N}_ -]{0,29}):\s")
_TITLES = frozenset({"title", "titel", "titre", "título", "heading", "name", "标题", "標題", "タイトル"})
_WHICH = regex.compile(r"\s*[(\[（【][^)\]）】]*[)\]）】]")  # "(album)": which of several of that title


class Stretches(NamedTuple):
    """The packets that have neighbours, stretch by stretch.

    `order[place]` is the packet at a place, `first[place]` and `end[place]` are the limits of the stretch it
    is in.
    """

    order: NDArray[np.intp]
    first: NDArray[np.intp]
    end: NDArray[np.intp]


class Pool:
    """The packets of one build, prepared lazily for any number of questions."""

    def __init__(self, packets: Sequence[ContextPacket]) -> None:
        self.packets = tuple(packets)
        self._names: dict[int, dict[tuple[int, ...], float]] = {}

    def __len__(self) -> int:
        return len(self.packets)

    @cached_property
    def roles(self) -> list[str]:
        """Who speaks: `metadata["role"]`, or "" where there is none."""
        return list(map(_role, self.packets))

    @property
    def texts(self) -> list[str]:
        """Each packet as `role: content`, or its content alone."""
        return [
            f"{role}: {packet.content}" if role else packet.content
            for role, packet in zip(self.roles, self.packets, strict=True)
        ]

    @cached_property
    def words(self) -> WordIndex:
        return WordIndex(self.texts)

    @cached_property
    def days(self) -> NDArray[np.float64]:
        """When each packet is dated, in days since 1970; NaN where it is not."""
        times = [packet.timestamp for packet in self.packets]
        return np.array([np.nan if time is None else time.timestamp() for time in times]) / 86_400

    @cached_property
    def speakers(self) -> dict[str, tuple[list[frozenset[str]], NDArray[np.intp]]]:
        """The names of each speaker, as sets of words, and the packets that it speaks.

        The whole role, and each longer word that no other role has: "Maria" names Maria Lopez where there is
        no other Maria. The roles of a chat name nobody.
        """
        spoken: dict[str, list[int]] = {}
        for place, role in enumerate(self.roles):
            if role and role not in _CHAT_ROLES:
                spoken.setdefault(role, []).append(place)
        held = Counter(word for role in spoken for word in set(words(role)))
        speakers = {}
        for role, places in spoken.items():
            own = [word for word in words(role) if held[word] == 1 and len(word) >= _NAME_LENGTH]
            names = [frozenset(words(role)), *(frozenset([word]) for word in own)]
            speakers[role] = names, np.array(places)
        return speakers

    @cached_property
    def stretches(self) -> Stretches:
        """Turns of a conversation without a long pause, in their order."""
        rows: list[list[int]] = []
        before: ContextPacket | None = None
        for place, packet in enumerate(self.packets):
            if packet.kind is Kind.HISTORY:
                if before is None or _paused(before, packet):
                    rows.append([])
                before = packet
                rows[-1].append(place)
        longer = [row for row in rows if len(row) > 1]
        lengths = np.array([len(row) for row in longer], np.intp)
        ends = np.cumsum(lengths)
        return Stretches(
            np.array([place for row in longer for place in row], np.intp),
            np.repeat(ends - lengths, lengths),
            np.repeat(ends, lengths),
        )

    @cached_property
    def titles(self) -> Titles:
        """The title of each packet outside the conversation: `metadata["title"]`, or a short first line.

        What stands in brackets does not belong to it, unless nothing else does. Lines of metadata that most
        packets begin with ("file: a.txt") are no titles; the line below them may be one.
        """
        index = self.words
        packets: list[int] = []
        numbers: list[list[int]] = []
        others = [place for place, packet in enumerate(self.packets) if packet.kind is not Kind.HISTORY]
        heads = [_heads(self.packets[place].content) for place in others]
        fields = _fields(heads)
        for place, lines in zip(others, heads, strict=True):
            title = _title(self.packets[place].metadata.get("title"), lines, fields)
            if known := sorted(set(index.known(words(_WHICH.sub("", title)) or words(title)))):
                packets.append(place)
                numbers.append(known)
        return Titles(packets, numbers, index)

    def names(self, place: int) -> dict[tuple[int, ...], float]:
        """The names that a packet mentions, as word numbers, and how much each is worth."""
        known = self._names.get(place)
        if known is None:
            index, known = self.words, {}
            for name, worth in names_in(self.packets[place].content).items():
                numbers = tuple(index.known(name))
                if len(numbers) == len(name):  # else it is read otherwise in its text
                    known[numbers] = worth
            if len(self._names) >= _REMEMBERED:
                self._names.clear()
            self._names[place] = known
        return known


class Pools:
    """The `size` pools used last, found again by their packets (the same objects, or equal ones).

    Where packets carry vectors that count, `carried`, the very same vectors are a part of that.
    """

    def __init__(self, size: int = 2, *, carried: bool = False) -> None:
        self._size = size
        self._carried = carried
        self._kept: OrderedDict[int, Pool] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, packets: Sequence[ContextPacket]) -> Pool:
        wanted, same = tuple(packets), _same_vector if self._carried else _same
        with self._lock:
            for key, pool in self._kept.items():
                if _alike(pool.packets, wanted, same):
                    self._kept.move_to_end(key)
                    return pool
            pool = Pool(wanted)
            self._kept[id(pool)] = pool
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
            return pool

    def __reduce__(self) -> tuple[object, ...]:
        return partial(Pools, carried=self._carried), (self._size,)  # pools can be prepared anew


def _alike(
    first: tuple[ContextPacket, ...], second: tuple[ContextPacket, ...], same: Callable[..., bool]
) -> bool:
    """Whether the packets are the same objects, or have the same of all that a pool knows."""
    if len(first) != len(second):
        return False
    return all(map(operator.is_, first, second)) or all(map(same, first, second))


def _same(first: ContextPacket, second: ContextPacket) -> bool:
    return first is second or (
        (first.content, first.kind, first.timestamp) == (second.content, second.kind, second.timestamp)
        and _role(first) == _role(second)
    )


def _same_vector(first: ContextPacket, second: ContextPacket) -> bool:
    """The same, and the very same vector with it."""
    return _same(first, second) and carried_vector(first) is carried_vector(second)


def carried_vector(packet: ContextPacket) -> object:
    """The vector that a packet carries in its metadata or as its origin's `embedding`, or None."""
    given = packet.metadata.get("embedding")
    return getattr(packet.origin, "embedding", None) if given is None else given


def _role(packet: ContextPacket) -> str:
    role = packet.metadata.get("role") if packet.metadata else None
    return role if isinstance(role, str) else ""


def _paused(before: ContextPacket, packet: ContextPacket) -> bool:
    first, second = before.timestamp, packet.timestamp
    if first is None or second is None or first is second:
        return False
    return abs(second - first) > PAUSE


def _heads(content: str) -> list[str]:
    """The lines at the head of a text that are short enough for a title and have more below them."""
    heads = content[: _HEADS * (TITLE_LENGTH + 1)].split("\n")[:_HEADS]
    short = takewhile(lambda line: len(line) <= TITLE_LENGTH, heads if len(heads) == _HEADS else heads[:-1])
    return [line for line in short if line.strip()]


def _fields(heads: Sequence[Sequence[str]]) -> set[str]:
    """The fields of metadata that most texts with such lines at their head have there, but for titles."""
    held = Counter(field for lines in heads for field in set(map(_field, lines)))
    most = sum(map(bool, heads)) / 2
    return {field for field, count in held.items() if count > most} - {"", *_TITLES}


def _title(given: object, heads: Sequence[str], fields: Container[str]) -> str:
    """What is `given`, if it is a title, or else the first line with none of these fields, or nothing."""
    if isinstance(given, str) and given.strip():
        return given
    line = next((line for line in heads if _field(line) not in fields), "")
    return line.partition(":")[2] if _field(line) in _TITLES else line


def _field(line: str) -> str:
    """The name of the field that a line of metadata gives, in lower case; empty for any other line."""
    match = _FIELD.match(line)
    return match[1].casefold() if match else ""
