/* vec.h: the vector operations that the kernels are written in.
 *
 * One header per instruction set defines the same names; the scalar one is a
 * vector of width 1. A kernel is compiled once for each, by the stub in isa/
 * that defines AT_BUILD_<NAME>. Sizes belong to a table of kernels rather than
 * to its instructions: AVX-512 has two tables.
 *
 *     vec    VEC_WIDTH floats          veci   VEC_WIDTH 32-bit integers
 *     vecb   VEC_WIDTH truth values
 *
 *     VEC_ROWS x VEC_COLUMNS   the register tile of the product kernel, in
 *                              rows x vectors: what the registers hold, less
 *                              those for the operands
 *     VEC_LEAST_ROWS           a tile at the end with fewer rows wastes time: two tiles share the rest
 *     VEC_EVEN_ROWS            1: rather, all tiles share the rows, and differ by one at most
 *     VEC_AHEAD                cache lines of what comes next that a product asks for every four steps
 *     LONG_AHEAD               1: also from tile to tile of long sequences
 *     GEMM_AHEAD               1: also in linear layers
 *     ATTENTION_COLUMNS        vectors of queries that the attention kernel works on at once: fewer waste
 *                              less at the edge of a causal or windowed reach
 *     ATTENTION_UNCOPIED       columns of queries that read keys and values in their place, however
 *                              far apart their rows are; a copy pays for more
 *     ATTENTION_IN_PLACE       up to so many keys, channels stand on the lanes where weights and values
 *                              meet: results are written in their place, and no lane is wasted. Above,
 *                              rows of values compete for the same cache sets
 *     ATTENTION_STEP           vectors by which a column of queries gets narrower, forward, where the
 *                              reach ends; all of them where a narrower tile of the product is no faster
 *     ATTENTION_EDGE           vectors of keys that the backward pass works on at once where the reach
 *                              ends: one tile of the product at full speed, as fewer waste less
 *     ATTENTION_NARROW_ROWS    queries of a tile, backward, under a narrow window: fewer waste less
 *     ATTENTION_NARROW         queries that the attention kernel works on at once under a narrow window
 *     ATTENTION_BLOCK          queries x channels of a forward task: its accumulators fit the L2 cache
 *     SOFTMAX_COLUMNS          vectors of a row of scores that the softmax takes side by side
 *     GEMM_DEPTH               of a block of the linear layers' product
 *     GEMM_TILES               of it that one call computes
 *     GEMM_LEAST_ROWS          of a block of a product, while threads can divide its columns instead
 *     GEMM_STRIP_STEP          the gradient of a weight reads rows of g up to this length in place, and
 *                              packs longer ones
 *
 *     VEC_SCALE2_SATURATES     vec_scale2 takes any n, not only -127 .. 128
 *     VEC_POWER_OF_ZERO        a whole n for which vec_scale2(a, n) is exactly 0
 *     VEC_FRACTION             1: there is vec_fraction(a), a less a rounded, and 0 for an infinity
 *
 *     VEC_PART                 the least part of vec_part_sums; VEC_WIDTH: no parts
 *
 * NaN: vec_max(a, b) and vec_min(a, b) give b if either is NaN.
 */
#ifndef AT_KERNELS_VEC_VEC_H
#define AT_KERNELS_VEC_VEC_H

#include <stdint.h>
#include <string.h>

/* Before a loop with a small constant bound: unrolled, its arrays are registers. */
#ifndef UNROLL
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define VEC_INLINE static inline __attribute__((always_inline, unused))

#if defined(AT_BUILD_AVX512) || defined(AT_BUILD_AVX512X2)
#include "kernels/vec/avx512.h"
#elif defined(AT_BUILD_AVX2)
#include "kernels/vec/avx2.h"
#elif defined(AT_BUILD_NEON)
#include "kernels/vec/neon.h"
#elif defined(AT_BUILD_SCALAR)
#include "kernels/vec/scalar.h"
#else
#error "vec.h is included by a stub in kernels/isa/, which says for which instruction set"
#endif

/* What a table does not say for itself. */
#ifndef VEC_AHEAD
#define VEC_AHEAD 0
#endif
#ifndef VEC_FRACTION
#define VEC_FRACTION 0
#endif
#ifndef SOFTMAX_COLUMNS
#define SOFTMAX_COLUMNS 1
#endif
#ifndef VEC_EVEN_ROWS
#define VEC_EVEN_ROWS 0
#endif
#ifndef ATTENTION_IN_PLACE
#define ATTENTION_IN_PLACE 0
#endif
#ifndef ATTENTION_STEP
#define ATTENTION_STEP ATTENTION_COLUMNS
#endif
#ifndef ATTENTION_EDGE
#define ATTENTION_EDGE VEC_COLUMNS
#endif
#ifndef ATTENTION_NARROW_ROWS
#define ATTENTION_NARROW_ROWS 64
#endif
#ifndef LONG_AHEAD
#define LONG_AHEAD 0
#endif
#ifndef GEMM_LEAST_ROWS
#define GEMM_LEAST_ROWS 16
#endif
#ifndef GEMM_AHEAD
#define GEMM_AHEAD 0
#endif
#ifndef ATTENTION_NARROW
#define ATTENTION_NARROW 16
#endif
#ifndef ATTENTION_BLOCK
#define ATTENTION_BLOCK 16384
#endif
#ifndef GEMM_TILES
#define GEMM_TILES 1
#endif
#ifndef GEMM_STRIP_STEP
#define GEMM_STRIP_STEP 0
#endif
#ifndef GEMM_DEPTH
#define GEMM_DEPTH AT_GEMM_DEPTH
#endif

/* At the end of a row: a whole vector, or the `left` numbers that there are. */
VEC_INLINE vec vec_load_up_to(const float *p, int64_t left) {
    return left >= VEC_WIDTH ? vec_load(p) : vec_load_part(p, (int)left);
}
VEC_INLINE void vec_store_up_to(float *p, vec x, int64_t left) {
    if (left >= VEC_WIDTH) {
        vec_store(p, x);
    } else {
        vec_store_part(p, x, (int)left);
    }
}

#endif
