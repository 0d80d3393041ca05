/* attention_edges.c: attention over lists of neighbours, forward: one pass a
 * row with the online softmax, nothing kept for an edge.
 *
 *     m' = max(m, max_e s_e),  p_e = exp2(s_e - m'),  l = l exp2(m - m') + sum p,
 *     o  = o exp2(m - m') + sum_e p_e (v_e + edge_value_e)
 *
 * heads on the lanes for the softmax, channels on the lanes for the sums. A hub
 * is done in pieces, which leave (m, l, o) a head and are merged in order.
 */
#include "kernels/impl/edges.h"

/* GAT: the number a . q_i (or b . k_j) of every head, for some rows. */
static void attention_score_terms(const at_attention *call, int of_keys, int64_t task) {
    const at_sequence *s = sequence_of_task(call, task);
    const at_rows *rows = of_keys ? &call->key : &call->query;
    const at_rows *target = of_keys ? &call->key_scores : &call->query_scores, none = {NULL, 0, 0, 0};
    int64_t row = (task - s->first_task) * EDGE_ROWS,
            row_end = min64(row + EDGE_ROWS, of_keys ? s->keys : s->queries);
    pair_rows p; /* its arrays are not cleared first: that would take as long as the work */
    p.own = of_keys ? call->key_score_vector : call->score_vector;
    p.own_head = call->d_k;
    p.rows_head = rows->head;
    p.own_grouped = 0;
    p.rows_grouped = of_keys;
    p.first_head = 0;
    p.group = call->group;
    p.padded = 0;
    p.heads = (int)call->heads;
    p.channels = call->d_k;
    p.part = part_of_rows(call, call->d_k, rows, rows, &none);
    p.extra = NULL;
    for (int e = 0; e < EDGE_ROWS; e++) {
        int64_t i = min64(row + e, row_end - 1);
        p.rows[e] = of_keys ? key_rows(rows, s, i, 0) : query_rows(rows, s, i, 0);
    }
    dot_sums(&p, (int)(row_end - row), 1.0f,
             of_keys ? key_rows(target, s, row, 0) : query_rows(target, s, row, 0));
}

/* One online softmax step over a tile: scores become weights relative to the
 * running maximum; rescale is what the sums so far have to be multiplied with. */
static void softmax_edges(const edge_row *row, int edges, const edge_scratch *s) {
    const int numbers = edges * row->stride, step = row->lanes;
    for (int l = 0; l < row->lanes; l += VEC_WIDTH) {
        vec m0 = vec_load(s->maximum + l), m1 = m0;
        int x = l;
        for (; x + step < numbers; x += 2 * step) {
            m0 = vec_max(vec_load(s->scores + x), m0);
            m1 = vec_max(vec_load(s->scores + x + step), m1);
        }
        if (x < numbers) m0 = vec_max(vec_load(s->scores + x), m0);
        m0 = fold_heads(row, 1, vec_max(m0, m1));
        /* where nothing is seen yet, subtract 0 instead of -inf: exp2(-inf) is 0 */
        vec reference = vec_select(vec_equal(m0, vec_set(-INFINITY)), vec_set(0.0f), m0);
        vec factor = vec_exp2(vec_sub(vec_load(s->maximum + l), reference));
        vec_store(s->maximum + l, m0);
        vec_store(s->rescale + l, factor);
        vec sum = vec_mul(vec_load(s->sum + l), factor);
        for (x = l; x < numbers; x += step) {
            vec p = vec_exp2(vec_sub(vec_load(s->scores + x), reference));
            vec_store(s->scores + x, p);
            sum = vec_add(sum, p);
        }
        vec_store(s->sum + l, sum);
    }
}

/* Weights without softmax, and the number of keys seen in `sum`. */
static void plain_weights(const edge_row *row, int edges, const edge_scratch *s) {
    const attn_weighting weighting = row->call->weighting;
    const int check = edges_may_be_unseen(row);
    for (int x = 0; x < edges * row->stride; x += VEC_WIDTH) {
        vec_store(s->scores + x, plain_weight(weighting, vec_load(s->scores + x)));
    }
    for (int e = 0; e < edges; e++) {
        for (int t = 0; t < row->heads; t++) {
            if (check && s->unseen[e * row->stride + t]) {
                s->scores[e * row->stride + t] = 0.0f;
            } else {
                s->sum[t] += 1.0f;
            }
        }
    }
}

