"""Reranked: relevance by a cross-encoder or any reranker, for the best of another scorer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from packline.errors import ConfigError
from packline.packet import ContextPacket
from packline.relevance.lexical import Lexical
from packline.relevance.pool import Pool

__all__ = ["Reranked", "is_cross_encoder"]

Ranking: TypeAlias = Callable[[str, list[str]], object]

_EXPECTED = (
    "a function (question, texts) -> scores, or a cross-encoder with predict(pairs) or score(pairs), "
    "as those of sentence-transformers and LangChain"
)


class Scorer(Protocol):
    """What chooses the packets that a model sees."""

    def scores(self, query: str, packets: Sequence[ContextPacket], /) -> NDArray[np.float64]:
        """One score in [0, 1] for each packet."""
        ...


class Reranked:
    """The best packets of another scorer, in the order that a model gives them.

    A cross-encoder reads question and text together, which finds more and costs too much for a whole pool. It
    decides about the order alone: the packet that it puts first gets the highest of their scores, and so on
    down. So its scores may be logits, shares or anything else, higher is better, and what `min_relevance` and
    `stop_share` mean stays the same. Where it gives the same score, the other scorer's order holds.

    Args:
        model: A function from a question and a list of texts to one score for each; or a cross-encoder with
            `predict` (sentence-transformers) or `score` (LangChain) of a list of (question, text). A text is
            the packet's, as `role: content` where it has a role.
        first: The scorer that chooses what the model sees. None: `Lexical`.
        top: How many packets it sees, from 1.

    Raises:
        ConfigError: The model is none of these, or `top` is out of its range; with `scores`, the model gave
            another number of scores, or some that are not finite.

    >>> def by_length(question, texts):
    ...     return [-len(text) for text in texts]
    >>> pool = [ContextPacket("Bears eat fish."), ContextPacket("Bears eat."), ContextPacket("No.")]
    >>> Reranked(by_length, top=2).scores("Do bears eat fish?", pool).round(2).tolist()
    [0.58, 0.96, 0.0]
    """

    def __init__(self, model: object, *, first: Scorer | None = None, top: int = 100) -> None:
        if not isinstance(top, int) or isinstance(top, bool) or top < 1:
            raise ConfigError("top", top, "a whole number from 1")
        self._rank = _ranking(model)
        self._first: Scorer = Lexical() if first is None else first
        self._top = top

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> NDArray[np.float64]:
        """One score in [0, 1] for each packet."""
        scores = np.array(self._first.scores(query, packets), dtype=np.float64)
        best = np.argsort(-scores, kind="stable")[: self._top]
        if len(best):
            texts = Pool([packets[place] for place in best]).texts
            order = np.argsort(-_checked(self._rank(query, texts), len(best)), kind="stable")
            scores[best[order]] = scores[best]
        return scores


def is_cross_encoder(model: object) -> bool:
    """Whether this is a model made to score pairs of texts."""
    return not isinstance(model, type) and any(
        callable(getattr(model, n, None)) for n in ("predict", "score")
    )


def _ranking(model: object) -> Ranking:
    if is_cross_encoder(model):
        score = getattr(model, "predict", None) or getattr(model, "score", None)
        assert score is not None
        return lambda question, texts: score([(question, text) for text in texts])
    if callable(model) and not isinstance(model, type):
        return model
    raise ConfigError("model", model, _EXPECTED)


def _checked(given: object, count: int) -> NDArray[np.float64]:
    try:
        scores = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ConfigError("scores of the reranker", given, f"{count} numbers") from None
    if scores.shape != (count,) and scores.shape != (count, 1):
        raise ConfigError("scores of the reranker", scores.shape, f"{count} numbers, one for each text")
    if not np.isfinite(scores).all():
        raise ConfigError("scores of the reranker", "NaN or infinity", "finite numbers")
    return scores.reshape(count)
