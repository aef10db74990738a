"""`fm`: a sum of measures fitted to what experts say, after Frieler and Mullensiefen.

Reference: D. Mullensiefen and K. Frieler, SIMILE; K. Frieler and D. Mullensiefen's entry to MIREX 2005. **This is not
that entry.** It was "optiP", a sum of six measures; which six, with which weights, was not published where we could
read it. What is published in full is its relative opti3, and that is what `fm` computes, with the measures of
`fm_parts`:

    measure = "opti3"   0.505 ngrukkon + 0.417 rhytfuzz + 0.24 harmcore - 0.146, but at least 0 and at most 1
              "opti2"   0.6 ngrukkon + 0.4 rhytfuzz (as in melsim)

The distance is 1 less that. Under "opti3" everything above 0.984 of its range is at 0, as published. By hand: where
ngrukkon is 1/2 and the two others are 1, opti3 is 0.2525 + 0.417 + 0.24 - 0.146 = 0.7635, the distance 0.2365.

Input: one line (represent/line.py). The same under transposition; in any tempo only with `beat` = None. `n` and `beat`
are those of the parts. What is our choice is said there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roslin.display.words import N_, _
from roslin.matchers.base import Modes, register
from roslin.matchers.explanation import Explanation, Step, bounded
from roslin.matchers.opti3.parts import LONGEST_GRAM, HarmCore, LineMatcher, NgrUkkon, RhytFuzz
from roslin.melody import Melody
from roslin.represent.line import Lines
from roslin.represent.packed import Packed
from roslin.types import Distances
from roslin.values.parameters import choice, real, whole

# Weights of ngrukkon, rhytfuzz and harmcore, and what is added.
_MEASURES = {"opti2": (0.6, 0.4, 0.0, 0.0), "opti3": (0.505, 0.417, 0.24, -0.146)}


@register
@dataclass(frozen=True, repr=False)
class FM(LineMatcher):
    """A fitted sum."""

    name = "fm"
    summary = N_("Adds up shared intervals, rough rhythm and harmony, with weights fitted to what experts say.")
    reference = "Mullensiefen & Frieler, opti3 (as in melsim); the MIREX 2005 entry used optiP, which is not public"

    kind = "sum"
    modes: ClassVar[Modes] = {"compare": {"both": {}}, "place": {"whole": {}}, "key": {"any": {}}}

    measure: str = choice("opti3", *_MEASURES)
    n: int = whole(3, most=LONGEST_GRAM)
    beat: float | None = real(1.0, above=0, optional=True)

    @property
    def parts(self) -> tuple[NgrUkkon, RhytFuzz, HarmCore]:
        """What is added up."""
        return NgrUkkon(self.n), RhytFuzz(self.beat), HarmCore()

    @property
    def leading(self) -> NgrUkkon:
        """The heaviest part, whatever the measure."""
        return NgrUkkon(self.n)

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation:
        *weights, constant = _MEASURES[self.measure]
        alone = candidates.part(number, number + 1)
        steps = [
            Step(
                "measure",
                cost=weight * float(part.distances(query, alone)[0]),
                words=_("{weight} times {matcher}").format(weight=f"{weight:g}", matcher=repr(part)),
                within=self.leading.explain(query, alone) if part == self.leading else None,
            )
            for weight, part in zip(weights, self.parts, strict=True)
            if weight
        ]
        start = 1.0 - constant - sum(weights)
        return self._explanation(query, candidates, number, start, bounded(start, steps, 0.0, 1.0))

    def compare(self, asked: Lines, lines: Lines) -> Distances:
        """1 - opti3, or 1 - opti2."""
        *weights, constant = _MEASURES[self.measure]
        similarity = np.full(len(lines), constant)
        for weight, part in zip(weights, self.parts, strict=True):
            if weight:
                similarity += weight * (1.0 - part.compare(asked, lines))
        distances: Distances = 1.0 - np.clip(similarity, 0.0, 1.0)
        return distances
