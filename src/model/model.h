/* model.h (private): what a model holds, and how a network is made of a configuration.
 *
 *     features of a row (data/text.h) -> sum of their embeddings -> norm -> stem -> encoder -> for every
 * output a linear map: of each row, or of the pooled rows of a text
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

/* The last rows of a network for a batch: of every row, or with an answer per text of every sequence. */
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

/* A parameter's values in an open file: an at_parameter_source whose user is the at_safetensors. */
float *at_model_stored(void *file, const char *name, int rank, const int64_t *shape, char *reason,
                       size_t reason_bytes);

/* Puts all of the model into a writer, its parameters' values as they are when the file is written. `parts`
 * is memory that is needed until then. */
enum { AT_MODEL_LISTS = 3 };
typedef struct at_model_parts {
    void *memory[2 * AT_MODEL_LISTS];
} at_model_parts;
attn_status at_model_store(attn_model *model, at_safetensors_writer *writer, at_model_parts *parts);
void at_model_parts_free(attn_context *context, at_model_parts *parts);
/* The model in an open file, which is closed with the model, or, on failure, now. */
attn_status at_model_from_file(attn_context *context, at_safetensors *file, attn_model **model);
attn_status at_model_set_scores(attn_model *model, const char *json);

#endif
