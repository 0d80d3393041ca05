/* check.c: checks of tensors that all operators share. */
#include "ops/check.h"

#include <inttypes.h>
#include <stdio.h>

const char *at_shape_text(const attn_tensor *tensor, char *text) {
    size_t used = 0;
    text[0] = '\0';
    for (int r = 0; r < tensor->rank && r < ATTN_MAX_RANK; r++) {
        int n = snprintf(text + used, AT_SHAPE_TEXT - used, "%s%" PRId64, r ? " x " : "", tensor->shape[r]);
        if (n < 0 || (size_t)n >= AT_SHAPE_TEXT - used) break;
        used += (size_t)n;
    }
    return text;
}

/* The farthest element, in bytes from the first, must be an int64. */
static int span_overflows(const attn_tensor *tensor) {
    uint64_t span = 0, limit = INT64_MAX / sizeof(float);
    for (int r = 0; r < tensor->rank; r++) {
        uint64_t steps = (uint64_t)tensor->shape[r] - (tensor->shape[r] > 0);
        int64_t stride = tensor->stride[r];
        uint64_t step = stride < 0 ? (uint64_t)0 - (uint64_t)stride : (uint64_t)stride;
        if (step > 0 && steps > (limit - span) / step) return 1;
        span += steps * step;
    }
    return 0;
}

attn_status at_check_tensor(attn_context *context, const char *name, const attn_tensor *tensor, int rank) {
    char text[AT_SHAPE_TEXT];
    if (!tensor) return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is NULL", name);
    if (tensor->rank < 1 || tensor->rank > ATTN_MAX_RANK) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s has rank %d; a tensor has 1 to %d extents", name,
                       tensor->rank, ATTN_MAX_RANK);
    }
    if (rank && tensor->rank != rank) {
        return at_fail(context, ATTN_SHAPE_MISMATCH, "%s has %d extents (%s) where %d are needed", name,
                       tensor->rank, at_shape_text(tensor, text), rank);
    }
    if (tensor->dtype != ATTN_F32) {
        return at_fail(context, ATTN_UNSUPPORTED, "%s has dtype %d; only ATTN_F32 is supported", name,
                       (int)tensor->dtype);
    }
    if (tensor->device != ATTN_CPU) {
        return at_fail(context, ATTN_UNSUPPORTED, "%s is on device %d; only ATTN_CPU is supported", name,
                       (int)tensor->device);
    }
    uint64_t count = 1;
    for (int r = 0; r < tensor->rank; r++) {
        if (tensor->shape[r] < 0) {
            return at_fail(context, ATTN_INVALID_ARGUMENT, "%s has a negative extent (%s)", name,
                           at_shape_text(tensor, text));
        }
        uint64_t extent = (uint64_t)tensor->shape[r];
        if (extent > 0 && count > (uint64_t)INT64_MAX / sizeof(float) / extent) {
            return at_fail(context, ATTN_OVERFLOW, "%s has more elements (%s) than a size can count", name,
                           at_shape_text(tensor, text));
        }
        count *= extent;
    }
    if (span_overflows(tensor)) {
        return at_fail(context, ATTN_OVERFLOW, "the strides of %s (%s) reach past what an address can hold",
                       name, at_shape_text(tensor, text));
    }
    if (!tensor->data && count > 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s (%s) has data NULL", name,
                       at_shape_text(tensor, text));
    }
    if ((uintptr_t)tensor->data % sizeof(float) != 0 && count > 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%s (%s) has data at an address that is not a multiple of %zu: floats are aligned",
                       name, at_shape_text(tensor, text), sizeof(float));
    }
    return ATTN_OK;
}

attn_status at_check_result(attn_context *context, const char *name, const attn_tensor *tensor, int rank) {
    attn_status status = at_check_tensor(context, name, tensor, rank);
    if (status != ATTN_OK) return status;
    for (int r = 0; r < tensor->rank; r++) {
        if (tensor->shape[r] == 0) return ATTN_OK;
    }
    for (int r = 0; r < tensor->rank; r++) {
        if (tensor->stride[r] == 0 && tensor->shape[r] > 1) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "%s is written, but its stride %d is 0: elements would share a place", name, r);
        }
    }
    return ATTN_OK;
}

attn_status at_check_shape(attn_context *context, const char *name, const attn_tensor *tensor, int rank,
                           const int64_t *shape, const char *like) {
    attn_tensor wanted = {.rank = rank};
    char have[AT_SHAPE_TEXT], want[AT_SHAPE_TEXT];
    int equal = tensor->rank == rank;
    for (int r = 0; r < rank; r++) {
        wanted.shape[r] = shape[r];
        equal = equal && tensor->shape[r] == shape[r];
    }
    if (equal) return ATTN_OK;
    return at_fail(context, ATTN_SHAPE_MISMATCH, "%s is %s but has to be %s (%s)", name,
                   at_shape_text(tensor, have), at_shape_text(&wanted, want), like);
}

/* Where a tensor lies. full: it leaves no gaps. */
typedef struct occupied {
    uintptr_t begin, end; /* the same: nothing lies there */
    int full;
} occupied;

static occupied occupied_by(const attn_tensor *tensor) {
    occupied found = {0, 0, 0};
    if (!tensor || !tensor->data) return found;
    int64_t count = 1, before = 0, after = 0; /* elements; checked tensors do not overflow them */
    for (int r = 0; r < tensor->rank; r++) {
        int64_t steps = tensor->shape[r] - 1, stride = tensor->stride[r];
        count *= tensor->shape[r];
        if (stride < 0) before -= steps * stride;
        if (stride > 0) after += steps * stride;
    }
    if (count == 0) return found;
    found.begin = (uintptr_t)tensor->data - (uintptr_t)before * sizeof(float);
    found.end = (uintptr_t)tensor->data + ((uintptr_t)after + 1) * sizeof(float);
    found.full = before + after + 1 <= count;
    return found;
}

attn_status at_check_apart(attn_context *context, int results, int count, const char *const *names,
                           const attn_tensor *const *tensors) {
    enum { MOST = 12 };
    occupied found[MOST];
    for (int t = 0; t < count && t < MOST; t++) found[t] = occupied_by(tensors[t]);
    for (int r = 0; r < results && r < MOST; r++) {
        for (int t = r + 1; t < count && t < MOST; t++) {
            int apart = found[r].end <= found[t].begin || found[t].end <= found[r].begin;
            if (apart || !found[r].full || !found[t].full) continue;
            return at_fail(context, ATTN_INVALID_ARGUMENT, "%s overlaps %s: results need memory of their own",
                           names[r], names[t]);
        }
    }
    return ATTN_OK;
}

/* Sets every element of a result to 0: what no pair adds to stays so. */
void at_clear_tensor(const attn_tensor *tensor) {
    int64_t extent[4] = {1, 1, 1, 1}, stride[4] = {0, 0, 0, 0};
    for (int r = 0; r < tensor->rank; r++) {
        extent[r] = tensor->shape[r];
        stride[r] = tensor->stride[r];
    }
    float *data = tensor->data;
    for (int64_t a = 0; a < extent[0]; a++) {
        for (int64_t b = 0; b < extent[1]; b++) {
            for (int64_t c = 0; c < extent[2]; c++) {
                float *row = data + a * stride[0] + b * stride[1] + c * stride[2];
                for (int64_t d = 0; d < extent[3]; d++) row[d * stride[3]] = 0.0f;
            }
        }
    }
}
