/* attention.c: the oracle of attention and of its gradients, in double.
 *
 * The formulas of attn/attention.h, one query of one head at a time. With
 * z_ij = scale * q_i . k_j, s_ij the score, p_ij the softmax and w_ij the
 * weight after dropout, the gradients follow by the chain rule:
 *
 *     dw_ij = do_i . v_j             dv_j = sum_i w_ij do_i
 *     dp_ij = dw_ij * keep_ij / (1 - dropout)
 *     ds_ij = p_ij (dp_ij - sum_l p_il dp_il)
 *     dbias_ij = ddistance_ij = ds_ij
 *     dz_ij = ds_ij (1 - tanh(z_ij / softcap)^2)
 *     dq_i = scale * sum_j dz_ij k_j       dk_j = scale * sum_i dz_ij q_i
 *
 * Keys that a query may not see take no part in any of these sums.
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

/* What one query makes of the keys of its sequence, key by key. */
typedef struct query_row {
    bool *visible;
    double *probability; /* p; the score s before the softmax */
    double *keep;        /* 1 / (1 - dropout), or 0 for a dropped weight */
    double *slope;       /* ds / d (q . k) */
    double *d_score;     /* ds; used by the backward pass */
    double log_sum_exp;
} query_row;

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

static double dot(const double *a, int64_t a_stride, const double *b, int64_t b_stride, int64_t count) {
    double sum = 0.0;
    for (int64_t c = 0; c < count; c++) sum += a[c * a_stride] * b[c * b_stride];
    return sum;
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

/* Adds to *score what stands beside the dot product of (i, j); false if a
 * bias says that i may not see j. */
static bool add_bias(const ref_attention *call, const sequence *s, int64_t h, int64_t i, int64_t j,
                     double *score) {
    int64_t distance = j - (i + s->shift);
    if (call->bias.data) {
        double bias = call->bias.data[bias_index(&call->bias, call->bias.stride, s->index, h, i, j)];
        if (bias == -INFINITY) return false;
        *score += bias;
    }
    if (call->distance_bias.data) {
        const ref_tensor *table = &call->distance_bias;
        double bias = table->data[distance_index(table, table->stride, h, distance)];
        if (bias == -INFINITY) return false;
        *score += bias;
    }
    if (call->options->alibi_slopes)
        *score -= (double)call->options->alibi_slopes[h] * fabs((double)distance);
    return true;
}

static double scale_of(const ref_attention *call) {
    double d_k = (double)call->query.shape[call->query.rank - 1];
    return call->options->scale == 0.0f ? 1.0 / sqrt(d_k) : (double)call->options->scale;
}

/* visible, slope, keep, and the score (into probability) of one query. */
static void score_row(const ref_attention *call, const sequence *s, int64_t h, int64_t i, query_row *r) {
    const attn_attention_options *options = call->options;
    const double *q = vector(&call->query, s->first_query + i, h);
    int64_t d_k = call->query.shape[call->query.rank - 1];
    double scale = scale_of(call), cap = (double)options->softcap;
    at_row_key random = at_random_row(options->seed, options->first_sequence + s->index, h, i);
    for (int64_t j = 0; j < s->keys; j++) {
        double added = 0.0;
        r->visible[j] = in_pattern(call->pattern, s, h, i, j) && add_bias(call, s, h, i, j, &added);
        if (!r->visible[j]) continue;
        const double *k = vector(&call->key, s->first_key + j, key_head(call, h));
        double z = scale * dot(q, channel_stride(&call->query), k, channel_stride(&call->key), d_k);
        double t = cap > 0.0 ? tanh(z / cap) : 0.0;
        r->slope[j] = scale * (1.0 - t * t);
        r->probability[j] = (cap > 0.0 ? cap * t : z) + added;
        bool kept = at_random_word(random, (uint32_t)j) >= at_random_threshold(options->dropout);
        r->keep[j] = kept ? 1.0 / (1.0 - (double)options->dropout) : 0.0;
    }
}

/* Scores to probabilities; every sum runs over what is visible. */
static void softmax_row(const sequence *s, query_row *r) {
    double maximum = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < s->keys; j++)
        if (r->visible[j] && r->probability[j] > maximum) maximum = r->probability[j];
    for (int64_t j = 0; j < s->keys; j++)
        if (r->visible[j]) sum += r->probability[j] = exp(r->probability[j] - maximum);
    for (int64_t j = 0; j < s->keys; j++)
        if (r->visible[j]) r->probability[j] /= sum;
    r->log_sum_exp = maximum + log(sum);
}

/* Scratch for the longest row, in one block; NULL when there is no memory. */
static double *row_create(const ref_attention *call, query_row *r) {
    size_t keys = (size_t)call->key.shape[call->key.rank - 3] + 1;
    double *block = calloc(keys, 4 * sizeof(double) + sizeof(bool));
    if (!block) return NULL;
    r->probability = block;
    r->keep = block + keys;
    r->slope = block + 2 * keys;
    r->d_score = block + 3 * keys;
    r->visible = (bool *)(block + 4 * keys);
    return block;
}

