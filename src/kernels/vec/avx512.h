/* avx512.h: the operations of vec.h with AVX-512 F, BW, DQ and VL, and the sizes of its two tables.
 *
 * The first table is for Zen 4, where loads keep up with multiply-adds. The second, AT_BUILD_AVX512X2, is for
 * CPUs with two 512-bit multiply-add units. Intel's load little more than one 512-bit vector a cycle: a tile
 * of R x C vectors takes R + C loads, so 6 x 4 stays at the units' rate where 8 x 2 reaches 0.8 of it (Ice
 * Lake). Zen 5 loads two, and gains from the rest of the table: VEC_AHEAD 4 instead of 1 with
 * ATTENTION_IN_PLACE takes 0.70 of the time for a batch of 64 sentences, forward and back, and costs long
 * sequences nothing.
 */
#ifndef AT_KERNELS_VEC_AVX512_H
#define AT_KERNELS_VEC_AVX512_H

#if !defined(AT_EMULATE_AVX512) /* else tests/emulation/avx512.h stands for these */
#if !defined(__AVX512F__) || !defined(__AVX512DQ__) || !defined(__AVX512BW__) || !defined(__AVX512VL__)
#error "compile this file with -mavx512f -mavx512dq -mavx512bw -mavx512vl"
#endif

#include <immintrin.h>
#define VEC_REGISTER "v"
#endif

#define VEC_WIDTH 16
#define VEC_PART 4
#if defined(AT_BUILD_AVX512X2)
#define VEC_ROWS 6
#define VEC_COLUMNS 4
#define VEC_LEAST_ROWS 6
#define VEC_EVEN_ROWS 1
#define VEC_AHEAD 4
#define ATTENTION_IN_PLACE 64
#define LONG_AHEAD 1
#define GEMM_AHEAD 1
#define VEC_FRACTION 1
#define SOFTMAX_COLUMNS 4
#define ATTENTION_COLUMNS 4
#define ATTENTION_UNCOPIED 1
#define ATTENTION_STEP 2
#define ATTENTION_EDGE 3
#define ATTENTION_NARROW 32
#define ATTENTION_BLOCK 32768
#define GEMM_DEPTH 384
#define GEMM_TILES 4
#define GEMM_STRIP_STEP 1024
#define GEMM_LEAST_ROWS 64
#else
#define VEC_ROWS 8
#define VEC_COLUMNS 3
#define VEC_LEAST_ROWS 1
#define ATTENTION_STEP 1
#define ATTENTION_EDGE 2
#define ATTENTION_COLUMNS 2
#define ATTENTION_UNCOPIED 1
#endif

typedef __m512 vec;
typedef __m512i veci;
typedef __mmask16 vecb;

