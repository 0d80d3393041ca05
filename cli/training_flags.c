/* training_flags.c: from flags to a configuration, from files to examples. */
#define _POSIX_C_SOURCE 200809L
#include "training_flags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "messages.h"
#include "opening.h"
#include "progress.h"

/* What the value of the configuration with this name can be, NULL after the last; NULL: it is no choice.
 * Stays as long as the program. */
static const char *const *choices_of(const char *name) {
    enum { LISTS = TRAINING_SETTINGS, CHOICES = 16 };
    static const char *lists[LISTS][CHOICES];
    static int used = 0;
    if (strcmp(name, "input") == 0) { /* of any length for the configuration, which knows no kinds */
        for (int i = 0; i + 1 < CHOICES; i++) lists[0][i] = attn_input_name(i);
        return lists[0];
    }
    if (used == 0) used = 1;
    for (int i = 0; used < LISTS && i < attn_config_count(); i++) {
        if (strcmp(attn_config_name(i), name) != 0 || attn_config_choice(i, 0) == NULL) continue;
        for (int c = 0; c + 1 < CHOICES; c++) {
            lists[used][c] = attn_config_choice(i, c);
            if (lists[used][c] == NULL) break;
        }
        return lists[used++];
    }
    return NULL;
}

const char *const *training_task_names(void) { return choices_of("task"); }
const char *const *training_encoder_names(void) { return choices_of("encoder.kind"); }

int training_flags_add(training_flags *given, argument_flag *flags) {
    const argument_flag own[TRAINING_FLAGS - TRAINING_SETTINGS] = {
        argument_texts("dev", given->dev.path, TRAINING_MOST_FILES, "FILE",
                       "development data, one file or several, to choose the best model"),
        argument_text("time", &given->time, "T", "train about this long: 90s, 10m, 1h"),
        argument_text("vectors", &given->vectors, "FILE", "start from pretrained word vectors (.vec)"),
        argument_text("window", &given->window, "R", "a row sees the rows at most R away"),
        argument_text("split-file", &given->split_file, "FILE",
                      "a file with train, val or test for each example"),
        argument_text("config", &given->config, "FILE", "a configuration as JSON; flags override it"),
        argument_switch("skip-bad", &given->skip_bad, "leave out lines that cannot be read"),
        argument_switch("anyway", &given->anyway, OPENING_ANYWAY_HELP),
        argument_size(OPENING_LIMIT, &given->limit, OPENING_LIMIT_HELP),
        argument_size_or_all(OPENING_MEMORY, &given->memory, OPENING_MEMORY_HELP),
        argument_integer("threads", &given->threads, "N", "0", 0, 1024, "number of threads; 0: all cores"),
        argument_switch("quiet", &given->quiet, "print only errors"),
    };
    attn_config_flag_text one;
    memcpy(flags, own, sizeof own);
    flags += TRAINING_FLAGS - TRAINING_SETTINGS;
    for (int i = 0; i < TRAINING_SETTINGS && attn_config_flag(i, &one); i++) {
        flags[i] = one.value != NULL ? argument_text(one.flag, &given->setting[i], one.value, one.help)
                                     : argument_switch(one.flag, &given->on[i], one.help);
        if (one.value != NULL) flags[i].choices = choices_of(one.name);
        given->settings = i + 1;
    }
    return TRAINING_FLAGS - TRAINING_SETTINGS + given->settings;
}

/* A text that grows; what does not fit is left out. */
typedef struct help_text {
    char text[4096];
    size_t used;
} help_text;

static void put_help(help_text *to, const char *text) {
    size_t room = sizeof to->text - to->used, length = strlen(text);
    snprintf(to->text + to->used, room, "%s", text);
    to->used += length < room ? length : room - 1;
}

/* In a column of a table. */
static void put_column(help_text *to, const char *text, int width) {
    char cell[64];
    snprintf(cell, sizeof cell, "%-*s", width, text);
    put_help(to, cell);
}

/* A row of the table: which tasks a kind of input can have; kind NULL: the names of the tasks. */
static void put_kind(help_text *to, const char *kind) {
    put_help(to, "  ");
    put_column(to, kind != NULL ? kind : "--input", 11);
    for (int i = 0; attn_task_name(i) != NULL; i++) {
        const char *task = attn_task_name(i);
        int width = attn_task_name(i + 1) != NULL ? (int)strlen(task) + 2 : 0; /* no spaces at the end */
        put_column(to, kind == NULL ? task : attn_input_takes(kind, task) != 0 ? "yes" : "-", width);
    }
    put_help(to, "\n");
}

