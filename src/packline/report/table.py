"""Table: the account of a build as plain text for a terminal or a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from packline.report.cells import fit, number, one_line, origin_of, width
from packline.verdict import Verdict

if TYPE_CHECKING:
    from packline.context import Context

__all__ = ["WIDTH", "budget_parts", "by_reason", "explain", "numbers", "why"]

WIDTH = 112
_DROPPED = 20
_BAR = 40
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEADS = ("kind", "source", "relev.", "recen.", "score", "tokens", "why", "text")
_FIGURES = range(2, 6)
_MOST = (8, 22, 6, 6, 5, 9, 36)  # columns; the text takes what is left
_LEAST_TEXT = 20


def explain(context: Context, *, columns: int = WIDTH, dropped: int = _DROPPED) -> str:
    """The account as a table: the budget by section, then every packet with its scores and the reason.

    Args:
        columns: How wide the table may be.
        dropped: How many of the dropped packets are listed, best first; the others are counted by reason.
    """
    blocks = [
        _head(context, columns),
        _budget(context),
        _packets(context, "Kept", context.kept, columns),
        _packets(context, "Shortened", context.shortened, columns),
        _packets(context, "Dropped", context.dropped, columns, most=dropped),
        _failures(context, columns),
        _times(context),
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)


def _head(context: Context, columns: int) -> list[str]:
    free = context.max_tokens - context.tokens
    share = context.tokens / context.max_tokens
    return [
        f"Question  {fit(one_line(context.request.question), columns - 10)}",
        f"Tokens    {context.tokens:,} of {context.max_tokens:,} ({share:.0%}), {free:,} free",
    ]


def budget_parts(context: Context) -> list[tuple[str, int]]:
    """What the tokens go to: the sections, then what stands between them and around messages."""
    parts = [(one_line(title), tokens) for title, tokens in context.section_tokens.items()]
    framing = context.tokens - sum(tokens for _, tokens in parts)
    return [*parts, ("Framing", framing)] if framing > 0 else parts


def _budget(context: Context) -> list[str]:
    parts = budget_parts(context)
    titles = max(width(title) for title, _ in parts)
    figures = max(len(f"{tokens:,}") for _, tokens in parts)
    return [
        f"  {fit(title, titles)}  {tokens:>{figures},}  {tokens / context.max_tokens:>4.0%}"
        f"  {_bar(tokens / context.max_tokens)}"
        for title, tokens in parts
    ]


def _bar(share: float) -> str:
    full, rest = divmod(max(round(share * _BAR * 8), 1), 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def _packets(
    context: Context, title: str, verdicts: Sequence[Verdict], columns: int, most: int | None = None
) -> list[str]:
    if not verdicts:
        return []
    shown, cited = list(islice(verdicts, most)), numbers(context)
    rows = [_cells(verdict, cited.get(id(verdict.packet), "")) for verdict in shown]
    lines = [f"{title}: {len(verdicts):,}", *_rows([_HEADS, *rows], columns)]
    if len(shown) < len(verdicts):
        rest = verdicts[len(shown) :]
        lines.append(f"  … and {len(rest):,} more: {', '.join(by_reason(rest))}")
    return lines


def by_reason(verdicts: Sequence[Verdict]) -> list[str]:
    """How many there are for each reason, the most frequent first."""
    return [f"{reason.value} ({n:,})" for reason, n in Counter(v.reason for v in verdicts).most_common()]


def numbers(context: Context) -> dict[int, str]:
    """What stands before a packet's text where the template numbers it, by the packet's `id()`."""
    return {id(packet): f"[{number}] " for number, packet in context.citations.items()}


def _cells(verdict: Verdict, cited: str) -> tuple[str, ...]:
    return (
        verdict.packet.kind.value,
        origin_of(verdict),
        number(verdict.relevance, ".2f"),
        number(verdict.recency, ".2f"),
        number(verdict.score, ".2f"),
        number(verdict.tokens),
        why(verdict),
        cited + one_line(verdict.text),
    )


def why(verdict: Verdict) -> str:
    """The reason, with the share of the text that stands and how many others said the same."""
    notes = []
    if verdict.shortened is not None and verdict.packet.content:
        notes.append(f"{len(verdict.shortened) / len(verdict.packet.content):.0%} stands")
    if verdict.merged:
        notes.append(f"{len(verdict.merged):,} more said so")
    return f"{verdict.reason.value} ({', '.join(notes)})" if notes else verdict.reason.value


def _rows(rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    sizes = [min(max(width(row[c]) for row in rows), most) for c, most in enumerate(_MOST)]
    gaps = 2 * len(_HEADS)
    sizes.append(max(columns - sum(sizes) - gaps, _LEAST_TEXT))
    return [
        "".join(
            f"  {fit(cell, size, right=place in _FIGURES)}"
            for place, (cell, size) in enumerate(zip(row, sizes, strict=True))
        )
        for row in rows
    ]


def _failures(context: Context, columns: int) -> list[str]:
    if not context.failures:
        return []
    lines = [f"  {fit(one_line(str(failure)), columns - 2)}" for failure in context.failures]
    return [f"Failed: {len(lines):,}", *lines]


def _times(context: Context) -> list[str]:
    if not context.stage_seconds:
        return []
    return ["Time  " + ", ".join(f"{stage} {s * 1000:.1f} ms" for stage, s in context.stage_seconds.items())]
