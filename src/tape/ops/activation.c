/* activation.c: y = act(x), number by number. The slope is taken at x, which the
 * tape holds anyway: dx = dy * act'(x).
 */
#include "tape/ops/checks.h"

static void activation_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    const attn_activation *activation = node->state;
    at_view d = at_gradient_of(y);
    if (at_gradient_take(tape, x, y)) { /* in place */
        at_activation_backward_call call = {*activation, d, at_data_of(x), d};
        at_tape_did(tape, at_tape_run(tape)->activation_backward(at_tape_context(tape), &call));
        return;
    }
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_activation_backward_call call = {*activation, d, at_data_of(x), at_place_of(&dx, x)};
    at_tape_did(tape, at_tape_run(tape)->activation_backward(at_tape_context(tape), &call));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_activation(attn_tape *tape, attn_variable *x, attn_activation activation) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "activation", "x", x) ||
        !at_tape_has_activation(tape, "activation", activation)) {
        return NULL;
    }
    attn_variable *y = at_result(tape, x->rows, x->columns);
    attn_activation *kept = at_tape_copy(tape, &activation, 1, sizeof activation);
    if (!y || !kept) return NULL;
    at_activation_call call = {.activation = activation, .x = at_data_of(x), .y = at_data_of(y)};
    at_tape_did(tape, at_tape_run(tape)->activation(at_tape_context(tape), &call));
    at_record(tape, y, activation_backward, kept, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
