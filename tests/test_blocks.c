/* test_blocks.c: whole blocks, number by number, against an oracle in double:
 * transformer blocks (pre- and post-norm, plain and gated, window, causal,
 * grouped heads, narrow and wide forms) and decoder blocks with their source.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/host.h"
#include "support/network.h"
#include "support/operation.h"

static const int64_t offsets[] = {0, 4, 4, 9, 10};
static const int64_t source_offsets[] = {0, 3, 4, 6, 11};
enum { ROWS = 10, SOURCE_ROWS = 11, SEQUENCES = 4 };
static const attn_ragged batch = {SEQUENCES, offsets}, source_batch = {SEQUENCES, source_offsets};

typedef struct block_case {
    attn_block_options options;
    attn_block *block;
} block_case;

/* Walks through the parameters in the order in which a layer added them. */
typedef struct reader {
    double *const *parameter;
    int next;
} reader;
static const double *take(reader *r) { return r->parameter[r->next++]; }

/* ---- multi-head attention, whose parameters are the next of the reader ---- */

static void attend(const attn_multihead_options *o, reader *r, const double *x, const double *source,
                   int64_t source_rows, const attn_ragged *keys, double *y) {
    int64_t kv_heads = o->kv_heads ? o->kv_heads : o->heads;
    int64_t width = o->head_width                ? o->head_width
                    : o->form == ATTN_HEADS_WIDE ? o->columns
                                                 : o->columns / o->heads;
    int64_t q = o->heads * width, kv = kv_heads * width, all = source ? 2 * kv : q + 2 * kv;
    oracle_attention a = {batch, source ? *keys : batch, o->heads, kv_heads, width, o->left, o->right};
    double *heads = oracle_numbers(ROWS * q), *query = NULL;
    double *projected = oracle_numbers((source ? source_rows : ROWS) * all);
    if (source) {
        const double *weight[2], *bias[2];
        for (int w = 0; w < 2; w++) weight[w] = take(r);
        for (int w = 0; w < 2; w++) bias[w] = take(r);
        query = oracle_numbers(ROWS * q);
        oracle_linear(ROWS, o->columns, q, x, weight[0], bias[0], ATTN_IDENTITY, query);
        oracle_linear(source_rows, o->source_columns, all, source, weight[1], bias[1], ATTN_IDENTITY,
                      projected);
        oracle_attend(&a, query, q, projected, all, projected + kv, all, heads);
    } else if (o->form == ATTN_HEADS_NARROW) {
        int64_t piece = o->columns / o->heads;
        double *part = oracle_numbers(ROWS * piece), *result = oracle_numbers(ROWS * 3 * width);
        for (int64_t h = 0; h < o->heads; h++) {
            const double *weight = take(r), *bias = take(r);
            for (int64_t i = 0; i < ROWS; i++)
                memcpy(part + i * piece, x + i * o->columns + h * piece, (size_t)piece * sizeof *part);
            oracle_linear(ROWS, piece, 3 * width, part, weight, bias, ATTN_IDENTITY, result);
            for (int64_t i = 0; i < ROWS; i++)
                for (int64_t p = 0; p < 3; p++)
                    memcpy(projected + i * all + p * q + h * width, result + (i * 3 + p) * width,
                           (size_t)width * sizeof *part);
        }
        oracle_attend(&a, projected, all, projected + q, all, projected + 2 * q, all, heads);
        free(part);
        free(result);
    } else {
        const double *weight = take(r), *bias = take(r);
        oracle_linear(ROWS, o->columns, all, x, weight, bias, ATTN_IDENTITY, projected);
        oracle_attend(&a, projected, all, projected + q, all, projected + q + kv, all, heads);
    }
    const double *weight = take(r), *bias = take(r);
    oracle_linear(ROWS, q, o->columns, heads, weight, bias, ATTN_IDENTITY, y);
    free(heads);
    free(query);
    free(projected);
}

