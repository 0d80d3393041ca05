/* trainer.c: the training loop: batches, steps, evaluations, the best model, and when to end.
 *
 * What a step does is a function of (data, configuration, seed, number of the step) and of the state that the
 * steps before it left: plans of epochs, dropout and hidden units all come from counters. So a run that goes
 * on from a .last file takes the same steps as one that was never stopped.
 */
#include "train/trainer.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/report.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"

enum { MOST_EVALUATIONS = 30 }; /* of a run: where epochs are short, not every one is evaluated */

void attn_trainer_options_init(attn_trainer_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->save_seconds = 30;
}

static uint64_t seed_of(const attn_trainer *trainer, uint64_t purpose, int64_t counter) {
    return at_splitmix64(at_splitmix64((uint64_t)trainer->values.seed ^ at_splitmix64(purpose)) ^
                         (uint64_t)counter);
}
enum { FOR_PLANS = 1, FOR_HIDING = 2, FOR_DROPOUT = 3 };

/* ---- making ---- */

static void destroy_network(attn_trainer *trainer) {
    attn_optimizer_destroy(trainer->optimizer);
    trainer->optimizer = NULL;
    if (trainer->model) {
        attn_tape_destroy(trainer->model->tape);
        attn_parameters_destroy(trainer->model->parameters);
        trainer->model->tape = NULL;
        trainer->model->parameters = NULL;
    }
}

attn_status at_trainer_build(attn_trainer *trainer) {
    destroy_network(trainer);
    attn_status status = at_model_build(trainer->model, NULL);
    if (status == ATTN_OK) status = at_model_set_scores(trainer->model, "{}");
    if (status != ATTN_OK) return status;
    at_trainer_start_vectors(trainer);
    attn_optimizer_options options;
    at_config_optimizer(&trainer->values, trainer->steps_total, &options);
    trainer->averaged = options.average > 0;
    status = attn_optimizer_create(trainer->model->parameters, &options, &trainer->optimizer);
    trainer->state.parameters = attn_parameters_size(trainer->model->parameters);
    trainer->planned_epoch = -1;
    trainer->made = (at_progress_made){.loss = NAN, .best_score = NAN};
    return status;
}

static attn_status copy_path(attn_trainer *trainer, const char *path) {
    static const char ending[] = ".safetensors";
    size_t length = strlen(path);
    trainer->output = at_allocate(trainer->context, (int64_t)length + 1, 1, "a path");
    trainer->last = at_allocate(trainer->context, (int64_t)length + 32, 1, "a path");
    if (!trainer->output || !trainer->last) return ATTN_OUT_OF_MEMORY;
    memcpy(trainer->output, path, length);
    size_t stem = length;
    if (length >= sizeof ending && strcmp(path + length - sizeof ending + 1, ending) == 0)
        stem = length - sizeof ending + 1;
    snprintf(trainer->last, length + 32, "%.*s.last%s", (int)stem, path, ending);
    return ATTN_OK;
}

static uint64_t hash_strings(const at_strings *list, uint64_t seed) {
    return at_hash(list->bytes, (size_t)(list->count ? list->offsets[list->count] : 0), seed);
}

/* All of a dataset that a network sees, as one number. */
static uint64_t fingerprint(const attn_dataset *dataset, uint64_t seed) {
    seed = hash_strings(&dataset->tokens, seed);
    seed = hash_strings(&dataset->targets, seed);
    seed = hash_strings(&dataset->columns, seed);
    if (dataset->any_glued) seed = at_hash((const char *)dataset->glued, (size_t)dataset->tokens.count, seed);
    return at_hash((const char *)dataset->offsets, (size_t)(dataset->examples + 1) * sizeof(int64_t), seed);
}

static uint64_t fingerprint_all(const attn_trainer *trainer) {
    uint64_t print = fingerprint(trainer->dev, fingerprint(trainer->train, 0));
    const at_pretrained *pretrained = &trainer->model->pretrained;
    if (!trainer->vectors) return print;
    int64_t numbers = pretrained->words.strings.count * pretrained->columns;
    print = hash_strings(&pretrained->words.strings, print);
    return at_hash((const char *)trainer->vectors, (size_t)numbers * sizeof(float), print);
}

