/* test_explanations.c: what an explanation says of small trained models: weights to the bit, gradients and
 * contributions against a plain network in double, rollout, ensembles, alignments, and what is refused.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "explain/explain.h"
#include "support/contexts.h"
#include "support/predicting.h"
#include "support/training.h"

typedef enum kind { PLAIN, DEEP, TAGS, PAIRS, RUNNING, RECURRENT, THREE, POOLED, WINDOW, SHORT, KINDS } kind;
static const char *const kind_sets[KINDS][24] = {
    {"task", "classify", "encoder.layers", "1", "encoder.norm", "none", "encoder.inner", "-1",
     "encoder.position", "none", "text.stem", "0", "output.pool", "mean", "output.members", "1",
     "encoder.heads", "2"},
    {"task", "classify", "encoder.layers", "3", "encoder.heads", "2", "output.pool", "mean", "output.members",
     "1"},
    {"task", "tag", "encoder.layers", "2"},
    {"task", "seq2seq", "decoder.layers", "2"},
    {"task", "lm"},
    {"task", "classify", "encoder.kind", "rnn", "output.pool", "mean"},
    {"task", "classify", "output.members", "3"},
    {"task", "classify", "output.pool", "attention", "encoder.mix", "attention,rnn,attention",
     "encoder.layers", "3"},
    {"task", "classify", "encoder.left", "1", "encoder.right", "2", "output.pool", "mean", "output.members",
     "1"},
    {"task", "classify", "text.longest", "4", "encoder.pieces", "1"},
};
static char folder[] = "/tmp/attn_explanations_XXXXXX";
static char paths[KINDS][80];
static attn_model *models[KINDS];

static char *corpus_of(int k, uint64_t seed, int count) {
    if (k == TAGS) return corpus_conllu(seed, count);
    if (k == PAIRS) return corpus_pairs(seed, count, 0);
    return k == RUNNING ? corpus_running(seed, count) : corpus_classes(seed, count, 0);
}

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    attn_context *context = test_best_context(1);
    for (int k = 0; k < KINDS; k++) {
        char *train = corpus_of(k, 1, 60), *dev = corpus_of(k, 2, 10);
        snprintf(paths[k], sizeof paths[k], "%s/%d.safetensors", folder, k);
        models[k] = train_model(tiny_config(context, kind_sets[k]), train, dev, paths[k]);
        free(train);
        free(dev);
    }
    return 0;
}

static int teardown(void **state) {
    for (int k = 0; k < KINDS; k++) model_destroy(models[k]);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- helpers ---- */

#define assert_near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

static attn_dataset *text_of(attn_model *model, const char *text) {
    attn_reader_options reader;
    attn_dataset *dataset;
    attn_model_reader_options(model, &reader);
    reader.labelled = 0;
    reader.format = (attn_format)attn_input_find_format(attn_model_input(model), "lines");
    expect_ok(test_best_context(1),
              attn_dataset_parse(test_best_context(1), "text", 1, text, strlen(text), &reader, &dataset));
    return dataset;
}

static attn_explanation *explain(int k, const char *text, const attn_explain_options *options) {
    attn_dataset *dataset = text_of(models[k], text);
    attn_explanation *made = NULL;
    expect_ok(test_best_context(1), attn_predictor_explain(predictor_of(models[k]), dataset, options, &made));
    attn_dataset_destroy(dataset);
    return made;
}

static const char *const sentence = "red two blue one green two three\n";

static attn_explain_options detailed(void) {
    attn_explain_options options;
    attn_explain_options_init(&options);
    options.details = 1;
    return options;
}

/* ---- weights ---- */

static double row_sum(const attn_map *map, int64_t head, int64_t query) {
    double sum = 0;
    for (int64_t c = 0; c < attn_map_entries(map, query); c++)
        sum += (double)attn_map_weight(map, head, query, c);
    return sum;
}

