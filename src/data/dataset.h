/* dataset.h (private): what a dataset holds. Readers fill it example by example. */
#ifndef AT_DATA_DATASET_H
#define AT_DATA_DATASET_H

#include <attn/dataset.h>

#include "data/strings.h"

enum { AT_PROBLEMS = 100 };

struct attn_dataset {
    attn_context *context;
    at_strings name; /* one string */
    attn_format format;
    int tokenized;
    int64_t examples, skipped;
    at_strings problems; /* why the first AT_PROBLEMS of the skipped ones were bad */

    /* Tokens (or one text) of all examples, one after another; [examples + 1] says where each begins. */
    at_strings tokens;
    int64_t *offsets, offset_room;
    int64_t *lines, line_room; /* [tokens.count] */

    /* CONLLU: glued[t] is 1 where no space follows token t (SpaceAfter=No). any_glued 0: the file does
     * not mark spaces at all. */
    unsigned char *glued;
    int64_t glued_room;
    int any_glued;

    at_strings columns; /* names of the targets */
    at_strings targets; /* target c of token t (not tokenized: example t) is string t * columns.count + c */
    at_strings sources; /* CONLLU: [examples] */
};

/* An empty one. */
attn_status at_dataset_create(attn_context *context, const char *name, attn_format format, int tokenized,
                              attn_dataset **dataset);
/* Adds a token (or the text) to the example that is being read, then, in the order of the columns, all
 * its targets with at_strings_add(&dataset->targets). */
attn_status at_dataset_token(attn_dataset *dataset, const char *text, size_t length, int64_t line, int glued);
/* Ends the example that is being read. */
attn_status at_dataset_end(attn_dataset *dataset, const char *source, size_t source_length);
/* Takes back what was added since the last end: the example was bad. */
void at_dataset_undo(attn_dataset *dataset);

/* The sources of pairs, their targets, or both (sources first), as a set of texts. */
attn_status at_dataset_sides(const attn_dataset *pairs, int sources, int targets, attn_dataset **texts);

static inline int64_t at_dataset_first(const attn_dataset *dataset, int64_t example) {
    return dataset->offsets[example];
}

#endif