static const char *default_metric(const attn_model *model) {
    if (model->values.task == AT_TASK_LM) return "bits_per_byte";
    if (model->values.task == AT_TASK_SEQ2SEQ) {
        at_unit unit = model->target->options.unit;
        return unit == AT_UNIT_SUBWORDS || unit == AT_UNIT_WORDS ? "bleu" : "word_error_rate";
    }
    if (model->values.scheme == AT_SCHEME_BMES) return "word_f1";
    switch (model->outputs[0].kind) {
    case ATTN_OUTPUT_NUMBER: return "mean_squared_error";
    case ATTN_OUTPUT_LABELS: return "micro_f1";
    case ATTN_OUTPUT_CLASS: break;
    }
    return "accuracy";
}

/* A CRF learns from whole sequences: every tag has to be there. */
static attn_status check_targets(const attn_trainer *trainer) {
    if (!trainer->values.crf) return ATTN_OK;
    for (int i = 0; i < trainer->targets.output_count; i++) {
        for (int64_t row = 0; row < trainer->targets.rows; row++) {
            if (!trainer->targets.outputs[i].classes || trainer->targets.outputs[i].classes[row] >= 0)
                continue;
            return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                           "%.200s:%" PRId64 ": has no label; output.crf needs one for every token",
                           at_string(&trainer->train->name, 0), trainer->train->lines[row]);
        }
    }
    return ATTN_OK;
}

static attn_status learn_answers(attn_trainer *trainer) {
    attn_model *model = trainer->model;
    attn_status status = at_text_learn(&model->text, trainer->train);
    if (status == ATTN_OK) status = at_outputs_learn(model, trainer->train);
    if (status == ATTN_OK) status = at_trainer_read_vectors(trainer);
    if (status == ATTN_OK) status = at_text_units(&model->text, trainer->train, &trainer->units);
    if (status == ATTN_OK)
        status = at_targets_make(model, trainer->train, &trainer->units, &trainer->targets);
    if (status == ATTN_OK) status = check_targets(trainer);
    if (status == ATTN_OK) {
        status = at_segments_make(trainer->context, &trainer->units, at_config_longest(&trainer->values),
                                  model->per_token, &trainer->segments);
    }
    return status;
}

static attn_status learn(attn_trainer *trainer) {
    attn_model *model = trainer->model;
    attn_status status =
        at_trainer_of_sequences(trainer) ? at_trainer_learn_sequences(trainer) : learn_answers(trainer);
    if (status != ATTN_OK) return status;
    if (trainer->segments.count == 0) {
        return at_fail(trainer->context, ATTN_INVALID_ARGUMENT, "%.200s: has nothing to learn from",
                       at_string(&trainer->train->name, 0));
    }
    trainer->metric = *trainer->values.metric ? trainer->values.metric : default_metric(model);
    trainer->batch_targets =
        at_allocate(trainer->context, model->output_count, sizeof *trainer->batch_targets, "targets");
    if (!trainer->batch_targets) return ATTN_OUT_OF_MEMORY;
    status = at_plan_make(trainer->context, &trainer->segments, trainer->values.batch_units, 1,
                          seed_of(trainer, FOR_PLANS, 0), &trainer->plan);
    trainer->batches_an_epoch = trainer->plan.batches;
    return status;
}

/* An example of the development data that has a target, -1 if none has. */
static int64_t find_labelled(const attn_model *model, const at_targets *targets) {
    for (int64_t example = 0; example < targets->examples; example++) {
        int64_t first = model->per_token ? targets->offsets[example] : example;
        int64_t end = model->per_token ? targets->offsets[example + 1] : example + 1;
        for (int64_t row = first; row < end; row++) {
            for (int i = 0; i < targets->output_count; i++) {
                const at_target *target = &targets->outputs[i];
                attn_output_kind kind = model->outputs[i].kind;
                if (kind == ATTN_OUTPUT_LABELS || (kind == ATTN_OUTPUT_CLASS && target->classes[row] != -1) ||
                    (kind == ATTN_OUTPUT_NUMBER && !isnan(target->numbers[row])))
                    return example;
            }
        }
    }
    return -1;
}

