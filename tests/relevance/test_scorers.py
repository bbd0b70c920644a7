from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import weakref
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline.errors import ConfigError
from packline.packet import ContextPacket, Kind
from packline.relevance import Hybrid, Jaccard, Lexical, Relevance, Semantic, Spread, resolve_relevance
from packline.relevance.pool import Pool

NOTHING = Spread(near=0, wide=0, dense=0, speaker=0, dated=0, titled=0, linked=0, shared=0)
START = datetime(2023, 6, 3, 12, tzinfo=UTC)


def evidence(*texts: str) -> list[ContextPacket]:
    return [ContextPacket(text, kind=Kind.EVIDENCE) for text in texts]


def turns(*texts: str, role: str = "user") -> list[ContextPacket]:
    return [ContextPacket(text, kind=Kind.HISTORY, metadata={"role": role}) for text in texts]


def letters(texts: list[str]) -> list[list[float]]:
    return [[1.0, *(float(text.lower().count(letter)) for letter in "abcdefgh")] for text in texts]


SCORERS = [Lexical(), Semantic(letters), Hybrid(letters), Jaccard()]


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: type(scorer).__name__)
@given(
    query=st.text(max_size=40),
    texts=st.lists(st.text(max_size=60), max_size=8),
    kind=st.sampled_from([Kind.HISTORY, Kind.EVIDENCE]),
)
def test_every_packet_gets_a_score_between_0_and_1(scorer, query, texts, kind):
    pool = [ContextPacket(text, kind=kind, metadata={"role": "user", "source": "s"}) for text in texts]

    scores = scorer.scores(query, pool)

    assert scores.shape == (len(texts),)
    assert scores.dtype == np.float64
    assert np.all((scores >= 0) & (scores <= 1))


@pytest.mark.parametrize("name", ["lexical", "semantic", "hybrid", "jaccard"])
def test_a_name_gives_its_scorer(name):
    assert type(resolve_relevance(name)).__name__.lower() == name


def test_a_scorer_and_a_function_are_taken_as_they_are():
    scorer = Lexical()

    assert resolve_relevance(scorer) is scorer
    assert resolve_relevance(lambda query, packets: np.ones(len(packets))).scores("", evidence("a")) == [1]
    assert isinstance(scorer, Relevance)


@pytest.mark.parametrize("spec", ["bm25", None, 3, Lexical])
def test_an_unknown_scorer_is_refused_with_the_known_ones(spec):
    with pytest.raises(ConfigError, match="'lexical', 'semantic', 'hybrid', 'jaccard'"):
        resolve_relevance(spec)


def test_importing_the_scorers_loads_no_embedding_model():
    code = "import sys, packline.relevance; sys.exit('wordllama' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_text_without_the_question_s_words_scores_0():
    scores = Lexical().scores("Who eats fish?", evidence("Bears eat fish.", "Pandas read CSV."))

    assert scores[1] == 0
    assert scores[0] > 0.1


def test_where_nothing_in_a_pool_is_relevant_all_scores_are_low():
    pool = evidence(*(f"The {animal} did not want to go to the zoo" for animal in map(str, range(100))))

    scores = Lexical().scores("What did the minister of finance announce to the press?", pool)

    assert scores.max() < 0.1


def test_words_that_begin_alike_count_for_half():
    pool = evidence("She painted a lake", "She is painting", "He cooks")

    scores = Lexical(spread=NOTHING).scores("painting", pool)

    assert scores[1] > scores[0] > scores[2] == 0


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("高畑勋执导的作品", "《熊猫小熊猫》由高畑勋执导。", "榅桲还可以叫木梨。"),
        ("में हिन्दी", "हिन्दी में लिखा", "अंग्रेज़ी"),
        ("где столица России", "Столица — Москва.", "Кошка спит."),
        ("東京タワーの高さ", "東京タワーは333メートル", "猫が寝ている"),
    ],
)
def test_words_are_found_in_every_script(question, right, wrong):
    scores = Lexical().scores(question, evidence(right, wrong))

    assert scores[0] > scores[1]


