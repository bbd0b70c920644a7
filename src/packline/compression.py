"""Compress: the one place that promises the budget is met.

Earlier stages estimate; this one counts the finished prompt, because a tokenizer may count two joined texts
differently from the sum of both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from packline.attempt import Call, Outcome, asettle, awaited, is_async, settle, threaded
from packline.config import ContextConfig
from packline.context import Context
from packline.fitting import Fitting, Steps
from packline.structuring import Draft
from packline.tokens import Counter

__all__ = ["Summarizer", "acompress", "compress"]

Summarizer = Callable[[str], str] | Callable[[str], Awaitable[str]]


def compress(
    draft: Draft,
    *,
    counter: Counter | None = None,
    config: ContextConfig | None = None,
    summarizer: Summarizer | None = None,
) -> Context:
    """Make the draft fit, and finish it.

    While the prompt is too long, the section that exceeds its share the most gives way, its least valuable
    packet first: shortened to what is allowed, or taken out where that would leave a stub. Shortening keeps
    the sentences that matter for the question, in order, then cuts exactly.

    Args:
        counter: None: what counted for the selection.
        config: None: the settings that the selection was made with.
        summarizer: Text to shorter text, used before the extractive way. Where it fails, or what it
            returns is too long, the extractive way is used and a failure named "summarizer" is reported.

    Raises:
        BudgetError: Instructions, question and skeleton alone need more than the budget.
    """
    steps = _fit(draft, counter, config, summarizer is not None)
    step = _advance(steps)
    while isinstance(step, str):
        step = _advance(steps, settle([_call(summarizer, step, config or draft.selection.config)])[0])
    return step


async def acompress(
    draft: Draft,
    *,
    counter: Counter | None = None,
    config: ContextConfig | None = None,
    summarizer: Summarizer | None = None,
) -> Context:
    """The same as `compress`, awaited: the work is done in a thread, what is asynchronous on the loop."""
    steps = _fit(draft, counter, config, summarizer is not None)
    step = await threaded(_advance, steps)
    while isinstance(step, str):
        outcome = (await asettle([_call(summarizer, step, config or draft.selection.config)]))[0]
        step = await threaded(_advance, steps, outcome)
    return step


def _fit(draft: Draft, counter: Counter | None, config: ContextConfig | None, summarizes: bool) -> Steps:
    return (yield from Fitting(draft, counter, config, summarizes).steps())


def _advance(steps: Steps, outcome: Outcome[str] | None = None) -> str | Context:
    """The next text to summarize, after the last one's outcome; or the finished context."""
    try:
        return next(steps) if outcome is None else steps.send(outcome)
    except StopIteration as end:
        return cast("Context", end.value)


def _call(summarizer: Summarizer | None, text: str, config: ContextConfig) -> Call[str]:
    if is_async(summarizer):
        coroutine = cast("Callable[[str], Awaitable[str]]", summarizer)
        return Call("summarizer", config.source_timeout, arun=lambda: coroutine(text))
    plain = cast("Callable[[str], str]", summarizer)
    return Call("summarizer", config.source_timeout, run=lambda: cast("str", awaited(plain(text))))
