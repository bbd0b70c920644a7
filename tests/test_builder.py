"""The four stages as one call: what a user types, what comes back, and that many may call at once."""

import asyncio
import contextvars
import copy
import dataclasses
import math
import pickle
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage

from packline import (
    BudgetError,
    ConfigError,
    Context,
    ContextBuilder,
    ContextConfig,
    ContextPacket,
    Kind,
    Reason,
    Source,
    Template,
)

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
TENANT = contextvars.ContextVar("TENANT", default="nobody")
HISTORY = [
    ("user", "I analyse sales data with pandas."),
    ("assistant", "How large are the files?"),
    ("user", "About two gigabytes of CSV."),
]


def notes(query: str) -> list[Document]:
    return [
        Document(page_content="Pandas reads a large CSV in chunks.", metadata={"source": "io.md"}),
        Document(page_content="Category columns save memory in pandas.", metadata={"source": "types.md"}),
    ]


def memory(query: str) -> list[str]:
    return ["The user has little memory for a large CSV."]


async def anotes(query: str) -> list[Document]:
    await asyncio.sleep(0)
    return notes(query)


def broken(query: str) -> list[str]:
    raise RuntimeError("no index")


class Half:
    """All candidates are half relevant, so that these tests do not depend on a scorer."""

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> np.ndarray:
        return np.full(len(packets), 0.5)


def builder(**options: object) -> ContextBuilder:
    config = ContextConfig(max_tokens=1_500, message_overhead=0, template=Template(output="Briefly."))
    return ContextBuilder(**{"config": config, "token_counter": len, "relevance": Half(), **options})  # type: ignore[arg-type]


ASKED: dict[str, object] = {
    "user_query": "How does pandas read a large CSV with little memory?",
    "conversation_history": HISTORY,
    "system_instructions": "Be exact.",
    "custom_packets": [ContextPacket("Polars reads a large CSV lazily.", metadata={"type": "rag_result"})],
    "state": {"step": 2, "file": "sales.csv"},
    "now": NOW,
}


def build(made: ContextBuilder, awaited: bool = False, **changes: object) -> Context:
    asked = {**ASKED, **changes}
    if awaited:
        return asyncio.run(made.abuild(**asked))  # type: ignore[arg-type]
    return made.build(**asked)  # type: ignore[arg-type]


both_ways = pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])


# --- the whole ---


@both_ways
def test_everything_that_comes_with_a_question_ends_in_its_section(awaited: bool):
    context = build(builder(sources=[notes, Source("memory", ask=memory, kind=Kind.MEMORY)]), awaited)

    sections = Template().split(context.text)
    assert sections["Role & Policies"] == "Be exact."
    assert sections["Task"] == ASKED["user_query"]
    assert sections["State"] == "step: 2\nfile: sales.csv"
    assert sections["Context"] == (
        "user: I analyse sales data with pandas.\n"
        "assistant: How large are the files?\n"
        "user: About two gigabytes of CSV.\n"
        "Memory: The user has little memory for a large CSV."
    )
    assert sorted(sections["Evidence"].split("\n---\n")) == [
        "Category columns save memory in pandas.",
        "Pandas reads a large CSV in chunks.",
        "Polars reads a large CSV lazily.",
    ]
    assert sections["Output"] == "Briefly."
    assert len(context.kept) == 8
    assert context.failures == ()
    assert str(context) == context.text


@both_ways
def test_a_question_alone_is_enough(awaited: bool):
    made = builder()

    context = asyncio.run(made.abuild("why?")) if awaited else made.build("why?")

    assert context.text == "[Task]\nwhy?\n\n[Output]\nBriefly."
    assert [message.content for message in context.messages] == ["[Output]\nBriefly.", "[Task]\nwhy?"]


