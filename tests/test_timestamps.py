"""Dates as people write them; what is not sure is no date."""

import uuid
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline.timestamps import read_timestamp, uuid7_time

MOMENT = datetime(2024, 5, 8, 14, 30, tzinfo=UTC)


def local(*parts: int) -> datetime:
    return datetime(*parts).astimezone()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (MOMENT, MOMENT),
        (datetime(2024, 5, 8, 14, 30), local(2024, 5, 8, 14, 30)),
        (date(2024, 5, 8), local(2024, 5, 8)),
        ("2024-05-08T14:30:00Z", MOMENT),
        ("2024-05-08T14:30:00+00:00", MOMENT),
        ("2024-05-08T22:30:00+08:00", MOMENT),
        ("2024-05-08 14:30", local(2024, 5, 8, 14, 30)),
        ("  2024-05-08\n", local(2024, 5, 8)),
        ("20240508", local(2024, 5, 8)),
        ("2024/5/8", local(2024, 5, 8)),
        ("2024.05.08", local(2024, 5, 8)),
        ("2024年5月8日", local(2024, 5, 8)),
        ("2024年5月8日 14时30分", local(2024, 5, 8, 14, 30)),
        ("2024年5月8号14点", local(2024, 5, 8, 14)),
        ("2024年5月8日 14:30", local(2024, 5, 8, 14, 30)),
        (1715178600, MOMENT),
        (1715178600.0, MOMENT),
        (1715178600000, MOMENT),
        ("1715178600", MOMENT),
        ("1715178600000", MOMENT),
        ("1715178600.5", MOMENT + timedelta(seconds=0.5)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_dates_are_read_as_people_write_them(value: object, moment: datetime):
    assert read_timestamp(value) == moment


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "soon",
        "8 May 2024",
        "05/08/2024",
        "2024-13-01",
        "2024年13月1日",
        "2024/2/30",
        "0000-01-01",
        "12345678901234567890123",
        "12345",
        -1,
        float("nan"),
        float("inf"),
        1e300,
        True,
        b"2024-05-08",
        ["2024-05-08"],
        {"date": "2024-05-08"},
        datetime.min,
    ],
)
def test_what_names_no_moment_for_sure_is_none(value: object):
    assert read_timestamp(value) is None


def test_seconds_become_milliseconds_from_1e11():
    assert read_timestamp(1e11) == datetime(1973, 3, 3, 9, 46, 40, tzinfo=UTC)
    assert read_timestamp(1e11 - 1) == datetime(5138, 11, 16, 9, 46, 39, tzinfo=UTC)


@given(st.datetimes(datetime(1971, 1, 1), datetime(2999, 1, 1), timezones=st.timezones()))
def test_iso_strings_and_aware_datetimes_come_back_as_they_were(moment: datetime):
    assert read_timestamp(moment) is moment
    read = read_timestamp(moment.isoformat())
    assert read is not None
    assert read.timestamp() == moment.timestamp()  # == between zones fails in the hour that comes twice


@given(st.one_of(st.text(), st.integers(), st.floats(), st.dates(), st.datetimes(), st.binary()))
def test_every_result_is_aware_and_nothing_raises(value: object):
    moment = read_timestamp(value)

    assert moment is None or moment.tzinfo is not None


def uuid7(milliseconds: int) -> str:
    return str(uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | 0x2 << 62))


@pytest.mark.parametrize("prefix", ["", "lc_run--", "run-"])
def test_the_time_in_a_uuid7_is_read_whatever_stands_before_it(prefix: str):
    assert uuid7_time(prefix + uuid7(1715178600000)) == MOMENT


def test_a_uuid7_without_hyphens_is_read_too():
    assert uuid7_time(uuid7(1715178600000).replace("-", "")) == MOMENT


@pytest.mark.parametrize(
    "identifier",
    ["", "turn-3", str(uuid.UUID(int=0)), "f47ac10b-58cc-4372-a567-0e02b2c3d479", uuid7(1715178600000) + "x"],
)
def test_other_ids_have_no_time(identifier: str):
    assert uuid7_time(identifier) is None


@given(st.integers(10**11, 4 * 10**13))
def test_every_uuid7_gives_its_time_to_the_millisecond(milliseconds: int):
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)  # noqa: UP017

    moment = uuid7_time(uuid7(milliseconds))

    assert moment is not None
    assert abs((moment - epoch) / timedelta(milliseconds=1) - milliseconds) < 0.01
