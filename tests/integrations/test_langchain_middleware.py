"""The agent's model sees what fits, never a broken call, and its state stays as it is."""

from __future__ import annotations

import copy
import itertools
import os
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, dynamic_prompt
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_packline.middleware import ContextMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import PrivateAttr

from packline import BudgetError, ConfigError

TRACES = int(os.environ.get("PACKLINE_CASES", "1000"))
WORDS = [
    "pandas",
    "csv",
    "chunk",
    "memory",
    "column",
    "index",
    "frame",
    "series",
    "merge",
    "group",
    "pivot",
    "plot",
]


def size(messages: Sequence[BaseMessage]) -> int:
    """Characters of all that a model reads; one token each in these tests."""
    calls = [call for message in messages for call in getattr(message, "tool_calls", ())]
    return sum(len(str(message.content)) for message in messages) + sum(len(str(c["args"])) for c in calls)


class Strict(BaseChatModel):
    """Refuses what providers refuse: a result without its call, a call without all its results.

    Answers as it is told; keeps what it was sent.
    """

    answers: list[AIMessage]
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[BaseMessage]]:
        return self._seen

    @property
    def _llm_type(self) -> str:
        return "strict"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        check_pairs(messages)
        self._seen.append(list(messages))
        answer = self.answers[min(len(self._seen), len(self.answers)) - 1]
        return ChatResult(generations=[ChatGeneration(message=answer)])


def check_pairs(messages: Sequence[BaseMessage]) -> None:
    """Raise where a provider would."""
    open_calls: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                raise ValueError(f"orphaned tool message {message.tool_call_id}")
            open_calls.discard(message.tool_call_id)
            continue
        if open_calls:
            raise ValueError(f"calls without results: {open_calls}")
        if isinstance(message, AIMessage):
            open_calls = {call["id"] for call in message.tool_calls}
    if open_calls:
        raise ValueError(f"calls without results: {open_calls}")


def model_request(messages: list[AnyMessage], **options: Any) -> ModelRequest:
    model = Strict(answers=[AIMessage("done")])
    request = ModelRequest(
        model=model,
        messages=messages,
        tools=[],
        tool_choice=None,
        response_format=None,
        state={"messages": messages},
        runtime=SimpleNamespace(),
        system_prompt=options.pop("system_prompt", None),
    )
    return request.override(**options) if options else request


def sent(middleware: ContextMiddleware, messages: list[AnyMessage], **options: Any) -> list[BaseMessage]:
    """What reaches the model."""
    return middleware.wrap_model_call(model_request(messages, **options), lambda request: request.messages)


async def asent(
    middleware: ContextMiddleware, messages: list[AnyMessage], **options: Any
) -> list[BaseMessage]:
    async def handler(request: ModelRequest) -> list[AnyMessage]:
        return request.messages

    return await middleware.awrap_model_call(model_request(messages, **options), handler)


def limited(max_tokens: int, **options: Any) -> ContextMiddleware:
    return ContextMiddleware(max_tokens=max_tokens, token_counter=len, message_overhead=0, **options)


# --- a thousand traces ---


def random_trace(seed: int) -> list[AnyMessage]:
    """A conversation with parallel calls, unanswered calls, results without calls, up to any point."""
    chance = random.Random(seed)
    messages: list[AnyMessage] = []

    def text(longest: int) -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, longest)))

    for turn in range(chance.randint(1, 6)):
        messages.append(HumanMessage(text(12), id=f"{seed}-{turn}"))
        for step in range(chance.randint(0, 4)):
            ids = [f"{turn}.{step}.{n}" for n in range(chance.randint(1, 4))]
            made = [{"name": "look", "args": {"q": text(2)}, "id": i} for i in ids]
            messages.append(AIMessage(chance.choice(["", text(4)]), tool_calls=made))
            answered = ids if chance.random() < 0.85 else chance.sample(ids, chance.randint(0, len(ids) - 1))
            chance.shuffle(answered)
            messages += [ToolMessage(text(40), tool_call_id=i) for i in answered]
        if chance.random() < 0.1:
            messages.append(ToolMessage(text(5), tool_call_id="nobody"))
        if chance.random() < 0.8:
            messages.append(AIMessage(text(20)))
    return messages[: chance.randint(1, len(messages))]


