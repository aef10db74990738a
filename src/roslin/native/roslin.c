// The score of the best alignment of two melodies, all transpositions side by side, and the alignment itself.
//
// For every tempo the query's notes are rows and the melody's notes columns:
//
//     pair(i, j)   worth of a pair + the best way to get there: a start here, or whatever ended at (i - 1, j - 1)
//     skipped      the melody's note j is left out: `opening` for the first of a gap, `extension` for more
//     hanging      the same for the query's note i
//
// An alignment starts and ends with a pair. Notes left out before and after it have a price. `sweep_row` has this
// recurrence; it can record all states of one transposition, from which `trace` reads the steps.
#include "roslin.h"
#include "roslin_inline.h"

enum {
    TRANSPOSITIONS = 12,
    LANES = 16,              // transpositions side by side; the last four fill up the vectors
    FARTHEST = -(1 << 28),   // lower than any score, and far from where a sum of two of them overflows
    NO_INTERVAL = 127,       // of a melody's first note
    EQUALS_NOTHING = 1000,   // no interval: they are bytes
    LARGEST_DIFFERENCE = 10, // of values: larger ones are worth the same
    LABELS = 16,
};

static inline int32_t higher(int32_t a, int32_t b) { return a > b ? a : b; }

// -- two melodies -----------------------------------------------------------------------------------------------------

// The notes of one melody.
typedef struct {
    int64_t size;
    const int8_t *pitches, *values, *intervals, *kinds, *gaps, *labels;
} line;

static line line_of(const encoded_melodies *melodies, int64_t number) {
    int64_t first = melodies->offsets[number];
    return (line){
        .size = melodies->offsets[number + 1] - first,
        .pitches = melodies->pitches + first,
        .values = melodies->values + first,
        .intervals = melodies->intervals + first,
        .kinds = melodies->kinds + first,
        .gaps = melodies->gaps + first,
        .labels = melodies->labels + first,
    };
}

// A query and a melody, laid on each other.
typedef struct {
    line query, melody;
    int64_t difference; // of their tempos
    worth_tables tables;
    // Prices of notes left out before the first pair and after the last. They depend on whether a melody is the shorter
    // of the two, the longer, or one of two equally long.
    const int32_t *query_starts, *query_ends, *melody_starts, *melody_ends;
} pairing;

static pairing pairing_of(const encoded_melodies *queries, int64_t query, const encoded_melodies *melodies,
                          int64_t number, const worth_tables *tables) {
    pairing two = {
        .query = line_of(queries, query),
        .melody = line_of(melodies, number),
        .difference = (int64_t)melodies->tempos[number] - queries->tempos[query],
        .tables = *tables,
    };
    int64_t size = two.query.size, length = two.melody.size;
    int64_t role = size < length ? 0 : size > length ? 1 : 2;
    int64_t other = role == 2 ? 2 : 1 - role;
    two.query_starts = tables->starts + role * (tables->longest + 1);
    two.query_ends = tables->ends + role * (tables->longest + 1);
    two.melody_starts = tables->starts + other * (tables->longest + 1);
    two.melody_ends = tables->ends + other * (tables->longest + 1);
    return two;
}

// The price of a number of notes left out at an end.
static inline int32_t price_of(const pairing *two, const int32_t *prices, int64_t left_out) {
    return prices[least(left_out, two->tables.longest)];
}

// What is left out before (i, j), if the alignment starts there, and after it, if it ends there.
static inline int32_t start_price(const pairing *two, int64_t i, int64_t j) {
    return price_of(two, two->query_starts, i) + price_of(two, two->melody_starts, j);
}

static inline int32_t end_price(const pairing *two, int64_t i, int64_t j) {
    return price_of(two, two->query_ends, two->query.size - 1 - i) +
           price_of(two, two->melody_ends, two->melody.size - 1 - j);
}

// -- the worth of a pair ----------------------------------------------------------------------------------------------

// A note of the query at some tempo.
typedef struct {
    int32_t pitch, value, interval, following; // intervals from the note before and to the next
    int32_t kind;                              // its share in the worth of an equal pitch
    const int32_t *labels;                     // worth by the label of the other note
} query_note;

