// Kernels of the matchers that align n-grams of notes: `shapeh` and `time`.
//
// Documents are aligned in blocks of 64, shortest first, so that those of a block are about equally long, and all of a
// block are aligned with the query at once: every step of the innermost loops is the same for each document, which lets
// the compiler use wide registers. The shorter documents of a block are filled up with grams that cost nothing to leave
// out and never match: with these, M(i, j) = M(i, n) for every j beyond the end n, and no score changes.
#ifndef ROSLIN_SHAPES_H
#define ROSLIN_SHAPES_H

#include "common.h"

// Fill `codes` with two intervals in one number, for each note that two others follow: block k is its rows starts[k] to
// starts[k + 1], with the grams of the documents order[64 * k] to order[64 * k + 63] in its columns. Code 65535 fills
// up a column. `counts` is how often each code occurs. Pitches are MIDI numbers.
void interval_pairs(int64_t notes, int64_t documents, int64_t blocks, int64_t rows, const int16_t pitch[notes],
                    const int64_t offsets[documents + 1], const int64_t order[documents],
                    const int64_t starts[blocks + 1], uint16_t codes[rows][64], int64_t counts[65536]);

// The documents as `interval_pairs` puts them together, and the worth of a pair of intervals.
typedef struct {
    int64_t rows;
    int64_t blocks;
    const uint16_t *codes;     // [rows][64]
    const int64_t *starts;     // [blocks + 1]
    const double *gap_of_code; // [65536] the score of a pair that is left out
    const uint8_t *classes;    // [65536] the kind of shape of each pair
} pair_blocks;

// The pairs of intervals of a query, in order.
typedef struct {
    int64_t pairs;
    int64_t different;
    const int64_t *codes;  // [pairs]
    const double *match;   // [pairs] the score of each where it is found
    const double *gap;     // [pairs] the score of each where it is left out
    const int64_t *kinds;  // [pairs] the kind of shape of each
    const int64_t *needed; // [different] the different kinds among them
} pair_query;

// `shapeh`: the score of every document, in the order of the blocks. mismatch[a, b] is the score of two pairs of the
// kinds a and b. No score falls below the floor. The best score anywhere counts, or that at the end of both.
bool shape_scores(const pair_blocks *blocks, const pair_query *query, int64_t asked_kinds, int64_t kinds,
                  int64_t documents, const double mismatch[asked_kinds][kinds], double floor, bool takes_best,
                  const bool stop[1], double scores[documents]);

// How much the curve with the control values (0, x, y, z) rises and falls in all.
double curve_variation(double x, double y, double z);

// What `time` gives for two groups of four notes.
typedef struct {
    double same_pitch; // where the pitches agree
    double same_time;  // where the lengths agree, in units of their own
    double rhythm;     // how much a unit of length counts in units of pitch
} curve_worth;

// `time`: the score of every document, in the given order. The result is the score of a document that has nothing of
// the query. A query has three notes more than grams, one gram at least.
bool time_scores(int64_t query_notes, int64_t notes, int64_t documents, const int16_t query_pitch[query_notes],
                 const int64_t query_duration[query_notes], const int16_t pitch[notes], const int64_t duration[notes],
                 const int64_t offsets[documents + 1], const int64_t order[documents], const curve_worth *worth,
                 double floor, bool takes_best, const bool stop[1], double scores[documents], double lost[1]);

// The same scores for explanations: of all pairs of grams of a query and a document, of grams of the query that are
// left out, and of those of the document.
void time_pairs(int64_t query_notes, int64_t notes, int64_t m, int64_t n, const int16_t query_pitch[query_notes],
                const int64_t query_duration[query_notes], const int16_t pitch[notes], const int64_t duration[notes],
                const curve_worth *worth, double scores[m][n], double gap[m], double gap_there[n]);

#endif
