"""Sentences: where a text can be parted without changing it.

What is returned are spans, not strings: each character belongs to exactly one, so that any choice of them
can be put together again from the text itself. Lines end a span too (lists, code, JSON lines, transcripts),
except where a paragraph was merely wrapped.
"""

from __future__ import annotations

from typing import NamedTuple

import regex

__all__ = ["Span", "pieces", "sentences"]

_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_SPACE = r"[\s\x1c-\x1f]"  # as `str.isspace` has it
_CLOSING = r"[\"'”’»›)\]}」』）】》〉*_`~]*+"
_WHOLE = r"(?![\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}])"  # not within a grapheme cluster
_END = regex.compile(
    rf"(?<unspaced>[。！？；｡]++|……++){_CLOSING}{_SPACE}*+{_WHOLE}"
    rf"|(?<![.!?…؟।॥۔])(?<spaced>[.!?…؟।॥۔]++){_CLOSING}(?:{_SPACE}++|$){_WHOLE}"
    rf"|(?<line>[{_BREAKS}]){_SPACE}*+{_WHOLE}",
    regex.VERSION1,
)
_PLACES = regex.compile(rf"(?:(?<=[，、：\s\x1c-\x1f])|(?<=[,;])(?!\d)){_WHOLE}(?!{_SPACE})", regex.VERSION1)
_CLUSTER = regex.compile(r"[\uD800-\uDBFF][\uDC00-\uDFFF]|\X")
# Always between two clusters, and not within a surrogate pair.
_PLAIN = regex.compile(r"(?<=\p{GCB=Other})(?=[\p{GCB=Other}--\uDC00-\uDFFF])", regex.VERSION1)
_ITEM = regex.compile(rf"(?:^|[{_BREAKS}])[^\S{_BREAKS}]*+\d++$", regex.VERSION1)
_BREAK = regex.compile(rf"[{_BREAKS}]", regex.VERSION1)
_LAST_WORD = regex.compile(r"(?:^|[\s(\[\"'“‘])([\p{L}.]++)$", regex.VERSION1)
_LONGEST_ABBREVIATION = 12
_ABBREVIATED = """
    mr mrs ms dr prof st sr gen rep sen gov capt lt col sgt rev hon mt ft vs fig figs eq vol pp cf approx e.g
    i.e ca al jan feb mar apr jun jul aug sep sept oct nov dec bzw z.b d.h nr hr fr
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_WRAPPED = 40  # characters of a line that may have been wrapped


class Span(NamedTuple):
    """Characters `start` up to, not including, `end` of a text."""

    start: int
    end: int


def sentences(text: str) -> list[Span]:
    """The spans of the sentences of `text`, without a gap; white space belongs to the sentence before it.

    A sentence ends at a full stop, question or exclamation mark (of any script, with the quotes and brackets
    that close after it), at a Chinese semicolon and at the end of a line. It does not end within a decimal
    or an address, after an abbreviation, an initial or the number of a list item, before a lower-case
    letter, at a line break in the middle of a wrapped sentence, or within a line of data (one that starts
    with a brace or a bar: JSON, tables). No span begins inside a grapheme cluster.

    >>> text = "Dr. Li paid $3.50. He left! 他走了。她来了"
    >>> [text[start:end] for start, end in sentences(text)]
    ['Dr. Li paid $3.50. ', 'He left! ', '他走了。', '她来了']
    """
    ends: list[int] = []
    line = 0
    for end in _END.finditer(text):
        if _is_end(text, end, is_data=text[line : line + 1] in ("{", "|")):
            ends.append(end.end())
        if _BREAK.search(end[0]):
            line = end.end()
    if text and (not ends or ends[-1] < len(text)):
        ends.append(len(text))
    return [Span(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def pieces(text: str, span: Span, size: int) -> list[Span]:
    """`span` in pieces of about `size` characters, parted between words where there are any.

    No piece is longer than twice `size`, unless a single grapheme cluster is; none begins inside one.

    >>> [span.end for span in pieces("one two three", Span(0, 13), 3)]
    [4, 8, 13]
    """
    starts = [span.start]
    while span.end - starts[-1] > size:
        place = _place(text, starts[-1], size, span.end)
        if place >= span.end:
            break
        starts.append(place)
    return [Span(start, end) for start, end in zip(starts, [*starts[1:], span.end], strict=True)]


def _place(text: str, start: int, size: int, end: int) -> int:
    """Where to part `text`: between words at `start + size` or soon after, or else at the next cluster."""
    place = _PLACES.search(text, start + size, start + 2 * size + 1)
    if place is not None and place.start() <= start + 2 * size:
        return place.start()
    if end <= start + 2 * size:
        return end
    if _PLAIN.match(text, start + size):
        return start + size
    clusters = _CLUSTER.finditer(text, start)
    return next((cluster.end() for cluster in clusters if cluster.end() >= start + size), end)


def _is_end(text: str, end: regex.Match[str], *, is_data: bool) -> bool:
    if end["unspaced"]:
        return not is_data
    flows_on = text[end.end() : end.end() + 1].islower()
    if end["line"]:
        return not (flows_on and _is_wrapped(text, end))
    if _BREAK.search(end[0]):
        return True
    return not (is_data or flows_on) and not (end["spaced"] == "." and _is_abbreviation(text, end.start()))


def _is_abbreviation(text: str, stop: int) -> bool:
    """Whether the full stop at `stop` belongs to an abbreviation, an initial or the number of a list item."""
    start = max(0, stop - _LONGEST_ABBREVIATION)
    if _ITEM.search(text, start, stop):
        return True
    word = _LAST_WORD.search(text, start, stop)
    if word is None:
        return False
    return (len(word[1]) == 1 and word[1].isupper()) or word[1].lower() in _ABBREVIATIONS


def _is_wrapped(text: str, end: regex.Match[str]) -> bool:
    """Whether a line is so long, and stops so plainly in mid-sentence, that the next one continues it."""
    start = end.start()
    last = text[max(0, start - 2) : start].rstrip()[-1:]
    is_long = start >= _WRAPPED and _BREAK.search(text, start - _WRAPPED, start) is None
    return is_long and end[0] in ("\n", "\r\n") and (last.isalpha() or last == ",")
