/* ctc.c: connectionist temporal classification, a sequence at a time.
 *
 * A path says a symbol or the blank at every row; without repetitions and then
 * without blanks it is the target. States are the places on such a path: blank,
 * first symbol, blank, second symbol, ..., blank. A path stays in its state,
 * goes to the next one, or over a blank between two different symbols:
 *
 *     a_t(s) = l_t(s) + log(exp a_(t-1)(s) + exp a_(t-1)(s - 1) + exp(a_(t-1)(s - 2) + skip(s)))
 *
 * with l_t(s) the log-probability of the state's symbol in row t, and skip 0 or
 * -inf. All in logarithms. They are kept in double, where the many rows of a
 * sequence and states far apart cost no digits; exponentials and logarithms are
 * of distances to a maximum, for which f32 is enough, states on the lanes.
 * States that are on no way from the start to the end are -inf.
 */
#include "kernels/impl/math.h"
#include "kernels/rows.h"

#include <float.h>
#include <math.h>

/* Where the states of row t begin and end that are on a way from the start to the end. */
VEC_INLINE void ctc_band(const at_ctc_sequence *s, int64_t t, int64_t *first, int64_t *end) {
    const int64_t states = at_ctc_states(s->length);
    *first = states - 2 * (s->rows - t);
    *end = 2 * (t + 1);
    if (*first < 0) *first = 0;
    if (*end > states) *end = states;
}

VEC_INLINE void ctc_clear(int64_t count, double *x) {
    for (int64_t i = 0; i < count; i++) x[i] = -INFINITY;
}

/* skip[i]: what leads to state i from the one before its blank; two more states that nothing leads to. */
VEC_INLINE void ctc_skips(const at_ctc_sequence *s, double *skip) {
    const int64_t states = at_ctc_states(s->length);
    ctc_clear(states + 2, skip);
    for (int64_t i = 1; i < s->length; i++) {
        if (s->target[i] != s->target[i - 1]) skip[2 * i + 1] = 0.0;
    }
}

/* y[i] += log-probability of state i, for the states from `first` to `end` - 1; normal: maximum and sum of
 * the row's exponentials. */
VEC_INLINE void ctc_add_row(const at_ctc_sequence *s, const float *row, const float *normal, int64_t first,
                            int64_t end, double *y) {
    float log_sum;
    logarithm(1, &normal[1], &log_sum);
    const double all = (double)normal[0] + (double)log_sum, blank = (double)row[s->blank] - all;
    for (int64_t i = first; i < end; i++) y[i] += i % 2 ? (double)row[s->target[i / 2]] - all : blank;
}

VEC_INLINE double ctc_larger(double a, double b) { return a > b ? a : b; }

/* y_i = log(exp x_i + exp before_i + exp(over_i + skip_i)), i < count. y is none of the others. */
VEC_INLINE void ctc_step(int64_t count, const double *x, const double *before, const double *over,
                         const double *skip, double *y) {
    enum { PART = 64 };
    float stay[PART], next[PART], jump[PART];
    for (int64_t first = 0; first < count;
         first += PART, x += PART, before += PART, over += PART, skip += PART, y += PART) {
        const int64_t part = count - first < PART ? count - first : PART;
        for (int64_t i = 0; i < part; i++) {
            const double far = over[i] + skip[i];
            /* not -inf: its distance to -inf would be NaN, not -inf */
            const double highest = ctc_larger(ctc_larger(x[i], -DBL_MAX), ctc_larger(before[i], far));
            stay[i] = (float)(x[i] - highest);
            next[i] = (float)(before[i] - highest);
            jump[i] = (float)(far - highest);
            y[i] = highest;
        }
        for (int64_t i = 0; i < part; i += VEC_WIDTH) {
            const vec zero = vec_set(0.0f);
            vec sum = vec_add(exp_below(vec_load_up_to(stay + i, part - i), zero),
                              exp_below(vec_load_up_to(next + i, part - i), zero));
            sum = vec_add(sum, exp_below(vec_load_up_to(jump + i, part - i), zero));
            vec_store_up_to(stay + i, vec_logarithm(sum), part - i);
        }
        for (int64_t i = 0; i < part; i++) y[i] += (double)stay[i];
    }
}

