"""Vector stores, as sources: how many documents are asked for, and what their scores say."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.vectorstores import VectorStore

from langchain_packline.asking import asking, check_limit
from langchain_packline.unasked import Unasked
from packline import ConfigError, Source
from packline.scores import ScorePolicy, check_policy, relevance_of

__all__ = ["from_vector_store"]

Scored = tuple[Document, float | None]


def from_vector_store(
    store: VectorStore,
    *,
    k: int = 10,
    scores: ScorePolicy | None = None,
    name: str | None = None,
    timeout: float | None = None,
    **search: Any,
) -> Source:
    """A vector store as a source.

    Args:
        k: How many documents are asked for.
        scores: What its scores say, as in `packline.scores.relevance_of`; each policy keeps their order, and
            documents whose score is None are scored by packline. With "distance" the store is asked for its
            distances, with "ignore" for no scores, else for its relevance scores. A store that has none is
            searched without. None: "scaled", but where a Runnable of packline asks the store and is given
            a `relevance`, that scores its documents (for `packline.ContextBuilder`, say "ignore").
        search: Passed to the store with each search, such as `filter`.

    Raises:
        ConfigError: An argument cannot be used; it is named.
    """
    if not isinstance(store, VectorStore):
        raise ConfigError("store", store, "a LangChain vector store; for a retriever use as_source")
    check_limit("k", k)
    unasked, scores = scores is None, "scaled" if scores is None else scores
    check_policy("scores", scores)

    def find(query: str) -> list[Scored]:
        if scores != "ignore":
            try:
                if scores == "distance":
                    return _relevant(store.similarity_search_with_score(query, k=k, **search), scores)
                found = store.similarity_search_with_relevance_scores(query, k=k, **search)
                return _relevant(found, scores)
            except NotImplementedError:
                pass
        return [(document, None) for document in store.similarity_search(query, k=k, **search)]

    async def afind(query: str) -> list[Scored]:
        if scores != "ignore":
            try:
                if scores == "distance":
                    return _relevant(await store.asimilarity_search_with_score(query, k=k, **search), scores)
                found = await store.asimilarity_search_with_relevance_scores(query, k=k, **search)
                return _relevant(found, scores)
            except NotImplementedError:
                pass
        return [(document, None) for document in await store.asimilarity_search(query, k=k, **search)]

    name = name or type(store).__name__
    runnable: Runnable[str, Any] = RunnableLambda(find, afind, name=name)
    source = dataclasses.replace(asking(runnable, name), scores="relevance", timeout=timeout)
    return Unasked.of(source) if unasked else source


def _relevant(found: Sequence[tuple[Document, float | None]], policy: ScorePolicy) -> list[Scored]:
    relevance = relevance_of([score for _, score in found], policy)
    return [(document, score) for (document, _), score in zip(found, relevance, strict=True)]
