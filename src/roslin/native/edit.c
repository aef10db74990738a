// The matchers that edit one melody into the other, and the cheapest path through a table of costs.
#include "edit.h"

#include "edit_inline.h"
#include "represent_inline.h"

// How many bytes to ask for: an allocation of none may be refused.
static size_t bytes_of(int64_t count, size_t each) { return (size_t)most(count, 1) * each; }

static inline double larger(double a, double b) { return b > a ? b : a; }
static inline double smaller(double a, double b) { return b < a ? b : a; }

static int64_t longest_of(int64_t documents, const int64_t *offsets) {
    int64_t longest = 0;
    for (int64_t k = 0; k < documents; k++) longest = most(longest, offsets[k + 1] - offsets[k]);
    return longest;
}

// -- strings in words of bits -----------------------------------------------------------------------------------------

bool edit_distance(int64_t m, int64_t n, const int64_t one[m], const int64_t other[n], int64_t alphabet,
                   int64_t distance[1]) {
    int64_t words = words_of(m);
    uint64_t *masks = calloc((size_t)(most(alphabet, 1) * words), sizeof *masks);
    column_word *columns = malloc(bytes_of(words, sizeof *columns));
    bool has_memory = masks && columns;
    if (has_memory) {
        set_masks(m, one, words, masks);
        distance[0] = distance_of_strings(m, masks, n, other, columns);
    }
    free(masks);
    free(columns);
    return has_memory;
}

// The intervals of a query as symbols, the lowest being 0. Two more symbols only documents have: an interval that the
// query has not, and that of a first note. The first note of either melody has no interval and matches any note.
typedef struct {
    int64_t lowest, missing, any;
    uint64_t *masks; // of all symbols
} interval_symbols;

static interval_symbols symbols_of(int64_t m, const int16_t *query) {
    int64_t words = words_of(m), lowest = 0, highest = 0;
    for (int64_t i = 1; i < m; i++) {
        lowest = least(lowest, query[i] - query[i - 1]);
        highest = most(highest, query[i] - query[i - 1]);
    }
    interval_symbols found = {lowest, highest - lowest + 1, highest - lowest + 2, NULL};
    found.masks = calloc((size_t)((found.any + 1) * words), sizeof *found.masks);
    if (!found.masks) return found;
    for (int64_t i = 1; i < m; i++) {
        int64_t symbol = query[i] - query[i - 1] - lowest;
        found.masks[symbol * words + i / WORD_BITS] |= (uint64_t)1 << (i % WORD_BITS);
    }
    for (int64_t symbol = 0; symbol <= found.missing; symbol++) found.masks[symbol * words] |= 1;
    for (int64_t word = 0; word < words; word++) found.masks[found.any * words + word] = ~(uint64_t)0;
    return found;
}

// Fill `text` with the symbols of a document's line; the result is how many there are.
static int64_t intervals_of(const interval_symbols *symbols, const note_row *notes, int64_t row, int64_t end,
                            int64_t *text) {
    int64_t n = 0, before = 0;
    while (row < end) {
        int64_t top = next_top(notes, end, &row);
        if (top < 0) break;
        int64_t pitch = notes[top].pitch_midi, symbol = pitch - before - symbols->lowest;
        if (!n) symbol = symbols->any;
        else if (symbol < 0 || symbol > symbols->missing) symbol = symbols->missing;
        text[n++] = symbol;
        before = pitch;
    }
    return n;
}

bool interval_edit_distances(int64_t m, int64_t rows, int64_t documents, const int16_t query[m],
                             const note_row notes[rows], const int64_t offsets[documents + 1], bool is_inside,
                             double distances[documents]) {
    interval_symbols symbols = symbols_of(m, query);
    column_word *columns = malloc(bytes_of(words_of(m), sizeof *columns));
    int64_t *text = malloc(bytes_of(longest_of(documents, offsets), sizeof *text));
    bool has_memory = symbols.masks && columns && text;
    for (int64_t k = 0; has_memory && k < documents; k++) {
        int64_t n = intervals_of(&symbols, notes, offsets[k], offsets[k + 1], text);
        int64_t distance = distance_to_text(m, symbols.masks, n, text, is_inside, columns);
        distances[k] = (double)distance / (double)(is_inside ? m : most(m, n));
    }
    free(symbols.masks);
    free(columns);
    free(text);
    return has_memory;
}

