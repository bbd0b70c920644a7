"""ContextSynthesizer: one prompt for retrieval, conversation and memory, and the nodes that were used."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ImageBlock, LLMMetadata, TextBlock
from llama_index.core.base.response.schema import AsyncStreamingResponse, PydanticResponse, StreamingResponse
from llama_index.core.bridge.pydantic import BaseModel, PrivateAttr
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.synthesis import SynthesizeEndEvent, SynthesizeStartEvent
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.llms import MockLLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index_packline import (
    BundledEmbedding,
    ContextEvent,
    ContextSynthesizer,
    budget_for,
    collect_contexts,
)

from packline import BudgetError, ConfigError, ContextConfig

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
QUESTION = "What do fish do?"


class Recorder(MockLLM):
    """Answers "answer", and keeps what it was given."""

    _given: list[Any] = PrivateAttr(default_factory=list)
    _chats: bool = PrivateAttr(default=True)

    def __init__(self, *, chats: bool = True, **options: Any) -> None:
        super().__init__(max_tokens=2, **options)
        self._chats = chats

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(num_output=2, is_chat_model=self._chats)

    @property
    def given(self) -> list[Any]:
        return self._given

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self._given.append(list(messages))
        return super().chat(messages, **kwargs)

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self._given.append(list(messages))
        return super().chat(messages, **kwargs)

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        self._given.append(list(messages))
        return super().stream_chat(messages, **kwargs)

    @llm_chat_callback()
    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        self._given.append(list(messages))
        return await super().astream_chat(messages, **kwargs)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        if not self._chats:  # else it is asked by chat
            self._given.append(prompt)
        return super().complete(prompt, formatted, **kwargs)


def node(text: str, score: float | None = None, **options: Any) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=text, **options), score=score)


NODES = [
    node("Cats sleep all day.", 0.9),
    node("Fish swim in the sea.", 0.5),
    node("Dogs bark at night.", 0.1),
]


def synthesizer(llm: MockLLM | None = None, **options: Any) -> ContextSynthesizer:
    return ContextSynthesizer(llm or Recorder(), **{"now": NOW, **options})


def test_the_model_gets_the_whole_skeleton_once():
    llm = Recorder()

    response = synthesizer(llm, system_instructions="Be brief.").synthesize(QUESTION, NODES)

    [[system, user]] = llm.given
    assert (system.role, user.role) == ("system", "user")
    assert system.content.startswith("[Role & Policies]\nBe brief.\n\n[Output]\n")
    assert user.content == "[Evidence]\nFish swim in the sea.\n\n[Task]\nWhat do fish do?"
    assert str(response) == "text text"


def test_a_model_that_completes_gets_the_skeleton_as_one_text():
    llm = Recorder(chats=False)
    with collect_contexts() as contexts:
        synthesizer(llm).synthesize(QUESTION, NODES)

    assert llm.given == [contexts[0].text]


def test_source_nodes_are_the_nodes_that_were_used_best_first():
    config = ContextConfig(min_relevance=0.0)
    extra = node("Given beside it.")

    response = synthesizer(config=config, scores="raw").synthesize(QUESTION, NODES[::-1], [extra])

    assert [id(item) for item in response.source_nodes] == [id(item) for item in [*NODES, extra]]
    assert response.metadata == {item.node.node_id: {} for item in [*NODES, extra]}
    assert synthesizer().synthesize(QUESTION, NODES).source_nodes == [NODES[1]]


def test_a_shortened_source_node_is_a_copy_with_the_text_that_stood_in_the_prompt():
    long = node("Fish swim. " * 2_000, metadata={"file": "a.txt"})
    before = long.model_copy(deep=True)
    llm = Recorder()

    [short] = synthesizer(llm, config=ContextConfig(max_tokens=500)).synthesize(QUESTION, [long]).source_nodes

    assert long == before
    assert short.node.get_content(metadata_mode=MetadataMode.LLM) in llm.given[0][1].content
    assert short.node.node_id == long.node.node_id
    assert short.node.metadata["file"] == "a.txt"


def test_retrieval_conversation_and_memory_share_one_budget():
    talk = [
        ChatMessage(role="user" if n % 2 == 0 else "assistant", content=f"Garden fact {n}. " * 9)
        for n in range(60)
    ]
    nodes = [node(f"Fish number {n} swims. " * 9, 0.5) for n in range(60)]

    for budget in (400, 800, 1_600):
        built = synthesizer(
            config=ContextConfig(max_tokens=budget, reserve_ratio=0.0, min_relevance=0.0), memory=talk
        ).build(QUESTION, nodes)

        assert 0.9 * budget <= built.tokens <= budget
        assert {"Evidence", "Context"} <= built.section_tokens.keys()


def test_the_question_stands_once_also_where_the_memory_has_it_already():
    llm = Recorder()
    talk = [ChatMessage(role="user", content="I like fish."), ChatMessage(role="user", content=QUESTION)]
    memory = ChatMemoryBuffer.from_defaults(chat_history=talk)

    synthesizer(llm, memory=memory).synthesize(QueryBundle(QUESTION + "\n"), NODES)

    assert "".join(message.content for message in llm.given[0]).count(QUESTION) == 1
    assert "user: I like fish." in llm.given[0][1].content


def test_the_memory_is_read_anew_for_each_question():
    memory = ChatMemoryBuffer.from_defaults()
    made = synthesizer(memory=memory)

    first = made.build(QUESTION, NODES)
    memory.put(ChatMessage(role="user", content="I like fish."))
    second = made.build(QUESTION, NODES)

    assert "I like fish." not in first.text
    assert "I like fish." in second.text


def test_in_the_chat_layout_the_conversation_is_the_callers_own_messages():
    llm = Recorder()
    picture = ChatMessage(
        role="user", blocks=[TextBlock(text="A fish."), ImageBlock(url="http://127.0.0.1/f.png")]
    )
    talk = [picture, ChatMessage(role="assistant", content="I see a fish.")]

    synthesizer(llm, memory=talk, config=ContextConfig(layout="chat")).synthesize(QUESTION, NODES)

    assert [message.role for message in llm.given[0]] == ["system", "user", "assistant", "user"]
    assert llm.given[0][1] is talk[0]
    assert llm.given[0][2] is talk[1]


def test_a_memory_that_fails_is_in_the_report_and_the_nodes_are_used():
    class _Broken(ChatMemoryBuffer):
        async def aget_all(self) -> list[ChatMessage]:
            raise ConnectionError("the store is away")

    context = synthesizer(memory=_Broken.from_defaults()).build(QUESTION, NODES)

    assert [(failure.source, str(failure.error)) for failure in context.failures] == [
        ("memory", "the store is away")
    ]
    assert "Fish swim" in context.text
    with pytest.raises(ConnectionError):
        synthesizer(memory=_Broken.from_defaults(), config=ContextConfig(strict=True)).build(QUESTION, NODES)


def test_further_sources_compete_with_the_nodes():
    def wiki(question: str) -> list[str]:
        return ["Fish breathe through gills."]

    with collect_contexts() as contexts:
        response = synthesizer(sources=[wiki]).synthesize(QUESTION, NODES)

    assert {verdict.source for verdict in contexts[0].kept} == {"nodes", "wiki"}
    assert response.source_nodes == [NODES[1]]


def test_with_nothing_to_answer_from_the_model_is_not_asked():
    llm = Recorder()

    assert str(synthesizer(llm).synthesize(QUESTION, [])) == "Empty Response"
    assert (
        str(synthesizer(llm, empty_response="I have nothing.").synthesize(QUESTION, [])) == "I have nothing."
    )
    assert llm.given == []
    assert str(synthesizer(llm, memory=[ChatMessage("I like fish.")]).synthesize(QUESTION, [])) == "text text"


def test_the_models_own_system_prompt_stands_and_is_counted():
    llm = Recorder(system_prompt="Speak like a captain.")

    assert "Speak like a captain." in synthesizer(llm).build(QUESTION, NODES).text
    assert "captain" not in synthesizer(llm, system_instructions="Be brief.").build(QUESTION, NODES).text


def test_braces_in_nodes_memory_and_question_are_text():
    braces = "{context_str} {{x}} {query_str} %s ${y}"
    llm = Recorder()

    synthesizer(llm, memory=[ChatMessage(f"Said: {braces}")]).synthesize(braces, [node(braces, 0.5)])

    assert llm.given[0][1].content.count(braces) == 3


def test_instructions_and_question_that_alone_exceed_the_budget_are_an_error():
    with pytest.raises(BudgetError, match="raise max_tokens"):
        synthesizer(config=ContextConfig(max_tokens=30)).build(QUESTION, NODES)


# --- ways to answer ---


async def test_all_ways_give_the_same_answer_and_the_same_prompt():
    llm, completing = Recorder(), Recorder(chats=False)
    whole, streamed = synthesizer(llm), synthesizer(llm, streaming=True)

    sync = whole.synthesize(QUESTION, NODES)
    awaited = await whole.asynthesize(QUESTION, NODES)
    stream = streamed.synthesize(QUESTION, NODES)
    astream = await streamed.asynthesize(QUESTION, NODES)

    assert isinstance(stream, StreamingResponse)
    assert isinstance(astream, AsyncStreamingResponse)
    pieces = [piece async for piece in astream.async_response_gen()]
    assert str(sync) == str(awaited) == "text text"
    assert "".join(stream.response_gen).split() == "".join(pieces).split() == ["text", "text"]
    assert len(pieces) > 1
    assert llm.given[0] == llm.given[1] == llm.given[2] == llm.given[3]
    assert (
        sync.source_nodes == awaited.source_nodes == stream.source_nodes == astream.source_nodes == [NODES[1]]
    )
    assert str(await synthesizer(completing).asynthesize(QUESTION, NODES)) == "text text"
    completed = synthesizer(completing, streaming=True).synthesize(QUESTION, NODES)
    assert "".join(completed.response_gen).split() == ["text", "text"]


async def test_nothing_to_answer_from_can_be_streamed_too():
    made = synthesizer(streaming=True)

    sync, awaited = made.synthesize(QUESTION, []), await made.asynthesize(QUESTION, [])

    assert "".join(sync.response_gen) == "Empty Response"
    assert "".join([piece async for piece in awaited.async_response_gen()]) == "Empty Response"


class _Animal(BaseModel):
    name: str


class _Structured(Recorder):
    """Answers with a JSON object, as a model with a schema does."""

    def structured_predict(self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **kwargs: Any) -> Any:
        self._given.append(prompt.format_messages())
        return output_cls(name="fish")

    async def astructured_predict(
        self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **kwargs: Any
    ) -> Any:
        return self.structured_predict(output_cls, prompt)


async def test_an_answer_may_be_an_object_and_braces_still_are_text():
    llm = _Structured()
    made = synthesizer(llm, output_cls=_Animal)

    response = made.synthesize(QUESTION, [node("Fish {swim} {{far}}.", 0.5)])

    assert isinstance(response, PydanticResponse)
    assert response.response == _Animal(name="fish")
    assert "Fish {swim} {{far}}." in llm.given[0][1].content
    assert (await made.asynthesize(QUESTION, NODES)).response == _Animal(name="fish")


async def test_texts_alone_are_taken_as_llama_index_gives_them():
    made = synthesizer(config=ContextConfig(min_relevance=0.0))

    assert made.get_response(QUESTION, ["Fish swim."]) == "text text"
    assert await made.aget_response(QUESTION, ["Fish swim."]) == "text text"


# --- events, options, budget ---


class _Events(BaseEventHandler):
    seen: list = []  # noqa: RUF012  # a field of a model

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.seen.append(event)


@pytest.fixture
def listening():
    root, events, spans = get_dispatcher(), _Events(), SimpleSpanHandler()
    handlers = root.event_handlers, root.span_handlers
    root.event_handlers, root.span_handlers = [*handlers[0], events], [*handlers[1], spans]
    yield events.seen, spans
    root.event_handlers, root.span_handlers = handlers


async def test_both_ways_tell_the_same_events_inside_a_span(listening):
    events, spans = listening
    kinds = (SynthesizeStartEvent, ContextEvent, SynthesizeEndEvent)

    synthesizer().synthesize(QUESTION, NODES)
    told = [type(event) for event in events if isinstance(event, kinds)]
    events.clear()
    await synthesizer().asynthesize(QUESTION, NODES)

    assert told == [type(event) for event in events if isinstance(event, kinds)] == list(kinds)
    names = {span.id_.partition("-")[0] for span in spans.completed_spans}
    assert {"ContextSynthesizer.synthesize", "ContextSynthesizer.asynthesize"} <= names


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("scores", "best"),
        ("dates", "date"),
        ("relevance", "magic"),
        ("token_counter", 5),
        ("summarizer", 5),
        ("config", {}),
        ("llm", "gpt"),
        ("memory", 5),
        ("sources", "notes"),
        ("sources", 5),
        ("sources", {"notes": list}),
        ("sources", ChatMemoryBuffer.from_defaults()),
        ("metadata_mode", "some"),
        ("system_instructions", 5),
        ("state", 5),
        ("now", "today"),
        ("streaming", "yes"),
        ("output_cls", dict),
        ("empty_response", 5),
    ],
)
def test_a_bad_option_is_refused_when_it_is_made(option: str, value: object):
    with pytest.raises(ConfigError) as refused:
        ContextSynthesizer(**{"llm": MockLLM(), option: value})

    assert (refused.value.field, refused.value.value) == (option, value)


def test_an_unknown_option_is_refused_with_the_nearest_known_one():
    with pytest.raises(ConfigError, match=r"option of ContextSynthesizer .* perhaps 'memory', got 'memry'"):
        synthesizer(memry=[])


def test_a_setting_of_the_build_is_sent_to_the_config():
    with pytest.raises(ConfigError, match=r"must be in config=ContextConfig\(max_tokens=...\), got"):
        synthesizer(max_tokens=100)


def test_a_thing_that_cannot_be_asked_is_named_by_its_place_with_what_would_do():
    with pytest.raises(
        ConfigError, match=r"sources\[1\] must be a retriever, an index, a memory, an object .* 5$"
    ):
        synthesizer(sources=[lambda query: [], 5])


@pytest.mark.parametrize(
    "memory",
    [
        [("user", "I keep fish."), ("assistant", "Which?"), ("user", QUESTION)],
        [
            {"role": "user", "content": "I keep fish."},
            {"role": "assistant", "content": "Which?"},
            {"role": "user", "content": QUESTION},
        ],
        [ChatMessage("I keep fish."), ChatMessage(role="assistant", content="Which?"), ChatMessage(QUESTION)],
    ],
)
def test_a_conversation_is_a_list_of_messages_in_any_form(memory: list[Any]):
    context = synthesizer(memory=memory).build(QUESTION)

    assert "[Context]\nuser: I keep fish.\nassistant: Which?\n\n" in context.text
    assert context.text.count(QUESTION) == 1


def test_what_is_no_message_is_named_by_its_place_in_the_memory():
    talk = [ChatMessage("Hi.")]
    made = synthesizer(memory=talk)
    talk.append("Fish?")

    with pytest.raises(ConfigError, match=r"memory\[0\] must be a dict with role and content"):
        synthesizer(memory=["Fish?"])
    with pytest.raises(ConfigError, match=r"memory\[1\] must be a dict with role and content"):
        made.build(QUESTION)


def test_an_embedding_model_scores():
    near = [node("Fish swim in the sea."), node("Profits rose by a tenth.")]

    built = synthesizer(relevance=BundledEmbedding()).build(QUESTION, near)
    named = synthesizer(relevance="semantic").build(QUESTION, near)

    assert [v.relevance for v in built.kept] == [v.relevance for v in named.kept]


def test_without_a_minimum_all_answers_of_a_sub_question_engine_stand():
    answers = [node("Sub question: Cats?\nResponse: They sleep."), node("Sub question: Why?\nResponse: No.")]

    some = synthesizer().build(QUESTION, answers)
    every = synthesizer(config=ContextConfig(min_relevance=0)).build(QUESTION, answers)

    assert len(some.kept) == 0
    assert [verdict.packet.origin for verdict in every.kept] == answers


@pytest.mark.parametrize("query", ["", " \n", QueryBundle(""), 5, None])
async def test_a_question_that_is_none_is_refused(query: Any):
    refusal = "query must be a text that is not empty, or a QueryBundle with one"

    with pytest.raises(ConfigError, match=refusal):
        synthesizer().synthesize(query, NODES)
    with pytest.raises(ConfigError, match=refusal):
        await synthesizer().asynthesize(query, NODES)
    with pytest.raises(ConfigError, match=refusal):
        synthesizer().build(query, NODES)


def test_a_node_without_a_place_for_a_score_is_named():
    with pytest.raises(
        ConfigError, match=r"nodes\[1\] must be a NodeWithScore, such as NodeWithScore\(node=...\)"
    ):
        synthesizer().build(QUESTION, [NODES[0], TextNode(text="Fish swim.")])
    with pytest.raises(ConfigError, match="nodes must be a list of NodeWithScore"):
        synthesizer().build(QUESTION, NODES[0])


def test_its_skeleton_is_not_changed_through_prompts():
    assert synthesizer().get_prompts() == {}
    with pytest.raises(ConfigError, match=r"the skeleton is config\.template"):
        synthesizer().update_prompts({"text_qa_template": None})


class _Small(MockLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=500, num_output=100)


def test_the_budget_is_the_window_without_prompt_and_answer():
    llm = _Small(system_prompt="ssss")

    assert budget_for(llm, token_counter=len) == 500 - 100 - 4
    assert budget_for(llm, prompt="pp", output_tokens=50, token_counter=len) == 500 - 50 - 4 - 2
    assert budget_for(MockLLM(), token_counter=len) == 3_900 - 256
    with pytest.raises(ConfigError, match="output_tokens must be less than the 494"):
        budget_for(llm, prompt="pp", output_tokens=494, token_counter=len)


@pytest.mark.parametrize(
    ("llm", "options", "named"),
    [
        ("gpt", {}, "llm must be a LlamaIndex LLM, such as Settings.llm, got 'gpt'"),
        (None, {}, "llm must be a LlamaIndex LLM, such as Settings.llm, got None"),
        (MockLLM(), {"output_tokens": -5}, "output_tokens must be a whole number from 0, or None, got -5"),
        (MockLLM(), {"output_tokens": "5"}, "output_tokens must be a whole number from 0, or None, got '5'"),
        (
            MockLLM(),
            {"output_tokens": True},
            "output_tokens must be a whole number from 0, or None, got True",
        ),
        (
            MockLLM(),
            {"prompt": 5},
            "prompt must be the text that is written around what packline packs, got 5",
        ),
    ],
)
def test_a_budget_for_what_is_no_model_or_no_number_is_refused(llm: Any, options: Any, named: str):
    with pytest.raises(ConfigError) as refused:
        budget_for(llm, **options)

    assert str(refused.value) == named


async def test_many_questions_at_once_do_not_mix():
    made = synthesizer(memory=[ChatMessage("Hello.")])
    questions = [f"What does animal {n} do?" for n in range(20)]

    contexts = await asyncio.gather(
        *(made.abuild(q, [node(f"Animal {n} sleeps.", 0.5)]) for n, q in enumerate(questions))
    )

    assert [context.request.question for context in contexts] == questions
    assert all(f"Animal {n} sleeps." in context.text for n, context in enumerate(contexts))
