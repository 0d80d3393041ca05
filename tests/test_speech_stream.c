/* test_speech_stream.c: recordings that come in pieces: the answers are those of the whole recording, for
 * every encoder that looks only so far, however the pieces are cut; when they come; what is refused, and why.
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
#include "support/memory.h"
#include "support/random.h"
#include "support/sounds.h"
#include "support/training.h"

enum { RATE = 8000, RECORDINGS = 4, SAMPLES = 12000, LONG = 60000 };

static char folder[] = "/tmp/attn_stream_XXXXXX";

static int setup(void **state) { return test_contexts_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0; }
static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- models ---- */

/* Tones that change; half of a recording has one label, half another. */
static void make_sound(float *samples, int64_t count, uint64_t seed) {
    test_random random = {seed * 2 + 1};
    for (int64_t at = 0; at < count;) {
        int64_t part = random_between(&random, 300, 1500);
        if (part > count - at) part = count - at;
        sound_tone(samples + at, part, RATE, (double)random_between(&random, 200, 3000), 0.4,
                   seed + (uint64_t)at);
        at += part;
    }
}

static attn_dataset *labelled(attn_context *context) {
    static float samples[RECORDINGS * SAMPLES];
    const char *const column[] = {"phone"};
    const char *labels[2 * RECORDINGS];
    int64_t offsets[RECORDINGS + 1], segments[RECORDINGS + 1];
    int64_t starts[2 * RECORDINGS], ends[2 * RECORDINGS];
    attn_dataset *dataset = NULL;
    make_sound(samples, RECORDINGS * SAMPLES, 3);
    for (int r = 0; r <= RECORDINGS; r++) offsets[r] = r * SAMPLES, segments[r] = 2 * r;
    for (int s = 0; s < 2 * RECORDINGS; s++) {
        starts[s] = s % 2 * (SAMPLES / 2);
        ends[s] = starts[s] + SAMPLES / 2;
        labels[s] = s % 3 == 0 ? "a" : s % 3 == 1 ? "b" : "c";
    }
    expect_ok(context, attn_dataset_from_samples(context, samples, offsets, RECORDINGS, RATE, &dataset));
    expect_ok(context, attn_dataset_set_segments(dataset, segments, starts, ends));
    expect_ok(context, attn_dataset_set_targets(dataset, 1, column, labels, 1));
    return dataset;
}

/* A model after a few steps; sets: name, value, ..., NULL. The caller destroys it. */
static attn_model *make_model(attn_context *context, const char *task, const char *const *sets) {
    char path[100];
    attn_trainer_options options;
    attn_trainer *trainer = NULL;
    attn_model *model = NULL;
    attn_config *config = tiny_config_of(context, "speech", NULL);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    expect_ok(context, attn_config_set(config, "task", task));
    expect_ok(context, attn_config_set(config, "speech.bins", "12"));
    expect_ok(context, attn_config_set(config, "training.epochs", "1"));
    expect_ok(context, attn_config_set(config, "encoder.layers", "2"));
    /* What streams: whatever is the default of the task. */
    static const char *const basis[] = {"speech.stem",   "5",  "speech.normalize", "corpus",
                                        "speech.stack",  "1",  "encoder.left",     "-1",
                                        "encoder.right", "-1", "output.members",   "1"};
    for (int i = 0; i < 12; i += 2) expect_ok(context, attn_config_set(config, basis[i], basis[i + 1]));
    for (; *sets; sets += 2) expect_ok(context, attn_config_set(config, sets[0], sets[1]));
    attn_trainer_options_init(&options);
    options.output = path;
    options.force = 1;
    attn_dataset *data = labelled(context);
    if (strcmp(task, "classify") == 0) {
        const char *const column[] = {"speaker"};
        const char *const classes[RECORDINGS] = {"x", "y", "x", "y"};
        static float samples[RECORDINGS * 2000];
        int64_t offsets[RECORDINGS + 1] = {0, 2000, 4000, 6000, 8000};
        make_sound(samples, RECORDINGS * 2000, 9);
        attn_dataset_destroy(data);
        expect_ok(context, attn_dataset_from_samples(context, samples, offsets, RECORDINGS, RATE, &data));
        expect_ok(context, attn_dataset_set_targets(data, 1, column, classes, 0));
    }
    expect_ok(context, attn_trainer_create(config, data, data, &options, &trainer));
    expect_ok(context, attn_trainer_run(trainer));
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    expect_ok(context, attn_model_load(context, path, &model));
    return model;
}

