"""Dates that a question names, and how near to them a packet is.

A turn answers a question about 3 June because it was said on 3 June, not because it has the words.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Iterator
from datetime import date
from typing import NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

__all__ = ["NamedDate", "dates_in", "nearness"]

FADING_DAYS = 7.0
"""What was said so many days before or after is 1/e as near: people speak of things a few days late."""

_EPOCH = date(1970, 1, 1)

# In English with short forms, German, French (but for "mars", a planet too), Spanish and Russian.
_MONTHS = {
    name: number
    for number, names in enumerate(
        """january jan januar janvier enero января январе
        february feb februar février fevrier febrero февраля феврале
        march mar märz maerz marzo марта марте
        april apr avril abril апреля апреле
        may mai mayo мая мае
        june jun juni juin junio июня июне
        july jul juli juillet julio июля июле
        august aug août aout agosto августа августе
        september sep sept septembre septiembre сентября сентябре
        october oct oktober okt octobre octubre октября октябре
        november nov novembre noviembre ноября ноябре
        december dec dezember dez décembre decembre diciembre декабря декабре""".splitlines(),
        start=1,
    )
    for name in names.split()
}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_BEFORE = "in|during|of|since|until|by|last|this|early|mid|late|end of|im|seit|en|depuis|desde|в"
_FORMS = [
    regex.compile(form, regex.IGNORECASE)
    for form in (
        rf"(?<!\d){_YEAR}[-/.](?P<month>0?[1-9]|1[0-2])(?:[-/.]{_DAY})?(?!\d)",
        rf"{_YEAR}\s?[年년]\s?(?:(?P<month>1[0-2]|0?[1-9])\s?[月월]\s?(?:{_DAY}\s?[日号號일])?)?",
        rf"(?<![\d.]){_DAY}\.\s?(?P<month>1[0-2]|0?[1-9])\.\s?{_YEAR}(?!\d)",
        rf"\b{_DAY}(?:st|nd|rd|th|er|\.)?(?:\s+(?:of|de))?\s+{_MONTH}\b(?:,?(?:\s+del?)?\s+{_YEAR}\b)?",
        rf"\b{_MONTH}\s+{_DAY}(?:st|nd|rd|th)?\b(?!\d)(?:,?\s+{_YEAR}\b)?",
        rf"\b{_MONTH},?(?:\s+(?:of|del?))?\s+{_YEAR}\b",
        rf"\b(?:{_BEFORE})[\s-]+{_MONTH}\b",
        rf"(?<![\d.-]){_YEAR}(?![\d.-])",
    )
]


class NamedDate(NamedTuple):
    """A date as far as it is named; what is left open is None."""

    year: int | None
    month: int | None
    day: int | None


def dates_in(text: str) -> list[NamedDate]:
    """The dates that a text names, in their order: in figures with the year or the day first, and with the
    names of months in English, German, French, Spanish and Russian.

    >>> [tuple(named) for named in dates_in("Did they meet on June 3rd, 2023 or in August?")]
    [(2023, 6, 3), (None, 8, None)]
    >>> [tuple(named) for named in dates_in("2023年5月的销售")]
    [(2023, 5, None)]
    """
    found: dict[tuple[int, int], NamedDate] = {}
    for form in _FORMS:
        for match in form.finditer(text):
            if all(match.end() <= start or match.start() >= end for start, end in found):
                found[match.span()] = _named(match.groupdict())
    return [found[span] for span in sorted(found)]


def nearness(dates: Iterable[NamedDate], days: NDArray[np.float64]) -> NDArray[np.float64]:
    """How near each day is to the nearest of the dates: 1 within it, falling by e in a week outside, in [0,
    1].

    Args:
        days: Days since 1970, with fractions; NaN where unknown, which is never near.

    >>> nearness([NamedDate(1970, 1, None)], np.array([30.5, 39, np.nan])).round(2).tolist()
    [1.0, 0.32, 0.0]
    """
    near = np.zeros(len(days))
    known = days[~np.isnan(days)]
    if not len(known):
        return near
    years = range(_year(known.min()), _year(known.max()) + 1)
    for named in dates:
        for start, end in _spans(named, years):
            outside = np.maximum(0.0, np.maximum(start - days, days - end))
            near = np.fmax(near, np.exp(-outside / FADING_DAYS))
    return near


def _named(parts: dict[str, str | None]) -> NamedDate:
    year, month, day = parts.get("year"), parts.get("month"), parts.get("day")
    return NamedDate(
        int(year) if year else None,
        (_MONTHS.get(month.casefold()) or int(month)) if month else None,
        int(day) if day else None,
    )


def _year(day: float) -> int:
    return int(np.datetime64(int(day), "D").astype("datetime64[Y]").astype(int)) + 1970


def _spans(named: NamedDate, years: range) -> Iterator[tuple[int, int]]:
    """First day and the day after the last, for each year that the date may be in."""
    for year in years if named.year is None else [named.year]:
        month, last_month = (named.month or 1), (named.month or 12)
        length = calendar.monthrange(year, last_month)[1]
        if named.day is None or named.day <= length:
            first = date(year, month, named.day or 1)
            last = date(year, last_month, named.day or length)
            yield (first - _EPOCH).days, (last - _EPOCH).days + 1
