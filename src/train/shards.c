/* shards.c: the shards of a step, the workers that take them, and the sum of their gradients.
 *
 * Gradients are added bucket by bucket (train/reduce.h): as soon as nothing more is added to the parameters
 * of a bucket on the walk back of a shard, it arrives at its leaf of the tree. Of two neighbours the one that
 * arrives last adds the right one to the left one and goes on to the node above. The sum of a node stands in
 * the gradients of its first shard; those of the right one are free again for a later shard, so there are
 * never more gradients than workers and levels of the tree.
 */
#include "train/shards.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "tape/host.h"
#include "tape/tape.h"

enum {
    SHARD_UNITS = 128,  /* rows of a shard, at least, unless the configuration says how many there are */
    MOST_SHARDS = 16,   /* of a batch then */
    LARGE_UNITS = 1024, /* rows that all threads together may be worth */
};

typedef struct shard {
    int64_t first, count; /* segments, in `order` */
    int64_t units;
    uint64_t hiding, dropout; /* seeds */
    double loss;
    at_gradients *gradients; /* of the shards of this rank that are under way or wait to be added */
    atomic_int buckets_left; /* that were not added to another shard's yet */
} shard;

struct at_shards {
    at_shard_source source;
    attn_context *context;
    int threads, rank, ranks;
    at_worker *workers; /* [threads]; NULL: there is one thread */
    at_reduce *reduce;
    int buckets;
    int64_t parameters, *bucket_first, *bucket_parameters; /* bucket b: bucket_first[b] .. [b + 1] - 1 */

    int64_t *order, order_room, order_count;
    shard *list;
    int64_t room, count;
    double *shares; /* [shards][heads] */
    int64_t share_room;
    int64_t units;
    int64_t *cut, cut_room;

    int64_t first, end; /* the shards of this rank */
    int64_t *queue, queue_room, queued;
    atomic_int *arrivals; /* [buckets][own shards]: at a node, by the first shard of its right half */
    int64_t arrival_room;
    atomic_int *nodes_left;            /* [buckets]: nodes of this rank that are not complete */
    at_gradients *sums[AT_TREE_NODES]; /* of this rank's nodes */
    at_gradients *own, **spare;        /* the parameters' own; others that are free */
    int64_t spares, spare_room;
    pthread_mutex_t lock; /* of the spare ones, and of: */
    int64_t failed;       /* the first shard that failed; -1: none */
    attn_status status;
    char error[512];
    atomic_int stopped; /* one has failed: the others need not begin */
};

/* ---- making ---- */

static attn_status make_workers(at_shards *s) {
    const at_stage *stage = s->source.stage;
    if (!s->source.parts) return ATTN_OK;
    s->workers = at_allocate(s->context, s->threads, sizeof *s->workers, "workers");
    attn_status status = s->workers ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int t = 0; t < s->threads && status == ATTN_OK; t++) {
        at_worker *worker = &s->workers[t];
        worker->context = at_part(s->source.parts, t);
        worker->tape = s->source.tapes[t];
        status = stage->input->kind->create_batch(worker->context, &worker->rows);
        if (status == ATTN_OK) {
            worker->targets = at_allocate(s->context, stage->head_count, sizeof *worker->targets, "targets");
            if (!worker->targets) status = ATTN_OUT_OF_MEMORY;
        }
        for (int i = 0; i < stage->head_count && status == ATTN_OK; i++)
            status = stage->heads[i]->kind->share_targets(s->source.whole.targets[i], worker->context,
                                                          &worker->targets[i]);
        if (status != ATTN_OK && worker->context->error[0])
            at_fail(s->context, status, "%s", worker->context->error);
    }
    return status;
}

/* The parameters of each bucket. */
static attn_status list_buckets(at_shards *s) {
    s->buckets = at_reduce_buckets(s->reduce);
    s->bucket_first = at_allocate(s->context, s->buckets + 1, sizeof *s->bucket_first, "gradients");
    s->bucket_parameters = at_allocate(s->context, s->parameters, sizeof *s->bucket_parameters, "gradients");
    s->nodes_left = at_allocate(s->context, s->buckets, sizeof *s->nodes_left, "gradients");
    if (!s->bucket_first || !s->bucket_parameters || !s->nodes_left) return ATTN_OUT_OF_MEMORY;
    int64_t placed = 0;
    for (int b = 0; b < s->buckets; b++) {
        for (int64_t p = 0; p < s->parameters; p++)
            if (at_reduce_bucket_of(s->reduce, p) == b) s->bucket_parameters[placed++] = p;
        s->bucket_first[b + 1] = placed;
    }
    return ATTN_OK;
}

