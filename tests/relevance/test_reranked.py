from __future__ import annotations

import pickle

import numpy as np
import pytest

from packline import ContextBuilder
from packline.errors import ConfigError
from packline.packet import ContextPacket, Kind
from packline.relevance import Hybrid, Lexical, Reranked, resolve_relevance

POOL = [
    ContextPacket(text) for text in ("bears eat fish", "bears eat", "bears", "nothing of that", "nor this")
]


class CrossEncoder:
    """As in sentence-transformers: callable, since it is a torch module, but asked by `predict`."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def __call__(self) -> None:
        raise AssertionError("a cross-encoder is asked by predict")

    def predict(self, pairs: list[tuple[str, str]]) -> np.ndarray:
        self.pairs = pairs
        return np.array([[-float(len(text))] for _, text in pairs], np.float32)


class LangChainCrossEncoder:
    def score(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [-float(len(text)) for _, text in pairs]


def shortest_first(question: str, texts: list[str]) -> list[float]:
    return [-float(len(text)) for text in texts]


@pytest.mark.parametrize("model", [CrossEncoder(), LangChainCrossEncoder(), shortest_first])
def test_a_reranker_decides_the_order_and_the_first_scorer_the_levels(model):
    first = Lexical().scores("Do bears eat fish?", POOL)

    scores = Reranked(model, top=3).scores("Do bears eat fish?", POOL)

    assert np.argsort(-scores, kind="stable").tolist()[:3] == [2, 1, 0]
    assert sorted(scores) == pytest.approx(sorted(first), abs=0.01)
    assert scores[3:].tolist() == first[3:].tolist()


@pytest.mark.parametrize(("likes", "dislikes"), [(8.0, -8.0), (0.9, 0.0)])
def test_what_the_first_scorer_did_not_find_is_found_by_a_model_that_sees_it(likes, dislikes):
    pool = [ContextPacket("Do you like tea?"), ContextPacket("Our hours: nine to five.")]

    def model(question: str, texts: list[str]) -> list[float]:
        return [likes if "hours" in text else dislikes for text in texts]

    scores = Reranked(model).scores("When do you open?", pool)

    assert scores[1] > 0.85
    assert scores[1] > scores[0]


def test_what_the_first_scorer_found_survives_a_model_that_sees_no_use_in_it():
    first = Lexical().scores("Do bears eat fish?", POOL)

    scores = Reranked(lambda question, texts: [-9.0] * len(texts)).scores("Do bears eat fish?", POOL)

    assert (scores >= first).all()


def test_only_the_best_of_the_first_scorer_are_read():
    model = CrossEncoder()

    Reranked(model, first=Hybrid(lambda texts: [[1.0, len(text)] for text in texts]), top=2).scores(
        "bears", POOL
    )

    assert len(model.pairs) == 2
    assert all(question == "bears" for question, _ in model.pairs)


def test_a_model_reads_who_says_a_turn():
    model = CrossEncoder()
    turn = ContextPacket("I eat fish", kind=Kind.HISTORY, metadata={"role": "bear"})

    Reranked(model).scores("fish", [turn])

    assert model.pairs == [("fish", "bear: I eat fish")]


def test_equal_scores_leave_the_first_order():
    first = Lexical().scores("Do bears eat fish?", POOL)

    scores = Reranked(lambda question, texts: [0.0] * len(texts)).scores("Do bears eat fish?", POOL)

    assert scores.tolist() == first.tolist()


def test_a_reranker_can_be_pickled():
    copy = pickle.loads(pickle.dumps(Reranked(LangChainCrossEncoder(), first=Lexical(), top=2)))

    assert copy.scores("Do bears eat fish?", POOL)[1] > copy.scores("Do bears eat fish?", POOL)[0]


def test_the_first_callable_of_predict_and_score_is_asked():
    model = LangChainCrossEncoder()
    model.predict = "a setting"  # type: ignore[attr-defined]

    assert Reranked(model).scores("Do bears eat fish?", POOL)[2] > 0


@pytest.mark.parametrize("first", ["hybrid", Lexical, shortest_first, 5])
def test_a_first_scorer_that_is_none_is_refused(first):
    with pytest.raises(ConfigError, match="first"):
        Reranked(shortest_first, first=first)


def test_a_cross_encoder_is_a_scorer_of_a_builder_as_it_is():
    model = CrossEncoder()
    builder = ContextBuilder(sources=[lambda _: ["bears eat fish", "bears"]], relevance=model)

    kept = builder.build("Do bears eat fish?").kept

    assert [verdict.packet.content for verdict in kept] == ["bears", "bears eat fish"]
    assert isinstance(resolve_relevance(model), Reranked)


def test_no_packets_are_not_sent_to_the_model():
    def never(question: str, texts: list[str]) -> list[float]:
        raise AssertionError("nothing to rank")

    assert Reranked(never).scores("q", []).tolist() == []


@pytest.mark.parametrize("given", [[1.0], "text", [float("nan")] * 5, None, [[1.0, 2.0]] * 5])
def test_what_a_reranker_gives_is_checked(given):
    with pytest.raises(ConfigError, match="scores of the reranker"):
        Reranked(lambda question, texts: given).scores("bears", POOL)


@pytest.mark.parametrize("model", [None, "BAAI/bge-reranker", CrossEncoder, 5])
def test_what_is_no_reranker_is_refused(model):
    with pytest.raises(ConfigError, match=r"predict\(pairs\)"):
        Reranked(model)


@pytest.mark.parametrize("top", [0, -1, 2.5, True])
def test_a_bad_top_is_refused(top):
    with pytest.raises(ConfigError, match="top"):
        Reranked(shortest_first, top=top)
