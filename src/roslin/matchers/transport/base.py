"""What the matchers by transportation distance share: their parameters, those of `transport.align.Setting`."""

from __future__ import annotations

from dataclasses import dataclass

from roslin.errors import ArgumentError, MelodyError
from roslin.matchers.base import Matcher
from roslin.represent.packed import Candidates
from roslin.represent.points import PointSets, point_sets
from roslin.transport.align import Setting

__all__ = ["Transport"]


@dataclass(frozen=True, repr=False)
class Transport(Matcher):
    """A matcher that moves weight between point sets. `transport.align` says what the parameters mean."""

    pairs_at_once = 20_000
    pairs_explained = 20_000  # beyond that, moving weight would take seconds for one result
    kind = "transport"

    pitch: str = "semitone"
    weight: str = "duration"
    ground: str = "euclidean"
    unit: str = "note"
    semitone: float = 1.0
    tempos: tuple[float, ...] = (1.0,)
    missing: float | None = 2.0
    alignment: str = "coincidence"

    def __post_init__(self) -> None:
        if not isinstance(self.tempos, (tuple, list)):
            raise ArgumentError(f"tempos must be numbers above 0, at least one; got {self.tempos!r}")
        object.__setattr__(self, "tempos", tuple(self.tempos))
        _ = self.setting  # refuses what makes no sense

    @property
    def setting(self) -> Setting:
        """The parameters of alignment."""
        return Setting(
            self.pitch, self.weight, self.ground, self.unit, self.semitone, self.tempos, self.missing, self.alignment
        )

    def points(self, melodies: Candidates) -> PointSets:
        """Melodies as point sets, as this matcher sees them."""
        return point_sets(melodies, pitch=self.pitch, weight=self.weight)

    def query_points(self, query: Candidates) -> PointSets:
        """The same for a query, which must have weight to move."""
        points = self.points(query)
        if not points.weight.sum() > 0:
            raise MelodyError("the query has no weight; expected at least one note that lasts")
        return points
