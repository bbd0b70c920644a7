"""Spans that part a text into sentences, and sentences into pieces, without changing it."""

import itertools
import os

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from packline.sentences import Span, pieces, sentences

MANY = settings(max_examples=int(os.environ.get("PACKLINE_CASES", "1000")), deadline=None)

SAMPLES = [
    "Dr. Smith paid $3.50 for it. Was it worth it? Yes! ",
    "数据分析很慢。为什么？因为内存不够！（见第三章。）第一；第二……",
    'def f(x):\n    return {"a": x.y}\n\nprint(f(1))\n',
    '{"id": 1, "text": "One. Two."}\n{"id": 2}\n',
    "👩‍👩‍👧 laughs. 🇩🇪🇫🇷! e\u0301. \u0301\r\n\ud83d\ude00",
    "1. First. Still first.\n2. Second\n\n- item\n| a. B | c |\n",
    " \t\n\n",
    "नमस्ते। कैसे हो? هل أنت؟ نعم.",
    "x" * 60,
]
TEXTS = st.lists(st.sampled_from(SAMPLES) | st.text(max_size=40), max_size=6).map("".join)


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def clusters(text: str) -> set[int]:
    """Where grapheme clusters begin, and the end; an unjoined surrogate pair is one character."""
    return {found.start() for found in regex.finditer(r"[\uD800-\uDBFF][\uDC00-\uDFFF]|\X", text)} | {
        len(text)
    }


@MANY
@given(TEXTS)
def test_each_character_belongs_to_exactly_one_sentence(text: str):
    assert "".join(split(text)) == text
    assert all(end > start for start, end in sentences(text))


@MANY
@given(TEXTS)
def test_no_sentence_begins_inside_a_grapheme_cluster(text: str):
    assert {start for start, _ in sentences(text)} <= clusters(text)


@MANY
@given(TEXTS, st.integers(1, 30))
def test_pieces_are_short_and_part_a_span_without_a_gap(text: str, size: int):
    whole = Span(0, len(text))

    parts = pieces(text, whole, size)

    assert "".join(text[start:end] for start, end in parts) == text
    assert {start for start, _ in parts} <= clusters(text)
    longest = max((len(found[0]) for found in regex.finditer(r"\X", text)), default=0)
    assert all(end - start <= max(2 * size, size + 2 * longest) for start, end in parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One. ", "Two! ", "Three? ", "Four"]),
        ('He said "Go!" and left. She stayed.', ['He said "Go!" and left. ', "She stayed."]),
        ("He left (early.) Then rain.", ["He left (early.) ", "Then rain."]),
        ("It costs 3.50 at www.x.com today. Fine.", ["It costs 3.50 at www.x.com today. ", "Fine."]),
        ("Dr. Li and Mr. Wu met J. R. R. Tolkien. Ok.", ["Dr. Li and Mr. Wu met J. R. R. Tolkien. ", "Ok."]),
        ("See e.g. Fig. 3. Done.", ["See e.g. Fig. 3. ", "Done."]),
        ("Wait... no. Really.", ["Wait... no. ", "Really."]),
    ],
)
def test_a_sentence_ends_where_a_reader_would_end_it(text: str, expected: list[str]):
    assert split(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("第一句。第二句！第三句？", ["第一句。", "第二句！", "第三句？"]),
        ("他说：“走吧。”她走了。", ["他说：“走吧。”", "她走了。"]),
        ("先这样；再那样。", ["先这样；", "再那样。"]),
        ("等等……好了。", ["等等……", "好了。"]),
        ("增长3.5%，达到1.2亿。完", ["增长3.5%，达到1.2亿。", "完"]),
        ("नमस्ते। कैसे हो?", ["नमस्ते। ", "कैसे हो?"]),
    ],
)
def test_sentences_end_in_every_script(text: str, expected: list[str]):
    assert split(text) == expected


def test_lines_of_lists_and_code_stand_alone():
    text = "1. First item\n2. Second item\n\n- bullet\n```\nx = a.B\n    return x\n```\n"

    assert split(text) == [
        "1. First item\n",
        "2. Second item\n\n",
        "- bullet\n",
        "```\n",
        "x = a.B\n    ",
        "return x\n",
        "```\n",
    ]


def test_a_line_of_data_is_not_parted():
    text = '{"a": "One. Two."}\n| x. Y | z |\nOne. Two.'

    assert split(text) == ['{"a": "One. Two."}\n', "| x. Y | z |\n", "One. ", "Two."]


def test_a_wrapped_paragraph_is_read_across_its_lines():
    text = "This sentence was wrapped by an editor at some\ncolumn and goes on. Short line\nnext line"

    assert split(text) == [
        "This sentence was wrapped by an editor at some\ncolumn and goes on. ",
        "Short line\n",
        "next line",
    ]


def test_pieces_are_parted_between_words():
    text = "one two, three four"

    parts = pieces(text, Span(0, len(text)), 5)

    assert [text[start:end] for start, end in parts] == ["one two, ", "three ", "four"]


def test_numbers_are_not_parted():
    text = "1,000,000,000,000"

    assert pieces(text, Span(0, 17), 9) == [Span(0, 17)]


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "text", ["!" * 400_000, "\n" * 400_000, " " * 400_000, '.")' * 130_000, "ab+/" * 100_000]
)
def test_a_very_long_text_is_parted(text: str):
    """Work that grew with the square of the length would not end within the timeout."""
    whole = Span(0, len(text))

    for parts in (sentences(text), pieces(text, whole, 100)):
        assert all(earlier.end <= later.start for earlier, later in itertools.pairwise(parts))
        assert "".join(text[start:end] for start, end in parts).split() == text.split()
