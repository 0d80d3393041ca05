/* stage.c: what a stage learns from examples, its targets, and the state for predictions and reports. */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "model/model.h"

/* ---- learning ---- */

attn_status at_stage_encode(const at_stage *stage, attn_context *context, void **memo,
                            const attn_dataset *dataset, const at_encode_options *options,
                            at_encoded **encoded) {
    const at_input_kind *kind = stage->input->kind;
    if (strcmp(dataset->kind->input, kind->name) != 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: is of input %s, the model reads %s",
                       attn_dataset_name(dataset), dataset->kind->input, kind->name);
    attn_status status = kind->encode(stage->input, context, memo, dataset, options, encoded);
    if (status != ATTN_OK) return status;
    (*encoded)->dataset = dataset;
    if ((*encoded)->labels.lines == dataset->lines) { /* not labels that the input made itself */
        (*encoded)->labels.files = dataset->files;
        (*encoded)->labels.names = &dataset->name;
    }
    return status;
}

static attn_status check_places(const at_stage *stage, const at_labels *labels) {
    int wanted = stage->values.task->per_row;
    if (wanted >= 0 && wanted != labels->per_row) {
        const char *input = stage->input->kind->name;
        const char *row = attn_input_row(input), *example = attn_input_example(input);
        return at_fail(stage->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: has a target for each %s, task %s learns one for each %s", labels->name,
                       wanted ? example : row, stage->values.task->name, wanted ? row : example);
    }
    if (labels->columns->count > 0) return ATTN_OK;
    return at_fail(stage->context, ATTN_INVALID_ARGUMENT, "%.200s: has no column of labels", labels->name);
}

static attn_status learn_order(const at_stage *stage, const at_encoded *encoded, int head, int column) {
    at_head *of = stage->heads[head];
    if (!of->kind->learn_order || stage->input->kind->unordered) return ATTN_OK;
    return of->kind->learn_order(of, encoded, column);
}

/* One head for each target column. */
static attn_status learn_columns(at_stage *stage, const at_encoded *encoded) {
    const at_labels *labels = &encoded->labels;
    attn_status status = check_places(stage, labels);
    stage->per_row = labels->per_row;
    if (status == ATTN_OK && stage->per_row && stage->input->wide) {
        const char *input = stage->input->kind->name;
        status = at_fail(stage->context, ATTN_INVALID_ARGUMENT,
                         "%.200s: has a target for each %s; features of a whole %s (text.wide_buckets, "
                         "encoder.kind none) are for one prediction per %s",
                         labels->name, attn_input_row(input), attn_input_example(input),
                         attn_input_example(input));
    }
    for (int c = 0; c < labels->columns->count && status == ATTN_OK; c++) {
        const at_head_kind *kind;
        status = at_head_for_column(stage->values.task->head, stage->values.output, labels, c, &kind);
        if (status == ATTN_OK) status = at_stage_add_head(stage, kind, at_string(labels->columns, c));
        if (status == ATTN_OK) status = stage->heads[c]->kind->learn(stage->heads[c], labels, c);
        if (status == ATTN_OK) status = learn_order(stage, encoded, c, c);
    }
    return status;
}

attn_status at_stage_learn(at_stage *stage, const attn_dataset *train, const char *vectors,
                           at_encoded **encoded) {
    at_learning from = {.examples = train, .vectors = vectors};
    if (strcmp(train->kind->input, stage->input->kind->name) != 0)
        return at_fail(stage->context, ATTN_INVALID_ARGUMENT,
                       "%.200s: is of input %s, the configuration says %s", attn_dataset_name(train),
                       train->kind->input, stage->input->kind->name);
    if (stage->head_count == 1) from.answers = at_head_shares(stage->heads[0], &train->targets);
    attn_status status = stage->input->kind->learn(stage->input, &from);
    if (status == ATTN_OK) status = at_stage_encode(stage, stage->context, NULL, train, NULL, encoded);
    if (status != ATTN_OK) return status;
    const at_labels *labels = &(*encoded)->labels;
    if (stage->head_count == 1) return stage->heads[0]->kind->learn(stage->heads[0], labels, 0);
    return learn_columns(stage, *encoded);
}

