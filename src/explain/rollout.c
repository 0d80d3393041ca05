/* rollout.c: one layer of a rollout, R_l = A_l R_(l-1), with A_l = (mean over heads + identity) / 2 and rows
 * brought to sum 1. It costs what the pattern has entries, times the rows.
 */
#include <string.h>

#include "explain/explain.h"

void at_mean_weights(const attn_map *map, float *mean) {
    memset(mean, 0, (size_t)map->entries * sizeof *mean);
    for (int64_t h = 0; h < map->heads; h++) {
        const float *weights = map->weights + h * map->entries;
        for (int64_t e = 0; e < map->entries; e++) mean[e] += weights[e];
    }
    for (int64_t e = 0; e < map->entries; e++) mean[e] /= (float)map->heads;
}

enum { AT_ONCE = 8 };

/* to += parts[0] * rows[0] + parts[1] * rows[1] + ..., in this order. */
static void add_rows(float *to, int64_t n, const float *parts, const float *const *rows, int count) {
    for (int i = 0; i < count; i++)
        for (int64_t k = 0; k < n; k++) to[k] += parts[i] * rows[i][k];
}

/* The same of AT_ONCE rows, which reads and writes `to` once. */
static void add_all(float *restrict to, int64_t n, const float *p, const float *const *r) {
    const float *a = r[0], *b = r[1], *c = r[2], *d = r[3], *e = r[4], *f = r[5], *g = r[6], *h = r[7];
    for (int64_t k = 0; k < n; k++) {
        float sum = to[k] + p[0] * a[k] + p[1] * b[k] + p[2] * c[k] + p[3] * d[k];
        to[k] = sum + p[4] * e[k] + p[5] * f[k] + p[6] * g[k] + p[7] * h[k];
    }
}

void at_roll_out(const attn_map *map, const float *mean, const float *before, float *after) {
    int64_t n = map->queries;
    float parts[AT_ONCE];
    const float *rows[AT_ONCE];
    for (int64_t q = 0; q < n; q++) {
        const float *row = mean + attn_map_place(map, 0, q, 0);
        float *to = after + q * n;
        double sum = 1;
        for (int64_t e = 0; e < attn_map_entries(map, q); e++)
            if (attn_map_key(map, q, e) >= 0) sum += (double)row[e];
        if (!(sum > 0)) sum = 1; /* weights of no softmax may be below 0 */
        float own = (float)(1 / sum);
        for (int64_t k = 0; k < n; k++) to[k] = own * before[q * n + k];
        int waiting = 0;
        for (int64_t e = 0; e < attn_map_entries(map, q); e++) {
            int64_t key = attn_map_key(map, q, e);
            parts[waiting] = (float)((double)row[e] / sum);
            if (key < 0 || parts[waiting] == 0) continue;
            rows[waiting++] = before + key * n;
            if (waiting < AT_ONCE) continue;
            add_all(to, n, parts, rows);
            waiting = 0;
        }
        add_rows(to, n, parts, rows, waiting);
    }
}
