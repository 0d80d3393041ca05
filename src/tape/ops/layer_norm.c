/* layer_norm.c: y = gain * (x - mean) / sqrt(variance + epsilon) + bias of every row.
 *
 * The variance is the mean of the squares of what is left when the mean has been
 * taken away: the difference of two large sums would lose it. The way back is in
 * norm.c.
 */
#include "tape/ops/norm.h"

static void layer_norm_row(int64_t row, int64_t count, float *const *p, const void *state) {
    const at_norm *norm = state;
    norm->network->layer_norm(count, p[0], norm->gain ? norm->gain->value : NULL,
                              norm->bias ? norm->bias->value : NULL, norm->epsilon, p[1], norm->mean + row,
                              norm->inverse + row);
}

attn_variable *attn_tape_layer_norm(attn_tape *tape, attn_variable *x, attn_parameter *gain,
                                    attn_parameter *bias, float epsilon) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "layer_norm", "x", x)) return NULL;
    at_norm *norm = at_norm_create(tape, "layer_norm", x, gain, bias, epsilon, 1);
    attn_variable *y = norm ? at_result(tape, x->rows, x->columns) : NULL;
    if (!y) return NULL;
    at_operand operands[2] = {at_data_of(x), at_data_of(y)};
    at_each_row(tape, 12.0, y->rows, y->columns, 2, operands, layer_norm_row, norm);
    return at_norm_finish(tape, x, y, norm);
}
