"""BundledEmbedding: the small embedding model that `packline[semantic]` brings along, for an index."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding

from packline.embedding import Embedder, embedding

__all__ = ["BundledEmbedding"]


class BundledEmbedding(BaseEmbedding):
    """A static model of 256 dimensions, read from its wheel: nothing is downloaded, no GPU is needed.

    Good for tests, demos and English texts of everyday words; a larger model finds more.

    >>> len(BundledEmbedding().get_query_embedding("What do fish do?"))
    256
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"model_name": _model().name, **options})

    @classmethod
    def class_name(cls) -> str:
        """The name in serialized form."""
        return "BundledEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(number) for number in _model().query(query)]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in row] for row in _model().documents(texts)]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)


def _model() -> Embedder:
    return embedding(None)
