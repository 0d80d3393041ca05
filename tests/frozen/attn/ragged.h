/* ragged.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_RAGGED_H
#define ATTN_RAGGED_H

#include <stdint.h>

#include <attn/export.h>

ATTN_BEGIN_DECLS

typedef struct attn_ragged {
    int64_t sequences;
    const int64_t *offsets;
} attn_ragged;

ATTN_END_DECLS

#endif
