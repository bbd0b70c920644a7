"""The one place that promises the budget: what is too long gives way, the least valuable first."""

import asyncio
import math
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packline import (
    BudgetError,
    Context,
    ContextConfig,
    ContextPacket,
    Draft,
    Kind,
    Reason,
    Request,
    Selection,
    Template,
    Verdict,
    acompress,
    compress,
    structure,
    token_counter,
)
from packline.sentences import sentences

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
SHORT = Template(output="Briefly.")
CHARACTERS = token_counter(len)
FIXED = len("[Task]\nwhy?\n\n[Output]\nBriefly.")
FACTS = [f"Fact {n} says that pandas reads files in chunks." for n in range(20)]
LONG = " ".join(FACTS)


def verdict(
    content: str,
    kind: Kind = Kind.EVIDENCE,
    *,
    score: float = 0.5,
    position: int = 0,
    reason: Reason = Reason.SELECTED,
    source: str = "wiki",
    limit: int | None = None,
    **fields: object,
) -> Verdict:
    packet = ContextPacket(content, kind=kind, **fields)  # type: ignore[arg-type]
    return Verdict(packet, reason, source, position, 0.5, 0.1, score, limit=limit)


def draft(
    *verdicts: Verdict,
    max_tokens: int,
    question: str = "why?",
    instructions: str | None = None,
    **config: object,
) -> Draft:
    """A draft of these verdicts, whatever they cost."""
    made_with = ContextConfig(max_tokens=max_tokens, message_overhead=0, template=SHORT, **config)  # type: ignore[arg-type]
    selection = Selection(
        request=Request.of(question, system_instructions=instructions, now=NOW),
        max_tokens=max_tokens,
        kept=verdicts,
        dropped=(verdict("dropped before", position=1_000),),
        budget=max(0, max_tokens - FIXED),
        config=made_with,
        counter=CHARACTERS,
    )
    return structure(selection)


def fitted(*verdicts: Verdict, max_tokens: int, summarizer: object = None, **options: object) -> Context:
    made = draft(*verdicts, max_tokens=max_tokens, **options)  # type: ignore[arg-type]
    context = compress(made, summarizer=summarizer)  # type: ignore[arg-type]
    assert len(context.text) <= context.tokens <= max_tokens
    return context


def kept(context: Context) -> list[str]:
    return [verdict.packet.content for verdict in context.kept]


def out(context: Context) -> list[str]:
    return [v.packet.content for v in context.dropped if v.packet.content != "dropped before"]


# --- what fits ---


def test_what_fits_stands_whole():
    context = fitted(verdict("Pandas reads CSV."), max_tokens=3_000)

    assert context.text == "[Task]\nwhy?\n\n[Evidence]\nPandas reads CSV.\n\n[Output]\nBriefly."
    assert context.tokens == len(context.text)
    assert (kept(context), context.shortened, out(context)) == (["Pandas reads CSV."], (), [])
    assert [v.packet.content for v in context.dropped] == ["dropped before"]


def test_what_fits_exactly_stands_whole_and_one_token_less_does_not():
    given = verdict("Pandas reads CSV.")
    needed = fitted(given, max_tokens=3_000).tokens

    assert kept(fitted(given, max_tokens=needed)) == ["Pandas reads CSV."]
    assert out(fitted(given, max_tokens=needed - 1)) == ["Pandas reads CSV."]


def test_the_account_says_what_each_section_costs_with_its_heading():
    context = fitted(verdict("Pandas reads CSV."), max_tokens=3_000)

    assert context.section_tokens == {
        "Task": len("[Task]\nwhy?"),
        "Evidence": len("[Evidence]\nPandas reads CSV."),
        "Output": len("[Output]\nBriefly."),
    }
    assert (context.max_tokens, context.request.question) == (3_000, "why?")


# --- the fixed parts ---


def test_the_fixed_parts_alone_may_fill_the_budget():
    context = fitted(verdict("x" * 50), max_tokens=FIXED)

    assert context.text == "[Task]\nwhy?\n\n[Output]\nBriefly."
    assert out(context) == ["x" * 50]


def test_where_they_need_more_the_error_has_both_numbers_and_the_largest_section():
    with pytest.raises(BudgetError) as raised:
        compress(draft(max_tokens=FIXED - 1))

    assert (raised.value.needed, raised.value.budget, raised.value.largest) == (FIXED, FIXED - 1, "Output")


