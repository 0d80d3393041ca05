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
 * A hub's pieces leave their sums, which are added in order.
 */
#include "kernels/impl/edges.h"

static void attention_edges_row_terms(const at_attention *call, int64_t task, void *memory) {
    (void)memory;
    edge_task t = edge_task_of(call, 0, task);
    if (t.piece && t.piece->partial >= 0 && t.piece->edge != t.adjacency->offsets[t.row]) return;
    for (int64_t i = t.row; i < t.row_end; i++) {
        edge_row row = whole_row_of(call, &t, 0, i, t.head);
        for (int h = 0; h < row.heads; h++) {
            int64_t head = row.head + h;
            float *terms = query_rows(&call->row_terms, t.sequence, i, head);
            if (call->weighting != ATTN_WEIGHTS_SOFTMAX) {
                int64_t seen = call->average ? edges_seen(&row, h) : 1;
                terms[0] = seen ? 1.0f / (float)seen : 0.0f;
                terms[1] = 0.0f;
                continue;
            }
            float level = *query_rows(&call->log_sum_exp, t.sequence, i, head);
            terms[0] = level == -INFINITY ? INFINITY : level * LOG2_E;
            terms[1] = pair_dot(call->d_v, query_rows(&call->output, t.sequence, i, head),
                                query_rows(&call->d_output, t.sequence, i, head));
        }
    }
}

/* What is needed of the queries, and dO . (v + edge_value) for every (edge, head). */
static void gather_terms(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    pair_rows p;
    p.a_head = call->d_output.head;
    p.b_head = call->value.head;
    p.channels = call->d_v;
    p.extra = row->numbers && call->edge_value.data ? &call->edge_value : NULL;
    for (int e = 0; e < edges; e++) {
        int64_t i = query_of(row, e0 + e);
        const float *terms = query_rows(&call->row_terms, row->sequence, i, row->head);
        p.a[e] = query_rows(&call->d_output, row->sequence, i, 0);
        p.b[e] = key_rows(&call->value, row->sequence, key_of(row, e0 + e), 0);
        for (int t = 0; t < row->heads; t++) {
            s->levels[e * row->lanes + t] = terms[2 * t];
            s->deltas[e * row->lanes + t] = terms[2 * t + 1];
        }
        for (int t = row->heads; t < row->lanes; t++)
            s->levels[e * row->lanes + t] = s->deltas[e * row->lanes + t] = 0.0f;
    }
    pair_sums(PAIR_DOT, row, e0, edges, &p, 1.0f, s->flat, s->d_weights);
}

/* Scores become weights (as used: after dropout), d_weights become ds. */
static void weigh_edges(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    const attn_weighting weighting = call->weighting;
    if (call->dropout_threshold) drop_edges(row, e0, edges, s->d_weights);
    for (int x = 0; x < edges * row->lanes; x += VEC_WIDTH) {
        vec score = vec_load(s->scores + x), level = vec_load(s->levels + x), g = vec_load(s->d_weights + x),
            p, ds;
        if (weighting == ATTN_WEIGHTS_SOFTMAX) {
            p = vec_exp2(vec_sub(score, level));
            ds = vec_mul(p, vec_sub(g, vec_load(s->deltas + x)));
        } else {
            p = vec_mul(plain_weight(weighting, score), level);
            ds = vec_mul(vec_mul(g, level), plain_weight_slope(weighting, score));
        }
        vec_store(s->scores + x, p);
        vec_store(s->d_weights + x, ds);
    }
    if (call->dropout_threshold) drop_edges(row, e0, edges, s->scores);
    if (!edges_may_be_unseen(row)) return;
    for (int x = 0; x < edges * row->lanes; x++) {
        if (s->unseen[x]) s->scores[x] = s->d_weights[x] = 0.0f;
    }
}

/* The gradient of the edge bias is ds itself (for GAT, that inside the leaky). */
static void store_edge_bias_gradients(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_rows *target = &row->call->d_edge_bias;
    for (int e = 0; e < edges; e++) {
        float *bias = target->data + row->numbers[e0 + e] * target->row;
        for (int t = 0; t < row->heads; t++) bias[t * target->head] = s->d_weights[e * row->lanes + t];
    }
}

