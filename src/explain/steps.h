/* steps.h: every number from a row to its output in one head, computed again in double.
 *
 *     q = x W_q^T + b    k, v likewise       of the row, and of every row that it may see
 *     dot_j     = q . k_j
 *     scaled_j  = scale * dot_j              softcap * tanh(of it / softcap), if there is one
 *     score_j   = scaled_j + bias_j          bias_j = log(weight_j) + log_sum_exp - scaled_j
 *     softmax_j = exp(score_j) / sum of exp(score)
 *     output    = sum_j weight_j v_j
 *     result    = W_o (the outputs of all heads, side by side) + b
 *
 * Whatever the network gave as well is compared with it. A bias is not kept by the capture, so it is what is
 * left of the score; that there is none is seen from the log-sum-exp of the scaled products alone.
 */
#ifndef AT_EXPLAIN_STEPS_H
#define AT_EXPLAIN_STEPS_H

#include "explain/explain.h"

typedef struct at_step_key {
    int64_t key;
    int masked;    /* not seen */
    double weight; /* the network's */
    double dot, scaled, bias, score;
    double exponential; /* e^(score - shift) */
    double softmax;     /* the weight, computed again */
    double size;        /* scale * sum |q_c k_c|: what rounding goes by */
} at_step_key;

typedef struct at_step_check {
    const char *what;             /* "the weights" */
    double difference, tolerance; /* the largest, and what rounding explains there */
    int agrees;
} at_step_check;

enum { AT_STEP_CHECKS = 8 };

typedef struct at_row_steps {
    attn_explanation *explanation;
    const attn_map *map;
    const at_step_numbers *numbers;
    int64_t row, head, kv_head;
    const at_strings *query_names, *key_names;
    at_step_key *keys;
    int64_t count, seen, unlisted; /* keys shown; of them not masked; those out of reach that are not shown */
    int dotted;                    /* the score is the scaled dot product */
    int biased;
    double shift, total, log_sum_exp; /* total: of the exponentials */
    int64_t divisor;                  /* of weightings with `average`; else 1 */
    double *plain_query;              /* x W_q^T + b, before any rotation; NULL: not known */
    double *output;                   /* [value_width], of this head */
    double *result;                   /* [result_columns]; NULL: there is no W_o */
    at_step_check checks[AT_STEP_CHECKS];
    int check_count;
} at_row_steps;

/* Rows of a head in the captured numbers. */
static inline const float *at_step_query(const at_row_steps *steps) {
    const at_step_numbers *n = steps->numbers;
    return n->query + (steps->row * n->heads + steps->head) * n->width;
}
static inline const float *at_step_key_row(const at_row_steps *steps, int64_t key) {
    const at_step_numbers *n = steps->numbers;
    return n->key + (key * n->kv_heads + steps->kv_head) * n->width;
}
static inline const float *at_step_value_row(const at_row_steps *steps, int64_t key) {
    const at_step_numbers *n = steps->numbers;
    return n->value + (key * n->kv_heads + steps->kv_head) * n->value_width;
}

attn_status at_row_steps_compute(attn_explanation *explanation, const at_step_numbers *numbers, int64_t row,
                                 int64_t head, at_row_steps *steps);
void at_row_steps_free(at_row_steps *steps);
int at_row_steps_agree(const at_row_steps *steps);

/* The name of a row, or "row 3" in `buffer` if it has none. */
enum { AT_STEP_NAME = 32 };
const char *at_step_name(const at_strings *names, int64_t row, char buffer[AT_STEP_NAME]);
/* "additive", and "softmax". */
const char *at_step_score_name(attn_score score);
const char *at_step_weighting_name(attn_weighting weighting);
/* What stands above: the title, or what was answered. */
const char *at_row_steps_title(const at_row_steps *steps, const attn_steps_options *options);

attn_status at_row_steps_text(const at_row_steps *steps, const attn_steps_options *options,
                              at_writer *writer);
/* The page, and the numbers in it. */
attn_status at_row_steps_page(const at_row_steps *steps, const attn_steps_options *options,
                              at_writer *writer);
attn_status at_row_steps_data(const at_row_steps *steps, const attn_steps_options *options,
                              at_writer *writer);

#endif
