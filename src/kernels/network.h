/* network.h: the table of kernels on plain rows, for the operations of a network.
 *
 * One table an instruction set, from one source (impl/network.inc), as for
 * attention (kernels/table.h). A kernel works on contiguous numbers, allocates
 * nothing and cannot fail; cutting work into tasks is the operation's matter.
 * Results may be the same memory as an argument where it says "in place".
 */
#ifndef AT_KERNELS_NETWORK_H
#define AT_KERNELS_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include <attn/linear.h>
#include <attn/operations.h>

#include "base/cpu.h"
#include "base/random.h"

typedef struct at_network {
    /* ---- element by element (impl/elements.c); all of them in place ---- */
    void (*add)(int64_t count, const float *a, const float *b, float *y);      /* y = a + b */
    void (*add_to)(int64_t count, const float *x, float *y);                   /* y += x */
    void (*multiply)(int64_t count, const float *a, const float *b, float *y); /* y = a * b */
    void (*scale)(int64_t count, float factor, const float *x, float *y);      /* y = factor * x */
    void (*activation)(attn_activation activation, int64_t count, const float *x, float *y);

    /* ---- norms, softmax, gates, dropout, rotary positions (impl/norms.c) ---- */

    /* ---- recurrent cells (impl/recurrent.c) ---- */

    /* ---- losses (impl/losses.c) ---- */

    /* ---- optimisers (impl/optimizers.c) ---- */

    int lanes; /* of a vector */
} at_network;

/* The table of an available instruction set. */
const at_network *at_network_for(at_isa isa);

#endif
