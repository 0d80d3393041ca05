/* cells.c: the grid, pairs of its values, and the life of a model in one of its cells. */
#define _POSIX_C_SOURCE 200809L
#include "support/cells.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "support/cell_explanations.h"
#include "support/cell_files.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/training.h"
#include "train/exchange.h"

/* Steps: more than 20, so that weights are averaged (at_config_optimizer). */
enum { TRAIN, DEV, SETS, TRAIN_EXAMPLES = 14, DEV_EXAMPLES = 5, STEPS = 24, STOP = 9 };
enum { MOST_INPUTS = 16, MOST_TASKS = 8, MOST_VALUES = 16 };

static char folder[] = "/tmp/attn_cells_XXXXXX";

int cells_setup(void **state) { return test_contexts_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0; }

int cells_teardown(void **state) {
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || test_contexts_teardown(state) != 0 ? -1 : 0;
}

/* ---- the axes ---- */

static const struct {
    const char *name, *value, *is; /* value NULL: nothing is set */
    const char *task;              /* NULL, or what it is for alone */
} forms[] = {{"usual", NULL, NULL, NULL},
             {"crf", "output.crf", "true", NULL},
             {"labels", "output.kind", "labels", "classify"},
             {"ctc", "output.kind", "ctc", "seq2seq"}};
static const int members[] = {1, 3}, threads[] = {1, 2};

static const char *input_of(const cell *one) { return attn_input_name(one->at[CELL_INPUT]); }
static const char *task_of(const cell *one) { return attn_task_name(one->at[CELL_TASK]); }

/* Encoders are counted as the configuration does; NULL out of range. */
static const char *encoder_at(int number) {
    int index = 0;
    while (strcmp(attn_config_name(index), "encoder.kind") != 0) index++;
    return attn_config_choice(index, number);
}
static const char *encoder_of(const cell *one) { return encoder_at(one->at[CELL_ENCODER]); }

static const char *name_of(const cell *one) {
    static char name[160];
    snprintf(name, sizeof name, "%s, %s, %s, %s, %d networks, reach %d, %d threads", input_of(one),
             task_of(one), encoder_of(one), forms[one->at[CELL_FORM]].name, members[one->at[CELL_MEMBERS]],
             one->at[CELL_REACH], threads[one->at[CELL_THREADS]]);
    return name;
}

/* Whether a word is in a list with commas. */
static int listed(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || !at[length])) return 1;
    return 0;
}

/* Who sees whom: along edges or everybody, where the kind of input has edges; else everybody or a window. */
static attn_status set_reach(attn_config *config, const cell *one) {
    int other = one->at[CELL_REACH];
    if (attn_config_set(config, "*.pattern", other ? "all" : "edges") == ATTN_OK || !other) return ATTN_OK;
    attn_status status = attn_config_set(config, "encoder.left", "2");
    return status == ATTN_OK ? attn_config_set(config, "encoder.right", "2") : status;
}

/* *config is made in any case; OK if there is such a cell. */
static attn_status configure(attn_context *context, const cell *one, attn_config **config) {
    static const char *const basis[] = {"encoder.dropout",
                                        "0.1",
                                        "training.batch_units",
                                        "40",
                                        "training.shards",
                                        "3",
                                        "training.evaluations",
                                        "3",
                                        NULL};
    char text[32];
    *config = tiny_config_of(context, input_of(one), basis);
    snprintf(text, sizeof text, "%d", STEPS);
    expect_ok(context, attn_config_set(*config, "training.steps", text));
    expect_ok(context, attn_config_set(*config, "task", task_of(one)));
    expect_ok(context, attn_config_set(*config, "encoder.kind", encoder_of(one)));
    snprintf(text, sizeof text, "%d", members[one->at[CELL_MEMBERS]]);
    expect_ok(context, attn_config_set(*config, "output.members", text));
    attn_config_set(*config, "*.dropout", "0.1"); /* of those that have it: what the input itself hides */
    attn_config_set(*config, "*.unit_dropout", "0.1");
    attn_status status = set_reach(*config, one);
    const char *value = forms[one->at[CELL_FORM]].value;
    if (status == ATTN_OK && value) status = attn_config_set(*config, value, forms[one->at[CELL_FORM]].is);
    attn_reader_options options;
    return status == ATTN_OK ? attn_config_reader(*config, &options) : status;
}

/* ---- files ---- */

