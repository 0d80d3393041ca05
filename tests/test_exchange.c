/* test_exchange.c: ranks that are threads, and what an exchange says without a launcher or a module. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/exchanging.h"
#include "support/reducing.h"

enum { MOST_RANKS = 5 };

/* ---- threads ---- */

typedef struct rank_thread {
    attn_context *context;
    attn_exchange *exchange;
    int failed;
    char text[EXCHANGING_TEXT];
} rank_thread;

static void *make_calls(void *argument) {
    rank_thread *rank = argument;
    rank->failed = exchanging_fails(rank->context, rank->exchange, rank->text);
    if (rank->failed) attn_exchange_abort(rank->exchange, 1);
    return NULL;
}

static void *wait_for_all(void *argument) {
    rank_thread *rank = argument;
    rank->failed = attn_exchange_barrier(rank->exchange) != ATTN_OK;
    return NULL;
}

static void open_ranks(int ranks, rank_thread *threads) {
    attn_context *contexts[MOST_RANKS] = {NULL};
    attn_exchange *exchanges[MOST_RANKS];
    for (int r = 0; r < ranks; r++) assert_non_null(contexts[r] = reducing_context(NULL));
    assert_int_equal(at_exchange_threads(contexts, ranks, 1, exchanges), ATTN_OK);
    for (int r = 0; r < ranks; r++) {
        threads[r] = (rank_thread){.context = contexts[r], .exchange = exchanges[r]};
        assert_int_equal(attn_exchange_rank(exchanges[r]), r);
        assert_int_equal(attn_exchange_ranks(exchanges[r]), ranks);
    }
}

static void close_rank(rank_thread *rank) {
    attn_exchange_close(rank->exchange);
    attn_context_destroy(rank->context);
}

static void test_calls(void **state) {
    (void)state;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
        rank_thread threads[MOST_RANKS];
        pthread_t ids[MOST_RANKS];
        open_ranks(ranks, threads);
        for (int r = 0; r < ranks; r++)
            assert_int_equal(pthread_create(&ids[r], NULL, make_calls, &threads[r]), 0);
        for (int r = 0; r < ranks; r++) pthread_join(ids[r], NULL);
        for (int r = 0; r < ranks; r++) {
            if (threads[r].failed) fail_msg("rank %d of %d: %s", r, ranks, threads[r].text);
            close_rank(&threads[r]);
        }
    }
}

/* Who waits for a rank that has gone is told so. */
static void test_left(void **state) {
    (void)state;
    rank_thread threads[3];
    pthread_t ids[2];
    open_ranks(3, threads);
    for (int r = 0; r < 2; r++) assert_int_equal(pthread_create(&ids[r], NULL, wait_for_all, &threads[r]), 0);
    close_rank(&threads[2]);
    for (int r = 0; r < 2; r++) {
        pthread_join(ids[r], NULL);
        assert_int_equal(threads[r].failed, 1);
        assert_non_null(strstr(attn_context_error(threads[r].context), "rank 2 has left"));
        close_rank(&threads[r]);
    }
}

/* A rank that has no memory to take part says that the others do not know of it. */
static void *allocate(void *user, size_t bytes, size_t alignment) {
    return *(int *)user ? NULL : aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *user, void *memory) {
    (void)user;
    free(memory);
}

static void test_no_memory(void **state) {
    (void)state;
    rank_thread threads[2];
    attn_context_options options;
    attn_context *context = NULL;
    int refused = 0, number = 1;
    attn_context_options_init(&options);
    options.threads = 1;
    options.allocator = (attn_allocator){allocate, release, &refused};
    assert_int_equal(attn_context_create(&options, &context), ATTN_OK);
    open_ranks(2, threads);
    refused = 1;
    assert_int_equal(at_exchange_largest(threads[1].exchange, context, &number), ATTN_OUT_OF_MEMORY);
    assert_int_equal(attn_exchange_apart(threads[1].exchange), 1);
    for (int r = 0; r < 2; r++) close_rank(&threads[r]);
    attn_context_destroy(context);
}

/* ---- alone ---- */

static attn_status take_three(void *user, int rank, const void *bytes, size_t count) {
    *(int *)user += rank == 0 && count == 3 && memcmp(bytes, "abc", 3) == 0;
    return ATTN_OK;
}

