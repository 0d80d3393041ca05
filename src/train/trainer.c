/* trainer.c: the training loop: batches, steps, evaluations, the best model, and when to end.
 *
 * A step is a function of (data, configuration, seed, number of the step) and of the state after the steps
 * before it: plans of epochs, dropout and hidden units all come from counters. So a run that continues from a
 * .last file takes the same steps as one that was never stopped.
 */
#include "train/trainer.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/report.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/random.h"

enum {
    MOST_BATCH = 100000,
    MOST_SPLITTER_STEPS = 100
}; /* rows of a batch of the splitter; its steps in one */

void attn_trainer_options_init_sized(attn_trainer_options *options, size_t size) {
    attn_trainer_options own = {.size = sizeof own};
    own.save_seconds = 30;
    at_options_give(options, size, &own, sizeof own);
}

uint64_t at_trainer_seed(const attn_trainer *trainer, uint64_t purpose, int64_t counter) {
    return at_splitmix64(at_splitmix64((uint64_t)trainer->values.seed ^ at_splitmix64(purpose)) ^
                         (uint64_t)counter);
}

/* The course after `course`, the first if that is NULL; NULL: there are no more. */
static at_course *next_course(attn_trainer *trainer, at_course *course) {
    at_course *next = course ? course + 1 : trainer->courses;
    return next < trainer->courses + AT_STAGES && next->stage ? next : NULL;
}

/* ---- making ---- */

static void destroy_network(attn_trainer *trainer) {
    for (int i = 0; i < AT_STAGES; i++) at_course_unbuild(&trainer->courses[i]);
    if (trainer->model) at_model_unbuild(trainer->model);
}

attn_status at_trainer_build(attn_trainer *trainer) {
    destroy_network(trainer);
    attn_status status = at_model_build(trainer->model, NULL);
    if (status == ATTN_OK && trainer->model->file) status = at_start_weights(trainer);
    if (status == ATTN_OK) status = at_model_set_metrics(trainer->model, "{}");
    trainer->state.parameters = 0;
    for (at_course *c = NULL; (c = next_course(trainer, c)) && status == ATTN_OK;) {
        status = at_course_build(c);
        trainer->state.parameters += attn_parameters_size(c->stage->parameters);
    }
    trainer->made = (at_progress_made){.loss = NAN};
    at_metric_none(&trainer->made);
    trainer->state.splitter_f1 = trainer->state.macro_f1 = trainer->state.best_macro_f1 = NAN;
    return status;
}

/* How much of a course is one step of the run. The splitter goes through its data in step with the main
 * network, as many times more or less often as their epochs say: by so many batches of about its own size. */
static void divide_steps(const attn_trainer *trainer, at_course *course) {
    const at_course *main = &trainer->courses[0];
    const at_training_values *values = &trainer->values, *own = course->stage->values.training;
    course->steps_a_step = 1;
    course->batch_units = values->batch_units;
    if (course == main) return;
    double ratio = (double)own->epochs / (double)values->epochs;
    double units = ratio * (double)(values->batch_units * values->accumulate) *
                   (double)course->rows_an_epoch / (double)main->rows_an_epoch;
    double steps = floor(units / (double)own->batch_units + 0.5);
    course->steps_a_step = steps < 1 ? 1 : steps > MOST_SPLITTER_STEPS ? MOST_SPLITTER_STEPS : (int64_t)steps;
    units /= (double)course->steps_a_step;
    course->batch_units = units < 1 ? 1 : units > MOST_BATCH ? MOST_BATCH : (int64_t)units;
}