/* ---- offline against stream ---- */

enum { LABELS = 3 };

typedef struct answers {
    int64_t rows;
    int64_t *classes;
    double *probabilities; /* [rows][LABELS] */
} answers;

static void take(answers *into, const attn_prediction *prediction, int64_t unit, int64_t count) {
    into->classes = realloc(into->classes, (size_t)(into->rows + count + 1) * sizeof *into->classes);
    into->probabilities = realloc(into->probabilities,
                                  (size_t)((into->rows + count) * LABELS + 1) * sizeof *into->probabilities);
    assert_non_null(into->classes);
    assert_non_null(into->probabilities);
    for (int64_t i = 0; i < count; i++, into->rows++) {
        into->classes[into->rows] = attn_prediction_class(prediction, 0, 0, unit + i);
        for (int l = 0; l < LABELS; l++)
            into->probabilities[into->rows * LABELS + l] =
                attn_prediction_probability(prediction, 0, 0, unit + i, l);
    }
}

static void forget(answers *one) {
    free(one->classes);
    free(one->probabilities);
    memset(one, 0, sizeof *one);
}

static answers offline(attn_context *context, attn_predictor *predictor, const float *samples,
                       int64_t count) {
    answers made = {0};
    attn_dataset *dataset = NULL;
    attn_prediction *prediction = NULL;
    int64_t offsets[2] = {0, count};
    expect_ok(context, attn_dataset_from_samples(context, samples, offsets, 1, RATE, &dataset));
    expect_ok(context, attn_predictor_predict(predictor, dataset, &prediction));
    take(&made, prediction, 0, attn_prediction_units(prediction, 0));
    attn_prediction_destroy(prediction);
    attn_dataset_destroy(dataset);
    return made;
}

/* All that can be answered now. */
static int drain(attn_context *context, attn_stream *stream, answers *into) {
    attn_stream_answers now = {.size = sizeof now};
    do {
        expect_ok(context, attn_stream_next(stream, &now));
        assert_true(now.row == into->rows);
        if (now.count > 0) {
            attn_stream_delay delay = {.size = sizeof delay};
            char time[32];
            expect_ok(context, attn_stream_delay_of(stream, &delay));
            const char *name = attn_prediction_unit(now.prediction, 0, now.unit);
            double center = atof(name) - (double)now.row * delay.row_seconds; /* that of the first row */
            snprintf(time, sizeof time, "%.4f",
                     center + (double)(now.row + now.count - 1) * delay.row_seconds);
            assert_string_equal(attn_prediction_unit(now.prediction, 0, now.unit + now.count - 1), time);
            take(into, now.prediction, now.unit, now.count);
        } else {
            assert_null(now.prediction);
        }
        assert_int_equal(strlen(now.text), now.length);
    } while (now.count > 0);
    return now.ended;
}

static answers streamed(attn_context *context, attn_predictor *predictor, const float *samples, int64_t count,
                        int64_t piece, int64_t chunk) {
    answers made = {0};
    attn_stream *stream = NULL;
    attn_stream_options options;
    attn_stream_options_init(&options);
    options.chunk = chunk;
    expect_ok(context, attn_stream_create(predictor, &options, &stream));
    for (int64_t i = 0; i < count; i += piece) {
        expect_ok(context, attn_stream_push(stream, samples + i, count - i < piece ? count - i : piece));
        assert_false(drain(context, stream, &made));
    }
    expect_ok(context, attn_stream_end(stream));
    assert_true(drain(context, stream, &made));
    expect_refused(context, attn_stream_push(stream, samples, 1), ATTN_INVALID_ARGUMENT, "ended");
    attn_stream_destroy(stream);
    return made;
}

