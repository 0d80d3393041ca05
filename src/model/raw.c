/* raw.c: evaluation of a model on raw data, whose examples and rows the model has to find itself. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "model/predictor.h"

/* Both sides of what is compared, output by output: those that answer with a label and whose column the
 * data has. */
typedef struct comparison {
    attn_report *report;
    at_strings columns, gold_tags, split_tags;
    int *outputs; /* [columns.count] */
} comparison;

static attn_status check_kind(const attn_predictor *predictor, const attn_dataset *dataset) {
    const at_stage *stage = predictor->stage;
    const at_input_kind *kind = stage->input->kind;
    if (!kind->raw || !stage->per_row || !stage->heads[0]->kind->rows)
        return at_fail(
            predictor->context, ATTN_UNSUPPORTED,
            "raw text needs a model that predicts for each word; this one has task %s and reads %s",
            stage->values.task->name, kind->name);
    if (strcmp(dataset->kind->input, kind->name) == 0) return ATTN_OK;
    return at_fail(predictor->context, ATTN_INVALID_ARGUMENT, "%.200s: is of input %s, the model reads %s",
                   attn_dataset_name(dataset), dataset->kind->input, kind->name);
}

/* ---- splitting ---- */

/* Examples stay as they are; their rows are those that the input makes of them by its rules. */
static attn_status split_by_rules(attn_predictor *predictor, const attn_dataset *raw, attn_dataset **split) {
    attn_context *context = predictor->context;
    const at_input_kind *kind = predictor->stage->input->kind;
    at_encode_options options = {.settings = predictor->input_settings};
    at_encoded *encoded;
    attn_status status =
        at_stage_encode(predictor->stage, context, &predictor->memo, raw, &options, &encoded);
    if (status != ATTN_OK) return status;
    const char **names = at_allocate(context, encoded->rows, sizeof *names, "the names of rows");
    status = names ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; status == ATTN_OK && i < encoded->rows; i++) names[i] = kind->row_name(encoded, i);
    if (status == ATTN_OK)
        status = attn_dataset_from_texts(context, names, encoded->offsets, encoded->examples, split);
    at_release(context, names);
    kind->free_encoded(encoded);
    return status;
}

static attn_status split_raw(attn_predictor *predictor, const attn_dataset *raw, attn_dataset **split) {
    attn_status status = at_predictor_split(predictor, raw, split, NULL);
    return status == ATTN_OK && !*split ? split_by_rules(predictor, raw, split) : status;
}

/* ---- comparing ---- */

/* Whether there is anything in a column. */
static int has_values(const attn_dataset *dataset, int column) {
    for (int64_t i = 0; i < dataset->rows; i++)
        if (at_string_length(&dataset->targets, i * dataset->columns.count + column) > 0) return 1;
    return 0;
}

static attn_status choose_outputs(const at_stage *stage, attn_context *context, const attn_dataset *gold,
                                  comparison *work) {
    work->outputs = at_allocate(context, stage->head_count, sizeof *work->outputs, "outputs");
    attn_status status = work->outputs ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++) {
        const at_head *head = stage->heads[i];
        const at_strings *labels = at_labels_of_head(head);
        int column = gold->per_row ? at_stage_column(stage, &gold->columns, i) : -1;
        if (column < 0 || !labels || head->kind->several || !has_values(gold, column)) continue;
        work->outputs[work->columns.count] = i;
        status = at_strings_add(context, &work->columns, at_string(&head->name, 0),
                                at_string_length(&head->name, 0));
    }
    return status;
}

static attn_status gather_gold(const at_stage *stage, attn_context *context, const attn_dataset *gold,
                               comparison *work) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < gold->rows; i++) {
        for (int64_t c = 0; c < work->columns.count && status == ATTN_OK; c++) {
            int64_t place =
                i * gold->columns.count + at_stage_column(stage, &gold->columns, work->outputs[c]);
            status = at_strings_add(context, &work->gold_tags, at_string(&gold->targets, place),
                                    at_string_length(&gold->targets, place));
        }
    }
    return status;
}

