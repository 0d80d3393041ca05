/* test_config.c: configurations: every value of the table, typed and as JSON, there and back; what is
 * refused, and in which words.
 */
#include "support/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <attn/attn.h>

#include "inputs/kinds.h"
#include "inputs/text/text.h"
#include "model/config.h"
#include "support/examples.h"
#include "support/memory.h"

static counting_allocator counter;
static attn_context *context;

static int setup(void **state) {
    (void)state;
    counter = (counting_allocator){0};
    context = counting_context(&counter);
    return context ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    attn_context_destroy(context);
    return counter.live == 0 ? 0 : -1;
}

static attn_config *create(void) {
    attn_config *config = NULL;
    assert_int_equal(attn_config_create(context, &config), ATTN_OK);
    return config;
}

static void set(attn_config *config, const char *name, const char *value) {
    attn_status status = attn_config_set(config, name, value);
    if (status != ATTN_OK) fail_msg("%s = \"%s\": %s", name, value, attn_context_error(context));
}

/* The call must have failed, and its text must have both parts. */
static void refused(attn_status status, const char *part, const char *other) {
    assert_int_equal(status, ATTN_INVALID_ARGUMENT);
    const char *text = attn_context_error(context);
    if (!strstr(text, part) || !strstr(text, other)) fail_msg("\"%s\" lacks %s or %s", text, part, other);
}

static char *printed(attn_config *config) {
    const char *text = attn_config_print(config);
    assert_non_null(text);
    char *copy = malloc(strlen(text) + 1);
    assert_non_null(copy);
    return strcpy(copy, text);
}

static attn_status parse(attn_config *config, const char *json) {
    return attn_config_parse(config, "some.json", json, strlen(json));
}

/* ---- the table ---- */

/* The parts of a configuration, in the order of their fields. */
static const at_fields *part_at(int part) {
    static const at_fields *const before[] = {&at_task_fields, &at_reading_fields};
    static const at_fields *const after[] = {&at_encoder_fields, &at_sequence_fields, &at_output_fields,
                                             &at_training_fields};
    if (part < 2) return before[part];
    if (part < 2 + at_input_count()) return &at_input_at(part - 2)->fields;
    part -= 2 + at_input_count();
    return part < 4 ? after[part] : NULL;
}

static const at_field *field_at(int index, const at_fields **of) {
    for (int part = 0; (*of = part_at(part)); part++) {
        if (index < (*of)->count) return &(*of)->list[index];
        index -= (*of)->count;
    }
    fail_msg("there is no such field");
    return NULL;
}

static const at_field *field_of(int index) {
    const at_fields *of;
    return field_at(index, &of);
}

static const at_field *find_field(const char *name) {
    for (int i = 0; i < attn_config_count(); i++)
        if (strcmp(attn_config_name(i), name) == 0) return field_of(i);
    fail_msg("there is no %s", name);
    return NULL;
}

/* Whether the field of a flag is a switch, or can be "true" or the flag's own name. "*": of a kind of input,
 * one of those that have it.
 */
static int can_be_on(const char *flag, const char *name) {
    char own[64];
    snprintf(own, sizeof own, "%s", name);
    for (int kind = 0; strncmp(name, "*.", 2) == 0; kind++) {
        assert_non_null(attn_input_name(kind));
        snprintf(own, sizeof own, "%s%s", attn_input_name(kind), name + 1);
        int found = 0;
        for (int i = 0; i < attn_config_count(); i++) found |= strcmp(attn_config_name(i), own) == 0;
        if (found) break;
    }
    const at_field *field = find_field(own);
    for (int c = 0; field->choices && field->choices[c]; c++)
        if (strcmp(field->choices[c], "true") == 0 || strcmp(field->choices[c], flag) == 0) return 1;
    return field->kind == AT_FIELD_SWITCH;
}

