/* test_readers_files.c: what the readers share: formats found out, labels, files and gzip, encodings, limits,
 * bad lines left out, parts of a dataset, and memory that is refused at every step.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utf8proc.h>
#include <zlib.h>

#include <attn/dataset.h>

#include "base/memory.h"
#include "data/file.h"
#include "data/symbols/unicode.h"
#include "inputs/text/texts.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/memory.h"
#include "support/readers.h"

static attn_context *context(void) { return test_best_context(1); }

/* ---- fastText, lines, detection ---- */

static void test_fasttext(void **state) {
    (void)state;
    attn_dataset *dataset =
        read_text(context(), "a.txt",
                  "__label__A __label__B  the text \n\n__label__C\n\t__label__D\tx __label__E\n", NULL);
    check_dataset(dataset, "the text /A\nB;/C;x __label__E/D;");
    assert_int_equal(attn_dataset_format(dataset), ATTN_FORMAT_FASTTEXT);
    assert_string_equal(attn_dataset_column(dataset, 0), "label");
    assert_int_equal(attn_dataset_line(dataset, 1, 0), 3);
    attn_dataset_destroy(dataset);
    check_read_fails(context(), "a.txt", "__label__A x\ny\n", NULL,
                     "a.txt:2: the line does not begin with __label__");
    check_read_fails(context(), "a.txt", "__label__A x\n__label__ y\n", NULL,
                     "a.txt:2: __label__ without a name after it");
    check_read_fails(context(), "a.ft", "__label__A x\n__label__\xe9 y\n", NULL,
                     "a.ft:2: byte 10 (0xe9) is not UTF-8: convert the file with iconv");
    attn_reader_options options = reader_options();
    options.column = "stars,label";
    check_read_fails(context(), "a.ft", "__label__A x\n", &options,
                     "a.ft: has __label__ marks, and no column stars");
    options = reader_options_unlabelled();
    check_read(context(), "a.txt", "__label__A x\n\ny\n", &options, "x/A;/;y/;");
}

static void test_lines(void **state) {
    (void)state;
    attn_reader_options options = reader_options_unlabelled();
    attn_dataset *dataset = read_text(context(), "a.txt", "one\n\n two\tthree \r\nfour", &options);
    check_dataset(dataset, "one;; two\tthree ;four;");
    assert_int_equal(attn_dataset_format(dataset), ATTN_FORMAT_LINES);
    assert_int_equal(attn_dataset_columns(dataset), 0);
    assert_null(attn_dataset_column(dataset, 0));
    assert_null(attn_dataset_target(dataset, 0, 0, 0));
    assert_int_equal(attn_dataset_line(dataset, 3, 0), 4);
    attn_dataset_destroy(dataset);
    check_read(context(), "-", "\n", &options, ";");
    options.labelled = 1;
    options.format = ATTN_FORMAT_LINES;
    check_read_fails(
        context(), "a.txt", "one\n", &options,
        "a.txt: lines of plain text have no labels to learn from; put one before each text with a TAB "
        "between");
}

static const char ten_columns[] = "# a comment\n1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n";

