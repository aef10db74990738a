// The scan: a lower bound for one document after another, in the stages that scan.h describes.
#include "scan_inline.h"

// What is known of a tempo before any document.
typedef struct {
    double heavy;    // what weights are multiplied by
    double per_tick; // cells in a tick
    double unit;     // units in a tick
    int64_t ticks;   // ticks in a cell; 0 where that is no whole number
} tempo;

// The alignments of a document that are left at one tempo. No words: none is left.
typedef struct {
    window alignments;
    double total;     // the weight of the document
    cost_scale scale; // from costs to distances
    double budget;    // for a distance up to the limit
} remaining;

// A query, the documents, and memory for the work on one of them after another.
typedef struct {
    const scan_documents *block;
    const scan_plan *scan;
    double total_query, query_centre; // the query's weight and its centre in time
    int64_t widest_query;             // its last cell
    double most_per_tick;             // cells in a tick, at the slowest tempo
    int64_t tempo_count;
    tempo *tempos;                    // [tempo_count]
    remaining *left;                  // [tempo_count]
    double *x, *y, *weight;           // [longest document] its points at some tempo
    int64_t *order, *cells;           // [longest document] the numbers of notes, the cell of each
    double *weights_up, *moments;     // [longest document] weight, and weight times time, up to each note
    int64_t *places, *factors;        // [longest document or query] for `sums_in_reach`
    piece *pieces;                    // [twice the longest document or query] for `second_bound`
    uint64_t *possible;               // bits of alignments, for the widest document
    uint8_t *table;                   // of distances, for the widest document
    uint64_t *by_pitch;               // [documents] from the first stage
    void *memory;                     // all of these
} scanner;

// -- memory -----------------------------------------------------------------------------------------------------------

// The next multiple of a register.
static int64_t in_registers(int64_t count) {
    return (count + WIDEST_REGISTER - 1) / WIDEST_REGISTER * WIDEST_REGISTER;
}

// Hand out some bytes of `memory`, after `used` others, where a register may begin. While `memory` is NULL, only count.
static void *part_of(void *memory, size_t *used, int64_t count, size_t size) {
    size_t misplaced = (uintptr_t)memory % WIDEST_REGISTER;
    void *part = memory ? (char *)memory + *used + (misplaced ? WIDEST_REGISTER - misplaced : 0) : NULL;
    *used += (size_t)in_registers(count * (int64_t)size);
    return part;
}

static size_t hand_out(scanner *s, int64_t longest) {
    const scan_plan *scan = s->scan;
    const scan_stamps *stamps = scan->stamps;
    int64_t longer = most(longest, scan->query->count), cells = LONGEST + 1;
    int64_t rows = TRANSPOSITIONS + scan->heights->span + 4 * stamps->rows;
    int64_t stride = in_registers(cells + 2 * s->widest_query + 1 + 2 * stamps->cells);
    int64_t windows = (cells + s->widest_query) / AT_ONCE + 2;
    size_t used = 0;
    s->tempos = part_of(s->memory, &used, s->tempo_count, sizeof(tempo));
    s->left = part_of(s->memory, &used, s->tempo_count, sizeof(remaining));
    s->x = part_of(s->memory, &used, longest, sizeof(double));
    s->y = part_of(s->memory, &used, longest, sizeof(double));
    s->weight = part_of(s->memory, &used, longest, sizeof(double));
    s->order = part_of(s->memory, &used, longest, sizeof(int64_t));
    s->cells = part_of(s->memory, &used, longest, sizeof(int64_t));
    s->weights_up = part_of(s->memory, &used, longest, sizeof(double));
    s->moments = part_of(s->memory, &used, longest, sizeof(double));
    s->places = part_of(s->memory, &used, longer, sizeof(int64_t));
    s->factors = part_of(s->memory, &used, longer, sizeof(int64_t));
    s->pieces = part_of(s->memory, &used, 2 * longer, sizeof(piece));
    s->by_pitch = part_of(s->memory, &used, s->block->documents, sizeof(uint64_t));
    s->possible = part_of(s->memory, &used, TRANSPOSITIONS * windows, sizeof(uint64_t));
    s->table = part_of(s->memory, &used, rows * stride + 2 * stamps->cells + 4 * WIDEST_REGISTER, 1);
    return used;
}

