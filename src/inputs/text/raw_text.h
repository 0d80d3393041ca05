/* raw_text.h: tokenised sentences as the raw text they were made from, and the position of each token in it.
 *
 * A token is what the text has: a word, or a range of words that are written as one (CoNLL-U: 2-3 don't). The
 * text of a sentence is its `# text`; without one, or if its characters differ from those of the tokens, it
 * is made from the forms and SpaceAfter=No.
 */
#ifndef AT_INPUTS_TEXT_RAW_TEXT_H
#define AT_INPUTS_TEXT_RAW_TEXT_H

#include "data/file.h"
#include "inputs/text/texts.h"

/* What stands between tokens whose text has to be put together, and between sentences. */
typedef enum at_spacing {
    AT_SPACING_AUTO,  /* MARKED if the data has any SpaceAfter=No; else NONE in scripts without spaces between
                         words (Chinese, Japanese, Thai, Lao, Khmer, Burmese), ONE in all others */
    AT_SPACING_NONE,  /* nothing */
    AT_SPACING_ONE,   /* one space */
    AT_SPACING_MARKED /* one space, or nothing where SpaceAfter=No says so */
} at_spacing;

typedef struct at_surface_token {
    int64_t begin, end;        /* bytes in the sentence's text; no white space at either end; the same place
                                  where the token has nothing but white space */
    int64_t first_word, words; /* of the sentence's words; a range has several, seldom one */
    int multiword;             /* it is a range */
} at_surface_token;

/* A sentence. All 0 is an empty one; it can be used for one sentence after another. */
typedef struct at_surface {
    at_bytes text; /* in NFC, with a 0 behind text.count bytes; no white space at either end */
    int paragraph; /* a paragraph begins with it: the first sentence, # newpar, # newdoc */
    int space;     /* a space stands between it and the next sentence of its paragraph */
    int has_text;  /* the text is that of its `# text` */
    int mismatch;  /* it has a `# text` with other characters than its tokens: not used */
    at_surface_token *tokens;
    int64_t count, token_room;
    char *normal; /* for NFC */
    int64_t normal_room;
} at_surface;

/* What AUTO is for this dataset of tokens; others stay what they are. It reads all of the dataset. */
at_spacing at_spacing_of(const attn_dataset *dataset, at_spacing spacing);

/* Sentence `example` of a dataset of tokens (of any format: only CoNLL-U has ranges and `# text`). Texts put
 * together from forms are forms in NFC side by side. spacing: from at_spacing_of, not AUTO. Errors:
 * OUT_OF_MEMORY. */
attn_status at_surface_read(const attn_dataset *dataset, int64_t example, at_spacing spacing,
                            at_surface *surface);
void at_surface_free(attn_context *context, at_surface *surface);

/* The raw text: a dataset of texts, one a paragraph. `# text` lines are joined by spaces, but for scripts
 * that have none; other sentences as `space` says. *mismatches (NULL: not requested): how many sentences have
 * a `# text` that could not be used. Errors: INVALID_ARGUMENT (not tokens), OUT_OF_MEMORY. */
attn_status at_raw_text(const attn_dataset *dataset, at_spacing spacing, attn_dataset **raw,
                        int64_t *mismatches);

#endif
