"""A packet is checked when it is made, knows its kind, and keeps what it was given."""

import copy
import dataclasses
import gc
import math
import pickle
import subprocess
import sys
import weakref
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline import ConfigError, ContextPacket, Kind

BOOK_WORDS = {
    "system_instruction": Kind.INSTRUCTION,
    "task_state": Kind.STATE,
    "rag_result": Kind.EVIDENCE,
    "knowledge": Kind.EVIDENCE,
    "memory": Kind.MEMORY,
    "conversation_history": Kind.HISTORY,
}


def test_a_packet_needs_only_its_text():
    packet = ContextPacket("Pandas reads CSV.")

    assert packet.content == "Pandas reads CSV."
    assert packet.timestamp is packet.token_count is packet.relevance_score is packet.origin is None
    assert packet.metadata == {}
    assert packet.kind is Kind.OTHER


@pytest.mark.parametrize(("word", "kind"), BOOK_WORDS.items())
def test_the_books_words_are_kinds(word: str, kind: Kind):
    assert ContextPacket("x", metadata={"type": word}).kind is kind
    assert Kind(word) is kind
    assert ContextPacket("x", kind=word).kind is kind  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["pdf", "evidence", "Memory", "", 3, None, ["memory"]])
def test_a_documents_own_type_does_not_get_in_the_way(word: object):
    assert ContextPacket("x", metadata={"type": word}).kind is Kind.OTHER


def test_a_given_kind_wins_over_the_type_in_the_metadata():
    packet = ContextPacket("x", metadata={"type": "memory"}, kind=Kind.EVIDENCE)

    assert packet.kind is Kind.EVIDENCE


def test_a_kind_may_be_given_by_its_word():
    assert ContextPacket("x", kind="evidence").kind is Kind.EVIDENCE  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("content", None, "a string"),
        ("content", b"bytes", "a string"),
        ("timestamp", "2024-05-08", "a datetime, or None"),
        ("timestamp", 1715178600, "a datetime, or None"),
        ("token_count", -1, "a whole number from 0, or None"),
        ("token_count", 1.0, "a whole number from 0, or None"),
        ("token_count", True, "a whole number from 0, or None"),
        ("relevance_score", -0.001, "a number in [0, 1], or None"),
        ("relevance_score", 1.001, "a number in [0, 1], or None"),
        ("relevance_score", math.nan, "a number in [0, 1], or None"),
        ("relevance_score", math.inf, "a number in [0, 1], or None"),
        ("relevance_score", "0.5", "a number in [0, 1], or None"),
        ("relevance_score", True, "a number in [0, 1], or None"),
        ("metadata", [("type", "memory")], "a mapping"),
        ("kind", "pdf", "one of instruction, state, evidence, memory, history, other, or None"),
        ("kind", 3, "one of instruction, state, evidence, memory, history, other, or None"),
        ("id", 7, "a string"),
    ],
)
def test_a_bad_field_is_named_with_its_value_and_range(field: str, value: object, expected: str):
    arguments = {"content": "x", field: value}

    with pytest.raises(ConfigError) as raised:
        ContextPacket(**arguments)  # type: ignore[arg-type]

    assert str(raised.value) == f"{field} must be {expected}, got {value!r}"
    assert raised.value.field == field
    assert raised.value.value is value


@pytest.mark.parametrize("score", [0, 0.0, 0.5, 1, 1.0])
def test_every_relevance_from_0_to_1_is_kept_as_it_is(score: float):
    assert ContextPacket("x", relevance_score=score).relevance_score == score


def test_numbers_of_numpys_become_plain_ones():
    packet = ContextPacket("x", relevance_score=np.float32(0.5), token_count=np.int64(3))  # type: ignore[arg-type]

    assert (packet.relevance_score, packet.token_count) == (0.5, 3)
    assert (type(packet.relevance_score), type(packet.token_count)) == (float, int)


