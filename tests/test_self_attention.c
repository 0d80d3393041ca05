/* test_self_attention.c: facts of self-attention, shown on whole networks.
 *
 *   - without positions an encoder only permutes with its input, with them not
 *   - a window of r sees r rows a layer, a causal layer never ahead: gradients
 *     beyond are exactly 0
 *   - one-hot positions beside the input equal learned ones added to it
 *   - the sinusoidal code of t + b is that of t, rotated by angles of b alone
 *   - decoding with a cache equals decoding without
 *   - grouped queries with equal keys are multi-head attention
 *   - a sequence alone is the same bits as inside a batch, in every encoder
 *   - training ends in the same bits for 1, 2 and 7 threads
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/random.h"

enum { COLUMNS = 16 };

typedef struct network {
    attn_context *context;
    attn_parameters *parameters;
    attn_tape *tape;
} network;

static network network_create(attn_context *context) {
    network n = {.context = context};
    assert_int_equal(attn_parameters_create(context, 11, &n.parameters), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &n.tape), ATTN_OK);
    return n;
}

static void network_destroy(network *n) {
    attn_tape_destroy(n->tape);
    attn_parameters_destroy(n->parameters);
}

static attn_encoder *make_encoder(network *n, const char *name, const attn_encoder_options *options) {
    attn_encoder *encoder = attn_encoder_create(n->parameters, name, options);
    if (!encoder) fail_msg("%s", attn_parameters_error(n->parameters));
    return encoder;
}

static attn_encoder_options small_encoder(void) {
    attn_encoder_options o;
    attn_encoder_options_init(&o);
    o.columns = COLUMNS;
    o.block.inner = 24;
    return o;
}

static float *random_rows(int64_t rows, uint64_t seed) {
    test_random random = {seed};
    float *x = malloc((size_t)(rows * COLUMNS + 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < rows * COLUMNS; i++) x[i] = random_normal(&random);
    return x;
}

/* The encoder's result for one batch, contiguous; free() it. */
static float *encode(network *n, const attn_encoder *encoder, const float *rows, attn_ragged batch) {
    int64_t count = batch.offsets[batch.sequences];
    attn_places places;
    attn_places_init(&places);
    places.batch = batch;
    attn_tape_begin(n->tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *y =
        attn_encoder_apply(n->tape, encoder, attn_tape_input(n->tape, rows, count, COLUMNS, 0), &places);
    if (!y) fail_msg("%s", attn_tape_error(n->tape));
    float *copy = malloc((size_t)(count * attn_variable_columns(y) + 1) * sizeof *copy);
    assert_non_null(copy);
    for (int64_t i = 0; i < count; i++) {
        memcpy(copy + i * attn_variable_columns(y), attn_variable_data(y) + i * attn_variable_stride(y),
               (size_t)attn_variable_columns(y) * sizeof *copy);
    }
    return copy;
}

/* ---- permutations ---- */

static double permuted_difference(attn_position position) {
    enum { ROWS = 9 };
    static const int order[ROWS] = {4, 2, 8, 0, 7, 1, 3, 6, 5};
    static const int64_t offsets[] = {0, ROWS};
    network n = network_create(test_best_context(2));
    attn_encoder_options o = small_encoder();
    o.position = position;
    attn_encoder *encoder = make_encoder(&n, "encoder", &o);
    float *x = random_rows(ROWS, 3), shuffled[ROWS * COLUMNS];
    for (int i = 0; i < ROWS; i++)
        memcpy(shuffled + i * COLUMNS, x + order[i] * COLUMNS, COLUMNS * sizeof *x);
    attn_ragged batch = {1, offsets};
    float *y = encode(&n, encoder, x, batch), *z = encode(&n, encoder, shuffled, batch);
    double worst = 0.0;
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < COLUMNS; c++)
            worst = fmax(worst, fabs((double)z[i * COLUMNS + c] - y[order[i] * COLUMNS + c]));
    free(x);
    free(y);
    free(z);
    network_destroy(&n);
    return worst;
}

