/* attention_forward.c: O = softmax(Q K^T + ...) V for one head and one block of
 * queries, without ever holding more than a tile of scores.
 *
 * Queries stand on the lanes. The block is cut into columns of a few vectors of
 * queries; for each tile of KEY_TILE keys and each column:
 *
 *     S^T  = K Q^T            K is read in place and broadcast; Q^T is packed once
 *     m'   = max(m, max S)    a lane is a query: no shuffles
 *     P^T  = exp2(S^T - m'),  l = l exp2(m - m') + sum P
 *     O^T  = exp2(m - m') O^T + V^T P^T     the rescaling rides on the load of O^T
 *
 * Scores are in powers of two: scale * log2(e) is folded into Q^T. K and V are
 * copied, a tile at a time for all columns, only if their rows are not side by
 * side (rows that far apart fight for the same few cache sets).
 *
 * A column that sees few keys (ATTENTION_IN_PLACE) has all its weights in one tile. They are divided by their
 * sums first, and O = P V is computed with channels on the lanes, where O stands: nothing is turned back.
 *
 * While a task multiplies, the rows of the thread's next task are asked for (product_ahead).
 *
 * Keys that no query of the column may see are never touched. Where some may
 * and some may not, the weights are exactly 0; so that 0 * NaN does not leak
 * into a query that may not see the NaN, such rows of V are taken out of the
 * product and added for the queries that do see them.
 */
#include "kernels/impl/attention.h"
#include "kernels/impl/weighting.h"

typedef struct forward_scratch {
    float *query_t, *out_t;             /* a column: [channels][its lanes] */
    float *maximum, *sum;               /* [queries] */
    uint32_t *key_a, *key_b;            /* dropout keys, [queries] */
    float *scores;                      /* [LONG_KEY_TILE][lanes] */
    float *rescale;                     /* [lanes of a column] */
    float *maximum_before, *sum_before; /* a column's, likewise */
    float *line;
    float *keys, *values; /* a tile, copied side by side */
    float *finite_values; /* a tile of V without its bad rows */
    product_ahead *ahead; /* what comes after this tile or task */
} forward_scratch;

static int64_t attention_block(const at_attention *call, int64_t queries, int64_t keys) {
    (void)keys;
    int channels = call->d_k > call->d_v ? call->d_k : call->d_v;
    const int64_t lanes = COLUMN_LANES;
    int64_t most = max64(BLOCK_NUMBERS / channels / lanes, 1) * lanes;
    int64_t eighth = (queries / 8 + 2 * lanes - 1) / (2 * lanes) * (2 * lanes);
    return min64(most, max64(eighth, 2 * lanes));
}

static size_t forward_layout(const at_attention *call, unsigned char *base, forward_scratch *f) {
    scratch_pieces pieces = {base, 0};
    int64_t block = attention_block(call, INT64_MAX / 2, 0);
    f->query_t = scratch_take(&pieces, block * call->d_k);
    f->out_t = scratch_take(&pieces, block * call->d_v);
    f->maximum = scratch_take(&pieces, block);
    f->sum = scratch_take(&pieces, block);
    f->key_a = scratch_take(&pieces, block);
    f->key_b = scratch_take(&pieces, block);
    f->scores = scratch_take(&pieces, LONG_KEY_TILE * COLUMN_LANES);
    f->rescale = scratch_take(&pieces, COLUMN_LANES);
    f->maximum_before = scratch_take(&pieces, COLUMN_LANES);
    f->sum_before = scratch_take(&pieces, COLUMN_LANES);
    f->line = scratch_take(&pieces, LONG_KEY_TILE + COLUMN_LANES);
    f->keys = scratch_take(&pieces, (int64_t)LONG_KEY_TILE * call->d_k);
    f->values = scratch_take(&pieces, (int64_t)LONG_KEY_TILE * call->d_v);
    f->finite_values = scratch_take(&pieces, (int64_t)LONG_KEY_TILE * call->d_v);
    f->ahead = NULL;
    return pieces.used;
}

/* A column of the block: its queries and its part of the scratch memory. */
typedef struct forward_column {
    int64_t first_query;
    int queries, lanes;
    const float *query_t;
    float *out_t, *maximum, *sum;
    const uint32_t *key_a, *key_b;
} forward_column;

