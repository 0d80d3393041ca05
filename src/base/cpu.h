/* cpu.h: the tables of kernels that there are, one an instruction set and two for
 * AVX-512, and which of them this build and this machine (CPU and operating
 * system) have.
 */
#ifndef AT_BASE_CPU_H
#define AT_BASE_CPU_H

#include <stdbool.h>

typedef enum at_isa {
    AT_ISA_SCALAR,
    AT_ISA_NEON,
    AT_ISA_AVX2,
    AT_ISA_AVX512,   /* tiles for CPUs that load vectors as fast as they multiply them */
    AT_ISA_AVX512X2, /* the same instructions; tiles for CPUs with two 512-bit multiply-add units */
    AT_ISA_COUNT
} at_isa;

/* "scalar", "neon", "avx2", "avx512", "avx512x2". */
const char *at_isa_name(at_isa isa);

/* Compiled into this build, and usable here: the CPU has the instructions and
 * the operating system saves the registers (XGETBV). */
bool at_isa_available(at_isa isa);

/* The fastest available one. */
at_isa at_isa_best(void);

/* Whether a CPU is better served by AT_ISA_AVX512X2 than by AT_ISA_AVX512. `version` is EAX of CPUID leaf 1;
 * vendor and brand are its strings; has_amx: CPUID reports AMX tiles. */
bool at_cpu_wants_avx512x2(const char *vendor, unsigned version, const char *brand, bool has_amx);

/* The CPU has the instruction for CRC-32C (SSE4.2, or the CRC extension of ARMv8). */
bool at_cpu_has_crc32c(void);

/* How many cores this process may run on (its affinity mask), at least 1. */
int at_cpu_count(void);

#endif