static void weights_of_every_model_sum_to_one(void **state) {
    static const int64_t maps[KINDS] = {1, 3, 2, 0, 0, 0, 0, 3, 0, 0}; /* 0: not checked here */
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        attn_explanation *made = explain(k, k == PAIRS ? "abc\n" : sentence, NULL);
        if (maps[k]) assert_int_equal(attn_explanation_maps(made), maps[k]);
        if (k == RECURRENT)
            assert_int_equal(attn_explanation_maps(made), 0);
        else
            assert_true(attn_explanation_maps(made) > 0);
        for (int64_t m = 0; m < attn_explanation_maps(made); m++) {
            const attn_map *map = attn_explanation_map(made, m);
            for (int64_t h = 0; h < map->heads; h++)
                for (int64_t i = 0; i < map->queries; i++) assert_near(row_sum(map, h, i), 1, 1e-5);
        }
        assert_non_null(attn_explanation_contributions(made));
        attn_explanation_destroy(made);
    }
}

/* The layers of a mixed stack have the numbers of their blocks; pooling is a map of one query. */
static void mixed_stacks_name_their_blocks(void **state) {
    (void)state;
    attn_explanation *made = explain(POOLED, sentence, NULL);
    assert_int_equal(attn_explanation_map(made, 0)->layer, 0);
    assert_int_equal(attn_explanation_map(made, 1)->layer, 2);
    assert_int_equal(attn_explanation_map(made, 2)->part, ATTN_MAP_POOL);
    assert_int_equal(attn_explanation_map(made, 2)->queries, 1);
    assert_null(at_explanation_find(made, ATTN_MAP_ENCODER, 1));
    attn_explanation_destroy(made);
    made = explain(WINDOW, sentence, NULL);
    const attn_map *map = attn_explanation_map(made, 0);
    for (int64_t i = 0; i < map->queries; i++)
        for (int64_t c = 0; c < attn_map_entries(map, i); c++) {
            int64_t key = attn_map_key(map, i, c);
            if (key >= 0 && (key < i - 1 || key > i + 2)) assert_true(attn_map_weight(map, 0, i, c) == 0);
        }
    attn_explanation_destroy(made);
}

/* The operator, called with the queries, keys and values of the pass, gives the same bits. */
static void weights_are_those_of_the_operator(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_explain_options options = detailed();
    static const int kinds[] = {PLAIN, DEEP, WINDOW, TAGS};
    for (size_t n = 0; n < sizeof kinds / sizeof kinds[0]; n++) {
        attn_explanation *made = explain(kinds[n], sentence, &options);
        assert_int_equal(made->detail_count, made->map_count);
        for (int64_t d = 0; d < made->detail_count; d++) {
            const at_step_numbers *of = &made->details[d];
            const attn_map *map = &made->maps[of->map];
            attn_tensor query = attn_tensor_rows(of->query, of->queries, of->heads, of->width);
            attn_tensor key = attn_tensor_rows(of->key, of->keys, of->kv_heads, of->width);
            attn_tensor value = attn_tensor_rows(of->value, of->keys, of->kv_heads, of->value_width);
            int64_t count = map->heads * map->entries;
            float *got = malloc((size_t)count * sizeof *got);
            float *sums = malloc((size_t)(of->queries * of->heads * of->value_width) * sizeof *sums);
            attn_tensor output = attn_tensor_rows(sums, of->queries, of->heads, of->value_width);
            attn_tensor weights = attn_tensor_view(got, 1, &count);
            attn_pattern pattern;
            attn_pattern_init(&pattern);
            if (kinds[n] == WINDOW) pattern.left = 1, pattern.right = 2;
            expect_ok(context, attn_attention_forward(context, &pattern, NULL, &query, &key, &value, &output,
                                                      NULL, &weights));
            assert_memory_equal(got, map->weights, (size_t)count * sizeof *got);
            assert_memory_equal(sums, of->output,
                                (size_t)(of->queries * of->heads * of->value_width) * sizeof *sums);
            free(got);
            free(sums);
        }
        attn_explanation_destroy(made);
    }
}

