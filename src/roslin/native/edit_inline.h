// Edit distance of two strings of symbols, 64 symbols of the first at a time: for the kernels of several families.
//
// The first string is given as masks: bit i of masks[symbol, word] is set where its symbol 64 * word + i is `symbol`.
// Columns of the table of the textbook recurrence are then words of bits (Myers 1999; Hyyro 2003 and 2004), and a
// symbol of the second string costs a few operations. A symbol that the first string does not have needs a row of
// zeros.
#ifndef ROSLIN_EDIT_INLINE_H
#define ROSLIN_EDIT_INLINE_H

#include "common.h"

enum { WORD_BITS = 64 };

// How many words the bits of a string need; an empty string has one.
static inline int64_t words_of(int64_t symbols) { return most((symbols + WORD_BITS - 1) / WORD_BITS, 1); }

// Set the bits of a string in masks that are zero.
static inline void set_masks(int64_t m, const int64_t *symbols, int64_t words, uint64_t *masks) {
    for (int64_t i = 0; i < m; i++)
        masks[symbols[i] * words + i / WORD_BITS] |= (uint64_t)1 << (i % WORD_BITS);
}

// How a column of the table differs from one cell to the one below: bits of `up` where it grows by one, of `down` where
// it falls by one.
typedef struct {
    uint64_t up, down;
} column_word;

// How a column differs from the one before it, in the same way.
typedef struct {
    uint64_t plus, minus;
} row_word;

// Take a word of a column one symbol further. `equal` are the places of that symbol; `above` has in its lowest bits
// what the cell above the word gained.
static inline row_word next_column(column_word *column, uint64_t equal, row_word above) {
    uint64_t vertical = equal | column->down;
    equal |= above.minus;
    uint64_t horizontal = (((equal & column->up) + column->up) ^ column->up) | equal;
    row_word gained = {column->down | ~(horizontal | column->up), column->up & horizontal};
    uint64_t plus = gained.plus << 1 | above.plus, minus = gained.minus << 1 | above.minus;
    column->up = minus | ~(vertical | plus);
    column->down = plus & vertical;
    return gained;
}

static inline int64_t bit_of(uint64_t word, int64_t bit) { return (int64_t)(word >> bit & 1); }

// The number of symbols to insert, delete or replace between a string of m symbols, given as masks of words_of(m) words
// each, and the n symbols of `text`; or, `is_inside`, the part of the text where this is least. `columns` is scratch of
// words_of(m).
static inline int64_t distance_to_text(int64_t m, const uint64_t *restrict masks, int64_t n,
                                       const int64_t *restrict text, bool is_inside, column_word *restrict columns) {
    if (m == 0) return is_inside ? 0 : n;
    // The row above the first: the distance of nothing to j symbols grows by one with each, unless they are free.
    const row_word top = {is_inside ? 0 : 1, 0};
    const column_word first = {~(uint64_t)0, 0};
    int64_t words = words_of(m), last = (m - 1) % WORD_BITS, distance = m, closest = m;
    if (words == 1) { // most strings: the column stays in registers
        column_word column = first;
        for (int64_t j = 0; j < n; j++) {
            row_word gained = next_column(&column, masks[text[j]], top);
            distance += bit_of(gained.plus, last) - bit_of(gained.minus, last);
            closest = least(closest, distance);
        }
        return is_inside ? closest : distance;
    }
    for (int64_t word = 0; word < words; word++) columns[word] = first;
    for (int64_t j = 0; j < n; j++) {
        const uint64_t *places = masks + text[j] * words;
        row_word gained = top, above = top;
        for (int64_t word = 0; word < words; word++) {
            gained = next_column(columns + word, places[word], above);
            above = (row_word){gained.plus >> (WORD_BITS - 1), gained.minus >> (WORD_BITS - 1)};
        }
        distance += bit_of(gained.plus, last) - bit_of(gained.minus, last);
        closest = least(closest, distance);
    }
    return is_inside ? closest : distance;
}

// The same for the whole text.
static inline int64_t distance_of_strings(int64_t m, const uint64_t *restrict masks, int64_t n,
                                          const int64_t *restrict text, column_word *restrict columns) {
    return distance_to_text(m, masks, n, text, false, columns);
}

#endif
