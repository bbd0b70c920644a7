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

    counts = WordIndex(texts).counts([["red"], ["fish"], ["鱼"], ["unknown"]])

    expected = [[words(text).count(word) for word in ("red", "fish", "鱼", "unknown")] for text in texts]
    np.testing.assert_array_equal(counts, expected)


def test_texts_without_words_keep_their_place():
    index = WordIndex(["", "\x00\x7f", "fish", "?"])

    assert index.counts([["fish"]]).ravel().tolist() == [0, 0, 1, 0]
    assert len(index) == 4
    assert index.lengths.tolist() == [0, 0, 1, 0]


def test_words_are_found_by_their_beginning():
    index = WordIndex(["painted paint painter pain", "paintings"])

    assert index.starting_with("paint") == ["paint", "painted", "painter", "paintings"]


def test_an_index_of_nothing_is_empty():
    index = WordIndex([])

    assert len(index) == 0
    assert index.counts([["fish"]]).shape == (0, 1)
