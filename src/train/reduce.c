/* reduce.c: gradients over all ranks: buckets, the tree above the ranks' nodes, and the thread. */
#include "train/reduce.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "tape/parameters.h"
#include "train/reduce_bucket.h"

/* Numbers of a bucket: enough that the way costs more than the start, few enough that much can travel while
 * the walk continues. With many ranks it takes more, so that slices do not get small. */
enum { BUCKET_NUMBERS = 1 << 18, RANKS_OF_A_BUCKET = 16 };

/* ---- buckets ---- */

static int64_t words_of(const attn_parameter *parameter) { return (parameter->rows + 63) / 64; }

/* From the last parameter to the first; one that is large has a bucket of its own. */
static void make_buckets(at_reduce *reduce) {
    int64_t count = attn_parameters_count(reduce->set), numbers = 0, words = 0;
    for (int64_t p = count - 1; p >= 0; p--) {
        const attn_parameter *parameter = attn_parameters_at(reduce->set, p);
        int full = numbers + parameter->count > reduce->round && numbers > 0;
        if (full || p == count - 1) {
            reduce->buckets[reduce->bucket_count++] = (at_bucket){p, p};
            numbers = words = 0;
        }
        at_bucket *bucket = &reduce->buckets[reduce->bucket_count - 1];
        bucket->last = p;
        reduce->bucket_of[p] = reduce->bucket_count - 1;
        numbers += parameter->count;
        words += words_of(parameter);
        int64_t parameters = bucket->first - p + 1;
        if (parameters > reduce->most_parameters) reduce->most_parameters = parameters;
        if (words > reduce->most_words) reduce->most_words = words;
    }
}

static attn_status make_memory(at_reduce *reduce) {
    attn_context *context = reduce->context;
    int64_t parameters = attn_parameters_count(reduce->set), ranks = reduce->ranks;
    const char *what = "sums over the ranks";
    reduce->buckets = at_allocate(context, parameters, sizeof *reduce->buckets, what);
    reduce->bucket_of = at_allocate(context, parameters, sizeof *reduce->bucket_of, what);
    reduce->ready = at_allocate(context, parameters, sizeof *reduce->ready, what);
    reduce->first_node = at_allocate(context, ranks + 1, sizeof *reduce->first_node, what);
    reduce->counts = at_allocate(context, 4 * ranks, sizeof *reduce->counts, what);
    reduce->windows = at_allocate(context, ranks, sizeof *reduce->windows, what);
    if (!reduce->windows) return ATTN_OUT_OF_MEMORY;
    if (!reduce->buckets || !reduce->bucket_of || !reduce->ready || !reduce->first_node || !reduce->counts)
        return ATTN_OUT_OF_MEMORY;
    make_buckets(reduce);
    reduce->words_at = at_allocate(context, reduce->most_parameters, sizeof *reduce->words_at, what);
    reduce->how = at_allocate(context, reduce->most_parameters, sizeof *reduce->how, what);
    return reduce->words_at && reduce->how ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

attn_status at_reduce_create(attn_context *context, attn_exchange *exchange, attn_parameters *set, int fast,
                             at_reduce **reduce) {
    at_reduce *made = at_allocate(context, 1, sizeof *made, "sums over the ranks");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->exchange = exchange;
    made->set = set;
    made->fast = fast;
    made->rank = attn_exchange_rank(exchange);
    made->ranks = attn_exchange_ranks(exchange);
    made->apart = fast || !exchange || !exchange->calls.window;
    made->round = (int64_t)BUCKET_NUMBERS * (1 + (made->ranks - 1) / RANKS_OF_A_BUCKET);
    made->worker = (attn_context){.allocator = context->allocator,
                                  .pool = context->pool,
                                  .threads = 1,
                                  .isa = context->isa,
                                  .whole = context->whole ? context->whole : context,
                                  .backend = context->backend};
    attn_status status = make_memory(made);
    if (status != ATTN_OK) {
        at_reduce_destroy(made);
        return status;
    }
    *reduce = made;
    return ATTN_OK;
}

int at_reduce_buckets(const at_reduce *reduce) { return reduce->bucket_count; }

int at_reduce_bucket_of(const at_reduce *reduce, int64_t parameter) { return reduce->bucket_of[parameter]; }

void at_reduce_destroy(at_reduce *reduce) {
    if (!reduce) return;
    attn_context *context = reduce->context;
    if (reduce->started) {
        pthread_mutex_lock(&reduce->mutex);
        reduce->stop = 1;
        pthread_cond_broadcast(&reduce->change);
        pthread_mutex_unlock(&reduce->mutex);
        pthread_join(reduce->thread, NULL);
    }
    if (reduce->locks) {
        pthread_cond_destroy(&reduce->change);
        pthread_mutex_destroy(&reduce->mutex);
    }
    void *blocks[] = {reduce->buckets,        reduce->bucket_of,  reduce->ready,         reduce->first_node,
                      reduce->counts,         reduce->words_at,   reduce->how,           reduce->merges,
                      reduce->states,         reduce->own_states, reduce->bits,          reduce->own_bits,
                      reduce->all_bits,       reduce->send,       reduce->receive,       reduce->sums,
                      (void *)reduce->places, reduce->kinds,      reduce->worker.memory, reduce->windows};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) at_release(context, blocks[i]);
    at_release(context, reduce);
}

