/* linear.c: y = act(x W^T + b).
 *
 * The slope of an activation is taken at the pre-activation, which is kept.
 */
#include "tape/product.h"

#include <inttypes.h>

typedef struct linear_state {
    attn_parameter *weight, *bias;
    attn_activation activation;
    float *pre; /* rows x out; NULL: not needed */
} linear_state;

static void linear_backward(attn_tape *tape, at_node *node) {
    linear_state *s = node->state;
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    at_product_backward(tape, at_gradient_of(y), s->pre, s->activation, at_data_of(x), s->weight, s->bias,
                        NULL, at_place_of(&dx, x));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_linear(attn_tape *tape, attn_variable *x, attn_parameter *weight,
                                attn_parameter *bias, attn_activation activation) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "linear", "x", x) ||
        !at_tape_has_parameter(tape, "linear", "weight", weight, -1, x->columns)) {
        return NULL;
    }
    if (bias && bias->count != weight->rows) {
        return at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                            "linear: bias (%s) has %" PRId64 " numbers, weight (%s) has %" PRId64 " rows",
                            bias->name, bias->count, weight->name, weight->rows);
    }
    at_tape_uses(tape, bias);
    attn_variable *y = at_result(tape, x->rows, weight->rows);
    linear_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    s->weight = weight;
    s->bias = bias;
    s->activation = activation;
    s->pre = NULL;
    if (activation != ATTN_IDENTITY && at_recording(tape)) {
        s->pre = at_tape_numbers(tape, y->rows * y->columns);
        if (!s->pre) return NULL;
    }
    at_product_forward(tape, at_data_of(x), weight, bias ? bias->value : NULL, activation, at_data_of(y),
                       s->pre);
    y->spare = 1;
    at_record(tape, y, linear_backward, s,
              at_parameter_wanted(tape, weight) || at_parameter_wanted(tape, bias), x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
