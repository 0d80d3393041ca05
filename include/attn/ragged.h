/* ragged.h: sequences of different lengths, one after another, never padded.
 *
 * A batch is one matrix that holds the rows of all its sequences, and the
 * offsets that say where each begins: rows offsets[b] .. offsets[b+1] - 1 are
 * those of sequence b, offsets[0] is 0, offsets[sequences] the number of rows.
 * A sequence may be empty. What works on single rows does not look at the
 * offsets; only what mixes the rows of a sequence does.
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
