/* arguments.c: reads a command's arguments by its table of flags (see arguments.h). */
#include "arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help.h"
#include "text.h"

enum { NAME_LIMIT = 40, FLAG_LIMIT = 64 };

argument_flag argument_switch(const char *name, bool *on, const char *help) {
    argument_flag flag = {.name = name, .kind = ARGUMENT_SWITCH, .target.on = on, .help = help};
    return flag;
}

argument_flag argument_integer(const char *name, int64_t *integer, const char *value, const char *initial,
                               int64_t lowest, int64_t highest, const char *help) {
    argument_flag flag = {.name = name, .kind = ARGUMENT_INTEGER, .target.integer = integer, .value = value};
    flag.initial = initial;
    flag.lowest = lowest;
    flag.highest = highest;
    flag.help = help;
    return flag;
}

argument_flag argument_size(const char *name, int64_t *bytes, const char *help) {
    return (argument_flag){
        .name = name, .kind = ARGUMENT_SIZE, .target.integer = bytes, .value = "SIZE", .help = help};
}

argument_flag argument_size_or_all(const char *name, int64_t *bytes, const char *help) {
    argument_flag flag = argument_size(name, bytes, help);
    flag.value = "SIZE|all";
    flag.all = true;
    return flag;
}

argument_flag argument_number(const char *name, double *number, const char *value, const char *initial,
                              double minimum, double maximum, const char *help) {
    argument_flag flag = {.name = name, .kind = ARGUMENT_NUMBER, .target.number = number, .value = value};
    flag.initial = initial;
    flag.minimum = minimum;
    flag.maximum = maximum;
    flag.help = help;
    return flag;
}

argument_flag argument_choice(const char *name, int *choice, const char *value, const char *initial,
                              const char *const *choices, const char *help) {
    argument_flag flag = {.name = name, .kind = ARGUMENT_CHOICE, .target.choice = choice, .value = value};
    flag.initial = initial;
    flag.choices = choices;
    flag.help = help;
    return flag;
}

argument_flag argument_text(const char *name, const char **text, const char *value, const char *help) {
    argument_flag flag = {
        .name = name, .kind = ARGUMENT_TEXT, .target.text = text, .value = value, .help = help};
    return flag;
}

argument_flag argument_texts(const char *name, const char **texts, size_t limit, const char *value,
                             const char *help) {
    argument_flag flag = argument_text(name, texts, value, help);
    flag.limit = limit;
    return flag;
}

argument_flag argument_repeated(const char *name, const char **texts, size_t limit, const char *value,
                                const char *help) {
    argument_flag flag = argument_texts(name, texts, limit, value, help);
    flag.repeated = true;
    return flag;
}

argument_flag argument_letter(argument_flag flag, char letter) {
    flag.letter = letter;
    return flag;
}

/* Edits (insert, remove, replace, swap neighbours) that turn one name into the
 * other; both shorter than NAME_LIMIT. Two letters that change places are one
 * typing mistake, and two edits of attn_edit_distance, which also needs a
 * context: here there is none yet. */
static size_t edit_distance(const char *a, const char *b) {
    size_t table[NAME_LIMIT + 1][NAME_LIMIT + 1];
    size_t rows = strlen(a), columns = strlen(b);
    for (size_t i = 0; i <= rows; i++) table[i][0] = i;
    for (size_t j = 0; j <= columns; j++) table[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            size_t best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (table[i - 1][j] + 1 < best) best = table[i - 1][j] + 1;
            if (table[i][j - 1] + 1 < best) best = table[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                table[i - 2][j - 2] + 1 < best) {
                best = table[i - 2][j - 2] + 1;
            }
            table[i][j] = best;
        }
    }
    return table[rows][columns];
}

const char *arguments_nearest(const char *given, const char *const *names, size_t count) {
    size_t length = strlen(given);
    if (length == 0 || length >= NAME_LIMIT) return NULL;
    const char *nearest = NULL;
    size_t nearest_distance = length < 4 ? 2 : length < 8 ? 3 : 4; /* this many edits is another word */
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) >= NAME_LIMIT) continue;
        size_t distance = edit_distance(given, names[i]);
        if (length >= 2 && strncmp(names[i], given, length) == 0) distance = 1; /* the beginning of it */
        if (distance < nearest_distance) {
            nearest = names[i];
            nearest_distance = distance;
        }
    }
    return nearest;
}

void arguments_complain(const char *command, const char *before, const char *given, const char *after,
                        const char *nearest) {
    fprintf(stderr, "attn%s%s: %s", *command != '\0' ? " " : "", command, before);
    text_print_error(stderr, given);
    fputs(after, stderr);
    if (nearest != NULL) {
        fputs("; did you mean ", stderr);
        text_print_error(stderr, nearest);
        fputc('?', stderr);
    }
    fputc('\n', stderr);
}

