"""A campaign as one page, and as one text: who is ahead, how sure that is, on which queries, and why."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np

from roslin.campaign.campaign import Campaign
from roslin.collection.store import Store
from roslin.display.text import table_lines
from roslin.evaluate import Comparison, bootstrap_intervals, compare
from roslin.evaluate.disagreement import Disagreement, disagreements
from roslin.melody import Melody
from roslin.report.campaign_plots import heat_map, interval_plot
from roslin.report.campaign_tables import disagreement_table, main_tables, pairs, standings, tie_table, times
from roslin.report.evaluation_tables import Section, groupings, means, per_query, remarks
from roslin.report.frame import framed
from roslin.report.html_tables import TABLE_STYLE, bullets, figure, html_table, sorting_script
from roslin.report.player import PLAYER_STYLE, melody_figure, player_script

__all__ = ["all_remarks", "campaign_page", "campaign_text", "write_report"]

_CHANCE = 0.05
_MOST_ROWS = 5_000
_DRAWN_QUERIES, _DRAWN_DOCUMENTS = 5, 3
_STYLE = """
:root { --width: 72rem; }
.shade { fill: var(--note); }
.pairs td { text-align: right; padding: .2rem .4rem; font-size: .82rem; color: var(--soft); }
.pairs td.real { background: var(--found); color: var(--ink); font-weight: bold; }
.pairs th { font-size: .82rem; padding: .2rem .4rem; }
.pairs thead th { writing-mode: vertical-rl; }
.case { border: 1px solid var(--line); border-radius: .4rem; background: var(--card); padding: .4rem .8rem;
  margin: 0 0 .8rem; break-inside: avoid; }
