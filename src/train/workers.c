/* workers.c: the workers of a step, and the sum of their gradients.
 *
 * Gradients are added bucket by bucket (train/reduce.h): as soon as the backward pass of a shard has
 * completed the parameters of a bucket, the bucket enters the tree at the shard's leaf. When both children of
 * a node are complete, the worker that finished last adds the right one to the left one and continues with
 * the node above. The sum of a node is in the buffers of its first shard; the buffers of the right child are
 * free for later shards, so a few buffers are enough.
 */
#include "train/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "tape/host.h"
#include "tape/tape.h"

enum { LARGE_UNITS = 1024 }; /* rows that all threads together may be worth */

/* A shard on its way. */
typedef struct passing {
    at_gradients *gradients; /* of the shards of this rank that are under way or wait to be added */
    atomic_int buckets_left; /* that were not added to another shard's yet */
} passing;

typedef struct queued_shard {
    attn_workers *workers;
    int64_t number;
} queued_shard;

struct attn_workers {
    attn_context *context;
    attn_parameters *set;
    at_tapes tapes, own_tapes; /* own: those that go with it */
    attn_exchange *exchange;
    int threads, rank, ranks;
    at_reduce *reduce;
    int buckets;
    int64_t parameters, *bucket_first, *bucket_parameters; /* bucket b: bucket_first[b] .. [b + 1] - 1 */
    double row_cost;                                       /* work of a row: numbers of the weights */

    at_shard *given; /* those of a step that the user of the library asked for */
    int64_t given_room;

