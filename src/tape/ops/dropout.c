/* dropout.c: each number is 0 with a probability p, else divided by 1 - p.
 *
 * Whether element (row, column) is dropped is a function of the step's seed, the
 * operation's number in the step, row and column alone (base/random.h). So the
 * way back makes the mask again, dx = mask * dy / (1 - p), and nothing is kept.
 */
#include "tape/ops/rowwise.h"

typedef struct dropout_state {
    const at_network *network;
    uint64_t seed, stream;
    uint32_t threshold;
    float factor;
} dropout_state;

static void drop_row(int64_t row, int64_t count, float *const *p, const void *state) {
    const dropout_state *s = state;
    at_row_key key = at_random_row(s->seed, (int64_t)s->stream, 0, row);
    s->network->dropout(count, key, s->threshold, s->factor, p[0], p[1]);
}

static void dropout_backward(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0], *y = node->output;
    at_gradient dx = at_gradient_begin(tape, x);
    if (!dx.data) return;
    at_operand operands[2] = {at_gradient_of(y), at_place_of(&dx)};
    at_each_row(tape, 16.0, y->rows, y->columns, 2, operands, drop_row, node->state);
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_dropout(attn_tape *tape, attn_variable *x, float probability) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "dropout", "x", x)) return NULL;
    if (!(probability >= 0.0f && probability < 1.0f)) {
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "dropout: a probability of %g is not in [0, 1)",
                            (double)probability);
    }
    if (attn_tape_mode_of(tape) != ATTN_TAPE_TRAIN) return x;
    uint64_t stream = at_tape_stream(tape); /* also with p = 0: other masks do not depend on this p */
    if (probability == 0.0f) return x;
    attn_variable *y = at_result(tape, x->rows, x->columns);
    dropout_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!y || !s) return NULL;
    s->network = at_tape_network(tape);
    s->seed = at_tape_seed(tape);
    s->stream = stream;
    s->threshold = at_random_threshold(probability);
    s->factor = 1.0f / (1.0f - probability);
    at_operand operands[2] = {at_data_of(x), at_data_of(y)};
    at_each_row(tape, 16.0, y->rows, y->columns, 2, operands, drop_row, s);
    at_record(tape, y, dropout_backward, s, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}
