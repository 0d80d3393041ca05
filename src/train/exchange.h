/* exchange.h (private): the interface of a module that exchanges bytes between ranks.
 *
 * A module (src/train/modules/mpi.c, built as libattn-mpi.so) fills the table; everything else, including the
 * ordered sums, is built on these few calls. A second module, in the library, joins threads of one process,
 * for tests. A later one may sum on GPUs (NCCL).
 */
#ifndef AT_TRAIN_EXCHANGE_H
#define AT_TRAIN_EXCHANGE_H

#include <stdatomic.h>

#include <attn/exchange.h>

enum { AT_EXCHANGE_VERSION = 3, AT_EXCHANGE_TEXT = 384 };

/* All calls but end and close return 0, or something else with the reason in text[AT_EXCHANGE_TEXT]. At any
 * moment at most one thread of a rank calls. Collective calls block until they are done. */
typedef struct at_exchange_calls {
    int version; /* before the call of the module: what the library wants; after: what it got */
    void *user;
    int rank, ranks; /* before: ranks as the launcher says */
    const atomic_int
        *computing; /* before: not 0 while this rank computes, and a wait has to leave it the core */
    int (*broadcast)(void *user, int from, void *bytes, size_t count, char *text);
    int (*share)(void *user, const void *bytes, size_t count, void *all, char *text); /* allgather */
    /* To rank r the bytes from_here[r] .. + sent[r] - 1 of `send`, from it those to_here[r] .. + got[r] - 1
     * of `receive` (alltoallv); counts and places in bytes, beyond 2 GB too. */
    int (*trade)(void *user, const void *send, const size_t *from_here, const size_t *sent, void *receive,
                 const size_t *to_here, const size_t *got, char *text);
    int (*sum)(void *user, float *numbers, size_t count, char *text); /* in no fixed order: --fast-sum */
    int (*barrier)(void *user, char *text); /* what ranks wrote into windows before it is seen after it */
    /* NULL, or memory of every rank that all ranks read and write: windows[r] is that of rank r, all 0; each
     * asks for the same number of bytes. NULL in all ranks, and 0, if there is none: ranks of several hosts.
     * It stays until close. */
    int (*window)(void *user, size_t bytes, void **windows, char *text);
    void (*end)(void *user, int code); /* ends all ranks; does not return */
    void (*close)(void *user);
} at_exchange_calls;

/* The one symbol of a module, "at_exchange_module": joins the ranks. 0, or not with the reason. */
typedef int at_exchange_join(at_exchange_calls *calls, char *text);

struct attn_exchange {
    attn_context *context;
    at_exchange_calls calls;
    void *library;        /* of dlopen; NULL: none */
    double seconds;       /* spent in calls */
    int64_t sent;         /* bytes */
    atomic_int computing; /* see at_exchange_calls */
    int apart;            /* this rank may have failed where the others did not */
};

/* The call of a module failed: SYSTEM_ERROR with its text. */
attn_status at_exchange_failed(attn_exchange *exchange, attn_context *context, const char *text);

/* attn_exchange_agree, with the error in another context than the exchange's. */
attn_status at_exchange_agree(attn_exchange *exchange, attn_context *context, const char *what,
                              const void *bytes, size_t count, const char *remedy);
/* The largest of all ranks' numbers: what one wants, all do. */
attn_status at_exchange_largest(attn_exchange *exchange, attn_context *context, int *number);
/* OK if all ranks say OK; else every rank fails, the others with the number and the text of the first that
 * failed. */
attn_status at_exchange_settle(attn_exchange *exchange, attn_context *context, attn_status status);

/* Ranks that are threads of this process: exchanges[0 .. ranks - 1], one for each, with its context of
 * contexts; closed one by one, by any thread. windows: whether they offer them. A rank that has left, or has
 * called abort (which returns here), makes the calls of the others fail. For tests. */
attn_status at_exchange_threads(attn_context *const *contexts, int ranks, int windows,
                                attn_exchange **exchanges);

#endif
