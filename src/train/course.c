/* course.c: the training of one stage: its data as numbers, the plans of its epochs, and its batches.
 *
 * A batch is a function of (data, configuration, seed, number of the step): plans, hidden units and dropout
 * all come from counters.
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "train/join.h"
#include "train/optimizer.h"
#include "train/trainer.h"

enum { FOR_PLANS = 1, FOR_HIDING = 2, FOR_DROPOUT = 3 };

static uint64_t seed_of(const at_course *course, uint64_t purpose, int64_t counter) {
    return at_trainer_seed(course->trainer, purpose, counter);
}

/* ---- what comes before the first step ---- */

/* What training cannot use is found now, and what the heads conclude from the targets. */
static attn_status finish_learning(at_course *course) {
    at_stage *stage = course->stage;
    attn_status status = ATTN_OK;
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++) {
        at_head *head = stage->heads[i];
        char name[AT_FIELD_TEXT_BYTES] = "", value[AT_FIELD_TEXT_BYTES] = "";
        if (head->kind->check)
            status = head->kind->check(head, course->train.encoded, course->train.targets[i]);
        if (status == ATTN_OK && head->kind->finish_learning)
            status = head->kind->finish_learning(head, course->train.targets[i], name, value);
        if (status == ATTN_OK && *name) status = at_course_set(course, name, value);
    }
    return status == ATTN_OK ? at_config_values(stage->config, &stage->values) : status;
}

static attn_status learn(at_course *course, const char *vectors) {
    at_stage *stage = course->stage;
    at_training_data *train = &course->train;
    attn_context *context = stage->context;
    attn_status status = course->loaded ? at_stage_learn_more(stage, train->dataset, &train->encoded)
                                        : at_stage_learn(stage, train->dataset, vectors, &train->encoded);
    if (status != ATTN_OK) return status;
    stage->forward.longest = at_config_longest(stage->values.encoder, stage->input->longest);
    stage->forward.most = at_config_most(&stage->values, stage->input);
    status = at_stage_targets(stage, context, train->encoded, &train->targets);
    if (status == ATTN_OK) status = finish_learning(course);
    if (status == ATTN_OK)
        status = stage->heads[0]->kind->segments(stage->heads[0], &stage->forward, train->encoded,
                                                 train->targets[0], &course->segments);
    if (status != ATTN_OK) return status;
    if (course->segments.count == 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: has nothing to learn from",
                       attn_dataset_name(train->dataset));
    course->rows_an_epoch = train->encoded->rows;
    for (int i = 0; i < stage->head_count; i++) course->rows_an_epoch += train->targets[i]->all_extra_rows;
    return stage->input->kind->create_batch(context, &course->rows);
}

/* What does not fit the heads is found now, not after the first epoch; the development data is encoded once.
 */
static attn_status prepare_dev(at_course *course) {
    at_stage *stage = course->stage;
    at_training_data *dev = &course->dev;
    attn_status status = at_stage_encode(stage, stage->context, NULL, dev->dataset, NULL, &dev->encoded);
    if (status == ATTN_OK) status = at_stage_targets(stage, stage->context, dev->encoded, &dev->targets);
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++)
        if (stage->heads[i]->kind->labelled(stage->heads[i], dev->encoded, dev->targets[i]) >= 0)
            return ATTN_OK;
    if (status != ATTN_OK) return status;
    return at_fail(stage->context, ATTN_INVALID_ARGUMENT,
                   "%.200s: has no labels, so that no model can be chosen by it",
                   attn_dataset_name(dev->dataset));
}

attn_status at_course_prepare(at_course *course, const char *vectors) {
    course->planned_epoch = -1;
    attn_status status = learn(course, vectors);
    return status == ATTN_OK ? prepare_dev(course) : status;
}

/* ---- the workers and the optimiser ---- */

/* Evaluations run on the same workers as training: there is one tape and one batch for each. */
static attn_status lend_workers(at_course *course) {
    attn_trainer *trainer = course->trainer;
    at_shard_worker *workers = at_shards_workers(course->shards);
    at_work_borrow(course->stage->context, trainer->tapes.whole, course->rows, &course->work);
    course->work.rank = attn_exchange_rank(trainer->options.exchange);
    course->work.ranks = attn_exchange_ranks(trainer->options.exchange);
    course->work.join = at_join_bytes;
    course->work.join_user = trainer->options.exchange;
    if (!workers) return ATTN_OK;
    int threads = trainer->context->threads;
    course->workers = at_allocate(trainer->context, threads, sizeof *course->workers, "workers");
    if (!course->workers) return ATTN_OUT_OF_MEMORY;
    for (int t = 0; t < threads; t++)
        at_work_borrow(workers[t].context, workers[t].tape, workers[t].rows, &course->workers[t]);
    course->work.workers = course->workers;
    return ATTN_OK;
}