static void test_permutations(void **state) {
    (void)state;
    assert_true(permuted_difference(ATTN_POSITION_NONE) < 1e-5);
    static const attn_position kinds[] = {ATTN_POSITION_SINUSOIDAL, ATTN_POSITION_LEARNED,
                                          ATTN_POSITION_ONE_HOT, ATTN_POSITION_ROTARY, ATTN_POSITION_ALIBI};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        assert_true(permuted_difference(kinds[k]) > 1e-3);
}

/* ---- how far a row sees ---- */

/* The gradient at the input of all of row `at` of the result, row by row: whether any number is not 0. */
static void seen_rows(network *n, const attn_encoder *encoder, int64_t rows, int64_t at, int *seen) {
    int64_t offsets[] = {0, rows};
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){1, offsets};
    float *x = random_rows(rows, 17), *weights = calloc((size_t)(rows * COLUMNS), sizeof *weights);
    assert_non_null(weights);
    for (int c = 0; c < COLUMNS; c++) weights[at * COLUMNS + c] = 1.0f + (float)c;
    attn_tape_begin(n->tape, ATTN_TAPE_GRADIENT, 0);
    attn_variable *input = attn_tape_input(n->tape, x, rows, COLUMNS, 1);
    attn_variable *y = attn_encoder_apply(n->tape, encoder, input, &places);
    if (attn_tape_backward(n->tape, y, weights) != ATTN_OK) fail_msg("%s", attn_tape_error(n->tape));
    const float *gradient = attn_variable_gradient(input);
    assert_non_null(gradient);
    for (int64_t i = 0; i < rows; i++) {
        seen[i] = 0;
        for (int c = 0; c < COLUMNS; c++) seen[i] |= gradient[i * COLUMNS + c] != 0.0f;
    }
    free(x);
    free(weights);
}

static void test_reach(void **state) {
    (void)state;
    enum { ROWS = 24, AT = 12 };
    for (int kind = ATTN_MIXER_ATTENTION; kind <= ATTN_MIXER_MEAN; kind++) {
        for (int causal = 0; causal < 2; causal++) {
            network n = network_create(test_best_context(2));
            attn_encoder_options o = small_encoder();
            o.layers = 3;
            o.block.mixer.kind = (attn_mixer_kind)kind;
            o.block.mixer.causal = causal;
            o.block.mixer.attention.left = 2;
            o.block.mixer.attention.right = 2;
            o.block.mixer.width = causal ? 3 : 5; /* two rows to each side, or two before */
            o.block.mixer.activation = ATTN_TANH; /* so that nothing in reach is 0 */
            attn_encoder *encoder = make_encoder(&n, "encoder", &o);
            int seen[ROWS];
            seen_rows(&n, encoder, ROWS, AT, seen);
            for (int i = 0; i < ROWS; i++) {
                int expected = kind == ATTN_MIXER_RNN ? 1 : i >= AT - 6 && i <= AT + 6;
                if (causal && i > AT) expected = 0;
                if (seen[i] != expected) {
                    fail_msg("mixer %d, causal %d: row %d %s row %d", kind, causal, AT,
                             seen[i] ? "sees" : "does not see", i);
                }
            }
            network_destroy(&n);
        }
    }
}

/* ---- positions ---- */