/* Column c of the block that begins at query i. */
static forward_column column_at(const at_attention *call, const forward_scratch *f, int64_t i, int64_t i_end,
                                int c) {
    int64_t first = i + (int64_t)c * COLUMN_LANES;
    int queries = (int)min64(COLUMN_LANES, i_end - first);
    int64_t before = (int64_t)c * COLUMN_LANES;
    forward_column column = {first,
                             queries,
                             round_up(queries, VEC_WIDTH),
                             f->query_t + before * call->d_k,
                             f->out_t + before * call->d_v,
                             f->maximum + before,
                             f->sum + before,
                             f->key_a + before,
                             f->key_b + before};
    return column;
}

static void begin_block(const at_attention *call, const at_sequence *s, int64_t head, int64_t i,
                        int64_t i_end, int in_place, const forward_scratch *f) {
    for (int c = 0; i + (int64_t)c * COLUMN_LANES < i_end; c++) {
        forward_column column = column_at(call, f, i, i_end, c);
        const float *query = query_rows(&call->query, s, column.first_query, head);
        pack_transposed(column.queries, call->d_k, query, call->query.row, call->scale * LOG2_E,
                        (float *)column.query_t, column.lanes);
        for (int l = 0; l < column.lanes; l++) {
            column.maximum[l] = -INFINITY;
            column.sum[l] = 0.0f;
        }
        if (!in_place) memset(column.out_t, 0, (size_t)call->d_v * (size_t)column.lanes * sizeof(float));
        if (call->dropout_threshold == 0) continue;
        for (int l = 0; l < column.lanes; l++) {
            at_row_key key = dropout_row(call, s, head, column.first_query + l);
            f->key_a[c * COLUMN_LANES + l] = key.a;
            f->key_b[c * COLUMN_LANES + l] = key.b;
        }
    }
}

/* One online softmax step over a tile: scores become weights relative to the
 * running maximum; rescale is what the sums so far have to be multiplied with.
 * finite (a constant): no score is -inf, which makes exp2 cheaper. */
VEC_INLINE void softmax_column(const int finite, float *scores, int rows, int lanes, float *maximum,
                               float *sum, float *rescale) {
    vec m0 = vec_load(maximum), m1 = m0, m2 = m0, m3 = m0;
    int r = 0;
    for (; r + 4 <= rows; r += 4) { /* four chains hide the latency of max */
        m0 = vec_max(vec_load(scores + r * lanes), m0);
        m1 = vec_max(vec_load(scores + (r + 1) * lanes), m1);
        m2 = vec_max(vec_load(scores + (r + 2) * lanes), m2);
        m3 = vec_max(vec_load(scores + (r + 3) * lanes), m3);
    }
    for (; r < rows; r++) m0 = vec_max(vec_load(scores + r * lanes), m0);
    m0 = vec_max(vec_max(m0, m1), vec_max(m2, m3));
    /* where nothing is seen yet, subtract 0 instead of -inf: exp2(-inf) is 0 */
    vec reference = vec_select(vec_equal(m0, vec_set(-INFINITY)), vec_set(0.0f), m0);
    vec factor = vec_exp2(vec_sub(vec_load(maximum), reference));
    vec_store(maximum, m0);
    vec_store(rescale, factor);
    vec s0 = vec_mul(vec_load(sum), factor), s1 = vec_set(0.0f);
    for (r = 0; r + 2 <= rows; r += 2) {
        vec x0 = vec_sub(vec_load(scores + r * lanes), reference);
        vec x1 = vec_sub(vec_load(scores + (r + 1) * lanes), reference);
        vec p0 = finite ? vec_exp2_finite(x0) : vec_exp2(x0),
            p1 = finite ? vec_exp2_finite(x1) : vec_exp2(x1);
        vec_store(scores + r * lanes, p0);
        vec_store(scores + (r + 1) * lanes, p1);
        s0 = vec_add(s0, p0);
        s1 = vec_add(s1, p1);
    }
    if (r < rows) {
        vec x0 = vec_sub(vec_load(scores + r * lanes), reference);
        vec p0 = finite ? vec_exp2_finite(x0) : vec_exp2(x0);
        vec_store(scores + r * lanes, p0);
        s0 = vec_add(s0, p0);
    }
    vec_store(sum, vec_add(s0, s1));
}

#if SOFTMAX_COLUMNS > 1

/* The same for `columns` (a constant) vectors side by side: rows are gone through from end to end, and the
 * vectors hide each other's latency. */
