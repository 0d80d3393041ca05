/* next.h: the next symbol of running text, after every row: language models. */
#ifndef AT_HEADS_NEXT_H
#define AT_HEADS_NEXT_H

#include "heads/sequence.h"

typedef struct at_next_targets {
    at_targets targets;
    const at_forward
        *forward; /* what is to be predicted after a row is the symbol of the next: it is requested */
    const at_encoded *encoded; /* batch by batch, since a list of all would be as long as the text */
    int32_t *batch_symbols;    /* unknown ones are 0 */
    int64_t batch_room;
} at_next_targets;

extern const at_fields at_next_setting_fields; /* of attn_sampling_options */
extern const at_running at_next_running;

attn_status at_next_predict(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                            const at_encoded *encoded, const void *settings, at_answers **answers);
void at_next_write(const at_writing *now, int64_t example);
attn_variable *at_next_explain(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                               const at_batch *batch, at_asked *asked);
void at_next_free_state(attn_context *context, void *state);
/* Chunks of running text that end with the first line that makes them half of `longest` rows long, or where
 * they are `longest` rows long. The last row is in none. */
attn_status at_next_segments(const at_head *head, const at_forward *forward, const at_encoded *encoded,
                             const at_targets *targets, at_segments *segments);

#endif