/* What does not fit the outputs is found now, not after the first epoch. */
static attn_status check_dev(attn_trainer *trainer) {
    if (at_trainer_of_sequences(trainer)) return at_trainer_look_at_dev(trainer);
    at_targets targets;
    attn_status status = at_model_targets(trainer->model, trainer->dev, &targets);
    if (status != ATTN_OK) return status;
    trainer->labelled = find_labelled(trainer->model, &targets);
    at_targets_free(trainer->context, &targets);
    if (trainer->labelled >= 0) return ATTN_OK;
    return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                   "%.200s: has no labels, so that no model can be chosen by it",
                   at_string(&trainer->dev->name, 0));
}

static attn_status prepare(attn_trainer *trainer, const attn_dataset *train, const attn_dataset *dev) {
    const at_config *values;
    attn_status status = at_config_values(trainer->config, &values);
    if (status != ATTN_OK) return status;
    trainer->train = train;
    status = at_trainer_choose_units(trainer);
    if (status == ATTN_OK) status = at_config_values(trainer->config, &values);
    if (status != ATTN_OK) return status;
    trainer->values = *values;
    if (trainer->options.output) status = copy_path(trainer, trainer->options.output);
    if (status != ATTN_OK) return status;
    trainer->dev = dev;
    if (!dev) status = at_trainer_hold_out(trainer);
    if (status == ATTN_OK) status = at_model_create(trainer->config, &trainer->model);
    if (status == ATTN_OK) status = attn_tape_create(trainer->context, &trainer->tape);
    if (status == ATTN_OK) status = learn(trainer);
    if (status != ATTN_OK) return status;
    status = check_dev(trainer);
    if (status != ATTN_OK) return status;
    trainer->fingerprint = fingerprint_all(trainer);
    trainer->steps_total = trainer->values.steps;
    if (trainer->steps_total == 0) {
        int64_t batches = trainer->values.epochs * trainer->batches_an_epoch;
        trainer->steps_total = (batches + trainer->values.accumulate - 1) / trainer->values.accumulate;
        if (trainer->steps_total < trainer->values.least_steps)
            trainer->steps_total = trainer->values.least_steps;
    }
    return ATTN_OK;
}

attn_status attn_trainer_create(attn_config *config, const attn_dataset *train, const attn_dataset *dev,
                                const attn_trainer_options *options, attn_trainer **trainer) {
    if (!config) return ATTN_INVALID_ARGUMENT;
    attn_context *context = at_config_context(config);
    attn_trainer_options defaults;
    attn_trainer_options_init(&defaults);
    if (!options) options = &defaults;
    if (!train || !trainer || options->size != sizeof *options) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "train or trainer is NULL, or attn_trainer_options_init was not called");
    }
    attn_trainer *made = at_allocate(context, 1, sizeof *made, "a trainer");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->options = *options;
    attn_status status = at_config_copy(config, &made->config);
    if (status == ATTN_OK) status = prepare(made, train, dev);
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
    attn_model_destroy(trainer->model);
    attn_tape_destroy(trainer->tape);
    at_units_free(context, &trainer->units);
    at_segments_free(context, &trainer->segments);
    at_targets_free(context, &trainer->targets);
    at_symbols_free(context, &trainer->symbols);
    at_decoding_free(context, &trainer->decoding);
    at_release(context, trainer->running);
    at_plan_free(context, &trainer->plan);
    at_batch_free(context, &trainer->batch);
    at_release(context, trainer->batch_targets);
    at_release(context, trainer->classes);
    at_release(context, trainer->numbers);
    at_release(context, trainer->vectors);
    at_release(context, trainer->output);
    at_release(context, trainer->last);
    attn_dataset_destroy(trainer->own_train);
    attn_dataset_destroy(trainer->own_dev);
    attn_config_destroy(trainer->config);
    at_release(context, trainer);
}

