/* numbering.h: numbers the units of many texts, on all threads of a context.
 *
 * Texts are divided into ranges of about a megabyte. A worker splits those of a range and numbers their units
 * in a table of its own, which stays in its cache; the tables are then merged into the common list in order.
 * So units are numbered by first occurrence, for any number of threads and any ranges, and only a few ranges
 * are in memory besides the result.
 *
 * Subwords take two steps: the words are numbered, then each different word is split once.
 */
#ifndef AT_DATA_SYMBOLS_NUMBERING_H
#define AT_DATA_SYMBOLS_NUMBERING_H

#include "data/symbols/symbols.h"

typedef struct at_numbered {
    at_vocabulary units; /* the different ones, in the order in which they first occur, with their counts: a
                            list, in which nothing can be looked up */
    int32_t *ids;        /* [count] the units of all texts that are numbered, one after another */
    int64_t count, room;
    int64_t *offsets, offset_room; /* [texts.numbered + 1] where the units of each text begin */
} at_numbered;

/* Units as the symbols have them; with `words`, of subwords: the words that those are parts of. *numbered is
 * empty before, and on failure after. */
attn_status at_number_texts(attn_context *context, const at_symbols *symbols, const at_text_list *texts,
                            int words, at_numbered *numbered);
/* From words to their subwords, of so many texts that were numbered. *units is empty before, and on failure
 * after. */
attn_status at_number_subwords(attn_context *context, const at_symbols *symbols, const at_numbered *words,
                               int64_t texts, at_numbered *units);
/* Both, for symbols that have been learned. */
attn_status at_number_units(attn_context *context, const at_symbols *symbols, const at_text_list *texts,
                            at_numbered *numbered);
void at_numbered_free(attn_context *context, at_numbered *numbered);

#endif
