// All matches of the segments of queries in documents, and the chains that they make.
//
// A match is a coincidence alignment of a segment whose distance is within the radius. Before a transportation problem
// is solved for a pair of notes, cheaper tests rule out most of them: the pitches alone (`mark_pitches`), every note at
// its nearest (`may_cost_at_most`), an alignment that came before (`is_seen`), and one that costs nothing (`lies_on`).
#include "twv.h"

#include "transport_solver.h"

// How many matches there is room for at first, and at least more when the room is doubled.
#define MORE_MATCHES 64

// A row of the kernels' `found`.
typedef struct {
    double segment, distance, start, end, transposition, tempo;
} match;

typedef struct {
    match *rows;
    int64_t count, room;
    bool can_grow; // else matches without room are counted only
} match_list;

// False: there is no memory.
static bool add_match(match_list *list, match found) {
    if (list->count >= list->room && list->can_grow) {
        int64_t room = 2 * list->room + MORE_MATCHES;
        match *rows = realloc(list->rows, sizeof(match) * (size_t)room);
        if (!rows) return false;
        list->rows = rows, list->room = room;
    }
    if (list->count < list->room) list->rows[list->count] = found;
    list->count++;
    return true;
}

// -- tests of one alignment -------------------------------------------------------------------------------------------

// The distance from (x, y) to the nearest of some points, at most `cap`. Looks outwards from `guess`, near x in time.
static double nearest(double x, double y, const points *columns, int64_t guess, double cap, int64_t ground) {
    int64_t last = last_before(x, columns->count, columns->x, guess);
    for (int64_t k = last; k >= 0; k--) {
        double dx = x - columns->x[k];
        if (dx >= cap) break;
        cap = smaller(cap, apart(dx, y - columns->y[k], ground));
    }
    for (int64_t k = last + 1; k < columns->count; k++) {
        double dx = columns->x[k] - x;
        if (dx >= cap) break;
        cap = smaller(cap, apart(dx, y - columns->y[k], ground));
    }
    return cap;
}

// False where the rows, moved, each to its nearest column, cost more than the budget: no flow can cost less. As
// `rows_bound`, but a row is searched no further than the rest of the budget reaches.
static bool may_cost_at_most(double budget, const points *rows, const points *columns, double x, double y, int64_t lead,
                             int64_t ground) {
    for (int64_t k = 0; k < rows->count; k++) {
        int64_t i = rows->order[k];
        double weight = rows->weight[i];
        if (!(weight > 0.0)) continue;
        double reach = budget / weight;
        double away = nearest(rows->x[i] + x, rows->y[i] + y, columns, i + lead, reach, ground);
        if (away >= reach) return false;
        budget -= weight * away;
    }
    return true;
}

// The number of the first point of a document at this place; -1 when there is none.
static int64_t point_at(const points *document, double x, double y) {
    int64_t low = 0, high = document->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (document->x[middle] < x - RECOMPUTED)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < document->count && document->x[low] <= x + RECOMPUTED; low++)
        if (fabs(document->y[low] - y) <= RECOMPUTED) return low;
    return -1;
}

// Whether one of the query's first points, moved, is on a point of the document: then that alignment came before.
static bool is_seen(const points *query, int64_t count, const points *document, double x, double y) {
    for (int64_t i = 0; i < count; i++)
        if (point_at(document, query->x[i] + x, query->y[i] + y) >= 0) return true;
    return false;
}

// Whether every point of the query, moved, is on a point of the document with room for it: then it costs nothing. A
// long document has thousands of places for a query of one note or two; none of them needs a flow to be found. Two
// points of the query on one of the document are left to the flow.
static bool lies_on(const points *query, const points *document, double x, double y) {
    int64_t before = -1;
    for (int64_t i = 0; i < query->count; i++) {
        int64_t j = point_at(document, query->x[i] + x, query->y[i] + y);
        if (j <= before || document->weight[j] < query->weight[i]) return false;
        before = j;
    }
    return true;
}

// -- matches ----------------------------------------------------------------------------------------------------------

