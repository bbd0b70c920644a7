"""What a scorer remembers belongs to one postprocessor, block or synthesizer, and goes with it."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import weakref

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index_packline import (
    BundledEmbedding,
    ContextMemoryBlock,
    ContextPostprocessor,
    ContextSynthesizer,
)

TEXTS = ["Fish swim in the sea.", "Profits rose by a tenth."]
QUESTION = "What do fish do?"
MODEL = BundledEmbedding()


class Counting(BundledEmbedding):
    """The bundled model, which keeps what it was asked for."""

    texts: list[str] = []  # noqa: RUF012  # a field of a model

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self.texts.extend(texts)
        return super()._get_text_embeddings(texts)


def nodes() -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(text=text)) for text in TEXTS]


@pytest.mark.parametrize("relevance", ["lexical", "hybrid", MODEL], ids=["lexical", "hybrid", "model"])
async def test_no_node_outlives_its_postprocessor_and_no_message_its_block(relevance: object):
    given = nodes()
    alive = [weakref.ref(node.node) for node in given]
    postprocessor = ContextPostprocessor(relevance=relevance, scores="ignore")
    postprocessor.postprocess_nodes(given, query_str=QUESTION)
    ContextSynthesizer(MockLLM(), relevance=relevance).build(QUESTION, given)
    block = ContextMemoryBlock(relevance=relevance)
    await block.aput([ChatMessage(text) for text in TEXTS])
    await block.aget([ChatMessage(QUESTION)])
    alive += [weakref.ref(message) for message in block.messages]

    del given, postprocessor, block
    await asyncio.get_running_loop().shutdown_default_executor()  # a thread may hold its last result
    gc.collect()

    assert [reference() for reference in alive] == [None] * 4


@pytest.mark.parametrize("relevance", ["hybrid", MODEL], ids=["hybrid", "model"])
def test_another_postprocessor_with_the_same_model_has_a_scorer_of_its_own(relevance: object):
    first, second = ContextPostprocessor(relevance=relevance), ContextPostprocessor(relevance=relevance)

    assert first._scorers.of(relevance) is first._scorers.of(relevance)
    assert first._scorers.of(relevance) is not second._scorers.of(relevance)


def test_a_copy_of_a_postprocessor_embeds_no_text_again():
    model = Counting()
    postprocessor = ContextPostprocessor(relevance=model, scores="ignore")
    changed = postprocessor.model_copy(update={"max_tokens": 500})

    for each in (postprocessor, changed, copy.copy(postprocessor)):
        each.postprocess_nodes(nodes(), query_str=QUESTION)

    assert sorted(model.texts) == sorted(TEXTS)


async def test_what_a_scorer_remembers_is_not_pickled():
    block = ContextMemoryBlock(messages=[ChatMessage(text) for text in TEXTS])
    before = len(pickle.dumps(block))
    told = await block.aget([ChatMessage(QUESTION)])

    again = pickle.loads(pickle.dumps(block))

    assert len(pickle.dumps(block)) == before
    assert await again.aget([ChatMessage(QUESTION)]) == told
