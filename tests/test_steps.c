/* test_steps.c: the steps of one row against plain C, as text and as a page. The explanation is filled by
 * hand, so that every number is known. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "explain/steps.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/predicting.h"
#include "support/training.h"

enum { MOST_ROWS = 80, COLUMNS = 6, HEADS = 2, WIDTH = 3, VALUE_WIDTH = 2, RESULT = 6 };

/* One layer, and all that it computes. */
typedef struct layer {
    attn_explanation explanation;
    attn_map map;
    at_step_numbers numbers;
    int64_t rows;
    float x[MOST_ROWS * COLUMNS], query[MOST_ROWS * HEADS * WIDTH], key[MOST_ROWS * HEADS * WIDTH],
        value[MOST_ROWS * HEADS * VALUE_WIDTH], output[MOST_ROWS * HEADS * VALUE_WIDTH],
        result[MOST_ROWS * RESULT], log_sum_exp[MOST_ROWS * HEADS], weights[HEADS * MOST_ROWS * MOST_ROWS];
    float query_weight[HEADS * WIDTH * COLUMNS], key_weight[HEADS * WIDTH * COLUMNS],
        value_weight[HEADS * VALUE_WIDTH * COLUMNS], output_weight[RESULT * HEADS * VALUE_WIDTH];
    float query_bias[HEADS * WIDTH], output_bias[RESULT];
} layer;

typedef struct form {
    int causal, biased;
    int64_t window; /* 0: no limit; rows at most this far are seen, as a band */
    attn_weighting weighting;
} form;

/* Numbers from -1 to 1 that look like chance and are the same everywhere. */
static void fill(float *numbers, int64_t count, unsigned seed) {
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1103515245u + 12345u;
        numbers[i] = (float)(int)((seed >> 16) % 201u) / 100.0f - 1.0f;
    }
}

/* y = x W^T + b, sums in double. */
static void map_rows(const float *x, int64_t rows, int64_t columns, const float *weight, const float *bias,
                     int64_t out, float *y) {
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t o = 0; o < out; o++) {
            double sum = bias ? (double)bias[o] : 0;
            for (int64_t c = 0; c < columns; c++)
                sum += (double)x[r * columns + c] * (double)weight[o * columns + c];
            y[r * out + o] = (float)sum;
        }
    }
}

static int sees(const form *f, int64_t i, int64_t j) {
    return (!f->causal || j <= i) && (!f->window || llabs(i - j) <= f->window);
}

static double score_of(const layer *l, const form *f, int64_t h, int64_t i, int64_t j) {
    double dot = 0;
    for (int c = 0; c < WIDTH; c++)
        dot += (double)l->query[(i * HEADS + h) * WIDTH + c] * (double)l->key[(j * HEADS + h) * WIDTH + c];
    return l->numbers.scale * dot - (f->biased ? 0.25 * (double)(h + 1) * (double)llabs(i - j) : 0);
}

static void attend(layer *l, const form *f, int64_t h, int64_t i) {
    double total = 0, out[VALUE_WIDTH] = {0};
    for (int64_t j = 0; j < l->rows; j++) total += sees(f, i, j) ? exp(score_of(l, f, h, i, j)) : 0;
    for (int64_t e = 0; e < l->map.width; e++) {
        int64_t j = attn_map_key(&l->map, i, e);
        if (j < 0 || !sees(f, i, j)) continue;
        double score = score_of(l, f, h, i, j), weight = exp(score) / total;
        if (f->weighting == ATTN_WEIGHTS_RELU) weight = score > 0 ? score : 0;
        if (f->weighting == ATTN_WEIGHTS_SIGMOID) weight = 1 / (1 + exp(-score));
        l->weights[attn_map_place(&l->map, h, i, e)] = (float)weight;
        for (int c = 0; c < VALUE_WIDTH; c++)
            out[c] += weight * (double)l->value[(j * HEADS + h) * VALUE_WIDTH + c];
    }
    l->log_sum_exp[i * HEADS + h] = f->weighting == ATTN_WEIGHTS_SOFTMAX ? (float)log(total) : 0;
    for (int c = 0; c < VALUE_WIDTH; c++) l->output[(i * HEADS + h) * VALUE_WIDTH + c] = (float)out[c];
}

