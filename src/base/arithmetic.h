/* arithmetic.h: how the CPU computes while kernels run.
 *
 * Subnormal numbers (below 2^-126 for floats) are taken for 0, as operands and
 * as results, and results are rounded to the nearest. A CPU may hand a
 * subnormal number to microcode, which takes a hundred times as long as the
 * instruction (Intel: a multiply-add 108 cycles, vscalefps 171), and weights far
 * below the largest of their row come out so. Where a program or another library
 * has set the mode otherwise, its setting is put aside for as long as a loop over
 * tasks takes, and put back: results do not depend on it, and it is not changed.
 *
 * x86-64: MXCSR; AArch64: FPCR. Elsewhere the mode is left alone.
 */
#ifndef AT_BASE_ARITHMETIC_H
#define AT_BASE_ARITHMETIC_H

#include <stdint.h>

#if defined(__x86_64__)

static inline uint64_t at_arithmetic_get(void) {
    uint32_t mode;
    __asm__ volatile("stmxcsr %0" : "=m"(mode) : : "memory");
    return mode;
}
static inline void at_arithmetic_set(uint64_t mode) {
    uint32_t word = (uint32_t)mode;
    __asm__ volatile("ldmxcsr %0" : : "m"(word) : "memory");
}
#define AT_ARITHMETIC_OF_KERNELS UINT64_C(0x9fc0) /* FTZ, DAZ, all exceptions masked, to the nearest */

#elif defined(__aarch64__)

static inline uint64_t at_arithmetic_get(void) {
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode) : : "memory");
    return mode;
}
static inline void at_arithmetic_set(uint64_t mode) {
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}
#define AT_ARITHMETIC_OF_KERNELS (UINT64_C(1) << 24) /* FZ, to the nearest */

#else

static inline uint64_t at_arithmetic_get(void) { return 0; }
static inline void at_arithmetic_set(uint64_t mode) { (void)mode; }
#define AT_ARITHMETIC_OF_KERNELS UINT64_C(0)

#endif

/* Around calls of kernels: at_arithmetic_end gets what at_arithmetic_begin returned. */
static inline uint64_t at_arithmetic_begin(void) {
    uint64_t before = at_arithmetic_get();
    at_arithmetic_set(AT_ARITHMETIC_OF_KERNELS);
    return before;
}
static inline void at_arithmetic_end(uint64_t before) { at_arithmetic_set(before); }

#endif
