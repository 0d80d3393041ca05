/* test_training_memory.c: steps of training that allocate nothing once every batch has been seen, and memory
 * that runs out anywhere in a training run.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/examples.h"
#include "support/memory.h"
#include "support/training.h"

typedef char *(*corpus_function)(uint64_t seed, int examples);
static char *classes(uint64_t seed, int examples) { return corpus_classes(seed, examples, 0); }
static char *pairs(uint64_t seed, int examples) { return corpus_pairs(seed, examples, 0); }

static const struct {
    const char *name;
    corpus_function corpus;
    const char *sets[14];
} cases[] = {
    {"tags", corpus_conllu, {"task", "tag", "reader.column", "UPOS,XPOS"}},
    {"crf", corpus_conllu, {"task", "tag", "output.crf", "true", "output.members", "2"}},
    {"words",
     corpus_conllu,
     {"task", "tag", "text.unit", "chars", "text.scheme", "bmes", "encoder.kind", "rnn"}},
    {"pieces", corpus_conllu, {"task", "tag", "text.longest", "3", "encoder.kind", "cnn"}},
    {"classes", classes, {"task", "classify", "output.members", "2", "output.pool", "attention"}},
    {"subwords",
     classes,
     {"task", "classify", "text.unit", "subwords", "encoder.dropout", "0.2", "text.feature_dropout", "0.2",
      "text.unit_dropout", "0.1"}},
    {"labels", corpus_labels, {"task", "classify", "encoder.kind", "fc"}},
    {"numbers", corpus_numbers, {"task", "regress", "training.accumulate", "2"}},
    {"pairs", pairs, {"task", "seq2seq"}},
    {"running", corpus_running, {"task", "lm", "text.longest", "20"}},
};
enum { CASES = sizeof cases / sizeof *cases };

/* ---- nothing new ---- */

typedef struct steps_seen {
    const counting_allocator *counter;
    int64_t before;      /* allocations when the last event was over */
    int64_t late, after; /* steps after the first epoch, and allocations of them */
    int64_t epochs;      /* the last one that began, and how often one did after the first */
    int64_t begun;
} steps_seen;

static int count_allocations(void *user, const attn_training_state *state) {
    steps_seen *seen = user;
    int64_t now = seen->counter->allocations;
    if (state->event == ATTN_TRAINING_STEP && state->epoch > 1.0001) {
        seen->late++;
        seen->after += now - seen->before;
        seen->begun += (int64_t)state->epoch > seen->epochs; /* with the plan of that epoch */
        seen->epochs = (int64_t)state->epoch;
    }
    seen->before = now;
    return 0;
}

static void test_nothing_new(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        counting_allocator counter = {0};
        attn_context *context = counting_context(&counter);
        attn_config *config = tiny_config(context, cases[i].sets);
        expect_ok(context, attn_config_set(config, "training.epochs", "5"));
        steps_seen seen = {.counter = &counter};
        attn_trainer_options options;
        attn_trainer_options_init(&options);
        options.watch = count_allocations;
        options.user = &seen;
        char *train = cases[i].corpus(1, 60), *dev = cases[i].corpus(2, 6);
        expect_ok(context, train_on(config, train, dev, &options));
        if (seen.after != 0)
            fail_msg("%s: %d allocations in %d steps after the first epoch", cases[i].name, (int)seen.after,
                     (int)seen.late);
        if (seen.late < 8 || seen.begun < 3)
            fail_msg("%s: %d steps, %d epochs", cases[i].name, (int)seen.late, (int)seen.begun);
        free(train);
        free(dev);
        attn_config_destroy(config);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
    }
}

/* ---- none left ---- */

static attn_status train_once(attn_context *context, size_t which, const char *train, const char *dev,
                              const char *path) {
    attn_config *config = NULL;
    attn_dataset *data[2] = {NULL, NULL};
    attn_trainer *trainer = NULL;
    attn_reader_options reader;
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.output = path;
    options.force = 1;
    static const char *const basis[] = {"encoder.columns",
                                        "8",
                                        "encoder.heads",
                                        "2",
                                        "encoder.layers",
                                        "1",
                                        "text.buckets",
                                        "16",
                                        "training.batch_units",
                                        "30",
                                        "text.min_count",
                                        "1",
                                        "training.epochs",
                                        "1",
                                        "text.subwords",
                                        "20",
                                        "text.splitter", /* test_split_training.c has that */
                                        "none",
                                        NULL};
    attn_status status = attn_config_create(context, &config);
    for (const char *const *at = basis; *at && status == ATTN_OK; at += 2)
        status = attn_config_set(config, at[0], at[1]);
    for (const char *const *at = cases[which].sets; *at && status == ATTN_OK; at += 2)
        status = attn_config_set(config, at[0], at[1]);
    if (status == ATTN_OK) status = attn_config_reader(config, &reader);
    if (status == ATTN_OK)
        status = attn_dataset_parse(context, "train", 1, train, strlen(train), &reader, &data[0]);
    if (status == ATTN_OK && dev)
        status = attn_dataset_parse(context, "dev", 1, dev, strlen(dev), &reader, &data[1]);
    if (status == ATTN_OK) status = attn_trainer_create(config, data[0], data[1], &options, &trainer);
    if (status == ATTN_OK) status = attn_trainer_run(trainer);
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(data[0]);
    attn_dataset_destroy(data[1]);
    attn_config_destroy(config);
    return status;
}

static void test_none_left(void **state) {
    (void)state;
    char folder[] = "/tmp/attn_training_memory_XXXXXX", path[96];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    for (size_t i = 0; i < CASES; i++) {
        char *train = cases[i].corpus(1, 5), *dev = i % 2 ? cases[i].corpus(2, 2) : NULL;
        counting_allocator counter = {0};
        attn_context *context = counting_context(&counter);
        expect_ok(context,
                  train_once(context, i, train, dev, path)); /* working memory of the context is there */
        int64_t live = counter.live, refused = 0;
        for (int64_t n = 1;; n += 1 + n / 50) {
            int64_t failures = counter.failures;
            counter.fail_at = n;
            attn_status status = train_once(context, i, train, dev, path);
            counter.fail_at = 0;
            if (counter.failures == failures) {
                expect_ok(context, status);
                break;
            }
            if (status != ATTN_OUT_OF_MEMORY)
                fail_msg("%s, allocation %d: %s, %s", cases[i].name, (int)n, attn_status_name(status),
                         attn_context_error(context));
            assert_true(strlen(attn_context_error(context)) > 0);
            refused++;
            if (counter.live != live)
                fail_msg("%s, allocation %d: %d blocks are left", cases[i].name, (int)n,
                         (int)(counter.live - live));
        }
        assert_true(refused > 50);
        assert_int_equal(counter.live, live);
        attn_context_destroy(context);
        assert_int_equal(counter.live, 0);
        free(train);
        free(dev);
    }
    remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_new),
        cmocka_unit_test(test_none_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
