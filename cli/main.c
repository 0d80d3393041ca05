/* main.c: the program `attn`: finds the command and runs it. */
#define _XOPEN_SOURCE 700 /* SIGXFSZ */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "help.h"

typedef struct command {
    const char *name;
    const char *summary;
    int (*run)(int count, char **arguments);
} command;

static const command commands[] = {
    {"train", "train a model from labelled examples", command_train},
    {"eval", "evaluate a model on labelled data", command_eval},
    {"compare", "compare the encoders on the same data: metrics, speed, memory", command_compare},
    {"predict", "print the predictions of a model", command_predict},
    {"check", "describe a file of examples, and list bad lines", command_check},
    {"info", "describe a model file", command_info},
    {"explain", "draw the attention of a prediction; attention step by step", command_explain},
    {"lab", "measure claims of lectures about attention on this machine", command_lab},
    {"bench", "measure attention against the limits of this machine", command_bench},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

#define SUBJECT "self-attention in C."
#define PURPOSE "Trains models from labelled data, predicts, and draws their attention."
static const char what[] = SUBJECT " " PURPOSE;
static const char overview[] =
    "  attn train tag train.conllu --dev dev.conllu -o pos.safetensors\n"
    "  attn predict pos.safetensors < sentences.txt\n"
    "  attn explain --steps     how five words attend to each other, number by number\n";

static void print_overview(void) {
    printf("attn %s: " SUBJECT "\n" PURPOSE "\n\nattn COMMAND [flags]\n\ncommands\n", attn_version());
    for (int i = 0; i < COMMAND_COUNT; i++) printf("  %-10s%s\n", commands[i].name, commands[i].summary);
    printf("  %-10s%s\n\nexamples\n%s", "help",
           "the flags of a command: attn help COMMAND, or attn COMMAND --help", overview);
}

static const command *find_command(const char *name) {
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    }
    return NULL;
}

/* Says that there is no such command (or, with two dashes, flag), and which
 * one may have been meant. */
static int unknown(const char *given) {
    const char *names[COMMAND_COUNT + 3];
    size_t count = 0;
    if (given[0] == '-') {
        names[count++] = "--help";
        names[count++] = "--version";
        arguments_complain("", "there is no flag ", given, "", arguments_nearest(given, names, count));
    } else {
        for (int i = 0; i < COMMAND_COUNT; i++) names[count++] = commands[i].name;
        names[count++] = "help";
        arguments_complain("", "there is no command ", given, "", arguments_nearest(given, names, count));
    }
    fputs("attn help lists the commands.\n", stderr);
    return EXIT_MISUSED;
}

/* The help of a command in one of its forms (help.h). */
static int ask(const command *of, const char *form) {
    char flag[] = "--help", text[8];
    char *both[] = {flag, text, NULL};
    snprintf(text, sizeof text, "%s", form);
    return of->run(2, both);
}

/* The manual page of a command; NULL: that of the program. */
static int print_manual(const command *of) {
    const char *names[COMMAND_COUNT];
    for (int i = 0; i < COMMAND_COUNT; i++) names[i] = commands[i].name;
    manual_begin(of != NULL ? of->name : "", of != NULL ? of->summary : what);
    if (of != NULL) {
        int code = ask(of, "man");
        if (code != EXIT_DONE) return code;
    } else {
        printf(".SH SYNOPSIS\n.B attn COMMAND [flags]\n.SH COMMANDS\n");
        for (int i = 0; i < COMMAND_COUNT; i++)
            printf(".TP\n.B %s\n%s\n", commands[i].name, commands[i].summary);
        printf(".TP\n.B help\nthe help of a command; bash, zsh: a script that completes commands and flags\n"
               ".SH EXAMPLES\n");
        manual_text(overview);
    }
    manual_end(names, COMMAND_COUNT);
    return EXIT_DONE;
}

static int print_completion(bool zsh) {
    const char *names[COMMAND_COUNT], *summaries[COMMAND_COUNT];
    int code = EXIT_DONE;
    completion_begin(zsh);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i].name;
        summaries[i] = commands[i].summary;
        if (code == EXIT_DONE) code = ask(&commands[i], zsh ? "zsh" : "bash");
    }
    completion_end(zsh, names, summaries, COMMAND_COUNT);
    return code;
}

static int help(int count, char **arguments) {
    if (count == 0) {
        print_overview();
        return EXIT_DONE;
    }
    const char *name = arguments[0];
    bool manual = strcmp(name, "man") == 0, zsh = strcmp(name, "zsh") == 0;
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        printf("attn help [COMMAND]       the commands, or the help of one\n"
               "attn help COMMAND all     all flags of a command\n"
               "attn help man [COMMAND]   a manual page: attn help man train | man -l -\n"
               "attn help bash|zsh        completion: source <(attn help bash)\n");
        return EXIT_DONE;
    }
    if (zsh || strcmp(name, "bash") == 0) return print_completion(zsh);
    if (manual && count == 1) return print_manual(NULL);
    const command *found = find_command(arguments[manual]);
    if (found == NULL) return unknown(arguments[manual]);
    return manual ? print_manual(found)
                  : ask(found, count > 1 && strcmp(arguments[1], "all") == 0 ? "all" : "");
}

static int run(int count, char **arguments) {
    if (count == 0 || strcmp(arguments[0], "--help") == 0 || strcmp(arguments[0], "-h") == 0)
        return help(0, NULL);
    if (strcmp(arguments[0], "help") == 0) return help(count - 1, arguments + 1);
    if (strcmp(arguments[0], "--version") == 0) {
        printf("attn %s\n", attn_version());
        return EXIT_DONE;
    }
    const command *found = find_command(arguments[0]);
    if (found == NULL) return unknown(arguments[0]);
    return found->run(count - 1, arguments + 1);
}

int main(int count, char **arguments) {
    signal(SIGXFSZ, SIG_IGN); /* a file that would become too large: the write fails, and we say so */
    int status = count > 0 ? run(count - 1, arguments + 1) : run(0, NULL);
    /* A full disk or a closed pipe shows here at the latest. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "attn: cannot write the output: %s\n", strerror(errno));
        if (status == EXIT_DONE) status = EXIT_FAILED;
    }
    return status;
}
