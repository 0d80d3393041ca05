/* heads.c: the table of heads, their configuration, and the choice of a head for a target column. */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "heads/head.h"
#include "heads/rows.h"

static const at_head_kind *const kinds[] = {&at_head_class,    &at_head_labels, &at_head_number, &at_head_crf,
                                            &at_head_sequence, &at_head_ctc,    &at_head_next};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const at_head_kind *at_head_find(const char *name) {
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
    return NULL;
}

const at_metric at_raw_metrics[] = {
    {"sentence_precision", 1, 0, 0}, {"sentence_recall", 1, 0, 0}, {"sentence_f1", 1, 0, 0},
    {"token_precision", 1, 0, 0},    {"token_recall", 1, 0, 0},    {"token_f1", 1, 0, 0},
    {"word_precision", 1, 0, 0},     {"word_recall", 1, 0, 0},     {"word_f1", 1, 0, 0},
    {"tag_precision", 1, 0, 0},      {"tag_recall", 1, 0, 0},      {"tag_f1", 1, 0, 0},
    {"tag_accuracy", 1, 0, 0},       {"all_tags_f1", 1, 0, 0},     {NULL, 0, 0, 0}};

int attn_metric_rises(const char *name) {
    const char *dot = name ? strrchr(name, '.') : NULL;
    if (dot) name = dot + 1;
    for (int i = 0; name && i <= KINDS; i++) {
        const at_metric *metric = i < KINDS ? kinds[i]->metrics : at_raw_metrics;
        for (; metric->name; metric++)
            if (strcmp(metric->name, name) == 0) return metric->rises;
    }
    return -1;
}

/* ---- configuration ---- */

static const char *const outputs[] = {"auto", "class", "labels", "number", "ctc", NULL};
static const char *const pools[] = {"mean", "max", "mean-max", "first", "attention", "sum", "sum-max", NULL};

static const at_field output_fields[] = {
    AT_CHOICE("output.kind", at_output_values, kind, outputs, "auto",
              "class, labels (several) or number; seq2seq: auto (a decoder) or ctc (no decoder)"),
    AT_CHOICE("output.pool", at_output_values, pool, pools, "mean-max", "pooling of the rows of a text"),
    AT_INTEGER("output.members", at_output_values, members, 1, AT_MOST_NETWORKS, "1",
               "networks of an ensemble"),
    AT_SWITCH("output.crf", at_output_values, crf, "false", "a conditional random field over the tags"),
    AT_SWITCH("output.balance", at_output_values, balance, "false",
              "rare classes have higher weights in the loss"),
    AT_SWITCH("output.calibrate", at_output_values, calibrate, "true",
              "after training, fit a temperature of the probabilities to the development data"),
    AT_NUMBER("output.dropout", at_output_values, dropout, 0, 0.99, "0.2", "before the last linear map"),
    AT_NUMBER("output.smoothing", at_output_values, smoothing, 0, 0.99, "0", "of the labels"),
};
static const at_flag output_flags[] = {
    {"output-kind", "output.kind", "K",
     "class, labels (several per text), number; seq2seq: ctc, without a decoder (default: from task and "
     "data); also --output K"},
    {"members", "output.members", "N", "train N networks and predict with their mean"},
    {"crf", "output.crf", NULL, "a conditional random field over the tags of a sentence"},
    {"balance", "output.balance", NULL, "give rare classes higher weights in the loss"},
};
const at_fields at_output_fields = {output_fields, 8, sizeof(at_output_values), output_flags, 4};

static const at_field sequence_fields[] = {
    AT_INTEGER("decoder.layers", at_sequence_values, layers, 1, 1000, "2",
               "blocks of the decoder; it is as wide as the encoder"),
    AT_LATER_SWITCH("decoder.monotone", at_sequence_values, monotone, "false", "false",
                    "hard monotone attention: the decoder advances through the source row by row"),
    AT_LATER_SWITCH("decoder.cross", at_sequence_values, cross, "true", "true",
                    "cross-attention: the decoder sees all rows of the source"),
    AT_CHOICE("target.unit", at_sequence_values, unit, at_unit_names, "auto", "the unit of the target"),
    AT_SWITCH("target.shared", at_sequence_values, shared, "false",
              "one vocabulary for both sides, if their units are the same"),
    AT_SWITCH("target.tied", at_sequence_values, tied, "true",
              "output and target-embedding weights are tied"),
    AT_INTEGER("target.min_count", at_sequence_values, min_count, 1, 1e9, "1",
               "symbols that occur less often are not learned"),
    AT_INTEGER("target.subwords", at_sequence_values, subwords, 0, 1e7, "0",
               "symbols of byte-pair encoding; 0: text.subwords"),
    AT_INTEGER("target.longest", at_sequence_values, longest, 0, 1e6, "0",
               "longest prediction in symbols; 0: twice the longest target of the training data"),
    AT_INTEGER("target.upsample", at_sequence_values, upsample, 1, 100, "1",
               "ctc: rows per source row, each with a symbol or a blank"),
};
static const at_flag sequence_flags[] = {
    {"target-unit", "target.unit", "U", "seq2seq: the same for the targets (default: from the data)"},
    {"shared", "target.shared", "true",
     "seq2seq: one vocabulary for both sides (default with subwords); or false"},
    {"decoder-layers", "decoder.layers", "N", "seq2seq: blocks of the decoder"},
    {"monotone", "decoder.monotone", NULL,
     "seq2seq: hard monotone attention, for few examples and targets in the order of the source"},
};
const at_fields at_sequence_fields = {sequence_fields, 10, sizeof(at_sequence_values), sequence_flags, 4};

