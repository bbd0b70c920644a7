"""Prompt: the two finished forms of the same sections, one text or chat messages, and what they cost.

The system message holds only what the application itself says. What came from outside goes into the user
message, with the question last: so untrusted text never speaks with the system's voice, and the head of
the prompt stays the same from turn to turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from packline.messages import read_message
from packline.packet import Kind
from packline.template import Template
from packline.tokens import Counter
from packline.verdict import Verdict

__all__ = ["MEDIA_TOKENS", "Message", "Prompt", "attached", "chat_message", "fixed_bodies", "message_count"]

_CHAT_ROLES = ("user", "assistant")
MEDIA_TOKENS = 1_000  # about what a picture of a megapixel costs; the same in every dialect


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message.

    Args:
        role: "system", "user" or "assistant".
        content: Its text.
        origin: The caller's own message, or the tuple of them (a tool call with its results), that stands for
            `content` in a chat; None where the text is packline's.
        media: How many of its blocks are not text.
    """

    role: str
    content: str
    origin: object = None
    media: int = 0

    @property
    def messages(self) -> int:
        """How many messages of the chat this is."""
        return message_count(self.origin)


def message_count(origin: object) -> int:
    """How many messages a turn was made from: a `(role, text)` pair is one."""
    if not isinstance(origin, tuple) or all(isinstance(part, str) for part in origin):
        return 1
    return len(origin)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A finished prompt.

    Args:
        text: The whole skeleton in the template's order.
        messages: What a chat model gets.
    """

    text: str
    messages: tuple[Message, ...]

    @classmethod
    def of(
        cls,
        template: Template,
        bodies: Mapping[str, str],
        *,
        turns: Sequence[Message] = (),
        chat_bodies: Mapping[str, str] | None = None,
        media: int = 0,
    ) -> Prompt:
        """The prompt whose sections are `bodies`.

        Args:
            turns: Messages that stand between the system and the user message.
            chat_bodies: The sections of the messages, where they differ because of `turns`. None: `bodies`.
            media: How many blocks that are not text come with the question.
        """
        inside = bodies if chat_bodies is None else chat_bodies
        trusted = [section.title for section in template.sections if section.trusted]
        question = template.holder("question").title
        outside = [s.title for s in template.sections if s.title not in (*trusted, question)]
        system = template.render(inside, trusted)
        user = Message("user", template.render(inside, [*outside, question]), media=media)
        head = (Message("system", system),) if system else ()
        return cls(template.render(bodies), (*head, *turns, user))

    def tokens(self, counter: Counter, *, overhead: int) -> int:
        """What the prompt costs: the larger of its text and its messages with `overhead` tokens each."""
        text = counter.count(self.text)
        chat = sum(
            counter.count(message.content) + overhead * message.messages + MEDIA_TOKENS * message.media
            for message in self.messages
        )
        return max(text, chat)


def chat_message(verdict: Verdict) -> Message | None:
    """A kept turn as a chat message of its own; None if it must stand in the text instead.

    Only turns of the user and the assistant can: a tool call without all of its results would be refused
    by providers, and a system message from a stored conversation would speak with the application's voice.
    """
    packet = verdict.packet
    role, media = packet.metadata.get("role"), packet.metadata.get("media", 0)
    if packet.kind is not Kind.HISTORY or packet.origin is None or packet.metadata.get("incomplete"):
        return None
    if not isinstance(role, str) or role not in _CHAT_ROLES or not isinstance(media, int):
        return None
    if verdict.shortened is None:
        return Message(role, packet.content, packet.origin, media)
    return Message(role, verdict.shortened)


def attached(blocks: Sequence[object]) -> str:
    """Blocks that are not text, in words.

    >>> attached([{"type": "image"}, {"type": "image"}, {"type": "file"}])
    '2 images and file'
    """
    markers = read_message({"role": "user", "content": list(blocks)}).text.splitlines()
    counts: dict[str, int] = {}
    for marker in markers:
        counts[marker.strip("[]")] = counts.get(marker.strip("[]"), 0) + 1
    return " and ".join(kind if count == 1 else f"{count} {kind}s" for kind, count in counts.items())


def fixed_bodies(template: Template, question: str, instructions: Sequence[str]) -> dict[str, str]:
    """What stands whatever is selected: the question, and instructions and output where there are any."""
    task, output = template.holder("question"), template.holder("output")
    bodies = {task.title: template.marked(question, task)}
    if template.output.strip():
        bodies[output.title] = template.marked(template.output, output)
    if instructions:
        section = template.section_of(Kind.INSTRUCTION)
        marked = [template.marked(text, section) for text in instructions]
        bodies[section.title] = section.separator.join(marked)
    return bodies
