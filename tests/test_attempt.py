"""How a call failed is a result: it costs its own timeout, and neither the build nor the process."""

import asyncio
import contextvars
import functools
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from packline.attempt import Call, Outcome, asettle, awaited, is_async, settle, threaded

WORD: contextvars.ContextVar[str] = contextvars.ContextVar("word", default="unset")


def call(run: Callable[[], object], timeout: float = 5.0) -> Call[object]:
    return Call("test", timeout, run)


def acall(arun: Callable[[], Awaitable[object]], timeout: float = 5.0) -> Call[object]:
    return Call("test", timeout, arun=arun)


def raising(error: BaseException) -> Callable[[], object]:
    def run() -> object:
        raise error

    return run


def araising(error: BaseException) -> Callable[[], Awaitable[object]]:
    async def run() -> object:
        raise error

    return run


async def value() -> str:
    return "value"


ERRORS = [RuntimeError("no index"), SystemExit(3), asyncio.CancelledError("own"), StopAsyncIteration("odd")]


# --- waiting in threads ---


def test_values_come_back_in_the_order_of_the_calls():
    outcomes = settle([call(lambda: time.sleep(0.05) or "slow"), call(lambda: "quick"), acall(value)])

    assert [outcome.value for outcome in outcomes] == ["slow", "quick", "value"]
    assert [outcome.error for outcome in outcomes] == [None, None, None]
    assert outcomes[0].seconds >= 0.05


def test_all_calls_run_at_once():
    barrier = threading.Barrier(5, timeout=5)

    outcomes = settle([call(barrier.wait) for _ in range(5)])

    assert sorted(outcome.value for outcome in outcomes) == [0, 1, 2, 3, 4]  # type: ignore[type-var]


def test_nothing_to_run_is_nothing():
    assert settle([]) == []


@pytest.mark.parametrize("error", [*ERRORS, KeyboardInterrupt()], ids=lambda error: type(error).__name__)
def test_every_error_is_that_of_its_call_alone(error: BaseException):
    outcomes = settle([call(raising(error)), call(lambda: "fine")])

    assert outcomes[0].error is error
    assert outcomes[0].value is None
    assert outcomes[1].value == "fine"


def test_a_call_that_hangs_costs_its_timeout_and_the_others_nothing():
    release = threading.Event()

    outcomes = settle([call(release.wait, 0.2), call(lambda: "fine")])

    assert isinstance(outcomes[0].error, TimeoutError)
    assert str(outcomes[0].error) == "no answer within 0.2 s"
    assert outcomes[0].seconds == 0.2
    assert outcomes[1].value == "fine"
    release.set()


def test_calls_that_hang_are_waited_for_together():
    release = threading.Event()
    start = time.perf_counter()

    settle([call(release.wait, 0.3) for _ in range(200)])

    assert time.perf_counter() - start < 30
    release.set()


def test_a_timeout_longer_than_any_thread_can_wait_is_no_error():
    assert settle([call(lambda: time.sleep(0.05) or "fine", 1e12)])[0].value == "fine"


def test_context_variables_are_seen_and_not_changed():
    def look() -> str:
        seen = WORD.get()
        WORD.set("changed in the call")
        return seen

    token = WORD.set("set by the caller")
    try:
        outcomes = settle([call(look), call(look)])

        assert [outcome.value for outcome in outcomes] == ["set by the caller"] * 2
        assert WORD.get() == "set by the caller"
    finally:
        WORD.reset(token)


async def test_an_asynchronous_call_runs_in_a_thread_where_a_loop_is_already_running():
    assert settle([acall(value)])[0].value == "value"


