/* avx2.c: the kernels, compiled for AVX2. */
#define AT_BUILD_AVX2
#define KERNEL_TABLE at_kernels_avx2
#define KERNEL_ISA AT_ISA_AVX2
#include "kernels/isa/tables.h"

#include "kernels/impl/table.inc"
