"""Select: the best of what was gathered, up to the budget.

This stage estimates: it adds up what the entries cost one by one, and leaves it to the last stage to
count the finished prompt. Texts are compared and counted only when their turn comes, best first.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from packline.config import ContextConfig
from packline.duplicates import Duplicates
from packline.errors import ConfigError
from packline.gathering import Failure, Gathered
from packline.packet import ContextPacket, Kind
from packline.prompt import MEDIA_TOKENS, Prompt, fixed_bodies
from packline.recency import asks_for_newest, recency
from packline.relevance import Relevance
from packline.request import Request
from packline.tokens import Counter
from packline.verdict import Dropped, Pool, Reason, Verdict

__all__ = ["Selection", "select"]

LEAST_SNIPPET = 32  # tokens: less than this says nothing
_MISSES = 16  # candidates that may fail to fit, beyond as many as are kept, before the filling ends


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What was chosen.

    Args:
        request: The question with all that came with it.
        max_tokens: Limit of the finished prompt.
        kept: State first, then the last turns, then the others, best first.
        dropped: Best first.
        budget: Tokens that there were for `kept`.
        failures: What went wrong while gathering.
        config: The settings that it was made with; later stages go by them where they are given none.
        counter: What counted, likewise; None: o200k_base.
    """

    request: Request
    max_tokens: int
    kept: tuple[Verdict, ...]
    dropped: Sequence[Verdict]
    budget: int
    failures: tuple[Failure, ...] = ()
    config: ContextConfig = field(default_factory=ContextConfig, repr=False)
    counter: Counter | None = field(default=None, repr=False, compare=False)


def select(gathered: Gathered, *, relevance: Relevance, counter: Counter, config: ContextConfig) -> Selection:
    """Keep the best-scoring packets that fit.

    A packet's score is `relevance_weight * relevance + recency_weight * recency`, or its relevance alone
    where recency does not apply (see `ContextConfig.recency`). The state and the last turns come first. Then
    the rest, best first: what is below `min_relevance` goes, what says the same as a kept one is merged
    into it, and what does not fit is skipped, until too many of them were too large.

    Args:
        relevance: Scores the whole pool in one call. Packets that carry a score keep it.
        counter: Asked only for packets that may be kept.

    Raises:
        ConfigError: The scorer gave the wrong number of scores, or scores outside [0, 1].
    """
    request = gathered.request
    max_tokens = config.budget(request.question)
    fixed = Prompt.of(
        config.template,
        fixed_bodies(config.template, request.question, request.instructions),
        media=len(request.attachments),
    )
    reserve = int(config.reserve_ratio * max_tokens)
    pool = score(gathered, relevance, config)
    kinds = {packet.kind for packet in (*request.state, *pool.packets)}
    needed = fixed.tokens(counter, overhead=config.message_overhead) + _headings(kinds, counter, config)
    budget = max(0, max_tokens - max(reserve, needed))
    filling = _Filling(pool, counter, config, budget)
    filling.keep_state(request.state)
    filling.keep_recent(len(request.history))
    filling.keep_best()
    return Selection(
        request=request,
        max_tokens=max_tokens,
        kept=filling.verdicts(),
        dropped=filling.dropped(),
        budget=budget,
        failures=gathered.failures,
        config=config,
        counter=counter,
    )


def _headings(kinds: set[Kind], counter: Counter, config: ContextConfig) -> int:
    """What the headings cost of the sections that `kinds` go to."""
    titles = {config.template.section_of(kind).title for kind in kinds}
    return counter.count(config.template.render(dict.fromkeys(titles, "")) + "\n\n") if titles else 0


def score(gathered: Gathered, relevance: Relevance, config: ContextConfig) -> Pool:
    """The conversation and the gathered packets with their scores."""
    request = gathered.request
    packets = (*request.history, *gathered.packets)
    names = (*("conversation" for _ in request.history), *gathered.names)
    relevances = _relevances(request.question, packets, relevance)
    timestamps = [packet.timestamp for packet in packets]
    recencies = recency(timestamps, now=request.now, half_life_days=config.half_life_days)
    scores = relevances
    if config.recency == "always" or asks_for_newest(request.question):
        scores = config.relevance_weight * relevances + config.recency_weight * recencies
    return Pool(packets, names, relevances, recencies, scores)


def _relevances(question: str, packets: Sequence[ContextPacket], relevance: Relevance) -> NDArray[np.float64]:
    given = np.array(
        [np.nan if p.relevance_score is None else p.relevance_score for p in packets], dtype=float
    )
    unknown = np.isnan(given)
    if not unknown.any():
        return given
    scores = np.asarray(relevance.scores(question, packets), dtype=np.float64)
    if scores.shape != given.shape:
        raise ConfigError("relevance", scores.shape, f"a scorer that gives {len(packets)} scores")
    bad = ~((scores >= 0) & (scores <= 1 + 1e-9))
    if bad.any():
        raise ConfigError("relevance", float(scores[bad][0]), "a scorer that gives scores in [0, 1]")
    return np.where(unknown, np.minimum(scores, 1.0), given)


