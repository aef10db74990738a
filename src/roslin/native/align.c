// Alignment: the best of all coincidence alignments of a query with documents.
//
// The frame is the query's. A document is brought to the query's tempo by dividing its times (and its weights, when
// they are lengths) by the tempo. Alignments are sought at one tempo after the other:
//
// 1. Shifts that the centres of the two melodies rule out, and transpositions that rule themselves out by the weight
//    that must cross each pitch, are left out (`find_reach`).
// 2. Every pair of notes that remains is a candidate: its shifts, and a lower bound (`collect`).
// 3. Candidates are measured, the most promising first: the better the best so far, the sooner the others are given up
//    (`measure`).
#include "align.h"

#include "transport_solver.h"

// Shifts are rounded to such parts of a unit to look for equal ones; pitches turn the place by so much.
#define PER_UNIT 720.0
#define TURNED 7919.0

// -- one alignment ----------------------------------------------------------------------------------------------------

double aligned_cost(const points *query, const points *document, double x, double y, double limit, int64_t ground,
                    const double *table, bool is_light, transport_problem *room) {
    const int64_t n = query->count, m = document->count, rows = is_light ? m : n;
    double *moved_x = room->moved_x, *moved_y = room->moved_y;
    for (int64_t i = 0; i < n; i++) moved_x[i] = query->x[i] + x, moved_y[i] = query->y[i] + y;
    if (is_light)
        begin_problem(room, m, n, document->weight, query->weight, limit);
    else
        begin_problem(room, n, m, query->weight, document->weight, limit);
    for (int64_t row = 0; row < rows; row++) {
        double *cost = cost_row(room, row);
        if (ground == TABLE) {
            for (int64_t column = 0; column < n + m - rows; column++) {
                int64_t i = is_light ? column : row, j = is_light ? row : column;
                double dx = moved_x[i] - document->x[j], dy = table[table_row(moved_y[i]) * m + j];
                cost[column] = sqrt(dx * dx + dy * dy);
            }
        } else if (is_light) {
            distances_from(document->x[row], document->y[row], n, moved_x, moved_y, ground, cost);
        } else {
            distances_from(moved_x[row], moved_y[row], m, document->x, document->y, ground, cost);
        }
        if (!add_row(room, row)) return INFINITY;
    }
    return least_cost(room);
}

// A document in the query's frame.
typedef struct {
    points at;
    double *x, *y, *weight; // those of `at`
    int64_t *order;
} brought;

// Fill in the points of a document, played so many times as fast. Their weight.
static double bring(const stored_notes *document, const query_frame *frame, const rules *rules, double tempo,
                    brought *made) {
    double total = 0.0;
    for (int64_t j = 0; j < document->count; j++) {
        made->x[j] = document->time[j] * frame->time_unit / tempo;
        made->y[j] = document->pitch[j] * frame->pitch_unit;
        made->weight[j] = rules->scales_weights ? document->weight[j] / tempo : document->weight[j];
        total += made->weight[j];
    }
    made->at.count = document->count;
    return total;
}

// -- pitches ----------------------------------------------------------------------------------------------------------

// The different pitches of a melody, rising, the weight of each, and which of them each note has.
typedef struct {
    int64_t count;
    double *pitches, *weights;
    int64_t *numbers;
} levels;

static void find_levels(int64_t count, const double *y, const double *weight, int64_t *rising, int64_t *spare,
                        levels *found) {
    rising_order(count, y, rising, spare);
    found->count = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t note = rising[k];
        if (found->count == 0 || y[note] != found->pitches[found->count - 1]) {
            found->pitches[found->count] = y[note];
            found->weights[found->count++] = 0.0;
        }
        found->weights[found->count - 1] += weight[note];
        found->numbers[note] = found->count - 1;
    }
}

int64_t pitch_levels(int64_t count, const double y[count], const double weight[count], double pitches[count],
                     double weights[count], int64_t numbers[count]) {
    int64_t *orders = malloc(sizeof(int64_t) * (size_t)(2 * count + 1));
    if (!orders) return -1;
    levels found = {0, pitches, weights, numbers};
    find_levels(count, y, weight, orders, orders + count, &found);
    free(orders);
    return found.count;
}

