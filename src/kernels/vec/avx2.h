/* avx2.h: the operations of vec.h with AVX2 and FMA. */
#ifndef AT_KERNELS_VEC_AVX2_H
#define AT_KERNELS_VEC_AVX2_H

#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile this file with -mavx2 -mfma"
#endif

#include <immintrin.h>

#define VEC_WIDTH 8
#define VEC_ROWS 6
#define VEC_COLUMNS 2
#define VEC_LEAST_ROWS 4 /* x 2 vectors: as many sums as two FMA units with a latency of 4 need */
#define ATTENTION_COLUMNS 2
#define ATTENTION_UNCOPIED 4
#define ATTENTION_IN_PLACE 64
#define ATTENTION_NARROW_ROWS 32
#define VEC_AHEAD 3
#define GEMM_TILES 8
#define LONG_AHEAD 1
#define VEC_PART 4

typedef __m256 vec;
typedef __m256i veci;
typedef __m256 vecb; /* all ones or all zeros a lane */

VEC_INLINE __m256i vec_first_lanes(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}
VEC_INLINE vec vec_load(const float *p) { return _mm256_loadu_ps(p); }
VEC_INLINE void vec_store(float *p, vec v) { _mm256_storeu_ps(p, v); }
VEC_INLINE vec vec_load_part(const float *p, int n) { return _mm256_maskload_ps(p, vec_first_lanes(n)); }
/* The first n lanes, n <= VEC_WIDTH: in halves, as a masked store takes 42 operations on Zen. */
VEC_INLINE void vec_store_part(float *p, vec v, int n) {
    __m128 part = _mm256_castps256_ps128(v);
    if (n & 8) {
        _mm256_storeu_ps(p, v);
        return;
    }
    if (n & 4) {
        _mm_storeu_ps(p, part);
        part = _mm256_extractf128_ps(v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)p, part);
        part = _mm_movehl_ps(part, part);
        p += 2;
    }
    if (n & 1) _mm_store_ss(p, part);
}
/* The first half of a vector from one place, the second from another. */
VEC_INLINE vec vec_load_halves(const float *p, const float *q) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(q), 1);
}
VEC_INLINE vec vec_set(float x) { return _mm256_set1_ps(x); }
VEC_INLINE vec vec_add(vec a, vec b) { return _mm256_add_ps(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return _mm256_sub_ps(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return _mm256_div_ps(a, b); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
VEC_INLINE vec vec_max(vec a, vec b) { return _mm256_max_ps(a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return _mm256_min_ps(a, b); }
VEC_INLINE vec vec_abs(vec a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
VEC_INLINE vec vec_copysign(vec magnitude, vec sign) {
    return _mm256_or_ps(_mm256_and_ps(sign, _mm256_set1_ps(-0.0f)), magnitude);
}
VEC_INLINE vec vec_round(vec a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
/* a * 2^n for a whole n in -127 .. 128; 2^-127 counts as 0, 2^128 as inf. */
#define VEC_SCALE2_SATURATES 0
#define VEC_POWER_OF_ZERO (-127.0f)
VEC_INLINE vec vec_scale2(vec a, vec n) {
    __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}

VEC_INLINE vecb vec_equal(vec a, vec b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
VEC_INLINE vecb vec_less(vec a, vec b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
VEC_INLINE vec vec_select(vecb m, vec yes, vec no) { return _mm256_blendv_ps(no, yes, m); }
VEC_INLINE int vec_all(vecb m) { return _mm256_movemask_ps(m) == 0xff; }

/* In the order of vec_sums, so that the same sum has the same bits either way. */
VEC_INLINE float vec_sum(vec a) {
    a = _mm256_hadd_ps(a, a);
    a = _mm256_hadd_ps(a, a);
    return _mm_cvtss_f32(_mm_add_ss(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)));
}
VEC_INLINE float vec_maximum(vec a) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

VEC_INLINE veci veci_set(uint32_t x) { return _mm256_set1_epi32((int)x); }
VEC_INLINE veci veci_load(const uint32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
VEC_INLINE veci veci_lanes(void) { return _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0); }
VEC_INLINE veci veci_add(veci a, veci b) { return _mm256_add_epi32(a, b); }
VEC_INLINE veci veci_mul(veci a, veci b) { return _mm256_mullo_epi32(a, b); }
VEC_INLINE veci veci_xor(veci a, veci b) { return _mm256_xor_si256(a, b); }
VEC_INLINE veci veci_shift_right(veci a, int n) { return _mm256_srl_epi32(a, _mm_cvtsi32_si128(n)); }
VEC_INLINE veci veci_shift_right_lanes(veci a, veci n) { return _mm256_srlv_epi32(a, n); }
VEC_INLINE vecb veci_bit0(veci a) {
    return _mm256_castsi256_ps(_mm256_srai_epi32(_mm256_slli_epi32(a, 31), 31));
}
VEC_INLINE vecb veci_at_least(veci a, veci b) {
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a));
}

/* Lane l of the result is lane index[l] (modulo VEC_WIDTH) of a. */
VEC_INLINE vec vec_pick(vec a, veci index) { return _mm256_permutevar8x32_ps(a, index); }

/* Keeps a loaded vector in its register: without it gcc folds the load into
 * every use. */
VEC_INLINE vec vec_keep(vec a) {
    __asm__("" : "+x"(a));
    return a;
}

/* sum + a * b in the register of `sum`. Left to itself, gcc moves the accumulators of a product from register
 * to register, which costs 4 % on Zen 3. */
VEC_INLINE vec vec_accumulate(vec sum, vec a, vec b) {
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
    return sum;
}

/* Transposes the VEC_WIDTH x VEC_WIDTH block that the vectors hold. */
VEC_INLINE void vec_transpose(vec r[VEC_WIDTH]) {
    __m256 t[8];
    UNROLL for (int i = 0; i < 8; i += 4) { /* 4 x 4 inside the 128-bit lanes */
        __m256 a = _mm256_unpacklo_ps(r[i], r[i + 1]), b = _mm256_unpackhi_ps(r[i], r[i + 1]);
        __m256 c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
        t[i] = _mm256_shuffle_ps(a, c, 0x44);
        t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
        t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
        t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++) { /* then the lanes themselves */
        r[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
}

/* Lane q of every 128 bits: the sum of those 128 bits of r[q]. */
VEC_INLINE __m256 vec_sums_of_4(const vec r[4]) {
    return _mm256_hadd_ps(_mm256_hadd_ps(r[0], r[1]), _mm256_hadd_ps(r[2], r[3]));
}

/* Lane l of the result is the sum of the lanes of r[l]. */
VEC_INLINE vec vec_sums(const vec r[VEC_WIDTH]) {
    __m256 a = vec_sums_of_4(r), b = vec_sums_of_4(r + 4);
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

/* The sums of parts of `part` lanes (a constant, VEC_PART .. VEC_WIDTH) of as
 * many vectors, one after another. */
VEC_INLINE vec vec_part_sums(int part, const vec *r) {
    if (part == VEC_WIDTH) return vec_sums(r);
    return _mm256_permutevar8x32_ps(vec_sums_of_4(r), _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0));
}

#endif
