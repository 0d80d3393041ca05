/* running.c: running text for language models: its chunks, what is to be said in them, and how well it is
 * said.
 *
 * All lines of a dataset are one row of units with "\n" after each line and before the first, so that the
 * first unit of a chunk, too, has one to be said after. A chunk's rows are the units before those that are
 * said. Where a chunk ends follows from what is in it, never from what comes: the length of the next line
 * would be known from it that the line still fits.
 */
#include <math.h>

#include "base/context.h"
#include "base/memory.h"
#include "model/model.h"

enum { UNITS_A_BATCH = 4096 };
#define UNSEEN_BITS 21 /* which of all code points a character of an unknown unit is */

attn_status at_running_said(const attn_model *model, const at_units *units, int32_t **said) {
    int64_t count = units->units.count;
    int32_t *made = at_allocate(model->context, count + 1, sizeof *made, "running text");
    if (!made) return ATTN_OUT_OF_MEMORY;
    attn_status status = at_find_symbols(&model->text, units, made);
    if (status != ATTN_OK) {
        at_release(model->context, made);
        return status;
    }
    for (int64_t u = 0; u + 1 < count; u++) made[u] = made[u + 1] < 0 ? 0 : made[u + 1];
    if (count > 0) made[count - 1] = -1;
    *said = made;
    return ATTN_OK;
}

static attn_status add_chunk(attn_context *context, at_segments *segments, int64_t first, int64_t count) {
    attn_status status = at_grow(context, &segments->list, &segments->room, segments->count + 1,
                                 sizeof *segments->list, "the chunks of a text");
    if (status == ATTN_OK) segments->list[segments->count++] = (at_segment){0, first, count, 0};
    return status;
}

attn_status at_running_segments(const attn_model *model, const at_units *units, int64_t longest,
                                at_segments *segments) {
    attn_status status = ATTN_OK;
    segments->count = 0;
    int64_t first = 0; /* of the chunk that is being made; unit first + 1 is the first that it says */
    for (int64_t e = 0; e < units->examples && status == ATTN_OK; e++) {
        int64_t end = units->offsets[e + 1] - 1; /* the line's "\n" */
        for (; end - first > longest && status == ATTN_OK; first += longest)
            status = add_chunk(model->context, segments, first, longest);
        if (status == ATTN_OK && 2 * (end - first) >= longest) {
            status = add_chunk(model->context, segments, first, end - first);
            first = end;
        }
    }
    int64_t last = units->units.count - 1;
    if (status == ATTN_OK && last > first) status = add_chunk(model->context, segments, first, last - first);
    return status;
}

/* -log of the mean of the networks' probabilities of what is said, summed over the rows of a batch. */
static attn_status say_batch(attn_model *model, const at_batch *batch, const int32_t *said,
                             double *likelihood, at_surprise *surprise) {
    int64_t rows = batch->features.rows;
    for (int64_t r = 0; r < rows; r++) likelihood[r] = 0;
    for (int member = 0; member < model->members; member++) {
        attn_tape_begin(model->tape, ATTN_TAPE_PREDICT, 0);
        attn_variable *scores =
            at_generator_scores(model, &model->networks[member], model->tape, batch, NULL, NULL);
        scores = attn_tape_log_softmax(model->tape, scores);
        attn_status status = attn_tape_status(model->tape);
        if (status != ATTN_OK) return at_fail(model->context, status, "%s", attn_tape_error(model->tape));
        const float *row = attn_variable_data(scores);
        for (int64_t r = 0; r < rows; r++, row += attn_variable_stride(scores))
            likelihood[r] += exp((double)row[said[r]]) / model->members;
    }
    for (int64_t r = 0; r < rows; r++) {
        if (likelihood[r] != likelihood[r])
            return at_fail(model->context, ATTN_NOT_FINITE,
                           "the model says what is not a number: its weights are broken");
        surprise->loss -= log(likelihood[r] > 1e-300 ? likelihood[r] : 1e-300);
    }
    surprise->units += rows;
    return ATTN_OK;
}

static int64_t characters(const char *unit) {
    int64_t count = 0;
    for (; *unit; unit++) count += ((unsigned char)*unit & 0xC0) != 0x80;
    return count;
}

typedef struct saying {
    at_units units;
    at_segments segments;
    at_plan plan;
    at_batch batch;
    int32_t *said, *batch_said;
    double *likelihood;
    int64_t said_room, likelihood_room;
} saying;

static attn_status say_all(attn_model *model, const attn_dataset *dataset, saying *work,
                           at_surprise *surprise) {
    attn_context *context = model->context;
    attn_status status = at_text_units(&model->text, dataset, &work->units);
    if (status == ATTN_OK) status = at_running_said(model, &work->units, &work->said);
    if (status == ATTN_OK)
        status = at_running_segments(model, &work->units, at_config_longest(&model->values), &work->segments);
    if (status == ATTN_OK) status = at_plan_make(context, &work->segments, UNITS_A_BATCH, 0, 0, &work->plan);
    for (int64_t b = 0; b < work->plan.batches && status == ATTN_OK; b++) {
        const int64_t *order = work->plan.order + work->plan.first[b];
        int64_t count = work->plan.first[b + 1] - work->plan.first[b], row = 0;
        status = at_batch_make(&model->text, model->pretrained.columns ? &model->pretrained.words : NULL,
                               &work->units, &work->segments, order, count, NULL, &work->batch);
        int64_t rows = work->batch.features.rows;
        if (status == ATTN_OK)
            status =
                at_grow(context, &work->batch_said, &work->said_room, rows, sizeof(int32_t), "running text");
        if (status == ATTN_OK)
            status = at_grow(context, &work->likelihood, &work->likelihood_room, rows, sizeof(double),
                             "running text");
        for (int64_t s = 0; s < count && status == ATTN_OK; s++) {
            const at_segment *segment = &work->segments.list[order[s]];
            for (int64_t u = segment->first; u < segment->first + segment->count; u++) {
                work->batch_said[row++] = work->said[u];
                if (work->said[u] != 0) continue;
                surprise->loss +=
                    UNSEEN_BITS * log(2.0) * (double)characters(at_string(&work->units.units, u + 1));
                surprise->unknown++;
            }
        }
        if (status == ATTN_OK)
            status = say_batch(model, &work->batch, work->batch_said, work->likelihood, surprise);
    }
    return status;
}

attn_status at_running_surprise(attn_model *model, const attn_dataset *dataset, at_surprise *surprise) {
    saying work = {.said = NULL};
    at_surprise made = {.units = 0};
    attn_context *context = model->context;
    if (dataset->tokenized)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "%.300s: has sentences of tokens; running text is lines of text",
                       at_string(&dataset->name, 0));
    attn_status status = say_all(model, dataset, &work, &made);
    for (int64_t t = 0; t < dataset->tokens.count; t++)
        made.bytes += (int64_t)at_string_length(&dataset->tokens, t) + 1; /* the line end, too */
    at_units_free(context, &work.units);
    at_segments_free(context, &work.segments);
    at_plan_free(context, &work.plan);
    at_batch_free(context, &work.batch);
    at_release(context, work.said);
    at_release(context, work.batch_said);
    at_release(context, work.likelihood);
    if (status == ATTN_OK) *surprise = made;
    return status;
}
