/* config.c: reads, checks and prints configurations, all through the table of config_fields.c.
 *
 * A value that was set stays as it was set; the others get their defaults when the values are asked for,
 * since those depend on the task, the unit and the encoder, which may be set later.
 */
#include "model/config.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "data/unicode.h"

_Static_assert(sizeof(at_fields) / sizeof(at_fields[0]) == AT_FIELDS, "the table has AT_FIELDS rows");

struct attn_config {
    attn_context *context;
    at_config values;
    unsigned char given[AT_FIELDS];
    char text[AT_CONFIG_TEXT]; /* of attn_config_get */
    char *printed;             /* of attn_config_print */
    int64_t printed_room;
};

attn_status attn_config_create(attn_context *context, attn_config **config) {
    if (!context) return ATTN_INVALID_ARGUMENT;
    if (!config) return at_fail(context, ATTN_INVALID_ARGUMENT, "config is NULL");
    attn_config *made = at_allocate(context, 1, sizeof *made, "a configuration");
    if (!made) return ATTN_OUT_OF_MEMORY;
    made->context = context;
    *config = made;
    return ATTN_OK;
}

void attn_config_destroy(attn_config *config) {
    if (!config) return;
    at_release(config->context, config->printed);
    at_release(config->context, config);
}

attn_context *at_config_context(const attn_config *config) { return config->context; }

attn_status at_config_copy(attn_config *config, attn_config **copy) {
    attn_config *made;
    attn_status status = attn_config_create(config->context, &made);
    if (status != ATTN_OK) return status;
    made->values = config->values;
    memcpy(made->given, config->given, sizeof made->given);
    *copy = made;
    return ATTN_OK;
}

int attn_config_count(void) { return AT_FIELDS; }
const char *attn_config_name(int index) {
    return index < 0 || index >= AT_FIELDS ? NULL : at_fields[index].name;
}
const char *attn_config_help(int index) {
    return index < 0 || index >= AT_FIELDS ? NULL : at_fields[index].help;
}

const char *attn_config_choice(int index, int choice) {
    if (index < 0 || index >= AT_FIELDS || !at_fields[index].choices || choice < 0) return NULL;
    for (int c = 0; c < choice; c++) {
        if (!at_fields[index].choices[c]) return NULL;
    }
    return at_fields[index].choices[choice];
}

/* ---- one value ---- */

static int find(const char *name) {
    for (int i = 0; i < AT_FIELDS; i++) {
        if (strcmp(at_fields[i].name, name) == 0) return i;
    }
    return -1;
}

/* How many letters have to be changed, left out or put in to make b of a; names are short. */
static int edit_distance(const char *a, const char *b) {
    int row[64], columns = (int)strlen(b);
    if (columns > 62 || strlen(a) > 62) return 99;
    for (int j = 0; j <= columns; j++) row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= columns; j++) {
            int changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int smallest = row[j - 1] < row[j] ? row[j - 1] : row[j];
            row[j] = changed < smallest + 1 ? changed : smallest + 1;
        }
    }
    return row[columns];
}

static attn_status unknown_name(attn_context *context, const char *name) {
    int best = -1, distance = 4;
    for (int i = 0; i < AT_FIELDS; i++) {
        const char *last = strchr(at_fields[i].name, '.');
        int whole = edit_distance(name, at_fields[i].name);
        int part = last ? edit_distance(name, last + 1) : 99; /* the group was left out */
        int nearest = whole < part ? whole : part;
        if (nearest < distance) {
            distance = nearest;
            best = i;
        }
    }
    if (best < 0) return at_fail(context, ATTN_INVALID_ARGUMENT, "there is no value \"%.100s\"", name);
    return at_fail(context, ATTN_INVALID_ARGUMENT, "there is no value \"%.100s\"; did you mean %s?", name,
                   at_fields[best].name);
}

