/* test_raw_text.c: sentences of CoNLL-U as raw text, and where their tokens are in it. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "inputs/text/raw_text.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/readers.h"

#define LINE(id, form, misc) id "\t" form "\t_\tX\t_\t_\t_\t_\t_\t" misc "\n"
#define NO "SpaceAfter=No"

/* A sentence in one string: [token] for each token in its text, <token:2> for a range of two words; then P
 * where it begins a paragraph, S where a space follows, M where its `# text` was not used. */
static void describe(const at_surface *surface, char *out, size_t room) {
    int64_t at = 0, word = 0;
    size_t used = 0;
    out[0] = 0;
    for (int64_t t = 0; t < surface->count; t++) {
        const at_surface_token *token = &surface->tokens[t];
        assert_int_equal(token->first_word, word);
        assert_true(token->begin >= at && token->end >= token->begin && token->end <= surface->text.count);
        assert_true(token->multiword || token->words == 1);
        used += (size_t)snprintf(out + used, room - used, "%.*s%s%.*s", (int)(token->begin - at),
                                 surface->text.data + at, token->multiword ? "<" : "[",
                                 (int)(token->end - token->begin), surface->text.data + token->begin);
        used += (size_t)(token->multiword ? snprintf(out + used, room - used, ":%d>", (int)token->words)
                                          : snprintf(out + used, room - used, "]"));
        at = token->end;
        word += token->words;
    }
    assert_int_equal(at, surface->text.count); /* nothing follows the last token */
    assert_int_equal(surface->text.data[at], 0);
    snprintf(out + used, room - used, "%s%s%s", surface->paragraph ? " P" : "", surface->space ? " S" : "",
             surface->mismatch ? " M" : "");
}

/* All sentences, each with a line end. */
static void check_sentences(const char *conllu, at_spacing spacing, const char *expected) {
    attn_reader_options options = reader_options_unlabelled();
    attn_dataset *dataset = read_text(group_context, "a.conllu", conllu, &options);
    at_surface surface = {.count = 0};
    char all[4096] = "", one[1024];
    spacing = at_spacing_of(dataset, spacing);
    for (int64_t e = 0; e < attn_dataset_examples(dataset); e++) {
        assert_int_equal(at_surface_read(dataset, e, spacing, &surface), ATTN_OK);
        describe(&surface, one, sizeof one);
        assert_true(strlen(all) + strlen(one) + 2 < sizeof all);
        strcat(all, one);
        strcat(all, "\n");
    }
    assert_string_equal(all, expected);
    at_surface_free(group_context, &surface);
    attn_dataset_destroy(dataset);
}

/* The paragraphs, each with a line end. */
static void check_raw(const char *name, const char *text, at_spacing spacing, const char *expected,
                      int64_t mismatches) {
    attn_reader_options options = reader_options_unlabelled();
    attn_dataset *dataset = read_text(group_context, name, text, &options), *raw;
    char all[4096] = "";
    int64_t count;
    assert_int_equal(at_raw_text(dataset, spacing, &raw, &count), ATTN_OK);
    assert_int_equal(attn_dataset_format(raw), ATTN_FORMAT_LINES);
    assert_string_equal(attn_dataset_name(raw), name);
    for (int64_t e = 0; e < attn_dataset_examples(raw); e++) {
        strcat(all, attn_dataset_token(raw, e, 0));
        strcat(all, "\n");
    }
    assert_string_equal(all, expected);
    assert_int_equal(count, mismatches);
    attn_dataset_destroy(raw);
    attn_dataset_destroy(dataset);
}

/* ---- sentences ---- */

static void test_text(void **state) {
    (void)state;
    check_sentences("# sent_id = 1\n# text = We don't go.\n# text_en = other\n" LINE("1", "We", "_")
                        LINE("2-3", "don't", "_") LINE("2", "do", "_") LINE("3", "n't", "_")
                            LINE("3.1", "x", "_") LINE("4", "go", NO)
                                LINE("5", ".", NO) "\n"
                                                   "#text=Del  \n" LINE("1-2", "Del", "_")
                                                       LINE("1", "de", "_") LINE("2", "el", "_"),
                    AT_SPACING_AUTO, "[We] <don't:2> [go][.] P\n<Del:2> S\n");
    /* A range of one word; one at the beginning, the next right after it. */
    check_sentences("# text = ab c\n" LINE("1-1", "a", NO) LINE("1", "A", "_") LINE("2-3", "b", "_")
                        LINE("2", "x", "_") LINE("3", "y", "_") LINE("4", "c", "_"),
                    AT_SPACING_AUTO, "<a:1><b:2> [c] P S\n");
}

