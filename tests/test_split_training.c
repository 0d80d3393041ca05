/* test_split_training.c: taggers that learn to split raw text: what they split, that the tagger beside it is
 * the same bit for bit, runs that are stopped and resumed, model files that lie, memory that runs out, and
 * threads that share a model.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "data/safetensors.h"
#include "inputs/text/texts.h"
#include "model/model.h"
#include "support/contexts.h"
#include "support/examples.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/training.h"
#include "train/trainer.h"

static char folder[] = "/tmp/attn_split_XXXXXX";
static char *corpus, *corpus_dev, *plain;
static char *raw_lines; /* the text of corpus_dev, a paragraph a line */
static char model_path[80], plain_path[80], lying[80];

static const char *const split_sets[] = {
    "task", "tag", "text.splitter", "auto", "training.steps", "60", "training.batch_units", "200", NULL};
static const char *const few_steps[] = {"task",
                                        "tag",
                                        "text.splitter",
                                        "auto",
                                        "training.epochs",
                                        "3",
                                        "encoder.dropout",
                                        "0.2",
                                        "text.unit_dropout",
                                        "0.2",
                                        "training.batch_units",
                                        "100",
                                        NULL};

/* ---- data ---- */

/* Short sentences with joined words (don't), others (du), and a space or none between sentences; `# newpar`
 * after every third. Their text, a line a paragraph, goes to *text if that is not NULL. */
static char *corpus_split(uint64_t seed, int sentences, char **text) {
    static const char *const nouns[] = {"cat", "dog", "\xc3\xa9t\xc3\xa9", "U.S."};
    enum { ROOM = 1000 };
    test_random random = {seed * 2 + 1};
    char *made = calloc((size_t)sentences, ROOM), *at = made;
    char *lines = calloc((size_t)sentences, 100), *end = lines;
    assert_non_null(made);
    assert_non_null(lines);
    for (int s = 0; s < sentences; s++) {
        const char *noun = nouns[random_between(&random, 0, 3)],
                   *other = nouns[random_between(&random, 0, 3)];
        int glued = random_chance(&random, 30), joined = random_chance(&random, 50);
        char sentence[100];
        snprintf(sentence, sizeof sentence, "The %s %s du %s%s", noun, joined ? "don't go" : "sees, yes",
                 other, random_chance(&random, 50) ? "." : "!");
        if (s % 3 == 0) at += sprintf(at, "# newpar\n");
        if (s && s % 3 == 0) end += sprintf(end, "\n");
        end += sprintf(end, "%s%s", sentence, glued || s % 3 == 2 ? "" : " ");
        at += sprintf(at, "# text = %s\n", sentence);
        at += sprintf(at, "1\tThe\t_\tDET\t_\t_\t_\t_\t_\t_\n2\t%s\t_\tNOUN\t_\t_\t_\t_\t_\t_\n", noun);
        if (joined)
            at += sprintf(at, "3-4\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n3\tdo\t_\tAUX\t_\t_\t_\t_\t_\t_\n"
                              "4\tn't\t_\tPART\t_\t_\t_\t_\t_\t_\n5\tgo\t_\tVERB\t_\t_\t_\t_\t_\t_\n");
        else
            at += sprintf(at, "3\tsees\t_\tVERB\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
                              "4\t,\t_\tPUNCT\t_\t_\t_\t_\t_\t_\n5\tyes\t_\tPART\t_\t_\t_\t_\t_\t_\n");
        at += sprintf(at,
                      "6-7\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n6\tde\t_\tADP\t_\t_\t_\t_\t_\t_\n"
                      "7\tle\t_\tDET\t_\t_\t_\t_\t_\t_\n8\t%s\t_\tNOUN\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
                      "9\t%c\t_\tPUNCT\t_\t_\t_\t_\t_\t%s\n\n",
                      other, sentence[strlen(sentence) - 1], glued ? "SpaceAfter=No" : "_");
    }
    if (end > lines && end[-1] == ' ') end[-1] = 0;
    strcat(lines, "\n");
    if (text)
        *text = lines;
    else
        free(lines);
    return made;
}

static attn_dataset *read_raw(attn_context *context, const char *text) {
    attn_reader_options options;
    attn_dataset *dataset = NULL;
    attn_reader_options_init(&options);
    options.format = ATTN_FORMAT_LINES;
    options.labelled = 0;
    expect_ok(context, attn_dataset_parse(context, "raw", 1, text, strlen(text), &options, &dataset));
    return dataset;
}

