/* attention.c: the oracle of attention and of its gradients, in double.
 *
 * The formulas of attn/attention.h, one query of one head at a time. A pair is
 * a query i and a key j that it may look at: every key of the sequence, or
 * every edge of the row of a graph. With s the score of a pair, p = f(s) what
 * the weighting makes of it and w the weight after dropout, the gradients
 * follow by the chain rule (k and v with what the edge adds to them):
 *
 *     dw_ij = do_i . v_j             dv_j = sum_i w_ij do_i
 *     dp_ij = dw_ij * keep_ij / (1 - dropout)
 *     ds_ij = p_ij (dp_ij - sum_l p_il dp_il)      softmax
 *     ds_ij = dp_ij f'(s_ij)                       the others
 *     dbias_ij = ddistance_ij = ds_ij
 *
 * and from the score, with z = scale * q . k and u = a . q + b . k + edge_bias:
 *
 *     dot        dz = ds (1 - tanh(z / softcap)^2)    dq += scale dz k        dk += scale dz q
 *     additive   dq, dk += ds w (1 - tanh(q + k)^2)   dw += ds tanh(q + k)
 *     GAT        du = ds leaky'(u)                    dq += du a, dk += du b  da += du q, db += du k
 *     GATv2      dq, dk += ds a leaky'(q + k)         da += ds leaky(q + k)
 *
 * Keys that a query may not see take no part in any of these sums. At exactly
 * 0 the derivative of the ReLU is 0 and that of the leaky one leaky_slope.
 */
#include "kernels/ref/reference.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/random.h"

/* Where one sequence lies: the rows of the tensors seen as (all rows) x heads
 * x channels, whatever their rank. */
typedef struct sequence {
    int64_t index;
    int64_t first_query, queries;
    int64_t first_key, keys;
    int64_t shift; /* i' = i + shift */
    int64_t weights_offset, weights_width, weights_first_key, weights_key_step;
} sequence;

/* What one query makes of the keys that it may look at, pair by pair. */
typedef struct query_row {
    int64_t pairs;
    int64_t *key;  /* the row of the key, over all sequences */
    int64_t *edge; /* on a graph: the caller's number */
    bool *visible;
    double *score;
    double *probability; /* what the weighting makes of the score */
    double *keep;        /* 1 / (1 - dropout), or 0 for a dropped weight */
    double *slope;       /* ds / d (q . k), or of GAT ds / du */
    double *d_score;     /* ds; used by the backward pass */
    double log_sum_exp;
} query_row;

static const double unit_roundoff = 5.9604644775390625e-8; /* 2^-24 */

/* The result x of an operation, with the noise that the call asks for. */
static double rounded(const ref_attention *call, double x) {
    if (!call->noise) return x;
    uint64_t bits = *call->noise;
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    *call->noise = bits;
    return bits >> 40 & 1 ? x + unit_roundoff * x : x - unit_roundoff * x;
}

static int64_t sequence_count(const ref_attention *call) {
    if (call->query.rank == 4) return call->query.shape[0];
    return call->pattern->query_offsets ? call->pattern->sequences : 1;
}

static int64_t head_count(const ref_attention *call) { return call->query.shape[call->query.rank - 2]; }

static int64_t key_head(const ref_attention *call, int64_t head) {
    return head / (head_count(call) / call->key.shape[call->key.rank - 2]);
}

