// `p1`, `p2` and `p3`: figures in the plane of time and pitch, moved onto each other.
#include "geometric.h"

enum {
    PITCHES = 128,
    // A table of moves has at most this many cells; for more, the moves are sorted.
    MOST_CELLS = 65536,
};

// -- figures ----------------------------------------------------------------------------------------------------------

int64_t points_of(int64_t rows, int64_t melodies, const note_row notes[rows], const int64_t offsets[melodies + 1],
                  int64_t times[rows], int64_t pitches[rows], int64_t bounds[melodies + 1]) {
    int64_t count = 0;
    bounds[0] = 0;
    for (int64_t k = 0; k < melodies; k++) {
        int64_t chord = count; // where the notes of the present onset begin
        for (int64_t row = offsets[k]; row < offsets[k + 1]; row++) {
            if (notes[row].is_grace) continue;
            const int64_t onset = notes[row].onset_ticks, pitch = notes[row].pitch_midi;
            if (count > chord && times[count - 1] != onset) chord = count;
            int64_t place = count;
            while (place > chord && pitches[place - 1] > pitch) place--;
            if (place > chord && pitches[place - 1] == pitch) continue;
            for (int64_t other = count; other > place; other--) pitches[other] = pitches[other - 1];
            times[count++] = onset, pitches[place] = pitch;
        }
        bounds[k + 1] = count;
    }
    return count;
}

static bool sounds(const note_row *note) { return !note->is_grace && note->duration_ticks > 0; }

// Fill `sorted` with the notes of a melody that sound, by pitch, those of one pitch in their order; the result is how
// many there are.
static int64_t sort_by_pitch(const note_row *notes, int64_t first, int64_t end, int64_t *sorted) {
    int64_t place[PITCHES + 1] = {0}, count = 0; // where the notes of each pitch begin
    for (int64_t row = first; row < end; row++)
        if (sounds(notes + row)) place[notes[row].pitch_midi + 1]++, count++;
    for (int64_t pitch = 0; pitch < PITCHES; pitch++) place[pitch + 1] += place[pitch];
    for (int64_t row = first; row < end; row++)
        if (sounds(notes + row)) sorted[place[notes[row].pitch_midi]++] = row;
    return count;
}

int64_t segments_of(int64_t rows, int64_t melodies, const note_row notes[rows], const int64_t offsets[melodies + 1],
                    int64_t sounding[rows], int64_t starts[rows], int64_t stops[rows], int64_t pitches[rows],
                    int64_t bounds[melodies + 1]) {
    int64_t count = 0;
    bounds[0] = 0;
    for (int64_t k = 0; k < melodies; k++) {
        int64_t notes_here = sort_by_pitch(notes, offsets[k], offsets[k + 1], sounding);
        for (int64_t i = 0; i < notes_here; i++) {
            const note_row note = notes[sounding[i]];
            const int64_t end = note.onset_ticks + note.duration_ticks;
            bool touches = count > bounds[k] && pitches[count - 1] == note.pitch_midi &&
                           note.onset_ticks <= stops[count - 1];
            if (touches) {
                stops[count - 1] = most(stops[count - 1], end);
            } else {
                starts[count] = note.onset_ticks, stops[count] = end, pitches[count] = note.pitch_midi;
                count++;
            }
        }
        bounds[k + 1] = count;
    }
    return count;
}

// -- P1 ---------------------------------------------------------------------------------------------------------------

