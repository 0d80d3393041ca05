/* element_losses.c: the mean over all numbers of a loss of each.
 *
 *     binary cross-entropy   log(1 + e^x) - x t
 *     squared error          (x - t)^2
 *     absolute error         |x - t|          (slope 0 at 0)
 *
 * A target t that is NaN is missing.
 */
#include "tape/tape.h"

static void element_loss_backward(attn_tape *tape, at_node *node) {
    at_element_loss_call call = *(const at_element_loss_call *)node->state;
    attn_variable *x = node->input[0];
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    call.d_loss = node->output->gradient;
    call.dx = at_place_of(&dx, x);
    at_tape_did(tape, at_tape_run(tape)->element_loss_backward(at_tape_context(tape), &call));
    at_gradient_end(tape, x, &dx);
}

static attn_variable *mean_loss(attn_tape *tape, const char *operation, const char *name, attn_variable *x,
                                const float *targets, at_element_loss_kind kind) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, operation, name, x)) return NULL;
    if (!targets && x->rows > 0)
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: targets is NULL", operation);
    const int64_t count = x->rows * x->columns;
    attn_variable *y = at_result(tape, 1, 1);
    at_element_loss_call *s = at_tape_memory(tape, 1, sizeof *s);
    float *copy = at_tape_host_numbers(tape, targets, count);
    if (!y || !s || !copy) return NULL;
    at_element_loss_call call = {.kind = kind, .targets = copy, .x = at_data_of(x), .loss = y->data};
    for (int64_t i = 0; i < count; i++) call.counted += targets[i] == targets[i];
    *s = call;
    at_tape_did(tape, at_tape_run(tape)->element_loss(at_tape_context(tape), s));
    at_record(tape, y, element_loss_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}

attn_variable *attn_tape_binary_cross_entropy(attn_tape *tape, attn_variable *logits, const float *targets) {
    return mean_loss(tape, "binary_cross_entropy", "logits", logits, targets, AT_BINARY_CROSS_ENTROPY);
}

attn_variable *attn_tape_squared_error(attn_tape *tape, attn_variable *x, const float *targets) {
    return mean_loss(tape, "squared_error", "x", x, targets, AT_SQUARED_ERROR);
}

attn_variable *attn_tape_absolute_error(attn_tape *tape, attn_variable *x, const float *targets) {
    return mean_loss(tape, "absolute_error", "x", x, targets, AT_ABSOLUTE_ERROR);
}
