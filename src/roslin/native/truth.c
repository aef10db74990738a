// The exact Mann-Whitney test: the distribution of U given the ties.
//
// A sample is how often each rank was given. Walk up the ranks; at a rank that both samples together have t times, the
// first sample has k of them with the hypergeometric chance of drawing k among all that are left. Twice U, a whole
// number, then grows by k (2 y + t - k), where y is how many of the second sample came before. Probabilities, not counts
// of orders, are carried along, so that nothing overflows.
#include "truth.h"

typedef struct {
    const int64_t *counts; // of each rank
    int64_t size;
} sample;

typedef struct {
    double at_most, at_least; // P(U <= the one seen), P(U >= it)
} tails;

static int64_t size_of(int64_t ranks, const int64_t *counts) {
    int64_t total = 0;
    for (int64_t rank = 0; rank < ranks; rank++) total += counts[rank];
    return total;
}

// `now` and `then` have lines of `line` numbers: now[c, u] is the chance of c of x so far, and of twice U = u.
static tails tails_of(int64_t ranks, sample x, sample y, const double *logs, int64_t line, double *now, double *then) {
    now[0] = 1.0;
    int64_t before = 0, seen = 0, of_y = 0;
    for (int64_t rank = 0; rank < ranks; rank++) {
        int64_t tied = x.counts[rank] + y.counts[rank];
        if (!tied) continue;
        seen += x.counts[rank] * (2 * of_y + y.counts[rank]);
        of_y += y.counts[rank];
        int64_t after = before + tied;
        for (int64_t c = most(0, after - y.size); c <= least(x.size, after); c++)
            memset(then + c * line, 0, sizeof(double) * (size_t)(2 * c * (after - c) + 1));
        int64_t left = x.size + y.size - before;
        for (int64_t c = most(0, before - y.size); c <= least(x.size, before); c++) {
            int64_t wanted = x.size - c, passed = before - c;
            double orders = logs[left] - logs[wanted] - logs[left - wanted];
            for (int64_t k = most(0, tied - (y.size - passed)); k <= least(tied, wanted); k++) {
                double chance = exp(logs[tied] - logs[k] - logs[tied - k] + logs[left - tied] - logs[wanted - k] -
                                    logs[left - tied - wanted + k] - orders);
                int64_t shift = k * (2 * passed + tied - k);
                const double *from = now + c * line;
                double *to = then + (c + k) * line + shift;
                for (int64_t u = 0; u <= 2 * c * passed; u++) to[u] += from[u] * chance;
            }
        }
        double *other = now;
        now = then;
        then = other;
        before = after;
    }
    const double *whole = now + x.size * line;
    tails found = {0.0, 0.0};
    for (int64_t u = 0; u <= seen; u++) found.at_most += whole[u];
    for (int64_t u = seen; u <= 2 * x.size * y.size; u++) found.at_least += whole[u];
    found.at_most = fmin(1.0, found.at_most);
    found.at_least = fmin(1.0, found.at_least);
    return found;
}

bool exact_tails(int64_t lists, int64_t documents, int64_t ranks, const int64_t counts[lists][documents][ranks],
                 int64_t limit, double less[lists][documents][documents]) {
    int64_t smallest = (int64_t)sqrt((double)limit); // the smaller of two sizes is at most this
    int64_t line = 2 * limit + 1;
    size_t cells = (size_t)((smallest + 1) * line);
    double *logs = calloc((size_t)limit + 2, sizeof(double)); // of factorials
    double *now = calloc(cells, sizeof(double)), *then = calloc(cells, sizeof(double));
    bool has_memory = logs && now && then;
    for (int64_t n = 2; has_memory && n < limit + 2; n++) logs[n] = logs[n - 1] + log((double)n);
    for (int64_t each = 0; has_memory && each < lists; each++) {
        for (int64_t i = 0; i < documents; i++) {
            for (int64_t j = i + 1; j < documents; j++) {
                sample x = {counts[each][i], size_of(ranks, counts[each][i])};
                sample y = {counts[each][j], size_of(ranks, counts[each][j])};
                int64_t orders = x.size * y.size;
                if (orders <= 0 || orders > limit) continue;
                bool is_turned = x.size > y.size;
                tails found = is_turned ? tails_of(ranks, y, x, logs, line, now, then)
                                        : tails_of(ranks, x, y, logs, line, now, then);
                less[each][i][j] = is_turned ? found.at_least : found.at_most;
                less[each][j][i] = is_turned ? found.at_most : found.at_least;
            }
        }
    }
    free(logs);
    free(now);
    free(then);
    return has_memory;
}
