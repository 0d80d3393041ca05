/* edges.h: lists of neighbours, and the scores of a row against one of them.
 *
 * A row is a query with the keys that it sees, or (by_column) a key with the
 * queries that see it. Its neighbours are the edges of a graph, all heads at
 * once, or a run of positions, one head at a time. Neighbours are taken
 * EDGE_TILE at a time.
 *
 * Scores, weights and their gradients of a tile are [edges][stride], heads on
 * the lanes, so that the softmax needs few shuffles. Where the heads divide a
 * vector (or the other way round) they stand without gaps, stride = heads, and
 * a vector holds several edges. What there is once a head and row, such as the
 * maximum, then stands on the lanes as often: lane l belongs to head l % heads.
 *
 * Channels: where heads narrower than a vector stand side by side in memory,
 * several of them share a vector (`part` lanes each), and a row is whole vectors.
 */
#ifndef AT_KERNELS_IMPL_EDGES_H
#define AT_KERNELS_IMPL_EDGES_H

#include "kernels/impl/attention.h"
#include "kernels/impl/weighting.h"

enum {
    EDGE_TILE = 32,   /* whole vectors of edges, on every instruction set */
    EDGE_ROWS = 16,   /* rows of a task, on positions */
    EDGES_AHEAD = 32, /* how many edges ahead rows are asked for */
    SHORT_EDGES = 8   /* backward by column, rows of a graph with no more edges share tiles */
};

typedef struct edge_row {
    const at_attention *call;
    const at_sequence *sequence;
    int by_column;
    int64_t own;               /* the query, or the key */
    const int32_t *owns;       /* NULL, or that of every edge: short rows that share a tile */
    int64_t head;              /* first of the heads */
    int heads, stride, lanes;  /* lanes: whole vectors */
    const int32_t *neighbours; /* NULL: first, first + 1, ... */
    const int64_t *numbers;    /* of the edges; NULL on positions */
    int64_t first, count;
} edge_row;

/* What the scores sum over the channels. */
typedef enum pair_kind { PAIR_DOT, PAIR_ADDITIVE, PAIR_LEAKY } pair_kind;

/* The operands of the sums of a tile: for every edge a row on one side and one
 * on the other, mostly the row's own, from the first head on; steps from head to
 * head. Which of them is the key's only matters where something is added to it. */
typedef struct pair_rows {
    const float *rows[EDGE_TILE], *others[EDGE_TILE];
    const float *own; /* instead of others, or NULL */
    int64_t rows_head, own_head;
    int rows_grouped, own_grouped; /* keys: head t is row first_head + t, or that / group */
    int64_t first_head, group;
    int heads, channels;
    int part;       /* lanes of a head in a vector; 0: the channels are not whole vectors */
    const float *w; /* [heads][channels]: the score vector */
    float leaky_slope;
    const at_rows *extra;   /* by edge number, added to the key; NULL: none */
    const int64_t *numbers; /* of the edges, for extra */
    float *inner;  /* ADDITIVE: keeps the tanh, [edges][heads][channels; in whole vectors if part is 0] */
    int padded;    /* the sums may fill their last vector, */
    float padding; /* with this */
} pair_rows;

typedef struct edge_scratch {
    float *scores, *d_weights, *inner, *levels, *deltas; /* [EDGE_TILE][stride] */
    unsigned char *unseen;                               /* likewise */
    float *line;                                         /* biases of a run of positions */
    float *flat;                                         /* [EDGE_TILE][heads] */
    float *maximum, *sum, *rescale;                      /* [lanes] */
    uint32_t *repeat;                                    /* [VEC_WIDTH]: the head of a lane */
    float *x, *y;                                        /* sums: [heads][x_width], [heads][y_width] */
    float *vector;                                       /* [heads][d_k]: gradient of the score vector */
    int x_width, y_width;
    int x_part, y_part; /* of the rows of d_k and of d_v channels: see pair_rows.part */
    pair_rows *pairs, *value_pairs;
} edge_scratch;

/* Heads next to each other without gaps: see above. */
static inline int edge_stride(int heads) {
    return VEC_WIDTH % heads == 0 || heads % VEC_WIDTH == 0 ? heads : round_up(heads, VEC_WIDTH);
}

/* Whether a score of -inf may mean "not seen" on a graph. */
static inline int graph_edges_may_be_unseen(const at_attention *call) {
    return call->edge_bias.data && call->score != ATTN_SCORE_GAT;
}

