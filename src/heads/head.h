/* head.h: the interface of heads, which turn rows of a network into predictions.
 *
 *     learn -> labels, means, symbols;  targets -> numbers;  build, loss;  predict -> predictions;  report;
 *     store, load
 *
 * Heads are rows of one table (heads.c); no code outside this folder refers to them by name. There are two
 * families. Heads of rows (class, labels, number, crf) predict for each row or each example, one head for
 * each target column. Heads that generate (sequence, ctc, next) produce symbols; a network has one of them.
 *
 * The parameters of a head belong to a network: an ensemble has one head and several networks, each with a
 * layer of the head.
 */
#ifndef AT_HEADS_HEAD_H
#define AT_HEADS_HEAD_H

#include <jansson.h>

#include <attn/encoder.h>
#include <attn/operations.h>
#include <attn/predictor.h>
#include <attn/report.h>

#include "data/examples.h"
#include "data/fields.h"
#include "data/plan.h"
#include "data/safetensors.h"
#include "data/symbols/symbols.h"
#include "data/writer.h"
#include "tape/host.h"

enum { AT_MOST_NETWORKS = 16 /* of an ensemble */, AT_MOST_OUTPUTS = 10000 };

/* ---- configuration ---- */

typedef enum at_pooling {
    AT_POOL_MEAN,
    AT_POOL_MAX,
    AT_POOL_MEAN_MAX, /* both, side by side */
    AT_POOL_FIRST,
    AT_POOL_ATTENTION, /* weighted by a learned score of each row */
    AT_POOL_SUM,       /* of what grows with the number of rows */
    AT_POOL_SUM_MAX    /* both, side by side */
} at_pooling;

typedef struct at_output_values {
    int kind, pool, crf, balance, calibrate;
    int64_t members;
    double dropout, smoothing;
} at_output_values;

typedef struct at_sequence_values {
    int64_t layers; /* of the decoder */
    int unit, shared, tied, monotone, cross;
    int64_t min_count, subwords, longest, upsample;
} at_sequence_values;

extern const at_fields at_output_fields, at_sequence_fields;

/* Features of whole examples, which go straight to the logits of heads of examples: the layer of a head,
 * whose logits have `columns`, and what it adds to them, sequences x columns. build NULL: there are none. */
typedef struct at_head_wide {
    const void *user;
    void *(*build)(const void *user, attn_parameters *set, const char *name, int64_t columns);
    attn_variable *(*apply)(const void *user, const void *layer, attn_tape *tape, const at_batch *batch);
} at_head_wide;

/* Rows that are symbols: see at_offer of inputs/input.h, which this mirrors for one network. */
typedef struct at_head_offer {
    const at_symbols *symbols; /* of the input; NULL: its rows are none */
    attn_parameter *table;     /* NULL, or the input's table of embeddings, one row a symbol */
    double rate;               /* how many times larger embeddings are stored: see inputs/text/text.c */
    at_head_wide wide;
} at_head_offer;

/* All that decides what a head is, besides what it learns. */
typedef struct at_head_config {
    at_output_values output;
    at_sequence_values sequence;
    attn_decoder_options decoder; /* as the encoder is; layers and source_columns are the head's */
    int lowercase;                /* symbols are looked up in lower case */
    int64_t source_subwords;      /* of the input: the default of target.subwords */
    char separator[2];            /* between several labels of one prediction; "": a space */
} at_head_config;

/* ---- a head ---- */

typedef struct at_head_kind at_head_kind;

/* The kind's own struct begins with it. */
typedef struct at_head {
    const at_head_kind *kind;
    attn_context *context;
    at_head_config config;
    at_strings name;          /* one string: the column that it learned */
    int number;               /* of the output: among those of its model */
    int per_row;              /* one prediction per row, else one an example */
    const at_symbols *source; /* the symbols of the input, if it has any */
    double rate;
    void *layers[AT_MOST_NETWORKS];
} at_head;

/* Targets as numbers, and those of one batch; the kind's own struct begins with it. */
typedef struct at_targets {
    attn_context *context;
    int64_t extra_rows;     /* rows of the batch that the head adds (a decoder's) */
    int64_t all_extra_rows; /* of all examples together */
    int shared;             /* all but the batch belongs to others (share_targets) */
} at_targets;

