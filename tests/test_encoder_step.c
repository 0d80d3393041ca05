/* test_encoder_step.c: an encoder that takes a sequence row by row equals one that sees it at once.
 *
 *   - every mixer with every position, reach, form of heads, score and weighting; mixes of mixers
 *   - whatever the pieces: a prompt of every length and then single rows, random pieces, all at once
 *   - a state that is cleared is as good as new
 *   - 1, 2 and 7 threads, bit by bit
 *   - what looks ahead is refused by name; so are rows that there is no room for
 *   - steps allocate nothing; without memory they fail, and continue once cleared
 *
 * How far the two may lie apart: FACTOR times what the whole sequence's result moves by when every number of
 * the input is moved by one unit in the last place of f32, plus as many roundings of the largest number.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/random.h"

enum { ROWS = 13, COLUMNS = 16, LONGEST = 20, FACTOR = 16 };

typedef struct network {
    attn_parameters *parameters;
    attn_tape *tape;
    attn_encoder *encoder;
    attn_encoder_state *state;
    int64_t in, out;
    float *rows, *whole; /* ROWS x in, ROWS x out */
} network;

/* ---- the whole sequence at once ---- */

static void apply(const network *n, const float *rows, float *result) {
    static const int64_t offsets[2] = {0, ROWS};
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){1, offsets};
    attn_tape_begin(n->tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *y =
        attn_encoder_apply(n->tape, n->encoder, attn_tape_input(n->tape, rows, ROWS, n->in, 0), &places);
    if (!y) fail_msg("%s", attn_tape_error(n->tape));
    memcpy(result, attn_variable_data(y), (size_t)(ROWS * n->out) * sizeof(float));
}

static double tolerance_of(const network *n) {
    test_random random = {3};
    float *moved = malloc((size_t)(ROWS * n->in) * sizeof *moved);
    float *result = malloc((size_t)(ROWS * n->out) * sizeof *result);
    assert_true(moved && result);
    for (int64_t i = 0; i < ROWS * n->in; i++) {
        moved[i] = nextafterf(n->rows[i], random_chance(&random, 50) ? HUGE_VALF : -HUGE_VALF);
    }
    apply(n, moved, result);
    double far = 0.0, largest = 0.0;
    for (int64_t i = 0; i < ROWS * n->out; i++) {
        assert_true(isfinite(n->whole[i]));
        far = fmax(far, fabs((double)result[i] - n->whole[i]));
        largest = fmax(largest, fabs((double)n->whole[i]));
    }
    free(moved);
    free(result);
    double tolerance = FACTOR * (far + ldexp(largest, -24));
    assert_true(largest > 0.0 && tolerance < 1e-3 * largest); /* else nothing would be compared */
    return tolerance;
}

static network network_create(attn_context *context, const attn_encoder_options *o) {
    network n = {.in = o->input_columns ? o->input_columns : o->columns};
    assert_int_equal(attn_parameters_create(context, 5, &n.parameters), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &n.tape), ATTN_OK);
    n.encoder = attn_encoder_create(n.parameters, "encoder", o);
    if (!n.encoder) fail_msg("%s", attn_parameters_error(n.parameters));
    n.out = attn_encoder_columns(n.encoder);
    test_random random = {17};
    for (int64_t p = 0; p < attn_parameters_count(n.parameters); p++) { /* nothing stays at 0 */
        attn_parameter *parameter = attn_parameters_at(n.parameters, p);
        attn_tensor value = attn_parameter_value(parameter);
        int64_t count = 1;
        for (int r = 0; r < value.rank; r++) count *= value.shape[r];
        for (int64_t i = 0; i < count; i++) ((float *)value.data)[i] += 0.2f * random_unit(&random);
        attn_parameter_changed(parameter);
    }
    n.rows = malloc((size_t)(ROWS * n.in) * sizeof *n.rows);
    n.whole = malloc((size_t)(ROWS * n.out) * sizeof *n.whole);
    assert_true(n.rows && n.whole);
    for (int64_t i = 0; i < ROWS * n.in; i++) n.rows[i] = random_normal(&random);
    apply(&n, n.rows, n.whole);
    if (attn_encoder_state_create(context, n.encoder, ROWS, &n.state) != ATTN_OK) {
        fail_msg("%s", attn_context_error(context));
    }
    return n;
}

