"""What of a text is left when it is shortened to a part of its tokens, in percent.

    python benchmarks/shortening.py --data ../shared/data

"Marked" is the share of the sentences that people marked as needed for the question; "answer" the share of
texts that still hold the answer, of those that held it; "summary" the share of the words of a human summary.
"""

from __future__ import annotations

import argparse
import json
import math
import unicodedata
from collections import Counter as Tally
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from packline import ContextPacket, Kind, token_counter
from packline.relevance import Lexical
from packline.relevance.words import words
from packline.sentences import sentences
from packline.shortening import shorten
from packline.tokens import Counter

PARTS = (0.5, 0.3, 0.2)
CASES = 250  # of each question set


@dataclass(frozen=True)
class Case:
    """A text, a question, and what should be left: of each group of alternatives, one."""

    measure: str
    text: str
    query: str
    wanted: tuple[tuple[str, ...], ...]

    def share_left(self, result: str) -> float:
        """The share of what is wanted that `result` holds, in [0, 1]."""
        held = _plain(result)
        return float(np.mean([any(alias in held for alias in group) for group in self.wanted]))


def main() -> None:
    """Measure and print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "--data", type=Path, default=Path("../shared/data"), help="folder of the question sets"
    )
    data = options.parse_args().data
    counter = token_counter()
    cases = [
        *marked(data),
        *(case for name in ("hotpotqa", "musique", "cmrc2018_zh") for case in asked(data, name)),
    ]
    measures = list(dict.fromkeys(case.measure for case in cases))
    print(f"Left at {' / '.join(f'{part:.0%}' for part in PARTS)} of the tokens\n")
    print("| way | " + " | ".join(measures) + " |\n|---" + "|---" * len(measures) + "|")
    ways = {
        "the first tokens": head,
        "sentences by BM25": by_bm25,
        "sentences by packline's Lexical": by_lexical,
        "packline's shorten": packline,
    }
    for name, way in ways.items():
        print(f"| {name} | " + " | ".join(row(way, counter, cases, measure) for measure in measures) + " |")


def row(way: Callable[[Case, int, Counter], str], counter: Counter, cases: list[Case], measure: str) -> str:
    """The figures of one way of shortening for one measure."""
    figures = []
    for part in PARTS:
        shares = []
        for case in cases:
            if case.measure == measure:
                limit = int(part * counter.count(case.text))
                result = way(case, limit, counter)
                assert counter.count(result) <= limit
                shares.append(case.share_left(result))
        figures.append(f"{100 * np.mean(shares):.0f}")
    return "/".join(figures)


def head(case: Case, limit: int, counter: Counter) -> str:
    """The first tokens."""
    return counter.cut(case.text, limit)


def by_bm25(case: Case, limit: int, counter: Counter) -> str:
    """Sentences by BM25 as the textbook has it (k1 1.2, b 0.75)."""
    bags = [Tally(words(case.text[start:end])) for start, end in sentences(case.text)]
    mean = sum(bag.total() for bag in bags) / len(bags)
    scores = np.zeros(len(bags))
    for word in set(words(case.query)):
        holding = sum(word in bag for bag in bags)
        idf = math.log1p((len(bags) - holding + 0.5) / (holding + 0.5))
        for at, bag in enumerate(bags):
            scores[at] += idf * bag[word] * 2.2 / (bag[word] + 1.2 * (0.25 + 0.75 * bag.total() / mean))
    return _best(case.text, scores, limit, counter)


def by_lexical(case: Case, limit: int, counter: Counter) -> str:
    """Sentences by packline's scorer of passages."""
    packets = [ContextPacket(case.text[start:end], kind=Kind.EVIDENCE) for start, end in sentences(case.text)]
    return _best(case.text, Lexical().scores(case.query, packets), limit, counter)


def _best(text: str, scores: NDArray[np.float64], limit: int, counter: Counter) -> str:
    """The best sentences that fit, in their order; nothing marks the gaps."""
    spans = [text[start:end] for start, end in sentences(text)]
    kept: dict[int, str] = {}
    for at in map(int, np.argsort(-scores, kind="stable")):
        more = dict(sorted({**kept, at: spans[at]}.items()))
        if counter.count("".join(more.values())) <= limit:
            kept = more
    return "".join(kept.values())


def packline(case: Case, limit: int, counter: Counter) -> str:
    """What packline does."""
    return shorten(case.text, case.query, limit, counter)


def marked(data: Path) -> Iterator[Case]:
    """The texts in which people marked sentences, or of which they wrote a summary."""
    for line in (data / "compress.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        text, query = case["text"], case["query"]
        if case.get("keep"):
            yield Case("marked", text, query, tuple((_plain(sentence),) for sentence in case["keep"]))
            yield from _with_answer("marked, answer", text, query, [case["answer"]])
        else:
            known = set(_plain(query).split())
            words = dict.fromkeys(_plain(case["references"][0]).replace(".", "").replace(",", "").split())
            held = tuple(
                (word,) for word in words if len(word) > 3 and word not in known and word in _plain(text)
            )
            yield Case("summary", text, query, held)


def asked(data: Path, name: str) -> Iterator[Case]:
    """The passages that answer a question of a set, together."""
    lines = (data / f"{name}.corpora.jsonl").read_text("utf-8").splitlines()
    pools = {
        pool["corpus_id"]: {candidate["id"]: candidate["content"] for candidate in pool["candidates"]}
        for pool in map(json.loads, lines)
    }
    found = 0
    for question in map(json.loads, (data / f"{name}.jsonl").read_text("utf-8").splitlines()):
        pool = pools[question["corpus_id"]]
        text = "\n\n".join(pool[passage] for passage in question["evidence"])
        aliases = question["answers"][0] if question.get("answers") else []
        for case in _with_answer(f"{name}, answer", text, question["query"], aliases):
            found += 1
            if found <= CASES:
                yield case


def _with_answer(measure: str, text: str, query: str, aliases: list[str]) -> Iterator[Case]:
    held = tuple(
        alias for alias in map(_plain, aliases) if alias in _plain(text) and alias not in ("yes", "no")
    )
    if held:
        yield Case(measure, text, query, (held,))


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


if __name__ == "__main__":
    main()
