// Which instruction sets the processor has, and the operating system saves.
#include "common.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>

static bool has_bits(unsigned value, unsigned bits) { return (value & bits) == bits; }

// The registers that the operating system saves when it changes threads.
static unsigned saved_registers(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

int64_t processor_level(void) {
    unsigned a, b, c, d;
    // SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT
    const unsigned v2 = 1u | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23;
    // FMA, MOVBE, OSXSAVE, AVX, F16C
    const unsigned v3 = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has_bits(c, v2)) return 0;
    if (!has_bits(c, v3)) return 1;
    unsigned registers = saved_registers();
    if (!has_bits(registers, 0x6)) return 1;
    unsigned more_a, more_b, more_c, more_d;
    // BMI1, AVX2, BMI2
    if (!__get_cpuid_count(7, 0, &more_a, &more_b, &more_c, &more_d)) return 1;
    if (!has_bits(more_b, 1u << 3 | 1u << 5 | 1u << 8)) return 1;
    // LZCNT
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !has_bits(c, 1u << 5)) return 1;
    // AVX-512 F, DQ, CD, BW, VL
    if (!has_bits(more_b, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31)) return 2;
    return has_bits(registers, 0xe6) ? 3 : 2;
}
#else
int64_t processor_level(void) { return 1; }
#endif
