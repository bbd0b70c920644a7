"""Enough: what has so much less to do with the question than the best that it only costs tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["beyond_enough"]

LENGTH = 0.15


def beyond_enough(
    scores: NDArray[np.float64], lengths: NDArray[np.int64], *, share: float
) -> NDArray[np.bool_]:
    """Which packets are not worth their tokens: `score < share * best score * (length / mean) ** 0.15`.

    A long packet costs more, so it must score more.

    Args:
        scores: Of the pool's packets, shape (n,).
        lengths: Of their texts, in characters or tokens, shape (n,).
        share: In [0, 1].

    >>> beyond_enough(np.array([1.0, 0.55, 0.55, 0.3]), np.array([50, 50, 250, 50]), share=0.5).tolist()
    [False, False, True, True]
    """
    if not len(scores):
        return np.zeros(0, bool)
    needed = share * scores.max() * (lengths / max(float(lengths.mean()), 1.0)) ** LENGTH
    beyond: NDArray[np.bool_] = scores < needed
    return beyond
