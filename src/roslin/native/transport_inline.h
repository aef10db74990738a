// Shared by the kernels of transport: the structs that they take, and lower bounds on the cost of one alignment.
//
// Everything is in the query's frame: times in units from the query's first note, pitches in the same unit. An
// alignment (i, j) puts query point i exactly on document point j. Rows are the points of the lighter melody, all of
// which is moved; columns are those of the heavier. No flow costs less than the largest of
//
// - the cost of the rows if each had the columns for itself (`rows_bound`),
// - the cost of the weight if each column had the rows for itself and the dearest columns stayed empty
//   (`columns_bound`),
// - the weight times the distance of the centres (`centre_shifts`),
// - the cost of the weight that must cross each pitch, at whatever time (`crossing_bound` in align.c).
#ifndef ROSLIN_TRANSPORT_INLINE_H
#define ROSLIN_TRANSPORT_INLINE_H

#include "common.h"

// The ground distances (arguments.py has the same numbers). TABLE: distances of pitches are looked up.
enum { EUCLIDEAN = 0, CITYBLOCK = 1, TABLE = 2 };

// A document, or many end to end, as they are stored: onsets in quarters (rising in each document), pitches and
// weights.
typedef struct {
    int64_t count;
    const double *time, *pitch, *weight; // [count]
} stored_notes;

// How many units there are in a quarter, at tempo 1, and in a pitch: this brings a document into the query's frame.
typedef struct {
    double time_unit, pitch_unit;
} query_frame;

// The points of one melody in the query's frame, in order of time.
typedef struct {
    int64_t count;
    const double *x, *y, *weight; // [count]
    const int64_t *order;         // [count]
} points;

// How melodies are compared. The document is played `tempos` times as fast; weights that are lengths of time then
// shrink with it (`scales_weights`). A unit of query weight without a partner costs `missing` (below 0: see
// `charge_and_base`). `stop` is set when the time is over.
typedef struct {
    int64_t tempo_count;
    const double *tempos; // [tempo_count]
    bool scales_weights;
    double missing;
    int64_t ground;
    const bool *stop; // [1]
} rules;

static inline double smaller(double a, double b) { return b < a ? b : a; }
static inline double larger(double a, double b) { return b > a ? b : a; }

// The sum of some numbers, one after the other.
static inline double total_of(int64_t count, const double *values) {
    double total = 0.0;
    for (int64_t k = 0; k < count; k++) total += values[k];
    return total;
}

// -- order -----------------------------------------------------------------------------------------------------------

// The numbers of some values in rising order, equal ones in the order in which they come. `spare` has room for as many.
static inline void rising_order(int64_t count, const double *values, int64_t *order, int64_t *spare) {
    const int64_t run = 16; // so many are sorted by insertion, then runs are merged
    for (int64_t start = 0; start < count; start += run)
        for (int64_t k = start; k < least(start + run, count); k++) {
            int64_t place = k;
            for (; place > start && values[order[place - 1]] > values[k]; place--) order[place] = order[place - 1];
            order[place] = k;
        }
    for (int64_t length = run; length < count; length *= 2) {
        for (int64_t start = 0; start < count; start += 2 * length) {
            int64_t middle = least(start + length, count), end = least(start + 2 * length, count);
            int64_t a = start, b = middle;
            for (int64_t k = start; k < end; k++)
                spare[k] = b == end || (a < middle && values[order[a]] <= values[order[b]]) ? order[a++] : order[b++];
        }
        memcpy(order, spare, sizeof(int64_t) * (size_t)count);
    }
}

// -- from costs to distances -----------------------------------------------------------------------------------------

// The distance of two melodies is (cost of the flow + charge) / base.
typedef struct {
    bool is_light; // the document is lighter than the query
    double charge, base;
} cost_scale;

// Query weight that finds no partner, because the document is lighter than the query, costs `missing` a unit: that is
// the charge, and the base is the query's weight. A `missing` below 0 stands for the paper's rule: it costs nothing,
// and the base is the weight that was moved, which is that of the lighter of the two.
static inline cost_scale charge_and_base(double query_weight, double document_weight, double missing) {
    bool is_light = document_weight < query_weight;
    double charge = is_light && missing >= 0.0 ? (query_weight - document_weight) * missing : 0.0;
    return (cost_scale){is_light, charge, is_light && missing < 0.0 ? document_weight : query_weight};
}

