/* lab.c: attn lab: runs experiments on what lectures claim of self-attention, prints and draws what they
 * find.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <attn/attn.h>

#include "arguments.h"
#include "commands.h"
#include "lab/report.h"
#include "text.h"

enum { MOST_EXPERIMENTS = 64, PATH_ROOM = 4096 };

typedef struct lab_arguments {
    lab_options options;
    const char *output;
    int64_t threads, seed;
    bool json, markdown, force;
} lab_arguments;

typedef enum lab_form { FORM_TEXT, FORM_JSON, FORM_MARKDOWN } lab_form;

static int complain(const char *about, const char *path) {
    int reason = errno;
    char after[256];
    snprintf(after, sizeof after, ": %s", strerror(reason));
    arguments_complain("lab", about, path, after, NULL);
    return EXIT_FAILED;
}

/* ---- the files that it writes ---- */

/* Whether a file was written by the lab, which says so in its first lines. */
static bool is_ours(const char *path) {
    char begin[1024] = "";
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    size_t length = fread(begin, 1, sizeof begin - 1, file);
    fclose(file);
    begin[length] = '\0';
    return length == 0 || strstr(begin, "attn lab") != NULL;
}

static bool is_plain_file(const char *path) {
    struct stat found;
    return stat(path, &found) != 0 || S_ISREG(found.st_mode);
}

/* That a file can be written, before there is something to write: it replaces its own pictures, and others
 * only if asked to. */
static int check_output(const char *path, bool force) {
    bool is_new = access(path, F_OK) != 0;
    if (!is_new && is_plain_file(path) && !force && !is_ours(path)) {
        arguments_complain("lab", "", path, " exists and was not written by the lab: --force replaces it",
                           NULL);
        return EXIT_FAILED;
    }
    FILE *file = fopen(path, "ab");
    if (file == NULL || fclose(file) != 0) return complain("cannot write ", path);
    if (is_new) unlink(path);
    return EXIT_DONE;
}

typedef struct written {
    const lab *reports;
    int count; /* 1: a picture; else the page */
    bool page;
    const char *machine;
} written;

static void write_form(FILE *file, const written *what) {
    if (what->page)
        lab_print_page(file, what->reports, what->count, what->machine);
    else
        lab_print_svg(file, what->reports);
}

/* Writes beside the file and renames: whoever looks sees the old or the new, never a part. */
static int write_file(const char *path, const written *what) {
    char beside[PATH_ROOM + 16];
    bool replaced = is_plain_file(path);
    snprintf(beside, sizeof beside, replaced ? "%s.part" : "%s", path);
    FILE *file = fopen(beside, "wb");
    if (file == NULL) return complain("cannot write ", path);
    write_form(file, what);
    bool whole = !ferror(file);
    if (fclose(file) != 0) whole = false;
    if (whole && (!replaced || rename(beside, path) == 0)) return EXIT_DONE;
    int code = complain("cannot write ", path);
    if (replaced) unlink(beside);
    return code;
}

static int make_folder(const char *path) {
    struct stat found;
    if (mkdir(path, 0777) != 0 && errno != EEXIST) return complain("cannot make ", path);
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) return EXIT_DONE;
    errno = ENOTDIR;
    return complain("cannot write to ", path);
}

static bool join(char path[PATH_ROOM], const char *folder, const char *name, const char *ending) {
    bool slash = *folder == '\0' || folder[strlen(folder) - 1] == '/';
    int length = snprintf(path, PATH_ROOM, "%s%s%s%s", folder, slash ? "" : "/", name, ending);
    if (length < PATH_ROOM) return true;
    arguments_complain("lab", "", folder, " is too long a name", NULL);
    return false;
}

/* ---- which experiment, on which machine ---- */

static const lab_experiment *find(const char *name) {
    const char *names[MOST_EXPERIMENTS];
    size_t count = 0;
    for (int i = 0; lab_experiment_at(i) != NULL; i++) {
        if (strcmp(lab_experiment_at(i)->name, name) == 0) return lab_experiment_at(i);
        if (count + 1 < MOST_EXPERIMENTS) names[count++] = lab_experiment_at(i)->name;
    }
    names[count++] = "all";
    arguments_complain("lab", "there is no experiment ", name, "", arguments_nearest(name, names, count));
    fputs("attn lab lists them.\n", stderr);
    return NULL;
}

static int list(void) {
    lab_print_paragraph(stdout, "",
                        "Claims of lectures about attention. attn lab NAME measures one on this machine; "
                        "attn lab all -o lab/ writes a page of all.");
    for (int i = 0; lab_experiment_at(i) != NULL; i++) {
        const lab_experiment *experiment = lab_experiment_at(i);
        char head[32];
        snprintf(head, sizeof head, "%-11s", experiment->name);
        putchar('\n');
        lab_print_paragraph(stdout, head, experiment->claim);
        if (experiment->data == NULL) continue;
        fputs("           --data FOLDER has ", stdout);
        text_print(stdout, experiment->data);
        putchar('\n');
    }
    return EXIT_DONE;
}

