from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from packline.relevance.dates import dates_in, nearness


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("on 3 June, 2023", [(2023, 6, 3)]),
        ("on the 3rd of June", [(None, 6, 3)]),
        ("June 3rd", [(None, 6, 3)]),
        ("Sept. 2022", [(2022, 9, None)]),
        ("in may", [(None, 5, None)]),
        ("what may happen, or march on", []),
        ("2023-06-03 and 2024/07", [(2023, 6, 3), (2024, 7, None)]),
        ("2023年6月3日", [(2023, 6, 3)]),
        ("since 1999", [(1999, None, None)]),
        ("12345 or 20231 or 2.2020", []),
    ],
)
def test_dates_that_a_question_names(text, dates):
    assert [tuple(date) for date in dates_in(text)] == dates


def day(*ymd: int) -> float:
    return datetime(*ymd, tzinfo=UTC).timestamp() / 86_400


def test_a_month_without_a_year_is_that_month_of_every_year_there_is():
    days = np.array([day(2022, 5, 31), day(2023, 5, 1), day(2023, 8, 1)])

    near = nearness(dates_in("in May"), days)

    assert near[:2].tolist() == [1, 1]
    assert near[2] < 0.001


def test_a_day_that_does_not_exist_is_near_to_nothing():
    assert nearness(dates_in("on 30 February 2023"), np.array([day(2023, 2, 28)])).tolist() == [0]


def test_nothing_dated_is_near_to_nothing():
    assert nearness(dates_in("in May"), np.array([np.nan, np.nan])).tolist() == [0, 0]
