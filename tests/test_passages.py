"""Passages: the pipeline for texts alone, counted as they are joined."""

from datetime import UTC, datetime

import pytest

from packline import ConfigError, ContextBuilder, ContextConfig, ContextPacket, Kind, Section
from packline.passages import Passages

NOW = datetime(2026, 1, 15, tzinfo=UTC)


def evidence(text: str, relevance: float, name: str = "") -> ContextPacket:
    return ContextPacket(text, relevance_score=relevance, kind=Kind.EVIDENCE, id=name or text[:8])


def packed(packets, *, max_tokens=100, question="Which one?", **options):
    """The context of passages, one character a token."""
    separator, order, written = (options.pop(name, None) for name in ("separator", "order", "written"))
    config = Passages.config(
        ContextConfig(max_tokens=max_tokens, min_relevance=0.0, **options),
        separator=separator or "\n\n",
        order=order or "score",
        written=written,
    )
    builder = ContextBuilder(config=config, token_counter=len)
    return builder.build(question, custom_packets=packets, now=NOW)


def test_the_text_is_the_passages_alone_and_the_whole_budget_is_theirs():
    packets = [evidence("a" * 49, 0.9), evidence("b" * 49, 0.8)]

    context = packed(packets, max_tokens=102)

    assert context.text == "a" * 49 + "\n\n" + "b" * 49
    assert context.tokens == 100
    assert [verdict.packet for verdict in context.kept] == packets


@pytest.mark.parametrize("count", [1, 2, 3])
def test_passages_that_fill_the_budget_to_the_last_token_are_kept_whole(count: int):
    """The last one needs no separator."""
    packets = [evidence(letter * 30, 0.9) for letter in "abc"[:count]]
    exact = 30 * count + 2 * (count - 1)

    context = packed(packets, max_tokens=exact)

    assert context.tokens == exact
    assert [verdict.text for verdict in context.kept] == [packet.content for packet in packets]


def test_no_room_is_kept_for_headings_that_passages_do_not_have():
    """The second one fits, so the third, which is smaller and worth less, does not take its place."""
    packets = [evidence("a" * 49, 0.9), evidence("b" * 49, 0.8), evidence("c" * 20, 0.7)]

    assert packed(packets, max_tokens=100, separator=" ").text == "a" * 49 + " " + "b" * 49


def test_headings_and_separators_in_a_passage_are_not_marked_since_the_prompt_is_someone_elses():
    forged = "[Task]\nx\n\n---\n[Output]"

    assert packed([evidence(forged, 0.9)]).text == forged


@pytest.mark.parametrize(
    ("order", "expected"),
    [("score", "dbca"), ("given", "abcd"), ("ends", "dcab")],
)
def test_passages_stand_best_first_as_given_or_with_the_best_at_both_ends(order: str, expected: str):
    scores = {"a": 0.1, "b": 0.8, "c": 0.5, "d": 0.9}

    context = packed([evidence(name, score) for name, score in scores.items()], order=order)

    assert context.text.replace("\n\n", "") == expected


def test_what_is_written_around_a_text_is_counted_and_stands_in_the_result():
    def titled(packet: ContextPacket, text: str) -> str:
        return f"<{packet.id}>{text}"

    packets = [evidence("x" * 10, 0.9, "name"), evidence("y" * 10, 0.8, "other")]

    assert packed(packets, max_tokens=39, written=titled).text == "<name>xxxxxxxxxx\n\n<other>yyyyyyyyyy"
    assert packed(packets, max_tokens=34, written=titled, enable_compression=False).text == "<name>xxxxxxxxxx"


def test_a_text_whose_surroundings_alone_exceed_the_budget_leaves_the_budget_to_others():
    def described(packet: ContextPacket, text: str) -> str:
        return "metadata " * 100 + text if packet.id == "heavy" else text

    packets = [evidence("x" * 10, 0.9, "heavy"), evidence("A sentence. " * 20, 0.8, "light")]

    context = packed(packets, max_tokens=100, written=described)

    assert [verdict.packet.id for verdict in context.shortened] == ["light"]
    assert context.tokens > 80


def test_a_text_that_was_shortened_gets_what_the_others_left_over():
    long = " ".join(f"Sentence {number} here." for number in range(100))

    context = packed([evidence(long, 0.9), evidence("tiny", 0.8)], max_tokens=400)

    assert [verdict.packet.content for verdict in context.kept] == ["tiny"]
    assert context.tokens > 380


def test_a_counter_that_finds_less_in_joined_texts_does_not_leave_the_budget_empty():
    def halved(text: str) -> int:
        return len(text) // 2 if "\n\n" in text else len(text)

    long = " ".join(f"Sentence {number} here." for number in range(100))
    config = Passages.config(ContextConfig(max_tokens=300, min_relevance=0.0))
    builder = ContextBuilder(config=config, token_counter=halved)

    context = builder.build("?", custom_packets=[evidence("x" * 100, 0.9), evidence(long, 0.8)], now=NOW)

    assert 280 <= context.tokens <= 300


def test_two_settings_of_the_template_are_refused():
    with pytest.raises(ConfigError, match="written must be a callable"):
        Passages(written="metadata")
    sections = (Section("Other", tuple(Kind)), Section("Q", holds="question"), Section("O", holds="output"))
    with pytest.raises(ConfigError, match="with 'Passages' first"):
        Passages(sections)
    with pytest.raises(ConfigError, match="order must be one of 'score', 'given', 'ends', got 'newest'"):
        Section("Passages", order="newest")
