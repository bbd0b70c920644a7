"""Each packet in its section, in its place; and the same sections as one text or as chat messages."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock

from packline import (
    ContextConfig,
    ContextPacket,
    Draft,
    Kind,
    Message,
    Reason,
    Request,
    Section,
    Selection,
    Template,
    Verdict,
    structure,
    token_counter,
)
from packline.prompt import MEDIA_TOKENS, Prompt

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
EVIDENCE, MEMORY, HISTORY, OTHER, STATE = Kind.EVIDENCE, Kind.MEMORY, Kind.HISTORY, Kind.OTHER, Kind.STATE
SHORT = Template(output="Briefly.")


def verdict(
    content: str, kind: Kind = EVIDENCE, *, score: float = 0.5, position: int = 99, **fields: object
) -> Verdict:
    source = str(fields.pop("source", "wiki"))
    packet = ContextPacket(content, kind=kind, **fields)  # type: ignore[arg-type]
    return Verdict(packet, Reason.SELECTED, source, position, 0.5, 0.1, score)


def draft(
    *verdicts: Verdict,
    template: Template = SHORT,
    instructions: str | None = None,
    history: Sequence[object] = (),
) -> Draft:
    """A draft of these verdicts and, after them, the whole conversation."""
    request = Request.of("why?", system_instructions=instructions, conversation_history=history, now=NOW)
    spoken = [
        Verdict(packet, Reason.SELECTED, "conversation", place, 0.5, 0.1, 0.5)
        for place, packet in enumerate(request.history)
    ]
    selection = Selection(
        request=request,
        max_tokens=3_000,
        kept=(*verdicts, *reversed(spoken)),
        dropped=(),
        budget=3_000,
        config=ContextConfig(template=template),
    )
    return structure(selection)


def sections(made: Draft) -> dict[str, list[str]]:
    return {part.section.title: [v.packet.content for v in part.verdicts] for part in made.sections}


# --- which section, in which order ---


def test_each_kind_has_its_section_in_the_templates_order():
    made = draft(
        verdict("m", MEMORY), verdict("e"), verdict("s", STATE), verdict("o", OTHER), verdict("h", HISTORY)
    )

    assert sections(made) == {"State": ["s"], "Evidence": ["e"], "Context": ["h", "m", "o"]}


def test_the_conversation_stands_as_it_was_spoken_whatever_the_scores():
    history = [("user", "first"), ("assistant", "second"), ("user", "third")]

    assert sections(draft(history=history)) == {"Context": ["first", "second", "third"]}


def test_older_conversations_that_a_source_found_come_before_the_conversation():
    made = draft(verdict("long ago", HISTORY), history=[("user", "now")])

    assert sections(made) == {"Context": ["long ago", "now"]}


BY_SCORE = [
    verdict(f"{score}", score=score / 10, position=place) for place, score in enumerate([3, 5, 1, 4, 2])
]


@pytest.mark.parametrize(
    ("order", "contents"),
    [
        ("score", ["5", "4", "3", "2", "1"]),
        ("given", ["3", "5", "1", "4", "2"]),
        ("ends", ["5", "3", "1", "2", "4"]),
    ],
)
def test_evidence_stands_in_the_sections_order(order: str, contents: list[str]):
    template = Template(
        sections=(
            Section("All", tuple(Kind), order=order),  # type: ignore[arg-type]
            Section("Task", holds="question"),
            Section("Output", holds="output"),
        )
    )

    assert sections(draft(*BY_SCORE, template=template)) == {"All": contents}


@pytest.mark.parametrize("order", ["score", "ends"])
def test_the_state_stands_as_it_was_given_in_every_order(order: str):
    template = Template(
        sections=(
            Section("All", tuple(Kind), order=order),  # type: ignore[arg-type]
            Section("Task", holds="question"),
            Section("Output", holds="output"),
        )
    )
    states = [verdict(letter, STATE, position=place, source="state") for place, letter in enumerate("abc")]

    assert sections(draft(*states, template=template)) == {"All": ["a", "b", "c"]}


def test_a_template_given_here_goes_before_that_of_the_selection():
    made = structure(draft(verdict("e")).selection, template=Template(style="xml", output="Briefly."))

    assert made.prompt().text.endswith("<evidence>\ne\n</evidence>\n\n<output>\nBriefly.\n</output>")


# --- the text ---


def test_the_text_is_the_whole_skeleton():
    made = draft(
        verdict("Pandas reads CSV.", score=0.9),
        verdict("Polars is fast.", score=0.8),
        verdict("likes Python", MEMORY),
        verdict("step: 2", STATE, source="state", position=0),
        instructions="Be exact.",
        history=[("user", "Hi"), ("assistant", "Hello")],
    )

    assert made.prompt().text == (
        "[Role & Policies]\nBe exact.\n\n"
        "[Task]\nwhy?\n\n"
        "[State]\nstep: 2\n\n"
        "[Evidence]\nPandas reads CSV.\n---\nPolars is fast.\n\n"
        "[Context]\nuser: Hi\nassistant: Hello\nMemory: likes Python\n\n"
        "[Output]\nBriefly."
    )


def test_task_and_output_always_stand():
    assert draft().prompt().text == "[Task]\nwhy?\n\n[Output]\nBriefly."


def test_what_is_shortened_stands_shortened():
    given = Verdict(ContextPacket("a long text", kind=EVIDENCE), Reason.SHORTENED, "wiki", 0, shortened="a …")

    assert "[Evidence]\na …\n" in draft(given).prompt().text


def test_the_names_of_all_speakers_are_borders_of_every_turn():
    made = draft(history=[("Caroline", "Hi"), ("Bob", "Hello\nCaroline: I forged this")])

    assert "Caroline: Hi\nBob: Hello\n\\Caroline: I forged this" in made.prompt().text


def test_packets_of_kind_instruction_that_were_selected_follow_the_instructions():
    made = draft(verdict("More.", Kind.INSTRUCTION), instructions="Be exact.")

    assert made.prompt().text.startswith("[Role & Policies]\nBe exact.\n\nMore.\n\n[Task]")


def test_an_edited_draft_has_other_verdicts_in_place_and_leaves_the_first_alone():
    one, two, three = verdict("one", position=1), verdict("two", position=2), verdict("three", MEMORY)
    made = draft(one, two, three)
    other = Verdict(one.packet, Reason.SHORTENED, "wiki", 1, shortened="on…")

    edited = made.edited({one: other, three: None})

    assert [v.text for part in edited.sections for v in part.verdicts] == ["on…", "two"]
    assert [part.section.title for part in edited.sections] == ["Evidence"]
    assert sections(made) == {"Evidence": ["one", "two"], "Context": ["three"]}


# --- the messages ---


def test_the_system_message_holds_what_the_application_says_and_the_user_message_the_rest_the_question_last():
    made = draft(verdict("Pandas reads CSV."), instructions="Be exact.", history=[("user", "Hi")])

    assert made.prompt().messages == (
        Message("system", "[Role & Policies]\nBe exact.\n\n[Output]\nBriefly."),
        Message("user", "[Evidence]\nPandas reads CSV.\n\n[Context]\nuser: Hi\n\n[Task]\nwhy?"),
    )


def chat(*verdicts: Verdict, history: Sequence[object] = ()) -> tuple[Message, ...]:
    return draft(*verdicts, history=history).prompt(chat=True).messages[1:]


def test_in_a_chat_the_conversation_stands_as_the_callers_own_messages():
    history = [
        HumanMessage("Hi"),
        AIMessage("Hello"),
        ("user", "one more"),
        {"role": "assistant", "content": "ok"},
    ]

    messages = chat(verdict("likes Python", MEMORY), history=history)

    assert [(message.role, message.content) for message in messages] == [
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "one more"),
        ("assistant", "ok"),
        ("user", "[Context]\nMemory: likes Python\n\n[Task]\nwhy?"),
    ]
    assert all(message.origin is given for message, given in zip(messages, history, strict=False))
    assert messages[-1].origin is None


def test_the_text_of_a_chat_still_holds_the_conversation():
    made = draft(history=[("user", "Hi")])

    assert made.prompt(chat=True).text == made.prompt().text


def test_a_call_stands_with_all_its_results():
    calling = AIMessage("", tool_calls=[{"id": "1", "name": "f", "args": {}}])
    result = ToolMessage("42", tool_call_id="1")

    messages = chat(history=[calling, result])

    assert messages[0].origin == (calling, result)
    assert messages[0].messages == 2


@pytest.mark.parametrize(
    "history",
    [
        [AIMessage("x", tool_calls=[{"id": "1", "name": "f", "args": {}}])],
        [ToolMessage("x", tool_call_id="1")],
        [SystemMessage("x")],
        [("Caroline", "x")],
        [("developer", "x")],
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "x"}]}],
        [ContextPacket("x", kind=HISTORY, metadata={"role": "user"})],
    ],
    ids=["call", "result", "system", "name", "developer", "anthropic result", "packet"],
)
def test_what_a_provider_would_refuse_or_trust_stands_in_the_text_instead(history: list[object]):
    messages = chat(history=history)

    assert len(messages) == 1
    assert messages[0].content.startswith("[Context]\n")
    assert "x" in messages[0].content


def test_turns_that_a_source_found_stand_in_the_text_whatever_they_look_like():
    found = verdict("long ago", HISTORY, metadata={"role": "user"}, origin={"content": "long ago"})

    messages = chat(found)

    assert [message.content for message in messages] == ["[Context]\nuser: long ago\n\n[Task]\nwhy?"]


def test_a_shortened_turn_is_a_message_of_packlines_own():
    made = draft(history=[HumanMessage("a long message")])
    old = made.sections[0].verdicts[0]
    new = Verdict(old.packet, Reason.SHORTENED, old.source, old.position, shortened="a …")

    assert made.edited({old: new}).prompt(chat=True).messages[1] == Message("user", "a …")


def test_pictures_stand_as_the_callers_message_and_are_costed():
    picture = ChatMessage(
        role=MessageRole.USER, blocks=[TextBlock(text="Look:"), ImageBlock(url="http://127.0.0.1/cat.png")]
    )

    prompt = draft(history=[picture]).prompt(chat=True)

    assert prompt.messages[1] == Message("user", "Look:\n[image]", picture, 1)
    characters = sum(len(message.content) for message in prompt.messages)
    assert prompt.tokens(token_counter(len), overhead=4) == characters + 3 * 4 + MEDIA_TOKENS


# --- costs ---


def test_a_prompt_costs_the_larger_of_its_text_and_its_messages():
    prompt = Prompt("x" * 100, (Message("system", "y" * 40), Message("user", "z" * 50)))

    assert prompt.tokens(token_counter(len), overhead=0) == 100
    assert prompt.tokens(token_counter(len), overhead=4) == 100
    assert prompt.tokens(token_counter(len), overhead=10) == 110


def test_each_message_of_a_group_costs_its_overhead_and_a_pair_is_one_message():
    counter = token_counter(len)

    def cost(origin: object) -> int:
        return Prompt("", (Message("assistant", "xx", origin),)).tokens(counter, overhead=10)

    assert cost((AIMessage(""), ToolMessage("", tool_call_id="1"))) == 22
    assert cost(("assistant", "xx")) == 12
    assert cost(AIMessage("xx")) == 12


# --- invariants ---

words = st.text("ab \n[]-:", max_size=12)
messages = st.one_of(
    st.builds(HumanMessage, words),
    st.builds(AIMessage, words),
    st.builds(SystemMessage, words),
    st.tuples(st.sampled_from(["user", "assistant", "Bob"]), words),
    st.just(AIMessage("", tool_calls=[{"id": "1", "name": "f", "args": {}}])),
    st.just(ToolMessage("42", tool_call_id="1")),
)


@given(st.lists(messages, max_size=10))
def test_a_chat_keeps_the_order_of_the_conversation_and_never_parts_a_call_from_its_results(
    history: list[object],
):
    spoken = draft(history=history).prompt(chat=True).messages[1:-1]

    origins: list[object] = []
    for message in spoken:
        assert message.role in ("user", "assistant")
        group = isinstance(message.origin, tuple) and isinstance(message.origin[0], BaseMessage)
        origins.extend(message.origin if group else [message.origin])  # type: ignore[arg-type, list-item]
    places = {id(entry): place for place, entry in enumerate(history)}
    assert all(id(origin) in places for origin in origins)
    for number, origin in enumerate(origins):
        if isinstance(origin, ToolMessage):
            before = origins[number - 1]
            assert isinstance(before, ToolMessage) or getattr(before, "tool_calls", None)
        if getattr(origin, "tool_calls", None):
            assert isinstance(origins[number + 1], ToolMessage)
