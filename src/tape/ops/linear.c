/* linear.c: y = act(x W^T + b).
 *
 * For training the weight is packed anew for every use, into working memory:
 * it changes with every step, and nothing is held. For inference the packed
 * form is kept with the parameter.
 *
 * The slope of an activation is taken at the pre-activation, which is kept.
 */
#include "tape/tape.h"

#include <inttypes.h>

typedef struct linear_state {
    attn_parameter *weight, *bias;
    attn_activation activation;
    float *pre; /* rows x out; NULL: not needed */
} linear_state;

/* The packed weight: kept with the parameter, or in working memory. */
static const attn_packed_weight *packed_weight(attn_tape *tape, attn_parameter *weight, int transposed,
                                               attn_packed_weight *own) {
    const attn_packed_weight *packed = NULL;
    attn_status status;
    if (!at_recording(tape)) {
        status = at_parameter_packed(weight, transposed, &packed);
        return status == ATTN_OK ? packed : at_tape_failed(tape, status);
    }
    size_t bytes;
    attn_context *context = at_tape_context(tape);
    attn_tensor matrix = attn_tensor_matrix(weight->value, weight->rows, weight->columns);
    status = attn_weight_packed_size(context, weight->rows, weight->columns, &bytes);
    if (status != ATTN_OK) return at_tape_failed(tape, status);
    void *memory = at_scratch_memory(tape, (int64_t)bytes, 1);
    if (!memory) return NULL;
    status = attn_weight_pack(context, &matrix, transposed, memory, bytes, own);
    return status == ATTN_OK ? own : at_tape_failed(tape, status);
}

static attn_tensor matrix_of(float *data, int64_t rows, int64_t columns, int64_t stride) {
    attn_tensor t = attn_tensor_matrix(data, rows, columns);
    t.stride[0] = stride;
    return t;
}

static void linear_backward(attn_tape *tape, at_node *node) {
    linear_state *s = node->state;
    attn_variable *x = node->input[0], *y = node->output;
    at_mark mark = at_scratch_mark(tape);
    at_gradient dx = at_gradient_begin(tape, x);
    at_gradient dw = at_parameter_gradient_begin(tape, s->weight);
    at_gradient db = at_parameter_gradient_begin(tape, s->bias);
    attn_packed_weight own;
    const attn_packed_weight *packed = dx.data ? packed_weight(tape, s->weight, 1, &own) : NULL;
    if (attn_tape_status(tape) == ATTN_OK) {
        attn_tensor d_output = matrix_of(y->gradient, y->rows, y->columns, y->gradient_stride);
        attn_tensor pre = matrix_of(s->pre, y->rows, y->columns, y->columns);
        attn_tensor input = matrix_of(x->data, x->rows, x->columns, x->stride);
        attn_tensor d_input = matrix_of(dx.data, x->rows, x->columns, dx.stride);
        attn_tensor d_weight = attn_tensor_matrix(dw.data, s->weight->rows, s->weight->columns);
        int64_t out = y->columns;
        attn_tensor d_bias = attn_tensor_view(db.data, 1, &out);
        attn_status status = attn_linear_backward(at_tape_context(tape), &d_output, &pre, s->activation,
                                                  &input, packed, dx.data ? &d_input : NULL,
                                                  dw.data ? &d_weight : NULL, db.data ? &d_bias : NULL);
        if (status != ATTN_OK) at_tape_failed(tape, status);
    }
    at_gradient_end(tape, x, &dx);
    at_parameter_gradient_end(tape, s->weight, &dw);
    at_parameter_gradient_end(tape, s->bias, &db);
    at_scratch_release(tape, mark);
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
    attn_variable *y = at_result(tape, x->rows, weight->rows);
    linear_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    s->weight = weight;
    s->bias = bias;
    s->activation = activation;
    s->pre = NULL;
    if (activation != ATTN_IDENTITY && at_recording(tape)) {
        s->pre = at_tape_memory(tape, y->rows * y->columns, sizeof(float));
        if (!s->pre) return NULL;
    }
    at_mark mark = at_scratch_mark(tape);
    attn_packed_weight own;
    const attn_packed_weight *packed = packed_weight(tape, weight, 0, &own);
    if (!packed) return NULL;
    attn_tensor input = matrix_of(x->data, x->rows, x->columns, x->stride);
    attn_tensor output = attn_tensor_matrix(y->data, y->rows, y->columns);
    attn_tensor pre = attn_tensor_matrix(s->pre, y->rows, y->columns);
    int64_t out = weight->rows;
    attn_tensor bias_view = attn_tensor_view(bias ? bias->value : NULL, 1, &out);
    attn_status status = attn_linear_forward(at_tape_context(tape), &input, packed, bias ? &bias_view : NULL,
                                             activation, &output, s->pre ? &pre : NULL);
    at_scratch_release(tape, mark);
    if (status != ATTN_OK) return at_tape_failed(tape, status);
    at_record(tape, y, linear_backward, s,
              at_parameter_wanted(tape, weight) || at_parameter_wanted(tape, bias), x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
