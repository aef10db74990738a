"""An evaluation as one page that needs nothing but itself: tables to sort, curves, every query, and where it came from.

The page's own rules (its Content-Security-Policy) forbid the browser to fetch anything.
"""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from roslin.evaluate import Evaluation
from roslin.report.evaluation_tables import Section, comparisons, groupings, means, per_query, remarks, steps_of
from roslin.report.plots import dynamic_recall_plot, lift_plot

__all__ = ["evaluation_page", "provenance"]

_MOST_ROWS = 5_000
_MOST_QUERIES = 200
_MOST_RANKS = 50
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5b6570; --line: #d9dee3; --paper: #fdfdfb; --card: #ffffff;
  --accent: #1f5f8b; --found: #e3f1e6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --soft: #a3adb7; --line: #3a424a; --paper: #15191d;
  --card: #1d2328; --accent: #7db8de; --found: #203a29; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 Georgia, "Times New Roman", serif; }
main { max-width: 70rem; margin: 0 auto; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
p, li { color: var(--soft); } ul { padding-left: 1.2rem; }
.wide { overflow-x: auto; margin: 0 0 .8rem; }
table { border-collapse: collapse; background: var(--card); font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .3rem .7rem; border: 1px solid var(--line); text-align: left; white-space: nowrap; }
td.number, th.number { text-align: right; }
th button { all: unset; cursor: pointer; font-weight: bold; }
th button:focus-visible { outline: 2px solid var(--accent); }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; }
tr.found td { background: var(--found); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figure svg { width: 100%; height: auto; } figcaption { color: var(--soft); font-size: .9rem; }
details { border: 1px solid var(--line); border-radius: .4rem; background: var(--card); padding: .4rem .8rem;
  margin: 0 0 .4rem; }
summary { cursor: pointer; }
code { font: .82rem/1.4 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --paper: #fff; --card: #fff; --found: #eee; }
  body { padding: 0; } details { break-inside: avoid; } }
"""


def provenance(truths: Iterable[Path], runs: Iterable[Path]) -> list[str]:
    """What made the page: program, versions, and every file with its checksum."""
    said = [f"Roslin {version('roslin')}, Python {platform.python_version()}, numpy {version('numpy')}"]
    for kind, paths in (("truth", truths), ("run", runs)):
        for path in paths:
            said.append(f"{kind} {path}, SHA-256 {hashlib.sha256(Path(path).read_bytes()).hexdigest()}")
    said.append("confidence intervals: BCa bootstrap over queries; tests: paired permutation; all with a fixed seed")
    return said


def evaluation_page(
    evaluations: Sequence[Evaluation],
    extra: Sequence[Section] = (),
    sources: Sequence[str] = (),
    level: float = 0.95,
) -> str:
    """The whole page: about the first evaluation, with the means under the truths of the others.

    `extra`: tables that a page has only when they are asked for; `sources`: lines of `provenance`.
    """
    evaluation = evaluations[0]
    name = evaluation.truth.name or "the truth"
    heading = f"{len(evaluation.runs)} system{'s' * (len(evaluation.runs) > 1)} against {name}"
    counted = len(evaluation.queries) - len(evaluation.empty)
    body = [
        f"<h1>{escape(heading)}</h1>",
        f"<p>{counted} queries count. A column is sorted by a click on its name.</p>",
        _bullets(remarks(evaluations)),
        _table(means(evaluation, level), heading=True),
    ]
    if len(evaluation.runs) > 1:
        pairs = comparisons(evaluation, level)
        sentences = [row["sentence"] for row in pairs.rows if row["measure"] == repr(evaluation.measures[0])]
        shown = Section(pairs.key, pairs.title, tuple(c for c in pairs.columns if c != "sentence"), pairs.rows)
        body += [_table(shown, heading=True, before=_bullets(sentences))]
    if len(evaluations) > 1:
        body.append(_table(groupings(evaluations), heading=True))
    body += [_table(section, heading=True, before=_bullets([section.note] * bool(section.note))) for section in extra]
    body += [
        "<h2>Curves</h2>",
        '<div class="plots">',
        _figure(
            dynamic_recall_plot(evaluation),
            "Dynamic recall; its mean over the ranks is ADR. A perfect list is 1 throughout.",
        ),
        _figure(lift_plot(evaluation), "Normalised lift; steeper towards the upper left corner is better."),
        "</div>",
        "<h2>Queries</h2>",
        *_drill_down(evaluation),
        "<h2>Where this comes from</h2>",
        _bullets([*sources, "measures: " + ", ".join(map(repr, evaluation.measures))]),
    ]
    script = Path(__file__).with_name("evaluation.js").read_text("utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(heading)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
{chr(10).join(body)}
</main>
<script>{script}</script>
</body>
</html>
"""


def _drill_down(evaluation: Evaluation) -> Iterable[str]:
    """The values of every query in one table, and the first queries rank by rank."""
    values = per_query(evaluation)
    if len(values.rows) > _MOST_ROWS:
        yield f"<p>The first {_MOST_ROWS} of {len(values.rows)} rows:</p>"
    yield _table(Section(values.key, values.title, values.columns, values.rows[:_MOST_ROWS]))
    counted = [query for query in evaluation.queries if evaluation.truth[query]]
    shown = counted[:_MOST_QUERIES]
    if len(shown) < len(counted):
        yield f"<p>The first {len(shown)} of {len(counted)} queries, rank by rank:</p>"
    for query in shown:
        yield f"<details><summary>{escape(query)}</summary>"
        for section in steps_of(evaluation, query):
            rows = section.rows[: max(_MOST_RANKS, sum(map(len, evaluation.truth[query])))]
            more = f"<p>{len(section.rows) - len(rows)} more ranks</p>" if len(rows) < len(section.rows) else ""
            yield f"<h3>{escape(section.title)}</h3>"
            yield _table(Section(section.key, section.title, section.columns, rows)) + more
        yield "</details>"


def _table(section: Section, *, heading: bool = False, before: str = "") -> str:
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


def _bullets(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"