/* ---- one step ---- */

static attn_status plan_epoch(attn_trainer *trainer) {
    if (trainer->planned_epoch == trainer->made.epoch) return ATTN_OK;
    trainer->planned_epoch = trainer->made.epoch;
    return at_plan_make(trainer->context, &trainer->segments, trainer->values.batch_units, 1,
                        seed_of(trainer, FOR_PLANS, trainer->made.epoch), &trainer->plan);
}

static attn_status run_batch(attn_trainer *trainer, int64_t counter, double *loss) {
    attn_model *model = trainer->model;
    attn_status status = plan_epoch(trainer);
    if (status != ATTN_OK) return status;
    if (trainer->made.batch >= trainer->plan.batches) { /* a .last file said so */
        return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                       "%.200s cannot be resumed: its counters are out of range; train without --resume to "
                       "start anew",
                       trainer->last);
    }
    const int64_t *order = trainer->plan.order + trainer->plan.first[trainer->made.batch];
    int64_t count = trainer->plan.first[trainer->made.batch + 1] - trainer->plan.first[trainer->made.batch];
    at_hiding hiding = {trainer->values.unit_dropout, trainer->values.feature_dropout,
                        seed_of(trainer, FOR_HIDING, counter)};
    status = at_batch_make(&model->text, model->pretrained.columns ? &model->pretrained.words : NULL,
                           &trainer->units, &trainer->segments, order, count, &hiding, &trainer->batch);
    attn_tape_begin(trainer->tape, ATTN_TAPE_TRAIN, seed_of(trainer, FOR_DROPOUT, counter));
    attn_variable *sum = NULL;
    if (status == ATTN_OK && at_trainer_of_sequences(trainer)) {
        status = at_trainer_sequences_loss(trainer, order, count, &sum);
    } else if (status == ATTN_OK) {
        status = at_trainer_gather(trainer, order, count);
        sum = at_model_loss(model, trainer->tape, &trainer->batch, trainer->batch_targets);
    }
    if (status != ATTN_OK) return status;
    if (attn_tape_backward(trainer->tape, sum, NULL) != ATTN_OK) {
        return at_fail(trainer->context, attn_tape_status(trainer->tape), "step %" PRId64 ": %.400s",
                       trainer->made.step + 1, attn_tape_error(trainer->tape));
    }
    *loss = attn_variable_data(sum)[0];
    trainer->trained_units += trainer->batch.features.rows;
    if (trainer->symbols.count)
        trainer->trained_units += trainer->decoding.offsets[trainer->decoding.sequences];
    if (++trainer->made.batch == trainer->plan.batches) {
        trainer->made.batch = 0;
        trainer->made.epoch++;
    }
    return ATTN_OK;
}

attn_status at_trainer_step(attn_trainer *trainer) {
    at_progress_made *made = &trainer->made;
    double sum = 0, rate = attn_optimizer_learning_rate(trainer->optimizer);
    for (int64_t i = 0; i < trainer->values.accumulate; i++) {
        double loss = 0;
        attn_status status = run_batch(trainer, made->step * trainer->values.accumulate + i, &loss);
        if (status != ATTN_OK) return status;
        sum += loss / (double)trainer->values.accumulate;
    }
    attn_status status = ATTN_NOT_FINITE;
    if (isfinite(sum)) status = attn_optimizer_step(trainer->optimizer);
    if (status == ATTN_NOT_FINITE) {
        return at_fail(trainer->context, status,
                       "training diverged: at step %" PRId64 ", with learning rate %g, the loss is %g and a "
                       "gradient is not finite; try a smaller training.learning_rate",
                       made->step + 1, rate, sum);
    }
    if (status != ATTN_OK) return status;
    made->step++;
    double weight = made->step < 50 ? 1.0 / (double)made->step : 0.02;
    made->loss = made->step == 1 ? sum : made->loss + weight * (sum - made->loss);
    return ATTN_OK;
}