/* How many steps, unless time decides. */
static attn_status count_steps(attn_trainer *trainer) {
    const at_training_values *values = &trainer->values;
    attn_status status = ATTN_OK;
    for (at_course *c = NULL; (c = next_course(trainer, c)) && status == ATTN_OK;) {
        divide_steps(trainer, c);
        c->planned_epoch = -1;
        status = at_course_plan(c);
        c->batches_an_epoch = c->plan.batches * at_plan_windows(c->segments.count);
    }
    trainer->steps_total = values->steps;
    if (status == ATTN_OK && trainer->options.seconds > 0) /* another run's */
        status = at_course_set(at_main_course(trainer), "training.timetable", "");
    if (status != ATTN_OK) return status;
    if (trainer->steps_total || *values->timetable) {
        status = at_timing_read(trainer, trainer->options.seconds > 0 ? "" : values->timetable);
    } else {
        int64_t batches = values->epochs * trainer->courses[0].batches_an_epoch;
        trainer->steps_total = (batches + values->accumulate - 1) / values->accumulate;
        if (trainer->steps_total < values->least_steps) trainer->steps_total = values->least_steps;
        status = at_timing_read(trainer, "");
    }
    if (trainer->options.at_most) trainer->timing.most = trainer->steps_total;
    return status;
}

/* Whoever wants to know hears how far it is. */
static attn_status prepare_told(attn_trainer *trainer, const attn_dataset *train, const attn_dataset *dev) {
    attn_context *context = trainer->context;
    at_listener listener = {.tell = trainer->options.progress, .user = trainer->options.progress_user},
                *before = context->listener;
    context->listener = listener.tell ? &listener : NULL;
    attn_status status = at_trainer_prepare(trainer, train, dev);
    context->listener = before;
    return status;
}

attn_status attn_trainer_create(attn_config *config, const attn_dataset *train, const attn_dataset *dev,
                                const attn_trainer_options *options, attn_trainer **trainer) {
    if (!config) return ATTN_INVALID_ARGUMENT;
    attn_context *context = at_config_context(config);
    attn_trainer_options chosen;
    char reason[AT_OPTIONS_TEXT];
    attn_trainer_options_init(&chosen);
    if (!train || !trainer) return at_fail(context, ATTN_INVALID_ARGUMENT, "train or trainer is NULL");
    attn_status status =
        at_options_take("trainer options", "attn_trainer_options_init", options,
                        AT_FIRST_SIZE(attn_trainer_options, user), sizeof chosen, &chosen, reason);
    if (status != ATTN_OK) return at_fail(context, status, "%s", reason);
    attn_trainer *made = at_allocate(context, 1, sizeof *made, "a trainer");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->options = chosen;
    made->timing = (at_timing){.from = at_now(made), .used_before = chosen.spent};
    status = at_config_copy(config, &made->config);
    if (status == ATTN_OK) status = at_ranks_open(made);
    status = at_exchange_settle(chosen.exchange, context, status);
    if (status == ATTN_OK)
        status = at_exchange_settle(chosen.exchange, context, prepare_told(made, train, dev));
    if (status == ATTN_OK) status = at_ranks_agree(made);
    if (status == ATTN_OK) {
        at_ranks_apart(made, 1);
        status = count_steps(made);
    }
    if (status == ATTN_OK) at_ranks_apart(made, 0);
    if (status != ATTN_OK) {
        attn_trainer_destroy(made);
        return status;
    }
    *trainer = made;
    return ATTN_OK;
}

void attn_trainer_destroy(attn_trainer *trainer) {
    if (!trainer) return;
    attn_context *context = trainer->context;
    destroy_network(trainer);
    for (int i = 0; i < AT_STAGES; i++) at_course_free(&trainer->courses[i]);
    attn_model_destroy(trainer->model);
    attn_report_destroy(trainer->report);
    at_tapes_free(context, &trainer->tapes);
    at_output_close(context, &trainer->files);
    attn_config_destroy(trainer->config);
    at_release(context, trainer);
}

/* ---- one step ---- */

static attn_status diverged(attn_trainer *trainer, int64_t step, double rate, const char *sign) {
    return at_fail(trainer->context, ATTN_NOT_FINITE,
                   "training diverged: at step %" PRId64 ", with learning rate %g, %s; "
                   "try a smaller training.learning_rate",
                   step, rate, sign);
}

/* The courses that take a step of their optimiser in the same round. They share nothing, so their shards are
 * computed together. */
typedef struct joint_step {
    at_course *courses[AT_STAGES];
    at_shards *shards[AT_STAGES];
    double losses[AT_STAGES]; /* means over the batches of the step */
    int count;
} joint_step;

