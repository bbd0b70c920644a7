"""KnowledgeBase: files and texts, kept in step with what is on disk, and found by words and by meaning.

Nothing beside the passages themselves is written down. Which files a store holds, in which version, and
whether all of each, is read from the passages' ids, so that a process that ends in the middle leaves nothing
that needs repair.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from packline.chroma.checks import check_share, check_text, check_whole, read_metadata
from packline.chroma.collection import Collection
from packline.chroma.connection import connect
from packline.chroma.ingesting import Ingested, find
from packline.chroma.intake import Intake
from packline.chroma.progress import tracked
from packline.chroma.rows import Row, storable
from packline.chroma.store import Store
from packline.errors import ConfigError
from packline.packet import ContextPacket, Kind

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

__all__ = ["KnowledgeBase"]

_SHOWN = ("source", "position", "page", "title", "heading")


class KnowledgeBase(Store):
    """Documents on Chroma; as a source it gives evidence.

    Args:
        path: The folder that holds the store, made if need be. None: in memory, gone with this object.
        client: A Chroma client to use in its place, such as `chromadb.HttpClient()`; it stays yours to close.
        embed: The embedding model: see `packline.embedding.embedding`. None: the one in `packline[semantic]`.
            A store remembers which model filled it.
        name: Of the collection in Chroma. As a source this is always called "knowledge".
        chunk_tokens: About how long a passage may be; with another value every file is read anew.
        gather_limit: How many passages it gives as a source. They compete for the prompt with all others, so
            it is many, and `min_score` is low.
        gather_min_score: The least score, in [0, 1], of what it gives as a source.

    Raises:
        ConfigError: An argument is not what is said above, or the store was filled by another model.

    >>> def embed(texts):
    ...     return [[text.count(letter) + 1 for letter in "etaoin"] for text in texts]
    >>> with KnowledgeBase(embed=embed) as knowledge:
    ...     report = knowledge.add_text("Pandas reads CSV files.", source="pandas.md")
    ...     [found] = knowledge.search("Which files does Pandas read?")
    >>> found.content, found.kind, found.metadata["source"], found.metadata["position"]
    ('Pandas reads CSV files.', <Kind.EVIDENCE: 'evidence'>, 'pandas.md', 0)
    """

    name = "knowledge"
    kind = Kind.EVIDENCE

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        client: ClientAPI | None = None,
        embed: object = None,
        name: str = "packline-knowledge",
        chunk_tokens: int = 320,
        gather_limit: int = 30,
        gather_min_score: float = 0.0,
    ) -> None:
        check_whole("chunk_tokens", chunk_tokens)
        check_whole("gather_limit", gather_limit)
        check_share("gather_min_score", gather_min_score)
        self._chunk_tokens = chunk_tokens
        self.gather_limit, self.gather_min_score = gather_limit, gather_min_score
        self._adding = threading.Lock()
        super().__init__(Collection(connect(path, client), name, embed, _packet))

    def add(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        progress: bool | None = None,
    ) -> Ingested:
        """Bring the store in step with files and folders (.md, .txt, .rst, .html, .pdf, .ipynb, .csv).

        What has not changed is skipped, what has is replaced, and what is gone from a folder given here is
        removed. A file that cannot be read is reported and skipped. If the process is killed in between, what
        was written stays, and adding again does the rest.

        Args:
            progress: A bar on standard error. None: when it takes more than two seconds, on a terminal.

        Raises:
            ConfigError: A path does not exist.
        """
        search = find(paths)
        with self._adding:
            intake = Intake(self._collection, self._chunk_tokens)
            intake.fail(search.failed)
            for file in tracked(search.files, "Reading files", progress):
                intake.file(file)
            intake.remove_gone(search)
            return intake.report()

    def add_text(
        self,
        text: str,
        *,
        source: str | None = None,
        metadata: Mapping[str, object] | None = None,
        timestamp: datetime | None = None,
    ) -> Ingested:
        """Add one text under a name; what was there under that name is replaced.

        Args:
            source: Its name. None: one made from the text.
            metadata: Whatever JSON can hold, given back with each passage; `source`, `position` and `score`
                are the store's own there.
            timestamp: When the text was written. None: undated.
        """
        return self.add_texts([text], sources=[source], metadatas=[metadata], timestamps=[timestamp])

    def add_texts(
        self,
        texts: Iterable[str],
        *,
        sources: Sequence[str | None] | None = None,
        metadatas: Sequence[Mapping[str, object] | None] | None = None,
        timestamps: Sequence[datetime | None] | None = None,
        progress: bool | None = None,
    ) -> Ingested:
        """Add many texts at once, as `add_text` does one; much faster than one by one.

        Raises:
            ConfigError: `sources`, `metadatas` or `timestamps` are not as many as `texts`.
        """
        texts = list(texts)
        for name, given in (("sources", sources), ("metadatas", metadatas), ("timestamps", timestamps)):
            if given is not None and len(given) != len(texts):
                raise ConfigError(name, len(given), f"as many as texts, {len(texts)}")
        none = [None] * len(texts)
        items = list(zip(texts, sources or none, metadatas or none, timestamps or none, strict=True))
        with self._adding:
            intake = Intake(self._collection, self._chunk_tokens)
            for item in tracked(items, "Adding texts", progress):
                intake.text(*item)
            return intake.report()

    def remove(self, source: str) -> Ingested:
        """Remove what was added under that name, whole folders too: everything below `source`.

        A source that is not there is no error; the report then says that nothing was removed.
        """
        source = storable(source)
        below = source.rstrip("/") + "/"
        gone: dict[str, list[str]] = {}
        with self._adding:
            for row in self._collection.rows():
                if (name := str(row.fields["source"])) == source or name.startswith(below):
                    gone.setdefault(name, []).append(row.id)
            self._collection.delete([i for ids in gone.values() for i in ids])
        return Ingested(removed=tuple(sorted(gone)))

    def search(self, query: str, limit: int = 5, min_score: float = 0.3) -> list[ContextPacket]:
        """The passages that have most to do with `query`, best first.

        Their `metadata` has `source`, `position` (from 0 in each source), `score` in [0, 1], and what else is
        known: `page`, `title`, `heading`, and what was given with a text. What the score means: see
        `packline.chroma.fusion`. Their `relevance_score` is None, so that a builder scores them on one scale
        with all other packets.

        Args:
            limit: At most so many.
            min_score: Nothing below this.

        Raises:
            ConfigError: `limit` is below 1 or `min_score` outside [0, 1].
        """
        check_text("query", query)
        check_whole("limit", limit)
        check_share("min_score", min_score)
        hits = self._collection.search(query, limit=limit)
        return [hit.scored() for hit in hits if hit.score >= min_score][:limit]

    def gather(self, query: str) -> list[ContextPacket]:
        """The candidates that it gives as a source: `gather_limit` of them, from `gather_min_score`."""
        return self.search(query, self.gather_limit, self.gather_min_score)


def _packet(row: Row) -> ContextPacket:
    known = {name: row.fields[name] for name in _SHOWN if name in row.fields}
    timestamp = row.fields.get("timestamp")
    return ContextPacket(
        row.text,
        timestamp=datetime.fromisoformat(str(timestamp)) if timestamp else None,
        metadata={**read_metadata(row.fields.get("metadata")), **known},
        kind=Kind.EVIDENCE,
        id=f"{row.fields['source']}#{row.fields['position']}",
    )
