/* test_datasets.c: datasets from memory are those of files, and learn the same, bit for bit; reading that
 * ends before the first bad example.
 */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/contexts.h"
#include "support/examples.h"
#include "support/memory.h"
#include "support/readers.h"
#include "support/training.h"

static char folder[] = "/tmp/attn_datasets_XXXXXX";

static int setup(void **state) { return test_contexts_setup(state) == 0 && mkdtemp(folder) ? 0 : -1; }

static int teardown(void **state) {
    remove_folder(folder);
    return test_contexts_teardown(state);
}

/* ---- from memory ---- */

/* The content of a dataset as arrays, as a program would have it. */
typedef struct arrays {
    const char **texts, **values, **names;
    double *numbers;
    int64_t *offsets, examples, rows;
    int columns;
} arrays;

static arrays arrays_of(const attn_dataset *dataset) {
    arrays made = {.examples = attn_dataset_examples(dataset), .columns = attn_dataset_columns(dataset)};
    int per_row = attn_dataset_tokenized(dataset);
    for (int64_t e = 0; e < made.examples; e++) made.rows += attn_dataset_tokens(dataset, e);
    size_t places = (size_t)(per_row ? made.rows : made.examples) * (size_t)made.columns;
    made.texts = calloc((size_t)made.rows + 1, sizeof *made.texts);
    made.values = calloc(places + 1, sizeof *made.values);
    made.numbers = calloc(places + 1, sizeof *made.numbers);
    made.names = calloc((size_t)made.columns + 1, sizeof *made.names);
    made.offsets = calloc((size_t)made.examples + 1, sizeof *made.offsets);
    assert_true(made.texts && made.values && made.names && made.offsets && made.numbers);
    for (int c = 0; c < made.columns; c++) made.names[c] = attn_dataset_column(dataset, c);
    int64_t row = 0, place = 0;
    for (int64_t e = 0; e < made.examples; e++) {
        for (int64_t t = 0; t < attn_dataset_tokens(dataset, e); t++) {
            made.texts[row++] = attn_dataset_token(dataset, e, t);
            for (int c = 0; c < made.columns && (per_row || t == 0); c++)
                made.values[place++] = attn_dataset_target(dataset, c, e, t);
        }
        made.offsets[e + 1] = row;
    }
    for (int64_t i = 0; i < place; i++)
        made.numbers[i] = *made.values[i] ? strtod(made.values[i], NULL) : NAN;
    return made;
}

static void arrays_free(arrays *made) {
    free(made->texts);
    free(made->values);
    free(made->numbers);
    free(made->names);
    free(made->offsets);
}

static attn_dataset *from_memory(attn_context *context, const attn_dataset *like, int numbers) {
    arrays all = arrays_of(like);
    int per_row = attn_dataset_tokenized(like);
    attn_dataset *made = NULL;
    expect_ok(context,
              attn_dataset_from_texts(context, all.texts, per_row ? all.offsets : NULL, all.examples, &made));
    assert_int_equal(attn_dataset_columns(made), 0);
    if (all.columns)
        expect_ok(context, numbers
                               ? attn_dataset_set_numbers(made, all.columns, all.names, all.numbers, per_row)
                               : attn_dataset_set_targets(made, all.columns, all.names, all.values, per_row));
    arrays_free(&all); /* all of it was copied */
    return made;
}

static void check_same(const attn_dataset *a, const attn_dataset *b) {
    assert_int_equal(attn_dataset_examples(a), attn_dataset_examples(b));
    assert_int_equal(attn_dataset_columns(a), attn_dataset_columns(b));
    assert_int_equal(attn_dataset_tokenized(a), attn_dataset_tokenized(b));
    for (int c = 0; c < attn_dataset_columns(a); c++)
        assert_string_equal(attn_dataset_column(a, c), attn_dataset_column(b, c));
    for (int64_t e = 0; e < attn_dataset_examples(a); e++) {
        assert_int_equal(attn_dataset_rows(a, e), attn_dataset_rows(b, e));
        assert_int_equal(attn_dataset_tokens(a, e), attn_dataset_tokens(b, e));
        for (int64_t t = 0; t < attn_dataset_tokens(a, e); t++) {
            assert_string_equal(attn_dataset_token(a, e, t), attn_dataset_token(b, e, t));
            for (int c = 0; c < attn_dataset_columns(a); c++)
                assert_string_equal(attn_dataset_target(a, c, e, t), attn_dataset_target(b, c, e, t));
        }
    }
}

