"""Enough: where relevance has fallen so far that more would only cost tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["enough_at"]

LEADERS = 5


def enough_at(scores: NDArray[np.float64], *, share: float = 0.61) -> float:
    """The score below which a packet is not worth its tokens: `share` of the mean of the five best.

    Against the mean of five, one packet that stands out does not end the filling early.

    >>> round(enough_at(np.array([1.0, 0.6, 0.6, 0.5, 0.3, 0.1]), share=0.5), 2)
    0.3
    """
    best = np.sort(scores)[::-1][:LEADERS]
    return share * float(best.mean()) if len(best) else 0.0
