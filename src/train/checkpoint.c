/* checkpoint.c: the .last file: the model with its current weights, the optimiser's state (tensors
 * "optimizer.NAME"), and the progress of training (metadata "attn.training").
 *
 * Numbers of the state are written as hexadecimal floats, so that reading gives the same bits.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/numbers.h"
#include "tape/parameters.h"
#include "train/optimizer.h"
#include "train/trainer.h"

static const char prefix[] = "optimizer.";

/* ---- writing ---- */

static json_t *bits_of(double number) {
    char text[64];
    snprintf(text, sizeof text, "%a", number);
    return json_string(text);
}

void at_checkpoint_fingerprint(const attn_trainer *trainer, char *text) {
    snprintf(text, 17, "%016" PRIx64, trainer->fingerprint);
}

/* Of several metrics, those of the model that is kept and the best of each; 0, or -1 without memory. */
static int put_values(const attn_trainer *trainer, json_t *state) {
    json_t *kept = json_array(), *highest = json_array();
    int bad = 0;
    for (int i = 0; i < trainer->choice_count; i++) {
        bad |= json_array_append_new(kept, bits_of(trainer->made.kept[i]));
        bad |= json_array_append_new(highest, bits_of(trainer->made.highest[i]));
    }
    bad |= json_object_set_new(state, "kept", kept);
    return json_object_set_new(state, "highest", highest) | bad;
}

static attn_status put_progress(attn_trainer *trainer, at_safetensors_writer *writer) {
    const at_progress_made *made = &trainer->made;
    const at_course *main = &trainer->courses[0], *splitter = &trainer->courses[1];
    char print[32];
    at_checkpoint_fingerprint(trainer, print);
    json_t *state = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:s}", "steps",
        (json_int_t)trainer->steps_total, "step", (json_int_t)made->step, "epoch", (json_int_t)main->epoch,
        "batch", (json_int_t)main->batch, "splitter_epoch", (json_int_t)splitter->epoch, "splitter_batch",
        (json_int_t)splitter->batch, "evaluated_step", (json_int_t)made->evaluated_step, "evaluated_epoch",
        (json_int_t)made->evaluated_epoch, "best_step", (json_int_t)made->best_step, "without_better",
        (json_int_t)made->without_better, "ended", made->ended, "loss", bits_of(made->loss), "best_score",
        bits_of(made->best_value), "fingerprint", print);
    int bad = trainer->choice_count > 1 && put_values(trainer, state) != 0;
    int goes_on = made->step < trainer->steps_total && !made->ended;
    if (at_timing_adapts(trainer) && goes_on) { /* else it is that of a run by steps */
        bad |= json_object_set_new(state, "seconds", bits_of(at_timing_used(trainer)));
        bad |= json_object_set_new(state, "evaluation", bits_of(trainer->timing.evaluation));
    }
    char *text = state && !bad ? json_dumps(state, JSON_COMPACT) : NULL;
    attn_status status =
        text ? at_safetensors_put(writer, "attn.training", text)
             : at_fail(trainer->context, ATTN_OUT_OF_MEMORY, "no memory for the state as JSON");
    free(text);
    json_decref(state);
    return status;
}

static int64_t count_of(const attn_tensor *tensor) {
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; d++) count *= tensor->shape[d];
    return count;
}

/* A state that is not on the host, in memory that goes with the writer. */
static attn_status copy_state(attn_optimizer *optimizer, at_safetensors_writer *writer, int64_t index,
                              attn_tensor *tensor) {
    float *copy = at_allocate(at_safetensors_writer_context(writer), count_of(tensor), sizeof *copy,
                              "the state of the optimiser");
    attn_status status = copy ? at_safetensors_keep(writer, copy) : ATTN_OUT_OF_MEMORY;
    tensor->data = copy;
    return status == ATTN_OK ? at_optimizer_host_read(optimizer, index, copy) : status;
}

static attn_status put_optimizer(attn_optimizer *optimizer, at_safetensors_writer *writer) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < attn_optimizer_state_count(optimizer) && status == ATTN_OK; i++) {
        const char *name;
        attn_tensor tensor;
        char whole[256];
        status = attn_optimizer_state(optimizer, i, &name, &tensor);
        if (status != ATTN_OK) break;
        snprintf(whole, sizeof whole, "%s%s", prefix, name);
        if (!tensor.data) status = copy_state(optimizer, writer, i, &tensor);
        if (status == ATTN_OK)
            status = at_numbers_store(writer, whole, tensor.rank, tensor.shape, tensor.data, 32, 1);
    }
    return status;
}