static void forward_row(const ref_attention *call, const sequence *s, int64_t h, int64_t i,
                        const query_row *r, double *output, double *weights) {
    int64_t d_v = call->value.shape[call->value.rank - 1], step = channel_stride(&call->value);
    double *o = output ? output + ((s->first_query + i) * head_count(call) + h) * d_v : NULL;
    for (int64_t c = 0; o && c < d_v; c++) o[c] = 0.0;
    for (int64_t j = 0; o && j < s->keys; j++) {
        const double *v = vector(&call->value, s->first_key + j, key_head(call, h));
        for (int64_t c = 0; r->visible[j] && c < d_v; c++)
            o[c] += r->probability[j] * r->keep[j] * v[c * step];
    }
    double *w = weights ? weights + s->weights_offset + (h * s->queries + i) * s->weights_width : NULL;
    for (int64_t c = 0; w && c < s->weights_width; c++) {
        int64_t j = s->weights_first_key + i * s->weights_key_step + c;
        w[c] = j >= 0 && j < s->keys && r->visible[j] ? r->probability[j] * r->keep[j] : 0.0;
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
                score_row(call, &s, h, i, &r);
                softmax_row(&s, &r);
                forward_row(call, &s, h, i, &r, output, weights);
                if (log_sum_exp) log_sum_exp[(s.first_query + i) * head_count(call) + h] = r.log_sum_exp;
            }
        }
    }
    free(block);
    return ATTN_OK;
}

/* The results of the backward pass; each may be NULL. */
typedef struct results {
    double *query, *key, *value, *bias, *distance_bias;
} results;

/* A row of a contiguous result shaped like `tensor`; NULL if there is none. */
static double *result_vector(double *result, const ref_tensor *tensor, int64_t row, int64_t head) {
    int64_t heads = tensor->shape[tensor->rank - 2], channels = tensor->shape[tensor->rank - 1];
    return result ? result + (row * heads + head) * channels : NULL;
}

static void clear(double *result, int64_t count) {
    for (int64_t e = 0; result && e < count; e++) result[e] = 0.0;
}

/* ds of one row, and its share of dv. d_output is that of this query and head. */
static void d_score_row(const ref_attention *call, const sequence *s, int64_t h, query_row *r,
                        const double *d_output, double *d_value) {
    int64_t d_v = call->value.shape[call->value.rank - 1];
    double mean = 0.0;
    for (int64_t j = 0; j < s->keys; j++) {
        if (!r->visible[j]) continue;
        const double *v = vector(&call->value, s->first_key + j, key_head(call, h));
        r->d_score[j] = r->keep[j] * dot(d_output, 1, v, channel_stride(&call->value), d_v);
        mean += r->probability[j] * r->d_score[j];
        double *dv = result_vector(d_value, &call->value, s->first_key + j, key_head(call, h));
        for (int64_t c = 0; dv && c < d_v; c++) dv[c] += r->probability[j] * r->keep[j] * d_output[c];
    }
    for (int64_t j = 0; j < s->keys; j++)
        if (r->visible[j]) r->d_score[j] = r->probability[j] * (r->d_score[j] - mean);
}

/* ds of one row into dq, dk and the gradients of both biases. */
static void backward_row(const ref_attention *call, const sequence *s, int64_t h, int64_t i,
                         const query_row *r, const results *d) {
    int64_t d_k = call->query.shape[call->query.rank - 1];
    int64_t q_step = channel_stride(&call->query), k_step = channel_stride(&call->key);
    const int64_t *extent = call->bias.shape;
    int64_t bias_steps[4] = {extent[1] * extent[2] * extent[3], extent[2] * extent[3], extent[3], 1};
    int64_t distance_steps[2] = {call->distance_bias.shape[1], 1};
    const double *q = vector(&call->query, s->first_query + i, h);
    double *dq = result_vector(d->query, &call->query, s->first_query + i, h);
    clear(dq, d_k);
    for (int64_t j = 0; j < s->keys; j++) {
        if (!r->visible[j]) continue;
        double d_score = r->d_score[j], d_dot = d_score * r->slope[j];
        const double *k = vector(&call->key, s->first_key + j, key_head(call, h));
        double *dk = result_vector(d->key, &call->key, s->first_key + j, key_head(call, h));
        for (int64_t c = 0; dq && c < d_k; c++) dq[c] += d_dot * k[c * k_step];
        for (int64_t c = 0; dk && c < d_k; c++) dk[c] += d_dot * q[c * q_step];
        if (d->bias) d->bias[bias_index(&call->bias, bias_steps, s->index, h, i, j)] += d_score;
        if (d->distance_bias)
            d->distance_bias[distance_index(&call->distance_bias, distance_steps, h, j - (i + s->shift))] +=
                d_score;
    }
}

attn_status ref_attention_backward(const ref_attention *call, const double *d_output, double *d_query,
                                   double *d_key, double *d_value, double *d_bias, double *d_distance_bias) {
    int64_t heads = head_count(call), kv_heads = call->key.shape[call->key.rank - 2];
    int64_t d_k = call->query.shape[call->query.rank - 1], d_v = call->value.shape[call->value.rank - 1];
    const int64_t *extent = call->bias.shape;
    results d = {d_query, d_key, d_value, d_bias, d_distance_bias};
    query_row r;
    double *block = row_create(call, &r);
    if (!block) return ATTN_OUT_OF_MEMORY;
    clear(d_bias, extent[0] * extent[1] * extent[2] * extent[3]);
    clear(d_distance_bias, call->distance_bias.shape[0] * call->distance_bias.shape[1]);
    sequence s = {.index = -1};
    for (int64_t b = 0; b < sequence_count(call); b++) {
        s = next_sequence(call, &s);
        clear(result_vector(d_key, &call->key, s.first_key, 0), s.keys * kv_heads * d_k);
        clear(result_vector(d_value, &call->value, s.first_key, 0), s.keys * kv_heads * d_v);
        for (int64_t h = 0; h < heads; h++) {
            for (int64_t i = 0; i < s.queries; i++) {
                score_row(call, &s, h, i, &r);
                softmax_row(&s, &r);
                d_score_row(call, &s, h, &r, d_output + ((s.first_query + i) * heads + h) * d_v, d_value);
                backward_row(call, &s, h, i, &r, &d);
            }
        }
    }
    free(block);
    return ATTN_OK;
}
