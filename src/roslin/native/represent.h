// Kernels that turn melodies into what matchers read: lines, keys, metrical stress, structures and n-grams.
//
// Several melodies are end to end: those of melody k are the rows offsets[k] to offsets[k + 1].
#ifndef ROSLIN_REPRESENT_H
#define ROSLIN_REPRESENT_H

#include "common.h"

// A row of a note table (melody/table.py).
typedef struct __attribute__((packed)) {
    int64_t onset_ticks;
    int64_t duration_ticks;
    int16_t pitch_midi;
    int16_t pitch_base40;
    bool is_grace;
    int16_t voice;
    int32_t source_column;
} note_row;

// The cost of the cheapest way to turn `query` into `candidate`; replacement[a, b] is the cost of b in place of a, for
// ASCII letters. `row` is scratch.
double weighted_edit_distance(int64_t m, int64_t n, const uint8_t query[m], const uint8_t candidate[n],
                              double insertion, double deletion, const double replacement[128][128],
                              double row[n + 1]);

// Fill `tops` with the first highest note at each onset, without grace notes, and `starts` with where each line begins
// among them; the result is how many there are.
int64_t top_rows(int64_t rows, int64_t melodies, const note_row notes[rows], const int64_t offsets[melodies + 1],
                 int64_t tops[rows], int64_t starts[melodies + 1]);

// The number of the key (represent/keys.py) that agrees best, or less than that by at most `margin`. Of equals, major
// before minor, then the tonic that comes next above the pitch class `first`: so the key of a transposed melody is the
// transposed key.
int64_t best_key(const double agreement[24], int64_t first, double margin);

// Fill `keys` with the key around each note (represent/keys.py): of the notes at `reach` onsets before and after it,
// and at its own. `classes` are pitch classes, `directions` what they are correlated with.
bool keys_around(int64_t notes, int64_t melodies, const double times[notes], const int64_t classes[notes],
                 const double weights[notes], const int64_t offsets[melodies + 1], int64_t reach,
                 const double directions[24][12], int64_t keys[notes]);

// Fill `stress` with the metrical stress of every note (represent/points.py), from 1/8 to 1. Onsets rise; `stop` is
// where each note ends; without bar lines, a bar takes `bar_without_lines`.
bool metrical_stress(int64_t notes, int64_t melodies, int64_t lines, const int64_t onset[notes],
                     const int64_t stop[notes], const int64_t offsets[melodies + 1], const int64_t barlines[lines],
                     const int64_t bar_offsets[melodies + 1], int64_t bar_without_lines, double stress[notes]);

// Fill label, size, direction and overlap with the implication-realization structures of all lines
// (matchers/edit/gam.py, which has `small`, `rest`, `longer` and `accent`), and `bounds` with where those of each
// line begin; the result is how many there are. Labels are places in `implication.LABELS`. A structure for each note is
// more than any line has.
int64_t implication_structures(int64_t notes, int64_t lines, const int64_t onset[notes], const int64_t stop[notes],
                               const int16_t pitch[notes], const double stress[notes], const bool has_bars[lines],
                               const int64_t offsets[lines + 1], int64_t small, double rest, double longer,
                               double accent, int64_t label[notes], int64_t size[notes], int64_t direction[notes],
                               int64_t overlap[notes], int64_t bounds[lines + 1]);

// Fill `words` with gram * lines + line, for each gram of n symbols from 0 to alphabet - 1 of each line. symbols[i] is
// between the notes i and i + 1; `words` has room for exactly all grams.
void gram_words(int64_t notes, int64_t lines, int64_t total, const int64_t symbols[notes],
                const int64_t offsets[lines + 1], int64_t alphabet, int64_t n, int64_t words[total]);

// Fill `sizes` with the number of different grams and of different words, among the sorted words of so many lines.
void posting_sizes(int64_t total, const int64_t words[total], int64_t lines, int64_t sizes[2]);

// Fill the arrays of `grams.GramIndex` from the sorted words of all lines.
void postings(int64_t total, int64_t different, int64_t entries, int64_t lines, const int64_t words[total],
              int64_t grams[different], int64_t starts[different + 1], int32_t melodies[entries],
              uint16_t times[entries], int32_t counts[lines]);

#endif
