/* rows.h: shared by heads that predict for rows or examples: a linear map of the network's rows, targets as
 * numbers, and predictions averaged over the networks of an ensemble.
 */
#ifndef AT_HEADS_ROWS_H
#define AT_HEADS_ROWS_H

#include "heads/head.h"

typedef struct at_row_head {
    at_head head;
    at_vocabulary labels;       /* class, labels, crf; none is "" */
    double mean, deviation;     /* number: the network answers (number - mean) / deviation */
    float *class_weights;       /* class: NULL, or how much each counts in the loss */
    double temperature;         /* class, labels, crf: of probabilities (rows_calibrate.c); 1: as they are */
    struct at_tagging *tagging; /* class, crf: NULL, or labels are tags of entities (transitions.h) */
} at_row_head;

/* Its parameters in one network. */
typedef struct at_row_layer {
    attn_linear *map; /* NULL: the network has no rows */
    at_head_wide wide;
    void *wide_layer; /* NULL, or what is added to the logits: of all networks the same */
    attn_crf crf;     /* crf only */
} at_row_layer;

typedef struct at_row_targets {
    at_targets targets;
    int64_t places;
    int32_t *classes; /* class: [places]; -1: missing, -2 - u: string u of `unknown`. labels: how many labels
                         of the place are unknown */
    float *numbers;   /* number: [places], NaN: missing. labels: [places][labels] of 0 and 1 */
    at_vocabulary unknown;  /* labels that the head does not know, with how often they occur */
    int32_t *batch_classes; /* of the batch that was gathered last */
    float *batch_numbers;
    int64_t class_room, number_room;
} at_row_targets;

/* Of several networks: how far their predictions are apart (spread.c). All 0: it is not requested. */
typedef struct at_spread {
    double *values;            /* standard deviations: [places][columns] */
    int64_t columns;           /* labels: one each; else 1, of the prediction */
    struct at_member *members; /* of a batch: [rows][width]; a worker's */
    int64_t member_room;
} at_spread;

/* Examples of more than one segment, whose labels are chosen when all segments are answered (rows_decode.c).
 */
typedef struct at_cut_example {
    int64_t example, row; /* row: of its first one in `rows` */
} at_cut_example;
typedef struct at_cut {
    at_cut_example *examples; /* [count], in their order */
    int64_t count, numbers;
    float *rows; /* [numbers]: logits, a row of labels each */
} at_cut;

typedef struct at_row_answers {
    at_answers answers;
    int64_t places, labels;
    int32_t *classes;     /* class, labels, crf: [places] */
    double *numbers;      /* number: [places] */
    float *probabilities; /* labels, and others if requested: [places][labels] */
    at_spread spread;
    at_cut cut;
    /* Of a report, where the kind says so: what was thought of the truth, which is `truth` of the targets. */
    const int32_t *truth;
    float *likelihood;        /* class: [places]; 0 of a label that the head does not know */
    float *positive;          /* class, of two labels: [places] */
    float *confidence;        /* class: [places], of what was answered */
    struct at_sample *sample; /* NULL, or what a temperature is to be fitted to */
    double unsure;            /* below that probability a class is "unknown" */
    /* What only a worker's view of the predictions has (rows_predict.c): memory to work in. */
    float *mean; /* of several networks: the mean of their answers for a batch */
    int64_t mean_room;
    float *row; /* [labels] */
    int64_t row_room;
} at_row_answers;

typedef struct at_row_settings {
    int probabilities;
    double unsure; /* AT_NEVER_UNSURE: it is not requested */
} at_row_settings;
#define AT_NEVER_UNSURE 1e-9
extern const at_fields at_row_setting_fields;

