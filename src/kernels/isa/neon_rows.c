/* neon_rows.c: the kernels on rows, compiled for NEON. */
#define AT_BUILD_NEON
#define ROW_KERNELS at_row_kernels_neon
#include "kernels/isa/tables.h"

#include "kernels/impl/rows.inc"
