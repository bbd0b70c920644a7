"""Writing documents into a collection so that a kill at any moment does no harm.

All passages of the new version are written first, then those of the old one go: a document is never missing
in between. A version is whole when all the passages that its ids speak of are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from packline.chroma.collection import Collection
from packline.chroma.ingesting import Failed, Ingested, Place
from packline.chroma.rows import Row, storable
from packline.chroma.splitting import Passage

__all__ = ["Writing"]

_BATCH = 256  # passages that are embedded and written at once


class Writing:
    """One round of changes to a collection, and the account of it."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._there: dict[str, list[str]] = {}
        for identifier in collection.ids():
            self._there.setdefault(Place.of(identifier).file, []).append(identifier)
        self._rows: list[Row] = []
        self._stale: list[str] = []
        self._waiting: set[str] = set()
        self._passages = 0
        self._sources: dict[str, list[str]] = {"added": [], "updated": [], "unchanged": [], "removed": []}
        self.failed: list[Failed] = []

    def holds(self, file: str, content: str, source: str) -> bool:
        """Whether this very version is there as a whole; what is left of others then goes."""
        if file in self._waiting:
            self.flush()
        mine = [i for i in self._there.get(file, ()) if Place.of(i).content == content]
        if not mine or len(mine) != Place.of(mine[0]).total:
            return False
        self._stale += [i for i in self._there[file] if i not in set(mine)]
        self._there[file] = mine
        self._sources["unchanged"].append(source)
        return True

    def put(
        self, file: str, content: str, source: str, passages: Sequence[Passage], fields: Mapping[str, str]
    ) -> None:
        """Take a new version of a file, to be written with the next batch."""
        before = self._there.get(file, [])
        self._sources["updated" if self._any_whole(before) else "added"].append(source)
        rows = [
            Row(
                str(Place(file, content, len(passages), position)),
                passage.text,
                _known({**fields, "position": position, **_described(passage)}),
            )
            for position, passage in enumerate(passages)
        ]
        self._there[file] = [row.id for row in rows]
        self._stale += sorted(set(before) - set(self._there[file]))
        self._rows += rows
        self._waiting.add(file)
        self._passages += len(rows)
        if len(self._rows) >= _BATCH:
            self.flush()

    def fail(self, source: str, error: BaseException, file: str | None = None) -> None:
        """Report a failure; with `file`, what is there of it goes."""
        self.failed.append(Failed(source, error))
        if file is not None:
            self._stale += self._there.pop(file, [])

    def remove_gone(self, folder: Path, seen: set[str]) -> None:
        """Remove the files below `folder` that are not among those `seen`."""
        first = {ids[0]: file for file, ids in self._there.items() if file not in seen and ids}
        for row in self._collection.some(sorted(first)):
            path = row.fields.get("file")
            if path is not None and PurePosixPath(str(path)).is_relative_to(storable(folder.as_posix())):
                self._sources["removed"].append(str(row.fields["source"]))
                self._stale += self._there.pop(first[row.id])

    def flush(self) -> None:
        """Write what was taken, then remove what it replaces."""
        self._collection.add(self._rows)
        self._collection.delete(self._stale)
        self._rows, self._stale = [], []
        self._waiting.clear()

    def report(self) -> Ingested:
        """Write all that is left, and say what was done."""
        self.flush()
        sources = {name: tuple(found) for name, found in self._sources.items()}
        sources["removed"] = tuple(sorted(sources["removed"]))
        return Ingested(**sources, failed=tuple(self.failed), passages=self._passages)

    def _any_whole(self, ids: Sequence[str]) -> bool:
        counts: dict[tuple[str, int], int] = {}
        for place in map(Place.of, ids):
            version = (place.content, place.total)
            counts[version] = counts.get(version, 0) + 1
        return any(count == total for (_, total), count in counts.items())


def _described(passage: Passage) -> dict[str, str | int | None]:
    return {"page": passage.page, "title": passage.title, "heading": passage.heading}


def _known(fields: Mapping[str, str | int | None]) -> dict[str, str | int | float | bool]:
    return {name: value for name, value in fields.items() if value is not None and value != ""}
