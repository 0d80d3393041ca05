/* join.c: joins predictions of which each rank has a part, slice by slice; predictors of several ranks. */
#include "train/join.h"

#include <stdint.h>
#include <string.h>

#include <attn/predictor.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/memory.h"
#include "model/predictor.h"
#include "train/exchange.h"

/* What goes where: places and counts of all ranks, to them and from them. */
typedef struct slices {
    size_t *from_here, *sent, *to_here, *got; /* [ranks] each, in one piece of memory */
} slices;

static size_t slice_begin(size_t count, int rank, int ranks) {
    return count / (size_t)ranks * (size_t)rank + count % (size_t)ranks * (size_t)rank / (size_t)ranks;
}

static attn_status trade(attn_exchange *exchange, const slices *plan, const void *send, void *receive) {
    char text[AT_EXCHANGE_TEXT] = "";
    double begin = at_seconds();
    int failed = exchange->calls.trade(exchange->calls.user, send, plan->from_here, plan->sent, receive,
                                       plan->to_here, plan->got, text);
    exchange->seconds += at_seconds() - begin;
    for (int r = 0; r < exchange->calls.ranks; r++)
        if (r != exchange->calls.rank) exchange->sent += (int64_t)plan->sent[r];
    return failed ? at_fail(exchange->context, ATTN_SYSTEM_ERROR, "%s", text) : ATTN_OK;
}

/* `all` has room for this rank's slice from every rank. */
static attn_status join_slices(attn_exchange *exchange, const slices *plan, unsigned char *bytes,
                               size_t count, unsigned char *all) {
    int rank = exchange->calls.rank, ranks = exchange->calls.ranks;
    size_t own = slice_begin(count, rank, ranks), length = slice_begin(count, rank + 1, ranks) - own;
    for (int r = 0; r < ranks; r++) {
        plan->from_here[r] = slice_begin(count, r, ranks);
        plan->sent[r] = slice_begin(count, r + 1, ranks) - plan->from_here[r];
        plan->to_here[r] = (size_t)r * length;
        plan->got[r] = length;
    }
    attn_status status = trade(exchange, plan, bytes, all);
    if (status != ATTN_OK) return status;
    for (int r = 1; r < ranks; r++)
        for (size_t i = 0; i < length; i++) all[i] |= all[(size_t)r * length + i];
    for (int r = 0; r < ranks; r++) {
        plan->to_here[r] = plan->from_here[r];
        plan->got[r] = plan->sent[r];
        plan->from_here[r] = 0;
        plan->sent[r] = length;
    }
    return trade(exchange, plan, all, bytes);
}

attn_status at_join_bytes(void *user, void *bytes, size_t count) {
    attn_exchange *exchange = user;
    if (!exchange || exchange->calls.ranks < 2 || count == 0) return ATTN_OK;
    attn_context *context = exchange->context;
    int ranks = exchange->calls.ranks;
    size_t room = (count / (size_t)ranks + 1) * (size_t)ranks;
    size_t *places = at_allocate(context, 4 * (int64_t)ranks, sizeof *places, "answers of all ranks");
    unsigned char *all = places ? at_allocate(context, (int64_t)room, 1, "answers of all ranks") : NULL;
    attn_status status = all ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) {
        const slices plan = {places, places + ranks, places + 2 * ranks, places + 3 * ranks};
        status = join_slices(exchange, &plan, bytes, count, all);
    }
    at_release(context, all);
    at_release(context, places);
    return status;
}

attn_status attn_predictor_join(attn_predictor *predictor, attn_exchange *exchange) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    int ranks = attn_exchange_ranks(exchange);
    at_predictor_share(predictor, attn_exchange_rank(exchange), ranks, ranks > 1 ? at_join_bytes : NULL,
                       exchange);
    return ATTN_OK;
}
