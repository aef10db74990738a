"""`roslin`: our own measure, a fusion of four unlike ones.

    p3                      common sounding time, where the query lies best on the melody
    orio(fusion='mnz')      shared runs of intervals and durations, rare ones counting for more
    dp                      intervals to insert, delete or change
    fm                      shared intervals, rough rhythm and the harmony of the bars

Each has weaknesses that another lacks: `p3` knows rhythm but no change of tempo or metre; `dp` knows no rhythm at all;
`orio` likes what is rare and forgives any order; `fm` hears harmony. Their distances are brought to one scale over all
candidates and added, with WEIGHTS. docs/systems.md says how these four were chosen from all systems and what they reach
on composers that had no part in it (`tools/fit_roslin.py`).

Input as the members take it: `p3` polyphony, the others one line. The same under transposition, not under another
tempo.
"""

from __future__ import annotations

from dataclasses import dataclass

from roslin.matchers.base import Distances, Matcher, register
from roslin.matchers.fusion import fuse
from roslin.melody import Melody
from roslin.represent.packed import Packed

__all__ = ["MEMBERS", "WEIGHTS", "Roslin"]

MEMBERS = ("p3", "orio(fusion='mnz')", "dp", "fm")
WEIGHTS = (2.0, 0.5, 1.0, 1.0)


@register
@dataclass(frozen=True, repr=False)
class Roslin(Matcher):
    """Our own measure."""

    name = "roslin"
    summary = "Our own: adds up four unlike ways to compare, which find more together than any alone."
    reference = "Roslin; a fusion of p3, orio, dp and fm"

    @property
    def is_independent(self) -> bool:
        """Scales are those of all candidates together."""
        return False

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        return fuse(*MEMBERS, weights=WEIGHTS).distances(query, candidates)
