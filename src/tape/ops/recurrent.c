/* recurrent.c: recurrent networks over the sequences of a batch, in one direction
 * or both; the formulas are in attn/operations.h.
 *
 *     forward     u = W x + b for all rows at once, then step by step, for all sequences that have
 *                 that step:  r = R h_(t-1), and the cell
 *     backward    step by step from the end: the cell, dh_(t-1) = R^T dr; then, for all rows at once,
 *                 dx = W^T du, dW = du x^T, dR = dr h_(t-1)^T, and column sums for the biases
 *
 * Sequences are taken in the order of their lengths, the longest first: those
 * that still run at a step are then the first few. Nothing is padded. Everything
 * that is kept stays in the order of the batch, so sums over rows have the order of
 * the rows. What the cells keep is overwritten by the gradients on the way back.
 */
#include <inttypes.h>
#include <string.h>

#include "tape/product.h"
#include "tape/recurrent.h"

typedef struct recurrent_state {
    attn_recurrence kind;
    int directions;
    attn_recurrent_weights weights[2];
    int64_t hidden, gates; /* gates: rows of W and R */
    attn_ragged batch;
    int64_t *order;      /* sequences that are not empty, the longest first */
    int64_t count;       /* of them */
    float *gate_rows[2]; /* rows x gates */
    float *kept_rows[2]; /* rows x hidden: see at_cell; NULL for TANH */
    float *h, *c;        /* of a network that continues: see at_tape_recurrent_on */
} recurrent_state;

static int64_t gates_of(attn_recurrence kind) {
    return kind == ATTN_RNN_LSTM ? 4 : kind == ATTN_RNN_GRU ? 3 : 1;
}

static int64_t length_of(const recurrent_state *s, int64_t sequence) {
    return s->batch.offsets[sequence + 1] - s->batch.offsets[sequence];
}

/* All steps of all directions, forward or back. */
static void run_steps(attn_tape *tape, recurrent_state *s, const attn_variable *y, int back) {
    at_recurrent_call call = {.kind = s->kind,
                              .directions = s->directions,
                              .hidden = s->hidden,
                              .gates = s->gates,
                              .batch = s->batch,
                              .order = s->order,
                              .count = s->count,
                              .y = at_data_of(y)};
    if (s->count == 0) return;
    if (back) call.d = at_gradient_of(y);
    call.h[0] = s->h;
    call.c[0] = s->c;
    attn_packed_weight own[2];
    for (int d = 0; d < s->directions; d++) {
        const attn_parameter *bias = s->weights[d].hidden_bias;
        call.packed[d] = at_packed_weight(tape, s->weights[d].hidden, back, &own[d]);
        if (!call.packed[d]) return;
        call.bias[d] = bias && s->kind == ATTN_RNN_GRU ? bias->value + 2 * s->hidden : NULL;
        call.gate_rows[d] = s->gate_rows[d];
        call.kept_rows[d] = s->kept_rows[d];
    }
    const at_backend_operators *run = at_tape_run(tape);
    at_tape_did(tape, (back ? run->recurrent_backward : run->recurrent)(at_tape_context(tape), &call));
}

/* ---- backward ---- */

static void direction_gradients(attn_tape *tape, const recurrent_state *s, int d, attn_variable *x,
                                const attn_variable *y) {
    const attn_recurrent_weights *w = &s->weights[d];
    at_view gates = at_view_of(s->gate_rows[d], y->rows, s->gates, s->gates);
    at_gradient dx = at_gradient_begin(tape, x); /* the second direction's is added to the first's */
    at_product_backward(tape, gates, NULL, ATTN_IDENTITY, at_data_of(x), w->input, w->input_bias, NULL,
                        at_place_of(&dx, x));
    at_gradient_end(tape, x, &dx);
    at_recurrent_before_call call = {.kind = s->kind,
                                     .direction = d,
                                     .hidden = s->hidden,
                                     .gates = s->gates,
                                     .batch = s->batch,
                                     .y = at_data_of(y),
                                     .gate_rows = s->gate_rows[d],
                                     .kept_rows = s->kept_rows[d]};
    if (at_parameter_wanted(tape, w->hidden)) {
        call.before = at_scratch_numbers(tape, y->rows * s->hidden);
        if (!call.before) return;
    }
    at_tape_did(tape, at_tape_run(tape)->recurrent_before(at_tape_context(tape), &call));
    at_product_backward(tape, gates, NULL, ATTN_IDENTITY,
                        at_view_of(call.before, y->rows, s->hidden, s->hidden), w->hidden, w->hidden_bias,
                        NULL, at_view_of(NULL, 0, 0, 0));
}

