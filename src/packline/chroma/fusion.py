"""Fusion: one score in [0, 1] from shared words and from meaning, high only where the store has an answer.

    own   = (1 - w) * words + w * meaning
    score = sqrt(own * the largest own)

`words` is BM25 as a share of its best, times the share of the question's words, weighed by rarity, that the
best passage has. `meaning` is the cosine. w is 0.35, but 0.25 for questions that are not in Latin script, for
which small models are weak. No part is stretched to 1, so that a question that has nothing to do with the
store scores low as a whole; and no good passage is lost because it shares fewer words than the best.
"""

from __future__ import annotations

import numpy as np
import regex
from numpy.typing import NDArray

__all__ = ["fused"]

_MEANING, _MEANING_ELSEWHERE = 0.35, 0.25
_LATIN, _LETTER = regex.compile(r"\p{Latin}"), regex.compile(r"\p{L}")


def fused(
    query: str, words: NDArray[np.float64], cosines: NDArray[np.float64], *, background: float = 0.0
) -> NDArray[np.float64]:
    """The score of each passage.

    Args:
        words: For each passage, as above, in [0, 1].
        cosines: For each passage, in [-1, 1].
        background: The cosine of the question with passages at large. From 0.6, where it is already
            suspicious, up to 1, it counts more and more as no meaning: some models give 0.8 to whatever is
            compared.

    >>> fused("Who eats fish?", np.array([0.6, 0.1]), np.array([0.7, 0.2])).round(2).tolist()
    [0.64, 0.29]
    """
    latin = 2 * len(_LATIN.findall(query)) > len(_LETTER.findall(query))
    weight = _MEANING if latin else _MEANING_ELSEWHERE
    floor = min(max((background - 0.6) / 0.4, 0.0), 0.99)
    meaning = np.clip((cosines - floor) / (1 - floor), 0, 1)
    own = np.clip((1 - weight) * words + weight * meaning, 0, 1)
    return np.asarray(np.sqrt(own * own.max(initial=0.0)), np.float64)
