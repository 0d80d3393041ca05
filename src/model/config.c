/* config.c: reads, checks and prints configurations, through the tables of their parts.
 *
 * A value that was set keeps that value. The others get their defaults when they are read, because defaults
 * depend on the task, the kind of input and other values, which may be set later.
 */
#include "model/config.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/options.h"
#include "data/plan.h"

/* The parts in the order in which they are printed. Kinds of input stand between reading and the encoder. */
enum { TASK_PART, READING_PART, FIRST_INPUT_PART, OTHER_PARTS = 4, MOST_PARTS = 32 };

static int encoder_part(void) { return FIRST_INPUT_PART + at_input_count(); }
static int part_count(void) { return encoder_part() + OTHER_PARTS; }

static const at_fields *part_at(int part) {
    const at_fields *const others[OTHER_PARTS] = {&at_encoder_fields, &at_sequence_fields, &at_output_fields,
                                                  &at_training_fields};
    if (part == TASK_PART) return &at_task_fields;
    if (part == READING_PART) return &at_reading_fields;
    if (part < encoder_part()) return &at_input_at(part - FIRST_INPUT_PART)->fields;
    return others[part - encoder_part()];
}

struct attn_config {
    attn_context *context;
    void *values[MOST_PARTS];
    unsigned char *given;           /* [attn_config_count()] */
    int filled;                     /* values that were not given have their defaults */
    char text[AT_FIELD_TEXT_BYTES]; /* of attn_config_get */
    char *printed;                  /* of attn_config_print */
    int64_t printed_room;
};

/* ---- fields by number ---- */

int attn_config_count(void) {
    int count = 0;
    for (int p = 0; p < part_count(); p++) count += part_at(p)->count;
    return count;
}

/* The field of a number, and its part; NULL out of range. */
static const at_field *field_at(int index, int *part) {
    for (*part = 0; index >= 0 && *part < part_count(); index -= part_at((*part)++)->count)
        if (index < part_at(*part)->count) return &part_at(*part)->list[index];
    return NULL;
}

static int find(const char *name) {
    int index = 0, parts = part_count();
    for (int p = 0; p < parts; p++) {
        const at_fields *fields = part_at(p);
        for (int i = 0; i < fields->count; i++, index++)
            if (strcmp(fields->list[i].name, name) == 0) return index;
    }
    return -1;
}

const char *attn_config_name(int index) {
    int part;
    const at_field *field = field_at(index, &part);
    return field ? field->name : NULL;
}

const char *attn_config_help(int index) {
    int part;
    const at_field *field = field_at(index, &part);
    return field ? field->help : NULL;
}

const char *attn_config_choice(int index, int choice) {
    int part;
    const at_field *field = field_at(index, &part);
    if (!field || !field->choices || choice < 0) return NULL;
    for (int c = 0; c < choice; c++) {
        if (!field->choices[c]) return NULL;
    }
    return field->choices[choice];
}

/* Whether a part before has a flag of this name: kinds of input share those that mean the same. */
static int had_before(int part, const char *flag) {
    for (int p = 0; p < part; p++)
        for (int f = 0; f < part_at(p)->flag_count; f++)
            if (strcmp(part_at(p)->flags[f].flag, flag) == 0) return 1;
    return 0;
}

int attn_config_flag(int index, attn_config_flag_text *flag) {
    if (!flag || index < 0) return 0;
    for (int p = 0; p < part_count(); p++) {
        for (int f = 0; f < part_at(p)->flag_count; f++) {
            const at_flag *found = &part_at(p)->flags[f];
            if (had_before(p, found->flag) || index-- > 0) continue;
            *flag = (attn_config_flag_text){found->flag, found->name, found->value, found->help};
            return 1;
        }
    }
    return 0;
}

/* ---- a configuration ---- */

attn_status attn_config_create(attn_context *context, attn_config **config) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!config) return at_fail(context, ATTN_INVALID_ARGUMENT, "config is NULL");
    attn_config *made = at_allocate(context, 1, sizeof *made, "a configuration");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    made->given = at_allocate(context, attn_config_count(), 1, "a configuration");
    int whole = made->given != NULL;
    for (int p = 0; p < part_count() && whole; p++) {
        made->values[p] = at_allocate(context, 1, part_at(p)->bytes, "a configuration");
        whole = made->values[p] != NULL;
    }
    if (!whole) {
        attn_config_destroy(made);
        return ATTN_OUT_OF_MEMORY;
    }
    *config = made;
    return ATTN_OK;
}