VEC_INLINE void softmax_columns(const int columns, float *scores, int rows, int lanes, float *maximum,
                                float *sum, float *rescale) {
    vec most[SOFTMAX_COLUMNS], reference[SOFTMAX_COLUMNS], total[SOFTMAX_COLUMNS];
    UNROLL for (int l = 0; l < columns; l++) most[l] = vec_load(maximum + l * VEC_WIDTH);
    for (int r = 0; r < rows; r++) {
        const float *row = scores + r * lanes;
        UNROLL for (int l = 0; l < columns; l++) most[l] = vec_max(vec_load(row + l * VEC_WIDTH), most[l]);
    }
    UNROLL for (int l = 0; l < columns; l++) {
        const int at = l * VEC_WIDTH;
        reference[l] = vec_select(vec_equal(most[l], vec_set(-INFINITY)), vec_set(0.0f), most[l]);
        vec factor = vec_exp2(vec_sub(vec_load(maximum + at), reference[l]));
        vec_store(maximum + at, most[l]);
        vec_store(rescale + at, factor);
        total[l] = vec_mul(vec_load(sum + at), factor);
    }
    for (int r = 0; r < rows; r++) {
        float *row = scores + r * lanes;
        UNROLL for (int l = 0; l < columns; l++) {
            vec p = vec_exp2(vec_sub(vec_load(row + l * VEC_WIDTH), reference[l]));
            vec_store(row + l * VEC_WIDTH, p);
            total[l] = vec_add(total[l], p);
        }
    }
    UNROLL for (int l = 0; l < columns; l++) vec_store(sum + l * VEC_WIDTH, total[l]);
}

static __attribute__((noinline)) void softmax_tile(float *scores, int rows, int lanes, float *maximum,
                                                   float *sum, float *rescale) {
    _Static_assert(SOFTMAX_COLUMNS == 4 && ATTENTION_COLUMNS == 4, "the cases below");
    switch (lanes / VEC_WIDTH) {
    case 1: softmax_columns(1, scores, rows, lanes, maximum, sum, rescale); break;
    case 2: softmax_columns(2, scores, rows, lanes, maximum, sum, rescale); break;
    case 3: softmax_columns(3, scores, rows, lanes, maximum, sum, rescale); break;
    default: softmax_columns(4, scores, rows, lanes, maximum, sum, rescale); break;
    }
}

#else

static __attribute__((noinline)) void softmax_tile(float *scores, int rows, int lanes, float *maximum,
                                                   float *sum, float *rescale) {
    for (int l = 0; l < lanes; l += VEC_WIDTH) {
        softmax_column(0, scores + l, rows, lanes, maximum + l, sum + l, rescale + l);
    }
}

#endif

/* The same for a tile that is taken to hold no -inf. Returns 0 if some sum is
 * NaN, as it is if that was wrong. */
static __attribute__((noinline)) int softmax_finite_tile(float *scores, int rows, int lanes, float *maximum,
                                                         float *sum, float *rescale) {
    int numbers = 1;
    for (int l = 0; l < lanes; l += VEC_WIDTH) {
        softmax_column(1, scores + l, rows, lanes, maximum + l, sum + l, rescale + l);
        vec x = vec_load(sum + l);
        numbers &= vec_all(vec_equal(x, x));
    }
    return numbers;
}

/* Weights without softmax: each by itself; the sum counts the keys seen. */
static void plain_weight_tile(attn_weighting weighting, float *scores, int rows, int lanes, float *sum,
                              float *rescale) {
    const vec nothing = vec_set(-INFINITY), zero = vec_set(0.0f), one = vec_set(1.0f);
    for (int l = 0; l < lanes; l += VEC_WIDTH) {
        vec seen = vec_load(sum + l);
        for (int r = 0; r < rows; r++) {
            vec s = vec_load(scores + r * lanes + l);
            vecb unseen = vec_equal(s, nothing);
            vec p = plain_weight(weighting, s);
            vec_store(scores + r * lanes + l, vec_select(unseen, zero, p));
            seen = vec_add(seen, vec_select(unseen, zero, one));
        }
        vec_store(sum + l, seen);
        vec_store(rescale + l, one);
    }
}

/* Whether the values of all keys that some queries see and others do not are
 * finite: their weights of 0 then do no harm. */