/* Predictions; the kind's own struct begins with it. */
typedef struct at_answers {
    const at_head *head;
    attn_context *context;
} at_answers;

/* A metric, and which way it points. */
typedef struct at_metric {
    const char *name;
    int rises;     /* more is better */
    int counts;    /* a number of things: printed without decimals */
    int of_pieces; /* only where rows are parts of larger pieces: the input measures it */
} at_metric;

/* Metrics of no head: of rows and examples that were found in raw data, and their tags. Ends with a NULL
 * name.
 */
extern const at_metric at_raw_metrics[];

/* ---- the networks, as heads see them ---- */

typedef struct at_forward at_forward;
struct at_forward {
    const void *user;
    int networks;
    int64_t longest; /* rows of a sequence, at most */
    int64_t most;    /* rows of an example with one prediction, at most; several windows may be needed */
    int parts;       /* sequences are parts of longer ones: what comes before and after them is not known */
    /* The last rows of a network: of every row, or, with a prediction per example, pooled. */
    attn_variable *(*rows)(const at_forward *forward, int network, attn_tape *tape, const at_batch *batch);
    attn_status (*create_batch)(const at_forward *forward, attn_context *context, at_batch **batch);
    attn_status (*fill)(const at_forward *forward, const at_encoded *encoded, const at_segments *segments,
                        const int64_t *order, int64_t count, at_batch *batch);
    void (*free_batch)(const at_forward *forward, at_batch *batch);
    void (*symbols)(const at_forward *forward, const at_encoded *encoded, int64_t first, int64_t count,
                    int32_t *ids);
    const char *(*row_name)(const at_encoded *encoded, int64_t row);
    /* NULL, or metrics that only the input knows (of words that labels of characters make). */
    attn_status (*measure)(const at_forward *forward, const at_encoded *encoded, const at_strings *labels,
                           const int32_t *truth, const int32_t *answers, int output, attn_report *report);
    /* Running text, symbol by symbol (model/steps.c). begin: an empty text; extend: one more unit; push:
     * readies the units that came since the last push; step: the rows of a network for them, those before
     * being remembered. All NULL where rows do not come one by one. */
    attn_status (*begin_steps)(const at_forward *forward, attn_context *context, void **steps);
    attn_status (*extend_steps)(const at_forward *forward, void *steps, const char *unit, size_t length);
    attn_status (*push_steps)(const at_forward *forward, void *steps);
    attn_variable *(*step)(const at_forward *forward, void *steps, int network, attn_tape *tape);
    void (*free_steps)(const at_forward *forward, void *steps);
};

/* What a prediction works with, used again from call to call. */
typedef struct at_work {
    attn_context *context;
    attn_tape *tape;
    at_batch *batch;
    at_segments segments;
    at_plan plan;
    void *state;       /* of the heads */
    void *steps;       /* of `step` */
    at_host_rows host; /* of the last rows that were read */
    int borrowed;      /* tape and batch belong to somebody else */
    /* NULL, or one for each thread of the context, of its parts: for batches that are run side by side. Lent
     * by a trainer, else made when first needed. */
    struct at_work *workers;
    struct at_parts *parts; /* NULL: the workers are lent */
    attn_status status;     /* of a worker: of the task that failed, and its number */
    int64_t failed;
    /* Ranks that answer together: each runs some of the batches, then `join` puts together what they have:
     * count bytes that are 0 where this rank has nothing, afterwards those of all. ranks 0 or 1: there is
     * only this one. */
    int rank, ranks;
    attn_status (*join)(void *user, void *bytes, size_t count);
    void *join_user;
} at_work;

/* work.c: frees workers that a work made itself (parts is set). kind: of the heads, whose state they have. */
void at_workers_free(const at_forward *forward, const at_head_kind *kind, at_work *work);

/* ---- a report ---- */

/* report.c: heads add to it, output by output. */
attn_status at_report_add(attn_report *report, int output, const char *name, double value);
/* Whether a metric is of larger pieces that the rows are parts of. */
int at_report_of_pieces(const attn_report *report, int index);
/* How many places or examples were compared. */
void at_report_compared(attn_report *report, int output, int64_t count);
/* The label that areas under curves are about. */
void at_report_positive(attn_report *report, int output, int64_t label);
/* The labels of an output, its own and then those that only the data have; *metrics: room for those of each.
 */
