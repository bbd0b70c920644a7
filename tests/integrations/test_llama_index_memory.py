"""Memories as sources, and a memory block: read whole, in time, and without blocking anyone."""

import asyncio
import threading
from typing import Any

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms import types
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.llms import MockLLM
from llama_index.core.memory import (
    BaseMemoryBlock,
    ChatMemoryBuffer,
    Memory,
    SimpleComposableMemory,
    StaticMemoryBlock,
    VectorMemory,
)
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index_packline import (
    BundledEmbedding,
    ContextMemoryBlock,
    aread_memory,
    memory_sources,
    read_memory,
    retriever_source,
)

from packline import ConfigError, ContextBuilder, ContextConfig, Kind, Reason

TALK = [
    ChatMessage(role="user", content="My cat is called Miso."),
    ChatMessage(role="assistant", content="A fine name."),
]


@pytest.fixture
async def remembering():
    """Makes a `Memory`, and closes its database at the end."""
    memories: list[Memory] = []

    def make(**options: Any) -> Memory:
        memories.append(Memory.from_defaults(**{"session_id": "session", **options}))
        return memories[-1]

    yield make
    for memory in memories:
        await memory.sql_store._async_engine.dispose()


def on_the_loop() -> threading.Event:
    """What the event loop will set if it gets to run."""
    beat = threading.Event()
    asyncio.get_running_loop().call_later(0.05, beat.set)
    return beat


def wait(beat: threading.Event) -> None:
    if not beat.wait(10):
        raise TimeoutError("nothing else ran in the meantime")


def many(count: int) -> list[ChatMessage]:
    return [
        ChatMessage(role="user" if n % 2 == 0 else "assistant", content=f"Message {n} on topic {n % 97}.")
        for n in range(count)
    ]


def built(sources: list[Any], question: str = "What is my cat called?", *, history=(), **options: Any):
    config = ContextConfig(**{"min_relevance": 0.0, **options})
    builder = ContextBuilder(config=config, sources=sources, token_counter=len)
    return builder.build(question, conversation_history=history)


def contents(packets) -> list[str]:
    return [packet.content for packet in packets]


async def asked(source, question: str = "What is my cat called?"):
    return await source.aask(question)


# --- reading ---


async def test_every_memory_is_read_whole_in_both_ways():
    store = SimpleChatStore()
    store.set_messages("chat_history", TALK)
    memories = [
        TALK,
        tuple(TALK),
        ChatMemoryBuffer.from_defaults(chat_history=TALK, token_limit=1),
        ChatMemoryBuffer.from_defaults(chat_store=store),
        SimpleComposableMemory(primary_memory=ChatMemoryBuffer.from_defaults(chat_history=TALK)),
    ]

    for memory in memories:
        assert await aread_memory(memory) == TALK
        assert read_memory(memory) == TALK


async def test_what_was_read_is_not_the_memorys_own_list():
    memory = ChatMemoryBuffer.from_defaults(chat_history=TALK)

    (await aread_memory(memory)).clear()

    assert await aread_memory(memory) == TALK


def test_what_is_no_memory_is_refused_at_once():
    refusal = "memory must be a LlamaIndex memory, or a list of messages, got 'talk'"

    with pytest.raises(ConfigError, match=refusal):
        read_memory("talk")
    with pytest.raises(ConfigError, match=refusal):
        memory_sources("talk")


def test_a_list_of_messages_is_a_source_without_blocks():
    [source] = memory_sources(TALK, name="talk")

    context = ContextBuilder(sources=[source], config=ContextConfig(min_relevance=0)).build("What was said?")

    assert source.name == "talk"
    assert [verdict.packet.origin for verdict in context.kept] == TALK


async def test_of_a_memory_with_blocks_the_active_messages_are_read_and_the_flushed_ones_on_request(
    remembering,
):
    memory = remembering(
        session_id="flushed", token_limit=60, chat_history_token_ratio=0.5, token_flush_size=10
    )
    for message in many(12):
        await memory.aput(message)

    active, everything = await aread_memory(memory), await aread_memory(memory, archived=True)

    assert 0 < len(active) < 12
    assert everything[-len(active) :] == active
    assert [message.content for message in everything] == [message.content for message in many(12)]


