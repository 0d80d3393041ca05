/* model.h (private): what a model holds, and how a network is made of a configuration.
 *
 *     features of a row (data/text.h) -> sum of their embeddings -> norm -> stem -> encoder -> for every
 * output a linear map: of each row, or of the pooled rows of a text
 *
 * or, for answers of their own length, the decoder, which sees the encoder's rows and the symbols so far, and
 * from its rows a linear map to the symbols; or, for running text, that map alone.
 *
 * The stem adds to a row a narrow convolution of it and its neighbours: what attention would have to find out
 * from positions, and learns only from much data.
 */
#ifndef AT_MODEL_MODEL_H
#define AT_MODEL_MODEL_H

#include <attn/model.h>
#include <attn/operations.h>
#include <attn/tape.h>

#include "data/batch.h"
#include "data/text.h"
#include "data/vocabulary.h"
#include "model/config.h"
#include "model/safetensors.h"

typedef struct at_output {
    attn_output_kind kind;
    at_vocabulary labels;   /* CLASS, LABELS; none is "" */
    double mean, deviation; /* NUMBER: the network answers (number - mean) / deviation */
    float *class_weights;   /* CLASS: NULL, or how much each counts in the loss */
    attn_crf crf;           /* transitions NULL: none */
} at_output;

/* One network. A model has several only with output.members: each begins and drops differently, learns from
 * the same batches, and the answer is the mean of theirs. */
typedef struct at_network {
    attn_parameter *features; /* the table of embeddings */
    attn_linear *vectors_map; /* NULL, or of pretrained vectors to rows */
    attn_norm *input_norm;
    attn_mixer *stem; /* NULL: none */
    attn_encoder *encoder;
    attn_linear *pool_score;
    attn_linear **outputs; /* [output_count]: to the labels, or to one number */

    /* What says symbols: seq2seq and lm. Symbol 0 ("") begins and ends an answer. */
    attn_parameter *target_table; /* seq2seq: embeds symbols; may be `features` */
    attn_norm *target_norm;
    attn_decoder *decoder;        /* seq2seq */
    attn_parameter *symbol_table; /* symbols x columns: target_table, `features` or its own */
    attn_parameter *symbol_bias;
} at_network;
enum { AT_MOST_MEMBERS = 16 };

/* Pretrained vectors of words, mapped to the width of the rows and added to them. */
typedef struct at_pretrained {
    at_vocabulary words; /* number 0 is "": a word that has none */
    int64_t columns;
    attn_parameter *table;
} at_pretrained;

struct attn_model {
    attn_context *context;
    attn_config *config;
    at_config values;
    at_text text;
    at_text own_target;       /* seq2seq without a shared vocabulary: of the answers */
    const at_text *target;    /* seq2seq: own_target or text; lm: text; else NULL */
    at_pretrained pretrained; /* columns 0: none */
    int output_count;
    at_output *outputs;
    at_strings output_names;
    int per_token;

    attn_parameters *parameters;
    at_network networks[AT_MOST_MEMBERS];
    int members;

    attn_tape *tape;      /* of predictions */
    at_safetensors *file; /* NULL, or where the parameters' values are */
    char *scores;         /* JSON; NULL: "{}" */
};

/* An empty model of a configuration, which is copied. Then: at_text_learn and at_outputs_learn (or what a
 * file has), then at_model_build. */
attn_status at_model_create(attn_config *config, attn_model **model);
/* Makes the network: parameters start from training.seed, or, if `file` is not NULL, are those of the file,
 * which stays with the model (each with its shape; no others may be there). */
attn_status at_model_build(attn_model *model, at_safetensors *file);

/* The outputs for the targets of a dataset: kinds, labels (most frequent first), means. */
attn_status at_outputs_learn(attn_model *model, const attn_dataset *dataset);
void at_outputs_free(attn_model *model);

/* The labels of scheme bmes, in their order. */
enum { AT_BMES_LABELS = 4 };
extern const char *const at_bmes_labels[AT_BMES_LABELS];

/* What the targets of a dataset are in the model's terms, for the rows that at_text_units makes. */
typedef struct at_target {
    int32_t *classes; /* CLASS: [rows or examples]; -1: missing, -2 - u: string u of `unknown`. LABELS: how
                         many labels of the row are unknown */
    float *numbers;   /* NUMBER: [rows or examples], NaN: missing. LABELS: the same x labels of 0 and 1 */
    at_vocabulary unknown; /* labels that the model does not know, with how often they occur */
} at_target;
typedef struct at_targets {
    int64_t examples, rows;
    int64_t *offsets;   /* [examples + 1]: rows of each example */
    at_target *outputs; /* [output_count] */
    int output_count;
} at_targets;
attn_status at_model_targets(const attn_model *model, const attn_dataset *dataset, at_targets *targets);
/* The same where the units of the dataset are there already. */
attn_status at_targets_make(const attn_model *model, const attn_dataset *dataset, const at_units *units,
                            at_targets *targets);
void at_targets_free(attn_context *context, at_targets *targets);

