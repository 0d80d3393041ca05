/* attention_call.c: the shape checks of the attention operator.
 *
 * Every message names the argument, what it is, and what it would have to be.
 */
#include "ops/attention_call.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/options.h"
#include "base/random.h"
#include "ops/check.h"

/* Past every sequence (positions are below 2^31), and sums of it do not overflow. */
static const int64_t beyond = (int64_t)1 << 40;

static attn_status check_offsets(attn_context *context, const char *name, const int64_t *offsets,
                                 int64_t sequences, int64_t rows, const char *tensor) {
    if (offsets[0] != 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%s[0] is %" PRId64 "; the first sequence begins at row 0", name, offsets[0]);
    }
    for (int64_t b = 0; b < sequences; b++) {
        if (offsets[b + 1] < offsets[b]) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%s falls from %" PRId64 " to %" PRId64 " at entry %" PRId64, name, offsets[b],
                           offsets[b + 1], b + 1);
        }
    }
    if (offsets[sequences] != rows) {
        return at_fail(context, ATTN_SHAPE_MISMATCH, "%s ends at %" PRId64 " but %s has %" PRId64 " rows",
                       name, offsets[sequences], tensor, rows);
    }
    return ATTN_OK;
}

static attn_status check_lengths(attn_context *context, const char *name, const int64_t *lengths,
                                 int64_t sequences, int64_t rows, const char *tensor) {
    for (int64_t b = 0; b < sequences; b++) {
        if (lengths[b] < 0 || lengths[b] > rows) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%s[%" PRId64 "] is %" PRId64 "; %s has room for 0 to %" PRId64 " rows a sequence",
                           name, b, lengths[b], tensor, rows);
        }
    }
    return ATTN_OK;
}

static attn_status check_ragged(attn_context *context, at_attention_call *call) {
    attn_pattern *p = &call->pattern;
    attn_status status;
    if (p->query_lengths || p->key_lengths) {
        return at_fail(
            context, ATTN_INVALID_ARGUMENT,
            "%s is given, but query has no sequence index (3 extents); ragged rows have query_offsets",
            p->query_lengths ? "query_lengths" : "key_lengths");
    }
    if (!p->query_offsets && !p->key_offsets) {
        p->sequences = 1;
        return ATTN_OK;
    }
    if (!p->query_offsets) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "key_offsets is given but query_offsets is NULL");
    }
    if (p->sequences < 0 || p->sequences > INT32_MAX) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "pattern.sequences is %" PRId64, p->sequences);
    }
    if (!p->key_offsets) p->key_offsets = p->query_offsets;
    status =
        check_offsets(context, "query_offsets", p->query_offsets, p->sequences, call->query_rows, "query");
    if (status != ATTN_OK) return status;
    return check_offsets(context, "key_offsets", p->key_offsets, p->sequences, call->key_rows, "key");
}

static attn_status check_batched(attn_context *context, at_attention_call *call, int64_t batch) {
    attn_pattern *p = &call->pattern;
    attn_status status = ATTN_OK;
    if (p->query_offsets || p->key_offsets) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%s is given, but query has a sequence index of its own (4 extents); use the lengths",
                       p->query_offsets ? "query_offsets" : "key_offsets");
    }
    if ((p->query_lengths || p->key_lengths) && p->sequences != batch) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "pattern.sequences is %" PRId64 " but query has %" PRId64 " sequences", p->sequences,
                       batch);
    }
    if (batch > INT32_MAX) return at_fail(context, ATTN_OVERFLOW, "query has %" PRId64 " sequences", batch);
    p->sequences = batch;
    if (p->query_lengths) {
        status = check_lengths(context, "query_lengths", p->query_lengths, batch, call->query_rows, "query");
    }
    if (status == ATTN_OK && p->key_lengths) {
        status = check_lengths(context, "key_lengths", p->key_lengths, batch, call->key_rows, "key");
    }
    return status;
}

static attn_status check_pattern(attn_context *context, const attn_pattern *pattern,
                                 at_attention_call *call) {
    attn_pattern *p = &call->pattern;
    attn_pattern_init(p);
    char reason[AT_OPTIONS_TEXT];
    attn_status status = at_options_take("pattern", "attn_pattern_init", pattern,
                                         AT_FIRST_SIZE(attn_pattern, graph), sizeof *p, p, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    if (p->left < ATTN_UNLIMITED || p->right < ATTN_UNLIMITED) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "pattern.%s is %" PRId64 "; a reach is 0 or more, or ATTN_UNLIMITED",
                       p->left < ATTN_UNLIMITED ? "left" : "right",
                       p->left < ATTN_UNLIMITED ? p->left : p->right);
    }
    if (p->align != ATTN_ALIGN_START && p->align != ATTN_ALIGN_END) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "pattern.align is %d, not ATTN_ALIGN_START or ATTN_ALIGN_END", (int)p->align);
    }
    call->kernel.left = p->left == ATTN_UNLIMITED || p->left > beyond ? beyond : p->left;
    call->kernel.right = p->right == ATTN_UNLIMITED || p->right > beyond ? beyond : p->right;
    return ATTN_OK;
}

