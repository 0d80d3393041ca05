/* crf.c: a conditional random field over the labels of each sequence.
 *
 *     loss = 1 / rows  sum over sequences of (log sum over all paths exp(potential) - potential(labels))
 *
 * with potential(y) = start[y_1] + sum_t e_t[y_t] + sum_t T[y_(t-1)][y_t] + end[y_n].
 * Its gradient is what the model expects less what is there: p(y_t = c) - [c = label_t]
 * for the emissions, and the same of pairs, first and last classes for T, start
 * and end (forward-backward). Kept for the backward pass: the forward recursion.
 */
#include "tape/tape.h"

#include <inttypes.h>
#include <string.h>

typedef struct crf_state {
    at_crf_call call;
    attn_crf crf;
} crf_state;

static int has_vector(attn_tape *tape, const char *operation, const char *name,
                      const attn_parameter *parameter, int64_t classes) {
    if (!parameter) return 1;
    if (!at_tape_has_parameter(tape, operation, name, parameter, -1, -1)) return 0;
    if (parameter->count == classes) return 1;
    at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                 "%s: %s (%s) has %" PRId64 " numbers, emissions has %" PRId64 " columns", operation, name,
                 parameter->name, parameter->count, classes);
    return 0;
}

/* Fills `call`; 0 with the error set. With `keep` the offsets are copied. */
static int begin_call(attn_tape *tape, const char *operation, const attn_variable *emissions,
                      const attn_ragged *batch, const attn_crf *crf, int keep, at_crf_call *call) {
    if (!at_tape_has(tape, operation, "emissions", emissions)) return 0;
    if (!crf) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "%s: crf is NULL", operation);
        return 0;
    }
    const int64_t classes = emissions->columns;
    if (!at_tape_has_parameter(tape, operation, "transitions", crf->transitions, classes, classes) ||
        !has_vector(tape, operation, "start", crf->start, classes) ||
        !has_vector(tape, operation, "end", crf->end, classes)) {
        return 0;
    }
    memset(call, 0, sizeof *call);
    if (!at_tape_has_batch(tape, operation, batch, emissions->rows, keep ? &call->batch : NULL)) return 0;
    if (!keep) call->batch = *batch;
    call->emissions = at_data_of(emissions);
    call->transitions = crf->transitions->value;
    call->start = crf->start ? crf->start->value : NULL;
    call->end = crf->end ? crf->end->value : NULL;
    return 1;
}

/* ---- the loss ---- */

static void crf_walk_back(attn_tape *tape, at_node *node) {
    const crf_state *s = node->state;
    attn_variable *x = node->input[0];
    attn_parameter *const parameter[3] = {s->crf.transitions, s->crf.start, s->crf.end};
    at_gradient dx = at_gradient_begin(tape, x), d[3];
    for (int p = 0; p < 3; p++) d[p] = at_parameter_gradient_begin(tape, parameter[p]);
    if (at_tape_ready(tape)) {
        at_crf_call call = s->call;
        call.d_loss = node->output->gradient;
        call.dx = at_place_of(&dx, x);
        call.d_transitions = d[0].data;
        call.d_start = d[1].data;
        call.d_end = d[2].data;
        at_tape_did(tape, at_tape_run(tape)->crf_backward(at_tape_context(tape), &call));
    }
    for (int p = 0; p < 3; p++) at_parameter_gradient_end(tape, parameter[p], &d[p]);
    at_gradient_end(tape, x, &dx);
}

attn_variable *attn_tape_crf(attn_tape *tape, attn_variable *emissions, const attn_ragged *batch,
                             const attn_crf *crf, const int32_t *labels) {
    crf_state state;
    at_crf_call *call = &state.call;
    if (!at_tape_ready(tape) || !begin_call(tape, "crf", emissions, batch, crf, 1, call)) return NULL;
    const int64_t rows = emissions->rows;
    if (!labels && rows > 0) return at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "crf: labels is NULL");
    for (int64_t i = 0; i < rows; i++) {
        if (labels[i] >= 0 && labels[i] < emissions->columns) continue;
        return at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                            "crf: label %" PRId64 " is %d, but there are %" PRId64 " classes", i,
                            (int)labels[i], emissions->columns);
    }
    attn_variable *loss = at_result(tape, 1, 1);
    at_scratch mark = at_scratch_mark(tape);
    call->labels = at_tape_copy(tape, labels, rows, sizeof *labels);
    call->alpha = at_recording(tape) ? at_tape_numbers(tape, rows * emissions->columns)
                                     : at_scratch_numbers(tape, rows * emissions->columns);
    state.crf = *crf;
    if (!loss || !call->labels || !call->alpha) return NULL;
    call->loss = loss->data;
    at_tape_did(tape, at_tape_run(tape)->crf(at_tape_context(tape), call));
    at_scratch_release(tape, mark);
    crf_state *kept = at_tape_copy(tape, &state, 1, sizeof state);
    if (!kept) return NULL;
    at_record(tape, loss, crf_walk_back, kept,
              at_parameter_wanted(tape, crf->transitions) || at_parameter_wanted(tape, crf->start) ||
                  at_parameter_wanted(tape, crf->end),
              emissions, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? loss : NULL;
}

/* ---- the best path, and p(y_t = c) ---- */

attn_status attn_tape_crf_decode(attn_tape *tape, const attn_variable *emissions, const attn_ragged *batch,
                                 const attn_crf *crf, int32_t *labels) {
    at_crf_call call;
    if (!at_tape_ready(tape) || !begin_call(tape, "crf_decode", emissions, batch, crf, 0, &call))
        return attn_tape_status(tape);
    if (!labels && emissions->rows > 0)
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "crf_decode: labels is NULL");
    call.best = labels;
    if (at_tape_ready(tape)) at_tape_did(tape, at_tape_run(tape)->crf_decode(at_tape_context(tape), &call));
    return attn_tape_status(tape);
}

attn_status attn_tape_crf_marginals(attn_tape *tape, const attn_variable *emissions, const attn_ragged *batch,
                                    const attn_crf *crf, float *marginals) {
    at_crf_call call;
    if (!at_tape_ready(tape) || !begin_call(tape, "crf_marginals", emissions, batch, crf, 0, &call))
        return attn_tape_status(tape);
    if (!marginals && emissions->rows > 0)
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "crf_marginals: marginals is NULL");
    call.marginals = marginals;
    if (at_tape_ready(tape))
        at_tape_did(tape, at_tape_run(tape)->crf_marginals(at_tape_context(tape), &call));
    return attn_tape_status(tape);
}
