/* attention.c: the attention operator (attn/attention.h) on variables.
 *
 * A row holds its heads side by side, so the variables are seen as rows x heads
 * x channels without a copy, slices too. For the backward pass the log-sum-exp of
 * each (row, head) is kept, and a copy of pattern and options.
 *
 * An activation of the result that can be undone is applied in place: the backward pass
 * makes of it, and of the gradient that arrives, what the operator gave and wants.
 */
#include "base/options.h"
#include "tape/ops/checks.h"

#include <inttypes.h>
#include <string.h>

#include "base/random.h"

/* The variables beside query, key and value that may want a gradient. */
enum { BIAS, DISTANCE_BIAS, SCORE_VECTOR, KEY_SCORE_VECTOR, EDGE_BIAS, EDGE_KEY, EDGE_VALUE, EXTRAS };
static const char *const extra_names[EXTRAS] = {
    "bias", "distance_bias", "score_vector", "key_score_vector", "edge_bias", "edge_key", "edge_value"};

typedef struct attention_state {
    int64_t heads, kv_heads;
    int64_t bias_shape[4];
    int bias_by_head;
    attn_pattern pattern;
    attn_attention_options options;
    attn_variable *extra[EXTRAS];
    float *log_sum_exp;
    attn_activation activation; /* in place; IDENTITY: none */
} attention_state;

void attn_attention_inputs_init_sized(attn_attention_inputs *inputs, size_t size) {
    attn_attention_inputs own = {.size = sizeof own};
    own.heads = own.kv_heads = 1;
    at_options_give(inputs, size, &own, sizeof own);
}

/* rows x (heads * channels) as rows x heads x channels. */
static attn_tensor heads_of(float *data, int64_t rows, int64_t columns, int64_t stride, int64_t heads) {
    attn_tensor t = attn_tensor_rows(data, rows, heads, columns / heads);
    t.stride[0] = stride;
    return t;
}

/* The tensor that the operator takes for an extra variable, over `data`. */
static attn_tensor extra_tensor(const attention_state *s, int which, float *data, int64_t stride) {
    const attn_variable *v = s->extra[which];
    if (which == BIAS) {
        attn_tensor bias = attn_tensor_view(data, 4, s->bias_shape);
        if (!s->bias_by_head) return bias;
        bias.stride[0] = s->bias_shape[2] * s->bias_shape[3];
        bias.stride[1] = s->bias_shape[0] * bias.stride[0];
        return bias;
    }
    if (which == EDGE_KEY || which == EDGE_VALUE)
        return heads_of(data, v->rows, v->columns, stride, s->heads);
    attn_tensor t = attn_tensor_matrix(data, v->rows, v->columns);
    t.stride[0] = stride;
    return t;
}

static attn_tensor *option_of(attn_attention_options *o, int which) {
    attn_tensor *const places[EXTRAS] = {
        &o->bias,      &o->distance_bias, &o->score_vector, &o->key_score_vector,
        &o->edge_bias, &o->edge_key,      &o->edge_value};
    return places[which];
}

static attn_tensor *gradient_of(attn_attention_gradients *g, int which) {
    attn_tensor *const places[EXTRAS] = {
        &g->bias,      &g->distance_bias, &g->score_vector, &g->key_score_vector,
        &g->edge_bias, &g->edge_key,      &g->edge_value};
    return places[which];
}

/* Output and gradient before the activation. place: of the query's gradient, which is written after the
 * output is read; it serves if it is as large. */
static void undo_activation(attn_tape *tape, attn_variable *y, const attn_variable *query, at_gradient place,
                            attention_state *s, attn_tensor *output, attn_tensor *d_output) {
    at_view x, dx = at_gradient_of(y);
    if (place.data && query->rows == y->rows && query->columns == y->columns) {
        x = at_place_of(&place, query);
    } else {
        x = at_view_of(at_scratch_numbers(tape, y->rows * y->columns), y->rows, y->columns, y->columns);
    }
    if (y->kept || !y->gradient_bytes) /* what arrived is read by others, too */
        dx = at_view_of(at_scratch_numbers(tape, y->rows * y->columns), y->rows, y->columns, y->columns);
    if (!at_tape_ready(tape)) return;
    at_activation_undo_call call = {s->activation, at_data_of(y), at_gradient_of(y), dx, x};
    at_tape_did(tape, at_tape_run(tape)->activation_undo(at_tape_context(tape), &call));
    *output = heads_of(x.data, y->rows, y->columns, x.stride, s->heads);
    *d_output = heads_of(dx.data, y->rows, y->columns, dx.stride, s->heads);
}

