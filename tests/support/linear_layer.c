/* linear_layer.c: one linear layer with all its matrices, and its check. */
#include "support/linear_layer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/reference.h"
#include "support/check.h"
#include "support/contexts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

matrix matrix_create(memory_kind kind, int64_t rows, int64_t columns, int64_t gap) {
    matrix m = {.rows = rows, .columns = columns};
    int64_t elements = rows > 0 ? (rows - 1) * (columns + gap) + columns : 0;
    m.memory = memory_create(kind, (size_t)elements * sizeof(float));
    m.view = attn_tensor_matrix(m.memory.data, rows, columns);
    m.view.stride[0] = columns + gap;
    m.exact = calloc((size_t)(rows * columns) + 1, sizeof(double));
    assert_non_null(m.exact);
    for (int64_t e = 0; e < elements; e++) ((float *)m.memory.data)[e] = MATRIX_CANARY;
    return m;
}

float *matrix_at(const matrix *m, int64_t r, int64_t c) {
    return (float *)m->view.data + r * m->view.stride[0] + c * m->view.stride[1];
}

void matrix_fill(matrix *m, test_random *random, float amplitude) {
    for (int64_t r = 0; r < m->rows; r++) {
        for (int64_t c = 0; c < m->columns; c++) {
            *matrix_at(m, r, c) = amplitude * random_normal(random);
            m->exact[r * m->columns + c] = (double)*matrix_at(m, r, c);
        }
    }
}

void matrix_destroy(matrix *m) {
    memory_destroy(&m->memory);
    free(m->exact);
}

bool matrix_same_bits(const matrix *a, const matrix *b, int64_t rows) {
    for (int64_t r = 0; r < rows; r++)
        if (memcmp(matrix_at(a, r, 0), matrix_at(b, r, 0), (size_t)a->columns * sizeof(float)) != 0)
            return false;
    return true;
}

void assert_gaps_untouched(const matrix *m) {
    const float *memory = m->memory.data;
    for (int64_t e = 0; e < (int64_t)(m->memory.bytes / sizeof(float)); e++)
        if (e % m->view.stride[0] >= m->columns) assert_true(memory[e] == MATRIX_CANARY);
}

/* A result against the oracle's (in m->exact). */
static void assert_matrix_close(const char *what, const char *isa, const matrix *m, const double *naive,
                                const double *rounding) {
    double error = 0.0, naive_error = 0.0, most = 0.0;
    for (int64_t r = 0; r < m->rows; r++) {
        for (int64_t c = 0; c < m->columns; c++) {
            int64_t e = r * m->columns + c;
            if (!isfinite(*matrix_at(m, r, c)))
                fail_msg("%s: %s(%d, %d) is not finite", isa, what, (int)r, (int)c);
            error = fmax(error, fabs((double)*matrix_at(m, r, c) - m->exact[e]));
            naive_error = fmax(naive_error, fabs(naive[e] - m->exact[e]));
            most = fmax(most, rounding[e]);
        }
    }
    double allowed = 4.0 * naive_error + 2.0 * ldexp(most, -24) + (double)FLT_MIN;
    if (error > allowed)
        fail_msg("%s: %s (%d x %d) is off by %.3g; naive code by %.3g, allowed is %.3g", isa, what,
                 (int)m->rows, (int)m->columns, error, naive_error, allowed);
    assert_gaps_untouched(m);
}

