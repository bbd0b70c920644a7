"""The conversation as packets: one a turn, and one for a call of tools with all its results.

Messages of any framework are read by their attributes, so nothing is imported. A turn keeps the messages
it was made from as its `origin`; what is not text is named by a marker in the content, never left out
silently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import cast

from packline.errors import ConfigError
from packline.packet import ContextPacket, Kind
from packline.timestamps import read_timestamp, uuid7_time

__all__ = ["Spoken", "read_message", "reader", "turns"]

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "function": "tool",
}
_KNOWN_ROLES = {"user", "assistant", "system", "tool"}
_WORDLESS = {"reasoning", "thinking", "redacted_thinking", "tool_call", "tool_use", "non_standard"}
_KIND = attrgetter("kind")
_EXPECTED = (
    "a dict with role and content, a (role, text) pair, a message object with role (or type) and content, "
    "or a ContextPacket"
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message, whatever framework it came from.

    Args:
        role: "user", "assistant", "system", "tool", or a speaker's name.
        text: Its words, with a marker such as `[image]` for each block that is not text.
        calls: The tool calls that it makes: id, and what is called with what.
        answers: The ids of the calls that it answers: one where its role is "tool", else those of the
            tool_result blocks in it, as Anthropic writes them.
        media: How many images, sounds and files it carries.
    """

    role: str
    text: str
    calls: tuple[tuple[str, str], ...]
    answers: tuple[str, ...]
    timestamp: datetime | None
    media: int
    id: str | None
    origin: object


def turns(history: Iterable[object]) -> tuple[ContextPacket, ...]:
    """The conversation as packets of kind history, in the order given.

    An assistant message with tool calls and the tool messages that follow it become one packet. In
    `metadata`: `role`, `media` (how many blocks are not text) and, where a turn cannot stand as messages of
    its own, `incomplete`: a call without all of its results, or a result without its call.

    Raises:
        ConfigError: An entry is not a message; it is named by its place.

    >>> [packet.content for packet in turns([("user", "Hi"), {"role": "assistant", "content": "Hello"}])]
    ['Hi', 'Hello']
    """
    if isinstance(history, (str, bytes, Mapping)) or not isinstance(history, Iterable):
        raise ConfigError("conversation_history", history, "a list of messages")
    history = tuple(history)
    if set(map(type, history)) == {ContextPacket} and set(map(_KIND, history)) == {Kind.HISTORY}:
        return cast("tuple[ContextPacket, ...]", history)
    packets: list[ContextPacket] = []
    group: list[Spoken] = []
    for place, entry in enumerate(history):
        if isinstance(entry, ContextPacket):
            if entry.kind in (Kind.INSTRUCTION, Kind.STATE):
                expected = "a turn: instructions and state are given as such, or as custom_packets"
                raise ConfigError(f"conversation_history[{place}]", entry, expected)
            packets += _flushed(group, len(packets))
            packets.append(entry)
            continue
        spoken = read_message(entry, f"conversation_history[{place}]")
        if not (group and _awaits(group, spoken.answers)):
            packets += _flushed(group, len(packets))
        group.append(spoken)
    packets += _flushed(group, len(packets))
    return tuple(packets)


def _awaits(group: Sequence[Spoken], answers: Sequence[str]) -> bool:
    return any(call_id in answers for call_id, _ in group[0].calls)


def _flushed(group: list[Spoken], place: int) -> Iterator[ContextPacket]:
    if group:
        yield _packet(tuple(group), place)
        group.clear()


def _packet(group: tuple[Spoken, ...], place: int) -> ContextPacket:
    first = group[0]
    metadata: dict[str, object] = {"role": first.role}
    if media := sum(spoken.media for spoken in group):
        metadata["media"] = media
    answered = {call_id for spoken in group for call_id in spoken.answers}
    if first.answers or any(call_id not in answered for call_id, _ in first.calls):
        metadata["incomplete"] = True
    return ContextPacket(
        _text(group),
        timestamp=first.timestamp,
        metadata=metadata,
        kind=Kind.HISTORY,
        id=first.id or f"turn-{place}",
        origin=first.origin if len(group) == 1 else tuple(spoken.origin for spoken in group),
    )


def _text(group: tuple[Spoken, ...]) -> str:
    first = group[0]
    calls = [f"[calls {call}]" for _, call in first.calls]
    results = [f"[result] {spoken.text}" for spoken in group[1:]]
    return "\n".join(filter(None, [first.text, *calls, *results]))


