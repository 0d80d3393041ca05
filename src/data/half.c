/* half.c: from 32 bits to 16 and back, with integers alone: the same everywhere, whatever the rounding mode.
 */
#include "data/half.h"

#include <string.h>

enum { HALF_INFINITE = 0x7c00, HALF_NAN = 0x7e00, FRACTION_BITS = 23, CUT_BITS = 13 };

/* number / 2^bits, to nearest, ties to even. */
static uint32_t shift_rounded(uint32_t number, uint32_t bits) {
    uint32_t kept = number >> bits, rest = number & ((UINT32_C(1) << bits) - 1),
             middle = UINT32_C(1) << (bits - 1);
    return kept + (rest > middle || (rest == middle && (kept & 1)));
}

uint16_t at_half_of(float number) {
    const uint32_t infinite = 0x7f800000, too_large = 0x47800000 /* 2^16 */, normal = 0x38800000 /* 2^-14 */;
    const uint32_t shorter = UINT32_C(112) << FRACTION_BITS; /* the exponents begin so much later */
    uint32_t bits, made;
    memcpy(&bits, &number, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > infinite) {
        made = HALF_NAN;
    } else if (size >= too_large) {
        made = HALF_INFINITE;
    } else if (size >= normal) {
        made =
            shift_rounded(size - shorter, CUT_BITS); /* may continue to the next exponent, or to infinity */
    } else {                                         /* a multiple of 2^-24 */
        uint32_t exponent = size >> FRACTION_BITS, fraction = (size & 0x7fffff) | 0x800000;
        made = exponent < 102 ? 0 : shift_rounded(fraction, 126 - exponent);
    }
    return (uint16_t)(sign | made);
}

float at_half_to_float(uint16_t half) {
    const float smallest = 5.9604644775390625e-08f; /* 2^-24 */
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff,
             bits;
    float number;
    if (exponent == 0) {
        number = (float)fraction * smallest;
        memcpy(&bits, &number, sizeof bits);
    } else {
        bits = ((exponent == 31 ? 255 : exponent + 112) << FRACTION_BITS) | fraction << CUT_BITS;
    }
    bits |= sign;
    memcpy(&number, &bits, sizeof number);
    return number;
}