layer *layer_create(int64_t rows, int64_t in, int64_t out, attn_activation activation, memory_kind kind,
                    uint64_t seed) {
    layer *l = calloc(1, sizeof(*l));
    assert_non_null(l);
    test_random random = {seed * 2 + 1};
    l->rows = rows;
    l->in = in;
    l->out = out;
    l->activation = activation;
    l->with_bias = seed % 3 != 0;
    int64_t gap = kind == MEMORY_PLAIN ? (int64_t)(seed % 2) * 3 : 0;
    l->x = matrix_create(kind, rows, in, gap);
    l->w = matrix_create(kind, out, in, gap);
    l->b = matrix_create(kind, 1, out, 0);
    l->y = matrix_create(kind, rows, out, gap);
    l->pre = matrix_create(kind, rows, out, gap);
    l->dy = matrix_create(kind, rows, out, gap);
    l->dx = matrix_create(kind, rows, in, gap);
    l->dw = matrix_create(kind, out, in, gap);
    l->db = matrix_create(kind, 1, out, 0);
    matrix_fill(&l->x, &random, 1.0f);
    matrix_fill(&l->w, &random, 2.0f / sqrtf((float)in));
    matrix_fill(&l->b, &random, 1.0f);
    matrix_fill(&l->dy, &random, 1.0f);
    l->bias = attn_tensor_view(l->b.memory.data, 1, &out);
    l->d_bias = attn_tensor_view(l->db.memory.data, 1, &out);
    return l;
}

void layer_destroy(layer *l) {
    matrix *all[] = {&l->x, &l->w, &l->b, &l->y, &l->pre, &l->dy, &l->dx, &l->dw, &l->db};
    for (size_t k = 0; k < COUNT(all); k++) matrix_destroy(all[k]);
    free(l->packed_memory[0]);
    free(l->packed_memory[1]);
    free(l);
}

void layer_pack(attn_context *context, layer *l) {
    for (int t = 0; t < 2; t++) {
        size_t bytes = 0;
        assert_int_equal(attn_weight_packed_size(context, l->out, l->in, &bytes), ATTN_OK);
        free(l->packed_memory[t]);
        l->packed_memory[t] = aligned_alloc(64, (bytes + 63) / 64 * 64);
        assert_non_null(l->packed_memory[t]);
        assert_int_equal(attn_weight_pack(context, &l->w.view, t, l->packed_memory[t], bytes, &l->packed[t]),
                         ATTN_OK);
        assert_true(l->packed[t].in == l->in && l->packed[t].out == l->out && l->packed[t].transposed == t);
        assert_string_equal(l->packed[t].isa, attn_context_isa(context));
    }
}

void layer_run(attn_context *context, layer *l) {
    attn_status status =
        attn_matmul_forward(context, &l->x.view, &l->packed[0], l->with_bias ? &l->bias : NULL, l->activation,
                            &l->y.view, &l->pre.view);
    if (status != ATTN_OK) fail_msg("forward: %s", attn_context_error(context));
    status = attn_matmul_backward(context, &l->dy.view, &l->pre.view, l->activation, &l->x.view,
                                  &l->packed[1], &l->dx.view, &l->dw.view, &l->d_bias);
    if (status != ATTN_OK) fail_msg("backward: %s", attn_context_error(context));
}

/* Naive results in float, and roundings, of all five results. */
typedef struct naive_layer {
    double *value[5], *rounding[5];
} naive_layer;
enum { Y, PRE, DX, DW, DB };

static void add(naive_layer *n, int k, int64_t e, float term, double rounding) {
    n->value[k][e] = (double)((float)n->value[k][e] + term);
    n->rounding[k][e] += rounding * rounding + n->value[k][e] * n->value[k][e];
}

static float naive_activation(attn_activation activation, float x) {
    switch (activation) {
    case ATTN_RELU: return x > 0.0f ? x : 0.0f;
    case ATTN_GELU: return 0.5f * x * (1.0f + erff(x * 0.70710678f));
    case ATTN_GELU_TANH: return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case ATTN_SILU: return x / (1.0f + expf(-x));
    case ATTN_TANH: return tanhf(x);
    case ATTN_SIGMOID: return 1.0f / (1.0f + expf(-x));
    case ATTN_ELU: return x > 0.0f ? x : expm1f(x);
    default: return x;
    }
}

/* The slope at a float is taken from the oracle and rounded: its own error is
 * counted in the rounding below. */
