"""Several rankings of one query put together into one: what the matcher `fuse` does with its members, and
`roslin runs fuse` with files.

Numbers of different systems cannot be added as they are. They are brought to one scale first, list by list, so that the
best has the largest:

    "zscore"   (mean - distance) / standard deviation
    "minmax"   (largest - distance) / (largest - least): from 0 to 1
    "rank"     1 - (rank - 1) / length: from 1 down
    "none"     as they are (a distance d as -d)

and are put together (E. A. Fox and J. A. Shaw, TREC-2, 1994; G. V. Cormack, C. L. A. Clarke and S. Buettcher, 2009):

    "sum"      CombSUM: the weighted sum
    "mnz"      CombMNZ: that sum (of scores from 0 up), times the number of lists that have the document
    "rrf"      reciprocal ranks: the weighted sum of 1 / (60 + rank); it needs no scale

Equal numbers share the first of their ranks. A list that lacks a document gives it 0, or the least score of the list
where that is below 0: nothing is better for being missing. Tables have shape (lists, documents); NaN is a missing one.

A pool is the union of the first documents of several runs, to be judged by people (K. Sparck Jones and
C. J. van Rijsbergen, 1975). It is in the order of ids: judges do not see which run found a document, or how early.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import ArgumentError, UnknownNameError
from roslin.run.run import Ranking, Run
from roslin.types import Floats

METHODS = ("sum", "mnz", "rrf")
SCALES = ("zscore", "minmax", "rank", "none")
_RRF = 60.0


def fuse_runs(
    runs: Sequence[Run],
    method: str = "sum",
    scale: str = "zscore",
    *,
    weights: Sequence[float] = (),
    name: str | None = None,
) -> Run:
    """One run of scores from several, query by query. Documents that end up equal keep the order of the first run.

    A query that a run lacks is put together from the others, and a remark notes it.

    >>> one, other = Run({"q": {"a": 3, "b": 2, "c": 1}}), Run({"q": {"c": 9, "a": 5}})
    >>> fuse_runs([one, other], scale="minmax").values("q")
    (1.0, 1.0, 0.5)
    """
    if not runs:
        raise ArgumentError("no run is given; give at least one")
    for kind, value, known in (("method of fusion", method, METHODS), ("scale of fusion", scale, SCALES)):
        if value not in known:
            raise UnknownNameError(kind, value, known)
    counts = tuple(map(float, weights)) or (1.0,) * len(runs)
    if len(counts) != len(runs):
        raise ArgumentError(f"weights must have one number for each of {counted(len(runs), 'run')}; got {len(counts)}")
    if any(not 0 <= weight < math.inf for weight in counts) or not any(counts):
        raise ArgumentError(f"weights must be 0 or more, and one of them above 0; got {list(counts)}")
    counting = [(run, weight) for run, weight in zip(runs, counts, strict=True) if weight]
    queries = dict.fromkeys(query for run, _ in counting for query in run.queries)
    rankings = [_fused(query, counting, method, scale) for query in queries]
    remarks = [
        f"{run.name} lacks {counted(lacks, 'query', 'queries')}, put together from the other runs"
        for run, _ in counting
        if (lacks := len(queries) - len(run.queries))
    ]
    return Run(rankings, name=name or method, kind="score", remarks=remarks)


def _fused(query: str, counting: Sequence[tuple[Run, float]], method: str, scale: str) -> Ranking:
    lists = [_distances(run, query) for run, _ in counting]
    ids = list(dict.fromkeys(id for each in lists for id in each))
    table = np.array([[each.get(id, np.nan) for id in ids] for each in lists]).reshape(len(lists), len(ids))
    total = contributions(table, [weight for _, weight in counting], method, scale).sum(axis=0)
    order = np.argsort(-total, kind="stable")
    return Ranking(query, tuple(ids[k] for k in order), tuple(total[order].tolist()))


def _distances(run: Run, query: str) -> dict[str, float]:
    """The numbers of a run for a query, the least is the best; of copies the first counts."""
    ids, values = run.ranking(query), run.values(query)
    if values is None:
        values = tuple(map(float, range(1, len(ids) + 1)))
    sign = -1.0 if run.kind == "score" else 1.0
    return {id: sign * value for id, value in zip(reversed(ids), reversed(values), strict=True)}


def contributions(
    distances: Floats, weights: Sequence[float], method: str, scale: str, depth: int | None = None
) -> Floats:
    """(lists, documents) What each list adds to each document. "mnz" counts the first `depth` of a list as found."""
    weight = np.asarray(weights, dtype=np.float64)[:, None]
    is_there = ~np.isnan(distances)
    ranks = np.array([_ranks(row) for row in distances]).reshape(distances.shape) if method != "sum" else distances
    if method == "rrf":
        return np.where(is_there, weight / (_RRF + ranks), 0.0)
    scores = np.array([scaled(row, scale) for row in distances]).reshape(distances.shape)
    if method == "sum":
        return np.asarray(weight * scores)
    scores = scores - scores.min(axis=1, initial=0.0, keepdims=True)
    found = is_there if depth is None else is_there & (ranks <= depth)
    return np.asarray(weight * scores * found.sum(axis=0))


def scaled(distances: Floats, scale: str = "zscore") -> Floats:
    """Scores on a scale that systems share; larger is better. Infinite distances become the farthest finite ones."""
    is_there = ~np.isnan(distances)
    scores = np.zeros(len(distances))
    known = distances[is_there]
    finite = known[np.isfinite(known)]
    if scale == "rank":
        scores[is_there] = 1.0 - (_ranks(known) - 1.0) / max(len(known), 1)
    elif len(finite):
        scores[is_there] = _scores(np.clip(known, finite.min(), finite.max()), scale)
    scores[~is_there] = scores[is_there].min(initial=0.0)
    return scores


def _scores(distances: Floats, scale: str) -> Floats:
    if scale == "none":
        return 0.0 - distances
    spread = distances.std() if scale == "zscore" else np.ptp(distances)
    if not spread > 0:
        return np.zeros(len(distances))
    middle = float(distances.mean() if scale == "zscore" else distances.max())
    return np.asarray((middle - distances) / spread, dtype=np.float64)


def _ranks(distances: Floats) -> Floats:
    """The rank of each, from 1; equal ones share the first."""
    return 1.0 + np.searchsorted(np.sort(distances), distances, side="left").astype(np.float64)


# -- pools ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunPool:
    """For every query the documents to judge, each with the number of runs that have it and its best rank."""

    found: dict[str, dict[str, tuple[int, int]]]
    depth: int
    judged: int  # how many documents were left out because they are judged already

    @property
    def ids(self) -> dict[str, tuple[str, ...]]:
        return {query: tuple(found) for query, found in self.found.items()}

    def to_table(self) -> Table:
        """query, document, the number of runs that have it, its best rank."""
        rows = [
            {"query": query, "document": id, "runs": runs, "best": best}
            for query, found in self.found.items()
            for id, (runs, best) in found.items()
        ]
        documents = counted(len(rows), "document")
        title = f"Pool of depth {self.depth}: {counted(len(self.found), 'query', 'queries')}, {documents} to judge"
        return Table(("query", "document", "runs", "best"), tuple(rows), title, key="pool")


def pool_runs(runs: Sequence[Run], depth: int = 10, judged: Mapping[str, Container[str]] | None = None) -> RunPool:
    """The pool of several runs; what is `judged` already for a query is left out.

    >>> pool_runs([Run({"q": ["a", "b", "c"]}), Run({"q": ["d", "a", "e"]})], depth=2).ids
    {'q': ('a', 'b', 'd')}
    """
    if not runs:
        raise ArgumentError("a pool needs at least one run")
    if depth < 1:
        raise ArgumentError(f"the depth of a pool must be 1 or more; got {depth}")
    known, left_out = judged or {}, 0
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for query in dict.fromkeys(query for run in runs for query in run.queries):
        ranks: dict[str, list[int]] = {}
        for run in runs:
            for rank, id in enumerate(list(dict.fromkeys(run.ranking(query)))[:depth], start=1):
                ranks.setdefault(id, []).append(rank)
        new = [id for id in sorted(ranks) if id not in known.get(query, ())]
        left_out += len(ranks) - len(new)
        found[query] = {id: (len(ranks[id]), min(ranks[id])) for id in new}
    return RunPool(found, depth, left_out)
