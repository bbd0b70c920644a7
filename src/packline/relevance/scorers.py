"""Scorers that are kept, so that no text is embedded twice."""

from __future__ import annotations

from collections.abc import Callable

from packline.relevance.protocol import Relevance

__all__ = ["Scorers"]

_LAST = 8  # scorers, where another one is asked for from call to call


class Scorers:
    """The last scorers that `make` made: one for each thing that was given as `relevance`.

    A scorer remembers the last pools of texts and the vectors of texts: that goes with the last of those that
    hold this object, and nobody else in the process sees it. What was given is found by identity, since many
    models have no hash; a name by what it is.
    """

    def __init__(self, make: Callable[[object], Relevance]) -> None:
        self._make = make
        self._made: list[tuple[object, Relevance]] = []

    def of(self, given: object) -> Relevance:
        """The scorer for what was given."""
        for other, made in self._made:
            if other is given or (isinstance(given, str) and other == given):
                return made
        made = self._make(given)
        self._made = [*self._made, (given, made)][-_LAST:]
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return Scorers, (self._make,)  # all of it can be made anew