static void network_destroy(network *n) {
    attn_encoder_state_destroy(n->state);
    attn_tape_destroy(n->tape);
    attn_parameters_destroy(n->parameters);
    free(n->rows);
    free(n->whole);
}

/* ---- the same in pieces ---- */

static attn_variable *step(const network *n, int64_t first, int64_t count) {
    attn_tape_begin(n->tape, ATTN_TAPE_PREDICT, 0);
    return attn_encoder_step(n->tape, n->encoder, n->state,
                             attn_tape_input(n->tape, n->rows + first * n->in, count, n->in, 0));
}

/* Clears the state and takes all rows: the first piece has `prompt` rows, the others one, or random numbers
 * of them with a generator. */
static void run(const char *name, const network *n, int64_t prompt, test_random *random, float *result) {
    attn_encoder_state_clear(n->state);
    for (int64_t i = 0, count = prompt; i < ROWS; i += count, count = 1) {
        if (random && i > 0) count = random_between(random, 1, ROWS - i);
        assert_int_equal(attn_encoder_state_rows(n->state), i);
        attn_variable *y = step(n, i, count);
        if (!y) fail_msg("%s: %s", name, attn_tape_error(n->tape));
        assert_int_equal(attn_variable_rows(y), count);
        assert_int_equal(attn_variable_columns(y), n->out);
        memcpy(result + i * n->out, attn_variable_data(y), (size_t)(count * n->out) * sizeof(float));
        if (i + count == ROWS) return;
    }
}

static void compare(const char *name, const network *n, int64_t prompt, const float *result,
                    double tolerance) {
    for (int64_t i = 0; i < ROWS * n->out; i++) {
        if (!(fabs((double)result[i] - n->whole[i]) <= tolerance)) {
            fail_msg("%s, prompt %d: row %d, column %d is %.9g, %.9g +- %.3g is expected", name, (int)prompt,
                     (int)(i / n->out), (int)(i % n->out), (double)result[i], (double)n->whole[i], tolerance);
        }
    }
}

static void check_on(attn_context *context, const char *name, const attn_encoder_options *o) {
    network n = network_create(context, o);
    float *result = malloc((size_t)(ROWS * n.out) * sizeof *result);
    assert_non_null(result);
    double tolerance = tolerance_of(&n);
    for (int64_t prompt = 1; prompt <= ROWS; prompt++) {
        run(name, &n, prompt, NULL, result);
        compare(name, &n, prompt, result, tolerance);
    }
    test_random random = {(uint64_t)o->columns};
    for (int times = 0; times < 4; times++) {
        run(name, &n, 1 + times, &random, result);
        compare(name, &n, 1 + times, result, tolerance);
    }
    free(result);
    network_destroy(&n);
}

static void check(const char *name, const attn_encoder_options *o) {
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        if (test_context(isa, 1)) check_on(test_context(isa, 1), name, o);
    }
}

static attn_encoder_options small_encoder(attn_mixer_kind kind) {
    attn_encoder_options o;
    attn_encoder_options_init(&o);
    o.columns = COLUMNS;
    o.longest = LONGEST;
    o.block.inner = 24;
    o.block.mixer.kind = kind;
    o.block.mixer.causal = 1;
    o.block.mixer.attention.farthest = 8;
    return o;
}

static const char *const mixer_names[] = {"attention", "rnn", "cnn", "fc", "mean"};
static const char *const position_names[] = {"none",   "sinusoidal", "learned", "one-hot",
                                             "rotary", "alibi",      "relative"};

