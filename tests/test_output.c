/* test_output.c: that training overwrites nothing, that two runs do not write the same files, when the .last
 * file goes, and runs that begin from a model.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <attn/attn.h>

#include "data/replace.h"
#include "support/contexts.h"
#include "support/training.h"
#include "train/trainer.h"

static char folder[] = "/tmp/attn_output_XXXXXX";
static char *tagged, *tagged_dev, *classes, *classes_dev;
static attn_context *context;

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    context = test_best_context(1);
    tagged = corpus_conllu(1, 60);
    tagged_dev = corpus_conllu(2, 15);
    classes = corpus_classes(1, 80, 0);
    classes_dev = corpus_classes(2, 20, 0);
    return 0;
}

static int teardown(void **state) {
    free(tagged);
    free(tagged_dev);
    free(classes);
    free(classes_dev);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* A path in the folder; many of them are good at a time. */
static const char *in(const char *name) {
    static char paths[1000][160];
    static int next;
    char *path = paths[next++ % 1000];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int is_there(const char *name) { return access(in(name), F_OK) == 0; }

static void put_text(const char *name, const char *text) {
    FILE *file = fopen(in(name), "w");
    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void expect_text(const char *name, const char *text) {
    size_t length = 0;
    char *bytes = file_bytes(in(name), &length);
    assert_true(bytes && length == strlen(text) && memcmp(bytes, text, length) == 0);
    free(bytes);
}

/* ---- runs ---- */

typedef struct watcher {
    int64_t stop_at;
    attn_training_state state;
    int64_t steps;
    double first_best;
} watcher;

static int watch(void *user, const attn_training_state *state) {
    watcher *to = user;
    to->state = *state;
    to->steps += state->event == ATTN_TRAINING_STEP;
    if (state->event == ATTN_TRAINING_READY) to->first_best = state->best_value;
    return to->stop_at && state->event == ATTN_TRAINING_STEP && state->step == to->stop_at;
}

static const char *const tag_sets[] = {"task", "tag", "training.epochs", "4", NULL};
static const char *const class_sets[] = {"task", "classify", "training.epochs", "4", NULL};

/* Options for the output `name`; watched by `seen`. */
static attn_trainer_options options_for(const char *name, watcher *seen, int64_t stop_at) {
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    *seen = (watcher){.stop_at = stop_at};
    options.output = in(name);
    options.watch = watch;
    options.user = seen;
    return options;
}

static attn_status train_sets(const char *const *sets, const char *train, const char *dev,
                              const attn_trainer_options *options) {
    attn_config *config = tiny_config(context, sets);
    attn_status status = train_on(config, train, dev, options);
    attn_config_destroy(config);
    return status;
}

static attn_status train_tags(const attn_trainer_options *options) {
    return train_sets(tag_sets, tagged, tagged_dev, options);
}

static void expect_tagged(const char *name, int64_t stop_at, int force) {
    watcher seen;
    attn_trainer_options options = options_for(name, &seen, stop_at);
    options.force = force;
    expect_ok(context, train_tags(&options));
}

/* ---- what is there ---- */

static void test_existing(void **state) {
    (void)state;
    watcher seen;
    put_text("m.safetensors", "precious");
    attn_trainer_options options = options_for("m.safetensors", &seen, 0);
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT,
                   "m.safetensors: exists already: force begins anew and replaces it");
    expect_refused(context, attn_trainer_check(context, &options), ATTN_INVALID_ARGUMENT,
                   "force begins anew");
    expect_text("m.safetensors", "precious");
    assert_false(is_there("m.last.safetensors") || is_there("m.safetensors.lock"));
    options.force = 1;
    options.resume = 1;
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT, "not both");
    options.resume = 0;
    options.more = 1;
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT, "not both");
    options.more = 0;
    expect_text("m.safetensors", "precious");
    expect_ok(context, attn_trainer_check(context, &options));
    expect_text("m.safetensors", "precious"); /* a check changes nothing */
    expect_ok(context, train_tags(&options));
    assert_false(is_there("m.last.safetensors") || is_there("m.safetensors.lock")); /* it is finished */

    expect_tagged("m.safetensors", 3, 1); /* and now one that is stopped */
    assert_true(is_there("m.last.safetensors"));
    options.force = 0;
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT,
                   "m.last.safetensors: is of a run that was stopped after step 3 of");
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT,
                   "resume continues it, force begins anew");
    unlink(in("m.safetensors")); /* killed before there was a model: still nothing to overwrite */
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT, "resume continues it");
    put_text("m.last.safetensors", "something else");
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT,
                   "m.last.safetensors: exists already");
    expect_text("m.last.safetensors", "something else");
    unlink(in("m.last.safetensors"));
}

