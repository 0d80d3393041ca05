/* test_image_training.c: networks that learn from pictures: every encoder, classes, numbers and texts,
 * pictures of different sizes; the same bits after a stop, with other threads, from the file, alone and
 * together; patches and what training does with pictures, against a hand's count; and what does not fit.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "inputs/image/image.h"
#include "inputs/kinds.h"
#include "support/contexts.h"
#include "support/random.h"
#include "support/training.h"

enum { PICTURES = 120, MOST = 64 };

static char folder[] = "/tmp/attn_images_XXXXXX";

static int setup(void **state) { return test_contexts_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0; }
static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

static const char *path_of(const char *name) {
    static char path[100];
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    return path;
}

/* ---- a problem ---- */

/* Pictures of 4 to 8 pixels a side, with a bright square of 2 x 2 on a dark ground with noise. The label says
 * in which quarter it stands, the number how far down, the text both. */
typedef struct problem {
    float samples[PICTURES * MOST];
    int64_t heights[PICTURES], widths[PICTURES];
    const char *labels[PICTURES], *texts[PICTURES];
    double numbers[PICTURES];
} problem;

static problem *make_problem(uint64_t seed) {
    problem *made = calloc(1, sizeof *made);
    assert_non_null(made);
    test_random random = {seed * 2 + 1};
    float *at = made->samples;
    for (int p = 0; p < PICTURES; p++) {
        static const char *const labels[] = {"nw", "ne", "sw", "se"};
        static const char *const texts[] = {"up left", "up right", "down left", "down right"};
        int64_t height = 2 * random_between(&random, 2, 4), width = 2 * random_between(&random, 2, 4);
        int south = random_between(&random, 0, 1) == 1, east = random_between(&random, 0, 1) == 1;
        made->heights[p] = height;
        made->widths[p] = width;
        for (int64_t i = 0; i < height * width; i++) at[i] = (float)random_between(&random, 0, 60);
        int64_t y = south ? height - 2 : 0, x = east ? width - 2 : 0;
        for (int i = 0; i < 4; i++)
            at[(y + i / 2) * width + x + i % 2] = (float)random_between(&random, 180, 255);
        made->labels[p] = labels[2 * south + east];
        made->texts[p] = texts[2 * south + east];
        made->numbers[p] = 10.0 * south + 1;
        at += height * width;
    }
    return made;
}

static attn_dataset *dataset_of(attn_context *context, const problem *from) {
    attn_dataset *dataset = NULL;
    expect_ok(context, attn_dataset_from_images(context, from->samples, from->heights, from->widths, 1,
                                                PICTURES, &dataset));
    return dataset;
}

static attn_dataset *labelled(attn_context *context, const problem *from, const char *const *labels) {
    attn_dataset *dataset = dataset_of(context, from);
    expect_ok(context, attn_dataset_set_targets(dataset, 1, (const char *const[]){"label"}, labels, 0));
    return dataset;
}

static attn_config *config_of(attn_context *context, const char *task, const char *const *sets) {
    attn_config *config = tiny_config_of(context, "image", sets);
    expect_ok(context, attn_config_set(config, "task", task));
    return config;
}

static int watch(void *user, const attn_training_state *state) {
    const int64_t *stop = user;
    return *stop > 0 && state->event == ATTN_TRAINING_STEP && state->step == *stop;
}

/* One run; stop 0: to the end. */
static void train(attn_context *context, attn_config *config, const attn_dataset *data,
                  const attn_dataset *dev, const char *name, int64_t stop, int resume) {
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path_of(name);
    options.resume = resume;
    options.force = !resume;
    options.keep_last = 1;
    options.save_seconds = 1000;
    options.watch = watch;
    options.user = &stop;
    attn_trainer *trainer = NULL;
    expect_ok(context, attn_trainer_create(config, data, dev, &options, &trainer));
    expect_ok(context, attn_trainer_run(trainer));
    attn_trainer_destroy(trainer);
}

static attn_model *load(attn_context *context, const char *name) {
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, path_of(name), &model));
    return model;
}

static double metric_of(attn_context *context, const attn_model *model, const attn_dataset *data,
                        const char *name) {
    attn_predictor *predictor = NULL;
    attn_report *report = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_report_create(predictor, data, &report));
    double metric = attn_report_metric(report, name);
    attn_report_destroy(report);
    attn_predictor_destroy(predictor);
    return metric;
}