static void test_one_hot_equals_learned(void **state) {
    (void)state;
    enum { ROWS = 7, LONGEST = 10 };
    static const int64_t offsets[] = {0, 3, ROWS};
    network n = network_create(test_best_context(1));
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){2, offsets};
    /* W [x; e_t] + b = W_x x + b + (column t of W_e): so the columns of W_e are the learned codes */
    int64_t wide[2] = {COLUMNS, COLUMNS + LONGEST}, narrow[2] = {COLUMNS, COLUMNS};
    attn_parameter *both = attn_parameters_add(n.parameters, "both", 2, wide, NULL);
    attn_parameter *only = attn_parameters_add(n.parameters, "only", 2, narrow, NULL);
    attn_positions *one_hot =
        attn_positions_create(n.parameters, "one_hot", ATTN_POSITION_ONE_HOT, COLUMNS, LONGEST);
    attn_positions *learned =
        attn_positions_create(n.parameters, "learned", ATTN_POSITION_LEARNED, COLUMNS, LONGEST);
    attn_parameter *table = attn_parameters_find(n.parameters, "learned.table");
    assert_non_null(table);
    float *w = attn_parameter_value(both).data, *u = attn_parameter_value(only).data,
          *codes = attn_parameter_value(table).data;
    for (int o = 0; o < COLUMNS; o++) {
        for (int c = 0; c < COLUMNS; c++) u[o * COLUMNS + c] = w[o * (COLUMNS + LONGEST) + c];
        for (int t = 0; t < LONGEST; t++) codes[t * COLUMNS + o] = w[o * (COLUMNS + LONGEST) + COLUMNS + t];
    }
    float *rows = random_rows(ROWS, 5);
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = attn_tape_input(n.tape, rows, ROWS, COLUMNS, 0);
    attn_variable *a = attn_tape_linear(n.tape, attn_positions_apply(n.tape, one_hot, x, &places), both, NULL,
                                        ATTN_IDENTITY);
    attn_variable *b = attn_positions_apply(n.tape, learned,
                                            attn_tape_linear(n.tape, x, only, NULL, ATTN_IDENTITY), &places);
    if (!a || !b) fail_msg("%s", attn_tape_error(n.tape));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        assert_float_equal(attn_variable_data(a)[i], attn_variable_data(b)[i], 1e-5);
    }
    free(rows);
    network_destroy(&n);
}

static void test_sinusoids_rotate(void **state) {
    (void)state;
    enum { ROWS = 700 }; /* past the table that is computed ahead */
    int64_t offsets[] = {0, ROWS};
    network n = network_create(test_best_context(1));
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){1, offsets};
    attn_positions *layer =
        attn_positions_create(n.parameters, "position", ATTN_POSITION_SINUSOIDAL, COLUMNS, 0);
    float *zeros = calloc(ROWS * COLUMNS, sizeof *zeros);
    assert_non_null(zeros);
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *y =
        attn_positions_apply(n.tape, layer, attn_tape_input(n.tape, zeros, ROWS, COLUMNS, 0), &places);
    assert_non_null(y);
    const float *code = attn_variable_data(y);
    static const int shifts[] = {1, 5, 100};
    for (int s = 0; s < 3; s++) {
        for (int c = 0; c < COLUMNS; c += 2) {
            double angle = shifts[s] * pow(10000.0, -(double)c / COLUMNS);
            for (int t = 0; t + shifts[s] < ROWS; t += 13) {
                const float *now = code + t * COLUMNS + c, *later = code + (t + shifts[s]) * COLUMNS + c;
                assert_float_equal(later[0], now[0] * cos(angle) + now[1] * sin(angle), 1e-6);
                assert_float_equal(later[1], now[1] * cos(angle) - now[0] * sin(angle), 1e-6);
            }
        }
    }
    free(zeros);
    network_destroy(&n);
}

static void test_too_long(void **state) {
    (void)state;
    int64_t offsets[] = {0, 6};
    network n = network_create(test_best_context(1));
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){1, offsets};
    attn_positions *layer =
        attn_positions_create(n.parameters, "position", ATTN_POSITION_LEARNED, COLUMNS, 5);
    float *x = random_rows(6, 1);
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    assert_null(attn_positions_apply(n.tape, layer, attn_tape_input(n.tape, x, 6, COLUMNS, 0), &places));
    assert_non_null(strstr(attn_tape_error(n.tape), "row 5 stands at position 5, there are 5"));
    free(x);
    network_destroy(&n);
}

/* ---- the cache ---- */

