"""The protocol of scorers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from packline.packet import ContextPacket

__all__ = ["Relevance", "is_scorer"]


@runtime_checkable
class Relevance(Protocol):
    """A scorer."""

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> NDArray[np.float64]:
        """One score in [0, 1] for each of `packets`, 0 for what has nothing to do with `query`."""
        ...


def is_scorer(thing: object) -> TypeGuard[Relevance]:
    """Whether this is a scorer, made from its class."""
    return isinstance(thing, Relevance) and not isinstance(thing, type)
