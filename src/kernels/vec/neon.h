/* neon.h: the operations of vec.h with AArch64 Advanced SIMD. */
#ifndef AT_KERNELS_VEC_NEON_H
#define AT_KERNELS_VEC_NEON_H

#if !defined(__aarch64__)
#error "NEON kernels are for AArch64"
#endif

#include <arm_neon.h>

#define VEC_WIDTH 4
#define VEC_ROWS 8
#define VEC_COLUMNS 3
#define VEC_LEAST_ROWS 1
#define ATTENTION_COLUMNS 2
#define ATTENTION_UNCOPIED 1
#define VEC_PART VEC_WIDTH

typedef float32x4_t vec;
typedef uint32x4_t veci;
typedef uint32x4_t vecb; /* all ones or all zeros a lane */

VEC_INLINE vec vec_load(const float *p) { return vld1q_f32(p); }
VEC_INLINE void vec_store(float *p, vec v) { vst1q_f32(p, v); }
VEC_INLINE vec vec_load_part(const float *p, int n) {
    float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = 0; i < n && i < 4; i++) lanes[i] = p[i];
    return vld1q_f32(lanes);
}
VEC_INLINE void vec_store_part(float *p, vec v, int n) {
    float lanes[4];
    vst1q_f32(lanes, v);
    for (int i = 0; i < n && i < 4; i++) p[i] = lanes[i];
}
/* The first half of a vector from one place, the second from another. */
VEC_INLINE vec vec_load_halves(const float *p, const float *q) {
    return vcombine_f32(vld1_f32(p), vld1_f32(q));
}
VEC_INLINE vec vec_set(float x) { return vdupq_n_f32(x); }
VEC_INLINE vec vec_add(vec a, vec b) { return vaddq_f32(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return vsubq_f32(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return vmulq_f32(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return vdivq_f32(a, b); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
VEC_INLINE vec vec_accumulate(vec sum, vec a, vec b) { return vec_fma(a, b, sum); }
VEC_INLINE vec vec_max(vec a, vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
VEC_INLINE vec vec_abs(vec a) { return vabsq_f32(a); }
VEC_INLINE vec vec_copysign(vec magnitude, vec sign) {
    return vbslq_f32(vdupq_n_u32(0x80000000u), sign, magnitude);
}
VEC_INLINE vec vec_round(vec a) { return vrndnq_f32(a); }
/* a * 2^n for a whole n in -127 .. 128; 2^-127 counts as 0, 2^128 as inf. */
#define VEC_SCALE2_SATURATES 0
#define VEC_POWER_OF_ZERO (-127.0f)
VEC_INLINE vec vec_scale2(vec a, vec n) {
    int32x4_t exponent = vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127));
    return vmulq_f32(a, vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)));
}

VEC_INLINE vecb vec_equal(vec a, vec b) { return vceqq_f32(a, b); }
VEC_INLINE vecb vec_less(vec a, vec b) { return vcltq_f32(a, b); }
VEC_INLINE vec vec_select(vecb m, vec yes, vec no) { return vbslq_f32(m, yes, no); }
VEC_INLINE int vec_all(vecb m) { return vminvq_u32(m) == 0xffffffffu; }

VEC_INLINE float vec_sum(vec a) { return vaddvq_f32(a); }
VEC_INLINE float vec_maximum(vec a) { return vmaxvq_f32(a); }

VEC_INLINE veci veci_set(uint32_t x) { return vdupq_n_u32(x); }
VEC_INLINE veci veci_load(const uint32_t *p) { return vld1q_u32(p); }
VEC_INLINE veci veci_lanes(void) {
    static const uint32_t lanes[4] = {0, 1, 2, 3};
    return vld1q_u32(lanes);
}
VEC_INLINE veci veci_add(veci a, veci b) { return vaddq_u32(a, b); }
VEC_INLINE veci veci_mul(veci a, veci b) { return vmulq_u32(a, b); }
VEC_INLINE veci veci_xor(veci a, veci b) { return veorq_u32(a, b); }
VEC_INLINE veci veci_shift_right(veci a, int n) { return vshlq_u32(a, vdupq_n_s32(-n)); }
VEC_INLINE veci veci_shift_right_lanes(veci a, veci n) {
    return vshlq_u32(a, vnegq_s32(vreinterpretq_s32_u32(n)));
}
VEC_INLINE vecb veci_bit0(veci a) { return vtstq_u32(a, vdupq_n_u32(1)); }
VEC_INLINE vecb veci_at_least(veci a, veci b) { return vcgeq_u32(a, b); }

/* Lane l of the result is lane index[l] (modulo VEC_WIDTH) of a. */
VEC_INLINE vec vec_pick(vec a, veci index) {
    /* every index as that of four bytes */
    uint32x4_t bytes = vmlaq_n_u32(vdupq_n_u32(0x03020100u), vandq_u32(index, vdupq_n_u32(3)), 0x04040404u);
    return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(a), vreinterpretq_u8_u32(bytes)));
}

/* Keeps a loaded vector in its register. */
VEC_INLINE vec vec_keep(vec a) {
    __asm__("" : "+w"(a));
    return a;
}

/* Transposes the VEC_WIDTH x VEC_WIDTH block that the vectors hold. */
VEC_INLINE void vec_transpose(vec r[VEC_WIDTH]) {
    float32x4_t a = vtrn1q_f32(r[0], r[1]), b = vtrn2q_f32(r[0], r[1]);
    float32x4_t c = vtrn1q_f32(r[2], r[3]), d = vtrn2q_f32(r[2], r[3]);
    r[0] = vcombine_f32(vget_low_f32(a), vget_low_f32(c));
    r[1] = vcombine_f32(vget_low_f32(b), vget_low_f32(d));
    r[2] = vcombine_f32(vget_high_f32(a), vget_high_f32(c));
    r[3] = vcombine_f32(vget_high_f32(b), vget_high_f32(d));
}

/* Lane l of the result is the sum of the lanes of r[l]. */
VEC_INLINE vec vec_sums(const vec r[VEC_WIDTH]) {
    return vpaddq_f32(vpaddq_f32(r[0], r[1]), vpaddq_f32(r[2], r[3]));
}

/* The sums of parts of `part` lanes (a constant, VEC_PART .. VEC_WIDTH) of as
 * many vectors, one after another. */
VEC_INLINE vec vec_part_sums(int part, const vec *r) {
    (void)part;
    return vec_sums(r);
}

#endif