def test_a_turn_is_understood_from_the_turns_around_it():
    pool = turns("hm", "How was the marathon?", "Four hours!", *["ok"] * 20, "zzz")

    scores = Lexical().scores("marathon", pool)

    assert scores[2] > scores[-1] == 0
    assert Lexical(spread=NOTHING).scores("marathon", pool)[2] == 0


def test_a_long_turn_must_be_worth_its_room_where_lengths_vary():
    varied = Pool(turns(*("word " * length for length in (1, 2, 4, 80, 90))))
    even = Pool(turns(*("word " * length for length in (30, 35, 40, 45, 50))))
    documents = Pool(evidence(*("word " * length for length in (1, 2, 4, 80, 90))))
    only_dense = replace(NOTHING, dense=1)
    scores = np.ones(5)

    assert only_dense("q", scores, varied)[:3].tolist() == [1, 1, 1]
    assert 1 > only_dense("q", scores, varied)[3] > only_dense("q", scores, varied)[4]
    assert only_dense("q", scores, even).tolist() == scores.tolist()
    assert only_dense("q", scores, documents).tolist() == scores.tolist()


def test_relevance_does_not_spread_over_a_long_pause():
    pool = [
        ContextPacket("the marathon", timestamp=START, kind=Kind.HISTORY),
        ContextPacket("later", timestamp=START + timedelta(days=1), kind=Kind.HISTORY),
    ]

    assert Lexical().scores("marathon", pool)[1] == 0


def test_relevance_does_not_spread_from_one_chunk_of_a_document_to_the_next():
    pool = [
        ContextPacket("the marathon", kind=Kind.EVIDENCE, metadata={"source": "a.txt"}),
        ContextPacket("four hours", kind=Kind.EVIDENCE, metadata={"source": "a.txt"}),
    ]

    assert Lexical().scores("marathon", pool)[1] == 0


def test_a_named_speaker_s_turns_come_first():
    pool = [*turns("a marathon", role="Ann"), *turns("a marathon", role="Ben")]

    scores = Lexical(spread=Spread(near=0, wide=0)).scores("Did Ben run a marathon?", pool)
    without = Lexical(spread=NOTHING).scores("Did Ben run a marathon?", pool)

    assert scores[1] / scores[0] > without[1] / without[0]


def test_a_speaker_is_named_by_a_part_of_the_name_that_nobody_else_has():
    pool = turns("We launch soon.", role="Ann Lopez") + turns("We launch soon.", role="Bo Lopez")
    scorer = Lexical(spread=replace(NOTHING, speaker=1))

    of_ann = scorer.scores("What does Ann say about when we launch?", pool)
    of_both = scorer.scores("What does Lopez say about when we launch?", pool)

    assert of_ann[0] / of_ann[1] > 1.2
    assert of_both[0] == of_both[1]
    assert Pool(pool).speakers["Ann Lopez"][0] == [frozenset({"ann", "lopez"}), frozenset({"ann"})]


def test_the_roles_of_a_chat_name_nobody():
    pool = turns("The crash was reported.", role="assistant") + turns("The crash was reported.", role="user")

    scores = Lexical(spread=replace(NOTHING, speaker=1)).scores("Which user reported the crash?", pool)
    plain = Lexical(spread=NOTHING).scores("Which user reported the crash?", pool)

    assert scores.tolist() == plain.tolist()


@pytest.mark.parametrize(
    "when",
    ["on 3 June, 2023", "on June 3", "in June 2023", "on 2023-06-03", "am 3. Juni 2023", "en junio de 2023"],
)
def test_what_is_dated_as_the_question_says_comes_first(when):
    pool = [
        ContextPacket("a marathon", timestamp=START - timedelta(days=90), kind=Kind.MEMORY),
        ContextPacket("a marathon", timestamp=START, kind=Kind.MEMORY),
    ]

    scores = Lexical().scores(f"Who ran a marathon {when}?", pool)

    assert scores[1] > scores[0]


