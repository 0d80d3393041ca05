/* test_resume.c: the same files, byte for byte, for any number of threads and however often a run was
 * stopped; when training ends, what it refuses, and that nothing breaks the files it has written.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "data/safetensors.h"
#include "support/contexts.h"
#include "support/training.h"
#include "train/trainer.h"

static char folder[] = "/tmp/attn_resume_XXXXXX";
static char *tagged, *tagged_dev, *classes, *classes_dev, *pairs, *pairs_dev, *running, *running_dev;
static char vectors[64];

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    tagged = corpus_conllu(1, 60);
    tagged_dev = corpus_conllu(2, 15);
    classes = corpus_classes(1, 80, 0);
    classes_dev = corpus_classes(2, 20, 0);
    pairs = corpus_pairs(1, 60, 0);
    pairs_dev = corpus_pairs(2, 10, 0);
    running = corpus_running(1, 40);
    running_dev = corpus_running(2, 8);
    snprintf(vectors, sizeof vectors, "%s/words.vec", folder);
    char *text = corpus_vectors();
    FILE *file = fopen(vectors, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) return -1;
    free(text);
    return 0;
}

static int teardown(void **state) {
    free(tagged);
    free(tagged_dev);
    free(classes);
    free(classes_dev);
    free(pairs);
    free(pairs_dev);
    free(running);
    free(running_dev);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* Paths of run `name`: its model and the .last file beside it. */
typedef struct paths {
    char best[80], last[80];
} paths;

static paths paths_of(const char *name) {
    paths made;
    snprintf(made.best, sizeof made.best, "%s/%s.safetensors", folder, name);
    snprintf(made.last, sizeof made.last, "%s/%s.last.safetensors", folder, name);
    return made;
}

static void same_runs(const char *what, const char *a, const char *b) {
    paths one = paths_of(a), other = paths_of(b);
    if (!same_files(one.best, other.best)) fail_msg("%s: the models are not the same", what);
    if (!same_files(one.last, other.last)) fail_msg("%s: the .last files are not the same", what);
}

/* ---- runs that are watched, and stopped ---- */

typedef struct watcher {
    int64_t stop_at; /* step; -1: never; 0: when everything is ready */
    attn_training_state state;
    int64_t events[5];
    double lowest_left;
} watcher;

static int watch(void *user, const attn_training_state *state) {
    watcher *to = user;
    to->state = *state;
    to->events[state->event]++;
    if (to->stop_at == 0) return state->event == ATTN_TRAINING_READY;
    return state->event == ATTN_TRAINING_STEP && state->step == to->stop_at;
}

typedef struct run {
    const char *const *sets;
    const char *train, *dev; /* dev NULL: held out */
    const char *vectors;
    int threads, resume;
    double seconds;
    int every_step; /* a file at every step, else at evaluations only */
    int64_t stop_at;
} run;

static attn_status train_as(const run *given, const char *name, watcher *seen) {
    attn_context *context = test_best_context(given->threads ? given->threads : 1);
    paths to = paths_of(name);
    attn_config *config = tiny_config(context, given->sets);
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    *seen = (watcher){.stop_at = given->stop_at};
    options.output = to.best;
    options.watch = watch;
    options.user = seen;
    options.resume = given->resume;
    options.force = !given->resume; /* names are used again */
    options.keep_last = 1;          /* to be compared */
    options.vectors = given->vectors;
    options.seconds = given->seconds;
    options.save_seconds = given->every_step ? 0 : 1000;
    attn_status status = train_on(config, given->train, given->dev, &options);
    attn_config_destroy(config);
    return status;
}

static void train_well(const run *given, const char *name, watcher *seen) {
    attn_status status = train_as(given, name, seen);
    expect_ok(test_best_context(given->threads ? given->threads : 1), status);
    assert_int_equal(seen->events[ATTN_TRAINING_DONE], 1);
}

static const char *const tag_sets[] = {"task",
                                       "tag",
                                       "encoder.dropout",
                                       "0.2",
                                       "text.unit_dropout",
                                       "0.2",
                                       "training.epochs",
                                       "4",
                                       "text.feature_dropout",
                                       "0.1",
                                       NULL};

/* ---- the same bytes ---- */