/* Made when they are asked for first. */
static const char *data_of(const cell *one, int set) {
    static char paths[MOST_INPUTS][MOST_TASKS][SETS][CELL_PATH];
    int input = one->at[CELL_INPUT], task = one->at[CELL_TASK];
    assert_true(input < MOST_INPUTS && task < MOST_TASKS);
    char *path = paths[input][task][set], name[64];
    snprintf(name, sizeof name, "%s_%s_%s", input_of(one), task_of(one), set ? "dev" : "train");
    if (!*path && !cell_files(folder, name, input_of(one), task_of(one), 1 + (uint64_t)set,
                              set ? DEV_EXAMPLES : TRAIN_EXAMPLES, path))
        fail_msg("task %s of input %s has no files: write them in support/cell_files.c", task_of(one),
                 input_of(one));
    return path;
}

static attn_dataset *read_data(attn_context *context, attn_config *config, const cell *one, int set) {
    attn_reader_options options;
    attn_dataset *dataset = NULL;
    expect_ok(context, attn_config_reader(config, &options));
    expect_ok(context, attn_dataset_read(context, data_of(one, set), &options, &dataset));
    return dataset;
}

/* Whether this build opens such files: a kind may need a library that was not there. */
static int opens(const cell *one) {
    attn_context *context = test_best_context(1);
    attn_config *config;
    attn_reader_options options;
    attn_dataset *dataset = NULL;
    expect_ok(context, configure(context, one, &config));
    expect_ok(context, attn_config_reader(config, &options));
    attn_status status = attn_dataset_read(context, data_of(one, TRAIN), &options, &dataset);
    attn_dataset_destroy(dataset);
    attn_config_destroy(config);
    if (status != ATTN_UNSUPPORTED) expect_ok(context, status);
    if (status != ATTN_OK) print_message("left out: %s\n", attn_context_error(context));
    return status == ATTN_OK;
}

/* ---- all combinations ---- */

/* Whether these three are a cell, whatever the others are. */
static int fits(const cell *one) {
    return attn_input_takes(input_of(one), task_of(one)) &&
           listed(attn_input_encoders(input_of(one)), encoder_of(one));
}

static int exists(const cell *one) {
    const char *task = forms[one->at[CELL_FORM]].task;
    if (task && strcmp(task, task_of(one)) != 0) return 0;
    if (one->at[CELL_REACH] && strcmp(encoder_of(one), "attention") != 0) return 0; /* it changes nothing */
    attn_config *config;
    attn_status status = configure(test_best_context(1), one, &config);
    attn_config_destroy(config);
    return status == ATTN_OK;
}

static void add_forms(cell one, cell **cells, int *count) {
    for (one.at[CELL_FORM] = 0; one.at[CELL_FORM] < (int)(sizeof forms / sizeof *forms); one.at[CELL_FORM]++)
        for (int rest = 0; rest < 8; rest++) {
            one.at[CELL_MEMBERS] = rest >> 2;
            one.at[CELL_REACH] = rest >> 1 & 1;
            one.at[CELL_THREADS] = rest & 1;
            if (!exists(&one)) continue;
            *cells = realloc(*cells, sizeof **cells * (size_t)(*count + 1));
            assert_non_null(*cells);
            (*cells)[(*count)++] = one;
        }
}

int cells_all(cell **cells) {
    int count = 0;
    *cells = NULL;
    for (int input = 0; input < attn_input_count(); input++) {
        int opened = -1;
        for (int task = 0; task < attn_task_count(); task++) {
            for (int encoder = 0; encoder_at(encoder); encoder++) {
                cell one = {.at = {[CELL_INPUT] = input, [CELL_TASK] = task, [CELL_ENCODER] = encoder}};
                if (!opened || !fits(&one)) continue;
                if (opened < 0) opened = opens(&one);
                if (opened) add_forms(one, cells, &count);
            }
        }
    }
    return count;
}

/* ---- pairs ---- */

typedef unsigned char pairs[CELL_AXES][CELL_AXES][MOST_VALUES][MOST_VALUES];

/* How many pairs of a cell are new; with `add` they no longer are. */
static int count_new(const cell *one, pairs seen, int add) {
    int found = 0;
    for (int a = 0; a < CELL_AXES; a++)
        for (int b = a + 1; b < CELL_AXES; b++) {
            assert_true(one->at[a] < MOST_VALUES && one->at[b] < MOST_VALUES);
            unsigned char *place = &seen[a][b][one->at[a]][one->at[b]];
            found += !*place;
            if (add) *place = 1;
        }
    return found;
}

