/* crf.c: a label for each row with a conditional random field over neighbouring labels.
 *
 * One network predicts the best path (Viterbi). An ensemble averages the networks' marginal probabilities and
 * predicts the likeliest label of each row: paths of different networks cannot be averaged, marginals can. In
 * both cases entity tags are chosen so that they can follow each other (transitions.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "heads/rows.h"
#include "heads/transitions.h"

static attn_status learn(at_head *head, const at_labels *labels, int column) {
    attn_status status = at_head_unbalanced(head);
    return status == ATTN_OK ? at_learn_labels(at_row_head_of(head), labels, column, 0) : status;
}

/* A CRF learns from whole sequences: every label has to be there. */
static attn_status check(const at_head *head, const at_encoded *encoded, const at_targets *targets) {
    const at_row_targets *rows = (const at_row_targets *)(const void *)targets;
    for (int64_t place = 0; place < rows->places; place++) {
        if (rows->classes[place] >= 0) continue;
        return at_fail(head->context, ATTN_INVALID_ARGUMENT,
                       "%.200s:%" PRId64 ": has no label; output.crf needs one for every token",
                       at_label_name(&encoded->labels, place), at_label_line(&encoded->labels, place));
    }
    return ATTN_OK;
}

static attn_parameter *add(attn_parameters *set, const char *prefix, int number, const char *part, int rank,
                           int64_t classes) {
    attn_parameter_options options;
    attn_parameter_options_init(&options);
    options.kind = ATTN_PARAMETER_BIAS;
    options.initial = ATTN_INITIAL_ZERO;
    int64_t shape[2] = {classes, classes};
    char name[160];
    snprintf(name, sizeof name, "%soutput.%d.%s", prefix, number, part);
    return attn_parameters_add(set, name, rank, shape, &options);
}

static void build(at_head *head, int network, attn_parameters *set, const char *prefix, int64_t columns,
                  const at_head_offer *offer) {
    int64_t classes = at_row_head_of(head)->labels.strings.count;
    at_rows_build(head, network, set, prefix, columns, offer);
    at_row_layer *layer = head->layers[network];
    if (attn_parameters_status(set) != ATTN_OK) return;
    layer->crf.transitions = add(set, prefix, head->number, "transitions", 2, classes);
    layer->crf.start = add(set, prefix, head->number, "start", 1, classes);
    layer->crf.end = add(set, prefix, head->number, "end", 1, classes);
}

/* The loss is the mean over all rows. */
static double weight(const at_head *head, const at_targets *targets, const at_segments *list,
                     const int64_t *order, int64_t count) {
    (void)head;
    (void)targets;
    return (double)at_segments_rows(list, order, count);
}

static attn_variable *loss(const at_head *head, int network, attn_tape *tape, attn_variable *x,
                           const at_batch *batch, const at_targets *targets) {
    const at_row_layer *layer = head->layers[network];
    attn_ragged rows = {batch->sequences, batch->offsets};
    return attn_tape_crf(tape, at_rows_logits(head, network, tape, x, batch), &rows, &layer->crf,
                         ((const at_row_targets *)(const void *)targets)->batch_classes);
}

static attn_status decode(const at_head *head, int network, attn_tape *tape, attn_variable *logits,
                          const attn_ragged *rows, int32_t *path, float *marginals) {
    const at_row_layer *layer = head->layers[network];
    attn_status status = path ? attn_tape_crf_decode(tape, logits, rows, &layer->crf, path) : ATTN_OK;
    if (status == ATTN_OK && marginals)
        status = attn_tape_crf_marginals(tape, logits, rows, &layer->crf, marginals);
    return status;
}

static const at_metric metrics[] = {
    AT_COUNTED_METRICS, {"log_loss", 0, 0, 0}, {"calibration_error", 0, 0, 0}, {NULL, 0, 0, 0}};
static int has_metric(const at_head *head, const at_metric *metric) {
    return at_tagging_has_metric(at_row_head_of(head), metric);
}
static const char *metric(const at_head *head) { return at_head_class.metric(head); }

const at_head_kind at_head_crf = {
    AT_ROW_HEAD,
    .name = "crf",
    .stored = "class", /* output.crf says the rest */
    .rows = &at_class_rows,
    .decode = decode,
    .metrics = metrics,
    .has_metric = has_metric,
    .learn = learn,
    .learn_more = at_rows_learn_more,
    .learn_order = at_tagging_learn,
    .metric = metric,
    .store = at_class_store,
    .load = at_class_load,
    .check = check,
    .build = build,
    .weight = weight,
    .loss = loss,
};