static void test_finished(void **state) {
    (void)state;
    watcher seen;
    static const char *const other[] = {"task", "tag", "training.epochs", "5", NULL};
    expect_tagged("f.safetensors", 0, 0);
    expect_tagged("whole.safetensors", 0, 0);
    attn_trainer_options options = options_for("f.safetensors", &seen, 0);
    options.resume = 1;
    expect_ok(context, train_tags(&options));
    assert_int_equal(seen.steps, 0);
    assert_int_equal(seen.state.end, ATTN_TRAINING_FINISHED);
    assert_int_equal(seen.state.step, seen.state.steps_total);
    assert_false(isnan(seen.state.best_value));
    assert_true(same_files(in("f.safetensors"), in("whole.safetensors")));
    expect_refused(context, train_sets(other, tagged, tagged_dev, &options), ATTN_INVALID_ARGUMENT,
                   "training.epochs was 4 and is 5");
    expect_refused(context, train_sets(tag_sets, tagged_dev, tagged_dev, &options), ATTN_INVALID_ARGUMENT,
                   "other training data");
    expect_refused(context, train_sets(tag_sets, tagged, NULL, &options), ATTN_INVALID_ARGUMENT,
                   "other training data");
    assert_true(same_files(in("f.safetensors"), in("whole.safetensors")));

    /* Stopped, and its .last file is gone: it does not say that it is finished. */
    expect_tagged("f.safetensors", 3, 1);
    unlink(in("f.last.safetensors"));
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT,
                   "does not say that its run came to its end; force begins anew");
    /* Kept, and still there when it is finished. */
    options.resume = 0;
    options.force = 1;
    options.keep_last = 1;
    expect_ok(context, train_tags(&options));
    assert_true(is_there("f.last.safetensors"));
    assert_true(same_files(in("f.safetensors"), in("whole.safetensors")));
    options.force = 0;
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT, "f.safetensors: exists already");
    options.resume = 1;
    options.keep_last = 0;
    expect_ok(context, train_tags(&options));
    assert_int_equal(seen.state.end, ATTN_TRAINING_FINISHED);
    assert_false(is_there("f.last.safetensors"));
    assert_true(same_files(in("f.safetensors"), in("whole.safetensors")));
}

/* A run that patience ended is finished, too. */
static void test_patience(void **state) {
    (void)state;
    static const char *const sets[] = {"task", "tag", "training.steps", "400", "training.patience",
                                       "1",    NULL};
    watcher seen;
    attn_trainer_options options = options_for("p.safetensors", &seen, 0);
    expect_ok(context, train_sets(sets, tagged, tagged_dev, &options));
    assert_int_equal(seen.state.end, ATTN_TRAINING_PATIENCE);
    assert_false(is_there("p.last.safetensors"));
    int64_t step = seen.state.step, best = seen.state.best_step;
    options = options_for("p.safetensors", &seen, 0);
    options.resume = 1;
    expect_ok(context, train_sets(sets, tagged, tagged_dev, &options));
    assert_int_equal(seen.steps, 0);
    assert_int_equal(seen.state.end, ATTN_TRAINING_PATIENCE);
    assert_int_equal(seen.state.step, step);
    assert_int_equal(seen.state.best_step, best);
}

/* ---- where it goes ---- */

