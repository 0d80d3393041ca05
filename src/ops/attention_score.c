/* attention_score.c: the checks of scores, weightings, graphs and edge
 * features: which of them combine (the table in attn/attention.h), and their
 * shapes.
 */
#include <inttypes.h>
#include <math.h>

#include "ops/attention_call.h"
#include "ops/check.h"

static const char *const score_names[] = {"ATTN_SCORE_DOT", "ATTN_SCORE_ADDITIVE", "ATTN_SCORE_GAT",
                                          "ATTN_SCORE_GATV2", "ATTN_SCORE_NONE"};

/* A graph instead of positions: everything that speaks of positions must be absent. */
attn_status at_attention_check_graph(attn_context *context, at_attention_call *call) {
    const attn_pattern *p = &call->pattern;
    const attn_graph *graph = p->graph;
    const char *other = NULL;
    if (call->batched) {
        return at_fail(context, ATTN_UNSUPPORTED,
                       "pattern.graph needs tensors of 3 extents (row x head x channel); query has 4");
    }
    if (p->query_offsets || p->key_offsets) other = "query_offsets and key_offsets";
    if (p->query_lengths || p->key_lengths) other = "query_lengths and key_lengths";
    if (p->left != ATTN_UNLIMITED || p->right != ATTN_UNLIMITED) other = "left and right";
    if (p->mask.bits) other = "mask";
    if (other) {
        return at_fail(context, ATTN_UNSUPPORTED,
                       "pattern.graph does not combine with %s: its edges say who sees whom", other);
    }
    if (call->query_rows != attn_graph_rows(graph) || call->key_rows != attn_graph_columns(graph)) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "pattern.graph has %" PRId64 " rows and %" PRId64 " columns, but query has %" PRId64
                       " rows and key %" PRId64,
                       attn_graph_rows(graph), attn_graph_columns(graph), call->query_rows, call->key_rows);
    }
    call->pattern.sequences = 1;
    call->kernel.by_row = &graph->by_row;
    call->kernel.by_column = &graph->by_column;
    call->longest_query = call->query_rows;
    call->longest_key = call->key_rows;
    call->pairs = (double)graph->edges * (double)call->kernel.heads;
    if (call->pairs > 9.0e18 / sizeof(float) / ATTN_MAX_CHANNELS) {
        return at_fail(context, ATTN_OVERFLOW,
                       "the edges of pattern.graph times the heads are more than a size can count");
    }
    call->weights_count = graph->edges * call->kernel.heads;
    return ATTN_OK;
}

static attn_status unsupported(attn_context *context, attn_score score, const char *option) {
    return at_fail(context, ATTN_UNSUPPORTED, "%s does not combine with options.%s", score_names[score],
                   option);
}

static attn_status check_combination(attn_context *context, const at_attention_call *call) {
    const attn_attention_options *o = &call->options;
    const attn_score score = o->score;
    if (score != ATTN_SCORE_DOT && o->softcap > 0.0f) return unsupported(context, score, "softcap");
    if (o->edge_key.data && (score == ATTN_SCORE_GAT || score == ATTN_SCORE_NONE)) {
        return unsupported(context, score, "edge_key");
    }
    const char *of_positions = o->bias.data            ? "bias"
                               : o->distance_bias.data ? "distance_bias"
                               : o->alibi_slopes       ? "alibi_slopes"
                                                       : NULL;
    const char *of_edges = o->edge_bias.data    ? "edge_bias"
                           : o->edge_key.data   ? "edge_key"
                           : o->edge_value.data ? "edge_value"
                                                : NULL;
    if (call->pattern.graph && of_positions) {
        return at_fail(context, ATTN_UNSUPPORTED,
                       "options.%s speaks of positions, and pattern.graph has none", of_positions);
    }
    if (!call->pattern.graph && of_edges) {
        return at_fail(context, ATTN_UNSUPPORTED, "options.%s speaks of edges, and there is no pattern.graph",
                       of_edges);
    }
    return ATTN_OK;
}

attn_status at_attention_check_vector(attn_context *context, const char *name, const attn_tensor *vector,
                                      const at_attention_call *call, int is_result) {
    int64_t shape[2] = {call->kernel.heads, call->kernel.d_k};
    attn_status status =
        is_result ? at_check_result(context, name, vector, 2) : at_check_tensor(context, name, vector, 2);
    if (status == ATTN_OK) status = at_check_shape(context, name, vector, 2, shape, "heads x d_k");
    if (status != ATTN_OK) return status;
    if ((shape[1] > 1 && vector->stride[1] != 1) || (shape[0] > 1 && vector->stride[0] != shape[1])) {
        return at_fail(context, ATTN_UNSUPPORTED,
                       "%s has strides %" PRId64 ", %" PRId64 "; it has to be contiguous", name,
                       vector->stride[0], vector->stride[1]);
    }
    return ATTN_OK;
}