void attn_config_destroy(attn_config *config) {
    if (!config) return;
    for (int p = 0; p < part_count(); p++) at_release(config->context, config->values[p]);
    at_release(config->context, config->given);
    at_release(config->context, config->printed);
    at_release(config->context, config);
}

attn_context *at_config_context(const attn_config *config) { return config->context; }

static void copy_values(const attn_config *from, attn_config *to) {
    for (int p = 0; p < part_count(); p++) memcpy(to->values[p], from->values[p], part_at(p)->bytes);
    memcpy(to->given, from->given, (size_t)attn_config_count());
    to->filled = 0;
}

attn_status at_config_copy(attn_config *config, attn_config **copy) {
    attn_status status = attn_config_create(config->context, copy);
    if (status == ATTN_OK) copy_values(config, *copy);
    return status;
}

/* ---- one value ---- */

static attn_status unknown_name(attn_context *context, const char *name) {
    const char *best = NULL;
    int distance = 4;
    for (int i = 0; i < attn_config_count(); i++) {
        const char *known = attn_config_name(i), *last = strchr(known, '.');
        int whole = at_name_distance(name, known);
        int part = last ? at_name_distance(name, last + 1) : 99; /* the group was left out */
        int nearest = whole < part ? whole : part;
        if (nearest >= distance) continue;
        distance = nearest;
        best = known;
    }
    if (!best) return at_fail(context, ATTN_INVALID_ARGUMENT, "there is no value \"%.100s\"", name);
    return at_fail(context, ATTN_INVALID_ARGUMENT, "there is no value \"%.100s\"; did you mean %s?", name,
                   best);
}

static attn_status set_value(attn_config *config, int index, const char *value) {
    int part;
    const at_field *field = field_at(index, &part);
    return at_field_set(config->context, field, config->values[part], value);
}

static void write_value(const attn_config *config, int index, char *text) {
    int part;
    const at_field *field = field_at(index, &part);
    at_field_write(field, config->values[part], text);
}

static const at_input_kind *input_of(const attn_config *config) {
    char name[AT_FIELD_TEXT_BYTES];
    write_value(config, find("input"), name);
    return at_input_find(*name ? name : at_input_at(0)->name);
}

attn_status attn_config_set(attn_config *config, const char *name, const char *value) {
    if (!config) return ATTN_INVALID_ARGUMENT;
    if (!name || !value) return at_fail(config->context, ATTN_INVALID_ARGUMENT, "name or value is NULL");
    char own[AT_FIELD_TEXT_BYTES];
    const at_input_kind *input = strncmp(name, "*.", 2) == 0 ? input_of(config) : NULL;
    if (input) { /* a value of the kind of input that is configured */
        snprintf(own, sizeof own, "%.60s%.100s", input->name, name + 1);
        if (find(own) < 0)
            return at_fail(config->context, ATTN_INVALID_ARGUMENT, "input %s has no value \"%.60s\"",
                           input->name, name + 2);
        name = own;
    }
    int index = find(name);
    if (index < 0) return unknown_name(config->context, name);
    attn_status status = set_value(config, index, value);
    if (status != ATTN_OK) return status;
    config->given[index] = 1;
    config->filled = 0;
    return status;
}

/* ---- defaults, and values that exclude each other ---- */

/* Whether a rule counts: see at_default. */
static int applies(const attn_config *config, const at_default *rule, const char *task, int64_t examples) {
    char name[AT_FIELD_TEXT_BYTES], value[AT_FIELD_TEXT_BYTES];
    if ((rule->task && strcmp(rule->task, task) != 0) || examples < rule->examples) return 0;
    if (!rule->when) return 1;
    size_t length = strcspn(rule->when, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, rule->when);
    write_value(config, find(name), value);
    return strcmp(value, rule->when + length + 1) == 0;
}