static void test_threads_and_seeds(void **state) {
    (void)state;
    static const char *const classify[] = {
        "task", "classify",    "encoder.dropout",   "0.2", "training.epochs", "3", "encoder.layers",
        "3",    "encoder.mix", "attention,rnn,cnn", NULL};
    static const char *const other_seed[] = {"task", "tag", "training.epochs", "4", "training.seed",
                                             "2",    NULL};
    static const char *const this_seed[] = {"task", "tag", "training.epochs", "4", NULL};
    watcher seen;
    for (int task = 0; task < 2; task++) {
        run given = {.sets = task ? classify : tag_sets,
                     .train = task ? classes : tagged,
                     .dev = task ? classes_dev : tagged_dev,
                     .stop_at = -1};
        given.threads = 1;
        train_well(&given, "one", &seen);
        for (given.threads = 2; given.threads <= 3; given.threads++) {
            train_well(&given, "more", &seen);
            same_runs("threads", "one", "more");
        }
        given.threads = 1; /* a file at every step changes nothing either */
        given.every_step = 1;
        train_well(&given, "more", &seen);
        same_runs("files at every step", "one", "more");
    }
    run given = {.sets = this_seed, .train = tagged, .dev = tagged_dev, .stop_at = -1};
    train_well(&given, "one", &seen);
    given.sets = other_seed;
    train_well(&given, "more", &seen);
    paths one = paths_of("one"), more = paths_of("more");
    assert_false(same_files(one.best, more.best));
    assert_false(same_files(one.last, more.last));
}

/* Stops at these steps, one after another, with another number of threads each time. */
static void stop_and_resume(const char *what, const run *given, const int64_t *stops, int count) {
    watcher seen;
    run part = *given;
    unlink(paths_of("parts").best);
    unlink(paths_of("parts").last);
    for (int i = 0; i <= count; i++) {
        part.resume = i > 0;
        part.threads = 1 + i % 3;
        part.stop_at = i < count ? stops[i] : -1;
        train_well(&part, "parts", &seen);
        assert_int_equal(seen.state.resumed_from, i > 0 ? stops[i - 1] : 0);
        if (i == count) break;
        assert_int_equal(seen.state.end, ATTN_TRAINING_STOPPED);
        assert_int_equal(seen.state.step, stops[i]);
        attn_context *context = test_best_context(1);
        attn_model *model = NULL; /* also before the first evaluation there is a model */
        if (stops[i] > 0) expect_ok(context, attn_model_load(context, paths_of("parts").best, &model));
        attn_model_destroy(model);
        expect_ok(context, attn_model_load(context, paths_of("parts").last, &model));
        attn_model_destroy(model);
    }
    same_runs(what, "whole", "parts");
}

static void check_stops(const char *what, const run *given) {
    watcher seen;
    run whole = *given;
    train_well(&whole, "whole", &seen);
    int64_t steps = seen.state.step, per_epoch = (int64_t)((double)steps / seen.state.epochs_total);
    assert_true(steps > 6);
    const int64_t single[] = {0, 1, 2, per_epoch, per_epoch + 1, steps / 2, steps - 1};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) stop_and_resume(what, given, &single[i], 1);
    const int64_t several[] = {1, 2, 5, per_epoch + 2, steps - 2};
    stop_and_resume(what, given, several, per_epoch + 2 > 5 && per_epoch + 2 < steps - 2 ? 5 : 2);
}

static void test_stops(void **state) {
    (void)state;
    static const char *const accumulate[] = {
        "task", "tag", "training.accumulate", "3", "training.epochs", "6", "encoder.dropout", "0.2", NULL};
    static const char *const plain[] = {"task",
                                        "tag",
                                        "training.average",
                                        "0",
                                        "training.epochs",
                                        "3",
                                        "text.unit_dropout",
                                        "0.3",
                                        "output.crf",
                                        "true",
                                        NULL};
    static const char *const momentum[] = {"task",
                                           "classify",
                                           "training.optimizer",
                                           "sgd",
                                           "training.momentum",
                                           "0.9",
                                           "training.nesterov",
                                           "true",
                                           "training.epochs",
                                           "3",
                                           "training.schedule",
                                           "cosine",
                                           "encoder.kind",
                                           "rnn",
                                           NULL};
    static const char *const numbered[] = {
        "task",         "classify",  "training.steps", "17", "output.dropout", "0.1", "training.schedule",
        "inverse-root", "text.unit", "subwords",       NULL};
    static const char *const wide[] = {"task",
                                       "classify",
                                       "training.epochs",
                                       "3",
                                       "text.wide_buckets",
                                       "500",
                                       "text.wide_dropout",
                                       "0.3",
                                       "output.members",
                                       "2",
                                       NULL};
    static const char *const linear[] = {"task",
                                         "classify",
                                         "training.epochs",
                                         "3",
                                         "text.wide_buckets",
                                         "500",
                                         "text.wide_dropout",
                                         "0.3",
                                         "encoder.kind",
                                         "none",
                                         NULL};
    run given = {.sets = tag_sets, .train = tagged, .dev = tagged_dev, .stop_at = -1};
    check_stops("adamw, averages", &given);
    given.sets = accumulate;
    check_stops("accumulate", &given);
    given.sets = plain;
    check_stops("no averages, crf", &given);
    given.train = classes;
    given.dev = classes_dev;
    given.sets = momentum;
    check_stops("sgd, rnn", &given);
    given.sets = wide;
    check_stops("features of whole texts", &given);
    given.sets = linear;
    check_stops("no encoder", &given);
    given.sets = numbered;
    given.every_step = 1;
    given.dev = NULL;
    check_stops("a number of steps, held out", &given);
    given.sets = momentum;
    given.vectors = vectors;
    check_stops("vectors", &given);
}

