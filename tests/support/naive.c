/* naive.c: attention written down in float, with its error sizes. */
#include "support/naive.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "support/check.h"

/* One query of one head, key by key. */
typedef struct naive_row {
    bool *visible;
    float *score, *keep, *slope;
    float *weight;
    double *score_rounding;  /* absolute, of the score */
    double *weight_rounding; /* relative, of the probability */
    float log_sum_exp;
    double log_sum_exp_rounding;
} naive_row;

typedef struct position {
    int64_t b, h, kv, i;
} position;

static double square(double x) { return x * x; }

static float input(const problem *p, tensor_id id, int64_t index) { return (float)p->exact[id][index]; }

static float scale_of(const problem *p) {
    return p->c.scale == 0.0f ? 1.0f / sqrtf((float)p->c.d_k) : p->c.scale;
}

/* Sum of products of two rows in float; *rounding: of all products and all
 * partial sums. */
static float dot(const problem *p, tensor_id a, int64_t ia, tensor_id b, int64_t ib, int64_t count,
                 double *rounding) {
    float sum = 0.0f;
    double squares = 0.0;
    for (int64_t c = 0; c < count; c++) {
        float product = input(p, a, ia + c) * input(p, b, ib + c);
        sum += product;
        squares += square((double)product) + square((double)sum);
    }
    *rounding = sqrt(squares);
    return sum;
}

static int64_t bias_at(const problem *p, position at, int64_t j) {
    const int64_t *shape = p->tensor[BIAS].shape;
    int64_t indices[4] = {p->bias_of[at.b], at.h, at.i, j}, index = 0;
    for (int r = 0; r < 4; r++) index = index * shape[r] + (shape[r] == 1 ? 0 : indices[r]);
    return index;
}

static int64_t distance_of(const problem *p, position at, int64_t j) {
    int64_t shift = p->c.align == ATTN_ALIGN_END ? p->c.keys[at.b] - p->c.queries[at.b] : 0;
    return j - (at.i + shift);
}

static int64_t distance_at(const problem *p, position at, int64_t j) {
    int64_t reach = p->c.distance_reach, distance = distance_of(p, at, j);
    if (distance < -reach) distance = -reach;
    if (distance > reach) distance = reach;
    return (p->c.distance_shared ? 0 : at.h) * (2 * reach + 1) + reach + distance;
}

static void score(const problem *p, position at, int64_t j, naive_row *r) {
    const test_case *c = &p->c;
    double spread;
    float z = scale_of(p) * dot(p, QUERY, problem_index(p, QUERY, at.b, at.i, at.h, 0), KEY,
                                problem_index(p, KEY, at.b, j, at.kv, 0), c->d_k, &spread);
    double rounding = fabs((double)scale_of(p)) * spread + fabs((double)z);
    r->slope[j] = 1.0f;
    if (c->softcap > 0.0f) {
        float t = tanhf(z / c->softcap);
        z = c->softcap * t;
        r->slope[j] = 1.0f - t * t;
        rounding = rounding * (double)r->slope[j] + fabs((double)z);
    }
    float added[3] = {0.0f, 0.0f, 0.0f};
    if (c->bias) added[0] = input(p, BIAS, bias_at(p, at, j));
    if (c->distance_reach >= 0) added[1] = input(p, DISTANCE, distance_at(p, at, j));
    if (c->alibi) added[2] = -p->options.alibi_slopes[at.h] * (float)llabs(distance_of(p, at, j));
    for (int k = 0; k < 3; k++) {
        z += added[k];
        rounding += fabs((double)added[k]);
    }
    r->score[j] = z;
    r->score_rounding[j] = rounding;
}

/* Scores, softmax and dropout of one query. */
static void make_row(const problem *p, position at, naive_row *r) {
    const test_case *c = &p->c;
    int64_t keys = c->keys[at.b];
    at_row_key random = at_random_row(c->seed, c->first_sequence + at.b, at.h, at.i);
    float maximum = -INFINITY, sum = 0.0f;
    for (int64_t j = 0; j < keys; j++) {
        r->visible[j] = problem_sees(p, at.b, at.h, at.i, j);
        if (!r->visible[j]) continue;
        score(p, at, j, r);
        maximum = r->score[j] > maximum ? r->score[j] : maximum;
        bool kept = at_random_word(random, (uint32_t)j) >= at_random_threshold(c->dropout);
        r->keep[j] = kept ? 1.0f / (1.0f - c->dropout) : 0.0f;
    }
    for (int64_t j = 0; j < keys; j++)
        if (r->visible[j]) sum += expf(r->score[j] - maximum);
    r->log_sum_exp = sum > 0.0f ? maximum + logf(sum) : sum == 0.0f ? -INFINITY : NAN;
    double mean = 0.0;
    for (int64_t j = 0; j < keys; j++) {
        if (!r->visible[j]) continue;
        r->weight[j] = expf(r->score[j] - maximum) / sum;
        mean += square((double)r->weight[j] * r->score_rounding[j]);
    }
    r->log_sum_exp_rounding = 1.0 + sqrt(mean) + fabs((double)r->log_sum_exp);
    for (int64_t j = 0; j < keys; j++)
        if (r->visible[j]) r->weight_rounding[j] = 2.0 + r->score_rounding[j] + r->log_sum_exp_rounding;
}

