// The measures that `fm` is made of.
#include "opti3.h"

#include "edit_inline.h"
#include "represent_inline.h"

// Intervals of MIDI pitches as symbols from 0 on.
enum { LARGEST_INTERVAL = 127, INTERVALS = 2 * LARGEST_INTERVAL + 1 };
enum { RHYTHM_CLASSES = 5 };

static int64_t longest_of(int64_t candidates, const int64_t *offsets) {
    int64_t longest = 0;
    for (int64_t k = 0; k < candidates; k++) longest = most(longest, offsets[k + 1] - offsets[k]);
    return longest;
}

static double share_of(int64_t distance, int64_t m, int64_t n) {
    int64_t longer = most(m, n);
    return longer > 0 ? (double)distance / (double)longer : 0.0;
}

// -- n-grams of intervals ---------------------------------------------------------------------------------------------

// How often each gram of the query is in the query, and in one candidate: a hash table whose size is a power of two.
typedef struct {
    int64_t size;
    struct gram_slot {
        int64_t gram, asked, found;
    } *slots;
} gram_table;

enum { EMPTY = -1 };

// Where a gram is in the table, or would be put.
static struct gram_slot *slot_of(const gram_table *table, int64_t gram) {
    int64_t place = (gram ^ (gram >> 7) ^ (gram >> 21)) & (table->size - 1);
    while (table->slots[place].gram != EMPTY && table->slots[place].gram != gram)
        place = (place + 1) & (table->size - 1);
    return table->slots + place;
}

// The gram that ends with the interval before `note`, after the gram that ends one interval earlier.
static int64_t next_gram(int64_t gram, const int16_t *note, int64_t wraps) {
    return floor_mod(gram * INTERVALS + note[0] - note[-1] + LARGEST_INTERVAL, wraps);
}

bool gram_overlaps(int64_t m, int64_t notes, int64_t candidates, const int16_t query[m], const int16_t pitch[notes],
                   const int64_t offsets[candidates + 1], int64_t length, int64_t common[candidates],
                   int64_t both[candidates], int64_t grams[candidates]) {
    gram_table table = {16, NULL};
    while (table.size < 4 * m) table.size *= 2;
    table.slots = malloc(sizeof(struct gram_slot) * (size_t)table.size);
    struct gram_slot **used = malloc(sizeof(struct gram_slot *) * (size_t)(longest_of(candidates, offsets) + 1));
    bool has_memory = table.slots && used;
    for (int64_t place = 0; has_memory && place < table.size; place++)
        table.slots[place] = (struct gram_slot){EMPTY, 0, 0};
    int64_t wraps = 1;
    for (int64_t each = 0; each < length; each++) wraps *= INTERVALS;
    int64_t gram = 0;
    for (int64_t note = 1; has_memory && note < m; note++) {
        gram = next_gram(gram, query + note, wraps);
        if (note < length) continue;
        struct gram_slot *slot = slot_of(&table, gram);
        slot->gram = gram;
        slot->asked++;
    }
    for (int64_t k = 0; has_memory && k < candidates; k++) {
        const int16_t *line = pitch + offsets[k];
        int64_t count = offsets[k + 1] - offsets[k], places = 0;
        gram = 0;
        for (int64_t note = 1; note < count; note++) {
            gram = next_gram(gram, line + note, wraps);
            if (note < length) continue;
            struct gram_slot *slot = slot_of(&table, gram);
            if (slot->gram != gram) continue;
            if (slot->found++ == 0) used[places++] = slot;
        }
        grams[k] = most(count - length, 0);
        common[k] = both[k] = 0;
        for (int64_t place = 0; place < places; place++) {
            common[k] += least(used[place]->asked, used[place]->found);
            both[k] += used[place]->asked + used[place]->found;
            used[place]->found = 0;
        }
    }
    free(table.slots);
    free(used);
    return has_memory;
}

// -- strings ----------------------------------------------------------------------------------------------------------

// The string of the query, and room for the string of a candidate.
typedef struct {
    int64_t m, alphabet, words;
    uint64_t *masks;
    column_word *columns;
    int64_t *text, *more; // each for the longest string
    bool has_memory;
} strings;

static strings make_strings(int64_t longest_query, int64_t alphabet, int64_t longest) {
    strings made = {.alphabet = alphabet, .words = words_of(longest_query)};
    size_t room = sizeof(int64_t) * (size_t)(most(longest, longest_query) + 1);
    // A symbol that the query does not have comes after all others.
    made.masks = calloc((size_t)((alphabet + 1) * made.words), sizeof(uint64_t));
    made.columns = malloc(sizeof(column_word) * (size_t)made.words);
    made.text = malloc(room);
    made.more = malloc(room);
    made.has_memory = made.masks && made.columns && made.text && made.more;
    return made;
}

