/* pool.c: one row for every sequence: the mean, the maximum or the first of its
 * rows; 0 for an empty sequence.
 *
 * A task is one sequence and a block of columns, so that a long sequence alone
 * is shared, too. Rows are summed in order. The maximum of a column is NaN if
 * one of its numbers is; which row it came from is kept, to send the gradient
 * there.
 */
#include <inttypes.h>
#include <string.h>

#include "tape/tape.h"

enum { COLUMNS_OF_TASK = 256 };

typedef struct pool_state {
    attn_ragged batch;
    attn_pool kind;
    int32_t *maximum_at; /* sequences x columns, rows counted from the sequence's first; only for MAX */
} pool_state;

typedef struct pool_run {
    const pool_state *state;
    const at_kernels *kernels;
    const at_network *network;
    float *x, *y; /* or their gradients */
    int64_t x_stride, y_stride, columns, blocks;
} pool_run;

/* What one task works on. */
typedef struct pool_part {
    float *x, *y;
    int32_t *at;
    int64_t rows, columns;
} pool_part;

static pool_part part_of(const pool_run *run, int64_t task) {
    const pool_state *s = run->state;
    int64_t b = task / run->blocks, first = task % run->blocks * COLUMNS_OF_TASK;
    int64_t columns = run->columns - first < COLUMNS_OF_TASK ? run->columns - first : COLUMNS_OF_TASK;
    pool_part part = {run->x + s->batch.offsets[b] * run->x_stride + first,
                      run->y + b * run->y_stride + first,
                      s->maximum_at ? s->maximum_at + b * run->columns + first : NULL,
                      s->batch.offsets[b + 1] - s->batch.offsets[b], columns};
    return part;
}

static void pool_task(void *argument, int64_t task, int worker) {
    const pool_run *run = argument;
    pool_part part = part_of(run, task);
    (void)worker;
    if (part.rows == 0) {
        memset(part.y, 0, (size_t)part.columns * sizeof(float));
    } else if (run->state->kind == ATTN_POOL_MEAN) {
        run->kernels->column_sums(part.rows, part.columns, part.x, run->x_stride, part.y);
        run->network->scale(part.columns, 1.0f / (float)part.rows, part.y, part.y);
    } else if (run->state->kind == ATTN_POOL_MAX) {
        run->network->pool_maximum(part.rows, part.columns, part.x, run->x_stride, part.y, part.at);
    } else {
        memcpy(part.y, part.x, (size_t)part.columns * sizeof(float));
    }
}

static void pool_backward_task(void *argument, int64_t task, int worker) {
    const pool_run *run = argument;
    pool_part part = part_of(run, task);
    (void)worker;
    for (int64_t i = 0; i < part.rows; i++) {
        float *dx = part.x + i * run->x_stride;
        if (run->state->kind == ATTN_POOL_MEAN) {
            run->network->scale(part.columns, 1.0f / (float)part.rows, part.y, dx);
        } else if (run->state->kind == ATTN_POOL_FIRST && i == 0) {
            memcpy(dx, part.y, (size_t)part.columns * sizeof(float));
        } else {
            memset(dx, 0, (size_t)part.columns * sizeof(float));
        }
    }
    if (run->state->kind == ATTN_POOL_MAX && part.rows > 0) {
        for (int64_t c = 0; c < part.columns; c++) part.x[part.at[c] * run->x_stride + c] = part.y[c];
    }
}

static pool_run run_of(attn_tape *tape, const pool_state *s, int64_t columns) {
    pool_run run = {.state = s,
                    .kernels = at_tape_kernels(tape),
                    .network = at_tape_network(tape),
                    .columns = columns,
                    .blocks = (columns + COLUMNS_OF_TASK - 1) / COLUMNS_OF_TASK};
    return run;
}

static void pool_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    pool_run run = run_of(tape, node->state, x->columns);
    run.x = dx.data;
    run.x_stride = dx.stride;
    run.y = y->gradient;
    run.y_stride = y->gradient_stride;
    at_tape_parallel(tape, (double)x->rows * (double)x->columns, y->rows * run.blocks, pool_backward_task,
                     &run);
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_pool(attn_tape *tape, attn_variable *x, const attn_ragged *batch, attn_pool kind) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "pool", "x", x)) return NULL;
    if (kind != ATTN_POOL_MEAN && kind != ATTN_POOL_MAX && kind != ATTN_POOL_FIRST) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "pool: kind is %d, which is none of attn_pool",
                            (int)kind);
    }
    if (kind == ATTN_POOL_MAX && x->rows > INT32_MAX) {
        return at_tape_fail(tape, ATTN_OVERFLOW, "pool: %" PRId64 " rows are too many", x->rows);
    }
    pool_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!s || !at_tape_has_batch(tape, "pool", batch, x->rows, &s->batch)) return NULL;
    attn_variable *y = at_result(tape, batch->sequences, x->columns);
    if (!y) return NULL;
    s->kind = kind;
    s->maximum_at = NULL;
    if (kind == ATTN_POOL_MAX) {
        s->maximum_at = at_tape_memory(tape, y->rows * y->columns, sizeof *s->maximum_at);
        if (!s->maximum_at) return NULL;
    }
    pool_run run = run_of(tape, s, x->columns);
    run.x = x->data;
    run.x_stride = x->stride;
    run.y = y->data;
    run.y_stride = y->stride;
    at_tape_parallel(tape, (double)x->rows * (double)x->columns, y->rows * run.blocks, pool_task, &run);
    at_record(tape, y, pool_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