/* Every line of the table is a weight, to the bit. */
static void the_table_has_the_bits(void **state) {
    (void)state;
    attn_explanation *made = explain(DEEP, sentence, NULL);
    attn_drawing_options options;
    const char *bytes;
    size_t length;
    attn_drawing_options_init(&options);
    options.format = ATTN_DRAWING_TSV;
    expect_ok(test_best_context(1), attn_explanation_write(made, &options, &bytes, &length));
    assert_int_equal(strlen(bytes), length);
    const char *line = strchr(bytes, '\n') + 1;
    int64_t lines = 0;
    for (; strncmp(line, "encoder\t", 8) == 0; line = strchr(line, '\n') + 1, lines++) {
        long long layer, head, query, key;
        char names[2][64];
        float weight, gradient;
        assert_int_equal(sscanf(line, "encoder\t%lld\t%lld\t%lld\t%63[^\t]\t%lld\t%63[^\t]\t%f\t%f", &layer,
                                &head, &query, names[0], &key, names[1], &weight, &gradient),
                         8);
        const attn_map *map = at_explanation_find(made, ATTN_MAP_ENCODER, layer - 1);
        int64_t place = attn_map_place(map, head - 1, query - 1, key - 1);
        assert_memory_equal(&weight, &map->weights[place], sizeof weight);
        assert_memory_equal(&gradient, &map->gradients[place], sizeof gradient);
        assert_string_equal(names[0], attn_explanation_row(made, query - 1));
        assert_string_equal(names[1], attn_explanation_row(made, key - 1));
    }
    int64_t rows = attn_explanation_rows(made);
    assert_int_equal(lines, 3 * 2 * rows * rows);
    assert_true(strncmp(line, "contribution\t", 13) == 0);
    options.format = ATTN_DRAWING_JSON;
    expect_ok(test_best_context(1), attn_explanation_write(made, &options, &bytes, &length));
    assert_true(bytes[0] == '{' && bytes[length - 1] == '\n');
    attn_explanation_destroy(made);
}

/* ---- a plain network in double ---- */

/* x -> x + W_o (heads of softmax(q k / sqrt d) v) -> mean over rows -> logits above their mean. */
typedef struct plain {
    const at_step_numbers *of;
    const float *map, *bias; /* of the output: labels x columns */
    int64_t labels, label;
} plain;

static double dot(const float *weight, const double *x, int64_t columns, double bias) {
    double sum = bias;
    for (int64_t c = 0; c < columns; c++) sum += (double)weight[c] * x[c];
    return sum;
}

static void project(const float *weight, const float *bias, const double *x, int64_t rows, int64_t columns,
                    int64_t out, double *y) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t o = 0; o < out; o++)
            y[i * out + o] = dot(weight + o * columns, x + i * columns, columns, bias ? (double)bias[o] : 0);
}

/* change: NULL, or added to the weights of head `head`. */
static double plain_score(const plain *net, const double *x, int64_t head, const double *change) {
    const at_step_numbers *of = net->of;
    int64_t rows = of->queries, columns = of->columns, wide = of->heads * of->width;
    double *q = calloc((size_t)(rows * wide), sizeof *q), *k = calloc((size_t)(rows * wide), sizeof *k);
    double *v = calloc((size_t)(rows * wide), sizeof *v), *sum = calloc((size_t)wide, sizeof *sum);
    double *p = calloc((size_t)rows, sizeof *p), *y = calloc((size_t)columns, sizeof *y);
    project(of->query_weight, of->query_bias, x, rows, columns, wide, q);
    project(of->key_weight, of->key_bias, x, rows, columns, wide, k);
    project(of->value_weight, of->value_bias, x, rows, columns, wide, v);
    for (int64_t i = 0; i < rows; i++) {
        memset(sum, 0, (size_t)wide * sizeof *sum);
        for (int64_t h = 0; h < of->heads; h++) {
            double total = 0;
            for (int64_t j = 0; j < rows; j++) {
                double s = 0;
                for (int64_t c = 0; c < of->width; c++)
                    s += q[i * wide + h * of->width + c] * k[j * wide + h * of->width + c];
                total += p[j] = exp(s / sqrt((double)of->width));
            }
            for (int64_t j = 0; j < rows; j++) {
                double weight = p[j] / total + (change && h == head ? change[i * rows + j] : 0);
                for (int64_t c = 0; c < of->width; c++)
                    sum[h * of->width + c] += weight * v[j * wide + h * of->width + c];
            }
        }
        for (int64_t c = 0; c < columns; c++)
            y[c] += (x[i * columns + c] + dot(of->output_weight + c * wide, sum, wide,
                                              of->output_bias ? (double)of->output_bias[c] : 0)) /
                    (double)rows;
    }
    double score = 0;
    for (int64_t l = 0; l < net->labels; l++) {
        double logit = dot(net->map + l * columns, y, columns, (double)net->bias[l]);
        score += logit * ((l == net->label) - 1 / (double)net->labels);
    }
    free(q), free(k), free(v), free(sum), free(p), free(y);
    return score;
}

