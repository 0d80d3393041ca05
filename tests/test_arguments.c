/* test_arguments.c: every bad argument of attention gives its own status and
 * a text that names it (and both shapes, where two disagree), and no output is
 * touched. The arguments of the linear operator are in test_matmul.c.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"

#define ROOM 4096
#define UNTOUCHED 77.5f

/* A call that is right in everything; a test makes one thing wrong. Queries
 * 6, keys 10, heads 4 over 2, d_k 8, d_v 5. */
typedef struct attention_arguments {
    attn_pattern pattern;
    attn_attention_options options;
    attn_tensor query, key, value, output, log_sum_exp, weights, d_output;
    attn_attention_gradients gradients;
    const attn_tensor *optional_log_sum_exp, *optional_weights;
    int64_t query_offsets[4], key_offsets[4];
    uint8_t bits[64];
} attention_arguments;

static float inputs[ROOM], results[9][ROOM];
static attn_context *context;

static attn_tensor view(float *data, int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    int64_t shape[4] = {a, b, c, d};
    return attn_tensor_view(data, rank, shape);
}

static void add_options(attention_arguments *x, int64_t sequences) {
    attn_attention_options_init(&x->options);
    x->options.bias = view(inputs, 4, sequences, 4, 6, 10);
    x->options.distance_bias = view(inputs, 2, 4, 7, 0, 0);
    attn_attention_gradients_init(&x->gradients);
    x->gradients.bias = view(results[6], 4, sequences, 4, 6, 10);
    x->gradients.distance_bias = view(results[7], 2, 4, 7, 0, 0);
    x->optional_log_sum_exp = &x->log_sum_exp;
    x->optional_weights = &x->weights;
}

/* 3-d: sequences of 6 and 0 queries, 7 and 3 keys. */
static void make_ragged(attention_arguments *x) {
    static const int64_t query_offsets[4] = {0, 6, 6, -1}, key_offsets[4] = {0, 7, 10, -1};
    memset(x, 0, sizeof(*x));
    attn_pattern_init(&x->pattern);
    memcpy(x->query_offsets, query_offsets, sizeof(query_offsets));
    memcpy(x->key_offsets, key_offsets, sizeof(key_offsets));
    x->pattern.sequences = 2;
    x->pattern.query_offsets = x->query_offsets;
    x->pattern.key_offsets = x->key_offsets;
    x->pattern.mask = (attn_mask){x->bits, 6, 10, 0, 0, 2};
    x->query = view(inputs, 3, 6, 4, 8, 0);
    x->key = view(inputs, 3, 10, 2, 8, 0);
    x->value = view(inputs, 3, 10, 2, 5, 0);
    x->d_output = view(inputs, 3, 6, 4, 5, 0);
    x->output = view(results[0], 3, 6, 4, 5, 0);
    x->log_sum_exp = view(results[1], 2, 6, 4, 0, 0);
    x->weights = view(results[2], 1, 4 * 6 * 7, 0, 0, 0);
    add_options(x, 2);
    x->gradients.query = view(results[3], 3, 6, 4, 8, 0);
    x->gradients.key = view(results[4], 3, 10, 2, 8, 0);
    x->gradients.value = view(results[5], 3, 10, 2, 5, 0);
}

/* 4-d: two sequences with room for 6 queries and 10 keys, all of them used. */
static void make_batched(attention_arguments *x) {
    static const int64_t six[4] = {6, 6, -1, -1}, ten[4] = {10, 10, -1, -1};
    make_ragged(x);
    memcpy(x->query_offsets, six, sizeof(six));
    memcpy(x->key_offsets, ten, sizeof(ten));
    x->pattern.query_offsets = x->pattern.key_offsets = NULL;
    x->pattern.query_lengths = x->query_offsets;
    x->pattern.key_lengths = x->key_offsets;
    x->query = view(inputs, 4, 2, 6, 4, 8);
    x->key = view(inputs, 4, 2, 10, 2, 8);
    x->value = view(inputs, 4, 2, 10, 2, 5);
    x->d_output = view(inputs, 4, 2, 6, 4, 5);
    x->output = view(results[0], 4, 2, 6, 4, 5);
    x->log_sum_exp = view(results[1], 3, 2, 6, 4, 0);
    x->weights = view(results[2], 1, 2 * 4 * 6 * 10, 0, 0, 0);
    x->gradients.query = view(results[3], 4, 2, 6, 4, 8);
    x->gradients.key = view(results[4], 4, 2, 10, 2, 8);
    x->gradients.value = view(results[5], 4, 2, 10, 2, 5);
}

