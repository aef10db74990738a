// Melodies side by side: upper bounds of scores in bytes, and scores in 16 bits.
//
// The recurrence of both is that of an alignment: the query's notes are rows, a melody's notes columns, and every
// transposition has a table of its own. A register holds the same place of that table for as many melodies as it has
// lanes; transpositions come one after the other.
//
// What a pair is worth with equal pitches (`equal`), and with others but for their difference (`near`), is the same for
// all transpositions and computed once. A pair of equal pitches is worth at least as much as any other with the same
// rhythm and surroundings (`rounding.check`). So, with `pitch` so large for equal pitches that only `equal` counts,
//
//     worth = min(near + pitch, equal)
//
// Why a bound in bytes is a bound. In 16 bits nothing is rounded. In bytes, with
//
//     pair(i, j)   worth of a pair + the best way to get there: a start here, or way(i - 1, j - 1)
//     way(i, j)    the best of this pair, and of way(i - 1, j) and way(i, j - 1) with one more note left out
//
// everything rises with what pairs are worth, and falls with costs: each step is a sum, a difference with a cost, or a
// maximum. So the result is an upper bound of the score, because
//
// - what a pair is worth is added up in 16 bits without any rounding and then rounded up to a byte of 256 / `scale`
//   units; costs are rounded down (`rounding.plan_of`);
// - of several tempos, the one that fits best counts for every pair of notes, at the price of the cheapest;
// - every note that is left out costs the same: the least of the extension and of all openings. So no gap costs more
//   than in the score, wherever it begins, and one way to each place is enough where the score needs three;
// - behind an alignment that does not end in the last column the lowest end cost of the other columns is taken.
//
// A sum that stops at -128 is raised by that. A sum that stops at 127 is not: that can only be the value of a pair, as
// starts are not above 0. But then `best` is at least 127 less the highest end costs, and a bound from there on is
// UNKNOWN (`limit_of`).
#include "roslin_blocks.h"
#include "lanes.h"
#include "roslin_inline.h"

enum {
    MELODIES = 64, // in a block
    FIELDS = 5,
    INTERVALS = 4, // the last of them
    NO_PITCH = 15,
    NO_NOTE = -127,
    TEMPOS = 4,  // at most
    CLASSES = 12, // of pitches
    ENTRIES = 16, // of a table
    FARTHEST_VALUE = 10, // differences of values from here on are worth the same
    CACHE_LINE = 64,
    TURNS = 3, // transpositions in one sweep
    FARTHEST = -(1 << 28), // nothing can be reached from here
    UNKNOWN = 1 << 28,
};

// -- the query --------------------------------------------------------------------------------------------------------

// A table of 16 numbers of 16 bits, as tables of bytes.
typedef struct {
    int8_t lower[ENTRIES], upper[ENTRIES];
} split_table;

// Tables of the plan in the form that registers look up.
typedef struct {
    const query_plan *plan;
    split_table equal, near, kinds, openings, pitch[CLASSES];
    split_table *labels;         // [different labels]
    split_table *equal_contexts; // [rows]: by which neighbours are the same
    split_table *near_contexts;
} query;

static split_table split(int64_t count, const int16_t *numbers) {
    split_table made = {{0}, {0}};
    for (int64_t k = 0; k < count; k++) {
        made.lower[k] = (int8_t)(numbers[k] & 255);
        made.upper[k] = (int8_t)(numbers[k] >> 8);
    }
    return made;
}

static bool prepare(const query_plan *plan, query *made) {
    made->plan = plan;
    made->equal = split(ENTRIES, plan->equal);
    made->near = split(ENTRIES, plan->near);
    made->kinds = split(ENTRIES, plan->kinds);
    made->openings = split(ENTRIES, plan->kind_openings);
    for (int64_t k = 0; k < plan->classes; k++) made->pitch[k] = split(ENTRIES, plan->pitch + ENTRIES * k);
    made->labels = malloc(sizeof(split_table) * (size_t)(plan->label_count + 2 * plan->rows));
    if (!made->labels) return false;
    made->equal_contexts = made->labels + plan->label_count;
    made->near_contexts = made->equal_contexts + plan->rows;
    for (int64_t k = 0; k < plan->label_count; k++) made->labels[k] = split(ENTRIES, plan->labels + ENTRIES * k);
    for (int64_t row = 0; row < plan->rows; row++) {
        made->equal_contexts[row] = split(4, plan->equal_context + 4 * row);
        made->near_contexts[row] = split(4, plan->near_context + 4 * row);
    }
    return true;
}

// -- the melodies -----------------------------------------------------------------------------------------------------

// Melodies side by side, in a block of the table or copied from it.
typedef struct {
    const int8_t *notes;
    int64_t columns; // notes of the longest
    int64_t filled;  // melodies
    int64_t tempos;  // how many at once
    int8_t shifts[TEMPOS][MELODIES];
    int32_t lengths[MELODIES]; // rising
} block;

// Two indices of prices: notes left out before or after an alignment belong to the shorter of two melodies (0), to the
// longer (1), or to one of two equally long (2).
typedef struct {
    int64_t own, other;
} roles;

static roles roles_of(int64_t size, int64_t length) {
    if (size == length) return (roles){2, 2};
    return size < length ? (roles){0, 1} : (roles){1, 0};
}

