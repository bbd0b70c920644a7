"""Rarity: what a word is worth that stands in some of the texts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["rarity"]


def rarity(containing: NDArray[np.int64], texts: int) -> NDArray[np.float64]:
    """BM25's idf, ln(1 + (N - n + 0.5) / (n + 0.5)), as a share of its largest value, 1.

    Args:
        containing: How many of the texts have each word, shape (w,).
        texts: How many texts there are.

    >>> rarity(np.array([0, 1, 50, 100]), 100).round(2).tolist()
    [1.0, 0.79, 0.13, 0.0]
    """
    idf = np.log1p((texts - containing + 0.5) / (containing + 0.5))
    share: NDArray[np.float64] = idf / np.log1p(2 * texts + 1)
    return share