/* ---- it learns ---- */

static void test_every_encoder(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1), *other = make_problem(2);
    static const char *const encoders[] = {"attention", "rnn", "cnn", "fc"};
    attn_dataset *data = labelled(context, learned, learned->labels);
    attn_dataset *dev = labelled(context, other, other->labels);
    for (int e = 0; e < 4; e++) {
        for (int pixels = 0; pixels < 2; pixels++) {
            if (pixels && e > 0) continue; /* 64 rows of one number each: one encoder is enough */
            const char *const sets[] = {
                "encoder.kind",       encoders[e],   "encoder.layers",   "2", "training.epochs",
                pixels ? "20" : "40", "image.patch", pixels ? "1" : "2", NULL};
            attn_config *config = config_of(context, "classify", sets);
            train(context, config, data, dev, "encoder", 0, 0);
            attn_model *model = load(context, "encoder");
            double accuracy = metric_of(context, model, dev, "accuracy");
            if (!(accuracy > 0.95)) fail_msg("%s, pixels %d: accuracy %g", encoders[e], pixels, accuracy);
            assert_string_equal(attn_model_input(model), "image");
            assert_string_equal(attn_config_get(attn_model_config(model), "encoder.position"), "grid");
            assert_string_equal(attn_config_get(attn_model_config(model), "image.channels"), "grey");
            attn_model_destroy(model);
            attn_config_destroy(config);
        }
    }
    attn_dataset_destroy(data);
    attn_dataset_destroy(dev);
    free(learned);
    free(other);
}

static void test_numbers(void **state) {
    (void)state;
    attn_context *context = test_best_context(2);
    problem *learned = make_problem(1);
    attn_dataset *data = dataset_of(context, learned);
    expect_ok(context, attn_dataset_set_numbers(data, 1, (const char *const[]){"y"}, learned->numbers, 0));
    attn_config *config = config_of(context, "regress",
                                    (const char *const[]){"training.epochs", "40", "image.patch", "2", NULL});
    train(context, config, data, NULL, "number", 0, 0);
    attn_model *model = load(context, "number");
    double correlation = metric_of(context, model, data, "correlation");
    if (!(correlation > 0.95)) fail_msg("correlation %g", correlation);
    attn_model_destroy(model);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    free(learned);
}

/* A text of its own length, from a picture: the decoder has positions of its own. */
static void test_texts(void **state) {
    (void)state;
    attn_context *context = test_best_context(2);
    problem *learned = make_problem(1);
    attn_dataset *data = labelled(context, learned, learned->texts);
    const char *const sets[] = {"training.steps",
                                "300",
                                "training.batch_units",
                                "300",
                                "output.smoothing",
                                "0",
                                "decoder.layers",
                                "1",
                                "target.unit",
                                "words",
                                "image.patch",
                                "2",
                                "image.stem",
                                "3",
                                NULL};
    attn_config *config = config_of(context, "seq2seq", sets);
    train(context, config, data, data, "texts", 0, 0);
    attn_model *model = load(context, "texts");
    double right = metric_of(context, model, data, "exact_match");
    if (!(right > 0.95)) fail_msg("exact matches %g", right);
    attn_model_destroy(model);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    free(learned);
}

/* ---- the same bits ---- */

static const char *const random_sets[] = {
    "training.steps", "24",  "image.shift", "1",     "image.rotate", "10",  "image.zoom",      "0.1",
    "image.shear",    "0.1", "image.flip",  "sides", "image.erase",  "0.5", "encoder.dropout", "0.1",
    "image.patch",    "2",   NULL};

static void are_same(const char *a, const char *b) {
    static const char *const files[] = {"%s/%s.safetensors", "%s/%s.last.safetensors"};
    char one[100], two[100];
    for (int f = 0; f < 2; f++) {
        snprintf(one, sizeof one, files[f], folder, a);
        snprintf(two, sizeof two, files[f], folder, b);
        assert_true(same_files(one, two));
    }
}

