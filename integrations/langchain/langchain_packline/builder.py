"""ContextBuilder: the four stages as one Runnable, a drop-in for the prompt of a chain."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, ClassVar, Generic, Self, TypeVar

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import RunnableConfig, RunnableLambda, RunnableSequence
from langchain_core.runnables.graph import Graph
from pydantic import BaseModel, PrivateAttr, RootModel, create_model
from typing_extensions import TypedDict

from langchain_packline.inputs import PromptInput
from langchain_packline.options import STRICT, Options
from langchain_packline.prompts import prompt_value
from langchain_packline.scoring import Given
from langchain_packline.settings import CompressSettings, GatherSettings, SelectSettings
from langchain_packline.stage import Stage
from langchain_packline.stages import Compress, Gather, Select, Structure
from langchain_packline.tracing import areport, report
from packline import Context, Draft

__all__ = ["ContextBuilder", "ContextBuilderWithContext", "PromptAndContext"]

Output = TypeVar("Output")


class PromptAndContext(TypedDict):
    """A prompt with the account of how it came about."""

    prompt: ChatPromptValue
    context: Context


class _Build(GatherSettings, SelectSettings, CompressSettings, Stage[PromptInput, Output], Generic[Output]):
    """The four stages in a row, whatever is made of their result."""

    model_config = STRICT

    sources: Given = ()
    relevance: Given = None
    token_counter: Given = None
    summarizer: Given = None
    _gather: Gather = PrivateAttr()
    _select: Select = PrivateAttr()
    _structure: Structure = PrivateAttr()
    _compress: Compress = PrivateAttr()
    _run_type: ClassVar[str | None] = "prompt"
    _takes: ClassVar[Any] = PromptInput

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        config = self.settings()
        self._gather = Gather(config=config, sources=self.sources)
        self._select = Select(config=config, relevance=self.relevance, token_counter=self.token_counter)
        self._structure = Structure()
        self._compress = Compress(config=config, summarizer=self.summarizer)

    def _sharing(self, original: Options) -> Self:
        if isinstance(original, _Build):
            self._select._sharing(original._select)
        return super()._sharing(original)

    def stages(self) -> RunnableSequence[Any, ChatPromptValue]:
        """The same as a chain of its stages."""
        return self._gather | self._select | self._structure | self._compress  # type: ignore[return-value]

    def get_graph(self, config: RunnableConfig | None = None) -> Graph:
        """The stages and what goes from one to the next."""
        return self.stages().get_graph(config)

    def _built(self, value: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig) -> Context:
        clock = _Clock()
        gathered = clock.timed("gather", self._gather.invoke(value, config))
        selection = clock.timed("select", self._select.invoke(gathered, config))
        draft = clock.timed("structure", self._structure.invoke(selection, config))
        finish: RunnableLambda[Draft, Context] = RunnableLambda(self._compress.context, name="Compress")
        context = clock.timed("compress", finish.invoke(draft, config))
        context = dataclasses.replace(context, stage_seconds=clock.seconds)
        report(context, run_manager, config)
        return context

    async def _abuilt(
        self, value: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig
    ) -> Context:
        clock = _Clock()
        gathered = clock.timed("gather", await self._gather.ainvoke(value, config))
        selection = clock.timed("select", await self._select.ainvoke(gathered, config))
        draft = clock.timed("structure", await self._structure.ainvoke(selection, config))
        finish: RunnableLambda[Draft, Context] = RunnableLambda(self._compress.acontext, name="Compress")
        context = clock.timed("compress", await finish.ainvoke(draft, config))
        context = dataclasses.replace(context, stage_seconds=clock.seconds)
        await areport(context, run_manager, config)
        return context


class ContextBuilder(_Build[ChatPromptValue]):
    """Packs the right context into a prompt: gather, select, structure, compress.

    The one for chains; in code of your own use `packline.ContextBuilder`, which does the same: its `build`
    gives the `Context`, and its settings are all in `config=`.

    Takes a question in any of the shapes that chains and agents use, and gives the prompt for a chat model.
    Every field of `ContextConfig` is an option, too, and overrides `config`; so each can be set for one call,
    by `bind(...)` or by `configurable_fields(...)`.

    Args:
        config: All settings; None: the defaults.
        sources: A list, or a mapping from names, of whatever `langchain_packline.as_source` takes.
        relevance: As in `packline.ContextBuilder`; any LangChain embedding model will do, too. Documents of a
            vector store are scored by it unless `from_vector_store` was told what their scores mean. None:
            "lexical", for what has no score.
        token_counter: As in `packline.ContextBuilder`, or a language model, which counts its own tokens.
        summarizer: A callable from text to shorter text, a chat model, or any Runnable from a text to a text
            or message. None: shortening is extractive.

    Raises:
        ConfigError: An option or an input cannot be used; it is named.
        BudgetError: Question, instructions and skeleton alone need more than `max_tokens`.
    """

    model_config = STRICT
    _gives: ClassVar[Any] = ChatPromptValue

    def with_context(self) -> ContextBuilderWithContext:
        """The same, giving prompt and context, for chains that hand on their sources and the report.

        A LangGraph checkpointer stores neither of them whole: in a state keep `prompt.to_messages()` and
        `context.to_dict()`.
        """
        return ContextBuilderWithContext(**self.given())._sharing(self)

    def _run(
        self, value: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig
    ) -> ChatPromptValue:
        return prompt_value(self._built(value, run_manager, config))

    async def _arun(
        self, value: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig
    ) -> ChatPromptValue:
        return prompt_value(await self._abuilt(value, run_manager, config))


class ContextBuilderWithContext(_Build[PromptAndContext]):
    """A `ContextBuilder` that gives `{"prompt": ChatPromptValue, "context": Context}`."""

    model_config = STRICT
    _gives: ClassVar[Any] = PromptAndContext

    def _run(
        self, value: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig
    ) -> PromptAndContext:
        context = self._built(value, run_manager, config)
        return {"prompt": prompt_value(context), "context": context}

    async def _arun(
        self, value: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig
    ) -> PromptAndContext:
        context = await self._abuilt(value, run_manager, config)
        return {"prompt": prompt_value(context), "context": context}

    def get_output_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """A description: the context is no JSON."""
        return _PROMPT_AND_CONTEXT


_PROMPT_AND_CONTEXT = create_model(
    "PromptAndContext",
    __base__=RootModel[Any],
    __doc__="A dict: `prompt`, a ChatPromptValue, and `context`, the `packline.Context` it was made from.",
)


class _Clock:
    """Seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def timed(self, stage: str, result: Output) -> Output:
        """`result`, with the time since the last one noted as that of `stage`."""
        now = time.perf_counter()
        self.seconds[stage], self._last = now - self._last, now
        return result
