/* test_join.c: bytes that several ranks have parts of, joined: ranks are threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <attn/predictor.h>

#include "support/check.h"
#include "support/contexts.h"
#include "support/reducing.h"
#include "train/exchange.h"
#include "train/join.h"

enum { MOST_RANKS = 5 };

typedef struct rank_thread {
    attn_exchange *exchange;
    unsigned char *bytes;
    size_t count;
    attn_status status;
} rank_thread;

static void *join(void *argument) {
    rank_thread *rank = argument;
    rank->status = at_join_bytes(rank->exchange, rank->bytes, rank->count);
    return NULL;
}

/* What is at a place, and which rank has it. */
static unsigned char byte_at(size_t place) { return (unsigned char)(place * 2654435761u >> 7); }
static int owner_of(size_t place, int ranks) { return (int)(place / 3 * 40503u % 65536u) % ranks; }

static void check_count(int ranks, size_t count) {
    attn_context *contexts[MOST_RANKS] = {NULL};
    attn_exchange *exchanges[MOST_RANKS];
    rank_thread threads[MOST_RANKS];
    pthread_t ids[MOST_RANKS];
    for (int r = 0; r < ranks; r++) assert_non_null(contexts[r] = reducing_context(NULL));
    assert_int_equal(at_exchange_threads(contexts, ranks, 1, exchanges), ATTN_OK);
    for (int r = 0; r < ranks; r++) {
        threads[r] = (rank_thread){exchanges[r], calloc(count + 1, 1), count, ATTN_OK};
        assert_non_null(threads[r].bytes);
        for (size_t i = 0; i < count; i++)
            if (owner_of(i, ranks) == r) threads[r].bytes[i] = byte_at(i);
        threads[r].bytes[count] = 77; /* not to be touched */
        assert_int_equal(pthread_create(&ids[r], NULL, join, &threads[r]), 0);
    }
    for (int r = 0; r < ranks; r++) assert_int_equal(pthread_join(ids[r], NULL), 0);
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(threads[r].status, ATTN_OK);
        for (size_t i = 0; i < count; i++)
            if (threads[r].bytes[i] != byte_at(i)) fail_msg("rank %d of %d, byte %zu", r, ranks, i);
        assert_int_equal(threads[r].bytes[count], 77);
        assert_true(ranks == 1 || count < 2 * (size_t)ranks || attn_exchange_sent(exchanges[r]) > 0);
        free(threads[r].bytes);
        attn_exchange_close(exchanges[r]);
        attn_context_destroy(contexts[r]);
    }
}

static void test_counts(void **state) {
    static const size_t counts[] = {0, 1, 2, 3, 4, 5, 7, 64, 1000, 100003};
    (void)state;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) check_count(ranks, counts[i]);
}

static void test_alone(void **state) {
    unsigned char bytes[] = {1, 2, 3};
    (void)state;
    assert_int_equal(at_join_bytes(NULL, bytes, sizeof bytes), ATTN_OK);
    assert_int_equal(bytes[2], 3);
    assert_int_equal(attn_predictor_join(NULL, NULL), ATTN_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