static int setup(void **state) {
    if (test_contexts_setup(state) != 0 || !mkdtemp(folder)) return -1;
    attn_context *context = test_best_context(1);
    snprintf(model_path, sizeof model_path, "%s/model.safetensors", folder);
    snprintf(plain_path, sizeof plain_path, "%s/plain.safetensors", folder);
    snprintf(lying, sizeof lying, "%s/lying.safetensors", folder);
    corpus = corpus_split(1, 60, NULL);
    corpus_dev = corpus_split(2, 15, &raw_lines);
    plain = corpus_split(3, 12, NULL);
    attn_model_destroy(train_model(tiny_config(context, split_sets), corpus, corpus_dev, model_path));
    static const char *const none[] = {"task", "tag", "training.steps", "3", NULL};
    attn_model_destroy(train_model(tiny_config(context, none), plain, plain, plain_path));
    return 0;
}

static int teardown(void **state) {
    free(corpus);
    free(corpus_dev);
    free(plain);
    free(raw_lines);
    remove_folder(folder);
    return test_contexts_teardown(state);
}

static attn_model *load(const char *path) {
    attn_context *context = test_best_context(1);
    attn_model *model = NULL;
    expect_ok(context, attn_model_load(context, path, &model));
    return model;
}

static attn_predictor *predictor_on(const attn_model *model, attn_context *context) {
    attn_predictor *predictor = NULL;
    expect_ok(context, attn_predictor_create(model, context, &predictor));
    return predictor;
}

/* ---- what is split ---- */

/* The lines of CoNLL-U that have a form, ID and form of each. */
static void outline(const char *source, char *into) {
    for (const char *line = source; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (*line == '#') continue;
        size_t length = strcspn(line, "\t\n");
        length += line[length] == '\t' ? 1 + strcspn(line + length + 1, "\t\n") : 0;
        strncat(into, line, length);
        strcat(into, "\n");
    }
}

/* Sentence by sentence the same words, ranges and text as the data has. */
static void check_split(const attn_dataset *split, const attn_dataset *expected) {
    assert_non_null(split);
    assert_int_equal(attn_dataset_examples(split), attn_dataset_examples(expected));
    for (int64_t e = 0; e < attn_dataset_examples(split); e++) {
        char found[1000] = "", wanted[1000] = "";
        outline(attn_dataset_source(split, e), found);
        outline(attn_dataset_source(expected, e), wanted);
        assert_string_equal(found, wanted);
        const char *text = strstr(attn_dataset_source(split, e), "# text = "),
                   *other = strstr(attn_dataset_source(expected, e), "# text = ");
        assert_non_null(text);
        assert_int_equal(strncmp(text, other, strcspn(other, "\n") + 1), 0);
    }
}

static void check_prediction(const attn_prediction *prediction, const attn_dataset *expected) {
    check_split(attn_prediction_split(prediction), expected);
    assert_int_equal(attn_prediction_examples(prediction), attn_dataset_examples(expected));
    for (int64_t e = 0; e < attn_dataset_examples(expected); e++) {
        assert_int_equal(attn_prediction_units(prediction, e), attn_dataset_tokens(expected, e));
        for (int64_t w = 0; w < attn_dataset_tokens(expected, e); w++) {
            assert_string_equal(attn_prediction_unit(prediction, e, w), attn_dataset_token(expected, e, w));
            assert_string_equal(attn_prediction_label(prediction, 0, e, w),
                                attn_dataset_target(expected, 0, e, w));
        }
    }
}

static void test_raw_text(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_model *model = load(model_path);
    attn_predictor *predictor = predictor_on(model, context);
    attn_dataset *raw = read_raw(context, raw_lines), *split = NULL;
    attn_dataset *expected = parse_corpus(attn_model_config(model), "dev", corpus_dev);
    attn_prediction *prediction = NULL;
    assert_non_null(attn_model_splitter(model));
    assert_true(attn_parameters_size(attn_model_splitter(model)) > 0);
    assert_null(attn_predictor_rule(predictor, raw));
    expect_ok(context, attn_predictor_predict(predictor, raw, &prediction));
    check_prediction(prediction, expected);
    attn_prediction_destroy(prediction);
    expect_ok(context, attn_predictor_split(predictor, raw, &split));
    check_split(split, expected);
    /* What was split is no raw text any more: the same answers, nothing is split again. */
    expect_ok(context, attn_predictor_predict(predictor, split, &prediction));
    assert_null(attn_prediction_split(prediction));
    assert_int_equal(attn_prediction_examples(prediction), attn_dataset_examples(expected));
    attn_prediction_destroy(prediction);
    expect_refused(context, attn_predictor_split(predictor, split, &split), ATTN_INVALID_ARGUMENT,
                   "is not raw text");
    attn_dataset_destroy(split);
    attn_dataset_destroy(raw);
    /* one text */
    expect_ok(context, attn_predictor_text(predictor,
                                           "The cat don't go du \xc3\xa9t\xc3\xa9.The dog sees, yes "
                                           "du cat!",
                                           &prediction));
    static const char *const words[2][10] = {
        {"The", "cat", "do", "n't", "go", "de", "le", "\xc3\xa9t\xc3\xa9", "."},
        {"The", "dog", "sees", ",", "yes", "de", "le", "cat", "!"}};
    assert_int_equal(attn_prediction_examples(prediction), 2);
    for (int64_t e = 0; e < 2; e++) {
        assert_int_equal(attn_prediction_units(prediction, e), 9);
        for (int64_t w = 0; w < 9; w++)
            assert_string_equal(attn_prediction_unit(prediction, e, w), words[e][w]);
    }
    attn_prediction_destroy(prediction);
    /* none at all has no sentences */
    static const char *const nothing[] = {"", "   "};
    for (int i = 0; i < 2; i++) {
        expect_ok(context, attn_predictor_text(predictor, nothing[i], &prediction));
        assert_int_equal(attn_prediction_examples(prediction), 0);
        assert_int_equal(attn_dataset_examples(attn_prediction_split(prediction)), 0);
        attn_prediction_destroy(prediction);
    }
    attn_dataset_destroy(expected);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
}

