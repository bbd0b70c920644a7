"""Stages: gather, select, structure and compress as Runnables, each from the last one's result to its own.

Between the stages stand the results of the core, so any of them can be looked at, replaced or left out.
Awaited, what takes long is done in a thread, which sees the context variables: so callbacks find their run.
"""

from __future__ import annotations

from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import RunnableConfig
from pydantic import PrivateAttr

from langchain_packline.inputs import PromptInput, arequest_of, request_of
from langchain_packline.models import counter_of, summarizer_of
from langchain_packline.options import STRICT
from langchain_packline.prompts import prompt_value
from langchain_packline.scoring import Given, Scoring
from langchain_packline.settings import CompressSettings, GatherSettings, SelectSettings, TemplateOption
from langchain_packline.sources import sources_of
from langchain_packline.stage import Stage
from langchain_packline.tracing import areport, report
from langchain_packline.unasked import noted
from packline import (
    ConfigError,
    Context,
    Draft,
    Gathered,
    Selection,
    Source,
    acompress,
    agather,
    compress,
    gather,
    select,
    structure,
)
from packline.attempt import threaded
from packline.tokens import Counter

__all__ = ["Compress", "Gather", "Select", "Structure"]


class Gather(GatherSettings, Stage[PromptInput, Gathered]):
    """Ask all sources at once.

    Args:
        sources: A list, or a mapping from names, of whatever `langchain_packline.as_source` takes.
    """

    model_config = STRICT
    _takes: ClassVar[Any] = PromptInput
    _gives: ClassVar[Any] = Gathered

    sources: Given = ()
    _sources: tuple[Source, ...] = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._sources = sources_of(self.sources)

    def _run(self, value: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig) -> Gathered:
        settings, request = self.settings(), request_of(value, config)
        timeout, strict = settings.source_timeout, settings.strict
        gathered = gather(request, sources=self._sources, timeout=timeout, strict=strict)
        return noted(gathered, self._sources)

    async def _arun(
        self, value: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig
    ) -> Gathered:
        settings, request = self.settings(), await arequest_of(value, config)
        timeout, strict = settings.source_timeout, settings.strict
        gathered = await agather(request, sources=self._sources, timeout=timeout, strict=strict)
        return noted(gathered, self._sources)


class Select(SelectSettings, Scoring, Stage[Gathered, Selection]):
    """Keep the best-scoring packets that fit in the budget.

    Args:
        relevance: As in `packline.ContextBuilder`; any LangChain embedding model will do, too. Documents of a
            vector store are scored by it unless `from_vector_store` was told what their scores mean. None:
            "lexical", for what has no score.
        token_counter: As in `packline.ContextBuilder`, or a language model, which counts its own tokens.
    """

    model_config = STRICT
    _takes: ClassVar[Any] = Gathered
    _gives: ClassVar[Any] = Selection

    token_counter: Given = None
    _counter: Counter = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._counter = counter_of(self.token_counter)

    @property
    def counter(self) -> Counter:
        """What counts."""
        return self._counter

    def _run(self, value: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig) -> Selection:
        _check(value, Gathered)
        gathered = self.to_score(value)
        return select(gathered, relevance=self.scorer, counter=self._counter, config=self.settings())

    async def _arun(
        self, value: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig
    ) -> Selection:
        return await threaded(self._run, value, run_manager.get_sync(), config)


class Structure(Stage[Selection, Draft]):
    """Put each kept packet in its section.

    Args:
        template: The skeleton; None: that of Select's config.
    """

    model_config = STRICT
    _takes: ClassVar[Any] = Selection
    _gives: ClassVar[Any] = Draft

    template: TemplateOption = None

    def _run(self, value: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig) -> Draft:
        _check(value, Selection)
        return structure(value, template=self.template)

    async def _arun(
        self, value: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig
    ) -> Draft:
        return self._run(value, run_manager.get_sync(), config)


class Compress(CompressSettings, Stage[Draft, ChatPromptValue]):
    """Make the draft fit, and finish it as a prompt; what is not set here is as it was for Select.

    Args:
        token_counter: None: the one that Select counted with.
        summarizer: A callable from text to shorter text, a chat model, or any Runnable from a text to a text
            or message. None: shortening is extractive.
    """

    model_config = STRICT
    _takes: ClassVar[Any] = Draft
    _gives: ClassVar[Any] = ChatPromptValue

    token_counter: Given = None
    summarizer: Given = None
    _counter: Counter | None = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._counter = None if self.token_counter is None else counter_of(self.token_counter)
        summarizer_of(self.summarizer, awaited=False)

    def context(self, draft: Draft) -> Context:
        """The finished context."""
        return compress(
            draft,
            counter=self._counter,
            config=self.settings(draft.selection.config),
            summarizer=summarizer_of(self.summarizer, awaited=False),
        )

    async def acontext(self, draft: Draft) -> Context:
        """The same, awaited."""
        return await acompress(
            draft,
            counter=self._counter,
            config=self.settings(draft.selection.config),
            summarizer=summarizer_of(self.summarizer, awaited=True),
        )

    def _run(
        self, value: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig
    ) -> ChatPromptValue:
        _check(value, Draft)
        context = self.context(value)
        report(context, run_manager, config)
        return prompt_value(context)

    async def _arun(
        self, value: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig
    ) -> ChatPromptValue:
        _check(value, Draft)
        context = await self.acontext(value)
        await areport(context, run_manager, config)
        return prompt_value(context)


def _check(value: object, expected: type) -> None:
    if not isinstance(value, expected):
        raise ConfigError("input", value, f"a {expected.__name__}, as the stage before gives it")
