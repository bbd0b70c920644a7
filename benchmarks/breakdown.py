"""Where the time of a build goes, and what it could not do without.

    python benchmarks/breakdown.py [--packets 20000]

Shares are of the cold build. The lower limit is what any build has to do: one pass over the texts for their
words, one product of a matrix and a vector for the scores, and counting the tokens of what is kept.
"""

from __future__ import annotations

import argparse

import numpy as np
from speed import BUDGET, NOW, QUESTIONS, packets, seconds, texts

from packline import ContextBuilder, ContextConfig, token_counter
from packline.relevance.words import WordIndex


def main() -> None:
    """Measure and print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--packets", type=int, default=20_000)
    count = options.parse_args().packets
    contents = texts(count)
    turns = packets(contents)
    builder = ContextBuilder(config=ContextConfig(max_tokens=BUDGET))
    builder.build(QUESTIONS[0], custom_packets=turns[:2], now=NOW)  # loads the vocabulary
    builds = [builder.build(question, conversation_history=turns, now=NOW) for question in QUESTIONS]
    cold, warm = (sum(build.stage_seconds.values()) for build in (builds[0], builds[-1]))
    print(f"| part of a build of {count:,} turns | cold, % | warm, % of cold |")
    print("|---|---|---|")
    for stage, took in builds[0].stage_seconds.items():
        print(f"| {stage} | {100 * took / cold:.1f} | {100 * builds[-1].stage_seconds[stage] / cold:.1f} |")
    print(f"| all | 100 | {100 * warm / cold:.1f} |")
    print("\n| lower limit | % of the cold build |\n|---|---|")
    for name, took in limits(contents, [verdict.text for verdict in builds[0].kept]).items():
        print(f"| {name} | {100 * took / cold:.1f} |")


def limits(contents: list[str], kept: list[str]) -> dict[str, float]:
    """Seconds of what cannot be left out."""
    counter = token_counter()
    matrix = np.random.default_rng(0).random((len(contents), 16), dtype=np.float32)
    weights = np.ones(16, np.float32)
    return {
        "one pass over the texts for their words": min(
            seconds(lambda: WordIndex(contents)) for _ in range(3)
        ),
        "one product of scores and weights": min(seconds(lambda: matrix @ weights) for _ in range(3)),
        "counting what is kept": seconds(lambda: [counter.count(text) for text in kept]),
    }


if __name__ == "__main__":
    main()