attn_status at_attention_check_edges(attn_context *context, const char *name, const attn_tensor *feature,
                                     const at_attention_call *call, int64_t channels, int is_result,
                                     at_rows *rows) {
    int rank = channels > 0 ? 3 : 2;
    int64_t shape[3] = {attn_graph_edges(call->pattern.graph), call->kernel.heads, channels};
    attn_status status = is_result ? at_check_result(context, name, feature, rank)
                                   : at_check_tensor(context, name, feature, rank);
    if (status == ATTN_OK) {
        status = at_check_shape(context, name, feature, rank, shape,
                                rank == 3 ? "edges x heads x channels" : "edges x heads");
    }
    if (status != ATTN_OK) return status;
    if (feature->shape[rank - 1] > 1 && feature->stride[rank - 1] != 1) {
        return at_fail(context, ATTN_UNSUPPORTED,
                       "the last extent of %s has stride %" PRId64 "; only 1 is supported", name,
                       feature->stride[rank - 1]);
    }
    at_rows result = {feature->data, 0, feature->stride[0], rank == 3 ? feature->stride[1] : 1};
    *rows = result;
    return ATTN_OK;
}

static attn_status check_vectors(attn_context *context, at_attention_call *call) {
    const attn_attention_options *o = &call->options;
    const int needs =
        o->score == ATTN_SCORE_ADDITIVE || o->score == ATTN_SCORE_GAT || o->score == ATTN_SCORE_GATV2;
    attn_status status = ATTN_OK;
    if (needs) {
        if (!o->score_vector.data) {
            return at_fail(context, ATTN_INVALID_ARGUMENT, "%s needs options.score_vector [heads, d_k]",
                           score_names[o->score]);
        }
        status = at_attention_check_vector(context, "options.score_vector", &o->score_vector, call, 0);
        call->kernel.score_vector = o->score_vector.data;
    }
    if (status == ATTN_OK && o->score == ATTN_SCORE_GAT) {
        if (!o->key_score_vector.data) {
            return at_fail(context, ATTN_INVALID_ARGUMENT, "%s needs options.key_score_vector [heads, d_k]",
                           score_names[o->score]);
        }
        status =
            at_attention_check_vector(context, "options.key_score_vector", &o->key_score_vector, call, 0);
        call->kernel.key_score_vector = o->key_score_vector.data;
    }
    return status;
}

attn_status at_attention_check_score(attn_context *context, at_attention_call *call) {
    const attn_attention_options *o = &call->options;
    at_attention *k = &call->kernel;
    if ((int)o->score < ATTN_SCORE_DOT || (int)o->score > ATTN_SCORE_NONE) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "options.score is %d, which is not a value of attn_score", (int)o->score);
    }
    if ((int)o->weighting < ATTN_WEIGHTS_SOFTMAX || (int)o->weighting > ATTN_WEIGHTS_RAW) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "options.weighting is %d, which is not a value of attn_weighting",
                       (int)o->weighting);
    }
    if (!isfinite(o->leaky_slope)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "options.leaky_slope is not a finite number");
    }
    k->score = o->score;
    k->weighting = o->weighting;
    k->average = o->average != 0 && o->weighting != ATTN_WEIGHTS_SOFTMAX;
    k->leaky_slope = o->leaky_slope;
    attn_status status = check_combination(context, call);
    if (status == ATTN_OK) status = check_vectors(context, call);
    if (status == ATTN_OK && o->edge_bias.data) {
        status =
            at_attention_check_edges(context, "options.edge_bias", &o->edge_bias, call, 0, 0, &k->edge_bias);
    }
    if (status == ATTN_OK && o->edge_key.data) {
        status = at_attention_check_edges(context, "options.edge_key", &o->edge_key, call, k->d_k, 0,
                                          &k->edge_key);
    }
    if (status == ATTN_OK && o->edge_value.data && k->d_v > 0) {
        status = at_attention_check_edges(context, "options.edge_value", &o->edge_value, call, k->d_v, 0,
                                          &k->edge_value);
    }
    return status;
}
