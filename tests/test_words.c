/* test_words.c: strings and their numbers; lower case, shapes, and where words begin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/symbols/unicode.h"
#include "data/symbols/vocabulary.h"
#include "support/check.h"
#include "support/contexts.h"
#include "support/examples.h"
#include "support/memory.h"
#include "support/random.h"

/* The values are part of every model file: they were computed by another program and never change. */
static void test_hash(void **state) {
    (void)state;
    assert_true(at_hash("", 0, 0) == UINT64_C(0x5b21f68ffa77f14c));
    assert_true(at_hash("abc", 3, 0) == UINT64_C(0xe6d7af2db17ca299));
    assert_true(at_hash("abc", 3, 1) == UINT64_C(0xfd5f76974069e6a4));
    assert_true(at_hash("f\xC3\xBCr", 4, 5) == UINT64_C(0x3ce40bf2437ff007));
}

static void test_vocabulary(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_vocabulary vocabulary = {.slot_count = 0};
    assert_int_equal(at_vocabulary_find(&vocabulary, "a", 1), -1);
    char name[32];
    for (int64_t i = 0; i < 5000; i++) {
        int64_t number = -1;
        int length = snprintf(name, sizeof name, "word-%d", (int)i);
        assert_int_equal(at_vocabulary_add(context, &vocabulary, name, (size_t)length, i % 7, &number),
                         ATTN_OK);
        assert_int_equal(number, i);
    }
    int64_t number;
    assert_int_equal(at_vocabulary_add(context, &vocabulary, "word-8", 6, 10, &number), ATTN_OK);
    assert_int_equal(number, 8);
    assert_int_equal(vocabulary.counts[8], 11);
    assert_int_equal(vocabulary.strings.count, 5000);
    for (int64_t i = 0; i < 5000; i++) {
        int length = snprintf(name, sizeof name, "word-%d", (int)i);
        assert_int_equal(at_vocabulary_find(&vocabulary, name, (size_t)length), i);
    }
    assert_int_equal(at_vocabulary_find(&vocabulary, "word-5000", 9), -1);
    assert_int_equal(at_vocabulary_find(&vocabulary, "word-", 5), -1);
    assert_int_equal(at_vocabulary_find(&vocabulary, "", 0), -1);
    assert_int_equal(at_vocabulary_add(context, &vocabulary, "a\0b", 3, 1, &number), ATTN_OK);
    assert_int_equal(at_vocabulary_find(&vocabulary, "a\0b", 3), number);
    assert_int_equal(at_vocabulary_find(&vocabulary, "a", 1), -1);
    at_vocabulary_free(context, &vocabulary);
    assert_int_equal(vocabulary.strings.count, 0);
}

static void check_sorted(attn_context *context, const at_vocabulary *vocabulary, int64_t min_count,
                         int64_t limit, const char *const *expected, int64_t count) {
    at_vocabulary sorted = {.slot_count = 0};
    assert_int_equal(at_vocabulary_sort(context, vocabulary, min_count, limit, &sorted), ATTN_OK);
    assert_int_equal(sorted.strings.count, count);
    for (int64_t i = 0; i < count; i++) {
        assert_string_equal(at_string(&sorted.strings, i), expected[i]);
        assert_int_equal(at_vocabulary_find(&sorted, expected[i], strlen(expected[i])), i);
    }
    at_vocabulary_free(context, &sorted);
}

static void test_vocabulary_sort(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_vocabulary vocabulary = {.slot_count = 0};
    check_sorted(context, &vocabulary, 1, 0, (const char *[]){""}, 1);
    static const struct {
        const char *text;
        int64_t times;
    } words[] = {{"b", 3}, {"ab", 3}, {"", 9}, {"a", 3}, {"rare", 1}, {"the", 7}, {"\xC3\xA9", 3}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(at_vocabulary_add(context, &vocabulary, words[i].text, strlen(words[i].text),
                                           words[i].times, NULL),
                         ATTN_OK);
    }
    static const char *const all[] = {"", "the", "a", "ab", "b", "\xC3\xA9", "rare"};
    check_sorted(context, &vocabulary, 1, 0, all, 7);
    check_sorted(context, &vocabulary, 0, 100, all, 7);
    check_sorted(context, &vocabulary, 2, 0, all, 6);
    check_sorted(context, &vocabulary, 1, 2, all, 3);
    at_vocabulary_free(context, &vocabulary);
}