/* Likewise those of the biases of positions. */
static void add_position_gradients(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    for (int e = 0; e < edges; e++) {
        float ds = s->d_weights[e * row->lanes];
        int64_t j = row->first + e0 + e, distance = j - row->own - row->sequence->shift;
        if (call->d_bias) {
            call->d_bias[row->sequence->index * call->d_bias_sequence + row->head * call->d_bias_head +
                         row->own * call->d_bias_query + j * call->d_bias_key] += ds;
        }
        if (call->d_distance) {
            int64_t column =
                min64(max64(distance, -call->distance_reach), call->distance_reach) + call->distance_reach;
            call->d_distance[row->head * call->d_distance_head + column * call->d_distance_step] += ds;
        }
    }
}

/* ds through what lies between the score and its inner part. */
static void chain_inner(const edge_row *row, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    if (call->score == ATTN_SCORE_GAT) {
        for (int x = 0; x < edges * row->lanes; x += VEC_WIDTH) {
            vec positive = vec_select(vec_less(vec_set(0.0f), vec_load(s->inner + x)), vec_set(1.0f),
                                      vec_set(call->leaky_slope));
            vec_store(s->d_weights + x, vec_mul(vec_load(s->d_weights + x), positive));
        }
    } else if (row->numbers && call->softcap > 0.0f) {
        for (int x = 0; x < edges * row->lanes; x += VEC_WIDTH) {
            vec_store(s->d_weights + x, vec_mul(vec_load(s->d_weights + x), vec_load(s->inner + x)));
        }
    }
}

/* ADDITIVE and GATV2: sum += ds w f'(q + k), vector += ds f(q + k). */
static void add_inner_gradient(const edge_row *row, int64_t e, int t, float ds, const float *q,
                               const float *k, float *sum, float *vector) {
    const at_attention *call = row->call;
    int64_t head = row->head + t;
    const float *w = call->score_vector + head * call->d_k;
    const float *extra = row->numbers ? edge_at(&call->edge_key, row->numbers[e], head) : NULL;
    float *d_extra = NULL;
    if (!row->by_column && row->numbers && call->d_edge_key.data) {
        d_extra =
            call->d_edge_key.data + row->numbers[e] * call->d_edge_key.row + head * call->d_edge_key.head;
    }
    const vec slope = vec_set(call->leaky_slope), one = vec_set(1.0f);
    for (int c = 0; c < call->d_k; c += VEC_WIDTH) {
        int width = call->d_k - c < VEC_WIDTH ? call->d_k - c : VEC_WIDTH;
        vec x = vec_add(load_channels(q, c, call->d_k), load_channels(k, c, call->d_k)), f, d;
        if (extra) x = vec_add(x, load_channels(extra, c, call->d_k));
        if (call->score == ATTN_SCORE_ADDITIVE) {
            f = vec_tanh(x);
            d = vec_sub(one, vec_mul(f, f));
        } else {
            f = leaky(x, slope);
            d = vec_select(vec_less(vec_set(0.0f), x), one, slope);
        }
        vec part = vec_mul(vec_mul(vec_set(ds), load_channels(w, c, call->d_k)), d);
        vec_store(sum + c, vec_add(vec_load(sum + c), part));
        if (d_extra) vec_store_part(d_extra + c, part, width);
        if (vector) {
            vec v = vec_fma(vec_set(ds), f,
                            width == VEC_WIDTH ? vec_load(vector + c) : vec_load_part(vector + c, width));
            vec_store_part(vector + c, v, width);
        }
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
                store_scaled(&call->d_edge_value, number, t, s->scores[e * row->lanes + t], d_out, call->d_v);
            }
            if (call->d_edge_key.data && call->score == ATTN_SCORE_DOT) {
                store_scaled(&call->d_edge_key, number, t, s->d_weights[e * row->lanes + t] * call->scale,
                             query, call->d_k);
            }
        }
    }
}

