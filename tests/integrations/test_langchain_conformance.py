"""Every Runnable of packline does all that a Runnable of LangChain does, the same in each way of calling."""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
import warnings
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, fields
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumpd, load
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableSerializable
from langchain_packline import (
    Compress,
    ContextBuilder,
    ContextBuilderWithContext,
    ContextCompressor,
    ContextRetriever,
    Gather,
    Select,
    Structure,
)

from packline import BudgetError, ConfigError, ContextConfig, Template

NOW: RunnableConfig = {"configurable": {"now": "2026-01-15T12:00:00Z"}}
QUESTION = "How does pandas read a large CSV file?"
SECRET = "SECRET-TEXT-OF-A-DOCUMENT"
DOCUMENTS = [
    Document("Pandas reads a large CSV file in chunks.", id="chunks"),
    Document(f"The parser of CSV files is written in C. {SECRET}", id="parser"),
    Document("Fish swim in the sea.", id="fish"),
]


def library(query: str) -> list[Document]:
    """A source that can be pickled."""
    return DOCUMENTS


@dataclass(frozen=True)
class Case:
    """A Runnable, an input for it, and an option with a value that changes the result."""

    runnable: RunnableSerializable[Any, Any]
    input: Any
    option: str
    value: Any


GATHERED = Gather(sources=[library]).invoke(
    {"question": QUESTION, "chat_history": [("user", "What is CSV?"), ("assistant", "A format.")]}, NOW
)
SELECTION = Select(max_tokens=400).invoke(GATHERED)
DRAFT = Structure().invoke(SELECTION)
CASES = {
    "gather": Case(Gather(sources=[library]), QUESTION, "sources", ()),
    "select": Case(Select(max_tokens=400), GATHERED, "max_tokens", 300),
    "structure": Case(Structure(), SELECTION, "template", Template(style="xml")),
    "compress": Case(Compress(), DRAFT, "layout", "chat"),
    "builder": Case(ContextBuilder(sources=[library], max_tokens=400), QUESTION, "max_tokens", 70),
    "with_context": Case(
        ContextBuilder(sources=[library], max_tokens=400).with_context(), QUESTION, "max_tokens", 70
    ),
}
RUNNABLES = [case.runnable for case in CASES.values()]


def comparable(output: Any) -> Any:
    """An output in a form that compares by content."""
    if isinstance(output, dict):
        return output["prompt"], output["context"].text
    return output


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    """One case after the other."""
    return CASES[request.param]


@pytest.fixture
def expected(case: Case) -> Any:
    """What invoke gives."""
    return comparable(case.runnable.invoke(case.input, NOW))


class TestEveryWayOfCallingGivesWhatInvokeGives:
    async def test_ainvoke(self, case: Case, expected: Any):
        assert comparable(await case.runnable.ainvoke(case.input, NOW)) == expected

    def test_batch(self, case: Case, expected: Any):
        outputs = case.runnable.batch([case.input, case.input], NOW)

        assert list(map(comparable, outputs)) == [expected, expected]

    async def test_abatch(self, case: Case, expected: Any):
        outputs = await case.runnable.abatch([case.input, case.input], NOW)

        assert list(map(comparable, outputs)) == [expected, expected]

    def test_batch_as_completed(self, case: Case, expected: Any):
        outputs = dict(case.runnable.batch_as_completed([case.input, case.input], NOW))

        assert list(map(comparable, outputs.values())) == [expected, expected]

    def test_stream(self, case: Case, expected: Any):
        assert list(map(comparable, case.runnable.stream(case.input, NOW))) == [expected]

    async def test_astream(self, case: Case, expected: Any):
        assert [comparable(chunk) async for chunk in case.runnable.astream(case.input, NOW)] == [expected]

    def test_transform(self, case: Case, expected: Any):
        outputs = case.runnable.transform(iter([case.input]), NOW)

        assert list(map(comparable, outputs)) == [expected]

    async def test_atransform(self, case: Case, expected: Any):
        async def chunks() -> AsyncIterator[Any]:
            yield case.input

        outputs = case.runnable.atransform(chunks(), NOW)

        assert [comparable(output) async for output in outputs] == [expected]

    async def test_astream_events(self, case: Case, expected: Any):
        events = [event async for event in case.runnable.astream_events(case.input, NOW, version="v2")]

        ends = [event for event in events if event["event"] in ("on_chain_end", "on_prompt_end")]
        assert comparable(ends[-1]["data"]["output"]) == expected
        assert ends[-1]["parent_ids"] == []


