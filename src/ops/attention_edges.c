/* attention_edges.c: attention over lists of neighbours: memory, tasks, and the
 * order of the passes. The numbers are in kernels/impl/attention_edges*.c.
 *
 * forward    [GAT: the numbers a . q and b . k], the rows, the hubs, the weights
 * backward   [the same numbers], row terms, the rows by query, the rows by key,
 *            each followed by its hubs; then the score vectors' gradients are
 *            summed in the order of the tasks.
 *
 * On a graph a task is one of its pieces; on positions it is a block of rows of
 * one head.
 */
#include "ops/attention_edges.h"

#include <string.h>

#include "base/arithmetic.h"
#include "ops/attention_staging.h"
#include "ops/check.h"

typedef struct edges_run {
    at_attention_call checked;
    const at_kernels *kernels;
    at_layout layout;
    at_staging staging;
    size_t sequences_at, query_scores_at, key_scores_at, partials_at, log_sum_exp_at, row_terms_at,
        vectors_at, key_vectors_at, scratch_at, scratch_bytes;
    int64_t tasks, column_tasks; /* by row and by column */
    int threads;
    int own_log_sum_exp;
    int by_column, backward; /* of the pass that runs */
    unsigned char *memory;
} edges_run;

/* Which rows a numbering of tasks goes over. */
typedef enum numbering { BY_ROW, BY_COLUMN, QUERY_TERMS, KEY_TERMS } numbering;

static int64_t tasks_of(const edges_run *run, const at_sequence *s, numbering by) {
    const at_attention *kernel = &run->checked.kernel;
    int64_t rows = by == BY_COLUMN || by == KEY_TERMS ? s->keys : s->queries;
    int64_t blocks = (rows + run->kernels->attention_edges_rows - 1) / run->kernels->attention_edges_rows;
    if (by == QUERY_TERMS || by == KEY_TERMS) return blocks;
    return blocks * (by == BY_COLUMN ? kernel->kv_heads : kernel->heads);
}

static int64_t count_tasks(const edges_run *run, numbering by) {
    const at_attention *kernel = &run->checked.kernel;
    int64_t tasks = 0;
    if (kernel->by_row && by == BY_ROW) return kernel->by_row->piece_count;
    if (kernel->by_row && by == BY_COLUMN) return kernel->by_column->piece_count;
    for (int64_t b = 0; b < kernel->sequence_count; b++) {
        at_sequence s = at_attention_sequence(&run->checked, b);
        tasks += tasks_of(run, &s, by);
    }
    return tasks;
}

/* Numbers the tasks of a pass through the sequences. */
static void number_tasks(edges_run *run, numbering by) {
    at_sequence *sequences = (at_sequence *)(run->memory + run->sequences_at);
    int64_t first = 0, weights = 0;
    for (int64_t b = 0; b < run->checked.kernel.sequence_count; b++) {
        sequences[b] = at_attention_sequence(&run->checked, b);
        sequences[b].first_task = first;
        sequences[b].weights_offset = weights;
        first += tasks_of(run, sequences + b, by);
        weights += run->checked.kernel.heads * sequences[b].queries * sequences[b].weights_width;
    }
    run->checked.kernel.sequences = sequences;
}

static int64_t all_rows(const edges_run *run, int64_t rows) {
    return run->checked.batched ? rows * run->checked.kernel.sequence_count : rows;
}

