"""App: the two commands, their options, and what they print where.

What a command is asked for goes to standard output and nothing else does, so that it can be piped on.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence

import typer

from packline.builder import ContextBuilder
from packline.cli import inputs, options, streams
from packline.cli.arguments import UsageError, refuse_more
from packline.cli.cases import FORMAT, read_cases, spread
from packline.cli.compare import measure
from packline.cli.documents import knowledge
from packline.cli.figures import progress, show, summary
from packline.cli.memories import memories
from packline.errors import ConfigError, PacklineError
from packline.report import explain as explained
from packline.report.cells import one_line
from packline.report.table import WIDTH
from packline.tokens import token_counter

__all__ = ["run"]

# Typer may carry a click of its own: its errors are known by what they inherit from.
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]
_FAILED, _USAGE, _INTERRUPTED = 1, 2, 130
_MORE = {"allow_extra_args": True}  # to say what was meant with them
_CALLED = {"token_counter": "--counter", "relevance": "--relevance", "user_id": "--user"}

app = typer.Typer(
    help="Pack the right context into every prompt, under a token budget.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (None: those of the process) and give its exit code.

    0: done; 1: it could not be done; 2: the command line itself is wrong; 130: interrupted.
    """
    streams.replace_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a text in any script must not end the command
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(args=arguments, prog_name="packline", standalone_mode=False)
    except _ClickError as error:
        return _complaint(error.format_message(), error.exit_code)  # type: ignore[attr-defined]
    except ConfigError as error:
        called = _CALLED.get(error.field, error.field)
        return _complaint(str(ConfigError(called, error.value, error.expected)), _USAGE)
    except UsageError as error:
        return _complaint(str(error), _USAGE)
    except PacklineError as error:
        return _complaint(str(error), _FAILED)
    except ExceptionGroup as errors:  # of the sources, where the settings are strict
        reasons = [f"{type(error).__name__}: {error}" for error in errors.exceptions]
        return _complaint(f"{errors.message}: {'; '.join(reasons)}", _FAILED)
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        return _complaint(f"{place}{error.strerror or error}", _FAILED)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    if code == _INTERRUPTED:  # which typer may give in place of raising
        return _complaint("interrupted", _INTERRUPTED)
    return code if isinstance(code, int) else 0


def _complaint(message: str, code: int) -> int:
    hint = " (see --help)" if code == _USAGE else ""
    typer.echo(f"packline: {one_line(message, 2_000)}{hint}", err=True)
    return code


@app.callback(invoke_without_command=True)
def _packline(command: typer.Context, version: options.Version = False) -> None:
    if command.invoked_subcommand is None:
        typer.echo(command.get_help())
        raise typer.Exit(_USAGE)


@app.command(
    context_settings=_MORE,
    help="Build the prompt for a question from documents, a conversation and memories, and print it.",
    epilog='Example: packline build "How do I clean the gauge?" --docs manual/ --explain',
)
def build(
    command: typer.Context,
    question: options.Question = None,
    docs: options.Docs = None,
    store: options.Store = None,
    history: options.History = None,
    memory: options.Memory = None,
    user: options.User = "default",
    instructions: options.Instructions = None,
    max_tokens: options.MaxTokens = None,
    relevance: options.Scorer = None,
    config: options.Config = None,
    counter: options.Counter = None,
    now: options.Now = None,
    explain: options.Explain = False,
    as_json: options.AsJson = False,
    html: options.Html = None,
) -> None:
    """Build one prompt; what is quick to read, and to refuse, is read before the documents."""
    refuse_more(question, command.args, "--docs")
    settings = inputs.read_settings(config, max_tokens=max_tokens)
    scorer = settings.relevance if relevance is None else options.scorer(relevance)
    counting = token_counter(counter)
    asked, moment = streams.question(question), streams.moment_of(now)
    conversation = None if history is None else inputs.read_history(history)
    told = inputs.read_instructions(instructions)
    remembered = memories(memory, user, warn=streams.warn)
    budget = settings.config.budget(asked)
    documents = knowledge(docs or (), store, budget=budget, warn=streams.warn)
    builder = ContextBuilder(
        config=settings.config,
        sources=[*documents, *remembered],
        relevance=scorer,
        token_counter=counting,
    )
    context = builder.build(asked, conversation_history=conversation, system_instructions=told, now=moment)
    if html is not None:
        html.write_text(streams.page(context), "utf-8")
    streams.write(json.dumps(context.to_dict(), ensure_ascii=False, indent=2) if as_json else context.text)
    for failure in context.failures:
        streams.warn(str(failure))
    if explain:
        columns = shutil.get_terminal_size().columns if sys.stderr.isatty() else WIDTH
        typer.echo(explained(context, columns=columns), err=True)


@app.command(
    context_settings=_MORE,
    help="Compare settings by how much of the evidence for each question they get into the prompt, whole. "
    "Recall is the share of a case's evidence that stands whole in its prompt, Full the share of cases with "
    "all of it. The difference to the first variant comes with its 95 % interval (paired bootstrap).\n\n"
    f"{FORMAT}\n\n"
    'A variant is a TOML file such as: relevance = "hybrid"',
    short_help="Compare settings by how much of the evidence they get into the prompt.",
    epilog="Example: packline compare cases.jsonl --variant a.toml --variant b.toml",
)
def compare(
    command: typer.Context,
    cases: options.Cases,
    variant: options.Variants,
    max_tokens: options.DefaultMaxTokens = None,
    sample: options.Sample = None,
    counter: options.Counter = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare settings on the same cases."""
    refuse_more(None, command.args, "--variant")
    chosen = spread(read_cases(cases), sample)
    settings = inputs.read_variants(variant, max_tokens=max_tokens)
    with progress(len(chosen) * len(settings)) as done:
        figures = [measure(chosen, each, token_counter=counter, done=done) for each in settings]
    if as_json:
        streams.write(json.dumps(summary(figures), ensure_ascii=False, indent=2))
    else:
        show(figures)