/* An epoch of so many examples that it is planned in two windows: stopped in the first, between them, in the
 * second, and in the next epoch. */
static void test_windows(void **state) {
    (void)state;
    enum { TEXTS = 262200, ROOM = 16 };
    static const char *const sets[] = {"task",
                                       "classify",
                                       "training.batch_units",
                                       "60000",
                                       "training.steps",
                                       "7",
                                       "encoder.kind",
                                       "fc",
                                       "training.shards",
                                       "2",
                                       NULL};
    char *text = malloc((size_t)TEXTS * ROOM), *at = text;
    assert_non_null(text);
    for (int i = 0; i < TEXTS; i++) at += sprintf(at, "%c\tw%d\n", i % 3 ? 'a' : 'b', i % 60);
    run given = {.sets = sets, .train = text, .dev = classes_dev, .stop_at = -1};
    watcher seen;
    train_well(&given, "whole", &seen);
    assert_true(seen.state.epoch > 1.0 && seen.state.epoch < 2.0); /* six batches in an epoch */
    for (int64_t stop = 1; stop < 7; stop += 2) stop_and_resume("windows", &given, &stop, 1);
    free(text);
}

/* Answers of their own length, whose units and limit come from the data, and running text. */
static void test_sequences(void **state) {
    (void)state;
    static const char *const seq2seq[] = {"task",
                                          "seq2seq",
                                          "training.epochs",
                                          "3",
                                          "encoder.dropout",
                                          "0.2",
                                          "output.smoothing",
                                          "0.1",
                                          "output.members",
                                          "2",
                                          NULL};
    static const char *const lm[] = {"task",
                                     "lm",
                                     "training.epochs",
                                     "3",
                                     "encoder.dropout",
                                     "0.2",
                                     "text.longest",
                                     "20",
                                     "text.unit",
                                     "subwords",
                                     "text.unit_dropout",
                                     "0.1",
                                     NULL};
    watcher seen;
    for (int task = 0; task < 2; task++) {
        run given = {.sets = task ? lm : seq2seq,
                     .train = task ? running : pairs,
                     .dev = task ? running_dev : pairs_dev,
                     .threads = 1,
                     .stop_at = -1};
        train_well(&given, "one", &seen);
        given.threads = 2;
        train_well(&given, "more", &seen);
        same_runs("threads", "one", "more");
        if (task) given.dev = NULL;
        check_stops(task ? "lm, held out" : "seq2seq", &given);
    }
    /* other data, another unit */
    run given = {.sets = seq2seq, .train = pairs, .dev = pairs_dev, .stop_at = 3};
    train_well(&given, "parts", &seen);
    given.resume = 1;
    given.train = pairs_dev;
    expect_refused(test_best_context(1), train_as(&given, "parts", &seen), ATTN_INVALID_ARGUMENT,
                   "cannot be resumed");
    static const char *const other_unit[] = {"task",
                                             "seq2seq",
                                             "training.epochs",
                                             "3",
                                             "encoder.dropout",
                                             "0.2",
                                             "output.smoothing",
                                             "0.1",
                                             "output.members",
                                             "2",
                                             "target.unit",
                                             "chars",
                                             NULL};
    given.train = pairs;
    given.sets = other_unit;
    expect_refused(test_best_context(1), train_as(&given, "parts", &seen), ATTN_INVALID_ARGUMENT,
                   "target.unit");
}

/* What a run left behind does not matter to one that starts anew, and a run that is done stays as it is. */
static void test_anew_and_again(void **state) {
    (void)state;
    watcher seen;
    run given = {.sets = tag_sets, .train = tagged, .dev = tagged_dev, .stop_at = -1};
    train_well(&given, "whole", &seen);
    int64_t steps = seen.state.step;
    run part = given;
    part.stop_at = 3;
    train_well(&part, "parts", &seen);
    train_well(&given, "parts", &seen);
    same_runs("anew", "whole", "parts");
    given.resume = 1;
    train_well(&given, "parts", &seen); /* nothing is left to do */
    assert_int_equal(seen.state.end, ATTN_TRAINING_FINISHED);
    assert_int_equal(seen.state.resumed_from, steps);
    assert_int_equal(seen.events[ATTN_TRAINING_STEP], 0);
    same_runs("again", "whole", "parts");
    unlink(paths_of("parts").last); /* the model says that its run came to its end */
    train_well(&given, "parts", &seen);
    assert_int_equal(seen.state.end, ATTN_TRAINING_FINISHED);
    assert_int_equal(seen.events[ATTN_TRAINING_STEP], 0);
    assert_true(same_files(paths_of("parts").best, paths_of("whole").best));
    unlink(paths_of("parts").best); /* nothing to continue from: it starts anew */
    train_well(&given, "parts", &seen);
    assert_int_equal(seen.state.resumed_from, 0);
    same_runs("without a file", "whole", "parts");
}