// Take the m symbols in `text` for the string of the query.
static void set_query(strings *both, int64_t m) {
    both->m = m;
    both->words = words_of(m);
    set_masks(m, both->text, both->words, both->masks);
}

static int64_t distance_to(const strings *both, int64_t n) {
    return distance_of_strings(both->m, both->masks, n, both->text, both->columns);
}

static void free_strings(strings *both) {
    free(both->masks);
    free(both->columns);
    free(both->text);
    free(both->more);
}

// -- intervals --------------------------------------------------------------------------------------------------------

// The symbols of the intervals of a line; how many there are.
static int64_t interval_symbols(int64_t notes, const int16_t *pitch, int64_t *symbols) {
    for (int64_t j = 1; j < notes; j++) symbols[j - 1] = (int64_t)pitch[j] - pitch[j - 1] + LARGEST_INTERVAL;
    return most(notes - 1, 0);
}

bool interval_distances(int64_t m, int64_t notes, int64_t candidates, const int16_t query[m],
                        const int16_t pitch[notes], const int64_t offsets[candidates + 1],
                        double distances[candidates]) {
    strings both = make_strings(m, INTERVALS, longest_of(candidates, offsets));
    if (both.has_memory) set_query(&both, interval_symbols(m, query, both.text));
    for (int64_t k = 0; both.has_memory && k < candidates; k++) {
        int64_t n = interval_symbols(offsets[k + 1] - offsets[k], pitch + offsets[k], both.text);
        distances[k] = share_of(distance_to(&both, n), both.m, n);
    }
    free_strings(&both);
    return both.has_memory;
}

// -- pitches ----------------------------------------------------------------------------------------------------------

// How often each pitch occurs in a line; zero between lines.
enum { PITCHES = UINT16_MAX + 1, NO_PITCH = -INT16_MIN };

typedef struct {
    int64_t low, high, twice_the_median;
} pitch_summary;

// The summary of a line of one note or more. Twice the median is a whole number.
static pitch_summary summary_of(int64_t notes, const int16_t *pitch, int64_t *times) {
    pitch_summary found = {pitch[0], pitch[0], 0};
    for (int64_t i = 0; i < notes; i++) {
        found.low = least(found.low, pitch[i]);
        found.high = most(found.high, pitch[i]);
        times[pitch[i] + NO_PITCH]++;
    }
    int64_t below = 0, lower = (notes - 1) / 2, upper = notes / 2; // the places of the two in the middle
    for (int64_t value = found.low; value <= found.high; value++) {
        int64_t *count = times + value + NO_PITCH;
        int64_t above = below + *count;
        found.twice_the_median += value * ((below <= lower && lower < above) + (below <= upper && upper < above));
        below = above;
        *count = 0;
    }
    return found;
}

// The least distance to a line whose pitches above its lowest are in `more`, transposed by `lowest` to `highest` or by
// `between`.
static int64_t best_transposition(strings *both, int64_t n, int64_t lowest, int64_t highest, int64_t between) {
    int64_t best = most(both->m, n);
    for (int64_t step = lowest; step <= highest + 1; step++) {
        int64_t shift = step > highest ? between : step;
        if (step > highest && lowest <= between && between <= highest) continue;
        for (int64_t j = 0; j < n; j++) {
            int64_t symbol = both->more[j] - shift;
            both->text[j] = 0 <= symbol && symbol < both->alphabet ? symbol : both->alphabet;
        }
        best = least(best, distance_to(both, n));
    }
    return best;
}

bool pitch_distances(int64_t m, int64_t notes, int64_t candidates, const int16_t query[m], const int16_t pitch[notes],
                     const int64_t offsets[candidates + 1], int64_t lowest, int64_t highest,
                     double distances[candidates]) {
    int64_t *times = calloc(PITCHES, sizeof(int64_t));
    if (!times) return false;
    pitch_summary own = m > 0 ? summary_of(m, query, times) : (pitch_summary){0, 0, 0};
    strings both = make_strings(m, own.high - own.low + 1, longest_of(candidates, offsets));
    if (both.has_memory) {
        for (int64_t i = 0; i < m; i++) both.text[i] = query[i] - own.low;
        set_query(&both, m);
    }
    for (int64_t k = 0; both.has_memory && k < candidates; k++) {
        const int16_t *line = pitch + offsets[k];
        int64_t n = offsets[k + 1] - offsets[k];
        distances[k] = 1.0;
        if (n == 0) continue;
        pitch_summary its = summary_of(n, line, times);
        for (int64_t j = 0; j < n; j++) both.more[j] = line[j] - its.low;
        int64_t apart = (its.twice_the_median - 2 * its.low) - (own.twice_the_median - 2 * own.low);
        int64_t best = best_transposition(&both, n, lowest, highest, floor_div(apart, 2));
        distances[k] = share_of(best, m, n);
    }
    free_strings(&both);
    free(times);
    return both.has_memory;
}

// -- rhythm -----------------------------------------------------------------------------------------------------------

