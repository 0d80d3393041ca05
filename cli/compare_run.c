/* compare_run.c: one run of a comparison: a child that trains, chooses, evaluates, and tells its figures. */
#define _DEFAULT_SOURCE /* wait4 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <attn/attn.h>

#include "compare.h"
#include "messages.h"
#include "opening.h"
#include "progress.h"

/* ---- Ctrl-C ---- */

static volatile sig_atomic_t interrupted, child; /* child: its process, 0: there is none */

static void on_interrupt(int number) {
    interrupted = 1;
    if (child != 0) kill((pid_t)child, SIGKILL);
    signal(number, SIG_DFL); /* the second one is meant */
}

void compare_catch_interrupts(void) { progress_handle_interrupts(on_interrupt); }

bool compare_interrupted(void) { return interrupted != 0; }

/* While the handler must not look at `child`. */
static void hold_interrupts(int how) {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(how, &held, NULL);
}

/* ---- in the child ---- */

typedef struct watched {
    compare_figures *figures;
    progress shown;
    bool bar;
} watched;

static int watch(void *user, const attn_training_state *state) {
    watched *seen = user;
    compare_figures *figures = seen->figures;
    if (seen->bar && state->event == ATTN_TRAINING_STEP) progress_watch(&seen->shown, state);
    if (state->event != ATTN_TRAINING_DONE) return 0;
    snprintf(figures->metric, sizeof figures->metric, "%s", state->metric);
    figures->dev = state->best_value;
    figures->dev_macro = state->best_macro_f1;
    figures->parameters = state->parameters;
    figures->steps = state->step;
    figures->best_step = state->best_step;
    figures->rate = state->units_per_second;
    figures->seconds = state->seconds;
    return 0;
}

static attn_status train(attn_context *context, attn_config *config, const comparison *what,
                         const char *output, watched *seen) {
    const training_flags *training = &what->training;
    attn_dataset *train = NULL, *dev = NULL;
    attn_trainer *trainer = NULL;
    attn_trainer_options options;
    attn_trainer_options_init(&options);
    options.main_only = 1; /* encoders are compared, not splitters */
    options.output = output;
    options.vectors = training->vectors;
    options.save_seconds = 1e9; /* nobody continues from a run */
    options.force = 1;          /* the command has looked before it began */
    options.watch = watch;
    options.user = seen;
    if (training->time != NULL) options.seconds = training_duration(training->time);
    attn_status status = training_read(context, config, training, &training->train, &train);
    if (status == ATTN_OK && training->dev.path[0] != NULL)
        status = training_read(context, config, training, &training->dev, &dev);
    if (status == ATTN_OK) status = attn_trainer_create(config, train, dev, &options, &trainer);
    if (status == ATTN_OK) status = attn_trainer_run(trainer);
    attn_trainer_destroy(trainer);
    attn_dataset_destroy(train);
    attn_dataset_destroy(dev);
    return status;
}

/* The test data: files of its own, or the training data; of both what is for testing, if they say so (*whole
 * is all of them then). */
static attn_status read_test(attn_context *context, attn_config *config, const training_flags *training,
                             attn_dataset **dataset, attn_dataset **whole) {
    bool own = training->test.path[0] != NULL;
    attn_status status =
        training_read(context, config, training, own ? &training->test : &training->train, whole);
    if (status != ATTN_OK) return status;
    if (!own || attn_dataset_part_size(*whole, ATTN_PART_TEST) > 0)
        return attn_dataset_part(*whole, ATTN_PART_TEST, dataset);
    *dataset = *whole;
    *whole = NULL;
    return ATTN_OK;
}

/* Macro F1 of what the metric is the accuracy of. */
static double macro_of(const attn_report *report, const compare_figures *figures) {
    char name[sizeof figures->metric + sizeof "macro_f1"];
    size_t length = strlen(figures->metric), accuracy = strlen("accuracy");
    if (isnan(figures->dev_macro) || length < accuracy) return NAN;
    snprintf(name, sizeof name, "%.*smacro_f1", (int)(length - accuracy), figures->metric);
    return attn_report_metric(report, name);
}

static attn_status test(attn_context *context, attn_config *config, const comparison *what,
                        const char *output, compare_figures *figures) {
    attn_dataset *dataset = NULL, *whole = NULL;
    attn_model *model = NULL;
    attn_predictor *predictor = NULL;
    attn_report *report = NULL;
    attn_status status = read_test(context, config, &what->training, &dataset, &whole);
    if (status == ATTN_OK) status = attn_model_load(context, output, &model);
    if (status == ATTN_OK) status = attn_predictor_create(model, context, &predictor);
    if (status == ATTN_OK) status = attn_report_create(predictor, dataset, &report);
    if (status == ATTN_OK) {
        figures->test = attn_report_metric(report, figures->metric);
        figures->test_macro = macro_of(report, figures);
        const double *samples = attn_report_resamples(report, figures->metric);
        figures->sampled = samples != NULL;
        if (figures->sampled) memcpy(figures->samples, samples, sizeof figures->samples);
    }
    attn_report_destroy(report);
    attn_predictor_destroy(predictor);
    attn_model_destroy(model);
    attn_dataset_destroy(dataset);
    attn_dataset_destroy(whole);
    return status;
}

