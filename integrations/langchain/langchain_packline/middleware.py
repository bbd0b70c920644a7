"""ContextMiddleware: what the model of an agent gets to see, packed anew for each question.

Only the request to the model is changed, never the state. The tools' answers to the question at hand come
first; what they leave is for the conversation and for what the sources give. That part is packed once for a
question and stays as it is while the agent calls its tools and there is room, so that prompt caches hit.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from langchain_packline.builder import ContextBuilder
from langchain_packline.inputs import request_of
from langchain_packline.stages import Compress, Gather, Select, Structure
from langchain_packline.toolloop import ToolLoop
from langchain_packline.tracing import aannounce, announce
from langchain_packline.turn import Head, Turn
from packline import BudgetError, Draft
from packline.attempt import threaded
from packline.messages import read_message
from packline.prompt import MEDIA_TOKENS, Prompt, attached, fixed_bodies

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest
except ImportError as error:
    raise ImportError('ContextMiddleware needs langchain: pip install "packline[agents]"') from error

__all__ = ["ContextMiddleware"]

_REMEMBERED = 256  # questions whose sources need not be asked again


class ContextMiddleware(AgentMiddleware):
    """Packs what the model of an agent sees into `max_tokens`, in which system prompt and tools are counted.

    The last human message is the question. It stands whole whatever happens; where sources or earlier turns
    have something to add as text, it carries that before the question, under its own id. Of the conversation
    before, the best turns stand as the very messages that they are. A call of tools keeps all its results.

    Sources are asked once for a question, not on each call of the model within it.

    Put it last in an agent's list of middleware, so that it counts the system prompt and the tools that
    others set; what one behind it adds is not counted.

    Args:
        options: Those of `langchain_packline.ContextBuilder`: `config` or single settings, `sources`,
            `relevance`, `token_counter`, `summarizer`. The layout is always "chat".

    Raises:
        ConfigError: An option cannot be used; it is named.
        BudgetError: While the agent runs: system prompt, tools and question need more than `max_tokens`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        builder = ContextBuilder(**{**options, "layout": "chat"})
        config = builder.settings()
        # The agent has its own instructions.
        self._config = config.replace(template=dataclasses.replace(config.template, output=""))
        self._gather = Gather(config=self._config, sources=builder.sources)
        self._select = Select(
            config=self._config, relevance=builder.relevance, token_counter=builder.token_counter
        )
        self._compress = Compress(config=self._config, summarizer=builder.summarizer)
        self._counter = self._select.counter
        self._heads: OrderedDict[int, Head] = OrderedDict()
        self._lock = threading.Lock()

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Call the model with what fits."""
        turn = self._turn(request)
        if turn.question is None:
            return handler(request.override(messages=turn.loop.messages))
        head = self._known(turn) or Head(self._gather.invoke(turn.request()))
        if not turn.fits(head):
            context = self._compress.context(self._draft(head, turn))
            announce(context)
            head = self._kept(turn, dataclasses.replace(head, context=context))
        return handler(request.override(messages=turn.messages(head)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """The same, awaited."""
        turn = await threaded(self._turn, request)
        if turn.question is None:
            return await handler(request.override(messages=turn.loop.messages))
        head = self._known(turn)
        if head is None:
            head = Head(await self._gather.ainvoke(await threaded(turn.request)))
        if not turn.fits(head):
            context = await self._compress.acontext(await self._adraft(head, turn))
            await aannounce(context)
            head = self._kept(turn, dataclasses.replace(head, context=context))
        return await handler(request.override(messages=turn.messages(head)))

    def _turn(self, request: ModelRequest[Any]) -> Turn:
        """The request taken apart: the question, what came before it and what has come since."""
        messages: list[BaseMessage] = list(request.messages)
        at = max((n for n, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
        loop = ToolLoop.of(messages[at + 1 :], self._counter, self._config.message_overhead)
        costs = {"system prompt": self._system_tokens(request), "tools": self._tool_tokens(request)}
        if at < 0:
            room = self._config.budget("") - sum(costs.values())
            return Turn(None, (), self._within(loop, room, ""), room)
        asked = request_of([messages[at]])
        bare = Prompt.of(
            self._config.template,
            fixed_bodies(self._config.template, asked.question, ()),
            media=len(asked.attachments),
        )
        costs["Task"] = least = bare.tokens(self._counter, overhead=self._config.message_overhead)
        max_tokens = self._config.budget(asked.question)
        room = max_tokens - costs["system prompt"] - costs["tools"]
        if least > room and self._config.shorten_question:
            least = max(0, room // 2)  # the other half is for the tools
        if least > room or room <= 0:
            media = MEDIA_TOKENS * len(asked.attachments)
            costs["Task"] -= media
            largest = max(costs, key=lambda name: costs[name])
            if media > costs[largest]:
                raise BudgetError(sum(costs.values()) + media, max_tokens, attached(asked.attachments), media)
            raise BudgetError(sum(costs.values()) + media, max_tokens, largest)
        before = (*messages[:at], *loop.broken)
        kept = self._within(loop, room - least, asked.question)
        return Turn(messages[at], before, kept, room, bare.messages[-1].content, least)

    def _within(self, loop: ToolLoop, room: int, question: str) -> ToolLoop:
        return loop.within(
            room,
            question=question,
            counter=self._counter,
            overhead=self._config.message_overhead,
            whole=not self._config.enable_compression,
        )

    def _system_tokens(self, request: ModelRequest[Any]) -> int:
        message = getattr(request, "system_message", None)
        text = request.system_prompt if message is None else read_message(message).text
        return self._counter.count(text) + self._config.message_overhead if text else 0

    def _tool_tokens(self, request: ModelRequest[Any]) -> int:
        schemas = [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in request.tools]
        return sum(self._counter.count(json.dumps(schema, ensure_ascii=False)) for schema in schemas)

    def _draft(self, head: Head, turn: Turn) -> Draft:
        """What is to stand before the loop."""
        selection = self._select.invoke(head.gathered, max_tokens=turn.room_before_loop(head))
        return Structure().invoke(selection)

    async def _adraft(self, head: Head, turn: Turn) -> Draft:
        """The same, awaited."""
        selection = await self._select.ainvoke(head.gathered, max_tokens=turn.room_before_loop(head))
        return await Structure().ainvoke(selection)

    def _known(self, turn: Turn) -> Head | None:
        with self._lock:
            return self._heads.get(turn.key)

    def _kept(self, turn: Turn, head: Head) -> Head:
        with self._lock:
            self._heads[turn.key] = head
            self._heads.move_to_end(turn.key)
            while len(self._heads) > _REMEMBERED:
                self._heads.popitem(last=False)
        return head
