/* test_speech_training.c: networks that learn from recordings of tones: a class, a number, a text, a label
 * for every frame; the same bits after a stop, with one thread and two, and from the file; features that were
 * computed elsewhere; what is asked of predictions.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "support/contexts.h"
#include "support/random.h"
#include "support/sounds.h"
#include "support/training.h"

enum { RATE = 8000, RECORDINGS = 48, PART = 1200, MOST = 3 * PART * RECORDINGS };

static char folder[] = "/tmp/attn_speech_XXXXXX";

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

/* Recordings of two or three tones, low, middle or high: each is a segment. Its class is its first tone, its
 * number how high its tones are in the mean, its text their letters. */
typedef struct problem {
    float samples[MOST];
    int64_t offsets[RECORDINGS + 1], segments[RECORDINGS + 1];
    int64_t starts[3 * RECORDINGS], ends[3 * RECORDINGS];
    const char *labels[3 * RECORDINGS], *classes[RECORDINGS], *texts[RECORDINGS];
    char letters[RECORDINGS][8];
    double numbers[RECORDINGS];
} problem;

static problem *make_problem(uint64_t seed) {
    static const char *const names[] = {"low", "middle", "high"};
    static const double tones[] = {300, 900, 2200};
    problem *made = calloc(1, sizeof *made);
    assert_non_null(made);
    test_random random = {seed * 2 + 1};
    for (int64_t r = 0, s = 0; r < RECORDINGS; r++) {
        int64_t parts = random_between(&random, 2, 3), at = made->offsets[r], begin = at;
        int before = -1;
        for (int64_t p = 0; p < parts; p++, s++) {
            int tone = (int)random_between(&random, 0, 2);
            if (tone == before) tone = (tone + 1) % 3;
            int64_t count = random_between(&random, PART / 2, PART);
            sound_tone(made->samples + at, count, RATE, tones[tone], 0.4, seed + (uint64_t)s);
            made->starts[s] = at - begin;
            made->ends[s] = at - begin + count;
            made->labels[s] = names[tone];
            made->letters[r][strlen(made->letters[r])] = "lmh"[tone];
            if (p == 0) made->classes[r] = names[tone];
            at += count;
            before = tone;
            made->numbers[r] += tone / (double)parts;
        }
        made->texts[r] = made->letters[r];
        made->segments[r + 1] = s;
        made->offsets[r + 1] = at;
    }
    return made;
}

static attn_dataset *dataset_of(attn_context *context, const problem *from, const char *task) {
    attn_dataset *dataset = NULL;
    const char *const name[] = {"target"};
    expect_ok(context,
              attn_dataset_from_samples(context, from->samples, from->offsets, RECORDINGS, RATE, &dataset));
    if (strcmp(task, "tag") == 0) {
        expect_ok(context, attn_dataset_set_segments(dataset, from->segments, from->starts, from->ends));
        expect_ok(context, attn_dataset_set_targets(dataset, 1, name, from->labels, 1));
    } else if (strcmp(task, "regress") == 0) {
        expect_ok(context, attn_dataset_set_numbers(dataset, 1, name, from->numbers, 0));
    } else {
        expect_ok(context,
                  attn_dataset_set_targets(dataset, 1, name,
                                           strcmp(task, "classify") == 0 ? from->classes : from->texts, 0));
    }
    return dataset;
}

static attn_config *config_of(attn_context *context, const char *task, const char *const *sets) {
    attn_config *config = tiny_config_of(context, "speech", NULL);
    expect_ok(context, attn_config_set(config, "task", task));
    expect_ok(context, attn_config_set(config, "speech.bins", "20"));
    for (; sets && *sets; sets += 2) expect_ok(context, attn_config_set(config, sets[0], sets[1]));
    return config;
}

static int watch(void *user, const attn_training_state *state) {
    int64_t at = *(const int64_t *)user;
    return at > 0 && state->event == ATTN_TRAINING_STEP && state->step == at;
}

