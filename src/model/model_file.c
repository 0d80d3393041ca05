/* model_file.c: a model as one file, and back. docs/format.md specifies it.
 *
 * Reading trusts nothing: the configuration is checked as if typed, lists of strings are checked before they
 * are copied, and the network that the configuration describes takes each parameter from the file only with
 * its exact shape, so that no size is believed that the data does not have.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "model/model.h"

static const char format_version[] = "1";
static const char *const kind_names[] = {"class", "labels", "number"};
static const char *const list_names[AT_MODEL_LISTS] = {"text.units", "text.merges", "vectors.words",
                                                       "target.units", "target.merges"};

/* ---- writing ---- */

/* Strings without the 0 bytes that follow them in memory; what was made is kept until the file is written. */
typedef struct packed_strings {
    char *bytes;
    int64_t *offsets;
} packed_strings;

static attn_status pack_strings(attn_context *context, const at_strings *list, packed_strings *packed) {
    int64_t used = list->count ? list->offsets[list->count] : 0;
    packed->bytes = at_allocate(context, used, 1, "strings to be written");
    packed->offsets = at_allocate(context, list->count + 1, sizeof *packed->offsets, "strings to be written");
    if (!packed->bytes || !packed->offsets) return ATTN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < list->count; i++) {
        size_t length = at_string_length(list, i);
        memcpy(packed->bytes + packed->offsets[i], at_string(list, i), length);
        packed->offsets[i + 1] = packed->offsets[i] + (int64_t)length;
    }
    return ATTN_OK;
}

static attn_status store_strings(at_safetensors_writer *writer, attn_context *context, const char *name,
                                 const at_strings *list, packed_strings *packed) {
    attn_status status = pack_strings(context, list, packed);
    if (status != ATTN_OK) return status;
    char whole[64];
    int64_t count = list->count + 1, bytes = packed->offsets[list->count];
    snprintf(whole, sizeof whole, "%s.offsets", name);
    status = at_safetensors_add(writer, whole, AT_DTYPE_I64, 1, &count, packed->offsets);
    snprintf(whole, sizeof whole, "%s.bytes", name);
    if (status == ATTN_OK) status = at_safetensors_add(writer, whole, AT_DTYPE_U8, 1, &bytes, packed->bytes);
    return status;
}

static json_t *describe_output(const attn_model *model, int number) {
    const at_output *output = &model->outputs[number];
    json_t *description = json_object();
    json_object_set_new(description, "name", json_string(at_string(&model->output_names, number)));
    json_object_set_new(description, "kind", json_string(kind_names[output->kind]));
    if (output->kind == ATTN_OUTPUT_NUMBER) {
        json_object_set_new(description, "mean", json_real(output->mean));
        json_object_set_new(description, "deviation", json_real(output->deviation));
        return description;
    }
    json_t *labels = json_array();
    for (int64_t l = 0; l < output->labels.strings.count; l++)
        json_array_append_new(labels, json_string(at_string(&output->labels.strings, l)));
    json_object_set_new(description, "labels", labels);
    return description;
}

static attn_status store_outputs(const attn_model *model, at_safetensors_writer *writer) {
    json_t *list = json_array();
    for (int i = 0; i < model->output_count; i++) json_array_append_new(list, describe_output(model, i));
    json_t *all = json_object();
    json_object_set_new(all, "per_token", json_boolean(model->per_token));
    json_object_set_new(all, "outputs", list);
    char *text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17));
    attn_status status =
        text ? at_safetensors_put(writer, "attn.outputs", text)
             : at_fail(model->context, ATTN_OUT_OF_MEMORY, "no memory for the labels as JSON");
    free(text);
    json_decref(all);
    return status;
}

static attn_status store_parameters(const attn_model *model, at_safetensors_writer *writer) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < attn_parameters_count(model->parameters) && status == ATTN_OK; i++) {
        const attn_parameter *parameter = attn_parameters_at(model->parameters, i);
        attn_tensor value = attn_parameter_value(parameter);
        status = at_safetensors_add(writer, attn_parameter_name(parameter), AT_DTYPE_F32, value.rank,
                                    value.shape, value.data);
    }
    return status;
}

