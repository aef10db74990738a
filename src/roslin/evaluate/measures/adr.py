"""Average Dynamic Recall and its family (Typke et al. 2006, sections 3 and 4; Typke et al. 2007, section 4).

A truth is a list of groups, n documents in all. The user who has seen i results should have seen the first i documents
of the truth; because the order inside a group is not known, every document of the groups up to the one that holds the
i-th counts. Dynamic recall r_i is the share of the first i ranks that hold such a document; ADR is the mean of
r_1 ... r_n. It is 1 for every list that keeps the order of the groups and has nothing else in between.

Ties: i r_i is a sum over hits, each counting from its rank on, but not before its group is due. So
  E[r_i] = 1/i sum P(rank <= i)      over the hits whose group begins before rank i
and ADR and NRGB are means of that. Two hits of one tie, both in scope, are in the wrong order in half of all cases, so
their inversion counts 1/2 P(both in scope), with P = m (m - 1) / (n (n - 1)) for m places in scope of n.

Secondary keys, for lists with the same ADR: `adr_tie_break` is the published one, `inversions` counts pairs in the
wrong order. Only the second is sound; docs/concepts/measures/adr.md has the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from roslin.errors import ArgumentError
from roslin.evaluate.measures.base import Measure, count, hits_of_one, register
from roslin.evaluate.rankings import Hits, RankedIds, in_order, judged
from roslin.truth.model import check_groups
from roslin.types import Floats, Numbers
from roslin.values.parameters import choice, whole


def average_dynamic_recall(
    groups: Sequence[Sequence[Hashable]], ranking: RankedIds, k: int | None = None, *, query: Hashable | None = None
) -> float:
    """ADR of one query, between 0 and 1; with k, the mean over the first k ranks (Typke et al. 2007, Table 3).

    >>> average_dynamic_recall([[1, 2], [3, 4, 5]], [2, 3, 1, 5, 7, 8, 9, 4])
    0.86
    """
    return ADR(k=k)(groups, ranking, query=query)


def dynamic_recall(
    groups: Sequence[Sequence[Hashable]], ranking: RankedIds, k: int | None = None, *, query: Hashable | None = None
) -> Floats:
    """The curve r_1 ... r_n (or r_k): the share of the first i ranks that have a document due by rank i.

    >>> dynamic_recall([[1, 2], [3, 4, 5]], [2, 3, 1, 5, 7, 8, 9, 4]).tolist()
    [1.0, 0.5, 1.0, 1.0, 0.8]
    """
    hits = hits_of_one(groups, ranking, query=query)
    return _curves(hits, ADR(k=k).limits(hits))


@register
class ADR(Measure):
    """Mean dynamic recall.

    A list shorter than the truth is padded: a missing rank finds nothing. `short='cut'` divides by the length of the
    list instead, as nFire did in 2012; that rewards short lists, and is there to compare with old numbers.
    """

    name = "ADR"
    summary = "Average dynamic recall: how far the list keeps the order of the groups."
    reference = "Typke, Veltkamp & Wiering 2006, section 3"
    exact_in_ties = True

    short: str = choice("pad", "pad", "cut")
    k: int | None = whole(None)

    def limits(self, hits: Hits) -> Numbers:
        """(Q,) Over how many ranks the mean goes."""
        limit = hits.relevant if self.k is None else np.full(len(hits), self.k)
        return np.minimum(limit, hits.depth) if self.short == "cut" else limit

    def _values(self, hits: Hits) -> Floats:
        limit = self.limits(hits)
        # Beyond the list and the truth nothing more is found: there the curve is a number divided by the rank.
        inside = np.minimum(limit, np.maximum(hits.depth, hits.relevant))
        of_query = np.repeat(np.arange(len(hits)), inside)
        total = np.bincount(of_query, _curves(hits, inside), minlength=len(hits))
        if (inside < limit).any():
            harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, limit.max() + 1))])
            total += hits.per_query() * (harmonic[limit] - harmonic[inside])
        return np.asarray(total / np.maximum(limit, 1), dtype=np.float64)


def _curves(hits: Hits, limit: Numbers) -> Floats:
    """Dynamic recall of all queries one after the other, `limit` ranks each."""
    offset = np.concatenate([[0], np.cumsum(limit)])
    start = hits.group_start[hits.group]
    # All ranks that a hit may have, as far as they are in scope: one, or those of its tie, each as likely.
    ranks = np.clip(limit[hits.query] - hits.before, 0, hits.tied)
    hit = np.repeat(np.arange(len(ranks)), ranks)
    rank = hits.before[hit] + 1 + np.arange(len(hit)) - (np.cumsum(ranks) - ranks)[hit]
    # A hit counts from its own rank on, but not before its group does.
    counts_from = np.maximum(rank, start[hit] + 1)
    in_scope = counts_from <= limit[hits.query[hit]]
    slot = (offset[hits.query[hit]] + counts_from - 1)[in_scope]
    weights = 1.0 / hits.tied[hit][in_scope] if hits.has_ties else None
    found = np.cumsum(np.bincount(slot, weights, minlength=int(offset[-1])))
    before = np.concatenate([[0], found])[offset[:-1]]
    rank = np.arange(1, offset[-1] + 1) - np.repeat(offset[:-1], limit)
    return np.asarray((found - np.repeat(before, limit)) / rank, dtype=np.float64)


@register
class NRGB(Measure):
    """Recall where a group ends, among the groups so far, averaged over the groups of the truth."""

    name = "NRGB"
    summary = "Normalised recall at group boundaries: dynamic recall where a group ends, averaged."
    reference = "MIREX 2005, symbolic melodic similarity"
    exact_in_ties = True

    def _values(self, hits: Hits) -> Floats:
        end = hits.group_start + hits.group_size
        groups = np.diff(hits.group_offset)
        of_query = np.repeat(np.arange(len(hits)), groups)
        limit = hits.relevant
        offset = np.concatenate([[0], np.cumsum(limit)])
        at_end = _curves(hits, limit)[offset[of_query] + end - 1]
        total = np.bincount(of_query, at_end, minlength=len(hits))
        return np.asarray(total / np.maximum(groups, 1), dtype=np.float64)


def normalised_recall_at_group_boundaries(
    groups: Sequence[Sequence[Hashable]], ranking: RankedIds, *, query: Hashable | None = None
) -> float:
    """NRGB of one query.

    >>> normalised_recall_at_group_boundaries([[1, 2], [3, 4, 5]], [2, 3, 1, 5, 7])
    0.65
    """
    return NRGB()(groups, ranking, query=query)


@register
class Inversions(Measure):
    """Pairs of found documents in the wrong order, among the ranks that ADR looks at; not those inside a group."""

    name = "Inversions"
    summary = "Pairs of found documents that stand in the wrong order: breaks ties of ADR soundly."
    reference = "Typke, Veltkamp & Wiering 2006, section 4, corrected"
    largest = math.inf
    larger_is_better = False
    rewards_silence = True
    monotone = False
    exact_in_ties = True

    k: int | None = whole(None)

    def _values(self, hits: Hits) -> Floats:
        limit = ADR(k=self.k).limits(hits)
        first = np.searchsorted(hits.query, np.arange(len(hits) + 1))
        parts = (slice(first[q], first[q + 1]) for q in range(len(hits)))
        counts = [
            _inverted(hits.group[own], hits.before[own], hits.tied[own], int(k))
            for own, k in zip(parts, limit, strict=True)
        ]
        return np.array(counts, dtype=np.float64)


def _inverted(group: Numbers, before: Numbers, tied: Numbers, k: int) -> float:
    """Pairs (a before b) with a in a later group than b, both among the first k; or how many are to be expected."""
    places = np.clip(k - before, 0, tied)
    # Of two ties the first is in scope as a whole wherever the second is in part.
    apart = (before[:, None] < before[None, :]) * (places / tied)[None, :]
    together = (before[:, None] == before[None, :]) * (places * (places - 1) / np.maximum(tied * (tied - 1), 1)) / 2
    return float(((group[:, None] > group[None, :]) * (apart + together)).sum())


def inversions(
    groups: Sequence[Sequence[Hashable]], ranking: RankedIds, k: int | None = None, *, query: Hashable | None = None
) -> float:
    """The number of pairs of found documents in the wrong order. Of two lists with equal ADR, fewer is better.

    >>> inversions([[1], [2], [3], [4]], [4, 3, 5, 6]), inversions([[1], [2], [3], [4]], [3, 4, 5, 6])
    (1, 0)
    """
    return count(Inversions(k=k)(groups, ranking, query=query))


def adr_tie_break(groups: Sequence[Sequence[Hashable]], ranking: RankedIds, *, query: Hashable | None = None) -> float:
    """The published tie-break: ADR of a constructed list against the inverted truth. The lower value is better.

    Documents before or after the ranks of their group stay. Every other document is replaced by one of the first group.
    The papers leave open which one (here: the first one of the truth), and which value is better (here: as in their
    example). It often prefers the worse list. Use `inversions` instead, except to compare with the papers.

    >>> adr_tie_break([[1], [2], [3], [4]], [4, 3, 5, 6]), adr_tie_break([[1], [2], [3], [4]], [3, 4, 5, 6])
    (0.8541666666666666, 0.6041666666666666)
    """
    checked: Sequence[Sequence[Any]] = check_groups(groups)  # type: ignore[arg-type]  # ids may be any values
    span = {}
    start = 0
    for group in checked:
        span.update(dict.fromkeys(group, (start, start + len(group))))
        start += len(group)
    if not start:
        return average_dynamic_recall(checked, ranking)
    built = []
    for rank, (id, _) in enumerate(_kept(checked, ranking, query)[:start], start=1):
        begins, ends = span.get(id, (0, start))
        is_misplaced = id in span and not begins < rank <= ends
        built.append(id if is_misplaced else checked[0][0])
    return average_dynamic_recall(checked[::-1], built)


def _kept(
    groups: Sequence[Sequence[Hashable]],
    ranking: RankedIds,
    query: Hashable | None,
    scores: Sequence[float] | None = None,
) -> list[tuple[Any, float | None]]:
    """The ids that count, best first, each with its score where there is one."""
    ids = in_order(ranking, query)
    if isinstance(ranking, Mapping):
        scores = [float(ranking[id]) for id in ids]
    if scores is not None and len(scores) != len(ids):
        raise ArgumentError(f"{len(scores)} scores for {len(ids)} ids")
    itself = judged(groups, query=query).taken_out
    beside: Sequence[float | None] = [None] * len(ids) if scores is None else scores
    return [(id, score) for id, score in zip(ids, beside, strict=True) if itself is None or id != itself]


@dataclass(frozen=True, slots=True)
class RecallStep:
    """One row of Table 3 of Typke et al. (2007): the document at a rank, and the worth of the list up to it."""

    rank: int
    document: Hashable
    group: int | None
    found: int
    recall: float
    adr: float
    score: float | None = None


def steps(
    groups: Sequence[Sequence[Hashable]],
    ranking: RankedIds,
    *,
    query: Hashable | None = None,
    scores: Sequence[float] | None = None,
) -> list[RecallStep]:
    """The calculation of ADR row by row: over all ranks of the list, and at least n, the size of the truth.

    The row of rank n has the ADR of the query. `group` counts from 1, and is None for a document in no group. After the
    end of the list the document is None. `scores` are those of a list of ids. An empty truth has no steps.

    >>> [(step.document, step.found, step.adr) for step in steps([[1], [2]], [1, 9, 2])]
    [(1, 1, 1.0), (9, 1, 0.75), (2, 2, 0.7222222222222222)]
    """
    checked: Sequence[Sequence[Any]] = check_groups(groups)  # type: ignore[arg-type]  # ids may be any values
    number = {id: position for position, group in enumerate(checked, start=1) for id in group}
    if not number:
        return []
    rows = _kept(checked, ranking, query, scores)
    ids = [id for id, _ in rows]
    rows += [(None, None)] * (len(number) - len(rows))
    recalls = _curves(hits_of_one(checked, ids), np.array([len(rows)]))
    ranks = np.arange(1, len(rows) + 1)
    means = np.cumsum(recalls) / ranks
    found = np.rint(recalls * ranks)
    return [
        RecallStep(rank, id, number.get(id), int(so_far), recall, mean, score)
        for rank, (id, score), so_far, recall, mean in zip(
            ranks.tolist(), rows, found, recalls.tolist(), means.tolist(), strict=True
        )
    ]
