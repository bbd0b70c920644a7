"""Semantic: relevance by meaning, from any embedding model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packline.packet import ContextPacket
from packline.relevance.cosines import Cosines, standing_out
from packline.relevance.pool import Pools
from packline.relevance.spread import Spread

__all__ = ["Semantic"]


class Semantic:
    """Cosine of question and text, spread to neighbouring turns, named speakers, named dates and linked
    passages.

    The best packet gets its cosine; the others get less, by the root of what stands out above half of the
    pool's mean cosine, since what two unrelated texts have differs from model to model.

    Args:
        embed: Whatever `packline.embedding.embedding` takes: None for the model that `packline[semantic]`
            bundles, a function from a list of texts to vectors, or a model of LangChain, LlamaIndex or
            sentence-transformers.
        spread: How far relevance spreads from a packet to those that belong to it.
        remembered: Texts whose vectors are kept, so that unchanged text is embedded once.
        carried: Take the vectors that packets carry, in `metadata["embedding"]` or as the `embedding` of
            their origin (a LlamaIndex node), instead of embedding those texts. They must come from the model
            that `embed` is, which still embeds the question, and the packets without one.

    Raises:
        PacklineError: The bundled model is asked for and not installed.
    """

    def __init__(
        self,
        embed: object = None,
        *,
        spread: Spread | None = None,
        remembered: int = 50_000,
        carried: bool = False,
    ) -> None:
        self._cosines = Cosines(embed, remembered=remembered, carried=carried)
        self._spread = Spread.checked(spread)
        self._pools = Pools(carried=carried)

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> NDArray[np.float64]:
        """One score in [0, 1] for each packet."""
        pool = self._pools.of(packets)
        cosines = self._cosines.of(query, pool)
        best = float(cosines.max(initial=0.0))
        return self._spread.scores(query, standing_out(cosines), pool, best=best)
