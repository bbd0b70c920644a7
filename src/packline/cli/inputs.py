"""Inputs: files that a user names on the command line, read so that an error names file and place."""

from __future__ import annotations

import json
import tomllib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from packline.cli.arguments import UsageError
from packline.cli.options import scorer
from packline.config import ContextConfig
from packline.conversation import turns
from packline.errors import ConfigError, PacklineError
from packline.packet import ContextPacket

__all__ = [
    "Settings",
    "numbered",
    "parse_json",
    "read_history",
    "read_instructions",
    "read_lines",
    "read_settings",
    "read_text",
    "read_variants",
]


@dataclass(frozen=True)
class Settings:
    """A file of settings.

    Args:
        name: What to call it: the file's name without its ending.
        config: Its options.
        relevance: The scorer that it names.
    """

    name: str = "defaults"
    config: ContextConfig = field(default_factory=ContextConfig)
    relevance: str = "lexical"


def read_settings(
    path: Path | None, *, max_tokens: int | None = None, default: int | None = None
) -> Settings:
    """Options of `ContextConfig` as a TOML file, and `relevance` beside them; None: the defaults.

    Args:
        max_tokens: In place of what the file says, whatever that is.
        default: `max_tokens` where the file says none.

    Raises:
        PacklineError: The file cannot be read, is not TOML, or an option is unknown or has a bad value.
    """
    changes = {} if max_tokens is None else {"max_tokens": max_tokens}
    if path is None:
        return Settings(config=ContextConfig.from_dict(changes))
    try:
        fallback = {} if default is None else {"max_tokens": default}
        options = fallback | tomllib.loads(read_text(path)) | changes
    except tomllib.TOMLDecodeError as error:
        raise PacklineError(f"{path}: not TOML: {error}") from error
    try:
        relevance = scorer(options.pop("relevance", Settings.relevance))
        return Settings(path.stem, ContextConfig.from_dict(options), relevance)
    except ConfigError as error:
        raise PacklineError(f"{path}: {error}") from error


def read_variants(paths: Sequence[Path], *, max_tokens: int | None = None) -> list[Settings]:
    """The settings of each file; where two files have one name, they are called by their paths.

    Args:
        max_tokens: For files that say none: what a file says is what is compared.
    """
    settings = [read_settings(path, default=max_tokens) for path in paths]
    names = [each.name for each in settings]
    return [
        each if names.count(each.name) == 1 else replace(each, name=str(path))
        for each, path in zip(settings, paths, strict=True)
    ]


def read_instructions(given: str | None) -> str | None:
    """The instructions themselves, or after an @ the file that holds them.

    Raises:
        PacklineError: The file cannot be read, or no file is named.
    """
    if given is None or not given.startswith("@"):
        return given
    if given == "@":
        raise UsageError("--instructions @: expected the name of a file after the @")
    return read_text(Path(given[1:])).rstrip()


def read_history(path: Path) -> tuple[ContextPacket, ...]:
    """A conversation: a JSON list of `{"role", "content"}` objects or `[role, text]` pairs.

    The list may also stand under "messages", as chat APIs have it; a .jsonl file has one message a line.

    Raises:
        PacklineError: The file cannot be read, is not JSON, or an entry is no message.
    """
    lines = path.suffix.lower() == ".jsonl"
    history = [value for _, value in read_lines(path)] if lines else parse_json(read_text(path), path)
    if isinstance(history, Mapping):
        history = history.get("messages")
    if not isinstance(history, list):
        raise PacklineError(f"{path}: not a conversation: expected a list of messages")
    try:
        return turns(history)
    except ConfigError as error:
        raise PacklineError(f"{path}: {error}") from error


def read_lines(path: Path) -> Iterator[tuple[int, object]]:
    """The numbers and values of the lines of a JSON Lines file; empty lines are passed over.

    Raises:
        PacklineError: The file cannot be read, or a line is not JSON.
    """
    for number, line in numbered(read_text(path)):
        yield number, parse_json(line, path, number)


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers from 1."""
    # Not `splitlines`: a JSON text may hold other line ends as they are.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def parse_json(text: str, path: Path, line: int = 1) -> object:
    """The value that stands in `path` from `line` on.

    Raises:
        PacklineError: It is not JSON; file, line and column are named.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{line + error.lineno - 1}:{error.colno}"
        raise PacklineError(f"{place}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise PacklineError(f"{path}:{line}: not read: nested too deep") from error


def read_text(path: Path) -> str:
    """A file as text: UTF-8, or what its byte order mark says; every end of line is one.

    Raises:
        PacklineError: It cannot be read, or is not text.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError as error:
        bad = f"byte {error.start} is {error.object[error.start]:#x}"
        raise PacklineError(
            f"{path}: not {error.encoding.upper()} text: {bad}: save the file as UTF-8"
        ) from error
    except OSError as error:
        raise PacklineError(f"{path}: {error.strerror or error}") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
