"""Request: what one build is asked for, checked once and carried along by every stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from packline.conversation import turns
from packline.errors import ConfigError
from packline.packet import ContextPacket, Kind

__all__ = ["Request"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One question with all that comes with it.

    Args:
        question: What is to be answered; it stands whole in the prompt.
        instructions: The application's own instructions; they stand whole. Packets of kind instruction
            are appended to them.
        history: The conversation so far, oldest first.
        packets: Candidates given by the caller. They compete like those of the sources.
        state: Where the task stands, as packets of kind state.
        now: The moment from which ages are measured; aware.
        attachments: Blocks of the question that are not text, such as images, in the caller's own form. They
            are costed with the question, and an adapter hands them on after its text.
    """

    question: str
    instructions: tuple[str, ...] = ()
    history: tuple[ContextPacket, ...] = ()
    packets: tuple[ContextPacket, ...] = ()
    state: tuple[ContextPacket, ...] = ()
    now: datetime
    attachments: tuple[object, ...] = ()

    @classmethod
    def of(
        cls,
        user_query: str,
        *,
        conversation_history: Iterable[object] | None = None,
        system_instructions: str | None = None,
        custom_packets: Iterable[ContextPacket] | None = None,
        state: object = None,
        now: datetime | None = None,
    ) -> Request:
        """The request for what a user types; the arguments are those of `ContextBuilder.build`.

        Raises:
            ConfigError: An argument is of a wrong type, or the question is empty.
        """
        if not isinstance(user_query, str) or not user_query.strip():
            raise ConfigError("user_query", user_query, "a text that is not empty")
        if system_instructions is not None and not isinstance(system_instructions, str):
            raise ConfigError("system_instructions", system_instructions, "a text, or None")
        packets = _packets(custom_packets)
        return cls(
            question=user_query,
            instructions=tuple(
                text
                for text in (
                    system_instructions or "",
                    *(packet.content for packet in packets if packet.kind is Kind.INSTRUCTION),
                )
                if text.strip()
            ),
            history=turns(() if conversation_history is None else conversation_history),
            packets=tuple(p for p in packets if p.kind not in (Kind.INSTRUCTION, Kind.STATE)),
            state=(*_state(state), *(packet for packet in packets if packet.kind is Kind.STATE)),
            now=_now(now),
        )


def _packets(given: Iterable[ContextPacket] | None) -> tuple[ContextPacket, ...]:
    if given is None:
        return ()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise ConfigError("custom_packets", given, "a list of ContextPacket")
    packets = tuple(given)
    for place, packet in enumerate(packets):
        if not isinstance(packet, ContextPacket):
            raise ConfigError(f"custom_packets[{place}]", packet, "a ContextPacket")
    return packets


def _state(given: object) -> tuple[ContextPacket, ...]:
    """The state as packets: a text, a mapping (one `name: value` line each), or a list of texts."""
    if given is None:
        return ()
    if isinstance(given, str):
        texts = [given]
    elif isinstance(given, Mapping):
        texts = ["\n".join(f"{name}: {value}" for name, value in given.items())]
    elif isinstance(given, (list, tuple)) and all(isinstance(text, str) for text in given):
        texts = list(given)
    else:
        raise ConfigError("state", given, "a text, a mapping, a list of texts, or None")
    return tuple(ContextPacket(text, kind=Kind.STATE) for text in texts if text.strip())


def _now(given: datetime | None) -> datetime:
    if given is None:
        return datetime.now(UTC)
    if not isinstance(given, datetime):
        raise ConfigError("now", given, "a datetime, or None")
    return given if given.tzinfo else given.astimezone()
