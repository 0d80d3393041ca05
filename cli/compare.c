/* compare.c: attn compare: the same data and budget with each encoder, and one table of what comes of it. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "compare.h"
#include "progress.h"

typedef struct compare_arguments {
    const char *encoders, *svg, *keep;
    bool json, force;
} compare_arguments;

/* The names that encoder.kind can have; NULL after the last. */
static const char *encoder_name(int choice) {
    int index = 0;
    while (strcmp(attn_config_name(index), "encoder.kind") != 0) index++;
    return attn_config_choice(index, choice);
}

static int count_encoders(void) {
    int count = 0;
    while (encoder_name(count) != NULL) count++;
    return count < COMPARE_ENCODERS ? count : COMPARE_ENCODERS;
}

/* All of them, with `between` between them: the library's default comes first there, and last in a
 * comparison. */
static void list_encoders(char *text, size_t room, const char *between) {
    size_t used = 0;
    *text = '\0';
    for (int i = count_encoders() - 1; i >= 0 && used < room; i--)
        used += (size_t)snprintf(text + used, room - used, "%s%s", encoder_name(i), i > 0 ? between : "");
}

static bool add_encoder(comparison *what, const char *name, size_t length) {
    char given[64], list[256];
    const char *names[COMPARE_ENCODERS], *found = NULL;
    int count = count_encoders();
    snprintf(given, sizeof given, "%.*s", (int)(length < 60 ? length : 60), name);
    for (int i = 0; i < count; i++) {
        names[i] = encoder_name(i);
        if (strcmp(names[i], given) == 0) found = names[i];
    }
    if (found == NULL) {
        snprintf(list, sizeof list, ": ");
        list_encoders(list + 2, sizeof list - 2, ", ");
        arguments_complain("compare", "there is no encoder ", given, list,
                           arguments_nearest(given, names, (size_t)count));
        return false;
    }
    for (int i = 0; i < what->encoders; i++) {
        if (what->encoder[i] != found) continue;
        arguments_complain("compare", "--encoders names ", given, " twice", NULL);
        return false;
    }
    if (what->encoders < COMPARE_ENCODERS) what->encoder[what->encoders++] = found;
    return true;
}

static bool read_encoders(comparison *what, const char *list) {
    for (;;) {
        size_t length = strcspn(list, ",");
        if (!add_encoder(what, list, length)) return false;
        if (list[length] == '\0') return true;
        list += length + 1;
    }
}

static int check_use(comparison *what, const compare_arguments *given, const argument_list *list) {
    const char *problem = training_flags_problem(&what->training, list);
    if (problem == NULL && what->training.train.path[0] == NULL) problem = "no training file given";
    const char *encoders = given->encoders;
    if (problem == NULL && encoders == NULL) encoders = attn_input_encoders(training_input(&what->training));
    if (problem == NULL && read_encoders(what, encoders)) return EXIT_DONE;
    if (problem != NULL) fprintf(stderr, "attn compare: %s\n", problem);
    fputs("attn compare --help lists the flags.\n", stderr);
    return EXIT_MISUSED;
}

static int complain(const char *about, const char *path) {
    int reason = errno;
    char after[256];
    snprintf(after, sizeof after, ": %s", strerror(reason));
    arguments_complain("compare", about, path, after, NULL);
    return EXIT_FAILED;
}

/* That the picture can be written, before there is something to draw. */
static int check_svg(const comparison *what, const char *path) {
    int code = training_check_output(&what->training, path);
    if (code != EXIT_DONE) return code;
    bool is_new = access(path, F_OK) != 0;
    FILE *file = fopen(path, "ab");
    if (file == NULL || fclose(file) != 0) return complain("cannot write ", path);
    if (is_new) unlink(path);
    return EXIT_DONE;
}