/* The layer of the output. */
static plain plain_of(const attn_explanation *made, attn_model *model) {
    plain net = {.of = &made->details[0], .labels = attn_model_labels(model, 0)};
    attn_parameters *set = attn_model_parameters(model);
    int64_t count = attn_parameters_count(set);
    net.bias = attn_parameter_value(attn_parameters_at(set, count - 1)).data;
    net.map = attn_parameter_value(attn_parameters_at(set, count - 2)).data;
    for (int64_t l = 0; l < net.labels; l++)
        if (strcmp(attn_model_label(model, 0, l), attn_explanation_target(made)) == 0) net.label = l;
    return net;
}

/* A weight's gradient is the change of the score with it; a row's contribution that with its size. Both by
 * central differences in double. */
static void gradients_are_those_of_a_plain_network(void **state) {
    (void)state;
    attn_explain_options options = detailed();
    attn_explanation *made = explain(PLAIN, sentence, &options);
    plain net = plain_of(made, models[PLAIN]);
    int64_t rows = attn_explanation_rows(made), columns = net.of->columns;
    double *x = malloc((size_t)(rows * columns) * sizeof *x), step = 1e-4, worst = 0, largest = 0;
    double *change = calloc((size_t)(rows * rows), sizeof *change);
    const attn_map *map = attn_explanation_map(made, 0);
    for (int64_t i = 0; i < rows * columns; i++) x[i] = (double)net.of->x[i];
    for (int64_t h = 0; h < map->heads; h++)
        for (int64_t e = 0; e < rows * rows; e++) {
            change[e] = step;
            double up = plain_score(&net, x, h, change);
            change[e] = -step;
            double expected = (up - plain_score(&net, x, h, change)) / (2 * step);
            change[e] = 0;
            worst = fmax(worst, fabs(expected - (double)map->gradients[h * map->entries + e]));
            largest = fmax(largest, fabs(expected));
        }
    assert_true(largest > 0);
    assert_true(worst <= 1e-5 * largest);
    worst = largest = 0;
    for (int64_t r = 0; r < rows; r++) {
        double scores[2];
        for (int side = 0; side < 2; side++) {
            for (int64_t c = 0; c < columns; c++)
                x[r * columns + c] = (double)net.of->x[r * columns + c] * (side ? 1 - step : 1 + step);
            scores[side] = plain_score(&net, x, 0, NULL);
        }
        for (int64_t c = 0; c < columns; c++) x[r * columns + c] = (double)net.of->x[r * columns + c];
        double expected = (scores[0] - scores[1]) / (2 * step);
        worst = fmax(worst, fabs(expected - attn_explanation_contributions(made)[r]));
        largest = fmax(largest, fabs(expected));
    }
    assert_true(largest > 0);
    assert_true(worst <= 1e-5 * largest);
    free(x);
    free(change);
    attn_explanation_destroy(made);
}

/* ---- views ---- */

static double naive_rollout(const attn_explanation *made, int64_t layer, int64_t i, int64_t j) {
    if (layer < 0) return i == j;
    const attn_map *map = at_explanation_find(made, ATTN_MAP_ENCODER, layer);
    double sum = 0;
    for (int64_t k = 0; k < map->queries; k++) {
        double mean = 0;
        for (int64_t h = 0; h < map->heads; h++) mean += (double)attn_map_weight(map, h, i, k);
        mean = (mean / (double)map->heads + (i == k)) / 2;
        sum += mean * naive_rollout(made, layer - 1, k, j);
    }
    return sum;
}

