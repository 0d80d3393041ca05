/* recurrent.c: the cells of recurrent networks. */
#include "kernels/network.h"