// Of [3][longest + 1]: the price of some notes left out.
static int16_t price(const query_plan *plan, const int16_t *prices, int64_t role, int64_t left_out) {
    return prices[role * (plan->longest + 1) + least(most(left_out, 0), plan->longest)];
}

// From here on, a value may have been more than the lanes hold. The value of some pair has then been the most, and what
// was found is at least that less what was left out behind it.
static int64_t limit_of(const query_plan *plan, int64_t length) {
    roles both = roles_of(plan->size, length);
    return plan->most - price(plan, plan->highest_ends, both.own, plan->size - 1) -
           price(plan, plan->highest_ends, both.other, length - 1);
}

// -- scratch ----------------------------------------------------------------------------------------------------------

// What one row needs at each column: lines of one register for each column in bytes, of two in 16 bits.
typedef struct {
    int8_t *equal, *near, *start;
    int8_t *opening; // in bytes
    int8_t *end;     // in 16 bits
} row_lines;

// Room for one register of melodies. A line has `line` bytes, a price of a row `step`.
typedef struct {
    int64_t step, line, sum_line;
    void *memory;
    row_lines rows[2];
    int8_t *pitch;    // [12] lines: the worth of pitches
    int8_t *opening;  // a line: of the column
    int8_t *start, *end; // a line: what is left out before and after the column
    int8_t *row_start, *row_end; // [rows]: before and after the row
    int8_t *above, *gaps; // [turns] lines of the last row: the best way to each column, and that in a gap
    int16_t *equal, *near, *labels; // [different values or labels] lines of two registers of shorts
} room;

static bool make_room(const query_plan *plan, int64_t columns, bool is_wide, room *made) {
    made->step = is_wide ? 2 * BYTES : BYTES;
    made->line = columns * made->step;
    made->sum_line = columns * BYTES; // shorts
    int64_t lines = CLASSES + 3 + 2 * 4 + 2 * plan->turn_count, sums = 2 * plan->value_count + plan->label_count;
    int64_t bytes = lines * made->line + 2 * plan->rows * made->step + 2 * sums * made->sum_line;
    made->memory = malloc((size_t)(bytes + CACHE_LINE));
    if (!made->memory) return false;
    // Registers that lie in two lines of the cache are slower.
    int8_t *at = (int8_t *)made->memory + CACHE_LINE - (uintptr_t)made->memory % CACHE_LINE;
    made->equal = (int16_t *)at;
    made->near = made->equal + plan->value_count * made->sum_line;
    made->labels = made->near + plan->value_count * made->sum_line;
    at += 2 * sums * made->sum_line;
    int8_t **first[] = {&made->opening, &made->start, &made->end};
    for (int64_t k = 0; k < 3; k++, at += made->line) *first[k] = at;
    for (int64_t k = 0; k < 2; k++, at += 4 * made->line) {
        int8_t *last = at + 3 * made->line;
        made->rows[k] = (row_lines){at, at + made->line, at + 2 * made->line, last, last};
    }
    made->pitch = at;
    made->above = made->pitch + CLASSES * made->line;
    made->gaps = made->above + plan->turn_count * made->line;
    made->row_start = made->gaps + plan->turn_count * made->line;
    made->row_end = made->row_start + plan->rows * made->step;
    return true;
}

// -- what pairs and gaps are worth ------------------------------------------------------------------------------------

// Two registers of shorts, for one register of bytes.
typedef struct {
    shorts low, high;
} sums;

static inline sums add_sums(sums a, sums b) {
    return (sums){add_shorts(a.low, b.low), add_shorts(a.high, b.high)};
}
static inline sums load_sums(const int16_t *from) { return (sums){load_shorts(from), load_shorts(from + SHORTS)}; }
static inline void store_sums(int16_t *to, sums a) {
    store_shorts(to, a.low);
    store_shorts(to + SHORTS, a.high);
}
// A table of 16 numbers of 16 bits in registers.
typedef struct {
    bytes lower, upper;
} wide_table;

static inline wide_table load_wide(const split_table *table) {
    return (wide_table){load_table(table->lower), load_table(table->upper)};
}
static inline sums look_up_sums(wide_table table, bytes indices) {
    bytes lower = look_up(table.lower, indices), upper = look_up(table.upper, indices);
    return (sums){join_low(lower, upper), join_high(lower, upper)};
}

// Write the entries of a table: a register of bytes, which hold all of them, or two of shorts.
static inline void put_entries(wide_table table, bytes indices, bool is_wide, int8_t *to) {
    if (is_wide)
        store_sums((int16_t *)to, look_up_sums(table, indices));
    else
        store_bytes(to, look_up(table.lower, indices));
}

// Write sums: their upper bytes, or all.
static inline void put_sums(sums found, bool is_wide, int8_t *to) {
    if (is_wide)
        store_sums((int16_t *)to, found);
    else
        store_bytes(to, upper_bytes(found.low, found.high));
}

static inline bytes magnitude(bytes a) { return max_bytes(a, subtract_bytes(spread_byte(0), a)); }