// Ready to scan; false if there is no memory.
static bool begin_scan(scanner *s, const scan_documents *block, const scan_plan *scan) {
    const points *query = scan->query;
    memset(s, 0, sizeof(*s));
    s->block = block;
    s->scan = scan;
    int64_t longest = 1;
    for (int64_t d = 0; d < block->documents; d++) longest = most(longest, block->offsets[d + 1] - block->offsets[d]);
    double moment = 0.0;
    for (int64_t i = 0; i < query->count; i++) {
        moment += query->x[i] * query->weight[i];
        s->widest_query = most(s->widest_query, scan->grid->cells[i]);
    }
    s->total_query = total_of(query->count, query->weight);
    s->query_centre = moment / s->total_query;
    s->tempo_count = scan->grid->tempos;
    s->memory = malloc(hand_out(s, longest) + WIDEST_REGISTER);
    if (!s->memory) return false;
    hand_out(s, longest);
    for (int64_t j = 0; j < longest; j++) s->order[j] = j;
    for (int64_t k = 0; k < s->tempo_count; k++) {
        double heavy = scan->rules->scales_weights ? 1.0 / scan->rules->tempos[k] : 1.0;
        double per_tick = scan->grid->per_tick[k];
        s->tempos[k] = (tempo){heavy, per_tick, per_tick * scan->grid->cell, scan->grid->ticks[k]};
        s->most_per_tick = larger(s->most_per_tick, per_tick);
    }
    return true;
}

// -- a document -------------------------------------------------------------------------------------------------------

static place_of place_in(const scan_documents *block, int64_t d) {
    int64_t start = block->offsets[d];
    return (place_of){start, block->offsets[d + 1] - start, block->lows[d], block->spans[d]};
}

// Whether a document is too wide or too long for tables.
static bool is_too_large(const scanner *s, place_of document) {
    return document.top + s->scan->heights->span > WIDEST ||
           s->block->times[document.start + document.notes - 1] * s->most_per_tick > LONGEST;
}

// The cell of a time in ticks.
static int64_t cell_of(int32_t time, double per_tick) { return (int32_t)(time * per_tick + ON_GRID); }

// A number of cells, which may be so large that it is no whole number of the processor.
static int64_t whole_cells(double cells) { return (int64_t)smaller(larger(cells, -1e15), 1e15); }

// Whether all notes of a document are on borders of cells at tempo k.
static bool is_on_grid(const scanner *s, int64_t d, int64_t k) {
    int64_t ticks = s->tempos[k].ticks;
    return ticks > 0 && s->block->grids[d] % ticks == 0;
}

// -- stage 2: weight that must cross a pitch --------------------------------------------------------------------------

// At which transpositions, of those that the first stage has left, not too much weight must cross a pitch; whether any
// is left at any tempo.
//
// While the document is heavier than the query: where too much weight must cross, too much must also cross when the
// document, at a faster tempo, weighs less.
static bool weight_in_reach(scanner *s, place_of document, uint64_t by_pitch) {
    const scan_plan *scan = s->scan;
    const scan_heights *heights = scan->heights;
    const double missing = scan->rules->missing;
    for (int64_t k = 0; k < s->tempo_count; k++) s->left[k].alignments.words = 0;
    if (missing >= 0.0 && !by_pitch) return false;
    double below[MOST_ROWS];
    double whole = weight_below(s->block, document, below);
    if (!(whole > 0.0)) return false;
    uint64_t in_any = 0, at_heavier = by_pitch;
    double heaviest = INFINITY;
    for (int64_t k = 0; k < s->tempo_count; k++) {
        double heavy = s->tempos[k].heavy, total = whole * heavy;
        cost_scale scale = charge_and_base(s->total_query, total, missing);
        double budget = budget_of(scan->limit, scale, ON_GRID);
        if (budget < 0.0) continue;
        uint64_t possible = by_pitch;
        bool is_heavier = total >= s->total_query * (1.0 + ON_GRID);
        if (missing < 0.0 && !is_heavier) // the first stage does not know the lower base
            possible = (UINT64_C(1) << (document.top + heights->span + 1)) - 1;
        if (is_heavier && heavy <= heaviest) possible = at_heavier;
        if (possible) {
            int64_t limit = (int64_t)(budget / heights->semitone * heights->parts) + 1;
            possible = transpositions_in_reach(possible, document.top, scale.is_light, below, heavy * heights->parts,
                                               heights, limit);
        }
        if (is_heavier) {
            at_heavier = possible;
            heaviest = heavy;
        }
        s->left[k] = (remaining){{possible, 0, 0}, total, scale, budget};
        in_any |= possible;
    }
    return in_any != 0;
}