def test_a_date_that_fits_every_packet_changes_nothing():
    pool = [
        ContextPacket(f"a marathon {n}", timestamp=START + timedelta(hours=n), kind=Kind.MEMORY)
        for n in range(2)
    ]

    scores = Lexical().scores("Who ran a marathon in 2023?", pool)

    assert scores[0] == pytest.approx(scores[1])


def test_a_passage_that_the_best_one_mentions_by_its_title_is_lifted():
    pool = evidence(
        "Kiss and Tell\nIn the film Corliss Archer is played by Shirley Temple.",
        "Shirley Temple\nShe was Chief of Protocol.",
        "Janet Waldo\nShe was an actress.",
    )

    scores = Lexical().scores("Who played Corliss Archer in the film Kiss and Tell?", pool)

    assert scores[1] > scores[2]


def test_a_passage_whose_title_the_question_names_comes_first():
    pool = evidence("Big Eyes\nA film about eyes.", "Jumanji\nNot about Big Eyes, a film with eyes.")

    lifted = Lexical().scores("Who made the film Big Eyes?", pool)
    plain = Lexical(spread=NOTHING).scores("Who made the film Big Eyes?", pool)

    assert lifted[0] / lifted[1] > plain[0] / plain[1]


@pytest.mark.parametrize("name", ["near", "wide", "dense", "speaker", "dated", "titled", "linked", "shared"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), "much", True])
def test_a_bad_spread_is_refused(name, value):
    with pytest.raises(ConfigError, match=name):
        Spread(**{name: value})


def test_the_words_of_a_pool_are_read_once(monkeypatch):
    from packline.relevance import pool as pool_module

    read = []
    real = pool_module.WordIndex
    monkeypatch.setattr(pool_module, "WordIndex", lambda texts: read.append(1) or real(texts))
    scorer, packets = Lexical(), evidence("Bears eat fish.", "Pandas read CSV.")

    scorer.scores("fish", packets)
    scorer.scores("CSV", packets)
    scorer.scores("CSV", evidence("Bears eat fish.", "Pandas read CSV."))

    assert len(read) == 1


def test_metadata_that_cannot_be_compared_is_no_matter():
    def pool() -> list[ContextPacket]:
        return [ContextPacket("Bears eat fish.", metadata={"box": np.ones(3)})]

    scorer = Lexical()

    assert scorer.scores("bears", pool()).tolist() == scorer.scores("bears", pool()).tolist()


@pytest.mark.parametrize(
    "other",
    [
        ContextPacket("fish", metadata={"role": "bear"}),
        ContextPacket("fish", kind=Kind.HISTORY),
        ContextPacket("fish", timestamp=START),
    ],
)
def test_another_speaker_kind_or_time_makes_another_pool(other):
    scorer = Lexical()
    assert scorer._pools.of([ContextPacket("fish")]) is not scorer._pools.of([other])
    assert scorer._pools.of([other]) is scorer._pools.of([replace(other)])


def test_a_scorer_holds_the_last_pools_only_and_none_when_it_is_gone():
    scorer = Lexical()
    pools = [evidence(f"fish {n}") for n in range(4)]
    first, last = weakref.ref(pools[0][0]), weakref.ref(pools[-1][0])
    for pool in pools:
        scorer.scores("fish", pool)

    del pool, pools
    gc.collect()
    assert first() is None
    assert last() is not None

    del scorer
    gc.collect()
    assert last() is None


def test_unchanged_text_is_embedded_once():
    embedded: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        embedded.extend(texts)
        return letters(texts)

    scorer = Hybrid(embed)
    scorer.scores("q", evidence("abc", "def", "abc"))
    scorer.scores("q", evidence("def", "ghi"))

    assert sorted(embedded) == ["abc", "def", "ghi", "q", "q"]


def by_vowels(texts: list[str]) -> list[list[float]]:
    return [[text.count(vowel) + 0.5 for vowel in "aeiou"] for text in texts]


