/* edges.h: lists of neighbours, and the scores of a row against one of them.
 *
 * A row is a query with the keys that it sees, or (by_column) a key with the
 * queries that see it. Its neighbours are the edges of a graph, all heads at
 * once, or a run of positions, one head at a time. Neighbours are taken
 * EDGE_TILE at a time; scores, weights and their gradients of a tile are
 * [edges][lanes], heads on the lanes, so that the softmax needs no shuffles.
 */
#ifndef AT_KERNELS_IMPL_EDGES_H
#define AT_KERNELS_IMPL_EDGES_H

#include "kernels/impl/attention.h"
#include "kernels/impl/weighting.h"

enum {
    EDGE_TILE = 32,
    EDGE_ROWS = 16,  /* rows of a task, on positions */
    EDGES_AHEAD = 24 /* how many edges ahead rows are asked for */
};

typedef struct edge_row {
    const at_attention *call;
    const at_sequence *sequence;
    int by_column;
    int64_t own;               /* the query, or the key */
    int64_t head;              /* first of the heads */
    int heads, lanes;          /* lanes: whole vectors */
    const int32_t *neighbours; /* NULL: first, first + 1, ... */
    const int64_t *numbers;    /* of the edges; NULL on positions */
    int64_t first, count;
} edge_row;

typedef struct edge_scratch {
    float *scores, *d_weights, *inner, *levels, *deltas; /* [EDGE_TILE][lanes] */
    unsigned char *unseen;                               /* likewise */
    float *positions, *line;        /* [EDGE_TILE]: scores of one head, positions on the lanes */
    float *flat;                    /* [EDGE_TILE * heads], in whole vectors */
    float *maximum, *sum, *rescale; /* [lanes] */
    float *x, *y;                   /* sums: [heads][width of d_k], [heads][width of d_v] */
    float *vector;                  /* [heads][d_k]: gradient of the score vector */
    int x_width, y_width;
} edge_scratch;

static size_t edges_layout(const at_attention *call, unsigned char *base, edge_scratch *e) {
    scratch_pieces pieces = {base, 0};
    int64_t lanes = round_up((int)call->heads, VEC_WIDTH), tile = EDGE_TILE * lanes;
    e->x_width = round_up(call->d_k, VEC_WIDTH);
    e->y_width = round_up(call->d_v, VEC_WIDTH);
    e->scores = scratch_take(&pieces, tile);
    e->d_weights = scratch_take(&pieces, tile);
    e->inner = scratch_take(&pieces, tile);
    e->levels = scratch_take(&pieces, tile);
    e->deltas = scratch_take(&pieces, tile);
    e->unseen = scratch_take(&pieces, tile);
    e->positions = scratch_take(&pieces, EDGE_TILE + VEC_WIDTH);
    e->line = scratch_take(&pieces, EDGE_TILE + 2 * VEC_WIDTH);
    e->flat = scratch_take(&pieces, tile + VEC_WIDTH);
    e->maximum = scratch_take(&pieces, lanes);
    e->sum = scratch_take(&pieces, lanes);
    e->rescale = scratch_take(&pieces, lanes);
    e->x = scratch_take(&pieces, call->heads * e->x_width);
    e->y = scratch_take(&pieces, call->heads * e->y_width);
    e->vector = scratch_take(&pieces, call->heads * call->d_k);
    return pieces.used;
}

static inline int64_t neighbour(const edge_row *row, int64_t e) {
    return row->neighbours ? row->neighbours[e] : row->first + e;
}
static inline int64_t query_of(const edge_row *row, int64_t e) {
    return row->by_column ? neighbour(row, e) : row->own;
}
static inline int64_t key_of(const edge_row *row, int64_t e) {
    return row->by_column ? row->own : neighbour(row, e);
}

static inline const float *edge_at(const at_rows *rows, int64_t number, int64_t head) {
    return rows->data ? rows->data + number * rows->row + head * rows->head : NULL;
}

VEC_INLINE vec load_channels(const float *p, int c, int channels) {
    return c + VEC_WIDTH <= channels ? vec_load(p + c) : vec_load_part(p + c, channels - c);
}

VEC_INLINE vec leaky(vec x, vec slope) {
    return vec_select(vec_less(vec_set(0.0f), x), x, vec_mul(x, slope));
}

/* What the scores sum over the channels. */
typedef enum pair_kind { PAIR_DOT, PAIR_ADDITIVE, PAIR_LEAKY } pair_kind;

