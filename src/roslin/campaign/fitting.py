"""Members and weights of a fusion from truths, and how well they do on queries that they were not fitted to.

    scores = member_scores(collection, ["p3", "orio", "alignment"], truth)
    fit_weights(scores)                                 weights, one for each member
    choose_members(scores, 2)                           the best two, with equal weights
    cross_validated(scores, groups)                     average precision of each query, by weights fitted without it
    cross_validated(scores, groups, fit=lambda some: choose_members(some, 2))     by a choice made without it
    fitted_folds(scores, groups)                        the weights themselves, fold by fold

Scores are scaled as `fuse` scales them. Weights are found by trying: starting from equal ones, one member after the
other gets each weight of GRID, and keeps one that raises the mean average precision by more than GAIN, until none does.
A weight that gains less than that is noise, and equal weights are the better guess for other music. Members are chosen
by trying every set of the number asked for, with equal weights. (Adding or dropping one at a time ends worse: members
must complete each other.)

Cross-validation leaves out whole groups of queries, such as all of one composer: what was learnt from a composer's
works must not be rewarded on his others. Whatever `fit` does, choosing members too, it sees the other groups only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.errors import ArgumentError
from roslin.matchers import Matcher, matcher
from roslin.run.fusion import scaled
from roslin.truth.model import Truth
from roslin.types import Floats, Progress

Weights = tuple[float, ...]

GRID = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
GAIN = 0.0015
ROUNDS = 4
# Of each member, so many of the best are kept for a query; nothing below has a chance in the sum.
BEST_OF_MEMBER = 400


@dataclass(frozen=True, slots=True)
class QueryScores:
    """The scaled scores of each member for the documents that matter to a query, and which of them are relevant."""

    query: str
    documents: tuple[str, ...]
    scores: npt.NDArray[np.float32]
    is_relevant: npt.NDArray[np.bool_]


def member_scores(
    collection: Store,
    members: Sequence[str | Matcher],
    truth: Truth,
    progress: Progress | None = None,
) -> list[QueryScores]:
    """The scores of each member for each query of the truth that the collection has. The query itself is left out."""
    chosen = [matcher(member) for member in members]
    if not chosen:
        raise ArgumentError("there is nothing to fit: no member is given")
    ids = collection.ids()
    number = {id: place for place, id in enumerate(ids)}
    packed = collection.packed()
    queries = [query for query in truth if query in number and any(id in number for id in _relevant(truth, query))]
    found = []
    for done, query in enumerate(queries, start=1):
        rows = np.stack([scaled(each.distances(collection[query], packed)).astype(np.float32) for each in chosen])
        relevant = np.array(sorted(number[id] for id in _relevant(truth, query) if id in number))
        kept = np.zeros(len(ids), dtype=bool)
        for row in rows:
            kept[np.argpartition(-row, min(BEST_OF_MEMBER, len(row) - 1))[:BEST_OF_MEMBER]] = True
        kept[number[query]] = False
        kept[relevant] = True
        places = np.flatnonzero(kept)
        documents = tuple(ids[place] for place in places)
        found.append(QueryScores(query, documents, rows[:, places], np.isin(places, relevant)))
        if progress:
            progress(done / len(queries), "comparing")
    return found


def _relevant(truth: Truth, query: str) -> set[str]:
    return {id for group in truth[query] for id in group} - {query}


def average_precisions(scores: Sequence[QueryScores], weights: Sequence[float]) -> Floats:
    """The average precision of each query; equal scores count against the relevant document."""
    values: Floats = _precisions(scores, np.array([weights]))[0]
    return values


def _precisions(scores: Sequence[QueryScores], weights: Floats) -> Floats:
    """(rows of weights, queries) The average precision of each query, for many weights at once."""
    used = np.flatnonzero(weights.any(axis=0))
    rows = weights[:, used].astype(np.float32)
    values = np.empty((len(rows), len(scores)))
    for place, each in enumerate(scores):
        totals = rows @ each.scores[used]
        good, others = -np.sort(-totals[:, each.is_relevant], axis=1), totals[:, ~each.is_relevant]
        precision = np.zeros(len(rows))
        for found, score in enumerate(good.T, start=1):
            precision += found / (found + np.count_nonzero(others >= score[:, None], axis=1))
        values[:, place] = precision / good.shape[1]
    return values


def _fitness(scores: Sequence[QueryScores], weights: Floats) -> Floats:
    """What is raised by fitting: mean average precision, one for each row of weights."""
    means: Floats = _precisions(scores, weights).mean(axis=1)
    return means


def fit_weights(scores: Sequence[QueryScores]) -> Weights:
    """The weights with the best mean average precision that trying finds."""
    weights = np.ones(_members(scores))
    best = _fitness(scores, weights[None])[0]
    for _ in range(ROUNDS):
        before = weights
        for member in range(len(weights)):
            tried = np.repeat(weights[None], len(GRID), axis=0)
            tried[:, member] = GRID
            tried = tried[tried.any(axis=1)]
            fitness = _fitness(scores, tried)
            if fitness.max() > best + GAIN:
                best, weights = fitness.max(), tried[fitness.argmax()]
        if weights is before:
            break
    return tuple(weights.tolist())


def choose_members(scores: Sequence[QueryScores], number: int) -> Weights:
    """The best set of so many members: 1 for those chosen, 0 for the others."""
    members = _members(scores)
    if not 1 <= number <= members:
        raise ArgumentError(f"number must be from 1 to that of the members, {members}; got {number!r}")
    sets = np.array([np.isin(range(members), some) for some in combinations(range(members), number)], dtype=float)
    best = sets[_fitness(scores, sets).argmax()]
    return tuple(best.tolist())


def _members(scores: Sequence[QueryScores]) -> int:
    if not scores:
        raise ArgumentError("there is nothing to fit: no query of the truth is in the collection")
    return len(scores[0].scores)


def cross_validated(
    scores: Sequence[QueryScores],
    groups: Mapping[str, str],
    folds: int = 5,
    fit: Callable[[Sequence[QueryScores]], Weights] = fit_weights,
) -> Floats:
    """The average precision of each query, with weights that `fit` finds for queries of other groups.

    `groups` names the group of each query; groups are dealt to the folds, the largest first, to the smallest fold.
    """
    values = np.empty(len(scores))
    for inside, weights in fitted_folds(scores, groups, folds, fit):
        values[inside] = average_precisions([scores[place] for place in inside], weights)
    return values


def fitted_folds(
    scores: Sequence[QueryScores],
    groups: Mapping[str, str],
    folds: int = 5,
    fit: Callable[[Sequence[QueryScores]], Weights] = fit_weights,
) -> list[tuple[list[int], Weights]]:
    """For each fold, the places of its queries and the weights that `fit` finds for the queries of all other folds."""
    names = [groups[each.query] for each in scores]
    sizes = {name: names.count(name) for name in dict.fromkeys(names)}
    if not 2 <= folds <= len(sizes):
        raise ArgumentError(f"folds must be from 2 to the number of groups, {len(sizes)}; got {folds!r}")
    fold_of: dict[str, int] = {}
    filled = [0] * folds
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        fold_of[name] = filled.index(min(filled))
        filled[fold_of[name]] += sizes[name]
    found = []
    for fold in range(folds):
        inside = [place for place, name in enumerate(names) if fold_of[name] == fold]
        left = set(inside)
        found.append((inside, fit([each for place, each in enumerate(scores) if place not in left])))
    return found