static void test_no_memory(void **state) {
    (void)state;
    counting_allocator counter = {.fail_at = 0};
    attn_context *context = counting_context(&counter);
    int64_t live = counter.live;
    int done = 0;
    for (int64_t fail_at = 1; !done; fail_at++) {
        at_vocabulary vocabulary = {.slot_count = 0}, sorted = {.slot_count = 0};
        at_strings words = {.count = 0};
        counter = (counting_allocator){.live = live, .fail_at = fail_at};
        attn_status status = at_split_words(context, "one, two", 8, 0, &words);
        if (status != ATTN_OK) assert_int_equal(words.count, 0);
        for (int i = 0; i < 100 && status == ATTN_OK; i++) {
            char name[8];
            int length = snprintf(name, sizeof name, "%d", i);
            status = at_vocabulary_add(context, &vocabulary, name, (size_t)length, 1, NULL);
            if (status != ATTN_OK) assert_int_equal(vocabulary.strings.count, i);
        }
        if (status == ATTN_OK) status = at_vocabulary_sort(context, &vocabulary, 1, 0, &sorted);
        if (status != ATTN_OK) {
            assert_int_equal(status, ATTN_OUT_OF_MEMORY);
            assert_int_equal(sorted.strings.count, 0);
        }
        done = status == ATTN_OK;
        if (done) assert_int_equal(counter.failures, 0);
        at_strings_free(context, &words);
        at_vocabulary_free(context, &vocabulary);
        at_vocabulary_free(context, &sorted);
        assert_int_equal(counter.live, live);
    }
    counter.fail_at = 0;
    attn_context_destroy(context);
}

static void check_lower(const char *text, const char *expected) {
    size_t length = strlen(text);
    memory_block out = memory_create(MEMORY_GUARD_AFTER, 4 * length + 1);
    assert_int_equal(at_unicode_lower(text, length, out.data), strlen(expected));
    assert_string_equal((char *)out.data, expected);
    memory_destroy(&out);
}

static void test_lower(void **state) {
    (void)state;
    check_lower("", "");
    check_lower("Hello, WORLD 42 [@`{]", "hello, world 42 [@`{]");
    check_lower("\xC3\x84\xC3\xA4\xC3\x9F", "\xC3\xA4\xC3\xA4\xC3\x9F");         /* Ä ä ß */
    check_lower("\xCE\xA3\xCE\x95\xD0\x96", "\xCF\x83\xCE\xB5\xD0\xB6");         /* Σ Ε Ж */
    check_lower("\xC8\xBA", "\xE2\xB1\xA5");                                     /* Ⱥ: 2 bytes to 3 */
    check_lower("\xE2\x84\xAA", "k");                                            /* kelvin: 3 to 1 */
    check_lower("\xF0\x90\x90\x80", "\xF0\x90\x90\xA8");                         /* Deseret */
    check_lower("\xE4\xBD\xA0\xF0\x9F\x98\x80", "\xE4\xBD\xA0\xF0\x9F\x98\x80"); /* 你 😀 */
    check_lower("A\xFF\xC3"
                "B\xE4\xBD",
                "a\xFF\xC3"
                "b\xE4\xBD"); /* no text: those bytes stay */
}

static void check_shape(const char *text, const char *expected) {
    size_t length = strlen(text);
    memory_block out = memory_create(MEMORY_GUARD_AFTER, length + 1);
    assert_int_equal(at_unicode_shape(text, length, out.data), strlen(expected));
    assert_string_equal((char *)out.data, expected);
    memory_destroy(&out);
}