/* One run; stop 0: to the end. */
static void train(attn_context *context, const char *task, const problem *from, const problem *other,
                  const char *const *sets, const char *name, int64_t stop, int resume) {
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
    attn_config *config = config_of(context, task, sets);
    attn_dataset *data = dataset_of(context, from, task), *dev = dataset_of(context, other, task);
    expect_ok(context, attn_trainer_create(config, data, dev, &options, &trainer));
    expect_ok(context, attn_trainer_run(trainer));
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(data);
    attn_dataset_destroy(dev);
    attn_config_destroy(config);
}

static double metric_of(attn_context *context, const char *name, const char *task, const problem *from,
                        const char *metric) {
    attn_model *model = NULL;
    attn_predictor *predictor = NULL;
    attn_report *report = NULL;
    attn_dataset *data = dataset_of(context, from, task);
    expect_ok(context, attn_model_load(context, path_of(name), &model));
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_report_create(predictor, data, &report));
    double value = attn_report_metric(report, metric);
    attn_report_destroy(report);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_dataset_destroy(data);
    return value;
}

/* ---- it learns ---- */

static const char *const longer[] = {"training.epochs", "50", "training.batch_units", "200", NULL};

static void test_tasks(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1), *other = make_problem(2);
    static const struct {
        const char *task, *metric;
        double least;
    } cases[] = {{"tag", "accuracy", 0.93}, {"classify", "accuracy", 0.95}, {"regress", "correlation", 0.8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        train(context, cases[i].task, learned, other, longer, "task", 0, 0);
        double found = metric_of(context, "task", cases[i].task, other, cases[i].metric);
        if (!(found > cases[i].least)) fail_msg("%s: %s %g", cases[i].task, cases[i].metric, found);
    }
    free(learned);
    free(other);
}

static void test_texts(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1), *other = make_problem(2);
    /* A mask might hide a tone: no text could tell of it. */
    const char *const sets[] = {"training.epochs",
                                "80",
                                "training.batch_units",
                                "60",
                                "encoder.columns",
                                "32",
                                "speech.stack",
                                "5",
                                "speech.stride",
                                "5",
                                "speech.time_masks",
                                "0",
                                "training.learning_rate",
                                "0.004",
                                NULL};
    train(context, "seq2seq", learned, other, sets, "text", 0, 0);
    double found = metric_of(context, "text", "seq2seq", other, "exact_match");
    if (!(found > 0.8)) fail_msg("exact %g", found);
    free(learned);
    free(other);
}

/* ---- the same bits ---- */

static void test_same_bits(void **state) {
    (void)state;
    problem *learned = make_problem(1), *other = make_problem(2);
    const char *const sets[] = {
        "training.epochs", "3", "speech.dropout", "0.1", "encoder.dropout", "0.1", NULL};
    for (int t = 0; t < 2; t++) {
        const char *task = t ? "tag" : "classify";
        train(test_best_context(1), task, learned, other, sets, "whole", 0, 0);
        train(test_best_context(2), task, learned, other, sets, "threads", 0, 0);
        char first[100];
        snprintf(first, sizeof first, "%s", path_of("whole"));
        assert_true(same_files(first, path_of("threads")));
        train(test_best_context(1), task, learned, other, sets, "stopped", 7, 0);
        train(test_best_context(2), task, learned, other, sets, "stopped", 0, 1);
        assert_true(same_files(first, path_of("stopped")));
    }
    free(learned);
    free(other);
}

/* ---- predictions ---- */

