from __future__ import annotations

import numpy as np
import pytest

from packline.relevance.words import WordIndex, is_gram, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don't PANIC, 42!", ["don", "t", "panic", "42"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("Straße ﬁn", ["strasse", "fin"]),
        ("大熊猫 eats", ["大熊", "熊猫", "大", "熊", "猫", "eats"]),
        ("猫", ["猫"]),
        ("…!?", []),
        ("\ud800 ok", ["ok"]),
    ],
)
def test_words_of_every_script(text, found):
    assert words(text) == found


def test_only_unspaced_scripts_have_grams():
    assert [is_gram(word) for word in ("东京", "京", "tokyo", "токио")] == [True, True, False, False]


def test_an_index_counts_the_words_of_each_text_whatever_block_it_is_in():
    texts = [f"red {'fish ' * (n % 3)}" if n % 2 else f"鱼 {n}" for n in range(1000)]

    found = WordIndex(texts).counts([["red"], ["fish", "鱼"], ["unknown"]])

    expected = {
        (place, group): count
        for place, text in enumerate(texts)
        for group, word in enumerate(["red", "fish|鱼"])
        if (count := sum(map(words(text).count, word.split("|"))))
    }
    assert dict(zip(zip(found.texts, found.groups, strict=True), found.counts, strict=True)) == expected
    assert len(found.counts) == len(expected)


def test_texts_without_words_keep_their_place():
    index = WordIndex(["", "\x00\x7f", "fish", "?"])

    assert [row.tolist() for row in index.counts([["fish"]])] == [[2], [0], [1]]
    assert len(index) == 4
    assert index.lengths.tolist() == [0, 0, 1, 0]


def test_each_word_is_found_wherever_it_stands_in_any_number_of_words():
    """More words than 16 bits have numbers for."""
    many = [f"w{n} w{n + 1} fish" for n in range(70_000)]
    index = WordIndex([*many, "w5 fish w69999"])

    for word in ("w0", "w5", "w69999", "w70000", "fish"):
        number = index.number(word)
        places = index.places(number)
        np.testing.assert_array_equal(places, np.flatnonzero(index.numbers == number))
    assert index.texts_at(index.places(index.number("w69999"))).tolist() == [69_998, 69_999, 70_000]


def test_words_are_found_by_their_beginning():
    index = WordIndex(["painted paint painter pain", "paintings"])

    assert index.starting_with("paint") == ["paint", "painted", "painter", "paintings"]


def test_an_index_of_nothing_is_empty():
    index = WordIndex([])

    assert len(index) == 0
    assert [row.tolist() for row in index.counts([["fish"]])] == [[], [], []]
