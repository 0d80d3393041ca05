/* pattern.h: which queries see which keys.
 *
 * Sequences. With 3-d tensors (row, head, channel) the rows of all sequences follow one another, and sequence
 * b has rows query_offsets[b] .. query_offsets[b+1] - 1. Nothing is padded. With 4-d tensors (sequence, row,
 * head, channel) there are no offsets, and every sequence has shape[1] rows. If lengths are given, only the
 * first query_lengths[b] or key_lengths[b] of them are used, as in a key/value cache with room to grow; rows
 * past the length are neither read nor written.
 *
 * Reach. Let i and j be positions inside the sequence, and i' the position of query i among the keys:
 *
 *     i' = i                        for ATTN_ALIGN_START
 *     i' = i + keys - queries       for ATTN_ALIGN_END (the last query is at the last key)
 *
 * Query i sees key j exactly if
 *
 *     i' - left <= j <= i' + right        (ATTN_UNLIMITED: no bound on that side)
 *
 * and, if there is a mask, its bit (i, j) is 1. Common reaches:
 *
 *     full     left = right = ATTN_UNLIMITED      (the default)
 *     causal   left = ATTN_UNLIMITED, right = 0
 *     window   left = right = r
 *
 * Reach, mask, ragged rows, bias and heads combine freely. The cost is proportional to the reach: a window of
 * r costs n * r, not n * n. Tiles that the mask excludes are skipped too.
 *
 * Graph. With `graph` (attn/graph.h) query i sees exactly the keys of its edges, once per edge. Reach, mask,
 * offsets and lengths must then be as attn_pattern_init set them. Tensors are 3-d, with as many rows as the
 * graph has rows (queries) and columns (keys). The cost is proportional to the number of edges.
 *
 * A query that may see nothing gives output 0, weights 0 and gradient 0.
 *
 * A pattern is a struct of the caller. Calls read it and the arrays that it points to, so threads may share a
 * pattern that nobody changes. Wrong patterns are refused by the calls that take them (attn/attention.h).
 */
#ifndef ATTN_PATTERN_H
#define ATTN_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include <attn/export.h>
#include <attn/graph.h>

ATTN_BEGIN_DECLS

#define ATTN_UNLIMITED ((int64_t)-1)

typedef enum attn_align {
    ATTN_ALIGN_START = 0, /* query 0 is at key 0 */
    ATTN_ALIGN_END = 1    /* the last query is at the last key (decoding with a cache) */
} attn_align;

/* One bit per pair, 1 = may see. The bit of (sequence b, head h, query i, key
 * j) is bit j % 8 (from the least significant) of the byte
 *
 *     bits[b * sequence_stride + h * head_stride + i * query_stride + j / 8]
 *
 * Strides are in bytes; if one is 0, the bits are the same for every value of
 * that index. A row of the mask is padded to whole bytes; padding bits are
 * ignored. A plain struct: it will not grow. */
typedef struct attn_mask {
    const uint8_t *bits; /* NULL: no mask */
    int64_t queries;     /* how many queries the mask covers: at least those of the longest sequence */
    int64_t keys;        /* how many keys: likewise */
    int64_t sequence_stride;
    int64_t head_stride;
    int64_t query_stride; /* (keys + 7) / 8 for packed rows */
} attn_mask;

typedef struct attn_pattern {
    size_t size; /* sizeof(attn_pattern), set by the init function */

    int64_t sequences;            /* entries of the arrays below; ignored when all four are NULL */
    const int64_t *query_offsets; /* [sequences + 1], from 0 up to the rows of query; 3-d tensors only.
                                     NULL: one sequence of all rows */
    const int64_t *key_offsets;   /* the same for keys; NULL: as query_offsets (self-attention) */
    const int64_t *query_lengths; /* [sequences], each <= shape[1]; 4-d tensors only. NULL: shape[1] */
    const int64_t *key_lengths;   /* the same for keys */

    int64_t left;  /* reach to smaller j: >= 0 or ATTN_UNLIMITED */
    int64_t right; /* reach to larger j */
    attn_align align;
    attn_mask mask;

    const attn_graph *graph; /* NULL: the pattern is by positions, as above */
} attn_pattern;

/* Full attention, one sequence, no mask. */
ATTN_INIT(attn_pattern)

ATTN_END_DECLS

#endif
