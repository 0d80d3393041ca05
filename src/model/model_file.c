/* model_file.c: saving and loading a model as one file. docs/format.md specifies it.
 *
 * Loading trusts nothing: the configuration is checked like user input, lists of strings are checked before
 * they are copied, and the network that the configuration describes accepts each parameter only with its
 * exact shape. So no size is used that the data does not have.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "data/json.h"
#include "data/numbers.h"
#include "data/stored.h"
#include "model/model.h"
#include "tape/parameters.h"

static const char format_version[] = "1";

/* ---- writing ---- */

/* Heads that generate are described by the configuration and their tensors; those of columns one by one. */
static attn_status store_outputs(const at_stage *stage, at_safetensors_writer *writer) {
    json_t *list = json_array(), *all = json_object();
    int bad = 0; /* jansson takes NULL for what there was no memory for, and says -1 */
    for (int i = 0; i < stage->head_count; i++) {
        const at_head *head = stage->heads[i];
        if (!head->kind->store) continue;
        json_t *description = json_object();
        bad |= json_object_set_new(description, "name", json_string(at_string(&head->name, 0)));
        bad |= json_object_set_new(description, "kind",
                                   json_string(head->kind->stored ? head->kind->stored : head->kind->name));
        bad |= head->kind->store(head, description);
        bad |= json_array_append_new(list, description);
    }
    bad |= json_object_set_new(all, "per_token", json_boolean(stage->per_row));
    bad |= json_object_set_new(all, "outputs", list);
    char *text = bad ? NULL : at_json_text(all, JSON_COMPACT | JSON_REAL_PRECISION(17)), key[64];
    snprintf(key, sizeof key, "attn.%soutputs", stage->prefix);
    attn_status status =
        text ? at_safetensors_put(writer, key, text)
             : at_fail(stage->context, ATTN_OUT_OF_MEMORY, "no memory for the labels as JSON");
    free(text);
    json_decref(all);
    return status;
}

enum { FEW = 256 }; /* numbers of a parameter that are stored in full: there is nothing to gain */

int at_model_bits(const attn_parameter *parameter, at_store store) {
    if (parameter->rank < 2 || parameter->count < FEW || store == AT_STORE_FULL) return 32;
    if (store == AT_STORE_HALF || parameter->frozen) return 16; /* vectors of others: their shape says more */
    return parameter->kind == ATTN_PARAMETER_EMBEDDING ? 6 : 8;
}

static attn_status store_parameters(const attn_parameters *parameters, at_store store,
                                    at_safetensors_writer *writer) {
    attn_status status = ATTN_OK;
    for (int64_t i = 0; i < attn_parameters_count(parameters) && status == ATTN_OK; i++) {
        const attn_parameter *parameter = attn_parameters_at(parameters, i);
        attn_tensor value = attn_parameter_value(parameter);
        float *copy;
        const float *numbers = at_host_value(at_safetensors_writer_context(writer), parameter, &copy);
        int sparse = parameter->kind == ATTN_PARAMETER_EMBEDDING && !parameter->frozen;
        status = numbers ? ATTN_OK : ATTN_OUT_OF_MEMORY;
        if (copy) status = at_safetensors_keep(writer, copy);
        if (status == ATTN_OK)
            status = at_numbers_store(writer, attn_parameter_name(parameter), value.rank, value.shape,
                                      numbers, at_model_bits(parameter, store), sparse);
    }
    return status;
}

static attn_status store_description(const at_stage *stage, at_safetensors_writer *writer) {
    const char *config = attn_config_print(stage->config);
    char key[64];
    if (!config) return ATTN_OUT_OF_MEMORY;
    snprintf(key, sizeof key, "attn.%sconfig", stage->prefix);
    attn_status status = at_safetensors_put(writer, key, config);
    return status == ATTN_OK ? store_outputs(stage, writer) : status;
}

