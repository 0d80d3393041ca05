/* test_subwords.c: byte-pair encoding against a plain version of it that counts afresh for every merge. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/symbols/subwords.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/examples.h"
#include "support/memory.h"
#include "support/random.h"

#define MARK "\xE2\x96\x81"

static void add_string(attn_context *context, at_vocabulary *words, const char *word, int64_t times) {
    assert_int_equal(at_vocabulary_add(context, words, word, strlen(word), times, NULL), ATTN_OK);
}

/* A word that follows a space. */
static void add_word(attn_context *context, at_vocabulary *words, const char *word, int64_t times) {
    char spaced[128];
    snprintf(spaced, sizeof spaced, " %s", word);
    add_string(context, words, spaced, times);
}

/* The symbols of a word with '|' between them. */
static void check_split(const at_subwords *subwords, const char *word, const char *expected) {
    attn_context *context = test_best_context(1);
    at_strings symbols = {.count = 0};
    char joined[512] = "";
    char spaced[256] = "";
    if (*word) snprintf(spaced, sizeof spaced, " %s", word);
    assert_int_equal(at_subwords_split(context, subwords, spaced, strlen(spaced), &symbols), ATTN_OK);
    for (int64_t i = 0; i < symbols.count; i++) {
        if (i) strcat(joined, "|");
        strcat(joined, at_string(&symbols, i));
    }
    assert_string_equal(joined, expected);
    at_strings_free(context, &symbols);
}

static void test_small(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_vocabulary words = {.slot_count = 0};
    at_subwords subwords = {.merges = {.count = 0}};
    add_word(context, &words, "low", 5);
    add_word(context, &words, "lower", 2);
    add_word(context, &words, "newest", 6);
    add_word(context, &words, "widest", 3);
    /* 11 symbols to begin with: mark d e i l n o r s t w. Pairs of 9 and then of 7, by bytes. */
    assert_int_equal(at_subwords_learn(context, &words, 11 + 5, &subwords), ATTN_OK);
    static const char *const merges[] = {"e s", "es t", "l o", "lo w", MARK " low"};
    assert_int_equal(subwords.merges.count, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(at_string(&subwords.merges, i), merges[i]);
        assert_int_equal(at_vocabulary_find(&subwords.rank, merges[i], strlen(merges[i])), i);
    }
    check_split(&subwords, "lowest", MARK "low|est");
    check_split(&subwords, "slow", MARK "|s|low");
    check_split(&subwords, "l\xC3\xB6west", MARK "|l|\xC3\xB6|w|est"); /* a character that was not seen */
    check_split(&subwords, "a est", MARK "|a|" MARK "|est");           /* a space inside a word is the mark */
    check_split(&subwords, "", "");
    at_subwords_free(context, &subwords);

    /* As many as can be: a pair must occur twice. 0 symbols: no merge at all. */
    assert_int_equal(at_subwords_learn(context, &words, 1000, &subwords), ATTN_OK);
    check_split(&subwords, "newest", MARK "newest");
    check_split(&subwords, "lower", MARK "lower");
    at_subwords_free(context, &subwords);
    assert_int_equal(at_subwords_learn(context, &words, 0, &subwords), ATTN_OK);
    assert_int_equal(subwords.merges.count, 0);
    check_split(&subwords, "low", MARK "|l|o|w");
    at_vocabulary_free(context, &words);
    assert_int_equal(at_subwords_learn(context, &words, 100, &subwords), ATTN_OK); /* no words */
    assert_int_equal(subwords.merges.count, 0);
}

/* ---- the plain version ---- */

enum { WORDS = 40, LENGTH = 12, MOST_MERGES = 64 };

typedef struct plain_word {
    char symbols[LENGTH + 1][LENGTH * 4];
    int count;
    int64_t times;
} plain_word;

static void plain_create(plain_word *word, const char *text, int64_t times) {
    word->times = times;
    word->count = 1;
    strcpy(word->symbols[0], MARK);
    for (const char *c = text; *c; c++) snprintf(word->symbols[word->count++], 2, "%c", *c);
}

static int64_t plain_pair_count(const plain_word *words, const char *left, const char *right) {
    int64_t count = 0;
    for (int w = 0; w < WORDS; w++) {
        for (int i = 0; i + 1 < words[w].count; i++) {
            if (!strcmp(words[w].symbols[i], left) && !strcmp(words[w].symbols[i + 1], right)) {
                count += words[w].times;
            }
        }
    }
    return count;
}

static void plain_merge(plain_word *word, const char *left, const char *right) {
    for (int i = 0; i + 1 < word->count; i++) {
        if (strcmp(word->symbols[i], left) != 0 || strcmp(word->symbols[i + 1], right) != 0) continue;
        strcat(word->symbols[i], word->symbols[i + 1]);
        memmove(word->symbols[i + 1], word->symbols[i + 2],
                sizeof word->symbols[0] * (size_t)(word->count - i - 2));
        word->count--;
    }
}

