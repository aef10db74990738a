// The matchers that align n-grams of notes: `shapeh` and `time`.
#include "shapes.h"

enum {
    LANES = 64, // documents in a block
    // Two intervals of up to 127 semitones, up or down, are a number of 16 bits; the largest is not among them.
    LARGEST_INTERVAL = 127,
    SIZES = 2 * LARGEST_INTERVAL + 1,
    PADDING = 65535,
};

static inline double larger(double a, double b) { return b > a ? b : a; }
static inline double smaller(double a, double b) { return b < a ? b : a; }

// -- alignment, side by side ------------------------------------------------------------------------------------------

// M(i, j) for a document in each lane.
typedef struct {
    double value[LANES];
} cells;

// The present gram of each document, and what its row of M needs.
typedef struct {
    double gap[LANES];      // the score of leaving it out; 0 where there is no gram
    double cost[LANES];     // the score of it in place of the present gram of the query
    double diagonal[LANES]; // M(i - 1, j - 1)
    double best[LANES];     // the largest M so far
} row_lanes;

// M(i, 0).
static void begin(int64_t grams, const double *gaps, double floor, cells *column, row_lanes *row) {
    double value = 0.0;
    for (int64_t i = 0; i <= grams; i++) {
        if (i) value = larger(value + gaps[i - 1], floor);
        for (int64_t lane = 0; lane < LANES; lane++) column[i].value[lane] = value;
    }
    for (int64_t lane = 0; lane < LANES; lane++) row->best[lane] = -INFINITY;
}

// M(0, j).
static void begin_row(row_lanes *restrict row, cells *restrict first, double floor) {
    for (int64_t lane = 0; lane < LANES; lane++) {
        row->diagonal[lane] = first->value[lane];
        first->value[lane] = larger(first->value[lane] + row->gap[lane], floor);
    }
}

// M(i, j), where `cell` is M(i, j - 1) before and `above` is M(i - 1, j); `loss` is the score of leaving out gram i.
static void take_gram(row_lanes *restrict row, const cells *restrict above, cells *restrict cell, double loss,
                      double floor) {
    for (int64_t lane = 0; lane < LANES; lane++) {
        double left = cell->value[lane];
        double value = larger(row->diagonal[lane] + row->cost[lane], left + row->gap[lane]);
        value = larger(larger(value, above->value[lane] + loss), floor);
        row->diagonal[lane] = left;
        cell->value[lane] = value;
        row->best[lane] = larger(row->best[lane], value);
    }
}

// -- shapes of three notes --------------------------------------------------------------------------------------------

void interval_pairs(int64_t notes, int64_t documents, int64_t blocks, int64_t rows, const int16_t pitch[notes],
                    const int64_t offsets[documents + 1], const int64_t order[documents],
                    const int64_t starts[blocks + 1], uint16_t codes[rows][64], int64_t counts[65536]) {
    memset(counts, 0, (PADDING + 1) * sizeof *counts);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t lane = 0; lane < LANES; lane++) codes[row][lane] = PADDING;
    for (int64_t place = 0; place < documents; place++) {
        int64_t row = starts[place / LANES], lane = place % LANES;
        for (int64_t note = offsets[order[place]]; note < offsets[order[place] + 1] - 2; note++, row++) {
            int64_t first = pitch[note + 1] - pitch[note] + LARGEST_INTERVAL;
            int64_t second = pitch[note + 2] - pitch[note + 1] + LARGEST_INTERVAL;
            uint16_t code = (uint16_t)(first * SIZES + second);
            codes[row][lane] = code;
            counts[code]++;
        }
    }
}

static void compare_pair(const int64_t *restrict code, int64_t wanted, double match, const cells *restrict mismatch,
                         double *restrict cost) {
    for (int64_t lane = 0; lane < LANES; lane++) cost[lane] = code[lane] == wanted ? match : mismatch->value[lane];
}

// The scores of the pairs of a row that differ from the query's, by the kind of the query's pair.
static void fill_mismatches(const uint16_t *codes, const uint8_t *classes, const pair_query *query, int64_t kinds,
                            const double *mismatch, cells *mismatches) {
    int64_t class_here[LANES];
    for (int64_t lane = 0; lane < LANES; lane++) class_here[lane] = classes[codes[lane]];
    for (int64_t place = 0; place < query->different; place++) {
        int64_t kind = query->needed[place];
        const double *scores = mismatch + kind * kinds;
        for (int64_t lane = 0; lane < LANES; lane++) mismatches[kind].value[lane] = scores[class_here[lane]];
    }
}