@pytest.mark.parametrize("output", ["", " \n"])
@pytest.mark.parametrize("layout", ["prompt", "chat"])
def test_a_template_without_output_text_leaves_the_section_and_an_empty_system_message_out(
    layout: str, output: str
):
    config = ContextConfig(template=Template(output=output), layout=layout)  # type: ignore[arg-type]

    context = builder(config=config).build("why?", conversation_history=HISTORY)

    assert list(Template().split(context.text)) == ["Task", "Context"]
    assert "Output" not in context.section_tokens
    assert "system" not in [message.role for message in context.messages]


@both_ways
def test_packets_of_kind_instruction_and_state_are_taken_as_such(awaited: bool):
    packets = [
        ContextPacket("Cite sources.", kind=Kind.INSTRUCTION),
        ContextPacket("draft ready", kind=Kind.STATE),
    ]

    sections = Template().split(build(builder(), awaited, custom_packets=packets).text)

    assert sections["Role & Policies"] == "Be exact.\n\nCite sources."
    assert sections["State"] == "step: 2\nfile: sales.csv\n\ndraft ready"


@pytest.mark.parametrize(
    ("state", "text"),
    [("step 2", "step 2"), ({"a": 1, "b": None}, "a: 1\nb: None"), (["one", "two"], "one\n\ntwo")],
)
def test_the_state_may_be_a_text_a_mapping_or_a_list_of_texts(state: object, text: str):
    assert Template().split(build(builder(), state=state).text)["State"] == text


@pytest.mark.parametrize("state", [None, "", " \n", {}, [], ["", " "]])
def test_an_empty_state_has_no_section(state: object):
    assert "[State]" not in build(builder(), state=state).text


@both_ways
def test_a_failing_source_is_in_the_failures_and_the_others_are_used(awaited: bool):
    context = build(builder(sources=[broken, notes]), awaited)

    assert [(f.source, str(f.error)) for f in context.failures] == [("broken", "no index")]
    assert "Pandas reads a large CSV in chunks." in context.text


@both_ways
def test_strict_raises_the_failures(awaited: bool):
    made = builder(sources=[broken, notes, Source("wiki", ask=broken)], config=ContextConfig(strict=True))

    with pytest.raises(ExceptionGroup) as raised:
        build(made, awaited)

    assert raised.value.message == "sources failed: broken, wiki"
    assert [str(error) for error in raised.value.exceptions] == ["no index", "no index"]


@both_ways
def test_a_budget_too_small_for_the_fixed_parts_is_an_error_with_both_numbers(awaited: bool):
    template = Template(output="Briefly.")
    made = builder(config=ContextConfig(max_tokens=20, message_overhead=0, template=template))

    with pytest.raises(BudgetError) as raised:
        build(made, awaited)

    assert raised.value.needed == len(
        f"[Role & Policies]\nBe exact.\n\n[Task]\n{ASKED['user_query']}\n\n[Output]\nBriefly."
    )
    assert (raised.value.budget, raised.value.largest) == (20, "Task")


def test_the_stages_are_timed():
    context = build(builder())

    assert list(context.stage_seconds) == ["gather", "select", "structure", "compress"]
    assert all(seconds >= 0 for seconds in context.stage_seconds.values())


@both_ways
def test_a_budget_that_depends_on_the_question_is_asked_for_it(awaited: bool):
    made = builder(config=ContextConfig(max_tokens=lambda question: 1_000 + len(question)))

    assert build(made, awaited, user_query="why?").max_tokens == 1_004


# --- bad input at the door ---


@both_ways
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("user_query", ""),
        ("user_query", " \n"),
        ("user_query", None),
        ("user_query", b"why?"),
        ("system_instructions", 3),
        ("system_instructions", ["Be exact."]),
        ("custom_packets", "text"),
        ("custom_packets", ContextPacket("x")),
        ("custom_packets", {"content": "x"}),
        ("custom_packets", 3),
        ("conversation_history", "Hi"),
        ("conversation_history", 3),
        ("state", 3),
        ("state", [1, 2]),
        ("now", "2026-01-15"),
        ("now", 1715178600),
    ],
)
def test_a_bad_argument_is_named(argument: str, value: object, awaited: bool):
    with pytest.raises(ConfigError) as raised:
        build(builder(), awaited, **{argument: value})

    assert raised.value.field == argument
    assert raised.value.value == value


