/* softmax.c: y = exp(x) / (sum of exp(x)) of every row; 0 for a row of -inf alone.
 *
 *     dx = y * (dy - sum of dy * y)
 */
#include "tape/ops/rowwise.h"

static void softmax_row(int64_t row, int64_t count, float *const *p, const void *kernels) {
    (void)row;
    ((const at_kernels *)kernels)->softmax_row(count, p[0], p[1]);
}

static void softmax_row_back(int64_t row, int64_t count, float *const *p, const void *network) {
    (void)row;
    ((const at_network *)network)->softmax_backward(count, p[0], p[1], p[2]);
}

static void softmax_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_operand operands[3] = {at_data_of(y), at_gradient_of(y), at_place_of(&dx)};
    at_each_row(tape, 12.0, y->rows, y->columns, 3, operands, softmax_row_back, at_tape_network(tape));
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_softmax(attn_tape *tape, attn_variable *x) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "softmax", "x", x)) return NULL;
    attn_variable *y = at_result(tape, x->rows, x->columns);
    if (!y) return NULL;
    at_operand operands[2] = {at_data_of(x), at_data_of(y)};
    at_each_row(tape, 24.0, y->rows, y->columns, 2, operands, softmax_row, at_tape_kernels(tape));
    at_record(tape, y, softmax_backward, NULL, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
