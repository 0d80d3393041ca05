/* score.h: what happens to a tile of scores between q.k and the softmax.
 *
 * A tile is [rows][lanes]. In the forward pass its rows are keys and its lanes
 * queries; in the backward pass and in decoding (keys_on_lanes) the other way
 * round. Scores are in powers of two (times log2 e), so that the softmax needs
 * exp2 only.
 *
 *     softcap            s = c tanh(s / c)
 *     bias               s = s + bias_ij
 *     by distance        s = s + line[j - i']: reach (-inf outside), ALiBi and
 *                        the distance table are one precomputed line
 *     mask               s = -inf where the bit is 0
 *
 * What may not be seen becomes exactly -inf by selection, not by addition, so
 * that a NaN there does not survive.
 */
#ifndef AT_KERNELS_IMPL_SCORE_H
#define AT_KERNELS_IMPL_SCORE_H

#include <math.h>

#include "base/random.h"
#include "kernels/impl/dropout.h"
#include "kernels/impl/math.h"
#include "kernels/impl/pack.h"
#include "kernels/table.h"

typedef struct score_tile {
    const at_attention *call;
    const at_sequence *sequence;
    int64_t head;
    int64_t first_query, first_key;
    int keys_on_lanes;
    int rows, lanes; /* lanes: a multiple of VEC_WIDTH */
    int lanes_used;  /* those that stand for a query or key */
    float *scores;
    int stride;       /* from row to row */
    float *line;      /* scratch: rows + lanes numbers */
    float *cap_slope; /* NULL, or a tile to fill with the derivative of the softcap */
} score_tile;

/* Something other than the reach changes the scores. */
static inline int scores_are_adjusted(const at_attention *call) {
    return call->softcap > 0.0f || call->slopes || call->distance || call->bias || call->mask;
}

/* Which pairs the reach lets see each other, of queries [i, i_end) x keys [j, j_end). */
static inline int reach_covers(const at_attention *call, const at_sequence *s, int64_t i, int64_t i_end,
                               int64_t j, int64_t j_end) {
    return j - (i_end - 1 + s->shift) >= -call->left && j_end - 1 - (i + s->shift) <= call->right;
}
static inline int64_t first_seen_key(const at_attention *call, const at_sequence *s, int64_t i) {
    return min64(max64(i + s->shift - call->left, 0), s->keys);
}
static inline int64_t end_of_seen_keys(const at_attention *call, const at_sequence *s, int64_t i) {
    return min64(max64(i + s->shift + call->right + 1, 0), s->keys);
}
static inline int64_t first_seeing_query(const at_attention *call, const at_sequence *s, int64_t j) {
    return min64(max64(j - s->shift - call->right, 0), s->queries);
}
static inline int64_t end_of_seeing_queries(const at_attention *call, const at_sequence *s, int64_t j) {
    return min64(max64(j - s->shift + call->left + 1, 0), s->queries);
}

static inline const uint8_t *mask_row(const at_attention *call, const at_sequence *s, int64_t head,
                                      int64_t i) {
    return call->mask + s->index * call->mask_sequence + head * call->mask_head + i * call->mask_query;
}

/* Bits [first, first + count) of a row of the mask, count <= 32; reads no byte
 * that holds none of them. */
static inline uint32_t mask_bits(const uint8_t *row, int64_t first, int count) {
    const uint8_t *byte = row + first / 8;
    int skipped = (int)(first % 8);
    uint64_t bits = 0;
    for (int b = 0; 8 * b < skipped + count; b++) bits |= (uint64_t)byte[b] << (8 * b);
    return (uint32_t)(bits >> skipped) & (uint32_t)(((uint64_t)1 << count) - 1);
}

static inline const float *bias_at(const at_attention *call, const at_sequence *s, int64_t head, int64_t i,
                                   int64_t j) {
    return call->bias + s->bias * call->bias_sequence + head * call->bias_head + i * call->bias_query +
           j * call->bias_key;
}

/* What distance alone adds to the score of query i and key j, t = j - i'. */
static inline float distance_term(const at_attention *call, int64_t head, int64_t t) {
    if (t < -call->left || t > call->right) return -INFINITY;
    float term = 0.0f;
    if (call->slopes) term -= call->slopes[head] * fabsf((float)t);
    if (call->distance) {
        int64_t column = min64(max64(t, -call->distance_reach), call->distance_reach) + call->distance_reach;
        term += call->distance[head * call->distance_head + column * call->distance_step];
    }
    return term * LOG2_E;
}