static void test_detection(void **state) {
    (void)state;
    enum { U = 0, L = 1 };
    const struct {
        const char *name, *text;
        int labelled, per_token;
        attn_format format;
    } cases[] = {
        {"a", ten_columns, L, -1, ATTN_FORMAT_CONLLU},
        {"a.txt", ten_columns, U, -1, ATTN_FORMAT_CONLLU},
        {"a.tsv", ten_columns, L, 1, ATTN_FORMAT_CONLLU},
        {"a.CONLLU.gz", ten_columns + 12, L, 1, ATTN_FORMAT_CONLLU},
        {"a.csv", "label,text\n1,x\n", L, 0, ATTN_FORMAT_TABLE},
        {"a.csv.gz", "text\nx\n", U, -1, ATTN_FORMAT_TABLE},
        {"a.csv", "id,text\n1,x\n", U, 1, ATTN_FORMAT_TABLE},
        {"a", "text,id,label\nx,y,1\n", L, -1, ATTN_FORMAT_TABLE},
        {"a", "text,label\nx,1\n", U, -1, ATTN_FORMAT_TABLE},
        {"a", "id;text\nx;1\n", U, 0, ATTN_FORMAT_TABLE},
        {"a", "\"id\",\"text\"\nx,1\n", U, 0, ATTN_FORMAT_TABLE},
        {"a", "text, they say\n", U, 0, ATTN_FORMAT_LINES},
        {"a", "id,name\n", U, 0, ATTN_FORMAT_LINES},
        {"a", "id\ttext\n1\tx\n", U, 1, ATTN_FORMAT_TABLE},
        {"a", "A\tx y\n", U, 0, ATTN_FORMAT_TABLE},
        {"a", "x\tA\n", U, 1, ATTN_FORMAT_COLUMNS},
        {"a", "x y\tA\n", U, 1, ATTN_FORMAT_LINES},
        {"a", "{\"text\": \"x\"}\n", U, -1, ATTN_FORMAT_JSONL},
        {"a", "\n { \"text\": \"x\", \"label\": 1}\n", L, 0, ATTN_FORMAT_JSONL},
        {"a.jsonl.gz", "{\"text\": \"x\"}\n", U, -1, ATTN_FORMAT_JSONL},
        {"a", "{x} y\n", U, 0, ATTN_FORMAT_LINES},
        {"a.tsv", "text\nx\n", U, -1, ATTN_FORMAT_TABLE},
        {"a.tsv", "x y\nz\n", U, -1, ATTN_FORMAT_LINES}, /* as without a name: no TAB, no header */
        {"a.tsv", "a\tA\nb\tB\n\nc\tC\n", L, -1, ATTN_FORMAT_COLUMNS},
        {"a.txt", "a\tA\nb\tB\n\nc\tC\n", L, -1, ATTN_FORMAT_COLUMNS},
        {"a.txt", "a\tA\nb\tB\n\nc\tC\n", U, -1, ATTN_FORMAT_LINES},
        {"a.tsv", "a\tA\nb\tB\n\nc\tC\n", U, -1, ATTN_FORMAT_COLUMNS},
        {"a.txt", "a\tA\nb\tB\n", L, 1, ATTN_FORMAT_COLUMNS},
        {"a.txt", "New York\tA\nb\tB\n\nc\tD\n", L, 1, ATTN_FORMAT_COLUMNS},
        {"a.txt", "a\tA\nb\tB\n", L, 0, ATTN_FORMAT_TABLE},
        {"a.txt", "a\tA\nb\tB\n", L, -1, ATTN_FORMAT_TABLE},
        {"a.txt", "pos\tA b\n\nneg\tB\n", L, -1, ATTN_FORMAT_TABLE},
        {"a.conll", "a\tA\n", L, -1, ATTN_FORMAT_COLUMNS},
        {"a.conll", "a A\n", L, -1, ATTN_FORMAT_COLUMNS},
        {"a.conll", "a\n", U, -1, ATTN_FORMAT_COLUMNS},
        {"a.ft", "__label__a b\n", L, 0, ATTN_FORMAT_FASTTEXT},
        {"a.fasttext", "x\n", U, 0, ATTN_FORMAT_FASTTEXT},
        {"a", "\n__label__a b\n", L, 0, ATTN_FORMAT_FASTTEXT},
        {"a", "plain\n", U, 1, ATTN_FORMAT_LINES},
        {"a", "1\tb\n", U, -1, ATTN_FORMAT_LINES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        attn_reader_options options = reader_options();
        options.labelled = cases[i].labelled;
        options.per_token = cases[i].per_token;
        attn_dataset *dataset = read_text(context(), cases[i].name, cases[i].text, &options);
        if (attn_dataset_format(dataset) != cases[i].format)
            fail_msg("case %d: format %d, not %d", (int)i, (int)attn_dataset_format(dataset),
                     (int)cases[i].format);
        attn_dataset_destroy(dataset);
        assert_int_equal(attn_dataset_detect(cases[i].name, cases[i].text, strlen(cases[i].text), &options),
                         cases[i].format);
    }
    attn_reader_options options = reader_options();
    assert_int_equal(attn_dataset_detect("a.csv", "text\n", 5, &options),
                     ATTN_FORMAT_TABLE); /* no rows yet */
    assert_int_equal(attn_dataset_detect("a", "\xef\xbb\xbf__label__a", 13, &options), ATTN_FORMAT_FASTTEXT);
    assert_int_equal(attn_dataset_detect("a", "words", 5, &options), ATTN_FORMAT_AUTO);
    assert_int_equal(attn_dataset_detect("a", "", 0, &options), ATTN_FORMAT_AUTO);
    const char *unknown =
        "a.txt: has an unknown format. It may be CoNLL-U, lines "
        "of token TAB tag, a table (TSV or CSV) with a header, lines of label TAB text or of "
        "__label__LABEL text, JSON objects: say which";
    check_read_fails(context(), "a.txt", "some words\n", NULL, unknown);
    check_read_fails(context(), "a.txt", "\n\n", NULL, unknown);
}

static void test_task(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    options.per_token = 1;
    const char *wants_tokens = "a.tsv: has one text per line, but tagging needs a tag for each token: give "
                               "CoNLL-U, or lines of token TAB tag with blank lines between sentences";
    check_read_fails(context(), "a.tsv", "sentence\tlabel\nx\t1\n", &options, wants_tokens);
    check_read_fails(context(), "a.tsv", "1\tmany words\n0\tor one\n", &options, wants_tokens);
    check_read_fails(context(), "a.tsv", "__label__A x\n", &options, wants_tokens);
    options.per_token = 0;
    const char *wants_texts =
        "a.tsv: has a tag for each token, but this task needs a label for each text: give a "
        "table (TSV or CSV), lines of label TAB text, or of __label__LABEL text";
    check_read_fails(context(), "a.tsv", ten_columns, &options, wants_texts);
    check_read_fails(context(), "a.tsv", "a\tA\n\nb\tB\n", &options, wants_texts);
    options.labelled = 0; /* what is predicted on may be either */
    check_read(context(), "a.tsv", ten_columns, &options, "a/X;");
    options.per_token = 1;
    check_read(context(), "a.tsv", "sentence\tlabel\nx\t1\n", &options, "x/1;");
}

/* ---- labels and texts ---- */

static void test_unlabelled_tables(void **state) {
    (void)state;
    attn_reader_options options = reader_options_unlabelled();
    check_read(context(), "a.csv", "text\nx\n\ny\n", &options, "x;;y;");
    check_read(context(), "a.csv", "anything\nx\n", &options, "x;");
    check_read(context(), "a.csv", "id,text,more\n1,x,2\n", &options, "x;");
    check_read(context(), "a.csv", "label,text\n,x\n1,y\n", &options, "x/;y/1;");
    check_read(context(), "a.tsv", "just text\nof lines\n", &options, "just text;of lines;");
    check_read(context(), "a.tsv", "pos\tx\n", &options, "x/pos;");
    options.column = "stars,label"; /* of these only those that are there */
    check_read(context(), "a.csv", "label,text\n1,y\n", &options, "y/1;");
    options.column = "stars";
    check_read(context(), "a.csv", "id,text\n1,y\n", &options, "y;");
    check_read(context(), "a.tsv", "a line\nanother\n", &options, "a line;another;");
    options.column = "7";
    check_read(context(), "a.csv", "y\nz\n", &options, "y;z;");
    options.column = NULL;
    options.text_column = "2";
    check_read(context(), "a.tsv", "1\tx\t2\n", &options, "x;");
}

static void test_several_labels(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    options.label_separator = '|';
    check_read(context(), "a.tsv", "label\ttext\na|b\tx\n| c ||d|\ty\n\tz\n|\tw\n", &options,
               "x/a\nb;y/c\nd;z/;w/;");
    options.label_separator = ' ';
    check_read(context(), "a.tsv", "pos neg\tx\n", &options, "x/pos\nneg;");
    /* Control characters are kept; a line break in a label would make two of it. */
    check_read(context(), "a.tsv", "label\ttext\na\x01\x1b[0m\tx\x7f\n", NULL, "x\x7f/a\x01\x1b[0m;");
    check_read_fails(context(), "a.csv", "label,text\nc,y\n\"a\nb\",x\n", NULL,
                     "a.csv:3: a label with a line break in it: \"a?b\" (if it separates several labels, set "
                     "the label separator to \\n)");
    options.label_separator = '\n';
    check_read(context(), "a.csv", "label,text\n\"a\nb\",x\n", &options, "x/a\nb;");
}

static void test_unicode_forms(void **state) {
    (void)state;
    /* e + acute, ka + voicing mark, Hangul in parts, the Angstrom sign; and a header in parts. */
    check_read(context(), "a.tsv",
               "re\xcc\x81\tcafe\xcc\x81 \xe3\x81\x8b\xe3\x82\x99 \xe1\x84\x80\xe1\x85\xa1 \xe2\x84\xab\n",
               NULL, "caf\xc3\xa9 \xe3\x81\x8c \xea\xb0\x80 \xc3\x85/r\xc3\xa9;");
    attn_reader_options options = reader_options();
    options.column = "e\xcc\x81";
    check_read(context(), "a.csv", "\xc3\xa9,text\n1,x\n", &options, "x/1;");
    check_read(context(), "a.conllu", "1\te\xcc\x81\t_\te\xcc\x81\t_\t_\t_\t_\t_\t_\n", NULL,
               "\xc3\xa9/\xc3\xa9;");
    check_read(context(), "a.tsv", "\xef\xbb\xbflabel\ttext\r\n1\tx\r\n", NULL, "x/1;"); /* BOM, CRLF */
}

/* Not UTF-8: cut, overlong, surrogates, beyond the last; and bytes that are 0. */
static void test_bad_bytes(void **state) {
    (void)state;
    const char *const bad[] = {
        "\x80", "\xc3",     "\xc0\xaf",         "\xe0\x80\x80",        "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xff", "\xe4\xb8", "\xf0\x80\x80\x80", "\xf8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[40], error[100];
        snprintf(text, sizeof text, "1\tok\n1\txx%s\n", bad[i]);
        snprintf(error, sizeof error, "a.tsv:2: byte 5 (0x%02x) is not UTF-8: convert the file with iconv",
                 (unsigned)(unsigned char)bad[i][0]);
        check_read_fails(context(), "a.tsv", text, NULL, error);
    }
    check_read_bytes_fails(context(), "a.tsv", "1\tok\n1\tx\0y\n", 12, NULL,
                           "a.tsv:2: byte 4 is 0: this is not text");
    check_read_bytes_fails(context(), "a.tsv",
                           "\xff\xfe"
                           "a\0b\0",
                           6, NULL, "a.tsv: is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)");
    check_read_bytes_fails(context(), "a.tsv", "\xfe\xff\0a", 4, NULL,
                           "a.tsv: is UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)");
    check_read_bytes_fails(context(), "a.xz",
                           "\xfd"
                           "7zXZ\0 rest",
                           11, NULL,
                           "a.xz: is compressed with xz: expand it (xz -d), or compress it with gzip");
    check_read_bytes_fails(context(), "a.xlsx", "PK\3\4", 4, NULL,
                           "a.xlsx: is a zip archive: unpack it; a spreadsheet is to be saved as CSV");
    check_read_bytes_fails(context(), "a.tsv", NULL, 0, NULL, "a.tsv: is empty");
    check_read_fails(context(), "a.tsv", "\xef\xbb\xbf", NULL, "a.tsv: is empty");
    check_read_fails(context(), "a.tsv",
                     "\xef\xbb\xbf"
                     "1",
                     NULL,
                     "a.tsv:1: one column: a row is label TAB text, or the first line names the columns");
}

static void test_skip_in_tables(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    options.skip_bad = 1;
    attn_dataset *dataset =
        read_text(context(), "a.csv",
                  "label,text\n1,a\n2\n3,\"b\" c\n4,\"open\nx\n5,d\n,e\n6,f\xff\n7,\"g\nh\"\n", &options);
    check_dataset(dataset, "a/1;d/5;g\nh/7;");
    assert_int_equal(attn_dataset_line(dataset, 2, 0), 10);
    const char *const problems[] = {
        "a.csv:3: 1 column, the first row has 2",
        "a.csv:4: text after the closing quote of a field (a quote inside a field must be doubled)",
        "a.csv:5: text after the closing quote of a field (a quote inside a field must be doubled)",
        "a.csv:6: 1 column, the first row has 2",
        "a.csv:8: no label in column label",
        "a.csv:9: byte 4 (0xff) is not UTF-8: convert the file with iconv",
    };
    assert_int_equal(attn_dataset_skipped(dataset), 6);
    for (int i = 0; i < 6; i++) assert_string_equal(attn_dataset_problem(dataset, i), problems[i]);
    attn_dataset_destroy(dataset);
    check_read(context(), "a.csv", "label,text\n1,\"open\n2,x\n", &options, "x/2;");
    /* A header is never left out. */
    check_read_fails(
        context(), "a.csv", "label,\"te\"xt\n1,a\n", &options,
        "a.csv:1: text after the closing quote of a field (a quote inside a field must be doubled)");
    /* More problems than are kept. */
    char *text = calloc(1, 2000);
    strcpy(text, "1\tx\n");
    for (int i = 0; i < 150; i++) strcat(text, "bad\n");
    dataset = read_text(context(), "a.tsv", text, &options);
    assert_int_equal(attn_dataset_skipped(dataset), 150);
    assert_string_equal(attn_dataset_problem(dataset, 99), "a.tsv:101: 1 column, the first row has 2");
    assert_null(attn_dataset_problem(dataset, 100));
    attn_dataset_destroy(dataset);
    free(text);
}

/* Quotes that open again and again and never end take a time that grows with the file, not with its square.
 */
static void test_broken_quotes(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    options.skip_bad = 1;
    enum { LINES = 200000, COLUMNS = 3000 };
    char *text = malloc(LINES * 5 + COLUMNS * 2 + 20), *out = text;
    out += sprintf(out, "label,text");
    for (int i = 0; i < COLUMNS; i++) out += sprintf(out, ",c");
    *out++ = '\n';
    for (int i = 0; i < LINES; i++) out += sprintf(out, "x\",\"\n");
    check_read_fails(context(), "a.csv", text, &options,
                     "a.csv: too many quoted fields that do not end: is this CSV?");
    free(text);
}

static void test_long_lines(void **state) {
    (void)state;
    enum { WORDS = 100000 };
    char *text = malloc(WORDS * 16 + 100), *out = text;
    out += sprintf(out, "1\t");
    for (int i = 0; i < WORDS; i++) out += sprintf(out, "w%d ", i);
    attn_dataset *dataset = read_text(context(), "a.tsv", text, NULL);
    assert_string_equal(attn_dataset_token(dataset, 0, 0), text + 2);
    attn_dataset_destroy(dataset);
    out = text;
    for (int i = 0; i < WORDS; i++) out += sprintf(out, "w%d\tT%d\n", i, i % 7);
    dataset = read_text(context(), "a.conll", text, NULL);
    assert_int_equal(attn_dataset_examples(dataset), 1);
    assert_int_equal(attn_dataset_tokens(dataset, 0), WORDS);
    assert_string_equal(attn_dataset_token(dataset, 0, WORDS - 1), "w99999");
    assert_string_equal(attn_dataset_target(dataset, 0, 0, WORDS - 1), "T4");
    attn_dataset_destroy(dataset);
    free(text);
}

/* ---- parts, and questions out of range ---- */

static void test_select(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    options.column = "UPOS,XPOS";
    const char *text = "1\ta\t_\tA\tx\t_\t_\t_\t_\tSpaceAfter=No\n2\tb\t_\tB\t_\t_\t_\t_\t_\t_\n\n"
                       "# c\n1\tc\t_\tC\t_\t_\t_\t_\t_\t_\n";
    attn_dataset *all = read_text(context(), "a.conllu", text, &options), *part = NULL;
    const int64_t order[] = {1, 0, 1};
    assert_int_equal(attn_dataset_select(all, order, 3, &part), ATTN_OK);
    attn_dataset_destroy(all);
    check_dataset(part, "c/C/;a/A/x b/B/;c/C/;");
    assert_string_equal(attn_dataset_name(part), "a.conllu");
    assert_string_equal(attn_dataset_source(part, 2), "# c\n1\tc\t_\tC\t_\t_\t_\t_\t_\t_\n");
    assert_int_equal(attn_dataset_line(part, 1, 1), 2);
    assert_string_equal(attn_dataset_column(part, 1), "XPOS");
    const unsigned char glued[] = {0, 1, 0, 0};
    assert_memory_equal(at_texts_of(part)->glued, glued, 4);
    attn_dataset *again = NULL;
    assert_int_equal(attn_dataset_select(part, order, 1, &again), ATTN_OK); /* 1: it has the glued one */
    assert_int_equal(at_texts_of(again)->any_glued, 1);
    attn_dataset_destroy(again);
    again = NULL;
    assert_int_equal(attn_dataset_select(part, NULL, 0, &again), ATTN_OK);
    assert_int_equal(attn_dataset_examples(again), 0);
    attn_dataset_destroy(again);
    const int64_t beyond[] = {0, 3};
    again = NULL;
    assert_int_equal(attn_dataset_select(part, beyond, 2, &again), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(context()),
                        "attn_dataset_select: examples[1] is 3, there are 3 examples");
    assert_int_equal(attn_dataset_select(part, NULL, 1, &again), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_select(part, order, -1, &again), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_select(part, order, 1, NULL), ATTN_INVALID_ARGUMENT);
    assert_null(again);
    assert_null(attn_dataset_token(part, 0, 1));
    assert_null(attn_dataset_token(part, 0, -1));
    assert_null(attn_dataset_token(part, 3, 0));
    assert_null(attn_dataset_token(part, -1, 0));
    assert_int_equal(attn_dataset_tokens(part, 3), 0);
    assert_int_equal(attn_dataset_line(part, 0, 1), 0);
    assert_null(attn_dataset_target(part, 2, 0, 0));
    assert_null(attn_dataset_target(part, -1, 0, 0));
    assert_null(attn_dataset_target(part, 0, 0, 1));
    assert_null(attn_dataset_source(part, 3));
    assert_null(attn_dataset_column(part, -1));
    attn_dataset_destroy(part);
    attn_dataset_destroy(NULL);
}

static void test_arguments(void **state) {
    (void)state;
    attn_context *c = context();
    attn_reader_options options = reader_options();
    attn_dataset *dataset = NULL;
    assert_int_equal(attn_dataset_parse(NULL, "a", 1, "a", 1, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_parse(c, NULL, 1, "a", 1, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_parse(c, "a", 1, NULL, 1, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_parse(c, "a", 1, "a", 1, NULL, &dataset), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_parse(c, "a", 1, "a", 1, &options, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_parse(c, "a", 0, "a", 1, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_read(NULL, "a", &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_read(c, NULL, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_read(c, "a", NULL, &dataset), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_dataset_read(c, "a", &options, NULL), ATTN_INVALID_ARGUMENT);
    options.size = 3;
    assert_int_equal(attn_dataset_parse(c, "a", 1, "a", 1, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(c), "size is 3"));
    options = reader_options();
    options.format = (attn_format)9;
    assert_int_equal(attn_dataset_parse(c, "a", 1, "a", 1, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(c), "reader options: there is no format 9");
    options = reader_options();
    options.per_token = 2;
    assert_int_equal(attn_dataset_parse(c, "a", 1, "a", 1, &options, &dataset), ATTN_INVALID_ARGUMENT);
    options = reader_options();
    options.expanded_limit = 0;
    assert_int_equal(attn_dataset_read(c, "a", &options, &dataset), ATTN_INVALID_ARGUMENT);
    options.expanded_limit = 3;
    assert_int_equal(attn_dataset_parse(c, "a", 1, "1\tab", 4, &options, &dataset), ATTN_OVERFLOW);
    assert_null(dataset);
    options.expanded_limit = 4;
    assert_int_equal(attn_dataset_parse(c, "a", 17, "1\tab", 4, &options, &dataset), ATTN_OK);
    assert_int_equal(attn_dataset_line(dataset, 0, 0), 17);
    attn_dataset_destroy(dataset);
}

/* A name that is too long for the error's text keeps its end, and the reason its place. */
static void test_long_name(void **state) {
    (void)state;
    char name[1000], error[400];
    memset(name, 'x', sizeof name);
    memcpy(name + sizeof name - 7, "/a.tsv", 7);
    snprintf(error, sizeof error, "...%s:1: byte 1 is 0: this is not text", name + sizeof name - 1 - 180);
    check_read_bytes_fails(context(), name, "\0", 1, NULL, error);
}

/* ---- files ---- */

static char folder[] = "/tmp/attn-test-readers-XXXXXX";
static char path[sizeof folder + 20];

static void write_file(const char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* One gzip member of `text` at `out`; its length. */
static size_t compress_text(const char *text, size_t length, unsigned char *out, size_t room) {
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)text;
    stream.avail_in = (uInt)length;
    stream.next_out = out;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return room - stream.avail_out;
}

static void check_file_reads(const char *expected) {
    attn_reader_options options = reader_options();
    attn_dataset *dataset = NULL;
    if (attn_dataset_read(context(), path, &options, &dataset) != ATTN_OK)
        fail_msg("%s", attn_context_error(context()));
    assert_string_equal(attn_dataset_name(dataset), path);
    check_dataset(dataset, expected);
    attn_dataset_destroy(dataset);
}

static void check_file_fails(int64_t limit, attn_status status, const char *error) {
    attn_reader_options options = reader_options();
    if (limit) options.expanded_limit = limit;
    attn_dataset *dataset = NULL;
    assert_int_equal(attn_dataset_read(context(), path, &options, &dataset), status);
    assert_null(dataset);
    char all[300];
    snprintf(all, sizeof all, "%s: %s", path, error);
    assert_string_equal(attn_context_error(context()), all);
}

static void test_files(void **state) {
    (void)state;
    write_file("1\tx\n2\ty\n", 8);
    check_file_reads("x/1;y/2;");
    check_file_fails(7, ATTN_OVERFLOW, "has more than 7 bytes (expanded_limit of the reader options)");
    write_file("", 0);
    check_file_fails(0, ATTN_INVALID_ARGUMENT, "is empty");
    remove(path);
    check_file_fails(0, ATTN_SYSTEM_ERROR, "cannot be opened: No such file or directory");
    snprintf(path, sizeof path, "%s", folder);
    check_file_fails(0, ATTN_SYSTEM_ERROR, "cannot be read: Is a directory");
    snprintf(path, sizeof path, "%s/a.tsv", folder);
}

static void test_gzip(void **state) {
    (void)state;
    unsigned char bytes[3000];
    const char text[] = "1\tsome text, some text, some text\n2\t";
    size_t first = compress_text(text, sizeof text - 1, bytes, sizeof bytes);
    size_t both = first + compress_text("y\n", 2, bytes + first, sizeof bytes - first);
    memset(bytes + both, 0, 20);
    write_file((char *)bytes, both);
    check_file_reads("some text, some text, some text/1;y/2;");
    write_file((char *)bytes, both + 20); /* padding */
    check_file_reads("some text, some text, some text/1;y/2;");
    check_file_fails(37, ATTN_OVERFLOW, "has more than 37 bytes (expanded_limit of the reader options)");
    char error[200];
    for (size_t cut = 2; cut < both; cut++) { /* cut off anywhere, but for the end of the first member */
        if (cut == first) continue;
        write_file((char *)bytes, cut);
        snprintf(error, sizeof error, "the gzip data is cut off after %zu bytes: the file is incomplete",
                 cut);
        check_file_fails(0, ATTN_INVALID_ARGUMENT, error);
    }
    bytes[both - 6] ^= 1; /* a checksum */
    write_file((char *)bytes, both);
    snprintf(error, sizeof error,
             "the gzip data is damaged near byte %zu (incorrect data check), in a second member or in "
             "trailing bytes",
             both - 4);
    check_file_fails(0, ATTN_INVALID_ARGUMENT, error);
    memcpy(bytes + first, "rubbish", 7);
    write_file((char *)bytes, first + 7);
    snprintf(error, sizeof error,
             "the gzip data is damaged near byte %zu (incorrect header check), in a second member or in "
             "trailing bytes",
             first + 2);
    check_file_fails(0, ATTN_INVALID_ARGUMENT, error);
    write_file((char *)bytes, compress_text("", 0, bytes, sizeof bytes));
    check_file_fails(0, ATTN_INVALID_ARGUMENT, "is empty");
}

/* A small file that becomes a large one stops at the limit, not after it. */
static void test_gzip_limit(void **state) {
    (void)state;
    enum { LARGE = 8000000 };
    char *letters = malloc(LARGE);
    unsigned char *bytes = malloc(100000);
    memset(letters, 'a', LARGE);
    write_file((char *)bytes, compress_text(letters, LARGE, bytes, 100000));
    free(letters);
    free(bytes);
    check_file_fails(1000000, ATTN_OVERFLOW,
                     "has more than 1000000 bytes (expanded_limit of the reader options)");
    check_file_fails(LARGE - 1, ATTN_OVERFLOW,
                     "has more than 7999999 bytes (expanded_limit of the reader options)");
}

/* ---- files that become very large ---- */

/* What is asked for through the context. */
typedef struct measured {
    int64_t live, most;
} measured;

static void *measured_allocate(void *user, size_t bytes, size_t alignment) {
    measured *of = user;
    size_t *block = aligned_alloc(alignment, (bytes + 2 * alignment - 1) / alignment * alignment);
    if (!block) return NULL;
    *block = bytes;
    of->live += (int64_t)bytes;
    if (of->live > of->most) of->most = of->live;
    return (char *)block + alignment;
}

enum { ALIGNMENT = 64 };

static void measured_release(void *user, void *memory) {
    size_t *block = (size_t *)(void *)((char *)memory - ALIGNMENT);
    ((measured *)user)->live -= (int64_t)*block;
    free(block);
}

/* A gigabyte of `what`, again and again, in a megabyte: `beginning`, and then gzip members that are all the
 * same. */
static void write_bomb(const char *beginning, const char *what) {
    enum { PART = 16000000, PARTS = 64 };
    char *large = malloc(PART);
    unsigned char *bytes = malloc(100000);
    assert_true(large && bytes);
    for (int i = 0, length = (int)strlen(what) + !*what; i < PART; i++) large[i] = what[i % length];
    FILE *file = fopen(path, "wb");
    size_t first = compress_text(beginning, strlen(beginning), bytes, 100000);
    if (*beginning) assert_int_equal(fwrite(bytes, 1, first, file), first);
    size_t count = compress_text(large, PART, bytes, 100000);
    for (int i = 0; i < PARTS; i++) assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    free(large);
    free(bytes);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Refused with this, in less than a second and in less than `most` bytes. */
static void check_bomb(const attn_reader_options *options, attn_status status, const char *error,
                       int64_t most) {
    measured memory = {0};
    attn_context *own = NULL;
    attn_context_options made;
    attn_context_options_init(&made);
    made.threads = 1;
    made.allocator = (attn_allocator){measured_allocate, measured_release, &memory};
    assert_int_equal(attn_context_create(&made, &own), ATTN_OK);
    attn_dataset *dataset = NULL;
    double before = seconds();
    assert_int_equal(attn_dataset_read(own, path, options, &dataset), status);
    assert_true(seconds() - before < 1);
    assert_null(dataset);
    if (!strstr(attn_context_error(own), error)) fail_msg("%s lacks %s", attn_context_error(own), error);
    assert_int_equal(strncmp(attn_context_error(own), path, strlen(path)), 0);
    if (memory.most > most) fail_msg("%lld bytes of memory", (long long)memory.most);
    attn_context_destroy(own);
    assert_int_equal(memory.live, 0);
}

static void test_gzip_bombs(void **state) {
    (void)state;
    enum { SMALL = 1 << 20, LARGE = 50 << 20 };
    attn_reader_options options = reader_options();
    for (int mode = 0; mode < 4; mode++) { /* as training reads, as `check`, as `predict`, pairs */
        options = mode == 2 ? reader_options_unlabelled() : reader_options();
        options.skip_bad = mode == 1;
        options.stop_at_bad = mode == 2;
        if (mode == 3) options.format = ATTN_FORMAT_PAIRS;
        write_bomb("", "");
        check_bomb(&options, ATTN_INVALID_ARGUMENT, ":1: byte 1 is 0: this is not text", SMALL);
        write_bomb("1\tgood\n2\tgood\n", "");
        check_bomb(&options, ATTN_INVALID_ARGUMENT, ":3: byte 1 is 0: this is not text", SMALL);
        write_bomb("", "a");
        check_bomb(&options, ATTN_OVERFLOW, ": decompresses to more than 200 times its size", LARGE);
        write_bomb("1\tgood\n", "1\ta\n");
        check_bomb(&options, ATTN_OVERFLOW, ": decompresses to more than 200 times its size", LARGE);
        options.expanded_ratio = 0;
        options.expanded_limit = 20000000;
        check_bomb(&options, ATTN_OVERFLOW, ": has more than 20000000 bytes", 2 * LARGE);
        write_bomb("\xff\xfe", "");
        check_bomb(&options, ATTN_INVALID_ARGUMENT, ": is UTF-16", SMALL);
    }
    options = reader_options();
    options.input = "vectors";
    write_bomb("", "");
    check_bomb(&options, ATTN_INVALID_ARGUMENT, ": byte 1 is 0: this is not a table", SMALL);
    write_bomb("", "1,2,3\n");
    check_bomb(&options, ATTN_OVERFLOW, ": decompresses to more than 200 times its size", LARGE);
    options.format = (attn_format)attn_input_find_format("vectors", "npy");
    check_bomb(&options, ATTN_INVALID_ARGUMENT, ": is not a npy: it begins like text", SMALL);
}

/* Data that is very even may be large if that was said. */
static void test_even_data(void **state) {
    (void)state;
    enum { COUNT = 17 << 20, LINE = 4 };
    char *large = malloc(COUNT);
    unsigned char *bytes = malloc(200000);
    for (int i = 0; i < COUNT; i++) large[i] = "1\ta\n"[i % LINE];
    write_file((char *)bytes, compress_text(large, COUNT, bytes, 200000));
    free(large);
    free(bytes);
    attn_reader_options options = reader_options();
    attn_dataset *dataset = NULL;
    assert_int_equal(attn_dataset_read(context(), path, &options, &dataset), ATTN_OVERFLOW);
    options.expanded_ratio = 0;
    assert_int_equal(attn_dataset_read(context(), path, &options, &dataset), ATTN_OK);
    assert_int_equal(attn_dataset_examples(dataset), COUNT / LINE);
    attn_dataset_destroy(dataset);
    options.expanded_ratio = -1;
    dataset = NULL;
    assert_int_equal(attn_dataset_read(context(), path, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(context()), "reader options: expanded_ratio is -1");
}

/* A zero byte in a line of its own does not keep others from being read. */
static void test_zero_byte_in_gzip(void **state) {
    (void)state;
    enum { COUNT = 400000 };
    char *text = malloc(COUNT);
    unsigned char *bytes = malloc(COUNT);
    for (int i = 0; i < COUNT; i++) text[i] = "1\tab\n"[i % 5];
    text[200003] = 0;
    write_file((char *)bytes, compress_text(text, COUNT, bytes, COUNT));
    free(text);
    free(bytes);
    attn_reader_options options = reader_options();
    attn_dataset *dataset = NULL;
    assert_int_equal(attn_dataset_read(context(), path, &options, &dataset), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(context()), ":40001: byte 4 is 0: this is not text"));
    options.skip_bad = 1;
    assert_int_equal(attn_dataset_read(context(), path, &options, &dataset), ATTN_OK);
    assert_int_equal(attn_dataset_skipped(dataset), 1);
    assert_int_equal(attn_dataset_examples(dataset), COUNT / 5 - 1);
    attn_dataset_destroy(dataset);
}

/* ---- Unicode ---- */

static void test_nfc(void **state) {
    (void)state;
    attn_context *c = context();
    char *buffer = NULL;
    int64_t room = 0;
    const char *result;
    size_t length;
    assert_int_equal(at_unicode_nfc(c, "abc", 3, &buffer, &room, &result, &length), ATTN_OK);
    assert_string_equal(result, "abc");
    assert_null(buffer); /* nothing to do */
    /* Every character by itself and after a letter is what utf8proc makes of it. */
    for (int32_t code = 1; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff) continue;
        unsigned char text[8] = "a";
        size_t n = 1 + (size_t)utf8proc_encode_char(code, text + 1);
        for (size_t from = 0; from < 2; from++) {
            utf8proc_uint8_t *expected;
            utf8proc_ssize_t count = utf8proc_map(text + from, (utf8proc_ssize_t)(n - from), &expected,
                                                  UTF8PROC_STABLE | UTF8PROC_COMPOSE);
            assert_true(count > 0);
            assert_int_equal(
                at_unicode_nfc(c, (char *)text + from, n - from, &buffer, &room, &result, &length), ATTN_OK);
            if (length != (size_t)count || memcmp(result, expected, length) != 0)
                fail_msg("U+%04X", (unsigned)code);
            free(expected);
        }
        int32_t decoded;
        assert_int_equal(at_unicode_next((char *)text + 1, n - 1, &decoded), n - 1);
        assert_int_equal(decoded, code);
        assert_int_equal(at_unicode_check((char *)text, n), n);
    }
    at_release(c, buffer);
}

/* A run of marks that is no text takes no time that grows with its square; a long one that may be is sorted.
 */
static void test_runs_of_marks(void **state) {
    (void)state;
    attn_context *c = context();
    enum { PAIRS = 500000 };
    char *text = malloc(PAIRS * 4 + 1), *buffer = NULL;
    for (int i = 0; i < PAIRS; i++) memcpy(text + 4 * i, "\xcc\x81\xcc\x96", 5); /* above, below */
    int64_t room = 0;
    const char *result;
    size_t length;
    assert_int_equal(at_unicode_nfc(c, text, PAIRS * 4, &buffer, &room, &result, &length), ATTN_OK);
    assert_ptr_equal(result, text);
    assert_int_equal(at_unicode_nfc(c, text, 400, &buffer, &room, &result, &length), ATTN_OK);
    assert_int_equal(length, 400);
    for (int i = 0; i < 100; i++) assert_memory_equal(result + 2 * i, "\xcc\x96", 2);
    for (int i = 100; i < 200; i++) assert_memory_equal(result + 2 * i, "\xcc\x81", 2);
    at_release(c, buffer);
    free(text);
}

/* ---- memory that is refused ---- */

static void check_every_allocation(attn_context *c, counting_allocator *counter, const char *name,
                                   const char *text, const attn_reader_options *options) {
    const int64_t held = counter->live;
    for (int64_t n = 1;; n++) {
        attn_dataset *dataset = NULL, *part = NULL;
        const int64_t numbers[] = {0, 0};
        counter->fail_at = n;
        attn_status status = text ? attn_dataset_parse(c, name, 1, text, strlen(text), options, &dataset)
                                  : attn_dataset_read(c, name, options, &dataset);
        if (status == ATTN_OK) status = attn_dataset_select(dataset, numbers, 2, &part);
        counter->fail_at = 0;
        if (status == ATTN_OK) {
            assert_true(n > 10); /* it did fail before */
            attn_dataset_destroy(part);
        } else {
            assert_int_equal(status, ATTN_OUT_OF_MEMORY);
            assert_null(part);
        }
        attn_dataset_destroy(dataset);
        assert_int_equal(counter->live, held);
        if (status == ATTN_OK) return;
    }
}

static void test_memory(void **state) {
    (void)state;
    counting_allocator counter = {0};
    attn_context_options with;
    attn_context_options_init(&with);
    with.threads = 1;
    with.allocator = counting_allocator_functions(&counter);
    attn_context *c;
    assert_int_equal(attn_context_create(&with, &c), ATTN_OK);
    attn_reader_options options = reader_options();
    options.skip_bad = 1;
    options.label_separator = '|';
    const char conllu[] =
        "1\te\xcc\x81\t_\tA|B\tx\tA=B\t_\t_\t_\tSpaceAfter=No\n2\tb\t_\tB\t_\t_\t_\t_\t_\t_\n\n3\n\n"
        "# c\n1\tc\t_\tC\t_\t_\t_\t_\t_\t_\n";
    options.column = "UPOS,FEATS:A,XPOS";
    check_every_allocation(c, &counter, "a.conllu", conllu, &options);
    options.column = "3,2";
    check_every_allocation(c, &counter, "a.conll", "a\tA\te\xcc\x81|x\n\nbad\n\nb\tB\tC\n", &options);
    options.column = "label,a";
    check_every_allocation(c, &counter, "a.csv",
                           "label,a,text\nx|y,1,\"e\xcc\x81 \"\"b\"\"\r\nc\"\nbad\n2,\"3\",4\n", &options);
    options.column = NULL;
    check_every_allocation(c, &counter, "a.tsv", "label\ttext\nx|y\te\xcc\x81\nbad\n", &options);
    check_every_allocation(c, &counter, "a.ft", "__label__x __label__e\xcc\x81 text e\xcc\x81\nbad\n",
                           &options);
    options.labelled = 0;
    check_every_allocation(c, &counter, "a.txt", "e\xcc\x81\n\xff\nb\n", &options);
    unsigned char bytes[200];
    write_file((char *)bytes, compress_text("1\tx\n", 4, bytes, sizeof bytes));
    check_every_allocation(c, &counter, path, NULL, &options);
    attn_context_destroy(c);
    assert_int_equal(counter.live, 0);
}

static int setup(void **state) {
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/a.tsv", folder);
    return test_contexts_setup(state);
}

static int teardown(void **state) {
    remove(path);
    remove(folder);
    return test_contexts_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fasttext),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_detection),
        cmocka_unit_test(test_task),
        cmocka_unit_test(test_unlabelled_tables),
        cmocka_unit_test(test_several_labels),
        cmocka_unit_test(test_unicode_forms),
        cmocka_unit_test(test_bad_bytes),
        cmocka_unit_test(test_skip_in_tables),
        cmocka_unit_test(test_broken_quotes),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_gzip_limit),
        cmocka_unit_test(test_gzip_bombs),
        cmocka_unit_test(test_even_data),
        cmocka_unit_test(test_zero_byte_in_gzip),
        cmocka_unit_test(test_nfc),
        cmocka_unit_test(test_runs_of_marks),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
