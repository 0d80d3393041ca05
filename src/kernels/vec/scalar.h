/* scalar.h: the operations of vec.h with a width of 1, in plain C: the code
 * that runs everywhere, and the first to run on a new machine. */
#ifndef AT_KERNELS_VEC_SCALAR_H
#define AT_KERNELS_VEC_SCALAR_H

#include <math.h>

#define VEC_WIDTH 1
#define VEC_ROWS 4
#define VEC_COLUMNS 4
#define VEC_LEAST_ROWS 1
#define ATTENTION_COLUMNS 4
#define ATTENTION_STEP 1
#define ATTENTION_EDGE 16
#define ATTENTION_UNCOPIED 1
#define VEC_PART VEC_WIDTH

typedef float vec;
typedef uint32_t veci;
typedef int vecb;

VEC_INLINE vec vec_load(const float *p) { return *p; }
VEC_INLINE void vec_store(float *p, vec v) { *p = v; }
VEC_INLINE vec vec_load_part(const float *p, int n) { return n > 0 ? *p : 0.0f; }
VEC_INLINE void vec_store_part(float *p, vec v, int n) {
    if (n > 0) *p = v;
}
VEC_INLINE vec vec_load_halves(const float *p, const float *q) {
    (void)q;
    return *p;
}
VEC_INLINE vec vec_set(float x) { return x; }
VEC_INLINE vec vec_add(vec a, vec b) { return a + b; }
VEC_INLINE vec vec_sub(vec a, vec b) { return a - b; }
VEC_INLINE vec vec_mul(vec a, vec b) { return a * b; }
VEC_INLINE vec vec_div(vec a, vec b) { return a / b; }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return a * b + c; } /* fmaf without hardware is a slow call */
VEC_INLINE vec vec_accumulate(vec sum, vec a, vec b) { return vec_fma(a, b, sum); }
VEC_INLINE vec vec_max(vec a, vec b) { return a > b ? a : b; }
VEC_INLINE vec vec_min(vec a, vec b) { return a < b ? a : b; }
VEC_INLINE vec vec_abs(vec a) { return fabsf(a); }
VEC_INLINE vec vec_copysign(vec magnitude, vec sign) { return copysignf(magnitude, sign); }
VEC_INLINE vec vec_round(vec a) { return rintf(a); }
/* a * 2^n for a whole n in -127 .. 128; 2^-127 counts as 0, 2^128 as inf. */
#define VEC_SCALE2_SATURATES 0
#define VEC_POWER_OF_ZERO (-127.0f)
VEC_INLINE vec vec_scale2(vec a, vec n) {
    uint32_t bits = n >= -127.0f && n <= 128.0f ? (uint32_t)((int32_t)n + 127) << 23 : 0;
    float power;
    memcpy(&power, &bits, sizeof power);
    return a * power;
}

VEC_INLINE vecb vec_equal(vec a, vec b) { return a == b; }
VEC_INLINE vecb vec_less(vec a, vec b) { return a < b; }
VEC_INLINE vec vec_select(vecb m, vec yes, vec no) { return m ? yes : no; }
VEC_INLINE int vec_all(vecb m) { return m; }

VEC_INLINE float vec_sum(vec a) { return a; }
VEC_INLINE float vec_maximum(vec a) { return a; }

VEC_INLINE veci veci_set(uint32_t x) { return x; }
VEC_INLINE veci veci_load(const uint32_t *p) { return *p; }
VEC_INLINE veci veci_lanes(void) { return 0; }
VEC_INLINE veci veci_add(veci a, veci b) { return a + b; }
VEC_INLINE veci veci_mul(veci a, veci b) { return a * b; }
VEC_INLINE veci veci_xor(veci a, veci b) { return a ^ b; }
VEC_INLINE veci veci_shift_right(veci a, int n) { return a >> n; }
VEC_INLINE veci veci_shift_right_lanes(veci a, veci n) { return a >> n; }
VEC_INLINE vecb veci_bit0(veci a) { return (int)(a & 1u); }
VEC_INLINE vecb veci_at_least(veci a, veci b) { return a >= b; }

VEC_INLINE vec vec_pick(vec a, veci index) {
    (void)index;
    return a;
}
VEC_INLINE vec vec_keep(vec a) { return a; }
VEC_INLINE void vec_transpose(vec r[VEC_WIDTH]) { (void)r; }

VEC_INLINE vec vec_sums(const vec r[VEC_WIDTH]) { return r[0]; }
VEC_INLINE vec vec_part_sums(int part, const vec *r) {
    (void)part;
    return r[0];
}

#endif
