r"""Cells: text of any origin as it may be shown, and how wide it is there.

A document can hold escape sequences that rewrite a terminal, marks that reverse the reading order, and
characters that nobody sees. None of them is shown as it is.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import regex

from packline.inert import sound
from packline.verdict import Verdict

__all__ = ["document_of", "fit", "number", "one_line", "origin_of", "visible", "width"]

# The two joiners stay: emoji, Persian and Indic words need them.
_UNSEEN = regex.compile(r"[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\n\t\u200c\u200d]]", regex.VERSION1)
_EMOJI = "\N{VARIATION SELECTOR-16}"
_MARKS = ("Mn", "Me", "Mc", "Cf")


def visible(text: str) -> str:
    r"""`text` with every control and invisible character but tab, line end and joiners spelled out.

    >>> visible("\x1b[31mred\x1b[0m \u202egnp.exe")
    '\\x1b[31mred\\x1b[0m \\u202egnp.exe'
    """
    return _UNSEEN.sub(lambda found: _spelled(found[0]), sound(text.replace("\r\n", "\n")))


def _spelled(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def one_line(text: str, most: int = 400) -> str:
    """The beginning of `text` in one line, blanks joined; `most` characters are looked at."""
    return visible(" ".join(text[:most].split()))


def width(text: str) -> int:
    """Columns of a terminal that `text` takes.

    >>> width("pandas"), width("数据"), width("e\\u0301"), width("👩‍👩‍👧")
    (6, 4, 1, 2)
    """
    return len(text) if text.isascii() else sum(map(_cluster_width, regex.findall(r"\X", text)))


@lru_cache(maxsize=4096)
def _cluster_width(cluster: str) -> int:
    if _EMOJI in cluster or any(unicodedata.east_asian_width(character) in "WF" for character in cluster):
        return 2
    return sum(unicodedata.category(character) not in _MARKS for character in cluster)


def fit(text: str, columns: int, *, right: bool = False) -> str:
    """`text` in exactly so many columns: filled with blanks, or cut with an ellipsis.

    >>> fit("pandas", 8), fit("pandas", 8, right=True), fit("数据分析", 6)
    ('pandas  ', '  pandas', '数据… ')
    """
    spare = columns - width(text)
    if spare < 0:
        cut, used = "", 0
        for cluster in regex.findall(r"\X", text):
            used += width(cluster)
            if used > columns - 1:
                break
            cut += cluster
        text = f"{cut}…"
        spare = columns - width(text)
    return " " * spare + text if right else text + " " * spare


def number(value: float | None, form: str = ",") -> str:
    """A figure, or a dash where it is not known."""
    return "–" if value is None else format(value, form)


def document_of(verdict: Verdict) -> str:
    """The document that a packet is from, where its metadata tell; else an empty text."""
    document = verdict.packet.metadata.get("source")
    return one_line(document).rstrip("/") if isinstance(document, str) and document != verdict.source else ""


def origin_of(verdict: Verdict) -> str:
    """The document, its folder left out; where there is none, the name of the source."""
    return document_of(verdict).rpartition("/")[2] or one_line(verdict.source)
