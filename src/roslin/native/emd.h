// Kernels of the transportation distances: the Earth Mover's Distance and its proportional variant.
#ifndef ROSLIN_EMD_H
#define ROSLIN_EMD_H

#include "common.h"

// The least cost of shipping the whole supply of every row to columns that receive no more than their capacity, and the
// flow of least cost. found[0] is that cost and found[1] is 1; if every flow costs more than the limit, found[0] is a
// bound above the limit and found[1] is 0, and the flow is all 0. The supplies must not exceed the capacities in sum.
bool partial_transport(int64_t rows, int64_t columns, const double cost[rows][columns], const double supply[rows],
                       const double capacity[columns], double limit, const bool stop[1], double flow[rows][columns],
                       double found[2]);

// Distances between the points of A (rows) and those of B (columns); the ground is one of `GROUNDS` (arguments.py).
void ground_matrix(int64_t count_a, int64_t count_b, const double time_a[count_a], const double pitch_a[count_a],
                   const double time_b[count_b], const double pitch_b[count_b], int64_t ground,
                   double distances[count_a][count_b]);

// The distance of pair after pair: points offsets_a[k] to offsets_a[k + 1] of A with those of B. `is_proportional`:
// both sets are scaled to the weight 1 first.
bool emd_pairs(int64_t pairs, int64_t all_a, const double points_a[all_a][2], const double weights_a[all_a],
               const int64_t offsets_a[pairs + 1], int64_t all_b, const double points_b[all_b][2],
               const double weights_b[all_b], const int64_t offsets_b[pairs + 1], int64_t ground, bool is_proportional,
               double distances[pairs]);

#endif
