// Melodies as lines, keys, stresses, structures and n-grams.
#include "represent_inline.h"

// -- strings of letters -----------------------------------------------------------------------------------------------

double weighted_edit_distance(int64_t m, int64_t n, const uint8_t query[m], const uint8_t candidate[n],
                              double insertion, double deletion, const double replacement[128][128],
                              double row[n + 1]) {
    row[0] = 0.0;
    for (int64_t j = 0; j < n; j++) row[j + 1] = row[j] + insertion;
    for (int64_t i = 0; i < m; i++) {
        double diagonal = row[0];
        row[0] += deletion;
        for (int64_t j = 0; j < n; j++) {
            double above = row[j + 1];
            double best = diagonal + replacement[query[i]][candidate[j]];
            if (above + deletion < best) best = above + deletion;
            if (row[j] + insertion < best) best = row[j] + insertion;
            row[j + 1] = best;
            diagonal = above;
        }
    }
    return row[n];
}

// -- lines ------------------------------------------------------------------------------------------------------------

int64_t top_rows(int64_t rows, int64_t melodies, const note_row notes[rows], const int64_t offsets[melodies + 1],
                 int64_t tops[rows], int64_t starts[melodies + 1]) {
    int64_t count = 0;
    starts[0] = 0;
    for (int64_t k = 0; k < melodies; k++) {
        for (int64_t row = offsets[k]; row < offsets[k + 1];) {
            int64_t top = next_top(notes, offsets[k + 1], &row);
            if (top >= 0) tops[count++] = top;
        }
        starts[k + 1] = count;
    }
    return count;
}

// -- keys -------------------------------------------------------------------------------------------------------------

int64_t best_key(const double agreement[24], int64_t first, double margin) { return key_of(agreement, first, margin); }

// The key of the notes from `begin` to `end`.
static int64_t key_of_notes(int64_t begin, int64_t end, const int64_t *classes, const double *weights,
                            const double (*directions)[PITCH_CLASSES]) {
    double sounding[PITCH_CLASSES] = {0}, agreement[KEYS], total = 0.0;
    for (int64_t i = begin; i < end; i++) sounding[classes[i]] += weights[i];
    for (int64_t each = 0; each < PITCH_CLASSES; each++) total += sounding[each];
    double mean = total / PITCH_CLASSES;
    for (int64_t key = 0; key < KEYS; key++) {
        agreement[key] = 0.0;
        for (int64_t each = 0; each < PITCH_CLASSES; each++)
            agreement[key] += directions[key][each] * (sounding[each] - mean);
    }
    return key_of(agreement, classes[begin], RECOMPUTED * (1.0 + total));
}

bool keys_around(int64_t notes, int64_t melodies, const double times[notes], const int64_t classes[notes],
                 const double weights[notes], const int64_t offsets[melodies + 1], int64_t reach,
                 const double directions[24][12], int64_t keys[notes]) {
    int64_t *starts = malloc(sizeof(int64_t) * (size_t)(notes + 1)); // of the onsets of a melody
    if (!starts) return false;
    for (int64_t k = 0; k < melodies; k++) {
        int64_t onsets = 0;
        for (int64_t i = offsets[k]; i < offsets[k + 1]; i++)
            if (i == offsets[k] || times[i] != times[i - 1]) starts[onsets++] = i;
        starts[onsets] = offsets[k + 1];
        for (int64_t onset = 0; onset < onsets; onset++) {
            int64_t begin = starts[most(onset - reach, 0)], end = starts[least(onset + reach + 1, onsets)];
            int64_t key = key_of_notes(begin, end, classes, weights, directions);
            for (int64_t i = starts[onset]; i < starts[onset + 1]; i++) keys[i] = key;
        }
    }
    free(starts);
    return true;
}

// -- metrical stress --------------------------------------------------------------------------------------------------

// Parts of a bar, the strongest last: a note at a multiple of 1 / parts has this stress.
static const struct {
    int64_t parts;
    double stress;
} STRESSES[] = {{6, 0.25}, {4, 0.25}, {3, 0.5}, {2, 0.5}, {1, 1.0}};
static const double WEAKEST = 0.125;

typedef struct {
    int64_t count;
    int64_t *starts, *lengths;
    int64_t pick_up; // how much the first bar is shorter than the usual one
} bars_of_melody;

// Where bars begin, each place once and in order, after the first one, which begins at 0.
static void sort_lines(int64_t lines, const int64_t *barlines, bars_of_melody *bars) {
    int64_t *starts = bars->starts;
    starts[0] = 0;
    bars->count = 1;
    for (int64_t line = 0; line < lines; line++) {
        int64_t place = bars->count;
        while (place > 1 && starts[place - 1] > barlines[line]) place--;
        if (starts[place - 1] == barlines[line]) continue;
        memmove(starts + place + 1, starts + place, sizeof(int64_t) * (size_t)(bars->count - place));
        starts[place] = barlines[line];
        bars->count++;
    }
}

