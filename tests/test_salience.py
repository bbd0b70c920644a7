"""Which sentences matter for a question, and in which order."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from packline.salience import Ranking

SAMPLES = ["Cats sleep.\n", "Dogs bark at cats. ", "猫在睡觉。", " ", "It rains. ", "Title\n"]
SENTENCES = st.lists(st.sampled_from(SAMPLES), max_size=40)


@given(SENTENCES, st.sampled_from(["", "What do cats do?", "猫", "zebra"]))
def test_every_sentence_has_exactly_one_place(sentences: list[str], query: str):
    assert sorted(Ranking(sentences, query)) == list(range(len(sentences)))


@given(SENTENCES, st.integers(0, 40))
def test_a_ranking_that_was_read_in_part_goes_on_where_it_was(sentences: list[str], count: int):
    ranking = Ranking(sentences, "What do cats do?")

    begun = list(islice(ranking, count))

    assert list(ranking) == list(Ranking(sentences, "What do cats do?"))
    assert list(ranking)[:count] == begun


def test_the_sentences_beside_the_best_match_come_before_those_farther_away():
    sentences = ["Rain. "] * 30 + ["Cats sleep. "] + ["Rain. "] * 30

    assert list(islice(Ranking(sentences, "cats"), 5)) == [30, 29, 31, 28, 32]


def test_a_word_counts_half_as_much_each_time_it_was_there():
    sentences = ["Rain. "] * 30 + ["Cats see cats. ", "Cats hear cats. ", "Dogs run. ", "Dogs sit. "]

    assert list(islice(Ranking(sentences, "cats, dogs"), 3)) == [30, 32, 31]


def test_a_word_is_found_by_its_stem_and_counts_more_where_it_is_whole():
    sentences = ["Rain. "] * 30 + ["He paints. ", "Rain. ", "He painted. "]

    assert list(islice(Ranking(sentences, "painted"), 2)) == [32, 30]