static inline query_note note_of(const pairing *two, int64_t i, int64_t shift) {
    const line *query = &two->query;
    int32_t interval = query->intervals[i];
    return (query_note){
        .pitch = query->pitches[i],
        .value = query->values[i] + (int32_t)shift,
        .interval = interval == NO_INTERVAL ? EQUALS_NOTHING : interval,
        .following = i + 1 < query->size ? query->intervals[i + 1] : EQUALS_NOTHING,
        .kind = two->tables.kinds[query->kinds[i]],
        .labels = two->tables.labels + LABELS * query->labels[i],
    };
}

// What a pair is worth: `equal` if its pitches are equal, and otherwise `unequal` and what the pitches are worth.
typedef struct {
    int32_t equal, unequal;
    int64_t turn; // semitones, 0 to 11, from the query's pitch up to the melody's
} pair_worth;

static inline pair_worth worth_of(const pairing *two, query_note note, int64_t j) {
    const line *melody = &two->melody;
    const worth_tables *tables = &two->tables;
    int32_t span = melody->values[j] - note.value;
    span = span < 0 ? -span : span;
    span = span < LARGEST_DIFFERENCE ? span : LARGEST_DIFFERENCE;
    int seen = melody->intervals[j] == note.interval;
    if (j + 1 < melody->size) seen += 2 * (melody->intervals[j + 1] == note.following);
    int32_t label = note.labels[melody->labels[j]];
    int32_t turn = melody->pitches[j] - note.pitch;
    return (pair_worth){
        .equal = tables->equal[span] + tables->contexts[seen] + note.kind + tables->kinds[melody->kinds[j]] + label,
        .unequal = tables->near[span] + tables->contexts[4 + seen] + label,
        .turn = turn < 0 ? turn + TRANSPOSITIONS : turn,
    };
}

// The worth at one transposition.
static inline int32_t worth_at(const int32_t *pitch, const int32_t *is_equal, pair_worth worth, int64_t lane) {
    int32_t unequal = pitch[lane] + worth.unequal; // always loaded, so that loops become vectors
    return is_equal[lane] ? worth.equal : unequal;
}

// -- the recurrence ---------------------------------------------------------------------------------------------------

typedef int32_t lanes[LANES];

// Two rows of what the best way to end at a column scores, whatever it ends with, and of the best that ends with a
// skipped note of the query.
typedef struct {
    lanes *above, *row, *hanging;
} scratch;

static bool take_scratch(scratch *room, int64_t longest) {
    size_t columns = (size_t)longest + 1;
    room->above = malloc(3 * columns * sizeof(lanes));
    room->row = room->above + columns;
    room->hanging = room->row + columns;
    return room->above;
}

// Where the states of one transposition are recorded: cells[kind][i + 1][j + 1]; the first row and column are empty.
typedef struct {
    int32_t *cells;
    int64_t lane, rows, columns;
} record;

static inline int32_t *cell(const record *grid, int64_t kind, int64_t i, int64_t j) {
    return grid->cells + (kind * grid->rows + i + 1) * grid->columns + j + 1;
}

// One row: a note of the query beside all of the melody.
static inline void sweep_row(const pairing *two, int64_t i, int64_t shift, lanes *restrict above, lanes *restrict row,
                             lanes *restrict hanging, int32_t *restrict best, const record *grid) {
    const query_note note = note_of(two, i, shift);
    const int32_t *restrict pitches = two->tables.pitch, *restrict equals = two->tables.is_equal;
    const int32_t extension = (int32_t)two->tables.extension, opening = two->tables.openings[two->query.gaps[i]];
    lanes skipped;
    for (int k = 0; k < LANES; k++) skipped[k] = FARTHEST;
    for (int64_t j = 0; j < two->melody.size; j++) {
        const pair_worth worth = worth_of(two, note, j);
        const int32_t *pitch = pitches + worth.turn * LANES, *is_equal = equals + worth.turn * LANES;
        const int32_t start = -start_price(two, i, j), end = end_price(two, i, j);
        const int32_t own_opening = two->tables.openings[two->melody.gaps[j]];
        lanes pair;
        for (int k = 0; k < LANES; k++) {
            pair[k] = higher(above[j][k], start) + worth_at(pitch, is_equal, worth, k);
            best[k] = higher(best[k], pair[k] - end);
            skipped[k] = higher(row[j][k] - own_opening, skipped[k] - extension);
            hanging[j + 1][k] = higher(above[j + 1][k] - opening, hanging[j + 1][k] - extension);
            row[j + 1][k] = higher(pair[k], higher(skipped[k], hanging[j + 1][k]));
        }
        if (!grid) continue;
        *cell(grid, 0, i, j) = pair[grid->lane];
        *cell(grid, 1, i, j) = skipped[grid->lane];
        *cell(grid, 2, i, j) = hanging[j + 1][grid->lane];
    }
}

