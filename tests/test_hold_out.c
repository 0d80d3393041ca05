/* test_hold_out.c: nothing that is learned from is a part of a text held out, or much like it; the split is
 * the same on any number of threads and in any order of the texts, and a run that is resumed has the one it
 * began with.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <attn/attn.h>

#include "base/context.h"
#include "data/similar.h"
#include "inputs/input.h"
#include "model/config.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/training.h"
#include "train/trainer.h"

static char folder[] = "/tmp/attn_hold_out_XXXXXX";

static int setup(void **state) {
    return test_contexts_setup(state) != 0 || group_setup(state) != 0 || !mkdtemp(folder) ? -1 : 0;
}

static int teardown(void **state) {
    remove_folder(folder);
    int failed = group_teardown(state);
    return test_contexts_teardown(state) | failed;
}

/* ---- texts ---- */

enum { TEXT_BYTES = 400 };

typedef struct texts {
    char (*list)[TEXT_BYTES];
    int count, room;
} texts;

static char *add(texts *to) {
    if (to->count == to->room) {
        to->room = to->room ? 2 * to->room : 256;
        to->list = realloc(to->list, (size_t)to->room * sizeof *to->list);
        assert_non_null(to->list);
    }
    to->list[to->count][0] = 0;
    return to->list[to->count++];
}

/* Words first .. first + count - 1 of a sentence of numbers. */
static void put_words(texts *to, const int *words, int first, int count) {
    char *text = add(to);
    for (int i = first; i < first + count; i++)
        sprintf(text + strlen(text), "%sw%d", i == first ? "" : " ", words[i]);
}

static void draw_words(test_random *random, int *words, int count, int different) {
    for (int i = 0; i < count; i++) words[i] = (int)random_between(random, 0, different - 1);
}

static int has_words(const char *whole, const char *part) {
    char spaced[TEXT_BYTES + 2], sought[TEXT_BYTES + 2];
    snprintf(spaced, sizeof spaced, " %s ", whole);
    snprintf(sought, sizeof sought, " %s ", part);
    return strstr(spaced, sought) != NULL;
}

static int count_words(const char *text) {
    int count = *text != 0;
    for (; *text; text++) count += *text == ' ';
    return count;
}

typedef struct read_from {
    const attn_dataset *dataset;
    const at_input_kind *kind;
} read_from;

static attn_status read_units(const void *user, attn_context *context, int64_t example,
                              at_unit_hashes *units) {
    const read_from *from = user;
    return from->kind->units(from->dataset, context, example, units);
}

static attn_dataset *dataset_of(attn_context *context, const texts *given) {
    const char **list = calloc((size_t)given->count + 1, sizeof *list);
    attn_dataset *dataset = NULL;
    assert_non_null(list);
    for (int i = 0; i < given->count; i++) list[i] = given->list[i];
    expect_ok(context, attn_dataset_from_texts(context, list, NULL, given->count, &dataset));
    free(list);
    return dataset;
}

/* The side of each text; the caller frees them. Also checks that the counts are those of the sides. */
static unsigned char *hold(attn_context *context, const texts *given, int64_t wanted, at_apart *apart) {
    attn_dataset *dataset = dataset_of(context, given);
    read_from from = {dataset, at_input_find("text")};
    at_unit_source source = {&from, given->count, read_units};
    unsigned char *sides = calloc((size_t)given->count, 1);
    int64_t counts[3] = {0, 0, 0};
    assert_non_null(sides);
    expect_ok(context, at_hold_apart(context, &source, wanted, sides, apart));
    for (int i = 0; i < given->count; i++) counts[sides[i]]++;
    assert_int_equal(counts[AT_SIDE_HELD], apart->held);
    assert_int_equal(counts[AT_SIDE_LEFT], apart->left);
    attn_dataset_destroy(dataset);
    return sides;
}

/* ---- parts of texts ---- */

/* Sentences, and of each its beginnings, its ends and pieces of few words. Words are frequent or rare. */
static void make_phrases(texts *to, int sentences) {
    test_random random = {11};
    for (int s = 0; s < sentences; s++) {
        int words[24], count = (int)random_between(&random, 12, 24);
        for (int i = 0; i < count; i++)
            words[i] = (int)random_between(&random, 0, random_chance(&random, 50) ? 20 : 4000);
        put_words(to, words, 0, count);
        for (int part = 5; part < count; part += 3) {
            put_words(to, words, 0, part);
            put_words(to, words, part, count - part);
        }
        for (int i = 0; i < 4; i++) put_words(to, words, (int)random_between(&random, 0, count - 4), i + 1);
    }
}

