/* test_tasks.c: sort, reverse and copy, learned: that all parts together train.
 *
 * A small version of `attn bench tasks`: sequences of 1 to 5 of 6 symbols. One
 * in eight, by a hash, is never trained on; of those 95 % must be right from
 * end to end. Copying and sorting want positions as much as reversing does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/random.h"

enum { SYMBOLS = 6, LONGEST = 5, BATCH = 48, STEPS = 500, COLUMNS = 32, TESTS = 480 };
enum { SORT, REVERSE, COPY };

typedef struct batch {
    int64_t offsets[BATCH + 1];
    int32_t symbols[BATCH * LONGEST], answers[BATCH * LONGEST];
} batch;

static int by_size(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

static void fill(int task, int unseen, test_random *random, batch *b) {
    b->offsets[0] = 0;
    for (int s = 0; s < BATCH; s++) {
        int32_t *symbols = b->symbols + b->offsets[s], *answers = b->answers + b->offsets[s];
        int64_t length;
        uint32_t hash;
        do {
            length = random_between(random, 1, LONGEST);
            hash = 2166136261u;
            for (int64_t i = 0; i < length; i++) {
                symbols[i] = (int32_t)random_between(random, 0, SYMBOLS - 1);
                hash = (hash ^ (uint32_t)symbols[i]) * 16777619u;
            }
        } while (((hash >> 16) % 8 == 0) != unseen);
        for (int64_t i = 0; i < length; i++) answers[i] = symbols[task == REVERSE ? length - 1 - i : i];
        if (task == SORT) qsort(answers, (size_t)length, sizeof *answers, by_size);
        b->offsets[s + 1] = b->offsets[s] + length;
    }
}

static int right_ones(const batch *b, const float *scores) {
    int right = 0;
    for (int s = 0; s < BATCH; s++) {
        int same = 1;
        for (int64_t i = b->offsets[s]; i < b->offsets[s + 1]; i++) {
            int best = 0;
            for (int c = 1; c < SYMBOLS; c++)
                if (scores[i * SYMBOLS + c] > scores[i * SYMBOLS + best]) best = c;
            same &= best == b->answers[i];
        }
        right += same;
    }
    return right;
}

static void learn(int task) {
    attn_context *context = test_best_context(2);
    attn_parameters *parameters;
    attn_tape *tape;
    attn_optimizer *optimizer;
    assert_int_equal(attn_parameters_create(context, 3, &parameters), ATTN_OK);
    assert_int_equal(attn_tape_create(context, &tape), ATTN_OK);
    attn_encoder_options shape;
    attn_encoder_options_init(&shape);
    shape.columns = COLUMNS;
    shape.position = ATTN_POSITION_LEARNED;
    shape.longest = LONGEST;
    shape.block.inner = 64;
    attn_embedding *words = attn_embedding_create(parameters, "symbols", SYMBOLS, COLUMNS);
    attn_encoder *encoder = attn_encoder_create(parameters, "encoder", &shape);
    attn_linear *output = attn_linear_create(parameters, "output", COLUMNS, SYMBOLS, 1, ATTN_IDENTITY);
    attn_optimizer_options options;
    attn_optimizer_options_init(&options);
    options.learning_rate = 5e-3;
    options.clip_norm = 1.0;
    options.schedule = ATTN_SCHEDULE_COSINE;
    options.warmup_steps = 30;
    options.total_steps = STEPS;
    assert_int_equal(attn_optimizer_create(parameters, &options, &optimizer), ATTN_OK);
    test_random random = {77};
    static batch b;
    int right = 0;
    for (int step = 0; step < STEPS + TESTS / BATCH; step++) {
        int testing = step >= STEPS;
        fill(task, testing, &random, &b);
        attn_places places;
        attn_places_init(&places);
        places.batch = (attn_ragged){BATCH, b.offsets};
        attn_tape_begin(tape, testing ? ATTN_TAPE_PREDICT : ATTN_TAPE_TRAIN, (uint64_t)step);
        attn_variable *x = attn_embedding_apply(tape, words, b.symbols, b.offsets[BATCH]);
        x = attn_linear_apply(tape, output, attn_encoder_apply(tape, encoder, x, &places));
        if (testing) {
            assert_non_null(x);
            right += right_ones(&b, attn_variable_data(x));
            continue;
        }
        attn_variable *loss = attn_tape_cross_entropy(tape, x, b.answers, NULL);
        if (attn_tape_backward(tape, loss, NULL) != ATTN_OK) fail_msg("%s", attn_tape_error(tape));
        assert_int_equal(attn_optimizer_step(optimizer), ATTN_OK);
    }
    if (right < TESTS * 95 / 100)
        fail_msg("task %d: %d of %d unseen sequences are right", task, right, TESTS);
    attn_optimizer_destroy(optimizer);
    attn_tape_destroy(tape);
    attn_parameters_destroy(parameters);
}

static void test_sort(void **state) {
    (void)state;
    learn(SORT);
}
static void test_reverse(void **state) {
    (void)state;
    learn(REVERSE);
}
static void test_copy(void **state) {
    (void)state;
    learn(COPY);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sort), cmocka_unit_test(test_reverse),
                                       cmocka_unit_test(test_copy)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
