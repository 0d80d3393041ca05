/* attention.c: the attention operator: memory, tasks, and the order of the
 * passes. What the numbers are is in kernels/impl/attention_*.c.
 *
 * forward    tasks: (head, block of queries), or (key/value head, chunk of
 *            keys) for sequences of a few queries, whose chunks are then merged;
 *            then the weights, if they are requested.
 * backward   row terms (delta, log-sum-exp) for every (sequence, head); then
 *            tasks: (key/value head, block of keys), which start in order and
 *            add to dQ in order.
 *
 * Graphs, and scores that are no products, go over lists of neighbours instead:
 * ops/attention_edges.c.
 *
 * Tasks are numbered sequence by sequence, and each sequence is cut by its own
 * shape alone.
 */
#include <attn/attention.h>

#include <inttypes.h>
#include <string.h>

#include "base/options.h"
#include "ops/attention.h"
#include "ops/attention_call.h"
#include "ops/attention_edges.h"
#include "ops/attention_staging.h"
#include "ops/check.h"
#include "ops/cpu.h"

void attn_attention_options_init_sized(attn_attention_options *options, size_t size) {
    attn_attention_options own = {.size = sizeof own};
    own.leaky_slope = 0.2f;
    at_options_give(options, size, &own, sizeof own);
}

void attn_attention_gradients_init_sized(attn_attention_gradients *gradients, size_t size) {
    attn_attention_gradients own = {.size = sizeof own};
    at_options_give(gradients, size, &own, sizeof own);
}

/* One call on its way: what was checked, where its memory is, who runs it. */
typedef struct attention_run {
    at_attention_call checked;
    const at_kernels *kernels;
    at_layout layout;
    at_staging staging;
    size_t sequences_at, partials_at, log_sum_exp_at, scratch_at;
    size_t row_terms_at, progress_at, previous_at, previous_distance_at, slots_at;
    size_t scratch_bytes;
    int64_t tasks, partials, slots;
    int threads;
    int own_log_sum_exp; /* the weights need it and the caller did not ask */
    unsigned char *memory;
} attention_run;

static int64_t chunks_of(int64_t keys, int64_t split) {
    return keys > 0 ? (keys + split - 1) / split : 1; /* without keys the zeros are still to be written */
}

/* ---- forward ---- */

/* Tasks and partial results of one sequence. */
static void count_forward(const attention_run *run, const at_sequence *s, int64_t *tasks, int64_t *partials) {
    const at_attention *kernel = &run->checked.kernel;
    int64_t split = run->kernels->attention_split_keys(kernel, s->queries, s->keys);
    *partials = 0;
    if (s->queries == 0) {
        *tasks = 0;
    } else if (split > 0) {
        int64_t chunks = chunks_of(s->keys, split);
        *tasks = kernel->kv_heads * chunks;
        if (chunks > 1) *partials = chunks * kernel->heads * s->queries * (kernel->d_v + 2);
    } else {
        int64_t block = run->kernels->attention_block(kernel, s->queries, s->keys);
        *tasks = kernel->heads * ((s->queries + block - 1) / block);
    }
}

static void lay_out_forward(const attn_context *context, attention_run *run, const attn_tensor *operands[4]) {
    at_attention *kernel = &run->checked.kernel;
    run->kernels = at_kernels_for(context->isa);
    run->threads = at_threads_for(context, run->checked.pairs * 2.0 * (kernel->d_k + kernel->d_v));
    for (int64_t b = 0; b < kernel->sequence_count; b++) {
        at_sequence s = at_attention_sequence(&run->checked, b);
        int64_t tasks, partials;
        count_forward(run, &s, &tasks, &partials);
        run->tasks += tasks;
        run->partials += partials;
    }
    run->sequences_at = at_layout_add(&run->layout, kernel->sequence_count, sizeof(at_sequence));
    run->partials_at = at_layout_add(&run->layout, run->partials, sizeof(float));
    int64_t batch = run->checked.batched ? kernel->sequence_count : 1;
    run->log_sum_exp_at =
        at_layout_add(&run->layout, run->own_log_sum_exp ? batch * run->checked.query_rows : 0,
                      (size_t)kernel->heads * sizeof(float));
    at_rows *rows[4] = {&kernel->query, &kernel->key, &kernel->value, &kernel->output};
    for (int o = 0; o < 4; o++) {
        if (operands[o]) at_stage(&run->staging, &run->layout, operands[o], rows[o], o == 3);
    }
    run->scratch_bytes =
        (run->kernels->attention_forward_scratch(kernel) + AT_ALIGNMENT - 1) / AT_ALIGNMENT * AT_ALIGNMENT;
    run->scratch_at = at_layout_add(&run->layout, run->threads, run->scratch_bytes);
}

