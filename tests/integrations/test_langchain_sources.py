"""Whatever LangChain and LangGraph keep texts in is a source, and each costs only itself when it fails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import chromadb
import numpy as np
import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_packline import (
    Compress,
    ContextBuilder,
    ContextRetriever,
    Gather,
    Select,
    Structure,
    as_source,
    from_checkpointer,
    from_store,
    from_vector_store,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from packline import ConfigError, ContextPacket, Gathered, Kind, Source, SourceError

QUESTION = "How does pandas read a CSV file?"
DOCUMENTS = [
    Document("Pandas reads a CSV file in chunks.", id="d1", metadata={"page": 1}),
    Document("Fish swim.", id="d2"),
]


class Known(BaseRetriever):
    """A retriever that always finds the same."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return DOCUMENTS


class OnlyAwaited(BaseRetriever):
    """A retriever that cannot be asked synchronously."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        raise NotImplementedError

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return DOCUMENTS


def found_by(source: Any, config: Any = None, **options: Any) -> Gathered:
    return Gather(sources=[source], **options).invoke(QUESTION, config)


async def afound_by(source: Any, config: Any = None) -> Gathered:
    return await Gather(sources=[source]).ainvoke(QUESTION, config)


def plain(query: str) -> list[Document]:
    return DOCUMENTS


async def awaited(query: str) -> list[Document]:
    return DOCUMENTS


class Named:
    """A source of packline's own kind."""

    name = "named"

    def gather(self, query: str) -> list[Document]:
        return DOCUMENTS


SOURCES = {
    "retriever": Known(),
    "runnable": RunnableLambda(plain),
    "runnable both ways": RunnableLambda(plain, awaited),
    "function": plain,
    "coroutine function": awaited,
    "lambda": lambda query: DOCUMENTS,
    "source of the core": Named(),
    "Source": Source("given", ask=plain),
    "generator": lambda query: (document for document in DOCUMENTS),
}


@pytest.mark.parametrize("thing", SOURCES.values(), ids=SOURCES)
async def test_anything_that_finds_documents_is_a_source_either_way(thing: Any):
    gathered, agathered = found_by(thing), await afound_by(thing)

    for answer in (gathered, agathered):
        assert answer.failures == ()
        assert [packet.origin for packet in answer.packets] == DOCUMENTS
        assert all(p.origin is d for p, d in zip(answer.packets, DOCUMENTS, strict=True))
        assert [packet.id for packet in answer.packets] == ["d1", "d2"]
        assert {packet.kind for packet in answer.packets} == {Kind.EVIDENCE}
        assert [packet.relevance_score for packet in answer.packets] == [None, None]


@pytest.mark.parametrize("thing", [OnlyAwaited(), RunnableLambda(awaited)], ids=["retriever", "runnable"])
async def test_what_can_only_be_awaited_fails_clearly_under_invoke_and_works_under_ainvoke(thing: Any):
    gathered = found_by(thing)

    assert gathered.packets == ()
    assert "ainvoke" in str(gathered.failures[0])
    assert len((await afound_by(thing)).packets) == 2


def test_sources_may_be_named_by_a_mapping():
    gathered = Gather(sources={"wiki": Known(), "notes": plain}).invoke(QUESTION)

    assert gathered.names == ("wiki", "wiki", "notes", "notes")


def test_a_source_has_the_name_of_its_run_or_a_given_one():
    assert as_source(Known()).name == "Known"
    assert as_source(Known().with_config(run_name="library")).name == "library"
    assert as_source(Known(), name="mine").name == "mine"
    assert as_source(plain).name == "plain"
    assert as_source(Known(), kind="memory", timeout=2.5).kind is Kind.MEMORY
    assert as_source(Known(), kind="memory", timeout=2.5).timeout == 2.5


@pytest.mark.parametrize("thing", [42, "text", None, Known, GenericFakeChatModel(messages=iter([]))])
def test_what_cannot_be_asked_is_refused_with_what_can(thing: Any):
    with pytest.raises(ConfigError, match="must be a retriever, a vector store, a Runnable"):
        as_source(thing)


def test_one_bad_source_never_sinks_a_build():
    def broken(query: str) -> list[Document]:
        raise ConnectionError("no route")

    gathered = Gather(sources=[broken, Known()]).invoke(QUESTION)

    assert [packet.id for packet in gathered.packets] == ["d1", "d2"]
    assert [failure.source for failure in gathered.failures] == ["broken"]
    assert "no route" in str(gathered.failures[0])


