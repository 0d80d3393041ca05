/* elements.c: kernels element by element. Plain loops: the compiler makes
 * vectors of them in each instruction set, and no order of sums is at stake.
 */
#include "kernels/impl/activation.h"
#include "kernels/network.h"

VEC_INLINE vec load_some(const float *p, int64_t left) {
    return left >= VEC_WIDTH ? vec_load(p) : vec_load_part(p, (int)left);
}
VEC_INLINE void store_some(float *p, vec x, int64_t left) {
    if (left >= VEC_WIDTH) {
        vec_store(p, x);
    } else {
        vec_store_part(p, x, (int)left);
    }
}

static void add(int64_t count, const float *a, const float *b, float *y) {
    for (int64_t c = 0; c < count; c++) y[c] = a[c] + b[c];
}
static void add_to(int64_t count, const float *x, float *y) {
    for (int64_t c = 0; c < count; c++) y[c] += x[c];
}
static void multiply(int64_t count, const float *a, const float *b, float *y) {
    for (int64_t c = 0; c < count; c++) y[c] = a[c] * b[c];
}
static void scale(int64_t count, float factor, const float *x, float *y) {
    for (int64_t c = 0; c < count; c++) y[c] = factor * x[c];
}

static void activation_all(attn_activation activation, int64_t count, const float *x, float *y) {
    for (int64_t c = 0; c < count; c += VEC_WIDTH) {
        store_some(y + c, activate(activation, load_some(x + c, count - c)), count - c);
    }
}