static void fill_forward(attention_run *run) {
    at_attention *kernel = &run->checked.kernel;
    at_sequence *sequences = (at_sequence *)(run->memory + run->sequences_at);
    int64_t first_task = 0, first_partial = 0, weights = 0;
    for (int64_t b = 0; b < kernel->sequence_count; b++) {
        at_sequence *s = sequences + b;
        int64_t tasks, partials;
        *s = at_attention_sequence(&run->checked, b);
        count_forward(run, s, &tasks, &partials);
        s->first_task = first_task;
        s->first_partial = first_partial;
        s->weights_offset = weights;
        first_task += tasks;
        first_partial += partials;
        weights += kernel->heads * s->queries * s->weights_width;
    }
    kernel->sequences = sequences;
    kernel->tasks = run->tasks;
    kernel->threads = run->threads;
    kernel->partials = (float *)(run->memory + run->partials_at);
    if (run->own_log_sum_exp) {
        at_rows rows = {(float *)(run->memory + run->log_sum_exp_at), 0, kernel->heads, 1};
        if (run->checked.batched) rows.sequence = run->checked.query_rows * kernel->heads;
        kernel->log_sum_exp = rows;
    }
    at_stage_in(&run->staging, run->memory);
}

static void forward_task(void *argument, int64_t task, int worker) {
    attention_run *run = argument;
    run->kernels->attention_forward(&run->checked.kernel, task,
                                    run->memory + run->scratch_at + (size_t)worker * run->scratch_bytes);
}

static void merge_task(void *argument, int64_t task, int worker) {
    attention_run *run = argument;
    const at_attention *kernel = &run->checked.kernel;
    const at_sequence *s = kernel->sequences + task / kernel->heads;
    int64_t tasks, partials;
    (void)worker;
    count_forward(run, s, &tasks, &partials);
    if (partials > 0) run->kernels->attention_merge(kernel, s, task % kernel->heads);
}

static void weights_task(void *argument, int64_t task, int worker) {
    attention_run *run = argument;
    const at_attention *kernel = &run->checked.kernel;
    const at_sequence *s = kernel->sequences + task / kernel->heads;
    for (int64_t i = 0; i < s->queries; i += run->kernels->attention_weights_queries) {
        run->kernels->attention_weights(kernel, s, task % kernel->heads, i,
                                        run->memory + run->scratch_at + (size_t)worker * run->scratch_bytes);
    }
}

static attn_status check_forward_results(attn_context *context, attention_run *run, const attn_tensor *output,
                                         const attn_tensor *log_sum_exp, const attn_tensor *weights) {
    at_attention_call *call = &run->checked;
    attn_status status = at_attention_check_rows(context, "output", output, call, call->query_rows,
                                                 call->kernel.heads, call->kernel.d_v, 1);
    if (status != ATTN_OK) return status;
    call->kernel.output = at_attention_rows(output);
    if (log_sum_exp && log_sum_exp->data) {
        status = at_attention_check_rows(context, "log_sum_exp", log_sum_exp, call, call->query_rows,
                                         call->kernel.heads, 0, 1);
        if (status != ATTN_OK) return status;
        call->kernel.log_sum_exp = at_attention_rows(log_sum_exp);
        if (call->batched) {
            at_rows rows = {log_sum_exp->data, log_sum_exp->stride[0], log_sum_exp->stride[1],
                            log_sum_exp->stride[2]};
            call->kernel.log_sum_exp = rows;
        }
    }
    if (weights && weights->data) {
        status = at_check_result(context, "weights", weights, 1);
        if (status != ATTN_OK) return status;
        if (weights->shape[0] != call->weights_count || (weights->stride[0] != 1 && weights->shape[0] > 1)) {
            return at_fail(context, ATTN_SHAPE_MISMATCH,
                           "weights has %" PRId64 " elements with stride %" PRId64 " but has to have %" PRId64
                           " side by side (attn_attention_weights_count)",
                           weights->shape[0], weights->stride[0], call->weights_count);
        }
        call->kernel.weights = weights->data;
        run->own_log_sum_exp = !call->kernel.log_sum_exp.data;
    }
    return ATTN_OK;
}