static void point_at_numbers(layer *l) {
    l->numbers = (at_step_numbers){.heads = HEADS,
                                   .kv_heads = HEADS,
                                   .width = WIDTH,
                                   .value_width = VALUE_WIDTH,
                                   .queries = l->rows,
                                   .keys = l->rows,
                                   .scale = 1 / sqrt((double)WIDTH),
                                   .query = l->query,
                                   .key = l->key,
                                   .value = l->value,
                                   .output = l->output,
                                   .log_sum_exp = l->log_sum_exp,
                                   .weights = l->weights,
                                   .columns = COLUMNS,
                                   .result_columns = RESULT,
                                   .x = l->x,
                                   .result = l->result,
                                   .query_weight = l->query_weight,
                                   .query_bias = l->query_bias,
                                   .key_weight = l->key_weight,
                                   .value_weight = l->value_weight,
                                   .output_weight = l->output_weight,
                                   .output_bias = l->output_bias};
}

static layer *make_layer(const char *const *names, int64_t rows, form f) {
    layer *l = calloc(1, sizeof *l);
    assert_non_null(l);
    l->rows = rows;
    l->explanation.context = group_context;
    for (int64_t i = 0; i < rows; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", (int)i + 1);
        const char *text = names ? names[i] : name;
        assert_int_equal(at_strings_add(l->explanation.context, &l->explanation.rows, text, strlen(text)),
                         ATTN_OK);
    }
    l->map = (attn_map){.heads = HEADS, .queries = rows, .keys = rows, .width = rows, .weights = l->weights};
    if (f.window) {
        l->map.width = 2 * f.window + 1;
        l->map.first_key = -f.window;
        l->map.key_step = 1;
    }
    l->map.entries = rows * l->map.width;
    l->explanation.maps = &l->map;
    l->explanation.map_count = 1;
    l->explanation.details = &l->numbers;
    l->explanation.detail_count = 1;
    point_at_numbers(l);
    l->numbers.weighting = f.weighting;
    fill(l->x, rows * COLUMNS, 1);
    fill(l->query_weight, HEADS * WIDTH * COLUMNS, 2);
    fill(l->key_weight, HEADS * WIDTH * COLUMNS, 3);
    fill(l->value_weight, HEADS * VALUE_WIDTH * COLUMNS, 4);
    fill(l->output_weight, RESULT * HEADS * VALUE_WIDTH, 5);
    fill(l->query_bias, HEADS * WIDTH, 6);
    fill(l->output_bias, RESULT, 7);
    map_rows(l->x, rows, COLUMNS, l->query_weight, l->query_bias, HEADS * WIDTH, l->query);
    map_rows(l->x, rows, COLUMNS, l->key_weight, NULL, HEADS * WIDTH, l->key);
    map_rows(l->x, rows, COLUMNS, l->value_weight, NULL, HEADS * VALUE_WIDTH, l->value);
    for (int64_t h = 0; h < HEADS; h++) {
        for (int64_t i = 0; i < rows; i++) attend(l, &f, h, i);
    }
    map_rows(l->output, rows, HEADS * VALUE_WIDTH, l->output_weight, l->output_bias, RESULT, l->result);
    return l;
}

static void free_layer(layer *l) {
    at_strings_free(l->explanation.context, &l->explanation.rows);
    at_strings_free(l->explanation.context, &l->explanation.answers);
    at_writer_free(&l->explanation.bytes);
    free(l);
}

