/* tables.h: the tables that the stubs beside it define. */
#ifndef AT_KERNELS_ISA_TABLES_H
#define AT_KERNELS_ISA_TABLES_H

#include "kernels/network.h"
#include "kernels/table.h"

extern const at_kernels at_kernels_scalar, at_kernels_neon, at_kernels_avx2, at_kernels_avx512;
extern const at_network at_network_scalar, at_network_neon, at_network_avx2, at_network_avx512;

#endif
