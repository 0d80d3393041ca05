/* cache.c: decoding row by row, with the keys and values of all rows before.
 *
 * Self-attention: every block keeps the keys and values of all rows since the beginning. A sequence has a
 * list of the places of its rows: a reorder copies these lists alone, and sequences with the same beginning
 * share its rows. The memory doubles as rows are added, up to what was requested, because most predictions
 * are much shorter than the limit. Cross-attention: keys and values of the source, as ragged rows, are
 * computed once. The sequences of one source are contiguous, as queries of one ragged sequence, so a beam
 * copies nothing.
 */
#include "layers/decoder.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "tape/tape.h"

struct attn_cache {
    const attn_decoder *decoder;
    attn_context *context;
    int64_t most, room, sequences, length;
    int64_t have;        /* rows that there is room for now, at most `room` */
    int64_t width;       /* key (and value) numbers of a row */
    int64_t slots;       /* rows of a step: odd, so that those of a sequence are in different cache sets */
    float *rows;         /* tensor memory, as source is: [layers][have][slots][key, value][width] */
    int32_t *places[2];  /* [most][have]: the rows of each sequence, as step * slots + slot */
    int now;             /* which of the two */
    int64_t *source_of;  /* [most] */
    int64_t *other;      /* [most], for a reorder */
    float *source;       /* [layers][source rows][2 * source width] */
    int64_t source_room; /* numbers that it has room for */
    int64_t sources, source_rows, *source_offsets;
    int64_t offsets_room;
};

enum { FIRST_ROOM = 16 };

/* Rows and places for `have` steps; 0: no memory. */
static int allocate_steps(const attn_cache *c, int64_t have, float **rows, int32_t *places[2]) {
    double numbers =
        2.0 * (double)c->decoder->options.layers * (double)c->slots * (double)have * (double)c->width;
    int fits = numbers < 1e15 && (double)c->slots * (double)have < INT32_MAX;
    *rows = fits ? at_numbers_allocate(c->context, (int64_t)numbers, "a cache") : NULL;
    for (int i = 0; i < 2; i++)
        places[i] = fits ? at_allocate(c->context, c->most * have, sizeof(int32_t), "a cache") : NULL;
    if (*rows && places[0] && places[1]) return 1;
    at_numbers_release(c->context, *rows);
    for (int i = 0; i < 2; i++) at_release(c->context, places[i]);
    return 0;
}

attn_status attn_cache_create(const attn_decoder *decoder, int64_t sequences, int64_t room,
                              attn_cache **cache) {
    if (!decoder) return ATTN_INVALID_ARGUMENT;
    return at_cache_create(attn_parameters_context(decoder->parameters), decoder, sequences, room, cache);
}

attn_status at_cache_create(attn_context *context, const attn_decoder *decoder, int64_t sequences,
                            int64_t room, attn_cache **cache) {
    if (!cache || sequences < 1 || room < 1) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "a cache of %" PRId64 " sequences of %" PRId64 " rows: at least 1 is needed",
                       sequences, room);
    }
    attn_cache *c = at_allocate(context, 1, sizeof *c, "a cache");
    if (!c) return ATTN_OUT_OF_MEMORY;
    const attn_multihead_options *o = at_multihead_options(decoder->block[0].self);
    c->decoder = decoder;
    c->context = context;
    c->most = sequences;
    c->room = room;
    c->width = o->kv_heads * o->head_width;
    c->have = room < FIRST_ROOM ? room : FIRST_ROOM;
    c->slots = sequences | 1;
    c->source_of = at_allocate(context, sequences, sizeof *c->source_of, "a cache");
    c->other = at_allocate(context, sequences, sizeof *c->other, "a cache");
    float *rows;
    int32_t *places[2];
    int made = allocate_steps(c, c->have, &rows, places);
    if (made) {
        c->rows = rows;
        memcpy(c->places, places, sizeof places);
    }
    if (!made || !c->source_of || !c->other) {
        attn_cache_destroy(c);
        return at_fail(context, ATTN_OUT_OF_MEMORY,
                       "no memory for a cache of %" PRId64 " sequences of %" PRId64 " rows", sequences, room);
    }
    *cache = c;
    return ATTN_OK;
}

