/* rows_predict.c: predictions of heads of rows for encoded examples, and their metrics.
 *
 * Sequences go through the networks in batches of similar length, longest first, on several threads (work.h);
 * predictions are stored at the places of their rows or examples.
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "heads/rows.h"
#include "heads/transitions.h"
#include "heads/work.h"

enum { ROWS_PER_BATCH = 256 };

int32_t at_largest(const float *numbers, int64_t count) {
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++) {
        if (numbers[i] > numbers[best]) best = i;
    }
    return (int32_t)best;
}

void at_rows_free_answers(at_answers *answers) {
    at_row_answers *rows = (at_row_answers *)(void *)answers;
    attn_context *context = answers->context;
    at_release(context, rows->classes);
    at_release(context, rows->numbers);
    at_release(context, rows->probabilities);
    at_spread_free(context, &rows->spread);
    at_cut_free(context, &rows->cut);
    at_release(context, rows->likelihood);
    at_release(context, rows->positive);
    at_release(context, rows->confidence);
    at_sample_free(context, rows->sample);
    at_release(context, rows);
}

/* Room for what a report says of probabilities: not all of them, which would be many. */
static attn_status add_likelihood(attn_context *context, const at_row_targets *truth, int ranked,
                                  at_row_answers *into) {
    into->truth = truth->classes;
    into->likelihood = at_allocate(context, into->places, sizeof *into->likelihood, "probabilities");
    into->confidence = at_allocate(context, into->places, sizeof *into->confidence, "probabilities");
    if (ranked) into->positive = at_allocate(context, into->places, sizeof *into->positive, "probabilities");
    int whole = into->likelihood && into->confidence && (!ranked || into->positive);
    return whole ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* truth: NULL, or the targets that the predictions are to be compared with. */
static attn_status make_answers(const at_head *head, attn_context *context, int64_t places, int probabilities,
                                const at_targets *truth, at_answers **answers) {
    const at_row_head *own = at_row_head_of(head);
    at_row_answers *made = at_allocate(context, 1, sizeof *made, "answers");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->answers = (at_answers){head, context};
    *answers = &made->answers; /* what is there is freed with it */
    made->places = places;
    made->labels = own->labels.strings.count;
    if (made->labels == 0) {
        made->numbers = at_allocate(context, places, sizeof *made->numbers, "answers");
        return made->numbers ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    }
    made->classes = at_allocate(context, places, sizeof *made->classes, "answers");
    if (!made->classes) return ATTN_OUT_OF_MEMORY;
    if (truth && head->kind->rows->likelihood)
        return add_likelihood(context, (const at_row_targets *)(const void *)truth,
                              made->labels == 2 && !head->kind->decode, made);
    if (!probabilities && !head->kind->rows->labels) return ATTN_OK;
    made->probabilities =
        at_allocate(context, places * made->labels, sizeof *made->probabilities, "probabilities");
    return made->probabilities ? ATTN_OK : ATTN_OUT_OF_MEMORY;
}

/* What one prediction works with. */
typedef struct job {
    at_head *const *heads;
    int count;
    const at_forward *forward;
    const at_encoded *encoded;
    at_work *whole; /* has the segments and the plan */
    at_work *work;  /* of who runs the batch */
    at_answers **answers;
    const int64_t *order; /* the segments of the batch */
} job;

/* What a worker keeps from batch to batch and from call to call. */
typedef struct rows_state {
    at_row_answers *views; /* [view_count], one a head: the predictions, with memory of its own to work in */
    int view_count;
    int32_t *path; /* of heads that decode a batch as a whole */
    float *marginals;
    int64_t path_room, marginal_room;
    at_path_memory memory;
} rows_state;

void at_rows_free_state(attn_context *context, void *state) {
    rows_state *own = state;
    for (int i = 0; i < own->view_count; i++) {
        at_release(context, own->views[i].mean);
        at_release(context, own->views[i].row);
        at_release(context, own->views[i].spread.members);
    }
    at_release(context, own->views);
    at_release(context, own->path);
    at_release(context, own->marginals);
    at_path_memory_free(context, &own->memory);
    at_release(context, own);
}

/* The view of a worker. */
static at_row_answers *view_of(const job *now, int number) {
    return &((rows_state *)now->work->state)->views[number];
}

static attn_status look(attn_context *context, const at_row_answers *answers, at_row_answers *view) {
    at_row_answers kept = *view;
    *view = *answers;
    view->mean = kept.mean;
    view->mean_room = kept.mean_room;
    view->row = kept.row;
    view->row_room = kept.row_room;
    view->spread.members = kept.spread.members;
    view->spread.member_room = kept.spread.member_room;
    if (!view->likelihood) return ATTN_OK;
    return at_grow(context, &view->row, &view->row_room, view->labels, sizeof *view->row, "probabilities");
}

static attn_status prepare(void *user, at_work *worker) {
    const job *shared = user;
    attn_context *context = worker->context;
    if (!worker->state) worker->state = at_allocate(context, 1, sizeof(rows_state), "answers");
    rows_state *state = worker->state;
    if (!state) return ATTN_OUT_OF_MEMORY;
    if (!state->views) {
        state->views = at_allocate(context, shared->count, sizeof *state->views, "answers");
        if (!state->views) return ATTN_OUT_OF_MEMORY;
        state->view_count = shared->count;
    }
    attn_status status = ATTN_OK;
    for (int i = 0; i < shared->count && status == ATTN_OK; i++)
        status = look(context, at_row_answers_of(shared->answers[i]), &state->views[i]);
    return status;
}

/* The label of a path, which need not be the likeliest of its row. */
static void put_label(at_row_answers *into, int64_t place, int32_t label) {
    into->classes[place] = label;
    if (into->confidence) into->confidence[place] = into->row[label];
}

/* Calls `put` for every row of the batch with the place where it belongs. */
static void put_rows(const job *now, int number, const float *rows, int64_t stride, const int32_t *path,
                     int averaged) {
    const at_head *head = now->heads[number];
    const at_batch *batch = now->work->batch;
    at_row_answers *into = view_of(now, number);
    for (int64_t s = 0; s < batch->sequences; s++) {
        const at_segment *segment = &now->whole->segments.list[now->order[s]];
        int64_t count = head->per_row ? segment->count : 1, first = head->per_row ? batch->offsets[s] : s;
        for (int64_t r = 0; r < count; r++) {
            int64_t place = head->per_row ? segment->first + r : segment->example;
            if (rows && into->sample)
                at_sample_put(at_row_head_of(head), into->sample, rows + (first + r) * stride, averaged,
                              place);
            if (rows)
                head->kind->rows->put(at_row_head_of(head), into, rows + (first + r) * stride, averaged,
                                      place);
            if (path) put_label(into, place, path[first + r]);
            if (into->spread.values)
                at_spread_put(at_row_head_of(head), into, now->forward->networks, first + r, place);
        }
    }
}

/* Puts the predictions of a batch, with labels that can follow each other; log_probabilities: what labels
 * follow from. network: of a CRF, else -1. */
static attn_status put_batch(const job *now, int number, const float *rows, int64_t stride,
                             const int32_t *path, int averaged, int network,
                             const at_path_log_probabilities *log_probabilities) {
    rows_state *state = now->work->state;
    put_rows(now, number, rows, stride, path, averaged);
    return at_rows_decode(now->heads[number], now->forward, now->work, now->encoded, &now->whole->segments,
                          now->order, network, log_probabilities, &state->memory, view_of(now, number));
}

/* Adds the predictions of a network to the mean; they are rows of logits, or predictions already. */
static attn_status add_to_mean(const job *now, int network, int number, const float *rows, int64_t stride,
                               int64_t count, int answered) {
    const at_head *head = now->heads[number];
    const at_row_kind *kind = head->kind->rows;
    at_row_answers *into = view_of(now, number);
    attn_context *context = now->work->context;
    int64_t width = kind->width(at_row_head_of(head));
    attn_status status = at_grow(context, &into->mean, &into->mean_room, (count + 1) * width, sizeof(float),
                                 "the mean of answers");
    if (status != ATTN_OK) return status;
    float *answer = into->mean + count * width; /* one row more, to work in */
    for (int64_t r = 0; r < count && status == ATTN_OK; r++) {
        const float *row = rows + r * stride;
        if (!answered) {
            kind->answer(at_row_head_of(head), row, answer);
            row = answer;
        }
        float *mean = into->mean + r * width;
        for (int64_t c = 0; c < width; c++)
            mean[c] = (network ? mean[c] : 0) + row[c] / (float)now->forward->networks;
        if (into->spread.values)
            status = at_spread_add(context, &into->spread, network, count, r, row, width);
    }
    return status;
}

/* Broken weights give no predictions, rather than wrong ones. */
static attn_status check_finite(attn_context *context, const float *rows, int64_t stride, int64_t count,
                                int64_t width) {
    for (int64_t r = 0; r < count; r++) {
        for (int64_t c = 0; c < width; c++)
            if (!isfinite(rows[r * stride + c]))
                return at_fail(context, ATTN_NOT_FINITE,
                               "the model's output is not a number: its weights are damaged");
    }
    return ATTN_OK;
}

/* A head that decodes the rows of a batch together. */
static attn_status answer_together(const job *now, int network, int number, attn_variable *logits) {
    const at_head *head = now->heads[number];
    at_row_answers *into = view_of(now, number);
    at_work *work = now->work;
    rows_state *state = work->state;
    attn_ragged rows = {work->batch->sequences, work->batch->offsets};
    int several = now->forward->networks > 1,
        wanted = several || into->probabilities || into->likelihood || into->sample;
    attn_status status = at_grow(work->context, &state->path, &state->path_room, work->batch->rows,
                                 sizeof *state->path, "a path");
    if (status == ATTN_OK && wanted)
        status = at_grow(work->context, &state->marginals, &state->marginal_room,
                         work->batch->rows * into->labels, sizeof *state->marginals, "marginals");
    if (status != ATTN_OK) return status;
    status = head->kind->decode(head, network, work->tape, logits, &rows, several ? NULL : state->path,
                                wanted ? state->marginals : NULL);
    if (status != ATTN_OK) return at_fail(work->context, status, "%s", attn_tape_error(work->tape));
    if (several)
        return add_to_mean(now, network, number, state->marginals, into->labels, work->batch->rows, 1);
    at_path_log_probabilities emissions = {.rows = work->host.data, .stride = work->host.stride};
    return put_batch(now, number, wanted ? state->marginals : NULL, into->labels, state->path, 1, network,
                     &emissions);
}

static attn_status answer_network(const job *now, int network) {
    at_work *work = now->work;
    attn_tape_begin(work->tape, ATTN_TAPE_PREDICT, 0);
    attn_variable *x = now->forward->rows(now->forward, network, work->tape, work->batch);
    attn_status status = ATTN_OK;
    for (int i = 0; i < now->count && status == ATTN_OK; i++) {
        attn_variable *logits = at_rows_logits(now->heads[i], network, work->tape, x, work->batch);
        status = attn_tape_status(work->tape);
        if (status != ATTN_OK) return at_fail(work->context, status, "%s", attn_tape_error(work->tape));
        status = at_host_rows_of(logits, &work->host);
        if (status == ATTN_OK)
            status = check_finite(work->context, work->host.data, work->host.stride,
                                  attn_variable_rows(logits), attn_variable_columns(logits));
        if (status != ATTN_OK) return status;
        if (now->heads[i]->kind->decode)
            status = answer_together(now, network, i, logits);
        else if (now->forward->networks > 1)
            status = add_to_mean(now, network, i, work->host.data, work->host.stride,
                                 attn_variable_rows(logits), 0);
        else
            status =
                put_batch(now, i, work->host.data, work->host.stride, NULL, 0, -1,
                          &(at_path_log_probabilities){.rows = work->host.data, .stride = work->host.stride});
    }
    return status;
}

static attn_status answer_batch(void *user, at_work *worker, int64_t number) {
    const job *shared = user;
    const at_plan *plan = &shared->whole->plan;
    job own = *shared, *now = &own;
    own.work = worker;
    own.order = plan->order + plan->first[number];
    attn_status status = now->forward->fill(now->forward, now->encoded, &now->whole->segments, now->order,
                                            plan->first[number + 1] - plan->first[number], worker->batch);
    for (int n = 0; n < now->forward->networks && status == ATTN_OK; n++) status = answer_network(now, n);
    for (int i = 0; i < now->count && status == ATTN_OK && now->forward->networks > 1; i++) {
        const float *mean = view_of(now, i)->mean;
        int64_t width = now->heads[i]->kind->rows->width(at_row_head_of(now->heads[i]));
        at_path_log_probabilities log_probabilities = {.rows = mean, .stride = width, .probabilities = 1};
        status = put_batch(now, i, mean, width, NULL, 1, -1, &log_probabilities);
    }
    return status;
}

/* Each rank has the predictions of its batches, and 0 elsewhere; then all have all. */
static attn_status join_answers(at_work *work, at_row_answers *own) {
    int64_t places = own->places, columns = own->spread.columns;
    const struct {
        void *numbers;
        int64_t count;
        size_t bytes;
    } arrays[] = {{own->classes, places, sizeof *own->classes},
                  {own->numbers, places, sizeof *own->numbers},
                  {own->probabilities, places * own->labels, sizeof *own->probabilities},
                  {own->spread.values, places * columns, sizeof *own->spread.values},
                  {own->cut.rows, own->cut.numbers, sizeof *own->cut.rows},
                  {own->likelihood, places, sizeof *own->likelihood},
                  {own->positive, places, sizeof *own->positive},
                  {own->confidence, places, sizeof *own->confidence}};
    attn_status status = ATTN_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0] && status == ATTN_OK; i++)
        if (arrays[i].numbers)
            status = at_work_join(work, status, arrays[i].numbers, arrays[i].count, arrays[i].bytes);
    return status;
}