/* Tokens are not split, nor what the caller says stands between spaces. */
static void test_not_raw(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_model *model = load(model_path);
    attn_predictor *predictor = predictor_on(model, context);
    attn_dataset *tokens = parse_corpus(attn_model_config(model), "dev", corpus_dev), *none = NULL;
    attn_dataset *raw = read_raw(context, "The cat-dog don't\ngo.\n");
    attn_prediction *prediction = NULL;
    expect_ok(context, attn_predictor_predict(predictor, tokens, &prediction));
    assert_null(attn_prediction_split(prediction));
    assert_int_equal(attn_prediction_examples(prediction), attn_dataset_examples(tokens));
    assert_null(attn_predictor_rule(predictor, tokens));
    attn_prediction_destroy(prediction);
    expect_refused(context, attn_predictor_split(predictor, tokens, &none), ATTN_INVALID_ARGUMENT, "dev");
    expect_ok(context, attn_predictor_set(predictor, "pretokenized", "true"));
    assert_null(attn_predictor_rule(predictor, raw));
    expect_ok(context, attn_predictor_predict(predictor, raw, &prediction));
    assert_null(attn_prediction_split(prediction));
    assert_int_equal(attn_prediction_examples(prediction), 2);
    assert_int_equal(attn_prediction_units(prediction, 0), 3);
    assert_string_equal(attn_prediction_unit(prediction, 0, 1), "cat-dog");
    assert_string_equal(attn_prediction_unit(prediction, 1, 0), "go.");
    attn_prediction_destroy(prediction);
    expect_refused(context, attn_predictor_split(predictor, raw, &none), ATTN_INVALID_ARGUMENT, "raw");
    assert_null(none);
    assert_int_equal(attn_predictor_split(NULL, raw, &none), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_predictor_split(predictor, NULL, &none), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_predictor_split(predictor, raw, NULL), ATTN_INVALID_ARGUMENT);
    assert_null(attn_prediction_split(NULL));
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    /* a model without a splitter goes by rules, and says which */
    model = load(plain_path);
    predictor = predictor_on(model, context);
    assert_null(attn_model_splitter(model));
    assert_null(attn_model_splitter(NULL));
    assert_non_null(strstr(attn_predictor_rule(predictor, raw), "each line is read as one sentence"));
    assert_null(attn_predictor_rule(predictor, tokens));
    assert_null(attn_predictor_rule(predictor, NULL));
    assert_null(attn_predictor_rule(NULL, raw));
    expect_refused(context, attn_predictor_split(predictor, raw, &none), ATTN_UNSUPPORTED, "no splitter");
    expect_ok(context, attn_predictor_predict(predictor, raw, &prediction));
    assert_null(attn_prediction_split(prediction));
    assert_int_equal(attn_prediction_examples(prediction), 2);
    attn_prediction_destroy(prediction);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_dataset_destroy(raw);
    attn_dataset_destroy(tokens);
}