bool shape_scores(const pair_blocks *blocks, const pair_query *query, int64_t asked_kinds, int64_t kinds,
                  int64_t documents, const double mismatch[asked_kinds][kinds], double floor, bool takes_best,
                  const bool stop[1], double scores[documents]) {
    const pair_query asked = *query;
    const pair_blocks there = *blocks;
    int64_t m = asked.pairs, code_here[LANES];
    cells *column = malloc((size_t)(m + 1) * sizeof *column);
    cells *mismatches = malloc((size_t)(asked_kinds + 1) * sizeof *mismatches);
    row_lanes *row = malloc(sizeof *row);
    bool has_memory = column && mismatches && row;
    for (int64_t block = 0; has_memory && block < there.blocks; block++) {
        begin(m, asked.gap, floor, column, row);
        for (int64_t step = there.starts[block]; step < there.starts[block + 1] && !is_stopped(stop); step++) {
            const uint16_t *codes = there.codes + step * LANES;
            for (int64_t lane = 0; lane < LANES; lane++) code_here[lane] = codes[lane];
            for (int64_t lane = 0; lane < LANES; lane++) row->gap[lane] = there.gap_of_code[codes[lane]];
            fill_mismatches(codes, there.classes, &asked, kinds, mismatch[0], mismatches);
            begin_row(row, column, floor);
            for (int64_t i = 0; i < m; i++) {
                compare_pair(code_here, asked.codes[i], asked.match[i], mismatches + asked.kinds[i], row->cost);
                take_gram(row, column + i, column + i + 1, asked.gap[i], floor);
            }
        }
        int64_t first = block * LANES, count = least(LANES, documents - first);
        if (count > 0) memcpy(scores + first, takes_best ? row->best : column[m].value, (size_t)count * sizeof *scores);
    }
    free(column);
    free(mismatches);
    free(row);
    return has_memory;
}

// -- curves through four notes ----------------------------------------------------------------------------------------

enum { CONTROLS = 3, BEYOND = 3 }; // control values of a curve but the first; notes of a gram but the first

static const double SAME_TIME = 1000.0; // lengths that agree to this many parts are the same
static const double NEVER = 1e9;        // a control value that no melody comes close to

// The derivative of a curve is half of a u^2 + b u + c.
typedef struct {
    double a, b, c;
} slope;

static inline slope slope_of(double x, double y, double z) {
    return (slope){3.0 * (x - y) + z, 2.0 * y - 4.0 * x, y};
}

// Where the derivative is 0, but not before the beginning; a root that does not exist is at the beginning.
static inline void find_turns(slope of, double *one, double *other) {
    double root = sqrt(larger(of.b * of.b - 4.0 * of.a * of.c, 0.0));
    double q = -0.5 * (of.b + (of.b >= 0.0 ? root : -root));
    *one = larger(q / (of.a != 0.0 ? of.a : INFINITY), 0.0);
    *other = larger(of.c / (q != 0.0 ? q : INFINITY), 0.0);
}

// Between 0, the two turns, and 1 the curve only rises or only falls. A turn at or after an end adds nothing there.
static inline double variation_between(slope of, double one, double other) {
    double early = smaller(smaller(one, other), 1.0), late = smaller(larger(one, other), 1.0);
    double half = 0.5 * of.b, third = of.a / 3.0;
    double at_early = early * (of.c + early * (half + early * third));
    double at_late = late * (of.c + late * (half + late * third));
    return 0.5 * (fabs(at_early) + fabs(at_late - at_early) + fabs(of.c + half + third - at_late));
}

static double variation(double x, double y, double z) {
    double one, other;
    find_turns(slope_of(x, y, z), &one, &other);
    return variation_between(slope_of(x, y, z), one, other);
}

// The same for each lane. Two loops take two thirds of the time of one: a compiler that sees both limits of a turn at
// once makes branches of them.
static void find_variations(const double control[CONTROLS][LANES], double *restrict found) {
    const double *x = control[0], *y = control[1], *z = control[2];
    double one[LANES], other[LANES];
    for (int64_t lane = 0; lane < LANES; lane++)
        find_turns(slope_of(x[lane], y[lane], z[lane]), one + lane, other + lane);
    for (int64_t lane = 0; lane < LANES; lane++)
        found[lane] = variation_between(slope_of(x[lane], y[lane], z[lane]), one[lane], other[lane]);
}

double curve_variation(double x, double y, double z) { return variation(x, y, z); }

// The control values of a gram, relative to its first note: pitch, time, and time in thousandths.
typedef struct {
    double pitch[CONTROLS], time[CONTROLS], parts[CONTROLS];
} curves;

