/* autotune.c: attn train --autotune: many trainings in the time of one, and the best model of them.
 *
 * The first run is the one without the flag, of a third of the time at most; a candidate only takes its place
 * if it is so much better on the development data that it cannot be chance (autotune_choice.c). Candidates
 * (autotune_space.c) are trained in rounds (autotune_schedule.c), without a file and with one network where
 * the default has several; the best of the last round gets a whole run. That is repeated while there is time.
 * The last run is an ensemble: the best configuration with more networks, for which time is set aside. As it
 * is one comparison and not the best of many, it only has to be better. The output has the best model of the
 * whole runs at every moment: each writes to a file of its own beside it, which is renamed.
 */
#define _XOPEN_SOURCE 700 /* realpath */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "autotune.h"
#include "opening.h"
#include "progress.h"
#include "rare.h"

#define LEAST_PART 0.04 /* of the time: with less than that left, nothing is begun */
#define SPARE 0.01      /* likewise: of a whole run, for what is not measured */
#define ENSEMBLE 0.4    /* of the time that is left after the first run: the most for the ensemble */
#define LATE 1.03       /* times the time: what is on then is stopped */

enum { PATH_BYTES = 4096 };

typedef struct tuning {
    const autotune_request *request;
    attn_context *context;
    attn_config *config;
    const attn_dataset *train, *dev;
    autotune_space space;
    char own[PATH_BYTES]; /* where whole runs write, but the first; "": not known yet */
    progress shown;
    double whole, brief; /* seconds of the first run, and of one network of it */
    double from;         /* when the run that is on began */
    double aside;        /* seconds that are kept for the ensemble */
    int runs, round;     /* done; the one that is on */
    bool rises;
    bool last;        /* the run that is on is the ensemble */
    autotune_run now; /* the run that is on */
    autotune_run first, best;
    autotune_curve leader; /* of the best run of this round, or of all whole ones */
    double leading;        /* its metric_value */
} tuning;

static double left(const tuning *t) {
    return t->request->seconds - (progress_now() - t->request->began) - t->aside;
}

static bool is_over(const tuning *t) {
    return progress_interrupted() != 0 || left(t) < LEAST_PART * t->request->seconds;
}

/* ---- one run ---- */

static int watch(void *user, const attn_training_state *state) {
    tuning *t = user;
    autotune_run *now = &t->now;
    bool first = t->runs == 0;
    if (state->event == ATTN_TRAINING_READY) now->prepared = progress_now() - t->from;
    if (state->event == ATTN_TRAINING_READY && first && !t->request->quiet) progress_watch(&t->shown, state);
    if (state->event == ATTN_TRAINING_STEP && t->shown.terminal && !t->request->quiet)
        progress_watch(&t->shown, state);
    if (state->event == ATTN_TRAINING_DEV) {
        snprintf(now->metric, sizeof now->metric, "%s", state->metric);
        t->rises = autotune_rises(now->metric);
        now->compared = state->dev_rows > 0 ? state->dev_rows : state->dev_examples;
        autotune_curve_add(&now->curve, (double)state->step / (double)state->steps_total, state->best_value);
    }
    if (state->event == ATTN_TRAINING_DONE) {
        now->metric_value = state->best_value;
        now->macro_f1 = state->best_macro_f1;
        now->steps = state->steps_total;
        now->shortened = state->shortened != 0;
        snprintf(now->timetable, sizeof now->timetable, "%s", state->timetable);
        return 0;
    }
    if (progress_interrupted() != 0) {
        now->state = AUTOTUNE_INTERRUPTED;
    } else if (left(t) < (1 - LATE) * t->request->seconds) {
        now->state = AUTOTUNE_TIME_OVER;
    } else if (state->event == ATTN_TRAINING_DEV && autotune_hopeless(&now->curve, &t->leader, t->rises)) {
        now->state = AUTOTUNE_STOPPED;
    }
    return now->state != AUTOTUNE_DONE;
}

static void set_options(tuning *t, const char *output, double seconds, attn_trainer_options *options) {
    bool first = t->runs == 0;
    attn_trainer_options_init(options);
    options->output = output;
    options->vectors = t->request->vectors;
    options->save_seconds = 1e9; /* nobody goes on from a run */
    options->force = t->request->force || !first;
    options->main_only = output == NULL;
    options->seconds = seconds;
    options->at_most = 1;
    options->spent = first ? progress_now() - t->request->began : 0;
    options->watch = watch;
    options->user = t;
}

/* What a run that was stopped leaves beside its output. */
static void remove_last(tuning *t, const char *output) {
    char last[PATH_BYTES];
    if (attn_trainer_last_path(t->context, output, last, sizeof last) == ATTN_OK) unlink(last);
}

