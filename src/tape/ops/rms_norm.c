/* rms_norm.c: y = gain * x / sqrt(mean of x^2 + epsilon) of every row. The way back
 * is in norm.c.
 */
#include "tape/ops/norm.h"

static void rms_norm_row(int64_t row, int64_t count, float *const *p, const void *state) {
    const at_norm *norm = state;
    norm->network->rms_norm(count, p[0], norm->gain ? norm->gain->value : NULL, norm->epsilon, p[1],
                            norm->inverse + row);
}

attn_variable *attn_tape_rms_norm(attn_tape *tape, attn_variable *x, attn_parameter *gain, float epsilon) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "rms_norm", "x", x)) return NULL;
    at_norm *norm = at_norm_create(tape, "rms_norm", x, gain, NULL, epsilon, 0);
    attn_variable *y = norm ? at_result(tape, x->rows, x->columns) : NULL;
    if (!y) return NULL;
    at_operand operands[2] = {at_data_of(x), at_data_of(y)};
    at_each_row(tape, 8.0, y->rows, y->columns, 2, operands, rms_norm_row, norm);
    return at_norm_finish(tape, x, y, norm);
}
