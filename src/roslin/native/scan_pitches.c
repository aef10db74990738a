// Which transpositions of a document are possible at all: the first two stages of the scan.
//
// 1. Which pitches occur. A document is one word, a bit for each semitone that occurs in it, counted from its lowest.
//    Shifting that word by a query pitch lines up bit t with transposition t, so one operation tests 64 transpositions.
//    Query weight that has no document pitch within 0, 1, 2 semitones costs at least 1, 2, 3 semitones.
// 2. How much weight they have. The lighter melody is moved completely. Its weight below some pitch, more than the
//    heavier has there, must cross that pitch; so must its weight above, more than the heavier has there. A lane for
//    each transposition.
#include "scan_inline.h"

// The words of some documents, side by side in a register. Words need only the operators of C, which compilers have for
// registers too.
typedef uint64_t words __attribute__((vector_size(BYTES)));
enum { WORDS = BYTES / 8, COUNTER_BITS = 6 };

static inline words all_words(uint64_t word) { return (words){0} + word; }

// The costs of 64 transpositions are counted bit by bit, side by side: bit t of counter[k] is bit k of the cost of
// transposition t. Add `value` where a bit of `missed` is set, and mark in `dear` what exceeds the counters.
static inline void count_missed(words counter[COUNTER_BITS], words *dear, words missed, uint64_t value) {
    words carry = all_words(0);
    for (int k = 0; k < COUNTER_BITS; k++) {
        words added = missed & all_words(0 - (value >> k & 1)), half = counter[k] ^ added;
        words both = (counter[k] & added) | (carry & half);
        counter[k] = half ^ carry;
        carry = both;
    }
    *dear |= carry;
}

static words pitch_scan(words of_documents, const scan_heights *heights) {
    words within[PITCH_LEVELS], counter[COUNTER_BITS], dear = all_words(0), hits = all_words(0);
    within[0] = of_documents << 2; // two spare bits, for pitches below the lowest
    within[1] = within[0] | within[0] << 1 | within[0] >> 1;
    within[2] = within[1] | within[1] << 1 | within[1] >> 1;
    for (int k = 0; k < COUNTER_BITS; k++) counter[k] = all_words(0);
    for (int64_t g = 0; g < heights->pitches; g++) {
        const int64_t *steps = heights->steps + g * PITCH_LEVELS;
        uint64_t shift = heights->shifts[g];
        // At least one query pitch must be a document pitch, as in every alignment that is tried.
        hits |= within[0] << shift;
        for (int level = 0; level < PITCH_LEVELS; level++)
            if (steps[level]) count_missed(counter, &dear, ~(within[level] << shift), (uint64_t)steps[level]);
    }
    return (~dear & hits) >> 2;
}

void pitches_in_reach(int64_t documents, const uint64_t *of_documents, const scan_heights *heights,
                      uint64_t *by_pitch) {
    for (int64_t d = 0; d < documents; d += WORDS) {
        words some = all_words(0);
        size_t size = sizeof(uint64_t) * (size_t)least(WORDS, documents - d);
        memcpy(&some, of_documents + d, size);
        some = pitch_scan(some, heights);
        memcpy(by_pitch + d, &some, size);
    }
}

double weight_below(const scan_documents *block, place_of document, double below[MOST_ROWS]) {
    int64_t rows = document.top + 1;
    for (int64_t p = 0; p < RIM + rows; p++) below[p] = 0.0;
    for (int64_t j = document.start; j < document.start + document.notes; j++)
        below[block->pitches[j] - document.low + RIM] += block->weights[j];
    double total = 0.0;
    for (int64_t p = RIM; p < RIM + rows; p++) {
        total += below[p];
        below[p] = total;
    }
    for (int64_t p = RIM + rows; p < RIM + rows + RIM; p++) below[p] = total;
    return total;
}

// Weight of a document up to each of some pitches, and above it, in parts of the budget.
typedef struct {
    uint16_t under[MOST_ROWS], over[MOST_ROWS];
    int64_t begin, end; // the rows that matter: pitches of the document or of the query
} rows_of_weight;

// Some transpositions, a lane for each: which of them have not too much weight that must cross. The query's weights are
// those at the first of the transpositions, a row after the other from high pitches to low.
static uint64_t lanes_in_reach(const rows_of_weight *rows, const uint16_t *query_under, const uint16_t *query_over,
                               bool is_light, uint64_t wanted, ushorts limit) {
    enum { TOGETHER = 8 }; // rows, after which it is looked whether any lane is still within the limit
    ushorts crossing = spread_ushort(0);
    for (int64_t begin = rows->begin; begin < rows->end && wanted; begin += TOGETHER) {
        for (int64_t p = begin; p < least(begin + TOGETHER, rows->end); p++) {
            ushorts ours_under = load_ushorts(query_under - p), theirs_under = spread_ushort(rows->under[p]);
            ushorts ours_over = load_ushorts(query_over - p), theirs_over = spread_ushort(rows->over[p]);
            if (is_light) {
                crossing = add_ushorts(crossing, subtract_ushorts(theirs_under, ours_under));
                crossing = add_ushorts(crossing, subtract_ushorts(theirs_over, ours_over));
            } else {
                crossing = add_ushorts(crossing, subtract_ushorts(ours_under, theirs_under));
                crossing = add_ushorts(crossing, subtract_ushorts(ours_over, theirs_over));
            }
        }
        wanted &= bits_within(crossing, limit);
    }
    return wanted;
}

// Weights of the heavier melody are rounded up and those of the lighter down, so that never more must cross than really
// must; those of the query keep PART_ROUNDED (transport/bounds.py) off, which is more than sums of fractions lose.
uint64_t transpositions_in_reach(uint64_t possible, int64_t top, bool is_light, const double below[MOST_ROWS],
                                 double scale, const scan_heights *heights, int64_t limit) {
    int64_t span = heights->span, line = heights->line;
    rows_of_weight rows;
    // Below the lowest pitch of both melodies, and from the highest of both on, nothing must cross.
    rows.begin = most(RIM + least(first_bit(possible) - span, 0), 0);
    rows.end = RIM + least(most(last_bit(possible), top), top + RIM) + 1;
    double total = below[top + 2 * RIM] * scale, more = is_light ? 0.0 : 1.0;
    for (int64_t p = rows.begin; p < rows.end; p++) {
        double under = below[p] * scale;
        rows.under[p] = (uint16_t)(int32_t)smaller(under + more, LARGEST);
        rows.over[p] = (uint16_t)(int32_t)smaller(total - under + more, LARGEST);
    }
    const uint16_t *query_under = heights->weights + MOST_ROWS - 1 + (is_light ? 2 * line : 0);
    const ushorts limits = spread_ushort((uint16_t)least(limit, LARGEST));
    uint64_t in_reach = 0;
    for (uint64_t left = possible; left;) {
        int64_t first = first_bit(left);
        uint64_t lanes = SHORTS < 64 ? (UINT64_C(1) << SHORTS) - 1 : ~UINT64_C(0), wanted = left >> first & lanes;
        const uint16_t *under = query_under + first, *over = under + line;
        in_reach |= (is_light ? lanes_in_reach(&rows, under, over, true, wanted, limits)
                              : lanes_in_reach(&rows, under, over, false, wanted, limits))
                    << first;
        left &= ~(lanes << first);
    }
    return in_reach;
}
