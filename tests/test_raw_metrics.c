/* test_raw_metrics.c: sentences, words and tags of raw text, by hand. (By the script of the shared task, on
 * thousands of made-up texts, in `make test-peers`.) */
#include <stdlib.h>
#include <string.h>

#include "inputs/text/raw_side.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/readers.h"

#define LINE(id, form, upos) id "\t" form "\t_\t" upos "\t_\t_\t_\t_\t_\t_\n"

static attn_dataset *read_conllu(const char *name, const char *text, const char *column) {
    attn_reader_options options = reader_options_unlabelled();
    options.column = column;
    options.format = ATTN_FORMAT_CONLLU;
    return read_text(group_context, name, text, &options);
}

enum { MOST = 4 };
typedef struct scores {
    at_f1 tokens, sentences, words, tags[MOST];
} scores;

static attn_status score(const attn_dataset *gold, const attn_dataset *system, scores *found) {
    at_raw_side sides[2] = {{.words = 0}, {.words = 0}};
    attn_status status = at_raw_side_read(gold, &gold->targets, &sides[0]);
    if (status == ATTN_OK) status = at_raw_side_read(system, &system->targets, &sides[1]);
    if (status == ATTN_OK)
        status = at_raw_compare(group_context, &sides[0], &sides[1], &gold->columns, &found->tokens,
                                &found->sentences, &found->words, found->tags);
    for (int i = 0; i < 2; i++) at_raw_side_free(group_context, &sides[i]);
    return status;
}

static scores score_texts(const char *gold, const char *system, const char *column) {
    attn_dataset *right = read_conllu("gold", gold, column), *found = read_conllu("system", system, column);
    scores result;
    assert_int_equal(score(right, found, &result), ATTN_OK);
    attn_dataset_destroy(right);
    attn_dataset_destroy(found);
    return result;
}

static void check_counts(const at_f1 *score, int right, int gold, int system) {
    assert_int_equal(score->right, right);
    assert_int_equal(score->gold, gold);
    assert_int_equal(score->system, system);
    assert_true(score->precision == (double)right / system);
    assert_true(score->recall == (double)right / gold);
    assert_true(score->f1 == 2.0 * right / (gold + system));
}

static void check_fails(const char *gold, const char *system, const char *error) {
    attn_dataset *right = read_conllu("gold", gold, NULL), *found = read_conllu("system", system, NULL);
    scores result;
    assert_int_equal(score(right, found, &result), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(group_context), error);
    attn_dataset_destroy(right);
    attn_dataset_destroy(found);
}

/* ---- spans ---- */

static void test_spans(void **state) {
    (void)state;
    /* ab|c.  d -- a|b|c.  d, the second sentence begins with the dot. */
    const char *gold = LINE("1", "ab", "A") LINE("2", "c", "B") LINE("3", ".", "C") "\n" LINE("1", "d", "D");
    const char *system = LINE("1", "a", "A") LINE("2", "b", "A") LINE("3", "c", "X") "\n" LINE("1", ".", "C")
        LINE("2", "d", "D");
    scores found = score_texts(gold, system, NULL);
    check_counts(&found.tokens, 3, 4, 5);
    check_counts(&found.sentences, 0, 2, 2);
    check_counts(&found.words, 3, 4, 5);
    check_counts(&found.tags[0], 2, 4, 5);
    assert_int_equal(found.tags[0].aligned, 3);
    assert_true(found.tags[0].accuracy == 2.0 / 3);
    found = score_texts(gold, gold, NULL);
    check_counts(&found.tokens, 4, 4, 4);
    check_counts(&found.sentences, 2, 2, 2);
    check_counts(&found.tags[0], 4, 4, 4);
}

static void test_white_space(void **state) {
    (void)state;
    /* Spaces inside forms, of any kind, on one side only. */
    scores found = score_texts(LINE("1", "10 000", "A") LINE("2", "x\xe2\x80\x8by", "B"),
                               LINE("1",
                                    "10\xc2\xa0"
                                    "00\xe3\x80\x80"
                                    "0",
                                    "A") LINE("2", "xy", "B"),
                               NULL);
    check_counts(&found.words, 2, 2, 2);
}

/* ---- multi-word tokens ---- */

static void test_multiword(void **state) {
    (void)state;
    /* The token is right, two of its three words are; case does not matter, the end sigma is no other. */
    const char *gold = LINE("1-3", "dimmelo", "_") LINE("1", "di", "A") LINE("2", "me", "B")
        LINE("3", "\xce\x91\xce\xa3", "C") LINE("4", "x", "D");
    const char *system = LINE("1-2", "dimmelo", "_") LINE("1", "DI", "A") LINE("2", "\xce\xb1\xcf\x82", "X")
        LINE("3", "x", "D");
    scores found = score_texts(gold, system, NULL);
    check_counts(&found.tokens, 2, 2, 2);
    check_counts(&found.words, 3, 4, 3);
    check_counts(&found.tags[0], 2, 4, 3);
    /* Not a multi-word token at all: words are aligned by their forms, since one side has one. */
    found = score_texts(LINE("1-2", "ab", "_") LINE("1", "a", "A") LINE("2", "b", "B"),
                        LINE("1", "a", "A") LINE("2", "b", "B"), NULL);
    check_counts(&found.tokens, 0, 1, 2);
    check_counts(&found.words, 2, 2, 2);
}

/* ---- tags ---- */

#define TAGGED(lemma, feats) "1\ta\t" lemma "\tX\t_\t" feats "\t_\t_\t_\t_\n"