// The best score at each transposition.
static inline void sweep(const pairing *two, int64_t shift, scratch room, int32_t *restrict best, const record *grid) {
    int64_t length = two->melody.size;
    for (int k = 0; k < LANES; k++) best[k] = room.row[0][k] = FARTHEST;
    for (int64_t j = 0; j <= length; j++) {
        for (int k = 0; k < LANES; k++) room.above[j][k] = room.hanging[j][k] = FARTHEST;
    }
    for (int64_t i = 0; i < two->query.size; i++) {
        sweep_row(two, i, shift, room.above, room.row, room.hanging, best, grid);
        lanes *other = room.above;
        room.above = room.row;
        room.row = other;
    }
}

// -- scores -----------------------------------------------------------------------------------------------------------

int64_t tempo_shift(int64_t tempo, int64_t difference) { return shift_of(tempo, difference); }

typedef struct {
    int32_t score;
    int64_t tempo, lane;
} best_way;

// The best tempo and transposition; of several that are as good, the first.
static best_way best_of(const pairing *two, scratch room) {
    best_way found = {FARTHEST, 0, 0};
    if (!two->query.size || !two->melody.size) return found;
    for (int64_t tempo = 0; tempo < two->tables.tempos; tempo++) {
        if (!is_needed(tempo, two->difference, two->tables.tempos, two->tables.tempo_prices)) continue;
        lanes best;
        sweep(two, shift_of(tempo, two->difference), room, best, NULL);
        for (int64_t lane = 0; lane < TRANSPOSITIONS; lane++) {
            int32_t score = best[lane] + two->tables.lanes[lane] - two->tables.tempo_prices[tempo];
            if (score > found.score) found = (best_way){score, tempo, lane};
        }
    }
    return found;
}

bool align_all(const encoded_melodies *query, const encoded_melodies *melodies, const worth_tables *tables,
               int64_t wanted, const int64_t numbers[wanted], int32_t scores[wanted]) {
    int64_t longest = 0;
    for (int64_t k = 0; k < wanted; k++)
        longest = most(longest, melodies->offsets[numbers[k] + 1] - melodies->offsets[numbers[k]]);
    scratch room;
    if (!take_scratch(&room, longest)) return false;
    for (int64_t k = 0; k < wanted; k++) {
        pairing two = pairing_of(query, 0, melodies, numbers[k], tables);
        scores[k] = best_of(&two, room).score;
    }
    free(room.above);
    return true;
}

bool align_each(const encoded_melodies *queries, const encoded_melodies *melodies, const worth_tables *tables,
                int32_t scores[queries->count]) {
    int64_t longest = 0;
    for (int64_t k = 0; k < queries->count; k++)
        longest = most(longest, melodies->offsets[k + 1] - melodies->offsets[k]);
    scratch room;
    if (!take_scratch(&room, longest)) return false;
    for (int64_t k = 0; k < queries->count; k++) {
        pairing two = pairing_of(queries, k, melodies, k, tables);
        scores[k] = best_of(&two, room).score;
    }
    free(room.above);
    return true;
}

void self_scores(const encoded_melodies *melodies, const worth_tables *tables, int32_t scores[melodies->count]) {
    for (int64_t number = 0; number < melodies->count; number++) {
        pairing two = pairing_of(melodies, number, melodies, number, tables);
        int32_t total = 0;
        for (int64_t i = 0; i < two.query.size; i++) total += worth_of(&two, note_of(&two, i, 0), i).equal;
        scores[number] = total;
    }
}

// -- scores as distances and as evidence ------------------------------------------------------------------------------

// The score at which the distance of two melodies with these self-scores is 0: the longer one counts at most `cap` times
// as much as the shorter.
static inline double score_at_zero(double own, double other, double cap) {
    double longer = own < other ? other : own, shorter = own < other ? own : other;
    shorter = shorter < 1.0 ? 1.0 : shorter;
    if (!(cap > 1.0)) return shorter;
    double most_counted = cap * shorter;
    return sqrt(shorter * (longer < most_counted ? longer : most_counted));
}

