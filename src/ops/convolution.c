/* convolution.c: a convolution along each sequence, or over its grid.
 *
 *     y_i = act(b + sum_t W_t x_(i + offset_t))        offset_t = first + t * dilation
 *
 * x rows x in, W out x width x in, y rows x out; 0 outside the sequence. On grids the
 * offsets are those of a square, line by line, and the rest is the same. With the
 * rows that a result sees side by side (ops/window.h) it is a product:
 *
 *     forward    y  = act(unfold(x) W^T + b)       W seen as out x (width * in)
 *     backward   with g = dy * act'(pre), which is made before:
 *                dx = unfold'(g) W'                the same window, mirrored; W' = (width * out) x in
 *                dW = g^T unfold(x)
 *
 * Nothing is unfolded as a whole, which would be `width` times x, written to
 * memory and read again. A task unfolds the few rows (forward and dx) or the
 * few columns (dW) that it multiplies, and they stay in the cache.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"
#include "ops/window.h"

enum {
    ROWS_OF_TASK = 32,     /* of y and of dx: enough to read the weight for */
    OUTPUTS_OF_TASK = 128, /* rows of dW: enough to unfold columns for */
    DEPTH_OF_PART = 1024   /* rows of x that are unfolded at a time for dW */
};

static int64_t pieces(int64_t count, int64_t piece) { return (count + piece - 1) / piece; }
static int64_t end_of(int64_t first, int64_t count, int64_t end) {
    return first + count < end ? first + count : end;
}

/* ---- products with unfolded rows ---- */

typedef struct rows_run {
    const at_kernels *kernels;
    const at_window *window;
    const float *x;
    int64_t stride, columns; /* of x */
    int64_t rows, rows_of_task;
    at_gemm call;
    float *unfolded;        /* [threads][rows_of_task][width * columns] */
    unsigned char *scratch; /* [threads][scratch_bytes] */
    size_t scratch_bytes;
} rows_run;

static void rows_task(void *argument, int64_t task, int worker) {
    const rows_run *run = argument;
    at_gemm call = run->call;
    int64_t row = task * run->rows_of_task, end = end_of(row, run->rows_of_task, run->rows);
    float *unfolded = run->unfolded + worker * run->rows_of_task * call.depth;
    call.rows = end - row;
    call.c += row * call.c_row;
    if (call.pre_activation) call.pre_activation += row * call.pre_activation_row;
    if (run->window->width > 1) {
        at_unfold(run->window, run->x, run->stride, run->columns, row, end, 0, call.depth, unfolded,
                  call.depth);
        call.a = unfolded;
        call.a_row = call.depth;
    } else {
        call.a = run->x + row * run->stride;
        call.a_row = run->stride;
    }
    for (int64_t panel = 0; panel < pieces(call.columns, run->kernels->lanes); panel++) {
        run->kernels->gemm(&call, 0, call.rows, panel, run->scratch + (size_t)worker * run->scratch_bytes);
    }
}

/* C = act(bias + unfold(x) B); call: B (packed), C and what comes after the sums. The
 * run is planned, its memory laid out, and then it is done. */
static rows_run plan_rows(const attn_context *context, const at_window *window, at_view x, at_gemm call) {
    rows_run run = {.kernels = at_kernels_for(context->isa),
                    .window = window,
                    .x = x.data,
                    .stride = x.stride,
                    .columns = x.columns,
                    .rows = x.rows,
                    .rows_of_task = ROWS_OF_TASK,
                    .call = call};
    run.call.depth = window->width * run.columns;
    run.call.a_step = 1;
    run.scratch_bytes = run.kernels->gemm_scratch(&run.call);
    return run;
}

static size_t lay_out_rows(const attn_context *context, const rows_run *run, at_layout *layout,
                           size_t *scratch_at) {
    *scratch_at = at_layout_add(layout, context->threads, run->scratch_bytes);
    return at_layout_add(layout, context->threads * run->rows_of_task * run->call.depth, sizeof(float));
}

static void run_rows(const attn_context *context, rows_run *run, unsigned char *unfolded,
                     unsigned char *scratch) {
    run->unfolded = (float *)(void *)unfolded;
    run->scratch = scratch;
    at_run_tasks(context, 2.0 * (double)run->rows * (double)run->call.columns * (double)run->call.depth,
                 pieces(run->rows, run->rows_of_task), rows_task, run);
}

attn_status at_cpu_convolution(attn_context *context, const at_convolution_call *call) {
    at_gemm product = {.columns = call->y.columns,
                       .packed = call->weight->memory,
                       .bias = call->bias,
                       .activation = call->activation,
                       .pre_activation = call->pre,
                       .pre_activation_row = call->y.columns,
                       .c = call->y.data,
                       .c_row = call->y.stride};
    rows_run run = plan_rows(context, &call->window, call->x, product);
    at_layout layout = {0, 0};
    size_t scratch_at, unfolded_at = lay_out_rows(context, &run, &layout, &scratch_at);
    unsigned char *memory;
    attn_status status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    run_rows(context, &run, memory + unfolded_at, memory + scratch_at);
    return ATTN_OK;
}

/* ---- dW: products with unfolded columns ---- */

typedef struct columns_run {
    const at_kernels *kernels;
    const at_window *window;
    const float *x, *g;
    int64_t x_stride, g_stride, rows, in, out;
    float *d_weight;
    float *packed; /* [threads][DEPTH_OF_PART][lanes] */
    unsigned char *scratch;
    size_t scratch_bytes;
} columns_run;

