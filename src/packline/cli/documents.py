"""Documents: the knowledge base of one run of the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["knowledge"]


def knowledge(
    paths: Sequence[Path], store: Path | None, *, warn: Callable[[str], object] = lambda _: None
) -> list[object]:
    """The documents under `paths`, indexed in `store` or for this run; no source if there are none.

    Args:
        warn: Told of each file that could not be read, and of a folder without any that can.

    Raises:
        PacklineError: Chroma or an embedding model is not installed.
    """
    if not paths and store is None:
        return []
    from packline.chroma import KnowledgeBase

    base = KnowledgeBase(store)
    if paths:
        report = base.add(paths)
        for failed in report.failed:
            warn(str(failed))
        if not len(base):
            warn(f"no documents in {', '.join(map(str, paths))}")
    return [base]
