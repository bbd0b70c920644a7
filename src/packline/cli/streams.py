"""Streams: what the command line reads from a pipe, and how it writes to terminals, pipes and pages."""

from __future__ import annotations

import io
import os
import sys
from datetime import datetime

import typer

from packline.cli.arguments import UsageError
from packline.context import Context
from packline.errors import ConfigError, PacklineError
from packline.report.cells import one_line, visible
from packline.timestamps import read_timestamp

__all__ = ["moment_of", "page", "question", "replace_closed", "warn", "write"]


def replace_closed() -> None:
    """Give the process a stream that leads nowhere for each one that it was started without."""
    if sys.stdin is None:
        sys.stdin = io.StringIO()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.StringIO())


def question(given: str | None) -> str:
    """The question: as given, or from a pipe.

    Raises:
        PacklineError: There is none, it is empty, or the pipe gives no text.
    """
    if given is not None and given != "-":
        if not given.strip():
            raise ConfigError("QUESTION", given, "a text that is not empty")
        return given
    if given is None and sys.stdin.isatty():
        raise UsageError("a question is needed, as an argument or from a pipe")
    if hasattr(sys.stdin, "reconfigure"):  # a poor locale would let through what is no text
        sys.stdin.reconfigure(errors="strict")
    try:
        asked = sys.stdin.read().removeprefix("\ufeff").replace("\r\n", "\n").strip()
    except UnicodeDecodeError as error:
        raise PacklineError(f"standard input: not text in {error.encoding}: byte {error.start}") from error
    if not asked:
        raise UsageError("a question is needed, as an argument or from a pipe: standard input is empty")
    return asked


def moment_of(given: str | None) -> datetime | None:
    """The moment that an option names; None for the present."""
    moment = read_timestamp(given)
    if given is not None and moment is None:
        raise UsageError(f"--now must be a time such as 2026-01-31T12:00, got {given!r}")
    return moment


def write(text: str) -> None:
    """To a terminal without what would control it; into a pipe as it is."""
    try:
        sys.stdout.write(f"{visible(text) if sys.stdout.isatty() else text}\n")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough; what is left in the buffer goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(message: str) -> None:
    """One line on standard error."""
    typer.echo(f"packline: warning: {one_line(message)}", err=True)


def page(context: Context) -> str:
    """The account as a page of its own."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>packline</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark"></head>'
        f'<body style="margin:16px">{context.to_html()}</body></html>\n'
    )
