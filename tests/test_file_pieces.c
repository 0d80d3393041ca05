/* test_file_pieces.c: files that are read piece by piece, on several threads, against the same bytes parsed
 * as a whole: every size of a piece, every format, what is wrong in late pieces, gzip in several members, two
 * files in step.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <attn/dataset.h>

#include "data/dataset.h"
#include "inputs/text/cuts.h"
#include "inputs/text/text.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/readers.h"

static const int thread_counts[] = {1, 2, 7};
static char folder[] = "/tmp/attn-pieces-XXXXXX";

static void path_of(const char *name, char *path) { snprintf(path, 200, "%s/%s", folder, name); }

static void write_file(const char *path, const char *text, size_t length) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Members of so many bytes, each compressed alone. */
static void write_gzip(const char *path, const char *text, size_t length, size_t member) {
    remove(path);
    for (size_t at = 0; at < length; at += member) {
        gzFile file = gzopen(path, "ab");
        assert_non_null(file);
        unsigned part = (unsigned)(length - at < member ? length - at : member);
        assert_int_equal(gzwrite(file, text + at, part), (int)part);
        assert_int_equal(gzclose(file), Z_OK);
    }
}

/* ---- comparing ---- */

static void check_strings(const at_strings *a, const at_strings *b) {
    assert_int_equal(a->count, b->count);
    if (a->count == 0) return;
    assert_memory_equal(a->offsets, b->offsets, (size_t)(a->count + 1) * sizeof *a->offsets);
    assert_memory_equal(a->bytes, b->bytes, (size_t)a->offsets[a->count]);
}

static void check_numbers(const int64_t *a, const int64_t *b, int64_t count) {
    if (count) assert_memory_equal(a, b, (size_t)count * sizeof *a);
}

static void check_same(const attn_dataset *a, const attn_dataset *b) {
    const at_texts *of_a = at_texts_of(a), *of_b = at_texts_of(b);
    assert_int_equal(a->format, b->format);
    assert_int_equal(a->per_row, b->per_row);
    assert_int_equal(a->pairs, b->pairs);
    assert_int_equal(a->examples, b->examples);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->skipped, b->skipped);
    assert_int_equal(a->left_out_count, b->left_out_count);
    assert_int_equal(a->part_count, b->part_count);
    assert_int_equal(a->placement.head, b->placement.head);
    assert_int_equal(a->placement.header, b->placement.header);
    assert_int_equal(a->placement.delimiter, b->placement.delimiter);
    assert_int_equal(of_a->tokenized, of_b->tokenized);
    assert_int_equal(of_a->any_glued, of_b->any_glued);
    check_strings(&a->name, &b->name);
    check_strings(&a->problems, &b->problems);
    check_strings(&a->ids, &b->ids);
    check_strings(&a->columns, &b->columns);
    check_strings(&a->targets, &b->targets);
    check_strings(&of_a->tokens, &of_b->tokens);
    check_strings(&of_a->sources, &of_b->sources);
    check_numbers(a->offsets, b->offsets, a->examples + 1);
    check_numbers(a->lines, b->lines, a->rows);
    check_numbers(a->left_out, b->left_out, a->left_out_count);
    if (a->rows) assert_memory_equal(of_a->glued, of_b->glued, (size_t)a->rows);
    if (a->part_count) assert_memory_equal(a->parts, b->parts, (size_t)a->part_count);
}

typedef struct text {
    const char *name, *bytes;
    size_t length;
} text;

/* Reads files (texts[1].name NULL: one) in pieces of `piece` bytes, and compares with what parsing the whole
 * gives. */
static void check_piece(const text *texts, const at_source *files, int64_t piece, const char *expected,
                        const attn_dataset *whole) {
    for (size_t i = 0; i < sizeof thread_counts / sizeof *thread_counts; i++) {
        attn_context *context = test_best_context(thread_counts[i]);
        attn_dataset *dataset = NULL;
        at_source source = *files;
        source.piece = piece;
        attn_status status = at_text_read(context, &source, &dataset);
        if (!expected && status != ATTN_OK)
            fail_msg("%s, pieces of %d: %s", texts->name, (int)piece, attn_context_error(context));
        if (expected && strcmp(attn_context_error(context), expected) != 0)
            fail_msg("%s, pieces of %d: %s, not %s", texts->name, (int)piece, attn_context_error(context),
                     expected);
        if (expected) assert_int_not_equal(status, ATTN_OK);
        if (whole && dataset) check_same(dataset, whole);
        attn_dataset_destroy(dataset);
    }
}