def test_a_bad_entry_of_a_list_is_named_by_its_place():
    with pytest.raises(ConfigError) as raised:
        build(builder(), custom_packets=[ContextPacket("x"), "text"])

    assert str(raised.value) == "custom_packets[1] must be a ContextPacket, got 'text'"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"config": {"max_tokens": 3}}, "config"),
        ({"sources": notes}, "sources"),
        ({"sources": "wiki"}, "sources"),
        ({"sources": [notes, 3]}, "sources[1]"),
        ({"sources": [object()]}, "sources[0]"),
        ({"summarizer": "short"}, "summarizer"),
        ({"relevance": "semantics"}, "relevance"),
        ({"relevance": 3}, "relevance"),
        ({"token_counter": "o300k"}, "token_counter"),
        ({"token_counter": 3}, "token_counter"),
    ],
)
def test_a_bad_option_of_a_builder_is_named_when_it_is_made(options: dict[str, object], field: str):
    with pytest.raises(ConfigError) as raised:
        builder(**options)

    assert raised.value.field == field


class CrossEncoder:
    """A model that puts the shorter text first."""

    def predict(self, pairs: list[tuple[str, str]]) -> list[int]:
        return [-len(text) for _, text in pairs]


@pytest.mark.parametrize(
    ("kind", "relevance"),
    [
        *((f'"{name}"', name) for name in ("lexical", "semantic", "hybrid", "jaccard")),
        ("object with `scores(query, packets)`", Half()),
        ("a function of the same", Half().scores),
        ("a cross-encoder", CrossEncoder()),
    ],
)
def test_every_kind_of_scorer_that_the_docs_name_is_taken(kind: str, relevance: object):
    asked = ContextBuilder(sources=[notes], relevance=relevance)  # type: ignore[arg-type]

    context = asked.build("How does pandas read CSV files?")

    assert kind in " ".join(str(ContextBuilder.__doc__).split())
    assert all(0 <= (verdict.relevance or 0) <= 1 for verdict in context.kept)
    assert context.kept


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="max_tokens"):
        ContextBuilder(max_tokens=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="history"):
        builder().build("why?", history=[])  # type: ignore[call-arg]


# --- the same input, the same bytes ---


def account(context: Context) -> object:
    """All of a context but its times."""
    verdicts = [*context.kept, *context.shortened, *context.dropped]
    return context.text, context.messages, context.tokens, context.section_tokens, verdicts


@both_ways
def test_builds_repeat_to_the_byte(awaited: bool):
    asked = copy.deepcopy(ASKED)

    contexts = [build(builder(sources=[notes, memory]), awaited, **asked) for _ in range(3)]

    assert contexts[0].text == contexts[1].text == contexts[2].text
    assert contexts[0].messages == contexts[1].messages == contexts[2].messages


def test_sources_stand_in_their_order_however_long_they_take():
    def slow(query: str) -> list[str]:
        time.sleep(0.1)
        return ["Reading a large CSV is slow."]

    def quick(query: str) -> list[str]:
        return ["Reading a large CSV is quick."]

    texts = [build(builder(sources=pair)).kept for pair in ([slow, quick], [quick, slow])]

    assert [[v.source for v in kept if v.source in ("slow", "quick")] for kept in texts] == [
        ["slow", "quick"],
        ["quick", "slow"],
    ]


@pytest.mark.parametrize("layout", ["prompt", "chat"])
@pytest.mark.parametrize("sources", [[], [notes], [anotes, memory], [broken, notes]], ids=len)
def test_abuild_gives_what_build_gives(sources: list[object], layout: str):
    config = ContextConfig(max_tokens=600, layout=layout)  # type: ignore[arg-type]
    made = builder(sources=sources, config=config)

    sync, awaited = build(made), build(made, awaited=True)

    assert account(sync) == account(awaited)
    assert [f.source for f in sync.failures] == [f.source for f in awaited.failures]


