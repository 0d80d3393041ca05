/* attention_decode.c: few queries against many keys.
 *
 * With one or a few queries the lanes of the forward kernel would stay empty,
 * and the work is to read K and V once at the speed of memory. Here channels
 * stand on the lanes, all the queries that share a key/value head are done in
 * one reading of it, and the keys are split into chunks so that every thread
 * has work. A chunk leaves, for each (head, query),
 *
 *     m, l, o[d_v]      running maximum, sum of exp2(s - m), sum of exp2(s - m) v
 *
 * in at_attention.partials; attention_merge adds them up in the order of the
 * chunks. A single chunk writes its result at once.
 */
#include "kernels/impl/attention.h"

enum {
    SPLIT_QUERIES = 4, /* at most this many queries go this way */
    SPLIT_KEYS = 512   /* keys of a chunk */
};

static int64_t attention_split_keys(const at_attention *call, int64_t queries, int64_t keys) {
    (void)keys;
    int plain = call->score == ATTN_SCORE_DOT && call->weighting == ATTN_WEIGHTS_SOFTMAX;
    return plain && queries <= SPLIT_QUERIES ? SPLIT_KEYS : 0;
}
static inline int64_t chunk_count(int64_t keys) { return max64((keys + SPLIT_KEYS - 1) / SPLIT_KEYS, 1); }

typedef struct decode_row { /* one (head, query) */
    float *query;           /* scaled, padded with 0 to whole vectors */
    float *out;             /* [d_v], padded likewise */
    float *maximum, *sum;
} decode_row;

typedef struct decode_scratch {
    float *queries, *outs, *maxima, *sums; /* for all rows */
    float *scores, *line;                  /* [KEY_TILE] */
    int query_width, out_width;
} decode_scratch;

static size_t decode_layout(const at_attention *call, unsigned char *base, decode_scratch *d) {
    scratch_pieces pieces = {base, 0};
    int64_t rows = call->group * SPLIT_QUERIES;
    d->query_width = round_up(call->d_k, VEC_WIDTH);
    d->out_width = round_up(call->d_v, VEC_WIDTH);
    d->queries = scratch_take(&pieces, rows * d->query_width);
    d->outs = scratch_take(&pieces, rows * d->out_width);
    d->maxima = scratch_take(&pieces, rows);
    d->sums = scratch_take(&pieces, rows);
    d->scores = scratch_take(&pieces, KEY_TILE);
    d->line = scratch_take(&pieces, KEY_TILE + VEC_WIDTH);
    return pieces.used;
}

/* Rows of keys or of values: so far apart, or where a list says. */
typedef struct decode_rows {
    const float *data;
    int64_t row;
    const int32_t *places; /* or NULL */
} decode_rows;

static decode_rows decode_rows_from(const at_attention *call, const at_rows *rows, const at_sequence *s,
                                    int64_t j, int64_t kv) {
    decode_rows r = {key_rows(rows, s, call->places ? 0 : j, kv), rows->row, NULL};
    if (call->places) r.places = call->places + s->index * call->places_sequence + j;
    return r;
}
static inline const float *decode_row_number(const decode_rows *rows, int r) {
    return rows->data + (rows->places ? rows->places[r] : r) * rows->row;
}

/* sums[l] = the products of query and row rows[l], l = 0 .. 3, lane by lane. columns: whole vectors of a row,
 * a constant where this is inlined, or -1: as d_k says. */
