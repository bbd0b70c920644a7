"""Checking what a caller gives to a store, and metadata as JSON.

Chroma holds only scalars. All metadata of the caller's is one JSON text in it, so that it comes back
unharmed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from packline.errors import ConfigError
from packline.timestamps import read_timestamp

__all__ = [
    "check_metadata",
    "check_name",
    "check_share",
    "check_text",
    "check_timestamp",
    "check_whole",
    "read_metadata",
]


def check_whole(field: str, value: object) -> None:
    """Refuse all but whole numbers from 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(field, value, "a whole number from 1")


def check_share(field: str, value: object) -> float:
    """Refuse all but numbers in [0, 1]."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ConfigError(field, value, "a number in [0, 1]")
    return float(value)


def check_text(field: str, value: object) -> str:
    """Refuse all but strings."""
    if not isinstance(value, str):
        raise ConfigError(field, value, "a string")
    return value


def check_name(field: str, value: object) -> str:
    """Refuse all but strings that are more than white space."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(field, value, "a string that is not empty")
    return value


def check_timestamp(value: object) -> str:
    """The moment in ISO 8601, or "" for None."""
    if value is None:
        return ""
    moment = read_timestamp(value)
    if moment is None:
        raise ConfigError("timestamp", value, "a datetime or something that names one, or None")
    return moment.isoformat()


def check_metadata(metadata: Mapping[str, object] | None) -> str:
    """The metadata as JSON, or "" for none.

    Raises:
        ConfigError: It is no mapping, or holds what JSON cannot, such as a datetime.
    """
    if metadata is None or metadata == {}:
        return ""
    if not isinstance(metadata, Mapping):
        raise ConfigError("metadata", metadata, "a mapping, or None")
    for name, value in metadata.items():
        if not isinstance(name, str):
            raise ConfigError("name in metadata", name, "a string")
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise ConfigError(f"metadata[{name!r}]", value, "what JSON can hold") from None
    return json.dumps(dict(metadata))


def read_metadata(stored: object) -> dict[str, object]:
    """What `check_metadata` was given."""
    return dict(json.loads(stored)) if isinstance(stored, str) and stored else {}