/* What answers are for: predicting (targets are NULL), comparing, or fitting temperatures. */
typedef struct purpose {
    const at_row_settings *settings; /* NULL: none */
    at_targets *const *targets;      /* of each head */
    int calibrates;
} purpose;

static int is_unsure(const purpose *of, const at_head *head) {
    return of->settings && of->settings->unsure > AT_NEVER_UNSURE && head->kind->rows == &at_class_rows;
}

/* Outputs of which none can be unsure are not asked to be. */
static attn_status check_unsure(const purpose *of, attn_context *context, at_head *const *heads, int count) {
    int any = !of->settings || of->settings->unsure <= AT_NEVER_UNSURE;
    for (int i = 0; i < count; i++) any |= is_unsure(of, heads[i]);
    if (any) return ATTN_OK;
    return at_fail(
        context, ATTN_UNSUPPORTED,
        "unsure needs an output that predicts one class; output %.100s of this model is of the kind %s",
        at_string(&heads[0]->name, 0), heads[0]->kind->name);
}

/* Room for the predictions of a head. */
static attn_status make_room(const purpose *of, const at_head *head, int number, const at_forward *forward,
                             at_work *work, const at_encoded *encoded, at_answers **answers) {
    int unsure = is_unsure(of, head), likely = unsure || (of->settings && of->settings->probabilities);
    int compares = of->targets && !of->calibrates;
    attn_status status = make_answers(head, work->context, head->per_row ? encoded->rows : encoded->examples,
                                      likely, compares ? of->targets[number] : NULL, answers);
    at_row_answers *made = (at_row_answers *)(void *)*answers;
    if (status != ATTN_OK) return status;
    if (unsure) made->unsure = of->settings->unsure;
    if (of->calibrates && made->labels > 0)
        status = at_sample_create(work->context, at_row_head_of(head), of->targets[number], &made->sample);
    if (!of->targets && forward->networks > 1)
        status = at_spread_create(work->context, head->kind->rows, made);
    return status;
}

