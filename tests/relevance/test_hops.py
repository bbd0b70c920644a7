from __future__ import annotations

import numpy as np
import pytest

from packline.packet import ContextPacket, Kind
from packline.relevance import Lexical, Spread
from packline.relevance.names import LONGEST, names_in
from packline.relevance.phrases import texts_with
from packline.relevance.words import WordIndex

FILLER = [f"Nothing but filler number {n}, about the weather of day {n}." for n in range(40)]


def evidence(*texts: str) -> list[ContextPacket]:
    return [ContextPacket(text, kind=Kind.EVIDENCE) for text in (*texts, *FILLER)]


def scores(question: str, *texts: str, **spread: float) -> list[float]:
    return Lexical(spread=Spread(**spread)).scores(question, evidence(*texts)).tolist()


def test_a_passage_that_names_whom_the_best_one_names_is_lifted():
    first = "Jump for Glory was directed by Raoul Walsh."
    second, other = "In 1916 Raoul Walsh married an actress.", "In 1917 Ivor Cutler married a painter."

    with_names = scores("Who directed Jump for Glory?", first, second, other)
    without = scores("Who directed Jump for Glory?", first, second, other, shared=0)

    assert with_names[1] > with_names[2]
    assert without[1] == without[2] == 0


def test_a_name_of_two_words_leads_further_than_one_of_a_single_word():
    first = "Jump for Glory was made by Raoul Walsh and by Korda."

    _, whole, single, *_ = scores(
        "Who made Jump for Glory?", first, "Raoul Walsh at home.", "The house of Korda."
    )

    assert whole > single > 0


def test_a_name_that_stands_everywhere_leads_nowhere():
    filler = [f"The weather of Rome on day {n}." for n in range(10)]

    found = scores(
        "Who directed Jump for Glory?", "Jump for Glory was directed in Rome.", "A walk in Rome.", *filler
    )

    assert found[1] == 0


def test_a_name_in_the_question_leads_nowhere_by_itself():
    found = scores("Where did Raoul Walsh live?", "Home of Raoul Walsh, and where.", "Seen with Raoul Walsh.")
    alone = scores(
        "Where did Raoul Walsh live?", "Home of Raoul Walsh, and where.", "Seen with Raoul Walsh.", shared=0
    )

    assert found == alone


def test_a_third_hop_leads_on_from_where_the_second_one_led():
    chain = (
        "Jump for Glory was directed by Raoul Walsh.",
        "Raoul Walsh was taught by Miriam Cooper.",
        "The garden of Miriam Cooper.",
        "The garden of Ivor Cutler.",
    )

    _, second, third, other, *_ = scores("Who directed Jump for Glory?", *chain)

    assert second > third > other == 0
    assert scores("Who directed Jump for Glory?", *chain, onward=0)[2] == 0


def test_names_lead_on_in_a_script_without_capitals():
    _, second, other, *_ = scores(
        "谁导演了长江图？", "长江图是杨超导演的。", "杨超出生在信阳。", "贾樟柯出生在汾阳。"
    )

    assert second > other


def test_a_name_that_is_read_otherwise_in_its_text_leads_nowhere():
    pool = evidence(
        "من كتب كـتاب الحياة؟ كتبه أحمد.", "هنا أحمد."
    )  # with a sign that only stretches the word

    assert set(names_in(pool[0].content)) & {("تاب",)}
    assert np.isfinite(Lexical().scores("من كتب الكتاب؟", pool)).all()


def test_what_stands_in_brackets_does_not_belong_to_a_title():
    titled, other, *_ = scores("Who wrote Brand?", "Brand (play)\nA drama.", "Brand calves\nA manual.")

    assert titled > other


@pytest.mark.parametrize("head", ["file: {}.txt\n", "source: part 1\npage: {}\n\n", "Title: "])
def test_lines_of_metadata_before_a_title_are_not_taken_for_it(head: str):
    texts = ["Brand\nA drama in verse.", "Calves\nA manual, with a brand.", "Poles\nA survey.", "Ice\nA map."]
    passages = [head.format(number) + text for number, text in enumerate(texts)]

    titled, other, *_ = scores("Who wrote Brand?", *passages)
    untitled, as_before, *_ = scores("Who wrote Brand?", *passages, titled=0)

    assert titled / other > untitled / as_before


