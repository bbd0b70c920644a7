"""What adding files to a store did, and which files there are to add."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from packline.chroma.reading import suffixes
from packline.chroma.rows import storable
from packline.errors import ConfigError

__all__ = ["Failed", "Found", "Ingested", "Place", "Search", "digest", "find"]


class Failed(NamedTuple):
    """A file that could not be read, and why."""

    source: str
    error: BaseException

    def __str__(self) -> str:
        said = self.error.strerror if isinstance(self.error, OSError) else None
        reason = said or str(self.error) or type(self.error).__name__
        return f"{self.source}: {reason}"


@dataclass(frozen=True, slots=True)
class Ingested:
    """What adding did to a store, file by file: each of the first four is a tuple of sources.

    Args:
        added: New ones.
        updated: Those whose content had changed; their old passages are gone.
        unchanged: Those that were there already.
        removed: Those that are no longer where they were; their passages are gone.
        failed: Those that were skipped, with the error. A file that was there before and now holds nothing
            that can be read is gone from the store; one that cannot be opened keeps its passages.
        passages: How many passages were written.
    """

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    failed: tuple[Failed, ...] = ()
    passages: int = 0

    def __str__(self) -> str:
        names = ("added", "updated", "unchanged", "removed")
        counts = [f"{len(getattr(self, name))} {name}" for name in names if getattr(self, name)]
        if self.failed:
            counts.append(f"{len(self.failed)} failed ({'; '.join(map(str, self.failed))})")
        return ", ".join(counts) or "nothing to add"


class Found(NamedTuple):
    """A file: where it is, and what the user calls it."""

    path: Path
    source: str


class Place(NamedTuple):
    """Where a row stands, as its id says: the file, its content, and which of how many passages this is.

    So the ids alone tell which files are in a store, and which were left half written when a process ended.
    """

    file: str
    content: str
    total: int
    position: int

    @classmethod
    def of(cls, identifier: str) -> Place:
        file, content, total, position = identifier.split("-")
        return cls(file, content, int(total), int(position))

    def __str__(self) -> str:
        return f"{self.file}-{self.content}-{self.total}-{self.position:06}"


def digest(*parts: bytes | str) -> str:
    """A name of 16 characters for all parts together."""
    state = hashlib.blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big") + data)
    return state.hexdigest()


@dataclass(frozen=True, slots=True)
class Search:
    """The files to add, the folders that were looked through whole, and what could not be looked into."""

    files: tuple[Found, ...]
    folders: tuple[Path, ...]
    failed: tuple[Failed, ...]


def find(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Search:
    """All files at `paths`; in folders those whose suffix is read, hidden ones left out, in order.

    Raises:
        ConfigError: A path does not exist.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files: dict[Path, Found] = {}
    folders, failed = [], []
    for path in map(Path, given):
        if not path.exists():
            raise ConfigError("path", str(path), "a file or folder that exists")
        if not path.is_dir():
            files.setdefault(path.resolve(), Found(path.resolve(), storable(path.as_posix())))
            continue
        errors: list[OSError] = []
        for inner in _walk(path, errors):
            files.setdefault(inner.resolve(), Found(inner.resolve(), storable(inner.as_posix())))
        failed += [Failed(storable(str(error.filename)), error) for error in errors]
        if not errors:
            folders.append(path.resolve())
    return Search(tuple(files.values()), tuple(folders), tuple(failed))


def _walk(folder: Path, errors: list[OSError]) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder, onerror=errors.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (Path(parent, name) for name in sorted(names) if not name.startswith(".")):
            if path.suffix.lower() in suffixes() and (path.is_file() or not path.exists()):
                yield path  # a link that leads nowhere is reported; a pipe or a device could be read for ever
