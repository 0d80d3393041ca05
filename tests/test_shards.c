/* test_shards.c: steps in shards: how a batch is cut, and the gradients of workers against those of one tape.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "data/plan.h"
#include "support/check.h"
#include "support/contexts.h"
#include "tape/parameters.h"

/* ---- cutting ---- */

/* Parts have all segments, each once, none is empty, and none has much more than its share. With the longest
 * first they are even, and so are halves of them; one that is longer than all others is alone. */
static void test_deal(void **state) {
    (void)state;
    enum { MOST = 40 };
    at_segment list[MOST];
    int64_t order[MOST], first[MOST + 1], scratch[5 * MOST];
    uint64_t random = 7;
    for (int count = 1; count <= MOST; count++) {
        int64_t longest = 0, all = 0;
        for (int i = 0; i < count; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            list[i] = (at_segment){i, 0, (int64_t)(random >> 60), (int64_t)(random >> 40) % 3};
            order[i] = count - 1 - i;
            int64_t length = list[i].count + list[i].answer;
            if (length > longest) longest = length;
            all += length;
        }
        const at_segments segments = {list, count, MOST};
        assert_int_equal(at_segments_units(&segments, order, count), all);
        for (int64_t pieces = 1; pieces <= count; pieces++) {
            int seen[MOST] = {0};
            at_plan_deal(&segments, order, count, pieces, first, scratch);
            assert_int_equal(first[0], 0);
            assert_int_equal(first[pieces], count);
            for (int i = 0; i < count; i++) assert_int_equal(seen[order[i]]++, 0);
            for (int64_t p = 0; p < pieces; p++) {
                assert_true(first[p] < first[p + 1]);
                int64_t units = at_segments_units(&segments, order + first[p], first[p + 1] - first[p]);
                assert_true((double)units <= (double)all / (double)pieces + 2 * (double)longest);
            }
        }
    }
    for (int i = 0; i < MOST; i++) { /* 40, 39, ... 1 in four parts: 205 each */
        list[i] = (at_segment){i, 0, MOST - i, 0};
        order[i] = i;
    }
    const at_segments segments = {list, MOST, MOST};
    at_plan_deal(&segments, order, MOST, 4, first, scratch);
    for (int p = 0; p < 4; p++) {
        int64_t units = at_segments_units(&segments, order + first[p], first[p + 1] - first[p]);
        assert_true(units >= 204 && units <= 206);
    }
    for (int i = 0; i < MOST; i++) order[i] = i;
    list[0].count = 1000;
    at_plan_deal(&segments, order, MOST, 8, first, scratch);
    assert_int_equal(order[0], 0);
    assert_int_equal(first[1], 1);
    assert_int_equal(first[4], 4); /* the others of its half get what they need, and no more */
}

/* ---- a network ---- */

enum { WORDS = 50, COLUMNS = 24, CLASSES = 7, SENTENCES = 24, LENGTH = 5, ROWS = SENTENCES * LENGTH };

typedef struct network {
    attn_context *context;
    attn_parameters *set;
    attn_parameter *table, *unused;
    attn_linear *hidden, *output;
    int32_t words[ROWS], classes[ROWS];
    int64_t shards, fails; /* the shard that fails; -1: none */
    float dropout;
} network;

static void open_network(network *of, int threads) {
    *of = (network){.context = test_best_context(threads), .fails = -1};
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_EMBEDDING;
    options.initial = ATTN_INITIAL_NORMAL;
    int64_t shape[2] = {WORDS, COLUMNS};
    assert_int_equal(attn_parameters_create(of->context, 3, &of->set), ATTN_OK);
    of->table = attn_parameters_add(of->set, "table", 2, shape, &options);
    of->unused = attn_parameters_add(of->set, "unused", 1, shape, &options);
    of->hidden = attn_linear_create(of->set, "hidden", COLUMNS, COLUMNS, 1, ATTN_RELU);
    of->output = attn_linear_create(of->set, "output", COLUMNS, CLASSES, 1, ATTN_IDENTITY);
    assert_int_equal(attn_parameters_status(of->set), ATTN_OK);
    for (int i = 0; i < ROWS; i++) {
        of->words[i] = (i * i + 3 * i) % (WORDS - 20); /* some rows are never touched */
        of->classes[i] = (5 * i + i / 7) % CLASSES;
    }
}

