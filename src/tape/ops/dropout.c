/* dropout.c: each number is 0 with a probability p, else divided by 1 - p. The way
 * back makes the mask again, dx = mask * dy / (1 - p), and nothing is kept.
 */
#include "base/random.h"
#include "tape/tape.h"

static void drop(attn_tape *tape, const at_dropout *dropout, at_view x, at_view y) {
    at_dropout_call call = {.dropout = *dropout, .x = x, .y = y};
    at_tape_did(tape, at_tape_run(tape)->dropout(at_tape_context(tape), &call));
}

static void dropout_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0];
    at_view d = at_gradient_of(node->output);
    if (at_gradient_take(tape, x, node->output)) { /* in place */
        drop(tape, node->state, d, d);
        return;
    }
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    drop(tape, node->state, d, at_place_of(&dx, x));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_dropout(attn_tape *tape, attn_variable *x, float probability) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "dropout", "x", x)) return NULL;
    if (!(probability >= 0.0f && probability < 1.0f)) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "dropout: a probability of %g is not in [0, 1)",
                            (double)probability);
    }
    if (attn_tape_mode_of(tape) != ATTN_TAPE_TRAIN) return x;
    uint64_t stream = at_tape_stream(tape); /* also with p = 0: other masks do not depend on this p */
    if (probability == 0.0f) return x;
    attn_variable *y = at_result(tape, x->rows, x->columns);
    at_dropout *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    s->seed = at_tape_seed(tape);
    s->stream = stream;
    s->threshold = at_random_threshold(probability);
    s->factor = 1.0f / (1.0f - probability);
    drop(tape, s, at_data_of(x), at_data_of(y));
    at_record(tape, y, dropout_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
