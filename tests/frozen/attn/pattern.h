/* pattern.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_PATTERN_H
#define ATTN_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include <attn/export.h>
#include <attn/graph.h>

ATTN_BEGIN_DECLS

#define ATTN_UNLIMITED ((int64_t)-1)

typedef enum attn_align {
    ATTN_ALIGN_START = 0,
    ATTN_ALIGN_END = 1
} attn_align;

typedef struct attn_mask {
    const uint8_t *bits;
    int64_t queries;
    int64_t keys;
    int64_t sequence_stride;
    int64_t head_stride;
    int64_t query_stride;
} attn_mask;

typedef struct attn_pattern {
    size_t size;

    int64_t sequences;
    const int64_t *query_offsets;
    const int64_t *key_offsets;
    const int64_t *query_lengths;
    const int64_t *key_lengths;

    int64_t left;
    int64_t right;
    attn_align align;
    attn_mask mask;

    const attn_graph *graph;
} attn_pattern;

ATTN_INIT(attn_pattern)

ATTN_END_DECLS

#endif