static void describe_machine(const attn_context *context, char *text, size_t room) {
    char line[512], name[256] = "";
    FILE *file = fopen("/proc/cpuinfo", "rb");
    while (file != NULL && name[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || value == NULL) continue;
        value[strcspn(value, "\n")] = '\0';
        snprintf(name, sizeof name, "%s, ", value + 2);
    }
    if (file != NULL) fclose(file);
    snprintf(text, room, "attn %s on %s%d thread%s, %s", attn_version(), name, attn_context_threads(context),
             attn_context_threads(context) == 1 ? "" : "s", attn_context_isa(context));
}

/* ---- running ---- */

static void show(const lab *report, lab_form form) {
    switch (form) {
    case FORM_JSON: lab_print_json(stdout, report); break;
    case FORM_MARKDOWN: lab_print_markdown(stdout, report); break;
    case FORM_TEXT: lab_print_text(stdout, report); break;
    }
}

static void say_failed(const lab *report, lab_form form) {
    char before[128];
    snprintf(before, sizeof before, "%s: ", report->experiment->name);
    arguments_complain("lab", before, report->error, "", NULL);
    if (form != FORM_JSON) return;
    printf("{\"name\": ");
    text_print_json(stdout, report->experiment->name);
    printf(", \"error\": ");
    text_print_json(stdout, report->error);
    printf("}");
}

static lab_form form_of(const lab_arguments *given) {
    return given->json ? FORM_JSON : given->markdown ? FORM_MARKDOWN : FORM_TEXT;
}

static int run_one(const lab_experiment *experiment, const lab_arguments *given, attn_context *context) {
    char own[PATH_ROOM], machine[512];
    const char *path = given->output;
    lab_form form = form_of(given);
    if (given->options.data != NULL && experiment->data == NULL) {
        arguments_complain("lab", "", experiment->name, " reads no files: it has no --data", NULL);
        return EXIT_MISUSED;
    }
    if (path == NULL && !given->markdown) {
        snprintf(own, sizeof own, "%s.svg", experiment->name);
        path = own;
    }
    int code = path != NULL ? check_output(path, given->force) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    describe_machine(context, machine, sizeof machine);
    lab report;
    if (lab_run(&report, experiment, &given->options, context)) {
        show(&report, form);
        if (path != NULL) code = write_file(path, &(written){.reports = &report, .count = 1});
        if (path != NULL && code == EXIT_DONE && form == FORM_TEXT) {
            fputs("drawn in ", stdout);
            text_print(stdout, path);
            fputc('\n', stdout);
        }
    } else {
        say_failed(&report, form);
        code = EXIT_FAILED;
    }
    if (form == FORM_JSON) putchar('\n');
    lab_report_free(&report);
    return code;
}

/* The options of one of all: data goes to those that read it. */
static bool run_of_all(lab *report, const lab_experiment *experiment, const lab_arguments *given,
                       lab_options *options, attn_context *context) {
    *options = given->options;
    if (experiment->data == NULL) options->data = NULL;
    return lab_run(report, experiment, options, context);
}

static int check_folder(const char *folder, bool force) {
    char path[PATH_ROOM];
    int code = make_folder(folder);
    for (int i = 0; code == EXIT_DONE && lab_experiment_at(i) != NULL; i++)
        code =
            join(path, folder, lab_experiment_at(i)->name, ".svg") ? check_output(path, force) : EXIT_FAILED;
    if (code != EXIT_DONE) return code;
    return join(path, folder, "index", ".html") ? check_output(path, force) : EXIT_FAILED;
}

static void summarize(const lab *reports, int count, const char *folder) {
    printf("\nverdicts\n");
    for (int i = 0; i < count; i++)
        printf("  %-10s %s\n", reports[i].experiment->name,
               reports[i].failed ? "could not be run" : lab_verdict_text(reports[i].verdict));
    fputs("the page is ", stdout);
    text_print(stdout, folder);
    puts(folder[0] != '\0' && folder[strlen(folder) - 1] == '/' ? "index.html" : "/index.html");
}

