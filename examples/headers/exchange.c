/* exchange.c: attn/exchange.h: the same program alone and under mpirun: `mpirun -n 4 exchange` adds four
 * numbers. */
#include <attn/exchange.h>
#include <stdio.h>

int main(void) {
    enum { MOST = 64 };
    attn_context *context;
    attn_exchange *exchange = NULL;
    if (attn_context_create(NULL, &context) != ATTN_OK) return puts(attn_last_create_error()), 1;
    if (attn_exchange_open(context, NULL, &exchange) != ATTN_OK) return puts(attn_context_error(context)), 1;
    int own = attn_exchange_rank(exchange) + 1, all[MOST] = {0}, sum = 0,
        ranks = attn_exchange_ranks(exchange);
    if (ranks > MOST || attn_exchange_share(exchange, &own, sizeof own, all) != ATTN_OK) return 1;
    for (int r = 0; r < ranks; r++) sum += all[r];
    if (attn_exchange_rank(exchange) == 0) printf("%d ranks, sum %d\n", ranks, sum);
    attn_exchange_close(exchange);
    attn_context_destroy(context);
    return sum != ranks * (ranks + 1) / 2;
}
