/* test_examine.c: data looked at before training: what speaks against learning from it, what is counted, and
 * how texts are folded to be compared; from files and from memory, of several kinds of input, and with memory
 * that is refused at every step. tests/test_examine_cli.sh has what the program makes of it.
 */
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "data/symbols/unicode.h"
#include "support/memory.h"
#include "support/readers.h"

static attn_config *config_of(const char *input, const char *task) {
    attn_config *config;
    assert_int_equal(attn_config_create(group_context, &config), ATTN_OK);
    assert_int_equal(attn_config_set(config, "input", input), ATTN_OK);
    assert_int_equal(attn_config_set(config, "task", task), ATTN_OK);
    return config;
}

/* Texts with labels, as `label TAB text` a line. */
static attn_dataset *read_lines(const char *name, int count, void (*line)(int i, char *text, size_t room)) {
    char text[64 * 128] = "", one[128];
    assert_true(count <= 64);
    for (int i = 0; i < count; i++) {
        line(i, one, sizeof one);
        strcat(text, one);
        strcat(text, "\n");
    }
    attn_reader_options options = reader_options();
    options.per_token = 0;
    return read_text(group_context, name, text, &options);
}

static attn_examination *examine(attn_config *config, const attn_dataset *train, const attn_dataset *dev) {
    attn_examination *found = NULL;
    attn_examine_options options;
    attn_examine_options_init(&options);
    options.dev = dev;
    assert_int_equal(attn_examine(config, train, &options, &found), ATTN_OK);
    return found;
}

/* The kinds that are found, in their order, as digits. */
static void check_findings(const attn_examination *found, const char *kinds) {
    char made[32] = "";
    for (int i = 0; i < attn_examination_findings(found); i++) {
        attn_finding one = attn_examination_finding(found, i);
        assert_non_null(one.text);
        snprintf(made + strlen(made), sizeof made - strlen(made), "%d", (int)one.kind);
    }
    assert_string_equal(made, kinds);
    assert_null(attn_examination_finding(found, attn_examination_findings(found)).text);
    assert_null(attn_examination_finding(found, -1).text);
}

static void check_examined(const char *input, const char *task, attn_dataset *train, const char *kinds) {
    attn_config *config = config_of(input, task);
    attn_examination *found = examine(config, train, NULL);
    check_findings(found, kinds);
    attn_examination_destroy(found);
    attn_config_destroy(config);
    attn_dataset_destroy(train);
}

/* ---- folding ---- */

static void check_folded(const char *text, int strip, const char *expected) {
    char out[256];
    size_t length = at_unicode_fold(text, strlen(text), strip, out);
    assert_string_equal(out, expected);
    assert_int_equal(length, strlen(expected));
}

static void test_fold(void **state) {
    (void)state;
    check_folded("", 1, "");
    check_folded(" \t A\xc2\xa0\xe3\x80\x80 b ", 0, "a b"); /* spaces of other scripts */
    check_folded("\xc3\x84RGER", 0, "\xc3\xa4rger");
    check_folded("STRASSE stra\xc3\x9f"
                 "e",
                 0, "strasse strasse");
    check_folded("\"So... what?!\"", 1, "so... what");
    check_folded("\"So... what?!\"", 0, "\"so... what?!\"");
    check_folded("... !", 1, "");
    check_folded("- a - b -", 1, "a - b");
    check_folded("\xc2\xbf"
                 "Qu\xc3\xa9?",
                 1, "qu\xc3\xa9");
    check_folded("$5+", 1, "$5+"); /* signs are no punctuation */
}

/* What grows most: two bytes become six. */
static void test_fold_room(void **state) {
    (void)state;
    char text[2 * 50 + 1] = "", out[4 * 100 + 1];
    for (int i = 0; i < 50; i++) strcat(text, "\xce\x90");
    assert_int_equal(at_unicode_fold(text, 100, 1, out), 300);
}

/* ---- findings ---- */

