/* avx512.h: AVX-512 made of AVX2's instructions, for tests on CPUs without it.
 *
 * The build with ATTN_EMULATE_AVX512 includes this before the stubs of the AVX-512 kernels. SIMDe defines the
 * intrinsics that src/kernels/vec/avx512.h is written in; here are those that it lacks (0.7.4), and those
 * that it computes in another way than the CPU does.
 */
#ifndef TEST_EMULATION_AVX512_H
#define TEST_EMULATION_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>

#include <string.h>

#define VEC_REGISTER "m" /* no register is as wide */

#define UNROLL /* nor are there as many: unrolled, a file takes minutes to compile */

#define EMULATED static __attribute__((noinline, unused))

EMULATED simde__m512 emulated_maskz_loadu(simde__mmask16 mask, const float *p) {
    float lanes[16];
    for (int l = 0; l < 16; l++) lanes[l] = mask >> l & 1 ? p[l] : 0.0f; /* others are not touched */
    return simde_mm512_loadu_ps(lanes);
}
EMULATED void emulated_mask_storeu(float *p, simde__mmask16 mask, simde__m512 x) {
    float lanes[16];
    simde_mm512_storeu_ps(lanes, x);
    for (int l = 0; l < 16; l++) {
        if (mask >> l & 1) p[l] = lanes[l];
    }
}
EMULATED simde__m512 emulated_permute(simde__m512 x, int order) {
    float from[16], to[16];
    simde_mm512_storeu_ps(from, x);
    for (int l = 0; l < 16; l++) to[l] = from[l / 4 * 4 + (order >> 2 * (l % 4) & 3)];
    return simde_mm512_loadu_ps(to);
}
EMULATED float emulated_first(simde__m512 x) {
    float lanes[16];
    simde_mm512_storeu_ps(lanes, x);
    return lanes[0];
}
EMULATED float emulated_reduce_max(simde__m512 x) { /* of the halves, then of their halves */
    float lanes[16];
    simde_mm512_storeu_ps(lanes, x);
    for (int half = 8; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) lanes[l] = lanes[l] > lanes[l + half] ? lanes[l] : lanes[l + half];
    }
    return lanes[0];
}

/* a * 2^floor(n), rounded once: by two powers, as one may not be a number. SIMDe multiplies by exp2f(n),
 * which is subnormal or 0 too early. */
EMULATED simde__m512 emulated_scalef(simde__m512 a, simde__m512 n) {
    float x[16], power[16];
    simde_mm512_storeu_ps(x, a);
    simde_mm512_storeu_ps(power, n);
    for (int l = 0; l < 16; l++) {
        float whole = power[l] < -250.0f ? -250.0f : power[l] > 250.0f ? 250.0f : power[l];
        int exponent = whole == whole ? (int)__builtin_floorf(whole) : 0, first = exponent / 2;
        uint32_t bits[2] = {(uint32_t)(127 + first) << 23, (uint32_t)(127 + exponent - first) << 23};
        float factor[2];
        memcpy(factor, bits, sizeof factor);
        x[l] = x[l] * factor[0] * factor[1] + (whole == whole ? 0.0f : power[l]); /* a NaN passes */
    }
    return simde_mm512_loadu_ps(x);
}

/* x less x rounded to a whole number; 0 for an infinity. */
EMULATED simde__m512 emulated_reduce(simde__m512 x) {
    simde__m512 rest = simde_mm512_sub_ps(
        x, simde_mm512_roundscale_ps(x, SIMDE_MM_FROUND_TO_NEAREST_INT | SIMDE_MM_FROUND_NO_EXC));
    const simde__m512 infinity = simde_mm512_set1_ps(__builtin_inff());
    return simde_mm512_mask_blend_ps(
        simde_mm512_cmp_ps_mask(simde_mm512_abs_ps(x), infinity, SIMDE_CMP_EQ_OQ), rest,
        simde_mm512_setzero_ps());
}

#undef _mm512_maskz_loadu_ps
#undef _mm512_mask_storeu_ps
#undef _mm512_permute_ps
#undef _mm512_cvtss_f32
#undef _mm512_reduce_max_ps
#undef _mm512_scalef_ps
#undef _mm512_reduce_ps
#undef _mm512_shuffle_f32x4
#undef _mm512_shuffle_f64x2
#define _mm512_maskz_loadu_ps(mask, p) emulated_maskz_loadu(mask, p)
#define _mm512_mask_storeu_ps(p, mask, x) emulated_mask_storeu(p, mask, x)
#define _mm512_permute_ps(x, order) emulated_permute(x, order)
#define _mm512_cvtss_f32(x) emulated_first(x)
#define _mm512_reduce_max_ps(x) emulated_reduce_max(x)
#define _mm512_scalef_ps(a, n) emulated_scalef(a, n)
#define _mm512_reduce_ps(x, how) emulated_reduce(x) /* how: to the nearest whole number */
#define _mm512_shuffle_f32x4(a, b, order) simde_mm512_shuffle_f32x4(a, b, order)
#define _mm512_shuffle_f64x2(a, b, order) simde_mm512_shuffle_f64x2(a, b, order)

#endif