static void test_phrases(void **state) {
    (void)state;
    texts given = {0};
    at_apart apart;
    make_phrases(&given, 200);
    unsigned char *sides = hold(test_best_context(1), &given, given.count / 10, &apart);
    assert_int_equal(apart.fragments, 1);
    assert_in_range(apart.held, 15, 30); /* of 200 sentences */
    assert_in_range(apart.held + apart.left, given.count / 20, given.count / 9);
    int common = 0;
    for (int d = 0; d < given.count; d++) {
        if (sides[d] != AT_SIDE_HELD) continue;
        assert_true(count_words(given.list[d]) >= 12); /* a whole sentence */
        for (int t = 0; t < given.count; t++) {
            if (sides[t] != AT_SIDE_LEARNED) continue;
            assert_false(has_words(given.list[t], given.list[d]));
            if (!has_words(given.list[d], given.list[t])) continue;
            /* short, and another sentence that is learned from has it, too */
            assert_true(count_words(given.list[t]) < 5);
            int elsewhere = 0;
            for (int o = 0; o < given.count && !elsewhere; o++)
                elsewhere = sides[o] == AT_SIDE_LEARNED && count_words(given.list[o]) >= 5 &&
                            has_words(given.list[o], given.list[t]);
            assert_true(elsewhere);
            common++;
        }
    }
    assert_true(common > 100); /* frequent words are still learned from */
    free(sides);
    free(given.list);
}

/* ---- near duplicates ---- */

/* Every text is there a second time: with one word changed, with other capitals, the same, or with more
 * at its end. */
static void test_near_duplicates(void **state) {
    (void)state;
    texts given = {0};
    test_random random = {12};
    at_apart apart;
    enum { PAIRS = 400 };
    for (int i = 0; i < PAIRS; i++) {
        int words[16];
        draw_words(&random, words, 16, 3000);
        put_words(&given, words, 0, 14);
        if (i % 4 == 0) words[5] = 9999;
        put_words(&given, words, 0, i % 4 == 1 ? 16 : 14);
        if (i % 4 == 2)
            for (char *at = given.list[given.count - 1]; *at; at++)
                if (*at == 'w') *at = 'W';
    }
    unsigned char *sides = hold(test_best_context(1), &given, 2 * PAIRS / 10, &apart);
    assert_int_equal(apart.fragments, 0);
    assert_in_range(apart.held + apart.left, 76, 80);
    assert_in_range(apart.held, 40, 80);
    for (int i = 0; i < PAIRS; i++) {
        unsigned char one = sides[2 * i], two = sides[2 * i + 1];
        assert_false(one == AT_SIDE_HELD && two == AT_SIDE_LEARNED);
        assert_false(two == AT_SIDE_HELD && one == AT_SIDE_LEARNED);
        if (i % 4 >= 2) assert_int_equal(one, two); /* equal ones, capitals apart, are held out together */
    }
    free(sides);
    free(given.list);
}

/* Texts of a script without spaces: characters are compared. */
static void test_characters(void **state) {
    (void)state;
    texts given = {0};
    test_random random = {13};
    at_apart apart;
    for (int i = 0; i < 200; i++) {
        char *text = add(&given), whole[TEXT_BYTES];
        for (int c = 0; c < 30; c++) {
            int code = (int)random_between(&random, 0x4e00, 0x4fff);
            sprintf(text + strlen(text), "%c%c%c", 0xe0 | code >> 12, 0x80 | (code >> 6 & 63),
                    0x80 | (code & 63));
        }
        strcpy(whole, text);
        strcpy(add(&given), whole + 9); /* without the first three */
    }
    unsigned char *sides = hold(test_best_context(1), &given, 40, &apart);
    assert_true(apart.held >= 10 && apart.held + apart.left <= 40);
    for (int i = 0; i < given.count; i += 2)
        assert_int_equal(sides[i] == AT_SIDE_LEARNED, sides[i + 1] == AT_SIDE_LEARNED);
    free(sides);
    free(given.list);
}

/* ---- no more than need be ---- */

/* Ordinary sentences share phrases, and nothing more: as many as are wanted are held out, hardly any left
 * out. */
