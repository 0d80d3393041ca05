/* half.h: numbers of 16 bits (IEEE 754 binary16: a sign, 5 bits of exponent, 10 of fraction). */
#ifndef AT_DATA_HALF_H
#define AT_DATA_HALF_H

#include <stdint.h>

/* The nearest, of two that are as near the even one; infinite from 65520 on. NaN stays NaN. */
uint16_t at_half_of(float number);
float at_half_to_float(uint16_t half);

#endif
