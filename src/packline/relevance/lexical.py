"""Lexical: relevance by shared words, the default."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packline.packet import ContextPacket
from packline.relevance.bm25 import bm25
from packline.relevance.pool import Pools
from packline.relevance.spread import Spread

__all__ = ["Lexical"]


class Lexical:
    """BM25 in every script, spread to neighbouring turns, named speakers, named dates and linked passages.

    The best packet gets the share of the question's words, weighed by rarity, that the best text has; the
    others get less, by the root of the proportion. So where nothing in a pool has to do with the question,
    all scores are low. Of a question of several sentences or clauses it is the share of the one that is
    found best, since how to answer ("list all of them, with sources") stands in no text.

    Args:
        spread: How far relevance spreads from a packet to those that belong to it.

    >>> from packline.packet import ContextPacket
    >>> pool = [ContextPacket("Pandas reads CSV."), ContextPacket("Bears eat fish.")]
    >>> Lexical().scores("Who eats fish?", pool).round(2).tolist()
    [0.0, 0.46]
    """

    def __init__(self, *, spread: Spread | None = None) -> None:
        self._spread = Spread.checked(spread)
        self._pools = Pools()

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> NDArray[np.float64]:
        """One score in [0, 1] for each packet. The pool's words are read once, for all questions about it."""
        pool = self._pools.of(packets)
        matches = bm25(query, pool)
        return self._spread.scores(query, matches.scores, pool, best=matches.share)
