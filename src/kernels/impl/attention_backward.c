/* attention_backward.c: dQ, dK, dV and the gradients of the biases for one
 * key/value head and one block of KEY_TILE keys: five products a tile.
 *
 * Keys stand on the lanes. K^T and V^T are packed once for the block; dK^T and
 * dV^T are kept for it; Q and dO are read in place and broadcast. For each tile
 * of QUERY_TILE queries, with L the log-sum-exp and delta_i = dO_i . O_i:
 *
 *     S   = Q K^T                 P  = exp2(S - L)
 *     dP  = dO V^T                dS = P * (dP - delta)
 *     dV^T += dO^T P      dK^T += Q^T dS      dQ += dS K
 *
 * scale * log2(e) is folded into K^T and scale into V^T and delta, so that dS
 * comes out scaled.
 *
 * With few keys (ATTENTION_IN_PLACE) dK = dS^T Q and dV = P^T dO have channels on the lanes instead, and are
 * added up where they stand.
 *
 * dQ is a sum over key blocks, each a task of its own. A task adds its share of
 * a query tile to the caller's dQ once the block before it has: the order of
 * the sum is fixed, no copy of dQ is needed, and since tasks start in order,
 * the wait is short and never circular. Bias gradients that several tasks add
 * to are ordered in the same way, task after task.
 */
#include "kernels/impl/attention.h"
#include "kernels/impl/weighting.h"

static const int64_t task_finished = INT64_MAX;

typedef struct backward_scratch {
    float *key_t, *value_t;     /* [channels][lanes] */
    float *d_key_t, *d_value_t; /* likewise */
    float *keys;                /* [KEY_TILE][key_width]: whole vectors of channels, for dQ */
    float *weights, *d_scores;  /* [QUERY_TILE][tile_stride]: S, then P; dP, then dS */
    float *queries, *d_outputs; /* a tile, copied side by side */
    float *d_queries;           /* [QUERY_TILE][key_width] */
    float *finite_rows;         /* a tile of Q, dO or K without its bad rows */
    float *cap_slope;           /* [QUERY_TILE][tile_stride] */
    float *line, *d_line;       /* [QUERY_TILE + KEY_TILE] */
    float *d_distance;          /* [group][2 reach + 1] */
    float *ones;                /* [KEY_TILE] */
    int key_width;              /* d_k in whole vectors */
    int lanes;                  /* the keys of the block, in whole vectors */
    int tile_stride;            /* with many keys not a power of two: rows fall into different cache sets */
    int in_place;               /* dK and dV are added up in their place, not turned */
    product_ahead *ahead;       /* what the next task reads, or NULL */
} backward_scratch;

/* For a block of `keys` keys: few of them stand close together, so that they stay in the L1 cache. */
static size_t backward_layout(const at_attention *call, int keys, unsigned char *base, backward_scratch *b) {
    scratch_pieces pieces = {base, 0};
    const int lanes = b->lanes = round_up(keys, VEC_WIDTH), stride = b->tile_stride = lanes + VEC_WIDTH;
    b->in_place = 0;
    b->ahead = NULL;
    b->key_width = round_up(call->d_k, VEC_WIDTH);
    b->key_t = scratch_take(&pieces, (int64_t)lanes * call->d_k);
    b->value_t = scratch_take(&pieces, (int64_t)lanes * call->d_v);
    b->d_key_t = scratch_take(&pieces, (int64_t)lanes * call->d_k);
    b->d_value_t = scratch_take(&pieces, (int64_t)lanes * call->d_v);
    b->keys = scratch_take(&pieces, (int64_t)lanes * b->key_width);
    b->weights = scratch_take(&pieces, QUERY_TILE * stride);
    b->d_scores = scratch_take(&pieces, QUERY_TILE * stride);
    b->queries = scratch_take(&pieces, (int64_t)QUERY_TILE * call->d_k);
    b->d_outputs = scratch_take(&pieces, (int64_t)QUERY_TILE * call->d_v);
    b->d_queries = scratch_take(&pieces, (int64_t)QUERY_TILE * b->key_width);
    b->finite_rows = scratch_take(&pieces, max64(lanes, QUERY_TILE) *
                                               (b->key_width > call->d_v ? b->key_width : call->d_v));
    b->cap_slope = scratch_take(&pieces, call->softcap > 0.0f ? QUERY_TILE * stride : 0);
    b->line = scratch_take(&pieces, QUERY_TILE + lanes);
    b->d_line = scratch_take(&pieces, QUERY_TILE + lanes);
    b->d_distance =
        scratch_take(&pieces, call->d_distance ? call->group * (2 * call->distance_reach + 1) : 0);
    b->ones = scratch_take(&pieces, lanes);
    return pieces.used;
}

