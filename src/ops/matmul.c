/* matmul.c: y = act(x W^T + b), its backward, and the softmax of rows.
 *
 *     forward     y  = act(x Wp + b)     Wp: W^T in panels     rows x out
 *     backward    g  = dy * act'(pre)
 *                 dx = g Wp              Wp: W in panels       rows x in
 *                 dW = g^T x             x in panels           out x in
 *                 db = column sums of g
 *
 * A task is a block of rows and one panel of columns; for dW, whose g^T has
 * neighbours in depth far apart, a strip of rows that are copied together once
 * (which gives db on the way) and all columns. Each element of a result is one
 * chain of multiply-adds in order, so neither the blocks nor the threads change
 * a bit.
 */
#include <attn/matmul.h>

#include <inttypes.h>
#include <string.h>

#include "kernels/table.h"
#include "ops/check.h"
#include "ops/cpu.h"
#include "ops/matmul.h"

static int64_t blocks_of(int64_t count, int64_t most) { return (count + most - 1) / most; }

static int64_t panels_of(const at_kernels *kernels, int64_t columns) {
    return blocks_of(columns, kernels->lanes);
}

/* ---- packing ---- */

static attn_status check_weight_extents(attn_context *context, int64_t out, int64_t in) {
    if (out < 1 || in < 1) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "a weight is out x in with both at least 1, not %" PRId64 " x %" PRId64, out, in);
    }
    const at_kernels *kernels = at_kernels_for(context->isa);
    if (out > INT32_MAX || in > INT32_MAX ||
        (double)(out + kernels->lanes) * (double)(in + kernels->lanes) > 2.0e18) {
        return at_fail(context, ATTN_OVERFLOW,
                       "a weight of %" PRId64 " x %" PRId64 " is more than a size can count", out, in);
    }
    return ATTN_OK;
}

attn_status attn_weight_packed_size(attn_context *context, int64_t out, int64_t in, size_t *bytes) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!bytes) return at_fail(context, ATTN_INVALID_ARGUMENT, "bytes is NULL");
    attn_status status = check_weight_extents(context, out, in);
    if (status != ATTN_OK) return status;
    const at_kernels *kernels = at_kernels_for(context->isa);
    size_t forward = (size_t)panels_of(kernels, out) * (size_t)kernels->lanes * (size_t)in;
    size_t transposed = (size_t)panels_of(kernels, in) * (size_t)kernels->lanes * (size_t)out;
    *bytes = (forward > transposed ? forward : transposed) * sizeof(float);
    return ATTN_OK;
}

typedef struct pack_run {
    const at_kernels *kernels;
    int64_t depth, columns, row, step;
    const float *source;
    float *target;
} pack_run;

static void pack_task(void *argument, int64_t panel, int worker) {
    const pack_run *run = argument;
    (void)worker;
    run->kernels->gemm_pack(run->depth, run->columns, run->source, run->row, run->step,
                            panel * run->kernels->lanes,
                            run->target + panel * run->depth * run->kernels->lanes);
}

attn_status attn_weight_pack(attn_context *context, const attn_tensor *weight, int transposed, void *memory,
                             size_t bytes, attn_packed_weight *packed) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    size_t needed;
    attn_status status = at_check_tensor(context, "weight", weight, 2);
    if (status == ATTN_OK)
        status = attn_weight_packed_size(context, weight->shape[0], weight->shape[1], &needed);
    if (status != ATTN_OK) return status;
    if (!memory || !packed)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is NULL", memory ? "packed" : "memory");
    if ((uintptr_t)memory % AT_ALIGNMENT != 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "memory is not aligned to %d bytes", AT_ALIGNMENT);
    }
    if (bytes < needed) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "memory has %zu bytes, packing needs %zu", bytes,
                       needed);
    }
    const at_kernels *kernels = at_kernels_for(context->isa);
    int64_t out = weight->shape[0], in = weight->shape[1];
    pack_run run = {.kernels = kernels, .source = weight->data, .target = memory};
    run.depth = transposed ? out : in;
    run.columns = transposed ? in : out;
    run.row = transposed ? weight->stride[0] : weight->stride[1];
    run.step = transposed ? weight->stride[1] : weight->stride[0];
    at_compute(context->pool, at_threads_for(context, 8.0 * (double)out * (double)in),
               panels_of(kernels, run.columns), pack_task, &run);
    attn_packed_weight result = {memory, in, out, transposed != 0, at_isa_name(context->isa)};
    *packed = result;
    return ATTN_OK;
}