static void test_resume(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    attn_dataset *data = labelled(context, learned, learned->labels);
    attn_config *config = config_of(context, "classify", random_sets);
    train(context, config, data, NULL, "whole", 0, 0);
    train(context, config, data, NULL, "parts", 7, 0);
    train(context, config, data, NULL, "parts", 16, 1);
    train(context, config, data, NULL, "parts", 0, 1);
    are_same("whole", "parts");
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    free(learned);
}

static void test_threads(void **state) {
    (void)state;
    problem *learned = make_problem(1);
    for (int threads = 1; threads <= 2; threads++) {
        attn_context *context = test_best_context(threads);
        attn_dataset *data = labelled(context, learned, learned->labels);
        attn_config *config = config_of(context, "classify", random_sets);
        train(context, config, data, NULL, threads == 1 ? "one" : "two", 0, 0);
        attn_config_destroy(config);
        attn_dataset_destroy(data);
    }
    are_same("one", "two");
    free(learned);
}

/* A picture in a batch of others, of other sizes, gets the same bits as alone; and from a model that was
 * saved again. */
static void test_alone_and_together(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    attn_dataset *data = labelled(context, learned, learned->labels);
    attn_config *config = config_of(context, "classify",
                                    (const char *const[]){"training.steps", "30", "image.patch", "2", NULL});
    train(context, config, data, data, "together", 0, 0);
    attn_model *model = load(context, "together");
    expect_ok(context, attn_model_save(model, path_of("again")));
    attn_model *again = load(context, "again");
    attn_predictor *first = NULL, *second = NULL;
    attn_prediction *all = NULL;
    expect_ok(context, attn_predictor_create(model, context, &first));
    expect_ok(context, attn_predictor_create(again, NULL, &second));
    expect_ok(context, attn_predictor_predict(first, data, &all));
    for (int64_t e = 0; e < 12; e++) {
        attn_dataset *alone = NULL;
        attn_prediction *one = NULL;
        expect_ok(context, attn_dataset_select(data, &e, 1, &alone));
        if (attn_predictor_predict(second, alone, &one) != ATTN_OK)
            fail_msg("%s", attn_predictor_error(second));
        assert_true(same_answers(model, all, e, 1, one));
        attn_prediction_destroy(one);
        attn_dataset_destroy(alone);
    }
    const char *text;
    size_t length;
    expect_ok(context, attn_predictor_write(first, data, NULL, &text, &length));
    char expected[100];
    snprintf(expected, sizeof expected, "0\t%s\t0.", attn_prediction_label(all, 0, 0, 0));
    assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
    attn_prediction_destroy(all);
    attn_predictor_destroy(first);
    attn_predictor_destroy(second);
    attn_model_destroy(model);
    attn_model_destroy(again);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    free(learned);
}

/* ---- rows ---- */

/* The view of a configuration, learned from a dataset; no normalization: mean 0, deviation 1. */
static at_input *view_of(attn_context *context, const attn_dataset *data, at_image_values values) {
    at_input *input = NULL;
    const at_input_use use = {.task = "classify"};
    const at_learning from = {.examples = data};
    if (!values.longest) values.longest = 1000;
    if (!*values.size) strcpy(values.size, "0");
    expect_ok(context, at_image_kind.create(context, &values, &use, &input));
    input->kind = &at_image_kind;
    expect_ok(context, at_image_kind.learn(input, &from));
    at_image_input *own = (at_image_input *)(void *)input;
    for (int c = 0; c < 3; c++) own->mean[c] = 0, own->deviation[c] = 1;
    return input;
}

/* The rows of all pictures, as a batch; the caller frees it. */
static at_image_batch *rows_of(attn_context *context, const at_input *input, const attn_dataset *data,
                               const uint64_t *seed, at_encoded **encoded) {
    at_batch *batch = NULL;
    at_segments segments = {0};
    int64_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    expect_ok(context, at_image_kind.encode(input, context, NULL, data, NULL, encoded));
    expect_ok(context,
              at_segments_make(context, (*encoded)->examples, (*encoded)->offsets, 1000, 0, &segments));
    expect_ok(context, at_image_kind.create_batch(context, &batch));
    expect_ok(context, at_image_kind.fill(input, *encoded, &segments, order, segments.count, seed, batch));
    at_segments_free(context, &segments);
    return (at_image_batch *)(void *)batch;
}

