/* page_code.h: numbers of attention in few characters, for the script of the page.
 *
 * A number is stored as a whole number of steps; of signed ones the sign is the lowest bit (zigzag: 0, -1, 1,
 * -2, ...). A whole number v has the Rice code of parameter k: v >> k ones, a zero, the k low bits of v; from
 * AT_CODE_ESCAPE ones on there is no zero, and AT_CODE_PLAIN_BITS bits are v itself. Bits go from the highest
 * of each byte downwards; the bytes are in base64.
 *
 * The parameter follows the numbers: mean begins as 16 << k with the k of the plane, and after every value v
 * becomes mean + v - (mean >> 4); k is then the whole part of the logarithm of mean >> 4, or 0.
 *
 * A plane is the entries of one head, row by row. In every row stands first, in plain bits, how many of its
 * entries follow: those up to the last that is not 0 (all that are after it are 0). Of a plane of which only
 * the largest entries are kept every entry has its key before it, as the distance from the key after the one
 * before, in the Rice code of the plane's parameter g; entries that are 0 are not kept.
 */
#ifndef AT_EXPLAIN_PAGE_CODE_H
#define AT_EXPLAIN_PAGE_CODE_H

#include "data/writer.h"

#include <attn/explain.h>

enum { AT_CODE_ESCAPE = 24, AT_CODE_PLAIN_BITS = 24, AT_CODE_MOST = (1 << AT_CODE_PLAIN_BITS) - 1 };

/* Rows longer than AT_PAGE_LONG keep their AT_PAGE_TOP largest entries. */
enum { AT_PAGE_LONG = 300, AT_PAGE_TOP = 32 };

/* What stands where: the shape of a map (its weights are ignored), and whether only the largest are
 * kept. */
typedef struct at_plane {
    const attn_map *map;
    int top;
    int has_sign;
    double step; /* all numbers are multiples of it, to half of it */
} at_plane;

/* Memory that planes of one map share. All 0 but the context is empty. */
typedef struct at_coder {
    attn_context *context;
    uint32_t *values; /* of one plane */
    int64_t *counts;  /* of every row: entries that follow */
    uint32_t *gaps;
    unsigned char *bits;
    int64_t value_room, count_room, gap_room, bit_room;
    int64_t kept; /* values of all rows */
} at_coder;

/* {"k":3,"g":2,"step":0.001,"bits":"..."}; numbers: [map->entries]. */
attn_status at_code_plane(at_coder *coder, const at_plane *plane, const float *numbers, at_writer *writer);
void at_coder_free(at_coder *coder);

/* "..." with the base64 of bytes. */
void at_put_base64(at_writer *writer, const unsigned char *bytes, int64_t count);

/* Bits that say how many of at most `most` entries follow. */
static inline int at_count_bits(int64_t most) {
    int bits = 0;
    while (most >> bits) bits++;
    return bits;
}

#endif
