/* sequence.h: sequences whose length the model chooses: a decoder over the encoder's rows and the symbols so
 * far.
 *
 *     embedding of the symbols so far -> norm -> decoder -> logits of the next symbol
 *
 * Symbol 0, the empty string, marks the beginning and the end of a sequence. With target.tied, if the
 * embedding table has exactly one row per symbol, output and target-embedding weights are tied: the logits
 * are rows times that table, plus a bias.
 */
#ifndef AT_HEADS_SEQUENCE_H
#define AT_HEADS_SEQUENCE_H

#include "heads/head.h"

typedef struct at_sequence_head {
    at_head head;
    at_symbols own; /* the predictions' symbols, where they are not those of the input */
    const at_symbols *symbols;
    int64_t longest; /* symbols of a prediction, at most */
} at_sequence_head;

typedef struct at_symbol_layer {
    attn_parameter *table; /* embeds symbols; may be the input's */
    attn_norm *norm;
    attn_decoder *decoder;
    attn_parameter *output; /* symbols x columns: `table`, or its own */
    attn_parameter *bias;
    attn_linear *source_map, *symbol_map; /* R, S of monotone.h; NULL without */
} at_symbol_layer;

/* The rows of a decoder with teacher forcing: for every prediction of a batch symbol 0 and its symbols; what
 * is to be predicted are its symbols and symbol 0. */
typedef struct at_decoding {
    int64_t sequences, *offsets; /* [sequences + 1] */
    int32_t *inputs, *predicted; /* [rows]; predicted -1: does not count */
    int64_t offset_room, input_room, predicted_room;
} at_decoding;

/* The symbols of predictions: numbers, -1 for those that are not known; answer e is offsets[e] .. offsets[e +
 * 1]
 * - 1. */
typedef struct at_sequence_targets {
    at_targets targets;
    int32_t *ids;
    int64_t id_room, *offsets, offset_room, examples, count;
    int64_t longest;   /* of one prediction */
    int64_t most_rows; /* that a network sees of an example */
    at_decoding decoding;
    int64_t *batch_examples, batch_room;
} at_sequence_targets;

typedef struct at_hypothesis {
    double log_probability;
    int64_t first, count; /* symbols, in at_sequence_answers.symbols */
    int64_t text;         /* in at_sequence_answers.texts */
    int64_t alignment;    /* in at_sequence_answers.alignments, -1: none: count x rows */
    int64_t rows;         /* of the source */
    int ended;
} at_hypothesis;

typedef struct at_sequence_answers {
    at_answers answers;
    int64_t examples, n_best;
    at_hypothesis *list; /* [examples][n_best] */
    int64_t *counts;     /* [examples] */
    int32_t *symbols;
    int64_t symbol_count, symbol_room;
    at_strings texts;
    float *alignments;
    int64_t alignment_count, alignment_room;
    int ranked, aligned; /* how they are written */
} at_sequence_answers;

/* ---- what heads do alike that answer with symbols, with and without a decoder (sequence.c) ---- */

attn_status at_sequence_create(attn_context *context, at_head **head);
void at_sequence_destroy(at_head *head);
attn_status at_sequence_choose(const at_head_config *config, const attn_dataset *examples, at_unit source,
                               attn_status (*set)(void *user, const char *name, const char *value),
                               void *user);
attn_status at_sequence_learn(at_head *head, const at_labels *labels, int column);
const char *at_sequence_metric(const at_head *head);
const at_symbols *at_sequence_symbols(const at_head *head);
attn_status at_sequence_store_tensors(const at_head *head, const char *prefix, at_safetensors_writer *writer);
attn_status at_sequence_load_tensors(at_head *head, const char *prefix, const at_safetensors *file);
attn_status at_sequence_targets_of(const at_head *head, const at_forward *forward, attn_context *context,
                                   const at_encoded *encoded, int column, at_targets **targets);
