"""Running what a user plugged in: how it failed is a result, not the end of a build.

The one place with a broad `except`. Threads are daemons, so that a call that hangs forever costs its
timeout and never keeps the process from ending. What hangs on the event loop is cancelled, but not waited
for: it may not listen.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, ParamSpec, Self, TypeVar

__all__ = ["Call", "Outcome", "asettle", "awaited", "is_async", "settle", "threaded"]

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)


def is_async(function: object) -> bool:
    """Whether calling `function` gives something to await, as far as can be seen without calling it."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def awaited(value: object) -> object:
    """`value`, or what it gives where it is something to await. For threads without an event loop only."""
    return asyncio.run(_coroutine(value)) if inspect.isawaitable(value) else value


async def threaded(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `function` gives, run in a thread that sees the context variables, so that the loop goes on.

    StopIteration, which would never arrive, comes as the cause of a RuntimeError, as it does of a coroutine.
    """

    def body() -> T:
        try:
            return function(*args, **kwargs)
        except StopIteration as error:
            raise RuntimeError(f"{function!r} raised StopIteration") from error

    return await asyncio.to_thread(body)


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """Something to run: in a thread, or on the event loop, or either way.

    Args:
        name: For logs.
        timeout: Seconds.
        run: The synchronous way; None where there is only the other.
        arun: The asynchronous way; None where there is only the other.
    """

    name: str
    timeout: float
    run: Callable[[], T] | None = None
    arun: Callable[[], Awaitable[T]] | None = None


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How a call ended: with a value or an error, after so many seconds."""

    value: T | None
    error: BaseException | None
    seconds: float


def settle(calls: Sequence[Call[T]]) -> list[Outcome[T]]:
    """Run all calls at once, each in a thread, and wait for each no longer than its timeout."""
    start = time.perf_counter()
    futures = [_in_thread(call) for call in calls]
    outcomes = []
    for call, future in zip(calls, futures, strict=True):
        try:
            left = start + call.timeout - time.perf_counter()
            outcomes.append(future.result(min(max(0.0, left), threading.TIMEOUT_MAX)))
        except TimeoutError:
            outcomes.append(_timed_out(call))
    return outcomes


async def asettle(calls: Sequence[Call[T]]) -> list[Outcome[T]]:
    """The same, awaited; what is only synchronous runs in a thread and does not block the loop."""
    return list(await asyncio.gather(*map(_awaited, calls)))


async def _awaited(call: Call[T]) -> Outcome[T]:
    if call.arun is None:
        waiting = asyncio.wrap_future(_in_thread(call))
    else:
        waiting = asyncio.create_task(_on_loop(call, call.arun))
    try:
        await asyncio.wait({waiting}, timeout=min(call.timeout, threading.TIMEOUT_MAX))
        return waiting.result() if waiting.done() else _timed_out(call)
    finally:
        waiting.cancel()  # without effect where it is done


async def _on_loop(call: Call[T], arun: Callable[[], Awaitable[T]]) -> Outcome[T]:
    task = asyncio.current_task()
    with _Recorder[T](call.name) as record:
        try:
            record.value = await arun()
        except asyncio.CancelledError:
            record.recording = (
                task is None or not task.cancelling()
            )  # else the build is cancelled, not the call
            raise
        except KeyboardInterrupt:  # it came from the keyboard, wherever it struck
            record.recording = False
            raise
    return record.outcome()


def _in_thread(call: Call[T]) -> Future[Outcome[T]]:
    future: Future[Outcome[T]] = Future()
    context = contextvars.copy_context()

    def body() -> None:
        with _Recorder[T](call.name) as record:
            if call.run is not None:
                record.value = call.run()
            elif call.arun is not None:
                record.value = asyncio.run(_coroutine(call.arun()))
        if future.set_running_or_notify_cancel():
            future.set_result(record.outcome())

    threading.Thread(target=context.run, args=(body,), name=f"packline-{call.name}", daemon=True).start()
    return future


async def _coroutine(value: Awaitable[T]) -> T:
    return await value


def _timed_out(call: Call[T]) -> Outcome[T]:
    logger.warning("%s did not answer within %g s", call.name, call.timeout)
    return Outcome(None, TimeoutError(f"no answer within {call.timeout:g} s"), call.timeout)


class _Recorder(Generic[T]):
    """A `with` block whose value, error and time are taken down; even SystemExit is the call's alone."""

    def __init__(self, name: str) -> None:
        self.value: T | None = None
        self.recording = True
        self._name = name
        self._error: BaseException | None = None
        self._start = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._seconds = time.perf_counter() - self._start
        if error is None or not self.recording:
            return False
        logger.warning("%s failed: %r", self._name, error)
        self._error = error
        return True

    def outcome(self) -> Outcome[T]:
        return Outcome(self.value, self._error, self._seconds)
