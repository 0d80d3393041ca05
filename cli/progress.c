/* progress.c: training as a person sees it, on standard error. */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

static volatile sig_atomic_t interrupted; /* the signal; 0: none */

static volatile sig_atomic_t wakes = -1; /* where a byte is written at a signal; -1: nowhere */

static bool by_user_signal; /* SIGUSR1 asks for a stop, too */

void progress_stop_by_user_signal(void) { by_user_signal = true; }

static void on_interrupt(int number) {
    int before = errno;
    interrupted = number;
    if (wakes >= 0 && write(wakes, "", 1) < 0) wakes = -1; /* a pipe that was empty takes a byte */
    signal(number, SIG_DFL);                               /* the second one is meant */
    errno = before;
}

void progress_handle_interrupts(void (*handler)(int number)) {
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (by_user_signal) sigaction(SIGUSR1, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

void progress_catch_interrupts(void) { progress_handle_interrupts(on_interrupt); }

int progress_interrupted(void) { return interrupted; }

int progress_interrupt_descriptor(void) {
    static int listens = -1;
    int ends[2];
    if (listens >= 0 || pipe(ends) != 0) return listens;
    /* Not in the place of a standard descriptor that is closed. */
    listens = fcntl(ends[0], F_DUPFD, 3);
    wakes = fcntl(ends[1], F_DUPFD, 3);
    close(ends[0]);
    close(ends[1]);
    return listens;
}

void progress_count(double count, char *text) {
    if (count >= 1e7) {
        snprintf(text, 32, "%.0fM", count / 1e6);
    } else if (count >= 1e6) {
        snprintf(text, 32, "%.1fM", count / 1e6);
    } else if (count >= 1e4) {
        snprintf(text, 32, "%.0fk", count / 1e3);
    } else {
        snprintf(text, 32, "%.0f", count);
    }
}

void progress_duration(double seconds, char *text) {
    int64_t whole = (int64_t)(seconds + 0.5);
    if (whole >= 3600) {
        snprintf(text, 32, "%" PRId64 " h %02" PRId64 " min", whole / 3600, whole % 3600 / 60);
    } else {
        snprintf(text, 32, "%" PRId64 ":%02" PRId64, whole / 60, whole % 60);
    }
}

static int terminal_columns(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

static void clear_bar(progress *shown) {
    if (shown->bar_shown) fputs("\r\033[K", stderr);
    shown->bar_shown = false;
}

/* What of the numbers fits into so many columns: the rate goes first, then lr, then the loss. */
static void print_numbers(const attn_training_state *state, int columns, char *line, size_t room) {
    char rate[64], left[32], loss[32], step_size[32];
    progress_count(state->units_per_second, rate);
    strcat(rate, " rows/s");
    if (state->ranks > 1)
        snprintf(rate + strlen(rate), sizeof rate - strlen(rate), ", %.0f%% exchange",
                 100 * state->exchange_share);
    progress_duration(state->seconds_left, left);
    snprintf(loss, sizeof loss, "  loss %.4f", state->loss);
    snprintf(step_size, sizeof step_size, "  lr %.1e", state->learning_rate);
    for (int parts = 3; parts >= 0; parts--) {
        int length = snprintf(line, room, "epoch %.1f/%.1f%s%s%s%s  %s left", state->epoch,
                              state->epochs_total, parts > 0 ? loss : "", parts > 1 ? step_size : "",
                              parts > 2 ? "  " : "", parts > 2 ? rate : "", left);
        if (length <= columns) return;
    }
}

enum { PERCENT = 5, LEAST_WIDTH = 10, MOST_WIDTH = 40, FRAME = 3 }; /* of a bar */

/* How much is done, as a bar with numbers beside it. */
static void draw(double done, const char *numbers) {
    int columns = terminal_columns() - PERCENT;
    int room = columns - (int)strlen(numbers) - FRAME, width = room > MOST_WIDTH ? MOST_WIDTH : room;
    fprintf(stderr, "\r%3.0f%% ", 100 * done);
    if (width >= LEAST_WIDTH) {
        static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
        int filled = (int)(done * width * 8), cells = filled / 8;
        for (int i = 0; i < cells; i++) fputs("█", stderr);
        fputs(eighths[filled % 8], stderr);
        for (int i = cells + (filled % 8 != 0); i < width; i++) fputc(' ', stderr);
        fputs("▏ ", stderr);
    }
    fprintf(stderr, "%.*s\033[K", columns > 1 ? columns - 1 : 0, numbers);
    fflush(stderr);
}

static void draw_bar(progress *shown, const attn_training_state *state) {
    char numbers[160];
    print_numbers(state, terminal_columns() - PERCENT - LEAST_WIDTH - FRAME, numbers, sizeof numbers);
    draw((double)state->step / (double)state->steps_total, numbers);
    shown->bar_shown = true;
}

/* ---- reading ---- */

double progress_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin_reading(progress_of_reading *shown, const char *verb) {
    shown->verb = verb;
    shown->done = 0;
    shown->terminal = isatty(STDERR_FILENO) != 0;
    shown->begun = progress_now();
    shown->told_at = shown->begun;
    shown->name = NULL;
    shown->bar_shown = false;
}

void progress_read(void *user, const char *name, int64_t done, int64_t total) {
    static const double patience = 2, pause = 10;
    progress_of_reading *shown = user;
    double now = progress_now();
    bool next = shown->name != NULL && (strcmp(shown->name, name) != 0 || done < shown->done);
    if (next) shown->begun = now; /* another file, or the same for another purpose */
    shown->name = name;
    shown->done = done;
    double passed = now - shown->begun, since = now - shown->told_at;
    if (done <= 0 || passed < patience || (done == total && shown->told) ||
        (!shown->terminal && shown->told && since < pause))
        return;
    int64_t most = total > done ? total : done; /* a pipe has no size */
    const char *slash = strrchr(name, '/'), *unit = most >= 1000000000 ? "GB" : "MB";
    double scale = most >= 1000000000 ? 1e9 : 1e6;
    char numbers[240], all[32] = "", left[32] = "";
    if (total >= done) {
        snprintf(all, sizeof all, " of %.1f", (double)total / scale);
        snprintf(left, sizeof left, ", %.0f s left", passed * (double)(total - done) / (double)done);
    }
    snprintf(numbers, sizeof numbers, "%s %.100s %.1f%s %s, %.0f MB/s%s", shown->verb,
             slash ? slash + 1 : name, (double)done / scale, all, unit, (double)done / passed / 1e6, left);
    for (char *p = numbers; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f) *p = '?';
    shown->told_at = now;
    shown->told = true;
    if (shown->terminal) {
        draw(total > 0 ? (double)done / (double)total : 0, numbers);
        shown->bar_shown = true;
    } else {
        fprintf(stderr, "%s\n", numbers);
    }
}

void progress_end_reading(progress_of_reading *shown) {
    if (shown->bar_shown) fputs("\r\033[K", stderr);
    shown->bar_shown = false;
}

/* ---- training ---- */

/* Where the data is, if not all of it is in memory. */
static void print_data(const attn_context *context) {
    attn_data_use use = attn_context_data(context);
    if (use.in_files == 0) return;
    fprintf(stderr, "data: %.1f MB in memory, %.1f MB in ", (double)use.in_memory / 1e6,
            (double)use.in_files / 1e6);
    text_print_error(stderr, use.folder);
    fputc('\n', stderr);
}

static void print_ready(const progress *shown, const attn_training_state *state) {
    char units[32], parameters[32];
    progress_count((double)state->train_units, units);
    progress_count((double)state->parameters, parameters);
    const char *held = state->held_out ? ", held out from the training data" : "";
    if (state->train_rows > 0 && state->dev_rows == 0)
        fprintf(stderr, "%" PRId64 " %ss of %s for training, and for choosing the best model\n",
                state->train_rows, state->row, units);
    else if (state->train_rows > 0)
        fprintf(stderr, "%" PRId64 " %ss of %s for training, %" PRId64 " for choosing the best model%s\n",
                state->train_rows, state->row, units, state->dev_rows, held);
    else
        fprintf(stderr,
                "%" PRId64 " examples (%s rows) for training, %" PRId64 " for choosing the best model%s\n",
                state->train_examples, units, state->dev_examples, held);
    if (state->left_out > 0)
        fprintf(stderr,
                "%" PRId64 " example%s contained in held-out ones, or very similar: left out of both\n",
                state->left_out, state->left_out == 1 ? " is" : "s are");
    if (state->held_alike)
        fputs("note: the examples are too similar to hold out groups: held-out examples were drawn one by "
              "one, and\n"
              "similar ones are in the training data: metrics will be too high\n",
              stderr);
    fprintf(stderr, "%s parameters, %" PRId64 " steps (%.1f epochs)\n", parameters, state->steps_total,
            state->epochs_total);
    if (state->ranks > 1)
        fprintf(stderr, "%d ranks share every step; threads of rank 0: %d\n", state->ranks, shown->threads);
    print_data(shown->context);
    if (state->splitter)
        fputs("a second network learns to split raw text into sentences and words\n", stderr);
    if (state->no_splitter != NULL)
        fprintf(stderr, "note: no network learns to split raw text: %s\n", state->no_splitter);
    if (shown->more && state->resumed_from == 0)
        fprintf(stderr, "the model to be trained further: dev %s %.4f\n", state->metric, state->best_value);
    if (state->resumed_from >= state->steps_total) return; /* there will be nothing to do */
    if (state->resumed_from > 0) {
        fprintf(stderr, "resumed after step %" PRId64 "\n", state->resumed_from);
    } else if (shown->resume) {
        fputs("there is nothing to resume: this run starts at the beginning\n", stderr);
    }
}

/* Beside an accuracy, which says nothing about rare classes; "" where there is none. */
static const char *macro_text(double macro_f1, char *text) {
    *text = '\0';
    if (!isnan(macro_f1)) snprintf(text, 32, ", macro_f1 %.4f", macro_f1);
    return text;
}

static void print_metric(const attn_training_state *state) {
    char time[32], macro[32];
    progress_duration(state->seconds, time);
    int best = state->best_step == state->step;
    fprintf(stderr, "epoch %5.1f  step %6" PRId64 "  loss %.4f  dev %s %.4f%s%s  %s\n", state->epoch,
            state->step, state->loss, state->metric, state->value, macro_text(state->macro_f1, macro),
            best ? "  best" : "      ", time);
}

static void print_done(const progress *shown, const attn_training_state *state) {
    char time[32], macro[32];
    progress_duration(state->seconds, time);
    if (!shown->stepped && state->end != ATTN_TRAINING_STOPPED) {
        fputs("finished: nothing to do\n", stderr);
    } else if (state->end == ATTN_TRAINING_STOPPED) {
        fprintf(stderr, "stopped after step %" PRId64 " of %" PRId64 "; --resume continues from there\n",
                state->step, state->steps_total);
    } else if (state->end == ATTN_TRAINING_PATIENCE) {
        fprintf(stderr, "ended early at step %" PRId64 ": the metric did not improve\n", state->step);
    }
    if (shown->more && state->best_step == 0) {
        fputs("no evaluation was better: the model is unchanged\n", stderr);
    } else if (!isnan(state->best_value)) {
        fprintf(stderr, "best: dev %s %.4f%s at step %" PRId64 ", in %s\n", state->metric, state->best_value,
                macro_text(state->best_macro_f1, macro), state->best_step, time);
        if (state->splitter && !isnan(state->splitter_f1))
            fprintf(stderr, "words of raw text: dev F1 %.4f\n", state->splitter_f1);
    }
    if (shown->timed && shown->stepped && state->end != ATTN_TRAINING_STOPPED) {
        const char *timetable = state->timetable;
        fprintf(stderr, "to repeat it, instead of --time: --steps %" PRId64 "%s%s%s\n", state->steps_total,
                *timetable != '\0' ? " --timetable " : "", timetable, shown->patient ? "" : " --patience 0");
    }
}

/* A step, or an evaluation, as one line of JSON. Rows, seconds and bytes are those of all steps of this run,
 * so that two lines tell what lies between them. */
static void print_json(const attn_training_state *state) {
    if (state->event == ATTN_TRAINING_STEP) {
        double seconds = state->trained_seconds;
        printf("{\"step\": %" PRId64 ", \"steps\": %" PRId64 ", \"epoch\": %.6g, \"loss\": ", state->step,
               state->steps_total, state->epoch);
        if (isfinite(state->loss))
            printf("%.9g", state->loss);
        else
            fputs("null", stdout);
        printf(", \"learning_rate\": %.6g, \"rows\": %.0f, \"seconds\": %.6f, \"ranks\": %d, "
               "\"exchange_seconds\": %.6f, \"exchange_bytes\": %" PRId64 "}\n",
               state->learning_rate, state->units_per_second * seconds, seconds, state->ranks,
               state->exchange_share * seconds, state->exchange_bytes);
    } else if (state->event == ATTN_TRAINING_DEV) {
        printf("{\"step\": %" PRId64 ", \"metric\": \"%s\", \"value\": ", state->step, state->metric);
        if (isfinite(state->value))
            printf("%.9g", state->value);
        else
            fputs("null", stdout);
        if (!isnan(state->macro_f1)) printf(", \"macro_f1\": %.9g", state->macro_f1);
        printf(", \"best_step\": %" PRId64 "}\n", state->best_step);
    }
    fflush(stdout);
}

int progress_watch(void *user, const attn_training_state *state) {
    progress *shown = user;
    double pause = shown->terminal ? 0.1 : 10;
    if (state->event == ATTN_TRAINING_STEP) shown->stepped = true;
    if (shown->json) print_json(state);
    if (shown->quiet) return progress_interrupted();
    if (state->event != ATTN_TRAINING_STEP) clear_bar(shown);
    switch (state->event) {
    case ATTN_TRAINING_READY: print_ready(shown, state); break;
    case ATTN_TRAINING_MEASURED:
        fprintf(stderr, "the time given is enough for %" PRId64 " steps\n", state->steps_total);
        break;
    case ATTN_TRAINING_STEP:
        if (state->seconds - shown->told_at < pause) break;
        shown->told_at = state->seconds;
        if (shown->terminal) {
            draw_bar(shown, state);
        } else {
            char numbers[160];
            print_numbers(state, INT_MAX, numbers, sizeof numbers);
            fprintf(stderr, "step %" PRId64 "/%" PRId64 "  %s\n", state->step, state->steps_total, numbers);
        }
        break;
    case ATTN_TRAINING_DEV: print_metric(state); break;
    case ATTN_TRAINING_DONE: print_done(shown, state); break;
    }
    return progress_interrupted();
}