static attn_status forward(const attention_arguments *x) {
    return attn_attention_forward(context, &x->pattern, &x->options, &x->query, &x->key, &x->value,
                                  &x->output, x->optional_log_sum_exp, x->optional_weights);
}

static attn_status backward(const attention_arguments *x) {
    return attn_attention_backward(context, &x->pattern, &x->options, &x->query, &x->key, &x->value,
                                   &x->output, &x->log_sum_exp, &x->d_output, &x->gradients);
}

static void reset_results(void) {
    for (int k = 0; k < 9; k++)
        for (int e = 0; e < ROOM; e++) results[k][e] = UNTOUCHED;
}

/* The call failed as it should: this status, these words in the text, and
 * nothing written. words: separated by '|'. */
static void check_failure(attn_status status, attn_status expected, const char *words) {
    const char *text = attn_context_error(context);
    if (status != expected)
        fail_msg("%s instead of %s for '%s': %s", attn_status_name(status), attn_status_name(expected), words,
                 text);
    while (*words) {
        char word[64] = {0};
        size_t length = strcspn(words, "|");
        assert_true(length < sizeof(word));
        memcpy(word, words, length);
        if (!strstr(text, word)) fail_msg("'%s' is not in: %s", word, text);
        words += length + (words[length] == '|');
    }
    for (int k = 0; k < 9; k++)
        for (int e = 0; e < ROOM; e++) assert_true(results[k][e] == UNTOUCHED);
}

static void expect(const attention_arguments *x, attn_status status, const char *words) {
    check_failure(forward(x), status, words);
    check_failure(backward(x), status, words);
}

/* One wrong thing in a fresh call, for both passes. */
#define BAD(make, change, status, words)                                                                     \
    do {                                                                                                     \
        attention_arguments x;                                                                               \
        make(&x);                                                                                            \
        change;                                                                                              \
        expect(&x, status, words);                                                                           \
    } while (0)
#define BAD_FORWARD(make, change, status, words)                                                             \
    do {                                                                                                     \
        attention_arguments x;                                                                               \
        make(&x);                                                                                            \
        change;                                                                                              \
        check_failure(forward(&x), status, words);                                                           \
    } while (0)
#define BAD_BACKWARD(make, change, status, words)                                                            \
    do {                                                                                                     \
        attention_arguments x;                                                                               \
        make(&x);                                                                                            \
        change;                                                                                              \
        check_failure(backward(&x), status, words);                                                          \
    } while (0)

/* What the others change is right before they change it. */
static void test_unchanged_calls_are_right(void **state) {
    (void)state;
    attention_arguments x;
    make_ragged(&x);
    assert_int_equal(forward(&x), ATTN_OK);
    assert_int_equal(backward(&x), ATTN_OK);
    make_batched(&x);
    assert_int_equal(forward(&x), ATTN_OK);
    assert_int_equal(backward(&x), ATTN_OK);
    x.optional_log_sum_exp = x.optional_weights = NULL;
    assert_int_equal(forward(&x), ATTN_OK);
    reset_results();
}