static void views_are_those_of_the_definition(void **state) {
    (void)state;
    attn_explanation *made = explain(DEEP, sentence, NULL);
    int64_t rows = attn_explanation_rows(made);
    double *numbers = malloc((size_t)(rows * rows) * sizeof *numbers);
    attn_context *context = test_best_context(1);
    for (int64_t l = 0; l < 3; l++) {
        expect_ok(context, attn_explanation_view(made, ATTN_VIEW_ROLLOUT, ATTN_MAP_ENCODER, l, -1, numbers));
        for (int64_t i = 0; i < rows * rows; i++)
            assert_near(numbers[i], naive_rollout(made, l, i / rows, i % rows), 1e-6);
        const attn_map *map = at_explanation_find(made, ATTN_MAP_ENCODER, l);
        expect_ok(context, attn_explanation_view(made, ATTN_VIEW_GRADIENT, ATTN_MAP_ENCODER, l, 1, numbers));
        for (int64_t i = 0; i < rows * rows; i++)
            assert_near(numbers[i],
                        (double)map->weights[map->entries + i] * (double)map->gradients[map->entries + i],
                        1e-12);
        expect_ok(context, attn_explanation_view(made, ATTN_VIEW_GRADIENT, ATTN_MAP_ENCODER, l, -1, numbers));
        for (int64_t i = 0; i < rows * rows; i++) assert_true(numbers[i] >= 0);
    }
    expect_refused(context, attn_explanation_view(made, ATTN_VIEW_ROLLOUT, ATTN_MAP_ENCODER, 0, 1, numbers),
                   ATTN_INVALID_ARGUMENT, "rollout");
    expect_refused(context, attn_explanation_view(made, ATTN_VIEW_WEIGHTS, ATTN_MAP_POOL, 0, 0, numbers),
                   ATTN_INVALID_ARGUMENT, "no such layer");
    free(numbers);
    attn_explanation_destroy(made);
}

/* ---- answers ---- */

static void the_answer_does_not_change(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        if (k == RUNNING) continue;
        attn_dataset *dataset = text_of(models[k], k == PAIRS ? "abc\n" : sentence);
        attn_prediction *before, *after;
        attn_context *context = test_best_context(1);
        attn_explanation *made;
        expect_ok(context, predict_with(models[k], dataset, k == PAIRS ? 0 : WITH_PROBABILITIES, &before));
        expect_ok(context, attn_predictor_explain(predictor_of(models[k]), dataset, NULL, &made));
        expect_ok(context, predict_with(models[k], dataset, k == PAIRS ? 0 : WITH_PROBABILITIES, &after));
        assert_true(same_answers(models[k], before, 0, 1, after));
        assert_true(same_answers(models[k], before, 0, 1, attn_explanation_prediction(made)));
        if (k != TAGS && k != PAIRS) {
            assert_string_equal(attn_explanation_answer(made, 0), attn_prediction_label(before, 0, 0, 0));
            assert_string_equal(attn_explanation_target(made), attn_prediction_label(before, 0, 0, 0));
            int64_t label = attn_prediction_class(before, 0, 0, 0);
            assert_true(attn_explanation_probability(made, 0) ==
                        attn_prediction_probability(before, 0, 0, 0, label));
        }
        attn_explanation_destroy(made);
        attn_prediction_destroy(before);
        attn_prediction_destroy(after);
        attn_dataset_destroy(dataset);
    }
}

/* A predictor in a context of its own gives the same bits: the model is not written to. */
static void other_contexts_give_the_same_bits(void **state) {
    (void)state;
    attn_explanation *made = explain(DEEP, sentence, NULL), *other = NULL;
    attn_predictor *predictor;
    attn_dataset *dataset = text_of(models[DEEP], sentence);
    assert_int_equal(attn_predictor_create(models[DEEP], NULL, &predictor), ATTN_OK);
    expect_ok(attn_predictor_context(predictor), attn_predictor_explain(predictor, dataset, NULL, &other));
    for (int64_t m = 0; m < 3; m++) {
        const attn_map *a = attn_explanation_map(made, m), *b = attn_explanation_map(other, m);
        size_t bytes = (size_t)(a->heads * a->entries) * sizeof(float);
        assert_memory_equal(a->weights, b->weights, bytes);
        assert_memory_equal(a->gradients, b->gradients, bytes);
    }
    assert_memory_equal(attn_explanation_contributions(made), attn_explanation_contributions(other),
                        (size_t)attn_explanation_rows(made) * sizeof(double));
    attn_explanation_destroy(made);
    attn_explanation_destroy(other);
    attn_predictor_destroy(predictor);
    attn_dataset_destroy(dataset);
}