/* ---- evaluation ---- */

static attn_status set_scores(attn_trainer *trainer, const attn_report *report, double score) {
    json_t *metrics = json_object(), *all = json_object();
    for (int i = 0; i < attn_report_metrics(report); i++) {
        const char *name = attn_report_metric_name(report, i);
        json_object_set_new(metrics, name, json_real(attn_report_metric(report, name)));
    }
    json_object_set_new(all, "metric", json_string(trainer->metric));
    json_object_set_new(all, "score", json_real(score));
    json_object_set_new(all, "step", json_integer(trainer->made.step));
    json_object_set_new(all, "steps", json_integer(trainer->steps_total));
    json_object_set_new(all, "examples", json_integer(trainer->train->examples));
    json_object_set_new(all, "dev_examples", json_integer(trainer->dev->examples));
    json_object_set_new(all, "dev", metrics);
    char *text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(9));
    attn_status status = text ? at_model_set_scores(trainer->model, text)
                              : at_fail(trainer->context, ATTN_OUT_OF_MEMORY, "no memory for scores as JSON");
    free(text);
    json_decref(all);
    return status;
}

attn_status at_trainer_evaluate(attn_trainer *trainer, double *score) {
    attn_report *report;
    attn_search_options search; /* the greedy one tells models apart as well, and is many times as fast */
    attn_search_options_init(&search);
    search.beam = 1;
    search.longest = trainer->dev_longest;
    if (trainer->measuring && trainer->symbols.examples) /* a network that has learned nothing does not end */
        search.longest = 2 + trainer->symbols.count / trainer->symbols.examples;
    attn_status status = attn_report_create_search(trainer->model, trainer->dev, &search, 0, &report);
    if (status != ATTN_OK) return status;
    *score = attn_report_metric(report, trainer->metric); /* NaN: a correlation that is not defined */
    status = set_scores(trainer, report, *score);
    attn_report_destroy(report);
    return status;
}

/* Whether there is such a metric, by a report of one example. */
static attn_status check_metric(attn_trainer *trainer) {
    attn_dataset *one;
    attn_report *report = NULL;
    attn_search_options search;
    attn_search_options_init(&search);
    search.beam = search.longest = 1;
    attn_status status = attn_dataset_select(trainer->dev, &trainer->labelled, 1, &one);
    if (status != ATTN_OK) return status;
    status = attn_report_create_search(trainer->model, one, &search, 0, &report);
    attn_dataset_destroy(one);
    if (status != ATTN_OK) return status;
    char names[300] = "";
    int known = 0;
    for (int i = 0; i < attn_report_metrics(report); i++) {
        const char *name = attn_report_metric_name(report, i);
        known |= strcmp(name, trainer->metric) == 0;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name);
    }
    attn_report_destroy(report);
    if (known) return ATTN_OK;
    return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                   "there is no metric \"%.60s\" for this task (training.metric); there are: %s",
                   trainer->metric, names);
}

static attn_status swap_average(attn_trainer *trainer) {
    return trainer->averaged ? attn_optimizer_swap_average(trainer->optimizer) : ATTN_OK;
}

static int nothing_right(const attn_trainer *trainer, double score) {
    if (trainer->values.task != AT_TASK_SEQ2SEQ) return 0;
    return attn_metric_rises(trainer->metric) ? score <= 0 : score >= 1;
}

/* Evaluates with the averaged weights; with `keep` the model is written if none was better so far (of equal
 * ones the later, which has learned longer), else (a run that is stopped before its first evaluation) in any
 * case, and nothing of it counts for what follows. Patience waits for a score that is really better; it does
 * not begin before some answer is right, since whole answers are wrong long after a network has begun to
 * learn. */
