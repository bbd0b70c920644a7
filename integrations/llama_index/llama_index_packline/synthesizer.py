"""ContextSynthesizer: retrieval, conversation and memory under one budget, as the one prompt of an engine.

LlamaIndex's own synthesizers see texts only, one budget each for nodes and for memory, and may call the model
again for what does not fit. This one calls it once, with the whole skeleton.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from datetime import datetime
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.callbacks.schema import CBEventType, EventPayload
from llama_index.core.instrumentation.events.synthesis import SynthesizeEndEvent, SynthesizeStartEvent
from llama_index.core.llms import LLM
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.response_synthesizers.base import BaseSynthesizer
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, QueryType, TextNode
from llama_index.core.types import RESPONSE_TEXT_TYPE

from llama_index_packline.counting import counter_of
from llama_index_packline.events import ContextEvent, dispatcher
from llama_index_packline.memory import aread_memory, block_sources
from llama_index_packline.nodes import DATE_KEYS, Dates, check_dates, packets_of_nodes, used_nodes
from llama_index_packline.postprocessor import scorer
from llama_index_packline.sources import sources_of
from packline import ConfigError, Context, ContextBuilder, ContextConfig, Failure, Message, Source
from packline.attempt import Call, Outcome, asettle, settle
from packline.compression import Summarizer
from packline.scores import ScorePolicy, check_policy

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
        scores: What the scores of the engine's nodes say; see `packline.scores.relevance_of`. "ignore" scores
            them anew, on one scale with all other candidates.
        relevance: As in `ContextBuilder`.
        metadata_mode: Which metadata stand before the text of a node. Texts that differ only in what their
            metadata say are not taken for duplicates.
        dates: Metadata keys, of which the first that holds a date counts; or a callable from a node to its
            date.
        token_counter: Anything that `packline.token_counter` takes; None: `Settings.tokenizer`, looked up at
            each call.
        summarizer: Text to shorter text, plain or asynchronous; None: shortening is extractive.
        now: From when ages are measured; None: the present.
        streaming: Answer in pieces.
        output_cls: Answer with such an object.
        empty_response: The answer where there is nothing at all to answer from.
    """

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
        check_policy("scores", scores)
        check_dates(dates)
        super().__init__(
            llm=llm,
            callback_manager=callback_manager,
            streaming=streaming,
            output_cls=output_cls,
        )
        self._empty_response = empty_response or "Empty Response"
        self._config = ContextConfig() if config is None else config
        self._sources = sources_of(sources)
        self._memory = memory
        self._instructions = system_instructions
        self._state = state
        self._scores = scores
        self._relevance = scorer(relevance)
        self._metadata_mode = MetadataMode(metadata_mode)
        self._dates = dates
        self._counter = token_counter
        self._summarizer = summarizer
        self._now = now
        self._builder(())  # so that a bad argument is refused now

    def build(self, query: QueryType, nodes: Sequence[NodeWithScore] = ()) -> Context:
        """The prompt for a question, with its account, without asking the model.

        Raises:
            BudgetError: Question, instructions and skeleton alone need more than `max_tokens`.
        """
        question = _question(query)
        recalled = settle([self._recall(question)])[0]
        context = self._builder(nodes).build(question, **self._request(recalled, question))
        return self._built(context, recalled)

    async def abuild(self, query: QueryType, nodes: Sequence[NodeWithScore] = ()) -> Context:
        """The same as `build`, awaited."""
        question = _question(query)
        recalled = (await asettle([self._recall(question)]))[0]
        context = await self._builder(nodes).abuild(question, **self._request(recalled, question))
        return self._built(context, recalled)

    def synthesize(
        self,
        query: QueryType,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
        **response_kwargs: Any,
    ) -> RESPONSE_TYPE:
        """Pack the prompt, ask the model, and say which nodes were used."""
        dispatcher.event(SynthesizeStartEvent(query=query))
        payload: dict[str, Any] = {EventPayload.QUERY_STR: _question(query)}
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
        dispatcher.event(SynthesizeStartEvent(query=query))
        payload: dict[str, Any] = {EventPayload.QUERY_STR: _question(query)}
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

    def _recall(self, question: str) -> Call[list[ChatMessage]]:
        async def read() -> list[ChatMessage]:
            return await aread_memory(() if self._memory is None else self._memory, question=question)

        return Call("memory", self._config.source_timeout, arun=read)

    def _builder(self, nodes: Sequence[NodeWithScore]) -> ContextBuilder:
        packets = packets_of_nodes(
            nodes,
            metadata_mode=self._metadata_mode,
            scores=self._scores,
            dates=self._dates,
            with_metadata=True,
        )
        return ContextBuilder(
            config=self._config,
            sources=[Source("nodes", lambda _: packets), *block_sources(self._memory), *self._sources],
            relevance=self._relevance,
            token_counter=counter_of(self._counter),
            summarizer=self._summarizer,
        )

    def _request(self, recalled: Outcome[list[ChatMessage]], question: str) -> dict[str, Any]:
        messages = recalled.value or []
        if messages and messages[-1].role == MessageRole.USER and messages[-1].content == question:
            messages = messages[:-1]
        return {
            "conversation_history": messages,
            "system_instructions": self._instructions or self._llm.system_prompt,
            "state": self._state,
            "now": self._now,
        }

    def _built(self, context: Context, recalled: Outcome[list[ChatMessage]]) -> Context:
        if recalled.error is not None:
            if self._config.strict:
                raise recalled.error
            failure = Failure("memory", recalled.error, recalled.seconds)
            context = dataclasses.replace(context, failures=(*context.failures, failure))
        dispatcher.event(ContextEvent(context=context))
        return context

    def _ask(self, context: Context, **options: Any) -> Any:
        if _is_empty(context):
            return _once(self._empty_response) if self._streaming else self._empty_response
        llm, messages = self._llm, self._messages(context)
        if self._output_cls is not None:
            return llm.as_structured_llm(self._output_cls).chat(messages, **options).raw
        if not llm.metadata.is_chat_model:
            if self._streaming:
                return _deltas(llm.stream_complete(context.text, **options))
            return llm.complete(context.text, **options).text
        if self._streaming:
            return _deltas(llm.stream_chat(messages, **options))
        return llm.chat(messages, **options).message.content or ""

    async def _aask(self, context: Context, **options: Any) -> Any:
        if _is_empty(context):
            return _aonce(self._empty_response) if self._streaming else self._empty_response
        llm, messages = self._llm, self._messages(context)
        if self._output_cls is not None:
            return (await llm.as_structured_llm(self._output_cls).achat(messages, **options)).raw
        if not llm.metadata.is_chat_model:
            if self._streaming:
                return _adeltas(await llm.astream_complete(context.text, **options))
            return (await llm.acomplete(context.text, **options)).text
        if self._streaming:
            return _adeltas(await llm.astream_chat(messages, **options))
        return (await llm.achat(messages, **options)).message.content or ""

    def _messages(self, context: Context) -> list[ChatMessage]:
        return [
            message
            for part in context.messages
            for message in _chat_messages(part, self._llm.metadata.system_role)
        ]

    def _response(
        self, answer: Any, context: Context, additional: Sequence[NodeWithScore] | None
    ) -> RESPONSE_TYPE:
        verdicts = sorted((*context.kept, *context.shortened), key=lambda verdict: -(verdict.score or 0.0))
        nodes = used_nodes(verdicts, with_metadata=True)
        return self._prepare_response_output(answer, [*nodes, *(additional or ())])


def _question(query: QueryType) -> str:
    return (query.query_str if isinstance(query, QueryBundle) else query).strip()


def _nodes(texts: Sequence[str]) -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(text=text)) for text in texts]


def _is_empty(context: Context) -> bool:
    """Whether there was nothing to answer from."""
    return not (context.kept or context.shortened or context.dropped)


def _chat_messages(message: Message, system_role: MessageRole) -> list[ChatMessage]:
    """The caller's own messages where they stand whole, else one with the text."""
    origin = message.origin
    if isinstance(origin, ChatMessage):
        return [origin]
    if isinstance(origin, tuple) and origin and all(isinstance(part, ChatMessage) for part in origin):
        return list(origin)
    role = system_role if message.role == "system" else MessageRole(message.role)
    return [ChatMessage(role=role, content=message.content)]


def _once(text: str) -> Generator[str, None, None]:
    yield text


async def _aonce(text: str) -> AsyncGenerator[str, None]:
    yield text


def _deltas(responses: Iterable[Any]) -> Generator[str, None, None]:
    for response in responses:
        yield response.delta or ""


async def _adeltas(responses: AsyncGenerator[Any, None]) -> AsyncGenerator[str, None]:
    async for response in responses:
        yield response.delta or ""