static void check_cache(attn_position position, int norm_first, int64_t kv_heads, int with_source) {
    enum { SEQUENCES = 3, STEPS = 6, SOURCE = 9 };
    static const int64_t source_offsets[] = {0, 4, 5, SOURCE};
    network n = network_create(test_best_context(2));
    attn_decoder_options o;
    attn_decoder_options_init(&o);
    o.columns = COLUMNS;
    o.source_columns = with_source ? COLUMNS : 0;
    o.kv_heads = kv_heads;
    o.inner = 24;
    o.position = position;
    o.norm_first = norm_first;
    attn_decoder *decoder = attn_decoder_create(n.parameters, "decoder", &o);
    if (!decoder) fail_msg("%s", attn_parameters_error(n.parameters));
    for (int64_t p = 0; p < attn_parameters_count(n.parameters); p++) { /* relative biases start at 0 */
        attn_tensor value = attn_parameter_value(attn_parameters_at(n.parameters, p));
        if (value.rank == 2 && value.shape[0] == 4 && value.shape[1] == 32) {
            for (int i = 0; i < 4 * 32; i++) ((float *)value.data)[i] = 0.1f * (float)(i % 7);
        }
    }
    float *rows = random_rows(SEQUENCES * STEPS, 4), *source = random_rows(SOURCE, 6);
    float whole[SEQUENCES * STEPS * COLUMNS];
    int64_t offsets[SEQUENCES + 1];
    for (int b = 0; b <= SEQUENCES; b++) offsets[b] = b * STEPS;
    attn_ragged batch = {SEQUENCES, offsets}, source_batch = {SEQUENCES, source_offsets};
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    attn_places places;
    attn_places_init(&places);
    places.batch = batch;
    places.source_batch = source_batch;
    if (with_source) places.source = attn_tape_input(n.tape, source, SOURCE, COLUMNS, 0);
    attn_variable *y = attn_decoder_apply(
        n.tape, decoder, attn_tape_input(n.tape, rows, SEQUENCES * STEPS, COLUMNS, 0), &places);
    if (!y) fail_msg("%s", attn_tape_error(n.tape));
    memcpy(whole, attn_variable_data(y), sizeof whole);

    /* twice: the second time with the sequences doubled as beams and put back on the way */
    attn_cache *cache;
    assert_int_equal(attn_cache_create(decoder, 2 * SEQUENCES, STEPS, &cache), ATTN_OK);
    for (int beams = 0; beams < 2; beams++) {
        attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *x = with_source ? attn_tape_input(n.tape, source, SOURCE, COLUMNS, 0) : NULL;
        assert_int_equal(attn_cache_begin(n.tape, cache, SEQUENCES, x, &source_batch), ATTN_OK);
        for (int t = 0; t < STEPS; t++) {
            float step[2 * SEQUENCES * COLUMNS];
            int doubled = beams && (t == 2 || t == 3), count = doubled ? 2 * SEQUENCES : SEQUENCES;
            static const int64_t twice[] = {0, 0, 1, 1, 2, 2}, once[] = {1, 2, 5};
            if (beams && t == 2) assert_int_equal(attn_cache_reorder(cache, 2 * SEQUENCES, twice), ATTN_OK);
            if (beams && t == 4) assert_int_equal(attn_cache_reorder(cache, SEQUENCES, once), ATTN_OK);
            for (int b = 0; b < count; b++) {
                int sequence = doubled ? b / 2 : b;
                memcpy(step + b * COLUMNS, rows + (sequence * STEPS + t) * COLUMNS, COLUMNS * sizeof *step);
            }
            attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
            float weights[2 * SEQUENCES * 4 * 4];
            y = attn_decoder_step(n.tape, decoder, cache, attn_tape_input(n.tape, step, count, COLUMNS, 0),
                                  with_source ? weights : NULL);
            if (!y) fail_msg("%s", attn_tape_error(n.tape));
            for (int b = 0; b < count; b++) {
                int sequence = doubled ? b / 2 : b;
                for (int c = 0; c < COLUMNS; c++) {
                    assert_float_equal(attn_variable_data(y)[b * COLUMNS + c],
                                       whole[(sequence * STEPS + t) * COLUMNS + c], 2e-5);
                }
                for (int h = 0; with_source && h < 4; h++) {
                    float sum = 0.0f;
                    for (int j = 0; j < 4; j++) sum += weights[(b * 4 + h) * 4 + j];
                    assert_float_equal(sum, 1.0f, 1e-5);
                }
            }
        }
        assert_int_equal(attn_cache_length(cache), STEPS);
    }
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    assert_null(attn_decoder_step(n.tape, decoder, cache,
                                  attn_tape_input(n.tape, rows, SEQUENCES, COLUMNS, 0), NULL));
    assert_non_null(strstr(attn_tape_error(n.tape), "the cache is full"));
    attn_cache_destroy(cache);
    free(rows);
    free(source);
    network_destroy(&n);
}