static attn_status set_choice(attn_context *context, const at_field *field, const char *value, int *target) {
    char list[256] = "";
    for (int c = 0; field->choices[c]; c++) {
        if (strcmp(field->choices[c], value) == 0) {
            *target = c;
            return ATTN_OK;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", c ? ", " : "", field->choices[c]);
    }
    return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is \"%.60s\"; it can be: %s", field->name, value,
                   list);
}

static attn_status set_number(attn_context *context, const at_field *field, const char *value, void *target) {
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    int whole = field->kind == AT_FIELD_INTEGER;
    if (end == value || *end || !isfinite(number) || (whole && number != floor(number))) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is \"%.60s\"; it has to be a%s number",
                       field->name, value, whole ? " whole" : "");
    }
    if (number < field->minimum || number > field->maximum) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is %.60s; it can be from %.15g to %.15g",
                       field->name, value, field->minimum, field->maximum);
    }
    int64_t integer = (int64_t)number;
    if (whole) {
        memcpy(target, &integer, sizeof integer);
    } else {
        memcpy(target, &number, sizeof number);
    }
    return ATTN_OK;
}

static attn_status set_field(attn_context *context, at_config *values, const at_field *field,
                             const char *value) {
    char *target = (char *)values + field->place;
    switch (field->kind) {
    case AT_FIELD_CHOICE: return set_choice(context, field, value, (int *)(void *)target);
    case AT_FIELD_SWITCH: {
        int on = strcmp(value, "true") == 0;
        if (!on && strcmp(value, "false") != 0) {
            return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is \"%.60s\"; it can be true or false",
                           field->name, value);
        }
        memcpy(target, &on, sizeof on);
        return ATTN_OK;
    }
    case AT_FIELD_TEXT:
        if (strlen(value) >= AT_CONFIG_TEXT) {
            return at_fail(context, ATTN_INVALID_ARGUMENT, "%s has %zu bytes, at most %d are possible",
                           field->name, strlen(value), AT_CONFIG_TEXT - 1);
        }
        if (at_unicode_check(value, strlen(value)) != strlen(value))
            return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is not UTF-8", field->name);
        memset(target, 0, AT_CONFIG_TEXT);
        memcpy(target, value, strlen(value));
        return ATTN_OK;
    case AT_FIELD_INTEGER:
    case AT_FIELD_NUMBER: break;
    }
    return set_number(context, field, value, target);
}

attn_status attn_config_set(attn_config *config, const char *name, const char *value) {
    if (!config) return ATTN_INVALID_ARGUMENT;
    if (!name || !value) return at_fail(config->context, ATTN_INVALID_ARGUMENT, "name or value is NULL");
    int index = find(name);
    if (index < 0) return unknown_name(config->context, name);
    attn_status status = set_field(config->context, &config->values, &at_fields[index], value);
    if (status == ATTN_OK) config->given[index] = 1;
    return status;
}

/* A value as text; numbers with as few digits as give the same number again. */
static void write_value(const at_config *values, const at_field *field, char *text) {
    const char *source = (const char *)values + field->place;
    int choice;
    int64_t integer;
    double number;
    switch (field->kind) {
    case AT_FIELD_CHOICE:
    case AT_FIELD_SWITCH:
        memcpy(&choice, source, sizeof choice);
        snprintf(text, AT_CONFIG_TEXT, "%s",
                 field->kind == AT_FIELD_CHOICE ? field->choices[choice] : (choice ? "true" : "false"));
        return;
    case AT_FIELD_INTEGER:
        memcpy(&integer, source, sizeof integer);
        snprintf(text, AT_CONFIG_TEXT, "%" PRId64, integer);
        return;
    case AT_FIELD_NUMBER:
        memcpy(&number, source, sizeof number);
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, AT_CONFIG_TEXT, "%.*g", digits, number);
            if (strtod(text, NULL) == number) return;
        }
        return;
    case AT_FIELD_TEXT: memcpy(text, source, AT_CONFIG_TEXT); return;
    }
}

/* ---- defaults, and values that do not go together ---- */

