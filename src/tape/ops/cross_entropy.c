/* cross_entropy.c: the mean of -log softmax(x)[label].
 *
 * With w the class weights, s the smoothing, W the sum of w_label over the rows
 * that count, and z_c = log sum exp(x) - x_c,
 *
 *     loss = 1/W sum over rows of (1 - s) w_label z_label + s / classes sum_c w_c z_c
 *     d loss / d x_c = 1/W (softmax_c A - (1 - s) w_label [c = label] - s / classes w_c)
 *     A = (1 - s) w_label + s / classes sum_c w_c
 *
 * Of a row only its maximum and the sum of exp(x - maximum) are kept; the walk
 * back computes the exponentials again, straight into the gradient. Distances
 * to the maximum are taken before anything is added to them, so that large
 * logits lose no digits.
 */
#include "tape/tape.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 256, TASK_NUMBERS = 16384 };

typedef struct cross_entropy_state {
    const at_network *network;
    attn_variable *x;
    const int32_t *labels;
    const float *weights; /* NULL: 1 */
    float smoothing;
    int32_t ignored;
    int64_t task_rows;
    double all_weights;    /* the sum over the classes */
    double counted;        /* the sum of the weights of the rows that count */
    float *maximum, *sum;  /* of each row */
    double *row_loss;      /* times `counted` */
    double scale;          /* going back: what arrives / counted */
    at_gradient *gradient; /* going back */
} cross_entropy_state;

void attn_cross_entropy_options_init(attn_cross_entropy_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->ignored = -1;
}

static double weight_of(const cross_entropy_state *s, int64_t c) {
    return s->weights ? (double)s->weights[c] : 1.0;
}

static void forward_task(void *argument, int64_t task, int worker) {
    const cross_entropy_state *s = argument;
    const attn_variable *x = s->x;
    int64_t first = task * s->task_rows,
            end = first + s->task_rows < x->rows ? first + s->task_rows : x->rows;
    float logarithm[MOST_ROWS];
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        s->sum[i] = 1.0f;
        if (s->labels[i] == s->ignored) continue;
        s->network->exponential_sum(x->columns, x->data + i * x->stride, &s->maximum[i], &s->sum[i]);
    }
    s->network->logarithm(end - first, s->sum + first, logarithm);
    for (int64_t i = first; i < end; i++) {
        s->row_loss[i] = 0.0;
        if (s->labels[i] == s->ignored) continue;
        const float *row = x->data + i * x->stride;
        double log_sum = (double)logarithm[i - first];
        double own = log_sum + ((double)s->maximum[i] - (double)row[s->labels[i]]);
        double smoothing = (double)s->smoothing;
        s->row_loss[i] = (1.0 - smoothing) * weight_of(s, s->labels[i]) * own;
        if (smoothing > 0.0) {
            double all = s->network->distance_sum(x->columns, s->weights, s->maximum[i], row);
            s->row_loss[i] += smoothing / (double)x->columns * (s->all_weights * log_sum + all);
        }
    }
}

static void backward_task(void *argument, int64_t task, int worker) {
    const cross_entropy_state *s = argument;
    const attn_variable *x = s->x;
    int64_t end = (task + 1) * s->task_rows < x->rows ? (task + 1) * s->task_rows : x->rows;
    (void)worker;
    for (int64_t i = task * s->task_rows; i < end; i++) {
        float *slope = s->gradient->data + i * s->gradient->stride;
        if (s->labels[i] == s->ignored || s->scale == 0.0) {
            memset(slope, 0, (size_t)x->columns * sizeof(float));
            continue;
        }
        double spread = (double)s->smoothing / (double)x->columns;
        double own = (1.0 - (double)s->smoothing) * weight_of(s, s->labels[i]);
        double factor = s->scale * (own + spread * s->all_weights) / (double)s->sum[i];
        s->network->softmax_slope(x->columns, s->weights, s->maximum[i], (float)factor,
                                  (float)(s->scale * spread), x->data + i * x->stride, slope);
        slope[s->labels[i]] -= (float)(s->scale * own);
    }
}

