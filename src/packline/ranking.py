"""Ranking: places by their scores, sorted only as far as somebody looks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_first"]

FIRST = 256
"""So many of the best are sorted first, then four times as many, and so on."""


def best_first(scores: NDArray[np.float64], places: NDArray[np.intp]) -> Iterator[int]:
    """Those `places` in `scores`, best first; of equal ones the first.

    >>> list(best_first(np.array([0.5, 0.9, 0.5, 0.1]), np.array([0, 1, 2])))
    [1, 0, 2]
    """
    size = FIRST
    while len(places):
        own = scores[places]
        least = np.partition(own, -size)[-size] if len(own) > size else own.min()
        best = places[own >= least]
        yield from best[np.argsort(-scores[best], kind="stable")].tolist()
        places = places[own < least]
        size *= 4