// -- stage 3: centres -------------------------------------------------------------------------------------------------

// Fill in weight, and weight times time in ticks, up to each note.
static void weigh_up(scanner *s, place_of document) {
    double total = 0.0, moment = 0.0;
    for (int64_t j = 0; j < document.notes; j++) {
        double weight = s->block->weights[document.start + j];
        total += weight;
        moment += weight * s->block->times[document.start + j];
        s->weights_up[j] = total;
        s->moments[j] = moment;
    }
}

// Weight times time of the first notes, of so much weight.
static double moment_of(const scanner *s, place_of document, double amount) {
    int64_t low = 0; // the first note with which there is enough, in the end
    for (int64_t count = document.notes, half; count > 1; count -= half) {
        half = count / 2;
        low += s->weights_up[low + half - 1] < amount ? half : 0;
    }
    double before = low ? s->weights_up[low - 1] : 0.0, moment = low ? s->moments[low - 1] : 0.0;
    return moment + (amount - before) * s->block->times[document.start + low];
}

// At which shifts the centres are close enough (`centre_shifts`), at all tempos.
//
// Where the document is heavier, the centres of its first and of its last weight are read off the sums up to each of
// its notes, in its own time. At another tempo they are those of another amount, and everything is scaled.
static bool centres_in_reach(scanner *s, place_of document) {
    const scan_plan *scan = s->scan;
    const points *query = scan->query;
    weigh_up(s, document);
    double whole = s->weights_up[document.notes - 1], whole_moment = s->moments[document.notes - 1];
    int32_t last_time = s->block->times[document.start + document.notes - 1];
    bool is_any = false;
    for (int64_t k = 0; k < s->tempo_count; k++) {
        remaining *left = &s->left[k];
        if (!left->alignments.words) continue;
        double unit = s->tempos[k].unit, budget = left->budget;
        shift_range range;
        if (left->scale.is_light) {
            double middle = whole_moment / whole * unit;
            range = centre_shifts(middle, true, query->count, query->x, query->weight, left->total, budget);
        } else {
            double amount = smaller(s->total_query / s->tempos[k].heavy, whole);
            double earliest = moment_of(s, document, amount);
            double latest = whole_moment - moment_of(s, document, whole - amount);
            range.first = earliest / amount * unit - s->query_centre - budget / s->total_query;
            range.last = latest / amount * unit - s->query_centre + budget / s->total_query;
        }
        left->alignments.first = most(whole_cells(floor(range.first / scan->grid->cell)), -s->widest_query);
        left->alignments.last =
            least(whole_cells(ceil(range.last / scan->grid->cell)), cell_of(last_time, s->tempos[k].per_tick));
        if (left->alignments.first > left->alignments.last) left->alignments.words = 0;
        is_any |= left->alignments.words != 0;
    }
    return is_any;
}

// -- stage 4: the nearest notes ---------------------------------------------------------------------------------------

// The sums over a table of the document, which is heavier than the query.
static bool sums_over_document(scanner *s, place_of document, window left, bool is_on_grid, int64_t limit) {
    const scan_plan *scan = s->scan;
    const scan_grid *grid = scan->grid;
    const scan_stamps *stamps = scan->stamps;
    int64_t span = scan->heights->span, lowest = first_bit(left.words) - span, highest = last_bit(left.words) - span;
    int64_t rows = highest + span - lowest + 1; // from the query's lowest pitch, wherever it may be, to its highest
    int64_t columns = left.last - left.first + s->widest_query + 1;
    int64_t stride = in_registers(columns + 2 * stamps->cells);
    uint8_t *first_row = s->table + 2 * stamps->rows * stride;
    document_table table = {first_row, stride, document.low + lowest, rows, left.first, columns};
    stamp_document(&table, s->block->pitches + document.start, document.notes, s->cells, stamps,
                   is_on_grid ? 0 : stamps->off_grid, s->places);
    int64_t origin = 2 * stamps->cells - left.first - lowest * stride;
    for (int64_t r = 0; r < grid->notes; r++) {
        int64_t note = scan->sums->heaviest[r];
        s->places[r] = grid->pitch[note] * stride + grid->cells[note] + origin;
    }
    return sums_in_reach(left, span, first_row, stride, grid->notes, s->places, scan->sums->factors, limit,
                         s->possible);
}

