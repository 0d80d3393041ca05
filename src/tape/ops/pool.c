/* pool.c: one row for every sequence: the mean, the maximum, the first or the sum of
 * its rows; 0 for an empty sequence. Which row a maximum came from is kept, to send the
 * gradient there.
 */
#include "tape/tape.h"

#include <inttypes.h>

typedef struct pool_state {
    attn_ragged batch;
    attn_pool kind;
    int32_t *maximum_at; /* sequences x columns, in tensor memory; only for MAX */
} pool_state;

static void pool_backward(attn_tape *tape, at_node *node) {
    const pool_state *s = node->state;
    attn_variable *x = node->input[0];
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_pool_call call = {s->batch, s->kind, s->maximum_at, at_place_of(&dx, x), at_gradient_of(node->output)};
    at_tape_did(tape, at_tape_run(tape)->pool_backward(at_tape_context(tape), &call));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_pool(attn_tape *tape, attn_variable *x, const attn_ragged *batch, attn_pool kind) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "pool", "x", x)) return NULL;
    if (kind != ATTN_POOL_MEAN && kind != ATTN_POOL_MAX && kind != ATTN_POOL_FIRST && kind != ATTN_POOL_SUM) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                            "pool: kind is %d, which is not a value of attn_pool", (int)kind);
    }
    if (kind == ATTN_POOL_MAX && x->rows > INT32_MAX) {
        return at_tape_fail(tape, ATTN_OVERFLOW, "pool: %" PRId64 " rows are too many", x->rows);
    }
    pool_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!s || !at_tape_has_batch(tape, "pool", batch, x->rows, &s->batch)) return NULL;
    attn_variable *y = at_result(tape, batch->sequences, x->columns);
    if (!y) return NULL;
    s->kind = kind;
    s->maximum_at = NULL;
    if (kind == ATTN_POOL_MAX) {
        s->maximum_at = (int32_t *)(void *)at_tape_numbers(tape, y->rows * y->columns);
        if (!s->maximum_at) return NULL;
    }
    at_pool_call call = {s->batch, kind, s->maximum_at, at_data_of(x), at_data_of(y)};
    at_tape_did(tape, at_tape_run(tape)->pool(at_tape_context(tape), &call));
    at_record(tape, y, pool_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
