/* attention_edges_backward.c: the gradients of attention over lists of
 * neighbours, in two passes: by row for dQ, the edge features and the score
 * vector, by column for dK, dV and the key's score vector. The weights are
 * computed again in each; nothing is kept for an edge, nothing is added to by
 * two tasks, and so no order is left to chance.
 *
 * Of an edge, with p its weight, g = dO_i . v_j and delta_i = dO_i . O_i:
 *
 *     ds = p (g - delta)                      softmax; g times the slope of the other weightings
 *     DOT        dq += ds scale k             dk += ds scale q
 *     ADDITIVE   dq, dk += ds w (1 - t^2)     dw += ds t,         t = tanh(q + k)
 *     GATV2      dq, dk += ds a leaky'(x)     da += ds leaky(x),  x = q + k
 *     GAT        u = ds leaky'(inner):        dq += u a, da += u q;  dk += u b, db += u k
 *
 * A hub's pieces leave their sums, which are added in order. Gradients that are
 * one memory, because queries, keys or values are one tensor, become their sum.
 */
#include "kernels/impl/edges.h"

/* The levels (log-sum-exp in powers of two, or the factor of the average) of some
 * heads of row i. */
static void row_levels(const at_attention *call, const edge_task *t, int64_t i, int heads, float *levels) {
    const at_rows *given = &call->log_sum_exp;
    if (call->weighting == ATTN_WEIGHTS_SOFTMAX) {
        const float *from = query_rows(given, t->sequence, i, t->head);
        for (int h = 0; h < heads; h++) {
            float level = from[h * given->head];
            levels[h] = level == -INFINITY ? INFINITY : level * LOG2_E;
        }
        return;
    }
    edge_row row = whole_row_of(call, t, 0, i, t->head);
    for (int h = 0; h < heads; h++) {
        int64_t seen = call->average ? edges_seen(&row, h) : 1;
        levels[h] = seen ? 1.0f / (float)seen : 0.0f;
    }
}

/* The terms of a row: the levels of all heads, then their deltas. */
static void attention_edges_row_terms(const at_attention *call, int64_t task, void *memory) {
    edge_scratch s;
    edges_layout(call, memory, &s);
    edge_task t = edge_task_of(call, 0, task);
    if (t.piece && t.piece->partial >= 0 && t.piece->edge != t.adjacency->offsets[t.row]) return;
    pair_rows *p = s.value_pairs;
    p->own = NULL;
    p->own_head = call->output.head;
    p->rows_head = call->d_output.head;
    p->own_grouped = p->rows_grouped = 0;
    p->first_head = t.head;
    p->group = 1;
    p->padded = 0;
    p->heads = t.piece ? (int)call->heads : 1;
    p->channels = call->d_v;
    p->part = s.y_part == VEC_WIDTH || call->output.head == call->d_v ? s.y_part : 0;
    p->extra = NULL;
    for (int64_t i0 = t.row; i0 < t.row_end; i0 += EDGE_TILE) {
        const int rows = (int)min64(EDGE_TILE, t.row_end - i0);
        for (int e = 0; e < EDGE_TILE; e++) {
            int64_t i = i0 + (e < rows ? e : 0);
            p->others[e] = query_rows(&call->output, t.sequence, i, t.head);
            p->rows[e] = query_rows(&call->d_output, t.sequence, i, t.head);
        }
        dot_sums(p, rows, 1.0f, s.flat);
        for (int e = 0; e < rows; e++) {
            float *terms = query_rows(&call->row_terms, t.sequence, i0 + e, t.head);
            row_levels(call, &t, i0 + e, p->heads, terms);
            for (int h = 0; h < p->heads; h++) {
                terms[call->heads + h] =
                    call->weighting == ATTN_WEIGHTS_SOFTMAX ? s.flat[e * p->heads + h] : 0.0f;
            }
        }
    }
}

/* What is needed of the queries, by column, and dO . (v + edge_value) for every
 * (edge, head). */