async def test_no_call_is_ever_torn_apart_and_the_budget_holds_over_a_thousand_traces():
    found = [Document("pandas reads csv in chunks")]
    budgets = (200, 400, 800, 3_000)
    middlewares = {budget: limited(budget, sources=[lambda query: found]) for budget in budgets}
    refused, loops = [], 0
    for seed in range(TRACES):
        messages = random_trace(seed)
        before = copy.deepcopy(messages)
        budget = budgets[seed % 4]
        try:
            seen = sent(middlewares[budget], messages)
        except BudgetError:
            refused.append(budget)
            continue

        check_pairs(seen)
        assert size(seen) <= budget
        question = next(m for m in reversed(messages) if isinstance(m, HumanMessage))
        (standing,) = [message for message in seen if message.id == question.id]
        assert question.content in standing.content
        assert messages == before
        if seed % 10 == 0:
            assert await asent(limited(budget, sources=[lambda query: found]), messages) == seen
        loops += any(isinstance(message, ToolMessage) for message in seen)

    assert set(refused) <= {200}, "four calls at once and the question alone may need more than that"
    assert len(refused) <= max(3, TRACES // 20)
    assert loops >= TRACES // 4


def test_the_checking_model_does_refuse_what_providers_refuse():
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])

    for broken in ([ToolMessage("x", tool_call_id="1")], [call], [call, HumanMessage("Hi")]):
        with pytest.raises(ValueError, match=r"orphaned|without results"):
            check_pairs(broken)


# --- an agent, from end to end ---


class Library:
    """A source that counts how often it is asked."""

    name = "library"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def gather(self, query: str) -> list[Document]:
        self.asked.append(query)
        return [Document(f"Pandas reads a CSV file in chunks (asked {len(self.asked)} times).")]


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"Found something on {q}."


def calling(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "look", "args": {"q": "csv"}, "id": i} for i in ids])


QUESTION = "How does pandas read a CSV file?"


async def test_an_agent_asks_its_sources_once_for_a_question_and_keeps_the_head_while_it_calls_tools():
    for way in ("sync", "async"):
        library = Library()
        model = Strict(answers=[calling("1", "2"), calling("3"), AIMessage("In chunks.")])
        agent = create_agent(
            model, tools=[look], system_prompt="Be brief.", middleware=[ContextMiddleware(sources=[library])]
        )
        given = {"messages": [HumanMessage(QUESTION)]}

        state = agent.invoke(given) if way == "sync" else await agent.ainvoke(given)

        first, second, third = model.seen
        assert library.asked == [QUESTION]
        assert "(asked 1 times)" in first[1].content
        assert [type(message) for message in first] == [SystemMessage, HumanMessage]
        assert second[:2] == first
        assert third[:5] == second
        assert [type(m).__name__ for m in third[5:]] == ["AIMessage", "ToolMessage"]
        assert state["messages"][0].content == QUESTION, "the state is unchanged"
        assert len(state["messages"]) == 7


def test_an_agent_asks_its_sources_anew_for_a_new_question():
    library = Library()
    model = Strict(answers=[AIMessage("In chunks.")])
    agent = create_agent(
        model, middleware=[ContextMiddleware(sources=[library])], checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "1"}}

    agent.invoke({"messages": [HumanMessage(QUESTION)]}, config)
    agent.invoke({"messages": [HumanMessage(QUESTION)]}, config)

    assert len(library.asked) == 2
    assert [m.content for m in model.seen[1][:2]] == [QUESTION, "In chunks."]


def test_the_same_words_of_two_users_are_two_questions():
    library = Library()
    agent = create_agent(
        Strict(answers=[AIMessage("In chunks.")]), middleware=[ContextMiddleware(sources=[library])]
    )
    asked = {"messages": [HumanMessage(QUESTION, id="same")]}

    for user in ("ann", "ann", "bob"):
        agent.invoke(asked, {"configurable": {"user_id": user}})

    assert len(library.asked) == 2


def test_a_long_conversation_is_packed_into_its_best_turns_as_the_very_messages():
    turns: list[AnyMessage] = []
    for n in range(300):
        turns += [HumanMessage(f"Note {n}: {WORDS[n % 12]} {n}"), AIMessage(f"Noted {n}.")]
    turns[100] = HumanMessage("The password of the archive is xylophone.")
    question = HumanMessage("What is the password of the archive?")

    seen = sent(limited(600), [*turns, question])

    assert size(seen) <= 600
    assert any(message is turns[100] for message in seen)
    assert any(message is turns[-1] for message in seen)
    assert seen[-1] is question


def test_without_anything_to_add_the_messages_are_the_very_same():
    messages: list[AnyMessage] = [HumanMessage("Hi"), AIMessage("Hello."), HumanMessage("How are you?")]

    assert all(a is b for a, b in zip(sent(ContextMiddleware(), messages), messages, strict=True))


# --- the budget ---


def test_system_prompt_and_tools_are_counted():
    messages: list[AnyMessage] = [
        HumanMessage("pandas " * 5),
        AIMessage("csv " * 60),
        HumanMessage("pandas?"),
    ]

    free = sent(limited(470), messages)
    with_prompt = sent(limited(470), messages, system_prompt="x" * 300)
    with_tools = sent(limited(470), messages, tools=[look])

    assert size(free) > 240
    assert size(with_prompt) <= 200
    assert size(with_tools) < size(free)