static void test_table(void **state) {
    (void)state;
    int count = attn_config_count(), all = 0;
    for (int part = 0; part_at(part); part++) all += part_at(part)->count;
    assert_int_equal(count, all);
    assert_true(count > 90);
    assert_null(attn_config_name(-1));
    assert_null(attn_config_name(count));
    assert_null(attn_config_help(-1));
    assert_null(attn_config_help(count));
    assert_null(attn_config_choice(-1, 0));
    assert_null(attn_config_choice(count, 0));
    for (int i = 0; i < count; i++) {
        const at_fields *part, *other_part;
        const at_field *field = field_at(i, &part);
        assert_string_equal(attn_config_name(i), field->name);
        assert_ptr_equal(attn_config_help(i), field->help);
        assert_non_null(field->help);
        assert_null(strchr(field->help, '\n'));
        assert_true((field->kind == AT_FIELD_CHOICE) == (field->choices != NULL));
        assert_null(attn_config_choice(i, -1));
        int choices = 0;
        for (; field->choices && field->choices[choices]; choices++)
            assert_string_equal(attn_config_choice(i, choices), field->choices[choices]);
        assert_null(attn_config_choice(i, choices));
        assert_null(attn_config_choice(i, choices + 1));
        assert_true(field->minimum <= field->maximum);
        assert_true(field->place < part->bytes);
        const char *dot = strchr(field->name, '.');
        assert_true(!dot || !strchr(dot + 1, '.'));
        for (int j = 0; j < i; j++) {
            const at_field *other = field_at(j, &other_part);
            assert_string_not_equal(field->name, other->name);
            assert_true(field->place != other->place || part != other_part);
        }
        /* the fields of a group stand together, as they are printed */
        size_t length = dot ? (size_t)(dot - field->name) + 1 : 0;
        int left = 0;
        for (int j = i - 1; j >= 0; j--) {
            int same = length ? strncmp(field->name, field_of(j)->name, length) == 0
                              : !strchr(field_of(j)->name, '.');
            if (same && left) fail_msg("%s stands apart from its group", field->name);
            left |= !same;
        }
    }
    /* flags of a command line name values that there are */
    attn_config_flag_text flag;
    int flags = 0;
    for (; attn_config_flag(flags, &flag); flags++) {
        assert_true(flag.flag && flag.help);
        assert_true(flag.value || can_be_on(flag.flag, flag.name));
    }
    assert_true(flags > 5);
    assert_int_equal(attn_config_flag(-1, &flag), 0);
    for (int i = 0; i < attn_task_count(); i++) {
        assert_string_equal(attn_task_name(i), find_field("task")->choices[i]);
        assert_non_null(attn_task_help(i));
    }
    assert_null(attn_task_name(attn_task_count()));
    assert_null(attn_task_name(-1));
    assert_null(attn_task_help(attn_task_count()));
    assert_null(find_field("task")->choices[attn_task_count()]);
}

/* The field and the value that a rule asks for. */
static void condition_of(const at_default *rule, char *name, char *value) {
    size_t length = strcspn(rule->when, "=");
    snprintf(name, AT_FIELD_TEXT_BYTES, "%.*s", (int)length, rule->when);
    snprintf(value, AT_FIELD_TEXT_BYTES, "%s", rule->when + length + 1);
}

/* A configuration for which a rule counts; rules for the unit and the encoder count where none was typed,
 * those for the decoder where the sources are letters. */
static attn_config *fitting(const at_default *rule) {
    attn_config *config = create();
    char name[AT_FIELD_TEXT_BYTES], value[AT_FIELD_TEXT_BYTES];
    set(config, "task", rule->task ? rule->task : "tag");
    const char *unit = strcmp(rule->name, "decoder.monotone") == 0 ? "chars" : "words";
    if (strcmp(rule->name, "text.unit") != 0) set(config, "text.unit", unit);
    if (strcmp(rule->name, "encoder.kind") != 0) set(config, "encoder.kind", "attention");
    if (rule->when) {
        condition_of(rule, name, value);
        set(config, name, value);
    }
    char examples[32];
    snprintf(examples, sizeof examples, "%" PRId64, rule->examples);
    set(config, "training.examples", examples);
    return config;
}

/* Whether a rule counts for the configuration that fits another. */
static int covers(const at_default *rule, const at_default *other, attn_config *fits) {
    char name[AT_FIELD_TEXT_BYTES], value[AT_FIELD_TEXT_BYTES];
    if (rule->task && strcmp(rule->task, other->task ? other->task : "tag") != 0) return 0;
    if (rule->examples > other->examples) return 0;
    if (!rule->when) return 1;
    condition_of(rule, name, value);
    return strcmp(attn_config_get(fits, name), value) == 0;
}

/* A default for many examples counts from the number that it names on, and not against what was typed. */
static void test_defaults_of_sizes(void **state) {
    (void)state;
    int found = 0;
    for (int d = 0; d < AT_TEXT_DEFAULTS; d++) {
        const at_default *rule = &at_text_defaults[d];
        if (rule->examples == 0) continue;
        attn_config *config = fitting(rule);
        char many[AT_FIELD_TEXT_BYTES], fewer[32];
        strcpy(many, attn_config_get(config, rule->name));
        snprintf(fewer, sizeof fewer, "%" PRId64, rule->examples - 1);
        set(config, "training.examples", fewer);
        char few[AT_FIELD_TEXT_BYTES];
        strcpy(few, attn_config_get(config, rule->name));
        const int differs = strcmp(few, many) != 0;
        found += differs;
        set(config, rule->name, differs ? few : find_field(rule->name)->initial);
        set(config, "training.examples", "1000000");
        assert_true(strcmp(attn_config_get(config, rule->name), many) != 0);
        attn_config_destroy(config);
    }
    assert_true(found >= 2);
}

/* The last rule that fits counts, and none against what was typed. */
static void test_defaults_of_tasks(void **state) {
    (void)state;
    for (int d = 0; d < AT_TEXT_DEFAULTS; d++) {
        const at_default *rule = &at_text_defaults[d], *last = rule;
        attn_config *config = fitting(rule), *typed = create();
        for (int e = d + 1; e < AT_TEXT_DEFAULTS; e++)
            if (strcmp(at_text_defaults[e].name, rule->name) == 0 &&
                covers(&at_text_defaults[e], rule, config))
                last = &at_text_defaults[e];
        set(typed, rule->name, last->value);
        char value[AT_FIELD_TEXT_BYTES];
        strcpy(value, attn_config_get(typed, rule->name));
        assert_string_equal(attn_config_get(config, rule->name), value);
        set(config, rule->name, find_field(rule->name)->initial);
        set(typed, rule->name, find_field(rule->name)->initial);
        strcpy(value, attn_config_get(typed, rule->name));
        assert_string_equal(attn_config_get(config, rule->name), value);
        attn_config_destroy(config);
        attn_config_destroy(typed);
    }
}

