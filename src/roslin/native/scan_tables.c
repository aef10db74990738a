// How far it is at least to the nearest notes, for many alignments at once: the fourth stage of the scan.
//
// Time is cut into cells. A table of small numbers, a row for each pitch, a column for each cell, shows how far it
// is at least from there to the nearest note of the heavier melody, in parts of the reach: every note stamps its
// surroundings on it. The bound of an alignment is the sum over the notes of the lighter melody of weight times
// distance.
#include "scan_inline.h"

// Sums over so many notes are looked at once.
enum { TOGETHER = 4 };

// Put rows of a stamp on the table, `parts` registers of each. `to` is at the beginning of a register.
static inline void put(uint8_t *to, int64_t stride, const uint8_t *from, int64_t from_stride, int64_t rows,
                       int64_t parts) {
    for (int64_t row = 0; row < rows; row++, to += stride, from += from_stride)
        for (int64_t part = 0; part < parts * BYTES; part += BYTES)
            store_ubytes(to + part, min_ubytes(load_ubytes(to + part), load_ubytes(from + part)));
}

// The registers of a row begin at the same places for all notes: a processor waits for a number that it has just
// written, if it is to read it together with others. So it is the stamp that is moved in a register, as a stamp has
// WIDEST_REGISTER times FAR on both sides.
void stamp_document(const document_table *table, const int8_t *pitches, int64_t notes, const int64_t *cells,
                    const scan_stamps *stamps, int64_t stamp, int64_t *places) {
    const int64_t around = stamps->rows, rows = 2 * around + 1, width = 2 * stamps->cells + 1;
    const int64_t parts = (BYTES - 1 + width + BYTES - 1) / BYTES, stride = table->stride;
    const uint8_t *from = stamps->numbers + stamp + WIDEST_REGISTER;
    int64_t count = 0;
    for (int64_t j = 0; j < notes; j++) {
        int64_t row = pitches[j] - table->lowest, column = cells[j] - table->first_column;
        places[count] = (row - around) * stride + column + stamps->cells;
        count += row >= -around && row < table->rows + around && column >= -stamps->cells &&
                 column < table->columns + stamps->cells;
    }
    memset(table->numbers, FAR, (size_t)(table->rows * stride));
    for (int64_t k = 0; k < count; k++) {
        int64_t in_register = places[k] & (BYTES - 1);
        uint8_t *to = table->numbers + places[k] - in_register;
        // A register of 64 bytes mostly holds all of a row. With narrower ones a wrong guess of the processor would
        // take longer than a second register.
        bool is_one = BYTES >= 64 && in_register + width <= BYTES;
        if (is_one) put(to, stride, from - in_register, stamps->stride, rows, 1);
        else if (parts == 2) put(to, stride, from - in_register, stamps->stride, rows, 2);
        else put(to, stride, from - in_register, stamps->stride, rows, parts);
    }
}

bool sums_in_reach(window left, int64_t span, const uint8_t *table, int64_t stride, int64_t notes,
                   const int64_t *places, const int64_t *weights, int64_t limit, uint64_t *possible) {
    enum { PARTS = AT_ONCE / SHORTS };
    const ushorts most_in_reach = spread_ushort((uint16_t)least(limit, LARGEST));
    uint64_t is_any = 0;
    for (uint64_t words = left.words; words; words &= words - 1) {
        int64_t t = first_bit(words);
        for (int64_t first = left.first; first <= left.last; first += AT_ONCE) {
            const uint8_t *moved = table + (t - span) * stride + first;
            int64_t shifts = least(left.last - first + 1, AT_ONCE), parts = (shifts + SHORTS - 1) / SHORTS;
            uint64_t bits = 1;
            ushorts sums[PARTS];
            for (int64_t k = 0; k < PARTS; k++) sums[k] = spread_ushort(0);
            for (int64_t begin = 0; begin < notes && bits; begin += TOGETHER) {
                bits = 0;
                for (int64_t k = 0; k < parts; k++) {
                    for (int64_t r = begin; r < least(begin + TOGETHER, notes); r++) {
                        ushorts products = multiply_ushorts(load_widened(moved + places[r] + k * SHORTS),
                                                            spread_ushort((uint16_t)weights[r]));
                        sums[k] = add_ushorts(sums[k], products);
                    }
                    bits |= bits_within(sums[k], most_in_reach) << k * SHORTS;
                }
            }
            if (shifts < AT_ONCE) bits &= (UINT64_C(1) << shifts) - 1;
            possible[TRANSPOSITIONS * ((first - left.first) / AT_ONCE) + t] = bits;
            is_any |= bits;
        }
    }
    return is_any != 0;
}
