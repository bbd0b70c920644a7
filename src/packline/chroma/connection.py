"""Where a store is: in memory, in a folder, or wherever a client of the caller's leads."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packline.chroma.rows import storable
from packline.errors import ConfigError, PacklineError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

__all__ = ["Connection", "connect"]


class Connection:
    """A client, and whether it is ours to close; `close` may be called twice.

    Args:
        where: What to call the place.
        given: What it was opened with, as an argument that can be typed.
    """

    def __init__(self, client: ClientAPI, *, where: str, given: str, ours: bool) -> None:
        self.client = client
        self.where = where
        self.temporary = not given
        self._given = given
        self._made: list[str] = []
        self.close = weakref.finalize(self, _release, client, self._made, ours)

    def check_open(self, owner: str) -> None:
        """Refuse what is asked of a store that is closed.

        Raises:
            PacklineError: It is, with what opens it again.
        """
        if self.close.alive:
            return
        way_out = f"is closed: open it again with {owner}({self._given}, ...)"
        if self.temporary:
            way_out = "is closed, and what it held in memory gone: make one anew, with a path to keep it"
        raise PacklineError(f"this {owner} {way_out}")

    def made(self, name: str) -> None:
        """Remember a collection that ends with the connection."""
        if self.temporary:
            self._made.append(name)


def _release(client: ClientAPI, made: list[str], ours: bool) -> None:
    for name in made:
        client.delete_collection(name)
    if ours:
        client.close()  # type: ignore[attr-defined]  # its interface lags behind its class


def connect(path: str | os.PathLike[str] | None, client: ClientAPI | None) -> Connection:
    """Open what was given: a client, a folder, or neither for a store in memory that ends with its object."""
    if client is not None:
        if path is not None:
            raise ConfigError("path", path, "left out where a client is given")
        if not callable(getattr(client, "get_or_create_collection", None)):
            raise ConfigError("client", client, "a Chroma client, such as chromadb.HttpClient()")
        return Connection(client, where="the client's store", given="client=...", ours=False)
    chromadb = _chromadb()
    if path is None:
        return Connection(chromadb.EphemeralClient(), where="memory", given="", ours=True)
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ConfigError("path", str(path), "a folder, or None for a store in memory")
    if storable(str(folder)) != str(folder):
        raise ConfigError("path", str(path), "a path that can be written in UTF-8, as Chroma needs it")
    try:
        opened = chromadb.PersistentClient(str(folder.resolve()))
    except chromadb.errors.ChromaError as error:
        raise PacklineError(
            f"{folder} could not be opened as a store ({error}): choose another folder, or remove this one"
        ) from error
    except ValueError as error:  # the same folder is open in this process, with other settings
        raise PacklineError(
            f"{folder} could not be opened ({error}): pass its client with client=..."
        ) from error
    return Connection(opened, where=str(path), given=repr(str(path)), ours=True)


def _chromadb() -> Any:
    try:
        import chromadb
        import chromadb.errors
    except ImportError as error:
        raise PacklineError('Chroma is not installed: run pip install "packline[chroma]"') from error
    return chromadb