@dataclass(eq=False)
class _Filling:
    """A budget while it is being filled."""

    pool: Pool
    counter: Counter
    config: ContextConfig
    budget: int
    left: int = field(init=False)
    state: list[Verdict] = field(init=False, default_factory=list)
    kept: dict[int, tuple[Reason, int, int | None]] = field(init=False, default_factory=dict)
    tokens: dict[int, int] = field(init=False, default_factory=dict)
    merged: defaultdict[int, list[ContextPacket]] = field(
        init=False, default_factory=lambda: defaultdict(list)
    )
    reasons: dict[int, Reason] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.left = self.budget
        self.separator = self._cost_of_separators()

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
            stands = limit >= min(tokens, LEAST_SNIPPET)
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
            if limit is not None and (not self.config.enable_compression or limit < LEAST_SNIPPET):
                return
            self._keep(row, Reason.RECENT_TURN, tokens, limit)
            share -= tokens
            if share <= 0:
                return

    def keep_best(self) -> None:
        """The others by score, as far as they fit."""
        enough = self.pool.relevance >= self.config.min_relevance
        order = np.argsort(-self.pool.score, kind="stable")
        said: Duplicates[int] = Duplicates()
        misses: list[int] = []
        for row in map(int, order[enough[order]]):
            if row in self.kept:
                continue
            if len(misses) > _MISSES + len(self.kept):
                break
            self._consider(row, said, misses)
        self._settle_state()
        self._widen()
        self._keep_snippet(misses)

    def _consider(self, row: int, said: Duplicates[int], misses: list[int]) -> None:
        packet = self.pool.packets[row]
        if not packet.content.strip():
            self.reasons[row] = Reason.EMPTY
            return
        merging = self.config.merge_duplicates and packet.kind is not Kind.HISTORY
        twin = said.find(packet.content) if merging else None
        if twin is not None:
            self.reasons[row] = Reason.DUPLICATE
            self.merged[twin].append(packet)
            return
        tokens = self._counted(row)
        limit = None
        if tokens > self.budget and self.config.enable_compression:  # it could never stand whole
            limit = min(self.left, int(self.config.snippet_share * self.budget))
        if (tokens if limit is None else limit) > self.left or (
            limit is not None and limit < self._least(row)
        ):
            misses.append(row)
            return
        self._keep(row, Reason.SELECTED, tokens, limit)
        if merging:
            said.add(row, packet.content)

    def _widen(self) -> None:
        """What is left goes to those that do not stand whole, best first."""
        for row, (reason, tokens, limit) in self.kept.items():
            if limit is not None and reason is Reason.SELECTED:
                more = min(tokens - limit, self.left)
                self.kept[row] = (reason, tokens, limit + more)
                self.left -= more

    def _keep_snippet(self, misses: Sequence[int]) -> None:
        """What is left goes to the best of those that did not fit, unless it would be a stub.

        To one of which a quarter can stand, where there is one.
        """
        if not self.config.enable_compression or not self.config.snippet_share:
            return
        fitting = [row for row in misses if self.left >= self._least(row)]
        large = [row for row in fitting if self.left >= self.tokens[row] // 4]
        for row in (large or fitting)[:1]:
            self._keep(row, Reason.SELECTED, self.tokens[row], self.left)

    def _least(self, row: int) -> int:
        """Tokens in which something of the packet can be said, its head included."""
        return LEAST_SNIPPET + self.counter.count(self.config.template.head(self.pool.packets[row]))

    def _keep(self, row: int, reason: Reason, tokens: int, limit: int | None) -> None:
        self.kept[row] = (reason, tokens, limit)
        self.left -= tokens if limit is None else limit

    def _counted(self, row: int) -> int:
        if row not in self.tokens:
            self.tokens[row] = self._cost(self.pool.packets[row])
        return self.tokens[row]

    def _cost(self, packet: ContextPacket) -> int:
        """Tokens of the entry with its head and separator; in a chat, of the message."""
        template = self.config.template
        tokens = packet.token_count
        if tokens is None:
            tokens = self.counter.count(template.head(packet) + packet.content)
        else:
            tokens += self.counter.count(template.head(packet))
        tokens += self.separator[packet.kind]
        if self.config.layout == "chat" and packet.kind is Kind.HISTORY:
            media = packet.metadata.get("media", 0)
            tokens += self.config.message_overhead + MEDIA_TOKENS * (media if isinstance(media, int) else 0)
        return tokens

    def _cost_of_separators(self) -> dict[Kind, int]:
        sections = {kind: self.config.template.section_of(kind) for kind in Kind}
        return {
            kind: self.counter.count(section.separator + self.config.template.number(section, 99))
            for kind, section in sections.items()
        }

    def verdicts(self) -> tuple[Verdict, ...]:
        """What is kept."""
        return (
            *(verdict for verdict in self.state if verdict.reason is Reason.STATE),
            *(
                self.pool.verdict(
                    row, reason, tokens=tokens, limit=limit, merged=tuple(self.merged.get(row, ()))
                )
                for row, (reason, tokens, limit) in self.kept.items()
            ),
        )

    def dropped(self) -> Sequence[Verdict]:
        """What is not, with the reason."""
        state = [verdict for verdict in self.state if verdict.reason is not Reason.STATE]
        return (*state, *self._unselected()) if state else self._unselected()

    def _unselected(self) -> Dropped:
        rows = np.argsort(-self.pool.score, kind="stable")
        if self.kept:
            rows = rows[~np.isin(rows, list(self.kept))]
        low = self.pool.relevance[rows] < self.config.min_relevance
        reasons = [Reason.BELOW_MIN_RELEVANCE if is_low else Reason.OVER_BUDGET for is_low in low.tolist()]
        if self.reasons:
            for place, row in enumerate(rows.tolist()):
                reasons[place] = self.reasons.get(row, reasons[place])
        return Dropped(self.pool, rows, reasons, self.tokens)
