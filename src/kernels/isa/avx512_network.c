/* avx512_network.c: the kernels on rows, compiled for AVX512. */
#define AT_BUILD_AVX512
#define NETWORK_TABLE at_network_avx512
#include "kernels/isa/tables.h"

#include "kernels/impl/network.inc"
