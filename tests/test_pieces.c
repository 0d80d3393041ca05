/* test_pieces.c: files read piece by piece, several files as one set, and JSON objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/readers.h"
#include "support/training.h"

#include "data/dataset.h"

static attn_context *context(void) { return test_best_context(1); }

/* ---- pieces ---- */

/* The pieces, each parsed alone, have the examples of the whole, with the same lines. */
static void check_pieces(const char *name, attn_format format, const char *const *pieces) {
    char whole[1000] = "";
    for (int i = 0; pieces[i]; i++) strcat(whole, pieces[i]);
    attn_reader_options options = reader_options_unlabelled();
    options.format = format;
    attn_dataset *all = read_text(context(), name, whole, &options);
    options.piece = 1;
    int64_t example = 0, line = 1;
    char head[200];
    for (int i = 0; pieces[i]; i++) {
        attn_dataset *dataset = NULL;
        attn_status status =
            attn_dataset_parse(context(), name, line, pieces[i], strlen(pieces[i]), &options, &dataset);
        if (status != ATTN_OK) fail_msg("%s, piece %d: %s", name, i, attn_context_error(context()));
        for (int64_t e = 0; e < attn_dataset_examples(dataset); e++, example++) {
            assert_true(example < attn_dataset_examples(all));
            assert_int_equal(attn_dataset_columns(dataset), attn_dataset_columns(all));
            assert_string_equal(attn_dataset_id(dataset, e), attn_dataset_id(all, example));
            assert_int_equal(attn_dataset_tokens(dataset, e), attn_dataset_tokens(all, example));
            for (int64_t t = 0; t < attn_dataset_tokens(dataset, e); t++) {
                assert_string_equal(attn_dataset_token(dataset, e, t), attn_dataset_token(all, example, t));
                assert_int_equal(attn_dataset_line(dataset, e, t), attn_dataset_line(all, example, t));
                for (int c = 0; c < attn_dataset_columns(all); c++)
                    assert_string_equal(attn_dataset_target(dataset, c, e, t),
                                        attn_dataset_target(all, c, example, t));
            }
        }
        if (!options.head && attn_dataset_head(dataset) > 0) {
            options.head_length = attn_dataset_head(dataset);
            memcpy(head, pieces[i], options.head_length);
            options.head = head;
        }
        attn_dataset_destroy(dataset);
        for (const char *at = pieces[i]; *at; at++) line += *at == '\n';
    }
    assert_int_equal(example, attn_dataset_examples(all));
    attn_dataset_destroy(all);
}

static void test_pieces(void **state) {
    (void)state;
    static const char *const csv[] = {"\xef\xbb\xbf"
                                      "id,label,\"text\"\r\n",
                                      "1,A,\"a, \"\"b\"\"\nc\"\r\n",
                                      "\n",
                                      "2,B,d\n3,C,e\n",
                                      "4,,f",
                                      NULL};
    check_pieces("f", ATTN_FORMAT_TABLE, csv);
    static const char *const tsv[] = {"\n", "A\tb c\n", "D\te\tf\n", NULL};
    check_pieces("f", ATTN_FORMAT_TABLE, tsv);
    static const char *const numbers[] = {"text\n", "1\n", "label\n", NULL};
    check_pieces("f.tsv", ATTN_FORMAT_TABLE, numbers);
    static const char *const columns[] = {"\n\n", "a\tA\n\n", "b\nc\tC\n\n\n", "d\n", NULL};
    check_pieces("f", ATTN_FORMAT_COLUMNS, columns);
    static const char *const spaces[] = {"a A\n\n", "b\n\n", "c C\n", NULL};
    check_pieces("f", ATTN_FORMAT_COLUMNS, spaces);
    static const char *const objects[] = {"{\"body\":\"a\",\"text\":\"b\",\"id\":7}\n",
                                          "{\"body\":\"c\",\"text\":\"d\"}\n\n", NULL};
    check_pieces("f", ATTN_FORMAT_JSONL, objects);
    static const char *const sentences[] = {"\n# sent_id = s-1\n1\ta\t_\tA\t_\t_\t_\t_\t_\t_\n\n",
                                            "# nothing\n\n",
                                            "# text = b\n#sent_id=2 \n1\tb\t_\tB\t_\t_\t_\t_\t_\t_\n", NULL};
    check_pieces("f", ATTN_FORMAT_CONLLU, sentences);
}