def test_a_memory_that_can_only_search_is_searched_for_the_question():
    memory = VectorMemory.from_defaults(
        vector_store=None, embed_model=BundledEmbedding(), retriever_kwargs={"similarity_top_k": 1}
    )
    for message in [*TALK, ChatMessage(role="user", content="The train to Porto leaves at nine.")]:
        memory.put(message)

    [found] = read_memory(memory, question="When does the train leave?")

    assert found.content == "The train to Porto leaves at nine."


async def test_ten_first_calls_at_once_on_a_fresh_memory_all_succeed(remembering):
    memory = remembering(session_id="fresh")

    results = await asyncio.gather(*(aread_memory(memory) for _ in range(10)))

    assert results == [[]] * 10


def test_ten_first_calls_from_ten_threads_all_succeed(remembering):
    memory = remembering(session_id="threads")

    context = built([source for _ in range(10) for source in memory_sources(memory)])

    assert context.failures == ()


@pytest.mark.timeout(60)
def test_twenty_thousand_messages_of_a_buffer_are_read_without_its_get_which_takes_over_half_an_hour():
    memory = ChatMemoryBuffer.from_defaults(chat_history=many(20_000))

    assert len(read_memory(memory)) == 20_000


@pytest.mark.timeout(120)
async def test_twenty_thousand_messages_of_a_database_are_read(remembering):
    memory = remembering(session_id="long")
    await aread_memory(memory)
    for start in range(0, 20_000, 5_000):
        await memory.sql_store.add_messages("long", many(20_000)[start : start + 5_000])

    assert len(await aread_memory(memory)) == 20_000


async def test_reading_works_inside_a_running_loop_in_both_ways(remembering):
    memory = remembering(session_id="loop", chat_history=TALK)

    assert [message.content for message in read_memory(memory)] == [message.content for message in TALK]
    assert [message.content for message in await aread_memory(memory)] == [
        message.content for message in TALK
    ]


# --- sources ---


def calling(text: str, *, as_block: bool = False) -> ChatMessage:
    """An assistant message that calls a tool: in LlamaIndex's own block, or as OpenAI's adapter writes it."""
    if as_block:
        call = types.ToolCallBlock(tool_call_id="1", tool_name="weather", tool_kwargs={"city": "Porto"})
        return ChatMessage(role="assistant", blocks=[TextBlock(text=text), call])
    function = {"name": "weather", "arguments": '{"city": "Porto"}'}
    calls = [{"id": "1", "type": "function", "function": function}]
    return ChatMessage(role="assistant", content=text, additional_kwargs={"tool_calls": calls})


def answering(text: str) -> ChatMessage:
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": "1"})


@pytest.mark.parametrize("as_block", [False, True])
async def test_messages_become_turns_and_a_tool_call_stays_with_its_results(as_block: bool):
    if as_block and not hasattr(types, "ToolCallBlock"):
        pytest.skip("this version of llama-index-core has no blocks for tool calls")
    talk = [
        ChatMessage(role="user", content="And the weather?"),
        calling("I look.", as_block=as_block),
        answering("Rain."),
        ChatMessage(role="assistant", content="It rains."),
    ]

    [source] = memory_sources(ChatMemoryBuffer.from_defaults(chat_history=talk))
    packets = await asked(source)

    assert contents(packets) == [
        "And the weather?",
        'I look.\n[calls weather({"city": "Porto"})]\n[result] Rain.',
        "It rains.",
    ]
    assert packets[1].origin == (talk[1], talk[2])
    assert {packet.kind for packet in packets} == {Kind.HISTORY}


async def test_messages_with_images_or_without_content_are_read():
    talk = [
        ChatMessage(
            role="user", blocks=[TextBlock(text="What is this?"), ImageBlock(url="http://127.0.0.1/a.png")]
        ),
        ChatMessage(role="assistant", blocks=[]),
    ]

    [source] = memory_sources(ChatMemoryBuffer.from_defaults(chat_history=talk))

    assert contents(await asked(source)) == ["What is this?\n[image]", ""]


class _Failing(BaseMemoryBlock[str]):
    async def _aget(self, messages=None, **kwargs: Any) -> str:
        raise ConnectionError("the block is away")

    async def _aput(self, messages) -> None:
        pass


class _Given(BaseMemoryBlock[Any]):
    """Gives what it was given, and notes what it was asked."""

    given: Any = None
    asked: list = []  # noqa: RUF012  # a field of a model

    async def _aget(self, messages=None, **kwargs: Any) -> Any:
        self.asked.append(([message.content for message in messages], kwargs))
        return self.given

    async def _aput(self, messages) -> None:
        pass


