/* check.h: checks of tensors that all operators share. Each returns a status
 * and leaves a text in the context that names the argument. */
#ifndef AT_OPS_CHECK_H
#define AT_OPS_CHECK_H

#include <attn/tensor.h>

#include "base/context.h"

/* "4 x 8 x 64" into a buffer of AT_SHAPE_TEXT bytes; returns it. */
#define AT_SHAPE_TEXT 96
const char *at_shape_text(const attn_tensor *tensor, char *text);

/* A tensor that is there: not NULL, f32, on the CPU, `rank` extents (0: any),
 * none negative, no address out of what an int64 holds, data aligned. data may be NULL if
 * there are no elements. */
attn_status at_check_tensor(attn_context *context, const char *name, const attn_tensor *tensor, int rank);

/* The same for a result: no two elements may share a place (a stride of 0). */
attn_status at_check_result(attn_context *context, const char *name, const attn_tensor *tensor, int rank);

/* tensor has exactly these extents. */
attn_status at_check_shape(attn_context *context, const char *name, const attn_tensor *tensor, int rank,
                           const int64_t *shape, const char *like);

/* Sets every element of a result to 0. */
void at_clear_tensor(const attn_tensor *tensor);

#endif