static void gather_terms(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    pair_rows *p = s->value_pairs;
    p->channels = call->d_v;
    p->part = s->y_part;
    p->extra = row->numbers && call->edge_value.data ? &call->edge_value : NULL;
    fill_pairs(row, e0, edges, &call->d_output, &call->value, p);
    tile_sums(PAIR_DOT, row, p, edges, 1.0f, 0.0f, s, s->d_weights);
    if (!row->by_column) return;
    const at_rows *terms = &call->row_terms;
    const float *levels = query_rows(terms, row->sequence, 0, row->head);
    gather_heads(0, row, e0, edges, levels, terms->row, s->levels);
    gather_heads(0, row, e0, edges, levels + call->heads, terms->row, s->deltas);
    if (2 * row->heads == VEC_WIDTH) return; /* then the last edge stands there once more */
    pad_tile(row, edges, s->levels, 0.0f);
    pad_tile(row, edges, s->deltas, 0.0f);
}

/* Scores become weights (as used: after dropout), d_weights become ds, for GAT
 * that inside the leaky; sum is that of the ds. */
static void weigh_edges(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    const attn_weighting weighting = call->weighting;
    const int gat = call->score == ATTN_SCORE_GAT, check = edges_may_be_unseen(row);
    const vec zero = vec_set(0.0f), slope = vec_set(call->leaky_slope);
    const float *terms =
        query_rows(&call->row_terms, row->sequence, row->by_column ? 0 : row->own, row->head);
    if (call->dropout_threshold) drop_edges(row, e0, edges, s->d_weights);
    for (int l = 0; l < row->lanes; l += VEC_WIDTH) {
        vec level = zero, delta = zero, sum = vec_load(s->sum + l);
        if (!row->by_column) { /* the same for all edges */
            level = load_heads(row, s, terms, l);
            delta = load_heads(row, s, terms + call->heads, l);
        }
        for (int x = l; x < edges * row->stride; x += row->lanes) {
            vec score = vec_load(s->scores + x), g = vec_load(s->d_weights + x), p, ds;
            if (row->by_column) {
                level = vec_load(s->levels + x);
                delta = vec_load(s->deltas + x);
            }
            if (weighting == ATTN_WEIGHTS_SOFTMAX) {
                p = vec_exp2(vec_sub(score, level));
                ds = vec_mul(p, vec_sub(g, delta));
            } else {
                p = vec_mul(plain_weight(weighting, score), level);
                ds = vec_mul(vec_mul(g, level), plain_weight_slope(weighting, score));
            }
            if (check) {
                vecb unseen = vec_equal(score, vec_set(-INFINITY));
                p = vec_select(unseen, zero, p);
                ds = vec_select(unseen, zero, ds);
            }
            if (!row->by_column && !row->numbers) vec_store(s->levels + x, ds); /* for the biases */
            if (gat) {
                vecb positive = vec_less(zero, vec_load(s->inner + x));
                ds = vec_mul(ds, vec_select(positive, vec_set(1.0f), slope));
            }
            vec_store(s->scores + x, p);
            vec_store(s->d_weights + x, ds);
            sum = vec_add(sum, ds);
        }
        vec_store(s->sum + l, sum);
    }
    if (call->dropout_threshold) drop_edges(row, e0, edges, s->scores);
}

/* The gradient of the edge bias is ds itself (for GAT, that inside the leaky). */
static void store_edge_bias_gradients(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_rows *target = &row->call->d_edge_bias;
    for (int e = 0; e < edges; e++) {
        float *bias = target->data + row->numbers[e0 + e] * target->row;
        for (int t = 0; t < row->heads; t++) bias[t * target->head] = s->d_weights[e * row->stride + t];
    }
}