/* Answers are written as tags, or as CoNLL-U with what was split; the sentences are embedded. */
static void test_written(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_model *model = load(model_path);
    attn_predictor *predictor = predictor_on(model, context);
    attn_dataset *raw = read_raw(context, "The dog don't go du cat.\n\nThe cat sees, yes du dog!\n");
    attn_write_options options;
    attn_write_options_init(&options);
    options.lines = "lies";
    options.length = 4;
    const char *text = NULL;
    size_t length = 0;
    expect_ok(context, attn_predictor_write(predictor, raw, &options, &text, &length));
    assert_string_equal(text,
                        "The\tDET\ndog\tNOUN\ndo\tAUX\nn't\tPART\ngo\tVERB\nde\tADP\nle\tDET\ncat\tNOUN\n"
                        ".\tPUNCT\n\nThe\tDET\ncat\tNOUN\nsees\tVERB\n,\tPUNCT\nyes\tPART\nde\tADP\n"
                        "le\tDET\ndog\tNOUN\n!\tPUNCT\n\n");
    expect_ok(context, attn_predictor_set(predictor, "conllu", "true"));
    expect_ok(context, attn_predictor_write(predictor, raw, &options, &text, &length));
    static const char begins[] = "# newpar\n# sent_id = 1.1\n# text = The dog don't go du cat.\n"
                                 "1\tThe\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_\n"
                                 "3-4\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n3\tdo\t_\tAUX\t_\t_\t_\t_\t_\t_\n";
    assert_int_equal(strncmp(text, begins, sizeof begins - 1), 0);
    assert_non_null(strstr(text, "\n\n# newpar\n# sent_id = 3.1\n"));
    attn_vectors vectors = {.size = sizeof vectors};
    expect_ok(context, attn_predictor_embed(predictor, raw, 0, &vectors));
    assert_int_equal(vectors.examples, 2);
    assert_int_equal(vectors.rows, 18);
    attn_dataset_destroy(raw);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
}

/* ---- beside the tagger ---- */

typedef struct watcher {
    int64_t stop_at; /* step; -1: never */
    attn_training_state state;
    int64_t steps;
    double of_best; /* the splitter's score where the model that was kept was evaluated */
} watcher;

static int watch(void *user, const attn_training_state *state) {
    watcher *to = user;
    to->state = *state;
    to->steps += state->event == ATTN_TRAINING_STEP;
    if (state->event == ATTN_TRAINING_DEV && state->best_step == state->step)
        to->of_best = state->splitter_f1;
    return state->event == ATTN_TRAINING_STEP && state->step == to->stop_at;
}

typedef struct run {
    const char *const *sets;
    const char *train, *dev;
    int threads, resume, main_only;
    int64_t stop_at;
} run;

static char *path_of(const char *name, const char *ending, char *path) {
    sprintf(path, "%s/%s%s.safetensors", folder, name, ending);
    return path;
}

static attn_status train_as(const run *given, const char *name, watcher *seen) {
    attn_context *context = test_best_context(given->threads ? given->threads : 1);
    attn_config *config = tiny_config(context, given->sets);
    attn_trainer_options options;
    char path[100];
    attn_trainer_options_init(&options);
    *seen = (watcher){.stop_at = given->stop_at};
    options.output = path_of(name, "", path);
    options.force = !given->resume;
    options.keep_last = 1;
    options.watch = watch;
    options.user = seen;
    options.resume = given->resume;
    options.main_only = given->main_only;
    options.save_seconds = 1000;
    attn_status status = train_on(config, given->train, given->dev, &options);
    attn_config_destroy(config);
    return status;
}

static void train_well(const run *given, const char *name, watcher *seen) {
    attn_status status = train_as(given, name, seen);
    expect_ok(test_best_context(given->threads ? given->threads : 1), status);
    assert_int_equal(seen->state.event, ATTN_TRAINING_DONE);
}

static void same_runs(const char *a, const char *b) {
    char one[100], other[100];
    if (!same_files(path_of(a, "", one), path_of(b, "", other))) fail_msg("%s and %s differ", one, other);
    if (!same_files(path_of(a, ".last", one), path_of(b, ".last", other)))
        fail_msg("%s and %s differ", one, other);
}

/* Tensors of the first file but those of a splitter are in the second, the same bits; how many. */
static int64_t compare_tensors(const at_safetensors *with, const at_safetensors *without) {
    int64_t count = 0;
    for (int64_t i = 0; i < at_safetensors_count(with); i++) {
        const at_stored *one = at_safetensors_at(with, i);
        if (strstr(one->name, "splitter.")) continue;
        const at_stored *other = at_safetensors_find(without, one->name);
        if (!other) fail_msg("%s is missing", one->name);
        assert_int_equal(one->count, other->count);
        assert_int_equal(one->dtype, other->dtype);
        size_t bytes = one->dtype == AT_DTYPE_I64 ? 8 : one->dtype == AT_DTYPE_U8 ? 1 : 4;
        if (memcmp(one->data, other->data, (size_t)one->count * bytes) != 0)
            fail_msg("%s differs", one->name);
        count++;
    }
    return count;
}