/* The folder for models: the one given, or a new one, whose name is in *made. */
static int make_folder(comparison *what, const char *keep, char **made) {
    if (keep != NULL && strcmp(keep, "-") == 0) {
        fputs("attn compare: --keep must be a folder, not standard output (-)\n", stderr);
        return EXIT_MISUSED;
    }
    if (keep != NULL) {
        what->folder = keep;
        what->keep = true;
        if (mkdir(keep, 0777) != 0 && errno != EEXIST) return complain("cannot make ", keep);
        struct stat found;
        if (stat(keep, &found) == 0 && !S_ISDIR(found.st_mode))
            errno = ENOTDIR;
        else if (access(keep, W_OK) == 0)
            return EXIT_DONE;
        return complain("cannot keep models in ", keep);
    }
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || *parent == '\0') parent = "/tmp";
    size_t room = strlen(parent) + 32;
    *made = malloc(room);
    if (*made == NULL) return complain("", "a folder for models");
    snprintf(*made, room, "%s/attn-compare-XXXXXX", parent);
    if (mkdtemp(*made) == NULL) {
        free(*made);
        *made = NULL;
        return complain("cannot make a folder for models in ", parent);
    }
    what->folder = *made;
    return EXIT_DONE;
}

/* One line for each run: all there is to see of a comparison for a long time. */
static void tell(const comparison *what, const compare_run *run, bool terminal) {
    const compare_figures *figures = &run->figures;
    const char *name = what->encoder[run->encoder];
    char rate[32], time[32], macro[32] = "";
    if (terminal) fputs("\r\033[K\033[A\r\033[K", stderr); /* the bar, and the line above it */
    if (!figures->done) {
        char before[128];
        snprintf(before, sizeof before, "%s, seed %lld: ", name, (long long)run->seed);
        if (*figures->error != '\0') arguments_complain("compare", before, figures->error, "", NULL);
        return;
    }
    if (what->training.quiet) return;
    progress_count(figures->rate, rate);
    progress_duration(figures->seconds, time);
    if (!isnan(figures->test_macro)) snprintf(macro, sizeof macro, " (macro_f1 %.4f)", figures->test_macro);
    fprintf(stderr, "%-9s  seed %lld  %s: dev %.4f, test %.4f%s  %s tokens/s  %s\n", name,
            (long long)run->seed, figures->metric, figures->dev, figures->test, macro, rate, time);
}

/* All runs; whether each came to its end. */
static bool run_all(comparison *what) {
    bool terminal = !what->training.quiet && isatty(STDERR_FILENO) != 0, whole = true;
    int64_t count = what->encoders * what->seeds;
    for (int64_t i = 0; i < count && !compare_interrupted(); i++) {
        compare_run *run = &what->runs[i];
        if (terminal)
            fprintf(stderr, "run %lld of %lld: %s, seed %lld\n", (long long)(i + 1), (long long)count,
                    what->encoder[run->encoder], (long long)run->seed);
        compare_train(what, run, terminal);
        tell(what, run, terminal);
        whole = whole && run->figures.done;
    }
    if (!compare_interrupted()) return whole;
    fputs("attn compare: interrupted: the table has only the finished runs\n", stderr);
    return false;
}

static int show(const comparison *what, const compare_arguments *given) {
    bool any = compare_any(what) != NULL;
    if (given->json)
        compare_print_json(what);
    else if (any)
        compare_print_table(what);
    if (!given->json && any) compare_print_differences(what);
    if (given->svg != NULL && any && !compare_write_svg(what, given->svg))
        return complain("cannot write ", given->svg);
    return EXIT_DONE;
}

/* Without a list, what an encoder adds is seen best beside a model that has none, where there can be one. */
static int add_none(comparison *what) {
    bool taken;
    int code = compare_takes(what, "none", &taken);
    if (code != EXIT_DONE || !taken || what->encoders == COMPARE_ENCODERS) return code;
    for (int i = what->encoders++; i > 0; i--) what->encoder[i] = what->encoder[i - 1];
    what->encoder[0] = "none";
    return code;
}