/* The hidden map is used twice, so that gradients are added within a shard, too. */
static attn_variable *loss_of(const network *of, attn_tape *tape, int64_t first, int64_t end) {
    attn_variable *x = attn_tape_embedding(tape, of->table, of->words + first, end - first);
    x = attn_linear_apply(tape, of->hidden, attn_linear_apply(tape, of->hidden, x));
    x = attn_tape_dropout(tape, x, of->dropout);
    x = attn_tape_cross_entropy(tape, attn_linear_apply(tape, of->output, x), of->classes + first, NULL);
    return attn_tape_scale(tape, x, (float)(end - first) / ROWS);
}

static attn_variable *record(void *user, attn_tape *tape, int64_t shard) {
    const network *of = user;
    if (of->fails >= 0 && shard >= of->fails)
        return attn_tape_embedding(tape, of->table, of->words, -shard); /* it names its number */
    return loss_of(of, tape, SENTENCES * shard / of->shards * LENGTH,
                   SENTENCES * (shard + 1) / of->shards * LENGTH);
}

static float *gradients_of(const network *of) {
    float *all = malloc((size_t)attn_parameters_size(of->set) * sizeof *all), *at = all;
    assert_non_null(all);
    for (int64_t i = 0; i < attn_parameters_count(of->set); i++) {
        attn_parameter *parameter = attn_parameters_at(of->set, i);
        assert_int_equal(at_parameter_host_read_gradient(parameter, at), ATTN_OK);
        at += parameter->count;
    }
    return all;
}

/* ---- gradients ---- */

static void test_gradients(void **state) {
    (void)state;
    network of;
    attn_tape *tape;
    attn_workers *workers;
    open_network(&of, 2);
    assert_int_equal(attn_tape_create(of.context, &tape), ATTN_OK);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, 1);
    attn_variable *whole = loss_of(&of, tape, 0, ROWS);
    assert_int_equal(attn_tape_backward(tape, whole, NULL), ATTN_OK);
    float expected_loss;
    assert_int_equal(attn_variable_read(whole, &expected_loss), ATTN_OK);
    float *expected = gradients_of(&of);
    assert_int_equal(attn_workers_create(of.set, &workers), ATTN_OK);
    for (of.shards = 1; of.shards <= SENTENCES; of.shards++) {
        double loss;
        assert_int_equal(attn_workers_run(workers, of.shards, 1, record, &of, &loss), ATTN_OK);
        assert_true(fabs(loss - (double)expected_loss) <= 1e-6 * fabs((double)expected_loss));
        assert_int_equal(of.unused->gradient.touched, 0);
        float *now = gradients_of(&of);
        for (int64_t i = 0; i < attn_parameters_size(of.set); i++)
            assert_true(fabs((double)now[i] - (double)expected[i]) <= 1e-7); /* the largest are about 0.05 */
        free(now);
    }
    attn_workers_destroy(workers);
    free(expected);
    attn_tape_destroy(tape);
    attn_parameters_destroy(of.set);
}