static void test_null_arguments(void **state) {
    (void)state;
    attention_arguments a, *x = &a;
    make_ragged(x);
    const attn_tensor *q = &x->query, *k = &x->key, *v = &x->value, *o = &x->output, *l = &x->log_sum_exp;
    const attn_tensor *d = &x->d_output;
    const attn_pattern *p = &x->pattern;
    const attn_attention_options *t = &x->options;
    const attn_status bad = ATTN_INVALID_ARGUMENT;
    assert_int_equal(attn_attention_forward(NULL, p, t, q, k, v, o, l, NULL), bad);
    check_failure(attn_attention_forward(context, p, t, NULL, k, v, o, l, NULL), bad, "query");
    check_failure(attn_attention_forward(context, p, t, q, NULL, v, o, l, NULL), bad, "key");
    check_failure(attn_attention_forward(context, p, t, q, k, NULL, o, l, NULL), bad, "value");
    check_failure(attn_attention_forward(context, p, t, q, k, v, NULL, l, NULL), bad, "output");
    assert_int_equal(attn_attention_backward(NULL, p, t, q, k, v, o, l, d, &x->gradients), bad);
    check_failure(attn_attention_backward(context, p, t, NULL, k, v, o, l, d, &x->gradients), bad, "query");
    check_failure(attn_attention_backward(context, p, t, q, NULL, v, o, l, d, &x->gradients), bad, "key");
    check_failure(attn_attention_backward(context, p, t, q, k, NULL, o, l, d, &x->gradients), bad, "value");
    check_failure(attn_attention_backward(context, p, t, q, k, v, NULL, l, d, &x->gradients), bad, "output");
    check_failure(attn_attention_backward(context, p, t, q, k, v, o, NULL, d, &x->gradients), bad,
                  "log_sum_exp");
    check_failure(attn_attention_backward(context, p, t, q, k, v, o, l, NULL, &x->gradients), bad,
                  "d_output");
    check_failure(attn_attention_backward(context, p, t, q, k, v, o, l, d, NULL), bad, "gradients");
}

static void test_tensors_without_data(void **state) {
    (void)state;
    BAD(make_ragged, x.query.data = NULL, ATTN_INVALID_ARGUMENT, "query");
    BAD(make_ragged, x.key.data = NULL, ATTN_INVALID_ARGUMENT, "key");
    BAD(make_ragged, x.value.data = NULL, ATTN_INVALID_ARGUMENT, "value");
    BAD(make_ragged, x.output.data = NULL, ATTN_INVALID_ARGUMENT, "output");
    BAD_BACKWARD(make_ragged, x.log_sum_exp.data = NULL, ATTN_INVALID_ARGUMENT, "log_sum_exp");
    BAD_BACKWARD(make_ragged, x.d_output.data = NULL, ATTN_INVALID_ARGUMENT, "d_output");
}

static void test_rank(void **state) {
    (void)state;
    BAD(make_ragged, x.query.rank = 0, ATTN_INVALID_ARGUMENT, "query|rank");
    BAD(make_ragged, x.query.rank = 5, ATTN_INVALID_ARGUMENT, "query|rank");
    BAD(make_ragged, x.query.rank = 2, ATTN_SHAPE_MISMATCH, "query");
    BAD(make_ragged, x.key.rank = 2, ATTN_SHAPE_MISMATCH, "key|3");
    BAD(make_ragged, x.value.rank = 4, ATTN_SHAPE_MISMATCH, "value|3");
    BAD(make_ragged, x.output.rank = 2, ATTN_SHAPE_MISMATCH, "output|3");
    BAD(make_batched, x.key.rank = 3, ATTN_SHAPE_MISMATCH, "key|4");
    BAD(make_ragged, x.log_sum_exp.rank = 3, ATTN_SHAPE_MISMATCH, "log_sum_exp");
    BAD(make_ragged, x.options.bias.rank = 3, ATTN_SHAPE_MISMATCH, "bias|4");
    BAD(make_ragged, x.options.distance_bias.rank = 1, ATTN_SHAPE_MISMATCH, "distance_bias|2");
    BAD_FORWARD(make_ragged, x.weights.rank = 2, ATTN_SHAPE_MISMATCH, "weights|1");
}

static void test_type_and_device(void **state) {
    (void)state;
    BAD(make_ragged, x.query.dtype = (attn_dtype)7, ATTN_UNSUPPORTED, "query|dtype|7");
    BAD(make_ragged, x.value.device = (attn_device)3, ATTN_UNSUPPORTED, "value|device|3");
    BAD(make_ragged, x.options.bias.dtype = (attn_dtype)7, ATTN_UNSUPPORTED, "bias|dtype|7");
    BAD_BACKWARD(make_ragged, x.gradients.key.dtype = (attn_dtype)7, ATTN_UNSUPPORTED,
                 "gradients.key|dtype|7");
}

