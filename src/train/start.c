/* start.c: training that starts from a model: vocabulary, labels and weights are the model's, the optimiser
 * and the schedule are new.
 *
 * A resumed run takes all of it from its .last file: the model may have been removed or changed since.
 */
#define _POSIX_C_SOURCE 200809L /* access */
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "tape/parameters.h"
#include "train/trainer.h"

static attn_status refuse(attn_trainer *trainer, const char *what, const char *detail) {
    return at_fail(trainer->context, ATTN_INVALID_ARGUMENT, "%.200s: training cannot start from it: %s%.200s",
                   at_safetensors_name(trainer->model->file), what, detail);
}

static int ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length >= tail && strcmp(name + length - tail, ending) == 0;
}

/* How it is read and how it is trained may be another; what the network is, and what a row is, may not. */
static int matters(const attn_trainer *trainer, const char *name) {
    (void)trainer;
    return strncmp(name, "training.", 9) != 0 && strncmp(name, "reader.", 7) != 0 &&
           !ends_with(name, "dropout") && !ends_with(name, ".smoothing") && !ends_with(name, ".balance") &&
           !ends_with(name, ".calibrate");
}

attn_status at_start_open(attn_trainer *trainer) {
    const attn_trainer_options *options = &trainer->options;
    const char *path = options->more ? options->output : options->start;
    char difference[AT_DIFFERENCE_BYTES], last[4096];
    if (!path) return ATTN_OK;
    if (options->resume && options->output && /* ranks that write no files read this one, too */
        attn_trainer_last_path(trainer->context, options->output, last, sizeof last) == ATTN_OK &&
        access(last, F_OK) == 0) {
        path = last;
        trainer->resumes = 1;
    }
    attn_status status = at_safetensors_open(trainer->context, path, &trainer->model->file);
    if (status != ATTN_OK) return status;
    status = at_checkpoint_compare(trainer, trainer->model->file, matters, difference);
    if (status == ATTN_OK && *difference) status = refuse(trainer, "", difference);
    at_main_course(trainer)->loaded = 1;
    const at_stage *stage = at_main_stage(trainer->model);
    if (status == ATTN_OK) status = at_stage_load(at_main_stage(trainer->model), trainer->model->file);
    /* Those of the model are no longer right after the first step. */
    for (int i = 0; i < stage->head_count; i++) at_head_reset_temperature(stage->heads[i]);
    return status;
}

static attn_status take_weights(attn_trainer *trainer, const attn_parameters *parameters) {
    at_safetensors *file = trainer->model->file;
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < attn_parameters_count(parameters) && status == ATTN_OK; i++) {
        attn_parameter *parameter = attn_parameters_at(parameters, i);
        attn_tensor value = attn_parameter_value(parameter);
        char reason[256];
        const float *stored = at_model_stored(file, attn_parameter_name(parameter), value.rank, value.shape,
                                              reason, sizeof reason);
        if (stored)
            status = at_parameter_host_write(parameter, 0, parameter->count, stored);
        else
            status = *reason ? refuse(trainer, "", reason) : ATTN_OUT_OF_MEMORY;
    }
    return status;
}

attn_status at_start_weights(attn_trainer *trainer) {
    attn_status status = ATTN_OK;
    for (int i = 0; i < trainer->model->stage_count && status == ATTN_OK; i++)
        if (trainer->courses[i].loaded) status = take_weights(trainer, trainer->courses[i].stage->parameters);
    const char *unused = at_safetensors_unused(trainer->model->file, "optimizer.");
    if (status == ATTN_OK && unused)
        status = refuse(trainer, "it has a tensor that the configuration does not name: ", unused);
    return status;
}

attn_status at_start_value(attn_trainer *trainer) {
    double values[AT_MOST_METRICS];
    attn_status status = at_trainer_evaluate(trainer, AT_EFFORT_DEVELOPMENT, values);
    if (status == ATTN_OK) at_metric_keep(trainer, values, 1);
    return status;
}