async def test_build_works_inside_a_running_loop():
    assert "chunks" in builder(sources=[anotes]).build("How to read CSV in pandas?", now=NOW).text


def test_many_threads_build_the_same_at_once():
    made = builder(sources=[notes, anotes, memory], token_counter=None, relevance="lexical")
    expected = build(made)
    barrier = threading.Barrier(16)

    def work(_: int) -> list[Context]:
        barrier.wait(30)
        return [build(made) for _ in range(5)]

    with ThreadPoolExecutor(16) as pool:
        contexts = [context for some in pool.map(work, range(16)) for context in some]

    assert len(contexts) == 80
    assert {context.text for context in contexts} == {expected.text}
    assert all(context.messages == expected.messages for context in contexts)


async def test_many_tasks_build_the_same_at_once():
    made = builder(sources=[notes, anotes])

    contexts = await asyncio.gather(*(made.abuild(**ASKED) for _ in range(50)))  # type: ignore[arg-type]

    assert len({context.text for context in contexts}) == 1


class Waiting:
    """A scorer that does not come to an end before the event loop has done something else."""

    def __init__(self) -> None:
        self.started, self.released = threading.Event(), threading.Event()
        self.seen: list[object] = []

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> np.ndarray:
        self.started.set()
        self.seen += [self.released.wait(3), TENANT.get()]
        return np.full(len(packets), 0.5)

    async def release(self) -> None:
        while not self.started.is_set():
            await asyncio.sleep(0.01)
        self.released.set()


async def test_abuild_does_not_hold_the_event_loop_and_its_work_sees_the_context_variables():
    waiting = Waiting()
    TENANT.set("ann")

    context, _ = await asyncio.gather(
        builder(relevance=waiting).abuild("pandas?", conversation_history=HISTORY), waiting.release()
    )

    assert waiting.seen == [True, "ann"]
    assert len(context.kept) == 3


class Turn:
    """A message that takes down in which thread it is read."""

    role = "user"

    def __init__(self, readers: list[threading.Thread]) -> None:
        self._readers = readers

    @property
    def content(self) -> str:
        self._readers.append(threading.current_thread())
        return "I read CSV files."


async def test_abuild_reads_the_conversation_in_a_thread():
    readers: list[threading.Thread] = []

    await builder().abuild("pandas?", conversation_history=[Turn(readers)])

    assert readers
    assert threading.current_thread() not in readers


async def test_abuild_runs_a_generator_in_the_thread_of_the_caller():
    threads = []

    def rows():
        threads.append(threading.current_thread())
        yield "user", "I read CSV files."

    context = await builder().abuild("pandas?", conversation_history=rows())

    assert threads == [threading.current_thread()]
    assert [turn.content for turn in context.request.history] == ["I read CSV files."]


async def test_a_cancelled_abuild_ends_at_once():
    waiting = Waiting()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(
            builder(relevance=waiting).abuild("pandas?", conversation_history=HISTORY), timeout=0.1
        )

    assert waiting.started.is_set()
    assert waiting.seen == []  # it is still at work
    waiting.released.set()


async def test_an_asynchronous_summarizer_runs_on_the_loop_of_the_caller():
    loops = []

    async def summary(text: str) -> str:
        loops.append(asyncio.get_running_loop())
        return "Pandas, in short."

    made = builder(summarizer=summary)
    large = ContextPacket("Pandas is a library. " * 200, relevance_score=1.0)

    context = await made.abuild("pandas?", custom_packets=[large])

    assert [verdict.text for verdict in context.shortened] == ["Pandas, in short."]
    assert loops == [asyncio.get_running_loop()]


