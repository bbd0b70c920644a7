"""ContextConfig: every setting of the four stages, checked when it is made."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, get_args

from packline.errors import ConfigError
from packline.options import check_names, checks_names
from packline.section import Section
from packline.template import Template

__all__ = ["ContextConfig", "Layout", "RecencyMode"]

Layout = Literal["prompt", "chat"]
RecencyMode = Literal["asked", "always"]

_SHARES = (
    "min_relevance",
    "stop_share",
    "recency_weight",
    "relevance_weight",
    "recent_share",
    "snippet_share",
)
BOOK_HALF_LIFE_DAYS = 10 * math.log(2)  # exp(-0.1 * days) halves every 6.93 days


@checks_names
@dataclass(frozen=True, kw_only=True)
class ContextConfig:
    """The settings of a build. A bad value is a `ConfigError` that names field, value and range.

    Args:
        max_tokens: Upper limit of the finished prompt, in tokens of the counter: a whole number; or a share
            of `context_window`, above 0 and below 1; or a callable that gives either for a question.
        context_window: Tokens that the model takes, a whole number from 1. Only a `max_tokens` that is or
            gives a share of it needs and uses it. None: not known.
        reserve_ratio: Share of `max_tokens`, in [0, 1), kept for instructions, question and skeleton. They
            may use more; scored packets may use `max_tokens - max(reserve, what the fixed parts need)`.
        min_relevance: Packets with a relevance below this, in [0, 1], are dropped whatever their recency. The
            book's is 0.1, which costs the lexical scorer 1 to 3 points of recall at 4,000 tokens on long
            conversations; 0.05 costs nothing there.
        stop_share: Leave out what scores below this share, in [0, 1], of the best score (of more than it
            where a packet is longer than the mean, see `packline.relevance.enough`), and with it a part of
            the budget. 0: the budget is used. With the hybrid scorer, 0.515 spends 41 to 68 % fewer tokens
            on questions of several steps over encyclopedia passages, for at most 1 point of recall at 4,000;
            broad questions, whose evidence is a large part of the pool, lose much more.
        enable_compression: Shorten what is too long. False: whole packets only, what does not fit is dropped.
        recency_weight: Weight of recency in the score, in [0, 1]; with `relevance_weight` it sums to 1.
        relevance_weight: Weight of relevance in the score, in [0, 1].
        recency: When recency counts at all. "asked": only for questions that ask for the newest ("latest",
            "currently", "最近", ...), where it scales relevance; all others go by relevance alone. "always":
            for every question, added to relevance as in the book.
        half_life_days: Days in which recency halves, above 0; the book's decay `exp(-0.1 * days)` halves
            every 6.93.
        recent_turns: Last turns of the conversation that are kept for coherence, whatever their relevance, a
            whole number from 0. 0: all turns compete.
        recent_share: Share of the scored budget, in [0, 1], that these turns may take; those beyond it
            compete.
        merge_duplicates: Keep one of several packets that say the same; it remembers the others.
        snippet_share: Share of the scored budget, in [0, 1], that one packet too long to fit whole may take,
            shortened; of a small budget as much as says something, 32 tokens. 0: such packets are dropped.
        layout: "prompt": a system and a user message; "chat": the selected conversation as messages of its
            own between them.
        message_overhead: Tokens that each chat message costs beyond its text, a whole number from 0; 4 holds
            for OpenAI's.
        source_timeout: Seconds that a source has, above 0, unless it says itself; a summarizer, too.
        shorten_question: Shorten a question that alone exceeds the budget, keeping its beginning and end
            where it can, and report it. False: that is a `BudgetError`.
        strict: Raise the failures of sources, as one `ExceptionGroup` that names them, where they are else
            only reported.
        template: Titles, order, kinds and marks of the sections.

    Raises:
        ConfigError: A value is out of its range, the weights do not sum to 1, or an option is unknown.

    >>> ContextConfig(max_tokens=-5)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    packline.errors.ConfigError: max_tokens must be a whole number from 1, ..., or a callable, got -5
    """

    max_tokens: int | float | Callable[[str], int | float] = 3000
    context_window: int | None = None
    reserve_ratio: float = 0.2
    min_relevance: float = 0.05
    stop_share: float = 0.0
    enable_compression: bool = True
    recency_weight: float = 0.3
    relevance_weight: float = 0.7
    recency: RecencyMode = "asked"
    half_life_days: float = BOOK_HALF_LIFE_DAYS
    recent_turns: int = 5
    recent_share: float = 0.3
    merge_duplicates: bool = True
    snippet_share: float = 0.25
    layout: Layout = "prompt"
    message_overhead: int = 4
    source_timeout: float = 30.0
    shorten_question: bool = False
    strict: bool = False
    template: Template = field(default_factory=Template)

    def __post_init__(self) -> None:
        self._check_budget()
        _check_number("reserve_ratio", self.reserve_ratio, "in [0, 1)", lambda v: 0 <= v < 1)
        for name in _SHARES:
            _check_number(name, getattr(self, name), "in [0, 1]", lambda v: 0 <= v <= 1)
        total = self.recency_weight + self.relevance_weight
        if not math.isclose(total, 1):
            weights = (self.recency_weight, self.relevance_weight)
            raise ConfigError("recency_weight + relevance_weight", weights, "two numbers that sum to 1")
        for name in ("half_life_days", "source_timeout"):
            _check_number(name, getattr(self, name), "above 0", lambda v: 0 < v < math.inf)
        for name in ("recent_turns", "message_overhead"):
            self._set(name, _whole(name, getattr(self, name), 0, "a whole number from 0"))
        for name in ("enable_compression", "merge_duplicates", "shorten_question", "strict"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(name, getattr(self, name), "True or False")
        for name, choices in (("recency", get_args(RecencyMode)), ("layout", get_args(Layout))):
            if getattr(self, name) not in choices:
                raise ConfigError(name, getattr(self, name), f"one of {', '.join(map(repr, choices))}")
        if not isinstance(self.template, Template):
            raise ConfigError("template", self.template, "a Template")

    def _check_budget(self) -> None:
        if (window := self.context_window) is not None:
            self._set("context_window", _whole("context_window", window, 1, "a whole number from 1, or None"))
        if not callable(self.max_tokens):
            expected = "a whole number from 1, a share of context_window above 0 and below 1, or a callable"
            tokens = self._tokens("max_tokens", self.max_tokens, expected)
            self._set("max_tokens", _share(self.max_tokens) or tokens)

    def _set(self, name: str, value: int | float) -> None:
        """Keep a number as Python's own, whatever counted it: one of numpy is no JSON."""
        object.__setattr__(self, name, value)

    def _tokens(self, name: str, given: object, expected: str) -> int:
        """The tokens that `given` says, as a whole number or as a share of the window."""
        share = _share(given)
        if share is None:
            return _whole(name, given, 1, expected)
        if self.context_window is None:
            raise ConfigError("context_window", None, f"given where {name} is a share of it")
        tokens = int(share * self.context_window)
        if tokens < 1:
            raise ConfigError(name, given, f"at least one token of context_window, {self.context_window}")
        return tokens

    @classmethod
    def book(cls, *, max_tokens: int = 3000) -> ContextConfig:
        """The setting of the book's ContextBuilder; use it with `relevance="jaccard"`.

        Every question weighs recency 0.3 against relevance 0.7, nothing below 0.1 is kept.
        """
        return cls(
            max_tokens=max_tokens,
            min_relevance=0.1,
            recency="always",
            merge_duplicates=False,
            snippet_share=0.0,
        )

    @classmethod
    def from_dict(cls, options: Mapping[str, object]) -> ContextConfig:
        """From plain data, such as a TOML table; `template` may be a table of `Template`'s fields.

        Raises:
            ConfigError: An option is unknown, with the nearest known one named; or a value is bad.
        """
        template = options.get("template")
        if isinstance(template, Mapping):
            check_names("template", template, [field.name for field in dataclasses.fields(Template)])
            options = {**options, "template": Template(**{**template, **_sections(template)})}
        return cls(**options)  # type: ignore[arg-type]  # each value is checked above

    def replace(self, **changes: object) -> ContextConfig:
        """A copy with other values, checked like any; unknown names are refused."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def budget(self, question: str) -> int:
        """`max_tokens` for `question`.

        Raises:
            ConfigError: The callable gave neither a whole number from 1 nor a share of `context_window`.

        >>> by_question = lambda question: 0.5 if "all" in question else 900
        >>> config = ContextConfig(max_tokens=by_question, context_window=8192)
        >>> config.budget("Who are they all?"), config.budget("Who?")
        (4096, 900)
        """
        if not callable(self.max_tokens):
            return self._tokens("max_tokens", self.max_tokens, "a number of tokens")
        expected = "a whole number from 1, or a share of context_window above 0 and below 1"
        return self._tokens("max_tokens(question)", self.max_tokens(question), expected)


def _sections(template: Mapping[str, Any]) -> dict[str, object]:
    """The sections of a template table, each of which may be a table of `Section`'s fields."""
    given = template.get("sections")
    if not isinstance(given, (list, tuple)):
        return {}
    known = [field.name for field in dataclasses.fields(Section)]
    for place, section in enumerate(given):
        if isinstance(section, Mapping):
            check_names(f"template.sections[{place}]", section, known)
    return {"sections": tuple(Section(**s) if isinstance(s, Mapping) else s for s in given)}


def _whole(name: str, value: object, least: int, expected: str) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ConfigError(name, value, expected)
    return int(value)


def _share(given: object) -> float | None:
    """`given`, if it is a number between 0 and 1."""
    number = float(given) if isinstance(given, Real) and not isinstance(given, Integral) else 0.0
    return number if 0 < number < 1 else None


def _check_number(name: str, value: object, expected: str, holds: Callable[[float], bool]) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not holds(value):
        raise ConfigError(name, value, f"a number {expected}")