static void recurrent_backward(attn_tape *tape, at_node *node) {
    recurrent_state *s = node->state;
    at_scratch mark = at_scratch_mark(tape);
    run_steps(tape, s, node->output, 1);
    for (int d = 0; d < s->directions && at_tape_ready(tape); d++) {
        at_scratch inner = at_scratch_mark(tape);
        direction_gradients(tape, s, d, node->input[0], node->output);
        at_scratch_release(tape, inner);
    }
    at_scratch_release(tape, mark);
}

/* ---- forward ---- */

/* One weight and its bias: gates x columns. */
static int check_pair(attn_tape *tape, const char *const name[2], const attn_parameter *weight,
                      const attn_parameter *bias, int64_t gates, int64_t columns) {
    if (!at_tape_has_parameter(tape, "recurrent", name[0], weight, gates, columns)) return 0;
    if (bias && !at_tape_has_parameter(tape, "recurrent", name[1], bias, -1, -1)) return 0;
    if (bias && bias->count != gates) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "recurrent: %s (%s) has %" PRId64 " numbers, %" PRId64 " are needed", name[1],
                     bias->name, bias->count, gates);
        return 0;
    }
    return 1;
}

static int check_arguments(attn_tape *tape, const attn_variable *x, attn_recurrence kind,
                           const attn_recurrent_weights *weights, int directions) {
    if (kind != ATTN_RNN_TANH && kind != ATTN_RNN_GRU && kind != ATTN_RNN_LSTM) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "recurrent: kind is %d, which is not a value of attn_recurrence", (int)kind);
    } else if (directions != 1 && directions != 2) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "recurrent: directions is %d, not 1 or 2", directions);
    } else if (!weights) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "recurrent: weights is NULL");
    }
    if (!at_tape_ready(tape) ||
        !at_tape_has_parameter(tape, "recurrent", "weights[0].hidden", weights[0].hidden, -1, -1)) {
        return 0;
    }
    int64_t hidden = weights[0].hidden->columns, gates = gates_of(kind) * hidden;
    static const char *const names[2][2][2] = {
        {{"weights[0].hidden", "weights[0].hidden_bias"}, {"weights[0].input", "weights[0].input_bias"}},
        {{"weights[1].hidden", "weights[1].hidden_bias"}, {"weights[1].input", "weights[1].input_bias"}}};
    for (int d = 0; d < directions; d++) {
        const attn_recurrent_weights *w = &weights[d];
        if (!check_pair(tape, names[d][0], w->hidden, w->hidden_bias, gates, hidden) ||
            !check_pair(tape, names[d][1], w->input, w->input_bias, gates, x->columns)) {
            return 0;
        }
    }
    return 1;
}

/* Sorts the sequences by length, the longest first, equal ones in the order of
 * the batch, and leaves out empty ones. */
static int sort_sequences(attn_tape *tape, recurrent_state *s) {
    int64_t longest = 0;
    for (int64_t b = 0; b < s->batch.sequences; b++) {
        if (length_of(s, b) > longest) longest = length_of(s, b);
    }
    int64_t *place = at_scratch_memory(tape, longest + 1, sizeof *place);
    s->order = at_tape_memory(tape, s->batch.sequences, sizeof *s->order);
    if (!place || !s->order) return 0;
    memset(place, 0, (size_t)(longest + 1) * sizeof *place);
    for (int64_t b = 0; b < s->batch.sequences; b++) place[length_of(s, b)]++;
    s->count = 0;
    for (int64_t length = longest; length > 0; length--) { /* from how many there are to where they go */
        int64_t here = place[length];
        place[length] = s->count;
        s->count += here;
    }
    for (int64_t b = 0; b < s->batch.sequences; b++) {
        if (length_of(s, b) > 0) s->order[place[length_of(s, b)]++] = b;
    }
    return 1;
}