/* The sequence after `previous`, whose index is one less (-1 starts). */
static sequence next_sequence(const ref_attention *call, const sequence *previous) {
    const attn_pattern *pattern = call->pattern;
    sequence s = {.index = previous->index + 1};
    int64_t b = s.index;
    if (call->query.rank == 4) {
        s.first_query = b * call->query.shape[1];
        s.first_key = b * call->key.shape[1];
        s.queries = pattern->query_lengths ? pattern->query_lengths[b] : call->query.shape[1];
        s.keys = pattern->key_lengths ? pattern->key_lengths[b] : call->key.shape[1];
    } else if (pattern->query_offsets) {
        const int64_t *offsets = pattern->key_offsets ? pattern->key_offsets : pattern->query_offsets;
        s.first_query = pattern->query_offsets[b];
        s.queries = pattern->query_offsets[b + 1] - s.first_query;
        s.first_key = offsets[b];
        s.keys = offsets[b + 1] - s.first_key;
    } else {
        s.queries = call->query.shape[0];
        s.keys = call->key.shape[0];
    }
    if (pattern->graph) return s;
    s.shift = pattern->align == ATTN_ALIGN_END ? s.keys - s.queries : 0;
    s.weights_offset =
        previous->weights_offset + head_count(call) * previous->queries * previous->weights_width;
    bool band = pattern->left >= 0 && pattern->right >= 0 && pattern->left < s.keys &&
                pattern->right < s.keys && pattern->left + pattern->right + 1 < s.keys;
    s.weights_width = band ? pattern->left + pattern->right + 1 : s.keys;
    s.weights_first_key = band ? s.shift - pattern->left : 0;
    s.weights_key_step = band ? 1 : 0;
    return s;
}

/* Channel 0 of a row: `row` counts over all sequences. */
static const double *vector(const ref_tensor *tensor, int64_t row, int64_t head) {
    if (tensor->rank == 3) return tensor->data + row * tensor->stride[0] + head * tensor->stride[1];
    return tensor->data + row / tensor->shape[1] * tensor->stride[0] +
           row % tensor->shape[1] * tensor->stride[1] + head * tensor->stride[2];
}

static int64_t channel_stride(const ref_tensor *tensor) { return tensor->stride[tensor->rank - 1]; }

static double leaky(const ref_attention *call, double x) {
    return x > 0.0 ? x : rounded(call, (double)call->options->leaky_slope * x);
}

static double leaky_slope(const ref_attention *call, double x) {
    return x > 0.0 ? 1.0 : (double)call->options->leaky_slope;
}

static int64_t bias_of(const ref_attention *call, const sequence *s) {
    return call->options->bias_of ? call->options->bias_of[s->index] : s->index;
}

/* Index of (b, h, i, j) in a bias, of which extents 1 are shared: `steps` are
 * the strides to use (those of the view, or contiguous ones for a gradient). */
static int64_t bias_index(const ref_tensor *bias, const int64_t *steps, int64_t b, int64_t h, int64_t i,
                          int64_t j) {
    int64_t position[4] = {b, h, i, j}, index = 0;
    for (int r = 0; r < 4; r++) index += (bias->shape[r] == 1 ? 0 : position[r]) * steps[r];
    return index;
}

static int64_t distance_index(const ref_tensor *table, const int64_t *steps, int64_t h, int64_t distance) {
    int64_t reach = table->shape[1] / 2;
    int64_t clamped = distance < -reach ? -reach : distance > reach ? reach : distance;
    return (table->shape[0] == 1 ? 0 : h) * steps[0] + (reach + clamped) * steps[1];
}

static bool in_pattern(const attn_pattern *pattern, const sequence *s, int64_t h, int64_t i, int64_t j) {
    int64_t distance = j - (i + s->shift);
    if (pattern->left >= 0 && distance < 0 && -distance > pattern->left) return false;
    if (pattern->right >= 0 && distance > 0 && distance > pattern->right) return false;
    const attn_mask *mask = &pattern->mask;
    if (!mask->bits) return true;
    const uint8_t *bits =
        mask->bits + s->index * mask->sequence_stride + h * mask->head_stride + i * mask->query_stride;
    return bits[j / 8] >> (j % 8) & 1;
}

/* Adds to *score what stands beside the score of q and k for (i, j); false if
 * a bias says that i may not see j. */
static bool add_bias(const ref_attention *call, const sequence *s, int64_t h, int64_t i, int64_t j,
                     double *score) {
    int64_t distance = j - (i + s->shift);
    if (call->bias.data) {
        double bias = call->bias.data[bias_index(&call->bias, call->bias.stride, bias_of(call, s), h, i, j)];
        if (bias == -INFINITY) return false;
        *score = rounded(call, *score + bias);
    }
    if (call->distance_bias.data) {
        const ref_tensor *table = &call->distance_bias;
        double bias = table->data[distance_index(table, table->stride, h, distance)];
        if (bias == -INFINITY) return false;
        *score = rounded(call, *score + bias);
    }
    if (call->options->alibi_slopes) {
        double alibi = rounded(call, (double)call->options->alibi_slopes[h] * fabs((double)distance));
        *score = rounded(call, *score - alibi);
    }
    return true;
}