/* Who says how attention is to be means attention, whatever the default of the task. */
static int means_attention(const attn_config *config) {
    static const char *const names[] = {"encoder.heads", "encoder.position", "encoder.left", "encoder.right"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (config->given[find(names[i])]) return 1;
    return 0;
}

/* Once, until a value is set again: that of a model is read by its predictors, in any number of threads. */
static attn_status fill_defaults(attn_config *config) {
    attn_status status = ATTN_OK;
    if (config->filled) return ATTN_OK;
    int part;
    const at_field *field;
    for (int i = 0; (field = field_at(i, &part)) && status == ATTN_OK; i++)
        if (!config->given[i])
            status = at_field_set(config->context, field, config->values[part], field->initial);
    if (status == ATTN_OK && !config->given[find("input")])
        status = set_value(config, find("input"), at_input_at(0)->name);
    const at_input_kind *input = input_of(config);
    char task[AT_FIELD_TEXT_BYTES], examples[AT_FIELD_TEXT_BYTES];
    write_value(config, find("task"), task);
    write_value(config, find("training.examples"), examples);
    for (int d = 0; input && d < input->default_count && status == ATTN_OK; d++) {
        const at_default *rule = &input->defaults[d];
        if (!applies(config, rule, task, strtoll(examples, NULL, 10))) continue;
        int index = find(rule->name);
        if (config->given[index] || (index == find("encoder.kind") && means_attention(config))) continue;
        status = set_value(config, index, rule->value);
    }
    /* Who says how many epochs means it. */
    if (config->given[find("training.epochs")] && !config->given[find("training.least_steps")])
        ((at_training_values *)config->values[encoder_part() + 3])->least_steps = 0;
    config->filled = status == ATTN_OK;
    return status;
}

/* Whether the values of a part are those of another kind of input than ours. */
static int of_another(int part, const at_input_kind *ours) {
    return part >= FIRST_INPUT_PART && part < encoder_part() && at_input_at(part - FIRST_INPUT_PART) != ours;
}

/* A value that would change nothing was meant for something else. */
static attn_status check_given(const attn_config *config, const at_input_kind *input) {
    int part;
    const at_field *field;
    for (int i = 0; (field = field_at(i, &part)); i++)
        if (config->given[i] && of_another(part, input))
            return at_fail(config->context, ATTN_INVALID_ARGUMENT, "%s is for input %s; this is input %s",
                           field->name, at_input_at(part - FIRST_INPUT_PART)->name, input->name);
    return ATTN_OK;
}

attn_status at_config_values(attn_config *config, at_config *values) {
    attn_context *context = config->context;
    attn_status status = fill_defaults(config);
    if (status != ATTN_OK) return status;
    int task;
    memcpy(&task, config->values[TASK_PART], sizeof task);
    const at_input_kind *input = input_of(config);
    if (!input) {
        char name[AT_FIELD_TEXT_BYTES], list[256] = "";
        write_value(config, find("input"), name);
        for (int i = 0; i < at_input_count(); i++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "",
                     at_input_at(i)->name);
        return at_fail(context, ATTN_INVALID_ARGUMENT, "input is \"%.60s\"; it can be: %s", name, list);
    }
    int input_part = FIRST_INPUT_PART;
    while (at_input_at(input_part - FIRST_INPUT_PART) != input) input_part++;
    void *const *others = config->values + encoder_part();
    *values = (at_config){.task = at_task_at(task),
                          .input = input,
                          .input_values = config->values[input_part],
                          .reading = config->values[READING_PART],
                          .encoder = others[0],
                          .sequence = others[1],
                          .output = others[2],
                          .training = others[3]};
    status = check_given(config, input);
    if (status == ATTN_OK) status = at_config_check(context, values);
    return status;
}

const char *attn_config_get(attn_config *config, const char *name) {
    int index = config && name ? find(name) : -1;
    if (index < 0 || fill_defaults(config) != ATTN_OK) return "";
    write_value(config, index, config->text);
    return config->text;
}

int attn_config_given(const attn_config *config, int index) {
    return config && index >= 0 && index < attn_config_count() && config->given[index];
}

/* ---- JSON ---- */

static attn_status append(attn_config *config, int64_t *used, const char *text) {
    int64_t length = (int64_t)strlen(text);
    attn_status status = at_grow(config->context, &config->printed, &config->printed_room, *used + length + 1,
                                 1, "a configuration as text");
    if (status != ATTN_OK) return status;
    memcpy(config->printed + *used, text, (size_t)length + 1);
    *used += length;
    return ATTN_OK;
}

static attn_status append_field(attn_config *config, int64_t *used, int index, const at_field *field) {
    char value[AT_FIELD_TEXT_BYTES];
    write_value(config, index, value);
    if (field->kind != AT_FIELD_CHOICE && field->kind != AT_FIELD_TEXT) return append(config, used, value);
    json_t *string = json_string(value);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    attn_status status =
        quoted ? append(config, used, quoted)
               : at_fail(config->context, ATTN_INVALID_ARGUMENT, "%s is not UTF-8", field->name);
    free(quoted);
    json_decref(string);
    return status;
}

const char *attn_config_print(attn_config *config) {
    if (!config || fill_defaults(config) != ATTN_OK) return NULL;
    int64_t used = 0;
    size_t group = 0; /* length of the group's name that is open */
    const char *opened = "";
    attn_status status = append(config, &used, "{");
    const at_input_kind *input = input_of(config);
    const at_field *field;
    int part;
    for (int i = 0; (field = field_at(i, &part)) && status == ATTN_OK; i++) {
        if (of_another(part, input)) continue;
        const char *dot = strchr(field->name, '.');
        size_t length = dot ? (size_t)(dot - field->name) : 0;
        char head[128];
        if (length != group || strncmp(opened, field->name, length) != 0) {
            snprintf(head, sizeof head, "%s%s\n  \"%.*s\": {", group ? "\n  }" : "", i ? "," : "",
                     (int)length, field->name);
            status = append(config, &used, head);
            snprintf(head, sizeof head, "\n    \"%s\": ", dot + 1);
        } else {
            snprintf(head, sizeof head, "%s\n%s\"%s\": ", i ? "," : "", dot ? "    " : "  ",
                     dot ? dot + 1 : field->name);
        }
        group = length;
        opened = field->name;
        if (status == ATTN_OK) status = append(config, &used, head);
        if (status == ATTN_OK) status = append_field(config, &used, i, field);
    }
    if (status == ATTN_OK) status = append(config, &used, "\n  }\n}\n");
    return status == ATTN_OK ? config->printed : NULL;
}

static attn_status parse_value(attn_config *config, const char *name, json_t *value) {
    char text[AT_FIELD_TEXT_BYTES];
    switch (json_typeof(value)) {
    case JSON_STRING: return attn_config_set(config, name, json_string_value(value));
    case JSON_TRUE: return attn_config_set(config, name, "true");
    case JSON_FALSE: return attn_config_set(config, name, "false");
    case JSON_INTEGER:
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return attn_config_set(config, name, text);
    case JSON_REAL:
        snprintf(text, sizeof text, "%.17g", json_real_value(value));
        return attn_config_set(config, name, text);
    default: break;
    }
    return at_fail(config->context, ATTN_INVALID_ARGUMENT,
                   "%.100s has to be a number, a string, true or false", name);
}

static attn_status parse_object(attn_config *config, json_t *root) {
    const char *key, *inner_key;
    json_t *value, *inner;
    if (!json_is_object(root))
        return at_fail(config->context, ATTN_INVALID_ARGUMENT, "a configuration is a JSON object");
    json_object_foreach(root, key, value) {
        attn_status status = ATTN_OK;
        if (!json_is_object(value)) {
            status = parse_value(config, key, value);
        } else {
            json_object_foreach(value, inner_key, inner) {
                char name[200];
                snprintf(name, sizeof name, "%.90s.%.90s", key, inner_key);
                if (status == ATTN_OK) status = parse_value(config, name, inner);
            }
        }
        if (status != ATTN_OK) return status;
    }
    return ATTN_OK;
}

attn_status attn_config_parse(attn_config *config, const char *name, const char *json, size_t length) {
    if (!config) return ATTN_INVALID_ARGUMENT;
    if (!name || !json) return at_fail(config->context, ATTN_INVALID_ARGUMENT, "name or json is NULL");
    json_error_t error;
    json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        return at_fail(config->context, ATTN_INVALID_ARGUMENT, "%.200s:%d: %s", name, error.line, error.text);
    }
    attn_config *before;
    attn_status status = at_config_copy(config, &before);
    if (status == ATTN_OK) {
        status = parse_object(config, root);
        if (status != ATTN_OK) copy_values(before, config);
        attn_config_destroy(before);
    }
    json_decref(root);
    if (status == ATTN_OK) return ATTN_OK;
    char reason[400];
    snprintf(reason, sizeof reason, "%s", attn_context_error(config->context));
    return at_fail(config->context, status, "%.100s: %s", name, reason);
}

