"""How well do the groups of a list agree with the tests between its candidates? (Urbano et al. 2010, section 4.1)

Walk down the list. At each candidate, the pivot, a retrieval system may return everything before it and everything in
its group: the actual expansion. By the tests it should be allowed everything before it and what comes after it and does
not differ: the correct expansion. The pivot's score is the size of their intersection over that of their union (both
empty: 1), and the consistency is the mean over all pivots but the last. A list of one candidate is consistent.

With two tails everything before the pivot is correct (ADR-2). With one (ADR-1) a candidate before it whose ranks are
significantly greater is not: the list has the two in the wrong order. Two candidates differ if either one-tailed test
is significant. A correction for many tests applies to these tests as to those of the grouping. Urbano et al. divide in
an example where union and the larger of both sets are the same; GOLDEN.md, section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.display.text import counted
from roslin.errors import ArgumentError, UnknownNameError
from roslin.tolerances import RECOMPUTED
from roslin.truth.grouping import Grouped, Method, group_starts
from roslin.truth.model import Groups, Truth, arranged_order, counted_ranks
from roslin.truth.rankings import ByQuery, QueryRankings, as_rankings
from roslin.truth.ranktests import corrected_pairs, pairwise_less, two_tailed
from roslin.types import Flags, Floats

Pair = tuple[str, str]


@dataclass(frozen=True)
class Pivot:
    """One position: what the list allows and the tests do not, and what the tests allow and the list does not."""

    document: str
    score: float
    false_positives: tuple[str, ...]
    false_negatives: tuple[str, ...]


@dataclass(frozen=True)
class ListConsistency:
    """The consistency of one list, and every pair and triple that spoils it, in the order of the list.

    `intra`: in one group, but they differ. `inter`: in two groups, but they do not differ. `misplaced`: the second
    should come first (one-tailed only). `triples`: with one tail x < y and y < z, but not x < z; with two x = y and
    y = z, but x differs from z. `pairs_in_groups`: how many pairs share a group.
    """

    value: float
    pivots: tuple[Pivot, ...]
    intra: tuple[Pair, ...]
    inter: tuple[Pair, ...]
    misplaced: tuple[Pair, ...]
    triples: tuple[tuple[str, str, str], ...]
    pairs_in_groups: int


class Consistency(ByQuery[float]):
    """Maps a query to the consistency of its list. `lists` has the details, `mean` the mean over queries."""

    def __init__(self, lists: Mapping[str, ListConsistency], tails: int):
        self.lists, self.tails = dict(lists), tails
        self._of = {query: each.value for query, each in lists.items()}

    def __float__(self) -> float:
        return self.mean

    def __repr__(self) -> str:
        return f"Consistency(ADR-{self.tails}, {counted(len(self), 'query', 'queries')}, mean {self.mean:.4f})"

    @property
    def mean(self) -> float:
        """The mean over queries, NaN if there are none."""
        return float(np.mean(list(self.values()))) if self.lists else float("nan")


def list_consistency(
    truth: Truth,
    rows: Iterable[Any],
    tails: int = 1,
    alpha: float = 0.25,
    *,
    test: str = "asymptotic",
    unranked: str = "drop",
    correction: str | None = None,
) -> Consistency:
    """The consistency of each list of a truth with the rankings that it was made from."""
    method = Method(tails=tails, alpha=alpha, test=test, unranked=unranked, correction=correction)
    said = as_rankings(rows)
    lists = {}
    for query, groups in truth.items():
        if query not in said:
            raise UnknownNameError("query", query, said)
        lists[query] = query_consistency(groups, said[query], method)
    return Consistency(lists, tails)


def query_consistency(groups: Groups, said: QueryRankings, method: Method) -> ListConsistency:
    """The consistency of one list with the rankings that it was made from."""
    place = {id: k for k, id in enumerate(said.documents)}
    documents = [id for group in groups for id in group]
    for id in documents:
        if id not in place:
            raise UnknownNameError(f"document of query {said.query!r}", id, said.documents)
    ranks = counted_ranks(said.ranks, method.unranked)[:, [place[id] for id in documents]]
    less, votes = pairwise_less(ranks, method.test), np.count_nonzero(~np.isnan(ranks), axis=0)
    if method.tails == 2:
        differs = corrected_pairs(two_tailed(less), method.correction, votes) < method.alpha
        return consistency_of_groups(groups, differs)
    # Tests of "earlier before later", as the grouping does them, and of the opposite, are corrected apart.
    forth = corrected_pairs(less, method.correction, votes)
    back = corrected_pairs(less[::-1, ::-1], method.correction, votes[::-1])[::-1, ::-1]
    below = np.where(np.tri(len(documents), dtype=bool), back, forth) < method.alpha
    return consistency_of_groups(groups, below | below.T, below)


def consistency_of_groups(groups: Groups, differs: Flags, below: Flags | None = None) -> ListConsistency:
    """The consistency of a list, given what differs.

    `differs[i, j]`, shape (documents, documents) in the order of the list; `below[i, j]`, for one tail: i has
    significantly smaller ranks than j.
    """
    documents = [id for group in groups for id in group]
    size = len(documents)
    if differs.shape != (size, size):
        raise ArgumentError(f"differs must have the shape ({size}, {size}) of the list; got {differs.shape}")
    number = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    earlier = np.tri(size, k=-1, dtype=bool)  # earlier[pivot, other]
    wrong_order = below & earlier if below is not None else np.zeros_like(earlier)
    together = (number[:, None] == number) & ~np.eye(size, dtype=bool)
    actual = earlier | together
    correct = np.where(earlier, ~wrong_order, ~differs) & ~np.eye(size, dtype=bool)
    both, either = (actual & correct).sum(axis=1), (actual | correct).sum(axis=1)
    scores = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    pivots = tuple(
        Pivot(
            documents[k],
            float(scores[k]),
            _names(documents, actual[k] & ~correct[k]),
            _names(documents, correct[k] & ~actual[k]),
        )
        for k in range(size - 1)
    )
    later = earlier.T
    return ListConsistency(
        float(scores[:-1].mean()) if size > 1 else 1.0,
        pivots,
        _pairs(documents, later & together & differs),
        _pairs(documents, later & ~together & ~differs),
        _pairs(documents, wrong_order.T),
        _triples(documents, differs, below),
        int(np.count_nonzero(later & together)),
    )


def _names(documents: list[str], flags: Flags) -> tuple[str, ...]:
    return tuple(documents[k] for k in np.flatnonzero(flags))


def _pairs(documents: list[str], flags: Flags) -> tuple[Pair, ...]:
    return tuple((documents[i], documents[j]) for i, j in np.argwhere(flags))


def _triples(documents: list[str], differs: Flags, below: Flags | None) -> tuple[tuple[str, str, str], ...]:
    if below is not None:
        flags = below[:, :, None] & below[None, :, :] & ~below[:, None, :]
    else:
        same = ~differs
        flags = same[:, :, None] & same[None, :, :] & differs[:, None, :]
        flags &= np.tri(len(documents), k=-1, dtype=bool).T[:, None, :]  # each once: x before z
    places = np.argwhere(flags)
    distinct = (places[:, 0] != places[:, 1]) & (places[:, 1] != places[:, 2]) & (places[:, 0] != places[:, 2])
    return tuple((documents[x], documents[y], documents[z]) for x, y, z in places[distinct])


# -- boundaries --------------------------------------------------------------------------------------------------------
#
# The certainty of each line of a list. A list that is not noise as a whole can still have spurious lines, because at
# level 0.25 the tests find differences among equals. So each line has a separate test: each expert's ranks of the two
# neighbouring groups are shuffled, arranged and grouped again. `p` is how often a line at least as strong appears. The
# strength is the difference between the mean places of both groups among all their ranks (as for Mann-Whitney's U, so
# that a careless expert counts no more than others), over sqrt(1/a + 1/b) for groups with a and b ranks.
#
# The confidence is the chance that the line is real: that most pairs of documents, one from each group, are truly in
# this order. It is 1 / (1 + 8 p), the form of a posterior chance. The 8 comes from simulated studies and holds for all
# six functions of Urbano et al. (2010) (dev/measurements/ground-truths.md). What the confidences lack to 1 is in sum
# the expected number of spurious lines.


_ODDS = 8.0
# Tests of pairs done at once: about 20 MB.
_PAIRS_AT_ONCE = 600_000


@dataclass(frozen=True)
class Boundary:
    """A boundary of a list: it is between these two documents, the second of which begins a group.

    `position` is that of the second one, from 0.
    """

    position: int
    above: str
    below: str
    p: float

    @property
    def confidence(self) -> float:
        return confidence_of(self.p)

    @property
    def is_doubtful(self) -> bool:
        """Whether the line is more likely spurious than real."""
        return self.confidence < 0.5


def confidence_of(p: float) -> float:
    """The chance that a line is real, when shuffled ranks give one as strong in a share p of all cases.

    >>> [round(confidence_of(p), 2) for p in (0.001, 0.05, 0.125, 1)]
    [0.99, 0.71, 0.5, 0.11]
    """
    return 1 / (1 + _ODDS * p)


def spurious(lines: tuple[Boundary, ...]) -> float:
    """How many of these lines are expected to be spurious."""
    return float(sum(1 - line.confidence for line in lines))


def boundaries(grouped: Grouped, method: Method, shuffles: int = 1000, seed: int = 2005) -> tuple[Boundary, ...]:
    """Every line of a list that was grouped by this method, from the top."""
    if shuffles < 1:
        raise ArgumentError(f"shuffles must be at least 1; got {shuffles}")
    chance = np.random.default_rng(seed)
    documents = grouped.arranged.documents
    ends = (*grouped.starts, len(documents))
    found = []
    for (start, line), end in zip(pairwise(ends), ends[2:], strict=False):
        ranks = grouped.arranged.ranks[:, start:end]
        begins = np.isin(np.arange(end - start), (0, line - start))
        places = _places(ranks)
        as_strong = _strongest(places(ranks[None]), begins[None])[0] - RECOMPUTED
        size = max(1, _PAIRS_AT_ONCE // (end - start) ** 2)
        hits = 0
        for first in range(0, shuffles, size):
            lists = _arranged(_shuffled(ranks, min(size, shuffles - first), chance))
            starts = group_starts(method.pvalues(lists, quick=True) < method.alpha, method)
            hits += int(np.count_nonzero(_strongest(places(lists), starts) >= as_strong))
        found.append(Boundary(line, documents[line - 1], documents[line], (hits + 1) / (shuffles + 1)))
    return tuple(found)


def _shuffled(ranks: Floats, copies: int, chance: np.random.Generator) -> Floats:
    """(copies, experts, documents) Each expert's ranks shuffled; candidates that an expert left out stay left out."""
    missing = np.isnan(ranks)
    keys = np.where(missing, np.inf, chance.random((copies, *ranks.shape)))
    drawn = np.take_along_axis(np.broadcast_to(ranks, keys.shape), np.argsort(keys, axis=-1), axis=-1)
    places = np.broadcast_to(np.argsort(missing, axis=-1, kind="stable"), keys.shape)
    result = np.empty_like(drawn)
    np.put_along_axis(result, places, drawn, axis=-1)
    return result