static attn_status answer_all(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                              const at_encoded *encoded, const purpose *of, at_answers **answers) {
    attn_status status = check_unsure(of, work->context, heads, count);
    for (int i = 0; i < count && status == ATTN_OK; i++)
        status = make_room(of, heads[i], i, forward, work, encoded, &answers[i]);
    for (int i = 0; i < count && status == ATTN_OK; i++)
        status =
            at_cut_create(work->context, encoded, forward->longest, (at_row_answers *)(void *)answers[i]);
    if (status == ATTN_OK)
        status = at_segments_make(work->context, encoded->examples, encoded->offsets,
                                  heads[0]->per_row ? forward->longest : forward->most, heads[0]->per_row,
                                  &work->segments);
    if (status == ATTN_OK)
        status = at_plan_sorted(work->context, &work->segments, ROWS_PER_BATCH, &work->plan);
    job shared = {heads, count, forward, encoded, work, work, answers, NULL};
    at_tasks tasks = {.divisible = 1, .prepare = prepare, .run = answer_batch, .user = &shared};
    if (status == ATTN_OK) {
        tasks.count = work->plan.batches;
        tasks.large = at_work_large(work);
    }
    status = at_work_run(forward, work, status, &tasks);
    for (int i = 0; i < count && status == ATTN_OK; i++)
        status = join_answers(work, (at_row_answers *)(void *)answers[i]);
    for (int i = 0; i < count && status == ATTN_OK; i++)
        status = at_rows_decode_cut(heads[i], forward, encoded, (at_row_answers *)(void *)answers[i]);
    return status;
}

