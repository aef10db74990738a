// The transportation problem, exactly. It is one-sided: every row (a point of the lighter set) ships its whole supply,
// no column receives more than its capacity.
//
//     minimise sum c_ij f_ij   with   sum_j f_ij = a_i,   sum_i f_ij <= b_j,   f_ij >= 0
//     dual:    sum a_i u_i + sum b_j v_j   with   u_i + v_j <= c_ij,   v_j <= 0
//
// 1. First shipment (`add_row`, `ship_first`): u_i is the least cost of row i and v_j is 0, which the dual allows. Each
//    row ships to its cheapest column as far as there is room. If all rows fit, that is the optimum.
// 2. Shortest paths (`ship_rest`): the weight left over goes along shortest paths (Dijkstra over the reduced costs
//    c_ij - u_i - v_j, which are never negative), one row at a time. A path leads from a row to a column, from there to
//    a row that ships to it and could ship elsewhere instead, and so on to a column with room. One search serves
//    several shipments: when a shipment fills its column and empties no path, the search continues from that column.
// 3. Settling the dual (`raise_dual`): after a search of length D, u of a row reached at distance d grows by D - d,
//    and v of a column done at d falls by D - d. Costs of used paths stay u_i + v_j, so the flow is optimal for what
//    it ships.
//
// The value of the dual only grows on the way and never exceeds the optimum. So a caller who needs only values up to a
// limit is told early that there is none.
#include "emd.h"

#include "transport_solver.h"


static int64_t padded(int64_t columns) { return (columns + 3) / 4 * 4; }

// Memory that is divided into parts. At first it is NULL, to find out how much of it is used.
typedef struct {
    char *memory;
    size_t used;
} parts;

static void *part_of(parts *whole, int64_t count, size_t size) {
    void *part = whole->memory ? whole->memory + whole->used : NULL;
    whole->used += ((size_t)count * size + 31) / 32 * 32; // a whole number of the widest vectors
    return part;
}

static void divide(transport_problem *made, int64_t cells, int64_t longest, parts *whole) {
    int64_t line = padded(longest);
    made->cost = part_of(whole, cells, sizeof(double));
    made->flow = part_of(whole, cells, sizeof(double));
    made->holders = part_of(whole, cells, sizeof(int32_t));
    made->next_column = part_of(whole, cells, sizeof(int32_t));
    made->u = part_of(whole, longest, sizeof(double));
    made->v = part_of(whole, line, sizeof(double));
    made->left = part_of(whole, longest, sizeof(double));
    made->room = part_of(whole, longest, sizeof(double));
    made->row_distance = part_of(whole, longest, sizeof(double));
    made->done_distance = part_of(whole, longest, sizeof(double));
    made->held = part_of(whole, longest, sizeof(int64_t));
    made->cheapest = part_of(whole, longest, sizeof(int64_t));
    made->via_column = part_of(whole, longest, sizeof(int64_t));
    made->reached = part_of(whole, longest, sizeof(int64_t));
    made->done = part_of(whole, longest, sizeof(int64_t));
    made->is_reached = part_of(whole, longest, sizeof(bool));
    made->new_rows = part_of(whole, longest, sizeof(stop_over));
    made->moved_x = part_of(whole, longest, sizeof(double));
    made->moved_y = part_of(whole, longest, sizeof(double));
    made->distance = part_of(whole, line, sizeof(double));
    made->price = part_of(whole, line, sizeof(double));
    made->from_row = part_of(whole, line, sizeof(int64_t));
}

bool make_problem(transport_problem *made, int64_t n, int64_t m, const bool *stop) {
    int64_t cells = most(n * padded(m), m * padded(n)), longest = most(n, m);
    parts whole = {NULL, 0};
    *made = (transport_problem){.stop = stop};
    divide(made, cells, longest, &whole);
    whole = (parts){malloc(whole.used + 1), 0};
    if (!whole.memory) return false;
    divide(made, cells, longest, &whole);
    made->memory = whole.memory;
    return true;
}

void free_problem(transport_problem *made) { free(made->memory); }

// -- first shipment ---------------------------------------------------------------------------------------------------