/* ---- the thread ---- */

/* How it ended. */
static attn_status wait_for_all_buckets(at_reduce *reduce) {
    pthread_mutex_lock(&reduce->mutex);
    while (reduce->done < reduce->bucket_count) pthread_cond_wait(&reduce->change, &reduce->mutex);
    attn_status status = reduce->status;
    pthread_mutex_unlock(&reduce->mutex);
    return status;
}

/* The buckets in their order, each when it is ready. All ranks call the exchange in the same order, so the
 * buckets of another set come first, if it began first. If they failed here, other ranks may still be at
 * them: nothing more is exchanged. */
static void *work(void *argument) {
    at_reduce *reduce = argument;
    pthread_mutex_lock(&reduce->mutex);
    while (!reduce->stop) {
        if (reduce->done == reduce->bucket_count || !reduce->ready[reduce->done]) {
            pthread_cond_wait(&reduce->change, &reduce->mutex);
            continue;
        }
        int bucket = reduce->done;
        pthread_mutex_unlock(&reduce->mutex);
        attn_status status = reduce->before ? wait_for_all_buckets(reduce->before) : ATTN_OK;
        if (status == ATTN_OK)
            status = at_reduce_bucket(reduce, bucket);
        else
            at_fail(&reduce->worker, status, "%s", reduce->before->worker.error);
        pthread_mutex_lock(&reduce->mutex);
        if (status != ATTN_OK) reduce->status = status;
        reduce->done = status == ATTN_OK ? bucket + 1 : reduce->bucket_count;
        if (reduce->done == reduce->bucket_count) pthread_cond_broadcast(&reduce->change);
    }
    pthread_mutex_unlock(&reduce->mutex);
    return NULL;
}

static attn_status start(at_reduce *reduce) {
    if (reduce->started) return ATTN_OK;
    reduce->done = reduce->bucket_count;
    if (!reduce->locks) {
        if (pthread_mutex_init(&reduce->mutex, NULL) != 0)
            return at_fail(reduce->context, ATTN_SYSTEM_ERROR, "the system refused a lock");
        if (pthread_cond_init(&reduce->change, NULL) != 0) {
            pthread_mutex_destroy(&reduce->mutex);
            return at_fail(reduce->context, ATTN_SYSTEM_ERROR, "the system refused a lock");
        }
        reduce->locks = 1;
    }
    if (pthread_create(&reduce->thread, NULL, work, reduce) != 0)
        return at_fail(reduce->context, ATTN_SYSTEM_ERROR, "the system refused a thread");
    reduce->started = 1;
    return ATTN_OK;
}

