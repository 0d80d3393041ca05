/* gemm.c: C = act(bias + A B), the product of the linear layers.
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

/* A call of product() computes up to GEMM_ROWS rows: what it costs to begin is a tenth of a tile of depth 64.
 */
enum { PANEL = VEC_COLUMNS * VEC_WIDTH, GEMM_ROWS = GEMM_TILES * VEC_ROWS };

static void gemm_pack(int64_t depth, int64_t columns, const float *b, int64_t b_row, int64_t b_step,
                      int64_t first, float *panel) {
    int used = (int)min64(PANEL, columns - first);
    const float *source = b + first * b_step;
    if (b_step == 1 && used == PANEL) {
        for (int64_t k = 0; k < depth; k++)
            memcpy(panel + k * PANEL, source + k * b_row, PANEL * sizeof(float));
        return;
    }
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
    return ((call->packed ? 0 : (size_t)AT_GEMM_DEPTH * PANEL) + (size_t)GEMM_ROWS * PANEL) * sizeof(float);
}

/* How deep a block is. A factor may stand in C, which the first block of several would write over. */
static int64_t gemm_block(const at_gemm *call) {
    if (GEMM_DEPTH == AT_GEMM_DEPTH || call->factor || call->depth <= GEMM_DEPTH) return AT_GEMM_DEPTH;
    int64_t blocks = (call->depth + GEMM_DEPTH - 1) / GEMM_DEPTH; /* of equal depth, none too short to pay */
    return (call->depth + blocks - 1) / blocks;
}

/* What comes after the sums of a tile: the copy before the activation, the activation, the factor. */
VEC_INLINE void finish_with(attn_activation activation, const at_gemm *call, int64_t row, int rows,
                            int64_t first, int used, const float *sums) {
    for (int r = 0; r < rows; r++) {
        const int64_t i = row + r;
        float *c = call->c + i * call->c_row + first;
        float *pre =
            call->pre_activation ? call->pre_activation + i * call->pre_activation_row + first : NULL;
        const float *factor = call->factor ? call->factor + i * call->factor_row + first : NULL;
        for (int l = 0; l < used; l += VEC_WIDTH) {
            int left = used - l;
            vec x = vec_load(sums + r * PANEL + l);
            if (pre) vec_store_up_to(pre + l, x, left);
            x = activate(activation, x);
            if (factor) x = vec_mul(x, vec_load_up_to(factor + l, left));
            vec_store_up_to(c + l, x, left);
        }
    }
}
static void finish_tile(const at_gemm *call, int64_t row, int rows, int64_t first, int used,
                        const float *sums) {
    FOR_ACTIVATION(call->activation, finish_with, call, row, rows, first, used, sums);
}

/* The rows of the next call of product(), of so many that are left: what is left for the last is no small
 * tile. */
static inline int rows_of_call(int64_t left) {
    if (GEMM_TILES == 1) return tile_rows(left);
    if (left <= GEMM_ROWS) return (int)left;
    return left >= GEMM_ROWS + VEC_LEAST_ROWS ? GEMM_ROWS : GEMM_ROWS - VEC_ROWS;
}

