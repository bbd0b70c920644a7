"""Options: all that can be named on the command line, with its help."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from packline.cli.arguments import path
from packline.errors import ConfigError

__all__ = [
    "SCORERS",
    "AsJson",
    "Cases",
    "Config",
    "Counter",
    "DefaultMaxTokens",
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
    "User",
    "Variants",
    "Version",
    "scorer",
]

SCORERS = ("lexical", "semantic", "hybrid", "jaccard")


def scorer(given: object) -> str:
    """The name of a scorer.

    Raises:
        ConfigError: It is none.
    """
    if given not in SCORERS:
        raise ConfigError("relevance", given, f"one of {', '.join(SCORERS)}")
    return str(given)


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
DefaultMaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        help="Upper limit of the finished prompt, for variants that say no max_tokens of their own.",
        min=1,
        metavar="N",
    ),
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
        parser=path(folder=None),
        metavar="DIR",
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(
        help="Keep the index of the documents here, for the next run.",
        parser=path(folder=True, exists=False),
        metavar="DIR",
    ),
]
History = Annotated[
    Path | None,
    typer.Option(
        help="The conversation so far: a JSON list of messages, or .jsonl with one a line.",
        parser=path(folder=False),
        metavar="FILE",
    ),
]
Memory = Annotated[
    Path | None,
    typer.Option(
        help="Memories: a folder of .json, .jsonl, .md and .txt files, or one, or a memory store.",
        parser=path(folder=None),
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
    typer.Option(help="Settings: ContextConfig options as TOML.", parser=path(folder=False), metavar="FILE"),
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
        help="Write the account as a page.", parser=path(folder=False, exists=False), metavar="FILE"
    ),
]

Cases = Annotated[
    Path,
    typer.Argument(
        help="Questions with marked evidence, one JSON object a line.",
        parser=path(folder=False),
        metavar="CASES",
    ),
]
Variants = Annotated[
    list[Path],
    typer.Option(
        "--variant",
        help="Settings: ContextConfig options and relevance as TOML; to be repeated.",
        parser=path(folder=False),
        metavar="FILE",
    ),
]
Sample = Annotated[
    int | None, typer.Option(help="Only so many cases, evenly spread over the file.", min=1, metavar="N")
]
