"""Recency halves with age, has a floor, and counts only where a question asks for the newest."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline.recency import FLOOR, asks_for_newest, recency

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def at(age: timedelta | None, half_life_days: float = 7.0) -> float:
    return float(recency([None if age is None else NOW - age], now=NOW, half_life_days=half_life_days)[0])


def test_recency_halves_every_half_life():
    assert at(timedelta(0)) == 1.0
    assert at(timedelta(days=7)) == 0.5
    assert at(timedelta(days=14)) == 0.25
    assert at(timedelta(hours=12), half_life_days=0.5) == 0.5


@pytest.mark.parametrize("days", [0, 1, 5, 10, 23, 24, 400])
def test_at_6_93_days_it_is_the_books_decay(days: int):
    book = max(0.1, math.exp(-0.1 * days))

    assert at(timedelta(days=days), 10 * math.log(2)) == pytest.approx(book)


def test_nothing_falls_below_the_floor_and_what_is_undated_is_there():
    assert at(timedelta(days=20_000)) == FLOOR == 0.1
    assert at(None) == FLOOR


def test_the_future_is_as_new_as_the_present():
    assert at(-timedelta(days=400)) == 1.0


def test_the_zone_of_a_time_makes_no_difference():
    there = (NOW - timedelta(days=7)).astimezone(timezone(timedelta(hours=9)))

    assert recency([there], now=NOW, half_life_days=7).tolist() == [0.5]


def test_one_value_for_each_time_in_their_order():
    times = [NOW - timedelta(days=7), None, NOW]

    assert recency(times, now=NOW, half_life_days=7).tolist() == [0.5, 0.1, 1.0]
    assert recency([], now=NOW, half_life_days=7).tolist() == []


@given(
    st.timedeltas(timedelta(days=-10_000), timedelta(days=500_000)),
    st.timedeltas(timedelta(0), timedelta(days=10_000)),
    st.floats(1e-3, 1e6),
)
def test_recency_is_in_its_range_and_never_grows_with_age(age: timedelta, more: timedelta, half_life: float):
    younger, older = at(age, half_life), at(age + more, half_life)

    assert 0.1 <= older <= younger <= 1.0


@pytest.mark.parametrize(
    "question",
    [
        "What is the latest release?",
        "What are we CURRENTLY using?",
        "the most recent invoice",
        "Is it up to date?",
        "Is it up-to-date?",
        "最近的会议说了什么？",
        "最新版本是多少",
        "目前的预算",
        "現在の予算は？",
        "최근 회의",
        "Was ist die neueste Version?",
        "la última factura",
        "le dernier rapport",
        "¿Cuál es el precio actual?",
        "What did we agree so far?",
    ],
)
def test_questions_that_ask_for_the_newest_are_known_in_several_languages(question: str):
    assert asks_for_newest(question)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "When was it founded?",
        "Who founded it in 1999?",
        "What is a lateral move?",
        "公司是什么时候成立的？",
        "What was the actual cost in 2019?",
        "Why is it so far away?",
        "离我最近的地铁站在哪里？",
    ],
)
def test_other_questions_do_not(question: str):
    assert not asks_for_newest(question)