static void test_size_fields(void **state) {
    (void)state;
    BAD(make_ragged, x.pattern.size = 0, ATTN_INVALID_ARGUMENT, "pattern|size");
    BAD(make_ragged, x.options.size = offsetof(attn_attention_options, edge_value), ATTN_INVALID_ARGUMENT,
        "options|size");
    BAD_BACKWARD(make_ragged, x.gradients.size -= 8, ATTN_INVALID_ARGUMENT, "gradients|size");
}

static void test_extents(void **state) {
    (void)state;
    BAD(make_ragged, x.query.shape[0] = -6, ATTN_INVALID_ARGUMENT, "query|negative|-6");
    BAD(make_ragged, x.value.shape[1] = -2, ATTN_INVALID_ARGUMENT, "value|negative|-2");
    BAD(make_ragged, x.query.shape[2] = 0, ATTN_INVALID_ARGUMENT, "query|0|512");
    BAD(make_ragged, x.query.shape[2] = 513, ATTN_INVALID_ARGUMENT, "query|513|512");
    BAD(make_ragged, x.value.shape[2] = 0, ATTN_INVALID_ARGUMENT, "value|0|512");
    BAD(make_ragged, x.value.shape[2] = 513, ATTN_INVALID_ARGUMENT, "value|513|512");
    BAD(make_ragged, x.key.shape[2] = 9, ATTN_SHAPE_MISMATCH, "key|query|10 x 2 x 9|6 x 4 x 8");
    BAD(make_ragged, x.key.shape[1] = 3, ATTN_SHAPE_MISMATCH, "heads|query|key|10 x 3 x 8|6 x 4 x 8");
    BAD(make_ragged, x.key.shape[1] = 0, ATTN_SHAPE_MISMATCH, "heads|query|key");
    BAD(make_ragged, x.value.shape[0] = 11, ATTN_SHAPE_MISMATCH, "value|key|11 x 2 x 5|10 x 2 x 8");
    BAD(make_ragged, x.value.shape[1] = 1, ATTN_SHAPE_MISMATCH, "value|key|10 x 1 x 5|10 x 2 x 8");
    BAD(make_batched, x.key.shape[0] = 3, ATTN_SHAPE_MISMATCH, "key|query|3 x 10 x 2 x 8|2 x 6 x 4 x 8");
    BAD(make_batched, x.value.shape[0] = 1, ATTN_SHAPE_MISMATCH, "value|key|1 x 10 x 2 x 5|2 x 10 x 2 x 8");
}