attn_status attn_attention_forward(attn_context *context, const attn_pattern *pattern,
                                   const attn_attention_options *options, const attn_tensor *query,
                                   const attn_tensor *key, const attn_tensor *value,
                                   const attn_tensor *output, const attn_tensor *log_sum_exp,
                                   const attn_tensor *weights) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    return at_attention_forward(context, pattern, options, query, key, value, output, log_sum_exp, weights,
                                NULL);
}

attn_status at_attention_forward(attn_context *context, const attn_pattern *pattern,
                                 const attn_attention_options *options, const attn_tensor *query,
                                 const attn_tensor *key, const attn_tensor *value, const attn_tensor *output,
                                 const attn_tensor *log_sum_exp, const attn_tensor *weights,
                                 const at_key_places *places) {
    attention_run run = {.own_log_sum_exp = 0};
    attn_status status = value
                             ? at_attention_check(context, pattern, options, query, key, value, &run.checked)
                             : at_fail(context, ATTN_INVALID_ARGUMENT, "value is NULL");
    if (status == ATTN_OK) status = check_forward_results(context, &run, output, log_sum_exp, weights);
    static const char *const names[] = {"output", "log_sum_exp", "weights", "query", "key", "value"};
    const attn_tensor *tensors[] = {output, log_sum_exp, weights, query, key, value};
    if (status == ATTN_OK) status = at_check_apart(context, 3, 6, names, tensors);
    if (status != ATTN_OK) return status;
    const attn_tensor *operands[4] = {query, key, value, output};
    if (at_attention_goes_by_edges(&run.checked)) {
        return at_attention_edges_forward(context, &run.checked, operands, NULL);
    }
    lay_out_forward(context, &run, operands);
    if (places) {
        at_attention *kernel = &run.checked.kernel;
        kernel->places = places->list;
        kernel->places_sequence = places->stride;
        if (kernel->weights ||
            !run.kernels->attention_split_keys(kernel, run.checked.longest_query, run.checked.longest_key))
            return at_fail(context, ATTN_UNSUPPORTED, "places of keys are for a few queries under a softmax");
    }
    status = at_context_memory(context, &run.layout, &run.memory);
    if (status != ATTN_OK) return status;
    fill_forward(&run);
    const at_attention *kernel = &run.checked.kernel;
    int64_t pairs_of_heads = kernel->sequence_count * kernel->heads;
    at_compute(context->pool, run.threads, run.tasks, forward_task, &run);
    if (run.partials > 0) at_compute(context->pool, run.threads, pairs_of_heads, merge_task, &run);
    if (kernel->weights) at_compute(context->pool, run.threads, pairs_of_heads, weights_task, &run);
    at_stage_out(&run.staging, run.memory);
    return ATTN_OK;
}

/* ---- backward ---- */

static int64_t key_blocks(const attention_run *run, int64_t keys) {
    int64_t block = run->kernels->attention_key_block;
    return (keys + block - 1) / block;
}

