/* evaluate_raw.c: the report of `attn eval --raw` as a table. */
#include "evaluate_raw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* A metric by the parts of its name: "XPOS." "tag" "_f1"; NaN if there is none. */
static double number(const attn_report *report, const char *prefix, const char *what, const char *which) {
    char name[512];
    int length = snprintf(name, sizeof name, "%s%s%s%s", prefix, prefix[0] ? "." : "", what, which);
    return length < (int)sizeof name ? attn_report_metric(report, name) : (double)NAN;
}

static void print_line(const attn_report *report, const char *title, int width, const char *prefix,
                       const char *what) {
    static const char *const which[] = {"_precision", "_recall", "_f1"};
    if (isnan(number(report, prefix, what, "_f1"))) return; /* the data has no such tags */
    text_print_left(stdout, title, width);
    putchar(' ');
    for (int i = 0; i < 3; i++) {
        double value = number(report, prefix, what, which[i]);
        if (isnan(value))
            printf(" %9s", "");
        else
            printf(" %9.4f", value);
    }
    double accuracy = number(report, prefix, what, "_accuracy");
    if (!isnan(accuracy)) printf("  %10.4f", accuracy);
    putchar('\n');
}

void evaluate_print_raw(const attn_report *report, const attn_model *model) {
    int outputs = attn_model_outputs(model), width = (int)strlen("sentences");
    for (int i = 0; i < outputs; i++) {
        int one = text_width(attn_model_output_name(model, i));
        if (one > width) width = one;
    }
    printf("\n%*s  %9s %9s %9s  %10s\n", width, "", "precision", "recall", "F1", "of aligned");
    print_line(report, "sentences", width, "", "sentence");
    print_line(report, "tokens", width, "", "token");
    print_line(report, "words", width, "", "word");
    for (int i = 0; i < outputs; i++) {
        const char *name = attn_model_output_name(model, i);
        print_line(report, name, width, i > 0 ? name : "", "tag");
    }
    print_line(report, "all tags", width, "", "all_tags");
}