void attn_cache_destroy(attn_cache *cache) {
    if (!cache) return;
    attn_context *context = cache->context;
    at_numbers_release(context, cache->rows);
    at_release(context, cache->places[0]);
    at_release(context, cache->places[1]);
    at_release(context, cache->source_of);
    at_release(context, cache->other);
    at_numbers_release(context, cache->source);
    at_release(context, cache->source_offsets);
    at_release(context, cache);
}

int64_t attn_cache_length(const attn_cache *cache) { return cache ? cache->length : 0; }

/* ---- the source ---- */

static int64_t source_width(const attn_cache *c) {
    const attn_multihead_options *o = at_multihead_options(c->decoder->block[0].cross);
    return o->kv_heads * o->head_width;
}

/* Room for so many numbers, of which none need to stay. */
static attn_status make_source_room(attn_cache *c, int64_t numbers) {
    if (numbers <= c->source_room) return ATTN_OK;
    int64_t room = numbers > 2 * c->source_room ? numbers : 2 * c->source_room;
    float *made = at_numbers_allocate(c->context, room, "the keys and values of the source");
    if (!made) return ATTN_OUT_OF_MEMORY;
    at_numbers_release(c->context, c->source);
    c->source = made;
    c->source_room = room;
    return ATTN_OK;
}

/* Keys and values of the source for every block. */
static attn_status keep_source(attn_tape *tape, attn_cache *c, attn_variable *source,
                               const attn_ragged *batch) {
    int64_t width = source_width(c), layers = c->decoder->options.layers;
    attn_status status = at_grow(c->context, &c->source_offsets, &c->offsets_room, batch->sequences + 1,
                                 sizeof(int64_t), "the sources of a cache");
    if (status == ATTN_OK) status = make_source_room(c, layers * source->rows * 2 * width);
    if (status != ATTN_OK) return status;
    c->sources = batch->sequences;
    c->source_rows = source->rows;
    memcpy(c->source_offsets, batch->offsets, (size_t)(batch->sequences + 1) * sizeof(int64_t));
    for (int64_t l = 0; l < layers; l++) {
        attn_variable *part[2];
        if (!at_multihead_source(tape, c->decoder->block[l].cross, source, &part[0], &part[1])) {
            return attn_tape_status(tape);
        }
        for (int p = 0; p < 2; p++) {
            float *target = c->source + (2 * l + p) * source->rows * width;
            status = at_numbers_copy(c->context, at_data_of(part[p]), target, width);
            if (status != ATTN_OK) return status;
        }
    }
    return ATTN_OK;
}

attn_status attn_cache_begin(attn_tape *tape, attn_cache *cache, int64_t sequences, attn_variable *source,
                             const attn_ragged *source_batch) {
    if (!tape || !cache) return ATTN_INVALID_ARGUMENT;
    if (attn_tape_status(tape) != ATTN_OK) return attn_tape_status(tape);
    int crosses = cache->decoder->options.source_columns != 0;
    if (sequences < 0 || sequences > cache->most || (crosses && !source) || (!crosses && source)) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT, "cache: %" PRId64 " sequences in a cache of %" PRId64 "%s",
                     sequences, cache->most,
                     crosses == (source != NULL) ? "" : ", or a source that is missing or too many");
        return attn_tape_status(tape);
    }
    if (crosses) {
        if (!at_tape_has_batch(tape, "cache", source_batch, source->rows, NULL))
            return attn_tape_status(tape);
        if (source_batch->sequences != sequences) {
            at_tape_fail(tape, ATTN_SHAPE_MISMATCH, "cache: %" PRId64 " sequences on %" PRId64 " sources",
                         sequences, source_batch->sequences);
            return attn_tape_status(tape);
        }
        attn_status status = keep_source(tape, cache, source, source_batch);
        if (status != ATTN_OK) {
            at_tape_failed(tape, status);
            return status;
        }
    }
    cache->sequences = sequences;
    cache->length = 0;
    for (int64_t b = 0; b < sequences; b++) cache->source_of[b] = b;
    return ATTN_OK;
}