/* ---- what cannot be resumed ---- */

static void test_resume_refused(void **state) {
    (void)state;
    static const char *const layers[] = {"task",
                                         "tag",
                                         "encoder.dropout",
                                         "0.2",
                                         "text.unit_dropout",
                                         "0.2",
                                         "training.epochs",
                                         "4",
                                         "text.feature_dropout",
                                         "0.1",
                                         "encoder.layers",
                                         "2",
                                         NULL};
    static const char *const rate[] = {"task",
                                       "tag",
                                       "encoder.dropout",
                                       "0.2",
                                       "text.unit_dropout",
                                       "0.2",
                                       "training.epochs",
                                       "4",
                                       "text.feature_dropout",
                                       "0.1",
                                       "training.learning_rate",
                                       "0.02",
                                       NULL};
    attn_context *context = test_best_context(1);
    watcher seen;
    run given = {.sets = tag_sets, .train = tagged, .dev = tagged_dev, .stop_at = 5};
    train_well(&given, "parts", &seen);
    paths files = paths_of("parts");
    size_t best_length, last_length;
    char *best = file_bytes(files.best, &best_length), *last = file_bytes(files.last, &last_length);
    given.resume = 1;
    given.stop_at = -1;
    run other = given;
    other.sets = layers;
    expect_refused(context, train_as(&other, "parts", &seen), ATTN_INVALID_ARGUMENT,
                   "parts.last.safetensors cannot be resumed: encoder.layers was 1 and is 2");
    other.sets = rate;
    expect_refused(context, train_as(&other, "parts", &seen), ATTN_INVALID_ARGUMENT,
                   "training.learning_rate was 0.01 and is 0.02");
    other = given;
    other.train = tagged_dev;
    expect_refused(context, train_as(&other, "parts", &seen), ATTN_INVALID_ARGUMENT, "other training data");
    other = given;
    other.dev = tagged;
    expect_refused(context, train_as(&other, "parts", &seen), ATTN_INVALID_ARGUMENT, "other training data");
    other.dev = NULL;
    expect_refused(context, train_as(&other, "parts", &seen), ATTN_INVALID_ARGUMENT, "other training data");
    other = given;
    other.vectors = vectors;
    expect_refused(context, train_as(&other, "parts", &seen), ATTN_INVALID_ARGUMENT, "vectors");
    assert_int_equal(seen.events[ATTN_TRAINING_READY], 0);
    /* nothing of it touched the files */
    size_t length;
    char *now = file_bytes(files.best, &length);
    assert_true(length == best_length && memcmp(now, best, length) == 0);
    free(now);
    now = file_bytes(files.last, &length);
    assert_true(length == last_length && memcmp(now, last, length) == 0);
    free(now);
    free(best);
    free(last);
    train_well(&given, "parts", &seen); /* and it can still continue */
    train_well(&(run){.sets = tag_sets, .train = tagged, .dev = tagged_dev, .stop_at = -1}, "whole", &seen);
    same_runs("after refusals", "whole", "parts");
}

/* Writes the .last file of "parts" again, with `from` in its state of training replaced by `to`. */
static void lie(const char *from, const char *to) {
    attn_context *context = test_best_context(1);
    static const char *const keys[] = {"attn.format", "attn.config", "attn.outputs", "attn.scores"};
    paths files = paths_of("parts");
    at_safetensors *file = NULL;
    at_safetensors_writer *writer = NULL;
    expect_ok(context, at_safetensors_open(context, files.last, &file));
    expect_ok(context, at_safetensors_writer_create(context, &writer));
    for (int i = 0; i < 4; i++)
        expect_ok(context, at_safetensors_put(writer, keys[i], at_safetensors_metadata(file, keys[i])));
    const char *text = at_safetensors_metadata(file, "attn.training"), *place = strstr(text, from);
    if (!place) fail_msg("%s is not in %s", from, text);
    char changed[2000];
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
    expect_ok(context, at_safetensors_put(writer, "attn.training", changed));
    for (int64_t i = 0; i < at_safetensors_count(file); i++) {
        const at_stored *stored = at_safetensors_at(file, i);
        expect_ok(context, at_safetensors_add(writer, stored->name, stored->dtype, stored->rank,
                                              stored->shape, stored->data));
    }
    expect_ok(context, at_safetensors_commit(writer, files.last));
    at_safetensors_writer_destroy(writer);
    at_safetensors_close(file);
}

