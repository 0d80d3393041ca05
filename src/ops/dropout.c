/* dropout.c: each number is 0 with a probability p, else divided by 1 - p; alone,
 * or on the way to a sum, y = x + dropped branch.
 *
 * Whether element (row, column) is dropped is a function of the step's seed, the
 * operation's number in the step, row and column alone (base/random.h). So the
 * way back makes the mask again, and nothing is kept.
 */
#include "base/random.h"
#include "ops/cpu.h"
#include "ops/rowwise.h"

typedef struct dropout_run {
    const at_row_kernels *row_kernels;
    at_dropout dropout;
} dropout_run;

static void drop(const dropout_run *run, int64_t row, int64_t count, const float *x, float *y) {
    const at_dropout *d = &run->dropout;
    at_row_key key = at_random_row(d->seed, (int64_t)d->stream, 0, row);
    run->row_kernels->dropout(count, key, d->threshold, d->factor, x, y);
}

static void drop_row(int64_t row, int64_t count, float *const *p, const void *argument) {
    drop(argument, row, count, p[0], p[1]);
}

attn_status at_cpu_dropout(attn_context *context, const at_dropout_call *call) {
    dropout_run run = {at_row_kernels_for(context->isa), call->dropout};
    at_operand operands[2] = {at_operand_of(call->x), at_operand_of(call->y)};
    at_each_row(context, 16.0, call->y.rows, call->y.columns, 2, operands, drop_row, &run);
    return ATTN_OK;
}

/* x, branch, y; y may be the branch. */
static void sum_row(int64_t row, int64_t count, float *const *p, const void *argument) {
    const dropout_run *run = argument;
    if (!run->dropout.threshold) {
        run->row_kernels->add(count, p[0], p[1], p[2]);
        return;
    }
    drop(run, row, count, p[1], p[2]);
    run->row_kernels->add(count, p[0], p[2], p[2]);
}

attn_status at_cpu_residual(attn_context *context, const at_dropout_call *call) {
    dropout_run run = {at_row_kernels_for(context->isa), call->dropout};
    at_operand operands[3] = {at_operand_of(call->x), at_operand_of(call->branch), at_operand_of(call->y)};
    at_each_row(context, call->dropout.threshold ? 18.0 : 2.0, call->y.rows, call->y.columns, 3, operands,
                sum_row, &run);
    return ATTN_OK;
}