static void check_same(const char *name, const answers *a, const answers *b) {
    if (a->rows != b->rows) fail_msg("%s: %lld rows, not %lld", name, (long long)b->rows, (long long)a->rows);
    for (int64_t i = 0; i < a->rows * LABELS; i++)
        if (!(fabs(a->probabilities[i] - b->probabilities[i]) <= 2e-6))
            fail_msg("%s: row %lld label %lld: %.8f, not %.8f", name, (long long)(i / LABELS),
                     (long long)(i % LABELS), b->probabilities[i], a->probabilities[i]);
    for (int64_t r = 0; r < a->rows; r++) { /* the label, unless two are as likely */
        const double *p = &a->probabilities[r * LABELS];
        double best = fmax(p[0], fmax(p[1], p[2]));
        int close = 0;
        for (int l = 0; l < LABELS; l++) close += best - p[l] < 1e-5;
        if (close == 1 && a->classes[r] != b->classes[r]) fail_msg("%s: row %lld", name, (long long)r);
    }
}

static const struct {
    const char *name;
    const char *sets[17];
} models[] = {
    {"attention", {"encoder.left", "3", "encoder.right", "3", NULL}},
    {"uneven", {"encoder.left", "7", "encoder.right", "1", NULL}},
    {"itself", {"encoder.left", "0", "encoder.right", "0", NULL}},
    {"causal", {"encoder.left", "5", "encoder.causal", "true", NULL}},
    {"alibi", {"encoder.left", "4", "encoder.right", "4", "encoder.position", "alibi", NULL}},
    {"relative",
     {"encoder.left", "4", "encoder.right", "4", "encoder.position", "relative", "speech.stem", "5", NULL}},
    {"additive",
     {"encoder.left", "4", "encoder.right", "4", "encoder.position", "none", "encoder.score", "additive",
      NULL}},
    {"cnn", {"encoder.kind", "cnn", "encoder.width", "4", "encoder.dilation", "2", NULL}},
    {"fc", {"encoder.kind", "fc", "encoder.width", "5", "speech.stem", "4", NULL}},
    {"mix", {"encoder.mix", "attention,cnn", "encoder.left", "3", "encoder.right", "2", NULL}},
    {"mean",
     {"encoder.kind", "mean", "encoder.left", "3", "encoder.right", "2", "encoder.position", "none", NULL}},
    {"ensemble", {"encoder.left", "3", "encoder.right", "3", "output.members", "2", NULL}},
    {"stack", {"encoder.left", "3", "encoder.right", "3", "speech.stack", "5", NULL}},
    {"stride", {"encoder.left", "3", "encoder.right", "3", "speech.stack", "3", "speech.stride", "3", NULL}},
    {"sparse", {"encoder.left", "3", "encoder.right", "3", "speech.stack", "2", "speech.stride", "5", NULL}},
    {"wide", {"encoder.left", "2", "encoder.right", "2", "speech.stack", "8", "speech.stride", "3", NULL}},
    {"mfcc",
     {"encoder.left", "3", "encoder.right", "3", "speech.features", "mfcc", "speech.cepstra", "8",
      "speech.deltas", "2", "speech.stem", "3", NULL}},
    {"running mean", {"encoder.left", "3", "encoder.right", "3", "speech.normalize", "running", NULL}},
    {"centred",
     {"encoder.left", "3", "encoder.right", "3", "speech.centered", "true", "speech.normalize", "none",
      "speech.floor", "1", NULL}},
    {"stacked deltas",
     {"encoder.left", "3", "encoder.right", "3", "speech.deltas", "1", "speech.stack", "4", "speech.stride",
      "2", NULL}},
};
enum { MODELS = sizeof models / sizeof models[0] };

static void test_streams_are_the_whole(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static float samples[LONG];
    make_sound(samples, LONG, 21);
    for (int m = 0; m < MODELS; m++) {
        attn_model *model = make_model(context, "tag", models[m].sets);
        attn_predictor *predictor = NULL;
        expect_ok(context, attn_predictor_create(model, context, &predictor));
        static const int64_t lengths[] = {1, 100, 199, 200, 201, 280, 1000, 5003, 17777};
        for (int l = 0; l < 9; l++) {
            int64_t count = lengths[l];
            answers whole = offline(context, predictor, samples, count);
            static const int64_t cuts[][2] = {{7, 1}, {80, 3}, {1000, 0}, {333, 40}, {LONG, 5}};
            for (int c = 0; c < 5; c++) {
                if (count > 6000 && c == 0) continue; /* time */
                answers pieces = streamed(context, predictor, samples, count, cuts[c][0], cuts[c][1]);
                char name[80];
                snprintf(name, sizeof name, "%s, %d samples, cut %d", models[m].name, (int)count, c);
                check_same(name, &whole, &pieces);
                forget(&pieces);
            }
            forget(&whole);
        }
        attn_predictor_destroy(predictor);
        attn_model_destroy(model);
    }
}

