/* losses.c: losses, a row at a time. */
#include "kernels/network.h"
