"""What is read out of a text: words, sentences, lines of capitals, and none of what is only markup."""

import pytest

from packline.wording import Wording, normal, read


def wording(text: str) -> Wording:
    return read(text, text.casefold())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Ship left.", ("the", "ship", "left")),
        ("The US and us", ("the", "US", "and", "us")),
        ("THE US AND US", ("the", "us", "and", "us")),
        ("a _bold_ <b>word</b>", ("a", "bold", "word")),
        ("call __init__ of my_name", ("call", "__init__", "of", "my_name")),
        ("List<int> a", ("list", "<", "int", ">", "a")),
    ],
)
def test_words_are_what_a_text_itself_says(text: str, words: tuple[str, ...]):
    assert wording(text).words == words


def test_capitals_are_loud_in_a_line_of_them_only():
    assert wording("THE SHIP LEFT\nthe US stayed").loud == {0, 1, 2}
    assert wording("US GDP").loud == frozenset()


def test_sentences_end_at_stops_lines_and_brackets():
    assert wording("it rains. we (all of us) stay\nhere").ends == {0, 2, 3, 6, 7, 8}


def test_whole_sentences_are_found_wherever_the_cut_between_equal_words_falls():
    text = wording("the ship left. the ship sank. the crew lives.")

    assert text.has_whole(3, 6)
    assert text.has_whole(4, 7)
    assert not text.has_whole(4, 6)


def test_a_raised_digit_stays_apart_from_the_number_it_stands_at():
    assert (normal("10²"), normal("m²"), normal("Ａ１")) == ("10^2", "m2", "A1")