/* ---- products ---- */

typedef struct gemm_run {
    at_gemm call;
    const at_kernels *kernels;
    int64_t row_block, row_blocks, panels, group, groups;
    unsigned char *scratch;
    size_t scratch_bytes;
    int threads;
} gemm_run;

/* A task is a block of rows and some neighbouring panels: all of them if there
 * are rows enough for all threads, so that the lines of a row of C stay with one
 * core. Each block reads all of B, so threads divide the columns before blocks get
 * fewer rows than the kernels' least.
 */
static void plan_gemm(const attn_context *context, gemm_run *run) {
    const int64_t most = 128, least = 16;
    const at_gemm *call = &run->call;
    run->kernels = at_kernels_for(context->isa);
    run->threads =
        at_threads_for(context, 2.0 * (double)call->rows * (double)call->columns * (double)call->depth);
    const int64_t enough = run->threads > 1 ? 8 * run->threads : 1;
    const int64_t wide = run->kernels->gemm_least_rows;
    run->panels = panels_of(run->kernels, call->columns);
    run->row_block = most;
    while (run->row_block > wide && blocks_of(call->rows, run->row_block) < enough) run->row_block /= 2;
    run->group = run->panels;
    while (run->group > 1 &&
           blocks_of(call->rows, run->row_block) * blocks_of(run->panels, run->group) < enough)
        run->group = (run->group + 1) / 2;
    run->groups = blocks_of(run->panels, run->group);
    while (run->row_block > least && blocks_of(call->rows, run->row_block) * run->groups < enough / 4)
        run->row_block /= 2;
    run->row_blocks = blocks_of(call->rows, run->row_block);
    run->scratch_bytes = (run->kernels->gemm_scratch(call) + AT_ALIGNMENT - 1) / AT_ALIGNMENT * AT_ALIGNMENT;
}

static void gemm_task(void *argument, int64_t task, int worker) {
    const gemm_run *run = argument;
    int64_t row = task / run->groups * run->row_block, panel = task % run->groups * run->group;
    int64_t row_end = row + run->row_block < run->call.rows ? row + run->row_block : run->call.rows;
    for (int64_t p = panel; p < run->panels && p < panel + run->group; p++) {
        run->kernels->gemm(&run->call, row, row_end, p, run->scratch + (size_t)worker * run->scratch_bytes);
    }
}

/* dW, depth by depth: so many rows of x are in panels at a time. */
enum { WEIGHT_DEPTH = 1024 };

typedef struct weight_run {
    at_gemm call; /* used where .c is set */
    const at_kernels *kernels;
    int64_t strip; /* rows of a task */
    const float *g, *x;
    float *panels, *sums; /* panels NULL: x is read where it lies; sums NULL: no db */
    unsigned char *scratch;
    size_t scratch_bytes;
} weight_run;

static void strip_task(void *argument, int64_t task, int worker) {
    const weight_run *run = argument;
    int64_t row = task * run->strip;
    int64_t row_end = row + run->strip < run->call.rows ? row + run->strip : run->call.rows;
    run->kernels->gemm_strip(&run->call, row, row_end, run->sums,
                             run->scratch + (size_t)worker * run->scratch_bytes);
}

/* Everything that a call computes, as one loop over tasks: panels are packed
 * first, and the tasks that read them wait until all are. (Tasks begin in the
 * order of their numbers, so what they wait for has begun.) */