void scores_at_zero(int64_t count, const int32_t own[count], const int32_t others[count], double cap,
                    double scores[count]) {
    for (int64_t k = 0; k < count; k++) scores[k] = score_at_zero(own[k], others[k], cap);
}

void evidence(int64_t count, const int32_t scores[count], const int32_t others[count], const int32_t sizes[count],
              int64_t own, int64_t parts_below, double cap, double of_distance, double found[count]) {
    for (int64_t k = 0; k < count; k++) {
        bool is_part = sizes[k] < parts_below;
        double common = is_part ? others[k] : (double)own;
        common = common < 1.0 ? 1.0 : common;
        double share = scores[k] / score_at_zero(common, is_part ? common : others[k], cap);
        found[k] = scores[k] + of_distance * common * (share - 1.0);
    }
}

// -- the alignment itself ---------------------------------------------------------------------------------------------

enum { PAIR, SKIP_MELODY, SKIP_QUERY, KINDS };

typedef int64_t step[3]; // kind, note of the query, note of the melody

// Write the last pair of the best alignment; of several, the first.
static void last_pair(const pairing *two, const record *grid, step last) {
    int32_t best = FARTHEST;
    for (int k = 0; k < 3; k++) last[k] = 0; // kind 0: a pair
    for (int64_t i = 0; i < two->query.size; i++) {
        for (int64_t j = 0; j < two->melody.size; j++) {
            int32_t score = *cell(grid, PAIR, i, j) - end_price(two, i, j);
            if (score <= best) continue;
            best = score;
            last[1] = i;
            last[2] = j;
        }
    }
}

// The kind of the best way that ends at (i, j); of several, the first.
static int64_t best_kind(const record *grid, int64_t i, int64_t j) {
    int64_t kind = PAIR;
    for (int64_t other = SKIP_MELODY; other < KINDS; other++)
        if (*cell(grid, other, i, j) > *cell(grid, kind, i, j)) kind = other;
    return kind;
}

// The steps from the last pair back to the first, and how many they are.
static int64_t trace(const pairing *two, const record *grid, step *steps) {
    const int32_t extension = (int32_t)two->tables.extension;
    step at;
    last_pair(two, grid, at);
    int64_t count = 0;
    while (true) {
        int64_t kind = at[0], i = at[1], j = at[2];
        memcpy(steps[count++], at, sizeof(step));
        at[1] = i - (kind != SKIP_MELODY);
        at[2] = j - (kind != SKIP_QUERY);
        if (kind == PAIR) {
            int32_t before = *cell(grid, best_kind(grid, i - 1, j - 1), i - 1, j - 1);
            if (-start_price(two, i, j) >= before) return count;
        } else if (*cell(grid, kind, i, j) == *cell(grid, kind, at[1], at[2]) - extension) {
            continue; // the gap began earlier
        }
        at[0] = best_kind(grid, at[1], at[2]);
    }
}

static void reverse(step *steps, int64_t count) {
    for (int64_t k = 0; k < count / 2; k++) {
        step other;
        memcpy(other, steps[k], sizeof(step));
        memcpy(steps[k], steps[count - 1 - k], sizeof(step));
        memcpy(steps[count - 1 - k], other, sizeof(step));
    }
}

bool best_path(const encoded_melodies *query, const encoded_melodies *melodies, int64_t number,
               const worth_tables *tables, int64_t steps[query->notes + melodies->notes][3], int64_t found[4]) {
    pairing two = pairing_of(query, 0, melodies, number, tables);
    record grid = {.rows = two.query.size + 1, .columns = two.melody.size + 1};
    int64_t cells = KINDS * grid.rows * grid.columns;
    scratch room = {NULL, NULL, NULL};
    grid.cells = malloc((size_t)cells * sizeof(int32_t));
    bool has_memory = take_scratch(&room, two.melody.size) && grid.cells;
    if (has_memory) {
        best_way best = best_of(&two, room);
        grid.lane = best.lane;
        found[0] = best.score;
        found[1] = best.tempo;
        found[2] = best.lane;
        found[3] = 0;
        if (best.score > FARTHEST) {
            for (int64_t k = 0; k < cells; k++) grid.cells[k] = FARTHEST;
            lanes scores;
            sweep(&two, shift_of(best.tempo, two.difference), room, scores, &grid);
            found[3] = trace(&two, &grid, steps);
            reverse(steps, found[3]);
        }
    }
    free(room.above);
    free(grid.cells);
    return has_memory;
}