/* Bias gradients need dS unscaled; only then is scale not folded into V^T. */
static inline float folded_scale(const at_attention *call) {
    return call->d_bias || call->d_distance ? 1.0f : call->scale;
}

/* log-sum-exp in powers of two (+inf for a query that saw nothing: exp2 gives
 * 0) and the scaled delta, for every query of a head; and dQ = 0. */
static void attention_row_terms(const at_attention *call, const at_sequence *s, int64_t head) {
    for (int64_t i = 0; i < s->queries; i++) {
        const float *out = query_rows(&call->output, s, i, head);
        const float *d_out = query_rows(&call->d_output, s, i, head);
        float *terms = query_rows(&call->row_terms, s, i, head);
        float log_sum_exp = *query_rows(&call->log_sum_exp, s, i, head);
        vec sum = vec_set(0.0f);
        int c = 0;
        for (; c + VEC_WIDTH <= call->d_v; c += VEC_WIDTH)
            sum = vec_fma(vec_load(out + c), vec_load(d_out + c), sum);
        if (c < call->d_v) {
            sum =
                vec_fma(vec_load_part(out + c, call->d_v - c), vec_load_part(d_out + c, call->d_v - c), sum);
        }
        terms[0] = log_sum_exp == -INFINITY ? INFINITY : log_sum_exp * LOG2_E;
        terms[1] = folded_scale(call) * vec_sum(sum);
        if (call->weighting !=
            ATTN_WEIGHTS_SOFTMAX) { /* what the weights are multiplied with, and no delta */
            int64_t seen = call->average ? keys_seen(call, s, head, i) : 1;
            terms[0] = seen ? 1.0f / (float)seen : 0.0f;
            terms[1] = 0.0f;
        }
        if (call->d_query.data) {
            memset(query_rows(&call->d_query, s, i, head), 0, (size_t)call->d_k * sizeof(float));
        }
    }
}

/* A tile of queries [i, i + rows) x lanes [lane, lane_end) of the key block. */
typedef struct backward_tile {
    const at_attention *call;
    const at_sequence *sequence;
    const backward_scratch *scratch;
    int64_t head, kv;
    int64_t i, j;                        /* first query; first key of the block */
    int row, rows;                       /* row: of the scratch memory, where the first query stands */
    int lane, lanes;                     /* lanes: whole vectors */
    int keys;                            /* of the lanes, those that are keys */
    const float *query, *d_output, *key; /* A operands; key: row of the first lane */
    int64_t query_row, d_output_row, key_row;
    int finite_queries, finite_d_outputs; /* 0: some row is not finite, and some pair may be unseen */
} backward_tile;

/* Row r of the tile in an array like weights and d_scores. */
static inline float *tile_row(const backward_tile *t, float *array, int r) {
    return array + (t->row + r) * t->scratch->tile_stride + t->lane;
}

/* The plain case: all see all, no dropout, no biases. Rows [row, row_end) of the tile. */
static __attribute__((noinline)) void weigh_plain(const backward_tile *t, int row, int row_end) {
    const at_attention *call = t->call;
    for (int r = row; r < row_end; r++) {
        const float *terms = query_rows(&call->row_terms, t->sequence, t->i + r, t->head);
        const vec log_sum_exp = vec_set(terms[0]), delta = vec_set(terms[1]);
        float *weights = tile_row(t, t->scratch->weights, r);
        float *d_scores = tile_row(t, t->scratch->d_scores, r);
        for (int l = 0; l < t->lanes; l += VEC_WIDTH) {
            vec p = vec_exp2(vec_sub(vec_load(weights + l), log_sum_exp));
            vec_store(weights + l, p);
            vec_store(d_scores + l, vec_mul(p, vec_sub(vec_load(d_scores + l), delta)));
        }
    }
}

