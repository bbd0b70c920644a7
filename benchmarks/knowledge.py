"""How often the knowledge base finds the marked passages, beside BM25 over the same paragraphs; and how fast
it is.

    python benchmarks/knowledge.py [--data ../shared/data] [--folder FOLDER]

Every paragraph of a pool is added by `add_texts`, then every question of the pool is asked with `search`'s
defaults (limit=5, min_score=0.3) and without the least score. A marked group counts as found if a passage of
one of its paragraphs is among the results. BM25 is Lucene's (k1 1.5, b 0.75) over the words of whole
paragraphs. "nothing" is the share of questions of *another* set for which the store rightly finds nothing.
"""

from __future__ import annotations

import argparse
import json
import sysconfig
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from packline.chroma import KnowledgeBase
from packline.relevance.words import words

SETS = {
    "musique": "hotpotqa",
    "cmrc2018_zh": "dureader_zh",
    "hotpotqa": "musique",
    "dureader_zh": "cmrc2018_zh",
}
LIMIT = 5


def main() -> None:
    """Measure and print."""
    data = Path(__file__).parent.parent.parent / "shared" / "data"
    packages = Path(sysconfig.get_path("purelib"))
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, default=data, help="the question sets")
    options.add_argument("--folder", type=Path, default=packages, help="files to read")
    options.add_argument("--sets", default="musique,cmrc2018_zh", help=f"some of {', '.join(SETS)}")
    chosen = options.parse_args()
    print("| set | questions | BM25 | knowledge base | with min_score=0 | nothing |")
    print("|---|---|---|---|---|---|")
    for name in chosen.sets.split(","):
        quality(chosen.data, name)
    speed(chosen.folder)


def quality(data: Path, name: str) -> None:
    """One line: percentages."""
    shares = measure(data, name)
    figures = " | ".join(f"{100 * shares[way]:.1f}" for way in ("bm25", "default", "all"))
    print(f"| {name} | {shares['questions']:.0f} | {figures} | {100 * shares['nothing']:.0f} |", flush=True)


def measure(data: Path, name: str, most: int | None = None) -> dict[str, float]:
    """The share of marked groups among the first five, in the first `most` pools, for each way to search."""
    strangers = [case["query"] for _, cases in pools(data, SETS[name]) for case in cases][:200]
    found: dict[str, list[float]] = defaultdict(list)
    nothing: list[bool] = []
    for candidates, cases in pools(data, name)[:most]:
        sources = [candidate["id"] for candidate in candidates]
        peer = Bm25([candidate["content"] for candidate in candidates])
        with KnowledgeBase() as knowledge:
            knowledge.add_texts([candidate["content"] for candidate in candidates], sources=sources)
            for case in cases:
                question = case["query"]
                found["bm25"].append(share(case, [sources[place] for place in peer.best(question)]))
                for way, least in (("default", 0.3), ("all", 0.0)):
                    results = knowledge.search(question, LIMIT, least)
                    found[way].append(share(case, [str(result.metadata["source"]) for result in results]))
            if len(candidates) > 100:
                nothing += [
                    not knowledge.search(question) for question in strangers[len(nothing) % 200 :][:40]
                ]
    shares = {way: float(np.mean(found[way])) for way in ("bm25", "default", "all")}
    return {**shares, "questions": len(found["bm25"]), "nothing": float(np.mean(nothing or [np.nan]))}


def pools(data: Path, name: str) -> list[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Candidates with the scored questions that are asked of them."""
    shared = data / f"{name}.corpora.jsonl"
    corpora = {line["corpus_id"]: line["candidates"] for line in lines(shared)} if shared.exists() else {}
    asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for case in lines(data / f"{name}.jsonl"):
        if case.get("answerable") is not False and case["evidence"]:
            key = case.get("corpus_id") or case["id"]
            corpora.setdefault(key, case.get("candidates"))
            asked[key].append(case)
    return [(corpora[key], cases) for key, cases in asked.items()]


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects in a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def share(case: dict[str, Any], found: list[str]) -> float:
    """Of the case's groups, the share with a member among `found`."""
    groups = case.get("evidence_groups") or [[one] for one in case["evidence"]]
    return float(np.mean([any(one in found for one in group) for group in groups]))


class Bm25:
    """Lucene's BM25, as plainly as it can be written."""

    def __init__(self, texts: list[str]) -> None:
        self.counts = [Counter(words(text)) for text in texts]
        self.lengths = np.array([sum(count.values()) for count in self.counts], float)
        self.containing = Counter(word for count in self.counts for word in count)

    def best(self, question: str) -> list[int]:
        """The places of the five best texts."""
        scores = np.zeros(len(self.counts))
        norm = 1.5 * (1 - 0.75 + 0.75 * self.lengths / self.lengths.mean())
        for word in words(question):
            n = self.containing[word]
            tf = np.array([count[word] for count in self.counts])
            scores += np.log1p((len(tf) - n + 0.5) / (n + 0.5)) * tf / (tf + norm)
        return [int(place) for place in np.argsort(-scores, kind="stable")[:LIMIT]]


def speed(folder: Path) -> None:
    """How long it takes to read a folder, to find it unchanged, to open it, and to search it."""
    with tempfile.TemporaryDirectory() as path:
        with KnowledgeBase(path) as knowledge:
            report, first = timed(lambda: knowledge.add(folder, progress=True))
            _, again = timed(lambda: knowledge.add(folder))
        print(f"\n{len(report.added)} files, {report.passages} passages, {len(report.failed)} failed")
        print(f"read in {first:.1f} s ({report.passages / first:.0f} passages/s), unchanged in {again:.1f} s")
        with KnowledgeBase(path) as knowledge:
            _, opened = timed(lambda: knowledge.search("How is a random generator seeded?"))
            questions = ["which license applies", "install from source", "parse_args", "how to read dates"]
            times = [timed(lambda asked=asked: knowledge.search(asked))[1] for asked in questions * 5]
        typical = 1000 * np.median(times)
        print(f"first search {opened:.2f} s, then {typical:.1f} ms at {report.passages} passages")


def timed(call: Any) -> tuple[Any, float]:
    """What a call gives, and its seconds."""
    start = time.perf_counter()
    return call(), time.perf_counter() - start


if __name__ == "__main__":
    main()
