/* random.h: the deterministic numbers that tests are filled with.
 *
 * A generator of its own, so that no test's input depends on the one in the
 * library.
 */
#ifndef TEST_SUPPORT_RANDOM_H
#define TEST_SUPPORT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct test_random {
    uint64_t state;
} test_random;

/* 64 fresh bits (xorshift64*; a state of 0 starts from a constant). */
uint64_t random_bits(test_random *random);

/* An integer in first .. last, both included. */
int64_t random_between(test_random *random, int64_t first, int64_t last);

/* True in `percent` of 100 draws. */
bool random_chance(test_random *random, int percent);

/* Uniform in [-1, 1), a multiple of 2^-23: exact in f32. */
float random_unit(test_random *random);

/* Of mean 0 and variance 1, bounded by 3.5 (a sum of four uniforms). */
float random_normal(test_random *random);

#endif
