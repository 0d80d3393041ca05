/* exchange.c: communication between ranks, built on the few calls of a module.
 *
 * Every call records its time and the bytes that this rank sent.
 */
#include "train/exchange.h"

#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/memory.h"

enum { PIECE = 1 << 22 }; /* bytes that collect moves at once */

attn_status at_exchange_failed(attn_exchange *exchange, attn_context *context, const char *text) {
    exchange->apart = 1;
    return at_fail(context, ATTN_SYSTEM_ERROR, "rank %d of %d: %s", exchange->calls.rank,
                   exchange->calls.ranks, text);
}

/* A call has ended: its time and bytes are noted. */
static attn_status done(attn_exchange *exchange, int failed, double began, size_t bytes, const char *text) {
    exchange->seconds += at_seconds() - began;
    if (failed) return at_exchange_failed(exchange, exchange->context, text);
    exchange->sent += (int64_t)bytes;
    return ATTN_OK;
}

int attn_exchange_rank(const attn_exchange *exchange) { return exchange ? exchange->calls.rank : 0; }

int attn_exchange_ranks(const attn_exchange *exchange) { return exchange ? exchange->calls.ranks : 1; }

double attn_exchange_seconds(const attn_exchange *exchange) { return exchange ? exchange->seconds : 0.0; }

int64_t attn_exchange_sent(const attn_exchange *exchange) { return exchange ? exchange->sent : 0; }

int attn_exchange_apart(const attn_exchange *exchange) { return exchange ? exchange->apart : 0; }

void attn_exchange_abort(attn_exchange *exchange, int code) {
    if (exchange) exchange->calls.end(exchange->calls.user, code);
}

attn_status attn_exchange_barrier(attn_exchange *exchange) {
    char text[AT_EXCHANGE_TEXT] = "";
    if (!exchange) return ATTN_OK;
    double began = at_seconds();
    int failed = exchange->calls.barrier(exchange->calls.user, text);
    return done(exchange, failed, began, 0, text);
}

attn_status attn_exchange_broadcast(attn_exchange *exchange, int from, void *bytes, size_t count) {
    char text[AT_EXCHANGE_TEXT] = "";
    if (!exchange) return ATTN_OK;
    if (from < 0 || from >= exchange->calls.ranks || (!bytes && count))
        return at_fail(exchange->context, ATTN_INVALID_ARGUMENT, "broadcast: rank %d of %d, or bytes is NULL",
                       from, exchange->calls.ranks);
    double began = at_seconds();
    int failed = exchange->calls.broadcast(exchange->calls.user, from, bytes, count, text);
    return done(exchange, failed, began, from == exchange->calls.rank ? count : 0, text);
}

attn_status attn_exchange_share(attn_exchange *exchange, const void *bytes, size_t count, void *all) {
    char text[AT_EXCHANGE_TEXT] = "";
    if (!exchange) {
        if (count && bytes && all) memmove(all, bytes, count);
        return ATTN_OK;
    }
    if (count && (!bytes || !all))
        return at_fail(exchange->context, ATTN_INVALID_ARGUMENT, "share: bytes or all is NULL");
    double began = at_seconds();
    int failed = exchange->calls.share(exchange->calls.user, bytes, count, all, text);
    return done(exchange, failed, began, count, text);
}

/* ---- collecting ---- */

/* What a collect works with: places and counts for a trade in which one rank sends to rank 0. */
typedef struct collecting {
    attn_exchange *exchange;
    uint64_t *counts; /* [ranks]: bytes of each */
    size_t *zeros, *sent, *got;
    unsigned char *piece; /* of rank 0: what came */
    attn_take_function take;
    void *user;
} collecting;

