"""A ground truth as tables: what `roslin truth` prints and what its page shows. Tables are `Section`s."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from roslin.melody import Melody
from roslin.report.evaluation_tables import Section
from roslin.truth.agreement import attention, experts, kendall_w, krippendorff_alpha
from roslin.truth.compare import Likeness
from roslin.truth.consistency import Consistency, ListConsistency, list_consistency
from roslin.truth.grouping import Grouped, Method, groups_of
from roslin.truth.model import Truth
from roslin.truth.null import NullGroups, null_groups
from roslin.truth.plackett_luce import FittedStrengths
from roslin.truth.power import Neighbours, more_experts
from roslin.truth.rankings import Rankings

__all__ = [
    "Progress",
    "QueryStudy",
    "Study",
    "candidates",
    "consistencies",
    "groups",
    "inconsistencies",
    "likenesses",
    "neighbours",
    "people",
    "positions",
    "rankings_provenance",
    "strengths",
    "study",
    "summary",
    "title_of",
]


# Told how many queries are done, and which one comes next.
Progress = Callable[[float, str], None]


@dataclass(frozen=True, eq=False)
class QueryStudy:
    """One query: its list, what noise would give, how consistent the list is, and how far the experts agree."""

    grouped: Grouped
    null: NullGroups | None
    consistency: ListConsistency
    neighbours: list[Neighbours]
    kendall_w: float
    alpha: float

    @property
    def sentence(self) -> str:
        """Groups found beside groups of noise, in words."""
        count = len(self.grouped.starts)
        return self.null.sentence() if self.null else f"{count} group{'' if count == 1 else 's'}"

    @property
    def agreement(self) -> str:
        """How far the experts agree, in words; nothing where that cannot be said."""
        named = (("Kendall's W", self.kendall_w), ("Krippendorff's alpha", self.alpha))
        return ", ".join(f"{name} {value:.2f}" for name, value in named if value == value)


@dataclass(frozen=True, eq=False)
class Study:
    """Rankings, the method, and what it found for each query."""

    rankings: Rankings
    method: Method
    queries: dict[str, QueryStudy]


def study(
    rankings: Rankings,
    method: Method,
    shuffles: int = 1000,
    seed: int = 2005,
    *,
    power: bool = True,
    progress: Progress = lambda _done, _query: None,
) -> Study:
    """Everything about rankings. `shuffles` = 0 leaves the shuffled rankings out, no `power` the neighbours."""
    found = {}
    for number, (query, said) in enumerate(rankings.items()):
        progress(number, query)
        grouped = groups_of(said, method)
        consistency = list_consistency(
            Truth({query: grouped.groups}),
            rankings,
            tails=1,
            alpha=method.alpha,
            test=method.test,
            unranked=method.unranked,
            correction=method.correction,
        )
        found[query] = QueryStudy(
            grouped,
            null_groups(said, method, shuffles, seed, grouped=grouped) if shuffles else None,
            consistency.lists[query],
            more_experts(said, method, seed=seed) if power else [],
            kendall_w(said),
            krippendorff_alpha(said),
        )
    return Study(rankings, method, found)


def summary(found: Study) -> Section:
    """A row for each query: groups beside those of noise, agreement, consistency."""
    rows = []
    for query, each in found.queries.items():
        row: dict[str, Any] = {
            "query": query,
            "experts": len(found.rankings[query].experts),
            "candidates": len(each.grouped.arranged.documents),
            "groups": len(each.grouped.starts),
            "noise": None if each.null is None else each.null.mean,
            "p": None if each.null is None else each.null.p,
            "W": each.kendall_w,
            "alpha": each.alpha,
            "ADR-1": each.consistency.value,
        }
        rows.append(row)
    return Section("summary", f"Queries, grouped by {found.method.name}", tuple(rows[0]) if rows else (), rows)


def candidates(found: Study, melodies: Mapping[str, Melody] | None = None) -> Section:
    """A row for each candidate, in the order of the lists."""
    known = melodies or {}
    rows = []
    for query, each in found.queries.items():
        arranged = each.grouped.arranged
        medians, means = arranged.medians, arranged.means
        group = 0
        for k, document in enumerate(arranged.documents):
            group += k in each.grouped.starts
            sample = arranged.sample(k)
            low, first, third, high = np.quantile(sample, [0.1, 0.25, 0.75, 0.9]).tolist()
            rows.append(
                {
                    "query": query,
                    "group": group,
                    "document": document,
                    "title": title_of(known.get(document)),
                    "median": float(medians[k]),
                    "mean": float(means[k]),
                    "deviation": float(np.std(sample, ddof=1)) if len(sample) > 1 else None,
                    "low_10": low,
                    "quartile_1": first,
                    "quartile_3": third,
                    "high_10": high,
                    "votes": int(arranged.votes[k]),
                    "largest_p": float(each.grouped.pvalues[:k, k].max()) if k else None,
                    "noise_groups": each.null.mean if each.null else None,
                    "noise_p": each.null.p if each.null else None,
                }
            )
    columns = ("query", "group", "document", "title", "median", "mean", "deviation", "low_10", "quartile_1")
    more = ("quartile_3", "high_10", "votes", "largest_p", "noise_groups", "noise_p")
    return Section("candidates", "Lists", (*columns, *more), rows)


def title_of(melody: Melody | None) -> str:
    """Composer and title, as far as they are known."""
    return "" if melody is None else ": ".join(part for part in (melody.composer, melody.title) if part)


def people(rankings: Rankings) -> Section:
    """A row for each expert, the least agreeing first: agreement with the others, the attention check."""
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
                "remark": "outlier" if each.outlier else "",
            }
        )
    return Section("experts", "Experts", ("expert", "queries", "agreement", "z", "attention", "remark"), rows)


def consistencies(found: Consistency) -> Section:
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
    return Section("consistency", f"ADR-{found.tails} consistency", columns, rows)


def inconsistencies(found: Consistency) -> Section:
    """A row for each pair and triple, by name."""
    rows = []
    for query, each in found.lists.items():
        named = (("intra", each.intra), ("inter", each.inter), ("misplaced", each.misplaced), ("triple", each.triples))
        for kind, entries in named:
            rows += [{"query": query, "kind": kind, "documents": " ".join(entry)} for entry in entries]
    return Section("inconsistencies", "Pairs and triples", ("query", "kind", "documents"), rows)


def positions(found: Consistency) -> Section:
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
    return Section("positions", f"ADR-{found.tails} consistency, position by position", columns, rows)


def rankings_provenance(path: Path, seed: int) -> list[str]:
    """What made a report: program, versions, and the rankings with their checksum."""
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    return [
        f"Roslin {version('roslin')}, numpy {version('numpy')}, scipy {version('scipy')}",
        f"rankings {path}, SHA-256 {checksum}",
        f"what was drawn at random has the seed {seed}",
    ]


def strengths(fitted: Mapping[str, FittedStrengths], truth: Truth) -> Section:
    """A row for each candidate: its log strength with a 95 % interval, where there are experts enough for one."""
    rows = []
    for query, groups in truth.items():
        each = fitted[query]
        bounds = dict(zip(each.documents, zip(each.values, each.intervals(), strict=True), strict=True))
        for number, group in enumerate(groups, start=1):
            for id in group:
                value, (low, high) = bounds[id]
                row = {"query": query, "group": number, "document": id, "strength": float(value)}
                rows.append({**row, "low": float(low), "high": float(high)})
    return Section("strengths", "Strengths", ("query", "group", "document", "strength", "low", "high"), rows)


def groups(truth: Truth) -> Section:
    """A row for each document of a truth."""
    rows = [
        {"query": query, "group": number, "document": id}
        for query, groups in truth.items()
        for number, group in enumerate(groups, start=1)
        for id in group
    ]
    return Section("groups", "Groups", ("query", "group", "document"), rows)


def likenesses(found: Sequence[Likeness]) -> Section:
    """A row for each query of two truths that were compared."""
    columns = tuple(field.name for field in fields(Likeness))
    return Section("likeness", "How alike two truths are", columns, [asdict(each) for each in found])


def neighbours(found: Mapping[str, list[Neighbours]]) -> Section:
    """A row for each pair of neighbours: how many more experts would tell them apart."""
    columns = ("query", "first", "second", "p", "chance", "experts", "needed", "more")
    rows = [
        {"query": query, **{name: getattr(pair, name) for name in columns[1:]}}
        for query, pairs in found.items()
        for pair in pairs
    ]
    return Section("neighbours", "How many more experts", columns, rows)