static double scale_of(const ref_attention *call) {
    double d_k = (double)call->query.shape[call->query.rank - 1];
    return call->options->scale == 0.0f ? 1.0 / sqrt(d_k) : (double)call->options->scale;
}

static int64_t key_channels(const ref_attention *call) { return call->query.shape[call->query.rank - 1]; }

static double edge_bias(const ref_attention *call, const query_row *r, int64_t h, int64_t j) {
    const ref_tensor *t = &call->edge_bias;
    return t->data ? t->data[r->edge[j] * t->stride[0] + h * t->stride[1]] : 0.0;
}

/* The key or the value of a pair, with what its edge adds to it. */
typedef struct operand {
    const double *row, *edge; /* edge NULL: nothing */
    int64_t row_step, edge_step;
} operand;

static operand make_operand(const ref_attention *call, const ref_tensor *rows, const ref_tensor *edges,
                            const query_row *r, int64_t h, int64_t j) {
    operand x = {.row = vector(rows, r->key[j], key_head(call, h)), .row_step = channel_stride(rows)};
    if (!edges->data) return x;
    x.edge = vector(edges, r->edge[j], h);
    x.edge_step = channel_stride(edges);
    return x;
}

static operand key_of(const ref_attention *call, const query_row *r, int64_t h, int64_t j) {
    return make_operand(call, &call->key, &call->edge_key, r, h, j);
}

static operand value_of(const ref_attention *call, const query_row *r, int64_t h, int64_t j) {
    return make_operand(call, &call->value, &call->edge_value, r, h, j);
}

static double channel(const ref_attention *call, const operand *x, int64_t c) {
    double row = x->row[c * x->row_step];
    return x->edge ? rounded(call, row + x->edge[c * x->edge_step]) : row;
}

/* Entry c of a [heads, d_k] score vector. */
static double score_entry(const ref_tensor *t, int64_t head, int64_t c) {
    return t->data[head * t->stride[0] + c * t->stride[1]];
}

/* The score of one pair before the biases (GAT: with its edge bias); sets its slope. */
static double pair_score(const ref_attention *call, const query_row *r, const double *q, int64_t h,
                         int64_t j) {
    operand key = key_of(call, r, h, j);
    int64_t d_k = key_channels(call), step = channel_stride(&call->query);
    double sum = 0.0, scale = scale_of(call), cap = (double)call->options->softcap;
    r->slope[j] = 1.0;
    for (int64_t c = 0; call->options->score != ATTN_SCORE_NONE && c < d_k; c++) {
        double x = q[c * step], k = channel(call, &key, c), term = 0.0;
        switch (call->options->score) {
        case ATTN_SCORE_DOT: term = x * k; break;
        case ATTN_SCORE_ADDITIVE:
            term = score_entry(&call->score_vector, h, c) * rounded(call, tanh(rounded(call, x + k)));
            break;
        case ATTN_SCORE_GAT:
            term = rounded(call, score_entry(&call->score_vector, h, c) * x) +
                   rounded(call, score_entry(&call->key_score_vector, h, c) * k);
            break;
        case ATTN_SCORE_GATV2:
            term = score_entry(&call->score_vector, h, c) * leaky(call, rounded(call, x + k));
            break;
        case ATTN_SCORE_NONE: break;
        }
        sum = rounded(call, sum + rounded(call, term));
    }
    if (call->options->score == ATTN_SCORE_GAT) {
        double u = rounded(call, sum + edge_bias(call, r, h, j));
        r->slope[j] = leaky_slope(call, u);
        return leaky(call, u);
    }
    if (call->options->score != ATTN_SCORE_DOT) return sum;
    double z = rounded(call, scale * sum), t = cap > 0.0 ? rounded(call, tanh(rounded(call, z / cap))) : 0.0;
    r->slope[j] = scale * rounded(call, 1.0 - t * t);
    return cap > 0.0 ? rounded(call, cap * t) : z;
}