attn_status at_model_store(attn_model *model, at_safetensors_writer *writer, at_model_parts *parts) {
    memset(parts, 0, sizeof *parts);
    const char *config = attn_config_print(model->config);
    if (!config) return ATTN_OUT_OF_MEMORY;
    attn_status status = at_safetensors_put(writer, "attn.format", format_version);
    if (status == ATTN_OK) status = at_safetensors_put(writer, "attn.config", config);
    if (status == ATTN_OK) status = store_outputs(model, writer);
    if (status == ATTN_OK) status = at_safetensors_put(writer, "attn.scores", attn_model_scores(model));
    const at_strings *lists[AT_MODEL_LISTS] = {
        &model->text.vocabulary.strings, &model->text.subwords.merges, &model->pretrained.words.strings,
        &model->own_target.vocabulary.strings, &model->own_target.subwords.merges};
    for (int i = 0; i < AT_MODEL_LISTS && status == ATTN_OK; i++) {
        if (lists[i]->count == 0) continue;
        packed_strings packed = {0};
        status = store_strings(writer, model->context, list_names[i], lists[i], &packed);
        parts->memory[2 * i] = packed.bytes;
        parts->memory[2 * i + 1] = packed.offsets;
    }
    return status == ATTN_OK ? store_parameters(model, writer) : status;
}

void at_model_parts_free(attn_context *context, at_model_parts *parts) {
    for (int i = 0; i < 2 * AT_MODEL_LISTS; i++) at_release(context, parts->memory[i]);
    memset(parts, 0, sizeof *parts);
}

attn_status attn_model_save(attn_model *model, const char *path) {
    if (!model) return ATTN_INVALID_ARGUMENT;
    if (!path) return at_fail(model->context, ATTN_INVALID_ARGUMENT, "path is NULL");
    at_safetensors_writer *writer;
    at_model_parts parts;
    attn_status status = at_safetensors_writer_create(model->context, &writer);
    if (status != ATTN_OK) return status;
    status = at_model_store(model, writer, &parts);
    if (status == ATTN_OK) status = at_safetensors_commit(writer, path);
    at_safetensors_writer_destroy(writer);
    at_model_parts_free(model->context, &parts);
    return status;
}

/* ---- reading ---- */

static attn_status damaged(attn_context *context, const at_safetensors *file, const char *what,
                           const char *name) {
    return at_fail(context, ATTN_INVALID_ARGUMENT, "%.200s: %s%.100s", at_safetensors_name(file), what, name);
}

/* The error of a part that does not know which file it is of. */
static attn_status name_file(attn_context *context, const at_safetensors *file, attn_status status) {
    char reason[300];
    if (status != ATTN_INVALID_ARGUMENT) return status;
    snprintf(reason, sizeof reason, "%s", attn_context_error(context));
    return damaged(context, file, reason, "");
}

float *at_model_stored(void *file, const char *name, int rank, const int64_t *shape, char *reason,
                       size_t reason_bytes) {
    const at_stored *stored = at_safetensors_find(file, name);
    if (!stored) {
        snprintf(reason, reason_bytes, "the tensor %.100s is missing", name);
        return NULL;
    }
    if (stored->dtype != AT_DTYPE_F32 || (uintptr_t)stored->data % sizeof(float)) {
        snprintf(reason, reason_bytes, "the tensor %.100s is not aligned F32", name);
        return NULL;
    }
    int same = stored->rank == rank;
    for (int d = 0; same && d < rank; d++) same = stored->shape[d] == shape[d];
    if (!same) {
        snprintf(reason, reason_bytes,
                 "the tensor %.60s has another shape (%" PRId64
                 " numbers) than configuration and vocabulary say "
                 "(%" PRId64 " x ...)",
                 name, stored->count, shape[0]);
        return NULL;
    }
    return (float *)(uintptr_t)stored->data;
}

static int64_t offset_at(const at_stored *offsets, int64_t i) {
    int64_t value;
    memcpy(&value, (const char *)offsets->data + i * (int64_t)sizeof value, sizeof value);
    return value;
}

