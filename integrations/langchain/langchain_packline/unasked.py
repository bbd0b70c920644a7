"""Unasked: scores that a vector store has given of itself, and that count until a scorer is chosen.

Whoever gives a `relevance` wants it used, and whoever says what the scores of a store mean wants those. Which
it is shows only where candidates are selected; so what was gathered says whose scores nobody asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from packline import Gathered, Source

__all__ = ["Unasked", "noted", "rescored"]


@dataclass(frozen=True)
class Unasked(Source):
    """A source of which nobody has said what its scores mean."""

    @classmethod
    def of(cls, source: Source) -> Unasked:
        return cls(**{field.name: getattr(source, field.name) for field in dataclasses.fields(source)})


@dataclass(frozen=True, kw_only=True)
class _Noted(Gathered):
    """Candidates, and the names of the sources whose scores nobody asked for."""

    unasked: frozenset[str]


def noted(gathered: Gathered, sources: Sequence[Source]) -> Gathered:
    """What was gathered, which from now on says whose scores nobody asked for."""
    asked = {source.name for source in sources if not isinstance(source, Unasked)}
    names = frozenset(source.name for source in sources if isinstance(source, Unasked)) - asked
    if not names:
        return gathered
    given = {field.name: getattr(gathered, field.name) for field in dataclasses.fields(gathered)}
    return _Noted(**given, unasked=names)


def rescored(gathered: Gathered) -> Gathered:
    """What was gathered, without the scores that nobody asked for."""
    if not isinstance(gathered, _Noted):
        return gathered
    packets = tuple(
        dataclasses.replace(packet, relevance_score=None) if name in gathered.unasked else packet
        for packet, name in zip(gathered.packets, gathered.names, strict=True)
    )
    return dataclasses.replace(gathered, packets=packets)