static void put_good(int i, char *text, size_t room) {
    snprintf(text, room, "%s\ttext %d", i % 2 ? "good" : "bad", i);
}
static void put_swapped(int i, char *text, size_t room) {
    snprintf(text, room, "text %d\t%s", i, i % 2 ? "good" : "bad");
}
static void put_single(int i, char *text, size_t room) { snprintf(text, room, "good\ttext %d", i); }
static void put_alike(int i, char *text, size_t room) {
    snprintf(text, room, "%s\ttext %d", i % 3 ? "good" : i % 2 ? "Good" : "bad", i);
}
static void put_spaced(int i, char *text, size_t room) {
    snprintf(text, room, "%s\ttext %d", i % 3 ? "not good" : i % 2 ? "notgood" : "bad", i);
}
static void put_number(int i, char *text, size_t room) { snprintf(text, room, "%d.5\ttext %d", i, i); }
static void put_same_number(int i, char *text, size_t room) {
    snprintf(text, room, "%s\ttext %d", i % 2 ? "3" : "3.0", i);
}

static void test_findings(void **state) {
    (void)state;
    check_examined("text", "classify", read_lines("a.tsv", 40, put_good), "");
    check_examined("text", "classify", read_lines("a.tsv", 10, put_good), "");
    check_examined("text", "classify", read_lines("a.tsv", 9, put_good), "3");
    check_examined("text", "classify", read_lines("a.tsv", 40, put_swapped), "1");
    check_examined("text", "classify", read_lines("a.tsv", 40, put_single), "2");
    check_examined("text", "classify", read_lines("a.tsv", 5, put_single), "23");
    check_examined("text", "classify", read_lines("a.tsv", 40, put_alike), "4");
    check_examined("text", "classify", read_lines("a.tsv", 40, put_spaced), "4");
    check_examined("text", "classify", read_lines("a.tsv", 40, put_number), "1");
    check_examined("text", "regress", read_lines("a.tsv", 40, put_number), "");
    check_examined("text", "regress", read_lines("a.tsv", 40, put_same_number), "2");
    check_examined("text", "regress", read_lines("a.tsv", 4, put_number), "3");
}

/* No label at all is an answer where there may be several; else it is a label that is missing. */
static void test_one_label_or_none(void **state) {
    (void)state;
    for (int separated = 0; separated < 2; separated++) {
        char text[1024] = "text,label,other\n";
        attn_reader_options options = reader_options();
        options.column = separated ? "label" : "label,other";
        options.label_separator = separated ? '|' : 0;
        for (int i = 0; i < 20; i++)
            sprintf(text + strlen(text), "text %d,%s,%s\n", i, i % 2 ? "a" : "", i % 2 ? "" : "b");
        attn_dataset *train = read_text(group_context, "a.csv", text, &options);
        attn_config *config = config_of("text", "classify");
        if (separated) attn_config_set(config, "reader.label_separator", "|");
        attn_examination *found = examine(config, train, NULL);
        check_findings(found, separated ? "" : "2");
        attn_examination_destroy(found);
        attn_config_destroy(config);
        attn_dataset_destroy(train);
    }
}

/* Labels of rows and of examples, of inputs that are no texts. */
static void test_vectors(void **state) {
    (void)state;
    float rows[24];
    int64_t offsets[13];
    const char *names[] = {"label"}, *values[24];
    for (int i = 0; i < 24; i++) rows[i] = (float)(i % 12); /* examples e and e + 6 are the same */
    for (int i = 0; i < 13; i++) offsets[i] = 2 * i;
    for (int labels = 1; labels < 4; labels++) {
        attn_dataset *train;
        for (int i = 0; i < 24; i++) values[i] = i % labels == 0 ? "x" : i % labels == 1 ? "y" : "X";
        assert_int_equal(attn_dataset_from_rows(group_context, rows, 1, offsets, 12, &train), ATTN_OK);
        assert_int_equal(attn_dataset_set_targets(train, 1, names, values, 1), ATTN_OK);
        check_examined("vectors", "tag", train, labels == 1 ? "2" : labels == 2 ? "" : "4");
    }
    attn_dataset *train;
    for (int i = 0; i < 12; i++) values[i] = i < 6 || i == 7 ? "x" : "y";
    assert_int_equal(attn_dataset_from_rows(group_context, rows, 1, offsets, 12, &train), ATTN_OK);
    assert_int_equal(attn_dataset_set_targets(train, 1, names, values, 0), ATTN_OK);
    attn_config *config = config_of("vectors", "classify");
    attn_examination *found = examine(config, train, train);
    assert_int_equal(attn_examination_conflicts(found), 5);
    assert_int_equal(attn_examination_overlap(found, ATTN_PART_VAL).same, 12);
    assert_int_equal(attn_examination_cut(found), 0);
    attn_examination_destroy(found);
    assert_int_equal(attn_config_set(config, "vectors.longest", "1"), ATTN_OK);
    found = examine(config, train, NULL);
    assert_int_equal(attn_examination_cut(found), 0);
    assert_int_equal(attn_examination_in_pieces(found), 12);
    assert_int_equal(attn_examination_longest(found), 1);
    assert_int_equal(attn_examination_most(found), 16);
    attn_examination_destroy(found);
    assert_int_equal(attn_config_set(config, "encoder.pieces", "1"), ATTN_OK);
    found = examine(config, train, NULL);
    assert_int_equal(attn_examination_cut(found), 12);
    assert_int_equal(attn_examination_in_pieces(found), 0);
    attn_examination_destroy(found);
    attn_config_destroy(config);
    attn_dataset_destroy(train);
}