static int64_t accumulated(const at_course *course) {
    return course == at_main_course(course->trainer) ? course->trainer->values.accumulate : 1;
}

/* The batches of the courses that take part in a round. */
static attn_status gather_batches(attn_trainer *trainer, int64_t round, joint_step *joint) {
    attn_status status = ATTN_OK;
    joint->count = 0;
    for (at_course *c = NULL; (c = next_course(trainer, c)) && status == ATTN_OK;) {
        if (round >= c->steps_a_step) continue;
        int64_t step = trainer->made.step * c->steps_a_step + round, batches = accumulated(c);
        joint->courses[joint->count] = c;
        joint->shards[joint->count++] = c->shards;
        at_shards_begin(c->shards);
        for (int64_t i = 0; i < batches && status == ATTN_OK; i++)
            status = at_course_batch(c, step * batches + i);
    }
    return status;
}

static attn_status update(const joint_step *joint, int i) {
    attn_trainer *trainer = joint->courses[i]->trainer;
    attn_optimizer *optimizer = joint->courses[i]->optimizer;
    double rate = attn_optimizer_learning_rate(optimizer);
    attn_status status = isfinite(joint->losses[i]) ? attn_optimizer_step(optimizer) : ATTN_NOT_FINITE;
    at_ranks_apart(trainer,
                   status != ATTN_OK && status != ATTN_NOT_FINITE); /* numbers are the same everywhere */
    if (status != ATTN_NOT_FINITE) return status;
    char sign[96];
    snprintf(sign, sizeof sign, "the loss is %g and a gradient is not finite", joint->losses[i]);
    return diverged(trainer, trainer->made.step + 1, rate, sign);
}

static attn_status run_round(attn_trainer *trainer, int64_t round, joint_step *joint) {
    at_ranks_apart(trainer, 1);
    attn_status status = gather_batches(trainer, round, joint);
    if (status != ATTN_OK) return status;
    status = at_shards_run(joint->shards, joint->count, joint->losses);
    if (status != ATTN_OK) {
        at_ranks_apart(trainer, !at_shards_told(joint->shards[0]));
        char text[400];
        snprintf(text, sizeof text, "%s", attn_context_error(trainer->context));
        return at_fail(trainer->context, status, "step %" PRId64 ": %s", trainer->made.step + 1, text);
    }
    for (int i = 0; i < joint->count && status == ATTN_OK; i++) {
        joint->losses[i] /= (double)accumulated(joint->courses[i]);
        trainer->trained_rows += at_shards_units(joint->shards[i]);
        status = update(joint, i);
    }
    return status;
}

attn_status at_trainer_step(attn_trainer *trainer) {
    at_progress_made *made = &trainer->made;
    double loss = 0;
    int64_t rounds = 1;
    for (at_course *c = NULL; (c = next_course(trainer, c));)
        if (c->steps_a_step > rounds) rounds = c->steps_a_step;
    for (int64_t round = 0; round < rounds; round++) {
        joint_step joint;
        attn_status status = run_round(trainer, round, &joint);
        if (status != ATTN_OK) return status;
        if (joint.courses[0] == at_main_course(trainer)) loss = joint.losses[0];
    }
    made->step++;
    double weight = made->step < 50 ? 1.0 / (double)made->step : 0.02;
    made->loss = made->step == 1 ? loss : made->loss + weight * (loss - made->loss);
    return ATTN_OK;
}

/* ---- evaluation ---- */

/* All metrics, or those of what a splitter cuts. */
static json_t *metrics_of(const attn_report *report, int splits) {
    json_t *metrics = json_object();
    for (int i = 0; i < attn_report_metrics(report); i++) {
        if (splits && !at_report_of_pieces(report, i)) continue;
        const char *name = attn_report_metric_name(report, i);
        json_object_set_new(metrics, name, json_real(attn_report_metric(report, name)));
    }
    return metrics;
}

