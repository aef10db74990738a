"""A campaign as tables, as one page, and as one text: who is ahead, how sure that is, on which queries, and why."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from roslin.campaign.campaign import MATCHERS, Campaign
from roslin.collection.files import write_text
from roslin.collection.store import Store
from roslin.display.table import Table
from roslin.display.text import counted
from roslin.evaluate import Comparison, compare, mean_intervals, reach
from roslin.evaluate.tables import Disagreement, disagreements, groupings, means, per_query, remarks, tie_ranges
from roslin.matchers import Matcher
from roslin.report.document import document
from roslin.report.plots import heat_map, interval_plot
from roslin.values.parameters import members_of

_MOST_ROWS = 5_000
_DRAWN_QUERIES, _DRAWN_DOCUMENTS = 5, 3
_MOST_DISPUTED = 50  # documents in the table of disagreements
_TIED = {
    "expected": "Values are means over all orders of documents at the same distance.",
    "given": "Documents at the same distance stand in the order of their ids.",
    "trec": "Documents at the same distance stand as trec_eval sorts them, the larger id first.",
}


def write_report(campaign: Campaign, collection: Store, folder: str | Path) -> Path:
    """Write `report.html` and `report.txt` into a folder; the path of the page."""
    page = Path(folder) / "report.html"
    found = _comparisons(campaign)
    write_text(page, campaign_page(campaign, collection, found))
    write_text(page.with_suffix(".txt"), campaign_text(campaign, found))
    return page


def _comparisons(campaign: Campaign) -> list[Comparison]:
    return compare(campaign.evaluation) if len(campaign.systems) > 1 else []


def campaign_text(campaign: Campaign, comparisons: Sequence[Comparison] | None = None) -> str:
    """Remarks, and every table under its title. `comparisons` are made if they are not given."""
    found = _comparisons(campaign) if comparisons is None else comparisons
    lines = [_heading(campaign), "", *all_remarks(campaign)]
    tables = [*main_tables(campaign), *([pairs(found)] if found else []), tie_table(campaign), times(campaign)]
    for table in tables:
        lines += ["", table.title, *([table.note] if table.note else []), "", str(table)]
    return "\n".join(lines) + "\n"


def campaign_page(campaign: Campaign, collection: Store, comparisons: Sequence[Comparison] | None = None) -> str:
    """The whole page. Documents are drawn from the collection; `comparisons` are made if they are not given."""
    compared = _comparisons(campaign) if comparisons is None else comparisons
    evaluation = campaign.evaluation
    first = repr(evaluation.measures[0])
    table = standings(campaign)
    order = [evaluation.systems.index(row["system"]) for row in table.rows]
    names = [evaluation.systems[k] for k in order]
    queries = [query for query in evaluation.queries if evaluation.truth[query]]
    values = evaluation.counted[order, 0]
    found = disagreements(evaluation) if len(names) > 1 else []
    return document(
        "campaign.html",
        heading=_heading(campaign),
        summary=_summary(campaign),
        remarks=all_remarks(campaign),
        measure=first,
        standings=table,
        interval_plot=interval_plot(
            names,
            evaluation.means[order, 0],
            mean_intervals(values, upper=evaluation.measures[0].largest),
            f"Mean {first} of each matcher with its confidence interval",
        ),
        means=replace(means(evaluation), headings=MATCHERS),
        names=names,
        comparisons=_pairs(compared, names) if compared else None,
        groupings=truth_table(campaign),
        heat_map=heat_map(names, queries, values, f"{first} of every matcher and query"),
        values=per_query(evaluation).first(_MOST_ROWS),
        disagreements=disagreement_table(found) if found else None,
        cases=_cases(campaign, collection, found),
        ties=tie_table(campaign),
        times=times(campaign),
        provenance=json.dumps(campaign.provenance, ensure_ascii=False, indent=1, default=repr),
    )


def _heading(campaign: Campaign) -> str:
    return f"{counted(len(campaign.systems), 'matcher')} on {campaign.provenance['collection']['name']}"


def _summary(campaign: Campaign) -> str:
    about = campaign.provenance["collection"]
    melodies = counted(about["melodies"], "melody", "melodies")
    return (
        f"{counted(len(campaign.queries), 'query', 'queries')}, {melodies}, lists of {campaign.provenance['k']}. "
        f"Truth: {', '.join(each.truth.name or 'unnamed' for each in campaign.evaluations)}. "
        f"Roslin {campaign.provenance['roslin']}; collection of {about['written'][:10]}."
    )


def _pairs(comparisons: Sequence[Comparison], names: Sequence[str]) -> dict[str, Any]:
    found = {(each.system, each.other): each for each in comparisons}
    return {
        "queries": comparisons[0].queries,
        "rows": [(name, [_pair(found, name, other) for other in names]) for name in names],
        "table": pairs(comparisons),
    }


def _pair(found: dict[tuple[str, str], Comparison], name: str, other: str) -> dict[str, Any] | None:
    one, sign = (found.get((name, other)), 1) if (name, other) in found else (found.get((other, name)), -1)
    if one is None or math.isnan(one.difference):
        return None
    ahead, behind = (one.wins, one.losses) if sign > 0 else (one.losses, one.wins)
    counts = f"better on {counted(ahead, 'query', 'queries')}, worse on {behind}, equal on {one.ties}"
    return {
        "difference": sign * one.difference,
        "real": one.is_shown,
        "said": f"{name} - {other}: p = {one.p_max:.3g} among all pairs; {counts}",
    }


def _cases(campaign: Campaign, collection: Store, found: Sequence[Disagreement]) -> Iterable[dict[str, Any]]:
    by_query: dict[str, list[Disagreement]] = {}
    for each in found:
        if each.spread > 0:
            by_query.setdefault(each.query, []).append(each)
    for query, cases in list(by_query.items())[:_DRAWN_QUERIES]:
        documents = [
            {
                "document": case.document,
                "melody": collection[case.document],
                "judged": f"In {'no group' if case.group is None else f'group {case.group}'} of the truth.",
                "ranks": _ranks(case),
            }
            for case in cases[:_DRAWN_DOCUMENTS]
        ]
        yield {"query": query, "melody": campaign.queries[query], "documents": documents}


def _ranks(case: Disagreement) -> str:
    at: dict[float, list[str]] = {}
    for system, rank in case.ranks.items():
        at.setdefault(np.inf if rank is None else rank, []).append(system)
    said = [
        f"{'not in the list' if rank == np.inf else f'rank {rank}'}: {', '.join(systems)}"
        for rank, systems in sorted(at.items())
    ]
    return "; ".join(said) + "."


# -- tables ------------------------------------------------------------------------------------------------------------


def standings(campaign: Campaign) -> Table:
    """One row a matcher, the best in the first measure first: all means, the interval of the first, time and ties."""
    evaluation = campaign.evaluation
    first, *others = [repr(measure) for measure in evaluation.measures]
    intervals = mean_intervals(evaluation.counted[:, 0], upper=evaluation.measures[0].largest)
    rows: list[dict[str, Any]] = []
    for system, values, (low, high) in zip(campaign.systems, evaluation.means.tolist(), intervals, strict=True):
        row = {"system": system.name, first: values[0], "low": float(low), "high": float(high)}
        row |= dict(zip(others, values[1:], strict=True))
        row["ms"] = 1000.0 * statistics.median(system.seconds)
        row["tied"] = system.tied
        row["reference"] = _reference(system.matcher)
        rows.append(row)
    sign = -1.0 if evaluation.measures[0].larger_is_better else 1.0
    rows.sort(key=lambda row: (sign * row[first] if row[first] == row[first] else float("inf"), row["system"]))
    queries = counted(evaluation.counted.shape[2], "query", "queries")
    note = (
        f"low, high: 95% confidence interval of {first} over {queries}; "
        "ms: median time of a query; tied: documents that share their distance with another of their list; "
        "reference: where the matcher was published, and which parameters are not those that it is offered with"
    )
    columns = ("system", first, "low", "high", *others, "ms", "tied", "reference")
    return Table(columns, tuple(rows), "Standings", note, key="standings", coarse=("ms",), headings=MATCHERS)


def _reference(chosen: Matcher) -> str:
    """Where a matcher was published, or that it is ours; and what was changed in it."""
    made_of = members_of(type(chosen))
    changed = [
        field.name for field in fields(chosen) if field.name != made_of and getattr(chosen, field.name) != field.default
    ]
    return chosen.reference + (f"; changed: {', '.join(changed)}" if changed else "")


def pairs(comparisons: Sequence[Comparison]) -> Table:
    """Every pair of matchers on the first measure, p and interval for all pairs together."""
    tests = ("low_all", "high_all", "p_max", "p", "p_holm", "effect", "wins", "ties", "losses", "detectable")
    columns = ("system", "other", "difference", *tests)
    rows = [{name: getattr(each, name) for name in columns} for each in comparisons]
    title = f"Every pair of matchers, {comparisons[0].measure}"
    note = (
        f"{reach(comparisons).sentence} low_all, high_all, p_max: interval and p that hold for all pairs together; p, "
        "p_holm: of the pair alone, and corrected after Holm; detectable: the smallest true difference that so many "
        "queries would show in four of five cases."
    )
    return Table(columns, tuple(rows), title, note, key="pairs", headings=MATCHERS)


def tie_table(campaign: Campaign) -> Table:
    """The range of means over all orders of tied distances, and the number of ties."""
    by_name = {system.name: system for system in campaign.systems}
    able = any(measure.monotone for measure in campaign.evaluation.measures)
    ranges = tie_ranges(campaign.evaluation) if able else Table(("system",), ())
    rows = [{**row, "tied": by_name[row["system"]].tied, "cut": by_name[row["system"]].cut} for row in ranges.rows]
    note = (
        f"{_TIED[campaign.evaluation.ties]} worst, best: the mean if these stood in the worst or best order; tied: "
        "documents that share their distance with another of their list; cut: lists that end before a tie too large to "
        "list."
    )
    said = f"{note} {ranges.note[:1].upper()}{ranges.note[1:]}." if ranges.note else note
    return Table((*ranges.columns, "tied", "cut"), tuple(rows), "Ties", said, key="ties", headings=MATCHERS)


def times(campaign: Campaign) -> Table:
    """Seconds of searching, for each matcher."""
    rows = []
    for system in campaign.systems:
        seconds = system.seconds
        rows.append((system.name, statistics.median(seconds), statistics.fmean(seconds), max(seconds), sum(seconds)))
    rows.sort(key=lambda row: (row[1], row[0]))
    melodies = counted(campaign.provenance["collection"]["melodies"], "melody", "melodies")
    note = (
        f"Seconds a query, over {melodies}, measured when the lists were "
        "made. They depend on the machine, on what else it did and on the number of threads."
    )
    return Table.of(
        ("system", "median", "mean", "slowest", "all"), rows, "Time", note=note, key="times", headings=MATCHERS
    )


def disagreement_table(found: list[Disagreement]) -> Table:
    """The documents on which the matchers differ most: who ranks them highest, and who lowest."""
    rows = []
    for each in found[:_MOST_DISPUTED]:
        in_order = sorted(each.ranks.items(), key=lambda item: (item[1] is None, item[1] or 0, item[0]))
        (best, best_rank), (worst, worst_rank) = in_order[0], in_order[-1]
        rows.append((each.query, each.document, each.group, best, best_rank, worst, worst_rank, each.spread))
    columns = ("query", "document", "group", "best", "best rank", "worst", "worst rank", "spread")
    note = (
        "group: that of the truth. – as a rank: not in the list. spread: standard deviation of log2(rank) over all "
        "matchers; 1 is a factor of 2 on either side of the middle."
    )
    return Table.of(columns, rows, "Where matchers disagree most", note=note, key="disagreements", marks="group")


def truth_table(campaign: Campaign) -> Table | None:
    """Means under several truths, if there are several."""
    return replace(groupings(campaign.evaluations), headings=MATCHERS) if len(campaign.evaluations) > 1 else None


def main_tables(campaign: Campaign) -> list[Table]:
    """Standings, and under several truths how these change."""
    several = truth_table(campaign)
    return [standings(campaign), *([several] if several else [])]


def all_remarks(campaign: Campaign) -> list[str]:
    """Remarks about queries, truths and lists, one sentence each."""
    return [*campaign.remarks, *remarks(campaign.evaluations, "matcher")]