static int unseen_values_are_finite(const score_tile *t, const float *value, int64_t value_row) {
    const at_attention *call = t->call;
    if (call->bias || call->distance || call->mask) return all_finite(t->rows, call->d_v, value, value_row);
    int from, to;
    covered_rows(t, &from, &to);
    return all_finite(from, call->d_v, value, value_row) &&
           all_finite(t->rows - to, call->d_v, value + to * value_row, value_row);
}

/* Where the sums over values go: channel c of query l is target[l * query + c * channel]. */
typedef struct forward_target {
    float *target;
    ptrdiff_t query, channel;
} forward_target;

/* The values of a tile without the rows that are not finite, side by side; bad[r] says which those are. */
static void copy_finite_values(const at_attention *call, const score_tile *t, const float *value,
                               int64_t value_row, float *copy, unsigned char *bad) {
    for (int r = 0; r < t->rows; r++, value += value_row, copy += call->d_v) {
        bad[r] = !all_finite(1, call->d_v, value, value_row);
        if (bad[r]) {
            memset(copy, 0, (size_t)call->d_v * sizeof(float));
        } else {
            memcpy(copy, value, (size_t)call->d_v * sizeof(float));
        }
    }
}

/* Adds the rows that copy_finite_values has left out, for the queries that see them. */
static void add_bad_values(const at_attention *call, const score_tile *t, const float *value,
                           int64_t value_row, const unsigned char *bad, const forward_target *to) {
    for (int r = 0; r < t->rows; r++) {
        if (!bad[r]) continue;
        for (int l = 0; l < t->lanes_used; l++) {
            if (!may_see(call, t->sequence, t->head, t->first_query + l, t->first_key + r)) continue;
            float weight = t->scores[r * t->stride + l];
            for (int c = 0; c < call->d_v; c++)
                to->target[l * to->query + c * to->channel] += weight * value[r * value_row + c];
        }
    }
}

static score_tile forward_score_tile(const at_attention *call, const at_sequence *s, int64_t head,
                                     const forward_column *column, int64_t j, int64_t j_end,
                                     const forward_scratch *f) {
    score_tile t = {.call = call,
                    .sequence = s,
                    .head = head,
                    .first_query = column->first_query,
                    .first_key = j,
                    .rows = (int)(j_end - j),
                    .lanes = column->lanes,
                    .lanes_used = column->queries,
                    .scores = f->scores,
                    .stride = column->lanes,
                    .line = f->line};
    return t;
}

/* The lanes from *lane to *end, in whole steps, that the reach lets see some row of [row, row_end). */
static void seeing_lanes(const score_tile *t, int row, int row_end, int *lane, int *end) {
    const int64_t base = t->first_key - t->first_query - t->sequence->shift;
    const int64_t first = min64(max64(row + base - t->call->right, 0), t->lanes);
    const int64_t last = min64(max64(row_end + base + t->call->left, first), t->lanes);
    *lane = (int)first / STEP_LANES * STEP_LANES;
    *end = (int)min64(round_up((int)last, STEP_LANES), t->lanes);
}

/* The scores of rows [row, row_end) for the lanes that see some of them; -inf for the others. scores: of the
 * whole tile. */
static void score_step(const score_tile *t, const product_operands *scores, int row, int row_end) {
    int lane, end;
    seeing_lanes(t, row, row_end, &lane, &end);
    product_operands p = *scores;
    p.a += row * p.a_row;
    p.b += lane;
    p.c += row * p.c_row + lane;
    product(row_end - row, end - lane, &p);
    for (int r = row; r < row_end; r++) {
        for (int l = 0; l < t->lanes; l += VEC_WIDTH) {
            if (l < lane || l >= end) vec_store(t->scores + r * t->stride + l, vec_set(-INFINITY));
        }
    }
}

/* The scores of a tile. Where the reach ends inside of it, later keys are for later queries only: rows go in
 * steps, each with fewer lanes. */
static void score_product(const score_tile *t, product_operands *scores) {
    int from, to;
    covered_rows(t, &from, &to);
    from = from > STEP_LANES ? from - STEP_LANES : 0; /* a step further all lanes see something */
    to = (int)min64(to + STEP_LANES, t->rows);
    if (to - from == t->rows) {
        product(t->rows, t->lanes, scores);
        return;
    }
    for (int end = from, row; end > 0; end = row) {
        row = end > STEP_LANES ? end - STEP_LANES : 0;
        score_step(t, scores, row, end);
    }
    product_operands p = *scores;
    p.a += from * p.a_row;
    p.c += from * p.c_row;
    product(to - from, t->lanes, &p);
    for (int row = to, end; row < t->rows; row = end) {
        end = (int)min64(row + STEP_LANES, t->rows);
        score_step(t, scores, row, end);
    }
}

