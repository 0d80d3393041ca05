/* attention_weights.c: the weights themselves, on request.
 *
 *     P_ij = exp2(S_ij - log-sum-exp_i)
 *
 * for QUERY_TILE queries of a head, computed again after the forward pass, whose
 * result they therefore cannot change. Keys stand on the lanes, so that a row
 * of P is written as it lies.
 */
#include "kernels/impl/attention.h"
#include "kernels/impl/weighting.h"

typedef struct weights_scratch {
    float *key_t;  /* [d_k][KEY_TILE] */
    float *scores; /* [QUERY_TILE][KEY_TILE] */
    float *line;
} weights_scratch;

static size_t weights_layout(const at_attention *call, unsigned char *base, weights_scratch *w) {
    scratch_pieces pieces = {base, 0};
    w->key_t = scratch_take(&pieces, (int64_t)KEY_TILE * call->d_k);
    w->scores = scratch_take(&pieces, QUERY_TILE * KEY_TILE);
    w->line = scratch_take(&pieces, QUERY_TILE + KEY_TILE);
    return pieces.used;
}

/* Scores of query i from key j on become weights, in their place in the result. */
static void write_weights(const at_attention *call, const at_sequence *s, int64_t head, int64_t i, int64_t j,
                          int keys, float *scores) {
    int lanes = round_up(keys, VEC_WIDTH);
    if (call->weighting == ATTN_WEIGHTS_SOFTMAX) {
        float log_sum_exp = *query_rows(&call->log_sum_exp, s, i, head);
        const vec level = vec_set(log_sum_exp == -INFINITY ? INFINITY : log_sum_exp * LOG2_E);
        for (int l = 0; l < lanes; l += VEC_WIDTH) {
            vec_store(scores + l, vec_exp2(vec_sub(vec_load(scores + l), level)));
        }
    } else {
        int64_t seen = call->average ? keys_seen(call, s, head, i) : 1;
        const vec factor = vec_set(seen ? 1.0f / (float)seen : 0.0f);
        for (int l = 0; l < lanes; l += VEC_WIDTH) {
            vec x = vec_load(scores + l), p = plain_weight(call->weighting, x);
            vecb unseen = vec_equal(x, vec_set(-INFINITY));
            vec_store(scores + l, vec_select(unseen, vec_set(0.0f), vec_mul(p, factor)));
        }
    }
    if (call->dropout_threshold) drop_keys_on_lanes(call, dropout_row(call, s, head, i), j, lanes, scores);
    int64_t from = max64(j, first_seen_key(call, s, i)), to = min64(j + keys, end_of_seen_keys(call, s, i));
    if (from >= to) return;
    float *row = call->weights + s->weights_offset + (head * s->queries + i) * s->weights_width;
    memcpy(row + (from - s->weights_first_key - i * s->weights_key_step), scores + (from - j),
           (size_t)(to - from) * sizeof(float));
}

static void attention_weights(const at_attention *call, const at_sequence *s, int64_t head, int64_t i,
                              void *memory) {
    weights_scratch w;
    weights_layout(call, memory, &w);
    int64_t i_end = min64(i + QUERY_TILE, s->queries);
    memset(call->weights + s->weights_offset + (head * s->queries + i) * s->weights_width, 0,
           (size_t)((i_end - i) * s->weights_width) * sizeof(float));
    int64_t j_end = end_of_seen_keys(call, s, i_end - 1);
    for (int64_t j = first_seen_key(call, s, i); j < j_end; j += KEY_TILE) {
        int keys = (int)min64(KEY_TILE, j_end - j);
        if (mask_is_empty(call, s, head, i, i_end, j, j + keys)) continue;
        pack_transposed(keys, call->d_k, key_rows(&call->key, s, j, head / call->group), call->key.row,
                        call->scale * LOG2_E, w.key_t, KEY_TILE);
        product_operands p = {.a = query_rows(&call->query, s, i, head),
                              .a_row = call->query.row,
                              .a_step = 1,
                              .b = w.key_t,
                              .b_step = KEY_TILE,
                              .c = w.scores,
                              .c_row = KEY_TILE,
                              .depth = call->score == ATTN_SCORE_NONE ? 0 : call->d_k,
                              .start = PRODUCT_SET};
        product((int)(i_end - i), round_up(keys, VEC_WIDTH), &p);
        score_tile t = {.call = call,
                        .sequence = s,
                        .head = head,
                        .first_query = i,
                        .first_key = j,
                        .keys_on_lanes = 1,
                        .rows = (int)(i_end - i),
                        .lanes = round_up(keys, VEC_WIDTH),
                        .lanes_used = keys,
                        .scores = w.scores,
                        .stride = KEY_TILE,
                        .line = w.line};
        adjust_scores(&t);
        for (int64_t x = i; x < i_end; x++)
            write_weights(call, s, head, x, j, keys, w.scores + (x - i) * KEY_TILE);
    }
}