/* What both passes need. */
static void lay_out_common(const attn_context *context, edges_run *run, int64_t partial_numbers) {
    const at_attention *kernel = &run->checked.kernel;
    int64_t terms = kernel->score == ATTN_SCORE_GAT ? kernel->heads : 0;
    run->threads = at_threads_for(context, run->checked.pairs * 5.0 * (kernel->d_k + kernel->d_v));
    run->tasks = count_tasks(run, BY_ROW);
    run->sequences_at = at_layout_add(&run->layout, kernel->sequence_count, sizeof(at_sequence));
    run->query_scores_at =
        at_layout_add(&run->layout, all_rows(run, run->checked.query_rows), (size_t)terms * sizeof(float));
    run->key_scores_at =
        at_layout_add(&run->layout, all_rows(run, run->checked.key_rows), (size_t)terms * sizeof(float));
    run->partials_at = at_layout_add(&run->layout, partial_numbers, sizeof(float));
    run->scratch_bytes =
        (run->kernels->attention_edges_scratch(kernel) + AT_ALIGNMENT - 1) / AT_ALIGNMENT * AT_ALIGNMENT;
    run->scratch_at = at_layout_add(&run->layout, run->threads, run->scratch_bytes);
}

/* One number (or two) for every (row, head) of a workspace. */
static at_rows rows_of_numbers(const edges_run *run, size_t at, int64_t rows, int64_t numbers) {
    int64_t heads = run->checked.kernel.heads;
    at_rows result = {(float *)(run->memory + at), 0, heads * numbers, numbers};
    if (run->checked.batched) result.sequence = rows * result.row;
    return result;
}

typedef struct terms_run {
    edges_run *run;
    int of_keys;
} terms_run;

static void terms_task(void *argument, int64_t task, int worker) {
    const terms_run *terms = argument;
    (void)worker;
    terms->run->kernels->attention_score_terms(&terms->run->checked.kernel, terms->of_keys, task);
}

/* Memory for the call, and the numbers of GAT. */
static attn_status begin(attn_context *context, edges_run *run) {
    at_attention *kernel = &run->checked.kernel;
    attn_status status = at_context_memory(context, &run->layout, &run->memory);
    if (status != ATTN_OK) return status;
    kernel->partials = (float *)(run->memory + run->partials_at);
    at_stage_in(&run->staging, run->memory);
    if (kernel->score != ATTN_SCORE_GAT) return ATTN_OK;
    kernel->query_scores = rows_of_numbers(run, run->query_scores_at, run->checked.query_rows, 1);
    kernel->key_scores = rows_of_numbers(run, run->key_scores_at, run->checked.key_rows, 1);
    for (int of_keys = 0; of_keys < 2; of_keys++) {
        terms_run terms = {run, of_keys};
        number_tasks(run, of_keys ? KEY_TERMS : QUERY_TERMS);
        at_compute(context->pool, run->threads, count_tasks(run, of_keys ? KEY_TERMS : QUERY_TERMS),
                   terms_task, &terms);
    }
    return ATTN_OK;
}

static void *scratch_of(const edges_run *run, int worker) {
    return run->memory + run->scratch_at + (size_t)worker * run->scratch_bytes;
}
static void forward_task(void *argument, int64_t task, int worker) {
    edges_run *run = argument;
    run->kernels->attention_edges_forward(&run->checked.kernel, task, scratch_of(run, worker));
}
static void weights_task(void *argument, int64_t task, int worker) {
    edges_run *run = argument;
    run->kernels->attention_edges_weights(&run->checked.kernel, task, scratch_of(run, worker));
}
static void row_terms_task(void *argument, int64_t task, int worker) {
    edges_run *run = argument;
    run->kernels->attention_edges_row_terms(&run->checked.kernel, task, scratch_of(run, worker));
}
static void backward_task(void *argument, int64_t task, int worker) {
    edges_run *run = argument;
    run->kernels->attention_edges_backward(&run->checked.kernel, run->by_column, task,
                                           scratch_of(run, worker));
}
static void merge_task(void *argument, int64_t hub, int worker) {
    edges_run *run = argument;
    (void)worker;
    run->kernels->attention_edges_merge(&run->checked.kernel, run->backward, run->by_column, hub);
}

static void merge_hubs(attn_context *context, edges_run *run) {
    const at_adjacency *adjacency =
        run->by_column ? run->checked.kernel.by_column : run->checked.kernel.by_row;
    if (adjacency) at_compute(context->pool, run->threads, adjacency->hub_count, merge_task, run);
}