/* Who says how attention is to be gets it. */
static void test_attention_is_meant(void **state) {
    (void)state;
    static const char *const flags[][2] = {{"encoder.heads", "2"},
                                           {"encoder.position", "none"},
                                           {"encoder.left", "3"},
                                           {"encoder.right", "3"},
                                           {"encoder.layers", "2"}};
    for (int i = 0; i < 5; i++) {
        attn_config *config = create();
        set(config, "task", "classify");
        assert_string_equal(attn_config_get(config, "encoder.kind"), "rnn");
        set(config, flags[i][0], flags[i][1]);
        assert_string_equal(attn_config_get(config, "encoder.kind"), i < 4 ? "attention" : "rnn");
        set(config, "encoder.kind", "cnn");
        assert_string_equal(attn_config_get(config, "encoder.kind"), "cnn");
        attn_config_destroy(config);
    }
}

/* What failed was not given either: a default that depends on what is set later still counts. */
static void test_failure_gives_nothing(void **state) {
    (void)state;
    for (int d = 0; d < AT_TEXT_DEFAULTS; d++) {
        const at_default *rule = &at_text_defaults[d];
        attn_config *config = fitting(rule);
        char before[AT_FIELD_TEXT_BYTES], json[512];
        strcpy(before, attn_config_get(config, rule->name));
        snprintf(json, sizeof json, "{\"%s\": \"%s\", \"no such name\": 1}", rule->name,
                 find_field(rule->name)->initial);
        refused(parse(config, json), "some.json: ", "no such name");
        refused(attn_config_set(config, rule->name, "no such value"), rule->name, "");
        assert_string_equal(attn_config_get(config, rule->name), before);
        attn_config_destroy(config);
    }
}

/* All defaults of every task, unit and encoder that go together are values that can be built from. */
static void test_defaults_fit(void **state) {
    (void)state;
    enum { TAG, CLASSIFY, REGRESS, SEQ2SEQ, LM, TASKS };
    static const char *const tasks[TASKS] = {"tag", "classify", "regress", "seq2seq", "lm"};
    static const char *const units[] = {"words", "chars", "bytes", "subwords", "symbols", "auto"};
    static const char *const encoders[] = {"attention", "rnn", "cnn", "fc", "mean"};
    for (int task = 0; task < TASKS; task++) {
        for (int unit = 0; unit < 6; unit++) {
            for (int encoder = 0; encoder < 5; encoder++) {
                attn_config *config = create();
                at_config values;
                set(config, "task", tasks[task]);
                set(config, "text.unit", units[unit]);
                set(config, "encoder.kind", encoders[encoder]);
                attn_status status = at_config_values(config, &values);
                if (task == TAG && unit != AT_UNIT_WORDS) {
                    refused(status, "text.unit", "text.scheme");
                } else if (task != SEQ2SEQ && unit == AT_UNIT_AUTO) {
                    refused(status, "text.unit auto", "seq2seq");
                } else if (task == LM && (unit == AT_UNIT_WORDS || unit == AT_UNIT_SYMBOLS)) {
                    refused(status, "task lm", "text.unit has to be chars, bytes or subwords");
                } else {
                    assert_int_equal(status, ATTN_OK);
                    assert_string_equal(values.task->name, tasks[task]);
                    assert_ptr_equal(values.input, &at_text_kind);
                    assert_int_equal(values.input->unit(values.input_values), unit);
                    assert_int_equal(values.encoder->kind, encoder);
                }
                attn_config_destroy(config);
            }
        }
    }
}

/* Positions in a grid are for inputs that have one. */
static void test_grids(void **state) {
    (void)state;
    static const char *const positions[] = {"grid", "grid-learned", "grid-relative"};
    static const char *const inputs[] = {"text", "vectors"};
    for (int p = 0; p < 3; p++) {
        for (int i = 0; i < 2; i++) {
            attn_config *config = create();
            at_config values;
            set(config, "task", "classify");
            set(config, "input", inputs[i]);
            set(config, "encoder.position", positions[p]);
            refused(at_config_values(config, &values), inputs[i], "has no grid: encoder.position can be");
            attn_config_destroy(config);
        }
    }
}

