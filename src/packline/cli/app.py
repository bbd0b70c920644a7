"""App: the two commands, their options, and what they print where.

What a command is asked for goes to standard output and nothing else does, so that it can be piped on.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from packline.builder import ContextBuilder
from packline.cli import inputs, streams
from packline.cli.cases import FORMAT, read_cases, spread
from packline.cli.compare import measure
from packline.cli.documents import knowledge
from packline.cli.figures import progress, show, summary
from packline.cli.memories import memories
from packline.errors import ConfigError, PacklineError
from packline.report import explain as explained
from packline.report.cells import one_line
from packline.report.table import WIDTH

__all__ = ["run"]

# Typer may carry a click of its own: its errors are known by what they inherit from.
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]
_FAILED, _USAGE, _INTERRUPTED = 1, 2, 130

app = typer.Typer(
    help="Pack the right context into every prompt, under a token budget.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Relevance(StrEnum):
    """The scorers that can be named."""

    LEXICAL = "lexical"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"
    JACCARD = "jaccard"


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (None: those of the process) and give its exit code.

    0: done; 1: it could not be done; 2: the command line itself is wrong; 130: interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a text in any script must not end the command
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(args=arguments, prog_name="packline", standalone_mode=False)
    except _ClickError as error:
        return _complaint(error.format_message(), error.exit_code)  # type: ignore[attr-defined]
    except ConfigError as error:
        return _complaint(str(error), _USAGE)
    except PacklineError as error:
        return _complaint(str(error), _FAILED)
    except OSError as error:
        return _complaint(f"{error.filename or 'packline'}: {error.strerror or error}", _FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return _complaint("interrupted", _INTERRUPTED)
    return code if isinstance(code, int) else 0


def _complaint(message: str, code: int) -> int:
    hint = " (see --help)" if code == _USAGE else ""
    typer.echo(f"packline: {one_line(message, 2_000)}{hint}", err=True)
    return code


@app.callback(invoke_without_command=True)
def _packline(command: typer.Context) -> None:
    if command.invoked_subcommand is None:
        typer.echo(command.get_help())
        raise typer.Exit(_USAGE)


_MaxTokens = Annotated[
    int | None, typer.Option(help="Upper limit of the finished prompt.", min=1, metavar="N")
]
_Counter = Annotated[
    str | None,
    typer.Option(help="What counts tokens: an encoding, a model, or 'approximate'.", metavar="NAME"),
]


@app.command(
    help="Build the prompt for a question from documents, a conversation and memories, and print it.",
    epilog='Example: packline build "How do I clean the gauge?" --docs manual/ --explain',
)
def build(
    question: Annotated[
        str | None,
        typer.Argument(
            help="What is to be answered; from a pipe if it is - or left out.", metavar="QUESTION"
        ),
    ] = None,
    docs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder or file to look for evidence in; may be repeated.", exists=True, metavar="DIR"
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Keep the index of the documents here, for the next run.", file_okay=False, metavar="DIR"
        ),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            help="The conversation so far: a JSON list of messages.",
            exists=True,
            dir_okay=False,
            metavar="FILE",
        ),
    ] = None,
    memory: Annotated[
        Path | None,
        typer.Option(
            help="Memories: .json, .jsonl, .md and .txt files, or a memory store.", exists=True, metavar="DIR"
        ),
    ] = None,
    user: Annotated[
        str, typer.Option(help="Whose memories to look into, in a memory store.", metavar="NAME")
    ] = "default",
    instructions: Annotated[
        str | None,
        typer.Option(help="The application's instructions, or @FILE that holds them.", metavar="TEXT"),
    ] = None,
    max_tokens: _MaxTokens = None,
    relevance: Annotated[
        Relevance | None,
        typer.Option(help=f"What scores the candidates: {', '.join(Relevance)}.", metavar="NAME"),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Settings: ContextConfig options as TOML.", exists=True, dir_okay=False, metavar="FILE"
        ),
    ] = None,
    counter: _Counter = None,
    now: Annotated[
        str | None,
        typer.Option(
            help="The moment from which ages are measured, in ISO form; or the present.", metavar="TIME"
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Tell on standard error what was kept and dropped, and why.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the prompt and its account as JSON.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write the account as a page.", dir_okay=False, metavar="FILE")
    ] = None,
) -> None:
    """Build one prompt."""
    settings = inputs.read_settings(config, max_tokens=max_tokens)
    builder = ContextBuilder(
        config=settings.config,
        sources=[
            *knowledge(docs or (), store, warn=streams.warn),
            *memories(memory, user, warn=streams.warn),
        ],
        relevance=settings.relevance if relevance is None else relevance.value,
        token_counter=counter,
    )
    context = builder.build(
        streams.question(question),
        conversation_history=None if history is None else inputs.read_history(history),
        system_instructions=inputs.read_instructions(instructions),
        now=streams.moment_of(now),
    )
    if html is not None:
        html.write_text(streams.page(context), "utf-8")
    streams.write(json.dumps(context.to_dict(), ensure_ascii=False, indent=2) if as_json else context.text)
    for failure in context.failures:
        streams.warn(str(failure))
    if explain:
        columns = shutil.get_terminal_size().columns if sys.stderr.isatty() else WIDTH
        typer.echo(explained(context, columns=columns), err=True)


@app.command(
    help="Compare settings by how much of the evidence for each question they get into the prompt, whole. "
    "Recall is the share of a case's evidence that stands whole in its prompt, Full the share of cases with "
    "all of it. The difference to the first variant comes with its 95 % interval (paired bootstrap).\n\n"
    f"{FORMAT}\n\n"
    'A variant is a TOML file such as: relevance = "hybrid"',
    short_help="Compare settings by how much of the evidence they get into the prompt.",
    epilog="Example: packline compare cases.jsonl --variant a.toml --variant b.toml",
)
def compare(
    cases: Annotated[
        Path,
        typer.Argument(
            help="Questions with marked evidence, one JSON object a line.",
            exists=True,
            dir_okay=False,
            metavar="CASES",
        ),
    ],
    variant: Annotated[
        list[Path],
        typer.Option(
            help="Settings: ContextConfig options and relevance as TOML; to be repeated.",
            exists=True,
            dir_okay=False,
            metavar="FILE",
        ),
    ],
    max_tokens: _MaxTokens = None,
    sample: Annotated[
        int | None, typer.Option(help="Only so many cases, evenly spread over the file.", min=1, metavar="N")
    ] = None,
    counter: _Counter = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compare settings on the same cases."""
    chosen = spread(read_cases(cases), sample)
    settings = [inputs.read_settings(path, max_tokens=max_tokens) for path in variant]
    with progress(len(chosen) * len(settings)) as done:
        figures = [measure(chosen, each, token_counter=counter, done=done) for each in settings]
    if as_json:
        streams.write(json.dumps(summary(figures), ensure_ascii=False, indent=2))
    else:
        show(figures)