static void rows_are(const float *samples, int64_t height, int64_t width, int channels,
                     at_image_values values, const uint64_t *seed, int64_t down, int64_t along,
                     const float *expected) {
    attn_context *context = test_best_context(1);
    attn_dataset *data = NULL;
    at_encoded *encoded = NULL;
    expect_ok(context, attn_dataset_from_images(context, samples, &height, &width, channels, 1, &data));
    values.channels = channels == 3 ? AT_CHANNELS_COLOUR : AT_CHANNELS_GREY;
    at_input *input = view_of(context, data, values);
    at_image_batch *batch = rows_of(context, input, data, seed, &encoded);
    assert_int_equal(batch->batch.heights[0], down);
    assert_int_equal(batch->batch.widths[0], along);
    assert_int_equal(batch->batch.rows, down * along);
    int64_t columns = at_image_columns(at_image_input_of(input));
    for (int64_t i = 0; i < down * along * columns; i++)
        if (fabsf(batch->numbers[i] - expected[i]) > 1e-5f)
            fail_msg("number %d is %g, not %g", (int)i, (double)batch->numbers[i], (double)expected[i]);
    at_image_kind.free_batch(&batch->batch);
    at_image_kind.free_encoded(encoded);
    at_image_kind.destroy(input);
    attn_dataset_destroy(data);
}

