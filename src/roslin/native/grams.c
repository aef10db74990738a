// Matchers by n-grams: down the lists of melodies of an inverted index, or through the lines themselves.
#include "grams.h"

void shared_gram_distances(int64_t grams, int64_t postings, int64_t counted, int64_t number,
                           const int64_t starts[grams], const int64_t stops[grams], const int32_t melodies[postings],
                           const int32_t counts[counted], int32_t shared[number], double distances[number]) {
    for (int64_t d = 0; d < number; d++) {
        shared[d] = 0;
        distances[d] = 1.0;
    }
    for (int64_t k = 0; k < grams; k++)
        for (int64_t place = starts[k]; place < stops[k]; place++) shared[melodies[place]]++;
    // Most melodies share nothing: only those in the lists are looked at again.
    for (int64_t k = 0; k < grams; k++) {
        for (int64_t place = starts[k]; place < stops[k]; place++) {
            int64_t d = melodies[place];
            int64_t total = counted ? grams + counts[d] : 2 * grams;
            distances[d] = (double)(total - 2 * (int64_t)shared[d]) / (double)total;
        }
    }
}

void gram_cosines(int64_t grams, int64_t postings, int64_t most_times, int64_t number, const int64_t starts[grams],
                  const int64_t stops[grams], const double weights[grams], const int32_t melodies[postings],
                  const uint16_t times[postings], const double growth[most_times + 1], const double norms[number],
                  double cosines[number]) {
    (void)most_times;
    for (int64_t d = 0; d < number; d++) cosines[d] = 0.0;
    for (int64_t k = 0; k < grams; k++) {
        double weight = weights[k];
        for (int64_t place = starts[k]; place < stops[k]; place++)
            cosines[melodies[place]] += weight * growth[times[place]];
    }
    for (int64_t d = 0; d < number; d++) cosines[d] /= norms[d] > 0.0 ? norms[d] : 1.0;
}

void add_gram_cosines(int64_t grams, int64_t postings, int64_t most_times, int64_t number, const int64_t starts[grams],
                      const int64_t stops[grams], const double weights[grams], const int32_t melodies[postings],
                      const uint16_t times[postings], const double growth[most_times + 1], const double norms[number],
                      double worth, bool is_stretched, double cosines[number], double scores[number],
                      double found[number]) {
    gram_cosines(grams, postings, most_times, number, starts, stops, weights, melodies, times, growth, norms, cosines);
    double low = 1.0, high = 0.0;
    for (int64_t d = 0; d < number && is_stretched; d++) {
        low = cosines[d] < low ? cosines[d] : low;
        high = cosines[d] > high ? cosines[d] : high;
    }
    if (high <= low) low = 0.0, high = 1.0; // cosines that are all the same stay as they are
    double range = high - low;
    for (int64_t d = 0; d < number; d++) {
        found[d] += cosines[d] > 0.0 ? 1.0 : 0.0;
        scores[d] += worth * (is_stretched ? (cosines[d] - low) / range : cosines[d]);
    }
}

void phrase_distances(int64_t q, int64_t notes, int64_t lines, const int64_t query[q], const int64_t symbols[notes],
                      const int64_t offsets[lines + 1], int64_t extra, double distances[lines]) {
    for (int64_t k = 0; k < lines; k++) {
        distances[k] = 1.0;
        int64_t end = offsets[k + 1] - extra;
        for (int64_t first = offsets[k]; q > 0 && first <= end - q; first++) {
            int64_t same = 0;
            while (same < q && symbols[first + same] == query[same]) same++;
            if (same < q) continue;
            int64_t d = end - offsets[k];
            distances[k] = (double)(d - q) / (double)d;
            break;
        }
    }
}

// Two neighbouring symbols of the query, and how often they come there.
typedef struct {
    int64_t first, second, times;
} bigram;

static int64_t different_bigrams(int64_t pairs, const int64_t *query, bigram *bigrams) {
    int64_t different = 0;
    for (int64_t i = 0; i < pairs; i++) {
        int64_t each = 0;
        while (each < different && (bigrams[each].first != query[i] || bigrams[each].second != query[i + 1])) each++;
        if (each == different) bigrams[different++] = (bigram){query[i], query[i + 1], 0};
        bigrams[each].times++;
    }
    return different;
}

bool bigram_distances(int64_t q, int64_t notes, int64_t lines, const int64_t query[q], const int64_t symbols[notes],
                      const int64_t offsets[lines + 1], int64_t extra, double distances[lines]) {
    int64_t pairs = most(q - 1, 0);
    bigram *bigrams = malloc(sizeof(bigram) * (size_t)(pairs + 1));
    if (!bigrams) return false;
    int64_t different = different_bigrams(pairs, query, bigrams);
    for (int64_t k = 0; k < lines; k++) {
        int64_t d = offsets[k + 1] - extra - offsets[k] - 1;
        const int64_t *line = symbols + offsets[k];
        int64_t shared = 0;
        for (int64_t each = 0; each < different; each++) {
            int64_t found = 0;
            for (int64_t i = 0; i < d; i++)
                found += line[i] == bigrams[each].first && line[i + 1] == bigrams[each].second;
            shared += least(found, bigrams[each].times);
        }
        bool has_both = d > 0 && pairs > 0;
        distances[k] = has_both ? (double)(d + pairs - 2 * shared) / (double)(d + pairs - shared) : 1.0;
    }
    free(bigrams);
    return true;
}