def test_each_block_is_one_memory_and_one_that_fails_costs_only_itself(remembering):
    static = StaticMemoryBlock(name="facts", static_content="The user is called Ana.")
    memory = remembering(
        session_id="blocks", chat_history=TALK, memory_blocks=[static, _Failing(name="broken")]
    )

    context = built(memory_sources(memory))

    assert [(v.source, v.packet.kind, v.packet.id) for v in context.kept if v.source != "memory"] == [
        ("memory/facts", Kind.MEMORY, "facts")
    ]
    assert [(failure.source, str(failure.error)) for failure in context.failures] == [
        ("memory/broken", "the block is away")
    ]
    assert "Memory: The user is called Ana." in context.text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("a text", "a text"),
        ([TextBlock(text="a block"), ImageBlock(url="http://127.0.0.1/a.png")], "a block\n[image]"),
        (TALK, "user: My cat is called Miso.\nassistant: A fine name."),
        (None, None),
        ("", None),
    ],
)
async def test_a_block_may_give_a_text_blocks_or_messages(given: Any, text: str | None, remembering):
    block = _Given(name="given", given=given)
    memory = remembering(session_id="any", chat_history=TALK, memory_blocks=[block])

    packets = await asked(memory_sources(memory)[1])

    assert contents(packets) == ([] if text is None else [text])
    assert block.asked[-1] == (
        ["My cat is called Miso.", "A fine name.", "What is my cat called?"],
        {"session_id": "any"},
    )


async def test_secondary_memories_are_sources_of_their_own():
    secondary = ChatMemoryBuffer.from_defaults(chat_history=[ChatMessage("Long ago.")])
    memory = SimpleComposableMemory(
        primary_memory=ChatMemoryBuffer.from_defaults(chat_history=TALK), secondary_memory_sources=[secondary]
    )

    primary, other = memory_sources(memory)

    assert len(await asked(primary)) == 2
    assert (other.name, contents(await asked(other))) == ("memory/0", ["Long ago."])


# --- known complaints about buffers ---


def test_a_system_prompt_larger_than_the_memorys_limit_does_not_fail():
    talk = [ChatMessage(role="system", content="Be kind. " * 100), *TALK]
    memory = ChatMemoryBuffer.from_defaults(chat_history=talk, token_limit=50)

    context = built([], history=read_memory(memory), max_tokens=1_000)

    assert "My cat is called Miso." in context.text
    assert context.tokens <= 1_000


def test_two_hundred_turns_in_a_window_of_2048_use_it():
    talk = [
        ChatMessage(
            role="user" if n % 2 == 0 else "assistant", content=f"Turn {n}: " + "some words here. " * 10
        )
        for n in range(400)
    ]
    config = ContextConfig(max_tokens=2_048, min_relevance=0.0, reserve_ratio=0.0)

    context = ContextBuilder(config=config).build("What was said in turn 7?", conversation_history=talk)

    assert 0.9 * 2_048 <= context.tokens <= 2_048


def test_whatever_is_left_out_the_system_message_comes_first_and_the_question_last():
    for budget in range(400, 3_000, 100):
        config = ContextConfig(max_tokens=budget, min_relevance=0.0)
        builder = ContextBuilder(config=config, token_counter=len)
        context = builder.build("Topic 7?", system_instructions="Be kind.", conversation_history=many(40))

        assert [message.role for message in context.messages] == ["system", "user"]
        assert context.messages[0].content.startswith("[Role & Policies]\nBe kind.")
        assert context.messages[1].content.endswith("[Task]\nTopic 7?")


def test_one_assistant_message_over_the_limit_is_shortened():
    talk = [*TALK, ChatMessage(role="assistant", content="A long story about the sea. " * 500)]

    context = built([], history=talk, max_tokens=2_000)

    assert context.tokens <= 2_000
    assert len(context.shortened) == 1


def test_no_turn_is_torn_from_what_it_belongs_to_whatever_the_budget():
    talk = [
        ChatMessage(role="user", content="And the weather?"),
        calling("I look."),
        answering("Rain. " * 20),
        ChatMessage(role="assistant", content="It rains."),
    ] * 3

    for budget in range(500, 2_500, 50):
        context = built([], history=talk, max_tokens=budget, layout="chat", question="Does it rain?")
        origins = [message.origin for message in context.messages if message.origin is not None]
        flat = [m for o in origins for m in (o if isinstance(o, tuple) else (o,))]
        roles = [message.role.value for message in flat]
        assert all(roles[at - 1] == "assistant" for at, role in enumerate(roles) if role == "tool")


