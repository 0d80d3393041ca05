/* search.h: beam search: the likeliest sequences of symbols.
 *
 *     at_search_create(context, examples, &options, limits, &search);
 *     while (at_search_rows(search) > 0) {
 *         ... for every row the log-probability of each symbol after at_search_symbols(search),
 *             where row r extends the old row at_search_from(search)[r] ...
 *         at_search_step(search, logarithms, stride, symbols);
 *     }
 *
 * Rows are the open hypotheses; those of one example are consecutive, in the order of the examples. Before
 * the first step every example has one row, the empty hypothesis, whose symbol is 0. Symbol 0 ends a
 * hypothesis.
 */
#ifndef AT_HEADS_SEARCH_H
#define AT_HEADS_SEARCH_H

#include <stdint.h>

#include <attn/context.h>
#include <attn/predictor.h>

typedef struct at_search at_search;

/* Whether beam, n_best and length_penalty are in range. */
attn_status at_search_check(attn_context *context, const attn_search_options *options);
/* limits: [examples] the most symbols of a prediction, without the end: at most limit + 1 steps. Of `options`
 * beam, n_best and length_penalty count. */
attn_status at_search_create(attn_context *context, int64_t examples, const attn_search_options *options,
                             const int64_t *limits, at_search **search);
void at_search_destroy(at_search *search);

int64_t at_search_rows(const at_search *search);
const int32_t *at_search_symbols(const at_search *search);
const int64_t *at_search_from(const at_search *search);
/* logarithms: rows x symbols, `stride` numbers from row to row; NaN is taken as impossible. */
attn_status at_search_step(at_search *search, const float *logarithms, int64_t stride, int64_t symbols);

/* The same for logits, of which probabilities are still to be made by a softmax. */
attn_status at_search_step_logits(at_search *search, const float *logits, int64_t stride, int64_t symbols);

/* The predictions of an example, best first; those that ended precede those that did not. At least one. */
typedef struct at_found {
    double value;   /* by which predictions are ranked: sum, divided by a power of the length */
    double sum;     /* of the logarithms, the end included */
    int64_t length; /* symbols, without the end */
    int ended;
    int32_t node; /* of the last symbol, for at_search_spell */
} at_found;
int64_t at_search_found(const at_search *search, int64_t example, const at_found **found);
/* Writes the `length` symbols of a prediction. */
void at_search_spell(const at_search *search, const at_found *found, int32_t *symbols);

#endif