static attn_status make_shards(at_course *course) {
    attn_trainer *trainer = course->trainer;
    at_shard_source source = {
        .stage = course->stage,
        .encoded = course->train.encoded,
        .segments = &course->segments,
        .whole = {trainer->context, trainer->tapes.whole, course->rows, course->train.targets},
        .tapes = &trainer->tapes,
        .exchange = trainer->options.exchange,
        .fast_sum = trainer->options.fast_sum};
    attn_status status = at_shards_create(&source, &course->shards);
    return status == ATTN_OK ? lend_workers(course) : status;
}

/* Where a step of the course's optimiser is in its schedule. */
static double place_of(const void *user, int64_t step) {
    const at_course *course = user;
    double each = (double)course->steps_a_step;
    if (course->trainer->timetable.count == 0) return (double)step;
    return each * at_timetable_place(&course->trainer->timetable, (double)step / each);
}

attn_status at_course_build(at_course *course) {
    attn_optimizer_options options;
    at_config_optimizer(course->stage->values.training,
                        course->trainer->timetable.first * course->steps_a_step, &options);
    course->averaged = options.average > 0;
    course->planned_epoch = -1;
    course->epoch = course->batch = 0;
    attn_status status = make_shards(course);
    if (status != ATTN_OK) return status;
    status = attn_optimizer_create(course->stage->parameters, &options, &course->optimizer);
    if (status == ATTN_OK) at_optimizer_follow(course->optimizer, place_of, course);
    return status;
}

void at_course_unbuild(at_course *course) {
    if (!course->stage) return;
    attn_optimizer_destroy(course->optimizer);
    course->optimizer = NULL;
    at_work_free(course->stage, &course->work);
    for (int t = 0; course->workers && t < course->trainer->context->threads; t++)
        at_work_free(course->stage, &course->workers[t]);
    at_release(course->trainer->context, course->workers);
    course->workers = NULL;
    at_shards_destroy(course->shards);
    course->shards = NULL;
}

static void free_data(const at_course *course, at_training_data *data) {
    if (data->targets) at_stage_free_targets(course->stage, course->stage->context, data->targets);
    if (data->encoded) course->stage->input->kind->free_encoded(data->encoded);
    attn_dataset_destroy(data->own);
}

void at_course_free(at_course *course) {
    attn_context *context = course->trainer ? course->trainer->context : NULL;
    if (!context) return;
    at_course_unbuild(course);
    free_data(course, &course->train);
    free_data(course, &course->dev);
    if (course->rows) course->stage->input->kind->free_batch(course->rows);
    at_segments_free(context, &course->segments);
    at_plan_free(context, &course->plan);
}

/* ---- batches ---- */

static attn_status plan_window(at_course *course, int64_t window, int64_t first) {
    course->planned_epoch = -1;
    attn_status status = at_plan_shuffled(course->stage->context, &course->segments, course->batch_units,
                                          seed_of(course, FOR_PLANS, course->epoch), window, &course->plan);
    if (status != ATTN_OK) return status;
    course->planned_epoch = course->epoch;
    course->window = window;
    course->window_first = first;
    return ATTN_OK;
}

attn_status at_course_plan(at_course *course) {
    int64_t windows = at_plan_windows(course->segments.count);
    attn_status status = ATTN_OK;
    if (course->planned_epoch != course->epoch || course->batch < course->window_first)
        status = plan_window(course, 0, 0);
    while (status == ATTN_OK && course->window + 1 < windows &&
           course->batch >= course->window_first + course->plan.batches)
        status = plan_window(course, course->window + 1, course->window_first + course->plan.batches);
    return status;
}

attn_status at_course_batch(at_course *course, int64_t counter) {
    const at_stage *stage = course->stage;
    attn_status status = at_course_plan(course);
    if (status != ATTN_OK) return status;
    int64_t batch = course->batch - course->window_first;
    if (batch >= course->plan.batches) /* a .last file said so */
        return at_fail(stage->context, ATTN_INVALID_ARGUMENT,
                       "%.200s cannot be resumed: its counters are out of range; start anew",
                       course->trainer->files.last);
    const int64_t *order = course->plan.order + course->plan.first[batch];
    int64_t count = course->plan.first[batch + 1] - course->plan.first[batch];
    status = at_shards_add(course->shards, order, count, stage->values.training->shards,
                           seed_of(course, FOR_HIDING, counter), seed_of(course, FOR_DROPOUT, counter));
    if (status != ATTN_OK) return status;
    course->batch++;
    if (batch + 1 < course->plan.batches || course->window + 1 < at_plan_windows(course->segments.count))
        return ATTN_OK;
    course->batch = 0;
    course->epoch++;
    return ATTN_OK;
}
