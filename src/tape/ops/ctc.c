/* ctc.c: connectionist temporal classification: the symbols of a sequence, without saying which rows they
 * are in.
 *
 *     loss = 1 / rows  sum over sequences of -log sum over all paths that mean the target of p(path)
 *
 * Its gradient is softmax(logits) less what the target expects of every row (forward-backward). Kept for the
 * walk back: the forward recursion. A sequence that cannot be its target adds nothing.
 */
#include "tape/tape.h"

#include <inttypes.h>
#include <string.h>

static void ctc_walk_back(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0];
    at_gradient dx = at_gradient_begin(tape, x);
    if (at_tape_ready(tape) && dx.data) {
        at_ctc_call call = *(const at_ctc_call *)node->state;
        call.d_loss = node->output->gradient;
        call.dx = at_place_of(&dx, x);
        at_tape_did(tape, at_tape_run(tape)->ctc_backward(at_tape_context(tape), &call));
    }
    at_gradient_end(tape, x, &dx);
}

static int has_targets(attn_tape *tape, const attn_ragged *batch, const int32_t *targets, int64_t symbols,
                       int32_t blank) {
    const int64_t count = batch->offsets[batch->sequences];
    if (blank < 0 || blank >= symbols) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "ctc: blank is %d, but logits has %" PRId64 " columns",
                     (int)blank, symbols);
        return 0;
    }
    if (!targets && count > 0) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "ctc: targets is NULL");
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        if (targets[i] >= 0 && targets[i] < symbols && targets[i] != blank) continue;
        if (targets[i] == blank)
            at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "ctc: target %" PRId64 " is %d, the blank", i,
                         (int)blank);
        else
            at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                         "ctc: target %" PRId64 " is %d, but logits has %" PRId64 " columns", i,
                         (int)targets[i], symbols);
        return 0;
    }
    return 1;
}

/* Both batches, copied; 0 with the error set. */
static int begin_call(attn_tape *tape, const attn_variable *logits, const attn_ragged *batch,
                      const int32_t *targets, const attn_ragged *target_batch, int32_t blank,
                      at_ctc_call *call) {
    memset(call, 0, sizeof *call);
    if (!at_tape_has(tape, "ctc", "logits", logits) ||
        !at_tape_has_batch(tape, "ctc", batch, logits->rows, &call->batch)) {
        return 0;
    }
    if (!target_batch || !target_batch->offsets || target_batch->sequences != batch->sequences) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "ctc: target_batch has %" PRId64 " sequences, the batch has %" PRId64,
                     target_batch && target_batch->offsets ? target_batch->sequences : 0, batch->sequences);
        return 0;
    }
    if (!at_tape_has_batch(tape, "ctc: targets", target_batch, target_batch->offsets[batch->sequences],
                           &call->target_batch) ||
        !has_targets(tape, target_batch, targets, logits->columns, blank)) {
        return 0;
    }
    call->logits = at_data_of(logits);
    call->targets = at_tape_copy(tape, targets, target_batch->offsets[batch->sequences], sizeof *targets);
    call->blank = blank;
    return call->targets != NULL;
}

attn_variable *attn_tape_ctc(attn_tape *tape, attn_variable *logits, const attn_ragged *batch,
                             const int32_t *targets, const attn_ragged *target_batch, int32_t blank) {
    at_ctc_call call;
    if (!at_tape_ready(tape) || !begin_call(tape, logits, batch, targets, target_batch, blank, &call))
        return NULL;
    const int64_t states = at_ctc_alpha_count(batch, target_batch);
    attn_variable *loss = at_result(tape, 1, 1);
    double *log_p = at_tape_memory(tape, batch->sequences, sizeof *log_p);
    at_scratch mark = at_scratch_mark(tape);
    call.log_p = log_p;
    call.alpha = (double *)(void *)(at_recording(tape) ? at_tape_numbers(tape, states)
                                                       : at_scratch_numbers(tape, states));
    call.normal = at_recording(tape) ? at_tape_numbers(tape, 2 * logits->rows)
                                     : at_scratch_numbers(tape, 2 * logits->rows);
    if (!loss || !log_p || !call.alpha || !call.normal) return NULL;
    call.loss = loss->data;
    at_tape_did(tape, at_tape_run(tape)->ctc(at_tape_context(tape), &call));
    at_scratch_release(tape, mark);
    at_ctc_call *kept = at_tape_copy(tape, &call, 1, sizeof call);
    if (!kept) return NULL;
    at_record(tape, loss, ctc_walk_back, kept, 0, logits, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? loss : NULL;
}
