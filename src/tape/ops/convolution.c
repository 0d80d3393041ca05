/* convolution.c: a convolution along each sequence.
 *
 *     y_i = act(b + sum_t W_t x_(i + offset_t))        offset_t = first + t * dilation
 *
 * x rows x in, W out x width x in, y rows x out; 0 outside the sequence. With
 * the rows that a result sees side by side (tape/window.h) it is a product:
 *
 *     forward    y  = act(unfold(x) W^T + b)       W seen as out x (width * in)
 *     backward   g  = dy * act'(pre)
 *                dx = unfold'(g) W'                the same window, mirrored; W' = (width * out) x in
 *                dW = g^T unfold(x)
 *
 * Nothing is unfolded as a whole, which would be `width` times x, written to
 * memory and read again. A task unfolds the few rows (forward and dx) or the
 * few columns (dW) that it multiplies, and they stay in the cache.
 */
#include <inttypes.h>
#include <string.h>

#include "ops/check.h"
#include "tape/product.h"
#include "tape/window.h"

enum {
    ROWS_OF_TASK = 32,     /* of y and of dx: enough to read the weight for */
    OUTPUTS_OF_TASK = 128, /* rows of dW: enough to unfold columns for */
    DEPTH_OF_PART = 1024   /* rows of x that are unfolded at a time for dW */
};

typedef struct convolution_state {
    attn_parameter *weight, *bias;
    at_window window;
    attn_activation activation;
    float *pre; /* rows x out; NULL: not needed */
} convolution_state;

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

