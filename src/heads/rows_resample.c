/* rows_resample.c: the summands of each example in the metrics of a head of rows, for bootstrap samples.
 *
 * Class and crf: correct rows, rows; correct, predicted and true entities. Labels: correct examples,
 * examples; correct, predicted and true labels. Number: squared errors, numbers; absolute errors, numbers. If
 * all rows are of one example (a graph) and have no order, the rows are drawn.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "heads/resample.h"
#include "heads/transitions.h"

typedef struct collecting {
    const at_row_head *head;
    const at_row_targets *targets;
    const at_row_answers *answers;
    at_statistics *into;
    at_tag_set tags;           /* of labels and unknown ones; empty: they are no tags */
    attn_class_metrics *types; /* [types of the tags] */
    int32_t *truth;            /* of one unit, for entities */
    int64_t known, truth_room;
} collecting;

enum { RIGHT, ROWS, ENTITIES, CLASS_COLUMNS = ENTITIES + 3 };

static attn_status add_class_rows(collecting *now, int64_t unit, int64_t first, int64_t count) {
    double *sums = at_statistics_of(now->into, unit);
    attn_status status = ATTN_OK;
    for (int64_t i = first; i < first + count && status == ATTN_OK; i++) {
        int32_t truth = now->targets->classes[i], answer = now->answers->classes[i];
        if (truth == -1) continue;
        int64_t is = truth < -1 ? now->known + (-2 - truth) : truth;
        sums[RIGHT] += is == answer;
        sums[ROWS] += 1;
        status = at_statistics_class(now->into, unit, is, 1, is == answer, is == answer);
        if (status == ATTN_OK && is != answer) status = at_statistics_class(now->into, unit, answer, 0, 1, 0);
    }
    return status;
}

static attn_status add_entities(collecting *now, int64_t unit, int64_t first, int64_t count) {
    attn_context *context = now->answers->answers.context;
    double *sums = at_statistics_of(now->into, unit) + ENTITIES;
    int64_t types = now->tags.types.strings.count;
    attn_status status =
        at_grow(context, &now->truth, &now->truth_room, count, sizeof *now->truth, "a comparison");
    if (status != ATTN_OK) return status;
    for (int64_t i = 0; i < count; i++) {
        int32_t truth = now->targets->classes[first + i];
        now->truth[i] = truth < -1 ? (int32_t)(now->known + (-2 - truth)) : truth;
    }
    memset(now->types, 0, (size_t)types * sizeof *now->types);
    at_entities_count(&now->tags, now->truth, now->answers->classes + first, count, now->types);
    for (int64_t t = 0; t < types; t++) {
        sums[0] += (double)now->types[t].right;
        sums[1] += (double)now->types[t].predicted;
        sums[2] += (double)now->types[t].support;
    }
    return ATTN_OK;
}

static attn_status add_labels(collecting *now, int64_t unit, int64_t first, int64_t count) {
    double *sums = at_statistics_of(now->into, unit);
    attn_status status = ATTN_OK;
    for (int64_t i = first; i < first + count; i++) {
        int exact = now->targets->classes[i] == 0;
        for (int64_t l = 0; l < now->known && status == ATTN_OK; l++) {
            int is = now->targets->numbers[i * now->known + l] > 0.5f;
            int said = now->answers->probabilities[i * now->known + l] >= 0.5f;
            if (is != said) exact = 0;
            if (!is && !said) continue;
            sums[ENTITIES] += is && said;
            sums[ENTITIES + 1] += said;
            sums[ENTITIES + 2] += is;
            status = at_statistics_class(now->into, unit, l, is, said, is && said);
        }
        sums[ENTITIES + 2] += now->targets->classes[i]; /* labels that the head does not know */
        sums[RIGHT] += exact;
        sums[ROWS] += 1;
    }
    return status;
}

static attn_status add_numbers(collecting *now, int64_t unit, int64_t first, int64_t count) {
    double *sums = at_statistics_of(now->into, unit);
    for (int64_t i = first; i < first + count; i++) {
        double truth = (double)now->targets->numbers[i];
        if (isnan(truth)) continue;
        double error = now->answers->numbers[i] - truth;
        sums[0] += error * error;
        sums[2] += fabs(error);
        sums[1] += 1;
        sums[3] += 1;
    }
    return ATTN_OK;
}

static void name_metrics(const collecting *now) {
    if (now->head->labels.strings.count == 0) {
        at_statistics_metric(now->into, "mean_squared_error", AT_RATIO, 0);
        at_statistics_metric(now->into, "rmse", AT_ROOT, 0);
        at_statistics_metric(now->into, "mean_absolute_error", AT_RATIO, 2);
        return;
    }
    int several = now->head->head.kind->rows->labels;
    at_statistics_metric(now->into, several ? "exact" : "accuracy", AT_RATIO, RIGHT);
    /* Of several labels, those that the head does not know are in no list of the examples. */
    if (!several || now->targets->unknown.strings.count == 0)
        at_statistics_metric(now->into, "macro_f1", AT_MACRO_F1, 0);
    if (several) at_statistics_metric(now->into, "micro_f1", AT_F1, ENTITIES);
    if (now->types) at_statistics_metric(now->into, "entity_f1", AT_F1, ENTITIES);
}

/* by_row: each row is a unit, else each example is. */
static attn_status add_all(collecting *now, const at_encoded *encoded, int by_row) {
    const at_row_kind *kind = now->head->head.kind->rows;
    int64_t units = by_row ? encoded->rows : encoded->examples;
    attn_status status = ATTN_OK;
    for (int64_t u = 0; u < units && status == ATTN_OK; u++) {
        int rows = now->head->head.per_row && !by_row;
        int64_t first = rows ? encoded->offsets[u] : u;
        int64_t count = rows ? encoded->offsets[u + 1] - first : 1;
        if (now->known == 0)
            status = add_numbers(now, u, first, count);
        else if (kind->labels)
            status = add_labels(now, u, first, count);
        else
            status = add_class_rows(now, u, first, count);
        if (status == ATTN_OK && now->types) status = add_entities(now, u, first, count);
    }
    return status;
}

attn_status at_rows_resample(const at_head *head, const at_encoded *encoded, const at_row_targets *targets,
                             const at_row_answers *answers, int output, attn_report *report) {
    attn_context *context = answers->answers.context;
    const at_row_head *own = at_row_head_of(head);
    collecting now = {.head = own, .targets = targets, .answers = answers};
    int by_row = head->per_row && encoded->examples == 1;
    now.known = own->labels.strings.count;
    int64_t classes = now.known + (now.known ? targets->unknown.strings.count : 0);
    attn_status status = at_statistics_create(context, by_row ? encoded->rows : encoded->examples,
                                              CLASS_COLUMNS, classes, &now.into);
    if (status == ATTN_OK && own->tagging && !by_row) {
        status = at_tags_add(context, &now.tags, &own->labels.strings);
        if (status == ATTN_OK) status = at_tags_add(context, &now.tags, &targets->unknown.strings);
        if (status == ATTN_OK)
            now.types = at_allocate(context, now.tags.types.strings.count, sizeof *now.types, "entities");
        if (status == ATTN_OK && !now.types) status = ATTN_OUT_OF_MEMORY;
    }
    if (status == ATTN_OK) {
        name_metrics(&now);
        status = add_all(&now, encoded, by_row);
    }
    at_tags_free(context, &now.tags);
    at_release(context, now.types);
    at_release(context, now.truth);
    if (status == ATTN_OK)
        at_report_statistics(report, output, now.into);
    else
        at_statistics_free(now.into);
    return status;
}