// Columns are compared in four lanes: lane k sees columns k, k + 4, ... One chain of comparisons over all columns would
// wait for itself. A lane is part of as wide a vector as the processor has: four in one, or two and two.
#if defined(__AVX2__)
#define WIDE 4
#else
#define WIDE 2
#endif
typedef double wide __attribute__((vector_size(8 * WIDE), aligned(8), may_alias));
typedef int64_t wide_numbers __attribute__((vector_size(8 * WIDE), aligned(8), may_alias));
#if WIDE == 4
static const wide_numbers first_numbers = {0, 1, 2, 3};
#else
static const wide_numbers first_numbers = {0, 1};
#endif

// `mask ? a : b` without a jump, in vectors and in whole numbers; a mask has all bits or none. Compilers make one
// instruction of it.
#define CHOSEN(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))

typedef struct {
    double value;
    int64_t column;
} found_column;

// The least value that each lane has seen, and the first column of the four that it was in.
typedef struct {
    wide value[4 / WIDE];
    wide_numbers start[4 / WIDE];
} lanes;

static inline lanes no_columns(void) {
    lanes made;
    for (int part = 0; part < 4 / WIDE; part++) {
        made.value[part] = (wide){0} + INFINITY;
        made.start[part] = (wide_numbers){0};
    }
    return made;
}

static inline void look_at(lanes *seen, int part, const wide *values, int64_t start) {
    wide here = *values;
    wide_numbers is_less = here < seen->value[part], now = (wide_numbers){0} + start;
    seen->value[part] = (wide)CHOSEN(is_less, (wide_numbers)here, (wide_numbers)seen->value[part]);
    seen->start[part] = CHOSEN(is_less, now, seen->start[part]);
}

// The first of the least values of a line.
static found_column first_least(int64_t width, const double *values) {
    lanes seen = no_columns();
    for (int64_t start = 0; start < width; start += 4)
        for (int part = 0; part < 4 / WIDE; part++)
            look_at(&seen, part, (const wide *)(values + start + part * WIDE), start);
    double value[4];
    int64_t column[4];
    memcpy(value, seen.value, sizeof value);
    memcpy(column, seen.start, sizeof column);
    found_column first = {value[0], column[0]};
    for (int lane = 1; lane < 4; lane++) {
        column[lane] += lane;
        bool is_first = (value[lane] < first.value) | ((value[lane] == first.value) & (column[lane] < first.column));
        first.column = CHOSEN(-(int64_t)is_first, column[lane], first.column);
        first.value = smaller(first.value, value[lane]);
    }
    return first;
}

void begin_problem(transport_problem *given, int64_t rows, int64_t columns, const double *supply,
                   const double *capacity, double limit) {
    given->rows = rows, given->columns = columns, given->width = padded(columns);
    given->supply = supply, given->capacity = capacity;
    given->dual = 0.0, given->all = 0.0;
    given->abandon = limit + RECOMPUTED * (1.0 + fabs(limit));
    given->is_settled = true;
    memcpy(given->room, capacity, sizeof(double) * (size_t)columns);
}

bool add_row(transport_problem *given, int64_t row) {
    double *cost = given->cost + row * given->width, supply = given->supply[row];
    for (int64_t j = given->columns; j < given->width; j++) cost[j] = INFINITY;
    found_column cheapest = first_least(given->width, cost);
    given->u[row] = cheapest.value;
    given->cheapest[row] = cheapest.column;
    given->room[cheapest.column] -= supply;
    given->is_settled &= given->room[cheapest.column] >= 0.0;
    given->dual += supply * cheapest.value;
    given->all += supply;
    return !(given->dual > given->abandon);
}

static void add_holder(transport_problem *given, int64_t column, int64_t row) {
    given->holders[column * given->rows + given->held[column]++] = (int32_t)row;
}

static void drop_holder(transport_problem *given, int64_t column, int64_t row) {
    int32_t *holders = given->holders + column * given->rows;
    int64_t last = --given->held[column], k = 0;
    while (holders[k] != row) k++;
    holders[k] = holders[last];
}

