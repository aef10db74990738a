// The transportation problem, for the other C files of transport. A problem is given row by row:
//
//     begin_problem(problem, n, m, supply, capacity, limit);
//     for (int64_t i = 0; i < n; i++) {
//         ...                                       fill in cost_row(problem, i)
//         if (!add_row(problem, i)) ...             no flow costs as little as the limit
//     }
//     double cost = least_cost(problem);            infinite: no flow costs as little as the limit
//
// so that no cost is computed once it is known that the limit cannot be met. `emd.c` explains the method.
#ifndef ROSLIN_TRANSPORT_SOLVER_H
#define ROSLIN_TRANSPORT_SOLVER_H

#include "transport_inline.h"

// A row on the way of a search: a way over it to a column costs `base` and the cost of the column less its v.
typedef struct {
    int64_t row;
    double base;
    const double *cost; // of the row
} stop_over;

typedef struct {
    // The problem: the cost of a unit of weight from a row (of the lighter set) to a column, and the weights.
    int64_t rows, columns;
    int64_t width; // of a line: the columns, and as many that cost an infinite amount as fill up the last four
    double *cost;  // rows x width
    const double *supply, *capacity;
    const bool *stop; // set when the time is over: then the least cost is infinite
    // The dual: u of each row, v of each column, its value, and the value above which the problem is given up.
    double *u, *v;
    double dual, abandon;
    // The flow.
    double *flow;         // rows x width: the weight from a row to a column
    int32_t *holders;     // columns x rows: the rows that ship to a column
    int64_t *held;        // of each column: how many these are
    double *left, *room;  // what rows have still to ship, what columns can still take
    int64_t *cheapest;    // of each row: its cheapest column
    double all;           // the sum of all supplies
    double crumb;         // less weight than this is what rounding has left
    bool is_settled;      // every row fits into its cheapest column
    int32_t *next_column; // rows x width: the next column that the row ships to
    // The search for shortest paths.
    double *distance;        // of each column
    double *price;           // of each column: its v, or minus infinity once the column is done
    int64_t *from_row;       // of each column: the row before it on the shortest path
    int64_t *via_column;     // of each row: the column before it
    bool *is_reached;        // of each row
    double *row_distance;    // of each row that was reached
    int64_t *reached, *done; // the rows that were reached, the columns that are done, in order
    double *done_distance;   // of the columns that are done, in that order
    stop_over *new_rows;     // the rows that the last column has made reachable
    double *moved_x, *moved_y; // for `aligned_cost`: where the query is
    void *memory;
} transport_problem;

// Room for problems of up to n rows and m columns, or of m rows and n columns; false when there is no memory. The room
// is given back by `free_problem`, which may also be called when there was none.
extern bool make_problem(transport_problem *made, int64_t n, int64_t m, const bool *stop);
extern void free_problem(transport_problem *made);

// The supplies of the rows must not exceed the capacities of the columns in sum (rounding aside: what finds no room is
// shipped nowhere).
extern void begin_problem(transport_problem *given, int64_t rows, int64_t columns, const double *supply,
                          const double *capacity, double limit);

static inline double *cost_row(transport_problem *given, int64_t row) { return given->cost + row * given->width; }

// The costs of a row are complete. False: every flow costs more than the limit.
extern bool add_row(transport_problem *given, int64_t row);

// The least cost of all rows that were added; infinite when it exceeds the limit. Then `dual` is a bound above it.
extern double least_cost(transport_problem *given);

// Fill in the flow of the least cost: rows x columns.
extern void write_flow(const transport_problem *solved, double *flow);

// Fill in the distances from (x, y) to some points: a row of a cost matrix.
static inline void distances_from(double x, double y, int64_t count, const double *restrict others_x,
                                  const double *restrict others_y, int64_t ground, double *restrict distances) {
    if (ground == CITYBLOCK) {
        for (int64_t j = 0; j < count; j++) distances[j] = fabs(x - others_x[j]) + fabs(y - others_y[j]);
    } else {
        for (int64_t j = 0; j < count; j++) {
            double dx = x - others_x[j], dy = y - others_y[j];
            distances[j] = sqrt(dx * dx + dy * dy);
        }
    }
}

// The least cost (not divided by weight) of moving the lighter melody, the query moved by (x, y); infinite above the
// limit. The table of a ground distance that has one: 128 pitches x notes of the document.
extern double aligned_cost(const points *query, const points *document, double x, double y, double limit,
                           int64_t ground, const double *table, bool is_light, transport_problem *room);

// The row of a table for a pitch that was moved: the nearest that there is.
static inline int64_t table_row(double pitch) { return least(most((int64_t)(pitch + 0.5), 0), 127); }

#endif