attn_status at_heads_check(attn_context *context, const char *usual, const at_output_values *values,
                           int per_row) {
    const at_head_kind *kind = at_head_find(usual), *chosen = at_head_chosen(usual, values);
    if (chosen->replaces && strcmp(chosen->replaces, usual) != 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "output.kind %s is for task seq2seq", chosen->name);
    if (values->kind && !kind->rows && !chosen->replaces)
        return at_fail(
            context, ATTN_INVALID_ARGUMENT,
            "output.kind %s is for tag, classify and regress; seq2seq can have auto or ctc, lm auto",
            chosen->name);
    if (values->crf && (per_row != 1 || !kind->rows))
        return at_fail(context, ATTN_INVALID_ARGUMENT, "output.crf is for task tag");
    return ATTN_OK;
}

attn_status at_head_unbalanced(const at_head *head) {
    if (!head->config.output.balance) return ATTN_OK;
    return at_fail(
        head->context, ATTN_INVALID_ARGUMENT,
        "output.balance gives rare classes more weight, but the loss of %.100s (%s) has no class weights",
        at_string(&head->name, 0), head->kind->name);
}

/* ---- heads of tasks and columns ---- */

const at_head_kind *at_head_chosen(const char *usual, const at_output_values *values) {
    return at_head_find(values->kind ? outputs[values->kind] : usual);
}

at_target_kind at_head_targets(const at_head_kind *kind) {
    if (!kind->rows) return AT_TARGET_TEXTS;
    return kind->rows->numbers && !kind->rows->labels ? AT_TARGET_NUMBERS : AT_TARGET_LABELS;
}

static int has_several(const at_labels *labels, int column) {
    int64_t columns = labels->columns->count;
    for (int64_t i = 0; i < labels->places; i++)
        if (strchr(at_string(labels->values, i * columns + column), '\n')) return 1;
    return 0;
}

attn_status at_head_for_column(const char *usual, const at_output_values *values, const at_labels *labels,
                               int column, const at_head_kind **kind) {
    *kind = at_head_chosen(usual, values);
    if (!values->kind && *kind == &at_head_class && has_several(labels, column)) *kind = &at_head_labels;
    if (values->crf && *kind == &at_head_class) *kind = &at_head_crf;
    return ATTN_OK;
}

attn_status at_head_create(attn_context *context, const at_head_kind *kind, const at_head_config *config,
                           const at_head_offer *offer, const char *name, int per_row, at_head **head) {
    at_head *made;
    attn_status status = kind->create(context, &made);
    if (status != ATTN_OK) return status;
    made->kind = kind;
    made->context = context;
    made->config = *config;
    made->source = offer->symbols;
    made->rate = offer->rate > 0 ? offer->rate : 1;
    if (offer->symbols) {
        made->config.lowercase = offer->symbols->options.lowercase;
        made->config.source_subwords = offer->symbols->options.subwords;
    }
    made->per_row = per_row;
    status = at_strings_add(context, &made->name, name, strlen(name));
    if (status == ATTN_OK)
        *head = made;
    else
        at_head_destroy(made);
    return status;
}

void at_head_destroy(at_head *head) {
    if (!head) return;
    at_strings_free(head->context, &head->name);
    head->kind->destroy(head);
}

const at_head_kind *at_head_stored(const char *name, const at_output_values *values) {
    const at_head_kind *kind = at_head_find(name);
    if (!kind || !kind->rows || kind->stored) return NULL; /* others are not described one by one */
    return kind == &at_head_class && values->crf ? &at_head_crf : kind;
}

const at_strings *at_labels_of_head(const at_head *head) {
    return head->kind->rows ? &at_row_head_of(head)->labels.strings : NULL;
}

double at_temperature_of_head(const at_head *head) {
    const at_strings *labels = at_labels_of_head(head);
    return labels && labels->count > 0 ? at_row_head_of(head)->temperature : NAN;
}

void at_head_reset_temperature(at_head *head) {
    if (head->kind->rows) at_row_head_of(head)->temperature = 1;
}

const at_symbols *at_symbols_of_head(const at_head *head) {
    return head->kind->symbols ? head->kind->symbols(head) : NULL;
}

int at_head_families(void) { return 3; }

const at_fields *at_head_settings(int family, const char **models) {
    static const struct {
        const at_head_kind *kind;
        const char *models;
    } families[] = {{&at_head_class, "models that label texts or tokens"},
                    {&at_head_sequence, "models of task seq2seq"},
                    {&at_head_next, "models of task lm"}};
    if (family < 0 || family >= at_head_families()) return NULL;
    *models = families[family].models;
    return families[family].kind->settings;
}

const int32_t *at_answers_classes(const at_answers *answers) {
    return answers->head->kind->rows ? at_row_answers_of(answers)->classes : NULL;
}