/* ---- a step ---- */

/* The nodes of all ranks, from left to right, and how many each has. Into nodes, unless it is NULL. */
static void find_nodes(at_reduce *reduce, const int64_t *bounds, at_tree_node *nodes) {
    at_tree_node of_rank[AT_TREE_NODES];
    reduce->total = reduce->most = 0;
    for (int r = 0; r < reduce->ranks; r++) {
        int count = at_tree_nodes(bounds[reduce->ranks], bounds[r], bounds[r + 1], of_rank);
        if (nodes) memcpy(nodes + reduce->total, of_rank, (size_t)count * sizeof *nodes);
        reduce->first_node[r] = reduce->total;
        reduce->total += count;
        if (count > reduce->most) reduce->most = count;
    }
    reduce->first_node[reduce->ranks] = reduce->total;
    reduce->own = reduce->first_node[reduce->rank + 1] - reduce->first_node[reduce->rank];
}

/* The sums that make the node of a level that begins at shard `first`, from the nodes from *next on; returns
 * the one that it ends up in. At most 63 levels deep. */
static int plan_merges(at_reduce *reduce, const at_tree_node *nodes, int64_t shards, int64_t first, int level,
                       int *next) {
    int64_t end = first + ((int64_t)1 << level);
    if (nodes[*next].end == (end < shards ? end : shards)) return (*next)++;
    int left = plan_merges(reduce, nodes, shards, first, level - 1, next);
    int64_t middle = first + ((int64_t)1 << (level - 1));
    if (middle < shards) {
        int right = plan_merges(reduce, nodes, shards, middle, level - 1, next);
        reduce->merges[reduce->merge_count++] = (at_merge){left, right};
    }
    return left;
}

static attn_status plan(at_reduce *reduce, const int64_t *bounds) {
    attn_context *context = reduce->context;
    int64_t shards = bounds[reduce->ranks];
    find_nodes(reduce, bounds, NULL);
    attn_status status = at_grow(context, &reduce->merges, &reduce->merge_room, reduce->total,
                                 sizeof *reduce->merges, "the order of a sum");
    at_tree_node *nodes = at_allocate(context, reduce->total, sizeof *nodes, "the order of a sum");
    if (!nodes) status = ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) {
        int level = 0, next = 0;
        find_nodes(reduce, bounds, nodes);
        while (((int64_t)1 << level) < shards) level++;
        reduce->merge_count = 0;
        plan_merges(reduce, nodes, shards, 0, level, &next);
    }
    at_release(context, nodes);
    return status;
}

/* All that the thread needs, since it may not ask the allocator while workers do. The worker's context has no
 * store of data (base/spill.h): what travels is never in a file. */
static attn_status grow_memory(at_reduce *reduce) {
    int64_t most = reduce->most, ranks = reduce->ranks, own = reduce->own > 0 ? reduce->own : 1;
    int64_t slice = reduce->round / ranks + 32; /* slices begin at multiples of 16 */
    struct {
        void *memory;
        int64_t *room, needed;
        size_t bytes;
    } wants[] = {{&reduce->states, &reduce->state_room, ranks * most * reduce->most_parameters, 1},
                 {&reduce->own_states, &reduce->own_state_room, most * reduce->most_parameters, 1},
                 {&reduce->bits, &reduce->bit_room, ranks * most * reduce->most_words, sizeof *reduce->bits},
                 {&reduce->own_bits, &reduce->own_bit_room, most * reduce->most_words, sizeof *reduce->bits},
                 {&reduce->all_bits, &reduce->all_bit_room, reduce->most_words, sizeof *reduce->bits},
                 {&reduce->send, &reduce->send_room, own * reduce->round, sizeof(float)},
                 {&reduce->receive, &reduce->receive_room, reduce->total * slice, sizeof(float)},
                 {&reduce->sums, &reduce->sum_room, reduce->round, sizeof(float)},
                 {&reduce->places, &reduce->place_room, reduce->total, sizeof *reduce->places},
                 {&reduce->kinds, &reduce->kind_room, reduce->total, 1}};
    attn_status status = ATTN_OK;
    for (size_t i = 0; i < sizeof wants / sizeof wants[0] && status == ATTN_OK; i++)
        status = at_grow(&reduce->worker, wants[i].memory, wants[i].room, wants[i].needed, wants[i].bytes,
                         "sums over the ranks");
    return status == ATTN_OK ? status : at_fail(reduce->context, status, "%s", reduce->worker.error);
}