// Take a word of a column of the table of common subsequences one symbol further. A bit of `free_places` is zero where
// the length grows by one from a cell to the one below. The carry goes to the next word.
static uint64_t next_common(uint64_t *free_places, uint64_t equal, uint64_t carry) {
    uint64_t used = *free_places & equal;
    uint64_t total = *free_places + used;
    bool overflows = total < used;
    total += carry;
    overflows |= total < carry;
    *free_places = total | (*free_places & ~used);
    return overflows;
}

typedef struct {
    int64_t lowest, highest;
} range;

static range range_of_midi(int64_t notes, const int16_t *pitch) {
    range found = {notes ? pitch[0] : 0, notes ? pitch[0] : 0};
    for (int64_t i = 1; i < notes; i++) {
        found.lowest = least(found.lowest, pitch[i]);
        found.highest = most(found.highest, pitch[i]);
    }
    return found;
}

// The places of each pitch in a query: row p of the masks is the pitch that is p - beyond above the lowest, with rows
// of zeros for all others that a transposition can ask for.
typedef struct {
    int64_t m, words, beyond;
    uint64_t *masks;
} pitch_places;

// The length of the longest common subsequence of a query and n pitches, moved down by `shift`.
static int64_t common_length(const pitch_places *query, int64_t n, const int16_t *restrict pitch, int64_t shift,
                             uint64_t *restrict free_places) {
    const int64_t words = query->words, down = shift - query->beyond;
    const uint64_t *masks = query->masks;
    if (words == 1) { // most queries: the column stays in a register
        uint64_t column = ~(uint64_t)0;
        for (int64_t j = 0; j < n; j++) next_common(&column, masks[pitch[j] - down], 0);
        free_places[0] = column;
    } else {
        for (int64_t word = 0; word < words; word++) free_places[word] = ~(uint64_t)0;
        for (int64_t j = 0; j < n; j++) {
            const uint64_t *places = masks + (pitch[j] - down) * words;
            uint64_t carry = 0;
            for (int64_t word = 0; word < words; word++) carry = next_common(free_places + word, places[word], carry);
        }
    }
    int64_t length = 0;
    for (int64_t i = 0; i < query->m; i++) length += 1 - bit_of(free_places[i / WORD_BITS], i % WORD_BITS);
    return length;
}

bool lcts_lengths(int64_t m, int64_t notes, int64_t documents, const int16_t query[m], const int16_t pitch[notes],
                  const int64_t offsets[documents + 1], int64_t lengths[documents]) {
    const range asked = range_of_midi(m, query), all = range_of_midi(notes, pitch);
    int64_t span = asked.highest - asked.lowest, beyond = all.highest - all.lowest, words = words_of(m);
    uint64_t *masks = calloc((size_t)((beyond + span + 1 + beyond) * words), sizeof *masks);
    uint64_t *free_places = malloc(bytes_of(words, sizeof *free_places));
    const pitch_places places = {m, words, beyond, masks};
    bool has_memory = masks && free_places;
    for (int64_t i = 0; has_memory && i < m; i++)
        masks[(query[i] - asked.lowest + beyond) * words + i / WORD_BITS] |= (uint64_t)1 << (i % WORD_BITS);
    for (int64_t k = 0; has_memory && k < documents; k++) {
        const int16_t *here = pitch + offsets[k];
        int64_t n = offsets[k + 1] - offsets[k];
        const range there = range_of_midi(n, here);
        lengths[k] = 0;
        // `shift` is the lowest note of the query, transposed: from where its top meets the bottom of the document to
        // where its bottom meets the top.
        for (int64_t shift = there.lowest - span; n && shift <= there.highest; shift++)
            lengths[k] = most(lengths[k], common_length(&places, n, here, shift, free_places));
    }
    free(masks);
    free(free_places);
    return has_memory;
}