attn_status at_checkpoint_write(attn_trainer *trainer, const char *path) {
    at_safetensors_writer *writer;
    attn_status status = at_safetensors_writer_create(trainer->context, &writer);
    if (status != ATTN_OK) return status;
    status = at_model_store(trainer->model, AT_STORE_FULL, writer); /* training continues with all bits */
    if (status == ATTN_OK) status = put_progress(trainer, writer);
    for (int i = 0; i < trainer->model->stage_count && status == ATTN_OK; i++)
        status = put_optimizer(trainer->courses[i].optimizer, writer);
    if (status == ATTN_OK) status = at_safetensors_commit(writer, path);
    at_safetensors_writer_destroy(writer);
    return status;
}

/* ---- reading ---- */

attn_status at_checkpoint_refuse(attn_trainer *trainer, const char *path, const char *what,
                                 const char *detail) {
    return at_fail(trainer->context, ATTN_INVALID_ARGUMENT,
                   "%.200s cannot be resumed: %s%.160s; force begins anew", path, what, detail);
}

static attn_status refuse(attn_trainer *trainer, const char *what, const char *detail) {
    return at_checkpoint_refuse(trainer, trainer->files.last, what, detail);
}

int at_checkpoint_matters(const attn_trainer *trainer, const char *name) {
    if (trainer->options.seconds > 0 && /* taken from it */
        (strcmp(name, "training.steps") == 0 || strcmp(name, "training.timetable") == 0))
        return 0;
    return strcmp(name, "training.examples") != 0 || !trainer->counted; /* the data is compared itself */
}

attn_status at_checkpoint_compare(attn_trainer *trainer, const at_safetensors *file,
                                  int (*matters)(const attn_trainer *trainer, const char *name),
                                  char *difference) {
    const char *path = at_safetensors_name(file), *text = at_safetensors_metadata(file, "attn.config"),
               *printed = attn_config_print(trainer->config);
    *difference = 0;
    if (!text)
        return at_fail(trainer->context, ATTN_INVALID_ARGUMENT, "%.200s: has no attn.config: it is no model",
                       path);
    if (!printed) return ATTN_OUT_OF_MEMORY;
    attn_config *stored = NULL, *own = NULL;
    attn_status status = at_config_stored(trainer->context, path, text, &stored);
    if (status == ATTN_OK) status = at_config_stored(trainer->context, path, printed, &own); /* it says all */
    int given =
        0; /* the difference is one that the caller made, rather than a default that follows from it */
    for (int i = 0; i < attn_config_count() && status == ATTN_OK && !given; i++) {
        const char *name = attn_config_name(i);
        char theirs[AT_FIELD_TEXT_BYTES];
        snprintf(theirs, sizeof theirs, "%s", attn_config_get(stored, name));
        const char *ours = attn_config_get(own, name);
        if (strcmp(ours, theirs) == 0 || !matters(trainer, name)) continue;
        given = attn_config_given(trainer->config, i);
        if (given || !*difference)
            snprintf(difference, AT_DIFFERENCE_BYTES, "%s was %.100s and is %.100s", name,
                     *theirs ? theirs : "\"\"", *ours ? ours : "\"\"");
    }
    attn_config_destroy(stored);
    attn_config_destroy(own);
    return status;
}

/* A run that began before there was this value continues as it began, unless the caller says otherwise. What
 * is wrong with the file is told when it is read. */
attn_status at_checkpoint_adopt(attn_trainer *trainer, const char *name) {
    const attn_trainer_options *options = &trainer->options;
    char last[4096];
    at_safetensors *file;
    attn_config *stored;
    int index = 0;
    while (index < attn_config_count() && strcmp(attn_config_name(index), name) != 0) index++;
    if (!options->resume || !options->output || attn_config_given(trainer->config, index)) return ATTN_OK;
    if (attn_trainer_last_path(trainer->context, options->output, last, sizeof last) != ATTN_OK)
        return ATTN_OK;
    const char *path = access(last, F_OK) == 0 ? last : options->output;
    if (access(path, F_OK) != 0 || at_safetensors_open(trainer->context, path, &file) != ATTN_OK)
        return ATTN_OK;
    const char *text = at_safetensors_metadata(file, "attn.config");
    attn_status status = ATTN_OK;
    if (text && at_config_stored(trainer->context, path, text, &stored) == ATTN_OK)
        status = attn_config_set(trainer->config, name, attn_config_get(stored, name));
    if (text) attn_config_destroy(stored);
    at_safetensors_close(file);
    return status;
}

static attn_status compare_config(attn_trainer *trainer, const at_safetensors *file) {
    char difference[AT_DIFFERENCE_BYTES];
    attn_status status = at_checkpoint_compare(trainer, file, at_checkpoint_matters, difference);
    return status == ATTN_OK && *difference ? refuse(trainer, "", difference) : status;
}