static void add_bias_gradient(const at_attention *call, const backward_tile *t, int r,
                              const float *d_scores) {
    float *target = call->d_bias + t->sequence->bias * call->d_bias_sequence + t->head * call->d_bias_head +
                    (t->i + r) * call->d_bias_query + (t->j + t->lane) * call->d_bias_key;
    if (call->d_bias_key == 1) {
        for (int l = 0; l < t->keys; l += VEC_WIDTH) {
            int used = t->keys - l < VEC_WIDTH ? t->keys - l : VEC_WIDTH;
            vec sum = vec_add(vec_load_part(target + l, used), vec_load(d_scores + l));
            vec_store_part(target + l, sum, used);
        }
    } else if (call->d_bias_key == 0) { /* shared by all keys; lanes that are no keys hold 0 */
        vec sum = vec_set(0.0f);
        for (int l = 0; l < t->lanes; l += VEC_WIDTH) sum = vec_add(sum, vec_load(d_scores + l));
        target[0] += vec_sum(sum);
    } else {
        for (int l = 0; l < t->keys; l++) target[l * call->d_bias_key] += d_scores[l];
    }
}

/* dS summed along the diagonals: entry x of d_line belongs to lane - row =
 * x - (rows - 1), as in score.h; then folded into the table. */
static void add_distance_gradient(const backward_tile *t) {
    const at_attention *call = t->call;
    float *d_line = t->scratch->d_line;
    int count = t->rows + t->lanes - 1;
    memset(d_line, 0, (size_t)(t->rows + t->lanes) * sizeof(float));
    for (int r = 0; r < t->rows; r++) {
        const float *d_scores = tile_row(t, t->scratch->d_scores, r);
        float *target = d_line + (t->rows - 1 - r);
        for (int l = 0; l < t->lanes; l += VEC_WIDTH) {
            vec_store(target + l, vec_add(vec_load(target + l), vec_load(d_scores + l)));
        }
    }
    float *table = t->scratch->d_distance + (t->head - t->kv * call->group) * (2 * call->distance_reach + 1);
    int64_t base = t->j + t->lane - t->i - t->sequence->shift;
    for (int x = 0; x < count; x++) {
        int64_t distance = base + x - (t->rows - 1);
        table[min64(max64(distance, -call->distance_reach), call->distance_reach) + call->distance_reach] +=
            d_line[x];
    }
}

/* The general case, a row at a time. Lanes that are no keys, and pairs that do
 * not see each other, get dS = 0 by selection. */
static void weigh_row(const backward_tile *t, int r) {
    const at_attention *call = t->call;
    const float *terms = query_rows(&call->row_terms, t->sequence, t->i + r, t->head);
    const vec log_sum_exp = vec_set(terms[0]), delta = vec_set(terms[1]);
    const vec nothing = vec_set(-INFINITY), zero = vec_set(0.0f);
    float *weights = tile_row(t, t->scratch->weights, r);
    float *d_scores = tile_row(t, t->scratch->d_scores, r);
    at_row_key key = {0, 0};
    if (call->dropout_threshold) key = dropout_row(call, t->sequence, t->head, t->i + r);
    for (int l = t->keys; l < t->lanes; l++) weights[l] = -INFINITY;
    for (int l = 0; l < t->lanes; l += VEC_WIDTH) {
        vec s = vec_load(weights + l), d_p = vec_load(d_scores + l);
        vecb unseen = vec_equal(s, nothing);
        vec p, slope;
        if (call->weighting == ATTN_WEIGHTS_SOFTMAX) {
            p = slope = vec_exp2(vec_sub(s, log_sum_exp));
        } else {
            p = vec_mul(plain_weight(call->weighting, s), log_sum_exp);
            slope = vec_mul(plain_weight_slope(call->weighting, s), log_sum_exp);
        }
        vec dropped = p;
        if (call->dropout_threshold) {
            veci j = veci_add(veci_set((uint32_t)(t->j + t->lane + l)), veci_lanes());
            vecb keep = dropout_keeps(veci_set(key.a), veci_set(key.b), j, veci_set(call->dropout_threshold));
            dropped = vec_select(keep, vec_mul(p, vec_set(call->dropout_scale)), zero);
            d_p = vec_select(keep, vec_mul(d_p, vec_set(call->dropout_scale)), zero);
        }
        vec_store(weights + l, vec_select(unseen, zero, dropped));
        vec_store(d_scores + l, vec_select(unseen, zero, vec_mul(slope, vec_sub(d_p, delta))));
    }
    if (!isnan(terms[0])) return;
    for (int l = 0; l < t->keys; l++) { /* scores of -inf that are seen: not unseen, but NaN like their row */
        if (may_see(call, t->sequence, t->head, t->i + r, t->j + t->lane + l)) weights[l] = d_scores[l] = NAN;
    }
}