static double keep_of(const attn_attention_options *options, at_row_key random, int64_t j) {
    bool kept = at_random_word(random, (uint32_t)j) >= at_random_threshold(options->dropout);
    return kept ? 1.0 / (1.0 - (double)options->dropout) : 0.0;
}

/* The pairs of query i of a graph, their scores and what dropout keeps. */
static void score_edges(const ref_attention *call, int64_t h, int64_t i, query_row *r) {
    const attn_attention_options *options = call->options;
    const attn_graph *graph = call->pattern->graph;
    const int64_t *offsets = attn_graph_row_offsets(graph);
    const double *q = vector(&call->query, i, h);
    r->pairs = offsets[i + 1] - offsets[i];
    for (int64_t j = 0; j < r->pairs; j++) {
        r->key[j] = attn_graph_column_indices(graph)[offsets[i] + j];
        r->edge[j] = attn_graph_edge_numbers(graph)[offsets[i] + j];
        r->visible[j] = true;
        r->score[j] = pair_score(call, r, q, h, j);
        if (call->edge_bias.data && options->score != ATTN_SCORE_GAT)
            r->score[j] = rounded(call, r->score[j] + edge_bias(call, r, h, j));
        at_row_key random = at_random_row(options->seed, options->first_sequence + r->edge[j], 0, 0);
        r->keep[j] = keep_of(options, random, h);
    }
}

/* The same for query i of a sequence. */
static void score_positions(const ref_attention *call, const sequence *s, int64_t h, int64_t i,
                            query_row *r) {
    const attn_attention_options *options = call->options;
    const double *q = vector(&call->query, s->first_query + i, h);
    at_row_key random = at_random_row(options->seed, options->first_sequence + s->index, h, i);
    r->pairs = s->keys;
    for (int64_t j = 0; j < s->keys; j++) {
        double added = 0.0;
        r->key[j] = s->first_key + j;
        r->visible[j] = in_pattern(call->pattern, s, h, i, j) && add_bias(call, s, h, i, j, &added);
        if (!r->visible[j]) continue;
        r->score[j] = rounded(call, pair_score(call, r, q, h, j) + added);
        r->keep[j] = keep_of(options, random, j);
    }
}

/* Scores to probabilities; every sum runs over what is visible. */
static void softmax_row(const ref_attention *call, query_row *r) {
    double maximum = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < r->pairs; j++)
        if (r->visible[j] && r->score[j] > maximum) maximum = r->score[j];
    for (int64_t j = 0; j < r->pairs; j++) {
        if (!r->visible[j]) continue;
        r->probability[j] = rounded(call, exp(rounded(call, r->score[j] - maximum)));
        sum = rounded(call, sum + r->probability[j]);
    }
    r->log_sum_exp = rounded(call, maximum + rounded(call, log(sum)));
    /* f32 code that keeps the log-sum-exp alone finds the probabilities from it as it was rounded. */
    double spread = 1.0;
    if (call->noise && isfinite(r->log_sum_exp)) spread = exp(r->log_sum_exp - maximum - log(sum));
    for (int64_t j = 0; j < r->pairs; j++)
        if (r->visible[j]) r->probability[j] = rounded(call, r->probability[j] / sum) * spread;
}

/* f(s) of the weightings that look at one pair alone, and its derivative. */
static double weighting(attn_weighting kind, double s) {
    if (kind == ATTN_WEIGHTS_RELU) return s <= 0.0 ? 0.0 : s;
    return kind == ATTN_WEIGHTS_SIGMOID ? 1.0 / (1.0 + exp(-s)) : s;
}

static double weighting_slope(const ref_attention *call, double s) {
    attn_weighting kind = call->options->weighting;
    if (kind == ATTN_WEIGHTS_RELU) return s > 0.0 ? 1.0 : 0.0;
    if (kind != ATTN_WEIGHTS_SIGMOID) return 1.0;
    if (!call->noise) return 1.0 / ((1.0 + exp(-s)) * (1.0 + exp(s)));
    double p = rounded(call, weighting(kind, s)); /* f32 code has p alone, and loses digits in 1 - p */
    return rounded(call, p * rounded(call, 1.0 - p));
}

