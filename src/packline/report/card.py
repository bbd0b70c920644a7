"""Card: the account of a build as one piece of HTML for notebooks and pages.

It needs nothing beside itself, no script, link or font; and since all that it shows is data, all of it
is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from packline.packet import Kind
from packline.report.cells import document_of, number, one_line, visible
from packline.report.style import STYLE
from packline.report.table import budget_parts, by_reason, numbers, why
from packline.template import Template
from packline.verdict import Verdict

if TYPE_CHECKING:
    from packline.context import Context

__all__ = ["to_html"]

_ROWS = 100
_FEW = 10  # rows that need no click to be seen
_COLUMNS = (
    ("kind", 88, ""),
    ("source", 158, ""),
    ("text", None, ""),
    ("relevance", 80, "figure"),
    ("recency", 68, "figure"),
    ("score", 56, "figure"),
    ("tokens", 62, "figure"),
    ("why", 142, ""),
)
_COLOURS = 6  # and one more for what stands between the sections
# A section has its colour whether or not the others are there, and its packets have the same.
_PLACES = {section.title: place for place, section in enumerate(Template().sections)}
_KINDS = {kind: _PLACES[Template().section_of(kind).title] for kind in Kind}


def to_html(context: Context, *, rows: int = _ROWS) -> str:
    """The account as one card, readable in light and dark.

    Args:
        rows: How many packets each table lists; the others are counted by reason.
    """
    parts = [
        _header(context),
        _budget(context),
        _failures(context),
        _table(context, "Kept", context.kept, rows, opened=True),
        _table(context, "Shortened", context.shortened, rows, opened=True),
        _table(context, "Dropped", context.dropped, rows, opened=len(context.dropped) <= _FEW),
        _prompt(context),
        _messages(context),
        _times(context),
    ]
    return f'<div class="packline-card"><style>{STYLE}</style>{"".join(parts)}</div>'


def _shown(text: str) -> str:
    return escape(visible(text))


def _line(text: str) -> str:
    return escape(one_line(text))


def _header(context: Context) -> str:
    share = context.tokens / context.max_tokens
    return (
        f'<header><div class="question" dir="auto">{_line(context.request.question)}</div>'
        f'<div class="total"><b>{context.tokens:,}</b> of {context.max_tokens:,} tokens ({share:.0%})</div>'
        "</header>"
    )


def _budget(context: Context) -> str:
    """The budget as a bar; its segments and its legend come in the order of the prompt."""
    bar, legend = [], []
    sections = len(context.section_tokens)
    for place, (title, tokens) in enumerate(budget_parts(context)):
        shade = _PLACES.get(title, place) % _COLOURS if place < sections else _COLOURS
        colour = f"--c:var(--c{shade})"
        name = escape(title)
        share = f"{100 * tokens / context.max_tokens:.3f}%"
        bar.append(f'<i style="{colour};width:{share}" title="{name}: {tokens:,}"></i>')
        legend.append(
            f'<li style="{colour}"><span class="title" title="{name}">{name}</span> <b>{tokens:,}</b></li>'
        )
    free = context.max_tokens - context.tokens
    legend.append(f'<li style="--c:var(--track)"><span class="title">Free</span> <b>{free:,}</b></li>')
    label = f"{context.tokens:,} of {context.max_tokens:,} tokens used"
    return (
        f'<div class="bar" role="img" aria-label="{label}">{"".join(bar)}</div>'
        f'<ul class="legend">{"".join(legend)}</ul>'
    )


def _failures(context: Context) -> str:
    if not context.failures:
        return ""
    items = "".join(f"<li>{_line(str(failure))}</li>" for failure in context.failures)
    return f'<ul class="failures">{items}</ul>'


def _table(context: Context, title: str, verdicts: Sequence[Verdict], most: int, *, opened: bool) -> str:
    if not verdicts:
        return ""
    shown, cited = list(islice(verdicts, most)), numbers(context)
    body = "".join(_row(verdict, cited.get(id(verdict.packet), "")) for verdict in shown)
    rest = verdicts[len(shown) :]
    more = f'<p class="rest">… and {len(rest):,} more: {"; ".join(by_reason(rest))}</p>' if rest else ""
    return (
        f"<details{' open' if opened else ''}><summary>{title}: {len(verdicts):,}"
        f"<span>{'; '.join(by_reason(verdicts))}</span></summary>"
        f'<div class="scroll" tabindex="0"><table>{_columns()}'
        f"<tbody>{body}</tbody></table></div>{more}</details>"
    )


def _columns() -> str:
    sizes = "".join(f'<col style="width:{size}px">' if size else "<col>" for _, size, _ in _COLUMNS)
    heads = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, _, kind in _COLUMNS)
    return f"<colgroup>{sizes}</colgroup><thead><tr>{heads}</tr></thead>"


def _row(verdict: Verdict, cited: str) -> str:
    packet = verdict.packet
    source, document, identity = escape(one_line(verdict.source)), document_of(verdict), _line(packet.id)
    name = escape(document.rpartition("/")[2] or document) if document else source
    below = f"{source} · {identity}" if document else identity
    hint = escape(visible(verdict.text[:600]))
    figures = (
        number(verdict.relevance, ".2f"),
        number(verdict.recency, ".2f"),
        number(verdict.score, ".2f"),
        number(verdict.tokens),
    )
    cells = "".join(f'<td class="figure">{figure}</td>' for figure in figures)
    return (
        f'<tr><td><span class="kind" style="--c:var(--c{_KINDS[packet.kind]})">'
        f"{packet.kind.value}</span></td>"
        f'<td class="from" title="{source}: {escape(document)} ({identity})">{name}'
        f"<small>{below}</small></td>"
        f'<td><span class="text" dir="auto" title="{hint}">{cited}{_line(verdict.text)}</span></td>'
        f'{cells}<td class="why">{escape(why(verdict))}</td></tr>'
    )


def _prompt(context: Context) -> str:
    return (
        f"<details><summary>The prompt as text<span>{len(context.text):,} characters</span></summary>"
        f"<pre>{_shown(context.text)}</pre></details>"
    )


def _messages(context: Context) -> str:
    body = "".join(
        f'<p class="role">{_line(m.role)}</p><pre>{_shown(m.content)}</pre>' for m in context.messages
    )
    return (
        f"<details><summary>The prompt as chat messages<span>{len(context.messages):,}</span></summary>"
        f"{body}</details>"
    )


def _times(context: Context) -> str:
    if not context.stage_seconds:
        return ""
    times = " · ".join(f"{escape(stage)} {s * 1000:.1f} ms" for stage, s in context.stage_seconds.items())
    return f'<p class="times">{times}</p>'
