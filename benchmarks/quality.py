"""How much of the marked evidence stands in the context: packline and its peers, in one run.

    python benchmarks/quality.py [--data ../shared/data] [--sets locomo musique] [--cases 200] [--plot FILE]

Recall at B: of a case's groups of evidence, the share with a member *whole* among the kept candidates, where
a candidate counts as "role: content" and all kept ones joined by line breaks count at most B tokens of
o200k_base. Intervals are 95 % of a paired bootstrap over cases, of the difference to BM25. Needs
`pip install "packline[bench]"`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from pathlib import Path

import numpy as np
import peers
from numpy.typing import NDArray

from packline import ContextConfig, ContextPacket, Gathered, Request, select, token_counter
from packline.cli.cases import Case, read_cases, spread
from packline.passages import Passages
from packline.relevance import Relevance, resolve_relevance

BUDGETS = (512, 1_000, 2_000, 4_000)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)  # the "now" of sets without dates
SETS = ("locomo", "musique", "dureader_zh", "qmsum_val", "hotpotqa", "cmrc2018_zh")

PROMPT = (
    "You answer what our customers ask. Read the passages below and answer in at most three sentences; where "
    "they do not say it, say that you do not know, and never guess. Name the passage that each statement is "
    "from.\n\nQuestion: {}\nAnswer:"
)

HEAD = (
    "| system | recall at 512 / 1000 / 2000 / 4000 | full at 2000 | against BM25 at 1000 | tokens |\n"
    "|---|---|---|---|---|"
)

Kept = Callable[[Case, int], tuple[frozenset[str], int]]


def main() -> None:
    """Measure, print the tables and draw the plot."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    options.add_argument(
        "--cases", type=at_least_1, help="as many of each set, evenly spread; all if not given"
    )
    options.add_argument(
        "--systems", nargs="+", choices=list(systems()), help="some of them; all if not given"
    )
    options.add_argument(
        "--in-prompt", action="store_true", help="put each question into a prompt that says how to answer"
    )
    options.add_argument("--jobs", type=at_least_1, default=1, help="systems that are measured side by side")
    options.add_argument("--plot", type=Path, help="where to draw recall over budget")
    chosen = options.parse_args()
    check_data(chosen.data)
    names = chosen.systems or list(systems())
    results: dict[str, dict[str, NDArray[np.float64]]] = {}
    with ProcessPoolExecutor(chosen.jobs) as jobs:
        for title, bare in parts(chosen.data, chosen.sets, chosen.cases):
            cases = [in_prompt(case) for case in bare] if chosen.in_prompt else bare
            print(f"\n### {title} ({len(cases)} cases)\n\n{HEAD}", flush=True)
            results[title] = {}
            for name, (recall, used) in zip(names, jobs.map(measured, names, repeat(cases)), strict=False):
                results[title][name] = recall
                base = results[title].get("BM25")
                print(line(name, recall, used, base), flush=True)
    if chosen.plot:
        draw(results, chosen.plot)


def check_data(folder: Path) -> None:
    """End here where there are no question sets."""
    if not folder.is_dir():
        sys.exit(f"the question sets are not at {folder}: name their folder with --data")


def in_prompt(case: Case) -> Case:
    """The case with its question inside a prompt that says how to answer."""
    return dataclasses.replace(case, question=PROMPT.format(case.question))


def at_least_1(given: str) -> int:
    """A whole number from 1."""
    if not given.isdecimal() or int(given) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, got {given}")
    return int(given)


def parts(data: Path, names: Sequence[str], count: int | None) -> Iterator[tuple[str, Sequence[Case]]]:
    """The sets; of locomo the conversations that were tuned on, the others, and the others' multi_hop."""
    for name in names:
        cases = read_cases(data / f"{name}.jsonl")
        if name != "locomo":
            yield name, spread(cases, count)
            continue
        talks = sorted({talk(case) for case in cases})
        tuned = [case for case in cases if talk(case) in talks[:5]]
        others = [case for case in cases if talk(case) not in talks[:5]]
        hops = categories(data / "locomo.jsonl")
        yield "locomo, tuned on", spread(tuned, count)
        yield "locomo, not tuned on", spread(others, count)
        yield (
            "locomo, not tuned on, multi_hop",
            spread([c for c in others if hops[c.id] == "multi_hop"], count),
        )


def talk(case: Case) -> str:
    """The conversation that a case of locomo is about."""
    return case.id.rsplit("-q", 1)[0]