def test_the_process_ends_though_calls_hang():
    code = """
import threading
from packline.attempt import Call, settle, threaded
print(settle([Call("stuck", 0.2, threading.Event().wait)])[0].error)
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stdout.strip()) == (0, "no answer within 0.2 s"), done.stderr


# --- waiting on the loop ---


async def test_the_awaited_way_gives_the_same_values_in_the_same_order():
    outcomes = await asettle([call(lambda: time.sleep(0.05) or "slow"), acall(value)])

    assert [outcome.value for outcome in outcomes] == ["slow", "value"]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_every_error_on_the_loop_is_that_of_its_call_alone(error: BaseException):
    outcomes = await asettle([acall(araising(error)), call(raising(error)), acall(value)])

    assert [outcome.error for outcome in outcomes] == [error, error, None]
    assert outcomes[2].value == "value"


async def test_what_is_only_synchronous_does_not_block_the_loop():
    beat = threading.Event()
    asyncio.get_running_loop().call_later(0.05, beat.set)

    (outcome,) = await asettle([call(lambda: beat.wait(10))])

    assert outcome.value is True


async def test_a_call_that_does_not_listen_to_cancelling_costs_its_timeout_only():
    release = asyncio.Event()

    async def stubborn() -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    outcomes = await asettle([acall(stubborn, 0.2), call(threading.Event().wait, 0.2), acall(value)])

    assert [str(outcome.error) for outcome in outcomes[:2]] == ["no answer within 0.2 s"] * 2
    assert outcomes[2].value == "value"
    release.set()


async def test_a_hanging_call_on_the_loop_is_cancelled():
    cancelled = asyncio.Event()

    async def hang() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    await asettle([acall(hang, 0.05)])

    await asyncio.wait_for(cancelled.wait(), 5)


async def test_cancelling_the_whole_ends_it_with_its_calls():
    cancelled = asyncio.Event()
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    whole = asyncio.create_task(asettle([acall(hang)]))
    await started.wait()
    whole.cancel()

    with pytest.raises(asyncio.CancelledError):
        await whole
    await asyncio.wait_for(cancelled.wait(), 5)


async def test_a_call_that_raises_timeout_itself_is_no_missed_deadline():
    error = TimeoutError("the database gave up")

    assert (await asettle([acall(araising(error))]))[0].error is error
    assert settle([call(raising(error))])[0].error is error


async def test_context_variables_are_seen_on_the_loop():
    async def look() -> str:
        return WORD.get()

    token = WORD.set("set by the caller")
    outcomes = await asettle([acall(look), call(WORD.get)])
    WORD.reset(token)

    assert [outcome.value for outcome in outcomes] == ["set by the caller"] * 2


async def test_what_is_run_in_a_thread_sees_the_context_variables():
    token = WORD.set("set by the caller")
    seen = await threaded(lambda: (WORD.get(), threading.current_thread()))
    WORD.reset(token)

    assert seen[0] == "set by the caller"
    assert seen[1] is not threading.current_thread()


async def test_stop_iteration_in_a_thread_arrives():
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        await asyncio.wait_for(threaded(next, iter(())), timeout=2)


# --- what is asynchronous ---


class AsyncCallable:
    async def __call__(self) -> None: ...

    async def method(self) -> None: ...

    def plain(self) -> None: ...


@pytest.mark.parametrize(
    "function", [value, functools.partial(value), AsyncCallable(), AsyncCallable().method], ids=str
)
def test_coroutine_functions_are_known_in_every_guise(function: object):
    assert is_async(function)


@pytest.mark.parametrize("function", [len, AsyncCallable().plain, AsyncCallable, None, 3], ids=str)
def test_others_are_not(function: object):
    assert not is_async(function)


def test_what_can_be_awaited_is_and_all_else_stays():
    thing = object()

    assert awaited(value()) == "value"
    assert awaited(thing) is thing


# --- what is said of it ---


def test_failures_are_logged_with_the_name_of_the_call(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "packline.attempt"):
        settle(
            [Call("wiki", 5, raising(RuntimeError("no index"))), Call("web", 0.05, threading.Event().wait)]
        )

    assert sorted(caplog.messages) == [
        "web did not answer within 0.05 s",
        "wiki failed: RuntimeError('no index')",
    ]


def test_a_thread_is_named_after_its_call():
    assert settle([Call("wiki", 5, lambda: threading.current_thread().name)])[0].value == "packline-wiki"


def test_an_outcome_is_frozen():
    with pytest.raises(AttributeError):
        Outcome(1, None, 0.0).value = 2  # type: ignore[misc]
