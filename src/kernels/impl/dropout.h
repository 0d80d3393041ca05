/* dropout.h: the generator of base/random.h, a vector at a time. */
#ifndef AT_KERNELS_IMPL_DROPOUT_H
#define AT_KERNELS_IMPL_DROPOUT_H

#include "kernels/vec/vec.h"

#define DROPOUT_STEP 0x9e3779b9u /* from one position to the next */

/* Whether the positions with x = position * DROPOUT_STEP + key.a are kept. */
VEC_INLINE vecb dropout_keeps_at(veci x, veci key_b, veci threshold) {
    x = veci_xor(x, veci_shift_right(x, 16));
    x = veci_mul(x, veci_set(0x21f0aaadu));
    x = veci_xor(x, veci_xor(key_b, veci_shift_right(x, 15)));
    x = veci_mul(x, veci_set(0x735a2d97u));
    x = veci_xor(x, veci_shift_right(x, 15));
    return veci_at_least(x, threshold);
}

VEC_INLINE vecb dropout_keeps(veci key_a, veci key_b, veci j, veci threshold) {
    return dropout_keeps_at(veci_add(veci_mul(j, veci_set(DROPOUT_STEP)), key_a), key_b, threshold);
}

#endif