static void test_links(void **state) {
    (void)state;
    struct stat found;
    assert_int_equal(mkdir(in("deep"), 0700), 0);
    assert_int_equal(symlink("deep/real.safetensors", in("link.safetensors")), 0);
    assert_int_equal(symlink("link.safetensors", in("second.safetensors")), 0);
    expect_tagged("second.safetensors", 2, 0); /* the target is not there yet */
    assert_true(is_there("deep/real.safetensors") && is_there("deep/real.last.safetensors"));
    assert_true(lstat(in("link.safetensors"), &found) == 0 && S_ISLNK(found.st_mode));
    watcher seen;
    attn_trainer_options options =
        options_for("deep/real.safetensors", &seen, 0); /* the same run by another name */
    options.resume = 1;
    expect_ok(context, train_tags(&options));
    assert_int_equal(seen.state.resumed_from, 2);
    options = options_for("link.safetensors", &seen, 0);
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT,
                   "deep/real.safetensors: exists already");
    options.force = 1;
    expect_ok(context, train_tags(&options));
    assert_true(lstat(in("second.safetensors"), &found) == 0 && S_ISLNK(found.st_mode));
    assert_true(lstat(in("deep/real.safetensors"), &found) == 0 && S_ISREG(found.st_mode));
    char path[160];
    expect_ok(context, attn_trainer_last_path(context, in("second.safetensors"), path, sizeof path));
    assert_string_equal(path, in("deep/real.last.safetensors"));
    expect_refused(context, attn_trainer_last_path(context, in("second.safetensors"), path, 10),
                   ATTN_INVALID_ARGUMENT, "longer than 10 bytes");
    assert_int_equal(symlink("round.safetensors", in("round.safetensors")), 0);
    options = options_for("round.safetensors", &seen, 0);
    expect_refused(context, train_tags(&options), ATTN_SYSTEM_ERROR, "round.safetensors");
    unlink(in("deep/real.safetensors"));
    rmdir(in("deep"));
}

static void test_places(void **state) {
    (void)state;
    watcher seen;
    const struct {
        const char *name, *said;
    } places[] = {{"dir", "it is a directory"},
                  {"pipe", "it is a pipe"},
                  {"socket", "it is a socket"},
                  {"stem.safetensors", "stem.last.safetensors: cannot be written: it is a directory"}};
    assert_int_equal(mkdir(in("dir"), 0700), 0);
    assert_int_equal(mkdir(in("stem.last.safetensors"), 0700), 0);
    assert_int_equal(mkfifo(in("pipe"), 0600), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s", in("socket"));
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(descriptor, (const struct sockaddr *)&address, sizeof address), 0);
    for (int force = 0; force < 2; force++) {
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            attn_trainer_options options = options_for(places[i].name, &seen, 0);
            options.force = force;
            expect_refused(context, train_tags(&options), ATTN_SYSTEM_ERROR, places[i].said);
        }
    }
    attn_trainer_options options = options_for("x", &seen, 0);
    options.output = "/dev/null";
    expect_refused(context, train_tags(&options), ATTN_SYSTEM_ERROR,
                   "/dev/null: cannot be written: it is a device");
    close(descriptor);
    unlink(in("socket"));
    unlink(in("pipe"));
    rmdir(in("dir"));
    rmdir(in("stem.last.safetensors"));
}

/* ---- two runs ---- */

static attn_status create(const char *name, attn_trainer **trainer) {
    attn_config *config = tiny_config(context, tag_sets);
    attn_dataset *data = parse_corpus(config, "train", tagged_dev);
    watcher seen;
    attn_trainer_options options = options_for(name, &seen, 0);
    options.force = 1;
    *trainer = NULL;
    attn_status status = attn_trainer_create(config, data, data, &options, trainer);
    if (status == ATTN_OK) {
        attn_trainer_destroy(*trainer);
        status = attn_trainer_create(config, data, data, &options, trainer); /* the first has given it free */
    }
    if (status != ATTN_OK) {
        attn_dataset_destroy(data);
        attn_config_destroy(config);
    } /* else both stay until the process ends: this is for children */
    return status;
}