/* The sum over the vectors of channels, not yet over their lanes, of q k,
 * w tanh(q + k) or w leaky(q + k); extra: added to k, or NULL. */
VEC_INLINE vec pair_vector(pair_kind kind, int channels, const float *q, const float *k, const float *extra,
                           const float *w, float leaky_slope) {
    vec sum = vec_set(0.0f);
    for (int c = 0; c < channels; c += VEC_WIDTH) {
        vec a = load_channels(q, c, channels), b = load_channels(k, c, channels);
        if (extra) b = vec_add(b, load_channels(extra, c, channels));
        if (kind == PAIR_DOT) {
            sum = vec_fma(a, b, sum);
        } else {
            vec x = vec_add(a, b);
            vec f = kind == PAIR_ADDITIVE ? vec_tanh(x) : leaky(x, vec_set(leaky_slope));
            sum = vec_fma(load_channels(w, c, channels), f, sum);
        }
    }
    return sum;
}
VEC_INLINE float pair_dot(int channels, const float *a, const float *b) {
    return vec_sum(pair_vector(PAIR_DOT, channels, a, b, NULL, NULL, 0.0f));
}

/* The operands of the sums of a tile: for every edge a row on the query's and
 * one on the key's side, head 0; steps from head to head. */
typedef struct pair_rows {
    const float *a[EDGE_TILE], *b[EDGE_TILE];
    int64_t a_head, b_head;
    int channels;
    const at_rows *extra; /* by edge number, added to b; NULL: none */
} pair_rows;

/* target[e][t] = factor * sum, for all (edge, head) of a tile: VEC_WIDTH of them
 * at a time are summed over their lanes together. kind, one (the channels are one
 * whole vector) and plain (no extra) are constants where this is inlined. */
VEC_INLINE void pair_sums_of(pair_kind kind, const int one, const int plain, const edge_row *row, int64_t e0,
                             int edges, const pair_rows *p, float factor, float *flat, float *target) {
    const at_attention *call = row->call;
    const int pairs = edges * row->heads;
    const int channels = one ? VEC_WIDTH : p->channels;
    int e = 0, t = 0;
    for (int x = 0; x < pairs; x += VEC_WIDTH) {
        vec sums[VEC_WIDTH];
        UNROLL for (int l = 0; l < VEC_WIDTH; l++) {
            int64_t head = row->head + t, kv = call->group == 1 ? head : head / call->group;
            const float *extra = plain ? NULL : edge_at(p->extra, row->numbers[e0 + e], head);
            const float *w = kind == PAIR_DOT ? NULL : call->score_vector + head * call->d_k;
            sums[l] = pair_vector(kind, channels, p->a[e] + head * p->a_head, p->b[e] + kv * p->b_head, extra,
                                  w, call->leaky_slope);
            int last = x + l >= pairs - 1; /* past the last pair: once more the last */
            t += !last;
            if (t == row->heads) {
                t = 0;
                e++;
            }
        }
        vec_store(flat + x, vec_mul(vec_sums(sums), vec_set(factor)));
    }
    for (e = 0; e < edges; e++) {
        for (int l = 0; l < row->heads; l += VEC_WIDTH) {
            vec_store(target + e * row->lanes + l, load_channels(flat + e * row->heads, l, row->heads));
        }
    }
}

VEC_INLINE void pair_sums(pair_kind kind, const edge_row *row, int64_t e0, int edges, const pair_rows *p,
                          float factor, float *flat, float *target) {
    if (edges == 0 || row->heads == 0) return;
    if (p->extra) {
        pair_sums_of(kind, 0, 0, row, e0, edges, p, factor, flat, target);
    } else if (p->channels == VEC_WIDTH) {
        pair_sums_of(kind, 1, 1, row, e0, edges, p, factor, flat, target);
    } else {
        pair_sums_of(kind, 0, 1, row, e0, edges, p, factor, flat, target);
    }
}