typedef struct product_job {
    pack_run pack[2];
    int64_t pack_tasks[2];
    at_progress packed; /* pack tasks that are done */
    gemm_run *gemm;
    int64_t gemm_tasks;
    weight_run *strips;
    int64_t strip_tasks;
    double work;
} product_job;

static void job_task(void *argument, int64_t task, int worker) {
    product_job *job = argument;
    for (int p = 0; p < 2; p++) {
        if (task < job->pack_tasks[p]) {
            pack_task(&job->pack[p], task, worker);
            atomic_fetch_add_explicit(&job->packed, 1, memory_order_release);
            return;
        }
        task -= job->pack_tasks[p];
    }
    at_progress_wait(&job->packed, job->pack_tasks[0] + job->pack_tasks[1]);
    if (task < job->gemm_tasks) {
        gemm_task(job->gemm, task, worker);
    } else {
        strip_task(job->strips, task - job->gemm_tasks, worker);
    }
}

static void run_job(const attn_context *context, product_job *job) {
    int64_t tasks = job->pack_tasks[0] + job->pack_tasks[1] + job->gemm_tasks + job->strip_tasks;
    at_compute(context->pool, at_threads_for(context, job->work), tasks, job_task, job);
}

/* A product, whose right side is packed into `panels` on the way if that is not NULL. */
static void add_gemm(product_job *job, gemm_run *run, float *panels) {
    at_gemm *call = &run->call;
    job->gemm = run;
    job->gemm_tasks = run->row_blocks * run->groups;
    job->work += 2.0 * (double)call->rows * (double)call->columns * (double)call->depth;
    if (!panels) return;
    pack_run pack = {run->kernels, call->depth, call->columns, call->b_row, call->b_step, call->b, panels};
    job->pack[0] = pack;
    job->pack_tasks[0] = run->panels;
    call->packed = panels;
}

/* The rows k .. k + depth of dW = g^T x; call->b is x. */
static void add_strips(const attn_context *context, product_job *job, weight_run *run, int64_t k,
                       int64_t depth) {
    at_gemm *call = &run->call;
    call->depth = depth;
    call->a = run->g + k * call->a_step;
    call->b = run->x + k * call->b_row;
    call->adds = k > 0;
    call->packed = run->panels;
    if (run->panels) {
        pack_run pack = {run->kernels, depth, call->columns, call->b_row, call->b_step, call->b, run->panels};
        job->pack[1] = pack;
        job->pack_tasks[1] = panels_of(run->kernels, call->columns);
    }
    job->work += 2.0 * (double)depth * (double)call->columns * (double)call->rows;
    /* few strips, as each reads all panels, but as many for one thread as for another */
    int threads = at_threads_for(context, job->work);
    int64_t most = run->kernels->gemm_strip_rows, strips = (call->rows + most - 1) / most;
    strips = (strips + threads - 1) / threads * threads;
    run->strip = (call->rows + strips - 1) / strips;
    int64_t tile = run->kernels->gemm_tile_rows, whole = (run->strip + tile - 1) / tile * tile;
    if (call->rows > (strips - 1) * whole + whole / 2) run->strip = whole; /* the last is not much shorter */
    job->strips = run;
    job->strip_tasks = (call->rows + run->strip - 1) / run->strip;
}

/* Whether a right side of a product is read in place rather than packed: it stays
 * in the cache, and has whole vectors on every instruction set. */
static int is_small(int64_t depth, int64_t columns) {
    return columns % 16 == 0 && depth * columns <= 96 * 1024;
}

/* ---- checks ---- */

static attn_status check_matrix(attn_context *context, const char *name, const attn_tensor *tensor,
                                int64_t rows, int64_t columns, int is_result) {
    attn_status status =
        is_result ? at_check_result(context, name, tensor, 2) : at_check_tensor(context, name, tensor, 2);
    if (status != ATTN_OK) return status;
    if (tensor->shape[1] > 1 && tensor->stride[1] != 1) {
        return at_fail(context, ATTN_UNSUPPORTED,
                       "the columns of %s have stride %" PRId64 "; only 1 is supported", name,
                       tensor->stride[1]);
    }
    int64_t shape[2] = {rows, columns};
    return at_check_shape(context, name, tensor, 2, shape, "rows x columns");
}

