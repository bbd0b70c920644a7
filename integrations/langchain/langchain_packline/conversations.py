"""Conversations, as sources of history: what a checkpointer holds of a thread, and chat histories."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.config import ensure_config

from langchain_packline.asking import asking
from langchain_packline.memory import amessages_of, messages_of
from packline import ConfigError, ContextPacket, Kind, Source, SourceError
from packline.attempt import threaded
from packline.conversation import turns

__all__ = ["from_checkpointer", "from_conversation"]


def from_checkpointer(
    saver: Any, *, thread_id: str | None = None, name: str = "checkpointer", timeout: float | None = None
) -> Source:
    """The conversation of a thread that a LangGraph checkpointer holds, as a source of history.

    Args:
        thread_id: Which thread; None: the one in `config["configurable"]` on each call.

    Raises:
        ConfigError: `saver` is no checkpointer.
    """
    if not callable(getattr(saver, "get_tuple", None)) or not callable(getattr(saver, "aget_tuple", None)):
        raise ConfigError("saver", saver, "a LangGraph checkpointer, which has get_tuple and aget_tuple")

    def where() -> dict[str, Any]:
        thread = thread_id or ensure_config().get("configurable", {}).get("thread_id")
        if thread is None:
            raise SourceError(name, "needs config['configurable']['thread_id']")
        return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}

    def read(_: str) -> Sequence[ContextPacket]:
        return turns(messages_of(saver.get_tuple(where()), name))

    async def aread(_: str) -> Sequence[ContextPacket]:
        return await threaded(turns, await amessages_of(await saver.aget_tuple(where()), name))

    runnable: Runnable[str, Any] = RunnableLambda(read, aread, name=name)
    return dataclasses.replace(asking(runnable, name), kind=Kind.HISTORY, timeout=timeout)


def from_conversation(thing: object, name: str) -> Source:
    """Anything with `messages` or `aget_messages`, as a source of history."""

    def read(_: str) -> Sequence[ContextPacket]:
        return turns(messages_of(thing, name))

    async def aread(_: str) -> Sequence[ContextPacket]:
        return await threaded(turns, await amessages_of(thing, name))

    runnable: Runnable[str, Any] = RunnableLambda(read, aread, name=name)
    return dataclasses.replace(asking(runnable, name), kind=Kind.HISTORY)