/* Calls `add` for each of a list of strings; none at all if the file does not have it. */
static attn_status load_strings(attn_context *context, const at_safetensors *file, const char *name,
                                at_strings *list) {
    char whole[64];
    snprintf(whole, sizeof whole, "%s.bytes", name);
    const at_stored *bytes = at_safetensors_find(file, whole);
    snprintf(whole, sizeof whole, "%s.offsets", name);
    const at_stored *offsets = at_safetensors_find(file, whole);
    if (!bytes && !offsets) return ATTN_OK;
    if (!bytes || !offsets || bytes->dtype != AT_DTYPE_U8 || offsets->dtype != AT_DTYPE_I64 ||
        bytes->rank != 1 || offsets->rank != 1 || offsets->count < 1 || offsets->count > INT32_MAX)
        return damaged(context, file, "is not a list of strings (U8 bytes, I64 offsets): ", name);
    int64_t before = offset_at(offsets, 0);
    if (before != 0 || offset_at(offsets, offsets->count - 1) != bytes->count)
        return damaged(context, file, "the offsets do not agree with the bytes of ", name);
    for (int64_t i = 1; i < offsets->count; i++) {
        int64_t after = offset_at(offsets, i);
        if (after < before || after > bytes->count)
            return damaged(context, file, "the offsets are not in order: ", name);
        const char *text = (const char *)bytes->data + before;
        if (memchr(text, 0, (size_t)(after - before)))
            return damaged(context, file, "a string with a 0 byte in ", name);
        attn_status status = at_strings_add(context, list, text, (size_t)(after - before));
        if (status != ATTN_OK) return status;
        before = after;
    }
    return ATTN_OK;
}

static attn_status load_vocabulary(attn_context *context, const at_safetensors *file, const char *name,
                                   int required, at_vocabulary *vocabulary) {
    at_strings list = {0};
    attn_status status = load_strings(context, file, name, &list);
    if (status == ATTN_OK && (list.count ? *at_string(&list, 0) != 0 : required))
        status = damaged(context, file, "string 0 has to be there and empty: ", name);
    for (int64_t i = 0; i < list.count && status == ATTN_OK; i++) {
        int64_t number;
        status = at_vocabulary_add(context, vocabulary, at_string(&list, i), at_string_length(&list, i), 1,
                                   &number);
        if (status == ATTN_OK && number != i) status = damaged(context, file, "a string twice in ", name);
    }
    at_strings_free(context, &list);
    return status;
}

static attn_status load_labels(attn_model *model, const at_safetensors *file, at_output *output,
                               json_t *labels) {
    size_t index;
    json_t *label;
    if (!json_is_array(labels) || json_array_size(labels) == 0)
        return damaged(model->context, file, "an output has no labels", "");
    json_array_foreach(labels, index, label) {
        int64_t number = -1;
        if (!json_is_string(label) || json_string_length(label) == 0)
            return damaged(model->context, file, "a label is not a string", "");
        attn_status status = at_vocabulary_add(model->context, &output->labels, json_string_value(label),
                                               json_string_length(label), 1, &number);
        if (status != ATTN_OK) return status;
        if (number != (int64_t)index) return damaged(model->context, file, "a label stands there twice", "");
    }
    return ATTN_OK;
}

static attn_status load_output(attn_model *model, const at_safetensors *file, int number,
                               json_t *description) {
    at_output *output = &model->outputs[number];
    json_t *name = json_object_get(description, "name"), *kind = json_object_get(description, "kind");
    if (!json_is_string(name) || !json_is_string(kind))
        return damaged(model->context, file, "an output has no name or kind", "");
    attn_status status = at_strings_add(model->context, &model->output_names, json_string_value(name),
                                        json_string_length(name));
    if (status != ATTN_OK) return status;
    for (int k = 0; k <= ATTN_OUTPUT_NUMBER; k++) {
        if (strcmp(json_string_value(kind), kind_names[k]) != 0) continue;
        output->kind = (attn_output_kind)k;
        if (k != ATTN_OUTPUT_NUMBER)
            return load_labels(model, file, output, json_object_get(description, "labels"));
        json_t *mean = json_object_get(description, "mean");
        output->mean = json_number_value(mean);
        output->deviation = json_number_value(json_object_get(description, "deviation"));
        if (json_is_number(mean) && output->deviation > 0) return ATTN_OK; /* JSON's are finite */
        return damaged(model->context, file, "an output of numbers has no mean or deviation", "");
    }
    return damaged(model->context, file, "there is no such kind of output: ", json_string_value(kind));
}

