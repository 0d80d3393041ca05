/* softmax.c: softmax and log-softmax of every row.
 *
 *     y = exp(x) / (sum of exp(x)); 0 for a row of -inf alone       dx = y * (d - sum of d * y)
 *     y = x - log(sum of exp(x)); -inf for such a row               dx = d - exp(y) * (sum of d)
 */
#include "ops/cpu.h"
#include "ops/rowwise.h"

static void softmax_row(int64_t row, int64_t count, float *const *p, const void *kernels) {
    (void)row;
    ((const at_kernels *)kernels)->softmax_row(count, p[0], p[1]);
}

static void softmax_row_back(int64_t row, int64_t count, float *const *p, const void *row_kernels) {
    (void)row;
    ((const at_row_kernels *)row_kernels)->softmax_backward(count, p[0], p[1], p[2]);
}

static void log_softmax_row(int64_t row, int64_t count, float *const *p, const void *row_kernels) {
    (void)row;
    ((const at_row_kernels *)row_kernels)->log_softmax(count, p[0], p[1]);
}

static void log_softmax_row_back(int64_t row, int64_t count, float *const *p, const void *row_kernels) {
    (void)row;
    ((const at_row_kernels *)row_kernels)->log_softmax_backward(count, p[0], p[1], p[2]);
}

static attn_status forward(attn_context *context, const at_rows_call *call, at_row_function function,
                           const void *table) {
    at_operand operands[2] = {at_operand_of(call->x), at_operand_of(call->y)};
    at_each_row(context, 24.0, call->y.rows, call->y.columns, 2, operands, function, table);
    return ATTN_OK;
}

static attn_status backward(attn_context *context, const at_rows_backward_call *call, double cost,
                            at_row_function function) {
    at_operand operands[3] = {at_operand_of(call->y), at_operand_of(call->d), at_operand_of(call->dx)};
    at_each_row(context, cost, call->y.rows, call->y.columns, 3, operands, function,
                at_row_kernels_for(context->isa));
    return ATTN_OK;
}

attn_status at_cpu_softmax(attn_context *context, const at_rows_call *call) {
    return forward(context, call, softmax_row, at_kernels_for(context->isa));
}
attn_status at_cpu_log_softmax(attn_context *context, const at_rows_call *call) {
    return forward(context, call, log_softmax_row, at_row_kernels_for(context->isa));
}
attn_status at_cpu_softmax_backward(attn_context *context, const at_rows_backward_call *call) {
    return backward(context, call, 12.0, softmax_row_back);
}
attn_status at_cpu_log_softmax_backward(attn_context *context, const at_rows_backward_call *call) {
    return backward(context, call, 24.0, log_softmax_row_back);
}
