"""A campaign as one page, and as one text: who is ahead, how sure that is, on which queries, and why."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from roslin.campaign.campaign import Campaign
from roslin.campaign.tables import all_remarks, disagreement_table, main_tables, pairs, standings, tie_table, times
from roslin.collection.files import write_text
from roslin.collection.store import Store
from roslin.display.text import counted
from roslin.evaluate import Comparison, compare, mean_intervals
from roslin.evaluate.disagreement import Disagreement, disagreements
from roslin.evaluate.tables import groupings, means, per_query
from roslin.report.document import document
from roslin.report.plots import heat_map, interval_plot

_MOST_ROWS = 5_000
_DRAWN_QUERIES, _DRAWN_DOCUMENTS = 5, 3


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
    counted = [query for query in evaluation.queries if evaluation.truth[query]]
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
            f"Mean {first} of each system with its confidence interval",
        ),
        means=means(evaluation),
        names=names,
        comparisons=_pairs(compared, names) if compared else None,
        groupings=groupings(campaign.evaluations) if len(campaign.evaluations) > 1 else None,
        heat_map=heat_map(names, counted, values, f"{first} of every system and query"),
        values=per_query(evaluation).first(_MOST_ROWS),
        disagreements=disagreement_table(found) if found else None,
        cases=_cases(campaign, collection, found),
        ties=tie_table(campaign),
        times=times(campaign),
        provenance=json.dumps(campaign.provenance, ensure_ascii=False, indent=1, default=repr),
    )


def _heading(campaign: Campaign) -> str:
    number = len(campaign.systems)
    return f"{number} system{'s' * (number > 1)} on {campaign.provenance['collection']['name']}"


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