attn_status at_attention_edges_forward(attn_context *context, const at_attention_call *checked,
                                       const attn_tensor *const operands[4], size_t *bytes) {
    edges_run run = {.checked = *checked, .kernels = at_kernels_for(context->isa)};
    at_attention *kernel = &run.checked.kernel;
    run.own_log_sum_exp = bytes || (kernel->weights && !kernel->log_sum_exp.data);
    int64_t partials = kernel->by_row ? kernel->by_row->partial_count : 0;
    lay_out_common(context, &run, partials * run.kernels->attention_edges_partial(kernel, 0, 0));
    run.log_sum_exp_at =
        at_layout_add(&run.layout, run.own_log_sum_exp ? all_rows(&run, run.checked.query_rows) : 0,
                      (size_t)kernel->heads * sizeof(float));
    at_rows *rows[4] = {&kernel->query, &kernel->key, &kernel->value, &kernel->output};
    for (int o = 0; o < 4; o++) at_stage(&run.staging, &run.layout, operands[o], rows[o], o == 3);
    if (bytes) {
        *bytes = run.layout.bytes;
        return run.layout.overflow
                   ? at_fail(context, ATTN_OVERFLOW, "the working memory is more than a size can count")
                   : ATTN_OK;
    }
    attn_status status = begin(context, &run);
    if (status != ATTN_OK) return status;
    if (run.own_log_sum_exp)
        kernel->log_sum_exp = rows_of_numbers(&run, run.log_sum_exp_at, run.checked.query_rows, 1);
    number_tasks(&run, BY_ROW);
    at_compute(context->pool, run.threads, run.tasks, forward_task, &run);
    merge_hubs(context, &run);
    if (kernel->weights) at_compute(context->pool, run.threads, run.tasks, weights_task, &run);
    at_stage_out(&run.staging, run.memory);
    return ATTN_OK;
}

/* The gradient of a score vector: the tasks' parts, in order. On positions the
 * head of a part is that of its task. */
static void sum_vectors(const edges_run *run, int by_column, const float *parts, float *gradient) {
    const at_attention *kernel = &run->checked.kernel;
    const uint64_t mode = at_arithmetic_begin();
    memset(gradient, 0, (size_t)(kernel->heads * kernel->d_k) * sizeof(float));
    int64_t tasks = by_column ? run->column_tasks : run->tasks, task = 0;
    for (int64_t b = 0; b < kernel->sequence_count; b++) {
        int64_t count =
            kernel->by_row ? tasks : tasks_of(run, kernel->sequences + b, by_column ? BY_COLUMN : BY_ROW);
        int64_t kv = by_column ? kernel->kv_heads : kernel->heads, group = by_column ? kernel->group : 1;
        for (int64_t t = 0; t < count; t++, task++) {
            int64_t slots = kernel->by_row ? kernel->heads : group;
            int64_t first_head = kernel->by_row ? 0 : t / (count / kv) * group;
            for (int64_t s = 0; s < slots; s++) {
                const float *part = parts + (task * slots + s) * kernel->d_k;
                float *target = gradient + (first_head + s) * kernel->d_k;
                for (int c = 0; c < kernel->d_k; c++) target[c] += part[c];
            }
        }
    }
    at_arithmetic_end(mode);
}