// The smallest difference of a value of the query from those of the melodies, over all tempos.
static inline bytes distance(const block *melodies, int64_t lane, bytes values, int8_t wanted) {
    bytes found = spread_byte(FARTHEST_VALUE), apart = subtract_bytes(values, spread_byte(wanted));
    if (melodies->tempos == TEMPOS) { // double and half: 4 more or less, whichever is nearer
        bytes by_medians = magnitude(subtract_bytes(apart, load_bytes(melodies->shifts[1] + lane)));
        bytes as_written = magnitude(apart), other = magnitude(subtract_bytes(as_written, spread_byte(4)));
        return min_bytes(min_bytes(found, by_medians), min_bytes(as_written, other));
    }
    for (int64_t tempo = 0; tempo < melodies->tempos; tempo++)
        found = min_bytes(found, magnitude(subtract_bytes(apart, load_bytes(melodies->shifts[tempo] + lane))));
    return found;
}

// One line for each column: the entry of a table for what a field of the notes has there.
static inline void fill_entries(const split_table *table, const int8_t *field, int64_t columns, bool is_wide,
                                int8_t *to) {
    wide_table entries = load_wide(table);
    for (int64_t j = 0; j < columns; j++)
        put_entries(entries, load_bytes(field + j * MELODIES), is_wide, to + j * (is_wide ? 2 * BYTES : BYTES));
}

// What depends on the melodies and on the different pitches, values and labels of the query.
static inline void fill_columns(const query *asked, const block *melodies, int64_t lane, const room *scratch,
                                bool is_wide) {
    const query_plan *plan = asked->plan;
    int64_t columns = melodies->columns, field = columns * MELODIES;
    const int8_t *pitches = melodies->notes + lane, *values = pitches + field, *kinds = values + field;
    const int8_t *labels = kinds + field;
    for (int64_t k = 0; k < plan->classes; k++)
        fill_entries(&asked->pitch[k], pitches, columns, is_wide, scratch->pitch + k * scratch->line);
    for (int64_t k = 0; k < plan->label_count; k++)
        fill_entries(&asked->labels[k], labels, columns, true, (int8_t *)(scratch->labels + k * scratch->sum_line));
    if (is_wide) fill_entries(&asked->openings, kinds, columns, true, scratch->opening);
    wide_table of_equal = load_wide(&asked->equal), of_near = load_wide(&asked->near);
    wide_table of_kind = load_wide(&asked->kinds);
    for (int64_t k = 0; k < plan->value_count; k++) {
        int16_t *equal = scratch->equal + k * scratch->sum_line, *near = scratch->near + k * scratch->sum_line;
        for (int64_t j = 0; j < columns; j++) {
            bytes apart = distance(melodies, lane, load_bytes(values + j * MELODIES), plan->values[k]);
            sums kind = look_up_sums(of_kind, load_bytes(kinds + j * MELODIES));
            store_sums(equal + j * BYTES, add_sums(look_up_sums(of_equal, apart), kind));
            store_sums(near + j * BYTES, look_up_sums(of_near, apart));
        }
    }
}

// What pairs of one row are worth.
static inline void fill_row(const query *asked, const block *melodies, int64_t lane, const room *scratch, int64_t row,
                            const row_lines *to, bool is_wide) {
    const query_plan *plan = asked->plan;
    const int16_t *equal = scratch->equal + plan->value_of[row] * scratch->sum_line;
    const int16_t *near = scratch->near + plan->value_of[row] * scratch->sum_line;
    const int16_t *labels = scratch->labels + plan->label_of[row] * scratch->sum_line;
    const int8_t *intervals = melodies->notes + INTERVALS * melodies->columns * MELODIES + lane;
    bytes zero = spread_byte(0), one = spread_byte(1), two = spread_byte(2);
    bytes before = spread_byte(plan->intervals[row]), after = spread_byte(plan->intervals[row + 1]);
    wide_table equal_contexts = load_wide(&asked->equal_contexts[row]);
    wide_table near_contexts = load_wide(&asked->near_contexts[row]);
    row_lines lines = *to;
    const int64_t step = is_wide ? 2 * BYTES : BYTES;
    bytes here = load_bytes(intervals);
    for (int64_t j = 0, columns = melodies->columns; j < columns; j++) {
        bytes following = load_bytes(intervals + (j + 1) * MELODIES);
        bytes same = where_equal_bytes(here, before, one, zero);
        same = add_bytes(same, where_equal_bytes(following, after, two, zero));
        sums label = load_sums(labels + j * BYTES);
        sums of_equal = add_sums(look_up_sums(equal_contexts, same), label);
        sums of_near = add_sums(look_up_sums(near_contexts, same), label);
        put_sums(add_sums(of_equal, load_sums(equal + j * BYTES)), is_wide, lines.equal + j * step);
        put_sums(add_sums(of_near, load_sums(near + j * BYTES)), is_wide, lines.near + j * step);
        here = following;
    }
}

// -- what is left out at the ends -------------------------------------------------------------------------------------

// The different lengths of melodies side by side. The price of notes left out at an end depends on a melody's length
// alone, so where a register has few lengths, a table of prices by length is enough.
typedef struct {
    int64_t count; // more than ENTRIES: too many for a table
    bytes shorter; // by how many notes each is shorter than the longest
    int64_t length[BYTES];
    roles both[BYTES]; // of each length, or of each melody where there are too many
} lengths;

static lengths lengths_of(const query_plan *plan, const block *melodies, int64_t lane) {
    lengths made;
    int8_t shorter[BYTES];
    made.count = melodies->columns - melodies->lengths[lane] + 1;
    for (int64_t k = 0; k < BYTES; k++) shorter[k] = (int8_t)(melodies->columns - melodies->lengths[lane + k]);
    made.shorter = load_bytes(shorter);
    for (int64_t k = 0; k < (made.count > ENTRIES ? BYTES : made.count); k++) {
        made.length[k] = made.count > ENTRIES ? melodies->lengths[lane + k] : melodies->columns - k;
        made.both[k] = roles_of(plan->size, made.length[k]);
    }
    return made;
}