/* ---- counts ---- */

static const char train_text[] = "a\tThe  film, it was good.\nb\tThe  film, it was good.\n"
                                 "a\ttwo\na\ttwo\na\tthree\nb\tfour\nb\tfive\nb\tsix\nb\tseven\nb\t!!\na\t\n"
                                 "b\tthree\na\tthree\n";
static const char dev_text[] =
    "a\tthe film, it was GOOD\na\tThe  film, it was good.\nb\t(Two)\nb\ttwo\nb\t??\n"
    "a\t\nb\tthe film it was good\n";

static void test_counts(void **state) {
    (void)state;
    attn_dataset *train = read_text(group_context, "train.tsv", train_text, NULL);
    attn_dataset *dev = read_text(group_context, "dev.tsv", dev_text, NULL);
    attn_config *config = config_of("text", "classify");
    attn_examination *found = examine(config, train, dev);
    attn_overlap overlap = attn_examination_overlap(found, ATTN_PART_VAL);
    assert_int_equal(overlap.examples, 7);
    assert_int_equal(overlap.same, 2);
    assert_int_equal(overlap.alike, 2);
    assert_int_equal(attn_examination_overlap(found, ATTN_PART_TEST).examples, 0);
    assert_int_equal(attn_examination_conflicts(found), 2); /* the film, and three */
    assert_int_equal(attn_examination_longest(found), 2000);
    assert_int_equal(attn_examination_notes(found), 2);
    assert_string_equal(attn_examination_note(found, 0),
                        "2 texts occur more than once with different labels");
    assert_null(attn_examination_note(found, 2));
    attn_examination_destroy(found);
    attn_config_destroy(config);
    attn_dataset_destroy(dev);
    attn_dataset_destroy(train);
}

/* Data that says what is for training: that is what findings and conflicts are of, and where the other parts
 * are looked for. */
static void test_parts(void **state) {
    (void)state;
    attn_dataset *train = read_lines("a.tsv", 40, put_good);
    int parts[40];
    for (int i = 0; i < 40; i++) parts[i] = i % 4 < 2 ? ATTN_PART_TRAIN : i % 4;
    assert_int_equal(attn_dataset_set_parts(train, parts), ATTN_OK);
    attn_config *config = config_of("text", "classify");
    attn_examination *found = examine(config, train, NULL);
    check_findings(found, "");
    assert_int_equal(attn_examination_overlap(found, ATTN_PART_VAL).examples, 10);
    assert_int_equal(attn_examination_overlap(found, ATTN_PART_TEST).examples, 10);
    assert_int_equal(attn_examination_overlap(found, ATTN_PART_TEST).same, 0);
    attn_examination_destroy(found);
    for (int i = 0; i < 40; i++) parts[i] = i % 2 ? ATTN_PART_TRAIN : ATTN_PART_VAL;
    assert_int_equal(attn_dataset_set_parts(train, parts), ATTN_OK);
    found = examine(config, train, train);
    check_findings(found, "2");
    assert_int_equal(attn_examination_overlap(found, ATTN_PART_VAL).examples, 20);
    attn_examination_destroy(found);
    attn_config_destroy(config);
    attn_dataset_destroy(train);
}