static void check_undisturbed(const char *with, const char *without, const char *ending) {
    attn_context *context = test_best_context(1);
    at_safetensors *files[2];
    char path[100];
    expect_ok(context, at_safetensors_open(context, path_of(with, ending, path), &files[0]));
    expect_ok(context, at_safetensors_open(context, path_of(without, ending, path), &files[1]));
    int64_t all = at_safetensors_count(files[1]);
    assert_true(at_safetensors_count(files[0]) > all);
    assert_int_equal(compare_tensors(files[0], files[1]), all);
    assert_string_equal(at_safetensors_metadata(files[0], "attn.outputs"),
                        at_safetensors_metadata(files[1], "attn.outputs"));
    /* the scores of the tagger are those, and more follow */
    const char *scores = at_safetensors_metadata(files[0], "attn.scores"),
               *others = at_safetensors_metadata(files[1], "attn.scores");
    const char *end = strstr(others, ",\"run\":"); /* says what the data was, that of the splitter, too */
    assert_int_equal(strncmp(scores, others, end ? (size_t)(end - others) : strlen(others) - 1), 0);
    assert_non_null(strstr(scores, "\"splitter\":{\"word_f1\":"));
    assert_null(strstr(others, "splitter"));
    for (int i = 0; i < 2; i++) at_safetensors_close(files[i]);
}

static void test_undisturbed(void **state) {
    (void)state;
    static const char *const none[] = {"task",
                                       "tag",
                                       "training.epochs",
                                       "3",
                                       "encoder.dropout",
                                       "0.2",
                                       "text.unit_dropout",
                                       "0.2",
                                       "training.batch_units",
                                       "100",
                                       NULL};
    watcher with, without;
    run given = {.sets = few_steps, .train = corpus, .dev = corpus_dev, .stop_at = -1};
    train_well(&given, "whole", &with);
    assert_int_equal(with.state.splitter, 1);
    assert_null(with.state.no_splitter);
    assert_true(with.state.splitter_f1 > 0 && with.state.splitter_f1 <= 1);
    assert_true(with.state.splitter_f1 == with.of_best);
    given.main_only = 1;
    train_well(&given, "main", &without);
    assert_int_equal(without.state.splitter, 0);
    assert_true(isnan(without.state.splitter_f1));
    assert_true(with.state.parameters > without.state.parameters);
    assert_true(with.state.loss == without.state.loss && with.state.value == without.state.value);
    check_undisturbed("whole", "main", "");
    check_undisturbed("whole", "main", ".last");
    given.main_only = 0;
    given.sets = none;
    train_well(&given, "main", &without);
    assert_null(without.state.no_splitter);
    check_undisturbed("whole", "main", "");
}

/* Steps of several batches: gradients are divided by how many there were, whichever network they are of. */
static void test_accumulated(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    double norms[2];
    for (int i = 0; i < 2; i++) {
        attn_config *config = tiny_config(context, split_sets);
        expect_ok(context, attn_config_set(config, "training.batch_units", "100000"));
        expect_ok(context, attn_config_set(config, "training.accumulate", i ? "16" : "1"));
        attn_dataset *data = parse_corpus(config, "train", plain);
        attn_trainer *trainer = NULL;
        expect_ok(context, attn_trainer_create(config, data, data, NULL, &trainer));
        expect_ok(context, at_trainer_build(trainer));
        expect_ok(context, at_trainer_step(trainer));
        norms[i] = attn_optimizer_gradient_norm(trainer->courses[1].optimizer);
        attn_trainer_destroy(trainer);
        attn_dataset_destroy(data);
        attn_config_destroy(config);
    }
    assert_true(norms[0] > 0 && norms[1] > 0);
    assert_true(norms[1] < 2 * norms[0]); /* 16 times as large otherwise */
}

static void test_no_splitter(void **state) {
    (void)state;
    char *spaced = strdup(corpus_dev); /* without comments and marks of spaces */
    assert_non_null(spaced);
    for (char *at; (at = strstr(spaced, "SpaceAfter=No"));) memcpy(at, "X=Xxxxxxxx=Xx", 13);
    for (char *at; (at = strstr(spaced, "# text"));) memcpy(at, "# xxxx", 6);
    watcher seen;
    run given = {.sets = few_steps, .train = spaced, .dev = spaced, .stop_at = 1};
    train_well(&given, "none", &seen);
    assert_int_equal(seen.state.splitter, 0);
    assert_non_null(strstr(seen.state.no_splitter, "the training"));
    char path[100];
    attn_model *model = load(path_of("none", "", path));
    assert_null(attn_model_splitter(model));
    attn_model_destroy(model);
    /* the caller may say that text is like that */
    static const char *const one[] = {"task", "tag", "text.splitter", "auto", "text.spaces", "one", NULL};
    given.sets = one;
    train_well(&given, "none", &seen);
    assert_int_equal(seen.state.splitter, 1);
    assert_null(seen.state.no_splitter);
    free(spaced);
}