static attn_status set_values(attn_trainer *trainer, json_t *const *metrics, double value) {
    static const char *const names[AT_STAGES] = {"dev", "splitter"};
    const at_course *main = at_main_course(trainer);
    json_t *all = json_object();
    json_object_set_new(all, "metric", json_string(trainer->metric));
    json_object_set_new(all, "score", json_real(value));
    json_object_set_new(all, "step", json_integer(trainer->made.step));
    json_object_set_new(all, "steps", json_integer(trainer->steps_total));
    json_object_set_new(all, "examples", json_integer(main->train.dataset->examples));
    json_object_set_new(all, "dev_examples", json_integer(main->dev.dataset->examples));
    for (int i = 0; i < AT_STAGES; i++)
        if (metrics[i]) json_object_set(all, names[i], metrics[i]);
    char *text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(9));
    attn_status status = text
                             ? at_model_set_metrics(trainer->model, text)
                             : at_fail(trainer->context, ATTN_OUT_OF_MEMORY, "no memory for metrics as JSON");
    free(text);
    json_decref(all);
    return status;
}

attn_status at_trainer_evaluate(attn_trainer *trainer, at_effort effort, double *values) {
    json_t *metrics[AT_STAGES] = {NULL};
    attn_status status = ATTN_OK;
    at_ranks_apart(trainer, 1);
    for (at_course *c = NULL; (c = next_course(trainer, c)) && status == ATTN_OK;) {
        attn_report *report;
        status = at_stage_report(c->stage, &c->work, c->dev.encoded, c->dev.targets, NULL, effort, &report);
        if (status != ATTN_OK) break;
        int splits = c != at_main_course(trainer);
        const at_input *input = c->stage->input;
        if (splits)
            trainer->state.splitter_f1 = attn_report_metric(report, input->kind->metric(input));
        else
            status = at_metric_values(trainer, report, values);
        if (!splits) trainer->state.macro_f1 = at_metric_macro(trainer, report);
        metrics[c - trainer->courses] = metrics_of(report, splits);
        attn_report_destroy(report);
    }
    if (status == ATTN_OK) status = set_values(trainer, metrics, values[0]);
    for (int i = 0; i < AT_STAGES; i++) json_decref(metrics[i]);
    at_ranks_apart(trainer, status != ATTN_OK);
    if (status != ATTN_NOT_FINITE) return status;
    return diverged(trainer, trainer->made.step,
                    attn_optimizer_learning_rate(at_main_course(trainer)->optimizer),
                    "predictions for the development data are not finite");
}

static attn_status swap_average(attn_trainer *trainer) {
    attn_status status = ATTN_OK;
    for (at_course *c = NULL; (c = next_course(trainer, c)) && status == ATTN_OK;)
        status =
            c->averaged ? attn_optimizer_swap_average(c->optimizer) : attn_optimizer_settle(c->optimizer);
    return status;
}

static int nothing_right(const attn_trainer *trainer, double value) {
    if (!trainer->courses[0].stage->heads[0]->kind->whole_answers) return 0;
    return trainer->choices[0].rises ? value <= 0 : value >= 1;
}

/* Evaluates with the averaged weights, as the file will have them; with `keep` the model is written if none
 * was better so far (of equal ones the later, which has learned longer), else (a run that is stopped before
 * its first evaluation) in any case, and nothing of it counts for what follows. Patience waits for a value
 * that is really better; it does not begin before some answer is right, since whole answers are wrong long
 * after a network has begun to learn. */
static attn_status evaluate_and_save(attn_trainer *trainer, int keep) {
    at_progress_made *made = &trainer->made;
    double values[AT_MOST_METRICS], splitter_f1 = trainer->state.splitter_f1;
    at_unrounded *before = NULL;
    attn_status status = swap_average(trainer);
    if (status != ATTN_OK) return status;
    status = at_round_weights(trainer, &before);
    if (status == ATTN_OK) status = at_trainer_evaluate(trainer, AT_EFFORT_DEVELOPMENT, values);
    int as_good = status == ATTN_OK && at_metric_as_good(trainer, values);
    if (!as_good) trainer->state.splitter_f1 = splitter_f1; /* that of the model that is kept */
    if (status == ATTN_OK && as_good && trainer->files.model)
        status = attn_model_save(trainer->model, trainer->files.model);
    attn_status back = at_unround_weights(trainer, before);
    if (status == ATTN_OK) status = back;
    back = swap_average(trainer);
    if (status == ATTN_OK) status = back;
    if (status != ATTN_OK || !keep) return status;
    made->evaluated_step = made->step;
    made->evaluated_epoch = at_main_course(trainer)->epoch;
    int better = at_metric_improved(trainer, values) || nothing_right(trainer, values[0]);
    made->without_better = better ? 0 : made->without_better + 1;
    at_metric_keep(trainer, values, as_good);
    if (as_good) made->best_step = made->step;
    if (as_good) trainer->state.best_macro_f1 = trainer->state.macro_f1;
    made->ended = trainer->values.patience > 0 && made->without_better >= trainer->values.patience;
    trainer->state.value = values[0];
    return ATTN_OK;
}