static void test_positions(void **state) {
    (void)state;
    for (int kind = ATTN_MIXER_ATTENTION; kind <= ATTN_MIXER_MEAN; kind++) {
        for (int position = ATTN_POSITION_NONE; position <= ATTN_POSITION_RELATIVE; position++) {
            char name[64];
            snprintf(name, sizeof name, "%s, %s", mixer_names[kind], position_names[position]);
            attn_encoder_options o = small_encoder((attn_mixer_kind)kind);
            o.position = (attn_position)position;
            check(name, &o);
        }
    }
}

/* All that the operator combines. */
static void test_attention(void **state) {
    (void)state;
    static const char *const scores[] = {"dot", "additive", "gat", "gatv2", "fixed"};
    static const char *const forms[] = {"standard", "narrow", "wide", "raw", "shared"};
    static const attn_position positions[] = {ATTN_POSITION_NONE, ATTN_POSITION_ROTARY, ATTN_POSITION_ALIBI,
                                              ATTN_POSITION_RELATIVE};
    for (int score = ATTN_SCORE_DOT; score <= ATTN_SCORE_NONE; score++) {
        for (int form = ATTN_HEADS_STANDARD; form <= ATTN_HEADS_SHARED; form++) {
            for (int p = 0; p < 4; p++) {
                for (int64_t left = -1; left <= 3; left += 4) {
                    char name[96];
                    snprintf(name, sizeof name, "%s, %s, %s, left %d", scores[score], forms[form],
                             position_names[positions[p]], (int)left);
                    attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
                    o.position = positions[p];
                    o.block.mixer.attention.score = (attn_score)score;
                    o.block.mixer.attention.form = (attn_heads_form)form;
                    o.block.mixer.attention.left = left;
                    check(name, &o);
                }
            }
        }
    }
}

static void test_attention_options(void **state) {
    (void)state;
    for (int weighting = ATTN_WEIGHTS_SOFTMAX; weighting <= ATTN_WEIGHTS_RAW; weighting++) {
        for (int score = ATTN_SCORE_DOT; score <= ATTN_SCORE_NONE; score++) {
            for (int average = 0; average < 2; average++) {
                attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
                o.block.mixer.attention.weighting = (attn_weighting)weighting;
                o.block.mixer.attention.score = (attn_score)score;
                o.block.mixer.attention.average = average;
                check("weighting", &o);
            }
        }
    }
    for (int64_t kv_heads = 1; kv_heads <= 2; kv_heads++) {
        for (int score = ATTN_SCORE_DOT; score < ATTN_SCORE_NONE; score++) {
            attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
            o.position = ATTN_POSITION_ROTARY;
            o.block.mixer.attention.score = (attn_score)score;
            o.block.mixer.attention.kv_heads = kv_heads;
            o.block.mixer.attention.head_width = 6;
            check("grouped heads", &o);
        }
    }
    attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
    o.block.mixer.attention.softcap = 2.0f;
    o.block.mixer.attention.scale = 1.0f;
    o.block.mixer.attention.with_bias = 0;
    o.block.mixer.attention.dropout = 0.3f; /* predicting does not drop */
    o.dropout = 0.3f;
    check("softcap", &o);
    o = small_encoder(ATTN_MIXER_ATTENTION);
    o.block.mixer.causal = 0;
    o.block.mixer.attention.right = 0;
    o.block.mixer.attention.left = 0;
    check("each row sees itself", &o);
    o = small_encoder(ATTN_MIXER_ATTENTION);
    o.position = ATTN_POSITION_RELATIVE;
    o.block.mixer.attention.buckets = 0;
    o.block.mixer.attention.farthest = 3;
    check("relative without buckets", &o);
}