static void an_ensemble_shows_the_mean(void **state) {
    (void)state;
    attn_explanation *all = explain(THREE, sentence, NULL), *one[3];
    attn_explain_options options;
    attn_explain_options_init(&options);
    for (int n = 0; n < 3; n++) {
        options.member = n;
        one[n] = explain(THREE, sentence, &options);
        assert_int_equal(attn_explanation_maps(one[n]), attn_explanation_maps(all));
    }
    const attn_map *mean = attn_explanation_map(all, 0);
    int apart = 0;
    for (int64_t i = 0; i < mean->heads * mean->entries; i++) {
        double sum = 0;
        for (int n = 0; n < 3; n++) sum += (double)attn_explanation_map(one[n], 0)->weights[i] / 3;
        assert_near((double)mean->weights[i], sum, 1e-6);
        apart |= attn_explanation_map(one[0], 0)->weights[i] != attn_explanation_map(one[1], 0)->weights[i];
    }
    assert_true(apart);
    for (int64_t r = 0; r < attn_explanation_rows(all); r++) {
        double sum = 0;
        for (int n = 0; n < 3; n++) sum += attn_explanation_contributions(one[n])[r] / 3;
        assert_near(attn_explanation_contributions(all)[r], sum, 1e-5);
    }
    for (int n = 0; n < 3; n++) attn_explanation_destroy(one[n]);
    attn_explanation_destroy(all);
}

/* The mean over heads of the decoder's last look at the source is the alignment of the prediction. */
static void alignments_are_maps(void **state) {
    (void)state;
    attn_dataset *dataset = text_of(models[PAIRS], "abcb\n");
    attn_search_options search;
    attn_prediction *prediction;
    attn_context *context = test_best_context(1);
    attn_search_options_init(&search);
    search.alignment = 1;
    expect_ok(context, search_with(models[PAIRS], dataset, &search, &prediction));
    attn_explanation *made = explain(PAIRS, "abcb\n", NULL);
    assert_int_equal(attn_explanation_layers(made, ATTN_MAP_SOURCE), 2);
    assert_int_equal(attn_explanation_layers(made, ATTN_MAP_DECODER), 2);
    const attn_map *map = at_explanation_find(made, ATTN_MAP_SOURCE, 1);
    int64_t said = attn_prediction_symbols(prediction, 0, 0);
    const float *expected = attn_prediction_alignment(prediction, 0, 0);
    double *numbers = malloc((size_t)(map->queries * map->keys) * sizeof *numbers);
    assert_int_equal(map->queries, said + 1);
    assert_int_equal(attn_explanation_written(made), said + 1);
    expect_ok(context, attn_explanation_view(made, ATTN_VIEW_WEIGHTS, ATTN_MAP_SOURCE, 1, -1, numbers));
    for (int64_t i = 0; i < said * map->keys; i++) assert_near(numbers[i], (double)expected[i], 1e-6);
    assert_string_equal(attn_explanation_answer(made, 0), attn_prediction_text(prediction, 0, 0));
    /* the decoder never looks ahead */
    const attn_map *own = at_explanation_find(made, ATTN_MAP_DECODER, 0);
    for (int64_t i = 0; i < own->queries; i++)
        for (int64_t c = i + 1; c < own->keys; c++) assert_true(attn_map_weight(own, 0, i, c) == 0);
    free(numbers);
    attn_explanation_destroy(made);
    attn_prediction_destroy(prediction);
    attn_dataset_destroy(dataset);
}

static void running_text_says_what_comes_next(void **state) {
    (void)state;
    attn_predictor *predictor = predictor_of(models[RUNNING]);
    attn_explanation *made = explain(RUNNING, "the cat\n", NULL);
    const double *probabilities;
    expect_ok(test_best_context(1), attn_predictor_push_text(predictor, "the cat"));
    expect_ok(test_best_context(1), attn_predictor_next(predictor, &probabilities));
    int64_t best = 1;
    for (int64_t s = 2; s < attn_model_symbols(models[RUNNING]); s++)
        if (probabilities[s] > probabilities[best]) best = s;
    assert_string_equal(attn_explanation_answer(made, 0), attn_model_symbol(models[RUNNING], best));
    assert_near(attn_explanation_probability(made, 0), probabilities[best], 1e-5);
    attn_predictor_finish(predictor, NULL);
    attn_explanation_destroy(made);
    /* and of an earlier row, later rows contribute nothing */
    attn_explain_options options;
    attn_explain_options_init(&options);
    options.row = 2;
    made = explain(RUNNING, "the cat\n", &options);
    assert_string_equal(attn_explanation_target(made), attn_explanation_row(made, 3));
    for (int64_t r = 3; r < attn_explanation_rows(made); r++)
        assert_true(attn_explanation_contributions(made)[r] == 0);
    attn_explanation_destroy(made);
}