static const char *steps_of(layer *l, int64_t row, int64_t head, int html) {
    attn_steps_options options;
    const char *bytes = NULL;
    size_t length = 0;
    attn_steps_options_init(&options);
    options.row = row;
    options.head = head;
    options.html = html;
    attn_status status = attn_explanation_steps(&l->explanation, &options, &bytes, &length);
    if (status != ATTN_OK) fail_msg("%s", attn_context_error(l->explanation.context));
    assert_int_equal(strlen(bytes), length);
    return bytes;
}

static void has(const char *text, const char *wanted) {
    if (!strstr(text, wanted)) fail_msg("lacks \"%s\":\n%s", wanted, text);
}

static void lacks(const char *text, const char *unwanted) {
    if (strstr(text, unwanted)) fail_msg("has \"%s\":\n%s", unwanted, text);
}

static const char *const words[] = {"I", "saw", "a", "小猫", "today"};

/* ---- text ---- */

static const char golden[] = "Attention, step by step: VERB\n"
                             "Self-attention of the encoder, layer 1, head 2 of 2\n"
                             "\n"
                             "  I saw [a] 小猫 today\n"
                             "\n"
                             "  Every number of row 3, \"a\".\n"
                             "\n"
                             "1. From x to the query q\n"
                             "\n"
                             "  x               the row as 6 numbers, as this layer gets it\n"
                             "  q = x W_qᵀ + b  the query: what the row looks for\n"
                             "\n"
                             "  x              │  -0.610  -0.950  -0.350  -0.390   0.700  -0.170\n"
                             "  q              │  -0.225   0.163   1.753\n"
                             "\n"
                             "2. Keys and values of the rows that it may see\n"
                             "\n"
                             "  k = x W_kᵀ      the key: what a row can be found by\n"
                             "  v = x W_vᵀ      the value: what a row hands on\n"
                             "\n"
                             "  k\n"
                             "  I              │   0.274  -0.845   1.063\n"
                             "  saw            │   0.301   0.107  -0.077\n"
                             "  a              │  -1.364   0.463   1.442\n"
                             "\n"
                             "  v\n"
                             "  I              │  -0.091  -2.031\n"
                             "  saw            │  -0.822  -0.521\n"
                             "  a              │  -0.213   0.621\n"
                             "\n"
                             "  2 of 5 rows are not seen: they are masked.\n"
                             "\n"
                             "3. The query meets every key\n"
                             "\n"
                             "  q·k       query times key, number by number, added up\n"
                             "  scaled    q·k ÷ √3 = q·k × 0.5774: longer vectors would give larger sums\n"
                             "  weight    softmax: e^score ÷ the total of its column; weights add up to 1\n"
                             "  masked    not seen: the score counts as -∞, so the weight is 0\n"
                             "\n"
                             "                 │      q·k   scaled  e^score   weight\n"
                             "  I              │    1.665    0.961    2.615    0.294\n"
                             "  saw            │   -0.185   -0.107    0.899    0.101\n"
                             "  a              │    2.911    1.681    5.370    0.604\n"
                             "  小猫           │    1.577    0.910    0.000    0.000  masked\n"
                             "  today          │    1.679    0.969    0.000    0.000  masked\n"
                             "  total          │                      8.884    1.000\n"
                             "\n"
                             "4. The values, mixed\n"
                             "\n"
                             "  o = Σ weight·v  every value times its weight, added up\n"
                             "\n"
                             "  0.294·I        │  -0.027  -0.598\n"
                             "  0.101·saw      │  -0.083  -0.053\n"
                             "  0.604·a        │  -0.129   0.375\n"
                             "  o              │  -0.239  -0.275\n"
                             "\n"
                             "5. All heads, side by side\n"
                             "\n"
                             "  c = (o of head 1, o of head 2, …)    2 × 2 = 4 numbers\n"
                             "\n"
                             "  head 1         │   0.169  -0.326\n"
                             "  head 2 (this)  │  -0.239  -0.275\n"
                             "\n"
                             "6. Mixed by W_o\n"
                             "\n"
                             "  result = c W_oᵀ + b  what the layer hands on for this row\n"
                             "\n"
                             "  result         │  -0.118   0.910  -0.755   0.133   0.575   0.301\n";

