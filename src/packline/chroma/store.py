"""Store: a collection that a caller opens, asks as a source of candidates, and closes.

What is kept, and how it is written and found, is for each kind of store to say.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from packline.chroma.collection import Collection
from packline.packet import ContextPacket

__all__ = ["Store"]


class Store(ABC):
    """What `KnowledgeBase` and `MemoryStore` have in common.

    Once it is closed, all that is asked of it but its `repr`, and to close it again, raises `PacklineError`.
    """

    def __init__(self, collection: Collection) -> None:
        self._kept = collection

    @property
    def _collection(self) -> Collection:
        self._kept.check_open(type(self).__name__)
        return self._kept

    @abstractmethod
    def gather(self, query: str) -> list[ContextPacket]:
        """The candidates that it gives as a source."""

    async def agather(self, query: str) -> list[ContextPacket]:
        """The same as `gather`, in a thread."""
        return await asyncio.to_thread(self.gather, query)

    def __len__(self) -> int:
        """How many passages it holds, or memories of its user."""
        return len(self._collection)

    def __bool__(self) -> bool:
        """True: an empty store is still one."""
        return True

    def close(self) -> None:
        """Let go of the store's files; one in memory is then gone. A client that was given stays open.

        Closing it twice is no error.
        """
        self._kept.close()

    def __enter__(self) -> Self:
        self._kept.check_open(type(self).__name__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._kept})"