static void naive_backward(const layer *l, naive_layer *n) {
    for (int64_t r = 0; r < l->rows; r++) {
        for (int64_t o = 0; o < l->out; o++) {
            double pre = n->value[PRE][r * l->out + o], pre_rounding = n->rounding[PRE][r * l->out + o];
            float slope = (float)ref_activation_slope(l->activation, pre);
            float dy = *matrix_at(&l->dy, r, o), g = dy * slope;
            double error = fabs((double)dy) * (l->activation == ATTN_IDENTITY ? 0.0 : 1.0 + pre_rounding);
            error += fabs((double)g);
            add(n, DB, o, g, error);
            for (int64_t c = 0; c < l->in; c++) {
                double x = (double)*matrix_at(&l->x, r, c), w = (double)*matrix_at(&l->w, o, c);
                add(n, DX, r * l->in + c, g * (float)w, error * w);
                add(n, DW, o * l->in + c, g * (float)x, error * x);
            }
        }
    }
}

static void naive_forward(const layer *l, naive_layer *n) {
    for (int64_t r = 0; r < l->rows; r++) {
        for (int64_t o = 0; o < l->out; o++) {
            int64_t e = r * l->out + o;
            float bias = l->with_bias ? *matrix_at(&l->b, 0, o) : 0.0f;
            n->value[PRE][e] = (double)bias;
            n->rounding[PRE][e] = (double)bias * (double)bias;
            for (int64_t c = 0; c < l->in; c++) {
                float term = *matrix_at(&l->x, r, c) * *matrix_at(&l->w, o, c);
                add(n, PRE, e, term, (double)term);
            }
            n->rounding[PRE][e] = sqrt(n->rounding[PRE][e]);
            n->value[Y][e] = (double)naive_activation(l->activation, (float)n->value[PRE][e]);
            n->rounding[Y][e] = n->rounding[PRE][e] + fabs(n->value[Y][e]);
        }
    }
}

static naive_layer naive_create(const layer *l) {
    naive_layer n;
    int64_t counts[5] = {l->rows * l->out, l->rows * l->out, l->rows * l->in, l->out * l->in, l->out};
    for (int k = 0; k < 5; k++) {
        n.value[k] = calloc((size_t)counts[k] + 1, sizeof(double));
        n.rounding[k] = calloc((size_t)counts[k] + 1, sizeof(double));
        assert_true(n.value[k] && n.rounding[k]);
    }
    naive_forward(l, &n);
    naive_backward(l, &n);
    for (int k = DX; k <= DB; k++)
        for (int64_t e = 0; e < counts[k]; e++) n.rounding[k][e] = sqrt(n.rounding[k][e]);
    return n;
}

static void naive_destroy(naive_layer *n) {
    for (int k = 0; k < 5; k++) {
        free(n->value[k]);
        free(n->rounding[k]);
    }
}

void layer_check(layer *l) {
    naive_layer n = naive_create(l);
    ref_linear_forward(l->rows, l->in, l->out, l->x.exact, l->w.exact, l->with_bias ? l->b.exact : NULL,
                       l->activation, l->y.exact, l->pre.exact);
    ref_linear_backward(l->rows, l->in, l->out, l->dy.exact, l->pre.exact, l->activation, l->x.exact,
                        l->w.exact, l->dx.exact, l->dw.exact, l->db.exact);
    for (int isa = 0; isa < TEST_ISAS; isa++) {
        attn_context *context = test_context(isa, 1 + (int)(l->rows % 2));
        if (!context) continue;
        layer_pack(context, l);
        layer_run(context, l);
        assert_matrix_close("pre_activation", test_isa_names[isa], &l->pre, n.value[PRE], n.rounding[PRE]);
        assert_matrix_close("output", test_isa_names[isa], &l->y, n.value[Y], n.rounding[Y]);
        assert_matrix_close("d_input", test_isa_names[isa], &l->dx, n.value[DX], n.rounding[DX]);
        assert_matrix_close("d_weight", test_isa_names[isa], &l->dw, n.value[DW], n.rounding[DW]);
        assert_matrix_close("d_bias", test_isa_names[isa], &l->db, n.value[DB], n.rounding[DB]);
    }
    naive_destroy(&n);
}