static void test_golden_text(void **state) {
    (void)state;
    layer *l = make_layer(words, 5, (form){.causal = 1});
    assert_int_equal(at_strings_add(group_context, &l->explanation.answers, "VERB", 4), ATTN_OK);
    const char *text = steps_of(l, 2, 1, 0);
    const char *checks = strstr(text, "\n  Computed again in double precision");
    assert_non_null(checks);
    lacks(text, "DIFFERS");
    assert_int_equal(checks - text, sizeof golden - 1);
    assert_memory_equal(text, golden, sizeof golden - 1);
    free_layer(l);
}

/* The cells of the widest line. */
static int widest(const char *text) {
    int most = 0;
    while (*text) {
        char line[2048];
        size_t length = strcspn(text, "\n");
        assert_true(length < sizeof line);
        memcpy(line, text, length);
        line[length] = 0;
        int cells = attn_text_cells(line);
        if (cells > most) most = cells;
        text += length + (text[length] == '\n');
    }
    return most;
}

static void test_widths(void **state) {
    (void)state;
    const char *const names[] = {"Donaudampfschifffahrtsgesellschaft", "小猫小猫小猫小猫小猫小猫小猫",
                                 "e\xcc\x81t\xc3\xa9", "b", "c"};
    const form forms[] = {{0}, {.causal = 1}, {.causal = 1, .biased = 1}, {.weighting = ATTN_WEIGHTS_RELU}};
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        layer *l = make_layer(names, 5, forms[f]);
        for (int64_t width = 72; width <= 132; width += 10) {
            attn_steps_options options;
            const char *bytes;
            size_t length;
            attn_steps_options_init(&options);
            options.width = width;
            options.row = 1;
            assert_int_equal(attn_explanation_steps(&l->explanation, &options, &bytes, &length), ATTN_OK);
            int cells = widest(bytes);
            if (cells > width) fail_msg("%d cells of %d:\n%s", cells, (int)width, bytes);
        }
        free_layer(l);
    }
}

static void test_wide_vectors_are_cut(void **state) {
    (void)state;
    enum { WIDE = 40 };
    static float x[WIDE], out[WIDE];
    layer *l = make_layer(words, 5, (form){0});
    l->numbers.x = x; /* a layer of one head of 40 numbers, as far as this text is concerned */
    l->numbers.columns = WIDE;
    l->numbers.query_weight = l->numbers.key_weight = l->numbers.value_weight = NULL;
    fill(x, WIDE, 9);
    fill(out, WIDE, 10);
    const char *text = steps_of(l, 0, 0, 0);
    has(text, " … (40 numbers)\n");
    assert_true(widest(text) <= 80);
    free_layer(l);
}

static void test_more_rows_than_are_listed(void **state) {
    (void)state;
    layer *l = make_layer(NULL, MOST_ROWS, (form){.window = 2});
    const char *text = steps_of(l, 40, 0, 0);
    has(text, "75 of 80 rows are not seen: they are masked or out of reach");
    has(text, "w41");
    lacks(text, "w44  ");
    lacks(text, "DIFFERS");
    free_layer(l);
}

static void test_other_scores(void **state) {
    (void)state;
    layer *l = make_layer(words, 5, (form){.biased = 1});
    l->numbers.score = ATTN_SCORE_ADDITIVE;
    const char *text = steps_of(l, 1, 0, 0);
    has(text, "The score of this layer is additive");
    has(text, "weight");
    lacks(text, "DIFFERS");
    lacks(text, "scaled");
    free_layer(l);
}

/* ---- numbers ---- */

static void near(double got, double wanted, double tolerance) {
    if (!(fabs(got - wanted) <= tolerance)) fail_msg("%.9g is not %.9g", got, wanted);
}