/* The lanes that a head has in a vector, if all of these rows are whole
 * vectors; else 0. */
static int part_of_rows(const at_attention *call, int channels, const at_rows *a, const at_rows *b,
                        const at_rows *extra) {
    if (extra->data) return 0;
    if (channels % VEC_WIDTH == 0) return VEC_WIDTH;
    int side_by_side = (!a->data || a->head == channels) && (!b->data || b->head == channels);
    int whole = channels >= VEC_PART && VEC_WIDTH % channels == 0 && call->heads * channels % VEC_WIDTH == 0;
    int alone = call->by_row && call->group == 1 && !graph_edges_may_be_unseen(call);
    return side_by_side && whole && alone ? channels : 0;
}

static size_t edges_layout(const at_attention *call, unsigned char *base, edge_scratch *e) {
    scratch_pieces pieces = {base, 0};
    int64_t heads = call->by_row ? call->heads : 1, lanes = round_up((int)heads, VEC_WIDTH);
    int64_t tile = EDGE_TILE * edge_stride((int)heads) + 2 * VEC_WIDTH,
            pairs = sizeof(pair_rows) / sizeof(float);
    e->x_part = part_of_rows(call, call->d_k, &call->query, &call->key, &call->edge_key);
    e->y_part = part_of_rows(call, call->d_v, &call->value, &call->d_output, &call->edge_value);
    e->x_width = e->x_part ? call->d_k : round_up(call->d_k, VEC_WIDTH);
    e->y_width = e->y_part ? call->d_v : round_up(call->d_v, VEC_WIDTH);
    e->scores = scratch_take(&pieces, tile);
    e->d_weights = scratch_take(&pieces, tile);
    e->inner = scratch_take(&pieces, tile);
    e->levels = scratch_take(&pieces, tile);
    e->deltas = scratch_take(&pieces, tile);
    e->unseen = scratch_take(&pieces, tile);
    e->line = scratch_take(&pieces, EDGE_TILE + 2 * VEC_WIDTH);
    e->flat = scratch_take(&pieces, EDGE_TILE * heads + VEC_WIDTH);
    e->maximum = scratch_take(&pieces, lanes + VEC_WIDTH);
    e->sum = scratch_take(&pieces, lanes + VEC_WIDTH);
    e->rescale = scratch_take(&pieces, lanes + VEC_WIDTH);
    e->repeat = scratch_take(&pieces, VEC_WIDTH);
    e->x = scratch_take(&pieces, call->heads * round_up(call->d_k, VEC_WIDTH) + VEC_WIDTH);
    e->y = scratch_take(&pieces, call->heads * round_up(call->d_v, VEC_WIDTH) + VEC_WIDTH);
    e->vector = scratch_take(&pieces, call->heads * call->d_k);
    e->pairs = scratch_take(&pieces, pairs);
    e->value_pairs = scratch_take(&pieces, pairs);
    float *inner = call->score == ATTN_SCORE_ADDITIVE
                       ? scratch_take(&pieces, EDGE_TILE * heads * round_up(call->d_k, VEC_WIDTH))
                       : NULL;
    if (!base) return pieces.used;
    for (int l = 0; l < VEC_WIDTH; l++) e->repeat[l] = (uint32_t)(l % heads);
    e->pairs->inner = inner;
    e->value_pairs->inner = NULL;
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

/* ---- numbers with heads on the lanes ---- */

/* Numbers of a head, p[0 .. heads), on the lanes from l on as often as the heads
 * of edges are. */
VEC_INLINE vec load_heads(const edge_row *row, const edge_scratch *s, const float *p, int l) {
    vec x = load_channels(p, l, row->heads);
    return row->stride < VEC_WIDTH ? vec_pick(x, veci_load(s->repeat)) : x;
}

/* Every lane the sum (or the maximum) of those of its head. */
VEC_INLINE vec fold_heads(const edge_row *row, int maximum, vec x) {
    for (int step = row->stride; step < VEC_WIDTH; step *= 2) {
        vec other = vec_pick(x, veci_add(veci_lanes(), veci_set((uint32_t)step)));
        x = maximum ? vec_max(other, x) : vec_add(other, x);
    }
    return x;
}

/* Fills the last vector of a tile. */
VEC_INLINE void pad_tile(const edge_row *row, int edges, float *tile, float x) {
    if (edges * row->stride % VEC_WIDTH) vec_store(tile + edges * row->stride, vec_set(x));
}
/* x with padding after the first `used` lanes: for a vector that is then read as
 * a whole, which is slow after two stores. */
VEC_INLINE vec pad_vector(vec x, int used, float padding) {
    static const float lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return vec_select(vec_less(vec_load(lanes), vec_set((float)used)), x, vec_set(padding));
}

/* target[e][t] = base[index * step + t]; the index is the neighbour or the number
 * of the edge (by_number, a constant). */
VEC_INLINE void gather_heads(const int by_number, const edge_row *row, int64_t e0, int edges,
                             const float *base, int64_t step, float *target) {
    const int heads = row->heads;
#define GATHERED(e) (base + (by_number ? row->numbers[e0 + (e)] : neighbour(row, e0 + (e))) * step)
    if (heads == 1 && row->stride == 1) {
        for (int e = 0; e < edges; e++) target[e] = *GATHERED(e);
    } else if (2 * heads == VEC_WIDTH) {
        for (int e = 0; e < edges; e += 2) {
            int last = e + 1 < edges ? e + 1 : e;
            vec_store(target + e * heads, vec_load_halves(GATHERED(e), GATHERED(last)));
        }
    } else { /* what is written too much is written again, or padding */
        for (int e = 0; e < edges; e++) {
            const float *from = GATHERED(e);
            for (int l = 0; l < heads; l += VEC_WIDTH) {
                vec_store(target + e * row->stride + l, load_channels(from, l, heads));
            }
        }
    }
#undef GATHERED
}

/* Which head's number goes to a lane where every head has `part` lanes. */
VEC_INLINE veci spread_index(const int part) {
    const int shift = part == 4 ? 2 : part == 8 ? 3 : 4; /* part is one of these where it is used */
    return veci_shift_right(veci_lanes(), shift);
}
/* The number of every head in a vector, on all its lanes. */
VEC_INLINE vec spread_heads(const int part, const float *numbers, veci index) {
    return part && part < VEC_WIDTH ? vec_pick(vec_load(numbers), index) : vec_set(*numbers);
}

/* The same for heads that share vectors, in a place of whole vectors. */
VEC_INLINE void write_shared_heads(const int part, float *target, const float *source, int numbers,
                                   const float *factors, int adds) {
    const veci index = spread_index(part);
    for (int x = 0; x < numbers; x += VEC_WIDTH) {
        vec y = vec_load(source + x);
        if (factors) y = vec_mul(y, spread_heads(part, factors + x / part, index));
        vec_store(target + x, adds ? vec_add(vec_load(target + x), y) : y);
    }
}

/* target[h] = factors[h] source[h], or without factors; or (adds) target[h] += that. */
static void write_heads(float *target, int64_t target_head, const float *source, int width, int heads,
                        int channels, int part, const float *factors, int adds) {
    if (VEC_PART <= VEC_WIDTH / 2 && part == VEC_WIDTH / 2 && target_head == channels) {
        write_shared_heads(VEC_WIDTH / 2, target, source, heads * channels, factors, adds);
        return;
    }
    if (VEC_PART <= VEC_WIDTH / 4 && part == VEC_WIDTH / 4 && target_head == channels) {
        write_shared_heads(VEC_WIDTH / 4, target, source, heads * channels, factors, adds);
        return;
    }
    for (int h = 0; h < heads; h++, target += target_head, source += width) {
        const vec factor = vec_set(factors ? factors[h] : 1.0f);
        for (int c = 0; c < channels; c += VEC_WIDTH) {
            vec x = vec_mul(vec_load(source + c), factor);
            if (adds) x = vec_add(load_channels(target, c, channels), x);
            if (c + VEC_WIDTH <= channels) {
                vec_store(target + c, x);
            } else {
                vec_store_part(target + c, x, channels - c);
            }
        }
    }
}

/* ---- sums over the channels ---- */

VEC_INLINE vec leaky(vec x, vec slope) {
    return vec_select(vec_less(vec_set(0.0f), x), x, vec_mul(x, slope));
}

/* The sum over the vectors of channels, not yet over their lanes, of q k,
 * w tanh(q + k) or w leaky(q + k); extra: added to k, or NULL; inner: where the
 * tanh is kept, or NULL. */
VEC_INLINE vec pair_vector(pair_kind kind, int channels, const float *q, const float *k, const float *extra,
                           const float *w, float leaky_slope, float *inner) {
    vec sum = vec_set(0.0f);
    for (int c = 0; c < channels; c += VEC_WIDTH) {
        vec a = load_channels(q, c, channels), b = load_channels(k, c, channels);
        if (extra) b = vec_add(b, load_channels(extra, c, channels));
        if (kind == PAIR_DOT) {
            sum = vec_fma(a, b, sum);
        } else {
            vec x = vec_add(a, b);
            vec f = kind == PAIR_ADDITIVE ? vec_tanh(x) : leaky(x, vec_set(leaky_slope));
            if (kind == PAIR_ADDITIVE) vec_store(inner + c, f);
            sum = vec_fma(load_channels(w, c, channels), f, sum);
        }
    }
    return sum;
}

/* One vector of sums, of which the first numbers are wanted. */
VEC_INLINE void store_sums(const pair_rows *p, vec sums, float factor, int wanted, float *target) {
    sums = vec_mul(sums, vec_set(factor));
    if (wanted >= VEC_WIDTH) {
        vec_store(target, sums);
    } else if (p->padded) {
        vec_store(target, pad_vector(sums, wanted, p->padding));
    } else {
        vec_store_part(target, sums, wanted);
    }
}

/* The place of head t in rows from the first head on. */
static inline int64_t pair_place(const pair_rows *p, int t, int grouped) {
    return grouped && p->group > 1 ? (p->first_head + t) / p->group - p->first_head / p->group : t;
}

/* target[e][t] = factor * sum, [edges][heads], for the (edge, head) of a tile:
 * VEC_WIDTH of them at a time are summed over their lanes together. kind is a
 * constant where this is inlined. */
VEC_INLINE void pair_sums_any(pair_kind kind, const pair_rows *p, int edges, float factor, float *target) {
    const int pairs = edges * p->heads, width = p->part ? p->channels : round_up(p->channels, VEC_WIDTH);
    int e = 0, t = 0;
    for (int x = 0; x < pairs; x += VEC_WIDTH) {
        vec sums[VEC_WIDTH];
        for (int l = 0; l < VEC_WIDTH; l++) {
            const float *extra = p->extra ? edge_at(p->extra, p->numbers[e], p->first_head + t) : NULL;
            const float *a = p->rows[e] + pair_place(p, t, p->rows_grouped) * p->rows_head;
            const float *b =
                (p->own ? p->own : p->others[e]) + pair_place(p, t, p->own_grouped) * p->own_head;
            const float *key = p->rows_grouped ? a : b, *query = p->rows_grouped ? b : a;
            sums[l] =
                pair_vector(kind, p->channels, query, key, extra,
                            kind == PAIR_DOT ? NULL : p->w + (int64_t)t * p->channels, p->leaky_slope,
                            kind == PAIR_ADDITIVE ? p->inner + ((int64_t)e * p->heads + t) * width : NULL);
            int last = x + l >= pairs - 1; /* past the last pair: once more the last */
            t += !last;
            if (t == p->heads) {
                t = 0;
                e++;
            }
        }
        store_sums(p, vec_sums(sums), factor, pairs - x, target + x);
    }
}

/* The same where rows are whole vectors, and their heads fill vectors. Here also
 * the number of heads (0: a multiple of the vector width), the part and one (a
 * head has not more than one vector) are constants: no turn of a loop asks where
 * its operands are. Operands past the last edge are those of some edge. */
VEC_INLINE void pair_sums_whole(pair_kind kind, const int heads, const int part, const int one,
                                const pair_rows *p, int edges, float factor, float *target) {
    const int all = heads ? heads : p->heads,
              rows = all * part / VEC_WIDTH; /* of an edge, each a sum a part */
    const int channels = one ? VEC_WIDTH : p->channels;
    const int64_t a_step = part < VEC_WIDTH ? VEC_WIDTH : p->rows_head,
                  b_step = part < VEC_WIDTH ? VEC_WIDTH : p->own_head;
    int e = 0, first = 0;
    for (int x = 0; x < edges * all; x += VEC_WIDTH) {
        vec sums[VEC_WIDTH];
        UNROLL for (int l = 0; l < part; l++) {
            int edge = heads ? e + l / rows : e, r = heads ? l % rows : first + l;
            const float *b = p->own ? p->own : p->others[edge];
            sums[l] =
                pair_vector(kind, channels, p->rows[edge] + r * a_step, b + r * b_step, NULL,
                            kind == PAIR_DOT ? NULL : p->w + (int64_t)r * channels, p->leaky_slope,
                            kind == PAIR_ADDITIVE ? p->inner + ((int64_t)edge * rows + r) * channels : NULL);
        }
        if (heads) {
            e += part / rows;
        } else if ((first += part) == rows) {
            first = 0;
            e++;
        }
        store_sums(p, vec_part_sums(part, sums), factor, edges * all - x, target + x);
    }
}

/* The same for products with one row, a vector a head or less: that row stays in
 * registers. */
VEC_INLINE void own_dot_sums(const int heads, const int part, const pair_rows *p, int edges, float factor,
                             float *target) {
    enum { MOST = 8 };
    const int rows = heads * part / VEC_WIDTH;
    const int64_t a_step = part < VEC_WIDTH ? VEC_WIDTH : p->rows_head,
                  b_step = part < VEC_WIDTH ? VEC_WIDTH : p->own_head;
    vec own[MOST];
    UNROLL for (int r = 0; r < rows; r++) own[r] = vec_load(p->own + r * b_step);
    int e = 0;
    for (int x = 0; x < edges * heads; x += VEC_WIDTH, e += part / rows) {
        vec sums[VEC_WIDTH];
        UNROLL for (int l = 0; l < part; l++) {
            sums[l] = vec_mul(vec_load(p->rows[e + l / rows] + l % rows * a_step), own[l % rows]);
        }
        store_sums(p, vec_part_sums(part, sums), factor, edges * heads - x, target + x);
    }
}

VEC_INLINE int pair_sums_of_part(pair_kind kind, const int part, const int one, const pair_rows *p, int edges,
                                 float factor, float *target) {
    if (p->heads % VEC_WIDTH == 0) {
        pair_sums_whole(kind, 0, part, one, p, edges, factor, target);
    } else if (VEC_WIDTH > 8 && p->heads == 8) {
        pair_sums_whole(kind, 8, part, one, p, edges, factor, target);
    } else if (VEC_WIDTH > 4 && p->heads == 4) {
        pair_sums_whole(kind, 4, part, one, p, edges, factor, target);
    } else if (part == VEC_WIDTH && p->heads == 1) {
        pair_sums_whole(kind, 1, part, one, p, edges, factor, target);
    } else {
        return 0;
    }
    return 1;
}

VEC_INLINE void pair_sums_of(pair_kind kind, const pair_rows *p, int edges, float factor, float *target) {
    if (edges == 0 || p->heads == 0) return;
    int done = 0;
    if (kind == PAIR_DOT && VEC_WIDTH == 16 && p->own && p->heads == 8 && p->group == 1 && !p->extra) {
        if (p->part == VEC_WIDTH && p->channels == VEC_WIDTH) {
            own_dot_sums(8, VEC_WIDTH, p, edges, factor, target);
            return;
        }
        if (p->part == VEC_WIDTH / 2) {
            own_dot_sums(8, VEC_WIDTH / 2, p, edges, factor, target);
            return;
        }
    }
    if (!p->extra && (p->group == 1 || p->heads == 1)) {
        if (p->part == VEC_WIDTH && kind == PAIR_DOT && p->channels == VEC_WIDTH) {
            done = pair_sums_of_part(kind, VEC_WIDTH, 1, p, edges, factor, target);
        } else if (p->part == VEC_WIDTH) {
            done = pair_sums_of_part(kind, VEC_WIDTH, 0, p, edges, factor, target);
        } else if (VEC_PART <= VEC_WIDTH / 2 && p->part == VEC_WIDTH / 2) {
            done = pair_sums_of_part(kind, VEC_WIDTH / 2, 1, p, edges, factor, target);
        } else if (VEC_PART <= VEC_WIDTH / 4 && p->part == VEC_WIDTH / 4) {
            done = pair_sums_of_part(kind, VEC_WIDTH / 4, 1, p, edges, factor, target);
        }
    }
    if (!done) pair_sums_any(kind, p, edges, factor, target);
}
static __attribute__((noinline)) void dot_sums(const pair_rows *p, int edges, float factor, float *target) {
    pair_sums_of(PAIR_DOT, p, edges, factor, target);
}
static __attribute__((noinline)) void additive_sums(const pair_rows *p, int edges, float *target) {
    pair_sums_of(PAIR_ADDITIVE, p, edges, LOG2_E, target);
}
static __attribute__((noinline)) void leaky_sums(const pair_rows *p, int edges, float *target) {
    pair_sums_of(PAIR_LEAKY, p, edges, LOG2_E, target);
}

/* The same for a tile, as that stands, filled up with padding. */
static void tile_sums(pair_kind kind, const edge_row *row, pair_rows *p, int edges, float factor,
                      float padding, const edge_scratch *s, float *tile) {
    float *target = row->stride == row->heads ? tile : s->flat;
    p->padded = 1;
    p->padding = padding;
    if (kind == PAIR_DOT) {
        dot_sums(p, edges, factor, target);
    } else if (kind == PAIR_ADDITIVE) {
        additive_sums(p, edges, target);
    } else {
        leaky_sums(p, edges, target);
    }
    for (int e = 0; target != tile && e < edges; e++) {
        for (int l = 0; l < row->heads; l += VEC_WIDTH) {
            vec_store(tile + e * row->stride + l, load_channels(s->flat + e * row->heads, l, row->heads));
        }
    }
}

/* The rows of the neighbours of a tile. */
VEC_INLINE void fill_rows(const edge_row *row, int64_t e0, int edges, const float *base, int64_t step,
                          const float **rows) {
    for (int e = 0; e < edges; e++) rows[e] = base + neighbour(row, e0 + e) * step;
    for (int e = edges; e * row->stride % VEC_WIDTH; e++) rows[e] = rows[edges - 1];
}

static void fill_pairs(const edge_row *row, int64_t e0, int edges, const at_rows *queries,
                       const at_rows *keys, pair_rows *p) {
    const at_attention *call = row->call;
    const float *query = query_rows(queries, row->sequence, 0, row->head),
                *key =
                    key_rows(keys, row->sequence, 0, call->group == 1 ? row->head : row->head / call->group);
    p->rows_head = row->by_column ? queries->head : keys->head;
    p->own_head = row->by_column ? keys->head : queries->head;
    p->own = row->by_column ? key + row->own * keys->row : query + row->own * queries->row;
    p->rows_grouped = !row->by_column;
    p->own_grouped = row->by_column;
    p->first_head = row->head;
    p->group = call->group;
    p->heads = row->heads;
    p->w = call->score_vector ? call->score_vector + row->head * call->d_k : NULL;
    p->leaky_slope = call->leaky_slope;
    p->numbers = row->numbers ? row->numbers + e0 : NULL;
    fill_rows(row, e0, edges, row->by_column ? query : key, row->by_column ? queries->row : keys->row,
              p->rows);
    if (!row->owns) return;
    const float *base = row->by_column ? key : query;
    const int64_t step = row->by_column ? keys->row : queries->row;
    p->own = NULL;
    for (int e = 0; e < edges; e++) p->others[e] = base + row->owns[e] * step;
    for (int e = edges; e * row->stride % VEC_WIDTH; e++) p->others[e] = p->others[edges - 1];
}

/* ---- scores ---- */

/* Scores of GAT: heads on the lanes. inner keeps what went into the leaky. */
static void gat_scores(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    const at_rows *queries = &call->query_scores, *keys = &call->key_scores;
    const float *all_queries = query_rows(queries, row->sequence, 0, row->head),
                *all_keys = key_rows(keys, row->sequence, 0, row->head);
    const float *own =
        row->by_column ? all_keys + row->own * keys->row : all_queries + row->own * queries->row;
    gather_heads(0, row, e0, edges, row->by_column ? all_queries : all_keys,
                 row->by_column ? queries->row : keys->row, s->inner);
    if (row->owns) {
        edge_row owners = *row;
        owners.neighbours = row->owns;
        gather_heads(0, &owners, 0, edges, row->by_column ? all_keys : all_queries,
                     row->by_column ? keys->row : queries->row, s->levels);
    }
    const int extra = row->numbers && call->edge_bias.data;
    if (extra) {
        gather_heads(1, row, e0, edges, call->edge_bias.data + row->head * call->edge_bias.head,
                     call->edge_bias.row, s->scores);
    }
    const vec slope = vec_set(call->leaky_slope);
    const int numbers = edges * row->stride;
    for (int l = 0; l < row->lanes; l += VEC_WIDTH) {
        const vec mine = load_heads(row, s, own, l);
        for (int x = l; x < numbers; x += row->lanes) {
            vec inner = vec_add(vec_load(s->inner + x), row->owns ? vec_load(s->levels + x) : mine);
            if (extra) inner = vec_add(inner, vec_load(s->scores + x));
            vec_store(s->inner + x, inner);
            vec score = vec_mul(leaky(inner, slope), vec_set(LOG2_E));
            if (x + VEC_WIDTH > numbers) score = pad_vector(score, numbers - x, -INFINITY);
            vec_store(s->scores + x, score);
        }
    }
}

static void product_scores(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    pair_rows *p = s->pairs;
    p->channels = call->d_k;
    p->part = s->x_part;
    p->extra = row->numbers && call->edge_key.data ? &call->edge_key : NULL;
    fill_pairs(row, e0, edges, &call->query, &call->key, p);
    pair_kind kind = call->score == ATTN_SCORE_DOT        ? PAIR_DOT
                     : call->score == ATTN_SCORE_ADDITIVE ? PAIR_ADDITIVE
                                                          : PAIR_LEAKY;
    tile_sums(kind, row, p, edges, call->scale * LOG2_E, -INFINITY, s, s->scores);
}

/* Biases, reach and mask of a run of positions. */
static void adjust_positions(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
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
                    .scores = s->scores,
                    .stride = EDGE_TILE,
                    .line = s->line};
    adjust_scores(&t);
}

