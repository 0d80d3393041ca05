/* test_describe.c: what a dataset says of itself, as text and as JSON: from files and from memory, of few
 * examples or none, and with memory that is refused at every step. tests/test_check.sh has the formats one by
 * one.
 */
#include <stdlib.h>
#include <string.h>

#include <attn/dataset.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/readers.h"

static void check_text(const attn_dataset *dataset, const attn_describe_options *options,
                       const char *expected) {
    char *text = NULL;
    assert_int_equal(attn_dataset_describe(dataset, options, &text), ATTN_OK);
    assert_string_equal(text, expected);
    attn_text_release(group_context, text);
}

static void check_part(const attn_dataset *dataset, const attn_describe_options *options, const char *part) {
    char *text = NULL;
    assert_int_equal(attn_dataset_describe(dataset, options, &text), ATTN_OK);
    if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text);
    attn_text_release(group_context, text);
}

static attn_describe_options describe_options(int json) {
    attn_describe_options options;
    attn_describe_options_init(&options);
    options.json = json;
    return options;
}

/* ---- from files ---- */

static void test_table(void **state) {
    (void)state;
    attn_dataset *dataset =
        read_text(group_context, "a.tsv", "label\ttext\nx\tone\ny\tone two\nx\tone\n", NULL);
    check_text(dataset, NULL,
               "a.tsv: table (TSV or CSV), 3 texts\n"
               "\n"
               "  length                 least    median      mean      most\n"
               "  characters                 3       3.0       4.3         7\n"
               "  words (by spaces)          1       1.0       1.3         2\n"
               "\n"
               "label: 2 classes\n"
               "  x                                     2   66.7 %  ████████████████████████\n"
               "  y                                     1   33.3 %  ████████████\n"
               "  1 class occurs once: y\n"
               "\n"
               "1 text repeats an earlier one\n");
    attn_describe_options options = describe_options(1);
    options.names[0] = "b\"\n.tsv";
    check_text(
        dataset, &options,
        "{\"file\":\"b\\\"\\u000a.tsv\",\"format\":\"table\",\"labelled\":true,\"examples\":3,\"tokens\":3,"
        "\"lengths\":{\"characters\":{\"least\":3,\"median\":3.0,\"mean\":4.33333333,\"most\":7},"
        "\"words\":{\"least\":1,\"median\":1.0,\"mean\":1.33333333,\"most\":2}},"
        "\"columns\":[{\"name\":\"label\",\"values\":3,\"missing\":0,\"several\":0,\"once\":1,\"distinct\":2,"
        "\"classes\":[{\"label\":\"x\",\"count\":2,\"share\":0.666666667},"
        "{\"label\":\"y\",\"count\":1,\"share\":0.333333333}],\"numbers\":null}],"
        "\"empty\":0,\"duplicates\":1,\"contradictions\":0,\"wrong\":0,\"problems\":[]}\n");
    attn_dataset_destroy(dataset);
}

static void test_bold_headings(void **state) {
    (void)state;
    attn_dataset *dataset = read_text(group_context, "a.tsv", "l\033abel\ttext\nx\tone\n", NULL);
    attn_describe_options options = describe_options(0);
    options.bold = 1;
    check_part(dataset, &options, "\n\033[1ml\\x1babel\033[0m: 1 class\n");
    attn_dataset_destroy(dataset);
}

static void test_problems(void **state) {
    (void)state;
    attn_reader_options reader = reader_options();
    reader.skip_bad = 1;
    attn_dataset *dataset = read_text(group_context, "a.tsv", "label\ttext\nx\tone\ny\nz\n", &reader);
    check_part(dataset, NULL,
               "\n2 examples are wrong and left out:\n"
               "  a.tsv:3: 1 column, the first row has 2\n"
               "  a.tsv:4: 1 column, the first row has 2\n");
    attn_describe_options options = describe_options(1);
    check_part(dataset, &options,
               ",\"wrong\":2,\"problems\":[\"a.tsv:3: 1 column, the first row has 2\",\"a.tsv:4: ");
    attn_dataset_destroy(dataset);
}

static void test_reason(void **state) {
    (void)state;
    attn_reader_options reader = reader_options_unlabelled();
    attn_dataset *dataset = read_text(group_context, "a.txt", "one\n", &reader);
    attn_describe_options options = describe_options(0);
    options.names[0] = "a.txt";
    options.unlabelled = "a.txt: has no labels";
    options.task = "tag";
    check_part(dataset, &options,
               "a.txt: lines of text, 1 text\n\nno labels: it can be used for prediction, not for training. "
               "As training data it\n  has no labels\n");
    attn_dataset_destroy(dataset);
}

