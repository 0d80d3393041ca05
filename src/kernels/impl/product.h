/* product.h: the register-blocked product that everything dense is made of.
 *
 *     C[r][l]  =  (0 | C[r][l] | rescale[l] * C[r][l])  +  sum_k A[r, k] * B[k][l]
 *
 * A is read one number at a time and broadcast, from wherever it lies:
 * A[r, k] = a[r * a_row + k * a_step]. B and C have their lanes side by side:
 * B[k][l] = b[k * b_step + l], C[r][l] = c[r * c_row + l].
 *
 * So a matrix in its natural row-major place serves as A directly (a_row = its
 * row stride, a_step = 1) and so does its transpose (a_row = 1, a_step = its
 * row stride); only what stands on the lanes must be laid out for it. Every
 * element is one chain of multiply-adds over k in order, whatever the tile it
 * falls in: a row's result does not depend on its neighbours.
 */
#ifndef AT_KERNELS_IMPL_PRODUCT_H
#define AT_KERNELS_IMPL_PRODUCT_H

#include <stddef.h>

#include "kernels/vec/vec.h"

typedef enum product_start { PRODUCT_SET, PRODUCT_ADD, PRODUCT_RESCALE } product_start;

typedef struct product_operands {
    const float *a;
    ptrdiff_t a_row, a_step;
    const float *b;
    ptrdiff_t b_step;
    float *c;
    ptrdiff_t c_row;
    int depth;
    product_start start;
    const float *rescale; /* [lanes], for PRODUCT_RESCALE */
} product_operands;

/* One tile of `rows` x `columns` vectors; both are constants where this is
 * inlined, so that the accumulators are registers. */
VEC_INLINE void product_tile(const int rows, const int columns, const product_operands *p) {
    const float *a = p->a, *b = p->b;
    float *c = p->c;
    const ptrdiff_t a_row = p->a_row, a_step = p->a_step, b_step = p->b_step, c_row = p->c_row;
    vec sum[VEC_ROWS][VEC_COLUMNS];
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int l = 0; l < columns; l++) sum[r][l] = vec_set(0.0f);
    }
    if (p->start != PRODUCT_SET) {
        const float *from = c;
        UNROLL for (int r = 0; r < rows; r++) {
            UNROLL for (int l = 0; l < columns; l++) sum[r][l] = vec_load(from + l * VEC_WIDTH);
            from += c_row;
        }
    }
    if (p->start == PRODUCT_RESCALE) {
        UNROLL for (int l = 0; l < columns; l++) {
            vec factor = vec_load(p->rescale + l * VEC_WIDTH);
            UNROLL for (int r = 0; r < rows; r++) sum[r][l] = vec_mul(sum[r][l], factor);
        }
    }
    for (int k = p->depth; k > 0; k--) {
        vec lanes[VEC_COLUMNS];
        UNROLL for (int l = 0; l < columns; l++) lanes[l] = vec_keep(vec_load(b + l * VEC_WIDTH));
        UNROLL for (int r = 0; r < rows; r++) {
            vec x = vec_set(a[r * a_row]);
            UNROLL for (int l = 0; l < columns; l++) sum[r][l] = vec_fma(x, lanes[l], sum[r][l]);
        }
        a += a_step;
        b += b_step;
    }
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int l = 0; l < columns; l++) vec_store(c + l * VEC_WIDTH, sum[r][l]);
        c += c_row;
    }
}

/* Every tile shape as a function of its own: inlined into a driver, the
 * compiler spills the accumulators. */
typedef void (*product_function)(const product_operands *);
#define PRODUCT_TILE(R, L)                                                                                   \
    static __attribute__((noinline)) void product_##R##x##L(const product_operands *p) {                     \
        product_tile(R, L, p);                                                                               \
    }
#define PRODUCT_TILES(L)                                                                                     \
    PRODUCT_TILE(1, L) PRODUCT_TILE(2, L) PRODUCT_TILE(3, L) PRODUCT_TILE(4, L) PRODUCT_TILES_5_TO_8(L)
#define PRODUCT_NAMES(L) product_1x##L, product_2x##L, product_3x##L, product_4x##L PRODUCT_NAMES_5_TO_8(L)
#if VEC_ROWS == 8
#define PRODUCT_TILES_5_TO_8(L) PRODUCT_TILE(5, L) PRODUCT_TILE(6, L) PRODUCT_TILE(7, L) PRODUCT_TILE(8, L)
#define PRODUCT_NAMES_5_TO_8(L) , product_5x##L, product_6x##L, product_7x##L, product_8x##L
#elif VEC_ROWS == 6
#define PRODUCT_TILES_5_TO_8(L) PRODUCT_TILE(5, L) PRODUCT_TILE(6, L)
#define PRODUCT_NAMES_5_TO_8(L) , product_5x##L, product_6x##L
#else
#define PRODUCT_TILES_5_TO_8(L)
#define PRODUCT_NAMES_5_TO_8(L)
#endif
PRODUCT_TILES(1)
PRODUCT_TILES(2)
#if VEC_COLUMNS > 2
PRODUCT_TILES(3)
#endif
#if VEC_COLUMNS > 3
PRODUCT_TILES(4)
#endif

static const product_function product_functions[VEC_COLUMNS][VEC_ROWS] = {
    {PRODUCT_NAMES(1)},
    {PRODUCT_NAMES(2)},
#if VEC_COLUMNS > 2
    {PRODUCT_NAMES(3)},
#endif
#if VEC_COLUMNS > 3
    {PRODUCT_NAMES(4)},
#endif
};

/* The whole product: `rows` x `lanes`, lanes a multiple of VEC_WIDTH. A strip
 * of B as wide as a tile stays in the cache while the rows pass by it. */
static void product(int rows, int lanes, const product_operands *operands) {
    product_operands p = *operands;
    for (int l = 0; l < lanes; l += VEC_COLUMNS * VEC_WIDTH) {
        int columns = (lanes - l) / VEC_WIDTH;
        if (columns > VEC_COLUMNS) columns = VEC_COLUMNS;
        p.b = operands->b + l;
        p.rescale = operands->rescale ? operands->rescale + l : NULL;
        for (int r = 0; r < rows; r += VEC_ROWS) {
            int count = rows - r < VEC_ROWS ? rows - r : VEC_ROWS;
            p.a = operands->a + r * operands->a_row;
            p.c = operands->c + r * operands->c_row + l;
            product_functions[columns - 1][count - 1](&p);
        }
    }
}

#endif