static void feed(int64_t columns, int64_t inner, attn_activation activation, int gated,
                 const double *weight[2], const double *bias[2], const double *x, double *y) {
    int64_t rows = gated ? 2 * inner : inner;
    double *hidden = oracle_numbers(ROWS * rows), *gate = oracle_numbers(ROWS * inner);
    oracle_linear(ROWS, columns, rows, x, weight[0], bias[0], gated ? ATTN_IDENTITY : activation, hidden);
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t c = 0; c < inner; c++) {
            double z = hidden[i * rows + c];
            gate[i * inner + c] = gated ? z / (1.0 + exp(-z)) * hidden[i * rows + inner + c] : z;
        }
    }
    oracle_linear(ROWS, inner, columns, gate, weight[1], bias[1], ATTN_IDENTITY, y);
    free(hidden);
    free(gate);
}

/* ---- a transformer block ---- */

static void build_block(attn_parameters *set, void *user) {
    block_case *b = user;
    b->block = attn_block_create(set, "block", &b->options);
}

static attn_variable *run_block(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                void *user) {
    block_case *b = user;
    attn_places places;
    attn_places_init(&places);
    places.batch = batch;
    (void)parameter;
    return attn_block_apply(tape, b->block, input[0], &places);
}

static void block_oracle(double *const *input, double *const *parameter, double *result, void *user) {
    const block_case *b = user;
    const attn_block_options *o = &b->options;
    attn_multihead_options m = o->mixer.attention;
    m.columns = o->mixer.columns;
    if (o->mixer.causal) m.right = 0;
    int64_t columns = m.columns, count = ROWS * columns;
    double *normal = oracle_numbers(count), *branch = oracle_numbers(count), *middle = oracle_numbers(count);
    /* the layer adds: attention, norm 0, norm 1, feed-forward */
    int attention_parameters = m.form == ATTN_HEADS_NARROW ? 2 * (int)m.heads + 2 : 4;
    reader attention = {parameter, 0}, rest = {parameter, attention_parameters};
    const double *gain[2], *bias[2], *weight[2], *feed_bias[2];
    for (int n = 0; n < 2; n++) {
        gain[n] = take(&rest);
        bias[n] = o->norm == ATTN_NORM_LAYER ? take(&rest) : NULL;
    }
    for (int w = 0; w < 2; w++) weight[w] = take(&rest);
    for (int w = 0; w < 2; w++) feed_bias[w] = take(&rest);
    if (o->norm_first) {
        oracle_norm(o->norm, ROWS, columns, input[0], gain[0], bias[0], normal);
        attend(&m, &attention, normal, NULL, 0, NULL, branch);
        oracle_add(count, input[0], branch, middle);
        oracle_norm(o->norm, ROWS, columns, middle, gain[1], bias[1], normal);
        feed(columns, o->inner, o->activation, o->gated, weight, feed_bias, normal, branch);
        oracle_add(count, middle, branch, result);
    } else {
        attend(&m, &attention, input[0], NULL, 0, NULL, branch);
        oracle_add(count, input[0], branch, middle);
        oracle_norm(o->norm, ROWS, columns, middle, gain[0], bias[0], normal);
        feed(columns, o->inner, o->activation, o->gated, weight, feed_bias, normal, branch);
        oracle_add(count, normal, branch, middle);
        oracle_norm(o->norm, ROWS, columns, middle, gain[1], bias[1], result);
    }
    free(normal);
    free(branch);
    free(middle);
}

static void check_block(const char *name, const attn_block_options *options) {
    block_case b = {.options = *options};
    operation_case c = {.name = name,
                        .inputs = 1,
                        .input = {{.rows = ROWS, .columns = options->mixer.columns}},
                        .rows = ROWS,
                        .columns = options->mixer.columns,
                        .seed = 5,
                        .user = &b,
                        .build = build_block,
                        .run = run_block,
                        .reference = block_oracle,
                        .checked = 60};
    operation_check(&c);
}

static attn_block_options small_block(void) {
    attn_block_options o;
    attn_block_options_init(&o);
    o.mixer.columns = 12;
    o.mixer.attention.heads = 3;
    o.inner = 20;
    return o;
}

static void test_transformer_block(void **state) {
    (void)state;
    attn_block_options o = small_block();
    check_block("pre-norm", &o);
    o.norm_first = 0;
    check_block("post-norm", &o);
    o = small_block();
    o.norm = ATTN_NORM_RMS;
    o.gated = 1;
    o.activation = ATTN_SILU;
    check_block("rms, gated", &o);
    o = small_block();
    o.mixer.causal = 1;
    o.activation = ATTN_TANH;
    check_block("causal", &o);
    o = small_block();
    o.mixer.attention.left = 2;
    o.mixer.attention.right = 1;
    check_block("window", &o);
    o = small_block();
    o.mixer.attention.heads = 4;
    o.mixer.attention.kv_heads = 2;
    o.mixer.attention.head_width = 5;
    check_block("grouped heads of their own width", &o);
}

