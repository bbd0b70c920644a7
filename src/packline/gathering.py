"""Gather: everything that may enter the prompt, from the caller and from all sources at once.

A source that fails, hangs or answers nonsense costs only itself; its failure is part of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from packline.attempt import Call, Outcome, asettle, awaited, settle
from packline.errors import SourceError
from packline.packet import ContextPacket
from packline.request import Request
from packline.sources import Source, packets_of

__all__ = ["Failure", "Gathered", "agather", "gather"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A source (or a summarizer) that failed: its name, its error and the seconds it took."""

    source: str
    error: BaseException
    seconds: float

    def __str__(self) -> str:
        return f"{self.source}: {type(self.error).__name__}: {self.error} (after {self.seconds:.2f} s)"


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """The candidates.

    Args:
        request: The question with all that came with it.
        packets: What competes: the caller's packets, then those of the sources in their order. The
            conversation is in `request.history`.
        names: For each of `packets`, where it came from.
        failures: What went wrong on the way.
    """

    request: Request
    packets: tuple[ContextPacket, ...] = ()
    names: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


def gather(
    request: Request, *, sources: Sequence[Source] = (), timeout: float = 30.0, strict: bool = False
) -> Gathered:
    """Ask all sources at once, each in a thread of its own.

    Args:
        timeout: Seconds that each source has, where it does not say itself.
        strict: Raise failures instead of only reporting them.

    Raises:
        ExceptionGroup: With `strict`, all failures of sources at once; its message has their names, in order.
    """
    return _gathered(request, sources, settle(_calls(request, sources, timeout)), strict)


async def agather(
    request: Request, *, sources: Sequence[Source] = (), timeout: float = 30.0, strict: bool = False
) -> Gathered:
    """The same as `gather`, awaited; sources that are only synchronous run in threads."""
    return _gathered(request, sources, await asettle(_calls(request, sources, timeout)), strict)


Answer = tuple[ContextPacket, ...]


def _calls(request: Request, sources: Sequence[Source], timeout: float) -> list[Call[Answer]]:
    return [_call(request.question, source, source.timeout or timeout) for source in sources]


def _call(question: str, source: Source, timeout: float) -> Call[Answer]:
    """Ask one source. Its answer is read where it is asked, since a generator may fail late."""
    ask, aask = source.ask, source.aask

    async def arun() -> Answer:
        assert aask is not None
        return packets_of(await aask(question), source)

    def run() -> Answer:
        assert ask is not None
        return packets_of(awaited(ask(question)), source)

    return Call(source.name, timeout, run if ask else None, arun if aask else None)


def _exception(failure: Failure) -> Exception:
    """The error, as one that `except Exception` catches: SystemExit of a source is not that of the caller."""
    if isinstance(failure.error, Exception):
        return failure.error
    error = SourceError(failure.source, f"raised {failure.error!r}")
    error.__cause__ = failure.error
    return error


def _gathered(
    request: Request, sources: Sequence[Source], outcomes: Sequence[Outcome[Answer]], strict: bool
) -> Gathered:
    failures = tuple(
        Failure(source.name, outcome.error, outcome.seconds)
        for source, outcome in zip(sources, outcomes, strict=True)
        if outcome.error is not None
    )
    if failures and strict:
        names = ", ".join(failure.source for failure in failures)
        raise ExceptionGroup(f"sources failed: {names}", list(map(_exception, failures)))
    answers = [
        (source.name, packet) for source, o in zip(sources, outcomes, strict=True) for packet in o.value or ()
    ]
    return Gathered(
        request=request,
        packets=(*request.packets, *(packet for _, packet in answers)),
        names=(*("custom_packets" for _ in request.packets), *(name for name, _ in answers)),
        failures=failures,
    )