/* The pairs within reach of one sequence and head. */
static double pairs_in_reach(const at_attention *kernel, const at_sequence *s) {
    double queries = (double)s->queries, keys = (double)s->keys;
    double width = (double)kernel->left + (double)kernel->right + 1.0;
    return queries * (width < keys ? width : keys);
}

static attn_status measure_sequences(attn_context *context, at_attention_call *call) {
    for (int64_t b = 0; b < call->pattern.sequences; b++) {
        at_sequence s = at_attention_sequence(call, b);
        if (s.queries > INT32_MAX || s.keys > INT32_MAX) {
            return at_fail(context, ATTN_OVERFLOW,
                           "sequence %" PRId64 " has %" PRId64 " queries and %" PRId64
                           " keys; 2^31 - 1 is the most",
                           b, s.queries, s.keys);
        }
        if (s.queries > call->longest_query) call->longest_query = s.queries;
        if (s.keys > call->longest_key) call->longest_key = s.keys;
        call->pairs += (double)call->kernel.heads * pairs_in_reach(&call->kernel, &s);
        double weights = (double)call->kernel.heads * (double)s.queries * (double)s.weights_width;
        if ((double)call->weights_count + weights > 9.0e18 / sizeof(float)) {
            return at_fail(context, ATTN_OVERFLOW,
                           "the weights of sequence %" PRId64 " are more than a size can count", b);
        }
        call->weights_count += call->kernel.heads * s.queries * s.weights_width;
    }
    return ATTN_OK;
}

at_sequence at_attention_sequence(const at_attention_call *call, int64_t b) {
    const attn_pattern *p = &call->pattern;
    at_sequence s = {.index = b, .bias = call->options.bias_of ? call->options.bias_of[b] : b};
    if (call->batched) {
        s.queries = p->query_lengths ? p->query_lengths[b] : call->query_rows;
        s.keys = p->key_lengths ? p->key_lengths[b] : call->key_rows;
    } else if (p->query_offsets) {
        s.query_row = p->query_offsets[b];
        s.queries = p->query_offsets[b + 1] - s.query_row;
        s.key_row = p->key_offsets[b];
        s.keys = p->key_offsets[b + 1] - s.key_row;
    } else {
        s.queries = call->query_rows;
        s.keys = call->key_rows;
    }
    s.shift = p->align == ATTN_ALIGN_END ? s.keys - s.queries : 0;
    s.weights_width = s.keys;
    if (call->kernel.left + call->kernel.right + 1 < s.keys) { /* a band */
        s.weights_width = call->kernel.left + call->kernel.right + 1;
        s.weights_first_key = s.shift - call->kernel.left;
        s.weights_key_step = 1;
    }
    return s;
}

attn_status at_attention_check_rows(attn_context *context, const char *name, const attn_tensor *tensor,
                                    const at_attention_call *call, int64_t rows, int64_t heads,
                                    int64_t channels, int is_result) {
    int rank = (call->batched ? 3 : 2) + (channels > 0);
    attn_status status = is_result ? at_check_result(context, name, tensor, rank)
                                   : at_check_tensor(context, name, tensor, rank);
    if (status != ATTN_OK) return status;
    int64_t batched[4] = {call->pattern.sequences, rows, heads, channels},
            ragged[3] = {rows, heads, channels};
    return at_check_shape(context, name, tensor, rank, call->batched ? batched : ragged,
                          call->batched ? "sequence x row x head x channel" : "row x head x channel");
}

at_rows at_attention_rows(const attn_tensor *tensor) {
    at_rows rows = {tensor->data, 0, tensor->stride[0], tensor->stride[1]};
    if (tensor->rank == 4) {
        rows.sequence = tensor->stride[0];
        rows.row = tensor->stride[1];
        rows.head = tensor->stride[2];
    }
    return rows;
}

