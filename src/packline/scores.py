"""Scores of retrievers and rerankers, on whatever scale, as relevance in [0, 1].

A cosine of 0.4, a reciprocal rank of 0.016, a BM25 sum of 25 and a reranker's 7 of 10 all say which text is
better, and none says how relevant it is. Cutting them off at 1 would make all of a kind equal, and any fixed
minimum would delete all of another kind: so what a score means is said, not guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from packline.errors import ConfigError

__all__ = ["ScorePolicy", "relevance_of"]

_Named = Literal["rank", "minmax", "scaled", "distance", "raw", "ignore"]
ScorePolicy = _Named | Callable[[float], float]

_ROUNDING = 1e-6
_EXPECTED = f"one of {', '.join(map(repr, get_args(_Named)))}, or a callable from score to relevance"


def check_policy(name: str, policy: object) -> None:
    """Raise `ConfigError` if `policy` is no score policy."""
    if not callable(policy) and policy not in get_args(_Named):
        raise ConfigError(name, policy, _EXPECTED)


def relevance_of(scores: Sequence[float | None], policy: ScorePolicy) -> list[float | None]:
    """One relevance for each score; None where it is not known, and so is to be scored by packline.

    Args:
        scores: On one scale, higher is better except for "distance". None means unknown. 0.0 is a score like
            any; NaN is never better than another score, and with "rank" it is worse than all.
        policy: "rank": 1 for the best, and less by 1/n for each of the n scores that is better; equal scores
            get equal relevance. "minmax": in proportion, from 0 for the worst to 1 for the best; 1 if all
            are equal. "scaled": as it is where all lie in [0, 1]; else in proportion, from 0 for the lowest
            (or 0) to 1 for the highest (or 1). "distance": `1 / (1 + d)` of a distance, lower is better;
            where some are negative, all are counted from the lowest. "raw": the scores are relevance in
            [0, 1] already. "ignore": all are unknown. A callable: from one score to its relevance.

    Raises:
        ConfigError: The policy is none of these, or gave something outside [0, 1].

    >>> relevance_of([0.016, None, 0.033, 0.0], "rank")
    [0.6666666666666667, None, 1.0, 0.33333333333333337]
    >>> relevance_of([0, 25, 5, float("nan")], "minmax")
    [0.0, 1.0, 0.2, 0.0]
    >>> relevance_of([0.5, 0.25], "scaled"), relevance_of([4, 2], "scaled"), relevance_of([0, 1], "distance")
    ([0.5, 0.25], [1.0, 0.5], [1.0, 0.5])
    """
    check_policy("scores", policy)
    if policy == "ignore":
        return [None] * len(scores)
    known = [float(score) for score in scores if score is not None and not math.isnan(score)]
    if policy == "rank":
        relevance = _by_rank(known)
    elif policy == "minmax":
        relevance = _by_proportion(known)
    elif policy == "scaled":
        relevance = _scaled(known)
    elif policy == "distance":
        relevance = _by_distance(known)
    elif callable(policy):
        what = "what the scores callable gives"
        relevance = {score: _checked(policy(score), what) for score in known}
    else:
        relevance = {score: _checked(score, "scores='raw'") for score in known}
    return [None if score is None else relevance.get(float(score), 0.0) for score in scores]


def _by_rank(known: Sequence[float]) -> dict[float, float]:
    ranks: dict[float, float] = {}
    for better, score in enumerate(sorted(known, reverse=True)):
        ranks.setdefault(score, 1 - better / len(known))
    return ranks


def _scaled(known: Sequence[float]) -> dict[float, float]:
    finite = [score for score in known if math.isfinite(score)]
    low, high = min([0.0, *finite]), max([1.0, *finite])
    span = high / 2 - low / 2  # half of each, as below
    return {score: min(1.0, (min(max(score, low), high) / 2 - low / 2) / span) for score in known}


def _by_distance(known: Sequence[float]) -> dict[float, float]:
    low = min([0.0, *(score for score in known if math.isfinite(score))])
    return {score: 1 / (1 + (max(score, low) - low)) for score in known}


def _by_proportion(known: Sequence[float]) -> dict[float, float]:
    """Infinite scores count as the largest or smallest finite one."""
    finite = [score for score in known if math.isfinite(score)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    # Half of each, so that the distance of two very large numbers is still one.
    span = high / 2 - low / 2
    if span <= 0:
        return {score: 0.0 if score < low else 1.0 for score in known}
    return {score: min(1.0, (min(max(score, low), high) / 2 - low / 2) / span) for score in known}


def _checked(relevance: object, what: str) -> float:
    if not isinstance(relevance, (int, float)) or not -_ROUNDING <= relevance <= 1 + _ROUNDING:
        raise ConfigError(
            what, relevance, "in [0, 1]: for scores on another scale use 'rank' or 'minmax', or a callable"
        )
    return min(1.0, max(0.0, float(relevance)))