static argument_result wrong(const argument_list *list) {
    fprintf(stderr, "attn %s --help lists the flags.\n", list->command);
    return ARGUMENTS_WRONG;
}

/* Complains about the value of a flag: "--threads x: must be ...". */
static bool refuse(const argument_list *list, const argument_flag *flag, const char *given,
                   const char *must) {
    char before[NAME_LIMIT + 8];
    snprintf(before, sizeof before, "--%s ", flag->name);
    arguments_complain(list->command, before, given, must, NULL);
    return false;
}

static bool set_integer(const argument_list *list, const argument_flag *flag, const char *given) {
    char *end = NULL;
    char must[96];
    errno = 0;
    long long value = strtoll(given, &end, 10);
    if (errno != 0 || end == given || *end != '\0' || value < flag->lowest || value > flag->highest) {
        if (flag->highest == INT64_MAX) {
            snprintf(must, sizeof must, ": must be a whole number, at least %" PRId64, flag->lowest);
        } else {
            snprintf(must, sizeof must, ": must be a whole number from %" PRId64 " to %" PRId64, flag->lowest,
                     flag->highest);
        }
        return refuse(list, flag, given, must);
    }
    *flag->target.integer = (int64_t)value;
    return true;
}

static bool set_size(const argument_list *list, const argument_flag *flag, const char *given) {
    static const char units[] = "KMGT";
    char *end = NULL;
    if (flag->all && strcmp(given, "all") == 0) {
        *flag->target.integer = INT64_MAX;
        return true;
    }
    errno = 0;
    long long value = strtoll(given, &end, 10);
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;
    if (errno != 0 || end == given || end[unit != NULL] != '\0' || value < 1 || value > INT64_MAX >> shift)
        return refuse(list, flag, given,
                      flag->all ? ": must be a number of bytes like 500, 64K, 100M or 8G, or all"
                                : ": must be a number of bytes like 500, 64K, 100M or 8G");
    *flag->target.integer = (int64_t)value << shift;
    return true;
}

static bool set_number(const argument_list *list, const argument_flag *flag, const char *given) {
    char *end = NULL;
    char must[96];
    double value = strtod(given, &end);
    bool decimal = given[strspn(given, "+-.0123456789eE")] == '\0'; /* not 0x10 */
    if (!decimal || end == given || *end != '\0' || !isfinite(value) || value < flag->minimum ||
        value > flag->maximum) {
        snprintf(must, sizeof must, ": must be a number from %g to %g", flag->minimum, flag->maximum);
        return refuse(list, flag, given, must);
    }
    *flag->target.number = value;
    return true;
}

static bool set_choice(const argument_list *list, const argument_flag *flag, const char *given) {
    char must[128] = ": must be ";
    for (int i = 0; flag->choices[i] != NULL; i++) {
        if (strcmp(flag->choices[i], given) == 0) {
            *flag->target.choice = i;
            return true;
        }
        size_t used = strlen(must);
        const char *link = i == 0 ? "" : flag->choices[i + 1] == NULL ? " or " : ", ";
        snprintf(must + used, sizeof must - used, "%s%s", link, flag->choices[i]);
    }
    return refuse(list, flag, given, must);
}

static bool set_text(const argument_list *list, const argument_flag *flag, const char *given) {
    size_t at = 0;
    while (at < flag->limit && flag->target.text[at] != NULL) at++;
    if (flag->limit > 0 && at == flag->limit) return refuse(list, flag, given, ": too many values");
    flag->target.text[at] = given;
    return true;
}

static bool set_value(const argument_list *list, const argument_flag *flag, const char *given) {
    switch (flag->kind) {
    case ARGUMENT_SWITCH: *flag->target.on = true; return true;
    case ARGUMENT_INTEGER: return set_integer(list, flag, given);
    case ARGUMENT_SIZE: return set_size(list, flag, given);
    case ARGUMENT_NUMBER: return set_number(list, flag, given);
    case ARGUMENT_CHOICE: return set_choice(list, flag, given);
    case ARGUMENT_TEXT: return set_text(list, flag, given);
    }
    return false;
}

/* The flag whose name is the first `length` bytes of `name`. */
static const argument_flag *find_flag(const argument_list *list, const char *name, size_t length) {
    for (size_t i = 0; i < list->flag_count; i++) {
        const argument_flag *flag = &list->flags[i];
        if (strlen(flag->name) == length && strncmp(flag->name, name, length) == 0) return flag;
    }
    return NULL;
}

