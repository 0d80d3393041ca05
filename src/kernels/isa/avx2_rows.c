/* avx2_rows.c: the kernels on rows, compiled for AVX2. */
#define AT_BUILD_AVX2
#define ROW_KERNELS at_row_kernels_avx2
#include "kernels/isa/tables.h"

#include "kernels/impl/rows.inc"
