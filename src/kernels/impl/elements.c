/* elements.c: kernels element by element. Plain loops: the compiler makes
 * vectors of them in each instruction set, and no order of sums is at stake.
 */
#include "kernels/impl/activation.h"
#include "kernels/rows.h"

static void add(int64_t count, const float *a, const float *b, float *y) {
    for (int64_t c = 0; c < count; c++) y[c] = a[c] + b[c];
}
static void add_to(int64_t count, const float *x, float *y) {
    for (int64_t c = 0; c < count; c++) y[c] += x[c];
}
static void multiply(int64_t count, const float *a, const float *b, float *y) {
    for (int64_t c = 0; c < count; c++) y[c] = a[c] * b[c];
}
static void scale(int64_t count, float factor, const float *x, float *y) {
    for (int64_t c = 0; c < count; c++) y[c] = factor * x[c];
}
static void add_product(int64_t count, const float *a, const float *b, float *y) {
    for (int64_t c = 0; c < count; c++) y[c] += a[c] * b[c];
}

/* The rows to add to are anywhere, as in the table of an embedding: those that
 * come soon are fetched ahead. */
static void add_rows(int64_t count, int64_t columns, const int64_t *from, const int64_t *to,
                     const float *factor, const float *x, int64_t x_stride, float *y, int64_t y_stride) {
    enum { AHEAD = 8, LINE = 16 };
    for (int64_t i = 0; i < count; i++) {
        if (i + AHEAD < count && to[i + AHEAD] >= 0) {
            const float *soon = y + to[i + AHEAD] * y_stride;
            for (int64_t c = 0; c < columns; c += LINE) __builtin_prefetch(soon + c, 1);
        }
        if (to[i] < 0) continue;
        const float *row = x + (from ? from[i] : i) * x_stride;
        float *target = y + to[i] * y_stride;
        const vec f = vec_set(factor ? factor[i] : 1.0f);
        for (int64_t c = 0; c < columns; c += VEC_WIDTH) {
            int64_t left = columns - c;
            vec term = vec_mul(vec_load_up_to(row + c, left), f);
            vec_store_up_to(target + c, vec_add(vec_load_up_to(target + c, left), term), left);
        }
    }
}

/* Rows that stand anywhere, too. What is read is cleared at once, while it is in the cache. */
static void take_rows(int64_t count, int64_t columns, const int64_t *rows, float *x, float *y) {
    enum { AHEAD = 8, LINE = 16 };
    const vec zero = vec_set(0.0f);
    for (int64_t i = 0; i < count; i++) {
        int64_t soon = i + AHEAD < count ? rows[i + AHEAD] * columns : -1;
        for (int64_t c = 0; soon >= 0 && c < columns; c += LINE) {
            __builtin_prefetch(x + soon + c, 1);
            __builtin_prefetch(y + soon + c, 1);
        }
        float *from = x + rows[i] * columns, *to = y + rows[i] * columns;
        for (int64_t c = 0; c < columns; c += VEC_WIDTH) {
            int64_t left = columns - c;
            vec_store_up_to(to + c, vec_add(vec_load_up_to(to + c, left), vec_load_up_to(from + c, left)),
                            left);
            vec_store_up_to(from + c, zero, left);
        }
    }
}

/* Columns of a bag that are summed at once, in registers. The rows are anywhere: those that come soon, also
 * of bags behind this one, are fetched ahead in the first block, with all their columns. */
enum { BAG_VECTORS = 8 };

VEC_INLINE void bag_block(int64_t count, int64_t columns, const int64_t *rows, const float *weights,
                          const float *table, int64_t stride, int64_t fetched, int64_t fetched_columns,
                          float *y) {
    enum { AHEAD = 8, LINE = 16 };
    vec sum[BAG_VECTORS];
    for (int v = 0; v < BAG_VECTORS; v++) sum[v] = vec_set(0.0f);
    for (int64_t k = 0; k < count; k++) {
        if (k + AHEAD < fetched && rows[k + AHEAD] >= 0) {
            const float *soon = table + rows[k + AHEAD] * stride;
            for (int64_t c = 0; c < fetched_columns; c += LINE) __builtin_prefetch(soon + c);
        }
        if (rows[k] < 0) continue;
        const float *row = table + rows[k] * stride;
        const vec weight = vec_set(weights ? weights[k] : 1.0f);
        for (int v = 0; v < BAG_VECTORS; v++) {
            int64_t left = columns - v * VEC_WIDTH;
            if (left <= 0) break;
            vec x = vec_load_up_to(row + v * VEC_WIDTH, left);
            sum[v] = weights ? vec_fma(weight, x, sum[v]) : vec_add(sum[v], x);
        }
    }
    for (int v = 0; v < BAG_VECTORS && v * VEC_WIDTH < columns; v++)
        vec_store_up_to(y + v * VEC_WIDTH, sum[v], columns - v * VEC_WIDTH);
}

static void bag(int64_t count, int64_t listed, int64_t columns, const int64_t *rows, const float *weights,
                const float *table, int64_t stride, float *y) {
    const int64_t most = BAG_VECTORS * VEC_WIDTH;
    for (int64_t c = 0; c < columns; c += most) {
        int64_t left = columns - c, fetched = c == 0 ? listed : 0;
        if (left >= most && weights) { /* constants, so that the sums are in registers */
            bag_block(count, BAG_VECTORS * VEC_WIDTH, rows, weights, table + c, stride, fetched, columns,
                      y + c);
        } else if (left >= most) {
            bag_block(count, BAG_VECTORS * VEC_WIDTH, rows, NULL, table + c, stride, fetched, columns, y + c);
        } else if (left == most / 2 && !weights) {
            bag_block(count, BAG_VECTORS / 2 * VEC_WIDTH, rows, NULL, table + c, stride, fetched, columns,
                      y + c);
        } else {
            bag_block(count, left, rows, weights, table + c, stride, fetched, columns, y + c);
        }
    }
}

VEC_INLINE void activation_with(attn_activation activation, int64_t count, const float *x, float *y) {
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        vec_store_up_to(y + c, activate(activation, vec_load_up_to(x + c, count - c)), count - c);
    }
}
static void activation_all(attn_activation activation, int64_t count, const float *x, float *y) {
    FOR_ACTIVATION(activation, activation_with, count, x, y);
}

VEC_INLINE void activation_and_slope_with(attn_activation activation, int64_t count, const float *x, float *y,
                                          float *slope) {
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        vec v = vec_load_up_to(x + c, count - c);
        vec_store_up_to(y + c, activate(activation, v), count - c);
        vec_store_up_to(slope + c, activation_slope(activation, v), count - c);
    }
}
static void activation_and_slope(attn_activation activation, int64_t count, const float *x, float *y,
                                 float *slope) {
    FOR_ACTIVATION(activation, activation_and_slope_with, count, x, y, slope);
}