VEC_INLINE vec vec_load(const float *p) { return _mm512_loadu_ps(p); }
VEC_INLINE void vec_store(float *p, vec v) { _mm512_storeu_ps(p, v); }
VEC_INLINE vec vec_load_part(const float *p, int n) {
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), p);
}
VEC_INLINE void vec_store_part(float *p, vec v, int n) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1u), v);
}
/* The first half of a vector from one place, the second from another. */
VEC_INLINE vec vec_load_halves(const float *p, const float *q) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(p)), _mm256_loadu_ps(q), 1);
}
VEC_INLINE vec vec_set(float x) { return _mm512_set1_ps(x); }
VEC_INLINE vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return _mm512_div_ps(a, b); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
VEC_INLINE vec vec_accumulate(vec sum, vec a, vec b) { return vec_fma(a, b, sum); }
VEC_INLINE vec vec_max(vec a, vec b) { return _mm512_max_ps(a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return _mm512_min_ps(a, b); }
VEC_INLINE vec vec_abs(vec a) { return _mm512_abs_ps(a); }
VEC_INLINE vec vec_copysign(vec magnitude, vec sign) {
    return _mm512_or_ps(_mm512_and_ps(sign, _mm512_set1_ps(-0.0f)), magnitude);
}
VEC_INLINE vec vec_round(vec a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#if VEC_FRACTION /* one operation where vec_round is two */
VEC_INLINE vec vec_fraction(vec a) {
    return _mm512_reduce_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#endif
/* a * 2^n for a whole n; too small becomes subnormal and then 0, too large inf. */
#define VEC_SCALE2_SATURATES 1
#define VEC_POWER_OF_ZERO (-200.0f)
VEC_INLINE vec vec_scale2(vec a, vec n) { return _mm512_scalef_ps(a, n); }

VEC_INLINE vecb vec_equal(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
VEC_INLINE vecb vec_less(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
VEC_INLINE vec vec_select(vecb m, vec yes, vec no) { return _mm512_mask_blend_ps(m, no, yes); }
VEC_INLINE int vec_all(vecb m) { return m == 0xffffu; }

/* In the order of vec_sums, so that the same sum has the same bits either way. */
VEC_INLINE float vec_sum(vec a) {
    a = _mm512_add_ps(a, _mm512_permute_ps(a, 0x4e));
    a = _mm512_add_ps(a, _mm512_permute_ps(a, 0xb1));
    a = _mm512_add_ps(a, _mm512_shuffle_f32x4(a, a, 0xb1));
    a = _mm512_add_ps(a, _mm512_shuffle_f32x4(a, a, 0x4e));
    return _mm512_cvtss_f32(a);
}
VEC_INLINE float vec_maximum(vec a) { return _mm512_reduce_max_ps(a); }

VEC_INLINE veci veci_set(uint32_t x) { return _mm512_set1_epi32((int)x); }
VEC_INLINE veci veci_load(const uint32_t *p) { return _mm512_loadu_si512(p); }
VEC_INLINE veci veci_lanes(void) {
    return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}
VEC_INLINE veci veci_add(veci a, veci b) { return _mm512_add_epi32(a, b); }
VEC_INLINE veci veci_mul(veci a, veci b) { return _mm512_mullo_epi32(a, b); }
VEC_INLINE veci veci_xor(veci a, veci b) { return _mm512_xor_si512(a, b); }
VEC_INLINE veci veci_shift_right(veci a, int n) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(n)); }
VEC_INLINE veci veci_shift_right_lanes(veci a, veci n) { return _mm512_srlv_epi32(a, n); }
VEC_INLINE vecb veci_bit0(veci a) { return _mm512_test_epi32_mask(a, _mm512_set1_epi32(1)); }
VEC_INLINE vecb veci_at_least(veci a, veci b) { return _mm512_cmpge_epu32_mask(a, b); }

/* Lane l of the result is lane index[l] (modulo VEC_WIDTH) of a. */
VEC_INLINE vec vec_pick(vec a, veci index) { return _mm512_permutexvar_ps(index, a); }

/* Keeps a loaded vector in its register: without it gcc folds the load into
 * every use. */
VEC_INLINE vec vec_keep(vec a) {
    __asm__("" : "+" VEC_REGISTER(a));
    return a;
}

/* Transposes the VEC_WIDTH x VEC_WIDTH block that the vectors hold. */
VEC_INLINE void vec_transpose(vec r[VEC_WIDTH]) {
    __m512d t[16], u[16];
    UNROLL for (int i = 0; i < 16; i += 4) { /* 4 x 4 inside the 128-bit lanes */
        __m512 a = _mm512_unpacklo_ps(r[i], r[i + 1]), b = _mm512_unpackhi_ps(r[i], r[i + 1]);
        __m512 c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
        t[i] = _mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(c));
        t[i + 1] = _mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(c));
        t[i + 2] = _mm512_unpacklo_pd(_mm512_castps_pd(b), _mm512_castps_pd(d));
        t[i + 3] = _mm512_unpackhi_pd(_mm512_castps_pd(b), _mm512_castps_pd(d));
    }
    UNROLL for (int i = 0; i < 4; i++) { /* then the lanes themselves */
        u[i] = _mm512_shuffle_f64x2(t[i], t[i + 4], 0x88);
        u[i + 4] = _mm512_shuffle_f64x2(t[i], t[i + 4], 0xdd);
        u[i + 8] = _mm512_shuffle_f64x2(t[i + 8], t[i + 12], 0x88);
        u[i + 12] = _mm512_shuffle_f64x2(t[i + 8], t[i + 12], 0xdd);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        r[i] = _mm512_castpd_ps(_mm512_shuffle_f64x2(u[i], u[i + 8], 0x88));
        r[i + 8] = _mm512_castpd_ps(_mm512_shuffle_f64x2(u[i], u[i + 8], 0xdd));
        r[i + 4] = _mm512_castpd_ps(_mm512_shuffle_f64x2(u[i + 4], u[i + 12], 0x88));
        r[i + 12] = _mm512_castpd_ps(_mm512_shuffle_f64x2(u[i + 4], u[i + 12], 0xdd));
    }
}

/* Half of the lanes of the result are sums of neighbouring parts of a, half of b:
 * a blend and one shuffle, of which fewer are done in a cycle. */
VEC_INLINE __m512 vec_fold_64(__m512 a,
                              __m512 b) { /* of every 128 bits: a0 + a2, a1 + a3, b0 + b2, b1 + b3 */
    return _mm512_add_ps(_mm512_mask_blend_ps(0xcccc, a, b), _mm512_shuffle_ps(a, b, 0x4e));
}
VEC_INLINE __m512 vec_fold_32(__m512 a, __m512 b) { /* a0 + a1, b0 + b1, a2 + a3, b2 + b3 */
    __m512 straight = _mm512_mask_blend_ps(0xaaaa, a, b), crossed = _mm512_mask_blend_ps(0x5555, a, b);
    return _mm512_add_ps(straight, _mm512_permute_ps(crossed, 0xb1));
}

/* Of every 128 bits: the sums of those of r[0], r[2], r[1], r[3]. */
VEC_INLINE __m512 vec_sums_of_4(const vec r[4]) {
    return vec_fold_32(vec_fold_64(r[0], r[1]), vec_fold_64(r[2], r[3]));
}
/* Of 128 bits each: the sums of the first halves of r[0 .. 3], in the order of
 * vec_sums_of_4, of their second halves, and the same of r[4 .. 7]. */
VEC_INLINE __m512 vec_sums_of_8(const vec r[8]) {
    __m512 a = vec_sums_of_4(r), b = vec_sums_of_4(r + 4);
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

/* Lane l of the result is the sum of the lanes of r[l]. */
VEC_INLINE vec vec_sums(const vec r[VEC_WIDTH]) {
    __m512 u = vec_sums_of_8(r), v = vec_sums_of_8(r + 8);
    __m512 sums = _mm512_add_ps(_mm512_shuffle_f32x4(u, v, 0x88), _mm512_shuffle_f32x4(u, v, 0xdd));
    return _mm512_permute_ps(sums, 0xd8);
}

/* The sums of parts of `part` lanes (a constant, VEC_PART .. VEC_WIDTH) of as
 * many vectors, one after another. */
VEC_INLINE vec vec_part_sums(int part, const vec *r) {
    const __m512i from_8 = _mm512_set_epi32(15, 11, 13, 9, 14, 10, 12, 8, 7, 3, 5, 1, 6, 2, 4, 0);
    const __m512i from_4 = _mm512_set_epi32(15, 11, 7, 3, 13, 9, 5, 1, 14, 10, 6, 2, 12, 8, 4, 0);
    if (part == 4) return _mm512_permutexvar_ps(from_4, vec_sums_of_4(r));
    if (part == 8) return _mm512_permutexvar_ps(from_8, vec_sums_of_8(r));
    return vec_sums(r);
}

#endif