// Write a price for each melody: the only one, one of each length, or one of each melody where there are too many.
static inline void put_prices(const lengths *known, const int16_t *prices, bool is_wide, int8_t *to) {
    if (known->count == 1) {
        shorts all = spread_short(prices[0]);
        if (is_wide)
            store_sums((int16_t *)to, (sums){all, all});
        else
            store_bytes(to, spread_byte((int8_t)prices[0]));
    } else if (known->count <= ENTRIES) {
        split_table table = split(known->count, prices);
        put_entries(load_wide(&table), known->shorter, is_wide, to);
    } else {
        int8_t lower[BYTES], upper[BYTES];
        for (int64_t k = 0; k < BYTES; k++) {
            lower[k] = (int8_t)(prices[k] & 255);
            upper[k] = (int8_t)(prices[k] >> 8);
        }
        bytes low = load_bytes(lower), high = load_bytes(upper);
        if (is_wide)
            store_sums((int16_t *)to, (sums){join_low(low, high), join_high(low, high)});
        else
            store_bytes(to, low);
    }
}

// The prices of what is left out before and after each column and each row.
static inline void fill_ends(const query_plan *plan, const block *melodies, int64_t lane, const room *scratch,
                             bool is_wide) {
    lengths known = lengths_of(plan, melodies, lane);
    int64_t count = known.count > ENTRIES ? BYTES : known.count;
    int16_t starts[BYTES], ends[BYTES];
    for (int64_t j = 0; j < melodies->columns; j++) {
        for (int64_t k = 0; k < count; k++) {
            starts[k] = price(plan, plan->starts, known.both[k].other, j);
            ends[k] = price(plan, plan->ends, known.both[k].other, known.length[k] - 1 - j);
        }
        put_prices(&known, starts, is_wide, scratch->start + j * scratch->step);
        put_prices(&known, ends, is_wide, scratch->end + j * scratch->step);
    }
    for (int64_t i = 0; i < plan->rows; i++) {
        for (int64_t k = 0; k < count; k++) {
            starts[k] = price(plan, plan->starts, known.both[k].own, i);
            ends[k] = price(plan, plan->ends, known.both[k].own, plan->size - 1 - i);
        }
        put_prices(&known, starts, is_wide, scratch->row_start + i * scratch->step);
        put_prices(&known, ends, is_wide, scratch->row_end + i * scratch->step);
    }
}

// -- bounds in bytes --------------------------------------------------------------------------------------------------

// One row of one transposition, at some column: the best way to the column before, and that one row above.
typedef struct {
    bytes way, diagonal;
} bound_state;

// What a place of a row needs, whatever the transposition.
typedef struct {
    bytes equal, near, start;
} bound_place;

static inline bound_place load_place(const row_lines *lines, int64_t at) {
    return (bound_place){load_bytes(lines->equal + at), load_bytes(lines->near + at), load_bytes(lines->start + at)};
}

// One place of a bound: the best that ends with this pair. `above` is the best way one row above.
static inline bytes bound_cell(bound_state *row, bytes above, bytes pitch, const bound_place *place, bytes gap) {
    bytes worth = min_bytes(add_bytes(place->near, pitch), place->equal);
    bytes pair = add_bytes(max_bytes(row->diagonal, place->start), worth);
    row->way = max_bytes(pair, subtract_bytes(max_bytes(row->way, above), gap));
    row->diagonal = above;
    return pair;
}

// Some transpositions of two rows, from one column to the next.
typedef struct {
    row_lines rows[2];
    int64_t line;
    const int8_t *pitch[2][TURNS];
    int8_t *ways;
    bound_state state[2][TURNS];
} bound_sweep;

// One column of them; what the best pair of each row is, is raised.
static inline void bound_column(bound_sweep *turns, int64_t at, bytes gap, bytes best[2]) {
    bound_place upper = load_place(&turns->rows[0], at), lower = load_place(&turns->rows[1], at);
    for (int t = 0; t < TURNS; t++) {
        int8_t *way = turns->ways + t * turns->line + at;
        bound_state *above = &turns->state[0][t], *below = &turns->state[1][t];
        bytes first = bound_cell(above, load_bytes(way), load_bytes(turns->pitch[0][t] + at), &upper, gap);
        bytes second = bound_cell(below, above->way, load_bytes(turns->pitch[1][t] + at), &lower, gap);
        best[0] = max_bytes(best[0], first);
        best[1] = max_bytes(best[1], second);
        store_bytes(way, below->way);
    }
}

// The highest pair of two rows in the last column, and in all others.
typedef struct {
    bytes last[2], others[2];
} highest;

