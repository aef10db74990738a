// Metre and phrase of every note, inferred from the notes alone, so that every source has them.
//
// Metre: inner metric weight (A. Volk, "The study of syncopation using inner metric analysis", 2008). Onsets are on a
// grid of 1/24 quarter. Every chain of at least three equidistant onsets that cannot be made longer gives each of its
// notes the square of its number of steps; unlike in `alignment`, which follows the original, a chain also counts when
// it is part of one with a smaller step. Weak (0) up to the 45 % quantile of a melody's weights, middling (1) up to the
// 75 % quantile, strong (2) above.
//
// Phrase: a note ends a phrase (1) if the time to the next is at least 1.45 times the median or a rest takes more than
// a fifth of it, none of the three notes on either side is longer, neither of the next two is as long, and three notes
// have passed since the last end; the last note ends one. The note after an end, and the first, starts a phrase (2).
// All others are within (0).
//
// A label is 1 + 3 metre + phrase; 0 is a note of which nothing is known, because it is alone.
#include "labels.h"

static const int64_t GRID_TICKS = 1680; // 1/24 quarter: triplets and 32nds are on the grid
// Beyond this many steps of the grid a table of onsets is too large, and a metre means little.
static const int64_t LONGEST_SPAN = 1 << 20;
static const double WEAK = 0.45, MIDDLING = 0.75;                 // quantiles of the weights
static const double LONG = 1.45, REST = 0.2;                      // times the median; share of the time to the next
static const int64_t LEAST_NOTES = 3, AROUND = 3, FOLLOWING = 2; // notes

// The value that has this number in rising order. The values are moved.
static int64_t in_order(int64_t *values, int64_t size, int64_t number) {
    int64_t first = 0, last = size - 1;
    while (first < last) { // Hoare's selection: narrow down to the part that has it
        int64_t middle = values[first + (last - first) / 2], i = first, j = last;
        while (i <= j) {
            while (values[i] < middle) i++;
            while (values[j] > middle) j--;
            if (i > j) break;
            int64_t other = values[i];
            values[i++] = values[j];
            values[j--] = other;
        }
        if (number <= j)
            last = j;
        else if (number >= i)
            first = i;
        else
            break; // between the parts all values are the middle one
    }
    return values[number];
}

// The steps of the grid that a table of onsets needs to have for these notes; -1 where they get no metre.
static int64_t span_of(int64_t size, const int64_t *times) {
    int64_t span = size ? times[size - 1] - times[0] : 0;
    return span <= 0 || span > LONGEST_SPAN ? -1 : span;
}

// `note_at` has an entry of -1 for every step of the grid, and has it again at the end.
static void weigh(int64_t size, const int64_t *times, int64_t *weights, int32_t *note_at) {
    memset(weights, 0, (size_t)size * sizeof(int64_t));
    int64_t span = span_of(size, times);
    if (span < 0) return;
    for (int64_t k = 0; k < size; k++) note_at[times[k] - times[0]] = (int32_t)k;
    for (int64_t a = 0; a < size; a++) {
        int64_t begin = times[a] - times[0];
        for (int64_t b = a + 1; b < size; b++) {
            int64_t step = times[b] - times[a];
            if (2 * step > span) break;
            if (step <= 0 || (begin >= step && note_at[begin - step] >= 0)) continue; // part of a longer chain
            int64_t end = begin;
            while (end + step <= span && note_at[end + step] >= 0) end += step;
            int64_t steps = (end - begin) / step;
            if (steps < 2) continue;
            for (int64_t at = begin; at <= end; at += step) weights[note_at[at]] += steps * steps;
        }
    }
    for (int64_t k = 0; k < size; k++) note_at[times[k] - times[0]] = -1;
}

static void fill_ends(int64_t size, const int64_t *times, const int64_t *durations, int64_t *ordered, bool *ends) {
    memcpy(ordered, times, (size_t)size * sizeof(int64_t));
    double median = (double)in_order(ordered, size, (size - 1) / 2);
    int64_t since = 0;
    for (int64_t k = 0; k < size; k++) {
        since++;
        bool is_end = (double)times[k] >= LONG * median || (double)(times[k] - durations[k]) > REST * (double)times[k];
        for (int64_t other = most(0, k - AROUND); other < least(size, k + AROUND + 1); other++)
            is_end = is_end && times[other] <= times[k];
        for (int64_t other = k + 1; other < least(size, k + FOLLOWING + 1); other++)
            is_end = is_end && times[other] != times[k];
        ends[k] = is_end && since >= LEAST_NOTES;
        if (ends[k]) since = 0;
    }
    ends[size - 1] = true;
}

