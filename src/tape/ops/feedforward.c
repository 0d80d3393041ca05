/* feedforward.c: y = act(x W^T + b) U^T + c.
 *
 * Of the inner rows, which are the widest of a network, only one copy is kept:
 * those before the activation. The walk back makes h = act(pre) and, in the
 * place of pre, act'(pre) from them in one pass:
 *
 *     dU = dy^T h,   dh = dy U,   g = dh * act'(pre),   dW = g^T x,   dx = g W
 */
#include "tape/ops/rowwise.h"
#include "tape/product.h"

#include <inttypes.h>

typedef struct feedforward_state {
    const at_network *network;
    attn_parameter *weight, *bias, *output, *output_bias;
    attn_activation activation;
    float *pre;
} feedforward_state;

static void inner_row(int64_t row, int64_t count, float *const *p, const void *state) {
    const feedforward_state *s = state;
    (void)row;
    s->network->activation_and_slope(s->activation, count, p[0], p[1], p[0]);
}

static void feedforward_backward(attn_tape *tape, at_node *node) {
    feedforward_state *s = node->state;
    attn_variable *x = node->input[0], *y = node->output;
    int64_t rows = x->rows, inner = s->weight->rows;
    at_gradient dx = at_gradient_begin(tape, x);
    at_mark mark = at_scratch_mark(tape);
    float *h = at_scratch_memory(tape, rows * inner, sizeof(float));
    float *g = s->pre; /* each number takes the place of the slope that it is multiplied by */
    if (y->columns > AT_GEMM_DEPTH) g = at_scratch_memory(tape, rows * inner, sizeof(float));
    if (h && g && at_tape_ready(tape)) {
        at_operand pass[2] = {{s->pre, inner}, {h, inner}};
        at_each_row(tape, 32.0, rows, inner, 2, pass, inner_row, s);
        at_product_backward(tape, at_matrix(y->gradient, rows, y->columns, y->gradient_stride), NULL,
                            ATTN_IDENTITY, at_matrix(h, rows, inner, inner), s->output, s->output_bias,
                            s->pre, at_matrix(g, rows, inner, inner));
        at_product_backward(tape, at_matrix(g, rows, inner, inner), NULL, ATTN_IDENTITY,
                            at_matrix(x->data, rows, x->columns, x->stride), s->weight, s->bias, NULL,
                            at_matrix(dx.data, rows, x->columns, dx.stride));
    }
    at_scratch_release(tape, mark);
    at_gradient_end(tape, x, &dx);
}

static int check_bias(attn_tape *tape, const char *name, const attn_parameter *bias,
                      const attn_parameter *weight) {
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
    feedforward_state state = {at_tape_network(tape), weight, bias, output, output_bias, activation, NULL};
    *s = state;
    int learns = at_parameter_wanted(tape, weight) || at_parameter_wanted(tape, bias) ||
                 at_parameter_wanted(tape, output) || at_parameter_wanted(tape, output_bias);
    if (at_recording(tape) && (learns || at_wanted(x))) {
        s->pre = at_tape_memory(tape, rows * inner, sizeof(float));
        if (!s->pre) return NULL;
    }
    at_mark mark = at_scratch_mark(tape);
    float *h = at_scratch_memory(tape, rows * inner, sizeof(float));
    if (!h) return NULL;
    at_product_forward(tape, at_matrix(x->data, rows, x->columns, x->stride), weight,
                       bias ? bias->value : NULL, activation, at_matrix(h, rows, inner, inner), s->pre);
    at_product_forward(tape, at_matrix(h, rows, inner, inner), output,
                       output_bias ? output_bias->value : NULL, ATTN_IDENTITY,
                       at_matrix(y->data, rows, y->columns, y->columns), NULL);
    at_scratch_release(tape, mark);
    y->spare = 1;
    at_record(tape, y, feedforward_backward, s, learns, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