static void check_texts(const text *texts, const attn_reader_options *options, size_t member) {
    char paths[2][200], expected[512];
    attn_context *context = test_best_context(1);
    attn_dataset *whole = NULL;
    at_source memory = {.first_line = 1, .apart = 1, .options = options}, files = memory;
    for (int i = 0; i < 2 && texts[i].name; i++) {
        path_of(texts[i].name, paths[i]);
        if (member)
            write_gzip(paths[i], texts[i].bytes, texts[i].length, member);
        else
            write_file(paths[i], texts[i].bytes, texts[i].length);
        memory.names[i] = files.names[i] = paths[i];
        memory.bytes[i] = texts[i].bytes;
        memory.counts[i] = texts[i].length;
    }
    attn_status status = at_text_read(context, &memory, &whole);
    snprintf(expected, sizeof expected, "%s", attn_context_error(context));
    int64_t step = texts->length > 400 ? (int64_t)texts->length / 40 : 1;
    for (int64_t piece = 1; piece <= (int64_t)texts->length + 1; piece += step)
        check_piece(texts, &files, piece, status == ATTN_OK ? NULL : expected, whole);
    attn_dataset_destroy(whole);
}

static void check_file(const char *name, const char *bytes, const attn_reader_options *options) {
    const text texts[2] = {{name, bytes, strlen(bytes)}, {NULL, NULL, 0}};
    check_texts(texts, options, 0);
}

/* ---- formats ---- */

static const char conllu[] =
    "# sent_id = one\n1\ta\t_\tX\t_\t_\t0\t_\t_\tSpaceAfter=No\n2\tb\t_\tY\t_\t_\t0\t_\t_\t_\n\n"
    "\r\n# sent_id = two\r\n# only\n\n1\tc\xcc\xa7\t_\tX\t_\t_\t0\t_\t_\t_\n "
    "\t\n1\td\t_\tZ\t_\t_\t0\t_\t_\t_";

static void test_formats(void **state) {
    (void)state;
    attn_reader_options options = reader_options(), unlabelled = reader_options_unlabelled();
    check_file("a.conllu", conllu, &options);
    check_file("a.tsv", "a\tX\nb\tY\n\n\nc\tX\n\nd\tZ\n", &options);
    check_file("b.tsv", "\xef\xbb\xbflabel\ttext\r\nA\tone two\r\n\r\nB\tthree\r\nA\tfour", &options);
    check_file("a.csv",
               "id,text,label\n1,\"one, \"\"two\"\"\nand three\",A\n2,four,B\n\n3,\"five\r\n\r\nsix\",A\n",
               &options);
    check_file("c.tsv", "A\tone\nB\ttwo\n\nA\tthree four\n", &options);
    check_file("a.ft", "__label__A one\n\n__label__B __label__C two\n__label__A three\n", &options);
    check_file("a.jsonl",
               "\n{\"id\": 1, \"text\": \"one\", \"label\": \"A\"}\n\n{\"text\": \"two\", \"label\": [\"B\", "
               "\"C\"]}\n{\"label\": \"A\", \"text\": \"x\\ny\"}\n",
               &options);
    check_file("b.jsonl",
               "{\"tokens\": [\"a\", \"b\"], \"tags\": [\"X\", \"Y\"]}\n{\"tokens\": [\"c\"], \"tags\": "
               "[\"X\"]}\n",
               &options);
    check_file("lines.txt", "\xef\xbb\xbfone\r\n\ntwo \xc3\xa9\nthree e\xcc\x81\n", &unlabelled);
    check_file("blank.txt", "\n\n\n", &unlabelled);
    unlabelled.format = ATTN_FORMAT_PARAGRAPHS;
    check_file("paragraphs.txt", "one\ntwo\n\n \nthree\r\nfour\r\n\r\nfive", &unlabelled);
    options.pairs = 1;
    check_file("pairs.tsv", "a\tb\n\nc d\te\n f \t g\n", &options);
}

static void test_splits(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    options.split_column = "split";
    check_file("split.csv", "text,label,split\na,X,train\nb,Y,val\n\"c\n\",X,test\nd,Y,train\n", &options);
}

/* ---- what is wrong ---- */

