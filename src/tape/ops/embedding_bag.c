/* embedding_bag.c: one row a bag, the sum or mean of the table's rows that its
 * ids name. An id of -1 is a row of 0: it adds nothing, and counts in the mean.
 *
 * An empty bag gives 0. Rows are added in the order of the ids. Backward, every
 * id's row gets the gradient of its bag, times 1 / (ids of the bag) for the mean.
 */
#include "tape/ops/gather.h"

#include <inttypes.h>
#include <string.h>

typedef struct bag_state {
    attn_parameter *table;
    int64_t *offsets, *rows; /* [bags + 1], [ids] */
    attn_bag kind;
    const at_network *network;
} bag_state;

static float factor_of(const bag_state *s, int64_t bag) {
    int64_t size = s->offsets[bag + 1] - s->offsets[bag];
    return s->kind == ATTN_BAG_MEAN && size > 1 ? 1.0f / (float)size : 1.0f;
}

static void sum_bag(int64_t bag, int64_t count, float *const *p, const void *state) {
    const bag_state *s = state;
    memset(p[0], 0, (size_t)count * sizeof(float));
    for (int64_t k = s->offsets[bag]; k < s->offsets[bag + 1]; k++) {
        if (s->rows[k] >= 0) s->network->add_to(count, s->table->value + s->rows[k] * count, p[0]);
    }
    float factor = factor_of(s, bag);
    if (factor != 1.0f) s->network->scale(count, factor, p[0], p[0]);
}

static void bag_backward(attn_tape *tape, at_node *node) {
    const bag_state *s = node->state;
    const attn_variable *y = node->output;
    at_mark mark = at_scratch_mark(tape);
    int64_t count = s->offsets[y->rows];
    int64_t *bags = at_scratch_memory(tape, count, sizeof *bags);
    float *factors = bags ? at_scratch_memory(tape, count, sizeof *factors) : NULL;
    float *gradient = factors ? at_parameter_gradient(tape, s->table, s->rows, count) : NULL;
    if (gradient) {
        for (int64_t bag = 0; bag < y->rows; bag++) {
            for (int64_t k = s->offsets[bag]; k < s->offsets[bag + 1]; k++) {
                bags[k] = bag;
                factors[k] = factor_of(s, bag);
            }
        }
        at_additions additions = {.count = count,
                                  .columns = y->columns,
                                  .from = bags,
                                  .to = s->rows,
                                  .factor = factors,
                                  .source = at_gradient_of(y),
                                  .target = {gradient, s->table->columns}};
        at_add_rows(tape, &additions);
    }
    at_scratch_release(tape, mark);
}

attn_variable *attn_tape_embedding_bag(attn_tape *tape, attn_parameter *table, const int32_t *ids,
                                       const int64_t *offsets, int64_t bags, attn_bag kind) {
    if (!at_tape_ready(tape) || !at_tape_has_parameter(tape, "embedding_bag", "table", table, -1, -1)) {
        return NULL;
    }
    if (!offsets || bags < 0 || (kind != ATTN_BAG_SUM && kind != ATTN_BAG_MEAN)) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "embedding_bag: %s",
                            !offsets   ? "offsets is NULL"
                            : bags < 0 ? "the number of bags is negative"
                                       : "kind is neither sum nor mean");
    }
    attn_ragged batch = {bags, offsets}, copy;
    bag_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!s || !at_tape_has_batch(tape, "embedding_bag", &batch, offsets[bags], &copy)) return NULL;
    s->table = table;
    s->kind = kind;
    s->network = at_tape_network(tape);
    s->offsets = (int64_t *)copy.offsets;
    s->rows = at_tape_table_rows(tape, "embedding_bag", table, ids, offsets[bags]);
    attn_variable *y = s->rows ? at_result(tape, bags, table->columns) : NULL;
    if (!y) return NULL;
    at_operand target = at_data_of(y);
    double rows_of_bag = bags ? (double)offsets[bags] / (double)bags : 0.0;
    at_each_row(tape, 8.0 * (1.0 + rows_of_bag), bags, y->columns, 1, &target, sum_bag, s);
    at_record(tape, y, bag_backward, s, at_parameter_wanted(tape, table), NULL, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