/* Whether query i may see key j: the slow, exact word on it. */
static int may_see(const at_attention *call, const at_sequence *s, int64_t head, int64_t i, int64_t j) {
    if (distance_term(call, head, j - i - s->shift) == -INFINITY) return 0;
    if (call->mask && !mask_bits(mask_row(call, s, head, i), j, 1)) return 0;
    return !(call->bias && *bias_at(call, s, head, i, j) == -INFINITY);
}

/* Whether query i may see any key: tells a row that sees nothing from one whose
 * scores all came out as -inf. */
static int sees_anything(const at_attention *call, const at_sequence *s, int64_t head, int64_t i) {
    int64_t end = end_of_seen_keys(call, s, i);
    for (int64_t j = first_seen_key(call, s, i); j < end; j++) {
        int ahead = (int)min64(32, end - j);
        if (call->mask && !mask_bits(mask_row(call, s, head, i), j, ahead)) {
            j += ahead - 1;
        } else if (may_see(call, s, head, i, j)) {
            return 1;
        }
    }
    return 0;
}

/* How many keys query i may see. */
static int64_t keys_seen(const at_attention *call, const at_sequence *s, int64_t head, int64_t i) {
    int64_t first = first_seen_key(call, s, i), end = end_of_seen_keys(call, s, i), seen = 0;
    if (!call->mask && !call->bias && !call->distance) return max64(end - first, 0);
    for (int64_t j = first; j < end; j++) seen += may_see(call, s, head, i, j);
    return seen;
}

/* Whether the mask lets no query of the tile see any key of it. */
static int mask_is_empty(const at_attention *call, const at_sequence *s, int64_t head, int64_t i,
                         int64_t i_end, int64_t j, int64_t j_end) {
    if (!call->mask) return 0;
    for (; i < i_end; i++) {
        const uint8_t *row = mask_row(call, s, head, i);
        for (int64_t k = j; k < j_end; k += 32) {
            if (mask_bits(row, k, (int)min64(32, j_end - k))) return 0;
        }
    }
    return 1;
}

/* s + term, and -inf where either is, whatever the other. */
VEC_INLINE vec add_term(vec s, vec term) {
    const vec nothing = vec_set(-INFINITY);
    vec sum = vec_select(vec_equal(term, nothing), nothing, vec_add(s, term));
    return vec_select(vec_equal(s, nothing), nothing, sum);
}

static void apply_softcap(const score_tile *t) {
    const float cap = t->call->softcap * LOG2_E;
    const vec large = vec_set(cap), inverse = vec_set(1.0f / cap);
    for (int r = 0; r < t->rows; r++) {
        float *s = t->scores + r * t->stride;
        for (int l = 0; l < t->lanes; l += VEC_WIDTH) {
            vec u = vec_tanh(vec_mul(vec_load(s + l), inverse));
            vec_store(s + l, vec_mul(large, u));
            if (t->cap_slope) {
                vec_store(t->cap_slope + r * t->stride + l, vec_sub(vec_set(1.0f), vec_mul(u, u)));
            }
        }
    }
}

/* The line: entry x belongs to the pairs with lane - row = x - (rows - 1). */
static void build_line(const score_tile *t) {
    int64_t base = t->first_key - t->first_query - t->sequence->shift;
    for (int x = 0; x < t->rows + t->lanes - 1; x++) {
        int difference = x - (t->rows - 1);
        t->line[x] =
            distance_term(t->call, t->head, t->keys_on_lanes ? base + difference : base - difference);
    }
}

static void add_line(const score_tile *t) {
    for (int r = 0; r < t->rows; r++) {
        float *s = t->scores + r * t->stride;
        const float *line = t->line + (t->rows - 1 - r);
        for (int l = 0; l < t->lanes; l += VEC_WIDTH)
            vec_store(s + l, add_term(vec_load(s + l), vec_load(line + l)));
    }
}

/* The rows [*from, *to) of the tile that the reach lets see, or be seen by, all of its lanes. */
static inline void covered_rows(const score_tile *t, int *from, int *to) {
    const at_attention *call = t->call;
    const int64_t base = t->first_key - t->first_query - t->sequence->shift; /* distance of row 0, lane 0 */
    const int64_t last = t->lanes_used - 1;
    int64_t first = t->keys_on_lanes ? base + last - call->right : last - base - call->left;
    int64_t end = t->keys_on_lanes ? base + call->left + 1 : call->right - base + 1;
    *from = (int)min64(max64(first, 0), t->rows);
    *to = (int)min64(max64(end, *from), t->rows);
}