/* A recording longer than the model's longest is cut when it is read as a whole, and never in a stream: with
 * a longest that is long enough the answers are the same. */
static void test_long_recordings_are_not_cut(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static float samples[LONG];
    make_sound(samples, LONG, 5);
    const char *sets[] = {"encoder.left", "4", "encoder.right", "4", "speech.longest", "50", NULL};
    attn_model *model = make_model(context, "tag", sets);
    attn_predictor *predictor = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    answers small = streamed(context, predictor, samples, LONG, 500, 10);
    answers large = streamed(context, predictor, samples, LONG, LONG, 1000);
    check_same("chunks", &large, &small);
    assert_int_equal(small.rows, 748);
    forget(&small);
    forget(&large);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
}

/* Row r is answered with the sample that the delay promises, and not one chunk before. */
static void test_delay_is_kept(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static float samples[8000];
    make_sound(samples, 8000, 8);
    const char *sets[] = {"encoder.left", "3", "encoder.right", "3", "speech.stem", "5", "speech.deltas", "1",
                          "speech.stack", "3", "speech.stride", "2", NULL};
    attn_model *model = make_model(context, "tag", sets);
    attn_predictor *predictor = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    for (int64_t chunk = 1; chunk <= 9; chunk += 4) {
        attn_stream *stream = NULL;
        attn_stream_options options;
        attn_stream_delay delay = {.size = sizeof delay};
        attn_stream_options_init(&options);
        options.chunk = chunk;
        expect_ok(context, attn_stream_create(predictor, &options, &stream));
        expect_ok(context, attn_stream_delay_of(stream, &delay));
        assert_int_equal(delay.right, 3 + 3 + 2);
        assert_int_equal(delay.left, 3 + 3 + 2 + 0);
        assert_int_equal(delay.rate, RATE);
        assert_true(fabs(delay.row_seconds - 0.02) < 1e-9);
        double worst = 0, most = 0;
        for (int64_t i = 0; i < 8000; i += 8) {
            attn_stream_answers now = {.size = sizeof now};
            expect_ok(context, attn_stream_push(stream, samples + i, 8));
            expect_ok(context, attn_stream_next(stream, &now));
            if (now.count == 0) continue;
            assert_int_equal(now.count, chunk);
            double heard = (double)(i + 8) / RATE;
            double waited = heard - atof(attn_prediction_unit(now.prediction, 0, now.unit));
            double ahead = heard - atof(attn_prediction_unit(now.prediction, 0, now.unit + now.count - 1));
            worst = fmax(worst, waited);
            most = fmax(most, ahead);
        }
        assert_true(fabs(worst - delay.seconds) < 0.0011);
        assert_true(fabs(most - delay.ahead_seconds) < 0.0011);
        attn_stream_destroy(stream);
    }
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
}

/* ---- text ---- */

static char *text_of(attn_context *context, attn_predictor *predictor, const char *path, const float *samples,
                     int64_t count, int64_t rate, int json) {
    attn_stream *stream = NULL;
    attn_stream_options options;
    attn_stream_answers now = {.size = sizeof now};
    char *text = calloc(1, 1);
    size_t length = 0;
    attn_stream_options_init(&options);
    options.path = path;
    options.name = "x";
    options.rate = rate;
    options.json = json;
    expect_ok(context, attn_stream_create(predictor, &options, &stream));
    int64_t at = 0;
    do {
        if (!path && at < count) {
            int64_t piece = count - at < 777 ? count - at : 777;
            expect_ok(context, attn_stream_push(stream, samples + at, piece));
            at += piece;
            if (at == count) expect_ok(context, attn_stream_end(stream));
        }
        expect_ok(context, attn_stream_next(stream, &now));
        text = realloc(text, length + now.length + 1);
        assert_non_null(text);
        memcpy(text + length, now.text, now.length + 1);
        length += now.length;
    } while (!now.ended);
    attn_stream_destroy(stream);
    return text;
}

