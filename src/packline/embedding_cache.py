"""Vectors on disk, so that unchanged text is embedded once, whatever process asks.

One SQLite file, which several processes may read and write at the same time. Vectors are found by model and
text, in half precision; the texts themselves are not stored.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from packline.embedding import Embedder, Vectors, embedding, is_named
from packline.errors import ConfigError

__all__ = ["cached_embedding"]

Halves: TypeAlias = NDArray[np.float16]

_AT_ONCE = 500  # keys in one question to SQLite
_PATIENCE = 60.0  # seconds to wait for another process that writes


def cached_embedding(embed: object = None, *, path: str | Path, size: int = 1_000_000) -> Embedder:
    """The embedder that `embed` is, with its vectors of texts kept in a file.

    Questions are not kept. A text's vector is the same whether it comes from the model or from the file.

    Args:
        embed: Whatever `packline.embedding.embedding` takes; None: the bundled model.
        path: The file; it is made where it is not there, its folder too, also when it is deleted later.
        size: Vectors that are kept; beyond it those that came first go. 512 bytes each for the bundled model.

    Raises:
        ConfigError: The size is not a whole number from 1, or the file is no such cache or cannot be written;
            with `documents` also if it is damaged, or another model of the same name wrote vectors of another
            length. Or the model has no name that tells it from others of its class: vectors of two would be
            mixed up. `Embedder("a name of its own", model.encode)` gives it one.
        PacklineError: The bundled model is asked for and not installed.

    >>> import tempfile
    >>> calls = []
    >>> def by_length(texts):
    ...     calls.extend(texts)
    ...     return [[len(text), 1] for text in texts]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for _ in range(2):
    ...         vectors = cached_embedding(by_length, path=f"{folder}/vectors.db").documents(["text"])
    >>> calls
    ['text']
    """
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ConfigError("size", size, "a whole number from 1")
    if not isinstance(path, (str, Path)) or str(path) in ("", ":memory:"):
        raise ConfigError("path", path, "that of a file; to keep vectors in memory, pass the model itself")
    embedder = embedding(embed)
    if not is_named(embed):
        expected = "a model with a name of its own: wrap it, as in Embedder('name', its function of texts)"
        raise ConfigError("embed", embed, expected)
    file = _File(Path(path).expanduser(), embedder, size)
    return Embedder(embedder.name, file.documents, file.query)


class _File:
    """The cache file of one model."""

    def __init__(self, path: Path, embedder: Embedder, size: int) -> None:
        self._path = path
        self._embedder = embedder
        self._size = size
        self._width: int | None = None  # numbers in a vector, once the model has given one
        self._read(())

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The file, made where it is not there."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_PATIENCE)) as base, base:
                base.execute("PRAGMA journal_mode = WAL")
                base.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB UNIQUE NOT NULL, vector BLOB NOT NULL)"
                )
                base.execute("SELECT key, vector FROM vectors LIMIT 0")
                yield base
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            expected = f"a file for vectors that can be read and written, or none yet ({reason})"
            raise ConfigError("path", str(self._path), expected) from error

    def query(self, text: str) -> Vectors:
        """The model's vector of a question, whose length is also that of texts."""
        vector = self._embedder.query(text)
        self._width = len(vector)
        return vector

    def documents(self, texts: list[str]) -> Vectors:
        """One row a text, from the file where it has it."""
        keys = [self._key(text) for text in texts]
        known = self._read(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            made = self._embedder.documents(list(new.values())).astype(np.float16)
            self._width = made.shape[1]
            self._check(known)
            known |= dict(zip(new, made, strict=True))
            self._write({key: known[key].tobytes() for key in new})
        self._check(known)
        return np.stack([known[key] for key in keys]).astype(np.float32)

    def _check(self, vectors: dict[bytes, Halves]) -> None:
        """Refuse vectors that are no vectors of this model."""
        widths = {len(vector) for vector in vectors.values()}
        if self._width is not None:
            widths.add(self._width)
        if len(widths) > 1:
            numbers = " and ".join(map(str, sorted(widths)))
            raise self._damaged(f"{numbers} numbers", "of one length; another model of that name wrote it")

    def _damaged(self, value: object, expected: str) -> ConfigError:
        ways = f"{expected}: delete it, or give another path, or an Embedder with a name of its own"
        return ConfigError(f"vectors of {self._embedder.name} in {self._path}", value, ways)

    def _key(self, text: str) -> bytes:
        named = f"{len(self._embedder.name)} {self._embedder.name} {text}"
        return hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Halves]:
        found: dict[bytes, object] = {}
        with self._open() as base:
            for start in range(0, len(keys), _AT_ONCE):
                asked = keys[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(asked))
                rows = base.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", asked)
                found.update(rows)
        return {key: self._vector(row) for key, row in found.items()}

    def _vector(self, row: object) -> Halves:
        if not isinstance(row, bytes) or not row or len(row) % 2:
            raise self._damaged(row, "whole; the file is damaged")
        return np.frombuffer(row, np.float16)

    def _write(self, vectors: dict[bytes, bytes]) -> None:
        with self._open() as base:
            base.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", vectors.items())
            last = base.execute("SELECT max(rowid) FROM vectors").fetchone()[0]
            base.execute("DELETE FROM vectors WHERE rowid <= ?", (last - self._size,))