static void test_quotes(void **state) {
    (void)state;
    attn_reader_options options = reader_options_unlabelled();
    options.format = ATTN_FORMAT_TABLE;
    assert_int_equal(attn_reader_quotes("f", "a,b\n", 4, &options), ',');
    assert_int_equal(attn_reader_quotes("f", "text;label, of\n", 15, &options), ',');
    assert_int_equal(attn_reader_quotes("f", "text;label\n", 11, &options), ';');
    assert_int_equal(attn_reader_quotes("f", "text\tx,y\n", 9, &options), 0);
    assert_int_equal(attn_reader_quotes("f", "\"text\",\"a\tb\",label\n", 20, &options), ',');
    assert_int_equal(attn_reader_quotes("f", "good\tx,text,label\n", 18, &options), 0);
    options.format = ATTN_FORMAT_LINES;
    assert_int_equal(attn_reader_quotes("f", "a,b\n", 4, &options), 0);
}

/* A number that tells sets apart by what is in them, in its order, and not by in place. */
static void test_fingerprint(void **state) {
    (void)state;
    static const char *const texts[] = {"id,text,label\n1,a,A\n2,b,B\n", "id,text,label\n2,b,B\n1,a,A\n",
                                        "id,text,label\n1,a,B\n2,b,B\n", "id,text,label\n1,a,A\n3,b,B\n"};
    uint64_t found[4];
    for (int i = 0; i < 4; i++) {
        attn_dataset *one = read_text(context(), "a.csv", texts[i], NULL);
        attn_dataset *same = read_text(context(), "b.csv", texts[i], NULL);
        found[i] = attn_dataset_fingerprint(one);
        assert_true(found[i] == attn_dataset_fingerprint(same));
        for (int other = 0; other < i; other++) assert_true(found[other] != found[i]);
        attn_dataset_destroy(same);
        attn_dataset_destroy(one);
    }
    assert_true(attn_dataset_fingerprint(NULL) == 0);
}

/* ---- several files ---- */

static void test_several(void **state) {
    (void)state;
    attn_dataset *all = NULL, *part = NULL, *one;
    const attn_file files[] = {
        {"a.tsv", "A\ta\nB\tb\n", 8}, {"b.tsv", "\nC\tc\n", 5}, {"c.tsv", "A\td\n", 4}};
    attn_reader_options options = reader_options();
    expect_ok(context(), attn_dataset_read_files(context(), files, 3, &options, &all));
    check_dataset(all, "a/A;b/B;c/C;d/A;");
    one = read_text(context(), "a.tsv", "A\ta\nB\tb\nC\tc\nA\td\n", NULL);
    assert_int_equal(at_dataset_fingerprint(all, 7), at_dataset_fingerprint(one, 7));
    assert_string_equal(attn_dataset_name(all), "a.tsv");
    static const char *const names[] = {"a.tsv", "a.tsv", "b.tsv", "c.tsv"};
    static const int64_t lines[] = {1, 2, 2, 1};
    for (int e = 0; e < 4; e++) {
        assert_string_equal(attn_dataset_file(all, e), names[e]);
        assert_int_equal(attn_dataset_line(all, e, 0), lines[e]);
        assert_string_equal(attn_dataset_file(one, e), "a.tsv");
    }
    const int64_t chosen[] = {3, 2};
    expect_ok(context(), attn_dataset_select(all, chosen, 2, &part));
    assert_string_equal(attn_dataset_file(part, 0), "c.tsv");
    assert_string_equal(attn_dataset_file(part, 1), "b.tsv");
    assert_null(attn_dataset_file(part, 2));
    assert_int_equal(attn_dataset_append(all, all), ATTN_INVALID_ARGUMENT);
    attn_dataset_destroy(part);
    part = read_text(context(), "x.ft", "__label__A a\n", NULL);
    assert_int_equal(attn_dataset_append(one, part), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(context()),
                        "a.tsv and x.ft have different formats: the files of a dataset must have the same");
    check_dataset(one, "a/A;b/B;c/C;d/A;");
    attn_dataset_destroy(part);
    attn_dataset_destroy(one);
    attn_dataset_destroy(all);
}