static void test_others(void **state) {
    (void)state;
    for (int recurrence = ATTN_RNN_TANH; recurrence <= ATTN_RNN_LSTM; recurrence++) {
        attn_encoder_options o = small_encoder(ATTN_MIXER_RNN);
        o.block.mixer.recurrence = (attn_recurrence)recurrence;
        check("rnn", &o);
        o.block.mixer.hidden = 9;
        o.block.residual = 0;
        check("rnn of its own width", &o);
        o.block.mixer.causal = 0;
        o.block.mixer.directions = 1;
        check("rnn of one direction", &o);
    }
    for (int kind = ATTN_MIXER_CNN; kind <= ATTN_MIXER_FC; kind++) {
        for (int64_t width = 1; width <= 4; width++) {
            for (int64_t dilation = 1; dilation <= 8; dilation++) { /* past the sequence's end, too */
                attn_encoder_options o = small_encoder((attn_mixer_kind)kind);
                o.block.mixer.width = width;
                o.block.mixer.dilation = dilation;
                check(mixer_names[kind], &o);
            }
        }
        attn_encoder_options o = small_encoder((attn_mixer_kind)kind);
        o.block.mixer.causal = 0;
        o.block.mixer.width = 2; /* a row and the one before */
        o.block.mixer.activation = ATTN_TANH;
        check("not causal by name", &o);
    }
}

static void test_blocks_and_mixes(void **state) {
    (void)state;
    static const attn_mixer_kind kinds[] = {ATTN_MIXER_CNN, ATTN_MIXER_ATTENTION, ATTN_MIXER_RNN,
                                            ATTN_MIXER_FC};
    for (int position = ATTN_POSITION_NONE; position <= ATTN_POSITION_RELATIVE; position++) {
        attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
        o.position = (attn_position)position;
        o.layers = 4;
        o.kinds = kinds;
        o.input_columns = 7;
        check("a mix", &o);
    }
    for (int norm_first = 0; norm_first < 2; norm_first++) {
        for (int kind = ATTN_MIXER_ATTENTION; kind <= ATTN_MIXER_MEAN; kind++) {
            attn_encoder_options o = small_encoder((attn_mixer_kind)kind);
            o.block.norm_first = norm_first;
            o.block.norm = ATTN_NORM_RMS;
            o.block.gated = 1;
            check("gated", &o);
            o.block.inner = 0;
            o.final_norm = 0;
            o.layers = 1;
            check("without feed-forward", &o);
        }
    }
    attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
    o.layers = 0;
    o.input_columns = 5;
    check("no layers", &o);
    for (int jump = ATTN_JUMP_NONE; jump <= ATTN_JUMP_MEAN; jump++) {
        o = small_encoder(ATTN_MIXER_MEAN);
        o.jump = (attn_jump)jump;
        o.initial = 0.25f;
        o.block.mixed_activation = ATTN_ELU;
        check("jump, initial, activation", &o);
    }
}

/* ---- a mixer alone ---- */

enum { BESIDE = 3 }; /* columns that are cut off: what comes in may be a slice */

typedef struct mixer_case {
    attn_parameters *parameters;
    attn_tape *tape;
    attn_mixer *mixer;
    attn_mixer_state *state;
    float rows[ROWS * (COLUMNS + BESIDE)];
} mixer_case;

static attn_variable *rows_of(mixer_case *c, int64_t first, int64_t count) {
    int64_t wide = COLUMNS + BESIDE;
    attn_tape_begin(c->tape, ATTN_TAPE_PREDICT, 0);
    return attn_tape_slice(c->tape, attn_tape_input(c->tape, c->rows + first * wide, count, wide, 0), 1,
                           COLUMNS);
}

