/* attention.h: what the forward, decoding and backward kernels share: sizes,
 * where a task's rows are, and the scratch memory of a thread.
 */
#ifndef AT_KERNELS_IMPL_ATTENTION_H
#define AT_KERNELS_IMPL_ATTENTION_H

#include "kernels/impl/product.h"
#include "kernels/impl/score.h"

enum {
    COLUMN_LANES = ATTENTION_COLUMNS * VEC_WIDTH, /* queries that are worked on at once, forward */
    NARROW_LANES = COLUMN_LANES < ATTENTION_NARROW ? COLUMN_LANES : ATTENTION_NARROW, /* in a narrow window */
    STEP_LANES = ATTENTION_STEP * VEC_WIDTH, /* and by which they become fewer where the reach ends */
    KEY_TILE = 128,                          /* keys of a tile, forward and backward: flat around this */
    LONG_KEY_TILE = 176, /* the most of a last tile, forward: a short rest is not worth one of its own */
    EDGE_LANES = ATTENTION_EDGE * VEC_WIDTH, /* keys of a strip where the reach ends, backward */
    BLOCK_NUMBERS = ATTENTION_BLOCK,
    QUERY_TILE = 64 /* queries of a tile, backward */
};

/* Columns of a narrow window have few keys in common: each goes its own way,
 * and is narrower, as a column of c queries works on c + left + right keys. */
static inline int window_is_narrow(const at_attention *call) {
    return call->left + call->right < 2 * KEY_TILE;
}

static inline float *rows_at(const at_rows *rows, const at_sequence *s, int64_t first_row, int64_t i,
                             int64_t head) {
    return rows->data + s->index * rows->sequence + (first_row + i) * rows->row + head * rows->head;
}
static inline float *query_rows(const at_rows *rows, const at_sequence *s, int64_t i, int64_t head) {
    return rows_at(rows, s, s->query_row, i, head);
}
static inline float *key_rows(const at_rows *rows, const at_sequence *s, int64_t j, int64_t head) {
    return rows_at(rows, s, s->key_row, j, head);
}

/* The sequence that a task belongs to: the last one that begins at or before
 * it (sequences without tasks begin where the next one does). */
static const at_sequence *sequence_of_task(const at_attention *call, int64_t task) {
    int64_t low = 0, high = call->sequence_count;
    int64_t guess = call->kv_heads == 1 ? task : task / call->kv_heads; /* decoding: all have as many tasks */
    if (guess < high && call->sequences[guess].first_task <= task) {
        low = guess;
        if (guess + 1 == high || call->sequences[guess + 1].first_task > task) high = guess + 1;
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (call->sequences[middle].first_task <= task) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return call->sequences + low;
}

/* Scratch memory is cut into pieces, each aligned to a cache line. The same
 * function lays it out for the size (base NULL) and for use. */
typedef struct scratch_pieces {
    unsigned char *base;
    size_t used;
} scratch_pieces;
static inline void *scratch_take(scratch_pieces *s, int64_t numbers) {
    void *piece = s->base ? s->base + s->used : NULL;
    s->used += ((size_t)numbers * sizeof(float) + 63) / 64 * 64;
    return piece;
}

#endif