// A flow moves all rows. What they have up to some pitch, more than the columns have up to there, must cross it
// upwards; what they have above it, more than the columns have above it, must cross it downwards. The way of a unit of
// weight is at least the length of all pitches that it crosses; so the cost is at least the sum, over the steps from
// one pitch of either melody to the next, of the weight that must cross times the length of the step.
double crossing_bound(int64_t n, const double rows[n], const double rows_weight[n], int64_t m, const double columns[m],
                      const double columns_weight[m], double shift) {
    double total = 0.0, under = 0.0, under_columns = 0.0;
    double over = total_of(n, rows_weight), over_columns = total_of(m, columns_weight);
    double last = smaller(rows[0] + shift, columns[0]);
    for (int64_t i = 0, j = 0; i < n || j < m;) {
        double here = smaller(i < n ? rows[i] + shift : INFINITY, j < m ? columns[j] : INFINITY);
        total += (here - last) * (larger(under - under_columns, 0.0) + larger(over - over_columns, 0.0));
        last = here;
        if (i < n && rows[i] + shift <= here) {
            under += rows_weight[i];
            over -= rows_weight[i++];
        }
        if (j < m && columns[j] <= here) {
            under_columns += columns_weight[j];
            over_columns -= columns_weight[j++];
        }
    }
    return total;
}

// -- room -------------------------------------------------------------------------------------------------------------

// A pair of notes on each other: query point pair % n on document point pair / n.
typedef struct {
    double x, y;
    int64_t pair;
} candidate;

// A place in a table of shifts; it is free unless it was filled in the present round.
typedef struct {
    double x, y;
    int64_t round;
} seen_shift;

// Room for the alignment of a query with documents, none of which is longer than the longest.
typedef struct {
    transport_problem problem;
    brought document;
    levels of_query, of_document;
    bool *is_in_reach; // levels of the document x levels of the query
    candidate *candidates;
    double *bounds;       // of the candidates
    int64_t *by_bound;    // numbers of candidates, rising bounds
    int64_t *spare;       // for sorting
    seen_shift *seen;
    int64_t places, round; // of `seen`: a power of 2
    piece *pieces;
    void *numbers, *cells;
} alignment_room;

// The number of places for the shifts of so many pairs: a power of 2, at least twice as many.
static int64_t places_for(int64_t pairs) {
    int64_t places = 1;
    while (places < 2 * pairs) places *= 2;
    return places;
}

static void free_alignment_room(alignment_room *room) {
    free_problem(&room->problem);
    free(room->numbers);
    free(room->cells);
    free(room->seen);
}

static bool make_alignment_room(alignment_room *made, int64_t n, int64_t m, const bool *stop) {
    const int64_t pairs = n * m, longest = most(n, m);
    *made = (alignment_room){0};
    made->numbers = malloc(sizeof(double) * (size_t)(7 * m + 3 * n + 4 * longest + 1));
    made->cells = malloc((sizeof(candidate) + sizeof(double) + 2 * sizeof(int64_t) + sizeof(bool)) * (size_t)pairs +
                         2 * sizeof(int64_t) * (size_t)longest + 1);
    made->seen = calloc((size_t)places_for(pairs), sizeof(seen_shift));
    if (!make_problem(&made->problem, n, m, stop) || !made->numbers || !made->cells || !made->seen) {
        free_alignment_room(made);
        return false;
    }
    double *number = made->numbers;
    made->document.x = number, made->document.y = number + m, made->document.weight = number + 2 * m;
    made->of_document.pitches = number + 3 * m, made->of_document.weights = number + 4 * m;
    made->of_document.numbers = (int64_t *)(number + 5 * m);
    made->document.order = (int64_t *)(number + 6 * m);
    number += 7 * m;
    made->of_query.pitches = number, made->of_query.weights = number + n;
    made->of_query.numbers = (int64_t *)(number + 2 * n);
    made->pieces = (piece *)(number + 3 * n); // two for each column
    made->candidates = made->cells;
    made->bounds = (double *)(made->candidates + pairs);
    made->by_bound = (int64_t *)(made->bounds + pairs);
    made->spare = made->by_bound + pairs + longest;
    made->is_in_reach = (bool *)(made->spare + pairs + longest);
    for (int64_t j = 0; j < m; j++) made->document.order[j] = j;
    made->document.at = (points){0, made->document.x, made->document.y, made->document.weight, made->document.order};
    return true;
}

