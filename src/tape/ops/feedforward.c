/* feedforward.c: y = act(x W^T + b) U^T + c.
 *
 * Of the inner rows, which are the widest of a network, only one copy is kept:
 * those before the activation. The walk back makes h = act(pre) and, in the
 * place of pre, act'(pre) from them in one pass:
 *
 *     dU = dy^T h,   dh = dy U,   g = dh * act'(pre),   dW = g^T x,   dx = g W
 */
#include "tape/product.h"

#include <inttypes.h>

typedef struct feedforward_state {
    attn_parameter *weight, *bias, *output, *output_bias;
    attn_activation activation;
    float *pre;
} feedforward_state;

static void feedforward_backward(attn_tape *tape, at_node *node) {
    feedforward_state *s = node->state;
    attn_variable *x = node->input[0], *y = node->output;
    int64_t rows = x->rows, inner = s->weight->rows;
    at_gradient dx = at_gradient_begin(tape, x);
    at_scratch mark = at_scratch_mark(tape);
    float *h = at_scratch_numbers(tape, rows * inner);
    float *g = s->pre; /* each number takes the place of the slope that it is multiplied by */
    if (y->columns > AT_IN_PLACE_DEPTH) g = at_scratch_numbers(tape, rows * inner);
    if (h && g && at_tape_ready(tape)) {
        at_view slope = at_view_of(s->pre, rows, inner, inner), h_view = at_view_of(h, rows, inner, inner);
        at_view g_view = at_view_of(g, rows, inner, inner);
        at_activation_call call = {s->activation, slope, h_view, slope};
        at_tape_did(tape, at_tape_run(tape)->activation(at_tape_context(tape), &call));
        at_product_backward(tape, at_gradient_of(y), NULL, ATTN_IDENTITY, h_view, s->output, s->output_bias,
                            s->pre, g_view);
        at_product_backward(tape, g_view, NULL, ATTN_IDENTITY, at_data_of(x), s->weight, s->bias, NULL,
                            at_place_of(&dx, x));
    }
    at_scratch_release(tape, mark);
    at_gradient_end(tape, x, &dx);
}

static int check_bias(attn_tape *tape, const char *name, attn_parameter *bias, const attn_parameter *weight) {
    at_tape_uses(tape, bias);
    if (!bias || bias->count == weight->rows) return 1;
    at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                 "feedforward: %s (%s) has %" PRId64 " numbers, its weight (%s) has %" PRId64 " rows", name,
                 bias->name, bias->count, weight->name, weight->rows);
    return 0;
}

attn_variable *attn_tape_feedforward(attn_tape *tape, attn_variable *x, attn_parameter *weight,
                                     attn_parameter *bias, attn_activation activation, attn_parameter *output,
                                     attn_parameter *output_bias) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "feedforward", "x", x) ||
        !at_tape_has_parameter(tape, "feedforward", "weight", weight, -1, x->columns) ||
        !at_tape_has_parameter(tape, "feedforward", "output", output, -1, weight->rows) ||
        !check_bias(tape, "bias", bias, weight) || !check_bias(tape, "output_bias", output_bias, output)) {
        return NULL;
    }
    int64_t rows = x->rows, inner = weight->rows;
    attn_variable *y = at_result(tape, rows, output->rows);
    feedforward_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    feedforward_state state = {weight, bias, output, output_bias, activation, NULL};
    *s = state;
    int learns = at_parameter_wanted(tape, weight) || at_parameter_wanted(tape, bias) ||
                 at_parameter_wanted(tape, output) || at_parameter_wanted(tape, output_bias);
    if (at_recording(tape) && (learns || at_wanted(x))) {
        s->pre = at_tape_numbers(tape, rows * inner);
        if (!s->pre) return NULL;
    }
    at_scratch mark = at_scratch_mark(tape);
    float *h = at_scratch_numbers(tape, rows * inner);
    if (!h) return NULL;
    at_view inner_rows = at_view_of(h, rows, inner, inner);
    at_product_forward(tape, at_data_of(x), weight, bias ? bias->value : NULL, activation, inner_rows,
                       s->pre);
    at_product_forward(tape, inner_rows, output, output_bias ? output_bias->value : NULL, ATTN_IDENTITY,
                       at_data_of(y), NULL);
    at_scratch_release(tape, mark);
    y->spare = 1;
    at_record(tape, y, feedforward_backward, s, learns, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
