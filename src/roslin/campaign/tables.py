"""A campaign as tables: standings, pairs, ties, times, truths, disagreements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from roslin.campaign.campaign import Campaign
from roslin.display.table import Table
from roslin.display.text import counted
from roslin.evaluate import Comparison, mean_intervals, reach
from roslin.evaluate.disagreement import Disagreement
from roslin.evaluate.tables import groupings, remarks, tie_ranges
from roslin.matchers import Matcher
from roslin.values.parameters import members_of

_MOST_DISPUTED = 50  # documents in the table of disagreements
_TIED = {
    "expected": "Values are means over all orders of documents at the same distance.",
    "given": "Documents at the same distance stand in the order of their ids.",
    "trec": "Documents at the same distance stand as trec_eval sorts them, the larger id first.",
}


def standings(campaign: Campaign) -> Table:
    """One row a system, the best in the first measure first: all means, the interval of the first, time and ties."""
    evaluation = campaign.evaluation
    first, *others = [repr(measure) for measure in evaluation.measures]
    intervals = mean_intervals(evaluation.counted[:, 0], upper=evaluation.measures[0].largest)
    rows: list[dict[str, Any]] = []
    for system, means, (low, high) in zip(campaign.systems, evaluation.means.tolist(), intervals, strict=True):
        row = {"system": system.name, first: means[0], "low": float(low), "high": float(high)}
        row |= dict(zip(others, means[1:], strict=True))
        row["ms"] = 1000.0 * statistics.median(system.seconds)
        row["tied"] = system.tied
        row["reference"] = _reference(system.matcher)
        rows.append(row)
    sign = -1.0 if evaluation.measures[0].larger_is_better else 1.0
    rows.sort(key=lambda row: (sign * row[first] if row[first] == row[first] else float("inf"), row["system"]))
    queries = counted(evaluation.counted.shape[2], "query", "queries")
    note = (
        f"low, high: 95 % confidence interval of {first} over {queries}; "
        "ms: median time of a query; tied: documents that share their distance with another of their list; "
        "reference: where the system was published, and which parameters are not those that it is offered with"
    )
    columns = ("system", first, "low", "high", *others, "ms", "tied", "reference")
    return Table(columns, tuple(rows), "Standings", note, key="standings", coarse=("ms",))


def _reference(chosen: Matcher) -> str:
    """Where a matcher was published, or that it is ours; and what was changed in it."""
    made_of = members_of(type(chosen))
    changed = [
        field.name for field in fields(chosen) if field.name != made_of and getattr(chosen, field.name) != field.default
    ]
    return chosen.reference + (f"; changed: {', '.join(changed)}" if changed else "")


def pairs(comparisons: Sequence[Comparison]) -> Table:
    """Every pair of systems on the first measure, p and interval for all pairs together."""
    tests = ("low_all", "high_all", "p_max", "p", "p_holm", "effect", "wins", "ties", "losses", "detectable")
    columns = ("system", "other", "difference", *tests)
    rows = [{name: getattr(each, name) for name in columns} for each in comparisons]
    title = f"Every pair of systems, {comparisons[0].measure}"
    note = (
        f"{reach(comparisons).sentence} low_all, high_all, p_max: interval and p that hold for all pairs together; p, "
        "p_holm: of the pair alone, and corrected after Holm; detectable: the smallest true difference that so many "
        "queries would show in four of five cases."
    )
    return Table(columns, tuple(rows), title, note, key="pairs")


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
    return Table((*ranges.columns, "tied", "cut"), tuple(rows), "Ties", said, key="ties")


def times(campaign: Campaign) -> Table:
    """Seconds of searching, for each system."""
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
    return Table.of(("system", "median", "mean", "slowest", "all"), rows, "Time", note=note, key="times")


def disagreement_table(found: list[Disagreement]) -> Table:
    """The documents on which the systems differ most: who ranks them highest, and who lowest."""
    rows = []
    for each in found[:_MOST_DISPUTED]:
        in_order = sorted(each.ranks.items(), key=lambda item: (item[1] is None, item[1] or 0, item[0]))
        (best, best_rank), (worst, worst_rank) = in_order[0], in_order[-1]
        rows.append((each.query, each.document, each.group, best, best_rank, worst, worst_rank, each.spread))
    columns = ("query", "document", "group", "best", "best rank", "worst", "worst rank", "spread")
    note = (
        "group: that of the truth. – as a rank: not in the list. spread: standard deviation of log2(rank) over all "
        "systems; 1 is a factor of 2 on either side of the middle."
    )
    return Table.of(columns, rows, "Where systems disagree most", note=note, key="disagreements", marks="group")


def main_tables(campaign: Campaign) -> list[Table]:
    """Standings, and under several truths how these change."""
    several = [groupings(campaign.evaluations)] if len(campaign.evaluations) > 1 else []
    return [standings(campaign), *several]


def all_remarks(campaign: Campaign) -> list[str]:
    """Remarks about queries, truths and lists, one sentence each."""
    return [*campaign.remarks, *remarks(campaign.evaluations)]