static attn_status evaluate_and_save(attn_trainer *trainer, int keep) {
    at_progress_made *made = &trainer->made;
    double score = NAN;
    attn_status status = swap_average(trainer);
    if (status != ATTN_OK) return status;
    status = at_trainer_evaluate(trainer, &score);
    int better = isnan(made->best_score) ||
                 (attn_metric_rises(trainer->metric) ? score > made->best_score : score < made->best_score);
    int as_good = better || score == made->best_score;
    if (status == ATTN_OK && as_good && trainer->output)
        status = attn_model_save(trainer->model, trainer->output);
    attn_status back = swap_average(trainer);
    if (status == ATTN_OK) status = back;
    if (status != ATTN_OK || !keep) return status;
    made->evaluated_step = made->step;
    made->evaluated_epoch = made->epoch;
    made->without_better = better || nothing_right(trainer, score) ? 0 : made->without_better + 1;
    if (as_good) {
        made->best_score = score;
        made->best_step = made->step;
    }
    made->ended = trainer->values.patience > 0 && made->without_better >= trainer->values.patience;
    trainer->state.score = score;
    return ATTN_OK;
}

/* ---- the run ---- */

static int tell(attn_trainer *trainer, attn_training_event event) {
    attn_training_state *state = &trainer->state;
    const at_progress_made *made = &trainer->made;
    double batches = (double)trainer->batches_an_epoch / (double)trainer->values.accumulate;
    state->event = event;
    state->step = made->step;
    state->steps_total = trainer->steps_total;
    state->epoch = (double)made->epoch + (double)made->batch / (double)trainer->batches_an_epoch;
    state->epochs_total = (double)trainer->steps_total / batches;
    state->loss = made->loss;
    state->learning_rate = attn_optimizer_learning_rate(trainer->optimizer);
    state->units_per_second =
        trainer->trained_seconds > 0 ? (double)trainer->trained_units / trainer->trained_seconds : 0;
    state->seconds = at_seconds() - trainer->began;
    int64_t done = made->step - state->resumed_from, left = trainer->steps_total - made->step;
    state->seconds_left = done > 0 ? (double)left * state->seconds / (double)done : 0;
    state->train_examples = trainer->train->examples;
    state->dev_examples = trainer->dev->examples;
    state->train_units = trainer->units.units.count + trainer->symbols.count;
    state->metric = trainer->metric;
    state->best_score = made->best_score;
    state->best_step = made->best_step;
    return trainer->options.watch ? trainer->options.watch(trainer->options.user, state) : 0;
}

static int evaluation_due(const attn_trainer *trainer) {
    const at_progress_made *made = &trainer->made;
    if (made->step == trainer->steps_total) return 1;
    return made->epoch > made->evaluated_epoch &&
           (made->step - made->evaluated_step) * MOST_EVALUATIONS >= trainer->steps_total;
}

static attn_status save_last(attn_trainer *trainer) {
    trainer->saved_at = at_seconds();
    return trainer->last ? at_checkpoint_write(trainer, trainer->last) : ATTN_OK;
}

#define MOST_STEPS 1e15 /* of training.steps */

/* An evaluation also writes files. */
static attn_status write_for_measure(attn_trainer *trainer) {
    if (!trainer->last) return ATTN_OK;
    size_t room = strlen(trainer->last) + 16;
    char *path = at_allocate(trainer->context, (int64_t)room, 1, "a path");
    if (!path) return ATTN_OUT_OF_MEMORY;
    snprintf(path, room, "%s.measure", trainer->last);
    attn_status status = at_checkpoint_write(trainer, path);
    remove(path);
    at_release(trainer->context, path);
    return status;
}

