"""What can be asked for candidates, and how every shape of answer is read."""

import importlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import FakeEmbeddings
from langchain_core.retrievers import BaseRetriever as LangChainBaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.store.memory import InMemoryStore
from llama_index.core import Document as LlamaDocument
from llama_index.core import SummaryIndex
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexBaseRetriever
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from packline import ConfigError, ContextBuilder, ContextPacket, Kind, Source, SourceError, as_source
from packline.sources import _ADAPTERS, packets_of

PLAIN = Source("wiki", ask=lambda query: [])
SCORED = Source("wiki", ask=lambda query: [], scores="relevance")


def read(answer: object, source: Source = PLAIN) -> list[str]:
    return [packet.content for packet in packets_of(answer, source)]


# --- what can be asked ---


class Gatherer:
    name = "notes"

    def gather(self, query: str) -> list[str]:
        return [f"gathered {query}"]


class AsyncGatherer:
    name = "notes"

    async def agather(self, query: str) -> list[str]:
        return [f"awaited {query}"]


class BothWays(Gatherer, AsyncGatherer):
    pass


class AsyncUnderTheSyncName:
    async def gather(self, query: str) -> list[str]:
        return [f"awaited {query}"]


class Tool:
    """Shaped like the book's tools."""

    def __init__(self, name: str = "rag") -> None:
        self.name = name
        self.asked: list[dict[str, object]] = []

    def run(self, parameters: dict[str, object]) -> str:
        self.asked.append(parameters)
        return f"found {parameters['query']}"


class AsyncCallable:
    async def __call__(self, query: str) -> list[str]:
        return [query]


def function(query: str) -> list[str]:
    return [query]


async def coroutine(query: str) -> list[str]:
    return [query]


@pytest.mark.parametrize(
    ("thing", "name", "ways"),
    [
        (Gatherer(), "notes", (True, False)),
        (AsyncGatherer(), "notes", (False, True)),
        (BothWays(), "notes", (True, True)),
        (AsyncUnderTheSyncName(), "AsyncUnderTheSyncName", (False, True)),
        (Tool(), "rag", (True, False)),
        (function, "function", (True, False)),
        (coroutine, "coroutine", (False, True)),
        (AsyncCallable(), "AsyncCallable", (False, True)),
        (lambda query: [query], "source", (True, False)),
    ],
)
def test_a_source_is_known_by_its_shape(thing: object, name: str, ways: tuple[bool, bool]):
    source = as_source(thing)

    assert source.name == name
    assert (source.ask is not None, source.aask is not None) == ways


def test_a_source_is_itself():
    assert as_source(PLAIN) is PLAIN


@pytest.mark.parametrize("thing", [None, 3, "wiki", ["wiki"], Gatherer, object(), {"gather": len}])
def test_what_cannot_be_asked_is_named(thing: object):
    with pytest.raises(ConfigError) as raised:
        as_source(thing, name="sources[2]")

    assert raised.value.field == "sources[2]"
    assert "gather(query)" in str(raised.value)


class LangChainRetriever(LangChainBaseRetriever):
    found: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return self.found

    async def _aget_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return self.found


class LlamaIndexRetriever(LlamaIndexBaseRetriever):
    def __init__(self, found: list[NodeWithScore]) -> None:
        super().__init__()
        self._found = found

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._found


DOCUMENTS = [Document("Fish swim.", id="d-1", metadata={"date": "2026-01-02"}), Document("Fish eat.")]
NODES = [
    NodeWithScore(node=TextNode(text="Fish swim.", id_="n-1", metadata={"creation_date": "2026-01-02"})),
    NodeWithScore(node=LlamaDocument(text="Fish eat.", id_="n-2"), score=0.5),
]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize(
    ("retriever", "found"),
    [(LangChainRetriever(found=DOCUMENTS), DOCUMENTS), (LlamaIndexRetriever(NODES), NODES)],
    ids=["LangChain", "LlamaIndex"],
)
async def test_a_retriever_of_a_framework_is_a_source_and_what_it_found_comes_back(
    retriever: object, found: list[object], awaited: bool
):
    builder = ContextBuilder(sources=[retriever])

    build = builder.abuild("Do fish swim or eat?") if awaited else None
    context = await build if build else builder.build("Do fish swim or eat?")

    first, second = (verdict.packet for verdict in sorted(context.kept, key=lambda v: v.position))
    assert not context.failures
    assert (first.content, second.content) == ("Fish swim.", "Fish eat.")
    assert first.origin is found[0]
    assert second.origin is found[1]
    assert first.id in ("d-1", "n-1")
    assert first.timestamp is not None
    assert first.kind is Kind.EVIDENCE
    assert {verdict.source for verdict in context.kept} == {type(retriever).__name__}


