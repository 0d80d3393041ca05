/* convolution.c: a convolution along each sequence, or over its grid.
 *
 *     y_i = act(b + sum_t W_t x_(i + offset_t))        offset_t = first + t * dilation
 *
 * x rows x in, W out x width x in, y rows x out; 0 outside the sequence. On grids the
 * offsets are those of a square, line by line, and the rest is the same. With the
 * rows that a result sees side by side (at_window) it is a product:
 *
 *     forward    y  = act(unfold(x) W^T + b)       W seen as out x (width * in)
 *     backward   g  = dy * act'(pre)
 *                dx = unfold'(g) W'                the same window, mirrored; W' = (width * out) x in
 *                dW = g^T unfold(x)
 */
#include <inttypes.h>
#include <string.h>

#include "base/options.h"
#include "ops/check.h"
#include "tape/ops/checks.h"
#include "tape/product.h"

typedef struct convolution_state {
    attn_parameter *weight, *bias;
    at_window window;
    attn_activation activation;
    float *pre; /* rows x out; NULL: not needed */
} convolution_state;

/* g = dy * act'(pre); data NULL with the error set. */
static at_view slopes(attn_tape *tape, const convolution_state *s, const attn_variable *y) {
    if (!s->pre) return at_gradient_of(y);
    at_view g = at_view_of(at_scratch_numbers(tape, y->rows * y->columns), y->rows, y->columns, y->columns);
    if (!g.data) return g;
    at_view pre = at_view_of(s->pre, y->rows, y->columns, y->columns);
    at_activation_backward_call call = {s->activation, at_gradient_of(y), pre, g};
    at_tape_did(tape, at_tape_run(tape)->activation_backward(at_tape_context(tape), &call));
    return g;
}

static void convolution_backward(attn_tape *tape, at_node *node) {
    const convolution_state *s = node->state;
    attn_variable *x = node->input[0], *y = node->output;
    at_scratch mark = at_scratch_mark(tape);
    at_view g = slopes(tape, s, y);
    at_gradient dx = at_gradient_begin(tape, x);
    at_gradient dw = at_parameter_gradient_begin(tape, s->weight);
    at_gradient db = at_parameter_gradient_begin(tape, s->bias);
    if (at_tape_ready(tape)) {
        at_convolution_backward_call call = {.window = s->window,
                                             .weight = s->weight->value,
                                             .x = at_data_of(x),
                                             .d = g,
                                             .dx = at_place_of(&dx, x),
                                             .d_weight = dw.data};
        at_tape_did(tape, at_tape_run(tape)->convolution_backward(at_tape_context(tape), &call));
        at_matmul_backward_call bias = {.d = g, .d_bias = db.data};
        if (db.data) at_tape_did(tape, at_tape_run(tape)->matmul_backward(at_tape_context(tape), &bias));
    }
    at_gradient_end(tape, x, &dx);
    at_parameter_gradient_end(tape, s->weight, &dw);
    at_parameter_gradient_end(tape, s->bias, &db);
    at_scratch_release(tape, mark);
}

/* ---- forward ---- */

void attn_convolution_options_init_sized(attn_convolution_options *options, size_t size) {
    attn_convolution_options own = {.size = sizeof own};
    own.width = 3;
    own.dilation = 1;
    own.activation = ATTN_IDENTITY;
    at_options_give(options, size, &own, sizeof own);
}

/* The caller's options, checked. 0 with the error set. */
static int take_options(attn_tape *tape, const attn_convolution_options *given,
                        attn_convolution_options *options) {
    const int64_t most = INT32_MAX;
    if (!given) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "convolution: options is NULL");
        return 0;
    }
    attn_convolution_options_init(options);
    if (!at_tape_options(tape, "convolution", "options", "attn_convolution_options_init", given,
                         AT_FIRST_SIZE(attn_convolution_options, activation), sizeof *options, options)) {
        return 0;
    }
    if (options->width < 1 || options->width > most || options->dilation < 1 || options->dilation > most) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "convolution: width is %" PRId64 " and dilation %" PRId64 "; both must be 1 .. %" PRId64,
                     options->width, options->dilation, most);
    } else if ((int)options->activation < ATTN_IDENTITY || (int)options->activation > ATTN_ELU) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "convolution: activation is %d, which is not a value of attn_activation",
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