/* Words without spaces between them: the larger network, with attention and a CRF. */
static void test_without_spaces(void **state) {
    (void)state;
    static const char *const sets[] = {
        "task", "tag", "text.splitter", "auto", "text.spaces", "none", "training.steps", "2", NULL};
    static const char line[] = "\xe6\x88\x91\xe7\x88\xb1\xe4\xbd\xa0\xe3\x80\x82";
    char conllu[2000] = "", path[100];
    for (int i = 0; i < 8; i++)
        strcat(
            conllu,
            "1\t\xe6\x88\x91\t_\tA\t_\t_\t_\t_\t_\t_\n2\t\xe7\x88\xb1\xe4\xbd\xa0\t_\tB\t_\t_\t_\t_\t_\t_\n"
            "3\t\xe3\x80\x82\t_\tC\t_\t_\t_\t_\t_\t_\n\n");
    attn_context *context = test_best_context(1);
    attn_model *model = train_model(tiny_config(context, sets), conllu, conllu, path_of("zh", "", path));
    attn_predictor *predictor = predictor_on(model, context);
    attn_prediction *prediction = NULL;
    expect_ok(context, attn_predictor_text(predictor, line, &prediction));
    char all[100] = "";
    for (int64_t e = 0; e < attn_prediction_examples(prediction); e++)
        for (int64_t w = 0; w < attn_prediction_units(prediction, e); w++)
            strcat(all, attn_prediction_unit(prediction, e, w));
    assert_string_equal(all, line);
    attn_prediction_destroy(prediction);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
}

/* ---- the same bytes ---- */

static void test_threads(void **state) {
    (void)state;
    watcher seen;
    run given = {.sets = few_steps, .train = corpus, .dev = corpus_dev, .stop_at = -1};
    train_well(&given, "whole", &seen);
    static const int threads[] = {2, 7};
    for (int i = 0; i < 2; i++) {
        given.threads = threads[i];
        train_well(&given, "more", &seen);
        same_runs("whole", "more");
    }
}

static void test_stops(void **state) {
    (void)state;
    watcher seen;
    run given = {.sets = few_steps, .train = corpus, .dev = corpus_dev, .stop_at = -1};
    train_well(&given, "whole", &seen);
    int64_t steps = seen.state.step;
    assert_true(steps > 8);
    const int64_t stops[] = {1, steps / 3, steps / 3 + 1, steps - 1};
    for (int i = 0; i < 5; i++) {
        given.resume = i > 0;
        given.threads = 1 + i % 2;
        given.stop_at = i < 4 ? stops[i] : -1;
        train_well(&given, "parts", &seen);
        assert_int_equal(seen.state.resumed_from, i > 0 ? stops[i - 1] : 0);
    }
    same_runs("whole", "parts");
    /* nothing is left to do: the score of the splitter is not known */
    train_well(&given, "parts", &seen);
    assert_int_equal(seen.steps, 0);
    assert_int_equal(seen.state.splitter, 1);
    assert_true(isnan(seen.state.splitter_f1));
    same_runs("whole", "parts");
    /* Raw text that differs in nothing but comments, of which the tagger knows nothing. */
    char *other = strdup(corpus), *at = strstr(other, "don't go du");
    assert_non_null(at);
    memcpy(at, "don'tgo  du", 11);
    given.train = other;
    expect_refused(test_best_context(given.threads), train_as(&given, "parts", &seen), ATTN_INVALID_ARGUMENT,
                   "other training data");
    free(other);
}

/* ---- the file ---- */

typedef struct lie {
    const char *key, *from, *to; /* metadata: `from` in it becomes `to`; from NULL: it is not there */
    const char *tensor;          /* or a tensor */
    const char *bytes;           /* what its first bytes become; NULL: it is not there */
    const char *part;            /* of the error */
} lie;

static void put_metadata(at_safetensors_writer *writer, const at_safetensors *file, const lie *told) {
    static const char *const keys[] = {"attn.format",          "attn.config",           "attn.outputs",
                                       "attn.splitter.config", "attn.splitter.outputs", "attn.scores"};
    attn_context *context = test_best_context(1);
    for (int i = 0; i < 6; i++) {
        const char *text = at_safetensors_metadata(file, keys[i]);
        assert_non_null(text);
        char *changed = NULL;
        if (told->key && strcmp(told->key, keys[i]) == 0) {
            if (!told->from) continue;
            const char *place = strstr(text, told->from);
            if (!place) fail_msg("%s is not in %s", told->from, text);
            size_t room = strlen(text) + strlen(told->to) + 1;
            changed = malloc(room);
            assert_non_null(changed);
            snprintf(changed, room, "%.*s%s%s", (int)(place - text), text, told->to,
                     place + strlen(told->from));
        }
        expect_ok(context, at_safetensors_put(writer, keys[i], changed ? changed : text));
        free(changed);
    }
}