int cells_pairwise(const cell *all, int count, cell **chosen) {
    static pairs seen;
    int used = 0;
    memset(seen, 0, sizeof seen);
    *chosen = malloc(sizeof **chosen * (size_t)(count ? count : 1));
    assert_non_null(*chosen);
    for (;;) {
        int best = 0, most = 0;
        for (int i = 0; i < count; i++) {
            int found = count_new(&all[i], seen, 0);
            if (found > most) best = i, most = found;
        }
        if (most == 0) return used;
        count_new(&all[best], seen, 1);
        (*chosen)[used++] = all[best];
    }
}

/* ---- training ---- */

static const char *path_of(const char *name, const char *suffix) {
    static char paths[4][80];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s%s", folder, name, suffix);
    return path;
}
static const char *best_of(const char *name) { return path_of(name, ".safetensors"); }
static const char *last_of(const char *name) { return path_of(name, ".last.safetensors"); }

typedef struct watcher {
    int64_t stop_at, steps, resumed_from; /* stop_at 0: never */
    attn_training_end end;
} watcher;

static int watch(void *user, const attn_training_state *state) {
    watcher *to = user;
    to->steps = state->step;
    to->resumed_from = state->resumed_from;
    to->end = state->end;
    return to->stop_at > 0 && state->event == ATTN_TRAINING_STEP && state->step == to->stop_at;
}

/* One rank of a training: a thread of this process. */
enum { MOST_RANKS = 4 };
typedef struct rank {
    attn_context *context;
    attn_config *config;
    attn_dataset *data, *dev;
    attn_trainer_options options;
    watcher seen;
    attn_status status;
    pthread_t thread;
} rank;

static void open_rank(const cell *one, attn_context *context, const char *name, const watcher *seen,
                      int resume, rank *into) {
    into->context = context;
    into->seen = *seen;
    expect_ok(context, configure(context, one, &into->config));
    into->data = read_data(context, into->config, one, TRAIN);
    into->dev = read_data(context, into->config, one, DEV);
    attn_trainer_options *options = &into->options;
    attn_trainer_options_init(options);
    options->output = best_of(name);
    options->resume = resume;
    options->force = !resume;
    options->keep_last = 1;
    options->save_seconds = 1000;
    options->watch = watch;
    options->user = &into->seen;
}

static void close_rank(rank *of) {
    attn_dataset_destroy(of->data);
    attn_dataset_destroy(of->dev);
    attn_config_destroy(of->config);
}

static void *run_rank(void *argument) {
    rank *of = argument;
    attn_trainer *trainer = NULL;
    of->status = attn_trainer_create(of->config, of->data, of->dev, &of->options, &trainer);
    if (of->status == ATTN_OK) of->status = attn_trainer_run(trainer);
    attn_trainer_destroy(trainer);
    attn_exchange_close(of->options.exchange);
    return NULL;
}

static void train(const cell *one, int thread_count, const char *name, watcher *seen, int resume) {
    rank alone;
    open_rank(one, test_best_context(thread_count), name, seen, resume, &alone);
    run_rank(&alone);
    if (alone.status != ATTN_OK) fail_msg("%s: %s", name_of(one), attn_context_error(alone.context));
    *seen = alone.seen;
    close_rank(&alone);
}

/* Only rank 1 asks for a stop: all have to. */
static void train_in_ranks(const cell *one, int ranks, int thread_count, const char *name, watcher *seen,
                           int resume) {
    rank list[MOST_RANKS];
    attn_context *contexts[MOST_RANKS];
    attn_exchange *exchanges[MOST_RANKS];
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = thread_count;
    assert_true(ranks <= MOST_RANKS);
    for (int r = 0; r < ranks; r++) {
        watcher quiet = *seen;
        if (r != 1) quiet.stop_at = 0;
        assert_int_equal(attn_context_create(&options, &contexts[r]), ATTN_OK);
        open_rank(one, contexts[r], name, &quiet, resume, &list[r]);
    }
    expect_ok(contexts[0], at_exchange_threads(contexts, ranks, 1, exchanges));
    for (int r = 0; r < ranks; r++) {
        list[r].options.exchange = exchanges[r];
        assert_int_equal(pthread_create(&list[r].thread, NULL, run_rank, &list[r]), 0);
    }
    for (int r = 0; r < ranks; r++) assert_int_equal(pthread_join(list[r].thread, NULL), 0);
    for (int r = 0; r < ranks; r++) {
        if (list[r].status != ATTN_OK)
            fail_msg("%s: rank %d: %s", name_of(one), r, attn_context_error(list[r].context));
        assert_int_equal(list[r].seen.steps, list[0].seen.steps);
        assert_int_equal(list[r].seen.end, list[0].seen.end);
    }
    *seen = list[0].seen;
    for (int r = 0; r < ranks; r++) {
        close_rank(&list[r]);
        attn_context_destroy(contexts[r]);
    }
}