void step_worths(const encoded_melodies *query, const encoded_melodies *melody, int64_t tempo, int64_t transposition,
                 const worth_tables *tables, int64_t count, const int64_t steps[count][3], int32_t worths[count],
                 int64_t ends[4]) {
    pairing two = pairing_of(query, 0, melody, 0, tables);
    int64_t shift = shift_of(tempo, two.difference);
    for (int64_t k = 0; k < count; k++) {
        int64_t kind = steps[k][0], i = steps[k][1], j = steps[k][2];
        if (kind == PAIR) {
            pair_worth worth = worth_of(&two, note_of(&two, i, shift), j);
            int64_t row = worth.turn * LANES;
            worths[k] = worth_at(tables->pitch + row, tables->is_equal + row, worth, transposition);
        } else if (steps[k - 1][0] == kind) {
            worths[k] = -(int32_t)tables->extension;
        } else {
            worths[k] = -tables->openings[kind == SKIP_MELODY ? two.melody.gaps[j] : two.query.gaps[i]];
        }
    }
    const int64_t *first = steps[0], *last = steps[count - 1];
    ends[0] = price_of(&two, two.query_starts, first[1]);
    ends[1] = price_of(&two, two.melody_starts, first[2]);
    ends[2] = price_of(&two, two.query_ends, two.query.size - 1 - last[1]);
    ends[3] = price_of(&two, two.melody_ends, two.melody.size - 1 - last[2]);
}

// -- blocks -----------------------------------------------------------------------------------------------------------

enum {
    MELODIES = 64, // side by side in a block
    NO_PITCH = 15,
    NO_NOTE = -127, // an interval that equals no other
};

// Where a melody is in its block: five columns of bytes, each MELODIES behind the one before it.
typedef struct {
    int64_t first, field; // first byte; bytes from one field to the next
    int64_t columns;
} seat;

static seat seat_of(int64_t place, const int32_t *lengths, const int64_t *starts) {
    int64_t block = place / MELODIES, columns = lengths[block * MELODIES + MELODIES - 1];
    return (seat){starts[block] + place % MELODIES, columns * MELODIES, columns};
}

void put_melodies(const encoded_melodies *melodies, const int64_t places[melodies->count], int64_t blocks,
                  const int32_t lengths[64 * blocks], const int64_t starts[blocks + 1], int64_t bytes,
                  int8_t notes[bytes]) {
    for (int64_t number = 0; number < melodies->count; number++) {
        line melody = line_of(melodies, number);
        seat at = seat_of(places[number], lengths, starts);
        int8_t *pitches = notes + at.first, *values = pitches + at.field, *kinds = values + at.field;
        int8_t *labels = kinds + at.field, *intervals = labels + at.field;
        for (int64_t j = 0; j < at.columns; j++) {
            bool is_note = j < melody.size;
            pitches[j * MELODIES] = is_note ? melody.pitches[j] : NO_PITCH;
            values[j * MELODIES] = is_note ? melody.values[j] : 0;
            kinds[j * MELODIES] = is_note ? melody.kinds[j] : 0;
            labels[j * MELODIES] = is_note ? melody.labels[j] : 0;
            intervals[j * MELODIES] = is_note ? melody.intervals[j] : NO_NOTE;
        }
        intervals[at.columns * MELODIES] = NO_NOTE;
    }
}

void take_melodies(int64_t bytes, const int8_t notes[bytes], int64_t blocks, const int32_t lengths[64 * blocks],
                   const int64_t starts[blocks + 1], int64_t count, const int64_t places[count],
                   const int64_t offsets[count + 1], int64_t size, int8_t pitches[size], int8_t values[size],
                   int8_t kinds[size], int8_t labels[size], int8_t intervals[size]) {
    for (int64_t k = 0; k < count; k++) {
        seat from = seat_of(places[k], lengths, starts);
        const int8_t *note = notes + from.first;
        for (int64_t at = offsets[k]; at < offsets[k + 1]; at++) {
            pitches[at] = note[0];
            values[at] = note[from.field];
            kinds[at] = note[2 * from.field];
            labels[at] = note[3 * from.field];
            intervals[at] = note[4 * from.field];
            note += MELODIES;
        }
    }
}