// -- stage 1: what is in reach ----------------------------------------------------------------------------------------

// One tempo: how the two melodies are compared there.
typedef struct {
    const points *query;
    const rules *rules;
    const double *table;
    double tempo, lighter; // the weight that is moved
    cost_scale scale;
} comparison;

// The shifts of the query that the centres allow.
typedef struct {
    shift_range x, y;
} reach;

static reach find_reach(const comparison *at, const alignment_room *room, double budget) {
    if (at->rules->ground == TABLE) return (reach){{-INFINITY, INFINITY}, {-INFINITY, INFINITY}};
    bool is_light = at->scale.is_light;
    const points *lighter = is_light ? &room->document.at : at->query;
    const points *heavier = is_light ? at->query : &room->document.at;
    const levels *pitches = is_light ? &room->of_query : &room->of_document;
    double amount = at->lighter;
    double x = centre(lighter->count, lighter->x, lighter->weight, amount, false);
    double y = centre(lighter->count, lighter->y, lighter->weight, amount, false);
    return (reach){centre_shifts(x, is_light, heavier->count, heavier->x, heavier->weight, amount, budget),
                   centre_shifts(y, is_light, pitches->count, pitches->pitches, pitches->weights, amount, budget)};
}

// Which pitch of the query may be on which of the document: that is one transposition for many pairs of notes.
static void mark_pitches(const comparison *at, alignment_room *room, double budget) {
    const levels *a = &room->of_query, *b = &room->of_document;
    bool *is_in_reach = room->is_in_reach;
    for (int64_t v = 0; v < b->count; v++)
        for (int64_t u = 0; u < a->count; u++) {
            double bound = -INFINITY, y = b->pitches[v] - a->pitches[u];
            if (at->rules->ground != TABLE)
                bound = at->scale.is_light
                            ? crossing_bound(b->count, b->pitches, b->weights, a->count, a->pitches, a->weights, -y)
                            : crossing_bound(a->count, a->pitches, a->weights, b->count, b->pitches, b->weights, y);
            *is_in_reach++ = bound <= budget;
        }
}

// -- stage 2: the candidates ------------------------------------------------------------------------------------------

// Whether these shifts were asked about before in this round. A place is sought from the one that the shifts themselves
// give, rounded, to the next that is free. Shifts that are the same but for rounding may be taken for different ones:
// that costs time and changes nothing.
static bool is_known(alignment_room *room, double x, double y) {
    int64_t last = room->places - 1, place = (int64_t)(rint(x * PER_UNIT) + TURNED * rint(y * PER_UNIT)) & last;
    for (; room->seen[place].round == room->round; place = (place + 1) & last)
        if (fabs(room->seen[place].x - x) <= SAME_SHIFT && fabs(room->seen[place].y - y) <= SAME_SHIFT) return true;
    room->seen[place] = (seen_shift){x, y, room->round};
    return false;
}