attn_status at_shards_create(const at_shard_source *source, at_shards **shards) {
    attn_context *context = source->stage->context;
    attn_parameters *set = source->stage->parameters;
    at_shards *s = at_allocate(context, 1, sizeof *s, "shards");
    if (!s) return ATTN_OUT_OF_MEMORY;
    s->source = *source;
    s->context = context;
    s->threads = source->parts ? context->threads : 1;
    s->rank = attn_exchange_rank(source->exchange);
    s->ranks = attn_exchange_ranks(source->exchange);
    s->parameters = attn_parameters_count(set);
    if (pthread_mutex_init(&s->lock, NULL) != 0) {
        at_release(context, s);
        return at_fail(context, ATTN_SYSTEM_ERROR, "the system refused a lock");
    }
    attn_status status = at_reduce_create(context, source->exchange, set, source->fast_sum, &s->reduce);
    if (status == ATTN_OK) status = list_buckets(s);
    if (status == ATTN_OK) status = at_gradients_create(context, set, 1, &s->own);
    if (status == ATTN_OK) status = make_workers(s);
    if (status != ATTN_OK) {
        at_shards_destroy(s);
        return status;
    }
    *shards = s;
    return ATTN_OK;
}

void at_shards_destroy(at_shards *shards) {
    if (!shards) return;
    at_shards *s = shards;
    const at_stage *stage = s->source.stage;
    for (int t = 0; s->workers && t < s->threads; t++) {
        at_worker *worker = &s->workers[t];
        for (int i = 0; worker->targets && i < stage->head_count; i++)
            if (worker->targets[i]) stage->heads[i]->kind->free_targets(worker->targets[i]);
        at_release(s->context, worker->targets);
        if (worker->rows) stage->input->kind->free_batch(worker->rows);
    }
    for (int64_t i = 0; i < s->spares; i++) at_gradients_destroy(s->spare[i]);
    at_gradients_destroy(s->own);
    at_reduce_destroy(s->reduce);
    void *const memory[] = {
        s->workers, s->bucket_first, s->bucket_parameters, s->order,      s->list, s->shares,
        s->cut,     s->queue,        s->arrivals,          s->nodes_left, s->spare};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) at_release(s->context, memory[i]);
    pthread_mutex_destroy(&s->lock);
    at_release(s->context, s);
}

at_worker *at_shards_workers(at_shards *shards) { return shards->workers; }
int64_t at_shards_units(const at_shards *shards) { return shards->units; }

/* ---- cutting ---- */

void at_shards_begin(at_shards *shards) { shards->order_count = shards->count = shards->units = 0; }

/* 1, 2, 4, ...: trees and workers are even then. */
static int64_t worth(int64_t units) {
    int64_t pieces = 1;
    while (2 * pieces <= MOST_SHARDS && units >= 2 * pieces * SHARD_UNITS) pieces *= 2;
    return pieces;
}

/* Of all that the loss of a head is the mean over, the part of each shard from `begin` on. */
static attn_status find_shares(at_shards *s, int64_t begin) {
    const at_stage *stage = s->source.stage;
    int heads = stage->head_count;
    attn_status status = at_grow(s->context, &s->shares, &s->share_room, s->count * heads, sizeof *s->shares,
                                 "the shares of a batch");
    for (int i = 0; i < heads && status == ATTN_OK; i++) {
        double all = 0;
        for (int64_t n = begin; n < s->count; n++) {
            const shard *one = &s->list[n];
            double weight =
                stage->heads[i]->kind->weight(stage->heads[i], s->source.whole.targets[i], s->source.segments,
                                              s->order + one->first, one->count);
            all += s->shares[n * heads + i] = weight;
        }
        for (int64_t n = begin; n < s->count; n++) {
            double *share = &s->shares[n * heads + i];
            *share = s->count - begin == 1 ? 1 : all > 0 ? *share / all : 0;
        }
    }
    return status;
}

