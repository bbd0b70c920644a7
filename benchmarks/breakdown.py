"""Where the time of a build goes, and what it could not do without.

    python benchmarks/breakdown.py [--packets 20000]

Shares are of the cold build. The lower limit is what any build has to do: one pass over the texts for their
words, one product of a matrix and a vector for the scores, and counting the tokens of what is kept.
"""

from __future__ import annotations

import argparse

import numpy as np
from speed import BUDGET, NOW, QUESTIONS, packets, seconds, texts

from packline import ContextBuilder, ContextConfig, ContextPacket, token_counter
from packline.relevance import Spread
from packline.relevance.bm25 import bm25
from packline.relevance.pool import Pool
from packline.relevance.words import WordIndex


def main() -> None:
    """Measure and print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--packets", type=int, default=20_000)
    count = options.parse_args().packets
    contents = texts(count)
    turns = packets(contents)
    ContextBuilder().build(QUESTIONS[0], custom_packets=turns[:2], now=NOW)  # loads the vocabulary
    first, again = min((built(turns) for _ in range(5)), key=lambda builds: sum(builds[0].values()))
    cold, warm = sum(first.values()), sum(again.values())
    print(f"| part of a build of {count:,} turns | cold, % | warm, % of cold |")
    print("|---|---|---|")
    for stage, took in first.items():
        print(f"| {stage} | {100 * took / cold:.1f} | {100 * again[stage] / cold:.1f} |")
    print(f"| all | 100 | {100 * warm / cold:.1f} |")
    print("\n| part of select, cold | % of the cold build |\n|---|---|")
    pieces = [inside(turns) for _ in range(5)]
    parts = {name: min(piece[name] for piece in pieces) for name in pieces[0]}
    for name, took in {**parts, "all else": first["select"] - sum(parts.values())}.items():
        print(f"| {name} | {100 * took / cold:.1f} |")
    print("\n| lower limit | % of the cold build |\n|---|---|")
    for name, took in limits(contents).items():
        print(f"| {name} | {100 * took / cold:.1f} |")


def built(turns: list[ContextPacket]) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of each stage, of a first build and of one with another question."""
    builder = ContextBuilder(config=ContextConfig(max_tokens=BUDGET))
    first, again = (
        builder.build(question, conversation_history=turns, now=NOW) for question in QUESTIONS[:2]
    )
    return dict(first.stage_seconds), dict(again.stage_seconds)


def inside(turns: list[ContextPacket]) -> dict[str, float]:
    """Seconds of what the lexical scorer does for the first question about a pool."""
    pool = Pool(turns)
    took = {
        "the texts' words": seconds(lambda: pool.words),
        "lists of where each word stands": seconds(lambda: pool.words.places(0)),
        "scores by words": seconds(lambda: bm25(QUESTIONS[0], pool)),
    }
    matches = bm25(QUESTIONS[0], pool)
    spread = seconds(lambda: Spread().scores(QUESTIONS[0], matches.scores, pool, best=matches.share))
    return {**took, "what spreads to neighbours and by names": spread}


def limits(contents: list[str]) -> dict[str, float]:
    """Seconds of what cannot be left out."""
    counter = token_counter()
    matrix = np.random.default_rng(0).random((len(contents), 16), dtype=np.float32)
    weights = np.ones(16, np.float32)
    return {
        "one pass over the texts for their words": min(
            seconds(lambda: WordIndex(contents)) for _ in range(5)
        ),
        "one product of scores and weights": min(seconds(lambda: matrix @ weights) for _ in range(5)),
        "counting as much as is kept": seconds(lambda: list(map(counter.count, contents[: BUDGET // 65]))),
    }


if __name__ == "__main__":
    main()