attn_status at_config_stored(attn_context *context, const char *name, const char *json,
                             attn_config **config) {
    const at_field *field;
    int part;
    *config = NULL;
    attn_status status = attn_config_create(context, config);
    if (status == ATTN_OK) status = attn_config_parse(*config, name, json, strlen(json));
    if (status != ATTN_OK) return status;
    const at_input_kind *input = input_of(*config);
    for (int i = 0; (field = field_at(i, &part)) && status == ATTN_OK; i++)
        if (field->before && !(*config)->given[i] && !of_another(part, input))
            status = attn_config_set(*config, field->name, field->before);
    return status;
}

/* ---- what the values mean ---- */

at_input_use at_config_use(const at_config *values) {
    return (at_input_use){.task = values->task->name,
                          .per_row = values->task->per_row,
                          .writes_text = values->task->writes_text,
                          .running = values->task->running,
                          .chooses = values->task->chooses,
                          .wide_only = values->encoder->kind == AT_ENCODER_NONE};
}

/* The decoder is as wide as the encoder, and alike. */
void at_config_head(const at_config *all, at_head_config *head) {
    const at_encoder_values *values = all->encoder;
    attn_decoder_options *options = &head->decoder;
    memset(head, 0, sizeof *head);
    head->output = *all->output;
    head->sequence = *all->sequence;
    char separator = at_label_separator(all->reading);
    head->separator[0] = separator == '\n' ? 0 : separator; /* a prediction is in one line */
    attn_decoder_options_init(options);
    options->columns = options->source_columns = values->columns;
    options->heads = values->heads;
    options->kv_heads = values->kv_heads;
    options->inner = values->inner > 0 ? values->inner : 4 * values->columns;
    options->activation = (attn_activation)values->activation;
    options->gated = values->gated;
    options->norm = (attn_norm_kind)values->norm;
    options->norm_first = values->norm_first;
    options->position = (attn_position)values->position;
    if (values->position >= ATTN_POSITION_GRID) /* the prediction is on none */
        options->position = ATTN_POSITION_SINUSOIDAL;
    options->longest = values->longest;
    options->dropout = (float)values->dropout;
    options->attention_dropout = (float)values->attention_dropout;
}