static json_t *read_state(const at_safetensors *file) {
    json_error_t error;
    const char *text = at_safetensors_metadata(file, "attn.training");
    return text ? json_loads(text, JSON_REJECT_DUPLICATES, &error) : NULL;
}

int at_checkpoint_progress(attn_context *context, const char *path, int64_t *step, int64_t *steps,
                           int *ended) {
    at_safetensors *file;
    json_int_t done, all;
    if (at_safetensors_open(context, path, &file) != ATTN_OK) return 0;
    json_t *state = read_state(file);
    int known = json_unpack(state, "{s:I, s:I, s:b}", "step", &done, "steps", &all, "ended", ended) == 0;
    if (known) *step = done, *steps = all;
    json_decref(state);
    at_safetensors_close(file);
    return known;
}

/* As bits_of writes it: a finite number, or the one that stands for none. 0: it is something else. */
static int read_bits(const char *text, double *number) {
    char *end;
    *number = strtod(text, &end);
    return end != text && !*end && !isinf(*number) && strspn(text, " \t\n\v\f\r") == 0;
}

/* How much of the time is used, and how the number of steps has changed. */
static attn_status take_timing(attn_trainer *trainer, const at_safetensors *file, const json_t *state,
                               int64_t steps) {
    const char *used = json_string_value(json_object_get(state, "seconds"));
    const char *evaluation = json_string_value(json_object_get(state, "evaluation"));
    double seconds, last;
    attn_config *stored = NULL;
    if (used && evaluation) {
        if (!read_bits(used, &seconds) || !read_bits(evaluation, &last) || !(seconds >= 0) || !(last >= 0))
            return refuse(trainer, "its time is not a number that training writes", "");
        trainer->timing.used_before += seconds;
        trainer->timing.evaluation = last;
    }
    attn_status status = at_config_stored(trainer->context, at_safetensors_name(file),
                                          at_safetensors_metadata(file, "attn.config"), &stored);
    int64_t before = trainer->steps_total;
    trainer->steps_total = steps;
    if (status == ATTN_OK) status = at_timing_read(trainer, attn_config_get(stored, "training.timetable"));
    trainer->steps_total = before;
    attn_config_destroy(stored);
    return status;
}

attn_status at_checkpoint_steps(attn_trainer *trainer, int64_t *steps) {
    *steps = 0;
    if (access(trainer->files.last, F_OK) != 0) return at_finished_steps(trainer, steps);
    at_safetensors *file;
    attn_status status = at_safetensors_open(trainer->context, trainer->files.last, &file);
    if (status != ATTN_OK) return status;
    json_t *state = read_state(file);
    int64_t stored = json_integer_value(json_object_get(state, "steps"));
    if (stored < 1) {
        status = refuse(trainer, "it does not say how far training was", "");
    } else {
        status = compare_config(trainer, file);
    }
    if (status == ATTN_OK && trainer->options.seconds > 0) status = take_timing(trainer, file, state, stored);
    if (status == ATTN_OK) *steps = stored;
    json_decref(state);
    at_safetensors_close(file);
    return status;
}

/* What the file has for a tensor of that name and shape. */
static attn_status find(attn_trainer *trainer, at_safetensors *file, const char *name,
                        const attn_tensor *tensor, const float **stored) {
    char reason[256];
    *stored = at_model_stored(file, name, tensor->rank, tensor->shape, reason, sizeof reason);
    if (*stored) return ATTN_OK;
    return *reason ? refuse(trainer, "", reason) : ATTN_OUT_OF_MEMORY;
}

static attn_status take_tensors(attn_trainer *trainer, const at_course *course, at_safetensors *file) {
    attn_status status = ATTN_OK;
    const attn_parameters *parameters = course->stage->parameters;
    const float *stored;
    for (int64_t i = 0; i < attn_parameters_count(parameters) && status == ATTN_OK; i++) {
        attn_parameter *parameter = attn_parameters_at(parameters, i);
        attn_tensor value = attn_parameter_value(parameter);
        status = find(trainer, file, attn_parameter_name(parameter), &value, &stored);
        if (status == ATTN_OK) status = at_parameter_host_write(parameter, 0, count_of(&value), stored);
    }
    for (int64_t i = 0; i < attn_optimizer_state_count(course->optimizer) && status == ATTN_OK; i++) {
        const char *name;
        attn_tensor tensor;
        char whole[256];
        status = attn_optimizer_state(course->optimizer, i, &name, &tensor);
        if (status != ATTN_OK) break;
        snprintf(whole, sizeof whole, "%s%s", prefix, name);
        status = find(trainer, file, whole, &tensor, &stored);
        if (status == ATTN_OK) status = at_optimizer_host_write(course->optimizer, i, stored);
    }
    return status;
}