/* Rows [row, row_end), which the reach cuts through: a line of 0 and -inf. */
static void cut_rows(const score_tile *whole, int row, int row_end) {
    score_tile t = *whole;
    t.rows = row_end - row;
    t.scores += row * t.stride;
    if (t.keys_on_lanes) {
        t.first_query += row;
    } else {
        t.first_key += row;
    }
    int64_t base =
        t.first_key - t.first_query - t.sequence->shift - (t.keys_on_lanes ? 1 : -1) * (t.rows - 1);
    int64_t count =
        t.rows + t.lanes - 1; /* entries 0 .. count-1 are the distances base .. in steps of 1 or -1 */
    int64_t from = t.keys_on_lanes ? -t.call->left - base : base - t.call->right;
    int64_t to = t.keys_on_lanes ? t.call->right - base + 1 : base + t.call->left + 1;
    from = min64(max64(from, 0), count);
    to = min64(max64(to, from), count);
    for (int64_t x = 0; x < from; x++) t.line[x] = -INFINITY;
    for (int64_t x = from; x < to; x++) t.line[x] = 0.0f;
    for (int64_t x = to; x < count; x++) t.line[x] = -INFINITY;
    add_line(&t);
}

/* Reach alone: only the rows that it cuts through. */
static void apply_reach(const score_tile *t) {
    int from, to;
    covered_rows(t, &from, &to);
    if (from > 0) cut_rows(t, 0, from);
    if (to < t->rows) cut_rows(t, to, t->rows);
}

VEC_INLINE vec add_bias(vec s, vec bias) {
    const vec nothing = vec_set(-INFINITY);
    return vec_select(vec_equal(bias, nothing), nothing, vec_fma(bias, vec_set(LOG2_E), s));
}

/* Bias whose rows run along the tile's rows: turned in blocks in registers. */
static void apply_bias_across(const score_tile *t, const float *bias, int64_t lane_step) {
    for (int r = 0; r < t->rows; r += VEC_WIDTH) {
        int rows = t->rows - r < VEC_WIDTH ? t->rows - r : VEC_WIDTH;
        for (int l = 0; l < t->lanes_used; l += VEC_WIDTH) {
            vec block[VEC_WIDTH];
            for (int x = 0; x < VEC_WIDTH; x++) {
                block[x] = l + x < t->lanes_used ? vec_load_part(bias + (l + x) * lane_step + r, rows)
                                                 : vec_set(0.0f);
            }
            vec_transpose(block);
            for (int x = 0; x < rows; x++) {
                float *s = t->scores + (r + x) * t->stride + l;
                vec_store(s, add_bias(vec_load(s), block[x]));
            }
        }
    }
}

static void apply_bias(const score_tile *t) {
    const at_attention *call = t->call;
    const float *bias = bias_at(call, t->sequence, t->head, t->first_query, t->first_key);
    int64_t row_step = t->keys_on_lanes ? call->bias_query : call->bias_key;
    int64_t lane_step = t->keys_on_lanes ? call->bias_key : call->bias_query;
    if (row_step == 1 && lane_step > 1) {
        apply_bias_across(t, bias, lane_step);
        return;
    }
    for (int r = 0; r < t->rows; r++) {
        float *s = t->scores + r * t->stride;
        const float *row = bias + r * row_step;
        for (int l = 0; l < t->lanes_used; l += VEC_WIDTH) {
            int used = t->lanes_used - l < VEC_WIDTH ? t->lanes_used - l : VEC_WIDTH;
            vec value;
            if (lane_step == 1) {
                value = vec_load_part(row + l, used);
            } else if (lane_step == 0) {
                value = vec_set(row[0]);
            } else {
                float lanes[VEC_WIDTH] = {0.0f};
                for (int x = 0; x < used; x++) lanes[x] = row[(l + x) * lane_step];
                value = vec_load(lanes);
            }
            vec_store(s + l, add_bias(vec_load(s + l), value));
        }
    }
}