/* Room for twice as many rows. */
static attn_status make_room(attn_cache *cache) {
    int64_t have = cache->have > cache->room / 2 ? cache->room : 2 * cache->have;
    float *rows;
    int32_t *places[2];
    if (!allocate_steps(cache, have, &rows, places)) {
        return at_fail(cache->context, ATTN_OUT_OF_MEMORY,
                       "no memory for a cache of %" PRId64 " sequences of %" PRId64 " rows", cache->most,
                       have);
    }
    int64_t step = cache->slots * 2 * cache->width;
    attn_status status = ATTN_OK;
    for (int64_t l = 0; l < cache->decoder->options.layers && status == ATTN_OK; l++) {
        const float *from = cache->rows + l * cache->have * step;
        status = at_numbers_copy(cache->context, at_view_of(from, cache->length, step, step),
                                 rows + l * have * step, step);
    }
    if (status != ATTN_OK) {
        at_numbers_release(cache->context, rows);
        for (int i = 0; i < 2; i++) at_release(cache->context, places[i]);
        return status;
    }
    for (int64_t b = 0; b < cache->sequences; b++)
        memcpy(places[0] + b * have, cache->places[cache->now] + b * cache->have,
               (size_t)cache->length * sizeof(int32_t));
    at_numbers_release(cache->context, cache->rows);
    for (int i = 0; i < 2; i++) {
        at_release(cache->context, cache->places[i]);
        cache->places[i] = places[i];
    }
    cache->rows = rows;
    cache->now = 0;
    cache->have = have;
    return ATTN_OK;
}

attn_status attn_cache_reorder(attn_cache *cache, int64_t sequences, const int64_t *from) {
    if (!cache) return ATTN_INVALID_ARGUMENT;
    if (sequences < 0 || sequences > cache->most || (!from && sequences > 0)) {
        return at_fail(cache->context, ATTN_INVALID_ARGUMENT,
                       "reorder to %" PRId64 " sequences in a cache of %" PRId64, sequences, cache->most);
    }
    for (int64_t b = 0; b < sequences; b++) {
        if (from[b] < 0 || from[b] >= cache->sequences) {
            return at_fail(cache->context, ATTN_INVALID_ARGUMENT,
                           "from[%" PRId64 "] is %" PRId64 ", there are %" PRId64 " sequences", b, from[b],
                           cache->sequences);
        }
        cache->other[b] = cache->source_of[from[b]];
        if (b > 0 && cache->other[b] < cache->other[b - 1]) {
            return at_fail(
                cache->context, ATTN_UNSUPPORTED,
                "sequences of one source must stay side by side, in the order of the sources: from[%" PRId64
                "] is of source %" PRId64 " after one of %" PRId64,
                b, cache->other[b], cache->other[b - 1]);
        }
    }
    int64_t *sources = cache->source_of;
    cache->source_of = cache->other;
    cache->other = sources;
    int same = 1; /* nothing moves: greedy search, or all sequences at their first row */
    for (int64_t b = 0; b < sequences; b++) same &= from[b] == b;
    const int32_t *old = cache->places[cache->now];
    int32_t *moved = cache->places[!cache->now];
    for (int64_t b = 0; b < sequences && !same; b++)
        memcpy(moved + b * cache->have, old + from[b] * cache->have, (size_t)cache->length * sizeof *moved);
    if (!same) cache->now = !cache->now;
    cache->sequences = sequences;
    return ATTN_OK;
}

/* ---- one row ---- */

static attn_tensor four(float *data, int64_t sequences, int64_t rows, int64_t heads, int64_t channels,
                        int64_t sequence_stride, int64_t row_stride) {
    int64_t shape[4] = {sequences, rows, heads, channels};
    attn_tensor t = attn_tensor_view(data, 4, shape);
    t.stride[0] = sequence_stride;
    t.stride[1] = row_stride;
    return t;
}

