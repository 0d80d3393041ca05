/* test_pairs.c: pairs of a text and the text to be made of it: lines with a TAB, and two files line by line;
 * what is wrong with file and line, what is left out, and memory that is refused at every step.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <attn/dataset.h>

#include "inputs/text/reader.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/readers.h"

static attn_context *context(void) { return test_best_context(1); }

static attn_reader_options pair_options(const char *text_column, const char *column) {
    attn_reader_options options = reader_options();
    options.format = ATTN_FORMAT_PAIRS;
    options.text_column = text_column;
    options.column = column;
    return options;
}

/* ---- source TAB target ---- */

static void test_pairs(void **state) {
    (void)state;
    attn_reader_options options = pair_options(NULL, NULL);
    attn_dataset *dataset = read_text(context(), "a.tsv",
                                      "\xef\xbb\xbf"
                                      "one\tun\r\n\n \t \n two\t deux\xc2\xa0\nthe e\xcc\x81"
                                      "clair\tl'e\xcc\x81"
                                      "clair",
                                      &options);
    check_dataset(dataset, "one/un;two/deux;the \xc3\xa9"
                           "clair/l'\xc3\xa9"
                           "clair;");
    assert_int_equal(attn_dataset_format(dataset), ATTN_FORMAT_PAIRS);
    assert_int_equal(attn_dataset_tokenized(dataset), 0);
    assert_int_equal(attn_dataset_columns(dataset), 1);
    assert_string_equal(attn_dataset_column(dataset, 0), "target");
    assert_int_equal(attn_dataset_line(dataset, 1, 0), 4);
    assert_int_equal(attn_dataset_skipped(dataset), 0);
    assert_string_equal(attn_dataset_source(dataset, 0), "");
    attn_dataset_destroy(dataset);
    options.label_separator = '|'; /* a text is not split */
    check_read(context(), "a", "a|b\tc|d", &options, "a|b/c|d;");
    /* Only the task says that a file has pairs. */
    dataset = read_text(context(), "a.tsv", "one\tun\n", NULL);
    assert_int_equal(attn_dataset_format(dataset), ATTN_FORMAT_TABLE);
    attn_dataset_destroy(dataset);
}

static void test_columns(void **state) {
    (void)state;
    const char *three = "1\ta b\tA B\n2\tc\tC\n";
    attn_reader_options options = pair_options("2", "3");
    attn_dataset *dataset = read_text(context(), "a", three, &options);
    check_dataset(dataset, "a b/A B;c/C;");
    assert_string_equal(attn_dataset_column(dataset, 0), "target");
    attn_dataset_destroy(dataset);
    options = pair_options("3", "2");
    check_read(context(), "a", three, &options, "A B/a b;C/c;");
    options = pair_options(NULL, "3");
    check_read(context(), "a", three, &options, "1/A B;2/C;");
    options = pair_options("2", ""); /* the other of the first two */
    check_read(context(), "a", three, &options, "a b/1;c/2;");
    options = pair_options(NULL, "1");
    check_read(context(), "a", three, &options, "a b/1;c/2;");
    options = pair_options("source", "target"); /* as they are called where nothing is said */
    check_read(context(), "a", "a\tA\n", &options, "a/A;");
    check_read_fails(context(), "a", three, &options,
                     "a:1: 3 columns: name those of the source and the target");
    options = pair_options("2", "3");
    check_read_fails(context(), "a", "1\ta\tA\n2\tb\n", &options,
                     "a:2: 2 columns, and column 3 is the target");
    check_read_fails(context(), "a", "1\ta\tA\n2\n", &options, "a:2: no TAB: a line is source TAB target");
    options = pair_options("3", "1");
    check_read_fails(context(), "a", "1\ta\n", &options, "a:1: 2 columns, and column 3 is the source");
    options = pair_options("2", "2");
    check_read_fails(context(), "a", three, &options,
                     "a: column 2 cannot be the source and the target at once");
    options = pair_options(NULL, "German");
    check_read_fails(context(), "a", three, &options,
                     "a: there is no column German: columns of pairs have the numbers 1, 2, ...");
    options = pair_options("0", NULL);
    check_read_fails(context(), "a", three, &options,
                     "a: there is no column 0: columns of pairs have the numbers 1, 2, ...");
}