void at_sequence_free_targets(at_targets *targets);
attn_status at_sequence_share_targets(const at_targets *targets, attn_context *context, at_targets **shared);
int64_t at_sequence_labelled(const at_head *head, const at_encoded *encoded, const at_targets *targets);

/* Their predictions (sequence_predict.c): the options that settings (may be NULL) mean, checked; answers
 * without any. */
attn_status at_sequence_options(attn_context *context, const at_encoded *encoded, const void *settings,
                                attn_search_options *options);
attn_status at_sequence_make_answers(const at_head *head, attn_context *context, int64_t examples,
                                     const attn_search_options *options, const void *settings,
                                     at_answers **answers);
/* What a worker has found in a call, in memory that it keeps. */
typedef struct at_said {
    int32_t *symbols;
    int64_t symbol_count, symbol_room;
    float *alignments;
    int64_t alignment_count, alignment_room;
} at_said;
void at_said_free(attn_context *context, at_said *said);

/* A prediction: `count` symbols of what a worker said, from `first` on. */
typedef struct at_found_answer {
    double log_probability;
    const at_said *said;
    int64_t first, count;
    int64_t alignment; /* count x rows of the source, in said->alignments; -1: none */
    int ended;
} at_found_answer;

/* What the workers find: every segment is an example. Nothing is answered to nothing. */
typedef struct at_found_answers {
    at_found_answer *list; /* [segments][n_best] */
    int64_t *counts;       /* [segments] */
} at_found_answers;
attn_status at_found_create(attn_context *context, int64_t segments, int64_t n_best, at_found_answers *found);
void at_found_free(attn_context *context, at_found_answers *found);
/* sequence_found.c: the predictions, of what the workers of all ranks found, and their texts; room for
 * alignments that is 0 where none was found. It fails in all ranks or in none. */
attn_status at_sequence_keep(at_work *work, const at_encoded *encoded, const at_found_answers *found,
                             at_sequence_answers *answers);

static inline at_sequence_head *at_sequence_of(const at_head *head) {
    return (at_sequence_head *)(uintptr_t)head;
}

attn_status at_decoding_make(attn_context *context, const int32_t *ids, const int64_t *offsets,
                             const int64_t *examples, int64_t count, at_decoding *decoding);
void at_decoding_free(attn_context *context, at_decoding *decoding);

/* Symbols embedded, as the decoder takes them; its rows to logits of the next symbol; all of it, with teacher
 * forcing (weights: NULL, or where the cross-attention of the last block goes). */
attn_variable *at_sequence_embed(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                 const int32_t *ids, int64_t count);
attn_variable *at_sequence_logits(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                  attn_variable *x);
/* The rows of the decoder, before the logits. */
attn_variable *at_sequence_decode(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                  attn_variable *source, const at_batch *batch, const at_decoding *decoding,
                                  float *weights);
attn_variable *at_sequence_force(const at_head *head, const at_symbol_layer *layer, attn_tape *tape,
                                 attn_variable *source, const at_batch *batch, const at_decoding *decoding,
                                 float *weights);
/* A table of embeddings, and a bias of logits, by name. */
attn_parameter *at_symbol_table(attn_parameters *set, const char *prefix, const char *part, int64_t rows,
                                int64_t columns, double rate);
attn_parameter *at_symbol_bias(attn_parameters *set, const char *prefix, int64_t symbols);

extern const at_fields at_sequence_setting_fields;
attn_status at_sequence_predict(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                                const at_encoded *encoded, const void *settings, at_answers **answers);
void at_sequence_free_state(attn_context *context, void *state);
void at_sequence_free_answers(at_answers *answers);
extern const at_metric at_sequence_metrics[];
attn_status at_sequence_report(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                               const at_encoded *encoded, at_targets *const *targets, const void *settings,
                               at_effort effort, attn_report *report);
void at_sequence_write(const at_writing *now, int64_t example);
attn_variable *at_sequence_explain(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                                   const at_batch *batch, at_asked *asked);

#endif
