"""Cases: questions with marked evidence, one JSON object a line.

A case has `id`, `query` and `evidence` (ids of candidates), and `candidates` inline or by `corpus_id` from
the file NAME.corpora.jsonl beside NAME.jsonl. It may have `query_time` (ISO), `evidence_groups` (lists of
interchangeable ids) and `answerable`. A candidate has `id` and `content`, and may have `kind`, `role` and
`timestamp`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from packline.cli.inputs import read_lines
from packline.errors import ConfigError, PacklineError
from packline.packet import ContextPacket, Kind
from packline.timestamps import read_timestamp

__all__ = ["Case", "read_cases", "spread"]


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


def read_cases(path: Path) -> list[Case]:
    """The cases of a file that can be scored: answerable, with evidence.

    Raises:
        PacklineError: The file cannot be read, or a line is no case; file and line are named.
    """
    shared = path.with_name(f"{path.stem}.corpora.jsonl")
    corpora: dict[object, tuple[ContextPacket, ...]] = {}
    if shared.exists():
        for number, line in read_lines(shared):
            fields = _fields(line, shared, number, "corpus_id", "candidates")
            corpora[fields["corpus_id"]] = _candidates(fields["candidates"], shared, number)
    cases = []
    for number, line in read_lines(path):
        fields = _fields(line, path, number, "query", "evidence")
        if fields.get("answerable") is not False and fields["evidence"]:
            cases.append(_case(fields, corpora, path, number))
    if not cases:
        raise PacklineError(f"{path}: no cases: expected lines with query and evidence")
    return cases


def _case(
    fields: Mapping[str, object], corpora: Mapping[object, tuple[ContextPacket, ...]], path: Path, line: int
) -> Case:
    if "candidates" in fields:
        candidates = _candidates(fields["candidates"], path, line)
    elif fields.get("corpus_id") in corpora:
        candidates = corpora[fields["corpus_id"]]
    else:
        raise PacklineError(
            f"{path}:{line}: no candidates: expected candidates, or a corpus_id of {path.stem}.corpora.jsonl"
        )
    groups = fields.get("evidence_groups") or [[name] for name in _list(fields["evidence"], path, line)]
    return Case(
        id=str(fields.get("id", line)),
        question=str(fields["query"]),
        candidates=candidates,
        groups=tuple(frozenset(map(str, _list(group, path, line))) for group in _list(groups, path, line)),
        now=read_timestamp(fields.get("query_time")),
    )


def _candidates(given: object, path: Path, line: int) -> tuple[ContextPacket, ...]:
    packets = []
    for one in _list(given, path, line):
        fields = _fields(one, path, line, "id", "content")
        try:
            packets.append(
                ContextPacket(
                    fields["content"],  # type: ignore[arg-type]  # checked there
                    timestamp=read_timestamp(fields.get("timestamp")),
                    metadata={"role": fields["role"]} if fields.get("role") else {},
                    kind=fields.get("kind", Kind.EVIDENCE),  # type: ignore[arg-type]
                    id=str(fields["id"]),
                )
            )
        except ConfigError as error:
            raise PacklineError(f"{path}:{line}: candidate {fields['id']!r}: {error}") from error
    return tuple(packets)


def _fields(value: object, path: Path, line: int, *needed: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise PacklineError(f"{path}:{line}: expected an object with {', '.join(needed)}")
    missing = [name for name in needed if name not in value]
    if missing:
        raise PacklineError(f"{path}:{line}: no {missing[0]}: expected {', '.join(needed)}")
    return value


def _list(value: object, path: Path, line: int) -> Sequence[object]:
    if not isinstance(value, list):
        raise PacklineError(f"{path}:{line}: expected a list, got {value!r:.60}")
    return value


def spread(cases: Sequence[Case], count: int | None) -> Sequence[Case]:
    """`count` of the cases, evenly spread over the file; all of them if it is None."""
    if count is None or count >= len(cases):
        return cases
    return [cases[place * len(cases) // count] for place in range(count)]
