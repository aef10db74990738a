// Kernels of the matchers that edit one melody into the other, and of the cheapest path through a table of costs.
//
// Documents are end to end: document k of a table is rows offsets[k] to offsets[k + 1].
#ifndef ROSLIN_EDIT_H
#define ROSLIN_EDIT_H

#include "represent.h"

// -- strings ----------------------------------------------------------------------------------------------------------

// The number of symbols to insert, delete or replace between two strings of symbols from 0 to alphabet - 1.
bool edit_distance(int64_t m, int64_t n, const int64_t one[m], const int64_t other[n], int64_t alphabet,
                   int64_t distance[1]);

// `dp`: its normalised distance from the pitches of the query's line to every document, which is reduced to its line on
// the way. The query has a note at least.
bool interval_edit_distances(int64_t m, int64_t rows, int64_t documents, const int16_t query[m],
                             const note_row notes[rows], const int64_t offsets[documents + 1], bool is_inside,
                             double distances[documents]);

// `lcts`: for every document, the longest subsequence of pitches that it shares with some transposition of the query.
bool lcts_lengths(int64_t m, int64_t notes, int64_t documents, const int16_t query[m], const int16_t pitch[notes],
                  const int64_t offsets[documents + 1], int64_t lengths[documents]);

// -- notes for notes --------------------------------------------------------------------------------------------------

// `mongeau_sankoff`: for every document, the cost with its own shift, or the least over all shifts that let the two
// ranges meet, divided by what it costs to delete the one melody and insert the other. The query has a note at least;
// at most `largest` notes stand for one, and intervals up to intervals - 1 semitones have a weight.
bool mongeau_distances(int64_t m, int64_t notes, int64_t documents, int64_t intervals, const int64_t query[m],
                       const double query_lengths[m], const int64_t pitches[notes], const double lengths[notes],
                       const int64_t offsets[documents + 1], const int64_t shifts[documents], bool tries_all,
                       const double by_interval[intervals], double k, int64_t largest, double distances[documents]);

// The structures that `gam` compares (matchers/edit/gam.py).
typedef struct {
    int64_t structures;
    const int64_t *label;     // [structures]
    const int64_t *size;      // [structures]
    const int64_t *direction; // [structures]
    const int64_t *overlap;   // [structures]
} labelled_strings;

// The costs of the operations of `gam`.
typedef struct {
    int64_t kinds;
    const double *labels; // [kinds][kinds]
    double size;          // a note more or less
    double direction;     // another direction, by the difference
    double overlap;       // another overlap with the next structure, by the difference
    double deletion;      // for each note of a structure
    double insertion;     // for each note of a structure
    double replacement;   // times the cost of the two structures
    double consolidation; // times the cost of several structures of the query in place of one
    double fragmentation; // times the cost of one in place of several
    int64_t joined;       // how many structures are joined, or one is split into, at most
} structure_costs;

// `gam`: the least cost of turning the structures of the query into those of each document. An edit distance that may
// also join several structures, and split one.
bool structure_distances(const labelled_strings *query, const labelled_strings *documents, int64_t count,
                         const int64_t offsets[count + 1], const structure_costs *costs, double distances[count]);

// -- `alignment` ------------------------------------------------------------------------------------------------------

// For every onset, the sum of length ** 2 over the local metres it belongs to, divided by the largest sum of the
// melody.
//
// A local metre is a set of equally spaced onsets, three at least, that no other contains; its length is the number of
// its steps. Where there is none, the weight is 0. Onsets of a document are 0 or more and ascend.
bool inner_metric_weights(int64_t notes, int64_t documents, const int64_t onsets[notes],
                          const int64_t offsets[documents + 1], const bool stop[1], double weights[notes]);

// log2 of the ticks to the next onset; of the duration for the last note of a document.
void log_times(int64_t notes, int64_t documents, const int64_t onsets[notes], const int64_t durations[notes],
               const int64_t offsets[documents + 1], double logs[notes]);

// By how much the query's histogram of values, weighted by lengths, must be moved to share most with each document's.
//
// Of equally good shifts the one closest to the difference of the first notes, then the lowest. Values are 0 to 1023.
bool best_shifts(int64_t m, int64_t notes, int64_t documents, const int64_t query[m], const int64_t query_lengths[m],
                 const int64_t values[notes], const int64_t lengths[notes], const int64_t offsets[documents + 1],
                 int64_t shifts[documents]);

// The properties of notes that `alignment` compares.
typedef struct {
    int64_t notes;
    const int64_t *pitches; // [notes]
    const double *logs;     // [notes]
    const double *weights;  // [notes]
} note_columns;

// The scores of two notes, and of one that is left out.
typedef struct {
    int64_t intervals;
    const double *likeness; // [intervals]
    double rhythm;          // how much of the likeness a difference in length may take away, 0 to 1
    double opening;         // the cost of the first note of a gap
    double extending;       // the cost of each further note of a gap
    bool is_local;          // whether the alignment may begin and end anywhere
} note_scores;

// The score of every document, in the given order. Pitches and logs of the documents are moved to the query's.
bool alignment_scores(const note_columns *query, const note_columns *documents, int64_t count,
                      const int64_t offsets[count + 1], const int64_t order[count], const note_scores *scoring,
                      const bool stop[1], double scores[count]);

// -- paths ------------------------------------------------------------------------------------------------------------

// The cheapest path from a cell where it may start, in state 0, to one where it may end: its cost, and how many steps
// it has. The path has a row (kind, i, j) for each step.
//
// A step of kind k goes `rows[k]` down and `columns[k]` to the right, from state `before[k]` to state `after[k]`, and
// costs `costs[k, i, j]` when it ends in cell (i, j). Of equally cheap steps the first kind is taken.
bool cheapest_path(int64_t kinds, int64_t height, int64_t width, const double costs[kinds][height][width],
                   const int64_t rows[kinds], const int64_t columns[kinds], const int64_t before[kinds],
                   const int64_t after[kinds], const bool starts[height][width], const bool ends[height][width],
                   double cost[1], int64_t path[height + width][3], int64_t steps[1]);

#endif
