"""ContextMemoryBlock: of a long conversation, the turns that matter for what is asked now.

LlamaIndex's `Memory` hands old messages to its blocks; this one keeps them all, and gives back those that
packline selects for the last question, under a budget of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field, field_validator
from llama_index.core.memory import BaseMemoryBlock

from llama_index_packline.counting import counter_of
from llama_index_packline.events import ContextEvent, dispatcher
from llama_index_packline.options import Options, checked_setting
from packline import Context, ContextConfig, Draft, Gathered, acompress, select, structure
from packline.attempt import threaded
from packline.conversation import turns
from packline.messages import read_message
from packline.passages import Passages
from packline.request import Request
from packline.shortening import shorten

__all__ = ["ContextMemoryBlock"]


class ContextMemoryBlock(Options, BaseMemoryBlock[str]):
    """Keeps the messages that a `Memory` flushes, and recalls those that matter for the last user message.

    What it gives is a transcript in the order in which it was spoken, a tool call always with its results. A
    turn too long to stand whole is shortened. Where nothing has to do with the question, it gives nothing.

    With a `ReActAgent`, make the memory with `insert_method="user"`: that agent throws away the system
    message, where a memory's blocks stand by default. Priority 0, the default, lets the block stand as it is.

    Args:
        name: Of the block in the memory's template.
        max_tokens: Upper limit of the transcript, the speakers' names included.
            A share of `context_window`, above 0 and below 1, will do, or a callable that gives either for
            the question.
        context_window: Tokens that the model takes, for a `max_tokens` that is or gives a share of it.
        relevance: As in `ContextBuilder`, or an embedding model.
        min_relevance: Turns below this, in [0, 1], are not recalled; as in `ContextConfig` by default.
        stop_share: Nor are those that score below this share, in [0, 1], of the best; see `ContextConfig`.
        token_counter: Anything that `packline.token_counter` takes; None: `Settings.tokenizer`, looked up at
            each call.
        messages: What it has kept so far, oldest first. Of several sessions, each is told only its own.

    >>> import asyncio
    >>> block = ContextMemoryBlock(max_tokens=60, token_counter=len)
    >>> said = ["It rains.", "My cat is called Miso.", "The train is late.", "I had soup for lunch."]
    >>> asyncio.run(block.aput([ChatMessage(text) for text in said]))
    >>> print(asyncio.run(block.aget([ChatMessage("What is my cat called?")])))
    user: It rains.
    user: My cat is called Miso.
    """

    name: str = "earlier_conversation"
    max_tokens: Any = 1000
    min_relevance: float = ContextConfig.min_relevance
    messages: list[ChatMessage] = Field(default_factory=list)

    _settings = field_validator("min_relevance", mode="before")(checked_setting)

    async def recall(self, question: str, *, session_id: str | None = None) -> Context:
        """What the block tells for `question`, with the account of why; `text` is what it gives.

        The event loop is not held: reading, selecting and shortening are done in a thread.
        """
        kept = [message for message in self.messages if _is_of(message, session_id)]
        context = await acompress(await threaded(self._draft, question, kept))
        dispatcher.event(ContextEvent(context=context))
        return context

    def _draft(self, question: str, messages: Sequence[ChatMessage]) -> Draft:
        packets = turns(messages)
        request = Request(question=question, now=datetime.now(UTC))
        config = ContextConfig(
            max_tokens=self.max_tokens,
            context_window=self.context_window,
            min_relevance=self.min_relevance,
            stop_share=self.stop_share,
        )
        selection = select(
            Gathered(request=request, packets=packets, names=(self.name,) * len(packets)),
            relevance=self._scorers.of(self.relevance),
            counter=counter_of(self.token_counter),
            config=Passages.config(config, separator="\n"),
        )
        return structure(selection)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        question = _last_question(messages or [])
        if not question or not self.messages:
            return ""
        return (await self.recall(question, session_id=block_kwargs.get("session_id"))).text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        self.messages.extend(messages)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """`content` in so many tokens less, by whole lines and sentences; None where nothing is left."""

        def shortened() -> str:
            counter = counter_of(self.token_counter)
            return shorten(content, "", counter.count(content) - tokens_to_truncate, counter)

        return await threaded(shortened) or None


def _is_of(message: ChatMessage, session_id: str | None) -> bool:
    """Whether `message` is of the session; the memory that gave it says so in its `additional_kwargs`."""
    told = message.additional_kwargs.get("session_id")
    return session_id is None or told is None or told == session_id


def _last_question(messages: Sequence[ChatMessage]) -> str:
    asked = (message for message in reversed(messages) if message.role == MessageRole.USER)
    return next((read_message(message, "messages").text.strip() for message in asked), "")