    /* the step */
    at_shard *shards;
    int64_t count, first, end; /* all; those of this rank */
    int64_t *bounds;           /* [ranks + 1]: the shards of each rank */
    double *shares, *costs;    /* [ranks]: work of each in a run; [count]: of the shards */
    int64_t cost_room;
    int told; /* all ranks know how the last run ended */
    at_record_function record;
    void *user;
    passing *list; /* [end - first] */
    int64_t list_room;
    queued_shard *queue; /* of all steps of a run, in the workers of the first one */
    int64_t queue_room, queued;
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

attn_status at_tapes_create(attn_context *context, at_tapes *tapes) {
    *tapes = (at_tapes){.whole = NULL};
    attn_status status = attn_tape_create(context, &tapes->whole);
    if (status != ATTN_OK || context->threads == 1) return status;
    status = at_parts_create(context, &tapes->parts);
    if (status != ATTN_OK) return status;
    tapes->list = at_allocate(context, context->threads, sizeof *tapes->list, "tapes");
    if (!tapes->list) return ATTN_OUT_OF_MEMORY;
    for (int t = 0; t < context->threads && status == ATTN_OK; t++)
        status = attn_tape_create(at_part(tapes->parts, t), &tapes->list[t]);
    return status;
}

void at_tapes_free(attn_context *context, at_tapes *tapes) {
    attn_tape_destroy(tapes->whole);
    for (int t = 0; tapes->list && t < context->threads; t++) attn_tape_destroy(tapes->list[t]);
    at_release(context, tapes->list);
    at_parts_destroy(tapes->parts);
    *tapes = (at_tapes){.whole = NULL};
}

/* The parameters of each bucket. */
static attn_status list_buckets(attn_workers *s) {
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

attn_status at_workers_create(attn_parameters *parameters, const at_tapes *tapes, attn_exchange *exchange,
                              int fast_sum, attn_workers **workers) {
    attn_context *context = attn_parameters_context(parameters);
    attn_workers *s = at_allocate(context, 1, sizeof *s, "workers");
    if (!s) return ATTN_OUT_OF_MEMORY;
    s->context = context;
    s->set = parameters;
    s->tapes = *tapes;
    s->exchange = exchange;
    s->threads = tapes->parts ? context->threads : 1;
    s->rank = attn_exchange_rank(exchange);
    s->ranks = attn_exchange_ranks(exchange);
    s->parameters = attn_parameters_count(parameters);
    s->row_cost = 1;
    for (int64_t p = 0; p < s->parameters; p++) {
        const attn_parameter *one = attn_parameters_at(parameters, p);
        if (one->kind == ATTN_PARAMETER_WEIGHT) s->row_cost += (double)one->count;
    }
    if (pthread_mutex_init(&s->lock, NULL) != 0) {
        at_release(context, s);
        return at_fail(context, ATTN_SYSTEM_ERROR, "the system refused a lock");
    }
    attn_status status = at_reduce_create(context, exchange, parameters, fast_sum, &s->reduce);
    if (status == ATTN_OK) status = list_buckets(s);
    if (status == ATTN_OK) status = at_gradients_create(context, parameters, 1, &s->own);
    s->bounds = at_allocate(context, s->ranks + 1, sizeof *s->bounds, "ranks");
    s->shares = at_allocate(context, s->ranks, sizeof *s->shares, "ranks");
    if (!s->bounds || !s->shares) status = ATTN_OUT_OF_MEMORY;
    if (status != ATTN_OK) {
        attn_workers_destroy(s);
        return status;
    }
    *workers = s;
    return ATTN_OK;
}

attn_status attn_workers_create(attn_parameters *parameters, attn_workers **workers) {
    if (!parameters) return ATTN_INVALID_ARGUMENT;
    attn_context *context = attn_parameters_context(parameters);
    if (!workers) return at_fail(context, ATTN_INVALID_ARGUMENT, "workers is NULL");
    if (attn_parameters_status(parameters) != ATTN_OK)
        return at_fail(context, attn_parameters_status(parameters), "%s", attn_parameters_error(parameters));
    at_tapes tapes;
    attn_status status = at_tapes_create(context, &tapes);
    if (status == ATTN_OK) status = at_workers_create(parameters, &tapes, NULL, 0, workers);
    if (status == ATTN_OK)
        (*workers)->own_tapes = tapes;
    else
        at_tapes_free(context, &tapes);
    return status;
}

void attn_workers_destroy(attn_workers *workers) {
    if (!workers) return;
    attn_workers *s = workers;
    at_reduce_destroy(s->reduce); /* its thread may read gradients */
    for (int64_t i = 0; i < s->spares; i++) at_gradients_destroy(s->spare[i]);
    at_gradients_destroy(s->own);
    void *const memory[] = {s->bucket_first, s->bucket_parameters,
                            s->list,         s->queue,
                            s->arrivals,     s->nodes_left,
                            s->spare,        s->given,
                            s->bounds,       s->shares,
                            s->costs};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) at_release(s->context, memory[i]);
    at_tapes_free(s->context, &s->own_tapes);
    pthread_mutex_destroy(&s->lock);
    at_release(s->context, s);
}

/* ---- gradients of shards ---- */

/* Room for the gradients of all shards of this rank; most of the time a few go round. */
static attn_status make_room(attn_workers *s) {
    int64_t wanted = s->end - s->first;
    if (wanted <= s->spare_room) return ATTN_OK;
    return at_grow(s->context, &s->spare, &s->spare_room, wanted, sizeof *s->spare, "gradients");
}

/* NULL: no memory. */
static at_gradients *take_gradients(attn_workers *s, attn_context *context, int64_t number) {
    passing *one = &s->list[number - s->first];
    if (one->gradients) return one->gradients;
    atomic_init(&one->buckets_left, s->buckets);
    if (number == s->first) {
        one->gradients = s->own;
    } else {
        pthread_mutex_lock(&s->lock);
        if (s->spares > 0) one->gradients = s->spare[--s->spares];
        pthread_mutex_unlock(&s->lock);
    }
    if (!one->gradients && at_gradients_create(context, s->set, 0, &one->gradients) != ATTN_OK) return NULL;
    at_gradients_clear(one->gradients);
    return one->gradients;
}

/* A bucket of a shard was added to that of another. */
static void give_bucket(attn_workers *s, passing *one) {
    if (atomic_fetch_sub(&one->buckets_left, 1) > 1) return;
    pthread_mutex_lock(&s->lock);
    if (one->gradients) s->spare[s->spares++] = one->gradients;
    one->gradients = NULL;
    pthread_mutex_unlock(&s->lock);
}

static void fail_shard(attn_workers *s, int64_t number, attn_status status, const char *text) {
    pthread_mutex_lock(&s->lock);
    if (s->failed < 0 || number < s->failed) {
        s->failed = number;
        s->status = status;
        snprintf(s->error, sizeof s->error, "%s", text);
    }
    pthread_mutex_unlock(&s->lock);
    atomic_store(&s->stopped, 1);
}

static attn_status add_bucket(attn_workers *s, attn_context *context, int bucket, int64_t left,
                              int64_t right) {
    attn_status status = ATTN_OK;
    at_gradients *into = s->list[left - s->first].gradients, *from = s->list[right - s->first].gradients;
    if (!into || !from) return ATTN_OK; /* one has failed */
    for (int64_t i = s->bucket_first[bucket]; i < s->bucket_first[bucket + 1] && status == ATTN_OK; i++)
        status = at_gradients_add(context, into, from, s->bucket_parameters[i]);
    return status;
}

/* The gradients of a bucket of shard `number` are complete. */
static void arrive(attn_workers *s, attn_context *context, int bucket, int64_t number) {
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
        give_bucket(s, &s->list[right - s->first]);
    }
    if (atomic_fetch_sub(&s->nodes_left[bucket], 1) == 1) at_reduce_ready(s->reduce, bucket);
}