def categories(path: Path) -> dict[str, str]:
    """Case to category."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {line["id"]: line["category"] for line in lines}


def systems() -> dict[str, Callable[[], Kept]]:
    """Name to a fresh system."""
    return {
        "newest (trim_messages)": lambda: peers.newest,
        "the book": lambda: peers.book,
        "LlamaIndex similarity": peers.llama_index_similarity,
        "LlamaIndex recency": lambda: peers.llama_index_recency,
        "BM25": lambda: peers.bm25,
        "packline lexical": lambda: packline("lexical"),
        "packline semantic": lambda: packline("semantic"),
        "packline hybrid": lambda: packline("hybrid"),
        "packline hybrid, stop_share=0.515": lambda: packline("hybrid", ContextConfig(stop_share=0.515)),
    }


def packline(relevance: str | Relevance, settings: ContextConfig | None = None) -> Kept:
    """packline with some scorer, and its defaults if there are no settings."""
    return partial(packed, Once(resolve_relevance(relevance)), settings or ContextConfig())


def packed(
    relevance: Relevance, settings: ContextConfig, case: Case, budget: int
) -> tuple[frozenset[str], int]:
    """What packline keeps: the ids of what stands whole, and the tokens used.

    A candidate that was merged into another stands whole where the other's text holds its own, white space
    aside.
    """
    config = Passages.config(settings.replace(max_tokens=budget), separator="\n")
    request = Request.of(case.question, custom_packets=case.candidates, now=case.now or LONG_AGO)
    gathered = Gathered(request=request, packets=request.packets, names=("pool",) * len(request.packets))
    selection = select(gathered, relevance=relevance, counter=COUNTER, config=config)
    kept = [verdict for verdict in selection.kept if verdict.limit is None]
    said = {p.id for v in kept for p in v.merged if _spaceless(p) in _spaceless(v.packet)}
    return frozenset({v.packet.id for v in kept} | said), sum(v.tokens or 0 for v in kept)


def _spaceless(packet: ContextPacket) -> str:
    return "".join(packet.content.split())


class Once:
    """A scorer that remembers its last answer, since a case is asked at several budgets."""

    def __init__(self, relevance: Relevance) -> None:
        self._relevance = relevance
        self._last: tuple[object, NDArray[np.float64]] | None = None

    def scores(self, query: str, packets: Sequence[ContextPacket]) -> NDArray[np.float64]:
        """The scores of the last case, or those of a new one."""
        key = query, tuple(map(id, packets))
        if self._last is None or self._last[0] != key:
            self._last = key, self._relevance.scores(query, packets)
        return self._last[1]


COUNTER = token_counter()


def measured(name: str, cases: Sequence[Case]) -> tuple[NDArray[np.float64], float]:
    """Recall of a system, shape (cases, budgets); and the mean of tokens used at the largest budget."""
    return recalled(systems()[name](), cases, name)


def recalled(kept: Kept, cases: Sequence[Case], name: str) -> tuple[NDArray[np.float64], float]:
    """The same of what keeps so; `name` is for the progress."""
    recall, used = np.zeros((len(cases), len(BUDGETS))), 0
    for row, case in enumerate(cases):
        if sys.stderr.isatty() and row % 20 == 0:
            print(f"\r{name}: {row}/{len(cases)} ", end="", file=sys.stderr, flush=True)
        for column, budget in enumerate(BUDGETS):
            ids, tokens = kept(case, budget)
            recall[row, column] = np.mean([bool(group & ids) for group in case.groups])
        used += tokens
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return recall, used / len(cases)


def line(name: str, recall: NDArray[np.float64], used: float, base: NDArray[np.float64] | None) -> str:
    """One row of a table."""
    means = " / ".join(f"{100 * mean:.1f}" for mean in recall.mean(axis=0))
    full = 100 * (recall[:, 2] == 1).mean()
    return (
        f"| {name} | {means} | {full:.1f} | {'' if base is None else difference(recall, base)} | {used:.0f} |"
    )


def difference(recall: NDArray[np.float64], base: NDArray[np.float64], column: int = 1) -> str:
    """The mean difference with its interval."""
    gap = 100 * (recall[:, column] - base[:, column])
    low, high = interval(gap)
    return f"{gap.mean():+.1f} ({low:+.1f} to {high:+.1f})"


def interval(gap: NDArray[np.float64]) -> tuple[float, float]:
    """95 % of a bootstrap of the mean."""
    rng = np.random.default_rng(0)
    means = gap[rng.integers(0, len(gap), (2_000, len(gap)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def draw(results: dict[str, dict[str, NDArray[np.float64]]], path: Path) -> None:
    """Recall over budget, one panel a set."""
    import matplotlib.pyplot as plt

    columns = min(4, len(results))
    rows = -(-len(results) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(4 * columns, 3.2 * rows), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, (title, by_system) in zip(axes.flat, results.items(), strict=False):
        for name, recall in by_system.items():
            own = name.startswith("packline")
            axis.plot(BUDGETS, 100 * recall.mean(axis=0), marker="o", ms=3, lw=2 if own else 1, label=name,
                      ls="-" if own else "--")  # fmt: skip
        axis.set(title=title, xscale="log", ylim=(0, 100))
        axis.set_xticks(BUDGETS, map(str, BUDGETS))
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(results) :]:
        axis.axis("off")
    figure.supxlabel("budget, tokens")
    figure.supylabel("recall of evidence, %")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
