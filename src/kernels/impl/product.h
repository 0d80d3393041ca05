/* product.h: the register-blocked product that everything dense is made of.
 *
 *     C[r][l]  =  (0 | bias[l] | C[r][l] | rescale[l] * C[r][l])  +  sum_k A[r, k] * B[k][l]
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

/* The compiler may not look through this value. */
#define PRODUCT_OPAQUE(x) __asm__("" : "+r"(x))

typedef enum product_start { PRODUCT_SET, PRODUCT_BIAS, PRODUCT_ADD, PRODUCT_RESCALE } product_start;

/* Rows of numbers that will be needed soon. Where VEC_AHEAD says so, a product asks for a few lines of them
 * (into the L2 cache) with every four steps of its depth. All at once they would fill the queue of misses,
 * and the product would wait for its own operands. */
typedef struct product_ahead {
    const float *line, *end; /* what is left of the row */
    ptrdiff_t stride;        /* from row to row */
    int64_t rows;            /* with this one */
    int channels;
    struct product_ahead *then; /* when these are through; or NULL */
} product_ahead;

static inline product_ahead ahead_of(const float *row, ptrdiff_t stride, int64_t rows, int channels,
                                     product_ahead *then) {
    product_ahead ahead = {row, rows > 0 ? row + channels : row, stride, rows, channels, then};
    return ahead;
}

VEC_INLINE void ask_for_line(product_ahead **place) {
    product_ahead *ahead = *place;
    if (!ahead) return;
    if (ahead->line >= ahead->end) {
        if (ahead->rows <= 1) {
            *place = ahead->then;
            return;
        }
        ahead->rows--;
        ahead->end += ahead->stride;
        ahead->line = ahead->end - ahead->channels;
    }
    __builtin_prefetch(ahead->line, 0, 2);
    ahead->line += 16;
}

/* Rows that will be written when a product is done: it asks for those of a tile as it begins the tile. */
typedef struct product_written {
    const float *rows; /* NULL: none */
    ptrdiff_t row;     /* from row to row */
    int channels;
} product_written;

typedef struct product_operands {
    const float *a;
    ptrdiff_t a_row, a_step;
    ptrdiff_t a_tile; /* from a tile of VEC_ROWS rows to the next; 0: VEC_ROWS * a_row */
    const float *b;
    ptrdiff_t b_step;
    float *c;
    ptrdiff_t c_row;
    int depth;
    product_start start;
    const float *per_lane;    /* [lanes]: the bias of PRODUCT_BIAS, the factors of PRODUCT_RESCALE */
    product_ahead *ahead;     /* NULL: nothing is asked for */
    product_written *written; /* two of them; NULL: none */
} product_operands;

/* Where the rows of A are at one step: a pointer for every four rows, and once
 * and three times the row stride. Any of four rows is then one addressing mode
 * away; left to itself, the compiler keeps a register a row and spills. */
typedef struct product_rows {
    const float *group[(VEC_ROWS + 3) / 4];
    ptrdiff_t once, thrice;
} product_rows;

VEC_INLINE product_rows product_rows_at(const int rows, const float *a, ptrdiff_t a_row) {
    product_rows p = {.once = a_row, .thrice = 3 * a_row};
    PRODUCT_OPAQUE(p.thrice);
    UNROLL for (int g = 0; 4 * g < rows; g++) {
        p.group[g] = a + 4 * g * a_row;
        PRODUCT_OPAQUE(p.group[g]);
    }
    return p;
}

VEC_INLINE void product_step(const int rows, const int columns, product_rows *a, ptrdiff_t a_step,
                             const float *b, vec sum[VEC_ROWS][VEC_COLUMNS]) {
    vec lanes[VEC_COLUMNS];
    UNROLL for (int l = 0; l < columns; l++) lanes[l] = vec_keep(vec_load(b + l * VEC_WIDTH));
    UNROLL for (int r = 0; r < rows; r++) {
        const ptrdiff_t offset = r % 4 == 3 ? a->thrice : r % 4 * a->once;
        vec x = vec_set(a->group[r / 4][offset]);
        UNROLL for (int l = 0; l < columns; l++) sum[r][l] = vec_accumulate(sum[r][l], x, lanes[l]);
    }
    UNROLL for (int g = 0; 4 * g < rows; g++) {
        a->group[g] += a_step;
        PRODUCT_OPAQUE(a->group[g]);
    }
}

VEC_INLINE void product_turn(const int rows, const int columns, product_rows *a, ptrdiff_t a_step,
                             const float **b, ptrdiff_t b_step, vec sum[VEC_ROWS][VEC_COLUMNS]) {
    UNROLL for (int step = 0; step < 4; step++) {
        product_step(rows, columns, a, a_step, *b, sum);
        *b += b_step;
        PRODUCT_OPAQUE(*b);
    }
}

