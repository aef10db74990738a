// The default measure over melodies side by side: upper bounds of scores in bytes, and scores in 16 bits.
#ifndef ROSLIN_ROSLIN_BLOCKS_H
#define ROSLIN_ROSLIN_BLOCKS_H

#include "common.h"

// Melodies in the order of their lengths, 64 of much the same length in a block (matchers.roslin.table.MelodyTable). The
// bytes of a block are in the order [field][column][melody]: pitch, value, kind, label, then interval with one column
// more. Behind the end of a melody are the pitch 15 and the interval -127, which equal nothing.
typedef struct {
    int64_t bytes, count, places; // sizes
    const int8_t *notes;    // [bytes]
    const int64_t *starts;  // [count + 1]
    const int32_t *lengths; // [places]
    const int8_t *tempos;   // [places]
} melody_blocks;

// The same melodies one after the other: of each its pitches, then its values, kinds, labels, intervals
// (matchers.roslin.table.Rows).
typedef struct {
    int64_t bytes, places;  // sizes
    const int8_t *notes;    // [bytes]
    const int64_t *offsets; // [places + 1]
} melody_rows;

// A query and all tables, rounded for bytes or for 16 bits (matchers.roslin.scores.Plan).
typedef struct {
    int64_t size;  // notes of the query
    int64_t scale; // `unit` / `scale` units of the exact score make one of the plan
    int64_t unit;  // 256 in bytes, 1 in 16 bits
    int64_t most;  // the largest number of a lane
    int64_t turn_count, rows, value_count, label_count, classes, longest, tempos; // sizes
    const int64_t *turns;         // [turn_count]
    const int64_t *pitches;       // [rows]
    const int8_t *values;         // [value_count]
    const int64_t *value_of;      // [rows]
    const int64_t *label_of;      // [rows]
    const int8_t *intervals;      // [rows + 1]
    const int16_t *equal;         // [16]
    const int16_t *near;          // [16]
    const int16_t *kinds;         // [16]
    const int16_t *labels;        // [label_count][16]
    const int16_t *equal_context; // [rows][4]
    const int16_t *near_context;  // [rows][4]
    const int16_t *pitch;         // [classes][16]
    const int16_t *kind_openings; // [16]
    const int16_t *openings;      // [rows]
    int64_t extension;            // the price of every further note of a gap; in bytes, of every note of one
    const int16_t *starts;       // [3][longest + 1]
    const int16_t *ends;         // [3][longest + 1]
    const int16_t *highest_ends; // [3][longest + 1]
    int64_t median;              // of the query's values
    const int32_t *tempo_prices; // [tempos]
    int64_t cheapest;            // of them
} query_plan;

// Upper bounds of the scores of the melodies of some blocks, with all tempos at once, in bytes.
bool bound_blocks(const query_plan *plan, const melody_blocks *blocks, int64_t n, const int64_t numbers[n],
                  int32_t bounds[n][64]);

// Upper bounds of the scores of the melodies at some places, which rise, with every tempo by itself, in bytes.
bool bound_melodies(const query_plan *plan, const melody_blocks *blocks, int64_t n, const int64_t places[n],
                    int32_t bounds[n]);

// Upper bounds of the scores of the melodies at some places, which rise, with all tempos at once, in bytes. To read one
// melody out of a block is to read a line of memory for every byte of it; so these are read from rows.
bool bound_rows(const query_plan *plan, const melody_rows *rows, const int8_t tempos[rows->places], int64_t n,
                const int64_t places[n], int32_t bounds[n]);

// The same as bound_blocks in 16 bits.
bool align_blocks(const query_plan *plan, const melody_blocks *blocks, int64_t n, const int64_t numbers[n],
                  int32_t bounds[n][64]);

// The scores of the melodies at some places, which rise, in 16 bits; 2^28, UNKNOWN, where these may not hold one.
bool align_melodies(const query_plan *plan, const melody_blocks *blocks, int64_t n, const int64_t places[n],
                    int32_t scores[n]);

// Which melodies have all the intervals between the notes of a query, side by side, or nothing but such intervals: 1
// for these, 0 for all others.
void same_intervals(const melody_blocks *blocks, int64_t size, const int8_t intervals[size],
                    int8_t agree[blocks->count][64]);

#endif