def test_empty_results_from_every_source_make_a_prompt_without_evidence():
    builder = ContextBuilder(sources=[lambda q: [], lambda q: None, lambda q: ""]).with_context()

    result = builder.invoke(QUESTION)

    assert "[Evidence]" not in result["prompt"].to_string()
    assert (result["context"].kept, result["context"].failures) == ((), ())


def test_the_same_document_from_two_retrievers_stands_once_and_remembers_both():
    copy = Document(DOCUMENTS[0].page_content, id="d1", metadata={"page": 1})
    builder = ContextBuilder(sources={"one": Known(), "other": lambda q: [copy]}).with_context()

    result = builder.invoke(QUESTION)

    assert result["prompt"].to_string().count("in chunks") == 1
    assert [packet.origin for packet in result["context"].kept[0].merged] == [copy]
    assert result["context"].kept[0].packet.origin is DOCUMENTS[0]


# --- vector stores ---


class Scoring(VectorStore):
    """A vector store that gives the scores it is told."""

    def __init__(self, *scores: Any) -> None:
        self.found = [(Document(f"text {place}"), score) for place, score in enumerate(scores)]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document for document, _ in self.found][:k]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return self.found[:k]

    def similarity_search_with_relevance_scores(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return self.found[:k]

    async def asimilarity_search_with_relevance_scores(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return self.found[:k]

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def relevance_of(source: Any) -> list[float | None]:
    return [packet.relevance_score for packet in found_by(source).packets]


@pytest.mark.parametrize(
    ("scores", "relevance"),
    [
        ((0.9, 0.5, 0.0), [0.9, 0.5, 0.0]),  # relevance stands as it is: a real 0.5 stays 0.5
        ((0.5, None, math.nan), [0.5, None, 0.0]),  # None is unknown: scored by packline
        ((4.0, 2.0, 1.0), [1.0, 0.5, 0.25]),
        ((1.0, 0.0, -1.0), [1.0, 0.5, 0.0]),
        ((-1.0, -2.0, -3.0), [0.5, 0.25, 0.0]),
        ((1.0000000000000002, 0.5), [1.0, 0.5]),
        ((), []),
    ],
)
async def test_relevance_scores_of_a_vector_store_are_used_and_their_order_is_kept(
    scores: tuple[Any, ...], relevance: list[float | None]
):
    awaited = [p.relevance_score for p in (await afound_by(Scoring(*scores))).packets]

    assert relevance_of(Scoring(*scores)) == pytest.approx(relevance)
    assert awaited == pytest.approx(relevance)


def test_distances_become_relevance_the_nearest_first():
    assert relevance_of(from_vector_store(Scoring(0.0, 1.0, 3.0), scores="distance")) == [1.0, 0.5, 0.25]
    assert relevance_of(from_vector_store(Scoring(-1.0, 0.0), scores="distance")) == [1.0, 0.5]


def test_ranks_make_relevance_of_scores_that_are_all_small():
    assert relevance_of(from_vector_store(Scoring(0.033, 0.016), scores="rank")) == [1.0, 0.5]


def test_scores_of_a_vector_store_can_be_ignored_and_its_search_limited():
    assert relevance_of(from_vector_store(Scoring(0.9, 0.5, 0.1), scores="ignore", k=2)) == [None, None]
    with pytest.raises(ConfigError, match="scores must be one of 'rank', 'minmax', 'scaled', 'distance'"):
        from_vector_store(Scoring(), scores="cosine")


async def test_a_vector_store_without_relevance_scores_is_searched_without():
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(DOCUMENTS)

    assert {packet.id for packet in found_by(store).packets} == {"d1", "d2"}
    assert {packet.id for packet in (await afound_by(store)).packets} == {"d1", "d2"}
    assert relevance_of(store) == [None, None]


def backwards(query: str, packets: Sequence[ContextPacket]) -> np.ndarray:
    """A scorer that puts what stands last first."""
    return np.arange(1, len(packets) + 1) / len(packets)


def told(source: object, **options: Any) -> list[float | None]:
    """The relevance of each document of `source` in its order; a retriever's order is by the same."""
    builder = ContextBuilder(sources=[source], min_relevance=0.0, recent_turns=0, **options)
    context = builder.with_context().invoke("Which one?")["context"]
    relevance = [v.relevance for v in sorted(context.kept, key=lambda verdict: verdict.position)]
    retriever = ContextRetriever(sources=[source], min_relevance=0.0, **options)
    by_relevance = sorted(range(len(relevance)), key=lambda place: -(relevance[place] or 0.0))
    found = [document.page_content for document in retriever.invoke("Which one?")]
    assert found == [f"text {place}" for place in by_relevance]
    return relevance


def test_a_relevance_that_is_given_scores_the_documents_of_a_vector_store():
    store = Scoring(0.9, 0.5)

    assert told(store) == [0.9, 0.5]
    assert told(store, relevance=backwards) == [0.5, 1.0]
    assert told(from_vector_store(store), relevance=backwards) == [0.5, 1.0]
    assert told(from_vector_store(store, scores="scaled"), relevance=backwards) == [0.9, 0.5]
    assert told(from_vector_store(store, scores="ignore"), relevance=backwards) == [0.5, 1.0]


async def test_stages_in_a_row_score_a_vector_store_as_the_builder_does():
    sources, asked = [Scoring(0.9, 0.5)], "Which one?"
    for relevance in (None, backwards):
        stages = (
            Gather(sources=sources)
            | Select(relevance=relevance, min_relevance=0.0)
            | Structure()
            | Compress()
        )
        builder = ContextBuilder(sources=sources, relevance=relevance, min_relevance=0.0)

        assert stages.invoke(asked) == builder.invoke(asked) == await stages.ainvoke(asked)


@pytest.fixture
def chroma() -> Chroma:
    """A real store in memory with the two documents."""
    store = Chroma(
        collection_name="documents",
        embedding_function=DeterministicFakeEmbedding(size=8),
        client=chromadb.EphemeralClient(),
        collection_metadata={"hnsw:space": "cosine"},
    )
    store.reset_collection()
    store.add_documents(DOCUMENTS)
    return store


@pytest.mark.filterwarnings("ignore:Relevance scores must be between 0 and 1")
@pytest.mark.parametrize("wrapped", ["store", "distance", "retriever"])
async def test_a_real_chroma_store_is_a_source_as_it_is_and_as_a_retriever(chroma: Chroma, wrapped: str):
    source = {
        "store": chroma,
        "distance": from_vector_store(chroma, scores="distance"),
        "retriever": chroma.as_retriever(search_kwargs={"k": 2}),
    }[wrapped]

    gathered = found_by(source)

    assert {packet.id for packet in gathered.packets} == {"d1", "d2"}
    assert [p.id for p in (await afound_by(source)).packets] == [p.id for p in gathered.packets]
    if wrapped != "retriever":
        scores = relevance_of(source)
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


# --- memory ---


@pytest.fixture
def store() -> InMemoryStore:
    """What two users have told."""
    store = InMemoryStore()
    store.put(("memories", "ann"), "1", {"text": "Ann likes pandas."})
    store.put(("memories", "bob"), "1", {"text": "Bob likes polars.", "type": "pdf"})
    return store


async def test_a_langgraph_store_gives_the_memories_of_one_user_with_their_dates(store: InMemoryStore):
    source = from_store(store, ("memories", "{user_id}"))
    config = {"configurable": {"user_id": "ann"}}

    for gathered in (found_by(source, config), await afound_by(source, config)):
        (packet,) = gathered.packets
        item = store.get(("memories", "ann"), "1")
        assert (packet.content, packet.kind, packet.id) == (
            "Ann likes pandas.",
            Kind.MEMORY,
            "memories/ann/1",
        )
        assert packet.timestamp == item.updated_at


def test_a_namespace_that_is_not_filled_finds_nothing_of_anyone(store: InMemoryStore):
    gathered = found_by(from_store(store, ("memories", "{user_id}")))

    assert gathered.packets == ()
    assert "needs config['configurable']['user_id'] for its namespace" in str(gathered.failures[0])


def test_a_bare_langgraph_store_is_refused_since_it_holds_everyones_memories(store: InMemoryStore):
    with pytest.raises(ConfigError, match=r"from_store\(store, namespace\)"):
        Gather(sources=[store])


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (lambda: from_store(5, ("m",)), "store must be a LangGraph store"),
        (lambda: from_store(InMemoryStore(), "m"), "namespace must be a tuple of texts"),
        (lambda: from_store(InMemoryStore(), ("m", 5)), "namespace must be a tuple of texts"),
        (lambda: from_store(InMemoryStore(), ("m",), limit=0), "limit must be a whole number from 1, got 0"),
        (lambda: from_store(InMemoryStore(), ("m",), kind="notes"), "kind must be one of"),
        (lambda: from_checkpointer(5), "saver must be a LangGraph checkpointer"),
        (lambda: from_vector_store(Known()), "store must be a LangChain vector store; for a retriever use"),
        (lambda: from_vector_store(Scoring(), k=-1), "k must be a whole number from 1, got -1"),
        (lambda: as_source(Known(), kind="notes"), "kind must be one of"),
    ],
)
def test_what_cannot_be_asked_is_refused_when_the_source_is_made(make: Any, refusal: str):
    with pytest.raises(ConfigError, match=refusal):
        make()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"content": "a"}, "a"),
        ({"data": "b"}, "b"),
        ({"memory": "c"}, "c"),
        ({"likes": "d", "n": 1}, '{"likes": "d", "n": 1}'),
    ],
)
def test_the_text_of_an_item_is_found_or_all_of_it_is_text(value: dict[str, Any], text: str):
    store = InMemoryStore()
    store.put(("m",), "1", value)

    assert [packet.content for packet in found_by(from_store(store, ["m"])).packets] == [text]