attn_status at_report_labels(attn_report *report, int output, const at_strings *known,
                             const at_strings *unknown, attn_class_metrics **metrics);
/* The same, and how often each was taken for each; truth below 0 does not count. */
struct at_metric_summary;
attn_status at_report_confusion(attn_report *report, int output, const at_strings *known,
                                const at_strings *unknown, const int32_t *truth, const int32_t *answers,
                                int64_t places, struct at_metric_summary *summary);
/* The types of entities of an output; *metrics: room for those of each, cleared. */
attn_status at_report_entities(attn_report *report, int output, const at_strings *types,
                               attn_class_metrics **metrics);
/* What its intervals are computed from; the report's from now on. */
struct at_statistics;
void at_report_statistics(attn_report *report, int output, struct at_statistics *statistics);
/* That of the output that a metric is of, and its name without prefix; NULL: there is none. */
struct at_statistics *at_report_statistics_of(const attn_report *report, const char *name,
                                              const char **plain);
/* Rows of the examples; what they are examples of. */
void at_report_rows(attn_report *report, int64_t rows);
attn_status at_report_create(attn_context *context, at_head *const *heads, int count, int64_t examples,
                             attn_report **report);
/* Whether anything was compared. */
int64_t at_report_all_compared(const attn_report *report);

/* ---- writing ---- */

/* What a prediction is written with. */
typedef struct at_writing {
    const attn_prediction *prediction;
    const attn_dataset *dataset;
    int json, probabilities;
    at_writer *writer;
} at_writing;
/* One prediction of a head of rows; between: NULL, or what stands between it and its probability. */
void at_rows_put(const at_writing *now, int output, int64_t example, int64_t row, const char *between,
                 at_writer *writer);
/* The predictions of a head of rows for an example, their probabilities, or how far networks are apart about
 * them, as a value of JSON; 0: it has none. */
typedef enum at_put_what { AT_PUT_ANSWERS = 0, AT_PUT_PROBABILITIES = 1, AT_PUT_SPREAD = 2 } at_put_what;
int at_rows_put_json(const at_writing *now, int output, int64_t example, int what, at_writer *writer);
/* What an object of JSON about an example begins with: its line, what the data calls it and, if `text`, its
 * text, each with a comma after it. */
void at_put_example(const at_writing *now, int64_t example, int text);

/* How much a report may cost: all that it says, what training needs after an epoch, or no more than to see
 * which metrics there are. */
typedef enum at_effort { AT_EFFORT_FULL, AT_EFFORT_DEVELOPMENT, AT_EFFORT_LEAST } at_effort;

/* ---- explanations ---- */

/* What is asked about a prediction: how a number, which is explained, follows from rows. Of a label it is its
 * logit above the mean of all labels' logits, of a number the number itself, of a text its log-probability.
 * The batch is one segment of one example. */
typedef struct at_asked {
    attn_context *context;
    const at_encoded *encoded;
    const at_answers *answers; /* to all examples */
    const at_segment *segment;
    const char *(*row_name)(const at_encoded *encoded, int64_t row);
    int64_t row;       /* of the segment, or of what was written; -1: all of them together */
    const char *label; /* NULL: what was answered */
    /* What the head fills: the gradient that arrives at the variable that it returns (host memory, rows x
     * columns, kept from call to call), and names. */
    float *gradient;
    int64_t gradient_room;
    double likelihood;    /* of what is explained; NaN: the prediction says it, or there is none */
    at_strings target;    /* one: what is explained */
    at_strings written;   /* the rows of a decoder, by what each of them predicts */
    at_strings preceding; /* and by what each of them is given */
} at_asked;

/* ---- the interface ---- */

struct at_row_kind; /* rows.h */

/* What heads of running text do beside predicting examples: an empty text; the probabilities of what comes
 * next after what was pushed; a continuation of it (open: the line that it ends in continues), good until the
 * next call. */
typedef struct at_running {
    attn_status (*begin)(const at_head *head, const at_forward *forward, at_work *work);
    attn_status (*next)(const at_head *head, const at_forward *forward, at_work *work,
                        const double **probabilities);
    attn_status (*go_on)(const at_head *head, const at_forward *forward, at_work *work,
                         const attn_sampling_options *options, int open, const char **text);
} at_running;

