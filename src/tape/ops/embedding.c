/* embedding.c: row ids[i] of a table for every i; -1 gives a row of 0.
 *
 * Backward adds the rows of the gradient to those of the table's gradient that
 * are named, in the order of i (at_add_rows); the others are not touched.
 */
#include "tape/ops/gather.h"

#include <inttypes.h>

typedef struct embedding_state {
    attn_parameter *table;
    int64_t *rows;
} embedding_state;

int64_t *at_tape_table_rows(attn_tape *tape, const char *operation, const attn_parameter *table,
                            const int32_t *ids, int64_t count) {
    if (count < 0 || (!ids && count > 0)) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: %s", operation,
                            count < 0 ? "count is negative" : "ids is NULL");
    }
    int64_t *rows = at_tape_memory(tape, count, sizeof *rows);
    for (int64_t i = 0; rows && i < count; i++) {
        if (ids[i] < -1 || ids[i] >= table->rows) {
            return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                                "%s: ids[%" PRId64 "] is %" PRId32 ", the table (%s) has %" PRId64 " rows",
                                operation, i, ids[i], table->name, table->rows);
        }
        rows[i] = ids[i];
    }
    return rows;
}

static void embedding_backward(attn_tape *tape, at_node *node) {
    const embedding_state *s = node->state;
    const attn_variable *y = node->output;
    float *gradient = at_parameter_gradient(tape, s->table, s->rows, y->rows);
    if (!gradient) return;
    at_additions additions = {.count = y->rows,
                              .columns = y->columns,
                              .to = s->rows,
                              .source = at_gradient_of(y),
                              .target = {gradient, s->table->columns}};
    at_add_rows(tape, &additions);
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
    at_operand source = {table->value, table->columns};
    at_gather_rows(tape, count, table->columns, s->rows, source, at_data_of(y));
    at_record(tape, y, embedding_backward, s, at_parameter_wanted(tape, table), NULL, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
