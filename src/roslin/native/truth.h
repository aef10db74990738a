// Kernels of ground truths.
#ifndef ROSLIN_TRUTH_H
#define ROSLIN_TRUTH_H

#include "common.h"

// The exact Mann-Whitney test for all pairs of many lists: fill less[list, i, j], p-values of "i has smaller ranks than
// j", from how often each rank was given. Pairs whose sizes multiply to more than `limit`, and those without any rank,
// are left as they are.
bool exact_tails(int64_t lists, int64_t documents, int64_t ranks, const int64_t counts[lists][documents][ranks],
                 int64_t limit, double less[lists][documents][documents]);

#endif