@dynamic_prompt
def long_prompt(request: ModelRequest) -> str:
    """A system prompt that other middleware sets."""
    return "s" * 300


def test_a_system_prompt_that_other_middleware_sets_is_counted_where_packing_stands_last():
    agent = create_agent(Strict(answers=[AIMessage("Yes.")]), middleware=[long_prompt, limited(200)])

    with pytest.raises(BudgetError, match="system prompt"):
        agent.invoke({"messages": [HumanMessage("Rain?")]})


def test_what_must_stand_and_does_not_fit_is_an_error_that_says_what_is_largest():
    with pytest.raises(BudgetError, match=r"budget is 300: shorten \[system prompt\]") as caught:
        sent(limited(300), [HumanMessage("pandas?")], system_prompt="x" * 290)

    assert caught.value.needed > 300
    with pytest.raises(BudgetError, match=r"shorten \[Task\]"):
        sent(limited(300), [HumanMessage("x" * 400)])


def test_an_image_that_alone_exceeds_the_budget_is_named():
    asked = HumanMessage(
        [{"type": "text", "text": "What?"}, {"type": "image", "base64": "", "mime_type": "image/png"}]
    )

    with pytest.raises(BudgetError, match=r"leave out the image \(about 1000 tokens\)") as caught:
        sent(limited(300), [asked], system_prompt="x" * 290)

    assert 1_290 < caught.value.needed < 1_400


def test_the_newest_calls_stand_and_older_ones_go_when_they_do_not_all_fit():
    loop: list[AnyMessage] = []
    for n in range(5):
        loop += [calling(str(n)), ToolMessage(f"result {n} " + "x" * 80, tool_call_id=str(n))]

    seen = sent(limited(400), [HumanMessage("pandas?"), *loop])

    assert seen[1:] == loop[-len(seen) + 1 :]
    assert 2 <= len(seen[1:]) < len(loop)
    assert all(a is b for a, b in zip(seen[1:], loop[-len(seen) + 1 :], strict=True))


def test_a_result_that_is_too_long_alone_is_shortened_beside_a_short_one_that_stands():
    long = ToolMessage("Fish swim. " * 100 + "Pandas reads a CSV file in chunks.", tool_call_id="1", id="t1")
    short = ToolMessage("ok", tool_call_id="2")

    seen = sent(limited(300), [HumanMessage(QUESTION), calling("1", "2"), long, short])

    assert seen[-1] is not long
    assert (seen[-2].tool_call_id, seen[-2].id) == ("1", "t1")
    assert "Pandas reads a CSV file in chunks." in seen[-2].content
    assert "…" in seen[-2].content
    assert seen[-1].content == "ok"
    assert long.content.startswith("Fish swim. Fish swim."), "the caller's message is unchanged"
    with pytest.raises(BudgetError, match="tool calls"):
        sent(limited(300, enable_compression=False), [HumanMessage(QUESTION), calling("1", "2"), long, short])


def test_the_head_gives_way_once_and_then_stays_when_the_tools_need_its_room():
    evidence = [Document(f"pandas note {n} " + "y" * 60) for n in range(8)]
    middleware = limited(1_000, sources=[lambda q: evidence])
    messages: list[AnyMessage] = [HumanMessage("pandas?", id="q")]
    heads = []
    for n in range(6):
        seen = sent(middleware, messages)
        assert size(seen) <= 1_000
        heads.append(seen[0].content)
        messages = [*messages, calling(str(n)), ToolMessage("z" * 80, tool_call_id=str(n))]

    changes = sum(a != b for a, b in itertools.pairwise(heads))
    assert changes == 1
    assert len(heads[-1]) < len(heads[0])


def test_a_conversation_without_a_human_is_cut_from_its_old_end():
    messages: list[AnyMessage] = [AIMessage("a" * 100), AIMessage("b" * 100), AIMessage("c" * 100)]

    assert sent(limited(250), messages) == messages[1:]
    assert sent(limited(250), []) == []


def test_options_are_those_of_the_builder_and_unknown_ones_are_refused():
    with pytest.raises(ConfigError, match="perhaps 'max_tokens'"):
        ContextMiddleware(max_token=3)


def test_the_report_of_each_packing_goes_out_as_an_event():
    class Events(BaseCallbackHandler):
        seen: list[str] = []  # noqa: RUF012

        def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
            self.seen.append(name)

    agent = create_agent(Strict(answers=[calling("1"), AIMessage("x")]), [look], middleware=[limited(900)])

    agent.invoke({"messages": [HumanMessage(QUESTION)]}, {"callbacks": [Events()]})

    assert Events.seen == ["packline_report"]
