"""MemoryStore: what is remembered, found and forgotten, and that no user meets another's memories."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packline import ConfigError, ContextBuilder, Kind
from packline.chroma import MemoryStore

Embed = Callable[[list[str]], np.ndarray]
NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def contents(memory: MemoryStore) -> list[str]:
    """All memories, oldest first."""
    return [packet.content for packet in reversed(memory.recent(10_000))]


def test_a_memory_is_found_with_all_that_was_said_of_it(memory: MemoryStore) -> None:
    when = datetime(2025, 5, 8, 14, 30, 0, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))

    identifier = memory.add(
        "Ada works with Pandas.", "semantic", 0.9, when, {"place": "Oslo", "tags": ["a", None]}
    )
    [found] = memory.search("Who works with Pandas?")

    assert found.id == identifier
    assert found.content == "Ada works with Pandas."
    assert found.kind is Kind.MEMORY
    assert found.timestamp == when
    assert found.relevance_score is None
    score = found.metadata["score"]
    assert isinstance(score, float)
    assert 0 < score <= 1
    assert dict(found.metadata) == {
        "place": "Oslo",
        "tags": ["a", None],
        "memory_type": "semantic",
        "importance": 0.9,
        "score": score,
    }


def test_without_more_said_a_memory_is_episodic_half_important_and_of_now(memory: MemoryStore) -> None:
    before = datetime.now(UTC)

    memory.add("Something happened.")

    [found] = memory.recent(1)
    assert (found.metadata["memory_type"], found.metadata["importance"]) == ("episodic", 0.5)
    assert found.timestamp is not None
    assert before <= found.timestamp <= datetime.now(UTC)


def test_the_same_content_twice_is_two_memories(memory: MemoryStore) -> None:
    first, second = memory.add("Tea."), memory.add("Tea.")

    assert first < second
    assert len(memory) == 2


def test_a_memory_with_half_a_character_loses_only_that(memory: MemoryStore) -> None:
    memory.add("Tea \ud83d at five.")

    assert [packet.content for packet in memory.search("tea")] == ["Tea ? at five."]


def test_only_memories_important_enough_are_found(memory: MemoryStore) -> None:
    for importance in (0, 0.29, 0.3, 1):
        memory.add(f"Tea at {importance}.", importance=importance)

    def found(*least: float) -> list[object]:
        return sorted(packet.metadata["importance"] for packet in memory.search("tea", 10, *least))  # type: ignore[type-var]

    assert found() == [0.3, 1]
    assert found(0) == [0, 0.29, 0.3, 1]
    assert found(1) == [1]


def test_only_memories_of_the_types_asked_for_are_found(memory: MemoryStore) -> None:
    for memory_type in ("episodic", "semantic", "working"):
        memory.add(f"Tea, {memory_type}.", memory_type)  # type: ignore[arg-type]

    def found(types: list[str] | None) -> list[object]:
        packets = memory.search("tea", memory_types=types)  # type: ignore[arg-type]
        return sorted(str(packet.metadata["memory_type"]) for packet in packets)

    assert found(None) == ["episodic", "semantic", "working"]
    assert found(["working", "episodic"]) == ["episodic", "working"]
    assert found(["semantic"]) == ["semantic"]


def test_the_best_memory_comes_first_and_no_more_than_asked_for(memory: MemoryStore) -> None:
    for day in range(120):
        memory.add(f"On day {day} the user had tea.", importance=0.4 + day % 2 / 10)
    memory.add("The user is allergic to nuts.", "semantic")

    found = memory.search("allergic to nuts", limit=3)

    assert len(found) == 3
    assert found[0].content == "The user is allergic to nuts."
    assert memory.search("allergic to nuts", limit=3) == found
    assert memory.search("allergic to nuts", limit=3, min_importance=0.5)[0] == found[0]


@pytest.mark.parametrize("few", [2_000, 0], ids=["one by one", "by the index"])
def test_important_memories_are_found_behind_any_number_of_unimportant_ones_that_fit_better(
    few: int, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packline.chroma.rows._FEW", few)
    for _ in range(150):
        memory.add("Tea at five.", importance=0.1)
    for number in range(3):
        memory.add(f"Zebras graze, number {number}.", importance=0.9)

    found = memory.search("Tea at five?")

    assert [packet.content for packet in found] == [f"Zebras graze, number {number}." for number in range(3)]


def test_a_least_score_leaves_out_what_has_nothing_to_do_with_it(memory: MemoryStore) -> None:
    memory.add("The user is allergic to nuts.")
    memory.add("Zebras graze.")

    found = memory.search("allergic to nuts", min_score=0.3)

    assert [packet.content for packet in found] == ["The user is allergic to nuts."]


def test_the_recent_ones_are_those_of_the_newest_time_whenever_they_were_added(memory: MemoryStore) -> None:
    for day in (3, 1, 2):
        memory.add(f"day {day}", timestamp=datetime(2026, 1, day, tzinfo=UTC))
    memory.add("day 2 in the evening, zone away", timestamp=datetime(2026, 1, 2, 12, tzinfo=UTC).astimezone())

    assert [packet.content for packet in memory.recent(3)] == [
        "day 3",
        "day 2 in the evening, zone away",
        "day 2",
    ]


def test_of_one_time_the_later_added_is_the_more_recent(memory: MemoryStore) -> None:
    for number in range(5):
        memory.add(f"number {number}", timestamp=NOW)

    assert [packet.content for packet in memory.recent(2)] == ["number 4", "number 3"]


class TestForget:
    """What is forgotten is what all conditions hold for."""

    @pytest.fixture
    def memory(self, memory: MemoryStore) -> MemoryStore:
        for day in range(1, 5):
            memory.add(
                f"day {day}",
                "working" if day % 2 else "semantic",
                importance=day / 10,
                timestamp=NOW - timedelta(days=day),
            )
        return memory

    def test_by_id(self, memory: MemoryStore) -> None:
        identifier = memory.recent(1)[0].id

        assert memory.forget(id=identifier) == 1
        assert memory.forget(id=identifier) == 0
        assert contents(memory) == ["day 4", "day 3", "day 2"]

    def test_older_than_a_moment_leaves_that_moment(self, memory: MemoryStore) -> None:
        assert memory.forget(older_than=NOW - timedelta(days=3)) == 1
        assert contents(memory) == ["day 3", "day 2", "day 1"]

    def test_older_than_a_time_is_counted_back_from_now(self, memory: MemoryStore) -> None:
        assert memory.forget(older_than=timedelta(days=2, hours=12), now=NOW) == 2
        assert contents(memory) == ["day 2", "day 1"]

    def test_below_an_importance_leaves_that_importance(self, memory: MemoryStore) -> None:
        assert memory.forget(below_importance=0.3) == 2
        assert contents(memory) == ["day 4", "day 3"]

    def test_of_types(self, memory: MemoryStore) -> None:
        assert memory.forget(memory_types=["working"]) == 2
        assert contents(memory) == ["day 4", "day 2"]

    def test_all_conditions_must_hold(self, memory: MemoryStore) -> None:
        assert memory.forget(memory_types=["working"], below_importance=0.3) == 1
        assert contents(memory) == ["day 4", "day 3", "day 2"]

    def test_everything(self, memory: MemoryStore) -> None:
        assert memory.forget(all=True) == 4
        assert len(memory) == 0
        assert memory.search("day", min_importance=0) == []

    @pytest.mark.parametrize("given", [{}, {"all": False}, {"all": True, "below_importance": 0.0}])
    def test_nothing_is_forgotten_by_mistake(self, memory: MemoryStore, given: dict[str, object]) -> None:
        with pytest.raises(
            ConfigError, match="what to forget must be either all=True, or some of id, older_than"
        ):
            memory.forget(**given)  # type: ignore[arg-type]

        assert len(memory) == 4


USERS = [
    "ada",
    "Ada",
    "ada ",
    "a'b",
    '"; DROP TABLE--',
    "$ne",
    "*",
    "../ada",
    "数据",
    "🐼",
    "a\0b",
    "\ud800",
    "x" * 5_000,
]


def test_no_user_sees_counts_or_forgets_anothers_memories(tmp_path: Path, embed: Embed) -> None:
    stores = [MemoryStore(tmp_path, user, embed=embed) for user in USERS]
    for number, store in enumerate(stores):
        store.add(f"The secret is number {number}.", importance=0.1 if number % 2 else 0.9)

    for number, store in enumerate(stores):
        mine = [f"The secret is number {number}."]
        assert [packet.content for packet in store.search("secret number", 1000, min_importance=0)] == mine
        assert [packet.content for packet in store.recent(1000)] == mine
        assert len(store) == 1
    theirs = stores[1].recent(1)[0].id
    assert stores[0].forget(id=theirs) == 0
    assert stores[0].forget(below_importance=0.5) == 0
    assert stores[0].forget(older_than=timedelta(0), now=datetime(2999, 1, 1, tzinfo=UTC)) == 1
    assert [len(store) for store in stores] == [0] + [1] * (len(USERS) - 1)
    for store in stores:
        store.close()


@settings(max_examples=15)
@given(users=st.lists(st.text(min_size=1).filter(str.strip), min_size=2, max_size=4, unique=True))
def test_whatever_they_are_called_users_are_apart(users: list[str]) -> None:
    import chromadb

    def embed(texts: list[str]) -> list[list[int]]:
        return [[1, len(text)] for text in texts]

    with chromadb.EphemeralClient() as client:
        stores = [MemoryStore(user_id=user, client=client, embed=embed, name="apart") for user in users]
        for store, user in zip(stores, users, strict=True):
            store.add("memory", metadata={"of": user})

        owners = [[packet.metadata["of"] for packet in store.recent(9)] for store in stores]
        for store in stores:
            store.forget(all=True)

    assert owners == [[user] for user in users]


def test_memories_stay_on_disk(tmp_path: Path, embed: Embed) -> None:
    with MemoryStore(tmp_path, "ada", embed=embed) as memory:
        memory.add("Tea.", timestamp=NOW)
        before = memory.search("tea")

    with MemoryStore(tmp_path, "ada", embed=embed) as memory:
        assert memory.search("tea") == before
        assert len(before) == 1


def test_knowledge_and_memory_share_a_folder_and_do_not_mix(tmp_path: Path, embed: Embed) -> None:
    from packline.chroma import KnowledgeBase

    with KnowledgeBase(tmp_path, embed=embed) as knowledge, MemoryStore(tmp_path, embed=embed) as memory:
        knowledge.add_text("knowledge")
        memory.add("memory")

        assert [packet.content for packet in knowledge.search("memory", min_score=0)] == ["knowledge"]
        assert [packet.content for packet in memory.search("knowledge")] == ["memory"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"content": "  "}, "content must be a string that is not empty"),
        ({"content": None}, "content must be a string that is not empty, got None"),
        ({"importance": 1.5}, r"importance must be a number in \[0, 1\], got 1.5"),
        ({"importance": float("nan")}, r"importance must be a number in \[0, 1\], got nan"),
        ({"importance": True}, r"importance must be a number in \[0, 1\], got True"),
        (
            {"memory_type": "procedural"},
            "memory_type must be one of episodic, semantic, working, got 'procedural'",
        ),
        (
            {"timestamp": "soon"},
            "timestamp must be a datetime or something that names one, or None, got 'soon'",
        ),
        ({"metadata": {"x": object()}}, r"metadata\['x'\] must be what JSON can hold"),
        ({"metadata": {1: 2}}, "name in metadata must be a string, got 1"),
    ],
)
def test_a_memory_that_is_none_is_refused(
    memory: MemoryStore, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        memory.add(**{"content": "x", **arguments})  # type: ignore[arg-type]

    assert len(memory) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": 0}, "limit must be a whole number from 1, got 0"),
        ({"min_importance": -0.1}, r"min_importance must be a number in \[0, 1\], got -0.1"),
        ({"min_score": 2}, r"min_score must be a number in \[0, 1\], got 2"),
        ({"memory_types": ["x"]}, "memory_type must be one of episodic, semantic, working, got 'x'"),
        ({"memory_types": []}, "memory_types must be some of episodic, semantic, working, or None for all"),
    ],
)
def test_bad_arguments_of_a_search_are_refused(
    memory: MemoryStore, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        memory.search("x", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("user", ["", " ", None, 7])
def test_a_store_of_nobody_is_refused(embed: Embed, user: object) -> None:
    with pytest.raises(ConfigError, match="user_id must be a string that is not empty"):
        MemoryStore(user_id=user, embed=embed)  # type: ignore[arg-type]


def test_it_is_a_source_of_memories_for_a_builder(memory: MemoryStore) -> None:
    memory.add("The user prefers Pandas over SQL.", "semantic")

    context = ContextBuilder(sources=[memory]).build("Does the user prefer Pandas?")

    assert "Memory: The user prefers Pandas over SQL." in context.text
    assert not context.failures


def test_as_a_source_it_gives_its_limit_and_the_asynchronous_way_the_same(embed: Embed) -> None:
    with MemoryStore(embed=embed, gather_limit=7, gather_min_importance=0.5) as memory:
        for number in range(20):
            memory.add(f"number {number}", importance=0.4 + number % 2 / 10)

        packets = memory.gather("number 3")

        assert len(packets) == 7
        assert {packet.metadata["importance"] for packet in packets} == {0.5}
        assert asyncio.run(memory.agather("number 3")) == packets
        assert (memory.name, memory.kind) == ("memory", Kind.MEMORY)


def test_an_empty_store_is_still_a_store_and_finds_nothing(memory: MemoryStore) -> None:
    assert len(memory) == 0
    assert memory
    assert memory.search("x") == memory.recent(5) == []
