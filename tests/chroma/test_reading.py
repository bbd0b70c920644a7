"""What is read in a file, and how it is split."""

import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from packline.chroma.reading import Document, Page, read, suffixes
from packline.chroma.splitting import split
from packline.errors import PacklineError


def text_of(suffix: str, data: bytes | str) -> str:
    data = data.encode() if isinstance(data, str) else data
    return "\n".join(page.text for page in read(suffix, data).pages)


def pdf(*pages: str, password: str | None = None) -> bytes:
    """A PDF as plain as its specification allows, one line a page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for page in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({page}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R /Resources "
            "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out, starts = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        starts.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode()
    table = "".join(f"{start:010} 00000 n \n" for start in starts)
    out += (
        f"xref\n0 {len(starts) + 1}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {len(starts) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    ).encode()
    if password is None:
        return out
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(out)))
    writer.encrypt(password)
    encrypted = io.BytesIO()
    writer.write(encrypted)
    return encrypted.getvalue()


def notebook(*cells: tuple[str, object]) -> str:
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": kind, "source": text} for kind, text in cells]})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_text_is_read_with_or_without_a_mark(encoding: str) -> None:
    assert text_of(".txt", "naïve 数据\r\nnext".encode(encoding)) == "naïve 数据\nnext"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gb18030", "数据分析工具可以帮助我们更好地理解信息，优化内存使用。" * 5),
        (
            "cp1252",
            (
                "Die Käuferin überlegte lange, ob der größere Schrank wirklich in das schmale Zimmer passen "
                "würde. Am Ende fragte sie den Verkäufer, der ihr freundlich erklärte, dass die Höhe für "
                "ältere Häuser ungewöhnlich sei. Natürlich könne man die Füße kürzen, sagte er."
            ),
        ),
    ],
)
def test_text_in_an_older_encoding_is_recognised(encoding: str, text: str) -> None:
    assert text_of(".txt", text.encode(encoding)) == text


@pytest.mark.parametrize("suffix", [suffix for suffix in suffixes() if suffix != ".pdf"])
def test_binary_data_is_refused_whatever_it_is_called(suffix: str) -> None:
    with pytest.raises(PacklineError, match="is binary"):
        read(suffix, b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff\xfe")


@pytest.mark.parametrize("suffix", [".md", ".txt", ".rst", ".html", ".csv"])
@pytest.mark.parametrize("data", [b"", b" \n\n\t "])
def test_a_file_without_text_is_refused(suffix: str, data: bytes) -> None:
    with pytest.raises(PacklineError, match="holds no text"):
        read(suffix, data)


def test_a_suffix_that_is_not_read_is_refused_with_those_that_are() -> None:
    with pytest.raises(PacklineError, match=r"\.exe is not read: only \.md, .*\.csv"):
        read(".exe", b"MZ")


def test_the_suffix_is_read_in_any_case() -> None:
    assert text_of(".TXT", "text") == "text"


def test_html_is_read_as_markdown_without_what_no_reader_sees() -> None:
    page = """<html><head><title>Guide</title><style>p {}</style></head><body><nav>Home</nav>
    <main><h1>Install<a class="headerlink" href="#x">¶</a></h1><p>Run <a href="u">this</a>:</p>
    <pre>pip install</pre><script>evil()</script></main><footer>2026</footer></body></html>"""

    document = read(".html", page.encode())

    assert document.title == "Guide"
    assert document.markdown
    assert [line for line in document.pages[0].text.splitlines() if line.strip()] == [
        "# Install",
        "Run this:",
        "```",
        "pip install",
        "```",
    ]


def test_html_in_a_declared_encoding_is_read_in_it() -> None:
    page = '<html><head><meta charset="gb2312"></head><body>数据</body></html>'.encode("gb2312")

    assert text_of(".html", page).strip() == "数据"


def test_a_pdf_is_read_page_by_page() -> None:
    document = read(".pdf", pdf("First page.", "Second page."))

    assert document.pages == (Page("First page.", 1), Page("Second page.", 2))


def test_an_encrypted_pdf_is_refused() -> None:
    with pytest.raises(PacklineError, match="is encrypted"):
        read(".pdf", pdf("Secret.", password="key"))


def test_a_broken_pdf_raises() -> None:
    with pytest.raises(Exception, match=r".+"):
        read(".pdf", b"%PDF-1.7 and nothing more")


def test_of_a_notebook_the_cells_are_read_in_order() -> None:
    text = text_of(".ipynb", notebook(("markdown", ["# Title\n", "words"]), ("code", "x = 1"), ("raw", "no")))

    assert text == "# Title\nwords\n\n```python\nx = 1\n```"


def test_a_notebook_that_is_not_json_is_called_so() -> None:
    with pytest.raises(PacklineError, match=r"^is not a notebook: not JSON: Expecting value"):
        text_of(".ipynb", "cells")


@pytest.mark.parametrize("data", ["{}", "[]", '{"cells": 3}', '{"worksheets": []}'])
def test_what_is_not_a_notebook_of_format_4_is_refused(data: str) -> None:
    with pytest.raises(PacklineError, match="is not a notebook of format 4"):
        read(".ipynb", data.encode())


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_each_row_of_a_table_stands_with_the_names_of_its_columns(separator: str) -> None:
    rows = [["city", "people"], ["Oslo", "709037"], ["Bergen", ""], ["Rome", "2"]]
    table = "\n".join(separator.join(row) for row in rows)

    assert text_of(".csv", table) == "city: Oslo; people: 709037\ncity: Bergen\ncity: Rome; people: 2"


def test_a_row_longer_than_the_header_is_kept_whole() -> None:
    assert text_of(".csv", "a,b\n1,2,3\n4,5,6\n") == "a: 1; b: 2; 3\na: 4; b: 5; 6"


def test_markdown_and_rst_files_tell_their_titles() -> None:
    assert read(".md", b"intro\n\n# The Guide #\n").title == "The Guide"
    assert read(".rst", b".. note\n\nThe Guide\n=========\n").title == "The Guide"
    assert read(".txt", b"# no title").title is None


def test_a_passage_knows_its_headings_and_code_has_none() -> None:
    text = (
        "# Install\n\nintro\n\n## Linux\n\n```\n# a comment\n```\n\n"
        + "apt install. " * 40
        + "\n\n# Use\n\nrun"
    )

    passages = split(Document((Page(text),), markdown=True), 32)

    headings = [passage.heading for passage in passages]
    assert list(dict.fromkeys(headings)) == ["Install", "Install > Linux", "Use"]


def test_a_heading_stays_with_what_follows() -> None:
    text = "# One\n\n## Two\n\n" + "A sentence of words. " * 40

    first = split(Document((Page(text),), markdown=True), 32)[0]

    assert first.text.startswith("# One\n\n## Two\n\nA sentence")


def test_passages_of_pages_keep_their_page() -> None:
    pages = split(Document((Page("One.", 1), Page("  ", 2), Page("Three.", 3)), title="T"), 100)

    assert [(passage.text, passage.page, passage.title) for passage in pages] == [
        ("One.", 1, "T"),
        ("Three.", 3, "T"),
    ]


@given(text=st.text(max_size=3_000), markdown=st.booleans(), tokens=st.integers(1, 200))
@example(text="\x1f0\x80", markdown=False, tokens=1)  # white space to Python, not to the splitter
def test_splitting_loses_nothing_but_white_space(text: str, markdown: bool, tokens: int) -> None:
    passages = split(Document((Page(text),), markdown=markdown), tokens)

    kept = "".join("".join(passage.text.split()) for passage in passages)
    assert kept == "".join(text.encode("utf-8", "replace").decode().split())
    assert all(passage.text.strip() for passage in passages)


@pytest.mark.parametrize("text", ["x" * 200_000, "word " * 50_000, "数" * 60_000, "a: 1; b: 2\n" * 20_000])
def test_a_long_text_without_paragraphs_is_split_into_passages_of_the_size_asked_for(text: str) -> None:
    passages = split(Document((Page(text),)), 256)

    assert max(len(passage.text) for passage in passages) <= 1_024
    assert sum(len(passage.text.replace(" ", "")) for passage in passages) >= 0.95 * len(
        text.replace(" ", "")
    )
