"""Asking: each source is asked within a run of its own, named like the source.

The run's parent is found where LangChain keeps it, in the context variables, which gathering takes along into
its threads.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import Runnable, RunnableLambda

from packline import ConfigError, Source, SourceError

__all__ = ["asking", "check_limit", "traced"]


def check_limit(name: str, limit: object) -> None:
    """Raise `ConfigError` if `limit` is no number of things to ask for."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise ConfigError(name, limit, "a whole number from 1")


def traced(source: Source) -> Source:
    """The same source, asked within a run of its own."""
    ask, aask = source.ask, source.aask
    if isinstance(ask, _Ask) or isinstance(aask, _AskAsync):
        return source

    def run(query: str) -> object:
        assert ask is not None
        answer = ask(query)
        return list(answer) if isinstance(answer, Iterator) else answer

    async def arun(query: str) -> object:
        assert aask is not None
        answer = aask(query)
        return await answer if inspect.isawaitable(answer) else answer

    sync: Runnable[str, object] | None = RunnableLambda(run, name=source.name) if ask else None
    awaited: Runnable[str, object] | None = RunnableLambda(arun, name=source.name) if aask else None
    return dataclasses.replace(
        source,
        ask=None if sync is None else _Ask(sync, source.name),
        aask=None if awaited is None else _AskAsync(awaited, source.name),
    )


def asking(runnable: Runnable[Any, Any], name: str) -> Source:
    """The source that asks `runnable`."""
    return Source(name, ask=_Ask(runnable, name), aask=_AskAsync(runnable, name))


@dataclass(frozen=True)
class _Ask:
    """From the question to what a Runnable answers."""

    runnable: Runnable[Any, Any]
    name: str

    def __call__(self, query: str) -> object:
        try:
            return self.runnable.invoke(query, {"run_name": self.name})
        except NotImplementedError as error:
            raise SourceError(self.name, "can only be awaited: use ainvoke, abatch or astream") from error


@dataclass(frozen=True)
class _AskAsync:
    """The same, awaited."""

    runnable: Runnable[Any, Any]
    name: str

    async def __call__(self, query: str) -> object:
        return await self.runnable.ainvoke(query, {"run_name": self.name})