const char *training_tasks(const char *before, const char *after) {
    static help_text help;
    help.used = 0;
    put_help(&help, before);
    for (int i = 0; attn_task_name(i) != NULL; i++) {
        put_help(&help, "  ");
        put_column(&help, attn_task_name(i), 11);
        put_help(&help, attn_task_help(i));
        put_help(&help, "\n");
    }
    put_help(&help, "\n");
    put_kind(&help, NULL);
    for (int i = 0; i < attn_input_count(); i++) put_kind(&help, attn_input_name(i));
    put_help(&help, after);
    return help.text;
}

double training_duration(const char *text) {
    char *end;
    double number = strtod(text, &end), unit = -1;
    if (end == text || strspn(text, "+-.0123456789eE") < (size_t)(end - text)) return -1; /* not 0x10 */
    if (*end == '\0' || strcmp(end, "s") == 0) unit = 1;
    if (strcmp(end, "m") == 0 || strcmp(end, "min") == 0) unit = 60;
    if (strcmp(end, "h") == 0) unit = 3600;
    return unit > 0 && number >= 0 && number * unit <= 1e9 ? number * unit : -1;
}

bool training_is_set(const training_flags *given, const char *flag) {
    attn_config_flag_text one;
    for (int i = 0; i < given->settings && attn_config_flag(i, &one); i++)
        if (given->setting[i] != NULL && strcmp(one.flag, flag) == 0) return true;
    return false;
}

const char *training_input(const training_flags *given) {
    attn_config_flag_text one;
    for (int i = 0; i < given->settings && attn_config_flag(i, &one); i++)
        if (given->setting[i] != NULL && strcmp(one.name, "input") == 0) return given->setting[i];
    return attn_input_of_file(given->train.path[0]);
}

/* A task that there is; else what to say: the nearest, and all of them. */
static const char *task_problem(const char *task) {
    static char text[256];
    const char *names[16];
    size_t count = 0;
    char list[160] = "";
    for (; count < 16 && attn_task_name((int)count) != NULL; count++) {
        names[count] = attn_task_name((int)count);
        if (task != NULL && strcmp(names[count], task) == 0) return NULL;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", count > 0 ? ", " : "",
                 names[count]);
    }
    if (task == NULL) {
        snprintf(text, sizeof text, "what task? %s", list);
        return text;
    }
    const char *nearest = arguments_nearest(task, names, count);
    snprintf(text, sizeof text, "task is \"%.40s\"; it can be: %s%s%s%s", task, list,
             nearest != NULL ? ". Did you mean " : "", nearest != NULL ? nearest : "",
             nearest != NULL ? "?" : "");
    return text;
}

static int count_files(const training_files *files) {
    int count = 0;
    while (files->path[count] != NULL) count++;
    return count;
}

int training_take_input(training_flags *given) {
    training_files *sets[] = {&given->train, &given->dev, &given->test};
    const char *all[3 * TRAINING_MOST_FILES];
    int count = 0, code = EXIT_DONE;
    for (int s = 0; s < 3; s++)
        for (int i = 0; sets[s]->path[i] != NULL; i++) all[count++] = sets[s]->path[i];
    if (given->scatter) {
        for (int s = 0; s < 3 && code == EXIT_DONE; s++)
            code = opening_files(sets[s]->path, count_files(sets[s]));
        if (code == EXIT_DONE) code = opening_files(&given->vectors, 1);
        if (code == EXIT_DONE) code = opening_files(&given->split_file, 1);
    }
    return code == EXIT_DONE ? opening_take_input(given->command, all, count) : code;
}

const char *training_flags_problem(training_flags *given, const argument_list *list) {
    const char *problem = task_problem(list->positional_count > 0 ? given->positional[TRAINING_TASK] : NULL);
    if (problem != NULL) return problem;
    for (size_t i = TRAINING_FILES; i < list->positional_count; i++)
        given->train.path[i - TRAINING_FILES] = given->positional[i];
    training_files *others[] = {&given->dev, &given->test};
    for (int i = 0; i < 2; i++) {
        int last = count_files(others[i]) - 1;
        if (given->train.path[0] != NULL || last < 1) continue; /* --dev DEV TRAIN: no second file, then */
        given->train.path[0] = others[i]->path[last];
        others[i]->path[last] = NULL;
    }
    if (given->time != NULL && !(training_duration(given->time) > 0)) return "--time is 90s, 10m or 1h";
    if (given->time != NULL && (training_is_set(given, "steps") || training_is_set(given, "timetable")))
        return "--time chooses the number of steps: give it, or --steps, not both";
    return NULL;
}