// All alignments that may cost no more than the budget, in the order of document points and query points; how many.
static int64_t collect(const comparison *at, alignment_room *room, double budget) {
    const points *query = at->query, *document = &room->document.at;
    const int64_t n = query->count, m = document->count;
    const reach within = find_reach(at, room, budget);
    mark_pitches(at, room, budget);
    room->round++;
    int64_t found = 0;
    for (int64_t j = 0; j < m && !is_stopped(at->rules->stop); j++) {
        const bool *is_in_reach = room->is_in_reach + room->of_document.numbers[j] * room->of_query.count;
        for (int64_t i = 0; i < n; i++) {
            if (!is_in_reach[room->of_query.numbers[i]]) continue;
            double x = document->x[j] - query->x[i], y = document->y[j] - query->y[i], bound = 0.0;
            if (x < within.x.first - ON_GRID || x > within.x.last + ON_GRID) continue;
            if (y < within.y.first - ON_GRID || y > within.y.last + ON_GRID) continue;
            // A good alignment puts many notes on each other: all of them give the same shifts.
            if (is_known(room, x, y)) continue;
            if (at->rules->ground != TABLE) {
                bound = pair_bound(query, document, i, j, at->scale.is_light, budget, at->rules->ground);
                if (bound > budget) continue;
            }
            room->bounds[found] = bound;
            room->candidates[found++] = (candidate){x, y, j * n + i};
        }
    }
    return found;
}

// -- stage 3: the best ------------------------------------------------------------------------------------------------

typedef struct {
    double distance, x, y, tempo;
} alignment;

static double cost_at(const comparison *at, alignment_room *room, double x, double y, double limit) {
    return aligned_cost(at->query, &room->document.at, x, y, limit, at->rules->ground, at->table, at->scale.is_light,
                        &room->problem);
}

// Measure the candidates as long as they may be better than the best so far.
static void measure(const comparison *at, alignment_room *room, int64_t count, double limit, alignment *best,
                    int64_t *solved) {
    const int64_t n = at->query->count, ground = at->rules->ground;
    double nearest = at->scale.charge / at->scale.base; // no alignment at this tempo is nearer
    int64_t best_place = count;
    rising_order(count, room->bounds, room->by_bound, room->spare);
    for (int64_t k = 0; k < count && !is_stopped(at->rules->stop); k++) {
        int64_t place = room->by_bound[k];
        candidate here = room->candidates[place];
        double allowed = budget_of(smaller(best->distance, limit), at->scale, RECOMPUTED);
        if (room->bounds[place] > allowed) break;
        // None can be nearer, and of equal ones the first wins.
        if (best->tempo == at->tempo && place > best_place && best->distance <= nearest + RECOMPUTED) continue;
        if (ground != TABLE && second_bound(at->query, &room->document.at, here.pair % n, here.pair / n,
                                            at->scale.is_light, at->lighter, ground, room->pieces) > allowed)
            continue;
        ++*solved;
        double value = (cost_at(at, room, here.x, here.y, allowed) + at->scale.charge) / at->scale.base;
        bool is_equal = fabs(value - best->distance) <= RECOMPUTED && best->tempo == at->tempo;
        if (value <= limit && (is_equal ? place < best_place : value < best->distance)) {
            *best = (alignment){smaller(value, best->distance), here.x, here.y, at->tempo};
            best_place = place;
        }
    }
}

// The best coincidence alignment with one document, at whatever tempo.
static alignment best_alignment(const points *query, const stored_notes *document, const query_frame *frame,
                                const rules *rules, const double *table, double limit, alignment_room *room,
                                int64_t *solved) {
    alignment best = {INFINITY, 0.0, 0.0, 0.0};
    double query_weight = total_of(query->count, query->weight);
    if (query->count == 0 || document->count == 0 || !(query_weight > 0.0)) return best;
    room->places = places_for(query->count * document->count);
    for (int64_t k = 0; k < rules->tempo_count; k++) {
        double tempo = rules->tempos[k], weight = bring(document, frame, rules, tempo, &room->document);
        if (!(weight > 0.0)) continue;
        comparison at = {query, rules, table, tempo, smaller(weight, query_weight),
                         charge_and_base(query_weight, weight, rules->missing)};
        double budget = budget_of(smaller(best.distance, limit), at.scale, RECOMPUTED);
        if (budget < 0.0 || best.distance <= at.scale.charge / at.scale.base) continue;
        if (rules->ground != TABLE && budget == INFINITY) {
            // Nothing is known yet: the first notes on each other are as good a limit as any.
            double x = room->document.x[0] - query->x[0], y = room->document.y[0] - query->y[0];
            budget = cost_at(&at, room, x, y, INFINITY);
            budget += RECOMPUTED * (1.0 + at.scale.charge + budget);
        }
        find_levels(document->count, room->document.y, room->document.weight, room->by_bound, room->spare,
                    &room->of_document);
        measure(&at, room, collect(&at, room, budget), limit, &best, solved);
    }
    return best;
}

