"""Scoring: what scores nodes."""

from __future__ import annotations

from llama_index.core.base.embeddings.base import BaseEmbedding

from packline.relevance import Relevance, Semantic, resolve_relevance

__all__ = ["scorer"]


def scorer(given: object) -> Relevance:
    """A scorer for whatever `packline.ContextBuilder` takes, or for an embedding model."""
    return Semantic(given) if isinstance(given, BaseEmbedding) else resolve_relevance(given)
