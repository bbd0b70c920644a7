"""Inputs: files that a user names on the command line, read so that an error names file and place."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packline.config import ContextConfig
from packline.conversation import turns
from packline.errors import ConfigError, PacklineError
from packline.packet import ContextPacket, Kind
from packline.sources import Source, packets_of

__all__ = ["Settings", "read_history", "read_instructions", "read_lines", "read_memories", "read_settings"]


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


def read_settings(path: Path | None, *, max_tokens: int | None = None) -> Settings:
    """Options of `ContextConfig` as a TOML file, and `relevance` beside them; None: the defaults.

    Args:
        max_tokens: In place of what the file says, whatever that is.

    Raises:
        PacklineError: The file cannot be read, is not TOML, or an option is unknown or has a bad value.
    """
    changes = {} if max_tokens is None else {"max_tokens": max_tokens}
    if path is None:
        return Settings(config=ContextConfig.from_dict(changes))
    try:
        options = tomllib.loads(_text(path)) | changes
    except tomllib.TOMLDecodeError as error:
        raise PacklineError(f"{path}: not TOML: {error}") from error
    relevance = options.pop("relevance", Settings.relevance)
    try:
        if not isinstance(relevance, str):
            raise ConfigError("relevance", relevance, "the name of a scorer")
        return Settings(path.stem, ContextConfig.from_dict(options), relevance)
    except ConfigError as error:
        raise PacklineError(f"{path}: {error}") from error


def read_instructions(given: str | None) -> str | None:
    """The instructions themselves, or after an @ the file that holds them."""
    if given is None or not given.startswith("@"):
        return given
    return _text(Path(given[1:])).rstrip()


def read_history(path: Path) -> tuple[ContextPacket, ...]:
    """A conversation: a JSON list of `{"role", "content"}` objects or `[role, text]` pairs.

    The list may also stand under "messages", as chat APIs have it.

    Raises:
        PacklineError: The file cannot be read, is not JSON, or an entry is no message.
    """
    history = _json(_text(path), path)
    if isinstance(history, Mapping):
        history = history.get("messages")
    if not isinstance(history, list):
        raise PacklineError(f"{path}: not a conversation: expected a list of messages")
    try:
        return turns(history)
    except ConfigError as error:
        raise PacklineError(f"{path}: {error}") from error


def read_memories(folder: Path) -> Source:
    """A folder (or file) of memories as a source: .json and .jsonl hold them as objects or texts, each
    .md and .txt file is one.

    Raises:
        PacklineError: A file cannot be read, is not JSON, or an entry has no text.
    """
    source = Source("memory", ask=lambda _: packets, kind=Kind.MEMORY)
    packets: list[ContextPacket] = []
    for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
        if path.suffix in (".md", ".txt"):
            packets.append(ContextPacket(_text(path).strip(), kind=Kind.MEMORY, id=path.name))
        elif path.suffix in (".json", ".jsonl"):
            packets += _memories(path, source)
    if not packets:
        raise PacklineError(f"{folder}: no memories: expected .json, .jsonl, .md or .txt files")
    return source


def _memories(path: Path, source: Source) -> Iterator[ContextPacket]:
    if path.suffix == ".jsonl":
        entries = list(read_lines(path))
    else:
        read = _json(_text(path), path)
        entries = [(1, entry) for entry in (read if isinstance(read, list) else [read])]
    for line, entry in entries:
        try:
            yield from packets_of(entry, source)
        except (PacklineError, TypeError) as error:
            raise PacklineError(f"{path}:{line}: not a memory: {error}") from error


def read_lines(path: Path) -> Iterator[tuple[int, object]]:
    """The numbers and values of the lines of a JSON Lines file; empty lines are passed over.

    Raises:
        PacklineError: The file cannot be read, or a line is not JSON.
    """
    # Not `splitlines`: a JSON text may hold other line ends as they are.
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if line.strip():
            yield number, _json(line, path, number)


def _json(text: str, path: Path, line: int = 1) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{line + error.lineno - 1}:{error.colno}"
        raise PacklineError(f"{place}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise PacklineError(f"{path}:{line}: not read: nested too deep") from error


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PacklineError(
            f"{path}: not UTF-8 text: byte {error.start} is {error.object[error.start]:#x}"
        ) from error
    except OSError as error:
        raise PacklineError(f"{path}: {error.strerror or error}") from error
