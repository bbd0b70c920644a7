"""Jaccard: the book's relevance, for comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from packline.packet import ContextPacket

__all__ = ["Jaccard"]


class Jaccard:
    """Shared words over all words of question and text, split at white space, lower-cased.

    Long passages get next to nothing, and scripts without spaces nothing: it is here to be compared with.

    >>> pool = [ContextPacket("bears eat fish"), ContextPacket("bears sleep")]
    >>> Jaccard().scores("eat fish", pool).round(2).tolist()
    [0.67, 0.0]
    """

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> NDArray[np.float64]:
        """One score in [0, 1] for each packet."""
        asked = set(query.lower().split())
        texts = [set(packet.content.lower().split()) for packet in packets]
        return np.array([len(asked & text) / len(asked | text) if text else 0.0 for text in texts])
