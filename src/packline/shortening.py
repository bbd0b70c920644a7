"""Shortening: the sentences of a text that matter for a question, in their order, within a limit.

Whole sentences are chosen as if token counts added up, which they need not; so the finished text is counted
as a whole, and gives way until it fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import regex

from packline.salience import Ranking
from packline.sentences import Span, pieces, sentences

if TYPE_CHECKING:
    from packline.tokens import Counter

__all__ = ["Shortening", "shorten"]

_BLANK = regex.compile(r"\A(?:[\s\x1c-\x1f](?![\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]))*+")
_LAST_WORD = regex.compile(r"(?<=\S)\s++\w{1,24}+$")
_LEAST_PIECE = 8  # characters
_PIECES = 6  # of a sentence that is too long, in the room there is
_TRIES = 4  # at parting a text more finely, until the best of it fits
_WORTH_USING = 8  # tokens that are left over
_MISSES = 50  # sentences in a row that do not fit; then it is full


def shorten(text: str, query: str, limit: int, counter: Counter, marker: str = "…") -> str:
    """What matters most in `text` for `query`, in at most `limit` tokens.

    A text that fits is returned unchanged. Of a longer one, the sentences that together have most of the
    question's words, the rarest before all, are kept in their order and letter by letter, with `marker`
    wherever something else than white space is left out. What room is left goes to the sentences around the
    best one or, where nothing matches, to those at the beginning. Of a sentence that is too long for the
    limit, pieces are kept in the same way, parted between words where there are any, and never within a
    grapheme cluster.

    Args:
        limit: Tokens of the result, markers included, by `counter.count` of the whole.

    Returns:
        An empty text where not even a marker and something of the text fit.

    >>> from packline.tokens import token_counter
    >>> shorten("Cats sleep. Dogs bark at cats. Fish swim.", "What do fish do?", 18, token_counter(len))
    '… Fish swim.'
    """
    return Shortening(text, query, counter, marker).to(limit)


class Shortening:
    """A text and the question it is shortened for, to one limit or several: it is read and ranked once."""

    def __init__(self, text: str, query: str, counter: Counter, marker: str = "…") -> None:
        self._text = text
        self._query = query
        self._counter = counter
        self._marker = marker
        self._spans: list[Span] = []
        self._ranking: Iterable[int] = ()

    def to(self, limit: int) -> str:
        """What `shorten` gives for `limit`."""
        if self._counter.count(self._text) <= limit:
            return self._text
        if limit <= 0 or not self._rank(limit):
            return ""
        room, step = limit, 1
        while True:
            chosen = self._chosen(room)
            result = self._joined(chosen)
            excess = self._counter.count(result) - limit
            if excess <= 0:
                return self._widened(result, room, limit)
            if len(chosen) == 1:
                return _cut(self._text, self._spans[chosen[0]], limit, self._counter, self._marker)
            room, step = room - max(excess, step), 2 * step

    def _widened(self, result: str, room: int, limit: int) -> str:
        """`result`, or more sentences where counts that did not add up have left room for them."""
        spare = limit - self._counter.count(result)
        while spare >= _WORTH_USING:
            wider = self._joined(self._chosen(room + spare))
            if self._counter.count(result) < self._counter.count(wider) <= limit:
                result, room = wider, room + spare
                spare = limit - self._counter.count(result)
            else:
                spare //= 2
        return result

    def _rank(self, limit: int) -> bool:
        """Part the text into spans, the best of which should fit in `limit`; False if it says nothing."""
        room = max(limit - 2 * self._counter.count(self._marker), 0)
        size = len(self._text) * room // self._counter.count(self._text)
        for _ in range(_TRIES):
            spans = _spans(self._text, self._sentences, size)
            if spans != self._spans:
                self._spans = spans
                self._ranking = Ranking([self._text[start:end] for start, end in spans], self._query)
            best = next(iter(self._ranking), None)
            if best is None or self._counter.count(self._joined([best])) <= limit:
                break
            start, end = spans[best]
            size = min(size, end - start) * 3 // 4
        return bool(self._spans)

    @cached_property
    def _sentences(self) -> list[Span]:
        return sentences(self._text)

    def _chosen(self, room: int) -> list[int]:
        """The best span, and those of the others that fit in `room` with markers, if counts added up."""
        gap = self._counter.count(f" {self._marker}") if self._marker else 0
        chosen: set[int] = set()
        left = room - gap
        misses = 0
        for at in self._ranking:
            start, end = self._spans[at]
            beside = (at == 0 or at - 1 in chosen) + (at == len(self._spans) - 1 or at + 1 in chosen)
            cost = self._counter.count(self._text[start:end]) + gap * (1 - beside)
            if cost <= left or not chosen:
                chosen.add(at)
                left -= cost
                misses = 0
            else:
                misses += 1
            if left <= 0 or misses > _MISSES:
                break
        return sorted(chosen)

    def _joined(self, chosen: Iterable[int]) -> str:
        return _joined(self._text, [self._spans[at] for at in chosen], self._marker)


def _spans(text: str, found: Iterable[Span], size: int) -> list[Span]:
    """The sentences that say something; in pieces, where they have more than `size` characters."""
    spans: list[Span] = []
    for sentence in found:
        is_long = sentence.end - sentence.start > size
        for part in pieces(text, sentence, max(size // _PIECES, _LEAST_PIECE)) if is_long else [sentence]:
            if not text[part.start : part.end].isspace():
                spans.append(part)
            elif spans:
                spans[-1] = Span(spans[-1].start, part.end)
    return spans


def _joined(text: str, spans: Iterable[Span], marker: str) -> str:
    """The `spans` in one text, with a marker for all but white space that lies between and around them."""
    parts: list[str] = []
    at = 0
    for start, end in [*spans, Span(len(text), len(text))]:
        between = text[at:start]
        if between.strip():
            before = parts.pop() if parts else ""
            parts += [before.rstrip(), _space_after(before), marker]
            parts += [_space_after(between)] if start < len(text) else []
        parts.append(text[start:end])
        at = end
    return "".join(parts)


def _space_after(text: str) -> str:
    """One white space for all that `text` ends with: a line break if there is one in it."""
    space = text[len(text.rstrip()) :]
    if not space:
        return ""
    return "\n" if "\n" in space else " "


def _cut(text: str, span: Span, limit: int, counter: Counter, marker: str) -> str:
    """The head of the text of `span`, and markers; empty where that does not fit."""
    said = _BLANK.sub("", text[span.start : span.end])
    start = span.end - len(said)
    room, step = limit, 1
    while room > 0:
        head = counter.cut(said, room)
        if not head.strip():
            break
        stop = start + len(head)
        if stop < span.end and text[stop].isalnum():
            stop = start + len(_LAST_WORD.sub("", head) or head)
        result = _joined(text, [Span(start, stop)], marker)
        excess = counter.count(result) - limit
        if excess <= 0:
            return result
        room, step = room - max(excess, step), 2 * step
    return ""
