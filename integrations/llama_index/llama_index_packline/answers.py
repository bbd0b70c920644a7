"""Answers: what a model says to a packed context, called once: whole, in pieces, or as an object."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.llms import LLM

from packline import Context, Message

__all__ = ["aask", "apieces", "ask", "pieces"]


def ask(
    llm: LLM,
    context: Context,
    options: Mapping[str, Any],
    *,
    streaming: bool,
    output_cls: type[BaseModel] | None,
) -> Any:
    """What `llm` says: a text, with `streaming` a generator of its pieces, or an object of `output_cls`.

    A chat model gets the context's messages, any other its text.

    Args:
        options: Passed to the model.
    """
    if output_cls is not None:
        return llm.as_structured_llm(output_cls).chat(_messages(context, llm), **options).raw
    if not llm.metadata.is_chat_model:
        if streaming:
            return _deltas(llm.stream_complete(context.text, **options))
        return llm.complete(context.text, **options).text
    if streaming:
        return _deltas(llm.stream_chat(_messages(context, llm), **options))
    return llm.chat(_messages(context, llm), **options).message.content or ""


async def aask(
    llm: LLM,
    context: Context,
    options: Mapping[str, Any],
    *,
    streaming: bool,
    output_cls: type[BaseModel] | None,
) -> Any:
    """The same as `ask`, awaited."""
    if output_cls is not None:
        return (await llm.as_structured_llm(output_cls).achat(_messages(context, llm), **options)).raw
    if not llm.metadata.is_chat_model:
        if streaming:
            return _adeltas(await llm.astream_complete(context.text, **options))
        return (await llm.acomplete(context.text, **options)).text
    if streaming:
        return _adeltas(await llm.astream_chat(_messages(context, llm), **options))
    return (await llm.achat(_messages(context, llm), **options)).message.content or ""


def pieces(text: str) -> Generator[str, None, None]:
    """`text` as an answer in pieces, of which there is one."""
    yield text


async def apieces(text: str) -> AsyncGenerator[str, None]:
    """The same, awaited."""
    yield text


def _messages(context: Context, llm: LLM) -> list[ChatMessage]:
    system_role = llm.metadata.system_role
    return [message for part in context.messages for message in _spoken(part, system_role)]


def _spoken(message: Message, system_role: MessageRole) -> list[ChatMessage]:
    """The caller's own messages where they stand whole, else one with the text."""
    origin = message.origin
    if isinstance(origin, ChatMessage):
        return [origin]
    if isinstance(origin, tuple) and origin and all(isinstance(part, ChatMessage) for part in origin):
        return list(origin)
    role = system_role if message.role == "system" else MessageRole(message.role)
    return [ChatMessage(role=role, content=message.content)]


def _deltas(responses: Iterable[Any]) -> Generator[str, None, None]:
    for response in responses:
        yield response.delta or ""


async def _adeltas(responses: AsyncGenerator[Any, None]) -> AsyncGenerator[str, None]:
    async for response in responses:
        yield response.delta or ""