static void test_ordinary(void **state) {
    (void)state;
    static const char *const idioms[] = {"one of the best", "in the end it is", "a bit of a",
                                         "there is a lot of"};
    texts given = {0};
    test_random random = {14};
    at_apart apart;
    for (int i = 0; i < 5000; i++) {
        char *text = add(&given);
        int count = (int)random_between(&random, 5, 20);
        if (random_chance(&random, 30)) strcpy(text, idioms[random_between(&random, 0, 3)]);
        for (int w = 0; w < count; w++) { /* the first words are far more frequent */
            int64_t most = (int64_t)1 << random_between(&random, 3, 12);
            sprintf(text + strlen(text), "%sw%d", *text ? " " : "", (int)random_between(&random, 0, most));
        }
    }
    unsigned char *sides = hold(test_best_context(1), &given, 500, &apart);
    assert_int_equal(apart.fragments, 0);
    assert_in_range(apart.held, 490, 500);
    assert_in_range(apart.left, 0, 10);
    free(sides);
    free(given.list);
}

/* Each text shares most with the next one: the first and the last have nothing in common. */
static void test_chain(void **state) {
    (void)state;
    enum { TEXTS = 1000 };
    texts given = {0};
    at_apart apart;
    int words[TEXTS + 16];
    for (int i = 0; i < TEXTS + 16; i++) words[i] = i;
    for (int i = 0; i < TEXTS; i++) put_words(&given, words, i, 12);
    unsigned char *sides = hold(test_best_context(1), &given, 100, &apart);
    assert_true(apart.held >= 10 && apart.held + apart.left <= 100);
    for (int i = 0; i + 1 < TEXTS; i++) {
        assert_false(sides[i] == AT_SIDE_HELD && sides[i + 1] == AT_SIDE_LEARNED);
        assert_false(sides[i] == AT_SIDE_LEARNED && sides[i + 1] == AT_SIDE_HELD);
    }
    free(sides);
    free(given.list);
}

/* Very many texts of one pattern, among others: its n-grams have more owners than are listed. */
static void test_pattern(void **state) {
    (void)state;
    texts given = {0};
    test_random random = {15};
    at_apart apart;
    for (int i = 0; i < 4000; i++) {
        char *text = add(&given);
        if (i % 2) {
            sprintf(text, "your order number %d has left our house and will be with you in two days", i);
        } else {
            int words[12];
            given.count--;
            draw_words(&random, words, 12, 5000);
            put_words(&given, words, 0, 12);
        }
    }
    unsigned char *sides = hold(test_best_context(1), &given, 400, &apart);
    int held = 0, learned = 0;
    assert_in_range(apart.held, 350, 400); /* of the others */
    for (int i = 1; i < given.count; i += 2) {
        held += sides[i] == AT_SIDE_HELD;
        learned += sides[i] == AT_SIDE_LEARNED;
    }
    assert_true(held == 0 || learned == 0);
    free(sides);
    free(given.list);
}

/* ---- the same split ---- */

static void test_threads(void **state) {
    (void)state;
    texts given = {0};
    make_phrases(&given, 1500); /* several ranges */
    assert_true(given.count > 3 * 4096);
    at_apart first, other;
    unsigned char *one = hold(test_best_context(1), &given, given.count / 10, &first);
    static const int threads[] = {2, 7};
    for (int i = 0; i < 2; i++) {
        unsigned char *more = hold(test_best_context(threads[i]), &given, given.count / 10, &other);
        assert_memory_equal(one, more, (size_t)given.count);
        free(more);
    }
    assert_true(first.held > 0 && first.left > 0);
    free(one);
    free(given.list);
}

static void test_order(void **state) {
    (void)state;
    texts given = {0}, moved = {0};
    test_random random = {16};
    at_apart first, other;
    make_phrases(&given, 300);
    int *from = calloc((size_t)given.count, sizeof *from);
    assert_non_null(from);
    for (int i = 0; i < given.count; i++) from[i] = i;
    for (int i = given.count - 1; i > 0; i--) {
        int j = (int)random_between(&random, 0, i), kept = from[i];
        from[i] = from[j];
        from[j] = kept;
    }
    for (int i = 0; i < given.count; i++) strcpy(add(&moved), given.list[from[i]]);
    unsigned char *one = hold(test_best_context(1), &given, given.count / 10, &first);
    unsigned char *two = hold(test_best_context(2), &moved, given.count / 10, &other);
    for (int i = 0; i < given.count; i++) assert_int_equal(two[i], one[from[i]]);
    free(from);
    free(one);
    free(two);
    free(given.list);
    free(moved.list);
}

/* ---- little or nothing in common ---- */

