// Kernels of the search: a cheap lower bound of the Earth Mover's Distance for every document of a collection.
//
// All stages bound from below the distance that comparing completely would find, so that nothing is lost.
//
// 1. Which pitches occur (scan_pitches.c).
// 2. How much weight must cross a pitch (scan_pitches.c). These two leave some transpositions.
// 3. Where the centre is (scan.c). The matched part of the heavier melody has its centre between that of its earliest
//    weight and that of its latest; the centre of the lighter cannot be farther from it than the limit. This leaves
//    some shifts.
// 4. The nearest notes, for the transpositions and shifts that are left, by a table (scan_tables.c). That of a document
//    heavier than the query is stamped for each; a heavier query has one for all.
// 5. For the alignments that are still left, `pair_bound`, which the comparison itself begins with (scan.c).
//
// The first stage knows no tempo. The next two read a document once for all tempos: its weight up to each pitch, and
// up to each note, is only scaled. The last two take one tempo after the other, and a document's bound is the least
// of them.
#ifndef ROSLIN_SCAN_H
#define ROSLIN_SCAN_H

#include "transport_inline.h"

// Successive documents of an index (search/index.py), and which of them are asked for.
typedef struct {
    int64_t documents, notes;
    const uint64_t *words;  // [documents] a bit for each semitone that occurs in it, counted from its lowest pitch
    const int8_t *lows;     // [documents] its lowest pitch
    const uint8_t *spans;   // [documents] semitones from there to its highest
    const int32_t *grids;   // [documents] the greatest common divisor of its onsets, in ticks
    const int64_t *offsets; // [documents + 1] where its notes begin
    const int32_t *times;   // [notes] onset in ticks from the first of the document
    const int8_t *pitches;  // [notes]
    const float *weights;   // [notes]
    const bool *allowed;    // [documents] whether it is asked for
} scan_documents;

// The pitches of a query, counted in semitones from its lowest.
typedef struct {
    int64_t pitches;         // different ones
    int64_t span;            // the highest of them
    double semitone;         // a semitone in units
    const uint64_t *shifts;  // [pitches] how far the word of a document goes to the left for each
    const int64_t *steps;    // [pitches][3] what missing a level costs more than missing those inside it, in parts of
                             // the budget; 64 parts are the whole
    int64_t line;            // numbers in each of the four lines of `weights`
    const uint16_t *weights; // [4 * line] the query's weight at a pitch or below it, rounded down, that above it,
                             // rounded down, and both rounded up; from high pitches to low, so that a higher
                             // transposition is the next number
    double parts;            // how many parts a unit of weight has in `weights`
} scan_heights;

// Time in cells, and where the notes of the query are in them, in order of pitch.
typedef struct {
    int64_t notes, tempos, steps;
    double cell;            // the length of a cell in units
    bool is_exact;          // whether all notes of the query lie on borders of cells
    const double *per_tick; // [tempos] cells in a tick of a document at this tempo
    const int64_t *ticks;   // [tempos] ticks in a cell; 0 where that is no whole number
    const int64_t *numbers; // [notes] which point of the query it is
    const int64_t *pitch;   // [notes] its pitch, counted from the query's lowest
    const int64_t *cells;   // [notes] its cell
    const int64_t *starts;  // [steps] the first of them at this pitch or above, from 0 to one above the highest
} scan_grid;

// What the sums over a table need to know.
typedef struct {
    int64_t notes;
    double reach;            // the farthest that is told apart, in units
    double factor;           // what weights are multiplied by before they are rounded down
    const int64_t *heaviest; // [notes] places in `scan_grid.numbers`, the heaviest notes first
    const int64_t *factors;  // [notes] the weights of these, multiplied
} scan_sums;

// How far it is at least from the cells around a note to it, in parts of `scan_sums.reach`; 255 is the reach or more.
typedef struct {
    int64_t bytes;
    const uint8_t *numbers; // [bytes] the stamp for documents on the grid, then that for those off it; on both sides of
                            // each row and at the end, 64 times 255
    int64_t stride;         // numbers from one row to the next
    int64_t off_grid;       // where the second begins
    int64_t rows;           // semitones that a stamp covers below the note, and as many above it
    int64_t cells;          // cells that it covers before the note, and as many after it
} scan_stamps;

// The table of the query, for documents that are lighter: turned round, from its last cell and highest pitch on.
typedef struct {
    int64_t bytes;
    const uint8_t *numbers; // [bytes] the table for documents on the grid, then that for those off it
    int64_t stride;         // numbers from one row to the next
    int64_t size;           // where the second begins
    int64_t place;          // where the lowest pitch in the first cell is
} scan_table;

// All that the scan knows about a query and a limit.
typedef struct {
    const points *query;
    const rules *rules;
    double limit;
    const scan_heights *heights;
    const scan_grid *grid;
    const scan_sums *sums;
    const scan_stamps *stamps;
    const scan_table *table;
} scan_plan;

// A lower bound on the distance of each document; infinite above the limit, 0 for one that cannot be tabled.
bool scan_block(const scan_documents *block, const scan_plan *scan, double bounds[block->documents]);

// For tests: the alignments of document `d` at tempo `k` that are left after so many stages, up to 4. words[0] are the
// transpositions that the first stage leaves, words[1] those after the last stage, as bits: bit `span + t` is the
// transposition that puts the query's lowest pitch t semitones above the document's lowest. From the third stage on,
// shifts[0] and shifts[1] are the first shift that is left and the last, in cells. After the fourth, bit b of
// possible[64 * c + t] is the shift by 64 * c + b cells after the first, at transposition bit t.
bool scan_stages(const scan_documents *block, const scan_plan *scan, int64_t d, int64_t k, int64_t stages,
                 uint64_t words[2], int64_t shifts[2], int64_t room, uint64_t possible[room]);

// For tests: the numbers that scan_inline.h and transport/bounds.py both have, in the order in which that has them.
void scan_limits(double limits[11]);

#endif