static void weigh_general(const backward_tile *t) {
    const at_attention *call = t->call;
    float rest = call->scale / folded_scale(call); /* exactly 1 if it is folded into V^T */
    for (int r = 0; r < t->rows; r++) {
        weigh_row(t, r);
        if (call->d_bias) add_bias_gradient(call, t, r, tile_row(t, t->scratch->d_scores, r));
    }
    if (call->d_distance) add_distance_gradient(t);
    if (rest == 1.0f && call->softcap <= 0.0f) return;
    for (int r = 0; r < t->rows; r++) {
        float *d_scores = tile_row(t, t->scratch->d_scores, r);
        const float *slope = tile_row(t, t->scratch->cap_slope, r);
        for (int l = 0; l < t->lanes; l += VEC_WIDTH) {
            vec d = vec_load(d_scores + l), factor = vec_set(rest);
            if (call->softcap > 0.0f) {
                /* where dS is 0 for being unseen, the slope may be NaN */
                factor = vec_mul(factor, vec_load(slope + l));
                factor = vec_select(vec_equal(d, vec_set(0.0f)), vec_set(0.0f), factor);
            }
            vec_store(d_scores + l, vec_mul(d, factor));
        }
    }
}

/* A gradient of the keys or values: for lane l and channel c, the sum over the queries i of the tile of
 * weights[i][l] * rows[i][c], added to target[l * lane + c * channel]. */
typedef struct key_sums {
    const float *weights;
    const float *rows;
    int64_t row;
    int channels;
    float *target;
    ptrdiff_t lane, channel;
} key_sums;

static void add_key_product(const backward_tile *t, const key_sums *sums, const float *rows, int64_t row) {
    const backward_scratch *b = t->scratch;
    product_operands p = {
        .depth = t->rows, .c = sums->target, .start = PRODUCT_ADD, .ahead = t->scratch->ahead};
    if (sums->channel == 1) { /* channels on the lanes */
        p.a = sums->weights;
        p.a_row = 1;
        p.a_step = b->tile_stride;
        p.b = rows;
        p.b_step = row;
        p.c_row = sums->lane;
        product(t->keys, sums->channels, &p);
    } else {
        p.a = rows;
        p.a_row = 1;
        p.a_step = row;
        p.b = sums->weights;
        p.b_step = b->tile_stride;
        p.c_row = sums->channel;
        product(sums->channels, t->lanes, &p);
    }
}

/* The same where some rows are not finite, and weights are 0 where query i does not see key l: bad rows are
 * done apart, for the keys that they see. */
static void add_key_product_guarded(const backward_tile *t, const key_sums *sums) {
    const int channels = sums->channels;
    float *copy = t->scratch->finite_rows;
    pack_rows(t->rows, channels, sums->rows, sums->row, copy, channels);
    for (int i = 0; i < t->rows; i++) {
        if (!all_finite(1, channels, sums->rows + i * sums->row, sums->row)) {
            memset(copy + (int64_t)i * channels, 0, (size_t)channels * sizeof(float));
        }
    }
    add_key_product(t, sums, copy, channels);
    for (int i = 0; i < t->rows; i++) {
        const float *row = sums->rows + i * sums->row;
        if (all_finite(1, channels, row, sums->row)) continue;
        const float *weights = sums->weights + i * t->scratch->tile_stride;
        for (int l = 0; l < t->keys; l++) {
            if (!may_see(t->call, t->sequence, t->head, t->i + i, t->j + t->lane + l)) continue;
            for (int c = 0; c < channels; c++)
                sums->target[l * sums->lane + c * sums->channel] += row[c] * weights[l];
        }
    }
}

/* dV += P^T dO and dK += dS^T Q: in their place, or turned, in scratch. */
static void add_key_gradients(const backward_tile *t, int partly) {
    const at_attention *call = t->call;
    const backward_scratch *b = t->scratch;
    key_sums both[2] = {{.weights = tile_row(t, b->weights, 0),
                         .rows = t->d_output,
                         .row = t->d_output_row,
                         .channels = call->d_v,
                         .target = b->d_value_t + t->lane},
                        {.weights = tile_row(t, b->d_scores, 0),
                         .rows = t->query,
                         .row = t->query_row,
                         .channels = call->d_k,
                         .target = b->d_key_t + t->lane}};
    const at_rows *gradients[2] = {&call->d_value, &call->d_key};
    for (int g = 0; g < 2; g++) {
        if (!gradients[g]->data || (g == 1 && call->score == ATTN_SCORE_NONE)) continue;
        key_sums *sums = both + g;
        sums->lane = 1;
        sums->channel = b->lanes;
        if (b->in_place) {
            sums->target = key_rows(gradients[g], t->sequence, t->j + t->lane, t->kv);
            sums->lane = gradients[g]->row;
            sums->channel = 1;
        }
        if (partly && !(g == 0 ? t->finite_d_outputs : t->finite_queries)) {
            add_key_product_guarded(t, sums);
        } else {
            add_key_product(t, sums, sums->rows, sums->row);
        }
    }
}

