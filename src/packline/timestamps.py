"""Reading the dates that people really write: ISO strings, plain dates, epochs, Chinese dates.

Every result is aware; what has no zone is read as local time, as Python does.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time

__all__ = ["read_timestamp", "uuid7_time"]

_FIRST_MILLISECONDS = 1e11  # as seconds this is the year 5138, as milliseconds 1973
_LAST_SECONDS = 253_402_300_799  # the end of 9999
_CHINESE = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})[日号](?:\s*(\d{1,2})[时点:：](\d{1,2})?分?)?")
_UUID7 = re.compile(r"([0-9a-f]{8})-?([0-9a-f]{4})-?7[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}\Z")


def read_timestamp(value: object) -> datetime | None:
    """The moment that `value` names, aware; None where it names none.

    Understands datetimes, dates (their first moment), ISO 8601 strings, `2024/5/8`, `2024年5月8日 14时`, and
    numbers or digit strings as seconds or (from 1e11) milliseconds since 1970. Nothing is guessed
    from other formats: a wrong date is worse than none.

    >>> read_timestamp("2024-05-08T14:30:00Z")
    datetime.datetime(2024, 5, 8, 14, 30, tzinfo=datetime.timezone.utc)
    >>> read_timestamp(1715178600) == read_timestamp("1715178600000")
    True
    >>> read_timestamp("soon") is None
    True
    """
    try:
        if isinstance(value, datetime):
            return value if value.tzinfo else value.astimezone()
        if isinstance(value, date):
            return datetime.combine(value, time()).astimezone()
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _of_epoch(value)
        return _of_text(value.strip()) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):  # year 0, a month 13, a time that this system cannot hold
        return None


def _of_text(text: str) -> datetime | None:
    if re.fullmatch(r"\d{9,}(\.\d+)?", text):
        return _of_epoch(float(text))
    if found := _CHINESE.match(text):
        year, month, day, hour, minute = (int(part or 0) for part in found.groups())
        return datetime(year, month, day, hour, minute).astimezone()
    if found := re.fullmatch(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})", text):
        year, month, day = map(int, found.groups())
        return datetime(year, month, day).astimezone()
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.astimezone()


def _of_epoch(value: float) -> datetime | None:
    seconds = value / 1000 if abs(value) >= _FIRST_MILLISECONDS else value
    return datetime.fromtimestamp(seconds, UTC) if 0 <= seconds <= _LAST_SECONDS else None


def uuid7_time(identifier: str) -> datetime | None:
    """The time in a UUID of version 7 that `identifier` ends with; None where there is none.

    Model-made messages of LangChain carry such ids. RFC 9562, 5.7: 48 bits of milliseconds since 1970.

    >>> uuid7_time("lc_run--019048a2-5c00-7000-8000-000000000000").year
    2024
    """
    found = _UUID7.search(identifier)
    return _of_epoch(int(found[1] + found[2], 16)) if found else None