/* The weights of an edge of a graph: it has one key, and a word of that for each head. */
static void drop_heads(const edge_row *row, int64_t number, float *weights) {
    const at_attention *call = row->call;
    const at_row_key key = at_random_row(call->seed, call->first_sequence + number, 0, 0);
    const veci a = veci_set(key.a), b = veci_set(key.b), threshold = veci_set(call->dropout_threshold);
    const vec scale = vec_set(call->dropout_scale);
    for (int t = 0; t < row->heads; t += VEC_WIDTH) {
        int lanes = row->heads - t < VEC_WIDTH ? row->heads - t : VEC_WIDTH;
        vecb keep =
            dropout_keeps(a, b, veci_add(veci_set((uint32_t)(row->head + t)), veci_lanes()), threshold);
        vec p = vec_mul(vec_load_part(weights + t, lanes), scale);
        vec_store_part(weights + t, vec_select(keep, p, vec_set(0.0f)), lanes);
    }
}

static void drop_edges(const edge_row *row, int64_t e0, int edges, float *weights) {
    const at_attention *call = row->call;
    for (int e = 0; e < edges; e++) {
        float *p = weights + e * row->stride;
        if (row->numbers) {
            drop_heads(row, row->numbers[e0 + e], p);
            continue;
        }
        for (int t = 0; t < row->heads; t++) {
            at_row_key key = dropout_row(call, row->sequence, row->head + t, query_of(row, e0 + e));
            int kept = at_random_word(key, (uint32_t)key_of(row, e0 + e)) >= call->dropout_threshold;
            p[t] = kept ? p[t] * call->dropout_scale : 0.0f;
        }
    }
}

/* A weighted sum over the edges of a tile, for all heads:
 *
 *     out[h'] = factor[t] out[h'] + sum_e weights[e][t] (row_e[g] + extra_e[t])
 *
 * for every head t, with g = t or its key/value head (rows_grouped), and h' = t
 * or its key/value head (out_grouped): then several heads add to one out. */
typedef struct edge_sum {
    const float *const *rows; /* from the first head on */
    int64_t rows_head;
    int rows_grouped, out_grouped;
    const at_rows *extra; /* by edge number, or NULL */
    const float *weights;
    const float *factor;         /* NULL: 1 */
    int fresh;                   /* nothing is in out yet */
    const unsigned char *unseen; /* NULL, or pairs to leave out: 0 * NaN */
    int channels, part;
    float *out;
    int out_width;
} edge_sum;

/* The place in the sums of head t of a row. */
static inline int64_t sum_place(const edge_row *row, int t, int grouped) {
    if (!row->numbers) return 0;
    return grouped && row->call->group > 1 ? (row->head + t) / row->call->group : t;
}

/* The numbers of the heads of an edge, which are at most a vector; what comes
 * after them does not matter. Read as they were written: no more than a half. */
VEC_INLINE vec load_shared(const edge_row *row, const float *p) {
    return 2 * row->stride == VEC_WIDTH ? vec_load_halves(p, p) : vec_load(p);
}

/* `count` vectors of channels from (head t, channel c) on, heads one after
 * another: as many chains. Where heads share vectors (part), t counts vectors.
 * count, part and plain (whole vectors, no extra, all seen) are constants where
 * this is inlined. */