/* ---- the run ---- */

static int tell(attn_trainer *trainer, attn_training_event event) {
    attn_training_state *state = &trainer->state;
    const at_progress_made *made = &trainer->made;
    const at_course *main = at_main_course(trainer);
    double batches = (double)main->batches_an_epoch / (double)trainer->values.accumulate;
    state->event = event;
    state->step = made->step;
    state->steps_total = trainer->steps_total;
    state->epoch = (double)main->epoch + (double)main->batch / (double)main->batches_an_epoch;
    state->epochs_total = (double)trainer->steps_total / batches;
    state->loss = made->loss;
    state->learning_rate = attn_optimizer_learning_rate(main->optimizer);
    state->units_per_second =
        trainer->trained_seconds > 0 ? (double)trainer->trained_rows / trainer->trained_seconds : 0;
    state->ranks = attn_exchange_ranks(trainer->options.exchange);
    state->exchange_share =
        trainer->trained_seconds > 0 ? trainer->exchange_seconds / trainer->trained_seconds : 0;
    state->trained_seconds = trainer->trained_seconds;
    state->exchange_bytes = trainer->exchange_bytes;
    state->seconds = at_now(trainer) - trainer->began;
    int64_t done = made->step - state->resumed_from, left = trainer->steps_total - made->step;
    state->seconds_left = done > 0 ? (double)left * state->seconds / (double)done : 0;
    if (at_timing_adapts(trainer) && trainer->steps_total != trainer->timing.most)
        state->seconds_left = fmax(0, trainer->options.seconds - at_timing_used(trainer));
    at_timetable_write(&trainer->timetable, trainer->timetable_text);
    state->timetable = trainer->timetable_text;
    state->shortened = trainer->steps_total < trainer->timing.most;
    state->train_examples = main->train.dataset->examples;
    state->dev_examples = main->dev.dataset->examples;
    state->train_units = main->rows_an_epoch;
    state->metric = trainer->metric;
    state->splitter = trainer->courses[1].stage != NULL;
    state->best_value = made->best_value;
    state->best_step = made->best_step;
    return trainer->options.watch ? trainer->options.watch(trainer->options.user, state) : 0;
}

static int evaluation_due(const attn_trainer *trainer) {
    const at_progress_made *made = &trainer->made;
    if (made->step == trainer->steps_total) return 1;
    /* Where time decides, there is none shortly before the last one: it would come too late. */
    if (trainer->steps_total != trainer->timetable.first &&
        (double)(trainer->steps_total - made->step) < AT_QUIET_END * (double)trainer->steps_total)
        return 0;
    return trainer->courses[0].epoch > made->evaluated_epoch &&
           (made->step - made->evaluated_step) * trainer->values.evaluations >= trainer->steps_total;
}

static attn_status save_last(attn_trainer *trainer) {
    trainer->saved_at = at_now(trainer);
    return trainer->files.last ? at_checkpoint_write(trainer, trainer->files.last) : ATTN_OK;
}

#define MOST_STEPS 1e15 /* of training.steps */