/* A file, its samples, and the whole dataset: the same lines. */
static void test_text_is_that_of_predictions(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static float samples[20000], read[20000];
    make_sound(samples, 20000, 31);
    for (int i = 0; i < 20000; i++) read[i] = rintf(samples[i] * 32768) / 32768; /* as 16 bits have them */
    const char *sets[] = {"encoder.left", "3", "encoder.right", "3", NULL};
    attn_model *model = make_model(context, "tag", sets);
    attn_predictor *predictor = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    const char *path = sound_write_wav(folder, "x.wav", read, 20000, RATE);
    assert_true(attn_stream_takes(predictor, path));
    assert_false(attn_stream_takes(predictor, "list.tsv"));
    for (int frames = 0; frames < 2; frames++) {
        attn_dataset *dataset = NULL;
        attn_write_options options;
        const char *written;
        size_t length;
        int64_t offsets[2] = {0, 20000};
        expect_ok(context, attn_predictor_set(predictor, "frames", frames ? "true" : "false"));
        char *file = text_of(context, predictor, path, NULL, 0, 0, 0);
        char *pushed = text_of(context, predictor, NULL, read, 20000, 0, 0);
        assert_string_equal(file, pushed);
        expect_ok(context, attn_dataset_from_samples(context, read, offsets, 1, RATE, &dataset));
        attn_write_options_init(&options);
        expect_ok(context, attn_predictor_write(predictor, dataset, &options, &written, &length));
        const char *line = file;
        while (*written) { /* all but the name */
            size_t other = strcspn(written, "\t"), own = strcspn(line, "\t"),
                   rest = strcspn(line, "\n") - own;
            assert_int_equal(strcspn(written, "\n") - other, rest);
            assert_memory_equal(line + own, written + other, rest);
            written += other + rest + 1;
            line += own + rest + 1;
        }
        assert_int_equal(*line, 0);
        attn_dataset_destroy(dataset);
        free(file);
        free(pushed);
    }
    expect_ok(context, attn_predictor_set(predictor, "frames", "false"));
    char *json = text_of(context, predictor, NULL, read, 20000, 0, 1);
    assert_memory_equal(json, "{\"start\":0.0000,\"end\":", 22);
    assert_non_null(strstr(json, "\"probability\":"));
    free(json);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
}

/* Samples at another rate: as libsamplerate brings the whole recording to the model's. */
static void test_other_rates(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static float samples[30000];
    make_sound(samples, 30000, 41);
    const char *sets[] = {"encoder.left", "3", "encoder.right", "3", NULL};
    attn_model *model = make_model(context, "tag", sets);
    attn_predictor *predictor = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    static const int64_t rates[] = {16000, 11025, 6000};
    for (int r = 0; r < 3; r++) {
        attn_dataset *dataset = NULL;
        attn_prediction *prediction = NULL;
        int64_t offsets[2] = {0, 30000};
        answers whole = {0}, pieces = {0};
        expect_ok(context, attn_dataset_from_samples(context, samples, offsets, 1, rates[r], &dataset));
        expect_ok(context, attn_predictor_predict(predictor, dataset, &prediction));
        take(&whole, prediction, 0, attn_prediction_units(prediction, 0));
        attn_prediction_destroy(prediction);
        attn_dataset_destroy(dataset);
        attn_stream *stream = NULL;
        attn_stream_options options;
        attn_stream_options_init(&options);
        options.rate = rates[r];
        options.chunk = 4;
        expect_ok(context, attn_stream_create(predictor, &options, &stream));
        for (int64_t i = 0; i < 30000; i += 500) {
            expect_ok(context, attn_stream_push(stream, samples + i, 500));
            drain(context, stream, &pieces);
        }
        expect_ok(context, attn_stream_end(stream));
        assert_true(drain(context, stream, &pieces));
        check_same("rate", &whole, &pieces);
        forget(&whole);
        forget(&pieces);
        attn_stream_destroy(stream);
    }
    attn_stream *none = NULL;
    attn_stream_options wrong;
    attn_stream_options_init(&wrong);
    wrong.rate = 3;
    expect_refused(context, attn_stream_create(predictor, &wrong, &none), ATTN_INVALID_ARGUMENT, "rate is 3");
    wrong.rate = 0;
    wrong.chunk = -1;
    expect_refused(context, attn_stream_create(predictor, &wrong, &none), ATTN_INVALID_ARGUMENT,
                   "chunk is -1");
    wrong.chunk = 0;
    wrong.path = "/nowhere/at/all.wav";
    expect_refused(context, attn_stream_create(predictor, &wrong, &none), ATTN_SYSTEM_ERROR, "all.wav");
    assert_null(none);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
}