/* Likewise those of the biases of positions. */
static void add_position_gradients(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    for (int e = 0; e < edges; e++) {
        float ds = s->levels[e];
        int64_t j = row->first + e0 + e, distance = j - row->own - row->sequence->shift;
        if (call->d_bias) {
            call->d_bias[row->sequence->bias * call->d_bias_sequence + row->head * call->d_bias_head +
                         row->own * call->d_bias_query + j * call->d_bias_key] += ds;
        }
        if (call->d_distance) {
            int64_t column =
                min64(max64(distance, -call->distance_reach), call->distance_reach) + call->distance_reach;
            call->d_distance[row->head * call->d_distance_head + column * call->d_distance_step] += ds;
        }
    }
}

/* ds through the softcap of a graph. */
static void chain_softcap(const edge_row *row, int edges, const edge_scratch *s) {
    for (int x = 0; x < edges * row->stride; x += VEC_WIDTH) {
        vec_store(s->d_weights + x, vec_mul(vec_load(s->d_weights + x), vec_load(s->inner + x)));
    }
}

/* ADDITIVE and GATV2, count vectors of channels from (head t, channel c) on, as in
 * sum_edge_vectors: x += w sum_e ds f'(q + k), vector += sum_e ds f(q + k). The
 * constants kind, part and plain (no edge vectors, all seen) are also as there. */
VEC_INLINE void add_inner_vector(const pair_kind kind, const int part, const int plain, const edge_row *row,
                                 int first, int edges, const edge_scratch *s, int fresh, int t, int c) {
    const at_attention *call = row->call;
    const pair_rows *p = s->pairs;
    const int shared = part && part < VEC_WIDTH, channels = shared ? VEC_WIDTH : call->d_k;
    const int head = shared ? t * (VEC_WIDTH / part) : t,
              rows = shared ? row->heads * part / VEC_WIDTH : row->heads;
    const int width = round_up(channels, VEC_WIDTH),
              used = channels - c < VEC_WIDTH ? channels - c : VEC_WIDTH;
    const int64_t at = shared ? t * VEC_WIDTH : pair_place(p, t, p->rows_grouped) * p->rows_head + c,
                  own_at = shared ? t * VEC_WIDTH : pair_place(p, t, p->own_grouped) * p->own_head + c;
    const veci index = shared ? spread_index(part) : veci_lanes();
    const vec slope = vec_set(call->leaky_slope), one = vec_set(1.0f), zero = vec_set(0.0f);
    const vec w = load_channels(p->w + t * channels, c, channels);
    const at_rows *d_extra =
        plain || row->by_column || !row->numbers || !call->d_edge_key.data ? NULL : &call->d_edge_key;
    const float *own = p->own ? p->own : p->others[first];
    vec sum = zero, vector = zero;
    for (int e = first; e < first + edges; e++) {
        if (!plain && edges_may_be_unseen(row) && s->unseen[e * row->stride + head]) continue;
        vec ds = spread_heads(part, s->d_weights + e * row->stride + head, index), f, d;
        if (kind == PAIR_ADDITIVE) {
            f = vec_load(p->inner + ((int64_t)e * rows + t) * width + c);
            d = vec_sub(one, vec_mul(f, f));
        } else {
            vec x = vec_add(load_channels(p->rows[e] + at, 0, used), load_channels(own + own_at, 0, used));
            if (!plain && p->extra) {
                x = vec_add(x, load_channels(edge_at(p->extra, p->numbers[e], row->head + t), c, channels));
            }
            f = leaky(x, slope);
            d = vec_select(vec_less(zero, x), one, slope);
        }
        sum = vec_fma(ds, d, sum);
        vector = vec_fma(ds, f, vector);
        if (d_extra) {
            float *target = d_extra->data + p->numbers[e] * d_extra->row + (row->head + t) * d_extra->head;
            vec_store_part(target + c, vec_mul(vec_mul(ds, w), d), used);
        }
    }
    float *x = s->x + (shared ? t * VEC_WIDTH : sum_place(row, t, row->by_column) * s->x_width + c);
    vec_store(x, vec_fma(w, sum, fresh ? zero : vec_load(x)));
    if (row->by_column || !call->vector_partials) return;
    float *place = s->vector + t * channels + c;
    vec_store_part(place, vec_add(load_channels(place, 0, used), vector), used);
}

