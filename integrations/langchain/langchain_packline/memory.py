"""Memory: the messages in whatever holds a conversation.

Read by their attributes: chat histories are deprecated in LangChain and checkpointers belong to LangGraph, so
neither is imported.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable, Mapping
from typing import cast

from langchain_core.messages import BaseMessageChunk, message_chunk_to_message

from packline import ConfigError

__all__ = ["amessages_of", "holds_messages", "messages_of", "wholes"]

_EXPECTED = (
    "a list of messages, an object with messages (or aget_messages), or a state or snapshot with messages"
)


def holds_messages(thing: object) -> bool:
    """Whether `thing` is an object with a conversation in it, such as a chat history."""
    return hasattr(thing, "aget_messages") or hasattr(type(thing), "messages") or "messages" in _fields(thing)


def _fields(thing: object) -> Mapping[str, object]:
    return getattr(thing, "__dict__", {})


def messages_of(thing: object, name: str = "chat_history") -> Iterable[object]:
    """The messages in `thing`, oldest first; None holds none.

    Raises:
        ConfigError: There are none to be found, or only by waiting.
    """
    found = _found(thing, name)
    if found is not None:
        return found
    try:
        messages = getattr(thing, "messages", None)
    except NotImplementedError:
        messages = None
    if callable(messages):
        messages = messages()
    if messages is None and hasattr(thing, "aget_messages"):
        raise ConfigError(name, thing, "readable without waiting, or awaited by ainvoke")
    return _list(messages, thing, name)


async def amessages_of(thing: object, name: str = "chat_history") -> Iterable[object]:
    """The same, awaited; what can only be read synchronously is read in a thread."""
    found = _found(thing, name)
    if found is not None:
        return found
    if hasattr(thing, "aget_messages"):
        messages = thing.aget_messages()
        return _list(await messages if inspect.isawaitable(messages) else messages, thing, name)
    return await asyncio.to_thread(messages_of, thing, name)


def _found(thing: object, name: str) -> Iterable[object] | None:
    """The messages, where they lie open."""
    if thing is None:
        return ()
    if isinstance(thing, (list, tuple)) and not hasattr(thing, "checkpoint"):
        return wholes(thing)
    state = _state(thing)
    return _list(state.get("messages", ()), thing, name) if state is not None else None


def _state(thing: object) -> Mapping[str, object] | None:
    """The state in a LangGraph snapshot or checkpoint, or `thing` itself where it is one."""
    if isinstance(thing, Mapping):
        values = thing.get("channel_values", thing)
        return cast("Mapping[str, object]", values) if "messages" in values or values is not thing else None
    checkpoint = getattr(thing, "checkpoint", None)
    if isinstance(checkpoint, Mapping):
        return _state({"channel_values": checkpoint.get("channel_values", {})})
    values = getattr(thing, "values", None)
    return values if isinstance(values, Mapping) else None


def _list(messages: object, thing: object, name: str) -> Iterable[object]:
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise ConfigError(name, thing, _EXPECTED)
    return wholes(messages)


def wholes(messages: Iterable[object]) -> list[object]:
    """The messages; one that was put together from the pieces of a stream as the message that it is."""
    return [message_chunk_to_message(m) if isinstance(m, BaseMessageChunk) else m for m in messages]