static highest bound_two_rows(const query *asked, int64_t columns, const room *scratch, int64_t row) {
    const query_plan *plan = asked->plan;
    bytes nothing = spread_byte(-128), gap = spread_byte((int8_t)plan->extension);
    highest found = {{nothing, nothing}, {nothing, nothing}};
    for (int64_t first = 0; first < plan->turn_count; first += TURNS) {
        bound_sweep turns = {
            {scratch->rows[0], scratch->rows[1]}, scratch->line, .ways = scratch->above + first * scratch->line};
        for (int t = 0; t < TURNS; t++) {
            for (int k = 0; k < 2; k++) {
                int64_t key = (plan->pitches[row + k] + plan->turns[first + t]) % plan->classes;
                turns.pitch[k][t] = scratch->pitch + key * scratch->line;
                turns.state[k][t] = (bound_state){nothing, nothing};
            }
        }
        int64_t last = (columns - 1) * BYTES;
        for (int64_t at = 0; at < last; at += BYTES) bound_column(&turns, at, gap, found.others);
        bound_column(&turns, last, gap, found.last);
    }
    return found;
}

// Upper bounds for one register of melodies.
static void bound_piece(const query *asked, const block *melodies, int64_t lane, const room *scratch, int8_t *found) {
    const query_plan *plan = asked->plan;
    int64_t columns = melodies->columns;
    fill_columns(asked, melodies, lane, scratch, false);
    fill_ends(plan, melodies, lane, scratch, false);
    bytes zero = spread_byte(0), best = spread_byte(-128);
    bytes last = load_bytes(scratch->end + (columns - 1) * BYTES), rest = load_bytes(scratch->end);
    for (int64_t j = 1; j < columns - 1; j++) rest = min_bytes(rest, load_bytes(scratch->end + j * BYTES));
    memset(scratch->above, -128, (size_t)(plan->turn_count * scratch->line));
    for (int64_t row = 0; row < plan->rows; row += 2) {
        for (int64_t k = 0; k < 2; k++) {
            const row_lines *lines = &scratch->rows[k];
            fill_row(asked, melodies, lane, scratch, row + k, lines, false);
            bytes start = subtract_bytes(zero, load_bytes(scratch->row_start + (row + k) * BYTES));
            for (int64_t at = 0; at < columns * BYTES; at += BYTES)
                store_bytes(lines->start + at, subtract_bytes(start, load_bytes(scratch->start + at)));
        }
        highest high = bound_two_rows(asked, columns, scratch, row);
        for (int64_t k = 0; k < 2; k++) {
            bytes end = load_bytes(scratch->row_end + (row + k) * BYTES);
            best = max_bytes(best, subtract_bytes(high.last[k], add_bytes(end, last)));
            best = max_bytes(best, subtract_bytes(high.others[k], add_bytes(end, rest)));
        }
    }
    store_bytes(found + lane, best);
}

// -- scores in 16 bits ------------------------------------------------------------------------------------------------
//
//     way(i, j)     the best way to here: a pair, or a note left out
//     skipped       the melody's note j is left out: `opening` for the first, `extension` for more
//     hanging(j)    the query's note i is left out

// One row of one transposition, at some column.
typedef struct {
    shorts way, skipped, diagonal;
} score_state;

// What a place of a row needs, whatever the transposition.
typedef struct {
    shorts equal, near, start, end, opening, row_opening, extension;
} score_place;

// One place of a table: the best way to here. `above` is that one row above.
static inline void score_cell(score_state *row, shorts above, shorts *hanging, shorts *best, shorts pitch,
                              const score_place *place) {
    shorts worth = min_shorts(add_shorts(place->near, pitch), place->equal);
    shorts pair = add_shorts(max_shorts(row->diagonal, place->start), worth);
    *best = max_shorts(*best, subtract_shorts(pair, place->end));
    shorts skipped = subtract_shorts(row->skipped, place->extension);
    shorts hangs = subtract_shorts(*hanging, place->extension);
    row->skipped = max_shorts(subtract_shorts(row->way, place->opening), skipped);
    *hanging = max_shorts(subtract_shorts(above, place->row_opening), hangs);
    row->way = max_shorts(pair, max_shorts(row->skipped, *hanging));
    row->diagonal = above;
}

static inline shorts load_at(const int8_t *line, int64_t at) { return load_shorts((const int16_t *)(line + at)); }

// Two rows for one half of the melodies of a register of bytes, which begins `half` bytes from that of a column.
static shorts align_rows(const query *asked, int64_t columns, const room *scratch, int64_t row, int64_t half,
                         shorts best) {
    const query_plan *plan = asked->plan;
    shorts nothing = spread_short(-32768);
    const row_lines rows[2] = {scratch->rows[0], scratch->rows[1]};
    const int64_t line = scratch->line;
    const int8_t *openings = scratch->opening;
    score_place places[2];
    for (int k = 0; k < 2; k++) {
        places[k].extension = spread_short((int16_t)plan->extension);
        places[k].row_opening = spread_short(plan->openings[row + k]);
    }
    for (int64_t first = 0; first < plan->turn_count; first += TURNS) {
        const int8_t *pitch[2][TURNS];
        score_state state[2][TURNS];
        for (int t = 0; t < TURNS; t++) {
            for (int k = 0; k < 2; k++) {
                int64_t key = (plan->pitches[row + k] + plan->turns[first + t]) % plan->classes;
                pitch[k][t] = scratch->pitch + key * scratch->line;
                state[k][t] = (score_state){nothing, nothing, nothing};
            }
        }
        int8_t *ways = scratch->above + first * scratch->line, *hangs = scratch->gaps + first * scratch->line;
        for (int64_t j = 0; j < columns; j++) {
            int64_t at = j * 2 * BYTES + half;
            for (int k = 0; k < 2; k++) {
                places[k].equal = load_at(rows[k].equal, at);
                places[k].near = load_at(rows[k].near, at);
                places[k].start = load_at(rows[k].start, at);
                places[k].end = load_at(rows[k].end, at);
                places[k].opening = load_at(openings, at);
            }
            for (int t = 0; t < TURNS; t++) {
                int64_t here = t * line + at;
                shorts above = load_at(ways, here), hanging = load_at(hangs, here);
                score_cell(&state[0][t], above, &hanging, &best, load_at(pitch[0][t], at), &places[0]);
                score_cell(&state[1][t], state[0][t].way, &hanging, &best, load_at(pitch[1][t], at), &places[1]);
                store_shorts((int16_t *)(ways + here), state[1][t].way);
                store_shorts((int16_t *)(hangs + here), hanging);
            }
        }
    }
    return best;
}

