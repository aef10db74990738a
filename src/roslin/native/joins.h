// Blocking of the concordances: grams of letters that few melodies have, and the melodies that share one.
#ifndef ROSLIN_JOINS_H
#define ROSLIN_JOINS_H

#include "common.h"

// Which melodies are in a bucket, and in which buckets a melody is; both end to end. (`blocking.Buckets`)
typedef struct {
    int64_t count, melodies, entries; // sizes
    const int64_t *starts;            // [count + 1]: where each bucket begins in `members`
    const int32_t *members;           // [entries]
    const int64_t *of_starts;         // [melodies + 1]: where each melody begins in `buckets`
    const int32_t *buckets;           // [entries]
} melody_buckets;

// Write all melodies that share a bucket with one, each once, and return how many they are. `seen` has for each the
// round in which it was last found; every round needs a number of its own.
int64_t gather(const melody_buckets *index, int64_t number, int64_t round, int32_t seen[index->melodies],
               int32_t found[index->melodies]);

// How many grams of at least `shortest` letters begin in one of several parts. Letter 0 is none, and no gram has it.
// The first letters of a gram decide in which part it is.
int64_t count_grams(int64_t notes, const uint8_t letters[notes], int64_t melodies, const int64_t offsets[melodies + 1],
                    int64_t shortest, int64_t part, int64_t parts);

// Write for each of these the longest gram that begins there, of at most `longest` letters: the first eight letters in
// `high` and the next eight in `low`, so that they sort as the letters do, and the melody that has it.
void pack_grams(int64_t notes, const uint8_t letters[notes], int64_t melodies, const int64_t offsets[melodies + 1],
                int64_t shortest, int64_t longest, int64_t part, int64_t parts, int64_t grams, uint64_t high[grams],
                uint64_t low[grams], int32_t owners[grams]);

// Write the size and the members of every bucket: at each gram the fewest of its letters, `shortest` to `longest`, that
// at most `limit` melodies have, if two or more have them. Grams are sorted by `high`; those that have to be told apart
// by `low` are sorted by it here. `seen` is -1 for each melody. written: how many buckets, how many members.
void rare_runs(int64_t grams, const uint64_t high[grams], uint64_t low[grams], int32_t owners[grams], int64_t shortest,
               int64_t longest, int64_t limit, int64_t melodies, int32_t seen[melodies], int64_t possible,
               int32_t sizes[possible], int32_t members[grams + limit], int64_t written[2]);

// Write each bucket to its members. `ends` has where the next bucket of each melody goes in `buckets`.
void invert(int64_t count, const int64_t starts[count + 1], int64_t entries, const int32_t members[entries],
            int64_t melodies, int64_t ends[melodies], int32_t buckets[entries]);

#endif
