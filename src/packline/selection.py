"""Select: the best of what was gathered, up to the budget.

This stage estimates: it adds up what the entries cost one by one, and leaves it to the last stage to
count the finished prompt. Texts are compared and counted only when their turn comes, best first.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from packline.config import ContextConfig
from packline.errors import ConfigError
from packline.filling import Filling
from packline.gathering import Failure, Gathered
from packline.packet import ContextPacket, Kind
from packline.prompt import Prompt, fixed_bodies
from packline.recency import asks_for_newest, recency
from packline.relevance import Relevance
from packline.request import Request
from packline.tokens import Counter
from packline.verdict import Pool, Verdict

__all__ = ["Selection", "select"]

_KIND = attrgetter("kind")
_SCORE = attrgetter("relevance_score")


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

    A packet's score is its relevance alone where recency does not apply (see `ContextConfig.recency`). Where
    the question asks for the newest it is `relevance * (relevance_weight + recency_weight * recency)`: asked
    for is the newest of what is relevant, not the newest. With `recency="always"` it is the book's
    `relevance_weight * relevance + recency_weight * recency`.

    The state and the last turns come first. Then the rest, best first: what is below `min_relevance` goes,
    what says the same as a kept one is merged into it, and what does not fit is skipped, until too many of
    them were too large.

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
    kinds = {*map(_KIND, request.state), *map(_KIND, pool.packets)}
    needed = fixed.tokens(counter, overhead=config.message_overhead) + _headings(kinds, counter, config)
    # Without a reserve less than nothing may be needed: the last entry goes without its separator.
    budget = max(0, max_tokens - (max(reserve, needed) if reserve else needed))
    filling = Filling(pool, counter, config, budget)
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
    """What the headings cost of the sections that `kinds` go to.

    Every entry is counted with a separator, but the last one of each section needs none.
    """
    sections = {config.template.section_of(kind) for kind in kinds}
    written = config.template.render({section.title: "" for section in sections})
    spared = sum(counter.count(section.separator) for section in sections)
    return counter.count(written + "\n\n" if written else "") - spared


def score(gathered: Gathered, relevance: Relevance, config: ContextConfig) -> Pool:
    """The conversation and the gathered packets with their scores."""
    request = gathered.request
    packets = (*request.history, *gathered.packets)
    names = ("conversation",) * len(request.history) + tuple(gathered.names)
    relevances = _relevances(request.question, packets, relevance)
    now, half_life = request.now, config.half_life_days
    counts_recency = config.recency == "always" or asks_for_newest(request.question)
    scores = relevances
    if counts_recency:
        recencies = recency([packet.timestamp for packet in packets], now=now, half_life_days=half_life)
        counted = recencies if config.recency == "always" else relevances * recencies
        scores = config.relevance_weight * relevances + config.recency_weight * counted
    return Pool(
        packets,
        names,
        relevance=relevances,
        score=scores,
        counts_recency=counts_recency,
        now=now,
        half_life_days=half_life,
    )


def _relevances(question: str, packets: Sequence[ContextPacket], relevance: Relevance) -> NDArray[np.float64]:
    given = np.full(len(packets), np.nan)
    if set(map(_SCORE, packets)) - {None}:
        given = np.array([np.nan if score is None else score for score in map(_SCORE, packets)], dtype=float)
    unknown = np.isnan(given)
    if not unknown.any():
        return given
    returned = relevance.scores(question, packets)
    try:
        scores = np.asarray(returned, dtype=np.float64)
    except (TypeError, ValueError):
        if inspect.iscoroutine(returned):
            returned.close()
        expected = f"a scorer that gives an array of {len(packets)} scores, without await"
        raise ConfigError("relevance", returned, expected) from None
    if scores.shape != given.shape:
        raise ConfigError("relevance", scores.shape, f"a scorer that gives {len(packets)} scores")
    bad = ~((scores >= 0) & (scores <= 1 + 1e-9))
    if bad.any():
        raise ConfigError("relevance", float(scores[bad][0]), "a scorer that gives scores in [0, 1]")
    return np.where(unknown, np.minimum(scores, 1.0), given)