static attn_variable *step_self(attn_tape *tape, attn_cache *c, int64_t l, attn_variable *x,
                                const attn_ragged *batch, const int64_t *first) {
    const attn_multihead *layer = c->decoder->block[l].self;
    const attn_multihead_options *o = at_multihead_options(layer);
    attn_variable *query, *part[2];
    if (!at_multihead_project(tape, layer, x, batch, first, &query, &part[0], &part[1])) return NULL;
    attn_tensor cached[2];
    float *rows = c->rows + l * c->have * c->slots * 2 * c->width;
    for (int p = 0; p < 2; p++) {
        float *now = rows + (2 * c->length * c->slots + p) * c->width;
        if (!at_tape_did(tape, at_numbers_copy(c->context, at_data_of(part[p]), now, 2 * c->width)))
            return NULL;
        cached[p] = four(rows + p * c->width, c->sequences, c->length + 1, o->kv_heads, o->head_width, 0,
                         2 * c->width);
    }
    attn_variable *y = at_result(tape, c->sequences, o->heads * o->head_width);
    if (!y) return NULL;
    attn_attention_options options;
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    pattern.align = ATTN_ALIGN_END;
    attn_variable *distance = at_multihead_operator(tape, layer, &options);
    if (attn_tape_status(tape) != ATTN_OK) return NULL;
    options.dropout = 0.0f;
    if (distance) {
        options.distance_bias = attn_tensor_matrix(distance->data, distance->rows, distance->columns);
    }
    attn_tensor q = four(query->data, c->sequences, 1, o->heads, o->head_width, query->stride, query->stride);
    attn_tensor output = four(y->data, c->sequences, 1, o->heads, o->head_width, y->stride, y->stride);
    at_key_places places = {c->places[c->now], c->have};
    at_attention_forward_call call = {.pattern = &pattern,
                                      .options = &options,
                                      .query = &q,
                                      .key = &cached[0],
                                      .value = &cached[1],
                                      .output = &output,
                                      .places = &places};
    if (!at_tape_did(tape, at_tape_run(tape)->attention(c->context, &call))) return NULL;
    return at_multihead_output(tape, layer, y);
}

/* Cross-attention weights from their ragged order into sequences x heads x longest. */
static void spread_weights(const attn_cache *c, int64_t heads, const int64_t *query_offsets,
                           const float *ragged, float *weights) {
    int64_t longest = 0;
    for (int64_t s = 0; s < c->sources; s++) {
        int64_t keys = c->source_offsets[s + 1] - c->source_offsets[s];
        if (keys > longest) longest = keys;
    }
    for (int64_t s = 0; s < c->sources; s++) {
        int64_t keys = c->source_offsets[s + 1] - c->source_offsets[s];
        int64_t queries = query_offsets[s + 1] - query_offsets[s];
        for (int64_t h = 0; h < heads; h++) {
            for (int64_t i = 0; i < queries; i++) {
                float *row = weights + ((query_offsets[s] + i) * heads + h) * longest;
                memset(row, 0, (size_t)longest * sizeof(float));
                memcpy(row, ragged + (h * queries + i) * keys, (size_t)keys * sizeof(float));
            }
        }
        ragged += heads * queries * keys;
    }
}

static attn_variable *step_cross(attn_tape *tape, attn_cache *c, int64_t l, attn_variable *x,
                                 const int64_t *query_offsets, float *weights) {
    const attn_multihead *layer = c->decoder->block[l].cross;
    const attn_multihead_options *o = at_multihead_options(layer);
    attn_variable *query = at_multihead_query(tape, layer, x);
    attn_variable *y = query ? at_result(tape, c->sequences, o->heads * o->head_width) : NULL;
    if (!y) return NULL;
    int64_t width = source_width(c);
    attn_tensor q = attn_tensor_rows(query->data, query->rows, o->heads, o->head_width);
    attn_tensor part[2], output = attn_tensor_rows(y->data, y->rows, o->heads, o->head_width);
    for (int p = 0; p < 2; p++) {
        part[p] = attn_tensor_rows(c->source + (2 * l + p) * c->source_rows * width, c->source_rows,
                                   o->kv_heads, o->head_width);
    }
    attn_pattern pattern;
    attn_pattern_init(&pattern);
    pattern.sequences = c->sources;
    pattern.query_offsets = query_offsets;
    pattern.key_offsets = c->source_offsets;
    attn_attention_options options;
    at_multihead_operator(tape, layer, &options);
    options.dropout = 0.0f;
    attn_status status = ATTN_OK;
    int64_t count = 0;
    float *ragged = NULL;
    if (weights) {
        status = attn_attention_weights_count(c->context, &pattern, &q, &part[0], &count);
        ragged = status == ATTN_OK ? at_tape_memory(tape, count, sizeof(float)) : NULL;
        if (status == ATTN_OK && !ragged) return NULL;
    }
    attn_tensor ragged_view = attn_tensor_view(ragged, 1, &count);
    if (status == ATTN_OK) {
        at_attention_forward_call call = {.pattern = &pattern,
                                          .options = &options,
                                          .query = &q,
                                          .key = &part[0],
                                          .value = &part[1],
                                          .output = &output,
                                          .weights = ragged ? &ragged_view : NULL};
        status = at_tape_run(tape)->attention(c->context, &call);
    }
    if (status != ATTN_OK) return at_tape_failed(tape, status);
    if (ragged) spread_weights(c, o->heads, query_offsets, ragged, weights);
    return at_multihead_output(tape, layer, y);
}