static void lay_out_backward(const attn_context *context, attention_run *run,
                             const attn_tensor *operands[8]) {
    at_attention *kernel = &run->checked.kernel;
    run->kernels = at_kernels_for(context->isa);
    run->threads = at_threads_for(context, run->checked.pairs * 5.0 * (kernel->d_k + kernel->d_v));
    for (int64_t b = 0; b < kernel->sequence_count; b++) {
        run->tasks += kernel->kv_heads * key_blocks(run, at_attention_sequence(&run->checked, b).keys);
    }
    int64_t batch = run->checked.batched ? kernel->sequence_count : 1;
    run->sequences_at = at_layout_add(&run->layout, kernel->sequence_count, sizeof(at_sequence));
    run->row_terms_at = at_layout_add(&run->layout, batch * run->checked.query_rows,
                                      2 * (size_t)kernel->heads * sizeof(float));
    run->progress_at = at_layout_add(&run->layout, run->tasks, sizeof(at_progress));
    run->previous_at = at_layout_add(&run->layout, kernel->d_bias ? run->tasks : 0, sizeof(int64_t));
    run->previous_distance_at =
        at_layout_add(&run->layout, kernel->d_distance ? run->tasks : 0, sizeof(int64_t));
    int64_t biases = run->checked.options.bias_of ? run->checked.options.bias.shape[0] : 1;
    if (biases < kernel->sequence_count) biases = kernel->sequence_count;
    run->slots = biases * kernel->kv_heads * key_blocks(run, run->checked.longest_key);
    run->slots_at =
        at_layout_add(&run->layout, kernel->d_bias || kernel->d_distance ? run->slots : 0, sizeof(int64_t));
    at_rows *rows[8] = {&kernel->query,    &kernel->key,     &kernel->value, &kernel->output,
                        &kernel->d_output, &kernel->d_query, &kernel->d_key, &kernel->d_value};
    for (int o = 0; o < 8; o++) {
        if (operands[o] && operands[o]->data)
            at_stage(&run->staging, &run->layout, operands[o], rows[o], o >= 5);
    }
    run->scratch_bytes =
        (run->kernels->attention_backward_scratch(kernel) + AT_ALIGNMENT - 1) / AT_ALIGNMENT * AT_ALIGNMENT;
    run->scratch_at = at_layout_add(&run->layout, run->threads, run->scratch_bytes);
}

/* For every task the previous one that adds to the same entries of a
 * gradient: sequences, heads and key blocks that share entries (stride 0) have
 * one slot, and the last task of a slot is the one to wait for. */
static void chain_tasks(attention_run *run, int share_sequence, int share_head, int share_key,
                        int64_t *previous) {
    const at_attention *kernel = &run->checked.kernel;
    int64_t *last = (int64_t *)(run->memory + run->slots_at);
    int64_t most = key_blocks(run, run->checked.longest_key), task = 0;
    for (int64_t x = 0; x < run->slots; x++) last[x] = -1;
    for (int64_t b = 0; b < kernel->sequence_count; b++) {
        int64_t blocks = key_blocks(run, kernel->sequences[b].keys);
        for (int64_t number = 0; number < blocks * kernel->kv_heads; number++, task++) {
            at_backward_part part = at_backward_part_of(kernel, blocks, number);
            int64_t sequence = share_sequence ? 0 : kernel->sequences[b].bias;
            int64_t slot = (sequence * kernel->kv_heads + (share_head ? 0 : part.kv)) * most +
                           (share_key ? 0 : part.block);
            previous[task] = last[slot];
            last[slot] = task;
        }
    }
}

static void fill_backward(attention_run *run) {
    at_attention *kernel = &run->checked.kernel;
    at_sequence *sequences = (at_sequence *)(run->memory + run->sequences_at);
    int64_t first_task = 0;
    for (int64_t b = 0; b < kernel->sequence_count; b++) {
        sequences[b] = at_attention_sequence(&run->checked, b);
        sequences[b].first_task = first_task;
        first_task += kernel->kv_heads * key_blocks(run, sequences[b].keys);
    }
    kernel->sequences = sequences;
    kernel->tasks = run->tasks;
    kernel->threads = run->threads;
    /* a gradient that heads share is summed in the order of the tasks, which must
     * then not depend on the number of threads */
    int heads_share =
        (kernel->d_bias && kernel->d_bias_head == 0) || (kernel->d_distance && kernel->d_distance_head == 0);
    kernel->heads_at_once = heads_share || run->threads > kernel->kv_heads ? 1 : run->threads;
    at_rows terms = {(float *)(run->memory + run->row_terms_at), 0, 2 * kernel->heads, 2};
    if (run->checked.batched) terms.sequence = run->checked.query_rows * terms.row;
    kernel->row_terms = terms;
    kernel->progress = (at_progress *)(run->memory + run->progress_at);
    for (int64_t task = 0; task < run->tasks; task++) atomic_init(kernel->progress + task, 0);
    if (kernel->d_bias) {
        int64_t *previous = (int64_t *)(run->memory + run->previous_at);
        chain_tasks(run, kernel->d_bias_sequence == 0, kernel->d_bias_head == 0, kernel->d_bias_key == 0,
                    previous);
        kernel->previous = previous;
    }
    if (kernel->d_distance) {
        int64_t *previous = (int64_t *)(run->memory + run->previous_distance_at);
        chain_tasks(run, 1, kernel->d_distance_head == 0, 1, previous);
        kernel->previous_distance = previous;
    }
    at_stage_in(&run->staging, run->memory);
}

