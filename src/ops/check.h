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

/* Results share memory with no other tensor of a call: the first `results` of `count` tensors with all after
 * them; NULL, and data NULL: not there. It is refused where it is plain, that is where both fill their memory
 * without gaps. Of views with gaps, which may be woven into each other, nothing is known. */
attn_status at_check_apart(attn_context *context, int results, int count, const char *const *names,
                           const attn_tensor *const *tensors);

/* Sets every element of a result to 0. */
void at_clear_tensor(const attn_tensor *tensor);

#endif