/* Two files of a task that learns from pairs. */
static void test_two(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    options.pairs = 1;
    attn_dataset *dataset = NULL;
    const attn_file beside[] = {{"a", "x\ny\n", 4}, {"b", "X\nY\n", 4}};
    expect_ok(context(), attn_dataset_read_files(context(), beside, 2, &options, &dataset));
    check_dataset(dataset, "x/X;y/Y;");
    attn_dataset_destroy(dataset);
    const attn_file after[] = {{"a", "x\tX\n", 4}, {"b", "\ny\tY\n", 5}};
    expect_ok(context(), attn_dataset_read_files(context(), after, 2, &options, &dataset));
    check_dataset(dataset, "x/X;y/Y;");
    assert_string_equal(attn_dataset_file(dataset, 1), "b");
    attn_dataset_destroy(dataset);
    const attn_file bad[] = {{"a", "x\tX\n", 4}, {"b", "y\tY\nz\n", 6}};
    dataset = NULL;
    assert_int_equal(attn_dataset_read_files(context(), bad, 2, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_null(dataset);
    assert_string_equal(attn_context_error(context()), "b:2: no TAB: a line is source TAB target");
}

/* ---- objects ---- */

static void test_objects(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    check_read(context(), "a.jsonl",
               "{\"text\":\"e\\u0301 \\\"\",\"label\":\"A\"}\r\n\n{\"label\":-3,\"text\":\"b\"}\n"
               "{\"text\":\"c\",\"label\":0.10}\n{\"text\":\"d\",\"label\":true}\n{\"text\":\"e\",\"label\":["
               "\"x\",2]}\n"
               "{\"text\":\"f\",\"label\":[]}",
               &options, "\xc3\xa9 \"/A;b/-3;c/0.1;d/true;e/x\n2;f/;");
    options.column = "kind,Stars";
    options.text_column = "body";
    check_read(context(), "a.jsonl",
               "{\"text\":\"x\",\"body\":\"a\",\"stars\":4,\"kind\":null}\n{\"body\":\"b\"}\n", &options,
               "a//4;b//;");
    options = reader_options();
    options.per_token = 1;
    check_read(context(), "a.jsonl", "{\"tokens\":[\"a\",\"b\"],\"tags\":[\"A\",1]}\n", &options, "a/A b/1;");
    check_read_fails(context(), "a.jsonl", "{\"text\":\"a\",\"label\":\"A\"}\n", &options,
                     "a.jsonl: has texts, but tagging needs lists: tokens, and a tag for each");
    check_read_fails(context(), "a.jsonl", "{\"tokens\":[\"a\"],\"tags\":[null]}\n", &options,
                     "a.jsonl:1: token 1 has no tag");
    options.labelled = 0;
    check_read(context(), "a.jsonl", "{\"tokens\":[\"a\",\"b\"]}\n", &options, "a b;");
    check_read(context(), "a.jsonl", "{\"text\":\"a b\"}\n", &options, "a b;");
    options = reader_options();
    options.pairs = 1;
    check_read(context(), "a", "{\"source\":\"a\",\"target\":\"A\\nB\"}\n", &options, "a/A\nB;");
    options = reader_options();
    options.skip_bad = 1;
    check_read(context(), "a.jsonl",
               "{\n{\"text\":\"a\",\"label\":\"A\"}\n{\"text\":\"a\",\"text\":\"b\",\"label\":1}\n", &options,
               "a/A;");
    check_read_fails(
        context(), "a.jsonl", "{\"name\":\"a\"}\n", NULL,
        "a.jsonl: ambiguous field: which is the text: name it; its first object has the fields name");
    check_read_fails(
        context(), "a.jsonl", "{\"text\":\"a\",\"n\":1}\n", NULL,
        "a.jsonl: ambiguous field: which is the label: name it; its first object has the fields text, n");
    check_read_fails(context(), "a.jsonl", "{\"text\":\"a\",\"label\":1}\n{\"text\":\"\xff\"}\n", NULL,
                     "a.jsonl:2: byte 10 (0xff) is not UTF-8: convert the file with iconv");
    check_read_fails(context(), "a.jsonl", "[]\n", NULL,
                     "a.jsonl:1: a line must be a JSON object: {\"text\": ...}");
}

/* ---- line ends ---- */

static void test_line_ends(void **state) {
    (void)state;
    check_read_fails(context(), "a.tsv", "A\ta\rB\tb\r", NULL,
                     "a.tsv: has lines that end in CR alone: convert it (tr '\\r' '\\n' < OLD > NEW)");
    check_read(context(), "a.tsv", "A\ta\r", NULL, "a/A;");
    check_read(context(), "a.tsv", "A\ta\rb\n", NULL, "a\rb/A;");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),      cmocka_unit_test(test_quotes), cmocka_unit_test(test_several),
        cmocka_unit_test(test_fingerprint), cmocka_unit_test(test_two),    cmocka_unit_test(test_objects),
        cmocka_unit_test(test_line_ends),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