/* The most frequent pair, equal ones by bytes; whether there is one that occurs twice. */
static int plain_best(const plain_word *words, char *left, char *right) {
    int64_t best = 1;
    for (int w = 0; w < WORDS; w++) {
        for (int i = 0; i + 1 < words[w].count; i++) {
            const char *a = words[w].symbols[i], *b = words[w].symbols[i + 1];
            int64_t count = plain_pair_count(words, a, b);
            if (count < best || count < 2) continue;
            if (count == best && (strcmp(a, left) > 0 || (!strcmp(a, left) && strcmp(b, right) >= 0)))
                continue;
            best = count;
            strcpy(left, a);
            strcpy(right, b);
        }
    }
    return best > 1;
}

/* Symbols that learned merges leave of a word: the one learned first, leftmost first, again and again. */
static void plain_split(const at_strings *merges, plain_word *word) {
    for (int64_t m = 0; m < merges->count;) {
        char left[64], right[64];
        assert_int_equal(sscanf(at_string(merges, m), "%63s %63s", left, right), 2);
        int before = word->count;
        for (int i = 0; i + 1 < word->count && word->count == before; i++) {
            if (!strcmp(word->symbols[i], left) && !strcmp(word->symbols[i + 1], right)) {
                strcat(word->symbols[i], word->symbols[i + 1]);
                memmove(word->symbols[i + 1], word->symbols[i + 2],
                        sizeof word->symbols[0] * (size_t)(word->count - i - 2));
                word->count--;
            }
        }
        m = word->count == before ? m + 1 : 0;
    }
}

static void random_word(test_random *random, char *word) {
    int letters = (int)random_between(random, 1, 3), length = (int)random_between(random, 1, LENGTH - 1);
    for (int i = 0; i < length; i++) word[i] = (char)('a' + random_between(random, 0, letters));
    word[length] = 0;
}

static int has_word(const at_vocabulary *words, const char *word) {
    char spaced[128];
    snprintf(spaced, sizeof spaced, " %s", word);
    return at_vocabulary_find(words, spaced, strlen(spaced)) >= 0;
}

static void check_against_plain(attn_context *context, uint64_t seed) {
    test_random random = {seed};
    static plain_word plain[WORDS];
    at_vocabulary words = {.slot_count = 0}, reversed = {.slot_count = 0};
    for (int w = 0; w < WORDS; w++) {
        char word[LENGTH + 1];
        do {
            random_word(&random, word);
        } while (has_word(&words, word));
        plain_create(&plain[w], word, random_between(&random, 1, 4));
        add_word(context, &words, word, plain[w].times);
    }
    for (int64_t w = WORDS - 1; w >= 0; w--) {
        add_string(context, &reversed, at_string(&words.strings, w), words.counts[w]);
    }
    at_vocabulary symbols = {.slot_count = 0};
    for (int w = 0; w < WORDS; w++) {
        for (int i = 0; i < plain[w].count; i++) add_string(context, &symbols, plain[w].symbols[i], 1);
    }
    int64_t first_symbols = symbols.strings.count,
            most = first_symbols + random_between(&random, 1, MOST_MERGES);
    at_subwords subwords, same;
    assert_int_equal(at_subwords_learn(context, &words, most, &subwords), ATTN_OK);
    assert_int_equal(at_subwords_learn(context, &reversed, most, &same), ATTN_OK);

    /* The plain version may come upon a merge that it has already; it is not written down twice. */
    at_vocabulary merges = {.slot_count = 0};
    char left[64] = "", right[64] = "", text[132];
    while (symbols.strings.count < most && plain_best(plain, left, right)) {
        snprintf(text, sizeof text, "%s %s", left, right);
        add_string(context, &merges, text, 1);
        for (int w = 0; w < WORDS; w++) plain_merge(&plain[w], left, right);
        snprintf(text, sizeof text, "%s%s", left, right);
        add_string(context, &symbols, text, 1);
    }
    assert_int_equal(subwords.merges.count, merges.strings.count);
    assert_int_equal(same.merges.count, merges.strings.count);
    for (int64_t i = 0; i < merges.strings.count; i++) {
        assert_string_equal(at_string(&subwords.merges, i), at_string(&merges.strings, i));
        assert_string_equal(at_string(&same.merges, i), at_string(&merges.strings, i));
    }
    for (int round = 0; round < 50; round++) {
        char word[LENGTH + 1];
        random_word(&random, word);
        plain_word cut;
        plain_create(&cut, word, 1);
        plain_split(&subwords.merges, &cut);
        char expected[256] = "";
        for (int i = 0; i < cut.count; i++) {
            if (i) strcat(expected, "|");
            strcat(expected, cut.symbols[i]);
        }
        check_split(&subwords, word, expected);
    }
    at_vocabulary_free(context, &merges);
    at_vocabulary_free(context, &symbols);
    at_vocabulary_free(context, &words);
    at_vocabulary_free(context, &reversed);
    at_subwords_free(context, &subwords);
    at_subwords_free(context, &same);
}

