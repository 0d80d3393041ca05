/* ctc.c: connectionist temporal classification: the symbols of a sequence, without saying which rows they
 * are in.
 *
 *     loss = 1 / rows  sum over sequences of -log sum over all paths that mean the target of p(path)
 *
 * Its gradient is softmax(logits) less what the target expects of every row (forward-backward). Kept for the
 * walk back: the forward recursion. A sequence that cannot be its target adds nothing.
 *
 * A task is a run of sequences, cut by their number alone, and every sequence is computed alone.
 */
#include <math.h>
#include <string.h>

#include "ops/cpu.h"
#include "ops/rowwise.h"

enum { MOST_TASKS = 64 };

typedef struct ctc_run {
    const at_ctc_call *call;
    const at_row_kernels *row_kernels;
    int64_t task_sequences, tasks;
    int64_t *alpha_at; /* [sequences]: where the recursion of each begins */
    unsigned char *work;
    size_t work_bytes; /* of one worker */
    float factor;      /* going back: what arrives / rows */
} ctc_run;

static at_ctc_sequence sequence_of(const at_ctc_call *call, int64_t b) {
    const at_view *x = &call->logits;
    int64_t first = call->batch.offsets[b], target = call->target_batch.offsets[b];
    at_ctc_sequence s = {call->batch.offsets[b + 1] - first,
                         x->columns,
                         x->data + first * x->stride,
                         x->stride,
                         call->targets + target,
                         call->target_batch.offsets[b + 1] - target,
                         call->blank};
    return s;
}

int64_t at_ctc_alpha_count(const attn_ragged *batch, const attn_ragged *target_batch) {
    int64_t count = 0;
    for (int64_t b = 0; b < batch->sequences; b++) {
        int64_t length = target_batch->offsets[b + 1] - target_batch->offsets[b];
        count += (batch->offsets[b + 1] - batch->offsets[b]) * at_ctc_states(length);
    }
    return count * (int64_t)(sizeof(double) / sizeof(float));
}

/* What all tasks need, and the work there is, as floating-point operations. */
static attn_status prepare(attn_context *context, ctc_run *run, double *operations) {
    const at_ctc_call *call = run->call;
    const int64_t sequences = call->batch.sequences;
    int64_t longest = 0, states = 0;
    *operations = 20.0 * (double)call->logits.rows * (double)call->logits.columns;
    for (int64_t b = 0; b < sequences; b++) {
        at_ctc_sequence s = sequence_of(call, b);
        if (s.length > longest) longest = s.length;
        *operations += 100.0 * (double)s.rows * (double)at_ctc_states(s.length);
    }
    run->row_kernels = at_row_kernels_for(context->isa);
    run->task_sequences = (sequences + MOST_TASKS - 1) / MOST_TASKS;
    if (run->task_sequences < 1) run->task_sequences = 1;
    run->tasks = (sequences + run->task_sequences - 1) / run->task_sequences;
    run->work_bytes = ((size_t)at_ctc_work(longest) * sizeof(double) + 63) / 64 * 64; /* no shared lines */
    at_layout layout = {0, 0};
    size_t work_at = at_layout_add(&layout, context->threads, run->work_bytes);
    size_t alpha_at = at_layout_add(&layout, sequences, sizeof *run->alpha_at);
    unsigned char *memory;
    attn_status status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    run->work = memory + work_at;
    run->alpha_at = (int64_t *)(void *)(memory + alpha_at);
    for (int64_t b = 0; b < sequences; b++) {
        at_ctc_sequence s = sequence_of(call, b);
        run->alpha_at[b] = states;
        states += s.rows * at_ctc_states(s.length);
    }
    return ATTN_OK;
}

static int64_t end_of_task(const ctc_run *run, int64_t task) {
    int64_t end = (task + 1) * run->task_sequences;
    return end < run->call->batch.sequences ? end : run->call->batch.sequences;
}

static void loss_task(void *argument, int64_t task, int worker) {
    const ctc_run *run = argument;
    const at_ctc_call *call = run->call;
    double *work = (double *)(void *)(run->work + (size_t)worker * run->work_bytes);
    for (int64_t b = task * run->task_sequences; b < end_of_task(run, task); b++) {
        at_ctc_sequence s = sequence_of(call, b);
        /* No row is the empty target, and no other. */
        call->log_p[b] =
            s.rows     ? run->row_kernels->ctc_forward(&s, work, call->normal + 2 * call->batch.offsets[b],
                                                       call->alpha + run->alpha_at[b])
            : s.length ? -INFINITY
                       : 0.0;
    }
}

attn_status at_cpu_ctc(attn_context *context, const at_ctc_call *call) {
    ctc_run run = {.call = call};
    double operations, total = 0.0;
    attn_status status = prepare(context, &run, &operations);
    if (status != ATTN_OK) return status;
    at_run_tasks(context, operations, run.tasks, loss_task, &run);
    for (int64_t b = 0; b < call->batch.sequences; b++) {
        if (call->log_p[b] != -INFINITY) total -= call->log_p[b];
    }
    call->loss[0] = call->logits.rows ? (float)(total / (double)call->logits.rows) : 0.0f;
    return ATTN_OK;
}

static void gradient_task(void *argument, int64_t task, int worker) {
    const ctc_run *run = argument;
    const at_ctc_call *call = run->call;
    double *work = (double *)(void *)(run->work + (size_t)worker * run->work_bytes);
    for (int64_t b = task * run->task_sequences; b < end_of_task(run, task); b++) {
        at_ctc_sequence s = sequence_of(call, b);
        const int64_t first = call->batch.offsets[b], stride = call->dx.stride;
        float *dx = call->dx.data + first * stride;
        if (s.rows && call->log_p[b] != -INFINITY)
            run->row_kernels->ctc_backward(&s, call->normal + 2 * first, call->alpha + run->alpha_at[b], work,
                                           dx, stride);
        for (int64_t t = 0; t < s.rows; t++) {
            if (call->log_p[b] != -INFINITY)
                run->row_kernels->scale(s.symbols, run->factor, dx + t * stride, dx + t * stride);
            else
                memset(dx + t * stride, 0, (size_t)s.symbols * sizeof *dx);
        }
    }
}

attn_status at_cpu_ctc_backward(attn_context *context, const at_ctc_call *call) {
    ctc_run run = {.call = call};
    double operations;
    attn_status status = prepare(context, &run, &operations);
    if (status != ATTN_OK) return status;
    run.factor = call->logits.rows ? call->d_loss[0] / (float)call->logits.rows : 0.0f;
    at_run_tasks(context, operations, run.tasks, gradient_task, &run);
    return ATTN_OK;
}
