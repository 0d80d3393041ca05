/* test_text_metrics.c: edit distance against the whole table, BLEU and chrF against values worked out by
 * hand. (By sacrebleu they are judged in tests/peers.) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "heads/metrics/texts.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

static void near(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-12 * (1 + fabs(wanted)))) fail_msg("%.17g is not %.17g", got, wanted);
}

/* ---- edit distance ---- */

static int64_t distance_of(const int32_t *a, int64_t a_count, const int32_t *b, int64_t b_count) {
    int64_t distance = -1;
    assert_int_equal(attn_edit_distance(group_context, a, a_count, b, b_count, &distance), ATTN_OK);
    return distance;
}

static int64_t distance_of_words(const char *a, const char *b) {
    int32_t symbols[2][64];
    int64_t counts[2] = {(int64_t)strlen(a), (int64_t)strlen(b)};
    for (int64_t i = 0; i < counts[0]; i++) symbols[0][i] = a[i];
    for (int64_t i = 0; i < counts[1]; i++) symbols[1][i] = b[i];
    return distance_of(symbols[0], counts[0], symbols[1], counts[1]);
}

static void test_distance_by_hand(void **state) {
    (void)state;
    assert_int_equal(distance_of_words("kitten", "sitting"), 3);
    assert_int_equal(distance_of_words("sitting", "kitten"), 3);
    assert_int_equal(distance_of_words("flaw", "lawn"), 2);
    assert_int_equal(distance_of_words("", ""), 0);
    assert_int_equal(distance_of_words("", "abc"), 3);
    assert_int_equal(distance_of_words("abc", ""), 3);
    assert_int_equal(distance_of_words("abc", "abc"), 0);
    assert_int_equal(distance_of_words("abcabc", "abc"), 3);
    assert_int_equal(distance_of_words("ab", "ba"), 2);
    const int32_t extremes[] = {INT32_MIN, INT32_MAX, -1};
    assert_int_equal(distance_of(extremes, 3, extremes + 1, 2), 1);
    assert_int_equal(distance_of(NULL, 0, NULL, 0), 0);
    assert_int_equal(distance_of(NULL, 0, extremes, 3), 3);
}

enum { LONGEST = 40 };

static int64_t distance_by_table(const int32_t *a, int64_t a_count, const int32_t *b, int64_t b_count) {
    int64_t table[LONGEST + 1][LONGEST + 1];
    for (int64_t i = 0; i <= a_count; i++) {
        for (int64_t j = 0; j <= b_count; j++) {
            if (!i || !j) {
                table[i][j] = i + j;
                continue;
            }
            int64_t best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (table[i - 1][j] + 1 < best) best = table[i - 1][j] + 1;
            if (table[i][j - 1] + 1 < best) best = table[i][j - 1] + 1;
            table[i][j] = best;
        }
    }
    return table[a_count][b_count];
}

static void test_distance_random(void **state) {
    (void)state;
    test_random random = {5};
    for (int round = 0; round < 3000; round++) {
        int32_t symbols[2][LONGEST];
        int64_t counts[2];
        int64_t kinds = random_between(&random, 1, 6), similar = random_chance(&random, 50);
        for (int side = 0; side < 2; side++) {
            counts[side] = random_between(&random, 0, LONGEST);
            for (int64_t i = 0; i < counts[side]; i++) {
                symbols[side][i] = side && similar && i < counts[0] && random_chance(&random, 80)
                                       ? symbols[0][i]
                                       : (int32_t)random_between(&random, 0, kinds);
            }
        }
        assert_int_equal(distance_of(symbols[0], counts[0], symbols[1], counts[1]),
                         distance_by_table(symbols[0], counts[0], symbols[1], counts[1]));
    }
}

/* ---- BLEU ---- */

static attn_bleu bleu_of(const char *answer, const char *right, int lowercase) {
    attn_bleu bleu = {.size = sizeof bleu};
    assert_int_equal(attn_metric_bleu(group_context, &answer, &right, 1, lowercase, &bleu), ATTN_OK);
    return bleu;
}

