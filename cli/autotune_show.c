/* autotune_show.c: the table of --autotune, a row as soon as a run has ended, the same as lines of JSON, and
 * the command that gives the best model again. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autotune.h"
#include "progress.h"
#include "text.h"

static const char *state_name(autotune_state state) {
    static const char *const names[] = {"done",     "best",   "could be chance", "stopped early",
                                        "diverged", "failed", "interrupted",     "out of time"};
    return names[state];
}

static void changes(const autotune_space *space, int candidate, char *text, size_t room) {
    autotune_flags(space, candidate, text, room);
    if (*text == '\0') snprintf(text, room, "the defaults");
}

static void print_metric_value(double metric_value) {
    if (isfinite(metric_value))
        printf("%.9g", metric_value);
    else
        fputs("null", stdout);
}

static void print_json(const autotune_space *space, const autotune_run *run) {
    char flags[512];
    autotune_flags(space, run->candidate, flags, sizeof flags);
    printf("{\"run\": %d, \"round\": ", run->number);
    if (run->round > 0)
        printf("%d", run->round);
    else
        fputs("\"whole\"", stdout);
    fputs(", \"flags\": ", stdout);
    text_print_json(stdout, flags);
    printf(", \"state\": \"%s\", \"metric\": ", state_name(run->state));
    text_print_json(stdout, run->metric);
    fputs(", \"value\": ", stdout);
    print_metric_value(run->metric_value);
    if (!isnan(run->macro_f1)) printf(", \"macro_f1\": %.9g", run->macro_f1);
    if (!isnan(run->error)) printf(", \"standard_error\": %.9g", run->error);
    if (!isnan(run->needed)) printf(", \"needed\": %.9g", run->needed);
    printf(", \"steps\": %" PRId64 ", \"seconds\": %.3f}\n", run->steps, run->seconds);
    fflush(stdout);
}

/* The state, and of a whole run that is better than the defaults what was decided and why. */
static void print_state(const autotune_run *run) {
    fputs(state_name(run->state), stderr);
    bool decided = run->state == AUTOTUNE_BEST || run->state == AUTOTUNE_CHANCE;
    if (decided && !isnan(run->gain)) fprintf(stderr, ": %+.4f", run->gain);
    if (decided && !isnan(run->needed)) fprintf(stderr, " (needed: %.4f)", run->needed);
    fputc('\n', stderr);
}

void autotune_show_run(const autotune_space *space, const autotune_run *run,
                       const autotune_request *request) {
    enum { WIDTH = 44 };
    char text[512], time[32], round[16] = "whole", metric_value[32] = "-", macro[32] = "";
    if (request->json) print_json(space, run);
    if (request->quiet) return;
    if (run->number == 1)
        fprintf(stderr, "\nrun  round  %-*s  %-12s  %8s  %7s  %9s  state\n", WIDTH, "what is changed",
                *run->metric != '\0' ? run->metric : "metric", isnan(run->macro_f1) ? "" : "macro_f1",
                "steps", "time");
    changes(space, run->candidate, text, sizeof text);
    progress_duration(run->seconds, time);
    if (run->round > 0) snprintf(round, sizeof round, "%d", run->round);
    if (isfinite(run->metric_value)) snprintf(metric_value, sizeof metric_value, "%.4f", run->metric_value);
    if (!isnan(run->macro_f1)) snprintf(macro, sizeof macro, "%.4f", run->macro_f1);
    fprintf(stderr, "%3d  %-5s  %-*s  %-12s  %8s  %7" PRId64 "  %9s  ", run->number, round, WIDTH, text,
            metric_value, macro, run->steps, time);
    print_state(run);
}

/* ---- the command ---- */

/* As a shell reads it; control characters become escapes of $'...'. */
static void print_word(FILE *to, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%";
    bool odd = false;
    for (const char *p = word; *p; p++) odd |= (unsigned char)*p < ' ' || *p == 0x7f;
    if (*word != '\0' && strspn(word, plain) == strlen(word)) {
        fputs(word, to);
        return;
    }
    fputs(odd ? "$'" : "'", to);
    for (const char *p = word; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            fprintf(to, "\\%03o", (unsigned)(unsigned char)*p);
        else if (*p == '\'')
            fputs(odd ? "\\'" : "'\\''", to);
        else if (odd && *p == '\\')
            fputs("\\\\", to);
        else
            fputc(*p, to);
    }
    fputc('\'', to);
}

/* Whether an argument is a flag that the command is not to have, and how many words it takes. */
static int left_out(const char *word) {
    static const char *const flags[] = {"--autotune", "--steps", "--json", "--quiet"};
    for (int i = 0; i < 4; i++) {
        size_t length = strlen(flags[i]);
        if (strncmp(word, flags[i], length) != 0) continue;
        if (word[length] == '=') return 1;
        if (word[length] == '\0') return i < 2 ? 2 : 1;
    }
    return 0;
}

static void print_command(FILE *to, const autotune_space *space, const autotune_run *best,
                          const autotune_request *request) {
    fputs("attn train", to);
    for (int i = 0; i < request->count;) {
        int words = left_out(request->arguments[i]);
        if (words == 0) {
            fputc(' ', to);
            print_word(to, request->arguments[i]);
        }
        i += words > 0 ? words : 1;
    }
    char flags[512];
    autotune_flags(space, best->candidate, flags, sizeof flags);
    fprintf(to, "%s%s --steps %" PRId64 "%s%s", *flags != '\0' ? " " : "", flags, best->steps,
            *best->timetable != '\0' ? " --timetable " : "", best->timetable);
}

void autotune_show_best(const autotune_space *space, const autotune_run *best, const autotune_run *first,
                        bool ended, const autotune_request *request) {
    char text[512], command[8192] = "";
    FILE *to = fmemopen(command, sizeof command - 1, "w");
    if (to != NULL && ended) print_command(to, space, best, request);
    if (to != NULL) fclose(to);
    if (request->json) {
        printf("{\"best\": %d, \"value\": ", best->number);
        print_metric_value(best->metric_value);
        fputs(", \"command\": ", stdout);
        text_print_json(stdout, command);
        fputs("}\n", stdout);
        fflush(stdout);
    }
    if (request->quiet) return;
    changes(space, best->candidate, text, sizeof text);
    if (ended)
        fprintf(stderr, "\nbest: run %d, %s: dev %s %.4f", best->number, text, best->metric,
                best->metric_value);
    else
        fprintf(stderr, "\nstopped in the first run: dev %s %.4f", best->metric, best->metric_value);
    if (!isnan(best->macro_f1)) fprintf(stderr, ", macro_f1 %.4f", best->macro_f1);
    if (best->number != first->number) fprintf(stderr, " (the defaults: %.4f)", first->metric_value);
    fputs("\n", stderr);
    fputs(best->rare, stderr);
    if (ended) fprintf(stderr, "the command that gives it again:\n  %s\n", command);
    fputs("the model is in ", stderr);
    text_print(stderr, request->output);
    fputc('\n', stderr);
}
