/* test_numbering.c: units of texts as numbers, made by several threads, against one unit after another. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/symbols/numbering.h"
#include "data/symbols/tally.h"
#include "support/check.h"
#include "support/contexts.h"

/* ---- a tally ---- */

/* Strings of every length up to 40, among them those that differ in their last byte or their length alone. */
static void test_tally(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_tally tally = {.count = 0};
    at_strings strings = {.count = 0};
    char text[64];
    for (int time = 0; time < 3; time++) {
        int64_t expected = 0, number;
        for (int length = 0; length <= 40; length++) {
            for (int last = 0; last < (length ? 5 : 1); last++, expected++) {
                memset(text, 'a', sizeof text);
                if (length) text[length - 1] = (char)("\xff\x80 ab"[last]);
                at_key key = at_key_of(text, (size_t)length);
                assert_int_equal(at_tally_add(context, &tally, &key, length + 1, &number), ATTN_OK);
                assert_int_equal(number, expected);
                assert_int_equal(tally.entries[number].count, (time + 1) * (length + 1));
            }
        }
        assert_int_equal(tally.count, expected);
    }
    assert_int_equal(at_tally_strings(context, &tally, &strings), ATTN_OK);
    assert_int_equal(strings.count, tally.count);
    for (int64_t i = 1; i < strings.count; i++) {
        size_t length = (size_t)(1 + (i - 1) / 5);
        assert_int_equal(at_string_length(&strings, i), length);
        assert_int_equal(at_string(&strings, i)[length - 1], "\xff\x80 ab"[(i - 1) % 5]);
    }
    at_tally_clear(&tally);
    int64_t number;
    at_key key = at_key_of("b", 1);
    assert_int_equal(at_tally_add(context, &tally, &key, 1, &number), ATTN_OK);
    assert_int_equal(number, 0);
    at_tally_free(context, &tally);
    at_strings_free(context, &strings);
}

/* ---- texts ---- */

static attn_status split(const void *user, at_splitter *splitter, int64_t text) {
    const at_strings *texts = user;
    return at_split_text(splitter, at_string(texts, text), at_string_length(texts, text));
}

static int64_t place(const void *user, int64_t text) { return ((const at_strings *)user)->offsets[text]; }

/* Words of natural frequencies and of all lengths, with some that are not ASCII. */
static void make_texts(attn_context *context, at_strings *texts) {
    uint64_t random = 1;
    char line[4096];
    for (int i = 0; i < 30000; i++) {
        size_t used = 0;
        random = at_splitmix64(random);
        for (int words = (int)(random % 20); words > 0; words--) {
            random = at_splitmix64(random);
            uint64_t rank = (random % 1000) * ((random >> 20) % 1000) / 997 * ((random >> 40) % 100) / 97;
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%.*s%s%llu", used ? " " : "",
                                     (int)(rank % 23), "abcdefghijklmnopqrstuvwxyz",
                                     rank % 7 == 0 ? "\xc3\xa9" : "", (unsigned long long)rank);
        }
        assert_int_equal(at_strings_add(context, texts, line, used), ATTN_OK);
    }
}

typedef struct one_by_one {
    attn_context *context;
    at_vocabulary units;
    int32_t *ids;
    int64_t count, room;
} one_by_one;

static attn_status take(void *user, const char *unit, size_t length, int64_t token) {
    one_by_one *into = user;
    int64_t number;
    (void)token;
    assert_int_equal(at_vocabulary_add(into->context, &into->units, unit, length, 1, &number), ATTN_OK);
    assert_true(into->count < into->room);
    into->ids[into->count++] = (int32_t)number;
    return ATTN_OK;
}

static void check_strings(const at_strings *a, const at_strings *b) {
    assert_int_equal(a->count, b->count);
    if (a->count) assert_memory_equal(a->bytes, b->bytes, (size_t)a->offsets[a->count]);
}