// Every row ships to its cheapest column what finds room there.
static void ship_first(transport_problem *given) {
    const int64_t rows = given->rows, columns = given->columns, width = given->width;
    given->crumb = given->all * CRUMB;
    memset(given->flow, 0, sizeof(double) * (size_t)(rows * width));
    memset(given->held, 0, sizeof(int64_t) * (size_t)columns);
    memset(given->v, 0, sizeof(double) * (size_t)width);
    memset(given->from_row, 0, sizeof(int64_t) * (size_t)width);
    memset(given->is_reached, 0, (size_t)rows);
    memcpy(given->room, given->capacity, sizeof(double) * (size_t)columns);
    for (int64_t i = 0; i < rows; i++) {
        int64_t j = given->cheapest[i];
        double shipped = smaller(given->supply[i], given->room[j]);
        given->left[i] = given->supply[i];
        if (!(shipped > given->crumb)) continue;
        given->flow[i * width + j] = shipped;
        given->left[i] -= shipped;
        given->room[j] -= shipped;
        add_holder(given, j, i);
    }
}

// -- shortest paths ---------------------------------------------------------------------------------------------------

// Settle a column that is done (-1: none), shorten the ways to all others over some rows, and find the column whose way
// is now the shortest. Of equal ways that of the first lane wins: lanes are compared in pairs.
//
// The done column is settled on the way. To write one number before a vector is read that holds it would mean to wait.
static found_column relax(transport_problem *given, int64_t done, int64_t count, const stop_over *rows) {
    const int64_t width = given->width;
    double *distance = given->distance, *price = given->price;
    int64_t *from_row = given->from_row;
    lanes seen = no_columns();
    for (int64_t start = 0; start < width; start += 4) {
        for (int part = 0; part < 4 / WIDE; part++) {
            int64_t at = start + part * WIDE;
            wide way = *(const wide *)(distance + at), prices = *(const wide *)(price + at);
            wide_numbers from = *(const wide_numbers *)(from_row + at);
            wide_numbers is_done = first_numbers + at == done;
            way = (wide)CHOSEN(is_done, (wide_numbers)((wide){0} + INFINITY), (wide_numbers)way);
            prices = (wide)CHOSEN(is_done, (wide_numbers)((wide){0} - INFINITY), (wide_numbers)prices);
            for (int64_t k = 0; k < count; k++) {
                wide through = rows[k].base + *(const wide *)(rows[k].cost + at) - prices;
                wide_numbers is_shorter = through < way, this_row = (wide_numbers){0} + rows[k].row;
                way = (wide)CHOSEN(is_shorter, (wide_numbers)through, (wide_numbers)way);
                from = CHOSEN(is_shorter, this_row, from);
            }
            *(wide *)(distance + at) = way;
            *(wide *)(price + at) = prices;
            *(wide_numbers *)(from_row + at) = from;
            look_at(&seen, part, &way, start);
        }
    }
    double value[4];
    int64_t column[4];
    memcpy(value, seen.value, sizeof value);
    memcpy(column, seen.start, sizeof column);
    int64_t is_second = -(int64_t)(value[1] < value[0]), is_fourth = -(int64_t)(value[3] < value[2]);
    found_column low = {smaller(value[0], value[1]), CHOSEN(is_second, column[1] + 1, column[0])};
    found_column high = {smaller(value[2], value[3]), CHOSEN(is_fourth, column[3] + 3, column[2] + 2)};
    int64_t is_high = -(int64_t)(high.value < low.value);
    return (found_column){smaller(low.value, high.value), CHOSEN(is_high, high.column, low.column)};
}

// Begin a search: every column is reached from the row itself.
static found_column start_search(transport_problem *given, int64_t row) {
    const int64_t width = given->width;
    memcpy(given->price, given->v, sizeof(double) * (size_t)width);
    for (int64_t j = 0; j < width; j++) given->distance[j] = INFINITY;
    given->is_reached[row] = true;
    given->row_distance[row] = 0.0;
    given->reached[0] = row;
    return relax(given, -1, 1, &(stop_over){row, -given->u[row], cost_row(given, row)});
}

// Ship along the path to a column what row, path and column allow. True: a path was emptied.
static bool ship_along(transport_problem *given, int64_t row, int64_t column) {
    const int64_t width = given->width, *from_row = given->from_row, *via_column = given->via_column;
    double *flow = given->flow, shipped = smaller(given->left[row], given->room[column]);
    for (int64_t r = from_row[column]; r != row; r = from_row[via_column[r]])
        shipped = smaller(shipped, flow[r * width + via_column[r]]);
    given->left[row] -= shipped;
    given->room[column] -= shipped;
    bool is_cut = false;
    for (int64_t j = column;;) {
        int64_t r = from_row[j];
        if (flow[r * width + j] == 0.0) add_holder(given, j, r);
        flow[r * width + j] += shipped;
        if (r == row) return is_cut;
        j = via_column[r];
        flow[r * width + j] -= shipped;
        if (flow[r * width + j] <= given->crumb) {
            flow[r * width + j] = 0.0;
            is_cut = true;
            drop_holder(given, j, r);
        }
    }
}

