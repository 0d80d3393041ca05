/* norms.c: norms, softmax, gates, dropout and rotary positions, a row at a time. */
#include "kernels/network.h"