/* An evaluation also writes files. */
static attn_status write_for_measure(attn_trainer *trainer) {
    if (!trainer->files.last) return ATTN_OK;
    size_t room = strlen(trainer->files.last) + 16;
    char *path = at_allocate(trainer->context, (int64_t)room, 1, "a path");
    if (!path) return ATTN_OUT_OF_MEMORY;
    snprintf(path, room, "%s.measure", trainer->files.last);
    attn_status status = at_checkpoint_write(trainer, path);
    remove(path);
    at_release(trainer->context, path);
    return status;
}

/* Trains for a moment with the real network, to see how long a step takes; then everything starts anew. */
static attn_status measure(attn_trainer *trainer) {
    double limit = 0.05 * trainer->options.seconds, values[AT_MOST_METRICS];
    if (limit > 5) limit = 5;
    attn_status status = at_trainer_step(trainer); /* the first makes room: it does not count */
    double from = at_now(trainer), now = from;
    int64_t before = trainer->trained_rows;
    for (int64_t i = 0, more = 1; status == ATTN_OK && more; i++) {
        status = at_trainer_step(trainer);
        now = at_now(trainer);
        more = i < 1 || now - from < limit;
        if (status == ATTN_OK) status = at_ranks_number(trainer, &more);
    }
    if (status != ATTN_OK) return status;
    double a_row = (now - from) / (double)(trainer->trained_rows - before);
    status = at_trainer_evaluate(trainer, AT_EFFORT_LEAST, values);
    if (status == ATTN_OK) status = write_for_measure(trainer);
    if (status != ATTN_OK) return status;
    double evaluation = trainer->timing.evaluation = at_now(trainer) - now,
           left = 0.96 * trainer->options.seconds - at_timing_used(trainer);
    if (at_calibrate_due(trainer)) left -= 2 * evaluation; /* at the end: to calibrate, and to report */
    const at_course *main = at_main_course(trainer);
    double batches = (double)main->batches_an_epoch / (double)trainer->values.accumulate;
    double rows = 0; /* of all courses, for an epoch of the main one */
    for (at_course *c = NULL; (c = next_course(trainer, c));)
        rows += (double)c->rows_an_epoch / (double)c->batches_an_epoch *
                (c == main ? (double)c->batches_an_epoch : batches * (double)c->steps_a_step);
    double a_step = a_row * rows / batches;
    double steps = left / (a_step + evaluation / batches); /* one evaluation an epoch, up to so many */
    double most = (double)trainer->values.evaluations;
    if (steps > most * batches) steps = (left - most * evaluation) / a_step;
    int64_t enough = steps < 1 ? 1 : steps > MOST_STEPS ? (int64_t)MOST_STEPS : (int64_t)steps;
    trainer->steps_total = at_timing_bound(trainer, enough);
    return ATTN_OK;
}

/* The steps that the time given is enough for, or those that the run had, which is resumed. */
static attn_status choose_steps(attn_trainer *trainer, int64_t chosen, int *stop) {
    attn_status status = ATTN_OK;
    if (chosen) {
        trainer->steps_total = chosen;
        if (trainer->timetable.count == 0) trainer->timetable.first = chosen;
        status = at_ranks_timetable(trainer);
    } else {
        status = at_ranks_settle(trainer, at_trainer_build(trainer), stop);
        if (status == ATTN_OK) status = at_ranks_settle(trainer, measure(trainer), stop);
        if (status == ATTN_OK) status = at_ranks_number(trainer, &trainer->steps_total);
        if (status == ATTN_OK) status = at_timing_read(trainer, "");
    }
    return status == ATTN_OK ? at_timing_set(trainer) : status;
}