static void test_bad_lines(void **state) {
    (void)state;
    attn_reader_options options = pair_options(NULL, NULL);
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"a\tA\nb\n", "f.tsv:2: no TAB: a line is source TAB target"},
        {"a\tA\n\tB\n", "f.tsv:2: the source is empty"},
        {"a\tA\n\n \tB\n", "f.tsv:3: the source is empty"},
        {"a\tA\nb\t\n", "f.tsv:2: the target is empty"},
        {"a\tA\nb\t \xe3\x80\x80\r\n", "f.tsv:2: the target is empty"},
        {"a\tA\tx\n", "f.tsv:1: 3 columns: name those of the source and the target"},
        {"a\tA\nb\tB\tx\ty\n", "f.tsv:2: 4 columns: name those of the source and the target"},
        {"a\tA\n\xc3\xa9\t\xe9\n", "f.tsv:2: byte 4 (0xe9) is not UTF-8: convert the file with iconv"},
        {"\n \n\t\n", "f.tsv: has no examples"},
        {"", "f.tsv: is empty"},
        {"\xef\xbb\xbf", "f.tsv: is empty"},
        {"\xff\xfe", "f.tsv: is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_read_fails(context(), "f.tsv", cases[i].text, &options, cases[i].error);
    check_read_bytes_fails(context(), "f.tsv", "a\t\0", 3, &options,
                           "f.tsv:1: byte 3 is 0: this is not text");
    options.per_token = 1;
    check_read_fails(context(), "f.tsv", "a\tA\n", &options,
                     "f.tsv: has one text per line, but tagging needs a tag for each token: give CoNLL-U, or "
                     "lines of token TAB tag with blank lines between sentences");
}

static void test_skip_bad(void **state) {
    (void)state;
    attn_reader_options options = pair_options(NULL, NULL);
    options.skip_bad = 1;
    attn_dataset *dataset =
        read_text(context(), "f", "a\tA\nb\n\tB\n\nc\t\nd\tD\xff\ne\tE\tF\nf\tF\n", &options);
    check_dataset(dataset, "a/A;f/F;");
    assert_int_equal(attn_dataset_line(dataset, 1, 0), 8);
    assert_int_equal(attn_dataset_skipped(dataset), 5);
    assert_string_equal(attn_dataset_problem(dataset, 0), "f:2: no TAB: a line is source TAB target");
    assert_string_equal(attn_dataset_problem(dataset, 1), "f:3: the source is empty");
    assert_string_equal(attn_dataset_problem(dataset, 2), "f:5: the target is empty");
    assert_string_equal(attn_dataset_problem(dataset, 3),
                        "f:6: byte 4 (0xff) is not UTF-8: convert the file with iconv");
    assert_string_equal(attn_dataset_problem(dataset, 4),
                        "f:7: 3 columns: name those of the source and the target");
    assert_null(attn_dataset_problem(dataset, 5));
    attn_dataset_destroy(dataset);
    check_read_fails(context(), "f", "a\nb\n", &options,
                     "f: has no good examples: all 2 were left out, the first because of f:1: no TAB: a line "
                     "is source TAB target");
}

/* What is predicted on: answers are beside their lines. */
static void test_unlabelled(void **state) {
    (void)state;
    attn_reader_options options = pair_options(NULL, NULL);
    options.labelled = 0;
    attn_dataset *dataset = read_text(context(), "f", "a b \n\nc\tC\n \t\n\tD\n", &options);
    check_dataset(dataset, "a b/;/;c/C;/;/D;");
    assert_int_equal(attn_dataset_line(dataset, 4, 0), 5);
    assert_int_equal(attn_dataset_columns(dataset), 1);
    attn_dataset_destroy(dataset);
    check_read(context(), "f", "\n", &options, "/;");
    check_read_fails(context(), "f", "a\tb\tc\n", &options,
                     "f:1: 3 columns: a line is a source, or source TAB target");
    options.text_column = "2";
    options.column = "3";
    check_read(context(), "f", "a\n1\tb\n1\tc\tC\n\n", &options, "a/;b/;c/C;/;");
    options.text_column = "3";
    options.column = "1";
    check_read_fails(context(), "f", "1\tb\n", &options, "f:1: 2 columns, and column 3 is the source");
    options.text_column = "review"; /* as the training data had it, which named its columns */
    options.column = "German";
    check_read(context(), "f", "a\nb\tB\n", &options, "a/;b/B;");
}