static void cross_entropy_run(attn_tape *tape, cross_entropy_state *s, at_task_function function) {
    int64_t rows = s->x->rows;
    at_tape_parallel(tape, 12.0 * (double)rows * (double)s->x->columns,
                     (rows + s->task_rows - 1) / s->task_rows, function, s);
}

static void cross_entropy_backward(attn_tape *tape, at_node *node) {
    cross_entropy_state *s = node->state;
    at_gradient dx = at_gradient_begin(tape, node->input[0]);
    if (!dx.data) return;
    s->scale = s->counted > 0.0 ? (double)node->output->gradient[0] / s->counted : 0.0;
    s->gradient = &dx;
    cross_entropy_run(tape, s, backward_task);
    at_gradient_end(tape, node->input[0], &dx);
}

static int check_options(attn_tape *tape, const attn_cross_entropy_options *options, int64_t classes) {
    if (options->size != sizeof *options) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "cross_entropy: call attn_cross_entropy_options_init first");
        return 0;
    }
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
static int count_labels(attn_tape *tape, cross_entropy_state *s) {
    for (int64_t c = 0; c < s->x->columns; c++) s->all_weights += weight_of(s, c);
    for (int64_t i = 0; i < s->x->rows; i++) {
        int32_t label = s->labels[i];
        if (label == s->ignored) continue;
        if (label < 0 || label >= s->x->columns) {
            at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                         "cross_entropy: label %" PRId64 " is %d, but there are %" PRId64 " classes", i,
                         (int)label, s->x->columns);
            return 0;
        }
        s->counted += weight_of(s, label);
    }
    return 1;
}

attn_variable *attn_tape_cross_entropy(attn_tape *tape, attn_variable *logits, const int32_t *labels,
                                       const attn_cross_entropy_options *options) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "cross_entropy", "logits", logits)) return NULL;
    attn_cross_entropy_options defaults;
    attn_cross_entropy_options_init(&defaults);
    if (!options) options = &defaults;
    if (!labels && logits->rows > 0)
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "cross_entropy: labels is NULL");
    if (!check_options(tape, options, logits->columns)) return NULL;
    const int64_t rows = logits->rows, classes = logits->columns;
    attn_variable *loss = at_result(tape, 1, 1);
    cross_entropy_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!loss || !s) return NULL;
    memset(s, 0, sizeof *s);
    s->network = at_tape_network(tape);
    s->x = logits;
    s->smoothing = options->smoothing;
    s->ignored = options->ignored;
    s->task_rows = TASK_NUMBERS / classes < 4 ? 4 : TASK_NUMBERS / classes;
    if (s->task_rows > MOST_ROWS) s->task_rows = MOST_ROWS;
    s->labels = at_tape_copy(tape, labels, rows, sizeof *labels);
    if (options->class_weights) {
        s->weights = at_tape_copy(tape, options->class_weights, classes, sizeof(float));
        if (!s->weights) return NULL;
    }
    s->maximum = at_tape_memory(tape, rows, sizeof(float));
    s->sum = at_tape_memory(tape, rows, sizeof(float));
    if (!s->labels || !s->maximum || !s->sum || !count_labels(tape, s)) return NULL;
    at_mark mark = at_scratch_mark(tape);
    s->row_loss = at_scratch_memory(tape, rows, sizeof *s->row_loss);
    if (!s->row_loss) return NULL;
    cross_entropy_run(tape, s, forward_task);
    double total = 0.0;
    for (int64_t i = 0; i < rows; i++) total += s->row_loss[i];
    at_scratch_release(tape, mark);
    loss->data[0] = s->counted > 0.0 ? (float)(total / s->counted) : 0.0f;
    at_record(tape, loss, cross_entropy_backward, s, 0, logits, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? loss : NULL;
}
