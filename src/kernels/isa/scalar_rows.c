/* scalar_rows.c: the kernels on rows, compiled for SCALAR. */
#define AT_BUILD_SCALAR
#define ROW_KERNELS at_row_kernels_scalar
#include "kernels/isa/tables.h"

#include "kernels/impl/rows.inc"