/* For the comparison with other runs, and for the end: by then the trainer is gone. */
static void note_report(tuning *t, const attn_trainer *trainer, attn_config *config) {
    const attn_report *report = attn_trainer_report(trainer);
    if (report == NULL) return;
    const double *samples = attn_report_resamples(report, t->now.metric);
    t->now.sampled = samples != NULL;
    if (samples != NULL) memcpy(t->now.sample, samples, sizeof t->now.sample);
    t->now.compared = attn_report_compared(report, 0);
    if (attn_report_classes(report, 1) > 0) return;
    FILE *to = fmemopen(t->now.rare, sizeof t->now.rare - 1, "w");
    if (to == NULL) return;
    rare_print(to, report, 0, config);
    fclose(to);
}

static attn_status run_trainer(tuning *t, attn_config *config, const attn_trainer_options *options) {
    attn_trainer *trainer = NULL;
    attn_status status = attn_trainer_create(config, t->train, t->dev, options, &trainer);
    if (status == ATTN_OK) status = attn_trainer_run(trainer);
    if (status == ATTN_OK) note_report(t, trainer, config);
    attn_trainer_destroy(trainer);
    return status;
}

/* Trains a candidate; output NULL: only for its metric_value, with one network. What came of it is in t->now.
 */
static attn_status run(tuning *t, int candidate, const char *output, double seconds) {
    autotune_candidate *of = &t->space.candidate[candidate];
    attn_config *config;
    attn_trainer_options options;
    t->from = progress_now();
    t->now = (autotune_run){.number = t->runs + 1,
                            .round = output != NULL ? 0 : t->round,
                            .candidate = candidate,
                            .metric_value = NAN,
                            .macro_f1 = NAN,
                            .gain = NAN,
                            .error = NAN,
                            .needed = NAN};
    set_options(t, output, seconds, &options);
    t->shown.told_at = 0;
    attn_status status = autotune_configure(&t->space, candidate, output == NULL, &config);
    if (status == ATTN_OK) status = run_trainer(t, config, &options);
    attn_config_destroy(config);
    if (t->shown.bar_shown) fputs("\r\033[K", stderr);
    t->shown.bar_shown = false;
    t->now.seconds = progress_now() - t->from;
    if (status != ATTN_OK) {
        t->now.state = status == ATTN_NOT_FINITE ? AUTOTUNE_DIVERGED : AUTOTUNE_FAILED;
        t->now.metric_value = NAN;
    }
    if (t->now.state != AUTOTUNE_DONE && output != NULL) remove_last(t, output);
    of->metric_value = t->now.metric_value;
    of->settled = of->settled || output != NULL;
    t->runs++;
    return status;
}

static void show_run(tuning *t) { autotune_show_run(&t->space, &t->now, t->request); }

/* ---- whole runs ---- */

/* Beside the output, whose links are followed. */
static bool name_own(tuning *t, char *output) {
    char *path = realpath(t->request->output, NULL);
    if (path == NULL || strlen(path) > PATH_BYTES - 64) {
        free(path);
        return false;
    }
    strcpy(output, path);
    snprintf(t->own, sizeof t->own, "%s.%ld.safetensors", path, (long)getpid());
    free(path);
    return true;
}

static int networks_of(tuning *t, int candidate) {
    attn_config *config;
    if (autotune_configure(&t->space, candidate, false, &config) != ATTN_OK) return 1;
    int networks = atoi(attn_config_get(config, "output.members"));
    attn_config_destroy(config);
    return networks;
}

/* The default, on the output itself. */
static int run_first(tuning *t) {
    attn_status status = run(t, 0, t->request->output, AUTOTUNE_FIRST * t->request->seconds);
    if (status != ATTN_OK) return opening_fail("train", t->context);
    if (t->now.state == AUTOTUNE_DONE) t->now.state = AUTOTUNE_BEST;
    t->first = t->best = t->now;
    t->whole = t->now.seconds;
    t->brief = t->now.prepared + (t->whole - t->now.prepared) / networks_of(t, 0);
    show_run(t);
    return EXIT_DONE;
}

/* Of how many the best candidate is: all single changes count from the beginning, so that the first ones do
 * not have it easier. */
static int compared(const tuning *t) {
    int tried = t->space.candidates - 1;
    return tried > t->space.moves ? tried : t->space.moves;
}

/* Whether the run that has ended is better than the best whole one, and, if it is a candidate's, so much
 * better than the defaults that it cannot be chance. */