// How a search went: its length, the rows that were reached and the columns that are done.
typedef struct {
    double reach;
    int64_t rows, columns;
} search;

// Dijkstra from a row to the nearest columns with room. A column that is done has an infinite distance and a price of
// minus infinity, so that nothing shortens the way to it again.
static search find_and_ship(transport_problem *given, int64_t row) {
    search made = {0.0, 1, 0};
    found_column closest = start_search(given, row);
    while (closest.value < INFINITY) {
        int64_t column = closest.column, new_rows = 0;
        made.reach = closest.value;
        if (given->room[column] > given->crumb) {
            bool is_cut = ship_along(given, row, column);
            if (is_cut || given->left[row] <= given->crumb || given->room[column] > given->crumb) return made;
        }
        given->done[made.columns] = column;
        given->done_distance[made.columns++] = made.reach;
        const int32_t *holders = given->holders + column * given->rows;
        for (int64_t k = 0; k < given->held[column]; k++) {
            int64_t r = holders[k];
            if (given->is_reached[r]) continue;
            given->is_reached[r] = true;
            given->reached[made.rows++] = r;
            given->row_distance[r] = made.reach;
            given->via_column[r] = column;
            given->new_rows[new_rows++] = (stop_over){r, made.reach - given->u[r], cost_row(given, r)};
        }
        closest = relax(given, column, new_rows, given->new_rows);
    }
    given->left[row] = 0.0; // no room anywhere: only rounding is left of this row
    return made;
}

// Rows and columns that were passed on the way get the prices that make the shortest paths cost nothing.
static void raise_dual(transport_problem *given, search made) {
    for (int64_t k = 0; k < made.rows; k++) {
        int64_t r = given->reached[k];
        double growth = made.reach - given->row_distance[r];
        given->is_reached[r] = false;
        given->u[r] += growth;
        given->dual += given->supply[r] * growth;
    }
    for (int64_t k = 0; k < made.columns; k++) {
        int64_t j = given->done[k];
        double growth = made.reach - given->done_distance[k];
        given->v[j] -= growth;
        given->dual -= given->capacity[j] * growth;
    }
}

// Ship all that found no room in the cheapest columns. False: the dual exceeds the limit, or the time is over.
static bool ship_rest(transport_problem *given) {
    for (int64_t i = 0; i < given->rows; i++) {
        while (given->left[i] > given->crumb) {
            if (is_stopped(given->stop)) {
                given->dual = INFINITY;
                return false;
            }
            raise_dual(given, find_and_ship(given, i));
            if (given->dual > given->abandon) return false;
        }
    }
    return true;
}

// -- results ----------------------------------------------------------------------------------------------------------

// The sum of all shipments times their costs, row by row, and in each row column by column. Shipments are found by
// column: so the columns of each row are chained first, the last one before the others.
static double cost_of_flow(transport_problem *given) {
    const int64_t rows = given->rows, width = given->width, none = -1;
    int64_t *first = given->via_column; // of each row
    for (int64_t i = 0; i < rows; i++) first[i] = none;
    for (int64_t j = given->columns - 1; j >= 0; j--) {
        for (int64_t k = 0; k < given->held[j]; k++) {
            int64_t i = given->holders[j * rows + k];
            given->next_column[i * width + j] = (int32_t)first[i];
            first[i] = j;
        }
    }
    double total = 0.0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = first[i]; j != none; j = given->next_column[i * width + j])
            total += given->flow[i * width + j] * given->cost[i * width + j];
    return total;
}

double least_cost(transport_problem *given) {
    if (given->is_settled) return given->dual;
    ship_first(given);
    return ship_rest(given) ? cost_of_flow(given) : INFINITY;
}

void write_flow(const transport_problem *solved, double *flow) {
    const int64_t columns = solved->columns;
    memset(flow, 0, sizeof(double) * (size_t)(solved->rows * columns));
    for (int64_t i = 0; i < solved->rows; i++) {
        if (solved->is_settled)
            flow[i * columns + solved->cheapest[i]] = solved->supply[i];
        else
            memcpy(flow + i * columns, solved->flow + i * solved->width, sizeof(double) * (size_t)columns);
    }
}