static void test_odd_spaces(void **state) {
    (void)state;
    /* Double and no-break spaces, a space inside a form, one that the text does not have there, one of no
     * width on one side only. */
    check_sentences("# text = a  b\xc2\xa0 c d e f\n" LINE("1", "a", "_") LINE("2", "b", "_")
                        LINE("3", "c d", "_") LINE("4", "e\xc2\xa0 f", "_"),
                    AT_SPACING_AUTO, "[a]  [b]\xc2\xa0 [c d] [e f] P S\n");
    check_sentences("# text = 10000 a\xe2\x80\x8b"
                    "b\n" LINE("1", "10 000", "_") LINE("2", "ab", "_"),
                    AT_SPACING_AUTO,
                    "[10000] [a\xe2\x80\x8b"
                    "b] P S\n");
    check_sentences("# text =  \xe3\x80\x80 a b \xe3\x80\x80\n" LINE("1", " a", "_") LINE("2", "b ", "_"),
                    AT_SPACING_AUTO, "[a] [b] P S\n");
    /* A token of nothing but white space has a place and no width. */
    check_sentences("# text = a\xe3\x80\x80"
                    "b\n" LINE("1", "a", NO) LINE("2", "\xe3\x80\x80", NO) LINE("3", "b", NO),
                    AT_SPACING_AUTO, "[a][]\xe3\x80\x80[b] P\n");
    check_sentences(LINE("1", "a", "_") LINE("2", "\xe3\x80\x80", "_") LINE("3", "b", "_"), AT_SPACING_ONE,
                    "[a][] [b] P S\n");
}

static void test_composed(void **state) {
    (void)state;
    /* e with an accent of its own, in the text, in words and in ranges. */
    check_sentences("# text = e\xcc\x81"
                    "te\xcc\x81 aux\n" LINE("1", "\xc3\xa9te\xcc\x81", "_") LINE("2-3", "aux", "_")
                        LINE("2", "a\xcc\x80", "_") LINE("3", "les", "_"),
                    AT_SPACING_AUTO, "[\xc3\xa9t\xc3\xa9] <aux:2> P S\n");
    check_sentences(LINE("1-2", "e\xcc\x81", "_") LINE("1", "a", "_") LINE("2", "b", "_"), AT_SPACING_AUTO,
                    "<\xc3\xa9:2> P S\n");
    /* An accent that is a token: the composed text has no place for it. */
    check_sentences("# text = e\xcc\x81\n" LINE("1", "e", NO) LINE("2", "\xcc\x81", "_"), AT_SPACING_AUTO,
                    "[e][\xcc\x81] P S M\n");
}

static void test_mismatch(void **state) {
    (void)state;
    check_sentences("# text = a b c\n" LINE("1", "a", NO) LINE("2", "c", "_"), AT_SPACING_AUTO,
                    "[a][c] P S M\n");
    check_sentences("# text = a b c\n" LINE("1", "a", NO) LINE("2", "b", "_"), AT_SPACING_AUTO,
                    "[a][b] P S M\n");
    check_sentences("# text = a\n" LINE("1", "a", NO) LINE("2", "b", NO), AT_SPACING_AUTO, "[a][b] P M\n");
    check_sentences("# text =\n" LINE("1", "a", "_"), AT_SPACING_AUTO, "[a] P S M\n");
    /* The flag is that of one sentence. */
    check_sentences("# text = x\n" LINE("1", "a", "_") "\n# text = a\n" LINE("1", "a", "_"), AT_SPACING_AUTO,
                    "[a] P S M\n[a] S\n");
}

static void test_forms(void **state) {
    (void)state;
    check_sentences(LINE("1", "We", "_") LINE("2-3", "don't", "X=Y|" NO) LINE("2", "do", "_")
                        LINE("3", "n't", "_") LINE("4", ".", "_"),
                    AT_SPACING_AUTO, "[We] <don't:2>[.] P S\n");
    /* A range glues its words, which says nothing of the spaces between tokens. */
    check_sentences(LINE("1-2", "\xe6\x88\x91\xe4\xbb\xac", "_") LINE("1", "\xe6\x88\x91", "_")
                        LINE("2", "\xe4\xbb\xac", "_") LINE("3", "\xe8\xb5\xb0", "_"),
                    AT_SPACING_AUTO, "<\xe6\x88\x91\xe4\xbb\xac:2>[\xe8\xb5\xb0] P\n");
    check_sentences(LINE("1", "\xe6\x88\x91", "_") LINE("1.1", "x", NO) LINE("2", "\xe8\xb5\xb0", "_"),
                    AT_SPACING_AUTO, "[\xe6\x88\x91][\xe8\xb5\xb0] P\n");
    const char *plain = LINE("1", "a", "_") LINE("2", "b", "SpaceAfter=Now") "\n" LINE("1", "c", "_");
    check_sentences(plain, AT_SPACING_AUTO, "[a] [b] P S\n[c] S\n");
    check_sentences(plain, AT_SPACING_MARKED, "[a] [b] P S\n[c] S\n");
    check_sentences(plain, AT_SPACING_NONE, "[a][b] P\n[c]\n");
    const char *marked = LINE("1", "a", "_") LINE("2", "b", NO) LINE("3", "c", NO);
    check_sentences(marked, AT_SPACING_AUTO, "[a] [b][c] P\n");
    check_sentences(marked, AT_SPACING_ONE, "[a] [b] [c] P S\n");
    /* What empty nodes and comments say of spaces, nobody asks. */
    check_sentences("# a comment\tb\t\t\t\t\t\t\t\t" NO "\n" LINE("1", "a", "_") LINE("1.1", "x", NO)
                        LINE("2", "b", "_"),
                    AT_SPACING_AUTO, "[a] [b] P S\n");
}