static void test_result_shapes(void **state) {
    (void)state;
    BAD(make_ragged, x.output.shape[0] = 7, ATTN_SHAPE_MISMATCH, "output|7 x 4 x 5|6 x 4 x 5");
    BAD(make_ragged, x.output.shape[1] = 3, ATTN_SHAPE_MISMATCH, "output|6 x 3 x 5|6 x 4 x 5");
    BAD(make_batched, x.output.shape[3] = 8, ATTN_SHAPE_MISMATCH, "output|2 x 6 x 4 x 8|2 x 6 x 4 x 5");
    BAD(make_ragged, x.log_sum_exp.shape[1] = 5, ATTN_SHAPE_MISMATCH, "log_sum_exp|6 x 5|6 x 4");
    BAD_FORWARD(make_ragged, x.weights.shape[0] -= 1, ATTN_SHAPE_MISMATCH, "weights|167|168");
    BAD_FORWARD(make_ragged, x.weights.stride[0] = 2, ATTN_SHAPE_MISMATCH, "weights|stride");
    BAD_FORWARD(make_ragged, x.output.stride[1] = 0, ATTN_INVALID_ARGUMENT, "output|stride");
    BAD_BACKWARD(make_ragged, x.d_output.shape[2] = 6, ATTN_SHAPE_MISMATCH, "d_output|6 x 4 x 6|6 x 4 x 5");
    BAD_BACKWARD(make_ragged, x.gradients.query.shape[2] = 5, ATTN_SHAPE_MISMATCH,
                 "gradients.query|6 x 4 x 5|6 x 4 x 8");
    BAD_BACKWARD(make_ragged, x.gradients.key.shape[1] = 4, ATTN_SHAPE_MISMATCH,
                 "gradients.key|10 x 4 x 8|10 x 2 x 8");
    BAD_BACKWARD(make_ragged, x.gradients.value.shape[0] = 6, ATTN_SHAPE_MISMATCH,
                 "gradients.value|6 x 2 x 5|10 x 2 x 5");
    BAD_BACKWARD(make_ragged, x.gradients.bias.shape[1] = 1, ATTN_SHAPE_MISMATCH,
                 "gradients.bias|2 x 1 x 6 x 10|2 x 4 x 6 x 10");
    BAD_BACKWARD(make_ragged, x.gradients.distance_bias.shape[1] = 9, ATTN_SHAPE_MISMATCH,
                 "gradients.distance_bias|4 x 9|4 x 7");
    BAD_BACKWARD(make_ragged, x.gradients.bias.stride[3] = 0, ATTN_INVALID_ARGUMENT, "gradients.bias|stride");
    BAD_BACKWARD(make_ragged, x.options.bias.data = NULL, ATTN_INVALID_ARGUMENT,
                 "gradients.bias|options.bias");
    BAD_BACKWARD(make_ragged, x.options.distance_bias.data = NULL, ATTN_INVALID_ARGUMENT,
                 "gradients.distance_bias|options.distance_bias");
}

static void test_offsets_and_lengths(void **state) {
    (void)state;
    BAD(make_ragged, x.query_offsets[0] = 1, ATTN_INVALID_ARGUMENT, "query_offsets|1");
    BAD(make_ragged, x.key_offsets[0] = -1, ATTN_INVALID_ARGUMENT, "key_offsets|-1");
    BAD(make_ragged, x.query_offsets[1] = 9, ATTN_INVALID_ARGUMENT, "query_offsets|9|6");
    BAD(make_ragged, x.key_offsets[1] = 11, ATTN_INVALID_ARGUMENT, "key_offsets|11|10");
    BAD(make_ragged, x.query_offsets[2] = 7, ATTN_SHAPE_MISMATCH, "query_offsets|7|6");
    BAD(make_ragged, x.key_offsets[2] = 9, ATTN_SHAPE_MISMATCH, "key_offsets|9|10");
    BAD(make_ragged, x.pattern.key_offsets = NULL, ATTN_SHAPE_MISMATCH, "key_offsets|6|10");
    BAD(make_ragged, x.pattern.query_offsets = NULL, ATTN_INVALID_ARGUMENT, "query_offsets");
    BAD(make_ragged, x.pattern.sequences = -1, ATTN_INVALID_ARGUMENT, "sequences|-1");
    BAD(make_ragged, x.pattern.query_lengths = x.query_offsets, ATTN_INVALID_ARGUMENT, "query_lengths");
    BAD(make_ragged, x.pattern.key_lengths = x.key_offsets, ATTN_INVALID_ARGUMENT, "key_lengths");
    BAD(make_batched, x.pattern.query_offsets = x.query_offsets, ATTN_INVALID_ARGUMENT, "query_offsets");
    BAD(make_batched, x.pattern.key_offsets = x.key_offsets, ATTN_INVALID_ARGUMENT, "key_offsets");
    BAD(make_batched, x.query_offsets[1] = 7, ATTN_INVALID_ARGUMENT, "query_lengths|7|6");
    BAD(make_batched, x.key_offsets[0] = 11, ATTN_INVALID_ARGUMENT, "key_lengths|11|10");
    BAD(make_batched, x.key_offsets[0] = -1, ATTN_INVALID_ARGUMENT, "key_lengths|-1");
    BAD(make_batched, x.pattern.sequences = 3, ATTN_SHAPE_MISMATCH, "sequences|3|2");
}

