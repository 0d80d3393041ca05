/* exchanging.c: see the header. */
#include "support/exchanging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            snprintf(text, EXCHANGING_TEXT, "line %d: %.60s: %.100s", __LINE__, #condition,                  \
                     attn_context_error(context));                                                           \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)

/* Byte i of what rank r has. */
static unsigned char byte_of(int r, size_t i) { return (unsigned char)(i * 7 + (size_t)r * 31 + i / 251); }

static int check_broadcast(attn_context *context, attn_exchange *exchange, char *text) {
    enum { BYTES = 100001 };
    int rank = attn_exchange_rank(exchange), ranks = attn_exchange_ranks(exchange);
    unsigned char *bytes = malloc(BYTES);
    REQUIRE(bytes);
    for (int from = 0; from < ranks; from++) {
        for (size_t i = 0; i < BYTES; i++) bytes[i] = byte_of(rank, i);
        REQUIRE(attn_exchange_broadcast(exchange, from, bytes, BYTES) == ATTN_OK);
        for (size_t i = 0; i < BYTES; i++) REQUIRE(bytes[i] == byte_of(from, i));
    }
    REQUIRE(attn_exchange_broadcast(exchange, 0, NULL, 0) == ATTN_OK);
    REQUIRE(attn_exchange_broadcast(exchange, ranks, bytes, 1) == ATTN_INVALID_ARGUMENT);
    free(bytes);
    return 0;
}

static int check_share(attn_context *context, attn_exchange *exchange, char *text) {
    int rank = attn_exchange_rank(exchange), ranks = attn_exchange_ranks(exchange);
    for (size_t count = 0; count < 300000; count = count * 3 + 1) { /* also more than a board holds */
        unsigned char *mine = malloc(count + 1), *all = malloc((size_t)ranks * count + 1);
        REQUIRE(mine && all);
        for (size_t i = 0; i < count; i++) mine[i] = byte_of(rank, i);
        REQUIRE(attn_exchange_share(exchange, mine, count, all) == ATTN_OK);
        for (int r = 0; r < ranks; r++) {
            for (size_t i = 0; i < count; i++) REQUIRE(all[(size_t)r * count + i] == byte_of(r, i));
        }
        free(mine);
        free(all);
    }
    return 0;
}

/* What ranks write into each other's windows is there when all have met, for as long as they like. */
static int check_windows(attn_context *context, attn_exchange *exchange, char *text) {
    enum { BYTES = 70001, ROUNDS = 200 };
    int rank = attn_exchange_rank(exchange), ranks = attn_exchange_ranks(exchange);
    char reason[AT_EXCHANGE_TEXT] = "";
    if (!exchange || !exchange->calls.window) return 0;
    unsigned char **windows = calloc((size_t)ranks, sizeof *windows);
    REQUIRE(windows);
    REQUIRE(!exchange->calls.window(exchange->calls.user, BYTES, (void **)windows, reason));
    for (int round = 0; round < ROUNDS && windows[0]; round++) {
        for (size_t i = 0; i < BYTES && round == 0; i++) REQUIRE(windows[rank][i] == 0);
        REQUIRE(attn_exchange_barrier(exchange) == ATTN_OK);
        unsigned char *next =
            windows[(rank + 1) % ranks]; /* each writes to the window of the rank after it */
        for (size_t i = 0; i < BYTES; i += 100) next[i] = byte_of(rank + round, i);
        REQUIRE(attn_exchange_barrier(exchange) == ATTN_OK);
        for (int r = 0; r < ranks; r++)
            for (size_t i = 0; i < BYTES; i += 100)
                REQUIRE(windows[r][i] == byte_of((r + ranks - 1) % ranks + round, i));
    }
    free(windows);
    return 0;
}

/* From rank a to rank b go a * 100 + b * 3 bytes, none from even to odd ranks. */
static size_t traded(int a, int b) { return a % 2 == 0 && b % 2 ? 0 : (size_t)(a * 100 + b * 3 + 1); }

static int check_trade(attn_context *context, attn_exchange *exchange, char *text) {
    int rank = attn_exchange_rank(exchange), ranks = attn_exchange_ranks(exchange);
    size_t *places = calloc(4 * (size_t)ranks, sizeof *places), send_bytes = 0, got_bytes = 0;
    REQUIRE(places);
    size_t *sent = places + ranks, *to_here = sent + ranks, *got = to_here + ranks;
    for (int r = 0; r < ranks; r++) {
        places[r] = send_bytes;
        to_here[r] = got_bytes;
        send_bytes += sent[r] = traded(rank, r);
        got_bytes += got[r] = traded(r, rank);
    }
    unsigned char *send = malloc(send_bytes + 1), *receive = malloc(got_bytes + 1);
    char reason[AT_EXCHANGE_TEXT] = "";
    REQUIRE(send && receive);
    for (int r = 0; r < ranks; r++) {
        for (size_t i = 0; i < sent[r]; i++) send[places[r] + i] = byte_of(rank * ranks + r, i);
    }
    for (int again = 0; again < 3; again++)
        REQUIRE(
            !exchange->calls.trade(exchange->calls.user, send, places, sent, receive, to_here, got, reason));
    for (int r = 0; r < ranks; r++) {
        for (size_t i = 0; i < got[r]; i++) REQUIRE(receive[to_here[r] + i] == byte_of(r * ranks + rank, i));
    }
    free(places);
    free(send);
    free(receive);
    return 0;
}

