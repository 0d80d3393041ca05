/* ragged.h: a batch of sequences of different lengths, without padding.
 *
 * A batch is one matrix with the rows of all its sequences, and offsets:
 * sequence b has rows offsets[b] .. offsets[b+1] - 1, offsets[0] is 0, and
 * offsets[sequences] is the number of rows. A sequence may be empty. Operations
 * on single rows ignore the offsets; only operations that mix the rows of a
 * sequence use them. Operations on a tape copy the offsets. The struct is plain:
 * it will not grow. It is the caller's memory, which any thread may read.
 */
#ifndef ATTN_RAGGED_H
#define ATTN_RAGGED_H

#include <stdint.h>

#include <attn/export.h>

ATTN_BEGIN_DECLS

typedef struct attn_ragged {
    int64_t sequences;
    const int64_t *offsets; /* [sequences + 1] */
} attn_ragged;

ATTN_END_DECLS

#endif