static attn_status gather_answers(attn_predictor *predictor, const attn_dataset *split, comparison *work) {
    attn_prediction *prediction;
    attn_status status = attn_predictor_predict(predictor, split, &prediction);
    if (status != ATTN_OK) return status;
    for (int64_t e = 0; e < split->examples && status == ATTN_OK; e++) {
        int64_t rows = attn_dataset_rows(split, e);
        if (prediction->piece_offsets || attn_prediction_units(prediction, e) != rows)
            status = at_fail(
                predictor->context, ATTN_UNSUPPORTED,
                "raw text needs a model that predicts for each word; rows of this one are parts of words");
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t c = 0; c < work->columns.count && status == ATTN_OK; c++) {
                const char *label = attn_prediction_label(prediction, work->outputs[c], e, i);
                status = at_strings_add(predictor->context, &work->split_tags, label, strlen(label));
            }
        }
    }
    attn_prediction_destroy(prediction);
    return status;
}

static attn_status add_metric(void *user, int column, const char *name, double value) {
    const comparison *work = user;
    return at_report_add(work->report, column < 0 ? 0 : work->outputs[column], name, value);
}

static attn_status compare(attn_predictor *predictor, const attn_dataset *gold, const attn_dataset *split,
                           comparison *work) {
    const at_stage *stage = predictor->stage;
    attn_context *context = predictor->context;
    at_raw_tags sides[2] = {{gold, &work->gold_tags}, {split, &work->split_tags}};
    attn_status status = choose_outputs(stage, context, gold, work);
    if (status == ATTN_OK) status = gather_gold(stage, context, gold, work);
    if (status == ATTN_OK) status = gather_answers(predictor, split, work);
    if (status != ATTN_OK) return status;
    at_report_rows(work->report, gold->rows);
    at_report_compared(work->report, 0, gold->rows); /* words, whether they have tags or not */
    for (int64_t c = 0; c < work->columns.count; c++)
        at_report_compared(work->report, work->outputs[c], gold->rows);
    return stage->input->kind->raw_metrics(context, &sides[0], &sides[1], &work->columns, add_metric, work);
}

attn_status at_report_split(attn_predictor *predictor, const attn_dataset *gold, const attn_dataset *split,
                            attn_report **report) {
    attn_context *context = predictor->context;
    const at_stage *stage = predictor->stage;
    comparison work = {.report = NULL};
    attn_status status = check_kind(predictor, gold);
    if (status == ATTN_OK)
        status = at_report_create(context, stage->heads, stage->head_count, gold->examples, &work.report);
    if (status != ATTN_OK) return status;
    status = compare(predictor, gold, split, &work);
    at_strings_free(context, &work.columns);
    at_strings_free(context, &work.gold_tags);
    at_strings_free(context, &work.split_tags);
    at_release(context, work.outputs);
    if (status == ATTN_OK)
        *report = work.report;
    else
        attn_report_destroy(work.report);
    return status;
}

attn_status attn_report_create_raw(attn_predictor *predictor, const attn_dataset *dataset,
                                   attn_report **report) {
    if (!predictor) return ATTN_INVALID_ARGUMENT;
    if (!dataset || !report)
        return at_fail(predictor->context, ATTN_INVALID_ARGUMENT, "dataset or report is NULL");
    attn_dataset *raw = NULL, *split = NULL;
    attn_status status = check_kind(predictor, dataset);
    if (status == ATTN_OK)
        status = predictor->stage->input->kind->raw(predictor->stage->input, dataset, &raw);
    if (status == ATTN_OK) status = split_raw(predictor, raw, &split);
    if (status == ATTN_OK) status = at_report_split(predictor, dataset, split, report);
    attn_dataset_destroy(raw);
    attn_dataset_destroy(split);
    return status;
}