static void row_terms_task(void *argument, int64_t task, int worker) {
    attention_run *run = argument;
    const at_attention *kernel = &run->checked.kernel;
    (void)worker;
    const at_sequence *s = kernel->sequences + task / kernel->heads;
    if (key_blocks(run, s->keys) == 1)
        return; /* its only task computes them while the rows are in the cache */
    run->kernels->attention_row_terms(kernel, s, task % kernel->heads);
}

static void backward_task(void *argument, int64_t task, int worker) {
    attention_run *run = argument;
    run->kernels->attention_backward(&run->checked.kernel, task,
                                     run->memory + run->scratch_at + (size_t)worker * run->scratch_bytes);
}

static attn_status check_backward_inputs(attn_context *context, at_attention_call *call,
                                         const attn_tensor *output, const attn_tensor *log_sum_exp,
                                         const attn_tensor *d_output) {
    at_attention *kernel = &call->kernel;
    if (!log_sum_exp || (!log_sum_exp->data && call->query_rows > 0)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "log_sum_exp is NULL: ask the forward pass for it");
    }
    attn_status status = at_attention_check_rows(context, "output", output, call, call->query_rows,
                                                 kernel->heads, kernel->d_v, 0);
    if (status != ATTN_OK) return status;
    status = at_attention_check_rows(context, "log_sum_exp", log_sum_exp, call, call->query_rows,
                                     kernel->heads, 0, 0);
    if (status != ATTN_OK) return status;
    status = at_attention_check_rows(context, "d_output", d_output, call, call->query_rows, kernel->heads,
                                     kernel->d_v, 0);
    if (status != ATTN_OK) return status;
    kernel->output = at_attention_rows(output);
    kernel->d_output = at_attention_rows(d_output);
    at_rows rows = {log_sum_exp->data, 0, log_sum_exp->stride[0], log_sum_exp->stride[1]};
    if (call->batched) {
        rows.sequence = log_sum_exp->stride[0];
        rows.row = log_sum_exp->stride[1];
        rows.head = log_sum_exp->stride[2];
    }
    kernel->log_sum_exp = rows;
    return ATTN_OK;
}

static attn_status check_bias_gradients(attn_context *context, at_attention_call *call,
                                        const attn_attention_gradients *gradients) {
    at_attention *kernel = &call->kernel;
    const attn_tensor *bias = &gradients->bias, *table = &gradients->distance_bias;
    attn_status status;
    if (bias->data) {
        if (!kernel->bias) {
            return at_fail(context, ATTN_INVALID_ARGUMENT, "gradients.bias is given but options.bias is not");
        }
        status = at_check_result(context, "gradients.bias", bias, 4);
        if (status != ATTN_OK) return status;
        status = at_check_shape(context, "gradients.bias", bias, 4, call->options.bias.shape, "options.bias");
        if (status != ATTN_OK) return status;
        kernel->d_bias = bias->data;
        kernel->d_bias_sequence = bias->shape[0] == 1 ? 0 : bias->stride[0];
        kernel->d_bias_head = bias->shape[1] == 1 ? 0 : bias->stride[1];
        kernel->d_bias_query = bias->shape[2] == 1 ? 0 : bias->stride[2];
        kernel->d_bias_key = bias->shape[3] == 1 ? 0 : bias->stride[3];
    }
    if (table->data) {
        if (!kernel->distance) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "gradients.distance_bias is given but options.distance_bias is not");
        }
        status = at_check_result(context, "gradients.distance_bias", table, 2);
        if (status != ATTN_OK) return status;
        status = at_check_shape(context, "gradients.distance_bias", table, 2,
                                call->options.distance_bias.shape, "options.distance_bias");
        if (status != ATTN_OK) return status;
        kernel->d_distance = table->data;
        kernel->d_distance_head = table->shape[0] == 1 ? 0 : table->stride[0];
        kernel->d_distance_step = table->stride[1];
    }
    return ATTN_OK;
}