static void check_mixer(const char *name, const attn_mixer_options *o) {
    static const int64_t offsets[] = {0, ROWS};
    attn_context *context = test_best_context(1);
    test_random random = {8};
    mixer_case c;
    float whole[ROWS * COLUMNS];
    assert_int_equal(attn_parameters_create(context, 5, &c.parameters), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &c.tape), ATTN_OK);
    c.mixer = attn_mixer_create(c.parameters, "mixer", o);
    assert_non_null(c.mixer);
    assert_int_equal(attn_mixer_state_create(context, c.mixer, ROWS, &c.state), ATTN_OK);
    for (int i = 0; i < ROWS * (COLUMNS + BESIDE); i++) c.rows[i] = random_unit(&random);
    attn_places places;
    attn_places_init(&places);
    places.batch = (attn_ragged){1, offsets};
    attn_variable *y = attn_mixer_apply(c.tape, c.mixer, rows_of(&c, 0, ROWS), &places);
    assert_non_null(y);
    for (int i = 0; i < ROWS; i++) {
        memcpy(whole + i * COLUMNS, attn_variable_data(y) + i * attn_variable_stride(y),
               COLUMNS * sizeof(float));
    }
    for (int again = 0; again < 2; again++) {
        attn_mixer_state_clear(c.state);
        for (int64_t i = 0, count = 4; i < ROWS; i += count, count = 3) {
            y = attn_mixer_step(c.tape, c.mixer, c.state, rows_of(&c, i, count));
            if (!y) fail_msg("%s: %s", name, attn_tape_error(c.tape));
            for (int64_t e = 0; e < count * COLUMNS; e++) { /* sums of 5 * COLUMNS numbers of about 1 */
                assert_float_equal(attn_variable_data(y)[e], whole[i * COLUMNS + e], 5 * COLUMNS * 1.2e-7);
            }
            assert_int_equal(attn_mixer_state_rows(c.state), i + count);
        }
    }
    assert_null(attn_mixer_step(c.tape, c.mixer, c.state, rows_of(&c, 0, 1)));
    assert_non_null(strstr(attn_tape_error(c.tape), "1 rows after 13 are more than the state has room for"));
    attn_mixer_state_destroy(c.state);
    attn_tape_destroy(c.tape);
    attn_parameters_destroy(c.parameters);
}

static void test_mixer(void **state) {
    (void)state;
    attn_mixer_options o;
    attn_mixer_options_init(&o);
    o.columns = COLUMNS;
    o.causal = 1;
    for (int kind = ATTN_MIXER_ATTENTION; kind <= ATTN_MIXER_MEAN; kind++) {
        o.kind = (attn_mixer_kind)kind;
        check_mixer(mixer_names[kind], &o);
    }
    o.kind = ATTN_MIXER_ATTENTION;
    o.attention.form = ATTN_HEADS_RAW;
    check_mixer("raw", &o);
}

/* ---- threads ---- */

static void test_threads(void **state) {
    (void)state;
    for (int kind = ATTN_MIXER_ATTENTION; kind <= ATTN_MIXER_MEAN; kind++) {
        attn_encoder_options o = small_encoder((attn_mixer_kind)kind);
        o.columns = 128; /* products large enough for several threads */
        o.block.inner = 512;
        static const int threads[] = {1, 2, 7};
        float *result[3];
        for (int t = 0; t < 3; t++) {
            network n = network_create(test_best_context(threads[t]), &o);
            result[t] = malloc((size_t)(ROWS * n.out) * sizeof **result);
            assert_non_null(result[t]);
            run(mixer_names[kind], &n, 5, NULL, result[t]);
            compare(mixer_names[kind], &n, 5, result[t], tolerance_of(&n));
            if (t > 0) assert_memory_equal(result[0], result[t], (size_t)(ROWS * n.out) * sizeof **result);
            network_destroy(&n);
        }
        for (int t = 0; t < 3; t++) free(result[t]);
    }
}

/* ---- what is refused ---- */

static void expect_refusal(const attn_encoder_options *o, const char *text) {
    attn_context *context = test_best_context(1);
    attn_parameters *parameters;
    assert_int_equal(attn_parameters_create(context, 5, &parameters), ATTN_OK);
    attn_encoder *encoder = attn_encoder_create(parameters, "encoder", o);
    attn_encoder_state *kept = NULL;
    assert_non_null(encoder);
    assert_int_equal(attn_encoder_state_create(context, encoder, ROWS, &kept), ATTN_UNSUPPORTED);
    if (!strstr(attn_context_error(context), text)) fail_msg("%s", attn_context_error(context));
    assert_null(kept);
    attn_parameters_destroy(parameters);
}

