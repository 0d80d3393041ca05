/* neon.c: the kernels, compiled for NEON. */
#define AT_BUILD_NEON
#define KERNEL_TABLE at_kernels_neon
#define KERNEL_ISA AT_ISA_NEON
#include "kernels/isa/tables.h"

#include "kernels/impl/table.inc"
