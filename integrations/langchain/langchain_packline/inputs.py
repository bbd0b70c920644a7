"""Inputs: every shape that a chain, an agent or a user may put at the head, as one request."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableConfig
from typing_extensions import TypedDict

from langchain_packline.asked import Asked, asked_of
from langchain_packline.memory import amessages_of, messages_of
from packline import ConfigError, Request
from packline.attempt import threaded
from packline.messages import read_message
from packline.timestamps import read_timestamp

__all__ = ["PromptInput", "Question", "arequest_of", "request_of"]


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


def request_of(value: object, config: RunnableConfig | None = None) -> Request:
    """The request that `value` makes. `now` is taken from `config["configurable"]["now"]`.

    Raises:
        ConfigError: It is of none of these shapes.
    """
    if isinstance(value, Request):
        return value
    asked = asked_of(value)
    return _request(asked, messages_of(asked.history, asked.told_as), config)


async def arequest_of(value: object, config: RunnableConfig | None = None) -> Request:
    """The same; a history that must be awaited is, and it is read in a thread."""
    if isinstance(value, Request):
        return value
    asked = await threaded(asked_of, value)
    history = await amessages_of(asked.history, asked.told_as)
    return await threaded(_request, asked, history, config)


def _request(asked: Asked, history: Iterable[object], config: RunnableConfig | None) -> Request:
    text, attachments = _question(asked.question, asked.asked_as)
    try:
        request = Request.of(
            text,
            conversation_history=history,
            system_instructions=asked.instructions,  # type: ignore[arg-type]  # checked there
            custom_packets=asked.packets,
            state=asked.state,
            now=_now(config),
        )
    except ConfigError as error:
        raise _as_called_here(error, asked) from None
    return dataclasses.replace(request, attachments=attachments) if attachments else request


def _as_called_here(error: ConfigError, asked: Asked) -> ConfigError:
    """The same error, naming what is wrong by the name that the caller gave it."""
    name, bracket, place = error.field.partition("[")
    called = {"user_query": asked.asked_as, "conversation_history": asked.told_as}.get(name, name)
    return ConfigError(f"{called}{bracket}{place}", error.value, error.expected)


def _question(question: object, name: str) -> tuple[str, tuple[object, ...]]:
    """The text of the question (with a marker for each image and the like), and those blocks themselves."""
    if isinstance(question, str):
        return question, ()
    if isinstance(question, list):
        question = {"role": "user", "content": question}
    try:
        spoken = read_message(question, name)
    except ConfigError as error:
        if error.field != name:
            raise
        expected = "a text, a list of content blocks, or a message with role and content"
        raise ConfigError(name, question, expected) from None
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