static void find_levels_of_query(const points *query, alignment_room *room) {
    find_levels(query->count, query->y, query->weight, room->by_bound, room->spare, &room->of_query);
}

bool align_document(const aligned_pair *pair, double limit, int64_t counts[1], double found[4]) {
    alignment_room room;
    if (!make_alignment_room(&room, pair->query->count, pair->document->count, pair->rules->stop)) return false;
    find_levels_of_query(pair->query, &room);
    alignment best = best_alignment(pair->query, pair->document, pair->frame, pair->rules, pair->table, limit, &room,
                                    counts);
    free_alignment_room(&room);
    memcpy(found, &best, sizeof best);
    return true;
}

bool align_documents(const points *query, const stored_notes *documents, int64_t count,
                     const int64_t offsets[count + 1], const query_frame *frame, const rules *rules,
                     const double bounds[count], int64_t best_count, double best[best_count],
                     double found[count][2]) {
    int64_t longest = 0;
    for (int64_t k = 0; k < count; k++) longest = most(longest, offsets[k + 1] - offsets[k]);
    alignment_room room;
    if (!make_alignment_room(&room, query->count, longest, rules->stop)) return false;
    find_levels_of_query(query, &room);
    for (int64_t k = 0; k < count; k++) {
        double limit = best_count ? best[best_count - 1] * (1.0 + BOUNDED) + BOUNDED : INFINITY;
        found[k][0] = INFINITY, found[k][1] = 0.0;
        if (bounds[k] > limit || is_stopped(rules->stop)) continue;
        int64_t start = offsets[k], solved = 0;
        stored_notes document = {offsets[k + 1] - start, documents->time + start, documents->pitch + start,
                                 documents->weight + start};
        double distance = best_alignment(query, &document, frame, rules, NULL, limit, &room, &solved).distance;
        found[k][0] = distance, found[k][1] = (double)solved;
        if (!best_count || !(distance < best[best_count - 1])) continue;
        int64_t place = best_count - 1;
        for (; place > 0 && best[place - 1] > distance; place--) best[place] = best[place - 1];
        best[place] = distance;
    }
    free_alignment_room(&room);
    return true;
}

// -- refinement -------------------------------------------------------------------------------------------------------
//
// While the flow stays unchanged, the best shift is a median: of the vectors from query notes to the document notes
// that they flow to, weighted by the flow. So flow and shift are improved in turn. Neither step makes the distance
// larger; where neither changes anything is a local optimum.

// Rounds of flow and shift, and of steps towards a geometric median within one: both end sooner where nothing moves.
#define ROUNDS 30
#define STEPS 60
// Tempo is tried this much faster and slower at first, then half as much, and so on.
#define FIRST_TEMPO_STEP 0.08
#define LAST_TEMPO_STEP 0.0005

// Vectors from query notes to document notes, and the weight that flows along each.
typedef struct {
    int64_t count;
    double *x, *y, *weight;
} vectors;

typedef struct {
    const aligned_pair *pair;
    transport_problem problem;
    brought document;
    double *flow; // rows x columns
    vectors moves;
    int64_t *rising, *spare;
    void *memory;
} refinement;

