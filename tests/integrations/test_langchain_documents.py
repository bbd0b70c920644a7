"""Documents in, documents out: the compressor and the retriever hold a budget and hand back the very same."""

from __future__ import annotations

import copy
import json
import pickle
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField
from langchain_packline import ContextCompressor, ContextRetriever, from_store
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langgraph.store.memory import InMemoryStore

from packline import ConfigError

QUESTION = "How does pandas read a CSV file?"
CHUNKS = Document("Pandas reads a CSV file in chunks.", id="chunks", metadata={"page": 1, "type": "pdf"})
PARSER = Document("The CSV parser of pandas is in C.", id="parser", metadata={"page": 2})
FISH = Document("Fish swim in the sea.", id="fish")
LONG = Document(
    " ".join(f"Pandas reads a CSV file in chunk {n}. Fish swim in sea {n}." for n in range(50)),
    id="long",
    metadata={"page": 3},
)


def compressed(documents: list[Document], query: str = QUESTION, **options: Any) -> list[Document]:
    return list(ContextCompressor(token_counter=len, **options).compress_documents(documents, query))


def test_relevant_documents_come_back_as_the_same_objects_best_first():
    documents = compressed([FISH, PARSER, CHUNKS], max_tokens=100)

    assert all(d is e for d, e in zip(documents, (CHUNKS, PARSER), strict=True))


async def test_the_awaited_way_gives_the_same():
    compressor = ContextCompressor(max_tokens=300, token_counter=len)
    documents = [FISH, LONG, PARSER, CHUNKS]

    assert await compressor.acompress_documents(documents, QUESTION) == list(
        compressor.compress_documents(documents, QUESTION)
    )


async def test_empty_in_empty_out():
    compressor = ContextCompressor()

    assert compressor.compress_documents([], QUESTION) == []
    assert await compressor.acompress_documents([], QUESTION) == []


def test_a_shortened_document_is_a_new_plain_one_with_the_same_id_and_metadata():
    before = copy.deepcopy(LONG)

    (document,) = compressed([LONG], max_tokens=200, snippet_share=1.0)

    assert type(document) is Document
    assert (document.id, document.metadata) == ("long", {"page": 3})
    assert document.metadata is not LONG.metadata
    assert 100 < len(document.page_content) <= 200
    assert "Pandas reads" in document.page_content
    assert before == LONG


@given(
    texts=st.lists(st.text(max_size=60), max_size=6),
    max_tokens=st.integers(1, 200),
    separator=st.sampled_from(["\n\n", "\n---\n"]),
)
def test_the_joined_texts_never_exceed_the_budget(texts: list[str], max_tokens: int, separator: str):
    documents = [Document(f"pandas {text}") for text in texts]

    chosen = compressed(documents, max_tokens=max_tokens, separator=separator, min_relevance=0.0)

    assert len(separator.join(document.page_content for document in chosen)) <= max_tokens


def test_the_order_can_be_that_of_the_retriever():
    documents = compressed([PARSER, FISH, CHUNKS], max_tokens=100, order="given")

    assert [document.id for document in documents] == ["parser", "chunks"]


def test_what_became_of_each_document_is_told():
    documents, context = ContextCompressor(max_tokens=100, token_counter=len).explained(
        [FISH, CHUNKS, copy.deepcopy(CHUNKS)], QUESTION
    )

    assert documents == [CHUNKS]
    assert {verdict.packet.id: verdict.reason.value for verdict in context.dropped} == {
        "fish": "relevance below the minimum",
        "chunks": "says the same as a kept one",
    }


class Failing(GenericFakeChatModel):
    """A model that is out of order."""

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("no route")


def test_a_model_that_shortens_is_used():
    model = GenericFakeChatModel(messages=iter([AIMessage("Pandas reads CSV in 50 chunks.")]))

    (document,) = compressed([LONG], max_tokens=200, snippet_share=1.0, summarizer=model)

    assert document.page_content == "Pandas reads CSV in 50 chunks."


async def test_where_the_model_raises_the_text_is_kept_and_the_report_says_so():
    compressor = ContextCompressor(
        max_tokens=300, snippet_share=0.5, token_counter=len, summarizer=Failing(messages=iter([]))
    )

    documents, context = compressor.explained([LONG, CHUNKS], QUESTION)

    assert {document.id for document in documents} == {"long", "chunks"}
    assert all("Pandas reads" in document.page_content for document in documents)
    assert [failure.source for failure in context.failures] == ["summarizer"]
    assert list(await compressor.acompress_documents([LONG, CHUNKS], QUESTION)) == documents