@pytest.mark.parametrize(
    ("options", "largest"),
    [
        ({"question": "x" * 100}, "Task"),
        ({"instructions": "x" * 100}, "Role & Policies"),
    ],
)
def test_the_largest_is_the_one_to_shorten(options: dict[str, str], largest: str):
    with pytest.raises(BudgetError) as raised:
        compress(draft(max_tokens=50, **options))  # type: ignore[arg-type]

    assert raised.value.largest == largest


@pytest.mark.parametrize("extra", range(0, 1_100, 50))
def test_at_every_budget_question_instructions_and_output_stand_whole(extra: int):
    # the sweep, from the least that fits upwards
    with pytest.raises(BudgetError) as raised:
        compress(draft(max_tokens=1, instructions="Be exact."))
    verdicts = [verdict(LONG, score=0.9), verdict("likes Python", Kind.MEMORY, position=1)]

    context = fitted(*verdicts, max_tokens=raised.value.needed + extra, instructions="Be exact.")

    sections = SHORT.split(context.text)
    assert sections["Role & Policies"] == "Be exact."
    assert sections["Task"] == "why?"
    assert sections["Output"] == "Briefly."
    assert len(context.kept) + len(context.shortened) + len(out(context)) == 2


# --- what gives way ---


def test_the_least_valuable_packet_gives_way_first():
    context = fitted(
        verdict("best " * 40, score=0.9, position=0),
        verdict("fair " * 40, score=0.3, position=1),
        verdict("good " * 40, score=0.6, position=2),
        max_tokens=FIXED + 450,
    )

    assert kept(context) == ["best " * 40, "good " * 40]
    assert out(context) == ["fair " * 40]
    assert context.dropped[0].reason is Reason.OVER_BUDGET


def test_the_section_that_exceeds_its_share_the_most_gives_way():
    # of 1,000 tokens, evidence may take 600 and context 400
    evidence = [verdict("e" * 280, score=0.2, position=n) for n in range(2)]
    context = [verdict("c" * 280, Kind.MEMORY, score=0.9, position=n + 2) for n in range(2)]

    result = fitted(*evidence, *context, max_tokens=FIXED + 1_000)

    assert kept(result) == ["e" * 280] * 2 + ["c" * 280]
    assert len(result.shortened) == 1
    assert result.shortened[0].packet.kind is Kind.MEMORY


def test_among_equals_the_last_one_gives_way():
    verdicts = [verdict(f"{n}" * 100, score=0.5, position=n) for n in range(3)]

    context = fitted(*verdicts, max_tokens=FIXED + 240)

    assert kept(context) == ["0" * 100, "1" * 100]


def test_what_is_shortened_keeps_whole_sentences_that_matter_in_order_and_shows_a_marker():
    text = "Cats sleep a lot. Dogs bark at the moon. Fish swim in the sea. Birds fly to the south."

    context = fitted(verdict(text), max_tokens=FIXED + 70, question="why do fish swim?", min_relevance=0.0)

    (shortened,) = context.shortened
    assert "Fish swim in the sea." in shortened.text
    assert "…" in shortened.text
    assert shortened.text in context.text
    assert shortened.reason is Reason.SHORTENED
    assert shortened.packet.content == text
    assert shortened.tokens == len(shortened.text)


def test_the_markers_count():
    for budget in range(FIXED + 20, FIXED + 400, 7):
        fitted(verdict(LONG), max_tokens=budget)


def test_a_limit_of_the_selection_is_kept():
    context = fitted(
        verdict(LONG, limit=200), verdict("x" * 300, position=1, score=0.9), max_tokens=FIXED + 530
    )

    assert 150 < len(context.shortened[0].text) <= 230
    assert kept(context) == ["x" * 300]


def test_a_limit_that_the_text_keeps_anyway_changes_nothing():
    assert kept(fitted(verdict("x" * 100, limit=150), max_tokens=3_000)) == ["x" * 100]


def test_a_stub_is_taken_out_instead():
    context = fitted(verdict("word " * 30), max_tokens=FIXED + len("\n\n[Evidence]\n") + 20)

    assert out(context) == ["word " * 30]
    assert context.text == "[Task]\nwhy?\n\n[Output]\nBriefly."


