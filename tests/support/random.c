/* random.c: the deterministic numbers that tests are filled with. */
#include "support/random.h"

uint64_t random_bits(test_random *random) {
    uint64_t x = random->state ? random->state : 0x853c49e6748fea9bu;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return x * 0x2545f4914f6cdd1du;
}

int64_t random_between(test_random *random, int64_t first, int64_t last) {
    return first + (int64_t)((random_bits(random) >> 16) % (uint64_t)(last - first + 1));
}

bool random_chance(test_random *random, int percent) { return random_between(random, 0, 99) < percent; }

float random_unit(test_random *random) {
    int64_t step = (int64_t)(random_bits(random) >> 40) - (1 << 23);
    return (float)step / (float)(1 << 23);
}

float random_normal(test_random *random) {
    float sum = 0.0f;
    for (int k = 0; k < 4; k++) sum += random_unit(random);
    return sum * 0.8660254f; /* the variance of random_unit is 1/3 */
}