/* One piece from rank `from`: it arrives, rank 0 takes it and tells all whether it could. */
static attn_status collect_piece(collecting *c, int from, const unsigned char *bytes, size_t count) {
    attn_exchange *exchange = c->exchange;
    char text[AT_EXCHANGE_TEXT] = "";
    int32_t status = ATTN_OK;
    if (from > 0) {
        double began = at_seconds();
        c->sent[0] = from == exchange->calls.rank ? count : 0;
        c->got[from] = exchange->calls.rank == 0 ? count : 0;
        int failed = exchange->calls.trade(exchange->calls.user, bytes, c->zeros, c->sent, c->piece, c->zeros,
                                           c->got, text);
        attn_status traded = done(exchange, failed, began, c->sent[0], text);
        c->sent[0] = c->got[from] = 0;
        if (traded != ATTN_OK) return traded;
        bytes = c->piece;
    }
    if (exchange->calls.rank == 0) status = (int32_t)c->take(c->user, from, bytes, count);
    attn_status told = attn_exchange_broadcast(exchange, 0, &status, sizeof status);
    if (told != ATTN_OK) return told;
    if (status != ATTN_OK && exchange->calls.rank != 0)
        return at_fail(exchange->context, (attn_status)status, "rank 0 did not take what rank %d sent", from);
    return (attn_status)status;
}

static attn_status collect_all(collecting *c, const unsigned char *bytes, size_t count) {
    attn_exchange *exchange = c->exchange;
    uint64_t mine = count;
    attn_status status = attn_exchange_share(exchange, &mine, sizeof mine, c->counts);
    for (int from = 0; from < exchange->calls.ranks; from++) {
        for (uint64_t at = 0; status == ATTN_OK && at < c->counts[from]; at += PIECE) {
            uint64_t left = c->counts[from] - at;
            status = collect_piece(c, from, from == exchange->calls.rank ? bytes + at : NULL,
                                   left < PIECE ? (size_t)left : PIECE);
        }
    }
    return status;
}

attn_status attn_exchange_collect(attn_exchange *exchange, const void *bytes, size_t count,
                                  attn_take_function take, void *user) {
    if (!exchange) return take && count ? take(user, 0, bytes, count) : ATTN_OK;
    attn_context *context = exchange->context;
    int ranks = exchange->calls.ranks, first = exchange->calls.rank == 0;
    if ((first && !take) || (count && !bytes))
        return at_fail(context, ATTN_INVALID_ARGUMENT, "collect: bytes or take is NULL");
    size_t *places = at_allocate(context, 3 * (int64_t)ranks, sizeof *places, "collecting from the ranks");
    uint64_t *counts = at_allocate(context, ranks, sizeof *counts, "collecting from the ranks");
    void *piece = at_allocate(context, first ? PIECE : 1, 1, "collecting from the ranks");
    attn_status status = places && counts && piece ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    status = at_exchange_settle(exchange, context, status);
    if (status == ATTN_OK) {
        collecting c = {exchange, counts, places, places + ranks, places + 2 * ranks, piece, take, user};
        status = collect_all(&c, bytes, count);
    }
    at_release(context, places);
    at_release(context, counts);
    at_release(context, piece);
    return status;
}

/* ---- of one mind ---- */

/* Numbers of all ranks in all[ranks], which the caller releases. */
static attn_status numbers_of_all(attn_exchange *exchange, attn_context *context, uint64_t mine,
                                  uint64_t **all) {
    uint64_t *numbers = at_allocate(context, exchange->calls.ranks, sizeof *numbers, "numbers of the ranks");
    if (!numbers) {
        exchange->apart = 1; /* the others wait for this rank's number */
        return ATTN_OUT_OF_MEMORY;
    }
    char text[AT_EXCHANGE_TEXT] = "";
    double began = at_seconds();
    int failed = exchange->calls.share(exchange->calls.user, &mine, sizeof mine, numbers, text);
    exchange->seconds += at_seconds() - began;
    if (failed) {
        at_release(context, numbers);
        return at_exchange_failed(exchange, context, text);
    }
    exchange->sent += (int64_t)sizeof mine;
    *all = numbers;
    return ATTN_OK;
}

