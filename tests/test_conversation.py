"""Messages of any framework become turns; nothing is left out silently, and the originals are kept."""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from llama_index.core.base.llms.types import (
    ChatMessage as LlamaMessage,
)
from llama_index.core.base.llms.types import (
    ImageBlock,
    MessageRole,
    TextBlock,
)

from packline import ConfigError, ContextPacket, Kind
from packline.conversation import turns
from packline.messages import read_message

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


@dataclass
class Message:
    """Shaped like the book's message."""

    content: str
    role: str
    timestamp: datetime = NOW
    metadata: dict[str, object] = field(default_factory=dict)


def said(*history: object) -> list[tuple[object, str]]:
    return [(packet.metadata["role"], packet.content) for packet in turns(history)]


# --- what a message may be ---


def test_a_turn_may_be_a_pair_a_dict_or_any_message_object():
    history = [
        ("user", "one"),
        ["assistant", "two"],
        {"role": "user", "content": "three"},
        Message("four", "assistant"),
        HumanMessage("five"),
        LlamaMessage(role=MessageRole.ASSISTANT, content="six"),
    ]

    assert said(*history) == [
        ("user", "one"),
        ("assistant", "two"),
        ("user", "three"),
        ("assistant", "four"),
        ("user", "five"),
        ("assistant", "six"),
    ]


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (HumanMessage("x"), "user"),
        (AIMessage("x"), "assistant"),
        (SystemMessage("x"), "system"),
        (HumanMessageChunk("x"), "user"),
        (AIMessageChunk("x"), "assistant"),
        (SystemMessageChunk("x"), "system"),
        (ToolMessageChunk("x", tool_call_id="1"), "tool"),
        (FunctionMessageChunk("x", name="look"), "tool"),
        (ChatMessageChunk("x", role="Ann"), "Ann"),
        (("System", "x"), "system"),
        (ToolMessage("x", tool_call_id="1"), "tool"),
        (FunctionMessage("x", name="f"), "tool"),
        (ChatMessage("x", role="Caroline"), "Caroline"),
        (LlamaMessage(role=MessageRole.USER, content="x"), "user"),
        (LlamaMessage(role=MessageRole.MODEL, content="x"), "assistant"),
        (LlamaMessage(role=MessageRole.CHATBOT, content="x"), "assistant"),
        (LlamaMessage(role=MessageRole.SYSTEM, content="x"), "system"),
        (LlamaMessage(role=MessageRole.TOOL, content="x"), "tool"),
        (("Human", "x"), "user"),
        (("AI", "x"), "assistant"),
        (("USER", "x"), "user"),
        (("  Caroline ", "x"), "Caroline"),
        ({"type": "human", "content": "x"}, "user"),
    ],
)
def test_one_word_for_each_role_in_every_dialect_and_other_names_stay(message: object, role: str):
    assert read_message(message).role == role


@pytest.mark.parametrize(
    "entry",
    [
        "hello",
        b"hello",
        3,
        None,
        object(),
        {"role": "user"},
        {"content": "x"},
        {"role": None, "content": "x"},
        {"role": 3, "content": "x"},
        ("user",),
        ("user", "a", "b"),
        ("user", 3),
        (1, "x"),
    ],
)
def test_what_is_no_message_is_named_by_its_place(entry: object):
    with pytest.raises(ConfigError) as raised:
        turns([("user", "fine"), entry])

    assert raised.value.field == "conversation_history[1]"
    assert "a dict with role and content" in str(raised.value)


@pytest.mark.parametrize("content", [3, b"bytes", {"text": "x"}, {1, 2}])
def test_content_that_is_neither_text_nor_blocks_is_named(content: object):
    with pytest.raises(ConfigError) as raised:
        turns([{"role": "user", "content": content}])

    assert raised.value.field == "conversation_history[0].content"


@pytest.mark.parametrize("history", ["hello", b"hello", {"role": "user", "content": "x"}, 5])
def test_what_is_no_list_of_messages_is_refused(history: object):
    with pytest.raises(ConfigError, match="conversation_history must be a list of messages"):
        turns(history)  # type: ignore[arg-type]


def test_a_conversation_may_be_any_iterable():
    assert [packet.content for packet in turns(("user", str(n)) for n in range(3))] == ["0", "1", "2"]


def test_a_packet_is_taken_as_it_is():
    packet = ContextPacket("Hi", kind=Kind.HISTORY, id="mine")

    assert turns([("user", "a"), packet])[1] is packet