/* The sums over the values of a tile: in the same way, the last keys are for the last lanes only. */
static void value_product(const score_tile *t, product_operands *sums) {
    int from, to;
    covered_rows(t, &from, &to);
    to = (int)min64(to + STEP_LANES, t->rows);
    const float *const a = sums->a, *const b = sums->b;
    float *const c = sums->c;
    sums->depth = to;
    product(t->call->d_v, t->lanes, sums);
    sums->start = PRODUCT_ADD;
    for (int row = to, lane, end; row < t->rows; row += sums->depth) {
        sums->depth = (int)min64(STEP_LANES, t->rows - row);
        seeing_lanes(t, row, row + sums->depth, &lane, &end);
        sums->a = a + row * sums->a_step;
        sums->b = b + row * sums->b_step + lane;
        sums->c = c + lane;
        product(t->call->d_v, t->lanes - lane, sums);
    }
}

/* The weights of a tile of keys for one column, in f->scores; key: the row of the first one. Returns whether
 * some pair may be unseen. */
static int forward_weights(const at_attention *call, const forward_column *column, const float *key,
                           int64_t key_row, score_tile *t, const forward_scratch *f) {
    product_operands scores = {.a = key,
                               .a_row = key_row,
                               .a_step = 1,
                               .b = column->query_t,
                               .b_step = column->lanes,
                               .c = f->scores,
                               .c_row = column->lanes,
                               .depth = call->score == ATTN_SCORE_NONE ? 0 : call->d_k,
                               .start = PRODUCT_SET,
                               .ahead = f->ahead};
    score_product(t, &scores);
    int partly = 0;
    if (call->weighting != ATTN_WEIGHTS_SOFTMAX) {
        partly = adjust_scores(t);
        plain_weight_tile(call->weighting, f->scores, t->rows, column->lanes, column->sum, f->rescale);
    } else if (scores_are_adjusted(call) ||
               !reach_covers(call, t->sequence, column->first_query, column->first_query + column->queries,
                             t->first_key, t->first_key + t->rows)) {
        partly = adjust_scores(t);
        softmax_tile(f->scores, t->rows, column->lanes, column->maximum, column->sum, f->rescale);
    } else if (VEC_FRACTION) { /* exp2 takes -inf at no cost */
        softmax_tile(f->scores, t->rows, column->lanes, column->maximum, column->sum, f->rescale);
    } else {
        size_t bytes = (size_t)column->lanes * sizeof(float);
        memcpy(f->maximum_before, column->maximum, bytes);
        memcpy(f->sum_before, column->sum, bytes);
        if (!softmax_finite_tile(f->scores, t->rows, column->lanes, column->maximum, column->sum,
                                 f->rescale)) {
            memcpy(column->maximum, f->maximum_before,
                   bytes); /* a NaN, or a score of -inf: again, with care */
            memcpy(column->sum, f->sum_before, bytes);
            product(t->rows, column->lanes, &scores);
            softmax_tile(f->scores, t->rows, column->lanes, column->maximum, column->sum, f->rescale);
        }
    }
    if (call->dropout_threshold) drop_queries_on_lanes(t, column->key_a, column->key_b);
    return partly;
}

/* Keys [j, j_end) for one column. key, value: the row of key j. */
static void forward_tile(const at_attention *call, const at_sequence *s, int64_t head,
                         const forward_column *column, int64_t j, int64_t j_end, const float *key,
                         int64_t key_row, const float *value, int64_t value_row, const forward_scratch *f) {
    score_tile t = forward_score_tile(call, s, head, column, j, j_end, f);
    int partly = forward_weights(call, column, key, key_row, &t, f);
    product_operands sums = {.a = value,
                             .a_row = 1,
                             .a_step = value_row,
                             .b = f->scores,
                             .b_step = column->lanes,
                             .c = column->out_t,
                             .c_row = column->lanes,
                             .depth = t.rows,
                             .start = PRODUCT_RESCALE,
                             .per_lane = f->rescale,
                             .ahead = f->ahead};
    if (!partly || unseen_values_are_finite(&t, value, value_row)) {
        value_product(&t, &sums);
        return;
    }
    unsigned char bad[LONG_KEY_TILE];
    forward_target to = {column->out_t, 1, column->lanes};
    copy_finite_values(call, &t, value, value_row, f->finite_values, bad);
    sums.a = f->finite_values;
    sums.a_step = call->d_v;
    value_product(&t, &sums);
    add_bad_values(call, &t, value, value_row, bad, &to);
}