static char *classes(uint64_t seed, int examples) { return corpus_classes(seed, examples, 0); }
static char *pairs(uint64_t seed, int examples) { return corpus_pairs(seed, examples, 0); }

/* CoNLL-U that marks spaces has more than its tokens: a model that tells what it was made from would tell. */
static char *unmarked(uint64_t seed, int examples) {
    static const char mark[] = "SpaceAfter=No";
    char *text = corpus_conllu(seed, examples);
    for (char *at = text; (at = strstr(at, mark));) {
        *at = '_';
        memmove(at + 1, at + sizeof mark - 1, strlen(at + sizeof mark - 1) + 1);
    }
    return text;
}

/* The same model file, byte for byte. */
static void test_training(void **state) {
    (void)state;
    static const struct {
        char *(*corpus)(uint64_t seed, int examples);
        int numbers;
        const char *sets[8];
    } cases[] = {
        {unmarked, 0, {"task", "tag", "reader.column", "UPOS,XPOS"}},
        {unmarked, 1, {"task", "regress", "reader.column", "FEATS:Weight"}},
        {classes, 0, {"task", "classify"}},
        {corpus_labels, 0, {"task", "classify"}},
        {corpus_numbers, 0, {"task", "regress"}},
        {corpus_numbers, 1, {"task", "regress"}},
        {pairs, 0, {"task", "seq2seq"}},
        {corpus_running, 0, {"task", "lm"}},
    };
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *texts[2] = {cases[i].corpus(1, 50), cases[i].corpus(2, 10)}, paths[2][96];
        attn_config *config = tiny_config(context, cases[i].sets);
        expect_ok(context, attn_config_set(config, "training.epochs", "2"));
        for (int memory = 0; memory < 2; memory++) {
            snprintf(paths[memory], sizeof paths[memory], "%s/%d.safetensors", folder, memory);
            attn_dataset *data[2];
            for (int d = 0; d < 2; d++) {
                data[d] = parse_corpus(config, d ? "dev" : "train", texts[d]);
                if (!memory) continue;
                attn_dataset *copy = from_memory(context, data[d], cases[i].numbers);
                if (!cases[i].numbers) check_same(data[d], copy);
                attn_dataset_destroy(data[d]);
                data[d] = copy;
            }
            attn_trainer_options options;
            attn_trainer_options_init(&options);
            options.output = paths[memory];
            options.force = 1;
            attn_trainer *trainer = NULL;
            expect_ok(context, attn_trainer_create(config, data[0], data[1], &options, &trainer));
            expect_ok(context, attn_trainer_run(trainer));
            attn_trainer_destroy(trainer);
            attn_dataset_destroy(data[0]);
            attn_dataset_destroy(data[1]);
        }
        if (!same_files(paths[0], paths[1])) fail_msg("case %d: another model from memory", (int)i);
        attn_config_destroy(config);
        free(texts[0]);
        free(texts[1]);
    }
}