VEC_INLINE void sum_edge_vectors(const int count, const int part, const int plain, const edge_row *row,
                                 int64_t e0, int edges, const edge_sum *u, int t, int c) {
    const int shared = part && part < VEC_WIDTH;
    const veci index = shared ? spread_index(part) : veci_lanes();
    const int64_t group = row->call->group;
    vec sum[8];
    veci indices[8]; /* of the heads of a vector, among the numbers from the first head on */
    int64_t from[8];
    int head[8], channel[8];
    float *out[8];
    UNROLL for (int l = 0; l < count; l++) {
        head[l] = shared ? t * (VEC_WIDTH / part) : t;
        channel[l] = c;
        indices[l] = veci_add(index, veci_set((uint32_t)(head[l] - head[0])));
        int64_t place = u->rows_grouped && group > 1 ? (row->head + t) / group - row->head / group : t;
        from[l] = shared ? t * VEC_WIDTH : place * u->rows_head + c;
        out[l] = u->out + (shared ? t * VEC_WIDTH : sum_place(row, t, u->out_grouped) * u->out_width + c);
        sum[l] = vec_set(0.0f);
        if (!u->fresh) {
            sum[l] = vec_load(out[l]);
            if (u->factor) sum[l] = vec_mul(sum[l], spread_heads(part, u->factor + head[l], index));
        }
        c += VEC_WIDTH;
        if (shared || c >= u->channels) {
            c = 0;
            t++;
        }
    }
    for (int e = 0; e < edges; e++) {
        const float *weights = u->weights + e * row->stride, *x_row = u->rows[e];
        const vec shares = shared ? load_shared(row, weights + head[0]) : vec_set(0.0f);
        UNROLL for (int l = 0; l < count; l++) {
            if (!plain && u->unseen && u->unseen[e * row->stride + head[l]]) continue;
            int whole = plain || channel[l] + VEC_WIDTH <= u->channels;
            vec x =
                whole ? vec_load(x_row + from[l]) : vec_load_part(x_row + from[l], u->channels - channel[l]);
            if (!plain && u->extra) {
                const float *more = edge_at(u->extra, row->numbers[e0 + e], row->head + head[l]);
                x = vec_add(x, load_channels(more, channel[l], u->channels));
            }
            vec weight = shared ? vec_pick(shares, indices[l]) : vec_set(weights[head[l]]);
            sum[l] = vec_fma(weight, x, sum[l]);
        }
    }
    UNROLL for (int l = 0; l < count; l++) vec_store(out[l], sum[l]);
}

/* All of them where they are whole vectors. */
VEC_INLINE void sum_whole_vectors(const int part, const edge_row *row, int64_t e0, int edges,
                                  const edge_sum *u) {
    const int vectors = part < VEC_WIDTH ? 1 : u->channels / VEC_WIDTH;
    const int total = row->heads * u->channels / VEC_WIDTH;
    int x = 0;
    for (; part >= 8 && x + 8 <= total; x += 8) { /* not more heads than lanes */
        sum_edge_vectors(8, part, 1, row, e0, edges, u, x / vectors, x % vectors * VEC_WIDTH);
    }
    for (; x + 4 <= total; x += 4) {
        sum_edge_vectors(4, part, 1, row, e0, edges, u, x / vectors, x % vectors * VEC_WIDTH);
    }
    for (; x < total; x++) {
        sum_edge_vectors(1, part, 1, row, e0, edges, u, x / vectors, x % vectors * VEC_WIDTH);
    }
}

static __attribute__((noinline)) void sum_edges(const edge_row *row, int64_t e0, int edges,
                                                const edge_sum *u) {
    const int vectors = (u->channels + VEC_WIDTH - 1) / VEC_WIDTH, total = row->heads * vectors;
    /* several heads that add to one place must take turns */
    const int together = !(u->out_grouped && row->call->group > 1);
    if (together && !u->unseen && !u->extra) {
        if (u->part == VEC_WIDTH) {
            sum_whole_vectors(VEC_WIDTH, row, e0, edges, u);
            return;
        }
        if (VEC_PART <= VEC_WIDTH / 2 && u->part == VEC_WIDTH / 2) {
            sum_whole_vectors(VEC_WIDTH / 2, row, e0, edges, u);
            return;
        }
        if (VEC_PART <= VEC_WIDTH / 4 && u->part == VEC_WIDTH / 4) {
            sum_whole_vectors(VEC_WIDTH / 4, row, e0, edges, u);
            return;
        }
    }
    int x = 0;
    for (; together && x + 4 <= total; x += 4) {
        sum_edge_vectors(4, 0, 0, row, e0, edges, u, x / vectors, x % vectors * VEC_WIDTH);
    }
    for (; x < total; x++) sum_edge_vectors(1, 0, 0, row, e0, edges, u, x / vectors, x % vectors * VEC_WIDTH);
}