static curves curves_of(const int16_t *pitch, const int64_t *duration, int64_t note) {
    curves found;
    for (int64_t k = 0; k < CONTROLS; k++) {
        double ratio = (double)most(duration[note + k + 1], 1) / (double)most(duration[note], 1);
        found.pitch[k] = (double)pitch[note + k + 1] - (double)pitch[note];
        found.time[k] = ratio;
        found.parts[k] = rint(SAME_TIME * ratio);
    }
    return found;
}

static double gap_of(const curves *gram) { return -variation(gram->pitch[0], gram->pitch[1], gram->pitch[2]); }

// The curves of a gram of each document.
typedef struct {
    double pitch[CONTROLS][LANES], time[CONTROLS][LANES], parts[CONTROLS][LANES];
} curve_lanes;

// Four notes of each document of a block, the present one first.
typedef struct {
    double pitch[BEYOND + 1][LANES], length[BEYOND + 1][LANES];
    double grams[LANES]; // how many grams the document has
} note_lanes;

static void begin_notes(note_lanes *here, const int64_t *offsets, const int64_t *members, int64_t count) {
    for (int64_t k = 0; k <= BEYOND; k++)
        for (int64_t lane = 0; lane < LANES; lane++) here->pitch[k][lane] = 0.0, here->length[k][lane] = 1.0;
    for (int64_t lane = 0; lane < LANES; lane++)
        here->grams[lane] = lane < count ? (double)(offsets[members[lane] + 1] - offsets[members[lane]] - BEYOND) : 0.0;
}

// Go one note further in each document; the last of the four is `row` of the document.
static void take_notes(note_lanes *here, const int16_t *pitch, const int64_t *duration, const int64_t *offsets,
                       const int64_t *members, int64_t count, int64_t row) {
    memmove(here->pitch[0], here->pitch[1], BEYOND * sizeof here->pitch[0]);
    memmove(here->length[0], here->length[1], BEYOND * sizeof here->length[0]);
    for (int64_t lane = 0; lane < count; lane++) {
        int64_t note = offsets[members[lane]] + row;
        if (note >= offsets[members[lane] + 1]) continue;
        here->pitch[BEYOND][lane] = (double)pitch[note];
        here->length[BEYOND][lane] = (double)most(duration[note], 1);
    }
}

// curves_of for gram `step` of each document; where it has no such gram, values that are like no other.
static void find_curves(const note_lanes *restrict notes, int64_t step, curve_lanes *restrict found) {
    for (int64_t k = 0; k < CONTROLS; k++) {
        for (int64_t lane = 0; lane < LANES; lane++) {
            double ratio = notes->length[k + 1][lane] / notes->length[0][lane];
            double up = notes->pitch[k + 1][lane] - notes->pitch[0][lane], parts = rint(SAME_TIME * ratio);
            bool has_gram = notes->grams[lane] > (double)step;
            found->pitch[k][lane] = has_gram ? up : NEVER;
            found->time[k][lane] = has_gram ? ratio : NEVER;
            found->parts[k][lane] = has_gram ? parts : NEVER;
        }
    }
}

static void lose_curves(const curve_lanes *restrict here, double *restrict gap) {
    find_variations(here->pitch, gap);
    for (int64_t lane = 0; lane < LANES; lane++) gap[lane] = here->pitch[0][lane] == NEVER ? 0.0 : -gap[lane];
}

static void subtract(const double own[CONTROLS], const double there[CONTROLS][LANES], double apart[CONTROLS][LANES]) {
    for (int64_t k = 0; k < CONTROLS; k++)
        for (int64_t lane = 0; lane < LANES; lane++) apart[k][lane] = own[k] - there[k][lane];
}

// The score of two curves: `same` where three differences are 0, or how much the curves differ, less than 0.
static void score_curves(const double apart[CONTROLS][LANES], const double differences[CONTROLS][LANES], double same,
                         double *restrict scores) {
    find_variations(apart, scores);
    for (int64_t lane = 0; lane < LANES; lane++) {
        double differs = fabs(differences[0][lane]) + fabs(differences[1][lane]) + fabs(differences[2][lane]);
        scores[lane] = differs == 0.0 ? same : -scores[lane];
    }
}

static void compare_curves(const curve_lanes *restrict here, const curves *restrict own,
                           const curve_worth *restrict worth, double *restrict cost) {
    double apart[CONTROLS][LANES], parts[CONTROLS][LANES], by_time[LANES];
    const double rhythm = worth->rhythm;
    subtract(own->pitch, here->pitch, apart);
    score_curves(apart, apart, worth->same_pitch, cost);
    if (rhythm == 0.0) return;
    subtract(own->time, here->time, apart);
    subtract(own->parts, here->parts, parts);
    score_curves(apart, parts, worth->same_time, by_time);
    for (int64_t lane = 0; lane < LANES; lane++) cost[lane] += rhythm * by_time[lane];
}

