"""What packline is measured against: each keeps candidates of a case within a budget.

A peer is a function from case and budget to the ids of what it keeps and the tokens that take. All use the
same words, the same counter and the same way to count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
from langchain_core.messages import HumanMessage, trim_messages
from llama_index.core.postprocessor import FixedRecencyPostprocessor, SimilarityPostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from numpy.typing import NDArray

from packline import ContextPacket, token_counter
from packline.cli.cases import Case
from packline.embedding import embedding
from packline.relevance.words import words

Kept = tuple[frozenset[str], int]
COUNTER = token_counter()
K1, B = 1.5, 0.75


def written(packet: ContextPacket) -> str:
    """A candidate as it counts."""
    role = packet.metadata.get("role")
    return f"{role}: {packet.content}" if role else packet.content


def filled(case: Case, order: Iterable[int], budget: int, *, stop: bool = False) -> Kept:
    """Keep in `order` what fits: skip what does not, or stop there."""
    kept, left = [], budget + 1
    for place in order:
        packet = case.candidates[place]
        tokens = COUNTER.count(written(packet)) + 1  # with its line break
        if tokens <= left:
            kept.append(packet.id)
            left -= tokens
        elif stop:
            break
        if left < 5:
            break
    return frozenset(kept), budget + 1 - left


def newest(case: Case, budget: int) -> Kept:
    """LangChain's `trim_messages`, which keeps the newest; where nothing was spoken, the last candidates."""
    messages = [HumanMessage(written(packet), id=packet.id) for packet in case.candidates]
    kept = trim_messages(
        messages,
        max_tokens=budget,
        strategy="last",
        token_counter=lambda some: sum(COUNTER.count(str(m.content)) + 1 for m in some),
    )
    return frozenset(str(m.id) for m in kept), sum(COUNTER.count(str(m.content)) + 1 for m in kept)


def book(case: Case, budget: int) -> Kept:
    """The book's way: 0.7 Jaccard + 0.3 recency, nothing below 0.1, end at the first that does not fit."""
    asked = set(case.question.lower().split())
    scores = []
    for place, packet in enumerate(case.candidates):
        text = set(packet.content.lower().split())
        relevance = len(asked & text) / len(asked | text) if text else 0.0
        if relevance >= 0.1:
            days = 0.0
            if case.now and packet.timestamp:
                days = max(0.0, (case.now - packet.timestamp).total_seconds() / 86_400)
            scores.append((-(0.7 * relevance + 0.3 * max(0.1, math.exp(-0.1 * days))), place))
    return filled(case, [place for _, place in sorted(scores)], budget, stop=True)


def bm25(case: Case, budget: int) -> Kept:
    """Lucene's BM25, then what fits from the best down."""
    return filled(case, _by_bm25(case), budget)


@lru_cache(maxsize=1)
def _by_bm25(case: Case) -> NDArray[np.intp]:
    return np.argsort(-_bm25_scores(case), kind="stable")


@lru_cache(maxsize=4)
def _counts(
    candidates: tuple[ContextPacket, ...],
) -> tuple[list[Counter[str]], Counter[str], NDArray[np.float64]]:
    texts = [Counter(words(written(packet))) for packet in candidates]
    containing = Counter(word for text in texts for word in text)
    return texts, containing, np.array([sum(text.values()) for text in texts], dtype=np.float64)


def _bm25_scores(case: Case) -> NDArray[np.float64]:
    texts, containing, lengths = _counts(case.candidates)
    scores = np.zeros(len(texts))
    norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1))
    for word in words(case.question):
        if n := containing[word]:
            tf = np.array([text[word] for text in texts], dtype=np.float64)
            scores += math.log1p((len(texts) - n + 0.5) / (n + 0.5)) * tf / (tf + norm)
    return scores


def llama_index_similarity() -> Callable[[Case, int], Kept]:
    """LlamaIndex's retriever by the bundled embedding, with `SimilarityPostprocessor`, then what fits."""
    model = embedding(None)
    known: dict[tuple[ContextPacket, ...], NDArray[np.float32]] = {}

    @lru_cache(maxsize=1)
    def order(case: Case) -> list[int]:
        if case.candidates not in known:
            known.clear()
            known[case.candidates] = model.documents([written(packet) for packet in case.candidates])
        nodes = _nodes(case, known[case.candidates] @ model.query(case.question))
        nodes = SimilarityPostprocessor(similarity_cutoff=0.1).postprocess_nodes(nodes)
        return [
            int(node.node.metadata["place"]) for node in sorted(nodes, key=lambda node: -(node.score or 0))
        ]

    def kept(case: Case, budget: int) -> Kept:
        return filled(case, order(case), budget)

    return kept


def llama_index_recency(case: Case, budget: int) -> Kept:
    """`FixedRecencyPostprocessor`: the newest of the dated nodes, then what fits."""
    return filled(case, _by_date(case), budget)


@lru_cache(maxsize=1)
def _by_date(case: Case) -> list[int]:
    nodes = _nodes(case, np.ones(len(case.candidates)))
    top = FixedRecencyPostprocessor(top_k=len(nodes), date_key="date")
    newest_first = top.postprocess_nodes(nodes, query_bundle=QueryBundle(case.question))
    return [int(node.node.metadata["place"]) for node in newest_first]


def _nodes(case: Case, scores: NDArray[np.float64]) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(
                text=packet.content,
                id_=packet.id,
                metadata={
                    "place": place,
                    "date": packet.timestamp.isoformat() if packet.timestamp else "1970-01-01",
                },
            ),
            score=float(score),
        )
        for place, (packet, score) in enumerate(zip(case.candidates, scores, strict=True))
    ]