def test_the_text_and_the_kind_of_items_can_be_said(store: InMemoryStore):
    source = from_store(store, ("memories",), text=lambda v: v["text"].upper(), kind="evidence", limit=1)

    (packet,) = found_by(source).packets

    assert packet.content.isupper()
    assert packet.kind is Kind.EVIDENCE


CONVERSATION = [HumanMessage("My name is Ann.", id="m1"), AIMessage("Hello Ann.", id="m2")]


def test_the_prompt_and_the_account_of_a_build_can_be_kept_in_a_state_with_a_checkpointer():
    class State(TypedDict, total=False):
        question: str
        prompt: list[AnyMessage]
        account: dict[str, Any]

    def pack(state: State) -> State:
        built = ContextBuilder(sources=[Known()]).with_context().invoke({"question": state["question"]})
        return {"prompt": built["prompt"].to_messages(), "account": built["context"].to_dict()}

    graph = StateGraph(State)
    graph.add_node("pack", pack)
    graph.add_edge(START, "pack")
    packed = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}

    given = packed.invoke({"question": QUESTION}, config)

    assert given["account"]["question"] == QUESTION
    assert packed.get_state(config).values == given


async def test_a_chat_history_is_a_source_of_turns():
    history = SimpleNamespace(messages=CONVERSATION)

    for gathered in (found_by(history), await afound_by(history)):
        assert [packet.origin for packet in gathered.packets] == CONVERSATION
        assert {packet.kind for packet in gathered.packets} == {Kind.HISTORY}