// The scores of one register of melodies.
static void align_piece(const query *asked, const block *melodies, int64_t lane, const room *scratch, int16_t *found) {
    const query_plan *plan = asked->plan;
    int64_t columns = melodies->columns;
    fill_columns(asked, melodies, lane, scratch, true);
    fill_ends(plan, melodies, lane, scratch, true);
    shorts zero = spread_short(0), nothing = spread_short(-32768);
    sums best = {nothing, nothing};
    for (int64_t at = 0; at < plan->turn_count * scratch->line; at += BYTES) {
        store_shorts((int16_t *)(scratch->above + at), nothing);
        store_shorts((int16_t *)(scratch->gaps + at), nothing);
    }
    for (int64_t row = 0; row < plan->rows; row += 2) {
        for (int64_t k = 0; k < 2; k++) {
            const row_lines *lines = &scratch->rows[k];
            fill_row(asked, melodies, lane, scratch, row + k, lines, true);
            for (int64_t at = 0; at < columns * 2 * BYTES; at += BYTES) {
                int64_t half = at % (2 * BYTES), price = (row + k) * scratch->step + half;
                shorts start = subtract_shorts(zero, load_at(scratch->row_start, price));
                shorts end = load_at(scratch->row_end, price);
                store_shorts((int16_t *)(lines->start + at), subtract_shorts(start, load_at(scratch->start, at)));
                store_shorts((int16_t *)(lines->end + at), add_shorts(end, load_at(scratch->end, at)));
            }
        }
        best.low = align_rows(asked, columns, scratch, row, 0, best.low);
        best.high = align_rows(asked, columns, scratch, row, BYTES, best.high);
    }
    int8_t lower[BYTES], upper[BYTES];
    store_bytes(lower, lower_bytes(best.low, best.high));
    store_bytes(upper, upper_bytes(best.low, best.high));
    for (int64_t k = 0; k < BYTES; k++) found[lane + k] = (int16_t)((uint8_t)lower[k] | (uint8_t)upper[k] << 8);
}

// -- blocks -----------------------------------------------------------------------------------------------------------

// All that a kernel needs to work off one block after another.
typedef struct {
    query asked;
    bool is_wide;
    room scratch;
    int32_t units[256]; // of each byte from -128 on: the exact score, rounded down, as a whole one cannot lie between
    int8_t *copied;     // [(5 * longest + 1) * 64]: melodies that are not side by side in the table
    block melodies;
} work;

static bool begin(work *made, const query_plan *plan, int64_t longest, bool is_wide, bool copies) {
    *made = (work){.is_wide = is_wide};
    for (int64_t k = 0; k < 256; k++) made->units[k] = (int32_t)floor_div((k - 128) * plan->unit, plan->scale);
    if (copies && !(made->copied = calloc((size_t)(FIELDS * longest + 1), MELODIES))) return false;
    return prepare(plan, &made->asked) && make_room(plan, longest, is_wide, &made->scratch);
}

static void end(work *made) {
    free(made->copied);
    free(made->asked.labels);
    free(made->scratch.memory);
}

// Write a bound or a score for each of the melodies side by side.
static void find(const work *of, int32_t found[MELODIES]) {
    int8_t in_bytes[MELODIES];
    int16_t in_shorts[MELODIES];
    const block *melodies = &of->melodies;
    for (int64_t lane = 0; lane < melodies->filled && melodies->columns > 0; lane += BYTES) {
        if (of->is_wide)
            align_piece(&of->asked, melodies, lane, &of->scratch, in_shorts);
        else
            bound_piece(&of->asked, melodies, lane, &of->scratch, in_bytes);
    }
    int64_t length = 0, limit = 0;
    for (int64_t k = 0; k < melodies->filled; k++) {
        if (melodies->lengths[k] != length) limit = limit_of(of->asked.plan, length = melodies->lengths[k]);
        if (length == 0) {
            found[k] = FARTHEST;
            continue;
        }
        int64_t best = of->is_wide ? in_shorts[k] : in_bytes[k];
        found[k] = best >= limit ? UNKNOWN : of->is_wide ? (int32_t)best : of->units[best + 128];
    }
}

// All tempos at once for one of the melodies side by side.
static void take_tempos(const query_plan *plan, int64_t lane, int64_t median, block *melodies) {
    melodies->tempos = least(plan->tempos, TEMPOS);
    for (int64_t tempo = 0; tempo < melodies->tempos; tempo++)
        melodies->shifts[tempo][lane] = (int8_t)shift_of(tempo, median - plan->median);
}

