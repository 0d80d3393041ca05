/* test_units.c: texts become units and units become the same text again; what unit a text looks to be made
 * of; features that do not know what comes later.
 */
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/context.h>

#include "base/memory.h"
#include "data/symbols/unicode.h"
#include "inputs/text/text.h"
#include "support/contexts.h"
#include "support/examples.h"
#include "support/memory.h"
#include "support/random.h"

static attn_context *context;

static int setup(void **state) {
    if (test_contexts_setup(state) != 0) return -1;
    context = test_best_context(1);
    return 0;
}

static void ok(attn_status status) {
    if (status != ATTN_OK) fail_msg("%s: %s", attn_status_name(status), attn_context_error(context));
}

/* ---- texts ---- */

static const char *const letters[] = {"a",        "b",        "e",        "n",       "T",
                                      "\xc3\xa9", "\xc3\x9f", "\xd0\x96", "\xce\xb1"};
static const char *const others[] = {".",
                                     ",",
                                     "'",
                                     "-",
                                     "!",
                                     "...",
                                     "(",
                                     ")",
                                     "7",
                                     "42",
                                     "_",
                                     "\"",
                                     "\xe6\x88\x91",
                                     "\xe3\x81\x82",
                                     "\xe0\xb8\x81",
                                     "\xf0\x9f\x98\x80",
                                     "\xcc\x81",
                                     "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa",
                                     "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac"};
static const char *const spaces[] = {
    " ", " ", " ", "  ", "   ", "\t", " \t ", "\xc2\xa0", "\xe2\x80\x83", "\xe2\x80\x8b", "\r", "\v"};
#define PICK(random, list) list[random_between(random, 0, (int64_t)(sizeof(list) / sizeof(list)[0]) - 1)]

/* Runs of white space of every kind at the ends and between, at times nothing else. */
static void random_text(test_random *random, int most, char *text) {
    text[0] = 0;
    for (int64_t pieces = random_between(random, 0, most); pieces > 0; pieces--) {
        int64_t kind = random_between(random, 0, 9);
        if (kind < 5) {
            for (int64_t n = random_between(random, 1, 6); n > 0; n--) strcat(text, PICK(random, letters));
        } else {
            strcat(text, kind < 7 ? PICK(random, others) : PICK(random, spaces));
        }
    }
}

/* Texts as they are, without what a reader does to them. */
static attn_dataset *dataset_of(char (*texts)[2048], int64_t count) {
    const char **list = calloc((size_t)count, sizeof *list);
    assert_non_null(list);
    for (int64_t i = 0; i < count; i++) list[i] = texts[i];
    attn_dataset *made = examples_create(context, 0, list, count);
    free(list);
    return made;
}

static char *join(const at_text_input *text, const at_text_encoded *units, int64_t first, int64_t end) {
    at_joined joined = {0};
    for (int64_t u = first; u < end; u++)
        ok(at_symbols_append(&text->symbols, context, text_unit(units, u), strlen(text_unit(units, u)),
                             &joined));
    char *copy = calloc((size_t)joined.count + 1, 1);
    assert_non_null(copy);
    if (joined.count) {
        assert_int_equal(joined.bytes[joined.count], 0);
        memcpy(copy, joined.bytes, (size_t)joined.count);
    }
    at_release(context, joined.bytes);
    return copy;
}

enum { TEXTS = 60 };
static char learned_texts[TEXTS][2048], texts[TEXTS][2048];

static void fill(uint64_t seed, char (*list)[2048]) {
    test_random random = {seed};
    for (int i = 0; i < TEXTS; i++) random_text(&random, i % 20, list[i]);
    strcpy(list[0], "");
    strcpy(list[1], " ");
    strcpy(list[2], "\t");
    strcpy(list[3], "  a");
    strcpy(list[4], "a  ");
    strcpy(list[5], "\ta\t");
    strcpy(list[6], " \t a \t ");
    strcpy(list[7], "a b");
    strcpy(list[8], "\xcc\x81 x"); /* begins with a mark that belongs to nothing */
}

