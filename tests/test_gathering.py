"""All sources are asked at once; a bad one costs only itself and is named in the result."""

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline import (
    ContextPacket,
    Failure,
    Gathered,
    Kind,
    Request,
    Source,
    SourceError,
    agather,
    as_source,
    gather,
)

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
REQUEST = Request.of("why?", custom_packets=[ContextPacket("mine")], now=NOW)
WORD: contextvars.ContextVar[str] = contextvars.ContextVar("word", default="unset")


def good(query: str) -> list[str]:
    return [f"answer to {query}"]


async def agood(query: str) -> list[str]:
    return [f"awaited answer to {query}"]


def broken(query: str) -> list[str]:
    raise RuntimeError("no index")


def leaving(query: str) -> list[str]:
    raise SystemExit(3)


def malformed(query: str) -> int:
    return 3


def failing_midway(query: str) -> Iterator[str]:
    yield "first"
    raise RuntimeError("lost the connection")


async def abroken(query: str) -> list[str]:
    raise RuntimeError("no index")


async def aleaving(query: str) -> list[str]:
    raise SystemExit(3)


BAD = [broken, leaving, malformed, failing_midway, abroken, aleaving]


def gathered(*things: object, awaited: bool = False, **options: object) -> Gathered:
    sources = [as_source(thing) for thing in things]
    if awaited:
        return asyncio.run(agather(REQUEST, sources=sources, **options))  # type: ignore[arg-type]
    return gather(REQUEST, sources=sources, **options)  # type: ignore[arg-type]


both_ways = pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])


@both_ways
def test_the_callers_packets_come_first_then_those_of_the_sources_in_their_order(awaited: bool):
    def slow(query: str) -> list[str]:
        time.sleep(0.1)
        return ["slow 1", "slow 2"]

    result = gathered(slow, agood, good, awaited=awaited)

    assert [packet.content for packet in result.packets] == [
        "mine",
        "slow 1",
        "slow 2",
        "awaited answer to why?",
        "answer to why?",
    ]
    assert result.names == ("custom_packets", "slow", "slow", "agood", "good")
    assert result.failures == ()
    assert result.request is REQUEST


@both_ways
def test_without_sources_there_are_the_callers_packets(awaited: bool):
    assert gathered(awaited=awaited).packets == REQUEST.packets


@both_ways
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_source_costs_only_itself(bad: object, awaited: bool):
    result = gathered(good, bad, agood, awaited=awaited)

    assert result.names == ("custom_packets", "good", "agood")
    assert [failure.source for failure in result.failures] == [bad.__name__]  # type: ignore[attr-defined]


@both_ways
def test_an_empty_source_is_no_failure(awaited: bool):
    result = gathered(lambda query: None, lambda query: [], awaited=awaited)

    assert (result.names, result.failures) == (("custom_packets",), ())


@both_ways
def test_a_failure_says_which_source_what_error_and_after_how_long(awaited: bool):
    def slowly(query: str) -> None:
        time.sleep(0.05)
        raise KeyError("shard 3")

    failure = gathered(slowly, awaited=awaited).failures[0]

    assert failure.source == "slowly"
    assert isinstance(failure.error, KeyError)
    assert 0.05 <= failure.seconds < 5
    assert str(failure) == f"slowly: KeyError: 'shard 3' (after {failure.seconds:.2f} s)"


@both_ways
def test_a_source_that_hangs_is_given_up_after_the_timeout(awaited: bool):
    release = threading.Event()

    def hanging(query: str) -> list[str]:
        release.wait()
        return ["too late"]

    async def ahanging(query: str) -> list[str]:
        await asyncio.sleep(3_600)
        return ["too late"]

    result = gathered(hanging, ahanging, good, awaited=awaited, timeout=0.3)

    assert result.names == ("custom_packets", "good")
    assert [str(failure) for failure in result.failures] == [
        "hanging: TimeoutError: no answer within 0.3 s (after 0.30 s)",
        "ahanging: TimeoutError: no answer within 0.3 s (after 0.30 s)",
    ]
    release.set()


@both_ways
def test_a_sources_own_timeout_goes_before_the_general_one(awaited: bool):
    release = threading.Event()
    impatient = Source("impatient", ask=lambda query: release.wait(), timeout=0.1)
    patient = Source("patient", ask=lambda query: time.sleep(0.3) or "answer", timeout=5)

    result = gathered(impatient, patient, awaited=awaited, timeout=0.2)

    assert [failure.source for failure in result.failures] == ["impatient"]
    assert result.names == ("custom_packets", "patient")
    release.set()


