/* scalar_network.c: the kernels on rows, compiled for SCALAR. */
#define AT_BUILD_SCALAR
#define NETWORK_TABLE at_network_scalar
#include "kernels/isa/tables.h"

#include "kernels/impl/network.inc"