# --- retrievers ---


class _Retriever(BaseRetriever):
    def __init__(self, nodes: list[NodeWithScore], *, after: threading.Event | None = None) -> None:
        super().__init__()
        self.nodes, self.after = nodes, after

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self.after is not None:
            wait(self.after)
        return self.nodes


class _AsyncRetriever(_Retriever):
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


NODES = [
    NodeWithScore(
        node=TextNode(text="Fish swim.", metadata={"file": "a.txt", "date": "2026-01-14"}), score=0.03
    ),
    NodeWithScore(node=TextNode(text="Cats sleep."), score=0.01),
]


async def test_a_retriever_gives_its_nodes_as_evidence_with_metadata_dates_and_identity():
    packets = retriever_source(_Retriever(NODES)).ask("fish")

    assert contents(packets) == ["file: a.txt\ndate: 2026-01-14\n\nFish swim.", "Cats sleep."]
    assert [packet.origin for packet in packets] == NODES
    assert [packet.relevance_score for packet in packets] == [None, None]
    assert (packets[0].timestamp.day, packets[1].timestamp) == (14, None)
    assert {packet.kind for packet in packets} == {Kind.EVIDENCE}


def test_a_retrievers_scores_count_where_that_is_said():
    packets = retriever_source(_Retriever(NODES), scores="rank", metadata_mode="none").ask("fish")

    assert [packet.relevance_score for packet in packets] == [1.0, 0.5]
    assert packets[0].content == "Fish swim."


def test_a_fusion_retriever_and_its_tiny_scores_lose_nothing():
    fusion = QueryFusionRetriever(
        [_Retriever(NODES), _Retriever(NODES[::-1])],
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
        llm=MockLLM(),
    )

    context = built([retriever_source(fusion)], "Do fish swim?")

    assert len(context.kept) == 2
    assert context.failures == ()


@pytest.mark.parametrize("kind", [_Retriever, _AsyncRetriever])
async def test_a_slow_retriever_does_not_block_the_event_loop(kind: type[_Retriever]):
    source = retriever_source(kind(NODES, after=on_the_loop()))

    context = await ContextBuilder(sources=[source], token_counter=len).abuild("Do fish swim?")

    assert context.failures == ()
    assert len(context.kept) == 1


async def test_a_slow_memory_does_not_block_the_event_loop():
    beat = on_the_loop()

    class _Slow(ChatMemoryBuffer):
        def get_all(self) -> list[ChatMessage]:
            wait(beat)
            return super().get_all()

        async def aget_all(self) -> list[ChatMessage]:
            return await asyncio.to_thread(self.get_all)

    assert len(await aread_memory(_Slow.from_defaults(chat_history=TALK))) == len(TALK)


def test_what_is_no_retriever_is_refused():
    with pytest.raises(ConfigError, match="retriever must be a LlamaIndex retriever or index"):
        retriever_source(TALK)
    with pytest.raises(ConfigError, match="scores must be one of"):
        retriever_source(_Retriever(NODES), scores="best")
    with pytest.raises(
        ConfigError, match="metadata_mode must be one of 'all', 'embed', 'llm', 'none', got 'x'"
    ):
        retriever_source(_Retriever(NODES), metadata_mode="x")


# --- the memory block ---


EARLIER = [
    ChatMessage(role="user", content="My sister lives in Lisbon, near the harbour."),
    ChatMessage(role="assistant", content="Lisbon is a fine city."),
    *(ChatMessage(role="user", content=f"Remark {n} about the weather and the garden.") for n in range(40)),
    ChatMessage(role="user", content="My brother keeps bees in Porto."),
]


async def test_a_block_recalls_what_matters_for_the_last_user_message_in_the_order_it_was_spoken():
    block = ContextMemoryBlock(max_tokens=200, token_counter=len, messages=EARLIER)

    told = await block.aget([*TALK, ChatMessage("Where do my sister and my brother live?")])

    assert 0 < len(told) <= 200
    assert told.index("sister lives in Lisbon") < told.index("brother keeps bees")