static bool make_refinement(refinement *made, const aligned_pair *pair) {
    const int64_t n = pair->query->count, m = pair->document->count, pairs = n * m;
    *made = (refinement){.pair = pair};
    double *number = made->memory = malloc(sizeof(double) * (size_t)(4 * m + 6 * pairs + 1));
    if (!make_problem(&made->problem, n, m, pair->rules->stop) || !number) {
        free_problem(&made->problem);
        free(made->memory);
        return false;
    }
    made->document.x = number, made->document.y = number + m, made->document.weight = number + 2 * m;
    made->document.order = (int64_t *)(number + 3 * m);
    number += 4 * m;
    made->flow = number;
    made->moves = (vectors){0, number + pairs, number + 2 * pairs, number + 3 * pairs};
    made->rising = (int64_t *)(number + 4 * pairs), made->spare = (int64_t *)(number + 5 * pairs);
    for (int64_t j = 0; j < m; j++) made->document.order[j] = j;
    made->document.at = (points){m, made->document.x, made->document.y, made->document.weight, made->document.order};
    return true;
}

static void free_refinement(refinement *made) {
    free_problem(&made->problem);
    free(made->memory);
}

// Bring the document to a tempo; how costs become distances there.
static cost_scale play_at(refinement *at, double tempo) {
    const aligned_pair *pair = at->pair;
    double weight = bring(pair->document, pair->frame, pair->rules, tempo, &at->document);
    return charge_and_base(total_of(pair->query->count, pair->query->weight), weight, pair->rules->missing);
}

static double distance_at(refinement *at, cost_scale scale, double x, double y, double limit) {
    const aligned_pair *pair = at->pair;
    double cost = aligned_cost(pair->query, &at->document.at, x, y, limit, pair->rules->ground, pair->table,
                               scale.is_light, &at->problem);
    return (cost + scale.charge) / scale.base;
}

bool distances_at(const aligned_pair *pair, int64_t count, const double tempos[count], const double shifts_x[count],
                  const double shifts_y[count], double distances[count]) {
    refinement at;
    if (!make_refinement(&at, pair)) return false;
    for (int64_t k = 0; k < count; k++)
        distances[k] = is_stopped(pair->rules->stop)
                           ? INFINITY
                           : distance_at(&at, play_at(&at, tempos[k]), shifts_x[k], shifts_y[k], INFINITY);
    free_refinement(&at);
    return true;
}

// Put an alignment among the best, which rise; the last is lost where there are as many as there may be.
static void insert(alignment *best, int64_t count, alignment here) {
    int64_t place = count - 1;
    for (; place > 0 && best[place - 1].distance > here.distance; place--) best[place] = best[place - 1];
    best[place] = here;
}

// Fill in the best different coincidence alignments at a tempo, best first; how many there are, at most `wanted`.
static int64_t best_coincidences(refinement *at, double tempo, int64_t wanted, alignment *best, int64_t *solved) {
    const points *query = at->pair->query, *document = &at->document.at;
    const int64_t ground = at->pair->rules->ground;
    const cost_scale scale = play_at(at, tempo);
    int64_t found = 0;
    for (int64_t j = 0; j < document->count && !is_stopped(at->pair->rules->stop); j++) {
        for (int64_t i = 0; i < query->count; i++) {
            double x = document->x[j] - query->x[i], y = document->y[j] - query->y[i];
            bool is_new = true;
            for (int64_t k = 0; k < found; k++)
                is_new &= !(fabs(best[k].x - x) < STILL && fabs(best[k].y - y) < STILL);
            if (!is_new) continue;
            double worst = found == wanted ? best[wanted - 1].distance : INFINITY;
            double allowed = worst * scale.base - scale.charge;
            if (ground != TABLE && allowed < INFINITY) {
                double budget = budget_of(worst, scale, RECOMPUTED);
                if (pair_bound(query, document, i, j, scale.is_light, budget, ground) > budget) continue;
            }
            ++*solved;
            double value = distance_at(at, scale, x, y, allowed);
            if (!(value < worst)) continue;
            found = least(found + 1, wanted);
            insert(best, found, (alignment){value, x, y, tempo});
        }
    }
    return found;
}

// The weighted median. Equal values are added up in the order in which they come.
static double middle_of(int64_t count, const double *values, const double *weights, int64_t *rising, int64_t *spare) {
    double half = total_of(count, weights) / 2, passed = 0.0, middle = 0.0;
    rising_order(count, values, rising, spare);
    for (int64_t k = 0; k < count; k++) {
        if (passed < half) middle = values[rising[k]];
        passed += weights[rising[k]];
    }
    return middle;
}