int at_stage_column(const at_stage *stage, const at_strings *columns, int head) {
    for (int c = 0; c < columns->count; c++) {
        if (strcmp(at_string(columns, c), at_string(&stage->heads[head]->name, 0)) == 0) return c;
    }
    return stage->head_count == 1 && columns->count == 1 ? 0 : -1;
}

attn_status at_stage_learn_more(at_stage *stage, const attn_dataset *train, at_encoded **encoded) {
    attn_status status = at_stage_encode(stage, stage->context, NULL, train, NULL, encoded);
    if (status != ATTN_OK) return status;
    const at_labels *labels = &(*encoded)->labels;
    if (stage->heads[0]->kind->rows) status = check_places(stage, labels);
    if (status == ATTN_OK && stage->heads[0]->kind->rows && labels->per_row != stage->per_row)
        status = at_fail(stage->context, ATTN_INVALID_ARGUMENT,
                         "%.200s: has targets of examples and the model predicts for rows, or the reverse",
                         labels->name);
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++) {
        at_head *head = stage->heads[i];
        int column = at_stage_column(stage, labels->columns, i);
        if (!head->kind->learn_more) continue;
        status = column >= 0 ? head->kind->learn_more(head, labels, column)
                             : at_fail(stage->context, ATTN_INVALID_ARGUMENT,
                                       "%.200s: has no column %.60s, which the model predicts", labels->name,
                                       at_string(&head->name, 0));
        if (status == ATTN_OK) status = learn_order(stage, *encoded, i, column);
    }
    return status;
}

/* ---- targets ---- */

void at_stage_free_targets(const at_stage *stage, attn_context *context, at_targets **targets) {
    for (int i = 0; targets && i < stage->head_count; i++)
        if (targets[i]) stage->heads[i]->kind->free_targets(targets[i]);
    at_release(context, targets);
}

attn_status at_stage_targets(const at_stage *stage, attn_context *context, const at_encoded *encoded,
                             at_targets ***targets) {
    at_targets **made = at_allocate(context, stage->head_count, sizeof *made, "targets");
    attn_status status = made ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++) {
        const at_head *head = stage->heads[i];
        status = head->kind->targets(head, &stage->forward, context, encoded,
                                     at_stage_column(stage, encoded->labels.columns, i), &made[i]);
    }
    if (status == ATTN_OK)
        *targets = made;
    else
        at_stage_free_targets(stage, context, made);
    return status;
}

/* ---- predicting and reporting ---- */

attn_status at_work_create(const at_stage *stage, attn_context *context, at_work *work) {
    *work = (at_work){.context = context};
    attn_status status = attn_tape_create(context, &work->tape);
    if (status == ATTN_OK) status = stage->input->kind->create_batch(context, &work->batch);
    return status;
}

void at_work_borrow(attn_context *context, attn_tape *tape, at_batch *batch, at_work *work) {
    *work = (at_work){.context = context, .tape = tape, .batch = batch, .borrowed = 1};
}

void at_work_free(const at_stage *stage, at_work *work) {
    if (!work->context) return;
    if (work->parts) at_workers_free(&stage->forward, stage->heads[0]->kind, work);
    if (!work->borrowed) attn_tape_destroy(work->tape);
    at_host_rows_free(work->context, &work->host);
    if (work->batch && !work->borrowed) stage->input->kind->free_batch(work->batch);
    if (work->state) stage->heads[0]->kind->free_state(work->context, work->state);
    if (work->steps) at_steps_free(&stage->forward, work->steps);
    at_segments_free(work->context, &work->segments);
    at_plan_free(work->context, &work->plan);
    *work = (at_work){.context = NULL};
}

attn_status at_stage_report(const at_stage *stage, at_work *work, const at_encoded *encoded,
                            at_targets *const *targets, const void *settings, at_effort effort,
                            attn_report **report) {
    attn_report *made;
    attn_status status =
        at_report_create(work->context, stage->heads, stage->head_count, encoded->examples, &made);
    if (status != ATTN_OK) return status;
    status = stage->heads[0]->kind->report(stage->heads, stage->head_count, &stage->forward, work, encoded,
                                           targets, settings, effort, made);
    if (status == ATTN_OK && at_report_all_compared(made) == 0)
        status = at_fail(work->context, ATTN_INVALID_ARGUMENT, "%.300s: has no targets to compare with",
                         encoded->labels.name);
    if (status == ATTN_OK)
        *report = made;
    else
        attn_report_destroy(made);
    return status;
}