static int in_range(const attn_trainer *trainer, const at_course *course, const at_progress_made *made) {
    /* each epoch has one batch or more */
    double batches = (double)made->step * (double)trainer->values.accumulate * (double)course->steps_a_step;
    return made->step >= 0 && made->step <= trainer->steps_total && course->epoch >= 0 &&
           (double)course->epoch <= batches && course->batch >= 0 && (double)course->batch <= batches &&
           made->evaluated_step >= 0 && made->evaluated_step <= made->step && made->evaluated_epoch >= 0 &&
           made->evaluated_epoch <= trainer->courses[0].epoch && made->best_step >= 0 &&
           made->best_step <= made->step && made->without_better >= 0 && made->without_better <= made->step;
}

/* The values of several metrics, of one the same from the best value; 0: they are not there, or no values. */
static int read_values(const attn_trainer *trainer, const json_t *state, at_progress_made *made) {
    const json_t *kept = json_object_get(state, "kept"), *highest = json_object_get(state, "highest");
    size_t count = (size_t)trainer->choice_count;
    made->kept[0] = made->highest[0] = made->best_value;
    if (count < 2) return 1;
    if (json_array_size(kept) != count || json_array_size(highest) != count) return 0;
    for (size_t i = 0; i < count; i++) {
        const char *one = json_string_value(json_array_get(kept, i));
        const char *best = json_string_value(json_array_get(highest, i));
        if (!one || !best || !read_bits(one, &made->kept[i]) || !read_bits(best, &made->highest[i])) return 0;
    }
    return 1;
}

static attn_status take_progress(attn_trainer *trainer, json_t *state) {
    at_progress_made *made = &trainer->made, read;
    const char *loss, *best, *fingerprint;
    char ours[32];
    json_int_t step, epochs[AT_STAGES] = {0}, batches[AT_STAGES] = {0}, evaluated_step, evaluated_epoch,
                     best_step, without_better;
    int ended;
    if (json_object_get(state, "data")) /* it took its fingerprint in another way */
        return refuse(trainer, "version 0.1 wrote it, and only that version can go on", "");
    if (json_unpack(state, "{s:I, s:I, s:I, s?I, s?I, s:I, s:I, s:I, s:I, s:b, s:s, s:s, s:s}", "step", &step,
                    "epoch", &epochs[0], "batch", &batches[0], "splitter_epoch", &epochs[1], "splitter_batch",
                    &batches[1], "evaluated_step", &evaluated_step, "evaluated_epoch", &evaluated_epoch,
                    "best_step", &best_step, "without_better", &without_better, "ended", &ended, "loss",
                    &loss, "best_score", &best, "fingerprint", &fingerprint) != 0)
        return refuse(trainer, "its state of training is not whole", "");
    at_checkpoint_fingerprint(trainer, ours);
    if (strcmp(fingerprint, ours) != 0)
        return refuse(trainer, "it was made from other training data, development data or vectors", "");
    read = (at_progress_made){.step = step,
                              .evaluated_step = evaluated_step,
                              .evaluated_epoch = evaluated_epoch,
                              .best_step = best_step,
                              .without_better = without_better,
                              .ended = ended};
    attn_status status = ATTN_OK;
    for (int i = 0; i < trainer->model->stage_count && status == ATTN_OK; i++) {
        trainer->courses[i].epoch = epochs[i];
        trainer->courses[i].batch = batches[i];
        if (!in_range(trainer, &trainer->courses[i], &read))
            return refuse(trainer, "its counters are out of range", "");
        status =
            attn_optimizer_set_steps(trainer->courses[i].optimizer, step * trainer->courses[i].steps_a_step);
    }
    if (!read_bits(loss, &read.loss) || !read_bits(best, &read.best_value) ||
        !read_values(trainer, state, &read))
        return refuse(trainer, "its loss or best metric is not a number that training writes", "");
    *made = read;
    return status;
}

attn_status at_checkpoint_read(attn_trainer *trainer) {
    at_safetensors *file;
    if (access(trainer->files.last, F_OK) != 0) return at_finished_read(trainer);
    attn_status status = at_safetensors_open(trainer->context, trainer->files.last, &file);
    if (status != ATTN_OK) return status;
    json_t *state = read_state(file);
    status = take_progress(trainer, state);
    for (int i = 0; i < trainer->model->stage_count && status == ATTN_OK; i++)
        status = take_tensors(trainer, &trainer->courses[i], file);
    const char *metrics = at_safetensors_metadata(file, "attn.scores");
    if (status == ATTN_OK && metrics) status = at_model_set_metrics(trainer->model, metrics);
    json_decref(state);
    at_safetensors_close(file);
    return status;
}
