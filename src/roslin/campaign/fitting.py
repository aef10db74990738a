"""Weights of a fusion from a truth, and how well they do on queries that they were not fitted to.

    scores = member_scores(collection, ["p3", "orio", "alignment"], truth)
    fit_weights(scores)                 one weight for each member
    cross_validated(scores, groups)     average precision of each query, by weights fitted without its group
    fitted_folds(scores, groups)        the weights of each fold

Scores are scaled as `fuse` scales them. Weights are found by trial: starting from equal weights, each member in turn
gets every weight of GRID, and keeps one that raises the mean average precision by more than GAIN, until none does. A
smaller gain is noise, and equal weights are the better guess for other music.

Cross-validation leaves out whole groups of queries, such as all of one composer: what was learnt from a composer's
works must not be rewarded on the composer's other works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
# Best results per member and query that are kept: results below these have no chance in the sum.
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
        raise ArgumentError("no matcher is given to fit; give at least one")
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


def fit_weights(scores: Sequence[QueryScores]) -> Weights:
    """The weights with the best mean average precision that trying finds."""
    if not scores:
        raise ArgumentError("there is nothing to fit: no query of the truth is in the collection")
    weights = np.ones(len(scores[0].scores))
    best = _precisions(scores, weights[None]).mean()
    for _ in range(ROUNDS):
        before = weights
        for member in range(len(weights)):
            tried = np.repeat(weights[None], len(GRID), axis=0)
            tried[:, member] = GRID
            tried = tried[tried.any(axis=1)]
            fitness = _precisions(scores, tried).mean(axis=1)
            if fitness.max() > best + GAIN:
                best, weights = fitness.max(), tried[fitness.argmax()]
        if weights is before:
            break
    return tuple(weights.tolist())


def cross_validated(
    scores: Sequence[QueryScores],
    groups: Mapping[str, str],
    folds: int = 5,
    fit: Callable[[Sequence[QueryScores]], Weights] = fit_weights,
) -> Floats:
    """The average precision of each query, with weights that `fit` finds for queries of other groups.

    `groups` names the group of each query. Groups are dealt to the folds, the largest first, to the smallest fold.
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
