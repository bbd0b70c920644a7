"""Runs nest: one for the builder, one for each stage, one for each source; and the report goes with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from langchain_packline import (
    Compress,
    ContextBuilder,
    ContextCompressor,
    ContextRetriever,
    Gather,
    Select,
    Structure,
)

QUESTION = "How does pandas read a CSV file?"
LONG = " ".join(f"Pandas reads a CSV file in chunk {n}." for n in range(200))


class Library(BaseRetriever):
    """A retriever that finds one document."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document("Pandas reads a CSV file in chunks.")]


def notes(query: str) -> list[str]:
    return RunnableLambda(lambda _: ["Polars reads CSV, too."]).with_config(run_name="inner").invoke(query)


async def web(query: str) -> list[str]:
    return ["CSV is a format of files."]


class Tracer(BaseTracer):
    """Keeps the finished runs."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.roots.append(run)


def tree(run: Run) -> Any:
    """Name and type of a run, and the same of its children, by name."""
    children = sorted((tree(child) for child in run.child_runs), key=str)
    return (f"{run.name}:{run.run_type}", children) if children else f"{run.name}:{run.run_type}"


def in_order(run: Run) -> list[str]:
    return [child.name for child in sorted(run.child_runs, key=lambda child: child.start_time)]


EXPECTED = (
    "ContextBuilder:prompt",
    [
        "Compress:chain",
        "Select:chain",
        "Structure:chain",
        (
            "Gather:chain",
            ["Library:retriever", "web:chain", ("notes:chain", ["inner:chain"])],
        ),
    ],
)


@pytest.fixture
def tracer() -> Tracer:
    return Tracer()


@pytest.fixture
def builder() -> ContextBuilder:
    return ContextBuilder(sources=[Library(), notes, web])


def check(tracer: Tracer, runs: int = 1) -> None:
    assert [tree(root) for root in tracer.roots] == [_sorted(EXPECTED)] * runs
    assert all(in_order(root) == ["Gather", "Select", "Structure", "Compress"] for root in tracer.roots)
    assert all(root.parent_run_id is None for root in tracer.roots)


def _sorted(node: Any) -> Any:
    return node if isinstance(node, str) else (node[0], sorted(map(_sorted, node[1]), key=str))


def test_runs_nest_under_invoke(tracer: Tracer, builder: ContextBuilder):
    builder.invoke(QUESTION, {"callbacks": [tracer]})

    check(tracer)


async def test_runs_nest_under_ainvoke(tracer: Tracer, builder: ContextBuilder):
    await builder.ainvoke(QUESTION, {"callbacks": [tracer]})

    check(tracer)


def test_runs_nest_under_batch(tracer: Tracer, builder: ContextBuilder):
    builder.batch([QUESTION] * 5, {"callbacks": [tracer]})

    check(tracer, 5)


async def test_runs_nest_under_abatch(tracer: Tracer, builder: ContextBuilder):
    await builder.abatch([QUESTION] * 5, {"callbacks": [tracer]})

    check(tracer, 5)


def test_runs_nest_in_a_chain_of_stages(tracer: Tracer):
    chain = Gather(sources=[Library(), notes, web]) | Select() | Structure() | Compress()

    chain.invoke(QUESTION, {"callbacks": [tracer]})

    (root,) = tracer.roots
    assert in_order(root) == ["Gather", "Select", "Structure", "Compress"]
    assert sorted(in_order(root.child_runs[0])) == ["Library", "notes", "web"]


def test_a_source_that_fails_fails_in_its_own_run_alone(tracer: Tracer):
    def broken(query: str) -> list[str]:
        raise ConnectionError("no route")

    ContextBuilder(sources=[broken]).invoke(QUESTION, {"callbacks": [tracer]})

    (root,) = tracer.roots
    gathering = next(child for child in root.child_runs if child.name == "Gather")
    assert (root.error, gathering.error) == (None, None)
    assert "no route" in str(gathering.child_runs[0].error)


def test_a_source_that_fails_late_fails_in_its_own_run_too(tracer: Tracer):
    def late(query: str) -> Iterator[str]:
        yield "CSV is a format of files."
        raise ConnectionError("no route")

    Gather(sources=[late]).invoke(QUESTION, {"callbacks": [tracer]})

    assert "no route" in str(tracer.roots[0].child_runs[0].error)


async def test_a_summarizing_model_runs_within_compress(tracer: Tracer):
    def model() -> GenericFakeChatModel:
        return GenericFakeChatModel(messages=iter([AIMessage("Pandas reads in chunks.")] * 9))

    value = {"question": QUESTION, "documents": [Document(LONG)]}

    ContextBuilder(max_tokens=400, summarizer=model()).invoke(value, {"callbacks": [tracer]})
    await ContextBuilder(max_tokens=400, summarizer=model()).ainvoke(value, {"callbacks": [tracer]})

    for root in tracer.roots:
        compressing = next(child for child in root.child_runs if child.name == "Compress")
        assert [child.run_type for child in compressing.child_runs] == ["llm"]


class Events(BaseCallbackHandler):
    """Keeps custom events."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any, Any]] = []

    def on_custom_event(self, name: str, data: Any, *, run_id: Any, **kwargs: Any) -> None:
        self.seen.append((name, data, run_id))