static void test_pattern(void **state) {
    (void)state;
    BAD(make_ragged, x.pattern.left = -2, ATTN_INVALID_ARGUMENT, "left|-2");
    BAD(make_ragged, x.pattern.right = INT64_MIN, ATTN_INVALID_ARGUMENT, "right");
    BAD(make_ragged, x.pattern.align = (attn_align)2, ATTN_INVALID_ARGUMENT, "align|2");
    BAD(make_ragged, x.pattern.mask.queries = 5, ATTN_SHAPE_MISMATCH, "mask|5|6");
    BAD(make_ragged, x.pattern.mask.keys = 6, ATTN_SHAPE_MISMATCH, "mask|6|7");
}

static void test_options(void **state) {
    (void)state;
    BAD(make_ragged, x.options.scale = NAN, ATTN_INVALID_ARGUMENT, "scale");
    BAD(make_ragged, x.options.scale = INFINITY, ATTN_INVALID_ARGUMENT, "scale");
    BAD(make_ragged, x.options.softcap = -1.0f, ATTN_INVALID_ARGUMENT, "softcap|-1");
    BAD(make_ragged, x.options.softcap = NAN, ATTN_INVALID_ARGUMENT, "softcap");
    BAD(make_ragged, x.options.softcap = INFINITY, ATTN_INVALID_ARGUMENT, "softcap");
    BAD(make_ragged, x.options.dropout = 1.0f, ATTN_INVALID_ARGUMENT, "dropout|1");
    BAD(make_ragged, x.options.dropout = -0.25f, ATTN_INVALID_ARGUMENT, "dropout|-0.25");
    BAD(make_ragged, x.options.dropout = NAN, ATTN_INVALID_ARGUMENT, "dropout");
    BAD(make_ragged, x.options.bias.shape[0] = 3, ATTN_SHAPE_MISMATCH, "bias|3 x 4 x 6 x 10|2");
    static const int64_t groups[] = {1, 2}, negative[] = {0, -1};
    BAD(make_ragged, x.options.bias_of = groups, ATTN_SHAPE_MISMATCH, "bias_of[1] is 2|2 x 4 x 6 x 10");
    BAD(make_ragged, x.options.bias_of = negative, ATTN_SHAPE_MISMATCH, "bias_of[1] is -1");
    BAD(make_ragged, x.options.bias.shape[1] = 2, ATTN_SHAPE_MISMATCH, "bias|2 x 2 x 6 x 10|4");
    BAD(make_ragged, x.options.bias.shape[2] = 5, ATTN_SHAPE_MISMATCH, "bias|2 x 4 x 5 x 10|6");
    BAD(make_ragged, x.options.bias.shape[3] = 6, ATTN_SHAPE_MISMATCH, "bias|2 x 4 x 6 x 6|7");
    BAD(make_ragged, x.options.distance_bias.shape[1] = 6, ATTN_SHAPE_MISMATCH, "distance_bias|4 x 6|odd");
    BAD(make_ragged, x.options.distance_bias.shape[0] = 2, ATTN_SHAPE_MISMATCH, "distance_bias|2 x 7|4");
}

/* Extents whose products do not fit, over memory that repeats (stride 0). */
static void make_endless(attention_arguments *x, int64_t rows) {
    make_ragged(x);
    x->pattern.query_offsets = x->pattern.key_offsets = NULL;
    x->pattern.mask.bits = NULL;
    x->options.bias.data = x->options.distance_bias.data = NULL;
    attn_tensor *views[] = {&x->query, &x->key, &x->value, &x->d_output, &x->output, &x->log_sum_exp};
    for (int k = 0; k < 6; k++) {
        views[k]->shape[0] = rows;
        views[k]->stride[0] = 0;
    }
}