static int compare(comparison *what, const compare_arguments *given) {
    char *made = NULL;
    int code = given->svg != NULL ? check_svg(what, given->svg) : EXIT_DONE;
    if (code == EXIT_DONE) code = training_take_input(&what->training); /* once for all runs */
    if (code == EXIT_DONE && given->encoders == NULL) code = add_none(what);
    int64_t count = what->encoders * what->seeds;
    if (code == EXIT_DONE) code = compare_check(what);
    if (code == EXIT_DONE) code = make_folder(what, given->keep, &made);
    if (code != EXIT_DONE) return code;
    what->runs = calloc((size_t)count, sizeof *what->runs);
    if (what->runs == NULL) {
        code = complain("", "no memory for the figures");
    } else {
        for (int64_t i = 0; i < count; i++) {
            what->runs[i].encoder = (int)(i / what->seeds);
            what->runs[i].seed = 1 + i % what->seeds;
        }
        for (int64_t i = 0; i < count && what->keep && !given->force && code == EXIT_DONE; i++)
            if (compare_is_there(what, &what->runs[i])) code = EXIT_FAILED;
        bool whole = code == EXIT_DONE && run_all(what);
        if (code == EXIT_DONE) code = show(what, given);
        if (!whole) code = EXIT_FAILED;
    }
    if (made != NULL) rmdir(made);
    free(made);
    free(what->runs);
    return code;
}

int command_compare(int count, char **arguments) {
    enum { OWN_FLAGS = 7 };
    comparison what = {.training.command = "compare"};
    char all_help[300];
    snprintf(
        all_help, sizeof all_help,
        "encoders to compare (default %s; if rows have no order %s; with one prediction per text also none)",
        attn_input_encoders(NULL), attn_input_encoders(attn_input_name(attn_input_count() - 1)));
    compare_arguments given = {.encoders = NULL};
    argument_flag flags[OWN_FLAGS + TRAINING_FLAGS] = {
        argument_texts("test", what.training.test.path, TRAINING_MOST_FILES, "FILE",
                       "test data, one file or several: each best model is tested once (default: the test "
                       "part of the data)"),
        argument_text("encoders", &given.encoders, "LIST", all_help),
        argument_integer("seeds", &what.seeds, "N", "3", 1, 1000, "runs per encoder, with seeds 1 to N"),
        argument_text("svg", &given.svg, "FILE", "write a chart of metrics and minutes"),
        argument_switch("json", &given.json, "print one JSON object"),
        argument_text("keep", &given.keep, "FOLDER", "keep the models there, as ENCODER-SEED.safetensors"),
        argument_switch("force", &given.force, "replace existing models"),
    };
    int added = training_flags_add(&what.training, flags + OWN_FLAGS);
    argument_list list = {
        .command = "compare",
        .usage = "TASK FILE [FILE...] [--dev FILE] [--test FILE] [flags]",
        .about = "Trains each encoder with several seeds on the same data, with the same width and\n"
                 "the same number of steps, or, with --time, for the same time. The development\n"
                 "data chooses the best model of a run, which is tested once. Prints one table:\n"
                 "metrics (median, lowest and highest), parameters, speed, minutes per run, peak\n"
                 "memory. No run ends early, unless --patience is given.\n",
        .examples = "  attn compare tag train.conllu --test test.conllu --svg compare.svg\n"
                    "  attn compare classify train.tsv --test test.tsv --encoders rnn,attention\n",
        .first = "test dev encoders time seeds svg steps epochs input unit column layers width json keep "
                 "threads",
        .words = training_task_names(),
        .flags = flags,
        .flag_count = (size_t)(OWN_FLAGS + added),
        .positional = what.training.positional,
        .positional_limit = TRAINING_POSITIONALS,
    };
    argument_result result = arguments_read(&list, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    if (check_use(&what, &given, &list) != EXIT_DONE) return EXIT_MISUSED;
    compare_catch_interrupts();
    return compare(&what, &given);
}