/* Of a text that is too long the beginning is seen where it has one answer, all of it in pieces where words
 * have theirs. */
static void what_is_not_seen_is_said(void **state) {
    (void)state;
    attn_explanation *made = explain(SHORT, sentence, NULL);
    assert_int_equal(attn_explanation_rows(made), 4);
    assert_int_equal(attn_explanation_unseen(made), 3);
    assert_int_equal(attn_explanation_pieces(made), 1);
    attn_explanation_destroy(made);
    made = explain(DEEP, sentence, NULL);
    assert_int_equal(attn_explanation_unseen(made), 0);
    attn_explanation_destroy(made);
}

/* ---- what is refused ---- */

static void refuse(int k, attn_explain_options options, const char *part) {
    attn_dataset *dataset = text_of(models[k], sentence);
    attn_explanation *made = NULL;
    expect_refused(test_best_context(1),
                   attn_predictor_explain(predictor_of(models[k]), dataset, &options, &made),
                   ATTN_INVALID_ARGUMENT, part);
    assert_null(made);
    attn_dataset_destroy(dataset);
}

static void what_is_not_there_is_refused(void **state) {
    (void)state;
    attn_explain_options none, options;
    attn_explain_options_init(&none);
    options = none, options.example = 1;
    refuse(DEEP, options, "no example 2");
    options = none, options.member = 3;
    refuse(THREE, options, "no member 4");
    options = none, options.output = 1;
    refuse(DEEP, options, "no output 2");
    options = none, options.label = "nothing";
    refuse(DEEP, options, "no label nothing");
    options = none, options.row = 99;
    refuse(TAGS, options, "no row 100");
    options = none, options.piece = 1;
    refuse(TAGS, options, "no piece 2");
    options = none, options.label = "a";
    refuse(RUNNING, options, "has no labels");
    attn_explanation *made = explain(DEEP, sentence, NULL);
    attn_drawing_options drawing;
    const char *bytes;
    size_t length;
    attn_context *context = test_best_context(1);
    attn_drawing_options_init(&drawing);
    drawing.format = ATTN_DRAWING_TSV;
    drawing.layer = 7;
    expect_refused(context, attn_explanation_write(made, &drawing, &bytes, &length), ATTN_INVALID_ARGUMENT,
                   "layer 8: the encoder has attention in 3 layers");
    drawing.layer = 1;
    drawing.head = 2;
    expect_refused(context, attn_explanation_write(made, &drawing, &bytes, &length), ATTN_INVALID_ARGUMENT,
                   "head 3: layer 2 has 2 heads");
    drawing.head = -1;
    drawing.part = ATTN_MAP_SOURCE;
    drawing.layer = -1;
    expect_refused(context, attn_explanation_write(made, &drawing, &bytes, &length), ATTN_INVALID_ARGUMENT,
                   "no attention in part source");
    attn_explanation_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_every_model_sum_to_one),
        cmocka_unit_test(mixed_stacks_name_their_blocks),
        cmocka_unit_test(weights_are_those_of_the_operator),
        cmocka_unit_test(the_table_has_the_bits),
        cmocka_unit_test(gradients_are_those_of_a_plain_network),
        cmocka_unit_test(views_are_those_of_the_definition),
        cmocka_unit_test(the_answer_does_not_change),
        cmocka_unit_test(other_contexts_give_the_same_bits),
        cmocka_unit_test(an_ensemble_shows_the_mean),
        cmocka_unit_test(alignments_are_maps),
        cmocka_unit_test(running_text_says_what_comes_next),
        cmocka_unit_test(what_is_not_seen_is_said),
        cmocka_unit_test(what_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
