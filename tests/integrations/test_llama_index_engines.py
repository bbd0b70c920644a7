"""Real engines: what a model is sent through each, and for which of them a postprocessor holds a budget."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.chat_engine import CondensePlusContextChatEngine, CondenseQuestionChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.tools import RetrieverTool
from llama_index.vector_stores.chroma import ChromaVectorStore
from llama_index_packline import (
    BundledEmbedding,
    ContextMemoryBlock,
    ContextPostprocessor,
    ContextSynthesizer,
    collect_contexts,
)

from packline import ContextConfig, token_counter

QUESTION = "How far do the fish of the north sea swim?"
BUDGET = 1_500
COUNTER = token_counter("cl100k_base")


class Recorder(MockLLM):
    """A completing model that keeps its prompts, and answers what it is told to."""

    answer: str = ""
    _prompts: list[Any] = PrivateAttr(default_factory=list)

    def __init__(self, answer: str = "They swim far.", **options: Any) -> None:
        super().__init__(**options)
        self.answer = answer

    @property
    def prompts(self) -> list[Any]:
        return self._prompts

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self._prompts.append(prompt)
        return CompletionResponse(text=self.answer)


class ChatRecorder(Recorder):
    """A chat model, likewise."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True)

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self._prompts.append(list(messages))
        return ChatResponse(message=ChatMessage(role="assistant", content=self.answer))

    @llm_chat_callback()
    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        response = self.chat(messages)

        async def pieces() -> ChatResponseAsyncGen:
            response.delta = self.answer
            yield response

        return pieces()


def documents() -> list[Document]:
    """Thirty documents of about 550 tokens, with metadata that a model sees."""
    seas, places = ("north", "south", "east"), ("harbour", "reef", "coast")
    return [
        Document(
            text=" ".join(
                f"Fish {(n * 31 + line * 7) % 9973} of the {seas[(n + line) % 3]} sea swims "
                f"{(n * line) % 97} miles a day near the {places[(n * line) % 3]}."
                for line in range(30)
            ),
            metadata={"file_path": f"/data/fish/{n}.txt", "page": n},
            excluded_embed_metadata_keys=["file_path", "page"],
        )
        for n in range(30)
    ]


@pytest.fixture(scope="module")
def index() -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(documents(), embed_model=BundledEmbedding())


def shown(nodes: list[NodeWithScore]) -> str:
    return "\n\n".join(node.node.get_content(metadata_mode=MetadataMode.LLM).strip() for node in nodes)


@pytest.mark.parametrize(
    ("mode", "around"), [("compact", 60), ("tree_summarize", 60), ("compact_accumulate", 60)]
)
def test_an_engine_that_joins_its_nodes_sends_what_was_packed_in_one_call(
    index: VectorStoreIndex, mode: str, around: int
):
    llm = Recorder()
    engine = index.as_query_engine(
        llm=llm,
        similarity_top_k=20,
        response_mode=mode,
        node_postprocessors=[ContextPostprocessor(max_tokens=BUDGET, snippet_share=0.5)],
    )

    with collect_contexts() as contexts:
        response = engine.query(QUESTION)

    [prompt], [context] = llm.prompts, contexts
    assert 0.95 * BUDGET <= context.tokens <= BUDGET
    assert context.text == shown(response.source_nodes)
    assert context.text in prompt
    assert COUNTER.count(prompt) <= BUDGET + around


def test_refine_sends_each_node_in_a_call_of_its_own_so_that_no_call_holds_all(index: VectorStoreIndex):
    llm = Recorder()
    engine = index.as_query_engine(
        llm=llm,
        similarity_top_k=20,
        response_mode="refine",
        node_postprocessors=[ContextPostprocessor(max_tokens=BUDGET)],
    )

    response = engine.query(QUESTION)

    assert len(llm.prompts) == len(response.source_nodes) == 3
    assert (
        sum(map(COUNTER.count, llm.prompts)) > BUDGET
    )  # each call adds its instructions and the last answer


def test_simple_summarize_sends_the_written_form_of_a_list(index: VectorStoreIndex):
    llm = Recorder()
    engine = index.as_query_engine(
        llm=llm,
        similarity_top_k=20,
        response_mode="simple_summarize",
        node_postprocessors=[ContextPostprocessor(max_tokens=BUDGET)],
    )

    with collect_contexts() as contexts:
        engine.query(QUESTION)

    assert contexts[0].text not in llm.prompts[0]
    assert r"\n\n" in llm.prompts[0]


@pytest.mark.parametrize(("size", "excess"), [(512, 1.04), (200, 1.15), (100, 1.4)])
def test_the_citation_engine_splits_again_and_exceeds_the_budget_where_the_synthesizer_holds_it(
    index: VectorStoreIndex, size: int, excess: float
):
    postprocessed, synthesized = Recorder(), Recorder()
    splitter = TokenTextSplitter(chunk_size=size, chunk_overlap=20)
    options = {"similarity_top_k": 20, "text_splitter": splitter}
    packed = ContextPostprocessor(max_tokens=BUDGET)
    synthesizer = ContextSynthesizer(synthesized, config=ContextConfig(max_tokens=BUDGET))

    CitationQueryEngine.from_args(index, llm=postprocessed, node_postprocessors=[packed], **options).query(
        QUESTION
    )
    CitationQueryEngine.from_args(index, llm=synthesized, response_synthesizer=synthesizer, **options).query(
        QUESTION
    )

    [cited], [held] = postprocessed.prompts, synthesized.prompts
    sources = cited[cited.index("Source 1") :]
    assert COUNTER.count(sources) > excess * BUDGET
    assert COUNTER.count(held) <= BUDGET