static void forward_edges(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    edge_scores(row, e0, edges, s);
    if (call->weighting == ATTN_WEIGHTS_SOFTMAX) {
        softmax_edges(row, edges, s);
    } else {
        plain_weights(row, edges, s);
    }
    if (call->dropout_threshold) drop_edges(row, e0, edges, s->scores);
    const float **rows = s->value_pairs->rows;
    fill_rows(row, e0, edges, key_rows(&call->value, row->sequence, 0, row->head / call->group),
              call->value.row, rows);
    edge_sum u;
    u.rows = rows;
    u.rows_head = call->value.head;
    u.rows_grouped = 1;
    u.out_grouped = 0;
    u.extra = row->numbers && call->edge_value.data ? &call->edge_value : NULL;
    u.weights = s->scores;
    u.factor = s->rescale;
    u.fresh = e0 == 0;
    u.unseen = edges_may_be_unseen(row) ? s->unseen : NULL;
    u.channels = call->d_v;
    u.part = s->y_part;
    u.out = s->y;
    u.out_width = s->y_width;
    sum_edges(row, e0, edges, &u);
}

/* What the weighted sum of a row has to be multiplied with; writes log_sum_exp.
 * sees: whether it sees anything. */
static float finish_edge_result(const at_attention *call, const at_sequence *sequence, int64_t own,
                                int64_t head, float maximum, float sum, int sees) {
    int softmax = call->weighting == ATTN_WEIGHTS_SOFTMAX;
    if (softmax && sum == 0.0f && sees) sum = NAN; /* 0 / 0 */
    if (call->log_sum_exp.data) {
        float level = sum == 0.0f ? -INFINITY : (maximum + log2f(sum)) * LN_2;
        *query_rows(&call->log_sum_exp, sequence, own, head) = softmax ? level : 0.0f;
    }
    return softmax || call->average ? (sum == 0.0f ? 0.0f : 1.0f / sum) : 1.0f;
}

/* log2 of a vector of numbers that are 1 or more; a NaN stays one. In plain C,
 * which the compiler turns into vectors: with x = 2^e m, m around 1, log2 m is the
 * series of artanh((m - 1) / (m + 1)) (error < 2^-23 of its largest value, 1/2). */
static __attribute__((noinline)) void log2_lanes(const float *restrict x, float *restrict y) {
    for (int l = 0; l < VEC_WIDTH; l++) {
        int32_t bits, exponent;
        float m;
        memcpy(&bits, x + l, sizeof bits);
        exponent = (bits - 0x3f3504f3) >> 23; /* m is from sqrt(1/2) to sqrt(2) */
        bits -= exponent * (1 << 23);
        memcpy(&m, &bits, sizeof m);
        float s = (m - 1.0f) / (m + 1.0f), t = s * s;
        float series =
            s * (2.8853901f + t * (0.9617967f + t * (0.5770780f + t * (0.4121986f + t * 0.3205989f))));
        y[l] = (float)exponent + series + (x[l] - x[l]); /* + 0, or NaN: a branch would not become vectors */
    }
}

/* The same for all heads of a row: the factors are left in rescale. */
static void finish_edge_heads(const edge_row *row, const edge_scratch *s) {
    const at_attention *call = row->call;
    const at_rows *target = &call->log_sum_exp;
    int ordinary = call->weighting == ATTN_WEIGHTS_SOFTMAX;
    for (int l = 0; l < row->lanes; l += VEC_WIDTH) {
        ordinary &= vec_all(vec_less(vec_set(0.5f), vec_load(s->sum + l)));
    }
    for (int h = 0; !ordinary && h < row->heads; h++) {
        int sees = s->sum[h] == 0.0f && edges_seen(row, h) > 0;
        s->rescale[h] =
            finish_edge_result(call, row->sequence, row->own, row->head + h, s->maximum[h], s->sum[h], sees);
    }
    for (int l = 0; ordinary && l < row->lanes; l += VEC_WIDTH) {
        vec_store(s->rescale + l, vec_div(vec_set(1.0f), vec_load(s->sum + l)));
        if (!target->data) continue;
        float *levels = query_rows(target, row->sequence, row->own, row->head + l);
        int used = row->heads - l < VEC_WIDTH ? row->heads - l : VEC_WIDTH;
        log2_lanes(s->sum + l, s->flat);
        vec level = vec_mul(vec_add(vec_load(s->maximum + l), vec_load(s->flat)), vec_set(LN_2));
        if (target->head == 1) {
            vec_store_part(levels, level, used);
        } else {
            vec_store(s->flat, level);
            for (int h = 0; h < used; h++) levels[h * target->head] = s->flat[h];
        }
    }
}

