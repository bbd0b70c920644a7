"""The conversation as packets: one a turn, and one for a call of tools with all its results.

A turn keeps the messages it was made from as its `origin`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import cast

from packline.errors import ConfigError
from packline.messages import Spoken, read_message
from packline.packet import ContextPacket, Kind

__all__ = ["turns"]

_KIND = attrgetter("kind")


def turns(history: Iterable[object]) -> tuple[ContextPacket, ...]:
    """The conversation as packets of kind history, in the order given.

    An assistant message with tool calls and the tool messages that follow it become one packet. In
    `metadata`: `role`, `media` (how many blocks are not text) and, where a turn cannot stand as messages of
    its own, `incomplete`: a call without all of its results, or a result without its call.

    Raises:
        ConfigError: An entry is not a message; it is named by its place.

    >>> [packet.content for packet in turns([("user", "Hi"), {"role": "assistant", "content": "Hello"}])]
    ['Hi', 'Hello']
    """
    if isinstance(history, (str, bytes, Mapping)) or not isinstance(history, Iterable):
        raise ConfigError("conversation_history", history, "a list of messages")
    history = tuple(history)
    if set(map(type, history)) == {ContextPacket} and set(map(_KIND, history)) == {Kind.HISTORY}:
        return cast("tuple[ContextPacket, ...]", history)
    packets: list[ContextPacket] = []
    group: list[Spoken] = []
    for place, entry in enumerate(history):
        if isinstance(entry, ContextPacket):
            if entry.kind in (Kind.INSTRUCTION, Kind.STATE):
                expected = "a turn: instructions and state are given as such, or as custom_packets"
                raise ConfigError(f"conversation_history[{place}]", entry, expected)
            packets += _flushed(group, len(packets))
            packets.append(entry)
            continue
        spoken = read_message(entry, f"conversation_history[{place}]")
        if not (group and _awaits(group, spoken.answers)):
            packets += _flushed(group, len(packets))
        group.append(spoken)
    packets += _flushed(group, len(packets))
    return tuple(packets)


def _awaits(group: Sequence[Spoken], answers: Sequence[str]) -> bool:
    return any(call_id in answers for call_id, _ in group[0].calls)


def _flushed(group: list[Spoken], place: int) -> Iterator[ContextPacket]:
    if group:
        yield _packet(tuple(group), place)
        group.clear()


def _packet(group: tuple[Spoken, ...], place: int) -> ContextPacket:
    first = group[0]
    metadata: dict[str, object] = {"role": first.role}
    if media := sum(spoken.media for spoken in group):
        metadata["media"] = media
    answered = {call_id for spoken in group for call_id in spoken.answers}
    if first.answers or any(call_id not in answered for call_id, _ in first.calls):
        metadata["incomplete"] = True
    return ContextPacket(
        _text(group),
        timestamp=first.timestamp,
        metadata=metadata,
        kind=Kind.HISTORY,
        id=first.id or f"turn-{place}",
        origin=first.origin if len(group) == 1 else tuple(spoken.origin for spoken in group),
    )


def _text(group: tuple[Spoken, ...]) -> str:
    first = group[0]
    calls = [f"[calls {call}]" for _, call in first.calls]
    results = [f"[result] {spoken.text}" for spoken in group[1:]]
    return "\n".join(filter(None, [first.text, *calls, *results]))