/* The log-sum-exp from the maximum and the sum; and the sum becomes what the
 * output is to be divided by. */
static void finish_sums(const at_attention *call, const at_sequence *s, int64_t head,
                        const forward_column *column) {
    const int softmax = call->weighting == ATTN_WEIGHTS_SOFTMAX;
    for (int l = 0; l < column->queries; l++) {
        int64_t i = column->first_query + l;
        float *sum = column->sum + l;
        if (softmax && *sum == 0.0f && sees_anything(call, s, head, i)) *sum = NAN; /* 0 / 0 */
        if (call->log_sum_exp.data) {
            float level = *sum == 0.0f ? -INFINITY : (column->maximum[l] + log2f(*sum)) * LN_2;
            *query_rows(&call->log_sum_exp, s, i, head) = softmax ? level : 0.0f;
        }
        if (!softmax && !call->average) *sum = 1.0f;
    }
}

/* finish_sums, and the sums become factors: 1 / sum, or 0 for a query that saw nothing. */
static void finish_factors(const at_attention *call, const at_sequence *s, int64_t head,
                           const forward_column *column) {
    finish_sums(call, s, head, column);
    for (int l = 0; l < column->lanes; l += VEC_WIDTH) {
        vec sum = vec_load(column->sum + l), zero = vec_set(0.0f);
        vec_store(column->sum + l, vec_select(vec_equal(sum, zero), zero, vec_div(vec_set(1.0f), sum)));
    }
}

static void finish_block(const at_attention *call, const at_sequence *s, int64_t head, int64_t i,
                         int64_t i_end, const forward_scratch *f) {
    for (int c = 0; i + (int64_t)c * COLUMN_LANES < i_end; c++) {
        forward_column column = column_at(call, f, i, i_end, c);
        finish_factors(call, s, head, &column);
        unpack_transposed(column.queries, call->d_v, column.out_t, column.lanes, column.sum,
                          query_rows(&call->output, s, column.first_query, head), call->output.row);
    }
}

/* A column that sees no keys but [j, j_end), which fit one tile: the weights are divided by their sums before
 * they meet the values, with channels on the lanes, so that O = P V is written in its place and neither it
 * nor V is turned. */
static void forward_in_place(const at_attention *call, const at_sequence *s, int64_t head,
                             const forward_column *column, int64_t j, int64_t j_end, const float *key,
                             int64_t key_row, const float *value, int64_t value_row,
                             const forward_scratch *f) {
    score_tile t = forward_score_tile(call, s, head, column, j, j_end, f);
    int partly = t.rows ? forward_weights(call, column, key, key_row, &t, f) : 0;
    finish_factors(call, s, head, column);
    for (int r = 0; r < t.rows; r++) {
        float *weights = f->scores + r * column->lanes;
        for (int l = 0; l < column->lanes; l += VEC_WIDTH) {
            vec_store(weights + l, vec_mul(vec_load(weights + l), vec_load(column->sum + l)));
        }
    }
    forward_target to = {query_rows(&call->output, s, column->first_query, head), call->output.row, 1};
    product_operands sums = {.a = f->scores,
                             .a_row = 1,
                             .a_step = column->lanes,
                             .b = value,
                             .b_step = value_row,
                             .c = to.target,
                             .c_row = to.query,
                             .depth = t.rows,
                             .start = PRODUCT_SET,
                             .ahead = f->ahead};
    if (!partly || unseen_values_are_finite(&t, value, value_row)) {
        product(column->queries, call->d_v, &sums);
        return;
    }
    unsigned char bad[LONG_KEY_TILE];
    copy_finite_values(call, &t, value, value_row, f->finite_values, bad);
    sums.b = f->finite_values;
    sums.b_step = call->d_v;
    product(column->queries, call->d_v, &sums);
    add_bad_values(call, &t, value, value_row, bad, &to);
}

/* Which part of which head a task is. */
typedef struct forward_part {
    const at_sequence *sequence;
    int64_t head, i, i_end;
} forward_part;