static void test_forms(void **state) {
    (void)state;
    attn_block_options o = small_block();
    o.mixer.attention.form = ATTN_HEADS_NARROW;
    check_block("narrow", &o);
    o.mixer.attention.head_width = 3;
    check_block("narrow, other width", &o);
    o = small_block();
    o.mixer.attention.form = ATTN_HEADS_WIDE;
    check_block("wide", &o);
}

/* ---- a decoder block on a source of another width ---- */

typedef struct decoder_case {
    attn_decoder_options options;
    attn_decoder *decoder;
} decoder_case;

static void build_decoder(attn_parameters *set, void *user) {
    decoder_case *d = user;
    d->decoder = attn_decoder_create(set, "decoder", &d->options);
}

static attn_variable *run_decoder(attn_tape *tape, attn_variable **input, attn_parameter **parameter,
                                  void *user) {
    decoder_case *d = user;
    attn_places places;
    attn_places_init(&places);
    places.batch = batch;
    places.source = input[1];
    places.source_batch = source_batch;
    (void)parameter;
    return attn_decoder_apply(tape, d->decoder, input[0], &places);
}

static void decoder_oracle(double *const *input, double *const *parameter, double *result, void *user) {
    const attn_decoder_options *o = &((decoder_case *)user)->options;
    attn_multihead_options m;
    attn_multihead_options_init(&m);
    m.columns = o->columns;
    m.heads = o->heads;
    int64_t columns = o->columns, count = ROWS * columns;
    double *x = oracle_numbers(count), *normal = oracle_numbers(count), *branch = oracle_numbers(count);
    memcpy(x, input[0], (size_t)count * sizeof *x);
    /* self 0-3, cross 4-9, feed 10-13, norms 14-19, last norm 20-21 */
    reader self = {parameter, 0}, cross = {parameter, 4};
    const double *weight[2] = {parameter[10], parameter[11]}, *bias[2] = {parameter[12], parameter[13]};
    for (int step = 0; step < 3; step++) {
        const double *gain = parameter[14 + 2 * step], *shift = parameter[15 + 2 * step];
        if (o->norm_first) {
            oracle_norm(ATTN_NORM_LAYER, ROWS, columns, x, gain, shift, normal);
        } else {
            memcpy(normal, x, (size_t)count * sizeof *x);
        }
        attn_multihead_options part = m;
        if (step == 0) {
            part.right = 0;
            attend(&part, &self, normal, NULL, 0, NULL, branch);
        } else if (step == 1) {
            part.source_columns = o->source_columns;
            attend(&part, &cross, normal, input[1], SOURCE_ROWS, &source_batch, branch);
        } else {
            feed(columns, o->inner, o->activation, 0, weight, bias, normal, branch);
        }
        oracle_add(count, x, branch, x);
        if (o->norm_first) continue;
        oracle_norm(ATTN_NORM_LAYER, ROWS, columns, x, gain, shift, normal);
        memcpy(x, normal, (size_t)count * sizeof *x);
    }
    if (o->norm_first) {
        oracle_norm(ATTN_NORM_LAYER, ROWS, columns, x, parameter[20], parameter[21], result);
    } else {
        memcpy(result, x, (size_t)count * sizeof *x);
    }
    free(x);
    free(normal);
    free(branch);
}

static void test_decoder_block(void **state) {
    (void)state;
    for (int norm_first = 0; norm_first < 2; norm_first++) {
        decoder_case d;
        attn_decoder_options_init(&d.options);
        d.options.columns = 12;
        d.options.source_columns = 7;
        d.options.heads = 3;
        d.options.layers = 1;
        d.options.inner = 17;
        d.options.position = ATTN_POSITION_NONE;
        d.options.norm_first = norm_first;
        operation_case c = {.name = norm_first ? "decoder, pre-norm" : "decoder, post-norm",
                            .inputs = 2,
                            .input = {{.rows = ROWS, .columns = 12}, {.rows = SOURCE_ROWS, .columns = 7}},
                            .rows = ROWS,
                            .columns = 12,
                            .seed = 8,
                            .user = &d,
                            .build = build_decoder,
                            .run = run_decoder,
                            .reference = decoder_oracle,
                            .checked = 60};
        operation_check(&c);
    }
}