// -- one note for several: Mongeau and Sankoff ------------------------------------------------------------------------

typedef struct {
    int64_t notes;
    const int64_t *pitch;
    const double *length;
} timed_line;

typedef struct {
    const double *by_interval; // the weight of an interval, by its semitones
    double k;                  // the cost of a unit of length
    int64_t largest;           // how many notes one may stand for
} exchange;

// The least of `best` and of the costs that end with note `at` of one melody for several notes of another, `fewest` at
// least, the last of them being `last`; `costs` is the cell of the table before both, and a note further back is
// `stride` cells before it. Intervals are counted after the one has been moved up by `shift`.
static inline double several_for_one(const exchange *rules, const timed_line *one, int64_t at,
                                     const timed_line *several, int64_t last, int64_t fewest, int64_t shift,
                                     const double *costs, int64_t stride, double best) {
    int64_t pitch = one->pitch[at] + shift;
    double length = one->length[at], interval = 0.0, total = 0.0;
    for (int64_t step = 0; step < least(rules->largest, last + 1); step++) {
        double other = several->length[last - step];
        interval += rules->by_interval[llabs(pitch - several->pitch[last - step])] * smaller(length, other);
        total += other;
        if (step + 1 < fewest) continue;
        best = smaller(best, costs[-step * stride] + interval + rules->k * fabs(total - length));
    }
    return best;
}

// The cheapest way to turn the query, moved up by `shift`, into the other melody. `table` has query->notes + 1 lines of
// `stride` cells.
static double mongeau_cost(const exchange *by, const timed_line *query, const timed_line *other, int64_t shift,
                           double *table, int64_t stride) {
    const exchange rules = *by;
    table[0] = 0.0;
    for (int64_t j = 0; j < other->notes; j++) table[j + 1] = table[j] + rules.k * other->length[j];
    for (int64_t i = 0; i < query->notes; i++) {
        double *line = table + i * stride, *next = line + stride;
        next[0] = line[0] + rules.k * query->length[i];
        for (int64_t j = 0; j < other->notes; j++) {
            double best = smaller(line[j + 1] + rules.k * query->length[i], next[j] + rules.k * other->length[j]);
            best = several_for_one(&rules, query, i, other, j, 1, shift, line + j, 1, best);
            next[j + 1] = several_for_one(&rules, other, j, query, i, 2, -shift, line + j, stride, best);
        }
    }
    return table[query->notes * stride + other->notes];
}

static range range_of_pitches(const timed_line *line) {
    range found = {line->pitch[0], line->pitch[0]};
    for (int64_t i = 1; i < line->notes; i++) {
        found.lowest = least(found.lowest, line->pitch[i]);
        found.highest = most(found.highest, line->pitch[i]);
    }
    return found;
}

static double whole_length(const timed_line *line) {
    double total = 0.0;
    for (int64_t i = 0; i < line->notes; i++) total += line->length[i];
    return total;
}

bool mongeau_distances(int64_t m, int64_t notes, int64_t documents, int64_t intervals, const int64_t query[m],
                       const double query_lengths[m], const int64_t pitches[notes], const double lengths[notes],
                       const int64_t offsets[documents + 1], const int64_t shifts[documents], bool tries_all,
                       const double by_interval[intervals], double k, int64_t largest, double distances[documents]) {
    int64_t stride = longest_of(documents, offsets) + 1;
    double *table = malloc(bytes_of((m + 1) * stride, sizeof *table));
    if (!table) return false;
    const exchange rules = {by_interval, k, largest};
    const timed_line asked = {m, query, query_lengths};
    const range own = range_of_pitches(&asked);
    const double own_length = whole_length(&asked);
    for (int64_t document = 0; document < documents; document++) {
        int64_t from = offsets[document];
        const timed_line there = {offsets[document + 1] - from, pitches + from, lengths + from};
        range tried = {shifts[document], shifts[document]};
        if (tries_all && there.notes) {
            range found = range_of_pitches(&there);
            tried = (range){found.lowest - own.highest, found.highest - own.lowest};
        }
        double best = INFINITY;
        for (int64_t shift = tried.lowest; shift <= tried.highest; shift++)
            best = smaller(best, mongeau_cost(&rules, &asked, &there, shift, table, stride));
        distances[document] = best / (k * (own_length + whole_length(&there)));
    }
    free(table);
    return true;
}

