/* product.h (private): the products of operations that have weights.
 *
 *     forward     y = act(x W^T + b)
 *     backward    g = dy * act'(pre),  dx = g W,  dW = g^T x,  db = column sums of g
 *
 * For training a weight is packed anew in every use: it changes with every step,
 * and nothing is held. For inference the packed form is kept with the parameter,
 * and so it is for a step of several shards (at_tape_keep_packed), where large
 * weights would be packed once for each.
 */
#ifndef AT_TAPE_PRODUCT_H
#define AT_TAPE_PRODUCT_H

#include "tape/tape.h"

/* The weight in kernel order, seen as rows x columns: kept with the parameter,
 * or packed into working memory and described by *own. NULL with the error set. */
const attn_packed_weight *at_packed_weight(attn_tape *tape, attn_parameter *weight, int transposed,
                                           attn_packed_weight *own);

/* bias and pre may be NULL. What goes wrong is the tape's error. */
void at_product_forward(attn_tape *tape, at_view x, attn_parameter *weight, const float *bias,
                        attn_activation activation, at_view y, float *pre);

/* The gradient of x goes to dx (data NULL: not wanted), times factor (NULL: 1;
 * else as large as x, contiguous), those of weight and bias (either may be NULL)
 * to the parameters. pre: as forward left it, needed unless activation is the
 * identity. */
void at_product_backward(attn_tape *tape, at_view d_output, const float *pre, attn_activation activation,
                         at_view x, attn_parameter *weight, attn_parameter *bias, const float *factor,
                         at_view dx);

#endif
