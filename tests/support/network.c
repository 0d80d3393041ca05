/* network.c: networks in double, from their formulas. */
#include "support/network.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/ref/reference.h"
#include "support/check.h"

double *oracle_numbers(int64_t count) {
    double *numbers = calloc((size_t)(count > 0 ? count : 1), sizeof *numbers);
    assert_non_null(numbers);
    return numbers;
}

void oracle_linear(int64_t rows, int64_t in, int64_t out, const double *x, const double *weight,
                   const double *bias, attn_activation activation, double *y) {
    ref_linear_forward(rows, in, out, x, weight, bias, activation, y, NULL);
}

void oracle_norm(attn_norm_kind kind, int64_t rows, int64_t columns, const double *x, const double *gain,
                 const double *bias, double *y) {
    for (int64_t i = 0; i < rows; i++) {
        const double *row = x + i * columns;
        double mean = 0.0, square = 0.0;
        for (int64_t c = 0; kind == ATTN_NORM_LAYER && c < columns; c++) mean += row[c] / (double)columns;
        for (int64_t c = 0; c < columns; c++) square += (row[c] - mean) * (row[c] - mean) / (double)columns;
        for (int64_t c = 0; c < columns; c++) {
            double normal = (row[c] - mean) / sqrt(square + (double)1e-5f);
            y[i * columns + c] = normal * gain[c] + (kind == ATTN_NORM_LAYER ? bias[c] : 0.0);
        }
    }
}

/* One query of one head against the keys first .. last of its sequence. */
static void attend_row(int64_t width, const double *q, const double *key, int64_t key_stride,
                       const double *value, int64_t value_stride, int64_t first, int64_t last, double *y) {
    double maximum = -INFINITY, sum = 0.0, *score = oracle_numbers(last - first + 1);
    for (int64_t j = first; j <= last; j++) {
        for (int64_t c = 0; c < width; c++) score[j - first] += q[c] * key[j * key_stride + c];
        score[j - first] /= sqrt((double)width);
        maximum = fmax(maximum, score[j - first]);
    }
    for (int64_t c = 0; c < width; c++) y[c] = 0.0;
    for (int64_t j = first; j <= last; j++) sum += exp(score[j - first] - maximum);
    for (int64_t j = first; j <= last; j++) {
        double p = exp(score[j - first] - maximum) / sum;
        for (int64_t c = 0; c < width; c++) y[c] += p * value[j * value_stride + c];
    }
    free(score);
}

void oracle_attend(const oracle_attention *a, const double *query, int64_t query_stride, const double *key,
                   int64_t key_stride, const double *value, int64_t value_stride, double *y) {
    for (int64_t b = 0; b < a->queries.sequences; b++) {
        int64_t first_query = a->queries.offsets[b], queries = a->queries.offsets[b + 1] - first_query;
        int64_t first_key = a->keys.offsets[b], keys = a->keys.offsets[b + 1] - first_key;
        for (int64_t i = 0; i < queries; i++) {
            int64_t first = a->left == ATTN_UNLIMITED || i < a->left ? 0 : i - a->left;
            int64_t last = a->right == ATTN_UNLIMITED || i + a->right >= keys ? keys - 1 : i + a->right;
            for (int64_t h = 0; h < a->heads; h++) {
                int64_t kv = h / (a->heads / a->kv_heads);
                attend_row(a->width, query + (first_query + i) * query_stride + h * a->width,
                           key + first_key * key_stride + kv * a->width, key_stride,
                           value + first_key * value_stride + kv * a->width, value_stride, first, last,
                           y + ((first_query + i) * a->heads + h) * a->width);
            }
        }
    }
}

void oracle_add(int64_t count, const double *x, const double *branch, double *y) {
    for (int64_t i = 0; i < count; i++) y[i] = x[i] + branch[i];
}