def read_message(message: object, name: str = "message") -> Spoken:
    """One message of any framework.

    Raises:
        ConfigError: It is no message; `name` says which one.
    """
    if isinstance(message, (tuple, list)):
        if len(message) != 2 or not all(isinstance(part, str) for part in message):
            raise ConfigError(name, message, _EXPECTED)
        message_role, content = message
        return Spoken(_role(message_role), content, (), (), None, 0, None, message)
    get = reader(message)
    role = get("role") or get("type")
    role = getattr(role, "value", role)  # an enum in LlamaIndex
    if not isinstance(role, str) or not _has_content(message):
        raise ConfigError(name, message, _EXPECTED)
    blocks = get("blocks") or get("content")
    extra = get("additional_kwargs")
    extra = extra if isinstance(extra, Mapping) else {}
    text, media = _words(blocks, name)
    calls = tuple(_calls(get("tool_calls") or extra.get("tool_calls") or _call_blocks(blocks)))
    role = _role(get("name") if role == "generic" else role)
    identifier = get("id")
    identifier = identifier if isinstance(identifier, str) else None
    timestamp = read_timestamp(get("timestamp")) or (uuid7_time(identifier) if identifier else None)
    answers = tuple(_answer_blocks(blocks))
    if role == "tool" and not answers:
        answers = (str(get("tool_call_id") or extra.get("tool_call_id") or ""),)
    return Spoken(role, text, calls, answers, timestamp, media, identifier, message)


def reader(thing: object) -> Callable[[str], object]:
    """How to read a field of a dict or of an object; absent ones are None."""
    if isinstance(thing, Mapping):
        return thing.get
    if not hasattr(type(thing), "__pydantic_fields__") or getattr(thing, "__pydantic_extra__", None):
        return lambda name: getattr(thing, name, None)
    # A pydantic model searches long for what it does not have: most of the time of reading a conversation.
    kind = type(thing)
    names = _NAMES.get(kind) or _NAMES.setdefault(kind, frozenset(dir(kind)))
    fields = vars(thing)
    return lambda name: getattr(thing, name, None) if name in fields or name in names else None


_NAMES: dict[type, frozenset[str]] = {}


def _has_content(message: object) -> bool:
    if isinstance(message, Mapping):
        return "content" in message
    return hasattr(message, "content") or hasattr(message, "blocks")


def _role(role: object) -> str:
    name = str(role or "user").strip()
    word = name.lower().removesuffix("messagechunk")  # a piece of a stream is typed by its class
    return _ROLES.get(word, word if word in _KNOWN_ROLES else name)


def _words(content: object, name: str) -> tuple[str, int]:
    """The text of a message and the number of blocks that are not text."""
    if content is None:
        return "", 0
    if isinstance(content, str):
        return content, 0
    if not isinstance(content, Sequence) or isinstance(content, (bytes, bytearray)):
        raise ConfigError(f"{name}.content", content, "a text or a list of content blocks")
    words, media = [], 0
    for block in content:
        text, kind = _block(block)
        if text is not None:
            words.append(text)
        elif kind not in _WORDLESS:
            words.append(f"[{kind}]")
            media += 1
    return "\n".join(words), media


def _block(block: object) -> tuple[str | None, str]:
    """The text of a content block, or None and what kind of block it is, by one name in every dialect."""
    if isinstance(block, str):
        return block, "text"
    get = reader(block)
    kind = str(get("type") or get("block_type") or type(block).__name__).lower()
    text = get("text")
    if isinstance(text, str) and "reasoning" not in kind:
        return text, "text"
    if kind == "tool_result":
        return _words(get("content"), "tool_result")[0], "text"
    media_type = str(get("mime_type") or get("media_type") or "")
    known = ("image", "audio", "video", "document", "file")
    return None, next((word for word in known if word in kind or media_type.startswith(word)), kind)


def _call_blocks(blocks: object) -> list[object]:
    """Calls that stand as blocks in the content, as Anthropic and LlamaIndex write them."""
    if isinstance(blocks, str) or not isinstance(blocks, Sequence):
        return []
    kinds = ("tool_use", "tool_call")
    return [block for block in blocks if (reader(block)("type") or reader(block)("block_type")) in kinds]


def _answer_blocks(blocks: object) -> Iterator[str]:
    """The ids of the calls that are answered by blocks in the content."""
    if not isinstance(blocks, str) and isinstance(blocks, Sequence):
        for get in map(reader, blocks):
            if get("type") == "tool_result":
                yield str(get("tool_use_id") or "")


def _calls(calls: object) -> Iterator[tuple[str, str]]:
    for call in calls if isinstance(calls, Sequence) else ():
        get = reader(call)
        function = get("function")
        inner = function if isinstance(function, Mapping) else {}
        name = get("name") or get("tool_name") or inner.get("name") or getattr(function, "name", "")
        arguments = get("args") or get("input") or get("tool_kwargs") or inner.get("arguments")
        arguments = arguments or getattr(function, "arguments", None) or {}
        shown = (
            arguments
            if isinstance(arguments, str)
            else json.dumps(arguments, ensure_ascii=False, default=str)
        )
        yield str(get("id") or get("tool_call_id") or ""), f"{name}({shown})"