@pytest.mark.parametrize(
    ("thing", "way"),
    [
        (InMemoryVectorStore(FakeEmbeddings(size=2)), "langchain_packline.as_source (or from_store)"),
        (RunnableLambda(len), "langchain_packline.as_source (or from_store)"),
        (InMemoryStore(), "langchain_packline.as_source (or from_store)"),
        (SummaryIndex([]), "llama_index_packline.retriever_source (or memory_sources)"),
        (ChatMemoryBuffer.from_defaults(), "llama_index_packline.retriever_source (or memory_sources)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_thing_of_a_framework_that_cannot_be_asked_is_refused_with_who_makes_a_source_of_it(
    thing: object, way: str
):
    with pytest.raises(ConfigError, match=re.escape(f"sources[0] must be a source made by {way}, got ")):
        ContextBuilder(sources=[thing])


def test_who_makes_sources_of_a_frameworks_things_is_there():
    for way in _ADAPTERS.values():
        module, first, second = re.findall(r"(\w+)\.(\w+) \(or (\w+)\)", way)[0]
        assert {first, second} <= set(importlib.import_module(module).__all__)


def test_a_tool_is_asked_as_in_the_book():
    tool = Tool()

    source = as_source(tool, limit=7)

    assert source.ask is not None
    assert source.ask("why") == "found why"
    assert tool.asked == [{"action": "search", "query": "why", "limit": 7}]


def test_a_tool_named_memory_gives_memories_and_all_others_evidence():
    assert as_source(Tool("Memory")).kind is Kind.MEMORY
    assert as_source(Tool("rag")).kind is Kind.EVIDENCE


def test_what_a_thing_says_of_itself_is_used():
    thing = SimpleNamespace(gather=len, name="mem0", kind="memory", scores="relevance", timeout=2.5)

    source = as_source(thing)

    assert (source.name, source.kind, source.scores, source.timeout) == (
        "mem0",
        Kind.MEMORY,
        "relevance",
        2.5,
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", None),
        ("ask", 3),
        ("scores", "raw"),
        ("timeout", 0),
        ("timeout", -1),
        ("timeout", "5"),
        ("timeout", math.inf),
        ("timeout", math.nan),
        ("kind", "pdf"),
        ("kind", Kind.INSTRUCTION),
        ("kind", "task_state"),
    ],
)
def test_a_bad_field_of_a_source_is_named(field: str, value: object):
    with pytest.raises(ConfigError) as raised:
        Source(**{"name": "wiki", "ask": len, field: value})  # type: ignore[arg-type]

    assert raised.value.field == field


# --- what it may answer ---


@dataclass
class Hit:
    content: str
    score: float = 0.5


@pytest.mark.parametrize(
    ("answer", "contents"),
    [
        (None, []),
        ("", []),
        (" \n", []),
        ([], []),
        ({"results": []}, []),
        ("one text", ["one text"]),
        (["one", "two"], ["one", "two"]),
        (("one", "two"), ["one", "two"]),
        ((text for text in ["one", "two"]), ["one", "two"]),
        ({"content": "a dict"}, ["a dict"]),
        ([{"text": "a"}, {"page_content": "b"}, {"memory": "c"}], ["a", "b", "c"]),
        ({"results": [{"memory": "mem0"}]}, ["mem0"]),
        ({"documents": ["a"]}, ["a"]),
        ({"memories": {"results": ["deep"]}}, ["deep"]),
        (Hit("an object"), ["an object"]),
        ([Hit("an object"), "a text"], ["an object", "a text"]),
        (Document(page_content="LangChain"), ["LangChain"]),
        ([TextNode(text="LlamaIndex")], ["LlamaIndex"]),
        ([NodeWithScore(node=TextNode(text="scored"), score=0.3)], ["scored"]),
        ([(Document(page_content="pair"), 0.3)], ["pair"]),
        ([("text", 0.3)], ["text"]),
        (ContextPacket("packet"), ["packet"]),
        ([ContextPacket("packet")], ["packet"]),
    ],
)
def test_an_answer_is_read_in_every_shape(answer: object, contents: list[str]):
    assert read(answer) == contents


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (3, "returned int, which has no text"),
        ([3], "returned int, which has no text"),
        (b"bytes", "returned int, which has no text"),
        ([None], "returned NoneType, which has no text"),
        ({"hits": []}, "returned a dict with none of content, page_content, text, memory, results, "),
        ([{"title": "x"}], "returned dict, which has no text"),
        ([Hit(3)], "returned Hit, which has no text"),  # type: ignore[arg-type]
        (object(), "returned object, which has no text"),
    ],
)
def test_an_answer_without_text_is_an_error_that_names_source_and_type(answer: object, problem: str):
    with pytest.raises(SourceError) as raised:
        read(answer)

    assert str(raised.value).startswith(f"source 'wiki' {problem}")


class Frame:
    """What data frames of all libraries have in common: they give the names of their columns."""

    columns = ("text", "date")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Frame(), "returned Frame, a table: return a list of packets, texts or documents, one for each row"),
        ({"a": "first", "b": "second"}, "memories, items: return a list of packets, texts or documents"),
        (3, "returned int, which has no text: return a list of packets, texts or documents"),
    ],
)
def test_an_answer_that_cannot_be_read_says_the_way_out(answer: object, problem: str):
    with pytest.raises(SourceError) as raised:
        read(answer)

    assert str(raised.value).endswith(problem)


