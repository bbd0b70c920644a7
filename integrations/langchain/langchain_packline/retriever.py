"""ContextRetriever: one retriever over many sources, with duplicates merged and a token budget held."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableSerializable
from langchain_core.runnables.config import RunnableConfig, ensure_config, patch_config, set_config_context
from langchain_core.runnables.configurable import RunnableConfigurableFields
from langchain_core.runnables.utils import AnyConfigurableField
from pydantic import PrivateAttr, SkipValidation

from langchain_packline.inputs import request_of
from langchain_packline.models import counter_of
from langchain_packline.options import STRICT
from langchain_packline.passages import documents_of, packed
from langchain_packline.scoring import Configurable, Given, Scoring
from langchain_packline.settings import GatherSettings, PassageSettings
from langchain_packline.sources import sources_of
from langchain_packline.tracing import areport, report
from langchain_packline.unasked import noted
from packline import (
    ConfigError,
    Draft,
    Gathered,
    Request,
    Source,
    acompress,
    agather,
    compress,
    gather,
)
from packline.attempt import threaded
from packline.section import Order
from packline.tokens import Counter

__all__ = ["ContextRetriever"]


class ContextRetriever(GatherSettings, PassageSettings, Scoring, BaseRetriever):
    """Asks all sources at once and gives the best documents that fit in `max_tokens` together.

    Documents that stand whole are the very ones that a source gave; of several that say the same, the best is
    kept. A source that fails costs only itself; the report, sent as a custom event, names it.

    Args:
        sources: A list, or a mapping from names, of whatever `langchain_packline.as_source` takes.
        k: How many documents at most; None: as many as fit.
        relevance: How documents are scored; see `ContextBuilder`.
        token_counter: See `ContextBuilder`.
        separator: What will stand between two documents; it is counted.
        order: Of the result: best first ("score"), as retrieved ("given"), or the best at both ends ("ends").
    """

    model_config = STRICT

    sources: Given = ()
    k: Annotated[int | None, SkipValidation] = None
    token_counter: Given = None
    separator: str = "\n\n"
    order: Order = "score"
    _sources: tuple[Source, ...] = PrivateAttr()
    _counter: Counter = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._sources = sources_of(self.sources)
        self._counter = counter_of(self.token_counter)
        _check_k(self.k)

    def configurable_fields(
        self, **kwargs: AnyConfigurableField
    ) -> RunnableSerializable[str, list[Document]]:
        """The same, with fields that a config may set for one call."""
        configurable = super().configurable_fields(**kwargs)
        assert isinstance(configurable, RunnableConfigurableFields)
        return Configurable(default=self, fields=configurable.fields)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:  # noqa: A002
        """The documents for a question; `k` may be given for this call."""
        with set_config_context(ensure_config(config)) as context:
            return context.run(super().invoke, input, config, **kwargs)

    async def ainvoke(
        self,
        input: str,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The same, awaited."""
        with set_config_context(ensure_config(config)) as context:
            return await asyncio.create_task(super().ainvoke(input, config, **kwargs), context=context)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        config = patch_config(ensure_config(), callbacks=run_manager.get_child())
        with set_config_context(config) as context:
            gathered = context.run(self._gathered, request_of(query, config))
        draft = self._draft(gathered, k)
        finished = compress(draft)
        report(finished, run_manager, config)
        return documents_of(finished, draft)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        config = patch_config(ensure_config(), callbacks=run_manager.get_child())
        settings = self.settings()
        asking = agather(
            request_of(query, config),
            sources=self._sources,
            timeout=settings.source_timeout,
            strict=settings.strict,
        )
        with set_config_context(config) as context:
            gathered = await asyncio.create_task(asking, context=context)
        draft = await threaded(self._draft, gathered, k)
        finished = await acompress(draft)
        await areport(finished, run_manager, config)
        return documents_of(finished, draft)

    def _gathered(self, request: Request) -> Gathered:
        settings = self.settings()
        return gather(request, sources=self._sources, timeout=settings.source_timeout, strict=settings.strict)

    def _draft(self, gathered: Gathered, k: int | None) -> Draft:
        return packed(
            self.to_score(noted(gathered, self._sources)),
            relevance=self.scorer,
            counter=self._counter,
            config=self.settings(),
            separator=self.separator,
            order=self.order,
            k=self.k if k is None else _check_k(k),
        )


def _check_k(k: object) -> int | None:
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise ConfigError("k", k, "a whole number from 1, or None")
    return k