static const at_unit exact_units[] = {AT_UNIT_CHARS, AT_UNIT_BYTES, AT_UNIT_SUBWORDS};

static at_text_input *learn(at_text_values values, text_use use, attn_dataset *from) {
    at_text_input *text = text_create(context, &values, use);
    ok(text_learn(text, from));
    return text;
}

static void test_exact(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        fill(2 * seed, learned_texts);
        fill(2 * seed + 1, texts);
        attn_dataset *known = dataset_of(learned_texts, TEXTS), *others_set = dataset_of(texts, TEXTS);
        for (int u = 0; u < 3; u++) {
            at_text_values values = {.unit = (int)exact_units[u],
                                     .min_count = 1,
                                     .pretokenized = seed % 2 == 0,
                                     .subwords = seed == 6 ? 1 : 120};
            at_text_input *text = learn(values, (text_use){.exact = 1}, known);
            if (u == 2) assert_true((text->symbols.subwords.merges.count > 10) == (seed != 6));
            at_text_encoded *units = NULL;
            ok(text_encode(text, others_set, &units));
            assert_int_equal(units->encoded.examples, TEXTS);
            int64_t joined_units = 0;
            for (int64_t e = 0; e < TEXTS; e++) {
                char *again = join(text, units, units->encoded.offsets[e], units->encoded.offsets[e + 1]);
                assert_string_equal(again, texts[e]);
                joined_units += units->encoded.offsets[e + 1] - units->encoded.offsets[e];
                free(again);
            }
            assert_true(joined_units > 5 * TEXTS);
            text_free(units);
            text_destroy(text);
        }
        attn_dataset_destroy(known);
        attn_dataset_destroy(others_set);
    }
}

static attn_status note_token(void *user, const char *unit, size_t length, int64_t token) {
    int64_t **at = user;
    (void)unit, (void)length;
    *(*at)++ = token;
    return ATTN_OK;
}

/* Merges that were learned make the units fewer, and never reach over a space. */
static void test_subwords_of_words(void **state) {
    (void)state;
    static char list[3][2048] = {"the the theme", "the them", " the"};
    attn_dataset *set = dataset_of(list, 3);
    at_text_input *text = learn((at_text_values){.unit = AT_UNIT_SUBWORDS, .min_count = 1, .subwords = 100},
                                (text_use){.exact = 1}, set);
    at_text_encoded *units = NULL;
    ok(text_encode(text, set, &units));
    assert_string_equal(text_unit(units, 0), "\xe2\x96\x81the");
    assert_string_equal(text_unit(units, 1), "\xe2\x96\x81the");
    int64_t tokens[64], *at = tokens;
    at_splitter splitter = at_splitter_of(&text->symbols, context, note_token, &at);
    ok(at_split_text(&splitter, list[0], strlen(list[0])));
    at_splitter_free(&splitter);
    assert_true(at - tokens >= 3);
    assert_int_equal(tokens[0], 0);
    assert_int_equal(tokens[1], 1);
    for (int64_t u = 0; u < units->encoded.rows; u++) {
        const char *mark = strstr(text_unit(units, u) + 1, "\xe2\x96\x81");
        assert_null(mark); /* it stands first or not at all */
    }
    text_free(units);
    text_destroy(text);
    attn_dataset_destroy(set);
}

/* Pieces of a text join to the text, wherever it is cut: no space is thought before a piece that continues.
 */
