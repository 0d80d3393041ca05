/* exchange.h: communication of several processes, on one machine or on many.
 *
 * Under a launcher (mpirun, srun) every process, a rank, runs the same program. An exchange joins them:
 *
 *     attn_exchange *exchange = NULL;
 *     attn_exchange_open(context, NULL, &exchange);   NULL if this process runs alone
 *     trainer_options.exchange = exchange;            the ranks share the steps of one training
 *     ...
 *     attn_exchange_close(exchange);
 *
 * These calls are collective, which means that all ranks make them in the same order: open, close,
 * broadcast, share, collect, agree and barrier; attn_trainer_create and attn_trainer_run with an exchange;
 * predictions and reports of a predictor with one (attn_predictor_join). An exchange belongs to one thread at
 * a time. The implementation is a shared object (libattn-mpi.so) that is loaded only under a launcher:
 * neither the library nor the program depends on MPI.
 *
 * NULL is an exchange with a single rank, 0. All calls work with it; the bytes sent and the seconds are 0. */
#ifndef ATTN_EXCHANGE_H
#define ATTN_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

ATTN_BEGIN_DECLS

typedef struct attn_exchange attn_exchange;

/* The number of processes that the launcher of this one has started, from environment variables (Open MPI,
 * MPICH and other launchers with PMI, srun); 1 without a launcher. An sbatch script is not a launcher. Loads
 * nothing. */
ATTN_API int attn_exchange_launched(void);

/* Joins the ranks. module: the path of the shared object; NULL: the environment variable ATTN_MPI, else next
 * to the program or library, else the installed one. Without a launcher, or if it started one process,
 * *exchange is NULL and the status OK. Errors: SYSTEM_ERROR (the message says what is missing and what to
 * install), INVALID_ARGUMENT (NULL), OUT_OF_MEMORY. */
ATTN_API attn_status attn_exchange_open(attn_context *context, const char *module, attn_exchange **exchange);
/* Leaves the exchange; all ranks call it. NULL is allowed. */
ATTN_API void attn_exchange_close(attn_exchange *exchange);

ATTN_API int attn_exchange_rank(const attn_exchange *exchange);  /* 0 .. ranks - 1 */
ATTN_API int attn_exchange_ranks(const attn_exchange *exchange); /* at least 1 */

/* Sends the bytes of rank `from` to all ranks. Errors: INVALID_ARGUMENT (bytes NULL, no such rank),
 * SYSTEM_ERROR (the ranks cannot communicate). */
ATTN_API attn_status attn_exchange_broadcast(attn_exchange *exchange, int from, void *bytes, size_t count);
/* Gathers `count` bytes of every rank (count is the same in all) in all ranks, in the order of the ranks.
 * Errors as attn_exchange_broadcast. */
ATTN_API attn_status attn_exchange_share(attn_exchange *exchange, const void *bytes, size_t count, void *all);
/* Rank 0 receives the bytes of all ranks, in the order of the ranks, piece by piece: it calls `take` with
 * each piece. The counts of the ranks may differ. Other ranks do not call `take`. If it returns another
 * status than OK, the call ends with that status in all ranks. */
typedef attn_status (*attn_take_function)(void *user, int rank, const void *bytes, size_t count);
/* Errors as attn_exchange_broadcast, OUT_OF_MEMORY, and what `take` returned. */
ATTN_API attn_status attn_exchange_collect(attn_exchange *exchange, const void *bytes, size_t count,
                                           attn_take_function take, void *user);
/* Checks that all ranks have the same bytes, and as many. If not, the call fails in all ranks, and the
 * message names the first rank that differs from rank 0: "rank 2 has other data than rank 0: copy the file",
 * where `what` is "other data" and `remedy` is "copy the file". Errors: INVALID_ARGUMENT (NULL, or the bytes
 * differ), SYSTEM_ERROR, OUT_OF_MEMORY. */
ATTN_API attn_status attn_exchange_agree(attn_exchange *exchange, const char *what, const void *bytes,
                                         size_t count, const char *remedy);
/* Returns when all ranks have called it. Errors: SYSTEM_ERROR (the ranks cannot communicate). */
ATTN_API attn_status attn_exchange_barrier(attn_exchange *exchange);
/* Ends the processes of all ranks at once, with this exit code, after an error of one rank that the others do
 * not know of. It does not return; with exchange NULL it does nothing. Only the program that uses the library
 * may decide this: the library never calls it. */
ATTN_API void attn_exchange_abort(attn_exchange *exchange, int code);

/* After a collective call has failed (of a trainer, for example): 0 if all ranks know of the failure and may
 * continue to communicate or end; 1 if this rank may have failed alone, so that only attn_exchange_abort ends
 * the others. */
ATTN_API int attn_exchange_apart(const attn_exchange *exchange);

/* Seconds that this rank has spent in communication so far (waiting and transfer), and bytes that it has
 * sent. */
ATTN_API double attn_exchange_seconds(const attn_exchange *exchange);
ATTN_API int64_t attn_exchange_sent(const attn_exchange *exchange);

ATTN_END_DECLS

#endif