static int check_step(attn_tape *tape, const attn_decoder *decoder, const attn_cache *cache,
                      const attn_variable *x) {
    if (!at_tape_has(tape, "decoder", "x", x)) return 0;
    if (!decoder || !cache || cache->decoder != decoder) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "decoder: the cache is NULL or was made for another decoder");
    } else if (at_recording(tape)) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "decoder: a step with a cache needs a tape in mode ATTN_TAPE_PREDICT");
    } else if (x->rows != cache->sequences || x->columns != decoder->options.columns) {
        at_tape_fail(tape, ATTN_SHAPE_MISMATCH,
                     "decoder: x is %" PRId64 " x %" PRId64 ", %" PRId64 " sequences x %" PRId64
                     " columns are needed",
                     x->rows, x->columns, cache->sequences, decoder->options.columns);
    } else if (cache->length >= cache->room) {
        at_tape_fail(tape, ATTN_INVALID_ARGUMENT,
                     "decoder: the cache is full: it has room for %" PRId64 " rows", cache->room);
    }
    return attn_tape_status(tape) == ATTN_OK;
}

attn_variable *attn_decoder_step(attn_tape *tape, const attn_decoder *decoder, attn_cache *cache,
                                 attn_variable *x, float *weights) {
    if (!at_tape_ready(tape) || !check_step(tape, decoder, cache, x)) return NULL;
    int64_t n = cache->sequences;
    if (cache->length == cache->have) {
        attn_status status = make_room(cache);
        if (status != ATTN_OK) return at_tape_failed(tape, status);
    }
    int64_t *offsets = at_tape_memory(tape, n + 1, sizeof *offsets),
            *first = at_tape_memory(tape, n, sizeof *first);
    int64_t *query_offsets = at_tape_memory(tape, cache->sources + 1, sizeof *query_offsets);
    if (!offsets || !first || !query_offsets) return NULL;
    for (int64_t b = 0; b <= n; b++) offsets[b] = b;
    for (int64_t b = 0; b < n; b++) {
        first[b] = cache->length;
        cache->places[cache->now][b * cache->have + cache->length] =
            (int32_t)(cache->length * cache->slots + b);
    }
    for (int64_t s = 0, b = 0; s <= cache->sources; s++) {
        while (b < n && cache->source_of[b] < s) b++;
        query_offsets[s] = b;
    }
    attn_ragged batch = {n, offsets};
    attn_places places = {.size = sizeof places, .batch = batch, .first = first};
    x = attn_positions_apply(tape, decoder->positions, x, &places);
    for (int64_t l = 0; l < decoder->options.layers && attn_tape_status(tape) == ATTN_OK; l++) {
        const at_decoder_block *b = &decoder->block[l];
        attn_variable *y = at_branch_begin(tape, decoder, b->norm[0], x);
        x = at_branch_end(tape, decoder, b->norm[0], x, step_self(tape, cache, l, y, &batch, first));
        if (b->cross) {
            float *wanted = l == decoder->options.layers - 1 ? weights : NULL;
            y = at_branch_begin(tape, decoder, b->norm[1], x);
            x = at_branch_end(tape, decoder, b->norm[1], x,
                              step_cross(tape, cache, l, y, query_offsets, wanted));
        }
        y = at_branch_begin(tape, decoder, b->norm[2], x);
        x = at_branch_end(tape, decoder, b->norm[2], x, attn_feedforward_apply(tape, b->feed, y));
    }
    x = attn_norm_apply(tape, decoder->norm, x);
    if (attn_tape_status(tape) == ATTN_OK) cache->length++;
    return x;
}
