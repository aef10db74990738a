// Metre and phrase of every note, for the default measure.
#ifndef ROSLIN_LABELS_H
#define ROSLIN_LABELS_H

#include "common.h"

// Write the label of every note of many melodies (1 + 3 metre + phrase) from its onset, its duration and the time to
// the next note, all in ticks. Labels of melodies of one note stay as they are.
bool label_notes(int64_t melodies, const int64_t offsets[melodies + 1], int64_t notes, const int64_t onsets[notes],
                 const int64_t durations[notes], const int64_t times[notes], int8_t labels[notes]);

// Write the inner metric weight of each onset; `times` are on the grid, ascending.
bool metric_weights(int64_t size, const int64_t times[size], int64_t weights[size]);

// Write which notes end a phrase, from the time to the next note and the time that each sounds.
bool phrase_ends(int64_t size, const int64_t times[size], const int64_t durations[size], bool ends[size]);

#endif
