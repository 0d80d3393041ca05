/* progress.h: what a person sees of training: a bar on a terminal, plain lines elsewhere. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

#include <attn/trainer.h>

typedef struct progress {
    bool quiet;
    bool terminal;  /* standard error is one */
    bool resume;    /* it was asked for */
    double told_at; /* when the bar or a line was last written */
    bool bar_shown;
} progress;

/* From now on, Ctrl-C and SIGTERM call `handler`. */
void progress_handle_interrupts(void (*handler)(int number));
/* Ctrl-C (and SIGTERM) from now on ask for a stop after the step; a second one ends the program at once. */
void progress_catch_interrupts(void);
bool progress_interrupted(void);

/* An attn_trainer_options.watch whose user is a progress. */
int progress_watch(void *user, const attn_training_state *state);

/* "1.4M", "12k", "1:05", "2 h 10 min" into `text` (at least 32 bytes). */
void progress_count(double count, char *text);
void progress_duration(double seconds, char *text);

#endif