/* C = act(unfold(x) B + bias); call: B (packed), C and what comes after the sums. */
static void window_product(attn_tape *tape, const at_window *window, attn_tensor x, at_gemm call) {
    rows_run run = {.kernels = at_tape_kernels(tape),
                    .window = window,
                    .x = x.data,
                    .stride = x.stride[0],
                    .columns = x.shape[1],
                    .rows = x.shape[0],
                    .rows_of_task = ROWS_OF_TASK,
                    .call = call};
    int threads = at_tape_context(tape)->threads;
    run.call.depth = window->width * run.columns;
    run.call.a_step = 1;
    run.scratch_bytes = run.kernels->gemm_scratch(&run.call);
    run.unfolded = at_scratch_memory(tape, threads * run.rows_of_task * run.call.depth, sizeof(float));
    run.scratch = at_scratch_memory(tape, threads, run.scratch_bytes);
    if (!run.unfolded || !run.scratch) return;
    at_tape_parallel(tape, 2.0 * (double)run.rows * (double)run.call.columns * (double)run.call.depth,
                     pieces(run.rows, run.rows_of_task), rows_task, &run);
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
    if (used < lanes) memset(packed, 0, (size_t)(DEPTH_OF_PART * lanes) * sizeof(float));
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

static void weight_gradient(attn_tape *tape, const convolution_state *s, attn_tensor x, attn_tensor g,
                            float *d_weight) {
    columns_run run = {.kernels = at_tape_kernels(tape),
                       .window = &s->window,
                       .x = x.data,
                       .g = g.data,
                       .x_stride = x.stride[0],
                       .g_stride = g.stride[0],
                       .rows = x.shape[0],
                       .in = x.shape[1],
                       .out = g.shape[1],
                       .d_weight = d_weight};
    int threads = at_tape_context(tape)->threads;
    int64_t lanes = run.kernels->lanes;
    if (run.rows == 0) memset(d_weight, 0, (size_t)s->weight->count * sizeof(float));
    at_gemm packed = {.packed = d_weight}; /* only whether it is packed counts */
    run.scratch_bytes = run.kernels->gemm_scratch(&packed);
    run.packed = at_scratch_memory(tape, threads * DEPTH_OF_PART * lanes, sizeof(float));
    run.scratch = at_scratch_memory(tape, threads, run.scratch_bytes);
    if (!run.packed || !run.scratch) return;
    at_tape_parallel(tape, 2.0 * (double)run.rows * (double)s->weight->count,
                     pieces(s->window.width * run.in, lanes) * pieces(run.out, OUTPUTS_OF_TASK), columns_task,
                     &run);
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

static void input_gradient(attn_tape *tape, const convolution_state *s, attn_tensor g, int64_t in,
                           const at_gradient *dx) {
    mirror_run run = {at_tape_kernels(tape), s->weight->value, g.shape[1], s->window.width, in, NULL};
    int64_t lanes = run.kernels->lanes, panels = pieces(in, lanes);
    run.packed = at_scratch_memory(tape, panels * lanes * run.width * run.out, sizeof(float));
    if (!run.packed) return;
    at_tape_parallel(tape, 8.0 * (double)s->weight->count, panels, mirror_task, &run);
    at_window mirrored = s->window;
    mirrored.first = -(s->window.first + (s->window.width - 1) * s->window.step);
    at_gemm call = {.columns = in, .packed = run.packed, .c = dx->data, .c_row = dx->stride};
    window_product(tape, &mirrored, g, call);
}

/* ---- the slope of the activation ---- */

typedef struct slope_run {
    const at_kernels *kernels;
    attn_activation activation;
    const float *dy, *pre;
    int64_t dy_stride, rows, columns;
    float *g;
} slope_run;

static void slope_task(void *argument, int64_t task, int worker) {
    const slope_run *run = argument;
    (void)worker;
    for (int64_t i = task * ROWS_OF_TASK; i < end_of(task * ROWS_OF_TASK, ROWS_OF_TASK, run->rows); i++) {
        run->kernels->activation_backward(run->activation, run->columns, run->dy + i * run->dy_stride,
                                          run->pre + i * run->columns, run->g + i * run->columns);
    }
}

/* g = dy * act'(pre); data NULL with the error set. */
static attn_tensor slopes(attn_tape *tape, const convolution_state *s, const attn_variable *y) {
    if (!s->pre) return at_matrix(y->gradient, y->rows, y->columns, y->gradient_stride);
    float *g = at_scratch_memory(tape, y->rows * y->columns, sizeof(float));
    slope_run run = {at_tape_kernels(tape), s->activation, y->gradient, s->pre,
                     y->gradient_stride,    y->rows,       y->columns,  g};
    if (g) {
        at_tape_parallel(tape, 20.0 * (double)y->rows * (double)y->columns, pieces(y->rows, ROWS_OF_TASK),
                         slope_task, &run);
    }
    return at_matrix(g, y->rows, y->columns, y->columns);
}

static void convolution_backward(attn_tape *tape, at_node *node) {
    const convolution_state *s = node->state;
    attn_variable *x = node->input[0], *y = node->output;
    at_mark mark = at_scratch_mark(tape);
    attn_tensor g = slopes(tape, s, y);
    at_gradient dx = at_gradient_begin(tape, x);
    at_gradient dw = at_parameter_gradient_begin(tape, s->weight);
    at_gradient db = at_parameter_gradient_begin(tape, s->bias);
    if (at_tape_ready(tape)) {
        if (dx.data) input_gradient(tape, s, g, x->columns, &dx);
        if (dw.data) weight_gradient(tape, s, at_matrix(x->data, x->rows, x->columns, x->stride), g, dw.data);
        attn_tensor d_bias = attn_tensor_view(db.data, 1, &y->columns);
        attn_status status = db.data ? attn_linear_backward(at_tape_context(tape), &g, NULL, ATTN_IDENTITY,
                                                            NULL, NULL, NULL, NULL, &d_bias)
                                     : ATTN_OK;
        if (status != ATTN_OK) at_tape_failed(tape, status);
    }
    at_gradient_end(tape, x, &dx);
    at_parameter_gradient_end(tape, s->weight, &dw);
    at_parameter_gradient_end(tape, s->bias, &db);
    at_scratch_release(tape, mark);
}

/* ---- forward ---- */

void attn_convolution_options_init(attn_convolution_options *options) {
    if (!options) return;
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->width = 3;
    options->dilation = 1;
    options->activation = ATTN_IDENTITY;
}

static int check_options(attn_tape *tape, const attn_convolution_options *options) {
    const int64_t most = INT32_MAX;
    if (!options) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "convolution: options is NULL");
    } else if (options->size != sizeof *options) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "convolution: options.size is %zu, not %zu; set the options up with "
                     "attn_convolution_options_init",
                     options->size, sizeof *options);
    } else if (options->width < 1 || options->width > most || options->dilation < 1 ||
               options->dilation > most) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "convolution: width is %" PRId64 " and dilation %" PRId64 "; both must be 1 .. %" PRId64,
                     options->width, options->dilation, most);
    } else if ((int)options->activation < ATTN_IDENTITY || (int)options->activation > ATTN_SIGMOID) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "convolution: activation is %d, which is none of attn_activation",
                     (int)options->activation);
    }
    return at_tape_ready(tape);
}