VEC_INLINE void add_inner_vectors(const pair_kind kind, const int part, const int plain, const edge_row *row,
                                  int first, int edges, const edge_scratch *s, int fresh) {
    const int shared = part && part < VEC_WIDTH, channels = shared ? VEC_WIDTH : row->call->d_k;
    const int rows = shared ? row->heads * part / VEC_WIDTH : row->heads;
    for (int t = 0; t < rows; t++) {
        for (int c = 0; c < channels; c += VEC_WIDTH) {
            add_inner_vector(kind, part, plain, row, first, edges, s, fresh, t, c);
        }
    }
}

VEC_INLINE void add_inner_gradients(const pair_kind kind, const edge_row *row, int first, int edges,
                                    const edge_scratch *s, int fresh) {
    const int plain = !s->pairs->extra && !edges_may_be_unseen(row);
    if (plain && s->x_part == VEC_WIDTH) {
        add_inner_vectors(kind, VEC_WIDTH, 1, row, first, edges, s, fresh);
    } else if (VEC_PART <= VEC_WIDTH / 2 && plain && s->x_part == VEC_WIDTH / 2) {
        add_inner_vectors(kind, VEC_WIDTH / 2, 1, row, first, edges, s, fresh);
    } else if (VEC_PART <= VEC_WIDTH / 4 && plain && s->x_part == VEC_WIDTH / 4) {
        add_inner_vectors(kind, VEC_WIDTH / 4, 1, row, first, edges, s, fresh);
    } else {
        add_inner_vectors(kind, 0, 0, row, first, edges, s, fresh);
    }
}

/* The channels of one head: rows[e] with factor, for DOT and for dV. */
static void store_scaled(const at_rows *target, int64_t number, int64_t head, float factor, const float *x,
                         int channels) {
    float *row = target->data + number * target->row + head * target->head;
    for (int c = 0; c < channels; c++) row[c] = factor * x[c];
}

/* The gradients of the edge vectors, which belong to one edge each (by row). */
static void store_edge_vector_gradients(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    for (int e = 0; e < edges; e++) {
        const int64_t number = row->numbers[e0 + e];
        for (int t = 0; t < row->heads; t++) {
            const float *query = query_rows(&call->query, row->sequence, row->own, t);
            const float *d_out = query_rows(&call->d_output, row->sequence, row->own, t);
            if (call->d_edge_value.data) {
                store_scaled(&call->d_edge_value, number, t, s->scores[e * row->stride + t], d_out,
                             call->d_v);
            }
            if (call->d_edge_key.data && call->score == ATTN_SCORE_DOT) {
                store_scaled(&call->d_edge_key, number, t, s->d_weights[e * row->stride + t] * call->scale,
                             query, call->d_k);
            }
        }
    }
}

/* Everything that a tile, or (short rows) its edges from `first` on, adds to the sums of its row. */
static void add_edge_gradients(const edge_row *row, int64_t e0, int first, int edges, const edge_scratch *s,
                               int fresh) {
    const at_attention *call = row->call;
    edge_sum u;
    u.factor = NULL;
    u.fresh = fresh;
    u.unseen = edges_may_be_unseen(row) ? s->unseen + first * row->stride : NULL;
    u.out_grouped = row->by_column;
    if (!row->by_column && row->numbers && (call->d_edge_key.data || call->d_edge_value.data)) {
        store_edge_vector_gradients(row, e0, edges, s);
    }
    if (call->score == ATTN_SCORE_DOT) {
        u.rows = s->pairs->rows + first;
        u.rows_head = row->by_column ? call->query.head : call->key.head;
        u.rows_grouped = !row->by_column;
        u.extra = !row->by_column && row->numbers && call->edge_key.data ? &call->edge_key : NULL;
        u.weights = s->d_weights + first * row->stride;
        u.channels = call->d_k;
        u.part = s->x_part;
        u.out = s->x;
        u.out_width = s->x_width;
        sum_edges(row, e0 + first, edges, &u);
    } else if (call->score == ATTN_SCORE_ADDITIVE) {
        add_inner_gradients(PAIR_ADDITIVE, row, first, edges, s, fresh);
    } else if (call->score == ATTN_SCORE_GATV2) {
        add_inner_gradients(PAIR_LEAKY, row, first, edges, s, fresh);
    }
    if (!row->by_column) return;
    u.rows = s->value_pairs->rows + first;
    u.rows_head = call->d_output.head;
    u.rows_grouped = 0;
    u.extra = NULL;
    u.weights = s->scores + first * row->stride;
    u.channels = call->d_v;
    u.part = s->y_part;
    u.out = s->y;
    u.out_width = s->y_width;
    sum_edges(row, e0 + first, edges, &u);
}

