/* edit_distance.c: Levenshtein's distance, a row of the table at a time. Names of the configuration and the
 * metrics of predictions use it. */
#include "data/edit_distance.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* row[j]: the distance of the first i symbols of `a` to the first j + 1 of `b`, for i = 1, 2, .. */
int64_t at_edit_distance(const int32_t *a, int64_t a_count, const int32_t *b, int64_t b_count, int64_t *row) {
    if (b_count == 0) return a_count;
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
