"""Asked: an input taken apart into question, history and candidates, with the names that its giver uses."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompt_values import PromptValue

from langchain_packline.memory import wholes
from packline import ConfigError, ContextPacket, Source, SourceError
from packline.messages import read_message
from packline.sources import packets_of

__all__ = ["Asked", "asked_of", "packets_given"]

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
class Asked:
    """What an input asks; the history may still have to be read.

    Args:
        asked_as: What the caller calls the question.
        told_as: What the caller calls the history.
    """

    question: object
    history: object = None
    packets: tuple[ContextPacket, ...] = ()
    instructions: object = None
    state: object = None
    asked_as: str = "input"
    told_as: str = "chat_history"


def asked_of(value: object) -> Asked:
    """What `value` asks.

    Raises:
        ConfigError: It is of none of the shapes that `PromptInput` names.
    """
    if isinstance(value, str):
        return Asked(value)
    if isinstance(value, PromptValue):
        return _spoken(value.to_messages())
    if isinstance(value, AIMessage):
        raise ConfigError("input", value, "a question: behind a model, put StrOutputParser() before it")
    if isinstance(value, BaseMessage):
        return _spoken([value])
    if isinstance(value, Mapping):
        return _named(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return _spoken(value)
    raise ConfigError("input", value, _SHAPES)


def _named(value: Mapping[str, object]) -> Asked:
    for key in value:
        near = difflib.get_close_matches(str(key), _KNOWN, n=1, cutoff=0.85)
        if near and key not in _KNOWN:
            raise ConfigError("key of the input", key, f"one of {', '.join(_KNOWN)}, perhaps {near[0]!r}")
    asked_as, question = _one_of(value, _QUESTIONS)
    told_as, history = _one_of(value, _HISTORIES)
    if question is None and isinstance(value.get("messages"), Sequence):
        asked = _spoken(value["messages"], "messages")  # type: ignore[arg-type]  # see the line above
    elif question is None:
        raise ConfigError("input", value, _SHAPES)
    else:
        asked = Asked(question, history, asked_as=asked_as, told_as=told_as)
    if value.get("system_instructions") is not None:
        asked = dataclasses.replace(asked, instructions=value["system_instructions"])
    packets = (*_candidates(*_one_of(value, _PACKETS)), *_candidates(*_one_of(value, _DOCUMENTS)))
    return dataclasses.replace(asked, packets=packets, state=value.get("state"))


def _one_of(value: Mapping[str, object], names: Sequence[str]) -> tuple[str, object]:
    """Which of `names` has something, and what; saying it twice is an error, since one would be lost."""
    given = [name for name in names if value.get(name) is not None]
    if len(given) > 1 and any(value[name] != value[given[0]] for name in given):
        raise ConfigError("input", given, f"with one of {', '.join(names)}, not several that differ")
    return (given[0], value[given[0]]) if given else (names[0], None)


def _spoken(messages: Sequence[object], name: str = "input") -> Asked:
    """A conversation: the last human message is the question, leading system messages are instructions."""
    messages = wholes(messages)
    roles = [read_message(message, f"{name}[{place}]").role for place, message in enumerate(messages)]
    if "user" not in roles:
        raise ConfigError(name, messages, "a list in which the last human message is the question")
    start = next(place for place, role in enumerate(roles) if role != "system")
    at = len(roles) - 1 - roles[::-1].index("user")
    instructions = [read_message(message).text for message in messages[:start]]
    return Asked(
        messages[at],
        [*messages[start:at], *messages[at + 1 :]],
        instructions="\n\n".join(instructions) or None,
        asked_as=f"{name}[{at}]",
        told_as=name,
    )


def _candidates(name: str, given: object) -> tuple[ContextPacket, ...]:
    try:
        return packets_given(given, name)
    except SourceError as error:
        raise ConfigError(name, given, "documents, texts or packets") from error


def packets_given(given: object, name: str) -> tuple[ContextPacket, ...]:
    """Candidates given with the question: packets of any kind, or whatever a source may answer."""
    if isinstance(given, ContextPacket):
        return (given,)
    if isinstance(given, (list, tuple)) and all(isinstance(packet, ContextPacket) for packet in given):
        return tuple(given)
    return packets_of(given, Source(name, ask=_nothing))


def _nothing(query: str) -> None:
    """Never asked: documents that come with the question are there already."""
