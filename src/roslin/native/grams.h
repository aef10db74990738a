// Kernels of the matchers by n-grams. Inverted indexes are those of represent/line.py: query gram k is in
// melodies[starts[k]] to melodies[stops[k] - 1].
#ifndef ROSLIN_GRAMS_H
#define ROSLIN_GRAMS_H

#include "common.h"

// Fill `distances` with the distance of `us` to each melody. `counts`, the number of grams of each melody, is empty
// where only the query's number counts. `shared` is scratch.
void shared_gram_distances(int64_t grams, int64_t postings, int64_t counted, int64_t number,
                           const int64_t starts[grams], const int64_t stops[grams], const int32_t melodies[postings],
                           const int32_t counts[counted], int32_t shared[number], double distances[number]);

// Fill `cosines` with the cosine of the query of `orio` with each melody, 0 for one without grams. times[i] is how
// often a gram is in a melody, which counts growth[times[i]] times; weights[k] is the weight of a gram in the query, over
// the query's norm, times its rarity.
void gram_cosines(int64_t grams, int64_t postings, int64_t most_times, int64_t number, const int64_t starts[grams],
                  const int64_t stops[grams], const double weights[grams], const int32_t melodies[postings],
                  const uint16_t times[postings], const double growth[most_times + 1], const double norms[number],
                  double cosines[number]);

// The same, and add `worth` times each cosine to the score of its melody, and one to `found` where it is above 0. With
// `is_stretched`, cosines count from 0 for the least to 1 for the largest.
void add_gram_cosines(int64_t grams, int64_t postings, int64_t most_times, int64_t number, const int64_t starts[grams],
                      const int64_t stops[grams], const double weights[grams], const int32_t melodies[postings],
                      const uint16_t times[postings], const double growth[most_times + 1], const double norms[number],
                      double worth, bool is_stretched, double cosines[number], double scores[number],
                      double found[number]);

// The distances of `rismonline` of a query of q symbols to many lines. `extra` is how many fewer symbols than notes a
// line has: its last symbols are none.

// 1 - q / d for lines of d symbols that hold the symbols of the query in a row, else 1.
void phrase_distances(int64_t q, int64_t notes, int64_t lines, const int64_t query[q], const int64_t symbols[notes],
                      const int64_t offsets[lines + 1], int64_t extra, double distances[lines]);

// 1 - s / (d + p - s) for p pairs of neighbours in the query, d in the line, s in both.
bool bigram_distances(int64_t q, int64_t notes, int64_t lines, const int64_t query[q], const int64_t symbols[notes],
                      const int64_t offsets[lines + 1], int64_t extra, double distances[lines]);

#endif
