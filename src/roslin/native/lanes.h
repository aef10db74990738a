// The one vector language of all kernels: small whole numbers side by side, in one register of the processor.
//
//   bytes, ubytes     BYTES numbers of 8 bits, with a sign or without
//   shorts, ushorts   SHORTS numbers of 16 bits; SHORTS is half of BYTES
//
// A search has short lines of numbers, twelve transpositions or sixty-four melodies, at each of a few hundred places:
// too short for a compiler to make vectors of loops by itself. So each operation is a function here, with the same name
// for all processors:
//
//   load, store, spread, add, subtract, max, min
//                                      lane by lane; spread writes one number to all. Sums and differences stop at the
//                                      smallest and the largest number
//   where_equal_bytes(a, b, yes, no)   `yes` where a and b are equal, otherwise `no`
//   any_bytes(a)                       whether one of them is not 0
//   look_up(load_table(t), indices)    the entry of a table of sixteen bytes for each index, which is 0 to 15
//   join_low, join_high(lower, upper)  shorts from their lower and their upper bytes. Which numbers are in the low and
//                                      which in the high register is the processor's choice
//   lower_bytes, upper_bytes(low, high)  one byte of each of these shorts, in order again
//   multiply_ushorts(a, b)             products below 65536
//   load_widened(from)                 SHORTS bytes from memory as ushorts, in order
//   bits_within(a, limit)              which lanes of ushorts are not above `limit`: bit k for lane k
//   first_bit, last_bit(word)          the number of the lowest and the highest bit of a word that is not 0
//
// The compiler's target decides how wide a register is: 64 bytes with AVX-512, 32 with AVX2, 16 with SSE4.1, NEON and
// WebAssembly.
// With LANES_PLAIN, and for all other processors, the same operations are loops over 16 bytes. All give the same
// numbers (tests/native/test_lanes.py).
#ifndef ROSLIN_LANES_H
#define ROSLIN_LANES_H

#include "common.h"

#if !defined(LANES_PLAIN) && (defined(__AVX512BW__) || defined(__AVX2__) || defined(__SSE4_1__))
#define LANES_X86
#include <immintrin.h>
#elif !defined(LANES_PLAIN) && defined(__ARM_NEON) && defined(__aarch64__)
#define LANES_NEON
#include <arm_neon.h>
#elif !defined(LANES_PLAIN) && defined(__wasm_simd128__)
#define LANES_WASM
#include <wasm_simd128.h>
#endif

#if defined(LANES_X86)

// The three widths differ in the names of types and in how parts of a register are reached.
#if defined(__AVX512BW__)

#define BYTES 64
typedef __m512i bytes, ubytes, shorts, ushorts;
#define LANES_OP(name) _mm512_##name
static inline bytes lanes_load(const void *from) { return _mm512_loadu_si512(from); }
static inline void lanes_store(void *to, bytes a) { _mm512_storeu_si512(to, a); }
static inline bytes load_table(const int8_t table[16]) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table));
}
static inline bytes where_equal_bytes(bytes a, bytes b, bytes yes, bytes no) {
    return _mm512_mask_blend_epi8(_mm512_cmpeq_epi8_mask(a, b), no, yes);
}
static inline bool any_bytes(bytes a) { return _mm512_test_epi8_mask(a, a) != 0; }
static inline ushorts load_widened(const uint8_t *from) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)from));
}
static inline uint64_t bits_within(ushorts a, ushorts limit) { return _mm512_cmple_epu16_mask(a, limit); }

#elif defined(__AVX2__)

#define BYTES 32
typedef __m256i bytes, ubytes, shorts, ushorts;
#define LANES_OP(name) _mm256_##name
static inline bytes lanes_load(const void *from) { return _mm256_loadu_si256((const __m256i *)from); }
static inline void lanes_store(void *to, bytes a) { _mm256_storeu_si256((__m256i *)to, a); }
static inline bytes load_table(const int8_t table[16]) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
}
static inline bytes where_equal_bytes(bytes a, bytes b, bytes yes, bytes no) {
    return _mm256_blendv_epi8(no, yes, _mm256_cmpeq_epi8(a, b));
}
static inline bool any_bytes(bytes a) { return !_mm256_testz_si256(a, a); }
static inline ushorts load_widened(const uint8_t *from) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)from));
}
static inline uint64_t bits_within(ushorts a, ushorts limit) {
    __m256i is_within = _mm256_cmpeq_epi16(_mm256_min_epu16(a, limit), a);
    __m128i in_bytes = _mm_packs_epi16(_mm256_castsi256_si128(is_within), _mm256_extracti128_si256(is_within, 1));
    return (uint64_t)_mm_movemask_epi8(in_bytes);
}