struct at_head_kind {
    const char *name;
    const char *stored;   /* its name in model files, if that is another */
    int several;          /* any number of labels is a prediction */
    const char *replaces; /* NULL, or the usual head of a task that output.kind can put it in place of */
    int decoder;          /* it has a decoder, which is made as the encoder is */
    const struct at_row_kind
        *rows; /* heads of rows: what they do with one of them; else NULL: writes symbols */
    /* NULL, or what all rows of a batch say together, by one network: into `path` and, unless NULL,
     * `marginals`. */
    attn_status (*decode)(const at_head *head, int network, attn_tape *tape, attn_variable *logits,
                          const attn_ragged *rows, int32_t *path, float *marginals);
    const at_metric *metrics; /* ends with a NULL name; all that it reports */
    /* NULL, or whether a head has one of them: some are for certain labels only. */
    int (*has_metric)(const at_head *head, const at_metric *metric);
    const at_fields *settings; /* of a prediction; NULL: none */

    attn_status (*create)(attn_context *context,
                          at_head **head); /* config, name and source are set after it */
    void (*destroy)(at_head *head);
    /* What the configuration leaves to the data. */
    attn_status (*choose)(const at_head_config *config, const attn_dataset *examples, at_unit source,
                          attn_status (*set)(void *user, const char *name, const char *value), void *user);
    attn_status (*learn)(at_head *head, const at_labels *labels, int column);
    /* NULL, or the same for a head that was loaded: it knows its labels, others are refused. */
    attn_status (*learn_more)(at_head *head, const at_labels *labels, int column);
    /* NULL, or what it learns from the order of targets, after `learn` and `learn_more`; for rows in an
     * order.
     */
    attn_status (*learn_order)(at_head *head, const at_encoded *encoded, int column);
    /* NULL, or a value of the configuration that follows from the targets of the training data: its name and
     * value, of AT_FIELD_TEXT_BYTES each; "" if there is none. */
    attn_status (*finish_learning)(at_head *head, const at_targets *targets, char *name, char *value);
    const char *(*metric)(const at_head *head); /* what models are chosen by */
    int whole_answers; /* a prediction is right or wrong as a whole: all are wrong for long after training
                        * began
                        */
    const at_symbols *(*symbols)(const at_head *head);      /* NULL: it writes none */
    int (*store)(const at_head *head, json_t *description); /* -1: no memory */
    attn_status (*store_tensors)(const at_head *head, const char *prefix, at_safetensors_writer *writer);
    /* reason: NULL, or what is wrong with the description. */
    attn_status (*load)(at_head *head, const json_t *description, const char **reason);
    attn_status (*load_tensors)(at_head *head, const char *prefix, const at_safetensors *file);

    /* Targets of encoded examples; column -1: there is none. */
    attn_status (*targets)(const at_head *head, const at_forward *forward, attn_context *context,
                           const at_encoded *encoded, int column, at_targets **targets);
    void (*free_targets)(at_targets *targets);
    /* The same targets for another worker, which gathers batches of its own: *shared is freed before
     * `targets`, whose numbers it reads. */
    attn_status (*share_targets)(const at_targets *targets, attn_context *context, at_targets **shared);
    /* What the loss of these segments is the mean over: the sum of the weights of their targets. */
    double (*weight)(const at_head *head, const at_targets *targets, const at_segments *segments,
                     const int64_t *order, int64_t count);
    /* An example that has a target, -1 if none has. */
    int64_t (*labelled)(const at_head *head, const at_encoded *encoded, const at_targets *targets);
    /* What training cannot use. */
    attn_status (*check)(const at_head *head, const at_encoded *encoded, const at_targets *targets);
    attn_status (*segments)(const at_head *head, const at_forward *forward, const at_encoded *encoded,
                            const at_targets *targets, at_segments *segments);

    /* columns: of the network's rows; 0: there are none, and its x is NULL everywhere. */
    void (*build)(at_head *head, int network, attn_parameters *set, const char *prefix, int64_t columns,
                  const at_head_offer *offer);
    attn_status (*gather)(const at_head *head, at_targets *targets, const at_segments *segments,
                          const int64_t *order, int64_t count, const at_batch *batch);
    /* x: the rows of the network, with dropout unless the head generates from them by a decoder. */
    attn_variable *(*loss)(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                           const at_batch *batch, const at_targets *targets);
    int own_dropout;
    /* Computes with all parameters that prediction uses, so that they are in the order of the kernels. */
    void (*warm)(const at_head *head, int network, attn_tape *tape, attn_variable *x, const at_batch *batch);
    const at_running *running; /* NULL: its models do not continue text */