VEC_INLINE void ask_for_written(const product_written *written, int64_t row, const int rows) {
    for (int i = 0; i < 2 && written[i].rows; i++) {
        const float *line = written[i].rows + row * written[i].row;
        for (int r = 0; r < rows; r++) {
            for (int l = 0; l < written[i].channels; l += 16) __builtin_prefetch(line + l, 1);
            line += written[i].row;
        }
    }
}

/* `tiles` tiles of `rows` x `columns` vectors, one below the other; rows and
 * columns are constants where this is inlined, so that the accumulators are
 * registers. */
VEC_INLINE void product_tiles(const int rows, const int columns, const product_operands *p, int tiles) {
    const float *a_tile = p->a;
    float *c = p->c;
    const ptrdiff_t a_row = p->a_row, a_step = p->a_step, b_step = p->b_step, c_row = p->c_row;
    const product_start start = p->start;
    product_ahead *ahead = p->ahead;
    for (int tile = 0; tile < tiles; tile++) {
        if (p->written) ask_for_written(p->written, tile * rows, rows);
        product_rows a = product_rows_at(rows, a_tile, a_row);
        const float *b = p->b;
        vec sum[VEC_ROWS][VEC_COLUMNS];
        UNROLL for (int r = 0; r < rows; r++) {
            UNROLL for (int l = 0; l < columns; l++) sum[r][l] = vec_set(0.0f);
        }
        if (start == PRODUCT_BIAS) {
            UNROLL for (int l = 0; l < columns; l++) {
                vec bias = vec_load(p->per_lane + l * VEC_WIDTH);
                UNROLL for (int r = 0; r < rows; r++) sum[r][l] = bias;
            }
        } else if (start != PRODUCT_SET) {
            const float *from = c;
            UNROLL for (int r = 0; r < rows; r++) {
                UNROLL for (int l = 0; l < columns; l++) sum[r][l] = vec_load(from + l * VEC_WIDTH);
                from += c_row;
            }
        }
        if (start == PRODUCT_RESCALE) {
            UNROLL for (int l = 0; l < columns; l++) {
                vec factor = vec_load(p->per_lane + l * VEC_WIDTH);
                UNROLL for (int r = 0; r < rows; r++) sum[r][l] = vec_mul(sum[r][l], factor);
            }
        }
        /* Four steps a turn: the number of turns is small enough for the branch
         * predictor to foresee the last one. */
        int k = p->depth;
        for (; VEC_AHEAD && ahead && k >= 4; k -= 4) {
            UNROLL for (int line = 0; line < VEC_AHEAD; line++) ask_for_line(&ahead);
            product_turn(rows, columns, &a, a_step, &b, b_step, sum);
        }
        for (; k >= 4; k -= 4) product_turn(rows, columns, &a, a_step, &b, b_step, sum);
        for (; k > 0; k--) {
            product_step(rows, columns, &a, a_step, b, sum);
            b += b_step;
        }
        UNROLL for (int r = 0; r < rows; r++) {
            UNROLL for (int l = 0; l < columns; l++) vec_store(c + l * VEC_WIDTH, sum[r][l]);
            c += c_row;
        }
        a_tile += p->a_tile ? p->a_tile : rows * a_row;
    }
}

/* Every tile shape as a function of its own: inlined into a driver, the
 * compiler spills the accumulators. */
typedef void (*product_function)(const product_operands *, int);
#define PRODUCT_TILE(R, L)                                                                                   \
    static __attribute__((noinline)) void product_##R##x##L(const product_operands *p, int tiles) {          \
        product_tiles(R, L, p, tiles);                                                                       \
    }
#define PRODUCT_TILES_4(L) PRODUCT_TILE(1, L) PRODUCT_TILE(2, L) PRODUCT_TILE(3, L) PRODUCT_TILE(4, L)
#define PRODUCT_NAMES_4(L) product_1x##L, product_2x##L, product_3x##L, product_4x##L
#define PRODUCT_TILES_6(L) PRODUCT_TILES_4(L) PRODUCT_TILE(5, L) PRODUCT_TILE(6, L)
#define PRODUCT_NAMES_6(L) PRODUCT_NAMES_4(L), product_5x##L, product_6x##L
#define PRODUCT_TILES_8(L) PRODUCT_TILES_6(L) PRODUCT_TILE(7, L) PRODUCT_TILE(8, L)
#define PRODUCT_NAMES_8(L) PRODUCT_NAMES_6(L), product_7x##L, product_8x##L
#define PRODUCT_PASTE(A, B) A##B
#define PRODUCT_TILES(ROWS, L) PRODUCT_PASTE(PRODUCT_TILES_, ROWS)(L)
#define PRODUCT_NAMES(ROWS, L) PRODUCT_PASTE(PRODUCT_NAMES_, ROWS)(L)
PRODUCT_TILES(VEC_ROWS, 1)
PRODUCT_TILES(VEC_ROWS, 2)
#if VEC_COLUMNS > 2
PRODUCT_TILES(VEC_ROWS, 3)
#endif
#if VEC_COLUMNS > 3
PRODUCT_TILES(VEC_ROWS, 4)
#endif

