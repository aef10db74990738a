// The tempos at which a melody may be laid on a query.
#pragma once

#include "common.h"

// How much longer a melody's notes are taken to be than the query's, in quarters of an octave of time: as written, by
// the medians, double, half.
static inline int64_t shift_of(int64_t tempo, int64_t difference) {
    if (tempo < 2) return tempo * difference;
    return tempo == 2 ? 4 : -4;
}

// Whether no other tempo makes the notes as long for less, or as one that comes before it for the same price.
static inline bool is_needed(int64_t tempo, int64_t difference, int64_t tempos, const int32_t *prices) {
    for (int64_t other = 0; other < tempos; other++) {
        bool is_cheaper = prices[other] < prices[tempo] || (prices[other] == prices[tempo] && other < tempo);
        if (is_cheaper && shift_of(other, difference) == shift_of(tempo, difference)) return false;
    }
    return true;
}