// The most frequent length, the longest of several.
static int64_t most_frequent(int64_t count, const int64_t *lengths) {
    int64_t best = lengths[0], highest = 0;
    for (int64_t i = 0; i < count; i++) {
        if (highest > 0 && lengths[i] == best) continue;
        int64_t times = 0;
        for (int64_t j = 0; j < count; j++) times += lengths[j] == lengths[i];
        if (times > highest || (times == highest && lengths[i] > best)) {
            best = lengths[i];
            highest = times;
        }
    }
    return best;
}

// How long bars are. The first and the last may be cut; bars between them show the usual length, or else where the last
// note ends.
static void measure_bars(bars_of_melody *bars, int64_t end, int64_t bar_without_lines) {
    int64_t count = bars->count, *lengths = bars->lengths;
    for (int64_t bar = 0; bar < count - 1; bar++) lengths[bar] = bars->starts[bar + 1] - bars->starts[bar];
    lengths[count - 1] = bar_without_lines;
    bars->pick_up = 0;
    if (count == 1) return;
    int64_t usual = count > 2 ? most_frequent(count - 2, lengths + 1) : most(lengths[0], end - bars->starts[1]);
    bars->pick_up = most(usual - lengths[0], 0);
    lengths[0] = most(lengths[0], usual);
    lengths[count - 1] = usual;
}

static double stress_at(int64_t into_bar, int64_t length) {
    double stress = WEAKEST;
    for (size_t each = 0; each < sizeof STRESSES / sizeof *STRESSES; each++)
        if (into_bar * STRESSES[each].parts % length == 0) stress = STRESSES[each].stress;
    return stress;
}

bool metrical_stress(int64_t notes, int64_t melodies, int64_t lines, const int64_t onset[notes],
                     const int64_t stop[notes], const int64_t offsets[melodies + 1], const int64_t barlines[lines],
                     const int64_t bar_offsets[melodies + 1], int64_t bar_without_lines, double stress[notes]) {
    size_t room = sizeof(int64_t) * (size_t)(lines + 1);
    bars_of_melody bars = {0, malloc(room), malloc(room), 0};
    bool has_memory = bars.starts && bars.lengths;
    for (int64_t k = 0; has_memory && k < melodies; k++) {
        int64_t end = offsets[k] < offsets[k + 1] ? stop[offsets[k]] : 0;
        for (int64_t i = offsets[k]; i < offsets[k + 1]; i++) end = most(end, stop[i]);
        sort_lines(bar_offsets[k + 1] - bar_offsets[k], barlines + bar_offsets[k], &bars);
        measure_bars(&bars, end, bar_without_lines);
        int64_t bar = 0;
        for (int64_t i = offsets[k]; i < offsets[k + 1]; i++) {
            while (bar + 1 < bars.count && bars.starts[bar + 1] <= onset[i]) bar++;
            int64_t into_bar = onset[i] - bars.starts[bar] + (bar == 0 ? bars.pick_up : 0);
            stress[i] = stress_at(into_bar, bars.lengths[bar]);
        }
    }
    free(bars.starts);
    free(bars.lengths);
    return has_memory;
}

// -- implication and realization --------------------------------------------------------------------------------------

// Places in `implication.LABELS`; a retrospective label is the one after its twin.
enum { P = 0, D = 2, ID = 3, IP = 5, VP = 7, R = 9, IR = 11, VR = 13, DYAD = 15, MONAD = 16 };
enum { RETROSPECTIVE = 1 };
// Two intervals are similar if they differ by at most this many semitones.
enum { SIMILAR_SAME_DIRECTION = 3, SIMILAR_OTHER_DIRECTION = 2 };

static int64_t sign(int64_t x) { return (x > 0) - (x < 0); }

// The label of two intervals that follow each other.
static int64_t label_of(int64_t x, int64_t y, int64_t small) {
    int64_t size = llabs(x), next_size = llabs(y);
    int64_t if_large = size <= small ? 0 : RETROSPECTIVE, if_small = RETROSPECTIVE - if_large;
    if (sign(x) == sign(y)) {
        if (x == 0) return D;
        if (llabs(size - next_size) <= SIMILAR_SAME_DIRECTION) return P + if_large;
        return next_size > size ? VP + if_large : IR + if_small;
    }
    if (size == next_size) return ID + if_large;
    if (llabs(size - next_size) <= SIMILAR_OTHER_DIRECTION) return IP + if_large;
    return next_size < size ? R + if_small : VR + if_small;
}

typedef struct {
    const int64_t *onset, *stop;
    const int16_t *pitch;
    const double *stress;
    double rest, longer, accent;
} line_notes;

// How many cues for closure a note has that is neither the first nor the last of its line.
static int64_t cues_of(int64_t note, const line_notes *notes, bool has_bars) {
    const int64_t *onset = notes->onset + note, *stop = notes->stop + note;
    const double *stress = notes->stress + note;
    bool is_stronger = stress[0] > stress[-1] && stress[0] > stress[1];
    return ((double)(onset[1] - stop[0]) >= notes->rest * (double)(onset[1] - onset[0])) +
           ((double)(stop[0] - onset[0]) >= notes->longer * (double)(stop[-1] - onset[-1])) +
           (has_bars && is_stronger && stress[0] >= notes->accent);
}