// -- structures -------------------------------------------------------------------------------------------------------

// Turning the query into one document. Both tables have lines of `stride` cells: costs[i, j] is the least cost for i
// structures and j, pair[i, j] that of label and direction of structure i in place of structure j; consolidation and
// fragmentation add it up.
static double structure_distance(const labelled_strings *query, const labelled_strings *documents, int64_t first,
                                 int64_t n, const structure_costs *prices, double *costs, double *pair,
                                 int64_t stride) {
    const structure_costs by = *prices;
    const int64_t *label = documents->label + first, *size = documents->size + first;
    const int64_t *direction = documents->direction + first, *overlap = documents->overlap + first;
    costs[0] = 0.0;
    for (int64_t j = 0; j < n; j++) costs[j + 1] = costs[j] + by.insertion * (double)size[j];
    for (int64_t i = 0; i < query->structures; i++) {
        const int64_t own_size = query->size[i];
        double *line = costs + i * stride, *next = line + stride, *pairs = pair + i * stride;
        next[0] = line[0] + by.deletion * (double)own_size;
        for (int64_t j = 0; j < n; j++) {
            int64_t turned = llabs(query->direction[i] - direction[j]);
            pairs[j] = by.labels[query->label[i] * by.kinds + label[j]] + by.direction * (double)turned;
            double closed = by.overlap * (double)llabs(query->overlap[i] - overlap[j]);
            double whole = pairs[j] + closed + by.size * (double)llabs(own_size - size[j]);
            double best = line[j + 1] + by.deletion * (double)own_size;
            best = smaller(best, next[j] + by.insertion * (double)size[j]);
            best = smaller(best, line[j] + by.replacement * whole);
            // Structures before this one are joined with it, one more at a time; first those of the query.
            double total = pairs[j];
            int64_t notes = own_size;
            for (int64_t back = 1; back < least(by.joined, i + 1); back++) {
                total += pairs[j - back * stride];
                notes += query->size[i - back];
                whole = total + closed + by.size * (double)llabs(notes - size[j]);
                best = smaller(best, line[j - back * stride] + by.consolidation * whole);
            }
            total = pairs[j], notes = size[j];
            for (int64_t back = 1; back < least(by.joined, j + 1); back++) {
                total += pairs[j - back];
                notes += size[j - back];
                whole = total + closed + by.size * (double)llabs(own_size - notes);
                best = smaller(best, line[j - back] + by.fragmentation * whole);
            }
            next[j + 1] = best;
        }
    }
    return costs[query->structures * stride + n];
}

bool structure_distances(const labelled_strings *query, const labelled_strings *documents, int64_t count,
                         const int64_t offsets[count + 1], const structure_costs *costs, double distances[count]) {
    int64_t stride = longest_of(count, offsets) + 1, m = query->structures;
    double *table = malloc(bytes_of((m + 1) * stride, sizeof *table));
    double *pair = malloc(bytes_of(m * stride, sizeof *pair));
    bool has_memory = table && pair;
    for (int64_t k = 0; has_memory && k < count; k++)
        distances[k] = structure_distance(query, documents, offsets[k], offsets[k + 1] - offsets[k], costs, table, pair,
                                          stride);
    free(table);
    free(pair);
    return has_memory;
}

// -- inner metric weights ---------------------------------------------------------------------------------------------

// Where each onset is in a melody: a table with free places, whose size is a power of two; EMPTY is a free place.
typedef struct {
    int64_t size;
    int64_t *time, *note;
} onset_table;

