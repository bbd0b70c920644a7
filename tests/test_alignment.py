"""Where two texts go apart: what stands between the gaps is the same, and the gaps are small."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline.alignment import Gap, gaps

WORDS = st.lists(st.sampled_from("abcdefg"), max_size=40)


@given(WORDS, WORDS)
def test_what_no_gap_holds_stands_in_both_texts_in_the_same_order(a: list[str], b: list[str]):
    found = list(gaps(a, b))

    at, other_at = 0, 0
    for gap in [*found, Gap(len(a), len(a), len(b), len(b))]:
        assert a[at : gap.start] == b[other_at : gap.other_start]
        assert gap.start <= gap.end
        assert gap.other_start <= gap.other_end
        at, other_at = gap.end, gap.other_end


@given(WORDS)
def test_a_text_does_not_go_apart_from_itself(words: list[str]):
    assert list(gaps(words, words)) == []


def test_two_changes_with_words_between_them_are_two_gaps():
    text = "{} has sold the house of her aunt to a man from the {} in the last week"
    a, b = text.format("anna", "north").split(), text.format("peter", "south").split()

    assert list(gaps(a, b)) == [Gap(0, 1, 0, 1), Gap(13, 14, 13, 14)]


def test_two_passages_that_share_little_are_one_gap():
    a, b = list("(abcdxe)"), list("(fxghij)")

    assert list(gaps(a, b)) == [Gap(1, 7, 1, 7)]


@pytest.mark.timeout(30)
def test_very_long_texts_are_aligned():
    """Work that grew with the square of the length would not end within the timeout."""
    a = [f"{number}" for number in range(200_000)]
    b = [word if number % 50 else f"{word}x" for number, word in enumerate(a)]

    assert list(gaps(a, b)) == [Gap(at, at + 1, at, at + 1) for at in range(0, 200_000, 50)]
