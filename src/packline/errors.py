"""What packline raises: every error names the thing, the values and the way out."""

from __future__ import annotations

__all__ = ["BudgetError", "ConfigError", "PacklineError", "SourceError"]


class PacklineError(Exception):
    """The base of all errors that packline raises on purpose."""


class ConfigError(PacklineError, ValueError):
    """An option or an argument is out of its range, or of a wrong type.

    Attributes:
        field: The name of the option or argument.
        value: What was given.
    """

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field} must be {expected}, got {_shown(value)}")
        self.field = field
        self.value = value
        self.expected = expected

    def __reduce__(self) -> tuple[type[ConfigError], tuple[str, object, str]]:
        return type(self), (self.field, self.value, self.expected)


class BudgetError(PacklineError, ValueError):
    """The parts that must stand whole (instructions, question, skeleton) exceed the budget.

    Attributes:
        needed: Tokens that the fixed parts need.
        budget: Tokens that there are.
        largest: Title of the largest of the fixed sections; or what comes with the question, such as
            "2 images", where that needs more.
        media: Tokens of that, an estimate; 0 where a section is the largest.
    """

    def __init__(self, needed: int, budget: int, largest: str, media: int = 0) -> None:
        remedy = f"leave out the {largest} (about {media} tokens)" if media else f"shorten [{largest}]"
        super().__init__(
            f"fixed sections need {needed} tokens but the budget is {budget}: {remedy}, "
            f"the largest, or raise max_tokens to {needed} or more"
        )
        self.needed = needed
        self.budget = budget
        self.largest = largest
        self.media = media

    def __reduce__(self) -> tuple[type[BudgetError], tuple[int, int, str, int]]:
        return type(self), (self.needed, self.budget, self.largest, self.media)


class SourceError(PacklineError):
    """A source failed, hung or returned something that is not text.

    Attributes:
        source: The name of the source.
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"source {source!r} {problem}")
        self.source = source
        self.problem = problem

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, str]]:
        return type(self), (self.source, self.problem)


def _shown(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
