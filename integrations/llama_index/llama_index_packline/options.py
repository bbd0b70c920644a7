"""Options: how postprocessor and memory block are set up: checked alike, refused alike."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec

from llama_index.core.bridge.pydantic import (
    BaseModel,
    ConfigDict,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from llama_index_packline.counting import counter_of
from llama_index_packline.scoring import scorer
from packline import ConfigError, ContextConfig
from packline.options import check_names
from packline.relevance.scorers import Scorers

__all__ = ["Options", "checked_setting", "checks_names"]

P = ParamSpec("P")

_BUDGET = ("context_window", "max_tokens")
_WHOLE = "a whole number from 1, such as budget_for(llm) gives"


def checked_setting(value: Any, info: ValidationInfo) -> Any:
    """`value`, checked as the core does it, before anything is converted: "3000" is no number of tokens."""
    ContextConfig().replace(**{str(info.field_name): value})
    return value


class Options(BaseModel):
    """Options that are checked when they are given and when they are set.

    Raises:
        ConfigError: An option is unknown, with the nearest known one named, or its value cannot be used.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", validate_assignment=True)

    relevance: Any = "lexical"
    token_counter: Any = None
    context_window: int | None = None
    stop_share: float = ContextConfig.stop_share
    _scorers: Scorers = PrivateAttr(default_factory=partial(Scorers, scorer))

    def __init__(self, **options: Any) -> None:
        check_names(type(self).__name__, options, list(type(self).model_fields))
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise _refusal(error) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            check_names(type(self).__name__, {name: value}, list(type(self).model_fields))
        try:
            super().__setattr__(name, value)
        except ValidationError as error:
            raise _refusal(error) from None

    @field_validator(*_BUDGET, mode="before", check_fields=False)
    @classmethod
    def _checked_budget(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        both: dict[str, Any] = {key: info.data[key] for key in _BUDGET if key in info.data}
        try:
            return getattr(ContextConfig().replace(**{**both, name: value}), name)
        except ConfigError as error:
            if error.field != "max_tokens":
                raise
            expected = error.expected.replace("a whole number from 1", _WHOLE)
            raise ConfigError("max_tokens", error.value, expected) from None

    _shares = field_validator("stop_share", mode="before")(checked_setting)

    @field_validator("relevance", mode="after")
    @classmethod
    def _checked_relevance(cls, value: Any) -> Any:
        scorer(value)
        return value

    @field_validator("token_counter", mode="after")
    @classmethod
    def _checked_counter(cls, value: Any) -> Any:
        if value is not None:
            counter_of(value)
        return value


def checks_names(owner: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """An `__init__` of `owner` that refuses unknown keywords, and says where a setting of a build belongs."""
    settings = [field.name for field in dataclasses.fields(ContextConfig)]

    def wrapped(init: Callable[P, None]) -> Callable[P, None]:
        known = list(inspect.signature(init).parameters)[1:]

        @wraps(init)
        def checked(*values: P.args, **options: P.kwargs) -> None:
            for name in options:
                if name in settings and name not in known:
                    raise ConfigError(f"option of {owner}", name, f"in config=ContextConfig({name}=...)")
            check_names(owner, options, known)
            init(*values, **options)

        return checked

    return wrapped


def _refusal(error: ValidationError) -> ConfigError:
    """The first thing that is wrong, in the words of the check that found it."""
    detail = error.errors()[0]
    own = detail.get("ctx", {}).get("error")
    if isinstance(own, ConfigError):
        return own
    expected = detail["msg"].removeprefix("Input should be ")
    return ConfigError(".".join(map(str, detail["loc"])), detail["input"], expected)