static attn_status check_vector(attn_context *context, const char *name, const attn_tensor *tensor,
                                int64_t count, int is_result) {
    attn_status status =
        is_result ? at_check_result(context, name, tensor, 1) : at_check_tensor(context, name, tensor, 1);
    if (status != ATTN_OK) return status;
    if (count > 1 && tensor->stride[0] != 1) {
        return at_fail(context, ATTN_UNSUPPORTED, "%s has stride %" PRId64 "; only 1 is supported", name,
                       tensor->stride[0]);
    }
    return at_check_shape(context, name, tensor, 1, &count, "the columns of the output");
}

static attn_status check_packed(attn_context *context, const attn_packed_weight *weight, int transposed) {
    if (!weight || !weight->memory) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "weight is NULL: pack it with attn_weight_pack");
    }
    if (weight->transposed != transposed) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "weight is packed with transposed %d, %d is needed here", weight->transposed,
                       transposed);
    }
    if (!weight->isa || strcmp(weight->isa, at_isa_name(context->isa)) != 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "weight is packed for %s, this context uses %s",
                       weight->isa ? weight->isa : "nothing", at_isa_name(context->isa));
    }
    return check_weight_extents(context, weight->out, weight->in);
}

static attn_status check_activation(attn_context *context, attn_activation activation) {
    if ((int)activation < ATTN_IDENTITY || (int)activation > ATTN_ELU) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "activation is %d, which is not a value of attn_activation", (int)activation);
    }
    return ATTN_OK;
}

/* ---- forward ---- */

attn_status attn_matmul_forward(attn_context *context, const attn_tensor *input,
                                const attn_packed_weight *weight, const attn_tensor *bias,
                                attn_activation activation, const attn_tensor *output,
                                const attn_tensor *pre_activation) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    return at_matmul_forward(context, input, weight, NULL, bias, activation, output, pre_activation);
}

attn_status at_matmul_forward(attn_context *context, const attn_tensor *input,
                              const attn_packed_weight *weight, const float *plain, const attn_tensor *bias,
                              attn_activation activation, const attn_tensor *output,
                              const attn_tensor *pre_activation) {
    attn_status status =
        plain ? check_weight_extents(context, weight->out, weight->in) : check_packed(context, weight, 0);
    if (status == ATTN_OK) status = check_activation(context, activation);
    if (status == ATTN_OK) status = at_check_tensor(context, "input", input, 2);
    if (status != ATTN_OK) return status;
    int64_t rows = input->shape[0];
    status = check_matrix(context, "input", input, rows, weight->in, 0);
    if (status == ATTN_OK) status = check_matrix(context, "output", output, rows, weight->out, 1);
    if (status == ATTN_OK && bias) status = check_vector(context, "bias", bias, weight->out, 0);
    if (status == ATTN_OK && pre_activation) {
        status = check_matrix(context, "pre_activation", pre_activation, rows, weight->out, 1);
    }
    static const char *const names[] = {"output", "pre_activation", "input", "bias"};
    const attn_tensor *tensors[] = {output, pre_activation, input, bias};
    if (status == ATTN_OK) status = at_check_apart(context, 2, 4, names, tensors);
    if (status != ATTN_OK) return status;
    gemm_run run = {.call = {.rows = rows,
                             .columns = weight->out,
                             .depth = weight->in,
                             .a = input->data,
                             .a_row = input->stride[0],
                             .a_step = 1,
                             .packed = plain ? NULL : weight->memory,
                             .b = plain,
                             .b_row = 1,
                             .b_step = weight->in,
                             .bias = bias ? bias->data : NULL,
                             .activation = activation,
                             .c = output->data,
                             .c_row = output->stride[0]}};
    if (pre_activation) {
        run.call.pre_activation = pre_activation->data;
        run.call.pre_activation_row = pre_activation->stride[0];
    }
    plan_gemm(context, &run);
    at_layout layout = {0, 0};
    size_t panels_at =
        at_layout_add(&layout, plain ? run.panels * run.kernels->lanes * weight->in : 0, sizeof(float));
    size_t scratch_at = at_layout_add(&layout, context->threads, run.scratch_bytes);
    unsigned char *memory;
    status = at_context_memory(context, &layout, &memory);
    if (status != ATTN_OK) return status;
    run.scratch = memory + scratch_at;
    product_job job = {.work = 0.0};
    add_gemm(&job, &run, plain ? (float *)(memory + panels_at) : NULL);
    run_job(context, &job);
    return ATTN_OK;
}