static void test_texts(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const texts[] = {"e\xcc\x81t\xc3\xa9", "", " b ", "c"};
    static const int64_t offsets[] = {0, 1, 1, 4};
    attn_dataset *made = NULL;
    expect_ok(context, attn_dataset_from_texts(context, texts, NULL, 4, &made));
    check_dataset(made, "\xc3\xa9t\xc3\xa9;; b ;c;"); /* NFC, and else as they are */
    assert_int_equal(attn_dataset_tokenized(made), 0);
    assert_string_equal(attn_dataset_input(made), "text");
    assert_int_equal(attn_dataset_line(made, 3, 0), 4);
    assert_int_equal(attn_dataset_stopped(made), ATTN_OK);
    assert_string_equal(attn_dataset_source(made, 0), "");
    attn_dataset_destroy(made);
    expect_ok(context, attn_dataset_from_texts(context, texts, offsets, 3, &made));
    check_dataset(made, "\xc3\xa9t\xc3\xa9;;  b  c;");
    assert_int_equal(attn_dataset_tokenized(made), 1);
    assert_int_equal(attn_dataset_tokens(made, 2), 3);
    attn_dataset_destroy(made);
    expect_ok(context, attn_dataset_from_texts(context, NULL, NULL, 0, &made));
    assert_int_equal(attn_dataset_examples(made), 0);
    attn_dataset_destroy(made);
    /* what is refused */
    static const char *const bad[] = {"a", "b\xff", NULL};
    static const int64_t falling[] = {0, 2, 1}, late[] = {1, 2};
    attn_dataset *none = NULL;
    expect_refused(context, attn_dataset_from_texts(context, bad, NULL, 2, &none), ATTN_INVALID_ARGUMENT,
                   "text 1");
    expect_refused(context, attn_dataset_from_texts(context, bad + 2, NULL, 1, &none), ATTN_INVALID_ARGUMENT,
                   "text 0 is NULL");
    expect_refused(context, attn_dataset_from_texts(context, texts, falling, 2, &none), ATTN_INVALID_ARGUMENT,
                   "offsets");
    expect_refused(context, attn_dataset_from_texts(context, texts, late, 1, &none), ATTN_INVALID_ARGUMENT,
                   "offsets");
    expect_refused(context, attn_dataset_from_texts(context, texts, NULL, -1, &none), ATTN_INVALID_ARGUMENT,
                   "-1");
    expect_refused(context, attn_dataset_from_texts(context, NULL, NULL, 1, &none), ATTN_INVALID_ARGUMENT,
                   "NULL");
    assert_int_equal(attn_dataset_from_texts(context, texts, NULL, 1, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_from_texts(NULL, texts, NULL, 1, &none), ATTN_INVALID_ARGUMENT);
    assert_null(none);
}

static void test_targets(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const texts[] = {"a", "b", "c", "d"};
    static const int64_t offsets[] = {0, 3, 3, 4};
    static const char *const names[] = {"one", "two"}, *const none[] = {"one", NULL};
    static const char *const by_row[] = {"A", "x", NULL, "y", "C", "", "D", "e\xcc\x81"};
    static const char *const by_example[] = {"A", "B", "C"};
    static const char *const wrong[] = {"A", "B\xff", "C"};
    attn_dataset *made = NULL;
    expect_ok(context, attn_dataset_from_texts(context, texts, offsets, 3, &made));
    expect_ok(context, attn_dataset_set_targets(made, 2, names, by_row, 1));
    check_dataset(made, "a/A/x b//y c/C/;;d/D/\xc3\xa9;");
    assert_string_equal(attn_dataset_column(made, 1), "two");
    /* others in their place */
    expect_ok(context, attn_dataset_set_targets(made, 1, names, by_example, 0));
    assert_int_equal(attn_dataset_tokenized(made), 0);
    assert_int_equal(attn_dataset_columns(made), 1);
    check_dataset(made, "a/A b/A c/A;;d/C;");
    /* what is refused changes nothing */
    expect_refused(context, attn_dataset_set_targets(made, 1, names, wrong, 0), ATTN_INVALID_ARGUMENT,
                   "value 1");
    expect_refused(context, attn_dataset_set_targets(made, 2, none, by_row, 1), ATTN_INVALID_ARGUMENT,
                   "names[1]");
    expect_refused(context, attn_dataset_set_targets(made, 0, names, by_row, 1), ATTN_INVALID_ARGUMENT,
                   "columns is 0");
    expect_refused(context, attn_dataset_set_targets(made, 1, NULL, by_row, 1), ATTN_INVALID_ARGUMENT,
                   "NULL");
    expect_refused(context, attn_dataset_set_targets(made, 1, names, NULL, 1), ATTN_INVALID_ARGUMENT, "NULL");
    static const double infinite[] = {1, INFINITY, 2, 3};
    expect_refused(context, attn_dataset_set_numbers(made, 1, names, infinite, 1), ATTN_INVALID_ARGUMENT,
                   "value 1");
    assert_int_equal(attn_dataset_set_targets(NULL, 1, names, by_row, 1), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_set_numbers(NULL, 1, names, infinite, 1), ATTN_INVALID_ARGUMENT);
    check_dataset(made, "a/A b/A c/A;;d/C;");
    /* numbers come back as the same bits; NaN is missing */
    static const double numbers[] = {0.1, NAN, -0.0, 1e-310, 1.0 / 3, 123456789012345678.0, 5e-324, -1e308};
    expect_ok(context, attn_dataset_set_numbers(made, 2, names, numbers, 1));
    for (int64_t t = 0; t < 4; t++) {
        for (int c = 0; c < 2; c++) {
            const char *text = attn_dataset_target(made, c, t < 3 ? 0 : 2, t < 3 ? t : 0);
            double number = numbers[t * 2 + c], found = strtod(text, NULL);
            if (isnan(number))
                assert_string_equal(text, "");
            else
                assert_memory_equal(&number, &found, sizeof number);
        }
    }
    /* a part has its part of the targets */
    attn_dataset *part = NULL;
    static const int64_t chosen[] = {2, 0};
    expect_ok(context, attn_dataset_set_targets(made, 2, names, by_row, 1));
    expect_ok(context, attn_dataset_select(made, chosen, 2, &part));
    check_dataset(part, "d/D/\xc3\xa9;a/A/x b//y c/C/;");
    attn_dataset_destroy(part);
    expect_ok(context, attn_dataset_set_targets(made, 1, names, by_example, 0));
    expect_ok(context, attn_dataset_select(made, chosen, 2, &part));
    check_dataset(part, "d/C;a/A b/A c/A;");
    attn_dataset_destroy(part);
    attn_dataset_destroy(made);
}

/* A class for sentences of tokens, where a file could not have one; errors name the line of a target. */
static void test_classes_of_tokens(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const texts[] = {"good", "one", "bad", "bad", "one", "good"};
    static const int64_t offsets[] = {0, 2, 2, 3, 5, 6};
    static const char *const names[] = {"class"}, *const values[] = {"G", "", "B", "B", "G"};
    static const char *const words[] = {"1", "2", "x", "4", "5"};
    static const char *const classify[] = {"task", "classify", "training.epochs", "2", NULL};
    static const char *const regress[] = {"task", "regress", "training.epochs", "2", NULL};
    attn_dataset *made = NULL;
    attn_trainer *trainer = NULL;
    expect_ok(context, attn_dataset_from_texts(context, texts, offsets, 5, &made));
    expect_ok(context, attn_dataset_set_targets(made, 1, names, values, 0));
    attn_config *config = tiny_config(context, classify);
    expect_ok(context, attn_trainer_create(config, made, made, NULL, &trainer));
    expect_ok(context, attn_trainer_run(trainer));
    attn_trainer_destroy(trainer);
    attn_config_destroy(config);
    trainer = NULL;
    config = tiny_config(context, regress);
    expect_ok(context, attn_dataset_set_targets(made, 1, names, words, 0));
    expect_refused(context, attn_trainer_create(config, made, made, NULL, &trainer), ATTN_INVALID_ARGUMENT,
                   "memory:3:"); /* the third example's first token is text 3, counted from 1 */
    assert_null(trainer);
    attn_config_destroy(config);
    attn_dataset_destroy(made);
}

static attn_status make_all(attn_context *context, attn_dataset **made) {
    static const char *const texts[] = {"e\xcc\x81", "b", "c"}, *const names[] = {"one", "two"};
    static const char *const values[] = {"A", "B", "C", "D", "E", "e\xcc\x81"};
    static const double numbers[] = {1, 2, 3};
    static const int64_t offsets[] = {0, 2, 3};
    attn_status status = attn_dataset_from_texts(context, texts, offsets, 2, made);
    if (status == ATTN_OK) status = attn_dataset_set_targets(*made, 2, names, values, 1);
    if (status == ATTN_OK) status = attn_dataset_set_numbers(*made, 1, names, numbers, 1);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    counting_allocator counter = {0};
    attn_context *context = counting_context(&counter);
    int64_t live = counter.live, n = 1;
    for (;; n++) {
        attn_dataset *made = NULL;
        counter.fail_at = n;
        attn_status status = make_all(context, &made);
        counter.fail_at = 0;
        if (status != ATTN_OK) assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        for (int64_t e = 0; e < attn_dataset_examples(made); e++)
            for (int64_t t = 0; t < attn_dataset_tokens(made, e); t++)
                for (int c = 0; c < attn_dataset_columns(made); c++)
                    assert_non_null(attn_dataset_target(made, c, e, t)); /* never half of them */
        attn_dataset_destroy(made);
        assert_int_equal(counter.live, live);
        if (status == ATTN_OK) break;
    }
    assert_true(n > 10);
    attn_context_destroy(context);
    assert_int_equal(counter.live, 0);
}

/* ---- reading that stops ---- */

typedef struct stopping {
    const char *name, *good[4], *bad; /* what precedes the bad one, in pieces, and it */
    const char *column, *after;       /* a good one after it */
    attn_format format;
    const char *expected[5]; /* after so many pieces */
    const char *problem;     /* what the text of the problem has in it */
} stopping;

static const stopping stops[] = {
    {"f.conllu",
     {"1\ta\t_\tA\t_\t_\t_\t_\t_\t_\n\n",
      "# c\n1\tb\t_\tB\t_\t_\t_\t_\t_\t_\n2\tc\t_\tC\t_\t_\t_\t_\t_\t_\n\n"},
     "1\tx\t_\tX\t_\t_\t_\t_\t_\t_\n2\tx\n\n",
     NULL,
     "1\td\t_\tD\t_\t_\t_\t_\t_\t_\n\n",
     ATTN_FORMAT_CONLLU,
     {"", "a/A;", "a/A;b/B c/C;"},
     "columns"},
    {"f.conll",
     {"a\tA\n\n", "b\tB\nc\tC\n\n"},
     "x\tX\ny\n\n",
     NULL,
     "d\tD\n\n",
     ATTN_FORMAT_COLUMNS,
     {"", "a/A;", "a/A;b/B c/C;"},
     "column"},
    {"f.tsv",
     {"A\ta b\n", "B\tc\n"},
     "no tab\n",
     NULL,
     "D\td\n",
     ATTN_FORMAT_TABLE,
     {NULL, "a b/A;", "a b/A;c/B;"},
     ""}, /* the first row says what columns there are */
    {"f.csv",
     {"label,text\nA,a b\n", "B,\"c,\nd\"\n"},
     "C\n",
     NULL,
     "D,d\n",
     ATTN_FORMAT_TABLE,
     {NULL, "a b/A;", "a b/A;c,\nd/B;"},
     ""},
    {"f.ft",
     {"__label__A a b\n", "__label__B __label__C c\n"},
     "no label\n",
     NULL,
     "__label__D d\n",
     ATTN_FORMAT_FASTTEXT,
     {"", "a b/A;", "a b/A;c/B\nC;"},
     "label"},
    {"f.txt", {"a b\n", "c\n"}, "\xff\n", NULL, "d\n", ATTN_FORMAT_LINES, {"", "a b;", "a b;c;"}, "UTF-8"},
    {"f.jsonl",
     {"{\"text\":\"a\",\"label\":\"A\"}\n", "{\"text\":\"b\",\"label\":[\"B\",1]}\n"},
     "{\"text\":\"c\"}\n",
     NULL,
     "{\"text\":\"d\",\"label\":\"D\"}\n",
     ATTN_FORMAT_JSONL,
     {NULL, "a/A;", "a/A;b/B\n1;"},
     "label"}, /* the first object says which fields there are */
    {"f.pairs",
     {"a\tA\n", "b\tB C\n"},
     "c\n",
     NULL,
     "d\tD\n",
     ATTN_FORMAT_PAIRS,
     {"", "a/A;", "a/A;b/B C;"},
     ""},
};

static void test_stops(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        const stopping *one = &stops[i];
        for (int pieces = 0; pieces < 3; pieces++) {
            if (!one->expected[pieces]) continue;
            char text[1000] = "";
            int64_t bad_line = 1;
            for (int p = 0; p < pieces; p++) strcat(text, one->good[p]);
            for (const char *at = text; *at; at++) bad_line += *at == '\n';
            strcat(text, one->bad);
            strcat(text, one->after);
            attn_reader_options options = reader_options();
            options.format = one->format;
            options.labelled = one->format != ATTN_FORMAT_LINES;
            attn_dataset *dataset = NULL;
            char problem[300];
            /* without it, a failure; its text is the problem's */
            assert_int_equal(
                attn_dataset_parse(context, one->name, 1, text, strlen(text), &options, &dataset),
                ATTN_INVALID_ARGUMENT);
            assert_null(dataset);
            snprintf(problem, sizeof problem, "%s", attn_context_error(context));
            options.stop_at_bad = 1;
            attn_status status =
                attn_dataset_parse(context, one->name, 1, text, strlen(text), &options, &dataset);
            if (status != ATTN_OK)
                fail_msg("%s, %d pieces: %s", one->name, pieces, attn_context_error(context));
            assert_int_equal(attn_dataset_stopped(dataset), ATTN_INVALID_ARGUMENT);
            check_dataset(dataset, one->expected[pieces]);
            assert_string_equal(attn_dataset_problem(dataset, 0), problem);
            assert_non_null(strstr(problem, one->problem));
            assert_null(attn_dataset_problem(dataset, 1));
            assert_int_equal(attn_dataset_skipped(dataset), 0);
            int64_t line = 0;
            assert_int_equal(sscanf(problem + strlen(one->name), ":%ld", &line), 1);
            assert_true(line >= bad_line && line <= bad_line + 1);
            attn_dataset_destroy(dataset);
            /* skip_bad counts for more */
            options.skip_bad = 1;
            dataset = NULL;
            expect_ok(context,
                      attn_dataset_parse(context, one->name, 1, text, strlen(text), &options, &dataset));
            assert_int_equal(attn_dataset_stopped(dataset), ATTN_OK);
            assert_int_equal(attn_dataset_skipped(dataset), 1);
            assert_int_equal(attn_dataset_examples(dataset), pieces + 1);
            attn_dataset_destroy(dataset);
            /* and of a good file all is read */
            options.skip_bad = 0;
            dataset = NULL;
            text[0] = 0;
            for (int p = 0; p < 2; p++) strcat(text, one->good[p]);
            strcat(text, one->after);
            expect_ok(context,
                      attn_dataset_parse(context, one->name, 1, text, strlen(text), &options, &dataset));
            assert_int_equal(attn_dataset_stopped(dataset), ATTN_OK);
            assert_int_equal(attn_dataset_examples(dataset), 3);
            assert_null(attn_dataset_problem(dataset, 0));
            attn_dataset_destroy(dataset);
        }
    }
}

