/* test_reduce.c: sums over ranks (train/reduce.h) have the bits of one process that adds all shards.
 *
 * The ranks are threads; gradients are random, with zeros of both signs, parameters that some or all shards
 * leave untouched, tables of which only rows are written, frozen parameters.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/protected_backend.h"
#include "support/reducing.h"
#include "tape/parameters.h"

enum { MOST_RANKS = 5 };

typedef struct rank_thread {
    const reducing_case *c;
    attn_context *context;
    attn_exchange *exchange;
    reducing_result result;
} rank_thread;

static void *run_rank(void *argument) {
    rank_thread *rank = argument;
    reducing_rank(rank->c, rank->context, rank->exchange, &rank->result);
    return NULL;
}

/* All ranks at once; each must have what one process has. */
static void check_ranks(const reducing_case *c, int ranks, int windows) {
    static reducing_result alone;
    static rank_thread threads[MOST_RANKS];
    attn_context *contexts[MOST_RANKS] = {NULL};
    attn_exchange *exchanges[MOST_RANKS];
    pthread_t ids[MOST_RANKS];
    reducing_alone(c, &alone);
    for (int r = 0; r < ranks; r++) assert_non_null(contexts[r] = reducing_context(c->backend));
    assert_int_equal(at_exchange_threads(contexts, ranks, windows, exchanges), ATTN_OK);
    for (int r = 0; r < ranks; r++) {
        threads[r] = (rank_thread){.c = c, .context = contexts[r], .exchange = exchanges[r]};
        assert_int_equal(pthread_create(&ids[r], NULL, run_rank, &threads[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(ids[r], NULL);
    for (int r = 0; r < ranks; r++) {
        char text[REDUCING_TEXT];
        if (reducing_differs(&alone, &threads[r].result, !c->fast, text))
            fail_msg("seed %d, %d shards, rank %d of %d, step %d, %s: %s", (int)c->seed, (int)c->shards, r,
                     ranks, c->steps, windows ? "windows" : "messages", text);
        reducing_free(&threads[r].result);
        attn_exchange_close(exchanges[r]);
        attn_context_destroy(contexts[r]);
    }
    reducing_free(&alone);
}

/* By messages, and through windows. */
static void check_case(const reducing_case *c, int ranks) {
    check_ranks(c, ranks, 0);
    check_ranks(c, ranks, 1);
}

static void test_bits(void **state) {
    (void)state;
    for (int64_t shards = 1; shards <= 9; shards++) {
        for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
            for (uint64_t seed = 1; seed <= 6; seed++) {
                reducing_case c = {.seed = seed * 100 + (uint64_t)shards, .shards = shards, .steps = 1};
                check_case(&c, ranks);
            }
            reducing_case c = {.seed = (uint64_t)shards, .shards = shards, .steps = 4};
            check_case(&c, ranks);
        }
    }
}

static void test_many_shards(void **state) {
    (void)state;
    for (int ranks = 2; ranks <= MOST_RANKS; ranks++) {
        for (int64_t shards = 13; shards <= 64; shards += 17) {
            reducing_case c = {.seed = 5, .shards = shards, .steps = 2};
            check_case(&c, ranks);
        }
    }
}

/* Several buckets, and parameters that take several rounds. */
static void test_large(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        reducing_case c = {.seed = seed, .shards = 3, .steps = 2, .large = 1};
        check_case(&c, 2);
        c.shards = 5;
        check_case(&c, 3);
    }
}

static void test_fast(void **state) {
    (void)state;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
        for (int64_t shards = 1; shards <= 9; shards += 2) {
            reducing_case c = {.seed = 3, .shards = shards, .steps = 3, .fast = 1};
            check_case(&c, ranks);
        }
    }
    reducing_case c = {.seed = 8, .shards = 4, .steps = 1, .fast = 1, .large = 1};
    check_case(&c, 2);
}

/* Memory that the host cannot reach. */
static void test_backend(void **state) {
    (void)state;
    for (int fast = 0; fast < 2; fast++) {
        for (int ranks = 1; ranks <= 3; ranks++) {
            reducing_case c = {
                .seed = 4, .shards = 5, .steps = 2, .fast = fast, .backend = test_protected_backend()};
            check_case(&c, ranks);
        }
    }
    assert_int_equal(test_protected_bytes(), 0);
}

/* ---- two ranks ---- */

static const int64_t one_each[3] = {0, 1, 2}; /* bounds: a shard each */

static void open_two(attn_context **contexts, attn_exchange **exchanges) {
    for (int r = 0; r < 2; r++) assert_non_null(contexts[r] = reducing_context(NULL));
    assert_int_equal(at_exchange_threads(contexts, 2, 1, exchanges), ATTN_OK);
}

static void close_two(attn_context **contexts, attn_exchange **exchanges) {
    for (int r = 0; r < 2; r++) {
        attn_exchange_close(exchanges[r]);
        attn_context_destroy(contexts[r]);
    }
}

/* ---- what travels ---- */

typedef struct sparse_rank {
    attn_context *context;
    attn_exchange *exchange;
    attn_status status;
    int64_t sent;
} sparse_rank;

/* A table of 10,000 rows of which each rank writes three, and a weight that nobody touches. */
static void *add_few_rows(void *argument) {
    sparse_rank *rank = argument;
    attn_parameters *set = NULL;
    at_reduce *reduce = NULL;
    at_gradients *own = NULL;
    attn_parameter_options options;
    const int64_t table[2] = {10000, 64}, weight[2] = {500, 500};
    int64_t rows[3] = {7, 4000 + attn_exchange_rank(rank->exchange), 9999};
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_EMBEDDING;
    attn_parameters_create(rank->context, 1, &set);
    attn_parameter *parameter = attn_parameters_add(set, "table", 2, table, &options);
    attn_parameters_add(set, "weight", 2, weight, NULL);
    at_gradients_create(rank->context, set, 1, &own);
    at_reduce_create(rank->context, rank->exchange, set, 0, &reduce);
    at_slot_for_rows(rank->context, parameter, at_gradients_slot(own, 0), rows, 3);
    rank->status = at_reduce_begin(reduce, one_each, &own, NULL);
    if (rank->status == ATTN_OK) rank->status = at_reduce_wait(reduce);
    rank->sent = attn_exchange_sent(rank->exchange);
    at_reduce_destroy(reduce);
    at_gradients_destroy(own);
    attn_parameters_destroy(set);
    return NULL;
}

static void test_what_travels(void **state) {
    (void)state;
    sparse_rank ranks[2];
    attn_context *contexts[2] = {NULL};
    attn_exchange *exchanges[2];
    pthread_t ids[2];
    open_two(contexts, exchanges);
    for (int r = 0; r < 2; r++) {
        ranks[r] = (sparse_rank){contexts[r], exchanges[r], ATTN_OK, 0};
        assert_int_equal(pthread_create(&ids[r], NULL, add_few_rows, &ranks[r]), 0);
    }
    for (int r = 0; r < 2; r++) pthread_join(ids[r], NULL);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(ranks[r].status, ATTN_OK);
        /* two states, a bit per row, half of four rows there and half of them back */
        assert_int_equal(ranks[r].sent, 2 + 157 * 8 + 2 * 2 * 64 * 4);
        attn_exchange_close(exchanges[r]);
        attn_context_destroy(contexts[r]);
    }
}