/* GAT: what the sum over the edges makes of the row's own numbers: x += u w, and
 * vector += u own. part is a constant where this is inlined. */
VEC_INLINE void add_own_vectors(const int part, const edge_row *row, const edge_scratch *s, int64_t vector_of,
                                int fresh) {
    const at_attention *call = row->call;
    const int shared = part && part < VEC_WIDTH, channels = shared ? VEC_WIDTH : call->d_k;
    const int rows = shared ? row->heads * part / VEC_WIDTH : row->heads;
    const veci index = shared ? spread_index(part) : veci_lanes();
    const float *own = row->by_column ? key_rows(&call->key, row->sequence, row->own, row->head / call->group)
                                      : query_rows(&call->query, row->sequence, row->own, row->head);
    const float *w = (row->by_column ? call->key_score_vector : call->score_vector) + row->head * call->d_k;
    const int64_t own_head = shared ? VEC_WIDTH : (row->by_column ? call->key.head : call->query.head);
    float *vector = s->vector + vector_of * call->d_k;
    for (int t = 0; t < rows; t++, w += channels, vector += channels) {
        int64_t kv =
            row->by_column && call->group > 1 ? (row->head + t) / call->group - row->head / call->group : t;
        const vec u = spread_heads(part, s->sum + (shared ? t * (VEC_WIDTH / part) : t), index);
        float *x = s->x + (shared ? t * VEC_WIDTH : sum_place(row, t, row->by_column) * s->x_width);
        for (int c = 0; c < channels; c += VEC_WIDTH) {
            const int used = part ? VEC_WIDTH : channels - c;
            vec old = fresh ? vec_set(0.0f) : vec_load(x + c);
            vec_store(x + c, vec_fma(u, load_channels(w + c, 0, used), old));
            vec sum = vec_fma(u, load_channels(own + kv * own_head + c, 0, used),
                              load_channels(vector + c, 0, used));
            if (used >= VEC_WIDTH) {
                vec_store(vector + c, sum);
            } else {
                vec_store_part(vector + c, sum, used);
            }
        }
    }
}
static void add_own_gradients(const edge_row *row, const edge_scratch *s, int64_t vector_of, int fresh) {
    if (s->x_part == VEC_WIDTH) {
        add_own_vectors(VEC_WIDTH, row, s, vector_of, fresh);
    } else if (VEC_PART <= VEC_WIDTH / 2 && s->x_part == VEC_WIDTH / 2) {
        add_own_vectors(VEC_WIDTH / 2, row, s, vector_of, fresh);
    } else if (VEC_PART <= VEC_WIDTH / 4 && s->x_part == VEC_WIDTH / 4) {
        add_own_vectors(VEC_WIDTH / 4, row, s, vector_of, fresh);
    } else {
        add_own_vectors(0, row, s, vector_of, fresh);
    }
}

/* All neighbours of a row, added to the sums, or (fresh) in their place.
 * vector_of: where in s->vector the gradient of the score vector of the row's
 * first head stands. by_column is a constant where this is inlined. */
