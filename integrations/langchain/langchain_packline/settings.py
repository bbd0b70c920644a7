"""Settings: every field of `ContextConfig` as an option of a Runnable, so that each can be set per call.

LangChain sets fields, one by one and by name; so what a config holds together stands here apart. What is None
here is as the config says. The values are checked by `ContextConfig` alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, SkipValidation

from langchain_packline.options import STRICT, Options
from packline import ConfigError, ContextConfig, Template
from packline.config import Layout, RecencyMode

__all__ = [
    "CompressSettings",
    "GatherSettings",
    "PassageSettings",
    "SelectSettings",
    "Settings",
    "TemplateOption",
]

_FIELDS = frozenset(field.name for field in dataclasses.fields(ContextConfig))


def _config(given: object) -> ContextConfig | None:
    if isinstance(given, Mapping):
        return ContextConfig.from_dict(given)
    if given is not None and not isinstance(given, ContextConfig):
        raise ConfigError("config", given, "a ContextConfig, a mapping of its fields, or None")
    return given


def _template(given: object) -> Template | None:
    if given is not None and not isinstance(given, (Template, Mapping)):
        raise ConfigError("template", given, "a Template, a mapping of its fields, or None")
    return ContextConfig.from_dict({"template": given}).template if isinstance(given, Mapping) else given


TemplateOption = Annotated[Template | None, SkipValidation, BeforeValidator(_template)]


class Settings(Options):
    """A config, and single settings that override it.

    Args:
        config: All settings; None: the defaults (in a stage after Select: those that Select had). A mapping
            is read by `ContextConfig.from_dict`.
    """

    model_config = STRICT

    config: Annotated[ContextConfig | None, SkipValidation, BeforeValidator(_config)] = None

    def model_post_init(self, context: Any, /) -> None:
        """Check all settings together."""
        self.settings()

    def settings(self, base: ContextConfig | None = None) -> ContextConfig:
        """The settings that count: those given here one by one, then `config`, then `base`.

        Raises:
            ConfigError: A value is out of its range.
        """
        config = self.config or base or ContextConfig()
        given = {name: getattr(self, name) for name in _FIELDS & type(self).model_fields.keys()}
        changes = {name: value for name, value in given.items() if value is not None}
        return config.replace(**changes) if changes else config


class GatherSettings(Settings):
    """What gathering goes by; see `ContextConfig`."""

    model_config = STRICT

    source_timeout: Annotated[float | None, SkipValidation] = None
    strict: Annotated[bool | None, SkipValidation] = None


class PassageSettings(Settings):
    """What choosing among documents goes by; see `ContextConfig`. Of a `config` no more than this counts."""

    model_config = STRICT

    max_tokens: Annotated[int | float | Callable[[str], int | float] | None, SkipValidation] = None
    context_window: Annotated[int | None, SkipValidation] = None
    min_relevance: Annotated[float | None, SkipValidation] = None
    stop_share: Annotated[float | None, SkipValidation] = None
    recency_weight: Annotated[float | None, SkipValidation] = None
    relevance_weight: Annotated[float | None, SkipValidation] = None
    recency: Annotated[RecencyMode | None, SkipValidation] = None
    half_life_days: Annotated[float | None, SkipValidation] = None
    merge_duplicates: Annotated[bool | None, SkipValidation] = None
    snippet_share: Annotated[float | None, SkipValidation] = None
    enable_compression: Annotated[bool | None, SkipValidation] = None


class SelectSettings(PassageSettings):
    """What selecting goes by; see `ContextConfig`."""

    model_config = STRICT

    reserve_ratio: Annotated[float | None, SkipValidation] = None
    recent_turns: Annotated[int | None, SkipValidation] = None
    recent_share: Annotated[float | None, SkipValidation] = None
    layout: Annotated[Layout | None, SkipValidation] = None
    message_overhead: Annotated[int | None, SkipValidation] = None
    template: TemplateOption = None


class CompressSettings(Settings):
    """What compressing goes by; see `ContextConfig`."""

    model_config = STRICT

    shorten_question: Annotated[bool | None, SkipValidation] = None
    enable_compression: Annotated[bool | None, SkipValidation] = None
    layout: Annotated[Layout | None, SkipValidation] = None
    message_overhead: Annotated[int | None, SkipValidation] = None
    source_timeout: Annotated[float | None, SkipValidation] = None