def test_a_line_with_a_colon_is_a_title_where_others_have_no_such_field():
    passages = [
        "Brand: a play\nA drama in verse.",
        "Calves\nA brand is on them.",
        "Poles\nA survey of a play.",
    ]

    titled, other, *_ = scores("Who wrote Brand, a play?", *passages)
    untitled, as_before, *_ = scores("Who wrote Brand, a play?", *passages, titled=0)

    assert titled / other > untitled / as_before


def test_a_title_that_is_a_part_of_the_best_passage_s_title_is_not_mentioned_by_it():
    texts = ("Night Train\nA film by Les Bernstien.", "Night\nIt is dark.", "Train\nIt runs on rails.")

    best, *parts = scores("Who directed Night Train?", *texts)[:3]

    assert max(parts) < 0.9 * best


def test_another_passage_with_the_title_of_the_best_one_is_lifted():
    texts = (
        "Publix\nStores in the east.",
        "Publix\nIts founder was George Jenkins.",
        "Kroger\nIts founder was Bernard.",
    )

    question = "Where are the stores of Publix in the east?"
    best, same, *_ = scores(question, *texts, titled=0, shared=0)
    best_alone, same_alone, *_ = scores(question, *texts, titled=0, shared=0, linked=0)

    assert same / best > same_alone / best_alone


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The author is Nora Ibsen.", {("nora", "ibsen"), ("nora",), ("ibsen",)}),
        ("J. R. R. Tolkien wrote it.", {("j", "r"), ("r", "r"), ("r", "tolkien")}),
        ("Nothing is named here. Nor here.", set()),
        ("режиссёр — Андрей Тарковский", {("андрей", "тарковский")}),
        ("杨超", {("杨超",)}),
        ("", set()),
    ],
)
def test_names_are_read_from_capitals_or_where_there_are_none_from_all_words(text, names):
    assert set(names_in(text)) >= names
    assert bool(names_in(text)) == bool(names)


def test_only_the_beginning_of_a_very_long_text_is_read_for_names():
    assert names_in("x" * LONGEST + " by Raoul Walsh") == {}


def test_a_pair_of_words_does_not_reach_over_the_end_of_a_text():
    index = WordIndex(["made by raoul", "walsh made raoul walsh"])
    pair = (index.number("raoul"), index.number("walsh"))

    texts, places = texts_with([pair], index)

    assert (texts.tolist(), places.tolist()) == ([1], [0])


def test_nothing_is_found_in_no_texts_and_for_no_phrases():
    for index in (WordIndex([]), WordIndex(["", "red fish"])):
        texts, places = texts_with([], index)

        assert len(texts) == len(places) == 0


def test_every_text_that_holds_a_phrase_is_found_once():
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(list("abcde"), 12)) for _ in range(30)]
    index = WordIndex(texts)
    phrases = [("a",), ("c",), *((first, second) for first in "abcde" for second in "abcde")]
    numbers = [tuple(index.number(word) for word in phrase) for phrase in phrases]

    found = set(zip(*(row.tolist() for row in texts_with(numbers, index)), strict=True))
    one_by_one = {(row, n) for n, one in enumerate(numbers) for row in texts_with([one], index)[0].tolist()}

    assert one_by_one == found
    padded = [f" {text} " for text in texts]
    assert found == {
        (row, place)
        for row, text in enumerate(padded)
        for place, phrase in enumerate(phrases)
        if f" {' '.join(phrase)} " in text
    }


def test_a_title_in_the_metadata_is_one():
    question = "Where did the director of Brand live?"
    first = "Brand was directed by Raoul Walsh."
    home = "He lived in a small house by the sea."

    def home_of(metadata: dict[str, object]) -> float:
        passages = [*evidence(first), ContextPacket(home, kind=Kind.EVIDENCE, metadata=metadata)]
        return float(Lexical().scores(question, passages)[-1])

    assert home_of({"title": "Raoul Walsh"}) > home_of({})
    assert (
        home_of({"title": None})
        == home_of({"title": " "})
        == home_of({"title": ["Raoul Walsh"]})
        == home_of({})
    )