static int run_all(const lab_arguments *given, attn_context *context) {
    static lab reports[MOST_EXPERIMENTS];
    static lab_options options[MOST_EXPERIMENTS];
    const char *folder = given->output != NULL ? given->output : given->markdown ? NULL : "lab";
    char path[PATH_ROOM], machine[512];
    lab_form form = form_of(given);
    int count = 0, worst = folder != NULL ? check_folder(folder, given->force) : EXIT_DONE;
    if (worst != EXIT_DONE) return worst;
    describe_machine(context, machine, sizeof machine);
    if (form == FORM_JSON) printf("{\"experiments\": [\n");
    if (form == FORM_MARKDOWN) printf("Measured with %s.\n\n", machine);
    for (int i = 0; i < MOST_EXPERIMENTS && lab_experiment_at(i) != NULL; i++) {
        lab *report = &reports[count++];
        if (i > 0) fputs(form == FORM_JSON ? ",\n" : "\n", stdout);
        if (run_of_all(report, lab_experiment_at(i), given, &options[i], context)) {
            show(report, form);
            int code = folder != NULL && join(path, folder, report->experiment->name, ".svg")
                           ? write_file(path, &(written){.reports = report, .count = 1})
                           : EXIT_DONE;
            if (code != EXIT_DONE) worst = code;
        } else {
            say_failed(report, form);
            worst = EXIT_FAILED;
        }
        fflush(stdout);
    }
    if (form == FORM_JSON) printf("]}\n");
    const written page = {.reports = reports, .count = count, .page = true, .machine = machine};
    if (folder != NULL && join(path, folder, "index", ".html") && write_file(path, &page) != EXIT_DONE)
        worst = EXIT_FAILED;
    if (form == FORM_TEXT && folder != NULL) summarize(reports, count, folder);
    for (int i = 0; i < count; i++) lab_report_free(&reports[i]);
    return worst;
}

static int run(const char *name, const lab_arguments *given) {
    const lab_experiment *experiment = strcmp(name, "all") == 0 ? NULL : find(name);
    if (experiment == NULL && strcmp(name, "all") != 0) return EXIT_MISUSED;
    if (given->output != NULL && (*given->output == '\0' || strcmp(given->output, "-") == 0)) {
        fputs("attn lab: -o must be a file (for all: a folder), not standard output (-)\n", stderr);
        return EXIT_MISUSED;
    }
    if (given->json && given->markdown) {
        fputs("attn lab: --json or --markdown, not both\n", stderr);
        return EXIT_MISUSED;
    }
    attn_context_options options;
    attn_context_options_init(&options);
    options.threads = (int)given->threads;
    attn_context *context = NULL;
    if (attn_context_create(&options, &context) != ATTN_OK) {
        fprintf(stderr, "attn lab: %s\n", attn_last_create_error());
        return EXIT_FAILED;
    }
    int code = experiment != NULL ? run_one(experiment, given, context) : run_all(given, context);
    attn_context_destroy(context);
    return code;
}

int command_lab(int count, char **arguments) {
    lab_arguments given = {.output = NULL};
    const char *name = NULL, *names[MOST_EXPERIMENTS + 2] = {"all"};
    for (int i = 0; i < MOST_EXPERIMENTS && lab_experiment_at(i) != NULL; i++)
        names[1 + i] = lab_experiment_at(i)->name;
    const argument_flag flags[] = {
        argument_letter(
            argument_text(
                "output", &given.output, "PATH",
                "the chart (default NAME.svg), or for all the folder of charts and page (default lab)"),
            'o'),
        argument_switch("quick", &given.options.quick, "a few seconds: smaller sizes, fewer seeds"),
        argument_text("data", &given.options.data, "FOLDER",
                      "real data instead of generated data, for experiments that support it"),
        argument_integer("seeds", &given.options.seeds, "N", NULL, 1, 32,
                         "runs with different seeds (default: by experiment)"),
        argument_integer("seed", &given.seed, "N", "1", 0, INT64_C(1000000000), "the first seed"),
        argument_integer("threads", &given.threads, "N", NULL, 1, 1024, "threads (default: all cores)"),
        argument_switch(
            "broken", &given.options.broken,
            "plant an error in the experiment: its verdict must then be that the claim does not hold"),
        argument_switch("json", &given.json, "print one JSON object"),
        argument_switch("markdown", &given.markdown, "as sections of a Markdown page; pictures only with -o"),
        argument_switch("force", &given.force, "replace files that the lab did not write"),
    };
    argument_list list_of_flags = {
        .command = "lab",
        .usage = "[NAME|all] [flags]",
        .about = "Measures claims of lectures about attention on this machine. Prints the\n"
                 "claim, the experiment, tables, charts and the verdict (holds, holds where,\n"
                 "does not hold), and writes a chart as SVG; `all` writes one page. Without a\n"
                 "name it lists the experiments. They use generated data; --data selects real\n"
                 "data.\n",
        .examples = "  attn lab\n  attn lab scale\n  attn lab all -o lab/\n",
        .words = names,
        .flags = flags,
        .flag_count = sizeof flags / sizeof flags[0],
        .positional = &name,
        .positional_limit = 1,
    };
    argument_result result = arguments_read(&list_of_flags, count, arguments);
    if (result != ARGUMENTS_READ) return result == ARGUMENTS_HELPED ? EXIT_DONE : EXIT_MISUSED;
    given.options.seed = (uint64_t)given.seed;
    return name == NULL ? list() : run(name, &given);
}
