/* tables.h: the tables that the stubs beside it define. */
#ifndef AT_KERNELS_ISA_TABLES_H
#define AT_KERNELS_ISA_TABLES_H

#include "kernels/rows.h"
#include "kernels/table.h"

extern const at_kernels at_kernels_scalar, at_kernels_neon, at_kernels_avx2, at_kernels_avx512,
    at_kernels_avx512x2;
extern const at_row_kernels at_row_kernels_scalar, at_row_kernels_neon, at_row_kernels_avx2,
    at_row_kernels_avx512;

#endif