/* Sentences whose tokens are the same are repetitions, whatever spaces are between the tokens. */
static void test_spaces_make_no_difference(void **state) {
    (void)state;
    attn_dataset *dataset =
        read_text(group_context, "a.conllu",
                  "1\ta\t_\tX\t_\t_\t_\t_\t_\tSpaceAfter=No\n2\tb\t_\tY\t_\t_\t_\t_\t_\t_\n\n"
                  "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n2\tb\t_\tZ\t_\t_\t_\t_\t_\t_\n\n",
                  NULL);
    check_part(dataset, NULL, "\n1 sentence with different targets in different places:\n  lines 2 and 5\n");
    attn_dataset_destroy(dataset);
}

/* ---- from memory ---- */

static void test_memory_texts(void **state) {
    (void)state;
    const char *texts[] = {"one", "two three", ""}, *names[] = {"stars"};
    const double stars[] = {1, 2.5, 4};
    attn_dataset *dataset;
    assert_int_equal(attn_dataset_from_texts(group_context, texts, NULL, 3, &dataset), ATTN_OK);
    check_part(dataset, NULL, "memory: lines of text, 3 texts\n");
    check_part(dataset, NULL, "\n1 text is empty\n");
    assert_int_equal(attn_dataset_set_numbers(dataset, 1, names, stars, 0), ATTN_OK);
    check_part(dataset, NULL, "\nstars: 3 classes\n");
    check_part(dataset, NULL, "  as numbers: least 1, mean 2.5, most 4\n");
    attn_dataset_destroy(dataset);
}

/* Tokens whose targets stand with examples, and examples of no tokens. */
static void test_memory_tokens(void **state) {
    (void)state;
    const char *tokens[] = {"a", "b", "c"}, *names[] = {"kind"}, *kinds[] = {"x", NULL, "x"};
    const int64_t offsets[] = {0, 2, 2, 3};
    attn_dataset *dataset;
    assert_int_equal(attn_dataset_from_texts(group_context, tokens, offsets, 3, &dataset), ATTN_OK);
    assert_int_equal(attn_dataset_set_targets(dataset, 1, names, kinds, 0), ATTN_OK);
    check_part(dataset, NULL, "memory: tokens with tags, 3 sequences, 3 tokens\n");
    check_part(dataset, NULL, "\n  tokens                     0       1.0       1.0         2\n");
    check_part(dataset, NULL, "\nkind: 1 class\n");
    check_part(dataset, NULL, "\n  1 sequence without a value\n");
    attn_dataset_destroy(dataset);
}

static void test_nothing(void **state) {
    (void)state;
    attn_dataset *dataset;
    assert_int_equal(attn_dataset_from_texts(group_context, NULL, NULL, 0, &dataset), ATTN_OK);
    check_part(dataset, NULL, "memory: lines of text, 0 texts\n");
    attn_describe_options options = describe_options(1);
    check_part(dataset, &options, "\"characters\":{\"least\":0,\"median\":0.0,\"mean\":0,\"most\":0}");
    attn_dataset_destroy(dataset);
}

/* ---- failures ---- */

static void test_arguments(void **state) {
    (void)state;
    attn_dataset *dataset = read_text(group_context, "a.tsv", "x\tone\n", NULL);
    attn_describe_options options = describe_options(0);
    char *text = NULL;
    assert_int_equal(attn_dataset_describe(NULL, &options, &text), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_describe(dataset, &options, NULL), ATTN_INVALID_ARGUMENT);
    options.size = 0;
    assert_int_equal(attn_dataset_describe(dataset, &options, &text), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(group_context), "attn_describe_options_init"));
    assert_null(text);
    attn_text_release(group_context, NULL);
    attn_dataset_destroy(dataset);
}

static void refuse_memory(const attn_dataset *dataset, int json) {
    attn_describe_options options = describe_options(json);
    attn_status status = ATTN_OUT_OF_MEMORY;
    for (int64_t n = 1; status != ATTN_OK; n++) {
        char *text = NULL;
        int64_t live = group_counter.live;
        group_counter.fail_at = n;
        status = attn_dataset_describe(dataset, &options, &text);
        group_counter.fail_at = 0;
        assert_true(n < 10000 && (status == ATTN_OK || status == ATTN_OUT_OF_MEMORY));
        assert_true((text != NULL) == (status == ATTN_OK));
        attn_text_release(group_context, text);
        assert_int_equal(group_counter.live, live);
    }
}

static void test_memory_is_refused(void **state) {
    (void)state;
    attn_reader_options pairs = reader_options();
    pairs.format = ATTN_FORMAT_PAIRS;
    attn_dataset *texts = read_text(group_context, "a.tsv", "label\tn\ttext\nx\t1\tone\ny\t2\tone\n", NULL);
    attn_dataset *both = read_text(group_context, "p.tsv", "one cat\tun chat\none cat\tune chatte\n", &pairs);
    for (int json = 0; json < 2; json++) {
        refuse_memory(texts, json);
        refuse_memory(both, json);
    }
    attn_dataset_destroy(texts);
    attn_dataset_destroy(both);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_bold_headings),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_reason),
        cmocka_unit_test(test_spaces_make_no_difference),
        cmocka_unit_test(test_memory_texts),
        cmocka_unit_test(test_memory_tokens),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
