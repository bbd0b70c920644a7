"""Recency: how new a packet is, and whether a question asks for what is new.

A fixed weight of recency pushes aside the evidence of every question about the past, so by default recency
counts only where the question asks for the newest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import regex
from numpy.typing import NDArray

__all__ = ["asks_for_newest", "recency"]

FLOOR = 0.1
_DAY = 86_400.0

_NEWEST = regex.compile(
    r"\b(?:latest|newest|most recent(?:ly)?|recently|lately|currently|nowadays|these days|right now|"
    r"(?:the|my|your|our|their|his|her|its|['’]s) current(?! in\b| of\b| through\b)|"
    r"so far(?! away\b| from\b| as\b)|up[- ]to[- ]date|last time|"
    r"neueste[rns]?|aktuell\w*|zuletzt|derni[eè]re?s?|récent\w*|actuel\w*|"
    r"últim[oa]s?|reciente\w*|actual(?:es|mente))\b"
    r"|\b(?:el|la|los|las|del|su|mi|tu)\s+\p{L}+\s+actual\b"
    r"|(?<!离\w{1,12})最近|最新|目前|现在|現在|当前|當前|如今|近期|直近|최근|최신|현재",
    regex.IGNORECASE,
)


def recency(
    timestamps: Sequence[datetime | None], *, now: datetime, half_life_days: float
) -> NDArray[np.float64]:
    """`0.5 ** (age / half-life)`, not below 0.1; the book's `max(0.1, exp(-0.1 * days))` at 6.93 days.

    Returns:
        One value in [0.1, 1] for each timestamp. What is undated gets the floor, as if it were very old;
        what lies after `now` gets 1.

    >>> from datetime import UTC, timedelta
    >>> now = datetime(2026, 1, 15, tzinfo=UTC)
    >>> recency([now, now - timedelta(days=7), None], now=now, half_life_days=7).tolist()
    [1.0, 0.5, 0.1]
    """
    at = now.timestamp()
    ages = np.array([np.inf if t is None else at - t.timestamp() for t in timestamps], dtype=np.float64)
    return np.maximum(FLOOR, 0.5 ** (np.maximum(ages, 0.0) / (half_life_days * _DAY)))


def asks_for_newest(question: str) -> bool:
    """Whether `question` asks for the newest of something.

    >>> asks_for_newest("What is the latest release?"), asks_for_newest("When was it founded?")
    (True, False)
    """
    return _NEWEST.search(question) is not None