/* What only the tasks of sequences refuse. */
static void test_sequences_together(void **state) {
    (void)state;
    static const char *const wrong[][6] = {
        {"lm", "encoder.causal", "false", NULL, NULL, "encoder.causal"},
        {"seq2seq", "encoder.position", "one-hot", NULL, NULL, "one-hot"},
        {"seq2seq", "encoder.columns", "10", "encoder.heads", "4", "encoder.heads"},
        {"seq2seq", "output.crf", "true", NULL, NULL, "output.crf"},
        {"lm", "text.scheme", "bmes", NULL, NULL, "bmes"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        for (int encoder = 0; encoder < 2; encoder++) { /* the decoder has heads, whatever the encoder is */
            attn_config *config = create();
            at_config values;
            set(config, "task", wrong[i][0]);
            set(config, "encoder.kind", encoder ? "rnn" : "attention");
            set(config, wrong[i][1], wrong[i][2]);
            if (wrong[i][3]) set(config, wrong[i][3], wrong[i][4]);
            refused(at_config_values(config, &values), wrong[i][5], "");
            attn_config_destroy(config);
        }
    }
}

/* ---- one value ---- */

/* Some value of a field other than its default. */
static void another_value(const at_field *field, char *text) {
    switch (field->kind) {
    case AT_FIELD_SWITCH: strcpy(text, strcmp(field->initial, "true") == 0 ? "false" : "true"); return;
    case AT_FIELD_CHOICE:
        strcpy(text, field->choices[strcmp(field->choices[0], field->initial) == 0 ? 1 : 0]);
        return;
    case AT_FIELD_TEXT: strcpy(text, "a \"b\"\\, \xc3\xb6\t\x01"); return;
    case AT_FIELD_INTEGER:
        snprintf(text, AT_FIELD_TEXT_BYTES, "%" PRId64,
                 (int64_t)(atof(field->initial) < field->maximum ? field->maximum : field->minimum));
        return;
    case AT_FIELD_NUMBER:
        snprintf(text, AT_FIELD_TEXT_BYTES, "%.17g", field->minimum + (field->maximum - field->minimum) / 3);
        return;
    }
}

/* Whether a field is of a kind of input other than this one: those are not printed. */
static int of_another(int index, int input) {
    const at_fields *of;
    field_at(index, &of);
    for (int i = 0; i < at_input_count(); i++)
        if (of == &at_input_at(i)->fields) return i != input;
    return 0;
}

static void test_set_and_get(void **state) {
    (void)state;
    for (int input = 0; input < at_input_count(); input++) {
        attn_config *all = create(), *again = create();
        for (int i = 0; i < attn_config_count(); i++) {
            const at_field *field = field_of(i);
            attn_config *config = create();
            char value[AT_FIELD_TEXT_BYTES], got[AT_FIELD_TEXT_BYTES];
            if (field->kind != AT_FIELD_TEXT)
                assert_string_not_equal(attn_config_get(config, field->name), "");
            set(config, field->name, field->initial);
            another_value(field, value);
            set(config, field->name, value);
            strcpy(got, attn_config_get(config, field->name));
            if (field->kind == AT_FIELD_NUMBER) {
                assert_true(strtod(got, NULL) == strtod(value, NULL)); /* the same bits, fewer digits */
                assert_true(strlen(got) <= strlen(value));
            } else {
                assert_string_equal(got, value);
            }
            set(config, field->name, got);
            assert_string_equal(attn_config_get(config, field->name), got);
            attn_config_destroy(config);
            if (strcmp(field->name, "input") == 0) strcpy(value, at_input_at(input)->name);
            set(all, field->name, value);
        }
        char *text = printed(all);
        assert_int_equal(parse(again, text), ATTN_OK);
        char *text_again = printed(again);
        assert_string_equal(text, text_again);
        for (int i = 0; i < attn_config_count(); i++) {
            char got[AT_FIELD_TEXT_BYTES];
            if (of_another(i, input)) continue;
            strcpy(got, attn_config_get(all, attn_config_name(i)));
            assert_string_equal(got, attn_config_get(again, attn_config_name(i)));
        }
        free(text);
        free(text_again);
        attn_config_destroy(all);
        attn_config_destroy(again);
    }
}

static void test_ranges(void **state) {
    (void)state;
    for (int i = 0; i < attn_config_count(); i++) {
        const at_field *field = field_of(i);
        if (field->kind != AT_FIELD_INTEGER && field->kind != AT_FIELD_NUMBER) continue;
        attn_config *config = create();
        char text[64];
        double step = field->kind == AT_FIELD_INTEGER ? 1 : 1e-3 * (field->maximum - field->minimum);
        for (int side = 0; side < 2; side++) {
            double edge = side ? field->maximum : field->minimum;
            snprintf(text, sizeof text, "%.17g", edge);
            set(config, field->name, text);
            assert_true(strtod(attn_config_get(config, field->name), NULL) == edge);
            snprintf(text, sizeof text, "%.17g", side ? edge + step : edge - step);
            refused(attn_config_set(config, field->name, text), field->name, "it can be from ");
            assert_true(strtod(attn_config_get(config, field->name), NULL) == edge); /* untouched */
        }
        static const char *const no_numbers[] = {"",     "x",   "1x",    "nan", "inf",
                                                 "-inf", "1 2", "1e999", "--1", "1,5"};
        for (size_t j = 0; j < sizeof no_numbers / sizeof *no_numbers; j++)
            refused(attn_config_set(config, field->name, no_numbers[j]), field->name, "has to be a");
        if (field->kind == AT_FIELD_INTEGER)
            refused(attn_config_set(config, field->name, "1.5"), field->name, "whole number");
        attn_config_destroy(config);
    }
}

static void test_words_refused(void **state) {
    (void)state;
    attn_config *config = create();
    for (int i = 0; i < attn_config_count(); i++) {
        const at_field *field = field_of(i);
        if (field->kind == AT_FIELD_CHOICE) {
            for (int c = 0; field->choices[c]; c++) {
                set(config, field->name, field->choices[c]);
                assert_string_equal(attn_config_get(config, field->name), field->choices[c]);
                refused(attn_config_set(config, field->name, "Attention"), field->name, field->choices[c]);
            }
            refused(attn_config_set(config, field->name, ""), field->name, "it can be: ");
        } else if (field->kind == AT_FIELD_SWITCH) {
            refused(attn_config_set(config, field->name, "yes"), field->name, "true or false");
            refused(attn_config_set(config, field->name, "1"), field->name, "true or false");
        }
    }
    char text[AT_FIELD_TEXT_BYTES + 1];
    memset(text, 'x', sizeof text);
    text[AT_FIELD_TEXT_BYTES] = 0;
    refused(attn_config_set(config, "reader.column", text), "reader.column", "256 bytes");
    text[AT_FIELD_TEXT_BYTES - 1] = 0;
    set(config, "reader.column", text);
    assert_string_equal(attn_config_get(config, "reader.column"), text);
    set(config, "reader.column", "");
    assert_string_equal(attn_config_get(config, "reader.column"), "");
    refused(attn_config_set(config, "reader.column", "a\xff"), "reader.column", "UTF-8");
    assert_string_equal(attn_config_get(config, "reader.column"), "");
    attn_config_destroy(config);
}

static void test_names(void **state) {
    (void)state;
    attn_config *config = create();
    refused(attn_config_set(config, "encoder.layer", "1"), "\"encoder.layer\"",
            "did you mean encoder.layers?");
    refused(attn_config_set(config, "encodr.layers", "1"), "did you mean", "encoder.layers?");
    refused(attn_config_set(config, "layers", "1"), "did you mean", "encoder.layers?");
    refused(attn_config_set(config, "learning_rat", "1"), "did you mean", "training.learning_rate?");
    refused(attn_config_set(config, "taks", "tag"), "did you mean", "task?");
    refused(attn_config_set(config, "nothing of the kind", "1"), "there is no value", "nothing of the kind");
    assert_null(strstr(attn_context_error(context), "did you mean"));
    char name[300]; /* longer than any name, and than the text of an error should quote */
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = 0;
    refused(attn_config_set(config, name, "1"), "there is no value", "aaaa");
    assert_string_equal(attn_config_get(config, "layers"), "");
    assert_string_equal(attn_config_get(config, ""), "");
    assert_string_equal(attn_config_get(config, NULL), "");
    assert_string_equal(attn_config_get(NULL, "task"), "");
    assert_int_equal(attn_config_set(NULL, "task", "tag"), ATTN_INVALID_ARGUMENT);
    refused(attn_config_set(config, NULL, "tag"), "NULL", "");
    refused(attn_config_set(config, "task", NULL), "NULL", "");
    attn_config_destroy(config);
    attn_config_destroy(NULL);
    assert_null(attn_config_print(NULL));
    assert_int_equal(attn_config_create(NULL, &config), ATTN_INVALID_ARGUMENT);
    refused(attn_config_create(context, NULL), "config", "NULL");
}

/* ---- JSON ---- */

static void test_parse(void **state) {
    (void)state;
    attn_config *config = create();
    assert_int_equal(parse(config, "{\"task\": \"classify\", \"encoder\": {\"layers\": 3, \"dropout\": 0.5, "
                                   "\"gated\": true, \"columns\": \"96\"},\n\"training\": "
                                   "{\"learning_rate\": 1e-3, \"seed\": 7.0}}"),
                     ATTN_OK);
    assert_string_equal(attn_config_get(config, "task"), "classify");
    assert_string_equal(attn_config_get(config, "encoder.layers"), "3");
    assert_string_equal(attn_config_get(config, "encoder.dropout"), "0.5");
    assert_string_equal(attn_config_get(config, "encoder.gated"), "true");
    assert_string_equal(attn_config_get(config, "encoder.columns"), "96");
    assert_string_equal(attn_config_get(config, "training.learning_rate"), "0.001");
    assert_string_equal(attn_config_get(config, "training.seed"), "7");
    assert_int_equal(parse(config, "{}"), ATTN_OK); /* adds to what is there */
    assert_string_equal(attn_config_get(config, "encoder.layers"), "3");
    attn_config_destroy(config);
}

static void test_parse_refused(void **state) {
    (void)state;
    static const struct {
        const char *json, *part, *other;
    } cases[] = {
        {"", "some.json:1:", ""},
        {"[]", "some.json:", "a JSON object"},
        {"{\n\"task\": \"tag\",\n\"encoder\": {\"layers\": }}", "some.json:3:", ""},
        {"{\"task\": \"tag\"} x", "some.json:1:", ""},
        {"{\"task\": \"tag\", \"task\": \"tag\"}", "some.json:1:", "duplicate"},
        {"{\"task\": \"tag\xff\"}", "some.json:1:", "byte 0xff"},
        {"{\"task\": \"t\\u0000ag\"}", "some.json:1:", ""},
        {"{\"training\": {\"learning_rate\": 1e999}}", "some.json:1:", ""},
        {"{\"training\": {\"seed\": 99999999999999999999}}", "some.json:1:", ""},
        {"{\"training\": {\"seed\": 1e15, \"steps\": 1e16}}", "some.json: training.steps", "from 0 to"},
        {"{\"encoder\": {\"layers\": 3, \"columns\": 0}}", "some.json: encoder.columns is 0", "from 1 to"},
        {"{\"encoder\": {\"layers\": 3, \"columsn\": 1}}", "some.json: ", "did you mean encoder.columns?"},
        {"{\"encoder\": {\"layers\": null}}", "encoder.layers", "number, a string, true or false"},
        {"{\"encoder\": {\"layers\": [3]}}", "encoder.layers", "number, a string, true or false"},
        {"{\"encoder\": {\"layers\": {\"a\": 1}}}", "encoder.layers", "number, a string, true or false"},
        {"{\"encoder\": {\"layers\": true}}", "encoder.layers", "whole number"},
        {"{\"encoder\": {\"gated\": 1}}", "encoder.gated", "true or false"},
        {"{\"encoder\": 3}", "\"encoder\"", ""},
        {"{\"encoder\": {\"layers\": 3}, \"tasks\": \"tag\"}", "did you mean task?", ""},
    };
    attn_config *config = create();
    set(config, "encoder.layers", "5");
    char *before = printed(config);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused(parse(config, cases[i].json), cases[i].part, cases[i].other);
        assert_string_equal(attn_config_print(config), before);
    }
    char deep[5000];
    memset(deep, '[', sizeof deep);
    refused(attn_config_parse(config, "some.json", deep, sizeof deep), "some.json:1:", "");
    assert_int_equal(attn_config_parse(NULL, "some.json", "{}", 2), ATTN_INVALID_ARGUMENT);
    refused(attn_config_parse(config, NULL, "{}", 2), "NULL", "");
    refused(attn_config_parse(config, "some.json", NULL, 0), "NULL", "");
    free(before);
    attn_config_destroy(config);
}

