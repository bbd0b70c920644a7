"""The best of what was gathered, up to the budget; one character is one token here."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline import (
    ConfigError,
    ContextConfig,
    ContextPacket,
    Gathered,
    Kind,
    Reason,
    Request,
    Selection,
    TokenCounter,
    select,
    wording,
)
from packline.filling import LEAST_SNIPPET

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
LEAST = LEAST_SNIPPET + 1  # with its separator, a line break
PLENTY = 1_000_000


class Scorer:
    """Gives the relevance that a table says, and notes what it was asked."""

    def __init__(self, table: dict[str, float] | None = None) -> None:
        self.table = table or {}
        self.asked: list[Sequence[ContextPacket]] = []

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> np.ndarray:
        self.asked.append(packets)
        return np.array([self.table.get(packet.content, 0.0) for packet in packets])


class Spy(TokenCounter):
    """Counts characters, and the texts that it was asked for."""

    def __init__(self) -> None:
        super().__init__(len, name="characters")
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        self.texts.append(text)
        return super().count(text)


def packet(content: str, relevance: float | None = None, **fields: object) -> ContextPacket:
    """A packet of kind other: it costs its length and one more for the line break that parts entries."""
    return ContextPacket(content, relevance_score=relevance, **fields)  # type: ignore[arg-type]


def choose(
    *packets: ContextPacket,
    budget: int = PLENTY,
    history: Sequence[object] = (),
    state: object = None,
    question: str = "why?",
    relevance: object = None,
    counter: TokenCounter | None = None,
    names: Sequence[str] | None = None,
    **settings: object,
) -> Selection:
    """Select with exactly `budget` tokens left beside the fixed parts."""
    request = Request.of(question, conversation_history=history, custom_packets=packets, state=state, now=NOW)
    gathered = Gathered(
        request=request, packets=request.packets, names=tuple(names or ["custom_packets"] * len(packets))
    )
    settings = {"reserve_ratio": 0.0, "half_life_days": 7.0, **settings}

    def at(max_tokens: int, counter: TokenCounter, relevance: object) -> Selection:
        config = ContextConfig(max_tokens=max_tokens, **settings)  # type: ignore[arg-type]
        return select(gathered, relevance=relevance, counter=counter, config=config)  # type: ignore[arg-type]

    needed = PLENTY - at(PLENTY, TokenCounter(len, name="characters"), Scorer()).budget
    selection = at(needed + budget, counter or TokenCounter(len, name="characters"), relevance or Scorer())
    assert selection.budget == budget
    return selection


def kept(selection: Selection) -> list[str]:
    return [verdict.packet.content for verdict in selection.kept]


def dropped(selection: Selection) -> list[tuple[str, Reason]]:
    return [(verdict.packet.content, verdict.reason) for verdict in selection.dropped]


# --- filling ---


def test_the_best_are_kept_best_first():
    selection = choose(packet("fair", 0.5), packet("best", 0.9), packet("good", 0.7), budget=10)

    assert kept(selection) == ["best", "good"]
    assert dropped(selection) == [("fair", Reason.OVER_BUDGET)]
    assert {verdict.reason for verdict in selection.kept} == {Reason.SELECTED}


def test_what_fills_the_budget_exactly_fits():
    assert kept(choose(packet("x" * 9, 0.9), packet("y" * 9, 0.8), budget=20)) == ["x" * 9, "y" * 9]
    assert kept(choose(packet("x" * 9, 0.9), packet("y" * 9, 0.8), budget=19)) == ["x" * 9]


def test_a_packet_that_does_not_fit_does_not_block_smaller_ones():
    large, small = packet("x" * 50, 0.9), packet("tiny", 0.2)

    selection = choose(large, small, budget=10)

    assert kept(selection) == ["tiny"]
    assert dropped(selection) == [("x" * 50, Reason.OVER_BUDGET)]


def test_among_equal_scores_the_first_given_is_first():
    assert kept(choose(*(packet(f"p{n}", 0.5) for n in range(9)))) == [f"p{n}" for n in range(9)]


def test_a_verdict_says_place_source_scores_and_tokens():
    given = packet("abc", 0.5, timestamp=NOW - timedelta(days=7))

    selection = choose(packet("low", 0.0), given, names=["a", "wiki"], recency="always")

    verdict = selection.kept[0]
    assert verdict.packet is given
    assert (verdict.source, verdict.position, verdict.tokens) == ("wiki", 1, 4)
    assert (verdict.relevance, verdict.recency) == (0.5, 0.5)
    assert verdict.score == pytest.approx(0.7 * 0.5 + 0.3 * 0.5)
    assert (verdict.limit, verdict.shortened, verdict.merged) == (None, None, ())


def test_a_given_token_count_is_believed():
    selection = choose(packet("x" * 100, 0.9, token_count=5), budget=6)

    assert kept(selection) == ["x" * 100]
    assert selection.kept[0].tokens == 6


def test_heads_and_separators_cost_too():
    memory = packet("x" * 10, 0.9, kind=Kind.MEMORY)

    cost = len("Memory: ") + 10 + len("\n")

    assert kept(choose(memory, budget=cost)) == ["x" * 10]
    assert kept(choose(memory, budget=cost - 1)) == []


def test_tokens_are_counted_only_for_what_may_be_kept():
    spy = Spy()

    choose(packet("relevant", 0.9), packet("irrelevant", 0.04), counter=spy)

    assert "relevant\n" in spy.texts
    assert "irrelevant\n" not in spy.texts


def test_of_20_000_candidates_at_most_three_times_the_kept_are_counted():
    spy = Spy()
    packets = [packet(f"{n:05}" + "x" * 44, 0.9 - n * 1e-5) for n in range(20_000)]

    selection = choose(*packets, budget=5_000, counter=spy)

    assert len(selection.kept) == 100
    assert len({text for text in spy.texts if text.endswith("x")}) <= 3 * 100
    assert len(selection.dropped) == 19_900
    assert {verdict.reason for verdict in selection.dropped} == {Reason.OVER_BUDGET}


# --- relevance ---


def test_exactly_the_minimum_is_enough():
    selection = choose(packet("at", 0.3), packet("below", math.nextafter(0.3, 0)), min_relevance=0.3)

    assert kept(selection) == ["at"]
    assert dropped(selection) == [("below", Reason.BELOW_MIN_RELEVANCE)]


def test_a_minimum_of_0_keeps_everything_and_one_of_1_only_the_certain():
    packets = [packet("zero", 0.0), packet("half", 0.5), packet("one", 1.0)]

    assert kept(choose(*packets, min_relevance=0.0)) == ["one", "half", "zero"]
    assert kept(choose(*packets, min_relevance=1.0)) == ["one"]


def test_given_scores_are_used_as_they_are_and_only_the_others_are_scored():
    scorer = Scorer({"given": 0.9, "unknown": 0.4})

    selection = choose(packet("given", 0.5), packet("unknown"), relevance=scorer)

    assert [(v.packet.content, v.relevance) for v in selection.kept] == [("given", 0.5), ("unknown", 0.4)]
    assert [[p.content for p in asked] for asked in scorer.asked] == [["given", "unknown"]]


def test_the_scorer_is_not_asked_where_all_scores_are_known():
    scorer = Scorer()

    choose(packet("a", 0.5), packet("b", 0.0), relevance=scorer)

    assert scorer.asked == []


def test_the_scorer_sees_the_whole_pool_in_one_call_the_conversation_first():
    scorer = Scorer()

    choose(packet("b"), packet("c"), history=[("user", "a")], relevance=scorer)

    assert [[p.content for p in asked] for asked in scorer.asked] == [["a", "b", "c"]]


class Returning:
    def __init__(self, scores: object) -> None:
        self.returned = scores

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> object:
        return self.returned


@pytest.mark.parametrize("scores", [[0.5], [0.5, 0.5, 0.5], [[0.5, 0.5]], 0.5, []])
def test_a_scorer_gives_one_score_for_each_packet(scores: object):
    with pytest.raises(ConfigError, match="relevance must be a scorer that gives 2 scores"):
        choose(packet("a"), packet("b"), relevance=Returning(scores))


async def _awaited() -> list[float]:
    return [0.5, 0.5]


@pytest.mark.parametrize(
    "make", [lambda: ["high", "low"], lambda: {"a": 0.5}, lambda: iter([0.5, 0.5]), _awaited]
)
def test_what_is_no_array_of_scores_is_refused_with_the_way_out(make: Callable[[], object]):
    with pytest.raises(ConfigError, match="a scorer that gives an array of 2 scores, without await"):
        choose(packet("a"), packet("b"), relevance=Returning(make()))


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf])
def test_a_scorer_stays_in_its_range(bad: float):
    with pytest.raises(
        ConfigError, match=rf"relevance must be a scorer that gives scores in \[0, 1\], got {bad}"
    ):
        choose(packet("a"), packet("b"), relevance=Returning([0.5, bad]))


def test_a_score_that_rounding_took_above_1_is_1():
    assert choose(packet("a"), relevance=Returning([1.0000000000000002])).kept[0].relevance == 1.0


# --- recency ---

DATED = [
    packet("old", 0.8, timestamp=NOW - timedelta(days=400)),
    packet("new", 0.75, timestamp=NOW),
    packet("future", 0.7, timestamp=NOW + timedelta(days=400)),
    packet("undated", 0.65),
]


def test_a_question_that_does_not_ask_for_the_newest_goes_by_relevance_alone():
    selection = choose(*DATED)

    assert kept(selection) == ["old", "new", "future", "undated"]
    assert [verdict.score for verdict in selection.kept] == [0.8, 0.75, 0.7, 0.65]
    assert [verdict.recency for verdict in selection.kept] == [None] * 4


def test_a_verdict_on_what_is_dropped_has_its_recency_where_that_counted():
    low = packet("low", 0.0, timestamp=NOW)

    assert choose(low).dropped[0].recency is None
    assert choose(low, recency="always").dropped[0].recency == 1.0


@pytest.mark.parametrize(
    ("options", "scores"),
    [
        ({"recency": "always"}, [0.825, 0.79, 0.59, 0.485]),
        ({"question": "What is the latest?"}, [0.75, 0.7, 0.584, 0.4745]),
    ],
)
def test_otherwise_recency_has_its_weight(options: dict[str, object], scores: list[float]):
    selection = choose(*DATED, **options)  # type: ignore[arg-type]

    assert [(v.packet.content, v.recency) for v in selection.kept] == [
        ("new", 1.0),
        ("future", 1.0),
        ("old", 0.1),
        ("undated", 0.1),
    ]
    assert [v.score for v in selection.kept] == pytest.approx(scores)


def test_a_question_for_the_newest_does_not_get_new_packets_that_it_is_not_about():
    about, new = packet("about", 0.5, timestamp=NOW - timedelta(days=400)), packet("new", 0.3, timestamp=NOW)

    assert kept(choose(new, about, question="What is the latest?")) == ["about", "new"]


def test_the_minimum_is_one_of_relevance_whatever_the_recency():
    selection = choose(packet("new", 0.04, timestamp=NOW), recency="always")

    assert dropped(selection) == [("new", Reason.BELOW_MIN_RELEVANCE)]


def test_the_half_life_is_the_configs():
    given = packet("x", 0.5, timestamp=NOW - timedelta(days=3))

    assert choose(given, half_life_days=3.0, recency="always").kept[0].recency == 0.5


# --- duplicates ---

LONG = (
    "The quarterly meeting of the data team takes place in the large room on the second floor of the main "
    "building"
)
REPORT = (
    f"{LONG}. Whoever cannot come is asked to read the minutes, which are sent to all on the day after it."
)
ANSWER = (
    "The heating in that room has been out of order since the first cold night of the year, so that all "
    "had better bring a warm coat and a hot drink until the landlord has sent somebody who can repair it."
)


def test_what_says_the_same_is_merged_into_the_best_and_its_sources_are_kept():
    first, second, third = packet(LONG, 0.9), packet(LONG.upper(), 0.8), packet("other", 0.5)

    selection = choose(third, second, first, names=["a", "b", "c"])

    assert kept(selection) == [LONG, "other"]
    assert selection.kept[0].packet is first
    assert selection.kept[0].merged == (second,)
    assert dropped(selection) == [(LONG.upper(), Reason.DUPLICATE)]
    assert selection.dropped[0].source == "b"


def test_a_duplicate_costs_nothing():
    assert kept(choose(packet("same", 0.9), packet("same", 0.8), packet("else", 0.5), budget=10)) == [
        "same",
        "else",
    ]


def test_a_packet_that_did_not_fit_makes_no_duplicates():
    long = packet("x" * 50, 0.9)

    selection = choose(long, packet("X" * 50, 0.8, token_count=3), budget=10)

    assert kept(selection) == ["X" * 50]
    assert dropped(selection) == [("x" * 50, Reason.OVER_BUDGET)]


def test_what_is_too_long_for_the_whole_budget_is_merged_with_equal_texts_only():
    first, same, longer = packet("x" * 500, 0.9), packet("x" * 500, 0.8), packet("X" * 500, 0.7)

    selection = choose(first, same, longer, budget=400)

    assert [verdict.packet for verdict in selection.kept] == [first, longer]
    assert selection.kept[0].merged == (same,)


def test_a_text_that_will_be_shortened_does_not_stand_for_a_part_of_it():
    document, part, again = packet(LONG + ". " + "x" * 500, 0.9), packet(LONG, 0.8), packet(LONG.upper(), 0.7)

    selection = choose(document, part, again, budget=400)

    assert [verdict.packet for verdict in selection.kept] == [document, part]
    assert selection.kept[1].merged == (again,)


def test_what_is_too_long_for_the_whole_budget_is_counted_once_and_its_wording_is_never_read(
    monkeypatch: pytest.MonkeyPatch,
):
    read: list[int] = []
    monkeypatch.setattr(
        "packline.duplicates.read", lambda text, plain: read.append(len(text)) or wording.read(text, plain)
    )
    spy = Spy()

    choose(packet("a" * 50, 0.9), packet("x" * 5_000, 0.8), budget=400, counter=spy)

    assert read == [50, 5_000, 50]  # `choose` measures the fixed parts first, with room for all
    assert {text for text in spy.texts if len(text) > 400} == {"x" * 5_000}


def test_what_says_all_of_a_better_one_takes_its_place_only_if_it_says_little_else():
    """Else whoever copies a text and adds to it would drive the original out."""
    original, little = packet(REPORT, 0.9), packet(f"{REPORT} It ends at 10:45.", 0.8)
    much = packet(f"{REPORT} {ANSWER} {LONG}", 0.8)

    assert kept(choose(original, little)) == [little.content]
    assert kept(choose(original, much)) == [REPORT, much.content]
    assert kept(choose(packet(REPORT, 0.7), much)) == [much.content]


def test_several_that_make_up_most_of_a_text_are_kept_as_that_one():
    third = (
        LONG.replace("quarterly meeting", "summer party").replace("large room", "garden")
        + ", as it did before."
    )
    parts = [packet(REPORT, 0.9), packet(ANSWER, 0.8), packet(third, 0.75)]
    whole = packet(f"{REPORT} {ANSWER} {third}", 0.7)

    selection = choose(*parts, whole)

    assert [(v.packet, v.merged) for v in selection.kept] == [(whole, tuple(parts))]


def test_duplicates_may_be_kept():
    assert kept(choose(packet("same", 0.9), packet("same", 0.8), merge_duplicates=False)) == ["same", "same"]


def test_turns_that_say_the_same_are_not_merged():
    scorer = Scorer({"yes": 0.9})

    selection = choose(history=[("user", "yes"), ("assistant", "yes")], relevance=scorer, recent_turns=0)

    assert kept(selection) == ["yes", "yes"]


# --- the conversation ---

TURNS = [("user", f"turn {n}") for n in range(10)]


def test_the_last_turns_are_kept_whatever_their_relevance():
    selection = choose(history=TURNS)

    assert kept(selection) == ["turn 9", "turn 8", "turn 7", "turn 6", "turn 5"]
    assert {verdict.reason for verdict in selection.kept} == {Reason.RECENT_TURN}
    assert {verdict.source for verdict in selection.kept} == {"conversation"}
    assert dropped(selection) == [(f"turn {n}", Reason.BELOW_MIN_RELEVANCE) for n in range(5)]


@pytest.mark.parametrize("turns", [0, 1, 3, 10, 50])
def test_how_many_is_the_configs(turns: int):
    assert len(choose(history=TURNS, recent_turns=turns).kept) == min(turns, 10)


def test_earlier_turns_compete_by_relevance():
    selection = choose(packet("low", 0.3), history=TURNS, relevance=Scorer({"turn 2": 0.6}), recent_turns=1)

    assert [(v.packet.content, v.reason) for v in selection.kept] == [
        ("turn 9", Reason.RECENT_TURN),
        ("turn 2", Reason.SELECTED),
        ("low", Reason.SELECTED),
    ]


def test_the_last_turns_take_no_more_than_their_share():
    # "user: " + 23 characters + line break = 30 tokens a turn; 30 % of 300 are 90
    selection = choose(history=[("user", f"{n}" * 23) for n in range(9)], budget=300)

    assert kept(selection) == ["8" * 23, "7" * 23, "6" * 23]


def test_the_turn_that_exceeds_the_share_is_shortened_to_what_is_left_of_it():
    selection = choose(history=[("user", "a" * 300), ("user", "b" * 33)], budget=300)

    assert [(v.packet.content[0], v.limit) for v in selection.kept] == [("b", None), ("a", 50)]


@pytest.mark.parametrize("settings", [{"enable_compression": False}, {"recent_share": 0.2}])
def test_it_competes_where_it_would_be_a_stub_or_may_not_be_shortened(settings: dict[str, object]):
    selection = choose(
        history=[("user", "a" * 300), ("user", "b" * 33)],
        budget=300,
        **settings,  # type: ignore[arg-type]
    )

    assert kept(selection) == ["b" * 33]
    assert dropped(selection) == [("a" * 300, Reason.BELOW_MIN_RELEVANCE)]


def test_wordless_turns_are_passed_over():
    selection = choose(history=[("user", "words"), ("assistant", " ")], recent_turns=2)

    assert kept(selection) == ["words"]


def test_turns_given_as_packets_only_compete():
    turn = packet("turn", 0.0, kind=Kind.HISTORY)

    assert dropped(choose(turn)) == [("turn", Reason.BELOW_MIN_RELEVANCE)]


# --- what is too long ---


def limits(selection: Selection) -> list[tuple[str, int | None]]:
    return [(verdict.packet.content[0], verdict.limit) for verdict in selection.kept]


def test_a_packet_longer_than_the_budget_gets_a_share_of_it():
    others = [packet(letter * 99, 0.5) for letter in "abc"]

    assert limits(choose(packet("x" * 5_000, 0.9), *others, budget=400)) == [
        ("x", 100),
        ("a", None),
        ("b", None),
        ("c", None),
    ]


def test_of_a_small_budget_it_gets_as_much_as_says_something():
    best, others = packet("x" * 5_000, 0.9), [packet(letter * 29, 0.5) for letter in "abc"]

    assert limits(choose(best, *others, budget=100)) == [("x", LEAST + 7), ("a", None), ("b", None)]
    assert limits(choose(best, budget=LEAST)) == [("x", LEAST)]
    assert limits(choose(best, budget=LEAST - 1)) == []
    assert limits(choose(best, *others, budget=100, snippet_share=0)) == [
        ("a", None),
        ("b", None),
        ("c", None),
    ]


def test_and_what_nobody_else_needs():
    selection = choose(packet("x" * 5_000, 0.9), packet("y" * 5_000, 0.8), packet("a" * 99, 0.5), budget=400)

    assert limits(selection) == [("x", 200), ("y", 100), ("a", None)]


def test_what_is_left_goes_to_the_best_of_those_that_did_not_fit():
    selection = choose(packet("a" * 299, 0.9), packet("b" * 199, 0.8), packet("c" * 150, 0.7), budget=400)

    assert [(v.packet.content[0], v.limit) for v in selection.kept] == [("a", None), ("b", 100)]


def test_but_not_where_that_would_be_a_stub():
    assert len(choose(packet("a" * 299, 0.9), packet("b" * 99, 0.8), budget=299 + LEAST).kept) == 1
    assert len(choose(packet("a" * 299, 0.9), packet("b" * 99, 0.8), budget=300 + LEAST).kept) == 2


def test_what_is_left_goes_to_one_of_which_a_quarter_can_stand_where_there_is_one():
    a, b, c = packet("a" * 299, 0.9), packet("b" * 299, 0.8), packet("c" * 99, 0.7)

    assert limits(choose(a, b, c, budget=340)) == [("a", None), ("c", 40)]
    assert limits(choose(a, b, budget=340)) == [("a", None), ("b", 40)]


@pytest.mark.parametrize("settings", [{"enable_compression": False}, {"snippet_share": 0.0}])
def test_only_whole_packets_where_nothing_may_be_shortened(settings: dict[str, object]):
    selection = choose(
        packet("x" * 5_000, 0.9),
        packet("y" * 299, 0.8),
        packet("z" * 150, 0.7),
        budget=400,
        **settings,  # type: ignore[arg-type]
    )

    assert [(v.packet.content[0], v.limit) for v in selection.kept] == [("y", None)]
    assert [reason for _, reason in dropped(selection)] == [Reason.OVER_BUDGET] * 2


def test_packets_without_text_are_dropped_as_such():
    assert dropped(choose(packet(" \n", 0.9), packet("", 0.8))) == [(" \n", Reason.EMPTY), ("", Reason.EMPTY)]


def test_nothing_to_choose_from_is_nothing():
    selection = choose()

    assert (selection.kept, list(selection.dropped)) == ((), [])


# --- the state ---


def states(selection: Selection) -> list[tuple[str, int | None]]:
    return [(v.packet.content[0], v.limit) for v in selection.kept if v.source == "state"]


def test_the_state_stands_first_and_is_not_scored():
    selection = choose(packet("best", 1.0), history=TURNS[:1], state="step 2")

    assert kept(selection) == ["step 2", "turn 0", "best"]
    verdict = selection.kept[0]
    assert (verdict.reason, verdict.source) == (Reason.STATE, "state")
    assert verdict.relevance is verdict.recency is verdict.score is None


def test_all_of_the_state_together_keeps_to_its_share():
    # a state costs its length and two for the separator; 20 % of 1,000 are 200
    rest = [packet(f"{n}" * 99, 0.9) for n in range(8)]

    selection = choose(*rest, state=["a" * 98, "b" * 298, "c" * 98], budget=1_000)

    assert states(selection) == [("a", None), ("b", 100)]
    assert len(selection.kept) == 2 + 8
    assert dropped(selection) == [("c" * 98, Reason.OVER_BUDGET)]


def test_what_is_left_over_goes_to_the_state_first():
    selection = choose(packet("x" * 99, 0.9), state="s" * 498, budget=1_000)

    assert states(selection) == [("s", None)]


@pytest.mark.parametrize("length", [LEAST_SNIPPET - 2, 40])
def test_a_short_state_stands_even_where_its_share_is_tiny(length: int):
    assert states(choose(state="s" * length, budget=100)) == [("s", None)]


def test_without_compression_a_state_that_cannot_stand_whole_leaves_its_room_to_others():
    selection = choose(packet("fact", 0.9), state="s" * 5_000, budget=100, enable_compression=False)

    assert kept(selection) == ["fact"]
    assert dropped(selection) == [("s" * 5_000, Reason.OVER_BUDGET)]


# --- the budget ---


def test_the_reserve_is_kept_even_where_the_fixed_parts_need_less():
    request = Request.of("why?", now=NOW)
    counter = TokenCounter(len, name="characters")

    def budget(**settings: object) -> int:
        config = ContextConfig(max_tokens=10_000, **settings)  # type: ignore[arg-type]
        return select(Gathered(request=request), relevance=Scorer(), counter=counter, config=config).budget

    assert budget(reserve_ratio=0.5) == 5_000
    assert budget(reserve_ratio=0.2) == 8_000
    assert 8_000 < budget(reserve_ratio=0.0) < 10_000


def test_instructions_may_need_more_than_the_reserve():
    counter = TokenCounter(len, name="characters")
    config = ContextConfig(max_tokens=10_000)
    gathered = Gathered(request=Request.of("why?", system_instructions="x" * 5_000, now=NOW))

    assert select(gathered, relevance=Scorer(), counter=counter, config=config).budget < 5_000


def test_where_the_fixed_parts_exceed_the_limit_there_is_no_budget():
    counter = TokenCounter(len, name="characters")
    gathered = Gathered(request=Request.of("why?", custom_packets=[packet("x", 0.9)], now=NOW))

    selection = select(gathered, relevance=Scorer(), counter=counter, config=ContextConfig(max_tokens=5))

    assert (selection.budget, selection.kept) == (0, ())


def test_the_limit_may_depend_on_the_question():
    counter = TokenCounter(len, name="characters")
    config = ContextConfig(max_tokens=lambda question: 1_000 * len(question))
    gathered = Gathered(request=Request.of("why?", now=NOW))

    assert select(gathered, relevance=Scorer(), counter=counter, config=config).max_tokens == 4_000


# --- invariants ---

contents: Callable[[], st.SearchStrategy[str]] = lambda: st.one_of(  # noqa: E731
    st.text("ab ", max_size=60), st.sampled_from([LONG, LONG.lower(), "", "x" * 500])
)
any_packet = st.builds(
    ContextPacket,
    contents(),
    relevance_score=st.one_of(st.none(), st.floats(0, 1)),
    timestamp=st.one_of(st.none(), st.integers(-99, 99).map(lambda days: NOW - timedelta(days=days))),
    kind=st.sampled_from([Kind.EVIDENCE, Kind.MEMORY, Kind.OTHER, Kind.HISTORY]),
)


@given(
    st.lists(any_packet, max_size=12),
    st.lists(st.tuples(st.just("user"), contents()), max_size=8),
    st.lists(contents(), max_size=3),
    st.integers(0, 600),
    st.booleans(),
    st.sampled_from([0.0, 0.1, 0.9]),
)
def test_every_packet_is_in_exactly_one_place_and_the_kept_ones_fit(
    packets: list[ContextPacket],
    history: list[object],
    state: list[str],
    budget: int,
    compressing: bool,
    least: float,
):
    selection = choose(
        *packets,
        history=history,
        state=state,
        budget=budget,
        enable_compression=compressing,
        min_relevance=least,
        relevance=Scorer({LONG: 0.5}),
    )

    verdicts = [*selection.kept, *selection.dropped]
    assert len({(v.source, v.position) for v in verdicts}) == len(verdicts)
    assert len(verdicts) == len(packets) + len(history) + len([text for text in state if text.strip()])
    assert sum(v.limit if v.limit is not None else v.tokens or 0 for v in selection.kept) <= budget
    for verdict in selection.kept:
        assert verdict.packet.content.strip()
        assert verdict.reason in (Reason.SELECTED, Reason.RECENT_TURN, Reason.STATE)
        assert verdict.reason is not Reason.SELECTED or (verdict.relevance or 0.0) >= least
        assert verdict.limit is None or (compressing and verdict.limit >= LEAST)
    merged = [p for v in selection.kept for p in v.merged]
    doubles = [v.packet for v in selection.dropped if v.reason is Reason.DUPLICATE]
    assert sorted(map(id, merged)) == sorted(map(id, doubles))


def test_the_filling_may_stop_where_relevance_has_fallen_far_below_the_best():
    packets = [packet("best", 0.9), packet("good", 0.6), packet("poor", 0.2)]

    selection = choose(*packets, budget=100, stop_share=0.5)

    assert kept(selection) == ["best", "good"]
    assert dropped(selection) == [("poor", Reason.ENOUGH)]