#else // SSE4.1

#define BYTES 16
typedef __m128i bytes, ubytes, shorts, ushorts;
#define LANES_OP(name) _mm_##name
static inline bytes lanes_load(const void *from) { return _mm_loadu_si128((const __m128i *)from); }
static inline void lanes_store(void *to, bytes a) { _mm_storeu_si128((__m128i *)to, a); }
static inline bytes load_table(const int8_t table[16]) { return lanes_load(table); }
static inline bytes where_equal_bytes(bytes a, bytes b, bytes yes, bytes no) {
    return _mm_blendv_epi8(no, yes, _mm_cmpeq_epi8(a, b));
}
static inline bool any_bytes(bytes a) { return !_mm_testz_si128(a, a); }
static inline ushorts load_widened(const uint8_t *from) {
    return _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)from));
}
static inline uint64_t bits_within(ushorts a, ushorts limit) {
    __m128i is_within = _mm_cmpeq_epi16(_mm_min_epu16(a, limit), a);
    return (uint64_t)_mm_movemask_epi8(_mm_packs_epi16(is_within, _mm_setzero_si128()));
}

#endif

static inline bytes load_bytes(const int8_t *from) { return lanes_load(from); }
static inline void store_bytes(int8_t *to, bytes a) { lanes_store(to, a); }
static inline bytes spread_byte(int8_t number) { return LANES_OP(set1_epi8)(number); }
static inline bytes add_bytes(bytes a, bytes b) { return LANES_OP(adds_epi8)(a, b); }
static inline bytes subtract_bytes(bytes a, bytes b) { return LANES_OP(subs_epi8)(a, b); }
static inline bytes max_bytes(bytes a, bytes b) { return LANES_OP(max_epi8)(a, b); }
static inline bytes min_bytes(bytes a, bytes b) { return LANES_OP(min_epi8)(a, b); }
static inline bytes look_up(bytes table, bytes indices) { return LANES_OP(shuffle_epi8)(table, indices); }

static inline shorts load_shorts(const int16_t *from) { return lanes_load(from); }
static inline void store_shorts(int16_t *to, shorts a) { lanes_store(to, a); }
static inline shorts spread_short(int16_t number) { return LANES_OP(set1_epi16)(number); }
static inline shorts add_shorts(shorts a, shorts b) { return LANES_OP(adds_epi16)(a, b); }
static inline shorts subtract_shorts(shorts a, shorts b) { return LANES_OP(subs_epi16)(a, b); }
static inline shorts max_shorts(shorts a, shorts b) { return LANES_OP(max_epi16)(a, b); }
static inline shorts min_shorts(shorts a, shorts b) { return LANES_OP(min_epi16)(a, b); }

static inline shorts join_low(bytes lower, bytes upper) { return LANES_OP(unpacklo_epi8)(lower, upper); }
static inline shorts join_high(bytes lower, bytes upper) { return LANES_OP(unpackhi_epi8)(lower, upper); }
static inline bytes lower_bytes(shorts low, shorts high) {
    return LANES_OP(packus_epi16)(LANES_OP(srli_epi16)(LANES_OP(slli_epi16)(low, 8), 8),
                                  LANES_OP(srli_epi16)(LANES_OP(slli_epi16)(high, 8), 8));
}
static inline bytes upper_bytes(shorts low, shorts high) {
    return LANES_OP(packs_epi16)(LANES_OP(srai_epi16)(low, 8), LANES_OP(srai_epi16)(high, 8));
}

static inline ubytes load_ubytes(const uint8_t *from) { return lanes_load(from); }
static inline void store_ubytes(uint8_t *to, ubytes a) { lanes_store(to, a); }
static inline ubytes min_ubytes(ubytes a, ubytes b) { return LANES_OP(min_epu8)(a, b); }

static inline ushorts load_ushorts(const uint16_t *from) { return lanes_load(from); }
static inline void store_ushorts(uint16_t *to, ushorts a) { lanes_store(to, a); }
static inline ushorts spread_ushort(uint16_t number) { return LANES_OP(set1_epi16)((int16_t)number); }
static inline ushorts add_ushorts(ushorts a, ushorts b) { return LANES_OP(adds_epu16)(a, b); }
static inline ushorts subtract_ushorts(ushorts a, ushorts b) { return LANES_OP(subs_epu16)(a, b); }
static inline ushorts multiply_ushorts(ushorts a, ushorts b) { return LANES_OP(mullo_epi16)(a, b); }