// Room for the matches of segments in documents that are no longer than the longest of each.
typedef struct {
    transport_problem problem;
    double *query_x, *query_y, *negated; // a segment; its weights, negated for sorting
    int64_t *order;                      // of a segment: the heaviest note first
    double *x, *y, *weight;              // a document
    int64_t *document_order;             // its notes as they come
    double *pitches;                     // the different pitches of the document, rising, in units
    int64_t *level;                      // of each note: which of them
    int64_t pitch_count;
    int64_t *rising, *spare; // for sorting
    bool *is_in_reach;       // notes of a segment x pitches of the document
    double *table;           // 128 x notes of a document
    void *numbers, *flags;
} match_room;

static void free_match_room(match_room *room) {
    free_problem(&room->problem);
    free(room->numbers);
    free(room->flags);
}

static bool make_match_room(match_room *made, int64_t n, int64_t m, int64_t table_rows, const bool *stop) {
    const int64_t longest = most(n, m);
    *made = (match_room){0};
    int64_t numbers = 4 * n + 6 * m + 2 * longest + table_rows * m;
    double *number = made->numbers = malloc(sizeof(double) * (size_t)(numbers + 1));
    made->flags = malloc((size_t)(n * m + 1));
    if (!make_problem(&made->problem, n, m, stop) || !made->numbers || !made->flags) {
        free_match_room(made);
        return false;
    }
    made->query_x = number, made->query_y = number + n, made->negated = number + 2 * n;
    made->order = (int64_t *)(number + 3 * n);
    number += 4 * n;
    made->x = number, made->y = number + m, made->weight = number + 2 * m, made->pitches = number + 3 * m;
    made->level = (int64_t *)(number + 4 * m), made->document_order = (int64_t *)(number + 5 * m);
    number += 6 * m;
    made->rising = (int64_t *)number, made->spare = (int64_t *)(number + longest);
    made->table = number + 2 * longest;
    made->is_in_reach = made->flags;
    for (int64_t j = 0; j < m; j++) made->document_order[j] = j;
    return true;
}

// The different pitches of a document, and which of them each note has.
static void find_pitches(match_room *room, const stored_notes *document, double pitch_unit) {
    const double *pitch = document->pitch;
    rising_order(document->count, pitch, room->rising, room->spare);
    room->pitch_count = 0;
    for (int64_t k = 0; k < document->count; k++) {
        int64_t note = room->rising[k];
        if (k == 0 || pitch[note] != pitch[room->rising[k - 1]])
            room->pitches[room->pitch_count++] = pitch[note] * pitch_unit;
        room->level[note] = room->pitch_count - 1;
    }
}

// Whether the pitches alone, without regard to time, allow an alignment of a query note with one of a document's
// pitches.
static void mark_pitches(match_room *room, const points *query, double budget) {
    const int64_t n = query->count, count = room->pitch_count;
    const double *pitches = room->pitches;
    for (int64_t i = 0; i < n; i++)
        for (int64_t u = 0; u < count; u++) {
            double shift = pitches[u] - query->y[i], left = budget;
            for (int64_t k = 0; k < n && !(left < 0.0); k++) {
                double at = query->y[query->order[k]] + shift, away = INFINITY;
                for (int64_t v = 0; v < count; v++) away = smaller(away, fabs(pitches[v] - at));
                left -= query->weight[query->order[k]] * away;
            }
            room->is_in_reach[i * count + u] = left >= 0.0;
        }
}

// One segment at one tempo in one document.
typedef struct {
    points segment, document;
    const rules *rules;
    const double *table;
    cost_scale scale;
    double allowed, budget; // what a flow may cost, and a little more
} attempt;

// Whether an alignment may be a match that is not known yet.
static bool is_promising(const attempt *at, int64_t i, int64_t j, double x, double y) {
    const int64_t ground = at->rules->ground;
    if (ground != TABLE) {
        bool may_be = at->scale.is_light
                          ? may_cost_at_most(at->budget, &at->document, &at->segment, -x, -y, i - j, ground)
                          : may_cost_at_most(at->budget, &at->segment, &at->document, x, y, j - i, ground);
        if (!may_be) return false;
    }
    return !is_seen(&at->segment, i, &at->document, x, y);
}

static double distance_of(const attempt *at, double x, double y, match_room *room) {
    const int64_t ground = at->rules->ground;
    double cost = 0.0;
    if (at->scale.is_light || ground == TABLE || !lies_on(&at->segment, &at->document, x, y))
        cost = aligned_cost(&at->segment, &at->document, x, y, at->allowed, ground, at->table, at->scale.is_light,
                            &room->problem);
    return rint((cost + at->scale.charge) / at->scale.base * REORDERED_PARTS) / REORDERED_PARTS;
}