/* The flag that had this name in version 0.1, where it was renamed: the old name works for one more version.
 */
static const argument_flag *find_renamed(const argument_list *list, const char *name, size_t length) {
    static const char *const renamed[][2] = {{"columns", "width"}};
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++) {
        if (strlen(renamed[i][0]) != length || strncmp(renamed[i][0], name, length) != 0) continue;
        const argument_flag *flag = find_flag(list, renamed[i][1], strlen(renamed[i][1]));
        if (flag != NULL)
            fprintf(stderr, "attn %s: --%s is now called --%s; the next version will not know the old name\n",
                    list->command, renamed[i][0], renamed[i][1]);
        return flag;
    }
    return NULL;
}

static void unknown_flag(const argument_list *list, const char *name, size_t length) {
    const char *names[FLAG_LIMIT];
    char given[NAME_LIMIT], meant[NAME_LIMIT + 3];
    size_t count = 0;
    for (; count < list->flag_count && count < FLAG_LIMIT - 1; count++)
        names[count] = list->flags[count].name;
    names[count++] = "help";
    snprintf(given, sizeof given, "%.*s", (int)(length < NAME_LIMIT ? length : NAME_LIMIT), name);
    const char *nearest = arguments_nearest(given, names, count);
    if (nearest != NULL) snprintf(meant, sizeof meant, "--%s", nearest);
    arguments_complain(list->command, "there is no flag --", given, "", nearest != NULL ? meant : NULL);
}

static const argument_flag *find_letter(const argument_list *list, const char *argument) {
    for (size_t i = 0; i < list->flag_count; i++) {
        const argument_flag *flag = &list->flags[i];
        if (flag->letter != '\0' && argument[1] == flag->letter && argument[2] == '\0') return flag;
    }
    return NULL;
}

/* Whether an argument is no flag: "-" is standard input. */
static bool is_value(const char *argument) { return argument[0] != '-' || argument[1] == '\0'; }

/* Reads the flag at arguments[*at] and, where it has one, its value; moves *at
 * to the last argument used. */
static bool read_flag(const argument_list *list, int count, char **arguments, int *at) {
    const char *name = arguments[*at] + 2;
    bool is_short = arguments[*at][1] != '-';
    const char *equals = is_short ? NULL : strchr(name, '=');
    size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const argument_flag *flag = is_short ? find_letter(list, arguments[*at]) : find_flag(list, name, length);
    if (flag == NULL && !is_short) flag = find_renamed(list, name, length);
    if (flag == NULL) {
        unknown_flag(list, name, length);
        return false;
    }
    if (flag->kind == ARGUMENT_SWITCH) {
        if (equals != NULL) return refuse(list, flag, equals + 1, ": this flag takes no value");
        return set_value(list, flag, "");
    }
    if (equals != NULL) return set_value(list, flag, equals + 1);
    if (*at + 1 >= count || strncmp(arguments[*at + 1], "--", 2) == 0) {
        arguments_complain(list->command, "--", flag->name, " needs a value", NULL);
        return false;
    }
    *at += 1;
    if (!set_value(list, flag, arguments[*at])) return false;
    while (flag->limit > 0 && !flag->repeated && *at + 1 < count && is_value(arguments[*at + 1])) {
        *at += 1;
        if (!set_value(list, flag, arguments[*at])) return false;
    }
    return true;
}

static bool asks_for_help(const char *argument) {
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

argument_result arguments_read(argument_list *list, int count, char **arguments) {
    list->positional_count = 0;
    for (size_t i = 0; i < list->flag_count; i++) {
        const argument_flag *flag = &list->flags[i];
        if (flag->initial != NULL && !set_value(list, flag, flag->initial)) return wrong(list);
    }
    bool flags_over = false;
    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];
        if (!flags_over && asks_for_help(argument)) {
            help_print(list, i + 1 < count ? arguments[i + 1] : "");
            return ARGUMENTS_HELPED;
        }
        if (!flags_over && strcmp(argument, "--") == 0) {
            flags_over = true;
        } else if (!flags_over && (strncmp(argument, "--", 2) == 0 || find_letter(list, argument) != NULL)) {
            if (!read_flag(list, count, arguments, &i)) return wrong(list);
        } else if (!flags_over && argument[0] == '-' && argument[1] != '\0') {
            arguments_complain(list->command, "there is no flag ", argument, "; flags begin with two dashes",
                               NULL);
            return wrong(list);
        } else if (list->positional_count == list->positional_limit) {
            arguments_complain(list->command, "one argument too many: ", argument, "", NULL);
            return wrong(list);
        } else {
            list->positional[list->positional_count++] = argument;
        }
    }
    return ARGUMENTS_READ;
}