#elif defined(LANES_NEON)

#define BYTES 16
typedef int8x16_t bytes;
typedef uint8x16_t ubytes;
typedef int16x8_t shorts;
typedef uint16x8_t ushorts;

static inline bytes load_bytes(const int8_t *from) { return vld1q_s8(from); }
static inline void store_bytes(int8_t *to, bytes a) { vst1q_s8(to, a); }
static inline bytes spread_byte(int8_t number) { return vdupq_n_s8(number); }
static inline bytes add_bytes(bytes a, bytes b) { return vqaddq_s8(a, b); }
static inline bytes subtract_bytes(bytes a, bytes b) { return vqsubq_s8(a, b); }
static inline bytes max_bytes(bytes a, bytes b) { return vmaxq_s8(a, b); }
static inline bytes min_bytes(bytes a, bytes b) { return vminq_s8(a, b); }
static inline bytes where_equal_bytes(bytes a, bytes b, bytes yes, bytes no) {
    return vbslq_s8(vceqq_s8(a, b), yes, no);
}
static inline bool any_bytes(bytes a) { return vmaxvq_u8(vreinterpretq_u8_s8(a)) != 0; }
static inline bytes load_table(const int8_t table[16]) { return vld1q_s8(table); }
static inline bytes look_up(bytes table, bytes indices) { return vqtbl1q_s8(table, vreinterpretq_u8_s8(indices)); }

static inline shorts load_shorts(const int16_t *from) { return vld1q_s16(from); }
static inline void store_shorts(int16_t *to, shorts a) { vst1q_s16(to, a); }
static inline shorts spread_short(int16_t number) { return vdupq_n_s16(number); }
static inline shorts add_shorts(shorts a, shorts b) { return vqaddq_s16(a, b); }
static inline shorts subtract_shorts(shorts a, shorts b) { return vqsubq_s16(a, b); }
static inline shorts max_shorts(shorts a, shorts b) { return vmaxq_s16(a, b); }
static inline shorts min_shorts(shorts a, shorts b) { return vminq_s16(a, b); }

static inline shorts join_low(bytes lower, bytes upper) { return vreinterpretq_s16_s8(vzip1q_s8(lower, upper)); }
static inline shorts join_high(bytes lower, bytes upper) { return vreinterpretq_s16_s8(vzip2q_s8(lower, upper)); }
static inline bytes lower_bytes(shorts low, shorts high) {
    return vuzp1q_s8(vreinterpretq_s8_s16(low), vreinterpretq_s8_s16(high));
}
static inline bytes upper_bytes(shorts low, shorts high) {
    return vuzp2q_s8(vreinterpretq_s8_s16(low), vreinterpretq_s8_s16(high));
}

static inline ubytes load_ubytes(const uint8_t *from) { return vld1q_u8(from); }
static inline void store_ubytes(uint8_t *to, ubytes a) { vst1q_u8(to, a); }
static inline ubytes min_ubytes(ubytes a, ubytes b) { return vminq_u8(a, b); }

static inline ushorts load_ushorts(const uint16_t *from) { return vld1q_u16(from); }
static inline void store_ushorts(uint16_t *to, ushorts a) { vst1q_u16(to, a); }
static inline ushorts spread_ushort(uint16_t number) { return vdupq_n_u16(number); }
static inline ushorts add_ushorts(ushorts a, ushorts b) { return vqaddq_u16(a, b); }
static inline ushorts subtract_ushorts(ushorts a, ushorts b) { return vqsubq_u16(a, b); }
static inline ushorts multiply_ushorts(ushorts a, ushorts b) { return vmulq_u16(a, b); }
static inline ushorts load_widened(const uint8_t *from) { return vmovl_u8(vld1_u8(from)); }
static inline uint64_t bits_within(ushorts a, ushorts limit) {
    static const uint16_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddvq_u16(vandq_u16(vcleq_u16(a, limit), vld1q_u16(bits)));
}

#elif defined(LANES_WASM)

#define BYTES 16
typedef v128_t bytes, ubytes, shorts, ushorts;

