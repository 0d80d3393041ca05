/* norm.c: the way back of layer norm and RMS norm.
 *
 * With z the normalised row, t = dy * gain and v the inverse of its deviation,
 *
 *     dx = v * (t - mean(t) - z * mean(t * z))      without mean(t) in an RMS norm
 *     d_gain = sum over rows of dy * z      d_bias = sum over rows of dy
 *
 * z is computed again from x: two numbers a row are kept. One pass makes dx and
 * the sums, which a task keeps for its chunk of rows; they are added up after.
 */
#include "tape/ops/norm.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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

at_norm *at_norm_create(attn_tape *tape, const char *operation, const attn_variable *x, attn_parameter *gain,
                        attn_parameter *bias, float epsilon, int centred) {
    if (!has_vector(tape, operation, "gain", gain, x) || !has_vector(tape, operation, "bias", bias, x)) {
        return NULL;
    }
    if (!(epsilon >= 0.0f) || isinf(epsilon)) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                            "%s: an epsilon of %g is negative or no finite number", operation,
                            (double)epsilon);
    }
    at_norm *norm = at_tape_memory(tape, 1, sizeof *norm);
    float *numbers = norm ? at_tape_memory(tape, x->rows, 2 * sizeof(float)) : NULL;
    if (!numbers) return NULL;
    norm->network = at_tape_network(tape);
    norm->gain = gain;
    norm->bias = bias;
    norm->epsilon = epsilon;
    norm->centred = centred;
    norm->inverse = numbers;
    norm->mean = centred ? numbers + x->rows : NULL;
    return norm;
}

typedef struct norm_run {
    const at_norm *norm;
    int64_t rows, columns;
    at_operand d, x, dx;
    int adds;               /* to dx */
    float *d_gain, *d_bias; /* partial sums, a row for each chunk; NULL: not wanted */
} norm_run;

static float *cleared_partial(float *partials, int64_t task, int64_t columns) {
    if (!partials) return NULL;
    return memset(partials + task * columns, 0, (size_t)columns * sizeof(float));
}

static void norm_task(void *argument, int64_t task, int worker) {
    const norm_run *run = argument;
    const at_norm *norm = run->norm;
    float *d_gain = cleared_partial(run->d_gain, task, run->columns);
    float *d_bias = cleared_partial(run->d_bias, task, run->columns);
    (void)worker;
    for (int64_t i = task * AT_CHUNK_ROWS; i < run->rows && i < (task + 1) * AT_CHUNK_ROWS; i++) {
        norm->network->norm_backward(run->columns, run->d.data + i * run->d.stride,
                                     run->x.data + i * run->x.stride, norm->gain ? norm->gain->value : NULL,
                                     norm->centred, norm->centred ? norm->mean[i] : 0.0f, norm->inverse[i],
                                     run->adds, run->dx.data ? run->dx.data + i * run->dx.stride : NULL,
                                     d_gain, d_bias);
    }
}

static void norm_backward(attn_tape *tape, at_node *node) {
    const at_norm *norm = node->state;
    attn_variable *x = node->input[0], *y = node->output;
    int64_t chunks = at_chunks_of(y->rows), columns = y->columns;
    at_mark mark = at_scratch_mark(tape);
    int adds;
    at_gradient dx = at_gradient_adding(tape, x, &adds);
    at_gradient d_gain = at_parameter_gradient_begin(tape, norm->gain);
    at_gradient d_bias = at_parameter_gradient_begin(tape, norm->bias);
    norm_run run = {.norm = norm,
                    .rows = y->rows,
                    .columns = columns,
                    .d = at_gradient_of(y),
                    .x = at_data_of(x),
                    .dx = at_place_of(&dx),
                    .adds = adds};
    if (d_gain.data) run.d_gain = at_scratch_memory(tape, chunks * columns, sizeof(float));
    if (d_bias.data) run.d_bias = at_scratch_memory(tape, chunks * columns, sizeof(float));
    if (attn_tape_status(tape) == ATTN_OK) {
        at_tape_parallel(tape, 16.0 * (double)y->rows * (double)columns, chunks, norm_task, &run);
        if (d_gain.data) at_sum_chunks(tape, chunks, columns, run.d_gain, d_gain.data);
        if (d_bias.data) at_sum_chunks(tape, chunks, columns, run.d_bias, d_bias.data);
    }
    at_parameter_gradient_end(tape, norm->gain, &d_gain);
    at_parameter_gradient_end(tape, norm->bias, &d_bias);
    at_scratch_release(tape, mark);
}

attn_variable *at_norm_finish(attn_tape *tape, attn_variable *x, attn_variable *y, at_norm *norm) {
    at_record(tape, y, norm_backward, norm,
              at_parameter_wanted(tape, norm->gain) || at_parameter_wanted(tape, norm->bias), x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
