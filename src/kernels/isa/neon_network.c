/* neon_network.c: the kernels on rows, compiled for NEON. */
#define AT_BUILD_NEON
#define NETWORK_TABLE at_network_neon
#include "kernels/isa/tables.h"

#include "kernels/impl/network.inc"