/* ---- the epsilon of norms ---- */

/* The root of the mean square of the result, for rows of about 1. */
static double size_of(attn_tape *tape, attn_variable *y) {
    if (!y) fail_msg("%s", attn_tape_error(tape));
    double sum = 0.0;
    int64_t count = attn_variable_rows(y) * attn_variable_columns(y);
    const float *numbers = host_data(y);
    for (int64_t i = 0; i < count; i++) sum += pow(numbers[i], 2.0);
    return sqrt(sum / (double)count);
}

static void test_norm_epsilon(void **state) {
    (void)state;
    enum { COLUMNS = 12 };
    attn_context *context = test_best_context(1);
    attn_parameters *set;
    attn_tape *tape;
    assert_int_equal(attn_parameters_create(context, 1, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    float small[COLUMNS], rows[ROWS * COLUMNS];
    for (int c = 0; c < COLUMNS; c++) small[c] = c % 2 ? 1e-5f : -1e-5f; /* variance 1e-10 */
    for (int i = 0; i < ROWS * COLUMNS; i++) rows[i] = (float)sin(i);
    attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = attn_tape_input(tape, small, 1, COLUMNS, 0);
    static const attn_norm_kind kinds[] = {ATTN_NORM_LAYER, ATTN_NORM_RMS};
    for (int k = 0; k < 2; k++) {
        attn_norm *usual = attn_norm_create(set, k ? "rms" : "layer", kinds[k], COLUMNS);
        attn_norm *bert = attn_norm_create_epsilon(set, k ? "rms.bert" : "bert", kinds[k], COLUMNS, 1e-12f);
        assert_float_equal(size_of(tape, attn_norm_apply(tape, usual, x)), 1e-5 / sqrt(1e-5 + 1e-10), 1e-7);
        assert_float_equal(size_of(tape, attn_norm_apply(tape, bert, x)), 1.0 / sqrt(1.0 + 0.01), 1e-5);
    }
    /* with an enormous one what comes out of a norm is nearly 0 */
    x = attn_tape_input(tape, rows, ROWS, COLUMNS, 0);
    attn_places places;
    attn_places_init(&places);
    places.batch = batch;
    for (int large = 0; large < 2; large++) {
        float epsilon = large ? 1e12f : 0.0f;
        attn_block_options b = small_block();
        b.norm_epsilon = epsilon;
        b.residual = 0;
        b.inner = 0;
        attn_block *before = attn_block_create(set, large ? "before.large" : "before", &b);
        attn_decoder_options d;
        attn_decoder_options_init(&d);
        d.columns = COLUMNS;
        d.source_columns = 0;
        d.norm_epsilon = epsilon;
        attn_decoder *decoder = attn_decoder_create(set, large ? "decoder.large" : "decoder", &d);
        attn_variable *y[4] = {attn_block_apply(tape, before, x, &places),
                               attn_decoder_apply(tape, decoder, x, &places)};
        for (int norm_first = 0; norm_first < 2; norm_first++) {
            attn_encoder_options e;
            attn_encoder_options_init(&e);
            e.columns = COLUMNS;
            e.block.norm_epsilon = epsilon;
            e.block.norm_first = norm_first;
            static const char *const encoders[] = {"e.post", "e.pre", "e.post.large", "e.pre.large"};
            attn_encoder *encoder = attn_encoder_create(set, encoders[2 * large + norm_first], &e);
            y[2 + norm_first] = attn_encoder_apply(tape, encoder, x, &places);
        }
        for (int i = 0; i < 4; i++) {
            assert_true(large ? size_of(tape, y[i]) < 1e-4 : size_of(tape, y[i]) > 0.05);
        }
    }
    assert_null(attn_norm_create_epsilon(set, "negative", ATTN_NORM_LAYER, COLUMNS, -1.0f));
    assert_non_null(strstr(attn_parameters_error(set), "epsilon is -1"));
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_transformer_block), cmocka_unit_test(test_forms),
                                       cmocka_unit_test(test_decoder_block),
                                       cmocka_unit_test(test_norm_epsilon)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