static void test_against_plain(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) check_against_plain(test_best_context(1), seed);
}

static void test_load(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_strings merges = {.count = 0};
    at_subwords subwords = {.merges = {.count = 0}};
    assert_int_equal(at_strings_add(context, &merges, "a b", 3), ATTN_OK);
    assert_int_equal(at_strings_add(context, &merges, "ab ab", 5), ATTN_OK);
    assert_int_equal(at_subwords_load(context, &merges, &subwords), ATTN_OK);
    check_split(&subwords, "ababab", MARK "|abab|ab");
    at_subwords_free(context, &subwords);

    static const char *const bad[] = {"", " ", "a", "a ", " b", "a b c", "a  b", "a b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        merges.count = 2;
        assert_int_equal(at_strings_add(context, &merges, bad[i], strlen(bad[i])), ATTN_OK);
        assert_int_equal(at_subwords_load(context, &merges, &subwords), ATTN_INVALID_ARGUMENT);
        assert_non_null(strstr(attn_context_error(context), "merge 2"));
        assert_int_equal(subwords.merges.count, 0);
    }
    at_strings_free(context, &merges);
}

/* Time that grew with the square of the length would not end within the test's limit. */
static void test_long_words(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    enum { BYTES = 1 << 20 };
    char *word = malloc(BYTES + 1);
    assert_non_null(word);
    test_random random = {7};
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < BYTES; i++) word[i] = kind ? (char)('a' + random_between(&random, 0, 3)) : 'a';
        word[BYTES] = 0;
        at_vocabulary words = {.slot_count = 0};
        at_subwords subwords;
        add_string(context, &words, word, 2);
        assert_int_equal(at_subwords_learn(context, &words, 500, &subwords), ATTN_OK);
        assert_true(subwords.merges.count >= (kind ? 480 : 20));
        at_strings symbols = {.count = 0};
        assert_int_equal(at_subwords_split(context, &subwords, word, BYTES, &symbols), ATTN_OK);
        int64_t bytes = 0;
        for (int64_t i = 0; i < symbols.count; i++) bytes += (int64_t)at_string_length(&symbols, i);
        assert_int_equal(bytes, BYTES);
        assert_true(symbols.count < (kind ? BYTES / 3 : 4));
        at_strings_free(context, &symbols);
        at_vocabulary_free(context, &words);
        at_subwords_free(context, &subwords);
    }
    free(word);
}

static void test_no_memory(void **state) {
    (void)state;
    counting_allocator counter = {.fail_at = 0};
    attn_context *context = counting_context(&counter);
    at_vocabulary words = {.slot_count = 0};
    test_random random = {3};
    for (int i = 0; i < 30; i++) {
        char word[LENGTH + 1];
        random_word(&random, word);
        add_word(context, &words, word, 2);
    }
    char long_word[200];
    memset(long_word, 'a', sizeof long_word);
    int64_t live = counter.live;
    int done = 0;
    for (int64_t fail_at = 1; !done; fail_at++) {
        at_subwords subwords = {.merges = {.count = 0}}, loaded = {.merges = {.count = 0}};
        at_strings symbols = {.count = 0};
        counter = (counting_allocator){.live = live, .fail_at = fail_at};
        attn_status status = at_subwords_learn(context, &words, 40, &subwords);
        if (status != ATTN_OK) assert_int_equal(subwords.merges.count, 0);
        if (status == ATTN_OK) status = at_subwords_load(context, &subwords.merges, &loaded);
        if (status == ATTN_OK) {
            status = at_subwords_split(context, &loaded, long_word, sizeof long_word, &symbols);
            if (status != ATTN_OK) assert_int_equal(symbols.count, 0);
        }
        if (status != ATTN_OK) assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        done = status == ATTN_OK;
        if (done) assert_int_equal(counter.failures, 0);
        at_strings_free(context, &symbols);
        at_subwords_free(context, &subwords);
        at_subwords_free(context, &loaded);
        assert_int_equal(counter.live, live);
    }
    counter.fail_at = 0;
    at_vocabulary_free(context, &words);
    attn_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),      cmocka_unit_test(test_against_plain), cmocka_unit_test(test_load),
        cmocka_unit_test(test_long_words), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