static attn_status store_tensors(const at_stage *stage, at_store store, at_safetensors_writer *writer) {
    attn_status status = stage->input->kind->store(stage->input, stage->prefix, writer);
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++) {
        const at_head *head = stage->heads[i];
        if (head->kind->store_tensors) status = head->kind->store_tensors(head, stage->prefix, writer);
    }
    return status == ATTN_OK ? store_parameters(stage->parameters, store, writer) : status;
}

at_store at_model_store_of(const attn_model *model) {
    return (at_store)at_main_stage(model)->values.training->store;
}

attn_status at_model_store(const attn_model *model, at_store store, at_safetensors_writer *writer) {
    attn_status status = at_safetensors_put(writer, "attn.format", format_version);
    for (int s = 0; s < model->stage_count && status == ATTN_OK; s++)
        status = store_description(&model->stages[s], writer);
    if (status == ATTN_OK) status = at_safetensors_put(writer, "attn.scores", attn_model_metrics(model));
    for (int s = 0; s < model->stage_count && status == ATTN_OK; s++)
        status = store_tensors(&model->stages[s], store, writer);
    return status;
}

attn_status attn_model_save(const attn_model *model, const char *path) {
    if (!model) return ATTN_INVALID_ARGUMENT;
    if (!path) return at_fail(model->context, ATTN_INVALID_ARGUMENT, "path is NULL");
    at_safetensors_writer *writer;
    attn_status status = at_safetensors_writer_create(model->context, &writer);
    if (status != ATTN_OK) return status;
    status = at_model_store(model, at_model_store_of(model), writer);
    if (status == ATTN_OK) status = at_safetensors_commit(writer, path);
    at_safetensors_writer_destroy(writer);
    return status;
}

/* ---- reading ---- */

float *at_model_stored(void *file, const char *name, int rank, const int64_t *shape, char *reason,
                       size_t reason_bytes) {
    return at_numbers_find(file, name, rank, shape, reason, reason_bytes);
}

static attn_status load_output(at_stage *stage, const at_safetensors *file, const json_t *description) {
    const json_t *name = json_object_get(description, "name"), *kind = json_object_get(description, "kind");
    if (!json_is_string(name) || !json_is_string(kind))
        return at_damaged(stage->context, file, "an output has no name or kind", "");
    const at_head_kind *found = at_head_stored(json_string_value(kind), stage->values.output);
    if (!found)
        return at_damaged(stage->context, file, "there is no such kind of output: ", json_string_value(kind));
    attn_status status = at_stage_add_head(stage, found, json_string_value(name));
    if (status != ATTN_OK) return status;
    at_head *head = stage->heads[stage->head_count - 1];
    const char *reason = NULL;
    status = found->load(head, description, &reason);
    return status == ATTN_OK && reason ? at_damaged(stage->context, file, reason, "") : status;
}

static attn_status load_outputs(at_stage *stage, const at_safetensors *file, const json_t *root) {
    const json_t *list = json_object_get(root, "outputs"), *per_row = json_object_get(root, "per_token");
    int generates = stage->head_count > 0; /* such heads are there, and described elsewhere */
    size_t least = generates ? 0 : 1, most = least * AT_MOST_OUTPUTS;
    if (!json_is_array(list) || !json_is_boolean(per_row) || json_array_size(list) < least ||
        json_array_size(list) > most || (generates && !json_is_true(per_row)))
        return at_damaged(stage->context, file, "attn.outputs does not follow docs/format.md", "");
    stage->per_row = json_is_true(per_row);
    int wanted = stage->values.task->per_row;
    if (wanted >= 0 && wanted != stage->per_row)
        return at_damaged(stage->context, file, "per_token of attn.outputs contradicts the task", "");
    attn_status status = ATTN_OK;
    for (size_t i = 0; i < json_array_size(list) && status == ATTN_OK; i++)
        status = load_output(stage, file, json_array_get(list, i));
    return status;
}

/* What the input wants of labels that it made itself. */
static attn_status check_labels(const at_stage *stage, const at_safetensors *file) {
    if (!stage->input->kind->check_labels || stage->head_count == 0) return ATTN_OK;
    int one = stage->head_count == 1 && !stage->heads[0]->kind->several; /* a label a row */
    const char *wrong =
        stage->input->kind->check_labels(stage->input, one ? at_labels_of_head(stage->heads[0]) : NULL);
    return wrong ? at_damaged(stage->context, file, wrong, "") : ATTN_OK;
}