static void expect_same(const cell *one, const char *what, const char *name) {
    if (!same_files(best_of("whole"), best_of(name))) fail_msg("%s: %s: another model", name_of(one), what);
    if (!same_files(last_of("whole"), last_of(name)))
        fail_msg("%s: %s: another .last file", name_of(one), what);
}

static void check_runs(const cell *one) {
    int these = threads[one->at[CELL_THREADS]], others = threads[!one->at[CELL_THREADS]];
    watcher seen = {.stop_at = 0};
    train(one, these, "whole", &seen, 0);
    assert_int_equal(seen.steps, STEPS);
    assert_int_equal(seen.end, ATTN_TRAINING_FINISHED);
    train(one, others, "threads", &seen, 0);
    expect_same(one, "another number of threads", "threads");
    train(one, 7, "threads", &seen, 0);
    expect_same(one, "seven threads", "threads");
    train_in_ranks(one, 4, 1, "ranks", &seen, 0);
    expect_same(one, "four ranks", "ranks");
    seen.stop_at = STOP;
    train_in_ranks(one, 2, these, "parts", &seen, 0);
    assert_int_equal(seen.steps, STOP);
    assert_int_equal(seen.end, ATTN_TRAINING_STOPPED);
    if (same_files(last_of("whole"), last_of("parts"))) fail_msg("%s: was not stopped", name_of(one));
    seen.stop_at = 0;
    train(one, others, "parts", &seen, 1);
    assert_int_equal(seen.resumed_from, STOP);
    expect_same(one, "stopped and resumed", "parts");
}

/* ---- the model ---- */

/* How many targets there are to compare with: those of recordings stand with segments, all of whose frames
 * have them. */
static int64_t targets_in(const cell *one, const attn_dataset *dataset) {
    int64_t count = 0;
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e++) {
        int64_t places = attn_dataset_tokenized(dataset) ? attn_dataset_rows(dataset, e) : 1;
        int64_t frames = attn_dataset_tokenized(dataset) ? cell_frames(data_of(one, DEV), e) : -1;
        if (frames >= 0) {
            count += frames;
            continue;
        }
        for (int64_t t = 0; t < places; t++) count += *attn_dataset_target(dataset, 0, e, t) != 0;
    }
    return count;
}

/* Every number is finite, everything was compared. */
static void check_report(const cell *one, attn_report *report, const attn_dataset *dev) {
    assert_true(attn_report_metrics(report) > 0);
    for (int i = 0; i < attn_report_metrics(report); i++) {
        const char *name = attn_report_metric_name(report, i);
        if (!isfinite(attn_report_metric(report, name)))
            fail_msg("%s: %s is %g", name_of(one), name, attn_report_metric(report, name));
    }
    int64_t compared = attn_report_compared(report, 0);
    int64_t expected = attn_dataset_columns(dev) > 0 ? targets_in(one, dev) : compared;
    assert_true(compared > 0);
    if (compared != expected)
        fail_msg("%s: %lld answers were compared, not %lld", name_of(one), (long long)compared,
                 (long long)expected);
    assert_non_null(attn_report_json(report));
}

/* One answer: a class of those that there are, some of them, or a number. */
static void check_answer(const cell *one, const attn_model *model, const attn_prediction *said, int64_t e,
                         int64_t row) {
    const char *kind = attn_model_output_kind(model, 0);
    int64_t label = attn_prediction_class(said, 0, e, row), labels = attn_model_labels(model, 0);
    if (strcmp(kind, "number") == 0) {
        if (!isfinite(attn_prediction_number(said, 0, e, row)))
            fail_msg("%s: an answer is %g", name_of(one), attn_prediction_number(said, 0, e, row));
    } else if (attn_model_output_several(model, 0)) {
        double p = attn_prediction_probability(said, 0, e, row, labels - 1);
        if (!(p >= 0 && p <= 1)) fail_msg("%s: a probability is %g", name_of(one), p);
    } else if (label < 0 || label >= labels || !attn_prediction_label(said, 0, e, row)) {
        fail_msg("%s: an answer is class %lld of %lld", name_of(one), (long long)label, (long long)labels);
    }
}

