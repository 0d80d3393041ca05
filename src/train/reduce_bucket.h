/* reduce_bucket.h (private to reduce.c and reduce_bucket.c): the reduction of one bucket over the ranks. */
#ifndef AT_TRAIN_REDUCE_BUCKET_H
#define AT_TRAIN_REDUCE_BUCKET_H

#include <pthread.h>

#include "base/context.h"
#include "train/reduce.h"

/* Parameters first, first - 1, ... last: from the end of the set to its beginning. */
typedef struct at_bucket {
    int64_t first, last;
} at_bucket;

/* A node adds another: into += from. */
typedef struct at_merge {
    int into, from;
} at_merge;

struct at_reduce {
    attn_context *context;
    attn_context worker; /* of the thread: one thread, an error text of its own */
    attn_exchange *exchange;
    attn_parameters *set;
    int fast, rank, ranks;
    at_bucket *buckets;
    int bucket_count;
    int *bucket_of;                      /* [parameters] */
    int64_t most_parameters, most_words; /* of a bucket */
    int64_t round;                       /* numbers that travel at once, at most */

    /* the step */
    at_reduce *before;          /* whose buckets travel first; NULL: nobody's */
    at_gradients *const *nodes; /* [own] */
    int own;                    /* nodes of this rank */
    int total, most;            /* nodes of all ranks; of the rank that has most */
    int *first_node;            /* [ranks + 1]: number of each rank's first among all */
    at_merge *merges;           /* [total - 1]: the tree above the nodes */
    int64_t merge_room;
    int merge_count;

    /* memory of the thread, made when a step begins */
    unsigned char *states, *own_states; /* [ranks][most][parameters of the bucket]: AT_STATE_*; [most][...] */
    uint64_t *bits, *own_bits, *all_bits; /* [ranks][most][words of the bucket]; [most][words]; [words] */
    unsigned char *how;                   /* [parameters of the bucket]: what travels: AT_STATE_* */
    int64_t *words_at;            /* [parameters of the bucket]: place of its bits; -1: no rows apart */
    float *send, *receive, *sums; /* [own][round]; [total][round / ranks]; [round] */
    void **windows;               /* [ranks]: [most][round] to send and [round] of sums, if ranks see them */
    size_t window_bytes;          /* of each; 0: there are none */
    int apart;                    /* nor will there be: ranks send messages */
    const float **places;         /* [total]: a node's numbers of the run that is added */
    unsigned char *kinds;         /* [total]: and what they are */
    size_t *counts;               /* [4][ranks]: from_here, sent, to_here, got */
    int64_t state_room, own_state_room, bit_room, own_bit_room, all_bit_room, send_room, receive_room,
        sum_room, place_room, kind_room;
    int64_t sent; /* bytes, in this step */

    /* the thread */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    int locks, started;   /* the lock was made; the thread runs */
    unsigned char *ready; /* [buckets] */
    int done;             /* buckets that are through; all: no step is under way */
    int stop;
    attn_status status;
};

/* What a node has of a parameter. */
enum { AT_STATE_NONE = 0, AT_STATE_WHOLE = 1, AT_STATE_ROWS = 2 };

/* Sends the bucket through the ranks; the parameters' own gradients are the sums then. In the thread. */
attn_status at_reduce_bucket(at_reduce *reduce, int bucket);

#endif