attn_status at_shards_add(at_shards *shards, const int64_t *order, int64_t count, int64_t pieces,
                          uint64_t hiding_seed, uint64_t dropout_seed) {
    at_shards *s = shards;
    int64_t units = at_segments_units(s->source.segments, order, count), begin = s->count;
    if (pieces == 0) pieces = worth(units);
    if (pieces > count) pieces = count;
    attn_status status = at_grow(s->context, &s->order, &s->order_room, s->order_count + count,
                                 sizeof *s->order, "the order of a batch");
    if (status == ATTN_OK)
        status = at_grow(s->context, &s->cut, &s->cut_room, pieces + 1, sizeof *s->cut, "shards");
    if (status == ATTN_OK)
        status = at_grow(s->context, &s->list, &s->room, s->count + pieces, sizeof *s->list, "shards");
    if (status != ATTN_OK) return status;
    memcpy(s->order + s->order_count, order, (size_t)count * sizeof *order);
    int64_t runs = at_plan_cut(s->source.segments, order, count, pieces, s->cut);
    for (int64_t i = 0; i < runs; i++) {
        int64_t first = s->order_count + s->cut[i], length = s->cut[i + 1] - s->cut[i];
        uint64_t part = i ? at_splitmix64((uint64_t)i) : 0;
        s->list[s->count++] =
            (shard){.first = first,
                    .count = length,
                    .units = at_segments_units(s->source.segments, s->order + first, length),
                    .hiding = hiding_seed ^ part,
                    .dropout = dropout_seed ^ part};
    }
    s->order_count += count;
    s->units += units;
    return find_shares(s, begin);
}

/* ---- gradients of shards ---- */

/* Room for the gradients of all shards of this rank; most of the time a few go round. */
static attn_status make_room(at_shards *s) {
    int64_t wanted = s->end - s->first;
    if (wanted <= s->spare_room) return ATTN_OK;
    return at_grow(s->context, &s->spare, &s->spare_room, wanted, sizeof *s->spare, "gradients");
}

/* NULL: no memory. */
static at_gradients *take_gradients(at_shards *s, attn_context *context, int64_t number) {
    shard *one = &s->list[number];
    if (one->gradients) return one->gradients;
    atomic_init(&one->buckets_left, s->buckets);
    if (number == s->first) {
        one->gradients = s->own;
    } else {
        pthread_mutex_lock(&s->lock);
        if (s->spares > 0) one->gradients = s->spare[--s->spares];
        pthread_mutex_unlock(&s->lock);
    }
    if (!one->gradients &&
        at_gradients_create(context, s->source.stage->parameters, 0, &one->gradients) != ATTN_OK)
        return NULL;
    at_gradients_clear(one->gradients);
    return one->gradients;
}

/* A bucket of a shard was added to that of another. */
static void give_bucket(at_shards *s, shard *one) {
    if (atomic_fetch_sub(&one->buckets_left, 1) > 1) return;
    pthread_mutex_lock(&s->lock);
    if (one->gradients) s->spare[s->spares++] = one->gradients;
    one->gradients = NULL;
    pthread_mutex_unlock(&s->lock);
}

static void fail_shard(at_shards *s, int64_t number, attn_status status, const char *text) {
    pthread_mutex_lock(&s->lock);
    if (s->failed < 0 || number < s->failed) {
        s->failed = number;
        s->status = status;
        snprintf(s->error, sizeof s->error, "%s", text);
    }
    pthread_mutex_unlock(&s->lock);
    atomic_store(&s->stopped, 1);
}

static attn_status add_bucket(at_shards *s, attn_context *context, int bucket, int64_t left, int64_t right) {
    attn_status status = ATTN_OK;
    if (!s->list[left].gradients || !s->list[right].gradients) return ATTN_OK; /* one has failed */
    for (int64_t i = s->bucket_first[bucket]; i < s->bucket_first[bucket + 1] && status == ATTN_OK; i++)
        status = at_gradients_add(context, s->list[left].gradients, s->list[right].gradients,
                                  s->bucket_parameters[i]);
    return status;
}

/* The gradients of a bucket of shard `number` are complete. */
static void arrive(at_shards *s, attn_context *context, int bucket, int64_t number) {
    int64_t own = s->end - s->first, node = number;
    atomic_int *arrivals = s->arrivals + bucket * own;
    for (int level = 0;; level++, node >>= 1) {
        int64_t width = (int64_t)1 << level;
        if (node == 0 && width >= s->count) break; /* the root */
        int64_t parent = node >> 1, left = (parent << 1) * width, right = left + width;
        int64_t reach = right + width < s->count ? right + width : s->count;
        if (right >= s->count) continue;              /* there is no right half */
        if (left < s->first || reach > s->end) break; /* the other half is another rank's */
        /* the node is known by where its right half begins: no other node's does */
        if (atomic_fetch_add(&arrivals[right - s->first], 1) == 0) return;
        attn_status status = add_bucket(s, context, bucket, left, right);
        if (status != ATTN_OK) fail_shard(s, number, status, context->error);
        give_bucket(s, &s->list[right]);
    }
    if (atomic_fetch_sub(&s->nodes_left[bucket], 1) == 1) at_reduce_ready(s->reduce, bucket);
}