static void test_lying_state(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *part;
    } lies[] = {
        {"\"step\":5", "\"step\":-1", "out of range"},
        {"\"step\":5", "\"step\":1000000000", "out of range"},
        {"\"batch\":", "\"batch\":9", "out of range"},
        {"\"batch\":", "\"batch\":-", "out of range"},
        {"\"epoch\":", "\"epoch\":-1", "out of range"},
        {"\"evaluated_step\":", "\"evaluated_step\":9000000000000000", "out of range"},
        {"\"evaluated_epoch\":", "\"evaluated_epoch\":9", "out of range"},
        {"\"best_step\":", "\"best_step\":9", "out of range"},
        {"\"without_better\":", "\"without_better\":-1", "out of range"},
        {"\"loss\":\"", "\"loss\":1,\"x\":\"", "not whole"},
        {"\"loss\":\"", "\"loss\":\"0x1p99999\",\"x\":\"", "not a number that training writes"},
        {"\"loss\":\"", "\"loss\":\"-inf\",\"x\":\"", "not a number that training writes"},
        {"\"best_score\":\"", "\"best_score\":\"0x1p99999\",\"x\":\"", "not a number that training writes"},
        {"\"best_score\":\"", "\"best_score\":\"\",\"x\":\"", "not a number that training writes"},
        {"\"best_score\":\"", "\"best_score\":\"0x1p0 and more\",\"x\":\"",
         "not a number that training writes"},
        {"\"best_score\":\"", "\"best_score\":\" 1\",\"x\":\"", "not a number that training writes"},
        {"\"best_step\":", "\"best_step\":\"0x1p99999\",\"x\":", "not whole"},
        {"\"epoch\":", "\"epoch\":900000000000000", "out of range"},
        {"\"epoch\":", "\"epoch\":99999999999999999999", "does not say how far"},
        {"\"without_better\":", "\"without_better\":900000000000000", "out of range"},
        {"\"fingerprint\":\"", "\"fingerprint\":\"0x", "other training data"},
        {"\"step\":5,", "", "not whole"},
        {"\"fingerprint\":", "\"data\":", "version 0.1 wrote it"},
        {"{", "[", "does not say how far"},
        {"\"steps\":", "\"steps\":0,\"x\":", "does not say how far"},
    };
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        watcher seen;
        run given = {.sets = tag_sets, .train = tagged, .dev = tagged_dev, .stop_at = 5};
        train_well(&given, "parts", &seen);
        lie(lies[i].from, lies[i].to);
        given.resume = 1;
        attn_status status = train_as(&given, "parts", &seen);
        if (status == ATTN_OK) fail_msg("%s was taken", lies[i].to);
        expect_refused(context, status, ATTN_INVALID_ARGUMENT, "parts.last.safetensors cannot be resumed");
        expect_refused(context, status, ATTN_INVALID_ARGUMENT, lies[i].part);
    }
}

/* Several metrics: the same after a stop, what the file says of them is checked. */
static void test_several_metrics(void **state) {
    (void)state;
    static const char *const sets[] = {
        "task", "classify", "training.epochs", "4", "training.metric", "accuracy,log_loss,macro_f1", NULL};
    static const struct {
        const char *from, *to;
    } lies[] = {{"\"kept\":", "\"x\":"},
                {"\"highest\":", "\"x\":"},
                {"\"kept\":[", "\"kept\":[\"0x1p0\","},
                {"\"highest\":[\"", "\"highest\":[\"0x1p99999"},
                {"\"highest\":[", "\"highest\":[1,"},
                {"\"kept\":[\"", "\"kept\":[\"x"}};
    run given = {.sets = sets, .train = classes, .dev = classes_dev, .stop_at = -1};
    check_stops("several metrics", &given);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        watcher seen;
        given.resume = 0;
        given.stop_at = 5;
        train_well(&given, "parts", &seen);
        lie(lies[i].from, lies[i].to);
        given.resume = 1;
        attn_status status = train_as(&given, "parts", &seen);
        if (status == ATTN_OK) fail_msg("%s was taken", lies[i].to);
        expect_refused(test_best_context(1), status, ATTN_INVALID_ARGUMENT,
                       "not a number that training writes");
    }
}

/* A .last file that is cut, or of something else. */
static void test_no_state(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    watcher seen;
    run given = {.sets = tag_sets, .train = tagged, .dev = tagged_dev, .stop_at = 5};
    train_well(&given, "parts", &seen);
    paths files = paths_of("parts");
    given.resume = 1;
    assert_int_equal(rename(files.best, files.last), 0); /* a model has no state of training */
    expect_refused(context, train_as(&given, "parts", &seen), ATTN_INVALID_ARGUMENT, "does not say how far");
    assert_int_equal(truncate(files.last, 1000), 0);
    expect_refused(context, train_as(&given, "parts", &seen), ATTN_INVALID_ARGUMENT, files.last);
    unlink(files.last);
}

/* ---- how it ends ---- */

