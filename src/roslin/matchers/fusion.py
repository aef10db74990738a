"""`fuse`: several matchers put together into one ranking.

    fuse(us, alignment, twv)                              sums of scores
    fuse(us, alignment, twv, method='rrf')                sums of 1 / (60 + rank)
    fuse(us, alignment, twv, weights=(1.0, 2.0, 0.5))     some count for more

Each member gives every candidate a distance; what no member can compare gets that member's largest. Distances of
different matchers cannot be added as they are, so they are brought to one scale, "zscore" or "minmax", and put together
by a method, "sum", "mnz" or "rrf". `roslin.run.fusion` describes these and combines run files by the same arithmetic.
For "mnz" a member has found what it ranks among its first `depth`.

The distance of a candidate is how far its result is below the best one: it depends on which candidates there are. Our
choices: `depth` 100, where the original takes whatever a system returned; the shared rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from roslin.display.words import N_, _
from roslin.matchers.base import Matcher, Tell, matcher, register
from roslin.matchers.explanation import Explanation, Step, bounded
from roslin.melody import Melody
from roslin.represent.packed import Packed
from roslin.run.fusion import contributions
from roslin.types import Distances
from roslin.values.parameters import choice, reals, whole
from roslin.values.parameters import members as made_of

# Seven unlike systems that find more together than any of them alone; chosen on RISM's two lists of the same work in
# different sources and on half of the titles that tune books share (dev/measurements/rism.md).
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
    summary = N_("Combines the rankings of several other matchers.")
    reference = "Fox & Shaw 1994; Cormack, Clarke & Buettcher 2009"

    kind = "sum"
    is_independent = False

    members: tuple[Matcher, ...] = made_of(Matcher, matcher, "fuse(dp, emd)")
    method: str = choice("sum", "mnz", "rrf", "sum")
    scale: str = choice("zscore", "minmax", "zscore")
    weights: tuple[float, ...] = reals((), least=0, at_least=0)
    depth: int = whole(100)

    def _check(self) -> None:
        if self.weights and len(self.weights) != len(self.members):
            self._refuse(f"weights must have one number for each of {len(self.members)} members; got {self.weights!r}")
        if self.weights and not any(self.weights):
            self._refuse(f"one of the weights must be above 0; got {self.weights!r}")

    @property
    def leading(self) -> Matcher:
        """The part with the largest weight in the heaviest member, or in the first of equals."""
        weights = self._weights
        return self.members[weights.index(max(weights))].leading

    def longest(self, query: Melody) -> int:
        return min(member.longest(query) for member in self.members)

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        return self.distances_told(query, candidates, lambda _: None)

    def distances_told(self, query: Melody, candidates: Packed, tell: Tell) -> Distances:
        """The distances, with progress: the members count as equally slow."""
        total = self._scores(query, candidates, tell).sum(axis=0)
        return np.asarray(total.max(initial=-np.inf) - total)

    def _explain_told(self, query: Melody, candidates: Packed, number: int, tell: Tell) -> Explanation:
        """How far each member puts the candidate behind the one that is best of all."""
        scores = self._scores(query, candidates, tell)
        behind = scores[:, int(np.argmax(scores.sum(axis=0)))] - scores[:, number]
        counted = [(member, weight) for member, weight in zip(self.members, self._weights, strict=True) if weight]
        heaviest = [weight for _member, weight in counted].index(max(self._weights))
        steps = [
            Step(
                "measure",
                cost=float(cost),
                words=repr(member)
                if weight == 1
                else _("{weight} times {matcher}").format(weight=f"{weight:g}", matcher=repr(member)),
                within=self.leading.explain(query, candidates, number) if place == heaviest else None,
            )
            for place, ((member, weight), cost) in enumerate(zip(counted, behind, strict=True))
        ]
        return self._explanation(query, candidates, number, 0.0, bounded(0.0, steps))

    @property
    def _weights(self) -> tuple[float, ...]:
        return self.weights or (1.0,) * len(self.members)

    def _scores(self, query: Melody, candidates: Packed, tell: Tell) -> Distances:
        rows, weights, count = [], [], len(self.members)
        for number, (member, weight) in enumerate(zip(self.members, self._weights, strict=True)):
            if weight:
                rows.append(member.distances_told(query, candidates, partial(_tell_share, tell, number, count)))
                weights.append(weight)
        return contributions(np.array(rows), weights, self.method, self.scale, self.depth)


def fuse(*members: str | Matcher, **parameters: Any) -> Fusion:
    """Several matchers as one.

    >>> fuse("dp", "emd", weights=(2, 1))
    fuse(dp, emd, weights=(2.0, 1.0))
    """
    return Fusion(tuple(matcher(member) for member in members), **parameters)


def _tell_share(tell: Tell, number: int, count: int, done: float) -> None:
    tell((number + done) / count)
