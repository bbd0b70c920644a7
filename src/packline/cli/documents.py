"""Documents: the knowledge base and the memories of one run of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packline.cli.inputs import read_memories
from packline.errors import PacklineError

__all__ = ["knowledge", "memories"]


def knowledge(paths: Sequence[Path], store: Path | None) -> list[object]:
    """The documents under `paths`, indexed in `store` or for this run; no source if there are none."""
    if not paths and store is None:
        return []
    try:
        from packline.chroma import KnowledgeBase
    except ModuleNotFoundError as error:
        raise PacklineError(f'--docs needs {error.name}: pip install "packline[chroma,semantic]"') from error
    base = KnowledgeBase(store)
    for path in paths:
        base.add(path)
    return [base]


def memories(place: Path | None) -> list[object]:
    """The memories at `place`: a store of memories, or files; no source if it is None."""
    if place is None:
        return []
    if not (place / "chroma.sqlite3").exists():
        return [read_memories(place)]
    from packline.chroma import MemoryStore

    return [MemoryStore(place)]
