"""Context: the finished prompt, with the account of how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from packline import report
from packline.gathering import Failure
from packline.packet import ContextPacket
from packline.prompt import Message
from packline.request import Request
from packline.verdict import Verdict

__all__ = ["Context"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Context:
    """What a model gets, and why.

    Args:
        text: The whole prompt, in the template's order.
        messages: The same as chat messages.
        tokens: What the prompt costs: the larger of its text and its messages, overhead included.
        max_tokens: What it may cost at most.
        kept: What stands whole, in the order of the prompt.
        shortened: What stands shortened, in the order of the prompt; `text` of each is what stands there.
        dropped: What does not stand in the prompt, best first.
        failures: Sources (and summarizers) that failed.
        section_tokens: Title to tokens of each section, its heading included, counted on its own.
        stage_seconds: Stage to seconds.
        citations: Number to packet, where the template numbers its evidence; otherwise empty.
        request: What was asked for.
    """

    text: str = field(repr=False)
    messages: tuple[Message, ...] = field(repr=False)
    tokens: int
    max_tokens: int
    kept: tuple[Verdict, ...] = field(repr=False)
    shortened: tuple[Verdict, ...] = field(repr=False)
    dropped: Sequence[Verdict] = field(repr=False)
    failures: tuple[Failure, ...] = ()
    section_tokens: Mapping[str, int] = field(default_factory=dict)
    stage_seconds: Mapping[str, float] = field(default_factory=dict, repr=False)
    citations: Mapping[int, ContextPacket] = field(default_factory=dict, repr=False)
    request: Request = field(repr=False)

    def explain(self) -> str:
        """A table to read: the budget by section, then what was kept, shortened and dropped, and why."""
        return report.explain(self)

    def to_dict(self) -> dict[str, object]:
        """The account as JSON data; `version` grows when a field changes its meaning."""
        return report.to_dict(self)

    def to_html(self) -> str:
        """The account as one HTML card, without scripts or links; all text escaped."""
        return report.to_html(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.text