static void test_overflow(void **state) {
    (void)state;
    attention_arguments x;
    int64_t count = -7;
    size_t bytes = 99;
    make_endless(&x, INT64_MAX);
    expect(&x, ATTN_OVERFLOW, "query");
    make_endless(&x, INT64_MAX / 128);
    check_failure(attn_attention_weights_count(context, &x.pattern, &x.query, &x.key, &count), ATTN_OVERFLOW,
                  "");
    check_failure(
        attn_attention_forward_memory(context, &x.pattern, &x.options, &x.query, &x.key, &x.value, &bytes),
        ATTN_OVERFLOW, "");
    check_failure(
        attn_attention_backward_memory(context, &x.pattern, &x.options, &x.query, &x.key, &x.value, &bytes),
        ATTN_OVERFLOW, "");
    assert_true(count == -7 && bytes == 99);
    make_ragged(&x);
    x.query.stride[0] = INT64_MAX / 2; /* the last row lies past what an address can hold */
    expect(&x, ATTN_OVERFLOW, "query");
    make_ragged(&x);
    x.key.stride[2] = INT64_MIN;
    expect(&x, ATTN_OVERFLOW, "key");
}

static void test_questions(void **state) {
    (void)state;
    attention_arguments x;
    attn_weights_layout layout = {.size = sizeof layout, .offset = -5};
    size_t bytes = 0;
    make_ragged(&x);
    const attn_status bad = ATTN_INVALID_ARGUMENT;
    int64_t count = 0;
    assert_int_equal(attn_attention_weights_count(NULL, &x.pattern, &x.query, &x.key, &count), bad);
    check_failure(attn_attention_weights_count(context, &x.pattern, &x.query, &x.key, NULL), bad, "count");
    check_failure(attn_attention_weights_layout(context, &x.pattern, &x.query, &x.key, 0, NULL), bad,
                  "layout");
    check_failure(attn_attention_weights_layout(context, &x.pattern, &x.query, &x.key, 2, &layout), bad,
                  "sequence|2");
    check_failure(attn_attention_weights_layout(context, &x.pattern, &x.query, &x.key, -1, &layout), bad,
                  "sequence|-1");
    check_failure(attn_attention_weights_count(context, &x.pattern, &x.query, NULL, &count), bad, "key");
    assert_true(layout.offset == -5);
    check_failure(
        attn_attention_forward_memory(context, &x.pattern, &x.options, &x.query, &x.key, &x.value, NULL), bad,
        "bytes");
    check_failure(
        attn_attention_backward_memory(context, &x.pattern, &x.options, &x.query, &x.key, &x.value, NULL),
        bad, "bytes");
    check_failure(
        attn_attention_forward_memory(context, &x.pattern, &x.options, &x.query, &x.key, NULL, &bytes), bad,
        "value");
}

/* Every bad argument has a text of its own: no two of these agree. */
static void test_texts_differ(void **state) {
    (void)state;
    char texts[5][512];
    attention_arguments x;
    for (int k = 0; k < 5; k++) {
        make_ragged(&x);
        if (k == 0) x.query.shape[2] = 0;
        if (k == 1) x.value.shape[2] = 0;
        if (k == 2) x.pattern.left = -2;
        if (k == 3) x.options.dropout = 1.0f;
        if (k == 4) x.query_offsets[0] = 1;
        assert_true(forward(&x) != ATTN_OK);
        strncpy(texts[k], attn_context_error(context), sizeof(texts[k]) - 1);
        texts[k][sizeof(texts[k]) - 1] = '\0';
        for (int j = 0; j < k; j++) assert_string_not_equal(texts[j], texts[k]);
    }
    make_ragged(&x); /* a call that succeeds leaves the text */
    assert_int_equal(forward(&x), ATTN_OK);
    assert_string_equal(attn_context_error(context), texts[4]);
    reset_results();
}

static int setup(void **state) {
    if (test_contexts_setup(state) != 0) return 1;
    context = test_best_context(1);
    reset_results();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unchanged_calls_are_right),
        cmocka_unit_test(test_null_arguments),
        cmocka_unit_test(test_tensors_without_data),
        cmocka_unit_test(test_rank),
        cmocka_unit_test(test_type_and_device),
        cmocka_unit_test(test_size_fields),
        cmocka_unit_test(test_extents),
        cmocka_unit_test(test_result_shapes),
        cmocka_unit_test(test_offsets_and_lengths),
        cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_texts_differ),
    };
    return cmocka_run_group_tests(tests, setup, test_contexts_teardown);
}