static attn_status fill_defaults(attn_config *config) {
    attn_status status = ATTN_OK;
    for (int i = 0; i < AT_FIELDS && status == ATTN_OK; i++) {
        if (!config->given[i])
            status = set_field(config->context, &config->values, &at_fields[i], at_fields[i].initial);
    }
    for (int d = 0; d < at_default_count && status == ATTN_OK; d++) {
        const at_default *rule = &at_defaults[d];
        int index = find(rule->name);
        const at_config *values = &config->values;
        if (config->given[index] || (rule->task >= 0 && rule->task != values->task) ||
            (rule->unit >= 0 && rule->unit != values->unit) ||
            (rule->encoder >= 0 && rule->encoder != values->encoder) || values->examples < rule->examples)
            continue;
        status = set_field(config->context, &config->values, &at_fields[index], rule->value);
    }
    /* Who says how many epochs means it. */
    if (config->given[find("training.epochs")] && !config->given[find("training.least_steps")])
        config->values.least_steps = 0;
    return status;
}

static attn_status check_mix(attn_context *context, const at_config *values) {
    char mix[AT_CONFIG_TEXT];
    int64_t count = 0;
    memcpy(mix, values->mix, sizeof mix);
    if (!*mix) return ATTN_OK;
    const at_field *kinds = &at_fields[find("encoder.kind")];
    for (char *kind = mix; kind; count++) {
        char *comma = strchr(kind, ',');
        if (comma) *comma++ = 0;
        int known = 0;
        for (int c = 0; kinds->choices[c]; c++) known |= strcmp(kinds->choices[c], kind) == 0;
        if (!known) {
            return at_fail(context, ATTN_INVALID_ARGUMENT,
                           "encoder.mix names \"%.60s\"; it can name attention, rnn, cnn, fc", kind);
        }
        kind = comma;
    }
    if (count == values->layers) return ATTN_OK;
    return at_fail(context, ATTN_INVALID_ARGUMENT,
                   "encoder.mix names %" PRId64 " kinds, encoder.layers is %" PRId64, count, values->layers);
}

static int has_attention(const at_config *values) {
    return *values->mix ? strstr(values->mix, "attention") != NULL : values->encoder == ATTN_MIXER_ATTENTION;
}

static attn_status check_together(attn_context *context, const at_config *v) {
    if (has_attention(v) && v->head_width == 0 && v->columns % v->heads != 0 && v->form != ATTN_HEADS_WIDE) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.columns (%" PRId64 ") is not a multiple of encoder.heads (%" PRId64 ")",
                       v->columns, v->heads);
    }
    if (v->ngram_max && v->ngram_max < v->ngram_min) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "text.ngram_max (%" PRId64 ") is less than text.ngram_min (%" PRId64 ")", v->ngram_max,
                       v->ngram_min);
    }
    if (v->scheme == AT_SCHEME_BMES && (v->unit != AT_UNIT_CHARS || v->task != AT_TASK_TAG)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "text.scheme bmes is for task tag with text.unit chars");
    }
    if (v->task == AT_TASK_TAG && v->scheme == AT_SCHEME_NONE && v->unit != AT_UNIT_WORDS) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task tag labels tokens: text.unit has to be words, or chars with text.scheme bmes");
    }
    if (v->task != AT_TASK_SEQ2SEQ && v->unit == AT_UNIT_AUTO)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "text.unit auto is for task seq2seq");
    if (v->task == AT_TASK_SEQ2SEQ && v->format != ATTN_FORMAT_AUTO && v->format != ATTN_FORMAT_PAIRS)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task seq2seq learns from pairs: reader.format has to be pairs");
    if (v->task == AT_TASK_LM && v->format != ATTN_FORMAT_AUTO && v->format != ATTN_FORMAT_LINES)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task lm learns from lines of text: reader.format has to be lines");
    if (v->task == AT_TASK_LM && !v->causal)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "task lm: encoder.causal has to be true");
    if (v->task == AT_TASK_LM && (v->unit == AT_UNIT_WORDS || v->unit == AT_UNIT_SYMBOLS)) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task lm writes text: text.unit has to be chars, bytes or subwords");
    }
    if (v->task == AT_TASK_SEQ2SEQ && v->columns % v->heads != 0) {
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "encoder.columns (%" PRId64 ") is not a multiple of encoder.heads (%" PRId64
                       "), which the decoder has, too",
                       v->columns, v->heads);
    }
    if (v->task == AT_TASK_SEQ2SEQ && v->position == ATTN_POSITION_ONE_HOT)
        return at_fail(context, ATTN_INVALID_ARGUMENT,
                       "task seq2seq: encoder.position can be anything but one-hot; learned is equal to it");
    if (v->crf && v->task != AT_TASK_TAG)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "output.crf is for task tag");
    if (v->crf && v->members > 1)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "output.crf is for one network: output.members 1");
    if (v->nesterov && v->momentum == 0)
        return at_fail(context, ATTN_INVALID_ARGUMENT, "training.nesterov needs a training.momentum");
    if (strlen(v->label_separator) > 1) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "reader.label_separator is \"%.20s\"; it is one byte",
                       v->label_separator);
    }
    return check_mix(context, v);
}