static inline bytes load_bytes(const int8_t *from) { return wasm_v128_load(from); }
static inline void store_bytes(int8_t *to, bytes a) { wasm_v128_store(to, a); }
static inline bytes spread_byte(int8_t number) { return wasm_i8x16_splat(number); }
static inline bytes add_bytes(bytes a, bytes b) { return wasm_i8x16_add_sat(a, b); }
static inline bytes subtract_bytes(bytes a, bytes b) { return wasm_i8x16_sub_sat(a, b); }
static inline bytes max_bytes(bytes a, bytes b) { return wasm_i8x16_max(a, b); }
static inline bytes min_bytes(bytes a, bytes b) { return wasm_i8x16_min(a, b); }
static inline bytes where_equal_bytes(bytes a, bytes b, bytes yes, bytes no) {
    return wasm_v128_bitselect(yes, no, wasm_i8x16_eq(a, b));
}
static inline bool any_bytes(bytes a) { return wasm_v128_any_true(a); }
static inline bytes load_table(const int8_t table[16]) { return wasm_v128_load(table); }
static inline bytes look_up(bytes table, bytes indices) { return wasm_i8x16_swizzle(table, indices); }

static inline shorts load_shorts(const int16_t *from) { return wasm_v128_load(from); }
static inline void store_shorts(int16_t *to, shorts a) { wasm_v128_store(to, a); }
static inline shorts spread_short(int16_t number) { return wasm_i16x8_splat(number); }
static inline shorts add_shorts(shorts a, shorts b) { return wasm_i16x8_add_sat(a, b); }
static inline shorts subtract_shorts(shorts a, shorts b) { return wasm_i16x8_sub_sat(a, b); }
static inline shorts max_shorts(shorts a, shorts b) { return wasm_i16x8_max(a, b); }
static inline shorts min_shorts(shorts a, shorts b) { return wasm_i16x8_min(a, b); }