/* Seven of eight words, 5 of 7 pairs, 3 of 6 triples, 1 of 5 fours; nine words are right. */
static void test_bleu_by_hand(void **state) {
    (void)state;
    attn_bleu bleu = bleu_of("the cat sat on a big red mat", "the cat sat on the very big red mat", 0);
    near(bleu.precisions[0], 100 * 7 / 8.0);
    near(bleu.precisions[1], 100 * 5 / 7.0);
    near(bleu.precisions[2], 100 * 3 / 6.0);
    near(bleu.precisions[3], 100 * 1 / 5.0);
    near(bleu.brevity_penalty, exp(1 - 9 / 8.0));
    near(bleu.score, 100 * exp(1 - 9 / 8.0) * pow(7 / 8.0 * 5 / 7.0 * 3 / 6.0 * 1 / 5.0, 0.25));
    assert_int_equal(bleu.answer_tokens, 8);
    assert_int_equal(bleu.right_tokens, 9);

    /* A word counts as often as the right text has it; an answer that is longer is not punished. */
    bleu = bleu_of("the the the the the the the", "the cat is on the mat", 0);
    near(bleu.precisions[0], 100 * 2 / 7.0);
    near(bleu.precisions[1], 100 / 2.0 / 6); /* none matches: 1/2, 1/4, 1/8 */
    near(bleu.precisions[2], 100 / 4.0 / 5);
    near(bleu.precisions[3], 100 / 8.0 / 4);
    near(bleu.brevity_penalty, 1);
    near(bleu.score, 100 * pow(2 / 7.0 / 12 / 20 / 32, 0.25));

    /* Of a corpus the counts are summed, and there are no n-grams across texts. */
    const char *answers[] = {"a b", "c d e f g", ""}, *right[] = {"a b", "c d e f h", "z z"};
    assert_int_equal(attn_metric_bleu(group_context, answers, right, 3, 0, &bleu), ATTN_OK);
    near(bleu.precisions[0], 100 * 6 / 7.0);
    near(bleu.precisions[1], 100 * 4 / 5.0);
    near(bleu.precisions[2], 100 * 2 / 3.0);
    near(bleu.precisions[3], 100 * 1 / 2.0);
    near(bleu.score, 100 * exp(1 - 9 / 7.0) * pow(6 / 7.0 * 4 / 5.0 * 2 / 3.0 * 1 / 2.0, 0.25));
}

static void test_bleu_edges(void **state) {
    (void)state;
    attn_bleu bleu = bleu_of("a b c d", "a b c d", 0);
    near(bleu.score, 100);
    bleu = bleu_of("a b c d", "e f g h", 0); /* nothing matches: nothing is smoothed either */
    assert_true(bleu.score == 0 && bleu.precisions[0] == 0 && bleu.precisions[3] == 0);
    near(bleu.brevity_penalty, 1);
    bleu = bleu_of("cat", "cat", 0); /* no pairs of words */
    assert_true(bleu.score == 0 && bleu.precisions[0] == 100 && bleu.precisions[1] == 0);
    bleu = bleu_of("", "cat", 0);
    assert_true(bleu.score == 0 && bleu.brevity_penalty == 0);
    assert_int_equal(bleu.right_tokens, 1);
    bleu = bleu_of("cat", "", 0);
    assert_true(bleu.score == 0 && bleu.brevity_penalty == 1 && bleu.precisions[0] == 0);
    bleu = bleu_of("", " \xE3\x80\x80", 0);
    assert_true(bleu.score == 0 && bleu.brevity_penalty == 1 && bleu.right_tokens == 0);
    bleu = (attn_bleu){.size = sizeof bleu, .score = 5};
    assert_int_equal(attn_metric_bleu(group_context, NULL, NULL, 0, 0, &bleu), ATTN_OK);
    assert_true(bleu.score == 0 && bleu.answer_tokens == 0);
}

/* Words of the tokenizer, with spaces between: as an answer they are the same words again (a list of them has
 * nothing left for the rules but what these lists are chosen not to have). */