static void test_diverges(void **state) {
    (void)state;
    static const char *const sets[] = {"task",
                                       "tag",
                                       "training.learning_rate",
                                       "1000",
                                       "training.optimizer",
                                       "sgd",
                                       "training.clip_norm",
                                       "0",
                                       "training.warmup",
                                       "0.5",
                                       "training.epochs",
                                       "8",
                                       "encoder.residual",
                                       "true",
                                       NULL};
    attn_context *context = test_best_context(1);
    watcher seen;
    run given = {.sets = sets, .train = tagged, .dev = tagged_dev, .stop_at = -1, .every_step = 1};
    attn_status status = train_as(&given, "diverges", &seen);
    expect_refused(context, status, ATTN_NOT_FINITE, "diverged");
    char step[40], rate[40];
    snprintf(step, sizeof step, "step %d,", (int)seen.state.step + 1);
    snprintf(rate, sizeof rate, "learning rate %g", seen.state.learning_rate);
    expect_refused(context, status, ATTN_NOT_FINITE, step);
    expect_refused(context, status, ATTN_NOT_FINITE, rate);
    assert_int_equal(seen.events[ATTN_TRAINING_DONE], 0);
    attn_model *model = NULL; /* as it was after the last step that was good */
    expect_ok(context, attn_model_load(context, paths_of("diverges").last, &model));
    attn_parameters *parameters = attn_model_parameters(model);
    for (int64_t i = 0; i < attn_parameters_count(parameters); i++) {
        attn_tensor value = attn_parameter_value(attn_parameters_at(parameters, i));
        int64_t count = value.shape[0] * (value.rank > 1 ? value.shape[1] : 1);
        for (int64_t j = 0; j < count; j++) assert_true(isfinite(((const float *)value.data)[j]));
    }
    attn_model_destroy(model);
}

static void test_hold_out(void **state) {
    (void)state;
    static const char *const tenth[] = {"task", "classify", "training.epochs", "2", NULL};
    static const char *const seed[] = {"task", "classify", "training.epochs", "2", "training.seed",
                                       "9",    NULL};
    static const char *const most[] = {"task", "classify", "training.epochs", "2", "training.hold_out",
                                       "0.9",  NULL};
    watcher seen;
    run given = {.sets = tenth, .train = classes, .stop_at = -1};
    train_well(&given, "held", &seen);
    assert_int_equal(seen.state.held_out, 1);
    assert_int_equal(seen.state.dev_examples, 8);
    assert_int_equal(seen.state.train_examples, 72);
    given.dev = classes_dev;
    train_well(&given, "held", &seen);
    assert_int_equal(seen.state.held_out, 0);
    assert_int_equal(seen.state.dev_examples, 20);
    assert_int_equal(seen.state.train_examples, 80);
    given.dev = NULL;
    given.sets = most;
    given.train = "good\tfine\nbad\tpoor\n"; /* one is left to learn from */
    train_well(&given, "held", &seen);
    assert_int_equal(seen.state.dev_examples, 1);
    assert_int_equal(seen.state.train_examples, 1);
    given.train = "good\tfine\n"; /* one is all there is */
    train_well(&given, "held", &seen);
    assert_int_equal(seen.state.held_out, 0);
    assert_int_equal(seen.state.dev_examples, 1);
    assert_int_equal(seen.state.train_examples, 1);
    /* which ones does not depend on the seed: the same score of a network that knows nothing yet is not
     * enough to see it, so their texts are compared */
    attn_context *context = test_best_context(1);
    attn_trainer *trainers[2];
    attn_dataset *data[2];
    attn_config *configs[2];
    for (int i = 0; i < 2; i++) {
        configs[i] = tiny_config(context, i ? seed : tenth);
        data[i] = parse_corpus(configs[i], "train", classes);
        expect_ok(context, attn_trainer_create(configs[i], data[i], NULL, NULL, &trainers[i]));
    }
    for (int64_t e = 0; e < 8; e++)
        assert_string_equal(attn_dataset_token(trainers[0]->courses[0].dev.dataset, e, 0),
                            attn_dataset_token(trainers[1]->courses[0].dev.dataset, e, 0));
    for (int i = 0; i < 2; i++) {
        attn_trainer_destroy(trainers[i]);
        attn_dataset_destroy(data[i]);
        attn_config_destroy(configs[i]);
    }
}

