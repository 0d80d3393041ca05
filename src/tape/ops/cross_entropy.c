/* cross_entropy.c: the mean of -log softmax(x)[label].
 *
 * With w the class weights, s the smoothing, W the sum of w_label over the rows
 * that count, and z_c = log sum exp(x) - x_c,
 *
 *     loss = 1/W sum over rows of (1 - s) w_label z_label + s / classes sum_c w_c z_c
 *
 * Of a row only its maximum and the sum of exp(x - maximum) are kept.
 */
#include "base/options.h"
#include "tape/tape.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void attn_cross_entropy_options_init_sized(attn_cross_entropy_options *options, size_t size) {
    attn_cross_entropy_options own = {.size = sizeof own};
    own.ignored = -1;
    at_options_give(options, size, &own, sizeof own);
}

static double weight_of(const at_cross_entropy_call *s, int64_t c) {
    return s->weights ? (double)s->weights[c] : 1.0;
}

static void cross_entropy_backward(attn_tape *tape, at_node *node) {
    at_cross_entropy_call call = *(const at_cross_entropy_call *)node->state;
    attn_variable *x = node->input[0];
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    call.d_loss = node->output->gradient;
    call.dx = at_place_of(&dx, x);
    at_tape_did(tape, at_tape_run(tape)->cross_entropy_backward(at_tape_context(tape), &call));
    at_gradient_end(tape, x, &dx);
}

static int check_options(attn_tape *tape, const attn_cross_entropy_options *options, int64_t classes) {
    if (!(options->smoothing >= 0.0f && options->smoothing < 1.0f)) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "cross_entropy: smoothing is %g, but must be at least 0 and less than 1",
                     (double)options->smoothing);
        return 0;
    }
    for (int64_t c = 0; options->class_weights && c < classes; c++) {
        if (options->class_weights[c] >= 0.0f && options->class_weights[c] < INFINITY) continue;
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "cross_entropy: the weight of class %" PRId64 " is %g, but must be finite and not "
                     "negative",
                     c, (double)options->class_weights[c]);
        return 0;
    }
    return 1;
}

/* Checks the labels and adds up the weights of the rows that count. */
static int count_labels(attn_tape *tape, at_cross_entropy_call *s) {
    for (int64_t c = 0; c < s->x.columns; c++) s->all_weights += weight_of(s, c);
    for (int64_t i = 0; i < s->x.rows; i++) {
        int32_t label = s->labels[i];
        if (label == s->ignored) continue;
        if (label < 0 || label >= s->x.columns) {
            at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                         "cross_entropy: label %" PRId64 " is %d, but there are %" PRId64 " classes", i,
                         (int)label, s->x.columns);
            return 0;
        }
        s->counted += weight_of(s, label);
    }
    return 1;
}

attn_variable *attn_tape_cross_entropy(attn_tape *tape, attn_variable *logits, const int32_t *labels,
                                       const attn_cross_entropy_options *options) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "cross_entropy", "logits", logits)) return NULL;
    attn_cross_entropy_options own;
    attn_cross_entropy_options_init(&own);
    if (!at_tape_options(tape, "cross_entropy", "options", "attn_cross_entropy_options_init", options,
                         AT_FIRST_SIZE(attn_cross_entropy_options, ignored), sizeof own, &own))
        return NULL;
    options = &own;
    if (!labels && logits->rows > 0)
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "cross_entropy: labels is NULL");
    if (!check_options(tape, options, logits->columns)) return NULL;
    const int64_t rows = logits->rows, classes = logits->columns;
    attn_variable *loss = at_result(tape, 1, 1);
    at_cross_entropy_call *s = at_tape_memory(tape, 1, sizeof *s);
    if (!loss || !s) return NULL;
    memset(s, 0, sizeof *s);
    s->x = at_data_of(logits);
    s->smoothing = options->smoothing;
    s->ignored = options->ignored;
    s->labels = at_tape_copy(tape, labels, rows, sizeof *labels);
    if (options->class_weights) {
        s->weights = at_tape_copy(tape, options->class_weights, classes, sizeof(float));
        if (!s->weights) return NULL;
    }
    s->maximum = at_tape_numbers(tape, rows);
    s->sum = at_tape_numbers(tape, rows);
    if (!s->labels || !s->maximum || !s->sum || !count_labels(tape, s)) return NULL;
    s->loss = loss->data;
    at_tape_did(tape, at_tape_run(tape)->cross_entropy(at_tape_context(tape), s));
    at_record(tape, loss, cross_entropy_backward, s, 0, logits, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? loss : NULL;
}
