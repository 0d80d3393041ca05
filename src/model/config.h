/* config.h (private): the values of a configuration, as the code reads them.
 *
 * Each configurable part of the library (the task, reading, every kind of input, the encoder, the heads,
 * training) has a table of fields and a struct that they fill. Reading, checking, printing and documenting
 * configurations use only these tables.
 */
#ifndef AT_MODEL_CONFIG_H
#define AT_MODEL_CONFIG_H

#include <attn/config.h>
#include <attn/encoder.h>
#include <attn/optimizer.h>

#include "heads/head.h"
#include "inputs/input.h"
#include "model/tasks.h"

typedef struct at_reading_values {
    char format[AT_FIELD_TEXT_BYTES], column[AT_FIELD_TEXT_BYTES], text_column[AT_FIELD_TEXT_BYTES],
        label_separator[AT_FIELD_TEXT_BYTES], split_column[AT_FIELD_TEXT_BYTES], split[AT_FIELD_TEXT_BYTES];
} at_reading_values;

/* An encoder.kind beside those of attn_mixer_kind: heads see features of whole examples alone. */
enum { AT_ENCODER_NONE = ATTN_MIXER_MEAN + 1 };

typedef struct at_encoder_values {
    int kind;                      /* attn_mixer_kind, or AT_ENCODER_NONE */
    char mix[AT_FIELD_TEXT_BYTES]; /* "", or the mixer of each layer with commas between them */
    int64_t columns, layers, longest, pieces, inner;
    int position, activation, gated, norm, norm_first, residual, final_norm, causal;
    double dropout;
    int64_t heads, kv_heads, head_width, left, right, position_buckets, farthest;
    int form, score, weights, average_weights, attention_bias;
    double scale, softcap, leaky_slope, attention_dropout, rotary_base;
    int recurrence;
    int64_t directions, hidden, width, dilation;
    int mixer_activation, activation_after, jump;
    double initial;
} at_encoder_values;

/* How a model file holds weights: in 32 bits; in 16; in 8, and in 6 those of tables. */
typedef enum at_store { AT_STORE_FULL, AT_STORE_HALF, AT_STORE_SMALL } at_store;

typedef struct at_training_values {
    int optimizer, nesterov, schedule, decay_all, lazy_rows, store;
    double learning_rate, beta1, beta2, epsilon, weight_decay, momentum, clip_norm, warmup, floor, average;
    int64_t accumulate, batch_units, shards, examples, epochs, least_steps, steps, patience, evaluations,
        seed;
    double hold_out;
    int hold_out_groups;
    char metric[AT_FIELD_TEXT_BYTES], timetable[AT_FIELD_TEXT_BYTES];
} at_training_values;

extern const at_fields at_task_fields, at_reading_fields, at_encoder_fields, at_training_fields;

/* All parts of a configuration, with the defaults filled in. They point into it. */
typedef struct at_config {
    const at_task *task;
    const at_input_kind *input;
    const void *input_values;
    const at_reading_values *reading;
    const at_encoder_values *encoder;
    const at_sequence_values *sequence;
    const at_output_values *output;
    const at_training_values *training;
} at_config;

/* The values with all defaults filled in, checked against each other; the error names the two values that do
 * not go together. */
attn_status at_config_values(attn_config *config, at_config *values);

/* config_check.c: values that exclude each other; whether an encoder has attention; the byte between labels,
 * 0 if there is none. */
attn_status at_config_check(attn_context *context, const at_config *values);
int at_has_attention(const at_encoder_values *values);
char at_label_separator(const at_reading_values *reading);

/* What the values mean to the input, the encoder, the heads, the optimiser. kinds: room for `layers` mixers,
 * used if the encoder is a mix. */
at_input_use at_config_use(const at_config *values);
void at_config_head(const at_config *values, at_head_config *head);
void at_config_encoder(const at_encoder_values *values, attn_encoder_options *options,
                       attn_mixer_kind *kinds);
/* The most rows that a sequence may have: `longest` of the input, or fewer where positions have a table. */
int64_t at_config_longest(const at_encoder_values *values, int64_t longest);
/* The most rows of an example with one answer: classes and numbers can be had from several windows, if rows
 * stand in a line. */
int64_t at_config_most(const at_config *values, const at_input *input);
void at_config_optimizer(const at_training_values *values, int64_t steps, attn_optimizer_options *options);

void at_config_reader(const at_config *values, attn_reader_options *options);

/* A configuration as a model file has it (JSON; name: of the file, for errors). Fields that older files lack
 * are what they were then: at_field.before. *config is made, also on failure, unless there is no memory. */
attn_status at_config_stored(attn_context *context, const char *name, const char *json, attn_config **config);

attn_context *at_config_context(const attn_config *config);
attn_status at_config_copy(attn_config *config, attn_config **copy);

#endif