static void test_scripts(void **state) {
    (void)state;
    const struct {
        const char *words[2];
        at_spacing spacing;
    } cases[] = {
        {{"\xe6\x88\x91", "abc"}, AT_SPACING_ONE}, /* more Latin letters than Han */
        {{"\xe6\x88\x91\xe4\xbb\xac", "a12345..."}, AT_SPACING_NONE},
        {{"\xe3\x81\xb2", "\xe3\x83\xa4"}, AT_SPACING_NONE}, /* Hiragana, Katakana */
        {{"\xe0\xb8\x81", "\xe0\xb8\x82"}, AT_SPACING_NONE}, /* Thai */
        {{"\xe0\xba\x81", "\xe0\xba\x82"}, AT_SPACING_NONE}, /* Lao */
        {{"\xe1\x9e\x80", "\xe1\x9e\x81"}, AT_SPACING_NONE}, /* Khmer */
        {{"\xe1\x80\x80", "\xe1\x80\x81"}, AT_SPACING_NONE}, /* Burmese */
        {{"\xea\xb0\x80", "\xea\xb0\x81"}, AT_SPACING_ONE},  /* Korean */
        {{"1", "."}, AT_SPACING_ONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attn_dataset *dataset;
        const int64_t offsets[] = {0, 2};
        assert_int_equal(attn_dataset_from_texts(group_context, cases[i].words, offsets, 1, &dataset),
                         ATTN_OK);
        assert_int_equal(at_spacing_of(dataset, AT_SPACING_AUTO), cases[i].spacing);
        attn_dataset_destroy(dataset);
    }
}

/* ---- the whole text ---- */

static void test_paragraphs(void **state) {
    (void)state;
    check_raw(
        "a.conllu",
        "# newdoc id = d1\n# newpar id = p1\n# text = One  two.\n" LINE("1", "One", "_") LINE("2", "two", NO)
            LINE("3", ".", "_") "\n"
                                "# newparagraph\n# text = Three.\n" LINE(
                                    "1", "Three.", NO) "\n"
                                                       "# text = four\n" LINE(
                                                           "1", "four",
                                                           NO) "\n"
                                                               "# newpar\n# text = five\n" LINE(
                                                                   "1", "five",
                                                                   "_") "\n"
                                                                        "#newdoc\n" LINE("1", "six", "_")
                                                                            LINE("2", "seven",
                                                                                 "_") "\n"
                                                                                      "# text = wrong\n" LINE(
                                                                                          "1", "eight", "_"),
        AT_SPACING_AUTO, "One  two. Three. four\nfive\nsix seven eight\n", 1);
    check_raw("a.conllu",
              LINE("1", "\xe6\x88\x91", "_") LINE("2", "\xe4\xbb\xac", "_") "\n" LINE("1", "b", "_"),
              AT_SPACING_AUTO,
              "\xe6\x88\x91\xe4\xbb\xac"
              "b\n",
              0);
    check_raw("a.tsv", "a\tX\nb\tY\n\nc\tX\n", AT_SPACING_AUTO, "a b c\n", 0); /* no CoNLL-U */
}

static void test_no_tokens(void **state) {
    (void)state;
    attn_reader_options options = reader_options_unlabelled();
    attn_dataset *dataset = read_text(group_context, "a.txt", "a b\n", &options), *raw = NULL;
    assert_int_equal(at_raw_text(dataset, AT_SPACING_AUTO, &raw, NULL), ATTN_INVALID_ARGUMENT);
    assert_string_equal(attn_context_error(group_context),
                        "a.txt: raw text is made from tokens (CoNLL-U), which this file does not have");
    assert_null(raw);
    attn_dataset_destroy(dataset);
}

static void test_no_memory(void **state) {
    (void)state;
    attn_dataset *dataset = read_text(group_context, "a.conllu",
                                      "# text = e\xcc\x81 b\n" LINE("1", "e\xcc\x81", "_")
                                          LINE("2", "b", NO) "\n"
                                                             "# newpar\n# text = x\n" LINE("1", "c", "_"),
                                      NULL);
    int failures = 0;
    for (int n = 1;; n++) {
        attn_dataset *raw = NULL;
        group_counter.fail_at = n;
        attn_status status = at_raw_text(dataset, AT_SPACING_AUTO, &raw, NULL);
        group_counter.fail_at = 0;
        if (status == ATTN_OK) {
            attn_dataset_destroy(raw);
            break;
        }
        assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        assert_null(raw);
        failures++;
    }
    assert_true(failures > 5);
    attn_dataset_destroy(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),       cmocka_unit_test(test_odd_spaces),
        cmocka_unit_test(test_composed),   cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_forms),      cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_paragraphs), cmocka_unit_test(test_no_tokens),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
