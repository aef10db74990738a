// What all kernels share.
#ifndef ROSLIN_COMMON_H
#define ROSLIN_COMMON_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tolerances.h"

#if defined(_WIN32)
#pragma GCC visibility push(default)
#endif

// How far down the list of instruction sets of `build.py` this processor can go.
int64_t processor_level(void);

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// Whether the time is over. The flag is set by another thread.
static inline bool is_stopped(const bool *stop) { return *(const volatile bool *)stop; }

// Python's division and remainder: rounded down, with the sign of the divisor.
static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
static inline int64_t floor_mod(int64_t a, int64_t b) { return a - b * floor_div(a, b); }

#endif