static void attention_backward(attn_tape *tape, at_node *node) {
    attention_state *s = node->state;
    attn_variable *y = node->output, **x = node->input;
    const int64_t heads[3] = {s->heads, s->kv_heads, s->kv_heads};
    attn_attention_gradients gradients;
    attn_attention_gradients_init(&gradients);
    attn_tensor *target[3] = {&gradients.query, &gradients.key, &gradients.value}, input[3];
    at_gradient g[3], extra[EXTRAS];
    /* scores that are 0 send nothing back to queries and keys; where those are the values, that is no news */
    int values_only = s->options.score == ATTN_SCORE_NONE && x[0] == x[2] && x[1] == x[2];
    for (int i = 0; i < 3; i++) {
        input[i] = heads_of(x[i]->data, x[i]->rows, x[i]->columns, x[i]->stride, heads[i]);
        int first = x[i] == x[0] ? 0 : x[i] == x[1] ? 1 : 2; /* of those that are this variable */
        if (first < i && s->pattern.graph && g[first].data && !g[first].adds) {
            *target[i] = *target[first]; /* the operator adds them up */
            g[i] = (at_gradient){NULL, 0, 0, 0};
            continue;
        }
        g[i] = at_gradient_begin(tape, values_only && i < 2 ? NULL : x[i]);
        if (g[i].data) *target[i] = heads_of(g[i].data, x[i]->rows, x[i]->columns, g[i].stride, heads[i]);
    }
    for (int e = 0; e < EXTRAS; e++) {
        extra[e] = at_gradient_begin(tape, s->extra[e]);
        if (extra[e].data) *gradient_of(&gradients, e) = extra_tensor(s, e, extra[e].data, extra[e].stride);
    }
    at_scratch mark = at_scratch_mark(tape);
    attn_tensor output = heads_of(y->data, y->rows, y->columns, y->stride, s->heads);
    attn_tensor d_output = heads_of(y->gradient, y->rows, y->columns, y->gradient_stride, s->heads);
    if (s->activation != ATTN_IDENTITY) undo_activation(tape, y, x[0], g[0], s, &output, &d_output);
    if (attn_tape_status(tape) == ATTN_OK) {
        attn_tensor log_sum_exp = attn_tensor_matrix(s->log_sum_exp, y->rows, s->heads);
        at_attention_backward_call call = {&s->pattern, &s->options,  &input[0], &input[1], &input[2],
                                           &output,     &log_sum_exp, &d_output, &gradients};
        at_tape_did(tape, at_tape_run(tape)->attention_backward(at_tape_context(tape), &call));
    }
    at_scratch_release(tape, mark);
    for (int i = 0; i < 3; i++) at_gradient_end(tape, x[i], &g[i]);
    for (int e = 0; e < EXTRAS; e++) at_gradient_end(tape, s->extra[e], &extra[e]);
}

/* ---- checks ---- */

static int check_heads(attn_tape *tape, const char *name, const attn_variable *x, int64_t heads) {
    if (!at_tape_has(tape, "attention", name, x)) return 0;
    if (heads >= 1 && x->columns % heads == 0) return 1;
    at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                 "attention: %s has %" PRId64 " columns, which do not divide into %" PRId64 " heads", name,
                 x->columns, heads);
    return 0;
}