bool whole_query(int64_t m, int64_t points, int64_t documents, const int64_t query_time[m],
                 const int64_t query_pitch[m], const int64_t time[points], const int64_t pitch[points],
                 const int64_t offsets[documents + 1], int64_t common[documents]) {
    int64_t *pointer = malloc((size_t)(m + 1) * sizeof *pointer);
    if (!pointer) return false;
    for (int64_t k = 0; k < documents; k++) {
        const int64_t end = offsets[k + 1];
        common[k] = 0;
        for (int64_t i = 0; i < m; i++) pointer[i] = offsets[k];
        for (int64_t j = offsets[k]; m && !common[k] && j <= end - m; j++) {
            // Moves grow with j, in the order of the points: no pointer has to go back.
            const int64_t shift = time[j] - query_time[0], up = pitch[j] - query_pitch[0];
            int64_t found = 1;
            for (; found < m; found++) {
                const int64_t at = query_time[found] + shift, high = query_pitch[found] + up;
                int64_t place = pointer[found];
                while (place < end && (time[place] < at || (time[place] == at && pitch[place] < high))) place++;
                pointer[found] = place;
                if (place == end || time[place] != at || pitch[place] != high) break;
            }
            if (found == m) common[k] = m;
        }
    }
    free(pointer);
    return true;
}

// -- P2 and P3 --------------------------------------------------------------------------------------------------------

typedef struct {
    int64_t low, high;  // pitches
    int64_t from, until; // times
} frame;

static frame frame_of(const figure_columns *of, int64_t first, int64_t end) {
    frame found = {of->pitch[first], of->pitch[first], of->start[first], of->stop[first]};
    for (int64_t j = first; j < end; j++) {
        found.low = least(found.low, of->pitch[j]), found.high = most(found.high, of->pitch[j]);
        found.from = least(found.from, of->start[j]), found.until = most(found.until, of->stop[j]);
    }
    return found;
}

// The greatest common divisor of two numbers, where the first mostly is it already.
static int64_t divisor_of(int64_t grid, int64_t value) {
    if (grid && value % grid == 0) return grid;
    while (value) {
        int64_t rest = grid % value;
        grid = value, value = rest;
    }
    return grid;
}

// The greatest common divisor of `grid` and of all times from the origin: starts and, if `is_timed`, stops.
static int64_t grid_of(const figure_columns *of, int64_t first, int64_t end, int64_t origin, int64_t grid,
                       bool is_timed) {
    for (int64_t j = first; j < end; j++) {
        grid = divisor_of(grid, of->start[j] - origin);
        if (is_timed) grid = divisor_of(grid, of->stop[j] - origin);
    }
    return grid;
}

// Ticks, a multiple of the grid, in steps of the grid: a multiplication is far quicker than a division.
static int64_t steps_of(int64_t ticks, double per_tick) { return (int64_t)((double)ticks * per_tick + 0.5); }

// Where the parts of the query and of a document are in the table of moves. A shift is a time of the document from its
// beginning plus a time of the query back from its end; in the same way, a transposition is the sum of two distances in
// pitch. So the cell of a pair is the sum of two numbers.
typedef struct {
    int64_t m, n;
    int64_t *start, *stop;             // of the query
    int64_t *other_start, *other_stop; // of the document
    int64_t rows, columns;             // of the table
} places;

static void find_places(places *found, const figure_columns *query, frame own, const figure_columns *figures,
                        int64_t first, frame there, int64_t grid, bool is_timed) {
    const double per_tick = 1.0 / (double)grid;
    found->rows = there.high - there.low + own.high - own.low + 1;
    found->columns = steps_of(own.until - own.from + there.until - there.from, per_tick) + 1;
    for (int64_t i = 0; i < found->m; i++) {
        int64_t row = (own.high - query->pitch[i]) * found->columns;
        found->start[i] = row + steps_of(own.until - query->start[i], per_tick);
        if (is_timed) found->stop[i] = row + steps_of(own.until - query->stop[i], per_tick);
    }
    for (int64_t j = 0; j < found->n; j++) {
        int64_t row = (figures->pitch[first + j] - there.low) * found->columns;
        found->other_start[j] = row + steps_of(figures->start[first + j] - there.from, per_tick);
        if (is_timed) found->other_stop[j] = row + steps_of(figures->stop[first + j] - there.from, per_tick);
    }
}

