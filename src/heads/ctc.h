/* ctc.h: sequences without a decoder: connectionist temporal classification.
 *
 *     row -> logits of the symbols and of the blank
 *
 * With target.upsample k above 1 a row becomes k rows, so that a target may have up to k times as many
 * symbols as the source has rows:
 *
 *     h[k r + i]  =  gelu(W x[r] + slot[i])  ->  logits,     i = 0 .. k - 1
 *
 * Symbols, targets, predictions, metrics and writing are those of sequence.h. The blank is symbol 0, the
 * empty string.
 */
#ifndef AT_HEADS_CTC_H
#define AT_HEADS_CTC_H

#include "heads/sequence.h"

typedef struct at_ctc_layer {
    attn_linear *map;      /* symbols x columns */
    attn_linear *hidden;   /* W; NULL without upsampling, like slots */
    attn_embedding *slots; /* k x columns */
} at_ctc_layer;

static inline int64_t at_ctc_upsample(const at_head *head) { return head->config.sequence.upsample; }

/* The logits of the rows of a batch, upsampled; *rows: where the rows of each sequence stand, in the tape's
 * memory. */
attn_variable *at_ctc_logits(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                             const at_batch *batch, attn_ragged *rows);

attn_status at_ctc_predict(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                           const at_encoded *encoded, const void *settings, at_answers **answers);
void at_ctc_free_state(attn_context *context, void *state);

attn_variable *at_ctc_explain(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                              const at_batch *batch, at_asked *asked);

#endif