// The cost that a flow may have for this distance, and a little more, so that no bound exceeds it by rounding alone.
static inline double budget_of(double distance, cost_scale scale, double slack) {
    double budget = distance * scale.base - scale.charge;
    return budget + slack * (1.0 + scale.charge + fabs(budget));
}

// -- bounds of one alignment -----------------------------------------------------------------------------------------

// The distance of two points that are `dx` (not negative) and `dy` from each other.
static inline double apart(double dx, double dy, int64_t ground) {
    return ground == CITYBLOCK ? dx + fabs(dy) : sqrt(dx * dx + dy * dy);
}

// The last of some rising times that is not after x; -1 if there is none. Looks outwards from `guess`.
static inline int64_t last_before(double x, int64_t count, const double *times, int64_t guess) {
    int64_t k = least(most(guess, 0), count - 1);
    while (k < count - 1 && times[k + 1] <= x) k++;
    while (k >= 0 && times[k] > x) k--;
    return k;
}

// Where a weight at one place finds room: as much as `room` goes to the nearest column at `first`, the rest no closer
// than the second at `second`.
typedef struct {
    double first, room, second;
} two_columns;

// The two columns that are nearest to weight w at (x, y). Looks outwards from `guess`, a column near x in time, and
// ends where no column can matter any more: the second may be too far when the nearest has room for all.
static inline two_columns two_nearest(double x, double y, double w, const points *columns, int64_t guess,
                                      int64_t ground) {
    const int64_t count = columns->count;
    int64_t before = last_before(x, count, columns->x, guess), after = before + 1;
    double first = INFINITY, second = INFINITY, room = 0.0;
    double back = before >= 0 ? x - columns->x[before] : INFINITY;
    double ahead = after < count ? columns->x[after] - x : INFINITY;
    while (before >= 0 || after < count) {
        if (smaller(back, ahead) >= (room >= w ? first : second)) break;
        int64_t column;
        double dx;
        if (back <= ahead) {
            column = before--, dx = back;
            back = before >= 0 ? x - columns->x[before] : INFINITY;
        } else {
            column = after++, dx = ahead;
            ahead = after < count ? columns->x[after] - x : INFINITY;
        }
        double away = apart(dx, y - columns->y[column], ground);
        if (away < first) {
            second = first, first = away;
            room = columns->weight[column];
        } else if (away < second) {
            second = away;
        }
    }
    if (room >= w || second == INFINITY) return (two_columns){first, w, first};
    return (two_columns){first, room, second};
}

// The cost of all rows, moved by (x, y), if each had the columns for itself. Rows are taken in their order; the sum
// ends where it exceeds the budget. `lead` is how far the index of a column is ahead of that of the row it is close to.
static inline double rows_bound(const points *rows, const points *columns, double x, double y, int64_t lead,
                                double budget, int64_t ground) {
    double total = 0.0;
    for (int64_t k = 0; k < rows->count; k++) {
        int64_t i = rows->order[k];
        double weight = rows->weight[i];
        two_columns near = two_nearest(rows->x[i] + x, rows->y[i] + y, weight, columns, i + lead, ground);
        total += near.room * near.first + (weight - near.room) * near.second;
        if (total > budget) break;
    }
    return total;
}

// Weight that can be had at a cost per unit.
typedef struct {
    double cost, weight;
} piece;

// The cheapest pieces that make up some amount, in order of cost.
typedef struct {
    double amount;
    piece *pieces;
    int64_t count;
    double weight; // of all of them
} cheapest;

// Whether a piece of this cost would be among the cheapest.
static inline bool is_cheap(const cheapest *found, double cost) {
    return found->weight < found->amount || cost < found->pieces[found->count - 1].cost;
}

// Put a piece among the cheapest; those that are dearer than the amount needs are dropped.
static inline void add_piece(cheapest *found, double cost, double weight) {
    piece *pieces = found->pieces;
    int64_t place = found->count;
    for (; place > 0 && pieces[place - 1].cost > cost; place--) pieces[place] = pieces[place - 1];
    pieces[place] = (piece){cost, weight};
    found->count++;
    found->weight += weight;
    while (found->weight - pieces[found->count - 1].weight >= found->amount)
        found->weight -= pieces[--found->count].weight;
}