def test_it_is_a_compressor_to_langchain_and_refuses_unknown_options():
    assert isinstance(ContextCompressor(), BaseDocumentCompressor)
    with pytest.raises(ConfigError, match="perhaps 'max_tokens'"):
        ContextCompressor(max_token=3)


# --- the retriever ---


class Known(BaseRetriever):
    """A retriever that always finds the same."""

    found: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.found


class TestContextRetriever(RetrieversIntegrationTests):
    """langchain-tests' own suite."""

    @property
    def retriever_constructor(self) -> type[ContextRetriever]:
        return ContextRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        sea = Document("Pandas and polars both read CSV files.", id="both")
        return {"sources": [Known(found=[CHUNKS, FISH]), Known(found=[PARSER]), Known(found=[sea])]}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


async def test_a_retriever_gathers_from_several_sources_and_keeps_the_very_documents():
    retriever = ContextRetriever(sources={"a": Known(found=[CHUNKS, FISH]), "b": lambda q: [PARSER]})

    documents = retriever.invoke(QUESTION)

    assert all(d is e for d, e in zip(documents, (CHUNKS, PARSER), strict=True))
    assert await retriever.ainvoke(QUESTION) == documents


def test_a_retriever_merges_duplicates_of_two_sources():
    twin = Document(CHUNKS.page_content, id="chunks", metadata=dict(CHUNKS.metadata))

    documents = ContextRetriever(sources=[Known(found=[CHUNKS]), Known(found=[twin])]).invoke(QUESTION)

    assert len(documents) == 1
    assert documents[0] is CHUNKS


def test_a_retriever_holds_the_budget_and_gives_no_more_than_k():
    sources = [Known(found=[CHUNKS, PARSER])]

    by_budget = ContextRetriever(sources=sources, max_tokens=40, token_counter=len).invoke(QUESTION)
    by_k = ContextRetriever(sources=[Known(found=[CHUNKS, PARSER, LONG])], k=1).invoke(QUESTION)

    assert by_budget == [CHUNKS]
    assert len(by_k) == 1
    with pytest.raises(ConfigError, match="k must be a whole number from 1, or None, got 0"):
        ContextRetriever(k=0)


async def test_a_retriever_hands_the_settings_of_the_call_to_its_sources():
    store = InMemoryStore()
    store.put(("memories", "ann"), "1", {"text": "Ann reads CSV files with pandas."})
    retriever = ContextRetriever(sources=[from_store(store, ("memories", "{user_id}"))])
    config = {"configurable": {"user_id": "ann"}}

    for documents in (retriever.invoke(QUESTION, config), await retriever.ainvoke(QUESTION, config)):
        (document,) = documents
        assert document.page_content == "Ann reads CSV files with pandas."
        assert document.id == "memories/ann/1"
    assert retriever.invoke(QUESTION) == []


def test_a_conversation_can_be_retrieved_from():
    history = SimpleNamespace(messages=[("user", "I read CSV files with pandas.")])

    (document,) = ContextRetriever(sources=[history]).invoke(QUESTION)

    assert document.page_content == "I read CSV files with pandas."


def test_a_retriever_and_a_compressor_are_pickled_whole_and_shown_without_what_they_hold():
    retriever = ContextRetriever(sources={"known": Known(found=[CHUNKS])}, max_tokens=500)
    compressor = ContextCompressor(max_tokens=500, relevance="jaccard")

    for thing in (retriever, compressor):
        assert pickle.loads(pickle.dumps(thing)) == thing
    assert pickle.loads(pickle.dumps(retriever)).invoke(QUESTION) == [CHUNKS]
    assert repr(retriever) == "ContextRetriever(max_tokens=500, sources={'known': Known})"
    assert CHUNKS.page_content not in json.dumps(dumpd(retriever))


def test_the_settings_of_a_retriever_can_be_set_for_one_call():
    retriever = ContextRetriever(sources=[Known(found=[CHUNKS, PARSER])]).configurable_fields(
        k=ConfigurableField(id="k")
    )

    assert len(retriever.invoke(QUESTION)) == 2
    assert len(retriever.invoke(QUESTION, {"configurable": {"k": 1}})) == 1


def test_a_value_that_pydantic_refuses_is_refused_in_the_words_of_all_others():
    with pytest.raises(ConfigError, match=r"^order must be 'score', 'given' or 'ends', got 'newest'$"):
        ContextCompressor(order="newest")


@pytest.mark.parametrize("query", ["", " ", None])
async def test_documents_cannot_be_chosen_for_no_query(query: Any):
    with pytest.raises(ConfigError, match="query must be a text that is not empty"):
        ContextCompressor().compress_documents([FISH], query)
    with pytest.raises(ConfigError, match="query must be a text that is not empty"):
        await ContextCompressor().acompress_documents([FISH], query)
