/* host.c: see the header. */
#include "tape/host.h"

#include "base/memory.h"
#include "tape/tape.h"

attn_status at_host_rows_of(const attn_variable *x, at_host_rows *rows) {
    rows->data = attn_variable_data(x);
    rows->stride = attn_variable_stride(x);
    if (rows->data) return ATTN_OK;
    attn_context *context = at_tape_context(x->tape);
    attn_status status = at_grow(context, &rows->copy, &rows->room, x->rows * x->columns + 1,
                                 sizeof *rows->copy, "rows on the host");
    if (status == ATTN_OK) status = attn_variable_read(x, rows->copy);
    rows->data = rows->copy;
    rows->stride = x->columns;
    return status;
}

void at_host_rows_free(attn_context *context, at_host_rows *rows) {
    at_release(context, rows->copy);
    at_host_rows none = {0};
    *rows = none;
}

attn_status at_host_number(const attn_variable *x, double *number) {
    float read = 0;
    attn_status status = attn_variable_read(x, &read);
    *number = read;
    return status;
}

const float *at_host_value(attn_context *context, const attn_parameter *parameter, float **copy) {
    const float *own = attn_parameter_value(parameter).data;
    *copy = NULL;
    if (own) return own;
    *copy = at_allocate(context, parameter->count, sizeof **copy, "a parameter on the host");
    if (*copy && at_parameter_host_read(parameter, 0, parameter->count, *copy) == ATTN_OK) return *copy;
    at_release(context, *copy);
    *copy = NULL;
    return NULL;
}
