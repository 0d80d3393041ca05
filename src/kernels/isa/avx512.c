/* avx512.c: the kernels, compiled for AVX512. */
#define AT_BUILD_AVX512
#define KERNEL_TABLE at_kernels_avx512
#define KERNEL_ISA AT_ISA_AVX512
#include "kernels/isa/tables.h"

#include "kernels/impl/table.inc"