static forward_part forward_part_of(const at_attention *call, int64_t task) {
    const at_sequence *s = sequence_of_task(call, task);
    int64_t number = task - s->first_task, block = attention_block(call, s->queries, s->keys);
    int64_t blocks = (s->queries + block - 1) / block, index = number % blocks;
    if (!window_is_narrow(call))
        index = blocks - 1 - index; /* under a causal reach the last is the longest */
    int64_t i = index * block;
    forward_part part = {s, number / blocks, i, min64(i + block, s->queries)};
    return part;
}

enum { AHEAD_OF_TASK = 4 };

/* While one column of a narrow window is worked on: the rows that the next one sees first, and where the
 * result goes. */
static product_ahead *ahead_of_column(const at_attention *call, const forward_part *column,
                                      product_ahead ahead[AHEAD_OF_TASK]) {
    const at_sequence *s = column->sequence;
    int64_t next_end = min64(column->i_end + NARROW_LANES, s->queries), kv = column->head / call->group;
    ahead[3] = ahead_of(query_rows(&call->output, s, column->i, column->head), call->output.row,
                        column->i_end - column->i, call->d_v, NULL);
    if (column->i_end >= next_end) return ahead + 3;
    int64_t j = end_of_seen_keys(call, s, column->i_end - 1);
    int64_t keys = end_of_seen_keys(call, s, next_end - 1) - j;
    ahead[2] = ahead_of(key_rows(&call->value, s, j, kv), call->value.row, keys, call->d_v, ahead + 3);
    ahead[1] = ahead_of(key_rows(&call->key, s, j, kv), call->key.row, keys, call->d_k, ahead + 2);
    ahead[0] = ahead_of(query_rows(&call->query, s, column->i_end, column->head), call->query.row,
                        next_end - column->i_end, call->d_k, ahead + 1);
    return ahead;
}

/* Keys and values from key j on. */
typedef struct forward_keys {
    const float *key, *value;
    int64_t key_row, value_row;
} forward_keys;

/* Those of a tile: where they stand, or copied side by side. */
static forward_keys forward_keys_of(const at_attention *call, const at_sequence *s, int64_t kv, int64_t j,
                                    int64_t j_end, int copy_keys, int copy_values, const forward_scratch *f) {
    forward_keys at = {key_rows(&call->key, s, j, kv), key_rows(&call->value, s, j, kv), call->key.row,
                       call->value.row};
    if (copy_keys && at.key_row != call->d_k) {
        pack_rows((int)(j_end - j), call->d_k, at.key, at.key_row, f->keys, call->d_k);
        at.key = f->keys;
        at.key_row = call->d_k;
    }
    if (copy_values && at.value_row != call->d_v) {
        pack_rows((int)(j_end - j), call->d_v, at.value, at.value_row, f->values, call->d_v);
        at.value = f->values;
        at.value_row = call->d_v;
    }
    return at;
}

/* A block whose queries see the keys of one tile at most, [j, j_end). */
static void forward_queries_in_place(const at_attention *call, const forward_part *part, int64_t j,
                                     int64_t j_end, int copy, const forward_scratch *f) {
    const at_sequence *s = part->sequence;
    forward_keys at = forward_keys_of(call, s, part->head / call->group, j, max64(j, j_end), copy, 1, f);
    begin_block(call, s, part->head, part->i, part->i_end, 1, f);
    for (int c = 0; part->i + (int64_t)c * COLUMN_LANES < part->i_end; c++) {
        forward_column column = column_at(call, f, part->i, part->i_end, c);
        int64_t last = column.first_query + column.queries - 1;
        int64_t from = max64(j, first_seen_key(call, s, column.first_query));
        int64_t to = min64(j_end, end_of_seen_keys(call, s, last));
        if (from >= to || mask_is_empty(call, s, part->head, column.first_query, last + 1, from, to))
            from = to = j;
        forward_in_place(call, s, part->head, &column, from, to, at.key + (from - j) * at.key_row, at.key_row,
                         at.value + (from - j) * at.value_row, at.value_row, f);
    }
}

/* Keys and values of the tile that begins at key j. */
static product_ahead *ahead_of_tile(const at_attention *call, const at_sequence *s, int64_t kv, int64_t j,
                                    int64_t j_end, product_ahead ahead[2]) {
    int64_t rows = j_end - j <= LONG_KEY_TILE ? j_end - j : KEY_TILE;
    ahead[1] = ahead_of(key_rows(&call->value, s, j, kv), call->value.row, rows, call->d_v, NULL);
    ahead[0] = ahead_of(key_rows(&call->key, s, j, kv), call->key.row, rows, call->d_k, ahead + 1);
    return ahead;
}