static void test_pieces(void **state) {
    (void)state;
    static char list[2][2048] = {"the cat the hat", "a cat"};
    attn_dataset *set = dataset_of(list, 2);
    for (int subwords = 0; subwords < 2; subwords++) {
        at_text_input *text = learn((at_text_values){.unit = subwords ? AT_UNIT_SUBWORDS : AT_UNIT_CHARS,
                                                     .min_count = 1,
                                                     .subwords = 60},
                                    (text_use){.exact = 1}, set);
        for (size_t cut = 1; cut < strlen(list[0]); cut++) {
            char pieces[2][2048];
            snprintf(pieces[0], sizeof pieces[0], "%.*s", (int)cut, list[0]);
            snprintf(pieces[1], sizeof pieces[1], "%s", list[0] + cut);
            at_joined joined = {0};
            for (int p = 0; p < 2; p++) {
                attn_dataset *one = dataset_of(&pieces[p], 1);
                at_encode_options options = {.goes_on = p};
                at_encoded *made = NULL;
                ok(at_text_kind.encode(&text->input, context, NULL, one, &options, &made));
                at_text_encoded *units = (at_text_encoded *)(void *)made;
                for (int64_t u = 0; u < made->rows; u++)
                    ok(at_symbols_append(&text->symbols, context, text_unit(units, u),
                                         strlen(text_unit(units, u)), &joined));
                at_text_kind.free_encoded(made);
                attn_dataset_destroy(one);
            }
            assert_string_equal(joined.bytes, list[0]);
            at_release(context, joined.bytes);
        }
        text_destroy(text);
    }
    attn_dataset_destroy(set);
}

/* Lines of running text, with all that is between them. */
static void test_running(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        fill(seed, texts);
        static char whole[TEXTS * 2048];
        whole[0] = 0;
        for (int i = 0; i < TEXTS; i++) {
            strcat(whole, texts[i]);
            strcat(whole, "\n");
        }
        attn_dataset *set = dataset_of(texts, TEXTS);
        for (int u = 0; u < 3; u++) {
            at_text_input *text =
                learn((at_text_values){.unit = (int)exact_units[u], .min_count = 1, .subwords = 100},
                      (text_use){.exact = 1, .running = 1}, set);
            at_text_encoded *units = NULL;
            ok(text_encode(text, set, &units));
            assert_string_equal(text_unit(units, 0), "\n"); /* before the first */
            char *again = join(text, units, 1, units->encoded.rows);
            assert_string_equal(again, whole);
            free(again);
            for (int64_t e = 0; e < TEXTS; e++) {
                assert_string_equal(text_unit(units, units->encoded.offsets[e + 1] - 1), "\n");
                assert_true(units->encoded.offsets[e + 1] > units->encoded.offsets[e]);
            }
            assert_true(at_vocabulary_find(&text->symbols.vocabulary, "\n", 1) > 0);
            text_free(units);
            text_destroy(text);
        }
        attn_dataset_destroy(set);
    }
}

/* Words and symbols are written with one space between them; what stood there is gone. */
static void test_joined_by_spaces(void **state) {
    (void)state;
    static char list[4][2048] = {"AH0  B, c.", " x\ty ", "", "one"};
    static const char *const words[] = {"AH0 B , c .", "x y", "", "one"};
    static const char *const symbols[] = {"AH0 B, c.", "x y", "", "one"};
    attn_dataset *set = dataset_of(list, 4);
    for (int kind = 0; kind < 2; kind++) {
        at_text_input *text =
            learn((at_text_values){.unit = kind ? AT_UNIT_SYMBOLS : AT_UNIT_WORDS, .min_count = 1},
                  (text_use){.exact = 1}, set);
        at_text_encoded *units = NULL;
        ok(text_encode(text, set, &units));
        for (int e = 0; e < 4; e++) {
            char *again = join(text, units, units->encoded.offsets[e], units->encoded.offsets[e + 1]);
            assert_string_equal(again, kind ? symbols[e] : words[e]);
            free(again);
        }
        text_free(units);
        text_destroy(text);
    }
    attn_dataset_destroy(set);
}

/* ---- bytes that are no text ---- */