/* ---- one shard ---- */

typedef struct walk {
    at_shards *shards;
    attn_context *context;
    int64_t number;
    int64_t *left; /* [buckets]: parameters that are not complete */
} walk;

static void complete(void *user, attn_parameter *parameter) {
    walk *now = user;
    int bucket = at_reduce_bucket_of(now->shards->reduce, parameter->index);
    if (--now->left[bucket] == 0) arrive(now->shards, now->context, bucket, now->number);
}

static attn_status fill_shard(at_shards *s, at_worker *worker, const shard *one) {
    const at_stage *stage = s->source.stage;
    const int64_t *order = s->order + one->first;
    attn_status status = stage->input->kind->fill(stage->input, s->source.encoded, s->source.segments, order,
                                                  one->count, &one->hiding, worker->rows);
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++)
        status = stage->heads[i]->kind->gather(stage->heads[i], worker->targets[i], s->source.segments, order,
                                               one->count, worker->rows);
    return status;
}

static attn_status walk_shard(at_shards *s, at_worker *worker, walk *now) {
    shard *one = &s->list[now->number];
    const at_stage *stage = s->source.stage;
    attn_status status = fill_shard(s, worker, one);
    if (status != ATTN_OK) return status;
    at_tape_gradients(worker->tape, one->gradients);
    at_tape_tell(worker->tape, stage->parameters, complete, now);
    attn_tape_begin(worker->tape, ATTN_TAPE_TRAIN, one->dropout);
    attn_variable *sum = at_stage_loss(stage, worker->tape, worker->rows, worker->targets,
                                       s->shares + now->number * stage->head_count);
    status = attn_tape_backward(worker->tape, sum, NULL);
    if (status != ATTN_OK) at_fail(worker->context, status, "%.400s", attn_tape_error(worker->tape));
    if (status == ATTN_OK) status = at_host_number(sum, &one->loss);
    at_tape_tell(worker->tape, NULL, NULL, NULL);
    at_tape_gradients(worker->tape, NULL);
    return status;
}

static void run_shard(at_shards *s, at_worker *worker, int64_t number) {
    enum { ROOM = 256 };
    int64_t room[ROOM];
    walk now = {s, worker->context, number, room};
    if (s->buckets > ROOM) now.left = at_allocate(worker->context, s->buckets, sizeof *now.left, "gradients");
    attn_status status = now.left ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int b = 0; b < s->buckets && now.left; b++)
        now.left[b] = s->bucket_first[b + 1] - s->bucket_first[b];
    if (!take_gradients(s, worker->context, number)) status = ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK && !atomic_load(&s->stopped)) status = walk_shard(s, worker, &now);
    if (status != ATTN_OK) fail_shard(s, number, status, worker->context->error);
    for (int b = 0; b < s->buckets; b++) /* those of parameters that were not told of */
        if (!now.left || now.left[b] > 0) arrive(s, worker->context, b, number);
    if (now.left != room) at_release(worker->context, now.left);
}

static void shard_task(void *argument, int64_t task, int worker) {
    at_shards *s = argument;
    run_shard(s, s->workers ? &s->workers[worker] : &s->source.whole, s->queue[task]);
}

/* ---- all of them ---- */

/* A shard that is worth more than a worker's part of all is taken by all threads together. */
static int is_large(const at_shards *s, const shard *one) {
    int64_t all = 0;
    for (int64_t n = s->first; n < s->end; n++) all += s->list[n].units;
    if (s->end - s->first == 1) return 1;
    return one->units >= LARGE_UNITS && one->units * s->threads >= 2 * all;
}

/* What stands in s->count shards is given out: gradients for the first shard of each node of this rank, which
 * the sum over ranks reads, are taken now. */
