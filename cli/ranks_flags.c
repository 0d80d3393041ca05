/* ranks_flags.c: whether all ranks were started with the same flags (see ranks.h). */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

/* What may differ: what does not change what is computed. */
static bool may_differ(const argument_flag *flag) {
    static const char *const own[] = {"threads", "memory", "quiet", "save-every", "keep-last", "force"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(flag->name, own[i]) == 0) return true;
    return false;
}

static bool names_files(const argument_flag *flag) {
    return flag->value != NULL && (strcmp(flag->value, "FILE") == 0 || strcmp(flag->value, "MODEL") == 0);
}

/* Where files are may differ, but not how many there are, nor which is standard input: ranks send them to
 * each other. "FILE FILE", if that is what one is called. */
static void print_files(FILE *to, const char *const *paths, size_t most, const char *called) {
    for (size_t i = 0; i < most && paths[i] != NULL; i++)
        fprintf(to, "%s%s", i > 0 ? " " : "", strcmp(paths[i], "-") == 0 ? "-" : called);
}

/* "2", of --seed 2; "": it is not given. */
static void print_value(FILE *to, const argument_flag *flag) {
    switch (flag->kind) {
    case ARGUMENT_SWITCH: fputs(*flag->target.on ? "on" : "", to); break;
    case ARGUMENT_INTEGER:
        if (*flag->target.integer != INT64_MIN) fprintf(to, "%" PRId64, *flag->target.integer);
        break;
    case ARGUMENT_SIZE:
        if (*flag->target.integer > 0) fprintf(to, "%" PRId64, *flag->target.integer);
        break;
    case ARGUMENT_NUMBER:
        if (!isnan(*flag->target.number)) fprintf(to, "%.17g", *flag->target.number);
        break;
    case ARGUMENT_CHOICE: fprintf(to, "%d", *flag->target.choice); break;
    case ARGUMENT_TEXT:
        if (names_files(flag) && flag->limit > 0)
            print_files(to, flag->target.text, flag->limit, "FILE");
        else if (names_files(flag))
            print_files(to, flag->target.text, 1, "given");
        else
            fputs(*flag->target.text != NULL ? *flag->target.text : "", to);
        break;
    }
    fputc('\0', to);
}

/* The values one after another, each ended by a zero: the same number of them in every rank of this version.
 * From malloc; NULL: there is no memory. */
static char *print_flags(const argument_list *list, size_t *count) {
    char *text = NULL;
    FILE *to = open_memstream(&text, count);
    if (to == NULL) return NULL;
    bool task = strcmp(list->command, "train") == 0 && list->positional_count > 0; /* before the files */
    fprintf(to, "%s%c%s%c", list->command, '\0', task ? list->positional[0] : "", '\0');
    print_files(to, list->positional + task, list->positional_count - task, "FILE");
    fputc('\0', to);
    for (size_t i = 0; i < list->flag_count; i++)
        if (!may_differ(&list->flags[i])) print_value(to, &list->flags[i]);
    if (fclose(to) == 0) return text;
    free(text);
    return NULL;
}

static int refuse(const char *flag, const char *own, const char *first) {
    char text[400];
    snprintf(text, sizeof text, "%s is %.100s here, and %.100s in rank 0: give all ranks the same flags",
             flag, *own != '\0' ? own : "not given", *first != '\0' ? first : "not given");
    arguments_complain(ranks_command(), "", text, "", NULL);
    return EXIT_MISUSED;
}

/* What place `place` of the texts is about. */
static void name_value(const argument_list *list, size_t place, char *name, size_t room) {
    static const char *const first[] = {"the command", "the task", "the list of files"};
    enum { FIRST = sizeof first / sizeof first[0] };
    snprintf(name, room, "%s", first[place < FIRST ? place : 0]);
    for (size_t i = 0, at = FIRST; i < list->flag_count && at <= place; i++) {
        if (may_differ(&list->flags[i])) continue;
        snprintf(name, room, "--%s", list->flags[i].name);
        at++;
    }
}

/* Goes through both texts, value by value. */
static int compare(const argument_list *list, const char *own, size_t count, const char *first,
                   size_t other) {
    const char *end = own + count, *other_end = first + other;
    char name[64];
    for (size_t place = 0; own < end && first < other_end; place++) {
        if (strcmp(own, first) != 0) {
            name_value(list, place, name, sizeof name);
            return refuse(name, own, first);
        }
        own += strlen(own) + 1;
        first += strlen(first) + 1;
    }
    return EXIT_DONE;
}

int ranks_same_flags(const argument_list *list) {
    if (ranks_count() < 2) return EXIT_DONE;
    size_t count = 0;
    char *own = print_flags(list, &count), *first = NULL;
    uint64_t other = own != NULL ? count : 0;
    int code = ranks_broadcast(&other, sizeof other);
    if (code == EXIT_DONE) first = calloc((size_t)other + 1, 1);
    if (code == EXIT_DONE && (own == NULL || first == NULL)) {
        fprintf(stderr, "attn %s: out of memory\n", ranks_command());
        code = EXIT_FAILED;
    }
    code = ranks_settle(code, NULL);
    if (code == EXIT_DONE && ranks_rank() == 0) memcpy(first, own, count);
    if (code == EXIT_DONE) code = ranks_broadcast(first, (size_t)other);
    if (code == EXIT_DONE) code = ranks_settle(compare(list, own, count, first, (size_t)other), NULL);
    free(own);
    free(first);
    return code;
}
