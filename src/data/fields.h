/* fields.h: named values with a range, a default and a line of help.
 *
 * A configurable part of the library (a task, a kind of input, an encoder, a head) describes its values as
 * one table of fields, which refer to members of its own struct. Reading, checking, printing and documenting
 * values use only these tables (model/config.c for configurations, model/predictor.c for the settings of
 * predictions).
 */
#ifndef AT_DATA_FIELDS_H
#define AT_DATA_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <attn/context.h>

enum { AT_FIELD_TEXT_BYTES = 256 }; /* room for a text value */

typedef enum at_field_kind {
    AT_FIELD_SWITCH, /* int, false or true */
    AT_FIELD_CHOICE, /* int, the index of a word in `choices` */
    AT_FIELD_INTEGER,
    AT_FIELD_NUMBER, /* double */
    AT_FIELD_TEXT    /* char[AT_FIELD_TEXT_BYTES] */
} at_field_kind;

typedef struct at_field {
    const char *name; /* "group.name", or "name" */
    at_field_kind kind;
    size_t place;               /* in the struct of its part */
    double minimum, maximum;    /* of numbers */
    const char *const *choices; /* ends with NULL */
    const char *initial;        /* the default, as one would type it */
    const char *help;
    const char *before; /* what older model files mean, which lack it; NULL: the default of today */
} at_field;

/* A flag of the command line that sets a field; value: what stands for it in the help, NULL: a switch. */
typedef struct at_flag {
    const char *flag, *name, *value, *help;
} at_flag;

typedef struct at_fields {
    const at_field *list;
    int count;
    size_t bytes; /* of the part's struct */
    const at_flag *flags;
    int flag_count;
} at_fields;

#define AT_CHOICE(name, type, member, list, initial, help)                                                   \
    { name, AT_FIELD_CHOICE, offsetof(type, member), 0, 0, list, initial, help, NULL }
#define AT_SWITCH(name, type, member, initial, help)                                                         \
    { name, AT_FIELD_SWITCH, offsetof(type, member), 0, 0, NULL, initial, help, NULL }
#define AT_INTEGER(name, type, member, minimum, maximum, initial, help)                                      \
    { name, AT_FIELD_INTEGER, offsetof(type, member), minimum, maximum, NULL, initial, help, NULL }
/* A field that older model files lack, and what was done then. */
#define AT_LATER_SWITCH(name, type, member, initial, before, help)                                           \
    { name, AT_FIELD_SWITCH, offsetof(type, member), 0, 0, NULL, initial, help, before }
#define AT_LATER_INTEGER(name, type, member, minimum, maximum, initial, before, help)                        \
    { name, AT_FIELD_INTEGER, offsetof(type, member), minimum, maximum, NULL, initial, help, before }
#define AT_NUMBER(name, type, member, minimum, maximum, initial, help)                                       \
    { name, AT_FIELD_NUMBER, offsetof(type, member), minimum, maximum, NULL, initial, help, NULL }
#define AT_TEXT(name, type, member, initial, help)                                                           \
    { name, AT_FIELD_TEXT, offsetof(type, member), 0, 0, NULL, initial, help, NULL }

#define AT_MANY 1e15 /* integers up to here are exact in a double, and in JSON */

/* A default that depends on other values: it counts where the task is `task` (NULL: any), the field named
 * before the '=' of `when` has the value after it (NULL: always), and there are at least `examples` to learn
 * from. Later rules win over earlier ones. */
typedef struct at_default {
    const char *task, *when;
    int64_t examples;
    const char *name, *value;
} at_default;

/* Sets the value of a field in the struct at `values`. Errors: INVALID_ARGUMENT, naming the field and what it
 * can be. */
attn_status at_field_set(attn_context *context, const at_field *field, void *values, const char *text);
/* The value as text, into AT_FIELD_TEXT_BYTES bytes; numbers with as few digits as give the same number
 * again. */
void at_field_write(const at_field *field, const void *values, char *text);

/* Whether text is a decimal number, and nothing else: no infinities, no hexadecimal. *number is infinite if
 * it is too large for one. */
int at_decimal(const char *text, double *number);

/* How many letters have to be replaced, left out or put in to turn one name into the other; 99 for names of
 * more than 62 bytes. */
int at_name_distance(const char *a, const char *b);

#endif
