/* test_growing.c: structs that begin with `size` and may grow at their end, as older and newer callers have
 * them.
 *
 * A caller's struct is a piece of memory of its own size: init functions fill that and no byte beyond;
 * options that are larger than the library's are taken if the rest is 0, and else refused by name, also
 * options that stand inside of others; results are written as far as both go.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "base/options.h"
#include "support/check.h"
#include "support/contexts.h"

enum { MORE = 24, ROOM = 4096, CANARY_BYTE = 0xa5 };

/* Memory for a struct of `size` bytes, with a canary behind it. */
static void *guarded(size_t size) {
    unsigned char *memory = malloc(ROOM);
    assert_non_null(memory);
    assert_true(size < ROOM);
    memset(memory, CANARY_BYTE, ROOM);
    return memory;
}

static void check_guard(const void *memory, size_t size) {
    const unsigned char *bytes = memory;
    for (size_t i = size; i < ROOM; i++) assert_int_equal(bytes[i], CANARY_BYTE);
}

static void test_init_fills_what_the_caller_has(void **state) {
    (void)state;
    attn_encoder_options own;
    attn_encoder_options_init(&own);
    size_t sizes[] = {offsetof(attn_encoder_options, final_norm), sizeof own, sizeof own + MORE};
    for (int s = 0; s < 3; s++) {
        attn_encoder_options *options = guarded(sizes[s]);
        attn_encoder_options_init_sized(options, sizes[s]);
        check_guard(options, sizes[s]);
        assert_int_equal(options->size, sizes[s]);
        assert_int_equal(options->block.mixer.attention.heads, own.block.mixer.attention.heads);
        const unsigned char *bytes = (const unsigned char *)options;
        for (size_t i = sizeof own; i < sizes[s]; i++) assert_int_equal(bytes[i], 0);
        free(options);
    }
    attn_encoder_options_init_sized(NULL, sizeof own);
    attn_encoder_options_init(NULL);
}

static attn_encoder *make(attn_parameters *set, const char *name, const attn_encoder_options *options) {
    return attn_encoder_create(set, name, options);
}

/* Options of a caller that knows more members of the innermost options: in their room there is place for
 * them. */
static void test_options_inside_of_options(void **state) {
    (void)state;
    attn_parameters *set;
    assert_int_equal(attn_parameters_create(test_best_context(1), 3, &set), ATTN_OK);
    attn_encoder_options options;
    attn_encoder_options_init(&options);
    options.columns = 16;
    assert_true(sizeof options.block.mixer.attention + MORE <= ATTN_MULTIHEAD_ROOM);
    options.block.mixer.attention.size += MORE;
    assert_non_null(make(set, "newer", &options)); /* what it knows more of is 0 */
    int64_t parameters = attn_parameters_size(set);
    options.block.mixer.attention.size -= MORE;
    assert_non_null(make(set, "same", &options));
    assert_int_equal(attn_parameters_size(set), 2 * parameters);
    options.block.mixer.attention.size += MORE;
    options.block.mixer.attention_room[sizeof options.block.mixer.attention + 4] = 1;
    assert_null(make(set, "asks", &options));
    assert_int_equal(attn_parameters_status(set), ATTN_UNSUPPORTED);
    assert_non_null(strstr(attn_parameters_error(set), "multihead options.size is"));
    attn_parameters_destroy(set);

    size_t *const sizes[] = {&options.size, &options.block.size, &options.block.mixer.size,
                             &options.block.mixer.attention.size};
    static const char *const named[] = {"encoder options", "block options", "mixer options",
                                        "multihead options"};
    for (int s = 0; s < 4; s++) { /* without init: no version's size */
        attn_encoder_options_init(&options);
        *sizes[s] = 8;
        assert_int_equal(attn_parameters_create(test_best_context(1), 3, &set), ATTN_OK);
        assert_null(make(set, "wrong", &options));
        assert_int_equal(attn_parameters_status(set), ATTN_INVALID_ARGUMENT);
        assert_non_null(strstr(attn_parameters_error(set), named[s]));
        attn_parameters_destroy(set);
    }
}

static void test_places(void **state) {
    (void)state;
    enum { ROWS = 3, COLUMNS = 16 };
    static const int64_t offsets[] = {0, ROWS};
    static float rows[ROWS * COLUMNS], expected[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) rows[i] = (float)(i % 5) / 5;
    attn_context *context = test_best_context(1);
    attn_parameters *set;
    attn_tape *tape;
    assert_int_equal(attn_parameters_create(context, 3, &set), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_encoder_options options;
    attn_encoder_options_init(&options);
    options.columns = COLUMNS;
    attn_encoder *encoder = attn_encoder_create(set, "encoder", &options);
    unsigned char *memory = guarded(sizeof(attn_places) + MORE);
    attn_places *places = (attn_places *)(void *)memory;
    for (int newer = 0; newer < 3; newer++) {
        size_t size = sizeof(attn_places) + (newer ? MORE : 0);
        attn_places_init_sized(places, size);
        places->batch = (attn_ragged){1, offsets};
        if (newer == 2) memory[size - 1] = 1; /* something that this library does not know */
        attn_tape_begin(tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *y =
            attn_encoder_apply(tape, encoder, attn_tape_input(tape, rows, ROWS, COLUMNS, 0), places);
        if (newer == 2) {
            assert_null(y);
            assert_int_equal(attn_tape_status(tape), ATTN_UNSUPPORTED);
            assert_non_null(strstr(attn_tape_error(tape), "places.size is"));
            continue;
        }
        assert_non_null(y);
        const float *now = attn_variable_data(y);
        if (newer == 0) memcpy(expected, now, sizeof expected);
        assert_memory_equal(now, expected, sizeof expected);
    }
    free(memory);
    attn_tape_destroy(tape);
    attn_parameters_destroy(set);
}

static void test_results(void **state) {
    (void)state;
    static const char *const texts[] = {"the cat sat on the mat"};
    attn_context *context = test_best_context(1);
    size_t size = sizeof(attn_bleu) + MORE; /* of a newer caller */
    attn_bleu *bleu = guarded(size);
    attn_bleu_init_sized(bleu, size);
    assert_int_equal(attn_metric_bleu(context, texts, texts, 1, 0, bleu), ATTN_OK);
    assert_int_equal(bleu->size, size);
    assert_true(bleu->score > 99.9 && bleu->right_tokens == 6);
    check_guard(bleu, size);
    for (size_t wrong = 0; wrong < 3; wrong++) { /* forgotten, too small, no size at all */
        static const size_t sizes[] = {0, offsetof(attn_bleu, right_tokens), (size_t)1 << 40};
        memset(bleu, CANARY_BYTE, ROOM);
        bleu->size = sizes[wrong];
        assert_int_equal(attn_metric_bleu(context, texts, texts, 1, 0, bleu), ATTN_INVALID_ARGUMENT);
        assert_non_null(strstr(attn_context_error(context), "call attn_bleu_init() first"));
        check_guard(bleu, sizeof bleu->size);
    }
    free(bleu);
    /* An older caller, whose struct ended earlier: as base/options.h does it. */
    struct {
        size_t size;
        int a, b;
    } own = {sizeof own, 1, 2}, older = {sizeof(size_t) + sizeof(int), 0, 7};
    at_result_give(&older, &own, sizeof own);
    assert_true(older.a == 1 && older.b == 7 && older.size == sizeof(size_t) + sizeof(int));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init_fills_what_the_caller_has),
        cmocka_unit_test(test_options_inside_of_options),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_results),
    };
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