static void check_numbers(const at_symbols *symbols, const at_text_list *list, const at_strings *texts,
                          const at_numbered *numbered) {
    one_by_one all = {.context = test_best_context(1), .room = 2 * texts->offsets[texts->count]};
    all.ids = malloc((size_t)all.room * sizeof *all.ids);
    assert_non_null(all.ids);
    at_splitter splitter = at_splitter_of(symbols, all.context, take, &all);
    assert_int_equal(numbered->offsets[0], 0);
    for (int64_t i = 0; i < list->count; i++) {
        assert_int_equal(split(texts, &splitter, i), ATTN_OK);
        if (i < list->numbered) assert_int_equal(numbered->offsets[i + 1], all.count);
        if (i + 1 == list->numbered) assert_int_equal(numbered->count, all.count);
    }
    check_strings(&numbered->units.strings, &all.units.strings);
    assert_memory_equal(numbered->units.counts, all.units.counts,
                        (size_t)all.units.strings.count * sizeof *all.units.counts);
    assert_memory_equal(numbered->ids, all.ids, (size_t)numbered->count * sizeof *all.ids);
    at_splitter_free(&splitter);
    at_vocabulary_free(all.context, &all.units);
    free(all.ids);
}

static void test_threads(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 7};
    at_strings texts = {.count = 0};
    make_texts(test_best_context(1), &texts);
    for (int unit = AT_UNIT_WORDS; unit <= AT_UNIT_SYMBOLS; unit++) {
        at_symbols first = {.context = test_best_context(1)};
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            attn_context *context = test_best_context(threads[t]);
            at_symbols symbols = {.context = context,
                                  .options = {.unit = (at_unit)unit,
                                              .exact = unit == AT_UNIT_SUBWORDS,
                                              .min_count = 2,
                                              .subwords = 300}};
            const at_text_list list = {&texts, texts.count, texts.count - 1000, split, place, NULL};
            at_numbered numbered = {.count = 0}, again = {.count = 0};
            assert_int_equal(at_symbols_learn(&symbols, &list, &numbered), ATTN_OK);
            check_numbers(&symbols, &list, &texts, &numbered);
            assert_int_equal(at_number_units(context, &symbols, &list, &again), ATTN_OK);
            check_numbers(&symbols, &list, &texts, &again);
            if (t > 0) {
                check_strings(&symbols.vocabulary.strings, &first.vocabulary.strings);
                check_strings(&symbols.subwords.merges, &first.subwords.merges);
                at_symbols_free(&symbols);
            } else {
                first = symbols;
            }
            at_numbered_free(context, &numbered);
            at_numbered_free(context, &again);
        }
        at_symbols_free(&first);
    }
    at_strings_free(test_best_context(1), &texts);
}

/* ---- answers that were learned from ---- */

static void test_answers(void **state) {
    (void)state;
    attn_context *context = test_best_context(2);
    at_strings texts = {.count = 0};
    make_texts(context, &texts);
    for (int unit = AT_UNIT_WORDS; unit <= AT_UNIT_SYMBOLS; unit++) {
        at_symbols symbols = {.context = context,
                              .options = {.unit = (at_unit)unit,
                                          .exact = unit == AT_UNIT_SUBWORDS,
                                          .lowercase = unit == AT_UNIT_WORDS,
                                          .min_count = 2,
                                          .subwords = 300}};
        const at_text_list list = {&texts, texts.count, texts.count, split, place, NULL};
        int64_t first = texts.count / 3;
        at_numbered numbered = {.count = 0}, all = {.count = 0}, taken = {.count = 0};
        assert_int_equal(at_symbols_learn(&symbols, &list, &numbered), ATTN_OK);
        assert_int_equal(at_number_units(context, &symbols, &list, &all), ATTN_OK);
        assert_int_equal(at_symbols_keep(&symbols, &texts, &numbered, texts.count, first), ATTN_OK);
        assert_int_equal(numbered.count, all.offsets[first]);
        assert_int_equal(at_symbols_take(&symbols, context, NULL, &taken), 0); /* other answers */
        assert_int_equal(at_symbols_take(&symbols, test_best_context(1), &texts, &taken), 0);
        assert_int_equal(at_symbols_take(&symbols, context, &texts, &taken), 1);
        assert_int_equal(taken.count, all.count - numbered.count);
        for (int64_t i = first; i <= texts.count; i++)
            assert_int_equal(taken.offsets[i - first], all.offsets[i] - all.offsets[first]);
        char *buffer = NULL;
        int64_t room = 0, symbol;
        for (int64_t i = 0; i < taken.count; i += 7) {
            int32_t id = all.ids[all.offsets[first] + i];
            const at_strings *units = &all.units.strings;
            assert_int_equal(at_symbols_find(&symbols, context, at_string(units, id),
                                             at_string_length(units, id), &buffer, &room, &symbol),
                             ATTN_OK);
            assert_int_equal(taken.ids[i], symbol);
        }
        at_numbered_free(context, &taken);
        assert_int_equal(at_symbols_take(&symbols, context, &texts, &taken), 0); /* they are gone */
        at_release(context, buffer);
        at_numbered_free(context, &numbered);
        at_numbered_free(context, &all);
        at_symbols_free(&symbols);
    }
    at_strings_free(context, &texts);
}

