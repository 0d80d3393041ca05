/* autotune.h: attn train --autotune: which configurations are tried, for how long, and what is shown of it.
 */
#ifndef CLI_AUTOTUNE_H
#define CLI_AUTOTUNE_H

#include <stdbool.h>
#include <stdint.h>

#include <attn/attn.h>

/* ---- autotune_schedule.c: how the time is divided ---- */

enum { AUTOTUNE_ROUNDS = 3, AUTOTUNE_MOST_RUNS = 27, AUTOTUNE_KEPT = 3, AUTOTUNE_MEMBERS = 5 };

/* Rounds of short runs, each with a third of the candidates of the round before and the same time in all, and
 * then one whole run of the best. */
typedef struct autotune_schedule {
    int rounds;
    int runs[AUTOTUNE_ROUNDS];
    double last; /* seconds that are kept for the whole run */
} autotune_schedule;

/* The part of the time that the first run, the default configuration's, takes at most. */
#define AUTOTUNE_FIRST (1.0 / 3)

/* left: seconds; whole: seconds of the default's run; brief: of one with a single network. candidates: how
 * many there are to try. rounds is 0 if there are none. */
autotune_schedule autotune_plan(double left, double whole, double brief, int candidates);

/* How many networks an ensemble of the best configuration can have in so many seconds: at most
 * AUTOTUNE_MEMBERS. prepared, training: seconds of a run with so many networks. 0: no more than these. */
int autotune_members(double seconds, double prepared, double training, int networks);

/* The metric_values of a run on the development data, by how much of it was done (0 .. 1), rising. */
enum { AUTOTUNE_POINTS = 256 };
typedef struct autotune_curve {
    int count;
    double done[AUTOTUNE_POINTS], metric_value[AUTOTUNE_POINTS];
} autotune_curve;
void autotune_curve_add(autotune_curve *curve, double done, double metric_value);
/* Whether to stop: half of the run is over, and it is worse than another was after half as much. */
bool autotune_hopeless(const autotune_curve *run, const autotune_curve *other, bool rises);
/* NaN is worse than everything. */
bool autotune_better(double metric_value, double than, bool rises);

/* ---- autotune_space.c: what is tried ---- */

enum { AUTOTUNE_MOVES = 64, AUTOTUNE_COMBINED = 3, AUTOTUNE_CANDIDATES = 4096 };

/* One thing that is changed; two changes of the same thing do not go together. */
typedef struct autotune_move {
    int subject;
    int count;
    char name[2][64], value[2][64]; /* of the configuration */
} autotune_move;

typedef struct autotune_candidate {
    int count;                        /* 0: the default */
    int moves[AUTOTUNE_COMBINED + 1]; /* rising; the last one may be an ensemble's */
    double metric_value;              /* of its last run; NaN before it */
    bool settled;                     /* it had a whole run, or one that was as good */
} autotune_candidate;

typedef struct autotune_space {
    attn_context *context;
    attn_config *base;
    uint64_t state; /* of the generator */
    int moves;
    autotune_move move[AUTOTUNE_MOVES];
    int candidates; /* drawn so far */
    autotune_candidate candidate[AUTOTUNE_CANDIDATES];
} autotune_space;

/* Whether the user has set the value with this name. */
bool autotune_given(const attn_config *config, const char *name);
/* steps: of the default's run. What the configuration sets stays as it is. */
attn_status autotune_space_fill(autotune_space *space, attn_context *context, attn_config *base,
                                int64_t steps);
/* The next candidate, which was not drawn before: each change alone, then combinations, every second one with
 * what `best` (or -1) has. -1: there are no more. */
int autotune_draw(autotune_space *space, int best);
/* Both at once; -1: they do not go together, or were drawn before. */
int autotune_join(autotune_space *space, int one, int other);
/* The same with so many networks; -1: refused, or set by the user. */
int autotune_ensemble(autotune_space *space, int candidate, int members);
/* How many can still be drawn, at most AUTOTUNE_MOST_RUNS. */
int autotune_candidates_left(const autotune_space *space);
/* Its configuration; single: with one network where there are several. */
attn_status autotune_configure(const autotune_space *space, int candidate, bool single, attn_config **config);
/* "--encoder rnn --dropout 0.3" */
void autotune_flags(const autotune_space *space, int candidate, char *text, size_t room);

/* ---- autotune.c ---- */

typedef struct autotune_request {
    double seconds, began; /* began: on progress_now's clock */
    const char *output, *vectors;
    bool force, quiet, json;
    int count; /* the command line */
    char **arguments;
} autotune_request;

/* Trains until the time is over; the best model is in the output. The exit status. */
int autotune(attn_context *context, attn_config *config, const attn_dataset *train, const attn_dataset *dev,
             const autotune_request *request);

/* ---- one run ---- */

typedef enum autotune_state {
    AUTOTUNE_DONE,
    AUTOTUNE_BEST,   /* of the whole runs so far */
    AUTOTUNE_CHANCE, /* better, but not so much better than the defaults that it cannot be chance */
    AUTOTUNE_STOPPED,
    AUTOTUNE_DIVERGED,
    AUTOTUNE_FAILED,
    AUTOTUNE_INTERRUPTED,
    AUTOTUNE_TIME_OVER
} autotune_state;

typedef struct autotune_run {
    int number, round; /* round 0: a whole run */
    int candidate;
    autotune_state state;
    char metric[128];
    double metric_value, seconds;
    double prepared;    /* of the seconds: those before the first step */
    double macro_f1;    /* of the same model; NaN where models are not chosen by accuracy */
    double gain, error; /* whole runs: how much higher the metric is than that of the defaults, and the
                           standard error of that; NaN: not compared, unknown */
    double needed;      /* the gain from which on it is not chance; NaN: any is enough */
    int64_t compared;   /* how many predictions the metric is of */
    bool sampled;       /* there are samples: the metric on those of attn_report_resamples */
    double sample[ATTN_RESAMPLES];
    int64_t steps;
    bool shortened; /* by the time that it had */
    char timetable[256];
    char rare[2048]; /* what is to be said of rare classes; "": nothing */
    autotune_curve curve;
} autotune_run;

/* ---- autotune_choice.c ---- */

/* Whether a higher value of a metric, named as in training.metric, is better. */
bool autotune_rises(const char *metric);
/* The standard error of the difference of two runs on the same development data: of their differences on the
 * same bootstrap samples, if both have them, else of a share of so many predictions (accuracy, F1). NaN:
 * unknown. */
double autotune_standard_error(const autotune_run *run, const autotune_run *than);
/* How many standard errors the best of so many candidates must be better by, so that chance alone reaches
 * that with a probability of at most 0.05 if none of them is better in truth (Bonferroni's correction). */
double autotune_margin(int candidates);
/* By more than `needed`; NaN: by anything. */
bool autotune_clearly_better(double metric_value, double than, double needed, bool rises);

/* ---- autotune_show.c ---- */

void autotune_show_run(const autotune_space *space, const autotune_run *run, const autotune_request *request);
/* What was kept, and the command that gives it again. ended: its run came to its end. */
void autotune_show_best(const autotune_space *space, const autotune_run *best, const autotune_run *first,
                        bool ended, const autotune_request *request);

#endif