class TestEveryRunnableCanBeChanged:
    def test_bind_sets_an_option(self, case: Case):
        bound = case.runnable.bind(**{case.option: case.value})
        changed = type(case.runnable)(**{**case.runnable.given(), case.option: case.value})

        output = comparable(bound.invoke(case.input, NOW))

        assert output == comparable(changed.invoke(case.input, NOW))
        assert output != comparable(case.runnable.invoke(case.input, NOW))

    def test_configurable_fields_set_an_option_for_one_call(self, case: Case):
        field = ConfigurableField(id=case.option)
        runnable = case.runnable.configurable_fields(**{case.option: field})
        changed = type(case.runnable)(**{**case.runnable.given(), case.option: case.value})

        output = runnable.invoke(
            case.input, {"configurable": {**NOW["configurable"], case.option: case.value}}
        )

        assert comparable(output) == comparable(changed.invoke(case.input, NOW))
        assert comparable(runnable.invoke(case.input, NOW)) == comparable(
            case.runnable.invoke(case.input, NOW)
        )

    def test_configurable_alternatives_choose_between_two(self, case: Case):
        other = type(case.runnable)(**{**case.runnable.given(), case.option: case.value})
        runnable = case.runnable.configurable_alternatives(ConfigurableField(id="which"), other=other)

        output = runnable.invoke(case.input, {"configurable": {**NOW["configurable"], "which": "other"}})

        assert comparable(output) == comparable(other.invoke(case.input, NOW))

    def test_with_config_with_retry_and_with_fallbacks_change_no_result(self, case: Case, expected: Any):
        wrapped = (
            case.runnable.with_config(tags=["a"], metadata={"b": 1})
            .with_retry(stop_after_attempt=2)
            .with_fallbacks([case.runnable])
        )

        assert comparable(wrapped.invoke(case.input, NOW)) == expected

    def test_an_unknown_option_is_refused_and_the_nearest_is_named(self, case: Case):
        with pytest.raises(ConfigError, match=f"perhaps '{case.option}'"):
            type(case.runnable)(**{case.option[:-1]: case.value})
        with pytest.raises(ConfigError, match=f"perhaps '{case.option}'"):
            case.runnable.invoke(case.input, NOW, **{case.option[:-1]: case.value})

    def test_no_option_can_be_set_later(self, case: Case):
        with pytest.raises(ValueError, match="frozen"):
            setattr(case.runnable, case.option, case.value)


class TestEveryRunnableDescribesItself:
    def test_input_and_output_have_a_schema(self, case: Case):
        schemas = case.runnable.get_input_jsonschema(), case.runnable.get_output_jsonschema()

        for schema in schemas:
            assert schema.get("description") or schema.get("anyOf")

    def test_the_graph_can_be_drawn(self, case: Case):
        graph = case.runnable.get_graph()

        assert type(case.runnable).__name__.removesuffix("WithContext") in graph.draw_mermaid() or (
            "Gather" in graph.draw_mermaid()
        )

    def test_a_pickled_one_is_the_same(self, case: Case, expected: Any):
        copy = pickle.loads(pickle.dumps(case.runnable))

        assert copy == case.runnable
        assert comparable(copy.invoke(case.input, NOW)) == expected

    def test_its_signature_says_names_types_and_defaults_and_not_how_they_are_checked(self, case: Case):
        signature = inspect.signature(type(case.runnable))

        assert signature.parameters[case.option].default in (None, "lexical", ())
        assert "Annotated" not in str(signature)
        assert "<" not in str(signature)

    def test_a_copy_with_another_option_goes_by_it(self, case: Case):
        changed = type(case.runnable)(**{**case.runnable.given(), case.option: case.value})

        copy = case.runnable.model_copy(update={case.option: case.value})

        assert copy == changed
        assert comparable(copy.invoke(case.input, NOW)) == comparable(changed.invoke(case.input, NOW))

    def test_a_copy_with_a_bad_option_is_refused(self, case: Case):
        with pytest.raises(ConfigError, match=f"perhaps '{case.option}'"):
            case.runnable.model_copy(update={case.option[:-1]: case.value})

    def test_neither_dump_nor_repr_shows_a_document(self, case: Case):
        holding = case.runnable
        if "sources" in type(holding).model_fields:
            holding = type(holding)(sources=[HoldsText()])

        assert SECRET not in json.dumps(dumpd(holding))
        assert SECRET not in repr(holding)

    def test_neither_way_is_sync_only_or_async_only(self, case: Case):
        own = type(case.runnable)

        assert inspect.iscoroutinefunction(own._arun)
        assert not inspect.iscoroutinefunction(own._run)