static int check_weights(attn_tape *tape, const attn_variable *x, const attn_parameter *weight,
                         const attn_parameter *bias, int64_t width) {
    if (!at_tape_has_parameter(tape, "convolution", "weight", weight, -1, -1)) return 0;
    if (weight->rank != 3 || weight->shape[1] != width || weight->shape[2] != x->columns) {
        attn_tensor value = attn_parameter_value(weight);
        char shape[AT_SHAPE_TEXT];
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "convolution: weight (%s) is %s, out x %" PRId64 " x %" PRId64 " is needed",
                     weight->name, at_shape_text(&value, shape), width, x->columns);
        return 0;
    }
    if (bias && !at_tape_has_parameter(tape, "convolution", "bias", bias, -1, -1)) return 0;
    if (bias && bias->count != weight->rows) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "convolution: bias (%s) has %" PRId64 " numbers, weight (%s) has %" PRId64 " rows",
                     bias->name, bias->count, weight->name, weight->rows);
        return 0;
    }
    return 1;
}

attn_variable *attn_tape_convolution(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                     attn_parameter *weight, attn_parameter *bias,
                                     const attn_convolution_options *options) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "convolution", "x", x) || !check_options(tape, options) ||
        !check_weights(tape, x, weight, bias, options->width)) {
        return NULL;
    }
    attn_variable *y = at_result(tape, x->rows, weight->rows);
    convolution_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s || !at_tape_has_batch(tape, "convolution", batch, x->rows, &s->window.batch)) return NULL;
    int64_t before = options->causal ? options->width - 1 : options->width / 2;
    s->weight = weight;
    s->bias = bias;
    s->window.width = options->width;
    s->window.first = -before * options->dilation;
    s->window.step = options->dilation;
    s->activation = options->activation;
    s->pre = NULL;
    if (s->activation != ATTN_IDENTITY && at_recording(tape)) {
        s->pre = at_tape_memory(tape, y->rows * y->columns, sizeof(float));
        if (!s->pre) return NULL;
    }
    at_mark mark = at_scratch_mark(tape);
    attn_packed_weight own;
    const attn_packed_weight *packed = at_packed_weight(tape, weight, 0, &own);
    if (!packed) return NULL;
    at_gemm call = {.columns = weight->rows,
                    .packed = packed->memory,
                    .bias = bias ? bias->value : NULL,
                    .activation = s->activation,
                    .pre_activation = s->pre,
                    .pre_activation_row = y->columns,
                    .c = y->data,
                    .c_row = y->columns};
    window_product(tape, &s->window, at_matrix(x->data, x->rows, x->columns, x->stride), call);
    at_scratch_release(tape, mark);
    at_record(tape, y, convolution_backward, s,
              at_parameter_wanted(tape, weight) || at_parameter_wanted(tape, bias), x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