// A segment in its frame. Its notes are those of the query from `first` to `end`, without the last.
static points segment_of(const segmented_query *query, int64_t number, match_room *room) {
    const int64_t first = query->first[number], n = query->end[number] - first;
    const stored_notes *notes = query->notes;
    for (int64_t i = 0; i < n; i++) {
        room->query_x[i] = (notes->time[first + i] - notes->time[first]) / query->unit;
        room->query_y[i] = notes->pitch[first + i] * query->pitch_unit;
        room->negated[i] = -notes->weight[first + i];
    }
    rising_order(n, room->negated, room->order, room->spare);
    return (points){n, room->query_x, room->query_y, notes->weight + first, room->order};
}

// A document at a tempo, in the query's frame.
static points document_at(const segmented_query *query, const stored_notes *document, const rules *rules, double tempo,
                          match_room *room) {
    for (int64_t j = 0; j < document->count; j++) {
        room->x[j] = document->time[j] / query->unit / tempo;
        room->y[j] = document->pitch[j] * query->pitch_unit;
        room->weight[j] = rules->scales_weights ? document->weight[j] / tempo : document->weight[j];
    }
    return (points){document->count, room->x, room->y, room->weight, room->document_order};
}

// Add the matches of one segment at one tempo. False: there is no memory.
static bool find_at(const attempt *at, const segmented_query *query, int64_t number, double tempo, double radius,
                    match_room *room, match_list *found) {
    const points *segment = &at->segment, *document = &at->document;
    const int64_t n = segment->count, levels = room->pitch_count;
    if (at->rules->ground != TABLE && !at->scale.is_light)
        mark_pitches(room, segment, at->budget);
    else
        memset(room->is_in_reach, true, (size_t)(n * levels));
    for (int64_t j = 0; j < document->count && !is_stopped(at->rules->stop); j++) {
        for (int64_t i = 0; i < n; i++) {
            if (!room->is_in_reach[i * levels + room->level[j]]) continue;
            double x = document->x[j] - segment->x[i], y = document->y[j] - segment->y[i];
            if (!is_promising(at, i, j, x, y)) continue;
            double distance = distance_of(at, x, y, room);
            if (!(distance <= radius)) continue;
            double start = x * query->unit * tempo;
            match here = {(double)number, distance, start, start + segment->x[n - 1] * query->unit * tempo,
                          y / query->pitch_unit, tempo};
            if (!add_match(found, here)) return false;
        }
    }
    return true;
}

// Add all matches of the segments of a query in a document. False: there is no memory.
static bool find_matches(const segmented_query *query, const stored_notes *document, const double *table,
                         const rules *rules, double radius, match_room *room, match_list *found) {
    if (document->count == 0) return true;
    find_pitches(room, document, query->pitch_unit);
    for (int64_t s = 0; s < query->segments; s++) {
        if (!query->possible[s]) continue;
        points segment = segment_of(query, s, room);
        double query_weight = total_of(segment.count, segment.weight);
        if (!(query_weight > 0.0)) continue;
        for (int64_t k = 0; k < rules->tempo_count && !is_stopped(rules->stop); k++) {
            double tempo = rules->tempos[k];
            points there = document_at(query, document, rules, tempo, room);
            double weight = total_of(there.count, there.weight);
            if (!(weight > 0.0)) continue;
            cost_scale scale = charge_and_base(query_weight, weight, rules->missing);
            double allowed = radius * scale.base - scale.charge;
            if (allowed < 0.0) continue;
            attempt at = {segment, there, rules, table, scale, allowed, allowed + RECOMPUTED * (1.0 + allowed)};
            if (!find_at(&at, query, s, tempo, radius, room, found)) return false;
        }
    }
    return true;
}

static int64_t longest_segment(int64_t count, const int64_t *first, const int64_t *end) {
    int64_t longest = 1;
    for (int64_t s = 0; s < count; s++) longest = most(longest, end[s] - first[s]);
    return longest;
}

