"""A verdict shows the scores that a packet was ranked by."""

from datetime import UTC, datetime

import numpy as np

from packline import ContextPacket, Reason
from packline.verdict import Pool

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def pool(*, counts_recency: bool, score: np.ndarray, relevance: np.ndarray) -> Pool:
    packets = [ContextPacket("fact", timestamp=NOW)]
    return Pool(
        packets,
        ["wiki"],
        relevance=relevance,
        score=score,
        counts_recency=counts_recency,
        now=NOW,
        half_life_days=7,
    )


def test_recency_is_shown_where_it_counted_even_if_it_changed_nothing():
    scores = np.array([1.0])

    verdict = pool(counts_recency=True, score=scores, relevance=scores).verdict(0, Reason.SELECTED)

    assert (verdict.relevance, verdict.recency, verdict.score) == (1.0, 1.0, 1.0)


def test_recency_is_unknown_where_it_did_not_count():
    shown = pool(counts_recency=False, score=np.array([0.5]), relevance=np.array([0.5]))

    verdict = shown.verdict(0, Reason.SELECTED)

    assert (verdict.relevance, verdict.recency, verdict.score) == (0.5, None, 0.5)
