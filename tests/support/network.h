/* network.h: the oracle of networks: rows of doubles, one function an operation.
 *
 * For tests of layers, which are made of several. Written straight from the
 * comments in attn/operations.h and attn/layers.h. A matrix is rows x columns,
 * contiguous. Results are the caller's memory; working memory is malloc's.
 */
#ifndef TEST_SUPPORT_NETWORK_H
#define TEST_SUPPORT_NETWORK_H

#include <stdint.h>

#include <attn/attn.h>

double *oracle_numbers(int64_t count); /* zeros; free() them */

/* y = act(x W^T + b); bias may be NULL. */
void oracle_linear(int64_t rows, int64_t in, int64_t out, const double *x, const double *weight,
                   const double *bias, attn_activation activation, double *y);

/* kind RMS has no bias. */
void oracle_norm(attn_norm_kind kind, int64_t rows, int64_t columns, const double *x, const double *gain,
                 const double *bias, double *y);

/* Attention of ragged sequences, heads side by side in a row, reach left and
 * right (ATTN_UNLIMITED: no bound); queries and keys start together. */
typedef struct oracle_attention {
    attn_ragged queries, keys;
    int64_t heads, kv_heads, width;
    int64_t left, right;
} oracle_attention;
/* query_stride: columns of a row of the query's matrix, and so on. */
void oracle_attend(const oracle_attention *a, const double *query, int64_t query_stride, const double *key,
                   int64_t key_stride, const double *value, int64_t value_stride, double *y);

/* y = x + branch. */
void oracle_add(int64_t count, const double *x, const double *branch, double *y);

#endif