/* ---- memory ---- */

/* An allocator that knows how many bytes are in use, and were at most. */
typedef struct metered {
    int64_t now, most;
} metered;

enum { BEFORE = 64 }; /* bytes before a block, which hold its size */

static void *metered_allocate(void *user, size_t bytes, size_t alignment) {
    metered *meter = user;
    assert_true(alignment <= BEFORE);
    size_t whole = (BEFORE + bytes + BEFORE - 1) / BEFORE * BEFORE;
    char *block = aligned_alloc(BEFORE, whole);
    if (!block) return NULL;
    memcpy(block, &bytes, sizeof bytes);
    meter->now += (int64_t)bytes;
    if (meter->now > meter->most) meter->most = meter->now;
    return block + BEFORE;
}

static void metered_release(void *user, void *memory) {
    metered *meter = user;
    size_t bytes;
    if (!memory) return;
    memcpy(&bytes, (char *)memory - BEFORE, sizeof bytes);
    meter->now -= (int64_t)bytes;
    free((char *)memory - BEFORE);
}

/* Twenty times as long a recording takes no byte more. */
static void test_memory_does_not_grow(void **state) {
    (void)state;
    static float samples[8000];
    metered meter = {0, 0};
    attn_context_options options;
    attn_context *context = NULL;
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = (attn_allocator){metered_allocate, metered_release, &meter};
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    const char *sets[] = {"encoder.left", "3", "encoder.right", "3", "speech.deltas", "1", NULL};
    attn_model *model = make_model(context, "tag", sets);
    attn_predictor *predictor = NULL;
    attn_stream *stream = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_stream_create(predictor, NULL, &stream));
    int64_t most = 0, rows = 0;
    meter.most = meter.now;
    for (int second = 0; second < 200; second++) {
        attn_stream_answers now = {.size = sizeof now};
        make_sound(samples, 8000, (uint64_t)second);
        expect_ok(context, attn_stream_push(stream, samples, 8000));
        do {
            expect_ok(context, attn_stream_next(stream, &now));
            rows += now.count;
        } while (now.count > 0);
        if (second == 9) most = meter.most;
    }
    assert_true(rows > 19900);
    assert_int_equal(meter.most, most);
    attn_stream_destroy(stream);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_context_destroy(context);
    assert_int_equal(meter.now, 0);
}

