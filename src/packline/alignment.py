"""Alignment: where two texts go apart, word by word.

Runs of words that stand once in each text hold the two together (a patience diff), so that time grows with
the length and not with its square; only what lies between two of them is compared word with word.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

__all__ = ["Gap", "gaps"]

_RUN = 5  # words
_FINE = 10_000  # pairs of words between two runs; more are not compared one by one
_SHARED = 1 / 3  # of the shorter side; with less in common, two passages are two, not one that was changed


class Gap(NamedTuple):
    """One text has `a[start:end]` where the other one has `b[other_start:other_end]`; one may be empty."""

    start: int
    end: int
    other_start: int
    other_end: int


def gaps(a: Sequence[str], b: Sequence[str]) -> Iterator[Gap]:
    """What is left of two lists of words when all that they share, in its order, is taken out.

    >>> list(gaps("the old ship sank".split(), "the ship was sold".split()))
    [Gap(start=1, end=2, other_start=1, other_end=1), Gap(start=3, end=4, other_start=2, other_end=4)]
    """
    at = _shared(a, b)
    end = _shared(a[at:][::-1], b[at:][::-1])
    yield from _between(a, b, Gap(at, len(a) - end, at, len(b) - end))


def _shared(a: Sequence[str], b: Sequence[str]) -> int:
    """How many words both start with; halved, not counted, since comparing slices is much faster."""
    least, most = 0, min(len(a), len(b))
    while least < most:
        middle = (least + most + 1) // 2
        if a[least:middle] == b[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _between(a: Sequence[str], b: Sequence[str], whole: Gap) -> Iterator[Gap]:
    at, other_at = whole.start, whole.other_start
    anchors = _anchors(a[at : whole.end], b[other_at : whole.other_end])
    places = [(at + start, other_at + other_start) for start, other_start in anchors]
    for start, other_start in [*places, (whole.end, whole.other_end)]:
        if start < at or other_start < other_at:
            continue  # inside of what was passed already
        gap = _trimmed(a, b, Gap(at, start, other_at, other_start))
        if gap.start < gap.end and gap.other_start < gap.other_end:
            yield from _fine(a, b, gap)
        elif gap.start < gap.end or gap.other_start < gap.other_end:
            yield gap
        at, other_at = start, other_start
        while at < whole.end and other_at < whole.other_end and a[at] == b[other_at]:
            at, other_at = at + 1, other_at + 1


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Where runs that stand once in each text start; the longest list of them in the order of both."""
    there = _single(b)
    pairs = [(at, there[run]) for run, at in _single(a).items() if run in there]
    last: list[int] = []  # by length of the list: the least place in `b` that such a list ends with
    ending: list[int] = []  # the pair that stands there
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(last, place)
        last[length : length + 1] = [place]
        ending[length : length + 1] = [number]
        before.append(ending[length - 1] if length else -1)
    chain = []
    number = ending[-1] if ending else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _single(words: Sequence[str]) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    for at, run in enumerate(zip(*(words[start:] for start in range(_RUN)), strict=False)):
        found[run] = -1 if run in found else at
    return {run: at for run, at in found.items() if at >= 0}


def _trimmed(a: Sequence[str], b: Sequence[str], gap: Gap) -> Gap:
    start, end, other_start, other_end = gap
    while start < end and other_start < other_end and a[start] == b[other_start]:
        start, other_start = start + 1, other_start + 1
    while start < end and other_start < other_end and a[end - 1] == b[other_end - 1]:
        end, other_end = end - 1, other_end - 1
    return Gap(start, end, other_start, other_end)


def _fine(a: Sequence[str], b: Sequence[str], gap: Gap) -> Iterator[Gap]:
    """The gap without the single words that both sides share, if they share enough to be one passage."""
    here, there = a[gap.start : gap.end], b[gap.other_start : gap.other_end]
    if len(here) * len(there) > _FINE:
        yield gap
        return
    matcher = SequenceMatcher(None, here, there, autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) < _SHARED * min(len(here), len(there)):
        yield gap
        return
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag != "equal":
            yield Gap(
                gap.start + start, gap.start + end, gap.other_start + other_start, gap.other_start + other_end
            )
