"""Cases: questions with marked evidence, one JSON object a line; `FORMAT` says what stands in it.

What cannot be scored as it is meant is refused with its file and line: a wrong id of evidence would count
as a miss of every setting, and no figure would show it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from packline.cli.inputs import read_lines
from packline.errors import ConfigError, PacklineError
from packline.packet import ContextPacket, Kind
from packline.timestamps import read_timestamp

__all__ = ["EXAMPLE", "FORMAT", "Case", "read_cases", "spread"]

EXAMPLE = (
    '{"query": "What does the gauge hold?", "evidence": ["a"], "candidates": '
    '[{"id": "a", "content": "The gauge holds 0.2 mm."}, {"id": "b", "content": "Bees sleep at night."}]}'
)
FORMAT = (
    f"Each line of CASES is one case, such as: {EXAMPLE}\n\n"
    "The evidence is a list of ids of candidates. A case may also have an id, a query_time in ISO form, and "
    "evidence_groups: lists of interchangeable ids, which then count in place of evidence. Without evidence, "
    "or with answerable false, it is passed over.\n\n"
    "A candidate may also have a kind (evidence, memory or history), a role and a timestamp. Candidates that "
    "many cases share stand in the file NAME.corpora.jsonl beside NAME.jsonl, as lines with corpus_id and "
    "candidates, and the cases have that corpus_id in their place."
)


@dataclass(frozen=True)
class Case:
    """A question whose evidence is known.

    Args:
        candidates: The conversation, oldest first, and all else, in the order of the file.
        groups: Ids of evidence; each group is found if one of its members is.
        now: When it was asked; None if unknown.
    """

    id: str
    question: str
    candidates: tuple[ContextPacket, ...]
    groups: tuple[frozenset[str], ...]
    now: datetime | None = None

    @property
    def history(self) -> list[ContextPacket]:
        """The turns of the conversation."""
        return [packet for packet in self.candidates if packet.kind is Kind.HISTORY]

    @property
    def others(self) -> list[ContextPacket]:
        """What is no turn."""
        return [packet for packet in self.candidates if packet.kind is not Kind.HISTORY]


@dataclass(frozen=True)
class _Line:
    """Where a case or its candidates stand, for what is wrong with them."""

    path: Path
    number: int

    def wrong(self, problem: str) -> PacklineError:
        return PacklineError(f"{self.path}:{self.number}: {problem}")

    def fields(self, value: object, *needed: str) -> Mapping[str, object]:
        if not isinstance(value, Mapping):
            raise self.wrong(f"expected an object with {', '.join(needed)}")
        missing = [name for name in needed if name not in value]
        if missing:
            raise self.wrong(f"no {missing[0]}: expected {', '.join(needed)}")
        return value

    def items(self, name: str, value: object) -> Sequence[object]:
        if not isinstance(value, list):
            raise self.wrong(f"{name}: expected a list, got {value!r:.60}")
        return value

    def text(self, name: str, value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(f"{name}: expected a text that is not empty, got {value!r:.60}")
        return value

    def moment(self, name: str, value: object) -> datetime | None:
        moment = read_timestamp(value)
        if moment is None and value not in (None, ""):
            raise self.wrong(f"{name}: expected a time such as 2026-01-31T12:00, got {value!r:.60}")
        return moment


def read_cases(path: Path) -> list[Case]:
    """The cases of a file that can be scored: answerable, with evidence.

    Raises:
        PacklineError: The file cannot be read, or a line is no case; file and line are named.
    """
    shared = path.with_name(f"{path.stem}.corpora.jsonl")
    corpora: dict[str, tuple[ContextPacket, ...]] = {}
    if shared.exists():
        for number, value in read_lines(shared):
            line = _Line(shared, number)
            fields = line.fields(value, "corpus_id", "candidates")
            corpora[str(fields["corpus_id"])] = _candidates(fields["candidates"], line)
    cases = []
    for number, value in read_lines(path):
        line = _Line(path, number)
        fields = line.fields(value, "query", "evidence")
        if fields.get("answerable") is not False and fields["evidence"]:
            cases.append(_case(fields, corpora, line))
    if not cases:
        raise PacklineError(f"{path}: no cases: expected lines with query and evidence")
    return cases


def _case(
    fields: Mapping[str, object], corpora: Mapping[str, tuple[ContextPacket, ...]], line: _Line
) -> Case:
    if "candidates" in fields:
        candidates = _candidates(fields["candidates"], line)
    elif str(fields.get("corpus_id")) in corpora:
        candidates = corpora[str(fields["corpus_id"])]
    else:
        shared = f"{line.path.stem}.corpora.jsonl"
        raise line.wrong(f"no candidates: expected candidates, or a corpus_id of {shared}")
    return Case(
        id=str(fields.get("id", line.number)),
        question=line.text("query", fields["query"]),
        candidates=candidates,
        groups=_groups(fields, [packet.id for packet in candidates], line),
        now=line.moment("query_time", fields.get("query_time")),
    )


def _groups(fields: Mapping[str, object], known: Sequence[str], line: _Line) -> tuple[frozenset[str], ...]:
    """The groups of evidence, each of ids that are `known`."""
    alone = [[name] for name in line.items("evidence", fields["evidence"])]
    given = line.items("evidence_groups", fields.get("evidence_groups") or alone)
    groups = tuple(frozenset(map(str, line.items("a group of evidence", group))) for group in given)
    if not all(groups):
        raise line.wrong("evidence_groups: expected lists of ids, got an empty one")
    unknown = sorted(frozenset().union(*groups).difference(known))
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, n=1)
        hint = (
            f"perhaps {near[0]!r}" if near else f"such as {known[0]!r}" if known else "of which it has none"
        )
        raise line.wrong(
            f"evidence {unknown[0]!r} is not among the candidates: expected an id of its candidates, {hint}"
        )
    return groups


def _candidates(given: object, line: _Line) -> tuple[ContextPacket, ...]:
    packets: dict[str, ContextPacket] = {}
    for one in line.items("candidates", given):
        fields = line.fields(one, "id", "content")
        name = str(fields["id"])
        if name in packets:
            raise line.wrong(f"candidate {name!r} stands there twice: expected ids that differ")
        packets[name] = _candidate(name, fields, line)
    return tuple(packets.values())


def _candidate(name: str, fields: Mapping[str, object], line: _Line) -> ContextPacket:
    try:
        packet = ContextPacket(
            fields["content"],  # type: ignore[arg-type]  # checked there
            timestamp=line.moment("timestamp", fields.get("timestamp")),
            metadata={"role": fields["role"]} if fields.get("role") else {},
            kind=fields.get("kind", Kind.EVIDENCE),  # type: ignore[arg-type]
            id=name,
        )
        if packet.kind in (Kind.INSTRUCTION, Kind.STATE):  # these never compete
            raise ConfigError("kind", packet.kind.value, "evidence, memory, history or other")
    except ConfigError as error:
        raise line.wrong(f"candidate {name!r}: {error}") from error
    return packet


def spread(cases: Sequence[Case], count: int | None) -> Sequence[Case]:
    """`count` of the cases, evenly spread over the file; all of them if it is None."""
    if count is None or count >= len(cases):
        return cases
    return [cases[place * len(cases) // count] for place in range(count)]
