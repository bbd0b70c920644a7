"""Dumping: what of a Runnable can be written down, and a way to show the rest without what it holds.

A retriever's own repr may carry whole documents, and a function's an address; so sources are shown by name
only, and a Runnable that holds anything but plain settings is dumped as "not implemented", by that safe repr.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from packline import ContextConfig, Section, Source, Template

__all__ = ["plain", "shown"]


def plain(value: object) -> object:
    """`value` as JSON data that the constructor takes.

    Raises:
        TypeError: It cannot be written down.
    """
    if isinstance(value, str):
        return str(value)  # a kind is a text
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Section):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (ContextConfig, Template)) and type(value) in (ContextConfig, Template):
        default = type(value)()
        fields = [field.name for field in dataclasses.fields(value)]
        changed = [name for name in fields if getattr(value, name) != getattr(default, name)]
        return {name: plain(getattr(value, name)) for name in changed}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} cannot be written down")


def shown(value: object) -> object:
    """`value` as it may be seen in a repr: settings in full, of everything else its name or type."""
    if value is None or isinstance(value, (str, bool, int, float, ContextConfig, Template)):
        return value
    if isinstance(value, Mapping):
        return {str(name): shown(thing) for name, thing in value.items()}
    if isinstance(value, Sequence):
        return [shown(thing) for thing in value]
    name = value.name if isinstance(value, Source) else getattr(value, "__name__", None)
    return _Name(name if isinstance(name, str) else type(value).__name__)


class _Name(str):
    """A name, shown without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