/* ---- how far it is ---- */

typedef struct heard {
    int64_t done, total, calls;
    pthread_t thread;
} heard;

static void hear(void *user, const char *name, int64_t done, int64_t total) {
    heard *so_far = user;
    assert_string_equal(name, "texts");
    assert_true(done > so_far->done && done <= total);
    assert_true(so_far->calls == 0 || total == so_far->total);
    assert_true(pthread_equal(pthread_self(), so_far->thread));
    so_far->done = done;
    so_far->total = total;
    so_far->calls++;
}

/* The end is told, whatever the time, by the caller's thread; without a name nothing is. */
static void test_progress(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 7};
    at_strings texts = {.count = 0};
    make_texts(test_best_context(1), &texts);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        attn_context *context = test_best_context(threads[t]);
        at_symbols symbols = {.context = context, .options = {.unit = AT_UNIT_WORDS}};
        at_text_list list = {&texts, texts.count, texts.count, split, place, "texts"};
        heard so_far = {.thread = pthread_self()};
        at_listener listener = {.tell = hear, .user = &so_far};
        at_numbered numbered = {.count = 0};
        context->listener = &listener;
        assert_int_equal(at_number_units(context, &symbols, &list, &numbered), ATTN_OK);
        assert_true(so_far.calls > 0);
        assert_int_equal(so_far.done, texts.offsets[texts.count]);
        assert_int_equal(so_far.total, so_far.done);
        at_numbered_free(context, &numbered);
        int64_t calls = so_far.calls;
        list.name = NULL;
        assert_int_equal(at_number_units(context, &symbols, &list, &numbered), ATTN_OK);
        assert_int_equal(so_far.calls, calls);
        context->listener = NULL;
        at_numbered_free(context, &numbered);
    }
    at_strings_free(test_best_context(1), &texts);
}

/* ---- lists of strings ---- */

static void test_add_list(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    at_strings from = {.count = 0}, to = {.count = 0}, expected = {.count = 0};
    make_texts(context, &from);
    uint64_t random = 3;
    for (int i = 0; i < 200; i++) {
        random = at_splitmix64(random);
        int64_t first = (int64_t)(random % 29000), count = (int64_t)((random >> 32) % 5);
        assert_int_equal(at_strings_add_list(context, &to, &from, first, count), ATTN_OK);
        for (int64_t k = first; k < first + count; k++)
            assert_int_equal(
                at_strings_add(context, &expected, at_string(&from, k), at_string_length(&from, k)), ATTN_OK);
        check_strings(&to, &expected);
        if (to.count)
            assert_memory_equal(to.offsets, expected.offsets, (size_t)(to.count + 1) * sizeof *to.offsets);
    }
    at_strings_free(context, &from);
    at_strings_free(context, &to);
    at_strings_free(context, &expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tally), cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_answers), cmocka_unit_test(test_progress),
                                       cmocka_unit_test(test_add_list)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
