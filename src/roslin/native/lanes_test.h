// Every operation of lanes.h as a kernel, for its tests.
#ifndef ROSLIN_LANES_TEST_H
#define ROSLIN_LANES_TEST_H

#include "common.h"

// `n` is a multiple of 64 in all of these.

// Sums, differences, the larger, the smaller, `a` where both are equal and 7 elsewhere, and the entries of a table at
// the lowest four bits of `a`.
void lanes_of_bytes(int64_t n, const int8_t a[n], const int8_t b[n], const int8_t table[16], int8_t out[6][n]);

// In how many registers a number is not 0.
int64_t lanes_any(int64_t n, const int8_t a[n]);

// Sums, differences, the larger, the smaller.
void lanes_of_shorts(int64_t n, const int16_t a[n], const int16_t b[n], int16_t out[4][n]);

// The sum of a number that is joined from two bytes and of `more`, taken apart: its lower and its upper byte.
void lanes_joined(int64_t n, const int8_t lower[n], const int8_t upper[n], int16_t more, int8_t out[2][n]);

// Sums, differences, products.
void lanes_of_ushorts(int64_t n, const uint16_t a[n], const uint16_t b[n], uint16_t out[3][n]);

// The smaller of two; each of `a` as 16 bits.
void lanes_of_ubytes(int64_t n, const uint8_t a[n], const uint8_t b[n], uint8_t out[n], uint16_t widened[n]);

// Which are not above a limit: 32 in each word. The first and the last of them, or -1 where there are none.
void lanes_not_above(int64_t words, const uint16_t numbers[32 * words], uint16_t limit, uint64_t bits[words],
                     int64_t ends[words][2]);

// How many bytes a register has.
int64_t lanes_width(void);

#endif