/* ---- one shard ---- */

typedef struct walk {
    attn_workers *workers;
    attn_context *context;
    int64_t number;
    int64_t *left; /* [buckets]: parameters that are not complete */
} walk;

static void complete(void *user, attn_parameter *parameter) {
    walk *now = user;
    int bucket = at_reduce_bucket_of(now->workers->reduce, parameter->index);
    if (--now->left[bucket] == 0) arrive(now->workers, now->context, bucket, now->number);
}

static attn_status walk_shard(attn_workers *s, int worker, walk *now) {
    at_shard *one = &s->shards[now->number];
    attn_tape *tape = worker < 0 ? s->tapes.whole : s->tapes.list[worker];
    at_tape_gradients(tape, s->list[now->number - s->first].gradients);
    at_tape_keep_packed(tape, s->end - s->first > 1);
    at_tape_tell(tape, s->set, complete, now);
    attn_tape_begin(tape, ATTN_TAPE_TRAIN, one->seed);
    attn_variable *loss = s->record(s->user, worker, tape, now->number);
    attn_status status = attn_tape_backward(tape, loss, NULL);
    if (status != ATTN_OK) at_fail(now->context, status, "%.400s", attn_tape_error(tape));
    if (status == ATTN_OK) status = at_host_number(loss, &one->loss);
    at_tape_tell(tape, NULL, NULL, NULL);
    at_tape_keep_packed(tape, 0);
    at_tape_gradients(tape, NULL);
    return status;
}

static void run_shard(attn_workers *s, int worker, int64_t number) {
    enum { ROOM = 256 };
    int64_t room[ROOM];
    attn_context *context = worker < 0 ? s->context : at_part(s->tapes.parts, worker);
    walk now = {s, context, number, room};
    if (s->buckets > ROOM) now.left = at_allocate(context, s->buckets, sizeof *now.left, "gradients");
    attn_status status = now.left ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int b = 0; b < s->buckets && now.left; b++)
        now.left[b] = s->bucket_first[b + 1] - s->bucket_first[b];
    if (!take_gradients(s, context, number)) status = ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK && !atomic_load(&s->stopped)) status = walk_shard(s, worker, &now);
    if (status != ATTN_OK) fail_shard(s, number, status, context->error);
    for (int b = 0; b < s->buckets; b++) /* those of parameters that were not told of */
        if (!now.left || now.left[b] > 0) arrive(s, context, b, number);
    if (now.left != room) at_release(context, now.left);
}