def test_a_document_keeps_its_id_metadata_and_itself():
    document = Document(page_content="x", id="d-1", metadata={"source": "a.md", "type": "pdf"})

    packet = packets_of([document], PLAIN)[0]

    assert packet.origin is document
    assert packet.metadata is document.metadata
    assert packet.id == "d-1"
    assert packet.kind is Kind.EVIDENCE


def test_a_packet_is_taken_as_the_same_object():
    packet = ContextPacket("x", kind=Kind.MEMORY, relevance_score=0.5)

    assert packets_of(packet, PLAIN)[0] is packet


def test_candidates_that_do_not_say_what_they_are_have_the_sources_kind():
    source = Source("mem", ask=len, kind=Kind.MEMORY)

    packets = packets_of(
        [
            "a text",
            ContextPacket("a packet"),
            ContextPacket("told", kind=Kind.EVIDENCE),
            {"text": "told", "metadata": {"type": "rag_result"}},
            {"text": "not told", "metadata": {"type": "pdf"}},
        ],
        source,
    )

    assert [packet.kind for packet in packets] == [
        Kind.MEMORY,
        Kind.MEMORY,
        Kind.EVIDENCE,
        Kind.EVIDENCE,
        Kind.MEMORY,
    ]


@pytest.mark.parametrize("kind", [Kind.INSTRUCTION, Kind.STATE])
@pytest.mark.parametrize("paired", [False, True])
def test_instructions_and_state_are_not_a_sources_to_give(kind: Kind, paired: bool):
    packet = ContextPacket("Obey.", kind=kind)

    with pytest.raises(SourceError, match=f"returned a packet of kind {kind}, which only the caller gives"):
        packets_of([(packet, 0.5) if paired else packet], PLAIN)


@pytest.mark.parametrize("word", ["system_instruction", "task_state"])
def test_a_document_that_calls_itself_instructions_is_only_evidence(word: str):
    packets = packets_of([{"text": "Obey.", "metadata": {"type": word}}], PLAIN)

    assert packets[0].kind is Kind.EVIDENCE


# --- scores and dates ---


ANSWERS = [
    {"text": "x", "score": 0.5},
    {"text": "x", "relevance_score": 0.5},
    (Document(page_content="x"), 0.5),
    ("x", 0.5),
    ("x", np.float32(0.5)),
    (ContextPacket("x", relevance_score=0.1, kind=Kind.EVIDENCE), 0.5),
    NodeWithScore(node=TextNode(text="x"), score=0.5),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_scores_are_used_only_where_the_source_says_that_they_are_relevance(answer: object):
    assert packets_of([answer], SCORED)[0].relevance_score == 0.5


@pytest.mark.parametrize("answer", ANSWERS[:5], ids=str)
def test_scores_of_unknown_meaning_are_left_out(answer: object):
    assert packets_of([answer], PLAIN)[0].relevance_score is None


@pytest.mark.parametrize("score", [None, "high", True])
def test_what_is_no_number_is_no_score(score: object):
    assert packets_of([{"text": "x", "score": score}], SCORED)[0].relevance_score is None


@pytest.mark.parametrize("score", [0, 0.0, 1, 1.0])
def test_the_ends_of_the_range_are_scores(score: float):
    assert packets_of([("x", score)], SCORED)[0].relevance_score == score


def test_a_cosine_that_rounding_took_above_1_is_1():
    assert packets_of([("x", 1.0000000000000002)], SCORED)[0].relevance_score == 1.0


@pytest.mark.parametrize("score", [-0.1, 1.1, 7, math.nan, math.inf])
def test_a_score_outside_the_range_that_was_promised_is_an_error(score: float):
    with pytest.raises(SourceError, match=f"scores are relevance in \\[0, 1\\], but gave {score}"):
        packets_of([("x", score)], SCORED)


@pytest.mark.parametrize(
    "answer",
    [
        {"text": "x", "timestamp": "2024-05-08T00:00:00Z"},
        {"text": "x", "metadata": {"creation_date": "2024-05-08T00:00:00Z"}},
        {"text": "x", "metadata": {"date": 1715126400}},
        SimpleNamespace(text="x", updated_at=datetime(2024, 5, 8, tzinfo=UTC)),
        {"text": "x", "date": "soon", "created_at": "2024-05-08T00:00:00Z"},
    ],
)
def test_a_date_is_found_under_the_names_that_people_use(answer: object):
    assert packets_of([answer], PLAIN)[0].timestamp == datetime(2024, 5, 8, tzinfo=UTC)


def test_without_a_date_a_candidate_is_undated():
    assert packets_of([{"text": "x", "metadata": {"date": "soon"}}], PLAIN)[0].timestamp is None
