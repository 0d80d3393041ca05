/* recurrent.c: the cells of recurrent networks, hidden units on the lanes, and
 * what pools the rows of a sequence.
 *
 * A cell is one row of one step. Forward turns the u of its gates into what the
 * walk back needs, in place; backward turns that into the gradients of u, in
 * place again. The formulas are in attn/operations.h.
 */
#include "kernels/impl/activation.h"
#include "kernels/rows.h"

VEC_INLINE vec cell_one_minus(vec x) { return vec_sub(vec_set(1.0f), x); }

/* ---- h = tanh(u + r) ---- */

static void tanh_cell_forward(const at_cell *cell) {
    for (int64_t c = 0; c < cell->units; c += VEC_WIDTH) {
        int64_t left = cell->units - c;
        vec h = vec_tanh(
            vec_add(vec_load_up_to(cell->gates + c, left), vec_load_up_to(cell->recurrent + c, left)));
        vec_store_up_to(cell->h + c, h, left);
        vec_store_up_to(cell->state + c, h, left);
    }
}

static void tanh_cell_backward(const at_cell *cell) {
    for (int64_t c = 0; c < cell->units; c += VEC_WIDTH) {
        int64_t left = cell->units - c;
        vec h = vec_load_up_to(cell->h + c, left);
        vec dh = vec_add(vec_load_up_to(cell->dh + c, left), vec_load_up_to(cell->state + c, left));
        vec d = vec_mul(dh, cell_one_minus(vec_mul(h, h)));
        vec_store_up_to(cell->gates + c, d, left);
        vec_store_up_to(cell->recurrent + c, d, left);
    }
}

/* ---- GRU ---- */

static void gru_cell_forward(const at_cell *cell) {
    const int64_t hidden = cell->hidden;
    float *reset_gate = cell->gates, *update_gate = reset_gate + hidden, *new_gate = update_gate + hidden;
    const float *r = cell->recurrent;
    for (int64_t c = 0; c < cell->units; c += VEC_WIDTH) {
        int64_t left = cell->units - c;
        vec reset = vec_sigmoid(vec_add(vec_load_up_to(reset_gate + c, left), vec_load_up_to(r + c, left)));
        vec update =
            vec_sigmoid(vec_add(vec_load_up_to(update_gate + c, left), vec_load_up_to(r + hidden + c, left)));
        vec inner = vec_load_up_to(r + 2 * hidden + c, left);
        if (cell->bias) inner = vec_add(inner, vec_load_up_to(cell->bias + c, left));
        vec n = vec_tanh(vec_fma(reset, inner, vec_load_up_to(new_gate + c, left)));
        vec before = vec_load_up_to(cell->h_before + c, left);
        vec h = vec_fma(update, vec_sub(before, n), n);
        vec_store_up_to(reset_gate + c, reset, left);
        vec_store_up_to(update_gate + c, update, left);
        vec_store_up_to(new_gate + c, n, left);
        vec_store_up_to(cell->kept + c, inner, left);
        vec_store_up_to(cell->h + c, h, left);
        vec_store_up_to(cell->state + c, h, left);
    }
}

static void gru_cell_backward(const at_cell *cell) {
    const int64_t hidden = cell->hidden;
    float *reset_gate = cell->gates, *update_gate = reset_gate + hidden, *new_gate = update_gate + hidden;
    float *dr = cell->recurrent;
    for (int64_t c = 0; c < cell->units; c += VEC_WIDTH) {
        int64_t left = cell->units - c;
        vec reset = vec_load_up_to(reset_gate + c, left), update = vec_load_up_to(update_gate + c, left);
        vec n = vec_load_up_to(new_gate + c, left), inner = vec_load_up_to(cell->kept + c, left);
        vec before = vec_load_up_to(cell->h_before + c, left);
        vec dh = vec_add(vec_add(vec_load_up_to(cell->dh + c, left), vec_load_up_to(cell->state + c, left)),
                         vec_load_up_to(cell->carry + c, left));
        vec d_update = vec_mul(vec_mul(dh, vec_sub(before, n)), vec_mul(update, cell_one_minus(update)));
        vec d_new = vec_mul(vec_mul(dh, cell_one_minus(update)), cell_one_minus(vec_mul(n, n)));
        vec d_reset = vec_mul(vec_mul(d_new, inner), vec_mul(reset, cell_one_minus(reset)));
        vec d_inner = vec_mul(d_new, reset);
        vec_store_up_to(reset_gate + c, d_reset, left);
        vec_store_up_to(update_gate + c, d_update, left);
        vec_store_up_to(new_gate + c, d_new, left);
        vec_store_up_to(cell->kept + c, d_inner, left);
        vec_store_up_to(dr + c, d_reset, left);
        vec_store_up_to(dr + hidden + c, d_update, left);
        vec_store_up_to(dr + 2 * hidden + c, d_inner, left);
        vec_store_up_to(cell->carry + c, vec_mul(dh, update), left);
    }
}

/* ---- LSTM ---- */