static void forward_queries(const at_attention *call, const forward_part *part, const forward_scratch *f) {
    const at_sequence *s = part->sequence;
    const int64_t head = part->head, i = part->i, i_end = part->i_end;
    int64_t j_begin = first_seen_key(call, s, i), j_end = end_of_seen_keys(call, s, i_end - 1);
    int copy = i_end - i > ATTENTION_UNCOPIED * COLUMN_LANES; /* pays only if several columns read it */
    if (j_end - j_begin <= ATTENTION_IN_PLACE && call->d_v % VEC_WIDTH == 0) {
        forward_queries_in_place(call, part, j_begin, j_end, copy, f);
        return;
    }
    begin_block(call, s, head, i, i_end, 0, f);
    for (int64_t j = j_begin, tile_end; j < j_end; j = tile_end) {
        tile_end = j_end - j <= LONG_KEY_TILE ? j_end : j + KEY_TILE;
        forward_keys at = forward_keys_of(call, s, head / call->group, j, tile_end, copy, copy, f);
        product_ahead ahead[2];
        forward_scratch own = *f;
        if (LONG_AHEAD && tile_end < j_end)
            own.ahead = ahead_of_tile(call, s, head / call->group, tile_end, j_end, ahead);
        for (int c = 0; i + (int64_t)c * COLUMN_LANES < i_end; c++) {
            forward_column column = column_at(call, f, i, i_end, c);
            int64_t last = column.first_query + column.queries - 1;
            int64_t from = max64(j, first_seen_key(call, s, column.first_query));
            int64_t to = min64(tile_end, end_of_seen_keys(call, s, last));
            if (from >= to || mask_is_empty(call, s, head, column.first_query, last + 1, from, to)) continue;
            forward_tile(call, s, head, &column, from, to, at.key + (from - j) * at.key_row, at.key_row,
                         at.value + (from - j) * at.value_row, at.value_row, &own);
        }
    }
    finish_block(call, s, head, i, i_end, f);
}

static int64_t attention_split_keys(const at_attention *call, int64_t queries, int64_t keys);

/* What a task reads first, and where its output goes; NULL if there is no such task. */
static product_ahead *ahead_of_block(const at_attention *call, int64_t task,
                                     product_ahead ahead[AHEAD_OF_TASK]) {
    const int64_t most = 64; /* keys */
    if (task >= call->tasks) return NULL;
    const at_sequence *s = sequence_of_task(call, task);
    if (attention_split_keys(call, s->queries, s->keys) || (!LONG_AHEAD && s->keys > KEY_TILE)) return NULL;
    forward_part part = forward_part_of(call, task);
    int64_t kv = part.head / call->group, queries = part.i_end - part.i;
    int64_t j = first_seen_key(call, s, part.i);
    int64_t keys = max64(min64(end_of_seen_keys(call, s, part.i_end - 1) - j, most), 0);
    ahead[3] =
        ahead_of(query_rows(&call->output, s, part.i, part.head), call->output.row, queries, call->d_v, NULL);
    ahead[2] = ahead_of(key_rows(&call->value, s, j, kv), call->value.row, keys, call->d_v, ahead + 3);
    ahead[1] = ahead_of(key_rows(&call->key, s, j, kv), call->key.row, keys, call->d_k, ahead + 2);
    ahead[0] = ahead_of(query_rows(&call->query, s, part.i, part.head), call->query.row, queries, call->d_k,
                        ahead + 1);
    return ahead;
}

static void forward_block(const at_attention *call, int64_t task, const forward_scratch *f) {
    forward_part part = forward_part_of(call, task);
    product_ahead ahead[AHEAD_OF_TASK];
    forward_scratch own = *f;
    if (!window_is_narrow(call)) {
        if (VEC_AHEAD) own.ahead = ahead_of_block(call, task + call->threads, ahead);
        forward_queries(call, &part, &own);
        return;
    }
    for (int64_t i = part.i; i < part.i_end; i += NARROW_LANES) {
        forward_part column = {part.sequence, part.head, i, min64(i + NARROW_LANES, part.i_end)};
        own.ahead = ahead_of_column(call, &column, ahead);
        while (!VEC_AHEAD && own.ahead) ask_for_line(&own.ahead);
        forward_queries(call, &column, &own);
    }
}