bool partial_transport(int64_t rows, int64_t columns, const double cost[rows][columns], const double supply[rows],
                       const double capacity[columns], double limit, const bool stop[1], double flow[rows][columns],
                       double found[2]) {
    transport_problem given;
    if (!make_problem(&given, rows, columns, stop)) return false;
    begin_problem(&given, rows, columns, supply, capacity, limit);
    bool is_within = true;
    for (int64_t i = 0; i < rows && is_within; i++) {
        memcpy(cost_row(&given, i), cost[i], sizeof(double) * (size_t)columns);
        is_within = add_row(&given, i);
    }
    double total = is_within ? least_cost(&given) : INFINITY;
    is_within = total < INFINITY;
    found[0] = is_within ? total : given.dual;
    found[1] = is_within;
    if (is_within)
        write_flow(&given, (double *)flow);
    else
        memset(flow, 0, sizeof(double) * (size_t)(rows * columns));
    free_problem(&given);
    return true;
}

void ground_matrix(int64_t count_a, int64_t count_b, const double time_a[count_a], const double pitch_a[count_a],
                   const double time_b[count_b], const double pitch_b[count_b], int64_t ground,
                   double distances[count_a][count_b]) {
    for (int64_t i = 0; i < count_a; i++)
        distances_from(time_a[i], pitch_a[i], count_b, time_b, pitch_b, ground, distances[i]);
}

// -- many pairs -------------------------------------------------------------------------------------------------------

// One point set, each of its lines in one piece of memory.
typedef struct {
    int64_t count;
    double *time, *pitch, *weight;
    double total;
} point_set;

static void gather(point_set *set, const double (*at)[2], const double *weights, int64_t start, int64_t end) {
    set->count = end - start;
    set->total = 0.0;
    for (int64_t i = 0; i < set->count; i++) {
        set->time[i] = at[start + i][0], set->pitch[i] = at[start + i][1], set->weight[i] = weights[start + i];
        set->total += set->weight[i];
    }
}

static void scale_to_one(point_set *set) {
    for (int64_t i = 0; i < set->count; i++) set->weight[i] /= set->total;
}

static double distance_of(const point_set *lighter, const point_set *other, int64_t ground, transport_problem *given) {
    begin_problem(given, lighter->count, other->count, lighter->weight, other->weight, INFINITY);
    for (int64_t i = 0; i < lighter->count; i++) {
        distances_from(lighter->time[i], lighter->pitch[i], other->count, other->time, other->pitch, ground,
                       cost_row(given, i));
        add_row(given, i);
    }
    return least_cost(given);
}

bool emd_pairs(int64_t pairs, int64_t all_a, const double points_a[all_a][2], const double weights_a[all_a],
               const int64_t offsets_a[pairs + 1], int64_t all_b, const double points_b[all_b][2],
               const double weights_b[all_b], const int64_t offsets_b[pairs + 1], int64_t ground, bool is_proportional,
               double distances[pairs]) {
    const bool never = false;
    int64_t longest = 1;
    for (int64_t k = 0; k < pairs; k++) {
        longest = most(longest, offsets_a[k + 1] - offsets_a[k]);
        longest = most(longest, offsets_b[k + 1] - offsets_b[k]);
    }
    transport_problem given;
    double *lines = malloc(sizeof(double) * (size_t)(6 * longest));
    bool has_memory = make_problem(&given, longest, longest, &never) && lines;
    for (int64_t k = 0; has_memory && k < pairs; k++) {
        point_set a = {0, lines, lines + longest, lines + 2 * longest, 0.0};
        point_set b = {0, lines + 3 * longest, lines + 4 * longest, lines + 5 * longest, 0.0};
        gather(&a, points_a, weights_a, offsets_a[k], offsets_a[k + 1]);
        gather(&b, points_b, weights_b, offsets_b[k], offsets_b[k + 1]);
        const point_set *lighter = b.total < a.total ? &b : &a, *other = b.total < a.total ? &a : &b;
        double moved = lighter->total;
        if (is_proportional) {
            scale_to_one(&a);
            scale_to_one(&b);
            moved = 1.0;
        }
        distances[k] = distance_of(lighter, other, ground, &given) / moved;
    }
    free(lines);
    free_problem(&given);
    return has_memory;
}
