/* fields.c: one value of a table of fields: from text, to text. */
#include "data/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "data/edit_distance.h"
#include "data/symbols/unicode.h"

static attn_status set_choice(attn_context *context, const at_field *field, const char *text, int *target) {
    char list[256] = "";
    for (int c = 0; field->choices[c]; c++) {
        if (strcmp(field->choices[c], text) == 0) {
            *target = c;
            return ATTN_OK;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", c ? ", " : "", field->choices[c]);
    }
    return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is \"%.60s\"; it can be: %s", field->name, text, list);
}

int at_decimal(const char *text, double *number) {
    char *end;
    if (text[strspn(text, "+-.0123456789eE")]) return 0;
    *number = strtod(text, &end);
    return *end == 0 && end != text;
}

static attn_status set_number(attn_context *context, const at_field *field, const char *text, void *target) {
    double number;
    int whole = field->kind == AT_FIELD_INTEGER;
    if (!at_decimal(text, &number) || !isfinite(number) || (whole && number != floor(number))) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is \"%.60s\"; it has to be a%s number",
                       field->name, text, whole ? " whole" : "");
    }
    if (number < field->minimum || number > field->maximum) {
        return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is %.60s; it can be from %.15g to %.15g",
                       field->name, text, field->minimum, field->maximum);
    }
    if (number == 0)
        number = 0; /* JSON reads -0 as the integer 0: a printed -0 would not be the value again */
    int64_t integer = (int64_t)number;
    if (whole) {
        memcpy(target, &integer, sizeof integer);
    } else {
        memcpy(target, &number, sizeof number);
    }
    return ATTN_OK;
}

attn_status at_field_set(attn_context *context, const at_field *field, void *values, const char *text) {
    char *target = (char *)values + field->place;
    switch (field->kind) {
    case AT_FIELD_CHOICE: return set_choice(context, field, text, (int *)(void *)target);
    case AT_FIELD_SWITCH: {
        int on = strcmp(text, "true") == 0;
        if (!on && strcmp(text, "false") != 0) {
            return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is \"%.60s\"; it can be true or false",
                           field->name, text);
        }
        memcpy(target, &on, sizeof on);
        return ATTN_OK;
    }
    case AT_FIELD_TEXT:
        if (strlen(text) >= AT_FIELD_TEXT_BYTES) {
            return at_fail(context, ATTN_INVALID_ARGUMENT, "%s has %zu bytes, at most %d are possible",
                           field->name, strlen(text), AT_FIELD_TEXT_BYTES - 1);
        }
        if (at_unicode_check(text, strlen(text)) != strlen(text))
            return at_fail(context, ATTN_INVALID_ARGUMENT, "%s is not UTF-8", field->name);
        memset(target, 0, AT_FIELD_TEXT_BYTES);
        memcpy(target, text, strlen(text));
        return ATTN_OK;
    case AT_FIELD_INTEGER:
    case AT_FIELD_NUMBER: break;
    }
    return set_number(context, field, text, target);
}

/* The shortest text that gives the same number again: 10, not 1e+01. */
static void write_number(double number, char *text) {
    char tried[AT_FIELD_TEXT_BYTES];
    size_t shortest = AT_FIELD_TEXT_BYTES;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(tried, sizeof tried, "%.*g", digits, number);
        if (strtod(tried, NULL) != number || strlen(tried) >= shortest) continue;
        shortest = strlen(tried);
        memcpy(text, tried, shortest + 1);
    }
}

void at_field_write(const at_field *field, const void *values, char *text) {
    const char *source = (const char *)values + field->place;
    int choice;
    int64_t integer;
    double number;
    switch (field->kind) {
    case AT_FIELD_CHOICE:
    case AT_FIELD_SWITCH:
        memcpy(&choice, source, sizeof choice);
        snprintf(text, AT_FIELD_TEXT_BYTES, "%s",
                 field->kind == AT_FIELD_CHOICE ? field->choices[choice] : (choice ? "true" : "false"));
        return;
    case AT_FIELD_INTEGER:
        memcpy(&integer, source, sizeof integer);
        snprintf(text, AT_FIELD_TEXT_BYTES, "%" PRId64, integer);
        return;
    case AT_FIELD_NUMBER:
        memcpy(&number, source, sizeof number);
        write_number(number, text);
        return;
    case AT_FIELD_TEXT: memcpy(text, source, AT_FIELD_TEXT_BYTES); return;
    }
}

int at_name_distance(const char *a, const char *b) {
    enum { MOST = 62 };
    int32_t letters[2][MOST];
    int64_t row[MOST];
    const char *names[] = {a, b};
    size_t counts[] = {strlen(a), strlen(b)};
    if (counts[0] > MOST || counts[1] > MOST) return 99;
    for (int n = 0; n < 2; n++)
        for (size_t i = 0; i < counts[n]; i++) letters[n][i] = names[n][i];
    return (int)at_edit_distance(letters[0], (int64_t)counts[0], letters[1], (int64_t)counts[1], row);
}