// The sums over the table of the query, which is heavier than the document.
static bool sums_over_query(scanner *s, place_of document, window left, bool is_on_grid, int64_t limit) {
    const scan_plan *scan = s->scan;
    const scan_table *table = scan->table;
    int64_t origin = table->place + (is_on_grid ? 0 : table->size);
    for (int64_t j = 0; j < document.notes; j++) {
        s->factors[j] = least((int64_t)(s->weight[j] * scan->sums->factor), MOST / FAR);
        s->places[j] =
            origin - (s->block->pitches[document.start + j] - document.low) * table->stride - s->cells[j];
    }
    return sums_in_reach(left, scan->heights->span, table->numbers, table->stride, document.notes, s->places,
                         s->factors, limit, s->possible);
}

// The cells and the weights of a document at tempo k.
static void fill_notes(scanner *s, place_of document, int64_t k) {
    const int32_t *times = s->block->times + document.start;
    const float *weights = s->block->weights + document.start;
    double per_tick = s->tempos[k].per_tick, heavy = s->tempos[k].heavy;
    for (int64_t j = 0; j < document.notes; j++) {
        s->cells[j] = cell_of(times[j], per_tick);
        s->weight[j] = weights[j] * heavy;
    }
}

// At which shifts the nearest notes are close enough, at tempo k, for a distance up to `bound`; whether at any.
// Fills in the cells and the weights of the document.
static bool notes_in_reach(scanner *s, int64_t d, place_of document, int64_t k, double bound) {
    const scan_plan *scan = s->scan;
    const remaining *left = &s->left[k];
    window alignments = left->alignments;
    double budget = budget_of(smaller(scan->limit, bound), left->scale, ON_GRID);
    int64_t limit = (int64_t)(budget * scan->sums->factor * FAR / scan->sums->reach) + 1;
    fill_notes(s, document, k);
    if (!left->scale.is_light) return sums_over_document(s, document, alignments, is_on_grid(s, d, k), limit);
    if (alignments.last >= MARGIN || s->cells[document.notes - 1] - alignments.first >= s->widest_query + MARGIN) {
        // More than the query's table covers.
        int64_t windows = (alignments.last - alignments.first) / AT_ONCE + 1;
        memset(s->possible, 0xff, sizeof(uint64_t) * (size_t)(TRANSPOSITIONS * windows));
        return true;
    }
    return sums_over_query(s, document, alignments, is_on_grid(s, d, k), limit);
}

// -- stage 5: pairs of notes ------------------------------------------------------------------------------------------

