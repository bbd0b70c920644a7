"""Documents: the knowledge base and the memories of one run of the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from packline.cli.inputs import read_memories

__all__ = ["knowledge", "memories"]


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


def memories(place: Path | None, user: str) -> list[object]:
    """The memories at `place`: those of a user in a store, or all in files; no source if it is None.

    Raises:
        PacklineError: A file cannot be read, or Chroma is not installed.
    """
    if place is None:
        return []
    if not (place / "chroma.sqlite3").exists():
        return [read_memories(place)]
    from packline.chroma import MemoryStore

    return [MemoryStore(place, user_id=user)]
