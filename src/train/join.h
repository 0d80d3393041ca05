/* join.h: joins predictions of which each rank has a part, in all ranks. */
#ifndef AT_TRAIN_JOIN_H
#define AT_TRAIN_JOIN_H

#include <stddef.h>

#include <attn/exchange.h>

/* An at_work.join whose user is an attn_exchange: bytes that are 0 where this rank has nothing become those
 * of all ranks. Each rank puts one slice together and gives it to the others, so that what travels does not
 * grow with the number of ranks. Errors: OUT_OF_MEMORY, what the exchange says. */
attn_status at_join_bytes(void *exchange, void *bytes, size_t count);

#endif