static attn_status read_config_file(attn_context *context, const training_flags *given, attn_config *config) {
    FILE *file = fopen(given->config, "rb");
    static char text[1 << 20]; /* a configuration has a few kilobytes */
    if (file == NULL) {
        fprintf(stderr, "attn %s: cannot open %s: %s\n", given->command, given->config, strerror(errno));
        return ATTN_SYSTEM_ERROR;
    }
    size_t length = fread(text, 1, sizeof text, file);
    bool whole = !ferror(file) && length < sizeof text;
    int reason = errno;
    fclose(file);
    if (!whole) {
        fprintf(stderr, "attn %s: cannot read %s: %s\n", given->command, given->config,
                length < sizeof text ? strerror(reason) : "a configuration must be smaller than a megabyte");
        return ATTN_SYSTEM_ERROR;
    }
    attn_status status = attn_config_parse(config, given->config, text, length);
    if (status != ATTN_OK) opening_fail(given->command, context);
    return status;
}

/* Of a finished model: all its values, so that nothing is left to defaults that depend on the data. */
static attn_status read_model(attn_context *context, const training_flags *given, attn_config *config) {
    attn_model *model = NULL;
    attn_status status = attn_model_load(context, given->base, &model);
    const char *text = status == ATTN_OK ? attn_config_print(attn_model_config(model)) : NULL;
    if (text != NULL) status = attn_config_parse(config, given->base, text, strlen(text));
    if (status != ATTN_OK || text == NULL) opening_fail(given->command, context);
    attn_model_destroy(model);
    /* How the steps of its run changed does not say how those of another will. */
    if (status == ATTN_OK) status = attn_config_set(config, "training.timetable", "");
    /* Who says how many epochs means them, whatever the model's run had. */
    if (status == ATTN_OK && training_is_set(given, "epochs")) {
        status = attn_config_set(config, "training.steps", "0");
        if (status == ATTN_OK) status = attn_config_set(config, "training.least_steps", "0");
    }
    return text == NULL ? ATTN_OUT_OF_MEMORY : status;
}

static attn_status set_if(attn_config *config, const char *name, const char *value) {
    return value != NULL ? attn_config_set(config, name, value) : ATTN_OK;
}

/* What a flag without a value sets: the choice that has its name, or true. */
static const char *switched_on(const attn_config_flag_text *flag) {
    for (int i = 0; i < attn_config_count(); i++) {
        if (strcmp(attn_config_name(i), flag->name) != 0) continue;
        for (int c = 0; attn_config_choice(i, c) != NULL; c++)
            if (strcmp(attn_config_choice(i, c), flag->flag) == 0) return flag->flag;
    }
    return "true";
}

int training_configure(attn_context *context, const training_flags *given, attn_config *config) {
    if (given->base != NULL && read_model(context, given, config) != ATTN_OK) return EXIT_FAILED;
    if (given->config != NULL && read_config_file(context, given, config) != ATTN_OK) return EXIT_FAILED;
    const char *task = given->positional[TRAINING_TASK]; /* NULL: only to see what there is */
    attn_status status = task != NULL ? attn_config_set(config, "task", task) : ATTN_OK;
    const char *input = given->train.path[0] != NULL ? attn_input_of_file(given->train.path[0]) : NULL;
    attn_config_flag_text one;
    if (input != NULL && strcmp(input, attn_input_name(0)) != 0 && status == ATTN_OK)
        status = attn_config_set(config, "input", input);     /* the file's name tells; a flag wins over it */
    if (status == ATTN_OK && training_is_set(given, "steps")) /* those of a file change in another way */
        status = attn_config_set(config, "training.timetable", "");
    for (int i = 0; i < given->settings && status == ATTN_OK && attn_config_flag(i, &one); i++)
        status = set_if(config, one.name, given->on[i] ? switched_on(&one) : given->setting[i]);
    if (status == ATTN_OK) status = set_if(config, "encoder.kind", given->encoder);
    if (status == ATTN_OK && given->split_file != NULL)
        status = attn_config_set(config, "reader.split", "file");
    if (status == ATTN_OK) status = set_if(config, "training.seed", given->seed);
    if (status == ATTN_OK) status = set_if(config, "encoder.left", given->window);
    if (status == ATTN_OK) status = set_if(config, "encoder.right", given->window);
    if (status == ATTN_OK) return EXIT_DONE;
    opening_fail(given->command, context);
    return EXIT_MISUSED;
}

