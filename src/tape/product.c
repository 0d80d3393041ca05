/* product.c: packed weights, and the linear operator with parameters of a tape. */
#include "tape/product.h"

#include "ops/linear.h"

attn_tensor at_matrix(const float *data, int64_t rows, int64_t columns, int64_t stride) {
    attn_tensor t = attn_tensor_matrix((float *)data, rows, columns);
    t.stride[0] = stride;
    return t;
}

const attn_packed_weight *at_packed_weight(attn_tape *tape, attn_parameter *weight, int transposed,
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

void at_product_forward(attn_tape *tape, attn_tensor x, attn_parameter *weight, const float *bias,
                        attn_activation activation, attn_tensor y, float *pre) {
    if (!at_tape_ready(tape)) return;
    attn_packed_weight own = {.in = weight->columns, .out = weight->rows};
    const attn_packed_weight *packed = at_recording(tape) ? &own : at_packed_weight(tape, weight, 0, &own);
    if (!packed) return;
    attn_tensor pre_view = at_matrix(pre, y.shape[0], y.shape[1], y.shape[1]);
    attn_tensor bias_view = attn_tensor_view((float *)bias, 1, &weight->rows);
    attn_status status =
        at_linear_forward(at_tape_context(tape), &x, packed, at_recording(tape) ? weight->value : NULL,
                          bias ? &bias_view : NULL, activation, &y, pre ? &pre_view : NULL);
    if (status != ATTN_OK) at_tape_failed(tape, status);
}

void at_product_backward(attn_tape *tape, attn_tensor d_output, const float *pre, attn_activation activation,
                         attn_tensor x, attn_parameter *weight, attn_parameter *bias, const float *factor,
                         attn_tensor dx) {
    if (!at_tape_ready(tape)) return;
    at_gradient dw = at_parameter_gradient_begin(tape, weight);
    at_gradient db = at_parameter_gradient_begin(tape, bias);
    if (at_tape_ready(tape)) {
        attn_packed_weight shape = {.in = weight->columns, .out = weight->rows};
        attn_tensor pre_view = at_matrix(pre, d_output.shape[0], d_output.shape[1], d_output.shape[1]);
        attn_tensor d_weight = attn_tensor_matrix(dw.data, d_output.shape[1], x.shape[1]);
        attn_tensor d_bias = attn_tensor_view(db.data, 1, &d_output.shape[1]);
        attn_status status = at_linear_backward(at_tape_context(tape), &d_output, &pre_view, activation, &x,
                                                &shape, weight->value, factor, dx.data ? &dx : NULL,
                                                dw.data ? &d_weight : NULL, db.data ? &d_bias : NULL);
        if (status != ATTN_OK) at_tape_failed(tape, status);
    }
    at_parameter_gradient_end(tape, weight, &dw);
    at_parameter_gradient_end(tape, bias, &db);
}