/* A context and a configuration of an encoder; EXIT_DONE, or it has said why not. */
static int begin(training_flags *training, const char *encoder, attn_context **context,
                 attn_config **config) {
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = (int)training->threads;
    *context = NULL;
    *config = NULL;
    if (attn_context_create(&options, context) != ATTN_OK) {
        arguments_complain(training->command, "", attn_last_create_error(), "", NULL);
        return EXIT_FAILED;
    }
    int code = opening_memory(training->command, *context, training->memory);
    if (code != EXIT_DONE) return code;
    /* The same number of steps for all, unless patience is requested. */
    if (attn_config_create(*context, config) != ATTN_OK ||
        attn_config_set(*config, "training.patience", "0") != ATTN_OK)
        return opening_fail(training->command, *context);
    training->encoder = encoder;
    return training_configure(*context, training, *config);
}

static void end(attn_context *context, attn_config *config) {
    attn_config_destroy(config);
    attn_context_destroy(context);
}

/* That the files can be read, and learned from. */
static int check_data(attn_context *context, attn_config *config, const training_flags *training) {
    const training_files *files[] = {&training->train, &training->dev, &training->test};
    attn_dataset *sets[3] = {NULL};
    int code = EXIT_DONE;
    for (int i = 0; i < 3 && code == EXIT_DONE; i++) {
        if (files[i]->path[0] != NULL &&
            training_read(context, config, training, files[i], &sets[i]) != ATTN_OK)
            code = opening_fail(training->command, context);
        if (code == EXIT_DONE && i == 0 && training->test.path[0] == NULL &&
            attn_dataset_part_size(sets[0], ATTN_PART_TEST) == 0) {
            fprintf(stderr, "attn %s: no test data given: --test FILE\n", training->command);
            code = EXIT_MISUSED;
        }
    }
    if (code == EXIT_DONE) code = training_examine(context, config, training, sets[0], sets[1], sets[2]);
    for (int i = 0; i < 3; i++) attn_dataset_destroy(sets[i]);
    return code;
}

int compare_takes(comparison *what, const char *encoder, bool *taken) {
    attn_context *context;
    attn_config *config;
    attn_reader_options options;
    int code = begin(&what->training, encoder, &context, &config);
    *taken = code == EXIT_DONE && attn_config_reader(config, &options) == ATTN_OK;
    end(context, config);
    return code;
}

/* Whether the values of a configuration go together; and, if `read`, the files. */
static int check_encoder(training_flags *training, const char *encoder, bool read) {
    attn_context *context;
    attn_config *config;
    attn_reader_options options;
    int code = begin(training, encoder, &context, &config);
    if (code == EXIT_DONE && *attn_config_get(config, "encoder.mix") != '\0') {
        arguments_complain(training->command, "encoder.mix is ", attn_config_get(config, "encoder.mix"),
                           ": it would replace every encoder", NULL);
        code = EXIT_MISUSED;
    }
    if (code == EXIT_DONE && attn_config_reader(config, &options) != ATTN_OK)
        code = opening_fail(training->command, context);
    if (code == EXIT_DONE && read) code = check_data(context, config, training);
    end(context, config);
    return code;
}

static int run_check(comparison *what) {
    int code = EXIT_DONE;
    for (int i = 0; i < what->encoders && code == EXIT_DONE; i++)
        code = check_encoder(&what->training, what->encoder[i], i == 0);
    return code;
}

static char *file_name(const comparison *what, const compare_run *run, const char *ending) {
    const char *encoder = what->encoder[run->encoder];
    size_t room = strlen(what->folder) + strlen(encoder) + strlen(ending) + 32;
    char *name = malloc(room);
    if (name != NULL)
        snprintf(name, room, "%s/%s-%lld%s", what->folder, encoder, (long long)run->seed, ending);
    return name;
}

static int run_training(comparison *what, const compare_run *run, bool bar, compare_figures *figures) {
    attn_context *context = NULL;
    attn_config *config = NULL;
    char seed[32], *output = file_name(what, run, ".safetensors");
    watched seen = {.figures = figures, .shown = {.terminal = true}, .bar = bar};
    snprintf(seed, sizeof seed, "%lld", (long long)run->seed);
    what->training.seed = seed;
    what->training.quiet = true; /* what was left out, the check has said */
    attn_status status = ATTN_OUT_OF_MEMORY;
    int code =
        output != NULL ? begin(&what->training, what->encoder[run->encoder], &context, &config) : EXIT_FAILED;
    if (code == EXIT_DONE) {
        status = train(context, config, what, output, &seen);
        if (status == ATTN_OK) status = test(context, config, what, output, figures);
        figures->layers = strtoll(attn_config_get(config, "encoder.layers"), NULL, 10);
        figures->columns = strtoll(attn_config_get(config, "encoder.columns"), NULL, 10);
    }
    const char *reason = context == NULL ? "out of memory" : attn_context_error(context);
    if (status != ATTN_OK)
        snprintf(figures->error, sizeof figures->error, "%s", messages_with_flags(reason));
    else if (!isfinite(figures->dev) || !isfinite(figures->test))
        snprintf(figures->error, sizeof figures->error, "%s is not a number", figures->metric);
    else
        figures->done = true;
    end(context, config);
    free(output);
    return figures->done ? EXIT_DONE : EXIT_FAILED;
}