/* dQ += dS K where K is not finite and not all see all: bad keys apart, for the
 * queries that see them. */
static void add_query_gradient_guarded(const backward_tile *t, product_operands *p, float *d_query) {
    const at_attention *call = t->call;
    int width = t->scratch->key_width;
    float *copy = t->scratch->finite_rows;
    pack_rows(t->keys, width, t->key, t->key_row, copy, width);
    for (int l = 0; l < t->keys; l++) {
        const float *key = t->key + l * t->key_row;
        if (all_finite(1, call->d_k, key, t->key_row)) continue;
        memset(copy + (int64_t)l * width, 0, (size_t)width * sizeof(float));
        for (int r = 0; r < t->rows; r++) {
            float d_score = tile_row(t, t->scratch->d_scores, r)[l];
            if (!may_see(call, t->sequence, t->head, t->i + r, t->j + t->lane + l)) continue;
            for (int c = 0; c < call->d_k; c++) d_query[r * call->d_query.row + c] += d_score * key[c];
        }
    }
    p->b = copy;
    p->b_step = width;
}

/* dQ += dS K: each tile of queries with the keys that it sees. */
static void add_query_gradient(const backward_tile *t, int partly) {
    const at_attention *call = t->call;
    const backward_scratch *b = t->scratch;
    float *d_query = query_rows(&call->d_query, t->sequence, t->i, t->head);
    const int64_t distance = t->j + t->lane - t->i - t->sequence->shift; /* of the first key and query */
    const product_band seen = {call->left + distance, call->right - distance};
    product_operands p = {.a = tile_row(t, b->d_scores, 0),
                          .a_row = b->tile_stride,
                          .a_step = 1,
                          .b = t->key,
                          .b_step = t->key_row,
                          .c = d_query,
                          .c_row = call->d_query.row,
                          .depth = t->keys,
                          .start = PRODUCT_ADD,
                          .ahead = b->ahead};
    if (partly && !all_finite(t->keys, call->d_k, t->key, t->key_row)) {
        add_query_gradient_guarded(t, &p, d_query);
    }
    if (call->d_k == b->key_width) {
        product_in_band(t->rows, b->key_width, &p, seen);
        return;
    }
    p.c = b->d_queries;
    p.c_row = b->key_width;
    p.start = PRODUCT_SET;
    product_in_band(t->rows, b->key_width, &p, seen);
    for (int r = 0; r < t->rows; r++) {
        for (int c = 0; c < call->d_k; c++)
            d_query[r * call->d_query.row + c] += b->d_queries[r * b->key_width + c];
    }
}

/* Scores become weights, and dP becomes dS. Returns whether some pair may be unseen. */
static int weigh_tile(const backward_tile *t) {
    const at_attention *call = t->call;
    const backward_scratch *b = t->scratch;
    score_tile s = {.call = call,
                    .sequence = t->sequence,
                    .head = t->head,
                    .first_query = t->i,
                    .first_key = t->j + t->lane,
                    .keys_on_lanes = 1,
                    .rows = t->rows,
                    .lanes = t->lanes,
                    .lanes_used = t->keys,
                    .scores = tile_row(t, b->weights, 0),
                    .stride = b->tile_stride,
                    .line = b->line,
                    .cap_slope = call->softcap > 0.0f ? tile_row(t, b->cap_slope, 0) : NULL};
    if (call->weighting == ATTN_WEIGHTS_SOFTMAX && !scores_are_adjusted(call) && !call->dropout_threshold &&
        !call->d_bias && !call->d_distance) {
        int from, to;
        covered_rows(&s, &from, &to);
        apply_reach(&s);
        for (int r = 0; r < from; r++) weigh_row(t, r);
        weigh_plain(t, from, to);
        for (int r = to; r < t->rows; r++) weigh_row(t, r);
        return to - from < t->rows;
    }
    int partly = adjust_scores(&s);
    weigh_general(t);
    return partly;
}

