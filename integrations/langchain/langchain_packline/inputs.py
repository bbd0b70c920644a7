"""Inputs: every shape that a chain, an agent or a user may put at the head, as one request."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableConfig
from typing_extensions import TypedDict

from langchain_packline.memory import amessages_of, messages_of
from packline import ConfigError, ContextPacket, Request, Source
from packline.conversation import read_message
from packline.sources import packets_of
from packline.timestamps import read_timestamp

__all__ = ["PromptInput", "Question", "arequest_of", "packets_given", "request_of"]


class Question(TypedDict, total=False):
    """A question with what belongs to it. Of `query`, `question`, `input` and `user_query` one is needed.

    `chat_history` (or `history`, `conversation_history`) is a list of messages or anything that holds some,
    `documents` (or `context`) are documents already fetched, `packets` (or `custom_packets`) are candidates
    of your own. Other keys are left to other steps, unless they look like a misspelt one of these.
    """

    query: Any
    question: Any
    input: Any
    user_query: Any
    chat_history: Any
    history: Any
    conversation_history: Any
    documents: Any
    context: Any
    system_instructions: str | None
    state: Any
    packets: Any
    custom_packets: Any
    messages: Any


PromptInput: TypeAlias = str | Question | list[Any] | PromptValue | Request

_QUESTIONS = ("query", "question", "input", "user_query")
_HISTORIES = ("chat_history", "history", "messages", "conversation_history")
_DOCUMENTS = ("documents", "context")
_PACKETS = ("packets", "custom_packets")
_KNOWN = (*_QUESTIONS, *_HISTORIES, *_DOCUMENTS, *_PACKETS, "system_instructions", "state")
_SHAPES = (
    "a question as text; a dict with the question under query, question, input or user_query, and optionally "
    "chat_history (or history), documents (or context), system_instructions, state, packets; a list of "
    "messages, a PromptValue or a state {'messages': [...]}, whose last human message is the question; or a "
    "Request"
)


@dataclass(frozen=True)
class _Asked:
    """An input, taken apart; the history may still have to be read."""

    question: object
    history: object = None
    packets: tuple[ContextPacket, ...] = ()
    instructions: object = None
    state: object = None


def request_of(value: object, config: RunnableConfig | None = None) -> Request:
    """The request that `value` makes. `now` is taken from `config["configurable"]["now"]`.

    Raises:
        ConfigError: It is of none of the shapes above.
    """
    if isinstance(value, Request):
        return value
    asked = _asked(value)
    return _request(asked, messages_of(asked.history), config)


async def arequest_of(value: object, config: RunnableConfig | None = None) -> Request:
    """The same; a history that must be awaited is."""
    if isinstance(value, Request):
        return value
    asked = _asked(value)
    return _request(asked, await amessages_of(asked.history), config)


def _asked(value: object) -> _Asked:
    if isinstance(value, str):
        return _Asked(value)
    if isinstance(value, PromptValue):
        return _spoken(value.to_messages())
    if isinstance(value, BaseMessage):
        return _spoken([value])
    if isinstance(value, Mapping):
        return _named(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return _spoken(value)
    raise ConfigError("input", value, _SHAPES)


def _named(value: Mapping[str, object]) -> _Asked:
    for key in value:
        near = difflib.get_close_matches(str(key), _KNOWN, n=1, cutoff=0.85)
        if near and key not in _KNOWN:
            raise ConfigError("key of the input", key, f"one of {', '.join(_KNOWN)}, perhaps {near[0]!r}")
    question = _one_of(value, _QUESTIONS)
    history = _one_of(value, _HISTORIES)
    if question is None and isinstance(value.get("messages"), Sequence):
        asked = _spoken(value["messages"])  # type: ignore[arg-type]  # a sequence: see the line above
    elif question is None:
        raise ConfigError("input", value, _SHAPES)
    else:
        asked = _Asked(question, history)
    if value.get("system_instructions") is not None:
        asked = dataclasses.replace(asked, instructions=value["system_instructions"])
    packets = (
        *packets_given(_one_of(value, _PACKETS), "packets"),
        *packets_given(_one_of(value, _DOCUMENTS), "documents"),
    )
    return dataclasses.replace(asked, packets=packets, state=value.get("state"))


def _one_of(value: Mapping[str, object], names: Sequence[str]) -> object:
    """What stands under one of `names`; saying it twice is an error, since one of the two would be lost."""
    given = [name for name in names if value.get(name) is not None]
    if len(given) > 1 and any(value[name] != value[given[0]] for name in given):
        raise ConfigError("input", given, f"with one of {', '.join(names)}, not several that differ")
    return value[given[0]] if given else None


def _spoken(messages: Sequence[object]) -> _Asked:
    """A conversation: the last human message is the question, leading system messages are instructions."""
    roles = [read_message(message, f"input[{place}]").role for place, message in enumerate(messages)]
    if "user" not in roles:
        raise ConfigError("input", messages, f"with a human message in it; it is {_SHAPES}")
    start = next(place for place, role in enumerate(roles) if role != "system")
    at = len(roles) - 1 - roles[::-1].index("user")
    instructions = [read_message(message).text for message in messages[:start]]
    return _Asked(
        messages[at],
        [*messages[start:at], *messages[at + 1 :]],
        instructions="\n\n".join(instructions) or None,
    )


def packets_given(given: object, name: str) -> tuple[ContextPacket, ...]:
    """Candidates given with the question: packets of any kind, or whatever a source may answer."""
    if isinstance(given, ContextPacket):
        return (given,)
    if isinstance(given, (list, tuple)) and all(isinstance(packet, ContextPacket) for packet in given):
        return tuple(given)
    return packets_of(given, Source(name, ask=_nothing))


def _nothing(query: str) -> None:
    """Never asked: documents that come with the question are there already."""


def _request(asked: _Asked, history: Iterable[object], config: RunnableConfig | None) -> Request:
    text, attachments = _question(asked.question)
    request = Request.of(
        text,
        conversation_history=history,
        system_instructions=asked.instructions,  # type: ignore[arg-type]  # checked there
        custom_packets=asked.packets,
        state=asked.state,
        now=_now(config),
    )
    return dataclasses.replace(request, attachments=attachments) if attachments else request


def _question(question: object) -> tuple[str, tuple[object, ...]]:
    """The text of the question (with a marker for each image and the like), and those blocks themselves."""
    if isinstance(question, str):
        return question, ()
    if isinstance(question, list):
        question = {"role": "user", "content": question}
    spoken = read_message(question, "question")
    content = question.get("content") if isinstance(question, Mapping) else getattr(question, "content", None)
    if spoken.media == 0 or not isinstance(content, list):
        return spoken.text, ()
    blocks = [block for block in content if read_message({"role": "user", "content": [block]}).media]
    return spoken.text, tuple(blocks)


def _now(config: RunnableConfig | None) -> datetime | None:
    given: object = (config or {}).get("configurable", {}).get("now")
    if given is None:
        return None
    moment = read_timestamp(given)
    if moment is None:
        raise ConfigError("configurable['now']", given, "a datetime or an ISO 8601 text")
    return moment
