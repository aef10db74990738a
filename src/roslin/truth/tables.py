"""What is known of a truth as tables: experts, consistency, strengths, groups, neighbours. `study` has its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from roslin.display.table import Table
from roslin.truth.agreement import attention, experts
from roslin.truth.compare import Likeness, PlacedTwice
from roslin.truth.consistency import Consistency
from roslin.truth.model import Truth
from roslin.truth.plackett_luce import FittedStrengths
from roslin.truth.power import Neighbours
from roslin.truth.rankings import Rankings

__all__ = [
    "consistencies",
    "groups",
    "inconsistencies",
    "likenesses",
    "neighbours",
    "people",
    "places",
    "positions",
    "strengths",
]


def people(rankings: Rankings, left_out: Collection[str] = ()) -> Table:
    """A row for each expert, the least agreeing first: agreement with the others, the check of attention."""
    checks = {each.expert: each for each in attention(rankings)}
    rows: list[dict[str, Any]] = []
    for each in experts(rankings):
        check = checks.get(each.expert)
        shown = "" if check is None else f"{check.passed} of {check.shown}"
        rows.append(
            {
                "expert": each.expert,
                "queries": each.queries,
                "agreement": each.agreement,
                "z": each.z,
                "attention": shown,
                "remark": ", ".join(
                    word for word, holds in (("outlier", each.outlier), ("left out", each.expert in left_out)) if holds
                ),
            }
        )
    columns = ("expert", "queries", "agreement", "z", "attention", "remark")
    note = "agreement: mean rank correlation with the order of the others; z: how far above chance."
    return Table(columns, tuple(rows), "Experts", note, key="experts")


def consistencies(found: Consistency) -> Table:
    """A row for each list: its consistency, and how many pairs and triples spoil it."""
    rows: list[dict[str, Any]] = [
        {
            "query": query,
            "consistency": each.value,
            "pairs_in_groups": each.pairs_in_groups,
            "intra": len(each.intra),
            "inter": len(each.inter),
            "misplaced": len(each.misplaced),
            "triples": len(each.triples),
        }
        for query, each in found.lists.items()
    ]
    columns = ("query", "consistency", "pairs_in_groups", "intra", "inter", "misplaced", "triples")
    if len(rows) > 1:
        totals = {name: sum(row[name] for row in rows) for name in columns[2:]}
        rows.append({"query": "all", "consistency": found.mean, **totals})
    return Table(columns, tuple(rows), f"ADR-{found.tails} consistency", key="consistency")


def inconsistencies(found: Consistency) -> Table:
    """A row for each pair and triple, by name."""
    rows = []
    for query, each in found.lists.items():
        named = (("intra", each.intra), ("inter", each.inter), ("misplaced", each.misplaced), ("triple", each.triples))
        for kind, entries in named:
            rows += [{"query": query, "kind": kind, "documents": " ".join(entry)} for entry in entries]
    return Table(("query", "kind", "documents"), tuple(rows), "Pairs and triples", key="inconsistencies")


def positions(found: Consistency) -> Table:
    """A row for each pivot of each list: its score, and what is wrongly allowed and wrongly forbidden there."""
    rows = [
        {
            "query": query,
            "position": number,
            "document": pivot.document,
            "score": pivot.score,
            "false_positives": " ".join(pivot.false_positives),
            "false_negatives": " ".join(pivot.false_negatives),
        }
        for query, each in found.lists.items()
        for number, pivot in enumerate(each.pivots, start=1)
    ]
    columns = ("query", "position", "document", "score", "false_positives", "false_negatives")
    return Table(columns, tuple(rows), f"ADR-{found.tails} consistency, position by position", key="positions")


def strengths(fitted: Mapping[str, FittedStrengths], truth: Truth) -> Table:
    """A row for each candidate: its log strength with a 95 % interval, where there are experts enough for one."""
    rows = []
    for query, groups in truth.items():
        each = fitted[query]
        bounds = dict(zip(each.documents, zip(each.values, each.intervals(), strict=True), strict=True))
        for number, group in enumerate(groups, start=1):
            for id in group:
                value, (low, high) = bounds[id]
                row = {"query": query, "group": number, "document": id, "strength": float(value)}
                is_known = math.isfinite(low) and math.isfinite(high)
                rows.append({**row, "low": float(low) if is_known else None, "high": float(high) if is_known else None})
    columns = ("query", "group", "document", "strength", "low", "high")
    return Table(columns, tuple(rows), "Strengths", key="strengths")


def groups(truth: Truth) -> Table:
    """A row for each document of a truth."""
    rows = [
        {"query": query, "group": number, "document": id}
        for query, groups in truth.items()
        for number, group in enumerate(groups, start=1)
        for id in group
    ]
    return Table(("query", "group", "document"), tuple(rows), "Groups", key="groups")


def likenesses(found: Sequence[Likeness]) -> Table:
    """A row for each query of two truths that were compared."""
    columns = tuple(field.name for field in fields(Likeness))
    return Table(columns, tuple(map(asdict, found)), "How alike two truths are", key="likeness")


def places(found: Sequence[PlacedTwice]) -> Table:
    """A row for each document of which two truths do not say the same."""
    columns = tuple(field.name for field in fields(PlacedTwice))
    note = "group 0: judged not relevant; an empty group: not in that truth"
    return Table(columns, tuple(map(asdict, found)), "Documents that differ", note, key="documents")


def neighbours(found: Mapping[str, list[Neighbours]]) -> Table:
    """A row for each pair of neighbours: how many more experts would tell them apart."""
    columns = ("query", "first", "second", "p", "chance", "experts", "needed", "more")
    rows = [
        {"query": query, **{name: getattr(pair, name) for name in columns[1:]}}
        for query, pairs in found.items()
        for pair in pairs
    ]
    return Table(columns, tuple(rows), "How many more experts", key="neighbours")
