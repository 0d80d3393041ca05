/* attn/exchange.h: processes that work together, on one machine or on many.
 *
 * Under a launcher (mpirun, srun) every process, a rank, runs the same program. An exchange joins them:
 *
 *     attn_exchange *exchange = NULL;
 *     attn_exchange_open(context, NULL, &exchange);   NULL if this process runs alone
 *     trainer_options.exchange = exchange;            the ranks share the steps of one training
 *     ...
 *     attn_exchange_close(exchange);
 *
 * What stands here is collective: all ranks call the same functions in the same order. With exchange NULL
 * there is one rank, 0, and the calls do what they do for one. An exchange belongs to one thread at a time.
 * It is a shared object (libattn-mpi.so) that is loaded only under a launcher: neither the library nor the
 * program depends on MPI.
 */
#ifndef ATTN_EXCHANGE_H
#define ATTN_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

ATTN_BEGIN_DECLS

typedef struct attn_exchange attn_exchange;

/* How many processes the launcher that started this one has started, by what it left in the environment
 * (Open MPI, MPICH and other launchers with PMI, srun); 1 if there is none. A script of sbatch is no
 * launcher. Nothing is loaded. */
ATTN_API int attn_exchange_launched(void);

/* Joins the ranks. module: the path of the shared object; NULL: ATTN_MPI of the environment, else next to the
 * program or library, else where it is installed. *exchange is NULL, with OK, if there is no launcher, or it
 * started one process. Errors: SYSTEM_ERROR, with what is missing and what to install; INVALID_ARGUMENT. */
ATTN_API attn_status attn_exchange_open(attn_context *context, const char *module, attn_exchange **exchange);
/* Leaves; all ranks do. NULL is allowed. */
ATTN_API void attn_exchange_close(attn_exchange *exchange);

ATTN_API int attn_exchange_rank(const attn_exchange *exchange);  /* 0 .. ranks - 1 */
ATTN_API int attn_exchange_ranks(const attn_exchange *exchange); /* 1 and up */

/* The bytes of rank `from`, in all ranks. */
ATTN_API attn_status attn_exchange_broadcast(attn_exchange *exchange, int from, void *bytes, size_t count);
/* Bytes of all ranks, `count` of each (the same everywhere), one after another in the order of the ranks. */
ATTN_API attn_status attn_exchange_share(attn_exchange *exchange, const void *bytes, size_t count, void *all);
/* Rank 0 gets the bytes of all ranks, in their order, piece by piece: take is called there with each piece;
 * counts may differ. In other ranks take is not called. What it returns, if it is not OK, ends the call. */
typedef attn_status (*attn_take_function)(void *user, int rank, const void *bytes, size_t count);
ATTN_API attn_status attn_exchange_collect(attn_exchange *exchange, const void *bytes, size_t count,
                                           attn_take_function take, void *user);
/* Whether all ranks have the same bytes; counts may differ. If they do not, the call fails in all of them
 * (INVALID_ARGUMENT) and names the first rank that has others than rank 0, what it has and what to do:
 * "rank 2 has other data than rank 0: copy the file", where `what` is "other data" and `remedy` the end. */
ATTN_API attn_status attn_exchange_agree(attn_exchange *exchange, const char *what, const void *bytes,
                                         size_t count, const char *remedy);
/* Returns when all ranks are here. */
ATTN_API attn_status attn_exchange_barrier(attn_exchange *exchange);
/* Ends all ranks at once, with this exit code: after an error of one of them, which the others cannot know
 * of. Does not return under a launcher; with exchange NULL it does nothing. */
ATTN_API void attn_exchange_abort(attn_exchange *exchange, int code);

/* After a call that ranks make together has failed (of a trainer, say): 0 if all ranks know of it, and can go
 * on to talk or to end; 1 if it may be this rank's failure alone, so that only abort ends the others. */
ATTN_API int attn_exchange_apart(const attn_exchange *exchange);

/* How long the ranks have waited for each other and for bytes to travel, so far, in seconds; and how many
 * bytes this rank has sent. */
ATTN_API double attn_exchange_seconds(const attn_exchange *exchange);
ATTN_API int64_t attn_exchange_sent(const attn_exchange *exchange);

ATTN_END_DECLS

#endif