static void gemm(const at_gemm *call, int64_t row, int64_t row_end, int64_t panel, void *memory) {
    float *edge = memory, *packed = edge + GEMM_ROWS * PANEL;
    int64_t first = panel * PANEL;
    int used = (int)min64(PANEL, call->columns - first), lanes = round_up(used, VEC_WIDTH);
    int finish = call->pre_activation || call->factor || call->activation != ATTN_IDENTITY;
    const float *bias = call->bias ? call->bias + first : NULL;
    float padded[PANEL];
    if (bias && lanes != used) { /* whole vectors would be read past its end */
        pack_rows(1, used, bias, 0, padded, PANEL);
        bias = padded;
    }
    /* Else by way of `edge`: whole vectors would write past the end of a row of C; and what is not
     * finished is better read again from there than from rows that compete for the same cache sets. */
    int in_place = lanes == used && !finish;
    const int64_t block = gemm_block(call);
    for (int64_t k = 0; k < call->depth; k += block) {
        int64_t depth = min64(block, call->depth - k);
        int goes_on = k || call->adds;
        const float *b = packed;
        int64_t b_step = PANEL;
        if (call->packed) {
            b = call->packed + (panel * call->depth + k) * PANEL;
        } else if (call->in_place && lanes == used) {
            b = call->b + k * call->b_row + first;
            b_step = call->b_row;
        } else {
            gemm_pack(depth, call->columns, call->b + k * call->b_row, call->b_row, call->b_step, first,
                      packed);
        }
        int64_t panels = (call->columns + PANEL - 1) / PANEL; /* after this block of B comes the next one */
        int64_t behind =
            call->packed ? (panels * call->depth * PANEL - (b + depth * PANEL - call->packed)) : 0;
        product_ahead b_next =
            ahead_of(b + depth * PANEL, 0, behind > 0, (int)min64(behind, block * PANEL), NULL);
        int rows;
        for (int64_t i = row; i < row_end; i += rows) {
            rows = rows_of_call(row_end - i);
            float *c = call->c + i * call->c_row + first;
            product_ahead c_lines = ahead_of(c, call->c_row, rows, used, &b_next);
            product_operands p = {.a = call->a + i * call->a_row + k * call->a_step,
                                  .a_row = call->a_row,
                                  .a_step = call->a_step,
                                  .b = b,
                                  .b_step = b_step,
                                  .c = in_place ? c : edge,
                                  .c_row = in_place ? call->c_row : PANEL,
                                  .depth = (int)depth,
                                  .start = goes_on ? PRODUCT_ADD
                                           : bias  ? PRODUCT_BIAS
                                                   : PRODUCT_SET,
                                  .per_lane = bias,
                                  .ahead = GEMM_AHEAD ? &c_lines : NULL};
            if (!in_place && goes_on) pack_rows(rows, used, c, call->c_row, edge, PANEL);
            product_written written[2] = {{.rows = NULL}, {.rows = NULL}};
            if (!GEMM_AHEAD) {
                written[0] = (product_written){c, call->c_row, used};
                if (call->pre_activation)
                    written[1] =
                        (product_written){call->pre_activation + i * call->pre_activation_row + first,
                                          call->pre_activation_row, used};
                p.written = written;
            }
            product(rows, lanes, &p);
            if (finish && k + depth == call->depth) {
                finish_tile(call, i, rows, first, used, edge);
            } else if (!in_place) {
                for (int r = 0; r < rows; r++) {
                    memcpy(c + r * call->c_row, edge + r * PANEL, (size_t)used * sizeof(float));
                }
            }
        }
    }
}

/* ---- strips ---- */

enum {
    STRIP_ROWS = 128 / VEC_ROWS * VEC_ROWS,
    STRIP_DEPTH = 512,
    STRIP_TILE = STRIP_DEPTH * VEC_ROWS + VEC_WIDTH /* of VEC_ROWS rows; not a multiple of the cache's ways */
};

/* The first row of a tile of a strip. */
static inline int strip_row(int tile, int rows) {
    if (!VEC_EVEN_ROWS) return tile * VEC_ROWS;
    int tiles = (rows + VEC_ROWS - 1) / VEC_ROWS;
    return tile * (rows / tiles) + (tile < rows % tiles ? tile : rows % tiles);
}

/* How many tiles a call of product() computes from this one on: only whole ones lie at equal distances, and
 * only those that are written in their place need no room. */
static inline int tiles_of_call(int tile, int rows, int in_place) {
    int tiles = (rows + VEC_ROWS - 1) / VEC_ROWS;
    int whole =
        VEC_EVEN_ROWS ? rows - tiles * (VEC_ROWS - 1) : rows / VEC_ROWS; /* of VEC_ROWS rows, the first */
    return GEMM_TILES == 1 || !in_place || whole <= tile ? 1 : whole - tile;
}

typedef struct gemm_strip_memory {
    float edge[VEC_ROWS * PANEL];
    float tiles[STRIP_ROWS / VEC_ROWS * STRIP_TILE]; /* [tile][depth][VEC_ROWS] */
} gemm_strip_memory;

/* The rows of a strip, tile by tile. */
static void pack_strip(const at_gemm *call, int64_t row, int rows, int64_t k, int depth, float *tiles) {
    const int whole = call->a_row == 1 ? rows / VEC_ROWS : 0;
    for (int d = 0; d < depth; d++) {
        const float *a = call->a + row * call->a_row + (k + d) * call->a_step;
        for (int t = 0; t < whole; t++) { /* of a tile with a row less the last number is not used */
            memcpy(tiles + t * STRIP_TILE + d * VEC_ROWS, a + strip_row(t, rows), VEC_ROWS * sizeof(float));
        }
        for (int t = whole; strip_row(t, rows) < rows; t++) {
            const int first = strip_row(t, rows), used = (int)min64(strip_row(t + 1, rows), rows) - first;
            for (int r = 0; r < used; r++) {
                tiles[t * STRIP_TILE + d * VEC_ROWS + r] = a[(first + r) * call->a_row];
            }
        }
    }
}