static void mixer_options(const at_encoder_values *values, attn_mixer_options *mixer) {
    mixer->kind = (attn_mixer_kind)values->kind;
    mixer->causal = values->causal;
    mixer->recurrence = (attn_recurrence)values->recurrence;
    mixer->directions = values->causal ? 1 : (int)values->directions;
    mixer->hidden = values->hidden;
    mixer->width = values->width;
    mixer->dilation = values->dilation;
    mixer->activation = (attn_activation)values->mixer_activation;
    attn_multihead_options *attention = &mixer->attention;
    attention->heads = values->heads;
    attention->kv_heads = values->kv_heads;
    attention->head_width = values->head_width;
    attention->form = (attn_heads_form)values->form;
    attention->with_bias = values->attention_bias;
    attention->score = (attn_score)values->score;
    attention->weighting = (attn_weighting)values->weights;
    attention->average = values->average_weights;
    attention->scale = (float)values->scale;
    attention->softcap = (float)values->softcap;
    attention->leaky_slope = (float)values->leaky_slope;
    attention->dropout = (float)values->attention_dropout;
    attention->rotary_base = (float)values->rotary_base;
    attention->left = values->left < 0 ? ATTN_UNLIMITED : values->left;
    attention->right = values->right < 0 ? ATTN_UNLIMITED : values->right;
    attention->buckets = values->position_buckets;
    attention->farthest = values->farthest;
}