VEC_INLINE void backward_edge_row(const int by_column, const edge_row *given, const edge_scratch *s,
                                  int64_t vector_of, int fresh) {
    edge_row known = *given;
    const edge_row *row = &known;
    known.by_column = by_column;
    const at_attention *call = row->call;
    for (int l = 0; l < row->lanes; l += VEC_WIDTH) vec_store(s->sum + l, vec_set(0.0f));
    for (int64_t e0 = 0; e0 < row->count; e0 += EDGE_TILE) {
        int edges = (int)min64(EDGE_TILE, row->count - e0);
        edge_scores(row, e0, edges, s);
        gather_terms(row, e0, edges, s);
        weigh_edges(row, e0, edges, s);
        const int edge_bias = !row->by_column && row->numbers && call->d_edge_bias.data;
        if (!row->by_column && !row->numbers) add_position_gradients(row, e0, edges, s);
        if (edge_bias) store_edge_bias_gradients(row, e0, edges, s);
        if (row->numbers && call->softcap > 0.0f && call->score != ATTN_SCORE_GAT)
            chain_softcap(row, edges, s);
        add_edge_gradients(row, e0, 0, edges, s, fresh && e0 == 0);
    }
    if (call->score != ATTN_SCORE_GAT) return;
    for (int l = 0; l < row->lanes; l += VEC_WIDTH) {
        vec_store(s->sum + l, fold_heads(row, 0, vec_load(s->sum + l)));
    }
    add_own_gradients(row, s, vector_of, fresh);
}

/* Whether what comes by column is added: to what came by row, or of the value to the key's. */
static int adds_key(const at_attention *call) {
    return call->d_query.data && call->d_key.data == call->d_query.data;
}
static int adds_value(const at_attention *call) {
    const float *data = call->d_value.data;
    return data && (data == call->d_key.data || data == call->d_query.data);
}

/* The sums of heads (or key/value heads) from `head` on to where they belong:
 * the gradient itself, or a hub's partial result. */
static void write_edge_sums(const at_attention *call, const edge_task *t, int by_column, int64_t own,
                            int64_t head, int64_t heads, const edge_scratch *s) {
    const at_rows *x = by_column ? &call->d_key : &call->d_query, *y = by_column ? &call->d_value : NULL;
    const float *factors = call->score == ATTN_SCORE_DOT ? s->rescale : NULL;
    int64_t first_row = by_column ? t->sequence->key_row : t->sequence->query_row,
            numbers = heads * call->d_k;
    if (t->piece && t->piece->partial >= 0) {
        float *partial = call->partials + t->piece->partial * (numbers + (y ? heads * call->d_v : 0));
        write_heads(partial, call->d_k, s->x, s->x_width, (int)heads, call->d_k, s->x_part, factors, 0);
        if (y) {
            write_heads(partial + numbers, call->d_v, s->y, s->y_width, (int)heads, call->d_v, s->y_part,
                        NULL, 0);
        }
        return;
    }
    if (x->data) {
        write_heads(rows_at(x, t->sequence, first_row, own, head), x->head, s->x, s->x_width, (int)heads,
                    call->d_k, s->x_part, factors, by_column && adds_key(call));
    }
    if (y && y->data) {
        write_heads(rows_at(y, t->sequence, first_row, own, head), y->head, s->y, s->y_width, (int)heads,
                    call->d_v, s->y_part, NULL, adds_value(call));
    }
}

/* The rows that the edges some way on will read, by row and by column. */
VEC_INLINE void prefetch_backward(const at_attention *call, const edge_task *t, int by_column, int64_t from,
                                  int64_t to) {
    for (int64_t e = from; e < to; e++) {
        int64_t index = t->adjacency->neighbours[e];
        if (call->score == ATTN_SCORE_GAT) {
            prefetch_edge(by_column ? &call->query_scores : &call->key_scores, index, call->heads, 1);
        } else if (by_column) {
            prefetch_edge(&call->query, index, call->heads, call->d_k);
        } else {
            prefetch_edge(&call->key, index, call->kv_heads, call->d_k);
        }
        if (by_column) {
            prefetch_edge(&call->d_output, index, call->heads, call->d_v);
            prefetch_edge(&call->row_terms, index, 2 * call->heads, 1);
        } else {
            prefetch_edge(&call->value, index, call->kv_heads, call->d_v);
        }
    }
}

