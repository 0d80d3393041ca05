/* rounding.c: rounds weights to the precision of the file while a model is evaluated and saved, and restores
 * them afterwards: the metrics in a file are those of its weights, and training continues with full
 * precision.
 */
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/numbers.h"
#include "tape/host.h"
#include "tape/parameters.h"
#include "train/trainer.h"

struct at_unrounded {
    struct at_unrounded *next;
    attn_parameter *parameter;
    float *numbers; /* its value, copied */
};

static attn_status round_one(attn_context *context, attn_parameter *parameter, int bits,
                             at_unrounded **before) {
    size_t bytes = (size_t)parameter->count * sizeof(float);
    at_unrounded *kept = at_allocate(context, 1, sizeof *kept, "weights");
    float *rounded = kept ? at_allocate(context, parameter->count, sizeof *rounded, "weights") : NULL;
    if (rounded) kept->numbers = at_allocate(context, parameter->count, sizeof *rounded, "weights");
    attn_status status = rounded && kept->numbers ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    if (status == ATTN_OK) status = at_parameter_host_read(parameter, 0, parameter->count, kept->numbers);
    if (status == ATTN_OK) {
        memcpy(rounded, kept->numbers, bytes);
        status =
            at_numbers_round(context, parameter->name, parameter->rows, parameter->columns, bits, rounded);
    }
    if (status == ATTN_OK) status = at_parameter_host_write(parameter, 0, parameter->count, rounded);
    at_release(context, rounded);
    if (status == ATTN_OK) {
        *kept = (at_unrounded){*before, parameter, kept->numbers};
        *before = kept;
    } else if (kept) {
        at_release(context, kept->numbers);
        at_release(context, kept);
    }
    return status;
}

attn_status at_round_weights(attn_trainer *trainer, at_unrounded **before) {
    at_store store = at_model_store_of(trainer->model);
    attn_status status = ATTN_OK;
    *before = NULL;
    for (int s = 0; s < trainer->model->stage_count; s++) {
        const attn_parameters *parameters = trainer->model->stages[s].parameters;
        for (int64_t i = 0; i < attn_parameters_count(parameters) && status == ATTN_OK; i++) {
            attn_parameter *parameter = attn_parameters_at(parameters, i);
            int bits = at_model_bits(parameter, store);
            if (bits < 32) status = round_one(trainer->context, parameter, bits, before);
        }
    }
    return status;
}

attn_status at_unround_weights(attn_trainer *trainer, at_unrounded *before) {
    attn_status status = ATTN_OK;
    while (before) {
        at_unrounded *next = before->next;
        attn_status one =
            at_parameter_host_write(before->parameter, 0, before->parameter->count, before->numbers);
        if (status == ATTN_OK) status = one;
        at_release(trainer->context, before->numbers);
        at_release(trainer->context, before);
        before = next;
    }
    return status;
}
