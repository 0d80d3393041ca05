/* attention_call.h: from the caller's views to one at_attention: the shape
 * checks, and how the sequences lie. */
#ifndef AT_OPS_ATTENTION_CALL_H
#define AT_OPS_ATTENTION_CALL_H

#include <attn/attention.h>

#include "base/context.h"
#include "kernels/table.h"

/* A checked call. The at_attention in it is complete but for its memory:
 * sequences, partials, row_terms and so on. */
typedef struct at_attention_call {
    at_attention kernel;
    attn_pattern pattern;
    attn_attention_options options;
    int batched;                  /* 4-d tensors */
    int64_t query_rows, key_rows; /* of the tensors: all rows, or rows a sequence */
    int64_t longest_query, longest_key;
    int64_t weights_count;
    double pairs; /* (query, key) pairs within reach, all heads: what the work is counted in */
} at_attention_call;

/* Checks pattern, options (NULL: defaults) and the inputs. value NULL: d_v is
 * left 0 (for the calls that only ask about weights). */
attn_status at_attention_check(attn_context *context, const attn_pattern *pattern,
                               const attn_attention_options *options, const attn_tensor *query,
                               const attn_tensor *key, const attn_tensor *value, at_attention_call *call);

/* Where sequence b lies; first_task and first_partial are left 0. */
at_sequence at_attention_sequence(const at_attention_call *call, int64_t b);

/* An operand: rows x heads x channels, or the same behind a sequence index. */
attn_status at_attention_check_rows(attn_context *context, const char *name, const attn_tensor *tensor,
                                    const at_attention_call *call, int64_t rows, int64_t heads,
                                    int64_t channels, int is_result);
at_rows at_attention_rows(const attn_tensor *tensor);

/* The bias and the distance table, or their gradients. */
attn_status at_attention_check_bias(attn_context *context, const char *name, const attn_tensor *bias,
                                    const at_attention_call *call, int is_result);
attn_status at_attention_check_distance(attn_context *context, const char *name, const attn_tensor *table,
                                        const at_attention_call *call, int is_result);

/* Scores, weightings, graphs and edge features (attention_score.c). */
attn_status at_attention_check_graph(attn_context *context, at_attention_call *call);
attn_status at_attention_check_score(attn_context *context, at_attention_call *call);
attn_status at_attention_check_vector(attn_context *context, const char *name, const attn_tensor *vector,
                                      const at_attention_call *call, int is_result);
attn_status at_attention_check_edges(attn_context *context, const char *name, const attn_tensor *feature,
                                     const at_attention_call *call, int64_t channels, int is_result,
                                     at_rows *rows);

/* Whether the call goes over lists of neighbours (attention_edges.c): graphs,
 * and scores that are no products. */
int at_attention_goes_by_edges(const at_attention_call *call);

#endif