.case h3 { margin: .3rem 0; } .case p { margin: .2rem 0; }
.melody svg { width: auto; }
pre { overflow-x: auto; }
"""


def write_report(campaign: Campaign, collection: Store, folder: str | Path) -> Path:
    """Write `report.html` and `report.txt` into a folder; the path of the page."""
    page = Path(folder) / "report.html"
    found = _comparisons(campaign)
    for path, text in (
        (page, campaign_page(campaign, collection, found)),
        (page.with_suffix(".txt"), campaign_text(campaign, found)),
    ):
        unfinished = path.with_name(path.name + ".part")
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    return page


def _comparisons(campaign: Campaign) -> list[Comparison]:
    return compare(campaign.evaluation) if len(campaign.systems) > 1 else []


def campaign_text(campaign: Campaign, comparisons: Sequence[Comparison] | None = None) -> str:
    """Remarks, and every table under its title. `comparisons` are made if they are not given."""
    found = _comparisons(campaign) if comparisons is None else comparisons
    lines = [_heading(campaign), "", *all_remarks(campaign)]
    tables = [*main_tables(campaign), *([pairs(found)] if found else []), tie_table(campaign), times(campaign)]
    for section in tables:
        lines += ["", section.title, *([section.note] if section.note else []), ""]
        lines += table_lines(section.rows, section.columns)
    return "\n".join(lines) + "\n"


def all_remarks(campaign: Campaign) -> list[str]:
    """What was odd about queries, truths and lists, a sentence each."""
    return [*campaign.remarks, *remarks(campaign.evaluations)]


def campaign_page(campaign: Campaign, collection: Store, comparisons: Sequence[Comparison] | None = None) -> str:
    """The whole page. Documents are drawn from the collection; `comparisons` are made if they are not given."""
    compared = _comparisons(campaign) if comparisons is None else comparisons
    evaluation = campaign.evaluation
    first = repr(evaluation.measures[0])
    table = standings(campaign)
    order = [evaluation.systems.index(row["system"]) for row in table.rows]
    names = [evaluation.systems[k] for k in order]
    counted = [query for query in evaluation.queries if evaluation.truth[query]]
    body = [
        f"<p>{escape(_summary(campaign))}</p>",
        bullets(all_remarks(campaign)),
        html_table(table, heading=True, before=f"<p>{escape(table.note)}. A click on a name sorts.</p>"),
        figure(
            interval_plot(
                names,
                evaluation.means[order, 0],
                bootstrap_intervals(evaluation.counted[order, 0]),
                f"Mean {first} of each system with its confidence interval",
            ),
            f"Mean {first} and its 95 % confidence interval. Intervals that overlap do not mean that two "
            "systems are equal: the same queries were asked, and the next table compares them query by query.",
        ),
        _folded("All measures, with intervals", html_table(means(evaluation))),
    ]
    if compared:
        body += _pairs(compared, names)
    if len(campaign.evaluations) > 1:
        body.append(html_table(groupings(campaign.evaluations), heading=True))
    body += [
        "<h2>Query by query</h2>",
        figure(
            heat_map(names, counted, evaluation.counted[order, 0], f"{first} of every system and query"),
            f"{first}: the darker, the better. Queries stand from hard (left) to easy; beyond 300, a field is the mean "
            "of neighbours.",
        ),
        _folded("The values", html_table(_first_rows(per_query(evaluation)))),
    ]
    found = disagreements(evaluation) if len(names) > 1 else []
    if found:
        listed = disagreement_table(found)
        body += [
            f"<h2>{escape(listed.title)}</h2>",
            f"<p>{escape(listed.note)}</p>",
            *_cases(campaign, collection, found),
            _folded("More of them", html_table(listed)),
        ]
    provenance = json.dumps(campaign.provenance, ensure_ascii=False, indent=1, default=repr)
    for section in (tie_table(campaign), times(campaign)):
        body.append(html_table(section, heading=True, before=f"<p>{escape(section.note)}</p>"))
    body += [
        "<h2>Where this comes from</h2>",
        f"<pre><code>{escape(provenance)}</code></pre>",
    ]
    style = TABLE_STYLE + PLAYER_STYLE + _STYLE
    return framed(_heading(campaign), "\n".join(body), style, player_script() + sorting_script())


def _heading(campaign: Campaign) -> str:
    number = len(campaign.systems)
    return f"{number} system{'s' * (number > 1)} on {campaign.provenance['collection']['name']}"


def _summary(campaign: Campaign) -> str:
    about = campaign.provenance["collection"]
    return (
        f"{len(campaign.queries)} queries, {about['melodies']} melodies, lists of {campaign.provenance['k']}. "
        f"Truth: {', '.join(each.truth.name or 'unnamed' for each in campaign.evaluations)}. "
        f"Roslin {campaign.provenance['roslin']}; collection of {about['written'][:10]}."
    )


def _pairs(comparisons: Sequence[Comparison], names: Sequence[str]) -> Iterable[str]:
    """A field for each pair: by how much the system of the row is ahead of that of the column."""
    found = {(each.system, each.other): each for each in comparisons}
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    rows = []
    for name in names:
        cells = []
        for other in names:
            one, sign = (found.get((name, other)), 1) if (name, other) in found else (found.get((other, name)), -1)
            if one is None or math.isnan(one.difference):
                cells.append("<td></td>")
                continue
            real = ' class="real"' if one.p_holm < _CHANCE else ""
            said = f"{name} - {other}: p = {one.p_holm:.3g} after Holm; {_counts(one.wins, one.ties, one.losses, sign)}"
            cells.append(f'<td{real} title="{escape(said)}">{sign * one.difference:+.3f}</td>')
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>')
    sure = sum(each.p_holm < _CHANCE for each in found.values())
    yield f"<h2>Is the difference real? ({escape(comparisons[0].measure)})</h2>"
    yield (
        "<p>Row minus column. Strong: unlikely to be chance (paired permutation test over "
        f"{comparisons[0].queries} queries, p &lt; {_CHANCE:g} after Holm's correction for {len(found)} pairs). "
        f"That holds for {sure} of them.</p>"
    )
    yield (
        f'<div class="wide"><table class="pairs"><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    section = pairs(comparisons)
    yield _folded(section.title, html_table(section))


def _counts(wins: int, ties: int, losses: int, sign: int) -> str:
    ahead, behind = (wins, losses) if sign > 0 else (losses, wins)
    return f"better on {ahead} queries, worse on {behind}, equal on {ties}"


def _cases(campaign: Campaign, collection: Store, found: Sequence[Disagreement]) -> Iterable[str]:
    """The queries with the largest disagreement, and their documents, in notation."""
    by_query: dict[str, list[Disagreement]] = {}
    for each in found:
        if each.spread > 0:
            by_query.setdefault(each.query, []).append(each)
    for number, (query, cases) in enumerate(list(by_query.items())[:_DRAWN_QUERIES]):
        melody = campaign.queries[query]
        yield f'<section class="case"><h3>Query {escape(query)}{_title(melody)}</h3>'
        yield melody_figure(melody, f"query {query}", f"d{number}-")
        for place, case in enumerate(cases[:_DRAWN_DOCUMENTS]):
            document = collection[case.document]
            yield f"<h3>Document {escape(case.document)}{_title(document)}</h3>"
            yield f"<p>{escape(_judged(case))} {escape(_ranks(case))}</p>"
            yield melody_figure(document, f"document {case.document}", f"d{number}-{place}-")
        yield "</section>"


def _title(melody: Melody) -> str:
    return f": {escape(melody.title)}" if melody.title else ""


def _judged(case: Disagreement) -> str:
    return "In no group of the truth." if case.group is None else f"In group {case.group} of the truth."


def _ranks(case: Disagreement) -> str:
    """Who has it at which rank, best first; systems with the same rank together."""
    at: dict[float, list[str]] = {}
    for system, rank in case.ranks.items():
        at.setdefault(np.inf if rank is None else rank, []).append(system)
    said = [
        f"{'not in the list' if rank == np.inf else f'rank {rank}'}: {', '.join(systems)}"
        for rank, systems in sorted(at.items())
    ]
    return "; ".join(said) + "."


def _first_rows(section: Section) -> Section:
    return Section(section.key, section.title, section.columns, section.rows[:_MOST_ROWS])


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"
