"""What the matchers by transportation distance share: they are settings of `transport.align`, with its parameters."""

from __future__ import annotations

from dataclasses import dataclass

from roslin.errors import MelodyError
from roslin.matchers.base import Matcher
from roslin.represent.packed import Candidates
from roslin.represent.points import PointSets, point_sets
from roslin.transport.align import Setting


@dataclass(frozen=True, repr=False)
class Transport(Matcher, Setting):
    """A matcher that moves weight between point sets. `transport.align` says what the parameters mean."""

    pairs_at_once = 20_000
    pairs_explained = 20_000  # beyond that, moving weight would take seconds for one result
    kind = "transport"

    def points(self, melodies: Candidates) -> PointSets:
        """Melodies as point sets, as this matcher sees them."""
        return point_sets(melodies, pitch=self.pitch, weight=self.weight)

    def query_points(self, query: Candidates) -> PointSets:
        """The same for a query, which must have weight to move."""
        points = self.points(query)
        if not points.weight.sum() > 0:
            raise MelodyError("the query has no weight; expected at least one note that lasts")
        return points
