/* embedding.c: row ids[i] of a table for every i; -1 gives a row of 0.
 *
 * Backward adds the rows of the gradient to those of the table's gradient that
 * are named, in the order of i; the others are not touched.
 */
#include "tape/ops/checks.h"

typedef struct embedding_state {
    attn_parameter *table;
    int64_t *rows;
} embedding_state;

static void embedding_backward(attn_tape *tape, at_node *node) {
    const embedding_state *s = node->state;
    const attn_variable *y = node->output;
    float *gradient = at_parameter_gradient(tape, s->table, s->rows, y->rows);
    if (!gradient) return;
    at_add_rows_call call = {.count = y->rows,
                             .to = s->rows,
                             .x = at_gradient_of(y),
                             .y = at_view_of(gradient, s->table->rows, s->table->columns, s->table->columns)};
    at_tape_did(tape, at_tape_run(tape)->add_rows(at_tape_context(tape), &call));
}

attn_variable *attn_tape_embedding(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                   int64_t count) {
    if (!at_tape_ready(tape) || !at_tape_has_parameter(tape, "embedding", "table", table, -1, -1))
        return NULL;
    embedding_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!s) return NULL;
    s->table = table;
    s->rows = at_tape_table_rows(tape, "embedding", table, ids, count);
    attn_variable *y = s->rows ? at_result(tape, count, table->columns) : NULL;
    if (!y) return NULL;
    at_gather_call call = {s->rows, at_value_of(table), at_data_of(y)};
    at_tape_did(tape, at_tape_run(tape)->gather(at_tape_context(tape), &call));
    at_record(tape, y, embedding_backward, s, at_parameter_wanted(tape, table), NULL, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
