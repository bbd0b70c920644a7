"""Memory: the conversation and the memories that LlamaIndex keeps, read whole and once.

`get()` of a buffer cuts by its own rules, and in quadratic time. What packline chooses from is everything
that there is, so that is what is read: all messages of a store, and what each memory block says.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory, BaseMemoryBlock, Memory, SimpleComposableMemory, VectorMemory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from packline import ConfigError, ContextPacket, Kind, Source
from packline.attempt import Call, settle, threaded
from packline.conversation import turns
from packline.messages import read_message

__all__ = ["aread_memory", "memory_sources", "read_memory"]

_LOCKS: dict[int, threading.Lock] = {}
_GUARD = threading.Lock()


def read_memory(memory: object, *, question: str = "", archived: bool = False) -> list[ChatMessage]:
    """All messages of a memory, oldest first, as `conversation_history=` takes them.

    Works inside a running event loop too, though it blocks it; there, `aread_memory` does not.

    Args:
        memory: Any LlamaIndex memory, or a list of messages, which is returned as it is.
        question: What a memory that can only search, such as `VectorMemory`, is searched for.
        archived: Of a `Memory`, read also what it has flushed to its blocks.

    Raises:
        ConfigError: It is neither.

    >>> from llama_index.core.memory import ChatMemoryBuffer
    >>> buffer = ChatMemoryBuffer.from_defaults(chat_history=[ChatMessage("Hello!")])
    >>> [message.content for message in read_memory(buffer)]
    ['Hello!']
    """

    async def read() -> list[ChatMessage]:
        return await aread_memory(memory, question=question, archived=archived)

    outcome = settle([Call("memory", threading.TIMEOUT_MAX, arun=read)])[0]
    if outcome.error is not None:
        raise outcome.error
    return outcome.value or []


async def aread_memory(memory: object, *, question: str = "", archived: bool = False) -> list[ChatMessage]:
    """The same as `read_memory`, awaited."""
    kept = checked(memory)
    if not isinstance(kept, BaseMemory):
        return list(kept)
    if isinstance(kept, Memory):
        return await _messages_of(kept, archived)
    if isinstance(kept, SimpleComposableMemory):
        return await aread_memory(kept.primary_memory, question=question, archived=archived)
    if isinstance(kept, VectorMemory):  # it cannot list what it has
        return await kept.aget(question)
    return list(await kept.aget_all())


def checked(memory: object) -> BaseMemory | Sequence[ChatMessage]:
    """`memory`, if a conversation can be read from it; else a `ConfigError`."""
    if not isinstance(memory, (BaseMemory, list, tuple)):
        raise ConfigError("memory", memory, "a LlamaIndex memory, or a list of messages")
    return memory


def conversation(messages: Iterable[object]) -> tuple[ContextPacket, ...]:
    """The turns that `messages` are; what is no message is named by its place in the memory."""
    try:
        return turns(messages)
    except ConfigError as error:
        name = error.field.replace("conversation_history", "memory", 1)
        raise ConfigError(name, error.value, error.expected) from None


def memory_sources(
    memory: BaseMemory | Sequence[ChatMessage],
    *,
    name: str = "memory",
    archived: bool = False,
    timeout: float | None = None,
) -> list[Source]:
    """The memory as sources: its messages, and each of its blocks or secondary memories for itself.

    So a block that fails costs only itself. Messages become one packet a turn, of kind history; a block
    becomes one packet of kind memory.

    Args:
        memory: Any LlamaIndex memory, or a list of messages, which has no blocks.
        name: Of the messages in the report; blocks are called "memory/block".
        archived: See `read_memory`.
        timeout: Seconds for each; None: the config's.

    Raises:
        ConfigError: It is neither.
    """
    checked(memory)

    async def messages(question: str) -> Sequence[ContextPacket]:
        messages = await aread_memory(memory, question=question, archived=archived)
        return await threaded(conversation, messages)

    spoken = Source(name, aask=messages, kind=Kind.HISTORY, timeout=timeout)
    return [spoken, *block_sources(memory, name=name, timeout=timeout)]


def block_sources(memory: object, *, name: str = "memory", timeout: float | None = None) -> list[Source]:
    """What a memory has beside its messages."""
    if isinstance(memory, Memory):
        return [_block_source(memory, block, name, timeout) for block in memory.memory_blocks]
    if isinstance(memory, SimpleComposableMemory):
        return [
            _secondary_source(secondary, f"{name}/{place}", timeout)
            for place, secondary in enumerate(memory.secondary_memory_sources)
        ]
    return []


def _secondary_source(secondary: BaseMemory, name: str, timeout: float | None) -> Source:
    async def ask(question: str) -> Sequence[ContextPacket]:
        return await threaded(turns, await secondary.aget(question))

    return Source(name, aask=ask, kind=Kind.HISTORY, timeout=timeout)


def _block_source(memory: Memory, block: BaseMemoryBlock[Any], name: str, timeout: float | None) -> Source:
    async def ask(question: str) -> list[ContextPacket]:
        messages = await aread_memory(memory)
        content = await block.aget(
            [*messages, ChatMessage(role="user", content=question)], session_id=memory.session_id
        )
        text = _block_text(content)
        return [ContextPacket(text, kind=Kind.MEMORY, id=block.name, origin=block)] if text.strip() else []

    return Source(f"{name}/{block.name}", aask=ask, kind=Kind.MEMORY, timeout=timeout)


def _block_text(content: str | list[Any] | None) -> str:
    """What a block answered as text: it may give a text, content blocks or messages."""
    if content is None or isinstance(content, str):
        return content or ""
    if any(isinstance(part, ChatMessage) for part in content):
        spoken = [read_message(message, "block") for message in content]
        return "\n".join(f"{one.role}: {one.text}" for one in spoken)
    return read_message({"role": "memory", "content": content}, "block").text


async def _messages_of(memory: Memory, archived: bool) -> list[ChatMessage]:
    """What the store of a memory holds, one reader at a time.

    Of several first calls at once, all but one find no table; and a call on another thread's event loop finds
    the connection bound to the first one. The lock is polled, since it must hold across threads and must not
    block this thread's loop.
    """
    lock = _lock_of(memory.sql_store)
    while not lock.acquire(blocking=False):
        await asyncio.sleep(0.001)
    try:
        return await memory.aget_all(status=None if archived else MessageStatus.ACTIVE)
    finally:
        lock.release()


def _lock_of(store: object) -> threading.Lock:
    key = id(store)  # stores are models, which have no hash
    with _GUARD:
        if key not in _LOCKS:
            _LOCKS[key] = threading.Lock()
            weakref.finalize(store, _LOCKS.pop, key)
        return _LOCKS[key]