/* What the kinds differ in, beside at_head_kind. */
typedef struct at_row_kind {
    int64_t (*width)(const at_row_head *head); /* columns of the map */
    int classes, numbers;                      /* which arrays of targets it has */
    int labels;                                /* probabilities are the prediction */
    int likelihood;                            /* a report says how likely the truth was */
    /* The loss of these logits; NULL: the head has a loss of its own. */
    attn_variable *(*loss)(const at_head *head, attn_tape *tape, attn_variable *logits,
                           const at_targets *targets);
    /* One row of logits as it is to be averaged: probabilities, or a number. */
    void (*answer)(const at_row_head *head, const float *logits, float *answer);
    /* The prediction of one network (logits), or the mean of several (answers), put to a place. */
    void (*put)(const at_row_head *head, at_row_answers *into, const float *row, int averaged, int64_t place);
    attn_status (*fill)(const at_row_head *head, attn_context *context, const at_labels *labels, int column,
                        at_row_targets *targets);
    /* One prediction as text, and as a JSON value; its probability as JSON (NULL: it has none). */
    void (*write)(const at_answers *answers, int64_t place, const char *between, at_writer *writer);
    void (*write_json)(const at_answers *answers, int64_t place, at_writer *writer);
    void (*write_probability)(const at_answers *answers, int64_t place, at_writer *writer);
    attn_status (*compare)(const at_row_head *head, attn_context *context, const at_row_targets *targets,
                           const at_row_answers *answers, int output, attn_report *report);
} at_row_kind;
extern const at_row_kind at_class_rows;

static inline at_row_head *at_row_head_of(const at_head *head) { return (at_row_head *)(uintptr_t)head; }
static inline const at_row_answers *at_row_answers_of(const at_answers *answers) {
    return (const at_row_answers *)(const void *)answers;
}

/* ---- shared by the kinds (rows.c) ---- */

attn_status at_rows_create(attn_context *context, at_head **head);
void at_rows_destroy(at_head *head);
attn_status at_rows_targets(const at_head *head, const at_forward *forward, attn_context *context,
                            const at_encoded *encoded, int column, at_targets **targets);
void at_rows_free_targets(at_targets *targets);
attn_status at_rows_share_targets(const at_targets *targets, attn_context *context, at_targets **shared);
/* How many targets there are: of classes the sum of their weights, of numbers all that are not missing. */
double at_rows_weight(const at_head *head, const at_targets *targets, const at_segments *segments,
                      const int64_t *order, int64_t count);
attn_status at_rows_segments(const at_head *head, const at_forward *forward, const at_encoded *encoded,
                             const at_targets *targets, at_segments *segments);
void at_rows_build(at_head *head, int network, attn_parameters *set, const char *prefix, int64_t columns,
                   const at_head_offer *offer);
attn_status at_rows_gather(const at_head *head, at_targets *targets, const at_segments *segments,
                           const int64_t *order, int64_t count, const at_batch *batch);
/* The logits of the network's rows: the linear map; with features of whole examples, the mean of the map and
 * of theirs. And their loss. */
attn_variable *at_rows_logits(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                              const at_batch *batch);
attn_variable *at_rows_loss(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                            const at_batch *batch, const at_targets *targets);
void at_rows_warm(const at_head *head, int network, attn_tape *tape, attn_variable *x, const at_batch *batch);
int64_t at_rows_labelled(const at_head *head, const at_encoded *encoded, const at_targets *targets);
/* Calls `each` for every value of a column that is not missing; several labels of a value one by one. */
typedef attn_status (*at_value_function)(void *user, const char *text, size_t length, int64_t place);
attn_status at_for_values(const at_labels *labels, int column, int split, at_value_function each, void *user);
/* The labels in the order of their frequency; unlike units, without an unknown one. */
attn_status at_learn_labels(at_row_head *head, const at_labels *labels, int column, int split);
/* Of two labels the positive one, whose probability ranks examples; -1 if there are not two. Of numbers the
 * larger; of pairs like no and yes, false and true, negative and positive, inactive and active (in upper or
 * lower case) the second; else the rarer in the training data, which stands second in the model. */
int64_t at_positive_label(const at_strings *labels);
/* Counts the labels of a loaded head anew; those that it does not know are refused. */
attn_status at_rows_learn_more(at_head *head, const at_labels *labels, int column);

/* ---- predicting and comparing (rows_predict.c) ---- */

attn_status at_rows_predict(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                            const at_encoded *encoded, const void *settings, at_answers **answers);
void at_rows_free_answers(at_answers *answers);
void at_rows_free_state(attn_context *context, void *state);
attn_status at_rows_report(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                           const at_encoded *encoded, at_targets *const *targets, const void *settings,
                           at_effort effort, attn_report *report);