@pytest.mark.parametrize("layout", ["prompt", "chat"])
def test_the_head_of_the_prompt_stays_the_same_from_turn_to_turn(layout: str):
    made = builder(sources=[notes], config=ContextConfig(layout=layout))  # type: ignore[arg-type]

    first = build(made)
    second = build(made, user_query="And with polars?", conversation_history=[*HISTORY, ("user", "more")])

    assert first.messages[0] == second.messages[0]
    assert first.messages[0].role == "system"


# --- nothing of the caller's is changed ---


def test_documents_and_messages_come_back_as_the_same_objects():
    documents = notes("")
    history = [HumanMessage("I analyse pandas data.", id="m-1"), AIMessage("How large?", id="m-2")]
    before = copy.deepcopy((documents, history))
    made = builder(sources=[lambda query: documents], config=ContextConfig(layout="chat"))

    context = build(made, conversation_history=history)

    assert {id(v.packet.origin) for v in context.kept if v.source == "sources[0]"} == set(map(id, documents))
    assert [message.origin for message in context.messages[1:3]] == history
    assert context.messages[1].origin is history[0]
    assert (documents, history) == before


def test_ids_and_metadata_of_the_callers_packets_stay():
    packet = ContextPacket("About pandas.", metadata={"page": 3}, id="p-3", relevance_score=0.9)

    context = build(builder(), custom_packets=[packet])

    assert any(verdict.packet is packet for verdict in context.kept)


# --- settings that change a build ---


def newest(**settings: object) -> list[str]:
    made = builder(config=ContextConfig(min_relevance=0.0, recent_turns=0, **settings))  # type: ignore[arg-type]
    packets = [
        ContextPacket("old but relevant", relevance_score=0.8, timestamp=NOW - timedelta(days=900)),
        ContextPacket("new", relevance_score=0.7, timestamp=NOW),
    ]
    context = build(made, conversation_history=None, custom_packets=packets, state=None)
    return [verdict.packet.content for verdict in context.kept]


def test_recency_counts_where_it_is_always_asked_for():
    assert newest() == ["old but relevant", "new"]
    assert newest(recency="always") == ["new", "old but relevant"]
    assert newest(recency="always", recency_weight=0.0, relevance_weight=1.0) == ["old but relevant", "new"]


def test_now_is_the_moment_from_which_ages_are_measured():
    packet = ContextPacket("pandas", relevance_score=1.0, timestamp=NOW)

    made = builder(config=ContextConfig(recency="always"))

    def recency(now: datetime) -> float | None:
        return (
            build(made, custom_packets=[packet], conversation_history=None, state=None, now=now)
            .kept[0]
            .recency
        )

    assert recency(NOW) == 1.0
    assert recency(NOW + timedelta(days=10)) == pytest.approx(math.exp(-1))
    assert recency((NOW + timedelta(days=10)).astimezone().replace(tzinfo=None)) == pytest.approx(
        math.exp(-1)
    )


def test_without_now_it_is_the_present():
    packet = ContextPacket("pandas", relevance_score=1.0, timestamp=datetime.now(UTC) - timedelta(days=10))

    made = builder(config=ContextConfig(recency="always"))

    context = build(made, custom_packets=[packet], conversation_history=None, state=None, now=None)

    assert context.kept[0].recency == pytest.approx(math.exp(-1), rel=1e-3)


def test_a_summarizer_is_used_for_what_must_be_shortened():
    made = builder(
        config=ContextConfig(max_tokens=400, message_overhead=0, template=Template(output="Briefly.")),
        summarizer=lambda text: "Pandas, in short.",
    )

    context = build(
        made,
        conversation_history=None,
        state=None,
        custom_packets=[ContextPacket("Pandas is a library. " * 100, relevance_score=1.0)],
    )

    assert [(v.text, v.reason) for v in context.shortened] == [("Pandas, in short.", Reason.SUMMARIZED)]


def test_one_large_packet_never_leaves_an_empty_result():
    packets = [
        ContextPacket("Pandas. " * 5_000, relevance_score=1.0),
        ContextPacket("Pandas reads CSV.", relevance_score=0.5),
    ]

    context = build(builder(), custom_packets=packets)

    assert "Pandas reads CSV." in context.text
    assert context.tokens <= 1_500