/* Whether a score of -inf may mean "not seen" here. */
static inline int edges_may_be_unseen(const edge_row *row) {
    const at_attention *call = row->call;
    return row->numbers ? graph_edges_may_be_unseen(call) : scores_are_adjusted(call);
}

/* Softcap, on a graph (on positions adjust_scores does it), and its slope in
 * `inner`. */
static void cap_edges(const edge_row *row, int edges, const edge_scratch *s) {
    const float cap = row->call->softcap * LOG2_E;
    for (int x = 0; x < edges * row->stride; x += VEC_WIDTH) {
        vec u = vec_tanh(vec_mul(vec_load(s->scores + x), vec_set(1.0f / cap)));
        vec_store(s->inner + x, vec_sub(vec_set(1.0f), vec_mul(u, u)));
        vec_store(s->scores + x, vec_mul(u, vec_set(cap)));
    }
}

/* All scores of a tile, in powers of two, filled up with -inf; fills unseen. */
static void edge_scores(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    const int numbers = edges * row->stride;
    if (call->score == ATTN_SCORE_GAT) {
        gat_scores(row, e0, edges, s);
    } else if (call->score != ATTN_SCORE_NONE) {
        product_scores(row, e0, edges, s);
    } else {
        memset(s->scores, 0, (size_t)numbers * sizeof(float));
    }
    const int padded = call->score != ATTN_SCORE_NONE && !edges_may_be_unseen(row) && call->softcap == 0.0f;
    if (row->numbers && call->softcap > 0.0f) cap_edges(row, edges, s);
    if (row->numbers && graph_edges_may_be_unseen(call)) {
        gather_heads(1, row, e0, edges, call->edge_bias.data + row->head * call->edge_bias.head,
                     call->edge_bias.row, s->levels);
        for (int x = 0; x < numbers; x += VEC_WIDTH) {
            vec_store(s->scores + x, add_bias(vec_load(s->scores + x), vec_load(s->levels + x)));
        }
    }
    if (!row->numbers && scores_are_adjusted(call)) adjust_positions(row, e0, edges, s);
    if (edges_may_be_unseen(row)) {
        for (int x = 0; x < numbers; x++) s->unseen[x] = s->scores[x] == -INFINITY;
    }
    if (!padded) pad_tile(row, edges, s->scores, -INFINITY);
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
    row.stride = edge_stride(row.heads);
    return row;
}

/* The next row of a graph. */
static inline void next_edge_row(const edge_task *t, edge_row *row) {
    row->neighbours += row->count;
    row->numbers += row->count;
    row->own++;
    row->count = t->adjacency->offsets[row->own + 1] - t->adjacency->offsets[row->own];
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