def test_only_so_many_vectors_are_remembered():
    embedded: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        embedded.extend(texts)
        return letters(texts)

    scorer = Semantic(embed, remembered=2)
    scorer.scores("q", evidence("abc", "def"))
    scorer.scores("q", evidence("def", "ghi"))
    scorer.scores("q", evidence("abc"))

    assert embedded.count("def") == 1
    assert embedded.count("abc") == 2


class Node:
    def __init__(self, embedding: object) -> None:
        self.embedding = embedding


@pytest.mark.parametrize("kind", [Semantic, Hybrid])
def test_vectors_that_packets_carry_are_taken_instead_of_new_ones(kind):
    embedded: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        embedded.extend(texts)
        return [[1.0, 0.0]] * len(texts)

    pool = [
        ContextPacket("away", origin=Node([0.0, 2.0])),
        ContextPacket("near", metadata={"embedding": np.array([3.0, 0.1])}),
        ContextPacket("other", origin=Node(None)),
    ]

    scores = kind(embed, carried=True, spread=NOTHING).scores("q", pool)

    assert embedded == ["q", "other"]
    assert scores[0] == 0 < scores[1] < scores[2]


def test_vectors_that_packets_carry_are_left_alone_unless_asked_for():
    pool = [ContextPacket("abc", metadata={"embedding": "not a vector"})]

    assert Semantic(letters).scores("abc", pool)[0] == pytest.approx(1)


@pytest.mark.parametrize("vector", ["text", [1.0], [[1.0]], [float("nan")] * 9])
def test_a_carried_vector_that_does_not_fit_is_refused(vector):
    pool = [ContextPacket("abc"), ContextPacket("def", metadata={"embedding": vector})]

    with pytest.raises(ConfigError, match="vectors of"):
        Semantic(letters, carried=True).scores("abc", pool)


def test_carried_vectors_are_those_of_the_packets_that_are_asked_about():
    """Not those that packets of the same texts carried before."""

    def pool(*vectors: list[float]) -> list[ContextPacket]:
        return [ContextPacket(f"text {n}", metadata={"embedding": v}) for n, v in enumerate(vectors)]

    scorer = Semantic(lambda texts: [[1.0, 0.0]] * len(texts), carried=True)

    assert scorer.scores("q", pool([1, 0], [0, 1])).tolist() == [1, 0]
    assert scorer.scores("q", pool([0, 1], [1, 0])).tolist() == [0, 1]


def test_carried_is_yes_or_no():
    with pytest.raises(ConfigError, match="carried"):
        Semantic(letters, carried="yes")


@pytest.mark.parametrize("scorer", [Lexical(), Semantic(by_vowels), Hybrid(by_vowels), Hybrid()])
def test_a_scorer_can_be_pickled_and_scores_the_same(scorer):
    pool = evidence("a bear eats", "a fish")
    scores = scorer.scores("bear", pool)

    copy = pickle.loads(pickle.dumps(scorer))

    assert copy.scores("bear", pool).tolist() == scores.tolist()


@pytest.mark.parametrize("scorer", [Lexical, Semantic, Hybrid])
@pytest.mark.parametrize("spread", [0, "none", Spread])
def test_a_spread_that_is_none_is_refused(scorer, spread):
    with pytest.raises(ConfigError, match="spread"):
        scorer(spread=spread)


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), "half", True])
def test_a_bad_weight_is_refused(weight):
    with pytest.raises(ConfigError, match="weight"):
        Hybrid(letters, weight=weight)


def test_the_weight_moves_a_hybrid_from_words_to_meaning():
    pool = evidence("aaa bbb", "zebra")
    question = "zebra a a a a b b b b"

    words, meaning = (Hybrid(letters, weight=weight).scores(question, pool) for weight in (0, 1))

    assert words[1] > words[0]
    assert meaning[0] > meaning[1]


def test_the_bundled_model_finds_other_words_for_the_same():
    pool = evidence("My canine companion barks all night", "The stock market fell", "We ate soup")

    scores = Semantic().scores("the dog is loud", pool)

    assert scores.argmax() == 0


