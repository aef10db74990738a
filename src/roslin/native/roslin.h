// The default measure, one melody at a time: scores, the best alignment itself, and blocks of melodies.
#ifndef ROSLIN_ROSLIN_H
#define ROSLIN_ROSLIN_H

#include "common.h"

// Notes of many melodies end to end; melody k is offsets[k] to offsets[k + 1]. (`values.Encoded`)
typedef struct {
    int64_t count, notes;    // sizes
    const int64_t *offsets;  // [count + 1]
    const int8_t *tempos;    // [count]
    const int8_t *pitches;   // [notes]
    const int8_t *values;    // [notes]
    const int8_t *intervals; // [notes]
    const int8_t *kinds;     // [notes]
    const int8_t *gaps;      // [notes]
    const int8_t *labels;    // [notes]
} encoded_melodies;

// The worth of everything, in whole units. (`values.Tables`)
typedef struct {
    int64_t longest, tempos; // sizes
    const int32_t *equal;    // [11]
    const int32_t *near;     // [11]
    const int32_t *pitch;    // [12 * 16]
    const int32_t *is_equal; // [12 * 16]
    const int32_t *contexts; // [2][4]
    const int32_t *kinds;    // [12]
    const int32_t *labels;   // [16][16]
    const int32_t *openings; // [3]
    int64_t extension;       // the price of every further note of a gap
    const int32_t *starts;   // [3][longest + 1]
    const int32_t *ends;     // [3][longest + 1]
    const int32_t *tempo_prices; // [tempos]
    const int32_t *lanes;    // [16]
} worth_tables;

// How much longer a melody's notes are taken to be than the query's, in quarters of an octave of time. `tempo` is 0: as
// written, 1: by the medians, whose difference is given, 2: double, 3: half.
int64_t tempo_shift(int64_t tempo, int64_t difference);

// Write the score of the best alignment of a query with each of the melodies that have these numbers; FARTHEST where
// one of the two has no notes.
bool align_all(const encoded_melodies *query, const encoded_melodies *melodies, const worth_tables *tables,
               int64_t wanted, const int64_t numbers[wanted], int32_t scores[wanted]);

// Write the score of the best alignment of each query with the melody of the same number.
bool align_each(const encoded_melodies *queries, const encoded_melodies *melodies, const worth_tables *tables,
                int32_t scores[queries->count]);

// Write the score of each melody with itself, note on note: no alignment has to be searched for.
void self_scores(const encoded_melodies *melodies, const worth_tables *tables, int32_t scores[melodies->count]);

// Write the score of each pair of melodies with these self-scores at which their distance is 0. The longer melody counts
// at most `cap` times as much as the shorter.
void scores_at_zero(int64_t count, const int32_t own[count], const int32_t others[count], double cap,
                    double scores[count]);

// Write the evidence for melodies with these scores, self-scores and numbers of notes, for a query with the self-score
// `own`: the score, less `of_distance` of what the distance takes off. A melody with fewer notes than `parts_below` is
// judged by itself.
void evidence(int64_t count, const int32_t scores[count], const int32_t others[count], const int32_t sizes[count],
              int64_t own, int64_t parts_below, double cap, double of_distance, double found[count]);

// Find the best alignment of a query with one melody: found[score, tempo, transposition, number of steps]. A step is
// (kind, note of the query, note of the melody), from the first to the last. Kinds are 0: a pair, 1: a note of the
// melody is skipped, 2: one of the query.
bool best_path(const encoded_melodies *query, const encoded_melodies *melodies, int64_t number,
               const worth_tables *tables, int64_t steps[query->notes + melodies->notes][3], int64_t found[4]);

// Write the worth of each step of an alignment with the first of the melodies, and the prices of the notes left out:
// before of the query, before of the melody, after of the query, after of the melody.
void step_worths(const encoded_melodies *query, const encoded_melodies *melody, int64_t tempo, int64_t transposition,
                 const worth_tables *tables, int64_t count, const int64_t steps[count][3], int32_t worths[count],
                 int64_t ends[4]);

// Write melodies into blocks of 64 side by side, at these places. `lengths` are those of all places in notes, `starts`
// the first byte of each block. A block has five fields, pitches, values, kinds, labels and intervals, in lines of 64
// bytes, one for each column; intervals have one column more. Behind the end of a melody are signs that equal nothing.
void put_melodies(const encoded_melodies *melodies, const int64_t places[melodies->count], int64_t blocks,
                  const int32_t lengths[64 * blocks], const int64_t starts[blocks + 1], int64_t bytes,
                  int8_t notes[bytes]);

// Read the melodies at these places out of such blocks; offsets[k] is where melody k begins among `pitches` and so on.
void take_melodies(int64_t bytes, const int8_t notes[bytes], int64_t blocks, const int32_t lengths[64 * blocks],
                   const int64_t starts[blocks + 1], int64_t count, const int64_t places[count],
                   const int64_t offsets[count + 1], int64_t size, int8_t pitches[size], int8_t values[size],
                   int8_t kinds[size], int8_t labels[size], int8_t intervals[size]);

#endif