/* The last rows of a network for a batch: of every row, or with an answer per text of every sequence; without
 * the dropout before the output. */
attn_variable *at_network_apply(const attn_model *model, const at_network *network, attn_tape *tape,
                                const at_batch *batch);
/* The loss, all outputs together, the mean over the networks; targets in the order of the batch. NUMBER's are
 * standardised already. */
typedef struct at_batch_targets {
    const int32_t *classes;
    const float *numbers;
} at_batch_targets;
attn_variable *at_model_loss(const attn_model *model, attn_tape *tape, const at_batch *batch,
                             const at_batch_targets *targets);

/* The name of a part of network `member`: the first has it as it is. */
typedef struct at_part_name {
    char text[96];
} at_part_name;
at_part_name at_name_part(int member, const char *part);
attn_parameter *at_add_table(attn_model *model, const char *name, int64_t rows, int64_t columns);

/* ---- symbols: seq2seq and lm (generator.c) ---- */

int at_model_says_symbols(const attn_model *model);
/* Vocabularies from pairs, or from running text. */
attn_status at_generator_learn(attn_model *model, const attn_dataset *dataset);
/* After at_build_input and the encoder of network `member`. */
void at_generator_build(attn_model *model, int member);

/* The symbols of all targets of a dataset of pairs: numbers, -1 for those that are not known; answer e is
 * offsets[e] .. offsets[e + 1] - 1. */
typedef struct at_symbols {
    int32_t *ids;
    int64_t *offsets, examples, count;
    int64_t longest; /* of one answer */
} at_symbols;
/* The number of every unit, -1 for those that are not known. */
attn_status at_find_symbols(const at_text *text, const at_units *units, int32_t *ids);
attn_status at_symbols_of(const attn_model *model, const attn_dataset *pairs, at_symbols *symbols);
void at_symbols_free(attn_context *context, at_symbols *symbols);

/* The rows of a decoder in training: for every answer of a batch symbol 0 and its symbols; to be said are its
 * symbols and symbol 0. */
typedef struct at_decoding {
    int64_t sequences, *offsets; /* [sequences + 1] */
    int32_t *inputs, *said;      /* [rows]; said -1: does not count */
    int64_t offset_room, input_room, said_room;
} at_decoding;
attn_status at_decoding_make(attn_context *context, const at_symbols *symbols, const int64_t *examples,
                             int64_t count, at_decoding *decoding);
void at_decoding_free(attn_context *context, at_decoding *decoding);

/* Scores of the next symbol: of every row of the decoder (seq2seq), or of the network (lm: decoding NULL).
 * weights: NULL, or where the cross-attention of the last block goes. */
attn_variable *at_generator_scores(const attn_model *model, const at_network *network, attn_tape *tape,
                                   const at_batch *batch, const at_decoding *decoding, float *weights);
/* The mean loss of all networks; `said`: [rows]. */
attn_variable *at_generator_loss(const attn_model *model, attn_tape *tape, const at_batch *batch,
                                 const at_decoding *decoding, const int32_t *said);
/* From rows of the decoder (or of the last block) to scores of symbols. */
attn_variable *at_generator_say(const attn_model *model, const at_network *network, attn_tape *tape,
                                attn_variable *x);
/* Symbols embedded, as the decoder takes them. */
attn_variable *at_generator_embed(const attn_model *model, const at_network *network, attn_tape *tape,
                                  const int32_t *ids, int64_t count);

/* Running text (running.c): the number of every unit, as what is to be said after the unit before it: said[u]
 * is that of unit u + 1; the last has -1. Unknown ones are 0. */
attn_status at_running_said(const attn_model *model, const at_units *units, int32_t **said);
/* Chunks that end with the first line that makes them half of `longest` units long, or where they are
 * `longest` units long. The last unit is in none. */
attn_status at_running_segments(const attn_model *model, const at_units *units, int64_t longest,
                                at_segments *segments);
/* How well a model says a text: -log p of all units together (natural logarithm), units and bytes said. */
typedef struct at_surprise {
    double loss;
    int64_t units, bytes, unknown;
} at_surprise;
attn_status at_running_surprise(attn_model *model, const attn_dataset *dataset, at_surprise *surprise);

/* A parameter's values in an open file: an at_parameter_source whose user is the at_safetensors. */
float *at_model_stored(void *file, const char *name, int rank, const int64_t *shape, char *reason,
                       size_t reason_bytes);

/* Puts all of the model into a writer, its parameters' values as they are when the file is written. `parts`
 * is memory that is needed until then. */
enum { AT_MODEL_LISTS = 5 };
typedef struct at_model_parts {
    void *memory[2 * AT_MODEL_LISTS];
} at_model_parts;
attn_status at_model_store(attn_model *model, at_safetensors_writer *writer, at_model_parts *parts);
void at_model_parts_free(attn_context *context, at_model_parts *parts);
/* The model in an open file, which is closed with the model, or, on failure, now. */
attn_status at_model_from_file(attn_context *context, at_safetensors *file, attn_model **model);
attn_status at_model_set_scores(attn_model *model, const char *json);

#endif
