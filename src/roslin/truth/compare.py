"""How alike are two truths for the same queries? Counted in pairs of documents, query by query, and by document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.model import Groups, Truth

__all__ = ["Likeness", "PlacedTwice", "compare_truths", "placed_otherwise"]


@dataclass(frozen=True)
class Likeness:
    """One query: are the groups the same, and what do the two say of each pair of documents that both have?

    `agree`: the same (one first, the other first, or together). `looser`: only one of the truths tells them apart.
    `reversed`: opposite orders. The three are shares of all pairs and sum to 1; NaN where there is no pair.
    `only` and `other_only`: documents that the other truth does not have in a group. `regrouped`: documents that only
    one of the truths tells apart from some other. `moved`: documents that some other has passed. `tau`: Kendall's
    tau-b of the group numbers, NaN where either has one group.
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
    """A document of which two truths do not say the same: its group in each, None where it is in none.

    A group of 0: judged not relevant. `looser` and `reversed` count the documents that only one truth tells apart from
    it, and those that are on the other side of it.
    """

    query: str
    document: str
    group: int | None
    other_group: int | None
    looser: int
    reversed: int


def compare_truths(truth: Truth, other: Truth) -> list[Likeness]:
    """Compare query by query; a query that the other truth lacks is an error, and so is no document in common."""
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

    The number of a group alone says little: a line more at the head of a list counts all later groups up.
    """
    return [each for query in truth if query in other for each in _placed(query, truth, other)]


def _compare(query: str, groups: Groups, other: Groups) -> Likeness:
    ours, theirs = _numbers(groups), _numbers(other)
    shared = [id for id in ours if id in theirs]
    first, second = _orders(ours, shared), _orders(theirs, shared)
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
    ours, theirs = _numbers(truth[query]), _numbers(other[query])
    shared = [id for id in ours if id in theirs]
    first, second = _orders(ours, shared), _orders(theirs, shared)
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


def _orders(numbers: dict[str, int], documents: list[str]) -> npt.NDArray[np.int64]:
    """(n, n) For each pair: -1 where the first is in the earlier group, 0 where both are in one, else 1."""
    groups = np.array([numbers[id] for id in documents], dtype=np.int64)
    order: npt.NDArray[np.int64] = np.sign(groups[:, None] - groups)
    return order


def _numbers(groups: Groups) -> dict[str, int]:
    return {id: number for number, group in enumerate(groups, start=1) for id in group}
