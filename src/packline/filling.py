"""Filling: a budget while it is being filled, best first.

Texts are compared and counted only when their turn comes. Costs are added up entry by entry, an estimate
that the last stage checks against the finished prompt.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from packline.config import ContextConfig
from packline.duplicates import Duplicates
from packline.packet import ContextPacket, Kind
from packline.prompt import MEDIA_TOKENS, message_count
from packline.ranking import best_first
from packline.relevance.enough import beyond_enough
from packline.tokens import Counter
from packline.verdict import Dropped, Pool, Reason, Verdict

__all__ = ["LEAST_SNIPPET", "Filling"]

LEAST_SNIPPET = 32  # tokens: less than this says nothing
_MOSTLY = 0.5  # of a text: one that repeats less of others has more to say of its own
_MISSES = 16  # candidates that may fail to fit, beyond as many as are kept, before the filling ends


class _Kept(NamedTuple):
    """Why a packet is kept, what it costs whole, and to how many tokens it is to be shortened (None: not)."""

    reason: Reason
    tokens: int
    limit: int | None

    @property
    def taken(self) -> int:
        return self.tokens if self.limit is None else self.limit


@dataclass(eq=False)
class Filling:
    """The state, the last turns and the best of the others, as far as `budget` tokens go."""

    pool: Pool
    counter: Counter
    config: ContextConfig
    budget: int
    left: int = field(init=False)
    state: list[Verdict] = field(init=False, default_factory=list)
    kept: dict[int, _Kept] = field(init=False, default_factory=dict)
    tokens: dict[int, int] = field(init=False, default_factory=dict)
    merged: defaultdict[int, list[ContextPacket]] = field(
        init=False, default_factory=lambda: defaultdict(list)
    )
    reasons: dict[int, Reason] = field(init=False, default_factory=dict)
    said: Duplicates[int] = field(init=False, default_factory=Duplicates)  # what stands whole
    snippets: dict[str, int] = field(init=False, default_factory=dict)  # what will be shortened: its text
    misses: list[int] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.left = self.budget
        self.spare = np.zeros(len(self.pool.packets), bool)

    def keep_state(self, packets: Sequence[ContextPacket]) -> None:
        """The state stands first, as far as the share of its section goes."""
        share = self.config.template.section_of(Kind.STATE).share if self.config.enable_compression else 1
        room = int(share * self.budget)
        for place, packet in enumerate(packets):
            tokens = self._cost(packet)
            limit = min(tokens, room) if self.config.enable_compression or tokens <= room else 0
            self.state.append(Verdict(packet, Reason.STATE, "state", place, tokens=tokens, limit=limit))
            room -= limit
            self.left -= limit

    def _settle_state(self) -> None:
        """What is left goes to the state first; what would still be a stub is dropped."""
        for place, verdict in enumerate(self.state):
            tokens, limit = verdict.tokens or 0, verdict.limit or 0
            if self.config.enable_compression or tokens - limit <= self.left:
                more = min(tokens - limit, self.left)
                limit, self.left = limit + more, self.left - more
            stands = limit >= min(tokens, self._least(verdict.packet))
            if not stands:
                self.left += limit
            self.state[place] = dataclasses.replace(
                verdict,
                reason=Reason.STATE if stands else Reason.OVER_BUDGET,
                limit=limit if stands and limit < tokens else None,
            )

    def keep_recent(self, turns: int) -> None:
        """The last turns, newest first, as far as their share goes; the one that exceeds it is shortened."""
        share = min(int(self.config.recent_share * self.budget), self.left)
        for row in range(turns - 1, max(turns - 1 - self.config.recent_turns, -1), -1):
            if not self.pool.packets[row].content.strip():
                continue
            tokens = self._counted(row)
            limit = None if tokens <= share else share
            if limit is not None and (
                not self.config.enable_compression or limit < self._least(self.pool.packets[row])
            ):
                return
            self._keep(row, Reason.RECENT_TURN, tokens, limit)
            share -= tokens
            if share <= 0:
                return

    def keep_best(self) -> None:
        """The others by score, as far as they fit."""
        enough = self.pool.relevance >= self.config.min_relevance
        if self.config.stop_share:
            lengths = np.array([len(packet.content) for packet in self.pool.packets])
            self.spare = beyond_enough(self.pool.score, lengths, share=self.config.stop_share)
            enough &= ~self.spare
        for row in best_first(self.pool.score, np.flatnonzero(enough)):
            if row in self.kept:
                continue
            if len(self.misses) > _MISSES + len(self.kept):
                break
            self._consider(row)
        self._settle_state()
        self._widen()
        self._keep_snippet()

    def _consider(self, row: int) -> None:
        packet = self.pool.packets[row]
        if not packet.content.strip():
            return
        merging = self.config.merge_duplicates and packet.kind is not Kind.HISTORY
        twin = self._twin(row) if merging else None
        if twin is not None:
            self._merge(packet, row, into=twin)
            return
        tokens = self._counted(row)
        limit = None
        if tokens > self.budget and self.config.enable_compression:  # it could never stand whole
            limit = min(self.left, self._snippet(row))
        covered = self._covered(row) if merging and tokens <= self.budget else ()
        room = self.left + sum(self.kept[other].taken for other in covered)
        if (tokens if limit is None else limit) > room or (limit is not None and limit < self._least(packet)):
            self.misses.append(row)
            return
        for other in covered:  # it says all that these say, and more
            self.left += self.kept.pop(other).taken
            self.said.discard(other)
            self._merge(self.pool.packets[other], other, into=row)
        self._keep(row, Reason.SELECTED, tokens, limit)
        if merging and limit is None:
            self.said.add(row, packet.content)
        elif merging:
            self.snippets[packet.content] = row

    def _twin(self, row: int) -> int | None:
        """The kept packet that says all that this one says, and will still do so where it is shortened.

        A text too long for the whole budget is compared with equal ones only: reading it takes much longer
        than counting it, and hardly anything that fits can say all of it.
        """
        content = self.pool.packets[row].content
        if content in self.snippets:
            return self.snippets[content]
        if len(content) > self.budget and self._counted(row) > self.budget:
            return None
        return self.said.find(content)

    def _covered(self, row: int) -> tuple[int, ...]:
        """The kept packets that this one takes the place of: it says all that they say, and not much else.

        Otherwise whoever copies a text and adds to it would drive the original out.
        """
        covered = self.said.covered(self.pool.packets[row].content)
        repeated = sum(self.tokens[other] for other in covered)
        return covered if repeated >= _MOSTLY * self._counted(row) else ()

    def _merge(self, packet: ContextPacket, row: int, *, into: int) -> None:
        self.reasons[row] = Reason.DUPLICATE
        self.merged[into] += [packet, *self.merged.pop(row, [])]

    def _widen(self) -> None:
        """What is left goes to those that do not stand whole, best first."""
        for row, kept in self.kept.items():
            if kept.limit is not None and kept.reason is Reason.SELECTED:
                more = min(kept.tokens - kept.limit, self.left)
                self.kept[row] = kept._replace(limit=kept.limit + more)
                self.left -= more

    def _keep_snippet(self) -> None:
        """What is left goes to the best of those that did not fit, unless it would be a stub.

        To one of which a quarter can stand, where there is one.
        """
        if not self.config.enable_compression or not self.config.snippet_share:
            return
        fitting = [row for row in self.misses if self.left >= self._least(self.pool.packets[row])]
        large = [row for row in fitting if self.left >= self.tokens[row] // 4]
        for row in (large or fitting)[:1]:
            self._keep(row, Reason.SELECTED, self.tokens[row], self.left)

    def _snippet(self, row: int) -> int:
        """Tokens that a packet too long for the budget may take: of a small budget, what says something."""
        share = self.config.snippet_share
        return max(int(share * self.budget), self._least(self.pool.packets[row])) if share else 0

    def _least(self, packet: ContextPacket) -> int:
        """Tokens in which something of the packet can be said, its head and separator included."""
        template = self.config.template
        around = template.head(packet), template.section_of(packet.kind).separator
        return LEAST_SNIPPET + sum(map(self.counter.count, around))

    def _keep(self, row: int, reason: Reason, tokens: int, limit: int | None) -> None:
        self.kept[row] = _Kept(reason, tokens, limit)
        self.left -= self.kept[row].taken

    def _counted(self, row: int) -> int:
        if row not in self.tokens:
            self.tokens[row] = self._cost(self.pool.packets[row])
        return self.tokens[row]

    def _cost(self, packet: ContextPacket) -> int:
        """Tokens of the entry with its head and separator; in a chat, of the message, where that is more."""
        template, separator = self.config.template, self.config.template.section_of(packet.kind).separator
        if packet.token_count is None and len(packet.content) <= self.budget:
            # Together, since a line break often costs nothing behind a full stop.
            tokens = self.counter.count(template.head(packet) + packet.content + separator)
        else:
            given = packet.token_count
            tokens = self.counter.count(packet.content) if given is None else given  # as shortening does
            tokens += self.counter.count(template.head(packet) + separator)
        if self.config.layout == "chat" and packet.kind is Kind.HISTORY:
            media = packet.metadata.get("media", 0)
            apart = self.config.message_overhead * message_count(packet.origin)
            apart += MEDIA_TOKENS * (media if isinstance(media, int) else 0)
            # A message has neither head nor separator, but the prompt must fit as one text, too.
            tokens += max(0, apart - self.counter.count(template.head(packet) + separator))
        return tokens

    def verdicts(self) -> tuple[Verdict, ...]:
        """What is kept."""
        return (
            *(verdict for verdict in self.state if verdict.reason is Reason.STATE),
            *(
                self.pool.verdict(
                    row,
                    kept.reason,
                    tokens=kept.tokens,
                    limit=kept.limit,
                    merged=tuple(self.merged.get(row, ())),
                )
                for row, kept in self.kept.items()
            ),
        )

    def dropped(self) -> Sequence[Verdict]:
        """What is not, with the reason."""
        state = [verdict for verdict in self.state if verdict.reason is not Reason.STATE]
        return (*state, *self._unselected()) if state else self._unselected()

    def _unselected(self) -> Dropped:
        return Dropped(
            self.pool,
            frozenset(self.kept),
            tokens=self.tokens,
            reasons=self.reasons,
            least=self.config.min_relevance,
            spare=self.spare,
        )