static void test_cache(void **state) {
    (void)state;
    static const attn_position kinds[] = {ATTN_POSITION_NONE,    ATTN_POSITION_SINUSOIDAL,
                                          ATTN_POSITION_LEARNED, ATTN_POSITION_ROTARY,
                                          ATTN_POSITION_ALIBI,   ATTN_POSITION_RELATIVE};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        check_cache(kinds[k], 1, 4, 1);
        check_cache(kinds[k], 0, 2, 0);
    }
    check_cache(ATTN_POSITION_SINUSOIDAL, 0, 4, 1);
    check_cache(ATTN_POSITION_ROTARY, 1, 1, 1);
}

/* ---- grouped queries ---- */

static void test_grouped_queries(void **state) {
    (void)state;
    enum { ROWS = 11, WIDTH = COLUMNS / 4 };
    static const int64_t offsets[] = {0, 5, ROWS};
    network n = network_create(test_best_context(2));
    attn_multihead_options o;
    attn_multihead_options_init(&o);
    o.columns = COLUMNS;
    attn_multihead *full = attn_multihead_create(n.parameters, "full", &o);
    o.kv_heads = 2;
    attn_multihead *grouped = attn_multihead_create(n.parameters, "grouped", &o);
    assert_int_equal(attn_parameters_status(n.parameters), ATTN_OK);
    static const char *const parts[] = {"input.weight", "input.bias", "output.weight", "output.bias"};
    for (int p = 0; p < 4;
         p++) { /* copy heads 0, 1 of the grouped keys and values to pairs of the full ones */
        char name[2][64];
        snprintf(name[0], 64, "full.%s", parts[p]);
        snprintf(name[1], 64, "grouped.%s", parts[p]);
        attn_tensor to = attn_parameter_value(attn_parameters_find(n.parameters, name[0]));
        attn_tensor from = attn_parameter_value(attn_parameters_find(n.parameters, name[1]));
        int64_t line = to.rank == 2 ? to.shape[1] : 1;
        for (int64_t row = 0; row < to.shape[0]; row++) {
            int64_t source = row;
            if (p < 2 && row >= COLUMNS) { /* a key or value row of the full layer */
                int64_t part = (row - COLUMNS) / COLUMNS, head = (row - COLUMNS) % COLUMNS / WIDTH;
                source = COLUMNS + part * 2 * WIDTH + head / 2 * WIDTH + row % WIDTH;
            }
            memcpy((float *)to.data + row * line, (float *)from.data + source * line,
                   (size_t)line * sizeof(float));
        }
    }
    float *x = random_rows(ROWS, 21);
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){2, offsets};
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *input = attn_tape_input(n.tape, x, ROWS, COLUMNS, 0);
    attn_variable *a = attn_multihead_apply(n.tape, full, input, &places);
    attn_variable *b = attn_multihead_apply(n.tape, grouped, input, &places);
    if (!a || !b) fail_msg("%s", attn_tape_error(n.tape));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        assert_float_equal(attn_variable_data(a)[i], attn_variable_data(b)[i], 1e-6);
    }
    free(x);
    network_destroy(&n);
}

