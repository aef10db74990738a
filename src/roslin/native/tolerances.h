// How much rounding may change a number before it counts as a difference, from the smallest to the largest. The order
// matters: a number that a larger tolerance accepted is never refused by a smaller one that was applied before it.
// roslin/tolerances.py has those that Python uses as well, under the same names; a test compares them.
#ifndef ROSLIN_TOLERANCES_H
#define ROSLIN_TOLERANCES_H

// The rest of a weight that was moved in parts, as a share of all weight: a few units in the last place of a double.
#define CRUMB 1e-15
// Distances are rounded to so many parts of 1, the reciprocal of REORDERED.
#define REORDERED_PARTS 1e12
// Shifts computed from two pairs of notes at the same distance. Their terms are below 10^4, so this is ten roundings.
#define SAME_SHIFT 1e-11
// A step towards an optimum that is as small as this changes no distance by more than RECOMPUTED.
#define STILL 1e-10
// The same number by two formulas, such as a distance and the limit that it is compared with.
#define RECOMPUTED 1e-9
// A lower bound and the distance it bounds: sums of hundreds of terms in different orders.
#define BOUNDED 1e-7
// A place on a grid, or a weight of 32 bits: a part of a cell, or of the weight.
#define ON_GRID 1e-6
// Two optima reached from different starts are one if their shifts differ by less in all.
#define SAME_OPTIMUM 1e-6

#endif
