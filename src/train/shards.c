/* shards.c: the shards of a batch: their contents, and what a worker records for one.
 *
 * Shards are a function of the data, the configuration and the number of the step, never of threads or ranks.
 */
#include "train/shards.h"

#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "tape/tape.h"

enum {
    SHARD_UNITS = 128, /* rows of a shard, at least, unless the configuration says how many there are */
    MOST_SHARDS = 64,  /* of a batch then */
};

/* Segments of a shard. */
typedef struct cut_shard {
    int64_t first, count; /* in `order` */
    uint64_t hiding;      /* the seed */
} cut_shard;

struct at_shards {
    at_shard_source source;
    attn_context *context;
    at_shard_worker *list; /* [threads]; NULL: there is one thread */
    int threads;
    attn_workers *workers;
    int64_t *order, order_room, order_count;
    at_shard *shards; /* of the step */
    cut_shard *cuts;
    int64_t room, cut_room, count;
    double *shares; /* [shards][heads] */
    int64_t share_room;
    int64_t units;
    int64_t *first, first_room; /* of the parts of a batch; and scratch */
};

/* ---- making ---- */

static attn_status make_workers(at_shards *s) {
    const at_stage *stage = s->source.stage;
    if (!s->source.tapes->parts) return ATTN_OK;
    s->list = at_allocate(s->context, s->threads, sizeof *s->list, "workers");
    attn_status status = s->list ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int t = 0; t < s->threads && status == ATTN_OK; t++) {
        at_shard_worker *worker = &s->list[t];
        worker->context = at_part(s->source.tapes->parts, t);
        worker->tape = s->source.tapes->list[t];
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

attn_status at_shards_create(const at_shard_source *source, at_shards **shards) {
    attn_context *context = source->stage->context;
    at_shards *s = at_allocate(context, 1, sizeof *s, "shards");
    if (!s) return ATTN_OUT_OF_MEMORY;
    s->source = *source;
    s->context = context;
    s->threads = source->tapes->parts ? context->threads : 1;
    attn_status status = at_workers_create(source->stage->parameters, source->tapes, source->exchange,
                                           source->fast_sum, &s->workers);
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
    for (int t = 0; s->list && t < s->threads; t++) {
        at_shard_worker *worker = &s->list[t];
        for (int i = 0; worker->targets && i < stage->head_count; i++)
            if (worker->targets[i]) stage->heads[i]->kind->free_targets(worker->targets[i]);
        at_release(s->context, worker->targets);
        if (worker->rows) stage->input->kind->free_batch(worker->rows);
    }
    attn_workers_destroy(s->workers);
    void *const memory[] = {s->list, s->order, s->shards, s->cuts, s->shares, s->first};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) at_release(s->context, memory[i]);
    at_release(s->context, s);
}

at_shard_worker *at_shards_workers(at_shards *shards) { return shards->list; }
int64_t at_shards_units(const at_shards *shards) { return shards->units; }

/* ---- cutting ---- */

void at_shards_begin(at_shards *shards) { shards->order_count = shards->count = shards->units = 0; }

/* 1, 2, 4, ...: trees and workers are even then. */
static int64_t worth(int64_t units, int64_t segments) {
    int64_t pieces = 1;
    while (2 * pieces <= MOST_SHARDS && 2 * pieces <= segments && units >= 2 * pieces * SHARD_UNITS)
        pieces *= 2;
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
            const cut_shard *one = &s->cuts[n];
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
    const at_segments *segments = s->source.segments;
    int64_t units = at_segments_units(segments, order, count), begin = s->count;
    if (pieces == 0) pieces = worth(units, count);
    if (pieces > count) pieces = count;
    attn_status status = at_grow(s->context, &s->order, &s->order_room, s->order_count + count,
                                 sizeof *s->order, "the order of a batch");
    if (status == ATTN_OK)
        status = at_grow(s->context, &s->first, &s->first_room, 4 * pieces + 2 * count + 1, sizeof *s->first,
                         "shards");
    if (status == ATTN_OK)
        status = at_grow(s->context, &s->shards, &s->room, begin + pieces, sizeof *s->shards, "shards");
    if (status == ATTN_OK)
        status = at_grow(s->context, &s->cuts, &s->cut_room, begin + pieces, sizeof *s->cuts, "shards");
    if (status != ATTN_OK) return status;
    memcpy(s->order + s->order_count, order, (size_t)count * sizeof *order);
    at_plan_deal(segments, s->order + s->order_count, count, pieces, s->first, s->first + pieces + 1);
    for (int64_t i = 0; i < pieces; i++) {
        int64_t first = s->order_count + s->first[i], length = s->first[i + 1] - s->first[i];
        uint64_t part = i ? at_splitmix64((uint64_t)i) : 0;
        s->cuts[s->count] = (cut_shard){first, length, hiding_seed ^ part};
        s->shards[s->count++] = (at_shard){.units = at_segments_units(segments, s->order + first, length),
                                           .seed = dropout_seed ^ part};
    }
    s->order_count += count;
    s->units += units;
    return find_shares(s, begin);
}

/* ---- running ---- */

static attn_variable *record(void *user, int worker, attn_tape *tape, int64_t number) {
    at_shards *s = user;
    const at_stage *stage = s->source.stage;
    const at_shard_worker *with = worker < 0 ? &s->source.whole : &s->list[worker];
    const cut_shard *one = &s->cuts[number];
    const int64_t *order = s->order + one->first;
    attn_status status = stage->input->kind->fill(stage->input, s->source.encoded, s->source.segments, order,
                                                  one->count, &one->hiding, with->rows);
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++)
        status = stage->heads[i]->kind->gather(stage->heads[i], with->targets[i], s->source.segments, order,
                                               one->count, with->rows);
    if (status != ATTN_OK) return at_tape_failed(tape, status);
    return at_stage_loss(stage, tape, with->rows, with->targets, s->shares + number * stage->head_count);
}

attn_status at_shards_run(at_shards *const *stages, int count, double *losses) {
    at_worker_step steps[AT_STAGES] = {{.count = 0}};
    for (int i = 0; i < count; i++)
        steps[i] =
            (at_worker_step){stages[i]->workers, stages[i]->shards, stages[i]->count, record, stages[i]};
    attn_status status = at_workers_run(steps, count);
    for (int i = 0; i < count; i++) {
        losses[i] = 0;
        for (int64_t n = 0; n < stages[i]->count; n++) losses[i] += stages[i]->shards[n].loss;
    }
    return status;
}

int at_shards_told(const at_shards *shards) { return at_workers_told(shards->workers); }
