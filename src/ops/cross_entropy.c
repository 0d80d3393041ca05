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
#include <string.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"

enum { MOST_ROWS = 256, TASK_NUMBERS = 16384 };

typedef struct cross_entropy_run {
    const at_cross_entropy_call *call;
    const at_row_kernels *row_kernels;
    int64_t task_rows;
    double *row_loss; /* forward: times `counted` */
    double scale;     /* backward: what arrives / counted */
} cross_entropy_run;

static double weight_of(const at_cross_entropy_call *s, int64_t c) {
    return s->weights ? (double)s->weights[c] : 1.0;
}

static void forward_task(void *argument, int64_t task, int worker) {
    const cross_entropy_run *run = argument;
    const at_cross_entropy_call *s = run->call;
    const at_view *x = &s->x;
    int64_t first = task * run->task_rows,
            end = first + run->task_rows < x->rows ? first + run->task_rows : x->rows;
    float logarithm[MOST_ROWS];
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        s->sum[i] = 1.0f;
        if (s->labels[i] == s->ignored) continue;
        run->row_kernels->exponential_sum(x->columns, x->data + i * x->stride, &s->maximum[i], &s->sum[i]);
    }
    run->row_kernels->logarithm(end - first, s->sum + first, logarithm);
    for (int64_t i = first; i < end; i++) {
        run->row_loss[i] = 0.0;
        if (s->labels[i] == s->ignored) continue;
        const float *row = x->data + i * x->stride;
        double log_sum = (double)logarithm[i - first];
        double own = log_sum + ((double)s->maximum[i] - (double)row[s->labels[i]]);
        double smoothing = (double)s->smoothing;
        run->row_loss[i] = (1.0 - smoothing) * weight_of(s, s->labels[i]) * own;
        if (smoothing > 0.0) {
            double all = run->row_kernels->distance_sum(x->columns, s->weights, s->maximum[i], row);
            run->row_loss[i] += smoothing / (double)x->columns * (s->all_weights * log_sum + all);
        }
    }
}

static void backward_task(void *argument, int64_t task, int worker) {
    const cross_entropy_run *run = argument;
    const at_cross_entropy_call *s = run->call;
    const at_view *x = &s->x;
    int64_t end = (task + 1) * run->task_rows < x->rows ? (task + 1) * run->task_rows : x->rows;
    (void)worker;
    for (int64_t i = task * run->task_rows; i < end; i++) {
        float *slope = s->dx.data + i * s->dx.stride;
        if (s->labels[i] == s->ignored || run->scale == 0.0) {
            memset(slope, 0, (size_t)x->columns * sizeof(float));
            continue;
        }
        double spread = (double)s->smoothing / (double)x->columns;
        double own = (1.0 - (double)s->smoothing) * weight_of(s, s->labels[i]);
        double factor = run->scale * (own + spread * s->all_weights) / (double)s->sum[i];
        run->row_kernels->softmax_slope(x->columns, s->weights, s->maximum[i], (float)factor,
                                        (float)(run->scale * spread), x->data + i * x->stride, slope);
        slope[s->labels[i]] -= (float)(run->scale * own);
    }
}

static void run_all(const attn_context *context, cross_entropy_run *run, at_task_function function) {
    const at_view *x = &run->call->x;
    run->row_kernels = at_row_kernels_for(context->isa);
    run->task_rows = TASK_NUMBERS / x->columns < 4 ? 4 : TASK_NUMBERS / x->columns;
    if (run->task_rows > MOST_ROWS) run->task_rows = MOST_ROWS;
    at_run_tasks(context, 12.0 * (double)x->rows * (double)x->columns,
                 (x->rows + run->task_rows - 1) / run->task_rows, function, run);
}

attn_status at_cpu_cross_entropy(attn_context *context, const at_cross_entropy_call *call) {
    cross_entropy_run run = {.call = call};
    at_layout layout = {0, 0};
    at_layout_add(&layout, call->x.rows, sizeof(double));
    unsigned char *memory;
    attn_status status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    run.row_loss = (double *)(void *)memory;
    run_all(context, &run, forward_task);
    double total = 0.0;
    for (int64_t i = 0; i < call->x.rows; i++) total += run.row_loss[i];
    call->loss[0] = call->counted > 0.0 ? (float)(total / call->counted) : 0.0f;
    return ATTN_OK;
}

attn_status at_cpu_cross_entropy_backward(attn_context *context, const at_cross_entropy_call *call) {
    cross_entropy_run run = {.call = call};
    run.scale = call->counted > 0.0 ? (double)call->d_loss[0] / call->counted : 0.0;
    run_all(context, &run, backward_task);
    return ATTN_OK;
}