/* ---- in the parent ---- */

static bool write_all(int descriptor, const void *from, size_t count) {
    while (count > 0) {
        ssize_t put = write(descriptor, from, count);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        from = (const char *)from + put;
        count -= (size_t)put;
    }
    return true;
}

static bool read_all(int descriptor, void *to, size_t count) {
    while (count > 0) {
        ssize_t got = read(descriptor, to, count);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to = (char *)to + got;
        count -= (size_t)got;
    }
    return true;
}

/* Runs the check (run NULL) or a training in a child; *figures is what it told. Returns how it ended, as
 * wait4 says it, or -1 with errno. */
static int in_child(comparison *what, const compare_run *run, bool bar, compare_figures *figures,
                    struct rusage *used) {
    int ends[2], ended;
    if (pipe(ends) != 0) return -1;
    fflush(NULL); /* or the child writes it a second time */
    hold_interrupts(SIG_BLOCK);
    pid_t process = fork();
    if (process == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        if (signal(SIGHUP, SIG_DFL) == SIG_IGN) signal(SIGHUP, SIG_IGN);
        hold_interrupts(SIG_UNBLOCK);
        close(ends[0]);
        compare_figures told = {.done = false};
        int code = run == NULL ? run_check(what) : run_training(what, run, bar, &told);
        exit(write_all(ends[1], &told, sizeof told) ? code : EXIT_FAILED);
    }
    int reason = errno;
    child = (sig_atomic_t)(process > 0 ? process : 0);
    hold_interrupts(SIG_UNBLOCK);
    close(ends[1]);
    if (process > 0 && !read_all(ends[0], figures, sizeof *figures))
        *figures = (compare_figures){.done = false};
    close(ends[0]);
    errno = reason;
    if (process < 0) return -1;
    while (wait4(process, &ended, 0, used) < 0) {
        if (errno == EINTR) continue;
        child = 0;
        return -1;
    }
    hold_interrupts(SIG_BLOCK);
    child = 0;
    hold_interrupts(SIG_UNBLOCK);
    return ended;
}

int compare_check(comparison *what) {
    compare_figures nothing;
    struct rusage used;
    int ended = in_child(what, NULL, false, &nothing, &used);
    if (ended >= 0 && WIFEXITED(ended)) return WEXITSTATUS(ended);
    if (!compare_interrupted())
        arguments_complain(what->training.command, "the files cannot be checked: ",
                           ended < 0 ? strerror(errno) : "the process was ended", "", NULL);
    return EXIT_FAILED;
}

static bool ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length >= tail && strcmp(name + length - tail, ending) == 0;
}

/* What a run leaves beside its model when it is killed: all are called ENCODER-SEED.SOMETHING. */
static void remove_rest(const comparison *what, const compare_run *run) {
    char begin[160];
    int length = snprintf(begin, sizeof begin, "%s-%lld.", what->encoder[run->encoder], (long long)run->seed);
    DIR *folder = opendir(what->folder);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        if (strncmp(name, begin, (size_t)length) != 0) continue;
        if (ends_with(name, ".tmp") || ends_with(name, ".lock") || ends_with(name, ".last.safetensors"))
            unlinkat(dirfd(folder), name, 0);
    }
    if (folder != NULL) closedir(folder);
}

bool compare_is_there(const comparison *what, const compare_run *run) {
    char *name = file_name(what, run, ".safetensors");
    bool there = name != NULL && access(name, F_OK) == 0;
    if (there) arguments_complain("compare", "", name, " exists already: --force replaces it", NULL);
    free(name);
    return there;
}

void compare_train(comparison *what, compare_run *run, bool bar) {
    struct rusage used;
    memset(&used, 0, sizeof used);
    int ended = in_child(what, run, bar, &run->figures, &used);
    int reason = errno;
    compare_figures *figures = &run->figures;
#ifdef __APPLE__
    run->memory = used.ru_maxrss;
#else
    run->memory = (int64_t)used.ru_maxrss * 1024;
#endif
    if (!figures->done && *figures->error == '\0' && !compare_interrupted()) {
        if (ended < 0)
            snprintf(figures->error, sizeof figures->error, "no process for it: %s", strerror(reason));
        else if (WIFSIGNALED(ended))
            snprintf(figures->error, sizeof figures->error, "its process was ended by signal %d: %s%s",
                     WTERMSIG(ended), strsignal(WTERMSIG(ended)),
                     WTERMSIG(ended) == SIGKILL ? "; was there enough memory?" : "");
        else
            snprintf(figures->error, sizeof figures->error, "its process reported nothing");
    }
    remove_rest(what, run);
    char *model = what->keep ? NULL : file_name(what, run, ".safetensors");
    if (model != NULL) unlink(model);
    free(model);
}
