/* multiply.c: y = a * b, element by element, or with b one row for all.
 *
 *     da = dy * b      db = dy * a, summed over the rows if b is one row
 */
#include "tape/ops/rowwise.h"

#include <string.h>

static void multiply_numbers(int64_t row, int64_t count, float *const *p, const void *network) {
    (void)row;
    ((const at_network *)network)->multiply(count, p[0], p[1], p[2]);
}

typedef struct product_run {
    const at_network *network;
    int64_t rows, columns;
    at_operand a, d;
    float *partials;
} product_run;

static void product_task(void *argument, int64_t task, int worker) {
    const product_run *run = argument;
    float *sums = run->partials + task * run->columns;
    (void)worker;
    memset(sums, 0, (size_t)run->columns * sizeof(float));
    for (int64_t i = task * AT_CHUNK_ROWS; i < run->rows && i < (task + 1) * AT_CHUNK_ROWS; i++) {
        run->network->add_product(run->columns, run->a.data + i * run->a.stride,
                                  run->d.data + i * run->d.stride, sums);
    }
}

/* The gradient of a row b. */
static void sum_products(attn_tape *tape, attn_variable *a, attn_variable *y, float *db) {
    at_mark mark = at_scratch_mark(tape);
    int64_t chunks = at_chunks_of(y->rows);
    float *partials = at_scratch_memory(tape, chunks * y->columns, sizeof(float));
    if (partials) {
        product_run run = {at_tape_network(tape), y->rows,           y->columns,
                           at_data_of(a),         at_gradient_of(y), partials};
        at_tape_parallel(tape, 2.0 * (double)y->rows * (double)y->columns, chunks, product_task, &run);
        at_sum_chunks(tape, chunks, y->columns, partials, db);
    }
    at_scratch_release(tape, mark);
}

static void multiply_backward(attn_tape *tape, at_node *node) {
    attn_variable *a = node->input[0], *b = node->input[1], *y = node->output;
    int one_row = b->rows != y->rows;
    at_gradient da = at_gradient_begin(tape, a);
    if (da.data) {
        at_operand operands[3] = {at_gradient_of(y), at_data_of(b), at_place_of(&da)};
        if (one_row) operands[1].stride = 0;
        at_each_element(tape, 8.0, y->rows, y->columns, 3, operands, multiply_numbers, at_tape_network(tape));
    }
    at_gradient_end(tape, a, &da);
    at_gradient db = at_gradient_begin(tape, b);
    if (db.data && one_row) {
        sum_products(tape, a, y, db.data);
    } else if (db.data) {
        at_operand operands[3] = {at_gradient_of(y), at_data_of(a), at_place_of(&db)};
        at_each_element(tape, 8.0, y->rows, y->columns, 3, operands, multiply_numbers, at_tape_network(tape));
    }
    at_gradient_end(tape, b, &db);
}

attn_variable *attn_tape_multiply(attn_tape *tape, attn_variable *a, attn_variable *b) {
    if (!at_tape_ready(tape) || !at_tape_has_pair(tape, "multiply", a, b)) return NULL;
    attn_variable *y = at_result(tape, a->rows, a->columns);
    if (!y) return NULL;
    at_operand operands[3] = {at_data_of(a), at_data_of(b), at_data_of(y)};
    if (b->rows != a->rows) operands[1].stride = 0;
    at_each_element(tape, 8.0, y->rows, y->columns, 3, operands, multiply_numbers, at_tape_network(tape));
    at_record(tape, y, multiply_backward, NULL, 0, a, b, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