/* Trains for a moment with the real network, to see how long a step takes; then everything starts anew. */
static attn_status measure(attn_trainer *trainer) {
    double began = at_seconds(), limit = 0.05 * trainer->options.seconds, score;
    if (limit > 5) limit = 5;
    attn_status status = at_trainer_step(trainer); /* the first makes room: it does not count */
    double from = at_seconds(), now = from;
    int64_t before = trainer->trained_units;
    for (int i = 0; status == ATTN_OK && (i < 2 || now - from < limit); i++) {
        status = at_trainer_step(trainer);
        now = at_seconds();
    }
    if (status != ATTN_OK) return status;
    double a_unit = (now - from) / (double)(trainer->trained_units - before);
    trainer->measuring = 1;
    status = at_trainer_evaluate(trainer, &score);
    trainer->measuring = 0;
    if (status == ATTN_OK) status = write_for_measure(trainer);
    if (status != ATTN_OK) return status;
    double evaluation = at_seconds() - now, left = 0.96 * trainer->options.seconds - (at_seconds() - began);
    double batches = (double)trainer->batches_an_epoch / (double)trainer->values.accumulate;
    double a_step = a_unit *
                    (double)(trainer->units.units.count + trainer->symbols.count +
                             (trainer->symbols.count ? trainer->symbols.examples : 0)) /
                    batches;
    double steps = left / (a_step + evaluation / batches); /* one evaluation an epoch, up to so many */
    if (steps > MOST_EVALUATIONS * batches) steps = (left - MOST_EVALUATIONS * evaluation) / a_step;
    trainer->steps_total = steps < 1 ? 1 : steps > MOST_STEPS ? (int64_t)MOST_STEPS : (int64_t)steps;
    return ATTN_OK;
}

static attn_status start(attn_trainer *trainer, int *stop) {
    int64_t chosen = 0;
    attn_status status = ATTN_OK;
    if (trainer->options.resume && trainer->last) status = at_checkpoint_steps(trainer, &chosen);
    if (status == ATTN_OK && trainer->options.seconds > 0) {
        if (chosen) {
            trainer->steps_total = chosen;
        } else {
            status = at_trainer_build(trainer);
            if (status == ATTN_OK) status = measure(trainer);
        }
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, trainer->steps_total);
        if (status == ATTN_OK) status = attn_config_set(trainer->config, "training.steps", text);
        if (status == ATTN_OK) status = attn_config_set(trainer->model->config, "training.steps", text);
        if (status != ATTN_OK) return status;
        trainer->values.steps = trainer->model->values.steps = trainer->steps_total;
    }
    trainer->trained_units = 0;
    trainer->trained_seconds = 0;
    if (status == ATTN_OK) status = at_trainer_build(trainer);
    if (status == ATTN_OK && chosen) status = at_checkpoint_read(trainer);
    if (status == ATTN_OK) status = check_metric(trainer);
    if (status != ATTN_OK) return status;
    trainer->state.resumed_from = trainer->made.step;
    trainer->state.score = NAN;
    if (trainer->options.seconds > 0) *stop = tell(trainer, ATTN_TRAINING_MEASURED);
    *stop |= tell(trainer, ATTN_TRAINING_READY);
    return chosen ? ATTN_OK : save_last(trainer);
}

attn_status attn_trainer_run(attn_trainer *trainer) {
    if (!trainer) return ATTN_INVALID_ARGUMENT;
    at_progress_made *made = &trainer->made;
    trainer->began = at_seconds();
    int stop = 0;
    attn_status status = start(trainer, &stop);
    while (status == ATTN_OK && !stop && made->step < trainer->steps_total && !made->ended) {
        double before = at_seconds();
        status = at_trainer_step(trainer);
        if (status != ATTN_OK) break;
        trainer->trained_seconds += at_seconds() - before;
        stop = tell(trainer, ATTN_TRAINING_STEP);
        int due = evaluation_due(trainer);
        if (due) status = evaluate_and_save(trainer, 1);
        if (due && status == ATTN_OK) stop |= tell(trainer, ATTN_TRAINING_DEV);
        int save = due || stop || at_seconds() - trainer->saved_at >= trainer->options.save_seconds;
        if (status == ATTN_OK && save) status = save_last(trainer);
    }
    if (status != ATTN_OK) return status;
    int finished = made->step >= trainer->steps_total;
    if (!finished && !made->ended && made->step > 0 && isnan(made->best_score))
        status = evaluate_and_save(trainer, 0);
    trainer->state.end = finished      ? ATTN_TRAINING_FINISHED
                         : made->ended ? ATTN_TRAINING_PATIENCE
                                       : ATTN_TRAINING_STOPPED;
    tell(trainer, ATTN_TRAINING_DONE);
    return status;
}
