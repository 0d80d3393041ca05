/* random.h: the counter-based generator behind dropout.
 *
 * A weight's random number is a pure function of (seed, sequence, head, query,
 * key): no state, so forward, backward, any thread and any instruction set see
 * the same mask. (seed, sequence, head, query) is mixed once a row into a key
 * of two 32-bit words by splitmix64; each key position j then costs two 32-bit
 * multiplications, the same integer function in every vector width:
 *
 *     x = (j * 0x9e3779b9 + key.a);  x ^= x >> 16;  x *= 0x21f0aaad;
 *     x ^= key.b ^ (x >> 15);        x *= 0x735a2d97;  x ^= x >> 15;
 *
 * (the multipliers are those of the low-bias 32-bit hash of the hash-prospector
 * search). The weight is kept if x >= threshold.
 */
#ifndef AT_BASE_RANDOM_H
#define AT_BASE_RANDOM_H

#include <stdint.h>

typedef struct at_row_key {
    uint32_t a, b;
} at_row_key;

static inline uint64_t at_splitmix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline at_row_key at_random_row(uint64_t seed, int64_t sequence, int64_t head, int64_t query) {
    uint64_t x = at_splitmix64(seed);
    x = at_splitmix64(x ^ (uint64_t)sequence);
    x = at_splitmix64(x ^ (uint64_t)head);
    x = at_splitmix64(x ^ (uint64_t)query);
    at_row_key key = {(uint32_t)x, (uint32_t)(x >> 32)};
    return key;
}

static inline uint32_t at_random_word(at_row_key key, uint32_t j) {
    uint32_t x = j * 0x9e3779b9u + key.a;
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= key.b ^ (x >> 15);
    x *= 0x735a2d97u;
    x ^= x >> 15;
    return x;
}

/* The threshold for a probability p in [0, 1): kept if word >= threshold. */
static inline uint32_t at_random_threshold(float p) { return (uint32_t)((double)p * 4294967296.0); }

#endif
