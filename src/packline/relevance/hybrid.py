"""Hybrid: relevance by shared words and by meaning together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import regex
from numpy.typing import NDArray

from packline.errors import ConfigError
from packline.packet import ContextPacket
from packline.relevance.bm25 import bm25
from packline.relevance.cosines import Cosines, standing_out
from packline.relevance.pool import Pools
from packline.relevance.spread import Spread

__all__ = ["Hybrid"]

_LATIN, _LETTER = regex.compile(r"\p{Latin}"), regex.compile(r"\p{L}")

WEIGHT, IN_OTHER_SCRIPTS = 0.35, 0.05
"""Of meaning; the second for the bundled model and other scripts than Latin, of which it knows few words."""


class Hybrid:
    """`(1 - weight) * words / best words + weight * meaning / best meaning`, then spread like both.

    Words are the BM25 of `Lexical`, meaning is what `Semantic` sees; see there for `embed`, `spread`,
    `remembered`, `carried`. The best packet gets the same mean of the share of the question's words that the
    best text has, and of the best cosine.

    Args:
        weight: Of meaning, in [0, 1]; None: 0.35, but 0.05 for the bundled model where less than half of the
            question's letters are Latin.

    Raises:
        ConfigError: The weight is out of its range.
        PacklineError: The bundled model is asked for and not installed.
    """

    def __init__(
        self,
        embed: object = None,
        *,
        weight: float | None = None,
        spread: Spread | None = None,
        remembered: int = 50_000,
        carried: bool = False,
    ) -> None:
        number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
        if weight is not None and not (number and 0 <= weight <= 1):
            raise ConfigError("weight", weight, "a number in [0, 1], or None")
        self._cosines = Cosines(embed, remembered=remembered, carried=carried)
        self._bundled = embed is None
        self._weight = weight
        self._spread = Spread.checked(spread)
        self._pools = Pools(carried=carried)

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> NDArray[np.float64]:
        """One score in [0, 1] for each packet."""
        pool = self._pools.of(packets)
        matches, cosines = bm25(query, pool), self._cosines.of(query, pool)
        weight = self._weight_for(query)
        raw = (1 - weight) * _by_best(matches.scores) + weight * _by_best(standing_out(cosines))
        best = (1 - weight) * matches.share + weight * float(cosines.max(initial=0.0))
        return self._spread.scores(query, raw, pool, best=best)

    def _weight_for(self, question: str) -> float:
        if self._weight is not None:
            return self._weight
        latin = 2 * len(_LATIN.findall(question)) >= len(_LETTER.findall(question))
        return WEIGHT if latin or not self._bundled else IN_OTHER_SCRIPTS


def _by_best(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else scores
