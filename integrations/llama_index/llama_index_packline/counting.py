"""Which tokenizer counts: the one asked for, else that of `Settings`, else the one that LlamaIndex bundles.

It is looked up at each call, since `Settings.tokenizer` may be set after an engine was made.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from llama_index.core.constants import DEFAULT_NUM_OUTPUTS
from llama_index.core.llms import LLM
from llama_index.core.utils import get_tokenizer

from packline import ConfigError, token_counter
from packline.tokens import Counter

__all__ = ["budget_for", "counter_of"]


def counter_of(spec: object = None) -> Counter:
    """The counter for `spec`, or at this moment for `Settings.tokenizer`; LlamaIndex's own is cl100k_base.

    Args:
        spec: Anything that `packline.token_counter` takes, or None.
    """
    chosen = get_tokenizer() if spec is None else spec
    return _remembered(chosen) if isinstance(chosen, Hashable) else token_counter(chosen)


@lru_cache(maxsize=16)
def _remembered(spec: Hashable) -> Counter:
    """One counter a tokenizer, so that texts counted before are not counted again."""
    return token_counter(spec)


def budget_for(
    llm: LLM, *, prompt: str = "", output_tokens: int | None = None, token_counter: object = None
) -> int:
    """The tokens that are left for what packline packs: the model's window without prompt and answer.

    Args:
        llm: Its metadata give the window and the length of an answer; its system prompt is counted.
        prompt: What the engine writes around the packed text, such as its question template.
        output_tokens: Kept for the answer. None: the model's `num_output`, or LlamaIndex's default of 256.
        token_counter: None: `Settings.tokenizer`.

    Raises:
        ConfigError: Nothing is left, or an argument cannot be used; it is named.

    >>> from llama_index.core.llms import MockLLM
    >>> budget_for(MockLLM(max_tokens=512), prompt="Context: \\nAnswer the question.")
    3381
    """
    if not isinstance(llm, LLM):
        raise ConfigError("llm", llm, "a LlamaIndex LLM, such as Settings.llm")
    if not isinstance(prompt, str):
        raise ConfigError("prompt", prompt, "the text that is written around what packline packs")
    if output_tokens is not None and (type(output_tokens) is not int or output_tokens < 0):
        raise ConfigError("output_tokens", output_tokens, "a whole number from 0, or None")
    window, answer = llm.metadata.context_window, llm.metadata.num_output
    if output_tokens is None:
        output_tokens = answer if answer > 0 else DEFAULT_NUM_OUTPUTS
    counter = counter_of(token_counter)
    written = sum(counter.count(text) for text in (llm.system_prompt or "", prompt) if text)
    left = window - output_tokens - written
    if left < 1:
        raise ConfigError(
            "output_tokens", output_tokens, f"less than the {window - written} that window and prompt leave"
        )
    return left