static void test_two_runs(void **state) {
    (void)state;
    watcher seen;
    int told[2], until[2], ended;
    char byte;
    attn_trainer *trainer;
    assert_true(pipe(told) == 0 && pipe(until) == 0);
    pid_t child = fork();
    if (child == 0) { /* holds the output until it is killed */
        byte = create("two.safetensors", &trainer) == ATTN_OK;
        if (write(told[1], &byte, 1) != 1) _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(told[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    attn_trainer_options options = options_for("two.safetensors", &seen, 0);
    for (int force = 0; force < 2; force++) {
        options.force = force;
        expect_refused(context, attn_trainer_check(context, &options), ATTN_SYSTEM_ERROR,
                       "two.safetensors: another run is writing it");
        expect_refused(context, train_tags(&options), ATTN_SYSTEM_ERROR, "another run is writing it");
    }
    options.output = in("two"); /* its .last file has the same name */
    expect_refused(context, train_tags(&options), ATTN_SYSTEM_ERROR, "another run is writing it");
    assert_int_equal(symlink("two.safetensors", in("too.safetensors")), 0);
    options.output = in("too.safetensors");
    expect_refused(context, train_tags(&options), ATTN_SYSTEM_ERROR, "another run is writing it");
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(is_there("two.safetensors.lock")); /* the file stays, the lock does not */
    options = options_for("two.safetensors", &seen, 0);
    expect_ok(context, train_tags(&options));
    assert_false(is_there("two.safetensors.lock"));
    for (int i = 0; i < 2; i++) close(told[i]), close(until[i]);

    put_text("two.safetensors.lock", "not a lock"); /* somebody's file stays as it is */
    options.force = 1;
    expect_refused(context, train_tags(&options), ATTN_SYSTEM_ERROR,
                   "two.safetensors.lock: exists, and is not");
    expect_text("two.safetensors.lock", "not a lock");
    unlink(in("two.safetensors.lock"));
}

/* In one process, too. */
static void test_two_trainers(void **state) {
    (void)state;
    attn_config *config = tiny_config(context, tag_sets);
    attn_dataset *data = parse_corpus(config, "train", tagged_dev);
    watcher seen;
    attn_trainer_options options = options_for("pair.safetensors", &seen, 0);
    attn_trainer *one = NULL, *other = NULL;
    expect_ok(context, attn_trainer_create(config, data, data, &options, &one));
    expect_refused(context, attn_trainer_create(config, data, data, &options, &other), ATTN_SYSTEM_ERROR,
                   "another run is writing it");
    assert_null(other);
    attn_trainer_destroy(one);
    expect_ok(context, attn_trainer_create(config, data, data, &options, &other));
    attn_trainer_destroy(other);
    assert_false(is_there("pair.safetensors.lock") || is_there("pair.safetensors"));
    attn_dataset_destroy(data);
    attn_config_destroy(config);
}

/* Many that take the lock and give it back, and the file with it: never two have it. */
static void test_lock_races(void **state) {
    (void)state;
    enum { CHILDREN = 4, TIMES = 200 };
    pid_t children[CHILDREN];
    watcher seen;
    attn_trainer_options options = options_for("race.safetensors", &seen, 0);
    const char *held = in("held");
    int ended;
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        for (int times = 0; times < TIMES;) {
            at_output files;
            if (at_output_open(context, &options, &files) != ATTN_OK) continue;
            if (mkdir(held, 0700) != 0 || rmdir(held) != 0) _exit(1); /* somebody else is in here */
            at_output_close(context, &files);
            times++;
        }
        _exit(0);
    }
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_equal(waitpid(children[i], &ended, 0), children[i]);
        assert_true(WIFEXITED(ended));
        assert_int_equal(WEXITSTATUS(ended), 0);
    }
    assert_false(is_there("race.safetensors.lock"));
}

/* ---- temporary files ---- */

/* Ten processes that save to one path at the same time: what is there is whole. */
static void test_savers(void **state) {
    (void)state;
    pid_t children[10];
    int ended;
    expect_tagged("saved.safetensors", 0, 0);
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, in("saved.safetensors"), &model));
    for (int i = 0; i < 10; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        attn_status status = ATTN_OK;
        for (int k = 0; k < 5 && status == ATTN_OK; k++)
            status = attn_model_save(model, in("again.safetensors"));
        _exit(status == ATTN_OK ? 0 : 1);
    }
    for (int i = 0; i < 10; i++) {
        assert_int_equal(waitpid(children[i], &ended, 0), children[i]);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    }
    assert_true(same_files(in("saved.safetensors"), in("again.safetensors")));
    attn_model_destroy(model);
}

static void test_left_behind(void **state) {
    (void)state;
    char dead[64], own[64];
    pid_t child = fork();
    if (child == 0) _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    snprintf(dead, sizeof dead, "t.safetensors.%ld-7.tmp", (long)child);
    snprintf(own, sizeof own, "t.safetensors.%ld-999999.tmp", (long)getpid());
    put_text(dead, "half a model");
    put_text(own, "of one that lives");
    put_text("t.safetensors.tmp", "not ours");
    put_text("t.safetensors.old-7.tmp", "not ours either");
    expect_tagged("t.safetensors", 0, 0);
    assert_false(is_there(dead));
    expect_text(own, "of one that lives");
    expect_text("t.safetensors.tmp", "not ours");
    expect_text("t.safetensors.old-7.tmp", "not ours either");
    /* A name that a process of our number has left is in nobody's way. */
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, in("t.safetensors"), &model));
    for (int i = 0; i < 300; i++) {
        snprintf(own, sizeof own, "u.safetensors.%ld-%d.tmp", (long)getpid(), i);
        put_text(own, "in the way");
    }
    expect_ok(context, attn_model_save(model, in("u.safetensors")));
    assert_true(same_files(in("t.safetensors"), in("u.safetensors")));
    attn_model_destroy(model);
}

