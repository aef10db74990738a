"""An evaluation as one page: tables to sort, curves, every query, and where it came from."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path

from roslin.evaluate import Evaluation
from roslin.report.evaluation_tables import Section, comparisons, groupings, means, per_query, remarks, steps_of
from roslin.report.frame import framed
from roslin.report.html_tables import TABLE_STYLE, bullets, figure, html_table, sorting_script
from roslin.report.plots import dynamic_recall_plot, lift_plot

__all__ = ["evaluation_page", "provenance"]

_MOST_ROWS = 5_000
_MOST_QUERIES = 200
_MOST_RANKS = 50
_STYLE = """
:root { --width: 70rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1rem; }
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
        f"<p>{counted} queries count. A column is sorted by a click on its name.</p>",
        bullets(remarks(evaluations)),
        html_table(means(evaluation, level), heading=True),
    ]
    if len(evaluation.runs) > 1:
        pairs = comparisons(evaluation, level)
        sentences = [row["sentence"] for row in pairs.rows if row["measure"] == repr(evaluation.measures[0])]
        shown = Section(pairs.key, pairs.title, tuple(c for c in pairs.columns if c != "sentence"), pairs.rows)
        body += [html_table(shown, heading=True, before=bullets(sentences))]
    if len(evaluations) > 1:
        body.append(html_table(groupings(evaluations), heading=True))
    body += [
        html_table(section, heading=True, before=bullets([section.note] * bool(section.note))) for section in extra
    ]
    body += [
        "<h2>Curves</h2>",
        '<div class="plots">',
        figure(
            dynamic_recall_plot(evaluation),
            "Dynamic recall; its mean over the ranks is ADR. A perfect list is 1 throughout.",
        ),
        figure(lift_plot(evaluation), "Normalised lift; steeper towards the upper left corner is better."),
        "</div>",
        "<h2>Queries</h2>",
        *_drill_down(evaluation),
        "<h2>Where this comes from</h2>",
        bullets([*sources, "measures: " + ", ".join(map(repr, evaluation.measures))]),
    ]
    return framed(heading, "\n".join(body), TABLE_STYLE + _STYLE, sorting_script())


def _drill_down(evaluation: Evaluation) -> Iterable[str]:
    """The values of every query in one table, and the first queries rank by rank."""
    values = per_query(evaluation)
    if len(values.rows) > _MOST_ROWS:
        yield f"<p>The first {_MOST_ROWS} of {len(values.rows)} rows:</p>"
    yield html_table(Section(values.key, values.title, values.columns, values.rows[:_MOST_ROWS]))
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
            yield html_table(Section(section.key, section.title, section.columns, rows)) + more
        yield "</details>"
