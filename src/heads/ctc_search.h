/* ctc_search.h: the likeliest sequences of symbols for rows of probabilities, in which a row may be the blank
 * (symbol 0) and repetitions of a symbol are one.
 *
 *     at_ctc_prepare(context, &memory, rows, symbols, options);      // memory of one thread, all 0 at first
 *     at_ctc_search_rows(&memory, &rows, options, found, symbols);   // as often as there are sequences
 *     at_ctc_release(context, &memory);
 *
 * A beam of 1 takes the likeliest symbol of every row. A larger one is prefix beam search: the probability of
 * a prefix is the sum over all kept paths with that sequence. Then the log-probability of the hypotheses
 * found is computed from all paths.
 */
#ifndef AT_HEADS_CTC_SEARCH_H
#define AT_HEADS_CTC_SEARCH_H

#include <stdint.h>

#include <attn/context.h>
#include <attn/predictor.h>

/* Logarithms of probabilities. */
typedef struct at_ctc_rows {
    const float *data;
    int64_t rows, symbols, stride;
} at_ctc_rows;

typedef struct at_ctc_memory {
    struct at_ctc_node *nodes; /* beginnings, each one symbol longer than another */
    int64_t node_room;
    int32_t *slots; /* nodes by parent and symbol, in a table of open addresses */
    int64_t slot_room, slot_count;
    struct at_ctc_beginning *beam, *next;
    int64_t beam_room, next_room;
    struct at_ctc_choice *choices;
    int64_t choice_room;
    int32_t *likely; /* the symbols of a row that can matter */
    int64_t likely_room;
    double *sums; /* of at_ctc_log_probability */
    int64_t sum_room;
} at_ctc_memory;

typedef struct at_ctc_found {
    double log_probability;
    int64_t count; /* symbols */
    int ended;     /* it was not cut */
} at_ctc_found;

/* For sequences of at most so many rows; of `options` beam, n_best and longest count. */
attn_status at_ctc_prepare(attn_context *context, at_ctc_memory *memory, int64_t rows, int64_t symbols,
                           const attn_search_options *options);
void at_ctc_release(attn_context *context, at_ctc_memory *memory);

/* The predictions of a sequence, best first, n_best at most and at least one; how many. Answer a has its
 * symbols at symbols[a * rows]. */
int64_t at_ctc_search_rows(at_ctc_memory *memory, const at_ctc_rows *rows, const attn_search_options *options,
                           at_ctc_found *found, int32_t *symbols);

/* log p(answer) from all paths. sums: room for 4 * count + 2 numbers. */
double at_ctc_log_probability(const at_ctc_rows *rows, const int32_t *answer, int64_t count, double *sums);
/* begins[i * stride + t]: the probability that symbol i of the prediction begins at row t. sums: room for
 * (rows + 2) * (2 * count + 1) numbers. */
void at_ctc_align(const at_ctc_rows *rows, const int32_t *answer, int64_t count, double *sums, float *begins,
                  int64_t stride);

#endif