/* ---- more, and from another model ---- */

static double score_of(const char *name) {
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, in(name), &model));
    double score = attn_model_metric(model, "score");
    attn_model_destroy(model);
    return score;
}

static void test_more(void **state) {
    (void)state;
    static const char *const few[] = {"task", "tag", "training.steps", "6", NULL};
    static const char *const further[] = {"task", "tag", "training.steps", "40", NULL};
    static const char *const worse[] = {"task",
                                        "tag",
                                        "training.steps",
                                        "6",
                                        "training.learning_rate",
                                        "1",
                                        "training.clip_norm",
                                        "0",
                                        "training.average",
                                        "0",
                                        NULL};
    static const char *const other[] = {"task", "tag", "encoder.layers", "2", NULL};
    watcher seen;
    attn_trainer_options options = options_for("more.safetensors", &seen, 0);
    options.more = 1;
    expect_refused(context, train_sets(further, tagged, tagged_dev, &options), ATTN_INVALID_ARGUMENT,
                   "does not exist: there is no model to train further");
    options.more = 0;
    expect_ok(context, train_sets(few, tagged, tagged_dev, &options));
    double before = score_of("more.safetensors");
    options = options_for("more.safetensors", &seen, 0);
    options.more = 1;
    options.start = in("more.safetensors");
    expect_refused(context, train_sets(further, tagged, tagged_dev, &options), ATTN_INVALID_ARGUMENT,
                   "not both");
    options.start = NULL;
    expect_refused(context, train_sets(other, tagged, tagged_dev, &options), ATTN_INVALID_ARGUMENT,
                   "training cannot start from it: encoder.layers was 1 and is 2");
    expect_ok(context, train_sets(further, tagged, tagged_dev, &options));
    assert_true(fabs(seen.first_best - before) < 1e-6); /* it begins where the model was */
    assert_int_equal(seen.steps, 40);
    double after = score_of("more.safetensors");
    assert_true(after > before + 0.05);
    assert_false(is_there("more.last.safetensors"));

    /* One that becomes worse leaves the model as it is. */
    char *bytes, *now;
    size_t length, now_length;
    bytes = file_bytes(in("more.safetensors"), &length);
    options = options_for("more.safetensors", &seen, 0);
    options.more = 1;
    expect_ok(context, train_sets(worse, tagged, tagged_dev, &options));
    assert_int_equal(seen.state.best_step, 0);
    assert_true(fabs(seen.state.best_value - after) < 1e-6);
    now = file_bytes(in("more.safetensors"), &now_length);
    assert_true(now_length == length && memcmp(now, bytes, length) == 0);
    assert_false(is_there("more.last.safetensors"));
    free(now);
    free(bytes);
}

/* More that is stopped and resumed is the same as more in one go. */
static void test_more_resumed(void **state) {
    (void)state;
    static const char *const few[] = {"task", "tag", "training.steps", "6", "encoder.dropout", "0.2", NULL};
    static const char *const further[] = {"task", "tag", "training.steps", "20", "encoder.dropout",
                                          "0.2",  NULL};
    watcher seen;
    for (int parts = 0; parts < 2; parts++) {
        const char *name = parts ? "in-parts.safetensors" : "in-one.safetensors";
        attn_trainer_options options = options_for(name, &seen, 0);
        expect_ok(context, train_sets(few, tagged, tagged_dev, &options));
        options = options_for(name, &seen, parts ? 7 : 0);
        options.more = 1;
        options.resume = 1;
        expect_refused(context, train_sets(further, tagged, tagged_dev, &options), ATTN_INVALID_ARGUMENT,
                       "more without resume begins one");
        options.resume = 0;
        expect_ok(context, train_sets(further, tagged, tagged_dev, &options));
        if (!parts) continue;
        assert_int_equal(seen.state.end, ATTN_TRAINING_STOPPED);
        expect_refused(context, train_sets(further, tagged, tagged_dev, &options), ATTN_INVALID_ARGUMENT,
                       "is of a stopped run: resume continues it");
        options = options_for(name, &seen, 0);
        options.more = 1;
        options.resume = 1;
        expect_ok(context, train_sets(further, tagged, tagged_dev, &options));
        assert_int_equal(seen.state.resumed_from, 7);
    }
    assert_true(same_files(in("in-one.safetensors"), in("in-parts.safetensors")));
}

