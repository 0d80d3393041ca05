/* cuts.h: where a text file can be divided into pieces that are parsed separately. */
#ifndef AT_INPUTS_TEXT_CUTS_H
#define AT_INPUTS_TEXT_CUTS_H

#include <stddef.h>
#include <stdint.h>

typedef struct at_cuts {
    int blocks;  /* after blank lines only */
    char quotes; /* 0, or what parts fields that may be quoted, with line ends in them */
} at_cuts;

/* Of bytes that begin where a piece does: the last place at or before `wanted` where they can be cut, or the
 * first one after it; 0: there is none. begins: a byte order mark may are there. */
size_t at_cut(const at_cuts *cuts, const char *bytes, size_t count, size_t wanted, int begins);

/* The lines of a piece, the last of which may have no end. */
int64_t at_lines_in(const char *bytes, size_t count);
/* Where so many lines end; 0: there are fewer. */
size_t at_lines_end(const char *bytes, size_t count, int64_t lines);

#endif
