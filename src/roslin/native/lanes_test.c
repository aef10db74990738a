// Every operation of lanes.h as a kernel.
#include "lanes_test.h"
#include "lanes.h"

void lanes_of_bytes(int64_t n, const int8_t a[n], const int8_t b[n], const int8_t table[16], int8_t out[6][n]) {
    bytes entries = load_table(table), seven = spread_byte(7);
    for (int64_t k = 0; k < n; k += BYTES) {
        bytes x = load_bytes(a + k), y = load_bytes(b + k);
        store_bytes(out[0] + k, add_bytes(x, y));
        store_bytes(out[1] + k, subtract_bytes(x, y));
        store_bytes(out[2] + k, max_bytes(x, y));
        store_bytes(out[3] + k, min_bytes(x, y));
        store_bytes(out[4] + k, where_equal_bytes(x, y, x, seven));
        int8_t indices[BYTES];
        for (int64_t lane = 0; lane < BYTES; lane++) indices[lane] = a[k + lane] & 15;
        store_bytes(out[5] + k, look_up(entries, load_bytes(indices)));
    }
}

int64_t lanes_any(int64_t n, const int8_t a[n]) {
    int64_t registers = 0;
    for (int64_t k = 0; k < n; k += BYTES) registers += any_bytes(load_bytes(a + k));
    return registers;
}

void lanes_of_shorts(int64_t n, const int16_t a[n], const int16_t b[n], int16_t out[4][n]) {
    for (int64_t k = 0; k < n; k += SHORTS) {
        shorts x = load_shorts(a + k), y = load_shorts(b + k);
        store_shorts(out[0] + k, add_shorts(x, y));
        store_shorts(out[1] + k, subtract_shorts(x, y));
        store_shorts(out[2] + k, max_shorts(x, y));
        store_shorts(out[3] + k, min_shorts(x, y));
    }
}

void lanes_joined(int64_t n, const int8_t lower[n], const int8_t upper[n], int16_t more, int8_t out[2][n]) {
    for (int64_t k = 0; k < n; k += BYTES) {
        bytes x = load_bytes(lower + k), y = load_bytes(upper + k);
        shorts low = add_shorts(join_low(x, y), spread_short(more));
        shorts high = add_shorts(join_high(x, y), spread_short(more));
        store_bytes(out[0] + k, lower_bytes(low, high));
        store_bytes(out[1] + k, upper_bytes(low, high));
    }
}

void lanes_of_ushorts(int64_t n, const uint16_t a[n], const uint16_t b[n], uint16_t out[3][n]) {
    for (int64_t k = 0; k < n; k += SHORTS) {
        ushorts x = load_ushorts(a + k), y = load_ushorts(b + k);
        store_ushorts(out[0] + k, add_ushorts(x, y));
        store_ushorts(out[1] + k, subtract_ushorts(x, y));
        store_ushorts(out[2] + k, multiply_ushorts(x, y));
    }
}

void lanes_of_ubytes(int64_t n, const uint8_t a[n], const uint8_t b[n], uint8_t out[n], uint16_t widened[n]) {
    for (int64_t k = 0; k < n; k += BYTES) store_ubytes(out + k, min_ubytes(load_ubytes(a + k), load_ubytes(b + k)));
    for (int64_t k = 0; k < n; k += SHORTS) store_ushorts(widened + k, load_widened(a + k));
}

void lanes_not_above(int64_t words, const uint16_t numbers[32 * words], uint16_t limit, uint64_t bits[words],
                     int64_t ends[words][2]) {
    for (int64_t word = 0; word < words; word++) {
        bits[word] = 0;
        for (int64_t k = 0; k < 32; k += SHORTS) {
            ushorts some = load_ushorts(numbers + 32 * word + k);
            bits[word] |= bits_within(some, spread_ushort(limit)) << k;
        }
        ends[word][0] = bits[word] ? first_bit(bits[word]) : -1;
        ends[word][1] = bits[word] ? last_bit(bits[word]) : -1;
    }
}

int64_t lanes_width(void) { return BYTES; }