class HoldsText:
    """A source whose own repr shows what it holds."""

    name = "holds_text"

    def gather(self, query: str) -> list[str]:
        return [SECRET]

    def __repr__(self) -> str:
        return f"HoldsText({SECRET})"


def revived(dumped: Any, cls: type) -> Any:
    options: dict[str, Any] = {"valid_namespaces": ["langchain_packline"]}
    if "allowed_objects" in inspect.signature(load).parameters:
        options["allowed_objects"] = [cls]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # load is marked as beta
        return load(dumped, **options)


@pytest.mark.parametrize(
    "runnable",
    [
        Gather(source_timeout=5.0),
        Select(max_tokens=500, recency_weight=0.5, relevance_weight=0.5, relevance="jaccard"),
        Select(config=ContextConfig(max_tokens=500, layout="chat")),
        Structure(template=Template(style="markdown", output="Be brief.")),
        Structure(template=Template(tuple(reversed(Template().sections)))),
        Compress(enable_compression=False),
        ContextBuilder(config=ContextConfig.book(), relevance="jaccard", token_counter="cl100k_base"),
        ContextBuilder(max_tokens=100).with_context(),
    ],
    ids=lambda runnable: type(runnable).__name__,
)
def test_what_is_plain_data_can_be_dumped_and_loaded_again(runnable: RunnableSerializable[Any, Any]):
    dumped = json.loads(json.dumps(dumpd(runnable)))

    assert dumped["type"] == "constructor"
    assert type(revived(dumped, type(runnable))) is type(runnable)
    assert revived(dumped, type(runnable)) == runnable


def test_what_holds_a_source_is_dumped_as_a_description_with_its_name():
    dumped = dumpd(ContextBuilder(sources={"library": library}, max_tokens=400))

    assert dumped["type"] == "not_implemented"
    assert dumped["repr"] == "ContextBuilder(max_tokens=400, sources={'library': library})"


def test_stages_in_a_row_give_byte_for_byte_what_the_builder_gives():
    options = {"max_tokens": 90, "layout": "chat", "template": Template(style="xml"), "message_overhead": 7}
    history = [("user", "What is pandas?"), ("assistant", "A library.")]
    builder = ContextBuilder(sources=[library], token_counter=CharactersByFour(), **options)
    chain = (
        Gather(sources=[library])
        | Select(token_counter=CharactersByFour(), **options)
        | Structure()
        | Compress()
    )

    for question in (QUESTION, {"question": QUESTION, "chat_history": history}):
        assert chain.invoke(question, NOW) == builder.invoke(question, NOW)
        assert builder.stages().invoke(question, NOW) == builder.invoke(question, NOW)


class CharactersByFour:
    """A counter that is a callable object."""

    def __call__(self, text: str) -> int:
        return len(text) // 4


def test_every_setting_of_a_config_is_an_option_of_the_builder():
    names = {field.name for field in fields(ContextConfig)}

    assert names <= ContextBuilder.model_fields.keys()
    for model in (Gather, Select, Compress, ContextCompressor, ContextRetriever, ContextBuilderWithContext):
        settings = model.model_fields.keys() - {
            *("config", "name", "sources", "relevance", "token_counter", "summarizer"),
            *("separator", "order", "k", "tags", "metadata"),
        }
        assert settings <= names


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_tokens", 77),
        ("reserve_ratio", 0.5),
        ("min_relevance", 0.7),
        ("recency", "always"),
        ("half_life_days", 1.0),
        ("recent_turns", 0),
        ("recent_share", 0.0),
        ("merge_duplicates", False),
        ("snippet_share", 0.0),
        ("enable_compression", False),
        ("layout", "chat"),
        ("message_overhead", 0),
        ("template", Template(style="markdown")),
        ("shorten_question", True),
        ("source_timeout", 1.0),
        ("strict", True),
    ],
)
def test_an_option_set_alone_overrides_the_config(option: str, value: Any):
    config = ContextConfig(max_tokens=500)

    builder = ContextBuilder(config=config, **{option: value})

    assert builder.settings() == config.replace(**{option: value})