/* ---- backward ---- */

typedef struct slope_run {
    const at_kernels *kernels;
    attn_activation activation;
    int64_t columns;
    const float *d_output, *pre;
    int64_t d_output_row, pre_row;
    float *g;
} slope_run;

static void slope_task(void *argument, int64_t row, int worker) {
    const slope_run *run = argument;
    (void)worker;
    run->kernels->activation_backward(run->activation, run->columns, run->d_output + row * run->d_output_row,
                                      run->pre + row * run->pre_row, run->g + row * run->columns);
}

typedef struct sum_run {
    const at_kernels *kernels;
    int64_t rows, columns, row;
    const float *g;
    float *sums;
} sum_run;

enum { SUM_COLUMNS = 64 };

static void sum_task(void *argument, int64_t task, int worker) {
    const sum_run *run = argument;
    int64_t first = task * SUM_COLUMNS;
    int64_t columns = first + SUM_COLUMNS < run->columns ? SUM_COLUMNS : run->columns - first;
    (void)worker;
    run->kernels->column_sums(run->rows, columns, run->g + first, run->row, run->sums + first);
}

typedef struct linear_backward {
    int64_t rows, in, out;
    gemm_run d_input;    /* used where .c is set */
    weight_run d_weight; /* likewise */
    sum_run d_bias;      /* where .sums is */
} linear_backward;