static void test_shape(void **state) {
    (void)state;
    check_shape("", "");
    check_shape("Hello", "Xxxx");
    check_shape("HELLO", "XXX");
    check_shape("iPhone12", "xXxxxdd");
    check_shape("1,234.5678", "d,ddd.ddd");
    check_shape("......?!?!", "...?!?!");
    check_shape("\xC3\x84rger", "Xxxx");
    check_shape("\xC7\x85", "X");                  /* title case Dž */
    check_shape("\xE4\xBD\xA0\xE5\xA5\xBD", "xx"); /* 你好 */
    check_shape("\xD9\xA3\xD9\xA4", "dd");         /* Arabic digits */
    check_shape("\xE2\x82\xAC"
                "5",
                "\xE2\x82\xAC"
                "d"); /* €5 */
}

/* `expected` has the words with '|' between them. */
static void check_split(const char *text, int at_spaces, const char *expected) {
    attn_context *context = test_best_context(1);
    at_strings words = {.count = 0};
    char joined[512] = "";
    assert_int_equal(at_split_words(context, text, strlen(text), at_spaces, &words), ATTN_OK);
    for (int64_t i = 0; i < words.count; i++) {
        if (i) strcat(joined, "|");
        strcat(joined, at_string(&words, i));
    }
    assert_string_equal(joined, expected);
    at_strings_free(context, &words);
}

static void test_split(void **state) {
    (void)state;
    check_split("", 0, "");
    check_split(" \t\r\n\xC2\xA0\xE3\x80\x80\xE2\x80\x8B", 0, "");
    check_split("The quick, brown fox.", 0, "The|quick|,|brown|fox|.");
    check_split("don't 'quote' rock'n'roll dogs' it\xE2\x80\x99s", 0,
                "don't|'|quote|'|rock'n'roll|dogs|'|it\xE2\x80\x99s");
    check_split("col\xC2\xB7lecci\xC3\xB3 a\xC2\xB7 \xC2\xB7", 0,
                "col\xC2\xB7lecci\xC3\xB3|a|\xC2\xB7|\xC2\xB7");
    check_split("pi=3.14, 1,000.50. 5.x x.5 7,", 0, "pi|=|3.14|,|1,000.50|.|5|.|x|x|.|5|7|,");
    check_split("well-known x86_64 _a __ e-mail", 0, "well|-|known|x86_64|_a|__|e|-|mail");
    check_split("wait... what?!! -- no--yes ===", 0, "wait|...|what|?|!!|--|no|--|yes|===");
    check_split("a''b a'1 1'2 1..2 a'", 0, "a|''|b|a|'|1|1|'|2|1|..|2|a|'");
    check_split("C++ #tag @you a/b 50% $5", 0, "C|++|#|tag|@|you|a|/|b|50|%|$|5");
}

static void test_split_scripts(void **state) {
    (void)state;
    check_split("\xE6\x88\x91\xE7\x88\xB1NLP\xE5\x92\x8C"
                "AI2\xE3\x80\x82",
                0, /* 我爱NLP和AI2。 */
                "\xE6\x88\x91|\xE7\x88\xB1|NLP|\xE5\x92\x8C|AI2|\xE3\x80\x82");
    check_split("\xE3\x81\x82\xE3\x82\xAB\xE3\x83\xBC", 0,
                "\xE3\x81\x82|\xE3\x82\xAB|\xE3\x83\xBC"); /* あカー */
    check_split("\xF0\xA0\x80\x80\xF0\xA0\x80\x81", 0,
                "\xF0\xA0\x80\x80|\xF0\xA0\x80\x81"); /* Han, extension B */
    check_split("\xE0\xB8\x97\xE0\xB8\xB5\xE0\xB9\x88\xE0\xB8\xA1",
                0, /* Thai: a letter with two marks, a letter */
                "\xE0\xB8\x97\xE0\xB8\xB5\xE0\xB9\x88|\xE0\xB8\xA1");
    check_split("\xED\x95\x9C\xEA\xB5\xAD \xEB\xA7\x90", 0,
                "\xED\x95\x9C\xEA\xB5\xAD|\xEB\xA7\x90"); /* 한국 말 */
    check_split("\xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D\xE0\xA4\xA6\xE0\xA5\x80\xE0\xA5\xA4",
                0, /* हिन्दी। */
                "\xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D\xE0\xA4\xA6\xE0\xA5\x80|\xE0\xA5\xA4");
    check_split("\xD7\xA6\xD7\x94\xD7\xB4\xD7\x9C", 0,
                "\xD7\xA6\xD7\x94\xD7\xB4\xD7\x9C"); /* gershayim inside */
    check_split("caf"
                "e\xCC\x81"
                "s e\xCC\x81't",
                0, "cafe\xCC\x81s|e\xCC\x81't"); /* combining accents */
    check_split("\xCC\x81"
                "a \xCC\x81\xCC\x81",
                0, "\xCC\x81|a|\xCC\x81\xCC\x81"); /* a mark with nothing before */
    check_split("\xD9\xA3\xD9\xAB\xD9\xA1\xD9\xA4", 0, "\xD9\xA3\xD9\xAB\xD9\xA1\xD9\xA4"); /* ٣٫١٤ */
}