static void test_answers(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    problem *learned = make_problem(1);
    train(context, "tag", learned, learned, longer, "answers", 0, 0);
    attn_model *model = NULL;
    attn_predictor *predictor = NULL;
    attn_dataset *data = dataset_of(context, learned, "tag"), *one = NULL;
    const int64_t zero = 0;
    const char *text;
    size_t length;
    attn_write_options options;
    attn_write_options_init(&options);
    expect_ok(context, attn_model_load(context, path_of("answers"), &model));
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_dataset_select(data, &zero, 1, &one));
    expect_ok(context, attn_predictor_write(predictor, one, &options, &text, &length));
    double end = 0, last = 0, begin, probability;
    char label[20], name[20];
    int lines = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1, lines++) {
        assert_int_equal(sscanf(at, "%19s %lf %lf %19s %lf", name, &begin, &end, label, &probability), 5);
        assert_true(begin == last && end > begin && probability > 0 && probability <= 1);
        last = end;
    }
    double seconds = (double)learned->offsets[1] / RATE;
    assert_true(fabs(end - seconds) < 1e-4);
    assert_true(lines >= 2 && lines < 12);
    /* a line a frame, and JSON */
    expect_ok(context, attn_predictor_set(predictor, "frames", "true"));
    expect_ok(context, attn_predictor_write(predictor, one, &options, &text, &length));
    int64_t frames = 1 + (learned->offsets[1] - 200) / 80;
    lines = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1) lines++;
    assert_int_equal(lines, frames);
    expect_ok(context, attn_predictor_set(predictor, "frames", "false"));
    options.json = 1;
    expect_ok(context, attn_predictor_write(predictor, one, &options, &text, &length));
    assert_non_null(strstr(text, "\"outputs\":{\"target\":[{\"start\":0.0000,\"end\":"));
    attn_dataset_destroy(one);
    attn_dataset_destroy(data);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    free(learned);
}

/* ---- features ---- */

static void write_features(const char *name, double level, uint64_t seed) {
    char bytes[4000], dict[120];
    float numbers[60];
    int length =
        snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': False, 'shape': (20, 3), }\n");
    sound_tone(numbers, 60, 10, 1, 0.1, seed);
    for (int i = 0; i < 60; i += 3) numbers[i] += (float)level;
    memcpy(bytes, "\x93NUMPY\1\0", 8);
    bytes[8] = (char)length;
    bytes[9] = 0;
    memcpy(bytes + 10, dict, (size_t)length);
    memcpy(bytes + 10 + length, numbers, sizeof numbers);
    sound_write(folder, name, bytes, 10 + (size_t)length + sizeof numbers);
}

static void test_features(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    char list[2000] = "", name[20];
    for (int i = 0; i < 24; i++) {
        snprintf(name, sizeof name, "f%d.npy", i);
        write_features(name, i % 2, (uint64_t)i);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s\t%s\n", name, i % 2 ? "odd" : "even");
    }
    attn_config *config =
        config_of(context, "classify", (const char *const[]){"training.epochs", "20", NULL});
    attn_reader_options options;
    attn_dataset *data = NULL;
    expect_ok(context, attn_config_reader(config, &options));
    expect_ok(context, attn_dataset_read(context, sound_write_text(folder, "f.tsv", list), &options, &data));
    attn_trainer_options training;
    attn_trainer_options_init(&training);
    training.output = path_of("features");
    training.force = 1;
    attn_trainer *trainer = NULL;
    expect_ok(context, attn_trainer_create(config, data, data, &training, &trainer));
    expect_ok(context, attn_trainer_run(trainer));
    attn_trainer_destroy(trainer);
    attn_model *model = NULL;
    attn_predictor *predictor = NULL;
    attn_report *report = NULL;
    expect_ok(context, attn_model_load(context, path_of("features"), &model));
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_report_create(predictor, data, &report));
    assert_true(attn_report_metric(report, "accuracy") == 1);
    attn_report_destroy(report);
    /* recordings are no features */
    problem *other = make_problem(1);
    attn_dataset *sounds = dataset_of(context, other, "classify");
    expect_refused(context, attn_report_create(predictor, sounds, &report), ATTN_INVALID_ARGUMENT,
                   "has recordings, the model learned from features");
    attn_dataset_destroy(sounds);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks),   cmocka_unit_test(test_texts),    cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_answers), cmocka_unit_test(test_features),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
