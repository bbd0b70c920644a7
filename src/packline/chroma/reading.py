"""Reading files as text: what a person would read in them, as Markdown where the file has a structure.

Nothing is executed or fetched, and what is not text is refused, so that no noise is ever found.
"""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from packline.errors import PacklineError

__all__ = ["Document", "Page", "read", "suffixes"]

_NO_PROSE = ("script", "style", "template", "noscript", "svg", "nav", "footer")
_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a page; `number` counts from 1, and is None where a file has no pages."""

    text: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says.

    Args:
        pages: In their order; a file without pages is one.
        title: As the file itself gives it; None where it gives none.
        markdown: Whether the text is Markdown, so that headings and code are known in it.
    """

    pages: tuple[Page, ...]
    title: str | None = None
    markdown: bool = False


def read(suffix: str, data: bytes) -> Document:
    """The document in a file of that suffix.

    Text that is not UTF-8 is read in the encoding that its bytes suggest. Of notebooks the cells are read,
    not their output; of tables each row, with the names of its columns.

    Raises:
        PacklineError: The suffix is not read, or the file is binary, empty, encrypted or of an old format.
        Exception: Whatever the parser of a broken file raises.

    >>> read(".csv", b"city,people\\nOslo,709037\\n").pages[0].text
    'city: Oslo; people: 709037'
    """
    reader = _READERS.get(suffix.lower())
    if reader is None:
        raise PacklineError(
            f"{suffix or 'a file without a suffix'} is not read: only {', '.join(suffixes())}"
        )
    document = reader(data)
    if not any(page.text.strip() for page in document.pages):
        raise PacklineError("holds no text")
    return document


def suffixes() -> tuple[str, ...]:
    """What is read."""
    return tuple(_READERS)


def decoded(data: bytes) -> str:
    """The text in `data`: UTF-8, what a byte order mark says, or else the likeliest encoding."""
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), None)
    if encoding is None and b"\0" in data:
        raise PacklineError("is binary")
    try:
        text = data.decode(encoding or "utf-8-sig")
    except UnicodeDecodeError:
        text = _guessed(data)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _guessed(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None:
        raise PacklineError("is binary, or text in an unknown encoding")
    return str(best)


def _text(data: bytes) -> Document:
    return Document((Page(decoded(data)),))


def _markdown(data: bytes) -> Document:
    text = decoded(data)
    found = re.search(r"^# +(.+?)[ #]*$", text, re.MULTILINE)
    return Document((Page(text),), title=found[1] if found else None, markdown=True)


def _rst(data: bytes) -> Document:
    text = decoded(data)
    found = re.search(r"^(\S.*)\n([=\-*#~^\"])\2{2,}\s*$", text, re.MULTILINE)
    return Document((Page(text),), title=found[1].strip() if found else None)


def _html(data: bytes) -> Document:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    if b"\0" in data and not data.startswith(tuple(_MARKS)):
        raise PacklineError("is binary")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it may be XML, or looks like a file name
        soup = BeautifulSoup(data, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title else None
    for tag in soup.find_all(_NO_PROSE):
        tag.decompose()
    for link in soup.find_all("a", class_="headerlink"):
        link.decompose()
    main = soup.find("main") or soup.find(None, {"role": "main"}) or soup.find("article")
    if main is None or not main.get_text(strip=True):
        main = soup.body or soup
    converter = MarkdownConverter(heading_style="ATX", strip=["a", "img"])
    text = re.sub(r"\n{3,}", "\n\n", str(converter.convert_soup(main)))
    return Document((Page(text),), title=title or None, markdown=True)


def _pdf(data: bytes) -> Document:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise PacklineError("is encrypted")
    pages = tuple(Page(page.extract_text(), number) for number, page in enumerate(reader.pages, 1))
    title = reader.metadata.title if reader.metadata else None
    return Document(pages, title=str(title).strip() or None if title else None)


def _notebook(data: bytes) -> Document:
    try:
        notebook = json.loads(decoded(data))
    except json.JSONDecodeError as error:
        raise PacklineError(f"is not a notebook: not JSON: {error}") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise PacklineError("is not a notebook of format 4")
    language = notebook.get("metadata", {}).get("kernelspec", {}).get("language", "python")
    parts = []
    for cell in notebook["cells"]:
        source = cell.get("source", "")
        source = (source if isinstance(source, str) else "".join(source)).strip()
        if source and cell.get("cell_type") == "markdown":
            parts.append(source)
        elif source and cell.get("cell_type") == "code":
            parts.append(f"```{language}\n{source}\n```")
    return _markdown("\n\n".join(parts).encode("utf-8", "replace"))


def _table(data: bytes) -> Document:
    return Document((Page("\n".join(_rows(decoded(data)))),))


def _rows(text: str) -> Iterator[str]:
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(text[:10_000], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    rows = csv.reader(io.StringIO(text, newline=""), dialect)
    names = next(rows, [])
    for row in rows:
        named = zip(names + [""] * (len(row) - len(names)), row, strict=False)
        yield "; ".join(
            f"{name.strip()}: {' '.join(value.split())}" if name.strip() else " ".join(value.split())
            for name, value in named
            if value.strip()
        )


_READERS: dict[str, Callable[[bytes], Document]] = {
    ".md": _markdown,
    ".markdown": _markdown,
    ".txt": _text,
    ".rst": _rst,
    ".html": _html,
    ".htm": _html,
    ".pdf": _pdf,
    ".ipynb": _notebook,
    ".csv": _table,
}
