/* arguments.h: the arguments of a command, from one table of its flags.
 *
 * A flag is a row of the table: its name, kind, target, default, range and
 * help. The same table reads the command line (--name VALUE, --name=VALUE, and -n VALUE for flags with a
 * letter), checks numbers and ranges, and prints the help, so that they cannot differ. A mistake is reported
 * on standard error with the flag's name, and a flag that does not exist with the nearest one that does.
 */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a command returns to the shell. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_MISUSED = 2 };

typedef enum argument_kind {
    ARGUMENT_SWITCH,  /* target.on: true if given */
    ARGUMENT_INTEGER, /* target.integer, between lowest and highest */
    ARGUMENT_SIZE,   /* target.integer, bytes: 500, 64K, 100M, 8G; INT64_MAX for all, where that is allowed */
    ARGUMENT_NUMBER, /* target.number, between minimum and maximum */
    ARGUMENT_CHOICE, /* target.choice: the index in choices */
    ARGUMENT_TEXT    /* target.text: points into the arguments */
} argument_kind;

typedef struct argument_flag {
    const char *name; /* without the dashes */
    char letter;      /* 0, or a short form: -o */
    argument_kind kind;
    union {
        bool *on;
        int64_t *integer;
        double *number;
        int *choice;
        const char **text;
    } target;
    const char
        *value; /* how the help names the value: "N"; NULL for switches, and for choices to list them */
    const char *initial; /* the default, as one would type it; NULL: the target keeps what it holds */
    const char *help;
    int64_t lowest, highest;
    double minimum, maximum;
    const char *const *choices; /* ends with NULL; TEXT: NULL, or words that the value often is */
    bool all;                   /* SIZE: "all" is one, too */
    size_t limit; /* TEXT: 0, or so many values go to target.text[0], [1], ...: what follows and is no flag */
    bool repeated; /* then: only one value follows the flag, which may be given again */
} argument_flag;

/* A row of the table each. `value` is what the help calls the value (NULL for a
 * choice: it lists them), `initial` the default as one would type it. */
argument_flag argument_switch(const char *name, bool *on, const char *help);
argument_flag argument_integer(const char *name, int64_t *integer, const char *value, const char *initial,
                               int64_t lowest, int64_t highest, const char *help);
/* A number of bytes, at least 1; the target keeps what it holds if it is not given. */
argument_flag argument_size(const char *name, int64_t *bytes, const char *help);
argument_flag argument_size_or_all(const char *name, int64_t *bytes, const char *help);
argument_flag argument_number(const char *name, double *number, const char *value, const char *initial,
                              double minimum, double maximum, const char *help);
argument_flag argument_choice(const char *name, int *choice, const char *value, const char *initial,
                              const char *const *choices, const char *help);
argument_flag argument_text(const char *name, const char **text, const char *value, const char *help);
/* Up to `limit` values: --dev FILE [FILE...], or --dev FILE --dev FILE. */
argument_flag argument_texts(const char *name, const char **texts, size_t limit, const char *value,
                             const char *help);
/* Up to `limit` values, each after the flag: -o a.svg -o a.html. */
argument_flag argument_repeated(const char *name, const char **texts, size_t limit, const char *value,
                                const char *help);
argument_flag argument_letter(argument_flag flag, char letter); /* the same flag with a short form */

typedef struct argument_list {
    const char *command; /* "bench" */
    const char *usage;   /* the usage after "attn bench": "[attention|gemm|all] [flags]" */
    const char *about;   /* what the command does: lines, each ended */
    const char *examples;
    /* Names of the flags that --help lists, the most useful first, with a space between two; the others are
     * in
     * "--help all". NULL: all, in the order of the table. */
    const char *first;
    const char *const *words; /* what the first argument can be, NULL after the last; NULL: a file */
    const argument_flag *flags;
    size_t flag_count;

    /* What is not a flag, in order; at most positional_limit of them. */
    const char **positional;
    size_t positional_limit;
    size_t positional_count;
} argument_list;

typedef enum argument_result {
    ARGUMENTS_READ,   /* continue */
    ARGUMENTS_HELPED, /* --help was printed: EXIT_DONE */
    ARGUMENTS_WRONG   /* the mistake was printed: EXIT_MISUSED */
} argument_result;

/* Sets every target to its default, then reads the arguments after the
 * command's name. */
argument_result arguments_read(argument_list *list, int count, char **arguments);

/* The one of `names` that is nearest to `given` by edit distance, or NULL if
 * none is near enough to be what was meant. */
const char *arguments_nearest(const char *given, const char *const *names, size_t count);

/* Prints "attn COMMAND: ", `before`, `given` (escaped: it may be anything) and
 * `after` on standard error and, if `nearest` is not NULL, the question whether
 * that was meant. */
void arguments_complain(const char *command, const char *before, const char *given, const char *after,
                        const char *nearest);

#endif