static void check_numbers(layer *l, const form *f, int64_t row, int64_t head) {
    at_row_steps steps;
    double total = 0;
    assert_int_equal(at_row_steps_compute(&l->explanation, &l->numbers, row, head, &steps), ATTN_OK);
    assert_true(at_row_steps_agree(&steps));
    assert_int_equal(steps.count, l->rows);
    int bias_matters = 0;
    for (int64_t j = 0; j < l->rows; j++) {
        if (sees(f, row, j)) total += exp(score_of(l, f, head, row, j));
        bias_matters |= f->biased && sees(f, row, j) && j != row;
    }
    assert_int_equal(steps.biased, bias_matters);
    for (int64_t j = 0; j < l->rows; j++) {
        const at_step_key *one = &steps.keys[j];
        double score = score_of(l, f, head, row, j);
        assert_int_equal(one->key, j);
        assert_int_equal(one->masked, !sees(f, row, j));
        if (one->masked) {
            assert_true(one->softmax == 0);
            continue;
        }
        near(one->score, score, 1e-6);
        if (bias_matters) near(one->bias, -0.25 * (double)(head + 1) * (double)llabs(row - j), 2e-6);
        if (f->weighting == ATTN_WEIGHTS_SOFTMAX) near(one->softmax, exp(score) / total, 1e-7);
    }
    for (int c = 0; c < VALUE_WIDTH; c++)
        near(steps.output[c], (double)l->output[(row * HEADS + head) * VALUE_WIDTH + c], 1e-6);
    for (int c = 0; c < RESULT; c++) near(steps.result[c], (double)l->result[row * RESULT + c], 1e-6);
    for (int c = 0; c < WIDTH; c++)
        near(steps.plain_query[c], (double)l->query[(row * HEADS + head) * WIDTH + c], 1e-6);
    at_row_steps_free(&steps);
}

static void test_numbers(void **state) {
    (void)state;
    const form forms[] = {{0},
                          {.causal = 1},
                          {.biased = 1},
                          {.causal = 1, .biased = 1},
                          {.window = 2},
                          {.window = 1, .causal = 1, .biased = 1},
                          {.weighting = ATTN_WEIGHTS_SIGMOID},
                          {.weighting = ATTN_WEIGHTS_RELU}};
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        layer *l = make_layer(NULL, 7, forms[f]);
        for (int64_t row = 0; row < 7; row++) {
            for (int64_t head = 0; head < HEADS; head++) check_numbers(l, &forms[f], row, head);
        }
        free_layer(l);
    }
}

/* A key so far off that its weight is 0 in single precision is seen all the same. */
static void test_vanishing_weight_is_not_masked(void **state) {
    (void)state;
    layer *l = make_layer(words, 5, (form){0});
    at_row_steps steps;
    for (int c = 0; c < WIDTH; c++) l->key[3 * HEADS * WIDTH + c] = l->query[c] * -1e4f;
    for (int64_t row = 0; row < 5; row++) attend(l, &(form){0}, 0, row);
    assert_int_equal(at_row_steps_compute(&l->explanation, &l->numbers, 0, 0, &steps), ATTN_OK);
    assert_true(steps.keys[3].weight == 0);
    assert_false(steps.keys[3].masked);
    at_row_steps_free(&steps);
    free_layer(l);
}

/* Rotary positions: lengths stay, numbers do not. */
static void test_rotated(void **state) {
    (void)state;
    layer *l = make_layer(words, 5, (form){0});
    for (int64_t r = 0; r < 5 * HEADS; r++) {
        for (int part = 0; part < 2; part++) {
            float *v = (part ? l->key : l->query) + r * WIDTH, a = v[0], b = v[1];
            v[0] = 0.6f * a - 0.8f * b;
            v[1] = 0.8f * a + 0.6f * b;
        }
    }
    has(steps_of(l, 2, 1, 0), "DIFFERS: q");
    l->numbers.rotated = 1;
    const char *text = steps_of(l, 2, 1, 0);
    lacks(text, "DIFFERS");
    has(text, "before turning");
    free_layer(l);
}

