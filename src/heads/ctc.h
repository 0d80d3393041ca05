/* ctc.h: answers of their own length without a decoder: connectionist temporal classification.
 *
 *     row -> scores of the symbols and of the blank
 *
 * Symbols, targets, answers, measures and writing are those of sequence.h. The blank is symbol 0, the empty
 * string.
 */
#ifndef AT_HEADS_CTC_H
#define AT_HEADS_CTC_H

#include "heads/sequence.h"

typedef struct at_ctc_layer {
    attn_linear *map; /* symbols x columns */
} at_ctc_layer;

attn_status at_ctc_predict(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                           const at_encoded *encoded, const void *settings, at_answers **answers);
void at_ctc_free_state(attn_context *context, void *state);

attn_variable *at_ctc_explain(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                              const at_batch *batch, at_asked *asked);

#endif