static void forward_edge_row(const edge_row *row, const edge_task *t, const edge_scratch *s) {
    const at_attention *call = row->call;
    const vec nothing = vec_set(call->weighting == ATTN_WEIGHTS_SOFTMAX ? -INFINITY : 0.0f);
    for (int l = 0; l < row->lanes; l += VEC_WIDTH) {
        vec_store(s->maximum + l, nothing);
        vec_store(s->sum + l, vec_set(0.0f));
        vec_store(s->rescale + l, vec_set(1.0f));
    }
    if (row->count == 0) memset(s->y, 0, (size_t)row->heads * (size_t)s->y_width * sizeof(float));
    for (int64_t e = 0; e < row->count; e += EDGE_TILE) {
        forward_edges(row, e, (int)min64(EDGE_TILE, row->count - e), s);
    }
    for (int l = 0; l < row->lanes; l += VEC_WIDTH) {
        vec_store(s->sum + l, fold_heads(row, 0, vec_load(s->sum + l)));
    }
    if (t->piece && t->piece->partial >= 0) {
        for (int h = 0; h < row->heads; h++) {
            float *partial = call->partials + (t->piece->partial * call->heads + h) * (call->d_v + 2);
            partial[0] = s->maximum[h];
            partial[1] = s->sum[h];
            memcpy(partial + 2, s->y + (int64_t)h * s->y_width, (size_t)call->d_v * sizeof(float));
        }
        return;
    }
    finish_edge_heads(row, s);
    write_heads(query_rows(&call->output, row->sequence, row->own, row->head), call->output.head, s->y,
                s->y_width, row->heads, call->d_v, s->y_part, s->rescale, 0);
}

/* The rows that the edges some way on will read. */
VEC_INLINE void prefetch_forward(const at_attention *call, const edge_task *t, int64_t from, int64_t to) {
    for (int64_t e = from; e < to; e++) {
        int64_t j = t->adjacency->neighbours[e];
        if (call->score == ATTN_SCORE_GAT) {
            prefetch_edge(&call->key_scores, j, call->heads, 1);
        } else if (call->score != ATTN_SCORE_NONE) {
            prefetch_edge(&call->key, j, call->kv_heads, call->d_k);
        }
        prefetch_edge(&call->value, j, call->kv_heads, call->d_v);
    }
}

static void attention_edges_forward(const at_attention *call, int64_t task, void *memory) {
    edge_scratch s;
    edges_layout(call, memory, &s);
    edge_task t = edge_task_of(call, 0, task);
    int64_t asked = t.piece ? t.piece->edge : 0;
    edge_row row;
    for (int64_t i = t.row; i < t.row_end; i++) {
        if (!t.piece || i == t.row) {
            row = edge_row_of(call, &t, 0, i, t.head);
        } else {
            next_edge_row(&t, &row);
        }
        if (t.piece) {
            int64_t to =
                min64(row.neighbours - t.adjacency->neighbours + row.count + EDGES_AHEAD, t.piece->edge_end);
            if (asked < to) prefetch_forward(call, &t, asked, to);
            asked = max64(asked, to);
        }
        forward_edge_row(&row, &t, &s);
    }
}

