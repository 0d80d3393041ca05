/* split.h: splitting raw text into sentences and words, as labels of its characters (scheme split).
 *
 * A label says what begins and ends with its character:
 *
 *     B  a word begins                I  a word continues                 O  a space between tokens
 *     T  a token ends                 S  a token and the sentence end
 *     U  a token of one character     V  the same at the end of the sentence
 *     W  a word ends, but not its token, which consists of several words (don't: do, n't)
 *     M  a token ends whose words are not parts of it (du: de, le)
 *     N  the same at the end of the sentence
 *
 * The words of M and N come from a list of expansions in the training data. The ends determine the result,
 * and where words begin follows from them, but networks learn better if they also predict it (Chinese, dev:
 * F1 of words 90.9 without B, U and V, 91.9 with them).
 */
#ifndef AT_INPUTS_TEXT_SPLIT_H
#define AT_INPUTS_TEXT_SPLIT_H

#include "inputs/text/text.h"

enum {
    AT_SPLIT_B,
    AT_SPLIT_I,
    AT_SPLIT_O,
    AT_SPLIT_T,
    AT_SPLIT_S,
    AT_SPLIT_U,
    AT_SPLIT_V,
    AT_SPLIT_W,
    AT_SPLIT_M,
    AT_SPLIT_N,
    AT_SPLIT_LABELS
};
extern const char *const at_split_labels[AT_SPLIT_LABELS];

/* split_teach.c: paragraphs with a string of labels each, one a character, made of tokenised sentences; see
 * teach of at_input_kind. */
attn_status at_split_teach(const void *values, const attn_dataset *examples, at_set_function set, void *user,
                           attn_dataset **raw, const char **why);

/* split.c: the targets of paragraphs' characters; how right they are; and the sentences that they make: a
 * dataset of CoNLL-U. */
attn_status at_split_label(at_text_encoded *text, const attn_dataset *dataset);
const char *at_split_check(const at_strings *labels); /* NULL, or what is wrong */
attn_status at_split_measure(const at_text_encoded *text, const int32_t *truth, const int32_t *answers,
                             at_metric_function add, void *user);
attn_status at_split_apply(const at_input *splitter, attn_context *context, const at_encoded *raw,
                           const at_strings *labels, const int32_t *classes, attn_dataset **examples,
                           int64_t **offsets);

/* ---- expansions (expansion.c) ---- */

/* Adds what a token of several words was in training: "token TAB word word ...". */
attn_status at_expansion_add(attn_context *context, at_strings *list, const char *token, size_t length,
                             const at_strings *words, int64_t first, int64_t count);
/* The likeliest words of each token, in lower case and by its name; *list is replaced. */
attn_status at_expansions_learn(attn_context *context, const at_strings *seen, at_strings *list);
const char *at_expansions_check(const at_strings *list); /* NULL, or what is wrong with a list from a file */
/* Appends the words of a token to `words`: those of the list, or by the one with the longest common ending;
 * the token itself if none fits. */
attn_status at_expansion_apply(attn_context *context, const at_strings *list, const char *token,
                               size_t length, at_strings *words);

#endif
