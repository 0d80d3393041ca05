/* training.h: small corpora that a tiny network can learn in moments, and training runs on them. */
#ifndef TEST_SUPPORT_TRAINING_H
#define TEST_SUPPORT_TRAINING_H

#include <stddef.h>
#include <stdint.h>

#include <attn/attn.h>

/* Made from the seed; the caller frees it.
 *
 * CoNLL-U: words without spaces between them; UPOS follows from the word, except that "x" is what the word
 * before it says, and XPOS from the place in the sentence; FEATS:Weight is a number of the word. */
char *corpus_conllu(uint64_t seed, int sentences);
/* "label TAB text": the label follows from a word of the text. Words of `set` 1 are others that mean the
 * same (for vectors). */
char *corpus_classes(uint64_t seed, int texts, int set);
/* "number TAB text": 5 + 3 for every "one" - 2 for every "two". */
char *corpus_numbers(uint64_t seed, int texts);
/* fastText lines; labels R, G, B where red, green, blue stand, and P or Q always. */
char *corpus_labels(uint64_t seed, int texts);
/* "source TAB target": one to four letters of a, b, c, and the same from back to front in capitals with
 * spaces between them; the source has spaces, too, if it is `spaced`. */
char *corpus_pairs(uint64_t seed, int pairs, int spaced);
/* Lines of running text: a few sentences, again and again. */
char *corpus_running(uint64_t seed, int lines);
/* Vectors of the words of corpus_classes: those that mean the same are near each other. */
char *corpus_vectors(void);

/* A configuration of a tiny network without dropout, and then what `sets` says: name, value, ..., NULL. Fails
 * the test if a value is refused. */
attn_config *tiny_config(attn_context *context, const char *const *sets);
/* The same for another kind of input than text. */
attn_config *tiny_config_of(attn_context *context, const char *input, const char *const *sets);

/* Fails the test with the context's error if the status is not OK. */
void expect_ok(attn_context *context, attn_status status);
/* The call must have failed with this status, and a text that has `part` in it. */
void expect_refused(attn_context *context, attn_status status, attn_status expected, const char *part);

/* The text as the configuration's reader reads it. */
attn_dataset *parse_corpus(attn_config *config, const char *name, const char *text);

/* One training run; output and what else is in the options are the caller's. dev NULL: held out. */
attn_status train_on(attn_config *config, const char *train, const char *dev,
                     const attn_trainer_options *options);
/* Trains a model, writes it to path and loads it. Destroys the configuration. */
attn_model *train_model(attn_config *config, const char *train, const char *dev, const char *path);

/* All bytes of a file; the caller frees them. NULL: there is none. */
char *file_bytes(const char *path, size_t *length);
int same_files(const char *path, const char *other);

/* Whether all answers of two predictions are the same bits; examples of the second from number `from` on. */
int same_answers(const attn_model *model, const attn_prediction *a, int64_t from, int64_t count,
                 const attn_prediction *b);

/* Empties a folder that has files only, and removes it. */
void remove_folder(const char *folder);

#endif
