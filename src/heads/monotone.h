/* monotone.h: hard monotone attention: the decoder advances through the source row by row.
 *
 *     h(t, u) = gelu(R x_t + S d_u + b)  ->  logits of the symbols and of the blank, then softmax
 *
 * x_t are the encoder's rows, d_u is the decoder's row after u symbols. At row t, with u symbols emitted, the
 * decoder emits the next symbol and stays, or the blank (symbol 0) and advances to row t + 1; the blank of
 * the last row ends the prediction. This is a transducer (Graves 2012): the loss sums the probabilities of
 * all paths that emit the target (attn_tape_transducer).
 *
 * Search needs p(symbol | symbols so far). With a(t), the probability that a path
 * is at row t, given the symbols so far,
 *
 *     a(t)       = w(t) + a(t - 1) p_{t-1}(blank)        w: the probability that the last symbol
 *     q(symbol)  = sum over t of a(t) p_t(symbol)            was emitted at row t; at first w = 1 at row 0
 *     q(end)     = a(T - 1) p_{T-1}(blank)
 *     w'(t)      = a(t) p_t(symbol) / q(symbol)          after `symbol` is emitted
 *
 * so that beam search is the same for a transducer and for a decoder with cross-attention.
 */
#ifndef AT_HEADS_MONOTONE_H
#define AT_HEADS_MONOTONE_H

#include "heads/sequence.h"

/* The state of a search for one network. Every hypothesis has `rows` nodes, one for each row of the longest
 * source of the batch; those beyond its own source have the probability 0. */
typedef struct at_monotone_search {
    int64_t rows, columns, hypotheses;
    float *source;              /* R x_t + b: rows of the batch x columns */
    double *alpha, *arrive;     /* a and w: [hypotheses][rows] */
    int64_t *sequence, *before; /* whose hypothesis it is; before the last step */
    int64_t *pick;              /* [2][hypotheses * rows]: the rows that nodes are made of */
    float *logarithms;          /* of q: [hypotheses][symbols] */
    int64_t source_room, alpha_room, arrive_room, sequence_room, before_room, pick_room, logarithm_room;
    at_host_rows host; /* the probabilities of the last step: nodes x symbols */
} at_monotone_search;

void at_monotone_free(attn_context *context, at_monotone_search *search);
/* Begins a search of at most `most` hypotheses at once, with an empty one for each source; x: the encoder's
 * rows. */
attn_status at_monotone_begin(attn_context *context, at_monotone_search *search, int64_t most,
                              const at_symbol_layer *layer, attn_tape *tape, attn_variable *x,
                              const at_batch *batch, int64_t symbols);
/* Before the tape begins the step after one: hypothesis r goes on from hypothesis from[r] with symbols[r]. */
void at_monotone_take(at_monotone_search *search, int64_t hypotheses, const int64_t *from,
                      const int32_t *symbols);
/* x: the decoder's rows of the hypotheses. search->logarithms then has those of q. */
attn_status at_monotone_step(at_monotone_search *search, const at_head *head, const at_symbol_layer *layer,
                             attn_tape *tape, attn_variable *x, const at_batch *batch);

/* The logits of all nodes of the lattices of a batch (ops/lattice.h) with teacher forcing, and the loss. */
attn_variable *at_monotone_logits(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                  attn_variable *x, const at_batch *batch, const at_decoding *decoding);
attn_variable *at_monotone_loss(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                attn_variable *x, const at_batch *batch, const at_decoding *decoding);
/* weights[i * rows + t]: the probability, given the whole prediction, that symbol i is emitted at row t of
 * the one source of the batch; `decoding.predicted` is the prediction. Tape and errors are those of
 * `context`. */
attn_status at_monotone_align(attn_context *context, const at_head *head, const at_symbol_layer *layer,
                              attn_tape *tape, attn_variable *x, const at_batch *batch,
                              const at_decoding *decoding, float *weights);

#endif