static void test_tokenizer(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"Hello, world!", "Hello , world !"},
        {"It's 3.14, 1,000 or 5.", "It's 3.14 , 1,000 or 5 ."},
        {"a.b a.5 x,y", "a . b a . 5 x , y"},
        {"5-6 x-6 5-x -7", "5 - 6 x-6 5 - x -7"},
        {"(a) [b] {c} <d> e/f", "( a ) [ b ] { c } < d > e / f"},
        {"$5 #6 50% a_b c@d x^2 ~1", "$ 5 # 6 50 % a _ b c @ d x ^ 2 ~ 1"},
        {"&quot;a&quot; &amp; &lt;b&gt;", "\" a \" & < b >"},
        {"&amp;lt; &amp;quot;", "< & quot ;"},
        {"<skipped>a <skipped> b", "a b"},
        {"well-\nknown\nthing -\n", "wellknown thing -"},
        {"a\xC2\xA0"
         "b\xE3\x80\x80"
         "c\xE2\x80\x83"
         "d\x1F"
         "e",
         "a b c d e"},
        {"\xE2\x80\x9Equotes\xE2\x80\x9C zero\xE2\x80\x8Bwidth stra\xC3\x9F"
         "e.",
         "\xE2\x80\x9Equotes\xE2\x80\x9C zero\xE2\x80\x8Bwidth stra\xC3\x9F"
         "e ."},
    };
    for (int64_t i = 0; i < COUNT(cases); i++) {
        attn_bleu bleu = bleu_of(cases[i][0], cases[i][1], 0);
        int64_t words = 1;
        for (const char *c = cases[i][1]; *c; c++) words += *c == ' ';
        if (bleu.answer_tokens != words || bleu.right_tokens != words || bleu.precisions[0] != 100) {
            fail_msg("%s: %d of %d words", cases[i][0], (int)bleu.answer_tokens, (int)words);
        }
    }
}

/* ---- chrF ---- */

static double chrf_of(const char *answer, const char *right, int lowercase) {
    double score = -1;
    assert_int_equal(attn_metric_chrf(group_context, &answer, &right, 1, lowercase, &score), ATTN_OK);
    return score;
}

static double f2(double precision, double recall) {
    return 100 * 5 * precision * recall / (4 * precision + recall);
}

static void test_chrf_by_hand(void **state) {
    (void)state;
    /* abcd in abxd cd: 4 of 4 characters, of 6; ab, cd: 2 of 3 pairs, of 5; no triple (2, of 4), no four (1,
     * of 3). Orders 5 and 6 have no n-grams in the answer. */
    near(chrf_of("ab cd", "abx dcd", 0), f2((1 + 2 / 3.0) / 4, (4 / 6.0 + 2 / 5.0) / 4));
    near(chrf_of("abcdefg", "abc\tdefg", 0), 100);
    near(chrf_of("ab", "ab", 0), 100);
    near(chrf_of("aaa", "a", 0),
         f2(1 / 3.0, 1)); /* pairs of the answer, where the right text has none, do not count */
    near(chrf_of("a", "aaa", 0), f2(1, 1 / 3.0));
    near(chrf_of("\xC3\xA4\xC3\xB6", "\xC3\xA4\xC3\xBC", 0), f2(0.25, 0.25)); /* characters, not bytes */
    assert_true(chrf_of("", "", 0) == 0 && chrf_of("a", "", 0) == 0 && chrf_of("", "a", 0) == 0);
    assert_true(chrf_of("abc", "xyz", 0) == 0 && chrf_of(" ", "\xC2\xA0", 0) == 0);

    const char *answers[] = {"ab", "c"}, *right[] = {"ab", "d"};
    double score;
    assert_int_equal(attn_metric_chrf(group_context, answers, right, 2, 0, &score), ATTN_OK);
    near(score, f2((2 / 3.0 + 1) / 2, (2 / 3.0 + 1) / 2));
    assert_int_equal(attn_metric_chrf(group_context, NULL, NULL, 0, 0, &score), ATTN_OK);
    assert_true(score == 0);
}