    /* The predictions of all heads of a model, which are of one family. settings: those of heads[0]. */
    attn_status (*predict)(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                           const at_encoded *encoded, const void *settings, at_answers **answers);
    void (*free_answers)(at_answers *answers);
    void (*free_state)(attn_context *context, void *state);
    /* Records what the explained number is computed from, and fills `asked`; x: the rows of the
     * network, or the pooled one. NULL with the tape's or the context's error set. */
    attn_variable *(*explain)(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                              const at_batch *batch, at_asked *asked);
    /* Compares with targets; `effort` says what it may cost. */
    attn_status (*report)(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                          const at_encoded *encoded, at_targets *const *targets, const void *settings,
                          at_effort effort, attn_report *report);

    /* NULL, or fits what makes probabilities mean what they say to the targets of data that the networks did
     * not learn; with heads that have none it does nothing. */
    attn_status (*calibrate)(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                             const at_encoded *encoded, at_targets *const *targets);

    /* The answers for an example, as lines or as an object of JSON. */
    void (*write)(const at_writing *now, int64_t example);
};

extern const at_head_kind at_head_class, at_head_labels, at_head_number, at_head_crf, at_head_sequence,
    at_head_ctc, at_head_next;

/* ---- the table ---- */

/* By its name; NULL: there is none. */
const at_head_kind *at_head_find(const char *name);
/* The head of a task: the usual one, or what the configuration says. */
const at_head_kind *at_head_chosen(const char *usual, const at_output_values *values);
/* What targets are to a head. */
typedef enum at_target_kind { AT_TARGET_LABELS, AT_TARGET_NUMBERS, AT_TARGET_TEXTS } at_target_kind;
at_target_kind at_head_targets(const at_head_kind *kind);
/* The head of a target column: what the configuration and the task say, or the data looks like. */
attn_status at_head_for_column(const char *usual, const at_output_values *values, const at_labels *labels,
                               int column, const at_head_kind **kind);
/* A head of a kind; on failure there is none. */
attn_status at_head_create(attn_context *context, const at_head_kind *kind, const at_head_config *config,
                           const at_head_offer *offer, const char *name, int per_row, at_head **head);
void at_head_destroy(at_head *head); /* NULL is allowed */
/* The predictions, where the input's vocabulary is to have their symbols too; else NULL. */
const at_strings *at_head_shares(const at_head *head, const at_strings *answers);
/* The head of a name in a model file; NULL: there is none, or it is not described there. */
const at_head_kind *at_head_stored(const char *name, const at_output_values *values);
const at_strings *at_labels_of_head(const at_head *head);  /* NULL: it has none */
const at_symbols *at_symbols_of_head(const at_head *head); /* that it writes; NULL: none */
/* The temperature of a head with labels, NaN of others; and set to 1, which leaves probabilities as they are.
 */
double at_temperature_of_head(const at_head *head);
void at_head_reset_temperature(at_head *head);
/* Refuses output.balance: the loss of the head has no classes to weigh. */
attn_status at_head_unbalanced(const at_head *head);
/* Values that exclude each other. */
attn_status at_heads_check(attn_context *context, const char *usual, const at_output_values *values,
                           int per_row);

/* Families of heads, by what can be set of their predictions; NULL out of range. models: which models those
 * are. */
int at_head_families(void);
const at_fields *at_head_settings(int family, const char **models);
/* The classes of a head of rows, NULL: there are none. */
const int32_t *at_answers_classes(const at_answers *answers);

/* ---- predictions (prediction.c) ---- */

struct attn_prediction {
    attn_context *context;
    attn_dataset *split;    /* NULL, or what the examples are that raw data was split into */
    int64_t *split_offsets; /* then: where those of each raw example begin */
    at_encoded *encoded;
    void (*free_encoded)(at_encoded *encoded);
    const char *(*row_name)(const at_encoded *encoded, int64_t row);
    int per_row;
    int labels_rows; /* heads of rows answer for each row */
    int count;
    at_answers **answers; /* [count], one a head */
    at_strings pieces;    /* what rows are parts of, if they are */
    int64_t *piece_offsets;
};

#endif