/* What samples of the examples are drawn from (rows_resample.c). */
attn_status at_rows_resample(const at_head *head, const at_encoded *encoded, const at_row_targets *targets,
                             const at_row_answers *answers, int output, attn_report *report);
void at_rows_write(const at_writing *now, int64_t example);
attn_variable *at_rows_explain(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                               const at_batch *batch, at_asked *asked);
int32_t at_largest(const float *numbers, int64_t count);
/* Fits a temperature to each head, from targets of data that the networks did not learn. */
attn_status at_rows_calibrate(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                              const at_encoded *encoded, at_targets *const *targets);
/* Whether a prediction is a class that is less likely than was requested. */
int at_rows_unsure(const at_row_answers *answers, int64_t place);
extern const char at_unknown_label[]; /* what such a prediction is called */

/* ---- temperatures (rows_calibrate.c) ---- */

/* Probabilities at a temperature, in place: those of one of `count` classes; of `count` labels, each by
 * itself.
 */
void at_temper_class(double temperature, float *probabilities, int64_t count);
void at_temper_labels(double temperature, float *probabilities, int64_t count);
/* What a temperature is fitted to: room for predictions (on failure *sample is to be freed as well), one of
 * them as `put` of at_row_kind gets it, and the temperature of the head. */
attn_status at_sample_create(attn_context *context, const at_row_head *head, const at_targets *targets,
                             struct at_sample **sample);
void at_sample_put(const at_row_head *head, struct at_sample *sample, const float *row, int averaged,
                   int64_t place);
attn_status at_sample_fit(attn_context *context, const struct at_sample *sample, at_row_head *head);
void at_sample_free(attn_context *context, struct at_sample *sample); /* NULL is allowed */

/* ---- the spread of an ensemble (spread.c) ---- */

attn_status at_spread_create(attn_context *context, const at_row_kind *kind, at_row_answers *into);
/* The predictions of a network for one of `rows` rows of a batch; then the spread of that row at its place.
 */
attn_status at_spread_add(attn_context *context, at_spread *spread, int network, int64_t rows, int64_t row,
                          const float *answers, int64_t width);
void at_spread_put(const at_row_head *head, at_row_answers *into, int networks, int64_t row, int64_t place);
void at_spread_write(const at_answers *answers, int64_t place, at_writer *writer);
void at_spread_free(attn_context *context, at_spread *spread);

/* What all heads of rows do alike: rows of their at_head_kind. */
#define AT_ROW_HEAD                                                                                          \
    .settings = &at_row_setting_fields, .create = at_rows_create, .destroy = at_rows_destroy,                \
    .targets = at_rows_targets, .free_targets = at_rows_free_targets,                                        \
    .share_targets = at_rows_share_targets, .labelled = at_rows_labelled, .segments = at_rows_segments,      \
    .gather = at_rows_gather, .warm = at_rows_warm, .predict = at_rows_predict,                              \
    .free_answers = at_rows_free_answers, .free_state = at_rows_free_state, .report = at_rows_report,        \
    .write = at_rows_write, .explain = at_rows_explain, .calibrate = at_rows_calibrate

/* ---- labels and probabilities, as class and crf write them (class.c) ---- */

attn_status at_class_load(at_head *head, const json_t *description, const char **reason);
int at_class_store(const at_head *head, json_t *description);
void at_write_probabilities(const at_answers *answers, int64_t place, at_writer *writer);
/* What counts right and wrong labels measures; a CRF, whose predictions are paths, has no more than these. */
#define AT_COUNTED_METRICS                                                                                   \
    {"accuracy", 1, 0, 0}, {"macro_precision", 1, 0, 0}, {"macro_recall", 1, 0, 0}, {"macro_f1", 1, 0, 0},   \
        {"micro_f1", 1, 0, 0}, {"unknown_labels", 0, 1, 0}, {"word_f1", 1, 0, 1},                            \
        {"word_precision", 1, 0, 1}, {"word_recall", 1, 0, 1}, {"sentence_f1", 1, 0, 1},                     \
        {"entity_f1", 1, 0, 0}, {"entity_precision", 1, 0, 0}, {                                             \
        "entity_recall", 1, 0, 0                                                                             \
    }
enum { AT_COUNTED = 13 };

#endif
