/* optimizers.c: one step of the optimisers, on a run of numbers. */
#include "kernels/network.h"