/* How many edges row i of the task has, if it may share a tile by column; else -1. Its own degree decides, so
 * that a row's bits do not depend on the rows around it. */
static int short_row(const at_attention *call, const edge_task *t, int64_t i) {
    if (!t->piece || t->piece->partial >= 0 || call->group > 1 || i >= t->row_end) return -1;
    const int64_t count = t->adjacency->offsets[i + 1] - t->adjacency->offsets[i];
    return count <= SHORT_EDGES ? (int)count : -1;
}

/* By column, short rows from i on, as many as fit a tile: what there is to do for a tile, such as 8 sums over
 * lanes at once, would cost a row with one edge as much. Returns the row after them. */
static int64_t backward_short_rows(const at_attention *call, const edge_task *t, int64_t i,
                                   const edge_scratch *s) {
    int32_t owns[EDGE_TILE];
    int counts[EDGE_TILE], rows = 0, edges = 0;
    edge_row row = edge_row_of(call, t, 1, i, 0);
    for (; rows < EDGE_TILE; rows++) {
        counts[rows] = short_row(call, t, i + rows);
        if (counts[rows] < 0 || edges + counts[rows] > EDGE_TILE) break;
        for (int e = 0; e < counts[rows]; e++) owns[edges++] = (int32_t)(i + rows);
    }
    row.owns = owns;
    row.count = edges;
    if (edges) {
        edge_scores(&row, 0, edges, s);
        gather_terms(&row, 0, edges, s);
        weigh_edges(&row, 0, edges, s);
        if (call->softcap > 0.0f && call->score != ATTN_SCORE_GAT) chain_softcap(&row, edges, s);
    }
    for (int r = 0, first = 0; r < rows; first += counts[r++]) {
        const int fresh = counts[r] > 0 && call->score != ATTN_SCORE_NONE;
        row.own = i + r;
        if (!fresh) {
            memset(s->x, 0, (size_t)(call->kv_heads * s->x_width) * sizeof(float));
            memset(s->y, 0, (size_t)(call->kv_heads * s->y_width) * sizeof(float));
        }
        if (counts[r]) add_edge_gradients(&row, 0, first, counts[r], s, fresh);
        if (call->score == ATTN_SCORE_GAT) {
            for (int l = 0; l < row.lanes; l += VEC_WIDTH) {
                vec sum = vec_set(0.0f);
                for (int e = first; e < first + counts[r]; e++) {
                    sum = vec_add(sum, vec_load(s->d_weights + e * row.stride + l));
                }
                vec_store(s->sum + l, sum);
            }
            add_own_gradients(&row, s, 0, fresh);
        }
        write_edge_sums(call, t, 1, row.own, 0, call->kv_heads, s);
    }
    return i + rows;
}

/* Asks for the rows of the edges up to `end` and some way on, from those on that were asked for. */
VEC_INLINE void ask_ahead(const at_attention *call, const edge_task *t, int by_column, int64_t end,
                          int64_t *asked) {
    const int64_t to = min64(end + EDGES_AHEAD, t->piece->edge_end);
    if (*asked < to) prefetch_backward(call, t, by_column, *asked, to);
    *asked = max64(*asked, to);
}

/* Rows of a task: the slots of the score vectors' gradients are, on a graph, one
 * a (piece, head); on positions one a task, or by column one a (task, head). */
