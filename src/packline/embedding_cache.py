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

import numpy as np

from packline.embedding import Embedder, Vectors, embedding
from packline.errors import ConfigError

__all__ = ["cached_embedding"]

_AT_ONCE = 500  # keys in one question to SQLite
_PATIENCE = 60.0  # seconds to wait for another process that writes


def cached_embedding(embed: object = None, *, path: str | Path, size: int = 1_000_000) -> Embedder:
    """The embedder that `embed` is, with its vectors of texts kept in a file.

    Questions are not kept. A text's vector is the same whether it comes from the model or from the file.

    Args:
        embed: Whatever `packline.embedding.embedding` takes; None: the bundled model.
        path: The file; it is made where it is not there, its folder too.
        size: Vectors that are kept; beyond it those that came first go. 512 bytes each for the bundled model.

    Raises:
        ConfigError: The size is not a whole number from 1, or the file is no such cache.
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
    embedder = embedding(embed)
    file = _File(Path(path), embedder, size)
    return Embedder(embedder.name, file.documents, embedder.query)


class _File:
    """The cache file of one model."""

    def __init__(self, path: Path, embedder: Embedder, size: int) -> None:
        self._path = path
        self._embedder = embedder
        self._size = size
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._open() as base:
                base.execute("PRAGMA journal_mode = WAL")
                base.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB UNIQUE NOT NULL, vector BLOB NOT NULL)"
                )
        except sqlite3.DatabaseError as error:
            raise ConfigError(
                "path", str(path), f"a file for vectors that can be written ({error})"
            ) from error

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=_PATIENCE)) as base, base:
            yield base

    def documents(self, texts: list[str]) -> Vectors:
        """One row a text, from the file where it has it."""
        keys = [self._key(text) for text in texts]
        known = self._read(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            made = self._embedder.documents(list(new.values())).astype(np.float16)
            known |= dict(zip(new, made, strict=True))
            self._write({key: known[key].tobytes() for key in new})
        return np.stack([known[key] for key in keys]).astype(np.float32)

    def _key(self, text: str) -> bytes:
        named = f"{len(self._embedder.name)} {self._embedder.name} {text}"
        return hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray[tuple[int], np.dtype[np.float16]]]:
        found = {}
        with self._open() as base:
            for start in range(0, len(keys), _AT_ONCE):
                asked = keys[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(asked))
                rows = base.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", asked)
                found.update({key: np.frombuffer(vector, np.float16) for key, vector in rows})
        return found

    def _write(self, vectors: dict[bytes, bytes]) -> None:
        with self._open() as base:
            base.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", vectors.items())
            last = base.execute("SELECT max(rowid) FROM vectors").fetchone()[0]
            base.execute("DELETE FROM vectors WHERE rowid <= ?", (last - self._size,))