static void test_looking_ahead_is_refused(void **state) {
    (void)state;
    static const char *const reasons[] = {"block 0: incremental evaluation is impossible",
                                          "its RNN runs in both directions", "its window reaches past a row",
                                          "its window reaches past a row", "its attention sees later rows"};
    for (int kind = ATTN_MIXER_ATTENTION; kind <= ATTN_MIXER_MEAN; kind++) {
        attn_encoder_options o = small_encoder((attn_mixer_kind)kind);
        o.block.mixer.causal = 0;
        expect_refusal(&o, reasons[kind]);
    }
    attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
    o.block.mixer.causal = 0;
    o.block.mixer.attention.right = 1;
    expect_refusal(&o, "its attention sees later rows");
    o = small_encoder(ATTN_MIXER_ATTENTION);
    o.block.mixer.attention.edge_columns = 2;
    expect_refusal(&o, "its attention reads the edges of a graph");
}

static void expect_error(const network *n, attn_variable *y, attn_status status, const char *text) {
    assert_null(y);
    assert_int_equal(attn_tape_status(n->tape), status);
    if (!strstr(attn_tape_error(n->tape), text)) fail_msg("%s", attn_tape_error(n->tape));
}

static void test_errors(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
    network n = network_create(context, &o), other = network_create(context, &o);
    float result[ROWS * COLUMNS];
    run("first", &n, ROWS - 1, NULL, result);
    expect_error(&n, step(&n, 0, 1), ATTN_INVALID_ARGUMENT,
                 "encoder step: 1 rows after 13 are more than the state has room for (13)");
    attn_encoder_state_clear(n.state);
    assert_non_null(step(&n, 0, 3));
    expect_error(&n, step(&n, 0, 11), ATTN_INVALID_ARGUMENT, "11 rows after 3");
    assert_int_equal(attn_encoder_state_rows(n.state), 3); /* and the state continues */
    attn_variable *y = step(&n, 3, 10);
    assert_non_null(y);
    double tolerance = tolerance_of(&n);
    attn_encoder_state_clear(n.state);
    assert_non_null(step(&n, 0, 3));
    y = step(&n, 3, 10);
    for (int i = 0; i < 10 * COLUMNS; i++) {
        assert_float_equal(attn_variable_data(y)[i], n.whole[3 * COLUMNS + i], tolerance);
    }
    attn_encoder_state_clear(n.state);
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *narrow = attn_tape_input(n.tape, n.rows, 2, COLUMNS - 1, 0);
    expect_error(&n, attn_encoder_step(n.tape, n.encoder, n.state, narrow), ATTN_SHAPE_MISMATCH,
                 "x is 2 x 15, at least 1 row of 16 columns is needed");
    expect_error(&n, step(&n, 0, 0), ATTN_SHAPE_MISMATCH, "x is 0 x 16");
    attn_tape_begin(n.tape, ATTN_TAPE_GRADIENT, 0);
    y = attn_tape_input(n.tape, n.rows, 2, COLUMNS, 0);
    expect_error(&n, attn_encoder_step(n.tape, n.encoder, n.state, y), ATTN_INVALID_ARGUMENT,
                 "the tape records");
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    y = attn_tape_input(n.tape, n.rows, 2, COLUMNS, 0);
    expect_error(&n, attn_encoder_step(n.tape, n.encoder, other.state, y), ATTN_INVALID_ARGUMENT,
                 "the state is another's");
    attn_tape_begin(n.tape, ATTN_TAPE_PREDICT, 0);
    expect_error(&n, attn_encoder_step(n.tape, n.encoder, n.state, NULL), ATTN_INVALID_ARGUMENT, "x");
    attn_encoder_state *kept = NULL;
    assert_int_equal(attn_encoder_state_create(NULL, n.encoder, 3, &kept), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_encoder_state_create(context, NULL, 3, &kept), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_encoder_state_create(context, n.encoder, 0, &kept), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_encoder_state_create(context, n.encoder, (int64_t)1 << 40, &kept),
                     ATTN_INVALID_ARGUMENT);
    assert_null(kept);
    attn_encoder_state_destroy(NULL);
    network_destroy(&n);
    network_destroy(&other);
}

