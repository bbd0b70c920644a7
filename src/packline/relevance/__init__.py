"""Relevance: how much each packet of a pool has to do with a question.

A scorer sees the whole pool in one call, since what a word is worth depends on the other texts, and a turn
on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from packline.errors import ConfigError
from packline.packet import ContextPacket
from packline.relevance.hybrid import Hybrid
from packline.relevance.jaccard import Jaccard
from packline.relevance.lexical import Lexical
from packline.relevance.protocol import Relevance, is_scorer
from packline.relevance.reranked import Reranked, is_cross_encoder
from packline.relevance.semantic import Semantic
from packline.relevance.spread import Spread

__all__ = ["Hybrid", "Jaccard", "Lexical", "Relevance", "Reranked", "Semantic", "Spread", "resolve_relevance"]


_NAMED: dict[str, Callable[[], Relevance]] = {
    "lexical": Lexical,
    "semantic": Semantic,
    "hybrid": Hybrid,
    "jaccard": Jaccard,
}


class _Plain:
    """A function as a scorer."""

    def __init__(self, function: Callable[[str, Sequence[ContextPacket]], NDArray[np.float64]]) -> None:
        self.scores = function


def resolve_relevance(spec: object) -> Relevance:
    """The scorer that `spec` is or names.

    Args:
        spec: "lexical", "semantic", "hybrid" or "jaccard"; an object with `scores(query, packets)`; a
            function of the same; or a cross-encoder, which is `Reranked`.

    Raises:
        ConfigError: It is none of these.
    """
    if isinstance(spec, str) and spec in _NAMED:
        return _NAMED[spec]()
    if is_scorer(spec):
        return spec
    if is_cross_encoder(spec):
        return Reranked(spec)
    if callable(spec) and not isinstance(spec, type):
        return _Plain(spec)
    names = ", ".join(map(repr, _NAMED))
    raise ConfigError(
        "relevance", spec, f"one of {names}, a scorer with scores(query, packets), or a cross-encoder"
    )
