"""Scoring: the scorers of one postprocessor or memory block, kept with it and with its copies.

A scorer remembers the last pools of texts and the vectors of texts: that must go with the last of those that
it scores for, and nobody else in the process may see it.
"""

from __future__ import annotations

from llama_index.core.base.embeddings.base import BaseEmbedding

from packline.relevance import Relevance, Semantic, resolve_relevance

__all__ = ["Scorers", "scorer"]

_LAST = 8  # scorers, where another `relevance` is set


class Scorers:
    """The last scorers: one for each thing that was given as `relevance`, so that no text is embedded twice.

    Found by identity, since models have no hash; a name by what it is.
    """

    def __init__(self) -> None:
        self._made: list[tuple[object, Relevance]] = []

    def of(self, given: object) -> Relevance:
        for other, made in self._made:
            if other is given or (isinstance(given, str) and other == given):
                return made
        made = scorer(given)
        self._made = [*self._made, (given, made)][-_LAST:]
        return made

    def __reduce__(self) -> tuple[type[Scorers], tuple[()]]:
        return Scorers, ()  # all of it can be made anew


def scorer(given: object) -> Relevance:
    """A scorer for whatever `packline.ContextBuilder` takes, or for an embedding model."""
    return Semantic(given) if isinstance(given, BaseEmbedding) else resolve_relevance(given)