#define FAMILY "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7" /* woman ZWJ girl */
#define THUMB "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD"              /* with a skin tone */
#define SMILE "\xF0\x9F\x98\x82"
#define HEART "\xE2\x9D\xA4\xEF\xB8\x8F" /* with a variation selector */
#define FLAG_DE "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA"
#define FLAG_FR "\xF0\x9F\x87\xAB\xF0\x9F\x87\xB7"
#define KEYCAP "1\xEF\xB8\x8F\xE2\x83\xA3"

static void test_split_emoji(void **state) {
    (void)state;
    check_split("ok" FAMILY THUMB "!", 0, "ok|" FAMILY "|" THUMB "|!");
    check_split(SMILE SMILE HEART, 0, SMILE "|" SMILE "|" HEART);
    check_split(FLAG_DE FLAG_FR "\xF0\x9F\x87\xA9", 0, FLAG_DE "|" FLAG_FR "|\xF0\x9F\x87\xA9");
    check_split(KEYCAP " x", 0, KEYCAP "|x");
}

static void test_split_at_spaces(void **state) {
    (void)state;
    check_split(" don't  (stop), \xE6\x88\x91\xE7\x88\xB1\xE3\x80\x80"
                "3-4\n",
                1, "don't|(stop),|\xE6\x88\x91\xE7\x88\xB1|3-4");
}

/* Whatever the text: the words are its bytes without white space, in order, none is empty, and splitting a
 * word that stands alone between spaces again leaves it whole. */
static void test_split_anything(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    static const char *const parts[] = {"a",
                                        "Z",
                                        "7",
                                        "_",
                                        "'",
                                        ".",
                                        ",",
                                        "-",
                                        " ",
                                        "\xCC\x81",
                                        "\xE2\x80\x8D",
                                        "\xE6\x88\x91",
                                        "\xC2\xB7",
                                        SMILE,
                                        "\xF0\x9F\x87\xA9",
                                        "\xFF",
                                        "\xE0\xB8\xB3",
                                        "\xF0\x9F\x8F\xBD",
                                        "!",
                                        "\xE2\x80\x99"};
    test_random random = {1};
    for (int round = 0; round < 3000; round++) {
        char text[64] = "", squeezed[64] = "", joined[64] = "";
        int count = (int)random_between(&random, 0, 11);
        for (int i = 0; i < count; i++) {
            const char *part = parts[random_between(&random, 0, sizeof parts / sizeof *parts - 1)];
            strcat(text, part);
            if (*part != ' ') strcat(squeezed, part);
        }
        at_strings words = {.count = 0}, again = {.count = 0};
        assert_int_equal(at_split_words(context, text, strlen(text), 0, &words), ATTN_OK);
        for (int64_t i = 0; i < words.count; i++) {
            assert_true(at_string_length(&words, i) > 0);
            strcat(joined, at_string(&words, i));
            at_strings_clear(&again);
            assert_int_equal(
                at_split_words(context, at_string(&words, i), at_string_length(&words, i), 0, &again),
                ATTN_OK);
            assert_int_equal(again.count, 1);
        }
        assert_string_equal(joined, squeezed);
        at_strings_free(context, &words);
        at_strings_free(context, &again);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_vocabulary_sort),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_lower),
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_scripts),
        cmocka_unit_test(test_split_emoji),
        cmocka_unit_test(test_split_at_spaces),
        cmocka_unit_test(test_split_anything),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
