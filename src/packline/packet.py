"""ContextPacket: one candidate text with what is known of it.

A packet that was never scored has `relevance_score=None`, so that a real score of 0.5
is never mistaken for "unknown".
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from numbers import Integral, Real

from packline.errors import ConfigError

__all__ = ["ContextPacket", "Kind"]


class Kind(StrEnum):
    """What a packet is, and so the section that it belongs to.

    The book's vocabulary is understood too:

    >>> Kind("rag_result")
    <Kind.EVIDENCE: 'evidence'>
    """

    INSTRUCTION = "instruction"
    STATE = "state"
    EVIDENCE = "evidence"
    MEMORY = "memory"
    HISTORY = "history"
    OTHER = "other"

    @classmethod
    def _missing_(cls, value: object) -> Kind | None:
        return _BOOK_KINDS.get(value) if isinstance(value, str) else None


_BOOK_KINDS = {
    "system_instruction": Kind.INSTRUCTION,
    "task_state": Kind.STATE,
    "rag_result": Kind.EVIDENCE,
    "knowledge": Kind.EVIDENCE,
    "memory": Kind.MEMORY,
    "conversation_history": Kind.HISTORY,
}


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ContextPacket:
    """One candidate for the prompt.

    Args:
        content: The text, as it will stand in the prompt.
        timestamp: When it was said or last changed. A naive time is read as local time, as
            `datetime.astimezone` does; None means undated.
        token_count: Tokens of `content`; None means counted only if needed. A number given here
            only guides the selection: the finished prompt is always counted itself.
        relevance_score: In [0, 1]; None means not scored yet. A given score is used as it is.
        metadata: Anything; `type` (in the book's vocabulary), `role` and `source` are understood.
        kind: What it is. None: read from `metadata["type"]` where that is a word of the book's,
            else `Kind.OTHER`. So a document whose own type is "pdf" is an ordinary packet.
        id: Identity in the report. Empty: made from kind and content, the same on every run.
        origin: The framework object that it came from, handed back untouched.

    Raises:
        ConfigError: A field is not what is said above.

    >>> ContextPacket("Pandas reads CSV.", metadata={"type": "rag_result"}).kind
    <Kind.EVIDENCE: 'evidence'>
    """

    content: str
    timestamp: datetime | None = None
    token_count: int | None = None
    relevance_score: float | None = None
    metadata: Mapping[str, object] = field(default_factory=dict, hash=False)
    kind: Kind = None  # type: ignore[assignment]  # set below, where it is not given
    id: str = ""
    origin: object = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.content, str):
            raise ConfigError("content", self.content, "a string")
        if self.timestamp is not None and (
            not isinstance(self.timestamp, datetime) or self.timestamp.tzinfo is None
        ):
            object.__setattr__(self, "timestamp", _aware(self.timestamp))
        if self.token_count is not None and not _is_count(self.token_count):
            raise ConfigError("token_count", self.token_count, "a whole number from 0, or None")
        if self.relevance_score is not None and not _is_share(self.relevance_score):
            raise ConfigError("relevance_score", self.relevance_score, "a number in [0, 1], or None")
        # Numbers of numpy's become plain ones, which JSON knows.
        if self.token_count is not None and type(self.token_count) is not int:
            object.__setattr__(self, "token_count", int(self.token_count))
        if self.relevance_score is not None and type(self.relevance_score) is not float:
            object.__setattr__(self, "relevance_score", float(self.relevance_score))
        if not isinstance(self.metadata, Mapping):
            raise ConfigError("metadata", self.metadata, "a mapping")
        if type(self.kind) is not Kind:
            object.__setattr__(self, "kind", _kind(self.kind, self.metadata))
        if not isinstance(self.id, str):
            raise ConfigError("id", self.id, "a string")
        if not self.id:
            object.__setattr__(self, "id", _id(self.kind, self.content))


def _aware(timestamp: object) -> datetime:
    if not isinstance(timestamp, datetime):
        raise ConfigError("timestamp", timestamp, "a datetime, or None")
    try:
        return timestamp.astimezone()
    except (ValueError, OverflowError, OSError):
        expected = "a time that has a local time zone: give one with tzinfo, or None"
        raise ConfigError("timestamp", timestamp, expected) from None


def _is_count(value: object) -> bool:
    return isinstance(value, (int, Integral)) and not isinstance(value, bool) and int(value) >= 0


def _is_share(value: object) -> bool:
    return (
        isinstance(value, (float, Real)) and not isinstance(value, bool) and 0 <= float(value) <= 1
    )  # NaN fails


def _kind(given: object, metadata: Mapping[str, object]) -> Kind:
    if given is None:
        word = metadata.get("type")
        return _BOOK_KINDS.get(word, Kind.OTHER) if isinstance(word, str) else Kind.OTHER
    try:
        return Kind(given)  # type: ignore[arg-type]
    except ValueError:
        raise ConfigError("kind", given, f"one of {', '.join(Kind)}, or None") from None


def _id(kind: Kind, content: str) -> str:
    digest = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=6)
    return f"{kind.value}-{digest.hexdigest()}"