static const int64_t EMPTY = -1;
// 2 ** 64 divided by the golden ratio: products of it with successive numbers are far apart.
static const uint64_t SPREAD = 0x9E3779B97F4A7C15u;

// Where a time is in the table, or would be put.
static int64_t slot_of(const onset_table *table, int64_t time) {
    int64_t slot = (int64_t)((uint64_t)time * SPREAD >> 32) & (table->size - 1);
    while (table->time[slot] != EMPTY && table->time[slot] != time) slot = (slot + 1) & (table->size - 1);
    return slot;
}

static bool has_onset(const onset_table *table, int64_t time) {
    return time >= 0 && table->time[slot_of(table, time)] == time;
}

// A table has room for four times as many onsets as a melody has: few places are taken twice.
static int64_t table_size(int64_t onsets) {
    int64_t size = 16;
    while (size < 4 * onsets) size *= 2;
    return size;
}

// Whether a local metre is inside another with steps of which several make one of its own. n: notes of the melody.
static bool is_part_of_a_finer_one(const onset_table *table, int64_t start, int64_t step, int64_t length, int64_t n) {
    for (int64_t parts = 2; parts <= (n - 1) / length; parts++) {
        if (step % parts) continue;
        int64_t k = 1;
        while (k < parts * length && has_onset(table, start + k * (step / parts))) k++;
        if (k == parts * length) return true;
    }
    return false;
}

// Add the local metres that begin with onset i to the weights of their onsets.
static void add_metres(const onset_table *table, const int64_t *onsets, int64_t n, int64_t i, double *weights) {
    int64_t start = onsets[i];
    for (int64_t j = i + 1; j < n; j++) {
        int64_t step = onsets[j] - start, length = 2;
        if (onsets[n - 1] - start < 2 * step) break;
        if (!has_onset(table, start + 2 * step) || has_onset(table, start - step)) continue;
        while (has_onset(table, start + (length + 1) * step)) length++;
        if (is_part_of_a_finer_one(table, start, step, length, n)) continue;
        for (int64_t k = 0; k <= length; k++)
            weights[table->note[slot_of(table, start + k * step)]] += (double)(length * length);
    }
}

bool inner_metric_weights(int64_t notes, int64_t documents, const int64_t onsets[notes],
                          const int64_t offsets[documents + 1], const bool stop[1], double weights[notes]) {
    int64_t largest = table_size(longest_of(documents, offsets));
    size_t bytes = bytes_of(largest, sizeof(int64_t));
    onset_table table = {largest, malloc(bytes), malloc(bytes)};
    bool has_memory = table.time && table.note;
    for (int64_t k = 0; has_memory && k < documents && !is_stopped(stop); k++) {
        int64_t n = offsets[k + 1] - offsets[k];
        const int64_t *here = onsets + offsets[k];
        double *own = weights + offsets[k], heaviest = 1.0;
        table.size = table_size(n);
        for (int64_t slot = 0; slot < table.size; slot++) table.time[slot] = EMPTY;
        for (int64_t i = 0; i < n; i++) {
            int64_t slot = slot_of(&table, here[i]);
            table.time[slot] = here[i], table.note[slot] = i;
            own[i] = 0.0;
        }
        for (int64_t i = 0; i < n && !is_stopped(stop); i++) add_metres(&table, here, n, i, own);
        for (int64_t i = 0; i < n; i++) heaviest = larger(heaviest, own[i]);
        for (int64_t i = 0; i < n; i++) own[i] /= heaviest;
    }
    free(table.time);
    free(table.note);
    return has_memory;
}

// -- transposition and tempo ------------------------------------------------------------------------------------------

void log_times(int64_t notes, int64_t documents, const int64_t onsets[notes], const int64_t durations[notes],
               const int64_t offsets[documents + 1], double logs[notes]) {
    for (int64_t k = 0; k < documents; k++) {
        for (int64_t note = offsets[k]; note < offsets[k + 1]; note++) {
            bool is_last = note == offsets[k + 1] - 1;
            logs[note] = log2((double)(is_last ? most(durations[note], 1) : onsets[note + 1] - onsets[note]));
        }
    }
}