async def test_a_block_that_holds_nothing_of_it_tells_nothing():
    block = ContextMemoryBlock(messages=[ChatMessage("It rains."), ChatMessage("The soup is hot.")])

    assert await block.aget([ChatMessage("Quantum chromodynamics?")]) == ""
    assert await block.aget([]) == ""
    assert await ContextMemoryBlock().aget([ChatMessage("Anything?")]) == ""


async def test_a_long_turn_that_matters_most_is_told_shortened_however_small_the_block():
    sister = " ".join(f"My sister lives in Lisbon, house {n}." for n in range(60))
    others = [ChatMessage(f"A sister of number {n} may live anywhere.") for n in range(20)]
    block = ContextMemoryBlock(max_tokens=100, messages=[ChatMessage(sister), *others])

    context = await block.recall("Where does my sister live? In Lisbon?")

    assert context.tokens <= 100
    assert [verdict.packet.content for verdict in context.shortened] == [sister]
    assert context.kept


async def test_a_block_tells_each_session_only_what_is_its_own():
    block = ContextMemoryBlock()
    await block.aput([ChatMessage("The code is 1234.")], session_id="one")
    await block.aput([ChatMessage("The code is 9999.")], session_id="two")

    assert await block.aget([ChatMessage("What is the code?")], session_id="one") == "user: The code is 1234."


async def test_a_block_in_a_memory_brings_back_what_was_flushed(remembering):
    block = ContextMemoryBlock(max_tokens=100)
    memory = remembering(
        session_id="recall",
        token_limit=400,
        token_flush_size=50,
        memory_blocks=[block],
        chat_history_token_ratio=0.5,
    )
    for message in EARLIER:
        await memory.aput(message)

    seen = await memory.aget(input="Where does my sister live?")

    active = [message.content for message in await memory.aget_all()]
    assert len(block.messages) > 10
    assert [message.content for message in seen if message.role != "system"]
    assert "Lisbon" in str(seen[0].content)
    assert len(active) < len(EARLIER) + 5


async def test_a_block_that_must_give_way_is_shortened_and_not_dropped():
    block = ContextMemoryBlock(token_counter=len, priority=1)
    told = "user: The first thing. user: The second thing. user: The third thing."

    assert len(await block.atruncate(told, 30)) <= len(told) - 30
    assert await block.atruncate(told, len(told)) is None


async def test_the_account_of_a_recall_says_why():
    block = ContextMemoryBlock(max_tokens=60, token_counter=len, messages=EARLIER)

    context = await block.recall("Where does my sister live?")

    assert context.tokens <= 60
    assert {verdict.reason for verdict in context.kept} == {Reason.SELECTED}
    assert len(context.kept) + len(context.shortened) + len(context.dropped) == len(EARLIER)


@pytest.mark.parametrize("max_tokens", [0.5, lambda question: 60 if "sister" in question else 1])
async def test_the_budget_of_a_block_may_be_a_share_or_follow_the_question(max_tokens: object):
    block = ContextMemoryBlock(max_tokens=max_tokens, context_window=120, token_counter=len, messages=EARLIER)

    context = await block.recall("Where does my sister live?")

    assert context.max_tokens == 60
    assert 0 < context.tokens <= 60


async def test_a_block_with_a_stop_share_recalls_only_what_comes_near_the_best():
    wide, narrow = ContextMemoryBlock(messages=EARLIER), ContextMemoryBlock(messages=EARLIER, stop_share=1.0)

    all_turns, best = [await each.recall("Where does my sister live?") for each in (wide, narrow)]

    assert 1 == len(best.kept) < len(all_turns.kept)


def test_a_block_with_a_share_needs_the_window():
    with pytest.raises(ConfigError, match="context_window must be given where max_tokens is a share of it"):
        ContextMemoryBlock(max_tokens=0.5)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_tokens", 0),
        ("context_window", 0),
        ("stop_share", 1.5),
        ("min_relevance", 2),
        ("relevance", "magic"),
    ],
)
def test_a_blocks_options_are_checked(option: str, value: object):
    with pytest.raises(ConfigError, match=f"^{option} must be"):
        ContextMemoryBlock(**{option: value})
    with pytest.raises(ConfigError, match=f"^{option} must be"):
        setattr(ContextMemoryBlock(), option, value)


def test_an_unknown_option_of_a_block_is_refused_with_the_nearest_known_one():
    with pytest.raises(
        ConfigError, match=r"option of ContextMemoryBlock .* perhaps 'max_tokens', got 'max_token'"
    ):
        ContextMemoryBlock(max_token=1)
