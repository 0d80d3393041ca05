/* finish.c: the end of a finished run.
 *
 * The model is calibrated (calibrate.c) and then marked as finished in its metrics: {..., "run": {"end":
 * "finished", "last_step": 300, "data": "FINGERPRINT"}}. This is written before the .last file is removed, so
 * that at any moment there is either a file to continue from or a finished model.
 */
#define _POSIX_C_SOURCE 200809L /* access */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "data/replace.h"
#include "train/trainer.h"

/* ---- telling ---- */

/* The metrics of the development data, of the model with its temperatures; 0, or -1 without memory. */
static int put_metrics(const attn_report *report, json_t *all) {
    json_t *metrics = json_object_get(all, "dev");
    int bad = 0;
    for (int i = 0; metrics && i < attn_report_metrics(report); i++) {
        const char *name = attn_report_metric_name(report, i);
        double value = attn_report_metric(report, name);
        if (isfinite(value)) bad |= json_object_set_new(metrics, name, json_real(value));
    }
    return bad;
}

/* The metrics with how the run ended, from malloc; NULL without memory. */
static char *marked(const attn_trainer *trainer, const char *stored) {
    char data[32];
    json_error_t error;
    at_checkpoint_fingerprint(trainer, data);
    json_t *all = json_loads(stored, 0, &error);
    json_t *run = json_pack("{s:s, s:I, s:s}", "end", trainer->made.ended ? "patience" : "finished",
                            "last_step", (json_int_t)trainer->made.step, "data", data);
    char *text = NULL;
    if (all && run && put_metrics(trainer->report, all) == 0 && json_object_set(all, "run", run) == 0 &&
        json_object_set_new(all, "steps", json_integer(trainer->steps_total)) == 0)
        text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(all);
    json_decref(run);
    return text;
}

/* The steps that the run had in the end, and their timetable: the model may be of before they were known. */
static attn_status set_steps(const attn_trainer *trainer, attn_model *model) {
    static const char *const names[] = {"training.steps", "training.timetable"};
    attn_status status = ATTN_OK;
    for (int i = 0; i < 2 && status == ATTN_OK && trainer->timetable.count > 0; i++)
        status = attn_config_set(at_main_stage(model)->config, names[i],
                                 attn_config_get(trainer->config, names[i]));
    return status;
}

/* Calibrates a model, which then says that it is finished. */
static attn_status conclude(attn_trainer *trainer, attn_model *model) {
    attn_status status = at_calibrate(trainer, model);
    if (status != ATTN_OK) return status;
    char *text = marked(trainer, attn_model_metrics(model));
    status = text ? at_model_set_metrics(model, text)
                  : at_fail(trainer->context, ATTN_OUT_OF_MEMORY, "no memory for metrics as JSON");
    free(text);
    if (status == ATTN_OK) status = set_steps(trainer, model);
    return status == ATTN_OK ? attn_model_save(model, trainer->files.model) : status;
}

static attn_status mark(attn_trainer *trainer) {
    attn_model *model;
    attn_status status = attn_model_load(trainer->context, trainer->files.model, &model);
    if (status != ATTN_OK) return status;
    char *text = marked(trainer, attn_model_metrics(model));
    if (!text)
        status = at_fail(trainer->context, ATTN_OUT_OF_MEMORY, "no memory for metrics as JSON");
    else if (strcmp(text, attn_model_metrics(model)) != 0) /* else it was said before */
        status = conclude(trainer, model);
    free(text);
    attn_model_destroy(model);
    return status;
}

attn_status at_finish(attn_trainer *trainer) {
    if (!trainer->files.model) return ATTN_OK;
    /* A model that became no better is as it was before. */
    int replaced = !trainer->options.more || trainer->made.best_step > 0;
    attn_status status = replaced ? mark(trainer) : ATTN_OK;
    if (status != ATTN_OK || trainer->options.keep_last) return status;
    return at_replace_remove(trainer->context, trainer->files.last);
}

/* ---- being told ---- */

static attn_status refuse(attn_trainer *trainer, const char *what, const char *detail) {
    return at_checkpoint_refuse(trainer, trainer->files.model, what, detail);
}

/* What the model says of its run: NULL, or to be given back with json_decref. */
static attn_status read_metrics(attn_trainer *trainer, at_safetensors *file, json_t **stored) {
    json_error_t error;
    const char *text = at_safetensors_metadata(file, "attn.scores"), *end, *data;
    char ours[32], difference[AT_DIFFERENCE_BYTES];
    json_int_t last_step;
    *stored = text ? json_loads(text, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (json_unpack(*stored, "{s:{s:s, s:I, s:s}}", "run", "end", &end, "last_step", &last_step, "data",
                    &data) != 0)
        return refuse(trainer,
                      "there is no .last file beside it, and it does not say that its run came to its end",
                      "");
    attn_status status = at_checkpoint_compare(trainer, file, at_checkpoint_matters, difference);
    if (status != ATTN_OK) return status;
    if (*difference) return refuse(trainer, "", difference);
    at_checkpoint_fingerprint(trainer, ours);
    if (strcmp(data, ours) != 0)
        return refuse(trainer, "it was made from other training data, development data or vectors", "");
    return ATTN_OK;
}

/* Opens the model, and reads what it says. */
static attn_status open_finished(attn_trainer *trainer, json_t **stored) {
    at_safetensors *file;
    *stored = NULL;
    attn_status status = at_safetensors_open(trainer->context, trainer->files.model, &file);
    if (status != ATTN_OK) return status;
    status = read_metrics(trainer, file, stored);
    at_safetensors_close(file);
    return status;
}

attn_status at_finished_steps(attn_trainer *trainer, int64_t *steps) {
    json_t *stored;
    if (trainer->options.more || access(trainer->files.model, F_OK) != 0) return ATTN_OK;
    attn_status status = open_finished(trainer, &stored);
    if (status == ATTN_OK) {
        *steps = json_integer_value(json_object_get(stored, "steps"));
        if (*steps < 1) status = refuse(trainer, "it does not say how many steps its run had", "");
    }
    json_decref(stored);
    return status;
}

attn_status at_finished_read(attn_trainer *trainer) {
    json_t *stored;
    attn_status status = open_finished(trainer, &stored);
    if (status == ATTN_OK) {
        const json_t *run = json_object_get(stored, "run"), *value = json_object_get(stored, "score");
        trainer->made = (at_progress_made){
            .step = json_integer_value(json_object_get(run, "last_step")),
            .best_step = json_integer_value(json_object_get(stored, "step")),
            .best_value = json_is_number(value) ? json_number_value(value) : NAN,
            .loss = NAN,
            .ended = strcmp(json_string_value(json_object_get(run, "end")), "patience") == 0,
        };
        if (!trainer->made.ended) trainer->made.step = trainer->steps_total;
    }
    json_decref(stored);
    return status;
}
