/* evaluate_raw.c: the report of `attn eval --raw` as a table. */
#include "evaluate_raw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* A metric by the parts of its name: "XPOS." "tag" "_f1"; blanks where there is none. */
static void print_number(const attn_report *report, const char *prefix, const char *what, const char *which,
                         int width) {
    char name[512];
    int length = snprintf(name, sizeof name, "%s%s%s%s", prefix, prefix[0] ? "." : "", what, which);
    double value = length < (int)sizeof name ? attn_report_metric(report, name) : (double)NAN;
    if (isnan(value))
        printf(" %*s", width, "");
    else
        printf(" %*.4f", width, value);
}

static void print_line(const attn_report *report, const char *title, int width, const char *prefix,
                       const char *what) {
    text_print_left(stdout, title, width);
    putchar(' ');
    print_number(report, prefix, what, "_precision", 9);
    print_number(report, prefix, what, "_recall", 9);
    print_number(report, prefix, what, "_f1", 9);
    print_number(report, prefix, what, "_accuracy", 10);
    putchar('\n');
}

void evaluate_print_raw(const attn_report *report, const attn_model *model) {
    int outputs = attn_model_outputs(model), width = (int)strlen("sentences");
    for (int i = 0; i < outputs; i++) {
        int one = text_width(attn_model_output_name(model, i));
        if (one > width) width = one;
    }
    printf("\n%*s  %9s %9s %9s %10s\n", width, "", "precision", "recall", "F1", "of aligned");
    print_line(report, "sentences", width, "", "sentence");
    print_line(report, "tokens", width, "", "token");
    print_line(report, "words", width, "", "word");
    for (int i = 0; i < outputs; i++) {
        const char *name = attn_model_output_name(model, i);
        print_line(report, name, width, i > 0 ? name : "", "tag");
    }
    if (!isnan(attn_report_metric(report, "all_tags_f1")))
        print_line(report, "all tags", width, "", "all_tags");
}
