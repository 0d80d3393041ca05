/* crf.c: conditional random fields, a sequence at a time.
 *
 * With a_t(j) = e_t(j) + log sum_i exp(a_(t-1)(i) + T_ij), all in logarithms:
 * a product of probabilities would be 0 where emissions or forbidden
 * transitions are far apart. Classes are on the lanes: j in the forward
 * recursion, which reads T by rows, i in the backward one, which reads T^T. One
 * exponential for each pair of classes, both ways.
 *
 * Each row of a (and of b, from the other end) is kept less its maximum, and the
 * maxima are summed in double. Otherwise the numbers of a long sequence, and
 * with them the error of everything that is left after subtracting them, would
 * grow with its length.
 *
 * -inf is a score like any other as long as some path is without it.
 */
#include "kernels/impl/math.h"
#include "kernels/rows.h"

#include <float.h>
#include <math.h>

/* y_l = log sum_k exp(x_k + m_kl) for the lanes l from `first`. m: count x
 * count. Unless NULL, terms_kl is exp(x_k + m_kl - maximum) and sum_l their sum. */
VEC_INLINE void crf_column(int64_t count, int64_t first, const float *x, const float *m, float *y, float *sum,
                           float *terms) {
    const int64_t left = count - first;
    vec highest = vec_set(-FLT_MAX); /* not -inf: its distance to -inf would be NaN, not -inf */
    for (int64_t k = 0; k < count; k++) {
        highest = vec_max(highest, vec_add(vec_set(x[k]), vec_load_up_to(m + k * count + first, left)));
    }
    vec total = vec_set(0.0f);
    for (int64_t k = 0; k < count; k++) {
        vec term = exp_below(vec_add(vec_set(x[k]), vec_load_up_to(m + k * count + first, left)), highest);
        if (terms) vec_store_up_to(terms + k * count + first, term, left);
        total = vec_add(total, term);
    }
    if (sum) vec_store_up_to(sum + first, total, left);
    vec_store_up_to(y + first, vec_add(highest, vec_logarithm(total)), left);
}

/* Takes the largest of x from all of them and returns it; 0 if it is -inf. */
VEC_INLINE float crf_less_maximum(int64_t count, float *x) {
    float maximum = row_maximum(count, x);
    if (maximum == -INFINITY) return 0.0f;
    for (int64_t c = 0; c < count; c++) x[c] -= maximum;
    return maximum;
}

static double crf_forward(const at_crf_sequence *s, float *work, float *alpha) {
    const int64_t classes = s->classes;
    double offset = 0.0;
    for (int64_t t = 0; t < s->rows; t++) {
        const float *emission = s->emissions + t * s->stride;
        float *row = alpha + t * classes;
        if (t == 0) {
            for (int64_t c = 0; c < classes; c++) row[c] = emission[c] + (s->start ? s->start[c] : 0.0f);
        } else {
            for (int64_t c = 0; c < classes; c += VEC_WIDTH) {
                crf_column(classes, c, row - classes, s->transitions, row, NULL, NULL);
            }
            for (int64_t c = 0; c < classes; c++) row[c] += emission[c];
        }
        offset += (double)crf_less_maximum(classes, row);
    }
    const float *last = alpha + (s->rows - 1) * classes;
    for (int64_t c = 0; c < classes; c++) work[c] = last[c] + (s->end ? s->end[c] : 0.0f);
    float maximum, total;
    exponential_sum(classes, work, &maximum, &total);
    logarithm(1, &total, &total);
    return offset + (double)maximum + (double)total;
}

/* y = softmax(a + b) */
VEC_INLINE void crf_softmax(int64_t count, const float *a, const float *b, float *y) {
    for (int64_t c = 0; c < count; c++) y[c] = a[c] + b[c];
    float maximum, sum;
    exponential_sum(count, y, &maximum, &sum);
    softmax_slope(count, NULL, maximum, 1.0f / sum, 0.0f, y, y);
}

/* With w_ij = exp(T_ij + e_t(j) + b_t(j) - m_i), which b_(t-1)(i) = m_i + log
 * sum_j w_ij needs anyway, p(y_(t-1) = i, y_t = j) = p(y_(t-1) = i) w_ij / sum_j w_ij. */
static void crf_backward(const at_crf_sequence *s, const float *alpha, float *work, float *marginals,
                         int64_t marginals_stride, float *expected) {
    const int64_t classes = s->classes;
    float *beta = work, *ahead = beta + classes, *sum = ahead + classes, *share = sum + classes;
    float *terms = share + classes;
    for (int64_t c = 0; c < classes; c++) beta[c] = s->end ? s->end[c] : 0.0f;
    for (int64_t t = s->rows - 1;; t--) {
        float *marginal = marginals + t * marginals_stride;
        crf_softmax(classes, alpha + t * classes, beta, marginal);
        if (t + 1 < s->rows && expected) {
            for (int64_t c = 0; c < classes; c++) share[c] = sum[c] > 0.0f ? marginal[c] / sum[c] : 0.0f;
            for (int64_t to = 0; to < classes; to++) {
                const float *term = terms + to * classes;
                float *count = expected + to * classes;
                for (int64_t from = 0; from < classes; from++) count[from] += term[from] * share[from];
            }
        }
        if (t == 0) return;
        for (int64_t c = 0; c < classes; c++) ahead[c] = s->emissions[t * s->stride + c] + beta[c];
        for (int64_t c = 0; c < classes; c += VEC_WIDTH) {
            crf_column(classes, c, ahead, s->transposed, beta, sum, expected ? terms : NULL);
        }
        crf_less_maximum(classes, beta);
    }
}

/* From the end: the score of the best way on from every row and class. Then a
 * walk from the start, which so takes the smallest class wherever several lead
 * to the best score. In double, where sums of f32 are all but exact: equal
 * scores stay equal, and a long sequence loses nothing. */
static void crf_best(const at_crf_sequence *s, double *work, int32_t *labels) {
    const int64_t classes = s->classes;
    for (int64_t t = s->rows - 1; t >= 0; t--) {
        double *row = work + t * classes, *after = row + classes;
        if (t + 1 == s->rows) {
            for (int64_t c = 0; c < classes; c++) row[c] = s->end ? (double)s->end[c] : 0.0;
        } else {
            for (int64_t c = 0; c < classes; c++) row[c] = -INFINITY;
            for (int64_t to = 0; to < classes; to++) {
                const float *transition = s->transposed + to * classes;
                const double on = after[to];
                for (int64_t c = 0; c < classes; c++) {
                    double score = (double)transition[c] + on;
                    row[c] = score > row[c] ? score : row[c];
                }
            }
        }
        for (int64_t c = 0; c < classes; c++) row[c] += (double)s->emissions[t * s->stride + c];
    }
    for (int64_t t = 0; t < s->rows; t++) {
        const float *step = t ? s->transitions + labels[t - 1] * classes : s->start;
        const double *row = work + t * classes;
        double best = -INFINITY;
        labels[t] = 0;
        for (int64_t c = 0; c < classes; c++) {
            double score = row[c] + (step ? (double)step[c] : 0.0);
            if (score > best) {
                best = score;
                labels[t] = (int32_t)c;
            }
        }
    }
}