attn_status at_stage_load(at_stage *stage, const at_safetensors *file) {
    json_error_t error;
    char key[64];
    snprintf(key, sizeof key, "attn.%soutputs", stage->prefix);
    const char *text = at_safetensors_metadata(file, key);
    json_t *outputs = text ? json_loads(text, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (!outputs) return at_damaged(stage->context, file, key, " is missing or not JSON");
    attn_status status = load_outputs(stage, file, outputs);
    json_decref(outputs);
    if (status == ATTN_OK) status = check_labels(stage, file);
    if (status == ATTN_OK) status = stage->input->kind->load(stage->input, stage->prefix, file);
    for (int i = 0; i < stage->head_count && status == ATTN_OK; i++) {
        at_head *head = stage->heads[i];
        if (head->kind->load_tensors) status = head->kind->load_tensors(head, stage->prefix, file);
    }
    return status;
}

static const char splitter_config[] = "attn.splitter.config";

int at_model_has_splitter(const at_safetensors *file) {
    return file && at_safetensors_metadata(file, splitter_config);
}

attn_status at_model_load_splitter(attn_model *model, const at_safetensors *file) {
    attn_config *config = NULL;
    if (!at_model_has_splitter(file)) return ATTN_OK;
    attn_status status = at_config_stored(model->context, at_safetensors_name(file),
                                          at_safetensors_metadata(file, splitter_config), &config);
    if (status == ATTN_OK) status = at_name_file(model->context, file, at_model_add_splitter(model, config));
    attn_config_destroy(config);
    if (status != ATTN_OK) return status;
    at_stage *splitter = at_splitter_stage(model);
    const at_input_kind *kind = splitter->input->kind;
    if (kind != at_main_stage(model)->input->kind || !kind->splits || !kind->splits(splitter->input))
        return at_damaged(model->context, file, "attn.splitter.config is not that of a splitter of ",
                          at_main_stage(model)->input->kind->name);
    return at_stage_load(splitter, file);
}

static attn_status load_parts(attn_model *model, at_safetensors *file) {
    json_error_t error;
    attn_status status = at_stage_load(at_main_stage(model), file);
    if (status == ATTN_OK) status = at_model_load_splitter(model, file);
    if (status == ATTN_OK) status = at_model_build(model, file);
    if (status != ATTN_OK) return status;
    const char *unused = at_safetensors_unused(file, "optimizer."); /* the state of training */
    if (unused)
        return at_damaged(model->context, file,
                          "has a tensor that the configuration does not name: ", unused);
    const char *text = at_safetensors_metadata(file, "attn.scores");
    if (!text) return ATTN_OK;
    json_t *metrics = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    int good = json_is_object(metrics);
    json_decref(metrics);
    if (!good) return at_damaged(model->context, file, "attn.scores is not a JSON object", "");
    return at_model_set_metrics(model, text);
}

attn_status at_model_from_file(attn_context *context, at_safetensors *file, attn_model **model) {
    const char *version = at_safetensors_metadata(file, "attn.format");
    const char *text = at_safetensors_metadata(file, "attn.config");
    attn_model *made = NULL;
    attn_config *config = NULL;
    attn_status status;
    if (!version || !text) {
        status =
            at_damaged(context, file, "is a safetensors file but not a model of attn (no attn.config)", "");
    } else if (strcmp(version, format_version) != 0) {
        status = at_damaged(context, file, "is of a format that this version does not know: ", version);
    } else {
        status = at_config_stored(context, at_safetensors_name(file), text, &config);
        if (status == ATTN_OK) status = at_name_file(context, file, at_model_create(config, &made));
        attn_config_destroy(config);
    }
    if (status != ATTN_OK) {
        at_safetensors_close(file);
        return status;
    }
    made->file = file;
    at_numbers_describe(file, made->storage, sizeof made->storage);
    status = load_parts(made, file);
    if (status == ATTN_OK) status = at_model_pack(made);
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

attn_config *attn_model_config(const attn_model *model) {
    return model ? at_main_stage(model)->config : NULL;
}
attn_parameters *attn_model_parameters(const attn_model *model) {
    return model ? at_main_stage(model)->parameters : NULL;
}
attn_parameters *attn_model_splitter(const attn_model *model) {
    return model && at_splitter_stage(model) ? at_splitter_stage(model)->parameters : NULL;
}
const char *attn_model_task(const attn_model *model) {
    return model ? at_main_stage(model)->values.task->name : NULL;
}
const char *attn_model_input(const attn_model *model) {
    return model ? at_main_stage(model)->input->kind->name : NULL;
}
uint64_t attn_model_fingerprint(const attn_model *model) {
    return model && model->file ? at_safetensors_fingerprint(model->file) : 0;
}
const char *attn_model_storage(const attn_model *model) { return model ? model->storage : NULL; }
const char *attn_model_metrics(const attn_model *model) {
    return model && model->metrics ? model->metrics : "{}";
}

/* ---- metrics ---- */

static attn_status add_metric(attn_model *model, const char *name, const json_t *value) {
    attn_context *context = model->context;
    int64_t count = model->metric_values.count;
    char text[64];
    at_model_metric metric = {json_is_number(value) ? json_number_value(value) : NAN, json_is_integer(value)};
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, sizeof text, "%.9g", json_real_value(value));
    else
        snprintf(text, sizeof text, "%s",
                 json_is_true(value)    ? "true"
                 : json_is_false(value) ? "false"
                                        : "null");
    const char *shown = json_is_string(value) ? json_string_value(value) : text;
    attn_status status = at_grow(context, &model->metric_list, &model->metric_room, count + 1,
                                 sizeof *model->metric_list, "metrics");
    if (status == ATTN_OK) status = at_strings_add(context, &model->metric_names, name, strlen(name));
    if (status == ATTN_OK) status = at_strings_add(context, &model->metric_values, shown, strlen(shown));
    if (status == ATTN_OK) model->metric_list[count] = metric;
    return status;
}

/* All values in a value; those of a list have the name of the list. A file is no deeper than jansson reads.
 */
static attn_status add_metrics(attn_model *model, const char *name, json_t *value) {
    const char *key;
    json_t *inner;
    size_t index;
    attn_status status = ATTN_OK;
    if (json_is_object(value)) {
        json_object_foreach(value, key, inner) {
            if (status == ATTN_OK) status = add_metrics(model, key, inner);
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, index, inner) {
            if (status == ATTN_OK) status = add_metrics(model, name, inner);
        }
    } else {
        status = add_metric(model, name, value);
    }
    return status;
}

attn_status at_model_set_metrics(attn_model *model, const char *json) {
    json_error_t error;
    json_t *parsed = json_loads(json, JSON_REJECT_DUPLICATES, &error);
    if (!parsed)
        return at_fail(model->context, ATTN_INVALID_ARGUMENT, "the metrics are not JSON: %s", error.text);
    at_strings_clear(&model->metric_names);
    at_strings_clear(&model->metric_values);
    attn_status status = add_metrics(model, "", parsed);
    json_decref(parsed);
    if (status != ATTN_OK) return status;
    char *copy = at_allocate(model->context, (int64_t)strlen(json) + 1, 1, "metrics");
    if (!copy) return ATTN_OUT_OF_MEMORY;
    strcpy(copy, json);
    at_release(model->context, model->metrics);
    model->metrics = copy;
    return ATTN_OK;
}

int attn_model_metric_at(const attn_model *model, int64_t index, attn_model_metric_text *metric) {
    if (!model || !metric || index < 0 || index >= model->metric_values.count) return 0;
    *metric = (attn_model_metric_text){at_string(&model->metric_names, index),
                                       at_string(&model->metric_values, index),
                                       model->metric_list[index].number, model->metric_list[index].whole};
    return 1;
}

double attn_model_metric(const attn_model *model, const char *name) {
    attn_model_metric_text metric;
    for (int64_t i = 0; name && attn_model_metric_at(model, i, &metric); i++)
        if (strcmp(metric.name, name) == 0 && !isnan(metric.number)) return metric.number;
    return NAN;
}

/* ---- networks and outputs ---- */

int attn_model_networks(const attn_model *model) { return model ? at_main_stage(model)->network_count : 0; }
const char *attn_model_network(const attn_model *model, int index) {
    return index < 0 || index >= attn_model_networks(model) ? NULL
                                                            : at_main_stage(model)->networks[index].name;
}

int64_t attn_model_vocabulary(const attn_model *model) {
    const at_input *input = model ? at_main_stage(model)->input : NULL;
    return input && input->kind->vocabulary ? input->kind->vocabulary(input) : 0;
}

const char *attn_model_vocabulary_unit(const attn_model *model, int64_t index) {
    if (index < 0 || index >= attn_model_vocabulary(model)) return NULL;
    return at_main_stage(model)->input->kind->vocabulary_unit(at_main_stage(model)->input, index);
}

static const at_head *head_at(const attn_model *model, int output) {
    if (!model || output < 0 || output >= at_main_stage(model)->head_count) return NULL;
    return at_main_stage(model)->heads[output];
}

int attn_model_outputs(const attn_model *model) { return model ? at_main_stage(model)->head_count : 0; }
int64_t attn_model_longest(const attn_model *model) {
    return model ? at_main_stage(model)->forward.longest : 0;
}

int64_t attn_model_most(const attn_model *model) {
    const at_stage *stage = model ? at_main_stage(model) : NULL;
    return !stage ? 0 : stage->per_row ? stage->forward.longest : stage->forward.most;
}
int attn_model_per_token(const attn_model *model) { return model ? at_main_stage(model)->per_row : 0; }

const char *attn_model_output_name(const attn_model *model, int output) {
    const at_head *head = head_at(model, output);
    return head ? at_string(&head->name, 0) : NULL;
}

const char *attn_model_output_kind(const attn_model *model, int output) {
    const at_head *head = head_at(model, output);
    return head ? head->kind->name : NULL;
}

int attn_model_output_several(const attn_model *model, int output) {
    const at_head *head = head_at(model, output);
    return head ? head->kind->several : 0;
}

int64_t attn_model_labels(const attn_model *model, int output) {
    const at_head *head = head_at(model, output);
    const at_strings *labels = head ? at_labels_of_head(head) : NULL;
    return labels ? labels->count : 0;
}

const char *attn_model_label(const attn_model *model, int output, int64_t label) {
    if (label < 0 || label >= attn_model_labels(model, output)) return NULL;
    return at_string(at_labels_of_head(head_at(model, output)), label);
}

double attn_model_temperature(const attn_model *model, int output) {
    const at_head *head = head_at(model, output);
    return head ? at_temperature_of_head(head) : NAN;
}

int64_t attn_model_symbols(const attn_model *model) {
    const at_head *head = head_at(model, 0);
    const at_symbols *symbols = head ? at_symbols_of_head(head) : NULL;
    return symbols ? symbols->vocabulary.strings.count : 0;
}

const char *attn_model_symbol(const attn_model *model, int64_t index) {
    if (index < 0 || index >= attn_model_symbols(model)) return NULL;
    return at_string(&at_symbols_of_head(head_at(model, 0))->vocabulary.strings, index);
}

void attn_model_reader_options_sized(const attn_model *model, attn_reader_options *options, size_t size) {
    if (!model || !options) return;
    attn_reader_options own;
    const at_stage *stage = at_main_stage(model);
    at_config_reader(&stage->values, &own);
    const at_task *task = stage->values.task;
    if (!task->format || task->other_format) {
        own.usual = own.format;
        own.format = ATTN_FORMAT_AUTO;
        if (!task->format) own.per_token = stage->per_row;
    }
    at_options_give(options, size, &own, sizeof own);
}