int64_t segment_matches(const segmented_query *query, const stored_notes *document, int64_t table_rows,
                        int64_t table_columns, const double table[table_rows][table_columns], const rules *rules,
                        double radius, int64_t room, double found[room][6]) {
    match_room work;
    match_list list = {(match *)found, 0, room, false};
    int64_t longest = longest_segment(query->segments, query->first, query->end);
    if (!make_match_room(&work, longest, document->count, 0, rules->stop)) return -1;
    find_matches(query, document, (const double *)table, rules, radius, &work, &list);
    free_match_room(&work);
    return list.count;
}

// -- chains -----------------------------------------------------------------------------------------------------------

// Whether a match may come next after another one in a legal combination.
static bool may_follow(const match *before, const match *after, const segment_spans *spans, const legality *legality) {
    if (after->segment <= before->segment || after->start <= before->start + RECOMPUTED) return false;
    bool is_other_place =
        fabs(after->transposition - before->transposition) > RECOMPUTED || after->tempo != before->tempo;
    if (legality->agree && is_other_place) return false;
    if (after->segment > before->segment + 1) return true;
    double tempo = (before->tempo + after->tempo) / 2, note = spans->unit * tempo;
    double in_query = (spans->ends[(int64_t)before->segment] - spans->starts[(int64_t)after->segment]) * tempo;
    double in_document = before->end - after->start;
    if (in_query > -RECOMPUTED && fabs(in_document - in_query) > legality->tolerance * note + RECOMPUTED) return false;
    return -in_document <= larger(-in_query, 0.0) + legality->apart * note + RECOMPUTED;
}

// `previous` may be NULL.
static void find_chains(int64_t count, const match *found, int64_t longest, const segment_spans *spans,
                        const legality *legality, const bool *stop, double *sums, int64_t *previous) {
    for (int64_t k = 0; k < count * longest; k++) sums[k] = INFINITY;
    for (int64_t k = 0; previous && k < count * longest; k++) previous[k] = -1;
    int64_t begin = 0; // of the matches of the same segment: none of them follows another
    for (int64_t a = 0; a < count && longest > 0; a++) {
        double *ending = sums + a * longest;
        ending[0] = found[a].distance;
        if (is_stopped(stop)) break;
        if (found[a].segment != found[begin].segment) begin = a;
        for (int64_t b = 0; b < begin; b++) {
            if (!may_follow(&found[b], &found[a], spans, legality)) continue;
            const double *before = sums + b * longest;
            for (int64_t c = 1; c < longest && before[c - 1] < INFINITY; c++) {
                double total = before[c - 1] + found[a].distance;
                if (!(total < ending[c])) continue;
                ending[c] = total;
                if (previous) previous[a * longest + c] = b;
            }
        }
    }
}

void chains(int64_t count, const double found[count][6], int64_t longest, const segment_spans *spans,
            const legality *legality, const bool stop[1], double sums[count][longest],
            int64_t previous[count][longest]) {
    find_chains(count, (const match *)found, longest, spans, legality, stop, (double *)sums, (int64_t *)previous);
}

// Room for one query and the chains of its matches.
typedef struct {
    int64_t *first, *end; // of each segment, counted from the query's first note
    double *starts, *ends;
    bool *possible;
    double *sums; // matches x longest
    int64_t sums_room;
    void *numbers;
} chain_room;

static void free_chain_room(chain_room *room) {
    free(room->numbers);
    free(room->possible);
    free(room->sums);
}

static bool make_chain_room(chain_room *made, int64_t segments) {
    *made = (chain_room){0};
    double *number = made->numbers = malloc(sizeof(double) * (size_t)(4 * segments + 1));
    made->possible = malloc((size_t)segments + 1);
    if (!made->numbers || !made->possible) {
        free_chain_room(made);
        return false;
    }
    made->starts = number, made->ends = number + segments;
    made->first = (int64_t *)(number + 2 * segments), made->end = (int64_t *)(number + 3 * segments);
    return true;
}

static bool make_room_for_sums(chain_room *room, int64_t cells) {
    if (cells <= room->sums_room) return true;
    free(room->sums);
    room->sums = malloc(sizeof(double) * (size_t)(2 * cells));
    room->sums_room = room->sums ? 2 * cells : 0;
    return room->sums;
}

static int64_t longest_of(int64_t count, const int64_t *offsets) {
    int64_t longest = 0;
    for (int64_t k = 0; k < count; k++) longest = most(longest, offsets[k + 1] - offsets[k]);
    return longest;
}

