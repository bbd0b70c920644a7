"""Fusion: one score from shared words and from meaning."""

from __future__ import annotations

import numpy as np
import regex
from numpy.typing import NDArray

__all__ = ["fused"]

_MEANING, _MEANING_ELSEWHERE = 0.35, 0.2
_LATIN, _LETTER = regex.compile(r"\p{Latin}"), regex.compile(r"\p{L}")


def fused(query: str, words: NDArray[np.float64], cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores in [0, 1]."""
    weight = _MEANING if 2 * len(_LATIN.findall(query)) > len(_LETTER.findall(query)) else _MEANING_ELSEWHERE
    meaning = np.clip(cosines, 0, 1)
    scores: NDArray[np.float64] = (1 - weight) * words / max(words.max(), 1e-12) + weight * meaning / max(
        meaning.max(), 1e-12
    )
    return scores
