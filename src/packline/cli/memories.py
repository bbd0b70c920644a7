"""Memories: those of a user in a store, or all in files.

Who names a folder wants what is in it: what cannot be read there is told and left out. Who names one file
wants that file, so it is read whole or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from packline.cli.inputs import numbered, parse_json, read_text
from packline.errors import PacklineError, SourceError
from packline.packet import ContextPacket, Kind
from packline.sources import Source, packets_of

__all__ = ["memories"]

_TEXTS, _DATA = (".md", ".txt"), (".json", ".jsonl")
_EXPECTED = "expected .json, .jsonl, .md or .txt files, or a memory store"


def memories(
    place: Path | None, user: str, *, warn: Callable[[str], object] = lambda _: None
) -> list[object]:
    """The memories at `place` as a source: those of `user` in a store, or all in files.

    .json and .jsonl hold them as objects or texts, each .md and .txt file is one.

    Args:
        place: None: no source.
        warn: Told of each file and entry of a folder that could not be read, and where there is no memory.

    Raises:
        PacklineError: `place` is a file that cannot be read whole, or Chroma is not installed.
    """
    if place is None:
        return []
    if (place / "chroma.sqlite3").exists():
        from packline.chroma import MemoryStore

        store = MemoryStore(place, user_id=user)
        if not len(store):
            warn(f"no memories of {user!r} in {place}: name another with --user")
        return [store]
    source = Source("memory", ask=lambda _: packets, kind=Kind.MEMORY)
    packets: list[ContextPacket] = []
    for path in _files(place) if place.is_dir() else [place]:
        for read in _read(path, source):
            if not isinstance(read, PacklineError):
                packets += read
            elif place.is_dir():
                warn(str(read))
            else:
                raise read
    if not packets:
        warn(f"no memories in {place}: {_EXPECTED}")
    return [source]


def _files(folder: Path) -> Iterator[Path]:
    """What may hold memories, in order; as with documents, what is hidden is left out."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        known = path.suffix.lower() in _TEXTS + _DATA
        if known and not hidden and (path.is_file() or not path.exists()):
            yield path  # a link that leads nowhere is told; a pipe could be read for ever


def _read(path: Path, source: Source) -> Iterator[Sequence[ContextPacket] | PacklineError]:
    """Of each entry of a file its packets, or why there are none."""
    suffix = path.suffix.lower()
    try:
        if suffix not in _TEXTS + _DATA:
            raise PacklineError(f"{path}: not read: {_EXPECTED}")
        text = read_text(path)
        given = parse_json(text, path) if suffix == ".json" else None
    except PacklineError as error:
        yield error
        return
    if suffix in _TEXTS:
        text = text.strip()
        yield [ContextPacket(text, kind=Kind.MEMORY, id=path.name)] if text else []
    elif suffix == ".json":
        for number, entry in enumerate(given if isinstance(given, list) else [given], start=1):
            yield _packets(entry, f"{path}: entry {number}", source)
    else:
        for number, line in numbered(text):
            try:
                yield _packets(parse_json(line, path, number), f"{path}:{number}", source)
            except PacklineError as error:
                yield error


def _packets(entry: object, where: str, source: Source) -> Sequence[ContextPacket] | PacklineError:
    try:
        return packets_of(entry, source)
    except SourceError:
        problem = f"expected a text or an object with content, got {entry!r:.60}"
    except PacklineError as error:
        problem = str(error)
    return PacklineError(f"{where}: not a memory: {problem}")