static inline shorts join_low(bytes lower, bytes upper) {
    return wasm_i8x16_shuffle(lower, upper, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
static inline shorts join_high(bytes lower, bytes upper) {
    return wasm_i8x16_shuffle(lower, upper, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
static inline bytes lower_bytes(shorts low, shorts high) {
    return wasm_i8x16_shuffle(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
static inline bytes upper_bytes(shorts low, shorts high) {
    return wasm_i8x16_shuffle(low, high, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

static inline ubytes load_ubytes(const uint8_t *from) { return wasm_v128_load(from); }
static inline void store_ubytes(uint8_t *to, ubytes a) { wasm_v128_store(to, a); }
static inline ubytes min_ubytes(ubytes a, ubytes b) { return wasm_u8x16_min(a, b); }

static inline ushorts load_ushorts(const uint16_t *from) { return wasm_v128_load(from); }
static inline void store_ushorts(uint16_t *to, ushorts a) { wasm_v128_store(to, a); }
static inline ushorts spread_ushort(uint16_t number) { return wasm_u16x8_splat(number); }
static inline ushorts add_ushorts(ushorts a, ushorts b) { return wasm_u16x8_add_sat(a, b); }
static inline ushorts subtract_ushorts(ushorts a, ushorts b) { return wasm_u16x8_sub_sat(a, b); }
static inline ushorts multiply_ushorts(ushorts a, ushorts b) { return wasm_i16x8_mul(a, b); }
static inline ushorts load_widened(const uint8_t *from) { return wasm_u16x8_load8x8(from); }
static inline uint64_t bits_within(ushorts a, ushorts limit) { return wasm_i16x8_bitmask(wasm_u16x8_le(a, limit)); }

#else // loops

#define BYTES 16
typedef struct {
    int8_t of[16];
} bytes;
typedef struct {
    uint8_t of[16];
} ubytes;
typedef struct {
    int16_t of[8];
} shorts;
typedef struct {
    uint16_t of[8];
} ushorts;

// A function of one line: `result` is the number of each lane k.
#define LANES_LOOP(type, declaration, count, result)                                                                   \
    static inline type declaration {                                                                                   \
        type made;                                                                                                     \
        for (int k = 0; k < (count); k++) made.of[k] = (result);                                                       \
        return made;                                                                                                   \
    }
#define LANES_BETWEEN(number, smallest, largest)                                                                       \
    ((number) < (smallest) ? (smallest) : (number) > (largest) ? (largest) : (number))
#define LANES_BYTE(number) (int8_t) LANES_BETWEEN(number, -128, 127)
#define LANES_SHORT(number) (int16_t) LANES_BETWEEN(number, -32768, 32767)
#define LANES_USHORT(number) (uint16_t) LANES_BETWEEN(number, 0, 65535)

LANES_LOOP(bytes, load_bytes(const int8_t *from), 16, from[k])
static inline void store_bytes(int8_t *to, bytes a) { memcpy(to, a.of, sizeof a); }
LANES_LOOP(bytes, spread_byte(int8_t number), 16, number)
LANES_LOOP(bytes, add_bytes(bytes a, bytes b), 16, LANES_BYTE(a.of[k] + b.of[k]))
LANES_LOOP(bytes, subtract_bytes(bytes a, bytes b), 16, LANES_BYTE(a.of[k] - b.of[k]))
LANES_LOOP(bytes, max_bytes(bytes a, bytes b), 16, a.of[k] > b.of[k] ? a.of[k] : b.of[k])
LANES_LOOP(bytes, min_bytes(bytes a, bytes b), 16, a.of[k] < b.of[k] ? a.of[k] : b.of[k])
LANES_LOOP(bytes, where_equal_bytes(bytes a, bytes b, bytes yes, bytes no), 16,
           a.of[k] == b.of[k] ? yes.of[k] : no.of[k])
static inline bool any_bytes(bytes a) {
    int8_t all = 0;
    for (int k = 0; k < 16; k++) all |= a.of[k];
    return all != 0;
}
LANES_LOOP(bytes, load_table(const int8_t table[16]), 16, table[k])
LANES_LOOP(bytes, look_up(bytes table, bytes indices), 16, table.of[indices.of[k] & 15])

LANES_LOOP(shorts, load_shorts(const int16_t *from), 8, from[k])
static inline void store_shorts(int16_t *to, shorts a) { memcpy(to, a.of, sizeof a); }
LANES_LOOP(shorts, spread_short(int16_t number), 8, number)
LANES_LOOP(shorts, add_shorts(shorts a, shorts b), 8, LANES_SHORT(a.of[k] + b.of[k]))
LANES_LOOP(shorts, subtract_shorts(shorts a, shorts b), 8, LANES_SHORT(a.of[k] - b.of[k]))
LANES_LOOP(shorts, max_shorts(shorts a, shorts b), 8, a.of[k] > b.of[k] ? a.of[k] : b.of[k])
LANES_LOOP(shorts, min_shorts(shorts a, shorts b), 8, a.of[k] < b.of[k] ? a.of[k] : b.of[k])

#define LANES_JOINED(k) (int16_t)((uint8_t)lower.of[k] | (uint8_t)upper.of[k] << 8)
LANES_LOOP(shorts, join_low(bytes lower, bytes upper), 8, LANES_JOINED(k))
LANES_LOOP(shorts, join_high(bytes lower, bytes upper), 8, LANES_JOINED(k + 8))
LANES_LOOP(bytes, lower_bytes(shorts low, shorts high), 16, (int8_t)((k < 8 ? low.of[k] : high.of[k - 8]) & 255))
LANES_LOOP(bytes, upper_bytes(shorts low, shorts high), 16, (int8_t)((k < 8 ? low.of[k] : high.of[k - 8]) >> 8))

LANES_LOOP(ubytes, load_ubytes(const uint8_t *from), 16, from[k])
static inline void store_ubytes(uint8_t *to, ubytes a) { memcpy(to, a.of, sizeof a); }
LANES_LOOP(ubytes, min_ubytes(ubytes a, ubytes b), 16, a.of[k] < b.of[k] ? a.of[k] : b.of[k])

LANES_LOOP(ushorts, load_ushorts(const uint16_t *from), 8, from[k])
static inline void store_ushorts(uint16_t *to, ushorts a) { memcpy(to, a.of, sizeof a); }
LANES_LOOP(ushorts, spread_ushort(uint16_t number), 8, number)
LANES_LOOP(ushorts, add_ushorts(ushorts a, ushorts b), 8, LANES_USHORT(a.of[k] + b.of[k]))
LANES_LOOP(ushorts, subtract_ushorts(ushorts a, ushorts b), 8, LANES_USHORT(a.of[k] - b.of[k]))
LANES_LOOP(ushorts, multiply_ushorts(ushorts a, ushorts b), 8, (uint16_t)((uint32_t)a.of[k] * b.of[k]))
LANES_LOOP(ushorts, load_widened(const uint8_t *from), 8, from[k])
static inline uint64_t bits_within(ushorts a, ushorts limit) {
    uint64_t bits = 0;
    for (int k = 0; k < 8; k++) bits |= (uint64_t)(a.of[k] <= limit.of[k]) << k;
    return bits;
}

#endif

#define SHORTS (BYTES / 2)

static inline int64_t first_bit(uint64_t word) { return __builtin_ctzll(word); }
static inline int64_t last_bit(uint64_t word) { return 63 - __builtin_clzll(word); }

#endif