static int check_sum(attn_context *context, attn_exchange *exchange, char *text) {
    enum { COUNT = 10007 };
    static _Thread_local float numbers[COUNT];
    int rank = attn_exchange_rank(exchange), ranks = attn_exchange_ranks(exchange);
    char reason[AT_EXCHANGE_TEXT] = "";
    for (int i = 0; i < COUNT; i++) numbers[i] = (float)(i % 100 + rank);
    REQUIRE(!exchange->calls.sum(exchange->calls.user, numbers, COUNT, reason));
    for (int i = 0; i < COUNT; i++)
        REQUIRE(numbers[i] == (float)(i % 100 * ranks + ranks * (ranks - 1) / 2)); /* exact: small integers */
    return 0;
}

/* ---- collecting ---- */

typedef struct taken {
    int rank, wrong, refuse;
    size_t at; /* in the bytes of that rank */
    size_t most, total;
} taken;

static attn_status take(void *user, int rank, const void *bytes, size_t count) {
    taken *t = user;
    if (rank != t->rank) t->at = 0;
    if (rank < t->rank) t->wrong = 1;
    t->rank = rank;
    for (size_t i = 0; i < count; i++, t->at++) {
        if (((const unsigned char *)bytes)[i] != byte_of(rank, t->at)) t->wrong = 1;
    }
    t->total += count;
    if (count > t->most) t->most = count;
    return t->refuse == rank ? ATTN_NOT_FINITE : ATTN_OK;
}

static size_t collected(int rank) { return rank == 1 ? 0 : ((size_t)rank << 20) * 5 + 17; }

static int check_collect(attn_context *context, attn_exchange *exchange, char *text) {
    int rank = attn_exchange_rank(exchange), ranks = attn_exchange_ranks(exchange);
    unsigned char *bytes = malloc(collected(rank) + 1);
    taken t = {.refuse = -1};
    size_t total = 0;
    REQUIRE(bytes);
    for (size_t i = 0; i < collected(rank); i++) bytes[i] = byte_of(rank, i);
    REQUIRE(attn_exchange_collect(exchange, bytes, collected(rank), rank == 0 ? take : NULL, &t) == ATTN_OK);
    for (int r = 0; r < ranks; r++) total += collected(r);
    REQUIRE(!t.wrong && t.total == (rank == 0 ? total : 0) && t.most <= (size_t)1 << 22);

    t = (taken){.refuse = ranks - 1 == 1 ? 0 : ranks - 1}; /* all hear that rank 0 takes no more */
    REQUIRE(attn_exchange_collect(exchange, bytes, collected(rank), take, &t) == ATTN_NOT_FINITE);
    REQUIRE(attn_exchange_collect(exchange, bytes, 0, take, &t) == ATTN_OK);
    free(bytes);
    return 0;
}

/* ---- of one mind ---- */

static int check_agreement(attn_context *context, attn_exchange *exchange, char *text) {
    int rank = attn_exchange_rank(exchange), ranks = attn_exchange_ranks(exchange), last = ranks - 1;
    char same[3000], expected[200];
    for (size_t i = 0; i < sizeof same; i++) same[i] = (char)(i % 100);
    REQUIRE(at_exchange_agree(exchange, context, "other data", same, sizeof same, "copy it") == ATTN_OK);
    REQUIRE(at_exchange_agree(exchange, context, "other data", NULL, 0, "copy it") == ATTN_OK);
    if (ranks > 1) {
        if (rank == last) same[2999] ^= 1;
        snprintf(expected, sizeof expected, "rank %d has other data than rank 0: copy it", last);
        REQUIRE(at_exchange_agree(exchange, context, "other data", same, sizeof same, "copy it") ==
                ATTN_INVALID_ARGUMENT);
        REQUIRE(strcmp(attn_context_error(context), expected) == 0);
        REQUIRE(at_exchange_agree(exchange, context, "other data", same, rank == last ? 2 : 3, "copy it") ==
                ATTN_INVALID_ARGUMENT);
        REQUIRE(strcmp(attn_context_error(context), expected) == 0);
        REQUIRE(attn_exchange_agree(exchange, "other data", same, sizeof same, "copy it") ==
                ATTN_INVALID_ARGUMENT);
        REQUIRE(!attn_exchange_apart(exchange)); /* all know of it */
    }
    int number = rank == last ? -3 : -5;
    REQUIRE(at_exchange_largest(exchange, context, &number) == ATTN_OK && number == -3);

    REQUIRE(at_exchange_settle(exchange, context, ATTN_OK) == ATTN_OK);
    attn_status mine = ATTN_OK;
    if (rank == last) mine = at_fail(context, ATTN_OVERFLOW, "too much");
    REQUIRE(at_exchange_settle(exchange, context, mine) == ATTN_OVERFLOW);
    snprintf(expected, sizeof expected, rank == last ? "too much" : "rank %d: too much", last);
    REQUIRE(strcmp(attn_context_error(context), expected) == 0);
    return 0;
}

int exchanging_fails(attn_context *context, attn_exchange *exchange, char text[EXCHANGING_TEXT]) {
    if (check_broadcast(context, exchange, text) || check_share(context, exchange, text) ||
        check_trade(context, exchange, text) || check_sum(context, exchange, text) ||
        check_collect(context, exchange, text) || check_windows(context, exchange, text) ||
        check_agreement(context, exchange, text))
        return 1;
    REQUIRE(attn_exchange_barrier(exchange) == ATTN_OK);
    REQUIRE(attn_exchange_seconds(exchange) > 0.0 && attn_exchange_sent(exchange) > 100001);
    return 0;
}