// What a block of documents is aligned with, and the place for it.
typedef struct {
    int64_t m;      // grams of the query
    curves *query;  // [m]
    double *gap;    // [m] the score of leaving each out
    cells *column;  // [m + 1]
    note_lanes notes;
    curve_lanes here;
    row_lanes row;
} time_block;

static void time_block_scores(time_block *of, const int16_t *pitch, const int64_t *duration, const int64_t *offsets,
                              const int64_t *members, int64_t count, const curve_worth *worth, double floor,
                              bool takes_best, const bool *stop, double *scores) {
    const int64_t m = of->m;
    int64_t rows = 0;
    for (int64_t lane = 0; lane < count; lane++) rows = most(rows, offsets[members[lane] + 1] - offsets[members[lane]]);
    begin(m, of->gap, floor, of->column, &of->row);
    begin_notes(&of->notes, offsets, members, count);
    for (int64_t last = 0; last < rows && !is_stopped(stop); last++) {
        take_notes(&of->notes, pitch, duration, offsets, members, count, last);
        if (last < BEYOND) continue;
        find_curves(&of->notes, last - BEYOND, &of->here);
        lose_curves(&of->here, of->row.gap);
        begin_row(&of->row, of->column, floor);
        for (int64_t i = 0; i < m; i++) {
            compare_curves(&of->here, of->query + i, worth, of->row.cost);
            take_gram(&of->row, of->column + i, of->column + i + 1, of->gap[i], floor);
        }
    }
    memcpy(scores, takes_best ? of->row.best : of->column[m].value, (size_t)count * sizeof *scores);
}

bool time_scores(int64_t query_notes, int64_t notes, int64_t documents, const int16_t query_pitch[query_notes],
                 const int64_t query_duration[query_notes], const int16_t pitch[notes], const int64_t duration[notes],
                 const int64_t offsets[documents + 1], const int64_t order[documents], const curve_worth *worth,
                 double floor, bool takes_best, const bool stop[1], double scores[documents], double lost[1]) {
    const int64_t m = most(query_notes - BEYOND, 0);
    time_block *block = malloc(sizeof *block);
    curves *query = malloc((size_t)(m + 1) * sizeof *query);
    double *gap = malloc((size_t)(m + 1) * sizeof *gap);
    cells *column = malloc((size_t)(m + 1) * sizeof *column);
    bool has_memory = block && query && gap && column;
    lost[0] = 0.0;
    for (int64_t i = 0; has_memory && i < m; i++) {
        query[i] = curves_of(query_pitch, query_duration, i);
        gap[i] = gap_of(query + i);
        lost[0] += gap[i];
    }
    if (has_memory) block->m = m, block->query = query, block->gap = gap, block->column = column;
    for (int64_t first = 0; has_memory && first < documents; first += LANES)
        time_block_scores(block, pitch, duration, offsets, order + first, least(LANES, documents - first), worth, floor,
                          takes_best, stop, scores + first);
    free(block);
    free(query);
    free(gap);
    free(column);
    return has_memory;
}

void time_pairs(int64_t query_notes, int64_t notes, int64_t m, int64_t n, const int16_t query_pitch[query_notes],
                const int64_t query_duration[query_notes], const int16_t pitch[notes], const int64_t duration[notes],
                const curve_worth *worth, double scores[m][n], double gap[m], double gap_there[n]) {
    m = least(m, query_notes - BEYOND), n = least(n, notes - BEYOND);
    for (int64_t i = 0; i < m; i++) {
        const curves own = curves_of(query_pitch, query_duration, i);
        gap[i] = gap_of(&own);
        for (int64_t j = 0; j < n; j++) {
            const curves other = curves_of(pitch, duration, j);
            double apart[CONTROLS], longer[CONTROLS];
            bool is_step = true, is_length = true;
            for (int64_t k = 0; k < CONTROLS; k++) {
                apart[k] = own.pitch[k] - other.pitch[k], longer[k] = own.time[k] - other.time[k];
                is_step &= apart[k] == 0.0;
                is_length &= own.parts[k] == other.parts[k];
            }
            double by_pitch = is_step ? worth->same_pitch : -variation(apart[0], apart[1], apart[2]);
            double by_time = is_length ? worth->same_time : -variation(longer[0], longer[1], longer[2]);
            scores[i][j] = by_pitch + worth->rhythm * by_time;
        }
    }
    for (int64_t j = 0; j < n; j++) {
        const curves other = curves_of(pitch, duration, j);
        gap_there[j] = gap_of(&other);
    }
}