static void test_print(void **state) {
    (void)state;
    attn_config *config = create(), *again = create();
    char *text = printed(config);
    assert_int_equal(parse(again, text), ATTN_OK);
    char *text_again = printed(again);
    assert_string_equal(text, text_again);
    assert_int_equal(text[strlen(text) - 1], '\n');
    free(text);
    free(text_again);
    attn_config_destroy(again);
    /* other sizes into the same memory, longer and shorter */
    char name[200];
    memset(name, '"', sizeof name);
    name[sizeof name - 1] = 0;
    set(config, "reader.column", name);
    size_t longer = strlen(attn_config_print(config));
    set(config, "reader.column", "");
    assert_int_equal(strlen(attn_config_print(config)), longer - 2 * (sizeof name - 1));
    attn_config_destroy(config);
}

/* ---- together ---- */

static void test_together(void **state) {
    (void)state;
    static const struct {
        const char *sets[8];      /* name, value, ... */
        const char *part, *other; /* NULL: they do go together */
    } cases[] = {
        {{"encoder.columns", "30"}, "encoder.columns (30)", "encoder.heads (4)"},
        {{"encoder.columns", "30", "encoder.heads", "5"}, NULL, NULL},
        {{"encoder.columns", "1024", "encoder.heads", "1"}, "encoder.columns (1024)", "heads of 1024"},
        {{"encoder.columns", "30", "encoder.head_width", "8"}, NULL, NULL},
        {{"encoder.columns", "30", "encoder.form", "wide"}, NULL, NULL},
        {{"encoder.columns", "30", "encoder.kind", "rnn"}, NULL, NULL}, /* no heads there */
        {{"encoder.columns", "30", "encoder.kind", "rnn", "encoder.mix", "rnn,attention"},
         "encoder.columns (30)",
         "encoder.heads (4)"},
        {{"encoder.columns", "30", "encoder.mix", "cnn,fc"}, NULL, NULL},
        {{"text.ngram_min", "4", "text.ngram_max", "3"}, "text.ngram_max (3)", "text.ngram_min (4)"},
        {{"text.ngram_min", "4", "text.ngram_max", "0"}, NULL, NULL},
        {{"text.scheme", "bmes"}, "text.scheme bmes", "text.unit chars"},
        {{"text.scheme", "bmes", "text.unit", "chars"}, NULL, NULL},
        {{"text.scheme", "bmes", "text.unit", "chars", "task", "classify"}, "text.scheme bmes", "task tag"},
        {{"text.unit", "bytes"}, "task tag", "text.unit"},
        {{"text.unit", "bytes", "task", "classify"}, NULL, NULL},
        {{"output.crf", "true", "task", "classify"}, "output.crf", "task tag"},
        {{"output.crf", "true", "output.members", "2"}, NULL, NULL},
        {{"output.crf", "true"}, NULL, NULL},
        {{"reader.format", "nonsense"},
         "reader.format is \"nonsense\"",
         "auto, conllu, columns, table, fasttext"},
        {{"reader.format", ""}, "reader.format is \"\"", "it can be: auto"},
        {{"reader.format", "auto"}, NULL, NULL},
        {{"input", "nonsense"}, "input is \"nonsense\"", "it can be: text"},
        {{"input", "text"}, NULL, NULL},
        {{"input", "vectors", "text.unit", "chars"}, "text.unit is for input text", "this is input vectors"},
        {{"vectors.dropout", "0.1"}, "vectors.dropout is for input vectors", "this is input text"},
        {{"input", "vectors", "vectors.dropout", "0.1"}, NULL, NULL},
        {{"task", "lm", "reader.format", "columns"}, "task lm", "reader.format has to be lines"},
        {{"task", "lm", "reader.format", "lines"}, NULL, NULL},
        {{"task", "seq2seq", "reader.format", "table"}, "task seq2seq", "reader.format has to be pairs"},
        {{"task", "seq2seq", "reader.format", "pairs"}, NULL, NULL},
        {{"training.nesterov", "true"}, "training.nesterov", "training.momentum"},
        {{"training.nesterov", "true", "training.momentum", "0.9"}, NULL, NULL},
        {{"reader.label_separator", "ab"}, "reader.label_separator", "one byte"},
        {{"reader.label_separator", "|"}, NULL, NULL},
        {{"encoder.mix", "attention"}, "encoder.mix names 1", "encoder.layers is 2"},
        {{"encoder.mix", "attention,rnn,cnn"}, "encoder.mix names 3", "encoder.layers is 2"},
        {{"encoder.mix", "attention,gru"}, "\"gru\"", "attention, rnn, cnn, fc, mean"},
        {{"encoder.mix", "attention,"}, "\"\"", "encoder.mix"},
        {{"encoder.mix", "fc,rnn"}, NULL, NULL},
        {{"encoder.mix", "mean,rnn", "encoder.columns", "30", "encoder.heads", "4"},
         "encoder.columns (30)",
         "encoder.heads (4)"},
        {{"encoder.inner", "-1", "encoder.activation_after", "elu", "encoder.form", "shared"}, NULL, NULL},
        {{"encoder.inner", "-1", "task", "seq2seq"}, "encoder.inner is -1", "decoder has a feed-forward"},
        {{"encoder.jump", "concat", "task", "seq2seq"}, "encoder.jump is concat", "encoder.columns"},
        {{"encoder.kind", "none", "task", "classify"}, NULL, NULL},
        {{"encoder.kind", "none", "task", "regress"}, NULL, NULL},
        {{"encoder.kind", "none"}, "encoder.kind none is for tasks classify and regress", "task tag"},
        {{"encoder.kind", "none", "task", "lm"}, "encoder.kind none is for tasks", "task lm"},
        {{"encoder.kind", "none", "task", "classify", "input", "vectors"},
         "encoder.kind none",
         "input vectors"},
        {{"encoder.kind", "none", "task", "classify", "text.wide_buckets", "0"},
         "encoder.kind none",
         "there have to be some (text.wide_buckets more than 0)"},
        {{"encoder.kind", "none", "task", "classify", "encoder.mix", "fc,fc"},
         "encoder.mix \"fc,fc\"",
         "is none"},
        {{"encoder.mix", "none,rnn"}, "\"none\"", "attention, rnn, cnn, fc, mean"},
        {{"text.wide_buckets", "100"}, "text.wide_buckets is for one answer per text", "task tag"},
        {{"text.wide_buckets", "100", "task", "seq2seq"}, "text.wide_buckets is for", "task seq2seq"},
        {{"text.wide_buckets", "100", "task", "regress"}, NULL, NULL},
        {{"text.wide_buckets", "100", "task", "classify", "input", "vectors"},
         "text.wide_buckets is for input text",
         "this is input vectors"},
        {{"text.wide_letters_min", "4", "text.wide_letters_max", "3"},
         "text.wide_letters_max (3)",
         "text.wide_letters_min (4)"},
        {{"text.wide_letters_min", "4", "text.wide_letters_max", "0"}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attn_config *config = create();
        at_config values;
        static const char *const basis[] = {"encoder.heads",      "4", "encoder.layers",    "2",
                                            "encoder.head_width", "0", "training.momentum", "0"};
        for (int j = 0; j < 8; j += 2) set(config, basis[j], basis[j + 1]);
        for (int j = 0; j < 8 && cases[i].sets[j]; j += 2)
            set(config, cases[i].sets[j], cases[i].sets[j + 1]);
        attn_status status = at_config_values(config, &values);
        attn_reader_options options, untouched;
        memset(&options, 1, sizeof options);
        memset(&untouched, 1, sizeof untouched);
        attn_status reader = attn_config_reader(config, &options);
        assert_int_equal(reader, status);
        if (!cases[i].part) {
            if (status != ATTN_OK) fail_msg("case %zu: %s", i, attn_context_error(context));
            assert_int_equal(options.size, sizeof options);
        } else {
            refused(status, cases[i].part, cases[i].other);
            assert_memory_equal(&options, &untouched, sizeof options);
        }
        attn_config_destroy(config);
    }
}

/* ---- what the values mean ---- */

static void test_meaning(void **state) {
    (void)state;
    attn_config *config = create();
    attn_reader_options reader;
    set(config, "reader.column", "XPOS");
    set(config, "reader.format", "conllu");
    set(config, "reader.label_separator", "|");
    assert_int_equal(attn_config_reader(config, &reader), ATTN_OK);
    assert_string_equal(reader.column, "XPOS");
    assert_int_equal(reader.format, ATTN_FORMAT_CONLLU);
    assert_int_equal(reader.label_separator, '|');
    assert_int_equal(reader.per_token, 1);
    set(config, "task", "regress");
    assert_int_equal(attn_config_reader(config, &reader), ATTN_OK);
    assert_int_equal(reader.per_token, -1);
    refused(attn_config_reader(config, NULL), "options", "NULL");
    assert_int_equal(attn_config_reader(NULL, &reader), ATTN_INVALID_ARGUMENT);

    at_config values;
    attn_mixer_kind kinds[3];
    attn_encoder_options encoder;
    set(config, "encoder.layers", "3");
    set(config, "encoder.mix", "cnn,attention,rnn");
    set(config, "encoder.left", "7");
    assert_int_equal(at_config_values(config, &values), ATTN_OK);
    at_config_encoder(values.encoder, &encoder, kinds);
    assert_ptr_equal(encoder.kinds, kinds);
    assert_int_equal(kinds[0], ATTN_MIXER_CNN);
    assert_int_equal(kinds[1], ATTN_MIXER_ATTENTION);
    assert_int_equal(kinds[2], ATTN_MIXER_RNN);
    assert_int_equal(encoder.block.mixer.attention.left, 7);
    assert_true(encoder.block.mixer.attention.right == ATTN_UNLIMITED);
    assert_int_equal(encoder.block.inner, 4 * values.encoder->columns);
    assert_int_equal(encoder.block.mixed_activation, ATTN_IDENTITY);
    assert_int_equal(encoder.jump, ATTN_JUMP_NONE);
    set(config, "encoder.inner", "-1");
    set(config, "encoder.activation_after", "elu");
    set(config, "encoder.form", "shared");
    set(config, "encoder.initial", "0.25");
    set(config, "encoder.jump", "mean");
    set(config, "encoder.mix", "mean,attention,mean");
    assert_int_equal(at_config_values(config, &values), ATTN_OK);
    at_config_encoder(values.encoder, &encoder, kinds);
    assert_int_equal(encoder.block.inner, 0);
    assert_int_equal(encoder.block.mixed_activation, ATTN_ELU);
    assert_int_equal(encoder.block.mixer.attention.form, ATTN_HEADS_SHARED);
    assert_true(encoder.initial == 0.25f && encoder.jump == ATTN_JUMP_MEAN);
    assert_int_equal(kinds[0], ATTN_MIXER_MEAN);

    attn_optimizer_options optimizer;
    for (int64_t steps = 1; steps < 100; steps += 7) { /* any number of steps is one that can be run */
        at_config_optimizer(values.training, steps, &optimizer);
        assert_true(optimizer.total_steps > optimizer.warmup_steps);
        assert_true(optimizer.average >= 0 && optimizer.average <= values.training->average);
    }
    attn_config *copy = NULL;
    assert_int_equal(at_config_copy(config, &copy), ATTN_OK);
    char *text = printed(config);
    assert_string_equal(attn_config_print(copy), text);
    set(copy, "encoder.layers", "2");
    assert_string_equal(attn_config_print(config), text);
    free(text);
    attn_config_destroy(copy);
    attn_config_destroy(config);
}

/* How long a sequence may be that goes through the network at once. */
static void test_longest(void **state) {
    (void)state;
    static const struct {
        const char *name, *value;
        int64_t longest;
    } cases[] = {{"encoder.position", "rotary", 300},  {"encoder.position", "learned", 100},
                 {"encoder.position", "one-hot", 100}, {"encoder.position", "sinusoidal", 300},
                 {"encoder.score", "fixed", 100},      {"text.longest", "50", 50}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attn_config *config = create();
        at_config values;
        set(config, "text.longest", "300");
        set(config, "encoder.longest", "100");
        set(config, cases[i].name, cases[i].value);
        assert_int_equal(at_config_values(config, &values), ATTN_OK);
        assert_int_equal(
            at_config_longest(values.encoder, ((const at_text_values *)values.input_values)->longest),
            cases[i].longest);
        attn_config_destroy(config);
    }
}

/* ---- memory ---- */

static void test_memory_runs_out(void **state) {
    (void)state;
    int64_t live = counter.live;
    for (int64_t n = 1;; n++) {
        attn_config *config = NULL, *copy = NULL;
        counter.fail_at = n;
        attn_status status = attn_config_create(context, &config);
        if (status == ATTN_OK) status = at_config_copy(config, &copy);
        const char *text = status == ATTN_OK ? attn_config_print(copy) : NULL;
        counter.fail_at = 0;
        if (status != ATTN_OK) assert_int_equal(status, ATTN_OUT_OF_MEMORY);
        if (!text) assert_non_null(strstr(attn_context_error(context), "memory"));
        attn_config_destroy(config);
        attn_config_destroy(copy);
        assert_int_equal(counter.live, live);
        if (text) break;
        assert_true(n < 100);
    }
    assert_true(counter.failures >= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_defaults_of_tasks),
        cmocka_unit_test(test_attention_is_meant),
        cmocka_unit_test(test_defaults_of_sizes),
        cmocka_unit_test(test_defaults_fit),
        cmocka_unit_test(test_grids),
        cmocka_unit_test(test_sequences_together),
        cmocka_unit_test(test_set_and_get),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_words_refused),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_refused),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_meaning),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_failure_gives_nothing),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
