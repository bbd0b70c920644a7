"""What each part of the hybrid scorer gives: the recall that is lost without it.

    python benchmarks/parts.py [--data ../shared/data] [--sets locomo musique] [--cases 200] [--jobs 2]

Points of recall (see quality.py) at 512 / 1000 / 2000 / 4000 tokens, in bold where the 95 % interval of a
paired bootstrap over cases at 1000 leaves 0 out. A part is switched off by its option of `Spread` or by a
constant.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import ModuleType
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from quality import SETS, at_least_1, check_data, interval, packline, parts, recalled

from packline import ContextConfig
from packline.cli.cases import Case
from packline.recency import asks_for_newest
from packline.relevance import Hybrid, Spread, bm25

ALL = "all parts"
PARTS: dict[str, Spread | tuple[ModuleType, str, float]] = {
    ALL: Spread(),
    "`near` and `wide`: a turn is helped by its neighbours": Spread(near=0, wide=0),
    "`wide` alone": Spread(wide=0),
    "`dense`: a long turn must be worth its room": Spread(dense=0),
    "`linked` and `shared`: the second hop": Spread(linked=0, shared=0),
    "`linked` alone: to passages whose title the best ones mention": Spread(linked=0),
    "`shared` alone: to packets that share a name with the best ones": Spread(shared=0),
    "`onward`: a third hop": Spread(onward=0),
    "`titled`: passages whose title the question names": Spread(titled=0),
    "`speaker`: turns of a speaker whom the question names": Spread(speaker=0),
    "`dated`: what is dated as the question says": Spread(dated=0),
    "function words weigh less": (bm25, "GRAMMAR", 1.0),
}
RECENCY = {
    '`recency="asked"`, the default: recency scales relevance': ContextConfig(),
    '`recency="always"`: it is added': ContextConfig(recency="always"),
    "none": ContextConfig(recency_weight=0.0, relevance_weight=1.0),
}


def main() -> None:
    """Measure and print the tables."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    options.add_argument("--cases", type=at_least_1, help="as many of each set; all if not given")
    options.add_argument("--jobs", type=at_least_1, default=1, help="parts that are measured side by side")
    chosen = options.parse_args()
    check_data(chosen.data)
    lost: dict[str, list[str]] = {name: [] for name in PARTS if name != ALL}
    sets, newest = [], list[Case]()
    with ProcessPoolExecutor(chosen.jobs) as jobs:
        for title, cases in parts(chosen.data, chosen.sets, chosen.cases):
            if title.endswith("multi_hop"):
                continue
            sets.append(title)
            newest += [case for case in cases if asks_for_newest(case.question)]
            whole, *others = jobs.map(partial(without, cases), PARTS)
            for name, recall in zip(lost, others, strict=True):
                lost[name].append(loss(whole, recall))
        print(f"| without | {' | '.join(sets)} |\n|---|{'---|' * len(sets)}")
        for name, losses in lost.items():
            print(f"| {name} | {' | '.join(losses)} |", flush=True)
        if not newest:
            return
        print(f"\n| recency, {len(newest)} cases that ask for the newest | recall |\n|---|---|")
        for name, recall in zip(RECENCY, jobs.map(partial(weighed, newest), RECENCY), strict=True):
            print(f"| {name} | {points(recall)} |", flush=True)


def without(cases: Sequence[Case], name: str) -> NDArray[np.float64]:
    """Recall of the hybrid scorer without a part, shape (cases, budgets)."""
    part = PARTS[name]
    spread, constant = (part, nullcontext()) if isinstance(part, Spread) else (None, mock.patch.object(*part))
    with constant:
        return recalled(packline(Hybrid(spread=spread)), cases, name)[0]


def weighed(cases: Sequence[Case], name: str) -> NDArray[np.float64]:
    """Recall of the hybrid scorer where recency counts in some way."""
    return recalled(packline("hybrid", RECENCY[name]), cases, name)[0]


def loss(whole: NDArray[np.float64], recall: NDArray[np.float64]) -> str:
    """The points that are lost, in bold where the interval at 1000 leaves 0 out; blank where none are."""
    gap = whole - recall
    if not gap.any():
        return ""
    low, high = interval(100 * gap[:, 1])
    return f"**{points(gap)}**" if low > 0 or high < 0 else points(gap)


def points(recall: NDArray[np.float64]) -> str:
    """The means of the columns, in percent."""
    return " / ".join(f"{round(100 * mean, 1) + 0.0:.1f}" for mean in recall.mean(axis=0))  # no "-0.0"


if __name__ == "__main__":
    main()
