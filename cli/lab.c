/* lab.c: attn lab: runs experiments on what lectures claim of self-attention, prints and draws what they
 * find. */
#include "arguments.h"
#include "commands.h"
#include "lab/report.h"
#include <stdio.h>
int command_lab(int count, char **arguments) {
    if (count < 1) {
        for (int i = 0; lab_experiment_at(i) != NULL; i++)
            printf("%-10s %s\n", lab_experiment_at(i)->name, lab_experiment_at(i)->claim);
        return 0;
    }
    lab_options options = {.seed = 1};
    for (int i = 1; i < count; i++) {
        if (arguments[i][2] == 'q') options.quick = true;
        if (arguments[i][2] == 'b') options.broken = true;
        if (arguments[i][2] == 'd') options.data = arguments[++i];
    }
    attn_context *context = NULL;
    if (attn_context_create(NULL, &context) != ATTN_OK) return EXIT_FAILED;
    int code = EXIT_FAILED;
    for (int i = 0; lab_experiment_at(i) != NULL; i++) {
        if (__builtin_strcmp(arguments[0], lab_experiment_at(i)->name)) continue;
        lab report;
        code = EXIT_DONE;
        if (lab_run(&report, lab_experiment_at(i), &options, context))
            lab_print_text(stdout, &report);
        else {
            fprintf(stderr, "attn lab: %s\n", report.error);
            code = EXIT_FAILED;
        }
        lab_report_free(&report);
    }
    attn_context_destroy(context);
    return code;
}