/* ---- raw and fixed attention ---- */

static void test_raw_and_fixed(void **state) {
    (void)state;
    enum { ROWS = 5 };
    static const int64_t offsets[] = {0, ROWS};
    network n = network_create(test_best_context(1));
    attn_multihead_options o;
    attn_multihead_options_init(&o);
    o.columns = COLUMNS;
    o.heads = 1;
    o.form = ATTN_HEADS_RAW;
    o.scale = 1.0f;
    attn_multihead *raw = attn_multihead_create(n.parameters, "raw", &o);
    assert_int_equal(attn_parameters_count(n.parameters), 0); /* nothing is learned */
    attn_multihead_options_init(&o);
    o.columns = COLUMNS;
    o.score = ATTN_SCORE_NONE;
    o.longest = ROWS;
    attn_multihead *fixed = attn_multihead_create(n.parameters, "fixed", &o);
    float *x = random_rows(ROWS, 2);
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){1, offsets};
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *input = attn_tape_input(n.tape, x, ROWS, COLUMNS, 0);
    attn_variable *y = attn_multihead_apply(n.tape, raw, input, &places);
    if (!y) fail_msg("%s", attn_tape_error(n.tape));
    for (int i = 0; i < ROWS; i++) {
        double score[ROWS], sum = 0.0, maximum = -INFINITY;
        for (int j = 0; j < ROWS; j++) {
            score[j] = 0.0;
            for (int c = 0; c < COLUMNS; c++) score[j] += (double)x[i * COLUMNS + c] * x[j * COLUMNS + c];
            maximum = fmax(maximum, score[j]);
        }
        for (int j = 0; j < ROWS; j++) sum += exp(score[j] - maximum);
        for (int c = 0; c < COLUMNS; c++) {
            double expected = 0.0;
            for (int j = 0; j < ROWS; j++) expected += exp(score[j] - maximum) / sum * x[j * COLUMNS + c];
            assert_float_equal(attn_variable_data(y)[i * COLUMNS + c], expected, 1e-4);
        }
    }
    /* fixed weights start equal: every row is the mean of the values */
    y = attn_multihead_apply(n.tape, fixed, input, &places);
    if (!y) fail_msg("%s", attn_tape_error(n.tape));
    for (int i = 1; i < ROWS; i++)
        for (int c = 0; c < COLUMNS; c++)
            assert_float_equal(attn_variable_data(y)[i * COLUMNS + c], attn_variable_data(y)[c], 1e-6);
    free(x);
    network_destroy(&n);
}

/* ---- alone or in a batch, and threads ---- */

static void test_alone_or_in_a_batch(void **state) {
    (void)state;
    static const int64_t offsets[] = {0, 7, 7, 8, 21, 40, 43, 100};
    enum { SEQUENCES = 7, ROWS = 100 };
    float *x = random_rows(ROWS, 33);
    for (int kind = ATTN_MIXER_ATTENTION; kind <= ATTN_MIXER_MEAN; kind++) {
        for (int isa = 0; isa < TEST_ISAS; isa++) {
            attn_context *context = test_context(isa, 2);
            if (!context) continue;
            network n = network_create(context);
            attn_encoder_options o = small_encoder();
            o.block.mixer.kind = (attn_mixer_kind)kind;
            attn_encoder *encoder = make_encoder(&n, "encoder", &o);
            attn_ragged all = {SEQUENCES, offsets};
            float *together = encode(&n, encoder, x, all);
            for (int b = 0; b < SEQUENCES; b++) {
                int64_t rows = offsets[b + 1] - offsets[b], own[] = {0, rows};
                attn_ragged one = {1, own};
                float *alone = encode(&n, encoder, x + offsets[b] * COLUMNS, one);
                if (rows) {
                    assert_memory_equal(alone, together + offsets[b] * COLUMNS,
                                        (size_t)(rows * COLUMNS) * sizeof *alone);
                }
                free(alone);
            }
            free(together);
            network_destroy(&n);
        }
    }
    free(x);
}