def test_the_bundled_model_counts_for_little_in_a_script_it_does_not_know():
    pool = evidence("猫が寝ている", "東京タワー", "lorem ipsum")
    words, meaning = Lexical(), Semantic()

    def pull(question):
        return np.abs(Hybrid().scores(question, pool) - words.scores(question, pool)).max()

    assert meaning.scores("東京タワー", pool).max() > 0
    assert pull("東京タワー") < pull("tokyo lorem")


def test_a_function_word_that_is_rare_in_the_pool_does_not_outweigh_the_subject():
    pool = evidence(
        "Text which represents chunks.", "MIT license.", *(f"Note {n} on tea." for n in range(40))
    )

    scores = Lexical().scores("Which license applies?", pool)

    assert scores.argmax() == 1


def test_a_function_word_does_not_outweigh_common_subjects():
    pool = evidence(
        "Release 4 fixes a typo in the docs", *(f"Release {n} changed part {n}" for n in range(5, 12))
    )

    scores = Lexical().scores("What changed in the release?", pool)

    assert scores[0] < scores[1:].min()


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (
            "What changed in release 2.3.1?",
            "Release 2.3.1 changed it",
            ["Release 3.1.2 changed it", "Release 1.2.3 changed it"],
        ),
        ("What is 10.0.12.0?", "10.0.12.0 is a host", ["10.0.0.12 is a host", "12.10.0.0 is a host"]),
        ("Who paid on 05/12/2024?", "05/12/2024 paid", ["12/05/2024 paid", "2024/05/12 paid"]),
    ],
)
def test_the_numbers_of_a_version_a_date_or_an_address_count_in_their_order(question, right, wrong):
    pool = evidence(*wrong, right)

    scores = Lexical(spread=NOTHING).scores(question, pool)

    assert scores[-1] > scores[:-1].max()


def test_a_question_of_function_words_alone_goes_by_them():
    pool = evidence("It was he.", "Tea at nine.")

    assert Lexical().scores("Who was it?", pool).argmax() == 0


ABOUT_FISH = evidence(*["Salmon swim up the river to spawn.", "Herring are caught at night."] * 6)
HOW = "Please answer as precisely as you can; list every source that supports it, each with an explanation."


@pytest.mark.parametrize(
    "question",
    [
        f"{HOW} Where do salmon spawn?",
        f"Where do salmon spawn?\n{HOW}",
        f"{HOW}\n\nQuestion: where do salmon spawn",
    ],
)
def test_how_a_question_is_to_be_answered_makes_no_text_less_relevant(question: str):
    bare = Lexical().scores("Where do salmon spawn?", ABOUT_FISH)

    assert (Lexical().scores(question, ABOUT_FISH) >= 0.9 * bare).all()


def test_a_question_of_several_parts_that_are_all_about_something_else_finds_little():
    scores = Lexical().scores(f"{HOW} Which tax form is due in the spring?", ABOUT_FISH)

    assert 0 < scores.max() < 0.05


@pytest.mark.parametrize("aside", ["Salmon!", "1.2.3: salmon;", "To be or not to be, salmon: that is it."])
def test_a_part_of_one_word_says_nothing_by_itself(aside: str):
    tax = "Which tax form is due when somebody has moved to another country within the year?"

    assert 0 < Lexical().scores(f"{aside} {tax}", ABOUT_FISH).max() < 0.3


def test_how_a_question_is_to_be_answered_is_not_what_is_looked_for():
    noise = evidence("Please list the source.", "She gave an explanation.", "Precise, but no answer.")
    salmon = evidence("In autumn the salmon spawn in the lake.")

    assert Lexical().scores(f"{HOW} Where do salmon spawn?", [*noise, *salmon]).argmax() == 3


def test_each_of_two_questions_in_one_finds_its_answer():
    scores = Lexical().scores("Where do salmon spawn? When are herring caught?", ABOUT_FISH)

    assert (scores > 0.9).all()