/* ---- a rank that gives up ---- */

typedef struct quitting {
    attn_context *context;
    attn_exchange *exchange;
    attn_status status;
    int stays;
} quitting;

/* One rank begins a step and leaves in the middle of it: the other's wait ends with an error that says so. */
static void *quit_or_wait(void *argument) {
    quitting *q = argument;
    attn_parameters *set = NULL;
    at_reduce *reduce = NULL;
    at_gradients *own = NULL;
    const int64_t shape[2] = {600, 600};
    attn_parameters_create(q->context, 1, &set);
    attn_parameters_add(set, "a", 2, shape, NULL);
    attn_parameters_add(set, "b", 2, shape, NULL);
    at_gradients_create(q->context, set, 1, &own);
    at_reduce_create(q->context, q->exchange, set, 0, &reduce);
    q->status = at_reduce_begin(reduce, one_each, &own, NULL);
    at_reduce_ready(reduce, 0);
    if (q->stays && q->status == ATTN_OK) q->status = at_reduce_wait(reduce);
    if (q->stays && at_reduce_begin(reduce, one_each, &own, NULL) == ATTN_OK)
        q->status = ATTN_OK; /* it stays failed */
    at_reduce_destroy(reduce);
    at_gradients_destroy(own);
    attn_parameters_destroy(set);
    if (!q->stays) attn_exchange_abort(q->exchange, 1);
    return NULL;
}

static void test_quit(void **state) {
    (void)state;
    quitting ranks[2];
    attn_context *contexts[2] = {NULL};
    attn_exchange *exchanges[2];
    pthread_t ids[2];
    open_two(contexts, exchanges);
    for (int r = 0; r < 2; r++) {
        ranks[r] = (quitting){contexts[r], exchanges[r], ATTN_OK, r == 0};
        assert_int_equal(pthread_create(&ids[r], NULL, quit_or_wait, &ranks[r]), 0);
    }
    for (int r = 0; r < 2; r++) pthread_join(ids[r], NULL);
    assert_int_equal(ranks[1].status, ATTN_OK);
    assert_int_equal(ranks[0].status, ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(contexts[0]), "rank 1 has left"));
    close_two(contexts, exchanges);
}