static void attention_edges_backward(const at_attention *call, int by_column, int64_t task, void *memory) {
    edge_scratch s;
    edges_layout(call, memory, &s);
    edge_task t = edge_task_of(call, by_column, task);
    float *vectors = by_column ? call->key_vector_partials : call->vector_partials;
    int64_t slots = t.piece ? call->heads : (by_column ? call->group : 1);
    int64_t heads = t.piece ? (by_column ? call->kv_heads : call->heads) : 1;
    int64_t asked = t.piece ? t.piece->edge : 0;
    edge_row row = {.own = -2}; /* before no row */
    memset(s.vector, 0, (size_t)(call->heads * call->d_k) * sizeof(float));
    for (int64_t h = 0; h < (t.piece ? call->heads : 1); h++) s.rescale[h] = call->scale;
    for (int64_t i = t.row; i < t.row_end; i++) {
        int64_t turns = t.piece || !by_column ? 1 : call->group; /* the query heads of a key/value head */
        int fresh = 1;
        if (by_column && short_row(call, &t, i) >= 0) {
            ask_ahead(call, &t, by_column, t.adjacency->offsets[i] + EDGE_TILE, &asked);
            i = backward_short_rows(call, &t, i, &s) - 1;
            continue;
        }
        for (int64_t g = 0; g < turns; g++) {
            if (!t.piece || row.own + 1 != i) {
                row = edge_row_of(call, &t, by_column, i, by_column ? t.head * call->group + g : t.head);
            } else {
                next_edge_row(&t, &row);
            }
            /* several heads may add to one sum, or nothing at all */
            if (g == 0 && (row.count == 0 || call->group > 1 || call->score == ATTN_SCORE_NONE)) {
                memset(s.x, 0, (size_t)(heads * s.x_width) * sizeof(float));
                memset(s.y, 0, (size_t)(heads * s.y_width) * sizeof(float));
                fresh = 0;
            }
            if (t.piece) {
                ask_ahead(call, &t, by_column, row.neighbours - t.adjacency->neighbours + row.count, &asked);
            }
            if (by_column) {
                backward_edge_row(1, &row, &s, g, fresh);
            } else {
                backward_edge_row(0, &row, &s, g, fresh);
            }
        }
        write_edge_sums(call, &t, by_column, i, t.piece ? 0 : t.head, heads, &s);
    }
    if (vectors)
        memcpy(vectors + task * slots * call->d_k, s.vector, (size_t)(slots * call->d_k) * sizeof(float));
}

/* Numbers of one partial result of a hub. */
static int64_t attention_edges_partial(const at_attention *call, int backward, int by_column) {
    if (!backward) return call->heads * (call->d_v + 2);
    return by_column ? call->kv_heads * (call->d_k + call->d_v) : call->heads * call->d_k;
}

static void put_numbers(int count, const float *x, float *target, int adds) {
    for (int c = 0; c < count; c++) target[c] = adds ? target[c] + x[c] : x[c];
}

static void merge_backward(const at_attention *call, int by_column, const at_graph_hub *hub) {
    int64_t numbers = attention_edges_partial(call, 1, by_column),
            heads = by_column ? call->kv_heads : call->heads;
    float *sum = call->partials + hub->first_partial * numbers;
    for (int64_t p = 1; p < hub->partials; p++) {
        const float *partial = call->partials + (hub->first_partial + p) * numbers;
        for (int64_t x = 0; x < numbers; x++) sum[x] += partial[x];
    }
    const at_rows *x = by_column ? &call->d_key : &call->d_query, *y = &call->d_value;
    for (int64_t h = 0; h < heads; h++) {
        if (x->data) {
            put_numbers(call->d_k, sum + h * call->d_k, x->data + hub->row * x->row + h * x->head,
                        by_column && adds_key(call));
        }
        if (by_column && y->data) {
            put_numbers(call->d_v, sum + heads * call->d_k + h * call->d_v,
                        y->data + hub->row * y->row + h * y->head, adds_value(call));
        }
    }
}

static void attention_edges_merge(const at_attention *call, int backward, int by_column, int64_t hub) {
    const at_adjacency *adjacency = by_column ? call->by_column : call->by_row;
    if (backward) {
        merge_backward(call, by_column, adjacency->hubs + hub);
    } else {
        merge_forward(call, adjacency->hubs + hub);
    }
}
