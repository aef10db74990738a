// Kernels of the measures that `fm` is made of (matchers/opti3): one query, all candidates, one pass.
//
// All distances are from 0 to 1. Two strings that are both empty are alike.
#ifndef ROSLIN_OPTI3_H
#define ROSLIN_OPTI3_H

#include "common.h"

// With f the number of times that a gram of `length` intervals occurs, for every candidate: `common`, the sum over
// grams of the smaller f; `both`, the sum of both f over the grams that both melodies have; and `grams`, how many there
// are.
bool gram_overlaps(int64_t m, int64_t notes, int64_t candidates, const int16_t query[m], const int16_t pitch[notes],
                   const int64_t offsets[candidates + 1], int64_t length, int64_t common[candidates],
                   int64_t both[candidates], int64_t grams[candidates]);

// Edit distance of the intervals, by the longer of the two.
bool interval_distances(int64_t m, int64_t notes, int64_t candidates, const int16_t query[m],
                        const int16_t pitch[notes], const int64_t offsets[candidates + 1],
                        double distances[candidates]);

// Edit distance of the pitches above the lowest note, by the longer of the two, in the best transposition: those from
// `lowest` to `highest`, and the difference of the medians. The query has a note.
bool pitch_distances(int64_t m, int64_t notes, int64_t candidates, const int16_t query[m], const int16_t pitch[notes],
                     const int64_t offsets[candidates + 1], int64_t lowest, int64_t highest,
                     double distances[candidates]);

// Times between onsets as classes, 0 (much shorter than a beat) to 4; the result is how many there are. Beat 0: the
// median. `lengths` is scratch.
int64_t rhythm_classes(int64_t notes, const int64_t onsets[notes], double beat, int64_t lengths[notes],
                       int64_t classes[notes]);

// Edit distance of the classes of times between onsets, by the longer of the two.
bool rhythm_distances(int64_t m, int64_t notes, int64_t candidates, const int64_t query[m], const int64_t onsets[notes],
                      const int64_t offsets[candidates + 1], double beat, double distances[candidates]);

// One key for each bar in which a note starts; the result is how many there are. profiles[c] is what pitch class c adds
// to the 24 keys; without bar lines, a bar takes `bar_without_lines`.
int64_t bar_keys(int64_t notes, int64_t lines, const int64_t onsets[notes], const int16_t pitches[notes],
                 const int64_t barlines[lines], int64_t bar_without_lines, const int64_t profiles[12][24],
                 int64_t keys[notes]);

// Edit distance of the keys of the bars, by the longer of the two, in the best of the twelve transpositions.
bool harmony_distances(int64_t m, int64_t query_lines, int64_t notes, int64_t lines, int64_t candidates,
                       const int64_t query_onsets[m], const int16_t query_pitches[m],
                       const int64_t query_barlines[query_lines], const int64_t onsets[notes],
                       const int16_t pitches[notes], const int64_t offsets[candidates + 1],
                       const int64_t barlines[lines], const int64_t bar_offsets[candidates + 1],
                       int64_t bar_without_lines, const int64_t profiles[12][24], double distances[candidates]);

#endif