/* 50 steps of a small tagger with dropout; all parameters one after another. */
static float *train(attn_context *context, attn_mixer_kind kind, int64_t *count) {
    enum { STEPS = 50, SEQUENCES = 12, WORDS = 30, TAGS = 5 };
    network n = network_create(context);
    attn_encoder_options o = small_encoder();
    o.block.mixer.kind = kind;
    o.dropout = 0.1f;
    o.block.mixer.attention.dropout = 0.1f;
    attn_embedding *words = attn_embedding_create(n.parameters, "words", WORDS, COLUMNS);
    attn_encoder *encoder = make_encoder(&n, "encoder", &o);
    attn_linear *output = attn_linear_create(n.parameters, "tags", COLUMNS, TAGS, 1, ATTN_IDENTITY);
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.clip_norm = 1.0f;
    attn_optimizer *optimizer;
    assert_int_equal(attn_optimizer_create(n.parameters, &options, &optimizer), ATTN_OK);
    test_random random = {7};
    for (int step = 0; step < STEPS; step++) {
        int64_t offsets[SEQUENCES + 1] = {0};
        int32_t ids[SEQUENCES * 30], tags[SEQUENCES * 30];
        for (int b = 0; b < SEQUENCES; b++) offsets[b + 1] = offsets[b] + random_between(&random, 1, 30);
        int64_t rows = offsets[SEQUENCES];
        for (int64_t i = 0; i < rows; i++) {
            ids[i] = (int32_t)random_between(&random, 0, WORDS - 1);
            tags[i] = ids[i] % TAGS;
        }
        attn_places places;
        attn_places_init(&places);
        places.batch = (attn_ragged){SEQUENCES, offsets};
        attn_tape_begin(n.tape, ATTN_TAPE_TRAIN, (uint64_t)step);
        attn_variable *x = attn_embedding_apply(n.tape, words, ids, rows);
        x = attn_linear_apply(n.tape, output, attn_encoder_apply(n.tape, encoder, x, &places));
        attn_variable *loss = attn_tape_cross_entropy(n.tape, x, tags, NULL);
        if (attn_tape_backward(n.tape, loss, NULL) != ATTN_OK) fail_msg("%s", attn_tape_error(n.tape));
        assert_int_equal(attn_optimizer_step(optimizer), ATTN_OK);
    }
    *count = attn_parameters_size(n.parameters);
    float *all = malloc((size_t)*count * sizeof *all), *next = all;
    assert_non_null(all);
    for (int64_t p = 0; p < attn_parameters_count(n.parameters); p++) {
        attn_tensor value = attn_parameter_value(attn_parameters_at(n.parameters, p));
        int64_t numbers = 1;
        for (int r = 0; r < value.rank; r++) numbers *= value.shape[r];
        memcpy(next, value.data, (size_t)numbers * sizeof *next);
        next += numbers;
    }
    attn_optimizer_destroy(optimizer);
    network_destroy(&n);
    return all;
}

static void test_threads(void **state) {
    (void)state;
    for (int kind = ATTN_MIXER_ATTENTION; kind <= ATTN_MIXER_MEAN; kind++) {
        int64_t count, other;
        float *one = train(test_best_context(1), (attn_mixer_kind)kind, &count);
        for (int64_t i = 0; i < count; i++) assert_true(isfinite(one[i]));
        static const int threads[] = {2, 7};
        for (int t = 0; t < 2; t++) {
            float *more = train(test_best_context(threads[t]), (attn_mixer_kind)kind, &other);
            assert_int_equal(count, other);
            assert_memory_equal(one, more, (size_t)count * sizeof *one);
            free(more);
        }
        free(one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permutations),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_one_hot_equals_learned),
        cmocka_unit_test(test_sinusoids_rotate),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_grouped_queries),
        cmocka_unit_test(test_raw_and_fixed),
        cmocka_unit_test(test_alone_or_in_a_batch),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