static attn_status start(attn_trainer *trainer, int *stop) {
    int64_t chosen = 0;
    attn_status status = at_metric_choose(trainer);
    if (status == ATTN_OK && trainer->options.resume && trainer->files.last)
        status = at_checkpoint_steps(trainer, &chosen);
    status = at_ranks_settle(trainer, status, stop);
    if (status == ATTN_OK) status = at_ranks_number(trainer, &chosen);
    if (status == ATTN_OK && trainer->options.seconds > 0) status = choose_steps(trainer, chosen, stop);
    if (status != ATTN_OK) return status;
    trainer->trained_rows = trainer->exchange_bytes = 0;
    trainer->trained_seconds = trainer->exchange_seconds = 0;
    status = at_trainer_build(trainer);
    if (status == ATTN_OK && chosen && at_rank_writes(trainer)) status = at_checkpoint_read(trainer);
    status = at_ranks_settle(trainer, status, stop);
    if (status == ATTN_OK && chosen) status = at_ranks_send(trainer);
    if (status == ATTN_OK && (!chosen || strchr(trainer->values.metric, '|')) && *trainer->values.metric)
        status = at_metric_try(trainer);
    if (status == ATTN_OK && !chosen && trainer->options.more) status = at_start_value(trainer);
    if (status != ATTN_OK) return status;
    trainer->steps_total = at_timetable_steps(&trainer->timetable, trainer->made.step);
    trainer->state.resumed_from = trainer->made.step;
    trainer->state.value = NAN;
    if (trainer->options.seconds > 0) *stop = tell(trainer, ATTN_TRAINING_MEASURED);
    *stop |= tell(trainer, ATTN_TRAINING_READY);
    if (!chosen) status = save_last(trainer);
    at_timing_begin(trainer);
    return status;
}

/* One step, and what is due after it. */
static attn_status run_on(attn_trainer *trainer, int *stop) {
    const attn_exchange *exchange = trainer->options.exchange;
    double before = at_now(trainer), exchanged = attn_exchange_seconds(exchange);
    int64_t sent = attn_exchange_sent(exchange);
    attn_status status = at_trainer_step(trainer);
    if (status != ATTN_OK) return status;
    trainer->steps_total = at_timetable_steps(&trainer->timetable, trainer->made.step);
    trainer->trained_seconds += at_now(trainer) - before;
    trainer->exchange_seconds += attn_exchange_seconds(exchange) - exchanged;
    trainer->exchange_bytes += attn_exchange_sent(exchange) - sent;
    *stop = tell(trainer, ATTN_TRAINING_STEP);
    status = at_timing_look(trainer);
    if (status != ATTN_OK) return status;
    int due = evaluation_due(trainer);
    double from = at_now(trainer);
    if (due) status = evaluate_and_save(trainer, 1);
    if (due && status == ATTN_OK) *stop |= tell(trainer, ATTN_TRAINING_DEV);
    int ends = trainer->made.step >= trainer->steps_total || trainer->made.ended;
    int save = due || *stop || at_now(trainer) - trainer->saved_at >= trainer->options.save_seconds;
    if (ends && !trainer->options.keep_last) save = 0; /* it would be removed at once: at_finish follows */
    if (status == ATTN_OK && save) status = save_last(trainer);
    if (due || save) at_timing_evaluated(trainer, due, at_now(trainer) - from);
    return status;
}

attn_status attn_trainer_run(attn_trainer *trainer) {
    if (!trainer) return ATTN_INVALID_ARGUMENT;
    at_progress_made *made = &trainer->made;
    trainer->began = at_now(trainer);
    int stop = 0;
    attn_status status = start(trainer, &stop);
    status = at_ranks_settle(trainer, status, &stop);
    while (status == ATTN_OK && !stop && made->step < trainer->steps_total && !made->ended) {
        int wanted = 0;
        status = run_on(trainer, &wanted);
        stop = wanted;
        status = at_ranks_settle(trainer, status, &stop);
        if (status == ATTN_OK && stop) /* that another rank wants to stop is heard of after the files */
            status = at_ranks_settle(trainer, wanted ? ATTN_OK : save_last(trainer), &stop);
    }
    if (status != ATTN_OK) return status;
    int finished = made->step >= trainer->steps_total;
    if (!finished && !made->ended && made->step > 0 && isnan(made->best_value))
        status = evaluate_and_save(trainer, 0);
    if (status == ATTN_OK && (finished || made->ended)) status = at_finish(trainer);
    trainer->state.end = finished      ? ATTN_TRAINING_FINISHED
                         : made->ended ? ATTN_TRAINING_PATIENCE
                                       : ATTN_TRAINING_STOPPED;
    status = at_ranks_settle(trainer, status, &stop);
    tell(trainer, ATTN_TRAINING_DONE);
    return status;
}