/* The checks of the backward pass; fills in what was requested. */
static attn_status check_backward(attn_context *context, const attn_tensor *d_output,
                                  const attn_tensor *pre_activation, attn_activation activation,
                                  const attn_tensor *input, const attn_packed_weight *weight,
                                  const float *plain, const float *factor, const attn_tensor *d_input,
                                  const attn_tensor *d_weight, const attn_tensor *d_bias,
                                  linear_backward *b) {
    attn_status status = at_check_tensor(context, "d_output", d_output, 2);
    if (status == ATTN_OK) status = check_activation(context, activation);
    if (status != ATTN_OK) return status;
    b->rows = d_output->shape[0];
    b->out = d_output->shape[1];
    status = check_matrix(context, "d_output", d_output, b->rows, b->out, 0);
    if (status == ATTN_OK && activation != ATTN_IDENTITY) {
        status = check_matrix(context, "pre_activation", pre_activation, b->rows, b->out, 0);
    }
    if (status == ATTN_OK && d_input) {
        status =
            plain ? check_weight_extents(context, weight->out, weight->in) : check_packed(context, weight, 1);
        if (status == ATTN_OK && weight->out != b->out) {
            status = at_fail(context, ATTN_SHAPE_MISMATCH,
                             "weight is %" PRId64 " x %" PRId64 " but d_output has %" PRId64 " columns",
                             weight->out, weight->in, b->out);
        }
        if (status == ATTN_OK) status = check_matrix(context, "d_input", d_input, b->rows, weight->in, 1);
        if (status != ATTN_OK) return status;
        b->d_input.call = (at_gemm){.rows = b->rows,
                                    .columns = weight->in,
                                    .depth = b->out,
                                    .a_step = 1,
                                    .packed = plain ? NULL : weight->memory,
                                    .b = plain,
                                    .b_row = weight->in,
                                    .b_step = 1,
                                    .in_place = plain && is_small(weight->out, weight->in),
                                    .factor = factor,
                                    .factor_row = weight->in,
                                    .c = d_input->data,
                                    .c_row = d_input->stride[0]};
    }
    if (status == ATTN_OK && d_weight) {
        status = at_check_tensor(context, "input", input, 2);
        if (status == ATTN_OK) status = check_matrix(context, "input", input, b->rows, input->shape[1], 0);
        if (status == ATTN_OK)
            status = check_matrix(context, "d_weight", d_weight, b->out, input->shape[1], 1);
        if (status != ATTN_OK) return status;
        b->d_weight.call = (at_gemm){.rows = b->out,
                                     .columns = input->shape[1],
                                     .a_row = 1,
                                     .b = input->data,
                                     .b_row = input->stride[0],
                                     .b_step = 1,
                                     .c = d_weight->data,
                                     .c_row = d_weight->stride[0]};
    }
    if (status == ATTN_OK && d_bias) {
        status = check_vector(context, "d_bias", d_bias, b->out, 1);
        b->d_bias.sums = status == ATTN_OK ? d_bias->data : NULL;
    }
    static const char *const names[] = {"d_input",  "d_weight",       "d_bias",
                                        "d_output", "pre_activation", "input"};
    const attn_tensor *tensors[] = {d_input,
                                    d_weight,
                                    d_bias,
                                    d_output,
                                    activation != ATTN_IDENTITY ? pre_activation : NULL,
                                    d_weight ? input : NULL};
    return status == ATTN_OK ? at_check_apart(context, 3, 6, names, tensors) : status;
}

static void clear_rows(float *c, int64_t rows, int64_t columns, int64_t row) {
    for (int64_t i = 0; i < rows; i++) memset(c + i * row, 0, (size_t)columns * sizeof(float));
}

attn_status attn_matmul_backward(attn_context *context, const attn_tensor *d_output,
                                 const attn_tensor *pre_activation, attn_activation activation,
                                 const attn_tensor *input, const attn_packed_weight *weight,
                                 const attn_tensor *d_input, const attn_tensor *d_weight,
                                 const attn_tensor *d_bias) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    return at_matmul_backward(context, d_output, pre_activation, activation, input, weight, NULL, NULL,
                              d_input, d_weight, d_bias);
}

/* What at_matmul_backward lays out in the context's memory. */
typedef struct backward_memory {
    size_t g_at, input_panels_at, weight_panels_at, scratch_at;
    int packs_input, packs_weight;
} backward_memory;

static attn_status plan_backward(attn_context *context, linear_backward *b, int has_activation, int is_plain,
                                 backward_memory *m, unsigned char **memory) {
    at_layout layout = {0, 0};
    const at_kernels *kernels = at_kernels_for(context->isa);
    if (has_activation && (double)b->rows * (double)b->out > 2.0e18) {
        return at_fail(context, ATTN_OVERFLOW, "d_output has more elements than a size can count");
    }
    m->g_at = at_layout_add(&layout, has_activation ? b->rows * b->out : 0, sizeof(float));
    size_t scratch_bytes = 0;
    const at_gemm *call = &b->d_input.call;
    if (call->c) {
        plan_gemm(context, &b->d_input);
        m->packs_weight = is_plain && !call->in_place;
        int64_t lanes = m->packs_weight ? b->d_input.panels * kernels->lanes : 0;
        m->weight_panels_at = at_layout_add(&layout, call->depth * lanes, sizeof(float));
        scratch_bytes = b->d_input.scratch_bytes;
    }
    call = &b->d_weight.call;
    if (call->c) {
        m->packs_input = !is_small(b->rows, call->columns);
        int64_t lanes = m->packs_input ? panels_of(kernels, call->columns) * kernels->lanes : 0;
        int64_t depth = b->rows < WEIGHT_DEPTH ? b->rows : WEIGHT_DEPTH;
        m->input_panels_at = at_layout_add(&layout, depth * lanes, sizeof(float));
        b->d_weight.kernels = kernels;
        b->d_weight.scratch_bytes =
            (kernels->gemm_strip_scratch + AT_ALIGNMENT - 1) / AT_ALIGNMENT * AT_ALIGNMENT;
        if (b->d_weight.scratch_bytes > scratch_bytes) scratch_bytes = b->d_weight.scratch_bytes;
    }
    b->d_input.scratch_bytes = b->d_weight.scratch_bytes = scratch_bytes; /* both may be at work at once */
    m->scratch_at = at_layout_add(&layout, context->threads, scratch_bytes);
    return at_context_memory(context, &layout, memory);
}

