// Kernels of `p1`, `p2` and `p3`: figures from notes, and what a query has in common with each document.
//
// A figure is a number of segments (start, stop, pitch), or of points, which are segments that stop where they start.
// Those of document k are offsets[k] to offsets[k + 1].
#ifndef ROSLIN_GEOMETRIC_H
#define ROSLIN_GEOMETRIC_H

#include "represent.h"

// Fill times, pitches and bounds with the points of all melodies, in order of time, then of pitch, each place once. The
// result is how many there are.
int64_t points_of(int64_t rows, int64_t melodies, const note_row notes[rows], const int64_t offsets[melodies + 1],
                  int64_t times[rows], int64_t pitches[rows], int64_t bounds[melodies + 1]);

// Fill starts, stops, pitches and bounds with the segments of all melodies, in order of pitch, then of time. Notes of
// one pitch that touch or overlap become one segment, so that the time which they share counts once. Pitches are 0 to
// 127; rows of a melody are in order of onset. `sounding` is scratch. The result is how many there are.
int64_t segments_of(int64_t rows, int64_t melodies, const note_row notes[rows], const int64_t offsets[melodies + 1],
                    int64_t sounding[rows], int64_t starts[rows], int64_t stops[rows], int64_t pitches[rows],
                    int64_t bounds[melodies + 1]);

// P1: the number of the query's points where one move takes all of them onto points of the document, else 0. Points are
// in order of time, then of pitch.
bool whole_query(int64_t m, int64_t points, int64_t documents, const int64_t query_time[m],
                 const int64_t query_pitch[m], const int64_t time[points], const int64_t pitch[points],
                 const int64_t offsets[documents + 1], int64_t common[documents]);

// Segments, or points.
typedef struct {
    int64_t parts;
    const int64_t *start; // [parts]
    const int64_t *stop;  // [parts]
    const int64_t *pitch; // [parts] 0 to 127
} figure_columns;

// P2: how many points coincide at the best move. P3 (`is_timed`): for how many ticks segments overlap.
//
// A move is a cell of a table, with a row for each transposition and a column for each shift on the grid of all times.
// P2: each pair of points adds one to a cell. P3: each pair of segments bends a line in four cells of a row.
bool most_in_common(const figure_columns *query, const figure_columns *figures, int64_t documents,
                    const int64_t offsets[documents + 1], bool is_timed, int64_t common[documents]);

#endif
