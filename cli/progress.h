/* progress.h: what a person sees of reading and training: a bar on a terminal, plain lines elsewhere. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <attn/trainer.h>

typedef struct progress {
    const attn_context *context; /* NULL, or where the data is */
    bool quiet;
    bool json;      /* on standard output, too */
    bool terminal;  /* standard error is one */
    bool resume;    /* it was requested */
    bool more;      /* so was that */
    bool timed;     /* time decides how many steps there are */
    bool patient;   /* the caller said how many evaluations to wait */
    int threads;    /* of this process */
    bool stepped;   /* something was done */
    double told_at; /* when the bar or a line was last written */
    bool bar_shown;
} progress;

/* Reading or encoding of files that takes longer than two seconds. progress_read is a progress of
 * attn_reader_options and of attn_trainer_options, whose user is this. */
typedef struct progress_of_reading {
    bool terminal, bar_shown, told;
    double begun, told_at;
    const char *verb; /* what is done */
    const char *name; /* of the file */
    int64_t done;     /* when this was last asked */
} progress_of_reading;
void progress_begin_reading(progress_of_reading *shown, const char *verb);
void progress_read(void *user, const char *name, int64_t done, int64_t total);
void progress_end_reading(progress_of_reading *shown); /* the bar vanishes */

/* From now on, Ctrl-C, SIGTERM and SIGHUP (unless it was ignored: nohup) call `handler`. */
void progress_handle_interrupts(void (*handler)(int number));
/* They ask for a stop after the step from now on; a second one ends the program at once. */
void progress_catch_interrupts(void);
/* So does SIGUSR1, in a process of a launcher: launchers pass it on as it is, while they end the processes
 * soon after Ctrl-C. */
void progress_stop_by_user_signal(void);
/* The signal that asked for a stop; 0: none has. */
int progress_interrupted(void);
/* A descriptor that can be read from as soon as one has, for poll; -1: there is none. */
int progress_interrupt_descriptor(void);

/* Seconds since some moment. */
double progress_now(void);

/* An attn_trainer_options.watch whose user is a progress. */
int progress_watch(void *user, const attn_training_state *state);

/* "1.4M", "12k", "1:05", "2 h 10 min" into `text` (at least 32 bytes). */
void progress_count(double count, char *text);
void progress_duration(double seconds, char *text);

#endif