static attn_status without_option(attn_context *context, const char *name) {
    return at_fail(context, ATTN_INVALID_ARGUMENT, "gradients.%s is given but options.%s is not used", name,
                   name);
}

/* Those of the score vectors and of the edge features. */
static attn_status check_score_gradients(attn_context *context, at_attention_call *call,
                                         const attn_attention_gradients *g) {
    at_attention *kernel = &call->kernel;
    attn_status status = ATTN_OK;
    if (g->score_vector.data) {
        if (!kernel->score_vector) return without_option(context, "score_vector");
        status = at_attention_check_vector(context, "gradients.score_vector", &g->score_vector, call, 1);
    }
    if (status == ATTN_OK && g->key_score_vector.data) {
        if (!kernel->key_score_vector) return without_option(context, "key_score_vector");
        status =
            at_attention_check_vector(context, "gradients.key_score_vector", &g->key_score_vector, call, 1);
    }
    struct {
        const char *name, *option;
        const attn_tensor *tensor;
        const at_rows *given;
        at_rows *rows;
        int64_t channels;
    } wanted[3] = {
        {"gradients.edge_bias", "edge_bias", &g->edge_bias, &kernel->edge_bias, &kernel->d_edge_bias, 0},
        {"gradients.edge_key", "edge_key", &g->edge_key, &kernel->edge_key, &kernel->d_edge_key, kernel->d_k},
        {"gradients.edge_value", "edge_value", &g->edge_value, &kernel->edge_value, &kernel->d_edge_value,
         kernel->d_v},
    };
    for (int w = 0; w < 3 && status == ATTN_OK; w++) {
        if (!wanted[w].tensor->data) continue;
        if (!wanted[w].given->data) return without_option(context, wanted[w].option);
        status = at_attention_check_edges(context, wanted[w].name, wanted[w].tensor, call, wanted[w].channels,
                                          1, wanted[w].rows);
    }
    return status;
}

static attn_status check_gradients(attn_context *context, at_attention_call *call,
                                   const attn_attention_gradients *gradients) {
    at_attention *kernel = &call->kernel;
    struct {
        const char *name;
        const attn_tensor *tensor;
        at_rows *rows;
        int64_t count, heads, channels;
    } wanted[3] = {
        {"gradients.query", &gradients->query, &kernel->d_query, call->query_rows, kernel->heads,
         kernel->d_k},
        {"gradients.key", &gradients->key, &kernel->d_key, call->key_rows, kernel->kv_heads, kernel->d_k},
        {"gradients.value", &gradients->value, &kernel->d_value, call->key_rows, kernel->kv_heads,
         kernel->d_v},
    };
    for (int w = 0; w < 3; w++) {
        if (!wanted[w].tensor->data) continue;
        attn_status status = at_attention_check_rows(context, wanted[w].name, wanted[w].tensor, call,
                                                     wanted[w].count, wanted[w].heads, wanted[w].channels, 1);
        if (status != ATTN_OK) return status;
        *wanted[w].rows = at_attention_rows(wanted[w].tensor);
    }
    attn_status status = check_bias_gradients(context, call, gradients);
    return status == ATTN_OK ? check_score_gradients(context, call, gradients) : status;
}

static attn_status take_gradients(attn_context *context, const attn_attention_gradients *given,
                                  attn_attention_gradients *own) {
    char reason[AT_OPTIONS_TEXT];
    if (!given) return at_fail(context, ATTN_INVALID_ARGUMENT, "gradients is NULL");
    attn_attention_gradients_init(own);
    attn_status status =
        at_options_take("gradients", "attn_attention_gradients_init", given,
                        AT_FIRST_SIZE(attn_attention_gradients, edge_value), sizeof *own, own, reason);
    return status == ATTN_OK ? status : at_fail(context, status, "%s", reason);
}

