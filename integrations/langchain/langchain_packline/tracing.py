"""Tracing: the report of a build as a custom event and in the run's metadata."""

from __future__ import annotations

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import (
    ensure_config,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
)
from langchain_core.tracers.base import AsyncBaseTracer, BaseTracer

from packline import Context
from packline.attempt import threaded

__all__ = ["REPORT_EVENT", "aannounce", "announce", "areport", "report"]

REPORT_EVENT = "packline_report"
"""Name of the custom event; its data is `Context.to_dict()`."""


def report(context: Context, run_manager: BaseRunManager, config: RunnableConfig) -> None:
    """Let callbacks and tracers know how `context` came about."""
    _annotate(context, run_manager)
    if run_manager.handlers:
        dispatch_custom_event(REPORT_EVENT, context.to_dict(), config=config)


async def areport(context: Context, run_manager: BaseRunManager, config: RunnableConfig) -> None:
    """The same, awaited."""
    _annotate(context, run_manager)
    if run_manager.handlers:
        await adispatch_custom_event(REPORT_EVENT, await threaded(context.to_dict), config=config)


def announce(context: Context, config: RunnableConfig | None = None) -> None:
    """Send the report as an event of the run that is under way, if one is."""
    config = ensure_config(config)
    manager = get_callback_manager_for_config(config)
    if manager.parent_run_id is not None and manager.handlers:
        dispatch_custom_event(REPORT_EVENT, context.to_dict(), config=config)


async def aannounce(context: Context, config: RunnableConfig | None = None) -> None:
    """The same, awaited."""
    config = ensure_config(config)
    manager = get_async_callback_manager_for_config(config)
    if manager.parent_run_id is not None and manager.handlers:
        await adispatch_custom_event(REPORT_EVENT, await threaded(context.to_dict), config=config)


def _annotate(context: Context, run_manager: BaseRunManager) -> None:
    """Put the figures into the metadata of the run, where tracers that keep runs have it."""
    figures: dict[str, object] = {
        "tokens": context.tokens,
        "max_tokens": context.max_tokens,
        "section_tokens": dict(context.section_tokens),
        "kept": len(context.kept),
        "shortened": len(context.shortened),
        "dropped": len(context.dropped),
        "failures": [str(failure) for failure in context.failures],
    }
    run_manager.metadata["packline"] = figures
    for handler in run_manager.handlers:
        if isinstance(handler, (BaseTracer, AsyncBaseTracer)):
            run = handler.run_map.get(str(run_manager.run_id))
            if run is not None:
                run.metadata["packline"] = figures