static attn_status prepare_run(at_shards *s) {
    at_gradients **sums = s->sums;
    at_tree_node nodes[AT_TREE_NODES];
    at_tree_run(s->count, s->rank, s->ranks, &s->first, &s->end);
    int64_t own = s->end - s->first, needed = own * s->buckets;
    attn_status status =
        at_grow(s->context, &s->arrivals, &s->arrival_room, needed, sizeof *s->arrivals, "gradients");
    if (status == ATTN_OK)
        status = at_grow(s->context, &s->queue, &s->queue_room, own, sizeof *s->queue, "shards");
    if (status == ATTN_OK) status = make_room(s);
    if (status != ATTN_OK) return status;
    int count = at_tree_nodes(s->count, s->first, s->end, nodes);
    for (int64_t i = 0; i < needed; i++) atomic_init(&s->arrivals[i], 0);
    for (int b = 0; b < s->buckets; b++) atomic_init(&s->nodes_left[b], count);
    for (int i = 0; i < count; i++) {
        sums[i] = take_gradients(s, s->context, nodes[i].first);
        if (!sums[i]) return ATTN_OUT_OF_MEMORY;
    }
    if (count == 0) at_gradients_clear(s->own);
    s->failed = -1;
    s->status = ATTN_OK;
    s->error[0] = 0;
    atomic_store(&s->stopped, 0);
    status = at_reduce_begin(s->reduce, s->count, sums);
    for (int b = 0; b < s->buckets && count == 0; b++) at_reduce_ready(s->reduce, b);
    return status;
}

/* Gradients that other ranks' were added to. */
static void finish_run(at_shards *s) {
    for (int64_t n = s->first; n < s->end; n++) {
        shard *one = &s->list[n];
        if (one->gradients && one->gradients != s->own) s->spare[s->spares++] = one->gradients;
        one->gradients = NULL;
    }
}

/* What a rank tells the others after a step; the losses of its shards follow. */
typedef struct tidings {
    attn_status status;
    char error[260];
} tidings;

/* The losses of all shards are known in all ranks, and whether one has failed. */
static attn_status share_losses(at_shards *s) {
    int64_t most = 0, first, end;
    for (int r = 0; r < s->ranks; r++) {
        at_tree_run(s->count, r, s->ranks, &first, &end);
        if (end - first > most) most = end - first;
    }
    size_t bytes = sizeof(tidings) + (size_t)most * sizeof(double);
    char *all = at_allocate(s->context, s->ranks + 1, bytes, "what ranks tell each other");
    if (!all) return ATTN_OUT_OF_MEMORY;
    char *own = all + (size_t)s->ranks * bytes;
    tidings now = {.status = s->status};
    memcpy(now.error, s->error, sizeof now.error - 1);
    memcpy(own, &now, sizeof now);
    for (int64_t n = s->first; n < s->end; n++)
        memcpy(own + sizeof now + (size_t)(n - s->first) * sizeof(double), &s->list[n].loss, sizeof(double));
    attn_status status = attn_exchange_share(s->source.exchange, own, bytes, all);
    for (int r = 0; r < s->ranks && status == ATTN_OK; r++) {
        const char *from = all + (size_t)r * bytes;
        memcpy(&now, from, sizeof now);
        if (now.status != ATTN_OK) status = at_fail(s->context, now.status, "rank %d: %s", r, now.error);
        at_tree_run(s->count, r, s->ranks, &first, &end);
        for (int64_t n = first; n < end; n++)
            memcpy(&s->list[n].loss, from + sizeof now + (size_t)(n - first) * sizeof(double),
                   sizeof(double));
    }
    at_release(s->context, all);
    return status;
}

attn_status at_shards_run(at_shards *shards, double *loss) {
    at_shards *s = shards;
    attn_status status = prepare_run(s);
    if (status != ATTN_OK) return status;
    s->queued = 0;
    for (int64_t n = s->first; n < s->end; n++) {
        if (s->workers && is_large(s, &s->list[n]))
            run_shard(s, &s->source.whole, n);
        else
            s->queue[s->queued++] = n;
    }
    at_parallel(s->context->pool, s->threads, s->queued, shard_task, s);
    status = at_reduce_wait(s->reduce);
    finish_run(s);
    if (status == ATTN_OK && s->ranks > 1) status = share_losses(s);
    if (status == ATTN_OK && s->status != ATTN_OK) status = at_fail(s->context, s->status, "%s", s->error);
    *loss = 0;
    for (int64_t n = 0; n < s->count; n++) *loss += s->list[n].loss;
    return status;
}