/* ---- what does not belong together is said ---- */

static void plant(form f, float *(*place)(layer *), const char *wanted) {
    layer *l = make_layer(words, 5, f);
    lacks(steps_of(l, 2, 1, 0), "DIFFERS");
    *place(l) += 0.001f;
    has(steps_of(l, 2, 1, 0), wanted);
    has(steps_of(l, 2, 1, 1), "<strong>DIFFERS");
    free_layer(l);
}
static float *a_weight(layer *l) { return &l->weights[attn_map_place(&l->map, 1, 2, 1)]; }
static float *a_query(layer *l) { return &l->query[(2 * HEADS + 1) * WIDTH]; }
static float *a_key(layer *l) { return &l->key[(1 * HEADS + 1) * WIDTH + 2]; }
static float *a_value(layer *l) { return &l->value[(1 * HEADS + 1) * VALUE_WIDTH]; }
static float *an_output(layer *l) { return &l->output[(2 * HEADS + 1) * VALUE_WIDTH + 1]; }
static float *a_result(layer *l) { return &l->result[2 * RESULT + 5]; }

static void test_planted(void **state) {
    (void)state;
    for (int biased = 0; biased < 2; biased++) {
        form f = {.causal = biased, .biased = biased};
        plant(f, a_weight, "DIFFERS: the weights");
        plant(f, a_weight, "DIFFERS: the weighted sum");
        plant(f, a_query, "DIFFERS: q");
        plant(f, a_key, "DIFFERS: k");
        plant(f, a_value, "DIFFERS: v");
        plant(f, an_output, "DIFFERS: the weighted sum");
        plant(f, a_result, "DIFFERS: the result");
    }
}

/* ---- names from elsewhere ---- */

static const char *const hostile[] = {
    "\x1b[31mred", "a\nb\tc", "</script><img src=x onerror=alert(1)>", "\xff\xfe", "\xe2\x80\xaegnp",
};

static void test_hostile_text(void **state) {
    (void)state;
    layer *l = make_layer(hostile, 5, (form){0});
    for (int64_t row = 0; row < 5; row++) {
        const char *text = steps_of(l, row, 0, 0);
        for (const char *c = text; *c; c++) {
            if ((unsigned char)*c < 0x20) assert_int_equal(*c, '\n');
        }
        lacks(text, "\x7f");
        lacks(text, "\xff");
        lacks(text, "\xe2\x80\xae");
        lacks(text, "a\nb");
        has(text, "\\x1b[31mred");
    }
    free_layer(l);
}

static void test_hostile_page(void **state) {
    (void)state;
    layer *l = make_layer(hostile, 5, (form){0});
    assert_int_equal(at_strings_add(group_context, &l->explanation.answers, hostile[2], strlen(hostile[2])),
                     ATTN_OK);
    const char *page = steps_of(l, 1, 0, 1);
    lacks(page, "<img");
    lacks(page, "\x1b");
    lacks(page, "\xff");
    has(page, "&lt;/script&gt;&lt;img");
    has(page, "\\u003c/script");
    free_layer(l);
}

static void test_page_needs_nothing(void **state) {
    (void)state;
    layer *l = make_layer(words, 5, (form){.causal = 1});
    const char *page = steps_of(l, 2, 1, 1);
    assert_int_equal(strncmp(page, "<!doctype html>", 15), 0);
    has(page, "Content-Security-Policy");
    has(page, "default-src 'none'");
    lacks(page, "http:");
    lacks(page, "https:");
    lacks(page, " src=");
    lacks(page, "@import");
    lacks(page, "<strong>DIFFERS");
    has(page, "小猫");
    free_layer(l);
}

/* ---- trained models ---- */