/* What `average` multiplies f by. */
static double share_of(const ref_attention *call, const query_row *r) {
    int64_t seen = 0;
    for (int64_t j = 0; j < r->pairs; j++) seen += r->visible[j];
    return call->options->average && seen > 0 ? 1.0 / (double)seen : 1.0;
}

static void weigh_row(const ref_attention *call, query_row *r) {
    attn_weighting kind = call->options->weighting;
    if (kind == ATTN_WEIGHTS_SOFTMAX) {
        softmax_row(call, r);
        return;
    }
    double share = share_of(call, r);
    for (int64_t j = 0; j < r->pairs; j++)
        if (r->visible[j])
            r->probability[j] = rounded(call, share * rounded(call, weighting(kind, r->score[j])));
    r->log_sum_exp = 0.0;
}

static void make_row(const ref_attention *call, const sequence *s, int64_t h, int64_t i, query_row *r) {
    if (call->pattern->graph)
        score_edges(call, h, i, r);
    else
        score_positions(call, s, h, i, r);
    weigh_row(call, r);
}

/* Scratch for the longest row, in one block; NULL when there is no memory. */
static double *row_create(const ref_attention *call, query_row *r) {
    size_t pairs = (size_t)call->key.shape[call->key.rank - 3] + 1;
    const attn_graph *graph = call->pattern->graph;
    if (graph) pairs = (size_t)attn_graph_edges(graph) + 1;
    double *block = calloc(pairs, 5 * sizeof(double) + 2 * sizeof(int64_t) + sizeof(bool));
    if (!block) return NULL;
    r->score = block;
    r->probability = block + pairs;
    r->keep = block + 2 * pairs;
    r->slope = block + 3 * pairs;
    r->d_score = block + 4 * pairs;
    r->key = (int64_t *)(block + 5 * pairs);
    r->edge = r->key + pairs;
    r->visible = (bool *)(r->edge + pairs);
    return block;
}

static double weight_of(const ref_attention *call, const query_row *r, int64_t j) {
    return r->visible[j] ? rounded(call, r->probability[j] * r->keep[j]) : 0.0;
}

static void forward_row(const ref_attention *call, const sequence *s, int64_t h, int64_t i,
                        const query_row *r, double *output, double *weights) {
    int64_t d_v = call->value.shape[call->value.rank - 1];
    double *o = output ? output + ((s->first_query + i) * head_count(call) + h) * d_v : NULL;
    for (int64_t c = 0; o && c < d_v; c++) o[c] = 0.0;
    for (int64_t j = 0; o && j < r->pairs; j++) {
        double w = weight_of(call, r, j);
        operand value = value_of(call, r, h, j);
        for (int64_t c = 0; r->visible[j] && c < d_v; c++)
            o[c] = rounded(call, o[c] + rounded(call, w * channel(call, &value, c)));
    }
    if (!weights) return;
    if (call->pattern->graph) {
        for (int64_t j = 0; j < r->pairs; j++)
            weights[r->edge[j] * head_count(call) + h] = weight_of(call, r, j);
        return;
    }
    double *w = weights + s->weights_offset + (h * s->queries + i) * s->weights_width;
    for (int64_t c = 0; c < s->weights_width; c++) {
        int64_t j = s->weights_first_key + i * s->weights_key_step + c;
        w[c] = j >= 0 && j < s->keys ? weight_of(call, r, j) : 0.0;
    }
}

attn_status ref_attention_forward(const ref_attention *call, double *output, double *log_sum_exp,
                                  double *weights) {
    query_row r;
    double *block = row_create(call, &r);
    if (!block) return ATTN_OUT_OF_MEMORY;
    sequence s = {.index = -1};
    for (int64_t b = 0; b < sequence_count(call); b++) {
        s = next_sequence(call, &s);
        for (int64_t h = 0; h < head_count(call); h++) {
            for (int64_t i = 0; i < s.queries; i++) {
                make_row(call, &s, h, i, &r);
                forward_row(call, &s, h, i, &r, output, weights);
                if (log_sum_exp) log_sum_exp[(s.first_query + i) * head_count(call) + h] = r.log_sum_exp;
            }
        }
    }
    free(block);
    return ATTN_OK;
}