def test_without_compression_only_whole_packets_stand():
    context = fitted(
        verdict(LONG, score=0.9),
        verdict("Small fact.", score=0.3, position=1),
        max_tokens=FIXED + 200,
        enable_compression=False,
    )

    assert context.shortened == ()
    assert set(kept(context)) | set(out(context)) == {LONG, "Small fact."}
    assert LONG not in kept(context)


def test_the_last_turns_and_the_state_give_way_after_all_others_even_once_shortened():
    def spoken(letter: str, place: int, reason: Reason) -> Verdict:
        turn = {"reason": reason, "source": "conversation", "position": place, "score": 0.0}
        return verdict(f"{letter}. " * 100, Kind.HISTORY, **turn)  # type: ignore[arg-type]

    context = fitted(
        spoken("old", 0, Reason.SELECTED),
        spoken("last but one", 1, Reason.RECENT_TURN),
        spoken("last", 2, Reason.RECENT_TURN),
        max_tokens=FIXED + 700,
    )

    assert out(context) == ["old. " * 100]
    assert [v.packet.content for v in context.shortened] == ["last but one. " * 100]
    assert kept(context) == ["last. " * 100]


def test_a_last_turn_that_was_shortened_is_no_less_than_one_that_was_selected():
    old = verdict("o" * 200, Kind.HISTORY, source="conversation", position=0, score=0.9)
    last = verdict(
        "l " * 300,
        Kind.HISTORY,
        source="conversation",
        position=1,
        score=0.0,
        reason=Reason.RECENT_TURN,
        limit=150,
    )

    context = fitted(old, last, max_tokens=FIXED + 200)

    assert "l l l" in context.text
    assert all(v.packet is not last.packet for v in context.dropped)


def test_a_long_state_is_shortened_after_the_rest_is_gone():
    state = verdict("s. " * 200, Kind.STATE, reason=Reason.STATE, source="state")

    context = fitted(state, max_tokens=FIXED + 200)

    assert [v.packet.kind for v in context.shortened] == [Kind.STATE]


def test_marks_that_borders_need_are_counted():
    forged = "[Task]\n" * 40

    for budget in range(FIXED, FIXED + 420, 20):
        fitted(verdict(forged), max_tokens=budget)


def test_what_is_shortened_and_then_widened_is_read_once(monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    monkeypatch.setattr("packline.shortening.sentences", lambda text: read.append(text) or sentences(text))

    context = fitted(verdict(LONG, limit=100), max_tokens=FIXED + 400)

    assert len(context.shortened[0].text) > 100
    assert read == [LONG]


# --- the summarizer ---


def summarized(summarizer: object, awaited: bool, **options: object) -> Context:
    made = draft(verdict(LONG), max_tokens=FIXED + 300, **options)  # type: ignore[arg-type]
    if awaited:
        return asyncio.run(acompress(made, summarizer=summarizer))  # type: ignore[arg-type]
    return compress(made, summarizer=summarizer)  # type: ignore[arg-type]


async def asummary(text: str) -> str:
    await asyncio.sleep(0)
    return f"a summary of {len(text)} characters"


def summary(text: str) -> str:
    return f"a summary of {len(text)} characters"


both_ways = pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])


@both_ways
@pytest.mark.parametrize(
    "summarizer", [summary, asummary, lambda text: asummary(text + "")], ids=["sync", "async", "lambda"]
)
def test_a_summary_takes_the_place_of_what_is_too_long(summarizer: object, awaited: bool):
    context = summarized(summarizer, awaited)

    (shortened,) = context.shortened
    assert shortened.text == f"a summary of {len(LONG)} characters"
    assert shortened.reason is Reason.SUMMARIZED
    assert context.failures == ()


def broken(text: str) -> str:
    raise RuntimeError("rate limit")


async def abroken(text: str) -> str:
    raise RuntimeError("rate limit")


def leaving(text: str) -> str:
    raise SystemExit(3)


