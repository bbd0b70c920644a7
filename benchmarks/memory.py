"""What a builder remembers of the packets it has seen, and that it lets go of them.

    python benchmarks/memory.py [--packets 20000]

Bytes are those that Python and numpy allocate (tracemalloc), beyond the packets and their texts.
"""

from __future__ import annotations

import argparse
import gc
import tracemalloc
import weakref
from datetime import UTC, datetime

from speed import BUDGET, QUESTIONS, packets, texts

from packline import ContextBuilder, ContextConfig

NOW = datetime(2026, 1, 15, tzinfo=UTC)


def main() -> None:
    """Measure and print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--packets", type=int, default=20_000)
    count = options.parse_args().packets
    print("| relevance | bytes a packet, beyond its text | at the peak of a build | kept after the builder |")
    print("|---|---|---|---|")
    for relevance in ("lexical", "hybrid"):
        print(f"| {relevance} | {' | '.join(measured(relevance, count))} |", flush=True)


def measured(relevance: str, count: int) -> list[str]:
    """Bytes a packet that a builder holds after a build, and at most during it; and what outlives it."""
    turns = packets(texts(count))
    ContextBuilder(relevance=relevance).build(QUESTIONS[0], custom_packets=turns[:4], now=NOW)  # loads models
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    builder = ContextBuilder(config=ContextConfig(max_tokens=BUDGET), relevance=relevance)
    builder.build(QUESTIONS[0], conversation_history=turns, now=NOW)
    gc.collect()
    held, peak = tracemalloc.get_traced_memory()
    watched = weakref.ref(turns[0])
    del builder, turns
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    alive = (
        "yes" if watched() is not None else f"nothing ({max(0, after - before) / count:.0f} bytes a packet)"
    )
    return [f"{(held - before) / count:.0f}", f"{(peak - before) / count:.0f}", alive]


if __name__ == "__main__":
    main()