/* The same bits for every number of threads, with dropout, in step after step. */
static void test_threads(void **state) {
    (void)state;
    enum { STEPS = 5 };
    float *first[SENTENCES + 1][STEPS] = {{NULL}};
    for (int threads = 1; threads <= 7; threads += threads == 2 ? 5 : 1) {
        network of;
        attn_workers *workers;
        attn_optimizer *optimizer;
        attn_optimizer_options options;
        attn_optimizer_options_init(&options);
        open_network(&of, threads);
        of.dropout = 0.3f;
        assert_int_equal(attn_optimizer_create(of.set, &options, &optimizer), ATTN_OK);
        assert_int_equal(attn_workers_create(of.set, &workers), ATTN_OK);
        for (of.shards = 1; of.shards <= SENTENCES; of.shards++) {
            for (int step = 0; step < STEPS; step++) {
                double loss;
                uint64_t seed = (uint64_t)(10 * of.shards + step);
                assert_int_equal(attn_workers_run(workers, of.shards, seed, record, &of, &loss), ATTN_OK);
                assert_true(isfinite(loss));
                float *now = gradients_of(&of);
                size_t bytes = (size_t)attn_parameters_size(of.set) * sizeof *now;
                if (threads == 1) {
                    first[of.shards][step] = now;
                } else {
                    assert_memory_equal(first[of.shards][step], now, bytes);
                    free(now);
                }
                assert_int_equal(attn_optimizer_step(optimizer), ATTN_OK);
            }
        }
        attn_workers_destroy(workers);
        attn_optimizer_destroy(optimizer);
        attn_parameters_destroy(of.set);
    }
    for (int s = 1; s <= SENTENCES; s++)
        for (int i = 0; i < STEPS; i++) free(first[s][i]);
}

/* ---- failures ---- */

static attn_variable *record_nothing(void *user, attn_tape *tape, int64_t shard) {
    (void)user;
    (void)tape;
    (void)shard;
    return NULL;
}

static void test_failures(void **state) {
    (void)state;
    for (int threads = 1; threads <= 7; threads += 3) {
        network of;
        attn_workers *workers;
        double loss = 5;
        open_network(&of, threads);
        assert_int_equal(attn_workers_create(NULL, &workers), ATTN_INVALID_ARGUMENT);
        assert_int_equal(attn_workers_create(of.set, NULL), ATTN_INVALID_ARGUMENT);
        assert_int_equal(attn_workers_create(of.set, &workers), ATTN_OK);
        assert_int_equal(attn_workers_run(NULL, 1, 1, record, &of, NULL), ATTN_INVALID_ARGUMENT);
        assert_int_equal(attn_workers_run(workers, 0, 1, record, &of, NULL), ATTN_INVALID_ARGUMENT);
        assert_int_equal(attn_workers_run(workers, 1, 1, NULL, &of, NULL), ATTN_INVALID_ARGUMENT);
        assert_int_equal(attn_workers_run(workers, 3, 1, record_nothing, &of, &loss), ATTN_INVALID_ARGUMENT);
        assert_non_null(strstr(attn_context_error(of.context), "returned NULL"));
        of.shards = 9;
        of.fails = 5;
        for (int i = 0; i < 20; i++) {
            assert_int_not_equal(attn_workers_run(workers, of.shards, 1, record, &of, &loss), ATTN_OK);
            assert_non_null(strstr(attn_context_error(of.context), "embedding"));
        }
        assert_true(loss == 5);
        of.fails = -1; /* the next step is as if nothing had been */
        assert_int_equal(attn_workers_run(workers, of.shards, 1, record, &of, &loss), ATTN_OK);
        float *now = gradients_of(&of);
        assert_int_equal(attn_workers_run(workers, of.shards, 1, record, &of, &loss), ATTN_OK);
        float *again = gradients_of(&of);
        assert_memory_equal(now, again, (size_t)attn_parameters_size(of.set) * sizeof *now);
        free(now);
        free(again);
        int64_t shape = 3;
        attn_parameters_add(of.set, "late", 1, &shape, NULL);
        assert_int_equal(attn_workers_run(workers, 1, 1, record, &of, &loss), ATTN_INVALID_ARGUMENT);
        assert_non_null(strstr(attn_context_error(of.context), "added since"));
        attn_workers_destroy(workers);
        attn_workers_destroy(NULL);
        attn_parameters_destroy(of.set);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_deal), cmocka_unit_test(test_gradients),
                                       cmocka_unit_test(test_threads), cmocka_unit_test(test_failures)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
