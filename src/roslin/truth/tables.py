"""Tables of a truth: experts, consistency, strengths, groups, neighbours. `study` has its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from operator import attrgetter

import numpy as np

from roslin.display.table import Table
from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.choice_models import FittedStrengths
from roslin.truth.consistency import Consistency
from roslin.truth.grouping import Method, groups_of
from roslin.truth.model import Groups, Truth
from roslin.truth.rankings import QueryRankings, Rankings, attention, experts
from roslin.truth.ranktests import pairwise_less, u_statistics
from roslin.types import Floats, Numbers


def people(rankings: Rankings, left_out: Collection[str] = ()) -> Table:
    """A row for each expert, the least agreeing first: agreement with the others, the check of attention."""
    checks = {each.expert: each for each in attention(rankings)}
    rows = []
    for each in experts(rankings):
        check = checks.get(each.expert)
        shown = "" if check is None else f"{check.passed} of {check.shown}"
        said = ["outlier"] * each.outlier + ["left out"] * (each.expert in left_out)
        rows.append((each.expert, each.queries, each.agreement, each.z, shown, ", ".join(said)))
    columns = ("expert", "queries", "agreement", "z", "attention", "remark")
    note = "agreement: mean rank correlation with the order of the others; z: how far above chance."
    return Table.of(columns, rows, "Experts", note=note, key="experts")


def consistencies(found: Consistency) -> Table:
    """A row for each list: its consistency, and how many pairs and triples spoil it."""
    counts = {
        query: (each.pairs_in_groups, *map(len, (each.intra, each.inter, each.misplaced, each.triples)))
        for query, each in found.lists.items()
    }
    rows = [(query, found[query], *numbers) for query, numbers in counts.items()]
    if len(rows) > 1:
        rows.append(("all", found.mean, *map(sum, zip(*counts.values(), strict=True))))
    columns = ("query", "consistency", "pairs_in_groups", "intra", "inter", "misplaced", "triples")
    return Table.of(columns, rows, f"ADR-{found.tails} consistency", key="consistency")


def inconsistencies(found: Consistency) -> Table:
    """A row for each pair and triple, by name."""
    rows = []
    for query, each in found.lists.items():
        named = (("intra", each.intra), ("inter", each.inter), ("misplaced", each.misplaced), ("triple", each.triples))
        for kind, entries in named:
            rows += [(query, kind, " ".join(entry)) for entry in entries]
    return Table.of(("query", "kind", "documents"), rows, "Pairs and triples", key="inconsistencies")


def positions(found: Consistency) -> Table:
    """A row for each pivot of each list: its score, and what is wrongly allowed and wrongly forbidden there."""
    rows = [
        (query, number, pivot.document, pivot.score, " ".join(pivot.false_positives), " ".join(pivot.false_negatives))
        for query, each in found.lists.items()
        for number, pivot in enumerate(each.pivots, start=1)
    ]
    columns = ("query", "position", "document", "score", "false_positives", "false_negatives")
    return Table.of(columns, rows, f"ADR-{found.tails} consistency, position by position", key="positions")


def strengths(fitted: Mapping[str, FittedStrengths], truth: Truth) -> Table:
    """A row for each candidate: its log strength with a 95 % interval, where there are experts enough for one."""
    rows = []
    for query, groups in truth.items():
        each = fitted[query]
        bounds = dict(zip(each.documents, zip(each.values, each.intervals(), strict=True), strict=True))
        for number, group in enumerate(groups, start=1):
            for id in group:
                value, (low, high) = bounds[id]
                is_known = math.isfinite(low) and math.isfinite(high)
                interval = (float(low), float(high)) if is_known else (None, None)
                rows.append((query, number, id, float(value), *interval))
    columns = ("query", "group", "document", "strength", "low", "high")
    return Table.of(columns, rows, "Strengths", key="strengths")


def groups(truth: Truth) -> Table:
    """A row for each document of a truth."""
    rows = [
        (query, number, id)
        for query, groups in truth.items()
        for number, group in enumerate(groups, start=1)
        for id in group
    ]
    return Table.of(("query", "group", "document"), rows, "Groups", key="groups")


def likenesses(found: Sequence[Likeness]) -> Table:
    """A row for each query of two truths that were compared."""
    columns = tuple(field.name for field in fields(Likeness))
    return Table(columns, tuple(map(asdict, found)), "How alike two truths are", key="likeness")


def places(found: Sequence[PlacedTwice]) -> Table:
    """A row for each document on which two truths differ."""
    columns = tuple(field.name for field in fields(PlacedTwice))
    note = "group 0: judged not relevant; an empty group: not in that truth"
    return Table(columns, tuple(map(asdict, found)), "Documents that differ", note, key="documents")


def neighbours(found: Mapping[str, list[Neighbours]]) -> Table:
    """A row for each pair of neighbours: how many more experts would separate them."""
    columns = ("query", "first", "second", "p", "chance", "experts", "needed", "more")
    rows = [(query, *attrgetter(*columns[1:])(pair)) for query, pairs in found.items() for pair in pairs]
    return Table.of(columns, rows, "How many more experts", key="neighbours")


# -- compare -----------------------------------------------------------------------------------------------------------
#
# How alike are two truths for the same queries? Counted in pairs of documents, query by query, and by document.


@dataclass(frozen=True)
class Likeness:
    """The likeness of one query's groups and of each pair of documents that both truths have.

    `agree`: the same (one first, the other first, or together). `looser`: only one of the truths separates them.
    `reversed`: opposite orders. The three are shares of all pairs and sum to 1; NaN where there is no pair. `only` and
    `other_only`: documents that the other truth does not have in a group. `regrouped`: documents that only one of the
    truths separates from some other. `moved`: documents that some other has passed. `tau`: Kendall's tau-b of the group
    numbers, NaN where either has one group.
    """

    query: str
    documents: int
    groups: int
    other_groups: int
    identical: bool
    agree: float
    looser: float
    reversed: float
    only: int
    other_only: int
    regrouped: int
    moved: int
    tau: float


@dataclass(frozen=True)
class PlacedTwice:
    """A document on which two truths differ: its group in each, None where it is in none.

    A group of 0: judged not relevant. `looser` and `reversed` count the documents that only one truth separates from
    it, and those that are on the other side of it.
    """

    query: str
    document: str
    group: int | None
    other_group: int | None
    looser: int
    reversed: int


def compare_truths(truth: Truth, other: Truth) -> list[Likeness]:
    """Compare query by query. A missing query, or truths without a common document, raise an error."""
    found = []
    for query, groups in truth.items():
        if query not in other:
            raise UnknownNameError("query of the other truth", query, other)
        found.append(_compare(query, groups, other[query]))
    if found and not any(each.documents for each in found):
        raise ArgumentError("the two truths have no document in common; are the ids the same?")
    return found


def placed_otherwise(truth: Truth, other: Truth) -> list[PlacedTwice]:
    """Every document that is not with, before and after the same others in both truths; queries that both have.

    The number of a group alone means little: one more boundary at the head of a list counts all later groups up.
    """
    return [each for query in truth if query in other for each in _placed(query, truth, other)]


def _compare(query: str, groups: Groups, other: Groups) -> Likeness:
    ours, theirs, shared, first, second = _both(groups, other)
    upper = np.triu_indices(len(shared), 1)
    said, other_said = first[upper], second[upper]
    pairs = len(said) or float("nan")
    agree = float(np.count_nonzero(said == other_said) / pairs)
    turned = float(np.count_nonzero(said * other_said < 0) / pairs)
    apart = float(np.sqrt(np.count_nonzero(said) * np.count_nonzero(other_said)))
    return Likeness(
        query,
        len(shared),
        len(groups),
        len(other),
        list(map(set, groups)) == list(map(set, other)),
        agree,
        1 - agree - turned,
        turned,
        len(ours) - len(shared),
        len(theirs) - len(shared),
        int(np.count_nonzero(((first == 0) != (second == 0)).any(axis=1))),
        int(np.count_nonzero((first * second < 0).any(axis=1))),
        float((said * other_said).sum() / apart) if apart else float("nan"),
    )


def _placed(query: str, truth: Truth, other: Truth) -> Iterator[PlacedTwice]:
    ours, theirs, shared, first, second = _both(truth[query], other[query])
    turned = (first * second < 0).sum(axis=1).tolist()
    looser = ((first != second).sum(axis=1) - turned).tolist()
    counts = dict(zip(shared, zip(looser, turned, strict=True), strict=True))
    for id in dict.fromkeys((*ours, *theirs)):
        looser_than, on_the_other_side = counts.get(id, (0, 0))
        if id not in counts or looser_than or on_the_other_side:
            first_group = _group(id, ours, truth.nonrelevant(query))
            second_group = _group(id, theirs, other.nonrelevant(query))
            yield PlacedTwice(query, id, first_group, second_group, looser_than, on_the_other_side)


def _group(id: str, numbers: dict[str, int], nonrelevant: tuple[str, ...] | None) -> int | None:
    return numbers.get(id, 0 if id in (nonrelevant or ()) else None)


def _both(groups: Groups, other: Groups) -> tuple[dict[str, int], dict[str, int], list[str], Numbers, Numbers]:
    """The group of each document in both truths, the n documents of both, and (n, n) their order in either.

    The order of a pair is -1 where the first is in the earlier group, 0 where both are in one, else 1.
    """
    ours, theirs = ({id: k for k, group in enumerate(each, start=1) for id in group} for each in (groups, other))
    shared = [id for id in ours if id in theirs]
    placed = [np.array([numbers[id] for id in shared], dtype=np.int64) for numbers in (ours, theirs)]
    first, second = (np.sign(each[:, None] - each) for each in placed)
    return ours, theirs, shared, first, second


# -- power -------------------------------------------------------------------------------------------------------------
#
# The number of experts that separates two neighbours of a list. Experts are drawn from those at hand, with replacement,
# a few hundred times, and tested by the method each time. The result is the smallest number, to within a tenth, with
# which the test finds the difference often enough (the power). Experts who omit candidates do so in the draws too, so
# the result counts experts, not ranks. It is an order of magnitude, and ignores the correction for many tests, which
# would need more experts.


MOST_EXPERTS = 300
_DRAWN_PANELS = 200
_TO_WITHIN = 1.1


@dataclass(frozen=True)
class Neighbours:
    """Two candidates next to each other: the p-value now, the chance of a smaller rank (ties half), and the experts.

    `experts` were asked, `needed` is how many should be. Two that differ already need no more. `needed` and `more` are
    None where not even MOST_EXPERTS like these would do, and where a single rank is no evidence for others.
    """

    first: str
    second: str
    p: float
    chance: float
    experts: int
    needed: int | None
    more: int | None


def more_experts(
    rankings: QueryRankings, method: Method | None = None, power: float = 0.8, seed: int = 2005
) -> list[Neighbours]:
    """Every pair of neighbours of a list."""
    if not 0 < power < 1:
        raise ArgumentError(f"power must be between 0 and 1; got {power!r}")
    if seed < 0:
        raise ArgumentError(f"seed must be 0 or more; got {seed}")
    method = replace(method or Method(), correction=None)
    grouped = groups_of(rankings, method)
    arranged = grouped.arranged
    above = u_statistics(arranged.ranks)
    counts = np.count_nonzero(~np.isnan(arranged.ranks), axis=0)
    asked = len(rankings.experts)
    result = []
    for k in range(len(arranged.documents) - 1):
        first, second = arranged.documents[k : k + 2]
        p = float(grouped.pvalues[k, k + 1])
        chance = 1 - float(above[k, k + 1]) / float(counts[k] * counts[k + 1])
        needed: int | None = asked if p < method.alpha else None
        if needed is None and min(counts[k : k + 2]) > 1:
            needed = _needed(arranged.ranks[:, k : k + 2], method, power, seed)
        more = None if needed is None else needed - asked
        result.append(Neighbours(first, second, p, chance, asked, needed, more))
    return result


def _needed(ranks: Floats, method: Method, power: float, seed: int) -> int | None:
    """The smallest number of experts above those at hand with this power, to within a tenth."""
    few, many = len(ranks) + 1, max(MOST_EXPERTS, 2 * len(ranks))
    if _power(ranks, many, method, seed) < power:
        return None
    while many > math.ceil(few * _TO_WITHIN):
        middle = round(math.sqrt(few * many))
        if _power(ranks, middle, method, seed) < power:
            few = middle + 1
        else:
            many = middle
    return many


def _power(ranks: Floats, experts: int, method: Method, seed: int) -> float:
    """How often this many experts, drawn from those at hand, separate the first candidate from the second."""
    drawn = np.random.default_rng(seed).integers(len(ranks), size=(_DRAWN_PANELS, experts))
    less = pairwise_less(ranks[drawn], method.test, quick=True)[:, 0, 1]
    return float(np.mean(np.minimum(1.0, method.tails * less) < method.alpha))