async def test_the_synthesizer_in_a_query_engine_answers_in_both_ways(index: VectorStoreIndex):
    llm = ChatRecorder()
    synthesizer = ContextSynthesizer(llm, config=ContextConfig(max_tokens=BUDGET))
    engine = RetrieverQueryEngine(index.as_retriever(similarity_top_k=20), response_synthesizer=synthesizer)

    with collect_contexts() as contexts:
        response, awaited = engine.query(QUESTION), await engine.aquery(QUESTION)

    assert str(response) == str(awaited) == "They swim far."
    assert contexts[0].text == contexts[1].text
    assert contexts[0].tokens <= BUDGET
    assert {node.node_id for node in response.source_nodes} == {
        verdict.packet.id for verdict in (*contexts[0].kept, *contexts[0].shortened)
    }


def test_chroma_and_its_scores_work_as_any_store(tmp_path: Path):
    client = chromadb.EphemeralClient()
    collection = client.create_collection("fish", embedding_function=None)
    storage = StorageContext.from_defaults(vector_store=ChromaVectorStore(chroma_collection=collection))
    stored = VectorStoreIndex.from_documents(
        documents(), storage_context=storage, embed_model=BundledEmbedding()
    )
    llm = Recorder()

    with collect_contexts() as contexts:
        response = stored.as_query_engine(
            llm=llm, similarity_top_k=10, node_postprocessors=[ContextPostprocessor(max_tokens=BUDGET)]
        ).query(QUESTION)

    assert 0.9 * BUDGET <= contexts[0].tokens <= BUDGET
    assert contexts[0].text in llm.prompts[0]
    assert len(response.source_nodes) >= 2


def test_condense_plus_context_answers_from_what_was_packed(index: VectorStoreIndex):
    llm = ChatRecorder()
    engine = CondensePlusContextChatEngine.from_defaults(
        retriever=index.as_retriever(similarity_top_k=20),
        llm=llm,
        memory=ChatMemoryBuffer.from_defaults(chat_history=[ChatMessage("I like fish.")], token_limit=2_000),
        node_postprocessors=[ContextPostprocessor(max_tokens=BUDGET)],
    )

    with collect_contexts() as contexts:
        response = engine.chat(QUESTION)

    assert str(response) == "They swim far."
    assert contexts[0].tokens <= BUDGET
    assert any(contexts[0].text in str(message.content) for message in llm.prompts[-1])


def test_a_chat_engine_with_the_synthesizer_puts_conversation_and_nodes_under_one_budget(
    index: VectorStoreIndex,
):
    llm = ChatRecorder()
    memory = ChatMemoryBuffer.from_defaults(
        chat_history=[ChatMessage(role="user", content=f"Remark {n} about boats.") for n in range(300)]
    )
    query_engine = RetrieverQueryEngine(
        index.as_retriever(similarity_top_k=20),
        response_synthesizer=ContextSynthesizer(llm, config=ContextConfig(max_tokens=BUDGET), memory=memory),
    )
    engine = CondenseQuestionChatEngine.from_defaults(query_engine=query_engine, llm=llm, memory=memory)

    with collect_contexts() as contexts:
        response = engine.chat(QUESTION)

    assert str(response) == "They swim far."
    assert sum(COUNTER.count(str(message.content)) for message in llm.prompts[-1]) <= BUDGET
    assert "Remark 299 about boats." in contexts[0].text
    assert len(memory.get_all()) == 302


def test_a_retriever_tool_gives_an_agent_what_was_packed(index: VectorStoreIndex):
    tool = RetrieverTool.from_defaults(
        index.as_retriever(similarity_top_k=20), node_postprocessors=[ContextPostprocessor(max_tokens=BUDGET)]
    )

    with collect_contexts() as contexts:
        output = tool.call(QUESTION)

    assert contexts[0].request.question.endswith(QUESTION)
    assert len(output.raw_output) == len(contexts[0].kept) + len(contexts[0].shortened)


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # of workflows, which looks at every member of a model
async def test_an_agent_sees_of_a_long_conversation_what_matters():
    llm = ChatRecorder(answer="Thought: I can answer without using any more tools.\nAnswer: In Lisbon.")
    block = ContextMemoryBlock(max_tokens=200)
    memory = Memory.from_defaults(
        session_id="agent",
        insert_method="user",
        token_limit=600,
        token_flush_size=60,
        chat_history_token_ratio=0.5,
        memory_blocks=[block],
    )
    await memory.aput(ChatMessage(role="user", content="My sister lives in Lisbon, near the harbour."))
    for n in range(80):
        role = "assistant" if n % 2 else "user"
        await memory.aput(ChatMessage(role=role, content=f"Remark {n} about the weather and the garden."))

    with collect_contexts() as contexts:
        answer = await ReActAgent(tools=[], llm=llm).run("Where does my sister live?", memory=memory)

    seen = "\n".join(str(message.content) for message in llm.prompts[-1])
    await memory.sql_store._async_engine.dispose()
    assert str(answer) == "In Lisbon."
    assert "My sister lives in Lisbon" in seen
    assert contexts[-1].tokens <= 200
    assert "Remark 20 about" not in seen


def test_postprocessors_stand_in_a_row(index: VectorStoreIndex):
    nodes = index.as_retriever(similarity_top_k=20).retrieve(QUESTION)
    wide, narrow = ContextPostprocessor(max_tokens=3_000), ContextPostprocessor(max_tokens=800)

    result = narrow.postprocess_nodes(
        wide.postprocess_nodes(nodes, QueryBundle(QUESTION)), QueryBundle(QUESTION)
    )

    assert 0.9 * 800 <= COUNTER.count(shown(result)) <= 800