/* Every allocation of a stream fails once: an error, and nothing is lost. */
static void test_out_of_memory(void **state) {
    (void)state;
    static float samples[6000];
    counting_allocator counter = {0, 0, 0, 0};
    attn_context_options options;
    attn_context *context = NULL;
    make_sound(samples, 6000, 77);
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = counting_allocator_functions(&counter);
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    const char *sets[] = {"encoder.left", "3", "encoder.right", "3", "speech.deltas", "1", NULL};
    attn_model *model = make_model(context, "tag", sets);
    for (int64_t fail = 1, done = 0; !done; fail++) {
        attn_predictor *predictor = NULL;
        attn_stream *stream = NULL;
        attn_stream_options given;
        attn_stream_options_init(&given);
        given.rate = fail % 2 ? 11025 : 0;
        expect_ok(context, attn_predictor_create(model, context, &predictor));
        int64_t live = counter.live;
        counter.fail_at = fail;
        attn_status status = attn_stream_create(predictor, &given, &stream);
        for (int64_t i = 0; i < 6000 && status == ATTN_OK; i += 1500) {
            attn_stream_answers now = {.size = sizeof now, .count = 1};
            status = attn_stream_push(stream, samples + i, 1500);
            if (status == ATTN_OK && i == 4500) status = attn_stream_end(stream);
            while (status == ATTN_OK && now.count > 0) status = attn_stream_next(stream, &now);
        }
        assert_true(status == ATTN_OK || status == ATTN_OUT_OF_MEMORY);
        done = status == ATTN_OK && fail > 2;
        counter.fail_at = 0;
        attn_stream_destroy(stream);
        if (!stream) assert_int_equal(counter.live, live);
        attn_predictor_destroy(predictor);
        assert_true(fail < 1000);
    }
    attn_model_destroy(model);
    attn_context_destroy(context);
    assert_int_equal(counter.live, 0);
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const struct {
        const char *task, *part;
        const char *sets[9];
    } cases[] = {
        {"tag", "train with a window (encoder.left and encoder.right 15)", {NULL}},
        {"tag", "encoder.right -1", {"encoder.left", "5", NULL}},
        {"tag", "an rnn depends on the", {"encoder.kind", "rnn", NULL}},
        {"tag", "an rnn depends on the", {"encoder.kind", "rnn", "encoder.directions", "1", NULL}},
        {"tag", "an rnn depends on the", {"encoder.mix", "cnn,rnn", NULL}},
        {"tag", "output.crf=false", {"encoder.left", "3", "encoder.right", "3", "output.crf", "true", NULL}},
        {"tag",
         "(speech.normalize running or corpus)",
         {"encoder.kind", "cnn", "speech.normalize", "utterance", NULL}},
        {"tag",
         "(speech.normalize running or corpus)",
         {"encoder.kind", "cnn", "speech.normalize", "both", NULL}},
        {"tag",
         "rotary, alibi, relative or none",
         {"encoder.left", "3", "encoder.right", "3", "encoder.position", "sinusoidal", NULL}},
        {"tag",
         "rotary, alibi, relative or none",
         {"encoder.left", "3", "encoder.right", "3", "encoder.position", "learned", NULL}},
        {"tag",
         "encoder.score fixed",
         {"encoder.left", "3", "encoder.right", "3", "encoder.position", "none", "encoder.score", "fixed",
          NULL}},
        {"classify", "task classify predicts for a whole recording", {"encoder.kind", "cnn", NULL}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        attn_model *model = make_model(context, cases[c].task, cases[c].sets);
        attn_predictor *predictor = NULL;
        attn_stream *none = NULL;
        expect_ok(context, attn_predictor_create(model, context, &predictor));
        expect_refused(context, attn_stream_create(predictor, NULL, &none), ATTN_UNSUPPORTED, cases[c].part);
        assert_null(none);
        assert_false(attn_stream_takes(predictor, "x.wav"));
        attn_predictor_destroy(predictor);
        attn_model_destroy(model);
    }
}

/* Rows of plain vectors, through the same calls. */
enum { ROWS = 400, COLUMNS = 3 };

static attn_model *make_vectors_model(attn_context *context, const float *rows) {
    const char *labels[ROWS];
    const char *const column[] = {"state"};
    const int64_t offsets[3] = {0, 150, ROWS};
    char path[100];
    attn_dataset *data = NULL;
    attn_trainer *trainer = NULL;
    attn_trainer_options options;
    attn_model *model = NULL;
    for (int i = 0; i < ROWS; i++)
        labels[i] = rows[i * COLUMNS] > 0 ? "a" : rows[i * COLUMNS + 1] > 0 ? "b" : "c";
    attn_config *config = tiny_config_of(context, "vectors", NULL);
    expect_ok(context, attn_config_set(config, "task", "tag"));
    expect_ok(context, attn_config_set(config, "encoder.left", "4"));
    expect_ok(context, attn_config_set(config, "encoder.right", "2"));
    expect_ok(context, attn_config_set(config, "vectors.stem", "3"));
    expect_ok(context, attn_config_set(config, "training.epochs", "2"));
    expect_ok(context, attn_dataset_from_rows(context, rows, COLUMNS, offsets, 2, &data));
    expect_ok(context, attn_dataset_set_targets(data, 1, column, labels, 1));
    snprintf(path, sizeof path, "%s/vectors.safetensors", folder);
    attn_trainer_options_init(&options);
    options.output = path;
    expect_ok(context, attn_trainer_create(config, data, data, &options, &trainer));
    expect_ok(context, attn_trainer_run(trainer));
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
    expect_ok(context, attn_model_load(context, path, &model));
    return model;
}

/* The answers that there are now; each text begins with the line of its first row. */
static void take_vectors(attn_context *context, attn_stream *stream, answers *into) {
    for (;;) {
        attn_stream_answers now = {.size = sizeof now};
        char line[32];
        expect_ok(context, attn_stream_next(stream, &now));
        if (now.count == 0) return;
        int64_t label = attn_prediction_class(now.prediction, 0, 0, now.unit);
        snprintf(line, sizeof line, "%d\t%s\t%.4f\n", (int)now.row,
                 attn_prediction_label(now.prediction, 0, 0, now.unit),
                 attn_prediction_probability(now.prediction, 0, 0, now.unit, label));
        assert_memory_equal(now.text, line, strlen(line));
        take(into, now.prediction, now.unit, now.count);
    }
}

static void test_vectors(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static float rows[ROWS * COLUMNS];
    const int64_t one[2] = {0, ROWS};
    test_random random = {5};
    attn_dataset *whole = NULL;
    attn_predictor *predictor = NULL;
    attn_prediction *prediction = NULL;
    attn_stream *stream = NULL;
    attn_stream_delay delay = {.size = sizeof delay};
    answers all = {0}, pieces = {0};
    for (int i = 0; i < ROWS * COLUMNS; i++) rows[i] = random_normal(&random);
    attn_model *model = make_vectors_model(context, rows);
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_predictor_set(predictor, "probs", "true"));
    expect_ok(context, attn_dataset_from_rows(context, rows, COLUMNS, one, 1, &whole));
    expect_ok(context, attn_predictor_predict(predictor, whole, &prediction));
    take(&all, prediction, 0, ROWS);
    expect_ok(context, attn_stream_create(predictor, NULL, &stream));
    expect_ok(context, attn_stream_delay_of(stream, &delay));
    assert_int_equal(delay.rate, 0);
    assert_int_equal(delay.right, 2 + 1);
    expect_refused(context, attn_stream_push(stream, rows, 4), ATTN_INVALID_ARGUMENT, "not whole rows of 3");
    for (int i = 0; i < ROWS; i += 5) {
        expect_ok(context, attn_stream_push(stream, rows + i * COLUMNS, 5 * COLUMNS));
        take_vectors(context, stream, &pieces);
    }
    expect_ok(context, attn_stream_end(stream));
    take_vectors(context, stream, &pieces);
    check_same("vectors", &all, &pieces);
    forget(&all);
    forget(&pieces);
    attn_stream_destroy(stream);
    attn_prediction_destroy(prediction);
    attn_dataset_destroy(whole);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
}

