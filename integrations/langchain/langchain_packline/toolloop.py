"""Tool loop: what the model and its tools have said since the question, the newest first, as far as it fits.

A call stands with all of its results or not at all; a call that has not been answered, or an answer without
its call, would be refused by providers, and so is left to the conversation, which stands as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from packline import BudgetError
from packline.conversation import turns
from packline.messages import read_message
from packline.prompt import MEDIA_TOKENS, Message
from packline.shortening import shorten
from packline.tokens import Counter

__all__ = ["Group", "ToolLoop"]


@dataclass(frozen=True)
class Group:
    """A message, or a call of tools with all its results, and what that costs."""

    messages: tuple[BaseMessage, ...]
    tokens: int


@dataclass(frozen=True)
class ToolLoop:
    """All groups since the question, oldest first.

    Args:
        groups: Those that can stand as messages.
        broken: Messages that cannot.
    """

    groups: tuple[Group, ...] = ()
    broken: tuple[BaseMessage, ...] = ()

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], counter: Counter, overhead: int) -> ToolLoop:
        """The groups of `messages`."""
        groups: list[Group] = []
        broken: list[BaseMessage] = []
        for packet in turns(messages):
            spoken = packet.origin if isinstance(packet.origin, tuple) else (packet.origin,)
            if packet.metadata.get("incomplete"):
                broken += spoken
            else:
                groups.append(Group(spoken, _tokens(spoken, counter, overhead)))
        return cls(tuple(groups), tuple(broken))

    @property
    def tokens(self) -> int:
        """What all groups cost."""
        return sum(group.tokens for group in self.groups)

    @property
    def messages(self) -> list[Any]:
        """The messages of all groups."""
        return [message for group in self.groups for message in group.messages]

    def within(
        self, room: int, *, question: str, counter: Counter, overhead: int, whole: bool = False
    ) -> ToolLoop:
        """The newest groups that fit in `room` tokens; the very last in any case.

        Where even the last is too long, what its tools answered is shortened, each to an equal part.

        Args:
            whole: Raise instead of shortening.

        Raises:
            BudgetError: The last does not fit.
        """
        kept: list[Group] = []
        for group in reversed(self.groups):
            if group.tokens > room:
                break
            kept.insert(0, group)
            room -= group.tokens
        if self.groups and not kept:
            last = self.groups[-1]
            short = last if whole else _shortened(last, room, question, counter, overhead)
            if short.tokens > room:
                raise BudgetError(short.tokens, max(room, 0), "tool calls")
            kept = [short]
        return ToolLoop(tuple(kept), self.broken)


def _shortened(group: Group, room: int, question: str, counter: Counter, overhead: int) -> Group:
    messages = list(group.messages)
    answers = [place for place, message in enumerate(messages) if isinstance(message, ToolMessage)]
    fixed = [message.model_copy(update={"content": ""}) if place in answers else message
             for place, message in enumerate(messages)]  # fmt: skip
    left = room - _tokens(tuple(fixed), counter, overhead)
    for done, place in enumerate(sorted(answers, key=lambda place: len(read_message(messages[place]).text))):
        text = read_message(messages[place]).text
        limit = max(0, left // (len(answers) - done))
        short = text if counter.count(text) <= limit else shorten(text, question, limit, counter)
        messages[place] = messages[place].model_copy(update={"content": short})
        left -= counter.count(short)
    tokens = _tokens(tuple(messages), counter, overhead)
    return Group(tuple(messages), tokens)


def _tokens(messages: tuple[BaseMessage, ...], counter: Counter, overhead: int) -> int:
    (packet,) = turns(messages)
    media = packet.metadata.get("media", 0)
    media = media if isinstance(media, int) else 0
    standing = Message("assistant", packet.content, packet.origin, media)
    return counter.count(packet.content) + overhead * standing.messages + MEDIA_TOKENS * media