def test_a_value_out_of_range_is_an_error_of_packline_that_names_it():
    with pytest.raises(ConfigError, match="max_tokens must be a whole number from 1"):
        ContextBuilder(max_tokens=0)
    with pytest.raises(ConfigError, match=r"recency_weight \+ relevance_weight"):
        ContextBuilder(recency_weight=0.5)
    with pytest.raises(ConfigError, match="config must be a ContextConfig"):
        ContextBuilder(config=500)
    with pytest.raises(ConfigError, match="template must be a Template"):
        Structure(template="xml")
    with pytest.raises(ConfigError, match=r"sources\[0\] must be a retriever"):
        ContextBuilder(sources=[42])
    with pytest.raises(ConfigError, match="summarizer must be a callable"):
        ContextBuilder(summarizer="shorten")


def test_budget_weights_and_relevance_can_be_set_for_one_call():
    fields = ("max_tokens", "recency", "recency_weight", "relevance_weight", "relevance")
    builder = ContextBuilder(sources=[library]).configurable_fields(
        **{name: ConfigurableField(id=name) for name in fields}
    )
    chosen = {
        "max_tokens": 200,
        "recency": "always",
        "recency_weight": 1.0,
        "relevance_weight": 0.0,
        "relevance": "jaccard",
    }

    prompt = builder.invoke(QUESTION, {"configurable": {**NOW["configurable"], **chosen}})

    assert prompt == ContextBuilder(sources=[library], **chosen).invoke(QUESTION, NOW)


def test_a_fallback_takes_over_where_the_budget_is_too_small():
    small, large = ContextBuilder(max_tokens=5), ContextBuilder(max_tokens=500)

    with pytest.raises(BudgetError):
        small.invoke(QUESTION, NOW)

    assert small.with_fallbacks([large]).invoke(QUESTION, NOW) == large.invoke(QUESTION, NOW)


def test_a_retry_asks_the_sources_again():
    asked: list[str] = []

    def flaky(query: str) -> list[str]:
        asked.append(query)
        if len(asked) < 3:
            raise ConnectionError("try again")
        return ["Pandas reads a CSV file in chunks."]

    builder = ContextBuilder(sources=[flaky], strict=True).with_retry(
        retry_if_exception_type=(ExceptionGroup,), stop_after_attempt=3, wait_exponential_jitter=False
    )

    assert "in chunks" in builder.invoke(QUESTION, NOW).to_string()
    assert asked == [QUESTION] * 3


def test_an_input_that_comes_in_pieces_is_put_together():
    builder = ContextBuilder()

    def text() -> Iterator[str]:
        yield from (QUESTION[:10], QUESTION[10:])

    def parts() -> Iterator[dict[str, Any]]:
        yield {"question": QUESTION[:10]}
        yield {"system_instructions": "Be brief."}
        yield {"question": QUESTION[10:]}

    assert list(builder.transform(text(), NOW)) == [builder.invoke(QUESTION, NOW)]
    assert list(builder.transform(parts(), NOW)) == [
        builder.invoke({"question": QUESTION, "system_instructions": "Be brief."}, NOW)
    ]
    assert list(builder.transform(iter([]), NOW)) == []


def test_one_builder_serves_many_calls_at_once():
    builder = ContextBuilder(sources=[library])
    questions = [f"{QUESTION} ({n})" for n in range(20)]

    expected = [builder.invoke(question, NOW) for question in questions]

    async def awaited() -> list[ChatPromptValue]:
        return list(await asyncio.gather(*(builder.ainvoke(question, NOW) for question in questions)))

    assert builder.batch(questions, {**NOW, "max_concurrency": 8}) == expected
    assert asyncio.run(awaited()) == expected


def test_the_graph_of_the_builder_shows_the_four_stages():
    names = [node.name for node in ContextBuilder().get_graph().nodes.values()]

    assert [name for name in names if name in ("Gather", "Select", "Structure", "Compress")] == [
        "Gather",
        "Select",
        "Structure",
        "Compress",
    ]


def test_a_stage_says_what_it_takes():
    with pytest.raises(ConfigError, match="input must be a Gathered, as the stage before gives it"):
        Select().invoke("a question")  # type: ignore[arg-type]