/* The weights, once log_sum_exp is there. `whole` is the row that `row` is a piece of, for the average. */
static void weights_of_piece(const edge_row *row, const edge_row *whole, const edge_scratch *s) {
    const at_attention *call = row->call;
    const at_sequence *sequence = row->sequence;
    const int softmax = call->weighting == ATTN_WEIGHTS_SOFTMAX;
    for (int t = 0; t < row->heads; t++) {
        float level = *query_rows(&call->log_sum_exp, sequence, row->own, row->head + t) * LOG2_E;
        int64_t seen = call->average ? edges_seen(whole, t) : 1;
        s->maximum[t] = level == -INFINITY ? INFINITY : level;
        s->rescale[t] = softmax || seen == 0 ? 1.0f : 1.0f / (float)seen;
    }
    for (int l = 0; l < row->lanes; l += VEC_WIDTH) {
        vec_store(s->maximum + l, load_heads(row, s, s->maximum, l));
    }
    for (int64_t e0 = 0; e0 < row->count; e0 += EDGE_TILE) {
        int edges = (int)min64(EDGE_TILE, row->count - e0);
        edge_scores(row, e0, edges, s);
        if (softmax) {
            for (int l = 0; l < row->lanes; l += VEC_WIDTH) {
                for (int x = l; x < edges * row->stride; x += row->lanes) {
                    vec level = vec_load(s->maximum + l);
                    vec_store(s->scores + x, vec_exp2(vec_sub(vec_load(s->scores + x), level)));
                }
            }
        } else {
            plain_weights(row, edges, s);
        }
        if (call->dropout_threshold) drop_edges(row, e0, edges, s->scores);
        for (int e = 0; e < edges; e++) {
            for (int t = 0; t < row->heads; t++) {
                float p = s->scores[e * row->stride + t] * s->rescale[t];
                if (row->numbers) {
                    call->weights[row->numbers[e0 + e] * call->heads + t] = p;
                } else {
                    float *place = call->weights + sequence->weights_offset +
                                   (row->head * sequence->queries + row->own) * sequence->weights_width;
                    place[row->first + e0 + e - sequence->weights_first_key -
                          row->own * sequence->weights_key_step] = p;
                }
            }
        }
    }
}

static void attention_edges_weights(const at_attention *call, int64_t task, void *memory) {
    edge_scratch s;
    edges_layout(call, memory, &s);
    edge_task t = edge_task_of(call, 0, task);
    for (int64_t i = t.row; i < t.row_end; i++) {
        edge_row row = edge_row_of(call, &t, 0, i, t.head);
        for (int l = 0; l < row.lanes; l++) s.maximum[l] = s.rescale[l] = s.sum[l] = 0.0f;
        if (!t.piece) {
            memset(call->weights + t.sequence->weights_offset +
                       (row.head * t.sequence->queries + i) * t.sequence->weights_width,
                   0, (size_t)t.sequence->weights_width * sizeof(float));
        }
        edge_row whole = whole_row_of(call, &t, 0, i, t.head);
        weights_of_piece(&row, &whole, &s);
    }
}

/* A hub's pieces, in order. */
static void merge_forward(const at_attention *call, const at_graph_hub *hub) {
    for (int64_t h = 0; h < call->heads; h++) {
        float maximum = -INFINITY, sum = 0.0f;
        for (int64_t p = 0; p < hub->partials; p++) {
            float m = call->partials[((hub->first_partial + p) * call->heads + h) * (call->d_v + 2)];
            if (m > maximum) maximum = m;
        }
        float reference = maximum == -INFINITY ? 0.0f : maximum;
        float *out = call->partials + (hub->first_partial * call->heads + h) * (call->d_v + 2);
        for (int64_t p = 0; p < hub->partials; p++) {
            const float *partial =
                call->partials + ((hub->first_partial + p) * call->heads + h) * (call->d_v + 2);
            float factor = exp2f(partial[0] - reference);
            sum += factor * partial[1];
            for (int x = 2; x < call->d_v + 2; x++)
                out[x] = p ? out[x] + factor * partial[x] : factor * partial[x];
        }
        edge_task t = {.adjacency = call->by_row, .sequence = call->sequences};
        edge_row row = whole_row_of(call, &t, 0, hub->row, 0);
        int sees = sum == 0.0f && edges_seen(&row, (int)h) > 0;
        float factor = finish_edge_result(call, call->sequences, hub->row, h, maximum, sum, sees);
        float *output = query_rows(&call->output, call->sequences, hub->row, h);
        for (int c = 0; c < call->d_v; c++) output[c] = out[2 + c] * factor;
    }
}