attn_status attn_attention_backward(attn_context *context, const attn_pattern *pattern,
                                    const attn_attention_options *options, const attn_tensor *query,
                                    const attn_tensor *key, const attn_tensor *value,
                                    const attn_tensor *output, const attn_tensor *log_sum_exp,
                                    const attn_tensor *d_output, const attn_attention_gradients *gradients) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    attention_run run = {.own_log_sum_exp = 0};
    attn_status status = value
                             ? at_attention_check(context, pattern, options, query, key, value, &run.checked)
                             : at_fail(context, ATTN_INVALID_ARGUMENT, "value is NULL");
    if (status == ATTN_OK)
        status = check_backward_inputs(context, &run.checked, output, log_sum_exp, d_output);
    attn_attention_gradients own;
    if (status == ATTN_OK) status = take_gradients(context, gradients, &own);
    if (status == ATTN_OK) status = check_gradients(context, &run.checked, &own);
    gradients = &own;
    if (status != ATTN_OK) return status;
    const attn_tensor *operands[8] = {
        query, key, value, output, d_output, &gradients->query, &gradients->key, &gradients->value};
    if (at_attention_goes_by_edges(&run.checked)) {
        /* the tape gives the same memory for several gradients, which are then added up */
        return at_attention_edges_backward(context, &run.checked, operands, gradients, NULL);
    }
    static const char *const names[] = {"gradients.query", "gradients.key", "gradients.value", "query", "key",
                                        "value",           "output",        "d_output"};
    const attn_tensor *tensors[] = {&own.query, &own.key, &own.value, query, key, value, output, d_output};
    status = at_check_apart(context, 3, 8, names, tensors);
    if (status != ATTN_OK) return status;
    lay_out_backward(context, &run, operands);
    status = at_context_memory(context, &run.layout, &run.memory);
    if (status != ATTN_OK) return status;
    fill_backward(&run);
    if (gradients->bias.data) at_clear_tensor(&gradients->bias);
    if (gradients->distance_bias.data) at_clear_tensor(&gradients->distance_bias);
    const at_attention *kernel = &run.checked.kernel;
    at_compute(context->pool, run.threads, kernel->sequence_count * kernel->heads, row_terms_task, &run);
    at_compute(context->pool, run.threads, run.tasks, backward_task, &run);
    at_stage_out(&run.staging, run.memory);
    return ATTN_OK;
}

/* ---- questions about a call ---- */

attn_status attn_attention_weights_count(attn_context *context, const attn_pattern *pattern,
                                         const attn_tensor *query, const attn_tensor *key, int64_t *count) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!count) return at_fail(context, ATTN_INVALID_ARGUMENT, "count is NULL");
    at_attention_call call;
    attn_status status = at_attention_check(context, pattern, NULL, query, key, NULL, &call);
    if (status == ATTN_OK) *count = call.weights_count;
    return status;
}

void attn_weights_layout_init_sized(attn_weights_layout *layout, size_t size) {
    attn_weights_layout own = {.size = sizeof own};
    at_options_give(layout, size, &own, sizeof own);
}

attn_status attn_attention_weights_layout(attn_context *context, const attn_pattern *pattern,
                                          const attn_tensor *query, const attn_tensor *key, int64_t sequence,
                                          attn_weights_layout *layout) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    attn_status status = at_result_check(context, "layout", "attn_weights_layout_init", layout,
                                         AT_FIRST_SIZE(attn_weights_layout, key_step), sizeof *layout);
    at_attention_call call;
    if (status == ATTN_OK) status = at_attention_check(context, pattern, NULL, query, key, NULL, &call);
    if (status != ATTN_OK) return status;
    if (call.pattern.graph) {
        return at_fail(context, ATTN_UNSUPPORTED,
                       "the weights of pattern.graph are [edges, heads], by edge number");
    }
    if (sequence < 0 || sequence >= call.pattern.sequences) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "sequence is %" PRId64 " of %" PRId64, sequence,
                       call.pattern.sequences);
    }
    int64_t offset = 0;
    for (int64_t b = 0; b < sequence; b++) {
        at_sequence s = at_attention_sequence(&call, b);
        offset += call.kernel.heads * s.queries * s.weights_width;
    }
    at_sequence s = at_attention_sequence(&call, sequence);
    attn_weights_layout result = {sizeof result, offset,          call.kernel.heads,   s.queries,
                                  s.keys,        s.weights_width, s.weights_first_key, s.weights_key_step};
    at_result_give(layout, &result, sizeof result);
    return ATTN_OK;
}

