"""ContextSynthesizer: retrieval, conversation and memory under one budget, as the one prompt of an engine.

LlamaIndex's own synthesizers see texts only, one budget each for nodes and for memory, and may call the model
again for what does not fit. This one calls it once, with the whole skeleton.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.callbacks.schema import CBEventType, EventPayload
from llama_index.core.instrumentation.events.synthesis import SynthesizeEndEvent, SynthesizeStartEvent
from llama_index.core.llms import LLM
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.response_synthesizers.base import BaseSynthesizer
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryType, TextNode
from llama_index.core.types import RESPONSE_TEXT_TYPE

from llama_index_packline.answers import aask, apieces, ask, pieces
from llama_index_packline.events import dispatcher
from llama_index_packline.nodes import DATE_KEYS, Dates, checked_mode, question_of, used_nodes
from llama_index_packline.options import checks_names
from llama_index_packline.packing import Packing
from llama_index_packline.scoring import scorer
from llama_index_packline.sources import sources_of
from packline import ConfigError, Context, ContextConfig
from packline.compression import Summarizer
from packline.scores import ScorePolicy

__all__ = ["ContextSynthesizer"]


class ContextSynthesizer(BaseSynthesizer):
    """Answers from a prompt that packline packs: [Role & Policies], [Task], [Evidence], [Context], [Output].

    The nodes that the engine retrieved, the conversation, the memory's blocks and further sources compete for
    one budget. `response.source_nodes` are the nodes that stand in the prompt, best first; shortened ones as
    copies with the text that stands there.

    Args:
        llm: None: `Settings.llm`. Its own system prompt is used where there are no `system_instructions`.
        config: All settings of the build; `max_tokens` is the whole prompt's. See also `budget_for`.
        sources: Retrievers, indices, memories, and whatever `packline.as_source` takes.
        memory: The conversation: any LlamaIndex memory or a list of messages, read anew for each question.
            Its last turns are kept, the others compete; a question that is its last message stands once.
        system_instructions: The application's instructions.
        state: Where the task stands; see `ContextBuilder.build`.
        scores: What the scores of the engine's nodes say; see `packline.scores.relevance_of`. "ignore", the
            default, lets `relevance` score them, on one scale with all other candidates. Where all are
            to stand, as the answers of a sub-question engine are, set `min_relevance=0` in `config`.
        relevance: What scores the candidates, as in `packline.ContextBuilder`, or an embedding model. With
            other `scores` than "ignore", nodes that have a score keep it.
        metadata_mode: Which metadata stand before the text of a node. Texts that differ only in what their
            metadata say are not taken for duplicates.
        dates: Metadata keys, of which the first that holds a date counts; or a callable from a node to its
            date.
        token_counter: Anything that `packline.token_counter` takes; None: `Settings.tokenizer`, looked up at
            each call.
        summarizer: Text to shorter text, plain or asynchronous; None: shortening is extractive.
        now: From when ages are measured; None: the present.
        streaming: Answer in pieces. It is said here: an engine's own `streaming=True` does not reach a
            synthesizer that it is given.
        output_cls: Answer with such an object.
        empty_response: The answer where there is nothing at all to answer from.

    Raises:
        ConfigError: An argument cannot be used; it is named.
    """

    @checks_names("ContextSynthesizer")
    def __init__(
        self,
        llm: LLM | None = None,
        *,
        config: ContextConfig | None = None,
        sources: Iterable[object] = (),
        memory: object = None,
        system_instructions: str | None = None,
        state: object = None,
        scores: ScorePolicy = "ignore",
        relevance: object = "lexical",
        metadata_mode: MetadataMode = MetadataMode.LLM,
        dates: Dates = DATE_KEYS,
        token_counter: object = None,
        summarizer: Summarizer | None = None,
        now: datetime | None = None,
        streaming: bool = False,
        output_cls: type[BaseModel] | None = None,
        empty_response: str | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        _check(llm, system_instructions, output_cls, streaming, empty_response)
        super().__init__(
            llm=llm,
            callback_manager=callback_manager,
            streaming=streaming,
            output_cls=output_cls,
        )
        self._empty_response = empty_response or "Empty Response"
        self._instructions = system_instructions
        self._packing = Packing(
            config=ContextConfig() if config is None else config,
            sources=sources_of(sources),
            memory=memory,
            state=state,
            scores=scores,
            relevance=scorer(relevance),
            metadata_mode=checked_mode(metadata_mode),
            dates=dates,
            token_counter=token_counter,
            summarizer=summarizer,
            now=now,
        )
        self._packing.check()

    def build(self, query: QueryType, nodes: Sequence[NodeWithScore] = ()) -> Context:
        """The prompt for a question, with its account, without asking the model.

        Raises:
            BudgetError: Question, instructions and skeleton alone need more than `max_tokens`.
            ConfigError: The question is empty, or a node is no `NodeWithScore`.
        """
        return self._packing.build(question_of(query), nodes, self._instructions or self._llm.system_prompt)

    async def abuild(self, query: QueryType, nodes: Sequence[NodeWithScore] = ()) -> Context:
        """The same as `build`, awaited."""
        instructions = self._instructions or self._llm.system_prompt
        return await self._packing.abuild(question_of(query), nodes, instructions)

    def synthesize(
        self,
        query: QueryType,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
        **response_kwargs: Any,
    ) -> RESPONSE_TYPE:
        """Pack the prompt, ask the model, and say which nodes were used."""
        payload: dict[str, Any] = {EventPayload.QUERY_STR: question_of(query)}
        dispatcher.event(SynthesizeStartEvent(query=query))
        with self._callback_manager.event(CBEventType.SYNTHESIZE, payload=payload) as event:
            context = self.build(query, nodes)
            answer = self._ask(context, **response_kwargs)
            response = self._response(answer, context, additional_source_nodes)
            event.on_end(payload={EventPayload.RESPONSE: response})
        dispatcher.event(SynthesizeEndEvent(query=query, response=response))
        return response

    async def asynthesize(
        self,
        query: QueryType,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
        **response_kwargs: Any,
    ) -> RESPONSE_TYPE:
        """The same as `synthesize`, awaited."""
        payload: dict[str, Any] = {EventPayload.QUERY_STR: question_of(query)}
        dispatcher.event(SynthesizeStartEvent(query=query))
        with self._callback_manager.event(CBEventType.SYNTHESIZE, payload=payload) as event:
            context = await self.abuild(query, nodes)
            answer = await self._aask(context, **response_kwargs)
            response = self._response(answer, context, additional_source_nodes)
            event.on_end(payload={EventPayload.RESPONSE: response})
        dispatcher.event(SynthesizeEndEvent(query=query, response=response))
        return response

    def get_response(
        self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any
    ) -> RESPONSE_TEXT_TYPE:
        """The answer from texts alone, which have neither scores nor metadata."""
        answer: RESPONSE_TEXT_TYPE = self._ask(self.build(query_str, _nodes(text_chunks)), **response_kwargs)
        return answer

    async def aget_response(
        self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any
    ) -> RESPONSE_TEXT_TYPE:
        """The same as `get_response`, awaited."""
        context = await self.abuild(query_str, _nodes(text_chunks))
        answer: RESPONSE_TEXT_TYPE = await self._aask(context, **response_kwargs)
        return answer

    def _get_prompts(self) -> PromptDictType:
        """None: the skeleton is data, in `config.template`."""
        return {}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        if prompts:
            raise ConfigError("prompts", sorted(prompts), "none: the skeleton is config.template")

    def _ask(self, context: Context, **options: Any) -> Any:
        if _is_empty(context):
            return pieces(self._empty_response) if self._streaming else self._empty_response
        return ask(self._llm, context, options, streaming=self._streaming, output_cls=self._output_cls)

    async def _aask(self, context: Context, **options: Any) -> Any:
        if _is_empty(context):
            return apieces(self._empty_response) if self._streaming else self._empty_response
        return await aask(self._llm, context, options, streaming=self._streaming, output_cls=self._output_cls)

    def _response(
        self, answer: Any, context: Context, additional: Sequence[NodeWithScore] | None
    ) -> RESPONSE_TYPE:
        verdicts = sorted((*context.kept, *context.shortened), key=lambda verdict: -(verdict.score or 0.0))
        nodes = used_nodes(verdicts, with_metadata=True)
        return self._prepare_response_output(answer, [*nodes, *(additional or ())])


def _check(llm: object, instructions: object, output_cls: object, streaming: object, empty: object) -> None:
    if llm is not None and not isinstance(llm, LLM):
        raise ConfigError("llm", llm, "a LlamaIndex LLM, or None for Settings.llm")
    if output_cls is not None and not (isinstance(output_cls, type) and issubclass(output_cls, BaseModel)):
        raise ConfigError("output_cls", output_cls, "a pydantic model class, or None")
    if not isinstance(streaming, bool):
        raise ConfigError("streaming", streaming, "True or False")
    for name, text in (("system_instructions", instructions), ("empty_response", empty)):
        if text is not None and not isinstance(text, str):
            raise ConfigError(name, text, "a text, or None")


def _nodes(texts: Sequence[str]) -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(text=text)) for text in texts]


def _is_empty(context: Context) -> bool:
    """Whether there was nothing to answer from."""
    return not (context.kept or context.shortened or context.dropped)
