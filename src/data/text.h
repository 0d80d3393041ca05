/* text.h: from the text of examples to rows: units, vocabulary, features.
 *
 * A unit is what one row of the network stands for: a word, a character, a byte or a subword. A row is the
 * sum of the embeddings of its features: the unit itself, and hashed ones: character n-grams of a word with
 * its ends marked, its lower-case form, its shape ("Xxx", "dd"), and n-grams of neighbouring units.
 *
 * Feature ids: unit u of the vocabulary is id u (0 is the unknown unit); hashed features are ids
 * vocabulary .. vocabulary + buckets - 1 of the same table.
 */
#ifndef AT_DATA_TEXT_H
#define AT_DATA_TEXT_H

#include "data/dataset.h"
#include "data/strings.h"
#include "data/subwords.h"
#include "data/vocabulary.h"

typedef enum at_unit {
    AT_UNIT_WORDS,
    AT_UNIT_CHARS,
    AT_UNIT_BYTES,
    AT_UNIT_SUBWORDS,
    AT_UNIT_SYMBOLS, /* what stands between spaces */
    AT_UNIT_AUTO     /* what the data looks like: at_text_guess */
} at_unit;
typedef enum at_scheme { AT_SCHEME_NONE, AT_SCHEME_BMES } at_scheme;

typedef struct at_text_options {
    at_unit unit;
    at_scheme scheme;             /* BMES: a character's label says where in its word it stands */
    int pretokenized;             /* words: split raw text at spaces only */
    int lowercase;                /* the unit itself is taken in lower case */
    int64_t vocabulary;           /* at most so many units; 0: no limit */
    int64_t min_count;            /* units that are rarer in training are unknown */
    int64_t subwords;             /* how many symbols byte-pair encoding may have */
    int64_t ngram_min, ngram_max; /* characters in the n-grams of a word; max 0: none */
    int word_features;            /* lower-case form and shape */
    int exact;                    /* the text can be written again from its units: spaces are kept */
    int running;                  /* a unit "\n" ends every example, and one stands before the first */
    int backward;                 /* n-grams and neighbours of a row are those before it */
    int64_t context;              /* n-grams of up to so many neighbouring units; 1 or 0: none */
    int64_t neighbours;           /* units up to so far away are features of a row by themselves */
    int64_t buckets;              /* rows for hashed features; 0: none of them */
} at_text_options;

/* The units of examples. */
typedef struct at_units {
    at_strings units;
    int64_t *offsets, offset_room; /* [examples + 1] */
    int64_t examples;
    int64_t *tokens, token_room; /* [units.count]: the token of the example (its number there) a unit is of */
} at_units;

typedef struct at_text {
    attn_context *context;
    at_text_options options;
    at_vocabulary vocabulary; /* string 0 is "" and stands for unknown units */
    at_subwords subwords;     /* unit SUBWORDS only */
    int learning; /* subwords are yet to be learned: units are words, each with the space before it */
} at_text;

/* Appends the units of all examples of a dataset. Tokens of a tokenized set are the words as they are (unit
 * WORDS), or are taken apart into characters, bytes, subwords; texts are split by at_split_words first where
 * the unit asks for words. With CHARS of a tokenized set, where the file marks spaces, a space is a unit " "
 * (its token number is that of the word before it). */
attn_status at_text_units(const at_text *text, const attn_dataset *dataset, at_units *units);
/* Text from units: appends one to what is there, in the way of text->options (words with spaces between
 * them). The bytes end with a 0. */
typedef struct at_joined {
    char *bytes;
    int64_t count, room;
    int started; /* something of the text, or of its line, is there */
} at_joined;
attn_status at_text_append(const at_text *text, const char *unit, size_t length, at_joined *joined);
/* From byte `from` on, where a character begins, bytes that are no UTF-8 become question marks; unless it is
 * the last time, a character that is not yet whole waits. The bytes that are ready. */
int64_t at_joined_mend(at_joined *joined, int64_t from, int last);

/* The unit that texts look to be made of: SYMBOLS if the pieces between their spaces are few different ones,
 * CHARS if hardly any has spaces or they are short (words, names), else SUBWORDS. */
attn_status at_text_guess(attn_context *context, const at_strings *texts, at_unit *unit);

/* A word in lower case, in a buffer that grows. */
attn_status at_lower_case(attn_context *context, const char **word, size_t *length, char **buffer,
                          int64_t *room);

void at_units_free(attn_context *context, at_units *units);

/* Learns subwords and vocabulary from a dataset's text. text->context and text->options are set. */
attn_status at_text_learn(at_text *text, const attn_dataset *dataset);
void at_text_free(at_text *text);

/* How many rows the table of features has: vocabulary + buckets. */
int64_t at_text_features_count(const at_text *text);

/* The features of units `first` .. `first + count - 1`, which are one sequence: appended to ids, with
 * offsets[0 .. count] saying where each unit's begin (offsets[0] = what *used is at the call). The first id
 * of each is the unit itself. */
typedef struct at_features {
    int32_t *ids;
    int64_t used, room;
    int64_t *offsets; /* [rows + 1] */
    int64_t rows, row_room;
} at_features;
attn_status at_text_features(const at_text *text, const at_units *units, int64_t first, int64_t count,
                             at_features *features);
void at_features_clear(at_features *features);
void at_features_free(attn_context *context, at_features *features);

#endif