// Have the notes of a block fetched from memory while another is worked on.
static void fetch(const melody_blocks *blocks, int64_t number) {
    for (int64_t at = blocks->starts[number]; at < blocks->starts[number + 1]; at += CACHE_LINE)
        __builtin_prefetch(blocks->notes + at);
}

static bool over_blocks(const query_plan *plan, const melody_blocks *blocks, int64_t n, const int64_t *numbers,
                        int32_t (*bounds)[MELODIES], bool is_wide) {
    int64_t longest = 0;
    for (int64_t k = 0; k < n; k++) longest = most(longest, blocks->lengths[numbers[k] * MELODIES + MELODIES - 1]);
    work of;
    bool has_memory = begin(&of, plan, longest, is_wide, false);
    for (int64_t k = 0; has_memory && k < n; k++) {
        block *melodies = &of.melodies;
        const int32_t *all_lengths = blocks->lengths + numbers[k] * MELODIES;
        memcpy(melodies->lengths, all_lengths, sizeof melodies->lengths);
        for (int64_t lane = 0; lane < MELODIES; lane++)
            take_tempos(plan, lane, blocks->tempos[numbers[k] * MELODIES + lane], melodies);
        melodies->notes = blocks->notes + blocks->starts[numbers[k]];
        melodies->columns = all_lengths[MELODIES - 1];
        melodies->filled = MELODIES;
        if (k + 1 < n) fetch(blocks, numbers[k + 1]);
        find(&of, bounds[k]);
        for (int64_t lane = 0; lane < MELODIES; lane++) bounds[k][lane] -= (int32_t)plan->cheapest;
    }
    end(&of);
    return has_memory;
}

// The notes of one melody: where they are, and how far its fields and its notes are from one another.
typedef struct {
    const int8_t *first;
    int64_t field, note, length;
} melody_notes;

static melody_notes notes_at(const melody_blocks *blocks, int64_t place) {
    int64_t number = place / MELODIES;
    int64_t field = MELODIES * (int64_t)blocks->lengths[number * MELODIES + MELODIES - 1];
    return (melody_notes){blocks->notes + blocks->starts[number] + place % MELODIES, field, MELODIES,
                          blocks->lengths[place]};
}

// Copy one melody into one lane of the melodies side by side.
static void copy_melody(melody_notes melody, int64_t columns, int8_t *notes, int64_t lane) {
    for (int64_t field = 0; field < FIELDS; field++) {
        int8_t *to = notes + field * columns * MELODIES + lane;
        const int8_t *from = melody.first + field * melody.field;
        for (int64_t j = 0; j < melody.length; j++) to[j * MELODIES] = from[j * melody.note];
        int8_t empty = field == 0 ? NO_PITCH : field == INTERVALS ? NO_NOTE : 0;
        for (int64_t j = melody.length; j < columns + (field == INTERVALS); j++) to[j * MELODIES] = empty;
    }
}

// The lanes behind the last melody have no notes.
static void leave_empty(block *melodies, int8_t *notes) {
    for (int64_t lane = melodies->filled; lane < MELODIES; lane++) {
        melodies->lengths[lane] = (int32_t)melodies->columns;
        for (int64_t j = 0; j < melodies->columns; j++) notes[j * MELODIES + lane] = NO_PITCH;
    }
    melodies->notes = notes;
}

// One melody at one tempo.
typedef struct {
    int64_t number, price;
} job;

// Fill the lanes with the next melodies and tempos. `at` is melody * tempos + tempo; where to go on is returned.
static int64_t fill_lanes(work *of, const melody_blocks *blocks, int64_t n, const int64_t *places, int64_t at,
                          job jobs[MELODIES]) {
    const query_plan *plan = of->asked.plan;
    block *melodies = &of->melodies;
    melodies->filled = melodies->columns = 0;
    melodies->tempos = 1;
    for (; at < n * plan->tempos && melodies->filled < MELODIES; at++) {
        int64_t k = at / plan->tempos, tempo = at % plan->tempos, lane = melodies->filled;
        int64_t difference = blocks->tempos[places[k]] - plan->median;
        if (!blocks->lengths[places[k]] || !is_needed(tempo, difference, plan->tempos, plan->tempo_prices)) continue;
        jobs[lane] = (job){k, plan->tempo_prices[tempo]};
        melodies->shifts[0][lane] = (int8_t)shift_of(tempo, difference);
        melodies->lengths[lane] = blocks->lengths[places[k]];
        melodies->columns = melodies->lengths[lane];
        melodies->filled++;
    }
    for (int64_t lane = 0; lane < melodies->filled; lane++) {
        melody_notes melody = notes_at(blocks, places[jobs[lane].number]);
        if (lane && jobs[lane].number == jobs[lane - 1].number) { // a copy is in the processor's cache
            melody.first = of->copied + lane - 1;
            melody.field = melodies->columns * MELODIES;
        }
        copy_melody(melody, melodies->columns, of->copied, lane);
    }
    leave_empty(melodies, of->copied);
    return at;
}