static attn_status load_outputs(attn_model *model, const at_safetensors *file, json_t *root) {
    json_t *list = json_object_get(root, "outputs"), *per_token = json_object_get(root, "per_token");
    size_t least = at_model_says_symbols(model) ? 0 : 1, most = least * 10000; /* symbols need no outputs */
    if (!json_is_array(list) || !json_is_boolean(per_token) || json_array_size(list) < least ||
        json_array_size(list) > most || (at_model_says_symbols(model) && !json_is_true(per_token)))
        return damaged(model->context, file, "attn.outputs is not as docs/format.md says", "");
    int count = (int)json_array_size(list);
    model->per_token = json_is_true(per_token);
    if ((model->values.task == AT_TASK_TAG && !model->per_token) ||
        (model->values.task == AT_TASK_CLASSIFY && model->per_token))
        return damaged(model->context, file, "attn.outputs says per_token and the task says otherwise", "");
    model->outputs = at_allocate(model->context, count, sizeof *model->outputs, "the outputs");
    if (!model->outputs) return ATTN_OUT_OF_MEMORY;
    model->output_count = count;
    attn_status status = ATTN_OK;
    for (int i = 0; i < count && status == ATTN_OK; i++)
        status = load_output(model, file, i, json_array_get(list, (size_t)i));
    if (status != ATTN_OK || model->values.scheme != AT_SCHEME_BMES) return status;
    int fits = count == 1 && model->outputs->kind == ATTN_OUTPUT_CLASS &&
               model->outputs->labels.strings.count == AT_BMES_LABELS;
    for (int64_t l = 0; fits && l < AT_BMES_LABELS; l++)
        fits = strcmp(at_string(&model->outputs->labels.strings, l), at_bmes_labels[l]) == 0;
    return fits ? ATTN_OK : damaged(model->context, file, "scheme bmes has the labels S, B, M, E", "");
}

static attn_status load_subwords(attn_context *context, const at_safetensors *file, const char *name,
                                 at_text *text) {
    at_strings merges = {0};
    attn_status status = load_strings(context, file, name, &merges);
    if (status == ATTN_OK && text->options.unit == AT_UNIT_SUBWORDS)
        status = name_file(context, file, at_subwords_load(context, &merges, &text->subwords));
    at_strings_free(context, &merges);
    return status;
}

/* The answers' own vocabulary, if they have one. */
static attn_status load_target(attn_model *model, const at_safetensors *file) {
    if (model->target != &model->own_target) return ATTN_OK;
    attn_status status =
        load_vocabulary(model->context, file, "target.units", 1, &model->own_target.vocabulary);
    if (status == ATTN_OK) status = load_subwords(model->context, file, "target.merges", &model->own_target);
    return status;
}

/* Everything in the file belongs to the model, or to the state of training. */
static attn_status check_tensors(const attn_model *model, const at_safetensors *file) {
    for (int64_t i = 0; i < at_safetensors_count(file); i++) {
        const char *name = at_safetensors_at(file, i)->name;
        int list = 0;
        for (int l = 0; l < AT_MODEL_LISTS; l++) {
            size_t length = strlen(list_names[l]);
            list |= strncmp(name, list_names[l], length) == 0 &&
                    (strcmp(name + length, ".bytes") == 0 || strcmp(name + length, ".offsets") == 0);
        }
        if (list || strncmp(name, "optimizer.", 10) == 0 || attn_parameters_find(model->parameters, name))
            continue;
        return damaged(model->context, file, "has a tensor that the configuration does not name: ", name);
    }
    return ATTN_OK;
}

static attn_status load_pretrained(attn_model *model, const at_safetensors *file) {
    attn_status status = load_vocabulary(model->context, file, "vectors.words", 0, &model->pretrained.words);
    if (status != ATTN_OK || model->pretrained.words.strings.count == 0) return status;
    const at_stored *table = at_safetensors_find(file, "vectors");
    if (!table || table->rank != 2 || table->shape[1] < 1)
        return damaged(model->context, file, "the tensor vectors is missing or not a table", "");
    model->pretrained.columns = table->shape[1];
    return ATTN_OK;
}

