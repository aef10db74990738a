"""`fuse`: several matchers put together into one ranking.

    fuse(us, alignment, twv)                              sums of scores
    fuse(us, alignment, twv, method='rrf')                sums of 1 / (60 + rank)
    fuse(us, alignment, twv, weights=(1.0, 2.0, 0.5))     some count for more

Each member gives every candidate a distance; what no member can compare gets that member's largest. Distances of
different matchers cannot be added as they are, so they are brought to one scale, best first:

    scale = "zscore"   (mean - distance) / standard deviation, over all candidates
    scale = "minmax"   (largest - distance) / (largest - least)

and put together (E. A. Fox and J. A. Shaw, TREC-2, 1994; G. V. Cormack, C. L. A. Clarke and S. Buettcher, SIGIR 2009):

    method = "sum"     CombSUM: the weighted sum of the scaled scores
    method = "mnz"     CombMNZ: that sum (of scores from 0 up), times the number of members that rank the candidate
                       among their first `depth`
    method = "rrf"     reciprocal ranks: the weighted sum of 1 / (60 + rank); equal distances share the first of their
                       ranks

The distance of a candidate is how far its result is below the best one: it depends on which candidates there are. Our
choices: `depth` 100, where the original takes whatever a system returned; the shared rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from roslin.matchers.base import Distances, Matcher, Tell, matcher, register
from roslin.matchers.explanation import Explanation, Step, bounded
from roslin.melody import Melody
from roslin.represent.packed import Packed
from roslin.values.parameters import choice, reals, whole
from roslin.values.parameters import members as made_of

__all__ = ["SEVEN", "Fusion", "fuse", "scaled"]

_RRF = 60.0

# Seven unlike systems that find more together than any of them alone; chosen on RISM's two lists of the same work in
# different sources and on half of the titles that tune books share (docs/measurements/rism.md).
SEVEN = (
    "alignment(metric=False, rhythm=0.75, divide='mean')",
    "alignment(metric=False, rhythm=0.75, tempo='histogram', divide='mean')",
    "p3",
    "p2(tempos=(0.5, 1.0, 2.0))",
    "orio",
    "dp",
    "lcts",
)


@register
@dataclass(frozen=True, repr=False)
class Fusion(Matcher):
    """Several matchers as one."""

    name = "fuse"
    summary = "Puts the rankings of several other ways together."
    reference = "Fox & Shaw 1994; Cormack, Clarke & Buettcher 2009"

    kind = "sum"

    members: tuple[Matcher, ...] = made_of(Matcher, matcher, "fuse(dp, emd)")
    method: str = choice("sum", "mnz", "rrf", "sum")
    scale: str = choice("zscore", "minmax", "zscore")
    weights: tuple[float, ...] = reals((), least=0, at_least=0)
    depth: int = whole(100)

    def _check(self) -> None:
        if self.weights and len(self.weights) != len(self.members):
            self._refuse(f"weights must be one for each of {len(self.members)} members; got {self.weights!r}")
        if self.weights and not any(self.weights):
            self._refuse(f"one of the weights must be above 0; got {self.weights!r}")

    @property
    def is_independent(self) -> bool:
        """Scales and ranks are those of all candidates together."""
        return False

    @property
    def leading(self) -> Matcher:
        """What decides most in the heaviest member; of equals, in the first."""
        weights = self._weights
        return self.members[weights.index(max(weights))].leading

    def longest(self, query: Melody) -> int:
        """What the slowest member allows."""
        return min(member.longest(query) for member in self.members)

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        return self.distances_told(query, candidates, lambda _: None)

    def distances_told(self, query: Melody, candidates: Packed, tell: Tell) -> Distances:
        """The distances, telling how far the members are; they count as equally slow."""
        total = self._scores(query, candidates, tell).sum(axis=0)
        best: Distances = total.max(initial=-np.inf) - total
        return best

    def _explain_told(self, query: Melody, candidates: Packed, number: int, tell: Tell) -> Explanation:
        """How far each member puts the candidate behind the one that is best of all."""
        scores = self._scores(query, candidates, tell)
        behind = scores[:, int(np.argmax(scores.sum(axis=0)))] - scores[:, number]
        counted = [(member, weight) for member, weight in zip(self.members, self._weights, strict=True) if weight]
        heaviest = [weight for _, weight in counted].index(max(self._weights))
        steps = [
            Step(
                "measure",
                cost=float(cost),
                words=repr(member) if weight == 1 else f"{weight:g} times {member!r}",
                within=self.leading.explain(query, candidates, number) if place == heaviest else None,
            )
            for place, ((member, weight), cost) in enumerate(zip(counted, behind, strict=True))
        ]
        return self._explanation(query, candidates, number, 0.0, bounded(0.0, steps))

    @property
    def _weights(self) -> tuple[float, ...]:
        return self.weights or (1.0,) * len(self.members)

    def _scores(self, query: Melody, candidates: Packed, tell: Tell) -> Distances:
        """What each member with a weight gives each candidate."""
        rows, ranked, count = [], np.zeros(len(candidates)), len(self.members)
        for number, (member, weight) in enumerate(zip(self.members, self._weights, strict=True)):
            if not weight:
                continue
            distances = member.distances_told(query, candidates, partial(_tell_share, tell, number, count))
            if self.method == "rrf":
                rows.append(weight / (_RRF + _ranks(distances)))
                continue
            scores = scaled(distances, self.scale)
            if self.method == "mnz":
                scores = scores - scores.min(initial=0.0)
                ranked += _ranks(distances) <= self.depth
            rows.append(weight * scores)
        table: Distances = np.array(rows)
        return table * ranked if self.method == "mnz" else table


def fuse(*members: str | Matcher, **parameters: Any) -> Fusion:
    """Several matchers as one.

    >>> fuse("dp", "emd", weights=(2, 1))
    fuse(dp, emd, weights=(2.0, 1.0))
    """
    return Fusion(tuple(matcher(member) for member in members), **parameters)


def scaled(distances: Distances, scale: str = "zscore") -> Distances:
    """Distances as scores on a scale that different matchers share; larger is better."""
    finite = np.isfinite(distances)
    if not finite.any():
        return np.zeros(len(distances))
    filled = np.where(finite, distances, distances[finite].max())
    spread = filled.std() if scale == "zscore" else np.ptp(filled)
    if not spread > 0:
        return np.zeros(len(distances))
    middle = float(filled.mean() if scale == "zscore" else filled.max())
    return np.asarray((middle - filled) / spread, dtype=np.float64)


def _tell_share(tell: Tell, number: int, count: int, done: float) -> None:
    """Tell how far all are, from how far the member with this number is."""
    tell((number + done) / count)


def _ranks(distances: Distances) -> Distances:
    """The rank of each, from 1; equal ones share the first."""
    return 1.0 + np.searchsorted(np.sort(distances), distances, side="left").astype(np.float64)