static void expect_same_lists(const char *a, const char *b) {
    attn_model *models[2] = {NULL, NULL};
    expect_ok(context, attn_model_load(context, in(a), &models[0]));
    expect_ok(context, attn_model_load(context, in(b), &models[1]));
    assert_int_equal(attn_model_vocabulary(models[0]), attn_model_vocabulary(models[1]));
    assert_int_equal(attn_model_labels(models[0], 0), attn_model_labels(models[1], 0));
    for (int64_t i = 0; i < attn_model_vocabulary(models[0]); i++)
        assert_string_equal(attn_model_vocabulary_unit(models[0], i),
                            attn_model_vocabulary_unit(models[1], i));
    for (int64_t i = 0; i < attn_model_labels(models[0], 0); i++)
        assert_string_equal(attn_model_label(models[0], 0, i), attn_model_label(models[1], 0, i));
    attn_model_destroy(models[0]);
    attn_model_destroy(models[1]);
}

static void test_start(void **state) {
    (void)state;
    /* How it is trained may be another: steps, dropout, balance. */
    static const char *const little[] = {
        "task", "classify",       "training.steps", "1", "training.learning_rate", "1e-9", "encoder.dropout",
        "0.1",  "output.balance", "true",           NULL};
    static const char *const wide[] = {"task", "classify", "encoder.columns", "32", NULL};
    watcher seen;
    attn_trainer_options options = options_for("first.safetensors", &seen, 0);
    expect_ok(context, train_sets(class_sets, classes, classes_dev, &options));
    double score = score_of("first.safetensors");
    options = options_for("next.safetensors", &seen, 0);
    options.start = in("no-such.safetensors");
    expect_refused(context, train_sets(little, classes, classes_dev, &options), ATTN_SYSTEM_ERROR, "no-such");
    options.start = in("first.safetensors");
    expect_refused(context, train_sets(wide, classes, classes_dev, &options), ATTN_INVALID_ARGUMENT,
                   "first.safetensors: training cannot start from it: encoder.columns was 16 and is 32");
    expect_refused(context, train_tags(&options), ATTN_INVALID_ARGUMENT, "task was classify and is tag");
    expect_refused(context, train_sets(little, "poor\tnice\nnever\tdull\n", classes_dev, &options),
                   ATTN_INVALID_ARGUMENT,
                   "train:1: the model that training starts from has no label \"poor\"");
    options.vectors = in("any.vec");
    expect_refused(context, train_sets(little, classes, classes_dev, &options), ATTN_INVALID_ARGUMENT,
                   "vectors");
    options.vectors = NULL;
    assert_false(is_there("next.safetensors") || is_there("next.last.safetensors"));
    /* Other data, fewer labels, another order of frequency: vocabulary and labels stay those of the model. */
    static const char some[] = "bad\tit was dull\nbad\tpoor story of none\ngood\tnice\nbad\tdull\n";
    expect_ok(context, train_sets(little, some, classes_dev, &options));
    assert_true(fabs(score_of("next.safetensors") - score) <
                1e-6); /* one tiny step: the weights are the same */
    expect_same_lists("first.safetensors", "next.safetensors");
    options.start = in("next.safetensors");
    options.force = 1;
    expect_refused(context, train_sets(little, some, classes_dev, &options), ATTN_INVALID_ARGUMENT,
                   "training starts from it and would replace it");
    options.start = in("first.safetensors");
    options.force = 0;
    options.resume = 1;
    seen.steps = 0;
    expect_ok(context, train_sets(little, some, classes_dev, &options)); /* finished: nothing to do */
    assert_int_equal(seen.steps, 0);
}

