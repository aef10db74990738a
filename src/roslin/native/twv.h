// Kernels of `twv`: the matches of the segments of a query in documents, and their cheapest legal chains
// (Typke et al. 2007, section 2.4.1). A match is a row of six numbers: the number of the segment, the distance, where
// its first and its last onset are in the document (in quarters), the transposition (in pitches) and the tempo.
#ifndef ROSLIN_TWV_H
#define ROSLIN_TWV_H

#include "transport_inline.h"

// A query and the segments that it is cut into: notes first[s] to end[s], without the last. Only those that are
// `possible` are looked for. `unit` is the query's unit of time, in quarters; `pitch_unit` are the units in a pitch.
typedef struct {
    const stored_notes *notes;
    int64_t segments;
    const int64_t *first, *end; // [segments]
    const bool *possible;       // [segments]
    double unit, pitch_unit;
} segmented_query;

// Which matches may follow each other: the overlap of two successive segments may differ from that in the query by
// `tolerance`, the gap between them may be wider by `apart`, both in units of time; `agree`: all must have one
// transposition and one tempo.
typedef struct {
    double tolerance, apart;
    bool agree;
} legality;

// The onsets of the first and the last note of each segment of a query, in quarters, and its unit of time.
typedef struct {
    int64_t segments;
    const double *starts, *ends; // [segments]
    double unit;
} segment_spans;

// Queries, end to end, and their segments. Query k has the notes offsets[k] to offsets[k + 1] and the segments
// segment_offsets[k] to segment_offsets[k + 1]; the notes of segments are counted through all queries. `units` are the
// units of time, in quarters; `pitch_unit` are the units in a pitch.
typedef struct {
    const stored_notes *notes;
    int64_t queries, segments;
    const int64_t *offsets;         // [queries + 1]
    const double *units;            // [queries]
    const int64_t *first, *end;     // [segments]
    const int64_t *segment_offsets; // [queries + 1]
    double pitch_unit;
} cut_queries;

// Documents, end to end. For a tonal ground distance, `tables` are the distances of pitches in each key, in units, and
// `keys` the key of the area around each note; both are empty for another.
typedef struct {
    const stored_notes *notes;
    int64_t documents, keyed_notes, table_keys, table_pitches;
    const int64_t *offsets; // [documents + 1]
    const double *tables;   // [table_keys][table_pitches][table_pitches]
    const int64_t *keys;    // [keyed_notes]
} keyed_documents;

// All different coincidence alignments of the segments of a query within the radius, in order of segments; their
// number, or -1 where there is no memory. Only as many as there is room for are written. The table is that of a tonal
// ground distance, 128 x notes of the document; 0 x 0 for another.
int64_t segment_matches(const segmented_query *query, const stored_notes *document, int64_t table_rows,
                        int64_t table_columns, const double table[table_rows][table_columns], const rules *rules,
                        double radius, int64_t room, double found[room][6]);

// The cheapest legal chains of matches, which come in order of segments: sums[a, c] is the least sum of distances of a
// chain of c + 1 matches that ends with match a (infinite: there is none), previous[a, c] the match before it.
void chains(int64_t count, const double found[count][6], int64_t longest, const segment_spans *spans,
            const legality *legality, const bool stop[1], double sums[count][longest],
            int64_t previous[count][longest]);

// The cheapest legal chains for each pair of a query and a document: pair k is query k with document k; where there is
// only one query, or only one document, it is that one always. Of pair k, expected[k] segments would ideally match.
// sums[k, c] is the least sum of distances of a chain of c + 1 matches; largest[0] is the largest distance of any
// match. `possible` is segments x pairs, or 0 x 0 for everywhere.
bool chain_sums(const cut_queries *queries, const keyed_documents *documents, int64_t pairs,
                const int64_t expected[pairs], int64_t possible_rows, int64_t possible_columns,
                const bool possible[possible_rows][possible_columns], const rules *rules, double radius,
                const legality *legality, int64_t longest, double sums[pairs][longest], double largest[1]);

#endif
