"""The book's example: a question on Pandas, with a conversation, two memories and two passages."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from packline import BudgetError, Context, ContextBuilder, ContextConfig, ContextPacket, Kind
from packline.template import Template

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
QUESTION = "How do I optimise the memory usage of Pandas?"
INSTRUCTIONS = (
    "You are a senior data engineering consultant. Answer with steps that can be run, give reasons, and say "
    "so when something is not known."
)
TURNS = (
    ("user", "I am building a data analysis tool."),
    ("assistant", "Good. Which language and which libraries is the tool to be written with?"),
    ("user", "Python and Pandas. Reading the CSV files works already."),
    ("assistant", "Then the next thing to look at is the memory usage of Pandas with large files."),
)
MEMORIES = (
    "The user's tool loads sales files of about 2 GB into Pandas, and runs out of memory.",
    "The user's laptop has 8 GB of memory, and Pandas often fills it.",
)
PASSAGES = (
    (
        "Narrow types: Pandas stores whole numbers as int64 and decimals as float64, whatever the values "
        "need. pd.to_numeric(column, downcast='integer') finds the smallest type that holds them. Text "
        "columns with few distinct values take far less memory as the category type. Together these often "
        "cut the memory usage of a frame to a third."
    ),
    (
        "Reading in pieces: name only the needed columns in usecols of pd.read_csv. Where the file is still "
        "too large, pass chunksize and aggregate piece by piece, so that Pandas never holds the whole file "
        "in memory. DataFrame.memory_usage(deep=True) shows what each column takes, text included."
    ),
)


@dataclass
class Tool:
    """A tool with the book's interface: `run({"action": "search", ...})`."""

    name: str
    texts: tuple[str, ...]

    def run(self, request: dict[str, object]) -> list[dict[str, object]]:
        assert request["action"] == "search"
        assert request["query"] == QUESTION
        return [{"content": text} for text in self.texts]


def build(max_tokens: int = 3000, **options: object) -> Context:
    """The example with a budget."""
    builder = ContextBuilder(
        config=ContextConfig(max_tokens=max_tokens, **options),  # type: ignore[arg-type]
        sources=[Tool("rag", PASSAGES), Tool("memory", MEMORIES)],
    )
    return builder.build(
        QUESTION,
        conversation_history=[{"role": role, "content": text} for role, text in TURNS],
        system_instructions=INSTRUCTIONS,
        now=NOW,
    )


def test_all_nine_items_stand_in_their_sections_in_their_order():
    context = build()

    sections = Template().split(context.text)
    assert list(sections) == ["Role & Policies", "Task", "Evidence", "Context", "Output"]
    assert sections["Role & Policies"] == INSTRUCTIONS
    assert sections["Task"] == QUESTION
    assert sorted(sections["Evidence"].split("\n---\n")) == sorted(PASSAGES)
    lines = sections["Context"].split("\n")
    assert lines[:4] == [f"{role}: {text}" for role, text in TURNS]
    assert sorted(lines[4:]) == sorted(f"Memory: {text}" for text in MEMORIES)
    assert sections["Output"] == Template().output


def test_all_items_are_accounted_for_as_kept():
    context = build()

    assert (len(context.kept), context.shortened, list(context.dropped), context.failures) == (8, (), [], ())
    assert {verdict.source for verdict in context.kept} == {"conversation", "rag", "memory"}
    assert context.request.instructions == (INSTRUCTIONS,)


def test_the_books_packets_fill_the_same_prompt_as_its_tools():
    packets = [
        *(ContextPacket(text, metadata={"type": "rag_result"}) for text in PASSAGES),
        *(ContextPacket(text, metadata={"type": "memory"}) for text in MEMORIES),
        ContextPacket(INSTRUCTIONS, metadata={"type": "system_instruction"}),
    ]

    context = ContextBuilder().build(
        user_query=QUESTION, conversation_history=TURNS, custom_packets=packets, now=NOW
    )

    assert context.text == build().text


def test_the_conversation_keeps_its_order_whatever_the_scores():
    packets = [
        ContextPacket(text, kind=Kind.HISTORY, relevance_score=score, timestamp=NOW - timedelta(days=days))
        for (_, text), score, days in zip(TURNS, (0.2, 0.9, 0.4, 0.7), (1, 40, 3, 2), strict=True)
    ]

    context = ContextBuilder(config=ContextConfig(recent_turns=0)).build(
        QUESTION, conversation_history=packets, now=NOW
    )

    assert Template().split(context.text)["Context"] == "\n".join(text for _, text in TURNS)


@pytest.mark.parametrize("enable_compression", [True, False])
def test_question_instructions_and_output_stand_at_every_budget_from_the_least_that_fits(
    enable_compression: bool,
):
    with pytest.raises(BudgetError) as refused:
        build(1)
    least = refused.value.needed
    whole = build().tokens

    for budget in range(least, whole + 40):
        context = build(budget, enable_compression=enable_compression)
        sections = Template().split(context.text)
        assert context.tokens <= budget
        assert sections["Role & Policies"] == INSTRUCTIONS
        assert sections["Task"] == QUESTION
        assert sections["Output"] == Template().output
        assert len(context.kept) + len(context.shortened) + len(context.dropped) == 8
    with pytest.raises(BudgetError, match=f"need {least} tokens but the budget is {least - 1}"):
        build(least - 1)


def test_more_budget_never_keeps_less():
    whole = build().tokens

    kept = [len(build(budget, enable_compression=False).kept) for budget in range(whole - 60, whole + 60, 5)]

    assert kept[-1] == 8
    assert kept[0] < 8
