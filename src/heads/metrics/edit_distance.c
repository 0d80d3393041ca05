/* edit_distance.c: the public edit distance: checks, what both have in common, and memory for the rest. */
#include <inttypes.h>

#include <attn/metrics.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/edit_distance.h"

attn_status attn_edit_distance(attn_context *context, const int32_t *a, int64_t a_count, const int32_t *b,
                               int64_t b_count, int64_t *distance) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (a_count < 0 || b_count < 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "the edit distance of %" PRId64 " and %" PRId64 " symbols", a_count, b_count);
    }
    if (!distance || (a_count && !a) || (b_count && !b)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is NULL",
                       !distance         ? "distance"
                       : (a_count && !a) ? "a"
                                         : "b");
    }
    /* Beginnings and ends in common cost nothing and are often most of it. */
    while (a_count && b_count && a[0] == b[0]) a++, b++, a_count--, b_count--;
    while (a_count && b_count && a[a_count - 1] == b[b_count - 1]) a_count--, b_count--;
    if (!a_count || !b_count) {
        *distance = a_count + b_count;
        return ATTN_OK;
    }
    int shorter = a_count < b_count; /* a is: the memory is that of the shorter one */
    int64_t *row = at_allocate(context, shorter ? a_count : b_count, sizeof *row, "an edit distance");
    if (!row) return ATTN_OUT_OF_MEMORY;
    *distance = shorter ? at_edit_distance(b, b_count, a, a_count, row)
                        : at_edit_distance(a, a_count, b, b_count, row);
    at_release(context, row);
    return ATTN_OK;
}
