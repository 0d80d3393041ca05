/* exchange.h of the last release, without its comments (tests/test_frozen.sh). */
#ifndef ATTN_EXCHANGE_H
#define ATTN_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

ATTN_BEGIN_DECLS

typedef struct attn_exchange attn_exchange;

ATTN_API int attn_exchange_launched(void);

ATTN_API attn_status attn_exchange_open(attn_context *context, const char *module, attn_exchange **exchange);

ATTN_API void attn_exchange_close(attn_exchange *exchange);

ATTN_API int attn_exchange_rank(const attn_exchange *exchange);
ATTN_API int attn_exchange_ranks(const attn_exchange *exchange);

ATTN_API attn_status attn_exchange_broadcast(attn_exchange *exchange, int from, void *bytes, size_t count);

ATTN_API attn_status attn_exchange_share(attn_exchange *exchange, const void *bytes, size_t count, void *all);

typedef attn_status (*attn_take_function)(void *user, int rank, const void *bytes, size_t count);

ATTN_API attn_status attn_exchange_collect(attn_exchange *exchange, const void *bytes, size_t count,
                                           attn_take_function take, void *user);

ATTN_API attn_status attn_exchange_agree(attn_exchange *exchange, const char *what, const void *bytes,
                                         size_t count, const char *remedy);

ATTN_API attn_status attn_exchange_barrier(attn_exchange *exchange);

ATTN_API void attn_exchange_abort(attn_exchange *exchange, int code);

ATTN_API int attn_exchange_apart(const attn_exchange *exchange);

ATTN_API double attn_exchange_seconds(const attn_exchange *exchange);
ATTN_API int64_t attn_exchange_sent(const attn_exchange *exchange);

ATTN_END_DECLS

#endif