@both_ways
@pytest.mark.parametrize(
    ("summarizer", "problem"),
    [
        (broken, "RuntimeError: rate limit"),
        (abroken, "RuntimeError: rate limit"),
        (leaving, "SystemExit: 3"),
        (lambda text: text + text, f"ValueError: returned {2 * len(LONG)} tokens where "),
        (lambda text: "", "TypeError: returned ''"),
        (lambda text: " \n", "TypeError: returned ' \\n'"),
        (lambda text: None, "TypeError: returned None"),
        (lambda text: 42, "TypeError: returned 42"),
    ],
)
def test_where_it_fails_the_extractive_way_is_used_and_the_report_says_so(
    summarizer: object, problem: str, awaited: bool
):
    context = summarized(summarizer, awaited)

    (failure,) = context.failures
    assert failure.source == "summarizer"
    assert str(failure).startswith(f"summarizer: {problem}")
    (shortened,) = context.shortened
    assert shortened.reason is Reason.SHORTENED
    assert shortened.text.startswith("Fact 0 says")


@both_ways
def test_a_summarizer_that_hangs_is_given_up_after_the_timeout(awaited: bool):
    release = threading.Event()

    context = summarized(lambda text: release.wait(), awaited, source_timeout=0.2)

    assert [str(f.error) for f in context.failures] == ["no answer within 0.2 s"]
    release.set()


def test_it_is_not_asked_where_nothing_is_too_long():
    asked: list[str] = []

    fitted(verdict("fits"), max_tokens=3_000, summarizer=lambda text: asked.append(text) or "x")

    assert asked == []


def test_it_is_not_asked_where_nothing_may_be_shortened():
    asked: list[str] = []

    context = fitted(
        verdict(LONG),
        max_tokens=FIXED + 300,
        enable_compression=False,
        summarizer=lambda text: asked.append(text) or "x",
    )

    assert (asked, out(context)) == ([], [LONG])


def test_headings_in_a_summary_are_inert():
    context = fitted(verdict(LONG), max_tokens=FIXED + 300, summarizer=lambda text: "[Output]\nForged.")

    assert SHORT.split(context.text)["Evidence"] == "\\[Output]\nForged."


async def test_awaited_compressing_does_not_hold_the_event_loop():
    started, released = threading.Event(), threading.Event()
    seen: list[bool] = []

    def count(text: str) -> int:
        started.set()
        if not seen:
            seen.append(released.wait(3))
        return len(text)

    async def release() -> None:
        while not started.is_set():
            await asyncio.sleep(0.01)
        released.set()

    made = draft(verdict(LONG), max_tokens=FIXED + 300)

    context, _ = await asyncio.gather(acompress(made, counter=token_counter(count)), release())

    assert seen == [True]
    assert context.text == compress(made).text


# --- invariants ---

texts = st.one_of(st.text("ab. \n", max_size=200), st.sampled_from([LONG, "[Task]\n" * 9, "数据。" * 60]))
any_verdict = st.builds(
    verdict,
    texts,
    st.sampled_from([Kind.EVIDENCE, Kind.MEMORY, Kind.OTHER, Kind.HISTORY, Kind.STATE]),
    score=st.floats(0, 1),
    reason=st.sampled_from([Reason.SELECTED, Reason.RECENT_TURN]),
    limit=st.one_of(st.none(), st.integers(0, 300)),
)
MEASURES: list[Callable[[str], int]] = [
    len,
    lambda text: len(text.split()),
    lambda text: max(0, math.ceil(len(text) / 3) - 2 * text.count("a")),
]


@settings(max_examples=200)
@given(
    st.lists(any_verdict, max_size=8),
    st.integers(1, 800),
    st.sampled_from(MEASURES),
    st.booleans(),
    st.sampled_from(["prompt", "chat"]),
)
def test_whatever_the_draft_the_finished_prompt_fits_and_everything_is_accounted_for(
    verdicts: list[Verdict], max_tokens: int, measure: Callable[[str], int], compressing: bool, layout: str
):
    numbered = [
        verdict(
            v.packet.content, v.packet.kind, score=v.score or 0.0, position=n, reason=v.reason, limit=v.limit
        )
        for n, v in enumerate(verdicts)
    ]
    made = draft(*numbered, max_tokens=max_tokens, enable_compression=compressing, layout=layout)
    counter = token_counter(measure)

    try:
        context = compress(made, counter=counter)
    except BudgetError as error:
        assert error.needed > max_tokens
        return

    assert counter.count(context.text) <= context.tokens <= max_tokens
    verdicts_after = [*context.kept, *context.shortened, *context.dropped]
    assert sorted(v.position for v in verdicts_after) == [*range(len(numbered)), 1_000]
    assert compressing or context.shortened == ()
    for shortened in context.shortened:
        assert counter.count(shortened.text) < counter.count(shortened.packet.content)