/* Nothing at all, and what is no number. */
static void test_empty_and_broken(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    const char *sets[] = {"encoder.left", "3", "encoder.right", "3", NULL};
    attn_model *model = make_model(context, "tag", sets);
    attn_predictor *predictor = NULL;
    attn_stream *stream = NULL;
    attn_stream_answers now = {.size = sizeof now};
    static float samples[4000];
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_stream_create(predictor, NULL, &stream));
    expect_ok(context, attn_stream_next(stream, &now));
    assert_int_equal(now.count, 0);
    assert_false(now.ended);
    expect_ok(context, attn_stream_end(stream));
    expect_ok(context, attn_stream_next(stream, &now));
    assert_int_equal(now.count, 0);
    assert_true(now.ended);
    attn_stream_destroy(stream);
    expect_ok(context, attn_stream_create(predictor, NULL, &stream));
    samples[2000] = NAN;
    expect_refused(context, attn_stream_push(stream, samples, 4000), ATTN_NOT_FINITE, "not finite");
    attn_stream_destroy(stream);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_are_the_whole), cmocka_unit_test(test_long_recordings_are_not_cut),
        cmocka_unit_test(test_delay_is_kept),         cmocka_unit_test(test_text_is_that_of_predictions),
        cmocka_unit_test(test_memory_does_not_grow),  cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_other_rates),           cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_empty_and_broken),      cmocka_unit_test(test_vectors),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