static bool is_best(tuning *t) {
    autotune_run *now = &t->now;
    if (now->state != AUTOTUNE_DONE) return false;
    now->gain = now->metric_value - t->first.metric_value;
    now->error = autotune_standard_error(now, &t->first);
    if (!t->last) now->needed = now->error * autotune_margin(compared(t));
    if (!autotune_better(now->metric_value, t->best.metric_value, t->rises)) return false;
    bool clear = autotune_clearly_better(now->metric_value, t->first.metric_value, now->needed, t->rises);
    now->state = clear ? AUTOTUNE_BEST : AUTOTUNE_CHANCE;
    return clear;
}

/* Whether a short run, which has no samples, could be the best as a whole one: the standard error of one
 * metric is larger than that of a difference on the same examples, but seldom twice as large. */
static bool is_promising(const tuning *t) {
    double needed = autotune_standard_error(&t->now, &t->first) * autotune_margin(compared(t));
    return autotune_better(t->now.metric_value, t->best.metric_value, t->rises) &&
           autotune_clearly_better(t->now.metric_value, t->first.metric_value, needed / 2, t->rises);
}

/* Sets the time of the ensemble aside. */
static void set_aside(tuning *t) {
    t->aside = 0;
    int networks = networks_of(t, t->best.candidate);
    double training = t->best.seconds - t->best.prepared;
    int members = t->best.shortened || autotune_given(t->config, "output.members")
                      ? 0
                      : autotune_members(ENSEMBLE * left(t), t->best.prepared, training, networks);
    if (members > 0)
        t->aside = t->best.prepared + training / networks * members + SPARE * t->request->seconds;
}

/* Its model takes the place of the best one, if it is better. */
static int run_whole(tuning *t, int candidate, double seconds) {
    char output[PATH_BYTES];
    if (!name_own(t, output)) {
        arguments_complain("train", "", t->request->output, " is gone", NULL);
        return EXIT_FAILED;
    }
    t->leader = t->best.curve;
    run(t, candidate, t->own, fmax(seconds - SPARE * t->request->seconds, 1e-3));
    int code = EXIT_DONE;
    if (is_best(t)) {
        if (rename(t->own, output) == 0) {
            t->best = t->now;
            if (!t->last) set_aside(t);
        } else {
            arguments_complain("train", "", output, " cannot be replaced", NULL);
            code = EXIT_FAILED;
        }
    }
    unlink(t->own);
    show_run(t);
    t->space.candidate[candidate].metric_value = NAN; /* it takes no further part */
    return code;
}

/* ---- rounds ---- */

static void sort(tuning *t, int *candidates, int count) {
    for (int i = 1; i < count; i++)
        for (int j = i;
             j > 0 && autotune_better(t->space.candidate[candidates[j]].metric_value,
                                      t->space.candidate[candidates[j - 1]].metric_value, t->rises);
             j--) {
            int swapped = candidates[j];
            candidates[j] = candidates[j - 1];
            candidates[j - 1] = swapped;
        }
}

/* Whether the run that has ended was as a whole one would be, but for the file. */
static bool was_whole(const tuning *t, int candidate) {
    attn_config *config;
    if (t->now.state != AUTOTUNE_DONE || t->now.shortened ||
        autotune_configure(&t->space, candidate, false, &config) != ATTN_OK)
        return false;
    bool single = strtod(attn_config_get(config, "output.members"), NULL) <= 1;
    attn_config_destroy(config);
    return single;
}

/* One of a round. If that was all there is to it, it does not wait for the others. */
static int run_brief(tuning *t, int candidate, double seconds) {
    autotune_candidate *of = &t->space.candidate[candidate];
    run(t, candidate, NULL, seconds);
    show_run(t);
    bool whole = was_whole(t, candidate), promising = whole && is_promising(t);
    if (whole) {
        of->settled = true;
        of->metric_value = NAN;
        return promising ? run_whole(t, candidate, fmin(left(t), 2 * t->now.seconds)) : EXIT_DONE;
    }
    if (t->now.state != AUTOTUNE_DONE) of->metric_value = NAN;
    if (t->now.state == AUTOTUNE_DONE && autotune_better(t->now.metric_value, t->leading, t->rises)) {
        t->leading = t->now.metric_value;
        t->leader = t->now.curve;
    }
    return EXIT_DONE;
}

/* Runs all, each with its part of the seconds. Those that go on are in *candidates, the best first, and their
 * number in *count. */
static int run_round(tuning *t, int *candidates, int *count, double seconds) {
    double end = left(t) - seconds; /* what is to be left then */
    int code = EXIT_DONE;
    t->round++;
    t->leader.count = 0;
    t->leading = NAN;
    for (int i = 0; i < *count && !is_over(t) && code == EXIT_DONE; i++) {
        autotune_curve leader = t->leader; /* a whole run in between has another */
        code = run_brief(t, candidates[i], fmax((left(t) - end) / (*count - i), 1e-3));
        if (t->now.round == 0) t->leader = leader;
    }
    sort(t, candidates, *count);
    while (*count > 0 && isnan(t->space.candidate[candidates[*count - 1]].metric_value)) --*count;
    return code;
}