static void columns_task(void *argument, int64_t task, int worker) {
    const columns_run *run = argument;
    int64_t columns = run->window->width * run->in, lanes = run->kernels->lanes;
    int64_t blocks = pieces(run->out, OUTPUTS_OF_TASK), first = task / blocks * lanes;
    int64_t output = task % blocks * OUTPUTS_OF_TASK, used = end_of(first, lanes, columns) - first;
    float *packed = run->packed + worker * DEPTH_OF_PART * lanes;
    int64_t depth = run->rows < DEPTH_OF_PART ? run->rows : DEPTH_OF_PART;
    if (used < lanes) memset(packed, 0, (size_t)(depth * lanes) * sizeof(float));
    for (int64_t row = 0; row < run->rows; row += DEPTH_OF_PART) {
        int64_t end = end_of(row, DEPTH_OF_PART, run->rows);
        at_unfold(run->window, run->x, run->x_stride, run->in, row, end, first, used, packed, lanes);
        at_gemm call = {.rows = end_of(output, OUTPUTS_OF_TASK, run->out) - output,
                        .columns = used,
                        .depth = end - row,
                        .a = run->g + row * run->g_stride + output,
                        .a_row = 1,
                        .a_step = run->g_stride,
                        .packed = packed,
                        .c = run->d_weight + output * columns + first,
                        .c_row = columns,
                        .adds = row > 0};
        run->kernels->gemm(&call, 0, call.rows, 0, run->scratch + (size_t)worker * run->scratch_bytes);
    }
}

static attn_status weight_gradient(attn_context *context, const at_convolution_backward_call *call) {
    at_view g = call->d;
    columns_run run = {.kernels = at_kernels_for(context->isa),
                       .window = &call->window,
                       .x = call->x.data,
                       .g = g.data,
                       .x_stride = call->x.stride,
                       .g_stride = g.stride,
                       .rows = call->x.rows,
                       .in = call->x.columns,
                       .out = g.columns,
                       .d_weight = call->d_weight};
    int64_t lanes = run.kernels->lanes, count = run.out * call->window.width * run.in;
    if (run.rows == 0) memset(call->d_weight, 0, (size_t)count * sizeof(float));
    at_gemm packed = {.packed = call->d_weight}; /* only whether it is packed counts */
    run.scratch_bytes = run.kernels->gemm_scratch(&packed);
    at_layout layout = {0, 0};
    size_t packed_at = at_layout_add(&layout, context->threads * DEPTH_OF_PART * lanes, sizeof(float));
    size_t scratch_at = at_layout_add(&layout, context->threads, run.scratch_bytes);
    unsigned char *memory;
    attn_status status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    run.packed = (float *)(void *)(memory + packed_at);
    run.scratch = memory + scratch_at;
    at_run_tasks(context, 2.0 * (double)run.rows * (double)count,
                 pieces(call->window.width * run.in, lanes) * pieces(run.out, OUTPUTS_OF_TASK), columns_task,
                 &run);
    return ATTN_OK;
}

/* ---- dx: the mirrored window over g ---- */

typedef struct mirror_run {
    const at_kernels *kernels;
    const float *weight;
    int64_t out, width, in;
    float *packed;
} mirror_run;

/* One panel of W': row t * out + o of it is W_(width - 1 - t), row o. */
static void mirror_task(void *argument, int64_t panel, int worker) {
    const mirror_run *run = argument;
    int64_t lanes = run->kernels->lanes, depth = run->width * run->out;
    (void)worker;
    for (int64_t t = 0; t < run->width; t++) {
        run->kernels->gemm_pack(run->out, run->in, run->weight + (run->width - 1 - t) * run->in,
                                run->width * run->in, 1, panel * lanes,
                                run->packed + (panel * depth + t * run->out) * lanes);
    }
}

static attn_status input_gradient(attn_context *context, const at_convolution_backward_call *call) {
    mirror_run mirror = {at_kernels_for(context->isa), call->weight,     call->d.columns,
                         call->window.width,           call->dx.columns, NULL};
    int64_t lanes = mirror.kernels->lanes, panels = pieces(mirror.in, lanes);
    int64_t numbers = panels * lanes * mirror.width * mirror.out;
    at_window mirrored = at_window_mirror(&call->window);
    at_gemm product = {.columns = mirror.in,
                       .packed = call->weight, /* until it is laid out: only whether it is packed counts */
                       .c = call->dx.data,
                       .c_row = call->dx.stride};
    rows_run run = plan_rows(context, &mirrored, call->d, product);
    at_layout layout = {0, 0};
    size_t packed_at = at_layout_add(&layout, numbers, sizeof(float));
    size_t scratch_at, unfolded_at = lay_out_rows(context, &run, &layout, &scratch_at);
    unsigned char *memory;
    attn_status status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    mirror.packed = (float *)(void *)(memory + packed_at);
    run.call.packed = mirror.packed;
    at_run_tasks(context, 8.0 * (double)mirror.out * (double)mirror.width * (double)mirror.in, panels,
                 mirror_task, &mirror);
    run_rows(context, &run, memory + unfolded_at, memory + scratch_at);
    return ATTN_OK;
}

attn_status at_cpu_convolution_backward(attn_context *context, const at_convolution_backward_call *call) {
    attn_status status = call->dx.data ? input_gradient(context, call) : ATTN_OK;
    return status == ATTN_OK && call->d_weight ? weight_gradient(context, call) : status;
}
