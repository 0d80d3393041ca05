/* alignment.h: which unit of a source every symbol of an answer looks at, as a heat map in the terminal. */
#ifndef CLI_ALIGNMENT_H
#define CLI_ALIGNMENT_H

#include <stdint.h>

#include <attn/attn.h>

#include "terminal.h"

/* The best answer to an example: the answer with its score, then a row for each of its symbols and a column
 * for each unit of the source, as many as `width` cells hold. */
void alignment_print(const char *source, const attn_prediction *prediction, int64_t example,
                     terminal_color color, int width);
/* What the shades or colours mean. */
void alignment_legend(terminal_color color);

#endif