typedef struct {
    int64_t count;
    int64_t *label, *size, *direction, *overlap;
} structures;

static void add_structure(structures *found, int64_t label, int64_t size) {
    found->label[found->count] = label;
    found->size[found->count] = size;
    found->count++;
}

// The structures of the notes from `first` to `end`, between which nothing closes.
static void add_open_notes(int64_t first, int64_t end, const int16_t *pitch, int64_t small, structures *found) {
    if (end - first < 2) {
        add_structure(found, end > first ? DYAD : MONAD, end - first + 1);
        found->direction[found->count - 1] = sign((int64_t)pitch[end] - pitch[first]);
        return;
    }
    for (int64_t note = first; note < end - 1; note++) {
        int64_t x = (int64_t)pitch[note + 1] - pitch[note], y = (int64_t)pitch[note + 2] - pitch[note + 1];
        int64_t label = label_of(x, y, small);
        if (note > first && label <= D && label == found->label[found->count - 1]) {
            found->size[found->count - 1]++; // one longer structure
        } else {
            if (note > first) found->overlap[found->count - 1] = 2;
            add_structure(found, label, 3);
        }
        int64_t start = note + 3 - found->size[found->count - 1];
        found->direction[found->count - 1] = sign((int64_t)pitch[note + 2] - pitch[start]);
    }
}

int64_t implication_structures(int64_t notes, int64_t lines, const int64_t onset[notes], const int64_t stop[notes],
                               const int16_t pitch[notes], const double stress[notes], const bool has_bars[lines],
                               const int64_t offsets[lines + 1], int64_t small, double rest, double longer,
                               double accent, int64_t label[notes], int64_t size[notes], int64_t direction[notes],
                               int64_t overlap[notes], int64_t bounds[lines + 1]) {
    const line_notes all = {onset, stop, pitch, stress, rest, longer, accent};
    structures found = {0, label, size, direction, overlap};
    bounds[0] = 0;
    for (int64_t k = 0; k < lines; k++) {
        int64_t first = offsets[k], last = offsets[k + 1] - 1;
        while (first <= last) {
            // From the first note to the one that closes, or to the last of the line.
            int64_t end = first, cues = 0;
            while (end < last && cues == 0) {
                end++;
                if (end < last) cues = cues_of(end, &all, has_bars[k]);
            }
            add_open_notes(first, end, pitch, small, &found);
            bool is_weak = cues == 1;
            overlap[found.count - 1] = is_weak;
            if (end == last) break;
            first = is_weak ? end : end + 1;
        }
        bounds[k + 1] = found.count;
    }
    return found.count;
}

// -- n-grams ----------------------------------------------------------------------------------------------------------

void gram_words(int64_t notes, int64_t lines, int64_t total, const int64_t symbols[notes],
                const int64_t offsets[lines + 1], int64_t alphabet, int64_t n, int64_t words[total]) {
    int64_t highest = 1, at = 0;
    for (int64_t digit = 1; digit < n; digit++) highest *= alphabet;
    for (int64_t k = 0; k < lines; k++) {
        int64_t gram = 0;
        for (int64_t i = offsets[k]; i < offsets[k + 1] - 1; i++) {
            // The oldest symbol falls out at the top, the new one comes in at the bottom.
            gram = gram % highest * alphabet + symbols[i];
            if (i - offsets[k] >= n - 1) words[at++] = gram * lines + k;
        }
    }
}

void posting_sizes(int64_t total, const int64_t words[total], int64_t lines, int64_t sizes[2]) {
    int64_t last_gram = -1, last_word = -1;
    sizes[0] = sizes[1] = 0;
    for (int64_t i = 0; i < total; i++) {
        if (words[i] == last_word) continue;
        last_word = words[i];
        sizes[0] += last_word / lines != last_gram;
        sizes[1]++;
        last_gram = last_word / lines;
    }
}

void postings(int64_t total, int64_t different, int64_t entries, int64_t lines, const int64_t words[total],
              int64_t grams[different], int64_t starts[different + 1], int32_t melodies[entries],
              uint16_t times[entries], int32_t counts[lines]) {
    int64_t last_gram = -1, last_word = -1, gram_count = 0, entry = -1;
    memset(counts, 0, sizeof(int32_t) * (size_t)lines);
    for (int64_t i = 0; i < total; i++) {
        if (words[i] != last_word) {
            last_word = words[i];
            int64_t gram = last_word / lines;
            entry++;
            if (gram != last_gram) {
                grams[gram_count] = gram;
                starts[gram_count++] = entry;
                last_gram = gram;
            }
            melodies[entry] = (int32_t)(last_word - gram * lines);
            counts[melodies[entry]]++;
            times[entry] = 0;
        }
        if (times[entry] < UINT16_MAX) times[entry]++; // a gram that comes more often counts as this often
    }
    starts[gram_count] = entry + 1;
}
