"""Prompts: a finished context as messages of LangChain, the caller's own ones as the very same objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, convert_to_messages
from langchain_core.prompt_values import ChatPromptValue

from packline import Context, Message

__all__ = ["prompt_value"]

_CLASSES: dict[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


def prompt_value(context: Context) -> ChatPromptValue:
    """What a chat model gets. The blocks of the question that are not text follow its text."""
    *head, question = context.messages
    messages = [message for part in head for message in _messages(part)]
    content: str | list[Any] = question.content
    if context.request.attachments:
        content = [{"type": "text", "text": question.content}, *context.request.attachments]
    return ChatPromptValue(messages=[*messages, HumanMessage(content=content)])


def _messages(message: Message) -> Sequence[BaseMessage]:
    origin = message.origin
    if origin is None:
        return [_CLASSES[message.role](content=message.content)]
    group = origin if isinstance(origin, tuple) and message.messages > 1 else (origin,)
    try:
        return convert_to_messages(list(group))  # messages of LangChain stay the objects that they are
    except (ValueError, NotImplementedError, TypeError):  # a message of another framework
        return [_CLASSES[message.role](content=message.content)]