attn_status training_read(attn_context *context, attn_config *config, const training_flags *given,
                          const training_files *files, attn_dataset **dataset) {
    attn_reader_options options;
    attn_status status = attn_config_reader(config, &options);
    if (status != ATTN_OK) return status;
    options.skip_bad = given->skip_bad;
    if (files == &given->train) options.split_file = given->split_file;
    if (files != &given->train) options.split = options.split_column = NULL; /* it is one part by itself */
    opening_limit(given->limit, &options);
    progress_of_reading shown = {.told = false};
    progress_begin_reading(&shown, "reading");
    options.progress = given->quiet ? NULL : progress_read;
    options.progress_user = &shown;
    status = opening_read(context, files->path, count_files(files), &options, dataset);
    progress_end_reading(&shown);
    if (status == ATTN_OK && attn_dataset_skipped(*dataset) > 0 && !given->quiet) {
        fprintf(stderr, "%s%s: %lld bad lines or sentences left out\n", opening_name(files->path[0]),
                files->path[1] != NULL ? " and the others" : "", (long long)attn_dataset_skipped(*dataset));
    }
    char *note = NULL;
    if (status == ATTN_OK && !given->quiet && files == &given->train && strcmp(given->command, "train") == 0)
        status = attn_dataset_note(*dataset, &note);
    if (note != NULL) fprintf(stderr, "%s: %s\n", opening_name(files->path[0]), messages_with_flags(note));
    attn_text_release(context, note);
    return status;
}

int training_examine(attn_context *context, attn_config *config, const training_flags *given,
                     const attn_dataset *train, const attn_dataset *dev, const attn_dataset *test) {
    attn_examination *found = NULL;
    attn_examine_options options;
    attn_examine_options_init(&options);
    options.dev = dev;
    options.test = test;
    if (attn_examine(config, train, &options, &found) != ATTN_OK)
        return opening_fail(given->command, context);
    const char *name = attn_dataset_name(train);
    char before[512];
    int findings = attn_examination_findings(found);
    bool stops = findings > 0 && !given->anyway;
    for (int i = 0; i < attn_examination_notes(found) && !given->quiet; i++)
        fprintf(stderr, "%s: %s\n", name, messages_with_flags(attn_examination_note(found, i)));
    for (int i = 0; i < findings && (stops || !given->quiet); i++) {
        snprintf(before, sizeof before, "%.400s: ", name);
        arguments_complain(given->command, before,
                           messages_with_flags(attn_examination_finding(found, i).text), "", NULL);
    }
    if (stops) fprintf(stderr, "attn %s: --anyway trains on it nevertheless\n", given->command);
    attn_examination_destroy(found);
    return stops ? EXIT_FAILED : EXIT_DONE;
}

/* Whether a file lies in a folder, or in one below it. */
static bool lies_in(const char *path, const struct stat *folder) {
    enum { LEVELS = 4 };
    char above[4096];
    struct stat found;
    if ((size_t)snprintf(above, sizeof above, "%s", path) >= sizeof above - 4 * LEVELS) return false;
    char *slash = strrchr(above, '/');
    strcpy(slash != NULL ? slash : above, slash != NULL ? "/." : ".");
    for (int level = 0; level < LEVELS && stat(above, &found) == 0; level++) {
        if (found.st_dev == folder->st_dev && found.st_ino == folder->st_ino) return true;
        strcat(above, "/..");
    }
    return false;
}

int training_check_inputs(const training_flags *given, const char *path) {
    const training_files *files[] = {&given->train, &given->dev, &given->test};
    const char *inputs[3 + 3 * TRAINING_MOST_FILES] = {given->vectors, given->config, given->split_file};
    int count = 3;
    struct stat output, input;
    if (opening_is_input(path)) {
        fprintf(stderr, "attn %s: the output must be a file, not standard output (-)\n", given->command);
        return EXIT_MISUSED;
    }
    if (stat(path, &output) != 0) return EXIT_DONE; /* a new file; writing will tell */
    for (int s = 0; s < 3; s++)
        for (int i = 0; files[s]->path[i] != NULL; i++) inputs[count++] = files[s]->path[i];
    for (int i = 0; i < count; i++) {
        if (inputs[i] == NULL || stat(inputs[i], &input) != 0) continue;
        bool same = input.st_dev == output.st_dev && input.st_ino == output.st_ino;
        if (!same && !(S_ISDIR(input.st_mode) && lies_in(path, &input))) continue;
        arguments_complain(given->command, "", path, " is an input file: the output would overwrite it",
                           NULL);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

int training_check_output(const training_flags *given, const char *path) {
    struct stat output;
    if (stat(path, &output) != 0 || S_ISREG(output.st_mode)) return training_check_inputs(given, path);
    arguments_complain(given->command, "", path, " exists, and is not a file", NULL);
    return EXIT_FAILED;
}
