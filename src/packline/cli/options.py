"""Options: all that can be named on the command line, with its help and the check of what was given.

An empty path, such as that of a variable which was never set, is refused: Python would take it for the
current folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from packline.errors import ConfigError, PacklineError

__all__ = [
    "SCORERS",
    "AsJson",
    "Cases",
    "Config",
    "Counter",
    "Docs",
    "Explain",
    "History",
    "Html",
    "Instructions",
    "MaxTokens",
    "Memory",
    "Now",
    "Question",
    "Sample",
    "Scorer",
    "Store",
    "UsageError",
    "User",
    "Variants",
    "Version",
    "refuse_more",
    "scorer",
]

SCORERS = ("lexical", "semantic", "hybrid", "jaccard")


class UsageError(PacklineError):
    """The command line itself is wrong."""


def scorer(given: object) -> str:
    """The name of a scorer.

    Raises:
        ConfigError: It is none.
    """
    if given not in SCORERS:
        raise ConfigError("relevance", given, f"one of {', '.join(SCORERS)}")
    return str(given)


def refuse_more(first: str | None, more: Sequence[str], option: str) -> None:
    """Refuse arguments beyond the first, and say which slip they look like.

    Args:
        option: What has to stand before each of many paths.
    """
    if not more:
        return
    if all(map(_is_path, more)):
        raise UsageError(f"unexpected argument {more[0]!r}: put {option} before each path")
    words = " ".join([first or "", *more])
    raise UsageError(f'unexpected argument {more[0]!r}: put a text of many words in quotes, as in "{words}"')


def _is_path(given: str) -> bool:
    try:
        return bool(given) and Path(given).exists()
    except OSError:
        return False


def _path(*, folder: bool | None, exists: bool = True) -> Callable[[str], Path]:
    """What reads a path: of a folder, of a file, or of either (None)."""
    wanted = "a file or folder" if folder is None else "a folder" if folder else "a file"

    def read(given: str) -> Path:
        if not given:
            raise typer.BadParameter(f"expected {wanted}, got an empty text")
        path = Path(given)
        if exists and not path.exists():
            raise typer.BadParameter(f"expected {wanted}, but there is no {given!r}")
        if path.is_dir() and folder is False:
            raise typer.BadParameter(f"expected a file, got the folder {given!r}")
        if path.exists() and not path.is_dir() and folder is True:
            raise typer.BadParameter(f"expected a folder, got the file {given!r}")
        return path

    return read


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"packline {version('packline')}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
]
MaxTokens = Annotated[
    int | None, typer.Option(help="Upper limit of the finished prompt.", min=1, metavar="N")
]
Counter = Annotated[
    str | None,
    typer.Option(help="What counts tokens: an encoding, a model, or 'approximate'.", metavar="NAME"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result and its account as JSON.")]

Question = Annotated[
    str | None,
    typer.Argument(
        help="What is to be answered, in quotes; from a pipe if it is - or left out.", metavar="QUESTION"
    ),
]
Docs = Annotated[
    list[Path] | None,
    typer.Option(
        help="Folder or file to look for evidence in (.md, .txt, .rst, .html, .pdf, .ipynb, .csv); "
        "may be repeated.",
        parser=_path(folder=None),
        metavar="DIR",
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(
        help="Keep the index of the documents here, for the next run.",
        parser=_path(folder=True, exists=False),
        metavar="DIR",
    ),
]
History = Annotated[
    Path | None,
    typer.Option(
        help="The conversation so far: a JSON list of messages, or .jsonl with one a line.",
        parser=_path(folder=False),
        metavar="FILE",
    ),
]
Memory = Annotated[
    Path | None,
    typer.Option(
        help="Memories: a folder of .json, .jsonl, .md and .txt files, or one, or a memory store.",
        parser=_path(folder=None),
        metavar="DIR",
    ),
]
User = Annotated[str, typer.Option(help="Whose memories to look into, in a memory store.", metavar="NAME")]
Instructions = Annotated[
    str | None,
    typer.Option(help="The application's instructions, or @FILE that holds them.", metavar="TEXT"),
]
Scorer = Annotated[
    str | None,
    typer.Option("--relevance", help=f"What scores the candidates: {', '.join(SCORERS)}.", metavar="NAME"),
]
Config = Annotated[
    Path | None,
    typer.Option(help="Settings: ContextConfig options as TOML.", parser=_path(folder=False), metavar="FILE"),
]
Now = Annotated[
    str | None,
    typer.Option(
        help="The moment from which ages are measured, in ISO form; or the present.", metavar="TIME"
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Tell on standard error what was kept and dropped, and why.")
]
Html = Annotated[
    Path | None,
    typer.Option(
        help="Write the account as a page.", parser=_path(folder=False, exists=False), metavar="FILE"
    ),
]

Cases = Annotated[
    Path,
    typer.Argument(
        help="Questions with marked evidence, one JSON object a line.",
        parser=_path(folder=False),
        metavar="CASES",
    ),
]
Variants = Annotated[
    list[Path],
    typer.Option(
        "--variant",
        help="Settings: ContextConfig options and relevance as TOML; to be repeated.",
        parser=_path(folder=False),
        metavar="FILE",
    ),
]
Sample = Annotated[
    int | None, typer.Option(help="Only so many cases, evenly spread over the file.", min=1, metavar="N")
]