/* A copy whose offsets outlive the call. */
static int keep_pattern(attn_tape *tape, const attn_pattern *pattern, attn_pattern *kept) {
    attn_pattern_init(kept);
    if (!pattern) return 1;
    if (!at_tape_options(tape, "attention", "pattern", "attn_pattern_init", pattern,
                         AT_FIRST_SIZE(attn_pattern, graph), sizeof *kept, kept)) {
        return 0;
    }
    pattern = kept;
    if (pattern->query_lengths || pattern->key_lengths) {
        at_tape_fail(tape, ATTN_UNSUPPORTED,
                     "attention: on a tape sequences are given by offsets, not lengths");
        return 0;
    }
    if (!pattern->query_offsets && !pattern->key_offsets) return 1;
    if (pattern->sequences < 0) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "attention: the pattern has a negative number of sequences");
        return 0;
    }
    const int64_t **places[2] = {&kept->query_offsets, &kept->key_offsets};
    for (int i = 0; i < 2; i++) {
        if (!*places[i]) continue;
        *places[i] = at_tape_copy(tape, *places[i], pattern->sequences + 1, sizeof(int64_t));
        if (!*places[i]) return 0;
    }
    return 1;
}

/* Options with the tensors of the variables, and this step's dropout. */
static int keep_options(attn_tape *tape, const attn_attention_inputs *inputs, attention_state *s) {
    attn_attention_options_init(&s->options);
    if (!at_tape_options(tape, "attention", "options", "attn_attention_options_init", inputs->options,
                         AT_FIRST_SIZE(attn_attention_options, edge_value), sizeof s->options, &s->options)) {
        return 0;
    }
    attn_variable *const given[EXTRAS] = {
        inputs->bias,      inputs->distance_bias, inputs->score_vector, inputs->key_score_vector,
        inputs->edge_bias, inputs->edge_key,      inputs->edge_value};
    attn_tensor none;
    memset(&none, 0, sizeof none);
    for (int e = 0; e < EXTRAS; e++) {
        s->extra[e] = given[e];
        *option_of(&s->options, e) = none;
        if (!given[e]) continue;
        if ((e == BIAS || e == SCORE_VECTOR || e == KEY_SCORE_VECTOR) &&
            given[e]->stride != given[e]->columns) {
            at_tape_fail(tape, ATTN_UNSUPPORTED, "attention: %s may not be a slice of columns",
                         extra_names[e]);
            return 0;
        }
        if ((e == EDGE_KEY || e == EDGE_VALUE) && !check_heads(tape, extra_names[e], given[e], s->heads))
            return 0;
        *option_of(&s->options, e) = extra_tensor(s, e, given[e]->data, given[e]->stride);
    }
    if (s->options.bias_of) {
        int64_t sequences = s->pattern.query_offsets || s->pattern.key_offsets ? s->pattern.sequences : 1;
        s->options.bias_of = at_tape_copy(tape, s->options.bias_of, sequences, sizeof(int64_t));
        if (!s->options.bias_of) return 0;
    }
    if (attn_tape_mode_of(tape) != ATTN_TAPE_TRAIN) s->options.dropout = 0.0f;
    s->options.seed = at_splitmix64(at_tape_seed(tape)) ^ at_tape_stream(tape);
    return 1;
}

static int check_bias(attn_tape *tape, const attn_attention_inputs *inputs) {
    if (!inputs->bias) return 1;
    const int64_t *shape = inputs->bias_shape;
    double count = (double)shape[0] * (double)shape[1] * (double)shape[2] * (double)shape[3];
    if (shape[0] > 0 && shape[1] > 0 && shape[2] > 0 && shape[3] > 0 &&
        count == (double)inputs->bias->rows * (double)inputs->bias->columns) {
        return 1;
    }
    at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                 "attention: bias has %" PRId64 " x %" PRId64 " numbers, bias_shape is %" PRId64 " x %" PRId64
                 " x %" PRId64 " x %" PRId64,
                 inputs->bias->rows, inputs->bias->columns, shape[0], shape[1], shape[2], shape[3]);
    return 0;
}

/* Whether the activation is applied to the result in place. */
static int in_place(const attention_state *s, attn_activation activation) {
    return s->pattern.graph && (activation == ATTN_RELU || activation == ATTN_ELU);
}