static void test_edges(void **state) {
    (void)state;
    texts given = {0};
    at_apart apart;
    unsigned char *sides;
    for (int i = 0; i < 50; i++) strcpy(add(&given), "all of these texts are the same");
    sides = hold(test_best_context(1), &given, 5, &apart);
    assert_int_equal(apart.held, 0); /* the caller draws one by one */
    free(sides);
    for (int i = 0; i < 50; i++) strcpy(add(&given), i % 2 ? "another one, but often" : "short");
    sides = hold(test_best_context(1), &given, 30, &apart);
    assert_int_equal(apart.held, 25); /* all of a kind, and only one kind */
    for (int i = 2; i < 50; i++) assert_int_equal(sides[50 + i], sides[50 + i % 2]);
    free(sides);
    given.count = 0;
    for (int i = 0; i < 40; i++) sprintf(add(&given), i % 4 ? "" : "text %d", i); /* most are empty */
    sides = hold(test_best_context(1), &given, 4, &apart);
    assert_int_equal(apart.held, 4);
    assert_int_equal(apart.left, 0);
    for (int i = 0; i < 40; i++) assert_true(i % 4 == 0 || sides[i] == AT_SIDE_LEARNED);
    free(sides);
    given.count = 1;
    strcpy(given.list[0], "one");
    strcpy(add(&given), "two");
    sides = hold(test_best_context(1), &given, 1, &apart);
    assert_int_equal(apart.held, 1);
    assert_int_equal(apart.left, 0);
    free(sides);
    free(given.list);
}

/* A failure at any allocation is told, and leaves nothing behind (the group's teardown counts). */
static void test_no_memory(void **state) {
    (void)state;
    texts given = {0};
    make_phrases(&given, 60);
    attn_dataset *dataset = dataset_of(group_context, &given);
    read_from from = {dataset, at_input_find("text")};
    at_unit_source source = {&from, given.count, read_units};
    unsigned char *sides = calloc((size_t)given.count, 1);
    at_apart apart;
    attn_status status = ATTN_OUT_OF_MEMORY;
    int64_t live = group_counter.live, tried = 0;
    assert_non_null(sides);
    while (status != ATTN_OK && tried < 1000) {
        memset(sides, 0, (size_t)given.count);
        group_counter.fail_at = ++tried;
        status = at_hold_apart(group_context, &source, given.count / 10, sides, &apart);
        group_counter.fail_at = 0;
        assert_int_equal(group_counter.live, live);
        if (status != ATTN_OK) assert_int_equal(status, ATTN_OUT_OF_MEMORY);
    }
    assert_int_equal(status, ATTN_OK);
    assert_true(tried > 10);
    free(sides);
    attn_dataset_destroy(dataset);
    free(given.list);
}

/* ---- training ---- */

/* Rows "label TAB text" of all texts. */
static char *rows_of(const texts *given) {
    char *rows = calloc((size_t)given->count + 1, TEXT_BYTES + 8), *at = rows;
    assert_non_null(rows);
    for (int i = 0; i < given->count; i++)
        at += sprintf(at, "%s\t%s\n", i % 3 ? "one" : "two", given->list[i]);
    return rows;
}

static attn_trainer *trainer_of(attn_context *context, const char *const *sets, const char *rows,
                                attn_config **config, attn_dataset **data) {
    attn_trainer *trainer = NULL;
    *config = tiny_config(context, sets);
    *data = parse_corpus(*config, "train", rows);
    expect_ok(context, attn_trainer_create(*config, *data, NULL, NULL, &trainer));
    return trainer;
}

static void destroy(attn_trainer *trainer, attn_config *config, attn_dataset *data) {
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(data);
    attn_config_destroy(config);
}

/* The trainer's two sets have nothing to do with each other, unless it is told otherwise. */
static void test_trainer(void **state) {
    (void)state;
    static const char *const sets[] = {"task", "classify", "training.steps", "2", NULL};
    static const char *const rows_apart[] = {
        "task", "classify", "training.steps", "2", "training.hold_out_groups", "false", NULL};
    texts given = {0};
    make_phrases(&given, 60);
    char *rows = rows_of(&given);
    attn_context *context = test_best_context(1);
    for (int grouped = 0; grouped < 2; grouped++) {
        attn_config *config;
        attn_dataset *data;
        attn_trainer *trainer = trainer_of(context, grouped ? sets : rows_apart, rows, &config, &data);
        const attn_dataset *dev = trainer->courses[0].dev.dataset,
                           *learned = trainer->courses[0].train.dataset;
        int64_t out = attn_dataset_examples(dev), in = attn_dataset_examples(learned);
        int shared = 0;
        for (int64_t d = 0; d < out; d++)
            for (int64_t t = 0; t < in; t++) {
                const char *whole = attn_dataset_token(dev, d, 0), *part = attn_dataset_token(learned, t, 0);
                shared += count_words(part) >= 5 && (has_words(whole, part) || has_words(part, whole));
            }
        assert_int_equal(trainer->state.held_out, 1);
        assert_int_equal(trainer->state.held_alike, 0);
        assert_int_equal(out + in + trainer->state.left_out, given.count);
        if (grouped) {
            assert_int_equal(shared, 0);
            assert_true(trainer->state.left_out > 0);
        } else {
            assert_true(shared > 0);
            assert_int_equal(out, (given.count + 5) / 10);
        }
        destroy(trainer, config, data);
    }
    free(rows);
    free(given.list);
}

