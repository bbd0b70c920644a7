"""Reranked: relevance by a cross-encoder or any reranker, for the best of another scorer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packline.errors import ConfigError
from packline.packet import ContextPacket
from packline.relevance.lexical import Lexical
from packline.relevance.pool import Pool
from packline.relevance.protocol import Relevance, is_scorer

__all__ = ["Reranked", "is_cross_encoder"]

_EXPECTED = (
    "a function (question, texts) -> scores, or a cross-encoder with predict(pairs) or score(pairs), "
    "as those of sentence-transformers and LangChain"
)


class Reranked:
    """The best packets of another scorer, in the order that a model gives them.

    A cross-encoder reads question and text together, which finds more and costs too much for a whole pool.
    The packet that it puts first gets the highest of the other scorer's scores, and so on down, whatever
    scale the model has (higher is better); or the model's own score, if that is more: as it is where all lie
    in [0, 1], else as logits, `1 / (1 + exp(-score))`. So what the other scorer found survives a model that
    sees no use in it, and what it did not find is found by a model that does. Of packets to which the model
    gives the same score, those that the other scorer has first come first; where that score is more than the
    other scorer's, they are equal.

    Args:
        model: A function from a question and a list of texts to one score for each; or a cross-encoder with
            `predict` (sentence-transformers) or `score` (LangChain) of a list of (question, text). A text is
            the packet's, as `role: content` where it has a role.
        first: The scorer that chooses what the model sees, such as `Hybrid()`. None: `Lexical()`.
        top: How many packets it sees, from 1.

    Raises:
        ConfigError: The model is none of these, `first` is no scorer, or `top` is out of its range; with
            `scores`, the model gave another number of scores, or some that are not finite.

    >>> def by_length(question, texts):
    ...     return [-len(text) for text in texts]
    >>> pool = [ContextPacket("Bears eat fish."), ContextPacket("Bears eat."), ContextPacket("No.")]
    >>> Reranked(by_length, top=2).scores("Do bears eat fish?", pool).round(2).tolist()
    [0.6, 0.99, 0.0]
    """

    def __init__(self, model: object, *, first: Relevance | None = None, top: int = 100) -> None:
        if not is_cross_encoder(model) and (not callable(model) or isinstance(model, type)):
            raise ConfigError("model", model, _EXPECTED)
        if first is not None and not is_scorer(first):
            raise ConfigError("first", first, "a scorer, such as Hybrid(), or None")
        if not isinstance(top, int) or isinstance(top, bool) or top < 1:
            raise ConfigError("top", top, "a whole number from 1")
        self._model: Any = model
        self._first = Lexical() if first is None else first
        self._top = top

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> NDArray[np.float64]:
        """One score in [0, 1] for each packet."""
        scores = np.array(self._first.scores(query, packets), dtype=np.float64)
        best = np.argsort(-scores, kind="stable")[: self._top]
        if not len(best):
            return scores
        given = _checked(self._asked(query, Pool([packets[place] for place in best]).texts), len(best))
        order = np.argsort(-given, kind="stable")
        scores[best[order]] = np.maximum(scores[best], _as_shares(given)[order])
        return scores

    def _asked(self, question: str, texts: list[str]) -> object:
        method = _method(self._model)
        return self._model(question, texts) if method is None else method([(question, t) for t in texts])


def is_cross_encoder(model: object) -> bool:
    """Whether this is a model made to score pairs of texts."""
    return not isinstance(model, type) and _method(model) is not None


def _method(model: object) -> Any:
    methods = (getattr(model, name, None) for name in ("predict", "score"))
    return next((method for method in methods if callable(method)), None)


def _as_shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    if ((scores >= 0) & (scores <= 1)).all():
        return scores
    shares: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(scores, -50, 50)))
    return shares


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