/* Stopped and resumed, also when the model that it began from has gone. */
static void test_start_resumed(void **state) {
    (void)state;
    static const char *const sets[] = {"task", "classify", "training.steps", "12", NULL};
    watcher seen;
    attn_trainer_options options = options_for("origin.safetensors", &seen, 0);
    expect_ok(context, train_sets(class_sets, classes, classes_dev, &options));
    options = options_for("s-one.safetensors", &seen, 0);
    options.start = in("origin.safetensors");
    expect_ok(context, train_sets(sets, classes, NULL, &options));
    options = options_for("s-parts.safetensors", &seen, 5);
    options.start = in("origin.safetensors");
    expect_ok(context, train_sets(sets, classes, NULL, &options));
    unlink(in("origin.safetensors"));
    options = options_for("s-parts.safetensors", &seen, 0);
    options.start = in("origin.safetensors");
    options.resume = 1;
    expect_ok(context, train_sets(sets, classes, NULL, &options));
    assert_int_equal(seen.state.resumed_from, 5);
    assert_true(same_files(in("s-one.safetensors"), in("s-parts.safetensors")));
}

/* With the configuration of a model, and all that it chose from the data. */
static attn_status train_as_model(const char *name, const char *train, const char *dev,
                                  const attn_trainer_options *options) {
    attn_model *model = NULL;
    attn_config *config = NULL;
    expect_ok(context, attn_model_load(context, in(name), &model));
    const char *text = attn_config_print(attn_model_config(model));
    expect_ok(context, attn_config_create(context, &config));
    expect_ok(context, attn_config_parse(config, "config", text, strlen(text)));
    attn_status status = train_on(config, train, dev, options);
    attn_config_destroy(config);
    attn_model_destroy(model);
    return status;
}

/* Every kind of output begins where the model was. */
static void test_start_kinds(void **state) {
    (void)state;
    static const struct {
        char *(*corpus)(uint64_t seed, int count);
        const char *sets[8];
    } kinds[] = {
        {corpus_conllu, {"task", "tag", "output.crf", "true"}},
        {corpus_conllu, {"task", "tag", "reader.column", "UPOS,XPOS,FEATS:Weight"}},
        {corpus_conllu, {"task", "tag", "text.unit", "chars", "text.scheme", "bmes"}},
        {corpus_labels, {"task", "classify", "reader.format", "fasttext"}},
        {corpus_numbers, {"task", "regress", "output.members", "2"}},
        {corpus_running, {"task", "lm", "text.unit", "subwords"}},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char *train = kinds[i].corpus(1, 40), *dev = kinds[i].corpus(2, 10);
        const char *sets[16] = {"training.steps", "8", "training.learning_rate", "0.01"};
        for (int s = 0; s < 8 && kinds[i].sets[s]; s++) sets[4 + s] = kinds[i].sets[s];
        watcher seen;
        attn_trainer_options options = options_for("kind.safetensors", &seen, 0);
        options.force = 1;
        expect_ok(context, train_sets(sets, train, dev, &options));
        double score = score_of("kind.safetensors");
        options = options_for("kind.safetensors", &seen, 0);
        options.more = 1;
        expect_ok(context, train_sets(sets, train, dev, &options));
        if (!(fabs(seen.first_best - score) <= 1e-6 * (1 + fabs(score))))
            fail_msg("kind %d: begins with %g, the model has %g", (int)i, seen.first_best, score);
        free(train);
        free(dev);
    }
    char *train = corpus_pairs(1, 40, 0), *dev = corpus_pairs(2, 10, 0);
    static const char *const pairs[] = {"task", "seq2seq", "training.steps", "8", NULL};
    watcher seen;
    attn_trainer_options options = options_for("pairs.safetensors", &seen, 0);
    expect_ok(context, train_sets(pairs, train, dev, &options));
    double score = score_of("pairs.safetensors");
    options.more = 1;
    expect_ok(context, train_as_model("pairs.safetensors", train, dev, &options));
    assert_true(fabs(seen.first_best - score) < 1e-6);
    free(train);
    free(dev);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_existing),     cmocka_unit_test(test_finished),
        cmocka_unit_test(test_patience),     cmocka_unit_test(test_links),
        cmocka_unit_test(test_places),       cmocka_unit_test(test_two_runs),
        cmocka_unit_test(test_two_trainers), cmocka_unit_test(test_lock_races),
        cmocka_unit_test(test_savers),       cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_more),         cmocka_unit_test(test_more_resumed),
        cmocka_unit_test(test_start),        cmocka_unit_test(test_start_resumed),
        cmocka_unit_test(test_start_kinds),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