/* The parameters' own gradients have memory, also those that only other ranks touch. */
static attn_status make_slots(at_reduce *reduce) {
    attn_context *context = attn_parameters_context(reduce->set);
    for (int64_t p = 0; p < attn_parameters_count(reduce->set); p++) {
        attn_parameter *parameter = attn_parameters_at(reduce->set, p);
        at_slot *slot = &parameter->gradient;
        if (parameter->frozen) continue;
        if (!slot->numbers && !at_slot_memory(context, parameter, slot))
            return at_fail(reduce->context, ATTN_OUT_OF_MEMORY, "no memory for the gradient of %s",
                           parameter->name);
        if (parameter->kind != ATTN_PARAMETER_EMBEDDING || slot->row_bits) continue;
        slot->row_bits =
            at_allocate(context, words_of(parameter), sizeof *slot->row_bits, "the rows of a gradient");
        if (!slot->row_bits) return ATTN_OUT_OF_MEMORY;
    }
    return ATTN_OK;
}

attn_status at_reduce_begin(at_reduce *reduce, const int64_t *bounds, at_gradients *const *nodes,
                            at_reduce *before) {
    if (reduce->ranks == 1) return ATTN_OK;
    if (reduce->status != ATTN_OK)
        return at_fail(reduce->context, reduce->status, "%s", reduce->worker.error);
    if (bounds[reduce->ranks] < 1)
        return at_fail(reduce->context, ATTN_INVALID_ARGUMENT, "a step of no shards");
    attn_status status = start(reduce);
    if (status == ATTN_OK) status = plan(reduce, bounds);
    if (status == ATTN_OK) status = grow_memory(reduce);
    if (status == ATTN_OK) status = make_slots(reduce);
    if (status != ATTN_OK) return status;
    pthread_mutex_lock(&reduce->mutex);
    memset(reduce->ready, 0, (size_t)reduce->bucket_count);
    reduce->nodes = nodes;
    reduce->before = before;
    reduce->sent = 0;
    atomic_store(&reduce->exchange->computing, 1);
    reduce->done = 0;
    pthread_mutex_unlock(&reduce->mutex);
    return ATTN_OK;
}

void at_reduce_ready(at_reduce *reduce, int bucket) {
    if (reduce->ranks == 1) return;
    pthread_mutex_lock(&reduce->mutex);
    reduce->ready[bucket] = 1;
    if (bucket == reduce->done) pthread_cond_broadcast(&reduce->change);
    pthread_mutex_unlock(&reduce->mutex);
}

attn_status at_reduce_wait(at_reduce *reduce) {
    if (reduce->ranks == 1) return ATTN_OK;
    double began = at_seconds();
    atomic_store(&reduce->exchange->computing, 0);
    pthread_mutex_lock(&reduce->mutex);
    memset(reduce->ready, 1, (size_t)reduce->bucket_count);
    pthread_cond_broadcast(&reduce->change);
    pthread_mutex_unlock(&reduce->mutex);
    wait_for_all_buckets(reduce);
    reduce->exchange->seconds += at_seconds() - began;
    reduce->exchange->sent += reduce->sent;
    if (reduce->status == ATTN_OK) return ATTN_OK;
    return at_fail(reduce->context, reduce->status, "%s", reduce->worker.error);
}