static void test_select(void **state) {
    (void)state;
    attn_reader_options options = pair_options(NULL, NULL);
    attn_dataset *all = read_text(context(), "f", "a\tA\nb\tB\n\nc\tC\n", &options), *part = NULL;
    const int64_t order[] = {2, 0, 2};
    assert_int_equal(attn_dataset_select(all, order, 3, &part), ATTN_OK);
    attn_dataset_destroy(all);
    check_dataset(part, "c/C;a/A;c/C;");
    assert_int_equal(attn_dataset_format(part), ATTN_FORMAT_PAIRS);
    assert_int_equal(attn_dataset_line(part, 0, 0), 4);
    assert_string_equal(attn_dataset_column(part, 0), "target");
    assert_string_equal(attn_dataset_name(part), "f");
    attn_dataset_destroy(part);
}

/* ---- two files ---- */

static attn_status parse_two(attn_context *c, const char *sources, const char *targets,
                             const attn_reader_options *options, attn_dataset **dataset) {
    return at_parse_parallel(c, (at_content){"a.en", sources, strlen(sources)},
                             (at_content){"a.de", targets, strlen(targets)}, options, dataset);
}

static attn_dataset *read_two(const char *sources, const char *targets, const attn_reader_options *options) {
    attn_dataset *dataset = NULL;
    if (parse_two(context(), sources, targets, options, &dataset) != ATTN_OK)
        fail_msg("%s", attn_context_error(context()));
    return dataset;
}