static void forward_row(const problem *p, position at, const naive_row *r, values *result, values *rounding) {
    const test_case *c = &p->c;
    int64_t out = problem_index(p, OUTPUT, at.b, at.i, at.h, 0);
    for (int64_t e = 0; e < c->d_v; e++) {
        float sum = 0.0f;
        double squares = 0.0;
        for (int64_t j = 0; j < c->keys[at.b]; j++) {
            if (!r->visible[j]) continue;
            float term =
                r->weight[j] * r->keep[j] * input(p, VALUE, problem_index(p, VALUE, at.b, j, at.kv, e));
            sum += term;
            squares += square((double)term * r->weight_rounding[j]) + square((double)sum);
        }
        result->data[OUTPUT][out + e] = (double)sum;
        rounding->data[OUTPUT][out + e] = sqrt(squares);
    }
    int64_t row = out / c->d_v;
    result->data[LOG_SUM_EXP][row] = (double)r->log_sum_exp;
    rounding->data[LOG_SUM_EXP][row] = isfinite(r->log_sum_exp) ? r->log_sum_exp_rounding : 0.0;
}

static void weights_row(const problem *p, position at, int64_t offset, const naive_row *r, values *result,
                        values *rounding) {
    const test_case *c = &p->c;
    int64_t keys = c->keys[at.b];
    bool band = c->left >= 0 && c->right >= 0 && c->left + c->right + 1 < keys;
    int64_t width = band ? c->left + c->right + 1 : keys;
    for (int64_t e = 0; e < width; e++) {
        int64_t j = band ? at.i - distance_of(p, at, at.i) - c->left + e : e;
        int64_t index = offset + (at.h * c->queries[at.b] + at.i) * width + e;
        bool seen = j >= 0 && j < keys && r->visible[j];
        float w = seen ? r->weight[j] * r->keep[j] : 0.0f;
        result->data[WEIGHTS][index] = (double)w;
        rounding->data[WEIGHTS][index] = seen ? (double)w * r->weight_rounding[j] : 0.0;
    }
}

/* Adds a term to a sum that is kept in a result (in float), and its rounding. */
static void add(values *result, values *rounding, tensor_id id, int64_t index, float term, double error) {
    result->data[id][index] = (double)((float)result->data[id][index] + term);
    rounding->data[id][index] += square(error) + square(result->data[id][index]);
}

/* ds of (i, j) into the gradients of everything that the score depends on. */
static void spread_d_score(const problem *p, position at, int64_t j, const naive_row *r, float d_score,
                           double d_score_rounding, values *result, values *rounding) {
    const test_case *c = &p->c;
    float d_dot = d_score * r->slope[j] * scale_of(p);
    double scale = fabs((double)scale_of(p));
    double error = scale * (double)r->slope[j] * d_score_rounding + 2.0 * fabs((double)d_dot);
    if (c->softcap > 0.0f)
        error += scale * fabs((double)d_score) * (1.0 + r->score_rounding[j] / (double)c->softcap);
    int64_t q = problem_index(p, QUERY, at.b, at.i, at.h, 0), k = problem_index(p, KEY, at.b, j, at.kv, 0);
    for (int64_t e = 0; e < c->d_k; e++) {
        float query = input(p, QUERY, q + e), key = input(p, KEY, k + e);
        add(result, rounding, D_QUERY, q + e, d_dot * key, error * (double)key);
        add(result, rounding, D_KEY, k + e, d_dot * query, error * (double)query);
    }
    if (c->bias) add(result, rounding, D_BIAS, bias_at(p, at, j), d_score, d_score_rounding);
    if (c->distance_reach >= 0)
        add(result, rounding, D_DISTANCE, distance_at(p, at, j), d_score, d_score_rounding);
}

/* From the output and log-sum-exp of the forward pass, as a fused backward
 * pass has to do it: p = exp(s - lse), mean = do . o. */
