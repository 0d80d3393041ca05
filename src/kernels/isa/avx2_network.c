/* avx2_network.c: the kernels on rows, compiled for AVX2. */
#define AT_BUILD_AVX2
#define NETWORK_TABLE at_network_avx2
#include "kernels/isa/tables.h"

#include "kernels/impl/network.inc"