/* Scores of GAT: heads on the lanes. inner keeps what went into the leaky. */
static void gat_scores(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    const vec slope = vec_set(call->leaky_slope);
    for (int e = 0; e < edges; e++) {
        const float *a = query_rows(&call->query_scores, row->sequence, query_of(row, e0 + e), row->head);
        const float *b = key_rows(&call->key_scores, row->sequence, key_of(row, e0 + e), row->head);
        const float *extra = row->numbers ? edge_at(&call->edge_bias, row->numbers[e0 + e], row->head) : NULL;
        for (int l = 0; l < row->heads; l += VEC_WIDTH) {
            vec x = vec_add(load_channels(a, l, row->heads), load_channels(b, l, row->heads));
            if (extra) x = vec_add(x, load_channels(extra, l, row->heads));
            vec_store(s->inner + e * row->lanes + l, x);
            vec_store(s->scores + e * row->lanes + l, vec_mul(leaky(x, slope), vec_set(LOG2_E)));
        }
    }
}

static void product_scores(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    pair_rows p; /* its arrays are not cleared first: that would take as long as the work */
    p.a_head = call->query.head;
    p.b_head = call->key.head;
    p.channels = call->d_k;
    p.extra = row->numbers && call->edge_key.data ? &call->edge_key : NULL;
    for (int e = 0; e < edges; e++) {
        p.a[e] = query_rows(&call->query, row->sequence, query_of(row, e0 + e), 0);
        p.b[e] = key_rows(&call->key, row->sequence, key_of(row, e0 + e), 0);
    }
    if (call->score == ATTN_SCORE_DOT) {
        pair_sums(PAIR_DOT, row, e0, edges, &p, call->scale * LOG2_E, s->flat, s->scores);
    } else if (call->score == ATTN_SCORE_ADDITIVE) {
        pair_sums(PAIR_ADDITIVE, row, e0, edges, &p, LOG2_E, s->flat, s->scores);
    } else {
        pair_sums(PAIR_LEAKY, row, e0, edges, &p, LOG2_E, s->flat, s->scores);
    }
}

/* Biases, reach and mask of a run of positions. */
static void adjust_positions(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    for (int e = 0; e < edges; e++) s->positions[e] = s->scores[e * row->lanes];
    int64_t first = row->first + e0;
    score_tile t = {.call = row->call,
                    .sequence = row->sequence,
                    .head = row->head,
                    .first_query = row->by_column ? first : row->own,
                    .first_key = row->by_column ? row->own : first,
                    .keys_on_lanes = !row->by_column,
                    .rows = 1,
                    .lanes = round_up(edges, VEC_WIDTH),
                    .lanes_used = edges,
                    .scores = s->positions,
                    .stride = EDGE_TILE,
                    .line = s->line};
    adjust_scores(&t);
    for (int e = 0; e < edges; e++) s->scores[e * row->lanes] = s->positions[e];
}

/* Whether a score of -inf may mean "not seen" here. */
static inline int edges_may_be_unseen(const edge_row *row) {
    const at_attention *call = row->call;
    return row->numbers ? call->edge_bias.data && call->score != ATTN_SCORE_GAT : scores_are_adjusted(call);
}

/* Softcap, on a graph (on positions adjust_scores does it), and its slope in
 * `inner`. */
static void cap_edges(const edge_row *row, int edges, const edge_scratch *s) {
    const float cap = row->call->softcap * LOG2_E;
    for (int x = 0; x < edges * row->lanes; x += VEC_WIDTH) {
        vec u = vec_tanh(vec_mul(vec_load(s->scores + x), vec_set(1.0f / cap)));
        vec_store(s->inner + x, vec_sub(vec_set(1.0f), vec_mul(u, u)));
        vec_store(s->scores + x, vec_mul(u, vec_set(cap)));
    }
}

/* All scores of a tile, in powers of two; fills unseen. */
static void edge_scores(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    memset(s->scores, 0, (size_t)(edges * row->lanes) * sizeof(float));
    if (call->score == ATTN_SCORE_GAT) {
        gat_scores(row, e0, edges, s);
    } else if (call->score != ATTN_SCORE_NONE) {
        product_scores(row, e0, edges, s);
    }
    if (row->numbers && call->softcap > 0.0f) cap_edges(row, edges, s);
    if (row->numbers && call->edge_bias.data && call->score != ATTN_SCORE_GAT) {
        for (int e = 0; e < edges; e++) {
            const float *bias = edge_at(&call->edge_bias, row->numbers[e0 + e], row->head);
            for (int l = 0; l < row->heads; l += VEC_WIDTH) {
                float *x = s->scores + e * row->lanes + l;
                vec_store(x, add_bias(vec_load(x), load_channels(bias, l, row->heads)));
            }
        }
    }
    if (!row->numbers && scores_are_adjusted(call)) adjust_positions(row, e0, edges, s);
    if (edges_may_be_unseen(row)) {
        for (int x = 0; x < edges * row->lanes; x++) s->unseen[x] = s->scores[x] == -INFINITY;
    }
}