/* Writes `lying`. */
static void tell(const lie *told) {
    attn_context *context = test_best_context(1);
    at_safetensors *file = NULL;
    at_safetensors_writer *writer = NULL;
    char bytes[4096];
    int found = !told->tensor;
    expect_ok(context, at_safetensors_open(context, model_path, &file));
    expect_ok(context, at_safetensors_writer_create(context, &writer));
    put_metadata(writer, file, told);
    for (int64_t i = 0; i < at_safetensors_count(file); i++) {
        const at_stored *stored = at_safetensors_at(file, i);
        const void *data = stored->data;
        if (told->tensor && strcmp(told->tensor, stored->name) == 0) {
            found = 1;
            if (!told->bytes) continue;
            assert_true(stored->dtype == AT_DTYPE_U8 && stored->count < 4096 &&
                        strlen(told->bytes) <= (size_t)stored->count);
            memcpy(bytes, data, (size_t)stored->count);
            memcpy(bytes, told->bytes, strlen(told->bytes));
            data = bytes;
        }
        expect_ok(context,
                  at_safetensors_add(writer, stored->name, stored->dtype, stored->rank, stored->shape, data));
    }
    if (!found) fail_msg("there is no tensor %s", told->tensor);
    expect_ok(context, at_safetensors_commit(writer, lying));
    at_safetensors_writer_destroy(writer);
    at_safetensors_close(file);
}

static void test_saved_again(void **state) {
    (void)state;
    attn_model *model = load(model_path);
    expect_ok(test_best_context(1), attn_model_save(model, lying));
    assert_true(same_files(model_path, lying));
    attn_model_destroy(model);
    tell(&(lie){0});
    assert_true(same_files(model_path, lying));
}

static void test_lies(void **state) {
    (void)state;
    static const char config[] = "attn.splitter.config", outputs[] = "attn.splitter.outputs";
    static const lie lies[] = {
        {.key = config, .part = "does not name: splitter."},
        {.key = config, .from = "{", .to = "[", .part = ":"},
        {.key = config, .from = "\"columns\": 64", .to = "\"columns\": 32", .part = "splitter.features"},
        {.key = config,
         .from = "\"scheme\": \"split\"",
         .to = "\"scheme\": \"bmes\"",
         .part = "not that of a splitter"},
        {.key = config, .from = "\"scheme\": \"split\"", .to = "\"scheme\": \"none\"", .part = "text.unit"},
        {.key = config,
         .from = "\"chars\",\n    \"scheme\": \"split\"",
         .to = "\"words\",\n    \"scheme\": \"none\"",
         .part = "not that of a splitter"},
        {.key = config, .from = "\"tag\"", .to = "\"classify\"", .part = "split"},
        {.key = config, .from = "\"task\"", .to = "\"input\": \"vectors\", \"task\"", .part = "input"},
        {.key = outputs, .part = "attn.splitter.outputs is missing"},
        {.key = outputs, .from = "\"B\",\"I\"", .to = "\"I\",\"B\"", .part = "scheme split has the labels"},
        {.key = outputs, .from = "\"B\",", .to = "", .part = "scheme split has the labels"},
        {.key = outputs, .from = "\"N\"", .to = "\"N\",\"X\"", .part = "scheme split has the labels"},
        {.key = outputs, .from = "\"class\"", .to = "\"labels\"", .part = "scheme split has the labels"},
        {.key = outputs, .from = "true", .to = "false", .part = "per_token"},
        {.tensor = "splitter.text.expansions.bytes", .part = "is not a list of strings"},
        {.tensor = "splitter.text.expansions.bytes", .bytes = "du  ", .part = "text.expansions"},
        {.tensor = "splitter.text.expansions.bytes", .bytes = "du\tde\t", .part = "text.expansions"},
        {.tensor = "splitter.text.expansions.bytes", .bytes = "\t", .part = "text.expansions"},
        {.tensor = "splitter.text.units.bytes", .part = "is not a list of strings"},
        {.tensor = "splitter.features.rows", .part = "the tensor splitter.features is missing"},
        {.tensor = "splitter.output.0.bias", .part = "the tensor splitter.output.0.bias is missing"},
    };
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        attn_model *model = NULL;
        tell(&lies[i]);
        attn_status status = attn_model_load(context, lying, &model);
        if (status == ATTN_OK) fail_msg("lie %zu (\"%s\") was taken", i, lies[i].part);
        assert_null(model);
        expect_refused(context, status, ATTN_INVALID_ARGUMENT, lying);
        expect_refused(context, status, ATTN_INVALID_ARGUMENT, lies[i].part);
    }
}

/* ---- memory ---- */

static attn_status ask(attn_context *context, const attn_model *model) {
    attn_predictor *predictor = NULL;
    attn_prediction *prediction = NULL;
    attn_status status = attn_predictor_create(model, context, &predictor);
    assert_int_equal(predictor != NULL, status == ATTN_OK);
    if (status == ATTN_OK)
        status = attn_predictor_text(predictor, "The cat don't go du dog.The", &prediction);
    assert_int_equal(prediction != NULL, status == ATTN_OK);
    if (prediction) assert_non_null(attn_prediction_split(prediction));
    attn_prediction_destroy(prediction);
    attn_predictor_destroy(predictor);
    return status;
}

