/* scalar.c: the kernels, compiled for SCALAR. */
#define AT_BUILD_SCALAR
#define KERNEL_TABLE at_kernels_scalar
#define KERNEL_ISA AT_ISA_SCALAR
#include "kernels/isa/tables.h"

#include "kernels/impl/table.inc"