/* Whether the weight of (edge, head t) is kept by the dropout. */
static inline int edge_is_kept(const edge_row *row, int64_t e, int t) {
    const at_attention *call = row->call;
    int64_t head = row->head + t;
    if (row->numbers) {
        at_row_key key = at_random_row(call->seed, call->first_sequence + row->numbers[e], head, 0);
        return at_random_word(key, 0) >= call->dropout_threshold;
    }
    at_row_key key = dropout_row(call, row->sequence, head, query_of(row, e));
    return at_random_word(key, (uint32_t)key_of(row, e)) >= call->dropout_threshold;
}

/* The number of neighbours that head t of the row sees. */
static int64_t edges_seen(const edge_row *row, int t) {
    if (!edges_may_be_unseen(row)) return row->count;
    int64_t seen = 0;
    for (int64_t e = 0; e < row->count; e++) {
        seen += row->numbers ? *edge_at(&row->call->edge_bias, row->numbers[e], row->head + t) != -INFINITY
                             : may_see(row->call, row->sequence, row->head, query_of(row, e), key_of(row, e));
    }
    return seen;
}

/* The rows of a task: a piece of a graph, or some rows of one head. */
typedef struct edge_task {
    const at_adjacency *adjacency; /* NULL on positions */
    const at_graph_piece *piece;
    const at_sequence *sequence;
    int64_t head, row, row_end;
} edge_task;

static edge_task edge_task_of(const at_attention *call, int by_column, int64_t task) {
    edge_task t = {.adjacency = by_column ? call->by_column : call->by_row, .sequence = call->sequences};
    if (t.adjacency) {
        t.piece = t.adjacency->pieces + task;
        t.row = t.piece->row;
        t.row_end = t.piece->row_end;
        return t;
    }
    t.sequence = sequence_of_task(call, task);
    int64_t rows = by_column ? t.sequence->keys : t.sequence->queries, number = task - t.sequence->first_task;
    int64_t blocks = (rows + EDGE_ROWS - 1) / EDGE_ROWS;
    t.head = number / blocks;
    t.row = number % blocks * EDGE_ROWS;
    t.row_end = min64(t.row + EDGE_ROWS, rows);
    return t;
}

/* Row `own` of a task; head: on positions, the query head. */
static edge_row edge_row_of(const at_attention *call, const edge_task *t, int by_column, int64_t own,
                            int64_t head) {
    edge_row row = {.call = call, .sequence = t->sequence, .by_column = by_column, .own = own};
    if (t->adjacency) {
        int64_t first = t->piece->partial >= 0 ? t->piece->edge : t->adjacency->offsets[own];
        int64_t end = t->piece->partial >= 0 ? t->piece->edge_end : t->adjacency->offsets[own + 1];
        row.heads = (int)call->heads;
        row.neighbours = t->adjacency->neighbours + first;
        row.numbers = t->adjacency->numbers + first;
        row.count = end - first;
    } else {
        row.head = head;
        row.heads = 1;
        row.first =
            by_column ? first_seeing_query(call, t->sequence, own) : first_seen_key(call, t->sequence, own);
        row.count = (by_column ? end_of_seeing_queries(call, t->sequence, own)
                               : end_of_seen_keys(call, t->sequence, own)) -
                    row.first;
    }
    row.lanes = round_up(row.heads, VEC_WIDTH);
    return row;
}

/* The row, also where the task has only a piece of it. */
static edge_row whole_row_of(const at_attention *call, const edge_task *t, int by_column, int64_t own,
                             int64_t head) {
    const at_graph_piece whole = {.partial = -1};
    edge_task task = *t;
    if (t->adjacency) task.piece = &whole;
    return edge_row_of(call, &task, by_column, own, head);
}

/* Asks for what edge e of the adjacency will read: rows of two tensors. */
VEC_INLINE void prefetch_edge(const at_rows *rows, int64_t index, int64_t heads, int channels) {
    if (!rows->data || rows->head > 2 * channels) return;
    const float *p = rows->data + index * rows->row;
    for (int64_t c = 0; c < (heads - 1) * rows->head + channels; c += 16) __builtin_prefetch(p + c, 0, 2);
}

#endif
