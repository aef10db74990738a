"""How sure is each line of a list? The ranks of two neighbouring groups, shuffled as if there were no line.

`null` says whether a whole list could be noise. A list with three true groups is not, and yet an eager function draws
lines inside them: at level 0.25 the tests find something among equals. So every line is asked for itself: each expert's
ranks of the documents of both groups are dealt out anew among those that this expert ranked, and arranged and grouped
again. `p` is how often a line at least as strong appears. For its strength all ranks of both groups are put in one
order, as for Mann-Whitney's U, so that a careless expert counts no more than others: it is the difference between the
mean places of the two groups, over sqrt(1/a + 1/b) for groups with a and b ranks.

The confidence is the chance that the line is real: that of all pairs of documents, one from each of its groups, most
are truly in that order. It is 1 / (1 + 8 p). The form is that of a posterior chance; the 8 comes from simulated
studies, and holds for all six functions of paper 004 (`tools/calibrate_boundaries.py` shows how well). The sum of what
the confidences lack is the expected number of spurious lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.truth.arrangement import arranged_order
from roslin.truth.grouping import Flags, Grouped, Method, group_starts
from roslin.truth.rankings import Floats

__all__ = ["Boundary", "boundaries", "confidence_of", "spurious"]

_ODDS = 8.0
_ROUNDING = 1e-9
# Tests of pairs done at once: about 20 MB.
_AT_ONCE = 600_000


@dataclass(frozen=True)
class Boundary:
    """A line of a list: it stands between these two documents, the second of which begins a group.

    `position` is that of the second one, from 0.
    """

    position: int
    above: str
    below: str
    p: float

    @property
    def confidence(self) -> float:
        """The chance that the line is real."""
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
        as_strong = _strongest(places(ranks[None]), begins[None])[0] - _ROUNDING
        size = max(1, _AT_ONCE // (end - start) ** 2)
        hits = 0
        for first in range(0, shuffles, size):
            lists = _arranged(_shuffled(ranks, min(size, shuffles - first), chance))
            starts = group_starts(method.pvalues(lists, quick=True) < method.alpha, method)
            hits += int(np.count_nonzero(_strongest(places(lists), starts) >= as_strong))
        found.append(Boundary(line, documents[line - 1], documents[line], (hits + 1) / (shuffles + 1)))
    return tuple(found)


def _shuffled(ranks: Floats, copies: int, chance: np.random.Generator) -> Floats:
    """(copies, experts, documents) Each expert's ranks dealt out anew; what an expert left out stays left out."""
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
    """From ranks to places among all ranks given, ties at the mean of theirs; no rank has no place."""
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
