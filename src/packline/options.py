"""Options: a name that is none of them is refused, and the one that was probably meant is named.

What dataclasses say themselves of an unknown keyword is a bare TypeError.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

from packline.errors import ConfigError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["check_names", "checks_names"]

T = TypeVar("T", bound="DataclassInstance")


def check_names(owner: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Refuse names that are not options of `owner`, and say which one was probably meant.

    Raises:
        ConfigError: A name is unknown.

    >>> check_names("Oven", ["heet"], ["heat", "time"])
    Traceback (most recent call last):
    packline.errors.ConfigError: option of Oven must be one of heat, time, perhaps 'heat', got 'heet'
    """
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f", perhaps {near[0]!r}" if near else ""
            raise ConfigError(f"option of {owner}", name, f"one of {', '.join(known)}{hint}")


def checks_names(kind: type[T]) -> type[T]:
    """A dataclass that refuses unknown keywords as `check_names` does."""
    made = kind.__init__
    known = [field.name for field in dataclasses.fields(kind)]

    @wraps(made)
    def checked(self: T, *values: object, **options: object) -> None:
        check_names(kind.__name__, options, known)
        made(self, *values, **options)

    kind.__init__ = checked  # type: ignore[method-assign, assignment]
    return kind
