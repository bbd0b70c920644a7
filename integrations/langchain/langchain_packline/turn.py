"""Turn: one call of an agent's model, and the head that stands before its tool loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables.config import ensure_config

from langchain_packline.inputs import request_of
from langchain_packline.prompts import prompt_value
from langchain_packline.toolloop import ToolLoop
from packline import Context, Gathered, Request

__all__ = ["Head", "Turn"]


@dataclass(frozen=True)
class Head:
    """What stands before the tool loop: what was gathered for it, and what it was packed into."""

    gathered: Gathered
    context: Context | None = None


@dataclass(frozen=True)
class Turn:
    """One call of the model.

    Args:
        question: The last human message; None where no human has spoken.
        before: The conversation before it, and calls since then that cannot stand as messages.
        loop: What has come since the question, as far as it fits.
        room: Tokens for all messages but the system message.
        bare: The question as it stands where nothing is added to it.
        least: Tokens that it needs.
    """

    question: BaseMessage | None
    before: tuple[BaseMessage, ...]
    loop: ToolLoop
    room: int
    bare: str = ""
    least: int = 0

    def request(self) -> Request:
        """What the core is asked."""
        return request_of({"question": self.question, "chat_history": self.before}, ensure_config())

    @cached_property
    def key(self) -> int:
        """The same for all calls of the model for one question: a hash of who said what, and whose it is."""
        said = tuple(map(_said, (*self.before, self.question)))
        configurable = ensure_config().get("configurable", {})
        whose = tuple(
            (name, value)
            for name, value in sorted(configurable.items())
            if not name.startswith(("__", "checkpoint")) and isinstance(value, (str, int, float, bool))
        )
        return hash((said, whose))

    def room_before_loop(self, head: Head) -> int:
        """Tokens for what stands before the loop; the second time it leaves the loop twice what it takes."""
        room = self.room - self.loop.tokens * (1 if head.context is None else 2)
        return max(room, self.least)

    def fits(self, head: Head) -> bool:
        """Whether what was packed before still leaves room for the loop."""
        return head.context is not None and head.context.tokens + self.loop.tokens <= self.room

    def messages(self, head: Head) -> list[Any]:
        """What the model gets to see."""
        assert head.context is not None
        assert self.question is not None
        own = [message.role == "system" and message.origin is None for message in head.context.messages]
        *before, question = prompt_value(head.context).messages[int(own[0]) :]
        asked = self.question
        if head.context.messages[-1].content != self.bare:
            asked = asked.model_copy(update={"content": question.content})
        return [*before, asked, *self.loop.messages]


def _said(message: BaseMessage | None) -> tuple[object, ...]:
    assert message is not None
    content = message.content if isinstance(message.content, str) else repr(message.content)
    calls = repr(message.tool_calls) if isinstance(message, AIMessage) else ""
    answers = message.tool_call_id if isinstance(message, ToolMessage) else ""
    return message.type, message.id, content, calls, answers