/* A row of a contiguous result shaped like `tensor`; NULL if there is none. */
static double *result_vector(double *result, const ref_tensor *tensor, int64_t row, int64_t head) {
    if (!result) return NULL;
    return result + (row * tensor->shape[tensor->rank - 2] + head) * tensor->shape[tensor->rank - 1];
}

static void clear(double *result, int64_t count) {
    for (int64_t e = 0; result && e < count; e++) result[e] = 0.0;
}

static void add(const ref_attention *call, double *sum, double term) {
    *sum = rounded(call, *sum + rounded(call, term));
}

/* ds of one row, and its share of dv. d_output is that of this query and head. */
static void d_score_row(const ref_attention *call, int64_t h, query_row *r, const double *d_output,
                        const ref_gradients *d) {
    int64_t d_v = call->value.shape[call->value.rank - 1];
    attn_weighting kind = call->options->weighting;
    double mean = 0.0, share = share_of(call, r);
    for (int64_t j = 0; j < r->pairs; j++) {
        if (!r->visible[j]) continue;
        double *dv = result_vector(d->value, &call->value, r->key[j], key_head(call, h));
        double *de = result_vector(d->edge_value, &call->edge_value, r->edge[j], h);
        operand value = value_of(call, r, h, j);
        double w = weight_of(call, r, j), d_weight = 0.0, again = 0.0;
        for (int64_t c = 0; c < d_v; c++) {
            add(call, &d_weight, d_output[c] * channel(call, &value, c));
            /* f32 code takes the mean from the output, with roundings of its own */
            if (call->noise) add(call, &again, d_output[c] * channel(call, &value, c));
            if (dv) add(call, &dv[c], w * d_output[c]);
            if (de) de[c] = rounded(call, w * d_output[c]);
        }
        r->d_score[j] = rounded(call, r->keep[j] * d_weight);
        add(call, &mean, r->probability[j] * (call->noise ? r->keep[j] * again : r->d_score[j]));
    }
    for (int64_t j = 0; j < r->pairs; j++) {
        if (!r->visible[j]) continue;
        if (kind == ATTN_WEIGHTS_SOFTMAX)
            r->d_score[j] = rounded(call, r->probability[j] * rounded(call, r->d_score[j] - mean));
        else
            r->d_score[j] =
                rounded(call, r->d_score[j] *
                                  rounded(call, share * rounded(call, weighting_slope(call, r->score[j]))));
    }
}

/* ds of a pair into the gradients of what its score is made of: channel c. */
static void backward_channel(const ref_attention *call, const query_row *r, int64_t h, int64_t j, int64_t c,
                             double q, double k, double *dq, double *dk, double *de, const ref_gradients *d) {
    double d_score = r->d_score[j], d_inner = rounded(call, d_score * r->slope[j]);
    double to_query = 0.0, to_key = 0.0, to_vector = 0.0, x;
    switch (call->options->score) {
    case ATTN_SCORE_DOT:
        to_query = d_inner * k;
        to_key = d_inner * q;
        break;
    case ATTN_SCORE_ADDITIVE:
        x = rounded(call, tanh(rounded(call, q + k)));
        to_query = rounded(call, d_score * score_entry(&call->score_vector, h, c)) *
                   rounded(call, 1.0 - rounded(call, x * x));
        to_key = to_query;
        to_vector = d_score * x;
        break;
    case ATTN_SCORE_GAT:
        to_query = d_inner * score_entry(&call->score_vector, h, c);
        to_key = d_inner * score_entry(&call->key_score_vector, h, c);
        to_vector = d_inner * q;
        if (d->key_score_vector) add(call, &d->key_score_vector[h * key_channels(call) + c], d_inner * k);
        break;
    case ATTN_SCORE_GATV2:
        x = rounded(call, q + k);
        to_query = rounded(call, d_score * score_entry(&call->score_vector, h, c)) * leaky_slope(call, x);
        to_key = to_query;
        to_vector = d_score * leaky(call, x);
        break;
    case ATTN_SCORE_NONE: break;
    }
    if (dq) add(call, &dq[c], to_query);
    if (dk) add(call, &dk[c], to_key);
    if (de) de[c] = rounded(call, to_key);
    if (d->score_vector) add(call, &d->score_vector[h * key_channels(call) + c], to_vector);
}

