/* text.h: text as rows: units, their features, and their embedding table.
 *
 * A row is the sum of the embeddings of its features: the unit itself, and hashed ones: character n-grams of
 * a word with its ends marked, its lower-case form, its shape ("Xxx", "dd"), and n-grams of neighbouring
 * units.
 *
 * Feature ids: unit u of the vocabulary is id u (0 is the unknown unit); hashed features are ids vocabulary
 * .. vocabulary + buckets - 1 of the same table.
 *
 * Everything that depends only on the unit is computed once for each distinct unit (the lexicon); a row is
 * then the number of its unit there. What depends on neighbours is computed when a batch is made, segment by
 * segment.
 *
 * A whole text has features, too (wide.c): a bag of hashed n-grams of its units and their letters, for tasks
 * with one prediction per text.
 */
#ifndef AT_INPUTS_TEXT_TEXT_H
#define AT_INPUTS_TEXT_TEXT_H

#include "data/symbols/numbering.h"
#include "inputs/input.h"
#include "inputs/text/texts.h"

typedef enum at_scheme { AT_SCHEME_NONE, AT_SCHEME_BMES, AT_SCHEME_SPLIT } at_scheme;
typedef enum at_splitter_choice { AT_SPLITTER_AUTO, AT_SPLITTER_NONE } at_splitter_choice;

/* Its part of a configuration (fields.c). */
typedef struct at_text_values {
    int unit, scheme, pretokenized, lowercase, decompose, word_features, one_hot;
    int splitter, spaces; /* at_splitter_choice, at_spacing */
    int64_t vocabulary, min_count, subwords, ngram_min, ngram_max, context, neighbours, buckets, longest,
        stem, columns;
    double unit_dropout, feature_dropout, embedding_rate;
    /* Features of whole texts; wide_buckets 0: there are none. */
    int64_t wide_buckets, wide_units, wide_letters_min, wide_letters_max;
    double wide_rate, wide_dropout;
} at_text_values;

typedef struct at_text_settings {
    int pretokenized; /* texts are split at spaces only, whatever the model does by itself */
    int conllu;       /* sentences that raw text was split into are written as CoNLL-U */
} at_text_settings;

enum {
    AT_TEXT_FIELDS = 29,
    AT_TEXT_SETTINGS = 2,
    AT_TEXT_DEFAULTS = 111,
    AT_TEXT_FLAGS = 9
}; /* checked against the tables */
extern const at_field at_text_fields[AT_TEXT_FIELDS], at_text_setting_fields[AT_TEXT_SETTINGS];
extern const at_flag at_text_flags[AT_TEXT_FLAGS];
extern const at_default at_text_defaults[AT_TEXT_DEFAULTS];
extern const char *const at_text_formats[];
attn_status at_text_check(attn_context *context, const void *values, const at_input_use *use);

/* Pretrained vectors of words, mapped to the width of the rows and added to them. */
typedef struct at_pretrained {
    at_vocabulary words; /* number 0 is "": a word that has none */
    int64_t columns;     /* 0: there are none */
    float *numbers;      /* [words][columns] as read, until the table is made */
    attn_parameter *table;
} at_pretrained;

typedef struct at_text_input {
    at_input input;
    at_text_values values; /* with one_hot, those of features are 0 */
    at_symbols symbols;
    at_pretrained pretrained;
    at_strings expansions; /* scheme split: see split.h */
    /* After it has learned: the units of the examples that it learned from, until those are encoded. */
    at_numbered learned;
    const attn_dataset *learned_from; /* NULL: there are none */
} at_text_input;

static inline const at_text_input *at_text_of(const at_input *input) {
    return (const at_text_input *)(const void *)input;
}

/* How many rows the table of features has: vocabulary + buckets. */
int64_t at_text_features_count(const at_text_input *input);

/* ---- the lexicon ---- */

typedef struct at_entry {
    const char *text; /* ended by a 0; stays where it is as long as the lexicon */
    int32_t length;
    int32_t symbol;        /* its number in the vocabulary, -1: unknown */
    int32_t vector;        /* of the pretrained ones; 0: none */
    int32_t feature_count; /* hashed ones of its own */
    int32_t wide_count;    /* features of whole texts: the n-grams of its letters, after the others */
    int64_t features;      /* where they begin */
    uint64_t hash;         /* for n-grams of neighbouring units */
    uint64_t wide_hash;    /* the same for features of whole texts: always of the lower-case form */
} at_entry;

/* Features that are being made. */
typedef struct at_feature_list {
    int32_t *ids;
    int64_t count, room;
    char *scratch;
    int64_t scratch_room;
} at_feature_list;

/* Distinct units with all that depends on them alone. Counted references: encoded examples hold it, and a
 * predictor may continue with it. */
typedef struct at_lexicon {
    attn_context *context;
    int64_t references;
    at_entry *entries;
    int64_t count, room;
    int32_t *slots; /* open addressing: number + 1, 0 is free; a power of two of them, or none yet */
    int64_t slot_count;
    at_feature_list features;
    struct at_text_block *blocks; /* of texts */
    at_strings texts;             /* of the entries that it was filled with */
} at_lexicon;

attn_status at_lexicon_create(attn_context *context, at_lexicon **lexicon);
void at_lexicon_release(at_lexicon *lexicon); /* one reference; NULL is allowed */
/* The number of a unit, which is added if need be. */
attn_status at_lexicon_add(at_lexicon *lexicon, const at_text_input *input, const char *unit, size_t length,
                           int32_t *number);

