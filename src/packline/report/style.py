"""Style: how the card looks, in light and in dark; every rule is confined to the card."""

from __future__ import annotations

__all__ = ["STYLE"]

_LIGHT = """
color-scheme: light; --ground: #ffffff; --raised: #f6f7f9; --text: #1f2430; --soft: #5d6576; --line: #e1e4ea;
--track: #eceef2; --warn-text: #8a3b12; --warn: #fdf1e7; --warn-line: #f0c9a8;
--c0: #4c6fd1; --c1: #8a5cc9; --c2: #b8860f; --c3: #1f8f78; --c4: #c4587f; --c5: #5b87a5; --c6: #a3abba;
"""
_DARK = """
color-scheme: dark; --ground: #171a21; --raised: #1f232c; --text: #e4e7ee; --soft: #9aa3b5; --line: #2e3440;
--track: #2a2f3a; --warn-text: #f3b98b; --warn: #33241a; --warn-line: #5f412b;
--c0: #7b9af0; --c1: #b18ae8; --c2: #d9ad4a; --c3: #4fc0a5; --c4: #e58aab; --c5: #86b3d1; --c6: #6b7486;
"""
# The page's own theme, where it says which, counts more than the system's.
_DARK_PAGES = (
    '[data-jp-theme-light="false"]',
    '[data-theme="dark"]',
    '[theme="dark"]',
    '[data-vscode-theme-kind="vscode-dark"]',
)
_LIGHT_PAGES = (
    '[data-jp-theme-light="true"]',
    '[data-theme="light"]',
    '[theme="light"]',
    '[data-vscode-theme-kind="vscode-light"]',
)
_CARD = "div.packline-card.packline-card"  # named twice, to stand above a notebook's own rules for tables

_RULES = """
{ font: 13px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--text);
  background: var(--ground); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px 12px;
  margin: 8px 0; max-width: 1100px; box-sizing: border-box; overflow: hidden; text-align: left; }
* { box-sizing: border-box; }
header { display: flex; gap: 24px; justify-content: space-between; align-items: baseline; margin: 0 0 12px;
  padding: 0; background: none; border: 0; }
.question { font-size: 15px; font-weight: 600; line-height: 1.4; min-width: 0; overflow-wrap: anywhere;
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; }
.total { white-space: nowrap; color: var(--soft); font-variant-numeric: tabular-nums; }
.total b { color: var(--text); font-size: 15px; font-weight: 600; }
.bar { display: flex; gap: 1px; height: 12px; border-radius: 6px; overflow: hidden;
  background: var(--track); }
.bar i { display: block; flex: none; min-width: 2px; background: var(--c); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 8px 0 12px; padding: 0; list-style: none;
  color: var(--soft); font-variant-numeric: tabular-nums; }
.legend li { display: flex; align-items: center; gap: 6px; margin: 0; padding: 0; min-width: 0; }
.legend li::before { content: ""; flex: none; width: 9px; height: 9px; border-radius: 3px;
  background: var(--c); }
.legend .title { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 22em; }
.legend b { color: var(--text); font-weight: 600; }
.failures { margin: 0 0 12px; padding: 8px 12px; border: 1px solid var(--warn-line); border-radius: 8px;
  background: var(--warn); color: var(--warn-text); list-style: none; overflow-wrap: anywhere; }
.failures li { margin: 0; padding: 0; }
details { margin: 0; padding: 0; border: 0; border-top: 1px solid var(--line); background: none; }
summary { display: list-item; cursor: pointer; padding: 7px 0; margin: 0; font-weight: 600;
  color: var(--text); background: none; border: 0; overflow-wrap: anywhere; }
summary:focus-visible { outline: 2px solid var(--c0); outline-offset: -2px; border-radius: 4px; }
summary span { font-weight: 400; color: var(--soft); margin-left: 6px; }
.scroll { max-height: 420px; overflow: auto; margin: 0 0 10px; border: 1px solid var(--line);
  border-radius: 8px; }
table { width: 100%; min-width: 780px; table-layout: fixed; border-collapse: separate; border-spacing: 0;
  border: 0; margin: 0; font-size: 12.5px; line-height: 1.45; color: inherit; background: none; }
table thead tr th, table tbody tr td { border: 0; border-bottom: 1px solid var(--line); padding: 5px 8px;
  text-align: left; vertical-align: top; background: none; color: inherit; font-weight: 400; max-width: none;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
table tbody tr:nth-child(n), table tbody tr:nth-child(n):hover { background: none; }
table tbody tr:last-child td { border-bottom: 0; }
table thead tr th { position: sticky; top: 0; z-index: 1; background: var(--raised); color: var(--soft);
  font-weight: 600; font-size: 11.5px; }
table thead tr th.figure, table tbody tr td.figure { text-align: right; font-variant-numeric: tabular-nums; }
table tbody tr td.from, table tbody tr td.why { color: var(--soft); }
table tbody tr td.why { white-space: normal; overflow-wrap: anywhere; }
table tbody tr td small { display: block; overflow: hidden; text-overflow: ellipsis; color: var(--soft);
  font: 11px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
table tbody tr td .text { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2;
  overflow: hidden; white-space: normal; overflow-wrap: anywhere; unicode-bidi: isolate; }
.kind { display: inline-block; padding: 0 7px; border-radius: 9px; font-size: 11.5px; color: var(--c);
  border: 1px solid currentColor; }
.rest, .times { margin: 0 0 10px; color: var(--soft); font-size: 12px; overflow-wrap: anywhere; }
.times { margin: 8px 0 0; padding-top: 8px; border-top: 1px solid var(--line); }
pre { max-height: 420px; overflow: auto; margin: 0 0 10px; padding: 10px 12px; border: 1px solid var(--line);
  border-radius: 8px; background: var(--raised); color: var(--text); white-space: pre-wrap;
  overflow-wrap: anywhere; unicode-bidi: plaintext;
  font: 12px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.role { margin: 0 0 4px; color: var(--soft); font-size: 12px; }
"""


def _style() -> str:
    dark = ",".join(f"{page} {_CARD}" for page in _DARK_PAGES)
    light = ",".join(f"{page} {_CARD}" for page in _LIGHT_PAGES)
    return "".join(
        [
            f"{_CARD}{{{_LIGHT}}}",
            f"@media (prefers-color-scheme: dark){{{_CARD}{{{_DARK}}}}}",
            f"{dark}{{{_DARK}}}{light}{{{_LIGHT}}}",
            *map(_confined, _RULES.strip().split("}\n")),
        ]
    ).replace("\n", "")


def _confined(rule: str) -> str:
    """One rule with the card before each of its selectors."""
    selectors, _, body = rule.rstrip("}").partition("{")
    inside = (f"{_CARD} {selector.strip()}".strip() for selector in selectors.split(","))
    return f"{','.join(inside)}{{{' '.join(body.split())}}}"


STYLE = _style()
