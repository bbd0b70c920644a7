"""Splitting documents into passages: whole paragraphs and sections where they fit, whatever the script.

The size is given in tokens but measured in characters, at the rate of the text at hand: passages need not be
of an exact size, and exact counting takes minutes on text without spaces.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

from packline.chroma.reading import Document, Page
from packline.tokens import approximate_tokens

__all__ = ["Passage", "split"]

_BLOCK = 20_000  # characters; the splitter's time grows with the square of what it is given at once
_HEADING = re.compile(r"^(#{1,6}) +(.+?)[ #]*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document: its text, its page (from 1), the headings above it and the document's title."""

    text: str
    page: int | None = None
    heading: str | None = None
    title: str | None = None


def split(document: Document, tokens: int) -> list[Passage]:
    """The passages of a document, in order, each of about `tokens / 2` to `tokens` tokens.

    No text is in two passages. A heading stays with what follows it.

    >>> [passage.text for passage in split(Document((Page("One.\\n\\nTwo."),)), tokens=2)]
    ['One.', 'Two.']
    """
    return [
        replace(passage, title=document.title)
        for page in document.pages
        for passage in _passages(page, document.markdown, tokens)
    ]


def _passages(page: Page, markdown: bool, tokens: int) -> Iterator[Passage]:
    text = page.text.encode("utf-8", "replace").decode()
    headings = list(_headings(text)) if markdown else []
    starts = [start for start, _ in headings]
    held: int | None = None
    for start, chunk in _chunks(text, markdown, tokens):
        if not chunk.strip():  # control characters that Python, not the splitter, takes for white space
            continue
        end = start + len(chunk)
        if held is None:
            held = start
        if markdown and _only_headings(chunk):
            continue
        place = bisect_right(starts, held)
        yield Passage(text[held:end], page.number, headings[place - 1][1] if place else None)
        held = None
    if held is not None and (rest := text[held:].strip()):
        yield Passage(rest, page.number)


def _chunks(text: str, markdown: bool, tokens: int) -> Iterator[tuple[int, str]]:
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    for block in _blocks(text):
        part = text[block]
        if not part.strip():
            continue
        size = max(1, round(tokens * len(part) / max(1, approximate_tokens(part))))
        capacity = (max(1, size // 2), size)
        splitter = MarkdownSplitter(capacity) if markdown else TextSplitter(capacity)
        for start, chunk in splitter.chunk_indices(part):
            yield block.start + start, chunk


def _blocks(text: str) -> Iterator[slice]:
    """The text in parts of at most `_BLOCK` characters, parted at a heading or an empty line if possible."""
    start = 0
    while len(text) - start > _BLOCK:
        least, most = start + _BLOCK // 2, start + _BLOCK
        ends = (text.rfind(mark, least, most) for mark in ("\n#", "\n\n", "\n", " "))
        end = next((end + 1 for end in ends if end >= 0), most)
        yield slice(start, end)
        start = end
    yield slice(start, len(text))


def _only_headings(chunk: str) -> bool:
    return all(not line.strip() or _HEADING.match(line) for line in chunk.splitlines())


def _headings(text: str) -> Iterator[tuple[int, str]]:
    """Where each heading starts, with the path that leads to it: `Install > Linux`."""
    code = [match.span() for match in _FENCE.finditer(text)]
    path: list[tuple[int, str]] = []
    for match in _HEADING.finditer(text):
        if any(start <= match.start() < end for start, end in code):
            continue
        level = len(match[1])
        path = [(above, title) for above, title in path if above < level] + [(level, match[2])]
        yield match.start(), " > ".join(title for _, title in path)