/* ---- lower case, bytes that are no text ---- */

static void test_lower_case(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"ABC xyz", "abc xyz"},
        {"\xC3\x84\xC3\x96\xC3\x9C \xD0\x96", "\xC3\xA4\xC3\xB6\xC3\xBC \xD0\xB6"}, /* umlauts, Zhe */
        {"\xC4\xB0", "i\xCC\x87"},                                                  /* I with a dot */
        {"A\xCE\xA3 \xCE\xA3 \xCE\xA3"
         "A A\xCE\xA3'B",
         "a\xCF\x82 \xCF\x83 \xCF\x83"
         "a a\xCF\x83'b"}, /* sigmas */
        {"A'\xCE\xA3. B", "a'\xCF\x82. b"},
        {"\xC3\x9F \xE6\x9D\xB1", "\xC3\x9F \xE6\x9D\xB1"}, /* no other case */
    };
    at_code_points upper = {.count = 0}, lower = {.count = 0};
    for (int64_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(at_code_points_read(group_context, cases[i][0], 1, &upper), ATTN_OK);
        assert_int_equal(at_code_points_read(group_context, cases[i][1], 0, &lower), ATTN_OK);
        assert_int_equal(upper.count, lower.count);
        assert_memory_equal(upper.codes, lower.codes, (size_t)lower.count * sizeof *lower.codes);
    }
    at_code_points_free(group_context, &upper);
    at_code_points_free(group_context, &lower);
    near(bleu_of("THE Cat sat ON &LT;", "the cat SAT on <", 1).score, 100);
    assert_true(bleu_of("THE Cat sat ON", "the cat SAT on", 0).score == 0);
    near(chrf_of("ABC", "abc", 1), 100);
    assert_true(chrf_of("ABC", "abc", 0) == 0);
}

static void test_malformed(void **state) {
    (void)state;
    static const char *const texts[] = {
        "\xFF\xFE",         "a\xC3",         "\xE2\x82 b", "\xF0\x9F\x98",
        "\x80\x80\x80\x80", "\xED\xA0\x80x", "\xC0\xAF.1", "\xF5\x80\x80\x80,"};
    for (int64_t i = 0; i < COUNT(texts); i++) {
        for (int lowercase = 0; lowercase < 2; lowercase++) {
            near(bleu_of(texts[i], texts[i], lowercase).precisions[0], 100);
            near(chrf_of(texts[i], texts[i], lowercase), 100);
            assert_true(chrf_of(texts[i], "?", lowercase) == 0);
        }
    }
    near(chrf_of("\xFF\xFE", "\xFF\xFD", 0), f2(0.25, 0.25)); /* a character a byte */
}

/* ---- the tree of n-grams ---- */

/* Trees of different sizes after another in the same table, against counting pair by pair. */
static void test_tree(void **state) {
    (void)state;
    enum { ORDER = 4 };
    at_tree tree = {.nodes = 0};
    test_random random = {9};
    for (int round = 0; round < 500; round++) {
        int32_t a[LONGEST], b[LONGEST];
        int64_t a_count = random_between(&random, 0, LONGEST), b_count = random_between(&random, 0, LONGEST);
        int32_t kinds = (int32_t)random_between(&random, 0, 4);
        for (int64_t i = 0; i < a_count; i++) a[i] = (int32_t)random_between(&random, 0, kinds);
        for (int64_t i = 0; i < b_count; i++) b[i] = (int32_t)random_between(&random, -1, kinds);
        int64_t matches[ORDER] = {0};
        assert_int_equal(at_tree_start(group_context, &tree, 2, 2 + ORDER * a_count), ATTN_OK);
        at_tree_count(&tree, 1, a, a_count, ORDER);
        at_tree_match(&tree, 1, b, b_count, ORDER, matches);
        for (int n = 1; n <= ORDER; n++) {
            int used[LONGEST] = {0};
            int64_t wanted = 0;
            for (int64_t i = 0; i < at_ngrams(b_count, n); i++) {
                int64_t j = 0;
                while (j < at_ngrams(a_count, n) &&
                       (used[j] || memcmp(a + j, b + i, (size_t)n * sizeof *a) != 0))
                    j++;
                if (j == at_ngrams(a_count, n)) continue;
                used[j] = 1;
                wanted++;
            }
            assert_int_equal(matches[n - 1], wanted);
        }
    }
    assert_int_equal(at_tree_start(group_context, &tree, 1, (int64_t)INT32_MAX + 1), ATTN_OVERFLOW);
    at_tree_free(group_context, &tree);
}