/* As many answers as there are examples or rows. */
static void check_answers(const cell *one, const attn_model *model, const attn_prediction *said,
                          const attn_dataset *data) {
    int64_t examples = attn_dataset_examples(data);
    int writes = attn_model_symbols(model) > 0, per_row = attn_model_per_token(model) && !writes;
    assert_int_equal(attn_prediction_examples(said), examples);
    for (int64_t e = 0; e < examples; e++) {
        int64_t rows = attn_prediction_units(said, e), frames = cell_frames(data_of(one, DEV), e);
        int64_t expected = !per_row ? rows : frames >= 0 ? frames : attn_dataset_rows(data, e);
        if (rows < 1 || rows != expected)
            fail_msg("%s: %lld rows of example %lld have answers, not %lld", name_of(one), (long long)rows,
                     (long long)e, (long long)expected);
        for (int64_t r = 0; r < (per_row ? rows : 1); r++)
            if (!writes) check_answer(one, model, said, e, r);
        if (!writes) continue;
        assert_true(attn_prediction_hypotheses(said, e) > 0);
        assert_non_null(attn_prediction_text(said, e, 0));
        if (strcmp(task_of(one), "lm") != 0)
            assert_true(isfinite(attn_prediction_log_probability(said, e, 0)));
    }
}

/* What a predictor says of the development data: the report, then all answers as JSON. The caller frees it.
 */
static char *ask(const cell *one, const attn_model *model, attn_context *context, attn_config *config) {
    attn_predictor *predictor = NULL;
    attn_prediction *said = NULL;
    attn_report *report = NULL;
    attn_reader_options unlabelled;
    attn_write_options writing;
    attn_dataset *dev = read_data(context, config, one, DEV), *bare = NULL;
    const char *text = NULL;
    size_t length = 0;
    attn_model_reader_options(model, &unlabelled);
    unlabelled.labelled = 0; /* as `attn predict` reads */
    expect_ok(context, attn_dataset_read(context, data_of(one, DEV), &unlabelled, &bare));
    assert_int_equal(attn_dataset_examples(bare), attn_dataset_examples(dev));
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    expect_ok(context, attn_predictor_predict(predictor, bare, &said));
    check_answers(one, model, said, bare);
    attn_prediction_destroy(said);
    cell_explain(context, name_of(one), predictor, bare);
    expect_ok(context, attn_report_create(predictor, dev, &report));
    check_report(one, report, dev);
    attn_write_options_init(&writing);
    writing.json = 1;
    expect_ok(context, attn_predictor_write(predictor, bare, &writing, &text, &length));
    assert_true(length > 0);
    const char *json = attn_report_json(report);
    char *all = malloc(strlen(json) + length + 1);
    assert_non_null(all);
    memcpy(all, json, strlen(json));
    memcpy(all + strlen(json), text, length + 1);
    attn_report_destroy(report);
    attn_predictor_destroy(predictor);
    attn_dataset_destroy(dev);
    attn_dataset_destroy(bare);
    return all;
}

static void check_model(const cell *one) {
    attn_context *context = test_best_context(threads[one->at[CELL_THREADS]]);
    attn_model *model = NULL;
    attn_config *config;
    expect_ok(context, attn_model_load(context, best_of("whole"), &model));
    assert_string_equal(attn_model_input(model), input_of(one));
    assert_string_equal(attn_model_task(model), task_of(one));
    assert_int_equal(attn_model_networks(model), members[one->at[CELL_MEMBERS]]);
    if (one->at[CELL_FORM] > 0)
        assert_string_equal(attn_model_output_kind(model, 0), forms[one->at[CELL_FORM]].name);
    expect_ok(context, attn_model_save(model, best_of("again")));
    if (!same_files(best_of("whole"), best_of("again"))) fail_msg("%s: saved, it is another", name_of(one));
    expect_ok(context, configure(context, one, &config));
    char *said = ask(one, model, context, config);
    char *others = ask(one, model, test_best_context(threads[!one->at[CELL_THREADS]]), config);
    if (strcmp(said, others) != 0) fail_msg("%s: other answers with another number of threads", name_of(one));
    free(said);
    free(others);
    attn_config_destroy(config);
    attn_model_destroy(model);
}

void cells_live(const cell *one) {
    check_runs(one);
    check_model(one);
}
