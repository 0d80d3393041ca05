/* edit_distance.c: Levenshtein's distance, a row of the table at a time. */
#include <inttypes.h>

#include <attn/scores.h>

#include "base/context.h"
#include "base/memory.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* row[j]: the distance of the first i symbols of `a` to the first j + 1 of `b`, for i = 1, 2, .. */
static int64_t distance_by_rows(const int32_t *a, int64_t a_count, const int32_t *b, int64_t b_count,
                                int64_t *row) {
    for (int64_t j = 0; j < b_count; j++) row[j] = j + 1;
    for (int64_t i = 0; i < a_count; i++) {
        int64_t diagonal = i, left = i + 1;
        for (int64_t j = 0; j < b_count; j++) {
            int64_t above = row[j];
            left = least(least(above, left) + 1, diagonal + (a[i] != b[j]));
            row[j] = left;
            diagonal = above;
        }
    }
    return row[b_count - 1];
}

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
    int64_t *row = at_allocate(context, least(a_count, b_count), sizeof *row, "an edit distance");
    if (!row) return ATTN_OUT_OF_MEMORY;
    *distance = a_count < b_count ? distance_by_rows(b, b_count, a, a_count, row)
                                  : distance_by_rows(a, a_count, b, b_count, row);
    at_release(context, row);
    return ATTN_OK;
}