static void backward_row(const problem *p, position at, const naive_row *r, values *result,
                         values *rounding) {
    const test_case *c = &p->c;
    int64_t out = problem_index(p, OUTPUT, at.b, at.i, at.h, 0);
    float mean = 0.0f;
    double mean_rounding = 0.0;
    for (int64_t e = 0; e < c->d_v; e++) {
        float d_output = input(p, D_OUTPUT, out + e);
        mean += d_output * (float)result->data[OUTPUT][out + e];
        mean_rounding += square((double)d_output *
                                (fabs(result->data[OUTPUT][out + e]) + rounding->data[OUTPUT][out + e]));
    }
    mean_rounding = sqrt(mean_rounding) + fabs((double)mean);
    for (int64_t j = 0; j < c->keys[at.b]; j++) {
        if (!r->visible[j]) continue;
        float probability = expf(r->score[j] - r->log_sum_exp);
        int64_t v = problem_index(p, VALUE, at.b, j, at.kv, 0);
        double spread;
        float d_weight = dot(p, D_OUTPUT, out, VALUE, v, c->d_v, &spread) * r->keep[j];
        float d_score = probability * (d_weight - mean);
        double error =
            fabs((double)d_score) * r->weight_rounding[j] +
            (double)probability * (spread * (double)r->keep[j] + fabs((double)d_weight) + mean_rounding);
        spread_d_score(p, at, j, r, d_score, error, result, rounding);
        for (int64_t e = 0; e < c->d_v; e++) {
            float term = probability * r->keep[j] * input(p, D_OUTPUT, out + e);
            add(result, rounding, D_VALUE, v + e, term, (double)term * r->weight_rounding[j]);
        }
    }
}

static void clear_gradients(const problem *p, values *result) {
    const test_case *c = &p->c;
    for (int b = 0; b < c->sequences; b++) {
        int64_t q = problem_index(p, D_QUERY, b, 0, 0, 0), k = problem_index(p, D_KEY, b, 0, 0, 0);
        int64_t v = problem_index(p, D_VALUE, b, 0, 0, 0);
        for (int64_t e = 0; e < c->queries[b] * c->heads * c->d_k; e++) result->data[D_QUERY][q + e] = 0.0;
        for (int64_t e = 0; e < c->keys[b] * c->kv_heads * c->d_k; e++) result->data[D_KEY][k + e] = 0.0;
        for (int64_t e = 0; e < c->keys[b] * c->kv_heads * c->d_v; e++) result->data[D_VALUE][v + e] = 0.0;
    }
    for (int64_t e = 0; c->bias && e < p->count[D_BIAS]; e++) result->data[D_BIAS][e] = 0.0;
    for (int64_t e = 0; c->distance_reach >= 0 && e < p->count[D_DISTANCE]; e++)
        result->data[D_DISTANCE][e] = 0.0;
}

static void naive_row_create(naive_row *r, int64_t keys) {
    size_t n = (size_t)keys + 1;
    r->visible = calloc(n, sizeof(bool));
    r->score = calloc(n, sizeof(float));
    r->keep = calloc(n, sizeof(float));
    r->slope = calloc(n, sizeof(float));
    r->weight = calloc(n, sizeof(float));
    r->score_rounding = calloc(n, sizeof(double));
    r->weight_rounding = calloc(n, sizeof(double));
    assert_true(r->visible && r->score && r->keep && r->slope && r->weight && r->score_rounding &&
                r->weight_rounding);
}

static void naive_row_destroy(naive_row *r) {
    free(r->visible);
    free(r->score);
    free(r->keep);
    free(r->slope);
    free(r->weight);
    free(r->score_rounding);
    free(r->weight_rounding);
}

void naive_attention(const problem *p, int passes, values *result, values *rounding) {
    const test_case *c = &p->c;
    int64_t offset = 0;
    clear_gradients(p, result);
    for (int id = OUTPUT; id < TENSORS; id++)
        for (int64_t e = 0; rounding->data[id] && e < p->count[id]; e++) rounding->data[id][e] = 0.0;
    for (int b = 0; b < c->sequences; b++) {
        naive_row r;
        naive_row_create(&r, c->keys[b]);
        for (int64_t h = 0; h < c->heads; h++) {
            for (int64_t i = 0; i < c->queries[b]; i++) {
                position at = {b, h, h / (c->heads / c->kv_heads), i};
                make_row(p, at, &r);
                forward_row(p, at, &r, result, rounding);
                if (c->weights) weights_row(p, at, offset, &r, result, rounding);
                if (passes & RUN_BACKWARD) backward_row(p, at, &r, result, rounding);
            }
        }
        bool band = c->left >= 0 && c->right >= 0 && c->left + c->right + 1 < c->keys[b];
        offset += c->heads * c->queries[b] * (band ? c->left + c->right + 1 : c->keys[b]);
        naive_row_destroy(&r);
    }
    for (int id = D_QUERY; id < TENSORS; id++)
        for (int64_t e = 0; rounding->data[id] && e < p->count[id]; e++)
            rounding->data[id][e] = sqrt(rounding->data[id][e]);
}
