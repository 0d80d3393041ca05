/* gemm.c: C = act(A B + bias), the product of the linear layers.
 *
 * B stands on the lanes, in panels of PANEL columns packed as [depth][PANEL];
 * A is read in its natural place, VEC_ROWS rows at a time. Depth is walked in
 * blocks, so that the strip of the panel in use stays in the L2 cache; the
 * chain of multiply-adds of an element goes on through memory, so the blocks
 * do not change a bit of the result.
 */
#include "kernels/impl/pack.h"
#include "kernels/impl/product.h"

#include "kernels/impl/activation.h"
#include "kernels/table.h"

enum {
    PANEL = VEC_COLUMNS * VEC_WIDTH,
    GEMM_DEPTH = 1536 /* depth of a block: a panel of this depth fits the L2 cache beside its rows of A */
};

static void gemm_pack(int64_t depth, int64_t columns, const float *b, int64_t b_row, int64_t b_step,
                      int64_t first, float *panel) {
    int used = (int)min64(PANEL, columns - first);
    const float *source = b + first * b_step;
    if (b_step == 1) {
        for (int64_t k = 0; k < depth; k++) {
            memcpy(panel + k * PANEL, source + k * b_row, (size_t)used * sizeof(float));
            for (int l = used; l < PANEL; l++) panel[k * PANEL + l] = 0.0f;
        }
        return;
    }
    if (b_row == 1 && depth <= INT32_MAX) { /* columns lie side by side: turn blocks in registers */
        for (int l = round_up(used, VEC_WIDTH); l < PANEL; l++) {
            for (int64_t k = 0; k < depth; k++) panel[k * PANEL + l] = 0.0f;
        }
        pack_transposed(used, (int)depth, source, b_step, 1.0f, panel, PANEL);
        return;
    }
    for (int64_t k = 0; k < depth; k++) {
        for (int l = 0; l < PANEL; l++)
            panel[k * PANEL + l] = l < used ? source[k * b_row + l * b_step] : 0.0f;
    }
}

static size_t gemm_scratch(const at_gemm *call) {
    return ((call->packed ? 0 : (size_t)GEMM_DEPTH * PANEL) + (size_t)VEC_ROWS * PANEL) * sizeof(float);
}

/* What comes after the sums: bias, the copy before the activation, the
 * activation, for `used` columns of one row. */
static void gemm_finish_row(const at_gemm *call, int64_t i, int64_t first, int used, const float *sums) {
    float *c = call->c + i * call->c_row + first;
    for (int l = 0; l < used; l += VEC_WIDTH) {
        int width = used - l < VEC_WIDTH ? used - l : VEC_WIDTH;
        vec x = width == VEC_WIDTH ? vec_load(sums + l) : vec_load_part(sums + l, width);
        if (call->bias)
            x = vec_add(x, width == VEC_WIDTH ? vec_load(call->bias + first + l)
                                              : vec_load_part(call->bias + first + l, width));
        if (call->pre_activation) {
            vec_store_part(call->pre_activation + i * call->pre_activation_row + first + l, x, width);
        }
        x = activate(call->activation, x);
        if (width == VEC_WIDTH) {
            vec_store(c + l, x);
        } else {
            vec_store_part(c + l, x, width);
        }
    }
}

static void gemm(const at_gemm *call, int64_t row, int64_t row_end, int64_t panel, void *memory) {
    float *edge = memory, *packed = edge + VEC_ROWS * PANEL;
    int64_t first = panel * PANEL;
    int used = (int)min64(PANEL, call->columns - first), lanes = round_up(used, VEC_WIDTH);
    int in_place = lanes == used; /* else whole vectors would write past the end of a row of C */
    int finish = call->bias || call->pre_activation || call->activation != ATTN_IDENTITY;
    for (int64_t k = 0; k < call->depth; k += GEMM_DEPTH) {
        int64_t depth = min64(GEMM_DEPTH, call->depth - k);
        int goes_on = k || call->adds;
        const float *b = packed;
        if (call->packed) {
            b = call->packed + (panel * call->depth + k) * PANEL;
        } else {
            gemm_pack(depth, call->columns, call->b + k * call->b_row, call->b_row, call->b_step, first,
                      packed);
        }
        for (int64_t i = row; i < row_end; i += VEC_ROWS) {
            int rows = (int)min64(VEC_ROWS, row_end - i);
            float *c = call->c + i * call->c_row + first;
            product_operands p = {.a = call->a + i * call->a_row + k * call->a_step,
                                  .a_row = call->a_row,
                                  .a_step = call->a_step,
                                  .b = b,
                                  .b_step = PANEL,
                                  .c = in_place ? c : edge,
                                  .c_row = in_place ? call->c_row : PANEL,
                                  .depth = (int)depth,
                                  .start = goes_on ? PRODUCT_ADD : PRODUCT_SET};
            if (!in_place && goes_on) pack_rows(rows, used, c, call->c_row, edge, PANEL);
            product(rows, lanes, &p);
            if (finish && k + depth == call->depth) {
                for (int r = 0; r < rows; r++) gemm_finish_row(call, i + r, first, used, p.c + r * p.c_row);
            } else if (!in_place) {
                for (int r = 0; r < rows; r++) {
                    memcpy(c + r * call->c_row, edge + r * PANEL, (size_t)used * sizeof(float));
                }
            }
        }
    }
}

static void column_sums(int64_t rows, int64_t columns, const float *x, int64_t row, float *sums) {
    for (int64_t c = 0; c < columns; c += VEC_WIDTH) {
        int width = (int)min64(VEC_WIDTH, columns - c);
        vec sum = vec_set(0.0f);
        if (width == VEC_WIDTH) {
            for (int64_t r = 0; r < rows; r++) sum = vec_add(sum, vec_load(x + r * row + c));
        } else {
            for (int64_t r = 0; r < rows; r++) sum = vec_add(sum, vec_load_part(x + r * row + c, width));
        }
        vec_store_part(sums + c, sum, width);
    }
}
