/* avx512x2.c: the kernels, compiled for AVX512 with tiles for CPUs that have two 512-bit multiply-add units.
 * The kernels on rows are those of avx512_rows.c. */
#define AT_BUILD_AVX512X2
#define KERNEL_TABLE at_kernels_avx512x2
#define KERNEL_ISA AT_ISA_AVX512X2
#include "kernels/isa/tables.h"

#include "kernels/impl/table.inc"