/* A result like `like` of so many channels, side by side only if those of all
 * the inputs are. */
static attn_tensor expected_result(const attn_tensor *like, int64_t channels,
                                   const attn_tensor *const inputs[3]) {
    attn_tensor result = *like;
    int last = like->rank - 1;
    result.shape[last] = channels;
    result.stride[last] = 1;
    for (int x = 0; x < 3; x++) {
        if (inputs[x]->stride[last] != 1) result.stride[last] = 2;
    }
    return result;
}

attn_status attn_attention_forward_memory(attn_context *context, const attn_pattern *pattern,
                                          const attn_attention_options *options, const attn_tensor *query,
                                          const attn_tensor *key, const attn_tensor *value, size_t *bytes) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!bytes) return at_fail(context, ATTN_INVALID_ARGUMENT, "bytes is NULL");
    attention_run run = {.own_log_sum_exp = 1};
    float weights; /* as if they were requested: never less than a call needs */
    attn_status status = value
                             ? at_attention_check(context, pattern, options, query, key, value, &run.checked)
                             : at_fail(context, ATTN_INVALID_ARGUMENT, "value is NULL");
    if (status != ATTN_OK) return status;
    run.checked.kernel.weights = &weights;
    const attn_tensor *inputs[3] = {query, key, value};
    attn_tensor output = expected_result(query, run.checked.kernel.d_v, inputs);
    const attn_tensor *operands[4] = {query, key, value, &output};
    if (at_attention_goes_by_edges(&run.checked)) {
        return at_attention_edges_forward(context, &run.checked, operands, bytes);
    }
    lay_out_forward(context, &run, operands);
    if (run.layout.overflow)
        return at_fail(context, ATTN_OVERFLOW, "the working memory is more than a size can count");
    *bytes = run.layout.bytes;
    return ATTN_OK;
}

attn_status attn_attention_backward_memory(attn_context *context, const attn_pattern *pattern,
                                           const attn_attention_options *options, const attn_tensor *query,
                                           const attn_tensor *key, const attn_tensor *value, size_t *bytes) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!bytes) return at_fail(context, ATTN_INVALID_ARGUMENT, "bytes is NULL");
    attention_run run = {.own_log_sum_exp = 0};
    attn_status status = value
                             ? at_attention_check(context, pattern, options, query, key, value, &run.checked)
                             : at_fail(context, ATTN_INVALID_ARGUMENT, "value is NULL");
    if (status != ATTN_OK) return status;
    at_attention *kernel = &run.checked.kernel; /* as if all gradients were wanted */
    kernel->d_bias = (float *)kernel->bias;
    kernel->d_distance = (float *)kernel->distance;
    const attn_tensor *inputs[3] = {query, key, value};
    attn_tensor output = expected_result(query, kernel->d_v, inputs),
                d_query = expected_result(query, kernel->d_k, inputs);
    attn_tensor d_key = expected_result(key, kernel->d_k, inputs),
                d_value = expected_result(value, kernel->d_v, inputs);
    const attn_tensor *operands[8] = {query, key, value, &output, &output, &d_query, &d_key, &d_value};
    if (at_attention_goes_by_edges(&run.checked)) {
        return at_attention_edges_backward(context, &run.checked, operands, NULL, bytes);
    }
    lay_out_backward(context, &run, operands);
    if (run.layout.overflow)
        return at_fail(context, ATTN_OVERFLOW, "the working memory is more than a size can count");
    *bytes = run.layout.bytes;
    return ATTN_OK;
}

/* ---- for the backend ---- */

attn_status at_cpu_attention(attn_context *context, const at_attention_forward_call *call) {
    return at_attention_forward(context, call->pattern, call->options, call->query, call->key, call->value,
                                call->output, call->log_sum_exp, call->weights, call->places);
}

attn_status at_cpu_attention_backward(attn_context *context, const at_attention_backward_call *call) {
    return attn_attention_backward(context, call->pattern, call->options, call->query, call->key, call->value,
                                   call->output, call->log_sum_exp, call->d_output, call->gradients);
}