void at_config_encoder(const at_encoder_values *values, attn_encoder_options *options,
                       attn_mixer_kind *kinds) {
    attn_encoder_options_init(options);
    options->columns = values->columns;
    options->layers = values->layers;
    options->position = (attn_position)values->position;
    options->longest = values->longest;
    options->dropout = (float)values->dropout;
    options->final_norm = values->final_norm;
    options->initial = (float)values->initial;
    options->jump = (attn_jump)values->jump;
    attn_block_options *block = &options->block;
    block->inner = values->inner < 0 ? 0 : values->inner ? values->inner : 4 * values->columns;
    block->mixed_activation = (attn_activation)values->activation_after;
    block->activation = (attn_activation)values->activation;
    block->gated = values->gated;
    block->norm = (attn_norm_kind)values->norm;
    block->norm_first = values->norm_first;
    block->residual = values->residual;
    mixer_options(values, &block->mixer);
    if (!*values->mix) return;
    int names = find("encoder.kind");
    const char *kind = values->mix;
    for (int64_t layer = 0; layer < values->layers; layer++) {
        size_t length = strcspn(kind, ",");
        for (int c = 0; attn_config_choice(names, c); c++) {
            const char *name = attn_config_choice(names, c);
            if (strlen(name) == length && strncmp(name, kind, length) == 0) kinds[layer] = (attn_mixer_kind)c;
        }
        kind += length + (kind[length] == ',');
    }
    options->kinds = kinds;
}

int64_t at_config_longest(const at_encoder_values *values, int64_t longest) {
    int table = values->position == ATTN_POSITION_LEARNED || values->position == ATTN_POSITION_ONE_HOT ||
                (at_has_attention(values) && values->score == ATTN_SCORE_NONE);
    return table && values->longest < longest ? values->longest : longest;
}

int64_t at_config_most(const at_config *values, const at_input *input) {
    int64_t longest = at_config_longest(values->encoder, input->longest);
    int in_line = !values->input->unordered && !values->input->grid;
    int pooled = at_head_chosen(values->task->head, values->output)->rows != NULL;
    return in_line && pooled ? at_windows_rows(longest, values->encoder->pieces) : longest;
}

void at_config_optimizer(const at_training_values *values, int64_t steps, attn_optimizer_options *options) {
    attn_optimizer_options_init(options);
    options->kind = (attn_optimizer_kind)values->optimizer;
    options->learning_rate = values->learning_rate;
    options->beta1 = values->beta1;
    options->beta2 = values->beta2;
    options->epsilon = values->epsilon;
    options->weight_decay = values->weight_decay;
    options->decay_all = values->decay_all;
    options->momentum = values->momentum;
    options->nesterov = values->nesterov;
    options->clip_norm = values->clip_norm;
    options->accumulate = values->accumulate;
    options->schedule = (attn_schedule)values->schedule;
    options->warmup_steps = (int64_t)((double)steps * values->warmup);
    options->total_steps = steps > options->warmup_steps ? steps : options->warmup_steps + 1;
    options->floor = values->floor;
    /* The average must have forgotten how the weights began when the steps are done. */
    double longest = steps > 20 ? 1.0 - 20.0 / (double)steps : 0;
    options->average = values->average < longest ? values->average : longest;
    options->lazy_rows = values->lazy_rows && !values->decay_all;
}

void at_config_reader(const at_config *values, attn_reader_options *options) {
    attn_reader_options_init(options);
    const char *format = values->reading->format;
    if (values->task->format && strcmp(format, "auto") == 0 && !values->task->other_format)
        format = values->task->format;
    options->input = values->input->name;
    options->format = (attn_format)attn_input_find_format(values->input->name, format);
    if ((int)options->format < 0) options->format = ATTN_FORMAT_AUTO; /* the kind has no such format */
    options->column = values->reading->column;
    options->text_column = values->reading->text_column;
    options->label_separator = at_label_separator(values->reading);
    options->split_column = values->reading->split_column;
    options->split = values->reading->split;
    options->per_token = values->task->per_row;
    options->pairs = values->task->pairs;
    options->labelled = values->task->labelled;
}

attn_status attn_config_reader_sized(attn_config *config, attn_reader_options *options, size_t size) {
    if (!config) return ATTN_INVALID_ARGUMENT;
    if (!options) return at_fail(config->context, ATTN_INVALID_ARGUMENT, "options is NULL");
    at_config values;
    attn_reader_options own;
    attn_status status = at_config_values(config, &values);
    if (status != ATTN_OK) return status;
    at_config_reader(&values, &own);
    at_options_give(options, size, &own, sizeof own);
    return ATTN_OK;
}
