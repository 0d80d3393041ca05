/* plan.h: which rows go through the network together.
 *
 * Segments are consecutive rows of one example: the whole example, or, if it is longer than the limit, its
 * pieces (one prediction per row) or its beginning (one prediction per example: an encoder reads it in
 * overlapping windows, so the limit is that of several windows). A plan orders the segments
 * of an epoch into batches of about the same number of rows: shuffled, then sorted by length within groups of
 * some batches, so that the sequences of a batch have similar lengths, then the batches shuffled. It is a
 * function of (lengths, budget, seed) alone.
 *
 * An epoch of very many segments is planned in windows, one after another, so that a plan takes little
 * memory, and little time before the first batch.
 */
#ifndef AT_DATA_PLAN_H
#define AT_DATA_PLAN_H

#include <stdint.h>

#include <attn/context.h>

typedef struct at_segment {
    int64_t example;
    int64_t first, count; /* rows, counted over all examples */
    int64_t answer;       /* symbols of its answer: they count in the plan */
} at_segment;

typedef struct at_segments {
    at_segment *list;
    int64_t count, room;
} at_segments;

attn_status at_segments_add(attn_context *context, at_segments *segments, at_segment segment);
/* offsets: [examples + 1]. Examples without rows have a segment of count 0 with `in_pieces` 0, none with 1.
 */
attn_status at_segments_make(attn_context *context, int64_t examples, const int64_t *offsets, int64_t longest,
                             int in_pieces, at_segments *segments);
/* Windows of at most `longest` rows over a sequence: as few as possible, of equal length and evenly spaced,
 * overlapping by at least an eighth. at_windows: their number for a sequence of `rows` rows, at least 1.
 * at_window_first: the row at which window w of `windows` starts. at_windows_rows: the number of rows that
 * `windows` of them can read. */
int64_t at_windows(int64_t rows, int64_t longest);
int64_t at_window_first(int64_t rows, int64_t longest, int64_t windows, int64_t w);
int64_t at_windows_rows(int64_t longest, int64_t windows);
/* The rows of the segments order[0 .. count - 1]. */
int64_t at_segments_rows(const at_segments *segments, const int64_t *order, int64_t count);
void at_segments_free(attn_context *context, at_segments *segments);

/* All 0 is empty. It is made again and again in the same memory. */
typedef struct at_plan {
    int64_t *order; /* [segments of the window]: their numbers, batch after batch */
    int64_t *first; /* [batches + 1]: where each batch begins in `order` */
    int64_t batches;
    int64_t order_room, first_room;
    void *scratch;
    int64_t scratch_room;
} at_plan;

/* In order of length, longest first: for evaluation. */
attn_status at_plan_sorted(attn_context *context, const at_segments *segments, int64_t rows_per_batch,
                           at_plan *plan);
/* How many windows an epoch has: one for up to 262,144 segments. */
int64_t at_plan_windows(int64_t segments);
/* Window 0 .. at_plan_windows - 1 of the epoch of a seed: each segment is in one of them. */
attn_status at_plan_shuffled(attn_context *context, const at_segments *segments, int64_t rows_per_batch,
                             uint64_t seed, int64_t window, at_plan *plan);
/* Deals the segments order[0 .. count - 1] of a batch out to `pieces` parts, 1 .. count, of about the same
 * number of units. They are halved as long as `pieces` is even, so that the first half of the parts has as
 * much as the second, and so on within the halves. Segments are dealt one after another, each to the part
 * that has least: with the longest first, as in a plan, parts of many segments are about equal.
 * `order` is put in the order of the parts: part i is first[i] .. first[i + 1] - 1, counted from 0. first:
 * room for pieces + 1; scratch: for 3 pieces + 2 count. */
void at_plan_deal(const at_segments *segments, int64_t *order, int64_t count, int64_t pieces, int64_t *first,
                  int64_t *scratch);
/* Rows and symbols of answers, together. */
int64_t at_segments_units(const at_segments *segments, const int64_t *order, int64_t count);
void at_plan_free(attn_context *context, at_plan *plan);

#endif