static void apply_mask_keys_on_lanes(const score_tile *t) {
    const veci lane = veci_lanes();
    for (int r = 0; r < t->rows; r++) {
        const uint8_t *bits = mask_row(t->call, t->sequence, t->head, t->first_query + r);
        float *s = t->scores + r * t->stride;
        for (int l = 0; l < t->lanes_used; l += VEC_WIDTH) {
            int used = t->lanes_used - l < VEC_WIDTH ? t->lanes_used - l : VEC_WIDTH;
            veci word = veci_set(mask_bits(bits, t->first_key + l, used));
            vecb seen = veci_bit0(veci_shift_right_lanes(word, lane));
            vec_store(s + l, vec_select(seen, vec_load(s + l), vec_set(-INFINITY)));
        }
    }
}

static void apply_mask_queries_on_lanes(const score_tile *t) {
    for (int l = 0; l < t->lanes; l += VEC_WIDTH) {
        for (int r = 0; r < t->rows; r += 32) {
            int rows = t->rows - r < 32 ? t->rows - r : 32;
            uint32_t words[VEC_WIDTH];
            for (int x = 0; x < VEC_WIDTH; x++) {
                words[x] = l + x < t->lanes_used
                               ? mask_bits(mask_row(t->call, t->sequence, t->head, t->first_query + l + x),
                                           t->first_key + r, rows)
                               : 0;
            }
            veci word = veci_load(words);
            for (int x = 0; x < rows; x++) {
                float *s = t->scores + (r + x) * t->stride + l;
                vecb seen = veci_bit0(veci_shift_right(word, x));
                vec_store(s, vec_select(seen, vec_load(s), vec_set(-INFINITY)));
            }
        }
    }
}

/* All of it. Returns whether some pair of the tile may be unseen, in which
 * case a weight of 0 must not meet a NaN. */
static int adjust_scores(const score_tile *t) {
    const at_attention *call = t->call;
    int64_t queries = t->keys_on_lanes ? t->rows : t->lanes_used,
            keys = t->keys_on_lanes ? t->lanes_used : t->rows;
    int covered = reach_covers(call, t->sequence, t->first_query, t->first_query + queries, t->first_key,
                               t->first_key + keys);
    if (call->softcap > 0.0f) apply_softcap(t);
    if (call->bias) apply_bias(t);
    if (call->slopes || call->distance) {
        build_line(t);
        add_line(t);
    } else if (!covered) {
        apply_reach(t);
    }
    if (call->mask) {
        if (t->keys_on_lanes) {
            apply_mask_keys_on_lanes(t);
        } else {
            apply_mask_queries_on_lanes(t);
        }
    }
    return !covered || call->bias || call->distance || call->mask;
}

static inline at_row_key dropout_row(const at_attention *call, const at_sequence *s, int64_t head,
                                     int64_t i) {
    return at_random_row(call->seed, call->first_sequence + s->index, head, i);
}

/* Weights of a tile whose lanes are queries, keys of the generator given a lane. */
static void drop_queries_on_lanes(const score_tile *t, const uint32_t *key_a, const uint32_t *key_b) {
    const veci threshold = veci_set(t->call->dropout_threshold);
    const vec scale = vec_set(t->call->dropout_scale);
    for (int l = 0; l < t->lanes; l += VEC_WIDTH) {
        veci a = veci_load(key_a + l), b = veci_load(key_b + l);
        for (int r = 0; r < t->rows; r++) {
            float *p = t->scores + r * t->stride + l;
            vecb keep = dropout_keeps(a, b, veci_set((uint32_t)(t->first_key + r)), threshold);
            vec_store(p, vec_select(keep, vec_mul(vec_load(p), scale), vec_set(0.0f)));
        }
    }
}

/* One row of weights whose lanes are keys. */
static void drop_keys_on_lanes(const at_attention *call, at_row_key key, int64_t first_key, int lanes,
                               float *p) {
    const veci a = veci_set(key.a), b = veci_set(key.b), threshold = veci_set(call->dropout_threshold);
    const vec scale = vec_set(call->dropout_scale);
    for (int l = 0; l < lanes; l += VEC_WIDTH) {
        veci j = veci_add(veci_set((uint32_t)(first_key + l)), veci_lanes());
        vecb keep = dropout_keeps(a, b, j, threshold);
        vec_store(p + l, vec_select(keep, vec_mul(vec_load(p + l), scale), vec_set(0.0f)));
    }
}

#endif