static void test_all_the_same(void **state) {
    (void)state;
    static const char *const sets[] = {"task", "classify", "training.steps", "2", NULL};
    texts given = {0};
    for (int i = 0; i < 30; i++) strcpy(add(&given), "all of these texts are the same");
    char *rows = rows_of(&given);
    attn_context *context = test_best_context(1);
    attn_config *config;
    attn_dataset *data;
    attn_trainer *trainer = trainer_of(context, sets, rows, &config, &data);
    assert_int_equal(trainer->state.held_alike, 1);
    assert_int_equal(attn_dataset_examples(trainer->courses[0].dev.dataset), 3);
    assert_int_equal(attn_dataset_examples(trainer->courses[0].train.dataset), 27);
    destroy(trainer, config, data);
    free(rows);
    free(given.list);
}

static int stop_at_three(void *user, const attn_training_state *state) {
    *(int64_t *)user = state->left_out;
    return state->event == ATTN_TRAINING_STEP && state->step == 3;
}

/* A run continues with the sets that it began with: also one that began before there was a choice. */
static void test_resume(void **state) {
    (void)state;
    static const char *const now[] = {"task", "classify", "training.steps", "6", NULL};
    static const char *const then[] = {"task",  "classify", "training.steps", "6", "training.hold_out_groups",
                                       "false", NULL};
    texts given = {0};
    make_phrases(&given, 60);
    char *rows = rows_of(&given), path[80];
    attn_context *context = test_best_context(1);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    for (int old = 0; old < 2; old++) {
        attn_trainer_options options;
        attn_trainer_options_init(&options);
        int64_t left = -1;
        options.output = path;
        options.force = 1;
        options.watch = stop_at_three;
        options.user = &left;
        attn_config *config = tiny_config(context, old ? then : now);
        expect_ok(context, train_on(config, rows, NULL, &options));
        assert_int_equal(left > 0, !old);
        attn_config_destroy(config);
        options.force = 0;
        options.resume = 1;
        options.watch = NULL;
        config = tiny_config(context, now);
        expect_ok(context, train_on(config, rows, NULL, &options));
        if (!old) { /* what is said counts, and then it is another run */
            expect_ok(context, attn_config_set(config, "training.hold_out_groups", "false"));
            expect_refused(context, train_on(config, rows, NULL, &options), ATTN_INVALID_ARGUMENT,
                           "training.hold_out_groups was true and is false");
        }
        attn_config_destroy(config);
        attn_model *model = NULL;
        expect_ok(context, attn_model_load(context, path, &model));
        assert_string_equal(attn_config_get(attn_model_config(model), "training.hold_out_groups"),
                            old ? "false" : "true");
        attn_model_destroy(model);
    }
    free(rows);
    free(given.list);
}

/* What a file does not say is what was done when it was written. */
static void test_stored(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_config *config = NULL;
    expect_ok(context, at_config_stored(context, "old", "{\"task\": \"classify\"}", &config));
    assert_string_equal(attn_config_get(config, "training.hold_out_groups"), "false");
    attn_config_destroy(config);
    static const char said[] = "{\"task\": \"classify\", \"training\": {\"hold_out_groups\": true}}";
    expect_ok(context, at_config_stored(context, "new", said, &config));
    assert_string_equal(attn_config_get(config, "training.hold_out_groups"), "true");
    attn_config_destroy(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phrases),    cmocka_unit_test(test_near_duplicates),
        cmocka_unit_test(test_characters), cmocka_unit_test(test_ordinary),
        cmocka_unit_test(test_chain),      cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_threads),    cmocka_unit_test(test_order),
        cmocka_unit_test(test_edges),      cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_trainer),    cmocka_unit_test(test_all_the_same),
        cmocka_unit_test(test_resume),     cmocka_unit_test(test_stored),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