// Room for the longest of many melodies.
typedef struct {
    int64_t *grid, *weights, *ordered; // [size]
    bool *ends;                        // [size]
    int32_t *note_at;                  // [span + 1]
} workspace;

static bool take_workspace(workspace *room, int64_t size, int64_t span) {
    room->grid = malloc(3 * (size_t)size * sizeof(int64_t) + 1);
    room->weights = room->grid + size;
    room->ordered = room->weights + size;
    room->ends = malloc((size_t)size + 1);
    room->note_at = malloc((size_t)(span + 1) * sizeof(int32_t) + 1);
    if (!room->grid || !room->ends || !room->note_at) return false;
    memset(room->note_at, 0xff, (size_t)(span + 1) * sizeof(int32_t)); // -1 everywhere
    return true;
}

static void free_workspace(workspace *room) {
    free(room->grid);
    free(room->ends);
    free(room->note_at);
}

bool metric_weights(int64_t size, const int64_t times[size], int64_t weights[size]) {
    workspace room;
    bool has_memory = take_workspace(&room, 0, span_of(size, times));
    if (has_memory) weigh(size, times, weights, room.note_at);
    free_workspace(&room);
    return has_memory;
}

bool phrase_ends(int64_t size, const int64_t times[size], const int64_t durations[size], bool ends[size]) {
    workspace room;
    bool has_memory = take_workspace(&room, size, -1);
    if (has_memory && size) fill_ends(size, times, durations, room.ordered, ends);
    free_workspace(&room);
    return has_memory;
}

// On the grid, from the first note on.
static int64_t on_grid(const int64_t *onsets, int64_t k) {
    return floor_div(onsets[k] - onsets[0] + GRID_TICKS / 2, GRID_TICKS);
}

static void label_melody(int64_t size, const int64_t *onsets, const int64_t *durations, const int64_t *times,
                         const workspace *room, int8_t *labels) {
    for (int64_t k = 0; k < size; k++) room->grid[k] = on_grid(onsets, k);
    weigh(size, room->grid, room->weights, room->note_at);
    memcpy(room->ordered, room->weights, (size_t)size * sizeof(int64_t));
    int64_t weak = in_order(room->ordered, size, (int64_t)(WEAK * (double)(size - 1)));
    int64_t middling = in_order(room->ordered, size, (int64_t)(MIDDLING * (double)(size - 1)));
    fill_ends(size, times, durations, room->ordered, room->ends);
    for (int64_t k = 0; k < size; k++) {
        int metre = room->weights[k] <= weak ? 0 : room->weights[k] <= middling ? 1 : 2;
        int phrase = k == 0 || room->ends[k - 1] ? 2 : room->ends[k] ? 1 : 0;
        labels[k] = (int8_t)(1 + 3 * metre + phrase);
    }
}

bool label_notes(int64_t melodies, const int64_t offsets[melodies + 1], int64_t notes, const int64_t onsets[notes],
                 const int64_t durations[notes], const int64_t times[notes], int8_t labels[notes]) {
    int64_t longest = 0, widest = 0;
    for (int64_t number = 0; number < melodies; number++) {
        int64_t first = offsets[number], size = offsets[number + 1] - first;
        longest = most(longest, size);
        if (size > 1) widest = most(widest, least(on_grid(onsets + first, size - 1), LONGEST_SPAN));
    }
    workspace room;
    bool has_memory = take_workspace(&room, longest, widest);
    for (int64_t number = 0; has_memory && number < melodies; number++) {
        int64_t first = offsets[number], size = offsets[number + 1] - first;
        if (size < 2) continue;
        label_melody(size, onsets + first, durations + first, times + first, &room, labels + first);
    }
    free_workspace(&room);
    return has_memory;
}
