"""Verdict: what became of a packet, with its scores and the reason.

Verdicts on what was dropped are made when they are looked at: there may be a hundred thousand of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import overload

import numpy as np
from numpy.typing import NDArray

from packline.packet import ContextPacket

__all__ = ["Dropped", "Pool", "Reason", "Verdict"]


class Reason(StrEnum):
    """Why a packet was kept, shortened or dropped."""

    SELECTED = "selected by score"
    RECENT_TURN = "one of the last turns"
    STATE = "state of the task"
    SHORTENED = "too long to stand whole"
    SUMMARIZED = "summarized"
    LONG_QUESTION = "the question alone is too long"
    BELOW_MIN_RELEVANCE = "relevance below the minimum"
    ENOUGH = "far less relevant than the best"
    DUPLICATE = "says the same as a kept one"
    OVER_BUDGET = "does not fit in the budget"
    EMPTY = "has no text"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One packet and what became of it.

    Args:
        packet: The packet, as it was given.
        reason: Why it was kept or dropped.
        source: Where it came from: "conversation", "state", "custom_packets" or the name of a source.
        position: Its place in the pool: the conversation first, then packets as gathered.
        relevance: In [0, 1]; None for the state, which is not scored.
        recency: In [0.1, 1]; None as above.
        score: What it was ranked by, in [0, 1]; None as above.
        tokens: What it costs in the prompt, its head and separator included; None if it was never counted.
        limit: Tokens that it is to be shortened to; None if it is to stand whole.
        shortened: The text that stands in the prompt in place of the packet's own; None if that stands whole.
        merged: Packets that say the same and were merged into this one.
    """

    packet: ContextPacket
    reason: Reason
    source: str
    position: int
    relevance: float | None = None
    recency: float | None = None
    score: float | None = None
    tokens: int | None = None
    limit: int | None = None
    shortened: str | None = None
    merged: tuple[ContextPacket, ...] = ()

    @property
    def text(self) -> str:
        """The packet's text as it stands in the prompt."""
        return self.packet.content if self.shortened is None else self.shortened


@dataclass(frozen=True, eq=False)
class Pool:
    """All that is scored, with its scores: one row a packet.

    Args:
        packets: The conversation, then what was gathered.
        names: Where each came from.
        relevance: Shape (n,), in [0, 1].
        recency: Shape (n,), in [0.1, 1].
        score: Shape (n,), in [0, 1].
    """

    packets: Sequence[ContextPacket]
    names: Sequence[str]
    relevance: NDArray[np.float64]
    recency: NDArray[np.float64]
    score: NDArray[np.float64]

    def verdict(
        self,
        row: int,
        reason: Reason,
        *,
        tokens: int | None = None,
        limit: int | None = None,
        merged: tuple[ContextPacket, ...] = (),
    ) -> Verdict:
        """The verdict on the packet in `row`."""
        scores = (float(self.relevance[row]), float(self.recency[row]), float(self.score[row]))
        return Verdict(self.packets[row], reason, self.names[row], row, *scores, tokens, limit, merged=merged)


class Dropped(Sequence[Verdict]):
    """Verdicts on the packets of a pool that were not kept, best score first.

    Args:
        pool: The pool.
        rows: Rows of the pool, shape (n,).
        reasons: A reason for each of `rows`.
        tokens: Row to tokens, where they were counted.
    """

    def __init__(
        self, pool: Pool, rows: NDArray[np.intp], reasons: Sequence[Reason], tokens: dict[int, int]
    ) -> None:
        self._pool = pool
        self._rows = rows
        self._reasons = reasons
        self._tokens = tokens

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Verdict: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Verdict]: ...
    def __getitem__(self, place: int | slice) -> Verdict | Sequence[Verdict]:
        if isinstance(place, slice):
            return Dropped(self._pool, self._rows[place], self._reasons[place], self._tokens)
        row = int(self._rows[place])
        return self._pool.verdict(row, self._reasons[place], tokens=self._tokens.get(row))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # like a list's: equal by content

    def __repr__(self) -> str:
        return f"Dropped({len(self)})"
