/* config.h (private): the values of a configuration, as the code reads them.
 *
 * config_fields.c has one table of all of them: name, kind, place in at_config, range, default and help; what
 * reads, checks, prints and documents a configuration goes through that table alone.
 */
#ifndef AT_MODEL_CONFIG_H
#define AT_MODEL_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include <attn/config.h>
#include <attn/dataset.h>
#include <attn/encoder.h>
#include <attn/optimizer.h>

#include "data/text.h"

typedef enum at_task { AT_TASK_TAG, AT_TASK_CLASSIFY, AT_TASK_REGRESS, AT_TASK_SEQ2SEQ, AT_TASK_LM } at_task;
typedef enum at_pooling {
    AT_POOL_MEAN,
    AT_POOL_MAX,
    AT_POOL_MEAN_MAX, /* both, side by side */
    AT_POOL_FIRST,
    AT_POOL_ATTENTION /* weighted by a learned score of each row */
} at_pooling;
typedef enum at_output_choice {
    AT_OUTPUT_AUTO, /* what the task and the data say */
    AT_OUTPUT_CLASS,
    AT_OUTPUT_LABELS,
    AT_OUTPUT_NUMBER
} at_output_choice;

enum { AT_CONFIG_TEXT = 256 }; /* room for a text value */

typedef struct at_config {
    int task;

    int format;
    char column[AT_CONFIG_TEXT], text_column[AT_CONFIG_TEXT], label_separator[AT_CONFIG_TEXT];

    int unit, scheme, pretokenized, lowercase, word_features, one_hot;
    int64_t vocabulary, min_count, subwords, ngram_min, ngram_max, context, neighbours, buckets, longest_text,
        stem;
    double unit_dropout, feature_dropout, embedding_rate;

    int encoder;              /* attn_mixer_kind */
    char mix[AT_CONFIG_TEXT]; /* "", or the mixer of each layer with commas between them */
    int64_t columns, layers, longest, inner;
    int position, activation, gated, norm, norm_first, residual, final_norm, causal;
    double dropout;
    int64_t heads, kv_heads, head_width, left, right, position_buckets, farthest;
    int form, score, weights, average_weights, attention_bias;
    double scale, softcap, leaky_slope, attention_dropout, rotary_base;
    int recurrence;
    int64_t directions, hidden, width, dilation;
    int mixer_activation;

    int target_unit, shared, tied;
    int64_t target_min_count, target_subwords, target_longest, decoder_layers;

    int output, pool, crf, balance;
    int64_t members;
    double output_dropout, smoothing;

    int optimizer, nesterov, schedule, decay_all;
    double learning_rate, beta1, beta2, epsilon, weight_decay, momentum, clip_norm, warmup, floor, average;
    int64_t accumulate, batch_units, examples, epochs, least_steps, steps, patience, seed;
    double hold_out;
    char metric[AT_CONFIG_TEXT];
} at_config;

typedef enum at_field_kind {
    AT_FIELD_SWITCH, /* int, false or true */
    AT_FIELD_CHOICE, /* int, the place of a word in `choices` */
    AT_FIELD_INTEGER,
    AT_FIELD_NUMBER, /* double */
    AT_FIELD_TEXT    /* char[AT_CONFIG_TEXT] */
} at_field_kind;

typedef struct at_field {
    const char *name; /* "group.name", or "name" */
    at_field_kind kind;
    size_t place;               /* in at_config */
    double minimum, maximum;    /* of numbers */
    const char *const *choices; /* ends with NULL */
    const char *initial;        /* the default, as one would type it */
    const char *help;
} at_field;

enum { AT_FIELDS = 100 }; /* checked against the table */
extern const at_field at_fields[AT_FIELDS];

/* Defaults that depend on the task, the unit, the encoder or how much there is to learn from; later ones win.
 * -1: any. */
typedef struct at_default {
    int task, unit, encoder;
    int64_t examples; /* so many, or more */
    const char *name, *value;
} at_default;
extern const at_default at_defaults[];
extern const int at_default_count;

/* The values with all defaults filled in, checked against each other; the error names the two values that
 * do not go together. */
attn_status at_config_values(attn_config *config, const at_config **values);

/* What the values mean to text, encoder, optimiser and reader. kinds: room for `layers` mixers, used if the
 * encoder is a mix. */
void at_config_text(const at_config *values, at_text_options *options);
void at_config_target_text(const at_config *values, at_text_options *options);
void at_config_decoder(const at_config *values, attn_decoder_options *options);
/* seq2seq: one vocabulary for both sides. */
int at_config_shared(const at_config *values);
void at_config_encoder(const at_config *values, attn_encoder_options *options, attn_mixer_kind *kinds);
/* The most rows that a sequence may have: text.longest, or fewer where positions have a table. */
int64_t at_config_longest(const at_config *values);
void at_config_optimizer(const at_config *values, int64_t steps, attn_optimizer_options *options);
void at_config_reader(const at_config *values, attn_reader_options *options);

attn_context *at_config_context(const attn_config *config);
attn_status at_config_copy(attn_config *config, attn_config **copy);

#endif