/* What both have in common, with s->window filled in. */
static attn_variable *convolve(attn_tape *tape, attn_variable *x, attn_parameter *weight,
                               attn_parameter *bias, attn_activation activation, convolution_state *s) {
    attn_variable *y = at_result(tape, x->rows, weight->rows);
    if (!y) return NULL;
    s->weight = weight;
    s->bias = bias;
    s->activation = activation;
    s->pre = NULL;
    if (s->activation != ATTN_IDENTITY && at_recording(tape)) {
        s->pre = at_tape_numbers(tape, y->rows * y->columns);
        if (!s->pre) return NULL;
    }
    at_scratch mark = at_scratch_mark(tape);
    attn_packed_weight own;
    const attn_packed_weight *packed = at_packed_weight(tape, weight, 0, &own);
    if (!packed) return NULL;
    at_convolution_call call = {.window = s->window,
                                .weight = packed,
                                .bias = bias ? bias->value : NULL,
                                .activation = s->activation,
                                .x = at_data_of(x),
                                .y = at_data_of(y),
                                .pre = s->pre};
    at_tape_did(tape, at_tape_run(tape)->convolution(at_tape_context(tape), &call));
    at_scratch_release(tape, mark);
    at_record(tape, y, convolution_backward, s,
              at_parameter_wanted(tape, weight) || at_parameter_wanted(tape, bias), x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}

attn_variable *attn_tape_convolution(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                     attn_parameter *weight, attn_parameter *bias,
                                     const attn_convolution_options *options) {
    attn_convolution_options o;
    if (!at_tape_ready(tape) || !at_tape_has(tape, "convolution", "x", x) ||
        !take_options(tape, options, &o) || !check_weights(tape, x, weight, bias, o.width)) {
        return NULL;
    }
    convolution_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!s) return NULL;
    memset(&s->window, 0, sizeof s->window);
    if (!at_tape_has_batch(tape, "convolution", batch, x->rows, &s->window.batch)) return NULL;
    int64_t before = o.causal ? o.width - 1 : o.width / 2;
    s->window.width = o.width;
    s->window.first = -before * o.dilation;
    s->window.step = o.dilation;
    return convolve(tape, x, weight, bias, o.activation, s);
}

attn_variable *attn_tape_convolution_grid(attn_tape *tape, attn_variable *x, const attn_grids *grids,
                                          attn_parameter *weight, attn_parameter *bias,
                                          const attn_convolution_options *options) {
    const int64_t widest = 32767; /* its square fits where a width does */
    attn_convolution_options o;
    if (!at_tape_ready(tape) || !at_tape_has(tape, "convolution", "x", x) || !take_options(tape, options, &o))
        return NULL;
    if (o.causal) {
        return at_tape_fail(tape, ATTN_UNSUPPORTED,
                            "convolution: the rows of a grid have no order: causal is for sequences");
    }
    if (o.width > widest) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                            "convolution: width is %" PRId64 "; over a grid 1 .. %" PRId64 " are possible",
                            o.width, widest);
    }
    if (!check_weights(tape, x, weight, bias, o.width * o.width)) return NULL;
    convolution_state *s = at_tape_memory(tape, 1, sizeof *s);
    attn_grids kept;
    if (!s || !at_tape_has_grids(tape, "convolution", grids, x->rows, &kept)) return NULL;
    s->window.batch = kept.batch;
    s->window.widths = kept.widths;
    s->window.side = o.width;
    s->window.width = o.width * o.width;
    s->window.first = -(o.width / 2) * o.dilation;
    s->window.step = o.dilation;
    return convolve(tape, x, weight, bias, o.activation, s);
}