typedef struct {
    double x, y;
} place;

// The point with the least weighted sum of distances: Weiszfeld's steps, from some place. A start on one of the points
// needs care (Vardi and Zhang 2000): it is left only if the others pull harder than its own weight.
static place geometric_middle(const vectors *moves, place at, bool is_y_fixed) {
    for (int step = 0; step < STEPS; step++) {
        double pull_x = 0.0, pull_y = 0.0, to_x = 0.0, to_y = 0.0, strength = 0.0, here = 0.0;
        for (int64_t k = 0; k < moves->count; k++) {
            double dx = moves->x[k] - at.x, dy = moves->y[k] - at.y, away = sqrt(dx * dx + dy * dy);
            if (away < STILL) {
                here += moves->weight[k];
                continue;
            }
            double share = moves->weight[k] / away;
            pull_x += share * dx;
            pull_y += share * dy;
            to_x += share * moves->x[k];
            to_y += share * moves->y[k];
            strength += share;
        }
        double pull = is_y_fixed ? fabs(pull_x) : sqrt(pull_x * pull_x + pull_y * pull_y);
        if (strength == 0.0 || pull <= here) break;
        double part = 1.0 - here / pull;
        double step_x = part * (to_x / strength - at.x);
        double step_y = is_y_fixed ? 0.0 : part * (to_y / strength - at.y);
        at.x += step_x, at.y += step_y;
        if (fabs(step_x) + fabs(step_y) < STILL) break;
    }
    return at;
}

// The best shift while the flow of the last alignment stays unchanged. With a table, transposition stays and only time
// moves.
static place best_shift(refinement *at, place from, bool is_light) {
    const points *query = at->pair->query, *document = &at->document.at;
    const int64_t n = query->count, m = document->count, ground = at->pair->rules->ground;
    vectors *moves = &at->moves;
    write_flow(&at->problem, at->flow);
    moves->count = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++) {
            double weight = at->flow[is_light ? j * n + i : i * m + j];
            if (!(weight > 0.0)) continue;
            int64_t k = moves->count++;
            moves->x[k] = document->x[j] - query->x[i];
            moves->y[k] = ground == TABLE ? from.y + at->pair->table[table_row(query->y[i] + from.y) * m + j]
                                          : document->y[j] - query->y[i];
            moves->weight[k] = weight;
        }
    }
    if (ground != CITYBLOCK) return geometric_middle(moves, from, ground == TABLE);
    return (place){middle_of(moves->count, moves->x, moves->weight, at->rising, at->spare),
                   middle_of(moves->count, moves->y, moves->weight, at->rising, at->spare)};
}

// The local optimum below a start: flow and shift improved in turn.
static alignment downhill(refinement *at, alignment start, int64_t *solved) {
    const cost_scale scale = play_at(at, start.tempo);
    alignment best = start;
    ++*solved;
    best.distance = distance_at(at, scale, start.x, start.y, INFINITY);
    for (int round = 0; round < ROUNDS; round++) {
        place next = best_shift(at, (place){best.x, best.y}, scale.is_light);
        if (fabs(next.x - best.x) + fabs(next.y - best.y) < STILL) break;
        ++*solved;
        double distance = distance_at(at, scale, next.x, next.y, INFINITY);
        if (distance >= best.distance) break;
        best = (alignment){distance, next.x, next.y, start.tempo};
    }
    return best;
}

// The local optima below the best coincidences of a tempo, put among the best of all.
static void refine_at(refinement *at, double tempo, int64_t starts, alignment *from, int64_t wanted, alignment *best,
                      int64_t *solved) {
    int64_t found = best_coincidences(at, tempo, starts, from, solved);
    for (int64_t k = 0; k < found; k++) {
        alignment here = downhill(at, from[k], solved);
        if (from[k].distance < here.distance) here = from[k];
        bool is_new = true;
        for (int64_t q = 0; q < wanted; q++)
            is_new &= !(best[q].tempo == tempo &&
                        fabs(best[q].x - here.x) + fabs(best[q].y - here.y) < SAME_OPTIMUM);
        if (is_new && here.distance < best[wanted - 1].distance) insert(best, wanted, here);
    }
}

