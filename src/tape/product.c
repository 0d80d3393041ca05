/* product.c: packed weights, and the linear operator with parameters of a tape. */
#include "tape/product.h"

const attn_packed_weight *at_packed_weight(attn_tape *tape, attn_parameter *weight, int transposed,
                                           attn_packed_weight *own) {
    const attn_packed_weight *packed = NULL;
    if (!at_recording(tape) || at_tape_keeps_packed(tape))
        return at_tape_did(tape, at_parameter_packed(at_tape_context(tape), weight, transposed, &packed))
                   ? packed
                   : NULL;
    size_t bytes;
    attn_context *context = at_tape_context(tape);
    if (!at_tape_did(tape, at_tape_run(tape)->packed_size(context, weight->rows, weight->columns, &bytes)))
        return NULL;
    void *memory = at_scratch_numbers(tape, (int64_t)((bytes + sizeof(float) - 1) / sizeof(float)));
    if (!memory) return NULL;
    at_pack_call call = {at_value_of(weight), transposed, memory, bytes, own};
    return at_tape_did(tape, at_tape_run(tape)->pack(context, &call)) ? own : NULL;
}

/* Whether a weight of this size is worth keeping: smaller ones are read in place. */
static int is_kept(const attn_tape *tape, const attn_parameter *weight) {
    enum { SMALL = 96 * 1024 };
    return at_tape_keeps_packed(tape) && weight->count > SMALL;
}

void at_product_forward(attn_tape *tape, at_view x, attn_parameter *weight, const float *bias,
                        attn_activation activation, at_view y, float *pre) {
    if (!at_tape_ready(tape)) return;
    at_matmul_call call = {.bias = bias, .activation = activation, .x = x, .y = y, .pre = pre};
    if (at_recording(tape) && !is_kept(tape, weight)) {
        call.weight = weight->value;
    } else {
        call.packed = at_packed_weight(tape, weight, 0, NULL);
        if (!call.packed) return;
    }
    at_tape_did(tape, at_tape_run(tape)->matmul(at_tape_context(tape), &call));
}

void at_product_backward(attn_tape *tape, at_view d_output, const float *pre, attn_activation activation,
                         at_view x, attn_parameter *weight, attn_parameter *bias, const float *factor,
                         at_view dx) {
    if (!at_tape_ready(tape)) return;
    at_gradient dw = at_parameter_gradient_begin(tape, weight);
    at_gradient db = at_parameter_gradient_begin(tape, bias);
    const attn_packed_weight *packed = NULL;
    if (dx.data && is_kept(tape, weight)) packed = at_packed_weight(tape, weight, 1, NULL);
    if (at_tape_ready(tape)) {
        at_matmul_backward_call call = {.packed = packed,
                                        .weight = weight->value,
                                        .activation = activation,
                                        .pre = pre,
                                        .factor = factor,
                                        .d = d_output,
                                        .x = x,
                                        .dx = dx,
                                        .d_weight = dw.data,
                                        .d_bias = db.data};
        at_tape_did(tape, at_tape_run(tape)->matmul_backward(at_tape_context(tape), &call));
    }
    at_parameter_gradient_end(tape, weight, &dw);
    at_parameter_gradient_end(tape, bias, &db);
}
