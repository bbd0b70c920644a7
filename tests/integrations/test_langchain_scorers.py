"""What a scorer remembers belongs to one builder and its copies, and goes with them."""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import ConfigurableField, Runnable
from langchain_packline import ContextBuilder, ContextCompressor, ContextRetriever, Select
from langchain_packline.middleware import ContextMiddleware

TEXTS = ["Fish swim in the sea.", "Profits rose by a tenth."]
QUESTION = "What do fish do?"


class Counting(Embeddings):
    """An embedding model of two numbers, which keeps what it was asked for."""

    def __init__(self) -> None:
        self.documents: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.documents += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float("fish" in text.lower())]


def source(query: str) -> list[Document]:
    return [Document(text) for text in TEXTS]


MODEL = Counting()


@pytest.mark.parametrize("relevance", ["lexical", "hybrid", MODEL], ids=["lexical", "hybrid", "model"])
def test_no_document_outlives_its_builder(relevance: object):
    documents = source("")
    alive = [weakref.ref(document) for document in documents]
    builder = ContextBuilder(sources=[lambda query, found=documents: found], relevance=relevance)
    compressor = ContextCompressor(relevance=relevance)
    builder.bind(max_tokens=500).invoke(QUESTION)
    compressor.compress_documents(documents, QUESTION)

    del documents, builder, compressor
    for thread in threading.enumerate():
        if thread.name.startswith("packline-"):  # the source's, which has answered and is about to end
            thread.join()
    gc.collect()

    assert [reference() for reference in alive] == [None, None]


def test_another_builder_with_the_same_model_has_a_scorer_of_its_own():
    model = Counting()

    first, second = Select(relevance=model), Select(relevance=model)

    assert first.scorer is not second.scorer
    assert Select(relevance="hybrid").scorer is not Select(relevance="hybrid").scorer


def by_configurable_field(builder: Any) -> Runnable[Any, Any]:
    field = ConfigurableField(id="budget")
    return builder.configurable_fields(max_tokens=field).with_config(configurable={"budget": 500})


COPIES: dict[str, Callable[[Any], Any]] = {
    "bind": lambda builder: builder.bind(max_tokens=500),
    "model_copy": lambda builder: builder.model_copy(update={"max_tokens": 500}),
    "plain model_copy": lambda builder: builder.model_copy(),
    "copy": copy.copy,
    "configurable field": by_configurable_field,
    "copy of a copy": lambda builder: by_configurable_field(builder.model_copy(update={"max_tokens": 400})),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copy_of_a_builder_embeds_no_text_again(copied: Callable[[Any], Any]):
    model = Counting()
    builder = ContextBuilder(sources=[source], relevance=model)
    builder.invoke(QUESTION)

    copied(builder).invoke(QUESTION)

    assert sorted(model.documents) == sorted(TEXTS)


def test_a_builder_that_gives_its_context_embeds_no_text_again():
    model = Counting()
    builder = ContextBuilder(sources=[source], relevance=model)

    for runnable in (builder, builder.with_context(), builder.with_context().bind(max_tokens=500)):
        runnable.invoke(QUESTION)

    assert sorted(model.documents) == sorted(TEXTS)


def test_a_copy_of_a_retriever_or_compressor_embeds_no_text_again():
    first, second = Counting(), Counting()
    retriever = ContextRetriever(sources=[source], relevance=first)
    compressor = ContextCompressor(relevance=second)

    for each in (retriever, by_configurable_field(retriever), retriever.model_copy(update={"k": 1})):
        each.invoke(QUESTION)
    for every in (compressor, compressor.model_copy(update={"max_tokens": 500})):
        every.compress_documents(source(""), QUESTION)

    assert sorted(first.documents) == sorted(second.documents) == sorted(TEXTS)


def test_a_copy_with_another_scorer_scores_by_that_one():
    model = Counting()
    builder = ContextBuilder(sources=[source], relevance="lexical")
    builder.invoke(QUESTION)

    builder.bind(relevance=model).invoke(QUESTION)

    assert sorted(model.documents) == sorted(TEXTS)


def test_two_middlewares_share_no_scorer():
    first, second = ContextMiddleware(relevance=MODEL), ContextMiddleware(relevance=MODEL)

    assert first._select.scorer is not second._select.scorer