attn_status at_attention_check_bias(attn_context *context, const char *name, const attn_tensor *bias,
                                    const at_attention_call *call, int is_result) {
    char text[AT_SHAPE_TEXT];
    attn_status status =
        is_result ? at_check_result(context, name, bias, 4) : at_check_tensor(context, name, bias, 4);
    if (status != ATTN_OK) return status;
    const int64_t *shape = bias->shape, *of = call->options.bias_of;
    for (int64_t b = 0; of && b < call->pattern.sequences; b++) {
        if (of[b] >= 0 && of[b] < shape[0]) continue;
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "options.bias_of[%" PRId64 "] is %" PRId64 ", and %s is %s", b, of[b], name,
                       at_shape_text(bias, text));
    }
    if ((!of && shape[0] != 1 && shape[0] != call->pattern.sequences) ||
        (shape[1] != 1 && shape[1] != call->kernel.heads) ||
        (shape[2] != 1 && shape[2] < call->longest_query) ||
        (shape[3] != 1 && shape[3] < call->longest_key)) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "%s is %s but has to be [%" PRId64 " sequences or 1, %" PRId64
                       " heads or 1, at least %" PRId64 " queries or 1, at least %" PRId64 " keys or 1]",
                       name, at_shape_text(bias, text), call->pattern.sequences, call->kernel.heads,
                       call->longest_query, call->longest_key);
    }
    return ATTN_OK;
}

attn_status at_attention_check_distance(attn_context *context, const char *name, const attn_tensor *table,
                                        const at_attention_call *call, int is_result) {
    char text[AT_SHAPE_TEXT];
    attn_status status =
        is_result ? at_check_result(context, name, table, 2) : at_check_tensor(context, name, table, 2);
    if (status != ATTN_OK) return status;
    if ((table->shape[0] != 1 && table->shape[0] != call->kernel.heads) || table->shape[1] % 2 == 0) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "%s is %s but has to be [%" PRId64 " heads or 1, an odd number 2 R + 1]", name,
                       at_shape_text(table, text), call->kernel.heads);
    }
    return ATTN_OK;
}

static attn_status check_mask(attn_context *context, at_attention_call *call) {
    const attn_mask *mask = &call->pattern.mask;
    if (!mask->bits) return ATTN_OK;
    if (mask->queries < call->longest_query || mask->keys < call->longest_key) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "pattern.mask covers %" PRId64 " queries x %" PRId64
                       " keys, the longest sequences have %" PRId64 " and %" PRId64,
                       mask->queries, mask->keys, call->longest_query, call->longest_key);
    }
    call->kernel.mask = mask->bits;
    call->kernel.mask_sequence = mask->sequence_stride;
    call->kernel.mask_head = mask->head_stride;
    call->kernel.mask_query = mask->query_stride;
    return ATTN_OK;
}

static attn_status check_numbers(attn_context *context, at_attention_call *call) {
    const attn_attention_options *o = &call->options;
    if (!isfinite(o->scale))
        return at_fail(context, ATTN_INVALID_ARGUMENT, "options.scale is not a finite number");
    if (!(o->softcap >= 0.0f) || isinf(o->softcap)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "options.softcap is %g; it is 0 (none) or positive",
                       (double)o->softcap);
    }
    if (!(o->dropout >= 0.0f && o->dropout < 1.0f)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "options.dropout is %g; it is at least 0 and below 1",
                       (double)o->dropout);
    }
    at_attention *k = &call->kernel;
    k->scale = o->scale == 0.0f ? 1.0f / sqrtf((float)k->d_k) : o->scale;
    k->softcap = o->softcap;
    k->slopes = o->alibi_slopes;
    k->dropout_threshold = at_random_threshold(o->dropout);
    k->dropout_scale = 1.0f / (1.0f - o->dropout);
    k->seed = o->seed;
    k->first_sequence = o->first_sequence;
    return ATTN_OK;
}

