"""How fast a build is, as ratios to what peers take for the same messages, counter and budget in one run.

    python benchmarks/speed.py [--messages 20000] [--most 100000]

Absolute seconds depend on the machine and on what else it does; only ratios of one run mean something.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pydoc_data.topics import topics

import numpy as np
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, trim_messages
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer

from packline import ContextBuilder, ContextConfig, ContextPacket, Kind, token_counter

NOW = datetime(2026, 1, 15, tzinfo=UTC)
BUDGET = 4_000
QUESTIONS = [
    "how does a generator get an exception",
    "when is a module imported a second time",
    "which methods make an object a descriptor",
]


def main() -> None:
    """Measure and print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--messages", type=int, default=20_000, help="messages against trim_messages")
    options.add_argument("--most", type=int, default=100_000, help="the largest pool of the growth curve")
    chosen = options.parse_args()
    print("| what | ratio | asked for |")
    print("|---|---|---|")
    against_trim_messages(chosen.messages)
    against_chat_memory_buffer(1_000)
    growth(chosen.most)
    hybrid(2_000)
    asyncio_overhead(1_000)


def texts(count: int) -> list[str]:
    """Texts of about 65 tokens: pieces of Python's own reference, each begun at another word."""
    words = " ".join(topics.values()).split()
    chance = random.Random(7)
    starts = [chance.randrange(len(words) - 40) for _ in range(count)]
    return [" ".join(words[start : start + 40]) for start in starts]


def packets(contents: list[str]) -> list[ContextPacket]:
    """The texts as turns of a conversation."""
    roles = ("user", "assistant")
    return [
        ContextPacket(text, kind=Kind.HISTORY, metadata={"role": roles[n % 2]}, id=f"turn-{n}")
        for n, text in enumerate(contents)
    ]


def builder(relevance: str = "lexical") -> ContextBuilder:
    """The defaults, at the budget of this benchmark."""
    return ContextBuilder(config=ContextConfig(max_tokens=BUDGET), relevance=relevance)


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cold_and_warm(turns: list[ContextPacket], one: ContextBuilder) -> tuple[float, float]:
    """Seconds of the first build over `turns`, and of the fastest one with another question."""
    cold = seconds(lambda: one.build(QUESTIONS[0], conversation_history=turns, now=NOW))
    warm = [seconds(lambda q=q: one.build(q, conversation_history=turns, now=NOW)) for q in QUESTIONS[1:]]
    return cold, min(warm)


def row(what: str, ratio: float, asked: str) -> None:
    """One line of the table."""
    print(f"| {what} | {ratio:.3g} | {asked} |", flush=True)


def against_trim_messages(count: int) -> None:
    """Cold and warm builds against `trim_messages`, which keeps the newest."""
    contents, tokens = texts(count), token_counter()
    messages: list[BaseMessage] = [
        (HumanMessage, AIMessage)[n % 2](content=text) for n, text in enumerate(contents)
    ]
    measure = tokens._measure  # without the cache: the peer has none

    def counted(some: list[BaseMessage]) -> int:
        return sum(len(measure(str(message.content))) + 4 for message in some)

    peer = seconds(lambda: trim_messages(messages, max_tokens=BUDGET, token_counter=counted, strategy="last"))
    cold, warm = cold_and_warm(packets(contents), builder())
    row(f"cold build of {count:,} turns / trim_messages", cold / peer, "at most 0.333")
    row(f"warm build of {count:,} turns / trim_messages", warm / peer, "at most 0.1")
    fresh = builder()
    raw = seconds(lambda: fresh.build(QUESTIONS[0], conversation_history=messages, now=NOW))
    row(f"cold build of {count:,} LangChain messages / trim_messages", raw / peer, "")


def against_chat_memory_buffer(count: int) -> None:
    """A cold build against LlamaIndex's buffer, which reads and counts the conversation again and again."""
    contents = texts(count)
    roles = ("user", "assistant")
    memory = ChatMemoryBuffer.from_defaults(
        chat_history=[ChatMessage(role=roles[n % 2], content=text) for n, text in enumerate(contents)],
        token_limit=BUDGET,
    )
    peer = seconds(memory.get)
    messages, one = memory.get_all(), builder()
    cold = seconds(lambda: one.build(QUESTIONS[0], conversation_history=messages, now=NOW))
    row(f"ChatMemoryBuffer.get / cold build, {count:,} messages", peer / cold, "at least 100")


def growth(most: int) -> None:
    """How time grows with the pool: the slope of log time over log size."""
    sizes = [size for size in (1_000, 3_000, 10_000, 30_000, 100_000) if size <= most]
    cold, warm = [], []
    for size in sizes:
        first, again = cold_and_warm(packets(texts(size)), builder())
        cold.append(first)
        warm.append(again)
    slope = float(np.polyfit([math.log(size) for size in sizes], [math.log(s) for s in cold], 1)[0])
    row(f"log-log slope of cold builds, {sizes[0]:,} to {sizes[-1]:,} turns", slope, "at most 1.1")
    row(f"one more question / cold build, {sizes[-1]:,} turns", warm[-1] / cold[-1], "under 0.05")


def hybrid(count: int) -> None:
    """The embedding of unchanged text is computed once."""
    turns, one = packets(texts(count)), builder("hybrid")
    one.build(QUESTIONS[0], conversation_history=packets(texts(8)), now=NOW)  # loads the model
    cold, warm = cold_and_warm(turns, one)
    row(f"hybrid: one more question / cold build, {count:,} turns", warm / cold, "")


def asyncio_overhead(count: int) -> None:
    """An awaited build against a plain one."""
    turns, one = packets(texts(count)), builder()
    one.build(QUESTIONS[0], conversation_history=turns, now=NOW)
    plain = min(seconds(lambda q=q: one.build(q, conversation_history=turns, now=NOW)) for q in QUESTIONS[1:])
    awaited = min(
        seconds(lambda q=q: asyncio.run(one.abuild(q, conversation_history=turns, now=NOW)))
        for q in QUESTIONS[1:]
    )
    row(f"abuild / build, {count:,} turns, warm", awaited / plain, "")


if __name__ == "__main__":
    main()