/* Everything that a tile adds to the sums of its row. */
static void add_edge_gradients(const edge_row *row, int64_t e0, int edges, const edge_scratch *s) {
    const at_attention *call = row->call;
    const unsigned char *unseen = edges_may_be_unseen(row) ? s->unseen : NULL;
    if (!row->by_column && row->numbers) store_edge_vector_gradients(row, e0, edges, s);
    if (call->score == ATTN_SCORE_DOT) {
        edge_sum u;
        u.rows_head = row->by_column ? call->query.head : call->key.head;
        u.rows_grouped = !row->by_column;
        u.out_grouped = row->by_column;
        u.extra = !row->by_column && row->numbers && call->edge_key.data ? &call->edge_key : NULL;
        u.weights = s->d_weights;
        u.factor = NULL;
        u.unseen = unseen;
        u.channels = call->d_k;
        u.out = s->x;
        u.out_width = s->x_width;
        for (int e = 0; e < edges; e++) {
            u.rows[e] = row->by_column ? query_rows(&call->query, row->sequence, query_of(row, e0 + e), 0)
                                       : key_rows(&call->key, row->sequence, key_of(row, e0 + e), 0);
        }
        sum_edges(row, e0, edges, &u);
    } else if (call->score == ATTN_SCORE_GAT) {
        for (int e = 0; e < edges; e++) {
            for (int l = 0; l < row->lanes; l += VEC_WIDTH) {
                vec_store(s->sum + l,
                          vec_add(vec_load(s->sum + l), vec_load(s->d_weights + e * row->lanes + l)));
            }
        }
    } else if (call->score != ATTN_SCORE_NONE) {
        for (int e = 0; e < edges; e++) {
            const float *query = query_rows(&call->query, row->sequence, query_of(row, e0 + e), 0);
            const float *key = key_rows(&call->key, row->sequence, key_of(row, e0 + e), 0);
            for (int t = 0; t < row->heads; t++) {
                if (unseen && unseen[e * row->lanes + t]) continue;
                int64_t head = row->head + t;
                float *vector = !row->by_column && call->vector_partials ? s->vector + t * call->d_k : NULL;
                add_inner_gradient(row, e0 + e, t, s->d_weights[e * row->lanes + t],
                                   query + head * call->query.head, key + head / call->group * call->key.head,
                                   s->x + sum_place(row, t, row->by_column) * s->x_width, vector);
            }
        }
    }
    if (!row->by_column) return;
    edge_sum u;
    u.rows_head = call->d_output.head;
    u.rows_grouped = 0;
    u.out_grouped = 1;
    u.extra = NULL;
    u.weights = s->scores;
    u.factor = NULL;
    u.unseen = unseen;
    u.channels = call->d_v;
    u.out = s->y;
    u.out_width = s->y_width;
    for (int e = 0; e < edges; e++)
        u.rows[e] = query_rows(&call->d_output, row->sequence, query_of(row, e0 + e), 0);
    sum_edges(row, e0, edges, &u);
}

/* All neighbours of a row, added to the sums. vector_of: where in s->vector the
 * gradient of the score vector of the row's first head stands. */
static void backward_edge_row(const edge_row *row, const edge_scratch *s, int64_t vector_of) {
    const at_attention *call = row->call;
    for (int l = 0; l < row->lanes; l++) s->sum[l] = 0.0f;
    for (int64_t e0 = 0; e0 < row->count; e0 += EDGE_TILE) {
        int edges = (int)min64(EDGE_TILE, row->count - e0);
        edge_scores(row, e0, edges, s);
        gather_terms(row, e0, edges, s);
        weigh_edges(row, e0, edges, s);
        const int edge_bias = !row->by_column && row->numbers && call->d_edge_bias.data;
        if (!row->by_column && !row->numbers) add_position_gradients(row, e0, edges, s);
        if (edge_bias && call->score != ATTN_SCORE_GAT) store_edge_bias_gradients(row, e0, edges, s);
        chain_inner(row, edges, s);
        if (edge_bias && call->score == ATTN_SCORE_GAT) store_edge_bias_gradients(row, e0, edges, s);
        add_edge_gradients(row, e0, edges, s);
    }
    if (call->score != ATTN_SCORE_GAT) return;
    const float *own_vector = row->by_column ? call->key_score_vector : call->score_vector;
    for (int t = 0; t < row->heads; t++) {
        int64_t head = row->head + t, kv = head / call->group;
        const float *own = row->by_column ? key_rows(&call->key, row->sequence, row->own, kv)
                                          : query_rows(&call->query, row->sequence, row->own, head);
        float *x = s->x + sum_place(row, t, row->by_column) * s->x_width,
              *vector = s->vector + (vector_of + t) * call->d_k;
        for (int c = 0; c < call->d_k; c++) {
            x[c] += s->sum[t] * own_vector[head * call->d_k + c];
            vector[c] += s->sum[t] * own[c];
        }
    }
}