// Try a faster and a slower tempo, from the same middle of the query. Whether one of them is better.
static bool change_tempo(refinement *at, double step, shift_range tempos, double middle, alignment *best,
                         int64_t *solved) {
    const double factors[2] = {1.0 + step, 1.0 / (1.0 + step)};
    for (int k = 0; k < 2; k++) {
        double tempo = smaller(larger(best->tempo * factors[k], tempos.first), tempos.last);
        if (tempo == best->tempo) continue;
        alignment start = {0.0, (middle + best->x) * best->tempo / tempo - middle, best->y, tempo};
        alignment here = downhill(at, start, solved);
        if (here.distance < best->distance) {
            *best = here;
            return true;
        }
    }
    return false;
}

bool refine(const aligned_pair *pair, int64_t starts, int64_t tempo_starts, int64_t counts[1], double found[4]) {
    const points *query = pair->query;
    const rules *rules = pair->rules;
    refinement at;
    alignment *lists = malloc(sizeof(alignment) * (size_t)(starts + tempo_starts + 1));
    if (!lists || !make_refinement(&at, pair)) {
        free(lists);
        return false;
    }
    alignment *best = lists, *from = lists + tempo_starts;
    shift_range tempos = {INFINITY, -INFINITY};
    for (int64_t q = 0; q < tempo_starts; q++) best[q] = (alignment){INFINITY, INFINITY, INFINITY, INFINITY};
    for (int64_t k = 0; k < rules->tempo_count; k++) {
        refine_at(&at, rules->tempos[k], starts, from, tempo_starts, best, counts);
        tempos = (shift_range){smaller(tempos.first, rules->tempos[k]), larger(tempos.last, rules->tempos[k])};
    }
    if (tempos.first < tempos.last) {
        double moment = 0.0;
        for (int64_t i = 0; i < query->count; i++) moment += query->x[i] * query->weight[i];
        double middle = moment / total_of(query->count, query->weight);
        for (int64_t q = 0; q < tempo_starts; q++)
            for (double step = FIRST_TEMPO_STEP; step >= LAST_TEMPO_STEP && best[q].distance < INFINITY;)
                if (!change_tempo(&at, step, tempos, middle, &best[q], counts)) step /= 2;
    }
    int64_t first = 0;
    for (int64_t q = 1; q < tempo_starts; q++)
        if (best[q].distance < best[first].distance) first = q;
    memcpy(found, &best[first], sizeof(alignment));
    free_refinement(&at);
    free(lists);
    return true;
}

// -- the bounds, one at a time ----------------------------------------------------------------------------------------

double bound_of_rows(const points *query, const points *document, int64_t i, int64_t j, bool is_light, double budget,
                     int64_t ground) {
    return pair_bound(query, document, i, j, is_light, budget, ground);
}

bool bound_of_columns(const points *query, const points *document, int64_t i, int64_t j, bool is_light, double amount,
                      int64_t ground, double bound[1]) {
    piece *pieces = malloc(sizeof(piece) * (size_t)(2 * most(query->count, document->count)));
    if (!pieces) return false;
    bound[0] = second_bound(query, document, i, j, is_light, amount, ground, pieces);
    free(pieces);
    return true;
}

double centre_of_weight(int64_t count, const double values[count], const double weights[count], double amount,
                        bool is_from_end) {
    return centre(count, values, weights, amount, is_from_end);
}

void shifts_in_reach(double middle, bool is_light, int64_t count, const double heavier[count],
                     const double heavier_weight[count], double amount, double budget, double shifts[2]) {
    shift_range found = centre_shifts(middle, is_light, count, heavier, heavier_weight, amount, budget);
    shifts[0] = found.first, shifts[1] = found.last;
}