typedef enum corpus { TAGS, PAIRS, RUNNING } corpus;
typedef struct kind {
    corpus corpus;
    int biased; /* scores have a bias */
    const char *sets[12];
} kind;
static const kind kinds[] = {
    {TAGS, 0, {"task", "tag", "encoder.layers", "2"}},
    {TAGS, 0, {"task", "tag", "encoder.position", "none", "encoder.form", "narrow"}},
    {TAGS, 1, {"task", "tag", "encoder.position", "relative", "encoder.left", "2", "encoder.right", "1"}},
    {TAGS, 1, {"task", "tag", "encoder.position", "alibi", "encoder.causal", "true", "encoder.heads", "4"}},
    {TAGS, 0, {"task", "tag", "encoder.heads", "4", "encoder.kv_heads", "2", "encoder.scale", "0.7"}},
    {TAGS, 0, {"task", "tag", "encoder.position", "none", "encoder.softcap", "0.5", "encoder.form", "wide"}},
    {TAGS, 0, {"task", "tag", "encoder.position", "none", "encoder.form", "raw"}},
    {TAGS, 0, {"task", "tag", "encoder.score", "additive", "encoder.position", "none"}},
    {TAGS, 0, {"task", "tag", "encoder.score", "fixed", "encoder.position", "none"}},
    {TAGS, 0, {"task", "tag", "encoder.weights", "sigmoid", "encoder.average_weights", "true"}},
    {TAGS, 0, {"task", "tag", "encoder.weights", "relu", "encoder.average_weights", "true"}},
    {TAGS, 0, {"task", "tag", "encoder.weights", "raw", "encoder.position", "none"}},
    {PAIRS, 0, {"task", "seq2seq", "decoder.layers", "2"}},
    {RUNNING, 0, {"task", "lm"}},
};

/* All rows and heads of all layers: what is computed is what the network gave. */
static void agrees_everywhere(attn_explanation *explanation, size_t number) {
    int biased = 0;
    assert_true(explanation->detail_count > 0);
    for (int64_t d = 0; d < explanation->detail_count; d++) {
        const at_step_numbers *numbers = &explanation->details[d];
        for (int64_t i = 0; i < numbers->queries * numbers->heads; i++) {
            at_row_steps steps;
            const attn_map *map = &explanation->maps[numbers->map];
            attn_steps_options options;
            const char *bytes;
            size_t length;
            expect_ok(explanation->context, at_row_steps_compute(explanation, numbers, i / numbers->heads,
                                                                 i % numbers->heads, &steps));
            assert_true(steps.check_count >= 2);
            for (int c = 0; c < steps.check_count; c++) {
                const at_step_check *check = &steps.checks[c];
                if (!check->agrees)
                    fail_msg("model %d, map %d, %d: %s: %g of %g", (int)number, (int)d, (int)i, check->what,
                             check->difference, check->tolerance);
            }
            biased |= steps.biased;
            at_row_steps_free(&steps);
            attn_steps_options_init(&options);
            options.part = (int)map->part;
            options.layer = map->layer;
            options.row = i / numbers->heads;
            options.head = i % numbers->heads;
            options.html = (int)(i % 2);
            expect_ok(explanation->context, attn_explanation_steps(explanation, &options, &bytes, &length));
        }
    }
    assert_int_equal(biased, kinds[number].biased);
}

static void test_models(void **state) {
    (void)state;
    char folder[] = "/tmp/attn_steps_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        char *train = kinds[k].corpus == TAGS    ? corpus_conllu(1, 40)
                      : kinds[k].corpus == PAIRS ? corpus_pairs(1, 40, 0)
                                                 : corpus_running(1, 40);
        attn_context *context = test_best_context(1);
        remove(path);
        attn_model *model = train_model(tiny_config(context, kinds[k].sets), train, train, path);
        attn_reader_options reader;
        attn_dataset *dataset;
        attn_explain_options options;
        attn_explanation *explanation;
        attn_model_reader_options(model, &reader);
        reader.labelled = 0;
        reader.format = (attn_format)attn_input_find_format(attn_model_input(model), "lines");
        const char *text = kinds[k].corpus == PAIRS ? "abc\n" : "red two blue one green two three\n";
        expect_ok(context, attn_dataset_parse(context, "text", 1, text, strlen(text), &reader, &dataset));
        attn_explain_options_init(&options);
        options.details = 1;
        options.gradients = 0;
        expect_ok(context, attn_predictor_explain(predictor_of(model), dataset, &options, &explanation));
        agrees_everywhere(explanation, k);
        attn_explanation_destroy(explanation);
        attn_dataset_destroy(dataset);
        model_destroy(model);
        free(train);
    }
    remove_folder(folder);
}