VEC_INLINE void decode_products(const int columns, int d_k, const float *query, const float *const rows[4],
                                vec sums[4]) {
    const int whole = columns < 0 ? d_k / VEC_WIDTH : columns;
    vec s0 = vec_set(0.0f), s1 = s0, s2 = s0, s3 = s0;
    UNROLL for (int c = 0; c < whole; c++) {
        vec q = vec_load(query + c * VEC_WIDTH);
        s0 = vec_fma(q, vec_load(rows[0] + c * VEC_WIDTH), s0);
        s1 = vec_fma(q, vec_load(rows[1] + c * VEC_WIDTH), s1);
        s2 = vec_fma(q, vec_load(rows[2] + c * VEC_WIDTH), s2);
        s3 = vec_fma(q, vec_load(rows[3] + c * VEC_WIDTH), s3);
    }
    if (columns < 0 && whole * VEC_WIDTH < d_k) {
        int c = whole * VEC_WIDTH, left = d_k - c;
        vec q = vec_load(query + c);
        s0 = vec_fma(q, vec_load_part(rows[0] + c, left), s0);
        s1 = vec_fma(q, vec_load_part(rows[1] + c, left), s1);
        s2 = vec_fma(q, vec_load_part(rows[2] + c, left), s2);
        s3 = vec_fma(q, vec_load_part(rows[3] + c, left), s3);
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

VEC_INLINE void decode_scores_of(const int columns, int rows, int d_k, const float *query,
                                 const decode_rows *keys, float *scores) {
    enum { AT_ONCE = VEC_WIDTH < 4 ? 4 : VEC_WIDTH };
    for (int first = 0; first < rows; first += AT_ONCE) {
        vec sums[AT_ONCE];
        int last = rows - first < AT_ONCE ? rows - 1 : first + AT_ONCE - 1, l = 0;
        for (; first + l <= last; l += 4) {
            const float *four[4]; /* where there are no more, the last one again */
            for (int r = 0; r < 4; r++)
                four[r] = decode_row_number(keys, first + l + r < last ? first + l + r : last);
            decode_products(columns, d_k, query, four, sums + l);
        }
        for (; l < AT_ONCE; l++) sums[l] = vec_set(0.0f);
        for (l = 0; l < AT_ONCE; l += VEC_WIDTH) vec_store(scores + first + l, vec_sums(sums + l));
    }
}

/* scores[r] = query . key_r, for whole vectors of r: what stands past the last row is to be overwritten. */
static void decode_scores(int rows, int d_k, const float *query, const decode_rows *keys, float *scores) {
    if (d_k == 2 * VEC_WIDTH) {
        decode_scores_of(2, rows, d_k, query, keys, scores);
    } else if (d_k == 4 * VEC_WIDTH) {
        decode_scores_of(4, rows, d_k, query, keys, scores);
    } else {
        decode_scores_of(-1, rows, d_k, query, keys, scores);
    }
}

/* out = factor * out + sum_r weights[r] * value_r over `columns` vectors (a constant where this is inlined),
 * of which the last holds `last` numbers. Keys that are not seen are left out: 0 * NaN. seen NULL: all are.
 */
VEC_INLINE void decode_sum_columns(const int columns, int last, int rows, const float *weights,
                                   const unsigned char *seen, const decode_rows *values, int channel,
                                   vec factor, float *out) {
    vec sum[2][8]; /* of even and odd rows, where there are registers and little else to do meanwhile */
    const int chains = columns <= 2 && VEC_WIDTH > 1 ? 2 : 1;
    for (int l = 0; l < columns; l++) {
        sum[0][l] = vec_mul(vec_load(out + l * VEC_WIDTH), factor);
        sum[1][l] = vec_set(0.0f);
    }
    for (int first = 0; first < rows; first += chains) {
        UNROLL for (int k = 0; k < chains; k++) {
            int r = first + k;
            if (r >= rows || (seen && !seen[r])) continue;
            vec p = vec_set(weights[r]);
            const float *v = decode_row_number(values, r) + channel;
            for (int l = 0; l < columns - 1; l++)
                sum[k][l] = vec_fma(p, vec_load(v + l * VEC_WIDTH), sum[k][l]);
            vec tail = last == VEC_WIDTH ? vec_load(v + (columns - 1) * VEC_WIDTH)
                                         : vec_load_part(v + (columns - 1) * VEC_WIDTH, last);
            sum[k][columns - 1] = vec_fma(p, tail, sum[k][columns - 1]);
        }
    }
    for (int l = 0; l < columns; l++)
        vec_store(out + l * VEC_WIDTH, chains == 2 ? vec_add(sum[0][l], sum[1][l]) : sum[0][l]);
}

static void decode_sum(int rows, int d_v, const float *weights, const unsigned char *seen,
                       const decode_rows *values, float factor, float *out) {
    const vec f = vec_set(factor);
    int c = 0;
    for (; c + 8 * VEC_WIDTH <= d_v; c += 8 * VEC_WIDTH) {
        decode_sum_columns(8, VEC_WIDTH, rows, weights, seen, values, c, f, out + c);
    }
    for (; c + 4 * VEC_WIDTH <= d_v; c += 4 * VEC_WIDTH) {
        decode_sum_columns(4, VEC_WIDTH, rows, weights, seen, values, c, f, out + c);
    }
    for (; c + 2 * VEC_WIDTH <= d_v; c += 2 * VEC_WIDTH) {
        decode_sum_columns(2, VEC_WIDTH, rows, weights, seen, values, c, f, out + c);
    }
    for (; c < d_v; c += VEC_WIDTH) {
        int width = d_v - c < VEC_WIDTH ? d_v - c : VEC_WIDTH;
        decode_sum_columns(1, width, rows, weights, seen, values, c, f, out + c);
    }
}

/* One row against keys [j, j_end) of a tile. */
static void decode_tile(const at_attention *call, const at_sequence *s, int64_t head, int64_t kv, int64_t i,
                        int64_t j, int64_t j_end, const decode_scratch *d, const decode_row *row) {
    j = max64(j, first_seen_key(call, s, i));
    j_end = min64(j_end, end_of_seen_keys(call, s, i));
    if (j >= j_end) return;
    int keys = (int)(j_end - j), lanes = round_up(keys, VEC_WIDTH);
    unsigned char seen[KEY_TILE];
    int adjusted = scores_are_adjusted(call);
    decode_rows rows = decode_rows_from(call, &call->key, s, j, kv);
    decode_scores(keys, call->d_k, row->query, &rows, d->scores);
    for (int l = keys; l < lanes; l++) d->scores[l] = -INFINITY;
    if (adjusted) {
        score_tile t = {.call = call,
                        .sequence = s,
                        .head = head,
                        .first_query = i,
                        .first_key = j,
                        .keys_on_lanes = 1,
                        .rows = 1,
                        .lanes = lanes,
                        .lanes_used = keys,
                        .scores = d->scores,
                        .stride = lanes,
                        .line = d->line};
        adjust_scores(&t);
        for (int l = 0; l < keys; l++) seen[l] = d->scores[l] != -INFINITY;
        for (int l = keys; l < lanes; l++) d->scores[l] = -INFINITY;
    }
    vec m = vec_set(*row->maximum);
    for (int l = 0; l < lanes; l += VEC_WIDTH) m = vec_max(vec_load(d->scores + l), m);
    float maximum = vec_maximum(m), reference = maximum == -INFINITY ? 0.0f : maximum;
    float factor = *row->maximum == -INFINITY ? 0.0f : exp2f(*row->maximum - reference);
    vec sum = vec_set(0.0f);
    for (int l = 0; l < lanes; l += VEC_WIDTH) {
        vec p = vec_exp2(vec_sub(vec_load(d->scores + l), vec_set(reference)));
        sum = vec_add(sum, p);
        vec_store(d->scores + l, p);
    }
    *row->maximum = maximum;
    *row->sum = *row->sum * factor + vec_sum(sum);
    if (call->dropout_threshold) drop_keys_on_lanes(call, dropout_row(call, s, head, i), j, lanes, d->scores);
    rows = decode_rows_from(call, &call->value, s, j, kv);
    decode_sum(keys, call->d_v, d->scores, adjusted ? seen : NULL, &rows, factor, row->out);
}

static void write_row(const at_attention *call, const at_sequence *s, int64_t head, int64_t i, float maximum,
                      float sum, const float *out) {
    float *output = query_rows(&call->output, s, i, head);
    if (sum == 0.0f && sees_anything(call, s, head, i)) sum = NAN; /* 0 / 0 */
    float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
    for (int c = 0; c < call->d_v; c += VEC_WIDTH) {
        int width = call->d_v - c < VEC_WIDTH ? call->d_v - c : VEC_WIDTH;
        vec_store_part(output + c, vec_mul(vec_load_part(out + c, width), vec_set(inverse)), width);
    }
    if (call->log_sum_exp.data) {
        *query_rows(&call->log_sum_exp, s, i, head) = sum == 0.0f ? -INFINITY : (maximum + log2f(sum)) * LN_2;
    }
}

static inline float *partial_at(const at_attention *call, const at_sequence *s, int64_t chunk, int64_t head,
                                int64_t i) {
    return call->partials + s->first_partial +
           ((chunk * call->heads + head) * s->queries + i) * (call->d_v + 2);
}

static decode_row decode_row_at(const decode_scratch *d, int64_t row) {
    decode_row r = {d->queries + row * d->query_width, d->outs + row * d->out_width, d->maxima + row,
                    d->sums + row};
    return r;
}

static void decode_begin(const at_attention *call, const float *query, const decode_scratch *d,
                         const decode_row *row) {
    const vec scale = vec_set(call->scale * LOG2_E);
    for (int c = 0; c < d->query_width; c += VEC_WIDTH) {
        int width = call->d_k - c < VEC_WIDTH ? call->d_k - c : VEC_WIDTH;
        vec q = width == VEC_WIDTH ? vec_load(query + c) : vec_load_part(query + c, width);
        vec_store(row->query + c, vec_mul(q, scale));
    }
    for (int c = 0; c < d->out_width; c += VEC_WIDTH) vec_store(row->out + c, vec_set(0.0f));
    *row->maximum = -INFINITY;
    *row->sum = 0.0f;
}

/* One chunk of keys for all queries of one key/value head. */
static void decode_chunk(const at_attention *call, const at_sequence *s, int64_t kv, int64_t chunk,
                         const decode_scratch *d) {
    int64_t first = kv * call->group, last = first + call->group, number = 0;
    for (int64_t head = first; head < last; head++) {
        for (int64_t i = 0; i < s->queries; i++) {
            decode_row row = decode_row_at(d, number++);
            decode_begin(call, query_rows(&call->query, s, i, head), d, &row);
        }
    }
    int64_t end = min64((chunk + 1) * SPLIT_KEYS, s->keys);
    for (int64_t j = chunk * SPLIT_KEYS; j < end; j += KEY_TILE) {
        int64_t j_end = min64(j + KEY_TILE, end);
        number = 0;
        for (int64_t head = first; head < last; head++) {
            for (int64_t i = 0; i < s->queries; i++, number++) {
                decode_row row = decode_row_at(d, number);
                if (mask_is_empty(call, s, head, i, i + 1, j, j_end)) continue;
                decode_tile(call, s, head, kv, i, j, j_end, d, &row);
            }
        }
    }
    int whole = s->keys <= SPLIT_KEYS;
    number = 0;
    for (int64_t head = first; head < last; head++) {
        for (int64_t i = 0; i < s->queries; i++) {
            decode_row row = decode_row_at(d, number++);
            if (whole) {
                write_row(call, s, head, i, *row.maximum, *row.sum, row.out);
            } else {
                float *partial = partial_at(call, s, chunk, head, i);
                partial[0] = *row.maximum;
                partial[1] = *row.sum;
                memcpy(partial + 2, row.out, (size_t)call->d_v * sizeof(float));
            }
        }
    }
}

/* The chunks of one head, in order; the first chunk's memory takes the sum. */
static void attention_merge(const at_attention *call, const at_sequence *s, int64_t head) {
    int64_t chunks = chunk_count(s->keys);
    for (int64_t i = 0; i < s->queries; i++) {
        float maximum = -INFINITY, sum = 0.0f;
        for (int64_t c = 0; c < chunks; c++) {
            float m = partial_at(call, s, c, head, i)[0];
            if (m > maximum) maximum = m;
        }
        float reference = maximum == -INFINITY ? 0.0f : maximum;
        float *out = partial_at(call, s, 0, head, i);
        for (int64_t c = 0; c < chunks; c++) {
            const float *partial = partial_at(call, s, c, head, i);
            float factor = exp2f(partial[0] - reference);
            sum += factor * partial[1];
            for (int x = 2; x < call->d_v + 2; x++)
                out[x] = c ? out[x] + factor * partial[x] : factor * partial[x];
        }
        write_row(call, s, head, i, maximum, sum, out + 2);
    }
}