/* The sums of heads (or key/value heads) from `head` on to where they belong:
 * the gradient itself, or a hub's partial result. */
static void write_edge_sums(const at_attention *call, const edge_task *t, int by_column, int64_t own,
                            int64_t head, int64_t heads, const edge_scratch *s) {
    const at_rows *x = by_column ? &call->d_key : &call->d_query, *y = by_column ? &call->d_value : NULL;
    const float factor = call->score == ATTN_SCORE_DOT ? call->scale : 1.0f;
    float *partial = NULL;
    if (t->piece && t->piece->partial >= 0) {
        partial = call->partials + t->piece->partial * (heads * (call->d_k + (y ? call->d_v : 0)));
    }
    for (int64_t h = 0; h < heads; h++) {
        const float *sum = s->x + h * s->x_width;
        float *target =
            partial
                ? partial + h * call->d_k
                : (x->data ? rows_at(x, t->sequence,
                                     by_column ? t->sequence->key_row : t->sequence->query_row, own, head + h)
                           : NULL);
        for (int c = 0; target && c < call->d_k; c++) target[c] = factor * sum[c];
        if (!y) continue;
        const float *y_sum = s->y + h * s->y_width;
        float *y_target = partial ? partial + heads * call->d_k + h * call->d_v
                                  : (y->data ? key_rows(y, t->sequence, own, head + h) : NULL);
        if (y_target) memcpy(y_target, y_sum, (size_t)call->d_v * sizeof(float));
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
            prefetch_edge(&call->row_terms, index, call->heads, 2);
        } else {
            prefetch_edge(&call->value, index, call->kv_heads, call->d_v);
        }
    }
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
    memset(s.vector, 0, (size_t)(call->heads * call->d_k) * sizeof(float));
    for (int64_t i = t.row; i < t.row_end; i++) {
        memset(s.x, 0, (size_t)(heads * s.x_width) * sizeof(float));
        memset(s.y, 0, (size_t)(heads * s.y_width) * sizeof(float));
        int64_t turns = t.piece || !by_column ? 1 : call->group; /* the query heads of a key/value head */
        for (int64_t g = 0; g < turns; g++) {
            edge_row row = edge_row_of(call, &t, by_column, i, by_column ? t.head * call->group + g : t.head);
            if (t.piece) {
                int64_t to = min64(row.neighbours - t.adjacency->neighbours + row.count + EDGES_AHEAD,
                                   t.piece->edge_end);
                if (asked < to) prefetch_backward(call, &t, by_column, asked, to);
                asked = max64(asked, to);
            }
            backward_edge_row(&row, &s, g);
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

static void merge_backward(const at_attention *call, int by_column, const at_graph_hub *hub) {
    int64_t numbers = attention_edges_partial(call, 1, by_column),
            heads = by_column ? call->kv_heads : call->heads;
    float *sum = call->partials + hub->first_partial * numbers;
    for (int64_t p = 1; p < hub->partials; p++) {
        const float *partial = call->partials + (hub->first_partial + p) * numbers;
        for (int64_t x = 0; x < numbers; x++) sum[x] += partial[x];
    }
    const at_rows *x = by_column ? &call->d_key : &call->d_query;
    for (int64_t h = 0; h < heads; h++) {
        if (x->data) {
            memcpy(x->data + hub->row * x->row + h * x->head, sum + h * call->d_k,
                   (size_t)call->d_k * sizeof(float));
        }
        if (by_column && call->d_value.data) {
            memcpy(call->d_value.data + hub->row * call->d_value.row + h * call->d_value.head,
                   sum + heads * call->d_k + h * call->d_v, (size_t)call->d_v * sizeof(float));
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