/* Positions that there is no code for, and fixed weights that there are none of. */
static void test_too_long(void **state) {
    (void)state;
    attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
    for (int fixed = 0; fixed < 2; fixed++) {
        o.position = fixed ? ATTN_POSITION_NONE : ATTN_POSITION_LEARNED;
        o.block.mixer.attention.score = fixed ? ATTN_SCORE_NONE : ATTN_SCORE_DOT;
        network n = network_create(test_best_context(1), &o);
        attn_encoder_state_destroy(n.state);
        assert_int_equal(attn_encoder_state_create(test_best_context(1), n.encoder, 30, &n.state), ATTN_OK);
        assert_non_null(step(&n, 0, ROWS));
        expect_error(&n, step(&n, 0, ROWS), ATTN_SHAPE_MISMATCH, "larger `longest`");
        if (fixed) expect_error(&n, step(&n, 0, 1), ATTN_INVALID_ARGUMENT, "clear the state first");
        attn_encoder_state_clear(n.state);
        assert_non_null(step(&n, 0, ROWS));
        network_destroy(&n);
    }
}

/* ---- memory ---- */

static void test_memory(void **state) {
    (void)state;
    assert_int_equal(group_setup(NULL), 0);
    static const attn_mixer_kind kinds[] = {ATTN_MIXER_CNN, ATTN_MIXER_ATTENTION, ATTN_MIXER_RNN,
                                            ATTN_MIXER_FC};
    attn_encoder_options o = small_encoder(ATTN_MIXER_ATTENTION);
    o.layers = 4;
    o.kinds = kinds;
    network n = network_create(group_context, &o);
    attn_encoder_state *kept = NULL;
    int64_t live = group_counter.live;
    for (int64_t fail_at = 1;; fail_at++) { /* creating: every allocation fails once */
        group_counter.fail_at = fail_at;
        attn_status status = attn_encoder_state_create(group_context, n.encoder, ROWS, &kept);
        group_counter.fail_at = 0;
        if (status == ATTN_OK) break;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_null(kept);
        assert_int_equal(group_counter.live, live);
    }
    attn_encoder_state_destroy(kept);

    float result[ROWS * COLUMNS];
    run("memory", &n, 6, NULL, result);
    int64_t allocations = group_counter.allocations;
    for (int64_t prompt = 1; prompt <= 6; prompt++) run("memory", &n, prompt, NULL, result);
    assert_int_equal(group_counter.allocations, allocations);

    /* stepping on a tape that has no memory yet */
    attn_tape *first = n.tape;
    for (int64_t fail_at = 1, failed = 1; failed; fail_at++) {
        assert_int_equal(attn_tape_create(group_context, &n.tape), ATTN_OK);
        attn_encoder_state_clear(n.state);
        group_counter.fail_at = fail_at;
        attn_variable *y = step(&n, 0, 6);
        group_counter.fail_at = 0;
        failed = !y;
        if (failed) {
            assert_int_equal(attn_tape_status(n.tape), ATTN_OUT_OF_MEMORY);
            attn_encoder_state_clear(n.state);
            assert_non_null(step(&n, 0, 6));
        }
        attn_tape_destroy(n.tape);
    }
    n.tape = first;
    compare("memory", &n, 6, result, tolerance_of(&n));
    network_destroy(&n);
    assert_int_equal(group_teardown(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_options),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_blocks_and_mixes),
        cmocka_unit_test(test_mixer),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_looking_ahead_is_refused),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