class AsyncEvents(AsyncCallbackHandler):
    """Keeps custom events, awaited."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any, Any]] = []

    async def on_custom_event(self, name: str, data: Any, *, run_id: Any, **kwargs: Any) -> None:
        self.seen.append((name, data, run_id))


async def test_the_report_is_an_event_of_the_builders_run(tracer: Tracer):
    builder = ContextBuilder(sources=[Library()])
    handlers: list[Any] = [Events(), AsyncEvents()]

    builder.invoke(QUESTION, {"callbacks": [handlers[0], tracer]})
    await builder.ainvoke(QUESTION, {"callbacks": [handlers[1], tracer]})

    for handler, root in zip(handlers, tracer.roots, strict=True):
        ((name, data, run_id),) = handler.seen
        assert name == "packline_report"
        assert data["tokens"] > 0
        assert set(data["stage_seconds"]) == {"gather", "select", "structure", "compress"}
        assert run_id == root.id


def test_a_chain_of_stages_reports_from_its_last(tracer: Tracer):
    events = Events()

    (Gather() | Select() | Structure() | Compress()).invoke(QUESTION, {"callbacks": [events, tracer]})

    assert [(name, run_id) for name, _, run_id in events.seen] == [
        ("packline_report", tracer.roots[0].child_runs[-1].id)
    ]


async def test_the_report_is_among_the_streamed_events(builder: ContextBuilder):
    events = [event async for event in builder.astream_events(QUESTION, version="v2")]

    assert [event["name"] for event in events if event["event"] == "on_custom_event"] == ["packline_report"]


async def test_the_figures_are_in_the_metadata_of_the_run(tracer: Tracer, builder: ContextBuilder):
    context = builder.with_context().invoke(QUESTION, {"callbacks": [tracer]})["context"]
    await builder.ainvoke(QUESTION, {"callbacks": [tracer], "metadata": {"user": "ann"}})

    first, second = (root.metadata for root in tracer.roots)
    assert first["packline"]["tokens"] == context.tokens
    assert first["packline"]["kept"] == len(context.kept)
    assert second["packline"] == first["packline"]
    assert second["user"] == "ann"
    assert all("packline" not in child.metadata for root in tracer.roots for child in root.child_runs)


def test_a_build_without_callbacks_reports_to_nobody():
    assert ContextBuilder().invoke(QUESTION).messages


class Compressing(BaseRetriever):
    """A retriever with a compressor behind it, as a contextual compression retriever calls it."""

    compressor: ContextCompressor

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found = [Document(LONG)]
        return list(self.compressor.compress_documents(found, query, callbacks=run_manager.get_child()))

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        callbacks = run_manager.get_child()
        return list(await self.compressor.acompress_documents([Document(LONG)], query, callbacks=callbacks))


async def test_a_compressor_reports_to_the_run_it_works_for_and_its_model_runs_within_that(tracer: Tracer):
    model = GenericFakeChatModel(messages=iter([AIMessage("Pandas reads in chunks.")] * 2))
    retriever = Compressing(compressor=ContextCompressor(max_tokens=200, snippet_share=1.0, summarizer=model))
    events = Events()

    retriever.invoke(QUESTION, {"callbacks": [tracer, events]})
    await retriever.ainvoke(QUESTION, {"callbacks": [tracer, events]})

    assert [(name, run_id) for name, _, run_id in events.seen] == [
        ("packline_report", root.id) for root in tracer.roots
    ]
    assert [[child.run_type for child in root.child_runs] for root in tracer.roots] == [["llm"]] * 2


async def test_the_sources_of_a_retriever_run_within_it(tracer: Tracer):
    retriever = ContextRetriever(sources=[Library(), notes, web])
    events = Events()

    retriever.invoke(QUESTION, {"callbacks": [tracer, events]})
    await retriever.ainvoke(QUESTION, {"callbacks": [tracer, events]})

    for root in tracer.roots:
        assert (root.name, root.run_type) == ("ContextRetriever", "retriever")
        assert sorted(in_order(root)) == ["Library", "notes", "web"]
    assert [name for name, _, _ in events.seen] == ["packline_report"] * 2
