/* texts.h: what a dataset of text holds: tokens of sentences, or one text an example. */
#ifndef AT_INPUTS_TEXT_TEXTS_H
#define AT_INPUTS_TEXT_TEXTS_H

#include "data/dataset.h"

typedef struct at_texts {
    at_strings tokens; /* one per row */
    int tokenized;     /* examples are sequences of tokens; else each is one text */

    /* CONLLU: glued[t] is 1 where no space follows token t (SpaceAfter=No). any_glued 0: the file does not
     * mark spaces at all. */
    unsigned char *glued;
    int64_t glued_room;
    int any_glued;

    at_strings sources;    /* CONLLU: the lines of each example */
    int split;             /* a splitter has made the sentences of raw text */
    at_strings expansions; /* paragraphs that teach a splitter: see split.h */
} at_texts;

extern const at_content_kind at_texts_kind;

/* The texts of a dataset, which is of this kind. */
static inline at_texts *at_texts_of(const attn_dataset *dataset) { return dataset->content; }

/* An empty dataset of texts. */
attn_status at_texts_dataset(attn_context *context, const char *name, attn_format format, int tokenized,
                             attn_dataset **dataset);
/* Adds a token (or the text) to the example that is being read, then, in the order of the columns, all its
 * targets with at_strings_add(&dataset->targets). */
attn_status at_texts_token(attn_dataset *dataset, const char *text, size_t length, int64_t line, int glued);
/* Ends the example that is being read. */
attn_status at_texts_end(attn_dataset *dataset, const char *source, size_t source_length);
/* Takes back what was added since the last end: the example was bad. */
void at_texts_undo(attn_dataset *dataset);
/* Appends the examples of the pieces of one file, which were read with the same columns; `part` of the file
 * is then read, 0: that is not known. */
attn_status at_texts_join(attn_dataset *all, attn_dataset *const *pieces, int64_t count, double part);

#endif