def test_a_naive_time_is_read_as_local_time():
    naive = datetime(2024, 5, 8, 14, 30)

    packet = ContextPacket("x", timestamp=naive)

    assert packet.timestamp is not None
    assert packet.timestamp.tzinfo is not None
    assert packet.timestamp == naive.astimezone()


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York", "UTC"])
def test_local_time_is_that_of_the_machine(zone: str):
    code = (
        "from datetime import UTC, datetime; from packline import ContextPacket; "
        "print(ContextPacket('x', timestamp=datetime(2024, 1, 8, 12)).timestamp.astimezone(UTC).hour)"
    )

    hour = subprocess.run(
        [sys.executable, "-c", code], env={"TZ": zone}, capture_output=True, text=True, check=True
    )

    assert int(hour.stdout) == {"Asia/Shanghai": 4, "America/New_York": 17, "UTC": 12}[zone]


def test_an_aware_time_is_kept_as_the_same_object():
    moment = datetime(2024, 5, 8, tzinfo=timezone(timedelta(hours=8)))

    assert ContextPacket("x", timestamp=moment).timestamp is moment


def test_a_time_without_a_local_zone_is_refused():
    with pytest.raises(ConfigError, match="timestamp must be a time that has a local time zone"):
        ContextPacket("x", timestamp=datetime.min)


def test_an_id_is_made_from_kind_and_content_and_the_same_on_every_run():
    assert ContextPacket("Pandas reads CSV.", kind=Kind.EVIDENCE).id == "evidence-e910879a68ec"
    assert ContextPacket("a").id != ContextPacket("b").id
    assert ContextPacket("a", kind=Kind.MEMORY).id != ContextPacket("a", kind=Kind.EVIDENCE).id


def test_a_given_id_is_kept():
    assert ContextPacket("x", id="doc-7").id == "doc-7"


def test_lone_surrogates_are_text_like_any():
    assert ContextPacket("\ud800").id == ContextPacket("\ud800").id


def test_a_packet_is_frozen():
    packet = ContextPacket("x")

    with pytest.raises(dataclasses.FrozenInstanceError):
        packet.content = "y"  # type: ignore[misc]


def test_the_origin_is_handed_back_untouched_and_does_not_count_for_equality():
    document = object()

    packet = ContextPacket("x", origin=document)

    assert packet.origin is document
    assert packet == ContextPacket("x")
    assert hash(packet) == hash(ContextPacket("x"))
    assert "origin" not in repr(packet)


def test_metadata_is_the_callers_own_object_and_no_hindrance_to_hashing():
    metadata = {"pages": [1, 2]}

    packet = ContextPacket("x", metadata=metadata)

    assert packet.metadata is metadata
    assert packet in {packet}


def test_a_packet_can_be_watched_by_weak_references():
    packet = ContextPacket("x")
    watched = weakref.ref(packet)

    del packet
    gc.collect()

    assert watched() is None


packets = st.builds(
    ContextPacket,
    st.text(st.characters(), max_size=30),
    timestamp=st.none() | st.datetimes(timezones=st.just(UTC)),
    token_count=st.none() | st.integers(0),
    relevance_score=st.none() | st.floats(0, 1),
    metadata=st.dictionaries(st.text(max_size=3), st.integers()),
    kind=st.sampled_from(Kind),
    id=st.text(max_size=5),
)


@given(packets)
def test_pickling_and_copying_change_nothing(packet: ContextPacket):
    assert pickle.loads(pickle.dumps(packet)) == packet
    assert copy.deepcopy(packet) == packet
    assert dataclasses.replace(packet) == packet


@given(packets)
def test_every_packet_has_a_kind_and_an_id_that_starts_with_it_unless_given(packet: ContextPacket):
    made = dataclasses.replace(packet, id="")

    assert isinstance(packet.kind, Kind)
    assert packet.id
    assert made.id.startswith(f"{packet.kind.value}-")
