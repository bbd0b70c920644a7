"""Nodes as packets, and back: what a model sees of a node, and what that costs.

A node reaches a model with its metadata written around its text, so that is what is counted; what is compared
and shortened is the text alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from llama_index.core.schema import (
    BaseNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeWithScore,
    QueryBundle,
    TextNode,
)

from packline import ConfigError, ContextPacket, Kind, Verdict
from packline.scores import ScorePolicy, relevance_of
from packline.timestamps import read_timestamp

__all__ = ["DATE_KEYS", "Dates", "entry", "has_text", "node_of", "packets_of_nodes", "shown", "with_text"]

DATE_KEYS = ("timestamp", "date", "last_modified_date", "updated_at", "creation_date", "created_at")
Dates = Sequence[str] | Callable[[BaseNode], object]

ORIGINAL_HASH = "packline_original_hash"
ORIGINAL_LENGTH = "packline_original_length"
_TEXT = "\x00"


def packets_of_nodes(
    nodes: Sequence[NodeWithScore],
    *,
    metadata_mode: MetadataMode,
    scores: ScorePolicy,
    dates: Dates,
    kind: Kind = Kind.EVIDENCE,
    with_metadata: bool = False,
) -> tuple[ContextPacket, ...]:
    """One packet a node, in their order; its `origin` is the very object that was given.

    Args:
        metadata_mode: Which metadata the model sees.
        scores: What the nodes' scores say of their relevance: see `packline.scores.relevance_of`.
        dates: Metadata keys, of which the first that holds a date counts; or a callable from a node to its
            date, in any form that `packline.timestamps.read_timestamp` reads.
        with_metadata: Let the packet's text be what the model sees of the node, metadata included.
    """
    relevances = relevance_of([node.score for node in nodes], scores)
    return tuple(
        ContextPacket(
            shown(node.node, metadata_mode) if with_metadata else _content(node.node, metadata_mode),
            timestamp=_date(node.node, dates),
            relevance_score=relevance,
            metadata=node.node.metadata,
            kind=kind,
            id=node.node.node_id,
            origin=node,
        )
        for node, relevance in zip(nodes, relevances, strict=True)
    )


def shown(node: BaseNode, metadata_mode: MetadataMode) -> str:
    """What a response synthesizer joins with others: the content with its metadata, stripped."""
    return node.get_content(metadata_mode=metadata_mode).strip()


def has_text(node: BaseNode, metadata_mode: MetadataMode) -> bool:
    """Whether anything of the node reaches a model as text."""
    return bool(shown(node, metadata_mode))


def _content(node: BaseNode, metadata_mode: MetadataMode) -> str:
    """The text alone; of a node that has none, what is shown of it."""
    return shown(node, MetadataMode.NONE) or shown(node, metadata_mode)


def entry(packet: ContextPacket, text: str, metadata_mode: MetadataMode) -> str:
    """How `text` of a node's packet is shown; for an empty text, all that stands around a text.

    A node without a text of its own is its metadata, which cannot be shortened.
    """
    node = node_of(packet).node
    if not shown(node, MetadataMode.NONE):
        return packet.content if text else ""
    if text == packet.content:
        return shown(node, metadata_mode)
    if text:
        return shown(with_text(node, text), metadata_mode)
    return with_text(node, _TEXT).get_content(metadata_mode=metadata_mode).replace(_TEXT, "", 1)


def node_of(packet: ContextPacket) -> NodeWithScore:
    """The node that a packet was made from."""
    assert isinstance(packet.origin, NodeWithScore)
    return packet.origin


def with_text(node: BaseNode, text: str, *, alone: bool = False) -> BaseNode:
    """A copy of `node` with another text, which shares nothing with it that could be changed.

    Its embedding and its place in the document are those of the old text and so are cleared. Hidden from
    models, its metadata say what it was made from: `packline_original_hash` and `packline_original_length`
    (characters).

    Args:
        alone: Hide all other metadata from models too, where `text` says already what they are to see.
    """
    hidden = {ORIGINAL_HASH: node.hash, ORIGINAL_LENGTH: len(shown(node, MetadataMode.NONE))}
    changes: dict[str, object] = {
        "metadata": {**copy.deepcopy(node.metadata), **hidden},
        "excluded_llm_metadata_keys": [
            *(node.metadata if alone else node.excluded_llm_metadata_keys),
            *hidden,
        ],
        "excluded_embed_metadata_keys": [*node.excluded_embed_metadata_keys, *hidden],
        "relationships": dict(node.relationships),
        "embedding": None,
    }
    cleared = ("start_char_idx", "end_char_idx", "text_embedding")
    changes |= {name: None for name in cleared if name in type(node).model_fields}
    if isinstance(node, TextNode):
        changes["text"] = text
    elif isinstance(node, Node):
        resource = node.text_resource or MediaResource()
        changes["text_resource"] = resource.model_copy(update={"text": text, "embeddings": None})
    copied = node.model_copy(update=changes)
    if not isinstance(node, (TextNode, Node)):
        copied.set_content(text)
    return copied


def used_nodes(verdicts: Iterable[Verdict], *, with_metadata: bool = False) -> list[NodeWithScore]:
    """The nodes behind `verdicts`: the given objects, or copies where they were shortened.

    Args:
        with_metadata: The packets were made with it: see `packets_of_nodes`.
    """
    nodes = []
    for verdict in verdicts:
        origin, text = verdict.packet.origin, verdict.shortened
        if isinstance(origin, NodeWithScore) and text is not None:
            nodes.append(
                NodeWithScore(node=with_text(origin.node, text, alone=with_metadata), score=origin.score)
            )
        elif isinstance(origin, NodeWithScore):
            nodes.append(origin)
    return nodes


def _date(node: BaseNode, dates: Dates) -> datetime | None:
    if callable(dates):
        return read_timestamp(dates(node))
    found = (read_timestamp(node.metadata.get(key)) for key in dates)
    return next((moment for moment in found if moment is not None), None)


def check_dates(dates: object) -> None:
    """Raise `ConfigError` if `dates` is neither a callable nor a list of metadata keys."""
    listed = isinstance(dates, (list, tuple)) and all(isinstance(key, str) for key in dates)
    if not listed and not callable(dates):
        raise ConfigError("dates", dates, "a list of metadata keys, or a callable from a node to its date")


def checked_mode(mode: object) -> MetadataMode:
    """`mode`, or the one of that name; else a `ConfigError`."""
    if mode not in list(MetadataMode):
        raise ConfigError("metadata_mode", mode, f"one of {', '.join(repr(m.value) for m in MetadataMode)}")
    return MetadataMode(mode)


def check_nodes(nodes: object) -> None:
    """Raise `ConfigError` if `nodes` is no list of `NodeWithScore`."""
    if not isinstance(nodes, (list, tuple)):
        raise ConfigError("nodes", nodes, "a list of NodeWithScore")
    for place, node in enumerate(nodes):
        if not isinstance(node, NodeWithScore):
            raise ConfigError(f"nodes[{place}]", node, "a NodeWithScore, such as NodeWithScore(node=...)")


def question_of(query: object) -> str:
    """The question without the line breaks that tools leave at its end.

    Raises:
        ConfigError: There is none.
    """
    text = query.query_str if isinstance(query, QueryBundle) else query
    if not isinstance(text, str) or not text.strip():
        raise ConfigError("query", query, "a text that is not empty, or a QueryBundle with one")
    return text.strip()
