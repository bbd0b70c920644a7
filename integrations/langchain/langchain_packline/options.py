"""Options: how everything of packline for LangChain is set up, compared, shown and pickled."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from langchain_packline.dumping import shown
from packline import ConfigError, PacklineError
from packline.options import check_names

__all__ = ["STRICT", "Options"]

STRICT = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class Options(BaseModel):
    """A frozen set of options. What is made of them (sources, scorers, counters) is private and made anew.

    Raises:
        ConfigError: An option is unknown, with the nearest known one named, or its value cannot be used.
    """

    model_config = STRICT

    def __init__(self, **options: Any) -> None:
        check_names(type(self).__name__, options, list(type(self).model_fields))
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise _refusal(error) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Let the signature, as notebooks show it, say the types alone and not how they are checked."""
        super().__pydantic_init_subclass__(**kwargs)
        signature = inspect.signature(cls)
        parameters = [p.replace(annotation=_bare(p.annotation)) for p in signature.parameters.values()]
        cls.__signature__ = signature.replace(parameters=parameters)

    def given(self) -> dict[str, Any]:
        """The options that were set."""
        return {
            name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set
        }

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other options, checked like any; pydantic's own would go on by the old ones."""
        copied = super().model_copy(deep=deep)
        return copied._with(update) if update else copied

    def _with(self, options: Mapping[str, Any]) -> Self:
        """The same with other options."""
        return type(self)(**{**self.given(), **options})._sharing(self) if options else self

    def _sharing(self, original: Options) -> Self:
        """This copy, going on with what `original` has made and may use again."""
        return self

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Options) and self.given() == other.given()

    def __hash__(self) -> int:
        return hash((type(self), *self.given()))

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        return [(name, shown(value)) for name, value in self.given().items() if value is not None]

    def __getstate__(self) -> dict[Any, Any]:
        return {**super().__getstate__(), "__pydantic_private__": None}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        self.model_post_init(None)


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _refusal(error: ValidationError) -> PacklineError:
    """What is wrong, in the words of the check that found it."""
    details = error.errors()
    own = (detail.get("ctx", {}).get("error") for detail in details)
    first = next((cause for cause in own if isinstance(cause, PacklineError)), None)
    if first is not None:
        return first
    expected = details[0]["msg"].removeprefix("Input should be ")
    return ConfigError(".".join(map(str, details[0]["loc"])), details[0]["input"], expected)
