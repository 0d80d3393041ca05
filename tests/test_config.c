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

static void test_table(void **state) {
    (void)state;
    assert_int_equal(attn_config_count(), AT_FIELDS);
    assert_null(attn_config_name(-1));
    assert_null(attn_config_name(AT_FIELDS));
    assert_null(attn_config_help(-1));
    assert_null(attn_config_help(AT_FIELDS));
    for (int i = 0; i < AT_FIELDS; i++) {
        const at_field *field = &at_fields[i];
        assert_string_equal(attn_config_name(i), field->name);
        assert_ptr_equal(attn_config_help(i), field->help);
        assert_non_null(field->help);
        assert_null(strchr(field->help, '\n'));
        assert_true((field->kind == AT_FIELD_CHOICE) == (field->choices != NULL));
        assert_true(field->minimum <= field->maximum);
        const char *dot = strchr(field->name, '.');
        assert_true(!dot || !strchr(dot + 1, '.'));
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(field->name, at_fields[j].name);
            assert_true(field->place != at_fields[j].place);
        }
        /* the fields of a group stand together, as they are printed */
        size_t length = dot ? (size_t)(dot - field->name) + 1 : 0;
        int left = 0;
        for (int j = i - 1; j >= 0; j--) {
            int same = length ? strncmp(field->name, at_fields[j].name, length) == 0
                              : !strchr(at_fields[j].name, '.');
            if (same && left) fail_msg("%s stands apart from its group", field->name);
            left |= !same;
        }
    }
}

/* The names of a choice: task, text.unit, encoder.kind. */
static const char *choice(const char *name, int number) {
    for (int i = 0; i < AT_FIELDS; i++)
        if (strcmp(at_fields[i].name, name) == 0) return at_fields[i].choices[number < 0 ? 0 : number];
    fail_msg("there is no %s", name);
    return "";
}

/* A configuration for which a rule counts; a rule for the unit itself counts where none was typed. */
static attn_config *fitting(const at_default *rule) {
    attn_config *config = create();
    set(config, "task", choice("task", rule->task));
    if (strcmp(rule->name, "text.unit") != 0) set(config, "text.unit", choice("text.unit", rule->unit));
    set(config, "encoder.kind", choice("encoder.kind", rule->encoder));
    char examples[32];
    snprintf(examples, sizeof examples, "%" PRId64, rule->examples);
    set(config, "training.examples", examples);
    return config;
}

static int covers(const at_default *rule, const at_default *other) {
    return (rule->task < 0 || rule->task == (other->task < 0 ? 0 : other->task)) &&
           (rule->unit < 0 || rule->unit == (other->unit < 0 ? 0 : other->unit)) &&
           (rule->encoder < 0 || rule->encoder == (other->encoder < 0 ? 0 : other->encoder)) &&
           rule->examples <= other->examples;
}

/* A default for many examples counts from the number that it names on, and not against what was typed. */
static void test_defaults_of_sizes(void **state) {
    (void)state;
    int found = 0;
    for (int d = 0; d < at_default_count; d++) {
        const at_default *rule = &at_defaults[d];
        if (rule->examples == 0) continue;
        attn_config *config = fitting(rule);
        char many[AT_CONFIG_TEXT], fewer[32];
        strcpy(many, attn_config_get(config, rule->name));
        snprintf(fewer, sizeof fewer, "%" PRId64, rule->examples - 1);
        set(config, "training.examples", fewer);
        found += strcmp(attn_config_get(config, rule->name), many) != 0;
        for (int i = 0; i < AT_FIELDS; i++)
            if (strcmp(at_fields[i].name, rule->name) == 0) set(config, rule->name, at_fields[i].initial);
        set(config, "training.examples", "1000000");
        assert_true(strcmp(attn_config_get(config, rule->name), many) != 0);
        attn_config_destroy(config);
    }
    assert_true(found >= 2);
}

