/* attention_staging.h: operands whose channels do not are contiguous.
 *
 * The kernels want channels with a stride of 1. An operand that has another is
 * copied to the context's memory before the call, and back after it if it is a
 * result: the price of a copy, not of another kernel.
 */
#ifndef AT_OPS_ATTENTION_STAGING_H
#define AT_OPS_ATTENTION_STAGING_H

#include <attn/tensor.h>

#include "base/context.h"
#include "kernels/table.h"

#define AT_MAX_STAGED 8

typedef struct at_staging {
    int count;
    struct {
        attn_tensor view;
        at_rows *rows; /* of the kernel's call: pointed at the copy */
        size_t offset;
        int is_result;
    } entries[AT_MAX_STAGED];
} at_staging;

/* Adds the operand to the list, and its copy to the layout, if it needs one. */
void at_stage(at_staging *staging, at_layout *layout, const attn_tensor *tensor, at_rows *rows,
              int is_result);

/* Copies in, and points the call at the copies. */
void at_stage_in(const at_staging *staging, unsigned char *memory);

/* Copies the results back. */
void at_stage_out(const at_staging *staging, const unsigned char *memory);

#endif
