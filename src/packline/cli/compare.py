"""Compare: how much of the marked evidence each setting gets into the prompt.

All settings answer the same cases, so they are compared case by case: the interval is one of the paired
differences, which is much narrower than what the two means would say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packline.builder import ContextBuilder
from packline.cli.cases import Case
from packline.cli.inputs import Settings
from packline.context import Context
from packline.errors import BudgetError

__all__ = ["Figures", "interval", "measure", "recall"]

_RESAMPLES = 10_000


@dataclass(frozen=True)
class Figures:
    """What one setting reached, case by case.

    Args:
        name: Of the setting.
        recall: Of each case, the share of its groups of evidence with a member that stands whole in the
            prompt; shape (cases,). A case whose question alone exceeds the budget has 0.
        tokens: Of each finished prompt; shape (cases,).
        seconds: Of each build; shape (cases,).
        overflows: Cases whose fixed parts alone exceed the budget.
    """

    name: str
    recall: NDArray[np.float64]
    tokens: NDArray[np.float64]
    seconds: NDArray[np.float64]
    overflows: int

    @property
    def full(self) -> float:
        """The share of cases with every group found."""
        return float(np.mean(self.recall == 1))


def measure(
    cases: Sequence[Case],
    settings: Settings,
    *,
    token_counter: object = None,
    done: Callable[[], object] = lambda: None,
) -> Figures:
    """Build the prompt of every case with `settings`.

    Args:
        done: Called after each case.
    """
    builder = ContextBuilder(
        config=settings.config, relevance=settings.relevance, token_counter=token_counter
    )
    rows, overflows = [], 0
    for case in cases:
        start = time.perf_counter()
        try:
            context = builder.build(
                case.question, conversation_history=case.history, custom_packets=case.others, now=case.now
            )
        except BudgetError:
            overflows += 1
            row = (0.0, 0.0, 0.0)
        else:
            row = (recall(case, context), context.tokens, time.perf_counter() - start)
        rows.append(row)
        done()
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 3)
    return Figures(settings.name, table[:, 0], table[:, 1], table[:, 2], overflows)


def recall(case: Case, context: Context) -> float:
    """The share of the case's groups of evidence with a member that stands whole in the prompt.

    A text that was merged into another one counts where it stands in that word for word.
    """
    found = set()
    for verdict in context.kept:
        found.add(verdict.packet.id)
        if verdict.merged:
            text = _joined(verdict.packet.content)
            found.update(other.id for other in verdict.merged if _joined(other.content) in text)
    return sum(not group.isdisjoint(found) for group in case.groups) / len(case.groups)


def _joined(text: str) -> str:
    return " ".join(text.split())


def interval(differences: NDArray[np.float64], *, seed: int = 0) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean of paired differences; shape (cases,).

    >>> interval(np.array([0.5, 0.5, 0.5]))
    (0.5, 0.5)
    """
    random = np.random.default_rng(seed)
    count = len(differences)
    means = [float(differences[random.integers(count, size=count)].mean()) for _ in range(_RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
