"""How alike are two truths for the same queries? Counted in pairs of documents, query by query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.model import Groups, Truth

__all__ = ["Likeness", "compare_truths"]


@dataclass(frozen=True)
class Likeness:
    """One query: are the groups the same, and what do the two say of each pair of documents that both have?

    `agree`: the same (one first, the other first, or together). `looser`: only one of the truths tells them apart.
    `reversed`: opposite orders. The three are shares of all pairs and sum to 1; NaN where there is no pair.
    """

    query: str
    documents: int
    groups: int
    other_groups: int
    identical: bool
    agree: float
    looser: float
    reversed: float


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


def _compare(query: str, groups: Groups, other: Groups) -> Likeness:
    ours, theirs = (_numbers(each) for each in (groups, other))
    shared = sorted(set(ours) & set(theirs))
    rows, columns = np.triu_indices(len(shared), 1)
    first, second = (
        np.sign(np.array([numbers[id] for id in shared])[rows] - np.array([numbers[id] for id in shared])[columns])
        if len(shared) > 1
        else np.zeros(0)
        for numbers in (ours, theirs)
    )
    pairs = len(first) or float("nan")
    agree, turned = (float(np.count_nonzero(flags) / pairs) for flags in (first == second, first * second < 0))
    identical = list(map(set, groups)) == list(map(set, other))
    return Likeness(query, len(shared), len(groups), len(other), identical, agree, 1 - agree - turned, turned)


def _numbers(groups: Groups) -> dict[str, int]:
    return {id: number for number, group in enumerate(groups) for id in group}