static void test_memory_for_predicting_runs_out(void **state) {
    (void)state;
    int64_t failures = 0;
    for (int64_t n = 1;; n += 1 + n / 40) {
        counting_allocator counter = {0};
        attn_context *context = counting_context(&counter);
        attn_model *model = NULL;
        counter.fail_at = n;
        attn_status status = attn_model_load(context, model_path, &model);
        if (status == ATTN_OK) status = ask(context, model);
        counter.fail_at = 0;
        if (status != ATTN_OK) expect_refused(context, status, ATTN_OUT_OF_MEMORY, "memory"), failures++;
        attn_model_destroy(model);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
        if (status == ATTN_OK) break;
        assert_true(n < 100000);
    }
    assert_true(failures > 60);
}

/* Making a trainer at most of its many places, running it at some. */
static void test_memory_for_training_runs_out(void **state) {
    (void)state;
    int64_t failures[2] = {0};
    for (int64_t n = 1, runs = 0;; n += 1 + n / (runs ? 3 : 24)) {
        counting_allocator counter = {0};
        attn_context *context = counting_context(&counter);
        attn_config *config = tiny_config(context, split_sets);
        expect_ok(context, attn_config_set(config, "training.steps", "1"));
        attn_dataset *data = parse_corpus(config, "train", plain);
        attn_trainer_options options;
        attn_trainer_options_init(&options);
        options.output = lying;
        options.force = 1;
        attn_trainer *trainer = NULL;
        counter.fail_at = n;
        attn_status status = attn_trainer_create(config, data, data, &options, &trainer);
        assert_int_equal(trainer != NULL, status == ATTN_OK);
        runs = status == ATTN_OK;
        if (runs) status = attn_trainer_run(trainer);
        counter.fail_at = 0;
        if (status != ATTN_OK)
            expect_refused(context, status, ATTN_OUT_OF_MEMORY, "memory"), failures[runs]++;
        attn_trainer_destroy(trainer);
        attn_dataset_destroy(data);
        attn_config_destroy(config);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
        if (status == ATTN_OK) break;
        assert_true(n < 1000000);
    }
    assert_true(failures[0] > 40 && failures[1] > 2);
}

/* ---- threads ---- */

typedef struct shared {
    const attn_model *model;
    char *found; /* the lines of all sentences, or NULL */
} shared;

static void *split_in_thread(void *given) {
    shared *own = given;
    attn_predictor *predictor = NULL;
    attn_prediction *prediction = NULL;
    attn_dataset *raw = NULL;
    attn_reader_options options;
    attn_reader_options_init(&options);
    options.format = ATTN_FORMAT_LINES;
    options.labelled = 0;
    own->found = NULL;
    if (attn_predictor_create(own->model, NULL, &predictor) != ATTN_OK) return NULL;
    char *all = calloc(1, 40000);
    attn_status status = attn_dataset_parse(attn_predictor_context(predictor), "raw", 1, raw_lines,
                                            strlen(raw_lines), &options, &raw);
    for (int again = 0; again < 3 && status == ATTN_OK; again++) {
        if (all) *all = 0;
        status = attn_predictor_predict(predictor, raw, &prediction);
        const attn_dataset *split = status == ATTN_OK ? attn_prediction_split(prediction) : NULL;
        for (int64_t e = 0; all && e < attn_dataset_examples(split); e++)
            strcat(all, attn_dataset_source(split, e));
        if (status == ATTN_OK) attn_prediction_destroy(prediction);
    }
    if (status == ATTN_OK) own->found = all;
    if (status != ATTN_OK) free(all);
    attn_dataset_destroy(raw);
    attn_predictor_destroy(predictor);
    return NULL;
}

static void test_threads_share(void **state) {
    (void)state;
    attn_model *model = load(model_path);
    shared own[2] = {{model, NULL}, {model, NULL}}, alone = {model, NULL};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, split_in_thread, &own[i]), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    split_in_thread(&alone);
    assert_non_null(alone.found);
    assert_true(strlen(alone.found) > 1000);
    for (int i = 0; i < 2; i++) {
        assert_non_null(own[i].found);
        assert_string_equal(own[i].found, alone.found);
        free(own[i].found);
    }
    free(alone.found);
    attn_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_raw_text),
        cmocka_unit_test(test_not_raw),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_undisturbed),
        cmocka_unit_test(test_accumulated),
        cmocka_unit_test(test_no_splitter),
        cmocka_unit_test(test_without_spaces),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_saved_again),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_memory_for_predicting_runs_out),
        cmocka_unit_test(test_memory_for_training_runs_out),
        cmocka_unit_test(test_threads_share),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
