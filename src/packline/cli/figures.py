"""Figures: a comparison as a table to read or as data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from packline.cli.compare import Figures, interval
from packline.report.cells import number, one_line

__all__ = ["progress", "show", "summary"]


@contextmanager
def progress(total: int) -> Iterator[Callable[[], object]]:
    """A bar on standard error, where somebody sees it; what it gives is called once a step."""
    columns = (TextColumn("building"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("building", total=total)
        yield lambda: bar.advance(task)


@dataclass(frozen=True)
class Row:
    """One setting beside the first.

    Args:
        recall: Mean over the cases, in [0, 1].
        difference: Of its recall to that of the first; None for the first itself.
        interval: The 95 % interval of that difference.
        full: Share of cases with all of their evidence.
        tokens: Mean of the finished prompts.
        seconds: Median of the builds; None if there was none.
        overflows: Cases whose fixed parts alone exceed the budget.
    """

    name: str
    recall: float
    difference: float | None
    interval: tuple[float, float] | None
    full: float
    tokens: float
    seconds: float | None
    overflows: int

    @classmethod
    def of(cls, figures: Figures, first: Figures) -> Row:
        """The row of `figures`."""
        differences = figures.recall - first.recall
        built = figures.seconds[figures.seconds > 0]
        return cls(
            name=figures.name,
            recall=float(figures.recall.mean()),
            difference=None if figures is first else float(differences.mean()),
            interval=None if figures is first else interval(differences),
            full=figures.full,
            tokens=float(figures.tokens.mean()),
            seconds=float(np.median(built)) if len(built) else None,
            overflows=figures.overflows,
        )

    def cells(self) -> tuple[str | Text, ...]:
        """The row as it is printed, shares in percent."""
        between = ""
        if self.difference is not None and self.interval is not None:
            low, high = self.interval
            between = f"{100 * self.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
        return (
            Text(one_line(self.name)),  # a name is no markup
            f"{100 * self.recall:.1f}",
            between,
            f"{100 * self.full:.1f}",
            f"{self.tokens:,.0f}",
            number(None if self.seconds is None else 1000 * self.seconds, ",.1f"),
        )


def summary(figures: Sequence[Figures]) -> dict[str, object]:
    """The comparison as JSON data; differences are to the first variant."""
    rows = [asdict(Row.of(each, figures[0])) for each in figures]
    return {"version": 1, "cases": len(figures[0].recall), "variants": rows}


def show(figures: Sequence[Figures]) -> None:
    """Print the comparison as a table on standard output."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Variant", overflow="fold")
    for head in ("Recall %", "Difference [95 %]", "Full %", "Tokens", "ms"):
        table.add_column(head, justify="right", no_wrap=True)
    rows = [Row.of(each, figures[0]) for each in figures]
    for row in rows:
        table.add_row(*row.cells())
    console = Console(file=sys.stdout, highlight=False, markup=False)
    console.print(_counted(len(figures[0].recall), "case"), table)
    for row in rows:
        if row.overflows:
            verb = "exceeds" if row.overflows == 1 else "exceed"
            console.print(
                f"{one_line(row.name)}: {_counted(row.overflows, 'question')} alone {verb} the budget"
            )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