/* dx and dW in one loop; of dW, if there are many rows, what comes after the first part in loops of its own.
 */
static void run_backward(attn_context *context, linear_backward *b, const backward_memory *m,
                         unsigned char *memory, const float *g, int64_t g_row) {
    product_job job = {.work = 0.0};
    if (b->d_input.call.c) {
        b->d_input.call.a = g;
        b->d_input.call.a_row = g_row;
        b->d_input.scratch = memory + m->scratch_at;
        add_gemm(&job, &b->d_input, m->packs_weight ? (float *)(memory + m->weight_panels_at) : NULL);
    }
    weight_run *w = &b->d_weight;
    if (!w->call.c || b->rows == 0) {
        run_job(context, &job);
        return;
    }
    w->g = g;
    w->x = w->call.b;
    w->call.a_step = g_row;
    w->panels = m->packs_input ? (float *)(memory + m->input_panels_at) : NULL;
    w->scratch = memory + m->scratch_at;
    w->sums = b->d_bias.sums;
    int64_t parts = (b->rows + WEIGHT_DEPTH - 1) / WEIGHT_DEPTH, part = (b->rows + parts - 1) / parts;
    for (int64_t k = 0; k < b->rows; k += part) {
        product_job next = {.work = 0.0};
        product_job *now = k == 0 ? &job : &next;
        add_strips(context, now, w, k, b->rows - k < part ? b->rows - k : part);
        run_job(context, now);
    }
}

attn_status at_matmul_backward(attn_context *context, const attn_tensor *d_output,
                               const attn_tensor *pre_activation, attn_activation activation,
                               const attn_tensor *input, const attn_packed_weight *weight, const float *plain,
                               const float *factor, const attn_tensor *d_input, const attn_tensor *d_weight,
                               const attn_tensor *d_bias) {
    linear_backward b = {.rows = 0};
    attn_status status = check_backward(context, d_output, pre_activation, activation, input, weight, plain,
                                        factor, d_input, d_weight, d_bias, &b);
    if (status != ATTN_OK) return status;
    const at_kernels *kernels = at_kernels_for(context->isa);
    backward_memory m = {.packs_input = 0};
    unsigned char *memory;
    status = plan_backward(context, &b, activation != ATTN_IDENTITY, plain != NULL, &m, &memory);
    if (status != ATTN_OK) return status;

    const float *g = d_output->data;
    int64_t g_row = d_output->stride[0];
    if (activation != ATTN_IDENTITY) {
        slope_run run = {kernels,
                         activation,
                         b.out,
                         g,
                         pre_activation->data,
                         g_row,
                         pre_activation->stride[0],
                         (float *)(memory + m.g_at)};
        at_compute(context->pool, at_threads_for(context, 20.0 * (double)b.rows * (double)b.out), b.rows,
                   slope_task, &run);
        g = run.g;
        g_row = b.out;
    }
    if (d_weight && b.rows == 0) clear_rows(d_weight->data, b.out, d_weight->shape[1], d_weight->stride[0]);
    run_backward(context, &b, &m, memory, g, g_row);
    if (d_bias && !b.d_weight.sums) {
        sum_run run = {kernels, b.rows, b.out, g_row, g, d_bias->data};
        at_compute(context->pool, at_threads_for(context, (double)b.rows * (double)b.out),
                   (b.out + SUM_COLUMNS - 1) / SUM_COLUMNS, sum_task, &run);
    }
    return ATTN_OK;
}

