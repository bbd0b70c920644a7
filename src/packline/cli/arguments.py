"""Arguments: the check of paths and of what is too many, before anything is read.

An empty path, such as that of a variable which was never set, is refused: Python would take it for the
current folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from packline.errors import PacklineError

__all__ = ["UsageError", "path", "refuse_more"]


class UsageError(PacklineError):
    """The command line itself is wrong."""


def refuse_more(text: str | None, more: Sequence[str], option: str) -> None:
    """Refuse arguments beyond the first, and say which slip they look like.

    Args:
        text: The first one, where that is a text; None where it is a path.
        option: What has to stand before each of many paths.
    """
    if not more:
        return
    if text is None or all(map(_is_path, more)):
        raise UsageError(f"unexpected argument {more[0]!r}: put {option} before each path")
    words = " ".join([text, *more])
    raise UsageError(f'unexpected argument {more[0]!r}: put a text of many words in quotes, as in "{words}"')


def _is_path(given: str) -> bool:
    try:
        return bool(given) and Path(given).exists()
    except OSError:
        return False


def path(*, folder: bool | None, exists: bool = True) -> Callable[[str], Path]:
    """What reads a path: of a folder, of a file, or of either (None)."""
    wanted = "a file or folder" if folder is None else "a folder" if folder else "a file"

    def read(given: str) -> Path:
        if not given:
            raise typer.BadParameter(f"expected {wanted}, got an empty text")
        found = Path(given)
        if exists and not found.exists():
            raise typer.BadParameter(f"expected {wanted}, but there is no {given!r}")
        if found.is_dir() and folder is False:
            raise typer.BadParameter(f"expected a file, got the folder {given!r}")
        if found.exists() and not found.is_dir() and folder is True:
            raise typer.BadParameter(f"expected a folder, got the file {given!r}")
        return found

    return read
