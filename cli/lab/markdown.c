/* markdown.c: a report as a section of a Markdown page: docs/lab.md is made of them. */
#include <string.h>

#include "report.h"

/* Text in which no character means anything to Markdown. */
static void print_text(FILE *file, const char *text) {
    char shown[ATTN_GLYPH_BYTES];
    while (*text != '\0') {
        attn_text_glyph(&text, shown);
        if (shown[1] == '\0' && strchr("|*_<>`[]\\", shown[0]) != NULL) fputc('\\', file);
        fputs(shown, file);
    }
}

static void print_table(FILE *file, const lab_table *table) {
    if (table->title[0] != '\0') {
        fputc('\n', file);
        print_text(file, table->title);
        fputs(":\n", file);
    }
    for (int r = -1; r < table->rows; r++) {
        char *const *cells = r < 0 ? table->headings : table->cells + r * table->columns;
        fputs(r < 0 ? "\n|" : "|", file);
        for (int c = 0; c < table->columns; c++) {
            fputc(' ', file);
            print_text(file, cells[c]);
            fputs(" |", file);
        }
        fputc('\n', file);
        if (r >= 0) continue;
        fputc('|', file);
        for (int c = 0; c < table->columns; c++) fputs(c == 0 ? " --- |" : " ---: |", file);
        fputc('\n', file);
    }
}

void lab_print_markdown(FILE *file, const lab *report) {
    const lab_experiment *experiment = report->experiment;
    fprintf(file, "## %s\n\n**Claim.** ", experiment->name);
    print_text(file, experiment->claim);
    fputs("\n\n**Experiment.** ", file);
    print_text(file, experiment->experiment);
    fputs(" `--broken` plants a mistake: ", file);
    print_text(file, experiment->mistake);
    fputs(".", file);
    if (experiment->data != NULL) {
        fputs(" `--data` reads ", file);
        print_text(file, experiment->data);
        fputs(".", file);
    }
    fputc('\n', file);
    for (int i = 0; i < report->items; i++) {
        const lab_item *item = &report->item[i];
        if (item->kind == LAB_ITEM_TABLE) print_table(file, item->table);
        if (item->kind != LAB_ITEM_NOTE) continue;
        fputc('\n', file);
        print_text(file, item->note);
        fputc('\n', file);
    }
    fprintf(file, "\n**Verdict: %s%s** ", lab_verdict_text(report->verdict),
            report->verdict == LAB_HOLDS_WHERE ? "" : ":");
    print_text(file, report->conclusion);
    fputs(".\n", file);
}