static void shard_task(void *argument, int64_t task, int worker) {
    const queued_shard *one = (const queued_shard *)argument + task;
    run_shard(one->workers, one->workers->tapes.parts ? worker : -1, one->number);
}

/* ---- all of them ---- */

/* A weight that the last step changed: packed now, by one worker each, it is not waited for later. What goes
 * wrong is found when it is used. */
static void pack_task(void *argument, int64_t task, int worker) {
    attn_workers *s = argument;
    attn_parameter *parameter = attn_parameters_at(s->set, task / 2);
    const attn_packed_weight *packed;
    attn_context *context = s->tapes.parts ? at_part(s->tapes.parts, worker) : s->context;
    if (at_parameter_outdated(parameter, task % 2))
        at_parameter_packed(context, parameter, task % 2, &packed);
}

/* What this rank has to do in a run. */
typedef struct run_size {
    int64_t shards, units;
} run_size;

static run_size size_of(const at_worker_step *steps, int count) {
    run_size all = {0, 0};
    for (int i = 0; i < count; i++) {
        const attn_workers *s = steps[i].workers;
        all.shards += s->end - s->first;
        for (int64_t n = s->first; n < s->end; n++) all.units += s->shards[n].units;
    }
    return all;
}

/* A shard that is worth more than a worker's part of all is taken by all threads together. */
static int is_large(const attn_workers *s, const at_shard *one, run_size all) {
    if (all.shards == 1) return 1;
    return one->units >= LARGE_UNITS && one->units * s->threads >= 2 * all.units;
}

/* The gradients that shards of the run still hold are free again. */
static void finish_run(attn_workers *s) {
    for (int64_t n = s->first; n < s->end; n++) {
        passing *one = &s->list[n - s->first];
        if (one->gradients && one->gradients != s->own) s->spare[s->spares++] = one->gradients;
        one->gradients = NULL;
    }
}

/* What is in s->count shards is given out: gradients for the first shard of each node of this rank, which
 * the sum over ranks reads, are taken now. before: the workers of the step before this one in the run. */
static attn_status prepare_run(attn_workers *s, const attn_workers *before) {
    at_gradients **sums = s->sums;
    at_tree_node nodes[AT_TREE_NODES];
    int64_t own = s->end - s->first, needed = own * s->buckets;
    attn_status status =
        at_grow(s->context, &s->arrivals, &s->arrival_room, needed, sizeof *s->arrivals, "gradients");
    if (status == ATTN_OK)
        status = at_grow(s->context, &s->list, &s->list_room, own, sizeof *s->list, "shards");
    if (status == ATTN_OK) status = make_room(s);
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < own; i++) s->list[i].gradients = NULL;
    int count = at_tree_nodes(s->count, s->first, s->end, nodes);
    for (int64_t i = 0; i < needed; i++) atomic_init(&s->arrivals[i], 0);
    for (int b = 0; b < s->buckets; b++) atomic_init(&s->nodes_left[b], count);
    for (int i = 0; i < count; i++) {
        sums[i] = take_gradients(s, s->context, nodes[i].first);
        if (sums[i]) continue;
        finish_run(s);
        return ATTN_OUT_OF_MEMORY;
    }
    if (count == 0) at_gradients_clear(s->own);
    s->failed = -1;
    s->status = ATTN_OK;
    s->error[0] = 0;
    atomic_store(&s->stopped, 0);
    status = at_reduce_begin(s->reduce, s->bounds, sums, before ? before->reduce : NULL);
    if (status != ATTN_OK) finish_run(s);
    for (int b = 0; b < s->buckets && count == 0 && status == ATTN_OK; b++) at_reduce_ready(s->reduce, b);
    return status;
}