// How long each pitch sounds.
static void add_lengths(const figure_columns *of, int64_t first, int64_t end, int64_t sign, int64_t *lengths) {
    for (int64_t j = first; j < end; j++) lengths[of->pitch[j]] += sign * (of->stop[j] - of->start[j]);
}

// What each transposition could reach: in each pitch, the lesser of what the two have of it.
static void fill_reach(const int64_t *mine, frame own, const int64_t *theirs, frame there, int64_t rows,
                       int64_t *reach) {
    for (int64_t row = 0; row < rows; row++) {
        int64_t up = row + there.low - own.high;
        reach[row] = 0;
        for (int64_t p = most(own.low, there.low - up); p <= least(own.high, there.high - up); p++)
            reach[row] += least(mine[p], theirs[p + up]);
    }
}

static int64_t highest_of(int64_t count, const int64_t *values) {
    int64_t place = 0;
    for (int64_t i = 1; i < count; i++)
        if (values[i] > values[place]) place = i;
    return place;
}

// The largest number of pairs in a cell. `votes` is zero before and after.
static int64_t most_votes(const places *of, int32_t *votes) {
    int32_t best = 0;
    for (int64_t j = 0; j < of->n; j++) {
        int32_t *here = votes + of->other_start[j];
        for (int64_t i = 0; i < of->m; i++) {
            int32_t count = ++here[of->start[i]];
            best = count > best ? count : best;
        }
    }
    memset(votes, 0, (size_t)(of->rows * of->columns) * sizeof *votes);
    return best;
}

// The largest common time, in steps of the grid. `bends` is zero before and after. Rows are swept in the order of what
// they could reach, in ticks, until none could reach more than the best so far.
static int64_t longest_time(const places *of, int64_t *reach, int64_t grid, int32_t *bends) {
    for (int64_t j = 0; j < of->n; j++) {
        int32_t *begin = bends + of->other_start[j], *end = bends + of->other_stop[j];
        for (int64_t i = 0; i < of->m; i++) {
            begin[of->stop[i]]++, begin[of->start[i]]--;
            end[of->stop[i]]--, end[of->start[i]]++;
        }
    }
    int64_t best = 0;
    for (;;) {
        int64_t row = highest_of(of->rows, reach), value = 0, slope = 0;
        if (reach[row] <= best * grid) break;
        reach[row] = 0;
        const int32_t *cells = bends + row * of->columns;
        for (int64_t cell = 0; cell < of->columns; cell++) {
            value += slope;
            slope += cells[cell];
            best = most(best, value);
        }
    }
    memset(bends, 0, (size_t)(of->rows * of->columns) * sizeof *bends);
    return best;
}

// Turning points of all pairs, for a table that would be too large.
typedef struct {
    int64_t room;
    uint64_t *turns, *sorted;
} turning_points;

enum { DIGIT = 11, DIGITS = 1 << DIGIT }; // bits that are sorted by at once: their counts fit into the first cache

// Sort numbers below `limit`, a digit at a time from the lowest on; the result is where they are.
static const uint64_t *sort_turns(turning_points *points, int64_t count, uint64_t limit) {
    uint64_t *from = points->turns, *to = points->sorted;
    for (int shift = 0; limit >> shift; shift += DIGIT) {
        int64_t place[DIGITS + 1] = {0};
        for (int64_t i = 0; i < count; i++) place[(from[i] >> shift & (DIGITS - 1)) + 1]++;
        for (int64_t digit = 0; digit < DIGITS; digit++) place[digit + 1] += place[digit];
        for (int64_t i = 0; i < count; i++) to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        uint64_t *other = from;
        from = to, to = other;
    }
    return from;
}

// The lowest bit of a turning point is set where a line bends downwards; points always have it.
static int64_t fill_turns(const places *of, bool is_timed, uint64_t *turns) {
    int64_t count = 0;
    for (int64_t j = 0; j < of->n; j++) {
        for (int64_t i = 0; i < of->m; i++) {
            turns[count++] = 2 * (uint64_t)(of->other_start[j] + of->start[i]) + 1;
            if (!is_timed) continue;
            turns[count++] = 2 * (uint64_t)(of->other_start[j] + of->stop[i]);
            turns[count++] = 2 * (uint64_t)(of->other_stop[j] + of->stop[i]) + 1;
            turns[count++] = 2 * (uint64_t)(of->other_stop[j] + of->start[i]);
        }
    }
    return count;
}

