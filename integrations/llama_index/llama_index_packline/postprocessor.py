"""ContextPostprocessor: the retrieved nodes that fit in a token budget, as the model will see them.

What reaches a model is the text of all nodes with their metadata, joined by blank lines; that is what is
counted. The choice is packline's, this module only hands over nodes and takes them back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from llama_index.core.bridge.pydantic import field_validator
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from llama_index_packline.counting import counter_of
from llama_index_packline.events import dispatcher, reranked, reranking
from llama_index_packline.nodes import (
    DATE_KEYS,
    check_dates,
    check_nodes,
    checked_mode,
    entry,
    has_text,
    packets_of_nodes,
    used_nodes,
)
from llama_index_packline.options import Options, checked_setting
from llama_index_packline.scoring import scorer
from packline import ConfigError, Context, ContextConfig, Gathered, compress, select, structure
from packline.attempt import threaded
from packline.config import RecencyMode
from packline.passages import Passages
from packline.request import Request
from packline.scores import check_policy
from packline.section import Order

__all__ = ["ContextPostprocessor"]

_CHECKED = (
    "min_relevance",
    "recency",
    "half_life_days",
    "merge_duplicates",
    "enable_compression",
    "snippet_share",
)
_SETTINGS = ("max_tokens", "context_window", "stop_share", *_CHECKED)


class ContextPostprocessor(Options, BaseNodePostprocessor):
    """Selects and shortens retrieved nodes, so that what the model sees of them fits in `max_tokens`.

    Nodes that stand whole come back as the same objects. A shortened one is a copy, with its embedding and
    character offsets cleared. Images without any text cost no text and come back last, as given.

    The response modes "compact" (the default), "tree_summarize" and "compact_accumulate" send the nodes once,
    joined as they are counted here, with 37 to 42 tokens of instructions around them. Where an engine cuts
    and sends again, no postprocessor can hold a budget. With one of 1,500 and three nodes of 1,470 tokens:
    "refine" and "accumulate" make one call a node; "simple_summarize" sends the written form of a list; the
    citation engine splits the nodes again, and their 1,470 tokens become 1,557 in pieces of 512, 1,747 in
    pieces of 200, 2,166 in pieces of 100. `ContextSynthesizer` holds its budget in that engine too.

    Args:
        max_tokens: Upper limit of `"\\n\\n".join(node.get_content(metadata_mode).strip() for node in nodes)`.
            A share of `context_window`, above 0 and below 1, will do, or a callable that gives either for
            the question ("" where there is none).
        context_window: Tokens that the model takes, for a `max_tokens` that is or gives a share of it.
        metadata_mode: Which metadata the model sees. LLM is what all of LlamaIndex's engines use.
        scores: What the retriever's scores say: "rank" (their order), "minmax" (from 0 for the worst to 1 for
            the best), "scaled" (as they are if all lie in [0, 1], else in proportion), "distance" (lower is
            better), "raw" (relevance in [0, 1]), "ignore" (all nodes are scored anew), or a callable from
            score to relevance; see `packline.scores.relevance_of`. A score of None means unknown: that node
            is scored by `relevance`. NaN is never better than a score. None: "ignore" where `relevance` is
            given and there is a question, else "rank".
        relevance: What scores the nodes: "lexical", "semantic", "hybrid", "jaccard", an embedding model, a
            cross-encoder, or anything else that `packline.ContextBuilder` takes. With `scores` given too, it
            is asked for the nodes that have no score. None: the retriever's order holds, and nodes without a
            score are scored by "lexical".
        min_relevance: Nodes below this, in [0, 1], are dropped even if there is room.
        stop_share: So are those that score below this share, in [0, 1], of the best; see `ContextConfig`.
        dates: Metadata keys, of which the first that holds a date counts, or a callable from a node to its
            date. ISO dates, datetimes, epoch seconds and milliseconds and Chinese dates are read.
        recency: "asked": only where the question asks for the newest; "always"; see `ContextConfig`.
        recency_weight: Weight of recency in the score, in [0, 1], where it counts; relevance has the rest.
        half_life_days: Days in which recency halves.
        order: Of the result: best first ("score"), as retrieved ("given"), or the best at both ends ("ends").
        merge_duplicates: Drop nodes whose text says nothing that a better one does not say.
        enable_compression: Shorten what does not fit. False: whole nodes only.
        snippet_share: Share of the budget that one node too long to fit whole may take, shortened.
        token_counter: Anything that `packline.token_counter` takes; None: `Settings.tokenizer`, looked up at
            each call.
        now: From when ages are measured; None: the present.

    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> texts = ["Cats sleep all day.", "Fish swim in the sea.", "Dogs bark at night."]
    >>> nodes = [NodeWithScore(node=TextNode(text=text)) for text in texts]
    >>> postprocessor = ContextPostprocessor(max_tokens=25, token_counter=len)
    >>> [node.text for node in postprocessor.postprocess_nodes(nodes, query_str="What do fish do?")]
    ['Fish swim in the sea.']
    """

    max_tokens: Any = 3000
    metadata_mode: MetadataMode = MetadataMode.LLM
    scores: Any = None
    relevance: Any = None
    min_relevance: float = 0.0
    dates: Any = DATE_KEYS
    recency: RecencyMode = "asked"
    recency_weight: float = 0.3
    half_life_days: float = ContextConfig.half_life_days
    order: Order = "score"
    merge_duplicates: bool = True
    enable_compression: bool = True
    snippet_share: float = ContextConfig.snippet_share
    now: datetime | None = None

    @classmethod
    def class_name(cls) -> str:
        """The name in serialized form."""
        return "ContextPostprocessor"

    _settings = field_validator(*_CHECKED, mode="before")(checked_setting)

    @field_validator("recency_weight", mode="before")
    @classmethod
    def _checked_weight(cls, value: Any) -> Any:
        return _weights(value)["recency_weight"]

    @field_validator("metadata_mode", mode="before")
    @classmethod
    def _checked_mode(cls, value: Any) -> Any:
        return checked_mode(value)

    @field_validator("now", mode="before")
    @classmethod
    def _checked_now(cls, value: Any) -> Any:
        return None if value is None else _aware(value)

    @field_validator("scores", mode="after")
    @classmethod
    def _checked_scores(cls, value: Any) -> Any:
        if value is not None:
            check_policy("scores", value)
        return value

    @field_validator("relevance", mode="after")
    @classmethod
    def _checked_relevance(cls, value: Any) -> Any:
        if value is not None:
            scorer(value)
        return value

    @field_validator("dates", mode="after")
    @classmethod
    def _checked_dates(cls, value: Any) -> Any:
        check_dates(value)
        return value if callable(value) else tuple(value)

    def __getstate__(self) -> dict[str, Any]:
        # LlamaIndex's own drops what cannot be pickled without a word: the copy would count differently.
        kept = {name: value for name, value in self.__dict__.items() if name != "callback_manager"}
        return {
            "__dict__": kept,
            "__pydantic_fields_set__": set(self.__pydantic_fields_set__),
            "__pydantic_extra__": None,
            "__pydantic_private__": None,
        }

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        question = "" if query_bundle is None else query_bundle.query_str.strip()
        check_nodes(nodes)
        reranking(question, nodes, self.class_name())
        chosen, context = self._choose(nodes, question)
        reranked(chosen, context)
        return chosen

    @dispatcher.span
    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """The same without blocking the event loop: choosing takes the processor, so it has a thread."""
        question = "" if query_bundle is None else query_bundle.query_str.strip()
        check_nodes(nodes)
        reranking(question, nodes, self.class_name())
        chosen, context = await threaded(self._choose, nodes, question)
        reranked(chosen, context)
        return chosen

    def _choose(
        self, nodes: Sequence[NodeWithScore], question: str
    ) -> tuple[list[NodeWithScore], Context | None]:
        texts: list[NodeWithScore] = []
        textless: list[NodeWithScore] = []
        for node in nodes:
            (texts if has_text(node.node, self.metadata_mode) else textless).append(node)
        if not texts:
            return textless, None
        selection = select(
            self._gathered(texts, question),
            relevance=self._scorers.of("lexical" if self.relevance is None else self.relevance),
            counter=counter_of(self.token_counter),
            config=self._config(),
        )
        draft = structure(selection)
        context = compress(draft)
        places = {v.position: place for part in draft.sections for place, v in enumerate(part.verdicts)}
        in_order = sorted((*context.kept, *context.shortened), key=lambda verdict: places[verdict.position])
        return [*used_nodes(in_order), *textless], context

    def _gathered(self, nodes: Sequence[NodeWithScore], question: str) -> Gathered:
        scores = self.scores
        if scores is None:
            scores = "rank" if self.relevance is None or not question else "ignore"
        packets = packets_of_nodes(nodes, metadata_mode=self.metadata_mode, scores=scores, dates=self.dates)
        if not question:  # there is nothing to score by, so what has no score is as good as the best
            packets = tuple(
                dataclasses.replace(packet, relevance_score=1.0) if packet.relevance_score is None else packet
                for packet in packets
            )
        request = Request(question=question, now=self.now or datetime.now(UTC))
        return Gathered(request=request, packets=packets, names=("nodes",) * len(packets))

    def _config(self) -> ContextConfig:
        settings = {name: getattr(self, name) for name in _SETTINGS}
        return Passages.config(
            ContextConfig().replace(**settings, **_weights(self.recency_weight)),
            order=self.order,
            written=partial(entry, metadata_mode=self.metadata_mode),
        )


def _weights(recency_weight: Any) -> dict[str, float]:
    relevance_weight = 1 - recency_weight if isinstance(recency_weight, (int, float)) else 0.0
    ContextConfig(recency_weight=recency_weight, relevance_weight=relevance_weight)
    return {"recency_weight": recency_weight, "relevance_weight": relevance_weight}


def _aware(now: object) -> datetime:
    if not isinstance(now, datetime):
        raise ConfigError("now", now, "a datetime, or None")
    return now if now.tzinfo else now.astimezone()