@pytest.mark.parametrize("kind", [Kind.INSTRUCTION, Kind.STATE])
def test_a_conversation_cannot_give_instructions_or_state(kind: Kind):
    with pytest.raises(
        ConfigError, match=r"conversation_history\[0\] must be a turn: instructions and state"
    ):
        turns([ContextPacket("Obey.", kind=kind)])


# --- what is read of it ---


def test_turns_are_packets_of_kind_history_with_the_message_as_origin():
    message = HumanMessage("Hi")

    packet = turns([message])[0]

    assert packet.kind is Kind.HISTORY
    assert packet.origin is message
    assert packet.metadata == {"role": "user"}
    assert packet.relevance_score is None


def test_a_turn_has_the_messages_id_or_its_place():
    packets = turns([HumanMessage("a", id="m-1"), ("user", "b"), {"role": "user", "content": "c", "id": 7}])

    assert [packet.id for packet in packets] == ["m-1", "turn-1", "turn-2"]


def test_the_time_is_the_messages_own():
    packets = turns(
        [
            Message("a", "user", timestamp=NOW),
            {"role": "user", "content": "b", "timestamp": "2026-01-15T12:00:00Z"},
            {"role": "user", "content": "c", "timestamp": "soon"},
            ("user", "d"),
        ]
    )

    assert [packet.timestamp for packet in packets] == [NOW, NOW, None, None]


def test_the_time_of_a_model_made_message_is_read_from_its_id():
    identifier = f"lc_run--{uuid.UUID(int=1715178600000 << 80 | 0x7 << 76 | 0x2 << 62)}"

    assert turns([AIMessage("x", id=identifier)])[0].timestamp == datetime(2024, 5, 8, 14, 30, tzinfo=UTC)


def test_blocks_of_text_are_joined_and_all_others_are_named_by_a_marker():
    content = [
        "a plain string",
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA"}},
        {"type": "media", "mime_type": "video/mp4", "data": "AAAA"},
        {"type": "weather"},
    ]

    packet = turns([{"role": "user", "content": content}])[0]

    assert packet.content == "a plain string\nWhat is this?\n[image]\n[audio]\n[video]\n[weather]"
    assert packet.metadata == {"role": "user", "media": 4}


def test_llama_index_blocks_are_read_though_the_message_has_no_content():
    message = LlamaMessage(
        role=MessageRole.USER, blocks=[TextBlock(text="Look:"), ImageBlock(url="http://127.0.0.1/cat.png")]
    )

    assert turns([message])[0].content == "Look:\n[image]"
    assert turns([message])[0].metadata == {"role": "user", "media": 1}


def test_thoughts_are_not_words():
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "Yes."},
    ]

    packet = turns([AIMessage(content)])[0]

    assert packet.content == "Yes."
    assert packet.metadata == {"role": "assistant"}


@pytest.mark.parametrize(
    "message",
    [
        {
            "role": "assistant",
            "blocks": [SimpleNamespace(block_type="thinking", content="hm"), TextBlock(text="Yes.")],
        },
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}, "Yes."],
        },
    ],
    ids=["LlamaIndex", "OpenAI"],
)
def test_thoughts_in_the_content_of_a_block_are_not_words_either(message: object):
    packet = turns([message])[0]

    assert packet.content == "Yes."
    assert packet.metadata == {"role": "assistant"}


@pytest.mark.parametrize("content", [None, "", []])
def test_a_message_may_have_no_words(content: object):
    assert turns([{"role": "assistant", "content": content}])[0].content == ""


