"""What is awaited does not hold the event loop: reading, scoring and shortening are done in threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from langchain.agents.middleware import ModelRequest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from langchain_packline import ContextBuilder, ContextCompressor, ContextRetriever, Gather, Select
from langchain_packline.middleware import ContextMiddleware

from packline import Context, ContextPacket

QUESTION = "How does pandas read a CSV file?"
HISTORY = [HumanMessage("I read CSV files with pandas."), AIMessage("How large are they?")]
LONG = " ".join(f"Pandas reads a CSV file in chunk {n}." for n in range(200))


class Watched:
    """A scorer and a counter that take down in which threads they work, within a run of their own."""

    def __init__(self) -> None:
        self.threads: set[threading.Thread] = set()

    def __call__(self, text: str) -> int:
        self.threads.add(threading.current_thread())
        return len(text)

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> np.ndarray:
        self.threads.add(threading.current_thread())
        RunnableLambda(len).with_config(run_name="scorer").invoke(packets)
        return np.full(len(packets), 0.5)


class Tracer(BaseTracer):
    """Keeps the finished runs."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.roots.append(run)


def notes(query: str) -> list[str]:
    return ["Pandas reads a CSV file in chunks.", LONG]


@pytest.fixture
def watched() -> Watched:
    return Watched()


def options(watched: Watched) -> dict[str, Any]:
    return {"relevance": watched, "token_counter": watched, "max_tokens": 1000}


async def test_a_builder_and_its_scorer_work_in_threads_within_the_run_of_select(watched: Watched):
    tracer = Tracer()
    builder = ContextBuilder(sources=[notes], **options(watched))
    asked = {"question": QUESTION, "chat_history": HISTORY}
    config = {"configurable": {"now": "2026-01-15T12:00:00Z"}}

    prompt = await builder.ainvoke(asked, {**config, "callbacks": [tracer]})

    assert watched.threads
    assert threading.current_thread() not in watched.threads
    (root,) = tracer.roots
    (select,) = (child for child in root.child_runs if child.name == "Select")
    assert [child.name for child in select.child_runs] == ["scorer"]
    assert prompt == builder.invoke(asked, config)


async def test_select_works_in_a_thread(watched: Watched):
    gathered = Gather(sources=[notes]).invoke(QUESTION)
    select = Select(**options(watched))

    selection = await select.ainvoke(gathered)

    assert watched.threads
    assert threading.current_thread() not in watched.threads
    assert selection == select.invoke(gathered)


async def test_a_retriever_works_in_threads(watched: Watched):
    retriever = ContextRetriever(sources=[notes], **options(watched))

    documents = await retriever.ainvoke(QUESTION)

    assert watched.threads
    assert threading.current_thread() not in watched.threads
    assert documents == retriever.invoke(QUESTION)


async def test_a_compressor_works_in_threads(watched: Watched):
    compressor = ContextCompressor(**options(watched))

    documents = await compressor.acompress_documents([Document(LONG)], QUESTION)

    assert watched.threads
    assert threading.current_thread() not in watched.threads
    assert documents == compressor.compress_documents([Document(LONG)], QUESTION)


def request(messages: list[Any]) -> ModelRequest:
    return ModelRequest(
        model=None,  # type: ignore[arg-type]  # never called
        messages=messages,
        tools=[{"name": "look", "description": "Looks."}],
        tool_choice=None,
        response_format=None,
        state={"messages": messages},
        runtime=SimpleNamespace(),
        system_prompt="Be exact.",
    )


async def test_the_middleware_works_in_threads(watched: Watched):
    middleware = ContextMiddleware(sources=[notes], **options(watched))
    messages = [*HISTORY, HumanMessage(QUESTION)]

    async def ahandler(request: ModelRequest) -> list[Any]:
        return request.messages

    sent = await middleware.awrap_model_call(request(messages), ahandler)

    assert watched.threads
    assert threading.current_thread() not in watched.threads
    fresh = ContextMiddleware(sources=[notes], **options(watched))
    assert sent == fresh.wrap_model_call(request(messages), lambda request: request.messages)


class Read(SimpleNamespace):
    """A message that takes down in which threads it is read."""

    role = "user"

    @property
    def content(self) -> str:
        self.threads.add(threading.current_thread())
        return "I read CSV files with pandas."


@pytest.mark.parametrize("shape", ["history", "messages"])
async def test_a_conversation_is_read_in_a_thread(shape: str):
    threads: set[threading.Thread] = set()
    asked: Any = {"question": QUESTION, "chat_history": [Read(threads=threads)]}
    if shape == "messages":
        asked = [Read(threads=threads), HumanMessage(QUESTION)]

    gathered = await Gather().ainvoke(asked)

    assert [turn.content for turn in gathered.request.history] == ["I read CSV files with pandas."]
    assert threads
    assert threading.current_thread() not in threads


class Dated(AIMessage):
    """A message that takes down in which threads it is read."""

    @property
    def timestamp(self) -> None:
        self.additional_kwargs["threads"].add(threading.current_thread())


async def test_the_middleware_reads_the_conversation_in_a_thread():
    threads: set[threading.Thread] = set()
    answer = Dated("How large are they?", additional_kwargs={"threads": threads})

    async def ahandler(request: ModelRequest) -> list[Any]:
        return request.messages

    asked = request([HISTORY[0], answer, HumanMessage(QUESTION)])
    sent = await ContextMiddleware().awrap_model_call(asked, ahandler)

    assert answer in sent
    assert threads
    assert threading.current_thread() not in threads


class Saver:
    """A checkpointer that holds one message."""

    def __init__(self, message: AIMessage) -> None:
        self.found = SimpleNamespace(checkpoint={"channel_values": {"messages": [message]}})

    def get_tuple(self, config: Any) -> Any:
        return self.found

    async def aget_tuple(self, config: Any) -> Any:
        return self.found


@pytest.mark.parametrize("kind", ["conversation", "checkpointer"])
async def test_a_conversation_that_is_a_source_is_read_in_a_thread(kind: str):
    threads: set[threading.Thread] = set()
    message = Dated("Fish swim.", additional_kwargs={"threads": threads})
    source = SimpleNamespace(messages=[message]) if kind == "conversation" else Saver(message)

    gathered = await Gather(sources=[source]).ainvoke(QUESTION, {"configurable": {"thread_id": "1"}})

    assert [packet.content for packet in gathered.packets] == ["Fish swim."]
    assert threads
    assert threading.current_thread() not in threads


async def compressed(question: str) -> Sequence[Document]:
    return await ContextCompressor().acompress_documents([Document(LONG)], question)


@pytest.mark.parametrize("runnable", [ContextBuilder(), RunnableLambda(compressed)], ids=["run", "event"])
async def test_the_report_is_written_out_in_a_thread(monkeypatch: pytest.MonkeyPatch, runnable: Any):
    threads = []
    written = Context.to_dict

    def to_dict(context: Context) -> dict[str, object]:
        threads.append(threading.current_thread())
        return written(context)

    monkeypatch.setattr(Context, "to_dict", to_dict)
    await runnable.ainvoke(QUESTION, {"callbacks": [Tracer()]})

    assert len(threads) == 1
    assert threading.current_thread() not in threads
