"""Scores: what a retriever's or reranker's numbers say of relevance."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline import ConfigError
from packline.scores import relevance_of

NAN = float("nan")


def test_none_is_unknown_zero_is_real_and_nan_is_worse_than_all():
    for policy in ("rank", "minmax", "raw"):
        none, zero, nan, half = relevance_of([None, 0.0, NAN, 0.5], policy)

        assert none is None
        assert nan == 0.0
        assert 0.0 <= zero < half <= 1.0


@pytest.mark.parametrize("policy", ["rank", "minmax", "raw", "ignore", math.exp])
def test_scores_that_are_all_unknown_stay_so(policy):
    assert relevance_of([None, None], policy) == [None, None]
    assert relevance_of([], policy) == []


def test_rank_keeps_the_order_of_reciprocal_ranks_that_any_minimum_would_delete():
    assert relevance_of([1 / 61, 1 / 62, 1 / 63, 1 / 64], "rank") == [1.0, 0.75, 0.5, 0.25]


def test_equal_scores_have_equal_relevance():
    assert relevance_of([3, 3, 1], "rank") == pytest.approx([1.0, 1.0, 1 / 3])
    assert relevance_of([3, 3], "minmax") == [1.0, 1.0]
    assert relevance_of([0.0, 0.0], "minmax") == [1.0, 1.0]


def test_minmax_is_in_proportion_whatever_the_scale():
    assert relevance_of([25, 0, 5, -25], "minmax") == [1.0, 0.5, 0.6, 0.0]
    assert relevance_of([math.inf, 2.0, 1.0, -math.inf], "minmax") == [1.0, 1.0, 0.0, 0.0]


def test_raw_scores_are_taken_as_they_are_and_refused_off_the_scale():
    assert relevance_of([1.0000000000000002, 0.25], "raw") == [1.0, 0.25]
    with pytest.raises(ConfigError, match=r"in \[0, 1\].*use 'rank' or 'minmax'.*got 25"):
        relevance_of([25], "raw")


def test_a_callable_turns_each_score_into_relevance():
    assert relevance_of([0, 10, None, NAN], lambda score: score / 10) == [0.0, 1.0, None, 0.0]
    with pytest.raises(ConfigError, match="what the scores callable gives"):
        relevance_of([20], lambda score: score / 10)


def test_an_unknown_policy_is_refused():
    expected = "scores must be one of 'rank', 'minmax', 'scaled', 'distance', 'raw', 'ignore'"
    with pytest.raises(ConfigError, match=expected):
        relevance_of([1.0], "best")


@given(st.lists(st.none() | st.floats()), st.sampled_from(["rank", "minmax"]))
def test_relevance_is_in_0_1_and_never_turns_an_order_round(scores, policy):
    relevance = relevance_of(scores, policy)

    assert all(value is None or 0.0 <= value <= 1.0 for value in relevance)
    both = zip(scores, relevance, strict=True)
    known = sorted((score, value) for score, value in both if score is not None and not math.isnan(score))
    assert [value for _, value in known] == sorted(value for _, value in known)


def test_scaled_leaves_relevance_as_it_is_and_brings_all_else_into_range_in_proportion():
    assert relevance_of([0.9, 0.5, 0.0], "scaled") == [0.9, 0.5, 0.0]
    assert relevance_of([25, 5, 0], "scaled") == [1.0, 0.2, 0.0]
    assert relevance_of([1.0, 0.0, -1.0], "scaled") == [1.0, 0.5, 0.0]
    assert relevance_of([-1.0, -3.0], "scaled") == [0.5, 0.0]
    assert relevance_of([math.inf, 2.0, None, math.nan], "scaled") == [1.0, 1.0, None, 0.0]
    assert relevance_of([1.0000000000000002], "scaled") == [1.0]
    assert relevance_of([], "scaled") == []


def test_of_distances_the_nearest_is_the_most_relevant():
    assert relevance_of([0.0, 1.0, 3.0, math.inf], "distance") == [1.0, 0.5, 0.25, 0.0]
    assert relevance_of([-1.0, 0.0], "distance") == [1.0, 0.5]
    assert relevance_of([None, math.nan], "distance") == [None, 0.0]


@pytest.mark.parametrize("policy", ["scaled", "distance"])
@given(scores=st.lists(st.floats(allow_nan=False), max_size=8))
def test_scaled_and_distance_keep_the_order_in_range(policy: str, scores: list[float]):
    relevance = relevance_of(scores, policy)

    assert all(0 <= value <= 1 for value in relevance)
    pairs = sorted(zip(scores, relevance, strict=True))
    values = [value for _, value in pairs]
    assert values == sorted(values, reverse=policy == "distance")