static void test_patches(void **state) {
    (void)state;
    const float grey[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    rows_are(grey, 2, 2, 1, (at_image_values){.patch = 1}, NULL, 2, 2, grey);
    rows_are(grey, 4, 4, 1, (at_image_values){.patch = 2}, NULL, 2, 2,
             (const float[]){0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15});
    /* 3 x 3 in patches of 2: one pixel more is wanted, below and right. */
    rows_are(grey, 3, 3, 1, (at_image_values){.patch = 2}, NULL, 2, 2,
             (const float[]){0, 1, 3, 4, 2, 2, 5, 5, 6, 7, 6, 7, 8, 8, 8, 8});
    /* 1 x 4 in one patch of 4: three rows more, of which one stands above. */
    rows_are(grey, 1, 4, 1, (at_image_values){.patch = 4}, NULL, 1, 1,
             (const float[]){0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
    /* Patches of 3, a pixel apart, around every pixel. */
    rows_are(grey, 1, 2, 1, (at_image_values){.patch = 3, .stride = 1}, NULL, 1, 2,
             (const float[]){0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1});
    rows_are(grey, 1, 2, 3, (at_image_values){.patch = 2}, NULL, 1, 1,
             (const float[]){0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
    rows_are(grey, 2, 2, 1, (at_image_values){.patch = 1, .size = "1x1"}, NULL, 1, 1,
             (const float[]){2}); /* 1.5 */
}

/* What training does: for any seed, one of what can be. */
static void test_augmentation(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const float samples[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const int64_t side = 3;
    attn_dataset *data = NULL;
    at_encoded *encoded = NULL;
    expect_ok(context, attn_dataset_from_images(context, samples, &side, &side, 1, 1, &data));
    at_input *shifting = view_of(context, data, (at_image_values){.patch = 3, .shift = 1});
    at_input *flipping = view_of(context, data, (at_image_values){.patch = 3, .flip = AT_FLIP_BOTH});
    at_input *erasing = view_of(context, data, (at_image_values){.patch = 3, .erase = 1, .erase_size = 0.3});
    at_input *turning =
        view_of(context, data, (at_image_values){.patch = 3, .rotate = 20, .zoom = 0.2, .shear = 0.2});
    int shifts[3][3] = {{0}}, flips[4] = {0}, places[9] = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        at_image_batch *batch = rows_of(context, shifting, data, &seed, &encoded);
        int down = (int)(5 - batch->numbers[4] + 4) / 3 - 1, along = (int)(5 - batch->numbers[4]) - 3 * down;
        assert_true(down >= -1 && down <= 1 && along >= -1 && along <= 1);
        shifts[down + 1][along + 1]++;
        for (int i = 0; i < 9; i++) {
            int y = i / 3 - down, x = i % 3 - along;
            y = y < 0 ? 0 : y > 2 ? 2 : y;
            x = x < 0 ? 0 : x > 2 ? 2 : x;
            assert_true(batch->numbers[i] == samples[3 * y + x]);
        }
        at_image_kind.free_batch(&batch->batch);
        at_image_kind.free_encoded(encoded);
        batch = rows_of(context, flipping, data, &seed, &encoded);
        int which = batch->numbers[0] == 1 ? 0 : batch->numbers[0] == 3 ? 1 : batch->numbers[0] == 7 ? 2 : 3;
        flips[which]++;
        for (int i = 0; i < 9; i++)
            assert_true(batch->numbers[i] ==
                        samples[3 * (which & 2 ? 2 - i / 3 : i / 3) + (which & 1 ? 2 - i % 3 : i % 3)]);
        at_image_kind.free_batch(&batch->batch);
        at_image_kind.free_encoded(encoded);
        batch = rows_of(context, erasing, data, &seed, &encoded);
        int erased = 0;
        for (int i = 0; i < 9; i++) {
            assert_true(batch->numbers[i] == samples[i] || batch->numbers[i] == 0);
            erased += batch->numbers[i] == 0;
            places[i] += batch->numbers[i] == 0;
        }
        assert_int_equal(erased, 1); /* 0.3 of three pixels are less than one: it is one, at least */
        at_image_kind.free_batch(&batch->batch);
        at_image_kind.free_encoded(encoded);
        batch = rows_of(context, turning, data, &seed, &encoded);
        assert_true(batch->numbers[4] == 5);
        for (int i = 0; i < 9; i++) assert_true(batch->numbers[i] >= 1 && batch->numbers[i] <= 9);
        at_image_kind.free_batch(&batch->batch);
        at_image_kind.free_encoded(encoded);
    }
    for (int i = 0; i < 9; i++) assert_true(shifts[i / 3][i % 3] > 3 && places[i] > 5 && flips[i % 4] > 25);
    at_image_kind.destroy(shifting);
    at_image_kind.destroy(flipping);
    at_image_kind.destroy(erasing);
    at_image_kind.destroy(turning);
    attn_dataset_destroy(data);
}

/* What is learned of the channels, and what is left to the data. */
static void test_learned(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const float samples[] = {0, 10, 7, 4, 20, 7};
    const int64_t heights[] = {1, 1}, widths[] = {1, 1};
    attn_dataset *data = NULL;
    expect_ok(context, attn_dataset_from_images(context, samples, heights, widths, 3, 2, &data));
    at_input *input = NULL;
    const at_input_use use = {.task = "classify"};
    at_image_values values = {.patch = 1, .longest = 10, .size = "0", .channels = AT_CHANNELS_COLOUR};
    expect_ok(context, at_image_kind.create(context, &values, &use, &input));
    expect_ok(context, at_image_kind.learn(input, &(at_learning){.examples = data}));
    const at_image_input *own = at_image_input_of(input);
    assert_true(own->mean[0] == 2 && own->deviation[0] == 2);
    assert_true(own->mean[1] == 15 && own->deviation[1] == 5);
    assert_true(own->mean[2] == 7 && own->deviation[2] == 1); /* constant */
    at_image_kind.destroy(input);
    attn_dataset_destroy(data);
}

static void chooses(int64_t height, int64_t width, const char *size, const char *patch, const char *stride,
                    const char *rows) {
    attn_context *context = test_best_context(1);
    attn_dataset *data = NULL;
    float *samples = calloc((size_t)(2 * height * width), sizeof *samples);
    const int64_t heights[] = {height, height}, widths[] = {width, width};
    expect_ok(context, attn_dataset_from_images(context, samples, heights, widths, 1, 2, &data));
    expect_ok(context, attn_dataset_set_targets(data, 1, (const char *const[]){"y"},
                                                (const char *const[]){"a", "b"}, 0));
    attn_config *config = config_of(context, "classify",
                                    (const char *const[]){"training.steps", "1", "image.size", size, NULL});
    train(context, config, data, data, "chosen", 0, 0);
    attn_model *model = load(context, "chosen");
    attn_config *chosen = attn_model_config(model);
    assert_string_equal(attn_config_get(chosen, "image.patch"), patch);
    assert_string_equal(attn_config_get(chosen, "image.stride"), stride);
    assert_string_equal(attn_config_get(chosen, "image.rows"), rows);
    attn_model_destroy(model);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    free(samples);
}

static void test_chosen(void **state) {
    (void)state;
    chooses(4, 4, "0", "3", "1", "16");
    chooses(8, 8, "0", "3", "1", "64");
    chooses(16, 16, "0", "4", "2", "64");
    chooses(28, 28, "0", "8", "4", "64");
    chooses(100, 64, "0", "16", "8", "64");
    chooses(5, 3, "28x40", "8", "4", "64");
    chooses(250, 200, "0", "32", "16", "256");
}

/* ---- what does not fit ---- */

static void refuse_training(const char *task, const char *const *sets, const attn_dataset *data,
                            const char *part) {
    attn_context *context = test_best_context(1);
    attn_config *config = config_of(context, task, sets);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    attn_trainer *trainer = NULL;
    expect_refused(context, attn_trainer_create(config, data, data, &options, &trainer),
                   ATTN_INVALID_ARGUMENT, part);
    attn_config_destroy(config);
}

static void test_refusals(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    attn_dataset *data = labelled(context, learned, learned->labels);
    refuse_training("lm", NULL, data, "the patches of a picture are no symbols");
    refuse_training("tag", NULL, data, "task tag needs a target for each patch");
    refuse_training("classify", (const char *const[]){"image.size", "3x", NULL}, data,
                    "image.size is \"3x\"");
    refuse_training("classify", (const char *const[]){"image.patch", "2", "image.stride", "3", NULL}, data,
                    "image.stride (3) is more than image.patch (2)");
    refuse_training("classify", (const char *const[]){"image.patch", "1", "image.longest", "15", NULL}, data,
                    "patches of 1 x 1 pixels, more than image.longest (15): make it smaller");
    refuse_training("classify", (const char *const[]){"text.unit", "words", NULL}, data,
                    "text.unit is for input text");
    expect_ok(context, attn_dataset_set_targets(data, 1, (const char *const[]){"label"}, learned->labels, 1));
    refuse_training("tag", NULL, data, "task tag needs a target for each patch");
    attn_dataset_destroy(data);
    attn_config *config =
        tiny_config_of(context, "vectors", (const char *const[]){"encoder.position", "grid", NULL});
    attn_reader_options options;
    expect_refused(context, attn_config_reader(config, &options), ATTN_INVALID_ARGUMENT,
                   "input vectors has no grid: encoder.position can be none");
    attn_config_destroy(config);
    free(learned);
}

/* A file whose statistics are gone, and a picture that is too large for a model. */
static void test_models(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    attn_dataset *data = labelled(context, learned, learned->labels), *large = NULL;
    attn_config *config =
        config_of(context, "classify",
                  (const char *const[]){"training.steps", "3", "image.patch", "2", "image.longest", "16",
                                        "encoder.position", "learned", NULL});
    train(context, config, data, data, "model", 0, 0);
    attn_model *model = load(context, "model");
    attn_predictor *predictor = NULL;
    attn_prediction *prediction = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    const int64_t height = 9, width = 8;
    expect_ok(context, attn_dataset_from_images(context, learned->samples, &height, &width, 1, 1, &large));
    expect_refused(context, attn_predictor_predict(predictor, large, &prediction), ATTN_INVALID_ARGUMENT,
                   "memory: picture 0 has 20 patches of 2 x 2 pixels, more than image.longest (16)");
    attn_dataset_destroy(large);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_config_destroy(config);
    attn_dataset_destroy(data);
    size_t length = 0;
    char *bytes = file_bytes(path_of("model"), &length);
    for (size_t i = 0; i + 14 < length; i++) {
        if (memcmp(bytes + i, "image.mean", 10) == 0) bytes[i + 9] = 'x';
        if (memcmp(bytes + i, "attn.checksums", 14) == 0) bytes[i] = 'x'; /* they would tell */
    }
    FILE *file = fopen(path_of("damaged"), "wb");
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
    free(bytes);
    expect_refused(context, attn_model_load(context, path_of("damaged"), &model), ATTN_INVALID_ARGUMENT,
                   "image.mean and image.deviation are missing");
    free(learned);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_encoder), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),         cmocka_unit_test(test_resume),
        cmocka_unit_test(test_threads),       cmocka_unit_test(test_alone_and_together),
        cmocka_unit_test(test_patches),       cmocka_unit_test(test_augmentation),
        cmocka_unit_test(test_learned),       cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
