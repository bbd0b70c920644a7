"""Verdict: what became of a packet, with its scores and the reason.

Verdicts on what was dropped are sorted and made when they are looked at: there may be a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from packline.packet import ContextPacket
from packline.recency import recency

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
        recency: In [0.1, 1]; None as above, and where it did not count for the score.
        score: What it was ranked by, in [0, 1]; None as above.
        tokens: What it costs in the prompt, its head and separator included; None if it was never counted.
        limit: Tokens that it is to be shortened to, its separator included; None if it is to stand whole.
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
        score: Shape (n,), in [0, 1].
        counts_recency: Whether recency is a part of `score`.
        now: The moment from which ages are measured.
        half_life_days: Days in which recency halves.
    """

    packets: Sequence[ContextPacket]
    names: Sequence[str]
    relevance: NDArray[np.float64]
    score: NDArray[np.float64]
    counts_recency: bool
    now: datetime
    half_life_days: float

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
        packet = self.packets[row]
        new = None
        if self.counts_recency:
            new = float(recency([packet.timestamp], now=self.now, half_life_days=self.half_life_days)[0])
        scores = (float(self.relevance[row]), new, float(self.score[row]))
        return Verdict(packet, reason, self.names[row], row, *scores, tokens, limit, merged=merged)


class Dropped(Sequence[Verdict]):
    """Verdicts on the packets of a pool that were not kept, best score first.

    Args:
        pool: The pool.
        kept: Rows of the pool that are not among them.
        tokens: Row to tokens, where they were counted.
        reasons: Row to the reason, where it is not that the packet has no text, that its relevance or score
            was too low, or else that it did not fit.
        least: Relevance below which a packet was dropped.
        spare: Of each row of the pool, whether there was enough without it.
    """

    def __init__(
        self,
        pool: Pool,
        kept: Set[int],
        *,
        tokens: Mapping[int, int],
        reasons: Mapping[int, Reason],
        least: float,
        spare: NDArray[np.bool_],
    ) -> None:
        self._pool = pool
        self._kept = kept
        self._tokens = tokens
        self._reasons = reasons
        self._least = least
        self._spare = spare

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        rows = np.argsort(-self._pool.score, kind="stable")
        return rows[~np.isin(rows, list(self._kept))]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Verdict: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Verdict]: ...
    def __getitem__(self, place: int | slice) -> Verdict | Sequence[Verdict]:
        if isinstance(place, slice):
            part = copy(self)
            part._rows = self._rows[place]
            return part
        row = int(self._rows[place])
        return self._pool.verdict(row, self._reason(row), tokens=self._tokens.get(row))

    def _reason(self, row: int) -> Reason:
        if row in self._reasons:
            return self._reasons[row]
        if not self._pool.packets[row].content.strip():
            return Reason.EMPTY
        if self._pool.relevance[row] < self._least:
            return Reason.BELOW_MIN_RELEVANCE
        return Reason.ENOUGH if self._spare[row] else Reason.OVER_BUDGET

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # like a list's: equal by content

    def __repr__(self) -> str:
        return f"Dropped({len(self)})"