/* ---- two networks in a step ---- */

typedef struct paired {
    attn_context *context;
    attn_exchange *exchange;
    int fails;               /* its first exchange fails, and no other rank's does */
    attn_status statuses[2]; /* of the two waits */
    int64_t wrong;           /* sums that are not what they should be */
    char error[256];
} paired;

enum { PAIRED_NUMBERS = 700 * 700 };

/* Two sets at once, the second after the first; all buckets of the second are ready first. */
static void *sum_two_sets(void *argument) {
    paired *p = argument;
    attn_parameters *sets[2] = {NULL};
    at_reduce *reduces[2] = {NULL};
    at_gradients *owns[2] = {NULL};
    const int64_t shape[2] = {700, 700};
    int rank = attn_exchange_rank(p->exchange);
    for (int i = 0; i < 2; i++) {
        attn_parameters_create(p->context, 1, &sets[i]);
        attn_parameter *parameter = attn_parameters_add(sets[i], "a", 2, shape, NULL);
        at_gradients_create(p->context, sets[i], 1, &owns[i]);
        at_reduce_create(p->context, p->exchange, sets[i], 0, &reduces[i]);
        at_slot *slot = at_gradients_slot(owns[i], 0);
        float *numbers = at_slot_in_full(p->context, parameter, slot);
        for (int n = 0; n < PAIRED_NUMBERS; n++) numbers[n] = (float)(n % 1000 + 7 * rank + 1000 * i);
        parameter->frozen = p->fails && i == 0;
        if (parameter->frozen) at_slot_free(parameter, slot);
    }
    for (int i = 0; i < 2; i++)
        p->statuses[i] = at_reduce_begin(reduces[i], one_each, &owns[i], i ? reduces[0] : NULL);
    for (int i = 1; i >= 0; i--) at_reduce_ready(reduces[i], 0);
    for (int i = 0; i < 2; i++) {
        if (p->statuses[i] == ATTN_OK) p->statuses[i] = at_reduce_wait(reduces[i]);
        const float *numbers = at_gradients_slot(owns[i], 0)->numbers;
        for (int n = 0; n < PAIRED_NUMBERS && p->statuses[i] == ATTN_OK; n++)
            p->wrong += numbers[n] != (float)(2 * (n % 1000 + 1000 * i) + 7);
    }
    snprintf(p->error, sizeof p->error, "%.200s", attn_context_error(p->context));
    if (p->fails) attn_exchange_abort(p->exchange, 1);
    for (int i = 0; i < 2; i++) {
        at_reduce_destroy(reduces[i]);
        at_gradients_destroy(owns[i]);
        attn_parameters_destroy(sets[i]);
    }
    return NULL;
}

static void run_pair(int fails, paired *ranks) {
    attn_context *contexts[2] = {NULL};
    attn_exchange *exchanges[2];
    pthread_t ids[2];
    open_two(contexts, exchanges);
    for (int r = 0; r < 2; r++) {
        ranks[r] = (paired){.context = contexts[r], .exchange = exchanges[r], .fails = fails && r == 1};
        assert_int_equal(pthread_create(&ids[r], NULL, sum_two_sets, &ranks[r]), 0);
    }
    for (int r = 0; r < 2; r++) pthread_join(ids[r], NULL);
    close_two(contexts, exchanges);
}

static void test_two_sets(void **state) {
    (void)state;
    paired ranks[2];
    run_pair(0, ranks);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(ranks[r].statuses[0], ATTN_OK);
        assert_int_equal(ranks[r].statuses[1], ATTN_OK);
        assert_int_equal(ranks[r].wrong, 0);
    }
}

/* A rank that fails alone at the first set does not continue to the second, where the other is not yet. */
static void test_two_sets_fail(void **state) {
    (void)state;
    paired ranks[2];
    run_pair(1, ranks);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ranks[1].statuses[i], ATTN_INVALID_ARGUMENT);
        assert_int_equal(ranks[0].statuses[i], ATTN_SYSTEM_ERROR);
    }
    assert_non_null(strstr(ranks[1].error, "frozen in this rank alone"));
    assert_non_null(strstr(ranks[0].error, "rank 1 has left"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sets),    cmocka_unit_test(test_two_sets_fail),
        cmocka_unit_test(test_bits),        cmocka_unit_test(test_many_shards),
        cmocka_unit_test(test_large),       cmocka_unit_test(test_fast),
        cmocka_unit_test(test_backend),     cmocka_unit_test(test_quit),
        cmocka_unit_test(test_what_travels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