static bool over_melodies(const query_plan *plan, const melody_blocks *blocks, int64_t n, const int64_t *places,
                          int32_t *scores, bool is_wide) {
    work of;
    bool has_memory = begin(&of, plan, n ? blocks->lengths[places[n - 1]] : 0, is_wide, true);
    for (int64_t k = 0; k < n; k++) scores[k] = FARTHEST;
    for (int64_t at = 0; has_memory && at < n * plan->tempos;) {
        job jobs[MELODIES];
        int32_t found[MELODIES];
        at = fill_lanes(&of, blocks, n, places, at, jobs);
        find(&of, found);
        for (int64_t lane = 0; lane < of.melodies.filled; lane++) {
            int32_t score = found[lane] == UNKNOWN ? UNKNOWN : found[lane] - (int32_t)jobs[lane].price;
            int32_t *best = scores + jobs[lane].number;
            *best = score > *best ? score : *best;
        }
    }
    end(&of);
    return has_memory;
}

// -- the same notes ---------------------------------------------------------------------------------------------------

// Which melodies have these intervals, the first of them at the line that is given: 1, otherwise 0. With `may_end`, a
// melody has to have them only as far as it goes.
static bytes have_intervals(const int8_t *line, int64_t count, const int8_t *intervals, bool may_end) {
    bytes none = spread_byte(0), found = spread_byte(1), ended = spread_byte(NO_NOTE);
    for (int64_t k = 0; k < count && any_bytes(found); k++) {
        bytes here = load_bytes(line + k * MELODIES);
        bytes others = may_end ? where_equal_bytes(here, ended, found, none) : none;
        found = where_equal_bytes(here, spread_byte(intervals[k]), found, others);
    }
    return found;
}

static bytes agree_with(const melody_blocks *blocks, int64_t number, int64_t lane, int64_t size,
                        const int8_t *intervals) {
    const int32_t *all_lengths = blocks->lengths + number * MELODIES;
    int64_t columns = all_lengths[MELODIES - 1], shortest = all_lengths[lane];
    const int8_t *lines = blocks->notes + blocks->starts[number] + INTERVALS * columns * MELODIES + lane;
    bytes found = spread_byte(0);
    for (int64_t at = 0; at + size <= columns; at++)
        found = max_bytes(found, have_intervals(lines + (at + 1) * MELODIES, size - 1, intervals + 1, false));
    for (int64_t begin = 0; begin + shortest <= size; begin++) {
        int64_t count = least(columns, size - begin) - 1;
        bytes are_part = have_intervals(lines + MELODIES, count, intervals + begin + 1, true);
        if (columns > size - begin) // and there is no note behind them
            are_part = where_equal_bytes(load_bytes(lines + (size - begin) * MELODIES), spread_byte(NO_NOTE), are_part,
                                         spread_byte(0));
        found = max_bytes(found, are_part);
    }
    return found;
}

// -- kernels ----------------------------------------------------------------------------------------------------------

bool bound_blocks(const query_plan *plan, const melody_blocks *blocks, int64_t n, const int64_t numbers[n],
                  int32_t bounds[n][64]) {
    return over_blocks(plan, blocks, n, numbers, bounds, false);
}

bool align_blocks(const query_plan *plan, const melody_blocks *blocks, int64_t n, const int64_t numbers[n],
                  int32_t bounds[n][64]) {
    return over_blocks(plan, blocks, n, numbers, bounds, true);
}

bool bound_melodies(const query_plan *plan, const melody_blocks *blocks, int64_t n, const int64_t places[n],
                    int32_t bounds[n]) {
    return over_melodies(plan, blocks, n, places, bounds, false);
}

bool align_melodies(const query_plan *plan, const melody_blocks *blocks, int64_t n, const int64_t places[n],
                    int32_t scores[n]) {
    return over_melodies(plan, blocks, n, places, scores, true);
}

bool bound_rows(const query_plan *plan, const melody_rows *rows, const int8_t tempos[rows->places], int64_t n,
                const int64_t places[n], int32_t bounds[n]) {
    int64_t longest = n ? rows->offsets[places[n - 1] + 1] - rows->offsets[places[n - 1]] : 0;
    work of;
    bool has_memory = begin(&of, plan, longest, false, true);
    for (int64_t start = 0; has_memory && start < n; start += MELODIES) {
        block *melodies = &of.melodies;
        melodies->filled = least(n - start, MELODIES);
        int64_t last = places[start + melodies->filled - 1];
        melodies->columns = rows->offsets[last + 1] - rows->offsets[last];
        for (int64_t lane = 0; lane < melodies->filled; lane++) {
            int64_t place = places[start + lane], first = rows->offsets[place];
            int64_t length = rows->offsets[place + 1] - first;
            melody_notes melody = {rows->notes + FIELDS * first, length, 1, length};
            melodies->lengths[lane] = (int32_t)length;
            take_tempos(plan, lane, tempos[place], melodies);
            copy_melody(melody, melodies->columns, of.copied, lane);
        }
        leave_empty(melodies, of.copied);
        int32_t found[MELODIES];
        find(&of, found);
        for (int64_t lane = 0; lane < melodies->filled; lane++)
            bounds[start + lane] = found[lane] - (int32_t)plan->cheapest;
    }
    end(&of);
    return has_memory;
}

void same_intervals(const melody_blocks *blocks, int64_t size, const int8_t intervals[size],
                    int8_t agree[blocks->count][64]) {
    for (int64_t number = 0; number < blocks->count; number++)
        for (int64_t lane = 0; lane < MELODIES; lane += BYTES)
            store_bytes(agree[number] + lane, agree_with(blocks, number, lane, size, intervals));
}