static void test_mend(void **state) {
    (void)state;
    static const struct {
        const char *given, *whole, *so_far; /* so_far: what is ready while more may come */
    } cases[] = {
        {"", "", ""},
        {"abc", "abc", "abc"},
        {"a\xc3\xa9z", "a\xc3\xa9z", "a\xc3\xa9z"},
        {"a\xc3", "a?", "a"},
        {"a\xe6\x88", "a??", "a"},
        {"\xf0\x9f\x98", "???", ""},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xff", "?", "?"},
        {"\x80\x80 a", "?? a", "?? a"},
        {"\xc3z\xc3", "?z?", "?z"},
        {"\xe6z", "?z", "?z"},
        {"\xc0\x80", "??", "??"},
        {"\xed\xa0\x80", "???", "???"},
        {"\xf5\x80", "??", "??"},
        {"\xf4\x90\x80\x80", "????", "????"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int last = 0; last < 2; last++) {
            char bytes[32];
            strcpy(bytes, cases[i].given);
            at_joined joined = {.bytes = bytes, .count = (int64_t)strlen(bytes), .room = 32};
            int64_t ready = at_joined_mend(&joined, 0, last);
            const char *expected = last ? cases[i].whole : cases[i].so_far;
            assert_int_equal(joined.count, strlen(cases[i].given));
            if ((size_t)ready != strlen(expected) || memcmp(bytes, expected, (size_t)ready) != 0)
                fail_msg("case %d, last %d: \"%s\", %d ready", (int)i, last, bytes, (int)ready);
            assert_int_equal(at_unicode_check(bytes, (size_t)ready), ready);
        }
    }
    at_joined nothing = {0};
    assert_int_equal(at_joined_mend(&nothing, 0, 1), 0);
}

/* What is mended piece by piece is what is mended at once. */
static void test_mend_in_pieces(void **state) {
    (void)state;
    test_random random = {7};
    static const unsigned char pool[] = {'a',  ' ',  0x80, 0xbf, 0xc3, 0xa9, 0xe6, 0x88,
                                         0x91, 0xf0, 0x9f, 0x98, 0xff, 0xc0, 0xed, 0xf4};
    for (int round = 0; round < 2000; round++) {
        char given[24], bytes[24];
        int64_t count = random_between(&random, 0, 20), ready = 0;
        for (int64_t i = 0; i < count; i++) given[i] = (char)pool[random_between(&random, 0, 15)];
        at_joined pieces = {.bytes = bytes, .room = 24};
        for (int64_t i = 0; i < count; i++) {
            bytes[pieces.count++] = given[i];
            int64_t now = at_joined_mend(&pieces, ready, i + 1 == count);
            assert_true(now >= ready && now <= pieces.count);
            assert_int_equal(at_unicode_check(bytes, (size_t)now), now);
            ready = now;
        }
        at_joined whole = {.bytes = given, .count = count, .room = 24};
        assert_int_equal(at_joined_mend(&whole, 0, 1), count);
        assert_memory_equal(given, bytes, (size_t)count);
    }
}

/* ---- what unit ---- */

static at_unit guess(int64_t count, void (*write)(test_random *, char *), uint64_t seed) {
    test_random random = {seed};
    at_strings list = {0};
    at_unit unit = AT_UNIT_AUTO;
    for (int64_t i = 0; i < count; i++) {
        char text[2048] = "";
        write(&random, text);
        ok(at_strings_add(context, &list, text, strlen(text)));
    }
    ok(at_symbols_guess(context, &list, &unit));
    at_strings_free(context, &list);
    return unit;
}

static void spelling(test_random *random, char *text) {
    for (int64_t n = random_between(random, 2, 12); n > 0; n--) strcat(text, PICK(random, letters));
}

static void phonemes(test_random *random, char *text) {
    static const char *const sounds[] = {"AH0", "AH1", "B", "CH", "D", "EH1", "NG", "TH", "ZH", "K"};
    for (int64_t n = random_between(random, 1, 9); n > 0; n--) {
        strcat(text, PICK(random, sounds));
        if (n > 1) strcat(text, " ");
    }
}

