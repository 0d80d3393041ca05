/* add.c: y = a + b, element by element, or with b one row that is added to all.
 *
 * The gradient of a is that of y: its memory is handed on, not copied, where it
 * may be. The gradient of a row b is the sum over the rows of y's.
 */
#include "tape/ops/rowwise.h"

#include <string.h>

static void add_numbers(int64_t row, int64_t count, float *const *p, const void *network) {
    (void)row;
    ((const at_network *)network)->add(count, p[0], p[1], p[2]);
}

typedef struct sums_run {
    const at_network *network;
    int64_t rows, columns;
    at_operand d;
    float *partials;
} sums_run;

static void sums_task(void *argument, int64_t task, int worker) {
    const sums_run *run = argument;
    float *sums = run->partials + task * run->columns;
    (void)worker;
    memset(sums, 0, (size_t)run->columns * sizeof(float));
    for (int64_t i = task * AT_CHUNK_ROWS; i < run->rows && i < (task + 1) * AT_CHUNK_ROWS; i++) {
        run->network->add_to(run->columns, run->d.data + i * run->d.stride, sums);
    }
}

static void sum_rows(attn_tape *tape, attn_variable *y, attn_variable *b) {
    at_mark mark = at_scratch_mark(tape);
    at_gradient db = at_gradient_begin(tape, b);
    int64_t chunks = at_chunks_of(y->rows);
    float *partials = db.data ? at_scratch_memory(tape, chunks * y->columns, sizeof(float)) : NULL;
    if (partials) {
        sums_run run = {at_tape_network(tape), y->rows, y->columns, at_gradient_of(y), partials};
        at_tape_parallel(tape, 2.0 * (double)y->rows * (double)y->columns, chunks, sums_task, &run);
        at_sum_chunks(tape, chunks, y->columns, partials, db.data);
        at_gradient_end(tape, b, &db);
    }
    at_scratch_release(tape, mark);
}

static void add_backward(attn_tape *tape, at_node *node) {
    attn_variable *a = node->input[0], *b = node->input[1], *y = node->output;
    if (b->rows != y->rows) {
        sum_rows(tape, y, b);
    } else {
        at_gradient_pass(tape, b, y, !at_wanted(a)); /* a's turn comes after: it may take the memory */
    }
    at_gradient_pass(tape, a, y, 1);
}

attn_variable *attn_tape_add(attn_tape *tape, attn_variable *a, attn_variable *b) {
    if (!at_tape_ready(tape) || !at_tape_has_pair(tape, "add", a, b)) return NULL;
    attn_variable *y = at_result(tape, a->rows, a->columns);
    if (!y) return NULL;
    at_operand operands[3] = {at_data_of(a), at_data_of(b), at_data_of(y)};
    if (b->rows != a->rows) operands[1].stride = 0;
    at_each_element(tape, 8.0, y->rows, y->columns, 3, operands, add_numbers, at_tape_network(tape));
    at_record(tape, y, add_backward, NULL, 0, a, b, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