# --- work ---


@pytest.mark.parametrize("layout", ["prompt", "chat"])
def test_a_conversation_of_10_000_turns_costs_few_counts(layout: str):
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text) // 4

    made = ContextBuilder(token_counter=count, config=ContextConfig(layout=layout))  # type: ignore[arg-type]
    history = [
        ("user" if n % 2 else "assistant", f"turn {n} on pandas memory and {n * 7919 % 997} other things")
        for n in range(10_000)
    ]

    context = made.build("How to save memory in pandas?", conversation_history=history, now=NOW)

    assert len(context.kept) + len(context.shortened) + len(context.dropped) == 10_000
    assert [v.position for v in context.kept][-5:] == [9_995, 9_996, 9_997, 9_998, 9_999]
    assert len(counted) < 5 * len(context.kept)
    assert sum(counted) < 60 * 4 * context.tokens


# --- what can be stored ---


def test_a_context_pickles_with_its_whole_account():
    context = build(builder(sources=[notes, broken]))

    copied = pickle.loads(pickle.dumps(context))

    assert account(copied) == account(context)
    assert [f.source for f in copied.failures] == ["broken"]
    assert copied.request == context.request


def test_a_context_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        build(builder()).text = ""  # type: ignore[misc]


@pytest.mark.parametrize("words", [3, 20])
def test_a_chat_of_short_turns_fills_the_budget(words: int):
    """Neither heads nor separators stand in a chat."""
    chance = random.Random(words)
    said = [
        " ".join(chance.choices(["read", "csv", "memory", "rows", "index"], k=words)) for _ in range(1_500)
    ]
    history = [(("user", "assistant")[n % 2], text) for n, text in enumerate(said)]
    config = ContextConfig(max_tokens=2_000, layout="chat", reserve_ratio=0, min_relevance=0)

    context = ContextBuilder(config=config).build("How to read CSV?", conversation_history=history)

    assert 1_950 <= context.tokens <= 2_000


def test_a_turn_without_words_is_dropped_for_that():
    context = ContextBuilder().build("Fish?", conversation_history=[("user", "  ")] * 9)

    assert {verdict.reason for verdict in context.dropped} == {Reason.EMPTY}


def test_what_fills_the_budget_to_the_last_token_makes_no_room_for_what_is_smaller_and_worth_less():
    """The last entry of a section needs no separator."""
    *best, small = (
        ContextPacket(letter * length, relevance_score=relevance, kind="evidence")
        for letter, length, relevance in (("a", 50, 0.9), ("b", 50, 0.8), ("c", 20, 0.7))
    )

    def built(max_tokens: int, *packets: ContextPacket) -> Context:
        config = ContextConfig(max_tokens=max_tokens, reserve_ratio=0, message_overhead=0)
        return ContextBuilder(config=config, token_counter=len).build("Which?", custom_packets=packets)

    wanted = built(5_000, *best)

    assert built(wanted.tokens, *best, small).text == wanted.text


@pytest.mark.parametrize("max_tokens", range(370, 420, 7))
def test_what_was_found_to_fit_whole_stands_whole_beside_two_that_are_shortened(max_tokens: int):
    """Each entry has its own separator, which leaves a shortened one that much less."""
    long = [
        ContextPacket(sentence * 60, relevance_score=relevance, kind="evidence")
        for sentence, relevance in (("Fish swim in sea one. ", 0.9), ("Fish jump in river two. ", 0.8))
    ]
    short = ContextPacket("x" * 60, relevance_score=0.7, kind="evidence")
    config = ContextConfig(max_tokens=max_tokens, reserve_ratio=0, message_overhead=0, snippet_share=0.3)

    context = ContextBuilder(config=config, token_counter=len).build(
        "Do fish swim?", custom_packets=[*long, short]
    )

    assert [verdict.packet for verdict in context.kept] == [short]