static void lstm_cell_forward(const at_cell *cell) {
    const int64_t hidden = cell->hidden;
    float *gates = cell->gates;
    const float *r = cell->recurrent;
    for (int64_t c = 0; c < cell->units; c += VEC_WIDTH) {
        int64_t left = cell->units - c;
        vec sum[4];
        UNROLL for (int g = 0; g < 4; g++) {
            sum[g] = vec_add(vec_load_up_to(gates + g * hidden + c, left),
                             vec_load_up_to(r + g * hidden + c, left));
        }
        vec input = vec_sigmoid(sum[0]), forget = vec_sigmoid(sum[1]);
        vec candidate = vec_tanh(sum[2]), output = vec_sigmoid(sum[3]);
        vec inside = vec_fma(forget, vec_load_up_to(cell->kept_before + c, left), vec_mul(input, candidate));
        vec h = vec_mul(output, vec_tanh(inside));
        vec_store_up_to(gates + c, input, left);
        vec_store_up_to(gates + hidden + c, forget, left);
        vec_store_up_to(gates + 2 * hidden + c, candidate, left);
        vec_store_up_to(gates + 3 * hidden + c, output, left);
        vec_store_up_to(cell->kept + c, inside, left);
        vec_store_up_to(cell->h + c, h, left);
        vec_store_up_to(cell->state + c, h, left);
    }
}

static void lstm_cell_backward(const at_cell *cell) {
    const int64_t hidden = cell->hidden;
    float *gates = cell->gates;
    for (int64_t c = 0; c < cell->units; c += VEC_WIDTH) {
        int64_t left = cell->units - c;
        vec input = vec_load_up_to(gates + c, left), forget = vec_load_up_to(gates + hidden + c, left);
        vec candidate = vec_load_up_to(gates + 2 * hidden + c, left);
        vec output = vec_load_up_to(gates + 3 * hidden + c, left);
        vec t = vec_tanh(vec_load_up_to(cell->kept + c, left));
        vec dh = vec_add(vec_load_up_to(cell->dh + c, left), vec_load_up_to(cell->state + c, left));
        vec inside = vec_fma(vec_mul(dh, output), cell_one_minus(vec_mul(t, t)),
                             vec_load_up_to(cell->carry + c, left));
        vec d[4];
        d[0] = vec_mul(vec_mul(inside, candidate), vec_mul(input, cell_one_minus(input)));
        d[1] = vec_mul(vec_mul(inside, vec_load_up_to(cell->kept_before + c, left)),
                       vec_mul(forget, cell_one_minus(forget)));
        d[2] = vec_mul(vec_mul(inside, input), cell_one_minus(vec_mul(candidate, candidate)));
        d[3] = vec_mul(vec_mul(dh, t), vec_mul(output, cell_one_minus(output)));
        UNROLL for (int g = 0; g < 4; g++) {
            vec_store_up_to(gates + g * hidden + c, d[g], left);
            vec_store_up_to(cell->recurrent + g * hidden + c, d[g], left);
        }
        vec_store_up_to(cell->carry + c, vec_mul(inside, forget), left);
    }
}

/* ---- pooling ---- */

/* Plain loops, which become blends: NaN wins over every number, the first over
 * those after it. */
static void pool_maximum(int64_t rows, int64_t columns, const float *x, int64_t stride, float *y,
                         int32_t *at) {
    for (int64_t c = 0; c < columns; c++) {
        y[c] = x[c];
        at[c] = 0;
    }
    for (int64_t i = 1; i < rows; i++) {
        const float *row = x + i * stride;
        for (int64_t c = 0; c < columns; c++) {
            int larger = !(row[c] <= y[c]) & (y[c] == y[c]);
            y[c] = larger ? row[c] : y[c];
            at[c] = larger ? (int32_t)i : at[c];
        }
    }
}

static void pool_weighted_sum(int64_t rows, int64_t columns, const float *weights, const float *x,
                              int64_t stride, float *y) {
    int64_t c = 0;
    for (; c + 4 * VEC_WIDTH <= columns; c += 4 * VEC_WIDTH) {
        vec sum[4] = {vec_set(0.0f), vec_set(0.0f), vec_set(0.0f), vec_set(0.0f)};
        for (int64_t i = 0; i < rows; i++) {
            const vec weight = vec_set(weights[i]);
            UNROLL for (int v = 0; v < 4; v++) {
                sum[v] = vec_fma(weight, vec_load(x + i * stride + c + v * VEC_WIDTH), sum[v]);
            }
        }
        UNROLL for (int v = 0; v < 4; v++) vec_store(y + c + v * VEC_WIDTH, sum[v]);
    }
    for (; c < columns; c += VEC_WIDTH) {
        vec sum = vec_set(0.0f);
        for (int64_t i = 0; i < rows; i++) {
            sum = vec_fma(vec_set(weights[i]), vec_load_up_to(x + i * stride + c, columns - c), sum);
        }
        vec_store_up_to(y + c, sum, columns - c);
    }
}

static void pool_dots(int64_t rows, int64_t columns, const float *a, const float *x, int64_t stride,
                      float *y) {
    for (int64_t i = 0; i < rows; i++) {
        vec sum[2] = {vec_set(0.0f), vec_set(0.0f)};
        int64_t c = 0;
        for (; c + 2 * VEC_WIDTH <= columns; c += 2 * VEC_WIDTH) {
            UNROLL for (int v = 0; v < 2; v++) {
                sum[v] = vec_fma(vec_load(a + c + v * VEC_WIDTH),
                                 vec_load(x + i * stride + c + v * VEC_WIDTH), sum[v]);
            }
        }
        for (; c < columns; c += VEC_WIDTH) {
            sum[0] = vec_fma(vec_load_up_to(a + c, columns - c),
                             vec_load_up_to(x + i * stride + c, columns - c), sum[0]);
        }
        y[i] = vec_sum(vec_add(sum[0], sum[1]));
    }
}