class AwaitedHistory:
    """A chat history that can only be awaited."""

    async def aget_messages(self) -> list[Any]:
        return CONVERSATION


async def test_a_chat_history_that_must_be_awaited_fails_clearly_under_invoke():
    assert len((await afound_by(AwaitedHistory())).packets) == 2
    assert "awaited by ainvoke" in str(found_by(AwaitedHistory()).failures[0])


async def test_a_checkpointer_gives_the_conversation_of_its_thread():
    saver = InMemorySaver()
    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda state: {"messages": [AIMessage("Hello Ann.", id="m2")]})
    graph.add_edge(START, "answer")
    config = {"configurable": {"thread_id": "7"}}
    graph.compile(checkpointer=saver).invoke({"messages": [CONVERSATION[0]]}, config)

    for gathered in (found_by(saver, config), await afound_by(saver, config)):
        assert [packet.content for packet in gathered.packets] == ["My name is Ann.", "Hello Ann."]
    assert len(found_by(from_checkpointer(saver, thread_id="7")).packets) == 2
    assert found_by(from_checkpointer(saver, thread_id="8")).packets == ()
    assert "thread_id" in str(found_by(saver).failures[0])


def test_a_message_made_by_a_model_is_dated_by_its_id():
    message = AIMessage("Hi", id="lc_run--019048a2-5c00-7000-8000-000000000000")

    (packet,) = found_by(SimpleNamespace(messages=[message])).packets

    assert packet.timestamp is not None
    assert packet.timestamp.year == 2024


def test_failures_can_be_raised_instead():
    def broken(query: str) -> list[Document]:
        raise SourceError("broken", "is broken")

    with pytest.raises(ExceptionGroup):
        found_by(broken, strict=True)