/* ---- errors ---- */

static void test_errors(void **state) {
    (void)state;
    layer *l = make_layer(words, 5, (form){0});
    attn_steps_options options;
    const char *bytes = NULL;
    size_t length = 0;
    attn_steps_options_init(&options);
    options.row = 5;
    assert_int_equal(attn_explanation_steps(&l->explanation, &options, &bytes, &length),
                     ATTN_INVALID_ARGUMENT);
    options.row = 0;
    options.head = HEADS;
    assert_int_equal(attn_explanation_steps(&l->explanation, &options, &bytes, &length),
                     ATTN_INVALID_ARGUMENT);
    options.head = 0;
    options.layer = 1;
    assert_int_equal(attn_explanation_steps(&l->explanation, &options, &bytes, &length),
                     ATTN_INVALID_ARGUMENT);
    options.layer = 0;
    assert_int_equal(attn_explanation_steps(&l->explanation, &options, NULL, &length), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_explanation_steps(NULL, &options, &bytes, &length), ATTN_INVALID_ARGUMENT);
    l->explanation.detail_count = 0;
    assert_int_equal(attn_explanation_steps(&l->explanation, &options, &bytes, &length), ATTN_UNSUPPORTED);
    l->explanation.details = NULL;
    assert_int_equal(attn_explanation_steps(&l->explanation, &options, &bytes, &length), ATTN_UNSUPPORTED);
    assert_non_null(strstr(attn_context_error(group_context), "details"));
    assert_null(bytes);
    free_layer(l);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (int html = 0; html < 2; html++) {
        for (int64_t fail_at = 1;; fail_at++) {
            layer *l = make_layer(words, 5, (form){0});
            attn_steps_options options;
            const char *bytes = NULL;
            size_t length = 0;
            attn_steps_options_init(&options);
            options.html = html;
            group_counter.fail_at = fail_at;
            attn_status status = attn_explanation_steps(&l->explanation, &options, &bytes, &length);
            int done = group_counter.fail_at > 0 && status == ATTN_OK;
            group_counter.fail_at = 0;
            free_layer(l);
            if (done) break;
            assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        }
    }
}

static int setup(void **state) { return test_contexts_setup(state) || group_setup(state); }
static int teardown(void **state) { return group_teardown(state) | test_contexts_teardown(state); }

/* For tests/test_steps_page.sh: names that would do harm if they were more than text. */
static int print_page(void) {
    const char *const names[] = {"I",
                                 "saw",
                                 "a",
                                 "小猫",
                                 "\"><img src=x onerror=\"window.harmed=1\">",
                                 "</script><script>window.harmed=1</script>"};
    if (group_setup(NULL) != 0) return 1;
    layer *l = make_layer(names, 6, (form){.causal = 1});
    fputs(steps_of(l, 3, 1, 1), stdout);
    free_layer(l);
    return group_teardown(NULL);
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "--page") == 0) return print_page();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_text),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_wide_vectors_are_cut),
        cmocka_unit_test(test_more_rows_than_are_listed),
        cmocka_unit_test(test_other_scores),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_vanishing_weight_is_not_masked),
        cmocka_unit_test(test_rotated),
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_hostile_page),
        cmocka_unit_test(test_page_needs_nothing),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
