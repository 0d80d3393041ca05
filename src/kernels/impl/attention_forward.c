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
                        int64_t i_end, const forward_scratch *f) {
    for (int c = 0; i + (int64_t)c * COLUMN_LANES < i_end; c++) {
        forward_column column = column_at(call, f, i, i_end, c);
        const float *query = query_rows(&call->query, s, column.first_query, head);
        pack_transposed(column.queries, call->d_k, query, call->query.row, call->scale * LOG2_E,
                        (float *)column.query_t, column.lanes);
        for (int l = 0; l < column.lanes; l++) {
            column.maximum[l] = -INFINITY;
            column.sum[l] = 0.0f;
        }
        memset(column.out_t, 0, (size_t)call->d_v * (size_t)column.lanes * sizeof(float));
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
    for (int r = 0; r < t->rows; r++) {
        if (!reach_covers_row(t, r) && !all_finite(1, call->d_v, value + r * value_row, value_row)) return 0;
    }
    return 1;
}

/* V^T P^T of a tile in which some queries may not see some keys, and V is not
 * finite: its bad rows apart, only for the queries that see them. */
static void add_values_guarded(const at_attention *call, const score_tile *t, const forward_column *column,
                               product_operands *p, float *finite_values) {
    const float *values = p->a;
    int64_t value_row = p->a_step;
    unsigned char bad[LONG_KEY_TILE];
    for (int r = 0; r < t->rows; r++) {
        bad[r] = !all_finite(1, call->d_v, values + r * value_row, value_row);
        float *copy = finite_values + (int64_t)r * call->d_v;
        if (bad[r]) {
            memset(copy, 0, (size_t)call->d_v * sizeof(float));
        } else {
            memcpy(copy, values + r * value_row, (size_t)call->d_v * sizeof(float));
        }
    }
    p->a = finite_values;
    p->a_step = call->d_v;
    product(call->d_v, column->lanes, p);
    for (int r = 0; r < t->rows; r++) {
        if (!bad[r]) continue;
        for (int l = 0; l < column->queries; l++) {
            if (!may_see(call, t->sequence, t->head, t->first_query + l, t->first_key + r)) continue;
            float weight = t->scores[r * t->stride + l];
            for (int c = 0; c < call->d_v; c++)
                column->out_t[c * column->lanes + l] += weight * values[r * value_row + c];
        }
    }
}

/* What is asked for while a tile is computed: see product.h. */
typedef struct forward_ahead {
    product_ahead first, second; /* with its two products */
} forward_ahead;

/* Keys [j, j_end) for one column. key, value: the row of key j. */
static void forward_tile(const at_attention *call, const at_sequence *s, int64_t head,
                         const forward_column *column, int64_t j, int64_t j_end, const float *key,
                         int64_t key_row, const float *value, int64_t value_row, const forward_scratch *f,
                         forward_ahead *ahead) {
    int rows = (int)(j_end - j);
    product_operands scores = {.a = key,
                               .a_row = key_row,
                               .a_step = 1,
                               .b = column->query_t,
                               .b_step = column->lanes,
                               .c = f->scores,
                               .c_row = column->lanes,
                               .depth = call->score == ATTN_SCORE_NONE ? 0 : call->d_k,
                               .start = PRODUCT_SET,
                               .ahead = VEC_AHEAD ? &ahead->first : NULL};
    product(rows, column->lanes, &scores);
    score_tile t = {.call = call,
                    .sequence = s,
                    .head = head,
                    .first_query = column->first_query,
                    .first_key = j,
                    .rows = rows,
                    .lanes = column->lanes,
                    .lanes_used = column->queries,
                    .scores = f->scores,
                    .stride = column->lanes,
                    .line = f->line};
    int partly = 0;
    if (call->weighting != ATTN_WEIGHTS_SOFTMAX) {
        partly = adjust_scores(&t);
        plain_weight_tile(call->weighting, f->scores, rows, column->lanes, column->sum, f->rescale);
    } else if (scores_are_adjusted(call) ||
               !reach_covers(call, s, column->first_query, column->first_query + column->queries, j, j_end)) {
        partly = adjust_scores(&t);
        softmax_tile(f->scores, rows, column->lanes, column->maximum, column->sum, f->rescale);
    } else if (VEC_FRACTION) { /* exp2 takes -inf at no cost */
        softmax_tile(f->scores, rows, column->lanes, column->maximum, column->sum, f->rescale);
    } else {
        size_t bytes = (size_t)column->lanes * sizeof(float);
        memcpy(f->maximum_before, column->maximum, bytes);
        memcpy(f->sum_before, column->sum, bytes);
        if (!softmax_finite_tile(f->scores, rows, column->lanes, column->maximum, column->sum, f->rescale)) {
            memcpy(column->maximum, f->maximum_before,
                   bytes); /* a NaN, or a score of -inf: again, with care */
            memcpy(column->sum, f->sum_before, bytes);
            product(rows, column->lanes, &scores);
            softmax_tile(f->scores, rows, column->lanes, column->maximum, column->sum, f->rescale);
        }
    }
    if (call->dropout_threshold) drop_queries_on_lanes(&t, column->key_a, column->key_b);
    product_operands sums = {.a = value,
                             .a_row = 1,
                             .a_step = value_row,
                             .b = f->scores,
                             .b_step = column->lanes,
                             .c = column->out_t,
                             .c_row = column->lanes,
                             .depth = rows,
                             .start = PRODUCT_RESCALE,
                             .per_lane = f->rescale,
                             .ahead = VEC_AHEAD ? &ahead->second : NULL};
    if (partly && !unseen_values_are_finite(&t, value, value_row)) {
        add_values_guarded(call, &t, column, &sums, f->finite_values);
    } else {
        product(call->d_v, column->lanes, &sums);
    }
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

static void finish_block(const at_attention *call, const at_sequence *s, int64_t head, int64_t i,
                         int64_t i_end, const forward_scratch *f) {
    for (int c = 0; i + (int64_t)c * COLUMN_LANES < i_end; c++) {
        forward_column column = column_at(call, f, i, i_end, c);
        finish_sums(call, s, head, &column);
        for (int l = 0; l < column.lanes; l += VEC_WIDTH) { /* 0 for a query that saw nothing */
            vec sum = vec_load(column.sum + l), zero = vec_set(0.0f);
            vec_store(column.sum + l, vec_select(vec_equal(sum, zero), zero, vec_div(vec_set(1.0f), sum)));
        }
        unpack_transposed(column.queries, call->d_v, column.out_t, column.lanes, column.sum,
                          query_rows(&call->output, s, column.first_query, head), call->output.row);
    }
}

/* Asks for rows that will be needed soon: read, or written (in the L2 cache).
 * Inlined, as gcc takes a function that only prefetches for one without effect. */
VEC_INLINE void prefetch_rows(const float *row, int64_t stride, int64_t rows, int channels, int for_writing) {
    for (int64_t r = 0; r < rows; r++, row += stride) {
        for (int c = 0; c < channels; c += 16) {
            if (for_writing) {
                __builtin_prefetch(row + c, 1, 2);
            } else {
                __builtin_prefetch(row + c, 0, 2);
            }
        }
    }
}

/* Which part of which head a task is. */
typedef struct forward_part {
    const at_sequence *sequence;
    int64_t head, i, i_end;
} forward_part;

/* Columns of a narrow window have few keys in common: each goes its own way,
 * and is narrower, as a column of c queries works on c + left + right keys. */
static inline int window_is_narrow(const at_attention *call) {
    return call->left + call->right < 2 * KEY_TILE;
}

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

/* While one column of a narrow window is worked on: where its result goes, and
 * the rows that the next one sees first. */
VEC_INLINE void prefetch_next_column(const at_attention *call, const forward_part *column) {
    const at_sequence *s = column->sequence;
    int64_t next_end = min64(column->i_end + NARROW_LANES, s->queries), kv = column->head / call->group;
    prefetch_rows(query_rows(&call->output, s, column->i, column->head), call->output.row,
                  column->i_end - column->i, call->d_v, 1);
    if (column->i_end >= next_end) return;
    prefetch_rows(query_rows(&call->query, s, column->i_end, column->head), call->query.row,
                  next_end - column->i_end, call->d_k, 0);
    int64_t j = end_of_seen_keys(call, s, column->i_end - 1), j_end = end_of_seen_keys(call, s, next_end - 1);
    prefetch_rows(key_rows(&call->key, s, j, kv), call->key.row, j_end - j, call->d_k, 0);
    prefetch_rows(key_rows(&call->value, s, j, kv), call->value.row, j_end - j, call->d_v, 0);
}

/* What column c of `columns` asks for while it works on keys that end at tile_end, of j_end: its share of the
 * next tile of K and V; in the last tile, of the next task's queries and where its own result goes. */
static forward_ahead ahead_of_column(const at_attention *call, const forward_part *part,
                                     const forward_part *next, const forward_column *column, int64_t c,
                                     int64_t columns, int64_t tile_end, int64_t j_end) {
    const at_sequence *s = part->sequence;
    int64_t rows = min64(j_end - tile_end, j_end - tile_end <= LONG_KEY_TILE ? LONG_KEY_TILE : KEY_TILE);
    int64_t from = tile_end + rows * c / columns, count = tile_end + rows * (c + 1) / columns - from;
    int64_t kv = part->head / call->group;
    forward_ahead ahead = {ahead_of(NULL, 0, 0, 0, NULL), ahead_of(NULL, 0, 0, 0, NULL)};
    if (rows > 0) {
        ahead.first = ahead_of(key_rows(&call->key, s, from, kv), call->key.row, count, call->d_k, NULL);
        ahead.second = ahead_of(key_rows(&call->value, s, from, kv), call->value.row, count, call->d_v, NULL);
        return ahead;
    }
    if (next) {
        rows = next->i_end - next->i;
        from = next->i + rows * c / columns;
        count = next->i + rows * (c + 1) / columns - from;
        ahead.first = ahead_of(query_rows(&call->query, next->sequence, from, next->head), call->query.row,
                               count, call->d_k, NULL);
    }
    ahead.second = ahead_of(query_rows(&call->output, s, column->first_query, part->head), call->output.row,
                            column->queries, call->d_v, NULL);
    return ahead;
}

/* next: the part that comes after this one, or NULL. */
static void forward_queries(const at_attention *call, const forward_part *part, const forward_part *next,
                            const forward_scratch *f) {
    const at_sequence *s = part->sequence;
    const int64_t head = part->head, i = part->i, i_end = part->i_end;
    int64_t kv = head / call->group;
    int64_t j_end = end_of_seen_keys(call, s, i_end - 1);
    /* a copy pays only if several columns read it */
    int copy_keys = call->key.row != call->d_k && i_end - i > ATTENTION_UNCOPIED * COLUMN_LANES;
    int copy_values = call->value.row != call->d_v && i_end - i > ATTENTION_UNCOPIED * COLUMN_LANES;
    begin_block(call, s, head, i, i_end, f);
    for (int64_t j = first_seen_key(call, s, i), tile_end; j < j_end; j = tile_end) {
        tile_end = j_end - j <= LONG_KEY_TILE ? j_end : j + KEY_TILE;
        const float *key = key_rows(&call->key, s, j, kv), *value = key_rows(&call->value, s, j, kv);
        int64_t key_row = call->key.row, value_row = call->value.row;
        if (copy_keys) {
            pack_rows((int)(tile_end - j), call->d_k, key, key_row, f->keys, call->d_k);
            key = f->keys;
            key_row = call->d_k;
        }
        if (copy_values) {
            pack_rows((int)(tile_end - j), call->d_v, value, value_row, f->values, call->d_v);
            value = f->values;
            value_row = call->d_v;
        }
        for (int c = 0; i + (int64_t)c * COLUMN_LANES < i_end; c++) {
            forward_column column = column_at(call, f, i, i_end, c);
            int64_t last = column.first_query + column.queries - 1;
            int64_t from = max64(j, first_seen_key(call, s, column.first_query));
            int64_t to = min64(tile_end, end_of_seen_keys(call, s, last));
            if (from >= to || mask_is_empty(call, s, head, column.first_query, last + 1, from, to)) continue;
            forward_ahead ahead;
            if (VEC_AHEAD) {
                ahead = ahead_of_column(call, part, next, &column, c,
                                        (i_end - i + COLUMN_LANES - 1) / COLUMN_LANES, tile_end, j_end);
            }
            forward_tile(call, s, head, &column, from, to, key + (from - j) * key_row, key_row,
                         value + (from - j) * value_row, value_row, f, &ahead);
        }
    }
    finish_block(call, s, head, i, i_end, f);
}

static void forward_block(const at_attention *call, int64_t task, const forward_scratch *f) {
    forward_part part = forward_part_of(call, task);
    if (!window_is_narrow(call)) {
        const at_sequence *s = part.sequence;
        int64_t block = attention_block(call, s->queries, s->keys), blocks = (s->queries + block - 1) / block;
        int more = VEC_AHEAD && task + 1 - s->first_task < call->heads * blocks; /* of the same sequence */
        forward_part next = more ? forward_part_of(call, task + 1) : part;
        forward_queries(call, &part, more ? &next : NULL, f);
        return;
    }
    for (int64_t i = part.i; i < part.i_end; i += NARROW_LANES) {
        forward_part column = {part.sequence, part.head, i, min64(i + NARROW_LANES, part.i_end)};
        prefetch_next_column(call, &column);
        forward_queries(call, &column, NULL, f);
    }
}