attn_variable *attn_tape_attention(attn_tape *tape, attn_variable *query, attn_variable *key,
                                   attn_variable *value, const attn_attention_inputs *inputs) {
    if (!at_tape_ready(tape)) return NULL;
    attn_attention_inputs own;
    attn_attention_inputs_init(&own);
    if (!at_tape_options(tape, "attention", "inputs", "attn_attention_inputs_init", inputs,
                         AT_FIRST_SIZE(attn_attention_inputs, weights), sizeof own, &own)) {
        return NULL;
    }
    inputs = &own;
    if (!check_heads(tape, "query", query, inputs->heads) ||
        !check_heads(tape, "key", key, inputs->kv_heads) ||
        !check_heads(tape, "value", value, inputs->kv_heads) || !check_bias(tape, inputs) ||
        !at_tape_has_activation(tape, "attention", inputs->activation)) {
        return NULL;
    }
    attention_state *s = at_tape_memory(tape, 1, sizeof *s);
    if (!s) return NULL;
    s->heads = inputs->heads;
    s->kv_heads = inputs->kv_heads;
    memcpy(s->bias_shape, inputs->bias_shape, sizeof s->bias_shape);
    s->bias_by_head = inputs->bias_by_head;
    if (!keep_pattern(tape, inputs->pattern, &s->pattern) || !keep_options(tape, inputs, s)) return NULL;

    s->activation = in_place(s, inputs->activation) ? inputs->activation : ATTN_IDENTITY;
    attn_variable *y = at_result(tape, query->rows, value->columns / s->kv_heads * s->heads);
    const at_observer *observer = at_tape_observer(tape);
    s->log_sum_exp = at_recording(tape) || observer ? at_tape_numbers(tape, query->rows * s->heads) : NULL;
    if (!y || attn_tape_status(tape) != ATTN_OK) return NULL;
    attn_tensor q = heads_of(query->data, query->rows, query->columns, query->stride, s->heads);
    attn_tensor k = heads_of(key->data, key->rows, key->columns, key->stride, s->kv_heads);
    attn_tensor v = heads_of(value->data, value->rows, value->columns, value->stride, s->kv_heads);
    attn_tensor output = heads_of(y->data, y->rows, y->columns, y->stride, s->heads);
    attn_tensor log_sum_exp = attn_tensor_matrix(s->log_sum_exp, y->rows, s->heads), weights;
    attn_context *context = at_tape_context(tape);
    attn_status status = ATTN_OK;
    int64_t count = 0;
    if (own.weights || observer) status = attn_attention_weights_count(context, &s->pattern, &q, &k, &count);
    if (status == ATTN_OK && observer && !own.weights) own.weights = at_tape_numbers(tape, count);
    if (attn_tape_status(tape) != ATTN_OK) return NULL;
    weights = attn_tensor_view(own.weights, 1, &count);
    if (status == ATTN_OK) {
        at_attention_forward_call call = {.pattern = &s->pattern,
                                          .options = &s->options,
                                          .query = &q,
                                          .key = &k,
                                          .value = &v,
                                          .output = &output,
                                          .log_sum_exp = s->log_sum_exp ? &log_sum_exp : NULL,
                                          .weights = own.weights ? &weights : NULL};
        status = at_tape_run(tape)->attention(context, &call);
    }
    if (status != ATTN_OK) return at_tape_failed(tape, status);
    if (s->activation != ATTN_IDENTITY) {
        at_activation_call call = {.activation = s->activation, .x = at_data_of(y), .y = at_data_of(y)};
        at_tape_did(tape, at_tape_run(tape)->activation(context, &call));
    }
    int extras = 0;
    for (int e = 0; e < EXTRAS; e++) extras |= at_wanted(s->extra[e]);
    at_record(tape, y, attention_backward, s, extras, query, key, value);
    if (attn_tape_status(tape) != ATTN_OK) return NULL;
    if (observer) {
        at_attention_seen seen = {query,         key,         value,          y,
                                  s->heads,      s->kv_heads, &s->pattern,    &s->options,
                                  s->activation, own.weights, s->log_sum_exp, count};
        observer->attention(observer->user, tape, &seen);
    }
    return s->activation == inputs->activation ? y : attn_tape_activation(tape, y, inputs->activation);
}
