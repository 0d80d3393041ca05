/* transducer.c: the loss of a transducer: a target written while going through a source, without saying at
 * which row each symbol is written.
 *
 *     log_p = log_softmax(logits);  loss = 1 / symbols  sum over sequences of -log p(target)
 *
 * Its gradient at log_p is, less the sign, the probability of each move given the target (ops/lattice.h),
 * which is kept for the walk back. A sequence that cannot be its target adds nothing.
 */
#include "tape/tape.h"

#include <inttypes.h>
#include <string.h>

static void transducer_walk_back(attn_tape *tape, at_node *node) {
    attn_variable *x = node->input[0];
    at_gradient dx = at_gradient_begin(tape, x);
    if (at_tape_ready(tape) && dx.data) {
        at_transducer_call call = *(const at_transducer_call *)node->state;
        call.d_loss = node->output->gradient;
        call.dx = at_place_of(&dx, x);
        at_tape_did(tape, at_tape_run(tape)->transducer_backward(at_tape_context(tape), &call));
    }
    at_gradient_end(tape, x, &dx);
}

static int has_targets(attn_tape *tape, const attn_ragged *batch, const int32_t *targets, int64_t symbols,
                       int32_t blank) {
    const int64_t count = batch->offsets[batch->sequences];
    if (blank < 0 || blank >= symbols) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "transducer: blank is %d, but logits has %" PRId64 " columns", (int)blank, symbols);
        return 0;
    }
    if (!targets && count > 0) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "transducer: targets is NULL");
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        if (targets[i] >= -1 && targets[i] < symbols && targets[i] != blank) continue;
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "transducer: target %" PRId64 " is %d; it can be -1 or a column of logits (%" PRId64
                     ") other than the blank %d",
                     i, (int)targets[i], symbols, (int)blank);
        return 0;
    }
    return 1;
}

/* Both batches, copied, and where the nodes of each sequence begin; 0 with the error set. */
static int begin_call(attn_tape *tape, const attn_variable *logits, const attn_ragged *batch,
                      const int32_t *targets, const attn_ragged *target_batch, int32_t blank,
                      at_transducer_call *call) {
    memset(call, 0, sizeof *call);
    if (!at_tape_has(tape, "transducer", "logits", logits)) return 0;
    if (!batch || !batch->offsets || !target_batch || !target_batch->offsets ||
        target_batch->sequences != batch->sequences) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "transducer: batch and target_batch have %" PRId64 " and %" PRId64 " sequences",
                     batch && batch->offsets ? batch->sequences : 0,
                     target_batch && target_batch->offsets ? target_batch->sequences : 0);
        return 0;
    }
    if (!at_tape_has_batch(tape, "transducer", batch, batch->offsets[batch->sequences], &call->batch) ||
        !at_tape_has_batch(tape, "transducer: targets", target_batch, target_batch->offsets[batch->sequences],
                           &call->target_batch) ||
        !has_targets(tape, target_batch, targets, logits->columns, blank))
        return 0;
    int64_t *nodes = at_tape_memory(tape, batch->sequences + 1, sizeof *nodes);
    if (!nodes) return 0;
    nodes[0] = 0;
    for (int64_t b = 0; b < batch->sequences; b++)
        nodes[b + 1] = nodes[b] + (batch->offsets[b + 1] - batch->offsets[b]) *
                                      (target_batch->offsets[b + 1] - target_batch->offsets[b] + 1);
    if (nodes[batch->sequences] != logits->rows) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "transducer: logits has %" PRId64 " rows; %" PRId64
                     " are needed, rows of the source times symbols of the target and one more",
                     logits->rows, nodes[batch->sequences]);
        return 0;
    }
    call->node_offsets = nodes;
    call->symbols = batch->sequences;
    for (int64_t i = 0; i < target_batch->offsets[batch->sequences]; i++) call->symbols += targets[i] >= 0;
    call->targets = at_tape_copy(tape, targets, target_batch->offsets[batch->sequences], sizeof *targets);
    call->blank = blank;
    return call->targets != NULL;
}

attn_variable *attn_tape_transducer(attn_tape *tape, attn_variable *logits, const attn_ragged *batch,
                                    const int32_t *targets, const attn_ragged *target_batch, int32_t blank) {
    at_transducer_call call;
    if (!at_tape_ready(tape) || !begin_call(tape, logits, batch, targets, target_batch, blank, &call))
        return NULL;
    attn_variable *x = attn_tape_log_softmax(tape, logits), *loss = at_result(tape, 1, 1);
    call.total = at_tape_memory(tape, batch->sequences, sizeof *call.total);
    if (at_recording(tape)) call.moves = at_tape_numbers(tape, 2 * logits->rows);
    if (!x || !loss || !call.total || (at_recording(tape) && !call.moves)) return NULL;
    call.log_p = at_data_of(x);
    call.loss = loss->data;
    at_tape_did(tape, at_tape_run(tape)->transducer(at_tape_context(tape), &call));
    at_transducer_call *kept = at_tape_copy(tape, &call, 1, sizeof call);
    if (!kept) return NULL;
    at_record(tape, loss, transducer_walk_back, kept, 0, x, NULL, NULL);
    return attn_tape_status(tape) == ATTN_OK ? loss : NULL;
}
