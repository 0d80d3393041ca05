/* pattern.h: who sees whom.
 *
 * Sequences. With 3-d tensors (row, head, channel) the rows of all sequences
 * stand one after another and `query_offsets` says where each begins: rows
 * query_offsets[b] .. query_offsets[b+1] are sequence b. Nothing is padded.
 * With 4-d tensors (sequence, row, head, channel) no offsets are given, and
 * all sequences have shape[1] rows, or the `query_lengths[b]` / `key_lengths[b]`
 * first of them (a key/value cache with room to grow): rows past the length
 * are neither read nor written.
 *
 * Reach. With i and j positions inside the sequence and
 * i' = i                        for ATTN_ALIGN_START,
 * i' = i + keys - queries       for ATTN_ALIGN_END (the last query stands at the last key),
 * query i sees key j exactly if
 *
 *     i' - left <= j <= i' + right        (ATTN_UNLIMITED: no bound on that side)
 *
 *     full     left = right = ATTN_UNLIMITED      (the default)
 *     causal   left = ATTN_UNLIMITED, right = 0
 *     window   left = right = r
 *
 * and, if there is a mask, its bit (i, j) is 1. Reach, mask, ragged rows, bias
 * and heads combine freely. The cost follows the reach: a window of r costs
 * n * r, not n * n; tiles that the mask empties are skipped too.
 *
 * Graph. With `graph` (attn/graph.h) query i sees the keys that its edges name,
 * once an edge, and nothing else: reach, mask, offsets and lengths are then left
 * as they are after attn_pattern_init. Tensors are 3-d, with as many rows as
 * the graph has rows (queries) and columns (keys). The cost is that of the edges.
 *
 * A query that may see nothing gives output 0, weights 0 and gradient 0.
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
    ATTN_ALIGN_START = 0, /* query 0 stands at key 0 */
    ATTN_ALIGN_END = 1    /* the last query stands at the last key (decoding with a cache) */
} attn_align;

/* One bit a pair, 1 = may see. The bit of (sequence b, head h, query i, key j)
 * is bit j % 8 (from the least significant) of the byte
 *
 *     bits[b * sequence_stride + h * head_stride + i * query_stride + j / 8]
 *
 * Strides are in bytes; 0 shares the bits over that index. A row of the mask
 * is padded to whole bytes; padding bits are never used. */
typedef struct attn_mask {
    const uint8_t *bits; /* NULL: no mask */
    int64_t queries;     /* how many queries and keys the mask covers: at least */
    int64_t keys;        /* those of the longest sequence                       */
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

    const attn_graph *graph; /* NULL: positions, as above */
} attn_pattern;

/* Full attention, one sequence, no mask. */
ATTN_API void attn_pattern_init(attn_pattern *pattern);

ATTN_END_DECLS

#endif
