/* norm.c: layer norm and RMS norm of every row.
 *
 *     y = gain * (x - mean) / sqrt(variance + epsilon) + bias
 *     y = gain * x / sqrt(mean of x^2 + epsilon)
 *
 * For the way back two numbers a row are kept; the rest is computed again from x.
 */
#include "tape/tape.h"

#include <inttypes.h>
#include <math.h>

typedef struct norm_state {
    attn_parameter *gain, *bias; /* NULL: none */
    float epsilon;
    int centred;           /* layer norm: the mean is taken away */
    float *mean, *inverse; /* [rows]; mean NULL if not centred */
} norm_state;

static int has_vector(attn_tape *tape, const char *operation, const char *name, const attn_parameter *vector,
                      const attn_variable *x) {
    if (!vector) return 1;
    if (!at_tape_has_parameter(tape, operation, name, vector, -1, -1)) return 0;
    if (vector->count == x->columns) return 1;
    at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                 "%s: %s (%s) has %" PRId64 " numbers, x is %" PRId64 " x %" PRId64, operation, name,
                 vector->name, vector->count, x->rows, x->columns);
    return 0;
}

static norm_state *create(attn_tape *tape, const char *operation, const attn_variable *x,
                          attn_parameter *gain, attn_parameter *bias, float epsilon, int centred) {
    if (!has_vector(tape, operation, "gain", gain, x) || !has_vector(tape, operation, "bias", bias, x)) {
        return NULL;
    }
    if (!(epsilon >= 0.0f) || isinf(epsilon)) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                            "%s: an epsilon of %g is negative or no finite number", operation,
                            (double)epsilon);
    }
    norm_state *norm = at_tape_memory(tape, 1, sizeof *norm);
    float *numbers = norm ? at_tape_numbers(tape, 2 * x->rows) : NULL;
    if (!numbers) return NULL;
    norm->gain = gain;
    norm->bias = bias;
    norm->epsilon = epsilon;
    norm->centred = centred;
    norm->inverse = numbers;
    norm->mean = centred ? numbers + x->rows : NULL;
    return norm;
}

static void norm_backward(attn_tape *tape, at_node *node) {
    const norm_state *norm = node->state;
    attn_variable *x = node->input[0];
    int adds;
    at_gradient dx = at_gradient_adding(tape, x, &adds);
    at_gradient d_gain = at_parameter_gradient_begin(tape, norm->gain);
    at_gradient d_bias = at_parameter_gradient_begin(tape, norm->bias);
    if (attn_tape_status(tape) == ATTN_OK) {
        at_norm_backward_call call = {.centred = norm->centred,
                                      .gain = norm->gain ? norm->gain->value : NULL,
                                      .mean = norm->mean,
                                      .inverse = norm->inverse,
                                      .d = at_gradient_of(node->output),
                                      .x = at_data_of(x),
                                      .dx = at_place_of(&dx, x),
                                      .adds = adds,
                                      .d_gain = d_gain.data,
                                      .d_bias = d_bias.data};
        at_tape_did(tape, at_tape_run(tape)->norm_backward(at_tape_context(tape), &call));
    }
    at_parameter_gradient_end(tape, norm->gain, &d_gain);
    at_parameter_gradient_end(tape, norm->bias, &d_bias);
}

static attn_variable *normalise(attn_tape *tape, const char *operation, attn_variable *x,
                                attn_parameter *gain, attn_parameter *bias, float epsilon, int centred) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, operation, "x", x)) return NULL;
    norm_state *norm = create(tape, operation, x, gain, bias, epsilon, centred);
    attn_variable *y = norm ? at_result(tape, x->rows, x->columns) : NULL;
    if (!y) return NULL;
    at_norm_call call = {.centred = centred,
                         .epsilon = epsilon,
                         .gain = gain ? gain->value : NULL,
                         .bias = bias ? bias->value : NULL,
                         .x = at_data_of(x),
                         .y = at_data_of(y),
                         .mean = norm->mean,
                         .inverse = norm->inverse};
    at_tape_did(tape, at_tape_run(tape)->norm(at_tape_context(tape), &call));
    at_record(tape, y, norm_backward, norm,
              at_parameter_wanted(tape, gain) || at_parameter_wanted(tape, bias), x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}

attn_variable *attn_tape_layer_norm(attn_tape *tape, attn_variable *x, attn_parameter *gain,
                                    attn_parameter *bias, float epsilon) {
    return normalise(tape, "layer_norm", x, gain, bias, epsilon, 1);
}

attn_variable *attn_tape_rms_norm(attn_tape *tape, attn_variable *x, attn_parameter *gain, float epsilon) {
    return normalise(tape, "rms_norm", x, gain, NULL, epsilon, 0);
}