static void test_alone(void **state) {
    (void)state;
    char bytes[4] = "abc", all[4] = "";
    int taken = 0, number = 7;
    attn_context *context = test_best_context(1);
    assert_int_equal(attn_exchange_rank(NULL), 0);
    assert_int_equal(attn_exchange_ranks(NULL), 1);
    assert_int_equal(attn_exchange_broadcast(NULL, 0, bytes, 4), ATTN_OK);
    assert_int_equal(attn_exchange_share(NULL, bytes, 4, all), ATTN_OK);
    assert_string_equal(all, "abc");
    assert_int_equal(attn_exchange_collect(NULL, bytes, 3, take_three, &taken), ATTN_OK);
    assert_int_equal(taken, 1);
    assert_int_equal(attn_exchange_barrier(NULL), ATTN_OK);
    attn_exchange_abort(NULL, 1);
    attn_exchange_close(NULL);
    assert_true(attn_exchange_seconds(NULL) == 0.0);
    assert_int_equal(attn_exchange_sent(NULL), 0);
    assert_int_equal(at_exchange_agree(NULL, context, "other data", bytes, 4, ""), ATTN_OK);
    assert_int_equal(attn_exchange_agree(NULL, "other data", bytes, 4, ""), ATTN_OK);
    assert_int_equal(at_exchange_largest(NULL, context, &number), ATTN_OK);
    assert_int_equal(number, 7);
    assert_int_equal(at_exchange_settle(NULL, context, ATTN_OVERFLOW), ATTN_OVERFLOW);
}

/* ---- launchers, by what they leave in the environment ---- */

static const char *const variables[] = {
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "SLURM_NTASKS",
    "SLURM_PROCID",         "SLURM_STEP_NUM_TASKS", "ATTN_MPI"};

static void clear_environment(void) {
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) unsetenv(variables[i]);
}

static void test_launchers(void **state) {
    (void)state;
    static const struct {
        const char *settings[10];
        int launched;
    } cases[] = {
        {{NULL}, 1},
        {{"OMPI_COMM_WORLD_SIZE", "4", "OMPI_COMM_WORLD_RANK", "0", NULL}, 4}, /* mpirun of Open MPI */
        {{"PMI_SIZE", "3", "PMI_RANK", "2", NULL}, 3},                         /* of MPICH; srun --mpi=pmi2 */
        {{"SLURM_NTASKS", "8", "SLURM_PROCID", "0", NULL}, 1},                 /* a script of sbatch */
        {{"SLURM_NTASKS", "8", "SLURM_PROCID", "3", "SLURM_STEP_NUM_TASKS", "8", "PMIX_RANK", "3", NULL}, 8},
        {{"SLURM_NTASKS", "8", "SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "1", NULL}, 1}, /* srun -n 1 */
        {{"SLURM_NTASKS", "8", "SLURM_PROCID", "3", "PMIX_RANK", "3", NULL}, 8},
        /* mpirun within a batch script, over daemons that srun started */
        {{"OMPI_COMM_WORLD_SIZE", "6", "OMPI_COMM_WORLD_RANK", "5", "PMI_SIZE", "2", "PMI_RANK", "1", NULL},
         6},
        {{"OMPI_COMM_WORLD_SIZE", "x", "OMPI_COMM_WORLD_RANK", "0", NULL}, 1},
        {{"PMI_SIZE", "-3", "PMI_RANK", "0", NULL}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        clear_environment();
        for (int k = 0; cases[i].settings[k]; k += 2)
            setenv(cases[i].settings[k], cases[i].settings[k + 1], 1);
        if (attn_exchange_launched() != cases[i].launched)
            fail_msg("case %d: %d processes, not %d", (int)i, attn_exchange_launched(), cases[i].launched);
    }
    clear_environment();
}

static void test_modules(void **state) {
    (void)state;
    attn_context *context = test_best_context(1);
    attn_exchange *exchange = (attn_exchange *)1;
    clear_environment();
    assert_int_equal(attn_exchange_open(context, "/nowhere", &exchange), ATTN_OK); /* there is no launcher */
    assert_null(exchange);
    assert_int_equal(attn_exchange_open(NULL, NULL, &exchange), ATTN_INVALID_ARGUMENT);
    assert_int_equal(attn_exchange_open(context, NULL, NULL), ATTN_INVALID_ARGUMENT);
    setenv("PMI_SIZE", "2", 1);
    setenv("PMI_RANK", "0", 1);
    assert_int_equal(attn_exchange_open(context, "/nowhere/libattn-mpi.so", &exchange), ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(context), "started 2 processes"));
    assert_non_null(strstr(attn_context_error(context), "/nowhere/libattn-mpi.so"));
    assert_non_null(strstr(attn_context_error(context), "libopenmpi-dev"));
    setenv("ATTN_MPI", "/elsewhere.so", 1);
    assert_int_equal(attn_exchange_open(context, NULL, &exchange), ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(context), "/elsewhere.so"));
    assert_int_equal(attn_exchange_open(context, "libm.so.6", &exchange), ATTN_SYSTEM_ERROR);
    assert_non_null(strstr(attn_context_error(context), "libm.so.6 is not a module of attn"));
    assert_null(exchange);
    clear_environment();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls),     cmocka_unit_test(test_left),
                                       cmocka_unit_test(test_no_memory), cmocka_unit_test(test_alone),
                                       cmocka_unit_test(test_launchers), cmocka_unit_test(test_modules)};
    return cmocka_run_group_tests(tests, test_contexts_setup, test_contexts_teardown);
}