/* ---- failures ---- */

static void test_arguments(void **state) {
    (void)state;
    const char *texts[] = {"a", NULL};
    int32_t symbols[] = {1};
    int64_t distance = -7;
    double score = -7;
    attn_bleu bleu = {.size = sizeof bleu, .score = -7};
    assert_int_equal(attn_metric_bleu(group_context, texts, texts, 2, 0, &bleu), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(group_context), "answers[1]"));
    assert_int_equal(attn_metric_bleu(group_context, texts, NULL, 1, 0, &bleu), ATTN_INVALID_ARGUMENT);
    assert_non_null(strstr(attn_context_error(group_context), "right"));
    assert_int_equal(attn_metric_bleu(group_context, texts, texts, -1, 0, &bleu), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_bleu(group_context, texts, texts, 1, 0, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_chrf(group_context, texts, texts, 2, 0, &score), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_chrf(group_context, NULL, texts, 1, 0, &score), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_metric_chrf(group_context, texts, texts, 1, 0, NULL), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_edit_distance(group_context, symbols, 1, NULL, 1, &distance),
                     ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_edit_distance(group_context, symbols, -1, symbols, 1, &distance),
                     ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_edit_distance(group_context, symbols, 1, symbols, 1, NULL), ATTN_INVALID_ARGUMENT);
    assert_true(distance == -7 && score == -7 && bleu.score == -7);
}

static void test_no_memory(void **state) {
    (void)state;
    /* The second pair asks for more of everything. */
    char longer[400], shorter[400];
    memset(longer, 0, sizeof longer);
    for (int i = 0; i < 99; i++) snprintf(longer + 4 * i, 5, "%d,%c ", i % 10, 'A' + i % 26);
    snprintf(shorter, sizeof shorter, "%.300s", longer);
    const char *answers[] = {"A b.", longer}, *right[] = {"a c!", shorter};
    const int32_t a[] = {1, 2, 3}, b[] = {4, 5};
    int64_t live = group_counter.live;
    for (int which = 0; which < 3; which++) {
        attn_status status = ATTN_OUT_OF_MEMORY;
        int64_t refused = 0;
        for (int64_t fail_at = 1; status != ATTN_OK; fail_at++) {
            attn_bleu bleu = {.size = sizeof bleu, .score = -7};
            double score = -7;
            int64_t distance = -7;
            group_counter = (counting_allocator){.live = live, .fail_at = fail_at};
            status = which == 0   ? attn_metric_bleu(group_context, answers, right, 2, 1, &bleu)
                     : which == 1 ? attn_metric_chrf(group_context, answers, right, 2, 1, &score)
                                  : attn_edit_distance(group_context, a, 3, b, 2, &distance);
            assert_int_equal(group_counter.live, live);
            assert_int_equal(status, group_counter.failures ? ATTN_OUT_OF_MEMORY : ATTN_OK);
            if (status != ATTN_OK) assert_true(bleu.score == -7 && score == -7 && distance == -7);
            refused += status != ATTN_OK;
        }
        assert_true(refused >= (which == 2 ? 1 : 5));
    }
    group_counter.fail_at = 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance_by_hand),
        cmocka_unit_test(test_distance_random),
        cmocka_unit_test(test_bleu_by_hand),
        cmocka_unit_test(test_bleu_edges),
        cmocka_unit_test(test_tokenizer),
        cmocka_unit_test(test_chrf_by_hand),
        cmocka_unit_test(test_lower_case),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