static attn_status load_parts(attn_model *model, at_safetensors *file) {
    json_error_t error;
    const char *text = at_safetensors_metadata(file, "attn.outputs");
    json_t *outputs = text ? json_loads(text, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (!outputs) return damaged(model->context, file, "attn.outputs is missing or not JSON", "");
    attn_status status = load_outputs(model, file, outputs);
    json_decref(outputs);
    if (status == ATTN_OK)
        status = load_vocabulary(model->context, file, "text.units", 1, &model->text.vocabulary);
    if (status == ATTN_OK) status = load_subwords(model->context, file, "text.merges", &model->text);
    if (status == ATTN_OK) status = load_target(model, file);
    if (status == ATTN_OK) status = load_pretrained(model, file);
    if (status == ATTN_OK) status = at_model_build(model, file);
    if (status == ATTN_OK) status = check_tensors(model, file);
    text = at_safetensors_metadata(file, "attn.scores");
    if (status != ATTN_OK || !text) return status;
    json_t *scores = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    int good = json_is_object(scores);
    json_decref(scores);
    if (!good) return damaged(model->context, file, "attn.scores is not a JSON object", "");
    return at_model_set_scores(model, text);
}

attn_status at_model_from_file(attn_context *context, at_safetensors *file, attn_model **model) {
    const char *version = at_safetensors_metadata(file, "attn.format");
    const char *text = at_safetensors_metadata(file, "attn.config");
    attn_model *made = NULL;
    attn_config *config = NULL;
    attn_status status;
    if (!version || !text) {
        status = damaged(context, file, "is a safetensors file but not a model of attn (no attn.config)", "");
    } else if (strcmp(version, format_version) != 0) {
        status = damaged(context, file, "is of a format that this version does not know: ", version);
    } else {
        status = attn_config_create(context, &config);
        if (status == ATTN_OK)
            status = attn_config_parse(config, at_safetensors_name(file), text, strlen(text));
        if (status == ATTN_OK) status = name_file(context, file, at_model_create(config, &made));
        attn_config_destroy(config);
    }
    if (status != ATTN_OK) {
        at_safetensors_close(file);
        return status;
    }
    made->file = file;
    status = load_parts(made, file);
    if (status != ATTN_OK) {
        attn_model_destroy(made);
        return status;
    }
    *model = made;
    return ATTN_OK;
}

attn_status attn_model_load(attn_context *context, const char *path, attn_model **model) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!path || !model) return at_fail(context, ATTN_INVALID_ARGUMENT, "path or model is NULL");
    at_safetensors *file;
    attn_status status = at_safetensors_open(context, path, &file);
    return status == ATTN_OK ? at_model_from_file(context, file, model) : status;
}

/* ---- what is in it ---- */

attn_config *attn_model_config(attn_model *model) { return model ? model->config : NULL; }
attn_parameters *attn_model_parameters(attn_model *model) { return model ? model->parameters : NULL; }
const char *attn_model_scores(const attn_model *model) {
    return model && model->scores ? model->scores : "{}";
}

attn_status at_model_set_scores(attn_model *model, const char *json) {
    char *copy = at_allocate(model->context, (int64_t)strlen(json) + 1, 1, "scores");
    if (!copy) return ATTN_OUT_OF_MEMORY;
    strcpy(copy, json);
    at_release(model->context, model->scores);
    model->scores = copy;
    return ATTN_OK;
}

int64_t attn_model_vocabulary(const attn_model *model) {
    return model ? model->text.vocabulary.strings.count : 0;
}

const char *attn_model_vocabulary_unit(const attn_model *model, int64_t index) {
    if (index < 0 || index >= attn_model_vocabulary(model)) return NULL;
    return at_string(&model->text.vocabulary.strings, index);
}

int attn_model_outputs(const attn_model *model) { return model ? model->output_count : 0; }
int attn_model_per_token(const attn_model *model) { return model ? model->per_token : 0; }

const char *attn_model_output_name(const attn_model *model, int output) {
    return output < 0 || output >= attn_model_outputs(model) ? NULL : at_string(&model->output_names, output);
}

attn_output_kind attn_model_output_kind(const attn_model *model, int output) {
    return output < 0 || output >= attn_model_outputs(model) ? ATTN_OUTPUT_CLASS
                                                             : model->outputs[output].kind;
}

int64_t attn_model_labels(const attn_model *model, int output) {
    return output < 0 || output >= attn_model_outputs(model) ? 0
                                                             : model->outputs[output].labels.strings.count;
}

const char *attn_model_label(const attn_model *model, int output, int64_t label) {
    if (label < 0 || label >= attn_model_labels(model, output)) return NULL;
    return at_string(&model->outputs[output].labels.strings, label);
}

void attn_model_reader_options(const attn_model *model, attn_reader_options *options) {
    at_config_reader(&model->values, options);
    if (at_model_says_symbols(model)) return;
    options->format = ATTN_FORMAT_AUTO;
    options->per_token = model->per_token;
}
