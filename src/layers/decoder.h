/* decoder.h (private): what the decoder and its cache share. */
#ifndef AT_LAYERS_DECODER_H
#define AT_LAYERS_DECODER_H

#include <attn/encoder.h>

#include "layers/layers.h"

/* One block: self-attention, cross-attention (or NULL), feed-forward. */
typedef struct at_decoder_block {
    attn_multihead *self, *cross;
    attn_feedforward *feed;
    attn_norm *norm[3];
} at_decoder_block;

struct attn_decoder {
    attn_decoder_options options;
    attn_parameters *parameters;
    attn_positions *positions;
    at_decoder_block *block;
    attn_norm *norm;
};

/* attn_cache_create, for tapes of another context: a part of the parameters' (base/parts.h). */
attn_status at_cache_create(attn_context *context, const attn_decoder *decoder, int64_t sequences,
                            int64_t room, attn_cache **cache);

/* Before and after a branch of block number `which` norm: x -> what the branch
 * takes; then the branch's result with dropout, residual and norm. */
attn_variable *at_branch_begin(attn_tape *tape, const attn_decoder *decoder, const attn_norm *norm,
                               attn_variable *x);
attn_variable *at_branch_end(attn_tape *tape, const attn_decoder *decoder, const attn_norm *norm,
                             attn_variable *x, attn_variable *y);

#endif
