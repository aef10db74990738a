// Grams of letters, sorted, and those of them that are rare enough to make a bucket.
#include "joins.h"

static const int64_t FIRST_LETTERS = 8; // in one number of 64 bits; as many again fit into a second one

int64_t gather(const melody_buckets *index, int64_t number, int64_t round, int32_t seen[index->melodies],
               int32_t found[index->melodies]) {
    int64_t count = 0;
    seen[number] = (int32_t)round;
    for (int64_t place = index->of_starts[number]; place < index->of_starts[number + 1]; place++) {
        int32_t bucket = index->buckets[place];
        for (int64_t at = index->starts[bucket]; at < index->starts[bucket + 1]; at++) {
            int32_t other = index->members[at];
            if (seen[other] == round) continue;
            seen[other] = (int32_t)round;
            found[count++] = other;
        }
    }
    return count;
}

// -- grams ------------------------------------------------------------------------------------------------------------

// Whether a gram begins at a note of a melody that ends at `end`, and is in this part.
static bool is_of_part(const uint8_t *letters, int64_t at, int64_t end, int64_t shortest, int64_t part, int64_t parts) {
    const uint64_t mix = 0x9E3779B97F4A7C15; // spreads what is added to a hash over all its bits
    if (at + shortest > end) return false;
    uint64_t hashed = 0;
    for (int64_t k = 0; k < shortest; k++) {
        if (!letters[at + k]) return false;
        hashed = (hashed + letters[at + k]) * mix;
    }
    return (int64_t)(hashed >> 40) % parts == part;
}

int64_t count_grams(int64_t notes, const uint8_t letters[notes], int64_t melodies, const int64_t offsets[melodies + 1],
                    int64_t shortest, int64_t part, int64_t parts) {
    int64_t count = 0;
    for (int64_t melody = 0; melody < melodies; melody++) {
        int64_t end = offsets[melody + 1];
        for (int64_t at = offsets[melody]; at < end; at++)
            count += is_of_part(letters, at, end, shortest, part, parts);
    }
    return count;
}

void pack_grams(int64_t notes, const uint8_t letters[notes], int64_t melodies, const int64_t offsets[melodies + 1],
                int64_t shortest, int64_t longest, int64_t part, int64_t parts, int64_t grams, uint64_t high[grams],
                uint64_t low[grams], int32_t owners[grams]) {
    int64_t count = 0;
    for (int64_t melody = 0; melody < melodies; melody++) {
        int64_t end = offsets[melody + 1];
        for (int64_t at = offsets[melody]; at < end; at++) {
            if (!is_of_part(letters, at, end, shortest, part, parts)) continue;
            uint64_t packed[2] = {0, 0};
            int64_t last = least(end, at + longest), next = at;
            for (int64_t k = 0; k < 2 * FIRST_LETTERS; k++) {
                uint64_t letter = next < last ? letters[next] : 0;
                if (letter) next++;
                packed[k / FIRST_LETTERS] = packed[k / FIRST_LETTERS] << 8 | letter;
            }
            high[count] = packed[0];
            low[count] = packed[1];
            owners[count++] = (int32_t)melody;
        }
    }
}

// -- buckets ----------------------------------------------------------------------------------------------------------

typedef struct {
    const uint64_t *high;
    uint64_t *low;
    int32_t *owners;
    int64_t longest, limit;
    int32_t *seen; // by melody: the run in which it was last found
    int32_t run;
    int32_t *sizes, *members; // of the buckets so far
    int64_t buckets, written;
} search;

// A letter of a packed gram; 0 behind its end.
static uint64_t letter_of(const search *of, int64_t at, int64_t place) {
    uint64_t packed = place < FIRST_LETTERS ? of->high[at] : of->low[at];
    return packed >> 8 * (FIRST_LETTERS - 1 - place % FIRST_LETTERS) & 255;
}

static bool is_before(const search *of, int64_t a, int64_t b) {
    return of->low[a] < of->low[b] || (of->low[a] == of->low[b] && of->owners[a] < of->owners[b]);
}

static void swap(search *of, int64_t a, int64_t b) {
    uint64_t low = of->low[a];
    int32_t owner = of->owners[a];
    of->low[a] = of->low[b];
    of->owners[a] = of->owners[b];
    of->low[b] = low;
    of->owners[b] = owner;
}

static void sift_down(search *of, int64_t first, int64_t root, int64_t size) {
    while (2 * root + 1 < size) {
        int64_t child = 2 * root + 1;
        if (child + 1 < size && is_before(of, first + child, first + child + 1)) child++;
        if (!is_before(of, first + root, first + child)) return;
        swap(of, first + root, first + child);
        root = child;
    }
}

// Sort grams whose first eight letters are equal by the rest, those of a melody in its order: a heap needs no memory.
static void sort_rest(search *of, int64_t first, int64_t last) {
    int64_t size = last - first;
    for (int64_t root = size / 2 - 1; root >= 0; root--) sift_down(of, first, root, size);
    for (int64_t end = size - 1; end > 0; end--) {
        swap(of, first, first + end);
        sift_down(of, first, 0, end);
    }
}

// Write the melodies that have one of these grams as a bucket. False where they are more than the limit.
static bool make_bucket(search *of, int64_t first, int64_t last) {
    int64_t count = 0;
    int32_t run = of->run++;
    for (int64_t at = first; at < last; at++) {
        int32_t owner = of->owners[at];
        if (of->seen[owner] == run) continue;
        of->seen[owner] = run;
        if (count == of->limit) return false;
        of->members[of->written + count++] = owner;
    }
    if (count > 1) {
        of->sizes[of->buckets++] = (int32_t)count;
        of->written += count;
    }
    return true;
}

// Make buckets of grams that have their first `length` letters in common: one, or those of one letter more. It calls
// itself for each further letter, so at most sixteen deep.
static void split(search *of, int64_t first, int64_t last, int64_t length) {
    if (make_bucket(of, first, last) || length == of->longest) return;
    if (length == FIRST_LETTERS) sort_rest(of, first, last);
    for (int64_t end = last, at = last - 1; at >= first; at--) {
        if (at > first && letter_of(of, at - 1, length) == letter_of(of, at, length)) continue;
        if (end - at > 1 && letter_of(of, at, length)) split(of, at, end, length + 1);
        end = at;
    }
}

void rare_runs(int64_t grams, const uint64_t high[grams], uint64_t low[grams], int32_t owners[grams], int64_t shortest,
               int64_t longest, int64_t limit, int64_t melodies, int32_t seen[melodies], int64_t possible,
               int32_t sizes[possible], int32_t members[grams + limit], int64_t written[2]) {
    search of = {
        .high = high,
        .low = low,
        .owners = owners,
        .longest = longest,
        .limit = limit,
        .seen = seen,
        .sizes = sizes,
        .members = members,
    };
    int64_t behind = 8 * (FIRST_LETTERS - shortest); // bits
    for (int64_t end = grams, at = grams - 1; at >= 0; at--) {
        if (at && high[at - 1] >> behind == high[at] >> behind) continue;
        split(&of, at, end, shortest);
        end = at;
    }
    written[0] = of.buckets;
    written[1] = of.written;
}

void invert(int64_t count, const int64_t starts[count + 1], int64_t entries, const int32_t members[entries],
            int64_t melodies, int64_t ends[melodies], int32_t buckets[entries]) {
    for (int64_t bucket = 0; bucket < count; bucket++) {
        for (int64_t at = starts[bucket]; at < starts[bucket + 1]; at++)
            buckets[ends[members[at]]++] = (int32_t)bucket;
    }
}
