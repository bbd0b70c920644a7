"""ContextCompressor: the documents that matter, in a token budget, for a contextual compression retriever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableConfig
from pydantic import PrivateAttr

from langchain_packline.asked import packets_given
from langchain_packline.models import counter_of, summarizer_of
from langchain_packline.options import STRICT
from langchain_packline.passages import documents_of, packed
from langchain_packline.scoring import Given, Scoring
from langchain_packline.settings import PassageSettings
from langchain_packline.tracing import aannounce, announce
from packline import ConfigError, Context, Draft, Gathered, Request, acompress, compress, gather
from packline.attempt import threaded
from packline.section import Order
from packline.tokens import Counter

__all__ = ["ContextCompressor"]


class ContextCompressor(PassageSettings, Scoring, BaseDocumentCompressor):
    """Selects and shortens retrieved documents, so that their joined texts fit in `max_tokens`.

    Documents that stand whole come back as the same objects; a shortened one is a new `Document` with the
    same id and metadata. Empty in, empty out. Every setting of `ContextConfig` that concerns documents is an
    option.

    Args:
        relevance: How documents are scored; see `ContextBuilder`.
        token_counter: See `ContextBuilder`.
        summarizer: See `ContextBuilder`; where it fails, the text is shortened extractively.
        separator: What will stand between two documents; it is counted.
        order: Of the result: best first ("score"), as retrieved ("given"), or the best at both ends ("ends").

    >>> compressor = ContextCompressor(max_tokens=30, token_counter=len)
    >>> documents = [Document("Cats sleep all day."), Document("Fish swim in the sea.")]
    >>> compressor.compress_documents(documents, "What do fish do?")
    [Document(metadata={}, page_content='Fish swim in the sea.')]
    """

    model_config = STRICT

    token_counter: Given = None
    summarizer: Given = None
    separator: str = "\n\n"
    order: Order = "score"
    _counter: Counter = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._counter = counter_of(self.token_counter)
        summarizer_of(self.summarizer, awaited=False)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """The documents that fit.

        Raises:
            ConfigError: The query is empty.
        """
        return self.explained(documents, query, callbacks)[0] if documents else []

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """The same, without blocking the event loop."""
        if not documents:
            return []
        draft = await threaded(self._draft, documents, query)
        config = _config(callbacks)
        summarizer = summarizer_of(self.summarizer, awaited=True, config=config)
        context = await acompress(draft, summarizer=summarizer)
        await aannounce(context, config)
        return documents_of(context, draft)

    def explained(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> tuple[list[Document], Context]:
        """The documents that fit, and the account of what became of each."""
        draft = self._draft(documents, query)
        config = _config(callbacks)
        context = compress(draft, summarizer=summarizer_of(self.summarizer, awaited=False, config=config))
        announce(context, config)
        return documents_of(context, draft), context

    def _draft(self, documents: Sequence[Document], query: str) -> Draft:
        if not isinstance(query, str) or not query.strip():
            raise ConfigError("query", query, "a text that is not empty")
        gathered: Gathered = gather(Request.of(query, custom_packets=packets_given(documents, "documents")))
        return packed(
            gathered,
            relevance=self.scorer,
            counter=self._counter,
            config=self.settings(),
            separator=self.separator,
            order=self.order,
        )


def _config(callbacks: Callbacks) -> RunnableConfig | None:
    return None if callbacks is None else {"callbacks": callbacks}