enum { BINS = 1024 };

// The share of each value in the whole length. Bins that are not used are 0.
typedef struct {
    int64_t count; // of values in use
    int64_t used[BINS];
    double bins[BINS];
} histogram;

static void fill_histogram(histogram *filled, int64_t notes, const int64_t *values, const int64_t *lengths) {
    double total = 0.0;
    filled->count = 0;
    for (int64_t note = 0; note < notes; note++) {
        double *bin = filled->bins + values[note], length = (double)most(lengths[note], 1);
        if (*bin == 0.0) filled->used[filled->count++] = values[note];
        *bin += length;
        total += length;
    }
    for (int64_t i = 0; i < filled->count; i++) filled->bins[filled->used[i]] /= total;
}

static void clear_histogram(histogram *filled) {
    for (int64_t i = 0; i < filled->count; i++) filled->bins[filled->used[i]] = 0.0;
}

// The best shift of one histogram to another; `aim` is the difference of the first notes. `shared` has 2 * BINS
// numbers, one for each shift from -BINS, which are 0 before and after.
static int64_t best_shift(const histogram *query, const histogram *other, int64_t aim, double *shared) {
    // Only a shift that puts some value of the query on one of the other shares anything.
    double largest = 0.0;
    for (int64_t i = 0; i < query->count; i++) {
        for (int64_t j = 0; j < other->count; j++) {
            double *share = shared + (other->used[j] - query->used[i] + BINS);
            *share += smaller(query->bins[query->used[i]], other->bins[other->used[j]]);
            largest = larger(largest, *share);
        }
    }
    int64_t best = 0, closest = 4 * BINS;
    for (int64_t i = 0; i < query->count; i++) {
        for (int64_t j = 0; j < other->count; j++) {
            int64_t shift = other->used[j] - query->used[i], away = llabs(shift - aim);
            bool is_better = away < closest || (away == closest && shift < best);
            if (is_better && shared[shift + BINS] > largest - RECOMPUTED) best = shift, closest = away;
        }
    }
    for (int64_t i = 0; i < query->count; i++)
        for (int64_t j = 0; j < other->count; j++) shared[other->used[j] - query->used[i] + BINS] = 0.0;
    return best;
}

bool best_shifts(int64_t m, int64_t notes, int64_t documents, const int64_t query[m], const int64_t query_lengths[m],
                 const int64_t values[notes], const int64_t lengths[notes], const int64_t offsets[documents + 1],
                 int64_t shifts[documents]) {
    histogram *own = calloc(1, sizeof *own), *other = calloc(1, sizeof *other);
    double *shared = calloc(2 * BINS, sizeof *shared);
    bool has_memory = own && other && shared;
    if (has_memory) fill_histogram(own, m, query, query_lengths);
    for (int64_t k = 0; has_memory && k < documents; k++) {
        int64_t first = offsets[k], n = offsets[k + 1] - first;
        shifts[k] = 0;
        if (!m || !n) continue;
        fill_histogram(other, n, values + first, lengths + first);
        shifts[k] = best_shift(own, other, values[first] - query[0], shared);
        clear_histogram(other);
    }
    free(own);
    free(other);
    free(shared);
    return has_memory;
}

// -- alignment --------------------------------------------------------------------------------------------------------

// So many documents are aligned side by side, shortest first, so that those of a block are about equally long: every
// step of the innermost loops is the same for each. Shorter documents are filled up with notes that cost nothing to
// leave out and are like no other.
enum { LANES = 64 };

static const double NEVER = -1e6; // a score that no alignment comes close to
static const double UNLIKE = 2.0; // lengths that differ by this many doublings have nothing in common

// One note of each document of a block.
typedef struct {
    int64_t pitch[LANES];
    double log[LANES], weight[LANES];
    double opening[LANES], extending[LANES]; // the costs of leaving it out
    double only[LANES];                      // NEVER where there is no note
} note_lanes;