/* The last rule that fits counts, and none against what was typed. */
static void test_defaults_of_tasks(void **state) {
    (void)state;
    for (int d = 0; d < at_default_count; d++) {
        const at_default *rule = &at_defaults[d], *last = rule;
        attn_config *config = fitting(rule), *typed = create();
        for (int e = d + 1; e < at_default_count; e++)
            if (strcmp(at_defaults[e].name, rule->name) == 0 && covers(&at_defaults[e], rule))
                last = &at_defaults[e];
        set(typed, rule->name, last->value);
        char value[AT_CONFIG_TEXT];
        strcpy(value, attn_config_get(typed, rule->name));
        assert_string_equal(attn_config_get(config, rule->name), value);
        for (int i = 0; i < AT_FIELDS; i++) {
            if (strcmp(at_fields[i].name, rule->name) != 0) continue;
            set(config, rule->name, at_fields[i].initial);
            set(typed, rule->name, at_fields[i].initial);
            strcpy(value, attn_config_get(typed, rule->name));
            assert_string_equal(attn_config_get(config, rule->name), value);
        }
        attn_config_destroy(config);
        attn_config_destroy(typed);
    }
}

/* What failed was not given either: a default that depends on what is set later still counts. */
static void test_failure_gives_nothing(void **state) {
    (void)state;
    for (int d = 0; d < at_default_count; d++) {
        const at_default *rule = &at_defaults[d];
        attn_config *config = fitting(rule);
        char before[AT_CONFIG_TEXT], json[512];
        strcpy(before, attn_config_get(config, rule->name));
        for (int i = 0; i < AT_FIELDS; i++) {
            if (strcmp(at_fields[i].name, rule->name) != 0) continue;
            snprintf(json, sizeof json, "{\"%s\": \"%s\", \"no such name\": 1}", rule->name,
                     at_fields[i].initial);
        }
        refused(parse(config, json), "some.json: ", "no such name");
        refused(attn_config_set(config, rule->name, "no such value"), rule->name, "");
        assert_string_equal(attn_config_get(config, rule->name), before);
        attn_config_destroy(config);
    }
}

