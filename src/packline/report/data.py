"""Data: the account of a build as plain JSON values.

What takes time stands apart, in `stage_seconds` and `failure_seconds`, so that all else is the same for
the same input.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable, Mapping, Set
from datetime import date
from numbers import Integral, Real
from typing import TYPE_CHECKING

from packline.inert import sound
from packline.verdict import Verdict

if TYPE_CHECKING:
    from packline.context import Context

__all__ = ["VERSION", "to_dict"]

VERSION = 1  # grows when a field changes its meaning or goes; new fields leave it as it is
_DEPTH = 8
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def to_dict(context: Context) -> dict[str, object]:
    """The account as JSON data.

    `kept`, `shortened` and `dropped` hold each packet once: `id`, `kind`, `source`, `position`, `reason` (a
    word to act on) and `why` (the same to read), `relevance`, `recency`, `score` and `tokens` (null where
    unknown; recency also where it did not count), `timestamp` (ISO), `metadata`, `content`, `shortened` (what
    stands in the prompt in its place, or null) and `merged` (the ids of packets that say the same).
    `citations` leads from the numbers in the prompt to ids, where entries are numbered. Instructions are no
    packets: they stand in `instructions`.
    """
    request = context.request
    return {
        "version": VERSION,
        "question": sound(request.question),
        "instructions": [sound(text) for text in request.instructions],
        "now": request.now.isoformat(),
        "tokens": context.tokens,
        "max_tokens": context.max_tokens,
        "sections": [{"title": title, "tokens": count} for title, count in context.section_tokens.items()],
        "text": sound(context.text),
        "messages": [{"role": m.role, "content": sound(m.content)} for m in context.messages],
        "kept": _entries(context.kept),
        "shortened": _entries(context.shortened),
        "dropped": _entries(context.dropped),
        "citations": [
            {"number": number, "id": sound(packet.id)} for number, packet in context.citations.items()
        ],
        "failures": [
            {"source": sound(f.source), "error": type(f.error).__name__, "message": sound(str(f.error))}
            for f in context.failures
        ],
        "stage_seconds": {stage: float(seconds) for stage, seconds in context.stage_seconds.items()},
        "failure_seconds": [float(failure.seconds) for failure in context.failures],
    }


def _entries(verdicts: Iterable[Verdict]) -> list[dict[str, object]]:
    return [_entry(verdict) for verdict in verdicts]


def _entry(verdict: Verdict) -> dict[str, object]:
    packet = verdict.packet
    return {
        "id": sound(packet.id),
        "kind": packet.kind.value,
        "source": sound(verdict.source),
        "position": verdict.position,
        "reason": verdict.reason.name.lower(),
        "why": verdict.reason.value,
        "relevance": verdict.relevance,
        "recency": verdict.recency,
        "score": verdict.score,
        "tokens": verdict.tokens,
        "timestamp": None if packet.timestamp is None else packet.timestamp.isoformat(),
        "metadata": plain(packet.metadata),
        "content": sound(packet.content),
        "shortened": None if verdict.shortened is None else sound(verdict.shortened),
        "merged": [sound(merged.id) for merged in verdict.merged],
    }


def plain(value: object, depth: int = _DEPTH) -> object:
    """`value` as JSON holds it; what JSON has no form for is a short `repr`, without addresses.

    >>> plain({"page": 3, "tags": ("a", "b"), "score": float("nan")})
    {'page': 3, 'tags': ['a', 'b'], 'score': 'nan'}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return sound(str(value))
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, date):  # a datetime is one too
        return value.isoformat()
    if depth and isinstance(value, Mapping):
        return {sound(str(name)): plain(inner, depth - 1) for name, inner in value.items()}
    if depth and isinstance(value, (list, tuple)):
        return [plain(inner, depth - 1) for inner in value]
    if depth and isinstance(value, Set):
        return sorted((plain(inner, depth - 1) for inner in value), key=repr)
    return _ADDRESS.sub("", sound(_SHORT.repr(value)))


_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = 200