/* What a rank tells the others after a step; the losses of its shards follow. */
typedef struct tidings {
    attn_status status;
    char error[260];
} tidings;

/* The losses of all shards are known in all ranks, and whether one has failed. */
static attn_status share_losses(attn_workers *s) {
    int64_t most = 0;
    for (int r = 0; r < s->ranks; r++)
        if (s->bounds[r + 1] - s->bounds[r] > most) most = s->bounds[r + 1] - s->bounds[r];
    size_t bytes = sizeof(tidings) + (size_t)most * sizeof(double);
    char *all = at_allocate(s->context, s->ranks + 1, bytes, "messages between ranks");
    if (!all) return ATTN_OUT_OF_MEMORY;
    char *own = all + (size_t)s->ranks * bytes;
    tidings now = {.status = s->status};
    memcpy(now.error, s->error, sizeof now.error - 1);
    memcpy(own, &now, sizeof now);
    for (int64_t n = s->first; n < s->end; n++)
        memcpy(own + sizeof now + (size_t)(n - s->first) * sizeof(double), &s->shards[n].loss,
               sizeof(double));
    attn_status status = attn_exchange_share(s->exchange, own, bytes, all);
    s->told = status == ATTN_OK;
    for (int r = 0; r < s->ranks && status == ATTN_OK; r++) {
        const char *from = all + (size_t)r * bytes;
        memcpy(&now, from, sizeof now);
        if (now.status != ATTN_OK) status = at_fail(s->context, now.status, "rank %d: %s", r, now.error);
        for (int64_t n = s->bounds[r]; n < s->bounds[r + 1]; n++)
            memcpy(&s->shards[n].loss, from + sizeof now + (size_t)(n - s->bounds[r]) * sizeof(double),
                   sizeof(double));
    }
    at_release(s->context, all);
    return status;
}

static attn_status note_step(const at_worker_step *step) {
    attn_workers *s = step->workers;
    s->shards = step->shards;
    s->count = step->count;
    s->record = step->record;
    s->user = step->user;
    s->told = 0;
    attn_status status = at_grow(s->context, &s->costs, &s->cost_room, s->count, sizeof *s->costs, "shards");
    for (int64_t n = 0; n < s->count && status == ATTN_OK; n++)
        s->costs[n] = s->row_cost * (double)s->shards[n].units;
    return status;
}

/* Which ranks have which shards. Those of a step whose shards are large come first; smaller ones even out
 * what is left. */
static void divide(attn_workers *s, const attn_workers *before) {
    for (int r = 0; r < s->ranks; r++) s->shares[r] = before ? before->shares[r] : 0;
    at_tree_divide(s->count, s->costs, s->ranks, s->shares, s->bounds);
    s->first = s->bounds[s->rank];
    s->end = s->bounds[s->rank + 1];
}

static double largest_shard(const attn_workers *s) {
    double most = 0;
    for (int64_t n = 0; n < s->count; n++)
        if (s->costs[n] > most) most = s->costs[n];
    return most;
}

/* The steps in the order in which they are computed, and travel: large shards first, so that small ones are
 * left for workers that are done early. */
static attn_status prepare_steps(at_worker_step *steps, int count) {
    attn_status status = ATTN_OK;
    for (int i = 0; i < count && status == ATTN_OK; i++) status = note_step(&steps[i]);
    if (status != ATTN_OK) return status;
    for (int i = 1; i < count; i++) {
        at_worker_step moved = steps[i];
        int j = i;
        for (; j > 0 && largest_shard(moved.workers) > largest_shard(steps[j - 1].workers); j--)
            steps[j] = steps[j - 1];
        steps[j] = moved;
    }
    for (int i = 0; i < count && status == ATTN_OK; i++) {
        const attn_workers *before = i > 0 ? steps[i - 1].workers : NULL;
        divide(steps[i].workers, before);
        status = prepare_run(steps[i].workers, before);
        for (int j = 0; j < i && status != ATTN_OK; j++) finish_run(steps[j].workers); /* this rank leaves */
    }
    return status;
}

