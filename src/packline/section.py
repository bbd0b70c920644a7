"""Section: one part of the prompt as data: its title, what it holds, in which order, and its share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from packline.errors import ConfigError
from packline.options import checks_names
from packline.packet import Kind

__all__ = ["Holds", "Order", "Section"]

Holds = Literal["packets", "question", "output"]
Order = Literal["score", "given", "ends"]


@checks_names
@dataclass(frozen=True)
class Section:
    """One section of the prompt.

    Args:
        title: Its heading, one line, unique in the template.
        kinds: Kinds of the packets that go here, in the order in which they stand.
        holds: "packets", or the "question", or the "output" instructions.
        separator: What stands between two entries.
        share: Share of the scored budget, in (0, 1]. When the prompt is too long, sections above
            their share are shortened first.
        trusted: Whether the application itself speaks here: such sections go into the system message.
        order: How packets of one kind stand: best first ("score"), as they were given ("given"), or the best
            at both ends, where models attend most, and the weakest in the middle ("ends"). The conversation
            and the state stand as they were given, whatever is said here.
    """

    title: str
    kinds: tuple[Kind, ...] = ()
    holds: Holds = "packets"
    separator: str = "\n\n"
    share: float = 1.0
    trusted: bool = False
    order: Order = "score"

    def __post_init__(self) -> None:
        title = self.title
        if not isinstance(title, str) or not title.strip() or title.splitlines() != [title]:
            raise ConfigError("title", self.title, "one line of text")
        for name, choices in (("holds", get_args(Holds)), ("order", get_args(Order))):
            if getattr(self, name) not in choices:
                raise ConfigError(name, getattr(self, name), f"one of {', '.join(map(repr, choices))}")
        if not isinstance(self.separator, str) or not self.separator:
            raise ConfigError("separator", self.separator, "a text that is not empty")
        if not isinstance(self.share, (int, float)) or not 0 < self.share <= 1:
            raise ConfigError("share", self.share, "a number in (0, 1]")
        object.__setattr__(self, "kinds", _kinds(self.kinds))
        if self.kinds and self.holds != "packets":
            raise ConfigError("kinds", self.kinds, f"empty in a section that holds the {self.holds}")


def _kinds(given: object) -> tuple[Kind, ...]:
    expected = f"a list of {', '.join(Kind)}"
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError("kinds", given, expected)
    try:
        return tuple(map(Kind, given))
    except ValueError:
        raise ConfigError("kinds", given, expected) from None