static void check_two_fail(const char *sources, const char *targets, const attn_reader_options *options,
                           const char *error) {
    attn_dataset *dataset = NULL;
    assert_int_equal(parse_two(context(), sources, targets, options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(context()), error);
    assert_null(dataset);
}

static void test_parallel(void **state) {
    (void)state;
    attn_reader_options options = reader_options(); /* the format is ignored */
    attn_dataset *dataset = read_two("\xef\xbb\xbf"
                                     "one\ttwo \r\n\r\n three\nfour",
                                     "un\n\t\ntrois\nquatre\n", &options);
    check_dataset(dataset, "one\ttwo/un;three/trois;four/quatre;");
    assert_string_equal(attn_dataset_name(dataset), "a.en");
    assert_string_equal(attn_dataset_column(dataset, 0), "target");
    assert_int_equal(attn_dataset_format(dataset), ATTN_FORMAT_PAIRS);
    assert_int_equal(attn_dataset_tokenized(dataset), 0);
    assert_int_equal(attn_dataset_line(dataset, 1, 0), 3);
    attn_dataset_destroy(dataset);
    options.format = ATTN_FORMAT_CONLLU;
    dataset = read_two("a",
                       "\xef\xbb\xbf"
                       "A\n",
                       &options);
    check_dataset(dataset, "a/A;");
    attn_dataset_destroy(dataset);
    options.labelled = 0; /* answers are beside their lines */
    dataset = read_two("a\n\n\nd\n", "A\nB\n\n\n", &options);
    check_dataset(dataset, "a/A;/B;/;d/;");
    attn_dataset_destroy(dataset);
}

static void test_parallel_bad(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    static const struct {
        const char *sources, *targets, *error;
    } cases[] = {
        {"a\nb\nc\n", "A\nB\n", "a.en has 3 lines and a.de 2: they must have the same number of lines"},
        {"a\n", "A\n\n", "a.en has 1 line and a.de 2: they must have the same number of lines"},
        {"a\nb\n", "A\n \n", "a.de:2: the target is empty, and its source is not"},
        {"a\n\nc\n", "A\nB\nC\n", "a.en:2: the source is empty, and its target is not"},
        {"a\nb\xe9\n", "A\nB\n", "a.en:2: byte 2 (0xe9) is not UTF-8: convert the file with iconv"},
        {"a\nb\n", "A\n\xc3\xa9\xe9\n", "a.de:2: byte 3 (0xe9) is not UTF-8: convert the file with iconv"},
        {"\n \n", "\n\n", "a.en: has no examples"},
        {"", "A\n", "a.en: is empty"},
        {"a\n", "", "a.de: is empty"},
        {"a\n", "\xfe\xff", "a.de: is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_two_fail(cases[i].sources, cases[i].targets, &options, cases[i].error);
    options.skip_bad = 1;
    check_two_fail("a\nb\n", "A\n", &options, /* never left out: nobody knows which line is too many */
                   "a.en has 2 lines and a.de 1: they must have the same number of lines");
    attn_dataset *dataset = read_two("a\n\nc\nd\ne\n\nf\n", "A\nB\n\n\xff\nE\n\nF\n", &options);
    check_dataset(dataset, "a/A;e/E;f/F;");
    assert_int_equal(attn_dataset_skipped(dataset), 3);
    assert_string_equal(attn_dataset_problem(dataset, 0),
                        "a.en:2: the source is empty, and its target is not");
    assert_string_equal(attn_dataset_problem(dataset, 1),
                        "a.de:3: the target is empty, and its source is not");
    assert_string_equal(attn_dataset_problem(dataset, 2),
                        "a.de:4: byte 1 (0xff) is not UTF-8: convert the file with iconv");
    assert_int_equal(attn_dataset_line(dataset, 2, 0), 7);
    attn_dataset_destroy(dataset);
}

/* ---- files ---- */

static char folder[] = "/tmp/attn-test-pairs-XXXXXX";
static char sources_path[sizeof folder + 20], targets_path[sizeof folder + 20];

static void write_file(const char *path, const char *text, int compressed) {
    if (compressed) {
        gzFile file = gzopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
        assert_int_equal(gzclose(file), Z_OK);
        return;
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void check_files_fail(const attn_reader_options *options, attn_status status, const char *path,
                             const char *error) {
    attn_dataset *dataset = NULL;
    char all[300];
    assert_int_equal(attn_dataset_read_parallel(context(), sources_path, targets_path, options, &dataset),
                     status);
    assert_null(dataset);
    snprintf(all, sizeof all, "%s%s", path, error);
    assert_string_equal(attn_context_error(context()), all);
}

static void test_files(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    for (int compressed = 0; compressed < 4; compressed++) { /* each of them */
        attn_dataset *dataset = NULL;
        write_file(sources_path, "one\ntwo\n", compressed & 1);
        write_file(targets_path, "un\ndeux\n", compressed >> 1);
        assert_int_equal(
            attn_dataset_read_parallel(context(), sources_path, targets_path, &options, &dataset), ATTN_OK);
        check_dataset(dataset, "one/un;two/deux;");
        assert_string_equal(attn_dataset_name(dataset), sources_path);
        attn_dataset_destroy(dataset);
    }
    write_file(sources_path, "one\ntwo\n", 0);
    options.expanded_limit = 8;
    check_files_fail(&options, ATTN_OVERFLOW, targets_path,
                     ": has more than 8 bytes (expanded_limit of the reader options)");
    remove(targets_path);
    options = reader_options();
    check_files_fail(&options, ATTN_SYSTEM_ERROR, targets_path,
                     ": cannot be opened: No such file or directory");
    remove(sources_path);
    check_files_fail(&options, ATTN_SYSTEM_ERROR, sources_path,
                     ": cannot be opened: No such file or directory");
    options.format = ATTN_FORMAT_PAIRS;
    write_file(sources_path, "one\tun\n\ntwo\tdeux", 1);
    attn_dataset *dataset = NULL;
    assert_int_equal(attn_dataset_read(context(), sources_path, &options, &dataset), ATTN_OK);
    check_dataset(dataset, "one/un;two/deux;");
    attn_dataset_destroy(dataset);
}

/* Names that are too long for the error's text keep their ends, and the reason its place. */
static void test_long_names(void **state) {
    (void)state;
    char source[1000], target[1000], error[600];
    memset(source, 'x', sizeof source);
    memcpy(source + sizeof source - 6, "/a.en", 6);
    memset(target, 'y', sizeof target);
    memcpy(target + sizeof target - 6, "/a.de", 6);
    attn_reader_options options = reader_options();
    attn_dataset *dataset = NULL;
    assert_int_equal(at_parse_parallel(context(), (at_content){source, "a\n", 2},
                                       (at_content){target, "\n\n", 2}, &options, &dataset),
                     ATTN_INVALID_ARGUMENT);
    snprintf(error, sizeof error, "...%s has 1 line and ...%s 2: they must have the same number of lines",
             source + sizeof source - 1 - 180, target + sizeof target - 1 - 180);
    assert_string_equal(attn_context_error(context()), error);
}

static void test_arguments(void **state) {
    (void)state;
    attn_context *c = context();
    attn_reader_options options = reader_options();
    attn_dataset *dataset = NULL;
    const attn_status wrong = ATTN_INVALID_ARGUMENT;
    assert_int_equal(attn_dataset_read_parallel(NULL, "a", "b", &options, &dataset), wrong);
    assert_int_equal(attn_dataset_read_parallel(c, NULL, "b", &options, &dataset), wrong);
    assert_int_equal(attn_dataset_read_parallel(c, "a", NULL, &options, &dataset), wrong);
    assert_int_equal(attn_dataset_read_parallel(c, "a", "b", NULL, &dataset), wrong);
    assert_int_equal(attn_dataset_read_parallel(c, "a", "b", &options, NULL), wrong);
    assert_non_null(strstr(attn_context_error(c), "attn_dataset_read_parallel"));
    options.size = 3;
    assert_int_equal(attn_dataset_read_parallel(c, "a", "b", &options, &dataset), wrong);
    assert_non_null(strstr(attn_context_error(c), "size is 3"));
    assert_null(dataset);
}

/* ---- memory that is refused ---- */

typedef enum way { ONE_TEXT, TWO_TEXTS, TWO_FILES } way;

static void check_every_allocation(attn_context *c, counting_allocator *counter, way how) {
    attn_reader_options options = pair_options("1", "2");
    options.skip_bad = 1;
    const int64_t held = counter->live, numbers[] = {1, 0};
    for (int64_t n = 1;; n++) {
        attn_dataset *dataset = NULL, *part = NULL;
        attn_status status;
        counter->fail_at = n;
        if (how == ONE_TEXT) {
            const char *text = "e\xcc\x81\te\xcc\x81\nbad\nb\tB\n";
            status = attn_dataset_parse(c, "f", 1, text, strlen(text), &options, &dataset);
        } else if (how == TWO_TEXTS) {
            status = parse_two(c, "e\xcc\x81\nbad\nb\n", "e\xcc\x81\n\nB\n", &options, &dataset);
        } else {
            status = attn_dataset_read_parallel(c, sources_path, targets_path, &options, &dataset);
        }
        if (status == ATTN_OK) status = attn_dataset_select(dataset, numbers, 2, &part);
        counter->fail_at = 0;
        if (status == ATTN_OK) {
            check_dataset(part, "b/B;\xc3\xa9/\xc3\xa9;");
            assert_int_equal(attn_dataset_skipped(dataset), 1);
        } else {
            assert_int_equal(status, ATTN_OUT_OF_MEMORY);
            assert_true(attn_context_error(c)[0] != 0);
            assert_null(part);
        }
        attn_dataset_destroy(dataset);
        attn_dataset_destroy(part);
        assert_int_equal(counter->live, held);
        if (status == ATTN_OK) {
            assert_true(n > 10);
            return;
        }
    }
}

static void test_every_allocation(void **state) {
    (void)state;
    counting_allocator counter = {0};
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = counting_allocator_functions(&counter);
    attn_context *c;
    assert_int_equal(attn_context_create(&options, &c), ATTN_OK);
    write_file(sources_path, "e\xcc\x81\nbad\nb\n", 1);
    write_file(targets_path, "e\xcc\x81\n\nB\n", 0);
    check_every_allocation(c, &counter, ONE_TEXT);
    check_every_allocation(c, &counter, TWO_TEXTS);
    check_every_allocation(c, &counter, TWO_FILES);
    attn_context_destroy(c);
    assert_int_equal(counter.live, 0);
}

static int setup(void **state) {
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(sources_path, sizeof sources_path, "%s/a.en", folder);
    snprintf(targets_path, sizeof targets_path, "%s/a.de", folder);
    return test_contexts_setup(state);
}

static int teardown(void **state) {
    remove(sources_path);
    remove(targets_path);
    rmdir(folder);
    return test_contexts_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),      cmocka_unit_test(test_columns),
        cmocka_unit_test(test_bad_lines),  cmocka_unit_test(test_skip_bad),
        cmocka_unit_test(test_unlabelled), cmocka_unit_test(test_select),
        cmocka_unit_test(test_parallel),   cmocka_unit_test(test_parallel_bad),
        cmocka_unit_test(test_files),      cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_arguments),  cmocka_unit_test(test_every_allocation),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
