/* norm.h: what layer norm and RMS norm share. */
#ifndef AT_TAPE_OPS_NORM_H
#define AT_TAPE_OPS_NORM_H

#include "tape/ops/rowwise.h"

typedef struct at_norm {
    const at_network *network;
    attn_parameter *gain, *bias; /* NULL: none */
    float epsilon;
    int centred;           /* layer norm: the mean is taken away */
    float *mean, *inverse; /* [rows]; mean NULL if not centred */
} at_norm;

/* Checks gain, bias and epsilon, and makes the state for the rows of x. NULL with the error set. */
at_norm *at_norm_create(attn_tape *tape, const char *operation, const attn_variable *x, attn_parameter *gain,
                        attn_parameter *bias, float epsilon, int centred);
attn_variable *at_norm_finish(attn_tape *tape, attn_variable *x, attn_variable *y, at_norm *norm);

#endif
