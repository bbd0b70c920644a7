"""A progress bar on standard error, for what takes long."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

__all__ = ["tracked"]

T = TypeVar("T")
_LONG = 2.0  # seconds


def tracked(items: Sequence[T], title: str, progress: bool | None) -> Iterator[T]:
    """The items, one after the other, with a bar that shows how many are done.

    Args:
        progress: True: at once. None: from when it has taken two seconds, if standard error is a terminal or
            this is a notebook. False: never.
    """
    if progress is False or not items:
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=progress is None)
    wanted = bool(progress) or console.is_terminal or console.is_jupyter
    start, shown = time.monotonic(), False
    task = bar.add_task(title, total=len(items))
    try:
        for item in items:
            if wanted and not shown and (progress or time.monotonic() - start > _LONG):
                bar.start()
                shown = True
            yield item
            bar.advance(task)
    finally:
        if shown:
            bar.stop()
