/* subwords.h: byte-pair encoding.
 *
 * A word is written as the symbols of its characters, with U+2581 for a space: a word after a space begins
 * with it. The most frequent pair of neighbouring symbols in the training text becomes a new symbol, again
 * and again. Words are then split by the same merges in the same order. Characters that do not occur in
 * training are single symbols (unknown to the vocabulary).
 */
#ifndef AT_DATA_SYMBOLS_SUBWORDS_H
#define AT_DATA_SYMBOLS_SUBWORDS_H

#include "data/strings.h"
#include "data/symbols/vocabulary.h"

typedef struct at_subwords {
    at_strings merges;  /* "left right", in the order in which they were learned */
    at_vocabulary rank; /* the same, to be found: number = place in the order */
} at_subwords;

/* Learns merges from words with their counts until there are `symbols` symbols (single characters
 * included) or no pair occurs twice. Equal counts: the pair that is smaller by bytes. */
attn_status at_subwords_learn(attn_context *context, const at_vocabulary *words, int64_t symbols,
                              at_subwords *subwords);
/* From stored merges. INVALID_ARGUMENT if one is not two symbols with a space between, or is there twice. */
attn_status at_subwords_load(attn_context *context, const at_strings *merges, at_subwords *subwords);
/* Appends the symbols of one word. */
attn_status at_subwords_split(attn_context *context, const at_subwords *subwords, const char *word,
                              size_t length, at_strings *symbols);
void at_subwords_free(attn_context *context, at_subwords *subwords);

#endif