// A cell of the table for each document of a block.
typedef struct {
    double best[LANES];
    double without_document[LANES]; // the best that leaves out the last note of the document
} cell_lanes;

typedef struct {
    double diagonal[LANES];
    double without_query[LANES]; // the best that leaves out the last note of the query
    double similarity[LANES], highest[LANES];
} row_lanes;

static void fill_lanes(note_lanes *here, const note_columns *documents, const int64_t *offsets, const int64_t *members,
                       int64_t count, int64_t row, const note_scores *scoring) {
    for (int64_t lane = 0; lane < LANES; lane++)
        here->opening[lane] = here->extending[lane] = 0.0, here->only[lane] = NEVER;
    for (int64_t lane = 0; lane < count; lane++) {
        int64_t note = offsets[members[lane]] + row;
        if (note >= offsets[members[lane] + 1]) continue;
        here->pitch[lane] = documents->pitches[note];
        here->log[lane] = documents->logs[note], here->weight[lane] = documents->weights[note];
        here->opening[lane] = scoring->opening, here->extending[lane] = scoring->extending, here->only[lane] = 0.0;
    }
}

// How similar a note of the query is to that of each document, -1 to 1.
static void compare_note(const note_lanes *restrict here, int64_t pitch, double log, double weight,
                         const double *restrict likeness_of, double rhythm, double *restrict similarity) {
    for (int64_t lane = 0; lane < LANES; lane++) {
        double likeness = likeness_of[llabs(here->pitch[lane] - pitch)];
        likeness *= 1.0 - fabs(here->weight[lane] - weight);
        likeness *= 1.0 - rhythm * smaller(fabs(here->log[lane] - log) / UNLIKE, 1.0);
        similarity[lane] = 2.0 * likeness - 1.0 + here->only[lane];
    }
}

// The cells of this row before the first note of the query.
static void begin_row(const note_lanes *restrict here, row_lanes *restrict row, cell_lanes *restrict cell,
                      double floor) {
    for (int64_t lane = 0; lane < LANES; lane++) {
        double before = cell->best[lane];
        double skip = larger(before - here->opening[lane], cell->without_document[lane] - here->extending[lane]);
        row->diagonal[lane] = before;
        row->without_query[lane] = NEVER;
        cell->without_document[lane] = skip;
        cell->best[lane] = larger(skip, floor);
    }
}

// The cells of this row after a note of the query; `above` is after the note before it.
static void take_note(const note_lanes *restrict here, row_lanes *restrict row, const cell_lanes *restrict above,
                      cell_lanes *restrict cell, double opening, double extending, double floor) {
    for (int64_t lane = 0; lane < LANES; lane++) {
        double left = cell->best[lane];
        double skip = larger(left - here->opening[lane], cell->without_document[lane] - here->extending[lane]);
        double pause = larger(above->best[lane] - opening, row->without_query[lane] - extending);
        double value = larger(larger(row->diagonal[lane] + row->similarity[lane], skip), larger(pause, floor));
        row->diagonal[lane] = left;
        cell->without_document[lane] = skip;
        row->without_query[lane] = pause;
        cell->best[lane] = value;
        row->highest[lane] = larger(row->highest[lane], value);
    }
}

// The scores of a block. `cells` are as many as the query has notes, and one.
static void align_documents(const note_columns *query, const note_columns *documents, const int64_t *offsets,
                            const int64_t *members, int64_t count, const note_scores *scoring, const bool *stop,
                            cell_lanes *cells, note_lanes *here, row_lanes *row, double *scores) {
    const note_columns asked = *query;
    const note_scores by = *scoring;
    const double floor = by.is_local ? 0.0 : -INFINITY;
    int64_t rows = 0;
    for (int64_t lane = 0; lane < count; lane++)
        rows = most(rows, offsets[members[lane] + 1] - offsets[members[lane]]);
    for (int64_t i = 0; i <= asked.notes; i++) {
        double gap = i ? larger(-by.opening - by.extending * (double)(i - 1), floor) : 0.0;
        for (int64_t lane = 0; lane < LANES; lane++) cells[i].best[lane] = gap, cells[i].without_document[lane] = NEVER;
    }
    for (int64_t lane = 0; lane < LANES; lane++) row->highest[lane] = 0.0;
    for (int64_t step = 0; step < rows && !is_stopped(stop); step++) {
        fill_lanes(here, documents, offsets, members, count, step, scoring);
        begin_row(here, row, cells, floor);
        for (int64_t i = 0; i < asked.notes; i++) {
            compare_note(here, asked.pitches[i], asked.logs[i], asked.weights[i], by.likeness, by.rhythm,
                         row->similarity);
            take_note(here, row, cells + i, cells + i + 1, by.opening, by.extending, floor);
        }
    }
    memcpy(scores, by.is_local ? row->highest : cells[asked.notes].best, (size_t)count * sizeof *scores);
}