/* Pairs from two files: the lines before the bad one, whichever file it is in, also where one is shorter. */
static void test_stops_in_two_files(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const struct {
        const char *texts[2], *expected, *problem;
    } cases[] = {
        {{"a\nb\n\nd\n", "A\nB\nC\nD\n"}, "a/A;b/B;", ":3:"},
        {{"a\nb\nc\nd\n", "A\nB\n\nD\n"}, "a/A;b/B;", ":3:"},
        {{"a\nb\n\xff\nd\n", "A\nB\nC\nD\n"}, "a/A;b/B;", ":3:"},
        {{"a\nb\nc\nd\n", "A\nB\n\xff\nD\n"}, "a/A;b/B;", ":3:"},
        {{"\nb\n", "A\nB\n"}, "", ":1:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char paths[2][96];
        for (int f = 0; f < 2; f++) {
            snprintf(paths[f], sizeof paths[f], "%s/pairs.%d", folder, f);
            FILE *file = fopen(paths[f], "w");
            assert_non_null(file);
            assert_true(fputs(cases[i].texts[f], file) >= 0);
            assert_int_equal(fclose(file), 0);
        }
        attn_reader_options options = reader_options();
        attn_dataset *dataset = NULL;
        assert_int_equal(attn_dataset_read_parallel(context, paths[0], paths[1], &options, &dataset),
                         ATTN_INVALID_ARGUMENT);
        options.stop_at_bad = 1;
        attn_status status = attn_dataset_read_parallel(context, paths[0], paths[1], &options, &dataset);
        if (status != ATTN_OK) fail_msg("case %d: %s", (int)i, attn_context_error(context));
        check_dataset(dataset, cases[i].expected);
        assert_int_equal(attn_dataset_stopped(dataset), ATTN_INVALID_ARGUMENT);
        assert_non_null(strstr(attn_dataset_problem(dataset, 0), cases[i].problem));
        attn_dataset_destroy(dataset);
    }
}

/* ---- pieces of files, and kinds of input ---- */

static void test_kinds(void **state) {
    (void)state;
    assert_true(attn_input_count() >= 1);
    assert_string_equal(attn_input_name(0), "text");
    assert_null(attn_input_name(-1));
    assert_null(attn_input_name(attn_input_count()));
    assert_null(attn_input_help(attn_input_count()));
    for (int i = 0; i < attn_input_count(); i++) {
        const char *input = attn_input_name(i);
        assert_non_null(attn_input_help(i));
        assert_string_equal(attn_input_format(input, 0), "auto");
        int formats = 0;
        for (; attn_input_format(input, formats); formats++)
            assert_int_equal(attn_input_find_format(input, attn_input_format(input, formats)), formats);
        assert_true(formats > 1);
        assert_int_equal(attn_input_find_format(input, "no such format"), -1);
        assert_null(attn_input_format(input, -1));
    }
    static const char *const names[] = {"auto",  "conllu", "columns", "table",     "fasttext",
                                        "lines", "pairs",  "jsonl",   "paragraphs"};
    for (int f = 0; f < 9; f++) assert_string_equal(attn_input_format(NULL, f), names[f]);
    assert_null(attn_input_format(NULL, 9));
    assert_string_equal(attn_input_of_file("any.thing"), "text");
    attn_reader_options options = reader_options();
    static const int pieces[] = {0, 1, 1, 2, 0, 0, 0, 0};
    for (int f = 1; f < 8; f++) {
        options.format = (attn_format)f;
        assert_int_equal(attn_reader_pieces(&options), pieces[f]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_classes_of_tokens),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_stops_in_two_files),
        cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
