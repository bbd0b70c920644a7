"""What users complain of elsewhere does not happen here: each test is named by what holds instead."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda
from langchain_packline import ContextBuilder
from langchain_packline.middleware import ContextMiddleware

from packline import BudgetError, Context, Template, token_counter

HOSTILE = [
    "{question} {{braces}} {x.__class__} {0} {",
    '{"rows": [1, 2], "nested": {"a": null}}',
    r"\frac{a}{b} $\sum_{i=0}^{n} x_i$",
    "%s %(name)s ${HOME} {% raw %} {{ 7 * 7 }} <|endoftext|>",
]


def context_of(value: Any, **options: Any) -> Context:
    return ContextBuilder(**options).with_context().invoke(value)["context"]


@pytest.mark.parametrize("text", HOSTILE)
def test_template_syntax_is_plain_text_wherever_it_stands(text: str):
    value = {
        "question": f"What is {text}?",
        "system_instructions": f"Explain {text}.",
        "chat_history": [HumanMessage(f"I saw {text}")],
        "documents": [Document(f"What it is: {text}")],
        "state": f"reading {text}",
    }

    for layout in ("prompt", "chat"):
        prompt = ContextBuilder(layout=layout).invoke(value).to_string()

        for part in (f"What is {text}?", f"Explain {text}.", f"I saw {text}", f"reading {text}"):
            assert part in prompt
        assert f"What it is: {text}" in prompt


def call(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "look", "args": {"q": "sky"}, "id": i} for i in ids])


def test_no_tool_message_is_left_over_at_the_head_or_anywhere():
    orphan = ToolMessage("left over", tool_call_id="0")
    whole = [call("1", "2"), ToolMessage("blue", tool_call_id="2"), ToolMessage("wide", tool_call_id="1")]
    torn = [call("3", "4"), ToolMessage("far", tool_call_id="3")]
    history = [orphan, HumanMessage("Hi"), *whole, AIMessage("It is."), *torn, HumanMessage("And?")]

    messages = (
        ContextBuilder(layout="chat", recent_turns=9)
        .invoke({"question": "Why?", "chat_history": history})
        .messages
    )

    kept = [message for message in messages if isinstance(message, ToolMessage) or message in whole]
    assert all(a is b for a, b in zip(kept, whole, strict=True))
    text = messages[-1].content
    assert "left over" in text
    assert "far" in text


class Counting:
    """A counter that is a callable object, under postponed annotations."""

    def __call__(self, text: str) -> int:
        return len(text)


def counting(text: str) -> int:
    return len(text)


@pytest.mark.parametrize("counter", [lambda text: len(text) + 0, Counting(), counting, list])
def test_a_counter_may_be_any_callable(counter: Any):
    value = {"question": "Why?", "chat_history": [HumanMessage("word " * 100)]}

    context = context_of(value, token_counter=counter, max_tokens=400)

    assert context.tokens == context_of(value, token_counter=len, max_tokens=400).tokens <= 400


def test_a_language_model_counts_its_own_tokens():
    class Model(GenericFakeChatModel):
        def get_num_tokens(self, text: str) -> int:
            return len(text)

    model = Model(messages=iter([]))

    assert context_of("Why?", token_counter=model).tokens == context_of("Why?", token_counter=len).tokens


def test_a_counter_is_given_texts_and_never_messages():
    seen: list[Any] = []

    def watching(text: str) -> int:
        seen.append(text)
        return len(text)

    history = [HumanMessage("one"), AIMessage("two"), HumanMessage("three")]
    context_of({"question": "Why?", "chat_history": history}, token_counter=watching, layout="chat")

    assert seen
    assert all(type(text) is str for text in seen)


@pytest.mark.parametrize("text", ["数据分析工具可以优化内存使用。", "データ分析はメモリを節約します。"])
def test_a_history_in_chinese_or_japanese_is_counted_exactly_at_every_budget(text: str):
    history = [message for _ in range(4) for message in (HumanMessage(text), AIMessage(text))]
    value = {"question": text, "chat_history": history}
    count = token_counter("o200k_base").count
    full = context_of(value, layout="chat", recent_turns=8, recent_share=1.0).tokens
    kept = []

    for budget in range(full - 60, full + 1):
        result = ContextBuilder(
            layout="chat", recent_turns=8, recent_share=1.0, reserve_ratio=0.0, max_tokens=budget
        ).invoke(value)
        sent = sum(count(message.content) + 4 for message in result.messages)
        assert sent <= budget
        kept.append(len(result.messages))

    assert kept == sorted(kept), "more room never holds less"
    assert kept[0] < kept[-1]


@pytest.mark.parametrize("history", [[], None, [SystemMessage("You are old.")]])
@pytest.mark.parametrize("layout", ["prompt", "chat"])
def test_an_empty_history_and_one_of_system_messages_alone_make_a_prompt(history: Any, layout: str):
    prompt = ContextBuilder(layout=layout).invoke({"question": "Why?", "chat_history": history})

    system, user = prompt.messages
    assert "You are old." not in system.content, "a stored message does not speak with the system's voice"
    assert user.content.endswith("[Task]\nWhy?")


async def test_a_message_far_over_the_budget_is_an_error_or_shortened_and_marked_and_reported():
    question = "Why does it stop? " + "word " * 5_000 + "Tell me why it stops."

    with pytest.raises(BudgetError):
        await ContextBuilder(max_tokens=300).ainvoke(question)
    shortened = context_of(question, max_tokens=300, shorten_question=True)

    assert shortened.tokens <= 300
    assert shortened.request.question.startswith("Why does it stop?")
    assert "…" in shortened.request.question
    assert shortened.shortened[0].reason == "the question alone is too long"


def test_in_an_agent_a_message_far_over_the_budget_can_be_shortened_too():
    question = HumanMessage("Why does it stop? " + "word " * 5_000 + "Tell me why it stops.", id="q")
    loop = [call("1"), ToolMessage("It has ended.", tool_call_id="1")]
    request = ModelRequest(
        model=GenericFakeChatModel(messages=iter([])),
        messages=[question, *loop],
        tools=[],
        tool_choice=None,
        response_format=None,
        state={"messages": []},
        runtime=SimpleNamespace(),
        system_prompt=None,
    )
    middleware = ContextMiddleware(max_tokens=600, token_counter=len, shorten_question=True)

    asked, *rest = middleware.wrap_model_call(request, lambda request: request.messages)

    assert asked.id == "q"
    assert asked.content.endswith("Tell me why it stops.")
    assert len(asked.content) < 600
    assert rest == loop
    assert len(question.content) > 20_000


async def test_a_summarizer_that_raises_costs_nothing_but_a_line_in_the_report():
    class Failing(GenericFakeChatModel):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            raise ConnectionError("no route")

    long = Document(" ".join(f"The sky is blue, says source {n}." for n in range(300)))
    value = {"question": "Why is the sky blue?", "documents": [long]}
    builder = ContextBuilder(max_tokens=500, summarizer=Failing(messages=iter([]))).with_context()

    for result in (builder.invoke(value), await builder.ainvoke(value)):
        assert "The sky is blue, says source" in result["context"].text
        assert [failure.source for failure in result["context"].failures] == ["summarizer"]
        assert "no route" in result["context"].explain()


def test_a_chat_model_is_told_to_shorten_and_any_other_runnable_gets_the_bare_text():
    seen: list[Any] = []

    class Watched(GenericFakeChatModel):
        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append(messages)
            return super()._generate(messages, *args, **kwargs)

    def bare(text: str) -> str:
        seen.append(text)
        return "The sky is blue."

    long = Document(" ".join(f"The sky is blue, says source {n}." for n in range(300)))
    value = {"question": "Why is the sky blue?", "documents": [long]}

    for summarizer in (Watched(messages=iter([AIMessage("The sky is blue.")])), RunnableLambda(bare)):
        prompt = ContextBuilder(max_tokens=500, summarizer=summarizer).invoke(value)
        assert "[Evidence]\nThe sky is blue.\n" in prompt.messages[-1].content

    (system, human), text = seen
    assert "Shorten the text" in system.content
    assert human.content == text == long.page_content


def test_a_stream_of_the_whole_chain_arrives_word_by_word(now: datetime):
    model = GenericFakeChatModel(messages=iter([AIMessage("Air scatters blue light.")]))
    chain = ContextBuilder() | model | StrOutputParser()

    chunks = list(chain.stream("Why is the sky blue?"))

    assert len(chunks) > 3
    assert "".join(chunks) == "Air scatters blue light."


def test_an_answer_can_cite_by_number_the_very_documents_that_it_stands_on():
    documents = [
        Document("Air scatters blue light more than red.", id="rayleigh"),
        Document("The sky is blue because of the air.", id="sky"),
    ]
    builder = ContextBuilder(template=Template(numbered=True, output="Cite evidence as [1].")).with_context()

    result = builder.invoke({"question": "Why is the sky blue?", "documents": documents})

    cited = [result["context"].citations[number].origin for number in (1, 2)]
    assert cited[0] is not cited[1]
    assert all(any(origin is document for document in documents) for origin in cited)
    assert f"[1] {cited[0].page_content}" in result["prompt"].to_string()


class Counting(Embeddings):
    """An embedding model of one number, which keeps what it was asked for."""

    def __init__(self) -> None:
        self.documents: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.documents += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float("fish" in text.lower())]


def test_a_setting_for_one_call_embeds_no_text_again():
    model = Counting()
    texts = ["Fish swim.", "Profits rose."]
    builder = ContextBuilder(sources=[lambda query: texts], relevance=model)

    for max_tokens in (300, 400, 500):
        builder.bind(max_tokens=max_tokens).invoke("What do fish do?")

    assert sorted(model.documents) == sorted(texts)


def test_a_setting_for_one_call_counts_no_text_again():
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    builder = ContextBuilder(sources=[lambda query: ["Fish swim."]], token_counter=count)

    for _ in range(3):
        builder.bind(max_tokens=3_000).invoke("What do fish do?")

    assert len(counted) == len(set(counted))


def test_an_agents_model_is_packed_for_without_embedding_its_conversation_again():
    model = Counting()
    middleware = ContextMiddleware(relevance=model, max_tokens=300)
    agent = create_agent(
        GenericFakeChatModel(messages=iter([AIMessage("One."), AIMessage("Two.")])), middleware=[middleware]
    )

    state = agent.invoke({"messages": [HumanMessage("Fish?"), AIMessage("Swim."), HumanMessage("And cats?")]})
    agent.invoke({"messages": [*state["messages"], HumanMessage("And dogs?")]})

    assert len(model.documents) == len(set(model.documents))
    assert {"user: Fish?", "assistant: Swim."} <= set(model.documents)