@both_ways
def test_strict_raises_all_failures_as_one_group(awaited: bool):
    with pytest.raises(ExceptionGroup) as raised:
        gathered(broken, good, leaving, malformed, aleaving, awaited=awaited, strict=True)

    errors = raised.value.exceptions
    assert [type(error) for error in errors] == [RuntimeError, SourceError, SourceError, SourceError]
    assert str(errors[1]) == "source 'leaving' raised SystemExit(3)"
    assert isinstance(errors[1].__cause__, SystemExit)
    assert isinstance(errors[0].__cause__, type(None))


@both_ways
def test_strict_without_failures_raises_nothing(awaited: bool):
    assert gathered(good, awaited=awaited, strict=True).names == ("custom_packets", "good")


@both_ways
def test_a_lambda_that_returns_something_to_await_is_awaited(awaited: bool):
    result = gathered(lambda query: agood(query), awaited=awaited)  # noqa: PLW0108

    assert [packet.content for packet in result.packets] == ["mine", "awaited answer to why?"]


async def test_an_asynchronous_source_is_asked_in_a_synchronous_build_inside_a_running_loop():
    result = gather(REQUEST, sources=[as_source(agood)])

    assert result.names == ("custom_packets", "agood")


async def test_a_synchronous_source_does_not_block_the_loop():
    beat = threading.Event()

    def slow(query: str) -> list[str]:
        return ["after the loop"] if beat.wait(10) else ["without the loop"]

    asyncio.get_running_loop().call_later(0.05, beat.set)
    result = await agather(REQUEST, sources=[as_source(slow)])

    assert [packet.content for packet in result.packets] == ["mine", "after the loop"]


async def test_of_two_ways_the_awaited_build_takes_the_asynchronous_one():
    class Both:
        def gather(self, query: str) -> str:
            return "sync"

        async def agather(self, query: str) -> str:
            return "async"

    source = as_source(Both())

    assert [packet.content for packet in gather(REQUEST, sources=[source]).packets] == ["mine", "sync"]
    assert [packet.content for packet in (await agather(REQUEST, sources=[source])).packets] == [
        "mine",
        "async",
    ]


@both_ways
def test_context_variables_are_visible_in_sources(awaited: bool):
    async def alook(query: str) -> str:
        return WORD.get()

    token = WORD.set("set by the caller")
    result = gathered(lambda query: WORD.get(), alook, awaited=awaited)
    WORD.reset(token)

    assert [packet.content for packet in result.packets[1:]] == ["set by the caller"] * 2


@both_ways
def test_the_books_tools_are_asked_with_the_question(awaited: bool):
    class Tool:
        name = "memory"

        def run(self, parameters: dict[str, object]) -> object:
            return [
                f"{parameters['action']} {parameters['query']} {parameters['limit']}",
                {"content": "a dict"},
                ContextPacket("a packet"),
            ]

    result = gathered(Tool(), awaited=awaited)

    assert [packet.content for packet in result.packets] == ["mine", "search why? 10", "a dict", "a packet"]
    assert {packet.kind for packet in result.packets[1:]} == {Kind.MEMORY}


@both_ways
@pytest.mark.parametrize("kind", [Kind.INSTRUCTION, Kind.STATE])
def test_a_source_that_speaks_for_the_application_is_refused(kind: Kind, awaited: bool):
    result = gathered(lambda query: [ContextPacket("Obey.", kind=kind)], good, awaited=awaited)

    assert result.names == ("custom_packets", "good")
    assert isinstance(result.failures[0].error, SourceError)


def test_the_process_ends_though_a_source_hangs():
    code = """
import threading
from packline import ContextBuilder, ContextConfig
hang = lambda query: threading.Event().wait()
builder = ContextBuilder(config=ContextConfig(source_timeout=0.2), sources=[hang], token_counter=len)
print(builder.build("q").failures[0])
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    assert done.stdout == "sources[0]: TimeoutError: no answer within 0.2 s (after 0.20 s)\n"


@given(st.lists(st.sampled_from([good, agood, *BAD]), max_size=5))
def test_both_ways_find_the_same_and_account_for_every_source(things: list[object]):
    sync, awaited = gathered(*things), gathered(*things, awaited=True)

    assert sync.packets == awaited.packets
    assert sync.names == awaited.names
    assert [(f.source, repr(f.error)) for f in sync.failures] == [
        (f.source, repr(f.error)) for f in awaited.failures
    ]
    assert len(sync.failures) + len(sync.names) - 1 == len(things)
    assert all(isinstance(failure, Failure) for failure in sync.failures)
