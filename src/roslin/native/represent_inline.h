// Inner functions of represent.c that kernels of other families call for each melody.
#ifndef ROSLIN_REPRESENT_INLINE_H
#define ROSLIN_REPRESENT_INLINE_H

#include "represent.h"

enum { PITCH_CLASSES = 12, KEYS = 24 };

_Static_assert(sizeof(note_row) == 27, "a row of NumPy's table has no gaps");

// best_key (represent.h).
static inline int64_t key_of(const double *agreement, int64_t first, double margin) {
    double highest = agreement[0];
    for (int64_t key = 1; key < KEYS; key++) highest = agreement[key] > highest ? agreement[key] : highest;
    for (int64_t mode = 0; mode < KEYS; mode += PITCH_CLASSES) {
        for (int64_t step = 0; step < PITCH_CLASSES; step++) {
            int64_t key = mode + (first + step) % PITCH_CLASSES;
            if (agreement[key] >= highest - margin) return key;
        }
    }
    return first;
}

// The first highest note at the next onset from `*row` on, and `*row` after that onset; -1 and `end` if none is left.
// This is the rule of represent/line.py: grace notes do not count.
static inline int64_t next_top(const note_row *notes, int64_t end, int64_t *row) {
    int64_t at = *row;
    while (at < end && notes[at].is_grace) at++;
    int64_t top = at < end ? at : -1;
    for (at++; at < end && (notes[at].onset_ticks == notes[top].onset_ticks || notes[at].is_grace); at++)
        if (notes[at].pitch_midi > notes[top].pitch_midi && !notes[at].is_grace) top = at;
    *row = least(at, end);
    return top;
}

#endif