/* Units count, not bytes; of subwords, which are learned later, words. */
static void test_cut(void **state) {
    (void)state;
    static const struct {
        const char *unit, *longest;
        int cut;
    } cases[] = {{"words", "3", 1},    {"words", "4", 0},    {"chars", "13", 1},  {"chars", "14", 0},
                 {"subwords", "3", 1}, {"subwords", "4", 0}, {"symbols", "3", 0}, {"symbols", "2", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        attn_dataset *train = read_text(group_context, "a.tsv", "a\tone two  three.\nb\tx\n", NULL);
        attn_config *config = config_of("text", "classify");
        assert_int_equal(attn_config_set(config, "text.unit", cases[i].unit), ATTN_OK);
        assert_int_equal(attn_config_set(config, "text.longest", cases[i].longest), ATTN_OK);
        for (int pieces = 1; pieces <= 16; pieces += 15) {
            assert_int_equal(attn_config_set(config, "encoder.pieces", pieces == 1 ? "1" : "16"), ATTN_OK);
            attn_examination *found = examine(config, train, NULL);
            int64_t cut = attn_examination_cut(found), in_pieces = attn_examination_in_pieces(found);
            if (cut != (pieces == 1) * cases[i].cut || in_pieces != (pieces > 1) * cases[i].cut)
                fail_msg("%s, %s: %d are cut, %d in pieces", cases[i].unit, cases[i].longest, (int)cut,
                         (int)in_pieces);
            attn_examination_destroy(found);
        }
        attn_config_destroy(config);
        attn_dataset_destroy(train);
    }
}

/* ---- what the predictor counts is in test_examine_cli.sh; errors ---- */

static void test_errors(void **state) {
    (void)state;
    attn_dataset *train = read_text(group_context, "a.tsv", "a\tone\n", NULL);
    attn_config *text = config_of("text", "classify"), *vectors = config_of("vectors", "classify");
    attn_examination *found = NULL;
    attn_examine_options options;
    assert_int_equal(attn_examine(NULL, train, NULL, &found), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_examine(text, NULL, NULL, &found), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_examine(text, train, NULL, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_examine(vectors, train, NULL, &found), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(group_context),
                        "attn_examine: a.tsv is of input text, the configuration of vectors");
    attn_examine_options_init(&options);
    options.size = 3;
    assert_int_equal(attn_examine(text, train, &options, &found), ATTN_INVALID_ARGUMENT);
    assert_null(found);
    attn_config_destroy(vectors);
    attn_config_destroy(text);
    attn_dataset_destroy(train);
}

static void test_memory(void **state) {
    (void)state;
    static void (*const lines[])(int, char *, size_t) = {put_good, put_swapped, put_alike, put_single};
    for (size_t kind = 0; kind < sizeof lines / sizeof lines[0]; kind++) {
        attn_dataset *train = read_lines("a.tsv", 20, lines[kind]);
        attn_config *config = config_of("text", "classify");
        attn_examine_options options;
        attn_examine_options_init(&options);
        options.dev = options.test = train;
        attn_status status = ATTN_OUT_OF_MEMORY;
        for (int64_t at = 1; status != ATTN_OK; at++) {
            attn_examination *found = NULL;
            int64_t live = group_counter.live;
            group_counter.fail_at = at;
            status = attn_examine(config, train, &options, &found);
            group_counter.fail_at = 0;
            if (status != ATTN_OK) {
                assert_int_equal(status, ATTN_OUT_OF_MEMORY);
                assert_null(found);
            }
            attn_examination_destroy(found);
            assert_int_equal(group_counter.live, live);
            assert_true(at < 1000);
        }
        attn_config_destroy(config);
        attn_dataset_destroy(train);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold),     cmocka_unit_test(test_fold_room),
        cmocka_unit_test(test_findings), cmocka_unit_test(test_one_label_or_none),
        cmocka_unit_test(test_vectors),  cmocka_unit_test(test_counts),
        cmocka_unit_test(test_cut),      cmocka_unit_test(test_errors),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
