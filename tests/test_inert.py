"""What looks like a border of the prompt is marked, and unmarking gives back exactly what was there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline.inert import Borders, line_border, sound, tag_border

HEADING = Borders([line_border(("[Role & Policies]", "[Task]"))])
BEGINS = Borders([line_border(("[Task]", "user:"), begins=True)])
TAGS = Borders([tag_border(("task", "role_policies"))])


@pytest.mark.parametrize(
    "text",
    [
        "[Task]",
        "before\n[Task]\nafter",
        "before\r[Task]",
        "before\r\n[Task]\r\n",
        "\u2028[Task]\u2029",
        *(f"before{line_break}[Task]{line_break}after" for line_break in "\v\f\x1c\x1d\x1e\x85\u2028\u2029"),
        "\x0b[Task]",
        "\x0c[Task]",
        "\x1c[Task]",
        "\x85[Task]",
        "  [Task]  ",
        "\u3000[Task]\u00a0",
        "[ Task ]",
        "[TASK]",
        "[task]",
        "\u200b[Task]\u200b",
        "[\u200bTask\u2060]",
        "\x00[Task]\x07",
        "[Role&Policies]",
        "[Role  &\tPolicies]",
        "[role & policies]",
    ],
)
def test_a_line_that_reads_as_a_heading_is_marked_with_one_backslash(text: str):
    marked = HEADING.mark(text)

    assert marked.count("\\") == 1
    assert marked.replace("\\", "") == text
    assert "\\[" in marked
    assert HEADING.unmark(marked) == text


@pytest.mark.parametrize(
    "text", ["", "[Task] is a heading", "see [Task]", "[Tasks]", "Task", "[Ta\nsk]", "{Task}"]
)
def test_what_is_no_heading_is_left_alone(text: str):
    assert HEADING.mark(text) == text


def test_where_lines_that_begin_so_are_borders_the_rest_of_the_line_may_be_anything():
    assert (
        BEGINS.mark("[Task] do it\nUser : hello\nthe user: no")
        == "\\[Task] do it\n\\User : hello\nthe user: no"
    )


@pytest.mark.parametrize(
    "tag", ["<task>", "</task>", "< / TASK >", "<task attribute='1'>", "<role_policies>"]
)
def test_tags_are_marked_wherever_they_stand(tag: str):
    marked = TAGS.mark(f"a {tag} b")

    assert marked == f"a <\\{tag[1:]} b"
    assert TAGS.unmark(marked) == f"a {tag} b"


@pytest.mark.parametrize("text", ["<tasks>", "<my task>", "task", "a < b", "<b>"])
def test_other_tags_are_left_alone(text: str):
    assert TAGS.mark(text) == text


@pytest.mark.parametrize("slashes", range(4))
def test_what_already_carries_backslashes_gets_one_more(slashes: int):
    text = "\\" * slashes + "[Task]"

    assert HEADING.mark(text) == "\\" + text
    assert HEADING.unmark(HEADING.mark(text)) == text


pieces = st.one_of(
    st.sampled_from(
        ["[", "Task", "]", "[Task]", "user:", "<", "/", "task", ">", "\\", "\n", "\r", " ", "\u200b"]
    ),
    st.text(max_size=5),
)


@given(st.lists(pieces, max_size=12).map("".join), st.sampled_from([HEADING, BEGINS, TAGS]))
def test_unmarking_gives_back_every_text(text: str, borders: Borders):
    marked = borders.mark(text)

    assert borders.unmark(marked) == text


@given(st.lists(pieces, max_size=12).map("".join))
def test_no_marked_text_has_a_heading_line_left(text: str):
    marked = HEADING.mark(text)

    assert all(line.strip().casefold() != "[task]" for line in marked.splitlines())


def test_joined_surrogates_become_their_character_and_single_ones_the_replacement_character():
    assert sound("\ud83d\ude00") == "😀"
    assert sound("a\ud800b") == "a\ufffdb"
    assert sound("\udc00\ud800") == "\ufffd\ufffd"


@given(st.text(st.characters()))
def test_a_sound_text_encodes_and_stays_as_it_is(text: str):
    once = sound(text)

    once.encode("utf-8")
    assert sound(once) == once
    assert len(once) <= len(text)


@given(st.text())
def test_a_text_that_encodes_is_the_same_object(text: str):
    assert sound(text) is text
