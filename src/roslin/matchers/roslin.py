"""`roslin`: our own measure, a fusion of five unlike ones.

    alignment               notes with gaps, near pitches and lengths scoring more (without metre, with our rhythm term)
    p3                      common sounding time, where the query lies best on the melody
    dp                      intervals to insert, delete or change
    fm                      shared intervals, rough rhythm and the harmony of the bars
    orio                    shared runs of intervals and durations, rare ones counting for more

Each has weaknesses that another lacks: `p3` knows rhythm but no change of tempo or metre; `dp` knows no rhythm at all;
`orio` likes what is rare and forgives any order; `fm` hears harmony. Their distances are brought to one scale over all
candidates and added, with WEIGHTS. docs/systems.md says how these five were chosen from all systems and what they reach
on composers that had no part in it (`tools/fit_roslin.py`).

Input as the members take it: `p3` polyphony, the others one line. The same under transposition, not under another
tempo.
"""

from __future__ import annotations

from dataclasses import dataclass

from roslin.matchers.account import Account
from roslin.matchers.base import Distances, Matcher, Tell, register
from roslin.matchers.fusion import Fusion, fuse
from roslin.melody import Melody
from roslin.represent.packed import Packed

__all__ = ["MEMBERS", "WEIGHTS", "Roslin"]

MEMBERS = ("alignment(metric=False, rhythm=0.75, divide='mean')", "p3", "dp", "fm", "orio(fusion='mnz')")
WEIGHTS = (3.0, 2.0, 1.0, 1.0, 1.0)


@register
@dataclass(frozen=True, repr=False)
class Roslin(Matcher):
    """Our own measure."""

    name = "roslin"
    summary = "Our own: adds up five unlike ways to compare, which find more together than any alone."
    reference = "Roslin; a fusion of alignment, p3, dp, fm and orio"

    @property
    def is_independent(self) -> bool:
        """Scales are those of all candidates together."""
        return False

    kind = "sum"

    @property
    def _fused(self) -> Fusion:
        return fuse(*MEMBERS, weights=WEIGHTS)

    @property
    def leading(self) -> Matcher:
        """The heaviest member."""
        return self._fused.leading

    def longest(self, query: Melody) -> int:
        """What the slowest member allows."""
        return self._fused.longest(query)

    def distances_told(self, query: Melody, candidates: Packed, tell: Tell) -> Distances:
        """The distances, telling how far the members are."""
        return self._fused.distances_told(query, candidates, tell)

    def _account_told(self, query: Melody, candidates: Packed, number: int, tell: Tell) -> Account | None:
        return self._fused.account(query, candidates, number, tell)

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        return fuse(*MEMBERS, weights=WEIGHTS).distances(query, candidates)
