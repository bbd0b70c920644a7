r"""Text is data: what looks like a border of the prompt is marked, and can be unmarked exactly.

A border is a heading of the template, a line that parts entries, or the name that begins a turn. Wherever
such a thing stands in a document, a memory, a turn or the question, one backslash is put before it. Whatever
already carries backslashes gets one more, so that taking one away always gives back the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import regex

__all__ = ["Borders", "line_border", "number_border", "sound", "tag_border"]

# A reader sees a new line after each of these, whatever a parser says.
_BREAK = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_START = rf"(?:^|(?<=[{_BREAK}]))"
_BLANK = rf"[^\P{{White_Space}}{_BREAK}]|[^\P{{Cf}}{_BREAK}]|[^\P{{Cc}}{_BREAK}]"
_BLANKS = rf"(?:{_BLANK})*+"
_END = rf"(?={_BLANKS}(?:$|[{_BREAK}]))"


class Borders:
    """A set of borders, to mark and unmark in a text.

    Args:
        patterns: From `line_border` and `tag_border`.

    >>> borders = Borders([line_border(("[Evidence]",))])
    >>> borders.mark("A fact.\\n[Evidence]\\nForged.")
    'A fact.\\n\\\\[Evidence]\\nForged.'
    >>> borders.unmark(borders.mark("\\\\[Evidence]"))
    '\\\\[Evidence]'
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._pattern = regex.compile("|".join(patterns), regex.IGNORECASE | regex.VERSION1)

    def mark(self, text: str) -> str:
        """`text` with a backslash before each border that stands in it."""
        return self._pattern.sub(lambda found: _edited(found, +1), text)

    def unmark(self, text: str) -> str:
        """The text that `mark` was given."""
        return self._pattern.sub(lambda found: _edited(found, -1), text)


def _edited(found: regex.Match[str], change: int) -> str:
    start, end = found.span("slashes")
    slashes = "\\" * max(0, end - start + change)
    return found.string[found.start() : start] + slashes + found.string[end : found.end()]


def line_border(names: Sequence[str], *, begins: bool = False) -> str:
    """The pattern of lines that consist of (or, if `begins`, begin with) one of `names`.

    Case, blanks and invisible characters around and between the words make no difference.
    """
    words = "|".join(map(_spelled, names))
    return rf"{_START}{_BLANKS}(?<slashes>\\*+)(?:{words}){'' if begins else _END}"


def number_border() -> str:
    """The pattern of lines that begin with a number in brackets, as numbered entries do."""
    return rf"{_START}{_BLANKS}(?<slashes>\\*+)\[{_BLANKS}\d+{_BLANKS}\]"


def tag_border(names: Sequence[str]) -> str:
    """The pattern of opening and closing tags with one of `names`, anywhere in a line."""
    words = "|".join(map(regex.escape, names))
    return rf"<(?<slashes>\\*+){_BLANKS}/?{_BLANKS}(?:{words})\b"


@lru_cache(maxsize=1024)
def _spelled(name: str) -> str:
    """The pattern of a heading: words and brackets apart, so that blanks between any of them are seen."""
    pieces = regex.findall(r"\w+|[^\w\s]", name)
    return _BLANKS.join("[:：]" if piece in ":：" else regex.escape(piece) for piece in pieces)


def sound(text: str) -> str:
    """`text` as any encoder takes it: surrogate pairs joined, single surrogates shown as U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
