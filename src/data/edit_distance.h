/* edit_distance.h: the edit distance of two sequences of symbols, in memory of the caller. */
#ifndef AT_DATA_EDIT_DISTANCE_H
#define AT_DATA_EDIT_DISTANCE_H

#include <stdint.h>

/* Insertions, deletions and replacements that turn a into b, at least; row: room for b_count numbers. */
int64_t at_edit_distance(const int32_t *a, int64_t a_count, const int32_t *b, int64_t b_count, int64_t *row);

#endif