/* ---- for the backend ---- */

static attn_tensor matrix_of(at_view view) {
    attn_tensor t = attn_tensor_matrix(view.data, view.rows, view.columns);
    t.stride[0] = view.stride;
    return t;
}

attn_status at_cpu_pack(attn_context *context, const at_pack_call *call) {
    attn_tensor weight = matrix_of(call->weight);
    return attn_weight_pack(context, &weight, call->transposed, call->memory, call->bytes, call->packed);
}

attn_status at_cpu_matmul(attn_context *context, const at_matmul_call *call) {
    int64_t rows = call->y.rows, out = call->y.columns;
    attn_packed_weight shape = {.in = call->x.columns, .out = out};
    attn_tensor x = matrix_of(call->x), y = matrix_of(call->y),
                pre = attn_tensor_matrix(call->pre, rows, out);
    attn_tensor bias = attn_tensor_view((float *)call->bias, 1, &out);
    return at_matmul_forward(context, &x, call->packed ? call->packed : &shape,
                             call->packed ? NULL : call->weight, call->bias ? &bias : NULL, call->activation,
                             &y, call->pre ? &pre : NULL);
}

_Static_assert((int)AT_IN_PLACE_DEPTH == (int)AT_GEMM_DEPTH,
               "a factor in the place of dx is read a block deep");

attn_status at_cpu_matmul_backward(attn_context *context, const at_matmul_backward_call *call) {
    int64_t rows = call->d.rows, out = call->d.columns, in = call->x.columns;
    attn_packed_weight shape = {.in = in, .out = out};
    attn_tensor d = matrix_of(call->d), x = matrix_of(call->x), dx = matrix_of(call->dx);
    attn_tensor pre = attn_tensor_matrix((float *)call->pre, rows, out);
    attn_tensor d_weight = attn_tensor_matrix(call->d_weight, out, in);
    attn_tensor d_bias = attn_tensor_view(call->d_bias, 1, &out);
    return at_matmul_backward(context, &d, &pre, call->activation, &x, call->packed ? call->packed : &shape,
                              call->packed ? NULL : call->weight, call->factor, call->dx.data ? &dx : NULL,
                              call->d_weight ? &d_weight : NULL, call->d_bias ? &d_bias : NULL);
}

/* ---- softmax of rows ---- */

typedef struct softmax_run {
    const at_kernels *kernels;
    int64_t columns, input_row, output_row;
    const float *input;
    float *output;
} softmax_run;

static void softmax_task(void *argument, int64_t row, int worker) {
    const softmax_run *run = argument;
    (void)worker;
    run->kernels->softmax_row(run->columns, run->input + row * run->input_row,
                              run->output + row * run->output_row);
}

attn_status attn_softmax_forward(attn_context *context, const attn_tensor *input, const attn_tensor *output) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    attn_status status = at_check_tensor(context, "input", input, 2);
    if (status == ATTN_OK)
        status = check_matrix(context, "input", input, input->shape[0], input->shape[1], 0);
    if (status == ATTN_OK)
        status = check_matrix(context, "output", output, input->shape[0], input->shape[1], 1);
    if (status != ATTN_OK) return status;
    softmax_run run = {at_kernels_for(context->isa),
                       input->shape[1],
                       input->stride[0],
                       output->stride[0],
                       input->data,
                       output->data};
    double work = 20.0 * (double)input->shape[0] * (double)input->shape[1];
    at_compute(context->pool, at_threads_for(context, work), input->shape[0], softmax_task, &run);
    return ATTN_OK;
}