static const product_function product_functions[VEC_COLUMNS][VEC_ROWS] = {
    {PRODUCT_NAMES(VEC_ROWS, 1)},
    {PRODUCT_NAMES(VEC_ROWS, 2)},
#if VEC_COLUMNS > 2
    {PRODUCT_NAMES(VEC_ROWS, 3)},
#endif
#if VEC_COLUMNS > 3
    {PRODUCT_NAMES(VEC_ROWS, 4)},
#endif
};

/* The rows of the next tile, of so many that are left. */
static inline int tile_rows(int64_t left) {
    if (VEC_EVEN_ROWS) {
        int64_t tiles = (left + VEC_ROWS - 1) / VEC_ROWS;
        return (int)((left + tiles - 1) / tiles);
    }
    if (left <= VEC_ROWS || left >= VEC_ROWS + VEC_LEAST_ROWS) return left < VEC_ROWS ? (int)left : VEC_ROWS;
    return (int)(left + 1) / 2;
}

static inline void pass_written(product_written *written, int rows) {
    for (int i = 0; written && i < 2 && written[i].rows; i++) written[i].rows += rows * written[i].row;
}

/* The whole product: `rows` x `lanes`, lanes a multiple of VEC_WIDTH. A strip
 * of B as wide as a tile stays in the cache while the rows pass by it. The operands are as before afterwards:
 * a copy of them, read by whole vectors, would wait for the narrow stores that the caller has just made. */
static void product(int rows, int lanes, product_operands *p) {
    const float *const a = p->a, *const b = p->b, *const per_lane = p->per_lane;
    float *const c = p->c;
    int whole = rows / VEC_ROWS;
    if (VEC_EVEN_ROWS && rows % VEC_ROWS) { /* so many tiles of VEC_ROWS, the others have a row less */
        whole = rows - (whole + 1) * (VEC_ROWS - 1);
        if (whole < 0) whole = 0; /* too few rows for that */
    } else if (whole && rows % VEC_ROWS && rows % VEC_ROWS < VEC_LEAST_ROWS) {
        whole--;
    }
    for (int l = 0; l < lanes; l += VEC_COLUMNS * VEC_WIDTH) {
        int columns = (lanes - l) / VEC_WIDTH;
        if (columns > VEC_COLUMNS) columns = VEC_COLUMNS;
        p->b = b + l;
        p->per_lane = per_lane ? per_lane + l : NULL;
        p->c = c + l;
        if (whole) product_functions[columns - 1][VEC_ROWS - 1](p, whole);
        p->a = a + whole * (p->a_tile ? p->a_tile : VEC_ROWS * p->a_row);
        p->c += (ptrdiff_t)whole * VEC_ROWS * p->c_row;
        pass_written(p->written, whole * VEC_ROWS);
        for (int left = rows - whole * VEC_ROWS, tile; left > 0; left -= tile) {
            tile = tile_rows(left);
            product_functions[columns - 1][tile - 1](p, 1);
            p->a += tile * p->a_row;
            p->c += tile * p->c_row;
            pass_written(p->written, tile);
        }
        p->a = a;
        pass_written(p->written, -rows);
    }
    p->b = b;
    p->per_lane = per_lane;
    p->c = c;
}

/* Of the steps of a product, row r needs those from r - before to r + after. */
typedef struct product_band {
    int64_t before, after;
} product_band;

/* The same for a matrix A that is 0 outside of a band: a tile goes through the steps that some row of it
 * needs. A is read VEC_ROWS - 1 rows above and below the band, where it has to hold its 0. */
static void product_in_band(int rows, int lanes, product_operands *p, product_band band) {
    if (band.before >= rows - 1 && band.after >= p->depth - 1) {
        product(rows, lanes, p);
        return;
    }
    const float *const a = p->a, *const b = p->b;
    float *const c = p->c;
    const int depth = p->depth;
    for (int l = 0; l < lanes; l += VEC_COLUMNS * VEC_WIDTH) {
        int columns = (lanes - l) / VEC_WIDTH;
        if (columns > VEC_COLUMNS) columns = VEC_COLUMNS;
        p->c = c + l;
        for (int r = 0, tile; r < rows; r += tile) {
            tile = tile_rows(rows - r);
            int64_t from = r - band.before, to = r + tile + band.after;
            if (from < 0) from = 0;
            if (to > depth) to = depth;
            p->depth = to > from ? (int)(to - from) : 0;
            p->a = a + r * p->a_row + from * p->a_step;
            p->b = b + from * p->b_step + l;
            product_functions[columns - 1][tile - 1](p, 1);
            p->c += tile * p->c_row;
        }
    }
    p->a = a;
    p->b = b;
    p->c = c;
    p->depth = depth;
}

#endif