static void test_bad_lines(void **state) {
    (void)state;
    for (int skip = 0; skip < 2; skip++) {
        attn_reader_options options = reader_options(), unlabelled = reader_options_unlabelled();
        options.skip_bad = unlabelled.skip_bad = skip;
        check_file(
            "a.conllu",
            "1\ta\t_\tX\t_\t_\t0\t_\t_\t_\n\n1\tb\t_\tX\n2\tb\t_\tX\t_\t_\t0\t_\t_\t_\n\n1\tc\t_\tY\t_\t_"
            "\t0\t_\t_\t_\n\n3\td\n",
            &options);
        check_file("a.tsv", "a\tX\nb\tY\n\nc\n\nd\tZ\te\nf\tX\n\ng\tX\n\nh", &options);
        check_file("b.tsv", "text\tlabel\none\tA\ntwo\nthree\tB\nfour\t\nfive\tA\tB\n", &options);
        check_file("a.ft", "__label__A one\ntwo\n__label__ three\n__label__B \xff\n__label__B four\n",
                   &options);
        check_file("a.jsonl",
                   "no\n{\"text\": \"one\", \"label\": \"A\"}\n[]\n{\"text\": 1}\n{\"text\": \"two\", "
                   "\"label\": \"B\"}\n{",
                   &options);
        check_file("lines.txt", "one\ntwo \xe9\n\nthree\xc3\nfour\n", &unlabelled);
        check_file("a.csv",
                   "text,label\none,A\n\"two\nthree,B\nfour,\"C\nfive\",D\nsix,E\n\"seven\neight\",F\n",
                   &options);
        check_file("b.csv", "text,label\n\"one\"x,A\n\"two\n\",B\nthree,\"C\n", &options);
        check_file("all.tsv", "text\tlabel\none\ntwo\n", &options);
        options.pairs = 1;
        check_file("pairs.tsv", "a\tb\nc\n\td\ne\tf\ng\th\ti\n", &options);
    }
}

static void test_no_examples(void **state) {
    (void)state;
    attn_reader_options options = reader_options(), unlabelled = reader_options_unlabelled();
    check_file("empty.txt", "", &unlabelled);
    check_file("mark.txt", "\xef\xbb\xbf", &unlabelled);
    check_file("mac.txt", "one\rtwo\rthree", &unlabelled);
    check_file("header.csv", "text,label\n\n\n", &options);
    check_file("comments.conllu", "# one\n\n# two\n", &options);
    check_file("unknown.txt", "one\ntwo\n", &options);
    check_file("columns.csv", "a,b,c\n1,2,3\n4,5,6\n", &options);
}

static void test_zero_bytes(void **state) {
    (void)state;
    static const char bytes[] = "one\ntwo\nthr\0ee\nfour\n";
    attn_reader_options options = reader_options_unlabelled();
    const text texts[2] = {{"zero.txt", bytes, sizeof bytes - 1}, {NULL, NULL, 0}};
    for (options.skip_bad = 0; options.skip_bad < 2; options.skip_bad++) {
        check_texts(texts, &options, 0);
        check_texts(texts, &options, 5);
    }
}

/* ---- gzip, two files ---- */

static void test_gzip(void **state) {
    (void)state;
    attn_reader_options options = reader_options();
    const text texts[2] = {{"a.conllu.gz", conllu, sizeof conllu - 1}, {NULL, NULL, 0}};
    for (size_t member = 1; member < 40; member += 13) check_texts(texts, &options, member);
}

static void check_two(const char *sources, const char *targets, int skip) {
    attn_reader_options options = reader_options();
    options.pairs = 1;
    options.skip_bad = skip;
    const text texts[2] = {{"two.source", sources, strlen(sources)},
                           {"two.target", targets, strlen(targets)}};
    check_texts(texts, &options, 0);
    check_texts(texts, &options, 7);
}

static void test_two_files(void **state) {
    (void)state;
    check_two("a\nb b\n\nc\n",
              "\xef\xbb\xbf"
              "A A A A A A A A\nB\n\nC",
              0);
    check_two("a\nb\nc", "A\r\nB\r\nC\r\n", 0);
    check_two("a\nb\nc\n", "A\nB\n", 0);
    check_two("a\nb\n", "A\nB\nC\nD\nE", 0);
    check_two("a\n\nb\n\xff\n", "A\nB\nC\n", 0); /* the numbers of lines come first */
    for (int skip = 0; skip < 2; skip++) {
        check_two("a\n\nb\nc\xff\nd\n", "A\nB\nC\nD\nE\n", skip);
        check_two("a\nb\nc\nd\n", "A\n \nC\xff\nE\n", skip);
    }
    check_two("a\tA\nb\tB\n", "c\tC\nd\tD\ne\tE\n", 0); /* pairs in each, one after the other */
}

/* ---- large ones, as they are read by default ---- */

static void add(char *bytes, size_t *length, const char *more) {
    size_t count = strlen(more);
    memcpy(bytes + *length, more, count);
    *length += count;
}