static void check_patience(const char *metric) {
    const char *const sets[] = {
        "task", "classify", "training.epochs", "50", "training.patience", "3", "training.metric",
        metric, NULL};
    char *nothing = corpus_classes(7, 40, 0); /* labels that have nothing to do with the texts */
    for (char *at = nothing; *at; at = strchr(at, '\n') + 1) {
        char *tab = strchr(at, '\t'), label[8] = "";
        snprintf(label, sizeof label, "%.4s", (at - nothing) % 3 ? "none" : "good");
        if (tab - at == 4) memcpy(at, label, 4);
    }
    watcher seen, parts;
    run given = {.sets = sets, .train = classes, .dev = nothing, .stop_at = -1};
    train_well(&given, "whole", &seen);
    assert_int_equal(seen.state.end, ATTN_TRAINING_PATIENCE);
    assert_true(seen.state.step < seen.state.steps_total);
    assert_true(seen.state.best_step <= seen.state.step); /* of equal scores the later counts */
    assert_true(seen.events[ATTN_TRAINING_DEV] >= 4);
    run part = given; /* patience is kept over a stop */
    part.stop_at = seen.state.step - 2;
    train_well(&part, "parts", &parts);
    part.resume = 1;
    part.stop_at = -1;
    train_well(&part, "parts", &parts);
    assert_int_equal(parts.state.end, ATTN_TRAINING_PATIENCE);
    assert_int_equal(parts.state.step, seen.state.step);
    same_runs("patience", "whole", "parts");
    train_well(&part, "parts", &parts); /* and over its end */
    assert_int_equal(parts.state.end, ATTN_TRAINING_PATIENCE);
    assert_int_equal(parts.events[ATTN_TRAINING_STEP], 0);
    same_runs("patience again", "whole", "parts");
    free(nothing);
}

static void test_patience(void **state) {
    (void)state;
    check_patience("");
    check_patience("accuracy,macro_f1");
    check_patience("log_loss,accuracy");
}

/* ---- a time to keep ---- */

static void test_seconds(void **state) {
    (void)state;
    static const char *const sets[] = {"task", "tag", "encoder.dropout", "0.1", NULL};
    attn_context *context = test_best_context(1);
    watcher seen;
    run given = {.sets = sets, .train = tagged, .dev = tagged_dev, .stop_at = -1, .seconds = 0.5};
    train_well(&given, "time", &seen);
    int64_t steps = seen.state.steps_total;
    assert_int_equal(seen.events[ATTN_TRAINING_MEASURED], 1);
    assert_int_equal(seen.events[ATTN_TRAINING_READY], 1);
    assert_int_equal(seen.events[ATTN_TRAINING_STEP], steps);
    assert_true(steps > 0);
    assert_true(seen.state.seconds < 10); /* about half a second, on a machine that has nothing else to do */
    attn_model *model = NULL;
    char text[32];
    snprintf(text, sizeof text, "%d", (int)steps);
    expect_ok(context, attn_model_load(context, paths_of("time").best, &model));
    assert_string_equal(attn_config_get(attn_model_config(model), "training.steps"), text);
    attn_model_destroy(model);
    /* the same as if so many steps had been requested */
    const char *const asked[] = {"task", "tag", "encoder.dropout", "0.1", "training.steps", text, NULL};
    run same = {.sets = asked, .train = tagged, .dev = tagged_dev, .stop_at = -1};
    train_well(&same, "whole", &seen);
    same_runs("steps", "whole", "time");
    /* stopped and resumed it keeps its steps */
    if (steps < 3) return;
    unlink(paths_of("time").last);
    given.stop_at = 2;
    train_well(&given, "time", &seen);
    int64_t chosen = seen.state.steps_total;
    given.resume = 1;
    given.stop_at = 3;
    train_well(&given, "time", &seen);
    assert_int_equal(seen.state.steps_total, chosen);
    assert_int_equal(seen.state.resumed_from, 2);
}

/* ---- what cannot be learned from ---- */