def _arranged(lists: Floats) -> Floats:
    votes = np.count_nonzero(~np.isnan(lists), axis=-2)
    order = arranged_order(lists, votes, np.arange(lists.shape[-1]))
    return np.take_along_axis(lists, order[:, None, :], axis=-1)


def _places(ranks: Floats) -> Callable[[Floats], Floats]:
    """From ranks to places among all ranks given, ties at the mean of theirs. No rank has no place."""
    values, counts = np.unique(ranks[~np.isnan(ranks)], return_counts=True)
    middle = np.append(np.cumsum(counts) - (counts - 1) / 2, np.nan)
    return lambda lists: middle[np.searchsorted(values, np.where(np.isnan(lists), np.inf, lists))]


def _strongest(lists: Floats, begins: Flags) -> Floats:
    """(lists,) The strength of the strongest line of each list; minus infinity where there is no line."""
    counts = np.count_nonzero(~np.isnan(lists), axis=-2)
    number: npt.NDArray[np.int64] = np.cumsum(begins, axis=-1) - 1
    shape = len(lists), int(number.max()) + 1
    rows = np.broadcast_to(np.arange(len(lists))[:, None], number.shape)
    sizes, sums = np.zeros(shape), np.zeros(shape)
    np.add.at(sizes, (rows, number), counts)
    np.add.at(sums, (rows, number), np.nansum(lists, axis=-2))
    larger = np.maximum(sizes, 1)
    strength = np.diff(sums / larger, axis=1) / np.sqrt(1 / larger[:, 1:] + 1 / larger[:, :-1])
    strongest: Floats = np.max(np.where(sizes[:, 1:] > 0, strength, -np.inf), axis=1, initial=-np.inf)
    return strongest