static void sentence(test_random *random, char *text) {
    for (int64_t n = random_between(random, 3, 15); n > 0; n--) {
        spelling(random, text);
        strcat(text, n > 1 ? " " : ".");
    }
}

static void digits(test_random *random, char *text) {
    snprintf(text, 100, "%d", (int)random_between(random, 0, 99999));
}

static void number_words(test_random *random, char *text) {
    static const char *const words[] = {"one",      "two", "three",  "hundred",
                                        "thousand", "and", "twenty", "million"};
    for (int64_t n = random_between(random, 1, 7); n > 0; n--) {
        strcat(text, PICK(random, words));
        if (n > 1) strcat(text, " ");
    }
}

static void han(test_random *random, char *text) {
    for (int64_t n = random_between(random, 3, 20); n > 0; n--) {
        char character[4] = {(char)0xe6, (char)(0x80 + random_between(random, 0, 60)),
                             (char)(0x80 + random_between(random, 0, 60)), 0};
        strcat(text, character);
    }
}

static void test_guess(void **state) {
    (void)state;
    assert_int_equal(guess(500, spelling, 1), AT_UNIT_CHARS);
    assert_int_equal(guess(500, phonemes, 2), AT_UNIT_SYMBOLS);
    assert_int_equal(guess(500, sentence, 3), AT_UNIT_SUBWORDS);
    assert_int_equal(guess(500, digits, 4), AT_UNIT_CHARS);
    assert_int_equal(guess(500, number_words, 5), AT_UNIT_SYMBOLS);
    assert_int_equal(guess(500, han, 6), AT_UNIT_CHARS);
    /* also of a handful */
    assert_int_equal(guess(3, spelling, 1), AT_UNIT_CHARS);
    assert_int_equal(guess(3, phonemes, 2), AT_UNIT_SYMBOLS);
    assert_int_equal(guess(5, sentence, 3), AT_UNIT_SUBWORDS);
    assert_int_equal(guess(0, spelling, 1), AT_UNIT_CHARS);
}

/* ---- features ---- */

/* Rows before a unit are the same whatever it is; from it on they are not. */
static void test_backward(void **state) {
    (void)state;
    fill(9, texts);
    attn_dataset *set = dataset_of(texts, TEXTS);
    for (int u = 0; u < 3; u++) {
        for (int backward = 0; backward < 2; backward++) {
            at_text_values values = {.unit = (int)exact_units[u],
                                     .min_count = 1,
                                     .word_features = 1,
                                     .context = 3,
                                     .neighbours = 2,
                                     .buckets = 100000,
                                     .subwords = 100};
            at_text_input *text = learn(values, (text_use){.exact = 1, .running = backward}, set);
            at_text_encoded *units = NULL;
            at_encoded *made = NULL;
            ok(text_encode(text, set, &units));
            ok(at_text_kind.begin(&text->input, context, &made));
            enum { COUNT = 40, AT = 20 };
            for (int64_t i = 0; i < COUNT; i++) {
                const char *unit = i == AT ? "\xc2\xbf" : text_unit(units, i);
                ok(at_text_kind.extend(&text->input, made, unit, strlen(unit)));
            }
            at_text_encoded *changed = (at_text_encoded *)(void *)made;
            at_text_batch *before = NULL, *after = NULL, *beginning = NULL;
            ok(text_features(text, units, 0, COUNT, &before));
            ok(text_features(text, changed, 0, COUNT, &after));
            assert_int_equal(before->batch.rows, COUNT);
            int64_t first = -1;
            for (int64_t r = 0; r < COUNT && first < 0; r++) {
                int64_t ids = before->offsets[r + 1] - before->offsets[r];
                if (ids != after->offsets[r + 1] - after->offsets[r] ||
                    memcmp(before->ids + before->offsets[r], after->ids + after->offsets[r],
                           (size_t)ids * sizeof *before->ids) != 0)
                    first = r;
            }
            assert_int_equal(first, backward ? AT : AT - 2);
            /* and the rows of a beginning alone are those of the whole, but for what lies beyond it */
            ok(text_features(text, units, 0, AT, &beginning));
            int same =
                memcmp(before->ids, beginning->ids, (size_t)beginning->used * sizeof *before->ids) == 0;
            assert_int_equal(same, backward);
            /* rows that come one by one are the same, too */
            at_batch *one = NULL;
            ok(at_text_create_batch(context, &one));
            at_text_batch *row = (at_text_batch *)(void *)one;
            for (int64_t r = 0; r < COUNT && backward; r++) {
                ok(at_text_kind.fill_tail(&text->input, &units->encoded, 0, r, 1, one));
                assert_int_equal(row->used, before->offsets[r + 1] - before->offsets[r]);
                assert_memory_equal(row->ids, before->ids + before->offsets[r],
                                    (size_t)row->used * sizeof *row->ids);
            }
            at_text_free_batch(one);
            text_batch_free(before);
            text_batch_free(after);
            text_batch_free(beginning);
            text_free(units);
            text_free(changed);
            text_destroy(text);
        }
    }
    attn_dataset_destroy(set);
}