/* Fills an empty one with different units, in their order, on all threads; they are its own from then on. */
attn_status at_lexicon_fill(at_lexicon *lexicon, const at_text_input *input, at_strings *units);

/* features.c: the hashed features of an entry that depend on it alone, appended to the list, and its hash. */
attn_status at_entry_features(attn_context *context, const at_text_input *input, at_entry *entry,
                              at_feature_list *list);

/* ---- examples and batches ---- */

typedef struct at_text_encoded {
    at_encoded encoded;
    at_lexicon *lexicon;
    int32_t *units; /* [rows]: their numbers in the lexicon */
    int64_t unit_room;
    at_strings columns, labels; /* of schemes bmes and split: their own targets */
    int64_t *lines;
} at_text_encoded;

/* The features of whole texts of a batch, with their weights. */
typedef struct at_text_wide {
    int32_t *ids;
    float *weights;
    int64_t used, id_room, weight_room;
    int64_t *offsets, offset_room; /* [sequences + 1] */
} at_text_wide;

typedef struct at_text_batch {
    at_batch batch;
    int32_t *ids; /* features of all rows */
    int64_t used, room;
    int64_t *offsets, offset_room; /* [rows + 1] */
    int32_t *vectors;              /* [rows] the pretrained vector of each, if there are any */
    int64_t vector_room;
    at_text_wide wide;
} at_text_batch;

/* encode.c: what a view learns of units, and datasets as their numbers. */
attn_status at_text_learn_units(at_text_input *input, const at_learning *from);
/* Whether an example has more than `most` units: of subwords, which are yet to be learned, words count. */
attn_status at_text_is_longer(const at_input *input, const attn_dataset *dataset, int64_t example,
                              int64_t most, int *longer);
attn_status at_text_encode(const at_input *input, attn_context *context, void **memo,
                           const attn_dataset *dataset, const at_encode_options *options,
                           at_encoded **encoded);
void at_text_free_encoded(at_encoded *encoded);
attn_status at_text_add_row(const at_text_input *input, at_text_encoded *into, const char *unit,
                            size_t length);

/* features.c: the features of rows first .. first + count - 1 of a sequence that begins at row `begins` and
 * ends with them, appended to the batch. The first id of each row is the unit itself. */
attn_status at_text_put_rows(const at_text_input *input, const at_text_encoded *encoded, int64_t begins,
                             int64_t first, int64_t count, at_text_batch *batch);
/* batch.c */
attn_status at_text_create_batch(attn_context *context, at_batch **batch);
attn_status at_text_fill(const at_input *input, const at_encoded *encoded, const at_segments *segments,
                         const int64_t *order, int64_t count, const uint64_t *seed, at_batch *batch);
void at_text_free_batch(at_batch *batch);
attn_status at_text_put_vectors(const at_text_encoded *encoded, const at_segments *segments,
                                const int64_t *order, int64_t count, at_text_batch *batch);

/* wide.c: the features of a text as a whole, all of it however long, appended to the batch; then what
 * training hides of them. Its layer, which maps them to the logits of a head. */
attn_status at_text_put_wide(const at_text_input *input, const at_text_encoded *encoded, int64_t first,
                             int64_t count, at_text_batch *batch);
void at_text_hide_wide(const at_text_values *values, uint64_t seed, int64_t texts, at_text_wide *wide);
void *at_text_build_wide(const at_input *input, attn_parameters *set, const char *name, int64_t columns);
attn_variable *at_text_apply_wide(const at_input *input, const void *layer, attn_tape *tape,
                                  const at_batch *batch);

/* reading.c: files to datasets; describe.c: what is in one. */
int at_text_knows(const char *path);
attn_status at_text_read(attn_context *context, const at_source *source, attn_dataset **dataset);
int at_text_detect(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
int at_text_pieces(int format);
char at_text_quotes(const char *name, const char *bytes, size_t count, const attn_reader_options *options);
attn_status at_text_judge(attn_context *context, const char *name, const attn_reader_options *options,
                          const char *bytes, size_t count, size_t judged);
int at_text_takes_two(const attn_reader_options *options);
attn_status at_text_describe(const attn_dataset *dataset, const attn_describe_options *options,
                             at_writer *writer);

/* units.c: the words of an example as hashes. */
attn_status at_text_units(const attn_dataset *dataset, attn_context *context, int64_t example,
                          at_unit_hashes *units);

/* fill.c, conllu_fill.c: answers in the format of the data. */
attn_status at_text_fill_in(const attn_dataset *dataset, const void *settings, const char *lines,
                            size_t length, const at_cells *cells, at_writer *writer, int *filled);
attn_status at_conllu_fill(const attn_dataset *dataset, const char *lines, size_t length,
                           const at_cells *cells, at_writer *writer, int *filled);

/* bmes.c: characters whose labels say where in a word they stand. */
enum { AT_BMES_LABELS = 4 };
extern const char *const at_bmes_labels[AT_BMES_LABELS];
/* tokens: [rows] the number of the token that each character is of. */
attn_status at_bmes_label(at_text_encoded *encoded, const attn_dataset *dataset, const int64_t *tokens);
const char *at_bmes_check(const at_strings *labels); /* NULL, or what is wrong */
attn_status at_bmes_join(const at_input *input, attn_context *context, const at_encoded *encoded,
                         const at_strings *labels, const int32_t *classes, at_strings *pieces,
                         int64_t **offsets);
attn_status at_bmes_measure(const at_text_encoded *text, const at_strings *labels, const int32_t *truth,
                            const int32_t *answers, at_metric_function add, void *user);

#endif