/* Scores, weights and dS of a tile. Returns whether some pair may be unseen. */
static int backward_scores(const backward_tile *t) {
    const at_attention *call = t->call;
    const backward_scratch *b = t->scratch;
    product_ahead *ahead = b->ahead, queries, d_outputs;
    const int64_t next = t->i + t->rows, count = min64(QUERY_TILE, t->sequence->queries - next);
    if (LONG_AHEAD && count > 0) { /* the next tile comes before the next task */
        d_outputs = ahead_of(query_rows(&call->d_output, t->sequence, next, t->head), call->d_output.row,
                             count, call->d_v, ahead);
        queries = ahead_of(query_rows(&call->query, t->sequence, next, t->head), call->query.row, count,
                           call->d_k, &d_outputs);
        ahead = &queries;
    }
    product_operands scores = {.a = t->query,
                               .a_row = t->query_row,
                               .a_step = 1,
                               .b = b->key_t + t->lane,
                               .b_step = b->lanes,
                               .c = tile_row(t, b->weights, 0),
                               .c_row = b->tile_stride,
                               .depth = call->score == ATTN_SCORE_NONE ? 0 : call->d_k,
                               .start = PRODUCT_SET,
                               .ahead = ahead};
    product_operands d_weights = {.a = t->d_output,
                                  .a_row = t->d_output_row,
                                  .a_step = 1,
                                  .b = b->value_t + t->lane,
                                  .b_step = b->lanes,
                                  .c = tile_row(t, b->d_scores, 0),
                                  .c_row = b->tile_stride,
                                  .depth = call->d_v,
                                  .start = PRODUCT_SET,
                                  .ahead = ahead};
    product(t->rows, t->lanes, &scores);
    product(t->rows, t->lanes, &d_weights);
    return weigh_tile(t);
}

/* dS = 0 for the queries above and below a strip of the tile that product_in_band reads. */
static void clear_around(const backward_tile *t, const backward_tile *strip) {
    const int end = strip->row + strip->rows;
    const int first = strip->row < VEC_ROWS ? 0 : strip->row - (VEC_ROWS - 1);
    const int last = (int)min64(end + VEC_ROWS - 1, t->rows);
    for (int r = first; r < last; r++) {
        if (r >= strip->row && r < end) continue;
        memset(tile_row(strip, t->scratch->d_scores, r - strip->row), 0,
               (size_t)strip->lanes * sizeof(float));
    }
}

/* A tile that the end of the reach crosses goes in strips of a few keys, each with the queries that see some
 * of them: pairs further off are never computed. Returns whether some pair may be unseen. */
static int backward_strips(const backward_tile *t) {
    const at_attention *call = t->call;
    const int64_t i_end = t->i + t->rows;
    int partly = 0;
    for (int lane = 0; lane < t->lanes; lane += EDGE_LANES) {
        backward_tile strip = *t;
        strip.lane += lane;
        strip.lanes = (int)min64(EDGE_LANES, t->lanes - lane);
        strip.keys = (int)min64(EDGE_LANES, t->keys - lane);
        int64_t key = t->j + strip.lane;
        strip.i = min64(max64(first_seeing_query(call, t->sequence, key), t->i), i_end);
        int64_t end = min64(end_of_seeing_queries(call, t->sequence, key + strip.keys - 1), i_end);
        if (strip.i >= end) continue;
        strip.row = (int)(strip.i - t->i);
        strip.rows = (int)(end - strip.i);
        strip.query += strip.row * t->query_row;
        strip.d_output += strip.row * t->d_output_row;
        int strip_partly = backward_scores(&strip);
        add_key_gradients(&strip, strip_partly);
        partly |= strip_partly;
        clear_around(t, &strip);
    }
    return partly;
}

/* Everything of a tile but dQ. Returns whether some pair may be unseen. */
static int backward_all_but_queries(backward_tile *t) {
    const at_attention *call = t->call;
    const int64_t key = t->j + t->lane;
    const int covered = reach_covers(call, t->sequence, t->i, t->i + t->rows, key, key + t->keys);
    t->finite_queries = t->finite_d_outputs = 1;
    if (!covered || call->bias || call->distance || call->mask) {
        t->finite_queries = all_finite(t->rows, call->d_k, t->query, t->query_row);
        t->finite_d_outputs = all_finite(t->rows, call->d_v, t->d_output, t->d_output_row);
    }
    if (!covered) return backward_strips(t);
    int partly = backward_scores(t);
    add_key_gradients(t, partly);
    return partly;
}