// The least of `bound` and of the distances that alignments that are left at tempo k have at least; alignments beyond
// the limit do not count.
static double pairs_in_reach(scanner *s, int64_t d, place_of document, int64_t k, double bound) {
    const scan_plan *scan = s->scan;
    const scan_grid *grid = scan->grid;
    const int8_t *pitches = s->block->pitches + document.start;
    const remaining *left = &s->left[k];
    const window alignments = left->alignments;
    const cost_scale scale = left->scale;
    const int64_t span = scan->heights->span, ground = scan->rules->ground;
    const double amount = smaller(left->total, s->total_query);
    // Where all notes are on borders of cells, a bit is one alignment, however many of its notes coincide.
    const bool is_one = grid->is_exact && is_on_grid(s, d, k);
    for (int64_t j = 0; j < document.notes; j++) {
        s->x[j] = s->block->times[document.start + j] * grid->per_tick[k] * grid->cell;
        s->y[j] = pitches[j] * scan->heights->semitone;
    }
    const points there = {document.notes, s->x, s->y, s->weight, s->order};
    int64_t lowest = first_bit(alignments.words) - span, highest = last_bit(alignments.words) - span;
    double budget = budget_of(smaller(scan->limit, bound), scale, ON_GRID);
    for (int64_t j = 0; j < document.notes; j++) {
        int64_t over = pitches[j] - document.low;
        int64_t end = grid->starts[least(most(over - lowest + 1, 0), span + 1)];
        for (int64_t r = grid->starts[least(most(over - highest, 0), span + 1)]; r < end; r++) {
            int64_t bit = over - grid->pitch[r] + span, shift = s->cells[j] - grid->cells[r] - alignments.first;
            if (shift < 0 || shift > alignments.last - alignments.first || !(alignments.words >> bit & 1)) continue;
            uint64_t *word = &s->possible[TRANSPOSITIONS * (shift / AT_ONCE) + bit];
            uint64_t in_word = UINT64_C(1) << shift % AT_ONCE;
            if (!(*word & in_word)) continue;
            if (is_one) *word ^= in_word;
            double cost = pair_bound(scan->query, &there, grid->numbers[r], j, scale.is_light, budget, ground);
            if (cost > budget) continue;
            cost = larger(cost, second_bound(scan->query, &there, grid->numbers[r], j, scale.is_light, amount, ground,
                                             s->pieces));
            if (cost > budget) continue;
            double distance = larger(cost + scale.charge - ON_GRID * (1.0 + scale.charge + cost), 0.0) / scale.base;
            bound = smaller(bound, distance);
            budget = budget_of(smaller(scan->limit, bound), scale, ON_GRID);
        }
    }
    return bound;
}

// -- all stages -------------------------------------------------------------------------------------------------------

static double scan_document(scanner *s, int64_t d) {
    place_of document = place_in(s->block, d);
    double bound = INFINITY;
    if (!s->block->allowed[d] || !document.notes) return bound;
    if (is_too_large(s, document)) return 0.0;
    if (!weight_in_reach(s, document, s->by_pitch[d]) || !centres_in_reach(s, document)) return bound;
    for (int64_t k = 0; k < s->tempo_count; k++)
        if (s->left[k].alignments.words && notes_in_reach(s, d, document, k, bound))
            bound = pairs_in_reach(s, d, document, k, bound);
    return bound;
}

bool scan_block(const scan_documents *block, const scan_plan *scan, double bounds[block->documents]) {
    scanner s;
    if (!begin_scan(&s, block, scan)) return false;
    pitches_in_reach(block->documents, block->words, scan->heights, s.by_pitch);
    for (int64_t d = 0; d < block->documents; d++) bounds[d] = scan_document(&s, d);
    free(s.memory);
    return true;
}

bool scan_stages(const scan_documents *block, const scan_plan *scan, int64_t d, int64_t k, int64_t stages,
                 uint64_t words[2], int64_t shifts[2], int64_t room, uint64_t possible[room]) {
    scanner s;
    if (!begin_scan(&s, block, scan)) return false;
    place_of document = place_in(block, d);
    window *left = &s.left[k].alignments;
    pitches_in_reach(block->documents, block->words, scan->heights, s.by_pitch);
    words[0] = words[1] = s.by_pitch[d];
    if (stages >= 2) {
        weight_in_reach(&s, document, s.by_pitch[d]);
        words[1] = left->words;
    }
    if (stages >= 3 && words[1]) {
        centres_in_reach(&s, document);
        words[1] = left->words;
        shifts[0] = left->first;
        shifts[1] = left->last;
    }
    if (stages >= 4 && words[1]) {
        if (!notes_in_reach(&s, d, document, k, INFINITY)) words[1] = 0;
        int64_t used = TRANSPOSITIONS * ((left->last - left->first) / AT_ONCE + 1);
        memcpy(possible, s.possible, sizeof(uint64_t) * (size_t)least(used, room));
    }
    free(s.memory);
    return true;
}

void scan_limits(double limits[11]) {
    const double ours[11] = {WIDEST_REGISTER, PITCH_LEVELS, PITCH_STEPS, WIDEST, RIM,    MOST_ROWS,
                             LARGEST,         MOST,         FAR,         MARGIN, ON_GRID};
    memcpy(limits, ours, sizeof(ours));
}
