"""One message, whatever framework it came from: who speaks, what is said, what is called and answered.

Messages are read by their attributes, so nothing is imported. What is not text is named by a marker, never
left out silently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from packline.errors import ConfigError
from packline.timestamps import read_timestamp, uuid7_time

__all__ = ["Spoken", "read_message", "reader"]

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "function": "tool",
}
_KNOWN_ROLES = {"user", "assistant", "system", "tool"}
_WORDLESS = {"reasoning", "thinking", "redacted_thinking", "tool_call", "tool_use", "non_standard", "cache"}
_MEDIA = ("image", "audio", "video", "document", "file")
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
    blocks = get("blocks") or get("content")
    extra = get("additional_kwargs")
    extra = extra if isinstance(extra, Mapping) else {}
    calls = get("tool_calls") or extra.get("tool_calls")
    refusal = get("refusal") or extra.get("refusal")
    if not calls and (old := get("function_call") or extra.get("function_call")):
        calls = [old]
    if not isinstance(role, str) or not (blocks or calls or refusal or _has_content(message)):
        raise ConfigError(name, message, _EXPECTED)
    said = _content(blocks or refusal, name)
    calls = calls or said.calls
    role = _role(get("name") if role == "generic" else role)
    identifier = get("id")
    identifier = identifier if isinstance(identifier, str) else None
    timestamp = read_timestamp(get("timestamp")) or (uuid7_time(identifier) if identifier else None)
    answers = said.answers
    if role == "tool" and not answers:
        answers = (str(get("tool_call_id") or extra.get("tool_call_id") or ""),)
    called = tuple(_calls(calls)) if calls else ()
    return Spoken(role, said.text, called, answers, timestamp, said.media, identifier, message)


def reader(thing: object) -> Callable[[str], object]:
    """How to read a field of a dict or of an object; absent ones are None."""
    names = _names(type(thing))  # type: ignore[arg-type]  # a class has a hash
    if names is None or getattr(thing, "__pydantic_extra__", None):
        return thing.get if isinstance(thing, Mapping) else lambda name: getattr(thing, name, None)
    fields = vars(thing)
    return lambda name: getattr(thing, name, None) if name in fields or name in names else None


@lru_cache
def _names(kind: type) -> frozenset[str] | None:
    """What an object of a pydantic model has besides its fields; None for other types.

    A model searches long for what it does not have: that was most of the time of reading a conversation.
    """
    return frozenset(dir(kind)) if hasattr(kind, "__pydantic_fields__") else None


def _has_content(message: object) -> bool:
    if isinstance(message, Mapping):
        return "content" in message
    return hasattr(message, "content") or hasattr(message, "blocks")


def _role(role: object) -> str:
    name = str(role or "user").strip()
    word = name.lower().removesuffix("messagechunk")  # a piece of a stream is typed by its class
    return _ROLES.get(word, word if word in _KNOWN_ROLES else name)


class _Content(NamedTuple):
    """What the content of a message says.

    Attributes:
        text: Its words, with a marker for each block that is not text.
        media: The number of these blocks.
        calls: Blocks that call a tool, as Anthropic and LlamaIndex write them.
        answers: The ids of the calls that blocks answer.
    """

    text: str
    media: int = 0
    calls: tuple[object, ...] = ()
    answers: tuple[str, ...] = ()


def _content(content: object, name: str) -> _Content:
    if content is None:
        return _Content("")
    if isinstance(content, str):
        return _Content(content)
    if not isinstance(content, (list, Sequence)) or isinstance(content, (bytes, bytearray)):
        raise ConfigError(f"{name}.content", content, "a text or a list of content blocks")
    words: list[str] = []
    calls: list[object] = []
    answers: list[str] = []
    media = 0
    for block in content:
        if block is None:
            continue
        if isinstance(block, str):
            words.append(block)
            continue
        get = reader(block)
        kind = str(get("type") or get("block_type") or type(block).__name__).lower()
        text = get("text")
        if kind in ("tool_use", "tool_call"):
            calls.append(block)
        if kind == "tool_result":
            answers.append(str(get("tool_use_id") or ""))
            result = _content(get("content"), kind)
            words.append(text if isinstance(text, str) else result.text)
            media += result.media
        elif isinstance(text, str) and "reasoning" not in kind:
            words.append(text)
        elif kind in _WORDLESS:
            continue
        elif isinstance(inner := get("content"), (str, list, tuple)):  # a passage to cite, a search result
            passage = _content(inner, kind)
            words.append(passage.text)
            media += passage.media
        else:
            words.append(f"[{_medium(kind, get)}]")
            media += 1
    return _Content("\n".join(words), media, tuple(calls), tuple(answers))


def _medium(kind: str, get: Callable[[str], object]) -> str:
    """What a block that is not text holds, by one name in every dialect."""
    media_type = str(get("mime_type") or get("media_type") or "")
    return next((word for word in _MEDIA if word in kind or media_type.startswith(word)), kind)


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