/* Queries [i, i + rows) of one head against the key block. */
static void backward_tile_run(backward_tile *t, int64_t block_keys, int64_t step, at_progress *before,
                              at_progress *own) {
    const at_attention *call = t->call;
    const backward_scratch *b = t->scratch;
    /* only the lanes that some query of the tile sees */
    int64_t from = max64(first_seen_key(call, t->sequence, t->i), t->j);
    int64_t to = min64(end_of_seen_keys(call, t->sequence, t->i + t->rows - 1), t->j + block_keys);
    int skip = from >= to || mask_is_empty(call, t->sequence, t->head, t->i, t->i + t->rows, from, to);
    int partly = 0;
    if (!skip) {
        t->lane = (int)(from - t->j) / VEC_WIDTH * VEC_WIDTH;
        t->lanes = round_up((int)(to - t->j) - t->lane, VEC_WIDTH);
        t->keys = (int)min64(t->lane + t->lanes, block_keys) - t->lane;
        t->query = query_rows(&call->query, t->sequence, t->i, t->head);
        t->d_output = query_rows(&call->d_output, t->sequence, t->i, t->head);
        t->query_row = call->query.row;
        t->d_output_row = call->d_output.row;
        if (t->query_row != call->d_k) {
            pack_rows(t->rows, call->d_k, t->query, t->query_row, b->queries, call->d_k);
            t->query = b->queries;
            t->query_row = call->d_k;
        }
        if (t->d_output_row != call->d_v) {
            pack_rows(t->rows, call->d_v, t->d_output, t->d_output_row, b->d_outputs, call->d_v);
            t->d_output = b->d_outputs;
            t->d_output_row = call->d_v;
        }
        t->key_row = b->key_width;
        t->key = b->keys + (int64_t)t->lane * t->key_row;
        partly = backward_all_but_queries(t);
    }
    if (before) at_progress_wait(before, step);
    if (!skip && call->d_query.data && call->score != ATTN_SCORE_NONE) add_query_gradient(t, partly);
    at_progress_raise(own, step);
}

static void clear_rows(const at_rows *rows, const at_sequence *s, int64_t j, int keys, int64_t head,
                       int channels) {
    if (!rows->data) return;
    float *row = key_rows(rows, s, j, head);
    for (int l = 0; l < keys; l++, row += rows->row) {
        for (int c = 0; c < channels; c += VEC_WIDTH) vec_store(row + c, vec_set(0.0f));
    }
}

static void begin_key_block(const at_attention *call, const at_sequence *s, int64_t kv, int64_t j, int keys,
                            const backward_scratch *b) {
    const float *key = key_rows(&call->key, s, j, kv), *value = key_rows(&call->value, s, j, kv);
    pack_transposed(keys, call->d_k, key, call->key.row, call->scale * LOG2_E, b->key_t, b->lanes);
    pack_transposed(keys, call->d_v, value, call->value.row, folded_scale(call), b->value_t, b->lanes);
    pack_rows(keys, call->d_k, key, call->key.row, b->keys, b->key_width);
    if (b->in_place) {
        clear_rows(&call->d_key, s, j, keys, kv, call->d_k);
        clear_rows(&call->d_value, s, j, keys, kv, call->d_v);
    } else {
        memset(b->d_key_t, 0, (size_t)(call->d_k * b->lanes) * sizeof(float));
        memset(b->d_value_t, 0, (size_t)(call->d_v * b->lanes) * sizeof(float));
        for (int l = 0; l < b->lanes; l++) b->ones[l] = 1.0f;
    }
    if (call->d_distance) {
        memset(b->d_distance, 0, (size_t)(call->group * (2 * call->distance_reach + 1)) * sizeof(float));
    }
}