static void add_strip_sums(const at_gemm *call, int64_t row, int rows, int64_t k, int depth, float *sums) {
    for (int d = 0; d < depth; d++) {
        const float *a = call->a + row * call->a_row + (k + d) * call->a_step;
        if (call->a_row == 1) {
            for (int r = 0; r < rows; r++) sums[r] += a[r];
        } else {
            for (int r = 0; r < rows; r++) sums[r] += a[r * call->a_row];
        }
    }
}

/* Whether the rows of A are read where they stand. Rows further apart compete for the same cache sets. */
static inline int strip_stays(const at_gemm *call) {
    return call->a_row == 1 && call->a_step <= GEMM_STRIP_STEP && call->columns % VEC_WIDTH == 0;
}

/* Its product with a block of B, panel by panel. */
static void multiply_strip(const at_gemm *call, int64_t row, int rows, int64_t k, int depth, int goes_on) {
    for (int64_t first = 0; first < call->columns; first += PANEL) {
        const float *b =
            call->packed ? call->packed + first * call->depth + k * PANEL : call->b + k * call->b_row + first;
        product_operands p = {.a = call->a + row * call->a_row + k * call->a_step,
                              .a_row = call->a_row,
                              .a_step = call->a_step,
                              .b = b,
                              .b_step = call->packed ? PANEL : call->b_row,
                              .c = call->c + row * call->c_row + first,
                              .c_row = call->c_row,
                              .depth = depth,
                              .start = goes_on ? PRODUCT_ADD : PRODUCT_SET};
        product(rows, (int)min64(call->columns - first, PANEL), &p);
    }
}

static void gemm_strip(const at_gemm *call, int64_t row, int64_t row_end, float *a_sums, void *memory) {
    gemm_strip_memory *m = memory;
    const int rows = (int)(row_end - row);
    if (a_sums && !call->adds) memset(a_sums + row, 0, (size_t)rows * sizeof(float));
    const int64_t blocks =
        (call->depth + STRIP_DEPTH - 1) / STRIP_DEPTH; /* of equal depth, none too short to pay */
    const int64_t block = blocks ? (call->depth + blocks - 1) / blocks : 0;
    for (int64_t k = 0; k < call->depth; k += block) {
        int depth = (int)min64(block, call->depth - k), goes_on = k || call->adds;
        if (a_sums) add_strip_sums(call, row, rows, k, depth, a_sums + row);
        if (strip_stays(call)) {
            multiply_strip(call, row, rows, k, depth, goes_on);
            continue;
        }
        pack_strip(call, row, rows, k, depth, m->tiles);
        for (int64_t first = 0; first < call->columns; first += PANEL) {
            int used = (int)min64(PANEL, call->columns - first), lanes = round_up(used, VEC_WIDTH);
            const float *b = call->packed ? call->packed + first * call->depth + k * PANEL
                                          : call->b + k * call->b_row + first;
            for (int t = 0, r; (r = strip_row(t, rows)) < rows; t += tiles_of_call(t, rows, lanes == used)) {
                int end = t + tiles_of_call(t, rows, lanes == used);
                int used_rows = (int)min64(strip_row(end, rows), rows) - r;
                float *c = call->c + (row + r) * call->c_row + first;
                product_ahead c_lines = ahead_of(c, call->c_row, used_rows, used, NULL);
                product_operands p = {.a = m->tiles + t * STRIP_TILE,
                                      .a_row = 1,
                                      .a_step = VEC_ROWS,
                                      .a_tile = STRIP_TILE,
                                      .b = b,
                                      .b_step = call->packed ? PANEL : call->b_row,
                                      .c = lanes == used ? c : m->edge,
                                      .c_row = lanes == used ? call->c_row : PANEL,
                                      .depth = depth,
                                      .start = goes_on ? PRODUCT_ADD : PRODUCT_SET,
                                      .ahead = GEMM_AHEAD ? &c_lines : NULL};
                product_written written[2] = {{c, call->c_row, used}, {.rows = NULL}};
                if (!GEMM_AHEAD) p.written = written;
                if (lanes != used && goes_on) pack_rows(used_rows, used, c, call->c_row, m->edge, PANEL);
                product(used_rows, lanes, &p);
                for (int i = 0; lanes != used && i < used_rows; i++) {
                    memcpy(c + i * call->c_row, m->edge + i * PANEL, (size_t)used * sizeof(float));
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