static attn_status check_options(attn_context *context, const attn_attention_options *options,
                                 at_attention_call *call) {
    at_attention *k = &call->kernel;
    attn_attention_options_init(&call->options);
    char reason[AT_OPTIONS_TEXT];
    attn_status status = at_options_take("options", "attn_attention_options_init", options,
                                         AT_FIRST_SIZE(attn_attention_options, edge_value),
                                         sizeof call->options, &call->options, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    status = check_numbers(context, call);
    if (status == ATTN_OK) status = at_attention_check_score(context, call);
    if (status != ATTN_OK) return status;
    const attn_tensor *bias = &call->options.bias, *table = &call->options.distance_bias;
    if (bias->data) {
        status = at_attention_check_bias(context, "options.bias", bias, call, 0);
        if (status != ATTN_OK) return status;
        k->bias = bias->data;
        k->bias_sequence = bias->shape[0] == 1 ? 0 : bias->stride[0];
        k->bias_head = bias->shape[1] == 1 ? 0 : bias->stride[1];
        k->bias_query = bias->shape[2] == 1 ? 0 : bias->stride[2];
        k->bias_key = bias->shape[3] == 1 ? 0 : bias->stride[3];
    }
    if (!bias->data) call->options.bias_of = NULL;
    if (table->data) {
        status = at_attention_check_distance(context, "options.distance_bias", table, call, 0);
        if (status != ATTN_OK) return status;
        k->distance = table->data;
        k->distance_head = table->shape[0] == 1 ? 0 : table->stride[0];
        k->distance_step = table->stride[1];
        k->distance_reach = table->shape[1] / 2;
    }
    return ATTN_OK;
}

static attn_status check_inputs(attn_context *context, const attn_tensor *query, const attn_tensor *key,
                                const attn_tensor *value, at_attention_call *call) {
    char first[AT_SHAPE_TEXT], second[AT_SHAPE_TEXT];
    attn_status status = at_check_tensor(context, "query", query, 0);
    if (status != ATTN_OK) return status;
    if (query->rank < 3) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "query is %s but has to be row x head x channel or sequence x row x head x channel",
                       at_shape_text(query, first));
    }
    status = at_check_tensor(context, "key", key, query->rank);
    if (status != ATTN_OK) return status;
    const int64_t *q = query->shape + query->rank - 3, *k = key->shape + query->rank - 3;
    if (q[2] < 1 || q[2] > ATTN_MAX_CHANNELS) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "query has %" PRId64 " channels (%s); 1 to %d are supported", q[2],
                       at_shape_text(query, first), ATTN_MAX_CHANNELS);
    }
    if (k[2] != q[2]) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "key is %s but query is %s: their channels (d_k) must be equal",
                       at_shape_text(key, first), at_shape_text(query, second));
    }
    if (q[1] < 1 || k[1] < 1 || q[1] % k[1] != 0 || q[1] > INT32_MAX) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "query is %s and key is %s: the heads of query must be a multiple of those of key",
                       at_shape_text(query, first), at_shape_text(key, second));
    }
    call->batched = query->rank == 4;
    if (call->batched && key->shape[0] != query->shape[0]) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "key is %s but query is %s: as many sequences are needed", at_shape_text(key, first),
                       at_shape_text(query, second));
    }
    call->query_rows = q[0];
    call->key_rows = k[0];
    call->kernel.heads = q[1];
    call->kernel.kv_heads = k[1];
    call->kernel.group = q[1] / k[1];
    call->kernel.d_k = (int)q[2];
    call->kernel.query = at_attention_rows(query);
    call->kernel.key = at_attention_rows(key);
    if (!value) return ATTN_OK;
    status = at_check_tensor(context, "value", value, query->rank);
    if (status != ATTN_OK) return status;
    int64_t d_v = value->shape[value->rank - 1];
    if (d_v < 1 || d_v > ATTN_MAX_CHANNELS) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "value has %" PRId64 " channels (%s); 1 to %d are supported", d_v,
                       at_shape_text(value, first), ATTN_MAX_CHANNELS);
    }
    if (value->shape[0] != key->shape[0] || memcmp(value->shape + value->rank - 3, k, 2 * sizeof *k) != 0) {
        return at_fail(context, ATTN_SHAPE_MISMATCH,
                       "value is %s but key is %s: all but the channels must be equal",
                       at_shape_text(value, first), at_shape_text(key, second));
    }
    call->kernel.d_v = (int)d_v;
    call->kernel.value = at_attention_rows(value);
    return ATTN_OK;
}

attn_status at_attention_check(attn_context *context, const attn_pattern *pattern,
                               const attn_attention_options *options, const attn_tensor *query,
                               const attn_tensor *key, const attn_tensor *value, at_attention_call *call) {
    memset(call, 0, sizeof *call);
    attn_status status = check_inputs(context, query, key, value, call);
    if (status == ATTN_OK) status = check_pattern(context, pattern, call);
    if (status == ATTN_OK && call->pattern.graph) {
        status = at_attention_check_graph(context, call);
    } else {
        if (status == ATTN_OK) {
            status =
                call->batched ? check_batched(context, call, query->shape[0]) : check_ragged(context, call);
        }
        if (status == ATTN_OK) status = measure_sequences(context, call);
        if (status == ATTN_OK) status = check_mask(context, call);
    }
    if (status == ATTN_OK) status = check_options(context, options, call);
    call->kernel.sequence_count = call->pattern.sequences;
    return status;
}

int at_attention_goes_by_edges(const at_attention_call *call) {
    return call->kernel.by_row ||
           (call->kernel.score != ATTN_SCORE_DOT && call->kernel.score != ATTN_SCORE_NONE);
}