/* All shards of this rank; gradients of a step travel while those after it are computed. */
static void compute(const at_worker_step *steps, int count, run_size all, attn_workers *first) {
    first->queued = 0;
    for (int i = 0; i < count; i++) {
        attn_workers *s = steps[i].workers;
        if (s->end - s->first > 1) at_parallel(s->context->pool, s->threads, 2 * s->parameters, pack_task, s);
        for (int64_t n = s->first; n < s->end; n++) {
            if (s->tapes.parts && is_large(s, &s->shards[n], all))
                run_shard(s, -1, n);
            else
                first->queue[first->queued++] = (queued_shard){s, n};
        }
    }
    at_parallel(first->context->pool, first->threads, first->queued, shard_task, first->queue);
}

attn_status at_workers_run(at_worker_step *steps, int count) {
    attn_workers *first = steps[0].workers;
    int64_t shards = 0;
    first->told = 0;
    for (int i = 0; i < count; i++) shards += steps[i].count;
    attn_status status =
        at_grow(first->context, &first->queue, &first->queue_room, shards, sizeof *first->queue, "shards");
    if (status == ATTN_OK) status = prepare_steps(steps, count);
    if (status != ATTN_OK) return status;
    compute(steps, count, size_of(steps, count), first);
    for (int i = 0; i < count; i++) { /* all are waited for, also if one failed */
        attn_status summed = at_reduce_wait(steps[i].workers->reduce);
        finish_run(steps[i].workers);
        if (status == ATTN_OK) status = summed;
    }
    int told = status == ATTN_OK;
    for (int i = 0; i < count && status == ATTN_OK; i++) {
        attn_workers *s = steps[i].workers;
        if (s->ranks > 1) {
            status = share_losses(s);
            told = told && s->told;
        }
        if (status == ATTN_OK && s->status != ATTN_OK)
            status = at_fail(s->context, s->status, "%s", s->error);
    }
    first->told = told;
    return status;
}

int at_workers_told(const attn_workers *workers) { return workers->told; }

/* ---- for users of the library ---- */

typedef struct recording {
    attn_record_function record;
    void *user;
} recording;

static attn_variable *record_public(void *user, int worker, attn_tape *tape, int64_t shard) {
    const recording *of = user;
    (void)worker;
    attn_variable *loss = of->record(of->user, tape, shard);
    if (!loss && attn_tape_status(tape) == ATTN_OK)
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "the recording function returned NULL");
    return loss;
}

attn_status attn_workers_run(attn_workers *workers, int64_t count, uint64_t seed, attn_record_function record,
                             void *user, double *loss) {
    if (!workers) return ATTN_INVALID_ARGUMENT;
    attn_context *context = workers->context;
    if (!record) return at_fail(context, ATTN_INVALID_ARGUMENT, "workers: record is NULL");
    if (count < 1)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "workers: %lld shards, 1 or more are needed",
                       (long long)count);
    if (attn_parameters_count(workers->set) != workers->parameters)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "workers: parameters were added since they were made: make them after the last one");
    attn_status status =
        at_grow(context, &workers->given, &workers->given_room, count, sizeof *workers->given, "shards");
    if (status != ATTN_OK) return status;
    at_shard *shards = workers->given;
    for (int64_t i = 0; i < count; i++)
        shards[i] = (at_shard){.units = 1, .seed = i ? seed ^ at_splitmix64((uint64_t)i) : seed};
    recording of = {record, user};
    at_worker_step step = {workers, shards, count, record_public, &of};
    status = at_workers_run(&step, 1);
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += shards[i].loss;
    if (status == ATTN_OK && loss) *loss = sum;
    return status;
}