/* Whether these bytes are those of rank 0, which sends them piece by piece. */
static attn_status same_as_first(attn_exchange *exchange, attn_context *context, const unsigned char *bytes,
                                 size_t count, int *same) {
    unsigned char piece[1 << 10];
    char text[AT_EXCHANGE_TEXT] = "";
    for (size_t at = 0; at < count; at += sizeof piece) {
        size_t length = count - at < sizeof piece ? count - at : sizeof piece;
        memcpy(piece, bytes + at, length);
        if (exchange->calls.broadcast(exchange->calls.user, 0, piece, length, text))
            return at_exchange_failed(exchange, context, text);
        if (memcmp(piece, bytes + at, length) != 0) *same = 0;
    }
    return ATTN_OK;
}

attn_status at_exchange_agree(attn_exchange *exchange, attn_context *context, const char *what,
                              const void *bytes, size_t count, const char *remedy) {
    if (!exchange) return ATTN_OK;
    uint64_t *all = NULL;
    attn_status status = numbers_of_all(exchange, context, count, &all);
    if (status != ATTN_OK) return status;
    int other = 0, same = 1, ranks = exchange->calls.ranks;
    while (other < ranks && all[other] == all[0]) other++;
    at_release(context, all);
    if (other == ranks) { /* as many bytes everywhere: which ones? */
        double began = at_seconds();
        status = same_as_first(exchange, context, bytes, count, &same);
        exchange->seconds += at_seconds() - began;
        if (status == ATTN_OK) status = numbers_of_all(exchange, context, (uint64_t)same, &all);
        if (status != ATTN_OK) return status;
        for (other = 0; other < ranks && all[other];) other++;
        at_release(context, all);
    }
    if (other == ranks) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT, "rank %d has %s than rank 0: %s", other, what, remedy);
}

attn_status attn_exchange_agree(attn_exchange *exchange, const char *what, const void *bytes, size_t count,
                                const char *remedy) {
    if (!exchange) return ATTN_OK;
    if (!what || !remedy || (!bytes && count))
        return at_fail(exchange->context, ATTN_INVALID_ARGUMENT, "agree: what, bytes or remedy is NULL");
    return at_exchange_agree(exchange, exchange->context, what, bytes, count, remedy);
}

attn_status at_exchange_largest(attn_exchange *exchange, attn_context *context, int *number) {
    if (!exchange) return ATTN_OK;
    uint64_t *all = NULL;
    attn_status status = numbers_of_all(exchange, context, (uint64_t)(int64_t)*number, &all);
    for (int r = 0; status == ATTN_OK && r < exchange->calls.ranks; r++) {
        int64_t other = (int64_t)all[r];
        if (other > *number) *number = (int)other;
    }
    at_release(context, all);
    return status;
}

attn_status at_exchange_settle(attn_exchange *exchange, attn_context *context, attn_status status) {
    if (!exchange) return status;
    uint64_t *all = NULL;
    attn_status told = numbers_of_all(exchange, context, (uint64_t)status, &all);
    if (told != ATTN_OK) return status != ATTN_OK ? status : told;
    int first = 0;
    while (first < exchange->calls.ranks && all[first] == ATTN_OK) first++;
    attn_status of_first = first < exchange->calls.ranks ? (attn_status)all[first] : ATTN_OK;
    at_release(context, all);
    if (of_first == ATTN_OK) return ATTN_OK;

    char reason[sizeof context->error], text[AT_EXCHANGE_TEXT] = "";
    memcpy(reason, context->error, sizeof reason);
    if (exchange->calls.broadcast(exchange->calls.user, first, reason, sizeof reason, text))
        return status != ATTN_OK ? status : at_exchange_failed(exchange, context, text);
    reason[sizeof reason - 1] = 0;
    if (status != ATTN_OK) return status;
    return at_fail(context, of_first, "rank %d: %s", first, reason);
}