/* The best of all candidates that have a metric_value and no whole run yet; -1: there are none. */
static int best_waiting(const tuning *t) {
    int best = -1;
    for (int c = 1; c < t->space.candidates; c++) {
        const autotune_candidate *one = &t->space.candidate[c];
        if (one->settled || isnan(one->metric_value)) continue;
        if (best < 0 || autotune_better(one->metric_value, t->space.candidate[best].metric_value, t->rises))
            best = c;
    }
    return best;
}

/* Rounds of candidates, and the whole run of the best of them. */
static int run_rounds(tuning *t) {
    autotune_schedule plan = autotune_plan(left(t), t->whole, t->brief, autotune_candidates_left(&t->space));
    int candidates[AUTOTUNE_MOST_RUNS], count = 0, code = EXIT_DONE, best = best_waiting(t);
    if (best < 0) best = t->best.candidate;
    for (int drawn; plan.rounds > 0 && count < plan.runs[0]; count++) {
        drawn = autotune_draw(&t->space, best);
        if (drawn < 0) break;
        candidates[count] = drawn;
    }
    t->round = 0;
    for (int r = 0; r < plan.rounds && !is_over(t) && count > 0 && code == EXIT_DONE; r++) {
        double seconds = (left(t) - plan.last) / (plan.rounds - r);
        code = run_round(t, candidates, &count, fmax(seconds, 0));
        if (r + 1 < plan.rounds && count > plan.runs[r + 1]) count = plan.runs[r + 1];
        /* The two best are also tried together. */
        int joined = r == 0 && count > 2 ? autotune_join(&t->space, candidates[0], candidates[1]) : -1;
        if (joined >= 0) candidates[count - 1] = joined;
    }
    if (count == 0 || is_over(t) || code != EXIT_DONE) return code;
    return run_whole(t, candidates[0], fmax(left(t), 0));
}

/* Until the time is over. */
static int run_all(tuning *t) {
    int code = EXIT_DONE;
    while (code == EXIT_DONE && !is_over(t)) {
        int waiting = best_waiting(t);
        bool short_of_time = left(t) < 1.5 * t->whole && t->round > 0;
        int before = t->runs;
        code = short_of_time && waiting >= 0 ? run_whole(t, waiting, left(t)) : run_rounds(t);
        if (t->runs == before) break; /* there is nothing left to try */
    }
    return code;
}

/* The best configuration with as many networks as the time that was set aside is enough for. */
static int run_ensemble(tuning *t) {
    if (t->aside <= 0 || progress_interrupted() != 0) return EXIT_DONE;
    t->aside = 0;
    t->last = true;
    int networks = networks_of(t, t->best.candidate);
    int members = autotune_members(left(t), t->best.prepared, t->best.seconds - t->best.prepared, networks);
    int candidate = members > 0 ? autotune_ensemble(&t->space, t->best.candidate, members) : -1;
    return candidate >= 0 ? run_whole(t, candidate, left(t)) : EXIT_DONE;
}

int autotune(attn_context *context, attn_config *config, const attn_dataset *train, const attn_dataset *dev,
             const autotune_request *request) {
    tuning *t = calloc(1, sizeof *t);
    if (t == NULL) {
        fputs("attn train: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    *t = (tuning){.request = request, .context = context, .config = config, .train = train, .dev = dev};
    t->shown = (progress){.context = context,
                          .quiet = request->quiet,
                          .terminal = isatty(STDERR_FILENO) != 0,
                          .threads = attn_context_threads(context)};
    t->space = (autotune_space){.context = context, .base = config, .candidates = 1};
    progress_catch_interrupts();
    int code = run_first(t);
    bool ended = code == EXIT_DONE && t->now.state == AUTOTUNE_BEST;
    if (ended &&
        autotune_space_fill(&t->space, context, config, t->first.shortened ? 0 : t->first.steps) != ATTN_OK)
        code = opening_fail("train", context);
    t->space.candidate[0].settled = true;
    if (code == EXIT_DONE && ended) set_aside(t);
    if (code == EXIT_DONE && ended) code = run_all(t);
    if (code == EXIT_DONE && ended) code = run_ensemble(t);
    if (t->runs > 0 && !isnan(t->best.metric_value))
        autotune_show_best(&t->space, &t->best, &t->first, ended, request);
    free(t);
    if (code != EXIT_DONE) return code;
    return progress_interrupted() != 0 ? 128 + progress_interrupted() : EXIT_DONE;
}
