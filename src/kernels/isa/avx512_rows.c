/* avx512_rows.c: the kernels on rows, compiled for AVX512. */
#define AT_BUILD_AVX512
#define ROW_KERNELS at_row_kernels_avx512
#include "kernels/isa/tables.h"

#include "kernels/impl/rows.inc"