/* ds of one row into the gradients of everything that the scores depend on. */
static void backward_row(const ref_attention *call, const sequence *s, int64_t h, int64_t i,
                         const query_row *r, const ref_gradients *d) {
    int64_t q_step = channel_stride(&call->query);
    const int64_t *extent = call->bias.shape;
    int64_t bias_steps[4] = {extent[1] * extent[2] * extent[3], extent[2] * extent[3], extent[3], 1};
    int64_t distance_steps[2] = {call->distance_bias.shape[1], 1};
    const double *q = vector(&call->query, s->first_query + i, h);
    double *dq = result_vector(d->query, &call->query, s->first_query + i, h);
    clear(dq, key_channels(call));
    for (int64_t j = 0; j < r->pairs; j++) {
        if (!r->visible[j]) continue;
        operand key = key_of(call, r, h, j);
        double *dk = result_vector(d->key, &call->key, r->key[j], key_head(call, h));
        double *de = result_vector(d->edge_key, &call->edge_key, r->edge[j], h);
        for (int64_t c = 0; c < key_channels(call); c++)
            backward_channel(call, r, h, j, c, q[c * q_step], channel(call, &key, c), dq, dk, de, d);
        if (d->bias)
            add(call, &d->bias[bias_index(&call->bias, bias_steps, bias_of(call, s), h, i, j)],
                r->d_score[j]);
        if (d->distance_bias)
            add(call,
                &d->distance_bias[distance_index(&call->distance_bias, distance_steps, h,
                                                 j - (i + s->shift))],
                r->d_score[j]);
        if (d->edge_bias)
            d->edge_bias[r->edge[j] * head_count(call) + h] =
                rounded(call, r->d_score[j] * (call->options->score == ATTN_SCORE_GAT ? r->slope[j] : 1.0));
    }
}

/* Those that are sums over all sequences, before the first. */
static void clear_shared(const ref_attention *call, const ref_gradients *d) {
    const int64_t *extent = call->bias.shape;
    clear(d->bias, extent[0] * extent[1] * extent[2] * extent[3]);
    clear(d->distance_bias, call->distance_bias.shape[0] * call->distance_bias.shape[1]);
    clear(d->score_vector, head_count(call) * key_channels(call));
    clear(d->key_score_vector, head_count(call) * key_channels(call));
}

attn_status ref_attention_gradients(const ref_attention *call, const double *d_output,
                                    const ref_gradients *results) {
    int64_t heads = head_count(call), kv_heads = call->key.shape[call->key.rank - 2];
    int64_t d_v = call->value.shape[call->value.rank - 1];
    query_row r;
    double *block = row_create(call, &r);
    if (!block) return ATTN_OUT_OF_MEMORY;
    clear_shared(call, results);
    sequence s = {.index = -1};
    for (int64_t b = 0; b < sequence_count(call); b++) {
        s = next_sequence(call, &s);
        clear(result_vector(results->key, &call->key, s.first_key, 0),
              s.keys * kv_heads * key_channels(call));
        clear(result_vector(results->value, &call->value, s.first_key, 0), s.keys * kv_heads * d_v);
        for (int64_t h = 0; h < heads; h++) {
            for (int64_t i = 0; i < s.queries; i++) {
                make_row(call, &s, h, i, &r);
                d_score_row(call, h, &r, d_output + ((s.first_query + i) * heads + h) * d_v, results);
                backward_row(call, &s, h, i, &r, results);
            }
        }
    }
    free(block);
    return ATTN_OK;
}

attn_status ref_attention_backward(const ref_attention *call, const double *d_output, double *d_query,
                                   double *d_key, double *d_value, double *d_bias, double *d_distance_bias) {
    ref_gradients results = {
        .query = d_query, .key = d_key, .value = d_value, .bias = d_bias, .distance_bias = d_distance_bias};
    return ref_attention_gradients(call, d_output, &results);
}