/* By row, then by column; each only if something of it is wanted. */
static void run_passes(attn_context *context, edges_run *run, const attn_attention_gradients *gradients) {
    at_attention *kernel = &run->checked.kernel;
    /* rows that add to the same entries of a bias gradient must do so in order */
    int shared = (kernel->d_bias && (!kernel->d_bias_sequence || !kernel->d_bias_head ||
                                     !kernel->d_bias_query || run->checked.options.bias_of)) ||
                 kernel->d_distance;
    run->backward = 1;
    number_tasks(run, BY_ROW);
    at_compute(context->pool, run->threads, run->tasks, row_terms_task, run);
    at_compute(context->pool, shared ? 1 : run->threads, run->tasks, backward_task, run);
    merge_hubs(context, run);
    if (kernel->vector_partials) sum_vectors(run, 0, kernel->vector_partials, gradients->score_vector.data);
    run->by_column = 1;
    if (!kernel->d_key.data && !kernel->d_value.data && !kernel->key_vector_partials) return;
    number_tasks(run, BY_COLUMN);
    at_compute(context->pool, run->threads, run->column_tasks, backward_task, run);
    merge_hubs(context, run);
    if (kernel->key_vector_partials)
        sum_vectors(run, 1, kernel->key_vector_partials, gradients->key_score_vector.data);
}

static int64_t largest_partials(const edges_run *run) {
    const at_attention *kernel = &run->checked.kernel;
    if (!kernel->by_row) return 0;
    int64_t by_row = kernel->by_row->partial_count * run->kernels->attention_edges_partial(kernel, 1, 0);
    int64_t by_column =
        kernel->by_column->partial_count * run->kernels->attention_edges_partial(kernel, 1, 1);
    return by_row > by_column ? by_row : by_column;
}

attn_status at_attention_edges_backward(attn_context *context, const at_attention_call *checked,
                                        const attn_tensor *const operands[8],
                                        const attn_attention_gradients *gradients, size_t *bytes) {
    edges_run run = {.checked = *checked, .kernels = at_kernels_for(context->isa)};
    at_attention *kernel = &run.checked.kernel;
    lay_out_common(context, &run, largest_partials(&run));
    run.column_tasks = count_tasks(&run, BY_COLUMN);
    int vectors = bytes ? kernel->score_vector != NULL : gradients->score_vector.data != NULL;
    int key_vectors = bytes ? kernel->key_score_vector != NULL : gradients->key_score_vector.data != NULL;
    int64_t slots = kernel->by_row ? kernel->heads : 1,
            key_slots = kernel->by_row ? kernel->heads : kernel->group;
    run.row_terms_at = at_layout_add(&run.layout, all_rows(&run, run.checked.query_rows),
                                     2 * (size_t)kernel->heads * sizeof(float));
    run.vectors_at =
        at_layout_add(&run.layout, vectors ? run.tasks * slots : 0, (size_t)kernel->d_k * sizeof(float));
    run.key_vectors_at = at_layout_add(&run.layout, key_vectors ? run.column_tasks * key_slots : 0,
                                       (size_t)kernel->d_k * sizeof(float));
    at_rows *rows[8] = {&kernel->query,    &kernel->key,     &kernel->value, &kernel->output,
                        &kernel->d_output, &kernel->d_query, &kernel->d_key, &kernel->d_value};
    for (int o = 0; o < 8; o++) {
        if (operands[o] && operands[o]->data)
            at_stage(&run.staging, &run.layout, operands[o], rows[o], o >= 5);
    }
    if (bytes) {
        *bytes = run.layout.bytes;
        return run.layout.overflow
                   ? at_fail(context, ATTN_OVERFLOW, "the working memory is more than a size can count")
                   : ATTN_OK;
    }
    attn_status status = begin(context, &run);
    if (status != ATTN_OK) return status;
    kernel->row_terms = rows_of_numbers(&run, run.row_terms_at, run.checked.query_rows, 2);
    kernel->row_terms.head = 1; /* first one number of all heads, then the other */
    if (vectors) kernel->vector_partials = (float *)(run.memory + run.vectors_at);
    if (key_vectors) kernel->key_vector_partials = (float *)(run.memory + run.key_vectors_at);
    if (gradients->bias.data) at_clear_tensor(&gradients->bias);
    if (gradients->distance_bias.data) at_clear_tensor(&gradients->distance_bias);
    run_passes(context, &run, gradients);
    at_stage_out(&run.staging, run.memory);
    return ATTN_OK;
}
