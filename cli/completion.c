/* completion.c: scripts that complete commands, flags and their values in bash and zsh (see help.h).
 *
 * The bash script is one function with a case for each command. That of zsh has a function for each command,
 * which shows the help of the flags as well. Values that are words of a choice are completed as such, values
 * that are called FILE, MODEL, FOLDER or PATH as names of files.
 */
#include "help.h"

#include <stdio.h>
#include <string.h>

static bool is_file(const argument_flag *flag) {
    static const char *const names[] = {"FILE", "MODEL", "FOLDER", "PATH"};
    for (size_t i = 0; flag->value != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(flag->value, names[i]) == 0) return true;
    return false;
}

static void print_words(const char *const *words) {
    for (size_t i = 0; words[i] != NULL; i++) printf("%s%s", i > 0 ? " " : "", words[i]);
}

/* ---- bash ---- */

static const char bash_begin[] =
    "# Completion of attn for bash: printed by `attn help bash`.\n"
    "_attn() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local flags= first= values= any=yes\n"
    "    COMPREPLY=()\n"
    "    if [ \"$current\" = = ]; then # --flag=\n"
    "        current=\n"
    "    elif [ \"$previous\" = = ]; then\n"
    "        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    case ${COMP_WORDS[1]} in\n";

static const char bash_end[] =
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        values=$commands\n"
    "    elif [ -z \"$values\" ] && [ \"$any\" = yes ] && [[ $current == -* ]]; then\n"
    "        values=$flags\n"
    "    elif [ -z \"$values\" ] && [ \"$any\" = yes ] && [ \"$COMP_CWORD\" -eq 2 ]; then\n"
    "        values=$first\n"
    "    fi\n"
    "    if [ -n \"$values\" ]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\")\n"
    "    elif [ \"$any\" = number ]; then\n"
    "        compopt +o default +o bashdefault 2>/dev/null\n"
    "    fi\n"
    "    return 0\n"
    "}\n"
    "complete -o bashdefault -o default -F _attn attn\n";

static void print_bash(const argument_list *list) {
    printf("    %s)\n        flags='--help", list->command);
    for (size_t i = 0; i < list->flag_count; i++) {
        printf(" --%s", list->flags[i].name);
        if (list->flags[i].letter != '\0') printf(" -%c", list->flags[i].letter);
    }
    fputs("'\n", stdout);
    if (list->words != NULL) {
        fputs("        first='", stdout);
        print_words(list->words);
        fputs("'\n", stdout);
    }
    fputs("        case $previous in\n        --help) values=all ;;\n", stdout);
    for (size_t i = 0; i < list->flag_count; i++) {
        const argument_flag *flag = &list->flags[i];
        if (flag->kind == ARGUMENT_SWITCH) continue;
        printf("        --%s", flag->name);
        if (flag->letter != '\0') printf(" | -%c", flag->letter);
        if (flag->choices != NULL) {
            fputs(") values='", stdout);
            print_words(flag->choices);
            fputs("' ;;\n", stdout);
        } else {
            printf(") any=%s ;;\n", is_file(flag) ? "file" : "number");
        }
    }
    fputs("        esac\n        ;;\n", stdout);
}

/* ---- zsh ---- */

/* Inside of '...[HERE]...': what ends it is left out or escaped. */
static void print_zsh_text(const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text) != NULL)
            printf("\\%c", *text);
        else if (*text != '\n' && (*text != ' ' || text[1] != ' '))
            putchar(*text);
    }
}

static void print_zsh_flag(const argument_flag *flag) {
    bool repeated = flag->limit > 0, value = flag->kind != ARGUMENT_SWITCH;
    if (flag->letter != '\0') {
        if (!repeated) printf(" \\\n        '(-%c --%s)'", flag->letter, flag->name);
        if (repeated) fputs(" \\\n        '*'", stdout);
        printf("{-%c+,--%s=}'[", flag->letter, flag->name);
    } else {
        printf(" \\\n        '%s--%s%s[", repeated ? "*" : "", flag->name, value ? "=" : "");
    }
    print_zsh_text(flag->help);
    putchar(']');
    if (value) {
        putchar(':');
        print_zsh_text(flag->value != NULL ? flag->value : flag->name);
        putchar(':');
    }
    if (value && flag->choices != NULL) {
        putchar('(');
        print_words(flag->choices);
        putchar(')');
    } else if (value && is_file(flag)) {
        fputs("_files", stdout);
    }
    putchar('\'');
}

static void print_zsh(const argument_list *list) {
    printf("_attn_%s() {\n    _arguments \\\n        '--help[the help]:whole:(all)'", list->command);
    for (size_t i = 0; i < list->flag_count; i++) print_zsh_flag(&list->flags[i]);
    if (list->words != NULL) {
        fputs(" \\\n        '1:what:(", stdout);
        print_words(list->words);
        fputs(")'", stdout);
    }
    fputs(" \\\n        '*:file:_files'\n}\n\n", stdout);
}

/* ---- both ---- */

void completion_print(const argument_list *list, bool zsh) {
    if (zsh)
        print_zsh(list);
    else
        print_bash(list);
}

void completion_begin(bool zsh) {
    fputs(zsh ? "#compdef attn\n# Completion of attn for zsh: printed by `attn help zsh`.\n\n" : bash_begin,
          stdout);
}

void completion_end(bool zsh, const char *const *commands, const char *const *summaries, size_t count) {
    if (!zsh) {
        fputs("    help) first='man bash zsh", stdout);
        for (size_t i = 0; i < count; i++) printf(" %s", commands[i]);
        fputs("' ;;\n    esac\n    local commands='--help --version help", stdout);
        for (size_t i = 0; i < count; i++) printf(" %s", commands[i]);
        printf("'\n%s", bash_end);
        return;
    }
    fputs("_attn() {\n    local context state line\n    typeset -A opt_args\n"
          "    _arguments -C '--help[what attn does]' '--version[its version]' '1:command:->command' "
          "'*::argument:->argument'\n"
          "    case $state in\n    command)\n        local -a commands=(\n            'help:the flags of a "
          "command'\n",
          stdout);
    for (size_t i = 0; i < count; i++) {
        printf("            '%s:", commands[i]);
        print_zsh_text(summaries[i]);
        fputs("'\n", stdout);
    }
    fputs("        )\n        _describe command commands\n        ;;\n    argument)\n        case $words[1] "
          "in\n"
          "        help) _arguments '1:command:(man bash zsh",
          stdout);
    for (size_t i = 0; i < count; i++) printf(" %s", commands[i]);
    fputs(")' ;;\n", stdout);
    for (size_t i = 0; i < count; i++) printf("        %s) _attn_%s ;;\n", commands[i], commands[i]);
    fputs("        esac\n        ;;\n    esac\n}\n\n"
          "if [ \"$funcstack[1]\" = _attn ]; then\n    _attn \"$@\"\nelse # sourced\n    compdef _attn "
          "attn\nfi\n",
          stdout);
}
