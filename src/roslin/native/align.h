// Kernels of alignment: the best of all coincidence alignments of a query with documents, and the way downhill from the
// best of them.
#ifndef ROSLIN_ALIGN_H
#define ROSLIN_ALIGN_H

#include "transport_inline.h"

// A query in its frame, a document, and how they are compared. `table` has how far apart a pitch and each note of the
// document are, in the key around the note and in units: 128 x notes; 0 x 0 if the ground is no TABLE.
typedef struct {
    const points *query;
    const stored_notes *document;
    const query_frame *frame;
    const rules *rules;
    int64_t table_rows, table_columns;
    const double *table; // [table_rows][table_columns]
} aligned_pair;

// The best coincidence alignment, if its distance is at most the limit: found is its distance (infinite: there is
// none), shift in time, shift in pitch and tempo. Of equal alignments the first wins, in the order of tempos, document
// points, query points. counts[0] grows by the number of transportation problems solved.
bool align_document(const aligned_pair *pair, double limit, int64_t counts[1], double found[4]);

// For each document its distance, as far as it may be among the best, and how many transportation problems that took.
// Document k has notes offsets[k] to offsets[k + 1]; the ground distance has no table. `bounds` are lower bounds on the
// distances, `best` the best distances so far, rising. Both are used to leave out documents that are farther than the
// last of the best, and `best` is kept up to date. An empty `best` leaves nothing out.
bool align_documents(const points *query, const stored_notes *documents, int64_t count,
                     const int64_t offsets[count + 1], const query_frame *frame, const rules *rules,
                     const double bounds[count], int64_t best_count, double best[best_count],
                     double found[count][2]);

// The distance at alignment after alignment, each a tempo and two shifts.
bool distances_at(const aligned_pair *pair, int64_t count, const double tempos[count], const double shifts_x[count],
                  const double shifts_y[count], double distances[count]);

// The best local optimum reached from the `starts` best coincidences of each tempo: found is its distance, shifts and
// tempo. With several tempos, the `tempo_starts` best then look for a better tempo between the smallest and the
// largest; the query's middle stays where it is while the tempo changes. counts[0] grows by the number of
// transportation problems solved.
bool refine(const aligned_pair *pair, int64_t starts, int64_t tempo_starts, int64_t counts[1], double found[4]);

// -- the bounds (transport_inline.h) ----------------------------------------------------------------------------------

// `pair_bound`: what an alignment costs at least if each point of the lighter melody had the other for itself.
double bound_of_rows(const points *query, const points *document, int64_t i, int64_t j, bool is_light, double budget,
                     int64_t ground);

// `second_bound`: what an alignment costs at least if each point of the heavier melody had the other for itself.
bool bound_of_columns(const points *query, const points *document, int64_t i, int64_t j, bool is_light, double amount,
                      int64_t ground, double bound[1]);

// `centre`: the centre of so much weight, taken from one end.
double centre_of_weight(int64_t count, const double values[count], const double weights[count], double amount,
                        bool is_from_end);

// `centre_shifts`: the first and the last shift that centres allow.
void shifts_in_reach(double middle, bool is_light, int64_t count, const double heavier[count],
                     const double heavier_weight[count], double amount, double budget, double shifts[2]);

// The different pitches, rising, the weight of each, and which of them each note has; the number of pitches, or -1
// where there is no memory.
int64_t pitch_levels(int64_t count, const double y[count], const double weight[count], double pitches[count],
                     double weights[count], int64_t numbers[count]);

// What the rows cost at least in pitch alone, moved by `shift`, at whatever time; both are `pitch_levels` of a melody.
double crossing_bound(int64_t n, const double rows[n], const double rows_weight[n], int64_t m, const double columns[m],
                      const double columns_weight[m], double shift);

#endif