/* All defaults of every task, unit and encoder that go together are values that can be built from. */
static void test_defaults_fit(void **state) {
    (void)state;
    static const char *const tasks[] = {"tag", "classify", "regress", "seq2seq", "lm"};
    static const char *const units[] = {"words", "chars", "bytes", "subwords", "symbols", "auto"};
    static const char *const encoders[] = {"attention", "rnn", "cnn", "fc"};
    for (int task = 0; task < 5; task++) {
        for (int unit = 0; unit < 6; unit++) {
            for (int encoder = 0; encoder < 4; encoder++) {
                attn_config *config = create();
                const at_config *values = NULL;
                set(config, "task", tasks[task]);
                set(config, "text.unit", units[unit]);
                set(config, "encoder.kind", encoders[encoder]);
                attn_status status = at_config_values(config, &values);
                if (task == AT_TASK_TAG && unit != AT_UNIT_WORDS) {
                    refused(status, "text.unit", "text.scheme");
                    assert_null(values);
                } else if (task != AT_TASK_SEQ2SEQ && unit == AT_UNIT_AUTO) {
                    refused(status, "text.unit auto", "seq2seq");
                    assert_null(values);
                } else if (task == AT_TASK_LM && (unit == AT_UNIT_WORDS || unit == AT_UNIT_SYMBOLS)) {
                    refused(status, "task lm", "text.unit has to be chars, bytes or subwords");
                    assert_null(values);
                } else {
                    assert_int_equal(status, ATTN_OK);
                    assert_int_equal(values->task, task);
                    assert_int_equal(values->unit, unit);
                    assert_int_equal(values->encoder, encoder);
                }
                attn_config_destroy(config);
            }
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
            const at_config *values = NULL;
            set(config, "task", wrong[i][0]);
            set(config, "encoder.kind", encoder ? "rnn" : "attention");
            set(config, wrong[i][1], wrong[i][2]);
            if (wrong[i][3]) set(config, wrong[i][3], wrong[i][4]);
            refused(at_config_values(config, &values), wrong[i][5], "");
            assert_null(values);
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
        snprintf(text, AT_CONFIG_TEXT, "%" PRId64,
                 (int64_t)(atof(field->initial) < field->maximum ? field->maximum : field->minimum));
        return;
    case AT_FIELD_NUMBER:
        snprintf(text, AT_CONFIG_TEXT, "%.17g", field->minimum + (field->maximum - field->minimum) / 3);
        return;
    }
}

static void test_set_and_get(void **state) {
    (void)state;
    attn_config *all = create(), *again = create();
    for (int i = 0; i < AT_FIELDS; i++) {
        const at_field *field = &at_fields[i];
        attn_config *config = create();
        char value[AT_CONFIG_TEXT], got[AT_CONFIG_TEXT];
        if (field->kind != AT_FIELD_TEXT) assert_string_not_equal(attn_config_get(config, field->name), "");
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
        set(all, field->name, value);
    }
    char *text = printed(all);
    assert_int_equal(parse(again, text), ATTN_OK);
    char *text_again = printed(again);
    assert_string_equal(text, text_again);
    for (int i = 0; i < AT_FIELDS; i++) {
        char got[AT_CONFIG_TEXT];
        strcpy(got, attn_config_get(all, at_fields[i].name));
        assert_string_equal(got, attn_config_get(again, at_fields[i].name));
    }
    free(text);
    free(text_again);
    attn_config_destroy(all);
    attn_config_destroy(again);
}

static void test_ranges(void **state) {
    (void)state;
    for (int i = 0; i < AT_FIELDS; i++) {
        const at_field *field = &at_fields[i];
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
    for (int i = 0; i < AT_FIELDS; i++) {
        const at_field *field = &at_fields[i];
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
    char text[AT_CONFIG_TEXT + 1];
    memset(text, 'x', sizeof text);
    text[AT_CONFIG_TEXT] = 0;
    refused(attn_config_set(config, "reader.column", text), "reader.column", "256 bytes");
    text[AT_CONFIG_TEXT - 1] = 0;
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
        {{"output.crf", "true", "output.members", "2"}, "output.crf", "output.members"},
        {{"output.crf", "true"}, NULL, NULL},
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
        {{"encoder.mix", "attention,gru"}, "\"gru\"", "attention, rnn, cnn, fc"},
        {{"encoder.mix", "attention,"}, "\"\"", "encoder.mix"},
        {{"encoder.mix", "fc,rnn"}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attn_config *config = create();
        const at_config *values = NULL;
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
            assert_non_null(values);
            assert_int_equal(options.size, sizeof options);
        } else {
            refused(status, cases[i].part, cases[i].other);
            assert_null(values);
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

    const at_config *values;
    attn_mixer_kind kinds[3];
    attn_encoder_options encoder;
    set(config, "encoder.layers", "3");
    set(config, "encoder.mix", "cnn,attention,rnn");
    set(config, "encoder.left", "7");
    assert_int_equal(at_config_values(config, &values), ATTN_OK);
    at_config_encoder(values, &encoder, kinds);
    assert_ptr_equal(encoder.kinds, kinds);
    assert_int_equal(kinds[0], ATTN_MIXER_CNN);
    assert_int_equal(kinds[1], ATTN_MIXER_ATTENTION);
    assert_int_equal(kinds[2], ATTN_MIXER_RNN);
    assert_int_equal(encoder.block.mixer.attention.left, 7);
    assert_true(encoder.block.mixer.attention.right == ATTN_UNLIMITED);
    assert_int_equal(encoder.block.inner, 4 * values->columns);

    attn_optimizer_options optimizer;
    for (int64_t steps = 1; steps < 100; steps += 7) { /* any number of steps is one that can be run */
        at_config_optimizer(values, steps, &optimizer);
        assert_true(optimizer.total_steps > optimizer.warmup_steps);
        assert_true(optimizer.average >= 0 && optimizer.average <= values->average);
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
        const at_config *values;
        set(config, "text.longest", "300");
        set(config, "encoder.longest", "100");
        set(config, cases[i].name, cases[i].value);
        assert_int_equal(at_config_values(config, &values), ATTN_OK);
        assert_int_equal(at_config_longest(values), cases[i].longest);
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
        cmocka_unit_test(test_defaults_of_sizes),
        cmocka_unit_test(test_defaults_fit),
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