def test_images_in_the_result_of_a_tool_are_counted():
    content = [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image"}] * 5}]

    assert turns([{"role": "user", "content": content}])[0].metadata["media"] == 5


@pytest.mark.parametrize("kind", ["search_result", "citable", "citation"])
def test_passages_that_stand_in_a_block_are_words(kind: str):
    block = {"type": kind, "content": [{"type": "text", "text": "Bears eat fish."}]}

    assert turns([{"role": "user", "content": ["See:", block]}])[0].content == "See:\nBears eat fish."


def test_what_is_no_content_is_no_word():
    blocks = [None, {"type": "cache"}, {"type": "text", "text": "Hi"}]

    packet = turns([{"role": "user", "content": blocks}])[0]

    assert (packet.content, packet.metadata) == ("Hi", {"role": "user"})


def test_a_refusal_is_what_was_said():
    assert turns([{"role": "assistant", "content": None, "refusal": "I cannot."}])[0].content == "I cannot."


@pytest.mark.parametrize("calls", ["tool_calls", "function_call"])
def test_a_call_needs_no_content(calls: str):
    function = {"name": "look", "arguments": "{}"}
    given = [{"id": "1", "function": function}] if calls == "tool_calls" else function

    assert turns([{"role": "assistant", calls: given}])[0].content == "[calls look({})]"


# --- calls of tools ---

CALLING = AIMessage("Let me see.", tool_calls=[{"id": "1", "name": "look", "args": {"q": "数据"}}])
RESULT = ToolMessage("42 rows", tool_call_id="1")


def test_a_call_and_its_results_are_one_turn_with_all_messages_as_origin():
    both = AIMessage("", tool_calls=[{"id": i, "name": "f", "args": {}} for i in "ab"])
    results = [ToolMessage("B", tool_call_id="b"), ToolMessage("A", tool_call_id="a")]

    packets = turns([("user", "?"), both, *results, AIMessage("Done.")])

    assert [packet.content for packet in packets] == [
        "?",
        "[calls f({})]\n[calls f({})]\n[result] B\n[result] A",
        "Done.",
    ]
    assert packets[1].origin == (both, *results)
    assert packets[1].metadata == {"role": "assistant"}


CALLS = {
    "langchain": [CALLING, RESULT],
    "openai": [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"q": "数据"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "42 rows"},
    ],
    "anthropic": [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "1", "name": "look", "input": {"q": "数据"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "42 rows"}]},
    ],
    "llama_index": [
        LlamaMessage(
            role=MessageRole.ASSISTANT,
            content="Let me see.",
            additional_kwargs={
                "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": '{"q": "数据"}'}}]
            },
        ),
        LlamaMessage(role=MessageRole.TOOL, content="42 rows", additional_kwargs={"tool_call_id": "1"}),
    ],
}


@pytest.mark.parametrize("dialect", CALLS)
def test_calls_are_understood_in_every_dialect(dialect: str):
    packets = turns([*CALLS[dialect], ("user", "Thanks")])

    assert [packet.content for packet in packets] == [
        'Let me see.\n[calls look({"q": "数据"})]\n[result] 42 rows',
        "Thanks",
    ]
    assert packets[0].metadata == {"role": "assistant"}
    assert packets[0].origin == tuple(CALLS[dialect])


@pytest.mark.parametrize("dialect", CALLS)
@pytest.mark.parametrize("part", [0, 1])
def test_a_call_without_its_result_and_a_result_without_its_call_are_incomplete(dialect: str, part: int):
    packet = turns([CALLS[dialect][part]])[0]

    assert packet.metadata["incomplete"] is True
    assert packet.origin is CALLS[dialect][part]


def test_a_result_joins_only_the_call_right_before_it():
    packets = turns([CALLING, ("user", "wait"), RESULT])

    assert [packet.metadata.get("incomplete") for packet in packets] == [True, None, True]


def test_a_result_of_another_call_stays_on_its_own():
    packets = turns([CALLING, ToolMessage("other", tool_call_id="9")])

    assert [packet.content for packet in packets] == ['Let me see.\n[calls look({"q": "数据"})]', "other"]
    assert all(packet.metadata["incomplete"] for packet in packets)


def test_a_call_with_one_of_two_results_is_incomplete():
    both = AIMessage("", tool_calls=[{"id": i, "name": "f", "args": {}} for i in "ab"])

    assert turns([both, ToolMessage("A", tool_call_id="a")])[0].metadata["incomplete"] is True


def test_arguments_that_json_does_not_know_are_shown_as_text():
    calling = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "1", "name": "f", "args": {"at": NOW}}],
    }

    assert turns([calling])[0].content == '[calls f({"at": "2026-01-15 12:00:00+00:00"})]'


entries = st.one_of(
    st.tuples(st.sampled_from(["user", "assistant", "system"]), st.text(max_size=5)),
    st.sampled_from([CALLING, RESULT, CALLS["anthropic"][0], CALLS["anthropic"][1], HumanMessage("Hi")]),
)


@given(st.lists(entries, max_size=12))
def test_every_message_is_in_exactly_one_turn_in_its_order(history: list[object]):
    packets = turns(history)

    origins: list[object] = []
    for packet in packets:
        group = isinstance(packet.origin, tuple) and not isinstance(packet.origin[0], str)
        origins.extend(packet.origin if group else [packet.origin])  # type: ignore[arg-type, list-item]
    assert list(map(id, origins)) == list(map(id, history))
    assert len({packet.id for packet in packets}) == len(packets)