static stored_notes notes_of(const stored_notes *all, int64_t begin, int64_t end) {
    return (stored_notes){end - begin, all->time + begin, all->pitch + begin, all->weight + begin};
}

// How far each pitch is from each note of a document, in the key around the note; NULL if there are no tables.
static const double *table_of(const keyed_documents *documents, int64_t begin, int64_t end, match_room *room) {
    if (documents->table_keys == 0) return NULL;
    const int64_t pitches = documents->table_pitches, m = end - begin;
    for (int64_t j = 0; j < m; j++) {
        int64_t pitch = (int64_t)documents->notes->pitch[begin + j], key = documents->keys[begin + j];
        const double *table = documents->tables + key * pitches * pitches + pitch;
        for (int64_t row = 0; row < pitches; row++) room->table[row * m + j] = table[row * pitches];
    }
    return room->table;
}

// Fill in the segments of one query, counted from its first note.
static segmented_query query_of(const cut_queries *queries, int64_t number, const stored_notes *notes,
                                chain_room *room) {
    const int64_t begin = queries->offsets[number], from = queries->segment_offsets[number];
    const int64_t segments = queries->segment_offsets[number + 1] - from;
    for (int64_t s = 0; s < segments; s++) {
        room->first[s] = queries->first[from + s] - begin, room->end[s] = queries->end[from + s] - begin;
        room->starts[s] = notes->time[room->first[s]], room->ends[s] = notes->time[room->end[s] - 1];
        room->possible[s] = true;
    }
    return (segmented_query){notes, segments, room->first, room->end, room->possible, queries->units[number],
                             queries->pitch_unit};
}

bool chain_sums(const cut_queries *queries, const keyed_documents *documents, int64_t pairs,
                const int64_t expected[pairs], int64_t possible_rows, int64_t possible_columns,
                const bool possible[possible_rows][possible_columns], const rules *rules, double radius,
                const legality *legality, int64_t longest, double sums[pairs][longest], double largest[1]) {
    match_room work;
    chain_room room;
    match_list found = {NULL, 0, 0, true};
    int64_t segment = longest_segment(queries->segments, queries->first, queries->end);
    int64_t document_notes = longest_of(documents->documents, documents->offsets);
    if (!make_chain_room(&room, longest_of(queries->queries, queries->segment_offsets))) return false;
    if (!make_match_room(&work, segment, document_notes, documents->table_pitches, rules->stop)) {
        free_chain_room(&room);
        return false;
    }
    bool has_memory = true;
    largest[0] = 0.0;
    for (int64_t k = 0; k < pairs; k++)
        for (int64_t c = 0; c < longest; c++) sums[k][c] = INFINITY;
    for (int64_t k = 0; k < pairs && has_memory && !is_stopped(rules->stop); k++) {
        const int64_t most_matches = expected[k];
        if (most_matches == 0) continue;
        int64_t q = queries->queries > 1 ? k : 0, d = documents->documents > 1 ? k : 0;
        int64_t begin = documents->offsets[d], end = documents->offsets[d + 1];
        stored_notes notes = notes_of(queries->notes, queries->offsets[q], queries->offsets[q + 1]);
        stored_notes document = notes_of(documents->notes, begin, end);
        segmented_query query = query_of(queries, q, &notes, &room);
        for (int64_t s = 0; possible_rows && s < query.segments; s++) room.possible[s] = possible[s][k];
        found.count = 0;
        has_memory = find_matches(&query, &document, table_of(documents, begin, end, &work), rules, radius, &work,
                                  &found) &&
                     make_room_for_sums(&room, found.count * most_matches);
        if (!has_memory || found.count == 0) continue;
        segment_spans spans = {query.segments, room.starts, room.ends, query.unit};
        find_chains(found.count, found.rows, most_matches, &spans, legality, rules->stop, room.sums, NULL);
        for (int64_t a = 0; a < found.count; a++) {
            largest[0] = larger(largest[0], found.rows[a].distance);
            for (int64_t c = 0; c < most_matches; c++)
                sums[k][c] = smaller(sums[k][c], room.sums[a * most_matches + c]);
        }
    }
    free(found.rows);
    free_match_room(&work);
    free_chain_room(&room);
    return has_memory;
}
