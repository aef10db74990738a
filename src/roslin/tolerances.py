"""How much rounding may change a number before it counts as a difference, from the smallest to the largest.

The order matters: a number that a larger tolerance accepted is never refused by a smaller one that is applied later.
The C kernels have the same values under the same names in `native/tolerances.h`; a test compares the two.
"""

from __future__ import annotations

REORDERED = 1e-12  # the same terms added up in another order, or a published distance: those are rounded to it
RECOMPUTED = 1e-9  # the same number by two formulas, such as a distance and the limit that it is compared with
BOUNDED = 1e-7  # a lower bound and the distance that it bounds: sums of hundreds of terms in different orders
ON_GRID = 1e-6  # a place on a grid, or a weight of 32 bits: a part of a cell, or of the weight
