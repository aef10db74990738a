"""Weights of a fusion from a truth, and how well they do on queries that they were not fitted to.

    scores = member_scores(collection, ["p3", "orio", "alignment"], truth)
    fit_weights(scores)                                 weights, one for each member
    cross_validated(scores, groups)                     average precision of each query, by weights fitted without it

Scores are scaled as `fuse` scales them. Weights are found by trying: starting from equal ones, one member after the
other gets each weight of GRID, and keeps one that raises the mean average precision by more than GAIN, until none does.
A weight that gains less than that is noise, and equal weights are the better guess for other music.

Cross-validation leaves out whole groups of queries, such as all of one composer: what was learnt from a composer's
works must not be rewarded on his others. Documents that the truth says nothing about, such as a query's copies in a
truth of variants, can be left out (`left_out`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.errors import ArgumentError
from roslin.matchers import Matcher, matcher
from roslin.matchers.fusion import scaled
from roslin.truth.model import Truth

__all__ = ["QueryScores", "average_precisions", "cross_validated", "fit_weights", "left_out", "member_scores"]

Floats = npt.NDArray[np.float64]
Progress = Callable[[float, str], None]

GRID = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
GAIN = 0.0015
ROUNDS = 4
# Of each member, so many of the best are kept for a query; nothing below has a chance in the sum.
DEPTH = 400


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
    """What each member says about each query of the truth that the collection has. The query itself is left out."""
    chosen = [matcher(member) for member in members]
    if not chosen:
        raise ArgumentError("there is nothing to fit: name at least one matcher")
    ids = collection.ids()
    number = {id: place for place, id in enumerate(ids)}
    packed = collection.packed()
    queries = [query for query in truth if query in number and any(id in number for id in _relevant(truth, query))]
    found = []
    for done, query in enumerate(queries, start=1):
        melody = collection[query]
        rows = np.stack([scaled(each.distances(melody, packed)).astype(np.float32) for each in chosen])
        relevant = np.array(sorted(number[id] for id in _relevant(truth, query) if id in number))
        kept = np.zeros(len(ids), dtype=bool)
        for row in rows:
            kept[np.argpartition(-row, min(DEPTH, len(row) - 1))[:DEPTH]] = True
        kept[number[query]] = False
        kept[relevant] = True
        places = np.flatnonzero(kept)
        documents = tuple(ids[place] for place in places)
        found.append(QueryScores(query, documents, rows[:, places], np.isin(places, relevant)))
        if progress:
            progress(done / len(queries), "comparing")
    return found


def left_out(scores: Sequence[QueryScores], without: Mapping[str, Iterable[str]]) -> list[QueryScores]:
    """The same without these documents of a query, unless they are relevant."""
    fewer = []
    for each in scores:
        unwanted = set(without.get(each.query, ()))
        kept = each.is_relevant | np.array([document not in unwanted for document in each.documents])
        documents = tuple(document for document, is_kept in zip(each.documents, kept, strict=True) if is_kept)
        fewer.append(QueryScores(each.query, documents, each.scores[:, kept], each.is_relevant[kept]))
    return fewer


def _relevant(truth: Truth, query: str) -> set[str]:
    return {id for group in truth[query] for id in group} - {query}


def average_precisions(scores: Sequence[QueryScores], weights: Sequence[float]) -> Floats:
    """The average precision of each query; equal scores count against the relevant document."""
    weight = np.asarray(weights, dtype=np.float32)
    values = np.empty(len(scores))
    for place, each in enumerate(scores):
        total = weight @ each.scores
        good, others = np.sort(-total[each.is_relevant]), np.sort(-total[~each.is_relevant])
        before = np.searchsorted(others, good, side="right")
        found = np.arange(1, len(good) + 1)
        values[place] = np.mean(found / (found + before))
    return values


def fit_weights(scores: Sequence[QueryScores]) -> tuple[float, ...]:
    """The weights with the best mean average precision that trying finds."""
    if not scores:
        raise ArgumentError("there is nothing to fit: no query of the truth is in the collection")
    weights = np.ones(len(scores[0].scores))
    best = average_precisions(scores, weights.tolist()).mean()
    for _ in range(ROUNDS):
        before = weights.copy()
        for member in range(len(weights)):
            for value in GRID:
                tried = weights.copy()
                tried[member] = value
                if tried.any() and (mean := average_precisions(scores, tried.tolist()).mean()) > best + GAIN:
                    best, weights = mean, tried
        if (weights == before).all():
            break
    return tuple(float(weight) for weight in weights)


def cross_validated(scores: Sequence[QueryScores], groups: Mapping[str, str], folds: int = 5) -> Floats:
    """The average precision of each query, with weights fitted on queries of other groups.

    `groups` names the group of each query; groups are dealt to the folds, the largest first, to the smallest fold.
    """
    names = [groups[each.query] for each in scores]
    sizes = {name: names.count(name) for name in dict.fromkeys(names)}
    if not 2 <= folds <= len(sizes):
        raise ArgumentError(f"folds must be from 2 to the number of groups, {len(sizes)}; got {folds!r}")
    fold_of: dict[str, int] = {}
    filled = [0] * folds
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        fold_of[name] = filled.index(min(filled))
        filled[fold_of[name]] += sizes[name]
    values = np.empty(len(scores))
    for fold in range(folds):
        inside = [place for place, name in enumerate(names) if fold_of[name] == fold]
        weights = fit_weights([each for place, each in enumerate(scores) if place not in set(inside)])
        values[inside] = average_precisions([scores[place] for place in inside], weights)
    return values
