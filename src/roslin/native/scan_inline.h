// Shared by the files of the scan.
#ifndef ROSLIN_SCAN_INLINE_H
#define ROSLIN_SCAN_INLINE_H

#include "lanes.h"
#include "scan.h"

// -- numbers that transport/bounds.py has too; tests/transport/test_scan.py compares them -----------------------------

enum {
    // Bytes in the widest register: so much room tables have at the end, and stamps on both sides.
    WIDEST_REGISTER = 64,
    // Query weight without a document pitch so near costs 1, 2, 3 semitones, at least.
    PITCH_LEVELS = 3,
    // The budget is cut into one part more than this: what fits into the six bits of the counters.
    PITCH_STEPS = 63,
    // The widest spans of query and document together: transpositions must fit into a word, with room for PITCH_LEVELS.
    WIDEST = 59,
    // So many semitones below and above a document count as pitches that weight may cross.
    RIM = 8,
    // Pitches of the widest document with what counts around it.
    MOST_ROWS = WIDEST + 2 * RIM + 1,
    // The largest number of a lane.
    LARGEST = 65535,
    // The limit as a sum of small numbers; the largest product of a distance and a weight is not much more. Sums
    // stop at LARGEST, which leaves room for rounding.
    MOST = 65000,
    // Distances in the table: FAR is the reach or more.
    FAR = 255,
    // A lighter document may have so many cells before and after the query in the query's table.
    MARGIN = 600,
};

// -- numbers of the kernels alone -------------------------------------------------------------------------------------

enum {
    // Transpositions are the bits of a word.
    TRANSPOSITIONS = 64,
    // Shifts that are tested at once: the bits of a word.
    AT_ONCE = 64,
    // The longest document that is tabled, in cells.
    LONGEST = 4096,
};

// Where one document is among the notes of all, and its pitches.
typedef struct {
    int64_t start, notes; // its first note, and how many
    int64_t low, top;     // its lowest pitch, and semitones from there to its highest
} place_of;

// Alignments: transpositions as bits, and the first shift and the last, in cells.
typedef struct {
    uint64_t words;
    int64_t first, last;
} window;


// -- scan_pitches.c ---------------------------------------------------------------------------------------------------

// Stage 1: at which transpositions enough of the pitches of each document are those of the query. A transposition that
// is not among them has no alignment within the budget.
extern void pitches_in_reach(int64_t documents, const uint64_t *of_documents, const scan_heights *heights,
                             uint64_t *by_pitch);

// Fill in the weight of a document up to each pitch, from RIM below its lowest to RIM above its highest; all of it.
extern double weight_below(const scan_documents *block, place_of document, double below[MOST_ROWS]);

// Those of some transpositions at which the weight that must cross a pitch is not more than `limit` parts. `below` are
// the document's weights up to each pitch, of which one is `scale` parts.
extern uint64_t transpositions_in_reach(uint64_t possible, int64_t top, bool is_light, const double below[MOST_ROWS],
                                        double scale, const scan_heights *heights, int64_t limit);

// -- scan_tables.c ----------------------------------------------------------------------------------------------------

// A table of the distances to the nearest note of a document: rows follow each other in memory, `stride` numbers
// apart, which is a multiple of WIDEST_REGISTER. There is room for a stamp before and after the columns that are
// asked for, and for two stamps above and below the pitches, so that no stamp must be cut.
typedef struct {
    uint8_t *numbers;              // the first row, where a register may begin
    int64_t stride;
    int64_t lowest, rows;          // the pitch of the first row, and how many there are
    int64_t first_column, columns; // the first cell that is asked for, and how many are
} document_table;

// Stamp every note of a document, in these cells, on an empty table. The stamp is the one that begins at `stamp`;
// `places` is room for a number for each note.
extern void stamp_document(const document_table *table, const int8_t *pitches, int64_t notes, const int64_t *cells,
                           const scan_stamps *stamps, int64_t stamp, int64_t *places);

// Which alignments have a sum over the notes of the lighter melody that is not more than `limit`; whether any has. Note
// r is at table[places[r]] when it is not moved. `possible` is filled as scan.h describes it.
extern bool sums_in_reach(window left, int64_t span, const uint8_t *table, int64_t stride, int64_t notes,
                   const int64_t *places, const int64_t *weights, int64_t limit, uint64_t *possible);

#endif