attn_status at_config_values(attn_config *config, const at_config **values) {
    attn_status status = fill_defaults(config);
    if (status == ATTN_OK) status = check_together(config->context, &config->values);
    if (status == ATTN_OK) *values = &config->values;
    return status;
}

const char *attn_config_get(attn_config *config, const char *name) {
    int index = config && name ? find(name) : -1;
    if (index < 0 || fill_defaults(config) != ATTN_OK) return "";
    write_value(&config->values, &at_fields[index], config->text);
    return config->text;
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

static attn_status append_field(attn_config *config, int64_t *used, const at_field *field) {
    char value[AT_CONFIG_TEXT];
    write_value(&config->values, field, value);
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
    for (int i = 0; i < AT_FIELDS && status == ATTN_OK; i++) {
        const at_field *field = &at_fields[i];
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
        if (status == ATTN_OK) status = append_field(config, &used, field);
    }
    if (status == ATTN_OK) status = append(config, &used, "\n  }\n}\n");
    return status == ATTN_OK ? config->printed : NULL;
}

static attn_status parse_value(attn_config *config, const char *name, json_t *value) {
    char text[AT_CONFIG_TEXT];
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
    at_config before = config->values;
    unsigned char given[AT_FIELDS];
    memcpy(given, config->given, sizeof given);
    attn_status status = parse_object(config, root);
    json_decref(root);
    if (status == ATTN_OK) return ATTN_OK;
    config->values = before;
    memcpy(config->given, given, sizeof given);
    char reason[400];
    snprintf(reason, sizeof reason, "%s", attn_context_error(config->context));
    return at_fail(config->context, status, "%.100s: %s", name, reason);
}

/* ---- what the values mean ---- */

/* Texts that are written again need their spaces. */
static int writes_text(const at_config *values) {
    return values->task == AT_TASK_SEQ2SEQ || values->task == AT_TASK_LM;
}

void at_config_text(const at_config *values, at_text_options *options) {
    memset(options, 0, sizeof *options);
    options->unit = (at_unit)values->unit;
    options->scheme = (at_scheme)values->scheme;
    options->pretokenized = values->pretokenized;
    options->lowercase = values->lowercase;
    options->vocabulary = values->vocabulary;
    options->min_count = values->min_count;
    options->subwords = values->subwords;
    options->exact = writes_text(values);
    options->running = options->backward = values->task == AT_TASK_LM;
    if (values->one_hot) return; /* the unit and nothing else */
    options->ngram_min = values->ngram_min;
    options->ngram_max = values->ngram_max;
    options->word_features = values->word_features;
    options->context = values->context;
    options->neighbours = values->neighbours;
    options->buckets = values->buckets;
}

int at_config_shared(const at_config *values) {
    return values->task == AT_TASK_SEQ2SEQ && values->shared && values->unit == values->target_unit;
}

void at_config_target_text(const at_config *values, at_text_options *options) {
    memset(options, 0, sizeof *options);
    options->unit = (at_unit)values->target_unit;
    options->exact = 1;
    options->lowercase = values->lowercase;
    options->min_count = values->target_min_count;
    options->subwords = values->target_subwords ? values->target_subwords : values->subwords;
}

void at_config_decoder(const at_config *values, attn_decoder_options *options) {
    attn_decoder_options_init(options);
    options->columns = options->source_columns = values->columns;
    options->layers = values->decoder_layers;
    options->heads = values->heads;
    options->kv_heads = values->kv_heads;
    options->inner = values->inner ? values->inner : 4 * values->columns;
    options->activation = (attn_activation)values->activation;
    options->gated = values->gated;
    options->norm = (attn_norm_kind)values->norm;
    options->norm_first = values->norm_first;
    options->position = (attn_position)values->position;
    options->longest = values->longest;
    options->dropout = (float)values->dropout;
    options->attention_dropout = (float)values->attention_dropout;
}

static void mixer_options(const at_config *values, attn_mixer_options *mixer) {
    mixer->kind = (attn_mixer_kind)values->encoder;
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

void at_config_encoder(const at_config *values, attn_encoder_options *options, attn_mixer_kind *kinds) {
    attn_encoder_options_init(options);
    options->columns = values->columns;
    options->layers = values->layers;
    options->position = (attn_position)values->position;
    options->longest = values->longest;
    options->dropout = (float)values->dropout;
    options->final_norm = values->final_norm;
    attn_block_options *block = &options->block;
    block->inner = values->inner ? values->inner : 4 * values->columns;
    block->activation = (attn_activation)values->activation;
    block->gated = values->gated;
    block->norm = (attn_norm_kind)values->norm;
    block->norm_first = values->norm_first;
    block->residual = values->residual;
    mixer_options(values, &block->mixer);
    if (!*values->mix) return;
    const at_field *names = &at_fields[find("encoder.kind")];
    const char *kind = values->mix;
    for (int64_t layer = 0; layer < values->layers; layer++) {
        size_t length = strcspn(kind, ",");
        for (int c = 0; names->choices[c]; c++) {
            if (strlen(names->choices[c]) == length && strncmp(names->choices[c], kind, length) == 0)
                kinds[layer] = (attn_mixer_kind)c;
        }
        kind += length + (kind[length] == ',');
    }
    options->kinds = kinds;
}

int64_t at_config_longest(const at_config *values) {
    int table = values->position == ATTN_POSITION_LEARNED || values->position == ATTN_POSITION_ONE_HOT ||
                (has_attention(values) && values->score == ATTN_SCORE_NONE);
    return table && values->longest < values->longest_text ? values->longest : values->longest_text;
}

void at_config_optimizer(const at_config *values, int64_t steps, attn_optimizer_options *options) {
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
}

void at_config_reader(const at_config *values, attn_reader_options *options) {
    attn_reader_options_init(options);
    options->format = (attn_format)values->format;
    options->column = values->column;
    options->text_column = values->text_column;
    options->label_separator = values->label_separator[0];
    options->per_token = values->task == AT_TASK_TAG ? 1 : values->task == AT_TASK_CLASSIFY ? 0 : -1;
    if (values->task == AT_TASK_SEQ2SEQ) options->format = ATTN_FORMAT_PAIRS;
    if (values->task == AT_TASK_LM) {
        options->format = ATTN_FORMAT_LINES;
        options->labelled = 0;
    }
}

attn_status attn_config_reader(attn_config *config, attn_reader_options *options) {
    if (!config) return ATTN_INVALID_ARGUMENT;
    if (!options) return at_fail(config->context, ATTN_INVALID_ARGUMENT, "options is NULL");
    const at_config *values;
    attn_status status = at_config_values(config, &values);
    if (status == ATTN_OK) at_config_reader(values, options);
    return status;
}