// The same for a table that would be too large: the cells that count are sorted, and swept from first to last. A line
// is back at zero at the end of its row, so that the rows can follow each other. Only few documents need this, so room
// is made when it is needed; false where there is no memory.
static bool most_in_order(const places *of, bool is_timed, turning_points *points, int64_t *found) {
    int64_t needed = of->m * of->n * (is_timed ? 4 : 1);
    if (needed > points->room) {
        free(points->turns);
        free(points->sorted);
        points->turns = malloc((size_t)(2 * needed) * sizeof *points->turns);
        points->sorted = malloc((size_t)(2 * needed) * sizeof *points->sorted);
        points->room = 2 * needed;
        if (!points->turns || !points->sorted) return false;
    }
    int64_t count = fill_turns(of, is_timed, points->turns);
    const uint64_t *turns = sort_turns(points, count, 2 * (uint64_t)(of->rows * of->columns));
    int64_t best = 0, value = 0, slope = 0, last = -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t cell = (int64_t)(turns[i] >> 1);
        if (is_timed) {
            value += slope * (cell - last);
            slope += turns[i] & 1 ? -1 : 1;
        } else {
            value = cell == last ? value + 1 : 1;
        }
        last = cell;
        best = most(best, value);
    }
    *found = best;
    return true;
}

static int64_t longest_of(int64_t documents, const int64_t *offsets) {
    int64_t longest = 0;
    for (int64_t k = 0; k < documents; k++) longest = most(longest, offsets[k + 1] - offsets[k]);
    return longest;
}

bool most_in_common(const figure_columns *query, const figure_columns *figures, int64_t documents,
                    const int64_t offsets[documents + 1], bool is_timed, int64_t common[documents]) {
    const int64_t m = query->parts, longest = longest_of(documents, offsets);
    for (int64_t k = 0; k < documents; k++) common[k] = 0;
    if (!m) return true;
    const frame own = frame_of(query, 0, m);
    const int64_t own_grid = grid_of(query, 0, m, own.from, 0, is_timed);
    int64_t mine[PITCHES] = {0}, theirs[PITCHES] = {0}, reach[2 * PITCHES];
    add_lengths(query, 0, m, 1, mine);
    int64_t *room = malloc((size_t)(2 * (m + longest)) * sizeof *room);
    int32_t *table = calloc(MOST_CELLS, sizeof *table);
    turning_points points = {0, NULL, NULL};
    bool has_memory = room && table;
    places at = {.m = m, .start = room, .stop = room + m, .other_start = room + 2 * m};
    at.other_stop = at.other_start + longest;
    for (int64_t k = 0; has_memory && k < documents; k++) {
        const int64_t first = offsets[k], end = offsets[k + 1];
        if (first == end) continue;
        const frame there = frame_of(figures, first, end);
        const int64_t grid = most(grid_of(figures, first, end, there.from, own_grid, is_timed), 1);
        at.n = end - first;
        find_places(&at, query, own, figures, first, there, grid, is_timed);
        if (at.rows * at.columns > MOST_CELLS) {
            has_memory = most_in_order(&at, is_timed, &points, common + k);
        } else if (is_timed) {
            add_lengths(figures, first, end, 1, theirs);
            fill_reach(mine, own, theirs, there, at.rows, reach);
            add_lengths(figures, first, end, -1, theirs);
            common[k] = longest_time(&at, reach, grid, table);
        } else {
            common[k] = most_votes(&at, table);
        }
        if (is_timed) common[k] *= grid;
    }
    free(room);
    free(table);
    free(points.turns);
    free(points.sorted);
    return has_memory;
}
