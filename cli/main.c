/* main.c: the program `attn`: finds the command and runs it. */
#define _XOPEN_SOURCE 700 /* SIGXFSZ */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"

typedef struct command {
    const char *name;
    const char *summary;
    int (*run)(int count, char **arguments);
} command;

static const command commands[] = {
    {"train", "a model from a file of labelled examples", command_train},
    {"eval", "how right a model is on labelled data", command_eval},
    {"compare", "the encoders on the same data: scores, speed, memory", command_compare},
    {"predict", "what a model answers", command_predict},
    {"check", "what is in a file of examples, and which lines are wrong", command_check},
    {"info", "what a model file holds", command_info},
    {"explain", "what a model's answer looks at; one attention step by step", command_explain},
    {"lab", "what lectures claim of attention, measured on this machine", command_lab},
    {"bench", "this machine: attention against its limits", command_bench},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_overview(void) {
    printf("attn %s: self-attention in C. Models from files of labelled examples, attention shown and "
           "measured.\n\n",
           attn_version());
    printf("attn COMMAND [flags]\n\ncommands\n");
    for (int i = 0; i < COMMAND_COUNT; i++) printf("  %-10s%s\n", commands[i].name, commands[i].summary);
    printf("  %-10s%s\n\n", "help", "attn help COMMAND, or attn COMMAND --help: its flags");
    printf("examples\n"
           "  attn train tag train.conllu --dev dev.conllu -o pos.safetensors\n"
           "  attn predict pos.safetensors < sentences.txt\n"
           "  attn explain --steps     how five words attend to each other, number by number\n");
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

static int help(int count, char **arguments) {
    if (count == 0) {
        print_overview();
        return EXIT_DONE;
    }
    if (strcmp(arguments[0], "help") == 0) {
        printf("attn help [COMMAND]\n\nLists the commands, or prints the help of one.\n");
        return EXIT_DONE;
    }
    const command *found = find_command(arguments[0]);
    if (found == NULL) return unknown(arguments[0]);
    char flag[] = "--help";
    char *only[] = {flag, NULL};
    return found->run(1, only);
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
