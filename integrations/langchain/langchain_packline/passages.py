"""Passages: the documents that fit in a budget, where somebody else writes the prompt.

The choice is the core's, with its template that has no skeleton; this module hands documents over and takes
them back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from langchain_core.documents import Document

from packline import Context, ContextConfig, Draft, Gathered, Reason, Relevance, Verdict, select, structure
from packline.passages import Passages
from packline.section import Order
from packline.tokens import Counter

__all__ = ["documents_of", "packed"]


def packed(
    gathered: Gathered,
    *,
    relevance: Relevance,
    counter: Counter,
    config: ContextConfig,
    separator: str,
    order: Order,
    k: int | None = None,
) -> Draft:
    """The best of what was gathered, at most `k`, in order; still to be compressed."""
    config = Passages.config(config, separator=separator, order=order)
    selection = select(gathered, relevance=relevance, counter=counter, config=config)
    if k is not None and len(selection.kept) > k:
        beyond = [dataclasses.replace(v, limit=None, reason=Reason.OVER_BUDGET) for v in selection.kept[k:]]
        selection = dataclasses.replace(
            selection, kept=selection.kept[:k], dropped=(*beyond, *selection.dropped)
        )
    return structure(selection)


def documents_of(context: Context, draft: Draft) -> list[Document]:
    """What stands in the context, in order: documents that stand whole as the very same objects."""
    places = {v.position: place for part in draft.sections for place, v in enumerate(part.verdicts)}
    verdicts: Sequence[Verdict] = (*context.kept, *context.shortened)
    return [_document(verdict) for verdict in sorted(verdicts, key=lambda v: places[v.position])]


def _document(verdict: Verdict) -> Document:
    packet = verdict.packet
    if not isinstance(packet.origin, Document):
        return Document(page_content=verdict.text, id=packet.id, metadata=dict(packet.metadata))
    if verdict.shortened is None:
        return packet.origin
    origin = packet.origin
    return Document(page_content=verdict.shortened, id=origin.id, metadata=origin.metadata)