static void finish_key_block(const at_attention *call, const at_sequence *s, int64_t kv, int64_t j, int keys,
                             int64_t task, const backward_scratch *b) {
    if (call->d_key.data && !b->in_place) {
        unpack_transposed(keys, call->d_k, b->d_key_t, b->lanes, b->ones, key_rows(&call->d_key, s, j, kv),
                          call->d_key.row);
    }
    if (call->d_value.data && !b->in_place) {
        unpack_transposed(keys, call->d_v, b->d_value_t, b->lanes, b->ones,
                          key_rows(&call->d_value, s, j, kv), call->d_value.row);
    }
    if (!call->d_distance) return;
    if (call->previous_distance[task] >= 0) {
        at_progress_wait(call->progress + call->previous_distance[task], task_finished);
    }
    int64_t width = 2 * call->distance_reach + 1;
    for (int64_t g = 0; g < call->group; g++) {
        float *target = call->d_distance + (kv * call->group + g) * call->d_distance_head;
        for (int64_t x = 0; x < width; x++) target[x * call->d_distance_step] += b->d_distance[g * width + x];
    }
}

enum { AHEAD_OF_KEYS = 8 };

/* What a task with a single block reads, and where its results go; NULL for any other. */
static product_ahead *ahead_of_keys(const at_attention *call, int64_t task,
                                    product_ahead ahead[AHEAD_OF_KEYS]) {
    if (task >= call->tasks) return NULL;
    const at_sequence *s = sequence_of_task(call, task);
    if (s->keys > KEY_TILE || call->group > 1) return NULL;
    int64_t head = at_backward_part_of(call, 1, task - s->first_task).kv;
    const at_rows *of_queries[] = {&call->query, &call->d_output, &call->output, &call->d_query};
    const at_rows *of_keys[] = {&call->key, &call->value, &call->d_key, &call->d_value};
    int64_t queries = min64(s->queries, KEY_TILE);
    product_ahead *then = NULL;
    for (int o = 3; o >= 0; o--) { /* from the last to the first, as each names the one after it */
        if (of_keys[o]->data) {
            *ahead = ahead_of(key_rows(of_keys[o], s, 0, head), of_keys[o]->row, s->keys, call->d_k, then);
            then = ahead++;
        }
        if (of_queries[o]->data) {
            *ahead =
                ahead_of(query_rows(of_queries[o], s, 0, head), of_queries[o]->row, queries, call->d_k, then);
            then = ahead++;
        }
    }
    return then;
}

static void attention_backward(const at_attention *call, int64_t task, void *memory) {
    const at_sequence *s = sequence_of_task(call, task);
    int64_t blocks = (s->keys + KEY_TILE - 1) / KEY_TILE;
    at_backward_part part = at_backward_part_of(call, blocks, task - s->first_task);
    int64_t kv = part.kv, block = part.block;
    const int64_t tile = window_is_narrow(call) ? ATTENTION_NARROW_ROWS : QUERY_TILE;
    int64_t j = block * KEY_TILE, tiles = (s->queries + tile - 1) / tile;
    int keys = (int)min64(KEY_TILE, s->keys - j);
    backward_scratch b;
    backward_layout(call, keys, memory, &b);
    product_ahead ahead[AHEAD_OF_KEYS];
    if (VEC_AHEAD) b.ahead = ahead_of_keys(call, task + call->threads, ahead);
    b.in_place =
        keys <= ATTENTION_IN_PLACE && blocks == 1 && call->d_k % VEC_WIDTH == 0 && call->d_v % VEC_WIDTH == 0;
    if (blocks == 1) { /* else they have been computed before */
        for (int64_t g = 0; g < call->group; g++) attention_row_terms(call, s, kv * call->group + g);
    }
    at_progress *own = call->progress + task, *before = block > 0 ? own - part.back : NULL;
    begin_key_block(call, s, kv, j, keys, &b);
    if (call->d_bias && call->previous[task] >= 0) {
        at_progress_wait(call->progress + call->previous[task], task_finished);
    }
    int64_t i_begin = first_seeing_query(call, s, j) / tile * tile;
    int64_t i_end = end_of_seeing_queries(call, s, j + keys - 1);
    for (int64_t g = 0; g < call->group; g++) {
        for (int64_t i = i_begin; i < i_end; i += tile) {
            backward_tile t = {.call = call,
                               .sequence = s,
                               .scratch = &b,
                               .head = kv * call->group + g,
                               .kv = kv,
                               .i = i,
                               .j = j,
                               .rows = (int)min64(tile, s->queries - i)};
            backward_tile_run(&t, keys, g * tiles + i / tile + 1, before, own);
        }
        at_progress_raise(own, (g + 1) * tiles);
    }
    finish_key_block(call, s, kv, j, keys, task, &b);
    at_progress_raise(own, task_finished);
}

static size_t attention_backward_scratch(const at_attention *call) {
    backward_scratch b;
    return backward_layout(call, KEY_TILE, NULL, &b);
}