static void test_refused(void **state) {
    (void)state;
    static const char *const classify[] = {"task", "classify", NULL};
    static const char *const regress[] = {"task", "regress", NULL};
    static const char *const tag[] = {"task", "tag", NULL};
    static const char *const crf[] = {"task",          "tag",       "output.crf", "true",
                                      "reader.column", "UPOS,XPOS", NULL};
    static const char *const weight[] = {"task", "regress", "reader.column", "FEATS:Weight", NULL};
    static const char *const metric[] = {"task", "tag", "training.metric", "acuracy", NULL};
    static const char *const list[] = {"task", "tag", "training.metric", "accuracy,recal", NULL};
    static const char *const empty[] = {"task", "tag", "training.metric", "accuracy,", NULL};
    static const char *const many[] = {
        "task", "tag", "training.metric",
        "accuracy,accuracy,accuracy,accuracy,accuracy,accuracy,accuracy,accuracy,accuracy", NULL};
    static const char *const area[] = {"task", "tag", "training.metric", "roc_auc", NULL};
    static const char *const heads[] = {"task", "tag", "encoder.head_width", "3", NULL};
    const struct {
        const char *const *sets;
        const char *train, *dev;
        attn_status status;
        const char *part;
    } cases[] = {
        {regress, "3\ta\nmany\tb\n", NULL, ATTN_INVALID_ARGUMENT, "train:2: \"many\" is not a number"},
        {regress, "3\ta\n1e39\tb\n", NULL, ATTN_INVALID_ARGUMENT, "train:2: 1e39 is too large"},
        {regress, "3\ta\n4\tb\n", "x\ta\n", ATTN_INVALID_ARGUMENT, "dev:1: \"x\" is not a number"},
        {tag, "a\tA\n\n", "a\t_\n\n", ATTN_OK, ""},
        {crf, "1\ta\t_\tA\tB\t_\t_\t_\t_\t_\n2\tb\t_\tA\t_\t_\t_\t_\t_\t_\n\n", NULL, ATTN_INVALID_ARGUMENT,
         "train:2: has no label"},
        {weight, "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n", NULL, ATTN_INVALID_ARGUMENT, "has no numbers"},
        {metric, "a\tA\n\n", NULL, ATTN_INVALID_ARGUMENT, "no metric \"acuracy\" for this task"},
        {metric, "a\tA\n\n", NULL, ATTN_INVALID_ARGUMENT, "there are: accuracy, "},
        {list, "a\tA\n\n", NULL, ATTN_INVALID_ARGUMENT, "no metric \"recal\" for this task"},
        {empty, "a\tA\n\n", NULL, ATTN_INVALID_ARGUMENT, "no metric \"\" for this task"},
        {many, "a\tA\n\n", NULL, ATTN_INVALID_ARGUMENT, "more than 8 metrics"},
        {area, "a\tA\nb\tB\nc\tC\n\n", NULL, ATTN_INVALID_ARGUMENT, "no metric \"roc_auc\" for this task"},
        {area, "a\tA\nb\tB\n\n", "a\tA\n\n", ATTN_INVALID_ARGUMENT, "dev: roc_auc is not defined for it"},
        {area, "a\tA\nb\tB\n\n", "a\tA\nb\tB\n\n", ATTN_OK, ""},
        {heads, "a\tA\n\n", NULL, ATTN_INVALID_ARGUMENT, "rotary positions need an even head_width"},
        {classify, "A\ta\n\n", "B\ta\n", ATTN_OK,
         ""}, /* a label of dev that training has not: counted as wrong */
    };
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        watcher seen;
        run given = {.sets = cases[i].sets, .train = cases[i].train, .dev = cases[i].dev, .stop_at = -1};
        attn_status status = train_as(&given, "refused", &seen);
        if (cases[i].status == ATTN_OK) {
            expect_ok(context, status);
        } else {
            expect_refused(context, status, cases[i].status, cases[i].part);
            assert_int_equal(seen.events[ATTN_TRAINING_STEP], 0); /* before anything is trained */
        }
    }
}

static void test_arguments(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const sets[] = {"task", "classify", "training.epochs", "1", NULL};
    attn_config *config = tiny_config(context, sets);
    attn_dataset *data = parse_corpus(config, "train", classes);
    attn_trainer *trainer = NULL;
    attn_trainer_options options = {0};
    attn_reader_options reader;
    attn_dataset *texts = NULL; /* without labels no model can be chosen */
    expect_ok(context, attn_config_reader(config, &reader));
    reader.labelled = 0;
    reader.format = ATTN_FORMAT_TABLE;
    expect_ok(context,
              attn_dataset_parse(context, "texts", 1, "label\ttext\n\ta\n\tb\n", 17, &reader, &texts));
    expect_refused(context, attn_trainer_create(config, data, texts, NULL, &trainer), ATTN_INVALID_ARGUMENT,
                   "texts: has no labels");
    expect_refused(context, attn_trainer_create(config, texts, data, NULL, &trainer), ATTN_INVALID_ARGUMENT,
                   "texts: column label has no labels");
    attn_dataset_destroy(texts);
    assert_int_equal(attn_trainer_create(NULL, data, NULL, NULL, &trainer), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_trainer_create(config, NULL, NULL, NULL, &trainer), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_trainer_create(config, data, NULL, NULL, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_trainer_create(config, data, NULL, &options, &trainer), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_trainer_run(NULL), ATTN_INVALID_ARGUMENT);
    assert_null(trainer);
    attn_trainer_destroy(NULL);
    attn_trainer_options_init(&options);
    expect_ok(context, attn_trainer_create(config, data, NULL, NULL, &trainer)); /* nothing is written */
    expect_ok(context, attn_trainer_run(trainer));
    attn_trainer_destroy(trainer);
    /* a folder that is not there: before the first step */
    watcher seen = {.stop_at = -1};
    options.output = "/no such folder/m.safetensors";
    options.watch = watch;
    options.user = &seen;
    trainer = NULL;
    expect_refused(context, attn_trainer_create(config, data, NULL, &options, &trainer), ATTN_SYSTEM_ERROR,
                   "/no such folder/m.safetensors");
    assert_null(trainer);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_seeds), cmocka_unit_test(test_stops),
        cmocka_unit_test(test_windows),           cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_anew_and_again),    cmocka_unit_test(test_resume_refused),
        cmocka_unit_test(test_lying_state),       cmocka_unit_test(test_no_state),
        cmocka_unit_test(test_several_metrics),   cmocka_unit_test(test_diverges),
        cmocka_unit_test(test_hold_out),          cmocka_unit_test(test_patience),
        cmocka_unit_test(test_seconds),           cmocka_unit_test(test_refused),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
