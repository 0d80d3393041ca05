/* attention_staging.c: copies of operands with scattered channels. */
#include "ops/attention_staging.h"

void at_stage(at_staging *staging, at_layout *layout, const attn_tensor *tensor, at_rows *rows,
              int is_result) {
    if (tensor->stride[tensor->rank - 1] == 1 || tensor->shape[tensor->rank - 1] == 1) return;
    int64_t count = 1; /* at_check_tensor has seen that this does not overflow */
    for (int r = 0; r < tensor->rank; r++) count *= tensor->shape[r];
    int e = staging->count++;
    staging->entries[e].view = *tensor;
    staging->entries[e].rows = rows;
    staging->entries[e].offset = at_layout_add(layout, count, sizeof(float));
    staging->entries[e].is_result = is_result;
}

/* Between a strided view and the same elements side by side. */
static void copy_elements(const attn_tensor *view, float *dense, int to_view) {
    int64_t extent[4] = {1, 1, 1, 1}, stride[4] = {0, 0, 0, 0};
    for (int r = 0; r < view->rank; r++) {
        extent[4 - view->rank + r] = view->shape[r];
        stride[4 - view->rank + r] = view->stride[r];
    }
    for (int64_t a = 0; a < extent[0]; a++) {
        for (int64_t b = 0; b < extent[1]; b++) {
            for (int64_t c = 0; c < extent[2]; c++) {
                float *row = (float *)view->data + a * stride[0] + b * stride[1] + c * stride[2];
                for (int64_t d = 0; d < extent[3]; d++, dense++) {
                    if (to_view) {
                        row[d * stride[3]] = *dense;
                    } else {
                        *dense = row[d * stride[3]];
                    }
                }
            }
        }
    }
}

void at_stage_in(const at_staging *staging, unsigned char *memory) {
    for (int e = 0; e < staging->count; e++) {
        const attn_tensor *view = &staging->entries[e].view;
        const int64_t *shape = view->shape + view->rank - 3;
        at_rows rows = {(float *)(memory + staging->entries[e].offset), shape[0] * shape[1] * shape[2],
                        shape[1] * shape[2], shape[2]};
        if (view->rank == 3) rows.sequence = 0;
        /* results too: rows past a sequence's length must come back as they were */
        copy_elements(view, rows.data, 0);
        *staging->entries[e].rows = rows;
    }
}

void at_stage_out(const at_staging *staging, const unsigned char *memory) {
    for (int e = 0; e < staging->count; e++) {
        if (staging->entries[e].is_result) {
            copy_elements(&staging->entries[e].view, (float *)(memory + staging->entries[e].offset), 1);
        }
    }
}