attn_status at_rows_predict(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                            const at_encoded *encoded, const void *settings, at_answers **answers) {
    const purpose predicts = {.settings = settings};
    return answer_all(heads, count, forward, work, encoded, &predicts, answers);
}

static void free_all(attn_context *context, at_answers **answers, int count) {
    for (int i = 0; i < count; i++)
        if (answers[i]) at_rows_free_answers(answers[i]);
    at_release(context, answers);
}

attn_status at_rows_calibrate(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                              const at_encoded *encoded, at_targets *const *targets) {
    const purpose calibrates = {.targets = targets, .calibrates = 1};
    at_answers **answers = at_allocate(work->context, count, sizeof *answers, "answers");
    if (!answers) return ATTN_OUT_OF_MEMORY;
    attn_status status = answer_all(heads, count, forward, work, encoded, &calibrates, answers);
    for (int i = 0; i < count && status == ATTN_OK; i++) {
        const at_row_answers *found = at_row_answers_of(answers[i]);
        if (found->sample) status = at_sample_fit(work->context, found->sample, at_row_head_of(heads[i]));
    }
    free_all(work->context, answers, count);
    return status;
}

const char at_unknown_label[] = "unknown";

int at_rows_unsure(const at_row_answers *answers, int64_t place) {
    if (!(answers->unsure > 0)) return 0;
    const float *row = answers->probabilities + place * answers->labels;
    return (double)row[answers->classes[place]] < answers->unsure;
}

