"""A question that alone exceeds the budget is an error, or is shortened where that was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline import BudgetError, ConfigError, ContextBuilder, ContextConfig, ContextPacket, Kind, Reason

PASTED = " ".join(f"Line {n} of a log says nothing of interest." for n in range(500))
QUESTION = f"Why does my program stop? {PASTED} Tell me why my program stops."


def builder(**options: object) -> ContextBuilder:
    return ContextBuilder(config=ContextConfig(**options), token_counter=len)  # type: ignore[arg-type]


def test_by_default_it_is_an_error_with_both_numbers():
    with pytest.raises(BudgetError) as caught:
        builder(max_tokens=1_000).build(QUESTION)

    assert caught.value.largest == "Task"
    assert caught.value.needed > 20_000


def test_shortened_it_keeps_its_beginning_and_end_is_marked_and_reported():
    packet = ContextPacket("A program stops when it ends.", kind=Kind.EVIDENCE)

    context = builder(max_tokens=1_000, shorten_question=True).build(QUESTION, custom_packets=[packet])

    question = context.request.question
    assert question.startswith("Why does my program stop?")
    assert question.endswith("Tell me why my program stops.")
    assert "…" in question
    assert question in context.text
    assert 800 < context.tokens <= 1_000
    assert context.shortened[0].reason is Reason.LONG_QUESTION
    assert context.shortened[0].packet.content == QUESTION
    assert "the question alone is too long" in context.explain()
    assert context.to_dict()


def test_a_question_that_fits_is_never_touched():
    context = builder(max_tokens=1_000, shorten_question=True).build("Why does my program stop?")

    assert context.request.question == "Why does my program stop?"
    assert context.shortened == ()


def test_instructions_are_never_shortened():
    with pytest.raises(BudgetError, match="Role & Policies"):
        builder(max_tokens=1_000, shorten_question=True).build("Why?", system_instructions="x" * 2_000)


@given(text=st.text(min_size=1, max_size=400).filter(str.strip), max_tokens=st.integers(1, 600))
def test_the_budget_holds_or_an_error_says_what_is_missing(text: str, max_tokens: int):
    try:
        context = builder(max_tokens=max_tokens, shorten_question=True).build(text)
    except BudgetError as error:
        assert error.needed > max_tokens
    else:
        assert context.tokens <= max_tokens


def test_it_is_true_or_false():
    with pytest.raises(ConfigError, match="shorten_question must be True or False"):
        ContextConfig(shorten_question=1)  # type: ignore[arg-type]
