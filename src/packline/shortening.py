"""Shortening: the sentences of a text that matter for a question, in their order, within a limit.

Whole sentences are chosen as if token counts added up, which they need not; so the finished text is counted
as a whole, and gives way until it fits.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from packline.relevance.words import words
from packline.sentences import Span, pieces, sentences

if TYPE_CHECKING:
    from packline.tokens import Counter

__all__ = ["shorten"]

_LEAST_PIECE = 24  # characters
_PIECES = 6  # of a sentence that is too long, in the room there is


def shorten(text: str, query: str, limit: int, counter: Counter, marker: str = "…") -> str:
    """What matters most in `text` for `query`, in at most `limit` tokens.

    A text that fits is returned unchanged. Of a longer one, the sentences that share the most telling words
    with the question are kept, in their order and letter by letter, with `marker` wherever something
    else than white space is left out. Of a sentence that is too long for the limit, pieces are kept in the
    same way, parted between words where there are any, and never within a grapheme cluster.

    Args:
        limit: Tokens of the result, markers included, by `counter.count` of the whole.

    Returns:
        An empty text where not even a marker and something of the text fit.

    >>> from packline.tokens import token_counter
    >>> shorten("Cats sleep. Dogs bark at cats. Fish swim.", "What do fish do?", 18, token_counter(len))
    '… Fish swim.'
    """
    if limit <= 0:
        return ""
    tokens = counter.count(text)
    if tokens <= limit:
        return text
    spans = _spans(text, len(text) * limit // tokens)
    if not spans:
        return ""
    order = _ranked(text, query, spans)
    room = limit
    while room > 0:
        chosen = _chosen(text, spans, order, room, counter, marker)
        if not chosen:
            break
        result = _joined(text, [spans[at] for at in sorted(chosen)], marker)
        excess = counter.count(result) - limit
        if excess <= 0:
            return result
        room -= max(excess, limit - room + 1)
    return _cut(text, spans[order[0]], limit, counter, marker)


def _spans(text: str, size: int) -> list[Span]:
    """The sentences that say something; in pieces, where they have more than `size` characters."""
    parts = []
    for span in sentences(text):
        if span.end - span.start > size:
            parts += pieces(text, span, max(size // _PIECES, _LEAST_PIECE))
        else:
            parts.append(span)
    return [span for span in parts if not text[span.start : span.end].isspace()]


def _ranked(text: str, query: str, spans: Sequence[Span]) -> list[int]:
    """The places of `spans`, best first; earlier ones first among equals."""
    bags = [Tally(words(text[start:end])) for start, end in spans]
    frequency = Tally(word for bag in bags for word in bag)
    asked = set(words(query)) & frequency.keys()
    idf = {word: math.log(1 + (len(spans) - n + 0.5) / (n + 0.5)) for word in asked if (n := frequency[word])}
    scores = [sum(idf[word] for word in asked if word in bag) for bag in bags]
    return sorted(range(len(spans)), key=lambda at: (-scores[at], at))


def _chosen(
    text: str, spans: Sequence[Span], order: Iterable[int], room: int, counter: Counter, marker: str
) -> set[int]:
    """The best of `spans` that fit in `room` together with their markers, if token counts added up."""
    gap = counter.count(f" {marker}") if marker else 0
    chosen: set[int] = set()
    left = room - gap
    for at in order:
        if left <= 0:
            break
        beside = (at == 0 or at - 1 in chosen) + (at == len(spans) - 1 or at + 1 in chosen)
        cost = counter.count(text[spans[at].start : spans[at].end]) + gap * (1 - beside)
        if cost <= left:
            chosen.add(at)
            left -= cost
    return chosen


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
    room = limit
    while room > 0:
        head = counter.cut(text[span.start : span.end], room)
        if not head.strip():
            return ""
        result = _joined(text, [Span(span.start, span.start + len(head))], marker)
        excess = counter.count(result) - limit
        if excess <= 0:
            return result
        room -= max(excess, limit - room + 1)
    return ""
