/* activation.c: y = act(x), and y = act(gate) * value, number by number.
 *
 *     dx = d * act'(x)      d_value = d * act(gate)      d_gate = d * value * act'(gate)
 *
 * act(gate) is computed again on the way back, which costs less than to keep it.
 */
#include "ops/cpu.h"
#include "ops/rowwise.h"

typedef struct activation_run {
    const at_row_kernels *row_kernels;
    const at_kernels *kernels;
    attn_activation activation;
} activation_run;

static activation_run run_of(const attn_context *context, attn_activation activation) {
    activation_run run = {at_row_kernels_for(context->isa), at_kernels_for(context->isa), activation};
    return run;
}

static void activate_numbers(int64_t row, int64_t count, float *const *p, const void *argument) {
    const activation_run *run = argument;
    (void)row;
    run->row_kernels->activation(run->activation, count, p[0], p[1]);
}

static void activate_with_slope(int64_t row, int64_t count, float *const *p, const void *argument) {
    const activation_run *run = argument;
    (void)row;
    run->row_kernels->activation_and_slope(run->activation, count, p[0], p[1], p[2]);
}

attn_status at_cpu_activation(attn_context *context, const at_activation_call *call) {
    activation_run run = run_of(context, call->activation);
    at_operand operands[3] = {at_operand_of(call->x), at_operand_of(call->y), at_operand_of(call->slope)};
    if (call->slope.data) { /* row by row: what both write fits the cache */
        at_each_row(context, 32.0, call->y.rows, call->y.columns, 3, operands, activate_with_slope, &run);
    } else {
        at_each_element(context, 24.0, call->y.rows, call->y.columns, 2, operands, activate_numbers, &run);
    }
    return ATTN_OK;
}

static void slope_numbers(int64_t row, int64_t count, float *const *p, const void *argument) {
    const activation_run *run = argument;
    (void)row;
    run->kernels->activation_backward(run->activation, count, p[0], p[1], p[2]);
}

attn_status at_cpu_activation_backward(attn_context *context, const at_activation_backward_call *call) {
    activation_run run = run_of(context, call->activation);
    at_operand operands[3] = {at_operand_of(call->d), at_operand_of(call->x), at_operand_of(call->dx)};
    at_each_element(context, 24.0, call->d.rows, call->d.columns, 3, operands, slope_numbers, &run);
    return ATTN_OK;
}

static void undo_numbers(int64_t row, int64_t count, float *const *p, const void *argument) {
    const activation_run *run = argument;
    (void)row;
    run->row_kernels->activation_undo(run->activation, count, p[0], p[1], p[2], p[3]);
}

attn_status at_cpu_activation_undo(attn_context *context, const at_activation_undo_call *call) {
    activation_run run = run_of(context, call->activation);
    at_operand operands[4] = {at_operand_of(call->y), at_operand_of(call->d), at_operand_of(call->dx),
                              at_operand_of(call->x)};
    at_each_element(context, 24.0, call->d.rows, call->d.columns, 4, operands, undo_numbers, &run);
    return ATTN_OK;
}

static void gate_numbers(int64_t row, int64_t count, float *const *p, const void *argument) {
    const activation_run *run = argument;
    (void)row;
    run->row_kernels->gate(run->activation, count, p[0], p[1], p[2]);
}

attn_status at_cpu_gate(attn_context *context, const at_gate_call *call) {
    activation_run run = run_of(context, call->activation);
    at_operand operands[3] = {at_operand_of(call->gate), at_operand_of(call->value), at_operand_of(call->y)};
    at_each_element(context, 24.0, call->y.rows, call->y.columns, 3, operands, gate_numbers, &run);
    return ATTN_OK;
}

static void gate_gradients(int64_t row, int64_t count, float *const *p, const void *argument) {
    const activation_run *run = argument;
    (void)row;
    run->row_kernels->gate_backward(run->activation, count, p[0], p[1], p[2], p[3], p[4]);
}

attn_status at_cpu_gate_backward(attn_context *context, const at_gate_backward_call *call) {
    activation_run run = run_of(context, call->activation);
    at_operand operands[5] = {at_operand_of(call->gate), at_operand_of(call->value), at_operand_of(call->d),
                              at_operand_of(call->d_gate), at_operand_of(call->d_value)};
    at_each_element(context, 40.0, call->d.rows, call->d.columns, 5, operands, gate_gradients, &run);
    return ATTN_OK;
}