/* ---- memory ---- */

static attn_status work_through(attn_dataset *set, at_unit unit) {
    at_text_values values = {.unit = (int)unit, .min_count = 1, .subwords = 40};
    at_input_use use = {.task = "test", .per_row = -1, .writes_text = 1, .running = unit != AT_UNIT_SYMBOLS};
    at_input *made = NULL;
    at_text_encoded *units = NULL;
    at_joined joined = {0};
    at_unit guessed = AT_UNIT_AUTO;
    attn_status status = at_text_kind.create(context, &values, &use, &made);
    at_text_input *text = (at_text_input *)(void *)made;
    if (status == ATTN_OK) status = text_learn(text, set);
    if (status == ATTN_OK) status = text_encode(text, set, &units);
    for (int64_t u = 0; status == ATTN_OK && u < units->encoded.rows; u++)
        status = at_symbols_append(&text->symbols, context, text_unit(units, u), strlen(text_unit(units, u)),
                                   &joined);
    if (status == ATTN_OK) status = at_symbols_guess(context, &at_texts_of(set)->tokens, &guessed);
    if (status == ATTN_OK) assert_true(joined.count > 0 && guessed != AT_UNIT_AUTO);
    at_release(context, joined.bytes);
    text_free(units);
    text_destroy(text);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    static const at_unit kinds[] = {AT_UNIT_CHARS, AT_UNIT_BYTES, AT_UNIT_SUBWORDS, AT_UNIT_SYMBOLS};
    static char few[2][2048] = {" ab  abc.", "ab\tab"};
    counting_allocator counter = {0};
    attn_context_options options;
    attn_context_options_init(&options);
    options.allocator = counting_allocator_functions(&counter);
    options.threads = 1;
    attn_context *kept = context;
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    attn_dataset *set = dataset_of(few, 2);
    for (int u = 0; u < 4; u++) {
        int64_t live = counter.live, before = counter.allocations;
        assert_int_equal(work_through(set, kinds[u]), ATTN_OK);
        int64_t needed = counter.allocations - before;
        assert_true(needed > 5);
        for (int64_t n = 1; n <= needed; n++) {
            counter.fail_at = n;
            assert_int_equal(work_through(set, kinds[u]), ATTN_OUT_OF_MEMORY);
            counter.fail_at = 0;
            assert_int_equal(counter.live, live);
        }
    }
    attn_dataset_destroy(set);
    attn_context_destroy(context);
    context = kept;
    assert_int_equal(counter.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_subwords_of_words),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_joined_by_spaces),
        cmocka_unit_test(test_mend),
        cmocka_unit_test(test_mend_in_pieces),
        cmocka_unit_test(test_guess),
        cmocka_unit_test(test_backward),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, setup, test_contexts_teardown);
}
