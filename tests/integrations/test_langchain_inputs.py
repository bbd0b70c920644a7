"""Whatever shape a chain, an agent or a user puts at the head makes the same request."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_packline import ContextBuilder, Gather

from packline import BudgetError, ConfigError, ContextPacket, Kind, Request

NOW = {"configurable": {"now": datetime(2026, 1, 15, tzinfo=UTC)}}
QUESTION = "Why is the sky blue?"


def request_for(value: Any, config: Any = NOW) -> Request:
    """What the first stage makes of an input."""
    return Gather().invoke(value, config).request


async def awaited_request_for(value: Any) -> Request:
    return (await Gather().ainvoke(value, NOW)).request


HISTORY = [HumanMessage("Hello", id="h1"), AIMessage("Hello to you", id="a1")]
SAME_WITHOUT_HISTORY = {
    "text": QUESTION,
    "query": {"query": QUESTION},
    "question": {"question": QUESTION},
    "input": {"input": QUESTION},
    "user_query": {"user_query": QUESTION},
    "a message as the question": {"question": HumanMessage(QUESTION)},
    "blocks as the question": {"question": [{"type": "text", "text": QUESTION}]},
    "one message": HumanMessage(QUESTION),
    "pairs": [("human", QUESTION)],
    "dicts": [{"role": "user", "content": QUESTION}],
    "prompt value": ChatPromptTemplate.from_messages([("human", "{q}")]).invoke({"q": QUESTION}),
    "state": {"messages": [HumanMessage(QUESTION)]},
}
SAME_WITH_HISTORY = {
    "chat_history": {"question": QUESTION, "chat_history": HISTORY},
    "conversation_history": {"user_query": QUESTION, "conversation_history": HISTORY},
    "history": {"question": QUESTION, "history": HISTORY},
    "messages beside the question": {"question": QUESTION, "messages": HISTORY},
    "messages": [*HISTORY, HumanMessage(QUESTION)],
    "state": {"messages": [*HISTORY, HumanMessage(QUESTION)]},
    "an object with messages": {"question": QUESTION, "chat_history": SimpleNamespace(messages=HISTORY)},
    "a snapshot of a state": {
        "question": QUESTION,
        "chat_history": SimpleNamespace(values={"messages": HISTORY}),
    },
    "a checkpoint": {
        "question": QUESTION,
        "chat_history": SimpleNamespace(checkpoint={"channel_values": {"messages": HISTORY}}),
    },
}


@pytest.mark.parametrize("value", SAME_WITHOUT_HISTORY.values(), ids=SAME_WITHOUT_HISTORY)
async def test_every_shape_of_a_question_is_the_same_request(value: Any):
    assert request_for(value) == Request.of(QUESTION, now=NOW["configurable"]["now"])
    assert await awaited_request_for(value) == request_for(value)


@pytest.mark.parametrize("value", SAME_WITH_HISTORY.values(), ids=SAME_WITH_HISTORY)
async def test_every_shape_of_a_conversation_is_the_same_request(value: Any):
    expected = Request.of(QUESTION, conversation_history=HISTORY, now=NOW["configurable"]["now"])

    assert request_for(value) == expected
    assert await awaited_request_for(value) == expected
    assert [packet.origin for packet in request_for(value).history] == HISTORY


def test_a_request_is_taken_as_it_is():
    request = Request.of(QUESTION, state="started")

    assert request_for(request) is request


def test_all_that_may_come_with_a_question_arrives():
    document = Document("Light is scattered by air.", id="rayleigh", metadata={"page": 3})
    packet = ContextPacket("The user is a child.", kind=Kind.MEMORY)

    request = request_for(
        {
            "question": QUESTION,
            "documents": [document],
            "packets": [packet],
            "system_instructions": "Be brief.",
            "state": {"step": 2},
        }
    )

    assert request.instructions == ("Be brief.",)
    assert [state.content for state in request.state] == ["step: 2"]
    assert request.packets[0] is packet
    assert request.packets[1].origin is document
    assert (request.packets[1].id, request.packets[1].kind) == ("rayleigh", Kind.EVIDENCE)


def test_documents_fetched_by_an_earlier_step_are_used():
    def fetch(value: dict[str, Any]) -> list[Document]:
        return [Document("The sky is blue since air scatters blue light.")]

    chain = RunnablePassthrough.assign(context=fetch) | ContextBuilder()

    prompt = chain.invoke({"question": QUESTION, "session": "other steps may need this"})

    assert "[Evidence]\nThe sky is blue since air scatters blue light." in prompt.messages[-1].content


def test_system_messages_at_the_head_are_the_instructions_and_later_ones_are_not():
    request = request_for(
        [SystemMessage("Be brief."), HumanMessage("Hi"), SystemMessage("Be rude."), HumanMessage(QUESTION)]
    )

    assert request.instructions == ("Be brief.",)
    assert [packet.content for packet in request.history] == ["Hi", "Be rude."]


def test_the_last_human_message_is_the_question_even_if_tools_have_answered_since():
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    result = ToolMessage("blue", tool_call_id="1")

    request = request_for([HumanMessage(QUESTION), call, result])

    assert request.question == QUESTION
    assert request.history[0].origin == (call, result)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (42, "a question as text; a dict with the question"),
        (None, "a question as text; a dict with the question"),
        ({}, "a question as text; a dict with the question"),
        ({"context": "x"}, "a question as text; a dict with the question"),
        ([], "input must be a list in which the last human message is the question"),
        ([SystemMessage("Be brief.")], "input must be a list in which the last human message"),
        ({"messages": []}, "messages must be a list in which the last human message"),
        ([42], r"input\[0\] must be a dict with role and content"),
        ({"messages": [42]}, r"messages\[0\] must be a dict with role and content"),
        ("", "input must be a text that is not empty"),
        ({"question": " "}, "question must be a text that is not empty, got ' '"),
        ({"messages": [("system", "Be brief."), ("user", "")]}, r"messages\[1\] must be a text that is not"),
        (
            {"question": 5},
            "question must be a text, a list of content blocks, or a message with role and content, got 5",
        ),
        ({"input": {"text": "x"}}, "input must be a text, a list of content blocks, or a message with role"),
        ({"question": QUESTION, "query": "Another?"}, "not several that differ"),
        ({"question": QUESTION, "chat_histroy": []}, "perhaps 'chat_history'"),
        ({"question": QUESTION, "document": []}, "perhaps 'documents'"),
        ({"question": QUESTION, "chat_history": 42}, "chat_history must be a list of messages"),
        ({"question": QUESTION, "chat_history": "Hi"}, "chat_history must be a list of messages"),
        ({"question": QUESTION, "history": 42}, "history must be a list of messages"),
        ({"question": QUESTION, "history": ["Hi"]}, r"history\[0\] must be a dict with role and content"),
        ({"question": QUESTION, "documents": 42}, "documents must be documents, texts or packets, got 42"),
        ({"question": QUESTION, "context": [42]}, r"context must be documents, texts or packets, got \[42\]"),
    ],
)
async def test_a_wrong_shape_gets_an_error_that_lists_the_right_ones(value: Any, named: str):
    with pytest.raises(ConfigError, match=named):
        request_for(value)
    with pytest.raises(ConfigError, match=named):
        await awaited_request_for(value)


def test_the_same_question_under_two_names_is_no_contradiction():
    assert request_for({"question": QUESTION, "input": QUESTION}).question == QUESTION


def test_messages_put_together_from_a_stream_are_the_messages_that_they_are():
    call = {"name": "look", "args": '{"x": 1}', "id": "1", "index": 0, "type": "tool_call_chunk"}
    streamed = [
        HumanMessageChunk("Hi"),
        AIMessageChunk("Hel") + AIMessageChunk("lo"),
        AIMessageChunk("", tool_call_chunks=[call]),
        ToolMessage("blue", tool_call_id="1"),
    ]

    chat = ContextBuilder(layout="chat").invoke({"question": QUESTION, "chat_history": streamed})
    asked = request_for([*streamed, HumanMessageChunk(QUESTION)])

    assert [(type(message), message.content) for message in chat.messages[1:-1]] == [
        (HumanMessage, "Hi"),
        (AIMessage, "Hello"),
        (AIMessage, ""),
        (ToolMessage, "blue"),
    ]
    assert chat.messages[3].tool_calls[0]["args"] == {"x": 1}
    assert (asked.question, len(asked.history)) == (QUESTION, 3)


def test_an_answer_in_place_of_a_question_is_refused_with_the_way_out():
    with pytest.raises(ConfigError, match=r"behind a model, put StrOutputParser\(\) before it"):
        request_for(AIMessage("What is pandas?"))


def test_now_is_a_setting_of_the_call():
    moment = datetime(2026, 1, 15, tzinfo=UTC)

    assert request_for(QUESTION, {"configurable": {"now": moment}}).now == moment
    assert request_for(QUESTION, {"configurable": {"now": "2026-01-15T00:00:00Z"}}).now == moment
    with pytest.raises(ConfigError, match=r"configurable\['now'\] must be a datetime or an ISO 8601 text"):
        request_for(QUESTION, {"configurable": {"now": "tomorrow"}})


class Awaited:
    """A chat history that can only be awaited."""

    @property
    def messages(self) -> list[Any]:
        raise NotImplementedError

    async def aget_messages(self) -> list[Any]:
        return HISTORY


async def test_a_history_that_must_be_awaited_is_read_by_ainvoke_and_a_clear_error_for_invoke():
    value = {"question": QUESTION, "chat_history": Awaited()}

    request = await awaited_request_for(value)

    assert [packet.origin for packet in request.history] == HISTORY
    with pytest.raises(ConfigError, match="readable without waiting, or awaited by ainvoke"):
        request_for(value)


def image(dialect: str) -> dict[str, Any]:
    """A picture of 400 kB in one of the dialects."""
    data = "A" * 400_000
    return {
        "openai": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        "anthropic": {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": data},
        },
        "standard": {"type": "image", "base64": data, "mime_type": "image/png"},
    }[dialect]


DIALECTS = ("openai", "anthropic", "standard")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_image_in_the_question_is_handed_on_and_a_marker_stands_in_the_text(dialect: str):
    block = image(dialect)
    question = HumanMessage([{"type": "text", "text": "What is this?"}, block])

    result = ContextBuilder().with_context().invoke([question])

    text, handed_on = result["prompt"].messages[-1].content
    assert handed_on == block
    assert "What is this?\n[image]" in text["text"]
    assert "What is this?\n[image]" in result["context"].text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_image_that_alone_exceeds_the_budget_is_named(dialect: str):
    question = HumanMessage([{"type": "text", "text": "What?"}, image(dialect)])

    with pytest.raises(BudgetError, match=r"leave out the image \(about 1000 tokens\)"):
        ContextBuilder(max_tokens=500).invoke(question)
    with pytest.raises(BudgetError, match=r"shorten \[Task\]"):
        ContextBuilder(max_tokens=500, token_counter=len).invoke(
            HumanMessage([{"type": "text", "text": "What? " * 200}, image(dialect)])
        )


def test_an_image_costs_the_same_in_every_dialect():
    questions = [HumanMessage([{"type": "text", "text": "What?"}, image(dialect)]) for dialect in DIALECTS]
    builder = ContextBuilder().with_context()

    in_question = {builder.invoke([question])["context"].tokens for question in questions}
    in_history = {
        builder.invoke({"question": "What?", "chat_history": [question]}, layout="chat")["context"].tokens
        for question in questions
    }

    assert len(in_question) == len(in_history) == 1
    assert 1_000 < in_question.pop() < 1_100
    assert 1_000 < in_history.pop() < 1_100


def test_blocks_of_every_kind_stay_blocks_in_a_chat_and_are_named_in_a_text():
    blocks = [
        {"type": "text", "text": "Listen:"},
        {"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"},
        {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"},
        image("standard"),
        {"type": "hologram", "value": 1},
    ]
    said, answered = HumanMessage(blocks), AIMessage([{"type": "reasoning", "reasoning": "Hm."}, "I see."])
    value = {"question": "What?", "chat_history": [said, answered]}

    chat = ContextBuilder(layout="chat", max_tokens=20_000).invoke(value)
    text = ContextBuilder(max_tokens=20_000).invoke(value)

    assert chat.messages[1] is said
    assert chat.messages[2] is answered
    assert "user: Listen:\n[audio]\n[file]\n[image]\n[hologram]\nassistant: I see." in text.to_string()