// The lowest times, in beats, that belong to the classes from 1 on are just above these (matchers/opti3/parts.py).
static const double LIMITS[RHYTHM_CLASSES - 1] = {0.45, 0.9, 1.8, 3.3};

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t rhythm_classes(int64_t notes, const int64_t onsets[notes], double beat, int64_t lengths[notes],
                       int64_t classes[notes]) {
    int64_t n = most(notes - 1, 0);
    for (int64_t j = 0; j < n; j++) lengths[j] = classes[j] = onsets[j + 1] - onsets[j];
    if (beat <= 0.0 && n > 0) {
        qsort(classes, (size_t)n, sizeof(int64_t), by_size);
        beat = (double)classes[(n - 1) / 2];
    }
    for (int64_t j = 0; j < n; j++) {
        double share = (double)lengths[j] / beat;
        classes[j] = 0;
        for (int64_t each = 0; each < RHYTHM_CLASSES - 1; each++) classes[j] += share > LIMITS[each];
    }
    return n;
}

bool rhythm_distances(int64_t m, int64_t notes, int64_t candidates, const int64_t query[m], const int64_t onsets[notes],
                      const int64_t offsets[candidates + 1], double beat, double distances[candidates]) {
    strings both = make_strings(m, RHYTHM_CLASSES, longest_of(candidates, offsets));
    if (both.has_memory) set_query(&both, rhythm_classes(m, query, beat, both.more, both.text));
    for (int64_t k = 0; both.has_memory && k < candidates; k++) {
        int64_t count = offsets[k + 1] - offsets[k];
        int64_t n = rhythm_classes(count, onsets + offsets[k], beat, both.more, both.text);
        distances[k] = share_of(distance_to(&both, n), both.m, n);
    }
    free_strings(&both);
    return both.has_memory;
}

// -- harmony ----------------------------------------------------------------------------------------------------------

int64_t bar_keys(int64_t notes, int64_t lines, const int64_t onsets[notes], const int16_t pitches[notes],
                 const int64_t barlines[lines], int64_t bar_without_lines, const int64_t profiles[12][24],
                 int64_t keys[notes]) {
    double agreement[KEYS] = {0}; // whole numbers: those of keys that agree equally well are equal
    int64_t bars = 0, line = 0, bar = -1, first = 0;
    for (int64_t note = 0; note < notes; note++) {
        while (line < lines && barlines[line] <= onsets[note]) line++;
        int64_t own = lines ? line : floor_div(onsets[note], bar_without_lines);
        int64_t pitch_class = floor_mod(pitches[note], PITCH_CLASSES);
        if (own != bar) {
            if (bar >= 0) keys[bars++] = key_of(agreement, first, 0.0);
            memset(agreement, 0, sizeof agreement);
            bar = own;
            first = pitch_class;
        }
        for (int64_t key = 0; key < KEYS; key++) agreement[key] += (double)profiles[pitch_class][key];
    }
    if (bar >= 0) keys[bars++] = key_of(agreement, first, 0.0);
    return bars;
}

// The least distance to the keys in `more`, in any of the twelve transpositions.
static int64_t best_transposition_of_keys(strings *both, int64_t n) {
    int64_t best = most(both->m, n);
    for (int64_t shift = 0; shift < PITCH_CLASSES; shift++) {
        for (int64_t j = 0; j < n; j++) {
            int64_t key = both->more[j];
            both->text[j] = key / PITCH_CLASSES * PITCH_CLASSES + (key + shift) % PITCH_CLASSES;
        }
        best = least(best, distance_to(both, n));
    }
    return best;
}

bool harmony_distances(int64_t m, int64_t query_lines, int64_t notes, int64_t lines, int64_t candidates,
                       const int64_t query_onsets[m], const int16_t query_pitches[m],
                       const int64_t query_barlines[query_lines], const int64_t onsets[notes],
                       const int16_t pitches[notes], const int64_t offsets[candidates + 1],
                       const int64_t barlines[lines], const int64_t bar_offsets[candidates + 1],
                       int64_t bar_without_lines, const int64_t profiles[12][24], double distances[candidates]) {
    strings both = make_strings(m, KEYS, longest_of(candidates, offsets));
    if (both.has_memory)
        set_query(&both, bar_keys(m, query_lines, query_onsets, query_pitches, query_barlines, bar_without_lines,
                                  profiles, both.text));
    for (int64_t k = 0; both.has_memory && k < candidates; k++) {
        int64_t start = offsets[k], first_line = bar_offsets[k];
        int64_t n = bar_keys(offsets[k + 1] - start, bar_offsets[k + 1] - first_line, onsets + start, pitches + start,
                             barlines + first_line, bar_without_lines, profiles, both.more);
        distances[k] = share_of(best_transposition_of_keys(&both, n), both.m, n);
    }
    free_strings(&both);
    return both.has_memory;
}