static double ctc_forward(const at_ctc_sequence *s, double *work, float *normal, double *alpha) {
    const int64_t states = at_ctc_states(s->length);
    double *skip = work, *last = skip + states + 2; /* 2 states before the first, which nothing leads from */
    ctc_skips(s, skip);
    for (int64_t t = 0; t < s->rows; t++) {
        const float *row = s->scores + t * s->stride;
        double *now = alpha + t * states;
        int64_t first, end;
        exponential_sum(s->symbols, row, &normal[2 * t], &normal[2 * t + 1]);
        ctc_band(s, t, &first, &end);
        ctc_clear(states, now);
        if (t == 0) {
            for (int64_t i = first; i < end; i++) now[i] = 0.0;
        } else {
            ctc_clear(2, last);
            for (int64_t i = 0; i < states; i++) last[i + 2] = now[i - states];
            ctc_step(end - first, last + 2 + first, last + 1 + first, last + first, skip + first,
                     now + first);
        }
        ctc_add_row(s, row, normal + 2 * t, first, end, now);
    }
    const double *row = alpha + (s->rows - 1) * states, none = -INFINITY;
    double sum;
    ctc_step(1, row + states - 1, states > 1 ? row + states - 2 : &none, &none, skip, &sum);
    return sum;
}

/* p_i = softmax(alpha + beta)_i */
VEC_INLINE void ctc_softmax(int64_t count, const double *alpha, const double *beta, float *p) {
    double highest = -DBL_MAX;
    float maximum, sum;
    for (int64_t i = 0; i < count; i++) highest = ctc_larger(alpha[i] + beta[i], highest);
    for (int64_t i = 0; i < count; i++) p[i] = (float)(alpha[i] + beta[i] - highest);
    exponential_sum(count, p, &maximum, &sum);
    softmax_slope(count, NULL, maximum, 1.0f / sum, 0.0f, p, p);
}

/* The softmax of a row less what the target expects of it: p(state at t) summed
 * by symbols. p is the softmax of a + b, where b has what follows row t. */
static void ctc_backward(const at_ctc_sequence *s, const float *normal, const double *alpha, double *work,
                         float *gradient, int64_t gradient_stride) {
    const int64_t states = at_ctc_states(s->length);
    double *skip = work, *beta = skip + states + 2, *ahead = beta + states + 2;
    float *p = (float *)(void *)(ahead + states + 2);
    ctc_skips(s, skip);
    for (int64_t i = 0; i < states; i++) beta[i] = i + 2 < states ? -INFINITY : 0.0;
    for (int64_t t = s->rows - 1; t >= 0; t--) {
        const float *row = s->scores + t * s->stride;
        float *into = gradient + t * gradient_stride, blank = 0.0f;
        int64_t first, end;
        ctc_band(s, t, &first, &end);
        softmax_slope(s->symbols, NULL, normal[2 * t], 1.0f / normal[2 * t + 1], 0.0f, row, into);
        ctc_softmax(end - first, alpha + t * states + first, beta + first, p + first);
        for (int64_t i = first; i < end; i++) {
            if (i % 2)
                into[s->target[i / 2]] -= p[i];
            else
                blank += p[i];
        }
        into[s->blank] -= blank;
        if (t == 0) return;
        ctc_clear(states + 2, ahead);
        for (int64_t i = first; i < end; i++) ahead[i] = beta[i];
        ctc_add_row(s, row, normal + 2 * t, first, end, ahead);
        ctc_band(s, t - 1, &first, &end);
        ctc_clear(states, beta);
        ctc_step(end - first, ahead + first, ahead + first + 1, ahead + first + 2, skip + first + 2,
                 beta + first);
    }
}
