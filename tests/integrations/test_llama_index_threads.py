"""What is awaited does not hold the event loop: reading, scoring and shortening are done in threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer, SimpleComposableMemory
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index_packline import (
    ContextMemoryBlock,
    ContextPostprocessor,
    ContextSynthesizer,
    collect_contexts,
    memory_sources,
)

from packline import ContextPacket

QUESTION = "What do fish do?"
LONG = " ".join(f"Fish swim in sea {n}." for n in range(200))


class Watched:
    """A scorer and a counter that take down in which threads they work."""

    def __init__(self) -> None:
        self.threads: set[threading.Thread] = set()

    def __call__(self, text: str) -> int:
        self.threads.add(threading.current_thread())
        return len(text)

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> np.ndarray:
        self.threads.add(threading.current_thread())
        return np.full(len(packets), 0.5)


class Read(ChatMessage):
    """A message that takes down in which threads it is read."""

    @property
    def timestamp(self) -> None:
        self.additional_kwargs["threads"].add(threading.current_thread())


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def threads() -> set[threading.Thread]:
    return set()


def message(threads: set[threading.Thread]) -> Read:
    return Read(role="user", content="Fish swim in the sea.", additional_kwargs={"threads": threads})


def check(threads: set[threading.Thread]) -> None:
    assert threads
    assert threading.current_thread() not in threads


async def test_a_memory_block_recalls_in_a_thread(watched: Watched):
    block = ContextMemoryBlock(
        max_tokens=200,
        relevance=watched,
        token_counter=watched,
        messages=[message(watched.threads), ChatMessage(LONG)],
    )

    with collect_contexts() as contexts:
        context = await block.recall(QUESTION)

    check(watched.threads)
    assert contexts == [context]
    assert context.text.startswith("user: Fish swim in the sea.")


async def test_a_memory_block_is_truncated_in_a_thread(watched: Watched):
    await ContextMemoryBlock(token_counter=watched).atruncate(LONG, 100)

    check(watched.threads)


async def test_a_postprocessor_works_in_a_thread(watched: Watched):
    postprocessor = ContextPostprocessor(max_tokens=200, relevance=watched, token_counter=watched)
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in ("Fish swim.", LONG)]

    found = await postprocessor.apostprocess_nodes(nodes, query_str=QUESTION)

    check(watched.threads)
    assert [node.text for node in found] == [
        node.text for node in postprocessor.postprocess_nodes(nodes, query_str=QUESTION)
    ]


async def test_a_synthesizer_reads_and_packs_in_threads(watched: Watched):
    def date(node: object) -> None:
        watched.threads.add(threading.current_thread())

    memory = ChatMemoryBuffer.from_defaults(chat_history=[ChatMessage("My fish is called Ann.")])
    memory.chat_store.store["chat_history"].append(message(watched.threads))
    synthesizer = ContextSynthesizer(
        MockLLM(), memory=memory, relevance=watched, token_counter=watched, dates=date
    )
    watched.threads.clear()

    context = await synthesizer.abuild(QUESTION, [NodeWithScore(node=TextNode(text=LONG))])

    check(watched.threads)
    assert [turn.content for turn in context.request.history] == [
        "My fish is called Ann.",
        "Fish swim in the sea.",
    ]


@pytest.mark.parametrize("place", ["messages", "secondary"])
async def test_a_memory_that_is_a_source_is_read_in_a_thread(place: str, threads: set[threading.Thread]):
    buffer = ChatMemoryBuffer.from_defaults()
    buffer.chat_store.store["chat_history"] = [message(threads)]
    composed = SimpleComposableMemory(
        primary_memory=ChatMemoryBuffer.from_defaults(), secondary_memory_sources=[buffer]
    )
    source = memory_sources(buffer)[0] if place == "messages" else memory_sources(composed)[1]

    (packet,) = await source.aask(QUESTION)

    check(threads)
    assert packet.content == "Fish swim in the sea."
