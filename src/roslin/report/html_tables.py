"""Tables of a page that sort by a click, and the small things around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from roslin.report.evaluation_tables import Section

__all__ = ["TABLE_STYLE", "bullets", "figure", "html_table", "sorting_script"]

TABLE_STYLE = """
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
p, li { color: var(--soft); } ul { padding-left: 1.2rem; }
.wide { overflow-x: auto; margin: 0 0 .8rem; }
table { border-collapse: collapse; background: var(--card); font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .3rem .7rem; border: 1px solid var(--line); text-align: left; white-space: nowrap; }
td.number, th.number { text-align: right; }
th button { all: unset; cursor: pointer; font-weight: bold; }
th button:focus-visible { outline: 2px solid var(--note); }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; }
tr.found td { background: var(--found); }
figure { margin: 0; } figure svg { width: 100%; height: auto; } figcaption { color: var(--soft); font-size: .9rem; }
details { border: 1px solid var(--line); border-radius: .4rem; background: var(--card); padding: .4rem .8rem;
  margin: 0 0 .4rem; }
summary { cursor: pointer; }
@media print { details { break-inside: avoid; } }
"""


def sorting_script() -> str:
    """The script element that makes tables sort."""
    return f"<script>\n{files('roslin.report').joinpath('evaluation.js').read_text('utf-8')}</script>"


def html_table(section: Section, *, heading: bool = False, before: str = "") -> str:
    """A section as a table, under its title where a heading is asked for; `before` stands between the two."""
    numeric = [all(not isinstance(row.get(name), str) for row in section.rows) for name in section.columns]
    head = "".join(
        f'<th scope="col"{" class=number" * right}>{escape(name)}</th>'
        for name, right in zip(section.columns, numeric, strict=True)
    )
    rows = []
    for row in section.rows:
        found = ' class="found"' if row.get("group") is not None else ""
        rows.append(f"<tr{found}>" + "".join(_cell(row.get(name)) for name in section.columns) + "</tr>")
    title = f"<h2>{escape(section.title)}</h2>" if heading else ""
    return (
        f'{title}{before}<div class="wide"><table class="sortable"><thead><tr>{head}</tr></thead>'
        f"<tbody>{chr(10).join(rows)}</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return '<td class="number" data-value="-Infinity">–</td>'
    if isinstance(value, float):
        return f'<td class="number" data-value="{value!r}">{value:.4f}</td>'
    if isinstance(value, int):
        return f'<td class="number" data-value="{value}">{value}</td>'
    return f"<td>{escape(str(value))}</td>"


def bullets(lines: Sequence[str]) -> str:
    """A list of sentences; nothing for none."""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def figure(svg: str, caption: str) -> str:
    """A drawing with what it shows."""
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"