static void test_tags(void **state) {
    (void)state;
    const struct {
        const char *gold, *system, *column;
        int right;
    } cases[] = {
        {TAGGED("_", "Case=Nom|Number=Sing"), TAGGED("_", "Number=Sing|Case=Nom|Odd=1"), "FEATS", 1},
        {TAGGED("_", "Case=Nom"), TAGGED("_", "Case=Nom|Number=Sing"), "FEATS", 0},
        {TAGGED("_", "Case=Nom|Case=Nom"), TAGGED("_", "Case=Nom"), "FEATS", 0},
        {TAGGED("_", "Odd=1"), TAGGED("_", "_"), "FEATS", 1},
        {TAGGED("_", "Odd=1"), TAGGED("_", "_"), "FEATS:Odd", 0},
        {TAGGED("_", "_"), TAGGED("b", "_"), "LEMMA", 1}, /* no lemma to compare with */
        {TAGGED("a", "_"), TAGGED("_", "_"), "LEMMA", 0},
        {TAGGED("a", "_"), TAGGED("A", "_"), "LEMMA", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scores found = score_texts(cases[i].gold, cases[i].system, cases[i].column);
        check_counts(&found.tags[0], cases[i].right, 1, 1);
    }
    scores found = score_texts(TAGGED("a", "Case=Nom"), TAGGED("b", "Case=Nom"), "FEATS,UPOS,LEMMA");
    for (int i = 0; i < 4; i++) check_counts(&found.tags[i], i < 2, 1, 1); /* the last: all at once */
}

/* ---- errors ---- */

static void test_other_text(void **state) {
    (void)state;
    check_fails(LINE("1", "a", "A") "\n" LINE("1",
                                              "b\xc3\xa9"
                                              "cdefghijklm",
                                              "A"),
                LINE("1",
                     "ab\xc3\xa8"
                     "c",
                     "A"),
                "gold, sentence 2: the texts differ, white space apart: here is \"\xc3\xa9"
                "cdefghijk\", in "
                "system \"\xc3\xa8"
                "c\"");
    check_fails(LINE("1", "a", "A"), LINE("1", "a", "A") LINE("2", "b", "A"),
                "gold, sentence 1: the texts differ, white space apart: here is the end, in system \"b\"");
    check_fails(
        LINE("1", "a", "A") LINE("2", "\xe3\x80\x80", "A"), LINE("1", "a", "A"),
        "gold:2: word 2 has nothing but white space, so it has no position in the text: leave it out");
}

static void test_no_tokens(void **state) {
    (void)state;
    attn_reader_options options = reader_options_unlabelled();
    attn_dataset *lines = read_text(group_context, "a.txt", "a b\n", &options);
    scores result;
    assert_int_equal(score(lines, lines, &result), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(group_context), "a.txt: has no tokens: give CoNLL-U");
    attn_dataset_destroy(lines);
}

static void test_no_memory(void **state) {
    (void)state;
    const char *text = LINE("1-2", "ab", "_") LINE("1", "a", "A") LINE("2", "b", "B") LINE("3", "c", "B");
    const char *other = LINE("1-2", "ab", "_") LINE("1", "b", "A") LINE("2", "a", "B") LINE("3", "c", "B");
    attn_dataset *gold = read_conllu("gold", text, NULL), *system = read_conllu("system", other, NULL);
    scores result;
    int failures = 0;
    for (int n = 1;; n++) {
        group_counter.fail_at = n;
        attn_status status = score(gold, system, &result);
        group_counter.fail_at = 0;
        if (status == ATTN_OK) break;
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        failures++;
    }
    assert_true(failures > 10);
    check_counts(&result.words, 2, 3, 3);
    attn_dataset_destroy(gold);
    attn_dataset_destroy(system);
}

/* One token with more words than can be aligned: an error, not a table of gigabytes. */
static void test_endless_region(void **state) {
    (void)state;
    enum { WORDS = 70000 };
    at_raw_word *spans = malloc(WORDS * sizeof *spans);
    at_strings forms[2] = {{0}, {0}}, columns = {0}, none = {0};
    int64_t first[] = {0, WORDS};
    char letter[] = "a";
    assert_non_null(spans);
    for (int64_t w = 0; w < WORDS; w++) {
        spans[w] = (at_raw_word){0, 1, 1};
        for (int i = 0; i < 2; i++)
            assert_int_equal(at_strings_add(group_context, &forms[i], i ? "b" : "a", 1), ATTN_OK);
    }
    at_raw_side sides[2];
    for (int i = 0; i < 2; i++)
        sides[i] = (at_raw_side){.name = i ? "system" : "gold",
                                 .text = {letter, 1, 1},
                                 .sentences = 1,
                                 .first = first,
                                 .words = WORDS,
                                 .spans = spans,
                                 .forms = &forms[i],
                                 .tags = &none};
    scores result;
    assert_int_equal(at_raw_compare(group_context, &sides[0], &sides[1], &columns, &result.tokens,
                                    &result.sentences, &result.words, result.tags),
                     ATTN_OVERFLOW);
    assert_string_equal(attn_context_error(group_context),
                        "gold: 70000 words, and system: 70000, in one region of overlapping multi-word "
                        "tokens: too many to be aligned");
    /* The same words need no table. */
    sides[1].forms = &forms[0];
    assert_int_equal(at_raw_compare(group_context, &sides[0], &sides[1], &columns, &result.tokens,
                                    &result.sentences, &result.words, result.tags),
                     ATTN_OK);
    check_counts(&result.words, WORDS, WORDS, WORDS);
    check_counts(&result.tokens, 1, 1, 1);
    for (int i = 0; i < 2; i++) at_strings_free(group_context, &forms[i]);
    free(spans);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans),      cmocka_unit_test(test_white_space),
        cmocka_unit_test(test_multiword),  cmocka_unit_test(test_tags),
        cmocka_unit_test(test_other_text), cmocka_unit_test(test_no_tokens),
        cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_endless_region),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
