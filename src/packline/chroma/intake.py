"""Intake: one round of adding files and texts, from what they hold to passages ready to be written.

What was there already in the same version is not even read. A version is the content together with all
that decides how it is split, so that another `chunk_tokens` makes every file new.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from packline.attempt import Call, settle
from packline.chroma.checks import check_metadata, check_name, check_text, check_timestamp
from packline.chroma.collection import Collection
from packline.chroma.ingesting import Failed, Found, Ingested, Search, digest
from packline.chroma.reading import Document, Page, read
from packline.chroma.rows import storable
from packline.chroma.splitting import split
from packline.chroma.writing import Writing
from packline.errors import PacklineError

__all__ = ["Intake"]

_FORMAT = "1"  # another one makes every file new
_LONGEST_READ = 120.0  # seconds; a broken PDF can keep a parser busy for ever


class Intake:
    """One round of adding to a collection.

    Args:
        chunk_tokens: About how long a passage may be.
    """

    def __init__(self, collection: Collection, chunk_tokens: int) -> None:
        self._writing = Writing(collection)
        self._chunk_tokens = chunk_tokens

    def file(self, file: Found) -> None:
        """Take a file, unless it is there as it is; one that cannot be read is reported."""
        try:
            data = file.path.read_bytes()
            changed = datetime.fromtimestamp(file.path.stat().st_mtime, UTC)
        except OSError as error:
            self._writing.fail(file.source, error)
            return
        key, content = _key(file.path), self._version(data)
        if self._writing.holds(key, content, file.source):
            return
        reading = Call(
            file.source, _LONGEST_READ, lambda: split(read(file.path.suffix, data), self._chunk_tokens)
        )
        [outcome] = settle([reading])
        if outcome.value is None:
            self._writing.fail(file.source, outcome.error or PacklineError("could not be read"), key)
            return
        fields = {"source": file.source, "file": file.path.as_posix(), "timestamp": changed.isoformat()}
        self._writing.put(key, content, file.source, outcome.value, fields)

    def text(
        self,
        text: str,
        source: str | None,
        metadata: Mapping[str, object] | None,
        timestamp: datetime | None,
    ) -> None:
        """Take a text, unless it is there as it is; one without a word is reported.

        Raises:
            ConfigError: An argument is not what `KnowledgeBase.add_text` says.
        """
        check_text("text", text)
        fields = {"metadata": check_metadata(metadata), "timestamp": check_timestamp(timestamp)}
        source = f"text-{digest(text)}" if source is None else storable(check_name("source", source))
        key, content = digest("text", source), self._version(text, *fields.values())
        if self._writing.holds(key, content, source):
            return
        if not text.strip():
            self._writing.fail(source, PacklineError("holds no text"), key)
            return
        document = Document((Page(text),), markdown=source.lower().endswith((".md", ".markdown")))
        passages = split(document, self._chunk_tokens)
        self._writing.put(key, content, source, passages, {**fields, "source": source})

    def fail(self, failed: tuple[Failed, ...]) -> None:
        """Report what could not even be looked into."""
        self._writing.failed += failed

    def remove_gone(self, search: Search) -> None:
        """Remove the files that are no longer in the folders which were looked through whole."""
        seen = {_key(file.path) for file in search.files}
        for folder in search.folders:
            self._writing.remove_gone(folder, seen)

    def report(self) -> Ingested:
        """Write all that is left, and say what was done."""
        return self._writing.report()

    def _version(self, *parts: bytes | str) -> str:
        return digest(*parts, _FORMAT, str(self._chunk_tokens))


def _key(path: Path) -> str:
    return digest("file", path.as_posix())