bool alignment_scores(const note_columns *query, const note_columns *documents, int64_t count,
                      const int64_t offsets[count + 1], const int64_t order[count], const note_scores *scoring,
                      const bool stop[1], double scores[count]) {
    cell_lanes *cells = malloc(bytes_of(query->notes + 1, sizeof *cells));
    note_lanes *here = calloc(1, sizeof *here);
    row_lanes *row = malloc(sizeof *row);
    bool has_memory = cells && here && row;
    for (int64_t first = 0; has_memory && first < count; first += LANES)
        align_documents(query, documents, offsets, order + first, least(LANES, count - first), scoring, stop, cells,
                        here, row, scores + first);
    free(cells);
    free(here);
    free(row);
    return has_memory;
}

// -- paths ------------------------------------------------------------------------------------------------------------

bool cheapest_path(int64_t kinds, int64_t height, int64_t width, const double costs[kinds][height][width],
                   const int64_t rows[kinds], const int64_t columns[kinds], const int64_t before[kinds],
                   const int64_t after[kinds], const bool starts[height][width], const bool ends[height][width],
                   double cost[1], int64_t path[height + width][3], int64_t steps[1]) {
    const int16_t begin = -1; // in place of the kind of step that led to a cell
    int64_t cells = height * width, states = 1;
    for (int64_t kind = 0; kind < kinds; kind++) states = most(states, after[kind] + 1);
    double *best = malloc(bytes_of(states * cells, sizeof *best));
    int16_t *came = malloc(bytes_of(states * cells, sizeof *came));
    bool has_memory = best && came;
    int64_t state = 0, i = 0, j = 0, count = 0;
    cost[0] = INFINITY;
    for (int64_t cell = 0; has_memory && cell < states * cells; cell++) best[cell] = INFINITY, came[cell] = begin;
    for (int64_t cell = 0; has_memory && cell < cells; cell++) {
        int64_t row = cell / width, column = cell % width;
        if (starts[row][column]) best[cell] = 0.0;
        for (int64_t kind = 0; kind < kinds; kind++) {
            if (row < rows[kind] || column < columns[kind]) continue;
            int64_t from = before[kind] * cells + cell - rows[kind] * width - columns[kind];
            int64_t to = after[kind] * cells + cell;
            double total = best[from] + costs[kind][row][column];
            if (total < best[to]) best[to] = total, came[to] = (int16_t)kind;
        }
        for (int64_t s = 0; ends[row][column] && s < states; s++)
            if (best[s * cells + cell] < cost[0]) cost[0] = best[s * cells + cell], state = s, i = row, j = column;
    }
    while (has_memory) { // back from the end
        int16_t kind = came[state * cells + i * width + j];
        if (kind == begin) break;
        path[count][0] = kind, path[count][1] = i, path[count][2] = j, count++;
        state = before[kind], i -= rows[kind], j -= columns[kind];
    }
    for (int64_t step = 0; step < count / 2; step++) { // in order
        for (int64_t part = 0; part < 3; part++) {
            int64_t other = path[step][part];
            path[step][part] = path[count - 1 - step][part];
            path[count - 1 - step][part] = other;
        }
    }
    steps[0] = count;
    free(best);
    free(came);
    return has_memory;
}
