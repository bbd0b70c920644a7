"""Documents: the knowledge base of one run of the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from packline.errors import PacklineError

__all__ = ["knowledge"]

_PASSAGE = 320  # tokens, about
_FEWEST = 30


def knowledge(
    paths: Sequence[Path],
    store: Path | None,
    *,
    budget: int = 0,
    warn: Callable[[str], object] = lambda _: None,
) -> list[object]:
    """The documents under `paths`, indexed in `store` or for this run; no source if there are none.

    Args:
        budget: Tokens that they may fill; they give about twice as much to choose from.
        warn: Told of each file that could not be read, and of places without any that can.

    Raises:
        PacklineError: There is no store yet and nothing to fill it with; or Chroma or an embedding model is
            not installed.
    """
    if not paths and store is None:
        return []
    if not paths and store is not None and not (store / "chroma.sqlite3").exists():
        raise PacklineError(f"{store}: no store yet: name the documents that shall be in it with --docs")
    from packline.chroma import KnowledgeBase
    from packline.chroma.reading import suffixes

    base = KnowledgeBase(store, chunk_tokens=_PASSAGE, gather_limit=max(_FEWEST, 2 * budget // _PASSAGE))
    if paths:
        for failed in base.add(paths).failed:
            warn(str(failed))
    if not len(base):
        places = ", ".join(map(str, paths))
        warn(
            f"no documents in {places}: expected {', '.join(suffixes())}"
            if paths
            else f"no documents in {store}"
        )
    return [base]
