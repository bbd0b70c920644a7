"""How well duplicates are told from texts of one template, and how fast.

    python benchmarks/duplicates.py --data ../shared/data

A pair counts as merged where the first text may go for the second or the second for the first.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from packline.duplicates import Duplicates


def main() -> None:
    """Measure and print the tables."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="folder of the question sets"
    )
    data = options.parse_args().data
    pairs = [json.loads(line) for line in (data / "dedupe.jsonl").read_text("utf-8").splitlines()]
    quality(pairs)
    speed([pair[side] for pair in pairs for side in ("a", "b")])


def quality(pairs: list[dict[str, str]]) -> None:
    """Pairs merged, by kind and by which text may go."""
    count: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        kept = Duplicates[str]()
        kept.add("a", pair["a"])
        second, first = kept.find(pair["b"]) is not None, kept.covered(pair["b"]) != ()
        for name, is_so in {"pairs": True, "b": second, "a": first, "merged": first or second}.items():
            count[pair["kind"], name] += is_so
    print("| kind | pairs | merged | the second may go | the first may go |")
    print("|---|---|---|---|---|")
    kinds = sorted({kind for kind, _ in count})
    for kind in kinds:
        print(
            f"| {kind} | "
            + " | ".join(str(count[kind, name]) for name in ("pairs", "merged", "b", "a"))
            + " |"
        )
    same = "near_duplicate"
    true, false = count[same, "merged"], sum(count[kind, "merged"] for kind in kinds if kind != same)
    print(f"\nF1 {2 * true / (true + false + count[same, 'pairs']):.3f}\n")


def speed(texts: list[str]) -> None:
    """Processor time of a look-up while the kept texts grow."""
    print("| kept | characters a text | find, ms a text | find and add, ms a text |")
    print("|---|---|---|---|")
    for copies in (1, 4, 16):
        kept = Duplicates[int]()
        many = [text.replace("，", f"，第{copy}次，", 1) for copy in range(copies) for text in texts]
        start = time.process_time()
        for key, text in enumerate(many):
            if kept.find(text) is None:
                kept.add(key, text)
        both = time.process_time() - start
        start = time.process_time()
        for text in texts:
            kept.find(f"{text}。")
        found = time.process_time() - start
        mean = sum(map(len, texts)) / len(texts)
        print(f"| {len(kept)} | {mean:.0f} | {1e3 * found / len(texts):.2f} | {1e3 * both / len(many):.2f} |")


if __name__ == "__main__":
    main()