/* b + c, but for r_2 of a GRU, which is multiplied by a gate; NULL if there is
 * neither, or with the error set. */
static const float *whole_bias(attn_tape *tape, const recurrent_state *s, int d) {
    const attn_parameter *b = s->weights[d].input_bias, *c = s->weights[d].hidden_bias;
    if (!b && !c) return NULL;
    float *sum = at_scratch_numbers(tape, s->gates);
    if (!sum) return NULL;
    at_recurrent_bias_call call = {s->kind, s->hidden, s->gates, b ? b->value : NULL, c ? c->value : NULL,
                                   sum};
    at_tape_did(tape, at_tape_run(tape)->recurrent_bias(at_tape_context(tape), &call));
    return sum;
}

static float *take(attn_tape *tape, int lasting, int64_t count) {
    return lasting ? at_tape_numbers(tape, count) : at_scratch_numbers(tape, count);
}

static int wants_gradient(attn_tape *tape, const attn_variable *x, const recurrent_state *s) {
    int wanted = 0;
    for (int d = 0; d < s->directions; d++) {
        const attn_recurrent_weights *w = &s->weights[d];
        wanted |= at_parameter_wanted(tape, w->input) || at_parameter_wanted(tape, w->hidden) ||
                  at_parameter_wanted(tape, w->input_bias) || at_parameter_wanted(tape, w->hidden_bias);
    }
    return wanted || at_wanted(x);
}

static attn_variable *run_network(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                  attn_recurrence kind, const attn_recurrent_weights *weights, int directions,
                                  float *state) {
    if (!at_tape_ready(tape) || !at_tape_has(tape, "recurrent", "x", x) ||
        !check_arguments(tape, x, kind, weights, directions)) {
        return NULL;
    }
    recurrent_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->directions = directions;
    memcpy(s->weights, weights, (size_t)directions * sizeof *weights);
    s->hidden = weights[0].hidden->columns;
    s->gates = gates_of(kind) * s->hidden;
    s->h = state;
    s->c = state && kind == ATTN_RNN_LSTM ? state + s->hidden : NULL;
    if (!at_tape_has_batch(tape, "recurrent", batch, x->rows, &s->batch)) return NULL;
    attn_variable *y = at_result(tape, x->rows, directions * s->hidden);
    at_scratch mark = at_scratch_mark(tape);
    if (!y || !sort_sequences(tape, s)) return NULL;
    int lasting = wants_gradient(tape, x, s);
    for (int d = 0; d < directions; d++) {
        s->gate_rows[d] = take(tape, lasting, x->rows * s->gates);
        if (kind != ATTN_RNN_TANH) s->kept_rows[d] = take(tape, lasting, x->rows * s->hidden);
        const float *bias = whole_bias(tape, s, d);
        if (!at_tape_ready(tape)) return NULL;
        at_product_forward(tape, at_data_of(x), s->weights[d].input, bias, ATTN_IDENTITY,
                           at_view_of(s->gate_rows[d], x->rows, s->gates, s->gates), NULL);
    }
    run_steps(tape, s, y, 0);
    at_scratch_release(tape, mark);
    at_record(tape, y, recurrent_backward, s, lasting, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? y : NULL;
}

attn_variable *attn_tape_recurrent(attn_tape *tape, attn_variable *x, const attn_ragged *batch,
                                   attn_recurrence kind, const attn_recurrent_weights *weights,
                                   int directions) {
    return run_network(tape, x, batch, kind, weights, directions, NULL);
}

attn_variable *at_tape_recurrent_on(attn_tape *tape, attn_variable *x, attn_recurrence kind,
                                    const attn_recurrent_weights *weights, float *state) {
    const int64_t offsets[2] = {0, x ? x->rows : 0};
    attn_ragged batch = {1, offsets};
    return run_network(tape, x, &batch, kind, weights, 1, state);
}
