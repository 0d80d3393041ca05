/* embedding_bag.c: one row a bag, the sum or mean of the table's rows that its
 * ids name, or their sum with weights. An id of -1 is a row of 0: it adds nothing,
 * and counts in the mean.
 *
 * An empty bag gives 0. Rows are added in the order of the ids. Backward, every
 * id's row gets the gradient of its bag, times its weight, or 1 / (ids of the bag)
 * for the mean.
 */
#include "tape/ops/checks.h"

typedef struct bag_state {
    attn_parameter *table;
    int64_t *offsets, *rows; /* [bags + 1], [ids] */
    float *weights;          /* [ids], or NULL */
    attn_bag kind;
} bag_state;

static float factor_of(const bag_state *s, int64_t bag) {
    int64_t size = s->offsets[bag + 1] - s->offsets[bag];
    return s->kind == ATTN_BAG_MEAN && size > 1 ? 1.0f / (float)size : 1.0f;
}

static void bag_backward(attn_tape *tape, at_node *node) {
    const bag_state *s = node->state;
    const attn_variable *y = node->output;
    at_scratch mark = at_scratch_mark(tape);
    int64_t count = s->offsets[y->rows];
    int64_t *bags = at_scratch_memory(tape, count, sizeof *bags);
    float *factors = s->weights;
    if (bags && s->kind == ATTN_BAG_MEAN) factors = at_scratch_memory(tape, count, sizeof *factors);
    int ready = bags && at_tape_ready(tape);
    float *gradient = ready ? at_parameter_gradient(tape, s->table, s->rows, count) : NULL;
    if (gradient) {
        for (int64_t bag = 0; bag < y->rows; bag++) {
            for (int64_t k = s->offsets[bag]; k < s->offsets[bag + 1]; k++) {
                bags[k] = bag;
                if (s->kind == ATTN_BAG_MEAN) factors[k] = factor_of(s, bag);
            }
        }
        at_add_rows_call call = {
            .count = count,
            .from = bags,
            .to = s->rows,
            .factor = factors,
            .x = at_gradient_of(y),
            .y = at_view_of(gradient, s->table->rows, s->table->columns, s->table->columns)};
        at_tape_did(tape, at_tape_run(tape)->add_rows(at_tape_context(tape), &call));
    }
    at_scratch_release(tape, mark);
}

static attn_variable *make_bags(attn_tape *tape, const char *operation, attn_parameter *table,
                                const int32_t *ids, const float *weights, const int64_t *offsets,
                                int64_t bags, attn_bag kind) {
    if (!at_tape_ready(tape) || !at_tape_has_parameter(tape, operation, "table", table, -1, -1)) return NULL;
    if (!offsets || bags < 0 || (kind != ATTN_BAG_SUM && kind != ATTN_BAG_MEAN)) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: %s", operation,
                            !offsets   ? "offsets is NULL"
                            : bags < 0 ? "the number of bags is negative"
                                       : "kind is neither sum nor mean");
    }
    attn_ragged batch = {bags, offsets}, copy;
    bag_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!s || !at_tape_has_batch(tape, operation, &batch, offsets[bags], &copy)) return NULL;
    s->table = table;
    s->kind = kind;
    s->offsets = (int64_t *)copy.offsets;
    s->weights = NULL;
    s->rows = at_tape_table_rows(tape, operation, table, ids, offsets[bags]);
    if (weights) s->weights = at_tape_copy(tape, weights, offsets[bags], sizeof *weights);
    attn_variable *y = s->rows && (s->weights || !weights) ? at_result(tape, bags, table->columns) : NULL;
    if (!y) return NULL;
    at_bag_call call = {s->offsets, s->rows, kind, at_value_of(table), at_data_of(y), s->weights};
    at_tape_did(tape, at_tape_run(tape)->bag(at_tape_context(tape), &call));
    at_record(tape, y, bag_backward, s, at_parameter_wanted(tape, table), NULL, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}

attn_variable *attn_tape_embedding_bag(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                       const int64_t *offsets, int64_t bags, attn_bag kind) {
    return make_bags(tape, "embedding_bag", table, ids, NULL, offsets, bags, kind);
}

attn_variable *attn_tape_weighted_bag(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                      const float *weights, const int64_t *offsets, int64_t bags) {
    return make_bags(tape, "weighted_bag", table, ids, weights, offsets, bags, ATTN_BAG_SUM);
}