/* Several megabytes, with a bad line far from the beginning, and a block that is longer than a piece. */
static void test_large(void **state) {
    (void)state;
    enum { ROOM = 8 << 20 };
    char *bytes = malloc(ROOM), row[100];
    assert_non_null(bytes);
    for (int kind = 0; kind < 3; kind++) {
        size_t length = 0;
        if (kind == 0) add(bytes, &length, "text,label\n");
        for (int i = 0; length < ROOM - 1000; i++) {
            if (kind == 0)
                snprintf(row, sizeof row, "\"words of row %d\nand \"\"more\"\"\",%c\n", i, 'A' + i % 7);
            else
                snprintf(row, sizeof row, "word%d\t%c\n%s", i % 5003, 'A' + i % 7,
                         i % 11 == 10 && (i < 50000 || i > 350000) ? "\n" : "");
            add(bytes, &length, row);
        }
        add(bytes, &length, kind == 2 ? "\nword\n" : "");
        attn_reader_options options = reader_options();
        options.per_token = kind > 0;
        for (options.skip_bad = 0; options.skip_bad < 2; options.skip_bad++) {
            char path[200], expected[512];
            attn_dataset *whole = NULL;
            path_of(kind == 0 ? "large.csv" : "large.tsv", path);
            write_file(path, bytes, length);
            at_source memory = {.names = {path}, .first_line = 1, .options = &options}, file = memory;
            memory.bytes[0] = bytes;
            memory.counts[0] = length;
            attn_status status = at_text_read(test_best_context(1), &memory, &whole);
            snprintf(expected, sizeof expected, "%s", attn_context_error(test_best_context(1)));
            const text texts[2] = {{path, bytes, length}, {NULL, NULL, 0}};
            check_piece(texts, &file, 0, status == ATTN_OK ? NULL : expected, whole);
            check_piece(texts, &file, 100000, status == ATTN_OK ? NULL : expected, whole);
            attn_dataset_destroy(whole);
        }
    }
    free(bytes);
}

typedef struct told {
    int64_t done, total, calls;
} told;

static void tell(void *user, const char *name, int64_t done, int64_t total) {
    told *so_far = user;
    assert_non_null(strstr(name, "large.tsv"));
    assert_true(done >= so_far->done && done <= total);
    *so_far = (told){done, total, so_far->calls + 1};
}

/* Called now and then: here after every round, as a fast machine reads the file before it would be time. */
static void test_progress(void **state) {
    (void)state;
    char path[200];
    told so_far = {0};
    attn_reader_options options = reader_options();
    attn_dataset *dataset = NULL;
    path_of("large.tsv", path);
    options.per_token = options.skip_bad = 1;
    options.progress = tell;
    options.progress_user = &so_far;
    at_source source = {.names = {path}, .first_line = 1, .options = &options, .piece = 1000, .pause = 1e-9};
    assert_int_equal(at_text_read(test_best_context(2), &source, &dataset), ATTN_OK);
    assert_true(so_far.calls > 0 && so_far.total > 1000);
    attn_dataset_destroy(dataset);
}

/* ---- where files are cut ---- */

static void test_cuts(void **state) {
    (void)state;
    const at_cuts lines = {0, 0}, blocks = {1, 0}, rows = {0, ','};
    assert_int_equal(at_cut(&lines, "ab\ncd\nef", 8, 5, 0), 3);
    assert_int_equal(at_cut(&lines, "ab\ncd\nef", 8, 6, 0), 6);
    assert_int_equal(at_cut(&lines, "ab\ncd\nef", 8, 1, 0), 3);
    assert_int_equal(at_cut(&lines, "abcd", 4, 1, 0), 0);
    assert_int_equal(at_cut(&blocks, "a\n\nb\n\r\nc\n", 9, 7, 0), 7);
    assert_int_equal(at_cut(&blocks, "a\n\nb\n\r\nc\n", 9, 6, 0), 3);
    assert_int_equal(at_cut(&blocks, "a\nb\n \t\nc\n", 9, 1, 0), 7);
    assert_int_equal(at_cut(&rows, "a,\"b\nc\"\nd\n", 10, 5, 0), 8);
    assert_int_equal(at_cut(&rows, "a,\"b\n\"\"\nc\"\nd\n", 13, 1, 0), 11);
    assert_int_equal(at_cut(&rows, "\"b\nc", 4, 3, 0), 0);
    assert_int_equal(at_cut(&rows, "\xef\xbb\xbf\"b\nc\"\nd", 10, 7, 1), 9);
    assert_int_equal(at_cut(&rows, "a\"b\nc\n", 6, 1, 0), 4);
    assert_int_equal(at_lines_in("a\nb", 3), 2);
    assert_int_equal(at_lines_end("a\nb\nc", 5, 2), 4);
    assert_int_equal(at_lines_end("a\nb", 3, 2), 0);
}

static int make_folder(void **state) { return test_contexts_setup(state) == 0 && mkdtemp(folder) ? 0 : -1; }

static int remove_folder(void **state) {
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? test_contexts_teardown(state) : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cuts),        cmocka_unit_test(test_formats),
                                       cmocka_unit_test(test_splits),      cmocka_unit_test(test_bad_lines),
                                       cmocka_unit_test(test_no_examples), cmocka_unit_test(test_zero_bytes),
                                       cmocka_unit_test(test_gzip),        cmocka_unit_test(test_two_files),
                                       cmocka_unit_test(test_large),       cmocka_unit_test(test_progress)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