attn_status at_rows_report(at_head *const *heads, int count, const at_forward *forward, at_work *work,
                           const at_encoded *encoded, at_targets *const *targets, const void *settings,
                           at_effort effort, attn_report *report) {
    at_answers **answers = at_allocate(work->context, count, sizeof *answers, "answers");
    (void)settings;
    if (!answers) return ATTN_OUT_OF_MEMORY;
    const purpose compares = {.targets = targets};
    attn_status status = answer_all(heads, count, forward, work, encoded, &compares, answers);
    at_report_rows(report, encoded->rows);
    for (int i = 0; i < count && status == ATTN_OK; i++) {
        const at_row_targets *truth = (const at_row_targets *)(const void *)targets[i];
        const at_row_answers *found = at_row_answers_of(answers[i]);
        if (found->classes && forward->measure && !heads[i]->kind->rows->labels)
            status = forward->measure(forward, encoded, &at_row_head_of(heads[i])->labels.strings,
                                      truth->classes, found->classes, i, report);
        if (status == ATTN_OK)
            status =
                at_tagging_report(at_row_head_of(heads[i]), work->context, encoded, truth, found, i, report);
        if (status == ATTN_OK)
            status = heads[i]->kind->rows->compare(at_row_head_of(heads[i]), work->context, truth, found, i,
                                                   report);
        if (status == ATTN_OK && effort == AT_EFFORT_FULL)
            status = at_rows_resample(heads[i], encoded, truth, found, i, report);
    }
    free_all(work->context, answers, count);
    return status;
}