static inline double cost_of_amount(const cheapest *found) {
    double total = 0.0, left = found->amount;
    for (int64_t k = 0; k < found->count && left > 0.0; k++) {
        double taken = smaller(found->pieces[k].weight, left);
        total += taken * found->pieces[k].cost;
        left -= taken;
    }
    return total;
}

// The least cost of so much weight when it comes to the columns, moved by (x, y), where it is cheapest: `rows_bound`
// from the other side, where not everything must be matched. `pieces` is room for two for each column.
//
// Columns are taken from the middle of the rows outwards: a column that is farther before or after the rows than the
// dearest of the pieces that make up the amount costs more, and so do those beyond it.
static inline double columns_bound(const points *columns, const points *rows, double x, double y, int64_t lead,
                                   double amount, int64_t ground, piece *pieces) {
    const int64_t m = columns->count, n = rows->count;
    double begin = rows->x[0], end = rows->x[n - 1];
    int64_t after = last_before((begin + end) / 2 - x, m, columns->x, n / 2 - lead) + 1, before = after - 1;
    cheapest found = {amount, pieces, 0, 0.0};
    while (before >= 0 || after < m) {
        double back = before >= 0 ? begin - columns->x[before] - x : INFINITY;
        double ahead = after < m ? columns->x[after] + x - end : INFINITY;
        if (found.weight >= amount && smaller(back, ahead) >= pieces[found.count - 1].cost) break;
        int64_t j = back <= ahead ? before-- : after++;
        double weight = columns->weight[j];
        two_columns near = two_nearest(columns->x[j] + x, columns->y[j] + y, weight, rows, j + lead, ground);
        if (is_cheap(&found, near.first)) add_piece(&found, near.first, near.room);
        if (weight > near.room && is_cheap(&found, near.second)) add_piece(&found, near.second, weight - near.room);
    }
    return cost_of_amount(&found);
}

// `rows_bound` with query point i on document point j; `is_light`: the rows are those of the document.
static inline double pair_bound(const points *query, const points *document, int64_t i, int64_t j, bool is_light,
                                double budget, int64_t ground) {
    double x = document->x[j] - query->x[i], y = document->y[j] - query->y[i];
    return is_light ? rows_bound(document, query, -x, -y, i - j, budget, ground)
                    : rows_bound(query, document, x, y, j - i, budget, ground);
}

// `columns_bound` with query point i on document point j; `amount` is the weight of the lighter melody. `pieces` is
// room for twice as many as the longer melody has notes.
static inline double second_bound(const points *query, const points *document, int64_t i, int64_t j, bool is_light,
                                  double amount, int64_t ground, piece *pieces) {
    double x = document->x[j] - query->x[i], y = document->y[j] - query->y[i];
    return is_light ? columns_bound(query, document, x, y, j - i, amount, ground, pieces)
                    : columns_bound(document, query, -x, -y, i - j, amount, ground, pieces);
}

// -- shifts within reach ---------------------------------------------------------------------------------------------

// The centre of so much weight, taken from one end.
static inline double centre(int64_t count, const double *values, const double *weights, double amount,
                            bool is_from_end) {
    double left = amount, total = 0.0;
    for (int64_t k = 0; k < count; k++) {
        int64_t j = is_from_end ? count - 1 - k : k;
        double taken = smaller(weights[j], left);
        total += taken * values[j];
        left -= taken;
    }
    return total / amount;
}

typedef struct {
    double first, last;
} shift_range;

// Between which shifts the query may be, along one axis; the values of the heavier melody are sorted on it.
//
// `middle` is the centre of the lighter melody, of weight `amount`; with `is_light`, that is the document. The matched
// part of the heavier melody has its centre between that of its first weight and that of its last; moving the lighter
// melody costs at least its weight times the distance of the centres.
static inline shift_range centre_shifts(double middle, bool is_light, int64_t count, const double *heavier,
                                        const double *heavier_weight, double amount, double budget) {
    double first = centre(count, heavier, heavier_weight, amount, false);
    double last = centre(count, heavier, heavier_weight, amount, true);
    if (is_light) return (shift_range){middle - last - budget / amount, middle - first + budget / amount};
    return (shift_range){first - middle - budget / amount, last - middle + budget / amount};
}

#endif
